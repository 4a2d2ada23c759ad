//! The built command: its output, its exit code, and the files that it writes.
//!
//! | module | contents |
//! |---|---|
//! | `shape`, `explain`, `usage` | one part of the command line each |
//! | `broadcast` | results of `broadcast` equal those of the specification, bit for bit |
//! | `broadcast_errors` | errors of `broadcast` that are found before anything is written |
//! | `broadcast_interrupted` | `broadcast` leaves nothing behind when it is stopped or fails |
//! | `eval` | results of `eval` equal those of plain computations |
//! | `eval_arguments` | arguments of `eval`, and errors about them |
//! | `eval_axes` | `eval` with axes and reductions |
//! | `eval_print` | results of `eval` as text |
//! | `eval_interrupted` | `eval` leaves nothing behind when it is stopped or fails |
//! | `onnx` | models run, explained and rewritten |
//! | `onnx_page` | the page about a model, in a browser |
//! | `overwrite` | several processes that write the same new file |
//! | `killed` | signals that end the process at once, and truncated inputs |
//! | `formats` | arrays in files of other libraries: `.npz`, `.safetensors`, raw binary, text, pipes |
//! | `zarr` | Zarr stores in and out (feature `zarr`) |
//! | `documentation` | the commands of docs/command-line.md |
//! | `exit_codes` | exit codes and JSON of every subcommand |
//! | `arrays` | test arrays, as tensors of the oracle and as files |
//! | `support` | runs the command in a temporary directory |

mod arrays;
mod broadcast;
mod broadcast_errors;
#[cfg(unix)]
mod broadcast_interrupted;
mod documentation;
mod eval;
mod eval_arguments;
mod eval_axes;
#[cfg(unix)]
mod eval_interrupted;
mod eval_print;
mod exit_codes;
mod explain;
mod formats;
#[cfg(target_os = "linux")]
mod killed;
mod onnx;
#[cfg(unix)]
mod onnx_page;
mod overwrite;
mod shape;
mod support;
mod usage;
#[cfg(feature = "zarr")]
mod zarr;
