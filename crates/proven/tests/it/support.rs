//! Rule sets, edge cases and strategies for all comparisons.

use proptest::prelude::*;
use unishape_core::{Extent, Rules};
use unishape_oracle::Indices;
use unishape_proven as proven;

/// All rule sets: the core's and the programs' representation.
pub(crate) fn all_rules() -> [(Rules, proven::Rules); 4] {
    let standard = (Rules::STANDARD, proven::Rules::standard());
    let sonnx = (Rules::SONNX, proven::Rules::sonnx());
    let strict = |(core, program): (Rules, proven::Rules)| (core.strict_rank(), program.strict_rank());
    [standard, sonnx, strict(standard), strict(sonnx)]
}

pub(crate) fn any_rules() -> impl Strategy<Value = (Rules, proven::Rules)> {
    (0..4usize).prop_map(|which| all_rules()[which])
}

/// Calls `visit` with the shapes of these ranks, one of each class of those that differ only by a permutation of the
/// sizes from `fixed` on: further sizes occur in the order `fixed`, `fixed + 1`, and so on.
pub(crate) fn each_representative(ranks: &[usize], fixed: usize, visit: &mut impl FnMut(&[&[usize]])) {
    fn extend(sizes: &mut [usize], at: usize, known: usize, visit: &mut impl FnMut(&[usize])) {
        if at == sizes.len() {
            return visit(sizes);
        }
        for size in 0..=known {
            sizes[at] = size;
            extend(sizes, at + 1, known.max(size + 1), visit);
        }
    }
    extend(&mut vec![0; ranks.iter().sum()], 0, fixed, &mut |sizes| {
        let mut rest = sizes;
        let shapes: Vec<&[usize]> =
            ranks.iter().map(|&rank| rest.split_off(..rank).expect("enough sizes")).collect();
        visit(&shapes);
    });
}

/// The same for all ranks up to `rank` of this number of shapes.
pub(crate) fn each_representative_up_to(
    rank: usize,
    inputs: usize,
    fixed: usize,
    visit: &mut impl FnMut(&[&[usize]]),
) {
    for ranks in Indices::of(&vec![rank + 1; inputs]) {
        each_representative(&ranks, fixed, visit);
    }
}

/// Sizes, indices and counts at edges: small, and near 2³¹, 2³², 2⁶³ and 2⁶⁴.
pub(crate) const EDGES: [usize; 17] = [
    0,
    1,
    2,
    3,
    4,
    (1 << 31) - 2,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    (1 << 32) + 1,
    (1 << 63) - 1,
    1 << 63,
    (1 << 63) + 1,
    usize::MAX / 3,
    usize::MAX - 1,
    usize::MAX,
];

/// Strides at the same edges, of both signs.
pub(crate) fn stride_edges() -> Vec<isize> {
    let positive = EDGES.iter().filter_map(|&edge| isize::try_from(edge).ok());
    let mut edges: Vec<isize> = positive.flat_map(|edge| [edge, -edge]).chain([isize::MIN]).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// Sizes of every magnitude, mostly small ones so that equal sizes occur often.
pub(crate) fn size() -> impl Strategy<Value = usize> {
    prop_oneof![4 => 0..=3usize, 2 => prop::sample::select(&EDGES[..]), 1 => any::<usize>()]
}

pub(crate) fn stride() -> impl Strategy<Value = isize> {
    prop_oneof![
        4 => -3..=3isize,
        2 => prop::sample::select(stride_edges()),
        1 => any::<isize>(),
        1 => -(1 << 40)..(1isize << 40),
    ]
}

/// Extents, mostly known ones.
pub(crate) fn extent() -> impl Strategy<Value = Extent> {
    prop_oneof![5 => size().prop_map(Extent::Known), 1 => Just(Extent::Unknown), 1 => Just(Extent::Positive)]
}

/// A proptest configuration with this number of cases.
pub(crate) fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}
