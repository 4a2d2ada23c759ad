//! Shapes with symbolic dimensions and unknown ranks.

use crate::error::display_name;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use unishape::{Error, Extent, broadcast_shapes};

/// Maximum tracked rank; larger shapes become unknown, so that a small file cannot use much memory.
pub(crate) const MAX_INFERRED_RANK: usize = 64;

/// Maximum number of symbols in a dimension, and of unranked values in a shape.
const MAX_SYMBOLS: usize = 8;

/// Size of a dimension: known, or symbolic.
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
    Unknown(Symbols),
}

/// Set of unknown sizes that were broadcast to one size.
///
/// The resulting size is the member that is not 1, or 1 if all are. Displays as `M|N`.
///
/// ```
/// # let bytes = unishape_onnx::model_builder::add_model();
/// # let inference = unishape_onnx::infer_shapes(&unishape_onnx::Model::read(&bytes)?);
/// # let z = inference.value("z").and_then(|z| z.shape()).expect("a shape");
/// let unishape_onnx::Dim::Unknown(symbols) = &z[0] else { panic!() };
/// assert_eq!(symbols.to_string(), "N");
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Symbols(Arc<BTreeSet<Symbol>>);

/// One unknown size.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Symbol {
    /// `dim_param`: the same size in all shapes that use the name.
    Named(Arc<str>),
    /// Size of dimension `dim` of the value with id `value`.
    Anonymous { value: usize, dim: usize },
}

impl Dim {
    pub(crate) fn named(name: &str) -> Dim {
        Dim::from_symbol(Symbol::Named(name.into()))
    }

    /// Unknown size of one dimension of a value.
    pub(crate) fn anonymous(value: usize, dim: usize) -> Dim {
        Dim::from_symbol(Symbol::Anonymous { value, dim })
    }

    fn from_symbol(symbol: Symbol) -> Dim {
        Dim::Unknown(Symbols(Arc::new(BTreeSet::from([symbol]))))
    }

    /// Whether the size is known or has a name.
    pub(crate) fn is_known_or_named(&self) -> bool {
        match self {
            Dim::Known(_) => true,
            Dim::Unknown(Symbols(symbols)) => symbols.iter().any(|symbol| matches!(symbol, Symbol::Named(_))),
        }
    }

    pub(crate) fn extent(&self) -> Extent {
        match self {
            Dim::Known(size) => Extent::Known(*size),
            Dim::Unknown(_) => Extent::Unknown,
        }
    }

    /// Common size of two dimensions; `None` if they are incompatible.
    fn broadcast_with(&self, other: &Dim) -> Option<Dim> {
        Some(match (self, other) {
            (Dim::Known(1), other) | (other, Dim::Known(1)) => other.clone(),
            (Dim::Known(a), Dim::Known(b)) if a != b => return None,
            // The unknown size is 1 or equal to the known size.
            (known @ Dim::Known(_), _) | (_, known @ Dim::Known(_)) => known.clone(),
            (Dim::Unknown(Symbols(a)), Dim::Unknown(Symbols(b))) => match () {
                _ if a.is_superset(b) => self.clone(),
                _ if b.is_superset(a) => other.clone(),
                _ => Dim::Unknown(Symbols(Arc::new(a.union(b).cloned().collect()))),
            },
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

/// The size, or the names of the symbols.
impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Known(size) => size.fmt(f),
            Dim::Unknown(symbols) => symbols.fmt(f),
        }
    }
}

/// Names separated by `|`, with `?` for anonymous symbols.
impl fmt::Display for Symbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: BTreeSet<String> = self
            .0
            .iter()
            .map(|symbol| match symbol {
                Symbol::Named(name) => display_name(name),
                Symbol::Anonymous { .. } => "?".into(),
            })
            .collect();
        f.write_str(&names.into_iter().collect::<Vec<_>>().join("|"))
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
        let size = |dim: &Dim| match dim {
            Dim::Known(size) => Some(*size),
            Dim::Unknown(_) => None,
        };
        self.dims()?.iter().map(size).collect()
    }

    /// Replaces parts that exceed the limits by unknown dimensions, or an unknown rank, of `value`.
    pub(crate) fn limited(mut self, value: usize) -> SymbolicShape {
        if self.dims.len() > MAX_INFERRED_RANK || self.unranked.len() > MAX_SYMBOLS {
            return SymbolicShape::unranked(value);
        }
        for (index, dim) in self.dims.iter_mut().enumerate() {
            if matches!(dim, Dim::Unknown(Symbols(symbols)) if symbols.len() > MAX_SYMBOLS) {
                *dim = Dim::anonymous(value, index);
            }
        }
        self
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
        assert_eq!(named(MAX_SYMBOLS).limited(70), named(MAX_SYMBOLS));
        assert_eq!(named(MAX_SYMBOLS + 1).limited(70), SymbolicShape::new(vec![Dim::anonymous(70, 0)]));
        let unranked = |count: usize| all(count, SymbolicShape::unranked);
        assert_eq!(unranked(MAX_SYMBOLS).limited(70), unranked(MAX_SYMBOLS));
        assert_eq!(unranked(MAX_SYMBOLS + 1).limited(70), SymbolicShape::unranked(70));
        assert_eq!(unranked(MAX_SYMBOLS + 2).limited(70), SymbolicShape::unranked(70));
    }

    #[test]
    fn e1_names_the_inputs() {
        let (a, b) = (shape("N 3"), shape("4"));
        let error = broadcast_all([&a, &b], &["a", "b"]).expect_err("E1");
        assert!(error.to_string().contains("dimension 1: a has 3, b has 4"), "{error}");
    }
}
