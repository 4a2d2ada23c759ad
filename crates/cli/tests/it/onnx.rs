//! `unishape onnx`: models run, explained and rewritten.

use crate::support::TestDir;
use ndarray::{arr0, arr1, arr2};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use unishape::{DType, Tensor};
use unishape_npy as npy;
use unishape_onnx::model_builder::{Attr, ModelBuilder};
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

/// The numbers in the value of an attribute, whatever is between them.
fn numbers(text: &str) -> Vec<i64> {
    let parts = text.split(|c: char| !c.is_ascii_digit() && c != '-');
    parts.filter(|part| !part.is_empty()).map(|part| part.parse().expect("a number")).collect()
}

/// The page of a model, written by `explain --html`.
fn page(dir: &TestDir, args: &[&str]) -> String {
    let output = dir.run(["onnx", "explain", "m.onnx", "--html", "-"].iter().chain(args));
    assert!(output.stdout.starts_with("<!DOCTYPE html>"), "{output:?}");
    output.stdout
}

/// The diagram of the only graph of a page, as XML.
fn diagram(page: &str) -> String {
    let (start, end) = page.find("<svg").zip(page.find("</svg>")).expect("a diagram");
    page[start..end + "</svg>".len()].into()
}

#[test]
fn boxes_of_a_diagram_are_below_their_sources_and_do_not_overlap() {
    // Names of 19 characters are shown as they are; of longer ones, the end.
    let (whole, long) = ("input_1_of_19_chars", "input_2_of_20_charsX");
    let dir = TestDir::new();
    let three = Tensor::from(arr1(&[3i64]));
    let build = ModelBuilder::new(21)
        .input("a", DType::F32, "3")
        .input(whole, DType::F32, "3")
        .input(long, DType::F32, "3")
        // Constants are left out.
        .input("w", DType::F32, "3")
        .initializer("w", arr1(&[1f32, 2.0, 3.0]))
        .node_with("Constant", "", "k", &[("value", Attr::Tensor(&three))])
        .node("Add", &format!("a {whole}"), "s")
        .node("Mul", &format!("{long} w"), "p")
        .node("Neg", "s", "n")
        // An omitted output is no value that others read.
        .node("Dropout", "s", "d -")
        .node("Clip", "p - w", "c")
        .node("Sub", "n a", "r")
        .output("r", DType::F32, "3");
    dir.write("m.onnx", build.to_bytes());
    let svg = diagram(&page(&dir, &[]));
    let document = roxmltree::Document::parse(&svg).expect("well-formed");
    let mut places = BTreeMap::new();
    let is_box = |class: &str| class.starts_with("box ");
    for node in document.descendants().filter(|node| node.attribute("class").is_some_and(is_box)) {
        let child = |tag: &str, class: Option<&str>| {
            node.children().find(|child| child.has_tag_name(tag) && child.attribute("class") == class)
        };
        let number = |of: roxmltree::Node<'_, '_>, name: &str| -> i64 {
            of.attribute(name).expect("an attribute").parse().expect("a number")
        };
        let rect = child("rect", None).expect("a box");
        let [x, y, width, height] = ["x", "y", "width", "height"].map(|name| number(rect, name));
        assert_eq!((width, height), (132, 38));
        // Both texts are in the middle of the box, one above the other.
        let texts = [child("text", None), child("text", Some("name"))].map(|text| text.expect("a text"));
        assert_eq!(texts.map(|text| number(text, "x")), [x + width / 2; 2]);
        let [label, name] = texts.map(|text| number(text, "y"));
        assert!(y < label && label < name && name < y + height, "{y} {label} {name}");
        let [label, name] = texts.map(|text| text.text().expect("a text"));
        places.insert(format!("{label} {name}"), [x, y]);
    }
    // In each layer, boxes are near the middle of their sources; those that would overlap are moved apart.
    let expected = [
        ("input a", [-152, 0]),
        ("input input_1_of_19_chars", [0, 0]),
        ("input …put_2_of_20_charsX", [152, 0]),
        ("Add Add_of_s", [-76, 72]),
        ("Mul Mul_of_p", [152, 72]),
        ("Neg Neg_of_n", [-152, 144]),
        ("Dropout Dropout_of_d", [0, 144]),
        ("Clip Clip_of_c", [152, 144]),
        ("Sub Sub_of_r", [-152, 216]),
        ("output r", [-152, 288]),
    ];
    let places: BTreeMap<&str, [i64; 2]> = places.iter().map(|(name, at)| (name.as_str(), *at)).collect();
    assert_eq!(places, expected.into_iter().collect());
    // 20 around all boxes.
    let view = document.root_element().attribute("viewBox").expect("a view");
    assert_eq!(numbers(view), [-172, -20, 152 + 132 + 152 + 40, 288 + 38 + 40]);
    // From the middle of a box's lower edge to the middle of another's upper edge, vertical at both.
    let at = |name: &str| places[expected.iter().find(|(own, _)| own.ends_with(name)).expect("a box").0];
    let lines = [
        ("input a", "_s"),
        ("19_chars", "_s"),
        ("20_charsX", "_p"),
        ("_s", "_n"),
        ("_s", "_d"),
        ("_p", "_c"),
        ("input a", "_r"),
        ("_n", "_r"),
        ("_r", "output r"),
    ];
    let lines = lines.map(|(from, to)| {
        let ([x1, y1], [x2, y2]) = (at(from), at(to));
        let (x1, y1, x2) = (x1 + 66, y1 + 38, x2 + 66);
        let middle = (y1 + y2) / 2;
        vec![x1, y1, x1, middle, x2, middle, x2, y2]
    });
    let mut drawn: Vec<Vec<i64>> =
        document.descendants().filter_map(|node| node.attribute("d")).map(numbers).collect();
    drawn.sort();
    let mut lines = lines.to_vec();
    lines.sort();
    assert_eq!(drawn, lines);
}

