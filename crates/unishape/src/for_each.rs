//! `for_each`, `try_for_each`: a function of the elements of several arrays that changes some of them in place.

use crate::boundary::Strided;
use crate::error::Error;
use crate::operand::{CommonDim, MapOperand, ScalarOperand};
use crate::shapes::common_dim;
use crate::try_error::TryError;
use ndarray::{
    Array, ArrayBase, ArrayRef, ArrayView, ArrayViewMut, CowArray, Data, DataMut, Dimension, Ix1,
    OwnedArcRepr, RawData,
};
use unishape_core::Rules;
use unishape_engine::closures::{Access, ElementRef, ForEach, Operand, Write};

/// Calls a function with the elements of several arrays, broadcast together.
///
/// For each index of the common shape, it gets `&mut T` of arrays passed by `&mut`, and `&T` of the others.
/// Arrays that are read are stretched, as in [`map`](crate::map()). Arrays that are written must have the
/// common shape. The function may be called in any order, and on several threads where the arrays are large.
///
/// ```
/// use ndarray::{arr1, arr2};
/// use unishape::for_each;
///
/// let mut a = arr2(&[[1.0, 2.0], [3.0, 4.0]]);
/// let (b, c) = (arr2(&[[10.0], [20.0]]), arr1(&[0.5, 0.25]));
/// for_each((&mut a, &b, &c), |a, b, c| *a += b * c)?;
/// assert_eq!(a, arr2(&[[6.0, 4.5], [13.0, 9.0]]));
///
/// // Any types, and any number of arrays that are written.
/// let (mut names, mut lengths) = (arr1(&["ha".to_string(), "o".to_string()]), arr1(&[0, 0]));
/// for_each((&mut names, &mut lengths), |name, length| {
///     name.push('!');
///     *length = name.len();
/// })?;
/// assert_eq!((names, lengths), (arr1(&["ha!".to_string(), "o!".to_string()]), arr1(&[3, 2])));
///
/// // An array that is written is not stretched.
/// let mut row = arr1(&[0.0, 0.0]);
/// let error = for_each((&mut row, &a), |row, a| *row += a).unwrap_err();
/// assert_eq!(error.to_string(), "\
/// input 0 is written to and cannot be broadcast to the common shape: its shape is 2, not 2x2
///
///   input 0      2
///   common   2 x 2
///            ^
/// Only inputs that are read are broadcast. Give input 0 the common shape; to reduce, use sum_to.");
/// # Ok::<(), unishape::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Incompatible`] (E1) where the shapes are incompatible, [`Error::CannotWrite`] where an array
/// that is written does not have the common shape. Nothing has been changed then.
///
/// # Panics
///
/// Where the function panics. Some elements have been changed then; other threads stop soon.
#[inline]
pub fn for_each<I: ForEachInputs<F>, F>(arrays: I, function: F) -> Result<(), Error> {
    arrays.for_each_element(function)
}

/// [`for_each`] with a function that can fail: stops at the first error.
///
/// The function returns `Result<(), E>`. After an error it is not called again, but for calls that other threads are
/// about to make. What has been changed stays changed.
///
/// ```
/// use ndarray::arr1;
/// use unishape::{TryError, try_for_each};
///
/// let mut counts = arr1(&[250u8, 251, 252]);
/// let mut add = |more: &[u8]| {
///     try_for_each((&mut counts, more), |count, more| {
///         *count = count.checked_add(*more).ok_or("a count is larger than 255")?;
///         Ok(())
///     })
/// };
/// assert_eq!(add(&[5, 4, 3]), Ok(()));
/// assert_eq!(add(&[0, 0, 1]), Err(TryError::Function("a count is larger than 255")));
/// ```
///
/// # Errors
///
/// [`TryError::Function`] with an error of the function, [`TryError::Broadcast`] with those of [`for_each`].
///
/// # Panics
///
/// As [`for_each`].
#[inline]
pub fn try_for_each<I, F>(arrays: I, function: F) -> Result<(), TryError<I::Error>>
where
    I: TryForEachInputs<F>,
{
    arrays.try_for_each_element(function)
}

