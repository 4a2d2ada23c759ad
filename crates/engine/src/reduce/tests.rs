//! Sums of arrays of any layout, compared with additions index by index; how work is halved.

use super::{Accumulate, Reduce, ReduceTasks, halves, reduce_elements, split_level};
use crate::closures::{Operand, Read};
use crate::layout::row_major;
use crate::nest::LoopNest;
use crate::tuning::{ACCUMULATORS, MAX_PARTIAL_SUMS, SERIAL_SUM};
use ndarray::{ArrayD, ArrayViewD, Axis, IxDyn, Slice};
use num_traits::Zero;
use proptest::prelude::*;
use std::mem::MaybeUninit;
use std::ops::Add;

/// Strides that lead from an index to its sum, where some dimensions are summed over, and the number of sums.
fn sum_strides(shape: &[usize], over: &[bool]) -> (Vec<isize>, usize) {
    let sizes: Vec<usize> =
        shape.iter().zip(over).map(|(&size, &over)| if over { 1 } else { size }).collect();
    let stride = |(stride, &over): (isize, &bool)| if over { 0 } else { stride };
    (row_major(&sizes).into_iter().zip(over).map(stride).collect(), sizes.iter().product())
}

struct Sum;

impl<T: Zero> Accumulate<T> for Sum {
    type Acc = T;

    fn start(&self, item: T) -> T {
        item
    }

    fn fold(&self, acc: &mut T, item: T) {
        *acc = std::mem::replace(acc, T::zero()) + item;
    }

    fn merge(&self, acc: &mut T, other: T) {
        self.fold(acc, other);
    }
}

fn operand<'a, T>(array: &'a ArrayViewD<'_, T>) -> Operand<'a, Read<T>> {
    // Safety: address, shape and strides are those of the view.
    unsafe { Operand::new(array.as_ptr().cast_mut(), array.shape(), array.strides()) }
}

fn on_threads<R>(threads: usize, call: impl FnOnce() -> R) -> R {
    #[cfg(feature = "parallel")]
    return crate::parallel::with_num_threads(threads, call);
    #[cfg(not(feature = "parallel"))]
    return (threads, call()).1;
}

fn sums<T: Clone + Zero>(array: &ArrayViewD<'_, T>, over: &[bool], threads: usize) -> Vec<T> {
    on_threads(threads, || reduce_elements(&operand(array), over, &Sum)).unwrap()
}

/// The same by definition, index by index.
fn expected(array: &ArrayViewD<'_, i64>, over: &[bool]) -> Vec<i64> {
    let (strides, count) = sum_strides(array.shape(), over);
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
                    let expected = expected(&array, &over);
                    assert_eq!(sums(&array, &over, 1), expected, "{rows} x {columns}, {over:?}");
                }
            }
        }
    }
}

/// A shape, which of its dimensions are summed over, and the order of its dimensions in memory.
fn cases() -> impl Strategy<Value = (Vec<usize>, Vec<bool>, Vec<usize>)> {
    let size = prop_oneof![10 => 1usize..5, 6 => 5usize..40, 6 => 100usize..700, 3 => 5000usize..100_000];
    prop::collection::vec((size, any::<bool>()), 0..5)
        .prop_filter("large", |dims| dims.iter().map(|dim| dim.0.max(1) as u64).product::<u64>() < 150_000)
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
        prop_assert_eq!(sums(&array, &over, threads), expected(&array, &over));
    }
}

/// Items of the lanes are in no order that a fold could depend on, but each is folded once: two inputs, of which one
/// is stretched, on several threads.
#[test]
fn every_pair_of_elements_is_folded_once() {
    for (shape, stretched) in
        [([700, 900], [700, 1]), ([700, 900], [1, 900]), ([3, 200_000], [3, 1]), ([200_000, 3], [1, 3])]
    {
        let (a, b) = (numbers(&shape), numbers(&stretched));
        let b = b.broadcast(IxDyn(&shape)).unwrap();
        for a in [a.view(), a.view().reversed_axes().as_standard_layout().reversed_axes().view()] {
            let products = ndarray::Zip::from(&a).and(&b).map_collect(|a, b| a * b);
            for over in [[false, true], [true, false], [true, true], [false, false]] {
                let pair = || (operand(&a), operand(&b));
                let reduced =
                    on_threads(4, || pair().reduce(&over, &|a: &i64, b: &i64| a * b, &Sum)).unwrap();
                assert_eq!(reduced, expected(&products.view(), &over), "{shape:?}, {stretched:?}, {over:?}");
            }
        }
    }
}

