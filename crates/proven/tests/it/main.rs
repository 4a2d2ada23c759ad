//! The core beside the proven programs: the same results, the same errors in every field, the same
//! buffers, for every small shape and for random ones up to the limits of the machine.

#[cfg(proven)]
mod fold;
#[cfg(proven)]
mod numbers;
#[cfg(proven)]
mod stretch;
#[cfg(proven)]
mod support;

#[cfg(not(proven))]
#[test]
fn nothing_is_compared() {
    let missing = "UNISHAPE_PROVEN_C named no folder with the proven programs when this was built";
    assert!(std::env::var_os("CI").is_none(), "{missing}");
    println!("skipped: {missing}");
}
