//! Shapes of which not all is known: sizes that only have a name, and ranks that are open.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use unishape::{Error, Extent, broadcast_shapes};

/// Shapes of more dimensions are taken as not known, so that a small file cannot take much memory.
pub(crate) const MOST_DIMENSIONS: usize = 64;

/// Sizes that may be one of more unknown ones than this are unknown themselves.
const MOST_SYMBOLS: usize = 8;

/// A size: a number, or what it is called as long as it is not known.
///
/// ```
/// use unishape_onnx::{Dim, infer};
/// # let bytes = unishape_onnx::build::add_model();
///
/// let inference = infer(&unishape_onnx::Model::read(&bytes)?);
/// let z = inference.value("z").and_then(|z| z.shape()).expect("a shape");
/// assert_eq!((z[0].to_string(), &z[1]), ("N".into(), &Dim::Known(3)));
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Dim {
    /// So many.
    Known(usize),
    /// Not known.
    Unknown(Symbols),
}

/// What unknown sizes make up a size: it is the one of them that is not 1, if any.
///
/// ```
/// # let bytes = unishape_onnx::build::add_model();
/// # let inference = unishape_onnx::infer(&unishape_onnx::Model::read(&bytes)?);
/// # let z = inference.value("z").and_then(|z| z.shape()).expect("a shape");
/// let unishape_onnx::Dim::Unknown(symbols) = &z[0] else { panic!() };
/// assert_eq!(symbols.to_string(), "N");
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Symbols(Arc<BTreeSet<Symbol>>);

/// An unknown size.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Symbol {
    /// One with a name, which it has wherever it is.
    Name(Arc<str>),
    /// That of a dimension of a value, of which nobody knows more.
    Of { value: usize, dim: usize },
}

impl Dim {
    pub(crate) fn name(name: &str) -> Dim {
        Dim::of(Symbol::Name(name.into()))
    }

    /// The size of a dimension of a value, of which nothing else is known.
    pub(crate) fn nameless(value: usize, dim: usize) -> Dim {
        Dim::of(Symbol::Of { value, dim })
    }

    fn of(symbol: Symbol) -> Dim {
        Dim::Unknown(Symbols(Arc::new(BTreeSet::from([symbol]))))
    }

    /// Whether something is said of it: a size, or a name.
    pub(crate) fn says_something(&self) -> bool {
        match self {
            Dim::Known(_) => true,
            Dim::Unknown(Symbols(symbols)) => symbols.iter().any(|symbol| matches!(symbol, Symbol::Name(_))),
        }
    }

    pub(crate) fn extent(&self) -> Extent {
        match self {
            Dim::Known(size) => Extent::Known(*size),
            Dim::Unknown(_) => Extent::Unknown,
        }
    }

    /// The common size of two, `None` where there is none.
    fn joined(&self, other: &Dim) -> Option<Dim> {
        Some(match (self, other) {
            (Dim::Known(1), other) | (other, Dim::Known(1)) => other.clone(),
            (Dim::Known(a), Dim::Known(b)) if a != b => return None,
            // The unknown one is the same, or 1.
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
        matches!(self, Dim::Known(its) if its == size)
    }
}

/// Its size, or its name.
impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Known(size) => size.fmt(f),
            Dim::Unknown(symbols) => symbols.fmt(f),
        }
    }
}

/// Their names, `?` for what has none.
impl fmt::Display for Symbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: BTreeSet<String> = self
            .0
            .iter()
            .map(|symbol| match symbol {
                Symbol::Name(name) => crate::error::named(name),
                Symbol::Of { .. } => "?".into(),
            })
            .collect();
        f.write_str(&names.into_iter().collect::<Vec<_>>().join("|"))
    }
}

/// A shape: its dimensions, and values of which not even the rank is known that it is broadcast with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    dims: Vec<Dim>,
    open: BTreeSet<usize>,
}

impl Shape {
    pub(crate) fn new(dims: Vec<Dim>) -> Shape {
        Shape { dims, open: BTreeSet::new() }
    }

    pub(crate) fn known(sizes: &[usize]) -> Shape {
        Shape::new(sizes.iter().map(|&size| Dim::Known(size)).collect())
    }

    /// That of a value of which nothing is known.
    pub(crate) fn of(value: usize) -> Shape {
        Shape { dims: Vec::new(), open: BTreeSet::from([value]) }
    }

    /// Its dimensions, if the rank is known.
    pub(crate) fn dims(&self) -> Option<&[Dim]> {
        self.open.is_empty().then_some(&self.dims)
    }

    /// Its sizes, if all are known.
    pub(crate) fn sizes(&self) -> Option<Vec<usize>> {
        let size = |dim: &Dim| match dim {
            Dim::Known(size) => Some(*size),
            Dim::Unknown(_) => None,
        };
        self.dims()?.iter().map(size).collect()
    }

