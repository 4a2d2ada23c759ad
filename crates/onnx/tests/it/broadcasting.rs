//! Every operator that broadcasts agrees with the oracle, element by element.
//!
//! Covers all element types, ranks 0 to 5 and sizes 0 to 3.

use crate::support::{run, tensor};
use proptest::prelude::*;
use unishape::DType;
use unishape_onnx::model_builder::{Attr, ModelBuilder};
use unishape_oracle::{self as oracle, Reading, strategies};

/// Test case: an operator and its scalar function for numbers that all its types can represent.
struct Case {
    name: &'static str,
    inputs: usize,
    types: &'static [DType],
    attributes: &'static [(&'static str, Attr<'static>)],
    has_bool_output: bool,
    /// Of the elements of all inputs, and whether the type is an integer.
    function: fn(&[f64], bool) -> f64,
}

use DType::{BF16, Bool, C64, C128, F16, F32, F64, I8, I16, I32, I64, Str, U8, U16, U32, U64};

const REAL: &[DType] = &[F16, BF16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64];
const FLOATS: &[DType] = &[F16, BF16, F32, F64];
const INTEGERS: &[DType] = &[I8, I16, I32, I64, U8, U16, U32, U64];
const ALL: &[DType] = &[F16, BF16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Bool, Str, C64, C128];

const fn case(name: &'static str, types: &'static [DType], function: fn(&[f64], bool) -> f64) -> Case {
    Case { name, inputs: 2, types, attributes: &[], has_bool_output: false, function }
}

const fn predicate(name: &'static str, types: &'static [DType], function: fn(&[f64], bool) -> f64) -> Case {
    Case { has_bool_output: true, ..case(name, types, function) }
}

const fn ternary(name: &'static str, types: &'static [DType], function: fn(&[f64], bool) -> f64) -> Case {
    Case { inputs: 3, ..case(name, types, function) }
}

const CASES: &[Case] = &[
    case("Add", REAL, |x, _| x[0] + x[1]),
    case("Sub", REAL, |x, _| x[0] - x[1]),
    case("Mul", REAL, |x, _| x[0] * x[1]),
    case("Div", REAL, |x, is_integer| if is_integer { (x[0] / x[1]).trunc() } else { x[0] / x[1] }),
    case("Mod", REAL, |x, _| x[0] % x[1]),
    Case { attributes: &[("fmod", Attr::Int(1))], ..case("Mod", REAL, |x, _| x[0] % x[1]) },
    case("Pow", &[F16, BF16, F32, F64, I32, I64], |x, _| x[0].powi(x[1] as i32)),
    ternary("Max", REAL, |x, _| x.iter().copied().fold(0.0, f64::max)),
    ternary("Min", REAL, |x, _| x.iter().copied().fold(99.0, f64::min)),
    ternary("Sum", FLOATS, |x, _| x.iter().sum()),
    ternary("Mean", FLOATS, |x, _| x.iter().sum::<f64>() / 3.0),
    predicate("And", &[Bool], |x, _| (x[0] != 0.0 && x[1] != 0.0).into()),
    predicate("Or", &[Bool], |x, _| (x[0] != 0.0 || x[1] != 0.0).into()),
    predicate("Xor", &[Bool], |x, _| ((x[0] != 0.0) != (x[1] != 0.0)).into()),
    Case {
        attributes: &[("direction", Attr::String("LEFT"))],
        ..case("BitShift", INTEGERS, |x, _| x[0] * x[1].exp2())
    },
    Case {
        attributes: &[("direction", Attr::String("RIGHT"))],
        ..case("BitShift", INTEGERS, |x, _| (x[0] / x[1].exp2()).floor())
    },
    case("BitwiseAnd", INTEGERS, |x, _| (x[0] as i64 & x[1] as i64) as f64),
    case("BitwiseOr", INTEGERS, |x, _| (x[0] as i64 | x[1] as i64) as f64),
    case("BitwiseXor", INTEGERS, |x, _| (x[0] as i64 ^ x[1] as i64) as f64),
    predicate("Equal", ALL_BUT_COMPLEX, |x, _| (x[0] == x[1]).into()),
    predicate("Greater", REAL, |x, _| (x[0] > x[1]).into()),
    predicate("Less", REAL, |x, _| (x[0] < x[1]).into()),
    predicate("GreaterOrEqual", REAL, |x, _| (x[0] >= x[1]).into()),
    predicate("LessOrEqual", REAL, |x, _| (x[0] <= x[1]).into()),
    ternary("Where", ALL, |x, _| if x[0] != 0.0 { x[1] } else { x[2] }),
];

const ALL_BUT_COMPLEX: &[DType] = &[F16, BF16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Bool, Str];

