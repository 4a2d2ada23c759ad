//! What `unishape eval` leaves behind when it is stopped or fails in the middle: nothing.

use crate::eval::integers;
use crate::files::zeros;
use crate::stopped::{signal, stretching_to, wait_for_growth};
use crate::support::{Folder, Ran, start};

/// The sum of two arrays of bytes, stretched.
const SUM: [&str; 5] = ["eval", "column + row", "column.npy", "row.npy", "--quiet"];

#[track_caller]
fn assert_stopped(name: &str, more: &[&str]) {
    let folder = stretching_to(4 << 10);
    folder.put("z.npy", "precious");
    let before = folder.names();
    let words = SUM.iter().chain(more).chain(&["--force", "-o", "z.npy"]);
    let mut child = start(&mut folder.command(words));
    wait_for_growth(&folder, &mut child);
    signal(&child, name);
    let ran = Ran::new(child.wait_with_output().expect("it ends"));
    assert_eq!(ran.refused(130), "unishape: stopped; nothing was written\n");
    assert_eq!((folder.names(), folder.bytes("z.npy")), (before, b"precious".into()));
}

#[test]
fn ctrl_c_leaves_what_was_there() {
    assert_stopped("INT", &[]);
}

#[test]
fn being_asked_to_end_is_as_ctrl_c() {
    assert_stopped("TERM", &["--memory", "1M", "--threads", "1"]);
}

#[test]
fn a_write_that_fails_in_the_middle_leaves_nothing() {
    for memory in ["1M", "256M"] {
        let folder = stretching_to(24);
        let before = folder.names();
        // Blocks of 512 bytes: 12 MiB are allowed.
        let limit = "trap '' XFSZ && ulimit -f 24576";
        let words: Vec<&str> = SUM.iter().chain(&["--memory", memory, "-o", "z.npy"]).copied().collect();
        let said = Ran::of(&mut folder.limited(limit, &words)).refused(1);
        assert_eq!(folder.names(), before);
        assert!(said.starts_with("unishape: z.npy: ") && said.ends_with("; nothing was written\n"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        // What is there already stays, whatever --force says.
        folder.put("z.npy", "precious");
        let words: Vec<&str> = words.iter().chain(&["--force"]).copied().collect();
        Ran::of(&mut folder.limited(limit, &words)).refused(1);
        assert_eq!((folder.bytes("z.npy"), folder.names().len()), (b"precious".into(), before.len() + 1));
    }
}

/// An element that is found to be wrong when all before it are written.
#[test]
fn an_input_at_fault_at_its_end_leaves_nothing() {
    let folder = Folder::new();
    let mut truths = zeros("'|b1'", &[6 << 20]);
    *truths.last_mut().expect("it has elements") = 7;
    folder.put("m.npy", truths);
    let said = folder.run(["eval", "m * 2", "m.npy", "-q", "--memory", "1M", "-o", "z.npy"]).refused(1);
    assert_eq!(said, "unishape: m.npy: element [6291455]: a bool is 0 or 1, not 7\n");
    assert_eq!(folder.names(), ["m.npy"]);
}

/// The system itself says that the disk is full.
#[cfg(target_os = "linux")]
#[test]
fn devices_are_written_to_in_place() {
    let folder = Folder::new();
    folder.put("a.npy", integers("<i8", &[1 << 17], |n| n as i64).file());
    let said = folder.run(["eval", "a + 1", "a.npy", "-q", "-o", "/dev/full"]).refused(1);
    assert!(said.starts_with("unishape: /dev/full: No space left on device"), "{said}");
    folder.run(["eval", "a + 1", "a.npy", "-q", "-o", "/dev/null"]).printed();
    assert_eq!(folder.names(), ["a.npy"]);
}

/// 256 MiB from 256 MiB, in the memory that was allowed and what threads and the program itself take.
#[cfg(target_os = "linux")]
#[test]
fn bc10_files_larger_than_memory_are_computed() {
    let folder = Folder::new();
    let rows = 1 << 13;
    // As a hole in the file: nothing but zeros, and no time.
    let head = zeros("'>f4'", &[rows, 8 << 10, 0]);
    let header = unishape_npy::Header::read(&mut &head[..]).expect("a header");
    let header = unishape_npy::Header { shape: vec![rows, 8 << 10], ..header };
    let mut file = std::fs::File::create(folder.path("a.npy")).expect("a file");
    header.write(&mut file).expect("written");
    file.set_len(header.encoded_len().expect("short") + header.data_bytes().expect("few")).expect("room");
    folder.put("row.npy", integers("<i4", &[8 << 10], |n| n as i64).file());
    // Converted, and so copied: 4 bytes an element, and twice 2 for the result.
    let words = ["eval", "float32(row) - a", "a.npy", "row.npy", "--dtype", "float16", "-q", "-o", "z.npy"];
    let limit = if crate::support::memory_can_be_measured() { "ulimit -d 49152" } else { "true" };
    for memory in ["4M", "16M"] {
        let words: Vec<&str> =
            words.iter().chain(&["--memory", memory, "--threads", "2", "-f"]).copied().collect();
        Ran::of(&mut folder.limited(limit, &words)).printed();
        let size = std::fs::metadata(folder.path("z.npy")).expect("it is there").len();
        assert_eq!(size, 128 + (rows as u64 * (8 << 10) * 2));
    }
}
