//! NumPy's files for [`unishape`]: `.npy` and `.npz`.
//!
//! ```
//! use unishape::Tensor;
//! use unishape_npy as npy;
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("array.npy");
//! let array = Tensor::from(ndarray::arr2(&[[1.5f32, -0.0], [f32::INFINITY, 4.0]]));
//! npy::write(&path, &array)?;
//! assert_eq!(npy::read(&path)?, array);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | for | use |
//! |---|---|
//! | whole arrays | [`read`](read()), [`write`](write()) |
//! | archives of arrays | [`read_npz`], [`write_npz`], [`NpzWriter`] |
//! | arrays larger than memory | [`RawArray::map`], [`RawArray::region`], [`TemporaryArray`] |
//! | files broadcast to files, for every dtype | [`RawArray::write_broadcast`] |
//! | shape and dtype alone | [`Header`] |
//!
//! Values are kept bit for bit in both directions. NumPy has no name for `bfloat16` and writes that of
//! ml_dtypes as `V2`, two opaque bytes. This crate reads `V2` as `bfloat16` and writes `bfloat16` as `<V2`.
//!
//! Files are untrusted. A header may promise any amount of data, so memory is allocated as data arrives.
//! Python objects are an error, since unpickling them runs code.
//!
//! Other crates do less: ndarray-npy 0.10 has no strings, `float16` or `bfloat16`, and allocates the whole
//! array before it reads data; npyz 0.9 parses a dtype instead of keeping its text, multiplies the sizes of a
//! shape unchecked, and allocates up to 4 GiB for a header.
//!
//! | module | contents |
//! |---|---|
//! | `header` | the header of an `.npy` file |
//! | `descr` | NumPy's descriptions of dtypes |
//! | `python_literal` | a parser of the Python literals in headers |
//! | `element` | elements encoded as bytes |
//! | `read`, `write` | whole `.npy` files |
//! | `npz` | archives of them |
//! | `discard_after_error` | a writer that discards everything after its first error |
//! | `raw_array` | arrays as the bytes of their file |
//! | `region` | regions of arrays, to compute with |
//! | `broadcast_bytes` | elements copied as bytes into a broadcast shape |
//! | `temporary_array` | arrays that are written to a temporary file in any order, and then memory-mapped |
//! | `mmap` | memory-mapped files; `unsafe` |
//! | `error` | errors |

mod broadcast_bytes;
mod descr;
mod discard_after_error;
mod element;
mod error;
mod header;
mod mmap;
mod npz;
mod python_literal;
mod raw_array;
mod read;
mod region;
mod temporary_array;
mod write;

pub use descr::Descr;
pub use error::NpyError;
pub use header::Header;
pub use npz::{NpzMember, NpzReader, NpzWriter, read_npz, write_npz};
pub use raw_array::{RawArray, WriteBroadcastError};
pub use read::{read, read_elements, read_from};
pub use region::Region;
pub use temporary_array::TemporaryArray;
pub use write::{write, write_elements, write_to};

/// Compiles and runs the README's examples.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
