//! Timing that two ways of doing the same can be compared by: in turns, by their medians.

use std::hint::black_box;
use std::time::Instant;

/// The medians, in nanoseconds a call, of two pieces of work that take turns.
pub(crate) fn compare<A, B>(
    rounds: usize,
    calls: usize,
    mut ours: impl FnMut() -> A,
    mut theirs: impl FnMut() -> B,
) -> (f64, f64) {
    let mut times = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        times.0.push(time(calls, &mut ours));
        times.1.push(time(calls, &mut theirs));
    }
    (median(times.0), median(times.1))
}

fn time<T>(calls: usize, work: &mut impl FnMut() -> T) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        black_box(work());
    }
    start.elapsed().as_nanos() as f64 / calls as f64
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