/// The class and the title of the boxes of a diagram, and whether they lead to a section.
fn marks(page: &str) -> Vec<(String, String, bool)> {
    let svg = diagram(page);
    let document = roxmltree::Document::parse(&svg).expect("well-formed");
    let boxes = document.descendants().filter_map(|node| {
        let class = node.attribute("class")?.strip_prefix("box ")?.to_owned();
        let title = node.children().find(|child| child.has_tag_name("title"))?.text()?.to_owned();
        Some((class, title, node.attribute("data-section").is_some()))
    });
    boxes.filter(|(class, ..)| class != "end").collect()
}

#[test]
fn boxes_of_a_diagram_show_what_their_nodes_do() {
    let dir = TestDir::new();
    let build = ModelBuilder::new(21)
        .input("x", DType::F32, "N 3")
        .input("y", DType::F32, "M 3")
        .initializer("row", arr1(&[1f32, 2.0, 3.0]))
        .initializer("bad", arr1(&[1f32, 2.0]))
        .node("Neg", "x", "n")
        .node("Add", "x row", "a")
        .node("Mul", "x y", "m")
        .node("Sub", "x bad", "s")
        .unranked_output("s", DType::F32);
    dir.write("m.onnx", build.to_bytes());
    let expected = [
        ("", "Neg Neg_of_n", false),
        ("certain", "Add Add_of_a", true),
        ("perhaps", "Mul Mul_of_m", true),
        ("conflict", "Sub Sub_of_s", false),
    ];
    let expected = expected.map(|(class, title, section)| (class.to_owned(), title.to_owned(), section));
    assert_eq!(marks(&page(&dir, &[])), expected);
}

