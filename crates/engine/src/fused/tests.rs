//! Programs on arrays of any layout, in blocks of any size.

use super::block::BlockShape;
use super::execute::{Arrays, Scratch};
use super::schedule::{Residence, Schedule};
use super::{Input, Options, Output, Program, Step, loop_nest, run};
use crate::memory::stream::has_streaming_stores;
use ndarray::{ArrayD, ArrayViewD, Axis, Ix, IxDyn, Slice};
use proptest::prelude::*;
use std::collections::HashSet;
use std::sync::Mutex;
use std::time::Duration;
use unishape_kernels::{Constant, DType, Op, find_kernel};
use unishape_oracle::Indices;

fn step(op: Op, inputs: [usize; 2]) -> Step {
    Step { name: "", kernel: find_kernel(op, DType::I64).unwrap(), inputs: inputs[..].into(), item: 8 }
}

/// `(a + b) * (b + 7) - a`, of which `b + 7` is computed once where `b` is the same in every block.
fn chain() -> Program {
    let steps = vec![
        step(Op::Add, [0, 1]),
        step(Op::Add, [1, 2]),
        step(Op::Multiply, [3, 4]),
        step(Op::Subtract, [5, 0]),
    ];
    Program::new(vec![8, 8], vec![Constant::new(7i64)], steps, 6)
}

/// `a - b`.
fn single() -> Program {
    Program::new(vec![8, 8], vec![], vec![step(Op::Subtract, [0, 1])], 2)
}

/// `a - b + a + b + …`, of nine inputs, which are too many to prefetch them all for the next block.
fn many() -> Program {
    let first = step(Op::Subtract, [0, 1]);
    let steps = std::iter::once(first).chain((2..9).map(|input| step(Op::Add, [7 + input, input]))).collect();
    Program::new(vec![8; 9], vec![], steps, 16)
}

/// Layout of an array: the order of its dimensions in memory, which are reversed, which are stretched, and the distance
/// of its elements.
type Layout = (Vec<usize>, Vec<bool>, Vec<bool>, usize);

/// An array of this shape and layout; of size 1 where it is to be stretched.
fn strided(
    shape: &[Ix],
    (order, reversed, stretched, gap): &Layout,
    element: impl Fn(usize) -> i64,
) -> ArrayD<i64> {
    let mut memory: Vec<usize> = order.iter().map(|&dim| gap * shape[dim] + gap - 1).collect();
    for (at, &dim) in order.iter().enumerate() {
        memory[at] = if stretched[dim] { 1 } else { memory[at] };
    }
    let mut number = 0;
    let elements = ArrayD::from_shape_simple_fn(IxDyn(&memory), || {
        number += 1;
        element(number)
    });
    let mut places = vec![0; order.len()];
    order.iter().enumerate().for_each(|(at, &dim)| places[dim] = at);
    let mut array = elements.permuted_axes(IxDyn(&places));
    for dim in (0..shape.len()).filter(|&dim| !stretched[dim]) {
        let gap = *gap as isize;
        let step = if reversed[dim] { -gap } else { gap };
        let end = Some(gap * shape[dim] as isize);
        array.slice_axis_inplace(Axis(dim), Slice::new(0, end, step));
    }
    array
}

/// A shape and the layouts of three arrays, each contiguous in half of the cases.
fn cases() -> impl Strategy<Value = (Vec<usize>, [Layout; 3])> {
    let size = prop_oneof![1 => Just(0usize), 16 => 1..6usize, 4 => 6..40usize];
    prop::collection::vec(size, 0..6)
        .prop_filter("large", |shape| shape.iter().product::<usize>() < 10_000)
        .prop_flat_map(|shape| {
            let rank = shape.len();
            let flags = move || prop::collection::vec(any::<bool>(), rank);
            let in_order = move || (0..rank).collect::<Vec<_>>();
            let layout = move || {
                prop_oneof![
                    (Just(in_order()), Just(vec![false; rank]), Just(1)),
                    (Just(in_order()).prop_shuffle(), flags(), 1..3usize),
                ]
            };
            let layouts = (layout(), (layout(), flags()), (layout(), flags()));
            let stretched = |((order, reversed, gap), stretched)| (order, reversed, stretched, gap);
            let layouts =
                layouts.prop_map(move |(out, a, b)| [(out, vec![false; rank]), a, b].map(stretched));
            (Just(shape), layouts)
        })
}

fn input<'a>(view: &'a ArrayViewD<'_, i64>) -> Input<'a> {
    // Safety: address, shape and strides are those of the view.
    unsafe { Input::new(view.as_ptr(), view.shape(), view.strides()) }
}

fn output(array: &mut ArrayD<i64>) -> Output<'_> {
    let first = array.as_mut_ptr();
    // Safety: address, shape and strides are those of the array, which is borrowed mutably.
    unsafe { Output::new(first, array.shape(), array.strides(), u8::MAX) }
}

