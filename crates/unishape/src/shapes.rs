//! Shapes alone, without data.

use crate::error::{Error, Incompatible};
use unishape_core::{Common, Rules, Size, join_shape, padded_dim};

/// The common shape of several shapes (BC-6, BC-13).
///
/// Sizes are numbers, or [`Extent`](crate::Extent)s where some are not known yet.
///
/// ```
/// use unishape::{Extent::{Known, Unknown}, broadcast_shapes};
///
/// assert_eq!(broadcast_shapes(&[&[8, 1, 6, 1][..], &[7, 1, 5]])?, [8, 7, 6, 5]);
/// assert_eq!(broadcast_shapes(&[[Unknown, Known(1)], [Known(3), Unknown]])?, [Known(3), Unknown]);
/// assert_eq!(broadcast_shapes::<usize, [usize; 0]>(&[])?, []);
/// # Ok::<(), unishape::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Incompatible`] (E1) where the shapes are incompatible.
pub fn broadcast_shapes<S: Size, T: AsRef<[S]>>(shapes: &[T]) -> Result<Vec<S>, Error> {
    broadcast_shapes_with(Rules::STANDARD, shapes)
}

/// [`broadcast_shapes`] under another rule set.
///
/// ```
/// use unishape::{Rules, broadcast_shapes_with};
///
/// assert_eq!(broadcast_shapes_with(Rules::STANDARD, &[[0], [1]])?, [0]);
/// assert!(broadcast_shapes_with(Rules::SONNX, &[[0], [1]]).is_err());
/// # Ok::<(), unishape::Error>(())
/// ```
///
/// # Errors
///
/// As [`broadcast_shapes`], and what the rule set forbids.
pub fn broadcast_shapes_with<S: Size, T: AsRef<[S]>>(rules: Rules, shapes: &[T]) -> Result<Vec<S>, Error> {
    let rank = shapes.iter().map(|shape| shape.as_ref().len()).max().unwrap_or(0);
    let (mut sizes, mut from) = (vec![S::ONE; rank], vec![0; rank]);
    let mut common = Common::new(rules, &mut sizes, &mut from);
    let pushed = shapes.iter().try_for_each(|shape| common.push(shape.as_ref()));
    match pushed.and_then(|()| common.finish().map(drop)) {
        Ok(()) => Ok(sizes),
        Err(error) => Err(Error::from_fold(error, |mismatch| Incompatible::among(rules, shapes, mismatch))),
    }
}

/// Whether the shapes go together.
///
/// ```
/// use unishape::is_broadcastable;
///
/// assert!(is_broadcastable(&[&[5, 4][..], &[1], &[]]));
/// assert!(!is_broadcastable(&[[3], [4]]));
/// ```
pub fn is_broadcastable<S: Size, T: AsRef<[S]>>(shapes: &[T]) -> bool {
    broadcast_shapes(shapes).is_ok()
}

/// The common shape of arrays without the bookkeeping that an error needs: where it ends in
/// [`Quick::failed`], the shapes are folded once more, slowly, to say why.
pub(crate) struct Quick<'d> {
    rules: Rules,
    sizes: &'d mut [usize],
    inputs: usize,
    good: bool,
}

impl<'d> Quick<'d> {
    /// No shape yet; `sizes` has room for the largest.
    #[inline(always)]
    pub(crate) fn new(rules: Rules, sizes: &'d mut [usize]) -> Quick<'d> {
        Quick { rules, sizes, inputs: 0, good: true }
    }

    /// Takes in one more shape.
    #[inline(always)]
    pub(crate) fn push(&mut self, shape: &[usize]) {
        if self.inputs == 0 {
            let rank = self.sizes.len();
            for (dim, to) in self.sizes.iter_mut().enumerate() {
                *to = padded_dim(shape, rank, dim);
            }
        } else {
            self.good = self.good && join_shape(self.rules, self.sizes, shape);
        }
        if self.rules.is_strict_rank() {
            self.good = self.good && shape.len() == self.sizes.len();
        }
        self.inputs += 1;
    }

    /// Whether there is no common shape.
    #[inline(always)]
    pub(crate) fn failed(self) -> bool {
        !self.good || self.inputs < self.rules.min_inputs() || self.inputs > self.rules.max_inputs()
    }
}

/// The common shape of the shapes that these expressions give, as a `$Dim`; where there is none, the caller
/// returns with the error. One after another and not in a loop, so that ranks known to the compiler are, and
/// no function, whose result would go through memory.
macro_rules! common_dim {
    ($rules:expr, $Dim:ty: $($shape:expr),+) => {{
        let rank = 0usize$(.max($shape.len()))+;
        let mut dim = <$Dim as ndarray::Dimension>::zeros(rank);
        let mut common = $crate::shapes::Quick::new($rules, ndarray::Dimension::slice_mut(&mut dim));
        $(common.push($shape);)+
        if common.failed() {
            return Err($crate::shapes::why($rules, &[$($shape),+]));
        }
        dim
    }};
}
pub(crate) use common_dim;

/// Why shapes have no common shape.
#[cold]
#[inline(never)]
pub(crate) fn why<T: AsRef<[usize]>>(rules: Rules, shapes: &[T]) -> Error {
    match broadcast_shapes_with(rules, shapes) {
        Err(error) => error,
        Ok(common) => Error::too_large(&common, None), // only if the two folds disagreed
    }
}

/// The common shape of shapes that come one after another, however many: memory by rank only.
///
/// ```
/// use unishape::{CommonShape, Rules};
///
/// let mut common = CommonShape::new(Rules::STANDARD);
/// for i in 0..100_000 {
///     common.push(if i % 2 == 0 { &[4, 1][..] } else { &[3] })?;
/// }
/// assert_eq!(common.finish()?, [4, 3]);
/// # Ok::<(), unishape::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CommonShape<S = usize> {
    rules: Rules,
    sizes: Vec<S>,
    from: Vec<usize>,
    inputs: usize,
}

