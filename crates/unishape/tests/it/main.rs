//! Integration tests, one module per topic.

mod adjoint;
#[cfg(feature = "expr")]
mod dtypes;
mod errors;
#[cfg(feature = "expr")]
mod expr;
#[cfg(feature = "map")]
mod for_each;
#[cfg(all(feature = "expr", feature = "map"))]
mod functions;
#[cfg(feature = "map")]
mod map;
mod notation;
mod operator;
#[cfg(feature = "expr")]
mod passes;
#[cfg(feature = "map")]
mod reduce;
#[cfg(feature = "expr")]
mod reductions;
#[cfg(feature = "expr")]
mod stages;
mod support;
#[cfg(feature = "expr")]
mod tensors;
#[cfg(feature = "expr")]
mod types;
