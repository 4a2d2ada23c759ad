//! A function of the elements of several arrays: `map` and `map_into`.

use crate::alloc::{checked_len, out_of_memory};
use crate::boundary::Strided;
use crate::error::Error;
use crate::fold::Fold;
use crate::operand::{CommonDim, Operand};
use crate::reduce_axes::{Outcome, ReduceAxes};
use crate::shapes::common_dim;
use ndarray::{Array, ArrayRef, Dimension};
use unishape_core::Rules;
use unishape_engine::closures::Map;
use unishape_engine::reduce::Reduce;

/// Applies a function to the elements of several arrays, broadcast together.
///
/// Returns the array of its results for each index of the common shape. No input is copied: an element that
/// is broadcast is passed to the function many times. The
/// function may be called in any order, and on several threads where the arrays are large.
///
/// ```
/// use ndarray::{arr1, arr2};
/// use unishape::map;
///
/// let (a, b, c) = (arr2(&[[1.0], [2.0]]), arr1(&[10.0, 20.0, 30.0]), arr1(&[0.5]));
/// let result = map((&a, &b, &c), |a, b, c| a * b + c)?;
/// assert_eq!(result, arr2(&[[10.5, 20.5, 30.5], [20.5, 40.5, 60.5]]));
///
/// // Any types, each array its own.
/// let (names, times) = (arr1(&["ha".to_string(), "ho".to_string()]), arr1(&[3usize]));
/// assert_eq!(map((&names, &times), |name, &n| name.repeat(n))?, arr1(&["hahaha", "hohoho"]));
/// # Ok::<(), unishape::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Incompatible`] (E1) where the shapes are incompatible, [`Error::TooLarge`] and
/// [`Error::OutOfMemory`] where the result does not fit.
///
/// # Panics
///
/// Where the function panics. The results so far are dropped, and other threads stop soon.
#[inline]
pub fn map<I: MapInputs<F>, F>(inputs: I, function: F) -> Result<Array<I::Result, I::Dim>, Error> {
    inputs.map(function)
}

/// [`map`] into a preallocated array, to whose shape the inputs are stretched.
///
/// ```
/// use ndarray::{Array2, arr1, arr2};
/// use unishape::map_into;
///
/// let (a, b) = (arr2(&[[1], [2]]), arr1(&[10, 20, 30]));
/// let mut sums = Array2::zeros((2, 3));
/// map_into(&mut sums, (&a, &b), |a, b| a + b)?;
/// assert_eq!(sums, arr2(&[[11, 21, 31], [12, 22, 32]]));
///
/// let mut small = Array2::zeros((2, 1));
/// let error = map_into(&mut small, (&a, &b), |a, b| a + b).unwrap_err();
/// assert!(error.to_string().starts_with("cannot broadcast 3 to 2x1"));
/// # Ok::<(), unishape::Error>(())
/// ```
///
/// No input can share memory with the output: the compiler checks it, because the output is `&mut`. To
/// change an array in place, use [`for_each`](crate::for_each()).
///
/// # Errors
///
/// [`Error::CannotStretch`] where an input cannot be stretched to the output's shape. Nothing is written then.
///
/// # Panics
///
/// Where the function panics. Some of the output has been assigned then.
#[inline]
pub fn map_into<I: MapInputs<F>, F, D: Dimension>(
    out: &mut ArrayRef<I::Result, D>,
    inputs: I,
    function: F,
) -> Result<(), Error> {
    inputs.map_into(out, function)
}

/// Inputs of [`map`] and [`reduce`](crate::reduce()): a tuple of one to eight arrays.
///
/// Each has its own element type and rank. The function takes as many references.
///
/// ```
/// use ndarray::arr1;
/// use unishape::MapInputs;
///
/// let doubled = (&arr1(&[1, 2]),).map(|x: &i32| 2 * x)?;
/// assert_eq!(doubled, arr1(&[2, 4]));
/// # Ok::<(), unishape::Error>(())
/// ```
pub trait MapInputs<F> {
    /// What the function returns.
    type Result;
    /// The largest rank among the arrays.
    type Dim: Dimension;

    /// See [`map`].
    ///
    /// ```
    /// use ndarray::arr1;
    /// use unishape::MapInputs;
    ///
    /// assert_eq!((&arr1(&[1, 2]),).map(|x: &i32| x + 1)?, arr1(&[2, 3]));
    /// # Ok::<(), unishape::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`map`].
    ///
    /// # Panics
    ///
    /// As [`map`].
    fn map(self, function: F) -> Result<Array<Self::Result, Self::Dim>, Error>;

