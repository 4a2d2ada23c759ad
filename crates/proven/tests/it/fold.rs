//! Compares `Common`, `join_shape` and `padded_dim` with their proven programs.

use crate::support::{all_rules, any_rules, cases, each_representative_up_to, extent, size};
use proptest::collection::vec;
use proptest::prelude::*;
use unishape_core::{Common, Extent, FastCommon, FoldError, Rules, Size, join_shape, padded_dim};
use unishape_oracle::{all_shapes, strategies};
use unishape_proven::{self as proven, Proven};

type BothRules = (Rules, proven::Rules);

/// A new fold, or one resumed at a rank and a number of inputs.
#[derive(Clone, Copy, Debug)]
enum Start {
    New,
    Resume { rank: usize, inputs: usize },
}

/// Folds the shapes with the core and the programs, in copies of the same buffers.
///
/// Compares the state after each shape and at the end. Skips shapes that are rejected, and returns the
/// first error.
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
    let context = || {
        let shapes: Vec<&[S]> = shapes.iter().map(AsRef::as_ref).collect();
        format!("{rules:?} {start:?} {sizes:?} {from:?} {shapes:?}")
    };
    let mut result = Ok(());
    let assert_same_state = |ours: &Common<'_, S>, theirs: &mut proven::Common<S>| {
        assert_eq!(ours.shape(), theirs.shape(), "{}", context());
        assert_eq!(ours.from(), theirs.from(), "{}", context());
        assert_eq!(ours.inputs(), theirs.inputs(), "{}", context());
    };
    assert_same_state(&ours, &mut theirs);
    for shape in shapes {
        let pushed = ours.push(shape.as_ref());
        assert_eq!(pushed, theirs.push(shape.as_ref()), "{}", context());
        result = result.and(pushed);
        assert_same_state(&ours, &mut theirs);
    }
    let finished = ours.finish().map(<[S]>::to_vec);
    assert_eq!(finished, theirs.finish(), "{}", context());
    assert_eq!((our_sizes, our_from), theirs.buffers(), "{}", context());
    let result = result.and(finished.as_ref().map(drop).map_err(|&error| error));
    if let Start::New = start {
        let largest = shapes.iter().map(|shape| shape.as_ref().len()).max().unwrap_or(0);
        let found = fast_folds_are_equal((rules, their_rules), sizes, shapes);
        if sizes.len().min(from.len()) == largest && sizes.len() == largest {
            // The two folds agree where the buffers are as long as the largest rank.
            assert_eq!(found.as_ref(), result.as_ref().ok().and(finished.as_ref().ok()), "{}", context());
        }
    }
    result
}

/// The same without owners; returns the common shape.
fn fast_folds_are_equal<S: Proven, T: AsRef<[S]>>(
    (rules, their_rules): BothRules,
    sizes: &[S],
    shapes: &[T],
) -> Option<Vec<S>> {
    let mut our_sizes = sizes.to_vec();
    let mut ours = FastCommon::new(rules, &mut our_sizes);
    let mut theirs = proven::FastCommon::new(their_rules, sizes);
    for shape in shapes {
        ours.push(shape.as_ref());
        theirs.push(shape.as_ref());
        assert_eq!(ours.inputs(), theirs.inputs());
    }
    let found = ours.finish();
    assert_eq!((found, our_sizes.clone()), theirs.finish(), "{rules:?} {sizes:?}");
    found.then_some(our_sizes)
}

/// Folds every sequence of `inputs` of these shapes, under all rule sets.
///
/// The buffers have three entries, with initial sizes `other`. Returns the number of folds, and how many
/// of them failed.
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
fn all_small_shapes_up_to_three_inputs() {
    let shapes = all_shapes(3, 3);
    assert_eq!(shapes.len(), 1 + 4 + 16 + 64);
    for inputs in 0..=3 {
        let (folds, failed) = every_fold(&shapes, inputs, 7);
        assert_eq!(folds, 4 * 85usize.pow(inputs as u32));
        assert!(inputs < 2 || (failed > folds / 4 && failed < folds), "{failed} of {folds} failed");
        println!("{folds} folds of {inputs} shapes compared, {failed} of them without a common shape");
    }
}

#[test]
fn all_shapes_with_three_other_sizes() {
    for (rank, inputs, number) in [(3, 1, 156), (3, 2, 156), (2, 3, 31)] {
        let shapes = all_shapes(rank, 4);
        assert_eq!(shapes.len(), number);
        let (folds, failed) = every_fold(&shapes, inputs, 7);
        assert_eq!(folds, 4 * number.pow(inputs as u32));
        println!("{folds} folds of {inputs} shapes compared, {failed} of them without a common shape");
    }
}

