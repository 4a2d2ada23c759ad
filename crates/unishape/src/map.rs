//! A function of the elements of several arrays: `map`, `try_map` and `map_into`.

use crate::alloc::{checked_len, out_of_memory};
use crate::boundary::Strided;
use crate::error::Error;
use crate::fold::Fold;
use crate::operand::{CommonDim, MapOperand};
use crate::reduce_axes::{Outcome, ReduceAxes};
use crate::shapes::common_dim;
use crate::try_error::TryError;
use ndarray::{Array, ArrayBase, ArrayRef, Dimension, RawData};
use unishape_core::Rules;
use unishape_engine::closures::{ElementRef, Fallible, Map};
use unishape_engine::reduce::Reduce;

/// Applies a function to the elements of several arrays, broadcast together.
///
/// Returns the array of its results for each index of the common shape. No input is copied: an element that
/// is broadcast is passed to the function many times. The function may be called in any order, and on several threads
/// where the arrays are large ([`with_num_threads`](crate::with_num_threads)).
///
/// Inputs are a tuple of arrays, slices and numbers ([`MapOperand`]), or one array.
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
///
/// // One array alone; slices and numbers.
/// assert_eq!(map(&b, |b| b / 10.0)?, arr1(&[1.0, 2.0, 3.0]));
/// assert_eq!(map((&b, &[1.0, 2.0, 3.0], 100.0), |b, x, y| b * x + y)?, arr1(&[110.0, 140.0, 190.0]));
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
    inputs.map_elements(function)
}

/// [`map`] with a function that can fail: stops at the first error.
///
/// The function returns a `Result`. After an error no further results are computed, but for those that other threads
/// are about to compute; all results are dropped, and the error is returned. Where several calls fail at the same time
/// on several threads, it is the error of one of them.
///
/// ```
/// use ndarray::arr1;
/// use unishape::{TryError, try_map};
///
/// let texts = arr1(&["12", "7", "x1"]);
/// let numbers = try_map(&texts.slice(ndarray::s![..2]), |text| text.parse::<i32>())?;
/// assert_eq!(numbers, arr1(&[12, 7]));
///
/// let error = try_map(&texts, |text| text.parse::<i32>()).unwrap_err();
/// assert_eq!(error.to_string(), "invalid digit found in string");
/// let error = try_map((&texts, &[1, 2]), |text, &n| text.parse::<i32>().map(|x| x * n)).unwrap_err();
/// assert!(matches!(error, TryError::Broadcast(_)));
/// # Ok::<(), TryError<std::num::ParseIntError>>(())
/// ```
///
/// # Errors
///
/// [`TryError::Function`] with an error of the function, [`TryError::Broadcast`] with those of [`map`].
///
/// # Panics
///
/// As [`map`].
#[inline]
pub fn try_map<I, F, T: Send, E: Send>(inputs: I, function: F) -> Result<Array<T, I::Dim>, TryError<E>>
where
    I: MapInputs<F, Result: Fallible<T, E>>,
{
    inputs.try_map_elements(function)
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
    inputs.map_elements_into(out, function)
}

#[diagnostic::on_unimplemented(
    message = "`{Self}` are no inputs of a function of elements",
    label = "not an array, and not a tuple of one to eight arrays, slices and numbers",
    note = "pass one array (`&a`) or a tuple (`(&a, &b, 2.0)`); the function takes a reference to an element of each"
)]
/// Inputs of [`map`] and [`reduce`](crate::reduce()).
///
/// A tuple of one to eight arrays, or one array.
///
/// Each is a [`MapOperand`] with its own element type and rank. The function takes as many references.
///
/// ```
/// use ndarray::arr1;
/// use unishape::MapInputs;
///
/// let doubled = (&arr1(&[1, 2]),).map_elements(|x: &i32| 2 * x)?;
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
    /// assert_eq!((&arr1(&[1, 2]),).map_elements(|x: &i32| x + 1)?, arr1(&[2, 3]));
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
    fn map_elements(self, function: F) -> Result<Array<Self::Result, Self::Dim>, Error>;

    /// See [`try_map`].
    ///
    /// ```
    /// use ndarray::arr1;
    /// use unishape::{MapInputs, TryError};
    ///
    /// let add = |x: &u8, y: &u8| x.checked_add(*y).ok_or("overflow");
    /// assert_eq!((&arr1(&[1, 2]), 3).try_map_elements(add), Ok(arr1(&[4, 5])));
    /// assert_eq!((&arr1(&[1, 2]), 254).try_map_elements(add), Err(TryError::Function("overflow")));
    /// ```
    ///
    /// # Errors
    ///
    /// As [`try_map`].
    ///
    /// # Panics
    ///
    /// As [`map`].
    fn try_map_elements<T: Send, E: Send>(self, function: F) -> Result<Array<T, Self::Dim>, TryError<E>>
    where
        Self::Result: Fallible<T, E>;

    /// See [`map_into`].
    ///
    /// ```
    /// use ndarray::arr1;
    /// use unishape::MapInputs;
    ///
    /// let mut out = arr1(&[0, 0]);
    /// (&arr1(&[1, 2]),).map_elements_into(&mut out, |x: &i32| x + 1)?;
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
    fn map_elements_into<D: Dimension>(
        self,
        out: &mut ArrayRef<Self::Result, D>,
        function: F,
    ) -> Result<(), Error>;

    /// See [`reduce`](crate::reduce()).
    ///
    /// ```
    /// use ndarray::{Axis, arr2};
    /// use unishape::MapInputs;
    /// use unishape::fold::Sum;
    ///
    /// let squares = (&arr2(&[[1, 2], [3, 4]]),).reduce_elements(Axis(0), |x: &i32| x * x, Sum)?;
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
    fn reduce_elements<X, R>(self, axes: X, function: F, fold: R) -> Result<Array<R::Output, X::Kept>, Error>
    where
        X: ReduceAxes<Self::Dim>,
        R: Fold<Self::Result, Acc: Send> + Sync;
}

