//! Kinds of broadcasts that the guard distinguishes by shape alone.

use unishape_core::padded_dim;

/// What stretches in a broadcast of two shapes. Later kinds are rarer and more often mistakes.
///
/// The numbers are those of `unishape._guard.kinds`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StretchKind {
    /// One operand is stretched, as in a bias-add.
    One = 1,
    /// One operand of lower rank is stretched, and its sizes are also those of the other's first dimensions:
    /// `(n, n)` with `(n,)`.
    Ambiguous = 2,
    /// Both operands are stretched, and the result is larger than each: `(n, 1)` with `(m,)`.
    Both = 3,
    /// Both are stretched although they have the same sizes, apart from 1s: `(n, 1)` with `(n,)`.
    SameSizes = 4,
}

impl StretchKind {
    /// The kind of two shapes; `None` where nothing is stretched, or nothing worth a look.
    ///
    /// That is so for operands of one element, empty results and incompatible shapes, too.
    #[inline]
    pub(crate) fn of(a: &[usize], b: &[usize]) -> Option<StretchKind> {
        if a == b || is_single(a) || is_single(b) {
            return None;
        }
        let rank = a.len().max(b.len());
        let (mut a_stretched, mut b_stretched) = (false, false);
        for dim in 0..rank {
            match (padded_dim(a, rank, dim), padded_dim(b, rank, dim)) {
                (0, _) | (_, 0) => return None,
                (m, n) if m == n => {}
                (1, _) => a_stretched = true,
                (_, 1) => b_stretched = true,
                _ => return None,
            }
        }
        match (a_stretched, b_stretched) {
            (true, true) if longer(a).eq(longer(b)) => Some(StretchKind::SameSizes),
            (true, true) => Some(StretchKind::Both),
            (true, false) if b.len() > a.len() && b.starts_with(a) => Some(StretchKind::Ambiguous),
            (false, true) if a.len() > b.len() && a.starts_with(b) => Some(StretchKind::Ambiguous),
            (false, false) => None,
            _ => Some(StretchKind::One),
        }
    }

    /// The latest kind of any two of some shapes, and which two.
    pub(crate) fn of_all<'a>(
        shapes: impl Iterator<Item = (usize, &'a [usize])> + Clone,
    ) -> Option<(StretchKind, usize, usize)> {
        let mut rest = shapes;
        let mut latest: Option<(StretchKind, usize, usize)> = None;
        while let Some((i, a)) = rest.next() {
            for (j, b) in rest.clone() {
                if let Some(kind) = StretchKind::of(a, b)
                    && latest.is_none_or(|(known, ..)| kind > known)
                {
                    latest = Some((kind, i, j));
                }
            }
        }
        latest
    }
}

/// Whether an array of this shape has one element.
fn is_single(shape: &[usize]) -> bool {
    shape.iter().all(|&size| size == 1)
}

/// The sizes other than 1.
fn longer(shape: &[usize]) -> impl Iterator<Item = &usize> {
    shape.iter().filter(|&&size| size != 1)
}