/// Folds one of each class of shapes that differ only by a permutation of sizes: `sizes`, and then others.
fn every_representative<S: Proven>(rank: usize, inputs: usize, sizes: &[S], other: fn(usize) -> S) -> usize {
    let mut folds = 0;
    each_representative_up_to(rank, inputs, sizes.len(), &mut |numbers| {
        let size = |&number: &usize| sizes.get(number).copied().unwrap_or_else(|| other(number));
        let shapes: Vec<Vec<S>> = numbers.iter().map(|shape| shape.iter().map(size).collect()).collect();
        for rules in all_rules() {
            let _ = folds_are_equal(rules, (&[other(99); 3], &[9; 3]), Start::New, &shapes);
            folds += 1;
        }
    });
    folds
}

/// These shapes stand for all shapes of these ranks, whatever their sizes are (docs/verification.md).
#[test]
fn all_sizes_up_to_three_inputs_of_rank_three() {
    for (inputs, number) in [(1, 51), (2, 5_249), (3, 992_091)] {
        let folds = every_representative(3, inputs, &[0, 1], |number| number);
        assert_eq!(folds, 4 * number);
        println!("{folds} folds of {inputs} shapes compared, one of each class of sizes");
    }
}

/// The same, where the sizes that are special are also unknown and positive.
#[test]
fn all_sizes_with_unknown_ones() {
    for (rank, inputs, number) in [(3, 1, 173), (3, 2, 41_893), (2, 3, 49_532)] {
        let folds = every_representative(rank, inputs, &EXTENTS[..4], Extent::Known);
        assert_eq!(folds, 4 * number);
        println!("{folds} folds of {inputs} shapes compared, one of each class of sizes");
    }
}

/// A permutation of the sizes other than 0 and 1 commutes with the fold, also with its errors.
fn permutation_commutes<S: Size>(rules: Rules, shapes: &[Vec<S>], permuted: impl Fn(S) -> S) {
    let fold = |shapes: &[Vec<S>]| {
        let (mut sizes, mut from) = ([S::ONE; 12], [0; 12]);
        let mut common = Common::new(rules, &mut sizes, &mut from);
        let errors: Vec<_> = shapes.iter().map(|shape| common.push(shape)).collect();
        (errors, common.shape().to_vec(), common.from().to_vec())
    };
    let all = |shape: &Vec<S>| shape.iter().map(|&size| permuted(size)).collect::<Vec<S>>();
    let (mut errors, shape, from) = fold(shapes);
    for error in &mut errors {
        if let Err(FoldError::Mismatch(mismatch)) = error {
            mismatch.sizes = mismatch.sizes.map(&permuted);
        }
    }
    let permuted: Vec<Vec<S>> = shapes.iter().map(all).collect();
    assert_eq!((errors, all(&shape), from), fold(&permuted), "{rules:?} {shapes:?} {permuted:?}");
}

/// All shapes of rank 0 to `rank` with these sizes.
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
fn all_small_shapes_up_to_three_inputs_with_unknown_sizes() {
    let other = Extent::Known(7);
    for (inputs, rank) in [(0, 3), (1, 3), (2, 3), (3, 2)] {
        let shapes = extents(rank, &EXTENTS);
        let (folds, failed) = every_fold(&shapes, inputs, other);
        assert_eq!(folds, 4 * shapes.len().pow(inputs as u32));
        println!("{folds} folds of {inputs} shapes compared, {failed} of them without a common shape");
    }
    // Three shapes of rank 3 with all six sizes would be 70 million folds; four sizes keep it feasible.
    for sizes in [&EXTENTS[..4], &EXTENTS[2..]] {
        let (folds, failed) = every_fold(&extents(3, sizes), 3, other);
        assert_eq!(folds, 4 * 85 * 85 * 85);
        println!("{folds} folds of 3 shapes compared, {failed} of them without a common shape");
    }
}

