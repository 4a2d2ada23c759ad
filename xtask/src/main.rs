//! Every chore of this project, as `cargo xtask NAME`.

mod bench;
mod command;
mod coverage;
mod extract;
mod fuzz;
mod mutants;
mod nightly;
mod no_std;
mod prove;
mod python;
mod sanitize;
mod test;
mod tools;
mod unproven;

use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask NAME

  test    every check there is; sets up what it needs (a browser, a Python with NumPy, Why3)
  bench   the benchmarks, beside their rivals; see bench --help
  prove   the formal proof in proof/, goal by goal; with --from-scratch the provers search anew

In test for a short while or not at all, since they take minutes:

  coverage  which lines and branches of the core its tests run through; nightly Rust
  fuzz      bytes at random into every reader and the core; see fuzz --help
  mutants   whether the tests notice changes to the core; with --all, elsewhere too
  sanitize  all tests under AddressSanitizer and ThreadSanitizer; nightly Rust";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let result = match args.next().as_deref() {
        Some("test") => test::run(),
        Some("bench") => bench::run_with(&args.collect::<Vec<_>>()),
        Some("fuzz") => fuzz::run_with(&args.collect::<Vec<_>>()),
        Some("prove") => prove::run_with(&args.collect::<Vec<_>>()),
        Some("coverage") => coverage::measure(),
        Some("mutants") => mutants::run_with(&args.collect::<Vec<_>>()),
        Some("sanitize") => sanitize::run_with(&args.collect::<Vec<_>>()),
        Some("help" | "--help" | "-h") => {
            println!("{USAGE}");
            Ok(())
        }
        Some(other) => Err(format!("there is no chore called '{other}'\n\n{USAGE}")),
        None => Err(USAGE.into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}
