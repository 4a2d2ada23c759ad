//! Indices and their row-major order.

/// The row-major position of an index.
///
/// # Panics
///
/// If the index is out of bounds or has another rank than the shape.
pub fn row_major(shape: &[usize], index: &[usize]) -> usize {
    assert_eq!(shape.len(), index.len());
    shape.iter().zip(index).fold(0, |at, (&size, &index)| {
        assert!(index < size, "index {index} is out of bounds for size {size}");
        at * size + index
    })
}

/// Iterates over all indices of a shape, in row-major order.
#[derive(Clone, Debug)]
pub struct Indices {
    shape: Vec<usize>,
    next: Option<Vec<usize>>,
}

impl Indices {
    /// The indices of this shape: none if a size is 0, one if the rank is 0.
    pub fn of(shape: &[usize]) -> Indices {
        Indices { shape: shape.to_vec(), next: (!shape.contains(&0)).then(|| vec![0; shape.len()]) }
    }
}

impl Iterator for Indices {
    type Item = Vec<usize>;

    fn next(&mut self) -> Option<Vec<usize>> {
        let current = self.next.take()?;
        let mut following = current.clone();
        for dim in (0..following.len()).rev() {
            following[dim] += 1;
            if following[dim] < self.shape[dim] {
                self.next = Some(following);
                break;
            }
            following[dim] = 0;
        }
        Some(current)
    }
}
