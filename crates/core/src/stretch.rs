//! Stretching one shape to another: padding, compatibility, index map and strides.

use crate::{Rules, Size};
use core::fmt;

/// The size of dimension `dim` of `shape` padded with 1s on the left to `rank`.
///
/// This is step 1 of the specification (BC-5). It is 1 for any `dim` outside of the shape.
///
/// ```
/// use unishape_core::padded_dim;
///
/// let y: [usize; 4] = [0, 1, 2, 3].map(|dim| padded_dim(&[7, 5], 4, dim));
/// assert_eq!(y, [1, 1, 7, 5]);
/// ```
#[inline(always)]
pub fn padded_dim<S: Size>(shape: &[S], rank: usize, dim: usize) -> S {
    let pad = rank.saturating_sub(shape.len());
    match dim.checked_sub(pad) {
        Some(at) => match shape.get(at) {
            Some(&size) => size,
            None => S::ONE,
        },
        None => S::ONE,
    }
}

/// Checks whether `shape` can be stretched to `target` (BC-12).
///
/// # Errors
///
/// [`StretchError::Rank`], or [`StretchError::Size`] for the leftmost incompatible dimension.
///
/// ```
/// use unishape_core::{Rules, StretchError, check_broadcast_to};
///
/// assert_eq!(check_broadcast_to(Rules::STANDARD, &[3, 1], &[2, 3, 4]), Ok(()));
/// // Here `target` would have to be stretched:
/// assert_eq!(
///     check_broadcast_to(Rules::STANDARD, &[3, 4], &[3, 1]),
///     Err(StretchError::Size { dim: 1, size: 4, target: 1 }),
/// );
/// ```
#[inline]
pub fn check_broadcast_to(rules: Rules, shape: &[usize], target: &[usize]) -> Result<(), StretchError> {
    check_stretch(rules, shape, target).map_err(StretchError::from)
}

/// [`check_broadcast_to`] for any type of sizes, so that it can only compare and join them.
#[inline(always)]
fn check_stretch<S: Size>(rules: Rules, shape: &[S], target: &[S]) -> Result<(), Misfit<S>> {
    let rank = target.len();
    if shape.len() > rank || (rules.is_strict_rank() && shape.len() != rank) {
        return Err(Misfit::Rank { rank: shape.len(), target: rank });
    }
    for (dim, &target) in target.iter().enumerate() {
        let size = padded_dim(shape, rank, dim);
        if !size_stretches(rules, size, target) {
            return Err(Misfit::Size { dim, size, target });
        }
    }
    Ok(())
}

/// Whether `size` stretches to `target`: then their common size is `target`.
#[inline(always)]
fn size_stretches<S: Size>(rules: Rules, size: S, target: S) -> bool {
    match S::join(rules, size, target) {
        Some(joined) => joined == target,
        None => false,
    }
}

/// The input index that output index `a` reads (BC-7).
///
/// This is the index map `f` of the specification, for size `b` stretched to size `c`.
///
/// ```
/// use unishape_core::index_map;
///
/// assert_eq!(index_map(2, 4, 4), 2);
/// assert_eq!(index_map(2, 1, 4), 0);
/// ```
#[inline(always)]
pub const fn index_map(a: usize, b: usize, c: usize) -> usize {
    if b == c { a } else { 0 }
}

/// Computes the input index that an output index reads (BC-5, BC-7).
///
/// It applies [`index_map`] to each dimension of `shape`. The output, `source`, must have the length
/// of `shape`; `index` must have that of `target`.
///
/// # Errors
///
/// [`LayoutError::Length`], or [`LayoutError::Index`] for the leftmost index out of bounds.
///
/// ```
/// use unishape_core::source_index;
///
/// let mut source = [0; 2];
/// source_index(&[3, 1], &[2, 3, 4], &[1, 2, 3], &mut source)?;
/// assert_eq!(source, [2, 0]);
/// # Ok::<(), unishape_core::LayoutError>(())
/// ```
#[inline]
pub fn source_index(
    shape: &[usize],
    target: &[usize],
    index: &[usize],
    source: &mut [usize],
) -> Result<(), LayoutError> {
    if shape.len() > target.len() || source.len() != shape.len() {
        return Err(LayoutError::Length);
    }
    check_index(target, index)?;
    let pad = target.len().saturating_sub(shape.len());
    let index = index.get(pad..).unwrap_or_default();
    let target = target.get(pad..).unwrap_or_default();
    for ((&b, to), (&a, &c)) in shape.iter().zip(source).zip(index.iter().zip(target)) {
        *to = index_map(a, b, c);
    }
    Ok(())
}

