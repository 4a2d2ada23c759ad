//! Operators of several steps against their formulas, and casts, powers and constants.

use crate::support::{run, tensor};
use unishape::{DType, Tensor};
use unishape_onnx::model_builder::{Attr, ModelBuilder};

const X: [f64; 6] = [-4.0, -0.75, 0.0, 0.5, 1.25, 3.5];

fn apply(op_type: &str, attributes: &[(&str, Attr<'_>)]) -> Vec<f64> {
    let builder = ModelBuilder::new(28).input("x", DType::F64, "6").node_with(op_type, "x", "y", attributes);
    let result = run(&builder.unranked_output("y", DType::F64), &[("x", &tensor(DType::F64, &[6], &X))]);
    let Tensor::F64(result) = result.expect("a valid run") else { panic!("{op_type} changed the type") };
    result.into_iter().collect()
}

#[test]
fn activations_equal_their_formulas() {
    type Case<'a> = (&'a str, Vec<(&'a str, Attr<'a>)>, fn(f64) -> f64);
    fn softplus(x: f64) -> f64 {
        x.exp().ln_1p()
    }
    let cases: Vec<Case<'_>> = vec![
        ("Relu", vec![], |x| x.max(0.0)),
        ("LeakyRelu", vec![("alpha", Attr::Float(0.5))], |x| if x < 0.0 { 0.5 * x } else { x }),
        ("Elu", vec![("alpha", Attr::Float(2.0))], |x| if x < 0.0 { 2.0 * x.exp_m1() } else { x }),
        ("Selu", vec![("alpha", Attr::Float(2.0)), ("gamma", Attr::Float(3.0))], |x| {
            3.0 * if x > 0.0 { x } else { 2.0 * x.exp_m1() }
        }),
        ("Celu", vec![("alpha", Attr::Float(2.0))], |x| x.max(0.0) + (2.0 * (x / 2.0).exp_m1()).min(0.0)),
        ("ThresholdedRelu", vec![("alpha", Attr::Float(1.25))], |x| if x > 1.25 { x } else { 0.0 }),
        ("HardSigmoid", vec![("alpha", Attr::Float(0.25)), ("beta", Attr::Float(0.75))], |x| {
            (0.25 * x + 0.75).clamp(0.0, 1.0)
        }),
        ("HardSwish", vec![], |x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0)),
        ("Softplus", vec![], softplus),
        ("Softsign", vec![], |x| x / (x.abs() + 1.0)),
        ("Mish", vec![], |x| x * softplus(x).tanh()),
        ("Gelu", vec![("approximate", Attr::String("tanh"))], |x| {
            0.5 * x * (1.0 + ((x + 0.044_715 * x.powi(3)) * (2.0 / std::f64::consts::PI).sqrt()).tanh())
        }),
        ("Swish", vec![("alpha", Attr::Float(0.5))], |x| x / (1.0 + (-0.5 * x).exp())),
    ];
    for (op_type, attributes, formula) in cases {
        for (&x, got) in X.iter().zip(apply(op_type, &attributes)) {
            assert!((got - formula(x)).abs() < 1e-12, "{op_type} of {x}: {got}, not {}", formula(x));
        }
    }
    // Φ(x), from tables of the normal distribution.
    for (x, got) in X.into_iter().zip(apply("Gelu", &[])) {
        let wanted = match x {
            -4.0 => -4.0 * 3.167_124_183_311_998_6e-5,
            0.0 => 0.0,
            0.5 => 0.5 * 0.691_462_461_274_013,
            _ => continue,
        };
        assert!((got - wanted).abs() < 1e-12, "{x}: {got}");
    }
}

/// Opset 9 supports integers.
#[test]
fn erf_of_integers_is_truncated() {
    let builder = ModelBuilder::new(9).input("x", DType::I32, "3").node("Erf", "x", "y");
    let result =
        run(&builder.unranked_output("y", DType::I32), &[("x", &tensor(DType::I32, &[3], &[0.0, 1.0, 9.0]))]);
    assert_eq!(result.expect("a valid run"), tensor(DType::I32, &[3], &[0.0, 0.0, 1.0]));
}

