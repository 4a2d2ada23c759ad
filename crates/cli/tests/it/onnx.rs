//! `unishape onnx`: models run, explained and rewritten, from file to file.

use crate::support::Folder;
use ndarray::{arr0, arr1, arr2};
use serde_json::{Value, json};
use unishape::{DType, Tensor};
use unishape_npy as npy;
use unishape_onnx::model_builder::ModelBuilder;
use unishape_onnx::tensor_bytes;

/// (x - mean) * k, and whether that is above 0; of names as exporters write them.
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

fn folder() -> Folder {
    let folder = Folder::new();
    folder.put("m.onnx", normaliser().to_bytes());
    let x = Tensor::from(arr2(&[[1f32, 3.0, 2.0], [0.0, 2.0, 5.0]]));
    npy::write(folder.path("x.npy"), &x).expect("written");
    folder.put("k.pb", tensor_bytes("/k:0", &Tensor::from(arr0(2f32))));
    folder
}

const RUN: [&str; 5] = ["onnx", "run", "m.onnx", "x.npy", "k.pb"];

#[test]
fn outputs_are_written_under_safe_names() {
    let folder = folder();
    let ran = folder.run(RUN.iter().chain(&["-o", "results/deep"]));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert!(ran.stderr.starts_with("/out/y  2x3 float32  152 bytes to results/deep/_out_y.npy\n"), "{ran:?}");
    let y = npy::read(folder.path("results/deep/_out_y.npy")).expect("an array");
    assert_eq!(y, arr2(&[[0f32, 2.0, -2.0], [-2.0, 0.0, 4.0]]).into());
    let above = npy::read(folder.path("results/deep/above.npy")).expect("an array");
    assert_eq!(above, arr2(&[[false, true, false], [false, false, true]]).into());
    // What is there stays, unless it may be replaced.
    let said = folder.run(RUN.iter().chain(&["-o", "results/deep"])).refused(1);
    assert!(said.contains("_out_y.npy is there already; add --force to replace it"), "{said}");
    assert_eq!(folder.run(RUN.iter().chain(&["-q", "-f", "-o", "results/deep"])).printed(), "");
    let ran = folder.run(RUN.iter().chain(&["-n", "-o", "nowhere"]));
    assert!(ran.code == 0 && ran.stderr.contains("to nowhere, "), "{ran:?}");
    assert!(!folder.path("nowhere").exists());
}

#[test]
fn small_results_are_printed() {
    let folder = folder();
    let words = ["onnx", "run", "m.onnx", "x=x.npy", "/k:0=k.pb"];
    assert_eq!(
        folder.run(words).printed(),
        "/out/y: 2x3 float32\n[[ 0.0  2.0 -2.0]\n [-2.0  0.0  4.0]]\n\
         above: 2x3 bool\n[[False  True False]\n [False False  True]]\n"
    );
    let texts = ModelBuilder::new(20).input("a", DType::Str, "?").node("StringConcat", "a a", "b").output(
        "b",
        DType::Str,
        "?",
    );
    folder.put("t.onnx", texts.to_bytes());
    folder.put("a.pb", tensor_bytes("a", &Tensor::from(arr1(&["a.b".to_string(), "\u{1b}[31m".into()]))));
    let printed = folder.run(["onnx", "run", "t.onnx", "a.pb"]).printed();
    assert_eq!(printed, "b: 2 string\n[    'a.ba.b' '\u{fffd}[31m\u{fffd}[31m']\n");
    let large = Tensor::from(ndarray::Array2::<f32>::zeros((1000, 3)));
    npy::write(folder.path("x.npy"), &large).expect("written");
    let said = folder.run(RUN).refused(2);
    assert!(said.contains("the output /out/y is 1000x3 float32, too large to print; give -o DIR"), "{said}");
}

