//! The commands of docs/command-line.md, run one after another, print what the page says.

#![cfg(unix)]

use crate::support::{BINARY, TestDir};
use std::path::Path;

const PAGE: &str = include_str!("../../../../docs/command-line.md");

/// Commands of the page that begin with `$`, and the output after each.
fn commands() -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    for block in PAGE.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap_or_default();
        for line in block.lines() {
            match (line.strip_prefix("$ "), commands.last_mut()) {
                (Some(command), _) => commands.push((command.into(), String::new())),
                (None, Some((_, output))) => *output += &format!("{line}\n"),
                (None, None) => panic!("output before a command: {line}"),
            }
        }
    }
    commands
}

#[test]
fn the_commands_of_the_page_print_what_it_says() {
    let dir = TestDir::new();
    let folder = Path::new(BINARY).parent().expect("a folder");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let commands = commands();
    assert!(commands.len() > 8, "{commands:?}");
    for (command, expected) in commands {
        let output = dir.program("sh", ["-c", &command]).env("PATH", &path).output().expect("a shell");
        let printed = [output.stdout, output.stderr].concat();
        assert_eq!(String::from_utf8_lossy(&printed), expected, "{command}");
    }
}