#[diagnostic::on_unimplemented(
    message = "`{Self}` are no inputs of `for_each`",
    label = "not an array, and not a tuple of one to eight arrays, slices and numbers",
    note = "pass `&mut a` for an array that is written and `&b` for one that is read: `(&mut a, &b)`"
)]
/// Inputs of [`for_each`]: a tuple of one to eight arrays, or one array.
///
/// Each is a [`ForEachOperand`] with its own element type and rank. The function takes as many references.
///
/// ```
/// use ndarray::arr1;
/// use unishape::ForEachInputs;
///
/// let mut x = arr1(&[1, 2]);
/// (&mut x,).for_each_element(|x: &mut i32| *x *= 2)?;
/// assert_eq!(x, arr1(&[2, 4]));
/// # Ok::<(), unishape::Error>(())
/// ```
pub trait ForEachInputs<F> {
    /// See [`for_each`].
    ///
    /// ```
    /// use ndarray::{arr0, arr1};
    /// use unishape::ForEachInputs;
    ///
    /// let mut x = arr1(&[1, 2]);
    /// (&mut x, &arr0(10)).for_each_element(|x: &mut i32, y: &i32| *x += y)?;
    /// assert_eq!(x, arr1(&[11, 12]));
    /// # Ok::<(), unishape::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`for_each`].
    ///
    /// # Panics
    ///
    /// As [`for_each`].
    fn for_each_element(self, function: F) -> Result<(), Error>;
}

#[diagnostic::on_unimplemented(
    message = "`{Self}` are no inputs of `try_for_each`",
    label = "not an array, and not a tuple of one to eight arrays, slices and numbers",
    note = "pass `&mut a` for an array that is written and `&b` for one that is read: `(&mut a, &b)`"
)]
/// Inputs of [`try_for_each`]: those of [`for_each`].
///
/// ```
/// use ndarray::arr1;
/// use unishape::{TryError, TryForEachInputs};
///
/// let fail = |x: &i32| if *x > 1 { Err(*x) } else { Ok(()) };
/// assert_eq!((&arr1(&[1, 2]),).try_for_each_element(fail), Err(TryError::Function(2)));
/// ```
pub trait TryForEachInputs<F> {
    /// The error of the function.
    type Error;

    /// See [`try_for_each`].
    ///
    /// ```
    /// use unishape::TryForEachInputs;
    ///
    /// let mut x = [1, 2];
    /// (&mut x, 10).try_for_each_element(|x: &mut i32, y: &i32| {
    ///     *x += y;
    ///     Ok::<(), std::fmt::Error>(())
    /// })?;
    /// assert_eq!(x, [11, 12]);
    /// # Ok::<(), unishape::TryError<std::fmt::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`try_for_each`].
    ///
    /// # Panics
    ///
    /// As [`for_each`].
    fn try_for_each_element(self, function: F) -> Result<(), TryError<Self::Error>>;
}

#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an array, a slice or a number that `for_each` can read or write",
    label = "cannot be read or written element by element",
    note = "pass `&mut a` for an array that is written, `&a` for one that is read",
    note = "a number, `bool`, `char` or string is passed as it is; another single value as `ndarray::arr0(value)`"
)]
/// An array of [`for_each`], which is read or written.
///
/// `&mut` to any of ndarray's arrays, a slice, a `Vec` or a fixed array, or an `ArrayViewMut`, is written. Any other
/// [`MapOperand`] is read.
///
/// ```
/// use ndarray::{arr1, arr2};
/// use unishape::for_each;
///
/// let mut a = arr2(&[[1, 2], [3, 4]]);
/// for_each((a.row_mut(1), &arr1(&[7])), |x, y| *x += y)?; // a view that is written, an array that is read
/// let (mut upper, lower) = a.view_mut().split_at(ndarray::Axis(0), 1);
/// for_each((&mut upper, lower.view()), |x, y| *x *= y)?; // a reference to such a view, a view that is read
/// assert_eq!(a, arr2(&[[10, 22], [10, 11]]));
/// # Ok::<(), unishape::Error>(())
/// ```
pub trait ForEachOperand: sealed::Sealed {
    /// Element type.
    type Elem;
    /// Rank type, static (`Ix2`) or dynamic (`IxDyn`).
    type Dim: Dimension;
    /// What the function gets of an element: see [`ElementRef`].
    type Access: Access<Elem = Self::Elem>;

