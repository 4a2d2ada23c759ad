//! Arrays in files of many formats for [`unishape`], opened by a short text such as `data.npz:a`.
//!
//! ```
//! use unishape_files::{Location, open};
//! use unishape_npy as npy;
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("data.npz");
//! npy::write_npz(&path, &[("a", ndarray::arr1(&[1, 2]).view().into())])?;
//! let location = Location::parse(format!("{}:a", path.display()).as_ref())?;
//! // Safety: no one else knows the temporary file.
//! let array = unsafe { open(&location) }?;
//! assert_eq!(array.header().shape, [2]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | text | array |
//! |---|---|
//! | `a.npy` | NumPy's file; the elements are memory-mapped |
//! | `-` | an `.npy` file from standard input |
//! | `z.npz:a` | an array of an archive; mapped, unless it is compressed |
//! | `m.safetensors:weight` | a tensor of a file of tensors, mapped |
//! | `d.bin:float32:3x4` | elements of a given dtype and shape, mapped; `@16` at the end is an offset in bytes |
//! | `t.csv`, `t.tsv`, `t.txt` | rows of numbers |
//! | `s.zarr`, `s.zarr:a` | a Zarr store, which the crate `unishape-zarr` opens |
//!
//! Files are untrusted: a header may promise any amount of data, so memory is allocated as data arrives.
//!
//! | module | contents |
//! |---|---|
//! | `location` | texts that name an array in a file |
//! | `source` | the trait of arrays that are read region by region |
//! | `open` | opens an array of any format; `unsafe`, since files are memory-mapped |
//! | `raw_description` | dtype, shape and offset of raw elements |
//! | `tensor_file` | headers of `.safetensors` files |
//! | `number_table` | rows of numbers as text |
//! | `error` | errors |

mod error;
mod location;
mod number_table;
mod open;
mod raw_description;
mod source;
mod tensor_file;

pub use error::FileError;
pub use location::{Container, Location};
pub use number_table::parse_table;
pub use open::{is_stream, member_names, open, read_header};
pub use raw_description::RawDescription;
pub use source::{ArraySource, BlockReader};
