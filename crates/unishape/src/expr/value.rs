//! Values of an expression's variables.

use super::compile::InputType;
use super::typed::InputInfo;
use crate::tensor::{Element, Tensor, TensorView};
use half::{bf16, f16};
use ndarray::{ArrayBase, ArrayView, Data, Dimension};
use num_complex::Complex;
use smallvec::SmallVec;
use unishape_kernels::Scalar;

/// The value of a variable of an expression.
///
/// ```
/// use ndarray::arr1;
/// use unishape::expr::Value;
///
/// let array = arr1(&[1.5, 2.5]);
/// let values = [Value::from(&array), Value::from(array.view()), Value::from(2.5)];
/// assert!(matches!(values[2], Value::Scalar(_)));
/// ```
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// An array of any rank, with a dtype.
    Array(TensorView<'a>),
    /// A number without a dtype: it takes that of the arrays it is combined with.
    Scalar(Scalar),
}

impl Value<'_> {
    pub(crate) fn input_type(&self) -> InputType {
        match self {
            Value::Array(view) => InputType::Array(view.dtype()),
            Value::Scalar(number) => InputType::Scalar(*number),
        }
    }

    pub(crate) fn shape(&self) -> &[usize] {
        match self {
            Value::Array(view) => view.shape(),
            Value::Scalar(_) => &[],
        }
    }

    pub(crate) fn info(&self) -> InputInfo<'_> {
        InputInfo { input_type: self.input_type(), shape: self.shape() }
    }
}

impl<'a> From<TensorView<'a>> for Value<'a> {
    fn from(view: TensorView<'a>) -> Value<'a> {
        Value::Array(view)
    }
}

impl<'a> From<&'a Tensor> for Value<'a> {
    fn from(tensor: &'a Tensor) -> Value<'a> {
        Value::Array(tensor.view())
    }
}

impl<'a> From<&TensorView<'a>> for Value<'a> {
    fn from(view: &TensorView<'a>) -> Value<'a> {
        Value::Array(view.clone())
    }
}

impl<'a, T: Element, D: Dimension> From<ArrayView<'a, T, D>> for Value<'a> {
    fn from(view: ArrayView<'a, T, D>) -> Value<'a> {
        Value::Array(view.into())
    }
}

/// Any of ndarray's arrays: owned, shared (`ArcArray`), or a view.
impl<'a, S: Data<Elem: Element>, D: Dimension> From<&'a ArrayBase<S, D>> for Value<'a> {
    fn from(array: &'a ArrayBase<S, D>) -> Value<'a> {
        Value::Array(array.into())
    }
}

/// An array of rank 1.
impl<'a, T: Element> From<&'a [T]> for Value<'a> {
    fn from(elements: &'a [T]) -> Value<'a> {
        Value::Array(elements.into())
    }
}

/// An array of rank 1.
impl<'a, T: Element, const N: usize> From<&'a [T; N]> for Value<'a> {
    fn from(elements: &'a [T; N]) -> Value<'a> {
        Value::Array(elements.into())
    }
}

/// An array of rank 1.
impl<'a, T: Element> From<&'a Vec<T>> for Value<'a> {
    fn from(elements: &'a Vec<T>) -> Value<'a> {
        Value::Array(elements.into())
    }
}

/// Calls a macro with some tokens and the types of all numbers.
macro_rules! for_each_number {
    ($macro:ident! $($before:tt)*) => {
        $macro!(
            $($before)* bool, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, usize, f16, bf16, f32, f64,
            Complex<f32>, Complex<f64>
        );
    };
}
pub(crate) use for_each_number;

macro_rules! from_number {
    ($($type:ty),+) => {
        $(impl From<$type> for Value<'_> {
            fn from(number: $type) -> Self {
                Value::Scalar(number.into())
            }
        })+
    };
}
for_each_number!(from_number! Scalar,);

/// Types and shapes of values.
pub(crate) fn infos<'v>(values: &'v [Value<'_>]) -> SmallVec<[InputInfo<'v>; 3]> {
    values.iter().map(Value::info).collect()
}

/// Values of an expression's variables, in the order of the variables.
pub(crate) type Values<'a> = SmallVec<[Value<'a>; 3]>;
