//! What can be read and broadcast: arrays, slices and numbers, and the rank of their common shape.

use crate::boundary::{Strided, TargetShape};
use crate::error::Error;
use ndarray::{
    Array, ArrayBase, ArrayRef, ArrayView, ArrayView1, ArrayViewMut, CowArray, Data, DimMax, Dimension, Ix0,
    Ix1, OwnedArcRepr, aview0,
};
use unishape_core::Rules;
use unishape_engine::closures::{Read, ReadAccess, ReadFor};

#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an array, a slice or a number that can be read",
    label = "cannot be read element by element",
    note = "pass an array by reference (`&a`) or as a view (`a.view()`); a `Vec` or a slice by reference; collect a range or an iterator into a `Vec`",
    note = "a number, `bool`, `char` or string is passed as it is; another single value as `ndarray::arr0(value)`",
    note = "arrays passed by `&mut` are written to: only `for_each` takes them"
)]
/// An array, a slice or a number whose elements are read.
///
/// Each keeps its own element type and rank:
///
/// | operand | rank |
/// |---|---|
/// | a reference to any of ndarray's arrays, or a view | its own |
/// | an array by value: `Array`, `ArcArray`, `CowArray`, `ArrayViewMut` | its own |
/// | `&[T]`, `&Vec<T>`, `&[T; N]`, `Vec<T>`, `[T; N]` | 1 |
/// | a number, `bool`, `char`, `&str` or `String`, or a reference to one | 0 |
///
/// Values of other types are passed as `ndarray::arr0(value)`, or are a [`ScalarOperand`]. Arrays passed by value are dropped after the call.
///
/// ```
/// use ndarray::{arr1, arr2};
/// use unishape::map;
///
/// let (a, offsets) = (arr2(&[[1.0, 2.0], [3.0, 4.0]]), vec![10.0, 20.0]);
/// assert_eq!(map((&a, &offsets, 0.5), |a, b, c| (a + b) * c)?, arr2(&[[5.5, 11.0], [6.5, 12.0]]));
/// assert_eq!(map(([1, 2, 3], 10u8), |&x: &i32, &y| x + i32::from(y))?, arr1(&[11, 12, 13]));
/// # Ok::<(), unishape::Error>(())
/// ```
///
/// A function may return references to elements of what is borrowed, but not of what is passed by value:
///
/// ```
/// let names = ndarray::arr1(&["Ada Lovelace".to_string(), "Alan Turing".to_string()]);
/// let first = unishape::map((&names, ' '), |name, &space| name.split(space).next().unwrap_or(name))?;
/// assert_eq!(first, ndarray::arr1(&["Ada", "Alan"]));
/// # Ok::<(), unishape::Error>(())
/// ```
pub trait MapOperand: sealed::Sealed {
    /// Element type.
    type Elem;
    /// Rank type, static (`Ix2`) or dynamic (`IxDyn`).
    type Dim: Dimension;
    /// What the function gets of an element: see [`ElementRef`](crate::ElementRef).
    type Access: ReadAccess<Elem = Self::Elem>;

    /// The shape.
    #[doc(hidden)]
    fn sizes(&self) -> impl AsRef<[usize]>;

    /// The operand of the engine, stretched to a shape.
    #[doc(hidden)]
    fn strided<'s>(&'s self, common: &'s [usize]) -> Result<Strided<'s, Self::Access>, Error>;
}

#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be broadcast to a view, because it is not borrowed",
    label = "not a reference to an array, a slice or a number, and not a read-only view",
    note = "a view borrows its elements: pass `&a` for an array, a `Vec`, a slice or a number, or `a.view()`",
    note = "`map` and `reduce` also take arrays and numbers by value"
)]
/// An array or a slice that can be broadcast without copying.
///
/// A reference to any of ndarray's arrays, to a slice, a `Vec`, a fixed array or a number, or a read-only view. Each
/// keeps its own element type, rank and lifetime. These are the [`MapOperand`]s that are borrowed.
///
/// ```
/// use ndarray::{arr1, arr2};
/// use unishape::broadcast;
///
/// let owned = arr2(&[[1], [2]]);
/// let other = arr1(&[1.5, 2.5, 3.5]);
/// let view = other.view();
/// let (a, b, c) = broadcast((&owned, &view, view))?; // an array, a reference to a view, a view
/// assert_eq!((a.dim(), b.dim(), c.dim()), ((2, 3), (2, 3), (2, 3)));
///
/// let names = vec!["x", "y", "z"];
/// let (a, b, c) = broadcast((&owned, &names, &true))?; // an array, a `Vec`, a single value
/// assert_eq!((a[(1, 2)], b[(1, 2)], c[(1, 2)]), (2, "z", true));
/// # Ok::<(), unishape::Error>(())
/// ```
pub trait Operand: MapOperand {
    /// ndarray's `ArrayView` of the elements, with another rank type.
    type View<E: Dimension>;

