//! The common shape of any number of shapes, folded one shape at a time.
//!
//! Each shape is joined dimension by dimension with [`Size::join`]. Memory grows with the rank, not
//! with the number of shapes.

use crate::{Rules, Size, padded_dim};
use core::fmt;

/// Folds shapes into their common shape (BC-1, BC-4, BC-6).
///
/// The caller's buffers hold one entry per dimension, aligned on the right: `sizes` the common sizes
/// so far, padded with 1s on the left; `from` the first input that has each size.
///
/// A shape that [`push`](Common::push) rejects leaves the fold unchanged:
///
/// ```
/// use unishape_core::{Common, FoldError, Mismatch, Rules};
///
/// let (mut sizes, mut from) = ([0; 3], [0; 3]);
/// let mut common = Common::new(Rules::STANDARD, &mut sizes, &mut from);
/// common.push(&[2, 1])?;
/// let e1 = common.push(&[8, 4, 3]).unwrap_err();
/// assert_eq!(e1, FoldError::Mismatch(Mismatch { dim: 1, rank: 3, inputs: [0, 1], sizes: [2, 4] }));
/// assert_eq!(common.shape(), [2, 1]);
/// # Ok::<(), FoldError>(())
/// ```
#[derive(Debug)]
pub struct Common<'b, S = usize> {
    rules: Rules,
    sizes: &'b mut [S],
    from: &'b mut [usize],
    rank: usize,
    inputs: usize,
}

