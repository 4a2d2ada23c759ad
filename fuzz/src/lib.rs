//! What must hold for any bytes whatever.
//!
//! A target is a function that takes bytes and panics where something is wrong. To add one, write it in
//! a module of its own, add it to [`TARGETS`], and put an input or two into `fuzz/corpus/NAME`; the rest
//! (`cargo xtask fuzz`, `cargo xtask test`) finds it by that folder.
//!
//! | target | bytes are |
//! |---|---|
//! | `common` | shapes to be folded, with sizes known or not, under all rules |
//! | `stretch` | a shape, strides, a target shape and an index, of lengths that may not fit |
//! | `arrays` | arrays with odd strides, to be broadcast, copied and summed |
//! | `notation` | a shape as text |
//! | `expr` | an expression as text |
//! | `descr` | an element type as text |
//! | `npy` | an `.npy` file, or the text of its header |
//! | `mapped` | an `.npy` file that stays in its file, and a shape to stretch it to |
//! | `npz` | an `.npz` file, or its members |
//! | `onnx` | an ONNX model, or its graph, or a node of it, or a tensor |

mod file;
mod source;
mod targets;

use targets::{arrays, common, descr, expr, mapped, notation, npy, npz, onnx, stretch};

/// Something to be fuzzed.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// What it and the folder of its inputs are called.
    pub name: &'static str,
    /// Panics where the bytes lead to something wrong.
    pub run: fn(&[u8]),
}

/// All of them.
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
