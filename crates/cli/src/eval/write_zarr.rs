//! The result written to a Zarr store, chunk by chunk on several threads.

use super::block_parts::BlockParts;
use super::inputs::{Input, expression_error};
use super::job::{Job, slice};
use crate::chunk_grid::ChunkGrid;
use crate::chunks::{Chunks, len};
use crate::error::CliError;
use crate::progress::Progress;
use crate::shared_args::ZarrArgs;
use std::ops::Range;
use std::path::Path;
use unishape_array_text::IndexRanges;
use unishape_zarr::{ChunkWriter, Format, StoreWriter};

/// The preferred size of a block of a chunk, in bytes: with its inputs, it fits the L2 cache.
const BLOCK_BYTES: usize = 1 << 18;

/// Memory of a decoder, in bytes: zstd's window at levels up to 19.
const DECODER_BYTES: usize = 8 << 20;

/// Memory of an encoder, in bytes: zstd's window and tables at level 1.
const ENCODER_BYTES: usize = 2 << 20;

/// Where a result goes: a store, and the name of its array.
pub(crate) struct ZarrTarget<'t> {
    pub(crate) path: &'t Path,
    pub(crate) name: &'t str,
    pub(crate) args: &'t ZarrArgs,
    pub(crate) force: bool,
}

/// The chunks of the result.
pub(crate) fn chunk_grid(job: &Job, args: &ZarrArgs) -> Result<ChunkGrid, CliError> {
    if let Some(chunk) = &args.chunks {
        return ChunkGrid::new(&job.shape, chunk);
    }
    let inputs = job.inputs.iter().filter_map(|input| Some((input.shape()?, input.chunk_shape())));
    Ok(ChunkGrid::like(&job.shape, job.header().item_size(), inputs))
}

/// The number of threads, such that their chunks need at most `memory` bytes.
///
/// Each has a block of the result, an encoder, and the parts of the inputs with the chunks that they are in.
fn workers(job: &Job, grid: &ChunkGrid, memory: u64) -> Result<usize, CliError> {
    let chunk = grid.elements().saturating_mul(job.header().item_size());
    let own = chunk.min(BLOCK_BYTES).saturating_add(chunk.min(ENCODER_BYTES));
    let inputs = job.inputs.iter().map(|input| input.decoded_bytes(grid));
    let bytes = inputs.fold(own, usize::saturating_add) as u64;
    if bytes > memory {
        let (bytes, memory) = (indicatif::BinaryBytes(bytes), indicatif::BinaryBytes(memory));
        return Err(CliError::input(format!(
            "a chunk of {} and its inputs take {bytes}, more than --memory {memory} allows; \
             use a larger --memory, or smaller --chunks",
            unishape::notation::shape_text(&grid.chunk)
        )));
    }
    Ok(unishape::num_threads().min(usize::try_from(memory / bytes.max(1)).unwrap_or(usize::MAX)).max(1))
}

/// Computes a chunk block by block, so that it is never in memory as a whole.
fn write_chunk(job: &Job, ranges: &IndexRanges, mut chunk: ChunkWriter<'_>) -> Result<(), CliError> {
    let mut parts = BlockParts::open(&job.inputs, ranges)?;
    let shape: Vec<usize> = ranges.iter().map(Range::len).collect();
    for own in Chunks::new(&shape, BLOCK_BYTES / job.header().item_size()).iter() {
        let block: IndexRanges =
            own.iter().zip(ranges).map(|(own, all)| all.start + own.start..all.start + own.end).collect();
        parts.load(&block)?;
        let computed = job.bind_values(parts.values())?.compute();
        chunk.write(&own, &computed.map_err(|error| expression_error(&error))?)?;
    }
    Ok(chunk.finish()?)
}

/// Computes the result into a store that appears when it is complete.
pub(crate) fn write(
    job: &Job,
    grid: &ChunkGrid,
    target: &ZarrTarget<'_>,
    memory: u64,
    progress: &Progress,
) -> Result<(), CliError> {
    let format = if target.args.zarr_format == 2 { Format::V2 } else { Format::V3 };
    let mut store = StoreWriter::create(target.path, format)?;
    let array = store.add_array(target.name, job.dtype, &job.shape, &grid.chunk)?;
    let item_size = job.header().item_size() as u64;
    let stopped = || progress.interruption_or(CliError::internal("stopped"));
    if job.is_element_wise() {
        grid.for_each(workers(job, grid, memory)?, |index, ranges| {
            if progress.is_stopped() {
                return Err(stopped());
            }
            write_chunk(job, ranges, array.chunk(index))?;
            progress.advance_bytes(len(ranges) as u64 * item_size);
            Ok(())
        })?;
    } else {
        let whole = job.whole_inputs(&|| progress.is_stopped());
        let whole = whole.map_err(|error| progress.interruption_or(error))?;
        let whole = whole.as_ref().map(|inputs| job.bind(inputs)).transpose()?;
        grid.for_each(1, |index, ranges| {
            if progress.is_stopped() {
                return Err(stopped());
            }
            let Some(whole) = &whole else { return Err(CliError::internal("no inputs")) };
            let computed = slice(whole, ranges).compute();
            array.write_chunk(index, &computed.map_err(|error| expression_error(&error))?)?;
            progress.advance_bytes(len(ranges) as u64 * item_size);
            Ok(())
        })?;
    }
    if progress.is_stopped() {
        return Err(stopped());
    }
    store.commit(target.force)?;
    Ok(())
}

impl Input {
    /// Bytes of memory for the part that a chunk of the result needs, with the chunks that are decoded for it.
    fn decoded_bytes(&self, grid: &ChunkGrid) -> usize {
        let chunk = self.chunk_shape().map_or(0, |chunk| {
            let item = self.dtype().map_or(0, |dtype| dtype.item_size());
            chunk.iter().fold(item, |bytes, &size| bytes.saturating_mul(size))
        });
        let is_like_result = self.shape() == Some(grid.shape()) && self.chunk_shape() == Some(&grid.chunk);
        if is_like_result && self.reads_blocks() {
            return chunk.min(DECODER_BYTES).saturating_add(chunk.min(BLOCK_BYTES));
        }
        grid.elements().saturating_mul(self.copied_bytes()).saturating_add(chunk.saturating_mul(2))
    }
}
