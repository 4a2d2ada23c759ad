//! Large work cut into pieces that several threads do.

use super::plan::Plan;
use super::threads::Threads;
use rayon::Scope;
use smallvec::SmallVec;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Below this many bytes read and written, a second thread costs more than it saves.
pub(crate) const WORTH_A_THREAD: usize = 1 << 20;

/// Bytes of the pieces that work is shared out in. The larger they are, the longer threads wait for the last one; the
/// smaller, the more of the time goes by before and after them.
const PIECE: RangeInclusive<usize> = 1 << 18..=1 << 21;

/// So many pieces for each thread are enough.
const PIECES: usize = 8;

/// Work is shared out in no more pieces than this; who does one of them does it in parts as small as all others.
const MOST_PIECES: usize = 1024;

/// Whether work on so many elements, with so many bytes for each, is shared among threads.
#[inline]
pub(crate) fn is_worth_a_thread(elements: usize, bytes: usize) -> bool {
    elements.saturating_mul(bytes) > WORTH_A_THREAD
}

/// Does the work of a plan, in tiles where that helps, and in parallel where it is large: with threads that are given,
/// with those of the pool of rayon's that the caller is in, or else with as many of our own as rayon has. `bytes` are
/// those read and written for one element.
#[inline]
pub(crate) fn in_pieces(plan: Plan, bytes: usize, threads: Option<&Threads>, work: &(impl Fn(&Plan) + Sync)) {
    if is_worth_a_thread(plan.len(), bytes) { shared(plan, bytes, threads, work) } else { work(&plan) }
}

/// The caller takes part: where the others are slow to wake up, it has done the work by then. Each thread has a
/// stretch of pieces that follow each other, since memory is given out by large pages, and two threads at one page
/// are in each other's way; who is done with its own helps the others.
fn shared(plan: Plan, bytes: usize, threads: Option<&Threads>, work: &(impl Fn(&Plan) + Sync)) {
    let ours;
    let threads = match threads {
        None if rayon::current_thread_index().is_none() => {
            ours = Threads::new(rayon::current_num_threads());
            Some(&ours)
        }
        given => given,
    };
    let number = threads.map_or_else(rayon::current_num_threads, Threads::number);
    let moved = plan.len().saturating_mul(bytes);
    let few = (moved / (PIECES * number)).clamp(*PIECE.start(), *PIECE.end()) / bytes.max(1);
    let mut pieces = Vec::new();
    let large = few.max(plan.len() / MOST_PIECES);
    plan.tiled().into_iter().for_each(|plan| cut(plan, large, &mut |piece| pieces.push(piece)));
    let number = number.min(pieces.len());
    let done: SmallVec<[AtomicUsize; 16]> = (0..number).map(|_| AtomicUsize::new(0)).collect();
    let begin = |stretch: usize| pieces.len() * stretch / number;
    let take_part = |own: usize| {
        for stretch in (own..number).chain(0..own) {
            let its = &pieces[begin(stretch)..begin(stretch + 1)];
            while let Some(piece) = its.get(done[stretch].fetch_add(1, Ordering::Relaxed)) {
                cut(piece.clone(), few, &mut |part| work(&part));
            }
        }
    };
    if number == 1 {
        return take_part(0);
    }
    let busy = AtomicUsize::new(number - 1);
    match threads {
        Some(threads) => threads.share(number - 1, |scope| all(scope, number, &take_part, &busy)),
        None => rayon::in_place_scope(|scope| all(scope, number, &take_part, &busy)),
    }
}

/// So many take part, the caller among them.
fn all<'s>(scope: &Scope<'s>, number: usize, take_part: &'s (impl Fn(usize) + Sync), busy: &'s AtomicUsize) {
    for own in 1..number {
        scope.spawn(move |_| {
            take_part(own);
            busy.fetch_sub(1, Ordering::Release);
        });
    }
    take_part(0);
    wait_for(busy);
}

/// How long a caller who is done looks whether the others are, before it sleeps: to be woken up takes as long.
const AWAKE: Duration = Duration::from_micros(100);

fn wait_for(busy: &AtomicUsize) {
    let begin = Instant::now();
    while busy.load(Ordering::Acquire) > 0 && begin.elapsed() < AWAKE {
        std::thread::yield_now();
    }
}

/// Halves the work until a piece has so few elements, and hands out one after another.
fn cut(plan: Plan, few: usize, hand_out: &mut impl FnMut(Plan)) {
    match plan.halves(64) {
        Some((first, second)) if plan.len() > few => {
            cut(first, few, hand_out);
            cut(second, few, hand_out);
        }
        _ => hand_out(plan),
    }
}