impl<'b, S: Size> Common<'b, S> {
    /// Starts a fold without inputs.
    ///
    /// The shorter buffer limits the rank. Previous contents of the buffers are overwritten.
    ///
    /// ```
    /// use unishape_core::{Common, Rules};
    ///
    /// let (mut sizes, mut from) = ([0; 5], [0; 5]);
    /// let common = Common::new(Rules::STANDARD, &mut sizes, &mut from);
    /// assert_eq!(common.shape(), []);
    /// ```
    #[inline(always)]
    pub fn new(rules: Rules, sizes: &'b mut [S], from: &'b mut [usize]) -> Common<'b, S> {
        sizes.fill(S::ONE);
        from.fill(0);
        Common::resume(rules, sizes, from, 0, 0)
    }

    /// Resumes a fold that stopped at this rank and number of inputs.
    ///
    /// The buffers must be as the fold left them, or extended on the left: `sizes` with 1s and
    /// `from` with 0s. Callers that own growable buffers use this to raise the rank limit.
    ///
    /// ```
    /// use unishape_core::{Common, Rules};
    ///
    /// let (mut sizes, mut from) = (vec![0; 1], vec![0; 1]);
    /// let mut common = Common::new(Rules::STANDARD, &mut sizes, &mut from);
    /// common.push(&[5])?;
    /// let (rank, inputs) = (common.shape().len(), common.inputs());
    /// sizes.insert(0, 1);
    /// from.insert(0, 0);
    /// let mut common = Common::resume(Rules::STANDARD, &mut sizes, &mut from, rank, inputs);
    /// common.push(&[3, 1])?;
    /// assert_eq!((common.shape(), common.inputs()), (&[3, 5][..], 2));
    /// # Ok::<(), unishape_core::FoldError>(())
    /// ```
    #[inline(always)]
    pub fn resume(
        rules: Rules,
        sizes: &'b mut [S],
        from: &'b mut [usize],
        rank: usize,
        inputs: usize,
    ) -> Common<'b, S> {
        let capacity = sizes.len().min(from.len());
        let rank = rank.min(capacity);
        // Keep the rightmost `capacity` entries of both, so that their dimensions align.
        let (more_sizes, more_from) =
            (sizes.len().saturating_sub(capacity), from.len().saturating_sub(capacity));
        let sizes = sizes.get_mut(more_sizes..).unwrap_or_default();
        let from = from.get_mut(more_from..).unwrap_or_default();
        Common { rules, sizes, from, rank, inputs }
    }

    /// Joins one more shape into the common shape.
    ///
    /// # Errors
    ///
    /// Any [`FoldError`] except `TooFewInputs`. The fold is then unchanged.
    ///
    /// ```
    /// use unishape_core::{Common, Rules};
    ///
    /// let (mut sizes, mut from) = ([0; 2], [0; 2]);
    /// let mut common = Common::new(Rules::STANDARD, &mut sizes, &mut from);
    /// for _ in 0..1000 {
    ///     common.push(&[4, 1])?;
    ///     common.push(&[3])?;
    /// }
    /// assert_eq!(common.shape(), [4, 3]);
    /// # Ok::<(), unishape_core::FoldError>(())
    /// ```
    #[inline(always)]
    pub fn push(&mut self, shape: &[S]) -> Result<(), FoldError<S>> {
        let capacity = self.sizes.len();
        let rank = self.rank.max(shape.len());
        if self.inputs >= self.rules.max_inputs() {
            return Err(FoldError::TooManyInputs { limit: self.rules.max_inputs() });
        }
        if rank > capacity {
            return Err(FoldError::BufferTooSmall { rank, capacity });
        }
        if self.rules.is_strict_rank() && self.inputs > 0 && shape.len() != self.rank {
            return Err(FoldError::UnequalRank { first: self.rank, input: self.inputs, rank: shape.len() });
        }
        // From here on both shapes have `rank` dimensions. The buffer already holds 1s on the left of
        // the common shape; `padded_dim` pads the new shape.
        let skip = capacity.saturating_sub(rank);
        let sizes = self.sizes.get_mut(skip..).unwrap_or_default();
        let from = self.from.get_mut(skip..).unwrap_or_default();
        if self.inputs == 0 {
            // Copied, not joined with 1s: under SONNX rules a first shape with a size of 0 would fail.
            for (dim, to) in sizes.iter_mut().enumerate() {
                *to = padded_dim(shape, rank, dim);
            }
        } else {
            match check_next(self.rules, sizes, shape) {
                Ok(changes) => {
                    if changes {
                        join_next(self.rules, sizes, from, shape, self.inputs);
                    }
                }
                Err(dim) => {
                    let owner = from.get(dim).copied().unwrap_or_default();
                    let ours = sizes.get(dim).copied().unwrap_or(S::ONE);
                    let theirs = padded_dim(shape, rank, dim);
                    return Err(FoldError::Mismatch(Mismatch {
                        dim,
                        rank,
                        inputs: [owner, self.inputs],
                        sizes: [ours, theirs],
                    }));
                }
            }
        }
        self.rank = rank;
        self.inputs = self.inputs.saturating_add(1);
        Ok(())
    }

    /// The common shape so far.
    ///
    /// ```
    /// use unishape_core::{Common, Rules};
    ///
    /// let (mut sizes, mut from) = ([0; 9], [0; 9]);
    /// let mut common = Common::new(Rules::STANDARD, &mut sizes, &mut from);
    /// common.push(&[5])?;
    /// assert_eq!(common.shape(), [5]);
    /// common.push(&[3, 1])?;
    /// assert_eq!(common.shape(), [3, 5]);
    /// # Ok::<(), unishape_core::FoldError>(())
    /// ```
    #[inline(always)]
    pub fn shape(&self) -> &[S] {
        let skip = self.sizes.len().saturating_sub(self.rank);
        self.sizes.get(skip..).unwrap_or_default()
    }

    /// For each dimension of the common shape, the first input that has its size.
    ///
    /// ```
    /// use unishape_core::{Common, Rules};
    ///
    /// let (mut sizes, mut from) = ([0; 2], [0; 2]);
    /// let mut common = Common::new(Rules::STANDARD, &mut sizes, &mut from);
    /// common.push(&[4, 1])?;
    /// common.push(&[3])?;
    /// assert_eq!(common.from(), [0, 1]); // the 4 is input 0's, the 3 input 1's
    /// # Ok::<(), unishape_core::FoldError>(())
    /// ```
    #[inline(always)]
    pub fn from(&self) -> &[usize] {
        let skip = self.from.len().saturating_sub(self.rank);
        self.from.get(skip..).unwrap_or_default()
    }

    /// The number of shapes joined so far.
    ///
    /// ```
    /// use unishape_core::{Common, Rules};
    ///
    /// let mut common = Common::<usize>::new(Rules::STANDARD, &mut [], &mut []);
    /// common.push(&[])?;
    /// assert_eq!(common.inputs(), 1);
    /// # Ok::<(), unishape_core::FoldError>(())
    /// ```
    #[inline(always)]
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The common shape of all inputs.
    ///
    /// # Errors
    ///
    /// [`FoldError::TooFewInputs`] if the rules require more inputs.
    ///
    /// ```
    /// use unishape_core::{Common, FoldError, Rules};
    ///
    /// assert_eq!(Common::<usize>::new(Rules::STANDARD, &mut [], &mut []).finish(), Ok(&[][..]));
    /// assert_eq!(
    ///     Common::<usize>::new(Rules::SONNX, &mut [], &mut []).finish(),
    ///     Err(FoldError::TooFewInputs { least: 1 }),
    /// );
    /// ```
    #[inline(always)]
    pub fn finish(self) -> Result<&'b [S], FoldError<S>> {
        if self.inputs < self.rules.min_inputs() {
            return Err(FoldError::TooFewInputs { least: self.rules.min_inputs() });
        }
        let skip = self.sizes.len().saturating_sub(self.rank);
        Ok(self.sizes.get(skip..).unwrap_or_default())
    }
}

