//! Results of `unishape eval` as text.

use crate::eval::integers;
use crate::support::{Folder, Ran, start};

#[track_caller]
fn printed(words: &[&str]) -> String {
    Folder::new().run(["eval"].iter().chain(words)).printed()
}

#[test]
fn small_results_are_printed() {
    assert_eq!(printed(&["2 ** 10"]), "1024\n");
    assert_eq!(printed(&["k / 3", "k=1"]), "0.3333333333333333\n");
    assert_eq!(printed(&["k > 3", "k=1"]), "False\n");
    assert_eq!(printed(&["i * 5", "i=-1:3"]), "[-5  0  5 10]\n");
    assert_eq!(printed(&["i", "i=4:4"]), "[]\n");
    assert_eq!(
        printed(&["i * j", "i=1:4x1", "j=1:5", "-o", "-"]),
        "[[ 1  2  3  4]\n [ 2  4  6  8]\n [ 3  6  9 12]]\n"
    );
    assert_eq!(printed(&["x * 1j", "x=[1, -2.5]"]), "[ 0.0+1.0j -0.0-2.5j]\n");
}

#[test]
fn points_stand_below_each_other() {
    assert_eq!(
        printed(&["x", "x=[[1.5, 10.25], [-100, 1e-7]]"]),
        "[[   1.5    10.25]\n [-100.0     1e-7]]\n"
    );
}

#[test]
fn dimensions_are_set_apart() {
    let expected = "\
[[[0 1]
  [1 2]]

 [[2 3]
  [3 4]]]
";
    assert_eq!(printed(&["a + b + c", "a=0:4:2x1x1", "b=0:2x1", "c=0:2"]), expected);
}

#[test]
fn long_rows_are_broken() {
    let text = printed(&["i", "i=1000:1030"]);
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    assert!(
        text.starts_with("[1000 1001 ") && text.contains("\n 101") && text.ends_with(" 1029]\n"),
        "{text}"
    );
}

/// Of a result that is asked for and too large, the ends of each dimension, and only these are computed.
#[test]
fn of_large_results_the_edges_are_printed() {
    let ran = Folder::new().run(["eval", "i", "i=0:1000000000000", "-o", "-"]);
    let expected = "\
[           0            1            2 … 999999999997 999999999998
 999999999999]
";
    assert_eq!((ran.code, ran.stdout.as_str()), (0, expected));
    let note =
        "unishape: these are the edges of 1000000000000 int64, 7.3 TiB; give -o FILE.npy to write all\n";
    assert_eq!(ran.said(), note);
    let words = ["eval", "i + 10 * j", "i=0:300x1", "j=0:7", "-o", "-", "-q"];
    let expected = "\
[[  0  10  20 …  40  50  60]
 [  1  11  21 …  41  51  61]
 [  2  12  22 …  42  52  62]
 …
 [297 307 317 … 337 347 357]
 [298 308 318 … 338 348 358]
 [299 309 319 … 339 349 359]]
";
    assert_eq!(Folder::new().run(words).printed(), expected);
}

#[test]
fn large_results_that_nobody_asked_to_see_are_bad_usage() {
    let folder = Folder::new();
    folder.put("a.npy", integers("<i4", &[40, 30], |n| n as i64).file());
    assert_eq!(
        folder.run(["eval", "a", "a.npy"]).refused(2),
        "unishape: the result is 40x30 int32, 4.7 KiB, too large to print; \
         give -o FILE.npy to write it, or -o - to see its edges\n"
    );
    let ran = folder.run(["eval", "a", "a.npy", "--dry-run"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert_eq!(ran.said(), "a  a.npy  40x30  int32\n40x30 int32, 4.7 KiB\n");
    // 1000 elements are not large.
    let text = folder.run(["eval", "i", "i=0:1000"]).printed().replace(['[', ']'], " ");
    assert!(text.split_whitespace().map(str::parse).eq((0..1000).map(Ok)), "{text}");
    assert!(folder.run(["eval", "i", "i=0:1001"]).refused(2).contains("1001 int64, 7.8 KiB"));
}

#[test]
fn results_of_very_many_dimensions_are_not_printed() {
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    let given: Vec<String> =
        names.iter().enumerate().map(|(at, name)| format!("{name}=0:9{}", "x1".repeat(at))).collect();
    let expr = names.join(" + ");
    let words = ["eval", &expr, "-o", "-"].into_iter().chain(given.iter().map(String::as_str));
    let said = Folder::new().run(words).refused(2);
    assert_eq!(said, "unishape: the result has too many dimensions to be printed; give -o FILE.npy\n");
}

#[test]
fn nobody_reading_is_no_error() {
    let folder = Folder::new();
    let mut child = start(&mut folder.command(["eval", "i", "i=0:1000"]));
    drop(child.stdout.take());
    let ran = Ran::new(child.wait_with_output().expect("it ends"));
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
}
