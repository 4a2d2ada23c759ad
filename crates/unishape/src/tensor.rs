//! Arrays whose dtype is known only at run time.

use crate::broadcast::{Inputs, broadcast_to};
use crate::error::Error;
use crate::shapes::broadcast_shapes_with;
use half::{bf16, f16};
use ndarray::{ArrayD, ArrayViewD};
use num_complex::Complex;
use unishape_core::Rules;
use unishape_kernels::{DType, for_each_dtype};

macro_rules! define_tensors {
    ($($variant:ident $type:ident $(<$part:ident>)? $name:literal $what:literal;)+) => {
        /// An owned array of any rank and any [`DType`].
        ///
        /// ```
        /// use ndarray::arr1;
        /// use unishape::{DType, Tensor};
        ///
        /// let tensor = Tensor::from(arr1(&[1.5f32, 2.5]));
        /// assert_eq!((tensor.dtype(), tensor.shape()), (DType::F32, &[2][..]));
        /// ```
        #[derive(Clone, Debug, PartialEq)]
        pub enum Tensor {
            $(#[doc = $what] $variant(ArrayD<$type $(<$part>)?>),)+
        }

        /// A read-only view of a [`Tensor`], or of an array of any [`DType`].
        ///
        /// ```
        /// use ndarray::arr1;
        /// use unishape::{DType, TensorView};
        ///
        /// let array = arr1(&[true, false]);
        /// assert_eq!(TensorView::from(array.view()).dtype(), DType::Bool);
        /// ```
        #[derive(Clone, Debug, PartialEq)]
        pub enum TensorView<'a> {
            $(#[doc = $what] $variant(ArrayViewD<'a, $type $(<$part>)?>),)+
        }

        impl Tensor {
            /// The dtype.
            ///
            /// ```
            /// use unishape::{DType, Tensor};
            ///
            /// assert_eq!(Tensor::from(ndarray::arr0(7u8)).dtype(), DType::U8);
            /// ```
            pub fn dtype(&self) -> DType {
                match self {
                    $(Tensor::$variant(_) => DType::$variant,)+
                }
            }

            /// The shape.
            ///
            /// ```
            /// use unishape::Tensor;
            ///
            /// assert_eq!(Tensor::from(ndarray::arr2(&[[1, 2, 3]])).shape(), [1, 3]);
            /// ```
            pub fn shape(&self) -> &[usize] {
                match self {
                    $(Tensor::$variant(array) => array.shape(),)+
                }
            }

            /// A view of all elements.
            ///
            /// ```
            /// use unishape::Tensor;
            ///
            /// let tensor = Tensor::from(ndarray::arr0(7u8));
            /// assert_eq!(tensor.view().to_owned()?, tensor);
            /// # Ok::<(), unishape::Error>(())
            /// ```
            pub fn view(&self) -> TensorView<'_> {
                match self {
                    $(Tensor::$variant(array) => TensorView::$variant(array.view()),)+
                }
            }
        }

        impl<'a> TensorView<'a> {
            /// The dtype.
            ///
            /// ```
            /// use unishape::{DType, TensorView};
            ///
            /// assert_eq!(TensorView::from(ndarray::arr0(7i64).view()).dtype(), DType::I64);
            /// ```
            pub fn dtype(&self) -> DType {
                match self {
                    $(TensorView::$variant(_) => DType::$variant,)+
                }
            }

            /// The shape.
            ///
            /// ```
            /// use unishape::TensorView;
            ///
            /// assert_eq!(TensorView::from(ndarray::arr0(7i64).view()).shape(), []);
            /// ```
            pub fn shape(&self) -> &[usize] {
                match self {
                    $(TensorView::$variant(array) => array.shape(),)+
                }
            }

            /// Broadcasts the view to a shape, as [`broadcast_to`](crate::broadcast_to).
            ///
            /// ```
            /// use unishape::TensorView;
            ///
            /// let seven = ndarray::arr0(7);
            /// assert_eq!(TensorView::from(seven.view()).broadcast_to(&[2, 3])?.shape(), [2, 3]);
            /// # Ok::<(), unishape::Error>(())
            /// ```
            ///
            /// # Errors
            ///
            /// As [`broadcast_to`](crate::broadcast_to).
            pub fn broadcast_to(self, shape: &[usize]) -> Result<TensorView<'a>, Error> {
                match self {
                    $(TensorView::$variant(view) => broadcast_to(view, shape).map(TensorView::$variant),)+
                }
            }

            /// The same view with the lifetime of this borrow.
            ///
            /// [`Clone`] keeps the lifetime `'a`, which the compiler cannot shorten for ndarray's views.
            ///
            /// ```
            /// use unishape::TensorView;
            ///
            /// let seven = ndarray::arr0(7);
            /// let view = TensorView::from(seven.view());
            /// assert_eq!(view.reborrow().shape(), view.shape());
            /// ```
            pub fn reborrow(&self) -> TensorView<'_> {
                match self {
                    $(TensorView::$variant(view) => TensorView::$variant(view.view()),)+
                }
            }

            /// Restricts one dimension to a range of indices.
            pub(crate) fn slice_axis_in_place(&mut self, dim: usize, range: std::ops::Range<usize>) {
                let range = ndarray::Slice::from(range);
                match self {
                    $(TensorView::$variant(view) => view.slice_axis_inplace(ndarray::Axis(dim), range),)+
                }
            }

            /// Copies the elements in row-major order, as [`to_owned`](crate::to_owned()).
            ///
            /// ```
            /// use unishape::{Tensor, TensorView};
            ///
            /// let seven = ndarray::arr0(7);
            /// let sevens = TensorView::from(seven.view()).broadcast_to(&[2])?.to_owned()?;
            /// assert_eq!(sevens, Tensor::from(ndarray::arr1(&[7, 7])));
            /// # Ok::<(), unishape::Error>(())
            /// ```
            ///
            /// # Errors
            ///
            /// As [`to_owned`](crate::to_owned()).
            pub fn to_owned(&self) -> Result<Tensor, Error> {
                match self {
                    $(TensorView::$variant(view) => crate::to_owned(view).map(Tensor::$variant),)+
                }
            }
        }

        $(impl sealed::Sealed for $type $(<$part>)? {}

        impl Element for $type $(<$part>)? {
            const DTYPE: DType = DType::$variant;

            fn view_in<'a>(tensor: &TensorView<'a>) -> Option<ArrayViewD<'a, Self>> {
                match tensor {
                    TensorView::$variant(view) => Some(view.clone()),
                    _ => None,
                }
            }

            fn array_in(tensor: Tensor) -> Result<ArrayD<Self>, Tensor> {
                match tensor {
                    Tensor::$variant(array) => Ok(array),
                    other => Err(other),
                }
            }

            fn into_view(view: ArrayViewD<'_, Self>) -> TensorView<'_> {
                TensorView::$variant(view)
            }

            fn into_tensor(array: ArrayD<Self>) -> Tensor {
                Tensor::$variant(array)
            }
        })+
    };
}
for_each_dtype!(define_tensors);

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that is the element type of a [`DType`].
///
/// ```
/// use unishape::{DType, Element};
///
/// assert_eq!(<f32 as Element>::DTYPE, DType::F32);
/// ```
pub trait Element: Sized + Clone + sealed::Sealed + 'static {
    /// The dtype of this type.
    const DTYPE: DType;

    /// The typed view in a tensor view of this dtype; see [`TensorView::typed`].
    #[doc(hidden)]
    fn view_in<'a>(tensor: &TensorView<'a>) -> Option<ArrayViewD<'a, Self>>;

    /// The typed array in a tensor of this dtype; see [`Tensor::into_typed`].
    #[doc(hidden)]
    fn array_in(tensor: Tensor) -> Result<ArrayD<Self>, Tensor>;

    /// The tensor view of a typed view.
    #[doc(hidden)]
    fn into_view(view: ArrayViewD<'_, Self>) -> TensorView<'_>;

    /// The tensor of a typed array.
    #[doc(hidden)]
    fn into_tensor(array: ArrayD<Self>) -> Tensor;
}

