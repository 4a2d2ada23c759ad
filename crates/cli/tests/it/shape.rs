//! `unishape shape`.

use crate::files::Array;
use crate::support::{Folder, Ran, start};
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;
use unishape::DType;

fn shape(words: &[&str]) -> Ran {
    Folder::new().run(["shape"].iter().chain(words))
}

fn shape_of_lines(lines: impl AsRef<[u8]>, words: &[&str]) -> Ran {
    Folder::new().run_with_input(["shape"].iter().chain(words), lines.as_ref())
}

#[track_caller]
fn json_of(ran: &Ran) -> Value {
    assert_eq!(ran.stdout.lines().count(), 1, "{ran:?}");
    serde_json::from_str(&ran.stdout).expect("JSON")
}

#[test]
fn bc6_the_common_shape_is_printed() {
    assert_eq!(shape(&["8x1x6x1", "7x1x5"]).printed(), "8x7x6x5\n");
    assert_eq!(shape(&["3"]).printed(), "3\n");
    assert_eq!(shape(&["0x1", "3"]).printed(), "0x3\n");
}

#[test]
fn every_notation_is_read() {
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
        assert_eq!(shape(&[first, "7x1x5"]).printed(), "8x7x6x5\n", "{first}");
        let lines = format!("{first}\n7x1x5\n");
        assert_eq!(shape_of_lines(lines, &["-"]).printed(), "8x7x6x5\n", "{first}");
    }
}

#[test]
fn bc13_a_size_not_known_yet_stays_so_until_another_input_knows_it() {
    assert_eq!(shape(&["?x3", "5x1"]).printed(), "5x3\n");
    assert_eq!(shape(&["?x3", "1x1"]).printed(), "?x3\n");
    assert_eq!(shape(&["(None, 3)", "1"]).printed(), "?x3\n");
    // After --, since it begins with a hyphen.
    assert_eq!(shape(&["--", "-1,3", "?,1"]).printed(), "?x3\n");
}

#[test]
fn bc4_rank_0_is_an_ordinary_case() {
    assert_eq!(shape(&["()"]).printed(), "()\n");
    assert_eq!(shape(&["()", "2x3", "[]"]).printed(), "2x3\n");
    assert_eq!(shape_of_lines("()\n", &[]).printed(), "()\n");
}

#[test]
fn bc4_a_thousand_dimensions_are_no_problem() {
    let long = vec!["1"; 1000].join("x");
    assert_eq!(shape(&[&long, "7"]).printed(), format!("{}x7\n", &long[..long.len() - 2]));
}

#[test]
fn bc1_no_input_gives_rank_0_but_not_under_the_sonnx_rules() {
    assert_eq!(shape_of_lines("", &["-"]).printed(), "()\n");
    assert_eq!(shape_of_lines("", &[]).printed(), "()\n");
    let said = shape_of_lines("", &["-", "--rules", "sonnx"]).refused(1);
    assert_eq!(said, "unishape: too few inputs: this rule set requires at least 1\n");
}

#[test]
fn files_stand_for_the_shapes_of_their_arrays() {
    let folder = Folder::new();
    folder.put("column.npy", Array::numbers(DType::F32, &[3, 1]).file());
    folder.put("no_ending", Array::numbers(DType::Bool, &[2, 1, 1]).file());
    assert_eq!(folder.run(["shape", "column.npy", "4", "no_ending"]).printed(), "2x3x4\n");
    let among_lines = folder.run_with_input(["shape", "column.npy", "-", "no_ending"], b"4\n");
    assert_eq!(among_lines.printed(), "2x3x4\n");
    let said = folder.run(["shape", "column.npy", "2x5"]).refused(1);
    assert!(said.contains("dimension 0: column.npy has 3, input 1 has 2\n"), "{said}");
    let said = folder.run_with_input(["shape", "column.npy", "-"], b"4\n2x1\n").refused(1);
    assert!(said.contains("dimension 0: column.npy has 3, input 2 has 2\n"), "{said}");
    let said = folder.run_with_input(["shape", "-", "column.npy", "2x1"], b"4\n").refused(1);
    assert!(said.contains("dimension 0: input 1 has 3, input 2 has 2\n"), "{said}");
}

