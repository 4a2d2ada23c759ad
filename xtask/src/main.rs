//! Development tasks of this repository: `cargo xtask NAME`.

mod assumptions;
mod bench;
mod command;
mod coverage;
mod debian;
mod dist;
mod equivalence;
mod extract;
mod files;
mod fuzz;
mod gpu;
mod install;
mod mutants;
mod nightly;
mod no_std;
mod package;
mod platforms;
mod policy;
mod prove;
mod python;
mod sanitize;
mod site;
mod sonnx;
mod test;
mod tools;
mod workspace;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Development tasks of this repository.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run every check; installs what it needs (a browser, Python packages, Why3, cargo-fuzz).
    Test,
    /// Run the benchmarks and write docs/benchmarks.md.
    #[command(disable_help_flag = true)]
    Bench {
        /// `python`, `sweep`, `reduce` or `onnx` for the benchmarks in Python; everything else goes to the benchmark
        /// program.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Replay the formal proof in proof/ (part of `test`).
    Prove(prove::Options),
    /// Compare the compiled core with the proven programs by symbolic execution, for all sizes at small ranks.
    Equivalence(equivalence::Options),
    /// Measure line, region and branch coverage of the core; requires nightly Rust.
    Coverage,
    /// Fuzz the readers, the parsers and the core with cargo-fuzz (for seconds in `test`).
    Fuzz(fuzz::Options),
    /// Check with cargo-mutants that the tests detect changes to the code.
    Mutants(mutants::Options),
    /// Package every published crate, and test the packages.
    Package(package::Options),
    /// Make the Python packages and the archive of the command for a release, in target/dist.
    Dist(dist::Options),
    /// Check licences, sources, versions and advisories of dependencies with cargo-deny.
    Deny,
    /// Compare the public APIs with those of an earlier commit, with cargo-semver-checks.
    Semver(policy::SemverOptions),
    /// Check that no newer compiler is needed than `rust-version` says.
    Msrv,
    /// Lint the workflows in .github.
    Workflows,
    /// Test on other CPUs under QEMU, and build for WebAssembly, in a Debian testing system; requires root.
    Platforms(platforms::Options),
    /// Pack the tests of CUDA kernels for a machine with a GPU, or compile all kernels without one.
    Gpu(gpu::Options),
    /// Run all tests under AddressSanitizer and ThreadSanitizer; requires nightly Rust.
    Sanitize(sanitize::Options),
    /// Extract and test the C for SONNX, and render its specification as HTML and PDF, in target/sonnx.
    Sonnx,
    /// Build the site, with the playground, into target/site.
    Site(site::Options),
}

fn main() -> ExitCode {
    let result = match Cli::parse().task {
        Task::Test => test::run(),
        Task::Bench { args } => bench::run(&args),
        Task::Prove(options) => prove::run(&options),
        Task::Equivalence(options) => equivalence::run_task(&options),
        Task::Coverage => coverage::run(),
        Task::Fuzz(options) => fuzz::run(&options),
        Task::Mutants(options) => mutants::run(&options),
        Task::Package(options) => package::run(&options),
        Task::Dist(options) => dist::run(&options),
        Task::Deny => policy::deny(),
        Task::Semver(options) => policy::semver(&options),
        Task::Msrv => policy::msrv(),
        Task::Workflows => policy::workflows(),
        Task::Platforms(options) => platforms::run(&options),
        Task::Gpu(options) => gpu::run(&options),
        Task::Sanitize(options) => sanitize::run(&options),
        Task::Sonnx => sonnx::run_task(),
        Task::Site(options) => site::run_task(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::{CommandFactory, Parser};

    #[test]
    fn command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn bench_arguments_are_passed_through() {
        let cli = Cli::try_parse_from(["xtask", "bench", "--quick", "python", "--help"]).unwrap();
        assert!(matches!(cli.task, super::Task::Bench { args } if args == ["--quick", "python", "--help"]));
    }

    #[test]
    fn invalid_arguments_are_rejected() {
        for args in [
            &["unknown"][..],
            &[],
            &["test", "more"],
            &["fuzz", "--seconds", "x"],
            &["fuzz", "--input", "file"],
            &["prove", "file.mlw"],
            &["sanitize", "memory"],
        ] {
            let all = ["xtask"].iter().chain(args);
            assert!(Cli::try_parse_from(all).is_err(), "{args:?}");
        }
    }
}
