//! Table of the supported operators: output shape, versions and element types.

use crate::elem_type::{ElemType, TypeSet};
use crate::error::Error;
use crate::graph::Node;
use unishape::DType;

/// Newest supported opset.
pub(crate) const NEWEST_OPSET: u32 = 28;

/// How the output shape of an operator follows from its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShapeRule {
    /// Multidirectional broadcasting: all inputs are broadcast to the common shape.
    Multidirectional,
    /// Unidirectional broadcasting: the second input is broadcast to the shape of the first.
    Unidirectional,
    /// Shape of the first input; other inputs are scalars or contribute only their type.
    SameShape,
    /// Shape of the first input, with some axes reduced to size 1 or removed.
    Reduction,
    /// Shape of the first input; elements depend on others of the same row, channel or group.
    Normalization,
    /// The operator reads or changes shapes, such as Reshape; not element-wise.
    ShapeOperator,
}

/// An operator of the default domain.
#[derive(Debug)]
pub(crate) struct Operator {
    pub(crate) name: &'static str,
    pub(crate) shape_rule: ShapeRule,
    /// Minimum and maximum number of inputs.
    input_count: (usize, usize),
    /// Maximum number of outputs.
    max_outputs: usize,
    /// Opsets that changed the operator, in order, each with the types of the first input
    /// (of the second for Where).
    versions: &'static [(u32, TypeSet)],
}

const UNLIMITED: usize = usize::MAX;
const FLOATS: TypeSet = TypeSet::FLOATS;
const ALL_FLOATS: TypeSet = TypeSet::ALL_FLOATS;
const REAL: TypeSet = TypeSet::REAL;
const REAL_BEFORE_BF16: TypeSet = TypeSet::REAL_BEFORE_BFLOAT16;
const BOOL: TypeSet = TypeSet::BOOL;
const ALL_BEFORE_BF16: TypeSet = TypeSet::BEFORE_BFLOAT16;
const ALL: TypeSet = TypeSet::ALL;

/// Types of arithmetic before opset 14 added 8- and 16-bit integers.
const WIDE_ARITHMETIC: TypeSet = FLOATS.union(TypeSet::WIDE_INTEGERS);
const ARITHMETIC: &[(u32, TypeSet)] =
    &[(7, WIDE_ARITHMETIC), (13, ALL_FLOATS.union(TypeSet::WIDE_INTEGERS)), (14, REAL)];
const MIN_MAX: &[(u32, TypeSet)] = &[(6, FLOATS), (8, FLOATS), (12, REAL_BEFORE_BF16), (13, REAL)];
const SUM_MEAN: &[(u32, TypeSet)] = &[(6, FLOATS), (8, FLOATS), (13, ALL_FLOATS)];
const LESS: &[(u32, TypeSet)] = &[(7, FLOATS), (9, REAL_BEFORE_BF16), (13, REAL)];
const LESS_OR_EQUAL: &[(u32, TypeSet)] = &[(12, REAL_BEFORE_BF16), (16, REAL)];
const LOGICAL: &[(u32, TypeSet)] = &[(7, BOOL)];
const BITWISE: &[(u32, TypeSet)] = &[(18, TypeSet::INTEGERS)];
// Floating-point functions, named by the opsets that introduced them and added bfloat16.
const SINCE_6_13: &[(u32, TypeSet)] = &[(6, FLOATS), (13, ALL_FLOATS)];
const SINCE_6_22: &[(u32, TypeSet)] = &[(6, FLOATS), (22, ALL_FLOATS)];
const SINCE_7_22: &[(u32, TypeSet)] = &[(7, FLOATS), (22, ALL_FLOATS)];
const SINCE_9_22: &[(u32, TypeSet)] = &[(9, FLOATS), (22, ALL_FLOATS)];
/// Types of reductions before opset 13 added bfloat16; some operators have 8-bit integers, too.
const REDUCED: TypeSet = WIDE_ARITHMETIC;
const REDUCED_13: TypeSet = ALL_FLOATS.union(TypeSet::WIDE_INTEGERS);
const BYTES: TypeSet = TypeSet::of(DType::I8).union(TypeSet::of(DType::U8));
const REDUCE: &[(u32, TypeSet)] = &[(1, REDUCED), (11, REDUCED), (13, REDUCED_13), (18, REDUCED_13)];
const REDUCE_LOG: &[(u32, TypeSet)] =
    &[(1, REDUCED), (11, REDUCED), (13, REDUCED_13), (18, REDUCED_13), (28, ALL_FLOATS)];
