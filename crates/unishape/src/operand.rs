//! Arrays that can be broadcast, and the rank of their common shape.

use crate::boundary::TargetShape;
use ndarray::{ArrayBase, ArrayRef, ArrayView, Data, DimMax, Dimension};
use unishape_core::Rules;

/// An array that can be broadcast without copying.
///
/// A reference to any of ndarray's arrays, or one of its read-only views. Each keeps its own element type,
/// rank and lifetime.
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
/// # Ok::<(), unishape::Error>(())
/// ```
pub trait Operand: sealed::Sealed {
    /// Element type.
    type Elem;
    /// Rank type, static (`Ix2`) or dynamic (`IxDyn`).
    type Dim: Dimension;
    /// ndarray's `ArrayView` of the elements, with another rank type.
    type View<E: Dimension>;

    /// The array itself.
    ///
    /// ```
    /// use unishape::Operand;
    ///
    /// assert_eq!((&ndarray::arr1(&[1, 2])).as_array().len(), 2);
    /// ```
    fn as_array(&self) -> &ArrayRef<Self::Elem, Self::Dim>;

    /// The array stretched to a shape; `None` where it cannot be.
    #[doc(hidden)]
    fn stretch<E: Dimension>(&self, rules: Rules, target: &TargetShape<'_, E>) -> Option<Self::View<E>>;
}

mod sealed {
    use ndarray::{ArrayBase, ArrayRef, RawData, ViewRepr};

    pub trait Sealed {}
    impl<S: RawData, D> Sealed for &ArrayBase<S, D> {}
    impl<A, D> Sealed for &ArrayRef<A, D> {}
    impl<A, D> Sealed for ArrayBase<ViewRepr<&A>, D> {}
}

impl<'a, S: Data, D: Dimension> Operand for &'a ArrayBase<S, D> {
    type Elem = S::Elem;
    type Dim = D;
    type View<E: Dimension> = ArrayView<'a, S::Elem, E>;

    #[inline]
    fn as_array(&self) -> &ArrayRef<S::Elem, D> {
        self
    }

    #[inline(always)]
    fn stretch<E: Dimension>(&self, rules: Rules, target: &TargetShape<'_, E>) -> Option<Self::View<E>> {
        let array: &'a ArrayBase<S, D> = self;
        target.stretch(rules, array)
    }
}

impl<'a, A, D: Dimension> Operand for &'a ArrayRef<A, D> {
    type Elem = A;
    type Dim = D;
    type View<E: Dimension> = ArrayView<'a, A, E>;

    #[inline]
    fn as_array(&self) -> &ArrayRef<A, D> {
        self
    }

    #[inline(always)]
    fn stretch<E: Dimension>(&self, rules: Rules, target: &TargetShape<'_, E>) -> Option<Self::View<E>> {
        target.stretch(rules, *self)
    }
}

impl<'a, A, D: Dimension> Operand for ArrayView<'a, A, D> {
    type Elem = A;
    type Dim = D;
    type View<E: Dimension> = ArrayView<'a, A, E>;

    #[inline]
    fn as_array(&self) -> &ArrayRef<A, D> {
        self
    }

    #[inline(always)]
    fn stretch<E: Dimension>(&self, rules: Rules, target: &TargetShape<'_, E>) -> Option<Self::View<E>> {
        target.stretch_view(rules, self)
    }
}

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
macro_rules! common_dim {
    ($first:ident) => {};
    ($last:ident $($rest:ident)+) => {
        impl<$($rest,)+ $last> CommonDim for ($($rest,)+ $last,)
        where
            ($($rest,)+): CommonDim<Dim: DimMax<$last>>,
            $last: Dimension,
        {
            type Dim = <<($($rest,)+) as CommonDim>::Dim as DimMax<$last>>::Output;
        }
        common_dim!($($rest)+);
    };
}
common_dim!(D0 D1 D2 D3 D4 D5 D6 D7 D8 D9 D10 D11 D12 D13 D14 D15);
