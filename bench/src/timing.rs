//! Times contestants in rounds; a figure is the median of the rounds.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The minimum number of rounds.
    pub(crate) min_rounds: usize,
    /// The maximum number of rounds.
    pub(crate) max_rounds: usize,
    /// The time after which no round starts, once there are `min_rounds`.
    pub(crate) time: Duration,
    /// The pause before each block of calls, in which idle threads park. An untimed call follows it.
    pub(crate) pause: Duration,
}

/// The rounds of one contestant: nanoseconds per call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) median: f64,
    /// The lower quartile.
    pub(crate) lower: f64,
    /// The upper quartile.
    pub(crate) upper: f64,
}

impl Times {
    pub(crate) fn of(mut rounds: Vec<f64>) -> Times {
        rounds.sort_by(f64::total_cmp);
        let at = |part: usize| rounds[(rounds.len() * part / 4).min(rounds.len() - 1)];
        Times { median: at(2), lower: at(1), upper: at(3) }
    }

    /// The interquartile range relative to the median.
    pub(crate) fn spread(&self) -> f64 {
        (self.upper - self.lower) / self.median
    }
}

/// The largest spread of several contestants.
pub(crate) fn largest_spread<'t>(times: impl IntoIterator<Item = &'t Times>) -> f64 {
    times.into_iter().map(Times::spread).fold(0.0, f64::max)
}

/// Makes a block of calls; gives the nanoseconds per call. Results are dropped inside the timing, so that each
/// contestant pays for freeing its own memory.
pub(crate) fn time<R>(calls: usize, work: &mut impl FnMut() -> R) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        black_box(work());
    }
    start.elapsed().as_nanos() as f64 / calls as f64
}

/// A contestant: makes a block of calls and gives the nanoseconds per call. The loop over the calls is inside, so
/// that work of some nanoseconds is not called through a pointer.
pub(crate) type Timed<'a> = Box<dyn FnMut(usize) -> f64 + 'a>;

/// A function as a contestant.
pub(crate) fn timed<'a, R>(mut work: impl FnMut() -> R + 'a) -> Timed<'a> {
    Box::new(move |calls| time(calls, &mut work))
}

/// The minimum number of blocks, even of the slowest contestant.
const MIN_BLOCKS: usize = 3;

/// Measures contestants in rounds of one block of calls each. Every round starts with another contestant.
pub(crate) fn measure(limits: Limits, contestants: &mut [Timed<'_>]) -> Vec<Times> {
    // A block takes at least 0.5 ms, so that the resolution of the clock does not matter.
    let calls: Vec<usize> = contestants
        .iter_mut()
        .map(|block| {
            let once = block(1).max(1.0);
            let better = if once < 1e6 { block((1e5 / once).ceil() as usize).max(1.0) } else { once };
            (5e5 / better).ceil() as usize
        })
        .collect();
    let mut rounds: Vec<Vec<f64>> = vec![Vec::new(); contestants.len()];
    let start = Instant::now();
    for round in 0..limits.max_rounds {
        if round >= limits.min_rounds && start.elapsed() > limits.time {
            break;
        }
        for number in 0..contestants.len() {
            let number = (round + number) % contestants.len();
            // A slow contestant stops early: it must not take most of the time of all.
            let spent = rounds[number].iter().sum::<f64>() * calls[number] as f64;
            if rounds[number].len() < MIN_BLOCKS || spent < limits.time.as_nanos() as f64 / 2.0 {
                if !limits.pause.is_zero() {
                    std::thread::sleep(limits.pause);
                    contestants[number](1);
                }
                rounds[number].push(contestants[number](calls[number]));
            }
        }
    }
    rounds.into_iter().map(Times::of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_the_interquartile_range_relative_to_the_median() {
        let times = Times::of(vec![5.0, 1.0, 2.0, 4.0, 3.0]);
        assert_eq!((times.median, times.lower, times.upper), (3.0, 2.0, 4.0));
        assert_eq!(times.spread(), 2.0 / 3.0);
        assert_eq!(largest_spread([&Times::of(vec![1.0]), &times]), 2.0 / 3.0);
    }
}
