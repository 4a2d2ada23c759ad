//! Shape inference: element types, and shapes that are known in part.

use ndarray::{ArrayD, IxDyn, arr0, arr1};
use unishape::{DType, Tensor};
use unishape_onnx::model_builder::{Attr, ModelBuilder};
use unishape_onnx::{Dim, explain, infer_shapes};

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
        .input("none", DType::F32, "0 3")
        .input("huge", DType::F32, &format!("{0} {0}", isize::MAX))
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

/// A node: operator, inputs, attributes, and what is inferred of its output.
type Case<'c> = (&'c str, &'c str, &'c [(&'c str, Attr<'c>)], &'c str);

#[track_caller]
fn check(cases: &[Case<'_>]) {
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

#[test]
fn dimensions_are_available() {
    let inference = infer_shapes(&inputs().node("Neg", "half", "n").build().expect("a model"));
    let shape = |name: &str| inference.value(name).expect("a value").shape();
    assert_eq!(shape("n"), Some(&[Dim::Known(3), Dim::Known(1)][..]));
    assert_eq!(shape("x").map(|dims| dims[0].to_string()), Some("N".into()));
    assert_eq!(shape("any"), None);
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
    let declared = |rank: usize| ModelBuilder::new(21).input("x", DType::F32, &"1 ".repeat(rank));
    assert_eq!(inferred(&declared(65), "x"), "float ?");
    assert_eq!(inferred(&declared(64), "x").matches('x').count(), 63);
    let mut builder = ModelBuilder::new(21);
    let names: Vec<String> = (0..600).map(|name| format!("s{name}")).collect();
    for name in &names {
        builder = builder.input(name, DType::F32, &name.to_uppercase());
    }
    let builder = builder.node("Sum", &names[..3].join(" "), "three").node("Sum", &names.join(" "), "all");
    assert_eq!(inferred(&builder, "three"), "float S0|S1|S2");
    assert_eq!(inferred(&builder, "all"), "float ?");
    // One unknown dimension, not an unknown rank.
    let builder = builder.node("Shape", "all", "rank");
    assert_eq!(inferred(&builder, "rank"), "int64 1");
}

/// Shapes that are given by a list whose elements are not known.
#[test]
fn shapes_by_unknown_lists() {
    check(&[
        // A size that is stretched is 1; others stay.
        ("Expand", "half sizes", &[], "float16 ?x3x?"),
        ("Expand", "half list", &[], "float16 ?"),
        ("Expand", "half any_list", &[], "float16 ?"),
        ("Reshape", "half sizes", &[], "float16 ?x?x?"),
        ("Reshape", "half list", &[], "float16 ?"),
        ("Reshape", "half", &[], "? ?"),
        ("ConstantOfShape", "sizes", &[], "float ?x?x?"),
        ("ConstantOfShape", "list", &[], "float ?"),
        ("Squeeze", "x list", &[], "? ?"),
        ("Squeeze", "half list", &[], "? ?"),
        ("Unsqueeze", "x list", &[], "? ?"),
        ("Unsqueeze", "x", &[], "? ?"),
        ("Gather", "x list", &[], "float Lx3x1"),
        ("Gather", "x scalar", &[], "float 3x1"),
        ("Gather", "any 0", &[], "? ?"),
        ("Gather", "x any", &[], "? ?"),
        ("Slice", "x 0 1", &[], "float 1-max(1-N,0) x 3 x 1"),
        // Sizes of 1 stay what they are, whichever axes are reduced.
        ("ReduceSum", "x list", &[], "float ?x?x1"),
        ("ReduceSum", "x list", &[("keepdims", Attr::Int(0))], "? ?"),
        ("ReduceSum", "any 0", &[], "? ?"),
    ]);
    // A list of another rank is no shape.
    let builder =
        inputs().node("Shape", "x", "s").node("Unsqueeze", "s 0", "t").node("Expand", "half t", "z");
    assert_eq!(inferred(&builder, "z"), "float16 ?");
    let builder = inputs().node_with("Constant", "", "ints", &[("value_ints", Attr::Ints(&[2, 3]))]);
    assert_eq!(inferred(&builder.node("ConstantOfShape", "ints", "z"), "z"), "float 2x3");
    let builder = inputs().initializer("long", arr1(&[7i64; 65])).node("Gather", "long 0", "first");
    assert_eq!(inferred(&builder.node("ConstantOfShape", "first", "z"), "z"), "float ?");
    // Lists that are too long to be shapes.
    let zeros = Tensor::from(arr1(&[0i64; 65]));
    let builder = inputs()
        .initializer("zeros", zeros.clone())
        .node_with("Constant", "", "constant", &[("value", Attr::Tensor(&zeros))])
        .node_with("Constant", "", "ints", &[("value_ints", Attr::Ints(&[1; 65]))])
        .node("Expand", "half ints", "a")
        .node("ConstantOfShape", "constant", "b")
        .node_with("Concat", "zeros 0", "both", &[("axis", Attr::Int(0))])
        .node("ConstantOfShape", "both", "c");
    for (name, expected) in [("a", "float16 ?"), ("b", "float ?"), ("both", "int64 66"), ("c", "float ?")] {
        assert_eq!(inferred(&builder, name), expected, "{name}");
    }
}

/// A small file may declare a list of any length.
#[test]
fn long_lists_take_little_memory() {
    let builder =
        ModelBuilder::new(21).input("list", DType::I64, "100000").node("ConstantOfShape", "list", "z");
    let model = builder.build().expect("a model");
    let allocated = allocation_counter::measure(|| {
        let inference = infer_shapes(&model);
        assert_eq!(inference.value("z").expect("a value").to_string(), "?");
    });
    assert!(allocated.bytes_max < 100_000, "{} bytes", allocated.bytes_max);
}

/// The shape of a value of unknown rank is known to be that of the value.
#[test]
fn shapes_of_unknown_rank() {
    let builder = inputs()
        .initializer("one", arr0(1f64))
        .node("Shape", "any", "s")
        .node("Expand", "one s", "whole")
        .node_with("Shape", "any", "t", &[("start", Attr::Int(1))])
        .node("Expand", "one t", "part")
        .node_with("Shape", "any", "u", &[("end", Attr::Int(1))])
        .node("Expand", "one u", "first");
    assert_eq!(inferred(&builder, "s"), "int64 ?");
    for name in ["whole", "part", "first"] {
        assert_eq!(inferred(&builder, name), "double ?", "{name}");
    }
    // Only the first is known to have the shape of `any`.
    for (name, is_stretched) in [("whole", false), ("part", true), ("first", true)] {
        let builder = builder.clone().node("Add", &format!("any {name}"), "z");
        let report = explain(&builder.build().expect("a model"));
        assert_eq!(!report.broadcasts.is_empty(), is_stretched, "{name}");
    }
    check(&[
        ("Neg", "any", &[], "double ?"),
        ("Transpose", "any", &[], "? ?"),
        ("Squeeze", "any 0", &[], "? ?"),
        ("Reshape", "any 3,-1", &[], "double 3x?"),
        ("Reshape", "any 0,-1", &[], "double ?x?"),
        ("Concat", "any any", &[("axis", Attr::Int(0))], "? ?"),
        ("MatMul", "any x", &[], "? ?"),
        ("MatMul", "x any", &[], "? ?"),
        ("Conv", "any x", &[], "? ?"),
        ("Softmax", "any", &[], "double ?"),
    ]);
}

#[test]
fn squeezed_and_reshaped_dimensions() {
    check(&[
        ("Squeeze", "half", &[], "float16 3"),
        // N may be 1.
        ("Squeeze", "x", &[], "? ?"),
        ("Squeeze", "x -1", &[], "float Nx3"),
        ("Squeeze", "x 9", &[], "? ?"),
        ("Reshape", "x 0,-1", &[], "float Nx3"),
        ("Reshape", "x 3,-1", &[], "float 3xN"),
        ("Reshape", "x 2,-1", &[], "float 2 x N+floor(N/2)"),
        ("Reshape", "x -1,0", &[], "float Nx3"),
        ("Reshape", "int -1,0", &[], "int32 2x3"),
        ("Reshape", "int 0,0", &[], "int32 2x3"),
        ("Reshape", "int 0,0", &[("allowzero", Attr::Int(1))], "int32 0x0"),
        ("Reshape", "int -1,0", &[("allowzero", Attr::Int(1))], "int32 ?x0"),
        ("Reshape", "int -2", &[], "int32 ?"),
        ("Reshape", "int 9", &[], "int32 9"),
        ("Reshape", "x -1", &[], "float 3*N"),
        ("Reshape", "int -1", &[], "int32 6"),
        ("Reshape", "flag 0,0", &[], "bool 1x?"),
        // No size, and more elements than can be counted.
        ("Reshape", "none 0,-1", &[], "float 0x?"),
        ("Reshape", "huge 3,-1", &[], "float 3x?"),
    ]);
    let two = Tensor::from(arr1(&[1i64, 2]));
    let builder = inputs()
        .input("m", DType::F32, "M N M 4")
        .node("Shape", "m", "s")
        .node("Gather", "s 0", "first")
        .node_with("Concat", "first -1", "t", &[("axis", Attr::Int(0))])
        .node("Reshape", "m t", "rest")
        .initializer("1,2", two)
        .node("Gather", "s 1,2", "inner")
        .node_with("Concat", "inner first -1", "u", &[("axis", Attr::Int(0))])
        .node("Reshape", "m u", "last")
        .node_with("Concat", "inner -1", "v", &[("axis", Attr::Int(0))])
        .node("Reshape", "m v", "product");
    // A product of symbols and a size.
    assert_eq!(inferred(&builder, "rest"), "float M x 4*M*N");
    assert_eq!(inferred(&builder, "last"), "float NxMxMx4");
    assert_eq!(inferred(&builder, "product"), "float N x M x 4*M");
}

#[test]
fn products_of_matrices() {
    let start = || {
        inputs()
            .input("v", DType::F32, "3")
            .input("m", DType::F32, "2 3")
            .input("n", DType::F32, "3 5")
            .input("batch", DType::F32, "B 1 3 5")
            .input("rows", DType::F32, "4 2 3")
            .input("other", DType::F32, "7 2 3")
            .input("more", DType::F32, "6 3 5")
            .input("s", DType::F32, "")
    };
    for (names, expected) in [
        ("v v", "float ()"),
        ("v n", "float 5"),
        ("v batch", "float Bx1x5"),
        ("m v", "float 2"),
        ("rows v", "float 4x2"),
        ("m n", "float 2x5"),
        ("rows batch", "float Bx4x2x5"),
        ("other more", "? ?"),
        ("s m", "? ?"),
        ("m s", "? ?"),
    ] {
        assert_eq!(inferred(&start().node("MatMul", names, "z"), "z"), expected, "{names}");
    }
    for (names, attributes, expected) in [
        ("m n", vec![], "float 2x5"),
        ("m n", vec![("transA", Attr::Int(1))], "float 3x5"),
        ("m n", vec![("transB", Attr::Int(1))], "float 2x3"),
        ("rows n", vec![], "? ?"),
        ("m more", vec![], "? ?"),
    ] {
        assert_eq!(inferred(&start().node_with("Gemm", names, "z", &attributes), "z"), expected, "{names}");
    }
    for (perm, expected) in [
        (&[2i64, 0, 1][..], "float 3x4x2"),
        (&[-1, 0, 1], "float 3x4x2"),
        (&[0, 1], "? ?"),
        (&[0, 1, 3], "? ?"),
    ] {
        let builder = start().node_with("Transpose", "rows", "z", &[("perm", Attr::Ints(perm))]);
        assert_eq!(inferred(&builder, "z"), expected, "{perm:?}");
    }
    assert_eq!(inferred(&start().node("Conv", "rows other", "z"), "z"), "float 4x7x1");
    assert_eq!(inferred(&start().node("Conv", "s other", "z"), "z"), "? ?");
    assert_eq!(inferred(&start().node("Conv", "rows s", "z"), "z"), "float 4x?x?");
}

/// Of further outputs of other operators nothing is known.
#[test]
fn outputs_of_normalizations() {
    let names = "y mean deviation";
    let start = || inputs().input("s", DType::F32, "3 1").input("b", DType::F32, "4");
    let axis = |axis: i64| [("axis", Attr::Int(axis))];
    let builder = start().node_with("LayerNormalization", "x s s", names, &axis(1));
    for (name, expected) in [("y", "float Nx3x1"), ("mean", "float Nx1x1"), ("deviation", "float Nx1x1")] {
        assert_eq!(inferred(&builder, name), expected, "{name}");
    }
    let stash = [("stash_type", Attr::Int(16)), ("axis", Attr::Int(0))];
    let builder = start().node_with("LayerNormalization", "x s", names, &stash);
    assert_eq!(inferred(&builder, "mean"), "bfloat16 1x1x1");
    let builder = start().node_with("LayerNormalization", "x s", names, &axis(5));
    assert_eq!((inferred(&builder, "y"), inferred(&builder, "mean")), ("float Nx3x1".into(), "? ?".into()));
    let builder = start().node("LayerNormalization", "any s", names);
    assert_eq!((inferred(&builder, "y"), inferred(&builder, "mean")), ("double ?".into(), "? ?".into()));
    // The last axis by default, which has size 1.
    let builder = start().node("LayerNormalization", "x s", names);
    assert_eq!(inferred(&builder, "mean"), "float Nx3x1");
    let builder = start().node("Dropout", "x", "y mask");
    assert_eq!(inferred(&builder, "mask"), "bool Nx3x1");
    for further in ["Neg", "Softmax"] {
        let builder = start().node(further, "x", "y mask");
        let found = (inferred(&builder, "y"), inferred(&builder, "mask"));
        assert_eq!(found, ("float Nx3x1".into(), "? ?".into()), "{further}");
    }
}

/// Incompatible shapes are conflicts of the node that has them.
#[test]
fn conflicts() {
    let conflicts = |op_type: &str, names: &str| {
        let builder = inputs().input("four", DType::F32, "4").input("rows", DType::F32, "2 3 1").input(
            "row",
            DType::F32,
            "3",
        );
        let builder = builder.node("Neg", "x", "n").node(op_type, names, "z");
        let inference = infer_shapes(&builder.build().expect("a model"));
        let conflicts = inference.conflicts().iter().map(|(node, error)| {
            assert!(
                error.to_string().starts_with(&format!("node 1 ({op_type} {op_type}_of_z): ")),
                "{error}"
            );
            *node
        });
        conflicts.collect::<Vec<usize>>()
    };
    for (op_type, names, expected) in [
        ("Add", "int four", &[1][..]),
        ("Add", "int row", &[]),
        ("PRelu", "int four", &[1]),
        ("PRelu", "int row", &[]),
        // Compatible, but the slope would stretch the first input.
        ("PRelu", "half rows", &[1]),
        ("PRelu", "half x", &[]),
        ("LayerNormalization", "int four", &[1]),
        ("LayerNormalization", "int row four", &[1]),
        ("LayerNormalization", "int row -", &[]),
        ("RMSNormalization", "int four", &[1]),
        // Its scale is checked when the model runs.
        ("InstanceNormalization", "image four four", &[]),
    ] {
        assert_eq!(conflicts(op_type, names), expected, "{op_type} of {names}");
    }
    // One for a node, not for each of its outputs.
    let builder = inputs().input("four", DType::F32, "4").node("LayerNormalization", "int four", "y mean");
    assert_eq!(infer_shapes(&builder.build().expect("a model")).conflicts().len(), 1);
}
