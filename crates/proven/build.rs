//! Compiles the C programs extracted by Why3 and sets the cfg `proven`.
//!
//! The environment variable `UNISHAPE_PROVEN_C` names the folder of the C files. Without it, nothing is
//! compiled and the tests report that they are skipped.

use std::path::Path;
use std::{env, fs};

/// The C files that `cargo xtask test` writes, without their extension.
const FILES: [&str; 3] = ["core", "common_usize", "common_extent"];

fn main() {
    println!("cargo::rustc-check-cfg=cfg(proven)");
    println!("cargo::rerun-if-env-changed=UNISHAPE_PROVEN_C");
    let Some(folder) = env::var_os("UNISHAPE_PROVEN_C") else { return };
    // The programs are proven for 64-bit integers only.
    assert_eq!(env::var("CARGO_CFG_TARGET_POINTER_WIDTH").as_deref(), Ok("64"), "not a 64-bit target");
    for name in FILES {
        let file = Path::new(&folder).join(name).with_extension("c");
        println!("cargo::rerun-if-changed={}", file.display());
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let mut build = cc::Build::new();
        build.file(&file).warnings(false);
        // Prefix each function with its file's name to avoid duplicate symbols. The macros also rename
        // fields and parameters of the same name, which is harmless.
        for function in functions(&text) {
            build.define(function, format!("{name}_{function}").as_str());
        }
        build.compile(&format!("unishape_proven_{name}"));
    }
    println!("cargo::rustc-cfg=proven");
}

/// The names of the functions that a C file defines.
///
/// In Why3's output, the only lines with a letter in column 1 and a parenthesis start a function.
fn functions(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_alphabetic())).filter_map(|line| {
        let (before, _) = line.split_once('(')?;
        before.rsplit([' ', '*']).next()
    })
}
