//! What `unishape broadcast` refuses before anything is written.

use crate::files::{Array, zeros};
use crate::support::Folder;

/// Two arrays that go together, `column.npy` and `row.npy`.
fn two() -> Folder {
    let folder = Folder::new();
    folder.put("column.npy", Array::of("'<f4'", &[3, 1]).file());
    folder.put("row.npy", Array::of("'<f4'", &[4]).file());
    folder
}

/// Arrays `0.npy`, `1.npy`, … of bytes that stretch to a shape of these sizes, each with one of them.
fn stretching_to(sizes: &[usize], descr: &str) -> Folder {
    let folder = Folder::new();
    for (number, &size) in sizes.iter().enumerate() {
        let mut shape = vec![1; sizes.len() - number];
        shape[0] = size;
        folder.put(format!("{number}.npy"), zeros(descr, &shape));
    }
    folder
}

/// Broadcasts all files there are, and nothing is to come of it.
#[track_caller]
fn refused(folder: &Folder, words: &[&str], code: i32) -> String {
    let before = folder.names();
    let inputs: Vec<&str> = before.iter().map(String::as_str).filter(|name| name.ends_with(".npy")).collect();
    let said = folder.run(["broadcast"].iter().chain(&inputs).chain(words)).refused(code);
    assert_eq!(folder.names(), before);
    assert!(said.starts_with("unishape: "), "{said}");
    said
}

#[test]
fn bc9_e1_is_told_with_the_names_of_the_files() {
    let folder = two();
    folder.put("x.npy", Array::of("'<f4'", &[5]).file());
    let expected = "\
unishape: E1: incompatible shapes in dimension 1: row.npy has 4, x.npy has 5

  column.npy  3 x 1
  row.npy         4
  x.npy           5
                  ^
Shapes are aligned on the right; in each column every size must be 1 or the same.
";
    assert_eq!(refused(&folder, &["--out", "z"], 1), expected);
    assert_eq!(refused(&folder, &["--out", "z.npz"], 1), expected);
}

#[test]
fn results_that_are_there_already_are_replaced_only_by_force() {
    for (out, result) in [("z", "z/row.npy"), ("z.npz", "z.npz")] {
        let folder = two();
        folder.put(result, "precious");
        let words = ["broadcast", "column.npy", "row.npy", "-q", "--out", out];
        let said = folder.run(words).refused(1);
        assert_eq!(said, format!("unishape: {result} is there already; add --force to replace it\n"));
        assert_eq!(folder.bytes(result), b"precious");
        assert_eq!(folder.names().len(), if out == "z" { 4 } else { 3 });
        folder.run(words.iter().chain(&["--force"])).printed();
        let replaced = folder.bytes(result);
        assert!(replaced.starts_with(b"\x93NUMPY") || replaced.starts_with(b"PK"));
        folder.run(words.iter().chain(&["-f"])).printed();
        assert_eq!(folder.bytes(result), replaced, "the same arrays make the same file");
    }
}

#[test]
fn inputs_are_not_overwritten_not_even_by_force() {
    let folder = two();
    let before = folder.bytes("column.npy");
    for out in [".", "../", "z/.."] {
        let name = folder.path("").file_name().expect("a name").to_owned();
        let out = if out == "../" { format!("../{}", name.display()) } else { out.into() };
        std::fs::create_dir_all(folder.path("z")).expect("a folder");
        let said = refused(&folder, &["--out", &out, "--force"], 2);
        assert!(
            said.contains("column.npy would be overwritten by its own result; choose another --out"),
            "{said}"
        );
    }
    assert_eq!(folder.bytes("column.npy"), before);
}

#[cfg(unix)]
#[test]
fn an_input_behind_a_link_is_not_overwritten() {
    let folder = two();
    folder.put("z/note.txt", "");
    std::os::unix::fs::symlink(folder.path("row.npy"), folder.path("z/row.npy")).expect("a link");
    let words = ["broadcast", "column.npy", "row.npy", "--out", "z", "--force"];
    assert!(folder.run(words).refused(2).contains("row.npy would be overwritten"));
}

