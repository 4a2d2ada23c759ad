//! Programs on arrays of any layout, in blocks of any size.

use super::block::BlockShape;
use super::check::Check;
use super::execute::{Arrays, Scratch};
use super::fold;
use super::schedule::{Residence, Schedule};
use super::{Input, OperandRows, Options, Output, Pair, Position, Program, Step, loop_nest, run, run_folds};
use crate::flags::{self, FloatFlags};
use crate::layout::indices;
use crate::memory::stream::has_streaming_stores;
use ndarray::{ArrayD, ArrayViewD, Axis, Ix, IxDyn, Slice};
use proptest::prelude::*;
use std::collections::HashSet;
use std::sync::Mutex;
use std::time::Duration;
use unishape_kernels::{
    Constant, DType, FoldOp, KernelContext, KernelKey, Op, PairFunction, find_fold, find_kernel,
    find_pair_fold, find_position_fold,
};

pub(super) fn step(op: Op, inputs: [usize; 2]) -> Step {
    let key = KernelKey::Call(op, DType::I64);
    Step { key, kernel: key.kernel().unwrap(), inputs: inputs[..].into(), item: 8 }
}

/// `(a + b) * (b + 7) - a`, of which `b + 7` is computed once where `b` is the same in every block.
pub(super) fn chain() -> Program {
    let steps = vec![
        step(Op::Add, [0, 1]),
        step(Op::Add, [1, 2]),
        step(Op::Multiply, [3, 4]),
        step(Op::Subtract, [5, 0]),
    ];
    Program::new(vec![8, 8], vec![Constant::new(7i64)], steps, 6)
}

/// `a - b`.
pub(super) fn single() -> Program {
    Program::new(vec![8, 8], vec![], vec![step(Op::Subtract, [0, 1])], 2)
}

/// `a - b + a + b + …`, of nine inputs, which are too many to prefetch them all for the next block.
fn many() -> Program {
    let first = step(Op::Subtract, [0, 1]);
    let steps = std::iter::once(first).chain((2..9).map(|input| step(Op::Add, [7 + input, input]))).collect();
    Program::new(vec![8; 9], vec![], steps, 16)
}

/// `a - b if a < b else b ^ (a - b + 7)`: all of its steps can be fused, and `a - b` is taken twice.
fn choice() -> Program {
    let mut steps = [(Op::Subtract, [0, 1]), (Op::Less, [0, 1]), (Op::Add, [3, 2]), (Op::Xor, [1, 5])]
        .map(|(op, inputs)| step(op, inputs))
        .to_vec();
    steps[1].item = 1;
    let choose = Step { inputs: [4, 3, 6].into_iter().collect(), ..step_where() };
    steps.push(choose);
    Program::new(vec![8, 8], vec![Constant::new(7i64)], steps, 7)
}

fn step_where() -> Step {
    let kernel = find_kernel(Op::Where, DType::I64).unwrap();
    Step { kernel, key: KernelKey::Call(Op::Where, DType::I64), ..step(Op::Add, [0, 0]) }
}

/// Layout of an array: the order of its dimensions in memory, which are reversed, which are stretched, and the distance
/// of its elements.
type Layout = (Vec<usize>, Vec<bool>, Vec<bool>, usize);

