//! What the compiler says about operands that cannot work: which one it is, and what to write instead.
//!
//! A package with wrong code is checked by cargo. Its comments have parts of the messages, so that the test does not
//! depend on how a version of the compiler lays them out.

#![cfg(feature = "map")]

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

const CODE: &str = include_str!("messages/operands.rs");

/// Line and text of every error, with its labels and notes.
fn errors(folder: &Path) -> Vec<(u64, String)> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["check", "--offline", "--quiet", "--message-format=json"])
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .output()
        .unwrap();
    let messages = String::from_utf8(output.stdout).unwrap();
    let messages = messages.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let errors = messages.filter(|message| message["message"]["level"] == "error").filter_map(|message| {
        let message = &message["message"];
        let span = message["spans"].as_array()?.iter().find(|span| span["is_primary"] == true)?;
        Some((span["line_start"].as_u64()?, message["rendered"].as_str()?.to_owned()))
    });
    let errors: Vec<_> = errors.collect();
    assert!(!errors.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    errors
}

#[test]
fn messages_say_what_to_write_instead() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("messages");
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::create_dir_all(folder.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = \"messages\"\nedition = \"2024\"\n\n[dependencies]\nndarray = \"*\"\n\
         unishape = {{ path = {own:?}, default-features = false, features = [\"map\"] }}\n\n[workspace]\n"
    );
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::copy(own.join("../../Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    fs::write(folder.join("src/main.rs"), CODE).unwrap();

    let errors = errors(&folder);
    let mut with_messages = Vec::new();
    for (line, code) in (1..).zip(CODE.lines()) {
        let Some((_, comment)) = code.split_once("//~ ") else { continue };
        with_messages.push(line);
        let texts: Vec<&str> =
            errors.iter().filter(|(at, _)| *at == line).map(|(_, text)| &text[..]).collect();
        for expected in comment.split(" //~ ") {
            // The line with its comment is part of a text.
            let says = |text: &&str| text.replace(code.trim(), "").contains(expected);
            assert!(texts.iter().any(says), "line {line}: no {expected:?} in\n{}", texts.join("\n"));
        }
    }
    for (line, text) in errors {
        assert!(with_messages.contains(&line), "line {line} must compile:\n{text}");
    }
}
