//! `reduce`: a function of the elements of several arrays, folded along some axes.

use crate::error::Error;
use crate::fold::Fold;
use crate::map::MapInputs;
use crate::reduce_axes::ReduceAxes;
use ndarray::Array;

/// Folds a function of the elements of several arrays along some axes.
///
/// The arrays are broadcast together.
///
/// The function is called for each index of the common shape, and the fold combines what it returns: [`Sum`],
/// [`Product`], [`Mean`], [`Min`], [`Max`], [`Any`], [`All`], a closure, or your own [`Fold`]. Axes are those of
/// the common shape: one `Axis`, an array or a slice of them, or `..` for all; in [`KeepDims`], reduced
/// axes stay with size 1.
///
/// ```
/// use ndarray::{Axis, arr1, arr2};
/// use unishape::fold::{Max, Sum};
/// use unishape::{KeepDims, reduce};
///
/// let (a, b) = (arr2(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), arr1(&[1.0, 0.0, 2.0]));
/// assert_eq!(reduce((&a, &b), Axis(1), |a, b| a * b, Sum)?, arr1(&[7.0, 16.0]));
/// assert_eq!(reduce((&a, &b), KeepDims(Axis(0)), |a, b| a - b, Max)?, arr2(&[[3.0, 5.0, 4.0]]));
/// assert_eq!(reduce((&a, &b), .., |a, b| a * b, Sum)?.into_scalar(), 23.0);
///
/// // Squared distances of all pairs of points: 3x1x2 and 2x2 are broadcast to 3x2x2.
/// let (x, y) = (arr2(&[[0i32, 0], [1, 1], [3, 4]]), arr2(&[[0, 0], [1, 2]]));
/// let distances = reduce((x.view().insert_axis(Axis(1)), &y), Axis(2), |x, y| (x - y).pow(2), Sum)?;
/// assert_eq!(distances, arr2(&[[0, 5], [2, 1], [25, 8]]));
/// # Ok::<(), unishape::Error>(())
/// ```
///
/// Nothing of the common shape is allocated: beside the result, there are partial accumulators, in a number that
/// depends on the result's size and not on the number of elements that are folded. The function may be called in any
/// order, and on several threads where the arrays are large. The result does not depend on the number of threads, and
/// rounding errors of sums grow with the logarithm of the number of elements.
///
/// [`KeepDims`]: crate::KeepDims
/// [`Sum`]: crate::fold::Sum
/// [`Product`]: crate::fold::Product
/// [`Mean`]: crate::fold::Mean
/// [`Min`]: crate::fold::Min
/// [`Max`]: crate::fold::Max
/// [`Any`]: crate::fold::Any
/// [`All`]: crate::fold::All
///
/// # Errors
///
/// - [`Error::Incompatible`] (E1) where the shapes are incompatible;
/// - [`Error::AxisOutOfRange`] and [`Error::RepeatedAxis`];
/// - [`Error::EmptyReduction`] where a reduced axis has size 0 and the fold has no value for no items;
/// - [`Error::TooLarge`] and [`Error::OutOfMemory`] where the result does not fit.
///
/// # Panics
///
/// Where the function or the fold panics. Accumulators are dropped, and other threads stop soon.
#[inline]
pub fn reduce<I, X, F, R>(
    inputs: I,
    axes: X,
    function: F,
    fold: R,
) -> Result<Array<R::Output, X::Kept>, Error>
where
    I: MapInputs<F>,
    X: ReduceAxes<I::Dim>,
    R: Fold<I::Result, Acc: Send> + Sync,
{
    inputs.reduce_elements(axes, function, fold)
}
