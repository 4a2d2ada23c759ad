//! Elements of every dtype, decoded by `zarrs`.

use half::f16;
use ndarray::{Array, ArrayD, IxDyn};
use num_complex::Complex;
use std::ops::Range;
use unishape::{DType, Tensor};
use zarrs::array::{Array as StoredArray, ElementOwned};
use zarrs::array::{ArrayError, ArraySubset, CodecOptions, DataType, data_type};
use zarrs::storage::ReadableStorageTraits;

/// The dtypes that Zarr and unishape have in common.
pub(crate) fn dtype_of(stored: &DataType) -> Option<DType> {
    let types = [
        (data_type::bool(), DType::Bool),
        (data_type::int8(), DType::I8),
        (data_type::int16(), DType::I16),
        (data_type::int32(), DType::I32),
        (data_type::int64(), DType::I64),
        (data_type::uint8(), DType::U8),
        (data_type::uint16(), DType::U16),
        (data_type::uint32(), DType::U32),
        (data_type::uint64(), DType::U64),
        (data_type::float16(), DType::F16),
        (data_type::float32(), DType::F32),
        (data_type::float64(), DType::F64),
        (data_type::complex64(), DType::C64),
        (data_type::complex128(), DType::C128),
    ];
    types.iter().find(|(own, _)| own == stored).map(|(_, dtype)| *dtype)
}

/// Reads the elements of a region.
pub(crate) fn read(
    array: &StoredArray<dyn ReadableStorageTraits>,
    dtype: DType,
    ranges: &[Range<usize>],
    options: &CodecOptions,
) -> Result<Option<Tensor>, ArrayError> {
    let shape: Vec<usize> = ranges.iter().map(Range::len).collect();
    let ranges: Vec<Range<u64>> = ranges.iter().map(|range| range.start as u64..range.end as u64).collect();
    let subset = ArraySubset::new_with_ranges(&ranges);
    fn typed<T: ElementOwned>(
        array: &StoredArray<dyn ReadableStorageTraits>,
        subset: &ArraySubset,
        shape: &[usize],
        options: &CodecOptions,
    ) -> Result<Option<ArrayD<T>>, ArrayError> {
        let elements: Vec<T> = array.retrieve_array_subset_opt(subset, options)?;
        Ok(Array::from_shape_vec(IxDyn(shape), elements).ok())
    }
    macro_rules! read {
        ($type:ty) => {
            typed::<$type>(array, &subset, &shape, options)?.map(Tensor::from)
        };
    }
    Ok(match dtype {
        DType::Bool => read!(bool),
        DType::I8 => read!(i8),
        DType::I16 => read!(i16),
        DType::I32 => read!(i32),
        DType::I64 => read!(i64),
        DType::U8 => read!(u8),
        DType::U16 => read!(u16),
        DType::U32 => read!(u32),
        DType::U64 => read!(u64),
        DType::F16 => read!(f16),
        DType::F32 => read!(f32),
        DType::F64 => read!(f64),
        DType::C64 => read!(Complex<f32>),
        DType::C128 => read!(Complex<f64>),
        DType::BF16 | DType::Str => None,
    })
}
