//! Arrays as the loops of a stage see them.

use crate::launch::Buffer;

/// An array that a stage reads or writes: where it is, and its strides in the stage's loops.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Operand {
    /// The array; `None` for an index, whose value is the offset itself.
    pub(crate) buffer: Option<Buffer>,
    /// Bytes of an element.
    pub(crate) item: usize,
    /// A power of two that divides the address of the array.
    pub(crate) alignment: usize,
    /// Offset of the element at index 0 of all loops, in elements.
    pub(crate) start: isize,
    /// Stride in each loop, in elements.
    pub(crate) strides: Vec<isize>,
}

impl Operand {
    /// Whether vectors of `lanes` elements can be accessed at the start and at multiples of these strides from it.
    pub(crate) fn is_aligned<'s>(&self, lanes: usize, strides: impl IntoIterator<Item = &'s isize>) -> bool {
        let is_multiple = |offset: isize| offset.unsigned_abs().is_multiple_of(lanes);
        self.buffer.is_some()
            && self.alignment.is_multiple_of((lanes * self.item).min(16))
            && is_multiple(self.start)
            && strides.into_iter().all(|&stride| is_multiple(stride))
    }
}
