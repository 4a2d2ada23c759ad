//! The targets, one module each.

pub(crate) mod array_text;
pub(crate) mod arrays;
pub(crate) mod common;
pub(crate) mod descr;
pub(crate) mod expr;
pub(crate) mod files;
pub(crate) mod mapped;
pub(crate) mod notation;
pub(crate) mod npy;
pub(crate) mod npz;
pub(crate) mod onnx;
pub(crate) mod stretch;