/// The page decompresses its figures: base64 of the zlib format.
#[test]
fn figures_of_a_page_are_compressed() {
    let dir = dir();
    let page = page(&dir, &[]);
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => panic!("{c} is no digit of base64"),
    };
    let mut figures = Vec::new();
    for part in page.split("data-figure=\"").skip(1) {
        let digits = part.split_once('"').expect("an end").0.trim_end_matches('=');
        let bits: Vec<u8> =
            digits.bytes().flat_map(|c| (0..6).rev().map(move |at| digit(c) >> at & 1)).collect();
        let bytes: Vec<u8> =
            bits.chunks_exact(8).map(|bits| bits.iter().fold(0, |byte, bit| byte << 1 | bit)).collect();
        let mut svg = String::new();
        let mut decoder = flate2::read::ZlibDecoder::new(&bytes[..]);
        std::io::Read::read_to_string(&mut decoder, &mut svg).expect("the zlib format");
        figures.push(svg);
    }
    // Of `x - mean` and `c * k`; the third node has the shapes of the second.
    assert_eq!(figures.len(), 2);
    for (svg, name) in figures.iter().zip(["X1 is mean", "X1 is /k:0"]) {
        let document = roxmltree::Document::parse(svg).expect("well-formed");
        assert!(document.descendants().any(|node| node.text() == Some(name)), "{name}: {svg}");
    }
}

#[test]
fn what_may_broadcast_is_reported_unless_only_certain_ones_are_wanted() {
    let dir = TestDir::new();
    let build = ModelBuilder::new(21).input("x", DType::F32, "N 3").input("y", DType::F32, "M 3");
    let build = build.node("Mul", "x y", "m").unranked_output("m", DType::F32);
    dir.write("m.onnx", build.to_bytes());
    let text = dir.run(["onnx", "explain", "m.onnx"]).expect_success();
    assert!(text.starts_with("node 0 (Mul Mul_of_m) to ") && text.contains("perhaps"), "{text}");
    assert!(text.ends_with("\n1 of 1 node may broadcast\n"), "{text}");
    let text = dir.run(["onnx", "explain", "m.onnx", "--certain-only"]).expect_success();
    assert_eq!(text, "none of 1 node broadcasts\n");
    // A node that is certain stays, with the inputs that are certain.
    let build = build.initializer("row", arr1(&[1f32, 2.0, 3.0])).node("Add", "x row", "a");
    dir.write("m.onnx", build.to_bytes());
    let text = dir.run(["onnx", "explain", "m.onnx"]).expect_success();
    assert!(text.ends_with("\n1 of 2 nodes broadcast, and 1 more may\n"), "{text}");
    let text = dir.run(["onnx", "explain", "m.onnx", "--certain-only"]).expect_success();
    assert!(text.starts_with("node 1 (Add Add_of_a) to "), "{text}");
    assert!(text.ends_with("\n1 of 2 nodes broadcast\n"), "{text}");
}

#[test]
fn sizes_are_those_of_the_symbolic_dimensions() {
    let dir = TestDir::new();
    let build = ModelBuilder::new(21).input("x", DType::F32, "N 3").input("y", DType::F32, "M 3");
    let build = build.node("Mul", "x y", "m").unranked_output("m", DType::F32);
    dir.write("m.onnx", build.to_bytes());
    let explain = ["onnx", "explain", "m.onnx", "--dim"];
    let text = dir.run(explain.iter().chain(&["M=1,N=4"])).expect_success();
    assert!(text.contains("to 4x3\n  input 1, y: 1x3 → 4x3, 4 times as large\n"), "{text}");
    let message = dir.run(explain.iter().chain(&["K=1"])).expect_error(2);
    let problem = "no such symbolic dimension";
    assert_eq!(message, format!("unishape: --dim K: {problem}; those of the inputs are M, N\n"));
    let build = ModelBuilder::new(21).input("x", DType::F32, "3").node("Neg", "x", "n");
    dir.write("m.onnx", build.unranked_output("n", DType::F32).to_bytes());
    let message = dir.run(explain.iter().chain(&["K=1"])).expect_error(2);
    assert_eq!(message, format!("unishape: --dim K: {problem}; the inputs have no symbolic dimensions\n"));
}

