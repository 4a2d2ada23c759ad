//! Error messages name the node or the input.

use crate::support::{run, run_error, tensor};
use ndarray::arr1;
use unishape::{DType, Tensor};
use unishape_onnx::model_builder::{Attr, ModelBuilder};
use unishape_onnx::{CompiledModel, ErrorKind, Verdict, explain, explicit};

fn binary(opset: u32, op_type: &str, attributes: &[(&str, Attr<'_>)]) -> ModelBuilder {
    let builder = ModelBuilder::new(opset).input("a", DType::F32, "N 3").input("b", DType::F32, "3");
    builder.node_with(op_type, "a b", "z", attributes).unranked_output("z", DType::F32)
}

#[track_caller]
fn compile_error(builder: &ModelBuilder) -> String {
    let model = builder.build().expect("a model");
    CompiledModel::new(&model).expect_err("an unsupported model").to_string()
}

#[test]
fn unsupported_operators_name_the_node() {
    let error = compile_error(&binary(21, "MatMul", &[]));
    assert!(error.starts_with("node 0 (MatMul MatMul_of_z): unsupported operator: "), "{error}");
    let error = compile_error(&binary(6, "Add", &[("broadcast", Attr::Int(1)), ("axis", Attr::Int(0))]));
    assert!(
        error.contains("the attribute broadcast (broadcasting before opset 7) is not supported"),
        "{error}"
    );
    let error = compile_error(&binary(6, "Add", &[]));
    assert!(error.contains("the model has opset 6, but Add is supported from opset 7"), "{error}");
    let error = compile_error(&binary(29, "Add", &[]));
    assert!(error.ends_with("opset 29 is newer than 28, the newest supported opset"), "{error}");
    let inner = ModelBuilder::new(21).node("Identity", "a", "t").unranked_output("t", DType::F32);
    let builder = ModelBuilder::new(21).input("c", DType::Bool, "").input("a", DType::F32, "3");
    let branches = [("then_branch", Attr::Graph(&inner)), ("else_branch", Attr::Graph(&inner))];
    let builder = builder.node_with("If", "c", "z", &branches).output("z", DType::F32, "3");
    assert_eq!(compile_error(&builder), "node 0 (If If_of_z): operators with subgraphs are not supported");
    let report = explain(&builder.build().expect("a model"));
    assert_eq!((report.nodes, report.not_analyzed), (3, vec![]));
    // Another operator, of which nothing is known.
    let unknown =
        ModelBuilder::new(21).input("a", DType::F32, "3").node("Unheard", "a", "z").node("Unheard", "z", "y");
    let report = explain(&unknown.build().expect("a model"));
    let expected = "Unheard, unknown operator: 2 nodes, the first is node 0 (Unheard Unheard_of_z)";
    assert_eq!(report.not_analyzed, [expected]);
    assert_eq!(report.verdict(), Verdict::Unknown);
}

#[test]
fn types_are_never_promoted() {
    let builder = ModelBuilder::new(21).unranked_input("a", DType::F32).unranked_input("b", DType::I32);
    let builder = builder.node("Add", "a b", "z").unranked_output("z", DType::F32);
    let (a, b) = (tensor(DType::F32, &[1], &[1.0]), tensor(DType::I32, &[1], &[1.0]));
    let error = run_error(&builder, &[("a", &a), ("b", &b)]);
    assert_eq!(error, "node 0 (Add Add_of_z): input 1 is int32, not float; convert it with Cast");
    let builder = ModelBuilder::new(13)
        .unranked_input("a", DType::I8)
        .node("Add", "a a", "z")
        .unranked_output("z", DType::I8);
    let error = run_error(&builder, &[("a", &tensor(DType::I8, &[1], &[1.0]))]);
    assert_eq!(error, "node 0 (Add Add_of_z): Add supports int8 from opset 14");
    let builder = ModelBuilder::new(21)
        .unranked_input("a", DType::F32)
        .node("And", "a a", "z")
        .unranked_output("z", DType::Bool);
    assert!(run_error(&builder, &[("a", &a)]).ends_with("And supports bool, not float"));
    // From opset 12 on, an exponent may have another type than its base.
    let power = |opset: u32| {
        let builder =
            ModelBuilder::new(opset).unranked_input("a", DType::F32).unranked_input("b", DType::I32);
        builder.node("Pow", "a b", "z").unranked_output("z", DType::F32)
    };
    let error = run_error(&power(11), &[("a", &a), ("b", &b)]);
    assert!(error.ends_with("input 1 is int32, not float; convert it with Cast"), "{error}");
    assert_eq!(run(&power(12), &[("a", &a), ("b", &b)]), Ok(a.clone()));
    // Neither a later version that does not support the type, nor an earlier one that does, is named.
    for (opset, op_type, inputs, dtype, problem) in [
        (
            7,
            "Add",
            "a a",
            DType::Bool,
            "Add supports float, int32, int64, float16, double, uint32 or uint64, not bool",
        ),
        (13, "Erf", "a", DType::I32, "Erf supports float, float16, double or bfloat16, not int32"),
    ] {
        let builder = ModelBuilder::new(opset).unranked_input("a", dtype).node(op_type, inputs, "z");
        let a = tensor(dtype, &[1], &[1.0]);
        let error = run_error(&builder.unranked_output("z", dtype), &[("a", &a)]);
        assert!(error.ends_with(problem), "{error}");
    }
}

#[test]
fn inputs_are_checked_against_their_declarations() {
    let builder = ModelBuilder::new(21).input("a", DType::F32, "N 3").input("b", DType::F32, "N 1");
    let builder = builder.node("Add", "a b", "z").output("z", DType::F32, "N 3");
    let (a, b) = (tensor(DType::F32, &[2, 3], &[0.0; 6]), tensor(DType::F32, &[2, 1], &[0.0; 2]));
    assert!(run(&builder, &[("a", &a), ("b", &b)]).is_ok());
    let error = |inputs: &[(&str, &Tensor)]| run_error(&builder, inputs);
    assert_eq!(error(&[("a", &a)]), "no value for the input b");
    assert_eq!(error(&[("a", &a), ("b", &b), ("c", &b)]), "the model has no input c; its inputs are a, b");
    assert_eq!(error(&[("a", &a), ("a", &a)]), "the input a is passed twice");
    assert_eq!(error(&[("a", &b), ("b", &b)]), "input a: expected shape Nx3, got 2x1");
    let other = tensor(DType::F64, &[2, 1], &[0.0; 2]);
    assert_eq!(error(&[("a", &a), ("b", &other)]), "input b: expected type float, got double");
    let longer = tensor(DType::F32, &[4, 1], &[0.0; 4]);
    assert_eq!(error(&[("a", &a), ("b", &longer)]), "input b: N is 4, but 2 in the input a");
}

#[test]
fn long_lists_are_cut() {
    let with_inputs = |count: usize| {
        let inputs = (0..count).map(|number| format!("i{number}"));
        let builder =
            inputs.fold(ModelBuilder::new(21), |builder, name| builder.input(&name, DType::F32, "1"));
        let builder = builder.node("Neg", "i0", "z").unranked_output("z", DType::F32);
        run_error(&builder, &[("other", &tensor(DType::F32, &[1], &[0.0]))])
    };
    assert!(with_inputs(10).ends_with("its inputs are i0, i1, i2, i3, i4, i5, i6, i7, i8, i9"));
    assert!(with_inputs(11).ends_with("its inputs are i0, i1, i2, i3, i4, i5, i6, i7, i8, i9, …"));
    let with_rank = |rank: usize| {
        let builder = ModelBuilder::new(21).input("x", DType::F32, &"2 ".repeat(rank)).node("Neg", "x", "z");
        run_error(&builder.unranked_output("z", DType::F32), &[("x", &tensor(DType::F32, &[3], &[0.0; 3]))])
    };
    let dims = ["2"; 16].join("x");
    assert_eq!(with_rank(16), format!("input x: expected shape {dims}, got 3"));
    assert_eq!(with_rank(17), format!("input x: expected shape {dims}x…, got 3"));
}

#[test]
fn bc9_incompatible_shapes_name_the_node() {
    let builder = ModelBuilder::new(21)
        .input("x", DType::F32, "8 4 3")
        .initializer("w", arr1(&[1f32, 2.0]))
        .node("Relu", "x", "r")
        .node("Mul", "r w", "z")
        .unranked_output("z", DType::F32);
    let model = builder.build().expect("a model");
    let message = "\
node 1 (Mul Mul_of_z): E1: incompatible shapes in dimension 2: r has 3, w has 2

  r  8 x 4 x 3
  w          2
             ^
Shapes are aligned on the right; in each column every size must be 1 or the same.";
    let report = explain(&model);
    assert_eq!((report.conflicts.len(), report.conflicts[0].0), (1, 1));
    assert_eq!(report.conflicts[0].1.to_string(), message);
    assert_eq!(explicit(&model).map(|_| ()).expect_err("E1").to_string(), message);
    let x = tensor(DType::F32, &[8, 4, 3], &[0.0; 96]);
    assert_eq!(run_error(&builder, &[("x", &x)]), message);
}

#[test]
fn invalid_models_are_rejected_before_they_run() {
    let builder =
        ModelBuilder::new(21).input("x", DType::F32, "3").node("Neg", "y", "z").node("Neg", "x", "y");
    assert!(
        compile_error(&builder.clone().unranked_output("z", DType::F32))
            .ends_with("its input y is not defined before it")
    );
    assert_eq!(compile_error(&builder.clone().unranked_output("w", DType::F32)), "the model has no value w");
    let twice = ModelBuilder::new(21)
        .input("x", DType::F32, "3")
        .node("Neg", "x", "x")
        .unranked_output("x", DType::F32);
    assert_eq!(compile_error(&twice), "node 0 (Neg Neg_of_x): the value x is defined twice");
    let few = ModelBuilder::new(21)
        .input("x", DType::F32, "3")
        .node("Add", "x", "z")
        .unranked_output("z", DType::F32);
    assert_eq!(compile_error(&few), "node 0 (Add Add_of_z): expected 2 inputs, got 1");
}

/// The shape of a result that nothing can hold is known before it is computed.
#[test]
fn results_that_are_too_large() {
    // 2⁴⁰, or 2²⁰ where sizes have 32 bits.
    let size = 1i64 << (usize::BITS / 8 * 5);
    let builder = ModelBuilder::new(21)
        .input("x", DType::F32, "")
        .initializer("rows", arr1(&[size, 1]))
        .initializer("columns", arr1(&[1, size]))
        .node("Expand", "x rows", "a")
        .node("Expand", "x columns", "b")
        .node("Add", "a b", "z")
        .unranked_output("z", DType::F32);
    let error = run(&builder, &[("x", &tensor(DType::F32, &[], &[1.0]))]).expect_err("too large");
    assert!(matches!(error.kind(), ErrorKind::Shapes(unishape::Error::TooLarge { .. })), "{error:?}");
    assert!(error.to_string().starts_with("node 2 (Add Add_of_z): "), "{error}");
}

#[test]
fn wrong_numbers_of_inputs() {
    for (op_type, inputs, expected) in [
        ("Add", "a", "expected 2 inputs, got 1"),
        ("Max", "", "expected at least 1 inputs, got 0"),
        ("Clip", "a a a a", "expected 1 to 3 inputs, got 4"),
    ] {
        let builder = ModelBuilder::new(21).input("a", DType::F32, "3").node(op_type, inputs, "z");
        let error = compile_error(&builder.unranked_output("z", DType::F32));
        assert!(error.ends_with(expected), "{error}");
    }
}

#[test]
fn attributes_are_checked() {
    for (op_type, attribute, problem) in [
        ("BitShift", ("direction", Attr::String("UP")), "the attribute direction must be LEFT or RIGHT"),
        (
            "Gelu",
            ("approximate", Attr::String("erf")),
            "the attribute approximate is 'erf', not none or tanh",
        ),
        ("Cast", ("to", Attr::Int(1 << 40)), "is not supported"),
        ("Cast", ("to", Attr::Int(14)), "Cast does not support complex numbers"),
    ] {
        let dtype = if op_type == "BitShift" { DType::U8 } else { DType::F32 };
        let inputs = if op_type == "BitShift" { "a a" } else { "a" };
        let builder =
            ModelBuilder::new(21).input("a", dtype, "3").node_with(op_type, inputs, "z", &[attribute]);
        // The error is not that of the node that it is computed with.
        let builder = builder.node("Abs", "z", "y").unranked_output("y", dtype);
        let error = match CompiledModel::new(&builder.build().expect("a model")) {
            Ok(_) => run_error(&builder, &[("a", &tensor(dtype, &[3], &[1.0, 2.0, 3.0]))]),
            Err(error) => error.to_string(),
        };
        assert!(error.starts_with(&format!("node 0 ({op_type} {op_type}_of_z): ")), "{error}");
        assert!(error.ends_with(problem), "{error}");
    }
}

#[test]
fn the_context_of_an_error_is_available() {
    let error =
        CompiledModel::new(&binary(21, "MatMul", &[]).build().expect("a model")).expect_err("an error");
    assert_eq!(error.context(), ["node 0 (MatMul MatMul_of_z)"]);
}
