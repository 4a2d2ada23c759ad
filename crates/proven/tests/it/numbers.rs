//! Compares rule sets, single sizes and counts with their proven programs.

use crate::support::{EDGES, all_rules, cases, extent, size, stride, stride_edges};
use proptest::collection::vec;
use proptest::prelude::*;
use unishape_core::{Extent, Size, broadcast_dim, byte_count, element_count, fits_isize, index_map};
use unishape_oracle::all_shapes;
use unishape_proven as proven;

#[test]
fn rule_sets() {
    for (core, program) in all_rules() {
        assert_eq!(core.is_strict_rank(), program.is_strict_rank());
        assert_eq!(core.min_inputs(), program.min_inputs());
        assert_eq!(core.max_inputs(), program.max_inputs());
        for size in EDGES {
            assert_eq!(core.stretches_to(size), program.stretches_to(size), "{core:?} {size}");
        }
    }
}

/// All extents: the edge sizes, unknown and positive.
fn extents() -> impl Iterator<Item = Extent> {
    EDGES.into_iter().map(Extent::Known).chain([Extent::Unknown, Extent::Positive])
}

#[test]
fn two_sizes_at_the_edges() {
    for (core, program) in all_rules() {
        for (a, b) in EDGES.into_iter().flat_map(|a| EDGES.map(|b| (a, b))) {
            assert_eq!(broadcast_dim(core, a, b), proven::broadcast_dim(program, a, b), "{core:?} {a} {b}");
            assert_eq!(usize::join(core, a, b), proven::join_known(program, a, b), "{core:?} {a} {b}");
        }
        for (a, b) in extents().flat_map(|a| extents().map(move |b| (a, b))) {
            let joined = Extent::join(core, a, b);
            assert_eq!(joined, proven::join_extents(program, a, b), "{core:?} {a:?} {b:?}");
            if let (Extent::Known(size), Extent::Unknown | Extent::Positive) = (a, b) {
                assert_eq!(joined, proven::join_unknown(program, size, b), "{core:?} {a:?} {b:?}");
            }
        }
    }
}

#[test]
fn size_one() {
    let none: [usize; 0] = [];
    assert_eq!(usize::ONE, proven::padded_dim(&none, 0, 0));
    assert_eq!(Extent::ONE, proven::padded_dim::<Extent>(&[], 0, 0));
}

#[test]
fn the_index_map_at_the_edges() {
    for a in EDGES {
        for (b, c) in EDGES.into_iter().flat_map(|b| EDGES.map(|c| (b, c))) {
            assert_eq!(index_map(a, b, c), proven::index_map(a, b, c), "{a} {b} {c}");
        }
    }
}

/// The programs implement the checked arithmetic of the standard library.
#[test]
fn checked_arithmetic_at_the_edges() {
    for (a, b) in EDGES.into_iter().flat_map(|a| EDGES.map(|b| (a, b))) {
        assert_eq!(a.checked_mul(b), proven::checked_mul_usize(a, b), "{a} {b}");
        assert_eq!(isize::try_from(a).ok(), proven::isize_try_from(a), "{a}");
    }
    let edges = stride_edges();
    for (a, b) in edges.iter().flat_map(|&a| edges.iter().map(move |&b| (a, b))) {
        assert_eq!(a.checked_add(b), proven::checked_add_isize(a, b), "{a} {b}");
        assert_eq!(a.checked_mul(b), proven::checked_mul_isize(a, b), "{a} {b}");
    }
}

fn counts_are_equal(shape: &[usize], element: usize) {
    assert_eq!(element_count(shape), proven::element_count(shape), "{shape:?}");
    assert_eq!(byte_count(shape, element), proven::byte_count(shape, element), "{shape:?} of {element}");
    assert_eq!(fits_isize(shape), proven::fits_isize(shape), "{shape:?}");
}

#[test]
fn counts_of_all_small_shapes() {
    for shape in all_shapes(3, 3) {
        for element in EDGES {
            counts_are_equal(&shape, element);
        }
    }
}

#[test]
fn counts_of_three_sizes_at_the_edges() {
    for (a, b) in EDGES.into_iter().flat_map(|a| EDGES.map(|b| (a, b))) {
        for (c, element) in EDGES.into_iter().flat_map(|c| [0, 1, 2, 3, 8].map(|element| (c, element))) {
            counts_are_equal(&[a, b, c], element);
        }
    }
}

/// Shapes with a number of elements near 2⁶⁴.
fn shape_at_the_limit() -> impl Strategy<Value = Vec<usize>> {
    vec(0..=12u32, 0..=12).prop_flat_map(|bits| {
        bits.into_iter().map(|bits| (1usize << bits) - 1..=1 << bits).collect::<Vec<_>>()
    })
}

proptest! {
    #![proptest_config(cases(20_000))]

    #[test]
    fn random_numbers(a in size(), b in size(), c in size(), s in stride(), t in stride()) {
        for (core, program) in all_rules() {
            prop_assert_eq!(broadcast_dim(core, a, b), proven::broadcast_dim(program, a, b));
            prop_assert_eq!(core.stretches_to(a), program.stretches_to(a));
        }
        prop_assert_eq!(index_map(a, b, c), proven::index_map(a, b, c));
        prop_assert_eq!(a.checked_mul(b), proven::checked_mul_usize(a, b));
        prop_assert_eq!(isize::try_from(a).ok(), proven::isize_try_from(a));
        prop_assert_eq!(s.checked_add(t), proven::checked_add_isize(s, t));
        prop_assert_eq!(s.checked_mul(t), proven::checked_mul_isize(s, t));
    }

    #[test]
    fn random_extents(a in extent(), b in extent()) {
        for (core, program) in all_rules() {
            prop_assert_eq!(Extent::join(core, a, b), proven::join_extents(program, a, b));
        }
    }

    #[test]
    fn random_counts(shape in vec(size(), 0..=12), near in shape_at_the_limit(), element in size()) {
        counts_are_equal(&shape, element);
        counts_are_equal(&near, element);
    }
}