/// Computes the strides of an array stretched to `target` (BC-10, BC-12).
///
/// A dimension that keeps its size keeps its stride, of either sign; a stretched or missing
/// dimension has stride 0. The output, `stretched`, must have the length of `target`.
///
/// # Errors
///
/// As for [`check_broadcast_to`], or [`StretchError::Length`]. The contents of `stretched` are then
/// unspecified.
///
/// ```
/// use unishape_core::{Rules, broadcast_strides};
///
/// let mut stretched = [0; 3];
/// broadcast_strides(Rules::STANDARD, &[3, 1], &[-8, 1], &[2, 3, 4], &mut stretched)?;
/// assert_eq!(stretched, [0, -8, 0]);
/// # Ok::<(), unishape_core::StretchError>(())
/// ```
#[inline]
pub fn broadcast_strides(
    rules: Rules,
    shape: &[usize],
    strides: &[isize],
    target: &[usize],
    stretched: &mut [isize],
) -> Result<(), StretchError> {
    stretch_strides(rules, shape, strides, target, stretched).map_err(StretchError::from)
}

/// [`broadcast_strides`] for any type of sizes, so that it can only compare and join them.
#[inline(always)]
fn stretch_strides<S: Size>(
    rules: Rules,
    shape: &[S],
    strides: &[isize],
    target: &[S],
    stretched: &mut [isize],
) -> Result<(), Misfit<S>> {
    let rank = target.len();
    if shape.len() > rank || (rules.is_strict_rank() && shape.len() != rank) {
        return Err(Misfit::Rank { rank: shape.len(), target: rank });
    }
    if strides.len() != shape.len() || stretched.len() != rank {
        return Err(Misfit::Length);
    }
    let pad = rank.saturating_sub(shape.len());
    let (added_to, own_to) = stretched.split_at_mut_checked(pad).unwrap_or_default();
    let (added, own) = target.split_at_checked(pad).unwrap_or_default();
    for (dim, (to, &target)) in added_to.iter_mut().zip(added).enumerate() {
        if !size_stretches(rules, S::ONE, target) {
            return Err(Misfit::Size { dim, size: S::ONE, target });
        }
        *to = 0;
    }
    for (dim, ((to, &target), (&size, &stride))) in
        own_to.iter_mut().zip(own).zip(shape.iter().zip(strides)).enumerate()
    {
        if size == target {
            *to = stride;
        } else if size_stretches(rules, size, target) {
            *to = 0;
        } else {
            return Err(Misfit::Size { dim: pad.saturating_add(dim), size, target });
        }
    }
    Ok(())
}

/// The offset of an element, in elements from the one at index 0.
///
/// `target` and `strides` describe the view, usually one from [`broadcast_strides`].
///
/// # Errors
///
/// Any [`LayoutError`].
///
/// ```
/// use unishape_core::{LayoutError, source_offset};
///
/// assert_eq!(source_offset(&[2, 3, 4], &[0, -8, 0], &[1, 2, 3]), Ok(-16));
/// assert_eq!(
///     source_offset(&[2, 3, 4], &[0, -8, 0], &[1, 3, 3]),
///     Err(LayoutError::Index { dim: 1, index: 3, size: 3 }),
/// );
/// ```
#[inline]
pub fn source_offset(target: &[usize], strides: &[isize], index: &[usize]) -> Result<isize, LayoutError> {
    if strides.len() != target.len() {
        return Err(LayoutError::Length);
    }
    check_index(target, index)?;
    let mut offset = 0isize;
    for (&stride, &index) in strides.iter().zip(index) {
        // Stretched: the index is irrelevant, even if it does not fit an isize.
        if stride != 0 {
            let Ok(index) = isize::try_from(index) else { return Err(LayoutError::Overflow) };
            let Some(step) = index.checked_mul(stride) else { return Err(LayoutError::Overflow) };
            let Some(sum) = offset.checked_add(step) else { return Err(LayoutError::Overflow) };
            offset = sum;
        }
    }
    Ok(offset)
}

