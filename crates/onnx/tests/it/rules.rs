//! Shape inference rule by rule: windows, padding, parts, other domains, functions and loops.

use ndarray::{arr0, arr1};
use unishape::{DType, Tensor};
use unishape_onnx::model_builder::{Attr, ModelBuilder, node_bytes};
use unishape_onnx::{BroadcastKind, Model, explain, infer_shapes};

/// Type and shape of a value, such as `float Nx3`.
#[track_caller]
fn inferred(model: &Model, name: &str) -> String {
    let inference = infer_shapes(model);
    let value = inference.value(name).expect("a value");
    let elem = value.elem().map_or("?".into(), |elem| elem.to_string());
    format!("{elem} {value}")
}

fn inputs() -> ModelBuilder {
    ModelBuilder::new(21)
        .input("image", DType::F32, "N 3 10 7")
        .input("symbolic", DType::F32, "1 3 H W")
        .input("blocks", DType::F32, "N 8 10 7")
        .input("small", DType::F32, "1 1 3 3")
        .input("kernel", DType::F32, "3 4 3 2")
        .input("rows", DType::F32, "N 6")
        .input("matrix", DType::F32, "6 5")
        .input("stack", DType::F32, "2 6 5")
        .input("bytes", DType::U8, "4 6")
        .input("list", DType::F32, "9")
        .input("byte", DType::U8, "")
        .input("scale", DType::F32, "")
        .input("size", DType::I64, "")
        .unranked_input("any", DType::F32)
        .initializer("0", arr1(&[0i64]))
        .initializer("1", arr1(&[1i64]))
        .initializer("2,3", arr1(&[2i64, 3]))
        .initializer("1,2,3,4", arr1(&[1i64, 2, 3, 4]))
        .initializer("0,0,1,1,0,0,2,2", arr1(&[0i64, 0, 1, 1, 0, 0, 2, 2]))
        .initializer("1,1,2,0.5", arr1(&[1f32, 1.0, 2.0, 0.5]))
        .initializer("1,1,3,0.25", arr1(&[1f32, 1.0, 3.0, 0.25]))
        .initializer("1,1,1.5,0.3", arr1(&[1f32, 1.0, 1.5, 0.3]))
        .initializer("2.0,0.5", arr1(&[2f32, 0.5]))
}

/// A node: operator, inputs, attributes, and what is inferred of its output.
type Case<'c> = (&'c str, &'c str, &'c [(&'c str, Attr<'c>)], &'c str);

/// A node of a domain with this many outputs.
fn node_of(domain: &str, outputs: &str, (op_type, names, attributes, _): &Case<'_>) -> Model {
    let mut bytes = node_bytes(op_type, names, outputs, attributes);
    bytes.extend([0x3A, domain.len() as u8]);
    bytes.extend(domain.as_bytes());
    inputs().raw_field(1, &bytes).build().expect("a model")
}

