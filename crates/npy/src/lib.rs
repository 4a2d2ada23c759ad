//! NumPy's files: `.npy` with one array, `.npz` with several.
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
//! Values come through bit for bit, in either direction. NumPy has no name for `bfloat16`: it writes
//! the one of ml_dtypes as `V2`, two opaque bytes. So `V2` is read as `bfloat16` here, and
//! `bfloat16` is written as `<V2`.
//!
//! Files are not trusted. A header may promise anything: memory is taken as data arrives. Python
//! objects are refused, since unpickling them runs code.
//!
//! The crates there are do less of this: ndarray-npy 0.10 has no strings, `float16` or `bfloat16`,
//! and takes memory for the whole array on the word of the header; npyz 0.9 keeps an element type
//! as a structure rather than as the text it came from, multiplies the sizes of a shape unchecked,
//! and takes up to 4 GiB for a header on its word.
//!
//! | module | holds |
//! |---|---|
//! | `header` | what a file says about its array |
//! | `descr` | element types as NumPy describes them |
//! | `literal` | the Python literals that headers are made of |
//! | `element` | elements as bytes |
//! | `read`, `write` | whole `.npy` files |
//! | `npz` | archives of them |
//! | `until_failure` | a writer that is let go once it has failed |
//! | `mapped` | arrays that stay in their files |
//! | `part` | parts of those, to compute with |
//! | `error` | what can go wrong |

mod broadcast_bytes;
mod descr;
mod element;
mod error;
mod header;
mod literal;
mod mapped;
mod mmap;
mod npz;
mod part;
mod read;
mod until_failure;
mod write;

pub use descr::Descr;
pub use error::NpyError;
pub use header::Header;
pub use mapped::{Mapped, StretchedError};
pub use npz::{NpzMember, NpzWriter, read_npz, write_npz};
pub use part::Part;
pub use read::{read, read_from};
pub use write::{write, write_elements, write_to};
