use super::LoopNest;
use crate::layout::{column_major, indices, row_major};
use crate::tuning::{MIN_TILED_SIZE, TILE};
use proptest::prelude::*;

/// Loop nest of operands with these strides.
fn nest(shape: &[usize], strides: &[Vec<isize>]) -> LoopNest {
    LoopNest::new(shape, strides.len(), |operand, dim| strides[operand][dim])
}

/// Offsets of the operands at each element that the nests visit, sorted.
fn visited(nests: impl IntoIterator<Item = LoopNest>) -> Vec<[isize; 3]> {
    let mut offsets = Vec::new();
    for nest in nests {
        let before = offsets.len();
        nest.for_each_row_block::<3>(|block| {
            for (row, i) in (0..block.rows).flat_map(|row| (0..block.len).map(move |i| (row, i))) {
                offsets.push(std::array::from_fn(|operand| {
                    block.starts[operand]
                        + row as isize * block.row_strides[operand]
                        + i as isize * block.strides[operand]
                }));
            }
        });
        assert_eq!(offsets.len() - before, nest.len());
    }
    offsets.sort_unstable();
    offsets
}

/// The same by definition, index by index.
fn expected(shape: &[usize], strides: &[Vec<isize>]) -> Vec<[isize; 3]> {
    let mut offsets: Vec<[isize; 3]> = indices(shape)
        .map(|index| {
            std::array::from_fn(|operand| {
                index.iter().zip(&strides[operand]).map(|(&i, &stride)| i as isize * stride).sum()
            })
        })
        .collect();
    offsets.sort_unstable();
    offsets
}

fn parts(nest: &LoopNest, depth: u32, granularity: usize) -> Vec<LoopNest> {
    (0..1 << depth).filter_map(|number| nest.part(number, depth, granularity)).collect()
}

fn shape_and_strides() -> impl Strategy<Value = (Vec<usize>, Vec<Vec<isize>>)> {
    let size = prop_oneof![4 => 0usize..5, 1 => Just(1), 1 => MIN_TILED_SIZE - 1..2 * TILE[0] + 2, 1 => TILE[1] - 1..TILE[1] + 9];
    prop::collection::vec(size, 0..5)
        .prop_filter("few elements", |shape| shape.iter().product::<usize>() < 20_000)
        .prop_flat_map(|shape| {
            let strides = prop::collection::vec(-40isize..40, shape.len());
            let contiguous = Just(row_major(&shape));
            let reversed = Just(column_major(&shape));
            let backwards = Just(row_major(&shape).into_iter().map(|stride| -stride).collect());
            let stretched = Just(vec![0; shape.len()]);
            let one = prop_oneof![strides, contiguous, reversed, backwards, stretched];
            (Just(shape), prop::collection::vec(one, 3))
        })
}

proptest! {
    #[test]
    fn every_index_is_visited_once((shape, strides) in shape_and_strides(), granularity in 1usize..70, depth in 0u32..9) {
        let expected = expected(&shape, &strides);
        let nest = nest(&shape, &strides);
        prop_assert_eq!(&visited([nest.clone()]), &expected);
        prop_assert_eq!(&visited(nest.tiles()), &expected);
        let parts = parts(&nest, depth, granularity);
        prop_assert!(parts.len() <= nest.len().max(1), "no part is empty");
        prop_assert_eq!(&visited(parts.iter().flat_map(LoopNest::tiles)), &expected);
    }
}

proptest! {
    /// Injective means no element twice; and ndarray lets exactly such arrays be written to.
    #[test]
    fn injective_means_no_element_twice((shape, strides) in shape_and_strides()) {
        let nest = nest(&shape, &strides);
        for operand in 0..3 {
            let mut offsets: Vec<isize> =
                visited([nest.clone()]).into_iter().map(|offset| offset[operand]).collect();
            let count = offsets.len();
            offsets.sort_unstable();
            offsets.dedup();
            prop_assert!(!nest.is_injective(operand) || offsets.len() == count);
            let unsigned: Vec<usize> = strides[operand].iter().map(|stride| stride.unsigned_abs()).collect();
            let mut memory = vec![0u8; 1 + shape.iter().zip(&unsigned).map(|(size, stride)| size * stride).sum::<usize>()];
            let layout = ndarray::ShapeBuilder::strides(ndarray::IxDyn(&shape), ndarray::IxDyn(&unsigned));
            let view = ndarray::ArrayViewMut::from_shape(layout, &mut memory);
            prop_assert!(count == 0 || nest.is_injective(operand) == view.is_ok());
        }
    }
}

#[test]
fn parts_are_of_about_equal_size() {
    let nest = nest(&[10, 1000], &[vec![1000, 1], vec![1, 0], vec![0, 1]]);
    let sizes = |depth| parts(&nest, depth, 64).iter().map(LoopNest::len).collect::<Vec<_>>();
    assert_eq!(sizes(0), [10_000]);
    assert_eq!(sizes(2), [2000, 3000, 2000, 3000]);
    assert!(sizes(6).iter().all(|size| (100..=300).contains(size)), "{:?}", sizes(6));
}

