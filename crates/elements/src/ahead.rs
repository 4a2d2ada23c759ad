//! Memory that is fetched while a kernel computes.
//!
//! A CPU foresees what comes next where somebody walks through memory, but not soon enough to keep memory busy, and
//! not at all while it computes with what is in the cache. To ask for much at once does not help: more requests than
//! a core can wait for hold up what comes behind them. So kernels ask for a few lines after every few elements.

use crate::cpu;

/// A line of the cache, in bytes.
#[doc(hidden)]
pub const LINE: usize = 64;

/// As many places as this are fetched from at a time; there is no more to be gained from more of them.
const MOST: usize = 8;

/// What is fetched while kernels compute: a few lines for each part of their blocks.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Ahead {
    places: [Place; MOST],
    count: usize,
    /// How many elements are computed between one time and the next.
    part: usize,
    wide: bool,
}

/// Lines one after another.
#[derive(Clone, Copy, Debug)]
struct Place {
    next: *const u8,
    /// How many there are still, and how many are fetched at a time.
    lines: usize,
    at_a_time: usize,
}

impl Default for Place {
    fn default() -> Place {
        Place { next: std::ptr::null(), lines: 0, at_a_time: 0 }
    }
}

impl Ahead {
    /// Nothing.
    #[doc(hidden)]
    #[inline]
    pub fn none() -> Ahead {
        Ahead::default()
    }

    /// Whether more is computed than waited for, so that arithmetic has the widest vectors too.
    #[doc(hidden)]
    #[inline]
    pub fn widen(&mut self, wide: bool) {
        self.wide = wide;
    }

    pub(crate) fn is_wide(&self) -> bool {
        self.wide
    }

    /// Nothing any more; what is added from now on is fetched after so many elements each time.
    #[doc(hidden)]
    #[inline]
    pub fn restart(&mut self, part: usize) {
        (self.count, self.part) = (0, part.max(1));
    }

    /// So many bytes too, evenly while so many parts are computed. If there is no such memory, that does no harm.
    #[doc(hidden)]
    #[inline]
    pub fn add(&mut self, first: *const u8, bytes: usize, parts: usize) {
        if self.count < MOST {
            let lines = bytes.div_ceil(LINE);
            self.places[self.count] = Place { next: first, lines, at_a_time: lines.div_ceil(parts.max(1)) };
            self.count += 1;
        }
    }

    /// Fetches what comes next, a few lines of each place.
    #[doc(hidden)]
    #[inline]
    pub fn fetch(&mut self) {
        for place in &mut self.places[..self.count] {
            let lines = place.at_a_time.min(place.lines);
            for _ in 0..lines {
                cpu::fetch(place.next);
                place.next = place.next.wrapping_add(LINE);
            }
            place.lines -= lines;
        }
    }

    /// Does something for each part of so many elements, which has so many at most, and fetches before each of them;
    /// where nothing is to be fetched, parts are as large as they may be.
    #[inline(always)]
    pub(crate) fn in_parts(&mut self, elements: usize, most: usize, mut each: impl FnMut(usize, usize)) {
        let part = if self.count == 0 { most } else { self.part.clamp(1, most.max(1)) };
        let mut first = 0;
        while first < elements {
            if self.count > 0 {
                self.fetch();
            }
            let end = if elements - first > part { first + part } else { elements };
            each(first, end);
            first = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Ahead, LINE};
    use proptest::prelude::*;

    proptest! {
        /// Whatever is to be fetched, each element comes once and in order, and all lines are fetched by the last part.
        #[test]
        fn all_is_computed_and_all_is_fetched(
            elements in 0usize..3000,
            most in 1usize..2000,
            part in 0usize..300,
            bytes in prop::collection::vec(0usize..10_000, 0..12),
        ) {
            let mut ahead = Ahead::none();
            ahead.restart(part);
            for &bytes in &bytes {
                ahead.add(std::ptr::null(), bytes, elements.div_ceil(part.max(1)));
            }
            let (mut done, mut parts) = (0, 0);
            ahead.in_parts(elements, most, |first, end| {
                assert!(first == done && end > first && end - first <= most);
                (done, parts) = (end, parts + 1);
            });
            prop_assert_eq!(done, elements);
            // Evenly: some of each at every part, and no more than it takes.
            for (place, bytes) in ahead.places[..ahead.count].iter().zip(bytes) {
                let lines = bytes.div_ceil(LINE);
                prop_assert!(elements == 0 || place.lines == 0);
                prop_assert_eq!(place.next.addr(), (lines - place.lines) * LINE);
                prop_assert_eq!(place.at_a_time, lines.div_ceil(elements.div_ceil(part.max(1)).max(1)));
                prop_assert!(place.at_a_time * parts >= lines || elements == 0);
            }
        }
    }
}
