//! `unishape onnx`: models run, explained and rewritten.

use crate::support::TestDir;
use ndarray::{arr0, arr1, arr2};
use serde_json::{Value, json};
use unishape::{DType, Tensor};
use unishape_npy as npy;
use unishape_onnx::model_builder::ModelBuilder;
use unishape_onnx::tensor_bytes;

/// `(x - mean) * k`, and whether that is above 0, with names as exporters write them.
fn normaliser() -> ModelBuilder {
    ModelBuilder::new(21)
        .input("x", DType::F32, "N 3")
        .initializer("mean", arr1(&[1f32, 2.0, 3.0]))
        .input("/k:0", DType::F32, "")
        .initializer("zero", arr0(0f32))
        .node("Sub", "x mean", "c")
        .node("Mul", "c /k:0", "/out/y")
        .node("Greater", "/out/y zero", "above")
        .output("/out/y", DType::F32, "N 3")
        .output("above", DType::Bool, "N 3")
}

fn dir() -> TestDir {
    let dir = TestDir::new();
    dir.write("m.onnx", normaliser().to_bytes());
    let x = Tensor::from(arr2(&[[1f32, 3.0, 2.0], [0.0, 2.0, 5.0]]));
    npy::write(dir.path("x.npy"), &x).expect("written");
    dir.write("k.pb", tensor_bytes("/k:0", &Tensor::from(arr0(2f32))));
    dir
}

const RUN: [&str; 5] = ["onnx", "run", "m.onnx", "x.npy", "k.pb"];

#[test]
fn outputs_are_written_under_safe_names() {
    let dir = dir();
    let output = dir.run(RUN.iter().chain(&["-o", "results/deep"]));
    assert_eq!((output.code, output.stdout.as_str()), (0, ""));
    assert!(
        output.stderr.starts_with("/out/y  2x3 float32  152 B to results/deep/_out_y.npy\n"),
        "{output:?}"
    );
    let y = npy::read(dir.path("results/deep/_out_y.npy")).expect("an array");
    assert_eq!(y, arr2(&[[0f32, 2.0, -2.0], [-2.0, 0.0, 4.0]]).into());
    let above = npy::read(dir.path("results/deep/above.npy")).expect("an array");
    assert_eq!(above, arr2(&[[false, true, false], [false, false, true]]).into());
    // Existing files are replaced only with --force.
    let message = dir.run(RUN.iter().chain(&["-o", "results/deep"])).expect_error(4);
    assert!(message.contains("_out_y.npy already exists; use --force to replace it"), "{message}");
    assert_eq!(dir.run(RUN.iter().chain(&["-q", "-f", "-o", "results/deep"])).expect_success(), "");
    let output = dir.run(RUN.iter().chain(&["-n", "-o", "nowhere"]));
    assert!(output.code == 0 && output.stderr.contains("to nowhere ("), "{output:?}");
    assert!(!dir.path("nowhere").exists());
}

#[test]
fn small_results_are_printed() {
    let dir = dir();
    let args = ["onnx", "run", "m.onnx", "x=x.npy", "/k:0=k.pb"];
    assert_eq!(
        dir.run(args).expect_success(),
        "/out/y: 2x3 float32\n[[ 0.0  2.0 -2.0]\n [-2.0  0.0  4.0]]\n\
         above: 2x3 bool\n[[False  True False]\n [False False  True]]\n"
    );
    let texts = ModelBuilder::new(20).input("a", DType::Str, "?").node("StringConcat", "a a", "b").output(
        "b",
        DType::Str,
        "?",
    );
    dir.write("t.onnx", texts.to_bytes());
    dir.write("a.pb", tensor_bytes("a", &Tensor::from(arr1(&["a.b".to_string(), "\u{1b}[31m".into()]))));
    let printed = dir.run(["onnx", "run", "t.onnx", "a.pb"]).expect_success();
    assert_eq!(printed, "b: 2 string\n[    'a.ba.b' '\u{fffd}[31m\u{fffd}[31m']\n");
    let large = Tensor::from(ndarray::Array2::<f32>::zeros((1000, 3)));
    npy::write(dir.path("x.npy"), &large).expect("written");
    let message = dir.run(RUN).expect_error(2);
    assert!(
        message.contains("the output /out/y is 1000x3 float32, too large to print; use -o DIR"),
        "{message}"
    );
}

