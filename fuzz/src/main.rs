//! The program that libFuzzer drives: one for all targets, so that there is one to build. Which one
//! is meant says the environment variable `FUZZ_TARGET`; `cargo xtask fuzz` sets it.

#![no_main]

use std::sync::LazyLock;
use unishape_fuzz::{Target, target};

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    target(&name).unwrap_or_else(|| panic!("FUZZ_TARGET is '{name}', and there is no such target"))
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (TARGET.run)(bytes));
