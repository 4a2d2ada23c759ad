//! The crate's tests, one module a topic.

mod adjoint;
mod errors;
mod map;
mod notation;
mod operator;
mod support;
mod types;
