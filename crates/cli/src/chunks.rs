//! The result split into chunks, each contiguous in a row-major file.

use std::ops::Range;
use unishape_array_text::IndexRanges;

/// A shape split along one dimension.
///
/// A chunk has one index of each dimension before that, `step` indices of it, and all indices of those after.
#[derive(Debug)]
pub(crate) struct Chunks {
    shape: Vec<usize>,
    dim: usize,
    step: usize,
    count: usize,
    largest: usize,
}

impl Chunks {
    /// Chunks of at most `max` elements, and of at least one. The elements of the shape must be countable.
    pub(crate) fn new(shape: &[usize], max: usize) -> Chunks {
        Chunks::aligned(shape, max, None)
    }

    /// The same; where `max` allows it, chunks begin at multiples of these sizes.
    pub(crate) fn aligned(shape: &[usize], max: usize, stored: Option<&[usize]>) -> Chunks {
        let shape = shape.to_vec();
        if shape.contains(&0) {
            return Chunks { shape, dim: 0, step: 1, count: 0, largest: 0 };
        }
        // `inner` is the number of elements per index of the dimension before `dim`.
        let (mut dim, mut inner) = (shape.len(), 1);
        while dim > 0 && inner * shape[dim - 1] <= max {
            dim -= 1;
            inner *= shape[dim];
        }
        if dim == 0 {
            let step = shape.first().copied().unwrap_or(1);
            return Chunks { shape, dim, step, count: 1, largest: inner };
        }
        dim -= 1;
        let steps = shape[dim].div_ceil((max / inner).max(1));
        // Chunks of about equal size, rather than a small one at the end.
        let mut step = shape[dim].div_ceil(steps);
        if let Some(&size) = stored.and_then(|stored| stored.get(dim))
            && (max / inner).max(1) >= size
        {
            step = (max / inner).max(1) / size.max(1) * size.max(1);
        }
        let count = shape[..dim].iter().product::<usize>() * shape[dim].div_ceil(step);
        Chunks { shape, dim, step, count, largest: step * inner }
    }

    /// The number of chunks.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The number of elements of the largest chunk.
    pub(crate) fn largest(&self) -> usize {
        self.largest
    }

    /// The chunks, in the order of the file.
    pub(crate) fn iter(&self) -> impl Iterator<Item = IndexRanges> {
        (0..self.count).map(|index| self.chunk(index))
    }

    fn chunk(&self, index: usize) -> IndexRanges {
        let mut chunk: IndexRanges = self.shape.iter().map(|&size| 0..size).collect();
        if let Some(&size) = self.shape.get(self.dim) {
            let steps = size.div_ceil(self.step);
            let start = index % steps * self.step;
            chunk[self.dim] = start..(start + self.step).min(size);
            let mut rest = index / steps;
            for (range, &size) in chunk[..self.dim].iter_mut().zip(&self.shape).rev() {
                *range = rest % size..rest % size + 1;
                rest /= size;
            }
        }
        chunk
    }
}

/// The number of elements of a chunk.
pub(crate) fn len(chunk: &IndexRanges) -> usize {
    chunk.iter().map(Range::len).product()
}

/// The region of an input of this shape that is broadcast to a chunk of the result.
pub(crate) fn input_region(shape: &[usize], chunk: &IndexRanges) -> IndexRanges {
    let aligned = &chunk[chunk.len() - shape.len()..];
    shape.iter().zip(aligned).map(|(&size, range)| if size == 1 { 0..1 } else { range.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every element is in exactly one chunk, in order, and no chunk is too large.
    fn check(shape: &[usize], max: usize) {
        let chunks = Chunks::new(shape, max);
        let mut seen = Vec::new();
        let all: Vec<IndexRanges> = chunks.iter().collect();
        assert_eq!(all.len(), chunks.count());
        for chunk in all {
            assert!(
                len(&chunk) <= max.max(1) && len(&chunk) <= chunks.largest(),
                "{shape:?} {max} {chunk:?}"
            );
            let mut offsets = vec![0];
            for (range, &size) in chunk.iter().zip(shape) {
                offsets =
                    offsets.iter().flat_map(|offset| range.clone().map(move |i| offset * size + i)).collect();
            }
            seen.extend(offsets);
        }
        assert_eq!(seen, (0..shape.iter().product()).collect::<Vec<usize>>(), "{shape:?} {max}");
    }

    #[test]
    fn chunks_cover_the_result_in_the_order_of_the_file() {
        let shapes: [&[usize]; 9] =
            [&[], &[1], &[7], &[3, 5], &[4, 1, 6], &[2, 3, 4, 5], &[0], &[3, 0, 2], &[1, 1, 9, 1]];
        for shape in shapes {
            for max in 1..130 {
                check(shape, max);
            }
        }
    }

    #[test]
    fn chunks_have_about_equal_sizes() {
        let sizes: Vec<usize> = Chunks::new(&[101, 10], 1000).iter().map(|chunk| len(&chunk)).collect();
        assert_eq!(sizes, [510, 500]);
    }

    #[test]
    fn stretched_dimensions_are_read_once() {
        let chunk = vec![2..3, 4..6, 0..9];
        assert_eq!(input_region(&[5, 8, 9], &chunk), chunk);
        assert_eq!(input_region(&[8, 1], &chunk), [4..6, 0..1]);
        assert!(input_region(&[], &chunk).is_empty());
    }
}
