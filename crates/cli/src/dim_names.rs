//! Shapes with names of dimensions: `N,3,H,W`.

use std::collections::BTreeMap;
use unishape::Extent;

/// A shape whose sizes may have names. A name stands for an unknown size.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NamedShape {
    pub(crate) shape: Vec<Extent>,
    pub(crate) names: Vec<Option<String>>,
}

impl NamedShape {
    /// Parses sizes, of which at least one is a name; `None` if the text is something else.
    ///
    /// Sizes are separated by commas or spaces: `N,3,H,W`, `(N, 3)`. Between them, an `x` needs a number beside it, since
    /// it could be part of a name: `Nx3xHxW`, but not `HxW`. A single name is written `(N,)`.
    pub(crate) fn parse(text: &str) -> Option<NamedShape> {
        let trimmed = text.trim();
        let brackets = [('(', ')'), ('[', ']')];
        let inner =
            brackets.iter().find_map(|(open, close)| trimmed.strip_prefix(*open)?.strip_suffix(*close));
        let list = inner.unwrap_or(trimmed).trim();
        let parts: Vec<&str> = match list.strip_suffix(',').unwrap_or(list) {
            list if list.contains(',') => list.split(',').map(str::trim).collect(),
            list if list.contains(char::is_whitespace) => {
                list.split_whitespace().filter(|part| !matches!(*part, "x" | "×" | "*")).collect()
            }
            list if list.contains(['x', '×', '*']) => {
                let parts: Vec<&str> = list.split(['x', '×', '*']).collect();
                let has_size = parts.iter().any(|part| size(part).is_some());
                parts.into_iter().filter(|_| has_size).collect()
            }
            list if inner.is_some() => vec![list],
            _ => return None,
        };
        let mut named = NamedShape { shape: Vec::new(), names: Vec::new() };
        for part in parts {
            match size(part) {
                Some(size) => {
                    named.shape.push(size);
                    named.names.push(None);
                }
                None if is_name(part) => {
                    named.shape.push(Extent::Unknown);
                    named.names.push(Some(part.into()));
                }
                None => return None,
            }
        }
        named.names.iter().any(Option::is_some).then_some(named)
    }

    /// The shape, with a size for each name: those that are given, or small ones that differ.
    pub(crate) fn sized(&self, sizes: &mut BTreeMap<String, usize>) -> Vec<Extent> {
        let size = |(extent, name): (&Extent, &Option<String>)| match name {
            Some(name) => {
                let next = (2..).find(|size| !sizes.values().any(|used| used == size)).unwrap_or(2);
                Extent::Known(*sizes.entry(name.clone()).or_insert(next))
            }
            None => *extent,
        };
        self.shape.iter().zip(&self.names).map(size).collect()
    }
}

fn size(part: &str) -> Option<Extent> {
    match part {
        "?" | "None" | "-1" => Some(Extent::Unknown),
        part => part.parse().ok().map(Extent::Known),
    }
}

fn is_name(part: &str) -> bool {
    part.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && part.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The names of the dimensions of a common shape: where its size is unknown, and all inputs that are not 1 there have
/// the same name.
pub(crate) fn common_names(
    common: &[Extent],
    inputs: &[(&[Extent], &[Option<String>])],
) -> Vec<Option<String>> {
    let name = |dim: usize| {
        let mut found: Option<&String> = None;
        for (shape, names) in inputs {
            let Some(own) = (dim + shape.len()).checked_sub(common.len()) else { continue };
            match (shape[own], names.get(own).and_then(Option::as_ref)) {
                (Extent::Known(1), _) => {}
                (_, Some(name)) if found.is_none_or(|found| found == name) => found = Some(name),
                _ => return None,
            }
        }
        found.cloned()
    };
    let is_unknown = |dim: usize| !matches!(common[dim], Extent::Known(_));
    (0..common.len()).map(|dim| if is_unknown(dim) { name(dim) } else { None }).collect()
}

/// `Nx3xHxW`: names where there are any.
pub(crate) fn named_text(shape: &[Extent], names: &[Option<String>]) -> String {
    let size =
        |(extent, name): (&Extent, &Option<String>)| name.clone().unwrap_or_else(|| extent.to_string());
    let sizes: Vec<String> = shape.iter().zip(names).map(size).collect();
    match sizes.iter().any(|size| size.contains('x')) {
        true => sizes.join(","),
        false if sizes.is_empty() => "()".into(),
        false => sizes.join("x"),
    }
}

#[cfg(test)]
mod tests {
    use super::{NamedShape, common_names, named_text};
    use unishape::{Extent, broadcast_shapes};

    fn text(text: &str) -> Option<String> {
        NamedShape::parse(text).map(|named| named_text(&named.shape, &named.names))
    }

    #[test]
    fn names_are_parsed_in_every_notation() {
        for shape in ["N,3,H,W", "(N, 3, H, W)", "[N,3,H,W,]", "N 3 H W", "N x 3 x H x W", "Nx3xHxW"] {
            assert_eq!(text(shape), Some("Nx3xHxW".into()), "{shape}");
        }
        assert_eq!(text("(batch,)"), Some("batch".into()));
        assert_eq!(text("(max,?)"), Some("max,?".into()));
        for other in ["N", "3,4", "next", "HxW", "8x1y", "3,1y", "", "N,,3", "a-b,3"] {
            assert_eq!(text(other), None, "{other}");
        }
    }

    #[test]
    fn a_name_is_kept_unless_another_input_has_something_else() {
        let common = |texts: &[&str]| {
            let inputs: Vec<NamedShape> =
                texts.iter().map(|text| NamedShape::parse(text).expect("names")).collect();
            let shapes: Vec<&[Extent]> = inputs.iter().map(|input| &input.shape[..]).collect();
            let common = broadcast_shapes(&shapes).expect("compatible");
            let pairs: Vec<_> = inputs.iter().map(|input| (&input.shape[..], &input.names[..])).collect();
            named_text(&common, &common_names(&common, &pairs))
        };
        assert_eq!(common(&["N,3,H,W", "(3,1,W)"]), "Nx3xHxW");
        assert_eq!(common(&["N,H", "M,1,1,H"]), "Mx1xNxH");
        assert_eq!(common(&["N,H", "5,H"]), "5xH");
        assert_eq!(common(&["N,H", "?,H"]), "?xH");
        assert_eq!(common(&["N,H", "N,W"]), "Nx?");
    }
}
