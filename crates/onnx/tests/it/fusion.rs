//! Element-wise chains are fused: only requested values are materialized.

use crate::support::tensor;
use unishape::{DType, Tensor};
use unishape_onnx::CompiledModel;
use unishape_onnx::model_builder::{Attr, ModelBuilder};

const COUNT: usize = 500_000;

/// Eight element-wise nodes, with one value used twice and one stretched row.
fn chain() -> ModelBuilder {
    ModelBuilder::new(21)
        .input("x", DType::F32, "N 1000")
        .input("row", DType::F32, "1000")
        .node("Exp", "row", "e")
        .node("Add", "x e", "a")
        .node("Tanh", "a", "b")
        .node("Mul", "a b", "c")
        .node("Neg", "c", "d")
        .node("Relu", "d", "f")
        .node("Sub", "f a", "g")
        .node("Abs", "g", "y")
        .output("y", DType::F32, "N 1000")
}

fn tensors() -> (Tensor, Tensor) {
    let x: Vec<f64> = (0..COUNT).map(|index| (index % 977) as f64 * 0.01 - 4.0).collect();
    let row: Vec<f64> = (0..1000).map(|index| index as f64 * 0.002 - 1.0).collect();
    (tensor(DType::F32, &[COUNT / 1000, 1000], &x), tensor(DType::F32, &[1000], &row))
}

#[test]
fn a_chain_allocates_only_its_result() {
    let (x, row) = tensors();
    let compiled =
        CompiledModel::new(&chain().build().expect("a model")).expect("a supported model").threads(1);
    let mut result = None;
    let allocated = allocation_counter::measure(|| {
        result = compiled.run([("x", x.view()), ("row", row.view())]).ok();
    });
    assert_eq!(result.map(|outputs| outputs[0].1.shape().to_vec()), Some(vec![500, 1000]));
    let bytes = 4 * COUNT as u64;
    assert!(allocated.bytes_max < bytes + bytes / 4, "{} bytes for {bytes}", allocated.bytes_max);
}

#[test]
fn intermediate_values_do_not_depend_on_what_is_requested() {
    let (x, row) = tensors();
    let model = chain().build().expect("a model");
    let all = ["y", "g", "f", "d", "c", "b", "a", "e", "x"];
    let all_at_once = CompiledModel::with_outputs(&model, &all).expect("a supported model");
    let all_at_once = all_at_once.run([("x", x.view()), ("row", row.view())]).expect("a valid run");
    for (name, (output_name, tensor)) in all.iter().zip(&all_at_once) {
        let alone = CompiledModel::with_outputs(&model, &[name]).expect("a supported model");
        let inputs = [("x", x.view()), ("row", row.view())];
        let alone = alone.run(inputs).expect("a valid run");
        assert_eq!((*name, tensor), (output_name.as_str(), &alone[0].1));
    }
    assert_eq!(all_at_once[8].1, x);
}

#[test]
fn programs_and_models_are_send_and_sync() {
    fn is_send_and_sync<T: Send + Sync + 'static>() {}
    is_send_and_sync::<CompiledModel>();
    is_send_and_sync::<unishape_onnx::Model>();
}

#[test]
fn nodes_without_consumers_are_ignored() {
    let builder = chain().node("Unsupported", "x", "unused");
    assert!(CompiledModel::new(&builder.build().expect("a model")).is_ok());
}

/// Here one whose type is not supported.
#[test]
fn unused_initializers_are_not_decoded() {
    // TensorProto: data_type 17 (float8e4m3fn), name w.
    let builder = chain().raw_field(5, &[0x10, 17, 0x42, 1, b'w']);
    let model = builder.build().expect("a model");
    assert!(CompiledModel::new(&model).is_ok());
    assert!(CompiledModel::with_outputs(&model, &["y", "w"]).is_err());
}

