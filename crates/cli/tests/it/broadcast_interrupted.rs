//! `unishape broadcast` leaves nothing behind when it is stopped or fails while writing.

use crate::arrays::zeros;
use crate::support::{RunOutput, TestDir, start};
use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Two arrays of bytes whose results have this many MiB each.
pub(crate) fn stretching_to(mebibytes: usize) -> TestDir {
    let dir = TestDir::new();
    dir.write("column.npy", zeros("'|u1'", &[mebibytes << 10, 1]));
    dir.write("row.npy", zeros("'|u1'", &[1 << 10]));
    dir
}

/// Waits until the temporary file of a result has some megabytes.
pub(crate) fn wait_for_growth(dir: &TestDir, child: &mut Child) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !has_grown(dir, child) {
        assert!(child.try_wait().expect("a child").is_none(), "the command ended before it could be stopped");
        assert!(Instant::now() < deadline, "nothing is written");
        sleep(Duration::from_millis(2));
    }
}

fn has_grown(dir: &TestDir, child: &Child) -> bool {
    let is_large = |path: &Path| fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() > 4 << 20);
    // A file without a name is found by its descriptor. Inputs have names, and may not have been mapped yet.
    let descriptors = fs::read_dir(format!("/proc/{}/fd", child.id())).into_iter().flatten().flatten();
    let is_temporary = |path: &String| path.contains(".unishape-");
    let is_nameless = |path: &Path| {
        fs::read_link(path).is_ok_and(|to| to.as_os_str().as_encoded_bytes().ends_with(b" (deleted)"))
    };
    descriptors.map(|descriptor| descriptor.path()).any(|path| is_nameless(&path) && is_large(&path))
        || dir.list().iter().filter(|path| is_temporary(path)).any(|path| is_large(&dir.path(path)))
}

pub(crate) fn signal(child: &Child, name: &str) {
    let sent = Command::new("sh").args(["-c", &format!("kill -{name} {}", child.id())]).status();
    assert!(sent.expect("a shell").success());
}

/// Whether the tests, and so the command, run with `SIGHUP` ignored, as under `nohup`.
pub(crate) fn ignores_sighup() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or("0");
    u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & 1 != 0)
}

#[track_caller]
fn assert_stopped(out: &str, name: &str, code: i32) {
    let dir = stretching_to(2 << 10);
    let before = dir.list();
    let args = ["broadcast", "column.npy", "row.npy", "--quiet", "--out"];
    let mut child = start(&mut dir.command(args.iter().chain(&[out])));
    wait_for_growth(&dir, &mut child);
    signal(&child, name);
    let output = RunOutput::new(child.wait_with_output().expect("an exit"));
    assert_eq!(output.expect_error(code), "unishape: stopped; nothing was written\n");
    assert_eq!(dir.list(), before);
}

#[test]
fn ctrl_c_leaves_no_file_and_no_directory() {
    assert_stopped("new/dir", "INT", 130);
}

#[test]
fn ctrl_c_leaves_no_archive() {
    assert_stopped("z.npz", "INT", 130);
}

#[test]
fn sigterm_and_sighup_exit_with_codes_of_their_own() {
    assert_stopped("z", "TERM", 143);
    if !ignores_sighup() {
        assert_stopped("z", "HUP", 129);
    }
}

/// The second of two files fails: the first, although complete, does not appear either.
#[test]
fn a_write_that_fails_in_the_middle_leaves_nothing() {
    for out in ["z", "new/dir", "z.npz"] {
        let dir = stretching_to(8);
        dir.write("row.npy", zeros("'<u2'", &[1 << 10]));
        let before = dir.list();
        // Blocks of 512 bytes: a limit of 12 MiB, enough for column.npy and not for row.npy.
        let limit = "trap '' XFSZ && ulimit -f 24576";
        let args = ["broadcast", "column.npy", "row.npy", "--quiet", "--out", out];
        let message = RunOutput::of(&mut dir.limited(limit, &args)).expect_error(4);
        assert_eq!(dir.list(), before, "{out}");
        // The message names the result.
        let result = if out.ends_with(".npz") { out.into() } else { format!("{out}/row.npy") };
        assert!(message.starts_with(&format!("unishape: {result}: ")), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

/// Directories created for the results are removed; an existing one stays, even if empty.
#[test]
fn a_failure_keeps_existing_directories() {
    let dir = stretching_to(8);
    fs::create_dir(dir.path("z")).unwrap();
    let args = ["broadcast", "column.npy", "row.npy", "--quiet", "--out", "z/new"];
    RunOutput::of(&mut dir.limited("trap '' XFSZ && ulimit -f 8192", &args)).expect_error(4);
    assert_eq!(fs::read_dir(dir.path("z")).unwrap().count(), 0);
}

#[test]
fn the_plan_is_printed_before_anything_is_written() {
    let dir = stretching_to(8);
    let args = ["broadcast", "column.npy", "row.npy", "--out", "z"];
    let message = RunOutput::of(&mut dir.limited("trap '' XFSZ && ulimit -f 8192", &args)).expect_error(4);
    let lines: Vec<&str> = message.lines().collect();
    assert_eq!(
        lines[..2],
        ["column.npy  8192x1 → 8192x1024  8.00 MiB", "row.npy       1024 → 8192x1024  8.00 MiB"]
    );
    assert!(lines[2].starts_with("16.00 MiB to z"), "{message}");
    assert!(
        lines[3].starts_with("unishape: z/column.npy: ") && lines[3].ends_with("nothing was written"),
        "{message}"
    );
}

#[test]
fn a_failure_keeps_existing_files() {
    for out in ["z", "z.npz"] {
        let dir = stretching_to(8);
        dir.write("z/column.npy", "old");
        dir.write("z.npz", "old");
        let before = dir.list();
        let limit = "trap '' XFSZ && ulimit -f 8192";
        let args = ["broadcast", "column.npy", "row.npy", "--quiet", "--force", "--out", out];
        RunOutput::of(&mut dir.limited(limit, &args)).expect_error(4);
        assert_eq!(dir.list(), before, "{out}");
        assert_eq!((dir.read("z/column.npy"), dir.read("z.npz")), (b"old".into(), b"old".into()));
    }
}

/// 256 MiB of results in at most 24 MiB of memory, not counting memory-mapped inputs.
#[cfg(target_os = "linux")]
#[test]
fn bc10_results_larger_than_memory_are_streamed() {
    let limit = if crate::support::can_measure_memory() { "ulimit -d 24576" } else { "true" };
    for out in ["z", "z.npz"] {
        let dir = stretching_to(128);
        let args = ["broadcast", "column.npy", "row.npy", "--quiet", "--out", out];
        RunOutput::of(&mut dir.limited(limit, &args)).expect_success();
        let bytes: u64 = dir
            .list()
            .iter()
            .filter(|name| name.starts_with('z'))
            .map(|name| fs::metadata(dir.path(name)).expect("existing"))
            .filter(fs::Metadata::is_file)
            .map(|file| file.len())
            .sum();
        assert!(bytes > 256 << 20, "{bytes}");
    }
}
