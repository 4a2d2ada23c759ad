//! Broadcasting of arrays to views of their common shape.

use crate::boundary::TargetShape;
use crate::error::Error;
use crate::operand::{CommonDim, MapOperand, Operand};
use crate::shapes::{broadcast_shapes_with, common_dim, detailed_dim};
use ndarray::{Dimension, IntoDimension};
use unishape_core::{FastCommon, Rules, check_broadcast_to};

/// Broadcasts arrays to read-only views of their common shape.
///
/// The inputs are a tuple of 1 to 16 arrays, each with its own element type and rank; the views are a
/// tuple of the same length and order (BC-1, BC-2). No element is copied (BC-10). Static ranks stay static.
/// For more arrays see [`broadcast_all`]; for element types known only at run time, pass a slice of
/// [`Tensor`](crate::Tensor)s.
///
/// ```
/// use ndarray::{arr1, arr2};
/// use unishape::broadcast;
///
/// let prices = arr2(&[[1.0], [2.0]]);       // 2×1
/// let names = arr1(&["a", "b", "c"]);       //   3
/// let (prices, names) = broadcast((&prices, &names))?;
/// assert_eq!(prices, arr2(&[[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]));
/// assert_eq!(names, arr2(&[["a", "b", "c"], ["a", "b", "c"]]));
/// # Ok::<(), unishape::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Incompatible`] (E1) where the shapes are incompatible, [`Error::TooLarge`] where the
/// common shape has more than `isize::MAX` elements.
///
/// # Panics
///
/// Never.
#[inline(always)]
pub fn broadcast<I: Inputs>(inputs: I) -> Result<I::Views, Error> {
    inputs.broadcast_with(Rules::STANDARD)
}

/// [`broadcast`] under another rule set.
///
/// ```
/// use ndarray::{Array1, Array2};
/// use unishape::{Rules, broadcast_with};
///
/// let (column, vector) = (Array2::<f32>::zeros((3, 1)), Array1::<f32>::zeros(3));
/// assert!(broadcast_with(Rules::STANDARD, (&column, &vector)).is_ok()); // 3×3
/// assert!(broadcast_with(Rules::STANDARD.strict_rank(), (&column, &vector)).is_err());
/// ```
///
/// # Errors
///
/// As [`broadcast`], and where the rule set forbids it, such as [`Error::UnequalRank`].
///
/// # Panics
///
/// Never.
#[inline]
pub fn broadcast_with<I: Inputs>(rules: Rules, inputs: I) -> Result<I::Views, Error> {
    inputs.broadcast_with(rules)
}

#[diagnostic::on_unimplemented(
    message = "`{Self}` are no inputs of `broadcast`",
    label = "not a tuple of 1 to 16 borrowed arrays, and not a slice of tensors",
    note = "pass a tuple of references or views, such as `(&a, &b)` or `(&a,)`; for more arrays of one type, call `broadcast_all`",
    note = "to stretch one array, call `broadcast_to`"
)]
/// Inputs of [`broadcast`]: a tuple of [`Operand`]s, or a slice of tensors.
///
/// ```
/// use ndarray::array;
/// use unishape::{Inputs, Rules};
///
/// let (x, y) = (array![1, 2, 3], array![[true], [false]]);
/// let (x, y) = (&x, &y).broadcast_with(Rules::SONNX)?;
/// assert_eq!(x.shape(), y.shape());
/// # Ok::<(), unishape::Error>(())
/// ```
pub trait Inputs {
    /// The broadcast views, one for each input.
    type Views;

    /// Broadcasts the inputs: see [`broadcast`].
    ///
    /// ```
    /// use ndarray::array;
    /// use unishape::prelude::*;
    ///
    /// let (x, y) = (array![1, 2, 3], array![[true], [false]]);
    /// let (x, y) = (&x, &y).broadcast()?;
    /// assert_eq!((x.dim(), y.dim()), ((2, 3), (2, 3)));
    /// # Ok::<(), unishape::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`broadcast`].
    ///
    /// # Panics
    ///
    /// Never.
    #[inline(always)]
    fn broadcast(self) -> Result<Self::Views, Error>
    where
        Self: Sized,
    {
        self.broadcast_with(Rules::STANDARD)
    }

