//! Values of the threads of a warp, folded.

use crate::body::Body;
use crate::types::c_type;
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

/// Folds the accumulators `v…` of neighbouring threads into the first one's.
pub(crate) fn shuffle_all(code: &mut String, threads: usize, body: &Body) {
    let mut distance = threads / 2;
    while distance > 0 {
        *code += "  {\n";
        for (number, result) in body.results.iter().enumerate() {
            let c_type = c_type(result.dtype);
            let _ = writeln!(code, "  const {c_type} w{number} = from_lane(v{number}, {distance});");
        }
        *code += &body.merge(&|number| format!("v{number}"), &|number| format!("w{number}"));
        *code += "  }\n";
        distance /= 2;
    }
}