    /// The shape.
    #[doc(hidden)]
    fn sizes(&self) -> impl AsRef<[usize]>;

    /// The operand of the engine: stretched if it is read, and of the common shape if it is written.
    #[doc(hidden)]
    fn strided<'s>(
        &'s mut self,
        input: usize,
        common: &'s [usize],
    ) -> Result<Strided<'s, Self::Access>, Error>;
}

mod sealed {
    pub trait Sealed {}
}

/// Operands that are read, as in `map`.
macro_rules! read_operand {
    ($([$($parameter:tt)*] $Array:ty),+ $(,)?) => {
        $(impl<$($parameter)*> sealed::Sealed for $Array {}

        impl<$($parameter)*> ForEachOperand for $Array {
            type Elem = <Self as MapOperand>::Elem;
            type Dim = <Self as MapOperand>::Dim;
            type Access = <Self as MapOperand>::Access;

            #[inline]
            fn sizes(&self) -> impl AsRef<[usize]> {
                MapOperand::sizes(self)
            }

            #[inline]
            fn strided<'s>(&'s mut self, _: usize, common: &'s [usize]) -> Result<Strided<'s, Self::Access>, Error> {
                MapOperand::strided(self, common)
            }
        })+
    };
}
read_operand!(
    [S: Data, D: Dimension] &ArrayBase<S, D>,
    [A, D: Dimension] &ArrayRef<A, D>,
    [A, D: Dimension] ArrayView<'_, A, D>,
    [A, D: Dimension] Array<A, D>,
    [A, D: Dimension] ArrayBase<OwnedArcRepr<A>, D>,
    [A, D: Dimension] CowArray<'_, A, D>,
    [A] &[A],
    [A] &Vec<A>,
    [A, const N: usize] &[A; N],
    [A] Vec<A>,
    [A, const N: usize] [A; N],
    [T: ScalarOperand] T,
);

macro_rules! read_references {
    ($($Scalar:ty),+) => {
        read_operand!($([] &$Scalar),+);
    };
}
read_references!(
    bool, char, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64, String
);
#[cfg(feature = "expr")]
read_references!(half::f16, half::bf16, num_complex::Complex<f32>, num_complex::Complex<f64>);