#[test]
fn json_and_a_page_exclude_each_other() {
    let dir = dir();
    let output = dir.run(["onnx", "explain", "m.onnx", "--json", "--html", "page.html"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert_eq!(output.message(), "unishape: --json and --html exclude each other\n");
    assert_eq!(dir.list(), ["k.pb", "m.onnx", "x.npy"]);
}

/// The sizes and options of the command are those of the new model.
#[test]
fn options_of_explicit_are_respected() {
    let dir = TestDir::new();
    let build = ModelBuilder::new(21).input("x", DType::F32, "N 3").input("y", DType::F32, "M 3");
    let build = build.input("z", DType::F32, "3 4").input("b", DType::F32, "5 N 3");
    let build = build.node("Mul", "x y", "m").node("MatMul", "b z", "p");
    let build = build.unranked_output("m", DType::F32).unranked_output("p", DType::F32);
    dir.write("m.onnx", build.to_bytes());
    let explicit = |args: &[&str]| {
        let output = dir.run(["onnx", "explicit", "m.onnx", "-f", "-o", "e.onnx"].iter().chain(args));
        assert_eq!((output.code, output.stdout.as_str()), (0, ""), "{output:?}");
        output.message()
    };
    // Both inputs of `Mul` may be stretched; what is not expanded is reported.
    let message = explicit(&[]);
    assert!(
        message.starts_with("unishape: left as they are: 1 of kind matmul\n2 Expands added; "),
        "{message}"
    );
    let message = explicit(&["--certain-only"]);
    assert!(message.contains("\nno Expand added; "), "{message}");
    let message = explicit(&["--dim", "N=2,M=1"]);
    assert!(message.contains("\n1 Expand added; "), "{message}");
    let message = explicit(&["--expand-matmul", "--dim", "N=2,M=2"]);
    assert!(message.starts_with("1 Expand added; "), "{message}");
    let json = dir.run(["onnx", "explicit", "m.onnx", "-f", "-o", "e.onnx", "--json"]).expect_success();
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&json["expands"], &json["written"]), (&json!(2), &json!(true)));
    // The gate says what it has found, and nothing where all is well.
    let check = ["onnx", "explicit", "m.onnx", "--check", "--ignore", "matmul", "--dim"];
    let output = dir.run(check.iter().chain(&["N=2,M=2"]));
    assert_eq!((output.code, output.stdout.as_str()), (0, ""));
    assert_eq!(output.message(), "m.onnx: none of 2 nodes broadcasts\n");
    let output = dir.run(check.iter().chain(&["N=2,M=1"]));
    assert_eq!(output.code, 1);
    assert!(output.stdout.starts_with("node 0 (Mul Mul_of_m) to 2x3\n"), "{output:?}");
}

#[test]
fn external_data_outside_of_the_directory_is_an_error() {
    let dir = TestDir::new();
    let tensor = |location: &str, floats: u8| {
        let entry =
            [&[0x0a, 8][..], b"location", &[0x12, location.len() as u8], location.as_bytes()].concat();
        [&[0x08, floats, 0x10, 1, 0x42, 1, b'w', 0x70, 1, 0x6a, entry.len() as u8][..], &entry].concat()
    };
    let model = |location: &str, floats: u8| {
        let build = ModelBuilder::new(21).raw_field(5, &tensor(location, floats)).input("x", DType::F32, "3");
        build.node("Add", "x w", "y").output("y", DType::F32, "3")
    };
    dir.write("w.bin", 2f32.to_le_bytes());
    dir.write("b/empty", "");
    for location in ["../w.bin", "sub/../../w.bin", ""] {
        dir.write("a/m.onnx", model(location, 1).to_bytes());
        let message = dir.run(["onnx", "explicit", "a/m.onnx", "-o", "b/e.onnx"]).expect_error(5);
        assert!(
            message
                .ends_with(&format!("the external data '{location}' is outside of the model's directory\n")),
            "{message}"
        );
    }
    // A file that is missing is reported when it is copied, and when the model is run.
    dir.write("a/m.onnx", model("w.bin", 1).to_bytes());
    let message = dir.run(["onnx", "explicit", "a/m.onnx", "-o", "b/e.onnx"]).expect_error(4);
    assert_eq!(message, "unishape: a/w.bin: external data of the model is missing\n");
    npy::write(dir.path("x.npy"), &Tensor::from(arr1(&[1f32, 2.0, 3.0]))).expect("written");
    let message = dir.run(["onnx", "run", "a/m.onnx", "x.npy"]).expect_error(4);
    assert!(message.contains("w.bin"), "{message}");
    assert!(!dir.path("b/e.onnx").exists() && !dir.path("b/w.bin").exists());
    // Its size is added to that of the model. Both are much smaller than their product, which no disk has.
    let large = ndarray::Array1::<f32>::zeros(1 << 18);
    dir.write("a/m.onnx", model("w.bin", 1).initializer("large", large).to_bytes());
    dir.write("a/w.bin", "");
    let weights = std::fs::File::options().write(true).open(dir.path("a/w.bin")).expect("a file");
    weights.set_len(1 << 24).expect("a file with a hole");
    let output = dir.run(["onnx", "explicit", "a/m.onnx", "-n", "-o", "b/e.onnx"]);
    assert_eq!(output.code, 0, "{output:?}");
}

