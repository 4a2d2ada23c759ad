//! Exit codes and JSON of every subcommand.

use crate::support::{RunOutput, TestDir};
use ndarray::arr1;
use serde_json::{Value, json};
use unishape_npy as npy;

fn dir() -> TestDir {
    let dir = TestDir::new();
    npy::write(dir.path("a.npy"), arr1(&[1.5f32, 2.5, 3.5]).view()).expect("written");
    npy::write(dir.path("b.npy"), arr1(&[1, 2]).view()).expect("written");
    npy::write(dir.path("s.npy"), arr1(&["x".to_string()]).view()).expect("written");
    dir.write("bad.npy", "this is no array");
    dir
}

#[track_caller]
fn json_of(output: &RunOutput) -> Value {
    assert_eq!(output.stdout.lines().count(), 1, "{output:?}");
    serde_json::from_str(&output.stdout).expect("JSON")
}

#[test]
fn errors_have_a_code_and_json_for_each_reason() {
    let dir = dir();
    for (args, code, kind) in [
        (&["shape", "3", "4"][..], 1, "E1"),
        (&["explain", "a.npy", "b.npy"], 1, "E1"),
        (&["broadcast", "a.npy", "b.npy", "--out", "z"], 1, "E1"),
        (&["eval", "a + b", "a.npy", "b.npy"], 1, "E1"),
        (&["eval", "a + b", "a.npy", "b=[[1]]", "--strict-rank"], 1, "unequal rank"),
        (&["eval", "sum(a + b)", "a.npy", "b=[[1]]", "--strict-rank"], 1, "unequal rank"),
        (&["eval", "a + b", "a=0:0", "b=[1]", "--rules", "sonnx"], 1, "E1"),
        (&["sum-to", "4", "a.npy"], 1, "cannot broadcast"),
        (&["shape", "3y"], 2, "usage"),
        (&["frobnicate"], 2, "usage"),
        (&["eval", "a +", "a.npy"], 2, "usage"),
        (&["eval", "a", "a=gone.npz:q"], 4, "io"),
        (&["shape", "gone.npy"], 4, "io"),
        (&["broadcast", "gone.npy", "--out", "z"], 4, "io"),
        (&["eval", "a", "a.npy", "-o", "nowhere/z.npy"], 4, "io"),
        (&["onnx", "explain", "gone.onnx"], 4, "io"),
        (&["onnx", "explain", "bad.npy"], 4, "io"),
        (&["shape", "bad.npy"], 5, "input"),
        (&["explain", "bad.npy"], 5, "input"),
        (&["eval", "s", "s.npy"], 5, "input"),
        (&["eval", "a[7]", "a.npy"], 5, "input"),
    ] {
        let output = dir.run(args.iter().chain(&["--json"]));
        assert_eq!(output.code, code, "{args:?} {output:?}");
        let json = json_of(&output);
        assert_eq!(json["error"], kind, "{args:?}");
        let message = json["message"].as_str().expect("a message");
        assert!(output.stderr.contains(message.lines().next().expect("a line")), "{output:?}");
        // Without --json, standard output is empty.
        dir.run(args).expect_error(code);
    }
    assert!(!dir.path("z").exists());
}

#[test]
fn results_have_json() {
    let dir = dir();
    let json = |args: &[&str]| {
        let output = dir.run(args.iter().chain(&["--json"]));
        assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{args:?}");
        json_of(&output)
    };
    assert_eq!(
        json(&["shape", "N,3", "1"]),
        json!({"shape": ["N", 3], "text": "Nx3", "inputs": 2, "elements": null})
    );
    assert_eq!(
        json(&["eval", "a * 2", "a.npy"]),
        json!({"shape": [3], "dtype": "float32", "data": [3.0, 5.0, 7.0]})
    );
    assert_eq!(json(&["sum-to", "()", "b.npy"])["data"], 3);
    let written = json(&["eval", "a", "a.npy", "-o", "z.npy"]);
    assert_eq!(
        written,
        json!({"shape": [3], "dtype": "float32", "path": "z.npy", "bytes": 140, "written": true})
    );
    assert_eq!(json(&["explain", "a.npy", "2x1"])["shape"], json!([2, 3]));
    assert_eq!(json(&["explain", "3", "--svg", "p.svg"]), json!({"shape": [3], "files": ["p.svg"]}));
    let results = json(&["broadcast", "a.npy", "--to", "2x3", "--out", "z"]);
    assert_eq!(
        results["results"],
        json!([{"input": "a.npy", "from": [3], "dtype": "float32", "name": "a.npy", "bytes": 152}])
    );
    assert_eq!(json(&["eval", "a", "a.npy", "--plan"])["dtype"], "float32");
    assert!(
        json(&["completions", "bash"])["script"].as_str().is_some_and(|script| script.contains("unishape"))
    );
}

#[test]
fn the_help_lists_all_exit_codes() {
    let help = TestDir::new().run(["--help"]).expect_success();
    let table = help.split_once("Exit codes:\n").expect("a table").1;
    for (code, words) in [
        ("0", "success"),
        ("1", "incompatible shapes (E1)"),
        ("2", "invalid command line"),
        ("3", "could not tell"),
        ("4", "cannot be written"),
        ("5", "invalid input"),
        ("70", "internal error"),
        ("129, 130, 143", "stopped by"),
    ] {
        let line = table.lines().find(|line| line.trim_start().starts_with(&format!("{code} ")));
        assert!(line.is_some_and(|line| line.contains(words)), "{code}: {table}");
    }
}

#[test]
fn json_says_whether_files_were_written() {
    let dir = dir();
    for args in [
        &["broadcast", "a.npy", "--out", "z"][..],
        &["broadcast", "a.npy", "--out", "z.npz"],
        &["eval", "a", "a.npy", "-o", "z.npy"],
    ] {
        for written in [false, true] {
            let more = if written { &["--json"][..] } else { &["--json", "-n"] };
            let output = dir.run(args.iter().chain(more));
            assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
            assert_eq!(json_of(&output)["written"], written, "{args:?}");
            assert_eq!(dir.path(args[args.len() - 1]).exists(), written, "{args:?}");
        }
    }
}

#[test]
fn standard_input_is_read_once() {
    let dir = dir();
    let file = dir.read("a.npy");
    for args in [
        &["broadcast", "-", "-", "--out", "z"][..],
        &["explain", "-", "-"],
        &["shape", "-", "-"],
        &["eval", "a + b", "a=-", "b=-"],
    ] {
        let message = dir.run_with_input(args, &file).expect_error(2);
        assert_eq!(message, "unishape: standard input (-) can be read only once\n", "{args:?}");
    }
    for args in [&["eval", "a + b", "a=-", "b=1"][..], &["explain", "-", "3"], &["shape", "-", "3"]] {
        assert_ne!(dir.run_with_input(args, &file).expect_success(), "", "{args:?}");
    }
}
