//! Random shapes for property tests.

use proptest::collection::vec;
use proptest::prelude::*;
use std::ops::RangeInclusive;

/// A random shape with this range of ranks and sizes.
pub fn shape(rank: RangeInclusive<usize>, size: RangeInclusive<usize>) -> impl Strategy<Value = Vec<usize>> {
    vec(size, rank)
}

/// Random shapes that are mostly compatible.
///
/// Each is a common shape with some sizes replaced by 1 and some leading dimensions dropped. In at
/// most 15 % of cases one size is replaced at random, so that E1 (incompatible shapes) occurs too.
pub fn shapes(
    inputs: RangeInclusive<usize>,
    rank: RangeInclusive<usize>,
    size: RangeInclusive<usize>,
) -> impl Strategy<Value = Vec<Vec<usize>>> {
    (shape(rank, size.clone()), any::<prop::sample::Index>(), prop::option::weighted(0.15, size))
        .prop_flat_map(move |(common, at, wrong)| {
            let rank = common.len();
            let one = (vec(any::<bool>(), rank), 0..=rank);
            vec(one, inputs.clone()).prop_map(move |inputs| {
                let mut shapes: Vec<Vec<usize>> = inputs
                    .into_iter()
                    .map(|(ones, skip)| {
                        let sizes = common.iter().zip(ones).map(|(&size, one)| if one { 1 } else { size });
                        sizes.skip(skip).collect()
                    })
                    .collect();
                let count = shapes.len();
                if let Some(wrong) = wrong
                    && count > 0
                    && let Some(size) = shapes[at.index(count)].last_mut()
                {
                    *size = wrong;
                }
                shapes
            })
        })
}