    /// The same with what would take too much memory left out: the shape of this value, for what it is worth.
    pub(crate) fn bounded(mut self, value: usize) -> Shape {
        if self.dims.len() > MOST_DIMENSIONS || self.open.len() > MOST_SYMBOLS {
            return Shape::of(value);
        }
        for (at, dim) in self.dims.iter_mut().enumerate() {
            if matches!(dim, Dim::Unknown(Symbols(symbols)) if symbols.len() > MOST_SYMBOLS) {
                *dim = Dim::nameless(value, at);
            }
        }
        self
    }

    /// The common shape of two, `None` where there is none.
    pub(crate) fn joined(&self, other: &Shape) -> Option<Shape> {
        let rank = self.dims.len().max(other.dims.len());
        let one = Dim::Known(1);
        let at = |shape: &Shape, dim: usize| {
            let added = rank - shape.dims.len();
            dim.checked_sub(added).map_or_else(|| one.clone(), |dim| shape.dims[dim].clone())
        };
        let dims = (0..rank).map(|dim| at(self, dim).joined(&at(other, dim))).collect::<Option<Vec<_>>>()?;
        Some(Shape { dims, open: self.open.union(&other.open).copied().collect() })
    }
}

/// The common shape of several; where there is none, E1 in full, with the names.
pub(crate) fn join_all<'s>(
    shapes: impl IntoIterator<Item = &'s Shape> + Clone,
    names: &[&str],
) -> Result<Shape, Error> {
    let mut common = Shape::new(Vec::new());
    for shape in shapes.clone() {
        match common.joined(shape) {
            Some(joined) => common = joined,
            None => {
                let extents: Vec<Vec<Extent>> =
                    shapes.into_iter().map(|shape| shape.dims.iter().map(Dim::extent).collect()).collect();
                return match broadcast_shapes(&extents) {
                    Err(error) => Err(error.named(names)),
                    // Only if the two rules disagreed.
                    Ok(_) => Ok(common),
                };
            }
        }
    }
    Ok(common)
}

/// `NxNx3`, `()` for rank 0, `?` for what is not known at all.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.dims() {
            None => f.write_str("?"),
            Some(dims) => f.write_str(&shape_text(dims)),
        }
    }
}

/// Dimensions as a shape is written: `Nx3`, `()` for none.
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
    // Names of more than a letter would run into the signs between.
    let texts: Vec<String> = dims.iter().map(Dim::to_string).collect();
    let is_plain = |text: &String| text.len() == 1 || text.bytes().all(|byte| byte.is_ascii_digit());
    texts.join(if texts.iter().all(is_plain) { "x" } else { " x " })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Shape {
        let dims = text.split_whitespace().map(|word| match word.parse() {
            Ok(size) => Dim::Known(size),
            Err(_) => Dim::name(word),
        });
        Shape::new(dims.collect())
    }

    #[test]
    fn names_are_kept_where_sizes_are_not_known() {
        let joined = |a: &str, b: &str| shape(a).joined(&shape(b)).map(|shape| shape.to_string());
        assert_eq!(joined("N 1", "3").as_deref(), Some("Nx3"));
        assert_eq!(joined("N 3", "N 1").as_deref(), Some("Nx3"));
        assert_eq!(joined("N", "5").as_deref(), Some("5"));
        assert_eq!(joined("N", "M").as_deref(), Some("M|N"));
        assert_eq!(joined("M", "N"), joined("N", "M"));
        assert_eq!(joined("0", "1").as_deref(), Some("0"));
        assert_eq!(joined("3", "4"), None);
        assert_eq!(joined("batch 2", "").as_deref(), Some("batch x 2"));
        assert_eq!(joined("", "").as_deref(), Some("()"));
    }

    #[test]
    fn open_ranks_are_joined_as_sets() {
        let (a, b) = (Shape::of(0), Shape::of(1));
        let both = a.joined(&b).expect("nothing is known");
        assert_eq!(b.joined(&both), Some(both.clone()));
        assert_ne!(both, a);
        assert_eq!((both.dims(), both.to_string()), (None, "?".into()));
    }

    #[test]
    fn what_would_take_much_memory_is_forgotten() {
        let many = Shape::known(&[1; MOST_DIMENSIONS + 1]).bounded(7);
        assert_eq!(many, Shape::of(7));
        let mut all = shape("");
        for name in 0..=MOST_SYMBOLS {
            all = all.joined(&shape(&format!("n{name}"))).expect("names");
        }
        assert_eq!(all.bounded(7), Shape::new(vec![Dim::nameless(7, 0)]));
    }

    #[test]
    fn e1_has_the_names() {
        let (a, b) = (shape("N 3"), shape("4"));
        let error = join_all([&a, &b], &["a", "b"]).expect_err("E1");
        assert!(error.to_string().contains("dimension 1: a has 3, b has 4"), "{error}");
    }
}
