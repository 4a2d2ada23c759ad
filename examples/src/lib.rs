//! Programs that show how unishape is used: `cargo run -p unishape-examples --example NAME`.
//!
//! | name | shows |
//! |---|---|
//! | `mixed_types` | arrays of strings, numbers and a struct of your own in one call; a function that can fail |
//! | `normalise` | mean and standard deviation of columns, and the matrix normalised in place |
//! | `distances` | distances between all pairs of points, and the nearest one, without a temporary |
//! | `streaming_shapes` | the common shape of millions of shapes, in constant memory |
//! | `larger_than_memory` | a `.npy` file normalised in chunks, in bounded memory |
//! | `errors` | messages for the people who use your program |
//! | `server` | an HTTP server on a loopback address: requests as threads, errors as responses |
//! | `no_std` | the broadcasting rule on a device without an allocator |

/// Compiles and runs the examples of the project's README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

/// The programs of a page of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../docs/from-ndarray.md")]
pub struct FromNdarray;
