//! Declared shapes of intermediate values are not used; shapes come from inputs, initializers and inference.

use ndarray::arr1;
use unishape::DType;
use unishape_onnx::model_builder::{Attr, ModelBuilder};
use unishape_onnx::{explain, infer_shapes};

/// The shape to which a value `z` and a row of one element broadcast.
fn shape_of_z(builder: ModelBuilder) -> String {
    let model =
        builder.input("one", DType::F32, "1").node("Add", "z one", "y").unranked_output("y", DType::F32);
    let report = explain(&model.build().expect("a model"));
    let line = report.broadcasts.last().expect("a broadcast").to_string();
    line.lines().next().and_then(|line| line.split_once(" to ")).expect("a shape").1.to_owned()
}

#[test]
fn declarations_are_compared_and_not_used() {
    for (op_type, input, declared, expected, is_wrong) in [
        // Nothing is inferred for other operators.
        ("Relu6", "2 3", "5 N", "?", false),
        ("Neg", "? 3", "5 3", "?x3", false),
        ("Neg", "? 3", "N 3", "?x3", false),
        // An exporter wrote the size of its example.
        ("Neg", "M 3", "5 3", "Mx3", true),
        ("Neg", "2 3", "N 3", "2x3", false),
        ("Neg", "M 3", "N 3", "Mx3", false),
        ("Neg", "M 3", "? ?", "Mx3", false),
        ("Neg", "2 3", "7", "2x3", true),
        ("Neg", "2 3", "2 4", "2x3", true),
        ("Neg", "2 3", "7 2 3", "2x3", true),
    ] {
        let builder = ModelBuilder::new(21).input("x", DType::F32, input);
        let builder = builder.node(op_type, "x", "z").value_info("z", DType::F32, declared);
        let case = format!("{op_type} of {input}, declared as {declared}");
        let inference = infer_shapes(&builder.build().expect("a model"));
        let wrong = inference.declaration_conflicts();
        assert_eq!(!wrong.is_empty(), is_wrong, "{case}: {wrong:?}");
        assert_eq!(shape_of_z(builder), expected, "{case}");
    }
}

/// The caller may pass another value than the default, whose size is not that of the symbol.
#[test]
fn defaults_of_inputs_do_not_decide_their_shape() {
    let row = || ModelBuilder::new(21).initializer("z", arr1(&[1f32, 2.0, 3.0]));
    assert_eq!(shape_of_z(row().input("z", DType::F32, "N")), "?");
    assert_eq!(shape_of_z(row().input("z", DType::F32, "3")), "3");
}

#[test]
fn a_stretch_by_one_has_no_factor() {
    let model = ModelBuilder::new(21)
        .input("x", DType::F32, "1 3")
        .input("b", DType::F32, "3")
        .node("Add", "x b", "y")
        .unranked_output("y", DType::F32);
    let report = explain(&model.build().expect("a model"));
    let text = report.broadcasts[0].to_string();
    assert!(text.contains("input 1, b: 3 → 1x3, as large as before\n"), "{text}");
}

