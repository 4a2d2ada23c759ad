//! `for_each`: a function of the elements of several arrays that changes some of them in place.

use crate::boundary::Strided;
use crate::error::Error;
use crate::operand::CommonDim;
use crate::shapes::common_dim;
use ndarray::{ArrayBase, ArrayRef, ArrayView, ArrayViewMut, Data, DataMut, Dimension};
use unishape_core::Rules;
use unishape_engine::closures::{Access, ElementRef, ForEach, Operand, Read, Write};

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
    arrays.for_each(function)
}

/// Inputs of [`for_each`]: a tuple of one to eight arrays.
///
/// Each has its own element type and rank. The function takes as many references.
///
/// ```
/// use ndarray::arr1;
/// use unishape::ForEachInputs;
///
/// let mut x = arr1(&[1, 2]);
/// (&mut x,).for_each(|x: &mut i32| *x *= 2)?;
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
    /// (&mut x, &arr0(10)).for_each(|x: &mut i32, y: &i32| *x += y)?;
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
    fn for_each(self, function: F) -> Result<(), Error>;
}

/// An array of [`for_each`], which is read or written.
///
/// An [`Operand`](crate::Operand) is read. `&mut` to any of ndarray's arrays, or an `ArrayViewMut`, is written.
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

    /// The array itself.
    ///
    /// ```
    /// use unishape::ForEachOperand;
    ///
    /// assert_eq!((&mut ndarray::arr1(&[1, 2])).as_array().shape(), [2]);
    /// ```
    fn as_array(&self) -> &ArrayRef<Self::Elem, Self::Dim>;

    /// The operand of the engine: stretched if it is read, and of the common shape if it is written.
    #[doc(hidden)]
    fn strided<'s>(
        &'s mut self,
        input: usize,
        common: &'s [usize],
    ) -> Result<Strided<'s, Self::Access>, Error>;
}

mod sealed {
    use ndarray::{ArrayBase, ArrayRef, RawData, ViewRepr};

    pub trait Sealed {}
    impl<S: RawData, D> Sealed for &ArrayBase<S, D> {}
    impl<A, D> Sealed for &ArrayRef<A, D> {}
    impl<A, D> Sealed for ArrayBase<ViewRepr<&A>, D> {}
    impl<S: RawData, D> Sealed for &mut ArrayBase<S, D> {}
    impl<A, D> Sealed for &mut ArrayRef<A, D> {}
    impl<A, D> Sealed for ArrayBase<ViewRepr<&mut A>, D> {}
}

macro_rules! read_operand {
    ([$($parameter:tt)+] $Array:ty, $Elem:ty) => {
        impl<$($parameter)+, D: Dimension> ForEachOperand for $Array {
            type Elem = $Elem;
            type Dim = D;
            type Access = Read<$Elem>;

            #[inline]
            fn as_array(&self) -> &ArrayRef<$Elem, D> {
                self
            }

            #[inline]
            fn strided<'s>(&'s mut self, _: usize, common: &'s [usize]) -> Result<Strided<'s, Read<$Elem>>, Error> {
                Strided::stretched(self, common)
            }
        }
    };
}
read_operand!([S: Data] &ArrayBase<S, D>, S::Elem);
read_operand!([A] &ArrayRef<A, D>, A);
read_operand!([A] ArrayView<'_, A, D>, A);

macro_rules! written_operand {
    ([$($parameter:tt)+] $Array:ty, $Elem:ty) => {
        impl<$($parameter)+, D: Dimension> ForEachOperand for $Array {
            type Elem = $Elem;
            type Dim = D;
            type Access = Write<$Elem>;

            #[inline]
            fn as_array(&self) -> &ArrayRef<$Elem, D> {
                self
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

/// Implements [`ForEachInputs`] for a tuple of arrays.
macro_rules! for_each_inputs {
    ($($T:ident $x:ident $n:tt)+) => {
        impl<$($T: ForEachOperand,)+ F> ForEachInputs<F> for ($($T,)+)
        where
            ($($T::Dim,)+): CommonDim,
            F: for<'x> Fn($(<$T::Access as ElementRef<'x>>::Item),+) + Sync,
            $(for<'o> Operand<'o, $T::Access>: Sync,)+
        {
            #[inline]
            fn for_each(self, function: F) -> Result<(), Error> {
                let ($(mut $x,)+) = self;
                let dim = common_dim!(
                    Rules::STANDARD, <($($T::Dim,)+) as CommonDim>::Dim: $($x.as_array().shape()),+
                );
                let shape = dim.slice();
                let ($(mut $x,)+) = ($($x.strided($n, shape)?,)+);
                ($($x.operand(),)+).for_each(&function);
                Ok(())
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
