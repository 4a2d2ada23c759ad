//! The `unishape` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(unishape_cli::run(std::env::args_os()))
}
