//! Work splitting: a loop nest cut into chunks.

use super::cost::is_parallel;
use super::{Team, run_tasks};
use crate::nest::LoopNest;
use crate::tuning::{CHUNK_GRANULARITY, SERIAL_CHUNK_BYTES};
use smallvec::SmallVec;

/// Calls `work` with chunks of a nest, tiled where that helps, in parallel where the work is large.
///
/// `bytes` is its [`cost`](super::cost).
#[inline]
pub(crate) fn for_each_chunk(nest: &LoopNest, bytes: usize, team: Team, work: &(dyn Fn(&LoopNest) + Sync)) {
    if is_parallel(bytes) { split(nest, bytes, team, work) } else { work(nest) }
}

fn split(nest: &LoopNest, bytes: usize, team: Team, work: &(dyn Fn(&LoopNest) + Sync)) {
    #[cfg(feature = "parallel")]
    let chunk = {
        use crate::tuning::{CHUNK_BYTES, CHUNKS_PER_WORKER};
        (bytes / (CHUNKS_PER_WORKER * team.threads())).clamp(*CHUNK_BYTES.start(), *CHUNK_BYTES.end())
    };
    #[cfg(not(feature = "parallel"))]
    let chunk = SERIAL_CHUNK_BYTES;
    let chunk = if team.threads() > 1 { chunk } else { SERIAL_CHUNK_BYTES };
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
    run_tasks(tasks, team, &run);
}

/// A nest that is divided into 2^`depth` parts.
struct Parts {
    nest: LoopNest,
    depth: u32,
}
