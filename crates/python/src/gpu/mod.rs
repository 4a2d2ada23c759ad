//! Arrays on GPUs.
//!
//! | module | holds |
//! |---|---|
//! | `library` | PyTorch, CuPy, JAX and others: descriptions of their arrays, their streams and allocators |
//! | `dlpack`, `exchange`, `interface` | the protocols by which arrays are exchanged |
//! | `result` | arrays that this package allocates |
//! | `compute` | expressions: inputs, streams, outputs |
//! | `views` | `broadcast_arrays` and `broadcast_to` |
//! | `devices` | the devices of the process, errors of the driver |
//! | `dtypes`, `layout` | dtypes of libraries; where elements are in memory |

mod compute;
mod devices;
mod dlpack;
mod dtypes;
mod exchange;
mod interface;
mod layout;
mod library;
mod result;
mod views;

pub(crate) use compute::{GpuInput, compute, describe, explain};
pub(crate) use library::is_gpu_array;
pub(crate) use result::DeviceArray;
pub(crate) use views::broadcast;
