//! Compiles the programs that Why3 has extracted to C, from the folder that `UNISHAPE_PROVEN_C` names,
//! and then sets the cfg `proven`. Without the variable there is nothing to compile, and the tests say
//! that they are skipped.

use std::path::Path;
use std::{env, fs};

/// The files, as `cargo xtask test` writes them.
const FILES: [&str; 3] = ["core", "common_usize", "common_extent"];

fn main() {
    println!("cargo::rustc-check-cfg=cfg(proven)");
    println!("cargo::rerun-if-env-changed=UNISHAPE_PROVEN_C");
    let Some(folder) = env::var_os("UNISHAPE_PROVEN_C") else { return };
    // The programs are about 64 bits; with another usize there is nothing to compare.
    assert_eq!(env::var("CARGO_CFG_TARGET_POINTER_WIDTH").as_deref(), Ok("64"), "not a 64-bit machine");
    for name in FILES {
        let file = Path::new(&folder).join(name).with_extension("c");
        println!("cargo::rerun-if-changed={}", file.display());
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let mut build = cc::Build::new();
        build.file(&file).warnings(false);
        // The files have functions in common, and names that others may have too: each file's functions
        // get its name in front. Fields and parameters of the same name are renamed with them.
        for function in functions(&text) {
            build.define(function, format!("{name}_{function}").as_str());
        }
        build.compile(&format!("unishape_proven_{name}"));
    }
    println!("cargo::rustc-cfg=proven");
}

/// The functions that a file defines. Why3 puts the beginning of each at the beginning of a line, and
/// nothing else that has a parenthesis.
fn functions(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_alphabetic())).filter_map(|line| {
        let (before, _) = line.split_once('(')?;
        before.rsplit([' ', '*']).next()
    })
}
