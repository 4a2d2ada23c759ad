//! Of several processes that write the same new file, exactly one succeeds.

use crate::arrays::zeros;
use crate::support::{RunOutput, TestDir, start};
use ndarray::arr1;
use unishape::DType;
use unishape_onnx::model_builder::ModelBuilder;

const PROCESSES: usize = 4;

/// Runs a command several times at once: one process succeeds, the others report an existing file.
///
/// `written` are the new paths. Any of the files may be the first that a process finds.
#[track_caller]
fn assert_one_succeeds(dir: &TestDir, args: &[&str], written: &[&str]) {
    let before = dir.list();
    let children: Vec<_> = (0..PROCESSES).map(|_| start(&mut dir.command(args))).collect();
    let outputs: Vec<RunOutput> = children
        .into_iter()
        .map(|child| RunOutput::new(child.wait_with_output().expect("an exit")))
        .collect();
    let succeeded = outputs.iter().filter(|output| output.code == 0).count();
    assert_eq!(succeeded, 1, "{args:?}: {outputs:?}");
    for output in outputs.into_iter().filter(|output| output.code != 0) {
        let message = output.expect_error(4);
        let path = message
            .strip_prefix("unishape: ")
            .and_then(|message| message.strip_suffix(" already exists; use --force to replace it\n"));
        assert!(path.is_some_and(|path| written.contains(&path)), "{args:?}: {message}");
    }
    let mut expected: Vec<String> =
        before.into_iter().chain(written.iter().map(|&path| path.into())).collect();
    expected.sort();
    assert_eq!(dir.list(), expected, "{args:?}");
}

/// Arrays large enough for all processes to start before the first is done.
#[test]
fn large_results_are_not_overwritten_by_simultaneous_processes() {
    let dir = TestDir::new();
    dir.write("column.npy", zeros("'|u1'", &[32 << 10, 1]));
    dir.write("row.npy", zeros("'|u1'", &[1 << 10]));
    let eval = ["eval", "column + row", "column.npy", "row.npy", "-q", "-o", "sum.npy"];
    assert_one_succeeds(&dir, &eval, &["sum.npy"]);
    let broadcast = ["broadcast", "column.npy", "row.npy", "-q", "--out"];
    let archive: Vec<&str> = broadcast.iter().chain(&["z.npz"]).copied().collect();
    assert_one_succeeds(&dir, &archive, &["z.npz"]);
    std::fs::create_dir(dir.path("z")).expect("a directory");
    let files: Vec<&str> = broadcast.iter().chain(&["z"]).copied().collect();
    assert_one_succeeds(&dir, &files, &["z/column.npy", "z/row.npy"]);
    let files: Vec<&str> = broadcast.iter().chain(&["new/dir"]).copied().collect();
    let written = ["new", "new/dir", "new/dir/column.npy", "new/dir/row.npy"];
    assert_one_succeeds(&dir, &files, &written);
}

#[test]
fn figures_and_models_are_not_overwritten_by_simultaneous_processes() {
    let dir = TestDir::new();
    let model = ModelBuilder::new(21).input("x", DType::F32, "2 3").initializer("w", arr1(&[1f32, 2.0, 3.0]));
    dir.write("m.onnx", model.node("Add", "x w", "y").output("y", DType::F32, "2 3").to_bytes());
    dir.write("x.npy", zeros("'<f4'", &[2, 3]));
    for round in 0..5 {
        let name = |extension: &str| format!("{round}.{extension}");
        let (svg, html, onnx, page) = (name("svg"), name("html"), name("onnx"), name("page"));
        let out = round.to_string();
        let explain = ["explain", "3x1", "4", "--svg", &svg, "--html", &html];
        assert_one_succeeds(&dir, &explain, &[&svg, &html]);
        assert_one_succeeds(&dir, &["onnx", "explain", "m.onnx", "--html", &page], &[&page]);
        assert_one_succeeds(&dir, &["onnx", "explicit", "m.onnx", "-q", "-o", &onnx], &[&onnx]);
        let implicit = name("implicit.onnx");
        let args = ["onnx", "implicit", &onnx, "-q", "-o", &implicit];
        assert_one_succeeds(&dir, &args, &[&implicit]);
        let output = format!("{round}/y.npy");
        let run = ["onnx", "run", "m.onnx", "x.npy", "-q", "-o", &out];
        assert_one_succeeds(&dir, &run, &[&out, &output]);
    }
}
