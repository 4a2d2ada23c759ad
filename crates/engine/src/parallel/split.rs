//! Work splitting: a loop nest cut into chunks.

use crate::nest::LoopNest;
use crate::tuning::{CHUNK_GRANULARITY, PARALLEL_MIN_BYTES};

/// Whether several workers share work on this many elements.
///
/// `bytes` are those read and written for one element.
#[inline]
pub fn is_parallel(elements: usize, bytes: usize) -> bool {
    elements.saturating_mul(bytes) > PARALLEL_MIN_BYTES
}

/// Calls `work` with chunks of a nest, tiled where that helps, in parallel where the work is large.
///
/// `bytes` are those read and written for one element. `threads` is the requested number of threads; by
/// default [`num_threads`](super::num_threads), or those of the rayon pool that the caller is in.
#[inline]
pub(crate) fn for_each_chunk(
    nest: LoopNest,
    bytes: usize,
    threads: Option<usize>,
    work: &(dyn Fn(&LoopNest) + Sync),
) {
    if is_parallel(nest.len(), bytes) { split(nest, bytes, threads, work) } else { work(&nest) }
}

#[cfg(feature = "parallel")]
fn split(nest: LoopNest, bytes: usize, threads: Option<usize>, work: &(dyn Fn(&LoopNest) + Sync)) {
    use crate::tuning::{CHUNK_BYTES, CHUNKS_PER_WORKER, MAX_CHUNKS};
    let moved = nest.len().saturating_mul(bytes);
    let chunks = CHUNKS_PER_WORKER * super::pool::team_size(threads);
    let chunk = (moved / chunks).clamp(*CHUNK_BYTES.start(), *CHUNK_BYTES.end()) / bytes.max(1);
    let listed = chunk.max(nest.len() / MAX_CHUNKS);
    let mut tasks = Vec::new();
    nest.tiles().into_iter().for_each(|nest| cut(nest, listed, &mut |chunk| tasks.push(chunk)));
    super::run_tasks(tasks.len(), threads, &|task| {
        cut(tasks[task].clone(), chunk, &mut |chunk| work(&chunk))
    });
}

/// One chunk fits the L2 cache; none is larger, so that a panic or a cancelled call ends soon.
#[cfg(not(feature = "parallel"))]
fn split(nest: LoopNest, bytes: usize, _: Option<usize>, work: &(dyn Fn(&LoopNest) + Sync)) {
    let chunk = PARALLEL_MIN_BYTES / bytes.max(1);
    nest.tiles().into_iter().for_each(|nest| cut(nest, chunk, &mut |chunk| work(&chunk)));
}

/// Halves a nest until a chunk has at most `elements` elements.
fn cut(nest: LoopNest, elements: usize, each: &mut dyn FnMut(LoopNest)) {
    match nest.split(CHUNK_GRANULARITY) {
        Some((first, second)) if nest.len() > elements => {
            cut(first, elements, each);
            cut(second, elements, each);
        }
        _ => each(nest),
    }
}
