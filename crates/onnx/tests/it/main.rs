//! ONNX models made by hand, run, explained and rewritten.

mod broadcasting;
mod files;
mod fused;
mod operators;
mod refused;
mod rewritten;
mod support;