/// Elements or accumulators that are not numbers may not be `Sync` or `Send`.
#[cfg(feature = "parallel")]
#[test]
fn only_numbers_are_shared_with_workers() {
    use crate::parallel::Visitors;

    /// Calls `visit` when it is folded.
    struct Visit<'v>(&'v Visitors);

    impl<T> Accumulate<T> for Visit<'_> {
        type Acc = u64;

        fn start(&self, _: T) -> u64 {
            1
        }

        fn fold(&self, acc: &mut u64, _: T) {
            self.0.visit();
            *acc += 1;
        }

        fn merge(&self, acc: &mut u64, other: u64) {
            *acc += other;
        }
    }

    /// The same, with an accumulator that is no number.
    struct Boxed<'v>(Visit<'v>);

    impl<T> Accumulate<T> for Boxed<'_> {
        type Acc = Box<u64>;

        fn start(&self, item: T) -> Box<u64> {
            Box::new(self.0.start(item))
        }

        fn fold(&self, acc: &mut Box<u64>, item: T) {
            self.0.fold(acc, item);
        }

        fn merge(&self, acc: &mut Box<u64>, other: Box<u64>) {
            Accumulate::<T>::merge(&self.0, acc, *other);
        }
    }

    const COUNT: usize = 1 << 18;
    let (numbers, others) =
        (ArrayD::<u64>::zeros(IxDyn(&[COUNT])), ArrayD::from_elem(IxDyn(&[COUNT]), [0u64]));
    assert!(Visitors::has_worker(100, &|visitors| {
        let count = reduce_elements(&operand(&numbers.view()), &[true], &Visit(visitors));
        assert_eq!(count.unwrap(), [COUNT as u64]);
    }));
    assert!(!Visitors::has_worker(1, &|visitors| {
        let count = reduce_elements(&operand(&others.view()), &[true], &Visit(visitors));
        assert_eq!(count.unwrap(), [COUNT as u64]);
    }));
    assert!(!Visitors::has_worker(1, &|visitors| {
        let count = reduce_elements(&operand(&numbers.view()), &[true], &Boxed(Visit(visitors)));
        assert_eq!(count.unwrap(), [Box::new(COUNT as u64)]);
    }));
}

/// No element at all, and no accumulator either.
#[test]
fn no_accumulators() {
    let array = numbers(&[0, 3]);
    assert_eq!(sums(&array.view(), &[false, true], 1), []);
    assert!(std::panic::catch_unwind(|| sums(&array.view(), &[true, false], 1)).is_err());
    assert!(std::panic::catch_unwind(|| sums(&numbers(&[2, 3]).view(), &[true], 1)).is_err());
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
    sums(&array.view(), over, 1).into_iter().map(|sum| sum.0.unwrap()).max().unwrap()
}

/// Otherwise they would be almost as many as the elements of a sum.
#[test]
#[cfg_attr(not(feature = "parallel"), ignore = "large reductions of any type have tasks")]
fn halving_bounds_the_additions_per_element() {
    // A loop that is not halved has independent accumulators, which are added pairwise.
    assert!(additions(&[SERIAL_SUM], &[true]) <= SERIAL_SUM / ACCUMULATORS + 6);
    for (shape, over, most) in [
        (&[100_000][..], &[true][..], 240),
        (&[600, 600], &[true, true], 190),
        (&[100_000, 3], &[true, false], 180),
        (&[3, 100_000], &[false, true], 90),
        (&[2000, 100], &[true, false], 120),
        (&[100, 2000], &[false, true], 30),
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
    let serial = |shape: &[usize], over: &[bool]| split_level::<f32>(&nest(shape, over), false);
    let parallel = |shape: &[usize], over: &[bool]| split_level::<f32>(&nest(shape, over), true);
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
    assert_eq!((split_level::<f32>(&one, false), split_level::<f32>(&one, true)), (Some(1), Some(1)));
}

#[test]
fn tasks_have_at_most_the_requested_elements() {
    let split = |shape: &[usize], over: &[bool], max_elements| {
        let mut tasks =
            ReduceTasks::<MaybeUninit<i64>> { tasks: Vec::new(), merges: Vec::new(), partial: Vec::new() };
        tasks.split(std::ptr::null_mut(), nest(shape, over), 1, max_elements);
        assert_eq!(tasks.tasks.iter().map(|task| task.nest.len()).sum::<usize>(), shape.iter().product());
        assert_eq!(tasks.merges.len(), tasks.partial.len());
        let largest = tasks.tasks.iter().map(|task| task.nest.len()).max().unwrap();
        (tasks.tasks.len(), tasks.merges.len(), largest)
    };
    assert_eq!(split(&[1024, 1024], &[true, true], 1 << 20), (1, 0, 1 << 20));
    assert_eq!(split(&[1024, 1024], &[true, true], 1 << 18), (4, 3, 1 << 18));
    assert_eq!(split(&[1024, 1024], &[false, true], 1 << 18), (4, 0, 1 << 18));
    assert_eq!(split(&[1024, 1024], &[true, false], 1 << 18), (4, 3, 1 << 18));
}

/// Large accumulators take a bounded number of bytes too.
#[test]
fn few_large_accumulators_are_partial() {
    let rows = [true, false];
    let split = |columns| split_level::<[u8; 320]>(&nest(&[512, columns], &rows), false);
    assert_eq!((split(MAX_PARTIAL_SUMS / 10), split(MAX_PARTIAL_SUMS / 10 + 1)), (Some(0), Some(1)));
}
