//! Broadcasting, done once and done right.
#![doc = include_str!("front_page.md")]

mod broadcast;
mod error;
pub mod expr;
pub mod for_numpy_users;
mod line_up;
mod loops;
pub mod notation;
mod operand;
mod shapes;
mod sum;
mod tensor;
pub mod text;
#[doc(hidden)]
pub mod whole_file;

pub use broadcast::{
    Inputs, ViewOf, broadcast, broadcast_all, broadcast_all_with, broadcast_to, broadcast_to_with,
    broadcast_with,
};
pub use error::{CannotStretch, CannotWrite, Error, Incompatible};
#[doc(hidden)]
pub use loops::Threads;
pub use loops::{ForEach, Lends, Mapping, Part, for_each, map, map_into, to_owned};
pub use operand::{CommonDim, Operand};
pub use shapes::{CommonShape, broadcast_shapes, broadcast_shapes_with, is_broadcastable};
pub use sum::sum_to;
pub use tensor::{Element, Tensor, TensorView};
pub use unishape_core::{
    Extent, Rules, Size, StretchError, TooLarge, broadcast_dim, byte_count, element_count,
};
pub use unishape_kernels::DType;

/// The README's example runs.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
