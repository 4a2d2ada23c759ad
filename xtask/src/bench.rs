//! `cargo xtask bench`: the benchmarks, beside their rivals.

use crate::command::{self, cargo};

pub(crate) fn run() -> Result<(), String> {
    let operator = cargo(&["bench", "--package", "unishape", "--bench", "operator"]);
    command::run("broadcast beside ndarray's", operator)?;
    let map = cargo(&["bench", "--package", "unishape", "--bench", "map"]);
    command::run("map beside ndarray and a plain copy", map)?;
    let sum = cargo(&["bench", "--package", "unishape", "--bench", "sum"]);
    command::run("sum_to beside ndarray's sums", sum)
}