    /// Broadcasts the inputs under a rule set.
    ///
    /// ```
    /// use unishape::{Inputs, Rules, Tensor};
    ///
    /// let tensors = [Tensor::from(ndarray::arr1(&[1, 2])), Tensor::from(ndarray::arr0(true))];
    /// assert_eq!(tensors.broadcast_with(Rules::STANDARD)?[1].shape(), [2]);
    /// # Ok::<(), unishape::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`broadcast_with`].
    ///
    /// # Panics
    ///
    /// Never.
    fn broadcast_with(self, rules: Rules) -> Result<Self::Views, Error>;
}

/// Implements [`Inputs`] for a tuple of arrays, then recursively for the tuple without its first array.
macro_rules! tuple_inputs {
    () => {};
    ($($T:ident $view:ident)+) => {
        tuple_inputs!(@ ($($T::Dim,)+), $($T $view)+);
    };
    (@ $dims:ty { $first:ident $first_view:ident $($T:ident $view:ident)* }) => {
        tuple_inputs!($($T $view)*);
    };
    (@ $dims:ty, $($T:ident $view:ident)+) => {
        impl<$($T: Operand),+> Inputs for ($($T,)+)
        where
            $dims: CommonDim,
        {
            type Views = ($($T::View<<$dims as CommonDim>::Dim>,)+);

            #[inline(always)] // a result returned through memory takes twice as long
            fn broadcast_with(self, rules: Rules) -> Result<Self::Views, Error> {
                let ($($view,)+) = &self;
                let dim = common_dim!(rules, <$dims as CommonDim>::Dim: $($view.sizes().as_ref()),+);
                // Under all rules, every input stretches to the common shape under the standard rules, and the view is
                // the specified one (laws `inputs_stretch_standard` and `standard_view_is_specified` of the proof). So
                // only the number of elements can be an error.
                if let Some(target) = TargetShape::new(&dim)
                    && let ($(Some($view),)+) = ($($view.stretch(Rules::STANDARD, &target),)+)
                {
                    return Ok(($($view,)+));
                }
                Err(Error::too_large(dim.clone().slice(), None))
            }
        }
        tuple_inputs!(@ $dims { $($T $view)+ });
    };
}
tuple_inputs!(
    A a B b C c D d E e F f G g H h I i J j K k L l M m N n O o P p
);

/// View of an array with the same element type and rank type.
///
/// ```
/// use ndarray::Array1;
/// use unishape::{Error, ViewOf, broadcast_all};
///
/// fn views(arrays: &[Array1<f32>]) -> Result<Vec<ViewOf<&Array1<f32>>>, Error> {
///     broadcast_all(arrays)
/// }
/// assert_eq!(views(&[Array1::zeros(3), Array1::zeros(1)])?[1].len(), 3);
/// # Ok::<(), Error>(())
/// ```
pub type ViewOf<O> = <O as Operand>::View<<O as MapOperand>::Dim>;

/// Broadcasts any number of arrays of one element type and one rank type.
///
/// Arrays of different ranks need dynamic rank first: ndarray's `into_dyn`.
///
/// ```
/// use ndarray::{Array, IxDyn};
/// use unishape::broadcast_all;
///
/// let arrays: Vec<_> = (0..100).map(|i| Array::from_elem(IxDyn(&vec![1; i % 7]), i)).collect();
/// let views = broadcast_all(&arrays)?;
/// assert_eq!(views.len(), 100);
/// assert!(views.iter().all(|view| view.shape() == [1, 1, 1, 1, 1, 1]));
/// # Ok::<(), unishape::Error>(())
/// ```
///
/// # Errors
///
/// As [`broadcast`].
///
/// # Panics
///
/// Never, unless the iterator does.
pub fn broadcast_all<O: Operand>(
    arrays: impl IntoIterator<Item = O, IntoIter: Clone>,
) -> Result<Vec<ViewOf<O>>, Error> {
    broadcast_all_with(Rules::STANDARD, arrays)
}