#[test]
fn cast_like_has_the_type_of_its_second_input() {
    let builder = ModelBuilder::new(21).input("x", DType::F32, "2").input("like", DType::I16, "1");
    let builder =
        builder.node("CastLike", "x like", "c").node("Add", "c like", "y").unranked_output("y", DType::I16);
    let inputs = [tensor(DType::F32, &[2], &[1.5, -2.5]), tensor(DType::I16, &[1], &[3.0])];
    let result = run(&builder, &[("x", &inputs[0]), ("like", &inputs[1])]);
    assert_eq!(result.expect("a valid run"), tensor(DType::I16, &[2], &[4.0, 1.0]));
}

#[test]
fn powers_of_different_types_have_the_type_of_the_base() {
    for (base, exponent, x, y, expected) in [
        (DType::I32, DType::I8, 3.0, 3.0, 27.0),
        (DType::I32, DType::U64, 2.0, 5.0, 32.0),
        (DType::I32, DType::F32, 4.0, 0.5, 2.0),
        (DType::F32, DType::I64, 1.5, 2.0, 2.25),
    ] {
        let builder = ModelBuilder::new(15).input("x", base, "1").input("y", exponent, "1");
        let builder = builder.node("Pow", "x y", "z").unranked_output("z", base);
        let inputs = [tensor(base, &[1], &[x]), tensor(exponent, &[1], &[y])];
        let result = run(&builder, &[("x", &inputs[0]), ("y", &inputs[1])]);
        assert_eq!(result.expect("a valid run"), tensor(base, &[1], &[expected]), "{base} to the {exponent}");
    }
}

#[test]
fn lists_of_integers_are_constants() {
    let builder = ModelBuilder::new(21).input("x", DType::I64, "3").node_with(
        "Constant",
        "",
        "c",
        &[("value_ints", Attr::Ints(&[5, -6, 7]))],
    );
    let builder = builder.node("Add", "x c", "y").unranked_output("y", DType::I64);
    let result = run(&builder, &[("x", &tensor(DType::I64, &[3], &[1.0, 2.0, 3.0]))]);
    assert_eq!(result.expect("a valid run"), tensor(DType::I64, &[3], &[6.0, -4.0, 10.0]));
}

#[test]
fn bounds_of_clip_are_scalars() {
    let clip = |shape: &[usize], numbers: &[f64]| {
        // The lower bound is computed, the upper one is an input.
        let builder = ModelBuilder::new(21).input("x", DType::F32, "3").unranked_input("b", DType::F32);
        let builder = builder.node("Neg", "b", "min").node("Clip", "x min b", "y");
        let inputs = [tensor(DType::F32, &[3], &[-5.0, 0.5, 5.0]), tensor(DType::F32, shape, numbers)];
        run(&builder.unranked_output("y", DType::F32), &[("x", &inputs[0]), ("b", &inputs[1])])
    };
    for shape in [&[][..], &[1]] {
        assert_eq!(clip(shape, &[2.0]).expect("a valid run"), tensor(DType::F32, &[3], &[-2.0, 0.5, 2.0]));
    }
    for (shape, numbers) in [(&[1, 1][..], &[2.0][..]), (&[3], &[1.0, 2.0, 3.0])] {
        let error = clip(shape, numbers).expect_err("bounds of several dimensions").to_string();
        assert!(error.ends_with("the bounds of Clip must be scalars"), "{error}");
    }
    // Attributes before opset 11.
    let attributes = [("min", Attr::Float(-1.0)), ("max", Attr::Float(2.0))];
    let builder = ModelBuilder::new(10).input("x", DType::F32, "3").node_with("Clip", "x", "y", &attributes);
    let x = tensor(DType::F32, &[3], &[-5.0, 0.5, 5.0]);
    let result = run(&builder.unranked_output("y", DType::F32), &[("x", &x)]);
    assert_eq!(result.expect("a valid run"), tensor(DType::F32, &[3], &[-1.0, 0.5, 2.0]));
}
