//! Zarr stores for [`unishape`]: arrays read and written chunk by chunk, in bounded memory.
//!
//! ```
//! use unishape::{DType, Tensor};
//! use unishape_files::ArraySource;
//! use unishape_zarr::{Format, StoreWriter, ZarrArray};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("store.zarr");
//! let mut store = StoreWriter::create(&path, Format::V3)?;
//! let row = store.add_array("row", DType::F32, &[3], &[2])?;
//! row.write_chunk(&[0], &Tensor::from(ndarray::arr1(&[1.5f32, 2.5])))?;
//! row.write_chunk(&[1], &Tensor::from(ndarray::arr1(&[3.5f32])))?;
//! store.commit(false)?;
//!
//! let row = ZarrArray::open(&path, Some("row"))?;
//! let part = row.region(&[1..3])?;
//! assert_eq!(part.view().to_owned()?, Tensor::from(ndarray::arr1(&[2.5f32, 3.5])));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Versions 2 and 3 of the format are read and written, by the crate `zarrs`. Stores are directories; a store that is
//! written appears under its name when it is complete. It has consolidated metadata and names of dimensions, so that
//! `zarr` and xarray open it.
//!
//! | module | contents |
//! |---|---|
//! | `array` | arrays of a store, read region by region |
//! | `writer` | a store that is written, and appears complete or not at all |
//! | `metadata` | metadata of arrays and groups that are written |
//! | `element` | elements of every dtype, to and from chunks |

mod array;
mod element;
mod metadata;
mod writer;

pub use array::{ZarrArray, array_names};
pub use metadata::Format;
pub use writer::{ArrayWriter, StoreWriter};