impl<S: Size> CommonShape<S> {
    /// No shape yet.
    ///
    /// ```
    /// use unishape::{CommonShape, Rules};
    ///
    /// assert_eq!(CommonShape::<usize>::new(Rules::STANDARD).finish()?, []);
    /// # Ok::<(), unishape::Error>(())
    /// ```
    pub fn new(rules: Rules) -> CommonShape<S> {
        CommonShape { rules, sizes: Vec::new(), from: Vec::new(), inputs: 0 }
    }

    /// Takes in one more shape, or says why that cannot be and changes nothing.
    ///
    /// ```
    /// use unishape::{CommonShape, Rules};
    ///
    /// let mut common = CommonShape::new(Rules::STANDARD);
    /// common.push(&[5, 4])?;
    /// assert!(common.push(&[3]).is_err());
    /// assert_eq!(common.shape(), [5, 4]);
    /// # Ok::<(), unishape::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`broadcast_shapes_with`]. The error shows the shapes before this one as what they came
    /// to together, for they are not kept.
    pub fn push(&mut self, shape: &[S]) -> Result<(), Error> {
        let rank = self.sizes.len();
        let more = shape.len().saturating_sub(rank);
        let (mut sizes, mut from) = (&mut self.sizes, &mut self.from);
        let mut longer;
        if more > 0 {
            // Joined in longer buffers, which are kept only if all goes well.
            longer = (vec![S::ONE; more], vec![0; more]);
            longer.0.extend_from_slice(sizes);
            longer.1.extend_from_slice(from);
            (sizes, from) = (&mut longer.0, &mut longer.1);
        }
        let mut common = Common::resume(self.rules, sizes, from, rank, self.inputs);
        if let Err(error) = common.push(shape) {
            let so_far = sizes[more..].to_vec();
            return Err(Error::from_fold(error, |mismatch| {
                Incompatible::after(self.rules, self.inputs, &so_far, shape, mismatch)
            }));
        }
        self.inputs = common.inputs();
        if more > 0 {
            (self.sizes, self.from) = (std::mem::take(sizes), std::mem::take(from));
        }
        Ok(())
    }

    /// The common shape so far.
    ///
    /// ```
    /// use unishape::{CommonShape, Extent, Rules};
    ///
    /// let mut common = CommonShape::new(Rules::STANDARD);
    /// common.push(&[Extent::Unknown])?;
    /// assert_eq!(common.shape(), [Extent::Unknown]);
    /// # Ok::<(), unishape::Error>(())
    /// ```
    pub fn shape(&self) -> &[S] {
        &self.sizes
    }

    /// How many shapes have been taken in.
    ///
    /// ```
    /// use unishape::{CommonShape, Rules};
    ///
    /// assert_eq!(CommonShape::<usize>::new(Rules::STANDARD).inputs(), 0);
    /// ```
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The common shape of all that was taken in.
    ///
    /// ```
    /// use unishape::{CommonShape, Error, Rules};
    ///
    /// let common = CommonShape::<usize>::new(Rules::SONNX);
    /// assert_eq!(common.finish(), Err(Error::TooFewInputs { least: 1 }));
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TooFewInputs`] where the rule set wants more shapes than there were.
    pub fn finish(self) -> Result<Vec<S>, Error> {
        if self.inputs < self.rules.min_inputs() {
            return Err(Error::TooFewInputs { least: self.rules.min_inputs() });
        }
        Ok(self.sizes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SONNX wants one input at the least and takes so many at the most that no test can have them.
    #[test]
    fn the_number_of_inputs_is_limited() {
        let after =
            |inputs: usize| Quick { rules: Rules::SONNX, sizes: &mut [], inputs, good: true }.failed();
        let most = Rules::SONNX.max_inputs();
        assert_eq!([0, 1, most, most + 1].map(after), [true, false, false, true]);
    }
}