/// Implements [`MapInputs`] for a tuple of arrays.
macro_rules! map_inputs {
    ($($T:ident $x:ident)+) => {
        impl<$($T: MapOperand<Elem: Sync>,)+ F, R> MapInputs<F> for ($($T,)+)
        where
            ($($T::Dim,)+): CommonDim,
            F: for<'x> Fn($(<$T::Access as ElementRef<'x>>::Item),+) -> R + Sync,
            R: Send,
        {
            type Result = R;
            type Dim = <($($T::Dim,)+) as CommonDim>::Dim;

            #[inline]
            fn map_elements(self, function: F) -> Result<Array<R, Self::Dim>, Error> {
                let ($($x,)+) = &self;
                let dim = common_dim!(Rules::STANDARD, Self::Dim: $($x.sizes().as_ref()),+);
                let shape = dim.slice();
                checked_len::<R>(shape)?;
                let ($(mut $x,)+) = ($($x.strided(shape)?,)+);
                let results = ($($x.operand(),)+).map(&function).map_err(out_of_memory)?;
                Array::from_shape_vec(dim.clone(), results).map_err(|_| Error::too_large(dim.slice(), None))
            }

            fn try_map_elements<Value: Send, Er: Send>(self, function: F) -> Result<Array<Value, Self::Dim>, TryError<Er>>
            where
                R: Fallible<Value, Er>,
            {
                let ($($x,)+) = &self;
                let dim = common_dim!(Rules::STANDARD, Self::Dim: $($x.sizes().as_ref()),+);
                let shape = dim.slice();
                checked_len::<Value>(shape)?;
                let ($(mut $x,)+) = ($($x.strided(shape)?,)+);
                let results = ($($x.operand(),)+).try_map(&function).map_err(out_of_memory)?;
                Array::from_shape_vec(dim.clone(), results.map_err(TryError::Function)?)
                    .map_err(|_| Error::too_large(dim.slice(), None).into())
            }

            #[inline]
            fn map_elements_into<Out: Dimension>(self, out: &mut ArrayRef<R, Out>, function: F) -> Result<(), Error> {
                let ($($x,)+) = &self;
                let mut out = Strided::assigned(out);
                let ($(mut $x,)+) = ($($x.strided(out.shape())?,)+);
                ($($x.operand(),)+).map_into(out.operand(), &function);
                Ok(())
            }

            #[inline]
            fn reduce_elements<X, Fo>(self, axes: X, function: F, fold: Fo) -> Result<Array<Fo::Output, X::Kept>, Error>
            where
                X: ReduceAxes<Self::Dim>,
                Fo: Fold<R, Acc: Send> + Sync,
            {
                let ($($x,)+) = &self;
                let dim = common_dim!(Rules::STANDARD, Self::Dim: $($x.sizes().as_ref()),+);
                let outcome = Outcome::<X::Kept>::new(dim.slice(), &axes)?;
                outcome.array(&fold, |is_reduced, fold| {
                    let ($(mut $x,)+) = ($($x.strided(dim.slice())?,)+);
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

/// Implements [`MapInputs`] for one array alone, as for a tuple of it.
///
/// Not for all [`MapOperand`]s at once: the compiler would then no longer say which input of a tuple is at fault.
macro_rules! one_input {
    ($([$($parameter:tt)*] $Array:ty),+ $(,)?) => {
        $(impl<$($parameter)*, F, R> MapInputs<F> for $Array
        where
            Self: MapOperand<Elem: Sync>,
            F: for<'x> Fn(<<Self as MapOperand>::Access as ElementRef<'x>>::Item) -> R + Sync,
            R: Send,
        {
            type Result = R;
            type Dim = <Self as MapOperand>::Dim;

            #[inline]
            fn map_elements(self, function: F) -> Result<Array<R, Self::Dim>, Error> {
                (self,).map_elements(function)
            }

            #[inline]
            fn try_map_elements<T: Send, E: Send>(self, function: F) -> Result<Array<T, Self::Dim>, TryError<E>>
            where
                R: Fallible<T, E>,
            {
                (self,).try_map_elements(function)
            }

            #[inline]
            fn map_elements_into<Out: Dimension>(
                self,
                out: &mut ArrayRef<R, Out>,
                function: F,
            ) -> Result<(), Error> {
                (self,).map_elements_into(out, function)
            }

            #[inline]
            fn reduce_elements<X, Fo>(self, axes: X, function: F, fold: Fo) -> Result<Array<Fo::Output, X::Kept>, Error>
            where
                X: ReduceAxes<Self::Dim>,
                Fo: Fold<R, Acc: Send> + Sync,
            {
                (self,).reduce_elements(axes, function, fold)
            }
        })+
    };
}
one_input!(
    [S: RawData, D] ArrayBase<S, D>,
    [S: RawData, D] &ArrayBase<S, D>,
    [A, D] &ArrayRef<A, D>,
    [A] &[A],
    [A] &Vec<A>,
    [A] Vec<A>,
    [A, const N: usize] &[A; N],
    [A, const N: usize] [A; N],
);