#[test]
fn output_buffers_are_reused() {
    let (x, row) = tensors();
    let compiled =
        CompiledModel::new(&chain().build().expect("a model")).expect("a supported model").threads(1);
    let inputs = || [("x", x.view()), ("row", row.view())];
    let first = compiled.run(inputs()).expect("a valid run");
    // Buffers of another dtype or shape are dropped.
    let unusable = [tensor(DType::F64, &[500, 1000], &vec![0.0; COUNT]), tensor(DType::F32, &[1], &[0.0])];
    for other in unusable {
        assert_eq!(compiled.run_reusing(inputs(), vec![other]).expect("a valid run"), first);
    }
    let buffers = vec![tensor(DType::F32, &[500, 1000], &vec![7.0; COUNT])];
    let mut again = Vec::new();
    let allocated =
        allocation_counter::measure(|| again = compiled.run_reusing(inputs(), buffers).expect("a valid run"));
    assert_eq!(again, first);
    assert!(allocated.bytes_max < COUNT as u64, "{} bytes", allocated.bytes_max);
}

#[test]
fn other_shapes_of_the_same_elements_are_views() {
    let (x, row) = tensors();
    let with_new_shapes = |inner: &str| {
        ModelBuilder::new(21)
            .input("x", DType::F32, "N 1000")
            .input("row", DType::F32, "1000")
            .initializer("flat", ndarray::arr1(&[-1i64]))
            .initializer("shape", ndarray::arr1(&[0i64, 10, -1]))
            .initializer("axis", ndarray::arr1(&[0i64]))
            .initializer("same", ndarray::arr1(&[1i64, 500, 1000]))
            .node("Reshape", "x flat", "xf")
            .node("Reshape", "xf same", "x1")
            .node("Add", "x1 row", "a")
            .node("Squeeze", "a axis", "b")
            .node("Expand", "b same", "c")
            .node("Squeeze", "c axis", "d")
            .node("Reshape", "d shape", "e")
            .node("Unsqueeze", "e axis", "y")
            .output(inner, DType::F32, "")
    };
    let bytes = 4 * COUNT as u64;
    for (outputs, copies) in [(&["y"][..], 1), (&["y", "a"], 2), (&["y", "e", "b"], 3), (&["xf"], 1)] {
        let model = with_new_shapes("y").build().expect("a model");
        let compiled = CompiledModel::with_outputs(&model, outputs).expect("a supported model").threads(1);
        let mut results = Vec::new();
        let allocated = allocation_counter::measure(|| {
            results = compiled.run([("x", x.view()), ("row", row.view())]).expect("a valid run");
        });
        assert!(allocated.bytes_total < bytes * copies + bytes / 4, "{} bytes", allocated.bytes_total);
        let sum = match outputs[0] {
            "xf" => unishape::expr::lazy(x.view()),
            _ => unishape::expr::lazy(x.view()) + unishape::expr::lazy(row.view()),
        };
        for (name, result) in &results {
            let shape: &[usize] = match name.as_str() {
                "y" => &[1, 500, 10, 100],
                "e" => &[500, 10, 100],
                "b" => &[500, 1000],
                "xf" => &[COUNT],
                _ => &[1, 500, 1000],
            };
            let (Tensor::F32(result), Ok(Tensor::F32(expected))) = (result, sum.compute()) else {
                panic!("tensors of floats")
            };
            assert_eq!(*result, expected.into_shape_with_order(shape).expect("as many elements"), "{name}");
        }
    }
    // Elements that are not contiguous in this order are copied.
    let (Tensor::F32(x), Tensor::F32(row)) = (&x, &row) else { panic!("tensors of floats") };
    let transposed = x.slice(ndarray::s![.., ..500]).reversed_axes();
    let compiled = CompiledModel::with_outputs(
        &ModelBuilder::new(21)
            .input("x", DType::F32, "N M")
            .initializer("flat", ndarray::arr1(&[-1i64]))
            .initializer("wide", ndarray::arr1(&[3i64, 1000]))
            .node("Reshape", "x flat", "y")
            .input("row", DType::F32, "1000")
            .node("Expand", "row wide", "w")
            .node("Reshape", "w flat", "z")
            .output("z", DType::F32, "")
            .build()
            .expect("a model"),
        &["y", "z"],
    )
    .expect("a supported model");
    let outputs = compiled.run([
        ("x", unishape::TensorView::from(transposed.view().into_dyn())),
        ("row", unishape::TensorView::from(row.view())),
    ]);
    let outputs = outputs.expect("a valid run");
    let flat = |elements: Vec<f32>| Tensor::from(ndarray::Array1::from_vec(elements));
    assert_eq!(outputs[0].1, flat(transposed.iter().copied().collect()));
    assert_eq!(outputs[1].1, flat(row.iter().copied().cycle().take(3000).collect()));
}

