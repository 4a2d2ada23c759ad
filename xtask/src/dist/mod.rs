//! `cargo xtask dist`: what a release consists of besides crates, in `target/dist`. Nothing is published.
//!
//! | part | file |
//! |---|---|
//! | `wheel` | the Python package for this platform, for every Python from 3.11 on |
//! | `sdist` | its sources, with the locked versions of all crates |
//! | `command` | the command with manual pages, completions and a list of its components |
//! | `musl` | wheel and command for systems with musl, such as Alpine Linux; requires root |
//! | `test` | tests of the wheel in an environment of its own |

mod command_archive;
mod musl;
mod musl_python;
mod python_package;
mod stage;
mod wheel_tests;

use crate::command::root;
use clap::ValueEnum;
use std::fs;
use std::path::PathBuf;

/// Where everything is written.
const FOLDER: &str = "target/dist";

/// Options of `cargo xtask dist`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// What to make; default: everything but `musl`.
    parts: Vec<Part>,
    /// The folder of a Debian testing system for musl and for tests, which is installed if it is not there.
    #[arg(long, default_value = "target/platforms/debian")]
    debian: PathBuf,
    /// Build the command twice, in different folders, and compare the bytes.
    #[arg(long)]
    twice: bool,
    #[command(flatten)]
    test: wheel_tests::Options,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Wheel,
    Sdist,
    Command,
    Musl,
    Test,
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let all = [Part::Wheel, Part::Sdist, Part::Command, Part::Test];
    let parts = if options.parts.is_empty() { &all[..] } else { &options.parts };
    let folder = root().join(FOLDER);
    fs::create_dir_all(&folder).map_err(|error| format!("{FOLDER}: {error}"))?;
    for part in parts {
        match part {
            Part::Wheel => python_package::wheel(&folder)?,
            Part::Sdist => python_package::sdist(&folder)?,
            Part::Command => command_archive::make(&folder, options.twice, None)?,
            Part::Musl => {
                let builder = python_package::musl_wheel(&folder, &root().join(&options.debian))?;
                command_archive::make(&folder, options.twice, Some(&builder))?;
            }
            Part::Test => wheel_tests::run(&folder, &root().join(&options.debian), &options.test)?,
        }
    }
    Ok(())
}