#[test]
fn what_is_given_wrong_is_told() {
    let folder = folder();
    let said =
        |words: &[&str], code: i32| folder.run(["onnx", "run", "m.onnx"].iter().chain(words)).refused(code);
    assert!(said(&["x.npy"], 1).ends_with("m.onnx: no value for the input /k:0\n"));
    folder.put("other.npy", folder.bytes("x.npy"));
    let text = said(&["other.npy", "k.pb"], 2);
    assert!(
        text.contains("other.npy: the model has no input other; say what it is for, as in x=other.npy"),
        "{text}"
    );
    assert!(said(&["q=x.npy"], 2).contains("its inputs are x, /k:0"));
    assert!(said(&["x=k.pb", "/k:0=k.pb"], 1).contains("input x: expected shape Nx3, got ()"));
    assert!(said(&["x=nowhere.npy"], 1).contains("nowhere.npy"));
    assert!(said(&["x.npy", "k.pb", "-o", "x.npy"], 2).contains("x.npy is no folder"));
    assert!(said(&["x.npy", "k.pb", "-f", "-o", "-"], 2).contains("give a folder"));
    folder.put("bad.onnx", "this is no model");
    let text = folder.run(["onnx", "run", "bad.onnx"]).refused(1);
    assert!(text.starts_with("unishape: bad.onnx: not an ONNX model: byte "), "{text}");
    folder.put(
        "mm.onnx",
        ModelBuilder::new(21).node("MatMul", "a b", "c").unranked_output("c", DType::F32).to_bytes(),
    );
    let text = folder.run(["onnx", "run", "mm.onnx"]).refused(1);
    assert!(text.contains("mm.onnx: node 0 (MatMul MatMul_of_c): unsupported operator"), "{text}");
}

#[test]
fn broadcasting_is_told_in_text_json_and_pictures() {
    let folder = folder();
    let text = folder.run(["onnx", "explain", "m.onnx"]).printed();
    assert!(
        text.starts_with("node 0 (Sub Sub_of_c) to Nx3\n  input 1, mean: 3 → Nx3, N times as large\n"),
        "{text}"
    );
    assert!(text.ends_with("\n3 of 3 nodes broadcast\n"), "{text}");
    let told: Value =
        serde_json::from_str(&folder.run(["onnx", "explain", "m.onnx", "--json"]).printed()).expect("JSON");
    assert_eq!(told["conflicts"], json!([]));
    assert_eq!(
        told["broadcasts"][1]["stretched"][0],
        json!({
            "input": 1, "name": "/k:0", "from": [], "to": ["N", 3], "certain": true, "times": "N x 3",
            "dimensions": [{"dimension": 0, "from": null, "to": "N"}, {"dimension": 1, "from": null, "to": 3}],
        })
    );
    folder.run(["onnx", "explain", "m.onnx", "--html", "page.html"]).printed();
    let page = String::from_utf8(folder.bytes("page.html")).expect("text");
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    assert_eq!(page.matches("<img ").count(), 2, "the second and the third have the same shapes");
    assert!(page.contains("Drawn at <a href=\"#node1\">node 1</a>"), "{page}");
    assert!(!page.contains("http-equiv=\"refresh\"") && !page.contains("src=\"http"));
    // The pictures are those of `unishape explain`.
    let picture =
        page.split("data:image/svg+xml,").nth(1).and_then(|rest| rest.split('"').next()).expect("a picture");
    let picture = decoded(picture);
    assert!(roxmltree::Document::parse(&picture).is_ok() && picture.contains("mean"), "{picture}");
}

/// The text that an address stands for.
fn decoded(address: &str) -> String {
    let mut parts = address.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (number, rest) = part.split_at(2);
        bytes.push(u8::from_str_radix(number, 16).expect("a number"));
        bytes.extend(rest.as_bytes());
    }
    String::from_utf8(bytes).expect("text")
}

#[test]
fn bc9_a_model_whose_shapes_do_not_go_together_is_told_with_its_node() {
    let folder = Folder::new();
    let build = ModelBuilder::new(21).input("x", DType::F32, "N 3").initializer("w", arr1(&[1f32, 2.0]));
    folder.put("m.onnx", build.node("Add", "x w", "y").unranked_output("y", DType::F32).to_bytes());
    let picture = "m.onnx: node 0 (Add Add_of_y): E1: incompatible shapes in dimension 1: x has 3, w has 2\n";
    let ran = folder.run(["onnx", "explain", "m.onnx"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, "none of 1 node broadcasts\n"));
    assert!(ran.stderr.contains(picture), "{ran:?}");
    let ran = folder.run(["onnx", "explain", "m.onnx", "--json"]);
    let told: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(
        (ran.code, &told["conflicts"][0]["error"], &told["conflicts"][0]["node"]),
        (1, &json!("E1"), &json!(0))
    );
    for command in ["explicit", "implicit"] {
        let said = folder.run(["onnx", command, "m.onnx", "-o", "new.onnx"]).refused(1);
        assert!(said.contains(picture), "{said}");
        assert_eq!(folder.names(), ["m.onnx"]);
    }
}

