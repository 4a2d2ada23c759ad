//! What is called what, for those who come from NumPy.
//!
//! | NumPy | here |
//! |---|---|
//! | `np.broadcast_arrays(a, b)` | [`broadcast((&a, &b))`](crate::broadcast()), a tuple of views |
//! | `np.broadcast_arrays(*arrays)` | [`broadcast_all(&arrays)`](crate::broadcast_all), a `Vec` of views |
//! | `np.broadcast_to(a, (2, 3))` | [`broadcast_to(&a, (2, 3))`](crate::broadcast_to) |
//! | `np.broadcast_shapes((2, 1), (3,))` | [`broadcast_shapes(&[&[2, 1][..], &[3]])`](crate::broadcast_shapes) |
//! | `np.broadcast_to(a, shape).copy()` | [`to_owned(broadcast_to(&a, shape)?)?`](crate::to_owned()) |
//! | the sum that undoes it, by hand | [`sum_to(&z, shape)`](crate::sum_to) |
//! | `ValueError: operands could not be broadcast` | [`Error`](crate::Error), which says which operands, where, and shows every shape |
//! | `np.load("a.npy")`, `np.save("a.npy", a)` | `unishape_npy::read`, `unishape_npy::write` |
//! | `np.load("a.npz")`, `np.savez("a.npz", x=x)` | `unishape_npy::read_npz`, `unishape_npy::write_npz` |
//! | `np.load("a.npy", mmap_mode="r")` | `unishape_npy::RawArray` |
//! | `np.ndarray` of any dtype | [`Tensor`](crate::Tensor), or ndarray's `Array` where the type is known |
//! | `a.dtype` | [`Tensor::dtype`](crate::Tensor::dtype), a [`DType`](crate::DType) |
//! | `a[:, None]` | ndarray's `a.insert_axis(Axis(1))` |
//! | `None` in a shape (Array API) | [`Extent::Unknown`](crate::Extent::Unknown) |
//!
//! # What differs
//!
//! - Views are read-only, all of them. NumPy's `broadcast_arrays` still gives writeable ones that
//!   warn when they are written to.
//! - Types are kept: nothing is converted, and arrays of different types go side by side.
//! - The rank is part of the type where it can be: `broadcast` of an `Array2` and an `Array1` gives
//!   two `ArrayView2`s, which can be indexed with a pair.
//! - There is no limit of 64 dimensions and none on the number of arrays.
//! - A common shape that NumPy refuses because its bytes cannot be counted is refused here only if
//!   its elements cannot: a view takes no bytes.
//!
//! ```
//! use ndarray::{Axis, array};
//! use unishape::{broadcast, to_owned};
//!
//! let x = array![1.0, 2.0, 3.0];
//! let y = array![10.0, 20.0];
//! // np.broadcast_arrays(x[:, None], y)
//! let (x, y) = broadcast((&x.view().insert_axis(Axis(1)), &y)).map(|(x, y)| (to_owned(x), to_owned(y)))?;
//! assert_eq!(x?, array![[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]);
//! assert_eq!(y?, array![[10.0, 20.0], [10.0, 20.0], [10.0, 20.0]]);
//! # Ok::<(), unishape::Error>(())
//! ```
