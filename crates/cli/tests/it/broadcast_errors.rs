//! Errors of `unishape broadcast` that are found before anything is written.

use crate::arrays::{Array, zeros};
use crate::support::TestDir;

/// Two compatible arrays, `column.npy` and `row.npy`.
fn compatible_arrays() -> TestDir {
    let dir = TestDir::new();
    dir.write("column.npy", Array::of("'<f4'", &[3, 1]).file());
    dir.write("row.npy", Array::of("'<f4'", &[4]).file());
    dir
}

/// Arrays `0.npy`, `1.npy`, … whose common shape has these sizes; each array has one of them.
fn stretching_to(sizes: &[usize], descr: &str) -> TestDir {
    let dir = TestDir::new();
    for (number, &size) in sizes.iter().enumerate() {
        let mut shape = vec![1; sizes.len() - number];
        shape[0] = size;
        dir.write(format!("{number}.npy"), zeros(descr, &shape));
    }
    dir
}

/// Broadcasts all files of the directory, and expects an error and no change.
#[track_caller]
fn broadcast_error(dir: &TestDir, args: &[&str], code: i32) -> String {
    let before = dir.list();
    let inputs: Vec<&str> = before.iter().map(String::as_str).filter(|name| name.ends_with(".npy")).collect();
    let message = dir.run(["broadcast"].iter().chain(&inputs).chain(args)).expect_error(code);
    assert_eq!(dir.list(), before);
    assert!(message.starts_with("unishape: "), "{message}");
    message
}

#[test]
fn bc9_e1_names_the_files() {
    let dir = compatible_arrays();
    dir.write("x.npy", Array::of("'<f4'", &[5]).file());
    let expected = "\
unishape: E1: incompatible shapes in dimension 1: row.npy has 4, x.npy has 5

  column.npy  3 x 1
  row.npy         4
  x.npy           5
                  ^
Shapes are aligned on the right; in each column every size must be 1 or the same.
";
    assert_eq!(broadcast_error(&dir, &["--out", "z"], 1), expected);
    assert_eq!(broadcast_error(&dir, &["--out", "z.npz"], 1), expected);
}

#[test]
fn existing_results_are_replaced_only_with_force() {
    for (out, result) in [("z", "z/row.npy"), ("z.npz", "z.npz")] {
        let dir = compatible_arrays();
        dir.write(result, "old");
        let args = ["broadcast", "column.npy", "row.npy", "-q", "--out", out];
        let message = dir.run(args).expect_error(4);
        assert_eq!(message, format!("unishape: {result} already exists; use --force to replace it\n"));
        assert_eq!(dir.read(result), b"old");
        assert_eq!(dir.list().len(), if out == "z" { 4 } else { 3 });
        dir.run(args.iter().chain(&["--force"])).expect_success();
        let replaced = dir.read(result);
        assert!(replaced.starts_with(b"\x93NUMPY") || replaced.starts_with(b"PK"));
        dir.run(args.iter().chain(&["-f"])).expect_success();
        assert_eq!(dir.read(result), replaced, "the same arrays make the same file");
    }
}

#[test]
fn inputs_are_not_overwritten_even_with_force() {
    let dir = compatible_arrays();
    let before = dir.read("column.npy");
    for out in [".", "../", "z/.."] {
        let name = dir.path("").file_name().expect("a name").to_owned();
        let out = if out == "../" { format!("../{}", name.display()) } else { out.into() };
        std::fs::create_dir_all(dir.path("z")).expect("a directory");
        let message = broadcast_error(&dir, &["--out", &out, "--force"], 2);
        assert!(
            message.contains("column.npy would be overwritten by its own result; choose another --out"),
            "{message}"
        );
    }
    assert_eq!(dir.read("column.npy"), before);
}

#[cfg(unix)]
#[test]
fn the_target_of_a_link_that_is_an_input_is_not_overwritten() {
    let dir = compatible_arrays();
    dir.write("z/note.txt", "");
    std::os::unix::fs::symlink(dir.path("row.npy"), dir.path("z/row.npy")).expect("a link");
    let args = ["broadcast", "column.npy", "row.npy", "--out", "z", "--force"];
    assert!(dir.run(args).expect_error(2).contains("row.npy would be overwritten"));
}

#[test]
fn an_input_is_not_overwritten_by_another_result() {
    let dir = compatible_arrays();
    dir.write("other/row.npy", Array::of("'<f4'", &[4]).file());
    let args = ["broadcast", "other/row.npy", "row.npy", "--out", ".", "--force"];
    let message = dir.run(args).expect_error(2);
    assert_eq!(message, "unishape: row.npy would be overwritten by another result; choose another --out\n");
}

