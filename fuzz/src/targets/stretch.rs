//! Stretches one shape to another: compares with the oracle.
//!
//! Requirements BC-5, BC-7, BC-10, BC-12 and BC-14.

use crate::source::ByteSource;
use unishape_core::{
    LayoutError, Rules, StretchError, broadcast_strides, byte_count, check_broadcast_to, element_count,
    source_index, source_offset,
};
use unishape_oracle::{Reading, common_size, f, step_1_shape};

pub(crate) fn run(bytes: &[u8]) {
    let mut source = ByteSource::new(bytes);
    let (reading, rules) = source.rules();
    let target = source.shape(5);
    let shape = shape(&mut source, &target);
    // Inconsistent lengths must be an error. Each bit makes one slice too long.
    let wrong_lengths = source.byte();
    let length = |bit: u8, length: usize| if wrong_lengths & bit != 0 { length + 1 } else { length };
    let strides: Vec<isize> = (0..length(1, shape.len())).map(|_| source.stride()).collect();
    let index: Vec<usize> =
        (0..length(2, target.len())).map(|dim| index(&mut source, &target, dim)).collect();

    let mut stretched = vec![7; length(4, target.len())];
    let mut from = vec![7; length(8, shape.len())];
    let check = check_broadcast_to(rules, &shape, &target);
    assert_eq!(check, expected_check(reading, rules, &shape, &target));
    let strided = broadcast_strides(rules, &shape, &strides, &target, &mut stretched);
    let at = source_index(&shape, &target, &index, &mut from);
    check_offset(&shape, &strides, &index);
    check_offset(&target, &stretched, &index);
    check_counts(&target, shape.first().copied().unwrap_or(3));

    match strided {
        Err(StretchError::Length) => {
            assert!(wrong_lengths & 5 != 0 && !matches!(check, Err(StretchError::Rank { .. })));
            return;
        }
        other => assert_eq!(other, check),
    }
    let in_bounds =
        index.len() == target.len() && index.iter().zip(&target).all(|(index, size)| index < size);
    assert_eq!(at.is_ok(), in_bounds && from.len() == shape.len() && shape.len() <= target.len());
    if check.is_err() {
        return;
    }
    let pad = target.len() - shape.len();
    for (dim, &stride) in stretched.iter().enumerate() {
        let own = dim.checked_sub(pad).filter(|&own| shape[own] == target[dim]);
        assert_eq!(stride, own.map_or(0, |own| strides[own]), "dimension {dim}");
    }
    if at.is_ok() {
        for (dim, &from) in from.iter().enumerate() {
            assert_eq!(from, f(index[pad + dim], shape[dim], target[pad + dim]), "dimension {dim}");
        }
        // The stretched view and the index map read the same element.
        let through_view = source_offset(&target, &stretched, &index);
        assert_eq!(through_view, source_offset(&shape, &strides, &from));
    }
}

/// A shape that mostly stretches to `target`.
fn shape(source: &mut ByteSource<'_>, target: &[usize]) -> Vec<usize> {
    let rank = source.up_to(6);
    let skip = target.len().saturating_sub(rank);
    let mut own = target.iter().skip(skip).copied();
    (0..rank)
        .map(|_| match (source.byte(), own.next()) {
            (0x00..0x80, Some(size)) => size,
            (0x80..0xc0, _) | (_, None) => 1,
            (0xc0.., Some(_)) => source.size(),
        })
        .collect()
}

/// An index that is mostly in bounds, often near the end.
fn index(source: &mut ByteSource<'_>, shape: &[usize], dim: usize) -> usize {
    let size = shape.get(dim).copied().unwrap_or(1);
    match source.byte() {
        0xff => size,
        byte @ 0xf0..0xff => size.saturating_sub(usize::from(byte - 0xef)),
        byte => usize::from(byte) % size.max(1),
    }
}

fn expected_check(
    reading: Reading,
    rules: Rules,
    shape: &[usize],
    target: &[usize],
) -> Result<(), StretchError> {
    let rank = target.len();
    if shape.len() > rank || (rules.is_strict_rank() && shape.len() < rank) {
        return Err(StretchError::Rank { rank: shape.len(), target: rank });
    }
    let padded = step_1_shape(shape, rank);
    match (0..rank).find(|&dim| common_size(reading, &[padded[dim], target[dim]]) != Some(target[dim])) {
        Some(dim) => Err(StretchError::Size { dim, size: padded[dim], target: target[dim] }),
        None => Ok(()),
    }
}

/// Compares `source_offset` with the same computation in `i128`.
fn check_offset(shape: &[usize], strides: &[isize], index: &[usize]) {
    let fits = |number: i128| isize::try_from(number).is_ok();
    let offset = source_offset(shape, strides, index);
    if strides.len() != shape.len() || index.len() != shape.len() {
        assert_eq!(offset, Err(LayoutError::Length));
        return;
    }
    if let Some(dim) = (0..shape.len()).find(|&dim| index[dim] >= shape[dim]) {
        assert_eq!(offset, Err(LayoutError::Index { dim, index: index[dim], size: shape[dim] }));
        return;
    }
    let (mut sum, mut fit) = (0, true);
    for (&stride, &index) in strides.iter().zip(index) {
        let step = stride as i128 * index as i128;
        fit = fit && fits(step) && fits(sum + step) && (stride == 0 || fits(index as i128));
        sum = if fit { sum + step } else { 0 };
    }
    assert_eq!(offset, if fit { Ok(sum as isize) } else { Err(LayoutError::Overflow) });
}

/// Compares the counts with the same computation in `u128`.
fn check_counts(shape: &[usize], element: usize) {
    let exact = |sizes: &[usize]| {
        let product = sizes.iter().try_fold(1u128, |count, &size| count.checked_mul(size as u128));
        product.and_then(|count| usize::try_from(count).ok())
    };
    let expected = if shape.contains(&0) { Some(0) } else { exact(shape) };
    assert_eq!(element_count(shape).ok(), expected, "{shape:?}");
    assert_eq!(byte_count(shape, element).ok(), expected.and_then(|count| exact(&[count, element])));
}
