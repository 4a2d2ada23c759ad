//! Iteration: every combination of the outer loops' indices, as offsets into the operands.

use super::LoopNest;
use smallvec::SmallVec;

/// The two innermost loops, at one combination of the outer ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowBlock<const N: usize> {
    /// Offset of each operand's first element, in elements.
    pub(crate) starts: [isize; N],
    /// Iterations of the outer one of the two loops, and its strides.
    pub(crate) rows: usize,
    pub(crate) row_strides: [isize; N],
    /// Iterations of the innermost loop, and its strides.
    pub(crate) len: usize,
    pub(crate) strides: [isize; N],
}

impl LoopNest {
    /// Calls `work` with the two innermost loops, for every combination of the others.
    ///
    /// `N` is the number of operands.
    #[inline]
    pub(crate) fn for_each_row_block<const N: usize>(&self, mut work: impl FnMut(&RowBlock<N>)) {
        let row =
            |level: usize| -> [isize; N] { std::array::from_fn(|operand| self.strides(level)[operand]) };
        let innermost = self.innermost();
        if self.sizes[innermost] == 0 {
            return;
        }
        let mut block = RowBlock {
            starts: std::array::from_fn(|operand| self.starts[operand]),
            rows: 1,
            row_strides: [0; N],
            len: self.sizes[innermost],
            strides: row(innermost),
        };
        if innermost > 0 {
            (block.rows, block.row_strides) = (self.sizes[innermost - 1], row(innermost - 1));
        }
        self.for_each_offset(innermost.saturating_sub(1), block.starts, |starts| {
            block.starts = *starts;
            work(&block);
        });
    }

    /// Calls `work` with the offset of each operand, for every combination of the `outer` outermost loops.
    ///
    /// `starts` is [`starts`](LoopNest::starts), as an array or any other buffer of that length.
    #[inline]
    pub(crate) fn for_each_offset<S: AsMut<[isize]>>(
        &self,
        outer: usize,
        mut starts: S,
        mut work: impl FnMut(&S),
    ) {
        let inner = outer.saturating_sub(1);
        let (size, strides) = if outer == 0 { (1, &[][..]) } else { self.level(inner) };
        let mut indices: SmallVec<[usize; 6]> = SmallVec::from_elem(0, inner);
        // Offsets beyond the last iteration are never used, and are taken back: they may wrap.
        let advance = |starts: &mut S, strides: &[isize], iterations: isize| {
            for (start, stride) in starts.as_mut().iter_mut().zip(strides) {
                *start = start.wrapping_add(stride.wrapping_mul(iterations));
            }
        };
        loop {
            for _ in 0..size {
                work(&starts);
                // Not `advance`: with its multiplication this loop was measured slower.
                for (start, stride) in starts.as_mut().iter_mut().zip(strides) {
                    *start = start.wrapping_add(*stride);
                }
            }
            advance(&mut starts, strides, (size as isize).wrapping_neg());
            // Increment the innermost of the other loops that is not at its end; reset those within it.
            let mut level = inner;
            loop {
                let Some(next) = level.checked_sub(1) else { return };
                level = next;
                indices[level] += 1;
                advance(&mut starts, self.strides(level), 1);
                if indices[level] < self.sizes[level] {
                    break;
                }
                let iterations = std::mem::take(&mut indices[level]) as isize;
                advance(&mut starts, self.strides(level), iterations.wrapping_neg());
            }
        }
    }
}
