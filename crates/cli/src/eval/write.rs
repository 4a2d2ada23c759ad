//! The result written to a file: one chunk is computed while another is written.

use super::inputs::InputParts;
use super::job::{BUFFERS, Job, slice};
use crate::chunks::{Chunks, len};
use crate::error::CliError;
use crate::output::{STDOUT, commit, write_error};
use crate::progress::{Progress, ProgressWriter};
use half::{bf16, f16};
use indicatif::BinaryBytes;
use ndarray::ArrayView1;
use num_complex::Complex;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use unishape::expr::Numeric;
use unishape::{DType, TensorView};
use unishape_npy::{self as npy, NpyError};

/// Computes the result into a file that appears when it is complete.
pub(crate) fn write(
    job: &Job,
    chunks: &Chunks,
    path: &Path,
    force: bool,
    progress: &Progress,
) -> Result<(), CliError> {
    let mut file = progress.create_file(path, force)?;
    let mut writer = ProgressWriter::new(file.file(), progress);
    let header = job.header().write(&mut writer).map_err(|error| write_error(path, &error));
    header
        .and_then(|()| write_elements(job, chunks, path, writer, progress))
        .map_err(|error| progress.interruption_or(error))?;
    commit(vec![file.finish()], &[path])
}

/// Computes the result into standard output.
pub(crate) fn write_to_stdout(job: &Job, chunks: &Chunks, progress: &Progress) -> Result<(), CliError> {
    let path = Path::new(STDOUT);
    progress.end_at_signals()?;
    let mut writer = ProgressWriter::new(io::stdout(), progress);
    let header = job.header().write(&mut writer).map_err(|error| output_error(path, &error));
    header.and_then(|()| write_elements(job, chunks, path, writer, progress))?;
    io::stdout().flush().map_err(|error| output_error(path, &NpyError::Io(error)))
}

/// An error while the result is written. That standard output is closed is none, as by `| head`.
fn output_error(path: &Path, error: &NpyError) -> CliError {
    let is_stdout = path == Path::new(STDOUT);
    match error {
        NpyError::Io(error) if is_stdout && error.kind() == io::ErrorKind::BrokenPipe => CliError::BrokenPipe,
        error => write_error(path, error),
    }
}

fn write_elements(
    job: &Job,
    chunks: &Chunks,
    path: &Path,
    writer: impl Write + Send,
    progress: &Progress,
) -> Result<(), CliError> {
    let pipeline = Pipeline { job, chunks, path, progress };
    match job.dtype {
        DType::F16 => pipeline.run::<f16>(writer),
        DType::BF16 => pipeline.run::<bf16>(writer),
        DType::F32 => pipeline.run::<f32>(writer),
        DType::F64 => pipeline.run::<f64>(writer),
        DType::I8 => pipeline.run::<i8>(writer),
        DType::I16 => pipeline.run::<i16>(writer),
        DType::I32 => pipeline.run::<i32>(writer),
        DType::I64 => pipeline.run::<i64>(writer),
        DType::U8 => pipeline.run::<u8>(writer),
        DType::U16 => pipeline.run::<u16>(writer),
        DType::U32 => pipeline.run::<u32>(writer),
        DType::U64 => pipeline.run::<u64>(writer),
        DType::Bool => pipeline.run::<bool>(writer),
        DType::C64 => pipeline.run::<Complex<f32>>(writer),
        DType::C128 => pipeline.run::<Complex<f64>>(writer),
        DType::Str => Err(CliError::input("strings are not supported in expressions")),
    }
}

struct Pipeline<'p> {
    job: &'p Job,
    chunks: &'p Chunks,
    path: &'p Path,
    progress: &'p Progress,
}

/// A computed chunk: the first `len` elements of a buffer.
struct ComputedChunk<T> {
    buffer: Vec<T>,
    len: usize,
}

impl Pipeline<'_> {
    fn run<T: Numeric>(&self, writer: impl Write + Send) -> Result<(), CliError>
    where
        for<'v> TensorView<'v>: From<ArrayView1<'v, T>>,
    {
        let (computed_sender, computed_receiver) = channel();
        let (buffer_sender, buffer_receiver) = channel();
        for _ in 0..self.chunks.count().min(BUFFERS) {
            // Cannot fail: the receiver is still here.
            let _ = buffer_sender.send(allocate::<T>(self.chunks.largest())?);
        }
        thread::scope(|scope| {
            let writing = thread::Builder::new()
                .spawn_scoped(scope, move || write_chunks(writer, &computed_receiver, &buffer_sender))
                .map_err(no_thread)?;
            let computed = self.compute_chunks(computed_sender, &buffer_receiver);
            // Joined by its handle: ThreadSanitizer does not see the synchronization at the end of a scope.
            match writing.join() {
                Ok(Ok(())) => computed,
                Ok(Err(error)) => Err(output_error(self.path, &error)),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// Computes all chunks into buffers that are returned when they are written.
    ///
    /// When one side ends, it closes its channel, which ends the other side.
    fn compute_chunks<T: Numeric>(
        &self,
        computed: Sender<ComputedChunk<T>>,
        buffers: &Receiver<Vec<T>>,
    ) -> Result<(), CliError> {
        let whole = self.job.whole_inputs(&|| self.progress.is_stopped())?;
        let whole = whole.as_ref().map(|inputs| self.job.bind(inputs)).transpose()?;
        let mut parts = InputParts::new(&self.job.inputs);
        let mut chunks = self.chunks.iter().peekable();
        while let Some(chunk) = chunks.next() {
            let Ok(mut buffer) = buffers.recv() else { break };
            let len = len(&chunk);
            let out = &mut buffer[..len];
            let keep_going = |iterations: usize| {
                self.progress.advance_iterations(iterations as u64);
                !self.progress.is_stopped()
            };
            match &whole {
                Some(whole) => Job::compute_into(&slice(whole, &chunk), &chunk, out, keep_going)?,
                None => {
                    parts.load(&chunk, chunks.peek())?;
                    Job::compute_into(&self.job.bind(&parts)?, &chunk, out, keep_going)?;
                }
            }
            if computed.send(ComputedChunk { buffer, len }).is_err() {
                break;
            }
        }
        Ok(())
    }
}

fn write_chunks<T>(
    mut writer: impl Write,
    computed: &Receiver<ComputedChunk<T>>,
    buffers: &Sender<Vec<T>>,
) -> Result<(), NpyError>
where
    for<'v> TensorView<'v>: From<ArrayView1<'v, T>>,
{
    for ComputedChunk { buffer, len } in computed {
        npy::write_elements(&mut writer, ArrayView1::from(&buffer[..len]))?;
        // Fails after the last chunk, when no buffer is needed any more.
        let _ = buffers.send(buffer);
    }
    Ok(())
}

fn no_thread(error: io::Error) -> CliError {
    CliError::io(format!(
        "cannot start the thread that writes the result: {error}; raise the limits of processes and memory (`ulimit -u`, \
         `ulimit -v`)"
    ))
}

fn allocate<T: Numeric>(len: usize) -> Result<Vec<T>, CliError> {
    let mut buffer = Vec::new();
    let no_memory = |_| {
        let bytes = BinaryBytes((len as u64).saturating_mul(size_of::<T>() as u64));
        CliError::io(format!("not enough memory for a chunk of {bytes}; lower --memory"))
    };
    buffer.try_reserve_exact(len).map_err(no_memory)?;
    buffer.resize(len, T::zeroed());
    Ok(buffer)
}