#[test]
fn invalid_arguments_are_errors() {
    let dir = dir();
    let message =
        |args: &[&str], code: i32| dir.run(["onnx", "run", "m.onnx"].iter().chain(args)).expect_error(code);
    assert!(message(&["x.npy"], 5).ends_with("m.onnx: no value for the input /k:0\n"));
    dir.write("other.npy", dir.read("x.npy"));
    let text = message(&["other.npy", "k.pb"], 2);
    assert!(text.contains("other.npy: the model has no input other; name one, as in x=other.npy"), "{text}");
    assert!(message(&["q=x.npy"], 2).contains("its inputs are x, /k:0"));
    assert!(message(&["x=k.pb", "/k:0=k.pb"], 5).contains("input x: expected shape Nx3, got ()"));
    assert!(message(&["x=nowhere.npy"], 4).contains("nowhere.npy"));
    assert!(message(&["x.npy", "k.pb", "-o", "x.npy"], 2).contains("x.npy is not a directory"));
    assert!(message(&["x.npy", "k.pb", "-f", "-o", "-"], 2).contains("give a directory"));
    assert!(message(&["x=[[1, 2]]", "k.pb"], 2).contains("x=[[1, 2]]: give a file"));
    dir.write("bad.onnx", "this is no model");
    let text = dir.run(["onnx", "run", "bad.onnx"]).expect_error(4);
    assert!(text.starts_with("unishape: bad.onnx: not an ONNX model: byte "), "{text}");
    dir.write(
        "mm.onnx",
        ModelBuilder::new(21).node("MatMul", "a b", "c").unranked_output("c", DType::F32).to_bytes(),
    );
    let text = dir.run(["onnx", "run", "mm.onnx"]).expect_error(5);
    assert!(text.contains("mm.onnx: node 0 (MatMul MatMul_of_c): unsupported operator"), "{text}");
}

#[test]
fn broadcasts_are_shown_as_text_json_and_html() {
    let dir = dir();
    let text = dir.run(["onnx", "explain", "m.onnx"]).expect_success();
    assert!(
        text.starts_with("node 0 (Sub Sub_of_c) to Nx3\n  input 1, mean: 3 → Nx3, N times as large\n"),
        "{text}"
    );
    assert!(text.ends_with("\n3 of 3 nodes broadcast\n"), "{text}");
    let report: Value =
        serde_json::from_str(&dir.run(["onnx", "explain", "m.onnx", "--json"]).expect_success())
            .expect("JSON");
    assert_eq!(report["conflicts"], json!([]));
    assert_eq!(
        report["broadcasts"][1]["stretched"][0],
        json!({
            "input": 1, "name": "/k:0", "from": [], "to": ["N", 3], "certain": true, "times": "N x 3",
            "dimensions": [{"dimension": 0, "from": null, "to": "N"}, {"dimension": 1, "from": null, "to": 3}],
        })
    );
    dir.run(["onnx", "explain", "m.onnx", "--html", "page.html"]).expect_success();
    let page = String::from_utf8(dir.read("page.html")).expect("text");
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    assert_eq!(page.matches("<img ").count(), 2, "the second and the third have the same shapes");
    assert!(page.contains("Figure: see <a href=\"#b1\">another node</a>"), "{page}");
    assert!(!page.contains("http-equiv=\"refresh\"") && !page.contains("src=\"http"));
    // The graph comes first, as a picture that is well-formed.
    let graph = page.find("<svg").zip(page.find("</svg>")).map(|(start, end)| &page[start..end + 6]);
    let graph = roxmltree::Document::parse(graph.expect("a graph")).expect("well-formed");
    let boxes = graph.descendants().filter(|node| node.has_tag_name("rect")).count();
    assert_eq!(boxes, 7, "three nodes, two inputs, two outputs");
    assert_eq!(page.matches("class=\"box certain\"").count(), 3);
    let message = dir.run(["onnx", "explain", "m.onnx", "--html", "page.html"]).expect_error(4);
    assert_eq!(message, "unishape: page.html already exists; use --force to replace it\n");
    dir.run(["onnx", "explain", "m.onnx", "--html", "page.html", "--force"]).expect_success();
}

