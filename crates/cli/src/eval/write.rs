//! The result written to a file, piece by piece: one is computed while another is written.

use super::inputs::Parts;
use super::job::{BUFFERS, Job};
use super::pieces::{Pieces, len};
use crate::failure::Failure;
use crate::out::{bytes_text, in_file, in_result, place};
use crate::watch::{Watch, Watched};
use half::{bf16, f16};
use ndarray::ArrayView1;
use num_complex::Complex;
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use unishape::expr::Numeric;
use unishape::{DType, TensorView};
use unishape_atomic_file::AtomicFile;
use unishape_npy::{self as npy, NpyError};

/// Computes everything to a file that is there whole or not at all.
pub(crate) fn write(job: &Job, pieces: &Pieces, path: &Path, watch: &Watch) -> Result<(), Failure> {
    let mut file = AtomicFile::create(path).map_err(|error| in_file(path, &error))?;
    let mut writer = Watched::new(file.file(), watch);
    let header = job.header().write(&mut writer).map_err(|error| in_result(path, &error));
    header
        .and_then(|()| elements(job, pieces, path, writer, watch))
        .map_err(|failure| watch.judge(failure))?;
    place(vec![file.finish()], &[path])
}

fn elements(
    job: &Job,
    pieces: &Pieces,
    path: &Path,
    writer: impl Write + Send,
    watch: &Watch,
) -> Result<(), Failure> {
    let stream = Stream { job, pieces, path, watch };
    match job.dtype {
        DType::F16 => stream.run::<f16>(writer),
        DType::BF16 => stream.run::<bf16>(writer),
        DType::F32 => stream.run::<f32>(writer),
        DType::F64 => stream.run::<f64>(writer),
        DType::I8 => stream.run::<i8>(writer),
        DType::I16 => stream.run::<i16>(writer),
        DType::I32 => stream.run::<i32>(writer),
        DType::I64 => stream.run::<i64>(writer),
        DType::U8 => stream.run::<u8>(writer),
        DType::U16 => stream.run::<u16>(writer),
        DType::U32 => stream.run::<u32>(writer),
        DType::U64 => stream.run::<u64>(writer),
        DType::Bool => stream.run::<bool>(writer),
        DType::C64 => stream.run::<Complex<f32>>(writer),
        DType::C128 => stream.run::<Complex<f64>>(writer),
        DType::Str => Err(Failure::failed("strings are not supported in expressions")),
    }
}

struct Stream<'s> {
    job: &'s Job,
    pieces: &'s Pieces,
    path: &'s Path,
    watch: &'s Watch,
}

/// A piece of the result: the first so many elements of a buffer.
struct Computed<T> {
    buffer: Vec<T>,
    len: usize,
}

impl Stream<'_> {
    fn run<T: Numeric>(&self, writer: impl Write + Send) -> Result<(), Failure>
    where
        for<'v> TensorView<'v>: From<ArrayView1<'v, T>>,
    {
        let (give, take) = channel();
        let (give_back, take_back) = channel();
        for _ in 0..self.pieces.count().min(BUFFERS) {
            // Nobody has gone yet.
            let _ = give_back.send(buffer::<T>(self.pieces.largest())?);
        }
        thread::scope(|scope| {
            let writing = scope.spawn(move || write_all(writer, &take, &give_back));
            let computed = self.compute_all(give, &take_back);
            // By its handle: that is an order which ThreadSanitizer sees, the end of a scope is not.
            match writing.join() {
                Ok(Ok(())) => computed,
                Ok(Err(error)) => Err(in_result(self.path, &error)),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// Computes all pieces into buffers that come back when they are written. The end of one side is the end
    /// of its channel, and so of the other.
    fn compute_all<T: Numeric>(
        &self,
        give: Sender<Computed<T>>,
        take_back: &Receiver<Vec<T>>,
    ) -> Result<(), Failure> {
        let mut parts = Parts::new(&self.job.inputs);
        let mut pieces = self.pieces.iter().peekable();
        while let Some(piece) = pieces.next() {
            let Ok(mut buffer) = take_back.recv() else { break };
            parts.go_to(&piece, pieces.peek())?;
            let len = len(&piece);
            self.job.compute_into(&parts, &piece, &mut buffer[..len], || !self.watch.is_stopped())?;
            if give.send(Computed { buffer, len }).is_err() {
                break;
            }
        }
        Ok(())
    }
}

fn write_all<T>(
    mut writer: impl Write,
    take: &Receiver<Computed<T>>,
    give_back: &Sender<Vec<T>>,
) -> Result<(), NpyError>
where
    for<'v> TensorView<'v>: From<ArrayView1<'v, T>>,
{
    for Computed { buffer, len } in take {
        npy::write_elements(&mut writer, ArrayView1::from(&buffer[..len]))?;
        // Nobody wants it back after the last piece.
        let _ = give_back.send(buffer);
    }
    Ok(())
}

fn buffer<T: Numeric>(len: usize) -> Result<Vec<T>, Failure> {
    let mut buffer = Vec::new();
    let no_memory = |_| {
        let bytes = bytes_text((len as u64).saturating_mul(size_of::<T>() as u64));
        Failure::failed(format!("there is no memory for a piece of {bytes}; give less --memory"))
    };
    buffer.try_reserve_exact(len).map_err(no_memory)?;
    buffer.resize(len, T::zeroed());
    Ok(buffer)
}
