//! Times that can be compared: everybody takes turns, and the figure is the median turn's.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// So many rounds at least,
    pub(crate) least: usize,
    /// so many at most,
    pub(crate) most: usize,
    /// and between the two, until so much time is spent.
    pub(crate) time: Duration,
}

/// What was measured of one contestant: nanoseconds a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) median: f64,
    /// A quarter of the rounds were faster,
    pub(crate) lower: f64,
    /// a quarter slower.
    pub(crate) upper: f64,
}

impl Times {
    fn of(mut rounds: Vec<f64>) -> Times {
        rounds.sort_by(f64::total_cmp);
        let at = |part: usize| rounds[(rounds.len() * part / 4).min(rounds.len() - 1)];
        Times { median: at(2), lower: at(1), upper: at(3) }
    }

    /// How far the middle half of the rounds is apart, as a part of the median.
    pub(crate) fn spread(&self) -> f64 {
        (self.upper - self.lower) / self.median
    }
}

/// Calls some work again and again; gives the nanoseconds a call. What the work gives is dropped inside, so
/// that memory is given back at the cost of who asked for it.
pub(crate) fn time<R>(calls: usize, work: &mut impl FnMut() -> R) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        black_box(work());
    }
    start.elapsed().as_nanos() as f64 / calls as f64
}

/// One who takes part: told a number of calls, it makes them, and gives the nanoseconds a call. The loop over
/// the calls is inside, so that work of some nanoseconds is not asked for through a pointer.
pub(crate) type Turn<'a> = Box<dyn FnMut(usize) -> f64 + 'a>;

/// A function as a contestant.
pub(crate) fn turn<'a, R>(mut work: impl FnMut() -> R + 'a) -> Turn<'a> {
    Box::new(move |calls| time(calls, &mut work))
}

/// So many turns everybody has, however slow.
const FEW: usize = 3;

/// Measures contestants in rounds. In every round each has one turn, and another one is the first.
pub(crate) fn in_turns(patience: Patience, contestants: &mut [Turn<'_>]) -> Vec<Times> {
    // Small work is called so often that a turn takes as long as a clock can tell well.
    let calls: Vec<usize> = contestants
        .iter_mut()
        .map(|turn| {
            let once = turn(1).max(1.0);
            let better = if once < 1e6 { turn((1e5 / once).ceil() as usize).max(1.0) } else { once };
            (5e5 / better).ceil() as usize
        })
        .collect();
    let mut rounds: Vec<Vec<f64>> = vec![Vec::new(); contestants.len()];
    let start = Instant::now();
    for round in 0..patience.most {
        if round >= patience.least && start.elapsed() > patience.time {
            break;
        }
        for number in 0..contestants.len() {
            let number = (round + number) % contestants.len();
            // Who is that slow has had turns enough.
            let spent = rounds[number].iter().sum::<f64>() * calls[number] as f64;
            if rounds[number].len() < FEW || spent < patience.time.as_nanos() as f64 / 2.0 {
                rounds[number].push(contestants[number](calls[number]));
            }
        }
    }
    rounds.into_iter().map(Times::of).collect()
}
