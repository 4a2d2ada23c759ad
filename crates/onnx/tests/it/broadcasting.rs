//! Every operator that broadcasts gives, index by index, what its function gives for the oracle's elements: for
//! all of its types, any ranks, and sizes of 0.

use crate::support::{run, tensor};
use proptest::prelude::*;
use unishape::DType;
use unishape_onnx::build::{Attr, Build};
use unishape_oracle::{self as oracle, Reading, strategies};

/// An operator, how many inputs it has, its types, what it is for numbers that all of them have.
struct Case {
    name: &'static str,
    inputs: usize,
    types: &'static [DType],
    with: &'static [(&'static str, Attr<'static>)],
    /// Whether it gives truths rather than numbers.
    is_truth: bool,
    function: fn(&[f64], bool) -> f64,
}

use DType::{BF16, Bool, C64, C128, F16, F32, F64, I8, I16, I32, I64, Str, U8, U16, U32, U64};

const REAL: &[DType] = &[F16, BF16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64];
const FLOATS: &[DType] = &[F16, BF16, F32, F64];
const INTEGERS: &[DType] = &[I8, I16, I32, I64, U8, U16, U32, U64];
const ALL: &[DType] = &[F16, BF16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Bool, Str, C64, C128];

const fn case(name: &'static str, types: &'static [DType], function: fn(&[f64], bool) -> f64) -> Case {
    Case { name, inputs: 2, types, with: &[], is_truth: false, function }
}

const fn truth(name: &'static str, types: &'static [DType], function: fn(&[f64], bool) -> f64) -> Case {
    Case { is_truth: true, ..case(name, types, function) }
}

const fn many(name: &'static str, types: &'static [DType], function: fn(&[f64], bool) -> f64) -> Case {
    Case { inputs: 3, ..case(name, types, function) }
}

const CASES: &[Case] = &[
    case("Add", REAL, |x, _| x[0] + x[1]),
    case("Sub", REAL, |x, _| x[0] - x[1]),
    case("Mul", REAL, |x, _| x[0] * x[1]),
    case("Div", REAL, |x, whole| if whole { (x[0] / x[1]).trunc() } else { x[0] / x[1] }),
    case("Mod", REAL, |x, _| x[0] % x[1]),
    Case { with: &[("fmod", Attr::Int(1))], ..case("Mod", REAL, |x, _| x[0] % x[1]) },
    case("Pow", &[F16, BF16, F32, F64, I32, I64], |x, _| x[0].powi(x[1] as i32)),
    many("Max", REAL, |x, _| x.iter().copied().fold(0.0, f64::max)),
    many("Min", REAL, |x, _| x.iter().copied().fold(99.0, f64::min)),
    many("Sum", FLOATS, |x, _| x.iter().sum()),
    many("Mean", FLOATS, |x, _| x.iter().sum::<f64>() / 3.0),
    truth("And", &[Bool], |x, _| (x[0] != 0.0 && x[1] != 0.0).into()),
    truth("Or", &[Bool], |x, _| (x[0] != 0.0 || x[1] != 0.0).into()),
    truth("Xor", &[Bool], |x, _| ((x[0] != 0.0) != (x[1] != 0.0)).into()),
    Case {
        with: &[("direction", Attr::Text("LEFT"))],
        ..case("BitShift", INTEGERS, |x, _| x[0] * x[1].exp2())
    },
    Case {
        with: &[("direction", Attr::Text("RIGHT"))],
        ..case("BitShift", INTEGERS, |x, _| (x[0] / x[1].exp2()).floor())
    },
    case("BitwiseAnd", INTEGERS, |x, _| (x[0] as i64 & x[1] as i64) as f64),
    case("BitwiseOr", INTEGERS, |x, _| (x[0] as i64 | x[1] as i64) as f64),
    case("BitwiseXor", INTEGERS, |x, _| (x[0] as i64 ^ x[1] as i64) as f64),
    truth("Equal", ALL_BUT_COMPLEX, |x, _| (x[0] == x[1]).into()),
    truth("Greater", REAL, |x, _| (x[0] > x[1]).into()),
    truth("Less", REAL, |x, _| (x[0] < x[1]).into()),
    truth("GreaterOrEqual", REAL, |x, _| (x[0] >= x[1]).into()),
    truth("LessOrEqual", REAL, |x, _| (x[0] <= x[1]).into()),
    many("Where", ALL, |x, _| if x[0] != 0.0 { x[1] } else { x[2] }),
];

const ALL_BUT_COMPLEX: &[DType] = &[F16, BF16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Bool, Str];

