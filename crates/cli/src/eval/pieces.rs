//! A result cut into pieces, each of which is one run of the elements of a file in C order.

use std::ops::Range;

/// A piece: in each dimension a range of indices.
pub(crate) type Piece = Vec<Range<usize>>;

/// How a result is cut: along one dimension, into so many indices a piece. Of the dimensions before it a
/// piece has one index, of those behind it all.
#[derive(Debug)]
pub(crate) struct Pieces {
    shape: Vec<usize>,
    dim: usize,
    step: usize,
    count: usize,
    largest: usize,
}

impl Pieces {
    /// Pieces of at most so many elements, and of one at the least. The elements of the shape can be counted.
    pub(crate) fn new(shape: &[usize], most: usize) -> Pieces {
        let shape = shape.to_vec();
        if shape.contains(&0) {
            return Pieces { shape, dim: 0, step: 1, count: 0, largest: 0 };
        }
        let (mut dim, mut behind) = (shape.len(), 1);
        while dim > 0 && behind * shape[dim - 1] <= most {
            dim -= 1;
            behind *= shape[dim];
        }
        if dim == 0 {
            let step = shape.first().copied().unwrap_or(1);
            return Pieces { shape, dim, step, count: 1, largest: behind };
        }
        dim -= 1;
        let steps = shape[dim].div_ceil((most / behind).max(1));
        // Alike, rather than a small one at the end.
        let step = shape[dim].div_ceil(steps);
        let count = shape[..dim].iter().product::<usize>() * shape[dim].div_ceil(step);
        Pieces { shape, dim, step, count, largest: step * behind }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The elements of the largest.
    pub(crate) fn largest(&self) -> usize {
        self.largest
    }

    /// The pieces, in the order of the file.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Piece> {
        (0..self.count).map(|number| self.piece(number))
    }

    fn piece(&self, number: usize) -> Piece {
        let mut piece: Piece = self.shape.iter().map(|&size| 0..size).collect();
        if let Some(&size) = self.shape.get(self.dim) {
            let steps = size.div_ceil(self.step);
            let start = number % steps * self.step;
            piece[self.dim] = start..(start + self.step).min(size);
            let mut rest = number / steps;
            for (range, &size) in piece[..self.dim].iter_mut().zip(&self.shape).rev() {
                *range = rest % size..rest % size + 1;
                rest /= size;
            }
        }
        piece
    }
}

/// The elements of a piece.
pub(crate) fn len(piece: &Piece) -> usize {
    piece.iter().map(Range::len).product()
}

/// The part of an array of this shape that goes into a piece of the result that it is stretched to.
pub(crate) fn part_of(shape: &[usize], piece: &Piece) -> Piece {
    let behind = &piece[piece.len() - shape.len()..];
    shape.iter().zip(behind).map(|(&size, range)| if size == 1 { 0..1 } else { range.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All elements, each once, in order, and no piece is too large.
    fn check(shape: &[usize], most: usize) {
        let pieces = Pieces::new(shape, most);
        let mut seen = Vec::new();
        let all: Vec<Piece> = pieces.iter().collect();
        assert_eq!(all.len(), pieces.count());
        for piece in all {
            assert!(
                len(&piece) <= most.max(1) && len(&piece) <= pieces.largest(),
                "{shape:?} {most} {piece:?}"
            );
            let mut places = vec![0];
            for (range, &size) in piece.iter().zip(shape) {
                places = places.iter().flat_map(|at| range.clone().map(move |i| at * size + i)).collect();
            }
            seen.extend(places);
        }
        assert_eq!(seen, (0..shape.iter().product()).collect::<Vec<usize>>(), "{shape:?} {most}");
    }

    #[test]
    fn pieces_together_are_the_result_in_the_order_of_the_file() {
        let shapes: [&[usize]; 9] =
            [&[], &[1], &[7], &[3, 5], &[4, 1, 6], &[2, 3, 4, 5], &[0], &[3, 0, 2], &[1, 1, 9, 1]];
        for shape in shapes {
            for most in 1..130 {
                check(shape, most);
            }
        }
    }

    #[test]
    fn pieces_are_about_alike() {
        let sizes: Vec<usize> = Pieces::new(&[101, 10], 1000).iter().map(|piece| len(&piece)).collect();
        assert_eq!(sizes, [510, 500]);
    }

    #[test]
    fn what_is_stretched_takes_part_as_it_is() {
        let piece = vec![2..3, 4..6, 0..9];
        assert_eq!(part_of(&[5, 8, 9], &piece), piece);
        assert_eq!(part_of(&[8, 1], &piece), [4..6, 0..1]);
        assert_eq!(part_of(&[], &piece), []);
    }
}