/// An array of this shape and layout; of size 1 where it is to be stretched.
fn strided<T: Clone>(
    shape: &[Ix],
    (order, reversed, stretched, gap): &Layout,
    element: impl Fn(usize) -> T,
) -> ArrayD<T> {
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
        .prop_filter("large", |shape| shape.iter().map(|&size| size as u64).product::<u64>() < 10_000)
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

pub(super) fn input<'a>(view: &'a ArrayViewD<'_, i64>) -> Input<'a> {
    // Safety: address, shape and strides are those of the view.
    unsafe { Input::new(view.as_ptr(), view.shape(), view.strides()) }
}

pub(super) fn output(array: &mut ArrayD<i64>) -> Output<'_> {
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
        unsafe {
            schedule.run(
                program,
                &nest,
                Arrays { inputs, outputs: std::slice::from_ref(&output) },
                &mut scratch,
            )
        };
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
        let [a, b] = [1, 2].map(|array| strided(&shape, &layouts[array], |n| (n as i64).pow(2) * 31 % 101));
        let stretched = [&a, &b].map(|array| array.broadcast(IxDyn(&shape)).unwrap());
        let inputs = stretched.each_ref().map(input);
        let by_chain = |a: i64, b: i64| (a + b) * (b + 7) - a;
        let by_single = |a: i64, b: i64| a - b;
        let by_many = |a: i64, b: i64| 5 * a + 2 * b;
        let by_choice = |a: i64, b: i64| if a < b { a - b } else { b ^ (a - b + 7) };
        let again: Vec<_> = (0..9).map(|number| input(&stretched[number % 2])).collect();
        for (program, inputs, expected) in [
            (chain(), &inputs[..], &by_chain as &dyn Fn(i64, i64) -> i64),
            (single(), &inputs, &by_single),
            (many(), &again, &by_many),
            (choice(), &inputs, &by_choice),
            (chain().with_immediate_fusion(), &inputs, &by_chain),
            (many().with_immediate_fusion(), &again, &by_many),
            (choice().with_immediate_fusion(), &inputs, &by_choice),
        ] {
            let program = Program {
                block_elements: block,
                one_kernel_block: block,
                block_overhead: overhead,
                min_row_len,
                ..program
            };
            // With each residence, and as it is chosen.
            for residence in residences().map(Some).chain([None]) {
                let mut out = strided(&shape, &layouts[0], |_| UNTOUCHED);
                match residence {
                    Some(residence) => _ = run_in(residence, &program, inputs, &mut out),
                    None => prop_assert!(run(&program, inputs, &mut output(&mut out), ON_ONE_THREAD)),
                }
                for index in indices(&shape) {
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

pub(super) const ON_ONE_THREAD: Options<'static> =
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

/// Of a size that several threads share, into initialised and uninitialised outputs.
#[test]
fn single_kernels_of_large_contiguous_arrays() {
    let count = 200_003usize;
    let a: Vec<i64> = (0..count as i64).collect();
    let b: Vec<i64> = a.iter().map(|number| number * number + 5).collect();
    let expected: Vec<i64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
    for (is_uninit, threads) in [(false, 1), (false, 2), (true, 1), (true, 3)] {
        let mut result = vec![-1i64; count];
        let elements = Mutex::new(0);
        let should_continue = |count: usize| {
            *elements.lock().unwrap() += count;
            true
        };
        let options =
            Options { threads: Some(threads), is_output_fresh: is_uninit, should_continue: &should_continue };
        // Safety: the strides are those of contiguous vectors, and the output is not aliased.
        let is_complete = unsafe {
            let shape = &[count];
            let inputs = [&a, &b].map(|input| Input::new(input.as_ptr(), shape, &[1]));
            let mut output = match is_uninit {
                true => Output::uninit(result.as_mut_ptr(), shape, &[1], u8::MAX),
                false => Output::new(result.as_mut_ptr(), shape, &[1], u8::MAX),
            };
            run(&single(), &inputs, &mut output, options)
        };
        assert!(is_complete && result == expected, "uninitialised: {is_uninit}, {threads} threads");
        assert_eq!(elements.into_inner().unwrap(), count);
    }
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

/// The accumulators of a reduction of the dimensions that are flagged.
fn accumulators<'a, T: bytemuck::NoUninit + Send>(
    array: &'a mut ArrayD<T>,
    shape: &'a [usize],
    strides: &'a mut Vec<isize>,
    is_reduced: &[bool],
) -> Output<'a> {
    let first = array.as_mut_ptr();
    strides.extend((0..shape.len()).map(|dim| match (is_reduced[dim], shape[dim]) {
        (true, _) => 0,
        (false, 0) => 1,
        (false, _) => array.strides()[dim],
    }));
    // Safety: indices lead to elements of the array, which has size 1 where it is reduced.
    unsafe { Output::folded(first, shape, strides, u8::MAX) }
}

/// The shape of a reduction that keeps its dimensions.
fn reduced_shape(shape: &[usize], is_reduced: &[bool]) -> Vec<usize> {
    shape.iter().zip(is_reduced).map(|(&size, &is_reduced)| if is_reduced { 1 } else { size }).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Folds along any dimensions, of arrays of any layout, in blocks of any size.
    #[test]
    fn folds_along_any_dimensions(
        (shape, layouts) in cases(),
        is_reduced in prop::collection::vec(any::<bool>(), 6),
        block in 1usize..600,
        min_row_len in 1usize..12,
    ) {
        let [a, b] = [1, 2].map(|array| strided(&shape, &layouts[array], |n| (n as i64).pow(2) * 31 % 101));
        let stretched = [&a, &b].map(|array| array.broadcast(IxDyn(&shape)).unwrap());
        let inputs = stretched.each_ref().map(input);
        let is_reduced = &is_reduced[..shape.len()];
        let kept = reduced_shape(&shape, is_reduced);
        let identity = |a: i64, _: i64| a;
        let by_chain = |a: i64, b: i64| (a + b) * (b + 7) - a;
        for (program, inputs, element) in [
            (chain(), &inputs[..], &by_chain as &dyn Fn(i64, i64) -> i64),
            (Program::new(vec![8], vec![], vec![], 0), &inputs[..1], &identity),
        ] {
            for fold in [FoldOp::Sum, FoldOp::Max] {
                let program = Program { block_elements: block, min_row_len, ..program.clone() }
                    .folding(find_fold(fold, DType::I64).unwrap());
                let neutral = if fold == FoldOp::Sum { 0 } else { i64::MIN };
                let mut expected = ArrayD::from_elem(IxDyn(&kept), neutral);
                for index in indices(&shape) {
                    let of_kept: Vec<usize> =
                        index.iter().zip(is_reduced).map(|(&i, &is_reduced)| if is_reduced { 0 } else { i }).collect();
                    let (a, b) = (stretched[0][&index[..]], stretched[1][&index[..]]);
                    let folded = &mut expected[&of_kept[..]];
                    *folded = if fold == FoldOp::Sum { *folded + element(a, b) } else { (*folded).max(element(a, b)) };
                }
                // Outputs of any layout, too.
                let layout = (layouts[0].0.clone(), layouts[0].1.clone(), is_reduced.to_vec(), layouts[0].3);
                let mut out = strided(&kept, &layout, |_| UNTOUCHED);
                let count = out.len();
                if count > 0 {
                    let mut strides = Vec::new();
                    let mut output = accumulators(&mut out, &shape, &mut strides, is_reduced);
                    prop_assert!(run(&program, inputs, &mut output, ON_ONE_THREAD));
                }
                prop_assert_eq!(&out, &expected);
                let memory = out.into_raw_vec_and_offset().0;
                let touched = memory.iter().filter(|&&element| element != UNTOUCHED).count();
                prop_assert!(touched <= count);
            }
        }
    }

    /// Kernels of pairs fold what the steps that they replace compute.
    #[test]
    fn pairs_fold_as_their_steps(
        (shape, layouts) in cases(),
        is_reduced in prop::collection::vec(any::<bool>(), 6),
        block in 16usize..600,
        min_row_len in 16usize..40,
        longer in 1usize..40,
    ) {
        // Rows that are long enough for these kernels.
        let mut shape = shape;
        if let Some(last) = shape.last_mut() {
            *last *= longer;
        }
        let [a, b] = [1, 2].map(|array| strided(&shape, &layouts[array], |n| ((n % 11).pow(2) % 11) as f32));
        let stretched = [&a, &b].map(|array| array.broadcast(IxDyn(&shape)).unwrap());
        // Safety: address, shape and strides are those of the views.
        let inputs = stretched.each_ref().map(|view| unsafe { Input::new(view.as_ptr(), view.shape(), view.strides()) });
        let is_reduced = &is_reduced[..shape.len()];
        let kept = reduced_shape(&shape, is_reduced);
        if kept.contains(&0) {
            return Ok(());
        }
        let multiply = Step {
            key: KernelKey::Call(Op::Multiply, DType::F32),
            kernel: find_kernel(Op::Multiply, DType::F32).unwrap(),
            inputs: [0, 1].into_iter().collect(),
            item: 4,
        };
        let program = Program::new(vec![4, 4], vec![], vec![multiply], 2)
            .folding(find_fold(FoldOp::Sum, DType::F32).unwrap());
        let kernel = find_pair_fold(FoldOp::Sum, PairFunction::Product, DType::F32).unwrap();
        let with_pairs = program.clone().with_pairs(&[Some(Pair { kernel, inputs: [0, 1] })]);
        prop_assert!(with_pairs.is_only_pairs());
        let with_pairs = Program { block_elements: block, min_row_len, ..with_pairs };
        let [expected, found] = [&program, &with_pairs].map(|program| {
            let (mut sums, mut strides) = (ArrayD::from_elem(IxDyn(&kept), f32::NAN), Vec::new());
            let mut output = accumulators(&mut sums, &shape, &mut strides, is_reduced);
            assert!(run(program, &inputs, &mut output, ON_ONE_THREAD));
            sums
        });
        // Sums of small integers are exact.
        prop_assert_eq!(found, expected);
    }

    /// Several results are folded at once as one after another.
    #[test]
    fn joint_programs_fold_as_each_program_alone(
        (shape, layouts) in cases(),
        is_reduced in prop::collection::vec(any::<bool>(), 6),
        block in 1usize..600,
        threads in 1usize..4,
    ) {
        let [a, b] = [1, 2].map(|array| strided(&shape, &layouts[array], |n| (n as i64).pow(2) * 31 % 101));
        let stretched = [&a, &b].map(|array| array.broadcast(IxDyn(&shape)).unwrap());
        let inputs = stretched.each_ref().map(input);
        let is_reduced = &is_reduced[..shape.len()];
        let kept = reduced_shape(&shape, is_reduced);
        let fold = |program: Program, fold: FoldOp| program.folding(find_fold(fold, DType::I64).unwrap());
        let only = || Program::new(vec![8], vec![], vec![], 0);
        let programs = [fold(chain(), FoldOp::Sum), fold(only(), FoldOp::Max), fold(chain(), FoldOp::Min)];
        let operands: [&[usize]; 3] = [&[0, 1], &[1], &[0, 1]];
        let joint = Program::joint(&programs.each_ref(), &operands);
        // The chain is computed once.
        prop_assert_eq!(joint.steps.len(), chain().steps.len());
        let joint = Program { block_elements: block, ..joint };
        let options = Options { threads: Some(threads), ..ON_ONE_THREAD };
        let mut found = [(); 3].map(|()| ArrayD::from_elem(IxDyn(&kept), UNTOUCHED));
        if kept.contains(&0) {
            return Ok(());
        }
        let mut strides = [const { Vec::new() }; 3];
        let mut outputs: Vec<Output<'_>> = found.iter_mut().zip(&mut strides)
            .map(|(out, strides)| accumulators(out, &shape, strides, is_reduced))
            .collect();
        prop_assert_eq!(run_folds(&joint, &inputs, &mut outputs, options), Ok(true));
        for ((program, operands), found) in programs.iter().zip(operands).zip(&found) {
            let inputs: Vec<Input<'_>> = operands.iter().map(|&operand| inputs[operand]).collect();
            let (mut expected, mut strides) = (ArrayD::from_elem(IxDyn(&kept), UNTOUCHED), Vec::new());
            let mut output = accumulators(&mut expected, &shape, &mut strides, is_reduced);
            prop_assert!(run(program, &inputs, &mut output, ON_ONE_THREAD));
            prop_assert_eq!(found, &expected);
        }
    }

    /// An index is the sum of each loop's index times a number.
    #[test]
    fn indices_are_not_in_memory((shape, layouts) in cases(), start in -5isize..5, block in 1usize..600) {
        let a = strided(&shape, &layouts[1], |n| n as i64);
        let stretched = a.broadcast(IxDyn(&shape)).unwrap();
        let strides: Vec<isize> = (0..shape.len() as isize).map(|dim| 7 * dim - 3).collect();
        let inputs = [input(&stretched), Input::index(start, &shape, &strides)];
        let program = Program { block_elements: block, ..single() }.with_index(1);
        let mut out = strided(&shape, &layouts[0], |_| UNTOUCHED);
        prop_assert!(run(&program, &inputs, &mut output(&mut out), ON_ONE_THREAD));
        for index in indices(&shape) {
            let number: isize = index.iter().zip(&strides).map(|(&i, stride)| i as isize * stride).sum();
            prop_assert_eq!(out[&index[..]], stretched[&index[..]] - (start + number) as i64);
        }
    }
}

/// Long loops are halved at the same indices on any number of threads, and the sums are close to exact ones.
#[test]
fn sums_have_the_same_bits_on_any_number_of_threads() {
    for (shape, is_reduced) in [
        (vec![3000, 130], vec![true, false]),
        (vec![9, 70_000], vec![false, true]),
        (vec![700_001], vec![true]),
        (vec![40, 60, 300], vec![true, false, true]),
        (vec![3, 700, 500], vec![false, true, false]),
        (vec![5, 20_000], vec![true, false]),
        // Rows that are too short for a block.
        (vec![20_000, 10, 3], vec![true, false, true]),
    ] {
        let mut number = 0u32;
        let a = ArrayD::from_shape_simple_fn(&shape[..], || {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (number >> 8) as f32 / 16_777_216.0
        });
        let program =
            Program::new(vec![4], vec![], vec![], 0).folding(find_fold(FoldOp::Sum, DType::F32).unwrap());
        let kept = reduced_shape(&shape, &is_reduced);
        let sums = |threads: usize| {
            let mut sums = ArrayD::<f32>::from_elem(IxDyn(&kept), f32::NAN);
            let mut strides = Vec::new();
            // Safety: address, shape and strides are those of the array.
            let inputs = [unsafe { Input::new(a.as_ptr(), a.shape(), a.strides()) }];
            let options =
                Options { is_output_fresh: false, threads: Some(threads), should_continue: &|_| true };
            assert!(run(
                &program,
                &inputs,
                &mut accumulators(&mut sums, &shape, &mut strides, &is_reduced),
                options
            ));
            sums
        };
        let first = sums(1);
        for threads in [2, 3, 7] {
            assert_eq!(first, sums(threads), "{shape:?}");
        }
        let mut exact = a.mapv(f64::from);
        for (dim, _) in is_reduced.iter().enumerate().filter(|&(_, &is_reduced)| is_reduced) {
            exact = exact.sum_axis(Axis(dim)).insert_axis(Axis(dim));
        }
        for (sum, exact) in first.iter().zip(&exact) {
            // 2⁻²⁴ for each of at most 256 + 40 + log2(n) additions, though far less in practice.
            assert!((f64::from(*sum) - exact).abs() <= 20.0 * exact / 16_777_216.0, "{sum} {exact}");
        }
    }
}

/// Partial accumulators hold the neutral element, which is not 0.
#[test]
fn maxima_of_long_loops_of_negative_numbers() {
    let (shape, is_reduced) = ([3000, 130], [true, false]);
    let a = ArrayD::from_shape_fn(&shape[..], |index| -1 - ((index[0] * 37 + index[1] * 11) % 2999) as i64);
    let program =
        Program::new(vec![8], vec![], vec![], 0).folding(find_fold(FoldOp::Max, DType::I64).unwrap());
    let mut maxima = ArrayD::from_elem(IxDyn(&[1, 130]), 0);
    let mut strides = Vec::new();
    let mut output = accumulators(&mut maxima, &shape, &mut strides, &is_reduced);
    assert!(run(&program, &[input(&a.view())], &mut output, ON_ONE_THREAD));
    let expected = a.map_axis(Axis(0), |column| *column.iter().max().unwrap());
    assert_eq!(maxima.index_axis(Axis(0), 0), expected);
}

/// Steps read the operands of their own program: in another order, or an index.
#[test]
fn joint_programs_number_their_operands() {
    let difference = || single().folding(find_fold(FoldOp::Sum, DType::I64).unwrap());
    let programs = [difference(), difference(), difference().with_index(1)];
    let joint = Program::joint(&programs.each_ref(), &[&[0, 1], &[1, 0], &[0, 2]]);
    let (a, b) = (ndarray::arr1(&[5i64, 7, 1]).into_dyn(), ndarray::arr1(&[1i64, 2, 3]).into_dyn());
    let (a, b, shape) = (a.view(), b.view(), [3]);
    let inputs = [input(&a), input(&b), Input::index(10, &shape, &[1])];
    let mut sums = [(); 3].map(|()| ArrayD::from_elem(IxDyn(&[1]), UNTOUCHED));
    let mut strides = [const { Vec::new() }; 3];
    let mut outputs: Vec<Output<'_>> = sums
        .iter_mut()
        .zip(&mut strides)
        .map(|(sum, strides)| accumulators(sum, &shape, strides, &[true]))
        .collect();
    assert!(run_folds(&joint, &inputs, &mut outputs, ON_ONE_THREAD).unwrap());
    assert_eq!(sums.map(|sum| sum[0]), [13 - 6, 6 - 13, 13 - (10 + 11 + 12)]);
}

/// Of each byte of the result, only bits of the mask are set.
#[test]
fn bits_beyond_the_mask_are_not_set() {
    let a = ndarray::arr2(&[[6u8, 4, 2, 0], [3, 1, 0, 0], [255, 8, 4, 2]]);
    let program =
        Program::new(vec![1], vec![], vec![], 0).folding(find_fold(FoldOp::Max, DType::U8).unwrap());
    // Elements of the output are 2 apart.
    let mut maxima = [9u8; 6];
    let (shape, strides) = (a.shape().to_vec(), [2, 0]);
    // Safety: address, shape and strides are those of the arrays.
    let (inputs, mut output) = unsafe {
        let output = Output::folded(maxima.as_mut_ptr(), &shape, &strides, 1);
        ([Input::new(a.as_ptr(), a.shape(), a.strides())], output)
    };
    assert!(run(&program, &inputs, &mut output, ON_ONE_THREAD));
    assert_eq!(maxima, [0, 9, 1, 9, 1, 9]);
}

/// A reduction stops when that is requested.
#[test]
fn a_fold_can_be_stopped() {
    let a = ArrayD::<i64>::ones(&[64, 1 << 17][..]);
    let view = a.view();
    let program =
        Program::new(vec![8], vec![], vec![], 0).folding(find_fold(FoldOp::Sum, DType::I64).unwrap());
    let (mut sum, mut strides) = (ArrayD::<i64>::zeros(&[1, 1][..]), Vec::new());
    let options = Options { is_output_fresh: false, threads: Some(2), should_continue: &|_| false };
    let mut output = accumulators(&mut sum, &[64, 1 << 17], &mut strides, &[true, true]);
    assert!(!run(&program, &[input(&view)], &mut output, options));
}

/// Copies `count` elements with these strides to every second element of an output.
fn copied<T: bytemuck::Pod + Send + Sync>(from: &[T], stride: isize, count: usize, gap: isize) -> Vec<T> {
    let (shape, strides, gaps) = ([count], [stride], [gap]);
    let first = if stride < 0 { (count - 1) * stride.unsigned_abs() } else { 0 };
    assert!(from.len() > (count - 1) * stride.unsigned_abs());
    let mut to = vec![T::zeroed(); count * gap as usize];
    let program = Program::new(vec![size_of::<T>()], vec![], vec![], 0);
    // Safety: the indices lead to elements of the slice and of the vector, as the assertion checks.
    let (input, mut output) = unsafe {
        let input = Input::new(from[first..].as_ptr(), &shape, &strides);
        (input, Output::new(to.as_mut_ptr(), &shape, &gaps, u8::MAX))
    };
    assert!(run(&program, &[input], &mut output, ON_ONE_THREAD));
    to
}

/// Gathered, scattered, and filled with copies of one.
#[test]
fn elements_of_every_size() {
    fn check<T: bytemuck::Pod + Send + Sync + PartialEq + std::fmt::Debug>(element: impl Fn(u8) -> T) {
        let from: Vec<T> = (1..=250).map(element).collect();
        for (stride, gap) in [1, 2, -1, -3, 0].into_iter().flat_map(|stride| [1, 2].map(|gap| (stride, gap)))
        {
            let count = 80;
            let to = copied(&from, stride, count, gap);
            for (i, to) in to.chunks(gap as usize).enumerate() {
                let at = if stride < 0 { count - 1 - i } else { i } * stride.unsigned_abs();
                assert_eq!(to[0], from[at], "{i} with stride {stride} and gap {gap}");
                assert!(to[1..].iter().all(|between| *between == T::zeroed()));
            }
        }
    }
    check(|n| n);
    check(|n| u16::from(n) * 257);
    check(|n| u32::from(n) * 0x0101_0101);
    check(|n| u64::from(n) << 56 | u64::from(n));
    check(|n| u128::from(n) << 120 | u128::from(n));
}

/// Also in elements that are gathered, scattered or copies of one.
#[test]
fn bits_that_are_no_boolean_are_cleared() {
    let from: Vec<u8> = (0..200).collect();
    let program = Program::new(vec![1], vec![], vec![], 0);
    for (stride, gap) in [0, 1, 2].into_iter().flat_map(|stride| [1, 2].map(|gap| (stride, gap))) {
        let (shape, strides, gaps) = ([90], [stride], [gap]);
        for residence in residences() {
            let mut to = vec![0u8; 180];
            // Safety: the indices lead to elements of the vectors.
            let (input, output) = unsafe {
                let input = Input::new(from[1..].as_ptr(), &shape, &strides);
                (input, Output::new(to.as_mut_ptr(), &shape, &gaps, 1))
            };
            let nest = loop_nest(&shape, &gaps, &[input]);
            let (mut schedule, mut scratch) = (Schedule::default(), Scratch::default());
            schedule.make(&program, &nest, residence);
            // Safety: the nest was made for these arrays, whose elements are the program's.
            unsafe {
                let arrays = Arrays { inputs: &[input], outputs: std::slice::from_ref(&output) };
                schedule.run(&program, &nest, arrays, &mut scratch);
            }
            for i in 0..90 {
                let element = from[1 + i * stride as usize];
                assert_eq!(to[i * gap as usize], element & 1, "stride {stride}, gap {gap}, {residence:?}");
            }
        }
    }
}

#[test]
fn accumulators_that_do_not_fit_memory_are_an_error() {
    let folds = [FoldOp::Sum, FoldOp::Min].map(|fold| find_fold(fold, DType::F64).unwrap());
    let own = fold::accumulators(&folds, 3).unwrap();
    let elements = |at: usize| bytemuck::cast_slice::<u128, f64>(&own[at])[..3].to_vec();
    assert_eq!((elements(0), elements(1)), (vec![0.0; 3], vec![f64::INFINITY; 3]));
    // 32 bits can address no more than what may be there.
    #[cfg(target_pointer_width = "64")]
    assert_eq!(fold::accumulators(&folds, 1 << 58).unwrap_err().bytes, 1 << 61);
    assert!(fold::accumulators(&folds, usize::MAX).is_err());
}

/// Programs are the same where all their parts are, also if they fold their results differently.
#[test]
fn programs_that_differ_in_one_part_are_not_the_same() {
    let program = |operands: &[usize], constant: i64, ops: [Op; 2], inputs: [usize; 2], result| {
        let steps = vec![step(ops[0], [0, 1]), step(ops[1], inputs)];
        Program::new(operands.to_vec(), vec![Constant::new(constant)], steps, result)
    };
    let own = || program(&[8, 8], 7, [Op::Add, Op::Multiply], [3, 2], 4);
    let fold = || find_fold(FoldOp::Sum, DType::I64).unwrap();
    assert!(own().is_same(&own()));
    assert!(own().is_same(&own().folding(fold())) && own().folding(fold()).is_same(&own()));
    let single = Program::new(vec![8, 8], vec![Constant::new(7i64)], vec![step(Op::Add, [0, 1])], 3);
    for other in [
        program(&[8, 8, 8], 7, [Op::Add, Op::Multiply], [3, 2], 4),
        program(&[8, 4], 7, [Op::Add, Op::Multiply], [3, 2], 4),
        program(&[8, 8], 9, [Op::Add, Op::Multiply], [3, 2], 4),
        program(&[8, 8], 7, [Op::Subtract, Op::Multiply], [3, 2], 4),
        program(&[8, 8], 7, [Op::Add, Op::Subtract], [3, 2], 4),
        program(&[8, 8], 7, [Op::Add, Op::Multiply], [3, 0], 4),
        program(&[8, 8], 7, [Op::Add, Op::Multiply], [3, 2], 3),
        own().with_index(1),
        // One step more, or fewer.
        single,
    ] {
        assert!(!own().is_same(&other) && !other.is_same(&own()), "{other:?}");
    }
    // The same step before, so that only their number differs.
    let one = |steps: Vec<Step>| Program::new(vec![8, 8], vec![], steps, 2);
    let (short, long) =
        (one(vec![step(Op::Add, [0, 1])]), one(vec![step(Op::Add, [0, 1]), step(Op::Add, [2, 1])]));
    assert!(!short.is_same(&long) && !long.is_same(&short));
}

/// Programs of steps that all have machine code on this CPU.
#[test]
fn programs_are_fusable_where_all_steps_are() {
    for program in [chain(), choice(), single(), many()] {
        let are_fusable = program.steps().iter().all(|step| unishape_jit::fusable(step.key).is_some());
        assert_eq!(program.is_fusable(), are_fusable, "{program:?}");
    }
    assert!(!Program::new(vec![8], vec![], vec![], 0).is_fusable());
}

/// Of equal elements, the first one is found.
#[test]
fn positions_of_the_smallest_and_largest_elements() {
    let a = ndarray::arr2(&[[5i64, 1, 7, 1], [2, 9, 2, 9]]).into_dyn();
    let (a, shape) = (a.view(), [2, 4]);
    for (fold, expected) in [(FoldOp::ArgMin, [1, 0]), (FoldOp::ArgMax, [2, 1])] {
        let position = Position { kernel: find_position_fold(fold, DType::I64).unwrap(), index: 1 };
        let program = Program::new(vec![8, 8], vec![], vec![], 0).with_index(1).finding_position(position);
        let inputs = [input(&a), Input::index(0, &shape, &[0, 1])];
        let (mut found, mut strides) = (ArrayD::from_elem(IxDyn(&[2, 1]), UNTOUCHED), Vec::new());
        let mut outputs = [accumulators(&mut found, &shape, &mut strides, &[false, true])];
        assert!(run_folds(&program, &inputs, &mut outputs, ON_ONE_THREAD).unwrap());
        assert_eq!([found[[0, 0]], found[[1, 0]]], expected);
    }
}

/// Programs with constants and positions are joined, also where operands have other numbers.
#[test]
fn joint_programs_have_constants_and_positions() {
    let sum = |constant: i64| {
        let program = Program::new(
            vec![8],
            vec![Constant::new(constant)],
            vec![step(Op::Add, [0, 1]), step(Op::Add, [2, 0])],
            3,
        );
        program.folding(find_fold(FoldOp::Sum, DType::I64).unwrap())
    };
    let position = Position { kernel: find_position_fold(FoldOp::ArgMax, DType::I64).unwrap(), index: 1 };
    let largest = Program::new(vec![8, 8], vec![], vec![], 0).with_index(1).finding_position(position);
    let programs = [sum(7), largest, sum(9), sum(7)];
    let joint = Program::joint(&programs.each_ref(), &[&[0], &[0, 2], &[1], &[0]]);
    // The last program is the first one.
    assert_eq!((joint.steps().len(), joint.results().len()), (4, 4));
    let (a, b) = (ndarray::arr1(&[5i64, 7, 2]).into_dyn(), ndarray::arr1(&[1i64, 2, 3]).into_dyn());
    let (a, b, shape) = (a.view(), b.view(), [3]);
    let inputs = [input(&a), input(&b), Input::index(0, &shape, &[1])];
    let mut results = [(); 4].map(|()| ArrayD::from_elem(IxDyn(&[1]), UNTOUCHED));
    let mut strides = [const { Vec::new() }; 4];
    let mut outputs: Vec<Output<'_>> = results
        .iter_mut()
        .zip(&mut strides)
        .map(|(result, strides)| accumulators(result, &shape, strides, &[true]))
        .collect();
    assert!(run_folds(&joint, &inputs, &mut outputs, ON_ONE_THREAD).unwrap());
    assert_eq!(results.map(|result| result[0]), [2 * 14 + 21, 1, 2 * 6 + 27, 2 * 14 + 21]);
}

/// Steps that a pair takes are computed, and those that they take, also in programs with constants.
#[test]
fn pairs_of_computed_values() {
    let step = |op: Op, inputs: [usize; 2]| {
        let key = KernelKey::Call(op, DType::F64);
        Step { key, kernel: key.kernel().unwrap(), inputs: inputs[..].into(), item: 8 }
    };
    // The sum of `(a + 7 - b) * a`.
    let steps = vec![step(Op::Add, [0, 2]), step(Op::Subtract, [3, 1]), step(Op::Multiply, [4, 0])];
    let pair = Pair {
        kernel: find_pair_fold(FoldOp::Sum, PairFunction::Product, DType::F64).unwrap(),
        inputs: [4, 0],
    };
    let program = Program::new(vec![8, 8], vec![Constant::new(7.0)], steps, 5)
        .folding(find_fold(FoldOp::Sum, DType::F64).unwrap())
        .with_pairs(&[Some(pair)]);
    assert!(!program.is_only_pairs());
    // Enough elements for the kernels of pairs.
    let (a, b): (Vec<f64>, Vec<f64>) = (0..40).map(|i| (f64::from(i), f64::from(i * i % 13))).unzip();
    let shape = [40];
    // Safety: the shape and the stride are those of the arrays.
    let inputs = unsafe { [Input::new(a.as_ptr(), &shape, &[1]), Input::new(b.as_ptr(), &shape, &[1])] };
    let (mut sum, mut strides) = (ArrayD::from_elem(IxDyn(&[1]), f64::NAN), Vec::new());
    let mut output = accumulators(&mut sum, &shape, &mut strides, &[true]);
    assert!(run_folds(&program, &inputs, std::slice::from_mut(&mut output), ON_ONE_THREAD).unwrap());
    let expected: f64 = a.iter().zip(&b).map(|(a, b)| (a + 7.0 - b) * a).sum();
    assert_eq!(sum[0], expected);
}

/// Along any dimensions, in blocks of any size, of arrays of any layout, and whatever the indices are.
#[test]
fn positions_are_the_lowest_index_of_the_extreme_element() {
    let program = |fold: FoldOp, block: usize| {
        let position = Position { kernel: find_position_fold(fold, DType::F32).unwrap(), index: 1 };
        let program = Program::new(vec![4, 8], vec![], vec![], 0).with_index(1).finding_position(position);
        Program { block_elements: block, ..program }
    };
    for shape in [vec![4, 3, 3], vec![3, 3, 3], vec![2, 3, 2, 3], vec![3, 40]] {
        let rank = shape.len();
        let in_order: Vec<usize> = (0..rank).collect();
        let reversed: Vec<usize> = (0..rank).rev().collect();
        let rotated: Vec<usize> = (0..rank).map(|dim| (dim + 1) % rank).collect();
        let some: Vec<bool> = (0..rank).map(|dim| dim % 2 == 0).collect();
        let layouts: [Layout; 4] = [
            (in_order.clone(), vec![false; rank], vec![false; rank], 1),
            (reversed, vec![false; rank], vec![false; rank], 1),
            (rotated, some.clone(), vec![false; rank], 2),
            (in_order, vec![false; rank], some, 2),
        ];
        for (layout, mask) in layouts.iter().flat_map(|layout| (0..1 << rank).map(move |mask| (layout, mask)))
        {
            let is_reduced: Vec<bool> = (0..rank).map(|dim| mask >> dim & 1 == 1).collect();
            let kept = reduced_shape(&shape, &is_reduced);
            let a = strided(&shape, layout, |n| (n * n * 31 % 7) as f32);
            let a = a.broadcast(IxDyn(&shape)).unwrap();
            // In row-major order of the reduced dimensions; one index for all; and others.
            let mut next = 1;
            let mut row_major = vec![0; rank];
            for dim in (0..rank).rev().filter(|&dim| is_reduced[dim]) {
                row_major[dim] = next;
                next *= shape[dim] as isize;
            }
            let others = (0..rank as isize).map(|dim| 2 * dim + 1).collect();
            for steps in [row_major, vec![0; rank], others] {
                // An index of the reduced dimensions only.
                let steps: Vec<isize> =
                    steps.iter().zip(&is_reduced).map(|(&step, &is)| if is { step } else { 0 }).collect();
                for fold in [FoldOp::ArgMin, FoldOp::ArgMax] {
                    let mut best = ArrayD::from_elem(IxDyn(&kept), (f32::NAN, i64::MAX));
                    for at in indices(&shape) {
                        let index =
                            5 + at.iter().zip(&steps).map(|(&i, step)| i as isize * step).sum::<isize>();
                        let of_kept: Vec<usize> =
                            at.iter().zip(&kept).map(|(&i, &size)| if size == 1 { 0 } else { i }).collect();
                        let (own, best) = ((a[&at[..]], index as i64), &mut best[&of_kept[..]]);
                        let is_beyond = if fold == FoldOp::ArgMin { own.0 < best.0 } else { own.0 > best.0 };
                        if best.0.is_nan() || is_beyond || own.0 == best.0 && own.1 < best.1 {
                            *best = own;
                        }
                    }
                    let expected = best.mapv(|(_, index)| index);
                    for block in [7, 2048] {
                        let (mut found, mut strides) =
                            (ArrayD::from_elem(IxDyn(&kept), UNTOUCHED), Vec::new());
                        let mut output = accumulators(&mut found, &shape, &mut strides, &is_reduced);
                        // Safety: address, shape and strides are those of the view.
                        let input = unsafe { Input::new(a.as_ptr(), a.shape(), a.strides()) };
                        let inputs = [input, Input::index(5, &shape, &steps)];
                        assert!(run(&program(fold, block), &inputs, &mut output, ON_ONE_THREAD));
                        assert_eq!(
                            found, expected,
                            "{shape:?} along {is_reduced:?}, {layout:?}, {steps:?}, {block}"
                        );
                    }
                }
            }
        }
    }
}

/// What a call of a kernel reports.
fn reported<T: bytemuck::NoUninit>(key: KernelKey, inputs: &[&[T]]) -> FloatFlags {
    let inputs: Vec<&[u8]> = inputs.iter().map(|input| bytemuck::cast_slice(input)).collect();
    let item =
        if let KernelKey::Call(_, dtype) | KernelKey::Cast(dtype, _) = key { dtype.item_size() } else { 1 };
    let elements = inputs.iter().map(|input| input.len() / item).max().unwrap();
    let bytes = elements * key.result_dtype().item_size();
    let mut output = vec![0u64; bytes.div_ceil(8)];
    let output = &mut bytemuck::cast_slice_mut(&mut output)[..bytes];
    let mut context = KernelContext::default();
    flags::watch(|| Check::new(key).call(key.kernel().unwrap(), &inputs, output, &mut context)).1
}

/// Divisors of 0, and the smallest number by -1, which only signed numbers have; a remainder is never too large.
#[test]
fn divisions_of_integers_are_reported_by_dtype() {
    use FloatFlags as Flags;
    macro_rules! check {
        ($($T:ty, $dtype:ident;)+) => {$(
            let report = |op: Op, a: &[$T], b: &[$T]| reported(KernelKey::Call(op, DType::$dtype), &[a, b]);
            let (min, last) = (<$T>::MIN, (0 as $T).wrapping_sub(1));
            let overflow = if min == 0 { Flags::NONE } else { Flags::OVERFLOW };
            for op in [Op::FloorDivide, Op::Remainder] {
                // Two divisors of 0, and none though there are bytes of 0.
                assert_eq!(report(op, &[5, 5, 5], &[1, 0, 0]), Flags::DIVIDE, "{op:?}, {:?}", DType::$dtype);
                assert_eq!(report(op, &[5], &[0]), Flags::DIVIDE);
                assert_eq!(report(op, &[5, 0, min], &[1, 2, 1]), Flags::NONE);
                // Not the same element.
                assert_eq!(report(op, &[min, 5], &[1, last]), Flags::NONE, "{op:?}, {:?}", DType::$dtype);
                let expected = if op == Op::FloorDivide { overflow } else { Flags::NONE };
                assert_eq!(report(op, &[7, min], &[1, last]), expected, "{op:?}, {:?}", DType::$dtype);
                assert_eq!(report(op, &[7, min], &[last]), expected);
                assert_eq!(report(op, &[min], &[7, last]), expected);
            }
        )+};
    }
    check! {
        i8, I8; i16, I16; i32, I32; i64, I64;
        u8, U8; u16, U16; u32, U32; u64, U64;
    }
}

/// Truncated numbers are compared with the limits of the integers, of which neither limit is one.
#[test]
fn truncated_numbers_beyond_integers_are_reported() {
    for (to, inside, outside) in [
        (DType::I32, [-2_147_483_648.5, 2_147_483_647.5], [-2_147_483_649.0, 2_147_483_648.0]),
        (DType::I64, [-(2f64.powi(63)), 9.2e18], [-9_223_372_036_854_777_856.0, 2f64.powi(63)]),
        (DType::U64, [-1.0, 1.8e19], [-9.3e18, 2f64.powi(64)]),
    ] {
        let report = |numbers: &[f64]| reported(KernelKey::Cast(DType::F64, to), &[numbers]);
        assert_eq!(report(&inside), FloatFlags::NONE, "{to:?}");
        for number in outside.into_iter().chain([f64::NAN, f64::INFINITY]) {
            assert_eq!(report(&[number]), FloatFlags::INVALID, "{number} to {to:?}");
            // An even number of them.
            assert_eq!(report(&[number, 1.0, number]), FloatFlags::INVALID, "{number} to {to:?}");
        }
    }
}

/// Poles, overflows and invalid operations of elements at any place, of real and complex numbers.
#[test]
fn exceptional_values_are_those_of_their_element() {
    use FloatFlags as Flags;
    // As many as several blocks that are searched.
    let at = |number: usize, value: [f64; 2]| {
        let mut numbers = [1.0, 0.0].repeat(700);
        numbers[2 * number..][..2].copy_from_slice(&value);
        numbers
    };
    let complex = |number: usize, value: [f64; 2]| {
        reported(KernelKey::Call(Op::Log, DType::C128), &[&at(number, value)])
    };
    let real = |number: usize, value: f64| {
        let mut numbers = vec![1.0; 700];
        numbers[number] = value;
        let single: Vec<f32> = numbers.iter().map(|&number| number as f32).collect();
        let log = |dtype| KernelKey::Call(Op::Log, dtype);
        let reports = [reported(log(DType::F64), &[&numbers]), reported(log(DType::F32), &[&single])];
        assert_eq!(reports[0], reports[1]);
        reports[0]
    };
    for number in [0, 3, 255, 256, 300, 699] {
        assert_eq!(real(number, 0.0), Flags::DIVIDE);
        assert_eq!(real(number, -1.0), Flags::INVALID);
        assert_eq!([f64::INFINITY, f64::NAN, 2.0].map(|value| real(number, value)), [Flags::NONE; 3]);
        assert_eq!(complex(number, [0.0, 0.0]), Flags::DIVIDE);
        let others = [[f64::INFINITY, 0.0], [0.0, f64::INFINITY], [f64::NAN, 0.0], [3.0, 4.0]];
        assert_eq!(others.map(|value| complex(number, value)), [Flags::NONE; 4]);
    }
    let two = |op: Op, a: f64, b: f64| reported(KernelKey::Call(op, DType::F64), &[&[2.0, a], &[1.0, b]]);
    assert_eq!(two(Op::FloorDivide, 1.0, 0.0), Flags::DIVIDE);
    assert_eq!(two(Op::FloorDivide, 1e300, 1e-300), Flags::OVERFLOW);
    assert_eq!(two(Op::FloorDivide, 7.0, 2.0), Flags::NONE);
    assert_eq!(two(Op::Pow, 0.0, -1.0), Flags::DIVIDE);
    assert_eq!(two(Op::Pow, 10.0, 400.0), Flags::OVERFLOW);
    // Results that are no numbers are never exceptional.
    let mut functions = 0;
    for key in Op::ALL.iter().map(|&op| KernelKey::Call(op, DType::F64)) {
        let KernelKey::Call(op, _) = key else { continue };
        if key.result_dtype() == DType::Bool && key.kernel().is_some() {
            let values = [f64::NAN, 0.0, f64::INFINITY];
            assert_eq!(reported(key, &vec![&values[..]; op.arity()]), Flags::NONE, "{op:?}");
            functions += 1;
        }
    }
    assert!(functions > 2);
}

/// Products of operands that are stretched along any dimensions, and in another order in memory, are folded along any
/// dimensions: by kernels of pairs, also where another operand is read again, and by steps.
#[test]
fn sums_of_products_of_stretched_operands() {
    let pair = Pair {
        kernel: find_pair_fold(FoldOp::Sum, PairFunction::Product, DType::F32).unwrap(),
        inputs: [0, 1],
    };
    let fold = || find_fold(FoldOp::Sum, DType::F32).unwrap();
    // The third operand takes part in the loops only.
    let by_steps = Program::new(vec![4; 3], vec![], vec![multiply_f32([0, 1])], 3).folding(fold());
    let by_pairs = by_steps.clone().with_pairs(&[Some(pair)]);
    assert!(by_pairs.is_only_pairs() && !by_steps.is_only_pairs());
    assert!(!Program::new(vec![4], vec![], vec![], 0).folding(fold()).is_only_pairs());
    let numbers: Vec<f32> = (0..1000).map(|i| ((i * i) % 11) as f32).collect();
    let shape = [3usize, 4, 20];
    // Row-major, column-major, and with gaps; stretched where the bits are set.
    let orders: [[isize; 3]; 3] = [[80, 20, 1], [1, 3, 12], [200, 40, 2]];
    let stretched = |order: usize, bits: usize| -> [isize; 3] {
        std::array::from_fn(|dim| if bits >> dim & 1 == 1 { 0 } else { orders[order][dim] })
    };
    let at = |strides: [isize; 3], index: [usize; 3]| {
        let offset: isize = strides.iter().zip(index).map(|(stride, i)| stride * i as isize).sum();
        offset as usize
    };
    let others = [stretched(0, 0), stretched(0, 1)];
    for (a, b) in (0..16).flat_map(|a| [0, 3, 4, 6, 16].map(|b| (a, b))) {
        let (a, b) = (stretched(a / 8, a % 8), stretched(b / 8, b % 8));
        for mask in 0..8 {
            let kept: [usize; 3] =
                std::array::from_fn(|dim| if mask >> dim & 1 == 1 { 1 } else { shape[dim] });
            let mut out = [kept[1] as isize * kept[2] as isize, kept[2] as isize, 1];
            (0..3).filter(|dim| mask >> dim & 1 == 1).for_each(|dim| out[dim] = 0);
            let mut expected = vec![0f32; kept.iter().product()];
            for index in indices(&shape) {
                let index = [index[0], index[1], index[2]];
                expected[at(out, index)] += numbers[at(a, index)] * numbers[at(b, index)];
            }
            for (program, other) in
                [(&by_pairs, &others[0]), (&by_pairs, &others[1]), (&by_steps, &others[0])]
            {
                let mut sums = vec![f32::NAN; expected.len()];
                // Safety: the strides lead to elements of the vectors.
                let (inputs, mut output) = unsafe {
                    let inputs = [&a, &b, other].map(|strides| Input::new(numbers.as_ptr(), &shape, strides));
                    (inputs, Output::folded(sums.as_mut_ptr(), &shape, &out, u8::MAX))
                };
                assert!(run(program, &inputs, &mut output, ON_ONE_THREAD));
                // Sums of small integers are exact.
                assert_eq!(sums, expected, "{a:?}, {b:?}, {other:?} into {out:?}");
            }
        }
    }
}

fn multiply_f32(inputs: [usize; 2]) -> Step {
    let key = KernelKey::Call(Op::Multiply, DType::F32);
    Step { key, kernel: key.kernel().unwrap(), inputs: inputs[..].into(), item: 4 }
}

/// Rows that differ in each block are not taken for those that another operand reads again.
#[test]
fn only_rows_of_the_pair_itself_are_read_again() {
    let (shape, len) = ([5usize, 6, 64], 64);
    let pair = |inputs| Pair {
        kernel: find_pair_fold(FoldOp::Sum, PairFunction::Product, DType::F32).unwrap(),
        inputs,
    };
    let numbers: Vec<f32> = (0..5 * 6 * len).map(|i| ((i * i) % 11) as f32).collect();
    let (rows, scalars, again) = ([6 * len, len, 1], [6, 1, 0], [0, len, 1]);
    // Which operand has the rows, the scalars, and what is read again.
    for order in [[0, 1, 2], [2, 0, 1], [2, 1, 0], [1, 0, 2]] {
        let program = Program::new(vec![4; 3], vec![], vec![multiply_f32([order[0], order[1]])], 3)
            .folding(find_fold(FoldOp::Sum, DType::F32).unwrap())
            .with_pairs(&[Some(pair([order[0], order[1]]))]);
        let mut strides = [[0isize; 3]; 3];
        for (operand, of_operand) in order.into_iter().zip([rows, scalars, again]) {
            strides[operand] = of_operand.map(|stride| stride as isize);
        }
        let (mut sums, mut expected) = (vec![f32::NAN; 5 * len], vec![0f32; 5 * len]);
        for index in indices(&shape) {
            let (time, row, i) = (index[0], index[1], index[2]);
            expected[time * len + i] += numbers[time * 6 * len + row * len + i] * numbers[time * 6 + row];
        }
        let out = [len as isize, 0, 1];
        // Safety: the strides lead to elements of the vectors.
        let (inputs, mut output) = unsafe {
            let inputs = strides.each_ref().map(|strides| Input::new(numbers.as_ptr(), &shape, strides));
            (inputs, Output::folded(sums.as_mut_ptr(), &shape, &out, u8::MAX))
        };
        assert!(run(&program, &inputs, &mut output, ON_ONE_THREAD));
        assert_eq!(sums, expected, "{order:?}");
    }
}

/// Floating-point flags of sums are reported, those of comparisons are not.
#[test]
#[cfg(target_arch = "x86_64")]
fn flags_of_folds_are_those_of_arithmetic() {
    let report = |fold: FoldOp, numbers: &[f64]| {
        let program = Program::new(vec![8], vec![], vec![], 0).folding(find_fold(fold, DType::F64).unwrap());
        let (shape, mut result) = ([numbers.len()], 0f64);
        // Safety: address, shape and strides are those of the slice.
        let (inputs, mut output) = unsafe {
            let input = Input::new(numbers.as_ptr(), &shape, &[1]);
            ([input], Output::folded(&raw mut result, &shape, &[0], u8::MAX))
        };
        let (is_complete, found) = flags::watch(|| run(&program, &inputs, &mut output, ON_ONE_THREAD));
        assert!(is_complete);
        found
    };
    assert_eq!(report(FoldOp::Sum, &[1e308, 1e308]), FloatFlags::OVERFLOW);
    assert_eq!(report(FoldOp::Sum, &[1e308, 1.0]), FloatFlags::NONE);
    for fold in [FoldOp::Min, FoldOp::Max] {
        for count in [2, 100] {
            // Comparisons of a signalling NaN set a flag.
            for nan in [f64::NAN, f64::from_bits(0x7FF0_0000_0000_0001)] {
                let mut numbers = vec![1.0; count];
                numbers[count / 2] = nan;
                assert_eq!(report(fold, &numbers), FloatFlags::NONE);
            }
        }
    }
}

/// Outputs of several folds have one layout, and elements of the size of theirs.
#[test]
fn outputs_of_folds_are_checked() {
    let fold = |fold| Program::new(vec![8], vec![], vec![], 0).folding(find_fold(fold, DType::I64).unwrap());
    let joint = Program::joint(&[&fold(FoldOp::Sum), &fold(FoldOp::Max)], &[&[0], &[0]]);
    let (a, shape) = ([1i64, 2, 3, 4], [2, 2]);
    let runs = |second: &dyn Fn(*mut i64) -> Output<'static>| {
        let mut results = [[0i64; 4]; 2];
        let [first, other] = &mut results;
        let is_complete = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            // Safety: address, shape and strides are those of the arrays.
            let (inputs, own) = unsafe {
                let input = Input::new(a.as_ptr(), &shape, &[2, 1]);
                ([input], Output::folded(first.as_mut_ptr(), &shape, &[1, 0], u8::MAX))
            };
            run_folds(&joint, &inputs, &mut [own, second(other.as_mut_ptr())], ON_ONE_THREAD).unwrap()
        }));
        is_complete.is_ok().then_some([results[0][0], results[0][1], results[1][0], results[1][1]])
    };
    const SHAPE: &[usize] = &[2, 2];
    // Safety: the strides lead to the four elements of the result.
    unsafe {
        let folded = |first| Output::folded::<i64>(first, SHAPE, &[1, 0], u8::MAX);
        assert_eq!(runs(&folded), Some([3, 7, 2, 4]));
        assert_eq!(runs(&|first| Output::folded(first, SHAPE, &[2, 0], u8::MAX)), None);
        assert_eq!(runs(&|first| Output::folded(first, &[2, 1], &[1, 0], u8::MAX)), None);
        assert_eq!(runs(&|first| Output::folded(first.cast::<i32>(), SHAPE, &[1, 0], u8::MAX)), None);
        assert_eq!(runs(&|first| Output::new(first, SHAPE, &[1, 0], u8::MAX)), None);
    }
}

