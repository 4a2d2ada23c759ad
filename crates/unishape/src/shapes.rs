//! Broadcasting of shapes, without arrays.

use crate::error::{Error, Incompatible};
use ndarray::Dimension;
use unishape_core::{Common, Rules, Size};

/// The common shape of several shapes (BC-6, BC-13).
///
/// Sizes are `usize`, or [`Extent`](crate::Extent)s where some are unknown.
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
///
/// # Panics
///
/// Never, unless `as_ref` of a shape does.
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
/// As [`broadcast_shapes`], and where the rule set forbids it: [`Error::UnequalRank`],
/// [`Error::TooFewInputs`] or [`Error::TooManyInputs`].
///
/// # Panics
///
/// Never, unless `as_ref` of a shape does.
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

/// Whether shapes are compatible under the standard rules.
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

/// Common shape of some shape expressions as a `$Dim`; without one, the calling function returns the error.
///
/// [`FastCommon`](unishape_core::FastCommon) does not record what an error message needs. Where it finds no common
/// shape, [`Common`] decides, which does. A macro, because a function would return the shape through memory.
/// Unrolled, so that the compiler knows static ranks, and sizes stay in registers.
macro_rules! common_dim {
    ($rules:expr, $Dim:ty: $($shape:expr),+) => {{
        let rank = 0usize$(.max($shape.len()))+;
        let mut dim = <$Dim as ndarray::Dimension>::zeros(rank);
        let mut common = unishape_core::FastCommon::new($rules, ndarray::Dimension::slice_mut(&mut dim));
        $(common.push($shape);)+
        if !common.finish() {
            dim = $crate::shapes::detailed_dim($rules, &[$($shape),+])?;
        }
        dim
    }};
}
pub(crate) use common_dim;

/// The common shape as a `D`, or the reason why there is none.
#[cold]
#[inline(never)]
pub(crate) fn detailed_dim<D: Dimension, T: AsRef<[usize]>>(rules: Rules, shapes: &[T]) -> Result<D, Error> {
    let sizes = broadcast_shapes_with(rules, shapes)?;
    let mut dim = D::zeros(sizes.len());
    dim.slice_mut().copy_from_slice(&sizes);
    Ok(dim)
}

/// Incremental common shape of a stream of shapes.
///
/// For shapes that arrive one after another: files of a data set, messages, records. Its memory grows with the rank, not
/// with the number of shapes, which are not kept. A shape that is incompatible is an error and changes nothing, so that
/// a stream can go on without it.
///
/// Parts of a stream can be combined in any order: the common shape of common shapes is that of all shapes. The program
/// `examples/streaming_shapes.rs` does so on several threads.
///
/// ```
/// use unishape::{CommonShape, Rules};
///
/// let mut common = CommonShape::new(Rules::STANDARD);
/// for i in 0..100_000 {
///     common.push(if i % 2 == 0 { &[4, 1][..] } else { &[3] })?;
/// }
/// let error = common.push(&[2, 3]).unwrap_err();
/// assert!(error.to_string().starts_with("E1: incompatible shapes in dimension 0: input 0 has 4, input 100000 has 2"));
/// assert_eq!((common.shape(), common.inputs()), (&[4, 3][..], 100_000)); // as before
/// assert_eq!(common.finish()?, [4, 3]);
/// # Ok::<(), unishape::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CommonShape<S = usize> {
    rules: Rules,
    sizes: Vec<S>,
    /// For each dimension, the first input that has its size.
    from: Vec<usize>,
    inputs: usize,
}

impl<S: Size> CommonShape<S> {
    /// Starts without shapes.
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

    /// Adds a shape. On error, nothing changes.
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
    /// As [`broadcast_shapes_with`]. Earlier shapes are not kept: the error shows their common shape instead.
    pub fn push(&mut self, shape: &[S]) -> Result<(), Error> {
        let rank = self.sizes.len();
        let more = shape.len().saturating_sub(rank);
        let (mut sizes, mut from) = (&mut self.sizes, &mut self.from);
        let mut longer;
        if more > 0 {
            // Computed in longer buffers, which replace the current ones only on success.
            longer = (vec![S::ONE; more], vec![0; more]);
            longer.0.extend_from_slice(sizes);
            longer.1.extend_from_slice(from);
            (sizes, from) = (&mut longer.0, &mut longer.1);
        }
        // After any pushes, the resumed fold holds the common shape of all of them: `resume_folded` of the proof.
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

    /// Number of shapes added so far.
    ///
    /// ```
    /// use unishape::{CommonShape, Rules};
    ///
    /// assert_eq!(CommonShape::<usize>::new(Rules::STANDARD).inputs(), 0);
    /// ```
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Common shape of all shapes that were added.
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
    /// [`Error::TooFewInputs`] where the rule set requires more shapes than were added.
    pub fn finish(self) -> Result<Vec<S>, Error> {
        if self.inputs < self.rules.min_inputs() {
            return Err(Error::TooFewInputs { least: self.rules.min_inputs() });
        }
        Ok(self.sizes)
    }
}
