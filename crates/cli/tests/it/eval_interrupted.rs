//! `unishape eval` leaves nothing behind when it is stopped or fails while writing.

use crate::arrays::zeros;
use crate::broadcast_interrupted::{ignores_sighup, signal, stretching_to, wait_for_growth};
use crate::eval::integers;
use crate::support::{RunOutput, TestDir, start};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Computes the sum of two stretched arrays of bytes.
const SUM: [&str; 5] = ["eval", "column + row", "column.npy", "row.npy", "--quiet"];

#[track_caller]
fn assert_stopped(name: &str, code: i32, more: &[&str]) {
    let dir = stretching_to(4 << 10);
    dir.write("z.npy", "old");
    let before = dir.list();
    let args = SUM.iter().chain(more).chain(&["--force", "-o", "z.npy"]);
    let mut child = start(&mut dir.command(args));
    wait_for_growth(&dir, &mut child);
    signal(&child, name);
    let output = RunOutput::new(child.wait_with_output().expect("an exit"));
    assert_eq!(output.expect_error(code), "unishape: stopped; nothing was written\n");
    assert_eq!((dir.list(), dir.read("z.npy")), (before, b"old".into()));
}

#[test]
fn ctrl_c_keeps_the_existing_file() {
    assert_stopped("INT", 130, &[]);
}

#[test]
fn sigterm_and_sighup_exit_with_codes_of_their_own() {
    assert_stopped("TERM", 143, &["--memory", "1M", "--threads", "1"]);
    if !ignores_sighup() {
        assert_stopped("HUP", 129, &[]);
    }
}

/// A long reduction writes nothing before it is done.
#[test]
fn signals_stop_a_reduction() {
    for expr in ["sum(sin(float64(column) + row))", "max(softmax(float64(column) + row, 0), 0)"] {
        let dir = stretching_to(16 << 10);
        let before = dir.list();
        let mut child = start(&mut dir.command(["eval", expr, "column.npy", "row.npy", "-q", "-o", "z.npy"]));
        sleep(Duration::from_millis(500));
        signal(&child, "TERM");
        assert_eq!(wait_soon(&mut child).code(), Some(143), "{expr}");
        let message = RunOutput::new(child.wait_with_output().expect("an exit")).expect_error(143);
        assert_eq!(message, "unishape: stopped; nothing was written\n");
        assert_eq!(dir.list(), before);
    }
}

/// The bar advances while a reduction runs, which writes its few bytes at the end; in all of its stages.
#[cfg(target_os = "linux")]
#[test]
fn progress_of_a_reduction_is_shown() {
    for expr in ["sum(sin(float64(column) + row))", "max(softmax(float64(column) + row, 1), 1)"] {
        let dir = stretching_to(192);
        let line = format!(
            "{} eval '{expr}' column.npy row.npy --threads 1 --force -o z.npy",
            crate::support::BINARY
        );
        let Some(shown) = crate::support::on_terminal(&dir, &line, &[("TERM", "xterm")]) else { return };
        let percent = |part: &str| part.rsplit(' ').next().and_then(|number| number.parse::<u8>().ok());
        let mut percents: Vec<u8> = shown.split('%').filter_map(percent).collect();
        assert!(percents.is_sorted() && percents.iter().all(|&percent| percent <= 100), "{percents:?}");
        percents.dedup();
        // Drawn 20 times a second at most, from work that takes about a second.
        assert!(percents.iter().filter(|&&percent| 0 < percent && percent < 100).count() > 2, "{shown}");
    }
}

/// One thread computes a few blocks, each of which advances the bar.
#[cfg(target_os = "linux")]
#[test]
fn progress_of_a_short_reduction_is_shown() {
    let dir = TestDir::new();
    let line = format!("{} eval 'sum(sin(i))' i=0:100000 --threads 1 -o z.npy", crate::support::BINARY);
    let Some(shown) = crate::support::on_terminal(&dir, &line, &[("TERM", "xterm")]) else { return };
    let percent = |part: &str| part.rsplit(' ').next().and_then(|number| number.parse::<u8>().ok());
    let percents: Vec<u8> = shown.split('%').filter_map(percent).collect();
    assert!(percents.is_sorted() && percents.iter().all(|&percent| percent <= 100), "{percents:?}");
    assert!(percents.iter().filter(|&&percent| 0 < percent && percent < 100).count() > 2, "{shown}");
}