/// Also where all elements of the output are folded at once.
#[test]
fn bits_beyond_the_mask_of_contiguous_accumulators_are_not_set() {
    let a = [[6u8, 4, 2, 0], [3, 1, 0, 0], [255, 8, 4, 2]];
    let program =
        Program::new(vec![1], vec![], vec![], 0).folding(find_fold(FoldOp::Max, DType::U8).unwrap());
    let mut maxima = [9u8; 3];
    // Safety: address, shape and strides are those of the arrays.
    let (inputs, mut output) = unsafe {
        let output = Output::folded(maxima.as_mut_ptr(), &[3, 4], &[1, 0], 1);
        ([Input::new(a.as_ptr().cast::<u8>(), &[3, 4], &[4, 1])], output)
    };
    assert!(run(&program, &inputs, &mut output, ON_ONE_THREAD));
    assert_eq!(maxima, [0, 1, 1]);
}

/// An index that is the same along rows, of any length.
#[test]
fn indices_of_rows() {
    for (len, steps) in
        [3, 10, 160, 300].into_iter().flat_map(|len| [[1, 0], [0, 1], [0, 0]].map(|steps| (len, steps)))
    {
        let shape = [20, len];
        let a = ArrayD::from_shape_fn(&shape[..], |at| (at[0] * 1000 + at[1]) as i64);
        let view = a.view();
        let inputs = [input(&view), Input::index(7, &shape, &steps)];
        for block in [64, 700, 4096] {
            let program = Program { block_elements: block, ..single() }.with_index(1);
            let mut out = ArrayD::from_elem(&shape[..], UNTOUCHED);
            assert!(run(&program, &inputs, &mut output(&mut out), ON_ONE_THREAD));
            let index = |at: &[usize]| 7 + at[0] as i64 * steps[0] as i64 + at[1] as i64 * steps[1] as i64;
            assert!(indices(&shape).all(|at| out[&at[..]] == a[&at[..]] - index(&at)));
        }
    }
}

