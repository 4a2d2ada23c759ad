//! The functions of expressions and their parameters.

use super::composite::Composite;
use super::reduce_op::ReduceOp;
use unishape_kernels::{DType, Op};

/// A function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Function {
    ElementWise(Op),
    Reduce(ReduceOp),
    /// `min` or `max`: a reduction of one argument, or element-wise.
    Extremum(ReduceOp, Op),
    /// A cast such as `float32(x)`.
    CastTo(DType),
    /// A cast such as `cast(x, float32)`.
    Cast,
    Transpose,
    SwapAxes,
    ExpandDims,
    Squeeze,
    BroadcastTo,
    Composite(Composite),
}

/// Attributes, which are not called. All functions but `where` are methods.
pub(crate) const ATTRIBUTES: [&str; 3] = ["T", "real", "imag"];

/// Functions that are neither element-wise operations nor reductions.
const NAMES: [(&str, Function); 12] = [
    ("cast", Function::Cast),
    ("astype", Function::Cast),
    ("transpose", Function::Transpose),
    ("permute_dims", Function::Transpose),
    ("swapaxes", Function::SwapAxes),
    ("expand_dims", Function::ExpandDims),
    ("squeeze", Function::Squeeze),
    ("broadcast_to", Function::BroadcastTo),
    ("softmax", Function::Composite(Composite::Softmax)),
    ("log_softmax", Function::Composite(Composite::LogSoftmax)),
    ("layer_norm", Function::Composite(Composite::LayerNorm)),
    ("rms_norm", Function::Composite(Composite::RmsNorm)),
];

/// A parameter of a function, after the array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Parameter {
    /// Reduced or removed axes: an integer, a tuple or `None`.
    Axis,
    /// An axis or `None`.
    OneAxis,
    /// Names of reduced dimensions, in place of `Axis`.
    Dim,
    /// The name of a dimension, in place of `OneAxis`.
    OneDim,
    /// New axes: an integer or a tuple.
    NewAxes,
    /// A permutation: a tuple or `None`.
    Axes,
    /// The axes of `swapaxes`.
    Axis1,
    Axis2,
    Shape,
    DType,
    /// A dtype or `None`.
    OptionalDType,
    KeepDims,
    Ddof,
    Initial,
    Where,
    Ord,
    Eps,
    Weight,
    Bias,
}

impl Parameter {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Parameter::Axis | Parameter::OneAxis | Parameter::NewAxes => "axis",
            Parameter::Dim | Parameter::OneDim => "dim",
            Parameter::Axes => "axes",
            Parameter::Axis1 => "axis1",
            Parameter::Axis2 => "axis2",
            Parameter::Shape => "shape",
            Parameter::DType | Parameter::OptionalDType => "dtype",
            Parameter::KeepDims => "keepdims",
            Parameter::Ddof => "ddof",
            Parameter::Initial => "initial",
            Parameter::Where => "where",
            Parameter::Ord => "ord",
            Parameter::Eps => "eps",
            Parameter::Weight => "weight",
            Parameter::Bias => "bias",
        }
    }

    /// The parameter that names the dimensions of an axis.
    pub(crate) const fn dim(self) -> Option<Parameter> {
        match self {
            Parameter::Axis => Some(Parameter::Dim),
            Parameter::OneAxis => Some(Parameter::OneDim),
            _ => None,
        }
    }

    /// What its value must be, as a part of a message.
    pub(crate) const fn expected(self) -> &'static str {
        match self {
            Parameter::Axis => "an integer literal, a tuple of them or None",
            Parameter::OneAxis => "an integer literal or None",
            Parameter::Dim => "a name in quotes, a tuple of them, None or ...",
            Parameter::OneDim => "a name in quotes, None or ...",
            Parameter::NewAxes => "an integer literal or a tuple of them",
            Parameter::Axes => "a tuple of integer literals or None",
            Parameter::Axis1 | Parameter::Axis2 => "an integer literal",
            Parameter::Shape => "an integer literal or a tuple of them, none negative",
            Parameter::DType => "a dtype, such as float32",
            Parameter::OptionalDType => "a dtype, such as float32, or None",
            Parameter::KeepDims => "True or False",
            Parameter::Ddof => "a number literal",
            Parameter::Initial => "a number literal or None",
            Parameter::Ord => "1, 2 or inf",
            Parameter::Where | Parameter::Eps | Parameter::Weight | Parameter::Bias => "an expression",
        }
    }
}

