//! The operators that are run: what becomes of their inputs' shapes, since which opset they are as they are,
//! and for which types.

use crate::error::Error;
use crate::graph::Node;
use crate::types::{ElemType, Types};
use unishape::DType;

/// The newest opset that is known here.
pub(crate) const NEWEST_OPSET: u32 = 28;

/// What an operator does with shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Its inputs are broadcast to one shape, which the output has.
    Together,
    /// The second input is stretched to the shape of the first, which the output has.
    OneWay,
    /// The output has the shape of the first input; others are single numbers.
    Alone,
    /// Shapes are what it is about.
    Other,
}

/// An operator of ONNX.
#[derive(Debug)]
pub(crate) struct Operator {
    pub(crate) name: &'static str,
    pub(crate) role: Role,
    /// The fewest and the most inputs.
    inputs: (usize, usize),
    /// The types of the input that decides, from each opset on that changed anything.
    versions: &'static [(u32, Types)],
}

const ANY: usize = usize::MAX;
const FLOATS: Types = Types::FLOATS;
const ALL_FLOATS: Types = Types::ALL_FLOATS;
const REAL: Types = Types::REAL;
const REAL_BEFORE: Types = Types::REAL_BEFORE_BFLOAT16;
const BOOL: Types = Types::BOOL;
const BEFORE: Types = Types::BEFORE_BFLOAT16;
const ALL: Types = Types::ALL;

/// What arithmetic was for before it was for all integers.
const WIDE_ARITHMETIC: Types = FLOATS.and(Types::WIDE_INTEGERS);
const ARITHMETIC: &[(u32, Types)] =
    &[(7, WIDE_ARITHMETIC), (13, ALL_FLOATS.and(Types::WIDE_INTEGERS)), (14, REAL)];
const EXTREMES: &[(u32, Types)] = &[(6, FLOATS), (8, FLOATS), (12, REAL_BEFORE), (13, REAL)];
const SUMS: &[(u32, Types)] = &[(6, FLOATS), (8, FLOATS), (13, ALL_FLOATS)];
const ORDER: &[(u32, Types)] = &[(7, FLOATS), (9, REAL_BEFORE), (13, REAL)];
const WEAK_ORDER: &[(u32, Types)] = &[(12, REAL_BEFORE), (16, REAL)];
const LOGIC: &[(u32, Types)] = &[(7, BOOL)];
const BITS: &[(u32, Types)] = &[(18, Types::INTEGERS)];
/// Functions of floating point, by when they came and when bfloat16 came to them.
const SINCE_6_13: &[(u32, Types)] = &[(6, FLOATS), (13, ALL_FLOATS)];
const SINCE_6_22: &[(u32, Types)] = &[(6, FLOATS), (22, ALL_FLOATS)];
const SINCE_7_22: &[(u32, Types)] = &[(7, FLOATS), (22, ALL_FLOATS)];
const SINCE_9_22: &[(u32, Types)] = &[(9, FLOATS), (22, ALL_FLOATS)];
const SHAPES: &[(u32, Types)] = &[(1, BEFORE), (13, ALL)];
const CASTS: Types = BOOL.and(REAL).and(Types::STRING);

const fn operator(
    name: &'static str,
    role: Role,
    inputs: (usize, usize),
    versions: &'static [(u32, Types)],
) -> Operator {
    Operator { name, role, inputs, versions }
}

const fn together(name: &'static str, versions: &'static [(u32, Types)]) -> Operator {
    operator(name, Role::Together, (2, 2), versions)
}

const fn variadic(name: &'static str, versions: &'static [(u32, Types)]) -> Operator {
    operator(name, Role::Together, (1, ANY), versions)
}

const fn alone(name: &'static str, versions: &'static [(u32, Types)]) -> Operator {
    operator(name, Role::Alone, (1, 1), versions)
}