#[test]
fn files_of_inputs_are_found_by_name() {
    let dir = dir();
    let run = |args: &[&str]| dir.run(["onnx", "run", "m.onnx"].iter().chain(args));
    // A file that looks like a tensor, whether it is there or not.
    let message = run(&["x.npy", "gone.pb"]).expect_error(4);
    assert!(message.starts_with("unishape: gone.pb: "), "{message}");
    for (word, path) in [("x=gone.pb", "gone.pb"), ("gone.npy", "gone.npy"), ("gone.npz:x", "gone.npz")] {
        let message = run(&[word]).expect_error(4);
        assert!(message.starts_with(&format!("unishape: {path}: ")), "{message}");
    }
    // A name that the model does not have is not part of a file's name.
    for word in ["q=gone.pb", "q=gone.npy"] {
        let message = run(&[word]).expect_error(2);
        let problem = "the model has no input of that name; its inputs are x, /k:0";
        assert_eq!(message, format!("unishape: {word}: {problem}\n"));
    }
    let message = run(&["nothing"]).expect_error(2);
    let problem = "write NAME=FILE, as in x=x.npy; its inputs are x, /k:0";
    assert_eq!(message, format!("unishape: nothing: {problem}\n"));
    // Files that exist may have any name.
    dir.write("x", dir.read("x.npy"));
    dir.write("q=x.npy", dir.read("x.npy"));
    let printed = run(&["x.npy", "k.pb"]).expect_success();
    assert_eq!(run(&["x", "k.pb"]).expect_success(), printed);
    let message = run(&["q=x.npy", "k.pb"]).expect_error(2);
    assert!(message.starts_with("unishape: q=x.npy: the model has no input q=x; name one, "), "{message}");
    // A damaged tensor is an invalid input, unlike a missing one.
    dir.write("bad.pb", "this is no tensor");
    assert!(run(&["x=bad.pb"]).expect_error(5).starts_with("unishape: bad.pb: "));
}

/// An error lists ten inputs, and says whether there are more.
#[test]
fn long_lists_of_inputs_are_abbreviated() {
    for (count, more) in [(1, ""), (10, ""), (11, ", …"), (12, ", …")] {
        let dir = TestDir::new();
        let names: Vec<String> = (0..count).map(|number| format!("x{number}")).collect();
        let build = ModelBuilder::new(21);
        let build = names.iter().fold(build, |build, name| build.input(name, DType::F32, "3"));
        dir.write("m.onnx", build.node("Neg", "x0", "y").output("y", DType::F32, "3").to_bytes());
        let message = dir.run(["onnx", "run", "m.onnx", "nothing"]).expect_error(2);
        let shown = names[..count.min(10)].join(", ");
        assert!(message.ends_with(&format!("; its inputs are {shown}{more}\n")), "{message}");
    }
}