/// How a model computes its outputs: a paragraph for each value that is stored in memory.
fn plan(builder: &ModelBuilder, inputs: &[(&str, &Tensor)]) -> Vec<String> {
    let compiled = CompiledModel::new(&builder.build().expect("a model")).expect("a supported model");
    let plan =
        compiled.plan(inputs.iter().map(|(name, tensor)| (*name, tensor.view()))).expect("a valid run");
    let mut values: Vec<String> = Vec::new();
    for line in plan.lines() {
        match values.last_mut() {
            Some(value) if line.starts_with(' ') => value.push_str(&format!("{line}\n")),
            _ => values.push(format!("{line}\n")),
        }
    }
    values
}

/// Fails unless all stages of a value run together, row by row.
#[track_caller]
fn assert_is_one_group(value: &str, max_stages: usize) {
    let heading = value.lines().nth(1).unwrap_or_default().trim();
    let stages = heading.split_once(" stages together, ").and_then(|(count, _)| count.parse().ok());
    assert!(stages.is_some_and(|stages: usize| stages <= max_stages), "{value}");
    let alone = value.lines().filter(|line| line.starts_with("  stage "));
    assert_eq!(alone.count(), 0, "{value}");
}

fn ones(shape: &[usize]) -> Tensor {
    tensor(DType::F32, shape, &vec![1.0; shape.iter().product()])
}

#[test]
fn a_reduction_of_a_product_needs_no_array_of_products() {
    let builder = ModelBuilder::new(18)
        .input("a", DType::F32, "M 1")
        .input("b", DType::F32, "N")
        .initializer("axes", ndarray::arr1(&[1i64]))
        .node("Mul", "a b", "products")
        .node("Exp", "products", "e")
        .node_with("ReduceSum", "e axes", "y", &[("keepdims", Attr::Int(0))])
        .unranked_output("y", DType::F32);
    let (a, b) = (ones(&[1500, 1]), ones(&[2000]));
    let values = plan(&builder, &[("a", &a), ("b", &b)]);
    assert_eq!(values.len(), 1, "{values:?}");
    assert_eq!(values[0].matches("stage ").count(), 1, "{values:?}");
    let compiled =
        CompiledModel::new(&builder.build().expect("a model")).expect("a supported model").threads(1);
    let mut result = None;
    let allocated = allocation_counter::measure(|| {
        result = compiled.run([("a", a.view()), ("b", b.view())]).ok();
    });
    assert_eq!(result.map(|outputs| outputs[0].1.shape().to_vec()), Some(vec![1500]));
    // The products would take 12 MB.
    assert!(allocated.bytes_max < 1_000_000, "{} bytes", allocated.bytes_max);
}

#[test]
fn softmax_runs_row_by_row_with_its_neighbours() {
    let builder = ModelBuilder::new(13)
        .input("x", DType::F32, "N 1000")
        .initializer("half", ndarray::arr0(0.5f32))
        .node("Mul", "x half", "scaled")
        .node("Softmax", "scaled", "p")
        .node("Neg", "p", "y")
        .unranked_output("y", DType::F32);
    let x = ones(&[1000, 1000]);
    let values = plan(&builder, &[("x", &x)]);
    assert_eq!(values.len(), 1, "{values:?}");
    assert_is_one_group(&values[0], 4);
    let compiled =
        CompiledModel::new(&builder.build().expect("a model")).expect("a supported model").threads(1);
    let allocated = allocation_counter::measure(|| {
        assert!(compiled.run([("x", x.view())]).is_ok());
    });
    assert!(allocated.bytes_max < 5_000_000, "{} bytes for 4 MB", allocated.bytes_max);
}

