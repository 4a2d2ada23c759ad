//! Tests of the functions.
//!
//! | module | holds |
//! |---|---|
//! | `wide` | numbers of 106 bits and the functions once more, by series: the judge |
//! | `judge` | the judge held against a third party's numbers of any length |
//! | `accuracy` | the error of each function, in units of the last place, and docs/accuracy.md |
//! | `complex` | both for complex numbers |
//! | `special` | zeros, infinities, NaN and domains, as the array API standard has them |
//! | `widths` | the same bits on every CPU |

mod accuracy;
mod complex;
mod judge;
mod special;
mod wide;
mod widths;
