//! `unishape man`: manual pages, from the definitions of the arguments.

use crate::error::CliError;
use crate::output;
use clap_mangen::Man;
use std::fs;
use std::path::{Path, PathBuf};

/// Writes the manual pages of a command and of all its subcommands to a directory.
pub(crate) fn run(mut command: clap::Command, dir: &Path, force: bool, json: bool) -> Result<(), CliError> {
    command.build();
    let mut pages = Vec::new();
    collect(&command, dir, &mut pages)?;
    fs::create_dir_all(dir).map_err(|error| output::write_error(dir, &error))?;
    let texts: Vec<(&Path, String)> =
        pages.iter().map(|(path, text)| (path.as_path(), text.clone())).collect();
    output::write_text_files(&texts, force)?;
    if json {
        let files: Vec<_> = pages.iter().map(|(path, _)| path.display().to_string()).collect();
        output::print_json(&serde_json::json!({ "files": files }))?;
    }
    Ok(())
}

fn collect(command: &clap::Command, dir: &Path, pages: &mut Vec<(PathBuf, String)>) -> Result<(), CliError> {
    let page = Man::new(command.clone());
    let path = dir.join(page.get_filename());
    let mut text = Vec::new();
    page.render(&mut text).map_err(|error| output::write_error(&path, &error))?;
    pages.push((path, String::from_utf8_lossy(&text).into_owned()));
    // `help` prints what the pages say.
    let subcommands = command.get_subcommands().filter(|of| !of.is_hide_set() && of.get_name() != "help");
    subcommands.into_iter().try_for_each(|subcommand| collect(subcommand, dir, pages))
}
