//! Compares the common shape with the oracle, published examples and the laws.

use proptest::prelude::*;
use unishape_core::{
    Common, Extent, FastCommon, FoldError, Mismatch, Rules, Size, broadcast_dim, join_shape,
};
use unishape_oracle::{READINGS, Reading, all_shapes, common_shape, common_size, strategies};

fn rules(reading: Reading) -> Rules {
    match reading {
        Reading::Standard => Rules::STANDARD,
        Reading::Sonnx => Rules::SONNX,
    }
}

/// Folds shapes in buffers of length `capacity`; checks that errors change nothing.
fn fold<S: Size, T: AsRef<[S]>>(rules: Rules, shapes: &[T], capacity: usize) -> Result<Vec<S>, FoldError<S>> {
    let (mut sizes, mut from) = (vec![S::ONE; capacity], vec![7; capacity]);
    let mut common = Common::new(rules, &mut sizes, &mut from);
    for shape in shapes {
        let before = (common.shape().to_vec(), common.from().to_vec(), common.inputs());
        if let Err(error) = common.push(shape.as_ref()) {
            assert_eq!(before, (common.shape().to_vec(), common.from().to_vec(), common.inputs()));
            return Err(error);
        }
    }
    common.finish().map(<[S]>::to_vec)
}

/// Checks that `join_shape` gives the same common shape as `Common`.
fn check_join_shape(rules: Rules, shapes: &[&[usize]], expected: Option<&Vec<usize>>) {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let Some((first, rest)) = shapes.split_first() else { return };
    let mut sizes = vec![1; rank - first.len()];
    sizes.extend_from_slice(first);
    let compatible = rest.iter().all(|shape| join_shape(rules, &mut sizes, shape));
    assert_eq!(compatible.then_some(&sizes), expected, "{shapes:?}");
}

/// The fold without owners, in a buffer of this length.
fn fast_fold<S: Size, T: AsRef<[S]>>(rules: Rules, shapes: &[T], capacity: usize) -> Option<Vec<S>> {
    let mut sizes = vec![S::ONE; capacity];
    let mut common = FastCommon::new(rules, &mut sizes);
    shapes.iter().for_each(|shape| common.push(shape.as_ref()));
    assert_eq!(common.inputs(), shapes.len());
    common.finish().then_some(sizes)
}

/// Compares with the oracle: the same shape, or E1 (incompatible shapes).
fn check(reading: Reading, shapes: &[&[usize]]) {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let expected = common_shape(reading, shapes);
    check_join_shape(rules(reading), shapes, expected.as_ref().ok());
    assert_eq!(
        fast_fold(rules(reading), shapes, rank).as_ref(),
        expected.as_ref().ok(),
        "{reading:?} {shapes:?}"
    );
    let strict = rules(reading).strict_rank();
    assert_eq!(fast_fold(strict, shapes, rank), fold(strict, shapes, rank).ok(), "{reading:?} {shapes:?}");
    match fold(rules(reading), shapes, rank) {
        Ok(shape) => assert_eq!(Ok(shape), expected, "{reading:?} {shapes:?}"),
        Err(FoldError::Mismatch(Mismatch { dim, rank: so_far, inputs: [a, b], sizes: [m, n] })) => {
            let incompatible = expected.expect_err("the oracle finds a common shape");
            assert!(incompatible.contains(&(dim + rank - so_far)), "{reading:?} {shapes:?}");
            assert!(a < b, "the earlier input comes first");
            let size = |input: usize| {
                let shape = shapes[input];
                (dim + shape.len()).checked_sub(so_far).map_or(1, |at| shape[at])
            };
            assert_eq!([size(a), size(b)], [m, n], "{reading:?} {shapes:?}");
            assert_eq!(common_size(reading, &[m, n]), None, "the two alone are incompatible");
            let leftmost = common_shape(reading, &shapes[..=b]).expect_err("incompatible up to here")[0];
            assert_eq!(dim, leftmost, "the leftmost dimension up to this input is named");
        }
        Err(other) => panic!("{other:?} for {shapes:?}"),
    }
}

