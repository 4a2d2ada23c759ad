//! Shapes with symbolic dimensions and unknown ranks.

use super::expression::SizeExpr;
use std::collections::BTreeSet;
use std::fmt;
use unishape::{Error, Extent, broadcast_shapes};

/// Maximum tracked rank; larger shapes become unknown, so that a small file cannot use much memory.
pub(crate) const MAX_INFERRED_RANK: usize = 64;

/// Maximum number of unranked values in a shape.
const MAX_UNRANKED: usize = 256;

/// Size of a dimension: known, or an expression of unknown sizes.
///
/// ```
/// use unishape_onnx::{Dim, infer_shapes};
/// # let bytes = unishape_onnx::model_builder::add_model();
///
/// let inference = infer_shapes(&unishape_onnx::Model::read(&bytes)?);
/// let z = inference.value("z").and_then(|z| z.shape()).expect("a shape");
/// assert_eq!((z[0].to_string(), &z[1]), ("N".into(), &Dim::Known(3)));
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Dim {
    /// Known size.
    Known(usize),
    /// Unknown size.
    Unknown(SizeExpr),
}

impl Dim {
    pub(crate) fn named(name: &str) -> Dim {
        Dim::Unknown(SizeExpr::named(name))
    }

    /// Unknown size of one dimension of a value.
    pub(crate) fn anonymous(value: usize, dim: usize) -> Dim {
        Dim::Unknown(SizeExpr::anonymous(value, dim))
    }

    /// The size as an expression; `None` if it is too large.
    pub(crate) fn expr(&self) -> Option<SizeExpr> {
        match self {
            Dim::Known(size) => i64::try_from(*size).ok().map(SizeExpr::int),
            Dim::Unknown(expr) => Some(expr.clone()),
        }
    }

    /// The size that an expression describes; `None` if it is negative.
    pub(crate) fn from_expr(expr: &SizeExpr) -> Option<Dim> {
        match expr.constant() {
            Some(size) => usize::try_from(size).ok().map(Dim::Known),
            None => Some(Dim::Unknown(expr.clone())),
        }
    }

    /// Computes a size; `None` if a step overflows, exceeds the limits or gives a negative size.
    pub(crate) fn compute(&self, steps: impl FnOnce(SizeExpr) -> Option<SizeExpr>) -> Option<Dim> {
        Dim::from_expr(&steps(self.expr()?)?)
    }

    pub(crate) fn known(&self) -> Option<usize> {
        match self {
            Dim::Known(size) => Some(*size),
            Dim::Unknown(_) => None,
        }
    }

    pub(crate) fn extent(&self) -> Extent {
        match self {
            Dim::Known(size) => Extent::Known(*size),
            Dim::Unknown(_) => Extent::Unknown,
        }
    }

    /// Whether the size is not 1, whatever the unknown sizes are.
    pub(crate) fn is_certainly_not_one(&self) -> bool {
        match self {
            Dim::Known(size) => *size != 1,
            Dim::Unknown(expr) => expr.certainly_differs(&SizeExpr::int(1)),
        }
    }

    /// Whether two sizes differ, whatever the unknown sizes are.
    pub(crate) fn certainly_differs(&self, other: &Dim) -> bool {
        match (self.expr(), other.expr()) {
            (Some(a), Some(b)) => a.certainly_differs(&b),
            _ => false,
        }
    }

    /// Common size of two dimensions; `None` if they are incompatible.
    fn broadcast_with(&self, other: &Dim) -> Option<Dim> {
        Some(match (self, other) {
            (Dim::Known(1), other) | (other, Dim::Known(1)) => other.clone(),
            (Dim::Known(a), Dim::Known(b)) if a != b => return None,
            // The unknown size is 1 or equal to the known size.
            (known @ Dim::Known(_), _) | (_, known @ Dim::Known(_)) => known.clone(),
            (Dim::Unknown(a), Dim::Unknown(b)) => Dim::Unknown(a.broadcast_with(b)),
        })
    }
}

impl From<usize> for Dim {
    fn from(size: usize) -> Dim {
        Dim::Known(size)
    }
}

impl PartialEq<usize> for Dim {
    fn eq(&self, size: &usize) -> bool {
        matches!(self, Dim::Known(known) if known == size)
    }
}

