//! Checks of the core's compiled code: no std, and no panic.

use crate::command::{cargo, command, output, root, run};

const MANIFEST: [&str; 4] = ["--manifest-path", "xtask/no_std/Cargo.toml", "--target-dir", "target/no_std"];

/// Builds a program without std on the core. It defines a panic handler; if std were linked, there would be
/// two.
pub(crate) fn check() -> Result<(), String> {
    let mut build = cargo(&["build"]);
    build.args(MANIFEST);
    run("the core without std", build)
}

/// Checks that the optimised code of every function of the core cannot panic: it refers to nothing outside but functions of
/// [`MEMORY`] and of `core::fmt`. What panics is somewhere else: `core::panicking`, `core::option::unwrap_failed`, and so on.
pub(crate) fn check_panics() -> Result<(), String> {
    let title = "the core without panics";
    let others = foreign(title, "core", &[])?;
    if !others.is_empty() {
        return Err(format!("{title}: the optimised code refers to {}", others.join(", ")));
    }
    // The check must detect functions that can panic.
    for control in CONTROLS {
        let title = format!("a function that panics: {control}");
        if foreign(&title, control, &["--features", control])?.is_empty() {
            return Err(format!("{title}: the check does not detect it"));
        }
    }
    Ok(())
}

/// Features of the program, each with a function that can panic in another way.
const CONTROLS: [&str; 5] = ["copy", "expect", "index", "range", "unwrap"];

/// Functions for blocks of memory, which compilers call.
const MEMORY: [&str; 5] = ["memset", "memcpy", "memmove", "memcmp", "bcmp"];

/// The functions outside the object file of the program that may panic.
fn foreign(title: &str, name: &str, features: &[&str]) -> Result<Vec<String>, String> {
    let object = root().join("target/no_std").join(name).with_extension("o");
    let mut compile = cargo(&["rustc", "--quiet", "--release", "--crate-type", "lib"]);
    compile.args(MANIFEST).args(features).arg("--").arg(format!("--emit=obj={}", object.display()));
    run(title, compile)?;
    // Part of every toolchain that links: binutils, or LLVM on macOS.
    let mut symbols = command("nm", &["--demangle", "--undefined-only"]);
    symbols.arg(&object);
    let symbols = output("nm", symbols)?;
    Ok(undefined(&symbols).filter(|name| !is_harmless(name)).map(str::to_owned).collect())
}

/// The symbols that `nm` lists: `                 U memset`.
fn undefined(symbols: &str) -> impl Iterator<Item = &str> {
    symbols.lines().map(|line| line.trim_start().trim_start_matches("U ")).filter(|name| !name.is_empty())
}

fn is_harmless(name: &str) -> bool {
    let formats = |path: &str| path.starts_with("core::fmt::");
    // `<core::fmt::Formatter>::pad`, `<usize as core::fmt::Display>::fmt`.
    let method = name.strip_prefix('<').is_some_and(|rest| {
        let rest = rest.split_once(" as ").map_or(rest, |(_, interface)| interface);
        formats(rest)
    });
    // C's names start with an underscore on macOS.
    formats(name) || method || MEMORY.contains(&name.strip_prefix('_').unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::{is_harmless, undefined};

    #[test]
    fn only_formats_and_memory_are_harmless() {
        let harmless = "                 U memset\n U _memcpy\n U core::fmt::write\n \
                        U <core::fmt::Formatter>::pad\n U <usize as core::fmt::Display>::fmt\n";
        assert_eq!(undefined(harmless).count(), 5);
        assert!(undefined(harmless).all(is_harmless));
        for name in [
            "core::panicking::panic_bounds_check",
            "core::panicking::assert_failed::<core::fmt::Arguments>",
            "core::option::unwrap_failed",
            "<core::cell::RefCell<u8>>::borrow",
            "memory",
        ] {
            assert!(!is_harmless(name), "{name}");
        }
    }
}
