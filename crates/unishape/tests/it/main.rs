//! Integration tests, one module per topic.

mod adjoint;
mod errors;
mod expr;
mod for_each;
mod map;
mod notation;
mod operator;
mod support;
mod types;
