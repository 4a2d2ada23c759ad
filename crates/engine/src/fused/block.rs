//! Blocks: the part of a loop nest that is computed at a time, and the loops of each operand within it.

use crate::nest::LoopNest;
use crate::tuning::BLOCK_MULTIPLE;
use smallvec::SmallVec;
use unishape_simd::CACHE_LINE;

/// A block: some iterations of one loop, with all of the loops within it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BlockShape {
    /// The loop whose iterations are divided among blocks.
    pub(super) level: usize,
    /// Its iterations in this block.
    pub(super) iterations: usize,
    /// Elements of each iteration.
    elements: usize,
}

/// The loops of a block for one operand, innermost first: number of iterations and stride in elements.
/// Loops that are one loop for this operand are coalesced.
pub(super) type BlockLoops = SmallVec<[(usize, isize); 6]>;

/// Whether all elements are one: a broadcast scalar.
pub(super) fn is_scalar(loops: &BlockLoops) -> bool {
    matches!(loops[..], [] | [(_, 0)])
}

/// Whether the elements are contiguous.
pub(super) fn is_contiguous(loops: &BlockLoops) -> bool {
    matches!(loops[..], [] | [(_, 1)])
}

impl BlockShape {
    /// The largest block of at most `elements` elements: as many whole loops as fit.
    pub(super) fn new(nest: &LoopNest, elements: usize) -> BlockShape {
        let sizes = nest.sizes();
        let (mut level, mut inner) = (sizes.len() - 1, 1);
        while level > 0 && inner * sizes[level] <= elements {
            inner *= sizes[level];
            level -= 1;
        }
        let iterations = (elements / inner).clamp(1, sizes[level].max(1));
        BlockShape { level, iterations, elements: inner }
    }

    /// The largest block of at most `elements` elements, or a row of at most as many.
    pub(super) fn of_rows(nest: &LoopNest, elements: usize) -> BlockShape {
        let sizes = nest.sizes();
        let innermost = sizes.len() - 1;
        let row = sizes[innermost].max(1);
        let (level, inner) =
            if innermost > 0 && row <= elements { (innermost - 1, row) } else { (innermost, 1) };
        let iterations = (elements / inner).clamp(1, sizes[level].max(1));
        BlockShape { level, iterations, elements: inner }
    }

    /// The same number of blocks, balanced (of about equal sizes): a short last block takes nearly as long as a full one.
    pub(super) fn evened(self, nest: &LoopNest) -> BlockShape {
        let multiple = if self.elements == 1 { BLOCK_MULTIPLE } else { 1 };
        self.even(nest.sizes()[self.level], multiple, 0)
    }

    /// As [`evened`](BlockShape::evened), where all blocks but the first begin at cache lines of a contiguous
    /// output.
    pub(super) fn evened_to_cache_lines(self, nest: &LoopNest, item: usize) -> BlockShape {
        let multiple = self.iterations_per_cache_line(item);
        self.even(nest.sizes()[self.level], multiple, multiple - 1)
    }

    /// Blocks of a multiple of `multiple` iterations, but for the last, and for the first, which may have up
    /// to `shortfall` less; `size` iterations in all.
    fn even(self, size: usize, multiple: usize, shortfall: usize) -> BlockShape {
        if self.iterations >= size || self.iterations < multiple {
            return self;
        }
        let most = self.iterations - self.iterations % multiple;
        let total = size + shortfall;
        let iterations = total.div_ceil(total.div_ceil(most)).next_multiple_of(multiple);
        BlockShape { iterations, ..self }
    }

    /// Iterations of the first block, so that the others begin at cache lines of the output, which is
    /// contiguous and starts at `first`.
    pub(super) fn first_iterations(self, first: *const u8, item: usize) -> usize {
        let multiple = self.iterations_per_cache_line(item);
        let is_aligned = |iterations: &usize| {
            (first.addr() + iterations * self.elements * item).is_multiple_of(CACHE_LINE)
        };
        match (1..multiple).find(is_aligned) {
            Some(iterations) if self.iterations >= multiple => self.iterations - multiple + iterations,
            _ => self.iterations,
        }
    }

    /// The fewest iterations that fill whole cache lines.
    fn iterations_per_cache_line(self, item: usize) -> usize {
        CACHE_LINE >> (self.elements * item).trailing_zeros().min(CACHE_LINE.trailing_zeros())
    }

    /// Number of elements.
    pub(super) fn len(self) -> usize {
        self.iterations * self.elements
    }

    /// Whether the block is the whole nest.
    pub(super) fn is_whole(self, nest: &LoopNest) -> bool {
        self.len() == nest.len()
    }

    /// Iterations of its loops, outermost first.
    pub(super) fn sizes(self, nest: &LoopNest) -> impl DoubleEndedIterator<Item = usize> {
        let within = &nest.sizes()[self.level + 1..];
        std::iter::once(self.iterations).chain(within.iter().copied())
    }

    /// Its loops for one operand, without those of one iteration.
    pub(super) fn loops(self, nest: &LoopNest, operand: usize) -> BlockLoops {
        self.loops_where(nest, operand, |size, _| size > 1)
    }