/// A command means the same in every folder.
#[test]
fn a_word_that_is_a_shape_is_one_whatever_files_there_are() {
    let folder = Folder::new();
    folder.put("4", Array::numbers(DType::F32, &[3, 1, 1]).file());
    folder.put("3x1", "no array");
    assert_eq!(folder.run(["shape", "3x1", "4"]).printed(), "3x4\n");
    assert_eq!(folder.run(["shape", "3x1", "./4"]).printed(), "3x3x1\n");
    assert!(folder.run(["explain", "3x1", "4"]).printed().starts_with("3x1 with 4 gives 3x4\n"));
}

#[test]
fn only_the_header_of_a_file_is_needed() {
    let folder = Folder::new();
    let whole = Array::numbers(DType::F64, &[300, 1]).file();
    folder.put("short.npy", &whole[..140]);
    assert_eq!(folder.run(["shape", "short.npy", "4"]).printed(), "300x4\n");
    folder.put("shorter.npy", &whole[..50]);
    let said = folder.run(["shape", "shorter.npy", "4"]).refused(1);
    assert_eq!(said, "unishape: shorter.npy: truncated: the file ends inside its header\n");
}

#[cfg(target_os = "linux")]
#[test]
fn names_of_files_need_not_be_text() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new();
    let [there, gone, no_shape] = [&b"n\xff.npy"[..], b"n\xfe.npy", b"3\xff"].map(OsStr::from_bytes);
    folder.put(there, Array::numbers(DType::F32, &[3, 1]).file());
    assert_eq!(folder.run([OsStr::new("shape"), there, OsStr::new("4")]).printed(), "3x4\n");
    assert!(folder.run([OsStr::new("explain"), there]).printed().contains("n\u{fffd}.npy"));
    let said = folder.run([OsStr::new("shape"), gone]).refused(1);
    assert!(said.starts_with("unishape: n\u{fffd}.npy: "), "{said}");
    let said = folder.run([OsStr::new("shape"), no_shape]).refused(2);
    assert!(said.starts_with("unishape: '3\u{fffd}' is no shape: "), "{said}");
}

#[test]
fn a_file_that_is_missing_or_no_array_is_named() {
    let folder = Folder::new();
    folder.put("text.npy", "not an array");
    folder.put("many.npz", "PK\u{3}\u{4}");
    for (name, problem) in [("none.npy", ""), ("text.npy", "not an .npy file"), ("many.npz", "zip archive")] {
        let said = folder.run(["shape", "3", name]).refused(1);
        assert!(said.starts_with(&format!("unishape: {name}: ")) && said.contains(problem), "{said}");
    }
}

#[test]
fn standard_input_may_have_comments_and_blank_lines() {
    let lines = "# shapes of the layers\n\n8x1x6x1   # weights\r\n   \n\t7x1x5";
    assert_eq!(shape_of_lines(lines, &["-"]).printed(), "8x7x6x5\n");
    assert_eq!(shape_of_lines(lines, &["2x1x1x1x1", "-"]).printed(), "2x8x7x6x5\n");
}

