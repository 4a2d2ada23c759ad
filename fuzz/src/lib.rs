//! Fuzz targets: properties that must hold for arbitrary bytes.
//!
//! A target is a function that takes bytes and panics if a property does not hold. To add one, write a module
//! in `targets`, add it to [`TARGETS`], copy a program in `fuzz_targets` and its section in `Cargo.toml`, and
//! put inputs into `corpus/NAME`.
//!
//! BC-n are the numbered requirements in `docs/traceability.md`; E1 is the error for incompatible shapes
//! in the documents of SONNX, the working group for a safety-related ONNX profile.
//!
//! | target | the bytes are |
//! |---|---|
//! | `common` | shapes to be folded, with known and unknown sizes, under all rule sets |
//! | `stretch` | a shape, strides, a target shape and an index, possibly of inconsistent lengths |
//! | `arrays` | arrays with arbitrary strides, to be broadcast, copied and summed |
//! | `array_text` | a number, a range or a list as text |
//! | `notation` | a shape as text |
//! | `expr` | an expression as text |
//! | `descr` | a dtype as text |
//! | `npy` | an `.npy` file, or the text of its header |
//! | `mapped` | a memory-mapped `.npy` file, and a shape to stretch it to |
//! | `npz` | an `.npz` file, or its members |
//! | `files` | the name of an array in a file, a table of numbers, a file of tensors, an archive |
//! | `onnx` | an ONNX model, graph, node or tensor |
//!
//! `docs/testing.md` lists the readers and parsers that have no target.

mod file;
mod source;
mod targets;

use targets::{array_text, arrays, common, descr, expr, files, mapped, notation, npy, npz, onnx, stretch};

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct FuzzTarget {
    /// The name of the target and of its folder in `fuzz/corpus`.
    pub name: &'static str,
    /// Runs the target on an input. It panics on an error.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: [FuzzTarget; 12] = [
    FuzzTarget { name: "common", run: common::run },
    FuzzTarget { name: "stretch", run: stretch::run },
    FuzzTarget { name: "arrays", run: arrays::run },
    FuzzTarget { name: "array_text", run: array_text::run },
    FuzzTarget { name: "notation", run: notation::run },
    FuzzTarget { name: "expr", run: expr::run },
    FuzzTarget { name: "descr", run: descr::run },
    FuzzTarget { name: "npy", run: npy::run },
    FuzzTarget { name: "mapped", run: mapped::run },
    FuzzTarget { name: "npz", run: npz::run },
    FuzzTarget { name: "files", run: files::run },
    FuzzTarget { name: "onnx", run: onnx::run },
];

/// Runs the target of this name.
///
/// # Panics
/// If the target finds a defect, or if no target has this name.
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.unwrap_or_else(|| panic!("no target is named '{name}'")).run)(bytes);
}
