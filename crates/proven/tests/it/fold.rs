//! Shapes folded into their common shape.

use crate::support::{all_rules, any_rules, cases, extent, size};
use proptest::collection::vec;
use proptest::prelude::*;
use unishape_core::{Common, Extent, FoldError, Rules, Size, join_shape, padded_dim};
use unishape_oracle::{all_shapes, strategies};
use unishape_proven::{self as proven, Proven};

type BothRules = (Rules, proven::Rules);

/// A fold from its beginning, or one carried on at a rank and a number of inputs.
#[derive(Clone, Copy, Debug)]
enum Start {
    New,
    Resume { rank: usize, inputs: usize },
}

/// Folds the shapes by the core and by the programs, in copies of the same buffers, and compares all there
/// is to see after each shape and at the end. A shape that does not fit is passed over, and the first
/// error is given.
fn folds_are_equal<S: Proven, T: AsRef<[S]>>(
    (rules, their_rules): BothRules,
    (sizes, from): (&[S], &[usize]),
    start: Start,
    shapes: &[T],
) -> Result<(), FoldError<S>> {
    let (mut our_sizes, mut our_from) = (sizes.to_vec(), from.to_vec());
    let (mut ours, mut theirs) = match start {
        Start::New => {
            (Common::new(rules, &mut our_sizes, &mut our_from), proven::Common::new(their_rules, sizes, from))
        }
        Start::Resume { rank, inputs } => (
            Common::resume(rules, &mut our_sizes, &mut our_from, rank, inputs),
            proven::Common::resume(their_rules, sizes, from, rank, inputs),
        ),
    };
    let told = || {
        let shapes: Vec<&[S]> = shapes.iter().map(AsRef::as_ref).collect();
        format!("{rules:?} {start:?} {sizes:?} {from:?} {shapes:?}")
    };
    let mut result = Ok(());
    let same_to_see = |ours: &Common<'_, S>, theirs: &mut proven::Common<S>| {
        assert_eq!(ours.shape(), theirs.shape(), "{}", told());
        assert_eq!(ours.from(), theirs.from(), "{}", told());
        assert_eq!(ours.inputs(), theirs.inputs(), "{}", told());
    };
    same_to_see(&ours, &mut theirs);
    for shape in shapes {
        let pushed = ours.push(shape.as_ref());
        assert_eq!(pushed, theirs.push(shape.as_ref()), "{}", told());
        result = result.and(pushed);
        same_to_see(&ours, &mut theirs);
    }
    let finished = ours.finish().map(<[S]>::to_vec);
    assert_eq!(finished, theirs.finish(), "{}", told());
    assert_eq!((our_sizes, our_from), theirs.buffers(), "{}", told());
    result.and(finished.map(drop))
}

/// Folds any number of shapes of these, in every order and under all rules, in buffers of three entries
/// that hold something else. Gives how many folds that were, and how many of them failed.
fn every_fold<S: Proven>(shapes: &[Vec<S>], inputs: usize, other: S) -> (usize, usize) {
    let (mut folds, mut failed) = (0, 0);
    for rules in all_rules() {
        let mut at = vec![0; inputs];
        loop {
            let chosen: Vec<&[S]> = at.iter().map(|&number| &shapes[number][..]).collect();
            let result = folds_are_equal(rules, (&[other; 3], &[9; 3]), Start::New, &chosen);
            folds += 1;
            failed += usize::from(result.is_err());
            let Some(next) = at.iter().rposition(|&number| number + 1 < shapes.len()) else { break };
            at[next] += 1;
            at[next + 1..].fill(0);
        }
    }
    (folds, failed)
}

#[test]
fn every_one_two_or_three_small_shapes() {
    let shapes = all_shapes(3, 3);
    assert_eq!(shapes.len(), 1 + 4 + 16 + 64);
    for inputs in 0..=3 {
        let (folds, failed) = every_fold(&shapes, inputs, 7);
        assert_eq!(folds, 4 * 85usize.pow(inputs as u32));
        assert!(inputs < 2 || (failed > folds / 4 && failed < folds), "{failed} of {folds} failed");
        println!("{folds} folds of {inputs} shapes compared, {failed} of them without a common shape");
    }
}