/// What is computed once stays where it is, whatever is computed before it: in many blocks, with rows of the output that
/// are apart, and with scalars of each block.
#[test]
fn values_that_are_computed_once_stay() {
    // `((a + a) + a) - (b + 7)`, of which all but `b + 7` are of each block.
    let steps = || {
        vec![step(Op::Add, [0, 0]), step(Op::Add, [3, 0]), step(Op::Add, [1, 2]), step(Op::Subtract, [4, 5])]
    };
    let program = || Program::new(vec![8, 8], vec![Constant::new(7i64)], steps(), 6);
    for (shape, b_strides) in [[50, 20], [4, 200]]
        .into_iter()
        .flat_map(|shape| [[0, 0], [0, 1], [1, 0], [shape[1] as isize, 1]].map(|strides| (shape, strides)))
    {
        let a: Vec<i64> = (0..1000).map(|i| i * i % 101).collect();
        let b: Vec<i64> = (0..1000).map(|i| i * 3).collect();
        for gap in [0usize, 5] {
            let row = shape[1] + gap;
            let (in_strides, out_strides) = ([shape[1] as isize, 1], [row as isize, 1]);
            for (program, block) in [program(), program().with_immediate_fusion()]
                .into_iter()
                .flat_map(|program| [30, 100, 4096].map(|block| (program.clone(), block)))
            {
                let program = Program { block_elements: block, one_kernel_block: block, ..program };
                let mut out = vec![UNTOUCHED; shape[0] * row];
                // Safety: the strides lead to elements of the vectors.
                let (inputs, mut output) = unsafe {
                    let inputs = [
                        Input::new(a.as_ptr(), &shape, &in_strides),
                        Input::new(b.as_ptr(), &shape, &b_strides),
                    ];
                    (inputs, Output::new(out.as_mut_ptr(), &shape, &out_strides, u8::MAX))
                };
                assert!(run(&program, &inputs, &mut output, ON_ONE_THREAD));
                for (at, &result) in out.iter().enumerate() {
                    let (y, x) = (at / row, at % row);
                    let other = y as isize * b_strides[0] + x as isize * b_strides[1];
                    let expected = if x < shape[1] {
                        3 * a[y * shape[1] + x] - b[other as usize] - 7
                    } else {
                        UNTOUCHED
                    };
                    assert_eq!(result, expected, "{shape:?}, {b_strides:?}, {gap}, {block}");
                }
            }
        }
    }
}