/// The size, or its expression.
impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Known(size) => size.fmt(f),
            Dim::Unknown(expr) => expr.fmt(f),
        }
    }
}

/// Shape with symbolic dimensions, possibly of unknown rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SymbolicShape {
    /// Known trailing dimensions; all dimensions if `unranked` is empty.
    dims: Vec<Dim>,
    /// Ids of the values of unknown rank that the shape was broadcast with.
    unranked: BTreeSet<usize>,
}

impl SymbolicShape {
    pub(crate) fn new(dims: Vec<Dim>) -> SymbolicShape {
        SymbolicShape { dims, unranked: BTreeSet::new() }
    }

    pub(crate) fn known(sizes: &[usize]) -> SymbolicShape {
        SymbolicShape::new(sizes.iter().map(|&size| Dim::Known(size)).collect())
    }

    /// Shape of a value of unknown rank.
    pub(crate) fn unranked(value: usize) -> SymbolicShape {
        SymbolicShape { dims: Vec::new(), unranked: BTreeSet::from([value]) }
    }

    /// Dimensions, if the rank is known.
    pub(crate) fn dims(&self) -> Option<&[Dim]> {
        self.unranked.is_empty().then_some(&self.dims)
    }

    /// Sizes, if all are known.
    pub(crate) fn sizes(&self) -> Option<Vec<usize>> {
        self.dims()?.iter().map(Dim::known).collect()
    }

    /// Replaces parts that exceed the limits by unknown dimensions, or an unknown rank, of `value`.
    pub(crate) fn limited(mut self, value: usize) -> SymbolicShape {
        if self.dims.len() > MAX_INFERRED_RANK || self.unranked.len() > MAX_UNRANKED {
            return SymbolicShape::unranked(value);
        }
        for (index, dim) in self.dims.iter_mut().enumerate() {
            if matches!(dim, Dim::Unknown(expr) if !expr.is_within_limit()) {
                *dim = Dim::anonymous(value, index);
            }
        }
        self
    }

    /// What holds for both of two shapes; sizes that differ become sizes of `value`.
    pub(crate) fn join(&self, other: &SymbolicShape, value: usize) -> SymbolicShape {
        match (self.dims(), other.dims()) {
            (Some(a), Some(b)) if a.len() == b.len() => {
                let dims = a.iter().zip(b).enumerate().map(|(index, (a, b))| match a == b {
                    true => a.clone(),
                    false => Dim::anonymous(value, index),
                });
                SymbolicShape::new(dims.collect())
            }
            _ if self == other => self.clone(),
            _ => SymbolicShape::unranked(value),
        }
    }

    /// Whether sizes of values with an id of at least `first` occur.
    pub(crate) fn refers_to_since(&self, first: usize) -> bool {
        self.unranked.iter().any(|&value| value >= first)
            || self.dims.iter().any(|dim| matches!(dim, Dim::Unknown(expr) if expr.refers_to_since(first)))
    }

    /// Common shape of two shapes; `None` if they are incompatible.
    pub(crate) fn broadcast_with(&self, other: &SymbolicShape) -> Option<SymbolicShape> {
        let rank = self.dims.len().max(other.dims.len());
        // Shapes are aligned on the right; missing dimensions have size 1.
        let aligned = |shape: &SymbolicShape, dim: usize| {
            let missing = rank - shape.dims.len();
            dim.checked_sub(missing).map_or(Dim::Known(1), |dim| shape.dims[dim].clone())
        };
        let dims = (0..rank).map(|dim| aligned(self, dim).broadcast_with(&aligned(other, dim)));
        let dims = dims.collect::<Option<Vec<_>>>()?;
        Some(SymbolicShape { dims, unranked: self.unranked.union(&other.unranked).copied().collect() })
    }
}

/// Common shape of all shapes; error E1, with the names of the inputs, if they are incompatible.
pub(crate) fn broadcast_all<'s>(
    shapes: impl IntoIterator<Item = &'s SymbolicShape> + Clone,
    names: &[&str],
) -> Result<SymbolicShape, Error> {
    let mut common = SymbolicShape::new(Vec::new());
    for shape in shapes.clone() {
        match common.broadcast_with(shape) {
            Some(broadcast) => common = broadcast,
            None => {
                let extents: Vec<Vec<Extent>> =
                    shapes.into_iter().map(|shape| shape.dims.iter().map(Dim::extent).collect()).collect();
                return match broadcast_shapes(&extents) {
                    Err(error) => Err(error.named(names)),
                    // Unreachable unless the rule here and `broadcast_shapes` disagree.
                    Ok(_) => Ok(common),
                };
            }
        }
    }
    Ok(common)
}

