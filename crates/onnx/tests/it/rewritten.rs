//! Models made explicit and implicit again compute the same, and nothing is left to be found.

use crate::support::tensor;
use ndarray::arr1;
use proptest::prelude::*;
use unishape::{DType, Tensor};
use unishape_onnx::build::{Attr, Build};
use unishape_onnx::{Model, Program, explain, explicit, implicit};
use unishape_oracle::{Reading, common_shape, strategies};

/// How much a model says of an input's shape.
#[derive(Clone, Debug)]
enum Said {
    Sizes,
    Names,
    Some,
    Nothing,
}

fn said() -> impl Strategy<Value = Said> {
    prop_oneof![Just(Said::Sizes), Just(Said::Names), Just(Said::Some), Just(Said::Nothing)]
}

/// What a model says of a shape. A name stands for one size, wherever it is.
fn declared(shape: &[usize], said: &Said) -> Option<String> {
    let size = |(at, size): (usize, &usize)| match (said, at % 3) {
        (Said::Sizes, _) | (Said::Some, 0) => size.to_string(),
        (Said::Names, _) | (Said::Some, 1) => format!("n{size}"),
        _ => "?".into(),
    };
    let sizes: Vec<String> = shape.iter().enumerate().map(size).collect();
    (!matches!(said, Said::Nothing)).then(|| sizes.join(" "))
}

/// A random model of nodes that broadcast, of three inputs that go together.
fn model() -> impl Strategy<Value = (Vec<Vec<usize>>, Build)> {
    let shapes = strategies::shapes(3..=3, 0..=4, 0..=3)
        .prop_filter("they go together", |shapes| common_shape(Reading::Standard, shapes).is_ok());
    let nodes = prop::collection::vec((0usize..6, any::<[prop::sample::Index; 3]>()), 1..6);
    (shapes, prop::array::uniform3(said()), nodes).prop_map(|(shapes, said, nodes)| {
        let mut build = Build::new(21);
        let mut values: Vec<String> = Vec::new();
        for (at, (shape, said)) in shapes.iter().zip(&said).enumerate() {
            let name = format!("in{at}");
            build = match declared(shape, said) {
                Some(shape) => build.input(&name, DType::F32, &shape),
                None => build.open_input(&name, DType::F32),
            };
            values.push(name);
        }
        for (at, (kind, from)) in nodes.iter().enumerate() {
            let [a, b, c] = from.map(|index| values[index.index(values.len())].clone());
            let name = format!("v{at}");
            build = match kind {
                0 => build.node("Add", &format!("{a} {b}"), &name),
                1 => build.node("Sub", &format!("{a} {b}"), &name),
                2 => build.node("Max", &format!("{a} {b} {c}"), &name),
                3 => build.node("Sum", &format!("{a} {b} {c}"), &name),
                4 => build.node("Neg", &a, &name),
                _ => {
                    let truth = format!("{name}_truth");
                    let build = build.node("Less", &format!("{a} {b}"), &truth);
                    build.node("Where", &format!("{truth} {b} {c}"), &name)
                }
            };
            values.push(name);
        }
        let last = values.last().cloned().unwrap_or_default();
        (shapes, build.open_output(&last, DType::F32))
    })
}

fn computed(model: &Model, inputs: &[Tensor]) -> Tensor {
    let program = Program::new(model).expect("it can run");
    let names: Vec<String> = (0..inputs.len()).map(|at| format!("in{at}")).collect();
    let given = names.iter().zip(inputs).map(|(name, tensor)| (name, tensor.view()));
    program.run(given).expect("it runs").swap_remove(0).1
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn there_and_back_again((shapes, build) in model()) {
        let model = build.model().expect("a model");
        let inputs: Vec<Tensor> = shapes
            .iter()
            .enumerate()
            .map(|(input, shape)| {
                let count = shape.iter().product::<usize>();
                let numbers: Vec<f64> = (0..count).map(|at| ((at * 7 + input * 3) % 11) as f64 - 4.5).collect();
                tensor(DType::F32, shape, &numbers)
            })
            .collect();
        let before = computed(&model, &inputs);
        let made = explicit(&model).expect("shapes that go together");
        prop_assert_eq!(explain(&made.model).broadcasts, []);
        prop_assert_eq!(made.expands == 0, explain(&model).broadcasts.is_empty());
        prop_assert_eq!(&computed(&made.model, &inputs), &before);
        prop_assert_eq!(explicit(&made.model).expect("still").model.to_bytes(), made.model.to_bytes());
        let back = implicit(&made.model).expect("shapes that go together");
        prop_assert_eq!(back.expands, made.expands);
        prop_assert_eq!(back.model.to_bytes(), model.to_bytes());
    }
}

