//! Methods of ndarray's arrays: `use unishape::prelude::*;`.
//!
//! They broadcast as the functions of this crate, and return its errors where ndarray's methods return `None` or
//! panic.
//!
//! | ndarray | with the prelude |
//! |---|---|
//! | `a.broadcast((2, 3))`, an `Option` | [`a.broadcast_to((2, 3))?`](BroadcastExt::broadcast_to) |
//! | `Zip::from(&a).and_broadcast(&b)`, which panics | [`a.map_with(&b, \|x, y\| …)?`](BroadcastExt::map_with) |
//! | `a.zip_mut_with(&b, f)`, which panics | [`a.update_with(&b, f)?`](BroadcastExt::update_with) |
//! | — | [`a.broadcast_with(&b)?`](BroadcastExt::broadcast_with), [`(&a, &b, &c).broadcast()?`](Inputs::broadcast) |
//! | — | [`a.sum_to(shape)?`](BroadcastExt::sum_to) |
//!
//! ```
//! use ndarray::array;
//! use unishape::prelude::*;
//!
//! let (a, b) = (array![[1.0], [2.0]], array![10.0, 20.0, 30.0]);
//! let (x, y) = a.broadcast_with(&b)?;
//! assert_eq!(&x + &y, array![[11.0, 21.0, 31.0], [12.0, 22.0, 32.0]]);
//!
//! let error = b.broadcast_with(&array![1, 2]).unwrap_err();
//! assert!(error.to_string().starts_with("E1: incompatible shapes in dimension 0: input 0 has 3, input 1 has 2"));
//! # Ok::<(), unishape::Error>(())
//! ```

pub use crate::array_ext::BroadcastExt;
pub use crate::broadcast::Inputs;
