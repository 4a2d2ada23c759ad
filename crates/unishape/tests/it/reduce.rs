//! `reduce` compared with an index-by-index evaluation.

use crate::support::{Spec, spec, strided};
use ndarray::{
    Array1, Array2, Array3, ArrayD, ArrayViewD, Axis, Dimension, Ix0, Ix1, Ix2, IxDyn, arr0, arr1, arr2,
};
use num_rational::Ratio;
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use unishape::fold::{All, Any, Fold, Max, Mean, Min, Product, Sum};
use unishape::{Error, KeepDims, broadcast, broadcast_to, map, reduce};
use unishape_oracle::{Reading, common_shape, strategies};

/// All items, sorted: shows that each is folded once.
struct Collect;

impl<T: Ord> Fold<T> for Collect {
    type Acc = Vec<T>;
    type Output = Vec<T>;

    fn start(&self, item: T) -> Vec<T> {
        vec![item]
    }

    fn merge(&self, acc: &mut Vec<T>, mut other: Vec<T>) {
        acc.append(&mut other);
    }

    fn empty(&self) -> Option<Vec<T>> {
        Some(Vec::new())
    }

    fn finish(&self, mut acc: Vec<T>, count: usize) -> Vec<T> {
        assert_eq!(acc.len(), count);
        acc.sort();
        acc
    }
}

/// The items of each result by definition, sorted: `function` of every index, by the index without the axes.
fn expected<T: Ord>(
    shape: &[usize],
    axes: &[usize],
    function: impl Fn(&[usize]) -> T,
) -> (Vec<usize>, Vec<Vec<T>>) {
    let kept = |index: &[usize]| -> Vec<usize> {
        (0..index.len()).filter(|dim| !axes.contains(dim)).map(|dim| index[dim]).collect()
    };
    let mut items: BTreeMap<Vec<usize>, Vec<T>> = BTreeMap::new();
    let kept_shape = kept(shape);
    for index in ndarray::indices(&kept_shape[..]) {
        items.insert(index.slice().to_vec(), Vec::new());
    }
    for index in ndarray::indices(shape) {
        items.get_mut(&kept(index.slice())).unwrap().push(function(index.slice()));
    }
    items.values_mut().for_each(|items| items.sort());
    (kept_shape, items.into_values().collect())
}

fn axes(axes: &[usize]) -> Vec<Axis> {
    axes.iter().copied().map(Axis).collect()
}

