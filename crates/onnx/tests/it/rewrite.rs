//! `explicit` and `implicit` preserve results and undo each other byte for byte.

use crate::support::tensor;
use ndarray::arr1;
use proptest::prelude::*;
use unishape::{DType, Tensor};
use unishape_onnx::model_builder::{Attr, ModelBuilder};
use unishape_onnx::{BroadcastKind, CompiledModel, Model, explain, explicit, implicit, implicit_all};
use unishape_oracle::{Reading, common_shape, strategies};

/// How much of an input's shape a model declares.
#[derive(Clone, Debug)]
enum Declared {
    Sizes,
    Symbols,
    /// Sizes, symbols and unknown dimensions in turn.
    Mixed,
    /// Not even the rank.
    Nothing,
}

fn declared() -> impl Strategy<Value = Declared> {
    prop_oneof![
        Just(Declared::Sizes),
        Just(Declared::Symbols),
        Just(Declared::Mixed),
        Just(Declared::Nothing)
    ]
}

/// Declaration of a shape; symbol `n3` has size 3 wherever it occurs.
fn declaration(shape: &[usize], declared: &Declared) -> Option<String> {
    let size = |(index, size): (usize, &usize)| match (declared, index % 3) {
        (Declared::Sizes, _) | (Declared::Mixed, 0) => size.to_string(),
        (Declared::Symbols, _) | (Declared::Mixed, 1) => format!("n{size}"),
        _ => "?".into(),
    };
    let sizes: Vec<String> = shape.iter().enumerate().map(size).collect();
    (!matches!(declared, Declared::Nothing)).then(|| sizes.join(" "))
}

/// A random model of nodes that broadcast three compatible inputs.
fn model() -> impl Strategy<Value = (Vec<Vec<usize>>, ModelBuilder)> {
    let shapes = strategies::shapes(3..=3, 0..=4, 0..=3)
        .prop_filter("compatible shapes", |shapes| common_shape(Reading::Standard, shapes).is_ok());
    let nodes = prop::collection::vec((0usize..6, any::<[prop::sample::Index; 3]>()), 1..6);
    (shapes, prop::array::uniform3(declared()), nodes).prop_map(|(shapes, declared, nodes)| {
        let mut builder = ModelBuilder::new(21);
        let mut values: Vec<String> = Vec::new();
        for (index, (shape, declared)) in shapes.iter().zip(&declared).enumerate() {
            let name = format!("in{index}");
            builder = match declaration(shape, declared) {
                Some(shape) => builder.input(&name, DType::F32, &shape),
                None => builder.unranked_input(&name, DType::F32),
            };
            values.push(name);
        }
        for (index, (operator, inputs)) in nodes.iter().enumerate() {
            let [a, b, c] = inputs.map(|index| values[index.index(values.len())].clone());
            let name = format!("v{index}");
            builder = match operator {
                0 => builder.node("Add", &format!("{a} {b}"), &name),
                1 => builder.node("Sub", &format!("{a} {b}"), &name),
                2 => builder.node("Max", &format!("{a} {b} {c}"), &name),
                3 => builder.node("Sum", &format!("{a} {b} {c}"), &name),
                4 => builder.node("Neg", &a, &name),
                _ => {
                    let condition = format!("{name}_condition");
                    let builder = builder.node("Less", &format!("{a} {b}"), &condition);
                    builder.node("Where", &format!("{condition} {b} {c}"), &name)
                }
            };
            values.push(name);
        }
        let last = values.last().cloned().unwrap_or_default();
        (shapes, builder.unranked_output(&last, DType::F32))
    })
}

fn run(model: &Model, inputs: &[Tensor]) -> Tensor {
    let compiled = CompiledModel::new(model).expect("a supported model");
    let names: Vec<String> = (0..inputs.len()).map(|index| format!("in{index}")).collect();
    let inputs = names.iter().zip(inputs).map(|(name, tensor)| (name, tensor.view()));
    compiled.run(inputs).expect("a valid run").swap_remove(0).1
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn explicit_and_implicit_round_trip((shapes, builder) in model()) {
        let model = builder.build().expect("a model");
        let inputs: Vec<Tensor> = shapes
            .iter()
            .enumerate()
            .map(|(input, shape)| {
                let count = shape.iter().product::<usize>();
                let numbers: Vec<f64> = (0..count).map(|index| ((index * 7 + input * 3) % 11) as f64 - 4.5).collect();
                tensor(DType::F32, shape, &numbers)
            })
            .collect();
        let expected = run(&model, &inputs);
        let rewritten = explicit(&model).expect("compatible shapes");
        prop_assert_eq!(explain(&rewritten.model).broadcasts, []);
        prop_assert_eq!(rewritten.expands == 0, explain(&model).broadcasts.is_empty());
        prop_assert_eq!(&run(&rewritten.model, &inputs), &expected);
        prop_assert_eq!(explicit(&rewritten.model).expect("compatible shapes").model.to_bytes(), rewritten.model.to_bytes());
        let restored = implicit(&rewritten.model).expect("compatible shapes");
        prop_assert_eq!(restored.expands, rewritten.expands);
        prop_assert_eq!(restored.model.to_bytes(), model.to_bytes());
    }
}