impl<'a> TensorView<'a> {
    /// Restricts every dimension to a range of indices.
    ///
    /// ```
    /// use unishape::{Tensor, TensorView};
    ///
    /// let table = ndarray::arr2(&[[1, 2, 3], [4, 5, 6]]);
    /// let slice = TensorView::from(table.view()).slice(&[1..2, 0..2]);
    /// assert_eq!(slice.to_owned()?, Tensor::from(ndarray::arr2(&[[4, 5]])));
    /// # Ok::<(), unishape::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Where the number of ranges is not the rank, or a range exceeds its dimension.
    #[must_use]
    pub fn slice(mut self, ranges: &[std::ops::Range<usize>]) -> TensorView<'a> {
        let rank = self.shape().len();
        assert!(ranges.len() == rank, "{} ranges for {rank} dimensions", ranges.len());
        for (dim, range) in ranges.iter().enumerate() {
            self.slice_axis_in_place(dim, range.clone());
        }
        self
    }
}

impl<'a> From<&'a Tensor> for TensorView<'a> {
    fn from(tensor: &'a Tensor) -> TensorView<'a> {
        tensor.view()
    }
}

impl<'a> From<&TensorView<'a>> for TensorView<'a> {
    fn from(view: &TensorView<'a>) -> TensorView<'a> {
        view.clone()
    }
}