/// Arrays of strings, and files in the other byte order, are read; a pipe once.
#[cfg(unix)]
#[test]
fn inputs_that_cannot_be_mapped_are_read() {
    let dir = TestDir::new();
    let build = ModelBuilder::new(20).input("a", DType::Str, "?").node("StringConcat", "a a", "b");
    dir.write("m.onnx", build.output("b", DType::Str, "?").to_bytes());
    npy::write(dir.path("a.npy"), &Tensor::from(arr1(&["tea".to_owned()]))).expect("written");
    assert_eq!(dir.run(["onnx", "run", "m.onnx", "a.npy"]).expect_success(), "b: 1 string\n['teatea']\n");
    let build = ModelBuilder::new(21).input("x", DType::I32, "3").node("Neg", "x", "y");
    dir.write("m.onnx", build.output("y", DType::I32, "3").to_bytes());
    for descr in ["<i4", ">i4"] {
        let file = crate::eval::integers(descr, &[3], |n| n as i64).file();
        dir.write("x.npy", &file);
        for output in [
            dir.run(["onnx", "run", "m.onnx", "x.npy"]),
            dir.run_with_input(["onnx", "run", "m.onnx", "x=/dev/stdin"], &file),
        ] {
            assert_eq!(output.expect_success(), "y: 3 int32\n[ 0 -1 -2]\n", "{descr}");
        }
    }
}

#[test]
fn outputs_have_json() {
    let dir = dir();
    let json = |args: &[&str]| -> Value {
        let text = dir.run(RUN.iter().chain(&["--json"]).chain(args)).expect_success();
        serde_json::from_str(&text).expect("JSON")
    };
    let output = |name: &str, dtype: &str, more: &[(&str, Value)]| {
        let mut object = json!({"name": name, "shape": [2, 3], "dtype": dtype});
        for (key, value) in more {
            object[*key] = value.clone();
        }
        object
    };
    assert_eq!(
        json(&[]),
        json!({"outputs": [
            output("/out/y", "float32", &[("data", json!([[0.0, 2.0, -2.0], [-2.0, 0.0, 4.0]]))]),
            output("above", "bool", &[("data", json!([[false, true, false], [false, false, true]]))]),
        ]})
    );
    let planned = json!({"outputs": [output("/out/y", "float32", &[]), output("above", "bool", &[])]});
    assert_eq!(json(&["--dry-run"]), planned);
    let written = json(&["-o", "out"]);
    assert_eq!(written["outputs"][1], output("above", "bool", &[("path", json!("out/above.npy"))]));
    assert_eq!((&written["bytes"], &written["written"]), (&json!(152 + 134), &json!(true)));
    assert_eq!(json(&["-o", "other", "-n"])["written"], false);
    assert!(dir.path("out/above.npy").exists() && !dir.path("other").exists());
}

#[test]
fn an_input_is_not_overwritten_by_an_output() {
    let dir = TestDir::new();
    let build = ModelBuilder::new(21).input("x", DType::F32, "3").node("Neg", "x", "y");
    dir.write("m.onnx", build.output("y", DType::F32, "3").to_bytes());
    npy::write(dir.path("y.npy"), &Tensor::from(arr1(&[1f32, 2.0, 3.0]))).expect("written");
    let before = dir.read("y.npy");
    let message = dir.run(["onnx", "run", "m.onnx", "x=y.npy", "-f", "-o", "."]).expect_error(2);
    assert_eq!(message, "unishape: ./y.npy is an input and would be overwritten; choose another -o\n");
    assert_eq!(dir.read("y.npy"), before);
}

/// A result that no memory holds is an error of the system, not of the inputs.
#[cfg(target_os = "linux")]
#[test]
fn a_result_larger_than_memory_is_an_error_of_the_system() {
    if !crate::support::can_measure_memory() {
        return;
    }
    let dir = TestDir::new();
    let build = ModelBuilder::new(21).input("x", DType::F32, "N 1").input("y", DType::F32, "M");
    dir.write("m.onnx", build.node("Add", "x y", "z").unranked_output("z", DType::F32).to_bytes());
    dir.write("x.npy", crate::arrays::zeros("'<f4'", &[1 << 20, 1]));
    dir.write("y.npy", crate::arrays::zeros("'<f4'", &[1 << 20]));
    let args = ["onnx", "run", "m.onnx", "x.npy", "y.npy", "-o", "out"];
    // 4 TiB, of 8 GiB.
    let output = crate::support::RunOutput::of(&mut dir.limited("ulimit -v 8388608", &args));
    let message = output.expect_error(4);
    assert!(message.ends_with(": cannot allocate 4398046511104 bytes\n"), "{message}");
}