#[test]
fn bc6_bc9_exhaustive_pairs_and_triples_of_small_shapes() {
    let shapes = all_shapes(3, 3);
    assert_eq!(shapes.len(), 85);
    for reading in READINGS {
        for a in &shapes {
            check(reading, &[a]);
            for b in &shapes {
                check(reading, &[a, b]);
                for c in &shapes {
                    check(reading, &[a, b, c]);
                }
            }
        }
    }
}

#[test]
fn bc6_examples_of_the_array_api_page() {
    let examples: [(&[usize], &[usize], &[usize]); 6] = [
        (&[8, 1, 6, 1], &[7, 1, 5], &[8, 7, 6, 5]),
        (&[5, 4], &[1], &[5, 4]),
        (&[5, 4], &[4], &[5, 4]),
        (&[15, 3, 5], &[15, 1, 5], &[15, 3, 5]),
        (&[15, 3, 5], &[3, 5], &[15, 3, 5]),
        (&[15, 3, 5], &[3, 1], &[15, 3, 5]),
    ];
    for (a, b, expected) in examples {
        for reading in READINGS {
            assert_eq!(fold(rules(reading), &[a, b], 4), Ok(expected.to_vec()), "{a:?} with {b:?}");
        }
    }
}

#[test]
fn bc9_counter_examples_of_the_array_api_page() {
    for reading in READINGS {
        assert_eq!(
            fold(rules(reading), &[[3], [4]], 1),
            Err(FoldError::Mismatch(Mismatch { dim: 0, rank: 1, inputs: [0, 1], sizes: [3, 4] }))
        );
        assert_eq!(
            fold(rules(reading), &[&[2, 1][..], &[8, 4, 3]], 3),
            Err(FoldError::Mismatch(Mismatch { dim: 1, rank: 3, inputs: [0, 1], sizes: [2, 4] }))
        );
    }
}

#[test]
fn bc1_number_of_inputs() {
    assert_eq!(fold::<usize, [usize; 0]>(Rules::STANDARD, &[], 3), Ok(vec![]));
    assert_eq!(fold::<usize, [usize; 0]>(Rules::SONNX, &[], 3), Err(FoldError::TooFewInputs { least: 1 }));
    let limit = (1 << 31) - 1;
    let (mut sizes, mut from) = ([1; 1], [0; 1]);
    let mut common = Common::resume(Rules::SONNX, &mut sizes, &mut from, 1, limit - 1);
    assert_eq!(common.push(&[4]), Ok(()));
    assert_eq!(common.push(&[4]), Err(FoldError::TooManyInputs { limit }));
    assert_eq!((common.inputs(), common.shape()), (limit, &[4][..]));
    let mut common = Common::resume(Rules::STANDARD, &mut sizes, &mut from, 1, limit);
    assert_eq!(common.push(&[4]), Ok(()));
}

#[test]
fn default_rules_are_standard() {
    assert_eq!(Rules::default(), Rules::STANDARD);
}

#[test]
fn bc4_rank_zero_and_rank_a_thousand() {
    assert_eq!(fold(Rules::STANDARD, &[[0usize; 0]; 3], 0), Ok(vec![]));
    let alternating = |start: usize| -> Vec<usize> { (0..1000).map(|i| 1 + (i + start) % 2).collect() };
    assert_eq!(fold(Rules::STANDARD, &[alternating(0), alternating(1), vec![]], 1000), Ok(vec![2; 1000]));
}

