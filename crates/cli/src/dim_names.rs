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

    /// The shape, with the sizes of its names.
    pub(crate) fn sized(&self, sizes: &BTreeMap<String, usize>) -> Vec<Extent> {
        let size = |(extent, name): (&Extent, &Option<String>)| {
            name.as_ref().and_then(|name| sizes.get(name)).map_or(*extent, |size| Extent::Known(*size))
        };
        self.shape.iter().zip(&self.names).map(size).collect()
    }
}

/// Gives every name a size that a figure can be drawn with, unless it has one.
///
/// Names take the sizes that they meet in other inputs, so that shapes that may be compatible are. Others are small, and
/// differ.
pub(crate) fn choose_sizes(inputs: &[NamedShape], sizes: &mut BTreeMap<String, usize>) {
    let rank = inputs.iter().map(|input| input.shape.len()).max().unwrap_or(0);
    // The sizes and names of each dimension, from the last one on.
    let columns: Vec<Vec<(Extent, Option<&String>)>> = (1..=rank)
        .map(|from_end| {
            let cells = inputs.iter().filter_map(|input| {
                let at = input.shape.len().checked_sub(from_end)?;
                Some((input.shape[at], input.names[at].as_ref()))
            });
            cells.collect()
        })
        .collect();
    loop {
        let mut is_changed = true;
        while is_changed {
            is_changed = false;
            for column in &columns {
                let size = |(extent, name): &(Extent, Option<&String>)| match (extent, name) {
                    (Extent::Known(size), _) => Some(*size),
                    (_, Some(name)) => sizes.get(*name).copied(),
                    _ => None,
                };
                let Some(met) = column.iter().filter_map(size).find(|size| *size != 1) else { continue };
                for (_, name) in column {
                    if let Some(name) = name.filter(|name| !sizes.contains_key(*name)) {
                        sizes.insert(name.clone(), met);
                        is_changed = true;
                    }
                }
            }
        }
        let mut names = inputs.iter().flat_map(|input| &input.names).flatten();
        let Some(name) = names.find(|name| !sizes.contains_key(*name)) else { return };
        let next = (2..).find(|size| !sizes.values().any(|used| used == size)).unwrap_or(2);
        sizes.insert(name.clone(), next);
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
    use super::{NamedShape, choose_sizes, common_names, named_text};
    use std::collections::BTreeMap;
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

    #[test]
    fn names_take_the_sizes_that_they_meet() {
        let sizes = |texts: &[&str], given: &[(&str, usize)]| {
            let parse = |text: &&str| {
                let shape =
                    || text.split('x').map(|size| Extent::Known(size.parse().expect("a size"))).collect();
                let plain = || NamedShape { shape: shape(), names: vec![None; text.split('x').count()] };
                NamedShape::parse(text).unwrap_or_else(plain)
            };
            let inputs: Vec<NamedShape> = texts.iter().map(parse).collect();
            let mut sizes: BTreeMap<String, usize> =
                given.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect();
            choose_sizes(&inputs, &mut sizes);
            sizes.into_iter().map(|(name, size)| format!("{name}={size}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(sizes(&["N,3,H,W", "3x1x1"], &[]), "H=3 N=2 W=4");
        assert_eq!(sizes(&["N,3,H,W", "3x1x1"], &[("H", 2)]), "H=2 N=3 W=4");
        assert_eq!(sizes(&["N,3", "7x1"], &[]), "N=7");
        assert_eq!(sizes(&["N,H", "N,W"], &[]), "H=3 N=2 W=3");
        assert_eq!(sizes(&["A,B", "B,C", "5x1"], &[]), "A=5 B=5 C=5");
        assert_eq!(sizes(&["N,H", "N,W"], &[("W", 1)]), "H=3 N=2 W=1");
    }
}
