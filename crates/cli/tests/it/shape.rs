//! `unishape shape`.

use crate::arrays::{Array, zeros};
use crate::support::{RunOutput, TestDir, start};
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;
use unishape::DType;

fn shape(args: &[&str]) -> RunOutput {
    TestDir::new().run(["shape"].iter().chain(args))
}

fn shape_of_lines(lines: impl AsRef<[u8]>, args: &[&str]) -> RunOutput {
    TestDir::new().run_with_input(["shape"].iter().chain(args), lines.as_ref())
}

#[track_caller]
fn json_of(output: &RunOutput) -> Value {
    assert_eq!(output.stdout.lines().count(), 1, "{output:?}");
    serde_json::from_str(&output.stdout).expect("JSON")
}

#[test]
fn bc6_the_common_shape_is_printed() {
    assert_eq!(shape(&["8x1x6x1", "7x1x5"]).expect_success(), "8x7x6x5\n");
    assert_eq!(shape(&["3"]).expect_success(), "3\n");
    assert_eq!(shape(&["0x1", "3"]).expect_success(), "0x3\n");
}

#[test]
fn every_notation_is_parsed() {
    for first in [
        "8x1x6x1",
        "8,1,6,1",
        "(8, 1, 6, 1)",
        "(8,1,6,1,)",
        "[8, 1, 6, 1]",
        "8 1 6 1",
        "8×1×6×1",
        "8*1*6*1",
        " 8 x 1 x 6 x 1 ",
        "0_8x1x6x1",
    ] {
        assert_eq!(shape(&[first, "7x1x5"]).expect_success(), "8x7x6x5\n", "{first}");
        let lines = format!("{first}\n7x1x5\n");
        assert_eq!(shape_of_lines(lines, &["-"]).expect_success(), "8x7x6x5\n", "{first}");
    }
}

#[test]
fn bc13_an_unknown_size_stays_unknown_unless_another_input_determines_it() {
    assert_eq!(shape(&["?x3", "5x1"]).expect_success(), "5x3\n");
    assert_eq!(shape(&["?x3", "1x1"]).expect_success(), "?x3\n");
    assert_eq!(shape(&["(None, 3)", "1"]).expect_success(), "?x3\n");
    // After --, since it starts with a hyphen.
    assert_eq!(shape(&["--", "-1,3", "?,1"]).expect_success(), "?x3\n");
}

#[test]
fn bc4_rank_0_is_broadcast() {
    assert_eq!(shape(&["()"]).expect_success(), "()\n");
    assert_eq!(shape(&["()", "2x3", "[]"]).expect_success(), "2x3\n");
    assert_eq!(shape_of_lines("()\n", &[]).expect_success(), "()\n");
}

#[test]
fn bc4_a_thousand_dimensions_are_broadcast() {
    let long = vec!["1"; 1000].join("x");
    assert_eq!(shape(&[&long, "7"]).expect_success(), format!("{}x7\n", &long[..long.len() - 2]));
}

#[test]
fn bc1_no_input_gives_rank_0_but_not_under_the_sonnx_rules() {
    assert_eq!(shape_of_lines("", &["-"]).expect_success(), "()\n");
    assert_eq!(shape_of_lines("", &[]).expect_success(), "()\n");
    let message = shape_of_lines("", &["-", "--rules", "sonnx"]).expect_error(1);
    assert_eq!(message, "unishape: too few inputs: this rule set requires at least 1\n");
}

#[test]
fn files_are_read_for_their_shapes() {
    let dir = TestDir::new();
    dir.write("column.npy", Array::numbers(DType::F32, &[3, 1]).file());
    dir.write("no_ending", Array::numbers(DType::Bool, &[2, 1, 1]).file());
    assert_eq!(dir.run(["shape", "column.npy", "4", "no_ending"]).expect_success(), "2x3x4\n");
    let among_lines = dir.run_with_input(["shape", "column.npy", "-", "no_ending"], b"4\n");
    assert_eq!(among_lines.expect_success(), "2x3x4\n");
    let message = dir.run(["shape", "column.npy", "2x5"]).expect_error(1);
    assert!(message.contains("dimension 0: column.npy has 3, input 1 has 2\n"), "{message}");
    let message = dir.run_with_input(["shape", "column.npy", "-"], b"4\n2x1\n").expect_error(1);
    assert!(message.contains("dimension 0: column.npy has 3, input 2 has 2\n"), "{message}");
    let message = dir.run_with_input(["shape", "-", "column.npy", "2x1"], b"4\n").expect_error(1);
    assert!(message.contains("dimension 0: input 1 has 3, input 2 has 2\n"), "{message}");
}