/// All of them.
pub(crate) const OPERATORS: &[Operator] = &[
    together("Add", ARITHMETIC),
    together("Sub", ARITHMETIC),
    together("Mul", ARITHMETIC),
    together("Div", ARITHMETIC),
    together("Mod", &[(10, REAL_BEFORE), (13, REAL), (28, REAL)]),
    together("Pow", &[(7, FLOATS), (12, FLOATS.and(Types::WIDE)), (13, ALL_FLOATS.and(Types::WIDE))]),
    variadic("Max", EXTREMES),
    variadic("Min", EXTREMES),
    variadic("Sum", SUMS),
    variadic("Mean", SUMS),
    together("And", LOGIC),
    together("Or", LOGIC),
    together("Xor", LOGIC),
    together("BitShift", &[(11, Types::UNSIGNED), (28, Types::INTEGERS)]),
    together("BitwiseAnd", BITS),
    together("BitwiseOr", BITS),
    together("BitwiseXor", BITS),
    together(
        "Equal",
        &[
            (7, BOOL.and(Types::WIDE)),
            (11, BOOL.and(REAL_BEFORE)),
            (13, BOOL.and(REAL)),
            (19, BOOL.and(REAL).and(Types::STRING)),
        ],
    ),
    together("Greater", ORDER),
    together("Less", ORDER),
    together("GreaterOrEqual", WEAK_ORDER),
    together("LessOrEqual", WEAK_ORDER),
    operator("Where", Role::Together, (3, 3), &[(9, BEFORE), (16, ALL)]),
    together("StringConcat", &[(20, Types::STRING)]),
    operator(
        "PRelu",
        Role::OneWay,
        (2, 2),
        &[(7, FLOATS), (9, WIDE_ARITHMETIC), (16, ALL_FLOATS.and(Types::WIDE_INTEGERS))],
    ),
    alone("Abs", &[(6, REAL_BEFORE), (13, REAL)]),
    alone("Neg", &[(6, FLOATS.and(Types::SIGNED)), (13, ALL_FLOATS.and(Types::SIGNED))]),
    alone("Sign", &[(9, REAL_BEFORE), (13, REAL)]),
    alone("Exp", SINCE_6_13),
    alone("Log", SINCE_6_13),
    alone("Sqrt", SINCE_6_13),
    alone("Sigmoid", SINCE_6_13),
    alone("Tanh", SINCE_6_13),
    alone("Floor", SINCE_6_13),
    alone("Ceil", SINCE_6_13),
    alone("Reciprocal", SINCE_6_13),
    alone("Round", &[(11, FLOATS), (22, ALL_FLOATS)]),
    alone("Erf", &[(9, REAL_BEFORE), (13, ALL_FLOATS)]),
    alone("Sin", SINCE_7_22),
    alone("Cos", SINCE_7_22),
    alone("Tan", SINCE_7_22),
    alone("Asin", SINCE_7_22),
    alone("Acos", SINCE_7_22),
    alone("Atan", SINCE_7_22),
    alone("Sinh", SINCE_9_22),
    alone("Cosh", SINCE_9_22),
    alone("Asinh", SINCE_9_22),
    alone("Acosh", SINCE_9_22),
    alone("Atanh", SINCE_9_22),
    alone("Relu", &[(6, FLOATS), (13, ALL_FLOATS), (14, ALL_FLOATS.and(Types::SIGNED))]),
    alone("LeakyRelu", &[(6, FLOATS), (16, ALL_FLOATS)]),
    alone("Elu", SINCE_6_22),
    alone("Selu", SINCE_6_22),
    alone("HardSigmoid", SINCE_6_22),
    alone("Softplus", &[(1, FLOATS), (22, ALL_FLOATS)]),
    alone("Softsign", &[(1, FLOATS), (22, ALL_FLOATS)]),
    alone("Celu", &[(12, Types::of(DType::F32)), (28, ALL_FLOATS)]),
    alone("ThresholdedRelu", &[(10, FLOATS), (22, ALL_FLOATS)]),
    alone("HardSwish", &[(14, FLOATS), (22, ALL_FLOATS)]),
    alone("Mish", &[(18, FLOATS), (22, ALL_FLOATS)]),
    alone("Gelu", &[(20, ALL_FLOATS)]),
    alone("Swish", &[(24, ALL_FLOATS)]),
    operator("Clip", Role::Alone, (1, 3), &[(6, FLOATS), (11, FLOATS), (12, REAL_BEFORE), (13, REAL)]),
    alone("Cast", &[(6, BOOL.and(REAL_BEFORE)), (9, BOOL.and(REAL_BEFORE).and(Types::STRING)), (13, CASTS)]),
    operator("CastLike", Role::Alone, (2, 2), &[(15, CASTS)]),
    alone("Not", &[(1, BOOL)]),
    alone("BitwiseNot", BITS),
    alone("IsNaN", &[(9, FLOATS), (13, ALL_FLOATS)]),
    alone("IsInf", &[(10, Types::of(DType::F32).and(Types::of(DType::F64))), (20, ALL_FLOATS)]),
    alone("Identity", SHAPES),
    operator("Expand", Role::Other, (2, 2), &[(8, BEFORE), (13, ALL)]),
    operator("Constant", Role::Other, (0, 0), &[(1, FLOATS), (9, BEFORE), (13, ALL)]),
    operator("ConstantOfShape", Role::Other, (1, 1), &[(9, Types::of(DType::I64))]),
    operator("Shape", Role::Other, (1, 1), &[(1, BEFORE), (13, ALL), (15, ALL)]),
    operator("Size", Role::Other, (1, 1), SHAPES),
    operator("Concat", Role::Other, (1, ANY), &[(4, BEFORE), (13, ALL)]),
    operator("Gather", Role::Other, (2, 2), SHAPES),
    operator("Slice", Role::Other, (3, 5), &[(10, BEFORE), (13, ALL)]),
    operator("Reshape", Role::Other, (2, 2), &[(5, BEFORE), (13, ALL)]),
    operator("Squeeze", Role::Other, (1, 2), SHAPES),
    operator("Unsqueeze", Role::Other, (1, 2), SHAPES),
];

