//! Arrays in chunks, decoded to temporary files.

use crate::chunk_grid::ChunkGrid;
use crate::error::CliError;
use unishape::text;
use unishape_files::ArraySource;
use unishape_npy::{NpyError, RawArray, TemporaryArray};

/// The preferred size of what a thread decodes at a time, in bytes.
const BLOCK_BYTES: usize = 8 << 20;

/// The most threads that decode. Each has a block in memory, and the chunks that it is decoded from.
const MAX_THREADS: usize = 4;

/// Decodes an array to a temporary file, chunk by chunk on several threads, until `is_stopped`.
pub(super) fn decode_to_file(
    array: &dyn ArraySource,
    name: &str,
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> Result<RawArray, CliError> {
    let (header, chunk) = (array.header(), array.chunk_shape().unwrap_or(&[]));
    let failed = |error: NpyError| {
        let directory = text::display_path(&std::env::temp_dir());
        CliError::io(format!("{name}: cannot be decoded to a temporary file in {directory}: {error}"))
    };
    let temporary = TemporaryArray::create(header.clone()).map_err(failed)?;
    let grid = ChunkGrid::new(&header.shape, &wide_chunk(&header.shape, chunk, header.item_size()))?;
    grid.for_each(unishape::num_threads().min(MAX_THREADS), |_, ranges| {
        if is_stopped() {
            return Err(CliError::internal("stopped"));
        }
        temporary.write_region(ranges, array.region(ranges)?.view()).map_err(failed)
    })?;
    temporary.finish(name).map_err(failed)
}

/// Several chunks side by side, so that their rows are longer in a row-major file.
fn wide_chunk(shape: &[usize], chunk: &[usize], item_size: usize) -> Vec<usize> {
    let mut wide = chunk.to_vec();
    for dim in (0..shape.len()).rev() {
        let bytes = wide.iter().fold(item_size, |bytes, &size| bytes.saturating_mul(size));
        let times = (BLOCK_BYTES / bytes.max(1)).max(1);
        wide[dim] = wide[dim].saturating_mul(times).min(shape[dim].max(wide[dim]));
        if wide[dim] < shape[dim] {
            break;
        }
    }
    wide
}

#[cfg(test)]
mod tests {
    use super::wide_chunk;

    #[test]
    fn chunks_are_widened_up_to_8_mib() {
        assert_eq!(wide_chunk(&[4000, 4000], &[1000, 1000], 4), [1000, 2000]);
        assert_eq!(wide_chunk(&[4000, 1000], &[100, 100], 4), [2000, 1000]);
        // Chunks may be larger than the array.
        assert_eq!(wide_chunk(&[4000, 700], &[100, 1000], 4), [2000, 1000]);
        assert_eq!(wide_chunk(&[4000, 4000], &[4000, 4000], 8), [4000, 4000]);
        assert_eq!(wide_chunk(&[10, 10], &[64, 64], 8), [640, 640].map(|_| 64));
        assert_eq!(wide_chunk(&[], &[], 8), [0; 0]);
    }
}
