//! Equivalents of NumPy functions.
//!
//! | NumPy | unishape |
//! |---|---|
//! | `np.broadcast_arrays(a, b)` | [`broadcast((&a, &b))`](crate::broadcast()), a tuple of views |
//! | `np.broadcast_arrays(*arrays)` | [`broadcast_all(&arrays)`](crate::broadcast_all), a `Vec` of views |
//! | `np.broadcast_to(a, (2, 3))` | [`broadcast_to(&a, (2, 3))`](crate::broadcast_to) |
//! | `np.broadcast_shapes((2, 1), (3,))` | [`broadcast_shapes(&[&[2, 1][..], &[3]])`](crate::broadcast_shapes) |
//! | `np.broadcast_to(a, shape).copy()` | [`to_owned(broadcast_to(&a, shape)?)?`](crate::to_owned()) |
//! | `a + b * c`, with temporaries | [`map((&a, &b, &c), \|a, b, c\| a + b * c)`](crate::map()) |
//! | `numexpr.evaluate("a + b * c")` | [`expr`](crate::expr) |
//! | `(a * b).sum(axis=1)`, with a temporary | [`reduce((&a, &b), Axis(1), \|a, b\| a * b, Sum)`](crate::reduce()) |
//! | `np.max(np.abs(a - b))` | [`reduce((&a, &b), .., \|a, b\| (a - b).abs(), Max)`](crate::reduce()) |
//! | `a.mean(axis=0, keepdims=True)` | [`reduce((&a,), KeepDims(Axis(0)), \|a\| *a, Mean)`](crate::KeepDims) |
//! | `np.frompyfunc(f, 2, 1).reduce(a)` | [`reduce((&a,), Axis(0), \|a\| *a, f)`](crate::fold::Fold), in any order |
//! | `np.sum` over the broadcast axes (gradients) | [`sum_to(&z, shape)`](crate::sum_to) |
//! | `ValueError: operands could not be broadcast` | [`Error`](crate::Error), with the dimension and all shapes |
//! | `np.load("a.npy")`, `np.save("a.npy", a)` | `unishape_npy::read`, `unishape_npy::write` |
//! | `np.load("a.npz")`, `np.savez("a.npz", x=x)` | `unishape_npy::read_npz`, `unishape_npy::write_npz` |
//! | `np.load("a.npy", mmap_mode="r")` | `unishape_npy::RawArray::map` |
//! | `np.ndarray` of any dtype | [`Tensor`](crate::Tensor), or ndarray's `Array` where the element type is static |
//! | `a.dtype` | [`Tensor::dtype`](crate::Tensor::dtype), a [`DType`](crate::DType) |
//! | `a[1:3, 0:2]` | [`TensorView::slice`](crate::TensorView::slice), or ndarray's `slice` |
//! | `a * 2 + [1, 2, 3]` | [`map((&a, 2, &[1, 2, 3]), \|a, k, b\| a * k + b)`](crate::map()) |
//! | `a[:, None]` | ndarray's `a.insert_axis(Axis(1))` |
//! | `None` in a shape (Array API) | [`Extent::Unknown`](crate::Extent::Unknown) |
//!
//! # Differences
//!
//! - All views are read-only. Those of NumPy's `broadcast_arrays` are writable, with a warning.
//! - `broadcast` does not convert dtypes: arrays of different dtypes are broadcast together.
//! - The rank is part of the type where it is static: `broadcast` of an `Array2` and an `Array1` returns two
//!   `ArrayView2`s.
//! - The rank and the number of arrays are not limited; NumPy allows 64 dimensions.
//! - NumPy rejects a common shape whose size in bytes overflows. `broadcast` rejects it only where the number
//!   of elements overflows: a view takes no memory.
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