/// `a0 + … + a8 + 0 + … + 8`.
#[test]
fn programs_of_many_operands_and_constants() {
    let constants = (0..9).map(Constant::new::<i64>).collect();
    let steps =
        (1..18).map(|number| step(Op::Add, [if number == 1 { 0 } else { 16 + number }, number])).collect();
    let program = Program::new(vec![8; 9], constants, steps, 34);
    let a = ndarray::arr1(&[1i64, 10, 100]).into_dyn();
    let (view, mut out) = (a.view(), ArrayD::zeros(IxDyn(&[3])));
    assert!(run(&program, &[input(&view); 9], &mut output(&mut out), ON_ONE_THREAD));
    assert_eq!(out, a * 9 + 36);
}

/// A kernel of three operands, and kernels of rows with one element for each.
#[test]
fn single_kernels_of_three_operands_and_of_rows() {
    let (a, b) = ([3i64, 4, 5], [30i64, 40, 50]);
    let conditions = [1u8, 0, 1];
    let choose = Step { inputs: [0, 1, 2].into_iter().collect(), ..step_where() };
    let program = Program::new(vec![1, 8, 8], vec![], vec![choose], 3);
    let mut out = ArrayD::zeros(IxDyn(&[3]));
    // Safety: the arrays are contiguous.
    let inputs = unsafe {
        let condition = Input::new(conditions.as_ptr(), &[3], &[1]);
        [condition, Input::new(a.as_ptr(), &[3], &[1]), Input::new(b.as_ptr(), &[3], &[1])]
    };
    assert!(run(&program, &inputs, &mut output(&mut out), ON_ONE_THREAD));
    assert_eq!(out.as_slice(), Some(&[3, 40, 5][..]));

    let elements: Vec<i64> = (0..600).map(|number| number * number).collect();
    let row = |elements, len: usize, stride: usize| OperandRows {
        bytes: bytemuck::cast_slice::<i64, u8>(elements),
        row: len * 8,
        stride: stride * 8,
    };
    for (program, len) in [single(), single().with_immediate_fusion()]
        .into_iter()
        .flat_map(|program| [(program.clone(), 1), (program, 100)])
    {
        let mut result = vec![0i64; 5 * len];
        let operands = [row(&elements, len, len), row(&elements[7..], 1, 3)];
        program.run_single_kernel_rows(&operands, 5, bytemuck::cast_slice_mut(&mut result));
        let expected = |at: usize| elements[at] - elements[7 + at / len * 3];
        assert!(result.iter().enumerate().all(|(at, &result)| result == expected(at)));
    }
    // Several kernels on as many elements as compiled ones are used for.
    let (a, b) = elements.split_at(300);
    let mut result = [0i64; 300];
    chain().run_few_kernels(
        &[bytemuck::cast_slice(a), bytemuck::cast_slice(b)],
        bytemuck::cast_slice_mut(&mut result),
    );
    assert!(result.iter().zip(a).zip(b).all(|((result, a), b)| *result == (a + b) * (b + 7) - a));
}