/// `NxNx3`; `()` for rank 0, `?` for unknown rank.
impl fmt::Display for SymbolicShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.dims() {
            None => f.write_str("?"),
            Some(dims) => f.write_str(&shape_text(dims)),
        }
    }
}

/// Formats a shape: `Nx3`, or `()` for rank 0.
///
/// ```
/// use unishape_onnx::{Dim, shape_text};
///
/// assert_eq!(shape_text(&[Dim::Known(2), Dim::Known(3)]), "2x3");
/// assert_eq!(shape_text(&[]), "()");
/// ```
pub fn shape_text(dims: &[Dim]) -> String {
    if dims.is_empty() {
        return "()".into();
    }
    // An unspaced `x` between longer names would be hard to read.
    let texts: Vec<String> = dims.iter().map(Dim::to_string).collect();
    let is_plain = |text: &String| text.len() == 1 || text.bytes().all(|byte| byte.is_ascii_digit());
    texts.join(if texts.iter().all(is_plain) { "x" } else { " x " })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> SymbolicShape {
        let dims = text.split_whitespace().map(|word| match word.parse() {
            Ok(size) => Dim::Known(size),
            Err(_) => Dim::named(word),
        });
        SymbolicShape::new(dims.collect())
    }

    #[test]
    fn symbols_survive_broadcasting() {
        let common = |a: &str, b: &str| shape(a).broadcast_with(&shape(b)).map(|shape| shape.to_string());
        assert_eq!(common("N 1", "3").as_deref(), Some("Nx3"));
        assert_eq!(common("N 3", "N 1").as_deref(), Some("Nx3"));
        assert_eq!(common("N", "5").as_deref(), Some("5"));
        assert_eq!(common("N", "M").as_deref(), Some("M|N"));
        assert_eq!(common("M", "N"), common("N", "M"));
        assert_eq!(common("0", "1").as_deref(), Some("0"));
        assert_eq!(common("3", "4"), None);
        assert_eq!(common("batch 2", "").as_deref(), Some("batch x 2"));
        assert_eq!(common("", "").as_deref(), Some("()"));
    }

    #[test]
    fn unknown_ranks_broadcast_to_their_union() {
        let (a, b) = (SymbolicShape::unranked(0), SymbolicShape::unranked(1));
        let both = a.broadcast_with(&b).expect("compatible");
        assert_eq!(b.broadcast_with(&both), Some(both.clone()));
        assert_ne!(both, a);
        assert_eq!((both.dims(), both.to_string()), (None, "?".into()));
    }

    #[test]
    fn shapes_over_the_limits_become_unknown() {
        let many = SymbolicShape::known(&[1; MAX_INFERRED_RANK + 1]).limited(7);
        assert_eq!(many, SymbolicShape::unranked(7));
        let just = SymbolicShape::known(&[1; MAX_INFERRED_RANK]);
        assert_eq!(just.clone().limited(7), just);
        let all = |count: usize, of: fn(usize) -> SymbolicShape| {
            (0..count).fold(shape(""), |all, number| all.broadcast_with(&of(number)).expect("compatible"))
        };
        let named = |count: usize| all(count, |number| shape(&format!("n{number}")));
        assert_eq!(named(256).limited(999), named(256));
        assert_eq!(named(512).limited(999), SymbolicShape::new(vec![Dim::anonymous(999, 0)]));
        let unranked = |count: usize| all(count, SymbolicShape::unranked);
        assert_eq!(unranked(MAX_UNRANKED).limited(999), unranked(MAX_UNRANKED));
        assert_eq!(unranked(MAX_UNRANKED + 1).limited(999), SymbolicShape::unranked(999));
        assert_eq!(unranked(MAX_UNRANKED + 2).limited(999), SymbolicShape::unranked(999));
    }

    #[test]
    fn e1_names_the_inputs() {
        let (a, b) = (shape("N 3"), shape("4"));
        let error = broadcast_all([&a, &b], &["a", "b"]).expect_err("E1");
        assert!(error.to_string().contains("dimension 1: a has 3, b has 4"), "{error}");
    }
}
