//! Compares stretching one shape to another with the oracle.

use proptest::prelude::*;
use unishape_core::{
    LayoutError, Rules, StretchError, TooLarge, broadcast_strides, byte_count, check_broadcast_to,
    element_count, fits_isize, index_map, padded_dim, source_index, source_offset,
};
use unishape_oracle::{Indices, all_shapes, common_shape, f, rank, row_major, step_1_shape, strategies};
use unishape_oracle::{READINGS, Reading};

fn rules(reading: Reading) -> Rules {
    match reading {
        Reading::Standard => Rules::STANDARD,
        Reading::Sonnx => Rules::SONNX,
    }
}

/// A shape stretches to a target if their common shape is the target (BC-12).
#[test]
fn bc12_exhaustive_over_pairs_of_small_shapes() {
    let shapes = all_shapes(3, 3);
    for reading in READINGS {
        for shape in &shapes {
            for target in &shapes {
                let can = shape.len() <= target.len()
                    && common_shape(reading, &[shape, target]) == Ok(target.clone());
                let answer = check_broadcast_to(rules(reading), shape, target);
                assert_eq!(answer.is_ok(), can, "{reading:?} {shape:?} to {target:?}: {answer:?}");
                match answer {
                    Err(StretchError::Size { dim, size, target: to }) => {
                        assert_eq!(padded_dim(shape, target.len(), dim), size);
                        assert_eq!(target[dim], to);
                        assert_ne!(size, to);
                    }
                    Err(StretchError::Rank { rank, target: to }) => {
                        assert_eq!((rank, to), (shape.len(), target.len()));
                        assert!(rank > to);
                    }
                    Err(StretchError::Length) => panic!("there are no strides"),
                    Ok(()) => {}
                }
                let strides = row_major_strides(shape);
                let mut stretched = vec![99; target.len()];
                let also = broadcast_strides(rules(reading), shape, &strides, target, &mut stretched);
                assert_eq!(also, answer, "broadcast_strides makes the same check");
            }
        }
    }
}

#[test]
fn bc12_strict_rank() {
    let rules = Rules::STANDARD.strict_rank();
    assert_eq!(check_broadcast_to(rules, &[3], &[2, 3]), Err(StretchError::Rank { rank: 1, target: 2 }));
    assert_eq!(check_broadcast_to(rules, &[1, 3], &[2, 3]), Ok(()));
    let mut stretched = [9; 2];
    let short = broadcast_strides(rules, &[3], &[1], &[2, 3], &mut stretched);
    assert_eq!(short, Err(StretchError::Rank { rank: 1, target: 2 }));
    assert_eq!(broadcast_strides(rules, &[1, 3], &[3, 1], &[2, 3], &mut stretched), Ok(()));
    assert_eq!(stretched, [0, 1]);
}

#[test]
fn bc5_padding_is_the_documents_step_1() {
    for shape in all_shapes(3, 3) {
        for ny in shape.len()..6 {
            let padded: Vec<usize> = (0..ny).map(|dim| padded_dim(&shape, ny, dim)).collect();
            assert_eq!(padded, step_1_shape(&shape, ny));
        }
    }
    assert_eq!(padded_dim(&[5usize], 1, 1), 1);
    assert_eq!(padded_dim::<usize>(&[], 0, usize::MAX), 1);
}

#[test]
fn bc7_the_index_map_is_f() {
    for a in 0..4 {
        for b in 0..4 {
            for c in 0..4 {
                assert_eq!(index_map(a, b, c), f(a, b, c));
            }
        }
    }
}

#[test]
fn inconsistent_lengths_are_errors() {
    assert_eq!(source_index(&[2, 2], &[2], &[0], &mut [0, 0]), Err(LayoutError::Length));
    assert_eq!(source_index(&[2], &[2], &[0], &mut []), Err(LayoutError::Length));
    assert_eq!(source_index(&[2], &[2], &[], &mut [0]), Err(LayoutError::Length));
    assert_eq!(
        source_index(&[2], &[2], &[2], &mut [0]),
        Err(LayoutError::Index { dim: 0, index: 2, size: 2 })
    );
    assert_eq!(
        broadcast_strides(Rules::STANDARD, &[2, 2], &[1, 1], &[2], &mut [0]),
        Err(StretchError::Rank { rank: 2, target: 1 })
    );
    assert_eq!(broadcast_strides(Rules::STANDARD, &[2], &[1, 1], &[2], &mut [0]), Err(StretchError::Length));
    assert_eq!(broadcast_strides(Rules::STANDARD, &[2], &[1], &[2], &mut []), Err(StretchError::Length));
    assert_eq!(source_offset(&[2], &[], &[0]), Err(LayoutError::Length));
    assert_eq!(source_offset(&[2], &[1], &[]), Err(LayoutError::Length));
}