#[test]
fn bc9_incompatible_shapes_are_reported_with_their_node() {
    let dir = TestDir::new();
    let build = ModelBuilder::new(21).input("x", DType::F32, "N 3").initializer("w", arr1(&[1f32, 2.0]));
    dir.write("m.onnx", build.node("Add", "x w", "y").unranked_output("y", DType::F32).to_bytes());
    let expected =
        "m.onnx: node 0 (Add Add_of_y): E1: incompatible shapes in dimension 1: x has 3, w has 2\n";
    let output = dir.run(["onnx", "explain", "m.onnx"]);
    assert_eq!((output.code, output.stdout.as_str()), (1, "none of 1 node broadcasts\n"));
    assert!(output.stderr.contains(expected), "{output:?}");
    let output = dir.run(["onnx", "explain", "m.onnx", "--json"]);
    let report: Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!(
        (output.code, &report["conflicts"][0]["error"], &report["conflicts"][0]["node"]),
        (1, &json!("E1"), &json!(0))
    );
    for command in ["explicit", "implicit"] {
        let message = dir.run(["onnx", command, "m.onnx", "-o", "new.onnx"]).expect_error(1);
        assert!(message.contains(expected), "{message}");
        assert_eq!(dir.list(), ["m.onnx"]);
    }
}

#[test]
fn models_are_made_explicit_and_implicit_again() {
    let dir = dir();
    let check = dir.run(["onnx", "explicit", "m.onnx", "--check"]);
    assert_eq!(check.code, 1);
    assert!(check.stdout.contains("node 0 (Sub Sub_of_c) to Nx3"), "{check:?}");
    assert!(
        check
            .stderr
            .contains("m.onnx: 3 of 3 nodes broadcast; run `unishape onnx explicit m.onnx -o FILE.onnx`")
    );
    let output = dir.run(["onnx", "explicit", "m.onnx", "-o", "e.onnx"]);
    assert!(output.code == 0 && output.stderr.starts_with("3 Expands added; "), "{output:?}");
    assert_eq!(dir.run(["onnx", "explicit", "e.onnx", "--check", "-q"]).expect_success(), "");
    assert_eq!(dir.run(["onnx", "explain", "e.onnx"]).expect_success(), "none of 9 nodes broadcasts\n");
    dir.run(RUN.iter().chain(&["-q", "-o", "before"])).expect_success();
    dir.run(["onnx", "run", "e.onnx", "x.npy", "k.pb", "-q", "-o", "after"]).expect_success();
    for name in ["_out_y.npy", "above.npy"] {
        assert_eq!(dir.read(format!("before/{name}")), dir.read(format!("after/{name}")));
    }
    let check = dir.run(["onnx", "implicit", "e.onnx", "--check"]).expect_error(1);
    assert!(check.contains("3 Expands unnecessary"), "{check}");
    dir.run(["onnx", "implicit", "e.onnx", "-q", "-o", "i.onnx"]).expect_success();
    assert_eq!(dir.read("i.onnx"), dir.read("m.onnx"));
    // A model can be replaced by its rewritten form.
    let message = dir.run(["onnx", "explicit", "m.onnx", "-o", "m.onnx"]).expect_error(4);
    assert!(message.contains("m.onnx already exists; use --force to replace it"), "{message}");
    dir.run(["onnx", "explicit", "m.onnx", "-q", "-f", "-o", "m.onnx"]).expect_success();
    assert_eq!(dir.read("m.onnx"), dir.read("e.onnx"));
    assert_eq!(dir.run(["onnx", "explicit", "m.onnx"]).code, 2);
}

