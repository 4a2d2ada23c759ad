//! Sums of arrays of any layout, compared with additions index by index; how work is halved.

use super::{Sum, Tasks, add_to_sums, halves, split_level};
use crate::lanes::{Operand, Read};
use crate::layout::row_major;
use crate::nest::LoopNest;
use crate::tuning::{ACCUMULATORS, MAX_PARTIAL_SUMS, SERIAL_SUM};
use ndarray::{ArrayD, ArrayViewD, Axis, IxDyn, Slice};
use num_traits::Zero;
use proptest::prelude::*;
use std::ops::Add;
use std::panic::catch_unwind;

/// Strides that lead from an index to its sum, where some dimensions are summed over, and the number of sums.
fn sum_strides(shape: &[usize], over: &[bool]) -> (Vec<isize>, usize) {
    let sizes: Vec<usize> =
        shape.iter().zip(over).map(|(&size, &over)| if over { 1 } else { size }).collect();
    let stride = |(stride, &over): (isize, &bool)| if over { 0 } else { stride };
    (row_major(&sizes).into_iter().zip(over).map(stride).collect(), sizes.iter().product())
}

fn sums<T>(array: &ArrayViewD<'_, T>, strides: &[isize], count: usize, threads: usize) -> Vec<T>
where
    T: Clone + Zero + Add<Output = T>,
{
    // Safety: address, shape and strides are those of the view.
    let operand =
        unsafe { Operand::<Read<T>>::new(array.as_ptr().cast_mut(), array.shape(), array.strides()) };
    let mut sums = vec![T::zero(); count];
    add_to_sums(&operand, strides, &mut sums, Some(threads));
    sums
}

/// The same by definition, index by index.
fn expected(array: &ArrayViewD<'_, i64>, strides: &[isize], count: usize) -> Vec<i64> {
    let mut sums = vec![0; count];
    for (index, element) in array.indexed_iter() {
        let at: isize = (0..strides.len()).map(|dim| index[dim] as isize * strides[dim]).sum();
        sums[at as usize] += element;
    }
    sums
}

fn numbers(shape: &[usize]) -> ArrayD<i64> {
    let mut n = 0;
    ArrayD::from_shape_simple_fn(IxDyn(shape), || {
        n += 1;
        n * n % 1009
    })
}

/// Every combination of few and many rows and columns, in every order of memory.
#[test]
fn rows_and_columns_of_any_length() {
    let sizes = [2, 3, 4, 5, 9, 31, 32, 33, 64, 65, 130];
    for (rows, columns) in sizes.into_iter().flat_map(|rows| sizes.map(|columns| (rows, columns))) {
        let numbers = numbers(&[2 * rows, 2 * columns]);
        let first = Slice::new(0, Some(rows as isize), 1);
        let second = Slice::new(0, None, 2);
        let backwards = Slice::new(0, None, -2);
        for (of_rows, of_columns) in
            [(first, Slice::new(0, Some(columns as isize), 1)), (first, second), (backwards, second)]
        {
            let mut array = numbers.slice_axis(Axis(0), of_rows);
            array.slice_axis_inplace(Axis(1), of_columns);
            let contiguous = array.to_owned();
            for array in [array.view(), array.t(), contiguous.view(), contiguous.t()] {
                for over in [[false, false], [false, true], [true, false], [true, true]] {
                    let (strides, count) = sum_strides(array.shape(), &over);
                    let expected = expected(&array, &strides, count);
                    assert_eq!(sums(&array, &strides, count, 1), expected, "{rows} x {columns}, {over:?}");
                }
            }
        }
    }
}

/// A shape, which of its dimensions are summed over, and the order of its dimensions in memory.
fn cases() -> impl Strategy<Value = (Vec<usize>, Vec<bool>, Vec<usize>)> {
    let size = prop_oneof![1 => Just(0usize), 9 => 1usize..5, 6 => 5usize..40, 6 => 100usize..700, 3 => 5000usize..100_000];
    prop::collection::vec((size, any::<bool>()), 0..5)
        .prop_filter("large", |dims| dims.iter().map(|dim| dim.0.max(1)).product::<usize>() < 150_000)
        .prop_flat_map(|dims| {
            let order = Just((0..dims.len()).collect::<Vec<usize>>()).prop_shuffle();
            let (shape, over) = dims.into_iter().unzip();
            (Just(shape), Just(over), order)
        })
}

proptest! {
    #[test]
    fn sums_of_any_layout((shape, over, order) in cases(), backwards in any::<u8>(), threads in 1usize..5) {
        let mut array = numbers(&shape).permuted_axes(IxDyn(&order));
        for dim in (0..shape.len()).filter(|dim| backwards >> dim & 1 == 1) {
            array.invert_axis(Axis(dim));
        }
        let array = array.view();
        let (strides, count) = sum_strides(array.shape(), &over);
        prop_assert_eq!(sums(&array, &strides, count, threads), expected(&array, &strides, count));
    }
}

/// Sums at `i + j`: two tasks would share some of them.
#[test]
fn sums_that_coincide_are_not_shared_by_threads() {
    let array = numbers(&[400, 1000]);
    let array = array.view();
    for _ in 0..10 {
        assert_eq!(sums(&array, &[1, 1], 1399, 8), expected(&array, &[1, 1], 1399));
    }
}

#[test]
fn sums_beyond_the_slice_are_rejected() {
    let array = numbers(&[3, 4]);
    let sums = |strides: &[isize], count| {
        catch_unwind(|| sums(&array.view(), strides, count, 1)).map_or(0, |sums| sums.len())
    };
    assert_eq!((sums(&[4, 1], 12), sums(&[4, 1], 11)), (12, 0));
    assert_eq!((sums(&[0, 0], 1), sums(&[0, 0], 0)), (1, 0));
    assert_eq!((sums(&[0, -1], 12), sums(&[0], 12), sums(&[0, 1, 1], 12)), (0, 0, 0));
    assert_eq!(sums(&[isize::MAX, isize::MAX], 12), 0);
}

/// The number of additions that one element takes part in, at most: rounding errors are proportional to it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Additions(Option<usize>);

impl Add for Additions {
    type Output = Additions;

    fn add(self, other: Additions) -> Additions {
        match (self.0, other.0) {
            (Some(a), Some(b)) => Additions(Some(a.max(b) + 1)),
            (a, b) => Additions(a.or(b)),
        }
    }
}

impl Zero for Additions {
    fn zero() -> Additions {
        Additions(None)
    }

    fn is_zero(&self) -> bool {
        self.0.is_none()
    }
}

/// The most additions that an element takes part in, for sums of a contiguous array.
fn additions(shape: &[usize], over: &[bool]) -> usize {
    let array = ArrayD::from_elem(IxDyn(shape), Additions(Some(0)));
    let (strides, count) = sum_strides(shape, over);
    sums(&array.view(), &strides, count, 1).into_iter().map(|sum| sum.0.unwrap()).max().unwrap()
}

/// Otherwise they would be almost as many as the elements of a sum.
#[test]
fn halving_bounds_the_additions_per_element() {
    // A loop that is not halved has independent accumulators, which are added pairwise.
    assert!(additions(&[SERIAL_SUM], &[true]) <= SERIAL_SUM / ACCUMULATORS + 6);
    for (shape, over, most) in [
        (&[100_000][..], &[true][..], 240),
        (&[600, 600], &[true, true], 190),
        (&[100_000, 3], &[true, false], 180),
        (&[3, 100_000], &[false, true], 240),
        (&[2000, 100], &[true, false], 120),
        (&[100, 2000], &[false, true], 40),
        (&[20_000, 10], &[false, true], 9),
    ] {
        let additions = additions(shape, over);
        assert!(additions <= most, "{shape:?} over {over:?}: {additions}");
    }
}

fn nest(shape: &[usize], over: &[bool]) -> LoopNest {
    let strides = [row_major(shape), sum_strides(shape, over).0];
    LoopNest::new(shape, 2, |operand, dim| strides[operand][dim])
}

#[test]
fn loops_are_halved_at_cache_lines_unless_they_are_short() {
    for (size, middle) in [(2, 1), (3, 1), (100, 50), (128, 64), (129, 64), (130, 128), (1000, 512)] {
        let (first, second, is_shared) = halves(&nest(&[size], &[true]), 0);
        assert_eq!((first.len(), second.len(), is_shared), (middle, size - middle, true));
    }
    assert!(!halves(&nest(&[8], &[false]), 0).2);
}

#[test]
fn loops_are_halved_where_partial_sums_are_few() {
    let serial = |shape: &[usize], over: &[bool]| split_level(&nest(shape, over), false);
    let parallel = |shape: &[usize], over: &[bool]| split_level(&nest(shape, over), true);
    let (rows, columns) = ([true, false], [false, true]);
    // Each half has at least 256 elements per partial sum, or 16 in parallel.
    assert_eq!((serial(&[512, 100], &rows), serial(&[511, 100], &rows)), (Some(0), None));
    assert_eq!((parallel(&[32, 100], &rows), parallel(&[31, 100], &rows)), (Some(0), None));
    // Too many partial sums: loops with sums of their own are halved first.
    let many = MAX_PARTIAL_SUMS;
    assert_eq!((serial(&[512, many], &rows), serial(&[512, many + 1], &rows)), (Some(0), Some(1)));
    assert_eq!((serial(&[many, 3], &columns), serial(&[many + 1, 3], &columns)), (None, Some(0)));
    // To share the work; an innermost loop only if it is long.
    assert_eq!(parallel(&[many, 3], &columns), Some(0));
    assert_eq!((parallel(&[31, many], &rows), parallel(&[31, many - 1], &rows)), (Some(1), None));
    // A loop of one iteration is not halved.
    let (one, ..) = halves(&nest(&[2, 100_000], &columns), 0);
    assert_eq!((split_level(&one, false), split_level(&one, true)), (Some(1), Some(1)));
}

#[test]
fn tasks_have_at_most_the_requested_elements() {
    let split = |shape: &[usize], over: &[bool], max_elements| {
        let mut tasks = Tasks::<i64> { tasks: Vec::new(), merges: Vec::new(), partial_sums: Vec::new() };
        let sum = Sum { from: std::ptr::null(), to: std::ptr::null_mut() };
        tasks.split(sum, nest(shape, over), max_elements);
        assert_eq!(tasks.tasks.iter().map(|task| task.nest.len()).sum::<usize>(), shape.iter().product());
        assert_eq!(tasks.merges.len(), tasks.partial_sums.len());
        let largest = tasks.tasks.iter().map(|task| task.nest.len()).max().unwrap();
        (tasks.tasks.len(), tasks.merges.len(), largest)
    };
    assert_eq!(split(&[1024, 1024], &[true, true], 1 << 20), (1, 0, 1 << 20));
    assert_eq!(split(&[1024, 1024], &[true, true], 1 << 18), (4, 3, 1 << 18));
    assert_eq!(split(&[1024, 1024], &[false, true], 1 << 18), (4, 0, 1 << 18));
    assert_eq!(split(&[1024, 1024], &[true, false], 1 << 18), (4, 3, 1 << 18));
}

/// In bytes: what is read, the sums, and 2 for each addition.
#[test]
fn large_sums_have_tasks() {
    use super::{has_tasks, has_threads};
    use crate::tuning::PARALLEL_MIN_BYTES;
    let elements = (PARALLEL_MIN_BYTES - 8) / 10;
    assert!(!has_tasks::<i64>(&nest(&[elements], &[true])));
    assert!(has_tasks::<i64>(&nest(&[elements + 1], &[true])));
    assert!(!has_tasks::<()>(&nest(&[1 << 40], &[true])));
    assert!(!has_threads::<std::cell::Cell<i64>>());
    assert_eq!(has_threads::<i64>(), cfg!(feature = "parallel"));
    let coinciding = LoopNest::new(&[400, 1000], 2, |operand, dim| [[1000, 1], [1, 1]][operand][dim]);
    assert!(!has_tasks::<i64>(&coinciding));
}