/// Checks whether `shape` can be joined, and whether doing so changes `sizes`.
///
/// The error is the leftmost incompatible dimension.
#[inline(always)]
fn check_next<S: Size>(rules: Rules, sizes: &[S], shape: &[S]) -> Result<bool, usize> {
    let rank = sizes.len();
    let mut changes = false;
    for (dim, &ours) in sizes.iter().enumerate() {
        let theirs = padded_dim(shape, rank, dim);
        match S::join(rules, ours, theirs) {
            Some(joined) => changes = changes || joined != ours,
            None => return Err(dim),
        }
    }
    Ok(changes)
}

/// Joins `shape` into `sizes`, after [`check_next`] has accepted it.
#[inline(always)]
fn join_next<S: Size>(rules: Rules, sizes: &mut [S], from: &mut [usize], shape: &[S], input: usize) {
    let rank = sizes.len();
    for (dim, (ours, owner)) in sizes.iter_mut().zip(from).enumerate() {
        let before = *ours;
        let theirs = padded_dim(shape, rank, dim);
        let joined = S::join(rules, before, theirs).unwrap_or(before);
        if joined != before {
            // The size comes from the new shape, or the new shape's 1 made an unknown size positive.
            if joined == theirs || theirs == S::ONE {
                *owner = input;
            }
            *ours = joined;
        }
    }
}

/// Joins `shape` into the common sizes so far, without recording inputs.
///
/// Returns `false` if the shapes are incompatible (E1) or `shape` has a higher rank than `sizes`;
/// the contents of `sizes` are then unspecified. Use [`Common`] for a detailed error.
///
/// ```
/// use unishape_core::{Rules, join_shape};
///
/// let mut sizes = [8, 1, 6, 1];
/// assert!(join_shape(Rules::STANDARD, &mut sizes, &[7, 1, 5]));
/// assert_eq!(sizes, [8, 7, 6, 5]);
/// assert!(!join_shape(Rules::STANDARD, &mut sizes, &[4]));
/// ```
#[inline(always)]
pub fn join_shape<S: Size>(rules: Rules, sizes: &mut [S], shape: &[S]) -> bool {
    let Some(pad) = sizes.len().checked_sub(shape.len()) else {
        return false;
    };
    let (added, own) = sizes.split_at_mut_checked(pad).unwrap_or_default();
    for ours in added {
        match S::join(rules, *ours, S::ONE) {
            Some(joined) => *ours = joined,
            None => return false,
        }
    }
    for (ours, &theirs) in own.iter_mut().zip(shape) {
        match S::join(rules, *ours, theirs) {
            Some(joined) => *ours = joined,
            None => return false,
        }
    }
    true
}

/// Folds shapes into their common shape, without data for an error.
///
/// It does not record which input has which size.
///
/// For shapes that the caller keeps: where [`finish`](FastCommon::finish) returns `false`, [`Common`] finds
/// the reason. The buffer must be as long as the largest rank.
///
/// ```
/// use unishape_core::{FastCommon, Rules};
///
/// let mut sizes = [0; 4];
/// let mut common = FastCommon::new(Rules::STANDARD, &mut sizes);
/// common.push(&[8, 1, 6, 1]);
/// common.push(&[7, 1, 5]);
/// assert!(common.finish());
/// assert_eq!(sizes, [8, 7, 6, 5]);
/// ```
#[derive(Debug)]
pub struct FastCommon<'b, S = usize> {
    rules: Rules,
    sizes: &'b mut [S],
    inputs: usize,
    fits: bool,
}