/// As under `nohup`.
#[test]
fn sighup_stays_ignored() {
    let dir = stretching_to(64);
    let args: Vec<&str> = SUM.iter().chain(&["-o", "z.npy"]).copied().collect();
    let mut child = start(&mut dir.limited("trap '' HUP", &args));
    wait_for_growth(&dir, &mut child);
    signal(&child, "HUP");
    RunOutput::new(child.wait_with_output().expect("an exit")).expect_success();
    assert_eq!(dir.read("z.npy").len(), 128 + (64 << 20));
}

#[test]
fn a_write_that_fails_in_the_middle_leaves_nothing() {
    for memory in ["1M", "256M"] {
        let dir = stretching_to(24);
        let before = dir.list();
        // Blocks of 512 bytes: a limit of 12 MiB.
        let limit = "trap '' XFSZ && ulimit -f 24576";
        let args: Vec<&str> = SUM.iter().chain(&["--memory", memory, "-o", "z.npy"]).copied().collect();
        let message = RunOutput::of(&mut dir.limited(limit, &args)).expect_error(4);
        assert_eq!(dir.list(), before);
        assert!(
            message.starts_with("unishape: z.npy: ") && message.ends_with("; nothing was written\n"),
            "{message}"
        );
        assert_eq!(message.lines().count(), 1, "{message}");
        // An existing file stays, also with --force.
        dir.write("z.npy", "old");
        let args: Vec<&str> = args.iter().chain(&["--force"]).copied().collect();
        RunOutput::of(&mut dir.limited(limit, &args)).expect_error(4);
        assert_eq!((dir.read("z.npy"), dir.list().len()), (b"old".into(), before.len() + 1));
    }
}

/// Found after all elements before it are written.
#[test]
fn an_invalid_last_element_leaves_nothing() {
    let dir = TestDir::new();
    let mut truths = zeros("'|b1'", &[6 << 20]);
    *truths.last_mut().expect("elements") = 7;
    dir.write("m.npy", truths);
    let message = dir.run(["eval", "m * 2", "m.npy", "-q", "--memory", "1M", "-o", "z.npy"]).expect_error(5);
    assert_eq!(message, "unishape: m.npy: element [6291455]: a bool is 0 or 1, not 7\n");
    assert_eq!(dir.list(), ["m.npy"]);
}

/// The status of a process that must end soon; it is killed otherwise.
fn wait_soon(child: &mut Child) -> ExitStatus {
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait().expect("a child") {
            return status;
        }
        sleep(Duration::from_millis(5));
    }
    child.kill().expect("killed");
    child.wait().expect("an exit")
}

/// Without a reader, opening the pipe blocks; with one that stops reading, a write does.
#[test]
fn signals_end_a_command_that_waits_for_the_reader_of_a_pipe() {
    for (name, number) in [("INT", 2), ("TERM", 15)] {
        for has_reader in [false, true] {
            let dir = stretching_to(4);
            assert!(dir.program("mkfifo", ["pipe"]).status().expect("mkfifo").success());
            let args = SUM.iter().chain(&["-o", "pipe"]);
            let mut child = start(&mut dir.command(args));
            let reader = has_reader.then(|| {
                let mut pipe = std::fs::File::open(dir.path("pipe")).expect("a pipe");
                pipe.read_exact(&mut [0; 1 << 10]).expect("the start of the result");
                pipe
            });
            sleep(Duration::from_millis(500));
            signal(&child, name);
            assert_eq!(wait_soon(&mut child).signal(), Some(number), "{name}, {has_reader}");
            let output = child.wait_with_output().expect("an exit");
            assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{name}, {has_reader}");
            drop(reader);
        }
    }
}

/// What a pipe or a device has taken cannot be taken back.
#[test]
fn errors_of_pipes_do_not_claim_that_nothing_was_written() {
    let dir = stretching_to(4);
    assert!(dir.program("mkfifo", ["pipe"]).status().expect("mkfifo").success());
    let child = start(&mut dir.command(SUM.iter().chain(&["-o", "pipe"])));
    let mut pipe = std::fs::File::open(dir.path("pipe")).expect("a pipe");
    pipe.read_exact(&mut [0; 1 << 10]).expect("the start of the result");
    drop(pipe);
    let message = RunOutput::new(child.wait_with_output().expect("an exit")).expect_error(4);
    assert!(message.starts_with("unishape: pipe: Broken pipe"), "{message}");
    assert!(!message.contains("nothing was written"), "{message}");
}

#[cfg(target_os = "linux")]
#[test]
fn devices_are_written_in_place() {
    let dir = TestDir::new();
    dir.write("a.npy", integers("<i8", &[1 << 17], |n| n as i64).file());
    let message = dir.run(["eval", "a + 1", "a.npy", "-q", "-o", "/dev/full"]).expect_error(4);
    assert!(message.starts_with("unishape: /dev/full: No space left on device"), "{message}");
    dir.run(["eval", "a + 1", "a.npy", "-q", "-o", "/dev/null"]).expect_success();
    assert_eq!(dir.list(), ["a.npy"]);
}

