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
        use crate::tuning::{CHUNK_BYTES, CHUNKS_PER_WORKER, MIN_CHUNK_BYTES};
        let share = bytes / team.threads();
        let chunk = (share / CHUNKS_PER_WORKER).clamp(*CHUNK_BYTES.start(), *CHUNK_BYTES.end());
        chunk.min(share.max(MIN_CHUNK_BYTES))
    };
    #[cfg(not(feature = "parallel"))]
    let chunk = SERIAL_CHUNK_BYTES;
    let chunk = if team.threads() > 1 { chunk } else { SERIAL_CHUNK_BYTES };
    let bytes_per_element = bytes as f64 / nest.len().max(1) as f64;
    let parts: SmallVec<[HalvedNest; 4]> = nest
        .tiles()
        .into_iter()
        .map(|nest| {
            let chunks = nest.len() as f64 * bytes_per_element / chunk as f64;
            HalvedNest { depth: chunks.max(1.0).log2() as u32, nest }
        })
        .collect();
    let tasks = parts.iter().map(|parts| 1 << parts.depth).sum();
    let run = |mut task: usize| {
        for HalvedNest { nest, depth } in &parts {
            if task < 1 << depth {
                return nest.part(task, *depth, CHUNK_GRANULARITY).iter().for_each(work);
            }
            task -= 1 << depth;
        }
    };
    run_tasks(tasks, team, &run);
}

/// A nest that is divided into 2^`depth` parts.
struct HalvedNest {
    nest: LoopNest,
    depth: u32,
}

#[cfg(test)]
mod tests {
    use super::for_each_chunk;
    use crate::nest::LoopNest;
    use crate::parallel::Team;
    use std::sync::Mutex;

    /// The chunks of a nest, for work of a cost in bytes.
    fn chunks(nest: &LoopNest, bytes: usize, threads: usize) -> Vec<LoopNest> {
        let chunks = Mutex::new(Vec::new());
        for_each_chunk(nest, bytes, Team::of(Some(threads)), &|chunk| {
            chunks.lock().unwrap().push(chunk.clone())
        });
        chunks.into_inner().unwrap()
    }

    #[cfg(feature = "parallel")]
    #[test]
    fn each_thread_gets_several_chunks_of_bounded_size() {
        let nest = LoopNest::new(&[1 << 23], 1, |_, _| 1);
        let count = |bytes, threads| chunks(&nest, bytes, threads).len();
        assert_eq!(count(1 << 26, 16), 16 * 8);
        // Chunks of 2 MiB, of 256 KiB, and of 4 MiB on one thread.
        assert_eq!((count(1 << 26, 2), count(1 << 20, 16), count(1 << 26, 1)), (32, 4, 16));
        assert_eq!(count(1 << 10, 16), 1);
        // Chunks of 512 KiB, and smaller ones where some thread would have none.
        assert_eq!((count(1 << 22, 2), count(3 << 19, 2), count(3 << 18, 2)), (8, 2, 2));
    }

    #[test]
    fn chunks_of_tiles_are_the_whole_nest() {
        let nest = LoopNest::new(&[1000, 1100], 2, |operand, dim| [[1100, 1], [1, 1000]][operand][dim]);
        let chunks = chunks(&nest, 1 << 24, 2);
        assert_eq!(chunks.iter().map(LoopNest::len).sum::<usize>(), nest.len());
        let mut starts: Vec<&[isize]> = chunks.iter().map(|chunk| chunk.starts()).collect();
        starts.sort_unstable();
        starts.dedup();
        assert!(starts.len() == chunks.len() && chunks.len() > 4);
    }
}