const REDUCE_EXTREME: &[(u32, TypeSet)] = &[
    (1, REDUCED),
    (11, REDUCED),
    (12, REDUCED.union(BYTES)),
    (13, REDUCED_13.union(BYTES)),
    (18, REDUCED_13.union(BYTES)),
    (20, REDUCED_13.union(BYTES).union(BOOL)),
];
const ARG_EXTREME: &[(u32, TypeSet)] =
    &[(1, REAL_BEFORE_BF16), (11, REAL_BEFORE_BF16), (12, REAL_BEFORE_BF16), (13, REAL)];
const SOFTMAX: &[(u32, TypeSet)] = &[(1, FLOATS), (11, FLOATS), (13, ALL_FLOATS)];
const ANY_TYPE: &[(u32, TypeSet)] = &[(1, ALL_BEFORE_BF16), (13, ALL)];
const CASTS: TypeSet = BOOL.union(REAL).union(TypeSet::STRING);

const fn operator(
    name: &'static str,
    shape_rule: ShapeRule,
    input_count: (usize, usize),
    versions: &'static [(u32, TypeSet)],
) -> Operator {
    Operator { name, shape_rule, input_count, max_outputs: 1, versions }
}

const fn binary(name: &'static str, versions: &'static [(u32, TypeSet)]) -> Operator {
    operator(name, ShapeRule::Multidirectional, (2, 2), versions)
}

const fn variadic(name: &'static str, versions: &'static [(u32, TypeSet)]) -> Operator {
    operator(name, ShapeRule::Multidirectional, (1, UNLIMITED), versions)
}

const fn unary(name: &'static str, versions: &'static [(u32, TypeSet)]) -> Operator {
    operator(name, ShapeRule::SameShape, (1, 1), versions)
}

const fn shape_operator(
    name: &'static str,
    input_count: (usize, usize),
    versions: &'static [(u32, TypeSet)],
) -> Operator {
    operator(name, ShapeRule::ShapeOperator, input_count, versions)
}

/// A reduction whose axes are an attribute, and in later versions an input.
const fn reduction(name: &'static str, versions: &'static [(u32, TypeSet)]) -> Operator {
    operator(name, ShapeRule::Reduction, (1, 2), versions)
}

const fn normalization(
    name: &'static str,
    input_count: (usize, usize),
    max_outputs: usize,
    versions: &'static [(u32, TypeSet)],
) -> Operator {
    Operator { max_outputs, ..operator(name, ShapeRule::Normalization, input_count, versions) }
}

