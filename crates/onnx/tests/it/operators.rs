//! Rules in which ONNX differs from NumPy, unary operators and shape operators.

use crate::support::{run, run_error, tensor};
use half::f16;
use ndarray::{arr0, arr1, arr2};
use std::slice::from_ref;
use unishape::{DType, Tensor};
use unishape_onnx::model_builder::{Attr, ModelBuilder, node_bytes};
use unishape_onnx::{CompiledModel, supported_operators};

/// Runs a single node with inputs a, b and c.
#[track_caller]
fn node(opset: u32, op_type: &str, inputs: &[Tensor], attributes: &[(&str, Attr<'_>)]) -> Tensor {
    let names = ["a", "b", "c"];
    let bytes = node_bytes(op_type, &names[..inputs.len()].join(" "), "z", attributes);
    let compiled = CompiledModel::from_node(&bytes, opset).expect("a supported node");
    let inputs = names.iter().zip(inputs).map(|(name, tensor)| (name, tensor.view()));
    compiled.run(inputs).expect("a valid run").swap_remove(0).1
}

#[test]
fn integer_division_truncates() {
    let (a, b) = (arr1(&[-7i32, 7, -7, 7, i32::MIN, 1]), arr1(&[2i32, -2, -2, 2, -1, 0]));
    let quotients = node(14, "Div", &[a.clone().into(), b.clone().into()], &[]);
    assert_eq!(quotients, arr1(&[-3i32, -3, 3, 3, i32::MIN, 0]).into());
    assert_eq!(
        node(13, "Mod", &[a.clone().into(), b.clone().into()], &[]),
        arr1(&[1i32, -1, -1, 1, 0, 0]).into()
    );
    let fmod = [("fmod", Attr::Int(1))];
    assert_eq!(node(13, "Mod", &[a.into(), b.into()], &fmod), arr1(&[-1i32, 1, -1, 1, 0, 0]).into());
}

#[test]
fn floored_mod_of_floats_needs_opset_28() {
    let (a, b) = (arr1(&[-4.5f32, 4.5, -0.0, 1.0]), arr1(&[2f32, -2.0, 2.0, f32::NEG_INFINITY]));
    let mods = node(28, "Mod", &[a.clone().into(), b.clone().into()], &[]);
    assert_eq!(mods, arr1(&[1.5f32, -1.5, 0.0, f32::NEG_INFINITY]).into());
    let builder = ModelBuilder::new(27)
        .unranked_input("a", DType::F32)
        .node("Mod", "a a", "z")
        .unranked_output("z", DType::F32);
    let error = run_error(&builder, &[("a", &a.into())]);
    assert_eq!(
        error,
        "node 0 (Mod Mod_of_z): before opset 28, Mod of floating-point numbers requires the attribute fmod = 1"
    );
}

#[test]
fn pow_has_the_type_of_its_base() {
    let (ints, floats) = (Tensor::from(arr1(&[1i32, 2, 3])), Tensor::from(arr1(&[0.5f32, 2.0, 3.0])));
    assert_eq!(node(15, "Pow", &[ints.clone(), floats.clone()], &[]), arr1(&[1i32, 4, 27]).into());
    assert_eq!(node(15, "Pow", &[floats.clone(), ints.clone()], &[]), arr1(&[0.5f32, 4.0, 27.0]).into());
    let (wide, bytes) = (Tensor::from(arr1(&[-2i64, 3, 10])), Tensor::from(arr1(&[3u8, 0, 18])));
    assert_eq!(
        node(15, "Pow", &[wide.clone(), bytes], &[]),
        arr1(&[-8i64, 1, 1_000_000_000_000_000_000]).into()
    );
    // The exponent exceeds the base's type; the result wraps modulo 2³².
    let huge = Tensor::from(arr1(&[5_000_000_000u64, 1, 2]));
    assert_eq!(node(15, "Pow", &[ints.clone(), huge], &[]), arr1(&[1i32, 2, 9]).into());
    let large = Tensor::from(arr1(&[63u64, 31, 41]));
    assert_eq!(node(15, "Pow", &[ints, large], &[]), arr1(&[1, i32::MIN, 3i32.wrapping_pow(41)]).into());
    // A scalar exponent of 2.
    let two = Tensor::from(arr0(2i64));
    assert_eq!(node(15, "Pow", &[floats.clone(), two], &[]), arr1(&[0.25f32, 4.0, 9.0]).into());
    // An exponent of higher rank than the base.
    let twos = Tensor::from(arr2(&[[2f32]]));
    assert_eq!(node(15, "Pow", &[floats, twos], &[]), arr2(&[[0.25f32, 4.0, 9.0]]).into());
}

#[test]
fn casts_follow_the_specification() {
    let to = |dtype: i64| [("to", Attr::Int(dtype))];
    let floats = Tensor::from(arr1(&[1.9f32, -1.9, 0.0, -0.0, f32::NAN]));
    // What NaN becomes is left open; NumPy and ONNX Runtime have the smallest integer on x86-64.
    assert_eq!(node(21, "Cast", from_ref(&floats), &to(6)), arr1(&[1i32, -1, 0, 0, i32::MIN]).into());
    assert_eq!(node(21, "Cast", &[floats], &to(9)), arr1(&[true, true, false, false, true]).into());
    assert_eq!(node(21, "Cast", &[arr1(&[200i16, -1]).into()], &to(3)), arr1(&[-56i8, -1]).into());
    let strings = ["2.5", "1e-5", "+INF", "-inf", "NaN"].map(String::from);
    let Tensor::F32(numbers) = node(21, "Cast", &[arr1(&strings).into()], &to(1)) else { panic!() };
    assert_eq!(
        numbers.as_slice().map(|x| &x[..4]),
        Some(&[2.5f32, 1e-5, f32::INFINITY, f32::NEG_INFINITY][..])
    );
    assert!(numbers[4].is_nan());
    let numbers = arr1(&[1f32, 0.1, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e10]);
    let strings = ["1.0", "0.1", "INF", "-INF", "NaN", "10000000000.0"].map(String::from);
    assert_eq!(node(21, "Cast", &[numbers.into()], &to(8)), arr1(&strings).into());
    let whole = [i64::MIN.to_string(), i64::MAX.to_string()];
    assert_eq!(node(21, "Cast", &[arr1(&whole).into()], &to(7)), arr1(&[i64::MIN, i64::MAX]).into());
    let like = Tensor::from(arr2(&[[0u8, 0]]));
    assert_eq!(node(19, "CastLike", &[arr1(&[300i32, 7]).into(), like], &[]), arr1(&[44u8, 7]).into());
}

#[test]
fn clip_bounds_are_optional() {
    let builder = |inputs: &str| {
        let builder = ModelBuilder::new(13).unranked_input("x", DType::I8).initializer("lo", arr0(-2i8));
        builder.initializer("hi", arr1(&[3i8])).node("Clip", inputs, "z").unranked_output("z", DType::I8)
    };
    let x = Tensor::from(arr1(&[-9i8, 0, 9]));
    let clipped = |inputs: &str| run(&builder(inputs), &[("x", &x)]).expect("a valid run");
    assert_eq!(clipped("x"), x);
    assert_eq!(clipped("x lo"), arr1(&[-2i8, 0, 9]).into());
    assert_eq!(clipped("x - hi"), arr1(&[-9i8, 0, 3]).into());
    assert_eq!(clipped("x lo hi"), arr1(&[-2i8, 0, 3]).into());
    // If min > max, max wins.
    assert_eq!(clipped("x hi lo"), arr1(&[-2i8, -2, -2]).into());
    let floats = [-5f32, 0.5, 5.0];
    let inputs = [Tensor::from(arr1(&floats)), arr0(-1f32).into(), arr0(1f32).into()];
    assert_eq!(node(11, "Clip", &inputs, &[]), arr1(&[-1f32, 0.5, 1.0]).into());
    // Bounds as attributes, before opset 11.
    let bounds = [("min", Attr::Float(-1.0)), ("max", Attr::Float(1.0))];
    assert_eq!(
        node(10, "Clip", &[arr1(&[-5f64, 0.5, 5.0]).into()], &bounds),
        arr1(&[-1f64, 0.5, 1.0]).into()
    );
    // A bound of rank 1 does not change the rank.
    let inputs = [Tensor::from(arr0(-5f32)), arr1(&[-1f32]).into(), arr1(&[1f32]).into()];
    assert_eq!(node(11, "Clip", &inputs, &[]), arr0(-1f32).into());
    // A deferred scalar bound.
    let builder =
        ModelBuilder::new(13).unranked_input("x", DType::F32).node("Neg", "x", "n").node("Clip", "x n", "z");
    let result = run(&builder.unranked_output("z", DType::F32), &[("x", &arr0(-3f32).into())]);
    assert_eq!(result, Ok(arr0(3f32).into()));
}

#[test]
fn is_inf_distinguishes_signs() {
    let x = Tensor::from(arr1(&[f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1.0]));
    let is_inf = |negative: i64, positive: i64| {
        let attributes = [("detect_negative", Attr::Int(negative)), ("detect_positive", Attr::Int(positive))];
        node(20, "IsInf", from_ref(&x), &attributes)
    };
    assert_eq!(is_inf(1, 1), arr1(&[true, true, false, false]).into());
    assert_eq!(is_inf(0, 1), arr1(&[true, false, false, false]).into());
    assert_eq!(is_inf(1, 0), arr1(&[false, true, false, false]).into());
    assert_eq!(is_inf(0, 0), arr1(&[false; 4]).into());
    assert_eq!(node(20, "IsNaN", &[x], &[]), arr1(&[false, false, true, false]).into());
}

/// Unary functions against their definitions in double precision.
#[test]
fn activations_match_their_definitions() {
    type Case = (&'static str, &'static [(&'static str, Attr<'static>)], fn(f64) -> f64);
    const CASES: &[Case] = &[
        ("Relu", &[], |x| x.max(0.0)),
        ("LeakyRelu", &[("alpha", Attr::Float(0.25))], |x| if x < 0.0 { 0.25 * x } else { x }),
        ("Elu", &[("alpha", Attr::Float(2.0))], |x| if x < 0.0 { 2.0 * x.exp_m1() } else { x }),
        ("Selu", &[], |x| {
            let (alpha, gamma) = (f64::from(1.673_263_2_f32), f64::from(1.050_701_f32));
            gamma * if x > 0.0 { x } else { alpha * x.exp_m1() }
        }),
        ("Celu", &[("alpha", Attr::Float(2.0))], |x| x.max(0.0) + (2.0 * (x / 2.0).exp_m1()).min(0.0)),
        ("ThresholdedRelu", &[("alpha", Attr::Float(1.5))], |x| if x > 1.5 { x } else { 0.0 }),
        ("HardSigmoid", &[("alpha", Attr::Float(0.5)), ("beta", Attr::Float(0.25))], |x| {
            (0.5 * x + 0.25).clamp(0.0, 1.0)
        }),
        ("HardSwish", &[], |x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0)),
        ("Softplus", &[], |x| x.exp().ln_1p()),
        ("Softsign", &[], |x| x / (1.0 + x.abs())),
        ("Mish", &[], |x| x * x.exp().ln_1p().tanh()),
        ("Swish", &[("alpha", Attr::Float(0.5))], |x| x / (1.0 + (-0.5 * x).exp())),
        ("Sigmoid", &[], |x| 1.0 / (1.0 + (-x).exp())),
        ("Gelu", &[("approximate", Attr::String("tanh"))], |x| {
            0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
        }),
        ("Reciprocal", &[], |x| 1.0 / x),
        ("Round", &[], f64::round_ties_even),
        ("Sinh", &[], f64::sinh),
        ("Atan", &[], f64::atan),
        ("Asinh", &[], f64::asinh),
    ];
    let numbers: Vec<f64> = (-40..40).map(|x| f64::from(x) * 0.25 + 0.125).collect();
    for (name, attributes, function) in CASES {
        for (dtype, tolerance) in
            [(DType::F64, 1e-14), (DType::F32, 3e-6), (DType::F16, 1.1e-3), (DType::BF16, 8e-3)]
        {
            let x = tensor(dtype, &[numbers.len()], &numbers);
            let result = node(28, name, &[x], attributes);
            assert_eq!(result.dtype(), dtype);
            let result: Vec<f64> = match result {
                Tensor::F64(x) => x.iter().copied().collect(),
                Tensor::F32(x) => x.iter().map(|&x| x.into()).collect(),
                Tensor::F16(x) => x.iter().map(|x: &f16| x.to_f64()).collect(),
                Tensor::BF16(x) => x.iter().map(|x| x.to_f64()).collect(),
                _ => unreachable!(),
            };
            for (x, result) in numbers.iter().zip(result) {
                let expected = function(*x);
                // The tolerance is absolute near 0, where half precision loses relative accuracy.
                let difference = (result - expected).abs();
                assert!(
                    difference <= tolerance * expected.abs().max(0.02),
                    "{name} of {dtype} {x}: {result}, {expected}"
                );
            }
        }
    }
}

#[test]
fn shape_operators() {
    let x = Tensor::from(arr2(&[[1f32, 2.0, 3.0], [4.0, 5.0, 6.0]]));
    assert_eq!(node(15, "Shape", from_ref(&x), &[]), arr1(&[2i64, 3]).into());
    assert_eq!(node(15, "Shape", from_ref(&x), &[("start", Attr::Int(-1))]), arr1(&[3i64]).into());
    assert_eq!(node(15, "Size", from_ref(&x), &[]), arr0(6i64).into());
    let sizes = Tensor::from(arr1(&[1i64, -1]));
    assert_eq!(node(14, "Reshape", &[x.clone(), sizes], &[]).shape(), [1, 6]);
    let sizes = Tensor::from(arr1(&[0i64, 3]));
    assert_eq!(node(14, "Reshape", &[x.clone(), sizes.clone()], &[]).shape(), [2, 3]);
    let empty = tensor(DType::F32, &[2, 0], &[]);
    assert_eq!(node(14, "Reshape", &[empty, sizes], &[("allowzero", Attr::Int(1))]).shape(), [0, 3]);
    assert_eq!(node(13, "Unsqueeze", &[x.clone(), arr1(&[0i64, -1]).into()], &[]).shape(), [1, 2, 3, 1]);
    assert_eq!(node(11, "Squeeze", &[arr2(&[[1u8]]).into()], &[]), arr0(1u8).into());
    let gathered = node(13, "Gather", &[x.clone(), arr2(&[[2i64, -3]]).into()], &[("axis", Attr::Int(1))]);
    assert_eq!(gathered.shape(), [2, 1, 2]);
    let strings = Tensor::from(arr1(&["a".to_string(), "b".into()]));
    let concatenated = node(13, "Concat", &[strings.clone(), strings.clone()], &[("axis", Attr::Int(0))]);
    assert_eq!(concatenated, arr1(&["a", "b", "a", "b"].map(String::from)).into());
    let attributes = [("value", Attr::Tensor(&Tensor::from(arr1(&[7i8]))))];
    assert_eq!(node(20, "ConstantOfShape", &[arr1(&[2i64]).into()], &attributes), arr1(&[7i8, 7]).into());
    let concatenated = node(20, "StringConcat", &[strings.clone(), arr0("!".to_string()).into()], &[]);
    assert_eq!(concatenated, arr1(&["a!".to_string(), "b!".into()]).into());
}

#[test]
fn supported_operators_are_listed_by_version() {
    let versions = |name: &str| -> Vec<(u32, usize, bool)> {
        let all = supported_operators().filter(|operator| operator.name == name);
        all.map(|operator| (operator.since, operator.types.len(), operator.broadcasts)).collect()
    };
    assert_eq!(versions("Add"), [(7, 7, true), (13, 8, true), (14, 12, true)]);
    assert_eq!(versions("PRelu"), [(7, 3, true), (9, 7, true), (16, 8, true)]);
    assert_eq!(versions("Not"), [(1, 1, false)]);
    assert_eq!(versions("MatMul"), []);
}

/// They broadcast from opset 8 on.
#[test]
fn sums_of_one_shape() {
    let (pair, single) = (Tensor::from(arr1(&[1f32, 2.0])), Tensor::from(arr1(&[10f32])));
    let sum = Tensor::from(arr1(&[2f32, 4.0]));
    assert_eq!(node(7, "Sum", &[pair.clone(), pair.clone()], &[]), sum);
    assert_eq!(node(8, "Sum", &[pair.clone(), single.clone()], &[]), arr1(&[11f32, 12.0]).into());
    let compiled =
        CompiledModel::from_node(&node_bytes("Sum", "a b", "z", &[]), 7).expect("a supported node");
    let error = compiled.run([("a", pair.view()), ("b", single.view())]).expect_err("two shapes").to_string();
    assert!(error.contains("before opset 8 all inputs must have the same shape"), "{error}");
}

/// Axes are an attribute before opset 13, and then an input.
#[test]
fn axes_of_unsqueeze() {
    let x = Tensor::from(arr1(&[1f32, 2.0]));
    let axes = [("axes", Attr::Ints(&[1]))];
    assert_eq!(node(12, "Unsqueeze", from_ref(&x), &axes), arr2(&[[1f32], [2.0]]).into());
    let error = |opset: u32| {
        let compiled = CompiledModel::from_node(&node_bytes("Unsqueeze", "a", "z", &[]), opset);
        let result = compiled.and_then(|compiled| compiled.run([("a", x.view())]));
        result.expect_err("no axes").to_string()
    };
    assert_eq!(error(12), "node 0 (Unsqueeze Unsqueeze_of_z): the attribute axes is missing");
    assert_eq!(error(13), "node 0 (Unsqueeze Unsqueeze_of_z): expected 2 inputs, got 1");
}

#[test]
fn slices_in_both_directions() {
    let x = Tensor::from(arr1(&[0i32, 1, 2, 3, 4]));
    let slice = |start: i64, end: i64, step: i64| {
        let [start, end, axis, step] = [start, end, 0, step].map(|int| Tensor::from(arr1(&[int])));
        let builder = ModelBuilder::new(13).input("x", DType::I32, "5");
        let builder = builder.initializer("s", start).initializer("e", end).initializer("a", axis);
        let builder = builder.initializer("t", step).node("Slice", "x s e a t", "y");
        run(&builder.unranked_output("y", DType::I32), &[("x", &x)])
    };
    for (start, end, step, expected) in [
        (1, 4, 1, &[1, 2, 3][..]),
        (-3, i64::MAX, 1, &[2, 3, 4]),
        (0, -1, 2, &[0, 2]),
        (3, 1, 1, &[]),
        (3, 0, -1, &[3, 2, 1]),
        (i64::MAX, i64::MIN, -1, &[4, 3, 2, 1, 0]),
        (-1, -4, -2, &[4, 2]),
        (-2, 0, -1, &[3, 2, 1]),
        (1, 3, -1, &[]),
        (0, i64::MIN, -1, &[0]),
        // Unlike in NumPy, a start before the first element is the first element.
        (-9, i64::MIN, -1, &[0]),
        (-9, 0, -1, &[]),
        (4, 9, -1, &[]),
        (9, 9, 1, &[]),
    ] {
        let got = slice(start, end, step).expect("a valid run");
        assert_eq!(got, arr1(expected).into(), "{start}:{end}:{step}");
    }
    let error = slice(0, 5, 0).expect_err("a step of 0").to_string();
    assert!(error.ends_with("the step of a slice is 0 or out of range"), "{error}");
}

#[test]
fn indices_out_of_range() {
    for (index, expected) in [(0, Some(0)), (4, Some(4)), (-5, Some(0)), (5, None), (-6, None)] {
        let builder =
            ModelBuilder::new(13).input("x", DType::I32, "5").initializer("i", arr1(&[index as i64]));
        let builder = builder.node("Gather", "x i", "y").unranked_output("y", DType::I32);
        let inputs = [("x", &Tensor::from(arr1(&[0i32, 1, 2, 3, 4])))];
        match expected {
            Some(element) => {
                assert_eq!(run(&builder, &inputs).expect("a valid run"), arr1(&[element]).into())
            }
            None => assert!(
                run_error(&builder, &inputs).contains(&format!("index {index} is out of range for size 5"))
            ),
        }
    }
}

/// Without a value, an input that has a default or no consumer is accepted.
#[test]
fn inputs_without_values() {
    let builder = ModelBuilder::new(21)
        .input("x", DType::I32, "1")
        .input("unused", DType::I32, "1")
        .input("default", DType::I32, "1")
        .initializer("default", arr1(&[5i32]))
        .node("Add", "x default", "y")
        .unranked_output("y", DType::I32);
    let compiled = CompiledModel::new(&builder.build().expect("a model")).expect("a supported model");
    assert_eq!(compiled.inputs().collect::<Vec<_>>(), ["x", "unused"]);
    assert_eq!(compiled.outputs().collect::<Vec<_>>(), ["y"]);
    let x = Tensor::from(arr1(&[2i32]));
    assert_eq!(run(&builder, &[("x", &x)]).expect("a valid run"), arr1(&[7i32]).into());
    assert_eq!(run(&builder, &[("x", &x), ("default", &x)]).expect("a valid run"), arr1(&[4i32]).into());
    assert!(run_error(&builder, &[("default", &x)]).ends_with("no value for the input x"));
}

#[test]
fn strings_become_numbers() {
    let cast = |strings: [&str; 2], to: i64, dtype: DType| {
        let builder = ModelBuilder::new(21).input("x", DType::Str, "2");
        let builder =
            builder.node_with("Cast", "x", "y", &[("to", Attr::Int(to))]).unranked_output("y", dtype);
        run(&builder, &[("x", &Tensor::from(arr1(&strings.map(String::from))))])
    };
    // Exactly, where float64 does not hold them.
    let max = [u64::MAX.to_string(), i64::MAX.to_string()];
    assert_eq!(cast([&max[0], "7"], 13, DType::U64).expect("a run"), arr1(&[u64::MAX, 7]).into());
    assert_eq!(cast([&max[1], "-7"], 7, DType::I64).expect("a run"), arr1(&[i64::MAX, -7]).into());
    assert_eq!(cast(["1e3", "-7"], 7, DType::I64).expect("a run"), arr1(&[1000i64, -7]).into());
    assert_eq!(cast(["0.1", " 2 "], 1, DType::F32).expect("a run"), arr1(&[0.1f32, 2.0]).into());
    assert_eq!(cast(["0.1", "2"], 11, DType::F64).expect("a run"), arr1(&[0.1f64, 2.0]).into());
    let error = cast(["x", "2"], 1, DType::F32).expect_err("no number").to_string();
    assert!(error.ends_with("cannot cast 'x' to float32"), "{error}");
}