macro_rules! written_operand {
    ([$($parameter:tt)+] $Array:ty, $Elem:ty) => {
        impl<$($parameter)+, D: Dimension> sealed::Sealed for $Array {}

        impl<$($parameter)+, D: Dimension> ForEachOperand for $Array {
            type Elem = $Elem;
            type Dim = D;
            type Access = Write<$Elem>;

            #[inline]
            fn sizes(&self) -> impl AsRef<[usize]> {
                self.shape()
            }

            #[inline]
            fn strided<'s>(&'s mut self, input: usize, common: &'s [usize]) -> Result<Strided<'s, Write<$Elem>>, Error> {
                if self.shape() != common {
                    return Err(Error::cannot_write(input, self.shape(), common));
                }
                Ok(Strided::writable(self))
            }
        }
    };
}
written_operand!([S: DataMut] &mut ArrayBase<S, D>, S::Elem);
written_operand!([A] &mut ArrayRef<A, D>, A);
written_operand!([A] ArrayViewMut<'_, A, D>, A);

/// Slices that are written: arrays of rank 1.
macro_rules! written_slice {
    ([$($parameter:tt)+] $Slice:ty) => {
        impl<$($parameter)+> sealed::Sealed for $Slice {}

        impl<$($parameter)+> ForEachOperand for $Slice {
            type Elem = A;
            type Dim = Ix1;
            type Access = Write<A>;

            #[inline]
            fn sizes(&self) -> impl AsRef<[usize]> {
                [self.len()]
            }

            #[inline]
            fn strided<'s>(&'s mut self, input: usize, common: &'s [usize]) -> Result<Strided<'s, Write<A>>, Error> {
                let len = self.len();
                Strided::writable_slice(&mut self[..], common).ok_or_else(|| Error::cannot_write(input, &[len], common))
            }
        }
    };
}
written_slice!([A] &mut [A]);
written_slice!([A] &mut Vec<A>);
written_slice!([A, const N: usize] &mut [A; N]);

/// Implements [`ForEachInputs`] and [`TryForEachInputs`] for a tuple of arrays.
macro_rules! for_each_inputs {
    ($($T:ident $x:ident $n:tt)+) => {
        impl<$($T: ForEachOperand,)+ F> ForEachInputs<F> for ($($T,)+)
        where
            ($($T::Dim,)+): CommonDim,
            F: for<'x> Fn($(<$T::Access as ElementRef<'x>>::Item),+) + Sync,
            $(for<'o> Operand<'o, $T::Access>: Sync,)+
        {
            #[inline]
            fn for_each_element(self, function: F) -> Result<(), Error> {
                let ($(mut $x,)+) = self;
                let dim = common_dim!(
                    Rules::STANDARD, <($($T::Dim,)+) as CommonDim>::Dim: $($x.sizes().as_ref()),+
                );
                let shape = dim.slice();
                let ($(mut $x,)+) = ($($x.strided($n, shape)?,)+);
                ($($x.operand(),)+).for_each(&function);
                Ok(())
            }
        }

        impl<$($T: ForEachOperand,)+ F, Er: Send> TryForEachInputs<F> for ($($T,)+)
        where
            ($($T::Dim,)+): CommonDim,
            F: for<'x> Fn($(<$T::Access as ElementRef<'x>>::Item),+) -> Result<(), Er> + Sync,
            $(for<'o> Operand<'o, $T::Access>: Sync,)+
        {
            type Error = Er;

            fn try_for_each_element(self, function: F) -> Result<(), TryError<Er>> {
                let ($(mut $x,)+) = self;
                let dim = common_dim!(
                    Rules::STANDARD, <($($T::Dim,)+) as CommonDim>::Dim: $($x.sizes().as_ref()),+
                );
                let shape = dim.slice();
                let ($(mut $x,)+) = ($($x.strided($n, shape)?,)+);
                ($($x.operand(),)+).try_for_each(&function).map_err(TryError::Function)
            }
        }
    };
}
for_each_inputs!(A a 0);
for_each_inputs!(A a 0 B b 1);
for_each_inputs!(A a 0 B b 1 C c 2);
for_each_inputs!(A a 0 B b 1 C c 2 D d 3);
for_each_inputs!(A a 0 B b 1 C c 2 D d 3 E e 4);
for_each_inputs!(A a 0 B b 1 C c 2 D d 3 E e 4 G g 5);
for_each_inputs!(A a 0 B b 1 C c 2 D d 3 E e 4 G g 5 H h 6);
for_each_inputs!(A a 0 B b 1 C c 2 D d 3 E e 4 G g 5 H h 6 I i 7);

/// Implements [`ForEachInputs`] and [`TryForEachInputs`] for one array alone, as for a tuple of it.
macro_rules! one_input {
    ($([$($parameter:tt)*] $Array:ty),+ $(,)?) => {
        $(impl<$($parameter)*, F> ForEachInputs<F> for $Array
        where
            (Self,): ForEachInputs<F>,
        {
            #[inline]
            fn for_each_element(self, function: F) -> Result<(), Error> {
                (self,).for_each_element(function)
            }
        }

        impl<$($parameter)*, F> TryForEachInputs<F> for $Array
        where
            (Self,): TryForEachInputs<F>,
        {
            type Error = <(Self,) as TryForEachInputs<F>>::Error;

            #[inline]
            fn try_for_each_element(self, function: F) -> Result<(), TryError<Self::Error>> {
                (self,).try_for_each_element(function)
            }
        })+
    };
}
one_input!(
    [S: RawData, D] ArrayBase<S, D>,
    [S: RawData, D] &ArrayBase<S, D>,
    [S: RawData, D] &mut ArrayBase<S, D>,
    [A, D] &ArrayRef<A, D>,
    [A, D] &mut ArrayRef<A, D>,
    [A] &[A],
    [A] &mut [A],
    [A] &Vec<A>,
    [A] &mut Vec<A>,
    [A, const N: usize] &[A; N],
    [A, const N: usize] &mut [A; N],
);
