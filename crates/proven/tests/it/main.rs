//! Compares the core with the proven programs, for small and random shapes.
//!
//! Results, every field of every error, and the contents of all buffers must be equal.

#[cfg(proven)]
mod fold;
#[cfg(proven)]
mod numbers;
#[cfg(proven)]
mod sonnx;
#[cfg(proven)]
mod stretch;
#[cfg(proven)]
mod support;

#[cfg(not(proven))]
#[test]
fn skipped_without_the_proven_programs() {
    let missing = "UNISHAPE_PROVEN_C was not set to the folder of the proven programs at build time";
    assert!(std::env::var_os("CI").is_none(), "{missing}");
    println!("skipped: {missing}");
}
