//! libFuzzer's entry point for the target of this file's name.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| unishape_fuzz::run(env!("CARGO_BIN_NAME"), bytes));