    /// The array stretched to a shape; `None` where it cannot be.
    #[doc(hidden)]
    fn stretch<E: Dimension>(&self, rules: Rules, target: &TargetShape<'_, E>) -> Option<Self::View<E>>;
}

mod sealed {
    pub trait Sealed {}
}

/// Arrays: those that are borrowed, and those that a call owns.
macro_rules! array_operand {
    ([$($parameter:tt)*] $Array:ty, $Elem:ty, $Access:ty, |$array:ident, $common:ident| $strided:expr) => {
        impl<$($parameter)*, D: Dimension> sealed::Sealed for $Array {}

        impl<$($parameter)*, D: Dimension> MapOperand for $Array {
            type Elem = $Elem;
            type Dim = D;
            type Access = $Access;

            #[inline]
            fn sizes(&self) -> impl AsRef<[usize]> {
                self.shape()
            }

            #[inline]
            fn strided<'s>(&'s self, $common: &'s [usize]) -> Result<Strided<'s, $Access>, Error> {
                let $array = self;
                $strided
            }
        }
    };
}
array_operand!(['a, S: Data] &'a ArrayBase<S, D>, S::Elem, ReadFor<'a, S::Elem>, |array, common| {
    let array: &'a ArrayBase<S, D> = array;
    Strided::borrowed(array, common)
});
// Items of `&[&a, &b]`, and of an iterator over a `Vec<&Array2<f32>>`.
array_operand!(['a, S: Data] &'_ &'a ArrayBase<S, D>, S::Elem, ReadFor<'a, S::Elem>, |array, common| {
    let array: &'a ArrayBase<S, D> = array;
    Strided::borrowed(array, common)
});
array_operand!(['a, A] &'a ArrayRef<A, D>, A, ReadFor<'a, A>, |array, common| Strided::borrowed(*array, common));
array_operand!(['a, A] ArrayView<'a, A, D>, A, ReadFor<'a, A>, |array, common| Strided::of_view(array, common));
array_operand!([A] Array<A, D>, A, Read<A>, |array, common| Strided::stretched(array, common));
array_operand!([A] ArrayBase<OwnedArcRepr<A>, D>, A, Read<A>, |array, common| Strided::stretched(array, common));
array_operand!([A] CowArray<'_, A, D>, A, Read<A>, |array, common| Strided::stretched(array, common));
array_operand!([A] ArrayViewMut<'_, A, D>, A, Read<A>, |array, common| Strided::stretched(array, common));

macro_rules! broadcast_operand {
    ([$($parameter:tt)*] $Array:ty, $Elem:ty, |$array:ident, $rules:ident, $target:ident| $stretch:expr) => {
        impl<$($parameter)*> Operand for $Array {
            type View<E: Dimension> = ArrayView<'a, $Elem, E>;

            #[inline(always)]
            fn stretch<E: Dimension>(&self, $rules: Rules, $target: &TargetShape<'_, E>) -> Option<Self::View<E>> {
                let $array = self;
                $stretch
            }
        }
    };
}
broadcast_operand!(['a, S: Data, D: Dimension] &'a ArrayBase<S, D>, S::Elem, |array, rules, target| {
    let array: &'a ArrayBase<S, D> = array;
    target.stretch(rules, array)
});
broadcast_operand!(['a, S: Data, D: Dimension] &'_ &'a ArrayBase<S, D>, S::Elem, |array, rules, target| {
    let array: &'a ArrayBase<S, D> = array;
    target.stretch(rules, array)
});
broadcast_operand!(['a, A, D: Dimension] &'a ArrayRef<A, D>, A, |array, rules, target| target.stretch(rules, *array));
broadcast_operand!(['a, A, D: Dimension] ArrayView<'a, A, D>, A, |array, rules, target| {
    target.stretch_view(rules, array)
});

/// Slices and the like: arrays of rank 1.
macro_rules! slice_operand {
    ([$($parameter:tt)*] $Slice:ty, $Access:ty, |$slice:ident| $elements:expr) => {
        impl<$($parameter)*> sealed::Sealed for $Slice {}

        impl<$($parameter)*> MapOperand for $Slice {
            type Elem = A;
            type Dim = Ix1;
            type Access = $Access;

            #[inline]
            fn sizes(&self) -> impl AsRef<[usize]> {
                [self.len()]
            }

            #[inline]
            fn strided<'s>(&'s self, common: &'s [usize]) -> Result<Strided<'s, $Access>, Error> {
                let $slice = self;
                Strided::of_slice($elements, common)
            }
        }
    };
}
slice_operand!(['a, A] &'a [A], ReadFor<'a, A>, |slice| *slice);
slice_operand!(['a, A] &'a Vec<A>, ReadFor<'a, A>, |slice| slice.as_slice());
slice_operand!(['a, A, const N: usize] &'a [A; N], ReadFor<'a, A>, |slice| slice.as_slice());
slice_operand!([A] Vec<A>, Read<A>, |slice| slice.as_slice());
slice_operand!([A, const N: usize] [A; N], Read<A>, |slice| slice.as_slice());

broadcast_operand!(['a, A] &'a [A], A, |slice, rules, target| {
    target.stretch_view(rules, &ArrayView1::from(*slice))
});
broadcast_operand!(['a, A] &'a Vec<A>, A, |slice, rules, target| {
    target.stretch_view(rules, &ArrayView1::from(*slice))
});
broadcast_operand!(['a, A, const N: usize] &'a [A; N], A, |slice, rules, target| {
    target.stretch_view(rules, &ArrayView1::from(*slice))
});

// One implementation for all of them: the compiler then finds the type of a literal by what the function does with it.
macro_rules! scalar_operand {
    ([$($parameter:tt)*] $Operand:ty, $Scalar:ty, $Access:ty, |$value:ident| $element:expr) => {
        impl<$($parameter)*> sealed::Sealed for $Operand {}

        impl<$($parameter)*> MapOperand for $Operand {
            type Elem = $Scalar;
            type Dim = Ix0;
            type Access = $Access;

            #[inline]
            fn sizes(&self) -> impl AsRef<[usize]> {
                [0usize; 0]
            }

            #[inline]
            fn strided<'s>(&'s self, common: &'s [usize]) -> Result<Strided<'s, $Access>, Error> {
                let $value = self;
                Strided::of_scalar($element, common)
            }
        }
    };
}
scalar_operand!([T: ScalarOperand] T, T, Read<T>, |value| value);

#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an array, a slice or a number that can be read",
    label = "cannot be read element by element",
    note = "pass an array by reference (`&a`) or as a view (`a.view()`); a `Vec` or a slice by reference; collect a range or an iterator into a `Vec`",
    note = "a number, `bool`, `char` or string is passed as it is; another single value as `ndarray::arr0(value)`",
    note = "arrays passed by `&mut` are written to: only `for_each` takes them"
)]
/// A single value that is passed as it is, as an array of rank 0.
///
/// Numbers, `bool`, `char` and strings. Implement it for your own types, or pass `ndarray::arr0(value)`.
///
/// ```
/// use ndarray::arr1;
/// use unishape::{ScalarOperand, map};
///
/// struct Rate(f32);
/// impl ScalarOperand for Rate {}
///
/// assert_eq!(map((&arr1(&[1.0, 2.0]), Rate(0.5)), |x, rate| x * rate.0)?, arr1(&[0.5, 1.0]));
/// # Ok::<(), unishape::Error>(())
/// ```
pub trait ScalarOperand {}

impl ScalarOperand for &str {}

macro_rules! scalars {
    ($($Scalar:ty),+) => {
        $(
            impl ScalarOperand for $Scalar {}
            scalar_operand!(['a] &'a $Scalar, $Scalar, ReadFor<'a, $Scalar>, |value| *value);
            broadcast_operand!(['a] &'a $Scalar, $Scalar, |value, rules, target| {
                target.stretch_view(rules, &aview0(*value))
            });
        )+
    };
}
scalars!(bool, char, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64, String);
#[cfg(feature = "expr")]
scalars!(half::f16, half::bf16, num_complex::Complex<f32>, num_complex::Complex<f64>);

/// The largest of several rank types, at compile time.
///
/// That of `(Ix2, Ix1)` is `Ix2`. If one of them is `IxDyn`, the largest is `IxDyn`.
///
/// ```
/// use ndarray::{Ix1, Ix2, Ix3, IxDyn};
/// use unishape::CommonDim;
///
/// fn same<T>(_: T, _: T) {}
/// same(<(Ix1, Ix3, Ix2) as CommonDim>::Dim::default(), Ix3::default());
/// same(<(Ix1, IxDyn) as CommonDim>::Dim::default(), IxDyn::default());
/// ```
pub trait CommonDim {
    /// The largest rank type.
    type Dim: Dimension;
}

impl<D: Dimension> CommonDim for (D,) {
    type Dim = D;
}

/// Implements [`CommonDim`] for a tuple, from that of the tuple without its last element.
macro_rules! common_dim_of_tuples {
    ($first:ident) => {};
    ($last:ident $($rest:ident)+) => {
        impl<$($rest,)+ $last> CommonDim for ($($rest,)+ $last,)
        where
            ($($rest,)+): CommonDim<Dim: DimMax<$last>>,
            $last: Dimension,
        {
            type Dim = <<($($rest,)+) as CommonDim>::Dim as DimMax<$last>>::Output;
        }
        common_dim_of_tuples!($($rest)+);
    };
}
common_dim_of_tuples!(D0 D1 D2 D3 D4 D5 D6 D7 D8 D9 D10 D11 D12 D13 D14 D15);