/// Not by the result of another input either, which is told as such.
#[test]
fn an_input_is_not_overwritten_by_the_result_of_another() {
    let folder = two();
    folder.put("other/row.npy", Array::of("'<f4'", &[4]).file());
    let words = ["broadcast", "other/row.npy", "row.npy", "--out", ".", "--force"];
    let said = folder.run(words).refused(2);
    assert_eq!(said, "unishape: row.npy would be overwritten by a result; choose another --out\n");
}

#[test]
fn an_archive_without_a_name_and_standard_output_are_no_places() {
    let folder = two();
    for out in [".npz", ".NPZ", "new/.npz"] {
        let said = refused(&folder, &["--out", out], 2);
        let hint = "an archive needs a name before its ending, z.npz say";
        assert_eq!(said, format!("unishape: --out {out}: {hint}\n"));
    }
    let said = refused(&folder, &["--out", "-"], 2);
    assert!(said.starts_with("unishape: --out -: results do not go to standard output; give "), "{said}");
    folder.run(["broadcast", "row.npy", "-q", "--out", "./-"]).printed();
    assert!(folder.path("-/row.npy").exists());
}

/// It is there, though nothing is behind it.
#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_is_there_already() {
    use std::os::unix::fs::symlink;
    for (out, result) in [("z", "z/row.npy"), ("z.npz", "z.npz")] {
        let folder = two();
        folder.put("z/note.txt", "");
        symlink(folder.path("target"), folder.path(result)).expect("a link");
        let words = ["broadcast", "column.npy", "row.npy", "-q", "--out", out];
        let said = folder.run(words).refused(1);
        assert_eq!(said, format!("unishape: {result} is there already; add --force to replace it\n"));
        assert!(!folder.path("target").exists());
        folder.run(words.iter().chain(&["--force"])).printed();
        assert!(folder.path(result).is_symlink());
        assert_eq!(folder.bytes("target"), folder.bytes(result));
    }
    let folder = two();
    symlink("nowhere", folder.path("z")).expect("a link");
    let said = refused(&folder, &["--out", "z"], 2);
    assert!(said.starts_with("unishape: z is no folder; "), "{said}");
}

#[cfg(unix)]
#[test]
fn two_results_do_not_go_to_one_place_by_way_of_a_link() {
    let folder = two();
    folder.put("z/column.npy", "mine");
    std::os::unix::fs::symlink("column.npy", folder.path("z/row.npy")).expect("a link");
    let words = ["broadcast", "column.npy", "row.npy", "--force", "--out", "z"];
    let said = folder.run(words).refused(1);
    assert_eq!(said, "unishape: z/row.npy is a link to where another result goes\n");
    assert_eq!(folder.bytes("z/column.npy"), b"mine");
}

#[test]
fn results_larger_than_the_disk_are_refused() {
    let folder = stretching_to(&[1 << 10; 5], "'|u1'");
    for out in ["z", "new/z", "z.npz"] {
        let said = if out == "new/z" {
            refused(&folder, &["--out", out], 1)
        } else {
            refused(&folder, &["--out", out, "--force"], 1)
        };
        assert!(said.starts_with("unishape: the results take 5.0 PiB, and "), "{said}");
        assert!(said.ends_with("; nothing was written\n"), "{said}");
    }
    // A dry run tells the same.
    assert!(refused(&folder, &["--out", "z", "--dry-run"], 1).contains("5.0 PiB"));
}