impl<'b, S: Size> FastCommon<'b, S> {
    /// Starts a fold without inputs.
    ///
    /// ```
    /// use unishape_core::{FastCommon, Rules};
    ///
    /// assert!(FastCommon::<usize>::new(Rules::STANDARD, &mut []).finish());
    /// ```
    #[inline(always)]
    pub fn new(rules: Rules, sizes: &'b mut [S]) -> FastCommon<'b, S> {
        FastCommon { rules, sizes, inputs: 0, fits: true }
    }

    /// Joins one more shape into the common shape.
    ///
    /// After a shape that does not fit, it does nothing.
    ///
    /// ```
    /// use unishape_core::{FastCommon, Rules};
    ///
    /// let mut sizes = [0];
    /// let mut common = FastCommon::new(Rules::STANDARD, &mut sizes);
    /// common.push(&[1]);
    /// common.push(&[3]);
    /// common.push(&[4]);
    /// assert!(!common.finish());
    /// ```
    #[inline(always)]
    pub fn push(&mut self, shape: &[S]) {
        let rank = self.sizes.len();
        if self.inputs == 0 {
            self.fits = shape.len() <= rank;
            // Copied, not joined with 1s: under SONNX rules a first shape with a size of 0 would fail.
            for (dim, to) in self.sizes.iter_mut().enumerate() {
                *to = padded_dim(shape, rank, dim);
            }
        } else {
            self.fits = self.fits && join_shape(self.rules, self.sizes, shape);
        }
        if self.rules.is_strict_rank() {
            self.fits = self.fits && shape.len() == rank;
        }
        self.inputs = self.inputs.saturating_add(1);
    }

    /// The number of shapes so far.
    ///
    /// ```
    /// use unishape_core::{FastCommon, Rules};
    ///
    /// let mut common = FastCommon::<usize>::new(Rules::STANDARD, &mut []);
    /// common.push(&[]);
    /// assert_eq!(common.inputs(), 1);
    /// ```
    #[inline(always)]
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Whether there is a common shape: if so, the buffer holds it.
    ///
    /// ```
    /// use unishape_core::{FastCommon, Rules};
    ///
    /// assert!(!FastCommon::<usize>::new(Rules::SONNX, &mut []).finish()); // SONNX requires an input
    /// ```
    #[inline(always)]
    pub fn finish(self) -> bool {
        self.fits && self.rules.min_inputs() <= self.inputs && self.inputs <= self.rules.max_inputs()
    }
}

/// The reason why [`Common`] rejects a shape or a number of inputs.
///
/// ```
/// use unishape_core::{Common, FoldError, Rules};
///
/// let (mut sizes, mut from) = ([0; 1], [0; 1]);
/// let mut common = Common::new(Rules::STANDARD, &mut sizes, &mut from);
/// assert_eq!(common.push(&[2, 2]), Err(FoldError::BufferTooSmall { rank: 2, capacity: 1 }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FoldError<S = usize> {
    /// E1, incompatible shapes: two sizes differ and neither stretches (BC-9).
    Mismatch(Mismatch<S>),
    /// Shapes of unequal rank, which [`Rules::strict_rank`] rejects.
    UnequalRank {
        /// The rank of input 0, and of all inputs before `input`.
        first: usize,
        /// The first input with a different rank.
        input: usize,
        /// The rank of that input.
        rank: usize,
    },
    /// The rules require more inputs.
    TooFewInputs {
        /// The smallest number allowed.
        least: usize,
    },
    /// The rules do not allow a further input.
    TooManyInputs {
        /// The largest number allowed.
        limit: usize,
    },
    /// The buffers are too short. Extend them and call [`Common::resume`].
    BufferTooSmall {
        /// The number of dimensions required.
        rank: usize,
        /// The number of dimensions that the buffers hold.
        capacity: usize,
    },
}

/// E1, incompatible shapes: the dimension, the two inputs and their sizes (BC-9).
///
/// ```
/// use unishape_core::Mismatch;
///
/// let e1 = Mismatch { dim: 1, rank: 3, inputs: [0, 1], sizes: [2, 4] };
/// assert_eq!(e1.to_string(), "E1: dimension 1: input 0 has 2, input 1 has 4");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch<S = usize> {
    /// The dimension, counted from 0 on the left in a shape of `rank` dimensions.
    pub dim: usize,
    /// The largest rank of all inputs up to the second of `inputs`.
    pub rank: usize,
    /// The first input with the common size so far, and the incompatible input.
    pub inputs: [usize; 2],
    /// Their sizes in this dimension; 1 for a missing dimension.
    pub sizes: [S; 2],
}

impl<S: Size> fmt::Display for FoldError<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FoldError::Mismatch(mismatch) => mismatch.fmt(f),
            FoldError::UnequalRank { first, input, rank } => {
                write!(f, "strict rank: input 0 has rank {first}, input {input} has rank {rank}")
            }
            FoldError::TooFewInputs { least } => {
                write!(f, "too few inputs: these rules require at least {least}")
            }
            FoldError::TooManyInputs { limit } => {
                write!(f, "too many inputs: these rules allow at most {limit}")
            }
            FoldError::BufferTooSmall { rank, capacity } => {
                write!(f, "a shape has {rank} dimensions, but the buffers hold {capacity}")
            }
        }
    }
}

impl<S: Size> fmt::Display for Mismatch<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { dim, inputs: [a, b], sizes: [m, n], .. } = self;
        write!(f, "E1: dimension {dim}: input {a} has {m}, input {b} has {n}")
    }
}

impl<S: Size> core::error::Error for FoldError<S> {}

#[cfg(test)]
mod tests {
    use super::*;

    /// SONNX allows more inputs than a test can push.
    #[test]
    fn the_number_of_inputs_of_a_fast_fold_is_limited() {
        let after = |inputs| FastCommon::<usize> { rules: Rules::SONNX, sizes: &mut [], inputs, fits: true };
        let most = Rules::SONNX.max_inputs();
        assert_eq!([0, 1, most, most + 1].map(|inputs| after(inputs).finish()), [false, true, true, false]);
        let mut last = after(usize::MAX);
        last.push(&[]);
        assert_eq!(last.inputs(), usize::MAX);
    }
}
