//! The result written to a Zarr store, chunk by chunk on all cores.

use super::inputs::{Input, InputParts};
use super::job::{Job, slice};
use crate::chunk_grid::ChunkGrid;
use crate::error::CliError;
use crate::progress::Progress;
use crate::shared_args::ZarrArgs;
use std::path::Path;
use std::thread::available_parallelism;
use unishape_zarr::{Format, StoreWriter};

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
/// Each has a chunk of the result, its encoded bytes, and the parts of the inputs with the chunks that they are in.
fn workers(job: &Job, grid: &ChunkGrid, memory: u64) -> Result<usize, CliError> {
    let elements = grid.elements();
    let inputs = job.inputs.iter().map(|input| input.decoded_bytes(elements));
    let own = elements.saturating_mul(2 * job.header().item_size());
    let bytes = inputs.fold(own, usize::saturating_add) as u64;
    if bytes > memory {
        let (bytes, memory) = (indicatif::BinaryBytes(bytes), indicatif::BinaryBytes(memory));
        return Err(CliError::input(format!(
            "a chunk of {} and its inputs take {bytes}, more than --memory {memory} allows; \
             use a larger --memory, or smaller --chunks",
            unishape::notation::shape_text(&grid.chunk)
        )));
    }
    let cores = job.threads.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
    Ok(cores.min(usize::try_from(memory / bytes.max(1)).unwrap_or(usize::MAX)).max(1))
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
    let store_chunk = |index: &[u64], tensor: &unishape::Tensor| {
        array.write_chunk(index, tensor)?;
        progress.advance_bytes(tensor.shape().iter().product::<usize>() as u64 * item_size);
        Ok(())
    };
    let stopped = || progress.interruption_or(CliError::internal("stopped"));
    if job.is_element_wise() {
        grid.for_each(workers(job, grid, memory)?, |index, ranges| {
            if progress.is_stopped() {
                return Err(stopped());
            }
            let mut parts = InputParts::new(&job.inputs);
            parts.load(ranges, None)?;
            // Each thread computes a chunk of its own.
            let computed = job.bind(&parts)?.threads(1).compute();
            store_chunk(index, &computed.map_err(|error| super::inputs::expression_error(&error))?)
        })?;
    } else {
        let whole = job.whole_inputs()?;
        let whole = whole.as_ref().map(|inputs| job.bind(inputs)).transpose()?;
        grid.for_each(1, |index, ranges| {
            if progress.is_stopped() {
                return Err(stopped());
            }
            let Some(whole) = &whole else { return Err(CliError::internal("no inputs")) };
            let computed = slice(whole, ranges).compute();
            store_chunk(index, &computed.map_err(|error| super::inputs::expression_error(&error))?)
        })?;
    }
    if progress.is_stopped() {
        return Err(stopped());
    }
    store.commit(target.force)?;
    Ok(())
}

impl Input {
    /// Bytes of memory for a part of this many elements, with the chunks that are decoded for it.
    fn decoded_bytes(&self, elements: usize) -> usize {
        let own = elements.saturating_mul(self.copied_bytes());
        let chunk = self.chunk_shape().map_or(0, |chunk| {
            let item = self.dtype().map_or(0, |dtype| dtype.item_size());
            chunk.iter().fold(item, |bytes, &size| bytes.saturating_mul(size))
        });
        own.saturating_add(chunk.saturating_mul(2))
    }
}