/// A slice of tensors: a view of each, in order, with its tensor's dtype (BC-2).
///
/// ```
/// use ndarray::{arr1, arr2};
/// use unishape::{DType, Tensor, broadcast};
///
/// let tensors = [
///     Tensor::from(arr2(&[[1.5f32], [2.5]])),
///     Tensor::from(arr1(&["a".to_string(), "b".into(), "c".into()])),
/// ];
/// let views = broadcast(&tensors)?;
/// assert_eq!(views[0].shape(), [2, 3]);
/// assert_eq!(views[1].shape(), [2, 3]);
/// assert_eq!(views[1].dtype(), DType::Str);
/// # Ok::<(), unishape::Error>(())
/// ```
impl<'a> Inputs for &'a [Tensor] {
    type Views = Vec<TensorView<'a>>;

    fn broadcast_with(self, rules: Rules) -> Result<Vec<TensorView<'a>>, Error> {
        let views: Vec<TensorView<'a>> = self.iter().map(Tensor::view).collect();
        views.broadcast_with(rules)
    }
}

/// A vector of tensors, as a slice of them.
impl<'a> Inputs for &'a Vec<Tensor> {
    type Views = Vec<TensorView<'a>>;

    fn broadcast_with(self, rules: Rules) -> Result<Vec<TensorView<'a>>, Error> {
        self.as_slice().broadcast_with(rules)
    }
}

/// An array of tensors: an array of as many views.
///
/// ```
/// use unishape::{Tensor, broadcast};
///
/// let tensors = [Tensor::from(ndarray::arr1(&[1, 2, 3])), Tensor::from(vec![true])];
/// let [x, y] = broadcast(&tensors)?;
/// assert_eq!((x.shape(), y.shape()), (&[3][..], &[3][..]));
/// # Ok::<(), unishape::Error>(())
/// ```
impl<'a, const N: usize> Inputs for &'a [Tensor; N] {
    type Views = [TensorView<'a>; N];

    fn broadcast_with(self, rules: Rules) -> Result<[TensorView<'a>; N], Error> {
        let common = broadcast_shapes_with(rules, &self.each_ref().map(Tensor::shape))?;
        let mut views = self.each_ref().map(Tensor::view);
        for view in &mut views {
            *view = view.clone().broadcast_to(&common)?;
        }
        Ok(views)
    }
}

/// A view of each tensor, as for a slice of tensors.
impl<'a> Inputs for Vec<TensorView<'a>> {
    type Views = Vec<TensorView<'a>>;

    fn broadcast_with(self, rules: Rules) -> Result<Vec<TensorView<'a>>, Error> {
        let shapes: Vec<&[usize]> = self.iter().map(TensorView::shape).collect();
        let common = broadcast_shapes_with(rules, &shapes)?;
        self.into_iter().map(|view| view.broadcast_to(&common)).collect()
    }
}

/// The same for views that are kept.
impl<'a> Inputs for &[TensorView<'a>] {
    type Views = Vec<TensorView<'a>>;

    fn broadcast_with(self, rules: Rules) -> Result<Vec<TensorView<'a>>, Error> {
        self.to_vec().broadcast_with(rules)
    }
}

/// The same for a vector of views that is kept.
impl<'a> Inputs for &Vec<TensorView<'a>> {
    type Views = Vec<TensorView<'a>>;

    fn broadcast_with(self, rules: Rules) -> Result<Vec<TensorView<'a>>, Error> {
        self.clone().broadcast_with(rules)
    }
}
