//! Folds shapes into their common shape: compares with the oracle.
//!
//! Requirements BC-1, BC-4, BC-6, BC-9, BC-11 and BC-13.

use crate::source::ByteSource;
use unishape_core::{Common, Extent, FoldError, Mismatch, Rules, Size, join_shape, padded_dim};
use unishape_oracle::{Reading, common_shape, common_size};

type FoldResult<S> = Result<Vec<S>, FoldError<S>>;

pub(crate) fn run(bytes: &[u8]) {
    let mut source = ByteSource::new(bytes);
    let (reading, rules) = source.rules();
    // The buffers' lengths may be too short, too long or unequal.
    let capacities = [source.up_to(7), source.up_to(7)];
    let inputs = source.up_to(4);
    let goal = source.shape(5);
    let shapes: Vec<Vec<Extent>> = (0..inputs).map(|_| shape(&mut source, &goal)).collect();

    let rank = shapes.iter().map(Vec::len).max().unwrap_or(0);
    let folded = fold(rules, &shapes, [rank; 2]);
    check_extents(reading, rules, &shapes, rank, &folded);
    check_join_shape(rules, &shapes, rank, &folded);
    check_capacity(rules, &shapes, rank, capacities, &folded);

    let known: Option<Vec<Vec<usize>>> =
        shapes.iter().map(|shape| shape.iter().map(|&size| known(size)).collect()).collect();
    if let Some(known) = known {
        check_sizes(reading, rules, &known, &folded);
    }
}

/// A shape that is mostly compatible with `goal`.
fn shape(source: &mut ByteSource<'_>, goal: &[usize]) -> Vec<Extent> {
    let rank = source.up_to(goal.len());
    let mut shape = Vec::new();
    for &size in &goal[goal.len() - rank..] {
        shape.push(match source.byte() {
            0x00..0x60 => Extent::Known(size),
            0x60..0xa0 => Extent::Known(1),
            0xa0..0xc0 => Extent::Unknown,
            0xc0..0xd0 => Extent::Positive,
            0xd0.. => Extent::Known(source.size()),
        });
    }
    shape
}

fn known(size: Extent) -> Option<usize> {
    match size {
        Extent::Known(size) => Some(size),
        Extent::Unknown | Extent::Positive => None,
    }
}

/// Folds all shapes. Checks that an error changes nothing.
fn fold<S: Size>(rules: Rules, shapes: &[Vec<S>], [sizes, from]: [usize; 2]) -> FoldResult<S> {
    let (mut sizes, mut from) = (vec![S::ONE; sizes], vec![7; from]);
    let mut common = Common::new(rules, &mut sizes, &mut from);
    for shape in shapes {
        let before = (common.shape().to_vec(), common.from().to_vec(), common.inputs());
        if let Err(error) = common.push(shape) {
            assert_eq!(before, (common.shape().to_vec(), common.from().to_vec(), common.inputs()));
            return Err(error);
        }
    }
    common.finish().map(<[S]>::to_vec)
}

/// Checks that the result allows exactly the common sizes that are possible.
fn check_extents(
    reading: Reading,
    rules: Rules,
    shapes: &[Vec<Extent>],
    rank: usize,
    folded: &FoldResult<Extent>,
) {
    let other_rank = shapes.iter().position(|shape| shape.len() != shapes[0].len());
    match folded {
        Ok(common) => {
            assert!(shapes.len() >= rules.min_inputs());
            assert!(!rules.is_strict_rank() || other_rank.is_none());
            assert_eq!(common.len(), rank);
            for (dim, &size) in common.iter().enumerate() {
                let column = column(shapes, rank, dim);
                let (allowed, possible) = possible(reading, &column, size);
                assert_eq!(allowed, possible, "{reading:?} {column:?} {size:?}");
            }
            // BC-11: the order does not matter.
            let reversed: Vec<_> = shapes.iter().rev().cloned().collect();
            assert_eq!(fold(rules, &reversed, [rank; 2]).as_ref(), Ok(common));
        }
        Err(FoldError::Mismatch(Mismatch { dim, rank, inputs: [a, b], sizes })) => {
            assert!(a < b && *b < shapes.len());
            let column = column(&shapes[..=*b], *rank, *dim);
            assert_eq!(column[*b], sizes[1]);
            assert_eq!(
                possible(reading, &column, Extent::Unknown).1,
                Vec::<usize>::new(),
                "{reading:?} {column:?}"
            );
            // The two named inputs are incompatible on their own.
            let two = [column[*a], column[*b]];
            assert_eq!(
                possible(reading, &two, Extent::Unknown).1,
                Vec::<usize>::new(),
                "{reading:?} {two:?}"
            );
        }
        Err(FoldError::UnequalRank { first, input, rank }) => {
            assert!(rules.is_strict_rank());
            assert_eq!((Some(*input), *first, *rank), (other_rank, shapes[0].len(), shapes[*input].len()));
        }
        Err(FoldError::TooFewInputs { least }) => assert!(shapes.len() < *least),
        Err(other) => panic!("{other:?} for {shapes:?}"),
    }
}

