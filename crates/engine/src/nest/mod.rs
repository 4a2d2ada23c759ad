//! Loop nests over several strided arrays at once.
//!
//! The memory order of arrays often differs from the order of their dimensions. [`LoopNest::new`] orders the
//! loops by strides:
//!
//! 1. Dimensions of size 1 are dropped.
//! 2. Dimensions in which no operand has a positive stride are flipped, so that memory is read forwards.
//! 3. Loops are ordered by stride: operand 0, the output, gets its smallest stride innermost. Where it has
//!    no preference, the next operand decides.
//! 4. Adjacent loops that are one loop for every operand are coalesced.
//!
//! Where operands disagree about the innermost loop (a transposed operand), [`LoopNest::tiles`] cuts both
//! loops into tiles, so that each cache line is used completely before it is evicted. [`LoopNest::part`]
//! cuts a nest into parts for work splitting.

mod odometer;
mod tile;

use crate::tuning::SUM_GRANULARITY;
pub(crate) use odometer::RowBlock;
use smallvec::SmallVec;

/// Loops, outermost first, with the stride of each operand in each loop.
///
/// There is at least one loop.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopNest {
    operands: usize,
    sizes: SmallVec<[usize; 6]>,
    /// Loop by loop, one stride for each operand, in elements.
    strides: SmallVec<[isize; 24]>,
    /// Offset of each operand's first element from its element at index 0.
    starts: SmallVec<[isize; 4]>,
}

impl LoopNest {
    /// Loop nest for `operands` arrays of one shape.
    ///
    /// `stride(operand, dimension)` is the stride in elements, 0 where the operand is stretched. The strides
    /// are those of arrays in memory, so no element's offset overflows.
    #[inline]
    pub fn new(shape: &[usize], operands: usize, stride: impl Fn(usize, usize) -> isize) -> LoopNest {
        LoopNest::part_of(shape, shape, operands, stride)
    }

    /// Loop nest for a part of arrays, with the loops of the whole ones: those of one iteration in the part stay, so that
    /// the loops around and inside of them are not coalesced.
    #[inline]
    pub(crate) fn part_of(
        whole: &[usize],
        shape: &[usize],
        operands: usize,
        stride: impl Fn(usize, usize) -> isize,
    ) -> LoopNest {
        let mut nest = LoopNest {
            operands,
            sizes: SmallVec::new(),
            strides: SmallVec::new(),
            starts: SmallVec::from_elem(0, operands),
        };
        if shape.contains(&0) {
            nest.push(0, |_| 1);
            return nest;
        }
        for (dim, (&size, &whole)) in shape.iter().zip(whole).enumerate() {
            if whole > 1 {
                nest.push(size, |operand| stride(operand, dim));
            }
        }
        nest.flip();
        nest.sort();
        nest.coalesce();
        if nest.sizes.is_empty() {
            nest.push(1, |_| 1);
        }
        nest
    }

    fn push(&mut self, size: usize, stride: impl Fn(usize) -> isize) {
        self.sizes.push(size);
        self.strides.extend((0..self.operands).map(stride));
    }

    /// Stride of each operand in one loop.
    #[inline]
    fn strides(&self, level: usize) -> &[isize] {
        &self.strides[level * self.operands..][..self.operands]
    }

    /// Number of elements of the iteration space.
    pub fn len(&self) -> usize {
        self.sizes.iter().product()
    }

    /// Whether the iteration space has no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of loops.
    pub fn depth(&self) -> usize {
        self.sizes.len()
    }

    /// Number of iterations of each loop, outermost first.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Offset of each operand's first element from its element at index 0.
    pub fn starts(&self) -> &[isize] {
        &self.starts
    }

    /// Iterations of one loop, and the stride of each operand in it.
    pub fn level(&self, level: usize) -> (usize, &[isize]) {
        (self.sizes[level], self.strides(level))
    }

    /// The innermost loop's level.
    pub(crate) fn innermost(&self) -> usize {
        self.sizes.len() - 1
    }

    /// Reverses each dimension in which no operand has a positive stride.
    fn flip(&mut self) {
        for (size, strides) in self.sizes.iter().zip(self.strides.chunks_exact_mut(self.operands.max(1))) {
            if strides.iter().all(|&stride| stride <= 0) {
                for (stride, start) in strides.iter_mut().zip(&mut self.starts) {
                    *start += (*size as isize - 1) * *stride;
                    *stride = -*stride;
                }
            }
        }
    }

    /// Moves smaller strides inwards. An insertion sort: there are few loops, mostly in order already, and
    /// the order is not total (operands stretched in one of two loops do not compare these).
    fn sort(&mut self) {
        for sorted in 1..self.sizes.len() {
            let mut at = sorted;
            while at > 0 && self.is_out_of_order(at - 1, at) {
                self.swap(at - 1, at);
                at -= 1;
            }
        }
    }

    /// Whether the outer one of two loops has the smaller strides.
    fn is_out_of_order(&self, outer: usize, inner: usize) -> bool {
        let decided = self.strides(outer).iter().zip(self.strides(inner)).find_map(|(&outer, &inner)| {
            let (outer, inner) = (outer.unsigned_abs(), inner.unsigned_abs());
            (outer != 0 && inner != 0 && outer != inner).then_some(outer < inner)
        });
        decided.unwrap_or(false)
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.sizes.swap(a, b);
        for operand in 0..self.operands {
            self.strides.swap(a * self.operands + operand, b * self.operands + operand);
        }
    }