    /// Its loops for accumulators, the output.
    ///
    /// Kept loops of one iteration are among them, unless there is no other loop around: elements are added in the order
    /// in which they are where the loop has more iterations.
    pub(super) fn accumulator_loops(self, nest: &LoopNest) -> BlockLoops {
        let mut loops = self.loops_where(nest, 0, |size, stride| size > 1 || stride != 0);
        while loops.last().is_some_and(|&(size, _)| size == 1) {
            loops.pop();
        }
        loops
    }

    fn loops_where(
        self,
        nest: &LoopNest,
        operand: usize,
        is_loop: impl Fn(usize, isize) -> bool,
    ) -> BlockLoops {
        let mut loops = BlockLoops::new();
        for level in (self.level..nest.depth()).rev() {
            let (size, strides) = nest.level(level);
            let (size, stride) = (if level == self.level { self.iterations } else { size }, strides[operand]);
            match loops.last_mut() {
                _ if !is_loop(size, stride) => {}
                Some((len, inner)) if stride == *inner * *len as isize => *len *= size,
                _ => loops.push((size, stride)),
            }
        }
        loops
    }

    /// Whether an operand is not stretched in the divided loop, nor in the next outer one.
    pub(super) fn is_read_once(self, nest: &LoopNest, operand: usize) -> bool {
        (self.level.saturating_sub(1)..=self.level).all(|level| nest.level(level).1[operand] != 0)
    }

    /// Whether an operand has the same elements in every block.
    pub(super) fn is_invariant(self, nest: &LoopNest, operand: usize) -> bool {
        let stays = |level: usize| nest.level(level).1[operand] == 0;
        (0..self.level).all(stays) && (stays(self.level) || self.iterations == nest.sizes()[self.level])
    }
}

#[cfg(test)]
mod tests {
    use super::BlockShape;
    use crate::nest::LoopNest;
    use proptest::prelude::*;
    use unishape_simd::CACHE_LINE;

    #[test]
    fn operands_are_read_again_where_the_divided_loop_or_the_next_one_stretches_them() {
        let strides = [[100, 10, 1], [0, 10, 1], [100, 0, 1], [100, 10, 0]];
        let nest = LoopNest::new(&[4, 5, 6], 4, |operand, dim| strides[operand][dim]);
        let read_once = |level: usize| {
            let block = BlockShape { level, iterations: 1, elements: 1 };
            [0, 1, 2, 3].map(|operand| block.is_read_once(&nest, operand))
        };
        assert_eq!(read_once(0), [true, false, true, true]);
        assert_eq!(read_once(1), [true, false, false, true]);
        assert_eq!(read_once(2), [true, true, false, false]);
    }

    proptest! {
        #[test]
        fn evened_blocks_are_no_more(
            size in 1usize..20_000,
            iterations in 1usize..3000,
            multiple in 0u32..7,
            is_shorter in any::<bool>(),
        ) {
            let multiple = 1 << multiple;
            // Also where the first block is shorter.
            let shortfall = if is_shorter { multiple - 1 } else { 0 };
            let largest = BlockShape { level: 0, iterations: iterations.min(size), elements: 1 };
            let BlockShape { iterations, .. } = largest.even(size, multiple, shortfall);
            prop_assert!((1..=largest.iterations).contains(&iterations));
            if largest.iterations < size && largest.iterations >= multiple {
                prop_assert!(iterations.is_multiple_of(multiple));
                let most = largest.iterations / multiple * multiple;
                prop_assert!((size + shortfall).div_ceil(iterations) <= (size + shortfall).div_ceil(most));
            } else {
                prop_assert_eq!(iterations, largest.iterations);
            }
        }

        /// All blocks but the first begin at cache lines, where elements can, and are no more than before.
        #[test]
        fn blocks_begin_at_cache_lines(
            size in 1usize..5000,
            iterations in 1usize..600,
            elements in prop_oneof![Just(1usize), 1usize..40],
            item in (0u32..5).prop_map(|shift| 1usize << shift),
            offset in 0usize..70,
        ) {
            let nest = LoopNest::new(&[size], 1, |_, _| 1);
            let largest = BlockShape { level: 0, iterations: iterations.min(size), elements };
            let bytes = elements * item;
            let multiple = (1..=CACHE_LINE).find(|n| (n * bytes).is_multiple_of(CACHE_LINE)).unwrap();
            prop_assert_eq!(largest.iterations_per_cache_line(item), multiple);
            let block = largest.evened_to_cache_lines(&nest, item);
            let address = (1 << 20) + offset * item;
            let first = block.first_iterations(std::ptr::without_provenance(address), item);
            if largest.iterations >= size || largest.iterations < multiple {
                prop_assert_eq!(block.iterations, largest.iterations);
                return Ok(());
            }
            prop_assert!(block.iterations <= largest.iterations && block.iterations.is_multiple_of(multiple));
            // The first block is as large as it can be.
            let is_aligned = |n: &usize| (address + n * bytes).is_multiple_of(CACHE_LINE);
            let aligned = (1..=block.iterations).rfind(is_aligned);
            prop_assert_eq!(first, aligned.unwrap_or(block.iterations));
            let most = largest.iterations / multiple * multiple;
            let blocks = 1 + size.saturating_sub(first).div_ceil(block.iterations);
            prop_assert!(blocks <= (size + multiple - 1).div_ceil(most).max(1));
        }
    }
}
