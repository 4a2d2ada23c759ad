//! Closures over operands of any layout, compared with index-by-index iteration; panics and threads.

use super::{Assign, ForEach, Map, Operand, Read, Write, clone_elements};
use crate::layout::{indices, row_major};
use crate::memory::max_bytes_without_streaming;
use crate::memory::stream::{can_stream, has_streaming_stores};
#[cfg(feature = "parallel")]
use crate::parallel::Visitors;
use crate::tuning::{PARALLEL_MIN_BYTES, STREAM_CACHE_FRACTION_CLOSURES, STREAM_MIN_BYTES};
use proptest::prelude::*;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// An array with strides that lead from `first` into `memory`.
#[derive(Clone, Debug)]
struct Array {
    memory: Vec<i64>,
    first: usize,
    strides: Vec<isize>,
}

impl Array {
    /// An array of a shape with these strides, of any sign; its memory is as large as it must be.
    fn new(shape: &[usize], strides: Vec<isize>, seed: i64) -> Array {
        let reach = |positive: bool| -> usize {
            let signed = strides.iter().zip(shape).filter(|&(&stride, _)| (stride > 0) == positive);
            signed.map(|(stride, size)| stride.unsigned_abs() * size.saturating_sub(1)).sum()
        };
        let (before, after) = (reach(false), reach(true));
        let memory = (0..(before + after + 1) as i64).map(|i| (i * 31 + seed) % 1009).collect();
        Array { memory, first: before, strides }
    }

    fn offset(&self, index: &[usize]) -> usize {
        let offset: isize = index.iter().zip(&self.strides).map(|(&i, &stride)| i as isize * stride).sum();
        self.first.checked_add_signed(offset).expect("an offset within the memory")
    }

    fn read<'a>(&'a self, shape: &'a [usize]) -> Operand<'a, Read<i64>> {
        // Safety: the strides stay within the memory.
        unsafe { Operand::new(self.memory.as_ptr().add(self.first).cast_mut(), shape, &self.strides) }
    }

    fn assigned<'a>(&'a mut self, shape: &'a [usize]) -> Operand<'a, Assign<i64>> {
        // Safety: the strides stay within the memory, which is borrowed mutably.
        unsafe { Operand::new(self.memory.as_mut_ptr().add(self.first), shape, &self.strides) }
    }

    fn written<'a>(&'a mut self, shape: &'a [usize]) -> Operand<'a, Write<i64>> {
        // Safety: the strides stay within the memory, which is borrowed mutably.
        unsafe { Operand::new(self.memory.as_mut_ptr().add(self.first), shape, &self.strides) }
    }
}

