//! Fuzz targets: properties that must hold for arbitrary bytes.
//!
//! A target is a function that takes bytes and panics on an error. To add one, write it in a module in
//! `targets`, add it to [`TARGETS`], and add at least one input to `fuzz/corpus/NAME`. `cargo xtask fuzz`
//! and `cargo xtask test` find targets by the folders in `fuzz/corpus`.
//!
//! BC-n are the numbered requirements in `docs/traceability.md`; E1 is the error for incompatible shapes
//! in the documents of SONNX, the working group for a safety-related ONNX profile.
//!
//! | target | the bytes are |
//! |---|---|
//! | `common` | shapes to be folded, with known and unknown sizes, under all rule sets |
//! | `stretch` | a shape, strides, a target shape and an index, possibly of inconsistent lengths |
//! | `arrays` | arrays with arbitrary strides, to be broadcast, copied and summed |
//! | `notation` | a shape as text |
//! | `expr` | an expression as text |
//! | `descr` | a dtype as text |
//! | `npy` | an `.npy` file, or the text of its header |
//! | `mapped` | a memory-mapped `.npy` file, and a shape to stretch it to |
//! | `npz` | an `.npz` file, or its members |
//! | `onnx` | an ONNX model, graph, node or tensor |

mod file;
mod source;
mod targets;

use targets::{arrays, common, descr, expr, mapped, notation, npy, npz, onnx, stretch};

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of the target and of its folder in `fuzz/corpus`.
    pub name: &'static str,
    /// Runs the target on an input. It panics on an error.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: [Target; 10] = [
    Target { name: "common", run: common::run },
    Target { name: "stretch", run: stretch::run },
    Target { name: "arrays", run: arrays::run },
    Target { name: "notation", run: notation::run },
    Target { name: "expr", run: expr::run },
    Target { name: "descr", run: descr::run },
    Target { name: "npy", run: npy::run },
    Target { name: "mapped", run: mapped::run },
    Target { name: "npz", run: npz::run },
    Target { name: "onnx", run: onnx::run },
];

/// The target of this name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}
