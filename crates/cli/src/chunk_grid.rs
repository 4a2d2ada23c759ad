//! The regular chunks of a Zarr array that is written, computed by several threads.

use crate::error::CliError;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use unishape_array_text::IndexRanges;

/// The preferred size of a chunk, in bytes, where no input determines it.
const CHUNK_BYTES: usize = 8 << 20;

/// A shape split into chunks of equal shape; those at the ends may be smaller.
#[derive(Debug)]
pub(crate) struct ChunkGrid {
    shape: Vec<usize>,
    pub(crate) chunk: Vec<usize>,
}

impl ChunkGrid {
    /// A grid of chunks like those of the inputs: in each dimension of the first input that is not broadcast there.
    /// Elsewhere, chunks of about 8 MiB.
    pub(crate) fn like<'i>(
        shape: &[usize],
        item_size: usize,
        inputs: impl Iterator<Item = (&'i [usize], Option<&'i [usize]>)>,
    ) -> ChunkGrid {
        let mut known: Vec<Option<usize>> = vec![None; shape.len()];
        for (own, chunk) in inputs.filter_map(|(own, chunk)| Some((own, chunk?))) {
            let Some(first) = shape.len().checked_sub(own.len()) else { continue };
            for (dim, (&size, &chunk)) in own.iter().zip(chunk).enumerate() {
                if size != 1 && size == shape[first + dim] {
                    known[first + dim].get_or_insert(chunk.clamp(1, size.max(1)));
                }
            }
        }
        let mut chunk: Vec<usize> =
            shape.iter().zip(&known).map(|(&size, known)| known.unwrap_or(size).max(1)).collect();
        // Dimensions that no input determines are split, the first one first.
        for dim in 0..shape.len() {
            let elements = chunk.iter().fold(item_size.max(1), |product, &size| product.saturating_mul(size));
            if known[dim].is_none() && elements > CHUNK_BYTES {
                chunk[dim] = (chunk[dim] / elements.div_ceil(CHUNK_BYTES)).max(1);
            }
        }
        ChunkGrid { shape: shape.to_vec(), chunk }
    }

    /// A grid of given chunks.
    pub(crate) fn new(shape: &[usize], chunk: &[usize]) -> Result<ChunkGrid, CliError> {
        if chunk.len() != shape.len() || chunk.contains(&0) {
            let rank = shape.len();
            return Err(CliError::usage(format!(
                "--chunks needs {rank} sizes, each at least 1, like the result"
            )));
        }
        Ok(ChunkGrid { shape: shape.to_vec(), chunk: chunk.to_vec() })
    }

    /// The shape that is split.
    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of chunks along each dimension.
    fn counts(&self) -> impl DoubleEndedIterator<Item = usize> + ExactSizeIterator {
        self.shape.iter().zip(&self.chunk).map(|(size, chunk)| size.div_ceil(*chunk))
    }

    /// The number of chunks.
    pub(crate) fn count(&self) -> usize {
        self.counts().fold(1, usize::saturating_mul)
    }

    /// The number of elements of a whole chunk.
    pub(crate) fn elements(&self) -> usize {
        self.chunk.iter().fold(1, |product: usize, &size| product.saturating_mul(size))
    }

    /// The index of a chunk in the grid, and its elements.
    pub(crate) fn chunk(&self, number: usize) -> (Vec<u64>, IndexRanges) {
        let mut rest = number;
        let mut index: Vec<usize> = self
            .counts()
            .rev()
            .map(|count| {
                let own = rest % count.max(1);
                rest /= count.max(1);
                own
            })
            .collect();
        index.reverse();
        let dims = index.iter().zip(&self.chunk).zip(&self.shape);
        let ranges = dims.map(|((&at, &chunk), &size)| at * chunk..((at + 1) * chunk).min(size)).collect();
        (index.into_iter().map(|at| at as u64).collect(), ranges)
    }

    /// Calls `work` for every chunk, on this many threads, or fewer if the system refuses some, until one call fails.
    ///
    /// They are not those of the pool, because they wait for files. Each of several runs its own calls alone.
    pub(crate) fn for_each(
        &self,
        threads: usize,
        work: impl Fn(&[u64], &IndexRanges) -> Result<(), CliError> + Sync,
    ) -> Result<(), CliError> {
        let (next, count) = (AtomicUsize::new(0), self.count());
        let failure: Mutex<Option<CliError>> = Mutex::new(None);
        let take_chunks = || {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return;
                }
                let (index, ranges) = self.chunk(number);
                if let Err(error) = work(&index, &ranges) {
                    next.store(count, Ordering::Relaxed);
                    if let Ok(mut failure) = failure.lock() {
                        failure.get_or_insert(error);
                    }
                    return;
                }
            }
        };
        let run = || match threads.min(count) {
            0 | 1 => take_chunks(),
            _ => unishape::with_num_threads(1, take_chunks),
        };
        thread::scope(|scope| {
            let start = |_| thread::Builder::new().spawn_scoped(scope, run).ok();
            let workers: Vec<_> = (1..threads.min(count)).map_while(start).collect();
            run();
            for worker in workers {
                // Joined by its handle: ThreadSanitizer does not see the synchronization at the end of a scope.
                if let Err(panic) = worker.join() {
                    std::panic::resume_unwind(panic);
                }
            }
        });
        failure.into_inner().ok().flatten().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::ChunkGrid;
    use crate::error::CliError;
    use std::sync::Mutex;

    #[test]
    fn every_element_is_in_one_chunk() {
        for (shape, chunk) in
            [(vec![5, 3], vec![2, 2]), (vec![], vec![]), (vec![4], vec![9]), (vec![0, 2], vec![1, 1])]
        {
            let grid = ChunkGrid::new(&shape, &chunk).expect("a grid");
            let seen = Mutex::new(vec![0; shape.iter().product()]);
            let visit = |_: &[u64], ranges: &Vec<std::ops::Range<usize>>| {
                let mut offsets = vec![0];
                for (range, size) in ranges.iter().zip(&shape) {
                    offsets =
                        offsets.iter().flat_map(|at| range.clone().map(move |i| at * size + i)).collect();
                }
                offsets.iter().for_each(|&at| seen.lock().expect("no panic")[at] += 1);
                Ok(())
            };
            grid.for_each(2, visit).expect("no error");
            assert!(seen.into_inner().expect("no panic").iter().all(|&count| count == 1), "{shape:?}");
        }
    }

    #[test]
    fn the_first_error_is_returned() {
        let grid = ChunkGrid::new(&[100], &[1]).expect("a grid");
        assert!(grid.for_each(3, |_, _| Err(CliError::BrokenPipe)).is_err());
    }

    #[test]
    fn chunks_are_those_of_the_inputs_or_about_8_mib() {
        let inputs = [(&[10, 1][..], Some(&[4, 1][..])), (&[10, 6], Some(&[5, 3])), (&[6], None)];
        assert_eq!(ChunkGrid::like(&[10, 6], 4, inputs.into_iter()).chunk, [4, 3]);
        assert_eq!(ChunkGrid::like(&[1 << 20, 1 << 10], 4, [].into_iter()).chunk, [2048, 1024]);
        assert_eq!(ChunkGrid::like(&[0, 3], 4, [].into_iter()).chunk, [1, 3]);
        assert!(ChunkGrid::new(&[4], &[0]).is_err());
    }
}