#[test]
fn exit_codes_of_the_gate() {
    let dir = TestDir::new();
    let add = |x: &str, y: &str, op_type: &str| {
        let build = ModelBuilder::new(21).input("x", DType::F32, x).input("y", DType::F32, y);
        build.node(op_type, "x y", "z").unranked_output("z", DType::F32).to_bytes()
    };
    dir.write("same.onnx", add("N 3", "N 3", "Add"));
    dir.write("row.onnx", add("N 3", "3", "Add"));
    dir.write("open.onnx", add("N 3", "M 3", "Add"));
    dir.write("unknown.onnx", add("N 3", "N 3", "Unheard"));
    dir.write("matmul.onnx", add("5 N 3", "3 4", "MatMul"));
    dir.write("wrong.onnx", add("5 2 3", "4 3 4", "MatMul"));
    dir.write("text.onnx", "not a model");
    let check = |file: &str, options: &[&str]| {
        let command = ["onnx", "explicit", file, "--check", "-q"];
        dir.run(command.iter().chain(options)).code
    };
    assert_eq!(check("same.onnx", &[]), 0);
    assert_eq!(check("row.onnx", &[]), 1);
    assert_eq!(check("row.onnx", &["--allow-unknown"]), 1);
    assert_eq!(check("row.onnx", &["--ignore", "element-wise"]), 0);
    for file in ["open.onnx", "unknown.onnx"] {
        assert_eq!(check(file, &[]), 3, "{file}");
        assert_eq!(check(file, &["--allow-unknown"]), 0, "{file}");
    }
    assert_eq!(check("open.onnx", &["--dim", "N=2,M=2"]), 0);
    assert_eq!(check("open.onnx", &["--dim", "N=2,M=1"]), 1);
    assert_eq!(check("open.onnx", &["--dim", "K=1"]), 2);
    assert_eq!(check("open.onnx", &["--dim", "N=-1"]), 2);
    assert_eq!(check("matmul.onnx", &[]), 1);
    assert_eq!(check("matmul.onnx", &["--ignore", "matmul,gemm"]), 0);
    assert_eq!(check("matmul.onnx", &["--ignore", "other"]), 2);
    // Incompatible shapes, which no option accepts.
    assert_eq!(check("wrong.onnx", &["--allow-unknown", "--ignore", "matmul"]), 1);
    assert_eq!((check("text.onnx", &[]), check("missing.onnx", &[])), (4, 4));
    let help = dir.run(["onnx", "explicit", "--help"]).expect_success();
    assert!(help.contains("3  could not tell") && help.contains("4  a file is missing"), "{help}");
    // Nothing is certain for the open sizes.
    dir.run(["onnx", "explicit", "open.onnx", "-q", "--certain-only", "-o", "certain.onnx"]).expect_success();
    assert_eq!(dir.read("certain.onnx"), dir.read("open.onnx"));
    dir.run(["onnx", "explicit", "matmul.onnx", "-q", "--expand-matmul", "-o", "e.onnx"]).expect_success();
    assert_eq!(check("e.onnx", &[]), 0);
}

/// What `--check` advises leads to a model that passes: `explicit` does not expand all kinds.
#[test]
fn advice_of_the_gate_is_not_circular() {
    let dir = TestDir::new();
    let model = |op_type: &str, inputs: &[(&str, &str)]| {
        let build = ModelBuilder::new(23);
        let build = inputs.iter().fold(build, |build, (name, shape)| build.input(name, DType::F32, shape));
        let names: Vec<&str> = inputs.iter().map(|(name, _)| *name).collect();
        build.node(op_type, &names.join(" "), "z").unranked_output("z", DType::F32).to_bytes()
    };
    dir.write("add.onnx", model("Add", &[("x", "2 3"), ("y", "3")]));
    dir.write("pow.onnx", model("Pow", &[("x", "2 3"), ("y", "1")]));
    dir.write("matmul.onnx", model("MatMul", &[("x", "5 2 3"), ("y", "3 4")]));
    dir.write("norm.onnx", model("LayerNormalization", &[("x", "2 3"), ("y", "3")]));
    for (file, advice) in [
        ("add.onnx", "; run `unishape onnx explicit add.onnx -o FILE.onnx`\n"),
        ("pow.onnx", "; `explicit` keeps pow: accept that with --ignore pow, or expand with --expand-pow\n"),
        (
            "matmul.onnx",
            "; `explicit` keeps matmul: accept that with --ignore matmul, or expand with --expand-matmul\n",
        ),
        ("norm.onnx", "; `explicit` keeps normalization: accept that with --ignore normalization\n"),
    ] {
        let message = dir.run(["onnx", "explicit", file, "--check", "-q"]).expect_error(1);
        assert!(message.ends_with(advice), "{message}");
    }
    let build = ModelBuilder::new(23).input("x", DType::F32, "2 1").input("y", DType::F32, "2 3");
    let build = build.initializer("s", arr1(&[2i64, 3])).node("Expand", "x s", "e").node("Add", "e y", "z");
    dir.write("own.onnx", build.unranked_output("z", DType::F32).to_bytes());
    dir.run(["onnx", "implicit", "own.onnx", "--check", "-q"]).expect_success();
    let message = dir.run(["onnx", "implicit", "own.onnx", "--all", "--check", "-q"]).expect_error(1);
    assert!(message.ends_with("; run `unishape onnx implicit own.onnx --all -o FILE.onnx`\n"), "{message}");
}