#[test]
fn buffers_too_short_are_an_error_and_too_long_ones_are_not() {
    assert!(!join_shape(Rules::STANDARD, &mut [1], &[1, 1]));
    assert_eq!(fast_fold(Rules::STANDARD, &[vec![1, 1], vec![1]], 1), None);
    assert_eq!(fast_fold(Rules::STANDARD, &[vec![1], vec![1, 1]], 1), None);
    assert_eq!(fast_fold::<usize, [usize; 0]>(Rules::SONNX, &[], 0), None);
    assert_eq!(fast_fold::<usize, [usize; 0]>(Rules::STANDARD, &[], 0), Some(vec![]));
    for capacity in 0..3 {
        assert_eq!(
            fold(Rules::STANDARD, &[[1, 1, 1]], capacity),
            Err(FoldError::BufferTooSmall { rank: 3, capacity })
        );
    }
    assert_eq!(fold(Rules::STANDARD, &[[2, 1, 1], [1, 1, 3]], 9), Ok(vec![2, 1, 3]));
    // Buffers of unequal length: the shorter one is the limit, and dimensions stay aligned.
    let (mut sizes, mut from) = ([0; 4], [0; 2]);
    let mut common = Common::new(Rules::STANDARD, &mut sizes, &mut from);
    assert_eq!(common.push(&[1, 2, 3]), Err(FoldError::BufferTooSmall { rank: 3, capacity: 2 }));
    assert_eq!(common.push(&[2, 1]), Ok(()));
    assert_eq!(common.push(&[3]), Ok(()));
    assert_eq!((common.shape(), common.from()), (&[2, 3][..], &[0, 1][..]));
    // A fold resumed with a rank but no input: the first shape is still aligned on the right.
    let mut common = Common::resume(Rules::STANDARD, &mut sizes, &mut from, 2, 0);
    assert_eq!(common.push(&[5]).map(|()| common.shape()), Ok(&[1, 5][..]));
    let mut common = Common::resume(Rules::STANDARD, &mut sizes, &mut from, usize::MAX, usize::MAX);
    assert_eq!(common.shape().len(), 2);
    assert_eq!(common.push(&[1]), Err(FoldError::TooManyInputs { limit: usize::MAX }));
}

#[test]
fn strict_rank_rejects_only_unequal_ranks() {
    for a in &all_shapes(2, 2) {
        for b in &all_shapes(2, 2) {
            let strict = fold(Rules::STANDARD.strict_rank(), &[a, b], 2);
            if a.len() == b.len() {
                assert_eq!(strict, fold(Rules::STANDARD, &[a, b], 2));
            } else {
                let (first, rank) = (a.len(), b.len());
                assert_eq!(strict, Err(FoldError::UnequalRank { first, input: 1, rank }));
            }
        }
    }
}

#[test]
fn bc6_the_rule_is_the_maximum_where_no_size_is_zero() {
    for a in 0..6 {
        for b in 0..6 {
            let standard = broadcast_dim(Rules::STANDARD, a, b);
            assert_eq!(standard, common_size(Reading::Standard, &[a, b]));
            assert_eq!(broadcast_dim(Rules::SONNX, a, b), common_size(Reading::Sonnx, &[a, b]));
            if a > 0 && b > 0 && standard.is_some() {
                assert_eq!(standard, Some(a.max(b)));
            }
        }
    }
    assert_eq!(broadcast_dim(Rules::STANDARD, usize::MAX, 1), Some(usize::MAX));
}

/// The sizes that an extent allows, from 0 to 3; 3 represents all larger ones.
fn instances(extent: Extent) -> Vec<usize> {
    match extent {
        Extent::Known(size) => vec![size],
        Extent::Unknown => vec![0, 1, 2, 3],
        Extent::Positive => vec![1, 2, 3],
    }
}

const EXTENTS: [Extent; 6] = [
    Extent::Known(0),
    Extent::Known(1),
    Extent::Known(2),
    Extent::Known(3),
    Extent::Unknown,
    Extent::Positive,
];

#[test]
fn bc13_unknown_sizes_as_the_array_api_propagates_them() {
    use Extent::{Known, Unknown};
    let join = |a, b| Extent::join(Rules::STANDARD, a, b);
    assert_eq!(join(Unknown, Known(1)), Some(Unknown));
    assert_eq!(join(Unknown, Unknown), Some(Unknown));
    assert_eq!(join(Unknown, Known(5)), Some(Known(5)));
    assert_eq!(join(Known(0), Unknown), Some(Known(0)));
    assert_eq!(join(Known(3), Known(4)), None);
}

