//! Expressions of arrays on NVIDIA GPUs.
//!
//! [`Device::evaluate`] computes an [`Expr`](crate::expr::Expr) of [`Array`]s by kernels that are generated for it: one for
//! each stage, compiled at its first use and kept on disk. Dtypes and results are those of the CPU, see
//! [`unishape_cuda`] for their precision. Nothing of CUDA is needed to build a program; at run time, the driver and NVRTC
//! are looked for where users have them.
//!
//! ```no_run
//! use unishape::cuda::{Array, Device, Stream};
//! use unishape::expr::Expr;
//!
//! let device = Device::new(0, &[])?;
//! let stream = Stream::default();
//! let x = Array::from_slice(&device, &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], stream)?.reshaped(&[2, 3])?;
//! let scale = Array::from_slice(&device, &[10.0f32, 100.0], stream)?.reshaped(&[2, 1])?;
//!
//! let expr = Expr::parse("sum(x * scale + shift, axis=0)")?;
//! let sums = device.evaluate(&expr, &[(&x).into(), (&scale).into(), 0.5.into()], stream)?;
//! assert_eq!(sums.to_vec::<f32>(stream)?, [411.0, 521.0, 631.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Without a driver, [`Device::new`] returns an error that names what was looked for:
//!
//! ```
//! if let Err(error) = unishape::cuda::Device::new(0, &[]) {
//!     println!("{error}"); // libcuda.so.1 (the NVIDIA driver) not found
//! }
//! ```

pub use unishape_cuda::{
    Array, ArrayType, Device, DeviceElement, DeviceMemory, DeviceValue, Error, Expression, Numerics, Plan,
    Stream, Variable,
};
pub use unishape_engine::layout::row_major;
