//! What cannot be run is told with its node; what does not fit, with its input.

use crate::support::{refused, run, tensor};
use ndarray::arr1;
use unishape::{DType, Tensor};
use unishape_onnx::build::{Attr, Build};
use unishape_onnx::{Program, explain, explicit};

fn binary(opset: u32, op_type: &str, with: &[(&str, Attr<'_>)]) -> Build {
    let build = Build::new(opset).input("a", DType::F32, "N 3").input("b", DType::F32, "3");
    build.node_with(op_type, "a b", "z", with).open_output("z", DType::F32)
}

#[track_caller]
fn not_run(build: &Build) -> String {
    let model = build.model().expect("a model");
    Program::new(&model).expect_err("it cannot be run").to_string()
}

#[test]
fn operators_are_named_with_their_nodes() {
    let said = not_run(&binary(21, "MatMul", &[]));
    assert!(said.starts_with("node 0 (MatMul MatMul_of_z): this operator is not run: "), "{said}");
    let said = not_run(&binary(6, "Add", &[("broadcast", Attr::Int(1)), ("axis", Attr::Int(0))]));
    assert!(said.contains("the attribute broadcast is how opset 6 broadcast, and is not followed"), "{said}");
    let said = not_run(&binary(6, "Add", &[]));
    assert!(said.contains("the model has opset 6, and Add is run from opset 7 on"), "{said}");
    let said = not_run(&binary(29, "Add", &[]));
    assert!(said.ends_with("opset 29 is newer than 28, the newest that is known here"), "{said}");
    let inner = Build::new(21).node("Identity", "a", "t").open_output("t", DType::F32);
    let build = Build::new(21).input("c", DType::Bool, "").input("a", DType::F32, "3");
    let build =
        build.node_with("If", "c", "z", &[("then_branch", Attr::Graph(&inner))]).output("z", DType::F32, "3");
    assert_eq!(not_run(&build), "node 0 (If If_of_z): an operator with graphs within it is not run");
    let report = explain(&build.model().expect("a model"));
    assert_eq!(report.unseen, ["node 0 (If If_of_z): the graphs within it"]);
}

#[test]
fn types_are_never_promoted() {
    let build = Build::new(21).open_input("a", DType::F32).open_input("b", DType::I32);
    let build = build.node("Add", "a b", "z").open_output("z", DType::F32);
    let (a, b) = (tensor(DType::F32, &[1], &[1.0]), tensor(DType::I32, &[1], &[1.0]));
    let said = refused(&build, &[("a", &a), ("b", &b)]);
    assert_eq!(said, "node 0 (Add Add_of_z): input 1 is int32, not float; ONNX converts by Cast alone");
    let build = Build::new(13).open_input("a", DType::I8).node("Add", "a a", "z").open_output("z", DType::I8);
    let said = refused(&build, &[("a", &tensor(DType::I8, &[1], &[1.0]))]);
    assert_eq!(said, "node 0 (Add Add_of_z): Add is for int8 from opset 14 on");
    let build =
        Build::new(21).open_input("a", DType::F32).node("And", "a a", "z").open_output("z", DType::Bool);
    assert!(refused(&build, &[("a", &a)]).ends_with("And is for bool, not for float"));
}

#[test]
fn inputs_are_held_against_what_the_model_says() {
    let build = Build::new(21).input("a", DType::F32, "N 3").input("b", DType::F32, "N 1");
    let build = build.node("Add", "a b", "z").output("z", DType::F32, "N 3");
    let (a, b) = (tensor(DType::F32, &[2, 3], &[0.0; 6]), tensor(DType::F32, &[2, 1], &[0.0; 2]));
    assert!(run(&build, &[("a", &a), ("b", &b)]).is_ok());
    let said = |given: &[(&str, &Tensor)]| refused(&build, given);
    assert_eq!(said(&[("a", &a)]), "no value for the input b");
    assert_eq!(said(&[("a", &a), ("b", &b), ("c", &b)]), "the model has no input c; it has a, b");
    assert_eq!(said(&[("a", &a), ("a", &a)]), "the input a is given twice");
    assert_eq!(said(&[("a", &b), ("b", &b)]), "input a: it is 2x1, and the model wants Nx3");
    let other = tensor(DType::F64, &[2, 1], &[0.0; 2]);
    assert_eq!(said(&[("a", &a), ("b", &other)]), "input b: it is double, and the model wants float");
    let longer = tensor(DType::F32, &[4, 1], &[0.0; 4]);
    assert_eq!(said(&[("a", &a), ("b", &longer)]), "input b: here N is 4, and 2 in the input a");
}

#[test]
fn bc9_shapes_that_do_not_go_together_are_told_at_their_node() {
    let build = Build::new(21)
        .input("x", DType::F32, "8 4 3")
        .initializer("w", arr1(&[1f32, 2.0]))
        .node("Relu", "x", "r")
        .node("Mul", "r w", "z")
        .open_output("z", DType::F32);
    let model = build.model().expect("a model");
    let picture = "\
node 1 (Mul Mul_of_z): E1: incompatible shapes in dimension 2: r has 3, w has 2

  r  8 x 4 x 3
  w          2
             ^
Shapes are aligned on the right; in each column every size must be 1 or the same.";
    let report = explain(&model);
    assert_eq!((report.conflicts.len(), report.conflicts[0].0), (1, 1));
    assert_eq!(report.conflicts[0].1.to_string(), picture);
    assert_eq!(explicit(&model).map(|_| ()).expect_err("E1").to_string(), picture);
    let x = tensor(DType::F32, &[8, 4, 3], &[0.0; 96]);
    assert_eq!(refused(&build, &[("x", &x)]), picture);
}

#[test]
fn a_model_is_checked_before_it_runs() {
    let build = Build::new(21).input("x", DType::F32, "3").node("Neg", "y", "z").node("Neg", "x", "y");
    assert!(
        not_run(&build.clone().open_output("z", DType::F32)).ends_with("its input y is nowhere before it")
    );
    assert_eq!(not_run(&build.clone().open_output("w", DType::F32)), "there is no value w in the model");
    let twice = Build::new(21).input("x", DType::F32, "3").node("Neg", "x", "x").open_output("x", DType::F32);
    assert_eq!(not_run(&twice), "node 0 (Neg Neg_of_x): the value x is there twice");
    let few = Build::new(21).input("x", DType::F32, "3").node("Add", "x", "z").open_output("z", DType::F32);
    assert_eq!(not_run(&few), "node 0 (Add Add_of_z): it has 1 inputs, not 2");
}
