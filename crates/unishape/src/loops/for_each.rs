//! A function of the elements of several arrays, some of which it may change.

use super::each::Operands;
use super::map::{Strides, add_strides, plan_of};
use super::walk::{Base, Kind, Lends, Read, Write};
use crate::error::Error;
use crate::operand::CommonDim;
use crate::shapes::common_dim;
use ndarray::{ArrayBase, ArrayRef, ArrayView, ArrayViewMut, Data, DataMut, Dimension};
use unishape_core::Rules;

/// Calls a function for each index of the arrays' common shape with one element of each: with `&mut T` for
/// an array given by `&mut`, with `&T` for the others.
///
/// Arrays that are read are stretched, as in [`map`](crate::map()); those that can be written to are not,
/// and have to have the common shape. The function may be called in any order, and on several threads where
/// that pays.
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
/// // Any types, and as many to write to as you like.
/// let (mut names, mut lengths) = (arr1(&["ha".to_string(), "o".to_string()]), arr1(&[0, 0]));
/// for_each((&mut names, &mut lengths), |name, length| {
///     name.push('!');
///     *length = name.len();
/// })?;
/// assert_eq!((names, lengths), (arr1(&["ha!".to_string(), "o!".to_string()]), arr1(&[3, 2])));
///
/// // One element cannot be written to for many.
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
/// that can be written to does not have the common shape. Nothing has been changed then.
#[inline]
pub fn for_each<I: ForEach<F>, F>(parts: I, function: F) -> Result<(), Error> {
    parts.for_each(function)
}

/// What [`for_each`] takes: a tuple of one to eight arrays, each with its own element type and rank, and a
/// function of as many references.
///
/// ```
/// use ndarray::arr1;
/// use unishape::ForEach;
///
/// let mut x = arr1(&[1, 2]);
/// (&mut x,).for_each(|x: &mut i32| *x *= 2)?;
/// assert_eq!(x, arr1(&[2, 4]));
/// # Ok::<(), unishape::Error>(())
/// ```
pub trait ForEach<F> {
    /// See [`for_each`].
    ///
    /// ```
    /// use ndarray::{arr0, arr1};
    /// use unishape::ForEach;
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
    fn for_each(self, function: F) -> Result<(), Error>;
}

/// An array that [`for_each`] takes: one that is read, as an [`Operand`](crate::Operand), or one that can be
/// written to, which is `&mut` to any of ndarray's arrays, or an `ArrayViewMut`.
///
/// ```
/// use ndarray::{arr1, arr2};
/// use unishape::for_each;
///
/// let mut a = arr2(&[[1, 2], [3, 4]]);
/// for_each((a.row_mut(1), &arr1(&[7])), |x, y| *x += y)?; // a view to write to, an array to read
/// let (mut upper, lower) = a.view_mut().split_at(ndarray::Axis(0), 1);
/// for_each((&mut upper, lower.view()), |x, y| *x *= y)?; // a reference to such a view, a view to read
/// assert_eq!(a, arr2(&[[10, 22], [10, 11]]));
/// # Ok::<(), unishape::Error>(())
/// ```
pub trait Part: sealed::Sealed {
    /// The type of its elements.
    type Elem;
    /// Its rank, static (`Ix2`) or dynamic (`IxDyn`).
    type Dim: Dimension;
    /// What the function is given of an element: see [`Lends`].
    type Kind: Kind<Elem = Self::Elem>;

    /// The array itself.
    ///
    /// ```
    /// use unishape::Part;
    ///
    /// assert_eq!((&mut ndarray::arr1(&[1, 2])).as_part().shape(), [2]);
    /// ```
    fn as_part(&self) -> &ArrayRef<Self::Elem, Self::Dim>;

    /// Where its element at index 0 is. An array that shares its elements gets its own here where it can be
    /// written to, and may have other strides from then on.
    #[doc(hidden)]
    fn base(&mut self) -> *mut Self::Elem;
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

macro_rules! part {
    ([$($parameter:tt)+] $Part:ty, $Kind:ident<$Elem:ty>, $self:ident => $base:expr) => {
        impl<$($parameter)+, D: Dimension> Part for $Part {
            type Elem = $Elem;
            type Dim = D;
            type Kind = $Kind<$Elem>;

            #[inline]
            fn as_part(&self) -> &ArrayRef<$Elem, D> {
                self
            }

            #[inline]
            fn base(&mut $self) -> *mut $Elem {
                $base
            }
        }
    };
}
part!([S: Data] &ArrayBase<S, D>, Read<S::Elem>, self => self.as_ptr().cast_mut());
part!([A] &ArrayRef<A, D>, Read<A>, self => self.as_ptr().cast_mut());
part!([A] ArrayView<'_, A, D>, Read<A>, self => self.as_ptr().cast_mut());
part!([S: DataMut] &mut ArrayBase<S, D>, Write<S::Elem>, self => self.as_mut_ptr());
part!([A] &mut ArrayRef<A, D>, Write<A>, self => self.as_mut_ptr());
part!([A] ArrayViewMut<'_, A, D>, Write<A>, self => self.as_mut_ptr());

/// An array that can be written to has the common shape.
#[inline]
fn check<P: Part>(part: &P, input: usize, common: &[usize]) -> Result<(), Error> {
    if P::Kind::WRITES && part.as_part().shape() != common {
        return Err(Error::cannot_write(input, part.as_part().shape(), common));
    }
    Ok(())
}

/// A tuple of this length.
macro_rules! for_each {
    ($operands:literal: $($T:ident $x:ident $n:tt)+) => {
        impl<$($T: Part,)+ F> ForEach<F> for ($($T,)+)
        where
            ($($T::Dim,)+): CommonDim,
            F: for<'x> Fn($(<$T::Kind as Lends<'x>>::Item),+) + Sync,
            $(Base<$T::Kind>: Sync,)+
        {
            #[inline]
            fn for_each(self, function: F) -> Result<(), Error> {
                let ($(mut $x,)+) = self;
                let dim = common_dim!(
                    Rules::STANDARD, <($($T::Dim,)+) as CommonDim>::Dim: $($x.as_part().shape()),+
                );
                let shape = dim.slice();
                $(check(&$x, $n, shape)?;)+
                // Before the strides, which may become others.
                let operands = ($(Base::<$T::Kind>($x.base()),)+);
                let mut strides = Strides::new();
                $(add_strides(&mut strides, $x.as_part(), shape)?;)+
                let plan = plan_of(shape, $operands, &strides);
                // Safety: the plan walks these arrays, stretched where they are read. Those that are written
                // are not stretched, and nobody else has to do with them, as `&mut` says.
                unsafe { operands.run_all(&function, plan) };
                Ok(())
            }
        }
    };
}
for_each!(1: A a 0);
for_each!(2: A a 0 B b 1);
for_each!(3: A a 0 B b 1 C c 2);
for_each!(4: A a 0 B b 1 C c 2 D d 3);
for_each!(5: A a 0 B b 1 C c 2 D d 3 E e 4);
for_each!(6: A a 0 B b 1 C c 2 D d 3 E e 4 G g 5);
for_each!(7: A a 0 B b 1 C c 2 D d 3 E e 4 G g 5 H h 6);
for_each!(8: A a 0 B b 1 C c 2 D d 3 E e 4 G g 5 H h 6 I i 7);