/// Checks that `index` has one entry per dimension, each in bounds.
#[inline]
fn check_index(shape: &[usize], index: &[usize]) -> Result<(), LayoutError> {
    if index.len() != shape.len() {
        return Err(LayoutError::Length);
    }
    for (dim, (&size, &index)) in shape.iter().zip(index).enumerate() {
        if index >= size {
            return Err(LayoutError::Index { dim, index, size });
        }
    }
    Ok(())
}

/// The reason why a shape cannot be stretched to a target shape (BC-12).
///
/// ```
/// use unishape_core::{Rules, StretchError, check_broadcast_to};
///
/// let error = check_broadcast_to(Rules::STANDARD, &[2, 3], &[3]).unwrap_err();
/// assert_eq!(error, StretchError::Rank { rank: 2, target: 1 });
/// assert_eq!(error.to_string(), "a shape of rank 2 cannot be stretched to rank 1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StretchError {
    /// The ranks do not allow it.
    ///
    /// The shape has a higher rank than the target, or under [`Rules::strict_rank`] another rank.
    Rank {
        /// The rank of the shape.
        rank: usize,
        /// The rank of the target.
        target: usize,
    },
    /// The slices have inconsistent lengths.
    Length,
    /// A size differs from the target's and does not stretch to it.
    Size {
        /// The dimension of the target, counted from 0 on the left.
        dim: usize,
        /// The size in the shape; 1 for a missing dimension.
        size: usize,
        /// The size in the target.
        target: usize,
    },
}

impl fmt::Display for StretchError {
    #[inline] // so that the check for panics sees it
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StretchError::Rank { rank, target } => {
                write!(f, "a shape of rank {rank} cannot be stretched to rank {target}")
            }
            StretchError::Length => write!(f, "shape and strides do not have the same rank"),
            StretchError::Size { dim, size, target } => {
                write!(f, "dimension {dim}: {size} cannot be stretched to {target}")
            }
        }
    }
}

impl core::error::Error for StretchError {}

/// [`StretchError`] for any type of sizes.
enum Misfit<S> {
    Rank { rank: usize, target: usize },
    Length,
    Size { dim: usize, size: S, target: S },
}

impl From<Misfit<usize>> for StretchError {
    #[inline]
    fn from(misfit: Misfit<usize>) -> StretchError {
        match misfit {
            Misfit::Rank { rank, target } => StretchError::Rank { rank, target },
            Misfit::Length => StretchError::Length,
            Misfit::Size { dim, size, target } => StretchError::Size { dim, size, target },
        }
    }
}

/// An error in the arguments of [`source_index`] or [`source_offset`].
///
/// ```
/// use unishape_core::{LayoutError, source_offset};
///
/// assert_eq!(source_offset(&[3], &[1, 1], &[0]), Err(LayoutError::Length));
/// assert_eq!(source_offset(&[3], &[isize::MAX], &[2]), Err(LayoutError::Overflow));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutError {
    /// The slices have inconsistent lengths.
    Length,
    /// An index is out of bounds.
    Index {
        /// The dimension.
        dim: usize,
        /// The index in this dimension.
        index: usize,
        /// The size of this dimension.
        size: usize,
    },
    /// The offset overflows an `isize`, so no array in memory has these strides.
    Overflow,
}

impl fmt::Display for LayoutError {
    #[inline] // so that the check for panics sees it
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LayoutError::Length => write!(f, "shape, strides and index do not have the same rank"),
            LayoutError::Index { dim, index, size } => {
                write!(f, "dimension {dim}: index {index} is out of bounds for size {size}")
            }
            LayoutError::Overflow => write!(f, "the offset does not fit an isize"),
        }
    }
}

impl core::error::Error for LayoutError {}