/// A shape, an array of it without repeated elements, and six stretched or strided ones.
fn cases() -> impl Strategy<Value = (Vec<usize>, Array, Vec<Array>)> {
    let size = prop_oneof![1 => Just(0usize), 8 => 1usize..6, 3 => 6usize..40, 1 => 250usize..300];
    prop::collection::vec(size, 0..4)
        .prop_filter("few elements", |shape| shape.iter().product::<usize>() < 20_000)
        .prop_flat_map(|shape| {
            let contiguous = row_major(&shape);
            let layout = {
                let (contiguous, rank) = (contiguous.clone(), shape.len());
                move || {
                    let own = contiguous.clone();
                    let flags = prop::collection::vec(0u8..4, rank);
                    (flags, 0i64..1000).prop_map(move |(flags, seed)| {
                        let change = |(&stride, flag): (&isize, &u8)| match flag {
                            0 => 0,
                            1 => -stride,
                            2 => 2 * stride,
                            _ => stride,
                        };
                        (own.iter().zip(&flags).map(change).collect::<Vec<isize>>(), seed)
                    })
                }
            };
            let (for_inputs, for_output) = (shape.clone(), shape.clone());
            let inputs = prop::collection::vec(layout(), 6).prop_map(move |layouts| {
                layouts.into_iter().map(|(strides, seed)| Array::new(&for_inputs, strides, seed)).collect()
            });
            let output = prop::collection::vec(any::<bool>(), shape.len()).prop_map(move |reversed| {
                let strides = contiguous.iter().zip(&reversed);
                let strides = strides.map(|(&stride, &is)| if is { -3 * stride } else { 3 * stride });
                Array::new(&for_output, strides.collect(), 0)
            });
            (Just(shape), output, inputs)
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_index_gets_its_elements((shape, output, inputs) in cases()) {
        let at = |n: usize, index: &[usize]| inputs[n].memory[inputs[n].offset(index)];
        let op = |n: usize| inputs[n].read(&shape);
        let expected = |count: usize| -> Vec<i64> {
            let weighted = |index: &[usize]| (0..count).map(|n| (n as i64 + 1) * at(n, index)).sum();
            indices(&shape).map(|index| weighted(&index)).collect()
        };
        let one = |a: &i64| *a;
        let two = |a: &i64, b: &i64| a + 2 * b;
        let three = |a: &i64, b: &i64, c: &i64| a + 2 * b + 3 * c;
        let five = |a: &i64, b: &i64, c: &i64, d: &i64, e: &i64| a + 2 * b + 3 * c + 4 * d + 5 * e;
        prop_assert_eq!((op(0),).map(&one).unwrap(), expected(1));
        prop_assert_eq!((op(0), op(1)).map(&two).unwrap(), expected(2));
        prop_assert_eq!((op(0), op(1), op(2)).map(&three).unwrap(), expected(3));
        prop_assert_eq!((op(0), op(1), op(2), op(3), op(4)).map(&five).unwrap(), expected(5));
        prop_assert_eq!(clone_elements(&op(0)).unwrap(), expected(1));

        let into = |map: &dyn Fn(Operand<'_, Assign<i64>>), count: usize| {
            let mut output = output.clone();
            map(output.assigned(&shape));
            let written: Vec<i64> =
                indices(&shape).map(|index| output.memory[output.offset(&index)]).collect();
            prop_assert_eq!(written, expected(count));
            Ok(())
        };
        into(&|out| (op(0), op(1)).map_into(out, &two), 2)?;
        into(&|out| (op(0), op(1), op(2)).map_into(out, &three), 3)?;
        into(&|out| (op(0), op(1), op(2), op(3), op(4)).map_into(out, &five), 5)?;

        let (mut changed, before) = (output.clone(), output);
        (changed.written(&shape), op(0)).for_each(&|x: &mut i64, a: &i64| *x += a);
        for index in indices(&shape) {
            prop_assert_eq!(changed.memory[changed.offset(&index)], before.memory[before.offset(&index)] + at(0, &index));
        }
    }
}

/// Elements that count how many of them exist.
struct Counted<'c>(&'c AtomicUsize);

impl<'c> Counted<'c> {
    fn new(count: &'c AtomicUsize) -> Counted<'c> {
        count.fetch_add(1, Ordering::Relaxed);
        Counted(count)
    }
}

impl Clone for Counted<'_> {
    fn clone(&self) -> Self {
        Counted::new(self.0)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn on_two_threads<R>(function: impl FnOnce() -> R) -> R {
    #[cfg(feature = "parallel")]
    return crate::parallel::with_num_threads(2, function);
    #[cfg(not(feature = "parallel"))]
    function()
}

/// With loops that are not merged, some blocks of rows have been written, and one in part.
#[test]
fn a_panic_drops_whole_and_partial_blocks() {
    let shape = [4, 5, 6, 7];
    let elements: Vec<usize> = (0..840).collect();
    // Column-major.
    let strides = [1, 4, 20, 120];
    for panics_at in [0, 1, 119, 120, 419, 500, 839] {
        // Safety: the array has these elements.
        let input = unsafe { Operand::<Read<usize>>::new(elements.as_ptr().cast_mut(), &shape, &strides) };
        let alive = AtomicUsize::new(0);
        let map = |&element: &usize| {
            assert!(element != panics_at, "expected");
            Counted::new(&alive)
        };
        let result = catch_unwind(AssertUnwindSafe(|| (input,).map(&map).map(drop)));
        assert!(result.is_err());
        assert_eq!(alive.load(Ordering::Relaxed), 0, "element {panics_at}");
    }
}

/// A panic at any element drops all results so far, and stops the other chunks soon.
#[test]
fn a_panic_drops_what_was_mapped() {
    let large = PARALLEL_MIN_BYTES;
    for (shape, panics_at) in [
        (vec![7], 0),
        (vec![7], 4),
        (vec![5, 7], 23),
        (vec![40, 50], 1999),
        (vec![300, 40, 50], 1234),
        (vec![large, 3], 3 * large / 2),
    ] {
        let elements: Vec<usize> = (0..shape.iter().product()).collect();
        let strides = row_major(&shape);
        // Safety: a row-major array of the shape.
        let input = || unsafe { Operand::<Read<usize>>::new(elements.as_ptr().cast_mut(), &shape, &strides) };
        let (alive, calls) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let map = |&element: &usize| {
            calls.fetch_add(1, Ordering::Relaxed);
            assert!(element != panics_at, "expected");
            Counted::new(&alive)
        };
        let result = catch_unwind(AssertUnwindSafe(|| on_two_threads(|| (input(),).map(&map).map(drop))));
        assert!(result.is_err());
        if shape[0] == large {
            // The first half, and the chunks that had been started.
            let calls = calls.into_inner();
            assert!(calls < elements.len() * 3 / 4, "{calls} of {} calls", elements.len());
        }
        assert_eq!(alive.load(Ordering::Relaxed), 0, "{shape:?}");
        let result = (input(),).map(&|_: &usize| Counted::new(&alive)).unwrap();
        assert_eq!((result.len(), alive.load(Ordering::Relaxed)), (elements.len(), elements.len()));
        drop(result);
        assert_eq!(alive.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn a_panic_in_clone_drops_the_clones() {
    struct Fragile<'c>(Counted<'c>, bool);
    impl Clone for Fragile<'_> {
        fn clone(&self) -> Self {
            assert!(!self.1, "expected");
            Fragile(self.0.clone(), false)
        }
    }
    let alive = AtomicUsize::new(0);
    let elements: Vec<Fragile<'_>> = (0..60).map(|i| Fragile(Counted::new(&alive), i == 37)).collect();
    // Safety: a row-major array of the shape.
    let input = unsafe { Operand::<Read<_>>::new(elements.as_ptr().cast_mut(), &[6, 10], &[10, 1]) };
    assert!(catch_unwind(AssertUnwindSafe(|| clone_elements(&input).map(drop))).is_err());
    assert_eq!(alive.load(Ordering::Relaxed), 60);
}

/// Assigned elements are dropped once, whatever panics.
#[test]
fn a_panic_in_map_into_leaves_every_element_alive() {
    let alive = AtomicUsize::new(0);
    let mut output: Vec<Counted<'_>> = (0..100).map(|_| Counted::new(&alive)).collect();
    let input: Vec<usize> = (0..100).collect();
    // Safety: row-major arrays of the shape.
    let (out, operand) = unsafe {
        (
            Operand::<Assign<_>>::new(output.as_mut_ptr(), &[4, 25], &[25, 1]),
            Operand::<Read<usize>>::new(input.as_ptr().cast_mut(), &[4, 25], &[25, 1]),
        )
    };
    let assign = |&element: &usize| {
        assert!(element != 60, "expected");
        Counted::new(&alive)
    };
    assert!(catch_unwind(AssertUnwindSafe(|| (operand,).map_into(out, &assign))).is_err());
    assert_eq!(alive.load(Ordering::Relaxed), 100);
    drop(output);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

/// Work is large by the bytes that it touches, here more than by its number of elements.
#[cfg(feature = "parallel")]
#[test]
fn workers_share_large_calls() {
    let count = 3 * PARALLEL_MIN_BYTES / 8;
    let input = vec![1u64; count];
    let (shape, strides) = ([count], [1]);
    // Safety: an array of the shape.
    let read = || unsafe { Operand::<Read<u64>>::new(input.as_ptr().cast_mut(), &shape, &strides) };
    assert!(Visitors::has_worker(100, &|visitors| (read(),).for_each(&|_: &u64| visitors.visit())));
    assert!(Visitors::has_worker(100, &|visitors| {
        let mut output = vec![0u64; count];
        // Safety: an array of the shape.
        let written = unsafe { Operand::<Write<u64>>::new(output.as_mut_ptr(), &shape, &strides) };
        (written, read()).for_each(&|y: &mut u64, x: &u64| {
            visitors.visit();
            *y = *x;
        });
        assert_eq!(output, input);
    }));
    assert!(Visitors::has_worker(100, &|visitors| {
        let mut output = vec![0u64; count];
        // Safety: an array of the shape.
        let assigned = unsafe { Operand::<Assign<u64>>::new(output.as_mut_ptr(), &shape, &strides) };
        let visit = |x: &u64| {
            visitors.visit();
            x + 1
        };
        (read(),).map_into(assigned, &visit);
        assert_eq!(output, vec![2; count]);
    }));
}

/// A staging buffer has no elements that assignment could drop.
#[test]
fn large_outputs_of_elements_with_destructors_are_not_streamed() {
    let count = PARALLEL_MIN_BYTES;
    let (alive, input) = (AtomicUsize::new(0), vec![0u8; count]);
    let mut output: Vec<Counted<'_>> = (0..count).map(|_| Counted::new(&alive)).collect();
    let (shape, strides) = ([count], [1]);
    // Safety: arrays of the shape.
    let (out, operand) = unsafe {
        (
            Operand::<Assign<_>>::new(output.as_mut_ptr(), &shape, &strides),
            Operand::<Read<u8>>::new(input.as_ptr().cast_mut(), &shape, &strides),
        )
    };
    (operand,).map_into(out, &|_: &u8| Counted::new(&alive));
    assert_eq!(alive.load(Ordering::Relaxed), count);
    drop(output);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

/// Operands with one element at several indices, which ndarray does not create, are written by one thread:
/// otherwise some of these additions would be lost.
#[test]
fn elements_at_several_indices_stay_on_one_thread() {
    let (rows, columns) = (4, PARALLEL_MIN_BYTES);
    for strides in [[0, 0], [0, 1], [1, 1]] {
        #[cfg(feature = "parallel")]
        assert!(!Visitors::has_worker(1, &|visitors| {
            let (shape, mut element) = ([rows, columns], vec![0u32; rows + columns]);
            // Safety: the strides lead to elements of the vector; one thread accesses them.
            let operand = unsafe { Operand::<Write<u32>>::new(element.as_mut_ptr(), &shape, &strides) };
            (operand,).for_each(&|_: &mut u32| visitors.visit());
        }));
        let mut sums = vec![0u32; rows + columns];
        let one = 1u32;
        let shape = [rows, columns];
        // Safety: the strides lead to elements of the vector, and no further than rows + columns; one thread
        // accesses them.
        let (sum, one) = unsafe {
            (
                Operand::<Write<u32>>::new(sums.as_mut_ptr(), &shape, &strides),
                Operand::<Read<u32>>::new((&raw const one).cast_mut(), &shape, &[0, 0]),
            )
        };
        (sum, one).for_each(&|sum: &mut u32, one: &u32| *sum += one);
        assert_eq!(sums.iter().map(|&sum| sum as usize).sum::<usize>(), rows * columns);
    }
}

/// Large outputs are streamed: inputs contiguous, by row, by column and scalar, for few and for many operands.
#[test]
fn streamed_outputs_are_those_of_the_closure() {
    let (rows, columns) = (1000usize, 9001usize);
    let shape = [rows, columns];
    let (full, other): (Vec<f32>, Vec<f32>) =
        (0..rows * columns).map(|i| (i as f32, (i % 77) as f32)).unzip();
    let strides: [[isize; 2]; 4] = [[columns as isize, 1], [0, 1], [1, 0], [0, 0]];
    let op = |memory: &'static [f32], strides: &'static [isize; 2]| {
        // Safety: the strides stay within the memory.
        unsafe { Operand::<Read<f32>>::new(memory.as_ptr().cast_mut(), &[1000, 9001], strides) }
    };
    let (full, other): (&'static [f32], &'static [f32]) = (full.leak(), other.leak());
    let strides: &'static [[isize; 2]; 4] = Box::leak(Box::new(strides));
    let mut out = vec![0f32; rows * columns];
    let check = |out: &[f32], expected: &dyn Fn(usize, usize) -> f32| {
        for (i, &result) in out.iter().enumerate() {
            let value = expected(i / columns, i % columns);
            assert!(result == value, "{result} at {i}, not {value}");
        }
    };
    let assigned = |out: &mut Vec<f32>| {
        // Safety: a row-major array of the shape.
        unsafe { Operand::<Assign<f32>>::new(out.as_mut_ptr(), &shape, &strides[0]) }
    };
    for (n, lay) in strides.iter().enumerate() {
        (op(full, &strides[0]), op(other, lay)).map_into(assigned(&mut out), &|a: &f32, b: &f32| a - b);
        let index = |row: usize, column: usize| [row * columns + column, column, row, 0][n];
        check(&out, &|row, column| full[row * columns + column] - other[index(row, column)]);
    }
    let all = (
        op(full, &strides[0]),
        op(other, &strides[1]),
        op(other, &strides[2]),
        op(full, &strides[3]),
        op(other, &strides[0]),
    );
    let closure = |a: &f32, b: &f32, c: &f32, d: &f32, e: &f32| (a - b) * c + d + e;
    all.map_into(assigned(&mut out), &closure);
    check(&out, &|row, column| {
        let i = row * columns + column;
        closure(&full[i], &other[column], &other[row], &full[0], &other[i])
    });
}

/// Few elements, each of a cache line: the elements of an input, which overlap, count as more than any cache holds.
/// Rows are longer than the staging buffer, and not contiguous with each other.
#[test]
fn streamed_rows_with_gaps_are_those_of_the_closure() {
    #[derive(Clone, Copy, PartialEq, Debug)]
    #[repr(align(64))]
    struct Line([u64; 8]);
    const GAP: usize = 3;
    type Page = [u64; 256];
    let len = 24;
    let rows = STREAM_MIN_BYTES / size_of::<Line>() / len + 1;
    let shape = [rows, len];
    let mut pages = vec![[0; 256]; rows + len];
    pages.iter_mut().zip(1..).for_each(|(page, number): (&mut Page, u64)| page[0] = number * number);
    let of_rows: Vec<u64> = (0..rows as u64).map(|row| row * 1_000_003).collect();
    let of_columns: Vec<u64> = (0..len as u64).map(|column| column * 7).collect();
    let unwritten = Line([u64::MAX; 8]);
    let mut out = vec![unwritten; rows * (len + GAP)];
    let touched = rows * len * size_of::<Page>();
    let is_streamed = can_stream(out.as_ptr(), rows * len, touched, STREAM_CACHE_FRACTION_CLOSURES);
    // Some server CPUs have a cache of more than this.
    let is_large = touched > max_bytes_without_streaming(STREAM_CACHE_FRACTION_CLOSURES);
    assert_eq!(is_streamed, is_large && has_streaming_stores());
    let out_strides = [(len + GAP) as isize, 1];
    // Safety: the strides stay within the vectors.
    let (page, of_row, of_column, result) = unsafe {
        (
            Operand::<Read<Page>>::new(pages.as_mut_ptr(), &shape, &[1, 1]),
            Operand::<Read<u64>>::new(of_rows.as_ptr().cast_mut(), &shape, &[1, 0]),
            Operand::<Read<u64>>::new(of_columns.as_ptr().cast_mut(), &shape, &[0, 1]),
            Operand::<Assign<Line>>::new(out.as_mut_ptr(), &shape, &out_strides),
        )
    };
    let closure = |page: &Page, row: &u64, column: &u64| Line([page[0] + row + column; 8]);
    (page, of_row, of_column).map_into(result, &closure);
    for (row, results) in out.chunks(len + GAP).enumerate() {
        for (column, result) in results[..len].iter().enumerate() {
            let expected = closure(&pages[row + column], &of_rows[row], &of_columns[column]);
            assert!(*result == expected, "{result:?} at {row}, {column}, not {expected:?}");
        }
        assert_eq!(results[len..], [unwritten; GAP]);
    }
}

/// On one thread no element follows the one at which the closure ends the loop, and none is left out before it.
#[test]
fn closures_end_their_loop() {
    for (shape, strides) in
        [([6, 20], [20, 1]), ([6, 20], [1, 6]), ([6, 20], [0, 1]), ([40, 3], [1, 0]), ([1, 7], [0, -1])]
    {
        let input = Array::new(&shape, strides.to_vec(), 5);
        let count = shape[0] * shape[1];
        for last in [1, 2, count / 2, count - 1, count, count + 1] {
            let expected = last.min(count);
            let calls = AtomicUsize::new(0);
            let is_last = || calls.fetch_add(1, Ordering::Relaxed) + 1 == last;
            let mut output = Array::new(&shape, row_major(&shape).to_vec(), 0);
            output.memory.fill(0);
            (output.written(&shape), input.read(&shape)).for_each(&|written: &mut i64, _: &i64| {
                *written = 1;
                if is_last() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            assert_eq!(calls.swap(0, Ordering::Relaxed), expected, "{shape:?}, {strides:?}");
            assert_eq!(output.memory.iter().sum::<i64>(), expected as i64);

            let fail = |value: &i64| if is_last() { Err(format!("at {last}")) } else { Ok(*value) };
            let result = (input.read(&shape),).try_for_each(&|value: &i64| fail(value).map(|_| ()));
            assert_eq!(calls.swap(0, Ordering::Relaxed), expected);
            let error = (last <= count).then(|| format!("at {last}"));
            assert_eq!(result.err(), error);

            let results = (input.read(&shape),).try_map(&fail).unwrap();
            assert_eq!(calls.swap(0, Ordering::Relaxed), expected);
            let elements = || (input.read(&shape),).map(&|value: &i64| *value).unwrap();
            assert_eq!(results, error.map_or_else(|| Ok(elements()), Err));
        }
    }
}
