//! Tensors from arrays of static element types and ranks, and back.

use crate::notation::shape_text;
use crate::tensor::{Element, Tensor, TensorView};
use ndarray::{
    ArcArray, Array, Array1, ArrayBase, ArrayD, ArrayView, ArrayView1, ArrayViewD, Data, Dimension, RawData,
};
use std::fmt;
use unishape_kernels::DType;

/// A tensor has another dtype or rank than the typed array that it should become.
///
/// ```
/// use ndarray::{Array2, arr1};
/// use unishape::Tensor;
///
/// let tensor = Tensor::from(arr1(&[1.5f32, 2.5]));
/// let error = tensor.typed::<f64>().unwrap_err();
/// assert_eq!(error.to_string(), "expected a tensor of dtype float64, got float32; cast it first");
/// let error = Array2::<f32>::try_from(tensor).unwrap_err();
/// assert_eq!(error.to_string(), "expected a tensor of rank 2, got rank 1 (shape 2)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TensorTypeError {
    /// Another dtype.
    DType {
        /// The dtype of the typed array.
        expected: DType,
        /// The dtype of the tensor.
        found: DType,
    },
    /// Another rank.
    Rank {
        /// The rank of the typed array.
        expected: usize,
        /// The shape of the tensor.
        shape: Vec<usize>,
    },
}

impl fmt::Display for TensorTypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TensorTypeError::DType { expected, found } => {
                write!(f, "expected a tensor of dtype {expected}, got {found}; cast it first")
            }
            TensorTypeError::Rank { expected, shape } => {
                let (rank, shape) = (shape.len(), shape_text(shape));
                write!(f, "expected a tensor of rank {expected}, got rank {rank} (shape {shape})")
            }
        }
    }
}

impl std::error::Error for TensorTypeError {}

impl Tensor {
    /// A view with a static element type.
    ///
    /// ```
    /// use unishape::Tensor;
    ///
    /// let tensor = Tensor::from(ndarray::arr1(&[1.5f32, 2.5]));
    /// assert_eq!(tensor.typed::<f32>()?.sum(), 4.0);
    /// assert!(tensor.typed::<f64>().is_err());
    /// # Ok::<(), unishape::TensorTypeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`TensorTypeError::DType`] where the dtype differs.
    pub fn typed<T: Element>(&self) -> Result<ArrayViewD<'_, T>, TensorTypeError> {
        self.view().typed()
    }

    /// The array with a static element type. Nothing is copied.
    ///
    /// For a static rank too, use `try_from`: `Array2::<f32>::try_from(tensor)`.
    ///
    /// ```
    /// use unishape::Tensor;
    ///
    /// let array = Tensor::from(ndarray::arr1(&[1.5f32, 2.5])).into_typed::<f32>()?;
    /// assert_eq!(array, ndarray::arr1(&[1.5, 2.5]).into_dyn());
    /// # Ok::<(), unishape::TensorTypeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`TensorTypeError::DType`] where the dtype differs.
    pub fn into_typed<T: Element>(self) -> Result<ArrayD<T>, TensorTypeError> {
        T::array_in(self).map_err(|tensor| wrong_dtype::<T>(tensor.dtype()))
    }
}

impl<'a> TensorView<'a> {
    /// The view with a static element type. It lives as long as the elements.
    ///
    /// ```
    /// use ndarray::ArrayViewD;
    /// use unishape::{Tensor, TensorTypeError, TensorView};
    ///
    /// fn floats(tensor: &Tensor) -> Result<ArrayViewD<'_, f32>, TensorTypeError> {
    ///     tensor.view().typed() // the temporary is not borrowed
    /// }
    /// assert_eq!(floats(&Tensor::from(ndarray::arr1(&[1.5f32, 2.5])))?.sum(), 4.0);
    /// assert!(floats(&Tensor::from(vec![1, 2])).is_err());
    /// # Ok::<(), TensorTypeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`TensorTypeError::DType`] where the dtype differs.
    pub fn typed<T: Element>(&self) -> Result<ArrayViewD<'a, T>, TensorTypeError> {
        T::view_in(self).ok_or_else(|| wrong_dtype::<T>(self.dtype()))
    }
}