/// Small numbers for which no operator overflows any type: 8 to 11 and 1 to 3, or 0 and 1 for bool.
fn number(input: usize, index: usize, is_bool: bool) -> f64 {
    match (is_bool, input) {
        (true, _) => ((index * 7 + input) % 3 % 2) as f64,
        (false, 0) => (8 + (index * 5) % 4) as f64,
        (false, _) => (1 + (index * 7 + input) % 3) as f64,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn bc6_bc7_every_operator_broadcasts_as_specified(shapes in strategies::shapes(3..=3, 0..=5, 0..=3)) {
        for case in CASES {
            let shapes = &shapes[..case.inputs];
            for &dtype in case.types {
                let is_bool = |input: usize| dtype == Bool || case.name == "Where" && input == 0;
                let input_type = |input: usize| if is_bool(input) { Bool } else { dtype };
                let elements: Vec<oracle::Tensor<f64>> = shapes
                    .iter()
                    .enumerate()
                    .map(|(input, shape)| {
                        oracle::Tensor::from_fn(shape, |index| number(input, index, is_bool(input)))
                    })
                    .collect();
                let names = ["a", "b", "c"];
                let mut builder = ModelBuilder::new(28);
                for (input, name) in names[..case.inputs].iter().enumerate() {
                    builder = builder.unranked_input(name, input_type(input));
                }
                let output_type = if case.has_bool_output { Bool } else { dtype };
                builder = builder
                    .node_with(case.name, &names[..case.inputs].join(" "), "z", case.attributes)
                    .unranked_output("z", output_type);
                let inputs: Vec<_> = elements
                    .iter()
                    .enumerate()
                    .map(|(input, x)| tensor(input_type(input), &x.shape, &x.elements))
                    .collect();
                let inputs: Vec<_> = names.iter().copied().zip(&inputs).collect();
                let result = run(&builder, &inputs);
                match oracle::broadcast(Reading::Standard, &elements) {
                    Err(_) => {
                        let error = result.expect_err("E1").to_string();
                        prop_assert!(error.starts_with(&format!("node 0 ({} ", case.name)), "{}", error);
                        prop_assert!(error.contains("E1: incompatible shapes in dimension"), "{}", error);
                    }
                    Ok(broadcast) => {
                        let is_integer = INTEGERS.contains(&dtype);
                        let expected: Vec<f64> = (0..broadcast[0].elements.len())
                            .map(|index| broadcast.iter().map(|x| x.elements[index]).collect::<Vec<_>>())
                            .map(|x| (case.function)(&x, is_integer))
                            .collect();
                        let expected = tensor(output_type, &broadcast[0].shape, &expected);
                        prop_assert_eq!(result, Ok(expected), "{} of {}", case.name, dtype);
                    }
                }
            }
        }
    }

    #[test]
    fn bc12_prelu_stretches_only_the_slope(shapes in strategies::shapes(2..=2, 0..=4, 0..=3)) {
        let [x, slope] = &shapes[..] else { unreachable!() };
        let elements = |shape: &[usize], first: f64| {
            oracle::Tensor::from_fn(shape, |index| first + (index % 5) as f64)
        };
        let (xs, slopes) = (elements(x, -2.0), elements(slope, 2.0));
        for dtype in [F16, BF16, F32, F64, I32, I64] {
            let builder = ModelBuilder::new(21).unranked_input("x", dtype).unranked_input("s", dtype);
            let builder = builder.node("PRelu", "x s", "y").unranked_output("y", dtype);
            let inputs = [("x", &tensor(dtype, x, &xs.elements)), ("s", &tensor(dtype, slope, &slopes.elements))];
            let result = run(&builder, &inputs);
            match oracle::broadcast(Reading::Standard, &[xs.clone(), slopes.clone()]) {
                Ok(broadcast) if broadcast[0].shape == *x => {
                    let function = |(&x, &slope): (&f64, &f64)| if x < 0.0 { slope * x } else { x };
                    let pairs = broadcast[0].elements.iter().zip(&broadcast[1].elements);
                    let expected: Vec<f64> = pairs.map(function).collect();
                    prop_assert_eq!(result, Ok(tensor(dtype, x, &expected)));
                }
                _ => prop_assert!(result.is_err()),
            }
        }
    }

    #[test]
    fn bc6_bc7_expand_broadcasts_multidirectionally(shapes in strategies::shapes(2..=2, 0..=5, 0..=3)) {
        let [x, target] = &shapes[..] else { unreachable!() };
        let sizes: Vec<f64> = target.iter().map(|&size| size as f64).collect();
        let sizes = tensor(I64, &[target.len()], &sizes);
        for &dtype in ALL {
            let xs = oracle::Tensor::from_fn(x, |index| number(0, index, dtype == Bool));
            let builder = ModelBuilder::new(13).unranked_input("x", dtype).unranked_input("s", I64);
            let builder = builder.node("Expand", "x s", "y").unranked_output("y", dtype);
            let result = run(&builder, &[("x", &tensor(dtype, x, &xs.elements)), ("s", &sizes)]);
            match oracle::broadcast(Reading::Standard, &[xs, oracle::Tensor::from_fn(target, |_| 0.0)]) {
                Ok(broadcast) => {
                    prop_assert_eq!(result, Ok(tensor(dtype, &broadcast[0].shape, &broadcast[0].elements)));
                }
                Err(_) => prop_assert!(result.is_err()),
            }
        }
    }
}
