//! `cargo xtask gpu`: tests of CUDA kernels that need a GPU, or much time.

use crate::command::{self, cargo, output, root};
use std::fs;
use std::path::Path;

/// Options of `cargo xtask gpu`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Compile the kernel of every operation, dtype and access class with NVRTC; needs no GPU.
    #[arg(long)]
    compile_all: bool,
}

/// The program that runs on a machine with a GPU.
const PROGRAM: &str = "target/gpu/unishape-gpu";

pub(crate) fn run(options: &Options) -> Result<(), String> {
    if options.compile_all {
        let mut tests = cargo(&["test", "-p", "unishape-cuda", "--test", "nvrtc", "--", "--nocapture"]);
        // Without NVRTC the tests fail, as in CI.
        tests.env("UNISHAPE_COMPILE_ALL", "1").env("CI", "1");
        return command::run("all kernels compiled by NVRTC", tests);
    }
    let build = ["test", "-p", "unishape-cuda", "--test", "gpu", "--no-run", "--message-format=json"];
    let messages = output("tests for a GPU", cargo(&build))?;
    let executable = messages.lines().rev().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(message["executable"].as_str()?.to_owned())
    });
    let executable = executable.ok_or("cargo does not say where the tests are")?;
    let program = root().join(PROGRAM);
    let copy = || {
        fs::create_dir_all(program.parent().unwrap_or(Path::new(".")))?;
        fs::copy(&executable, &program)
    };
    copy().map_err(|error| format!("{PROGRAM}: {error}"))?;
    println!(
        "{PROGRAM} needs no other file. On a machine with a GPU, run in the repository root:\n\n  \
         UNISHAPE_SITE_PACKAGES=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()[\"purelib\"])') \\\n  \
         UNISHAPE_GPU_BENCH=1 {PROGRAM} --nocapture --test-threads=1"
    );
    Ok(())
}