/// The sizes of all shapes in one dimension.
fn column(shapes: &[Vec<Extent>], rank: usize, dim: usize) -> Vec<Extent> {
    shapes.iter().map(|shape| padded_dim(shape, rank, dim)).collect()
}

/// The sizes that `result` allows, and the possible common sizes of a dimension.
///
/// Considers the sizes 0, 1, the known ones in `column`, and one other size.
fn possible(reading: Reading, column: &[Extent], result: Extent) -> (Vec<usize>, Vec<usize>) {
    let sizes = column.iter().copied().filter_map(known);
    let mut universe: Vec<usize> = sizes.chain([0, 1, 12_345]).collect();
    universe.sort_unstable();
    universe.dedup();
    let instances = |extent: Extent| match extent {
        Extent::Known(size) => vec![size],
        Extent::Unknown => universe.clone(),
        Extent::Positive => universe.iter().copied().filter(|&size| size > 0).collect(),
    };
    let mut choices = vec![Vec::new()];
    for &extent in column {
        let longer = |choice: &Vec<usize>| {
            let choice = choice.clone();
            instances(extent).into_iter().map(move |size| [&choice[..], &[size]].concat())
        };
        choices = choices.iter().flat_map(longer).collect();
    }
    let mut possible: Vec<usize> = choices.iter().filter_map(|sizes| common_size(reading, sizes)).collect();
    possible.sort_unstable();
    possible.dedup();
    (instances(result), possible)
}

/// Checks that `join_shape` gives the same common shape.
fn check_join_shape(rules: Rules, shapes: &[Vec<Extent>], rank: usize, folded: &FoldResult<Extent>) {
    let Some((first, rest)) = shapes.split_first() else { return };
    if rules.is_strict_rank() {
        return; // join_shape ignores strict rank
    }
    let mut sizes = vec![Extent::ONE; rank - first.len()];
    sizes.extend_from_slice(first);
    let compatible = rest.iter().all(|shape| join_shape(rules, &mut sizes, shape));
    assert_eq!(compatible.then_some(&sizes), folded.as_ref().ok(), "{shapes:?}");
}

/// Checks that buffers of any length give the same result, or `BufferTooSmall`.
fn check_capacity(
    rules: Rules,
    shapes: &[Vec<Extent>],
    rank: usize,
    capacities: [usize; 2],
    folded: &FoldResult<Extent>,
) {
    let least = capacities[0].min(capacities[1]);
    match fold(rules, shapes, capacities) {
        Err(FoldError::BufferTooSmall { rank: needed, capacity }) => {
            assert!(needed > capacity && needed <= rank && capacity == least);
        }
        other => assert_eq!(&other, folded),
    }
    if least >= rank {
        assert_eq!(&fold(rules, shapes, capacities), folded);
    }
}

/// Checks that known sizes give the same result as `usize` and as the oracle.
fn check_sizes(reading: Reading, rules: Rules, shapes: &[Vec<usize>], folded: &FoldResult<Extent>) {
    let rank = shapes.iter().map(Vec::len).max().unwrap_or(0);
    let plain = fold(rules, shapes, [rank; 2]);
    assert_eq!(
        plain.as_ref().ok().map(|shape| shape.iter().map(|&size| size.into()).collect()),
        folded.as_ref().ok().cloned()
    );
    match plain {
        Ok(_) if shapes.is_empty() => {}
        Ok(common) => assert_eq!(Ok(common), common_shape(reading, shapes)),
        Err(FoldError::Mismatch(Mismatch { dim, inputs: [_, last], .. })) => {
            let incompatible = common_shape(reading, &shapes[..=last]).expect_err("the oracle finds E1 too");
            assert_eq!(Some(&dim), incompatible.first(), "the leftmost dimension up to this input is named");
            assert!(last == 0 || common_shape(reading, &shapes[..last]).is_ok());
        }
        Err(_) => {}
    }
}
