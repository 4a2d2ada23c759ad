//! The commands of pages in docs, run one after another, print what the page says.

#![cfg(unix)]

use crate::support::{BINARY, TestDir};
use std::path::Path;

/// Pages, and the least number of commands in each.
const PAGES: [(&str, usize); 2] = [
    (include_str!("../../../../docs/command-line.md"), 9),
    (include_str!("../../../../docs/playground.md"), 1),
];

/// Commands of a page that begin with `$`, and the output after each.
fn commands(page: &str) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    for block in page.split("```console\n").skip(1) {
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
fn the_commands_of_pages_print_what_these_say() {
    let folder = Path::new(BINARY).parent().expect("a folder");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    for (page, least) in PAGES {
        let dir = TestDir::new();
        let commands = commands(page);
        assert!(commands.len() >= least, "{commands:?}");
        for (command, expected) in commands {
            let output = dir.program("sh", ["-c", &command]).env("PATH", &path).output().expect("a shell");
            let printed = [output.stdout, output.stderr].concat();
            assert_eq!(String::from_utf8_lossy(&printed), expected, "{command}");
        }
    }
}