#[track_caller]
fn check(domain: &str, cases: &[Case<'_>]) {
    for case in cases {
        assert_eq!(
            inferred(&node_of(domain, "z", case), "z"),
            case.3,
            "{} of {}, {:?}",
            case.0,
            case.1,
            case.2
        );
    }
}

#[test]
fn windows_of_pooling() {
    use Attr::{Int, Ints, String};
    let two: (&str, Attr<'_>) = ("kernel_shape", Ints(&[2, 2]));
    let three: (&str, Attr<'_>) = ("kernel_shape", Ints(&[3, 3]));
    let strides: (&str, Attr<'_>) = ("strides", Ints(&[2, 3]));
    check(
        "",
        &[
            ("MaxPool", "image", &[two], "float Nx3x9x6"),
            ("AveragePool", "image", &[two, strides], "float Nx3x5x2"),
            ("LpPool", "image", &[three, strides], "float Nx3x4x2"),
            // With partial windows at the end, unless they start in the padding.
            ("MaxPool", "image", &[three, strides, ("ceil_mode", Int(1))], "float Nx3x5x3"),
            (
                "MaxPool",
                "small",
                &[
                    ("kernel_shape", Ints(&[1, 1])),
                    ("strides", Ints(&[3, 2])),
                    ("pads", Ints(&[0, 0, 1, 1])),
                    ("ceil_mode", Int(1)),
                ],
                "float 1x1x1x2",
            ),
            ("MaxPool", "image", &[three, ("pads", Ints(&[1, 0, 1, 0]))], "float Nx3x10x5"),
            ("MaxPool", "image", &[three, ("dilations", Ints(&[2, 3]))], "float Nx3x6x1"),
            ("MaxPool", "image", &[three, strides, ("auto_pad", String("SAME_UPPER"))], "float Nx3x5x3"),
            (
                "MaxPool",
                "image",
                &[three, strides, ("dilations", Ints(&[2, 1])), ("auto_pad", String("SAME_LOWER"))],
                "float Nx3x?x3",
            ),
            (
                "MaxPool",
                "image",
                &[two, ("pads", Ints(&[1, 1, 1, 1])), ("auto_pad", String("VALID"))],
                "float Nx3x9x6",
            ),
            ("MaxPool", "symbolic", &[two], "float 1 x 3 x H-1 x W-1"),
            (
                "MaxPool",
                "symbolic",
                &[two, ("strides", Ints(&[2, 2]))],
                "float 1 x 3 x floor(H/2) x floor(W/2)",
            ),
            (
                "MaxPool",
                "symbolic",
                &[two, ("strides", Ints(&[2, 3])), ("ceil_mode", Int(1))],
                "float 1 x 3 x floor((H+1)/2) x ?",
            ),
            // Larger than the image, not for each axis, and of no size.
            ("MaxPool", "image", &[("kernel_shape", Ints(&[11, 8]))], "float Nx3x?x?"),
            ("MaxPool", "image", &[("kernel_shape", Ints(&[2]))], "float Nx3x?x?"),
            ("MaxPool", "image", &[("kernel_shape", Ints(&[0, 2]))], "float Nx3x?x?"),
            ("MaxPool", "list", &[two], "? ?"),
            ("GlobalMaxPool", "image", &[], "float Nx3x1x1"),
        ],
    );
    let model = node_of("", "y z", &("MaxPool", "image", &[two], ""));
    assert_eq!(inferred(&model, "z"), "int64 Nx3x9x6");
}

#[test]
fn windows_of_transposed_convolutions() {
    use Attr::{Int, Ints, String};
    let strides: (&str, Attr<'_>) = ("strides", Ints(&[2, 3]));
    check(
        "",
        &[
            // (size - 1) * stride + extent - pads.
            ("ConvTranspose", "image kernel", &[], "float Nx4x12x8"),
            ("ConvTranspose", "image kernel", &[strides], "float Nx4x21x20"),
            ("ConvTranspose", "image kernel", &[strides, ("group", Int(3))], "float Nx12x21x20"),
            ("ConvTranspose", "image kernel", &[("pads", Ints(&[1, 0, 2, 1]))], "float Nx4x9x7"),
            ("ConvTranspose", "image kernel", &[("dilations", Ints(&[2, 3]))], "float Nx4x14x10"),
            (
                "ConvTranspose",
                "image kernel",
                &[strides, ("output_padding", Ints(&[1, 2]))],
                "float Nx4x22x22",
            ),
            ("ConvTranspose", "image kernel", &[("output_shape", Ints(&[30, 40]))], "float Nx4x30x40"),
            ("ConvTranspose", "image kernel", &[("output_shape", Ints(&[1, 4, 30, 40]))], "float Nx4x30x40"),
            // Windows of 3 and 2 with strides of 2 and 3: these have gaps.
            (
                "ConvTranspose",
                "image kernel",
                &[strides, ("auto_pad", String("SAME_UPPER"))],
                "float Nx4x20x20",
            ),
            ("ConvTranspose", "symbolic kernel", &[strides], "float 1 x 4 x 2*H+1 x 3*W-1"),
        ],
    );
}

#[test]
fn padded_and_resized() {
    use Attr::{Int, Ints, String};
    check(
        "",
        &[
            ("Pad", "image 0,0,1,1,0,0,2,2", &[], "float Nx3x13x10"),
            ("Pad", "image 1,2,3,4 - 2,3", &[], "float Nx3x14x13"),
            ("Pad", "image 1,2,3,4", &[], "float ?x?x?x?"),
            ("Pad", "image size", &[], "float ?x?x?x?"),
            ("Pad", "symbolic 0,0,1,1,0,0,2,2", &[], "float 1 x 3 x H+3 x W+3"),
            ("Pad", "any 1", &[], "? ?"),
            // Scales, rounded down, and sizes.
            ("Resize", "image - 1,1,2,0.5", &[], "float Nx3x20x3"),
            ("Resize", "image - 1,1,1.5,0.3", &[], "float Nx3x15x2"),
            ("Resize", "symbolic - 1,1,3,0.25", &[], "float 1 x 3 x 3*H x floor(W/4)"),
            ("Resize", "symbolic - 1,1,1.5,0.3", &[], "float 1x3x?x?"),
            ("Resize", "image - 2.0,0.5", &[("axes", Ints(&[2, 3]))], "float Nx3x20x3"),
            ("Resize", "image - 2.0,0.5", &[], "float ?x?x?x?"),
            ("Resize", "image - - 1,2,3,4", &[], "float 1x2x3x4"),
            ("Resize", "image - - 2,3", &[("axes", Ints(&[2, 3]))], "float Nx3x2x3"),
            (
                "Resize",
                "image - - 2,3",
                &[("axes", Ints(&[2, 3])), ("keep_aspect_ratio_policy", String("not_larger"))],
                "float Nx3x?x?",
            ),
            (
                "Resize",
                "image - 1,1,2,0.5",
                &[("coordinate_transformation_mode", String("tf_crop_and_resize"))],
                "float ?x?x?x?",
            ),
            ("Upsample", "image 1,1,2,0.5", &[], "float Nx3x20x3"),
            ("Split", "image", &[("axis", Int(3)), ("split", Ints(&[4]))], "float Nx3x10x4"),
        ],
    );
    let old = ModelBuilder::new(10)
        .input("image", DType::F32, "N 3 10 7")
        .initializer("s", arr1(&[1f32, 1.0, 2.0, 0.5]));
    assert_eq!(
        inferred(&old.node("Resize", "image s", "z").build().expect("a model"), "z"),
        "float Nx3x20x3"
    );
}

#[test]
fn parts_of_a_split() {
    let outputs = |names: &str, attributes: &[(&str, Attr<'_>)], at: &str| {
        let builder = inputs().node_with("Split", names, "a b c", attributes);
        inferred(&builder.build().expect("a model"), at)
    };
    let (axis, equal) = (("axis", Attr::Int(2)), ("num_outputs", Attr::Int(3)));
    // 10 rows in three parts: the last one is smaller.
    for (at, expected) in [("a", "float Nx3x4x7"), ("b", "float Nx3x4x7"), ("c", "float Nx3x2x7")] {
        assert_eq!(outputs("image", &[axis, equal], at), expected);
    }
    // Without their number the size has to be divisible.
    assert_eq!(outputs("image", &[("axis", Attr::Int(1))], "c"), "float Nx1x10x7");
    assert_eq!(outputs("image", &[axis], "c"), "float Nx3x3x7");
    for (at, expected) in
        [("a", "float 1 x 3 x floor((H+2)/3) x W"), ("c", "float 1 x 3 x H-2*floor((H+2)/3) x W")]
    {
        assert_eq!(outputs("symbolic", &[axis, equal], at), expected);
    }
    assert_eq!(outputs("image 1,2,3,4", &[axis], "b"), "float Nx3x2x7");
    assert_eq!(outputs("image size", &[axis], "b"), "float Nx3x?x7");
    // Parts of a list of sizes.
    let builder = inputs().node("Shape", "symbolic", "shape").node("Split", "shape", "first last").node(
        "ConstantOfShape",
        "last",
        "z",
    );
    assert_eq!(inferred(&builder.build().expect("a model"), "z"), "float HxW");
    let builder = inputs()
        .initializer("1,3", arr1(&[1i64, 3]))
        .node("Shape", "symbolic", "shape")
        .node("Split", "shape 1,3", "first last")
        .node("ConstantOfShape", "last", "z");
    assert_eq!(inferred(&builder.build().expect("a model"), "z"), "float 3xHxW");
}

#[test]
fn operators_of_onnx_runtime() {
    use Attr::{Int, Ints};
    check(
        "com.microsoft",
        &[
            ("FusedConv", "image kernel", &[("kernel_shape", Ints(&[3, 2]))], "float Nx3x8x6"),
            ("QLinearGlobalAveragePool", "image", &[], "float Nx3x1x1"),
            ("QLinearGlobalAveragePool", "image", &[("channels_last", Int(1))], "? ?"),
            ("FusedGemm", "rows matrix", &[], "float Nx5"),
            ("DynamicQuantizeMatMul", "rows bytes", &[], "float Nx6"),
            ("MatMulIntegerToFloat", "bytes matrix scale scale", &[], "float 4x5"),
            ("FusedMatMul", "rows matrix", &[], "float Nx5"),
            ("FusedMatMul", "matrix rows", &[("transA", Int(1)), ("transB", Int(1))], "float 5xN"),
            ("FusedMatMul", "stack matrix", &[("transA", Int(1))], "float 2x5x5"),
            ("FusedMatMul", "list matrix", &[("transA", Int(1))], "float 5"),
            ("FusedMatMul", "stack matrix", &[("transBatchA", Int(1))], "? ?"),
            ("MatMulNBits", "rows bytes", &[("N", Int(9))], "float Nx9"),
            ("MatMulNBits", "rows bytes", &[], "? ?"),
            ("QLinearAdd", "bytes scale byte bytes scale byte", &[], "uint8 4x6"),
            ("QLinearMul", "bytes scale byte byte scale byte", &[], "uint8 4x6"),
            ("QuantizeLinear", "rows scale byte", &[], "uint8 Nx6"),
            ("DequantizeLinear", "bytes scale byte", &[], "float 4x6"),
            ("Pad", "image 0,0,1,1,0,0,2,2", &[], "float Nx3x13x10"),
            ("Gelu", "rows", &[], "float Nx6"),
            ("SkipLayerNormalization", "rows rows", &[], "float Nx6"),
            ("Unheard", "rows", &[], "? ?"),
        ],
    );
}

#[test]
fn operators_of_classical_machine_learning() {
    use Attr::{Int, Ints, String};
    check(
        "ai.onnx.ml",
        &[
            ("Scaler", "bytes", &[], "float 4x6"),
            ("Normalizer", "rows", &[], "float Nx6"),
            ("Binarizer", "bytes", &[], "uint8 4x6"),
            ("Imputer", "rows", &[], "float Nx6"),
            ("LabelEncoder", "bytes", &[("values_strings", String("a"))], "string 4x6"),
            ("LabelEncoder", "bytes", &[("values_floats", Int(1))], "float 4x6"),
            ("LabelEncoder", "bytes", &[("values_int64s", Ints(&[1]))], "int64 4x6"),
            (
                "LabelEncoder",
                "bytes",
                &[("values_floats", Int(1)), ("default_string", String("a"))],
                "float 4x6",
            ),
            ("LabelEncoder", "bytes", &[], "? 4x6"),
            ("TreeEnsembleRegressor", "rows", &[("n_targets", Int(2))], "float Nx2"),
            ("TreeEnsembleRegressor", "rows", &[], "float Nx?"),
            ("LinearRegressor", "rows", &[], "float Nx1"),
            ("SVMRegressor", "list", &[("targets", Int(3))], "float 1x3"),
            ("LinearClassifier", "rows", &[], "int64 N"),
            ("SVMClassifier", "rows", &[("classlabels_strings", String("a"))], "string N"),
            ("ArrayFeatureExtractor", "matrix 2,3", &[], "float 6x2"),
            ("ArrayFeatureExtractor", "list 2,3", &[], "float 1x2"),
            ("Gelu", "rows", &[], "? ?"),
        ],
    );
    let model = node_of("ai.onnx.ml", "y z", &("TreeEnsembleClassifier", "rows", &[], ""));
    assert_eq!(inferred(&model, "z"), "float Nx?");
}

#[test]
fn rounded_scales() {
    let sizes = |op_type: &str| {
        let builder = inputs()
            .initializer("scales", arr1(&[1f32, 1.0, 1.5, 2.5]))
            .node(op_type, "scales", "rounded")
            .node("Resize", "image - rounded", "z");
        inferred(&builder.build().expect("a model"), "z")
    };
    assert_eq!(sizes("Floor"), "float Nx3x10x14");
    assert_eq!(sizes("Ceil"), "float Nx3x20x21");
    // Half to even.
    assert_eq!(sizes("Round"), "float Nx3x20x14");
}

/// Bytes of a length-delimited field.
fn field(number: u32, bytes: &[u8]) -> Vec<u8> {
    let varint = |mut number: u32| {
        let mut bytes = Vec::new();
        while number > 127 {
            bytes.push(number as u8 | 128);
            number >>= 7;
        }
        bytes.push(number as u8);
        bytes
    };
    [varint(number << 3 | 2), varint(bytes.len() as u32), bytes.to_vec()].concat()
}

/// A model with a function `double` of the domain `local`, which adds its input to itself.
fn with_function(builder: &ModelBuilder) -> Model {
    let function = [
        field(1, b"double"),
        field(4, b"x"),
        field(5, b"y"),
        field(7, &node_bytes("Add", "x x", "y", &[])),
        field(9, &[&field(1, b"")[..], &[0x10, 21]].concat()),
        field(10, b"local"),
    ]
    .concat();
    Model::read(&[builder.to_bytes(), field(25, &function)].concat()).expect("a model")
}

#[test]
fn functions_are_inferred_at_every_call() {
    let call =
        |input: &str, output: &str| [node_bytes("double", input, output, &[]), field(7, b"local")].concat();
    let builder = inputs().raw_field(1, &call("rows", "a")).raw_field(1, &call("image", "b c"));
    let model = with_function(&builder);
    assert_eq!(inferred(&model, "a"), "float Nx6");
    assert_eq!(inferred(&model, "b"), "float Nx3x10x7");
    assert_eq!(inferred(&model, "c"), "? ?");
}

#[test]
fn scans_stack_the_results_of_their_body() {
    let body = ModelBuilder::new(21)
        .unranked_input("state", DType::F32)
        .unranked_input("slice", DType::F32)
        .node("Add", "state slice", "next")
        .node("Neg", "slice", "negative")
        .unranked_output("next", DType::F32)
        .unranked_output("negative", DType::F32);
    let scan = |axes: &[(&str, Attr<'_>)], state: &str| {
        let attributes =
            [&[("num_scan_inputs", Attr::Int(1)), ("body", Attr::Graph(&body))][..], axes].concat();
        let builder = inputs().node_with("Scan", &format!("{state} matrix"), "last all", &attributes);
        let model = builder.build().expect("a model");
        [inferred(&model, "last"), inferred(&model, "all")]
    };
    // Rows of 5 elements are added to a number, which becomes a row.
    assert_eq!(scan(&[], "scale")[0], "float ?");
    assert_eq!(scan(&[], "scale")[1], "float 6x5");
    assert_eq!(scan(&[("scan_input_axes", Attr::Ints(&[1]))], "scale")[1], "float 5x6");
    assert_eq!(scan(&[("scan_output_axes", Attr::Ints(&[-1]))], "scale")[1], "float 5x6");
    assert_eq!(
        scan(&[("scan_input_axes", Attr::Ints(&[-1])), ("scan_output_axes", Attr::Ints(&[1]))], "scale")[1],
        "float 6x5"
    );
}

/// Sizes of values inside of a loop change from run to run.
#[test]
fn sizes_inside_of_loops_are_unknown_outside() {
    let body = ModelBuilder::new(21)
        .input("i", DType::I64, "")
        .input("go", DType::Bool, "")
        .node("Identity", "go", "again")
        .node("NonZero", "matrix", "some")
        .node("Neg", "matrix", "known")
        .output("again", DType::Bool, "")
        .unranked_output("some", DType::I64)
        .unranked_output("known", DType::F32);
    let builder = inputs().node_with("Loop", "size - ", "all same", &[("body", Attr::Graph(&body))]);
    let model = builder.build().expect("a model");
    assert_eq!(inferred(&model, "all"), "int64 ?x2x?");
    assert_eq!(inferred(&model, "same"), "float ?x6x5");
}

/// Values that a loop passes to its next run.
#[test]
fn loops_pass_values_on() {
    let run = |step: &[&str], initial: &str| {
        let mut body = ModelBuilder::new(21)
            .input("i", DType::I64, "")
            .input("go", DType::Bool, "")
            .unranked_input("x", DType::F32)
            .node("Identity", "go", "again")
            .output("again", DType::Bool, "");
        for node in step {
            let [op_type, names, output] = node.split(", ").collect::<Vec<_>>()[..] else { panic!("{node}") };
            body = body.node(op_type, names, output);
        }
        let body = body.unranked_output("y", DType::F32).unranked_output("y", DType::F32);
        let builder = inputs().node_with(
            "Loop",
            &format!("size - {initial}"),
            "last all",
            &[("body", Attr::Graph(&body))],
        );
        let model = builder.build().expect("a model");
        [inferred(&model, "last"), inferred(&model, "all")]
    };
    // The same shape in every run, and one that differs from the initial one.
    assert_eq!(run(&["Neg, x, y"], "matrix"), ["float 6x5", "float ?x6x5"]);
    assert_eq!(run(&["Transpose, x, y"], "matrix"), ["float ?x?", "float ?x?x?"]);
    assert_eq!(run(&["Unsqueeze, x 0, y"], "matrix"), ["float ?", "float ?"]);
    assert_eq!(run(&["Neg, matrix, y"], "matrix"), ["float 6x5", "float ?x6x5"]);
    assert_eq!(run(&["Neg, rows, y"], "matrix"), ["float ?x?", "float ?xNx6"]);
    assert_eq!(run(&["Neg, any, y"], "any"), ["float ?", "float ?"]);
}

#[test]
fn branches_have_what_both_have() {
    let branch =
        |name: &str| ModelBuilder::new(21).node("Identity", name, "y").unranked_output("y", DType::F32);
    let both = |one: &str, other: &str| {
        let (one, other) = (branch(one), branch(other));
        let branches = [("then_branch", Attr::Graph(&one)), ("else_branch", Attr::Graph(&other))];
        let builder = inputs().input("flag", DType::Bool, "").node_with("If", "flag", "z", &branches);
        inferred(&builder.build().expect("a model"), "z")
    };
    assert_eq!(both("matrix", "matrix"), "float 6x5");
    assert_eq!(both("matrix", "rows"), "float ?x?");
    assert_eq!(both("image", "symbolic"), "float ?x3x?x?");
    assert_eq!(both("matrix", "list"), "float ?");
    assert_eq!(both("bytes", "rows"), "? ?x6");
    assert_eq!(both("any", "any"), "float ?");
}

#[test]
fn equations_of_einsum() {
    for (equation, names, expected) in [
        ("ij,jk->ik", "rows matrix", "float Nx5"),
        ("ij , jk", "rows matrix", "float Nx5"),
        ("ba,ca", "rows rows", "float NxN"),
        ("ij->ji", "rows", "float 6xN"),
        ("ij->", "rows", "float ()"),
        ("...ij,jk->...ik", "stack kernels", "float 2x6x7"),
        ("...ij->...ji", "image", "float Nx3x7x10"),
        ("i...->...i", "image", "float 3x10x7xN"),
        ("...,...", "matrix stack", "float 2x6x5"),
        ("i...j", "stack", "float 6x2x5"),
        // Sizes of 1 are broadcast.
        ("ij,ij->ij", "single rows", "float Nx6"),
        // Too many dimensions, too few, an unknown label, and no letter.
        ("ij->ji", "stack", "? ?"),
        ("ijk->k", "rows", "? ?"),
        ("ij->k", "rows", "? ?"),
        ("i1->i", "rows", "? ?"),
    ] {
        let builder = inputs().input("kernels", DType::F32, "5 7").input("single", DType::F32, "1 6");
        let builder = builder.node_with("Einsum", names, "z", &[("equation", Attr::String(equation))]);
        assert_eq!(inferred(&builder.build().expect("a model"), "z"), expected, "{equation}");
    }
}

fn attention(names: &str, heads: &[(&str, Attr<'_>)]) -> Model {
    let builder = ModelBuilder::new(23)
        .input("q", DType::F32, "B 8 R 16")
        .input("k", DType::F32, "B 2 C 16")
        .input("v", DType::F32, "B 2 C 32")
        .input("same", DType::F32, "B 8 C 16")
        .input("q3", DType::F32, "B R 128")
        .input("k3", DType::F32, "B C 32")
        .input("v3", DType::F32, "B C 64")
        .input("mask", DType::F32, "R C")
        .unranked_input("any", DType::F32)
        .node_with("Attention", names, "z", heads);
    builder.build().expect("a model")
}

#[test]
fn results_of_attention() {
    let heads = [("q_num_heads", Attr::Int(8)), ("kv_num_heads", Attr::Int(2))];
    assert_eq!(inferred(&attention("q k v", &[]), "z"), "float Bx8xRx32");
    assert_eq!(inferred(&attention("q3 k3 v3", &heads), "z"), "float BxRx256");
    assert_eq!(inferred(&attention("q3 k3 v3", &heads[..1]), "z"), "? ?");
    assert_eq!(inferred(&attention("q3 k3 v3", &heads[1..]), "z"), "? ?");
    assert_eq!(inferred(&attention("any k v", &[]), "z"), "? ?");
}

/// Kind and inputs of the only node that broadcasts, such as `gemm 2`; an input that may not be stretched has a `?`.
#[track_caller]
fn stretched(model: &Model) -> String {
    let report = explain(model);
    let [node] = &report.broadcasts[..] else {
        return format!("{} {}", report.broadcasts.len(), report.not_analyzed.join("; "));
    };
    let inputs = node.stretched.iter().map(|input| {
        let dims: Vec<String> = input.dims.iter().map(|dim| dim.dim.to_string()).collect();
        format!(" {}{}[{}]", input.input, if input.is_certain { "" } else { "?" }, dims.join(","))
    });
    node.kind.to_string() + &inputs.collect::<String>()
}

#[test]
fn kinds_of_broadcasting_have_names() {
    let names = BroadcastKind::ALL.map(|kind| kind.to_string());
    let expected = [
        "element-wise",
        "pow",
        "gemm",
        "matmul",
        "normalization",
        "quantization",
        "attention",
        "einsum",
        "bias",
    ];
    assert_eq!(names, expected);
    assert_eq!(expected.map(|name| name.parse::<BroadcastKind>()), BroadcastKind::ALL.map(Ok));
    assert!("other".parse::<BroadcastKind>().is_err_and(|error| error.contains("element-wise, pow, gemm")));
    assert_eq!(format!("{:>6}", BroadcastKind::ScalarExponent), "   pow");
}

#[test]
fn attention_broadcasts_masks_and_heads() {
    let heads = [("q_num_heads", Attr::Int(8)), ("kv_num_heads", Attr::Int(2))];
    // The dimensions in which inputs are stretched; `?` where heads are merged or a shape is unknown.
    for (names, attributes, expected) in [
        ("q k v", &[][..], "attention 1[1] 2[1]"),
        ("q k v mask", &[], "attention 3[0,1] 1[1] 2[1]"),
        ("q same same mask", &[], "attention 3[0,1]"),
        ("q same same", &[], "0 "),
        ("q3 k3 v3", &heads, "attention 1?[] 2?[]"),
        ("q3 k3 v3 mask", &heads, "attention 3[0,1] 1?[] 2?[]"),
        ("q3 q3 q3", &[heads[0], ("kv_num_heads", Attr::Int(8))], "0 "),
        ("q any v", &[], "attention 1?[] 2?[]"),
        // The keys of earlier runs come before these.
        ("q k v mask k v", &[], "attention 3?[] 1[1] 2[1]"),
    ] {
        assert_eq!(stretched(&attention(names, attributes)), expected, "{names}");
    }
}

#[test]
fn parameters_along_an_axis_are_broadcast() {
    let builder = || {
        inputs()
            .input("three", DType::F32, "3")
            .input("zeros", DType::U8, "3")
            .input("scales", DType::F32, "N 3 2 7")
            .input("single", DType::F32, "1")
            .input("six", DType::F32, "6")
            .input("five", DType::F32, "5")
            .input("sixes", DType::U8, "6")
            .input("bytes5", DType::U8, "6 5")
            .input("zero5", DType::U8, "5")
            .input("fours", DType::U8, "4")
            .input("first", DType::F32, "N")
            .input("single6", DType::F32, "1 6")
            .input("stack2", DType::F32, "4 1 5 3")
    };
    for (domain, op_type, names, attributes, expected) in [
        (
            "",
            "GroupNormalization",
            "image three three",
            &[("num_groups", Attr::Int(1))][..],
            "normalization 1[0,2,3] 2[0,2,3]",
        ),
        ("", "QuantizeLinear", "image three zeros", &[], "quantization 1[0,2,3] 2[0,2,3]"),
        (
            "",
            "QuantizeLinear",
            "image three zeros",
            &[("axis", Attr::Int(-3))],
            "quantization 1[0,2,3] 2[0,2,3]",
        ),
        ("", "QuantizeLinear", "image first", &[("axis", Attr::Int(0))], "quantization 1[1,2,3]"),
        (
            "",
            "QuantizeLinear",
            "image three zeros",
            &[("axis", Attr::Int(4))],
            "quantization 1[0,1,2,3] 2[0,1,2,3]",
        ),
        ("", "QuantizeLinear", "image single", &[], "0 "),
        ("", "QuantizeLinear", "image scale", &[], "0 "),
        ("", "QuantizeLinear", "image scales", &[], "quantization 1[2]"),
        ("", "QuantizeLinear", "any three", &[], "quantization 1?[]"),
        ("", "MatMulInteger", "bytes bytes5 byte zero5", &[], "matmul 3[0]"),
        ("", "MatMulInteger", "bytes bytes5 fours", &[], "matmul 2[1]"),
        ("", "Gemm", "rows matrix", &[], "0 "),
        ("", "Gemm", "rows matrix five", &[], "gemm 2[0]"),
        ("", "Gemm", "any matrix five", &[], "gemm 2?[]"),
        ("", "Einsum", "matrix stack", &[("equation", Attr::String("...,...->..."))], "einsum 0[0]"),
        ("", "Einsum", "rows single6", &[("equation", Attr::String("ij,ij->ij"))], "einsum 1?[0]"),
        ("", "Einsum", "any stack", &[("equation", Attr::String("...,...->..."))], "einsum 0?[] 1?[]"),
        ("", "LayerNormalization", "rows six six", &[], "normalization 1[0] 2[0]"),
        (
            "com.microsoft",
            "DynamicQuantizeMatMul",
            "rows bytes5 five zero5 five",
            &[],
            "matmul 2[0] 3[0] 4[0]",
        ),
        (
            "com.microsoft",
            "MatMulIntegerToFloat",
            "bytes bytes5 scale five byte zero5 five",
            &[],
            "matmul 3[0] 5[0] 6[0]",
        ),
        ("com.microsoft", "FusedMatMul", "stack stack2", &[], "matmul 0[0] 1[1]"),
        ("com.microsoft", "FusedGemm", "rows matrix five", &[], "gemm 2[0]"),
        ("com.microsoft", "BiasGelu", "rows six", &[], "bias 1[0]"),
        ("com.microsoft", "SkipLayerNormalization", "rows rows six", &[], "normalization 2[0]"),
        ("com.microsoft", "QLinearAdd", "bytes scale byte sixes scale byte", &[], "element-wise 3[0]"),
        ("com.microsoft", "Gelu", "rows", &[], "0 "),
        ("ai.onnx.ml", "Scaler", "rows", &[], "0 "),
        // What is not analyzed.
        ("", "Einsum", "rows", &[("equation", Attr::String("i1->i"))], "0 Einsum, its equation is invalid"),
        (
            "com.microsoft",
            "FusedMatMul",
            "stack stack2",
            &[("transBatchA", Attr::Int(1))],
            "0 com.microsoft.FusedMatMul, unknown operator",
        ),
        (
            "com.microsoft",
            "Attention",
            "rows",
            &[],
            "0 com.microsoft.Attention, its masks and biases broadcast",
        ),
        ("ai.onnx.ml", "Unheard", "rows", &[], "0 ai.onnx.ml.Unheard, unknown operator"),
    ] {
        let mut bytes = node_bytes(op_type, names, "z", attributes);
        bytes.extend(field(7, domain.as_bytes()));
        let found = stretched(&builder().raw_field(1, &bytes).build().expect("a model"));
        let found = found.split(": node").next();
        assert_eq!(found, Some(expected), "{op_type} of {names}");
    }
}

/// The shape that a list has, which nodes compute from the shape `1x3xHxW`. The last one computes `v`.
#[track_caller]
fn computed(nodes: &[&str]) -> String {
    let int = |name: &str, value: i64| (name.to_owned(), arr1(&[value]));
    let ints = [("0", 0), ("1", 1), ("2", 2), ("3", 3), ("4", 4), ("7", 7), ("-7", -7), ("-2", -2)];
    let mut builder = inputs()
        .initializer("2,3,7", arr1(&[2i64, 3, 7]))
        .initializer("true", arr1(&[true]))
        .initializer("false", arr1(&[false]))
        .initializer("1.5", arr1(&[1.5f32]))
        .initializer("2.0", arr1(&[2f32]))
        .initializer("7.0", arr1(&[7f32]))
        .node("Shape", "symbolic", "s")
        .initializer("at2", arr1(&[2i64]))
        .initializer("at-1", arr1(&[-1i64]))
        .node("Gather", "s at2", "h")
        .node("Gather", "s at-1", "w");
    for (name, value) in ints.map(|(name, value)| int(&format!("i{name}"), value)) {
        builder = builder.initializer(&name, value);
    }
    for (at, node) in nodes.iter().enumerate() {
        let output = if at + 1 == nodes.len() { "v" } else { &format!("t{at}") };
        let (op_type, names) = node.split_once(' ').expect("inputs");
        let (names, attribute) = names.split_once(" | ").unwrap_or((names, ""));
        let four = Tensor::from(arr1(&[4i64]));
        let attributes: &[(&str, Attr<'_>)] = match attribute {
            "fmod" => &[("fmod", Attr::Int(1))],
            "axis" => &[("axis", Attr::Int(0))],
            "int" => &[("to", Attr::Int(7))],
            "float" => &[("to", Attr::Int(1))],
            "four" => &[("value", Attr::Tensor(&four))],
            _ => &[],
        };
        builder = builder.node_with(op_type, names, output, attributes);
    }
    let found = inferred(&builder.node("ConstantOfShape", "v", "z").build().expect("a model"), "z");
    found.strip_prefix("float ").expect("float").to_owned()
}

#[test]
fn shapes_are_computed_with_integers() {
    for (nodes, expected) in [
        (&["Add h i2"][..], "H+2"),
        (&["Sub h i2"], "H-2"),
        (&["Mul h w"], "H*W"),
        (&["Div h i2"], "floor(H/2)"),
        (&["Div i7 i2"], "3"),
        // Truncated, not rounded down.
        (&["Div i-7 i2", "Neg t0"], "3"),
        (&["Div h i-2"], "?"),
        (&["Mod i7 i3"], "1"),
        (&["Mod i-7 i3"], "2"),
        (&["Mod i-7 i3 | fmod", "Neg t0"], "1"),
        (&["Mod h i2"], "H-2*floor(H/2)"),
        (&["Mod h i2 | fmod"], "?"),
        (&["Mod i7 i-2"], "?"),
        (&["Min i7 i3 i4"], "3"),
        (&["Max i3 i7 i4"], "7"),
        (&["Abs i-7"], "7"),
        (&["Abs h"], "H"),
        (&["Sub h i2", "Abs t0"], "?"),
        (&["Neg i-7"], "7"),
        (&["ReduceProd 2,3,7"], "42"),
        (&["ReduceSum 2,3,7"], "12"),
        (&["ReduceMax 2,3,7"], "7"),
        (&["ReduceMin 2,3,7"], "2"),
        (&["ReduceProd s"], "3*H*W"),
        (&["Size symbolic", "Unsqueeze t0 i0"], "3*H*W"),
        (&["Range i1 i7 i2"], "1x3x5"),
        (&["ConstantOfShape i3 | four"], "4x4x4"),
        (&["ConstantOfShape i3"], "0x0x0"),
        (&["Expand h i3"], "HxHxH"),
        (&["Expand 2,3,7 i3"], "2x3x7"),
        (&["Concat h i2 w | axis"], "Hx2xW"),
        (&["Slice s i-2 i7"], "HxW"),
        (&["Slice s i0 i4 i0 i2"], "1xH"),
        (&["Slice s i1 i3"], "3xH"),
        (&["Slice s i3 i1"], "()"),
        (&["Add s i2"], "3 x 5 x H+2 x W+2"),
        (&["Add 2,3,7 s"], "?"),
        (&["Identity s"], "1x3xHxW"),
        (&["Cast h | float", "Cast t0 | int"], "H"),
    ] {
        assert_eq!(computed(nodes), expected, "{nodes:?}");
    }
}

#[test]
fn shapes_are_chosen_by_conditions() {
    for (condition, expected) in [
        (&["Equal h h"][..], "2"),
        (&["Equal i2 i3"], "3"),
        (&["Equal h w"], "?"),
        (&["Less i2 i3"], "2"),
        (&["Less i2 i2"], "3"),
        (&["Less h i0"], "3"),
        (&["Less h i2"], "?"),
        (&["Greater i3 i2"], "2"),
        (&["Greater i2 i2"], "3"),
        (&["LessOrEqual i2 i2"], "2"),
        (&["LessOrEqual i3 i2"], "3"),
        (&["GreaterOrEqual i2 i2"], "2"),
        (&["GreaterOrEqual i2 i3"], "3"),
        (&["GreaterOrEqual h i0"], "2"),
        (&["And true true"], "2"),
        (&["And true false"], "3"),
        (&["Or false true"], "2"),
        (&["Or false false"], "3"),
        (&["Not false"], "2"),
        (&["Not true"], "3"),
    ] {
        let last = format!("Where t{} i2 i3", condition.len() - 1);
        assert_eq!(computed(&[condition, &[&last]].concat()), expected, "{condition:?}");
    }
}

#[test]
fn shapes_are_computed_with_floats() {
    for (nodes, expected) in [
        (&["Mul 1.5 2.0", "Cast t0 | int"][..], "3"),
        (&["Add 1.5 2.0", "Cast t0 | int"], "3"),
        (&["Div 7.0 1.5", "Cast t0 | int"], "4"),
        (&["Div 7.0 1.5", "Ceil t0", "Cast t1 | int"], "5"),
        (&["Div 7.0 2.0", "Cast t0 | int"], "?"),
        (&["Sub 7.0 1.5", "Floor t0", "Cast t1 | int"], "5"),
        (&["Min 7.0 1.5", "Cast t0 | int"], "?"),
    ] {
        assert_eq!(computed(nodes), expected, "{nodes:?}");
    }
}

#[test]
fn elements_that_are_selected() {
    use Attr::{Int, Ints};
    check(
        "",
        &[
            ("Gather", "stack 2,3", &[("axis", Int(1))], "float 2x2x5"),
            ("Gather", "stack size", &[("axis", Int(-1))], "float 2x6"),
            ("GatherElements", "stack image", &[], "float Nx3x10x7"),
            ("GatherND", "image 2,3", &[], "float 10x7"),
            ("GatherND", "stack 1", &[("batch_dims", Int(1))], "float 5"),
            ("TopK", "image 2,3", &[("axis", Int(2))], "float Nx3x2x7"),
            ("TopK", "image 1", &[], "float Nx3x10x1"),
            ("TopK", "image size", &[], "float Nx3x10x?"),
            ("OneHot", "bytes 1,2,3,4 scale", &[], "float 4x6x1"),
            ("OneHot", "bytes 2,3 scale", &[("axis", Int(0))], "float 2x4x6"),
            ("NonZero", "image", &[], "int64 4x?"),
            ("NonZero", "any", &[], "int64 ?x?"),
            ("Compress", "image bytes", &[], "float ?"),
            ("Compress", "image bytes", &[("axis", Int(1))], "float Nx?x10x7"),
            ("Unique", "image", &[], "float ?"),
            ("Unique", "image", &[("axis", Int(1))], "? ?"),
            ("NonMaxSuppression", "image image", &[], "int64 ?x3"),
            ("GridSample", "image symbolic", &[], "float Nx3x3xH"),
            ("AffineGrid", "stack 1,2,3,4", &[], "float 1x3x4x2"),
            ("RandomNormal", "", &[("shape", Ints(&[2, 3])), ("dtype", Int(11))], "double 2x3"),
            ("RandomUniform", "", &[("shape", Ints(&[4]))], "float 4"),
            ("Multinomial", "rows", &[("sample_size", Int(5))], "int32 Nx5"),
            ("HannWindow", "1,2,3,4", &[], "float 1"),
            ("HammingWindow", "size", &[], "float ?"),
            ("Det", "image", &[], "float Nx3"),
            ("SequenceLength", "any", &[], "int64 ()"),
            ("OptionalHasElement", "any", &[], "bool ()"),
        ],
    );
    for (op_type, inputs, at) in [("TopK", "image 1", "int64 Nx3x10x1"), ("Unique", "image", "int64 ?")] {
        assert_eq!(inferred(&node_of("", "y z", &(op_type, inputs, &[], "")), "z"), at);
    }
}

#[test]
fn lengths_of_ranges() {
    let range = |start: i64, limit: i64, delta: i64| {
        let [start, limit, delta] = [start, limit, delta].map(arr0);
        let builder = ModelBuilder::new(21)
            .initializer("start", start)
            .initializer("limit", limit)
            .initializer("delta", delta)
            .node("Range", "start limit delta", "z");
        inferred(&builder.build().expect("a model"), "z")
    };
    assert_eq!(range(1, 8, 3), "int64 3");
    assert_eq!(range(8, 1, -3), "int64 3");
    assert_eq!(range(1, 7, 3), "int64 2");
    assert_eq!(range(7, 1, 3), "int64 0");
    let floats = ModelBuilder::new(21).initializer("one", arr0(1f32)).node("Range", "one one one", "z");
    assert_eq!(inferred(&floats.build().expect("a model"), "z"), "float ?");
}

#[test]
fn outputs_of_recurrent_networks() {
    use Attr::{Int, String};
    let network = |attributes: &[(&str, Attr<'_>)]| {
        let builder = ModelBuilder::new(21)
            .input("x", DType::F32, "T B 10")
            .input("w", DType::F32, "1 80 10")
            .input("r", DType::F32, "1 80 20")
            .node_with("LSTM", "x w r", "y h c d", attributes);
        let model = builder.build().expect("a model");
        ["y", "h", "c", "d"].map(|name| inferred(&model, name))
    };
    assert_eq!(network(&[]), ["float Tx1xBx20", "float 1xBx20", "float 1xBx20", "? ?"]);
    let both = [("direction", String("bidirectional")), ("hidden_size", Int(30))];
    assert_eq!(network(&both)[..2], ["float Tx2xBx30", "float 2xBx30"]);
    // The batch comes first.
    assert_eq!(network(&[("layout", Int(1))])[..2], ["float TxBx1x20", "float Tx1x20"]);
}

#[test]
fn quantized_types() {
    use Attr::Int;
    check(
        "",
        &[
            ("DynamicQuantizeLinear", "rows", &[], "uint8 Nx6"),
            ("QuantizeLinear", "rows scale", &[], "uint8 Nx6"),
            ("QuantizeLinear", "rows scale", &[("output_dtype", Int(3))], "int8 Nx6"),
            ("DequantizeLinear", "bytes scale", &[], "float 4x6"),
        ],
    );
    let model = node_of("", "y scale_of_y z", &("DynamicQuantizeLinear", "rows", &[], ""));
    assert_eq!([inferred(&model, "scale_of_y"), inferred(&model, "z")], ["float ()", "uint8 ()"]);
}

#[test]
fn elements_that_are_moved() {
    use Attr::{Int, Ints};
    check(
        "",
        &[
            ("Flatten", "image", &[], "float Nx210"),
            ("Flatten", "image", &[("axis", Int(-1))], "float 30*N x 7"),
            ("Flatten", "image", &[("axis", Int(0))], "float 1 x 210*N"),
            ("Tile", "image 1,2,3,4", &[], "float Nx6x30x28"),
            ("Tile", "image 2,3", &[], "float ?x?x?x?"),
            ("DepthToSpace", "blocks", &[("blocksize", Int(2))], "float Nx2x20x14"),
            ("SpaceToDepth", "blocks", &[("blocksize", Int(2))], "float Nx32x5x3"),
            ("DepthToSpace", "blocks", &[], "? ?"),
            ("Reshape", "stack", &[("shape", Ints(&[3, -1]))], "float 3x20"),
        ],
    );
}
