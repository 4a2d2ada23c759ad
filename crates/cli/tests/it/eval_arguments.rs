//! Arguments of `unishape eval`, and errors about them.

use crate::eval::{integers, result};
use crate::support::TestDir;
use ndarray::{arr0, arr1, arr2};

/// Two compatible arrays, and one that is compatible with neither.
fn arrays() -> TestDir {
    let dir = TestDir::new();
    dir.write("a.npy", integers("<i8", &[3, 1], |n| n as i64).file());
    dir.write("b.npy", integers("<i8", &[4], |n| n as i64).file());
    dir.write("c.npy", integers("<i8", &[5], |n| n as i64).file());
    dir
}

#[track_caller]
fn eval_error(args: &[&str], code: i32) -> String {
    let dir = arrays();
    let before = dir.list();
    let message = dir.run(["eval"].iter().chain(args)).expect_error(code);
    assert_eq!(dir.list(), before);
    message.strip_prefix("unishape: ").expect("the name of the program").into()
}

#[test]
fn values_are_numbers_ranges_and_lists() {
    let dir = arrays();
    assert_eq!(result(&dir, &["k", "k=-1e-3"]), arr0(-1e-3).into());
    assert_eq!(result(&dir, &["k", "k=+2"]), arr0(2i64).into());
    assert_eq!(result(&dir, &["k", "k=true"]), arr0(true).into());
    assert_eq!(result(&dir, &["i", "i=0:3"]), arr1(&[0i64, 1, 2]).into());
    assert_eq!(result(&dir, &["i", "i=1:1.3:0.1"]), arr1(&[1.0, 1.1, 1.2]).into());
    assert_eq!(result(&dir, &["i * j", "i=1:3x1", "j=1:4"]), arr2(&[[1i64, 2, 3], [2, 4, 6]]).into());
    assert_eq!(result(&dir, &["-x", "x=[[1, 2.5]]"]), arr2(&[[-1.0, -2.5]]).into());
    // Names of constants can be variables.
    assert_eq!(result(&dir, &["2 * e + pi", "e=1", "pi=2"]), arr0(4i64).into());
    assert_eq!(result(&dir, &["pi"]), arr0(std::f64::consts::PI).into());
}

#[test]
fn a_number_does_not_widen_arrays() {
    let dir = TestDir::new();
    dir.write("a.npy", integers("<i2", &[2], |n| n as i64).file());
    assert_eq!(result(&dir, &["a + k", "a.npy", "k=5"]), arr1(&[5i16, 6]).into());
    assert_eq!(result(&dir, &["a + k", "a.npy", "k=[5]"]), arr1(&[5i64, 6]).into());
}

/// A command means the same in every directory.
#[test]
fn files_named_like_numbers_are_written_as_paths() {
    let dir = arrays();
    std::fs::copy(dir.path("b.npy"), dir.path("4")).expect("a copy");
    std::fs::copy(dir.path("b.npy"), dir.path("0:2")).expect("a copy");
    assert_eq!(result(&dir, &["k", "k=4"]), arr0(4i64).into());
    assert_eq!(result(&dir, &["k", "k=./4"]).shape(), [4]);
    assert_eq!(result(&dir, &["k", "k=0:2"]).shape(), [2]);
    assert_eq!(result(&dir, &["k", "k=./0:2"]).shape(), [4]);
}

#[test]
fn a_file_alone_is_for_the_variable_of_its_name() {
    let dir = arrays();
    dir.write("sub/x.NPY", dir.read("b.npy"));
    dir.write("y", dir.read("b.npy"));
    assert_eq!(result(&dir, &["a + b", "b.npy", "./a.npy"]).shape(), [3, 4]);
    assert_eq!(result(&dir, &["x + y", "sub/x.NPY", "y"]).shape(), [4]);
    assert_eq!(
        eval_error(&["a + q", "a.npy", "b.npy"], 2),
        "b.npy: the expression has no variable b; name one, as in a=b.npy\n"
    );
    let nothing =
        "there is no file of that name; for another value write NAME=VALUE, as in a=a.npy or a=2.5\n";
    assert_eq!(eval_error(&["a", "a.npy", "3"], 2), format!("3: {nothing}"));
}

#[test]
fn errors_show_their_position_in_the_expression() {
    assert_eq!(
        eval_error(&["a * (b + 1", "a.npy"], 2),
        "this parenthesis is never closed\n  a * (b + 1\n      ^\n"
    );
    assert_eq!(
        eval_error(&["a + sqr(b)", "a.npy"], 2),
        "unknown function sqr; did you mean sqrt?\n  a + sqr(b)\n      ^^^\n"
    );
    assert_eq!(
        eval_error(&["a + bias", "a.npy", "bais=3"], 2),
        "no value for bias; did you mean bais?\n  a + bias\n      ^^^^\n"
    );
    assert_eq!(eval_error(&["a", "a.npy", "k=3"], 2), "the expression has no variable k; it has a\n");
    assert_eq!(eval_error(&["a", "a.npy", "a=3"], 2), "a is given twice\n");
    assert_eq!(
        eval_error(&["a & f", "a.npy", "f=2.5"], 5),
        "& does not support int64 and float64; for booleans write and\n  a & f\n    ^\n"
    );
    assert_eq!(
        eval_error(&["a + z", "a.npy", "z=1j", "--dtype", "float32"], 5),
        "cannot cast complex128 to float32\n  float32(a + z)\n  ^^^^^^^\n"
    );
}

