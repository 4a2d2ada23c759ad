//! What is given to `unishape eval` on the command line, and what it says about what is wrong there.

use crate::eval::{integers, result};
use crate::support::Folder;
use ndarray::{arr0, arr1, arr2};

/// Two arrays that go together, and one that goes with neither.
fn three() -> Folder {
    let folder = Folder::new();
    folder.put("a.npy", integers("<i8", &[3, 1], |n| n as i64).file());
    folder.put("b.npy", integers("<i8", &[4], |n| n as i64).file());
    folder.put("c.npy", integers("<i8", &[5], |n| n as i64).file());
    folder
}

#[track_caller]
fn refused(words: &[&str], code: i32) -> String {
    let folder = three();
    let before = folder.names();
    let said = folder.run(["eval"].iter().chain(words)).refused(code);
    assert_eq!(folder.names(), before);
    said.strip_prefix("unishape: ").expect("it is signed").into()
}

#[test]
fn numbers_ranges_and_lists_can_be_given() {
    let folder = three();
    assert_eq!(result(&folder, &["k", "k=-1e-3"]), arr0(-1e-3).into());
    assert_eq!(result(&folder, &["k", "k=+2"]), arr0(2i64).into());
    assert_eq!(result(&folder, &["k", "k=true"]), arr0(true).into());
    assert_eq!(result(&folder, &["i", "i=0:3"]), arr1(&[0i64, 1, 2]).into());
    assert_eq!(result(&folder, &["i", "i=1:1.3:0.1"]), arr1(&[1.0, 1.1, 1.2]).into());
    assert_eq!(result(&folder, &["i * j", "i=1:3x1", "j=1:4"]), arr2(&[[1i64, 2, 3], [2, 4, 6]]).into());
    assert_eq!(result(&folder, &["-x", "x=[[1, 2.5]]"]), arr2(&[[-1.0, -2.5]]).into());
    // Names of numbers are names all the same.
    assert_eq!(result(&folder, &["2 * e + pi", "e=1", "pi=2"]), arr0(4i64).into());
    assert_eq!(result(&folder, &["pi"]), arr0(std::f64::consts::PI).into());
}

#[test]
fn a_number_does_not_widen_arrays() {
    let folder = Folder::new();
    folder.put("a.npy", integers("<i2", &[2], |n| n as i64).file());
    assert_eq!(result(&folder, &["a + k", "a.npy", "k=5"]), arr1(&[5i16, 6]).into());
    assert_eq!(result(&folder, &["a + k", "a.npy", "k=[5]"]), arr1(&[5i64, 6]).into());
}

/// So that a command means the same in every folder.
#[test]
fn files_called_like_numbers_are_numbers_unless_written_as_paths() {
    let folder = three();
    std::fs::copy(folder.path("b.npy"), folder.path("4")).expect("a copy");
    std::fs::copy(folder.path("b.npy"), folder.path("0:2")).expect("a copy");
    assert_eq!(result(&folder, &["k", "k=4"]), arr0(4i64).into());
    assert_eq!(result(&folder, &["k", "k=./4"]).shape(), [4]);
    assert_eq!(result(&folder, &["k", "k=0:2"]).shape(), [2]);
    assert_eq!(result(&folder, &["k", "k=./0:2"]).shape(), [4]);
}

#[test]
fn a_file_alone_is_for_the_name_that_it_has() {
    let folder = three();
    folder.put("sub/x.NPY", folder.bytes("b.npy"));
    folder.put("y", folder.bytes("b.npy"));
    assert_eq!(result(&folder, &["a + b", "b.npy", "./a.npy"]).shape(), [3, 4]);
    assert_eq!(result(&folder, &["x + y", "sub/x.NPY", "y"]).shape(), [4]);
    assert_eq!(
        refused(&["a + q", "a.npy", "b.npy"], 2),
        "b.npy: the expression has no variable b; say what it is for, as in a=b.npy\n"
    );
    assert_eq!(refused(&["a", "a.npy", "3"], 2), "3: write NAME=VALUE, as in a=a.npy or a=2.5\n");
}