    /// See [`map_into`].
    ///
    /// ```
    /// use ndarray::arr1;
    /// use unishape::MapInputs;
    ///
    /// let mut out = arr1(&[0, 0]);
    /// (&arr1(&[1, 2]),).map_into(&mut out, |x: &i32| x + 1)?;
    /// assert_eq!(out, arr1(&[2, 3]));
    /// # Ok::<(), unishape::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`map_into`].
    ///
    /// # Panics
    ///
    /// As [`map_into`].
    fn map_into<D: Dimension>(self, out: &mut ArrayRef<Self::Result, D>, function: F) -> Result<(), Error>;

    /// See [`reduce`](crate::reduce()).
    ///
    /// ```
    /// use ndarray::{Axis, arr2};
    /// use unishape::MapInputs;
    /// use unishape::fold::Sum;
    ///
    /// let squares = (&arr2(&[[1, 2], [3, 4]]),).reduce(Axis(0), |x: &i32| x * x, Sum)?;
    /// assert_eq!(squares, ndarray::arr1(&[10, 20]));
    /// # Ok::<(), unishape::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`reduce`](crate::reduce()).
    ///
    /// # Panics
    ///
    /// As [`reduce`](crate::reduce()).
    fn reduce<X, R>(self, axes: X, function: F, fold: R) -> Result<Array<R::Output, X::Kept>, Error>
    where
        X: ReduceAxes<Self::Dim>,
        R: Fold<Self::Result, Acc: Send> + Sync;
}

/// Implements [`MapInputs`] for a tuple of arrays.
macro_rules! map_inputs {
    ($($T:ident $x:ident)+) => {
        impl<$($T: Operand,)+ F, R> MapInputs<F> for ($($T,)+)
        where
            ($($T::Dim,)+): CommonDim,
            F: Fn($(&$T::Elem),+) -> R + Sync,
            $($T::Elem: Sync,)+
            R: Send,
        {
            type Result = R;
            type Dim = <($($T::Dim,)+) as CommonDim>::Dim;

            #[inline]
            fn map(self, function: F) -> Result<Array<R, Self::Dim>, Error> {
                let ($($x,)+) = &self;
                let dim = common_dim!(Rules::STANDARD, Self::Dim: $($x.as_array().shape()),+);
                let shape = dim.slice();
                checked_len::<R>(shape)?;
                let ($(mut $x,)+) = ($(Strided::stretched($x.as_array(), shape)?,)+);
                let results = ($($x.operand(),)+).map(&function).map_err(out_of_memory)?;
                Array::from_shape_vec(dim.clone(), results).map_err(|_| Error::too_large(dim.slice(), None))
            }

            #[inline]
            fn map_into<Out: Dimension>(self, out: &mut ArrayRef<R, Out>, function: F) -> Result<(), Error> {
                let ($($x,)+) = &self;
                let mut out = Strided::assigned(out);
                let ($(mut $x,)+) = ($(Strided::stretched($x.as_array(), out.shape())?,)+);
                ($($x.operand(),)+).map_into(out.operand(), &function);
                Ok(())
            }

            #[inline]
            fn reduce<X, Fo>(self, axes: X, function: F, fold: Fo) -> Result<Array<Fo::Output, X::Kept>, Error>
            where
                X: ReduceAxes<Self::Dim>,
                Fo: Fold<R, Acc: Send> + Sync,
            {
                let ($($x,)+) = &self;
                let dim = common_dim!(Rules::STANDARD, Self::Dim: $($x.as_array().shape()),+);
                let outcome = Outcome::<X::Kept>::new(dim.slice(), &axes)?;
                outcome.array(&fold, |is_reduced, fold| {
                    let ($(mut $x,)+) = ($(Strided::stretched($x.as_array(), dim.slice())?,)+);
                    ($($x.operand(),)+).reduce(is_reduced, &function, fold).map_err(out_of_memory)
                })
            }
        }
    };
}
map_inputs!(A a);
map_inputs!(A a B b);
map_inputs!(A a B b C c);
map_inputs!(A a B b C c D d);
map_inputs!(A a B b C c D d E e);
map_inputs!(A a B b C c D d E e G g);
map_inputs!(A a B b C c D d E e G g H h);
map_inputs!(A a B b C c D d E e G g H h I i);
