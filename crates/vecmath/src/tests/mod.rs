//! Tests of the functions.
//!
//! | module | contents |
//! |---|---|
//! | `reference` | a second implementation with 106 bits, by series |
//! | `reference_check` | `reference` against arbitrary-precision numbers of another crate |
//! | `accuracy` | maximum errors of real functions, compared with docs/accuracy.md |
//! | `complex` | special values and errors of complex functions |
//! | `special_values` | zeros, infinities, NaN and domains, as in the array API standard |
//! | `simd_widths` | the same bits for every SIMD width |

mod accuracy;
mod complex;
mod reference;
mod reference_check;
mod simd_widths;
mod special_values;