/// Runs a program on one thread.
fn run_in(
    residence: Residence,
    program: &Program,
    inputs: &[Input<'_>],
    out: &mut ArrayD<i64>,
) -> BlockShape {
    let output = output(out);
    let nest = loop_nest(output.shape, output.strides, inputs);
    let (mut schedule, mut scratch) = (Schedule::default(), Scratch::default());
    if !nest.is_empty() {
        schedule.make(program, &nest, residence);
        // Safety: the nest was made for these arrays, whose elements are the program's.
        unsafe { schedule.run(program, &nest, Arrays { inputs, output: &output }, &mut scratch) };
    }
    schedule.block
}

/// Every residence that this CPU has instructions for.
fn residences() -> impl Iterator<Item = Residence> {
    [Residence::Cache, Residence::Memory, Residence::Stream]
        .into_iter()
        .filter(|&residence| has_streaming_stores() || residence != Residence::Stream)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Blocks of any number of elements, down to one; and of a single row where a block's overhead is small.
    #[test]
    fn blocks_of_any_size(
        (shape, layouts) in cases(),
        block in 1usize..600,
        overhead in 0usize..20,
        min_row_len in 1usize..12,
    ) {
        let [a, b] = [1, 2].map(|array| strided(&shape, &layouts[array], |n| (n * n) as i64 * 31 % 101));
        let stretched = [&a, &b].map(|array| array.broadcast(IxDyn(&shape)).unwrap());
        let inputs = stretched.each_ref().map(input);
        let by_chain = |a: i64, b: i64| (a + b) * (b + 7) - a;
        let by_single = |a: i64, b: i64| a - b;
        let by_many = |a: i64, b: i64| 5 * a + 2 * b;
        let again: Vec<_> = (0..9).map(|number| input(&stretched[number % 2])).collect();
        for (program, inputs, expected) in [
            (chain(), &inputs[..], &by_chain as &dyn Fn(i64, i64) -> i64),
            (single(), &inputs, &by_single),
            (many(), &again, &by_many),
        ] {
            let program = Program { block_elements: block, block_overhead: overhead, min_row_len, ..program };
            // With each residence, and as it is chosen.
            for residence in residences().map(Some).chain([None]) {
                let mut out = strided(&shape, &layouts[0], |_| UNTOUCHED);
                match residence {
                    Some(residence) => _ = run_in(residence, &program, inputs, &mut out),
                    None => prop_assert!(run(&program, inputs, &mut output(&mut out), ON_ONE_THREAD)),
                }
                for index in Indices::of(&shape) {
                    let (a, b) = (stretched[0][&index[..]], stretched[1][&index[..]]);
                    prop_assert_eq!(out[&index[..]], expected(a, b), "at {:?} with {:?}", index, residence);
                }
                // Nothing between the elements.
                let count = out.len();
                let memory = out.into_raw_vec_and_offset().0;
                prop_assert_eq!(memory.iter().filter(|&&element| element != UNTOUCHED).count(), count);
            }
        }
    }
}

const ON_ONE_THREAD: Options<'static> =
    Options { is_output_fresh: false, threads: Some(1), should_continue: &|_| true };

/// No program here computes it.
const UNTOUCHED: i64 = i64::MIN;

/// An output that has one element at several indices is written by one thread only.
#[test]
fn outputs_with_coinciding_elements_stay_on_one_thread() {
    let a = ArrayD::<i64>::ones(&[500, 1000][..]);
    let view = a.view();
    let inputs = [input(&view), input(&view)];
    let count_threads = |row_stride: isize| {
        let mut elements = vec![UNTOUCHED; 500 * 1000];
        let strides = [row_stride, 1];
        let first = elements.as_mut_ptr();
        // Safety: the indices lead to elements of the vector. Some share one, which `run` takes care of.
        let mut output = unsafe { Output::new(first, view.shape(), &strides, u8::MAX) };
        let threads = Mutex::new(HashSet::new());
        let should_continue = |_: usize| {
            threads.lock().unwrap().insert(std::thread::current().id());
            // Time for other threads to take part.
            std::thread::sleep(Duration::from_millis(1));
            true
        };
        let options =
            Options { is_output_fresh: false, threads: Some(16), should_continue: &should_continue };
        assert!(run(&single(), &inputs, &mut output, options));
        assert_eq!(elements[..1000], [0; 1000]);
        threads.into_inner().unwrap().len()
    };
    assert_eq!([0, 1].map(count_threads), [1, 1]);
    // Other tests may use all workers for a while.
    assert!((0..100).any(|_| count_threads(1000) > 1));
}

/// The elements of a block of `a - b`, for arrays of these shapes.
fn block_of<const N: usize>(residence: Residence, a: [usize; N], b: [usize; N]) -> usize {
    let [a, b] = [a, b].map(|shape| ArrayD::<i64>::zeros(&shape[..]));
    let shape: [usize; N] = std::array::from_fn(|dim| a.shape()[dim].max(b.shape()[dim]));
    let stretched = [&a, &b].map(|array| array.broadcast(&shape[..]).unwrap());
    let program = Program { block_elements: 2048, ..single() };
    run_in(residence, &program, &stretched.each_ref().map(input), &mut ArrayD::zeros(&shape[..])).len()
}

#[test]
fn block_shapes_suit_the_layout() {
    for residence in [Residence::Cache, Residence::Memory] {
        // All contiguous.
        assert_eq!(block_of(residence, [64, 1024], [64, 1024]), 2048);
        assert_eq!(block_of(residence, [64, 1024], [1, 1]), 2048);
        // A row, which is repeated once.
        assert_eq!(block_of(residence, [64, 1024], [1, 1024]), 2048);
        // Rows that would have to be repeated for each block.
        assert_eq!(block_of(residence, [64, 64, 1024], [64, 1, 1024]), 1024);
        // A column: long rows are processed one by one, short ones are gathered.
        assert_eq!(block_of(residence, [64, 1024], [64, 1]), 2048);
        assert_eq!(block_of(residence, [640, 100], [640, 1]), 2000);
        assert_eq!(block_of(residence, [64, 4096], [64, 1]), 2048);
    }
    // Small arrays are one block.
    assert_eq!(block_of(Residence::Cache, [2, 1024], [2, 1]), 2048);
}