/// Sums of a part have the bits that they have in the whole, also where a loop has one iteration in the part only.
#[test]
fn parts_of_an_output_round_as_the_whole() {
    let program =
        Program::new(vec![4], vec![], vec![], 0).folding(find_fold(FoldOp::Sum, DType::F32).unwrap());
    let mut number = 0u32;
    let numbers: Vec<f32> = (0..40_000)
        .map(|_| {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (number >> 8) as f32 / 16_777_216.0
        })
        .collect();
    let sums = |first: usize, shape: &[usize], strides: &[isize], out: &[isize], whole: &[usize]| {
        let reach = |&(&size, &stride): &(&usize, &isize)| (size - 1) * stride.unsigned_abs();
        let count = 1 + shape.iter().zip(out).map(|pair| reach(&pair)).sum::<usize>();
        let mut sums = vec![f32::NAN; count];
        // Safety: the strides lead to elements of the vectors.
        let (inputs, mut output) = unsafe {
            let input = Input::new(numbers[first..].as_ptr(), shape, strides);
            ([input], Output::folded(sums.as_mut_ptr(), shape, out, u8::MAX).part_of(whole))
        };
        assert!(run(&program, &inputs, &mut output, ON_ONE_THREAD));
        sums
    };
    for shape in
        [vec![40, 3, 50], vec![7, 3, 5], vec![200, 2, 64], vec![3, 30, 3, 20], vec![20, 10, 3], vec![64, 3]]
    {
        let rank = shape.len();
        let strides = crate::layout::row_major(&shape);
        for (mask, dim) in (0..1usize << rank).flat_map(|mask| (0..rank).map(move |dim| (mask, dim))) {
            if mask >> dim & 1 == 1 {
                continue;
            }
            let kept: Vec<usize> = (0..rank).map(|d| if mask >> d & 1 == 1 { 1 } else { shape[d] }).collect();
            let mut out = crate::layout::row_major(&kept);
            (0..rank).filter(|d| mask >> d & 1 == 1).for_each(|d| out[d] = 0);
            let all = sums(0, &shape, &strides, &out, &shape);
            for at in [0, shape[dim] - 1] {
                let mut part = shape.clone();
                part[dim] = 1;
                let own = sums(at * strides[dim] as usize, &part, &strides, &out, &shape);
                let first = at * out[dim] as usize;
                let is_own = |index: usize| (index / out[dim] as usize).is_multiple_of(shape[dim]);
                let same = (0..own.len()).filter(|&index| is_own(index));
                for index in same {
                    assert_eq!(
                        own[index].to_bits(),
                        all[first + index].to_bits(),
                        "{shape:?}, {mask:b}, {dim}"
                    );
                }
            }
        }
    }
}

