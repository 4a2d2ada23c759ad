//! Integration tests: models are built, run, explained and rewritten.

mod activations;
mod broadcasting;
mod declarations;
mod errors;
mod files;
mod fusion;
mod inference;
mod operators;
mod reductions;
mod rewrite;
mod rules;
mod support;