/// Names that are long and differ at their ends are whole in JSON.
#[test]
fn names_of_sizes_are_whole_in_json() {
    let dir = TestDir::new();
    let long = |end: &str| format!("{}{end}", "n".repeat(100));
    let (x, y) = (format!("{} 1", long("1600")), format!("1 {}", long("2100")));
    let build = ModelBuilder::new(21).input("x", DType::F32, &x).input("y", DType::F32, &y);
    dir.write("m.onnx", build.node("Add", "x y", "z").unranked_output("z", DType::F32).to_bytes());
    let report: Value =
        serde_json::from_str(&dir.run(["onnx", "explain", "m.onnx", "--json"]).expect_success())
            .expect("JSON");
    assert_eq!(report["broadcasts"][0]["shape"], json!([long("1600"), long("2100")]));
}

/// The file of the weights has more than 2 GiB, of which nothing is on disk: it is a hole.
#[cfg(unix)]
#[test]
fn weights_of_more_than_2_gib_are_not_read() {
    let dir = TestDir::new();
    let entry = [&[0x0a, 8][..], b"location", &[0x12, 5], b"w.bin"].concat();
    // 2^29 + 2^20 floats.
    let dims = [0x08, 0x80, 0x80, 0xc0, 0x80, 0x02];
    let fields = [&[0x10, 1, 0x42, 1, b'w', 0x70, 1, 0x6a, entry.len() as u8][..], &entry].concat();
    let proto = [&dims[..], &fields].concat();
    let build = ModelBuilder::new(21).raw_field(5, &proto).input("x", DType::F32, "N 3");
    let build = build.initializer("row", arr1(&[1f32, 2.0, 3.0])).node("Add", "x row", "y");
    let build = build.node("Mul", "w w", "z").output("y", DType::F32, "N 3").unranked_output("z", DType::F32);
    dir.write("m.onnx", build.to_bytes());
    dir.write("w.bin", "");
    let weights = std::fs::File::options().write(true).open(dir.path("w.bin")).expect("a file");
    weights.set_len((1 << 31) + (1 << 22)).expect("a file with a hole");
    let text = dir.run(["onnx", "explain", "m.onnx"]).expect_success();
    assert!(text.ends_with("\n1 of 2 nodes broadcast\n"), "{text}");
    dir.run(["onnx", "explicit", "m.onnx", "-q", "-o", "e.onnx"]).expect_success();
    assert_eq!(dir.run(["onnx", "explicit", "e.onnx", "--check", "-q"]).expect_success(), "");
    dir.run(["onnx", "implicit", "e.onnx", "-q", "-o", "i.onnx"]).expect_success();
    assert_eq!(dir.read("i.onnx"), dir.read("m.onnx"));
    assert!(dir.read("e.onnx").len() < 1000, "the weights stay in their file");
}

#[test]
fn external_data_is_copied_to_another_directory() {
    let dir = TestDir::new();
    // A tensor with external data: field 14 is the location kind, field 13 has the file name.
    let entry = [&[0x0a, 8][..], b"location", &[0x12, 5], b"w.bin"].concat();
    let proto = [&[0x08, 1, 0x10, 1, 0x42, 1, b'w', 0x70, 1, 0x6a, entry.len() as u8][..], &entry].concat();
    let build = ModelBuilder::new(21).raw_field(5, &proto).input("x", DType::F32, "3");
    dir.write("a/m.onnx", build.node("Add", "x w", "y").output("y", DType::F32, "3").to_bytes());
    dir.write("a/w.bin", 2f32.to_le_bytes());
    dir.write("b/empty", "");
    dir.run(["onnx", "explicit", "a/m.onnx", "-q", "-o", "b/e.onnx"]).expect_success();
    assert_eq!(dir.read("b/w.bin"), dir.read("a/w.bin"));
    let message = dir.run(["onnx", "explicit", "a/m.onnx", "-o", "b/f.onnx"]).expect_error(4);
    assert!(message.contains("w.bin already exists; use --force to replace it"), "{message}");
    dir.run(["onnx", "explicit", "a/m.onnx", "-q", "-o", "a/e.onnx"]).expect_success();
    npy::write(dir.path("x.npy"), &Tensor::from(arr1(&[1f32, 2.0, 3.0]))).expect("written");
    let printed = dir.run(["onnx", "run", "a/e.onnx", "x.npy"]).expect_success();
    assert_eq!(printed, "y: 3 float32\n[3.0 4.0 5.0]\n");
}
