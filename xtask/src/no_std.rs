//! What the core promises of its compiled code: no std, and no panic.

use crate::command::{cargo, root, run};
use std::fs;

const MANIFEST: [&str; 4] = ["--manifest-path", "xtask/no_std/Cargo.toml", "--target-dir", "target/no_std"];

/// Builds a program without std on the core. It has a panic handler of its own, and with std there
/// would be two.
pub(crate) fn build() -> Result<(), String> {
    let mut build = cargo(&["build"]);
    build.args(MANIFEST);
    run("the core without std", build)
}

/// Looks into the optimised code of every function of the core for the machinery of panics.
pub(crate) fn cannot_panic() -> Result<(), String> {
    let what = "the core without panics";
    if can_panic(what, "core", &[])? {
        return Err(format!("{what}: the optimised code refers to core::panicking"));
    }
    // The check is worth something only if it sees a panic where there is one.
    if !can_panic("a control that panics", "control", &["--features", "control"])? {
        return Err(format!("{what}: the check does not see the control's panic"));
    }
    Ok(())
}

/// Whether the object file of the program refers to the machinery.
fn can_panic(what: &str, name: &str, features: &[&str]) -> Result<bool, String> {
    let object = root().join("target/no_std").join(name).with_extension("o");
    let mut compile = cargo(&["rustc", "--release", "--crate-type", "lib"]);
    compile.args(MANIFEST).args(features).arg("--").arg(format!("--emit=obj={}", object.display()));
    run(what, compile)?;
    let bytes = fs::read(&object).map_err(|error| format!("{}: {error}", object.display()))?;
    // Names of functions in other crates stand in the file as they are.
    Ok(bytes.windows(9).any(|name| name == b"panicking"))
}
