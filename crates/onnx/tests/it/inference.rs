//! Shape inference: element types, and shapes that are known in part.

use ndarray::{ArrayD, IxDyn, arr0, arr1};
use unishape::{DType, Tensor};
use unishape_onnx::infer_shapes;
use unishape_onnx::model_builder::{Attr, ModelBuilder};

/// Type and shape of a value, such as `float Nx3`.
#[track_caller]
fn inferred(builder: &ModelBuilder, name: &str) -> String {
    let inference = infer_shapes(&builder.build().expect("a model"));
    let value = inference.value(name).expect("a value");
    let elem = value.elem().map_or("?".into(), |elem| elem.to_string());
    format!("{elem} {value}")
}

/// Inputs and initializers of several types and shapes.
fn inputs() -> ModelBuilder {
    ModelBuilder::new(23)
        .input("x", DType::F32, "N 3 1")
        .input("half", DType::F16, "3 1")
        .input("int", DType::I32, "2 3")
        .input("flag", DType::Bool, "1")
        .input("sizes", DType::I64, "3")
        .input("list", DType::I64, "L")
        .unranked_input("any", DType::F64)
        .unranked_input("any_list", DType::I64)
        .initializer("-2", arr1(&[-2i64]))
        .initializer("-1", arr1(&[-1i64]))
        .initializer("0", arr1(&[0i64]))
        .initializer("1", arr1(&[1i64]))
        .initializer("2", arr1(&[2i64]))
        .initializer("9", arr1(&[9i64]))
        .initializer("scalar", arr0(1i64))
        .initializer("empty", arr1::<i64>(&[]))
        .initializer("0,-1", arr1(&[0i64, -1]))
        .initializer("3,-1", arr1(&[3i64, -1]))
        .initializer("2,-1", arr1(&[2i64, -1]))
        .initializer("0,0", arr1(&[0i64, 0]))
        .initializer("-1,0", arr1(&[-1i64, 0]))
}

/// Checks the outputs `z` of nodes: operator, inputs, attributes, and what is inferred.
#[track_caller]
fn check(cases: &[(&str, &str, &[(&str, Attr<'_>)], &str)]) {
    for (op_type, names, attributes, expected) in cases {
        let builder = inputs().node_with(op_type, names, "z", attributes);
        assert_eq!(inferred(&builder, "z"), *expected, "{op_type} of {names}, {attributes:?}");
    }
}

#[test]
fn element_types() {
    let value = Tensor::from(arr1(&[7i8]));
    check(&[
        ("Add", "x half", &[], "float Nx3x1"),
        ("Less", "x half", &[], "bool Nx3x1"),
        ("Where", "flag half x", &[], "float16 Nx3x1"),
        ("Not", "flag", &[], "bool 1"),
        ("IsNaN", "half", &[], "bool 3x1"),
        ("Abs", "half", &[], "float16 3x1"),
        ("Cast", "half", &[("to", Attr::Int(11))], "double 3x1"),
        // A type that no tensor has here.
        ("Cast", "half", &[("to", Attr::Int(17))], "float8e4m3fn 3x1"),
        ("CastLike", "half int", &[], "int32 3x1"),
        ("PRelu", "x half", &[], "float Nx3x1"),
        ("Shape", "half", &[], "int64 2"),
        ("Size", "half", &[], "int64 ()"),
        ("ConstantOfShape", "0", &[], "float 0"),
        ("ConstantOfShape", "0", &[("value", Attr::Tensor(&value))], "int8 0"),
        ("Expand", "int 1", &[], "int32 2x3"),
        ("Concat", "int int", &[("axis", Attr::Int(0))], "int32 4x3"),
        ("Gather", "int 0", &[], "int32 1x3"),
        ("Reshape", "int 3,-1", &[], "int32 3x2"),
        ("Squeeze", "half -1", &[], "float16 3"),
        ("Unsqueeze", "half 0", &[], "float16 1x3x1"),
        ("Dropout", "half", &[], "float16 3x1"),
        ("Transpose", "int", &[], "int32 3x2"),
        ("ReduceMax", "int 0", &[], "int32 1x3"),
        ("ArgMax", "int", &[], "int64 1x3"),
        ("Softmax", "half", &[], "float16 3x1"),
        ("RMSNormalization", "x half", &[], "float16 Nx3x1"),
        ("Constant", "", &[("value_int", Attr::Int(3))], "int64 ()"),
        ("Constant", "", &[("value_float", Attr::Float(3.0))], "float ()"),
        ("Constant", "", &[("value", Attr::Tensor(&value))], "int8 1"),
        // Nothing is known.
        ("Unknown", "x", &[], "? ?"),
    ]);
    // Slices of a list of another type than int64.
    let builder = inputs()
        .node("Shape", "x", "s")
        .node_with("Cast", "s", "short", &[("to", Attr::Int(6))])
        .node("Slice", "short 1 9", "z");
    assert_eq!(inferred(&builder, "z"), "int32 2");
}

/// Large ranks, and dimensions of many symbols, become unknown.
#[test]
fn shapes_over_the_limits_become_unknown() {
    let ones = |rank: usize| ArrayD::<f32>::ones(IxDyn(&vec![1; rank]));
    let builder = ModelBuilder::new(21).initializer("deep", ones(65)).initializer("less", ones(64));
    let builder = builder.input("x", DType::F32, "N");
    let builder = builder.node("Add", "deep x", "a").node("Neg", "less", "b");
    assert_eq!(inferred(&builder, "deep"), "float ?");
    assert_eq!(inferred(&builder, "a"), "float ?");
    assert_eq!(inferred(&builder, "b").matches('x').count(), 63);
    let mut builder = ModelBuilder::new(21).input("s0", DType::F32, "S0");
    for name in 1..=8 {
        builder = builder.input(&format!("s{name}"), DType::F32, &format!("S{name}"));
    }
    let names: Vec<String> = (0..=8).map(|name| format!("s{name}")).collect();
    let builder = builder.node("Sum", &names[..8].join(" "), "eight").node("Sum", &names.join(" "), "nine");
    assert_eq!(inferred(&builder, "eight"), "float S0|S1|S2|S3|S4|S5|S6|S7");
    assert_eq!(inferred(&builder, "nine"), "float ?");
    // One unknown dimension, not an unknown rank.
    let builder = builder.node("Shape", "nine", "rank");
    assert_eq!(inferred(&builder, "rank"), "int64 1");
}
