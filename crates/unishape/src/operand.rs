//! What can be broadcast, and the rank that comes of it.

use ndarray::{ArrayBase, ArrayRef, ArrayView, Data, DimMax, Dimension};

/// An array that can be broadcast without copying: a reference to any of ndarray's arrays, or one
/// of its read-only views.
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
///
/// The trait is sealed: [`broadcast`](crate::broadcast()) counts on the elements living for `'a`.
pub trait Operand<'a>: sealed::Sealed {
    /// The type of its elements.
    type Elem: 'a;
    /// Its rank, static (`Ix2`) or dynamic (`IxDyn`).
    type Dim: Dimension;

    /// Where its elements are and how they lie there. They live for `'a`, though the reference
    /// that says so does not.
    fn as_array(&self) -> &ArrayRef<Self::Elem, Self::Dim>;

    /// A view of all its elements.
    fn into_view(self) -> ArrayView<'a, Self::Elem, Self::Dim>;
}

mod sealed {
    use ndarray::{ArrayBase, ArrayRef, RawData, ViewRepr};

    pub trait Sealed {}
    impl<S: RawData, D> Sealed for &ArrayBase<S, D> {}
    impl<A, D> Sealed for &ArrayRef<A, D> {}
    impl<A, D> Sealed for ArrayBase<ViewRepr<&A>, D> {}
}

impl<'a, S, D> Operand<'a> for &'a ArrayBase<S, D>
where
    S: Data<Elem: 'a>,
    D: Dimension,
{
    type Elem = S::Elem;
    type Dim = D;

    #[inline]
    fn as_array(&self) -> &ArrayRef<S::Elem, D> {
        self
    }

    #[inline]
    fn into_view(self) -> ArrayView<'a, S::Elem, D> {
        self.view()
    }
}

impl<'a, A: 'a, D: Dimension> Operand<'a> for &'a ArrayRef<A, D> {
    type Elem = A;
    type Dim = D;

    #[inline]
    fn as_array(&self) -> &ArrayRef<A, D> {
        self
    }

    #[inline]
    fn into_view(self) -> ArrayView<'a, A, D> {
        self.view()
    }
}

impl<'a, A: 'a, D: Dimension> Operand<'a> for ArrayView<'a, A, D> {
    type Elem = A;
    type Dim = D;

    #[inline]
    fn as_array(&self) -> &ArrayRef<A, D> {
        self
    }

    #[inline]
    fn into_view(self) -> ArrayView<'a, A, D> {
        self
    }
}

/// The largest of several ranks, found by the compiler: `(Ix2, Ix1)` has `Ix2`, and with an `IxDyn`
/// among them it is `IxDyn`.
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
    /// The largest.
    type Dim: Dimension;
}

impl<D: Dimension> CommonDim for (D,) {
    type Dim = D;
}

/// Each tuple of ranks from the one that is shorter by one.
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