#[test]
fn overflowing_offsets_are_errors() {
    let most = usize::MAX;
    assert_eq!(source_offset(&[3], &[isize::MAX], &[2]), Err(LayoutError::Overflow));
    assert_eq!(source_offset(&[3, 3], &[isize::MAX, 1], &[1, 1]), Err(LayoutError::Overflow));
    assert_eq!(source_offset(&[most], &[1], &[most - 1]), Err(LayoutError::Overflow));
    assert_eq!(source_offset(&[most], &[0], &[most - 1]), Ok(0));
    assert_eq!(source_offset(&[3], &[isize::MIN], &[1]), Ok(isize::MIN));
}

#[test]
fn bc14_counts_are_exact_or_an_error() {
    let most = isize::MAX as usize;
    let (fit, too_large) =
        ([&[most][..], &[most, 1, 0], &[]], [&[most, 2][..], &[most + 1], &[most, 0, 3], &[most, 9]]);
    assert!(fit.iter().all(|shape| fits_isize(shape)) && !too_large.iter().any(|shape| fits_isize(shape)));
    assert_eq!(element_count(&[]), Ok(1));
    assert_eq!(element_count(&[usize::MAX]), Ok(usize::MAX));
    // Limits of this machine: 2⁶⁴ or 2³² elements.
    let (root, half, sixteenth) = (1 << (usize::BITS / 2), 1 << (usize::BITS - 1), 1 << (usize::BITS - 4));
    assert_eq!(element_count(&[root, root / 2]), Ok(half));
    assert_eq!(element_count(&[root, root]), Err(TooLarge));
    assert_eq!(element_count(&[0, half, 4]), Ok(0), "0 in any position gives 0");
    assert_eq!(element_count(&[half, 4, 0]), Ok(0));
    assert_eq!(byte_count(&[sixteenth], 15), Ok(15 * sixteenth));
    assert_eq!(byte_count(&[sixteenth], 16), Err(TooLarge));
    assert_eq!(byte_count(&[half, 2], 0), Err(TooLarge), "elements of 0 bytes are counted too");
}

/// Row-major strides of a shape, in elements.
fn row_major_strides(shape: &[usize]) -> Vec<isize> {
    (0..shape.len()).map(|dim| shape[dim + 1..].iter().product::<usize>() as isize).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

/// Stretched strides and the index map `f` give the same offset (BC-7, BC-10).
    #[test]
    fn bc7_bc10_strides_and_index_map_agree(
        shapes in strategies::shapes(1..=3, 0..=5, 0..=4),
        signs in prop::collection::vec(prop::sample::select(vec![-3isize, -1, 1, 2]), 5),
    ) {
        let Ok(common) = common_shape(Reading::Standard, &shapes) else { return Ok(()) };
        for shape in &shapes {
            prop_assert_eq!(check_broadcast_to(Rules::STANDARD, shape, &common), Ok(()));
            let strides: Vec<isize> =
                row_major_strides(shape).iter().zip(&signs).map(|(stride, sign)| stride * sign).collect();
            let mut stretched = vec![99; common.len()];
            prop_assert_eq!(broadcast_strides(Rules::STANDARD, shape, &strides, &common, &mut stretched), Ok(()));
            let pad = rank(&shapes) - shape.len();
            for index in Indices::of(&common) {
                let mut source = vec![99; shape.len()];
                prop_assert_eq!(source_index(shape, &common, &index, &mut source), Ok(()));
                for (dim, &at) in source.iter().enumerate() {
                    prop_assert_eq!(at, f(index[pad + dim], shape[dim], common[pad + dim]));
                }
                row_major(shape, &source); // panics if the source is out of bounds
                let offset: isize = source.iter().zip(&strides).map(|(&at, &stride)| at as isize * stride).sum();
                prop_assert_eq!(source_offset(&common, &stretched, &index), Ok(offset));
            }
        }
    }

    #[test]
    fn arbitrary_arguments_do_not_panic(
        shape in strategies::shape(0..=4, 0..=usize::MAX),
        target in strategies::shape(0..=4, 0..=usize::MAX),
        strides in prop::collection::vec(any::<isize>(), 0..5),
        index in strategies::shape(0..=4, 0..=usize::MAX),
        mut out in strategies::shape(0..=4, 0..=usize::MAX),
    ) {
        let mut signed = vec![0isize; out.len()];
        let _ = check_broadcast_to(Rules::SONNX, &shape, &target);
        let _ = source_index(&shape, &target, &index, &mut out);
        let _ = broadcast_strides(Rules::SONNX, &shape, &strides, &target, &mut signed);
        let _ = source_offset(&target, &strides, &index);
        let exact = shape.iter().try_fold(1u128, |count, &size| count.checked_mul(size as u128));
        let exact = if shape.contains(&0) { Some(0) } else { exact };
        prop_assert_eq!(element_count(&shape).ok().map(|count| count as u128), exact.filter(|&n| n <= usize::MAX as u128));
    }
}
