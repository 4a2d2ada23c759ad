//! Headers of `.safetensors` files.

use crate::error::FileError;
use safetensors::{Dtype, SafeTensors};
use unishape::DType;
use unishape::text::truncate;
use unishape_npy::{Descr, Header};

/// A tensor in the bytes of a file.
pub(crate) struct TensorEntry {
    pub(crate) name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    /// Offset of its data in the file, in bytes.
    pub(crate) offset: u64,
}

/// The tensors of a file, in the order of their data.
pub(crate) fn tensors(name: &str, bytes: &[u8]) -> Result<Vec<TensorEntry>, FileError> {
    let (header, metadata) = SafeTensors::read_metadata(bytes)
        .map_err(|error| FileError::content(name, format!("not a .safetensors file: {error}")))?;
    // The length of the header, as 8 bytes, and the header.
    let start = header as u64 + 8;
    let entry = |name: String| {
        let info = metadata.info(&name)?;
        let (dtype, shape) = (info.dtype, info.shape.clone());
        Some(TensorEntry { name, dtype, shape, offset: start + info.data_offsets.0 as u64 })
    };
    Ok(metadata.offset_keys().into_iter().filter_map(entry).collect())
}

impl TensorEntry {
    /// The dtype and shape.
    pub(crate) fn header(&self, file: &str) -> Result<Header, FileError> {
        let dtype = match self.dtype {
            Dtype::BOOL => DType::Bool,
            Dtype::U8 => DType::U8,
            Dtype::I8 => DType::I8,
            Dtype::I16 => DType::I16,
            Dtype::U16 => DType::U16,
            Dtype::F16 => DType::F16,
            Dtype::BF16 => DType::BF16,
            Dtype::I32 => DType::I32,
            Dtype::U32 => DType::U32,
            Dtype::F32 => DType::F32,
            Dtype::C64 => DType::C64,
            Dtype::F64 => DType::F64,
            Dtype::I64 => DType::I64,
            Dtype::U64 => DType::U64,
            other => {
                let name = truncate(&self.name, 60);
                let problem = format!("tensor '{name}' has the unsupported dtype {other}; convert it first");
                return Err(FileError::content(file, problem));
            }
        };
        Ok(Header { descr: Descr::of(dtype), fortran_order: false, shape: self.shape.clone() })
    }
}
