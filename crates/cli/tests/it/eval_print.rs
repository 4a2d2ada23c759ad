//! Results of `unishape eval` as text.

use crate::eval::integers;
use crate::support::{RunOutput, TestDir, start};

#[track_caller]
fn eval_output(args: &[&str]) -> String {
    TestDir::new().run(["eval"].iter().chain(args)).expect_success()
}

#[test]
fn small_results_are_printed() {
    assert_eq!(eval_output(&["2 ** 10"]), "1024\n");
    assert_eq!(eval_output(&["k / 3", "k=1"]), "0.3333333333333333\n");
    assert_eq!(eval_output(&["k > 3", "k=1"]), "False\n");
    assert_eq!(eval_output(&["i * 5", "i=-1:3"]), "[-5  0  5 10]\n");
    assert_eq!(eval_output(&["i", "i=4:4"]), "[]\n");
    assert_eq!(
        eval_output(&["i * j", "i=1:4x1", "j=1:5"]),
        "[[ 1  2  3  4]\n [ 2  4  6  8]\n [ 3  6  9 12]]\n"
    );
    assert_eq!(eval_output(&["x * 1j", "x=[1, -2.5]"]), "[ 0.0+1.0j -0.0-2.5j]\n");
}

#[test]
fn decimal_points_are_aligned() {
    assert_eq!(
        eval_output(&["x", "x=[[1.5, 10.25], [-100, 1e-7]]"]),
        "[[   1.5    10.25]\n [-100.0     1e-7]]\n"
    );
}

#[test]
fn outer_dimensions_are_separated_by_blank_lines() {
    let expected = "\
[[[0 1]
  [1 2]]

 [[2 3]
  [3 4]]]
";
    assert_eq!(eval_output(&["a + b + c", "a=0:4:2x1x1", "b=0:2x1", "c=0:2"]), expected);
}

#[test]
fn long_rows_are_wrapped() {
    let text = eval_output(&["i", "i=1000:1030"]);
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    assert!(
        text.starts_with("[1000 1001 ") && text.contains("\n 101") && text.ends_with(" 1029]\n"),
        "{text}"
    );
}

/// The ends of each dimension; only these are computed.
#[cfg(target_os = "linux")]
#[test]
fn only_the_edges_of_large_results_are_printed() {
    let Some(printed) = on_terminal("i i=0:1000000000000 -o -") else { return };
    let expected = "\
[           0            1            2 … 999999999997 999999999998
 999999999999]
";
    let note = "unishape: printed the edges of 1000000000000 int64, 7.28 TiB; use -o FILE.npy to write all\n";
    assert_eq!(printed, format!("{expected}{note}"));
    let expected = "\
[[  0  10  20 …  40  50  60]
 [  1  11  21 …  41  51  61]
 [  2  12  22 …  42  52  62]
 …
 [297 307 317 … 337 347 357]
 [298 308 318 … 338 348 358]
 [299 309 319 … 339 349 359]]
";
    assert_eq!(on_terminal("'i + 10 * j' i=0:300x1 j=0:7 -o - -q").as_deref(), Some(expected));
}

/// The output of `eval` on a terminal; `None` if no terminal can be emulated.
#[cfg(target_os = "linux")]
fn on_terminal(args: &str) -> Option<String> {
    let line = format!("{} eval {args}", crate::support::BINARY);
    Some(crate::support::on_terminal(&TestDir::new(), &line, &[])?.replace("\r\n", "\n"))
}

#[test]
fn large_results_are_printed_only_on_request() {
    let dir = TestDir::new();
    dir.write("a.npy", integers("<i4", &[40, 30], |n| n as i64).file());
    assert_eq!(
        dir.run(["eval", "a", "a.npy"]).expect_error(2),
        "unishape: the result is 40x30 int32, 4.69 KiB, too large to print; \
         use -o FILE.npy to write it, or -o - to write an .npy file to standard output\n"
    );
    let output = dir.run(["eval", "a", "a.npy", "--dry-run"]);
    assert_eq!((output.code, output.stdout.as_str()), (0, ""));
    assert_eq!(output.message(), "a  a.npy  40x30  int32\n40x30 int32, 4.69 KiB\n");
    // Up to 1000 elements are printed.
    let text = dir.run(["eval", "i", "i=0:1000"]).expect_success().replace(['[', ']'], " ");
    assert!(text.split_whitespace().map(str::parse).eq((0..1000).map(Ok)), "{text}");
    assert!(dir.run(["eval", "i", "i=0:1001"]).expect_error(2).contains("1001 int64, 7.82 KiB"));
}

#[cfg(target_os = "linux")]
#[test]
fn results_with_too_many_dimensions_are_not_printed() {
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    let bindings: Vec<String> =
        names.iter().enumerate().map(|(at, name)| format!("{name}=0:9{}", "x1".repeat(at))).collect();
    let expr = names.join(" + ");
    let Some(printed) = on_terminal(&format!("'{expr}' {} -o -", bindings.join(" "))) else { return };
    assert_eq!(printed, "unishape: the result has too many dimensions to print; use -o FILE.npy\n");
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let dir = TestDir::new();
    let mut child = start(&mut dir.command(["eval", "i", "i=0:1000"]));
    drop(child.stdout.take());
    let output = RunOutput::new(child.wait_with_output().expect("an exit"));
    assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
}

/// As `| head` does.
#[cfg(unix)]
#[test]
fn a_closed_pipe_ends_the_file() {
    let dir = TestDir::new();
    let script = "{ \"$0\" eval i i=0:4000000 -q -o -; echo $? > code; } | head -c 6 > start";
    let output = RunOutput::of(&mut dir.program("sh", ["-c", script, crate::support::BINARY]));
    assert_eq!(output.expect_success(), "");
    assert_eq!((dir.read("start"), dir.read("code")), (b"\x93NUMPY".to_vec(), b"0\n".to_vec()));
}
