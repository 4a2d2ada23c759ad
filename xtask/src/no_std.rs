//! Checks of the core's compiled code: no std, and no panic.

use crate::command::{cargo, root, run};
use std::fs;

const MANIFEST: [&str; 4] = ["--manifest-path", "xtask/no_std/Cargo.toml", "--target-dir", "target/no_std"];

/// Builds a program without std on the core. It defines a panic handler; if std were linked, there would be
/// two.
pub(crate) fn check() -> Result<(), String> {
    let mut build = cargo(&["build"]);
    build.args(MANIFEST);
    run("the core without std", build)
}

/// Searches the optimised code of every function of the core for calls of the panic machinery.
pub(crate) fn check_panics() -> Result<(), String> {
    let title = "the core without panics";
    if can_panic(title, "core", &[])? {
        return Err(format!("{title}: the optimised code refers to core::panicking"));
    }
    // The check must detect a function that can panic.
    if !can_panic("a function that panics", "control", &["--features", "control"])? {
        return Err(format!("{title}: the check does not detect a function that panics"));
    }
    Ok(())
}

/// Whether the object file of the program refers to the panic machinery.
fn can_panic(title: &str, name: &str, features: &[&str]) -> Result<bool, String> {
    let object = root().join("target/no_std").join(name).with_extension("o");
    let mut compile = cargo(&["rustc", "--release", "--crate-type", "lib"]);
    compile.args(MANIFEST).args(features).arg("--").arg(format!("--emit=obj={}", object.display()));
    run(title, compile)?;
    let bytes = fs::read(&object).map_err(|error| format!("{}: {error}", object.display()))?;
    // The symbol table holds the names of external functions as plain text.
    Ok(bytes.windows(9).any(|name| name == b"panicking"))
}
