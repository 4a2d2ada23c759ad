//! Every chore of this project, as `cargo xtask NAME`.

mod bench;
mod command;
mod fuzz;
mod no_std;
mod prove;
mod test;
mod tools;

use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask NAME

  test    every check there is; sets up what it needs (a browser, a Python with NumPy)
  bench   the benchmarks, beside their rivals
  fuzz    bytes at random into every reader and the core; minutes a target, see fuzz --help
  prove   the formal proof in proof/, goal by goal; with --from-scratch the provers search anew";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let result = match args.next().as_deref() {
        Some("test") => test::run(),
        Some("bench") => bench::run(),
        Some("fuzz") => fuzz::run_with(&args.collect::<Vec<_>>()),
        Some("prove") => prove::run_with(&args.collect::<Vec<_>>()),
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
