//! Compares the stretching of one shape to another with the proven programs.

use crate::support::{all_rules, any_rules, cases, each_representative_up_to, size, stride};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use unishape_core::{Rules, broadcast_strides, check_broadcast_to, padded_dim, source_index, source_offset};
use unishape_oracle::{Indices, all_shapes, strategies};
use unishape_proven as proven;

/// Distinct strides, in elements: positive, negative and 0.
const STRIDES: [isize; 6] = [-6, 1, 0, -1, isize::MIN, isize::MAX];

/// Compares `check_broadcast_to` and `broadcast_strides`.
fn stretches_are_equal(
    (rules, their_rules): (Rules, proven::Rules),
    shape: &[usize],
    strides: &[isize],
    target: &[usize],
    out_length: usize,
) {
    let context = || format!("{rules:?} {shape:?} {strides:?} {target:?} {out_length}");
    let ours = check_broadcast_to(rules, shape, target);
    assert_eq!(ours, proven::check_broadcast_to(their_rules, shape, target), "{}", context());
    let (mut ours, mut theirs) = (vec![77; out_length], vec![77; out_length]);
    let answer = broadcast_strides(rules, shape, strides, target, &mut ours);
    let their_answer = proven::broadcast_strides(their_rules, shape, strides, target, &mut theirs);
    assert_eq!(answer, their_answer, "{}", context());
    assert_eq!(ours, theirs, "{}", context());
}

/// Compares `source_index` and `check_index`.
fn sources_are_equal(shape: &[usize], target: &[usize], index: &[usize], out_length: usize) {
    let (mut ours, mut theirs) = (vec![77; out_length], vec![77; out_length]);
    let answer = source_index(shape, target, index, &mut ours);
    let their_answer = proven::source_index(shape, target, index, &mut theirs);
    assert_eq!(answer, their_answer, "{shape:?} {target:?} {index:?} {out_length}");
    assert_eq!(ours, theirs, "{shape:?} {target:?} {index:?} {out_length}");
    if out_length == shape.len() && shape.len() <= target.len() {
        // `check_index` is private in the core, so compare its program with `source_index`.
        assert_eq!(answer, proven::check_index(target, index), "{target:?} {index:?}");
    }
}

fn offsets_are_equal(target: &[usize], strides: &[isize], index: &[usize]) {
    let ours = source_offset(target, strides, index);
    assert_eq!(ours, proven::source_offset(target, strides, index), "{target:?} {strides:?} {index:?}");
}

#[test]
fn all_pairs_of_small_shapes() {
    let shapes = all_shapes(3, 4);
    let mut compared = 0;
    for rules in all_rules() {
        for (shape, target) in shapes.iter().flat_map(|a| shapes.iter().map(move |b| (a, b))) {
            // Correct lengths, and lengths off by one.
            for strides in shape.len().saturating_sub(1)..=shape.len() + 1 {
                for out_length in target.len().saturating_sub(1)..=target.len() + 1 {
                    stretches_are_equal(rules, shape, &STRIDES[..strides], target, out_length);
                    compared += 1;
                }
            }
        }
    }
    println!("{compared} shapes with strides stretched");
}

/// One of each class of shapes that differ only by a permutation of the sizes other than 0 and 1: these stand for all
/// shapes of these ranks (docs/verification.md).
#[test]
fn all_sizes_of_two_shapes_of_rank_three() {
    let mut compared = 0;
    each_representative_up_to(3, 2, 2, &mut |shapes| {
        for rules in all_rules() {
            stretches_are_equal(rules, shapes[0], &STRIDES[..shapes[0].len()], shapes[1], shapes[1].len());
            compared += 1;
        }
    });
    assert_eq!(compared, 4 * 5_249);
}

/// All indices with entries from 0 to the size itself, which is out of bounds.
fn indices(target: &[usize]) -> Indices {
    Indices::of(&target.iter().map(|&size| size + 1).collect::<Vec<_>>())
}

#[test]
fn all_indices_of_all_small_shapes_stretched_to_all_others() {
    let shapes = all_shapes(3, 3);
    let mut compared = 0;
    for target in &shapes {
        for index in indices(target) {
            for shape in &shapes {
                sources_are_equal(shape, target, &index, shape.len());
                compared += 1;
            }
        }
    }
    println!("{compared} indices mapped");
}

#[test]
fn all_wrong_lengths() {
    let (three, index) = ([3, 2, 4, 5], [2, 1, 3, 4]);
    for (shape, target) in (0..=4).flat_map(|a| (0..=4).map(move |b| (a, b))) {
        for (index_length, out_length) in (0..=4).flat_map(|a| (0..=4).map(move |b| (a, b))) {
            sources_are_equal(&three[..shape], &three[..target], &index[..index_length], out_length);
            offsets_are_equal(&three[..target], &STRIDES[..out_length], &index[..index_length]);
            offsets_are_equal(&three[..target], &STRIDES[..out_length], &[9, 9, 9, 9][..index_length]);
            for rules in all_rules() {
                let strides = &STRIDES[..index_length];
                stretches_are_equal(rules, &three[..shape], strides, &three[..target], out_length);
            }
        }
    }
}