/// Shapes that a model computes from the shape of another value.
#[test]
fn computed_shapes_are_inferred() {
    let start = || {
        ModelBuilder::new(21)
            .input("x", DType::F32, "N 3 1")
            .initializer("c", arr1(&[1f32]))
            .initializer("zero", arr1(&[0i64]))
            .initializer("one_", arr1(&[1i64]))
            .initializer("two", arr1(&[2i64]))
            .initializer("three", arr1(&[3i64]))
            .initializer("-2", arr1(&[-2i64]))
            .initializer("scalar", ndarray::arr0(0i64))
            .initializer("5", arr1(&[5i64]))
            .node("Shape", "x", "s")
    };
    let axis = |axis: i64| vec![("axis", Attr::Int(axis))];
    let expand =
        |builder: ModelBuilder, shape: &str| shape_of_z(builder.node("Expand", &format!("c {shape}"), "z"));
    assert_eq!(expand(start(), "s"), "Nx3x1");
    assert_eq!(expand(start().node("Identity", "s", "i"), "i"), "Nx3x1");
    assert_eq!(expand(start().node_with("Cast", "s", "i", &[("to", Attr::Int(7))]), "i"), "Nx3x1");
    let gathered = start().node_with("Gather", "s zero", "n", &axis(0));
    assert_eq!(expand(gathered.node_with("Concat", "n 5", "t", &axis(0)), "t"), "Nx5");
    let gathered = start().node("Gather", "s scalar", "n").node("Unsqueeze", "n zero", "t");
    assert_eq!(expand(gathered, "t"), "N");
    assert_eq!(expand(start().node("Slice", "s one_ three", "t"), "t"), "3x1");
    assert_eq!(expand(start().node("Slice", "s -2 three", "t"), "t"), "3x1");
    assert_eq!(expand(start().node("Slice", "s zero two", "t"), "t"), "Nx3");
    assert_eq!(expand(start().node("Slice", "s zero three zero one_", "t"), "t"), "Nx3x1");
    assert_eq!(expand(start().node("Slice", "s zero three zero two", "t"), "t"), "Nx1");
    assert_eq!(shape_of_z(start().node("ConstantOfShape", "s", "z")), "Nx3x1");
    assert_eq!(shape_of_z(start().node("Size", "x", "z")), "1");
}

#[test]
fn shapes_of_other_operators_are_inferred() {
    let start = || {
        ModelBuilder::new(21)
            .input("x", DType::F32, "N 3 1")
            .input("w", DType::F32, "1 7")
            .input("v", DType::F32, "1")
            .input("a", DType::F32, "2 N")
            .input("b", DType::F32, "N 5")
            .input("image", DType::F32, "B 3 H W")
            .input("filter", DType::F32, "8 3 5 5")
            .initializer("zero", arr1(&[0i64]))
            .initializer("one_", arr1(&[1i64]))
            .initializer("two", arr1(&[2i64]))
            .initializer("flat", arr1(&[0i64, -1]))
            .initializer("rows", arr1(&[3i64, -1]))
    };
    for (op_type, inputs, attributes, expected) in [
        ("Squeeze", "x two", vec![], "Nx3"),
        ("Unsqueeze", "x zero", vec![], "1xNx3x1"),
        ("Reshape", "x flat", vec![], "Nx3"),
        ("Reshape", "x rows", vec![], "3xN"),
        ("Concat", "x x", vec![("axis", Attr::Int(1))], "Nx6x1"),
        ("Concat", "x x", vec![("axis", Attr::Int(0))], "2*N x 3 x 1"),
        ("Gather", "x zero", vec![("axis", Attr::Int(1))], "Nx1x1"),
        ("Transpose", "x", vec![], "1x3xN"),
        ("Transpose", "x", vec![("perm", Attr::Ints(&[1, 0, 2]))], "3xNx1"),
        ("Softmax", "x", vec![], "Nx3x1"),
        ("MatMul", "x w", vec![], "Nx3x7"),
        ("MatMul", "x v", vec![], "Nx3"),
        ("MatMul", "v w", vec![], "7"),
        ("Gemm", "a b", vec![], "2x5"),
        ("Gemm", "b a", vec![("transA", Attr::Int(1)), ("transB", Attr::Int(1))], "5x2"),
        ("Conv", "image filter", vec![], "B x 8 x H-4 x W-4"),
        ("ReduceSum", "x one_", vec![], "Nx1x1"),
        ("ReduceSum", "x one_", vec![("keepdims", Attr::Int(0))], "Nx1"),
        ("ReduceSum", "x", vec![], "1x1x1"),
    ] {
        let builder = start().node_with(op_type, inputs, "z", &attributes);
        assert_eq!(shape_of_z(builder), expected, "{op_type} of {inputs}");
    }
}