fn operators(model: &Model) -> Vec<&str> {
    model.graph().nodes.iter().map(|node| node.op_type.as_str()).collect()
}

#[test]
fn shapes_that_are_known_are_constants_and_shared() {
    let build = |opset: u32| {
        Build::new(opset)
            .input("x", DType::F32, "2 3")
            .initializer("row", arr1(&[1f32, 2.0, 3.0]))
            .node("Add", "x row", "a")
            .node("Mul", "a row", "y")
            .output("y", DType::F32, "2 3")
    };
    let made = |opset: u32| explicit(&build(opset).model().expect("a model")).expect("it can be").model;
    // One Expand for both: it is the same row, to the same shape.
    assert_eq!(operators(&made(9)), ["Constant", "Expand", "Add", "Mul"]);
    // Opset 8 has no constants of integers.
    assert_eq!(operators(&made(8)), ["Shape", "Expand", "Add", "Mul"]);
    let build =
        Build::new(7).input("x", DType::F32, "2 3").input("y", DType::F32, "3").node("Add", "x y", "z");
    let error = explicit(&build.open_output("z", DType::F32).model().expect("a model"))
        .map(|_| ())
        .expect_err("no Expand");
    assert!(error.to_string().contains("opset 7 has no Expand; convert the model to opset 8"), "{error}");
}

#[test]
fn names_are_new_within_graphs_too() {
    let inner = Build::new(21).node("Identity", "unishape_41/expand_1", "t").open_output("t", DType::F32);
    let build = Build::new(21)
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
        .open_output("z", DType::F32);
    let made = explicit(&build.model().expect("a model")).expect("it can be").model;
    assert!(made.graph().nodes[0].outputs[0].starts_with("unishape_42/"));
}

#[test]
fn expands_that_do_something_stay() {
    let kept = |build: Build, output: &str| {
        let model = build.open_output(output, DType::F32).model().expect("a model");
        let back = implicit(&model).expect("shapes that go together");
        assert_eq!((back.expands, back.model.to_bytes()), (0, model.to_bytes()));
    };
    let start = || {
        Build::new(21)
            .input("x", DType::F32, "3")
            .input("y", DType::F32, "2 3")
            .input("n", DType::F32, "N 3")
            .initializer("s", arr1(&[2i64, 3]))
            .node("Expand", "x s", "e")
    };
    // An output; of an operator that does not broadcast; of no other shape that is as large; in a graph.
    kept(start().node("Add", "e y", "z"), "e");
    kept(start().node("MatMul", "e y", "z").node("Add", "e y", "w"), "w");
    kept(start().node("Add", "e x", "z"), "z");
    kept(start().node("Add", "e n", "z"), "z");
    let inner = Build::new(21).node("Neg", "e", "t").open_output("t", DType::F32);
    let build = start().node("Add", "e y", "z").input("c", DType::Bool, "");
    kept(build.node_with("If", "c", "w", &[("then_branch", Attr::Graph(&inner))]), "w");
    // And one that goes, with its shape.
    let model = start().node("Add", "e y", "z").open_output("z", DType::F32).model().expect("a model");
    let back = implicit(&model).expect("shapes that go together");
    assert_eq!((back.expands, operators(&back.model)), (1, vec!["Add"]));
    assert_eq!(back.model.graph().initializers().count(), 0);
}

#[test]
fn names_of_sizes_are_kept_in_what_is_told() {
    let build = Build::new(21)
        .input("x", DType::F32, "batch seq 16")
        .input("mask", DType::F32, "batch 1 1")
        .input("b", DType::F32, "16")
        .input("other", DType::F32, "?")
        .node("Add", "x b", "a")
        .node("Mul", "a mask", "m")
        .node("Add", "m other", "y")
        .open_output("y", DType::F32);
    let report = explain(&build.model().expect("a model"));
    let told: Vec<String> = report.broadcasts.iter().map(ToString::to_string).collect();
    assert_eq!(
        told.join("\n"),
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