/// An operator that is run, as it is from an opset on.
///
/// ```
/// let add = unishape_onnx::supported().find(|operator| operator.name == "Add" && operator.since == 14);
/// assert!(add.is_some_and(|add| add.broadcasts && add.types.len() == 12));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Supported {
    /// What it is called.
    pub name: &'static str,
    /// The opset that it was changed in, or came with.
    pub since: u32,
    /// The types that it is for: of its first input, or of the second where the first is a condition.
    pub types: Vec<ElemType>,
    /// Whether it broadcasts its inputs.
    pub broadcasts: bool,
}

/// All operators that are run, in each of their versions.
///
/// ```
/// assert!(unishape_onnx::supported().any(|operator| operator.name == "Where"));
/// ```
pub fn supported() -> impl Iterator<Item = Supported> {
    OPERATORS.iter().flat_map(|operator| {
        operator.versions.iter().map(|&(since, types)| Supported {
            name: operator.name,
            since,
            types: types.iter().collect(),
            broadcasts: matches!(operator.role, Role::Together | Role::OneWay),
        })
    })
}

/// An operator in the version that a model uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Version {
    pub(crate) operator: &'static Operator,
    /// The opset that it was last changed in.
    pub(crate) since: u32,
    types: Types,
}

impl Operator {
    pub(crate) fn named(name: &str) -> Option<&'static Operator> {
        OPERATORS.iter().find(|operator| operator.name == name)
    }

    /// The operator of a node, if it is one of these, whatever its version.
    pub(crate) fn of(node: &Node) -> Option<&'static Operator> {
        Operator::named(&node.op_type).filter(|_| node.is_onnx())
    }
}

impl Version {
    /// The operator of a node, in the version of an opset.
    pub(crate) fn of(node: &Node, opset: u32) -> Result<Version, Error> {
        let is_known = |name: &str| node.attribute(name).is_some();
        if !node.is_onnx() {
            return Err(Error::unsupported("operators of other domains than ONNX's own are not run"));
        }
        let Some(operator) = Operator::named(&node.op_type) else {
            let problem = match node.has_graph() {
                true => "an operator with graphs within it is not run",
                false => {
                    "this operator is not run: only element-wise operators are, and those that shapes are made with"
                }
            };
            return Err(Error::unsupported(problem));
        };
        if operator.role == Role::Together
            && let Some(name) = ["broadcast", "axis"].into_iter().find(|name| is_known(name))
        {
            let problem = format!(
                "the attribute {name} is how opset 6 broadcast, and is not followed; \
                 convert the model to opset 7 or later (onnx.version_converter)"
            );
            return Err(Error::unsupported(problem));
        }
        if opset > NEWEST_OPSET {
            let problem =
                format!("opset {opset} is newer than {NEWEST_OPSET}, the newest that is known here");
            return Err(Error::unsupported(problem));
        }
        let Some(&(since, types)) = operator.versions.iter().rev().find(|(since, _)| *since <= opset) else {
            let first = operator.versions.first().map_or(0, |(since, _)| *since);
            let problem = format!(
                "the model has opset {opset}, and {} is run from opset {first} on; \
                 convert the model (onnx.version_converter)",
                operator.name
            );
            return Err(Error::unsupported(problem));
        };
        let (fewest, most) = operator.inputs;
        // What was an attribute once is an input now.
        let fewest = if operator.name == "Unsqueeze" && opset >= 13 { 2 } else { fewest };
        if !(fewest..=most).contains(&node.inputs.len()) {
            let wanted = if fewest == most { format!("{fewest}") } else { format!("{fewest} or more") };
            return Err(Error::invalid(format!("it has {} inputs, not {wanted}", node.inputs.len())));
        }
        if let Some(at) = (0..fewest).find(|&at| node.input(at).is_none()) {
            return Err(Error::invalid(format!("input {at} is left out")));
        }
        Ok(Version { operator, since, types })
    }

    /// Refuses types that the operator is not for.
    pub(crate) fn check(&self, dtype: DType) -> Result<(), Error> {
        if self.types.has(dtype) {
            return Ok(());
        }
        let Operator { name, versions, .. } = self.operator;
        let later = versions.iter().find(|(since, types)| *since > self.since && types.has(dtype));
        let elem = ElemType::of(dtype);
        Err(Error::invalid(match later {
            Some((since, _)) => format!("{name} is for {elem} from opset {since} on"),
            None => format!("{name} is for {}, not for {elem}", self.types),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_operator_is_there_once_and_its_versions_grow() {
        let names: HashSet<&str> = OPERATORS.iter().map(|operator| operator.name).collect();
        assert_eq!(names.len(), OPERATORS.len());
        for operator in OPERATORS {
            assert!(operator.versions.is_sorted_by(|(a, _), (b, _)| a < b), "{}", operator.name);
            assert!(operator.versions.last().is_some_and(|(since, _)| *since <= NEWEST_OPSET));
        }
    }
}
