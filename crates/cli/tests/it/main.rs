//! The command as people run it: the built binary, its output, its exit code, and what it leaves behind.
//!
//! | module | holds |
//! |---|---|
//! | `shape`, `explain`, `usage` | one part of the command line each |
//! | `broadcast` | that results are what the specification says, bit for bit |
//! | `refused` | what `broadcast` does not even begin |
//! | `stopped` | what `broadcast` leaves behind when it is stopped or fails |
//! | `eval` | that results of `eval` are what a plain computation gives |
//! | `eval_words` | what is given on its command line, and what is wrong with it |
//! | `eval_printed` | results as text |
//! | `eval_stopped` | what `eval` leaves behind when it is stopped or fails |
//! | `onnx` | models run, explained and rewritten |
//! | `files` | arrays as the oracle sees them, and as files |
//! | `support` | the command run in a folder of its own |

mod broadcast;
mod eval;
mod eval_printed;
#[cfg(unix)]
mod eval_stopped;
mod eval_words;
mod explain;
mod files;
mod onnx;
mod refused;
mod shape;
#[cfg(unix)]
mod stopped;
mod support;
mod usage;