/// Every shape with at most this rank and these sizes.
fn extents(rank: usize, sizes: &[Extent]) -> Vec<Vec<Extent>> {
    all_shapes(rank, sizes.len() - 1)
        .iter()
        .map(|shape| shape.iter().map(|&number| sizes[number]).collect())
        .collect()
}

const EXTENTS: [Extent; 6] = [
    Extent::Unknown,
    Extent::Positive,
    Extent::Known(0),
    Extent::Known(1),
    Extent::Known(2),
    Extent::Known(3),
];

#[test]
fn every_one_two_or_three_small_shapes_with_unknown_sizes() {
    let other = Extent::Known(7);
    for (inputs, rank) in [(0, 3), (1, 3), (2, 3), (3, 2)] {
        let shapes = extents(rank, &EXTENTS);
        let (folds, failed) = every_fold(&shapes, inputs, other);
        assert_eq!(folds, 4 * shapes.len().pow(inputs as u32));
        println!("{folds} folds of {inputs} shapes compared, {failed} of them without a common shape");
    }
    // Three of rank 3 with any of the six would be 70 million, with any of four they are not.
    for sizes in [&EXTENTS[..4], &EXTENTS[2..]] {
        let (folds, failed) = every_fold(&extents(3, sizes), 3, other);
        assert_eq!(folds, 4 * 85 * 85 * 85);
        println!("{folds} folds of 3 shapes compared, {failed} of them without a common shape");
    }
}

/// In buffers of unequal length and too short, with anything in them, and at any rank.
#[test]
fn every_small_shape_in_every_buffer() {
    let shapes = all_shapes(3, 2);
    let (sizes, from) = ([1, 0, 3, 1, 2], [4, 3, 2, 1, 0]);
    for rules in all_rules() {
        let most = rules.0.max_inputs();
        for (room, other_room) in (0..=4).flat_map(|a| (0..=4).map(move |b| (a, b))) {
            let buffers = (&sizes[..room], &from[..other_room]);
            for shape in &shapes {
                let _ = folds_are_equal(rules, buffers, Start::New, &[shape]);
                for (rank, inputs) in
                    (0..=5).flat_map(|rank| [0, 1, 5, most - 1, most, usize::MAX].map(|n| (rank, n)))
                {
                    let _ = folds_are_equal(rules, buffers, Start::Resume { rank, inputs }, &[shape]);
                }
            }
        }
    }
}

/// The rules' limits are far too high to be reached shape by shape.
#[test]
fn as_many_inputs_as_the_rules_allow() {
    for rules in all_rules() {
        let limit = rules.0.max_inputs();
        for before in 0..4 {
            let start = Start::Resume { rank: 1, inputs: limit - before };
            let result = folds_are_equal(rules, (&[1usize, 1], &[0, 0]), start, &[[1], [5], [5]]);
            let too_many = if before < 3 { Err(FoldError::TooManyInputs { limit }) } else { Ok(()) };
            assert_eq!(result, too_many);
            let start = Start::Resume { rank: 9, inputs: limit - before };
            let shapes = [[Extent::Known(1)], [Extent::Unknown], [Extent::Known(4)]];
            let _ = folds_are_equal(rules, (&[Extent::ONE; 2], &[0, 0]), start, &shapes);
        }
    }
}

fn joins_are_equal<S: Proven>((rules, their_rules): BothRules, sizes: &[S], shape: &[S]) {
    let (mut ours, mut theirs) = (sizes.to_vec(), sizes.to_vec());
    let joined = join_shape(rules, &mut ours, shape);
    assert_eq!(joined, proven::join_shape(their_rules, &mut theirs, shape), "{rules:?} {sizes:?} {shape:?}");
    // Where they are incompatible the sizes mean nothing, but they are the same nothing.
    assert_eq!(ours, theirs, "{rules:?} {sizes:?} {shape:?}");
}

#[test]
fn every_small_shape_joined_to_every_other() {
    for rules in all_rules() {
        let shapes = all_shapes(3, 3);
        for (sizes, shape) in shapes.iter().flat_map(|a| shapes.iter().map(move |b| (a, b))) {
            joins_are_equal(rules, sizes, shape);
        }
        let shapes = extents(3, &EXTENTS);
        for (sizes, shape) in shapes.iter().flat_map(|a| shapes.iter().map(move |b| (a, b))) {
            joins_are_equal(rules, sizes, shape);
        }
    }
}

