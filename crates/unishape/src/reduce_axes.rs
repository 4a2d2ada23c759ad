//! Axes that are reduced, and what is left of a shape.

use crate::alloc::{checked_len, out_of_memory};
use crate::error::Error;
use crate::fold::{Accumulator, Fold};
use ndarray::{Array, Axis, Dimension, Ix0, IxDyn, RemoveAxis};
use smallvec::SmallVec;
use std::ops::RangeFull;
use unishape_core::element_count;
use unishape_engine::memory::reserve;

#[diagnostic::on_unimplemented(
    message = "`{Self}` are no axes of an array of rank `{D}`",
    label = "not an `Axis`, an array or a slice of them, or `..`",
    note = "write `Axis(0)`, `[Axis(0), Axis(1)]` with at most as many axes as the arrays have, or `..` for all"
)]
/// Axes of [`reduce`](crate::reduce()) for arrays of the rank type `D`.
///
/// | axes | result |
/// |---|---|
/// | `Axis(1)` | one axis less |
/// | `[Axis(0), Axis(2)]`, up to six | as many less |
/// | `&[Axis]` | `IxDyn` |
/// | `..` | a scalar (`Ix0`) |
/// | [`KeepDims`] of these | the same rank |
///
/// ```
/// use ndarray::{Array3, Axis};
/// use unishape::fold::Sum;
/// use unishape::reduce;
///
/// let a = Array3::<f32>::ones((2, 3, 4));
/// assert_eq!(reduce((&a,), [Axis(0), Axis(2)], |x| *x, Sum)?, ndarray::arr1(&[8.0, 8.0, 8.0]));
/// assert_eq!(reduce((&a,), &[Axis(1)][..], |x| *x, Sum)?.shape(), [2, 4]);
///
/// let error = reduce((&a,), Axis(3), |x| *x, Sum).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "axis 3 is out of range: the common shape 2x3x4 has 3 dimensions; the last axis is 2"
/// );
/// let error = reduce((&a,), [Axis(1), Axis(1)], |x| *x, Sum).unwrap_err();
/// assert_eq!(error.to_string(), "axis 1 is given twice; give each axis once");
/// # Ok::<(), unishape::Error>(())
/// ```
pub trait ReduceAxes<D: Dimension>: sealed::Sealed {
    /// Rank type of the result.
    type Kept: Dimension;

    /// Whether reduced axes stay, with size 1.
    #[doc(hidden)]
    const KEEPS_DIMS: bool = false;

    /// The axes; all of them where there are none.
    #[doc(hidden)]
    fn axes(&self) -> Option<&[Axis]>;
}

mod sealed {
    use super::KeepDims;
    use ndarray::Axis;
    use std::ops::RangeFull;

    pub trait Sealed {}
    impl Sealed for Axis {}
    impl<const N: usize> Sealed for [Axis; N] {}
    impl Sealed for &[Axis] {}
    impl Sealed for RangeFull {}
    impl<X: Sealed> Sealed for KeepDims<X> {}
}

impl<D: RemoveAxis> ReduceAxes<D> for Axis {
    type Kept = D::Smaller;

    fn axes(&self) -> Option<&[Axis]> {
        Some(std::slice::from_ref(self))
    }
}

/// Implements [`ReduceAxes`] for an array of axes, each of which makes the rank smaller by one.
macro_rules! array_of_axes {
    ($($N:literal: $Kept:ty where $($Larger:ty),+;)+) => {
        $(impl<D: Dimension> ReduceAxes<D> for [Axis; $N]
        where
            $($Larger: RemoveAxis),+
        {
            type Kept = $Kept;

            fn axes(&self) -> Option<&[Axis]> {
                Some(self)
            }
        })+
    };
}

/// One axis less.
type Less<D> = <D as Dimension>::Smaller;

array_of_axes! {
    1: Less<D> where D;
    2: Less<Less<D>> where D, Less<D>;
    3: Less<Less<Less<D>>> where D, Less<D>, Less<Less<D>>;
    4: Less<Less<Less<Less<D>>>> where D, Less<D>, Less<Less<D>>, Less<Less<Less<D>>>;
    5: Less<Less<Less<Less<Less<D>>>>>
        where D, Less<D>, Less<Less<D>>, Less<Less<Less<D>>>, Less<Less<Less<Less<D>>>>;
    6: Less<Less<Less<Less<Less<Less<D>>>>>>
        where D, Less<D>, Less<Less<D>>, Less<Less<Less<D>>>, Less<Less<Less<Less<D>>>>,
            Less<Less<Less<Less<Less<D>>>>>;
}