#[test]
fn bc1_a_million_shapes_take_no_more_memory_than_a_few() {
    let folder = Folder::new();
    let mut child = start(folder.command(["shape", "-", "--json"]).stdin(Stdio::piped()));
    let mut stdin = child.stdin.take().expect("it is piped");
    let lines = "1x7x1\n5x1x1\n1x3\n4x5x7x3\n".repeat(1000);
    for _ in 0..250 {
        stdin.write_all(lines.as_bytes()).expect("it reads on");
    }
    // It has read all but what a pipe holds, and waits for more.
    #[cfg(target_os = "linux")]
    if crate::support::memory_can_be_measured() {
        let peak = crate::support::peak_memory(&child);
        assert!(peak < 32 << 10, "{peak} KiB");
    }
    drop(stdin);
    let ran = Ran::new(child.wait_with_output().expect("it ends"));
    let expected = json!({ "shape": [4, 5, 7, 3], "text": "4x5x7x3", "inputs": 1_000_000, "elements": 420 });
    assert_eq!(json_of(&ran), expected);
}

#[test]
fn bc9_e1_is_told_with_every_shape_lined_up() {
    let said = shape(&["2x1", "8x4x3"]).refused(1);
    let expected = "\
unishape: E1: incompatible shapes in dimension 1: input 0 has 2, input 1 has 4

  input 0      2 x 1
  input 1  8 x 4 x 3
               ^
Shapes are aligned on the right; in each column every size must be 1 or the same.
";
    assert_eq!(said, expected);
}

#[test]
fn bc9_e1_among_streamed_shapes_shows_what_the_earlier_ones_came_to() {
    let said = shape_of_lines("1x3\n5x1\n4\n7x7\n", &["-"]).refused(1);
    let expected = "\
unishape: E1: incompatible shapes in dimension 1: input 0 has 3, input 2 has 4

  inputs 0 to 1 together  5 x 3
  input 2                     4
                              ^
Shapes are aligned on the right; in each column every size must be 1 or the same.
";
    assert_eq!(said, expected);
}

#[test]
fn json_tells_the_shape_in_numbers() {
    let ran = shape(&["--json", "8x1x6x1", "7x1x5"]);
    let expected = json!({ "shape": [8, 7, 6, 5], "text": "8x7x6x5", "inputs": 2, "elements": 1680 });
    assert_eq!((json_of(&ran), ran.stderr.as_str(), ran.code), (expected, "", 0));
    let unknown = json!({ "shape": [null, 3], "text": "?x3", "inputs": 1, "elements": null });
    assert_eq!(json_of(&shape(&["?x3", "--json"])), unknown);
    let scalar = json!({ "shape": [], "text": "()", "inputs": 0, "elements": 1 });
    assert_eq!(json_of(&shape_of_lines("", &["--json"])), scalar);
}

#[test]
fn bc14_elements_beyond_counting_are_null_in_json() {
    let huge = json!({
        "shape": [1u64 << 40, 1u64 << 40],
        "text": "1099511627776x1099511627776",
        "inputs": 2,
        "elements": null,
    });
    assert_eq!(json_of(&shape(&["--json", "1099511627776x1", "1099511627776"])), huge);
}

#[test]
fn bc9_json_tells_e1_in_numbers() {
    let ran = shape(&["--json", "2x1", "8x4x3"]);
    let mut value = json_of(&ran);
    let message = value["message"].take();
    assert_eq!(ran.stderr, format!("unishape: {}\n", message.as_str().expect("a text")));
    let expected = json!({
        "error": "E1",
        "dimension": 1,
        "inputs": [0, 1],
        "sizes": [2, 4],
        "shapes": [{ "first": 0, "last": 0, "shape": [2, 1] }, { "first": 1, "last": 1, "shape": [8, 4, 3] }],
        "message": null,
    });
    assert_eq!((value, ran.code), (expected, 1));

    let streamed = json_of(&shape_of_lines("1x3\n5x1\n?x4\n", &["--json"]));
    let shapes =
        json!([{ "first": 0, "last": 1, "shape": [5, 3] }, { "first": 2, "last": 2, "shape": [null, 4] }]);
    assert_eq!(streamed["shapes"], shapes);
}