/// Contiguous and gathered inputs, wherever arrays reside: what is prefetched is not part of the result.
#[test]
fn three_inputs_in_any_order_and_residence() {
    let steps = || vec![step(Op::Subtract, [0, 1]), step(Op::Add, [3, 2])];
    let shape = [40usize, 50];
    let arrays: [ArrayD<i64>; 3] = std::array::from_fn(|number| {
        ArrayD::from_shape_fn(&shape[..], |at| (at[0] * 100 + at[1]) as i64 * [1, 1000, 1_000_000][number])
    });
    let expected = &arrays[0] - &arrays[1] + &arrays[2];
    for (transposed, block) in (0..8).flat_map(|bits| [64, 500].map(|block| (bits, block))) {
        let program = Program { block_elements: block, ..Program::new(vec![8; 3], vec![], steps(), 4) };
        // The same elements in column-major order.
        let views: [ArrayD<i64>; 3] = std::array::from_fn(|number| {
            if transposed >> number & 1 == 0 {
                return arrays[number].clone();
            }
            let columns = ArrayD::from_shape_fn(&[50, 40][..], |at| arrays[number][[at[1], at[0]]]);
            columns.reversed_axes()
        });
        let views = views.each_ref().map(|array| array.view());
        for residence in residences() {
            let mut out = ArrayD::from_elem(&shape[..], UNTOUCHED);
            run_in(residence, &program, &views.each_ref().map(input), &mut out);
            assert_eq!(out, expected, "{transposed:03b}, {residence:?}");
        }
    }
}