#[test]
fn an_archive_needs_a_name_and_standard_output_takes_one_array() {
    let dir = compatible_arrays();
    for out in [".npz", ".NPZ", "new/.npz"] {
        let message = broadcast_error(&dir, &["--out", out], 2);
        let hint = "an archive needs a name before its extension, as in z.npz";
        assert_eq!(message, format!("unishape: --out {out}: {hint}\n"));
    }
    let message = broadcast_error(&dir, &["--out", "-"], 2);
    let expected = "unishape: --out -: cannot write several arrays to standard output; give ";
    assert!(message.starts_with(expected), "{message}");
    let message = dir.run(["broadcast", "row.npy", "--json", "--out", "-"]).stderr;
    assert!(message.starts_with("unishape: --out -: cannot write an array and JSON to "), "{message}");
    dir.run(["broadcast", "row.npy", "-q", "--out", "./-"]).expect_success();
    assert!(dir.path("-/row.npy").exists());
}

/// A directory of such a name would be a surprise.
#[test]
fn names_of_files_are_not_made_directories() {
    let dir = compatible_arrays();
    let before = dir.list();
    let message = broadcast_error(&dir, &["--out", "z.npy"], 2);
    let expected = "--out z.npy: one file for 2 arrays; give a directory, or a file ending in .npz";
    assert_eq!(message, format!("unishape: {expected}\n"));
    for out in ["z.csv", "z.txt", "z.TSV", "z.safetensors"] {
        let message = broadcast_error(&dir, &["--out", out], 2);
        assert!(
            message.starts_with(&format!("unishape: --out {out}: cannot write this format; ")),
            "{message}"
        );
        let message = dir.run(["eval", "row + 1", "row.npy", "-o", out]).expect_error(2);
        assert!(message.starts_with(&format!("unishape: -o {out}: cannot write this format; ")), "{message}");
    }
    assert_eq!(dir.list(), before);
    // A directory that exists may have any name.
    dir.write("d.npy/note.txt", "");
    dir.run(["broadcast", "column.npy", "row.npy", "-q", "--out", "d.npy"]).expect_success();
    assert!(dir.path("d.npy/row.npy").exists());
}

#[cfg(unix)]
#[test]
fn a_dangling_link_counts_as_existing() {
    use std::os::unix::fs::symlink;
    for (out, result) in [("z", "z/row.npy"), ("z.npz", "z.npz")] {
        let dir = compatible_arrays();
        dir.write("z/note.txt", "");
        symlink(dir.path("target"), dir.path(result)).expect("a link");
        let args = ["broadcast", "column.npy", "row.npy", "-q", "--out", out];
        let message = dir.run(args).expect_error(4);
        assert_eq!(message, format!("unishape: {result} already exists; use --force to replace it\n"));
        assert!(!dir.path("target").exists());
        dir.run(args.iter().chain(&["--force"])).expect_success();
        assert!(dir.path(result).is_symlink());
        assert_eq!(dir.read("target"), dir.read(result));
    }
    let dir = compatible_arrays();
    symlink("nowhere", dir.path("z")).expect("a link");
    let message = broadcast_error(&dir, &["--out", "z"], 2);
    assert!(message.starts_with("unishape: z is not a directory; "), "{message}");
}

#[cfg(unix)]
#[test]
fn two_results_are_not_written_to_one_file_through_a_link() {
    let dir = compatible_arrays();
    dir.write("z/column.npy", "mine");
    std::os::unix::fs::symlink("column.npy", dir.path("z/row.npy")).expect("a link");
    let args = ["broadcast", "column.npy", "row.npy", "--force", "--out", "z"];
    let message = dir.run(args).expect_error(4);
    assert_eq!(message, "unishape: z/row.npy is a link to the file of another result\n");
    assert_eq!(dir.read("z/column.npy"), b"mine");
}

#[test]
fn results_larger_than_the_disk_are_errors() {
    let dir = stretching_to(&[1 << 10; 5], "'|u1'");
    for out in ["z", "new/z", "z.npz"] {
        let message = if out == "new/z" {
            broadcast_error(&dir, &["--out", out], 4)
        } else {
            broadcast_error(&dir, &["--out", out, "--force"], 4)
        };
        assert!(message.starts_with("unishape: the results need 5.00 PiB, but "), "{message}");
        assert!(message.ends_with("; nothing was written\n"), "{message}");
    }
    // A dry run reports the same.
    assert!(broadcast_error(&dir, &["--out", "z", "--dry-run"], 4).contains("5.00 PiB"));
}