/// [`broadcast_all`] under another rule set.
///
/// ```
/// use ndarray::Array1;
/// use unishape::{Error, Rules, broadcast_all_with};
///
/// let none: [&Array1<f64>; 0] = [];
/// assert_eq!(broadcast_all_with(Rules::SONNX, none), Err(Error::TooFewInputs { least: 1 }));
/// ```
///
/// # Errors
///
/// As [`broadcast_with`].
///
/// # Panics
///
/// Never, unless the iterator does.
pub fn broadcast_all_with<O: Operand>(
    rules: Rules,
    arrays: impl IntoIterator<Item = O, IntoIter: Clone>,
) -> Result<Vec<ViewOf<O>>, Error> {
    // Iterates three times (rank, common shape, views) instead of collecting the arrays.
    let arrays = arrays.into_iter();
    let Some(rank) = arrays.clone().map(|array| array.sizes().as_ref().len()).max() else {
        return broadcast_shapes_with::<usize, [usize; 0]>(rules, &[]).map(|_| Vec::new());
    };
    let mut dim = O::Dim::zeros(rank);
    let mut common = FastCommon::new(rules, dim.slice_mut());
    for array in arrays.clone() {
        common.push(array.sizes().as_ref());
    }
    let count = common.inputs();
    if !common.finish() {
        let shapes: Vec<Vec<usize>> = arrays.clone().map(|array| array.sizes().as_ref().to_vec()).collect();
        dim = detailed_dim(rules, &shapes)?;
    }
    let too_large = || Error::too_large(dim.slice(), None);
    let target = TargetShape::new(&dim).ok_or_else(too_large)?;
    let mut views = Vec::with_capacity(count);
    // As for tuples, every input stretches to the common shape under the standard rules (law
    // `inputs_stretch_standard`), so no error is possible here.
    for array in arrays {
        views.push(array.stretch(Rules::STANDARD, &target).ok_or_else(too_large)?);
    }
    Ok(views)
}

/// Broadcasts one array to a given shape, as `NumPy`'s `broadcast_to` (BC-12).
///
/// The shape is any of ndarray's shape arguments: an integer, a tuple, an array or a slice.
///
/// ```
/// use ndarray::{arr1, arr2};
/// use unishape::broadcast_to;
///
/// let row = arr1(&[1, 2, 3]);
/// assert_eq!(broadcast_to(&row, (2, 3))?, arr2(&[[1, 2, 3], [1, 2, 3]]));
/// assert!(broadcast_to(&row, (3, 2)).is_err());
/// # Ok::<(), unishape::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::CannotStretch`] where a dimension of the array is neither 1 nor that of the shape, or the array
/// has the larger rank; [`Error::TooLarge`] where the shape has more than `isize::MAX` elements.
///
/// # Panics
///
/// Never.
#[inline]
pub fn broadcast_to<O: Operand, Sh: IntoDimension>(array: O, shape: Sh) -> Result<O::View<Sh::Dim>, Error> {
    broadcast_to_with(Rules::STANDARD, array, shape)
}

/// [`broadcast_to`] under another rule set.
///
/// ```
/// use ndarray::arr1;
/// use unishape::{Rules, broadcast_to_with};
///
/// assert!(broadcast_to_with(Rules::STANDARD, &arr1(&[7]), 0).is_ok());
/// assert!(broadcast_to_with(Rules::SONNX, &arr1(&[7]), 0).is_err());
/// ```
///
/// # Errors
///
/// As [`broadcast_to`], and where the rule set forbids stretching to that size.
///
/// # Panics
///
/// Never.
#[inline]
pub fn broadcast_to_with<O: Operand, Sh: IntoDimension>(
    rules: Rules,
    array: O,
    shape: Sh,
) -> Result<O::View<Sh::Dim>, Error> {
    let dim = shape.into_dimension();
    match TargetShape::new(&dim).and_then(|target| array.stretch(rules, &target)) {
        Some(view) => Ok(view),
        None => Err(broadcast_to_error(rules, array.sizes().as_ref(), dim.clone().slice())),
    }
}

/// The reason why an array cannot be stretched to a shape.
#[cold]
#[inline(never)]
fn broadcast_to_error(rules: Rules, shape: &[usize], target: &[usize]) -> Error {
    match check_broadcast_to(rules, shape, target) {
        Err(reason) => Error::not_broadcastable(shape, target, reason),
        Ok(()) => Error::too_large(target, None),
    }
}
