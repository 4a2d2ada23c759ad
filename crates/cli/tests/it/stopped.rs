//! What `unishape broadcast` leaves behind when it is stopped or fails in the middle: nothing.

use crate::files::zeros;
use crate::support::{Folder, Ran, start};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Two arrays of bytes that stretch to so many MiB each.
pub(crate) fn stretching_to(mebibytes: usize) -> Folder {
    let folder = Folder::new();
    folder.put("column.npy", zeros("'|u1'", &[mebibytes << 10, 1]));
    folder.put("row.npy", zeros("'|u1'", &[1 << 10]));
    folder
}

/// Waits until a temporary file has some megabytes.
pub(crate) fn wait_for_growth(folder: &Folder, child: &mut Child) {
    let patience = Instant::now() + Duration::from_secs(60);
    loop {
        let grown = folder.names().into_iter().any(|name| {
            let size = std::fs::metadata(folder.path(&name)).map_or(0, |file| file.len());
            name.contains(".unishape-") && size > 4 << 20
        });
        if grown {
            return;
        }
        assert!(child.try_wait().expect("it was started").is_none(), "it ended before it could be stopped");
        assert!(Instant::now() < patience, "nothing is written");
        sleep(Duration::from_millis(2));
    }
}

pub(crate) fn signal(child: &Child, name: &str) {
    let sent = Command::new("sh").args(["-c", &format!("kill -{name} {}", child.id())]).status();
    assert!(sent.expect("there is a shell").success());
}

#[track_caller]
fn assert_stopped(out: &str, name: &str) {
    let folder = stretching_to(2 << 10);
    let before = folder.names();
    let words = ["broadcast", "column.npy", "row.npy", "--quiet", "--out"];
    let mut child = start(&mut folder.command(words.iter().chain(&[out])));
    wait_for_growth(&folder, &mut child);
    signal(&child, name);
    let ran = Ran::new(child.wait_with_output().expect("it ends"));
    assert_eq!(ran.refused(130), "unishape: stopped; nothing was written\n");
    assert_eq!(folder.names(), before);
}

#[test]
fn ctrl_c_leaves_no_file_and_no_folder() {
    assert_stopped("new/folder", "INT");
}

#[test]
fn ctrl_c_leaves_no_archive() {
    assert_stopped("z.npz", "INT");
}

#[test]
fn being_asked_to_end_is_as_ctrl_c() {
    assert_stopped("z", "TERM");
}

/// The second of two files fails: the first, complete as it is, does not appear either.
#[test]
fn a_write_that_fails_in_the_middle_leaves_nothing() {
    for out in ["z", "new/folder", "z.npz"] {
        let folder = stretching_to(8);
        folder.put("row.npy", zeros("'<u2'", &[1 << 10]));
        let before = folder.names();
        // Blocks of 512 bytes: 12 MiB are allowed, which is enough for column.npy and not for row.npy.
        let limit = "trap '' XFSZ && ulimit -f 24576";
        let words = ["broadcast", "column.npy", "row.npy", "--quiet", "--out", out];
        let said = Ran::of(&mut folder.limited(limit, &words)).refused(1);
        assert_eq!(folder.names(), before, "{out}");
        // It says which of the results.
        let result = if out.ends_with(".npz") { out.into() } else { format!("{out}/row.npy") };
        assert!(said.starts_with(&format!("unishape: {result}: ")), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

/// Folders made for the results go with them; one that was there stays, empty as it was.
#[test]
fn a_failure_leaves_an_empty_folder_that_was_there() {
    let folder = stretching_to(8);
    std::fs::create_dir(folder.path("z")).unwrap();
    let words = ["broadcast", "column.npy", "row.npy", "--quiet", "--out", "z/new"];
    Ran::of(&mut folder.limited("trap '' XFSZ && ulimit -f 8192", &words)).refused(1);
    assert_eq!(std::fs::read_dir(folder.path("z")).unwrap().count(), 0);
}

#[test]
fn the_plan_is_told_before_anything_is_written() {
    let folder = stretching_to(8);
    let words = ["broadcast", "column.npy", "row.npy", "--out", "z"];
    let said = Ran::of(&mut folder.limited("trap '' XFSZ && ulimit -f 8192", &words)).refused(1);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines[..2],
        ["column.npy  8192x1 → 8192x1024  8.0 MiB", "row.npy       1024 → 8192x1024  8.0 MiB"]
    );
    assert!(lines[2].starts_with("16.0 MiB to z"), "{said}");
    assert!(
        lines[3].starts_with("unishape: z/column.npy: ") && lines[3].ends_with("nothing was written"),
        "{said}"
    );
}

#[test]
fn a_failure_leaves_what_was_there_as_it_was() {
    for out in ["z", "z.npz"] {
        let folder = stretching_to(8);
        folder.put("z/column.npy", "precious");
        folder.put("z.npz", "precious");
        let before = folder.names();
        let limit = "trap '' XFSZ && ulimit -f 8192";
        let words = ["broadcast", "column.npy", "row.npy", "--quiet", "--force", "--out", out];
        Ran::of(&mut folder.limited(limit, &words)).refused(1);
        assert_eq!(folder.names(), before, "{out}");
        assert_eq!(
            (folder.bytes("z/column.npy"), folder.bytes("z.npz")),
            (b"precious".into(), b"precious".into())
        );
    }
}

/// 256 MiB of results in at most 24 MiB of memory of its own; the mapped input does not count.
#[cfg(target_os = "linux")]
#[test]
fn bc10_results_larger_than_memory_are_streamed() {
    let limit = if crate::support::memory_can_be_measured() { "ulimit -d 24576" } else { "true" };
    for out in ["z", "z.npz"] {
        let folder = stretching_to(128);
        let words = ["broadcast", "column.npy", "row.npy", "--quiet", "--out", out];
        Ran::of(&mut folder.limited(limit, &words)).printed();
        let bytes: u64 = folder
            .names()
            .iter()
            .filter(|name| name.starts_with('z'))
            .map(|name| std::fs::metadata(folder.path(name)).expect("it is there"))
            .filter(std::fs::Metadata::is_file)
            .map(|file| file.len())
            .sum();
        assert!(bytes > 256 << 20, "{bytes}");
    }
}