    /// Joins adjacent loops that every operand passes through with one stride.
    fn coalesce(&mut self) {
        let mut outer = 0;
        while outer + 1 < self.sizes.len() {
            let inner = outer + 1;
            let size = self.sizes[inner] as isize;
            let is_one_loop = self
                .strides(outer)
                .iter()
                .zip(self.strides(inner))
                .all(|(&outer, &inner)| outer == inner * size);
            if is_one_loop {
                self.sizes[inner] *= self.sizes[outer];
                self.sizes.remove(outer);
                self.strides.drain(outer * self.operands..inner * self.operands);
                // The joined loop may coalesce with the one outside of it.
                outer = outer.saturating_sub(1);
            } else {
                outer = inner;
            }
        }
    }

    /// Part `number` of 2^`depth` parts of about equal size.
    ///
    /// None where there is nothing left for it.
    ///
    /// Each halving divides the outermost loop that has more than one iteration. The innermost loop is cut at
    /// a multiple of `granularity`, so that parts begin at cache lines.
    pub fn part(&self, number: usize, depth: u32, granularity: usize) -> Option<LoopNest> {
        let mut part = self.clone();
        for halving in (0..depth).rev() {
            let is_second = number >> halving & 1 == 1;
            let level = part.sizes.iter().position(|&size| size > 1).unwrap_or(part.innermost());
            let granularity = if level == part.innermost() { granularity } else { 1 };
            let size = part.sizes[level];
            let middle = (size / 2).next_multiple_of(granularity).min(size);
            match (is_second, middle) {
                // It cannot be halved: the first half has everything.
                (false, 0) => {}
                (true, 0) => return None,
                (true, _) if middle == size => return None,
                (false, _) => part.sizes[level] = middle,
                (true, _) => part.skip(level, middle),
            }
        }
        Some(part)
    }

    /// Drops the first iterations of a loop.
    fn skip(&mut self, level: usize, iterations: usize) {
        self.sizes[level] -= iterations;
        let strides = &self.strides[level * self.operands..];
        for (start, stride) in self.starts.iter_mut().zip(strides) {
            *start += iterations as isize * stride;
        }
    }

    /// Cuts one loop: its first `middle` iterations, and the others.
    pub(crate) fn split_at(&self, level: usize, middle: usize) -> (LoopNest, LoopNest) {
        let (mut first, mut second) = (self.clone(), self.clone());
        first.sizes[level] = middle;
        second.skip(level, middle);
        (first, second)
    }

    /// Where reductions halve a loop: long ones at a cache line.
    pub(crate) fn middle(&self, level: usize) -> usize {
        let size = self.sizes[level];
        let [min_size, multiple] = SUM_GRANULARITY;
        (size / 2).next_multiple_of(if size > min_size { multiple } else { 1 })
    }

    /// The loops in which an operand moves, for two operands: a contiguous array of its elements, and it.
    pub(crate) fn compacted(&self, operand: usize) -> LoopNest {
        let mut compacted = LoopNest {
            operands: 2,
            sizes: SmallVec::new(),
            strides: SmallVec::new(),
            starts: SmallVec::new(),
        };
        let mut contiguous = self.clone();
        contiguous.make_contiguous(operand);
        compacted.starts.extend([0, self.starts[operand]]);
        for level in (0..self.depth()).filter(|&level| self.strides(level)[operand] != 0) {
            let strides = [contiguous.strides(level)[operand], self.strides(level)[operand]];
            compacted.push(self.sizes[level], |operand| strides[operand]);
        }
        if compacted.sizes.is_empty() {
            compacted.push(1, |_| 1);
        }
        compacted
    }

    /// Moves the last operand before the others.
    pub(crate) fn move_last_operand_first(&mut self) {
        for strides in self.strides.chunks_exact_mut(self.operands.max(1)) {
            strides.rotate_right(1);
        }
        self.starts.rotate_right(1);
    }

    /// Gives an operand the strides of a contiguous array in the loops in which it moves.
    pub(crate) fn make_contiguous(&mut self, operand: usize) {
        let mut next = 1;
        self.starts[operand] = 0;
        for level in (0..self.depth()).rev() {
            let stride = &mut self.strides[level * self.operands + operand];
            if *stride != 0 {
                *stride = next;
                next *= self.sizes[level] as isize;
            }
        }
    }

    /// Bytes of memory that the nest touches.
    ///
    /// An element that a stretched operand has at many indices counts once. `items` are the bytes of an element of
    /// each operand.
    pub fn touched_bytes(&self, items: impl Iterator<Item = usize>) -> usize {
        let of_operand = |(operand, item): (usize, usize)| {
            let levels = self.sizes.iter().enumerate();
            let moved = levels.filter(|&(level, _)| self.strides(level)[operand] != 0);
            moved.fold(item, |bytes, (_, &size)| bytes.saturating_mul(size))
        };
        items.enumerate().map(of_operand).fold(0, usize::saturating_add)
    }

    /// Whether the nest visits no element of an operand twice.
    ///
    /// A sufficient condition: each stride exceeds the reach of all smaller ones. ndarray requires the same of
    /// arrays that can be written to.
    pub fn is_injective(&self, operand: usize) -> bool {
        let mut loops: SmallVec<[(usize, usize); 6]> = self
            .sizes
            .iter()
            .enumerate()
            .filter(|&(_, &size)| size > 1)
            .map(|(level, &size)| (self.strides(level)[operand].unsigned_abs(), size))
            .collect();
        loops.sort_unstable();
        let mut reach = 0;
        loops.iter().all(|&(stride, size)| {
            let is_beyond = stride > reach;
            reach = stride.saturating_mul(size - 1).saturating_add(reach);
            is_beyond
        })
    }
}

#[cfg(test)]
mod tests;