#[test]
fn json_tells_unequal_ranks_and_too_few_inputs() {
    let ran = shape(&["--json", "--strict-rank", "3x1", "3"]);
    let value = json_of(&ran);
    assert_eq!((&value["error"], ran.code), (&json!("unequal rank"), 1));
    assert_eq!((&value["inputs"], &value["ranks"]), (&json!([0, 1]), &json!([2, 1])));
    let ran = shape_of_lines("", &["--json", "--rules", "sonnx"]);
    assert_eq!((&json_of(&ran)["error"], ran.code), (&json!("inputs"), 1));
}

#[test]
fn bc6_under_the_sonnx_rules_0_goes_with_0_alone() {
    assert_eq!(shape(&["0x3", "1x3"]).printed(), "0x3\n");
    let said = shape(&["--rules", "sonnx", "0x3", "1x3"]).refused(1);
    assert!(said.starts_with("unishape: E1: "), "{said}");
    assert!(said.ends_with("under these rules a size of 0 is compatible only with 0.\n"), "{said}");
    assert_eq!(shape(&["--rules", "sonnx", "0x3", "0x1"]).printed(), "0x3\n");
}

#[test]
fn strict_rank_refuses_unequal_ranks() {
    let said = shape(&["--strict-rank", "3x1", "3"]).refused(1);
    assert!(
        said.starts_with("unishape: strict rank: input 0 has 2 dimensions, input 1 has 1 dimension;"),
        "{said}"
    );
    assert_eq!(shape(&["--strict-rank", "3x1", "1x3"]).printed(), "3x3\n");
}

#[test]
fn a_word_that_is_no_shape_is_bad_usage_told_in_one_line_with_a_hint() {
    for word in ["8x1y", "3.5", "", "(3", "3x", "99999999999999999999", "8;1", "\u{1b}[31m"] {
        let said = shape(&["3", word]).refused(2);
        assert!(said.ends_with("; write 8x1x6, (8, 1, 6) or ?x3, and () for rank 0\n"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let said = shape(&["8x1y"]).refused(2);
    assert!(said.starts_with("unishape: '8x1y' is no shape: '1y' is no size; "), "{said}");
    let said = shape(&["-", "3", "-"]).refused(2);
    assert_eq!(said, "unishape: standard input (-) can be read only once\n");
}

#[test]
fn a_line_without_end_is_not_kept() {
    let endless = "1x".repeat(9 << 20);
    let said = shape_of_lines(format!("3\n{endless}"), &["-"]).refused(2);
    assert_eq!(said, "unishape: standard input, line 2 is longer than 16.0 MiB\n");
}

#[test]
fn a_line_that_is_no_shape_is_named() {
    let said = shape_of_lines("3\n# fine so far\n\n4x\n5\n", &["-"]).refused(2);
    assert!(said.starts_with("unishape: standard input, line 4: '4x' is no shape: "), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn bytes_that_are_no_text_are_named_by_their_line() {
    let said = shape_of_lines(b"3\n\xff\xfe\n3\n", &["-"]).refused(1);
    assert!(said.starts_with("unishape: standard input, line 2: "), "{said}");
}

#[test]
fn nobody_reading_is_no_error() {
    for words in [&["shape", "-"][..], &["shape", "-", "--json"]] {
        let folder = Folder::new();
        let mut child = start(folder.command(words).stdin(Stdio::piped()));
        // Closed before the last shape is there, and so before anything is printed.
        drop(child.stdout.take());
        let mut stdin = child.stdin.take().expect("it is piped");
        stdin.write_all(b"3\n").expect("it reads");
        drop(stdin);
        let ran = Ran::new(child.wait_with_output().expect("it ends"));
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    let folder = Folder::new();
    let full = std::fs::File::options().write(true).open("/dev/full").expect("a device");
    let child = folder.command(["shape", "3"]).stdout(full).stderr(Stdio::piped()).spawn();
    let ran = Ran::new(child.and_then(|child| child.wait_with_output()).expect("it runs"));
    assert!(ran.refused(1).starts_with("unishape: standard output: "));
}
