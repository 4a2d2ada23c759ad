//! Methods of ndarray's arrays that broadcast.

use crate::broadcast::{Inputs, broadcast_to};
use crate::error::Error;
#[cfg(feature = "map")]
use crate::for_each::ForEachInputs;
#[cfg(feature = "map")]
use crate::map::MapInputs;
use crate::sum::sum_to;
use ndarray::{Array, ArrayRef, ArrayView, Dimension, IntoDimension};
use num_traits::Zero;
use std::ops::Add;

/// Methods of ndarray's arrays that broadcast.
///
/// Owned arrays, shared arrays and views have them.
///
/// In the [prelude](crate::prelude).
///
/// ```
/// use unishape::prelude::*;
///
/// let table = ndarray::arr2(&[[1, 2, 3], [4, 5, 6]]);
/// assert_eq!(table.map_with(&[10, 20, 30], |x, y| x + y)?, ndarray::arr2(&[[11, 22, 33], [14, 25, 36]]));
/// # Ok::<(), unishape::Error>(())
/// ```
pub trait BroadcastExt {
    /// Element type.
    type Elem;

    /// Views of this array and another one, of their common shape.
    ///
    /// See [`broadcast`](crate::broadcast()).
    ///
    /// ```
    /// use ndarray::{arr1, arr2};
    /// use unishape::prelude::*;
    ///
    /// let (column, row) = (arr2(&[[1], [2]]), arr1(&["a", "b", "c"]));
    /// let (numbers, names) = column.broadcast_with(&row)?;
    /// assert_eq!((numbers[(1, 2)], names[(1, 2)]), (2, "c"));
    /// # Ok::<(), unishape::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`broadcast`](crate::broadcast()).
    ///
    /// # Panics
    ///
    /// Never.
    fn broadcast_with<'a, O>(&'a self, other: O) -> Result<<(&'a Self, O) as Inputs>::Views, Error>
    where
        (&'a Self, O): Inputs,
    {
        (self, other).broadcast()
    }

    /// A view of this array, stretched to a shape.
    ///
    /// See [`broadcast_to`](crate::broadcast_to).
    ///
    /// ```
    /// use ndarray::arr1;
    /// use unishape::prelude::*;
    ///
    /// let row = arr1(&[1, 2, 3]);
    /// assert_eq!(row.broadcast_to((2, 3))?.dim(), (2, 3));
    /// assert!(row.broadcast_to((3, 2)).unwrap_err().to_string().starts_with("cannot broadcast 3 to 3x2"));
    /// # Ok::<(), unishape::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`broadcast_to`](crate::broadcast_to).
    ///
    /// # Panics
    ///
    /// Never.
    fn broadcast_to<Sh: IntoDimension>(&self, shape: Sh)
    -> Result<ArrayView<'_, Self::Elem, Sh::Dim>, Error>;

    /// Sums this array to a shape that can be broadcast to its own.
    ///
    /// See [`sum_to`](crate::sum_to).
    ///
    /// ```
    /// use ndarray::{arr1, arr2};
    /// use unishape::prelude::*;
    ///
    /// assert_eq!(arr2(&[[1, 2], [10, 20]]).sum_to(2)?, arr1(&[11, 22]));
    /// # Ok::<(), unishape::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`sum_to`](crate::sum_to).
    ///
    /// # Panics
    ///
    /// Where `+` panics.
    fn sum_to<Sh: IntoDimension>(&self, shape: Sh) -> Result<Array<Self::Elem, Sh::Dim>, Error>
    where
        Self::Elem: Clone + Zero + Add<Output = Self::Elem>;

    /// A function of the elements of this array and another operand.
    ///
    /// See [`map`](crate::map()).
    ///
    /// ```
    /// use ndarray::{arr1, arr2};
    /// use unishape::prelude::*;
    ///
    /// let a = arr2(&[[1.0], [2.0]]);
    /// assert_eq!(a.map_with(&[10.0, 20.0], |x, y| x + y)?, arr2(&[[11.0, 21.0], [12.0, 22.0]]));
    /// assert_eq!(a.map_with(0.5, |x, y| x * y)?, arr2(&[[0.5], [1.0]]));
    /// # Ok::<(), unishape::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`map`](crate::map()).
    ///
    /// # Panics
    ///
    /// As [`map`](crate::map()).
    #[cfg(feature = "map")]
    #[allow(clippy::type_complexity)] // the types of `map`
    fn map_with<'a, O, F>(
        &'a self,
        other: O,
        function: F,
    ) -> Result<Array<<(&'a Self, O) as MapInputs<F>>::Result, <(&'a Self, O) as MapInputs<F>>::Dim>, Error>
    where
        (&'a Self, O): MapInputs<F>,
    {
        (self, other).map_elements(function)
    }

    /// Changes the elements of this array by those of another operand.
    ///
    /// See [`for_each`](crate::for_each()).
    ///
    /// ```
    /// use ndarray::arr2;
    /// use unishape::prelude::*;
    ///
    /// let mut a = arr2(&[[1, 2], [3, 4]]);
    /// a.update_with(&[10, 20], |x, y| *x += y)?;
    /// assert_eq!(a, arr2(&[[11, 22], [13, 24]]));
    /// assert!(a.update_with(&[1, 2, 3], |x, y| *x += y).is_err());
    /// # Ok::<(), unishape::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`for_each`](crate::for_each()).
    ///
    /// # Panics
    ///
    /// As [`for_each`](crate::for_each()).
    #[cfg(feature = "map")]
    fn update_with<'a, O, F>(&'a mut self, other: O, function: F) -> Result<(), Error>
    where
        (&'a mut Self, O): ForEachInputs<F>,
    {
        (self, other).for_each_element(function)
    }
}

impl<A, D: Dimension> BroadcastExt for ArrayRef<A, D> {
    type Elem = A;

    #[inline]
    fn broadcast_to<Sh: IntoDimension>(&self, shape: Sh) -> Result<ArrayView<'_, A, Sh::Dim>, Error> {
        broadcast_to(self, shape)
    }

    fn sum_to<Sh: IntoDimension>(&self, shape: Sh) -> Result<Array<A, Sh::Dim>, Error>
    where
        A: Clone + Zero + Add<Output = A>,
    {
        sum_to(self, shape)
    }
}
