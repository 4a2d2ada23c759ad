//! Generated kernels, compiled for the CPU, compute what the CPU executor does.

#![allow(unsafe_code)]

#[path = "../support/arrays.rs"]
mod arrays;
#[path = "../support/cases.rs"]
mod cases;
mod machine;

use cases::{Case, Prepared, compare, prepare};
use machine::Machine;

/// Computes all cases by generated kernels, and compares the results.
fn check(cases: &[Case]) {
    let prepared = prepare(cases);
    let machine = Machine::new(prepared.iter().map(|each| &each.plan));
    compare(&prepared, |Prepared { plan, arrays, .. }| {
        let addresses: Vec<u64> = arrays.iter().map(|array| array.address).collect();
        machine.run(plan, &addresses)
    });
}

#[test]
fn every_operation_of_every_dtype() {
    check(&cases::operations());
}

#[test]
fn every_cast() {
    check(&cases::casts());
}

#[test]
fn random_layouts() {
    check(&cases::layouts());
}

#[test]
fn reductions() {
    check(&cases::reductions());
}

#[test]
fn large_reductions() {
    check(&cases::large_reductions());
}