#[test]
fn bc14_uncountable_sizes_are_errors() {
    // Elements: 2⁶⁵.
    let message = broadcast_error(&stretching_to(&[1 << 13; 5], "'|u1'"), &["--out", "z"], 5);
    assert!(
        message.contains("0.npy: 8192x8192x8192x8192x8192 with elements of 1 bytes is larger than"),
        "{message}"
    );
    // Bytes: 2⁶¹ elements of 8.
    let message = broadcast_error(
        &stretching_to(&[1 << 13, 1 << 12, 1 << 12, 1 << 12, 1 << 12], "'<f8'"),
        &["--out", "z"],
        5,
    );
    assert!(
        message.contains("with elements of 8 bytes is larger than this machine can address"),
        "{message}"
    );
    // Total: 5 times 2⁶².
    let message = broadcast_error(
        &stretching_to(&[1 << 14, 1 << 12, 1 << 12, 1 << 12, 1 << 12], "'|u1'"),
        &["--out", "z"],
        5,
    );
    assert_eq!(message, "unishape: the total size of the results exceeds 2^64 bytes\n");
}

#[test]
fn errors_name_the_file() {
    let dir = compatible_arrays();
    let good = Array::of("'<f8'", &[3, 4]).file();
    let objects = b"\x93NUMPY\x01\0\x36\0{'descr': '|O', 'fortran_order': False, 'shape': (), }\nabcdefgh";
    let huge = b"\x93NUMPY\x01\0\x4c\0{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,), }\n";
    let empty: &[u8] = b"";
    for (bytes, problem) in [
        (&good[..good.len() - 1], "truncated: the header promises 96 bytes of data, the file has 95"),
        (&good[..50], "truncated: the file ends inside its header"),
        (empty, "this is not an .npy file"),
        (b"PK\x03\x04", "this is a zip archive"),
        (b"\x93NUMPY\x09\0\x04\0{}  ", "version 9.0"),
        (b"\x93NUMPY\x01\0\x04\0{}  ", "the header has no 'descr'"),
        (objects, "pickled Python objects"),
        (huge, ""),
    ] {
        dir.write("bad.npy", bytes);
        let message = broadcast_error(&dir, &["--out", "z"], 5);
        assert!(message.starts_with("unishape: bad.npy: ") && message.contains(problem), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
    std::fs::remove_file(dir.path("bad.npy")).expect("existing");
    let message = dir.run(["broadcast", "row.npy", "gone.npy", "--out", "z"]).expect_error(4);
    assert!(message.starts_with("unishape: gone.npy: "), "{message}");
    std::fs::create_dir(dir.path("dir.npy")).expect("a directory");
    let message = dir.run(["broadcast", "row.npy", "dir.npy", "--out", "z"]).expect_error(4);
    assert!(message.starts_with("unishape: dir.npy: "), "{message}");
}

#[test]
fn invalid_destinations_are_errors() {
    let dir = compatible_arrays();
    dir.write("file", "mine");
    let message = broadcast_error(&dir, &["--out", "file"], 2);
    assert_eq!(message, "unishape: file is not a directory; give a directory, or a file ending in .npz\n");
    let message = broadcast_error(&dir, &["--out", "missing/z.npz"], 4);
    assert_eq!(message, "unishape: missing: no such directory\n");
    std::fs::create_dir_all(dir.path("z/row.npy")).expect("directories");
    let args = ["broadcast", "column.npy", "row.npy", "--out", "z", "--force"];
    assert!(dir.run(args).expect_error(4).contains("row.npy is a directory"));
    // A directory cannot be created in a file.
    let message = dir.run(["broadcast", "column.npy", "row.npy", "-q", "--out", "file/new"]).expect_error(4);
    assert!(message.starts_with("unishape: file/new: "), "{message}");
    assert_eq!(dir.read("file"), b"mine");
}

/// Names cannot move the cursor, change colors or fake another line.
#[cfg(unix)]
#[test]
fn control_characters_in_names_are_replaced() {
    let dir = TestDir::new();
    let name = "\u{1b}[31m\r\nred.npy";
    dir.write(name, Array::of("'<f4'", &[2]).file());
    let output = dir.run(["broadcast", name, "--out", "z\u{7}"]);
    assert_eq!(output.code, 0);
    let message = output.message();
    assert!(
        message.contains("\u{fffd}[31m\u{fffd}\u{fffd}red.npy") && message.lines().count() == 2,
        "{message}"
    );
    let message = dir.run(["broadcast", name, "--out", "z\u{7}"]).expect_error(4);
    assert!(message.contains("already exists") && message.lines().count() == 1, "{message}");
    dir.write(format!("other/{name}"), Array::of("'<f4'", &[2]).file());
    let message = dir.run(["broadcast", name, &format!("other/{name}"), "--out", "x"]).message();
    assert!(message.contains("red-1.npy") && message.lines().count() == 3, "{message}");
    dir.write(name, "broken");
    for args in [&["broadcast", name, "--out", "y"][..], &["shape", name], &["explain", name]] {
        let message = dir.run(args).expect_error(5);
        assert!(
            message.contains("red.npy: this is not an .npy file") && message.lines().count() == 1,
            "{message}"
        );
    }
}