#[test]
fn models_are_made_explicit_and_implicit_again() {
    let folder = folder();
    let check = folder.run(["onnx", "explicit", "m.onnx", "--check"]);
    assert_eq!(check.code, 1);
    assert!(check.stdout.contains("node 0 (Sub Sub_of_c) to Nx3"), "{check:?}");
    assert!(
        check
            .stderr
            .contains("m.onnx: 3 Expands missing; `unishape onnx explicit m.onnx -o FILE.onnx` does it")
    );
    let ran = folder.run(["onnx", "explicit", "m.onnx", "-o", "e.onnx"]);
    assert!(ran.code == 0 && ran.stderr.starts_with("3 Expands added; "), "{ran:?}");
    assert_eq!(folder.run(["onnx", "explicit", "e.onnx", "--check", "-q"]).printed(), "");
    assert_eq!(folder.run(["onnx", "explain", "e.onnx"]).printed(), "none of 7 nodes broadcasts\n");
    folder.run(RUN.iter().chain(&["-q", "-o", "before"])).printed();
    folder.run(["onnx", "run", "e.onnx", "x.npy", "k.pb", "-q", "-o", "after"]).printed();
    for name in ["_out_y.npy", "above.npy"] {
        assert_eq!(folder.bytes(format!("before/{name}")), folder.bytes(format!("after/{name}")));
    }
    let check = folder.run(["onnx", "implicit", "e.onnx", "--check"]).refused(1);
    assert!(check.contains("3 Expands needless"), "{check}");
    folder.run(["onnx", "implicit", "e.onnx", "-q", "-o", "i.onnx"]).printed();
    assert_eq!(folder.bytes("i.onnx"), folder.bytes("m.onnx"));
    // In its own place, if that is wanted.
    let said = folder.run(["onnx", "explicit", "m.onnx", "-o", "m.onnx"]).refused(1);
    assert!(said.contains("m.onnx is there already; add --force to replace it"), "{said}");
    folder.run(["onnx", "explicit", "m.onnx", "-q", "-f", "-o", "m.onnx"]).printed();
    assert_eq!(folder.bytes("m.onnx"), folder.bytes("e.onnx"));
    assert_eq!(folder.run(["onnx", "explicit", "m.onnx"]).code, 2);
}

#[test]
fn a_model_with_data_beside_it_stays_beside_it() {
    let folder = Folder::new();
    // A tensor whose data is in w.bin: field 14 says so, field 13 where.
    let entry = [&[0x0a, 8][..], b"location", &[0x12, 5], b"w.bin"].concat();
    let proto = [&[0x08, 1, 0x10, 1, 0x42, 1, b'w', 0x70, 1, 0x6a, entry.len() as u8][..], &entry].concat();
    let build = ModelBuilder::new(21).raw_field(5, &proto).input("x", DType::F32, "3");
    folder.put("a/m.onnx", build.node("Add", "x w", "y").output("y", DType::F32, "3").to_bytes());
    folder.put("a/w.bin", 2f32.to_le_bytes());
    folder.put("b/empty", "");
    let said = folder.run(["onnx", "explicit", "a/m.onnx", "-o", "b/e.onnx"]).refused(2);
    assert!(
        said.contains("data of the model is in the file w.bin, beside it; give a -o in the same folder"),
        "{said}"
    );
    folder.run(["onnx", "explicit", "a/m.onnx", "-q", "-o", "a/e.onnx"]).printed();
    npy::write(folder.path("x.npy"), &Tensor::from(arr1(&[1f32, 2.0, 3.0]))).expect("written");
    let printed = folder.run(["onnx", "run", "a/e.onnx", "x.npy"]).printed();
    assert_eq!(printed, "y: 3 float32\n[3.0 4.0 5.0]\n");
}