impl Function {
    pub(crate) fn from_name(name: &str) -> Option<Function> {
        if let Some(&(_, function)) = NAMES.iter().find(|(own, _)| *own == name) {
            return Some(function);
        }
        match (Op::from_name(name), ReduceOp::from_name(name)) {
            (Some(op), None) => Some(Function::ElementWise(op)),
            (None, Some(op)) => Some(Function::Reduce(op)),
            (Some(op), Some(reduction)) => Some(Function::Extremum(reduction, op)),
            (None, None) => DType::from_name(name).map(Function::CastTo),
        }
    }

    /// The function with the name of a method.
    ///
    /// Other libraries have a method `where` with other arguments than the function.
    pub(crate) fn of_method(name: &str) -> Option<Function> {
        Function::from_name(name).filter(|function| *function != Function::ElementWise(Op::Where))
    }

    /// Names of all functions.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        let element_wise = Op::ALL.iter().flat_map(|op| op.names()).copied();
        let named = NAMES.iter().map(|(name, _)| *name);
        element_wise.chain(DType::ALL.iter().map(|dtype| dtype.name())).chain(ReduceOp::names()).chain(named)
    }

    /// Its parameters after the array that can be given by position, and those that are given by keyword only.
    pub(crate) const fn parameters(self) -> (&'static [Parameter], &'static [Parameter]) {
        use Parameter::{
            Axes, Axis, Axis1, Axis2, Bias, DType, Ddof, Eps, Initial, KeepDims, NewAxes, OneAxis,
            OptionalDType, Ord, Shape, Weight, Where,
        };
        match self {
            Function::ElementWise(_) | Function::CastTo(_) => (&[], &[]),
            Function::Cast => (&[DType], &[]),
            Function::Transpose => (&[Axes], &[]),
            Function::SwapAxes => (&[Axis1, Axis2], &[]),
            Function::ExpandDims => (&[NewAxes], &[]),
            Function::Squeeze => (&[Axis], &[]),
            Function::BroadcastTo => (&[Shape], &[]),
            Function::Composite(composite) => match composite {
                Composite::Softmax | Composite::LogSoftmax => (&[Axis], &[]),
                Composite::LayerNorm => (&[Axis, Eps], &[Weight, Bias]),
                Composite::RmsNorm => (&[Axis, Eps], &[Weight]),
            },
            // Positions as in NumPy, up to its parameter `out`.
            Function::Reduce(op) | Function::Extremum(op, _) => match op {
                ReduceOp::Sum | ReduceOp::Prod => (&[Axis, OptionalDType], &[KeepDims, Initial, Where]),
                ReduceOp::Min | ReduceOp::Max => (&[Axis], &[KeepDims, Initial, Where]),
                ReduceOp::Mean => (&[Axis, OptionalDType], &[KeepDims, Where]),
                ReduceOp::Var | ReduceOp::Std => (&[Axis, OptionalDType], &[Ddof, KeepDims, Where]),
                ReduceOp::Any | ReduceOp::All => (&[Axis], &[KeepDims, Where]),
                ReduceOp::CountNonzero | ReduceOp::LogSumExp => (&[Axis], &[KeepDims]),
                ReduceOp::ArgMin | ReduceOp::ArgMax => (&[OneAxis], &[KeepDims]),
                ReduceOp::Norm1 | ReduceOp::Norm2 | ReduceOp::NormInf => (&[Ord, Axis, KeepDims], &[]),
            },
        }
    }

    /// The parameter `dim`, if it can be given in place of an axis.
    pub(crate) fn dim(self) -> Option<Parameter> {
        match self {
            Function::Squeeze => None,
            _ => self.parameters().0.iter().find_map(|parameter| parameter.dim()),
        }
    }

    /// The parameters without a default value.
    pub(crate) const fn required(self) -> &'static [Parameter] {
        match self {
            Function::Cast => &[Parameter::DType],
            Function::SwapAxes => &[Parameter::Axis1, Parameter::Axis2],
            Function::ExpandDims => &[Parameter::NewAxes],
            Function::BroadcastTo => &[Parameter::Shape],
            _ => &[],
        }
    }
}