/// Many rows that are read again are folded in parts of some columns, as long as these are not too short.
#[test]
fn many_rows_that_are_read_again_are_folded_in_parts() {
    const TIMES: usize = 64;
    let program = Program::new(vec![4; 2], vec![], vec![multiply_f32([0, 1])], 2)
        .folding(find_fold(FoldOp::Sum, DType::F32).unwrap())
        .with_pairs(&[Some(Pair {
            kernel: find_pair_fold(FoldOp::Sum, PairFunction::Product, DType::F32).unwrap(),
            inputs: [0, 1],
        })]);
    for (rows, len) in [(700, 200), (2100, 64)] {
        let shape = [TIMES, rows, len];
        let numbers: Vec<f32> = (0..rows * len).map(|i| (i % len) as f32).collect();
        let scalars: Vec<f32> = (0..TIMES * rows).map(|i| (i / rows % 8) as f32).collect();
        let mut sums = vec![f32::NAN; TIMES * len];
        let [of_rows, of_scalars, out] =
            [[0, len, 1], [rows, 1, 0], [len, 0, 1]].map(|strides| strides.map(|stride| stride as isize));
        // Safety: the strides lead to elements of the vectors.
        let (inputs, mut output) = unsafe {
            let inputs = [
                Input::new(numbers.as_ptr(), &shape, &of_rows),
                Input::new(scalars.as_ptr(), &shape, &of_scalars),
            ];
            (inputs, Output::folded(sums.as_mut_ptr(), &shape, &out, u8::MAX))
        };
        assert!(run(&program, &inputs, &mut output, ON_ONE_THREAD));
        // Sums of small integers are exact.
        let expected = |at: usize| (rows * (at % len) * (at / len % 8)) as f32;
        assert!(sums.iter().enumerate().all(|(at, &sum)| sum == expected(at)), "{shape:?}");
    }
}
