//! Compiles the C programs extracted by Why3 and sets the cfg `proven`.
//!
//! The environment variable `UNISHAPE_PROVEN_C` names the folder of the C files. Without it, nothing is
//! compiled and the tests report that they are skipped.

use std::path::Path;
use std::{env, fs};

/// The shipped C of Broadcast on the tensors of SONNX, which `cargo xtask test` compares with what Why3 extracts.
const SONNX: &str = "../../sonnx/c/copbroadcast.c";

/// The element types that it is compiled for: a prefix of names, and the type in C.
const ELEMENTS: [(&str, &str); 2] = [("sonnx_u64", "uint64_t"), ("sonnx_u8", "uint8_t")];

/// The C files that `cargo xtask test` writes, without their extension.
const FILES: [&str; 3] = ["core", "common_usize", "common_extent"];

fn main() {
    println!("cargo::rustc-check-cfg=cfg(proven)");
    println!("cargo::rerun-if-env-changed=UNISHAPE_PROVEN_C");
    let Some(folder) = env::var_os("UNISHAPE_PROVEN_C") else { return };
    // The programs are proven for 64-bit integers only.
    assert_eq!(env::var("CARGO_CFG_TARGET_POINTER_WIDTH").as_deref(), Ok("64"), "not a 64-bit target");
    for name in FILES {
        compile(&Path::new(&folder).join(name).with_extension("c"), name, None);
    }
    println!("cargo::rerun-if-changed=../../sonnx/c/copbroadcast.h");
    for (name, element) in ELEMENTS {
        compile(Path::new(SONNX), name, Some(element));
    }
    println!("cargo::rustc-cfg=proven");
}

/// Compiles a C file. Its functions get the prefix `name_`, to avoid duplicate symbols.
fn compile(file: &Path, name: &str, element: Option<&str>) {
    println!("cargo::rerun-if-changed={}", file.display());
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut build = cc::Build::new();
    build.file(file).warnings(false);
    // The macros also rename fields and parameters of the same name, which is harmless.
    for function in functions(&text) {
        build.define(function, format!("{name}_{function}").as_str());
    }
    if let Some(element) = element {
        build.define("ELEMENT", element);
    }
    build.compile(&format!("unishape_proven_{name}"));
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
