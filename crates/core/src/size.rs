//! The broadcasting rule for one dimension, for known and unknown sizes.

use crate::Rules;
use core::fmt;

/// The common size of two sizes, or `None` if they are incompatible (BC-6).
///
/// ```
/// use unishape_core::{Rules, broadcast_dim};
///
/// assert_eq!(broadcast_dim(Rules::STANDARD, 7, 7), Some(7));
/// assert_eq!(broadcast_dim(Rules::STANDARD, 7, 1), Some(7));
/// assert_eq!(broadcast_dim(Rules::STANDARD, 1, 0), Some(0));
/// assert_eq!(broadcast_dim(Rules::STANDARD, 7, 5), None);
/// ```
#[inline(always)]
pub const fn broadcast_dim(rules: Rules, a: usize, b: usize) -> Option<usize> {
    if a == b {
        Some(a)
    } else if a == 1 && rules.stretches_to(b) {
        Some(b)
    } else if b == 1 && rules.stretches_to(a) {
        Some(a)
    } else {
        None
    }
}

/// The size of a dimension: a `usize`, or an [`Extent`] that may be unknown.
///
/// ```
/// use unishape_core::{Extent, Rules, Size};
///
/// assert_eq!(usize::join(Rules::STANDARD, 1, 5), Some(5));
/// assert_eq!(Extent::join(Rules::STANDARD, Extent::Unknown, Extent::Known(5)), Some(Extent::Known(5)));
/// ```
pub trait Size: Copy + Eq + Into<Extent> + fmt::Debug + fmt::Display {
    /// Size 1, which is stretched and pads shorter shapes on the left.
    const ONE: Self;

    /// The common size of two sizes, or `None` if they are incompatible.
    ///
    /// ```
    /// use unishape_core::{Extent, Rules, Size};
    ///
    /// assert_eq!(Extent::join(Rules::STANDARD, Extent::Known(2), Extent::Known(3)), None);
    /// ```
    fn join(rules: Rules, a: Self, b: Self) -> Option<Self>;
}

impl Size for usize {
    const ONE: usize = 1;

    #[inline(always)]
    fn join(rules: Rules, a: usize, b: usize) -> Option<usize> {
        broadcast_dim(rules, a, b)
    }
}

/// A known or unknown (symbolic) size (BC-13).
///
/// An unknown size is `None` in Python, a symbol in ONNX and `?` in text. Unknown with 1 or unknown
/// is unknown; unknown with any other size is that size. For all actual values of the unknown sizes,
/// the actual common size agrees with this result, or the shapes are incompatible (E1).
///
/// ```
/// use unishape_core::{Common, Extent::{Known, Unknown}, Rules};
///
/// let (mut sizes, mut from) = ([Unknown; 2], [0; 2]);
/// let mut common = Common::new(Rules::STANDARD, &mut sizes, &mut from);
/// common.push(&[Unknown, Unknown])?;
/// common.push(&[Known(1), Known(5)])?;
/// assert_eq!(common.finish()?, [Unknown, Known(5)]);
/// # Ok::<(), unishape_core::FoldError<unishape_core::Extent>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// A known size.
    Known(usize),
    /// Any size.
    Unknown,
    /// Any size except 0.
    ///
    /// This is the result of unknown with 1 under [`Rules::SONNX`], where 1 does not
    /// stretch to 0. Without it, the result would depend on the order of the inputs.
    Positive,
}

impl Size for Extent {
    const ONE: Extent = Extent::Known(1);

    #[inline(always)]
    fn join(rules: Rules, a: Extent, b: Extent) -> Option<Extent> {
        match (a, b) {
            (Extent::Known(a), Extent::Known(b)) => broadcast_dim(rules, a, b).map(Extent::Known),
            (Extent::Known(size), unknown) | (unknown, Extent::Known(size)) => {
                join_unknown(rules, size, unknown)
            }
            (Extent::Unknown, Extent::Unknown) => Some(Extent::Unknown),
            (Extent::Positive, Extent::Positive) => Some(Extent::Positive),
            // Unknown with Positive: the result can be 0, from sizes 0 and 1, if 1 stretches to 0.
            _ if rules.stretches_to(0) => Some(Extent::Unknown),
            _ => Some(Extent::Positive),
        }
    }
}

/// The common size of `size` and `unknown`, which must not be [`Extent::Known`].
#[inline(always)]
fn join_unknown(rules: Rules, size: usize, unknown: Extent) -> Option<Extent> {
    if size == 1 {
        if rules.stretches_to(0) { Some(unknown) } else { Some(Extent::Positive) }
    } else if size == 0 && unknown == Extent::Positive && !rules.stretches_to(0) {
        None
    } else {
        Some(Extent::Known(size))
    }
}

impl From<usize> for Extent {
    fn from(size: usize) -> Extent {
        Extent::Known(size)
    }
}

impl From<Option<usize>> for Extent {
    fn from(size: Option<usize>) -> Extent {
        match size {
            Some(size) => Extent::Known(size),
            None => Extent::Unknown,
        }
    }
}

impl fmt::Display for Extent {
    /// The number, or `?`.
    #[inline] // so that the check for panics sees it
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extent::Known(size) => fmt::Display::fmt(size, f),
            Extent::Unknown | Extent::Positive => f.pad("?"),
        }
    }
}