/// A command means the same in every directory.
#[test]
fn a_valid_shape_is_never_a_file_name() {
    let dir = TestDir::new();
    dir.write("4", Array::numbers(DType::F32, &[3, 1, 1]).file());
    dir.write("3x1", "no array");
    assert_eq!(dir.run(["shape", "3x1", "4"]).expect_success(), "3x4\n");
    assert_eq!(dir.run(["shape", "3x1", "./4"]).expect_success(), "3x3x1\n");
    assert!(dir.run(["explain", "3x1", "4"]).expect_success().starts_with("3x1 with 4 gives 3x4\n"));
}

#[test]
fn only_the_header_of_a_file_is_needed() {
    let dir = TestDir::new();
    let whole = Array::numbers(DType::F64, &[300, 1]).file();
    dir.write("short.npy", &whole[..140]);
    assert_eq!(dir.run(["shape", "short.npy", "4"]).expect_success(), "300x4\n");
    dir.write("shorter.npy", &whole[..50]);
    let message = dir.run(["shape", "shorter.npy", "4"]).expect_error(5);
    assert_eq!(message, "unishape: shorter.npy: truncated: the file ends inside its header\n");
}

#[cfg(target_os = "linux")]
#[test]
fn file_names_need_not_be_utf_8() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let dir = TestDir::new();
    let [there, gone, no_shape] = [&b"n\xff.npy"[..], b"n\xfe.npy", b"3\xff"].map(OsStr::from_bytes);
    dir.write(there, Array::numbers(DType::F32, &[3, 1]).file());
    assert_eq!(dir.run([OsStr::new("shape"), there, OsStr::new("4")]).expect_success(), "3x4\n");
    assert!(dir.run([OsStr::new("explain"), there]).expect_success().contains("n\u{fffd}.npy"));
    let message = dir.run([OsStr::new("shape"), gone]).expect_error(4);
    assert!(message.starts_with("unishape: n\u{fffd}.npy: "), "{message}");
    let message = dir.run([OsStr::new("shape"), no_shape]).expect_error(2);
    assert!(message.starts_with("unishape: '3\u{fffd}' is no shape: "), "{message}");
}

#[test]
fn errors_name_missing_and_invalid_files() {
    let dir = TestDir::new();
    dir.write("text.npy", "not an array");
    dir.write("many.npz", "PK\u{3}\u{4}");
    for (name, code, problem) in
        [("none.npy", 4, ""), ("text.npy", 5, "not an .npy file"), ("many.npz", 5, "zip archive")]
    {
        let message = dir.run(["shape", "3", name]).expect_error(code);
        assert!(
            message.starts_with(&format!("unishape: {name}: ")) && message.contains(problem),
            "{message}"
        );
    }
}

#[test]
fn standard_input_may_contain_comments_and_blank_lines() {
    let lines = "# shapes of the layers\n\n8x1x6x1   # weights\r\n   \n\t7x1x5";
    assert_eq!(shape_of_lines(lines, &["-"]).expect_success(), "8x7x6x5\n");
    assert_eq!(shape_of_lines(lines, &["2x1x1x1x1", "-"]).expect_success(), "2x8x7x6x5\n");
}

#[test]
fn bc1_a_million_shapes_take_no_more_memory_than_a_few() {
    let dir = TestDir::new();
    let mut child = start(dir.command(["shape", "-", "--json"]).stdin(Stdio::piped()));
    let mut stdin = child.stdin.take().expect("a pipe");
    let lines = "1x7x1\n5x1x1\n1x3\n4x5x7x3\n".repeat(1000);
    for _ in 0..250 {
        stdin.write_all(lines.as_bytes()).expect("a reader");
    }
    // It has read all except the contents of the pipe, and waits for more.
    #[cfg(target_os = "linux")]
    if crate::support::can_measure_memory() {
        let peak = crate::support::peak_memory(&child);
        assert!(peak < 32 << 10, "{peak} KiB");
    }
    drop(stdin);
    let output = RunOutput::new(child.wait_with_output().expect("an exit"));
    let expected = json!({ "shape": [4, 5, 7, 3], "text": "4x5x7x3", "inputs": 1_000_000, "elements": 420 });
    assert_eq!(json_of(&output), expected);
}

#[test]
fn bc9_e1_shows_every_shape_aligned() {
    let message = shape(&["2x1", "8x4x3"]).expect_error(1);
    let expected = "\
unishape: E1: incompatible shapes in dimension 1: input 0 has 2, input 1 has 4

  input 0      2 x 1
  input 1  8 x 4 x 3
               ^
Shapes are aligned on the right; in each column every size must be 1 or the same.
";
    assert_eq!(message, expected);
}

