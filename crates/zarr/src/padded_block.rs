//! The place of a block of elements in the row-major order of its chunk.

use std::ops::Range;

/// The elements of a chunk from the first to the last one of a block.
///
/// A chunk at the end of a dimension is stored with padding. So a block of it is stored with the padding of its rows.
#[derive(Debug, PartialEq)]
pub(crate) struct PaddedBlock {
    /// The number of elements of the chunk before the block.
    pub(crate) start: usize,
    /// The shape of the block with its padding.
    pub(crate) shape: Vec<usize>,
}

impl PaddedBlock {
    /// A block with its padding, given as ranges of indices of the chunk.
    ///
    /// # Panics
    ///
    /// The block is not contiguous: before a dimension with a range it must have one index, after it start at 0.
    pub(crate) fn new(chunk: &[usize], block: &[Range<usize>]) -> PaddedBlock {
        let split = block.iter().position(|range| range.len() != 1).unwrap_or(block.len());
        let (mut start, mut shape) = (0, Vec::with_capacity(chunk.len()));
        for (dim, (range, &size)) in block.iter().zip(chunk).enumerate() {
            let fits = range.end <= size && (dim <= split || range.start == 0);
            assert!(fits && block.len() == chunk.len(), "{block:?} is no block of {chunk:?}");
            start = start * size + range.start;
            shape.push(if dim <= split { range.len() } else { size });
        }
        PaddedBlock { start, shape }
    }

    /// The number of elements, with padding.
    pub(crate) fn len(&self) -> usize {
        self.shape.iter().product()
    }
}

#[cfg(test)]
mod tests {
    use super::PaddedBlock;
    use std::ops::Range;

    fn span(block: &[Range<usize>]) -> (usize, Vec<usize>) {
        let span = PaddedBlock::new(&[4, 5, 6], block);
        assert_eq!(span.len(), span.shape.iter().product::<usize>());
        (span.start, span.shape)
    }

    #[test]
    fn spans_include_the_padding_of_rows() {
        assert_eq!(span(&[0..4, 0..5, 0..6]), (0, vec![4, 5, 6]));
        assert_eq!(span(&[1..3, 0..5, 0..4]), (30, vec![2, 5, 6]));
        assert_eq!(span(&[3..4, 1..3, 0..2]), (96, vec![1, 2, 6]));
        assert_eq!(span(&[3..4, 4..5, 2..4]), (116, vec![1, 1, 2]));
        assert_eq!(span(&[3..4, 4..5, 5..6]), (119, vec![1, 1, 1]));
        assert_eq!(PaddedBlock::new(&[], &[]), PaddedBlock { start: 0, shape: vec![] });
    }

    #[test]
    fn what_is_not_contiguous_is_no_block() {
        for block in [[0..4, 1..5, 0..6], [0..1, 0..2, 1..6], [0..1, 0..1, 0..7]] {
            assert!(std::panic::catch_unwind(|| span(&block)).is_err(), "{block:?}");
        }
    }
}