/// Layer normalization as exporters wrote it before there was an operator.
#[test]
fn exported_layer_normalization_is_one_pass() {
    let last = [("axes", Attr::Ints(&[-1]))];
    let builder = ModelBuilder::new(17)
        .input("x", DType::F32, "N 512")
        .input("w", DType::F32, "512")
        .initializer("two", ndarray::arr0(2f32))
        .initializer("eps", ndarray::arr0(1e-5f32))
        .node_with("ReduceMean", "x", "mean", &last)
        .node("Sub", "x mean", "centered")
        .node("Pow", "centered two", "squares")
        .node_with("ReduceMean", "squares", "variance", &last)
        .node("Add", "variance eps", "shifted")
        .node("Sqrt", "shifted", "deviation")
        .node("Div", "centered deviation", "normalized")
        .node("Mul", "normalized w", "y")
        .unranked_output("y", DType::F32);
    let (x, w) = (ones(&[2000, 512]), ones(&[512]));
    let values = plan(&builder, &[("x", &x), ("w", &w)]);
    assert_eq!(values.len(), 1, "{values:?}");
    assert_is_one_group(&values[0], 3);
    let node = ModelBuilder::new(17)
        .input("x", DType::F32, "N 512")
        .input("w", DType::F32, "512")
        .node("LayerNormalization", "x w", "y")
        .unranked_output("y", DType::F32);
    let values = plan(&node, &[("x", &x), ("w", &w)]);
    assert_eq!(values.len(), 1, "{values:?}");
    assert_is_one_group(&values[0], 3);
}

/// Only operands that need another type are converted.
#[test]
fn operators_have_no_needless_conversions() {
    for (opset, op_type, inputs, dtype, steps) in [
        (9, "Erf", "x", DType::I32, 3),
        (9, "Erf", "x", DType::F32, 1),
        (13, "Pow", "x x", DType::F32, 1),
        (13, "Pow", "x x", DType::I32, 1),
    ] {
        let builder = ModelBuilder::new(opset).input("x", dtype, "N").node(op_type, inputs, "y");
        let x = tensor(dtype, &[4], &[1.0, 0.0, 1.0, 2.0]);
        let values = plan(&builder.unranked_output("y", dtype), &[("x", &x)]);
        assert_eq!(values[0].matches(" = ").count(), steps, "{values:?}");
    }
}

/// A power is much slower than a multiplication.
#[test]
fn powers_of_two_are_products() {
    let plan = |dtype: DType, exponent: Tensor| {
        let builder = ModelBuilder::new(13).input("x", dtype, "N 2").initializer("n", exponent);
        let builder = builder.node("Pow", "x n", "y").unranked_output("y", dtype);
        plan(&builder, &[("x", &tensor(dtype, &[1, 2], &[3.0, 4.0]))]).concat()
    };
    for dtype in [DType::F32, DType::I32] {
        for two in [ndarray::arr0(2f32).into(), ndarray::arr2(&[[2i64]]).into()] {
            assert!(plan(dtype, two).contains("result = multiply(array 1, array 1)"), "{dtype}");
        }
        for other in [ndarray::arr0(3f32).into(), ndarray::arr1(&[2f32, 2.0]).into()] {
            assert!(plan(dtype, other).contains("= pow("), "{dtype}");
        }
    }
}

#[test]
fn values_are_released_after_their_last_use() {
    let sizes = ndarray::arr1(&[-1i64]);
    let mut builder = ModelBuilder::new(13).input("v0", DType::F32, "N").initializer("sizes", sizes);
    for number in 0..8 {
        builder = builder.node("Reshape", &format!("v{number} sizes"), &format!("v{}", number + 1));
    }
    let builder = builder.unranked_output("v8", DType::F32);
    let compiled = CompiledModel::new(&builder.build().expect("a model")).expect("a supported model");
    let x = ones(&[100_000]);
    let allocated = allocation_counter::measure(|| {
        assert!(compiled.run([("v0", x.view())]).is_ok());
    });
    // Two values at a time.
    assert!(allocated.bytes_max < 3 * 400_000, "{} bytes", allocated.bytes_max);
}

