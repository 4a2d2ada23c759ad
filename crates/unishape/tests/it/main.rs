//! The crate's tests, one module a topic.

mod adjoint;
mod errors;
mod operator;
mod support;
mod types;