pub(crate) const OPERATORS: &[Operator] = &[
    binary("Add", ARITHMETIC),
    binary("Sub", ARITHMETIC),
    binary("Mul", ARITHMETIC),
    binary("Div", ARITHMETIC),
    binary("Mod", &[(10, REAL_BEFORE_BF16), (13, REAL), (28, REAL)]),
    binary("Pow", &[(7, FLOATS), (12, FLOATS.union(TypeSet::WIDE)), (13, ALL_FLOATS.union(TypeSet::WIDE))]),
    variadic("Max", MIN_MAX),
    variadic("Min", MIN_MAX),
    variadic("Sum", SUM_MEAN),
    variadic("Mean", SUM_MEAN),
    binary("And", LOGICAL),
    binary("Or", LOGICAL),
    binary("Xor", LOGICAL),
    binary("BitShift", &[(11, TypeSet::UNSIGNED), (28, TypeSet::INTEGERS)]),
    binary("BitwiseAnd", BITWISE),
    binary("BitwiseOr", BITWISE),
    binary("BitwiseXor", BITWISE),
    binary(
        "Equal",
        &[
            (7, BOOL.union(TypeSet::WIDE)),
            (11, BOOL.union(REAL_BEFORE_BF16)),
            (13, BOOL.union(REAL)),
            (19, BOOL.union(REAL).union(TypeSet::STRING)),
        ],
    ),
    binary("Greater", LESS),
    binary("Less", LESS),
    binary("GreaterOrEqual", LESS_OR_EQUAL),
    binary("LessOrEqual", LESS_OR_EQUAL),
    operator("Where", ShapeRule::Multidirectional, (3, 3), &[(9, ALL_BEFORE_BF16), (16, ALL)]),
    binary("StringConcat", &[(20, TypeSet::STRING)]),
    operator(
        "PRelu",
        ShapeRule::Unidirectional,
        (2, 2),
        &[(7, FLOATS), (9, WIDE_ARITHMETIC), (16, ALL_FLOATS.union(TypeSet::WIDE_INTEGERS))],
    ),
    unary("Abs", &[(6, REAL_BEFORE_BF16), (13, REAL)]),
    unary("Neg", &[(6, FLOATS.union(TypeSet::SIGNED)), (13, ALL_FLOATS.union(TypeSet::SIGNED))]),
    unary("Sign", &[(9, REAL_BEFORE_BF16), (13, REAL)]),
    unary("Exp", SINCE_6_13),
    unary("Log", SINCE_6_13),
    unary("Sqrt", SINCE_6_13),
    unary("Sigmoid", SINCE_6_13),
    unary("Tanh", SINCE_6_13),
    unary("Floor", SINCE_6_13),
    unary("Ceil", SINCE_6_13),
    unary("Reciprocal", SINCE_6_13),
    unary("Round", &[(11, FLOATS), (22, ALL_FLOATS)]),
    unary("Erf", &[(9, REAL_BEFORE_BF16), (13, ALL_FLOATS)]),
    unary("Sin", SINCE_7_22),
    unary("Cos", SINCE_7_22),
    unary("Tan", SINCE_7_22),
    unary("Asin", SINCE_7_22),
    unary("Acos", SINCE_7_22),
    unary("Atan", SINCE_7_22),
    unary("Sinh", SINCE_9_22),
    unary("Cosh", SINCE_9_22),
    unary("Asinh", SINCE_9_22),
    unary("Acosh", SINCE_9_22),
    unary("Atanh", SINCE_9_22),
    unary("Relu", &[(6, FLOATS), (13, ALL_FLOATS), (14, ALL_FLOATS.union(TypeSet::SIGNED))]),
    unary("LeakyRelu", &[(6, FLOATS), (16, ALL_FLOATS)]),
    unary("Elu", SINCE_6_22),
    unary("Selu", SINCE_6_22),
    unary("HardSigmoid", SINCE_6_22),
    unary("Softplus", &[(1, FLOATS), (22, ALL_FLOATS)]),
    unary("Softsign", &[(1, FLOATS), (22, ALL_FLOATS)]),
    unary("Celu", &[(12, TypeSet::of(DType::F32)), (28, ALL_FLOATS)]),
    unary("ThresholdedRelu", &[(10, FLOATS), (22, ALL_FLOATS)]),
    unary("HardSwish", &[(14, FLOATS), (22, ALL_FLOATS)]),
    unary("Mish", &[(18, FLOATS), (22, ALL_FLOATS)]),
    unary("Gelu", &[(20, ALL_FLOATS)]),
    unary("Swish", &[(24, ALL_FLOATS)]),
    operator(
        "Clip",
        ShapeRule::SameShape,
        (1, 3),
        &[(6, FLOATS), (11, FLOATS), (12, REAL_BEFORE_BF16), (13, REAL)],
    ),
    unary(
        "Cast",
        &[
            (6, BOOL.union(REAL_BEFORE_BF16)),
            (9, BOOL.union(REAL_BEFORE_BF16).union(TypeSet::STRING)),
            (13, CASTS),
        ],
    ),
    operator("CastLike", ShapeRule::SameShape, (2, 2), &[(15, CASTS)]),
    unary("Not", &[(1, BOOL)]),
    unary("BitwiseNot", BITWISE),
    unary("IsNaN", &[(9, FLOATS), (13, ALL_FLOATS)]),
    unary("IsInf", &[(10, TypeSet::of(DType::F32).union(TypeSet::of(DType::F64))), (20, ALL_FLOATS)]),
    unary("Identity", ANY_TYPE),
    reduction("ReduceSum", &[(1, REDUCED), (11, REDUCED), (13, REDUCED_13)]),
    reduction("ReduceMean", REDUCE),
    reduction("ReduceMax", REDUCE_EXTREME),
    reduction("ReduceMin", REDUCE_EXTREME),
    reduction("ReduceProd", REDUCE),
    reduction("ReduceL1", REDUCE),
    reduction("ReduceL2", REDUCE),
    reduction("ReduceLogSum", REDUCE_LOG),
    reduction("ReduceLogSumExp", REDUCE_LOG),
    reduction("ReduceSumSquare", REDUCE),
    operator("ArgMax", ShapeRule::Reduction, (1, 1), ARG_EXTREME),
    operator("ArgMin", ShapeRule::Reduction, (1, 1), ARG_EXTREME),
    normalization("Softmax", (1, 1), 1, SOFTMAX),
    normalization("LogSoftmax", (1, 1), 1, SOFTMAX),
    normalization("LayerNormalization", (2, 3), 3, &[(17, ALL_FLOATS)]),
    normalization("RMSNormalization", (2, 2), 1, &[(23, ALL_FLOATS)]),
    // The other outputs are those of training.
    normalization(
        "BatchNormalization",
        (5, 5),
        5,
        &[(7, FLOATS), (9, FLOATS), (14, ALL_FLOATS), (15, ALL_FLOATS)],
    ),
    normalization("InstanceNormalization", (3, 3), 1, &[(6, FLOATS), (22, ALL_FLOATS)]),
    normalization("GroupNormalization", (3, 3), 1, &[(18, ALL_FLOATS), (21, ALL_FLOATS)]),
    shape_operator("Expand", (2, 2), &[(8, ALL_BEFORE_BF16), (13, ALL)]),
    shape_operator("Constant", (0, 0), &[(1, FLOATS), (9, ALL_BEFORE_BF16), (13, ALL)]),
    shape_operator("ConstantOfShape", (1, 1), &[(9, TypeSet::of(DType::I64))]),
    shape_operator("Shape", (1, 1), &[(1, ALL_BEFORE_BF16), (13, ALL), (15, ALL)]),
    shape_operator("Size", (1, 1), ANY_TYPE),
    shape_operator("Concat", (1, UNLIMITED), &[(4, ALL_BEFORE_BF16), (13, ALL)]),
    shape_operator("Gather", (2, 2), ANY_TYPE),
    shape_operator("Slice", (3, 5), &[(10, ALL_BEFORE_BF16), (13, ALL)]),
    shape_operator("Reshape", (2, 2), &[(5, ALL_BEFORE_BF16), (13, ALL)]),
    shape_operator("Squeeze", (1, 2), ANY_TYPE),
    shape_operator("Unsqueeze", (1, 2), ANY_TYPE),
];