fn padded_sizes_are_equal<S: Proven>(shape: &[S]) {
    let most = i32::MAX as usize;
    for rank in (0..=6).chain([most - 1, most]) {
        for dim in (0..=6).chain([most - 4, most - 3, most - 2, most - 1, most]) {
            let ours = padded_dim(shape, rank, dim);
            assert_eq!(ours, proven::padded_dim(shape, rank, dim), "{shape:?} {rank} {dim}");
        }
    }
}

#[test]
fn step_1_for_every_small_shape() {
    all_shapes(3, 3).iter().for_each(|shape| padded_sizes_are_equal(shape));
    extents(3, &EXTENTS).iter().for_each(|shape| padded_sizes_are_equal(shape));
}

/// Buffers of unequal length with anything in them.
fn buffers<S: Proven>(size: impl Strategy<Value = S>) -> impl Strategy<Value = (Vec<S>, Vec<usize>)> {
    (vec(size, 0..=14), vec(any::<usize>(), 0..=14))
}

/// Roomy ones, so that more than the lack of room is seen.
fn roomy<S: Proven>(size: impl Strategy<Value = S>) -> impl Strategy<Value = (Vec<S>, Vec<usize>)> {
    (vec(size, 12..=14), vec(any::<usize>(), 12..=14))
}

/// From the beginning, or from anywhere up to the limit of the rules.
fn start() -> impl Strategy<Value = (BothRules, Start)> {
    (any_rules(), 0..=16usize, any::<usize>(), 0..=4usize).prop_map(|(rules, rank, any, kind)| {
        let most = rules.0.max_inputs();
        let resume = |inputs| Start::Resume { rank, inputs };
        let start = match kind {
            0 | 1 => Start::New,
            2 => resume(any % 3),
            3 => resume(any.min(most)),
            _ => resume(most - any % 4),
        };
        (rules, start)
    })
}

/// Shapes that mostly go together, of small sizes, of sizes of all magnitudes, or anything at all.
fn shapes() -> impl Strategy<Value = Vec<Vec<usize>>> {
    prop_oneof![
        2 => strategies::shapes(0..=6, 0..=12, 0..=3),
        2 => strategies::shapes(0..=6, 0..=12, 0..=usize::MAX),
        1 => strategies::shapes(0..=6, 0..=12, usize::MAX - 2..=usize::MAX),
        1 => vec(vec(size(), 0..=12), 0..=6),
    ]
}

/// The same with some sizes not known yet.
fn unknown_shapes() -> impl Strategy<Value = Vec<Vec<Extent>>> {
    (shapes(), any::<u64>()).prop_map(|(shapes, mut bits)| {
        let mut hide = |size| {
            bits = bits.rotate_left(7).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
            match bits >> 60 {
                0 | 1 => Extent::Unknown,
                2 => Extent::Positive,
                _ => Extent::Known(size),
            }
        };
        shapes.into_iter().map(|shape| shape.into_iter().map(&mut hide).collect()).collect()
    })
}

proptest! {
    #![proptest_config(cases(20_000))]

    #[test]
    fn random_shapes(
        start in start(), any in buffers(size()), roomy in roomy(0..=3usize), shapes in shapes(),
    ) {
        let (rules, start) = start;
        for (sizes, from) in [&any, &roomy] {
            let _ = folds_are_equal(rules, (sizes, from), start, &shapes);
        }
        let _ = folds_are_equal(rules, (&[1; 12], &[0; 12]), Start::New, &shapes);
        for shape in &shapes {
            joins_are_equal(rules, &roomy.0, shape);
            joins_are_equal(rules, &any.0, shape);
            padded_sizes_are_equal(shape);
        }
    }

    #[test]
    fn random_shapes_with_unknown_sizes(
        start in start(), any in buffers(extent()), roomy in roomy(extent()), shapes in unknown_shapes(),
    ) {
        let (rules, start) = start;
        for (sizes, from) in [&any, &roomy] {
            let _ = folds_are_equal(rules, (sizes, from), start, &shapes);
        }
        let _ = folds_are_equal(rules, (&[Extent::ONE; 12], &[0; 12]), Start::New, &shapes);
        for shape in &shapes {
            joins_are_equal(rules, &roomy.0, shape);
            joins_are_equal(rules, &any.0, shape);
            padded_sizes_are_equal(shape);
        }
    }
}