/// They would be computed again in each.
#[test]
fn values_of_several_passes_are_stored() {
    let start = || ModelBuilder::new(17).input("x", DType::F32, "N").node("Exp", "x", "e");
    let names = |builder: ModelBuilder| -> Vec<String> {
        let values = plan(&builder, &[("x", &ones(&[4]))]);
        values.iter().filter_map(|value| value.lines().next()).map(String::from).collect()
    };
    let two = start().node("Neg", "e", "y").node("Abs", "e", "z");
    let two = two.unranked_output("y", DType::F32).unranked_output("z", DType::F32);
    assert_eq!(names(two), ["e:", "y:", "z:"]);
    // Two consumers in one pass.
    let one = start().node("Neg", "e", "n").node("Add", "n e", "y").unranked_output("y", DType::F32);
    assert_eq!(names(one), ["y:"]);
    // Bounds are read as scalars, the clipped value is not stored.
    let clip =
        start().initializer("lo", ndarray::arr0(2f32)).node("Neg", "lo", "low").node("Clip", "e low", "y");
    assert_eq!(names(clip.unranked_output("y", DType::F32)), ["low:", "y:"]);
    // A value that is stretched would be computed for each repetition, whichever input it is.
    for inputs in ["e m", "m e"] {
        let rows = start().initializer("m", ndarray::arr2(&[[1f32], [2.0]])).node("Add", inputs, "y");
        assert_eq!(names(rows.unranked_output("y", DType::F32)), ["e:", "y:"], "{inputs}");
    }
    // An operator on shapes reads a stored value.
    let shape = start().node("Neg", "e", "n").node("Size", "n", "s").unranked_output("s", DType::I64);
    assert_eq!(names(shape), ["n:"]);
}

#[test]
fn outputs_without_consumers_are_not_computed() {
    let builder = ModelBuilder::new(17)
        .input("x", DType::F32, "N 512")
        .input("w", DType::F32, "512")
        .node("LayerNormalization", "x w", "y mean deviation")
        .unranked_output("y", DType::F32);
    let values = plan(&builder, &[("x", &ones(&[4, 512])), ("w", &ones(&[512]))]);
    assert_eq!(values.len(), 1, "{values:?}");
    assert!(values[0].starts_with("y:\n"), "{values:?}");
}

/// Group normalization splits an axis, so that its input and its output are stored; nothing else is.
#[test]
fn group_normalization_is_one_group_of_stages() {
    let builder = ModelBuilder::new(21)
        .input("x", DType::F32, "N 32 100")
        .input("w", DType::F32, "32")
        .node_with("GroupNormalization", "x w w", "g", &[("num_groups", Attr::Int(8))])
        .node("Relu", "g", "y")
        .unranked_output("y", DType::F32);
    let (x, w) = (ones(&[100, 32, 100]), ones(&[32]));
    let values = plan(&builder, &[("x", &x), ("w", &w)]);
    assert_eq!(values.len(), 2, "{values:?}");
    assert_is_one_group(&values[0], 4);
}

#[test]
fn buffers_of_group_normalization_are_reused() {
    let builder = ModelBuilder::new(21)
        .input("x", DType::F32, "N 32 100")
        .input("w", DType::F32, "32")
        .node_with("GroupNormalization", "x w w", "y", &[("num_groups", Attr::Int(8))])
        .unranked_output("y", DType::F32);
    let compiled =
        CompiledModel::new(&builder.build().expect("a model")).expect("a supported model").threads(1);
    let (x, w) = (ones(&[100, 32, 100]), ones(&[32]));
    let inputs = || [("x", x.view()), ("w", w.view())];
    let first = compiled.run(inputs()).expect("a valid run");
    // A buffer of another shape is dropped.
    assert_eq!(compiled.run_reusing(inputs(), vec![ones(&[7])]).expect("a valid run"), first);
    let (buffers, mut again) = (vec![ones(&[100, 32, 100])], Vec::new());
    let allocated =
        allocation_counter::measure(|| again = compiled.run_reusing(inputs(), buffers).expect("a valid run"));
    assert_eq!(again, first);
    assert!(allocated.bytes_max < 320_000, "{} bytes", allocated.bytes_max);
}

/// Each reduction repeats the work before it; a long chain is cut.
#[test]
fn long_chains_of_reductions_are_cut() {
    let mut builder = ModelBuilder::new(13).input("v0", DType::F32, "N 16");
    for number in 0..100 {
        let (from, to) = (format!("v{number}"), format!("v{}", number + 1));
        builder = builder.node("Softmax", &from, &format!("s{number}"));
        builder = builder.node("Add", &format!("s{number} {from}"), &to);
    }
    let builder = builder.unranked_output("v100", DType::F32);
    let values = plan(&builder, &[("v0", &ones(&[4, 16]))]);
    let names: Vec<&str> = values.iter().filter_map(|value| value.lines().next()).collect();
    assert!(values.len() == 13, "{names:?}");
}

