//! Broadcasting of N arrays, and fused element-wise expressions over them.
#![doc = include_str!("front_page.md")]

mod alignment;
mod alloc;
mod array_ext;
mod boundary;
mod broadcast;
#[cfg(feature = "cuda")]
pub mod cuda;
#[cfg(feature = "expr")]
mod dim_map;
mod error;
#[cfg(feature = "expr")]
pub mod expr;
pub mod fold;
#[cfg(feature = "map")]
mod for_each;
pub mod for_numpy_users;
#[cfg(feature = "map")]
mod map;
pub mod notation;
#[cfg(feature = "expr")]
mod numeric;
mod operand;
pub mod prelude;
#[cfg(feature = "expr")]
mod program_arrays;
#[cfg(feature = "map")]
mod reduce;
#[cfg(feature = "map")]
mod reduce_axes;
mod shapes;
mod sum;
#[cfg(feature = "expr")]
mod tensor;
#[cfg(feature = "expr")]
mod tensor_types;
pub mod text;
#[cfg(feature = "parallel")]
mod threads;
#[cfg(feature = "map")]
mod to_owned;
#[cfg(feature = "map")]
mod try_error;
#[cfg(feature = "expr")]
mod tuning;

pub use alignment::alignment;
pub use broadcast::{
    Inputs, ViewOf, broadcast, broadcast_all, broadcast_all_with, broadcast_to, broadcast_to_with,
    broadcast_with,
};
pub use error::{CannotStretch, CannotWrite, Error, Incompatible};
#[cfg(feature = "map")]
pub use for_each::{ForEachInputs, ForEachOperand, TryForEachInputs, for_each, try_for_each};
#[cfg(feature = "map")]
pub use map::{MapInputs, map, map_into, try_map};
pub use operand::{CommonDim, MapOperand, Operand, ScalarOperand};
#[cfg(feature = "map")]
pub use reduce::reduce;
#[cfg(feature = "map")]
pub use reduce_axes::{KeepDims, ReduceAxes};
pub use shapes::{CommonShape, broadcast_shapes, broadcast_shapes_with, is_broadcastable};
pub use sum::sum_to;
#[cfg(feature = "expr")]
pub use tensor::{Element, Tensor, TensorView};
#[cfg(feature = "expr")]
pub use tensor_types::TensorTypeError;
#[cfg(feature = "parallel")]
pub use threads::{num_threads, set_num_threads, with_num_threads};
#[cfg(feature = "map")]
pub use to_owned::to_owned;
#[cfg(feature = "map")]
pub use try_error::TryError;
pub use unishape_core::{
    Extent, Rules, Size, StretchError, TooLarge, broadcast_dim, byte_count, element_count,
};
pub use unishape_engine::closures::ElementRef;
#[cfg(feature = "map")]
pub use unishape_engine::closures::Fallible;
#[cfg(feature = "expr")]
pub use unishape_kernels::{DType, UnknownDType};

// Crates whose types are part of this API: arrays of these versions fit.
#[cfg(feature = "expr")]
pub use half;
pub use ndarray;
#[cfg(feature = "expr")]
pub use num_complex;

/// Compiles and runs the README's examples.
#[cfg(all(doctest, feature = "map", feature = "expr"))]
#[doc = include_str!("../README.md")]
struct Readme;