#[test]
fn bc9_e1_of_streamed_shapes_shows_the_common_shape_of_earlier_ones() {
    let message = shape_of_lines("1x3\n5x1\n4\n7x7\n", &["-"]).expect_error(1);
    let expected = "\
unishape: E1: incompatible shapes in dimension 1: input 0 has 3, input 2 has 4

  inputs 0 to 1 together  5 x 3
  input 2                     4
                              ^
Shapes are aligned on the right; in each column every size must be 1 or the same.
";
    assert_eq!(message, expected);
}

#[test]
fn json_has_the_shape_as_numbers() {
    let output = shape(&["--json", "8x1x6x1", "7x1x5"]);
    let expected = json!({ "shape": [8, 7, 6, 5], "text": "8x7x6x5", "inputs": 2, "elements": 1680 });
    assert_eq!((json_of(&output), output.stderr.as_str(), output.code), (expected, "", 0));
    let unknown = json!({ "shape": [null, 3], "text": "?x3", "inputs": 1, "elements": null });
    assert_eq!(json_of(&shape(&["?x3", "--json"])), unknown);
    let scalar = json!({ "shape": [], "text": "()", "inputs": 0, "elements": 1 });
    assert_eq!(json_of(&shape_of_lines("", &["--json"])), scalar);
}

#[test]
fn bc14_uncountable_elements_are_null_in_json() {
    let huge = json!({
        "shape": [1u64 << 40, 1u64 << 40],
        "text": "1099511627776x1099511627776",
        "inputs": 2,
        "elements": null,
    });
    assert_eq!(json_of(&shape(&["--json", "1099511627776x1", "1099511627776"])), huge);
}

#[test]
fn bc9_json_has_e1_as_numbers() {
    let output = shape(&["--json", "2x1", "8x4x3"]);
    let mut value = json_of(&output);
    let message = value["message"].take();
    assert_eq!(output.stderr, format!("unishape: {}\n", message.as_str().expect("a text")));
    let expected = json!({
        "error": "E1",
        "dimension": 1,
        "inputs": [0, 1],
        "sizes": [2, 4],
        "shapes": [{ "first": 0, "last": 0, "shape": [2, 1] }, { "first": 1, "last": 1, "shape": [8, 4, 3] }],
        "message": null,
    });
    assert_eq!((value, output.code), (expected, 1));

    let streamed = json_of(&shape_of_lines("1x3\n5x1\n?x4\n", &["--json"]));
    let shapes =
        json!([{ "first": 0, "last": 1, "shape": [5, 3] }, { "first": 2, "last": 2, "shape": [null, 4] }]);
    assert_eq!(streamed["shapes"], shapes);
}

#[test]
fn json_has_unequal_ranks_and_too_few_inputs() {
    let output = shape(&["--json", "--strict-rank", "3x1", "3"]);
    let value = json_of(&output);
    assert_eq!((&value["error"], output.code), (&json!("unequal rank"), 1));
    assert_eq!((&value["inputs"], &value["ranks"]), (&json!([0, 1]), &json!([2, 1])));
    let output = shape_of_lines("", &["--json", "--rules", "sonnx"]);
    assert_eq!((&json_of(&output)["error"], output.code), (&json!("inputs"), 1));
}

#[test]
fn bc6_under_the_sonnx_rules_0_is_compatible_only_with_0() {
    assert_eq!(shape(&["0x3", "1x3"]).expect_success(), "0x3\n");
    let message = shape(&["--rules", "sonnx", "0x3", "1x3"]).expect_error(1);
    assert!(message.starts_with("unishape: E1: "), "{message}");
    assert!(message.ends_with("under these rules a size of 0 is compatible only with 0.\n"), "{message}");
    assert_eq!(shape(&["--rules", "sonnx", "0x3", "0x1"]).expect_success(), "0x3\n");
}

#[test]
fn strict_rank_rejects_unequal_ranks() {
    let message = shape(&["--strict-rank", "3x1", "3"]).expect_error(1);
    assert!(
        message.starts_with("unishape: strict rank: input 0 has 2 dimensions, input 1 has 1 dimension;"),
        "{message}"
    );
    assert_eq!(shape(&["--strict-rank", "3x1", "1x3"]).expect_success(), "3x3\n");
}