#[test]
fn bc9_e1_names_the_variables_and_the_position() {
    let expected = "\
E1: incompatible shapes in dimension 1: b has 4, c has 5

  a  3 x 1
  b      4
  c      5
         ^
Shapes are aligned on the right; in each column every size must be 1 or the same.

b (4) with c (5):
  a * b + c
        ^
";
    assert_eq!(eval_error(&["a * b + c", "a.npy", "b.npy", "c.npy", "-o", "z.npy"], 1), expected);
    assert_eq!(eval_error(&["a * b + c", "a.npy", "b=0:4", "c=[1,2,3,4,5]"], 1), expected);
}

#[test]
fn invalid_values_are_errors() {
    let nothing = "no file of that name, and not a number, a range like 0:10 or a list like [1,2]";
    for (word, problem) in [
        ("a=", "missing value; write a=a.npy, a=2.5 or a=0:10"),
        ("a=nope", nothing),
        ("a=1:x", nothing),
        ("a=0:1:0", "the step of a range must not be 0"),
        ("a=0:inf", "the numbers of a range must be finite and real, as in 0:10 or 0:1:0.1"),
        ("a=0:1e300", "the range has too many elements"),
        ("a=[1, [2]]", "a list must not mix numbers and lists"),
        ("a=[1, x]", "'x' is not a number"),
    ] {
        let message = arrays().run(["eval", "a", word]).expect_error(2);
        assert_eq!(message, format!("unishape: {word}: {problem}\n"));
    }
    for path in ["gone.npy", "./gone", "../gone", "/gone/gone", "gone.zarr", "gone.zarr/a", "gone.npz"] {
        let message = eval_error(&["a", &format!("a={path}")], 4);
        assert!(message.starts_with(path.strip_suffix("/a").unwrap_or(path)), "{message}");
    }
}

#[test]
fn a_directory_is_no_array() {
    let dir = arrays();
    std::fs::create_dir(dir.path("d")).expect("a directory");
    for args in [
        &["shape", "."][..],
        &["sum-to", "3", "."],
        &["eval", "a", "a=d/"],
        &["broadcast", "d", "--out", "z"],
    ] {
        let message = dir.run(args).expect_error(4);
        assert!(message.ends_with(": is a directory; name a file of an array in it\n"), "{message}");
    }
}

/// A leading minus is not an option.
#[test]
fn expressions_may_begin_with_a_minus() {
    let dir = arrays();
    assert_eq!(result(&dir, &["-a * 2", "a=3"]), arr0(-6i64).into());
    assert_eq!(result(&dir, &["-a", "a=-3"]), arr0(3i64).into());
    assert_eq!(result(&dir, &["-n + 1", "n=3"]), arr0(-2i64).into());
}

/// Names cannot move the cursor, change colors or fake another line.
#[cfg(unix)]
#[test]
fn control_characters_in_names_are_replaced() {
    let dir = arrays();
    let name = "\u{1b}[31m\r\nred.npy";
    dir.write(name, dir.read("b.npy"));
    let output = dir.run(["eval", "a", &format!("a={name}"), "-o", "z\u{7}.npy"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(output.message().lines().count(), 2);
    for args in [&["eval", "a", name][..], &["eval", "a", "a=\u{1b}[31m"], &["eval", "a", "a=[1,\u{1b}[31m]"]]
    {
        assert!(dir.run(args).expect_error(2).contains("\u{fffd}[31m"));
    }
}

/// File names are bytes on Linux.
#[cfg(target_os = "linux")]
#[test]
fn file_names_that_are_not_utf_8_are_read() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let dir = arrays();
    dir.write(OsStr::from_bytes(b"\xff.npy"), dir.read("b.npy"));
    let args = [&b"eval"[..], b"a", b"a=\xff.npy", b"-q", b"-o", b"out.npy"].map(OsStr::from_bytes);
    dir.run(args).expect_success();
    assert_eq!(dir.read("out.npy"), dir.read("b.npy"));
}

#[test]
fn names_of_variables_may_have_underscores_and_digits() {
    let dir = arrays();
    assert_eq!(result(&dir, &["_a + b_1", "_a=1", "b_1=2"]), arr0(3i64).into());
    // What is no name is part of a path.
    for file in ["a-1=b", "1a=b", "=b"] {
        let message = eval_error(&["a", &format!("{file}.npy")], 2);
        let hint = format!("name one, as in a={file}.npy");
        assert_eq!(message, format!("{file}.npy: the expression has no variable {file}; {hint}\n"));
    }
}
