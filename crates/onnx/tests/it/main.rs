//! Integration tests: models are built, run, explained and rewritten.

mod broadcasting;
mod errors;
mod files;
mod fusion;
mod operators;
mod reductions;
mod rewrite;
mod support;