impl<D: Dimension> ReduceAxes<D> for &[Axis] {
    type Kept = IxDyn;

    fn axes(&self) -> Option<&[Axis]> {
        Some(self)
    }
}

impl<D: Dimension> ReduceAxes<D> for RangeFull {
    type Kept = Ix0;

    fn axes(&self) -> Option<&[Axis]> {
        None
    }
}

/// Axes that stay in the result of [`reduce`](crate::reduce()), with size 1.
///
/// The result can be broadcast with the inputs again.
///
/// ```
/// use ndarray::{Axis, arr2};
/// use unishape::fold::Sum;
/// use unishape::{KeepDims, map, reduce};
///
/// let a = arr2(&[[1.0, 3.0], [2.0, 2.0]]);
/// let sums = reduce((&a,), KeepDims(Axis(1)), |x| *x, Sum)?;
/// assert_eq!(sums, arr2(&[[4.0], [4.0]]));
/// assert_eq!(map((&a, &sums), |a, sum| a / sum)?, arr2(&[[0.25, 0.75], [0.5, 0.5]]));
/// # Ok::<(), unishape::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepDims<X>(pub X);

impl<D: Dimension, X: ReduceAxes<D>> ReduceAxes<D> for KeepDims<X> {
    type Kept = D;
    const KEEPS_DIMS: bool = true;

    fn axes(&self) -> Option<&[Axis]> {
        self.0.axes()
    }
}

/// The result of a reduction, before it is computed: its shape, and which axes are reduced.
pub(crate) struct Outcome<'o, K> {
    shape: &'o [usize],
    is_reduced: SmallVec<[bool; 6]>,
    dim: K,
}

impl<'o, K: Dimension> Outcome<'o, K> {
    pub(crate) fn new<D: Dimension, X: ReduceAxes<D, Kept = K>>(
        shape: &'o [usize],
        axes: &X,
    ) -> Result<Outcome<'o, K>, Error> {
        let mut is_reduced = SmallVec::from_elem(axes.axes().is_none(), shape.len());
        for &Axis(axis) in axes.axes().unwrap_or_default() {
            match is_reduced.get_mut(axis) {
                None => return Err(Error::AxisOutOfRange { axis, shape: shape.to_vec() }),
                Some(true) => return Err(Error::RepeatedAxis { axis }),
                Some(is_reduced) => *is_reduced = true,
            }
        }
        if element_count(shape).is_err() {
            return Err(Error::too_large(shape, None));
        }
        let sizes = shape.iter().zip(&is_reduced).filter_map(|(&size, &is_reduced)| match is_reduced {
            true => X::KEEPS_DIMS.then_some(1),
            false => Some(size),
        });
        let mut dim = K::zeros(sizes.clone().count());
        dim.slice_mut().iter_mut().zip(sizes).for_each(|(to, size)| *to = size);
        Ok(Outcome { shape, is_reduced, dim })
    }

    /// The results of accumulators that `fold_items` computes, unless there are no items.
    pub(crate) fn array<T, R: Fold<T>>(
        self,
        fold: &R,
        fold_items: impl FnOnce(&[bool], &Accumulator<'_, R>) -> Result<Vec<R::Acc>, Error>,
    ) -> Result<Array<R::Output, K>, Error> {
        let Outcome { shape, is_reduced, dim } = self;
        let len = checked_len::<R::Acc>(dim.slice())?;
        checked_len::<R::Output>(dim.slice())?;
        let reduced =
            || shape.iter().zip(&is_reduced).enumerate().filter(|(_, (_, is_reduced))| **is_reduced);
        let empty_axis = reduced().find(|(_, (size, _))| **size == 0).map(|(axis, _)| axis);
        let accs = match empty_axis {
            Some(axis) => {
                let mut accs = reserve(len).map_err(out_of_memory)?;
                for _ in 0..len {
                    let empty = fold.empty();
                    accs.push(empty.ok_or_else(|| Error::EmptyReduction { axis, shape: shape.to_vec() })?);
                }
                accs
            }
            None => fold_items(&is_reduced, &Accumulator(fold))?,
        };
        let count = if empty_axis.is_some() { 0 } else { reduced().map(|(_, (&size, _))| size).product() };
        // In place where results are as large as accumulators.
        let results: Vec<R::Output> = accs.into_iter().map(|acc| fold.finish(acc, count)).collect();
        Array::from_shape_vec(dim.clone(), results).map_err(|_| Error::too_large(dim.slice(), None))
    }
}
