//! Reductions and normalizations: results, inferred shapes, fusion and errors.

use crate::support::{run_error, tensor};
use ndarray::{arr1, arr2, arr3};
use unishape::{DType, Tensor};
use unishape_onnx::model_builder::{Attr, ModelBuilder, node_bytes};
use unishape_onnx::{CompiledModel, explain, infer_shapes};

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// Runs a single node with inputs a, b, c, d and e.
fn try_node(
    opset: u32,
    op_type: &str,
    inputs: &[Tensor],
    attributes: &[(&str, Attr<'_>)],
) -> Result<Tensor, String> {
    let bytes = node_bytes(op_type, &NAMES[..inputs.len()].join(" "), "z", attributes);
    let compiled = CompiledModel::from_node(&bytes, opset).map_err(|error| error.to_string())?;
    let inputs = NAMES.iter().zip(inputs).map(|(name, tensor)| (name, tensor.view()));
    compiled.run(inputs).map(|mut outputs| outputs.swap_remove(0).1).map_err(|error| error.to_string())
}

#[track_caller]
fn node(opset: u32, op_type: &str, inputs: &[Tensor], attributes: &[(&str, Attr<'_>)]) -> Tensor {
    try_node(opset, op_type, inputs, attributes).expect("a valid run")
}

#[track_caller]
fn node_error(opset: u32, op_type: &str, inputs: &[Tensor], attributes: &[(&str, Attr<'_>)]) -> String {
    let error = try_node(opset, op_type, inputs, attributes).expect_err("the run fails");
    let context = format!("node 0 ({op_type} {op_type}_of_z): ");
    error.strip_prefix(&context).unwrap_or_else(|| panic!("{error} names no node")).to_owned()
}

fn axes(axes: &[i64]) -> Tensor {
    arr1(axes).into()
}

/// Numbers from 0 on, in a shape.
fn numbers(dtype: DType, shape: &[usize]) -> Tensor {
    let numbers: Vec<f64> = (0..shape.iter().product()).map(|number: usize| number as f64).collect();
    tensor(dtype, shape, &numbers)
}

#[test]
fn axes_are_an_attribute_or_an_input() {
    let x = Tensor::from(arr2(&[[1f32, 2.0], [3.0, 4.0]]));
    let columns = Tensor::from(arr2(&[[4f32, 6.0]]));
    assert_eq!(node(11, "ReduceSum", std::slice::from_ref(&x), &[("axes", Attr::Ints(&[0]))]), columns);
    assert_eq!(node(13, "ReduceSum", &[x.clone(), axes(&[-2])], &[]), columns);
    assert_eq!(
        node(17, "ReduceMax", std::slice::from_ref(&x), &[("axes", Attr::Ints(&[-1]))]),
        arr2(&[[2f32], [4.0]]).into()
    );
    let flat = [("keepdims", Attr::Int(0))];
    assert_eq!(node(18, "ReduceMax", &[x.clone(), axes(&[1])], &flat), arr1(&[2f32, 4.0]).into());
    // Without axes all are reduced, or none.
    assert_eq!(node(18, "ReduceProd", std::slice::from_ref(&x), &[]), arr2(&[[24f32]]).into());
    assert_eq!(node(18, "ReduceProd", &[x.clone(), axes(&[])], &[]), arr2(&[[24f32]]).into());
    let noop = [("noop_with_empty_axes", Attr::Int(1))];
    assert_eq!(node(18, "ReduceProd", std::slice::from_ref(&x), &noop), x);
    assert_eq!(
        node(18, "ReduceSumSquare", &[x.clone(), axes(&[])], &noop),
        arr2(&[[1f32, 4.0], [9.0, 16.0]]).into()
    );
    // A list of axes that the model computes.
    let builder = ModelBuilder::new(18)
        .input("x", DType::F32, "2 2")
        .initializer("one", arr1(&[1i64]))
        .node("Neg", "one", "axes")
        .node("ReduceSum", "x axes", "z")
        .unranked_output("z", DType::F32);
    assert_eq!(crate::support::run(&builder, &[("x", &x)]).ok(), Some(arr2(&[[3f32], [7.0]]).into()));
}

#[test]
fn results_have_the_type_of_the_input() {
    for dtype in
        [DType::I32, DType::I64, DType::U32, DType::U64, DType::F16, DType::BF16, DType::F32, DType::F64]
    {
        let x = tensor(dtype, &[2, 2], &[3.0, 4.0, 6.0, 8.0]);
        let is_float = matches!(dtype, DType::F16 | DType::BF16 | DType::F32 | DType::F64);
        for (op_type, expected) in [
            ("ReduceSum", [7.0, 14.0]),
            ("ReduceProd", [12.0, 48.0]),
            ("ReduceMean", if is_float { [3.5, 7.0] } else { [3.0, 7.0] }),
            ("ReduceL1", [7.0, 14.0]),
            ("ReduceL2", [5.0, 10.0]),
            ("ReduceSumSquare", [25.0, 100.0]),
            ("ReduceMax", [4.0, 8.0]),
            ("ReduceMin", [3.0, 6.0]),
        ] {
            let result = node(18, op_type, &[x.clone(), axes(&[1])], &[]);
            assert_eq!(result, tensor(dtype, &[2, 1], &expected), "{op_type} of {dtype}");
        }
    }
    // Sums wrap, means do not.
    let large = Tensor::from(arr1(&[i32::MAX, i32::MAX]));
    assert_eq!(node(18, "ReduceSum", std::slice::from_ref(&large), &[]), arr1(&[-2i32]).into());
    assert_eq!(node(18, "ReduceMean", &[large], &[]), arr1(&[i32::MAX]).into());
    assert_eq!(node(18, "ReduceMean", &[arr1(&[-7i32, 2]).into()], &[]), arr1(&[-2i32]).into());
    let bools = Tensor::from(arr2(&[[true, false], [true, true]]));
    assert_eq!(node(20, "ReduceMin", &[bools.clone(), axes(&[1])], &[]), arr2(&[[false], [true]]).into());
    assert_eq!(node_error(19, "ReduceMin", &[bools], &[]), "ReduceMin supports bool from opset 20");
}

#[test]
fn no_elements_have_an_identity_or_an_error() {
    let empty = |dtype: DType| tensor(dtype, &[2, 0], &[]);
    let of = |op_type: &str, dtype: DType| node(20, op_type, &[empty(dtype), axes(&[1])], &[]);
    let inf = f64::INFINITY;
    for (op_type, identity) in [
        ("ReduceSum", 0.0),
        ("ReduceSumSquare", 0.0),
        ("ReduceL1", 0.0),
        ("ReduceL2", 0.0),
        ("ReduceProd", 1.0),
        ("ReduceMax", -inf),
        ("ReduceMin", inf),
        ("ReduceLogSum", -inf),
        ("ReduceLogSumExp", -inf),
    ] {
        for dtype in [DType::F16, DType::F32, DType::F64, DType::BF16] {
            assert_eq!(of(op_type, dtype), tensor(dtype, &[2, 1], &[identity; 2]), "{op_type} of {dtype}");
        }
    }
    assert_eq!(of("ReduceMax", DType::I8), arr2(&[[i8::MIN], [i8::MIN]]).into());
    assert_eq!(of("ReduceMin", DType::U64), arr2(&[[u64::MAX], [u64::MAX]]).into());
    assert_eq!(of("ReduceMax", DType::Bool), arr2(&[[false], [false]]).into());
    let error = |op_type: &str, dtype: DType| node_error(18, op_type, &[empty(dtype), axes(&[1])], &[]);
    assert_eq!(
        error("ReduceMean", DType::F32),
        "axis 1 has size 0, and ONNX does not define ReduceMean of no elements"
    );
    assert_eq!(
        error("ReduceLogSum", DType::I32),
        "axis 1 has size 0, and ONNX does not define ReduceLogSum of integers of no elements"
    );
    let at_axis = [("axis", Attr::Int(1))];
    assert!(node_error(13, "ArgMax", &[empty(DType::F32)], &at_axis).ends_with("ArgMax of no elements"));
    // Without results, nothing is undefined.
    let nothing = tensor(DType::F32, &[0, 0], &[]);
    assert_eq!(node(13, "ArgMax", std::slice::from_ref(&nothing), &at_axis).shape(), [0, 1]);
    assert_eq!(node(18, "ReduceMean", &[nothing.clone(), axes(&[1])], &[]).shape(), [0, 1]);
    assert_eq!(node(13, "Softmax", &[nothing], &[]).shape(), [0, 0]);
}

#[test]
fn positions_are_of_the_first_or_last_extreme() {
    let x = Tensor::from(arr2(&[[2f32, 2.0, 1.0], [1.0, 3.0, 3.0]]));
    let at = |op_type: &str, attributes: &[(&str, Attr<'_>)]| {
        node(13, op_type, std::slice::from_ref(&x), attributes)
    };
    let last = ("select_last_index", Attr::Int(1));
    assert_eq!(at("ArgMax", &[("axis", Attr::Int(-1))]), arr2(&[[0i64], [1]]).into());
    assert_eq!(at("ArgMax", &[("axis", Attr::Int(1)), last]), arr2(&[[1i64], [2]]).into());
    assert_eq!(at("ArgMin", &[("keepdims", Attr::Int(0))]), arr1(&[1i64, 0, 0]).into());
    // Before opset 12 the attribute does not exist.
    let old = node(11, "ArgMax", std::slice::from_ref(&x), &[("axis", Attr::Int(1)), last]);
    assert_eq!(old, arr2(&[[0i64], [1]]).into());
}

#[test]
fn softmax_flattens_before_opset_13() {
    let x = tensor(DType::F64, &[2, 2, 2], &[0.0; 8]);
    let filled = |number: f64| tensor(DType::F64, &[2, 2, 2], &[number; 8]);
    assert_eq!(node(11, "Softmax", std::slice::from_ref(&x), &[]), filled(0.25));
    assert_eq!(node(13, "Softmax", std::slice::from_ref(&x), &[]), filled(0.5));
    assert_eq!(node(9, "Softmax", std::slice::from_ref(&x), &[("axis", Attr::Int(0))]), filled(0.125));
    assert_eq!(node(13, "LogSoftmax", &[x], &[("axis", Attr::Int(0))]), filled(0.5f64.ln()));
    let extreme = Tensor::from(arr1(&[1000f32, 1000.0, -1000.0]));
    assert_eq!(node(13, "Softmax", &[extreme], &[]), arr1(&[0.5f32, 0.5, 0.0]).into());
}

/// Mean, deviation and normalized elements are computed together, with the bits of each alone.
#[test]
fn outputs_of_layer_normalization_share_a_pass() {
    for (shape, axis) in
        [(&[300, 700][..], -1), (&[60, 50, 70], 1), (&[3, 40000], 1), (&[4, 5, 6], 0), (&[2, 3], 1)]
    {
        let count: usize = shape.iter().product();
        let numbers: Vec<f64> = (0..count).map(|i| ((i * i + 31 * i) % 1013) as f64 / 7.0 - 50.0).collect();
        let x = tensor(DType::F32, shape, &numbers);
        let scale = tensor(DType::F32, &shape[shape.len() - 1..], &numbers[..shape[shape.len() - 1]]);
        let dims = shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
        let builder = ModelBuilder::new(17)
            .input("x", DType::F32, &dims)
            .input("scale", DType::F32, &shape[shape.len() - 1].to_string())
            .node_with("LayerNormalization", "x scale", "y mean inverse", &[("axis", Attr::Int(axis))])
            .unranked_output("y", DType::F32)
            .unranked_output("mean", DType::F32)
            .unranked_output("inverse", DType::F32);
        let model = builder.build().expect("a model");
        let all = CompiledModel::new(&model).expect("a supported model");
        let inputs = || [("x", x.view()), ("scale", scale.view())];
        let plan = all.plan(inputs()).expect("a valid run");
        let with: Vec<&str> = plan.lines().filter(|line| line.contains(", with ")).collect();
        assert_eq!(
            with,
            ["y, with mean and inverse:", "mean, with y and inverse:", "inverse, with y and mean:"]
        );
        let outputs = all.run(inputs()).expect("a valid run");
        for (name, result) in &outputs {
            let alone = CompiledModel::with_outputs(&model, &[name]).expect("a supported model");
            let found = alone.run([("x", x.view()), ("scale", scale.view())]).expect("a valid run");
            assert_eq!(found[0].1, *result, "{name} of {shape:?}");
        }
        // Some results go to preallocated tensors.
        let buffers = vec![outputs[0].1.clone(), tensor(DType::F32, &[1], &[0.0]), outputs[2].1.clone()];
        assert_eq!(all.run_reusing(inputs(), buffers).expect("a valid run"), outputs, "{shape:?}");
    }
}

#[test]
fn layer_normalization_has_three_outputs() {
    let builder = ModelBuilder::new(17)
        .input("x", DType::F64, "N 2")
        .input("scale", DType::F64, "2")
        .node_with("LayerNormalization", "x scale", "y mean inverse", &[("epsilon", Attr::Float(0.0))])
        .node("Abs", "y", "z")
        .output("z", DType::F64, "N 2")
        .unranked_output("mean", DType::F32)
        .unranked_output("inverse", DType::F32);
    let model = builder.build().expect("a model");
    let x = Tensor::from(arr2(&[[1.0, 5.0], [-1.0, 0.0], [0.5, 0.0]]));
    let scale = Tensor::from(arr1(&[1.0, 3.0]));
    let all = CompiledModel::new(&model).expect("a supported model");
    let outputs = all.run([("x", x.view()), ("scale", scale.view())]).expect("a valid run");
    assert_eq!(outputs[0].1, arr2(&[[1.0, 3.0]; 3]).into());
    assert_eq!(outputs[1].1, arr2(&[[3f32], [-0.5], [0.25]]).into());
    assert_eq!(outputs[2].1, arr2(&[[0.5f32], [2.0], [4.0]]).into());
    let inferred = infer_shapes(&model);
    let text = |name: &str| {
        inferred.value(name).map(|value| (value.to_string(), value.elem().map(|e| e.to_string())))
    };
    assert_eq!(text("mean"), Some(("Nx1".into(), Some("float".into()))));
    assert_eq!(text("inverse"), text("mean"));
    // Any subset can be requested.
    for names in [&["inverse"][..], &["y", "z"], &["inverse", "z"], &["mean", "y", "mean"]] {
        let some = CompiledModel::with_outputs(&model, names).expect("a supported model");
        let outputs = some.run([("x", x.view()), ("scale", scale.view())]).expect("a valid run");
        assert_eq!(outputs.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), names);
        for (name, result) in outputs.iter().filter(|(name, _)| name != "y") {
            let expected = all.outputs().position(|output| output == name).expect("an output");
            assert_eq!(
                *result,
                all.run([("x", x.view()), ("scale", scale.view())]).expect("a run")[expected].1
            );
        }
    }
}

/// Along the last axis by default.
#[test]
fn default_axes_of_normalizations() {
    // Rows of 3 and 4, and of 6 and 8.
    let x = tensor(DType::F64, &[1, 2, 2], &[3.0, 4.0, 6.0, 8.0]);
    let last = node(13, "Softmax", std::slice::from_ref(&x), &[]);
    let expected = [-1f64, 1.0, -2.0, 2.0].map(|difference| 1.0 / (1.0 + (-difference).exp()));
    let Tensor::F64(found) = &last else { panic!("another dtype") };
    assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12), "{found}");
    assert_eq!(last, node(13, "Softmax", std::slice::from_ref(&x), &[("axis", Attr::Int(2))]));
    let scale = tensor(DType::F64, &[2], &[1.0, 10.0]);
    let exact = ("epsilon", Attr::Float(0.0));
    let normalized = node(17, "LayerNormalization", &[x.clone(), scale.clone()], &[exact]);
    assert_eq!(normalized, tensor(DType::F64, &[1, 2, 2], &[-1.0, 10.0, -1.0, 10.0]));
    let bias = tensor(DType::F64, &[2], &[0.5, -3.0]);
    let shifted = node(17, "LayerNormalization", &[x.clone(), scale.clone(), bias], &[exact]);
    assert_eq!(shifted, tensor(DType::F64, &[1, 2, 2], &[-0.5, 7.0, -0.5, 7.0]));
    // Divided by the root of the mean of squares, √12.5 and √50.
    let normalized = node(23, "RMSNormalization", &[x.clone(), scale.clone()], &[exact]);
    let Tensor::F64(found) = &normalized else { panic!("another dtype") };
    let roots = [12.5f64.sqrt(), 12.5f64.sqrt(), 50f64.sqrt(), 50f64.sqrt()];
    let expected = [3.0 / roots[0], 40.0 / roots[1], 6.0 / roots[2], 80.0 / roots[3]];
    assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12), "{found}");
    let flat = tensor(DType::F64, &[2], &[1.0, -1.0]);
    for (opset, op_type) in [(17, "LayerNormalization"), (23, "RMSNormalization")] {
        let normalized = node(opset, op_type, &[flat.clone(), scale.clone()], &[exact]);
        assert_eq!(normalized, arr1(&[1.0, -10.0]).into(), "{op_type}");
    }
    // Epsilon is added to the mean of squares.
    let zeros = tensor(DType::F64, &[2], &[0.5, 0.5]);
    let epsilon = [("epsilon", Attr::Float(0.75))];
    let ones = tensor(DType::F64, &[2], &[1.0; 2]);
    assert_eq!(node(23, "RMSNormalization", &[zeros, ones], &epsilon), arr1(&[0.5, 0.5]).into());
    // Means of the last axis, too.
    let builder = ModelBuilder::new(17)
        .input("x", DType::F64, "1 2 2")
        .input("scale", DType::F64, "2")
        .node("LayerNormalization", "x scale", "y mean")
        .unranked_output("mean", DType::F32);
    let scale = tensor(DType::F64, &[2], &[1.0; 2]);
    let mean = crate::support::run(&builder, &[("x", &x), ("scale", &scale)]);
    assert_eq!(mean, Ok(arr3(&[[[3.5f32], [7.0]]]).into()));
}

/// The result has the type of the scale.
#[test]
fn types_of_root_mean_square_normalization() {
    let exact = [("epsilon", Attr::Float(0.0))];
    for (x, scale) in [
        (DType::F32, DType::F64),
        (DType::F64, DType::F32),
        (DType::F16, DType::F32),
        (DType::F32, DType::BF16),
        (DType::F16, DType::F16),
    ] {
        let inputs = [tensor(x, &[2], &[1.0, -1.0]), tensor(scale, &[2], &[2.0, 3.0])];
        let result = node(23, "RMSNormalization", &inputs, &exact);
        assert_eq!(result, tensor(scale, &[2], &[2.0, -3.0]), "{x} and {scale}");
    }
    let inputs = [tensor(DType::F32, &[2], &[1.0; 2]), tensor(DType::I32, &[2], &[1.0; 2])];
    let error = node_error(23, "RMSNormalization", &inputs, &[]);
    assert_eq!(error, "input 1 is int32, not float, float16, double or bfloat16");
}

#[test]
fn stash_types_are_checked() {
    let x = tensor(DType::F32, &[1, 2], &[1.0, 2.0]);
    let w = tensor(DType::F32, &[2], &[1.0, 1.0]);
    let stash = |number: i64| [("stash_type", Attr::Int(number)), ("num_groups", Attr::Int(1))];
    for (op_type, inputs) in [
        ("RMSNormalization", vec![x.clone(), w.clone()]),
        ("GroupNormalization", vec![x.clone(), w.clone(), w.clone()]),
    ] {
        for number in [1, 10, 11, 16] {
            assert!(try_node(23, op_type, &inputs, &stash(number)).is_ok(), "{op_type} {number}");
        }
        for (number, elem) in [(7, "int64"), (1 << 40, "type -1")] {
            assert_eq!(
                node_error(23, op_type, &inputs, &stash(number)),
                format!(
                    "the attribute stash_type is {number} ({elem}), not a floating-point type: 1, 10, 11 or 16"
                )
            );
        }
    }
    let layer = |number: i64| node_error(17, "LayerNormalization", &[x.clone(), w.clone()], &stash(number));
    assert!(layer(1 << 40).starts_with("the attribute stash_type is 1099511627776 (type -1), not"));
}

/// Parameters share types in pairs, from opset 14 and 15 on; the result has the type of the input.
#[test]
fn types_of_batch_normalization() {
    use DType::{BF16, F16, F32, F64, I32};
    let run = |opset: u32, types: [DType; 5]| {
        let [x, scale, bias, mean, variance] = types;
        let one = |dtype: DType, number: f64| tensor(dtype, &[1], &[number]);
        let inputs = [
            tensor(x, &[2, 1], &[1.0, 3.0]),
            one(scale, 3.0),
            one(bias, 0.5),
            one(mean, 1.0),
            one(variance, 3.0),
        ];
        try_node(opset, "BatchNormalization", &inputs, &[("epsilon", Attr::Float(1.0))])
    };
    for (opset, types) in [
        (9, [F32; 5]),
        (9, [F64; 5]),
        (14, [F32, F32, F32, F64, F64]),
        (14, [BF16, BF16, BF16, F32, F32]),
        (15, [F16, F32, F32, F64, F64]),
        (15, [F64, F32, F32, F16, F16]),
    ] {
        assert_eq!(run(opset, types), Ok(tensor(types[0], &[2, 1], &[0.5, 3.5])), "{types:?}");
    }
    for (opset, types, problem) in [
        (9, [F32, F32, F32, F32, F64], "input 4 is double, not float; convert it with Cast"),
        (9, [F32, F32, F32, F64, F64], "input 3 is double, not float; convert it with Cast"),
        (14, [F32, F64, F64, F64, F64], "input 1 is double, not float; convert it with Cast"),
        (14, [F32, F32, F32, F64, F32], "input 4 is float, not double; convert it with Cast"),
        (14, [F32, F32, F32, I32, I32], "input 3 is int32, not float, float16, double or bfloat16"),
        (15, [F32, F64, F32, F32, F32], "input 2 is float, not double; convert it with Cast"),
        (15, [F32, F64, F64, F16, F64], "input 4 is double, not float16; convert it with Cast"),
        (15, [F32, I32, I32, F32, F32], "input 1 is int32, not float, float16, double or bfloat16"),
    ] {
        let error = run(opset, types).expect_err("types that differ");
        assert!(error.ends_with(problem), "{types:?}: {error}");
    }
}

#[test]
fn the_first_stage_of_normalizations_is_computed_in_double_if_requested() {
    // The squares exceed the range of float.
    let x = Tensor::from(arr3(&[[[1e30f32, 3e30], [-2e30, 2e30]]]));
    let (pair, one, zero) = (arr1(&[2f32, 4.0]), arr1(&[1f32, 1.0]), arr1(&[0f32, 0.0]));
    let in_double = |attributes: &[(&'static str, Attr<'static>)]| {
        [attributes, &[("stash_type", Attr::Int(11)), ("epsilon", Attr::Float(0.0))]].concat()
    };
    let layer = |attributes: &[(&str, Attr<'_>)]| {
        node(17, "LayerNormalization", &[x.clone(), pair.clone().into()], attributes)
    };
    assert_eq!(layer(&in_double(&[])), arr3(&[[[-2f32, 4.0], [-2.0, 4.0]]]).into());
    assert_eq!(layer(&[]), arr3(&[[[0f32, 0.0], [0.0, 0.0]]]).into());
    let root = 5f32.sqrt();
    let rms = node(23, "RMSNormalization", &[x.clone(), pair.into()], &in_double(&[]));
    let expected = [2.0 / root, 4.0 * 3.0 / root, -2.0, 4.0];
    for (result, expected) in floats(&rms).iter().zip(expected) {
        assert!((result - expected).abs() <= 1e-6 * expected.abs(), "{result} {expected}");
    }
    let parameters = [x, one.into(), zero.into()];
    let attributes = in_double(&[("num_groups", Attr::Int(2))]);
    let groups = node(21, "GroupNormalization", &parameters, &attributes);
    assert_eq!(groups, arr3(&[[[-1f32, 1.0], [-1.0, 1.0]]]).into());
    // Mean and InvStdDev have the type, which cannot be double.
    let builder = ModelBuilder::new(17)
        .input("x", DType::F32, "N 2")
        .input("scale", DType::F32, "2")
        .node_with("LayerNormalization", "x scale", "y mean", &[("stash_type", Attr::Int(11))])
        .unranked_output("mean", DType::F64);
    let (x, scale) = (numbers(DType::F32, &[3, 2]), numbers(DType::F32, &[2]));
    let error = run_error(&builder, &[("x", &x), ("scale", &scale)]);
    let expected =
        "the attribute stash_type is 11 (double), but Mean and InvStdDev are 1 (float) or 16 (bfloat16)";
    assert!(error.ends_with(expected), "{error}");
}

/// Elements of a tensor of floats.
fn floats(tensor: &Tensor) -> Vec<f32> {
    match tensor {
        Tensor::F32(array) => array.iter().copied().collect(),
        other => panic!("a tensor of {}", other.dtype()),
    }
}

#[test]
fn batch_and_instance_normalization_are_by_channel() {
    let x = Tensor::from(arr3(&[[[1f32, 3.0], [10.0, 30.0]]]));
    let list = |a: f32, b: f32| Tensor::from(arr1(&[a, b]));
    let inputs = [x.clone(), list(2.0, 1.0), list(0.5, 0.0), list(1.0, 10.0), list(4.0, 100.0)];
    let exact = [("epsilon", Attr::Float(0.0))];
    let expected = Tensor::from(arr3(&[[[0.5f32, 2.5], [0.0, 2.0]]]));
    for opset in [7, 9, 14, 15] {
        assert_eq!(node(opset, "BatchNormalization", &inputs, &exact), expected, "opset {opset}");
    }
    let flat = [tensor(DType::F32, &[3], &[1.0, 2.0, 3.0]), axes(&[]), axes(&[]), axes(&[]), axes(&[])];
    let one = |number: f32| Tensor::from(arr1(&[number]));
    let flat = [flat[0].clone(), one(1.0), one(0.0), one(2.0), one(1.0)];
    assert_eq!(node(15, "BatchNormalization", &flat, &exact), arr1(&[-1f32, 0.0, 1.0]).into());
    // Until opset 8, parameters of all elements but the batch.
    let by_element = |number: f64| tensor(DType::F32, &[2, 2], &[number; 4]);
    let inputs = [x.clone(), by_element(1.0), by_element(1.0), by_element(1.0), by_element(1.0)];
    let result = node(7, "BatchNormalization", &inputs, &[exact[0], ("spatial", Attr::Int(0))]);
    assert_eq!(result, x);
    let result = node(6, "InstanceNormalization", &[x, list(1.0, 2.0), list(0.0, 1.0)], &exact);
    assert_eq!(result, arr3(&[[[-1f32, 1.0], [-1.0, 3.0]]]).into());
}

#[test]
fn group_normalization_has_parameters_by_group_or_by_channel() {
    let x = Tensor::from(arr2(&[[1f32, 3.0, 10.0, 30.0]]));
    let attributes = [("epsilon", Attr::Float(0.0)), ("num_groups", Attr::Int(2))];
    let (by_group, by_channel) =
        (Tensor::from(arr1(&[1f32, 2.0])), Tensor::from(arr1(&[1f32, 2.0, 3.0, 4.0])));
    assert_eq!(
        node(18, "GroupNormalization", &[x.clone(), by_group.clone(), by_group.clone()], &attributes),
        arr2(&[[0f32, 2.0, 0.0, 4.0]]).into()
    );
    assert_eq!(
        node(21, "GroupNormalization", &[x.clone(), by_channel.clone(), by_channel.clone()], &attributes),
        arr2(&[[0f32, 4.0, 0.0, 8.0]]).into()
    );
    assert_eq!(
        node_error(21, "GroupNormalization", &[x.clone(), by_group.clone(), by_group], &attributes),
        "scale has shape 2, not 4, for an input of shape 1x4"
    );
    let three = [("num_groups", Attr::Int(3))];
    assert_eq!(
        node_error(21, "GroupNormalization", &[x, by_channel.clone(), by_channel], &three),
        "axis 1 has 4 channels, which num_groups = 3 does not divide"
    );
}

#[test]
fn group_normalization_takes_strided_inputs_and_buffers() {
    let builder = ModelBuilder::new(21)
        .input("x", DType::F32, "N 4 2")
        .input("w", DType::F32, "4")
        .node("Relu", "x", "r")
        .node_with("GroupNormalization", "r w w", "g", &[("num_groups", Attr::Int(2))])
        .node("Neg", "g", "y")
        .unranked_output("g", DType::F32)
        .unranked_output("y", DType::F32);
    let compiled = CompiledModel::new(&builder.build().expect("a model")).expect("a supported model");
    let (x, w) = (numbers(DType::F32, &[3, 4, 2]), tensor(DType::F32, &[4], &[1.0; 4]));
    let inputs = || [("x", x.view()), ("w", w.view())];
    let first = compiled.run(inputs()).expect("a valid run");
    let buffers = first.iter().map(|(_, tensor)| tensor.clone()).collect();
    assert_eq!(compiled.run_reusing(inputs(), buffers).expect("a valid run"), first);
    // Every second element of a longer axis.
    let Tensor::F32(wide) = numbers(DType::F32, &[3, 8, 2]) else { panic!("another dtype") };
    let strided = wide.slice(ndarray::s![.., ..;2, ..]);
    let contiguous = Tensor::from(strided.to_owned().into_dyn());
    let strided = compiled.run([("x", strided.into_dyn().into()), ("w", w.view())]).expect("a valid run");
    assert_eq!(strided, compiled.run([("x", contiguous.view()), ("w", w.view())]).expect("a valid run"));
}

#[test]
fn errors_name_node_and_axis() {
    let x = numbers(DType::F32, &[2, 3, 4]);
    let with = |opset: u32, op_type: &str, attributes: &[(&str, Attr<'_>)]| {
        node_error(opset, op_type, std::slice::from_ref(&x), attributes)
    };
    let axis = |axis: i64| [("axis", Attr::Int(axis))];
    assert_eq!(with(13, "Softmax", &axis(3)), "axis 3 is out of range for rank 3");
    assert_eq!(with(13, "ArgMax", &axis(-4)), "axis -4 is out of range for rank 3");
    assert_eq!(with(17, "ReduceMean", &[("axes", Attr::Ints(&[0, 7]))]), "axis 7 is out of range for rank 3");
    assert_eq!(with(17, "ReduceMean", &[("axes", Attr::Ints(&[1, -2]))]), "axis -2 is repeated");
    assert_eq!(
        with(18, "ReduceMean", &[("axes", Attr::Ints(&[1]))]),
        "from opset 18 the axes are an input, not the attribute axes"
    );
    assert_eq!(node_error(17, "ReduceMean", &[x.clone(), axes(&[1])], &[]), "expected 1 inputs, got 2");
    let ints = Tensor::from(arr1(&[1i32]));
    assert_eq!(node_error(18, "ReduceMean", &[x.clone(), ints], &[]), "the axes are int32, not int64");
    let scale = numbers(DType::F32, &[4]);
    let layer = |attributes: &[(&str, Attr<'_>)]| {
        node_error(17, "LayerNormalization", &[x.clone(), scale.clone()], attributes)
    };
    assert_eq!(layer(&axis(5)), "axis 5 is out of range for rank 3");
    assert_eq!(
        layer(&[("stash_type", Attr::Int(6))]),
        "the attribute stash_type is 6 (int32), not a floating-point type: 1, 10, 11 or 16"
    );
    let other = numbers(DType::F32, &[3]);
    let error = node_error(17, "LayerNormalization", &[x.clone(), other.clone()], &[]);
    assert!(error.starts_with("Scale: ") && error.contains("cannot broadcast 3 to 2x3x4"), "{error}");
    let doubles = numbers(DType::F64, &[4]);
    assert_eq!(
        node_error(17, "LayerNormalization", &[x.clone(), doubles], &[]),
        "input 1 is double, not float; convert it with Cast"
    );
    assert_eq!(
        node_error(22, "InstanceNormalization", &[scale.clone(), other.clone(), other.clone()], &[]),
        "the input has rank 1, but must have rank 3 or more"
    );
    let batch = [x.clone(), other.clone(), other.clone(), other.clone(), scale.clone()];
    assert_eq!(
        node_error(15, "BatchNormalization", &batch, &[]),
        "var has shape 4, not 3, for an input of shape 2x3x4"
    );
    let scalar = [numbers(DType::F32, &[]), scale.clone(), scale.clone(), scale.clone(), scale.clone()];
    assert_eq!(
        node_error(15, "BatchNormalization", &scalar, &[]),
        "the input has rank 0, but must have rank 1 or more"
    );
    let training = [("training_mode", Attr::Int(1))];
    assert_eq!(
        node_error(15, "BatchNormalization", &batch, &training),
        "the training mode of BatchNormalization is not supported; export the model for inference, with one output \
         and training_mode = 0"
    );
}

#[test]
fn outputs_of_training_are_refused() {
    let builder = ModelBuilder::new(9)
        .input("x", DType::F32, "2 1")
        .input("w", DType::F32, "1")
        .node("BatchNormalization", "x w w w w", "y mean")
        .unranked_output("y", DType::F32);
    let (x, w) = (numbers(DType::F32, &[2, 1]), numbers(DType::F32, &[1]));
    let error = run_error(&builder, &[("x", &x), ("w", &w)]);
    assert!(error.contains("the training mode of BatchNormalization is not supported"), "{error}");
    let builder = ModelBuilder::new(13).input("x", DType::F32, "2").node("Softmax", "x", "y z");
    let error = CompiledModel::new(&builder.unranked_output("y", DType::F32).build().expect("a model"));
    assert!(error.expect_err("too many outputs").to_string().ends_with("expected 1 output, got 2"));
}

#[test]
fn shapes_are_inferred() {
    let builder = ModelBuilder::new(18)
        .input("x", DType::F16, "N C 3 4")
        .input("axes", DType::I64, "1")
        .input("list", DType::F16, "C")
        .initializer("two", arr1(&[-2i64, 0]))
        .node("ReduceSum", "x two", "kept")
        .node_with("ReduceL2", "x two", "removed", &[("keepdims", Attr::Int(0))])
        .node("ReduceMax", "x", "all")
        .node_with("ReduceMax", "x", "none", &[("noop_with_empty_axes", Attr::Int(1))])
        .node("ReduceMean", "x axes", "some")
        .node_with("ArgMin", "x", "at", &[("axis", Attr::Int(1)), ("keepdims", Attr::Int(0))])
        .node("LogSoftmax", "x", "soft")
        .node("InstanceNormalization", "x list list", "instance")
        .node("BatchNormalization", "x list list list list", "batch")
        .node_with("GroupNormalization", "x list list", "group", &[("num_groups", Attr::Int(1))])
        .node_with("LayerNormalization", "x list", "layer mean", &[("axis", Attr::Int(2))]);
    let inference = infer_shapes(&builder.build().expect("a model"));
    let text = |name: &str| inference.value(name).map(ToString::to_string).unwrap_or_default();
    assert_eq!(text("kept"), "1xCx1x4");
    assert_eq!(text("removed"), "Cx4");
    assert_eq!((text("all"), text("none")), ("1x1x1x1".into(), "NxCx3x4".into()));
    assert_eq!(text("some"), "?x?x?x?");
    assert_eq!(text("at"), "Nx3x4");
    assert_eq!(inference.value("at").and_then(|at| at.elem()).map(|elem| elem.number()), Some(7));
    for name in ["soft", "instance", "batch", "group", "layer"] {
        assert_eq!(text(name), "NxCx3x4", "{name}");
    }
    assert_eq!(text("mean"), "NxCx1x1");
}

#[test]
fn incompatible_scales_are_conflicts() {
    let builder = ModelBuilder::new(23)
        .input("x", DType::F32, "N 8")
        .input("w", DType::F32, "7")
        .node("RMSNormalization", "x w", "y")
        .unranked_output("y", DType::F32);
    let report = explain(&builder.build().expect("a model"));
    assert_eq!(report.conflicts.len(), 1);
    let text = report.conflicts[0].1.to_string();
    assert!(text.starts_with("node 0 (RMSNormalization RMSNormalization_of_y): E1: "), "{text}");
}