/// A version of an operator that [`CompiledModel`](crate::CompiledModel) runs.
///
/// ```
/// let add = unishape_onnx::supported_operators().find(|op| op.name == "Add" && op.since == 14);
/// assert!(add.is_some_and(|add| add.broadcasts && add.types.len() == 12));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupportedOperator {
    /// Name of the operator.
    pub name: &'static str,
    /// Opset that introduced this version.
    pub since: u32,
    /// Element types of the first input.
    ///
    /// For Where, those of the second: its first input is the condition.
    pub types: Vec<ElemType>,
    /// Whether the operator broadcasts its inputs.
    pub broadcasts: bool,
}

/// All versions of all operators that a [`CompiledModel`] runs.
///
/// [`CompiledModel`]: crate::CompiledModel
///
/// ```
/// assert!(unishape_onnx::supported_operators().any(|operator| operator.name == "Where"));
/// ```
pub fn supported_operators() -> impl Iterator<Item = SupportedOperator> {
    OPERATORS.iter().flat_map(|operator| {
        operator.versions.iter().map(|&(since, types)| SupportedOperator {
            name: operator.name,
            since,
            types: types.iter().collect(),
            broadcasts: matches!(
                operator.shape_rule,
                ShapeRule::Multidirectional | ShapeRule::Unidirectional
            ),
        })
    })
}

/// An operator in the version of a model's opset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OperatorVersion {
    pub(crate) operator: &'static Operator,
    /// Opset that introduced this version.
    pub(crate) since: u32,
    types: TypeSet,
}

impl Operator {
    pub(crate) fn named(name: &str) -> Option<&'static Operator> {
        OPERATORS.iter().find(|operator| operator.name == name)
    }

    /// Whether the output is bool whatever the inputs are.
    pub(crate) fn has_bool_output(&self) -> bool {
        let names = [
            "And",
            "Or",
            "Xor",
            "Not",
            "Equal",
            "Greater",
            "Less",
            "GreaterOrEqual",
            "LessOrEqual",
            "IsNaN",
            "IsInf",
        ];
        names.contains(&self.name)
    }

    /// Index of the input that determines the element type: 1 for Where, whose input 0 is the condition.
    pub(crate) fn typed_input(&self) -> usize {
        if self.name == "Where" { 1 } else { 0 }
    }

    /// First opset in which the axes of a reduction are an input; before, they are an attribute.
    ///
    /// `None` for other operators, and for those with a single axis.
    pub(crate) fn axes_input_since(&self) -> Option<u32> {
        match (self.shape_rule, self.name) {
            (ShapeRule::Reduction, "ArgMax" | "ArgMin") => None,
            (ShapeRule::Reduction, "ReduceSum") => Some(13),
            (ShapeRule::Reduction, _) => Some(18),
            _ => None,
        }
    }

    /// Whether the operator is computed in the same pass as element-wise operators before and after it.
    ///
    /// GroupNormalization is not: it splits an axis.
    pub(crate) fn is_fused(&self) -> bool {
        self.shape_rule != ShapeRule::ShapeOperator && self.name != "GroupNormalization"
    }

    /// Operator of a node, if the table has it in any version.
    pub(crate) fn of_node(node: &Node) -> Option<&'static Operator> {
        Operator::named(&node.op_type).filter(|_| node.is_default_domain())
    }
}