/// Layouts of arrays with compatible shapes, and some axes of the common shape.
fn cases(arrays: usize) -> impl Strategy<Value = (Vec<Spec>, Vec<usize>)> {
    strategies::shapes(arrays..=arrays, 0..=4, 0..=5)
        .prop_filter_map("no common shape", |shapes| {
            let rank = common_shape(Reading::Standard, &shapes).ok()?.len();
            Some((shapes, (0..rank).collect::<Vec<usize>>()))
        })
        .prop_flat_map(|(shapes, axes)| {
            let count = 0..=axes.len();
            let axes = prop::sample::subsequence(axes, count).prop_shuffle();
            (shapes.into_iter().map(spec).collect::<Vec<_>>(), axes)
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_strides_and_axes((inputs, over) in cases(3)) {
        let [a, b, c] = &inputs[..] else { unreachable!() };
        let (a, b, c) = (strided(a, |n| n as i32 % 11 - 5), strided(b, |n| n as i64), strided(c, |n| n as u8));
        let (a, b, c) = (a.view(), b.view(), c.view());
        let function = |a: &i32, b: &i64, c: &u8| i64::from(*a) * (b + 1) - i64::from(*c);
        let (va, vb, vc) = broadcast((&a, &b, &c)).unwrap();
        let (shape, items) = expected(va.shape(), &over, |index| function(&va[index], &vb[index], &vc[index]));
        let (given, inputs) = (axes(&over), (&a, &b, &c));

        let collected = reduce(inputs, &given[..], function, Collect).unwrap();
        prop_assert_eq!(collected.shape(), &shape[..]);
        prop_assert!(collected.iter().eq(&items));

        let sums: Vec<i64> = items.iter().map(|items| items.iter().sum()).collect();
        prop_assert!(reduce(inputs, &given[..], function, Sum).unwrap().iter().eq(&sums));
        let kept = reduce(inputs, KeepDims(&given[..]), function, Sum).unwrap();
        let ones = |(dim, &size): (usize, &usize)| if over.contains(&dim) { 1 } else { size };
        prop_assert_eq!(kept.shape(), va.shape().iter().enumerate().map(ones).collect::<Vec<_>>());
        prop_assert!(kept.iter().eq(&sums));
    }

    /// One array: a kernel of three is compiled for many combinations of strides.
    #[test]
    fn every_fold((inputs, over) in cases(1)) {
        let a = strided(&inputs[0], |n| n as i64 * 7 % 31 - 9);
        let a = a.view();
        let (_, items) = expected(a.shape(), &over, |index| a[index]);
        let (given, inputs) = (axes(&over), (&a,));
        let sums: Vec<i64> = items.iter().map(|items| items.iter().sum()).collect();

        let negative = reduce(inputs, &given[..], |a| *a < 0, Any).unwrap();
        prop_assert!(negative.iter().copied().eq(items.iter().map(|items| items.iter().any(|&x| x < 0))));
        let negative = reduce(inputs, &given[..], |a| *a < 0, All).unwrap();
        prop_assert!(negative.iter().copied().eq(items.iter().map(|items| items.iter().all(|&x| x < 0))));

        let wrapping = |a: &i64| std::num::Wrapping(*a as i32);
        let products = reduce(inputs, &given[..], wrapping, Product).unwrap();
        let product = |items: &Vec<i64>| items.iter().fold(1i32, |acc, &x| acc.wrapping_mul(x as i32));
        prop_assert!(products.iter().map(|x| x.0).eq(items.iter().map(product)));

        // Floats, fractions and strings: numbers that are exact in all of them.
        let largest = reduce(inputs, &given[..], |a| *a as f32, Max);
        let smallest = reduce(inputs, &given[..], |a| *a as f64, Min);
        let texts = reduce(inputs, &given[..], |a| a.to_string(), Min);
        let fractions = reduce(inputs, &given[..], |a| Ratio::new(*a, 2), Sum).unwrap();
        prop_assert!(fractions.iter().copied().eq(sums.iter().map(|&sum| Ratio::new(sum, 2))));
        if items.iter().any(|items| items.is_empty()) {
            let is_empty = |error| matches!(error, Error::EmptyReduction { .. });
            prop_assert!(is_empty(largest.unwrap_err()) && is_empty(smallest.unwrap_err()) && is_empty(texts.unwrap_err()));
        } else {
            prop_assert!(largest.unwrap().iter().map(|&x| x as i64).eq(items.iter().map(|items| *items.last().unwrap())));
            prop_assert!(smallest.unwrap().iter().map(|&x| x as i64).eq(items.iter().map(|items| items[0])));
            let text = |items: &Vec<i64>| items.iter().map(i64::to_string).min().unwrap();
            prop_assert!(texts.unwrap().iter().cloned().eq(items.iter().map(text)));
        }
    }

    #[test]
    fn one_array_and_five((inputs, over) in cases(5)) {
        let arrays: Vec<_> = inputs.iter().map(|spec| strided(spec, |n| n as u64 + 1)).collect();
        let views: Vec<_> = arrays.iter().map(|array| array.view()).collect();
        let [a, b, c, d, e] = &views[..] else { unreachable!() };
        let given = axes(&over);
        let function = |a: &u64, b: &u64, c: &u64, d: &u64, e: &u64| a + 3 * b + 5 * c + 7 * d + 11 * e;
        let mapped = map((a, b, c, d, e), function).unwrap();
        let sums = reduce((a, b, c, d, e), &given[..], function, Sum).unwrap();
        prop_assert_eq!(&sums, &reduce((&mapped,), &given[..], |x| *x, Sum).unwrap());
        let closure = |acc: &mut u64, x: u64| *acc += x;
        if !mapped.is_empty() {
            prop_assert_eq!(&sums, &reduce((a, b, c, d, e), &given[..], function, closure).unwrap());
        }
    }
}

/// Large shapes, which dimensions are reduced, and which of them an input is stretched in: loops are halved many
/// times and shared by threads.
fn large() -> impl Strategy<Value = (Vec<usize>, Vec<bool>, [Vec<bool>; 2])> {
    let size = prop_oneof![3 => 1usize..4, 2 => 5usize..40, 3 => 100usize..700, 1 => 5000usize..40_000];
    prop::collection::vec((size, any::<bool>(), any::<bool>(), any::<bool>()), 1..5)
        .prop_filter("not too large", |dims| {
            (100_000..1_500_000).contains(&dims.iter().map(|dim| dim.0 as u64).product::<u64>())
        })
        .prop_map(|dims| {
            let stretched =
                [dims.iter().map(|dim| dim.2 && dim.3).collect(), dims.iter().map(|dim| dim.3).collect()];
            (dims.iter().map(|dim| dim.0).collect(), dims.iter().map(|dim| dim.1).collect(), stretched)
        })
}

fn numbers(shape: &[usize], stretched: &[bool]) -> ArrayD<i64> {
    let sizes: Vec<usize> =
        shape.iter().zip(stretched).map(|(&size, &stretched)| if stretched { 1 } else { size }).collect();
    let mut n = 0;
    ArrayD::from_shape_simple_fn(IxDyn(&sizes), || {
        n += 1;
        n * n % 1009
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn large_reductions_are_exact(
        ((shape, over, [of_a, of_b]), order) in large().prop_flat_map(|case| {
            let order = Just((0..case.0.len()).collect::<Vec<usize>>()).prop_shuffle();
            (Just(case), order)
        }),
        threads in 1usize..5,
    ) {
        let (a, b) = (numbers(&shape, &of_a), numbers(&shape, &of_b));
        let (a, b) = (a.view().permuted_axes(&order[..]), b.view().permuted_axes(&order[..]));
        let over: Vec<usize> = (0..order.len()).filter(|&dim| over[order[dim]]).collect();
        let (va, vb) = broadcast((&a, &b)).unwrap();
        let to: Vec<usize> = va.shape().iter().enumerate().map(|(dim, &size)| if over.contains(&dim) { 1 } else { size }).collect();
        let (mut sums, mut largest) = (ArrayD::<i64>::zeros(&to[..]), ArrayD::from_elem(&to[..], i64::MIN));
        for (index, a) in va.indexed_iter() {
            let at: Vec<usize> = (0..to.len()).map(|dim| index[dim].min(to[dim] - 1)).collect();
            let product = a * vb[&index];
            sums[&at[..]] += product;
            largest[&at[..]] = largest[&at[..]].max(product);
        }
        let given = axes(&over);
        on_threads(threads, || {
            assert_eq!(reduce((&a, &b), KeepDims(&given[..]), |a, b| a * b, Sum).unwrap(), sums);
            assert_eq!(reduce((&a, &b), KeepDims(&given[..]), |a, b| a * b, Max).unwrap(), largest);
            // An accumulator that is dropped, and one that is too large for several in a row.
            let boxed = |acc: &mut Box<i64>, item: Box<i64>| **acc += *item;
            let sums_of_boxes = reduce((&a, &b), KeepDims(&given[..]), |a, b| Box::new(a * b), boxed).unwrap();
            assert!(sums_of_boxes.iter().map(|sum| **sum).eq(sums.iter().copied()));
            let wide = |acc: &mut [i64; 7], item: [i64; 7]| (0..7).for_each(|i| acc[i] += item[i]);
            let wide = reduce((&a, &b), KeepDims(&given[..]), |a, b| [a * b; 7], wide).unwrap();
            assert!(wide.iter().copied().eq(sums.iter().map(|&sum| [sum; 7])));
        });
    }
}

fn on_threads<R>(threads: usize, call: impl FnOnce() -> R) -> R {
    #[cfg(feature = "parallel")]
    return unishape::with_num_threads(threads, call);
    #[cfg(not(feature = "parallel"))]
    return (threads, call()).1;
}

/// Numbers whose sums are rounded.
fn inexact(shape: &[usize]) -> ArrayD<f32> {
    let mut n = 0u32;
    ArrayD::from_shape_simple_fn(IxDyn(shape), || {
        n = n.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        (n >> 8) as f32 / 16_777_216.0 + 0.01
    })
}

/// Rows, columns, all, and something between, in both memory orders.
fn layouts(a: &ArrayD<f32>) -> Vec<(ArrayViewD<'_, f32>, &'static [usize])> {
    let axes: [&[usize]; 4] = [&[0], &[2], &[0, 1, 2], &[0, 2]];
    axes.iter().flat_map(|&over| [(a.view(), over), (a.view().reversed_axes(), over)]).collect()
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    for shape in [[300, 40, 100], [3, 500_000, 1], [200_000, 2, 3], [1, 1, 2_000_000], [20, 20, 20]] {
        let a = inexact(&shape);
        for (a, over) in layouts(&a) {
            let over = axes(over);
            let bits = |threads| {
                on_threads(threads, || {
                    let sums = reduce((&a, &a), &over[..], |x, y| x * y, Sum).unwrap();
                    let means = reduce((&a,), &over[..], |x| x.sqrt(), Mean).unwrap();
                    sums.iter().chain(&means).map(|x| x.to_bits()).collect::<Vec<u32>>()
                })
            };
            let alone = bits(1);
            assert!([2, 3, 5].into_iter().all(|threads| bits(threads) == alone), "{shape:?} over {over:?}");
        }
    }
}

/// Rounding errors stay small where very many elements are added, in every layout.
#[test]
fn sums_of_many_floats_are_close() {
    for shape in [[300, 40, 100], [3, 500_000, 1], [200_000, 2, 3], [1, 1, 2_000_000], [1, 3000, 700]] {
        let a = inexact(&shape);
        for (a, over) in layouts(&a) {
            let over = axes(over);
            let sums = reduce((&a,), &over[..], |x| *x, Sum).unwrap();
            let exact = reduce((&a,), &over[..], |x| f64::from(*x), Sum).unwrap();
            for (&sum, exact) in sums.iter().zip(&exact) {
                let error = (f64::from(sum) - exact).abs() / exact;
                assert!(
                    error < if cfg!(feature = "parallel") { 1e-6 } else { 4e-6 },
                    "{shape:?} over {over:?}: {error}"
                );
            }
        }
    }
}

/// NaN is the result wherever it is, and in whatever layout.
#[test]
fn minima_and_maxima_propagate_nan() {
    for len in [1, 2, 3, 5, 31, 32, 40, 127, 128, 300] {
        for at in [0, len / 2, len - 1] {
            let mut a = Array2::from_shape_fn((5, len), |(i, j)| (i + j) as f32);
            a[(2, at)] = f32::NAN;
            let is_nan = |a: Array1<f32>| a.mapv(f32::is_nan);
            let expected = arr1(&[false, false, true, false, false]);
            for (view, axis) in [(a.view(), Axis(1)), (a.t(), Axis(0))] {
                assert_eq!(is_nan(reduce((view,), axis, |x| *x, Min).unwrap()), expected, "{len}, {at}");
                assert_eq!(is_nan(reduce((view,), axis, |x| *x, Max).unwrap()), expected, "{len}, {at}");
            }
            let columns = reduce((&a,), Axis(0), |x| *x, Max).unwrap();
            assert!(columns.iter().enumerate().all(|(j, x)| x.is_nan() == (j == at)));
        }
    }
}

#[test]
fn ranks_are_static_where_they_can_be() {
    fn rank<A, D>(_: ndarray::Array<A, D>, _: D) {}
    let a = Array3::<f32>::ones((2, 3, 4));
    let row = arr1(&[1.0f32; 4]);
    rank(reduce((&a, &row), Axis(0), |a, b| a * b, Sum).unwrap(), Ix2(0, 0));
    rank(reduce((&row, &a), [Axis(2), Axis(0)], |a, b| a * b, Sum).unwrap(), Ix1(0));
    rank(reduce((&row, &a), KeepDims([Axis(2), Axis(0)]), |a, b| a * b, Sum).unwrap(), ndarray::Ix3(0, 0, 0));
    rank(reduce((&a,), .., |a| *a, Sum).unwrap(), Ix0());
    rank(reduce((&a.view().into_dyn(), &row), Axis(0), |a, b| a * b, Sum).unwrap(), IxDyn(&[]));
    rank(reduce((&a,), &[Axis(0)][..], |a| *a, Sum).unwrap(), IxDyn(&[]));
    assert_eq!(reduce((&a,), &[][..], |a| *a, Sum).unwrap(), a.into_dyn());
    assert_eq!(reduce((&arr0(3),), .., |a| *a, Sum).unwrap(), arr0(3));
    let six = ndarray::Array6::<u8>::ones((1, 2, 1, 2, 1, 2));
    assert_eq!(reduce((&six,), [0, 1, 2, 3, 4, 5].map(Axis), |a| *a, Sum).unwrap(), arr0(8));
    let (one, two) = (arr1(&[1, 2]), arr2(&[[3], [4]]));
    let eight = reduce(
        (&one, &two, &one, &one, &one, &one, &one, &one),
        ..,
        |a, b, c, d, e, f, g, h| a * b + c + d + e + f + g + h,
        Sum,
    );
    assert_eq!(eight.unwrap(), arr0(21 + 2 * 18));
}

#[test]
fn errors() {
    let a = arr2(&[[1, 2, 3], [4, 5, 6]]);
    let error = reduce((&a, &arr1(&[1, 2])), Axis(0), |a, b| a * b, Sum).unwrap_err();
    assert!(matches!(error, Error::Incompatible(_)));
    let error = reduce((&a,), Axis(2), |a| *a, Sum).unwrap_err();
    assert_eq!(error, Error::AxisOutOfRange { axis: 2, shape: vec![2, 3] });
    let error = reduce((&arr0(1).into_dyn(),), Axis(0), |a| *a, Sum).unwrap_err();
    assert_eq!(error.to_string(), "axis 0 is out of range: the arrays have no axis");
    let error = reduce((&a,), &[Axis(1), Axis(0), Axis(1)][..], |a| *a, Sum).unwrap_err();
    assert_eq!(error, Error::RepeatedAxis { axis: 1 });
    let none = Array3::<f64>::zeros((2, 0, 3));
    let error = reduce((&none,), [Axis(0), Axis(1)], |a| *a, Min).unwrap_err();
    assert_eq!(error, Error::EmptyReduction { axis: 1, shape: vec![2, 0, 3] });
    // Too many elements, and a result that does not fit.
    let wide = arr0(1u8);
    let (many, fewer) = (1 << (usize::BITS * 5 / 8), 1 << (usize::BITS * 5 / 16)); // 2⁴⁰ and 2²⁰ with 64 bits
    let wide = broadcast_to(&wide, (many, fewer)).unwrap();
    let column = arr2(&[[1u8]]);
    let column = broadcast_to(&column, (many, 1, 1)).unwrap();
    let error = reduce((wide, column), .., |a, b| a * b, Sum).unwrap_err();
    assert_eq!(error, Error::TooLarge { shape: vec![many, many, fewer], element: None });
    #[cfg(target_pointer_width = "64")]
    {
        let one = arr2(&[[1u8]]);
        let tall = broadcast_to(&one, (1 << 45, 1, 1)).unwrap();
        let error = reduce((tall,), Axis(2), |_| 1u64, Sum).unwrap_err();
        assert_eq!(error, Error::OutOfMemory { bytes: 1 << 48 });
    }
}

#[test]
fn no_elements() {
    let none = Array3::<f64>::zeros((2, 0, 3));
    assert_eq!(reduce((&none,), Axis(1), |a| *a, Sum).unwrap(), Array2::zeros((2, 3)));
    assert_eq!(reduce((&none,), Axis(1), |a| *a, Product).unwrap(), Array2::ones((2, 3)));
    assert!(reduce((&none,), Axis(1), |a| *a, Mean).unwrap().iter().all(|x| x.is_nan()));
    assert_eq!(reduce((&none,), Axis(1), |_| true, Any).unwrap(), Array2::from_elem((2, 3), false));
    assert_eq!(reduce((&none,), Axis(1), |_| false, All).unwrap(), Array2::from_elem((2, 3), true));
    // No result either.
    assert_eq!(reduce((&none,), Axis(0), |a| *a, Max).unwrap().shape(), [0, 3]);
    assert_eq!(reduce((&none,), [Axis(0), Axis(2)], |a| *a, Max).unwrap().shape(), [0]);
    // A size of 0 beside one whose product with the others overflows.
    let huge = broadcast_to(&none, (1 << (usize::BITS - 4), 2, 0, 3)).unwrap();
    assert_eq!(reduce((huge,), .., |a| *a, Sum).unwrap(), arr0(0.0));
}

/// An element that counts how many of it are alive.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(alive: &Arc<AtomicUsize>) -> Counted {
        alive.fetch_add(1, Ordering::Relaxed);
        Counted(Arc::clone(alive))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Every accumulator is dropped once, whether the function or the fold panics, and wherever.
#[test]
fn nothing_leaks_after_a_panic() {
    let a = Array3::<u8>::zeros((7, 30, 40));
    for axes in [&[Axis(0)][..], &[Axis(1)], &[Axis(2)], &[Axis(0), Axis(2)], &[Axis(0), Axis(1), Axis(2)]] {
        for at in [0, 1, 40, 41, 333, 2000, 8000] {
            for fold_panics in [false, true] {
                let alive = Arc::new(AtomicUsize::new(0));
                let (calls, folds) = (AtomicUsize::new(0), AtomicUsize::new(0));
                let function = |_: &u8| {
                    assert!(fold_panics || calls.fetch_add(1, Ordering::Relaxed) != at, "as requested");
                    Counted::new(&alive)
                };
                let fold = |_: &mut Counted, _: Counted| {
                    assert!(!fold_panics || folds.fetch_add(1, Ordering::Relaxed) != at, "as requested");
                };
                let result = catch_unwind(AssertUnwindSafe(|| reduce((&a,), axes, function, fold)));
                match result {
                    Ok(result) => assert_eq!(alive.load(Ordering::Relaxed), result.unwrap().len()),
                    Err(_) => assert_eq!(alive.load(Ordering::Relaxed), 0, "{axes:?}, call {at}"),
                }
                assert_eq!(alive.load(Ordering::Relaxed), 0);
            }
        }
    }
}

/// The same on several threads, which stop soon.
#[test]
fn a_panic_stops_other_threads() {
    let a = Array2::<u8>::zeros((4000, 1000));
    for axes in [&[Axis(0)][..], &[Axis(1)], &[Axis(0), Axis(1)]] {
        let (alive, calls) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
        let function = |_: &u8| {
            if calls.fetch_add(1, Ordering::Relaxed) == 100_000 {
                // Without the panic hook: while it prints a backtrace, other threads run on.
                std::panic::resume_unwind(Box::new("as requested"));
            }
            Counted::new(&alive)
        };
        let fold = |_: &mut Counted, _: Counted| ();
        let result = catch_unwind(AssertUnwindSafe(|| on_threads(3, || reduce((&a,), axes, function, fold))));
        let panic = result.err().expect("a panic");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"as requested"));
        assert_eq!(alive.load(Ordering::Relaxed), 0);
        assert!(calls.load(Ordering::Relaxed) < 2_000_000, "{}", calls.load(Ordering::Relaxed));
    }
}

/// A type that is not `Send`, which `sum_to` adds on the calling thread.
#[test]
fn sums_of_elements_that_stay_on_their_thread() {
    #[derive(Clone, Debug, PartialEq)]
    struct Local(std::rc::Rc<Cell<i64>>);
    impl std::ops::Add for Local {
        type Output = Local;
        fn add(self, other: Local) -> Local {
            Local(std::rc::Rc::new(Cell::new(self.0.get() + other.0.get())))
        }
    }
    impl num_traits::Zero for Local {
        fn zero() -> Local {
            Local(std::rc::Rc::new(Cell::new(0)))
        }
        fn is_zero(&self) -> bool {
            self.0.get() == 0
        }
    }
    let a = Array2::from_shape_fn((300, 400), |(i, j)| Local(std::rc::Rc::new(Cell::new((i * j) as i64))));
    let sums = unishape::sum_to(&a, 400).unwrap();
    assert!(sums.iter().enumerate().all(|(j, sum)| sum.0.get() == (j * 300 * 299 / 2) as i64));
}