fn wrong_dtype<T: Element>(found: DType) -> TensorTypeError {
    TensorTypeError::DType { expected: T::DTYPE, found }
}

/// An array of dynamic rank as one of another rank type.
fn with_rank<S: RawData, D: Dimension>(
    array: ArrayBase<S, ndarray::IxDyn>,
) -> Result<ArrayBase<S, D>, TensorTypeError> {
    match D::NDIM {
        Some(expected) if expected != array.ndim() => {
            Err(TensorTypeError::Rank { expected, shape: array.shape().to_vec() })
        }
        _ => {
            // The ranks are equal, or the new one is dynamic.
            array.into_dimensionality().map_err(|_| TensorTypeError::Rank { expected: 0, shape: Vec::new() })
        }
    }
}

/// The array of a tensor of this dtype and rank. Nothing is copied.
///
/// ```
/// use ndarray::{Array2, arr2};
/// use unishape::Tensor;
///
/// let array = Array2::<i64>::try_from(Tensor::from(arr2(&[[1i64, 2]])))?;
/// assert_eq!(array, arr2(&[[1, 2]]));
/// # Ok::<(), unishape::TensorTypeError>(())
/// ```
impl<T: Element, D: Dimension> TryFrom<Tensor> for Array<T, D> {
    type Error = TensorTypeError;

    fn try_from(tensor: Tensor) -> Result<Array<T, D>, TensorTypeError> {
        with_rank(tensor.into_typed()?)
    }
}

/// A view of a tensor of this dtype and rank.
impl<'a, T: Element, D: Dimension> TryFrom<&'a Tensor> for ArrayView<'a, T, D> {
    type Error = TensorTypeError;

    fn try_from(tensor: &'a Tensor) -> Result<ArrayView<'a, T, D>, TensorTypeError> {
        with_rank(tensor.typed()?)
    }
}

/// The view with this dtype and rank.
impl<'a, T: Element, D: Dimension> TryFrom<TensorView<'a>> for ArrayView<'a, T, D> {
    type Error = TensorTypeError;

    fn try_from(view: TensorView<'a>) -> Result<ArrayView<'a, T, D>, TensorTypeError> {
        with_rank(view.typed()?)
    }
}

impl<T: Element, D: Dimension> From<Array<T, D>> for Tensor {
    fn from(array: Array<T, D>) -> Tensor {
        T::into_tensor(array.into_dyn())
    }
}

/// The elements are moved if no other array shares them, and cloned otherwise.
impl<T: Element, D: Dimension> From<ArcArray<T, D>> for Tensor {
    fn from(array: ArcArray<T, D>) -> Tensor {
        T::into_tensor(array.into_dyn().into_owned())
    }
}

/// A tensor of rank 1.
impl<T: Element> From<Vec<T>> for Tensor {
    fn from(elements: Vec<T>) -> Tensor {
        Array1::from(elements).into()
    }
}

impl<'a, T: Element, D: Dimension> From<ArrayView<'a, T, D>> for TensorView<'a> {
    fn from(view: ArrayView<'a, T, D>) -> TensorView<'a> {
        T::into_view(view.into_dyn())
    }
}

/// A view of an array, owned or shared.
impl<'a, S: Data<Elem: Element>, D: Dimension> From<&'a ArrayBase<S, D>> for TensorView<'a> {
    fn from(array: &'a ArrayBase<S, D>) -> TensorView<'a> {
        array.view().into()
    }
}

/// A view of rank 1.
impl<'a, T: Element> From<&'a [T]> for TensorView<'a> {
    fn from(elements: &'a [T]) -> TensorView<'a> {
        ArrayView1::from(elements).into()
    }
}

/// A view of rank 1.
impl<'a, T: Element, const N: usize> From<&'a [T; N]> for TensorView<'a> {
    fn from(elements: &'a [T; N]) -> TensorView<'a> {
        elements.as_slice().into()
    }
}

/// A view of rank 1.
impl<'a, T: Element> From<&'a Vec<T>> for TensorView<'a> {
    fn from(elements: &'a Vec<T>) -> TensorView<'a> {
        elements.as_slice().into()
    }
}
