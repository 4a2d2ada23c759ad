//! Lengths, ranks and dimensions as the 32-bit integers of the programs.

/// The length of a slice, as the 32-bit integer that the programs take.
///
/// # Panics
///
/// If the length exceeds 2³¹−1, which the proof does not cover.
pub(crate) fn length<T>(slice: &[T]) -> i32 {
    int32(slice.len())
}

pub(crate) fn int32(number: usize) -> i32 {
    i32::try_from(number).expect("the programs represent ranks and dimensions in 32 bits")
}

/// A rank or dimension returned by a program.
///
/// # Panics
///
/// If it is negative.
pub(crate) fn non_negative(number: i32) -> usize {
    usize::try_from(number).expect("the programs return no negative rank or dimension")
}