#[test]
fn an_invalid_shape_is_a_usage_error_of_one_line_with_a_hint() {
    for word in ["8x1y", "3.5", "", "(3", "3x", "99999999999999999999", "8;1", "\u{1b}[31m"] {
        let message = shape(&["3", word]).expect_error(2);
        assert!(message.ends_with("; write 8x1x6, (8, 1, 6) or ?x3, and () for rank 0\n"), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
    let message = shape(&["8x1y"]).expect_error(2);
    assert!(message.starts_with("unishape: '8x1y' is no shape: '1y' is no size; "), "{message}");
    let message = shape(&["-", "3", "-"]).expect_error(2);
    assert_eq!(message, "unishape: standard input (-) can be read only once\n");
}

#[test]
fn overlong_lines_are_errors() {
    let endless = "1x".repeat(9 << 20);
    let message = shape_of_lines(format!("3\n{endless}"), &["-"]).expect_error(2);
    assert_eq!(message, "unishape: standard input, line 2 is longer than 16.00 MiB\n");
}

#[test]
fn errors_name_the_line() {
    let message = shape_of_lines("3\n# fine so far\n\n4x\n5\n", &["-"]).expect_error(2);
    assert!(message.starts_with("unishape: standard input, line 4: '4x' is no shape: "), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
}

#[test]
fn invalid_utf_8_is_an_error_that_names_the_line() {
    let message = shape_of_lines(b"3\n\xff\xfe\n3\n", &["-"]).expect_error(2);
    assert!(message.starts_with("unishape: standard input, line 2: "), "{message}");
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    for args in [&["shape", "-"][..], &["shape", "-", "--json"]] {
        let dir = TestDir::new();
        let mut child = start(dir.command(args).stdin(Stdio::piped()));
        // Closed before the end of the input, and so before anything is printed.
        drop(child.stdout.take());
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(b"3\n").expect("a reader");
        drop(stdin);
        let output = RunOutput::new(child.wait_with_output().expect("an exit"));
        assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    let dir = TestDir::new();
    let full = std::fs::File::options().write(true).open("/dev/full").expect("a device");
    let child = dir.command(["shape", "3"]).stdout(full).stderr(Stdio::piped()).spawn();
    let output = RunOutput::new(child.and_then(|child| child.wait_with_output()).expect("an exit"));
    assert!(output.expect_error(4).starts_with("unishape: standard output: "));
}

#[test]
fn a_link_draws_incompatible_shapes_in_the_playground() {
    let dir = TestDir::new();
    let site = "https://example.org/site/";
    let link = "https://example.org/site/playground/index.html#shapes=2x1;8x4x3";
    for command in [&["shape", "2x1", "8x4x3"][..], &["explain", "2x1", "8x4x3"]] {
        let output = dir.run(command.iter().chain(&["--link", site]));
        assert_eq!(output.code, 1);
        assert!(output.stderr.ends_with(&format!("See it drawn: {link}\n")), "{}", output.stderr);
    }
    let output = dir.run(["eval", "a + b", "a=[1,2]", "b=[1,2,3]", "--link", site, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!(json["link"], "https://example.org/site/playground/index.html#shapes=2;3");
    // A link has at most 64 shapes, and always those that are incompatible.
    let shapes: Vec<String> = (0..80).map(|rank| vec!["1"; rank + 1].join("x")).collect();
    let mut args = vec!["shape"];
    args.extend(shapes.iter().map(String::as_str));
    let output = dir.run(args.into_iter().chain(["2", "3", "--link", site]));
    assert!(output.stderr.trim_end().ends_with(";2;3"), "{}", output.stderr);
    let (_, link) = output.stderr.rsplit_once("#shapes=").expect("a link");
    assert_eq!(link.split(';').count(), 64);
    // Nothing but an E1 has a link.
    assert!(!dir.run(["shape", "2y", "--link", site]).stderr.contains("See it drawn"));
    assert_eq!(dir.run(["shape", "2x1", "3", "--link", site]).expect_success(), "2x3\n");
}

/// Inputs before standard input are named in errors; those after it by their number.
#[test]
fn errors_name_the_inputs_beside_standard_input() {
    let dir = TestDir::new();
    dir.write("a.npy", zeros("'<f4'", &[4]));
    let file = zeros("'<f4'", &[3]);
    for (args, problem) in [
        (&["2x1", "a.npy", "-"][..], "dimension 1: a.npy has 4, - has 3"),
        (&["-", "2x1", "a.npy"], "dimension 1: - has 3, a.npy has 4"),
        (&["-", "4"], "dimension 0: - has 3, input 1 has 4"),
    ] {
        let message = dir.run_with_input(["shape"].iter().chain(args), &file).expect_error(1);
        let first = message.lines().next().expect("a line");
        assert_eq!(first, format!("unishape: E1: incompatible shapes in {problem}"));
    }
    // Each line is an input.
    for (args, problem) in [
        (&["a.npy", "-"][..], "dimension 0: a.npy has 4, input 2 has 3"),
        (&["-", "a.npy"], "dimension 0: input 1 has 3, input 2 has 4"),
    ] {
        let message = dir.run_with_input(["shape"].iter().chain(args), b"1\n3\n").expect_error(1);
        let first = message.lines().next().expect("a line");
        assert_eq!(first, format!("unishape: E1: incompatible shapes in {problem}"));
    }
}