fn operators(model: &Model) -> Vec<&str> {
    model.graph().nodes.iter().map(|node| node.op_type.as_str()).collect()
}

#[test]
fn known_shapes_become_shared_constants() {
    let builder = |opset: u32| {
        ModelBuilder::new(opset)
            .input("x", DType::F32, "2 3")
            .initializer("row", arr1(&[1f32, 2.0, 3.0]))
            .node("Add", "x row", "a")
            .node("Mul", "a row", "y")
            .output("y", DType::F32, "2 3")
    };
    let rewritten =
        |opset: u32| explicit(&builder(opset).build().expect("a model")).expect("compatible shapes").model;
    // Both nodes share one Expand of the row.
    assert_eq!(operators(&rewritten(9)), ["Constant", "Expand", "Add", "Mul"]);
    // In opset 8, Constant does not support integers: each node takes the shape of its own sibling.
    assert_eq!(operators(&rewritten(8)), ["Shape", "Expand", "Add", "Shape", "Expand", "Mul"]);
    let builder = ModelBuilder::new(7)
        .input("x", DType::F32, "2 3")
        .input("y", DType::F32, "3")
        .node("Add", "x y", "z");
    let error = explicit(&builder.unranked_output("z", DType::F32).build().expect("a model"))
        .map(|_| ())
        .expect_err("no Expand");
    assert!(error.to_string().contains("opset 7 has no Expand; convert the model to opset 8"), "{error}");
}

#[test]
fn new_names_are_unused_in_subgraphs() {
    let inner =
        ModelBuilder::new(21).node("Identity", "unishape_41/expand_1", "t").unranked_output("t", DType::F32);
    let builder = ModelBuilder::new(21)
        .input("c", DType::Bool, "")
        .input("x", DType::F32, "2 3")
        .input("y", DType::F32, "3")
        .node("Add", "x y", "unishape_41/expand_1")
        .node_with(
            "If",
            "c",
            "z",
            &[("then_branch", Attr::Graph(&inner)), ("else_branch", Attr::Graph(&inner))],
        )
        .unranked_output("z", DType::F32);
    let model = explicit(&builder.build().expect("a model")).expect("compatible shapes").model;
    assert!(model.graph().nodes[0].outputs[0].starts_with("unishape_42/"));
}

#[test]
fn required_expands_are_kept() {
    let assert_kept = |builder: ModelBuilder, output: &str| {
        let model = builder.unranked_output(output, DType::F32).build().expect("a model");
        let restored = implicit_all(&model).expect("compatible shapes");
        assert_eq!((restored.expands, restored.model.to_bytes()), (0, model.to_bytes()));
    };
    let start = || {
        ModelBuilder::new(21)
            .input("x", DType::F32, "3")
            .input("y", DType::F32, "2 3")
            .input("n", DType::F32, "N 3")
            .initializer("s", arr1(&[2i64, 3]))
            .node("Expand", "x s", "e")
    };
    // It is an output; a consumer does not broadcast; the result would be smaller; a subgraph uses it.
    assert_kept(start().node("Add", "e y", "z"), "e");
    assert_kept(start().node("MatMul", "e y", "z").node("Add", "e y", "w"), "w");
    assert_kept(start().node("Add", "e x", "z"), "z");
    assert_kept(start().node("Add", "e n", "z"), "z");
    let inner = ModelBuilder::new(21).node("Neg", "e", "t").unranked_output("t", DType::F32);
    let builder = start().node("Add", "e y", "z").input("c", DType::Bool, "");
    assert_kept(builder.node_with("If", "c", "w", &[("then_branch", Attr::Graph(&inner))]), "w");
    // `PRelu` does not broadcast its first input.
    assert_kept(start().node("PRelu", "e y", "z"), "z");
    // A redundant Expand is removed together with the initializer of its shape.
    let model = start().node("Add", "e y", "z").unranked_output("z", DType::F32).build().expect("a model");
    let restored = implicit_all(&model).expect("compatible shapes");
    assert_eq!((restored.expands, operators(&restored.model)), (1, vec!["Add"]));
    assert_eq!(restored.model.graph().initializers().count(), 0);
}

