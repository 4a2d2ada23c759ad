//! `cargo xtask platforms`: tests on other CPUs, under QEMU, and a build for WebAssembly.
//!
//! The standard libraries and linkers come from Debian testing (`debian`), so that a machine needs none of them.

use crate::command::{self, cargo, root};
use crate::debian::Debian;
use clap::ValueEnum;
use std::path::PathBuf;

/// Options of `cargo xtask platforms`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Platforms to test; default: all but `native`.
    platforms: Vec<Platform>,
    /// Test these packages only.
    #[arg(long, short)]
    package: Vec<String>,
    /// The folder of a Debian testing system, which is installed if it is not there.
    #[arg(long, default_value = "target/platforms/debian")]
    debian: PathBuf,
    /// Arguments of the test programs, after `--`.
    #[arg(last = true)]
    args: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Platform {
    /// The machine that runs this, with its own toolchain.
    Native,
    /// 64-bit ARM, which has NEON.
    Aarch64,
    /// 32-bit sizes and pointers; runs on x86-64 without QEMU.
    I686,
    /// Big-endian.
    S390x,
    /// WebAssembly in browsers; built, not run.
    Wasm32,
}

/// What is tested: everything but the programs, diagrams, Zarr and CUDA, whose tests need more than Rust.
const PACKAGES: [&str; 11] = [
    "unishape-core",
    "unishape-simd",
    "unishape-vecmath",
    "unishape-kernels",
    "unishape-jit",
    "unishape-engine",
    "unishape",
    "unishape-atomic-file",
    "unishape-npy",
    "unishape-files",
    "unishape-onnx",
];

/// What WebAssembly can have: no files, no threads.
const WASM_PACKAGES: [&str; 3] = ["unishape-core", "unishape-explain", "unishape-onnx"];

/// A platform of Linux, by its names in Rust, in Debian, and in GNU's and QEMU's programs.
struct Linux {
    target: &'static str,
    architecture: &'static str,
    linker: &'static str,
    compiler: &'static str,
    headers: &'static str,
    runner: Option<&'static str>,
}

impl Platform {
    fn linux(self) -> Option<Linux> {
        match self {
            Platform::Native | Platform::Wasm32 => None,
            Platform::Aarch64 => Some(Linux {
                target: "aarch64-unknown-linux-gnu",
                architecture: "arm64",
                linker: "aarch64-linux-gnu-gcc",
                compiler: "gcc-aarch64-linux-gnu",
                headers: "libc6-dev-arm64-cross",
                runner: Some("qemu-aarch64"),
            }),
            Platform::I686 => Some(Linux {
                target: "i686-unknown-linux-gnu",
                architecture: "i386",
                linker: "i686-linux-gnu-gcc",
                compiler: "gcc-i686-linux-gnu",
                headers: "libc6-dev-i386-cross",
                runner: None,
            }),
            Platform::S390x => Some(Linux {
                target: "s390x-unknown-linux-gnu",
                architecture: "s390x",
                linker: "s390x-linux-gnu-gcc",
                compiler: "gcc-s390x-linux-gnu",
                headers: "libc6-dev-s390x-cross",
                runner: Some("qemu-s390x"),
            }),
        }
    }
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let all = [Platform::Aarch64, Platform::I686, Platform::S390x, Platform::Wasm32];
    let platforms = if options.platforms.is_empty() { &all[..] } else { &options.platforms };
    for &platform in platforms {
        match platform {
            Platform::Native => native(options)?,
            Platform::Wasm32 => wasm32(options)?,
            _ => {
                if let Some(linux) = platform.linux() {
                    emulated(&linux, options)?;
                }
            }
        }
    }
    Ok(())
}

/// The packages to test or build.
fn selected<'o>(options: &'o Options, all: &'o [&'o str]) -> Vec<&'o str> {
    let chosen = options.package.iter().map(String::as_str);
    let names: Vec<&str> = if options.package.is_empty() { all.to_vec() } else { chosen.collect() };
    names.into_iter().flat_map(|name| ["--package", name]).collect()
}

fn native(options: &Options) -> Result<(), String> {
    let mut tests = cargo(&["test"]);
    tests.args(selected(options, &PACKAGES)).arg("--").args(&options.args);
    // In CI, tests that need more than Rust, such as NumPy, fail without it: `cargo xtask test` runs those.
    tests.env_remove("CI");
    command::run("tests on this platform", tests)
}

fn debian(options: &Options, architectures: &[&str], packages: &[&str]) -> Result<Debian, String> {
    let debian = Debian::set_up(root().join(&options.debian))?;
    let mut all = vec!["ca-certificates", "rustc", "cargo", "gcc", "libc6-dev"];
    all.extend_from_slice(packages);
    debian.install(architectures, &all)?;
    Ok(debian)
}

fn wasm32(options: &Options) -> Result<(), String> {
    let debian = debian(options, &[], &["libstd-rust-dev-wasm32", "lld"])?;
    let target = ["--target", "wasm32-unknown-unknown", "--target-dir", "target/platforms/wasm32"];
    let linker = "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld";
    let mut build = debian.command(linker, &["cargo", "build"]);
    build.args(target).args(selected(options, &WASM_PACKAGES));
    command::run("a build for WebAssembly", build)
}

fn emulated(linux: &Linux, options: &Options) -> Result<(), String> {
    let Linux { target, architecture, linker, compiler, headers, runner } = *linux;
    let library = format!("libstd-rust-dev:{architecture}");
    let mut packages = vec![compiler, headers, &library];
    packages.extend(runner.map(|_| "qemu-user"));
    let debian = debian(options, &[architecture], &packages)?;
    let variable = format!("CARGO_TARGET_{}", target.to_uppercase().replace('-', "_"));
    let mut variables = vec![format!("{variable}_LINKER={linker}")];
    if let Some(runner) = runner {
        variables.push(format!("{variable}_RUNNER={runner}"));
        // For tests that start themselves again.
        variables.push(format!("UNISHAPE_RUNNER={runner}"));
        // QEMU is slow: a twentieth of the arguments in the accuracy tests of `unishape-vecmath`.
        variables.push("UNISHAPE_ACCURACY=0.05".to_owned());
    }
    let [first, rest @ ..] = &variables[..] else { return Ok(()) };
    let mut tests = debian.command(first, &[]);
    tests.args(rest).args(["cargo", "test", "--no-fail-fast", "--target", target]);
    // Unit tests and integration tests: the examples in the documentation are the same everywhere.
    tests.args(["--tests", "--target-dir", &format!("target/platforms/{target}")]);
    tests.args(selected(options, &PACKAGES)).arg("--").args(&options.args);
    command::run(&format!("tests on {target}"), tests)
}
