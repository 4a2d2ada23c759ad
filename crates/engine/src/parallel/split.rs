//! Work splitting: a loop nest cut into chunks.

use crate::nest::LoopNest;
use crate::tuning::{CHUNK_GRANULARITY, PARALLEL_MIN_BYTES, SERIAL_CHUNK_BYTES};
use smallvec::SmallVec;

/// Whether work is large enough for several threads.
///
/// `bytes` are those of memory that it touches. Arithmetic may count as bytes.
#[inline]
pub fn is_parallel(bytes: usize) -> bool {
    bytes > PARALLEL_MIN_BYTES
}

/// Calls `work` with chunks of a nest, tiled where that helps, in parallel where the work is large.
///
/// `bytes` are those of memory that the nest touches, or more, where the work is more than moving them.
/// `threads` is the requested number of threads; by default [`num_threads`](super::num_threads), or those of
/// the rayon pool that the caller is in.
#[inline]
pub(crate) fn for_each_chunk(
    nest: &LoopNest,
    bytes: usize,
    threads: Option<usize>,
    work: &(dyn Fn(&LoopNest) + Sync),
) {
    if is_parallel(bytes) { split(nest, bytes, threads, work) } else { work(nest) }
}

fn split(nest: &LoopNest, bytes: usize, threads: Option<usize>, work: &(dyn Fn(&LoopNest) + Sync)) {
    #[cfg(feature = "parallel")]
    let (team, chunk) = {
        use crate::tuning::{CHUNK_BYTES, CHUNKS_PER_WORKER};
        let team = super::pool::team_size(threads);
        (team, (bytes / (CHUNKS_PER_WORKER * team)).clamp(*CHUNK_BYTES.start(), *CHUNK_BYTES.end()))
    };
    #[cfg(not(feature = "parallel"))]
    let (team, chunk) = (1, 1);
    let chunk = if team > 1 { chunk } else { SERIAL_CHUNK_BYTES };
    let bytes_per_element = bytes as f64 / nest.len().max(1) as f64;
    let parts: SmallVec<[Parts; 4]> = nest
        .tiles()
        .into_iter()
        .map(|nest| {
            let chunks = nest.len() as f64 * bytes_per_element / chunk as f64;
            Parts { depth: chunks.max(1.0).log2() as u32, nest }
        })
        .collect();
    let tasks = parts.iter().map(|parts| 1 << parts.depth).sum();
    let run = |mut task: usize| {
        for Parts { nest, depth } in &parts {
            if task < 1 << depth {
                return nest.part(task, *depth, CHUNK_GRANULARITY).iter().for_each(work);
            }
            task -= 1 << depth;
        }
    };
    if team > 1 { super::run_tasks(tasks, threads, &run) } else { (0..tasks).for_each(run) }
}

/// A nest that is divided into 2^`depth` parts.
struct Parts {
    nest: LoopNest,
    depth: u32,
}