/// Small numbers that every type has, and with which no operator leaves it: 8 to 11 and 1 to 3, or truths.
fn number(input: usize, at: usize, is_truth: bool) -> f64 {
    match (is_truth, input) {
        (true, _) => ((at * 7 + input) % 3 % 2) as f64,
        (false, 0) => (8 + (at * 5) % 4) as f64,
        (false, _) => (1 + (at * 7 + input) % 3) as f64,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn bc6_bc7_every_operator_broadcasts_as_specified(shapes in strategies::shapes(3..=3, 0..=5, 0..=3)) {
        for case in CASES {
            let shapes = &shapes[..case.inputs];
            for &dtype in case.types {
                let is_truth = |input: usize| dtype == Bool || case.name == "Where" && input == 0;
                let its_type = |input: usize| if is_truth(input) { Bool } else { dtype };
                let elements: Vec<oracle::Tensor<f64>> = shapes
                    .iter()
                    .enumerate()
                    .map(|(input, shape)| oracle::Tensor::from_fn(shape, |at| number(input, at, is_truth(input))))
                    .collect();
                let names = ["a", "b", "c"];
                let mut build = Build::new(28);
                for (input, name) in names[..case.inputs].iter().enumerate() {
                    build = build.open_input(name, its_type(input));
                }
                let gives = if case.is_truth { Bool } else { dtype };
                build = build
                    .node_with(case.name, &names[..case.inputs].join(" "), "z", case.with)
                    .open_output("z", gives);
                let given: Vec<_> = elements
                    .iter()
                    .enumerate()
                    .map(|(input, x)| tensor(its_type(input), &x.shape, &x.elements))
                    .collect();
                let given: Vec<_> = names.iter().copied().zip(&given).collect();
                let result = run(&build, &given);
                match oracle::broadcast(Reading::Standard, &elements) {
                    Err(_) => {
                        let error = result.expect_err("E1").to_string();
                        prop_assert!(error.starts_with(&format!("node 0 ({} ", case.name)), "{}", error);
                        prop_assert!(error.contains("E1: the shapes are incompatible"), "{}", error);
                    }
                    Ok(stretched) => {
                        let is_whole = INTEGERS.contains(&dtype);
                        let expected: Vec<f64> = (0..stretched[0].elements.len())
                            .map(|at| stretched.iter().map(|x| x.elements[at]).collect::<Vec<_>>())
                            .map(|x| (case.function)(&x, is_whole))
                            .collect();
                        let expected = tensor(gives, &stretched[0].shape, &expected);
                        prop_assert_eq!(result, Ok(expected), "{} of {}", case.name, dtype);
                    }
                }
            }
        }
    }

    #[test]
    fn bc12_prelu_stretches_its_slope_alone(shapes in strategies::shapes(2..=2, 0..=4, 0..=3)) {
        let [x, slope] = &shapes[..] else { unreachable!() };
        let elements = |shape: &[usize], first: f64| oracle::Tensor::from_fn(shape, |at| first + (at % 5) as f64);
        let (xs, slopes) = (elements(x, -2.0), elements(slope, 2.0));
        for dtype in [F16, BF16, F32, F64, I32, I64] {
            let build = Build::new(21).open_input("x", dtype).open_input("s", dtype).node("PRelu", "x s", "y");
            let build = build.open_output("y", dtype);
            let given = [("x", &tensor(dtype, x, &xs.elements)), ("s", &tensor(dtype, slope, &slopes.elements))];
            let result = run(&build, &given);
            match oracle::broadcast(Reading::Standard, &[xs.clone(), slopes.clone()]) {
                Ok(stretched) if stretched[0].shape == *x => {
                    let function = |(&x, &slope): (&f64, &f64)| if x < 0.0 { slope * x } else { x };
                    let expected: Vec<f64> = stretched[0].elements.iter().zip(&stretched[1].elements).map(function).collect();
                    prop_assert_eq!(result, Ok(tensor(dtype, x, &expected)));
                }
                _ => prop_assert!(result.is_err()),
            }
        }
    }

    #[test]
    fn bc6_bc7_expand_broadcasts_both_ways(shapes in strategies::shapes(2..=2, 0..=5, 0..=3)) {
        let [x, target] = &shapes[..] else { unreachable!() };
        let sizes: Vec<f64> = target.iter().map(|&size| size as f64).collect();
        let sizes = tensor(I64, &[target.len()], &sizes);
        for &dtype in ALL {
            let xs = oracle::Tensor::from_fn(x, |at| number(0, at, dtype == Bool));
            let build = Build::new(13).open_input("x", dtype).open_input("s", I64).node("Expand", "x s", "y");
            let build = build.open_output("y", dtype);
            let result = run(&build, &[("x", &tensor(dtype, x, &xs.elements)), ("s", &sizes)]);
            match oracle::broadcast(Reading::Standard, &[xs, oracle::Tensor::from_fn(target, |_| 0.0)]) {
                Ok(stretched) => {
                    prop_assert_eq!(result, Ok(tensor(dtype, &stretched[0].shape, &stretched[0].elements)));
                }
                Err(_) => prop_assert!(result.is_err()),
            }
        }
    }
}