/// What else uses the shape of a removed Expand keeps it.
#[test]
fn only_unused_values_are_removed_with_an_expand() {
    let start = || ModelBuilder::new(21).input("x", DType::F32, "3").input("y", DType::F32, "2 3");
    let rewritten = |builder: ModelBuilder| {
        let model = builder.unranked_output("z", DType::F32).build().expect("a model");
        let restored = implicit_all(&model).expect("compatible shapes");
        assert_eq!(restored.expands, 1);
        restored.model
    };
    let expand = |builder: ModelBuilder| builder.node("Expand", "x s", "e").node("Add", "e y", "z");
    // Another node, and the graph's output, use the initializer.
    let model = rewritten(expand(start().initializer("s", arr1(&[2i64, 3]))).node("Reshape", "y s", "r"));
    assert_eq!(model.graph().initializers().collect::<Vec<_>>(), ["s"]);
    let model = expand(start().initializer("s", arr1(&[2i64, 3]))).unranked_output("s", DType::I64);
    assert_eq!(rewritten(model).graph().initializers().collect::<Vec<_>>(), ["s"]);
    // Only Shape and Constant are known to have no other effect.
    let shape = || start().node("Shape", "y", "d");
    assert_eq!(
        operators(&rewritten(expand(shape().node("Identity", "d", "s")))),
        ["Shape", "Identity", "Add"]
    );
    assert_eq!(operators(&rewritten(expand(start().node("Shape", "y", "s")))), ["Add"]);
    // Declarations of removed values are removed, others stay.
    let declared = expand(start().node("Shape", "y", "s")).node("Neg", "z", "n");
    let declared = declared.value_info("e", DType::F32, "2 3").value_info("n", DType::F32, "2 3");
    let names =
        rewritten(declared).graph().value_info.iter().map(|info| info.name.clone()).collect::<Vec<_>>();
    assert_eq!(names, ["n"]);
}

#[test]
fn reports_contain_symbolic_dimensions() {
    let builder = ModelBuilder::new(21)
        .input("x", DType::F32, "batch seq 16")
        .input("mask", DType::F32, "batch 1 1")
        .input("b", DType::F32, "16")
        .input("other", DType::F32, "?")
        .node("Add", "x b", "a")
        .node("Mul", "a mask", "m")
        .node("Add", "m other", "y")
        .unranked_output("y", DType::F32);
    let report = explain(&builder.build().expect("a model"));
    let lines: Vec<String> = report.broadcasts.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines.join("\n"),
        "\
node 0 (Add Add_of_a) to batch x seq x 16
  input 1, b: 16 → batch x seq x 16, batch x seq times as large
    dimension 0: none → batch
    dimension 1: none → seq
node 1 (Mul Mul_of_m) to batch x seq x 16
  input 1, mask: batch x 1 x 1 → batch x seq x 16, seq x 16 times as large
    dimension 1: 1 → seq
    dimension 2: 1 → 16
node 2 (Add Add_of_y) to batch x seq x 16
  input 1, other: ? → batch x seq x 16, batch x seq times as large
    dimension 0: none → batch
    dimension 1: none → seq
    dimension 2: ? → 16"
    );
}

#[test]
fn reports_of_some_kinds_keep_the_rest() {
    let builder = ModelBuilder::new(21)
        .input("a", DType::F32, "5 2 3")
        .input("b", DType::F32, "3 4")
        .input("c", DType::F32, "4")
        .node("MatMul", "a b", "m")
        .node("Add", "m c", "y")
        .node("Unheard", "y", "z")
        .unranked_output("z", DType::F32);
    let report = explain(&builder.build().expect("a model"));
    let nodes = |kinds: &[BroadcastKind]| -> Vec<String> {
        let broadcasts = report.clone().of_kinds(kinds).broadcasts;
        broadcasts.into_iter().map(|broadcast| broadcast.op_type).collect()
    };
    assert_eq!(nodes(&[BroadcastKind::MatMul]), ["MatMul"]);
    assert_eq!(nodes(&[BroadcastKind::ElementWise, BroadcastKind::Gemm]), ["Add"]);
    assert_eq!(nodes(&BroadcastKind::ALL), ["MatMul", "Add"]);
    let none = report.clone().of_kinds(&[]);
    assert!(none.broadcasts.is_empty());
    assert_eq!((none.nodes, &none.not_analyzed), (report.nodes, &report.not_analyzed));
}

/// `PRelu` broadcasts its second input to the shape of the first, and never the first.
#[test]
fn the_slope_of_prelu_is_expanded_and_restored() {
    let builder = ModelBuilder::new(21)
        .input("in0", DType::F32, "2 3")
        .input("in1", DType::F32, "3")
        .node("PRelu", "in0 in1", "out")
        .unranked_output("out", DType::F32);
    let model = builder.build().unwrap();
    let inputs = [
        tensor(DType::F32, &[2, 3], &[-1.0, 2.0, -3.0, 4.0, -5.0, -6.0]),
        tensor(DType::F32, &[3], &[0.5, 2.0, 4.0]),
    ];
    let rewritten = explicit(&model).unwrap();
    assert_eq!(rewritten.expands, 1);
    assert_eq!(run(&rewritten.model, &inputs), run(&model, &inputs));
    let restored = implicit(&rewritten.model).unwrap();
    assert_eq!((restored.expands, restored.model.to_bytes()), (1, model.to_bytes()));
}