/// Buffers of unequal or insufficient length with arbitrary contents, at any rank.
#[test]
fn all_small_shapes_in_all_buffers() {
    let shapes = all_shapes(3, 2);
    let (sizes, from) = ([1, 0, 3, 1, 2], [4, 3, 2, 1, 0]);
    for rules in all_rules() {
        let most = rules.0.max_inputs();
        for (sizes_room, from_room) in (0..=4).flat_map(|a| (0..=4).map(move |b| (a, b))) {
            let buffers = (&sizes[..sizes_room], &from[..from_room]);
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

/// Resumes folds near the limit, which is too high to be reached shape by shape.
#[test]
fn the_maximum_number_of_inputs() {
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
    // For incompatible shapes the sizes are unspecified, but still equal.
    assert_eq!(ours, theirs, "{rules:?} {sizes:?} {shape:?}");
}

#[test]
fn all_pairs_of_small_shapes_joined() {
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
fn padding_of_all_small_shapes() {
    all_shapes(3, 3).iter().for_each(|shape| padded_sizes_are_equal(shape));
    extents(3, &EXTENTS).iter().for_each(|shape| padded_sizes_are_equal(shape));
}

/// Buffers of unequal length with arbitrary contents.
fn buffers<S: Proven>(size: impl Strategy<Value = S>) -> impl Strategy<Value = (Vec<S>, Vec<usize>)> {
    (vec(size, 0..=14), vec(any::<usize>(), 0..=14))
}

/// Buffers that are long enough, so that `BufferTooSmall` is rare.
fn long_buffers<S: Proven>(size: impl Strategy<Value = S>) -> impl Strategy<Value = (Vec<S>, Vec<usize>)> {
    (vec(size, 12..=14), vec(any::<usize>(), 12..=14))
}

/// A new fold, or one resumed at any number of inputs up to the limit.
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

/// Mostly compatible shapes with sizes of all magnitudes, or arbitrary shapes.
fn shapes() -> impl Strategy<Value = Vec<Vec<usize>>> {
    prop_oneof![
        2 => strategies::shapes(0..=6, 0..=12, 0..=3),
        2 => strategies::shapes(0..=6, 0..=12, 0..=usize::MAX),
        1 => strategies::shapes(0..=6, 0..=12, usize::MAX - 2..=usize::MAX),
        1 => vec(vec(size(), 0..=12), 0..=6),
    ]
}

/// As [`shapes`], with some sizes unknown.
fn unknown_shapes() -> impl Strategy<Value = Vec<Vec<Extent>>> {
    (shapes(), any::<u64>()).prop_map(|(shapes, mut bits)| {
        let mut to_extent = |size| {
            bits = bits.rotate_left(7).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
            match bits >> 60 {
                0 | 1 => Extent::Unknown,
                2 => Extent::Positive,
                _ => Extent::Known(size),
            }
        };
        shapes.into_iter().map(|shape| shape.into_iter().map(&mut to_extent).collect()).collect()
    })
}

proptest! {
    #![proptest_config(cases(20_000))]

    #[test]
    fn random_shapes(
        start in start(), any in buffers(size()), long in long_buffers(0..=3usize), shapes in shapes(),
    ) {
        let (rules, start) = start;
        for (sizes, from) in [&any, &long] {
            let _ = folds_are_equal(rules, (sizes, from), start, &shapes);
        }
        let _ = folds_are_equal(rules, (&[1; 12], &[0; 12]), Start::New, &shapes);
        for shape in &shapes {
            joins_are_equal(rules, &long.0, shape);
            joins_are_equal(rules, &any.0, shape);
            padded_sizes_are_equal(shape);
        }
    }

    #[test]
    fn permutations_of_sizes_commute(rules in any_rules(), shapes in unknown_shapes(), swap in (2..9usize, 2..9usize)) {
        let swapped = |size: usize| match size {
            0 | 1 => size,
            size if size == swap.0 => swap.1,
            size if size == swap.1 => swap.0,
            // Its own inverse: from 16 on, numbers are reversed.
            size if size >= 16 => 15usize.wrapping_sub(size),
            size => size,
        };
        permutation_commutes(rules.0, &shapes, |size| match size {
            Extent::Known(size) => Extent::Known(swapped(size)),
            unknown => unknown,
        });
    }

    #[test]
    fn random_shapes_with_unknown_sizes(
        start in start(), any in buffers(extent()), long in long_buffers(extent()), shapes in unknown_shapes(),
    ) {
        let (rules, start) = start;
        for (sizes, from) in [&any, &long] {
            let _ = folds_are_equal(rules, (sizes, from), start, &shapes);
        }
        let _ = folds_are_equal(rules, (&[Extent::ONE; 12], &[0; 12]), Start::New, &shapes);
        for shape in &shapes {
            joins_are_equal(rules, &long.0, shape);
            joins_are_equal(rules, &any.0, shape);
            padded_sizes_are_equal(shape);
        }
    }
}