/// 256 MiB from 256 MiB, within `--memory` and the overhead of the program.
#[cfg(target_os = "linux")]
#[test]
fn bc10_files_larger_than_memory_are_computed_in_bounded_memory() {
    let dir = TestDir::new();
    let rows = 1 << 13;
    write_sparse(&dir, "a.npy", "'>f4'", &[rows, 8 << 10]);
    dir.write("row.npy", integers("<i4", &[8 << 10], |n| n as i64).file());
    // Converted, and so copied: 4 bytes per element, and twice 2 bytes for the result.
    let args = ["eval", "float32(row) - a", "a.npy", "row.npy", "--dtype", "float16", "-q", "-o", "z.npy"];
    let limit = if crate::support::can_measure_memory() { "ulimit -d 49152" } else { "true" };
    for memory in ["4M", "16M"] {
        let args: Vec<&str> =
            args.iter().chain(&["--memory", memory, "--threads", "2", "-f"]).copied().collect();
        RunOutput::of(&mut dir.limited(limit, &args)).expect_success();
        let size = std::fs::metadata(dir.path("z.npy")).expect("existing").len();
        assert_eq!(size, 128 + (rows as u64 * (8 << 10) * 2));
    }
}

/// Stacks as large as the address space, so that the system refuses every thread.
#[cfg(target_os = "linux")]
#[test]
fn refused_threads_are_an_error_or_not_needed() {
    let dir = stretching_to(4 << 10);
    let before = dir.list();
    let without_threads = |args: &[&str]| {
        let mut command = dir.command(SUM.iter().chain(&["--threads", "3"]).chain(args));
        RunOutput::of(command.env("RUST_MIN_STACK", (1_u64 << 47).to_string()))
    };
    let message = without_threads(&["-o", "z.npy"]).expect_error(4);
    assert!(message.starts_with("unishape: cannot start the thread that writes the result: "), "{message}");
    assert_eq!(dir.list(), before);
    if cfg!(feature = "zarr") {
        without_threads(&["-o", "z.zarr"]).expect_success();
    }
}

/// Writes a file of zeros that takes no space on the disk.
#[cfg(target_os = "linux")]
fn write_sparse(dir: &TestDir, name: &str, descr: &str, shape: &[usize]) {
    let head = zeros(descr, &[0]);
    let header = unishape_npy::Header::read(&mut &head[..]).expect("a header");
    let header = unishape_npy::Header { shape: shape.to_vec(), ..header };
    let mut file = std::fs::File::create(dir.path(name)).expect("a file");
    header.write(&mut file).expect("written");
    file.set_len(header.encoded_len().expect("short") + header.data_bytes().expect("small"))
        .expect("a sparse file");
}

/// 256 MiB reduced along any axis: the file is memory-mapped, and only accumulators are allocated.
#[cfg(target_os = "linux")]
#[test]
fn files_larger_than_memory_are_reduced_in_bounded_memory() {
    let dir = TestDir::new();
    let (rows, columns) = (1 << 13, 8 << 10);
    write_sparse(&dir, "a.npy", "'<f4'", &[rows, columns]);
    // Column-major: mapped, too.
    let header = "{'descr': '<f4', 'fortran_order': True, 'shape': (4096, 4096), }";
    let header = format!("\x01\0\x76\0{header:<117}\n");
    dir.write("f.npy", [b"\x93NUMPY", header.as_bytes()].concat());
    let file = std::fs::File::options().write(true).open(dir.path("f.npy")).expect("a file");
    file.set_len(128 + (64 << 20)).expect("a sparse file");
    let limit = if crate::support::can_measure_memory() { "ulimit -d 32768" } else { "true" };
    for (expr, elements) in [
        ("sum(a, axis=0)", columns),
        ("mean(a)", 1),
        ("max(abs(a), axis=1)", rows),
        ("sum(a.T, axis=0)", rows),
        ("max(softmax(a, 1), 1)", rows),
        ("sum(f, axis=0)", 4096),
    ] {
        let file = if expr == "sum(f, axis=0)" { "f.npy" } else { "a.npy" };
        let args = ["eval", expr, file, "-q", "--memory", "4M", "--threads", "2", "-f", "-o", "z.npy"];
        RunOutput::of(&mut dir.limited(limit, &args)).expect_success();
        let size = std::fs::metadata(dir.path("z.npy")).expect("existing").len();
        assert_eq!(size, 128 + elements as u64 * 4, "{expr}");
    }
}
