//! Values of an expression's variables.

use super::compile::InputType;
use super::typed::InputInfo;
use crate::tensor::{Element, Tensor, TensorView};
use ndarray::{Array, ArrayView, Dimension};
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

impl<'a, T: Element, D: Dimension> From<ArrayView<'a, T, D>> for Value<'a>
where
    TensorView<'a>: From<ArrayView<'a, T, D>>,
{
    fn from(view: ArrayView<'a, T, D>) -> Value<'a> {
        Value::Array(view.into())
    }
}

impl<'a, T: Element, D: Dimension> From<&'a Array<T, D>> for Value<'a>
where
    TensorView<'a>: From<ArrayView<'a, T, D>>,
{
    fn from(array: &'a Array<T, D>) -> Value<'a> {
        Value::Array(array.view().into())
    }
}

macro_rules! from_number {
    ($($type:ty),+) => {
        $(impl From<$type> for Value<'_> {
            fn from(number: $type) -> Self {
                Value::Scalar(number.into())
            }
        })+
    };
}
from_number!(Scalar, bool, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

/// Types and shapes of values.
pub(crate) fn infos<'v>(values: &'v [Value<'_>]) -> SmallVec<[InputInfo<'v>; 3]> {
    values.iter().map(Value::info).collect()
}

/// Values of an expression's variables, in the order of the variables.
pub(crate) type Values<'a> = SmallVec<[Value<'a>; 3]>;
