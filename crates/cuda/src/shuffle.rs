//! Values of the threads of a warp, folded.

use std::fmt::Write;

/// Folds the values of neighbouring threads into the first one's.
pub(crate) fn shuffle(
    code: &mut String,
    threads: usize,
    value: &str,
    combine: impl Fn(&str, &str) -> String,
) {
    let mut distance = threads / 2;
    while distance > 0 {
        let _ = writeln!(code, "  {value} = {};", combine(value, &format!("from_lane({value}, {distance})")));
        distance /= 2;
    }
}