#[test]
fn all_indices_of_all_small_shapes_with_strides() {
    let half = isize::MAX / 2;
    let strides = [[-6, 1, -2], [0, -1, 3], [half, half, half], [-half, -half, -half], [isize::MIN, -1, 0]];
    for target in all_shapes(3, 3) {
        for index in indices(&target) {
            for strides in &strides {
                offsets_are_equal(&target, &strides[..target.len()], &index);
            }
        }
    }
}

#[test]
fn padding_of_all_small_shapes() {
    let most = i32::MAX as usize;
    for shape in all_shapes(3, 3) {
        for rank in (0..=6).chain([most - 1, most]) {
            for dim in (0..=6).chain([most - 4, most - 3, most - 2, most - 1, most]) {
                let ours: usize = padded_dim(&shape, rank, dim);
                assert_eq!(ours, proven::padded_known_dim(&shape, rank, dim), "{shape:?} {rank} {dim}");
            }
        }
    }
}

/// A shape and a target shape, mostly one that the shape stretches to.
fn shape_and_target() -> impl Strategy<Value = (Vec<usize>, Vec<usize>)> {
    let mostly =
        (vec((size(), any::<bool>()), 0..=12), any::<Index>(), 0..=9usize).prop_map(|(sizes, skip, kind)| {
            let target: Vec<usize> = sizes.iter().map(|&(size, _)| size).collect();
            let shape = sizes.iter().map(|&(size, one)| if one { 1 } else { size });
            let mut shape: Vec<usize> = shape.skip(skip.index(sizes.len() + 1)).collect();
            // Sometimes change a size, so that it does not stretch.
            if kind == 0
                && let Some(size) = shape.last_mut()
            {
                *size = size.wrapping_add(1);
            }
            (shape, target)
        });
    let any = (strategies::shape(0..=12, 0..=2), strategies::shape(0..=12, 0..=2));
    prop_oneof![4 => mostly, 1 => any]
}

/// Truncates `all` to `length`, or to the wrong length if one is given.
fn resized<T: Clone>(mut all: Vec<T>, length: usize, wrong: Option<usize>) -> Vec<T> {
    all.truncate(wrong.unwrap_or(length));
    all
}

fn wrong_length() -> impl Strategy<Value = Option<usize>> {
    prop::option::weighted(0.1, 0..=13usize)
}

/// An index that is mostly in bounds, often the last one.
fn index_of(target: &[usize], parts: &[(Index, u8)]) -> Vec<usize> {
    let entry = |(&size, &(part, kind)): (&usize, &(Index, u8))| match kind {
        0..=5 => 0,
        6..=25 => size.saturating_sub(1),
        26 => size,
        _ => part.index(size.max(1)),
    };
    target.iter().zip(parts).map(entry).collect()
}

proptest! {
    #![proptest_config(cases(20_000))]

    #[test]
    fn random_shapes_and_strides(
        rules in any_rules(),
        shape_and_target in shape_and_target(),
        strides in vec(stride(), 13),
        wrong in (wrong_length(), wrong_length()),
    ) {
        let (shape, target) = shape_and_target;
        let strides = resized(strides, shape.len(), wrong.0);
        stretches_are_equal(rules, &shape, &strides, &target, wrong.1.unwrap_or(target.len()));
    }

    #[test]
    fn random_indices(
        shape_and_target in shape_and_target(),
        parts in vec((any::<Index>(), 0..120u8), 13),
        wrong in (wrong_length(), wrong_length()),
    ) {
        let (shape, target) = shape_and_target;
        let index = index_of(&target, &parts);
        let index = resized(index, target.len(), wrong.0);
        sources_are_equal(&shape, &target, &index, wrong.1.unwrap_or(shape.len()));
    }

    #[test]
    fn random_offsets(
        target in vec(prop_oneof![1..=9usize, size(), Just(usize::MAX)], 0..=12),
        parts in vec((any::<Index>(), 0..120u8), 13),
        strides in vec(stride(), 13),
        small in vec(-(1 << 50)..1isize << 50, 13),
        wrong in (wrong_length(), wrong_length()),
    ) {
        let index = resized(index_of(&target, &parts), target.len(), wrong.0);
        for strides in [strides, small] {
            offsets_are_equal(&target, &resized(strides, target.len(), wrong.1), &index);
        }
    }
}
