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
//! Versions 2 and 3 of the format are read and written. Stores are directories; a store that is written appears under
//! its name when it is complete. It has consolidated metadata and names of dimensions, so that `zarr` and xarray open it.
//!
//! The crate `zarrs` reads metadata and decodes chunks, as a whole. Chunks of the usual formats (no compression, zstd,
//! gzip) are also decoded block by block, and chunks are encoded so: then a chunk is never in memory as a whole.
//!
//! | module | contents |
//! |---|---|
//! | `array` | arrays of a store, read region by region |
//! | `element` | elements of every dtype, decoded by `zarrs` |
//! | `chunk_reader`, `chunk_format` | a stored chunk, decoded block by block, and the formats that allow it |
//! | `writer` | a store that is written, and appears complete or not at all |
//! | `chunk_writer` | a chunk that is encoded as it is written |
//! | `padded_block` | the place of a block of elements in the row-major order of its chunk |
//! | `metadata` | metadata of arrays and groups that are written |

mod array;
mod chunk_format;
mod chunk_reader;
mod chunk_writer;
mod element;
mod metadata;
mod padded_block;
mod writer;

pub use array::{ZarrArray, array_names};
pub use chunk_writer::ChunkWriter;
pub use metadata::Format;
pub use writer::{ArrayWriter, StoreWriter};