/// Planning takes longer than computing if there are very many stages. Reductions of one array would be one.
#[test]
fn very_many_reductions_are_several_passes() {
    let x = ones(&[4, 5]);
    let arrays: Vec<String> = (0..512).map(|number| format!("x{number}")).collect();
    let inputs = |count: usize| arrays[..count].iter().map(|name| (name.as_str(), &x)).collect::<Vec<_>>();
    let mut builder = ModelBuilder::new(13);
    let names: Vec<String> = (0..300).map(|number| format!("r{number}")).collect();
    for (array, name) in arrays.iter().zip(&names) {
        builder = builder.input(array, DType::F32, "4 5");
        builder = builder.node_with("ReduceMax", array, name, &[("axes", Attr::Ints(&[1]))]);
    }
    let builder = builder.node("Sum", &names.join(" "), "y").unranked_output("y", DType::F32);
    let values = plan(&builder, &inputs(300));
    assert_eq!(values.len(), 201);
    let folds = values.last().map(|value| value.matches("max of array").count());
    assert!(folds.is_some_and(|folds| (99..=100).contains(&folds)), "{folds:?}");
    // Added pairwise, in a tree.
    let mut builder = ModelBuilder::new(13);
    for (number, array) in arrays.iter().enumerate() {
        builder = builder.input(array, DType::F32, "4 5");
        let name = format!("t{}", 512 + number);
        builder = builder.node_with("ReduceMax", array, &name, &[("axes", Attr::Ints(&[1]))]);
    }
    for number in (1..512).rev() {
        let inputs = format!("t{} t{}", 2 * number, 2 * number + 1);
        builder = builder.node("Add", &inputs, &format!("t{number}"));
    }
    let values = plan(&builder.unranked_output("t1", DType::F32), &inputs(512));
    let folds = values.iter().map(|value| value.matches("max of array").count());
    assert!(folds.max().is_some_and(|folds| folds <= 100), "{} passes", values.len());
}

/// Along other axes, a reduction repeats the work before it: at most two kinds of axes are fused.
#[test]
fn chains_of_reductions_along_other_axes_are_cut() {
    let mut builder = ModelBuilder::new(13).input("v0", DType::F32, "8 8 8 8 8 8");
    for axis in 0..6 {
        let (from, to) = (format!("v{axis}"), format!("v{}", axis + 1));
        builder = builder.node_with("Softmax", &from, &to, &[("axis", Attr::Int(axis))]);
    }
    let builder = builder.unranked_output("v6", DType::F32);
    let values = plan(&builder, &[("v0", &ones(&[8; 6]))]);
    let names: Vec<&str> = values.iter().filter_map(|value| value.lines().next()).collect();
    assert_eq!(names, ["v2:", "v4:", "v6:"]);
}

/// Fused and one by one: sums may have other rounding errors, all else is the same.
#[test]
fn fused_reductions_equal_single_ones() {
    let builder = chain()
        .initializer("first", ndarray::arr1(&[0i64]))
        .node("Softmax", "y", "p")
        .node("ReduceL2", "p first", "n")
        .node("Div", "p n", "q")
        .node_with("ArgMax", "y", "best", &[("axis", Attr::Int(1))]);
    let model = builder.build().expect("a model");
    let (x, row) = tensors();
    let all = ["q", "n", "p", "best", "y"];
    let at_once = CompiledModel::with_outputs(&model, &all).expect("a supported model");
    let at_once = at_once.run([("x", x.view()), ("row", row.view())]).expect("a valid run");
    for (name, (_, tensor)) in all.iter().zip(&at_once) {
        let alone = CompiledModel::with_outputs(&model, &[name]).expect("a supported model");
        let alone = alone.run([("x", x.view()), ("row", row.view())]).expect("a valid run");
        match (&alone[0].1, tensor) {
            (Tensor::F32(alone), Tensor::F32(tensor)) => {
                let is_near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * b.abs();
                assert!(alone.iter().zip(tensor).all(is_near), "{name}");
            }
            (alone, tensor) => assert_eq!(alone, tensor, "{name}"),
        }
    }
}
