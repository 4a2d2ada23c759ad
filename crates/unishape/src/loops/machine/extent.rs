//! Which part of a plan's loops a block is, and how an operand walks through it.

use crate::loops::past;
use crate::loops::plan::Plan;
use smallvec::SmallVec;

/// A block: so many turns of one loop, with all of the loops within it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extent {
    /// The loop whose turns are shared out among blocks.
    pub(super) cut: usize,
    pub(super) turns: usize,
    /// Elements of each turn.
    unit: usize,
}

/// The loops of a block as one operand walks them, the innermost first: how often each runs, and the step in
/// it, in elements. Neighbours that the operand walks as one are one, whatever the others do.
pub(super) type Way = SmallVec<[(usize, isize); 6]>;

/// Whether it leads to one element again and again.
pub(super) fn is_one_element(way: &Way) -> bool {
    matches!(way[..], [] | [(_, 0)])
}

/// Whether it leads from each element to the next one in memory.
pub(super) fn is_one_piece(way: &Way) -> bool {
    matches!(way[..], [] | [(_, 1)])
}

/// Blocks that are a part of a row have a multiple of so many elements.
const EVEN: usize = 16;

impl Extent {
    /// The largest block that has so many elements at most: as many whole loops as there is room for.
    pub(super) fn new(plan: &Plan, most: usize) -> Extent {
        let sizes = plan.sizes();
        let (mut cut, mut unit) = (sizes.len() - 1, 1);
        while cut > 0 && unit * sizes[cut] <= most {
            unit *= sizes[cut];
            cut -= 1;
        }
        Extent { cut, turns: (most / unit).clamp(1, sizes[cut].max(1)), unit }
    }

    /// No more blocks than these, and all about alike: a short one at the end takes nearly as long as the others.
    pub(super) fn even(self, plan: &Plan) -> Extent {
        self.evened(plan.sizes()[self.cut], if self.unit == 1 { EVEN } else { 1 }, 0)
    }

    /// The same, where blocks one after another begin where lines of memory do, if the second one does; an element
    /// has so many bytes.
    pub(super) fn of_whole_lines(self, plan: &Plan, item: usize) -> Extent {
        let some = self.turns_of_a_line(item);
        self.evened(plan.sizes()[self.cut], some, some - 1)
    }

    /// With a multiple of some turns in each block but for the last, and the first, which may have as many less as it is
    /// said; of so many turns in all.
    fn evened(self, size: usize, some: usize, less: usize) -> Extent {
        if self.turns >= size || self.turns < some {
            return self;
        }
        let most = self.turns - self.turns % some;
        let at_most = size + less;
        let turns = at_most.div_ceil(at_most.div_ceil(most)).next_multiple_of(some);
        Extent { turns, ..self }
    }

    /// How many turns the first block has, so that those after it begin where lines do; an output of such
    /// elements, which lies in one piece, begins at this place.
    pub(super) fn first_turns(self, place: *const u8, item: usize) -> usize {
        let some = self.turns_of_a_line(item);
        let is_line = |turns: &usize| (place.addr() + turns * self.unit * item).is_multiple_of(past::LINE);
        match (1..some).find(is_line) {
            Some(turns) if self.turns >= some => self.turns - some + turns,
            _ => self.turns,
        }
    }

    /// The fewest turns that make whole lines.
    fn turns_of_a_line(self, item: usize) -> usize {
        past::LINE >> (self.unit * item).trailing_zeros().min(past::LINE.trailing_zeros())
    }

    /// How many elements it has.
    pub(super) fn count(self) -> usize {
        self.turns * self.unit
    }

    /// Whether it is all there is.
    pub(super) fn is_all(self, plan: &Plan) -> bool {
        self.count() == plan.len()
    }

    /// How often its loops run, the outermost first.
    pub(super) fn sizes(self, plan: &Plan) -> impl DoubleEndedIterator<Item = usize> {
        let within = &plan.sizes()[self.cut + 1..];
        std::iter::once(self.turns).chain(within.iter().copied())
    }

    pub(super) fn way(self, plan: &Plan, operand: usize) -> Way {
        let mut way = Way::new();
        for of in (self.cut..plan.loops()).rev() {
            let (size, steps) = plan.loop_at(of);
            let (size, step) = (if of == self.cut { self.turns } else { size }, steps[operand]);
            match way.last_mut() {
                _ if size == 1 => {}
                Some((len, inner)) if step == *inner * *len as isize => *len *= size,
                _ => way.push((size, step)),
            }
        }
        way
    }

    /// Whether an operand moves on with the loop that is cut, and with the one outside of that.
    pub(super) fn goes_on(self, plan: &Plan, operand: usize) -> bool {
        (self.cut.saturating_sub(1)..=self.cut).all(|of| plan.loop_at(of).1[operand] != 0)
    }

    /// Whether an operand has the same elements in every block.
    pub(super) fn repeats(self, plan: &Plan, operand: usize) -> bool {
        let stays = |of: usize| plan.loop_at(of).1[operand] == 0;
        (0..self.cut).all(stays) && (stays(self.cut) || self.turns == plan.sizes()[self.cut])
    }
}

#[cfg(test)]
mod tests {
    use super::Extent;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_more_blocks_than_there_must_be(
            size in 1usize..20_000,
            turns in 1usize..3000,
            some in 0u32..7,
            is_short in any::<bool>(),
        ) {
            let some = 1 << some;
            // However much shorter the first is.
            let less = if is_short { some - 1 } else { 0 };
            let largest = Extent { cut: 0, turns: turns.min(size), unit: 1 };
            let Extent { turns, .. } = largest.evened(size, some, less);
            prop_assert!((1..=largest.turns).contains(&turns));
            if largest.turns < size && largest.turns >= some {
                prop_assert!(turns.is_multiple_of(some));
                let most = largest.turns / some * some;
                prop_assert!((size + less).div_ceil(turns) <= (size + less).div_ceil(most));
            } else {
                prop_assert_eq!(turns, largest.turns);
            }
        }
    }
}
