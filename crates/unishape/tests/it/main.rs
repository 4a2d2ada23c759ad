//! The crate's tests, one module a topic.

mod adjoint;
mod errors;
mod expr;
mod map;
mod notation;
mod operator;
mod support;
mod types;
