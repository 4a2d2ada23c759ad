//! The crate's tests, one module a topic.

mod adjoint;
mod errors;
mod for_each;
mod map;
mod operator;
mod support;
mod types;