/// The result for unknown sizes allows exactly the possible common sizes.
///
/// It is E1 only if all actual sizes are incompatible. For all triples, in any order.
#[test]
fn bc13_unknown_sizes_are_sound_and_exact() {
    for reading in READINGS {
        for a in EXTENTS {
            for b in EXTENTS {
                for c in EXTENTS {
                    let given = fold(rules(reading), &[[a], [b], [c]], 1).ok().map(|shape| shape[0]);
                    let mut possible = Vec::new();
                    for x in instances(a) {
                        for y in instances(b) {
                            possible.extend(
                                instances(c).into_iter().filter_map(|z| common_size(reading, &[x, y, z])),
                            );
                        }
                    }
                    possible.sort_unstable();
                    possible.dedup();
                    let mut allowed = given.map(instances).unwrap_or_default();
                    allowed.sort_unstable();
                    assert_eq!(possible, allowed, "{reading:?} {a:?} {b:?} {c:?}");
                    for order in [[a, c, b], [b, a, c], [b, c, a], [c, a, b], [c, b, a]] {
                        let other = fold(rules(reading), &order.map(|x| [x]), 1).ok().map(|shape| shape[0]);
                        assert_eq!(given, other, "{reading:?} {order:?}");
                    }
                }
            }
        }
    }
}

/// The two inputs that E1 names are incompatible on their own.
#[test]
fn bc9_bc13_the_named_inputs_are_at_fault_with_unknown_sizes_too() {
    for reading in READINGS {
        for a in EXTENTS {
            for b in EXTENTS {
                for c in EXTENTS {
                    let inputs = [a, b, c];
                    let result = fold(rules(reading), &inputs.map(|x| [x]), 1);
                    if let Err(FoldError::Mismatch(mismatch)) = result {
                        let [first, second] = mismatch.inputs.map(|input| inputs[input]);
                        assert_eq!(Extent::join(rules(reading), first, second), None, "{inputs:?}");
                        assert_eq!(mismatch.sizes[1], second);
                    }
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn bc6_random_shapes_against_the_oracle(shapes in strategies::shapes(1..=8, 0..=6, 0..=5)) {
        let shapes: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
        for reading in READINGS {
            check(reading, &shapes);
        }
    }

    #[test]
    fn bc11_any_order_gives_the_same_shape(
        (shapes, shuffled) in strategies::shapes(1..=8, 0..=6, 0..=5)
            .prop_flat_map(|shapes| (Just(shapes.clone()), Just(shapes).prop_shuffle())),
    ) {
        for reading in READINGS {
            let (one, other) = (fold(rules(reading), &shapes, 6), fold(rules(reading), &shuffled, 6));
            prop_assert_eq!(one.ok(), other.ok());
        }
    }

    #[test]
    fn bc11_folding_two_at_a_time_gives_the_same_shape(shapes in strategies::shapes(1..=8, 0..=6, 0..=5)) {
        for reading in READINGS {
            let all = fold(rules(reading), &shapes, 6).ok();
            let by_two = shapes[1..].iter().try_fold(shapes[0].clone(), |common, shape| {
                fold(rules(reading), &[&common, shape], 6).ok()
            });
            prop_assert_eq!(all, by_two);
        }
    }

    #[test]
    fn bc11_repeating_inputs_or_the_result_changes_nothing(shapes in strategies::shapes(1..=8, 0..=6, 0..=5)) {
        for reading in READINGS {
            if let Ok(common) = fold(rules(reading), &shapes, 6) {
                let twice: Vec<_> = shapes.iter().chain(&shapes).collect();
                prop_assert_eq!(fold(rules(reading), &twice, 6), Ok(common.clone()));
                prop_assert_eq!(fold(rules(reading), &[&common, &common], 6), Ok(common));
            }
        }
    }

    #[test]
    fn bc11_rank_zero_is_neutral(shape in strategies::shape(0..=6, 0..=5)) {
        prop_assert_eq!(fold(Rules::STANDARD, &[&shape[..], &[]], 6), Ok(shape.clone()));
        prop_assert_eq!(fold(Rules::STANDARD, &[&[], &shape[..]], 6), Ok(shape.clone()));
    }

    #[test]
    fn arbitrary_arguments_do_not_panic(
        shapes in prop::collection::vec(strategies::shape(0..=5, 0..=usize::MAX), 0..5),
        (capacity, rank, inputs) in (0usize..6, any::<usize>(), any::<usize>()),
    ) {
        let (mut sizes, mut from) = (vec![3; capacity], vec![usize::MAX; capacity / 2 + 2]);
        let mut common = Common::resume(Rules::SONNX, &mut sizes, &mut from, rank, inputs);
        for shape in &shapes {
            let _ = common.push(shape);
        }
        let _ = common.finish();
    }
}