#[test]
fn contiguous_arrays_are_one_loop() {
    for strides in [vec![12, 4, 1], vec![-12, -4, -1], vec![1, 2, 6]] {
        let nest = nest(&[2, 3, 4], &[strides.clone(), strides.clone(), strides]);
        assert_eq!((&nest.sizes[..], nest.strides(0)), (&[24][..], &[1, 1, 1][..]));
    }
}

#[test]
fn loops_that_operands_pass_differently_stay_apart() {
    // A column with a row: each is stretched in the other's loop.
    let nest = nest(&[5, 1, 7], &[vec![7, 7, 1], vec![1, 0, 0], vec![0, 9, 1]]);
    assert_eq!(&nest.sizes[..], [5, 7]);
    assert_eq!((nest.strides(0), nest.strides(1)), (&[7, 1, 0][..], &[1, 0, 1][..]));
}

#[test]
fn the_output_decides_the_loop_order() {
    let nest = nest(&[5, 7], &[vec![1, 5], vec![7, 1], vec![7, 1]]);
    assert_eq!(&nest.sizes[..], [7, 5]);
    assert_eq!(nest.strides(1), [1, 7, 7]);
}

#[test]
fn a_transposed_operand_is_tiled() {
    let side = 3 * TILE[1] + 5;
    let (own, other) = (vec![side as isize, 1], vec![1, side as isize]);
    let tiles = nest(&[side, side], &[own.clone(), own.clone(), other]).tiles();
    let sizes: Vec<&[usize]> = tiles.iter().map(|tile| &tile.sizes[..]).collect();
    assert_eq!(sizes, [[12, 3, 64, 256], [12, 1, 64, 5], [1, 3, 5, 256], [1, 1, 5, 5]]);
    assert_eq!(nest(&[side, side], &[own.clone(), own.clone(), own]).tiles().len(), 1);
}

/// An operand that is stretched in one of two loops does not compare them.
#[test]
fn a_stretched_operand_leaves_the_order_to_the_next() {
    for stretched in [vec![1, 0], vec![0, 1], vec![0, 0], vec![3, 3]] {
        let sizes = |next: [isize; 2]| nest(&[5, 7], &[stretched.clone(), next.into(), vec![9, 9]]).sizes;
        assert_eq!((&sizes([1, 5])[..], &sizes([7, 1])[..]), (&[7, 5][..], &[5, 7][..]), "{stretched:?}");
    }
}

#[test]
fn a_compacted_operand_is_contiguous_in_the_loops_in_which_it_moves() {
    let nest = nest(&[3, 4, 5, 6], &[vec![120, 30, 6, 1], vec![500, 0, 70, 8], vec![0, 0, 0, 0]]);
    let compacted = nest.compacted(1);
    assert_eq!(&compacted.sizes[..], [3, 5, 6]);
    assert_eq!([0, 1, 2].map(|level| compacted.strides(level)), [[30, 500], [6, 70], [1, 8]]);
    let mut contiguous = nest.clone();
    contiguous.make_contiguous(1);
    assert_eq!([0, 1, 2, 3].map(|level| contiguous.strides(level)[1]), [30, 0, 6, 1]);
    // A broadcast scalar is one element.
    assert_eq!(nest.compacted(2).len(), 1);
}

/// Its stride is never used.
#[test]
fn a_loop_of_one_iteration_visits_no_element_twice() {
    let (one, others) = nest(&[5, 7], &[vec![0, 1], vec![7, 1], vec![0, 2]]).split_at(0, 1);
    assert_eq!([0, 1, 2].map(|operand| one.is_injective(operand)), [true; 3]);
    assert_eq!([0, 1, 2].map(|operand| others.is_injective(operand)), [false, true, false]);
}

#[test]
fn tiles_visit_every_index_once() {
    let row = |size: isize| vec![130 * size, size, 1];
    for shape in [[2, 130, 520], [2, 64, 256], [3, 40, 300], [2, 128, 100]] {
        let transposed = vec![130 * 600, 1, 130];
        let strides = [row(520), row(600), transposed];
        let nest = nest(&shape, &strides);
        assert!(nest.tiles().iter().all(|tile| tile.depth() == 5 && !tile.is_empty()), "{shape:?}");
        assert_eq!(visited(nest.tiles()), expected(&shape, &strides), "{shape:?}");
    }
}

#[test]
fn only_large_loops_that_operands_disagree_about_are_tiled() {
    let depths = |shape: [usize; 2], last: [isize; 2]| -> Vec<usize> {
        let own = vec![10_000, 1];
        nest(&shape, &[own.clone(), own, last.into()]).tiles().iter().map(LoopNest::depth).collect()
    };
    let large = MIN_TILED_SIZE + 1;
    assert_eq!(depths([large, large], [1, 10_000]), [4]);
    assert_eq!(depths([large - 1, large], [1, 10_000]), [2]);
    assert_eq!(depths([large, large - 1], [1, 10_000]), [2]);
    // Whole tiles, and remainders where there are any.
    assert_eq!(depths([2 * TILE[0], 2 * TILE[1]], [1, 10_000]), [4]);
    assert_eq!(depths([2 * TILE[0] + 1, 2 * TILE[1]], [1, 10_000]), [4, 4]);
    // Stretched, strided, or overlapping, but not transposed.
    for last in [[0, 5], [10_000, 2], [5, 5], [1, 0]] {
        assert_eq!(depths([large, large], last), [2], "{last:?}");
    }
}
