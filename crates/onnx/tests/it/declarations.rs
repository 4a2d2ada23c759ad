//! Declared shapes of values complete the inferred ones.

use ndarray::arr1;
use unishape::DType;
use unishape_onnx::explain;
use unishape_onnx::model_builder::ModelBuilder;

/// The shape to which a value `z` and a row of one element broadcast.
fn shape_of_z(builder: ModelBuilder) -> String {
    let model =
        builder.input("one", DType::F32, "1").node("Add", "z one", "y").unranked_output("y", DType::F32);
    let report = explain(&model.build().expect("a model"));
    let line = report.broadcasts.last().expect("a broadcast").to_string();
    line.lines().next().and_then(|line| line.split_once(" to ")).expect("a shape").1.to_owned()
}

#[test]
fn declarations_add_what_is_not_inferred() {
    for (op_type, input, declared, expected) in [
        // Nothing is inferred for other operators.
        ("Relu6", "2 3", "5 N", "5xN"),
        ("Neg", "? 3", "5 3", "5x3"),
        ("Neg", "? 3", "N 3", "Nx3"),
        ("Neg", "M 3", "5 3", "5x3"),
        // What is inferred has precedence.
        ("Neg", "2 3", "N 3", "2x3"),
        ("Neg", "M 3", "N 3", "Mx3"),
        ("Neg", "M 3", "? ?", "Mx3"),
        ("Neg", "2 3", "7", "2x3"),
        ("Neg", "2 3", "7 2 3", "2x3"),
    ] {
        let builder = ModelBuilder::new(21).input("x", DType::F32, input);
        let builder = builder.node(op_type, "x", "z").value_info("z", DType::F32, declared);
        assert_eq!(shape_of_z(builder), expected, "{op_type} of {input}, declared as {declared}");
    }
}

/// The caller may pass another value than the default.
#[test]
fn defaults_of_inputs_do_not_decide_their_shape() {
    let row = || ModelBuilder::new(21).initializer("z", arr1(&[1f32, 2.0, 3.0]));
    assert_eq!(shape_of_z(row().input("z", DType::F32, "N")), "N");
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