#[test]
fn bc14_sizes_beyond_counting_are_an_error() {
    // Elements: 2⁶⁵.
    let said = refused(&stretching_to(&[1 << 13; 5], "'|u1'"), &["--out", "z"], 1);
    assert!(said.contains("0.npy: 8192x8192x8192x8192x8192 with elements of 1 bytes is larger than"), "{said}");
    // Bytes: 2⁶¹ elements of 8.
    let said =
        refused(&stretching_to(&[1 << 13, 1 << 12, 1 << 12, 1 << 12, 1 << 12], "'<f8'"), &["--out", "z"], 1);
    assert!(said.contains("with elements of 8 bytes is larger than this machine can address"), "{said}");
    // All together: 5 times 2⁶².
    let said =
        refused(&stretching_to(&[1 << 14, 1 << 12, 1 << 12, 1 << 12, 1 << 12], "'|u1'"), &["--out", "z"], 1);
    assert_eq!(said, "unishape: the results together are larger than any disk\n");
}

#[test]
fn files_at_fault_are_named() {
    let folder = two();
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
        folder.put("bad.npy", bytes);
        let said = refused(&folder, &["--out", "z"], 1);
        assert!(said.starts_with("unishape: bad.npy: ") && said.contains(problem), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    std::fs::remove_file(folder.path("bad.npy")).expect("it is there");
    let said = folder.run(["broadcast", "row.npy", "gone.npy", "--out", "z"]).refused(1);
    assert!(said.starts_with("unishape: gone.npy: "), "{said}");
    std::fs::create_dir(folder.path("folder.npy")).expect("a folder");
    let said = folder.run(["broadcast", "row.npy", "folder.npy", "--out", "z"]).refused(1);
    assert!(said.starts_with("unishape: folder.npy: "), "{said}");
}

#[test]
fn places_that_cannot_hold_results_are_refused() {
    let folder = two();
    folder.put("file", "mine");
    let said = refused(&folder, &["--out", "file"], 2);
    assert_eq!(said, "unishape: file is no folder; give a folder, or a file ending in .npz\n");
    let said = refused(&folder, &["--out", "missing/z.npz"], 1);
    assert_eq!(said, "unishape: missing: there is no such folder\n");
    std::fs::create_dir_all(folder.path("z/row.npy")).expect("folders");
    let words = ["broadcast", "column.npy", "row.npy", "--out", "z", "--force"];
    assert!(folder.run(words).refused(1).contains("row.npy is a folder"));
    // A folder cannot be made within a file.
    let said = folder.run(["broadcast", "column.npy", "row.npy", "-q", "--out", "file/new"]).refused(1);
    assert!(said.starts_with("unishape: file/new: "), "{said}");
    assert_eq!(folder.bytes("file"), b"mine");
}

/// Names cannot move the cursor, colour the terminal or pretend to be another line.
#[cfg(unix)]
#[test]
fn names_with_control_characters_are_shown_without_them() {
    let folder = Folder::new();
    let name = "\u{1b}[31m\r\nred.npy";
    folder.put(name, Array::of("'<f4'", &[2]).file());
    let ran = folder.run(["broadcast", name, "--out", "z\u{7}"]);
    assert_eq!(ran.code, 0);
    let said = ran.said();
    assert!(said.contains("\u{fffd}[31m\u{fffd}\u{fffd}red.npy") && said.lines().count() == 2, "{said}");
    let said = folder.run(["broadcast", name, "--out", "z\u{7}"]).refused(1);
    assert!(said.contains("is there already") && said.lines().count() == 1, "{said}");
    folder.put(format!("other/{name}"), Array::of("'<f4'", &[2]).file());
    let said = folder.run(["broadcast", name, &format!("other/{name}"), "--out", "x"]).said();
    assert!(said.contains("red-1.npy") && said.lines().count() == 3, "{said}");
    folder.put(name, "broken");
    for words in [&["broadcast", name, "--out", "y"][..], &["shape", name], &["explain", name]] {
        let said = folder.run(words).refused(1);
        assert!(said.contains("red.npy: this is not an .npy file") && said.lines().count() == 1, "{said}");
    }
}
