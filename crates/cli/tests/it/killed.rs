//! Signals that end the process at once leave nothing behind; nor do inputs that are truncated meanwhile.

use crate::arrays::zeros;
use crate::broadcast_interrupted::{signal, stretching_to, wait_for_growth};
use crate::support::{RunOutput, TestDir, start};
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use unishape_npy::Header;

/// Commands that write results of 2 GiB from `column.npy` and `row.npy`.
const COMMANDS: [&[&str]; 4] = [
    &["eval", "column + row", "column.npy", "row.npy", "-q", "-o", "z.npy"],
    &["eval", "column + row", "column.npy", "row.npy", "-q", "--force", "-o", "old.npy"],
    &["broadcast", "column.npy", "row.npy", "-q", "--out", "out"],
    &["broadcast", "column.npy", "row.npy", "-q", "--out", "z.npz"],
];

fn directory() -> TestDir {
    let dir = stretching_to(2 << 10);
    dir.write("old.npy", "old");
    std::fs::create_dir(dir.path("out")).expect("a directory");
    dir
}

#[test]
fn sigkill_and_sigusr1_leave_nothing() {
    let dir = directory();
    let before = dir.list();
    for args in COMMANDS {
        for (name, number) in [("KILL", 9), ("USR1", 10)] {
            let mut child = start(&mut dir.command(args));
            wait_for_growth(&dir, &mut child);
            signal(&child, name);
            let status = child.wait().expect("an exit");
            assert_eq!(status.signal(), Some(number), "{args:?}");
            assert_eq!((dir.list(), dir.read("old.npy")), (before.clone(), b"old".into()), "{args:?}");
        }
    }
}

#[test]
fn sigxfsz_leaves_nothing() {
    let dir = directory();
    let before = dir.list();
    for args in COMMANDS {
        // Blocks of 512 bytes: a limit of 4 MiB.
        let output = dir.limited("ulimit -c 0 && ulimit -f 8192", args).output().expect("a process");
        assert_eq!(output.status.signal(), Some(25), "{args:?}: {output:?}");
        assert_eq!((dir.list(), dir.read("old.npy")), (before.clone(), b"old".into()), "{args:?}");
    }
}

/// A sparse array of 2 GiB.
fn large_array(dir: &TestDir, name: &str) -> File {
    let head = zeros("'|u1'", &[2 << 20, 1 << 10, 0]);
    let header = Header::read(&mut &head[..]).expect("a header");
    let header = Header { shape: vec![2 << 20, 1 << 10], ..header };
    let mut file = File::create(dir.path(name)).expect("a file");
    header.write(&mut file).expect("a header");
    file.set_len(header.encoded_len().expect("short") + (2 << 30)).expect("a sparse file");
    file
}

#[test]
fn an_input_that_is_truncated_meanwhile_is_an_error() {
    let dir = TestDir::new();
    let commands: [&[&str]; 4] = [
        &["eval", "a + 1", "a.npy", "-q", "-o", "z.npy"],
        &["eval", "a + 1", "a.npy", "-q", "--threads", "1", "--force", "-o", "a.npy"],
        &["broadcast", "a.npy", "-q", "--out", "out"],
        &["broadcast", "a.npy", "-q", "--out", "z.npz"],
    ];
    std::fs::create_dir(dir.path("out")).expect("a directory");
    for args in commands {
        let file = large_array(&dir, "a.npy");
        let mut child = start(&mut dir.command(args));
        wait_for_growth(&dir, &mut child);
        file.set_len(128).expect("truncated");
        let output = RunOutput::new(child.wait_with_output().expect("an exit"));
        let message = output.expect_error(4);
        assert!(
            message.contains("an input file was truncated while it was being read"),
            "{args:?}: {message}"
        );
        assert!(message.starts_with("unishape: ") && message.lines().count() == 1, "{args:?}: {message}");
        assert_eq!(dir.list(), ["a.npy", "out"], "{args:?}");
    }
}

/// A stretched input is read in user space, so that the truncation is a `SIGBUS`.
#[test]
fn a_truncated_input_leaves_no_new_directory() {
    for out in ["new", "new/dir", "./new/../new/dir/"] {
        let dir = directory();
        let before = dir.list();
        let args = ["broadcast", "column.npy", "row.npy", "-q", "--out", out];
        let mut child = start(&mut dir.command(args));
        wait_for_growth(&dir, &mut child);
        let file = File::options().write(true).open(dir.path("column.npy")).expect("a file");
        file.set_len(128).expect("truncated");
        let output = RunOutput::new(child.wait_with_output().expect("an exit"));
        let message = output.expect_error(4);
        assert_eq!(message, "unishape: an input file was truncated while it was being read\n", "{out}");
        assert_eq!(dir.list(), before, "{out}");
    }
}

/// The handler is for truncated files only.
#[test]
fn sigbus_of_another_cause_kills_the_process() {
    let dir = directory();
    let mut child = start(&mut dir.command(COMMANDS[0]));
    wait_for_growth(&dir, &mut child);
    signal(&child, "BUS");
    let output = child.wait_with_output().expect("an exit");
    assert_eq!((output.status.signal(), output.stderr.len()), (Some(7), 0), "{output:?}");
    assert!(!dir.path("z.npy").exists());
}