impl OperatorVersion {
    /// Operator of a node, in the version of an opset.
    pub(crate) fn resolve(node: &Node, opset: u32) -> Result<OperatorVersion, Error> {
        if !node.is_default_domain() {
            return Err(Error::unsupported("only operators of the domain ai.onnx are supported"));
        }
        let Some(operator) = Operator::named(&node.op_type) else {
            let problem = match node.has_subgraph() {
                true => "operators with subgraphs are not supported",
                false => {
                    "unsupported operator: only element-wise operators, reductions, normalizations and operators on \
                     shapes are supported"
                }
            };
            return Err(Error::unsupported(problem));
        };
        if operator.shape_rule == ShapeRule::Multidirectional
            && let Some(name) = node.legacy_broadcast_attribute()
        {
            let problem = format!(
                "the attribute {name} (broadcasting before opset 7) is not supported; \
                 convert the model to opset 7 or later (onnx.version_converter)"
            );
            return Err(Error::unsupported(problem));
        }
        if opset > NEWEST_OPSET {
            let problem = format!("opset {opset} is newer than {NEWEST_OPSET}, the newest supported opset");
            return Err(Error::unsupported(problem));
        }
        let Some(&(since, types)) = operator.versions.iter().rev().find(|(since, _)| *since <= opset) else {
            let first = operator.versions.first().map_or(0, |(since, _)| *since);
            let problem = format!(
                "the model has opset {opset}, but {} is supported from opset {first}; \
                 convert the model (onnx.version_converter)",
                operator.name
            );
            return Err(Error::unsupported(problem));
        };
        let (min, max) = operator.input_count;
        // Opset 13 turned the attribute axes into an input.
        let min = if operator.name == "Unsqueeze" && opset >= 13 { 2 } else { min };
        let max = match operator.axes_input_since() {
            Some(since) if opset < since => 1,
            Some(since) if node.attribute("axes").is_some() => {
                let problem = format!("from opset {since} the axes are an input, not the attribute axes");
                return Err(Error::invalid(problem));
            }
            _ => max,
        };
        if !(min..=max).contains(&node.inputs.len()) {
            let expected = match max {
                _ if min == max => format!("{min}"),
                UNLIMITED => format!("at least {min}"),
                _ => format!("{min} to {max}"),
            };
            return Err(Error::invalid(format!("expected {expected} inputs, got {}", node.inputs.len())));
        }
        if let Some(index) = (0..min).find(|&index| node.input(index).is_none()) {
            return Err(Error::missing_input(index));
        }
        let (outputs, max) = (node.outputs.len(), operator.max_outputs);
        if outputs == 0 || outputs > max {
            let expected = if max == 1 { "1 output".into() } else { format!("1 to {max} outputs") };
            return Err(Error::invalid(format!("expected {expected}, got {outputs}")));
        }
        Ok(OperatorVersion { operator, since, types })
    }

    /// Fails if this version does not support an element type.
    pub(crate) fn check_type(&self, dtype: DType) -> Result<(), Error> {
        if self.types.contains(dtype) {
            return Ok(());
        }
        let Operator { name, versions, .. } = self.operator;
        let later = versions.iter().find(|(since, types)| *since > self.since && types.contains(dtype));
        let elem = ElemType::of(dtype);
        Err(Error::invalid(match later {
            Some((since, _)) => format!("{name} supports {elem} from opset {since}"),
            None => format!("{name} supports {}, not {elem}", self.types),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn operators_are_unique_and_versions_ascend() {
        let names: HashSet<&str> = OPERATORS.iter().map(|operator| operator.name).collect();
        assert_eq!(names.len(), OPERATORS.len());
        for operator in OPERATORS {
            assert!(operator.versions.is_sorted_by(|(a, _), (b, _)| a < b), "{}", operator.name);
            assert!(operator.versions.last().is_some_and(|(since, _)| *since <= NEWEST_OPSET));
        }
    }
}