#[test]
fn errors_in_the_expression_are_shown_where_they_are() {
    assert_eq!(
        refused(&["a * (b + 1", "a.npy"], 2),
        "this parenthesis is never closed\n  a * (b + 1\n      ^\n"
    );
    assert_eq!(
        refused(&["a + sqr(b)", "a.npy"], 2),
        "unknown function sqr; did you mean sqrt?\n  a + sqr(b)\n      ^^^\n"
    );
    assert_eq!(
        refused(&["a + bias", "a.npy", "bais=3"], 2),
        "no value for bias; did you mean bais?\n  a + bias\n      ^^^^\n"
    );
    assert_eq!(refused(&["a", "a.npy", "k=3"], 2), "the expression has no variable k; it has a\n");
    assert_eq!(refused(&["a", "a.npy", "a=3"], 2), "a is given twice\n");
    assert_eq!(
        refused(&["a & f", "a.npy", "f=2.5"], 1),
        "& does not support int64 and float64; for booleans write and\n  a & f\n    ^\n"
    );
    assert_eq!(
        refused(&["a + z", "a.npy", "z=1j", "--dtype", "float32"], 1),
        "cannot cast complex128 to float32\n  float32(a + z)\n  ^^^^^^^\n"
    );
}

#[test]
fn bc9_e1_is_told_with_the_names_and_the_place() {
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
    assert_eq!(refused(&["a * b + c", "a.npy", "b.npy", "c.npy", "-o", "z.npy"], 1), expected);
    assert_eq!(refused(&["a * b + c", "a.npy", "b=0:4", "c=[1,2,3,4,5]"], 1), expected);
}

#[test]
fn values_that_are_none_are_refused() {
    let nothing = "this is no number, no range like 0:10, no list like [1,2], and no file";
    for (word, problem) in [
        ("a=", "nothing is given; write a=a.npy, a=2.5 or a=0:10"),
        ("a=nope", nothing),
        ("a=1:x", nothing),
        ("a=0:1:0", "a range does not get anywhere by steps of 0"),
        ("a=0:inf", "a range has finite real numbers, as in 0:10 or 0:1:0.1"),
        ("a=0:1e300", "a range of more numbers than can be counted"),
        ("a=[1, [2]]", "lists and numbers are incompatible"),
        ("a=[1, x]", "'x' is no number"),
        ("a=b.npz", "archives are not read here; unpack it, its members are .npy files"),
    ] {
        let folder = three();
        folder.put("b.npz", "PK");
        let said = folder.run(["eval", "a", word]).refused(2);
        assert_eq!(said, format!("unishape: {word}: {problem}\n"));
    }
    assert!(refused(&["a", "a=gone.npy"], 1).starts_with("gone.npy: "));
}

/// A minus in front is no option.
#[test]
fn expressions_may_begin_with_a_minus() {
    let folder = three();
    assert_eq!(result(&folder, &["-a * 2", "a=3"]), arr0(-6i64).into());
    assert_eq!(result(&folder, &["-a", "a=-3"]), arr0(3i64).into());
    assert_eq!(result(&folder, &["-n + 1", "n=3"]), arr0(-2i64).into());
}

/// Names cannot move the cursor, colour the terminal or pretend to be another line.
#[cfg(unix)]
#[test]
fn names_with_control_characters_are_shown_without_them() {
    let folder = three();
    let name = "\u{1b}[31m\r\nred.npy";
    folder.put(name, folder.bytes("b.npy"));
    let ran = folder.run(["eval", "a", &format!("a={name}"), "-o", "z\u{7}.npy"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.said().lines().count(), 2);
    for words in
        [&["eval", "a", name][..], &["eval", "a", "a=\u{1b}[31m"], &["eval", "a", "a=[1,\u{1b}[31m]"]]
    {
        assert!(folder.run(words).refused(2).contains("\u{fffd}[31m"));
    }
}

/// Names of files are bytes on Linux.
#[cfg(target_os = "linux")]
#[test]
fn files_whose_names_are_no_text_can_be_given() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = three();
    folder.put(OsStr::from_bytes(b"\xff.npy"), folder.bytes("b.npy"));
    let words = [&b"eval"[..], b"a", b"a=\xff.npy", b"-q", b"-o", b"out.npy"].map(OsStr::from_bytes);
    folder.run(words).printed();
    assert_eq!(folder.bytes("out.npy"), folder.bytes("b.npy"));
}
