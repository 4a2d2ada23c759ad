//! What [`run`] selects for given arrays, where the result does not show it; and descriptions of it.

use super::block::BlockShape;
use super::fuse::single_step;
use super::program::MAX_ARITY;
use super::schedule::{Action, BlockSpan, Residence, Schedule, gather_cost};
use super::single::is_row_major;
use super::tests::{ON_ONE_THREAD, chain, input, output, single, step};
use super::{
    Input, Options, Output, Position, Program, describe, is_shared, loop_nest, residence, run, streams,
    touched_bytes,
};
use crate::memory::max_bytes_without_prefetch;
use crate::memory::stream::has_streaming_stores;
use crate::nest::LoopNest;
use crate::tuning::{
    BLOCK_ELEMENTS, FUSE_AFTER, L1_BUDGET, MAX_FEW_KERNELS, MAX_FUSED_STEPS, MAX_HOISTED, MIN_FUSED_ELEMENTS,
    MIN_ROW_LEN, PARALLEL_MIN_BYTES, STREAM_MIN_BYTES,
};
use ndarray::{ArrayD, ArrayViewD, IxDyn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use unishape_jit::MAX_INPUTS;
use unishape_kernels::{Constant, DType, FoldOp, KernelKey, Op, find_fold, find_position_fold};

fn zeros(shape: &[usize]) -> ArrayD<i64> {
    ArrayD::zeros(IxDyn(shape))
}

#[test]
fn arrays_of_another_shape_or_element_size_are_rejected() {
    let (a, narrow) = (zeros(&[2, 3]), ArrayD::<i32>::zeros(IxDyn(&[2, 3])));
    let runs = |first: Input<'_>, shape: &[usize]| {
        let (b, mut out) = (zeros(shape), zeros(shape));
        let view = b.view();
        let inputs = [first, input(&view)];
        catch_unwind(AssertUnwindSafe(|| run(&single(), &inputs, &mut output(&mut out), ON_ONE_THREAD)))
            .is_ok()
    };
    let view = narrow.view();
    // Safety: address, shape and strides are those of the view.
    let narrow = unsafe { Input::new(view.as_ptr(), view.shape(), view.strides()) };
    assert!(runs(input(&a.view()), &[2, 3]));
    assert!(!runs(input(&a.view()), &[3, 2]));
    assert!(!runs(narrow, &[2, 3]));
    let view = a.view();
    let mut out = zeros(&[2, 3]);
    let mut run = |inputs: &[Input<'_>]| {
        catch_unwind(AssertUnwindSafe(|| run(&single(), inputs, &mut output(&mut out), ON_ONE_THREAD)))
            .is_ok()
    };
    assert!(run(&[input(&view); 2]) && !run(&[input(&view); 1]) && !run(&[input(&view); 3]));
}

/// Also those that no step takes.
#[test]
fn a_single_kernel_may_have_more_operands_than_it_takes() {
    let arrays: Vec<_> = (0..MAX_ARITY as i64 + 1).map(|n| ArrayD::from_elem(IxDyn(&[5]), 10 * n)).collect();
    let views: Vec<_> = arrays.iter().map(|array| array.view()).collect();
    let inputs: Vec<_> = views.iter().map(input).collect();
    let last = inputs.len() - 1;
    let program =
        Program::new(vec![8; inputs.len()], vec![], vec![step(Op::Subtract, [last, 0])], inputs.len());
    let mut out = zeros(&[5]);
    assert!(run(&program, &inputs, &mut output(&mut out), ON_ONE_THREAD));
    assert!(out.iter().all(|&element| element == 10 * last as i64));
}

/// There is nothing left that could be stopped.
#[test]
fn a_run_without_elements_is_complete() {
    let (a, shape, strides) = (zeros(&[1]), [0], [1]);
    // Safety: there are no indices.
    let input = unsafe { Input::new(a.as_ptr(), &shape, &strides) };
    let options = Options { should_continue: &|_| false, ..ON_ONE_THREAD };
    for program in [single(), chain()] {
        let mut element = 0i64;
        // Safety: as above.
        let mut output = unsafe { Output::new(&raw mut element, &shape, &strides, u8::MAX) };
        assert!(run(&program, &[input; 2], &mut output, options));
    }
}

#[test]
fn a_run_that_is_stopped_is_not_complete() {
    for side in [3, 300] {
        let (a, mut out) = (zeros(&[side, side]), zeros(&[side, side]));
        let view = a.view();
        for (program, should_continue) in
            [single(), chain()].into_iter().flat_map(|program| [(program.clone(), true), (program, false)])
        {
            let options = Options { should_continue: &|_| should_continue, ..ON_ONE_THREAD };
            let is_complete = run(&program, &[input(&view); 2], &mut output(&mut out), options);
            assert_eq!(is_complete, should_continue);
        }
    }
}

#[test]
fn dimensions_of_size_1_are_contiguous_with_any_stride() {
    assert!(is_row_major(&[], &[]) && is_row_major(&[1, 1], &[7, 9]));
    assert!(is_row_major(&[2, 3, 4], &[12, 4, 1]) && is_row_major(&[2, 1, 4], &[4, 77, 1]));
    assert!(is_row_major(&[3, 1], &[1, 3]) && is_row_major(&[1, 3], &[0, 1]));
    for strides in [[12, 4, 2], [12, 3, 1], [24, 4, 1], [0, 4, 1], [1, 2, 6], [-12, -4, -1]] {
        assert!(!is_row_major(&[2, 3, 4], &strides), "{strides:?}");
    }
}

#[test]
fn arrays_larger_than_the_caches_reside_in_memory() {
    for threads in [1, 4] {
        let most = max_bytes_without_prefetch(threads);
        assert_eq!([1, most - 1, most].map(|touched| residence(touched, threads)), [Residence::Cache; 3]);
        // Some CPUs have no limit.
        if let Some(more) = most.checked_add(1) {
            assert_eq!(residence(more, threads), Residence::Memory);
        }
    }
}

#[test]
fn stretched_elements_are_touched_once() {
    let (a, column) = (zeros(&[20, 30]), zeros(&[20, 1]));
    let views = [a.view(), column.broadcast(IxDyn(&[20, 30])).unwrap()];
    let nest = loop_nest(&[20, 30], &[30, 1], &views.each_ref().map(input));
    assert_eq!(touched_bytes(&single(), &nest), 8 * (600 + 600 + 20));
}

/// In bytes: inputs, output, and 2 for each step of each element.
#[test]
fn large_programs_are_shared() {
    let shared = |program: &Program, elements: usize| {
        let a = zeros(&[elements]);
        let view = a.view();
        is_shared(program, &[elements], &[input(&view); 2])
    };
    assert!(!shared(&single(), PARALLEL_MIN_BYTES / (3 * 8 + 2)));
    assert!(shared(&single(), PARALLEL_MIN_BYTES / (3 * 8 + 2) + 1));
    assert!(!shared(&chain(), PARALLEL_MIN_BYTES / (3 * 8 + 4 * 2)));
    assert!(shared(&chain(), PARALLEL_MIN_BYTES / (3 * 8 + 4 * 2) + 1));
    // The input is one element, so less memory is touched.
    let one = zeros(&[1]);
    let elements = PARALLEL_MIN_BYTES / (8 + 2) - 2;
    let stretched = one.broadcast(IxDyn(&[elements])).unwrap();
    assert!(!is_shared(&single(), &[elements], &[input(&stretched); 2]));
}

#[test]
fn outputs_are_streamed_if_they_are_large_and_aligned() {
    fn streamed<T: bytemuck::Pod + Send>(elements: &mut [T], shape: &[usize], strides: &[isize]) -> bool {
        let backwards = strides.iter().zip(shape).map(|(&stride, &size)| (size as isize - 1) * stride.min(0));
        let first = elements.as_mut_ptr().wrapping_offset(-backwards.sum::<isize>());
        // Safety: the indices lead to elements of the slice, which is borrowed mutably.
        let output = unsafe { Output::new(first, shape, strides, u8::MAX) };
        streams(&output, &loop_nest(shape, strides, &[]), usize::MAX)
    }
    fn check<T: bytemuck::Pod + Send>() {
        let count = STREAM_MIN_BYTES / size_of::<T>();
        // The system allocates memory with the first write, and there is none.
        let mut elements: Vec<T> = crate::memory::zeroed(count).unwrap();
        for strides in [[1], [-1]] {
            assert_eq!(streamed(&mut elements, &[count], &strides), has_streaming_stores());
            assert!(!streamed(&mut elements, &[count - 1], &strides));
        }
    }
    check::<u8>();
    check::<u16>();
    check::<u32>();
    check::<u64>();
    check::<u128>();
}

fn step_of(op: Op, inputs: &[usize], dtype: DType, item: usize) -> super::Step {
    let key = KernelKey::Call(op, dtype);
    super::Step { key, kernel: key.kernel().unwrap(), inputs: inputs.into(), item }
}

/// Per element: nothing for what kernels can take in place, half for rows, one for single elements.
#[test]
fn only_what_is_not_in_place_costs_gathering() {
    let program = Program { min_row_len: 160, ..single() };
    let cost = |shape: [usize; 3], strides: [[isize; 3]; 3], block: usize| {
        let nest = LoopNest::new(&shape, 3, |operand, dim| strides[operand][dim]);
        gather_cost(&program, &nest, BlockShape::new(&nest, block))
    };
    let (long, short) = ([9, 8, 200], [9, 8, 100]);
    let of = |b: [isize; 3]| [[1600, 200, 1], [9999, 700, 1], b];
    // The first input has rows apart from each other.
    assert_eq!(cost(long, of([1600, 200, 1]), 800), 0.0);
    assert_eq!(cost(short, of([1600, 200, 1]), 400), 3.0 * 0.5);
    // A column, and one that is stretched along blocks as well.
    assert_eq!((cost(long, of([8, 1, 0]), 800), cost(short, of([8, 1, 0]), 400)), (0.0, 1.0 + 1.0));
    // A row that is repeated: in each block, or the same in all of them.
    assert_eq!((cost(long, of([200, 0, 1]), 800), cost(long, of([0, 0, 1]), 800)), (0.5, 0.0));
    // A broadcast scalar of each block, and single elements.
    assert_eq!((cost(long, of([1, 0, 0]), 800), cost(long, of([5, 50, 500]), 800)), (0.0, 1.0));
    // An output that is scattered.
    let scattered = [[3200, 400, 2], [1600, 200, 1], [1600, 200, 1]];
    assert_eq!((cost(long, scattered, 800), cost(long, scattered, 1 << 20)), (1.0, 1.0));
    // Indices are gathered, but not by folds of positions.
    let nest = LoopNest::new(&long, 3, |operand, dim| [[0; 3], [1600, 200, 1], [5, 50, 500]][operand][dim]);
    let cost = |program: &Program| gather_cost(program, &nest, BlockShape::new(&nest, 800));
    let indices = || Program::new(vec![8, 8], vec![], vec![], 0).with_index(1);
    let position = Position { kernel: find_position_fold(FoldOp::ArgMax, DType::I64).unwrap(), index: 1 };
    let sum = indices().folding(find_fold(FoldOp::Sum, DType::I64).unwrap());
    assert_eq!((cost(&indices().finding_position(position)), cost(&sum)), (0.0, 1.0));
}

/// Three quarters of the largest block, at least 2 KB, of a contiguous output.
#[test]
fn streamed_blocks_are_smaller_but_not_tiny() {
    let block = |shape: [usize; 2], strides: [[isize; 2]; 3], block_elements: usize, residence: Residence| {
        let nest = LoopNest::new(&shape, 3, |operand, dim| strides[operand][dim]);
        let mut schedule = Schedule::default();
        schedule.make(&Program { block_elements, ..single() }, &nest, residence);
        (schedule.block.len(), schedule.streams)
    };
    let contiguous = [[1024, 1]; 3];
    assert_eq!(block([1536, 1024], contiguous, 2048, Residence::Memory), (2048, false));
    assert_eq!(block([1536, 1024], contiguous, 2048, Residence::Stream), (1536, true));
    assert_eq!(block([1032, 1024], contiguous, 344, Residence::Stream), (256, true));
    assert_eq!(block([1024, 1024], contiguous, 340, Residence::Stream), (336, false));
    // Whole rows of exactly 2 KB, with a column; and rows of a scattered output.
    let column = [[256, 1], [256, 1], [1, 0]];
    assert_eq!(block([1024, 256], column, 344, Residence::Stream), (256, true));
    assert!(!block([1024, 255], [[255, 1], [255, 1], [1, 0]], 344, Residence::Stream).1);
    assert!(!block([1024, 256], [[512, 2], [256, 1], [1, 0]], 2048, Residence::Stream).1);
}

/// The schedule for arrays with these strides; the output's are first.
fn schedule(program: &Program, shape: &[usize], strides: &[&[isize]], residence: Residence) -> Schedule {
    let nest = LoopNest::new(shape, strides.len(), |operand, dim| strides[operand][dim]);
    let mut schedule = Schedule::default();
    schedule.make_unfused(program, &nest, residence);
    schedule
}

/// `a + 1 + 2 + b + c`.
fn with_constants() -> Program {
    let constants = vec![Constant::new(1i64), Constant::new(2i64)];
    let steps = [[0, 3], [5, 4], [6, 1], [7, 2]].map(|inputs| step(Op::Add, inputs)).into();
    Program::new(vec![8; 3], constants, steps, 8)
}

#[test]
fn only_arrays_in_memory_are_prefetched() {
    use Residence::{Cache, Memory, Stream};
    let program = Program { block_elements: 1024, ..single() };
    let prefetched = |shape: &[usize], strides: &[&[isize]], residence| {
        let Schedule { prefetched, prefetches_output, .. } = schedule(&program, shape, strides, residence);
        (prefetched, prefetches_output)
    };
    let contiguous: &[&[isize]] = &[&[1], &[1], &[1]];
    assert_eq!(prefetched(&[1 << 16], contiguous, Memory), (vec![0, 1], true));
    assert_eq!(prefetched(&[1 << 16], contiguous, Cache), (vec![], false));
    // A streamed output is not read, and a single block has no next one.
    assert_eq!(prefetched(&[1 << 16], contiguous, Stream), (vec![0, 1], false));
    assert_eq!(prefetched(&[1024], contiguous, Memory), (vec![], false));
    // Broadcast scalars, gathered inputs and a scattered output.
    assert_eq!(prefetched(&[1 << 16], &[&[1], &[0], &[1]], Memory), (vec![1], true));
    assert_eq!(prefetched(&[1 << 16], &[&[2], &[1], &[3]], Memory), (vec![0], false));
    // Rows that are read again for the next block are in the cache.
    let rows: &[&[isize]] = &[&[1 << 16, 1024, 1], &[1 << 16, 1024, 1], &[1024, 0, 1]];
    assert_eq!(prefetched(&[64, 64, 1024], rows, Memory), (vec![0], true));
    // A copy computes nothing meanwhile.
    let copy = Program { block_elements: 1024, ..Program::new(vec![8], vec![], vec![], 0) };
    assert!(!schedule(&copy, &[1 << 16], &[&[1], &[1]], Memory).prefetches_output);
    let gathered = |residence| schedule(&program, &[1 << 16], contiguous, residence).prefetches_gathered;
    assert_eq!([Cache, Memory, Stream].map(gathered), [false, true, true]);
}

#[test]
fn calls_are_those_of_each_block() {
    let calls = |program: &Program, strides: &[&[isize]]| {
        schedule(program, &[1 << 16], strides, Residence::Cache).calls
    };
    assert_eq!(calls(&chain(), &[&[1], &[1], &[1]]), 4);
    // `b + 7` is a scalar, and the same in every block.
    assert_eq!(calls(&chain(), &[&[1], &[1], &[0]]), 3);
    assert_eq!(calls(&with_constants(), &[&[1], &[1], &[1], &[1]]), 4);
    assert_eq!(calls(&with_constants(), &[&[1], &[0], &[1], &[1]]), 2);
}

#[test]
fn columns_of_long_rows_are_not_gathered() {
    let gathers = |len: usize| {
        let row = len as isize;
        let strides: &[&[isize]] = &[&[row, 1], &[row + 50, 1], &[1, 0]];
        let program = Program { block_overhead: usize::MAX, ..single() };
        let Schedule { once, each, .. } = schedule(&program, &[64, len], strides, Residence::Cache);
        once.iter().chain(&each).filter(|action| matches!(action, Action::Gather { .. })).count()
    };
    assert_eq!([MIN_ROW_LEN - 1, MIN_ROW_LEN].map(gathers), [2, 0]);
}

/// An input whose rows are apart from each other, and a column.
#[test]
fn rows_that_are_apart_are_read_in_place() {
    let (rows, len) = (50, 200);
    let numbers = ArrayD::from_shape_fn(IxDyn(&[rows, len + 7]), |at| (at[0] * 1000 + at[1]) as i64);
    let apart = numbers.slice_axis(ndarray::Axis(1), ndarray::Slice::new(0, Some(len as isize), 1));
    let column = ArrayD::from_shape_fn(IxDyn(&[rows, 1]), |at| 3 * at[0] as i64);
    let column = column.broadcast(apart.raw_dim()).unwrap();
    for b in [&column, &apart] {
        let mut out = zeros(&[rows, len]);
        assert!(run(&single(), &[input(&apart), input(b)], &mut output(&mut out), ON_ONE_THREAD));
        assert_eq!(out, &apart - b);
        assert!(run(&chain(), &[input(&apart), input(b)], &mut output(&mut out), ON_ONE_THREAD));
        assert_eq!(out, (&apart + b) * (b + 7) - &apart);
    }
}

/// `t = t + b`, many times.
#[test]
fn scratch_blocks_are_reused() {
    let first = step(Op::Add, [0, 1]);
    let steps = std::iter::once(first).chain((0..20).map(|n| step(Op::Add, [2 + n, 1]))).collect();
    let program = Program::new(vec![8, 8], vec![], steps, 22);
    let scratch = schedule(&program, &[1 << 16], &[&[1], &[1], &[1]], Residence::Cache).scratch;
    assert_eq!(scratch.len(), 2);
}

/// Each would take a scratch block.
#[test]
fn few_values_are_computed_once() {
    let once = |count: usize| {
        let constants: Vec<_> = (0..count as i64).map(Constant::new).collect();
        // `(k + 0) + (k + 1) + … + a`, where `k` is a broadcast scalar.
        let (first, sums) = (2 + count, 2 + 2 * count);
        let terms = (0..count).map(|n| step(Op::Add, [1, 2 + n]));
        let added = (0..count).map(|n| step(Op::Add, [if n == 0 { 0 } else { sums + n - 1 }, first + n]));
        let program = Program::new(vec![8, 8], constants, terms.chain(added).collect(), sums + count - 1);
        schedule(&program, &[1 << 16], &[&[1], &[1], &[0]], Residence::Cache).once.len()
    };
    assert_eq!(once(10), 10);
    assert!(once(60) <= MAX_HOISTED && once(500) <= MAX_HOISTED);
}

/// Where blocks are cheap and gathering is not.
#[test]
fn rows_are_blocks_unless_one_block_is_everything() {
    let program = Program { block_elements: 2048, block_overhead: 1, min_row_len: 1000, ..single() };
    let block = |rows: usize| {
        let nest = LoopNest::new(&[rows, 100], 3, |operand, dim| [[100, 1], [100, 1], [1, 0]][operand][dim]);
        let mut schedule = Schedule::default();
        schedule.make(&program, &nest, Residence::Cache);
        schedule.block.len()
    };
    assert_eq!([4, 20, 21, 64].map(block), [400, 2000, 100, 100]);
}

/// With all values that are live at a time.
#[test]
fn blocks_fit_the_l1_cache() {
    let block = |program: &Program| program.block_elements;
    // Two inputs and the output.
    assert_eq!(block(&single()), L1_BUDGET / (3 * 8));
    // `a + b` and `b + 7` while both inputs are still needed.
    assert_eq!(chain().max_live_bytes(), 4 * 8);
    // An input that is taken twice counts once.
    let square = Program::new(vec![8], vec![], vec![step(Op::Multiply, [0, 0])], 1);
    assert_eq!(square.max_live_bytes(), 2 * 8);
    let steps = vec![step(Op::Multiply, [0, 0]), step(Op::Multiply, [2, 1])];
    assert_eq!(Program::new(vec![8; 2], vec![], steps, 3).max_live_bytes(), 3 * 8);
    // Values are dropped after their last use: `(a + b) + c`.
    let sum = Program::new(vec![8; 3], vec![], vec![step(Op::Add, [0, 1]), step(Op::Add, [3, 2])], 4);
    assert_eq!(sum.max_live_bytes(), 3 * 8);
    // Constants take no space.
    let constants = vec![Constant::new(1i64), Constant::new(2i64)];
    let constant = Program::new(vec![8], constants, vec![step(Op::Add, [0, 1]), step(Op::Add, [3, 2])], 4);
    assert_eq!(constant.max_live_bytes(), 2 * 8);
    assert_eq!(with_constants().max_live_bytes(), 3 * 8);
    // Neither tiny nor huge: a hundred values that are all needed afterwards.
    let doubled = (0..100).map(|n| step(Op::Add, [n, n]));
    let added = (0..99).map(|n| step(Op::Add, [if n == 0 { 100 } else { 199 + n }, 101 + n]));
    let many = Program::new(vec![8; 100], vec![], doubled.chain(added).collect(), 298);
    assert_eq!((many.max_live_bytes(), block(&many)), (101 * 8, *BLOCK_ELEMENTS.start()));
    let bytes = Program::new(vec![1], vec![], vec![step_of(Op::Add, &[0, 0], DType::I8, 1)], 1);
    assert_eq!(block(&bytes), *BLOCK_ELEMENTS.end());
}

#[test]
fn elements_have_the_size_of_their_value() {
    let program = Program::new(
        vec![8, 4],
        vec![Constant::new(1u8)],
        vec![step(Op::Add, [0, 0]), step_of(Op::Less, &[3, 0], DType::I64, 1)],
        4,
    );
    assert_eq!([0, 1, 2, 3, 4].map(|value| program.item(value)), [8, 4, 1, 8, 1]);
    assert_eq!(program.items_per_element(), 8 + 4 + 1);
}

#[test]
fn single_kernels_run_on_bytes_of_their_size_only() {
    let program = single();
    assert!(program.is_single_kernel() && !chain().is_single_kernel());
    let with_constant = Program::new(vec![8, 8], vec![Constant::new(1i64)], vec![step(Op::Add, [0, 1])], 3);
    let of_operand = Program::new(vec![8, 8], vec![], vec![step(Op::Add, [0, 1])], 0);
    assert!(!with_constant.is_single_kernel() && !of_operand.is_single_kernel());
    let (a, b) = ([5i64, 6, 7], [1i64, 2, 3]);
    let bytes = |elements| bytemuck::cast_slice::<i64, u8>(elements);
    let mut out = [0i64; 3];
    program.run_single_kernel(&[bytes(&a), bytes(&b)], bytemuck::cast_slice_mut(&mut out));
    assert_eq!(out, [4, 4, 4]);
    // Empty slices, of any address.
    program.run_single_kernel(&[&bytes(&a)[1..1], &bytes(&b)[3..3]], &mut []);
    let mut fails = |program: &Program, inputs: &[&[u8]], len: usize| {
        let output = &mut bytemuck::cast_slice_mut::<i64, u8>(&mut out)[..len];
        catch_unwind(AssertUnwindSafe(|| program.run_single_kernel(inputs, output))).is_err()
    };
    assert!(!fails(&program, &[bytes(&a), bytes(&b)], 24));
    assert!(fails(&program, &[bytes(&a), bytes(&b)], 16));
    assert!(fails(&program, &[bytes(&a), bytes(&b)], 23));
    assert!(fails(&program, &[bytes(&a), &bytes(&b)[..16]], 24));
    assert!(fails(&program, &[&bytes(&a)[..16], bytes(&b)], 24));
    assert!(fails(&program, &[bytes(&a)], 24));
    assert!(fails(&program, &[bytes(&a), bytes(&b), bytes(&b)], 24));
    assert!(fails(&chain(), &[bytes(&a), bytes(&b)], 24));
}

#[test]
fn programs_show_what_they_consist_of() {
    let program = chain();
    assert_eq!(program.operand_items(), [8, 8]);
    assert_eq!(program.constants().iter().map(Constant::get).collect::<Vec<_>>(), [Some(7i64)]);
    assert_eq!(program.results(), [6]);
    assert_eq!((program.steps().len(), program.step_count()), (4, 4));
    let inputs = |value| program.step(value).map(|step| step.inputs.to_vec());
    assert_eq!([2, 3, 6, 7].map(inputs), [None, Some(vec![0, 1]), Some(vec![5, 0]), None]);
    let (steps, results) = program.listing(&["a".into(), "b".into()], &["7".into()]);
    let expected = ["t1 = add(a, b)", "t2 = add(b, 7)", "t3 = multiply(t1, t2)", "t4 = subtract(t3, a)"];
    assert_eq!((steps, results), (expected.map(str::to_owned).to_vec(), vec!["t4".to_owned()]));
}

/// `a + 1 + 1 + …`, of this many steps.
fn steps_in_a_row(count: usize) -> Program {
    let input = |number| if number == 0 { 0 } else { 1 + number };
    let steps = (0..count).map(|number| step(Op::Add, [input(number), 1])).collect();
    Program::new(vec![8], vec![Constant::new(1i64)], steps, input(count))
}

#[test]
fn few_kernels_are_stored_results_of_a_limited_number_of_steps() {
    assert!(single().is_few_kernels() && chain().is_few_kernels());
    assert!(steps_in_a_row(MAX_FEW_KERNELS).is_few_kernels());
    assert!(!steps_in_a_row(MAX_FEW_KERNELS + 1).is_few_kernels());
    let without_steps = Program::new(vec![8], vec![], vec![], 0);
    let of_operand = Program::new(vec![8, 8], vec![], vec![step(Op::Add, [0, 1])], 0);
    let folding = chain().folding(find_fold(FoldOp::Sum, DType::I64).unwrap());
    for program in [without_steps, of_operand, folding, single().with_index(1)] {
        assert!(!program.is_few_kernels(), "{program:?}");
    }
}

#[test]
fn few_kernels_run_one_after_another() {
    let (a, b) = ([5i64, 6, 7], [1i64, 2, 4]);
    let bytes = |elements| bytemuck::cast_slice::<i64, u8>(elements);
    let run = |program: &Program, inputs: &[&[u8]]| {
        let mut out = [0i64; 3];
        program.run_few_kernels(inputs, bytemuck::cast_slice_mut(&mut out));
        out
    };
    let expected = std::array::from_fn(|at| (a[at] + b[at]) * (b[at] + 7) - a[at]);
    assert_eq!(run(&chain(), &[bytes(&a), bytes(&b)]), expected);
    assert_eq!(run(&single(), &[bytes(&a), bytes(&b)]), [4, 4, 3]);
    assert_eq!(run(&steps_in_a_row(4), &[bytes(&a)]), [9, 10, 11]);
    // Steps of constants only, of such steps only, and of other steps only: (a + (1 + 2)²)² - (1 + 2).
    let constants = vec![Constant::new(1i64), Constant::new(2i64)];
    let steps = vec![
        step(Op::Add, [1, 2]),
        step(Op::Multiply, [3, 3]),
        step(Op::Add, [0, 4]),
        step(Op::Multiply, [5, 5]),
        step(Op::Subtract, [6, 3]),
    ];
    let squares = Program::new(vec![8], constants, steps, 7);
    assert_eq!(run(&squares, &[bytes(&a)]), a.map(|a| (a + 9) * (a + 9) - 3));
    chain().run_few_kernels(&[&bytes(&a)[1..1], &[]], &mut []);
    let fails = |program: &Program, inputs: &[&[u8]], len: usize| {
        let mut out = [0i64; 3];
        let output = &mut bytemuck::cast_slice_mut::<i64, u8>(&mut out)[..len];
        catch_unwind(AssertUnwindSafe(|| program.run_few_kernels(inputs, output))).is_err()
    };
    assert!(!fails(&chain(), &[bytes(&a), bytes(&b)], 24));
    assert!(fails(&chain(), &[bytes(&a), bytes(&b)], 16));
    assert!(fails(&chain(), &[bytes(&a), bytes(&b)], 23));
    assert!(fails(&chain(), &[bytes(&a), &bytes(&b)[..16]], 24));
    assert!(fails(&chain(), &[bytes(&a)], 24));
    assert!(fails(&steps_in_a_row(MAX_FEW_KERNELS + 1), &[bytes(&a)], 24));
}

/// Description of [`chain`] for arrays that are stretched to a shape.
fn plan(shape: &[usize], arrays: [ArrayViewD<'_, i64>; 2]) -> String {
    let stretched = arrays.each_ref().map(|array| array.broadcast(IxDyn(shape)).unwrap());
    describe(&chain(), shape, &stretched.each_ref().map(input), &["a".into(), "b".into()], &["7".into()])
}

/// The lines about `b` and about invariant values.
fn plan_of_b(shape: &[usize], a: &ArrayD<i64>, b: ArrayViewD<'_, i64>) -> [String; 2] {
    let plan = plan(shape, [a.view(), b]);
    let once = plan.split_once("once:\n").map_or("", |(_, steps)| steps.split('\n').next().unwrap());
    let b = plan.lines().find_map(|line| line.strip_prefix("  b: ")).unwrap();
    [b.into(), once.trim().into()]
}

#[test]
fn plans_describe_loops_blocks_and_steps() {
    let (a, row) = (zeros(&[64, 1024]), zeros(&[64]));
    assert_eq!(
        plan(&[64, 1024], [a.view(), a.view()]),
        "loops: 65536 elements\n\
         block: 768 elements\n  \
           a: read in place\n  \
           b: read in place\n  \
           result: written in place\n\
         for each block:\n  \
           t1 = add(a, b)\n  \
           t2 = add(b, 7)\n  \
           t3 = multiply(t1, t2)\n  \
           result = subtract(t3, a)\n"
    );
    let (cube, rows) = (zeros(&[640, 64, 10]), zeros(&[64, 1]));
    assert_eq!(
        plan(&[640, 64, 10], [cube.view(), rows.view()]),
        "loops: 640 x 64 x 10 elements\n\
         block: 64 x 10 elements\n  \
           a: read in place\n  \
           b: the same in every block, gathered once\n  \
           result: written in place\n\
         once:\n  \
           t2 = add(b, 7)\n\
         for each block:\n  \
           t1 = add(a, b)\n  \
           t3 = multiply(t1, t2)\n  \
           result = subtract(t3, a)\n"
    );
    let transposed = zeros(&[1030, 70]);
    assert_eq!(
        plan(&[70, 1030], [zeros(&[70, 1030]).view(), transposed.t()]),
        "loops: 1 x 4 x 64 x 256 elements\n\
         block: 3 x 256 elements\n  \
           a: read in place, row by row\n  \
           b: transposed into each block\n  \
           result: written in place, row by row\n\
         for each block:\n  \
           t1 = add(a, b)\n  \
           t2 = add(b, 7)\n  \
           t3 = multiply(t1, t2)\n  \
           result = subtract(t3, a)\n\
         remainder of the tiles: 1 x 1 x 64 x 6 elements\n\
         remainder of the tiles: 1 x 4 x 6 x 256 elements\n\
         remainder of the tiles: 1 x 1 x 6 x 6 elements\n"
    );
    let one = zeros(&[]);
    assert_eq!(
        plan(&[], [one.view(), one.view()]),
        "loops: 1 element\n\
         block: 1 element\n  \
           a: broadcast scalar\n  \
           b: broadcast scalar\n  \
           result: written in place\n\
         for each block:\n  \
           t1 = add(a, b), a scalar\n  \
           t2 = add(b, 7), a scalar\n  \
           t3 = multiply(t1, t2), a scalar\n  \
           t4 = subtract(t3, a), a scalar\n  \
           result = t4\n"
    );
    assert_eq!(plan(&[0, 64], [row.view(), row.view()]), "nothing to compute: the result has no elements\n");
}

#[test]
fn plans_describe_how_inputs_are_read() {
    let wide = zeros(&[64, 1024]);
    let read = |b: ArrayViewD<'_, i64>| plan_of_b(&[64, 1024], &wide, b);
    assert_eq!(read(zeros(&[1024]).view()), ["the same in every row, read in place", ""]);
    assert_eq!(read(zeros(&[64, 1]).view()), ["broadcast scalar, one for each block", ""]);
    assert_eq!(read(zeros(&[1]).view()), ["broadcast scalar", "t2 = add(b, 7), a scalar"]);
    let narrow = zeros(&[640, 10]);
    let read = |b: ArrayViewD<'_, i64>| plan_of_b(&[640, 10], &narrow, b);
    assert_eq!(read(zeros(&[10]).view()), ["the same in every block, gathered once", "t2 = add(b, 7)"]);
    assert_eq!(read(zeros(&[640, 1]).view()), ["one element for each row, repeated into each block", ""]);
    let gaps = zeros(&[640, 30]);
    let rows = gaps.slice_axis(ndarray::Axis(1), ndarray::Slice::new(0, Some(10), 1));
    assert_eq!(read(rows), ["contiguous rows, gathered into each block", ""]);
    let thirds = gaps.slice_axis(ndarray::Axis(1), ndarray::Slice::new(0, None, -3));
    assert_eq!(read(thirds), ["stride 3, gathered into each block", ""]);
    // Elements that overlap: each row begins one element after the one before it.
    let elements = vec![0; 1000];
    let layout = ndarray::ShapeBuilder::strides(IxDyn(&[640, 10]), IxDyn(&[1, 1]));
    let overlapping = ArrayViewD::from_shape(layout, &elements).unwrap();
    assert_eq!(read(overlapping), ["contiguous rows, gathered into each block", ""]);
    // A block is a row.
    let row = zeros(&[700]);
    let once = plan_of_b(&[64, 700], &zeros(&[64, 700]), row.view());
    assert_eq!(once, ["the same in every block, read in place", "t2 = add(b, 7)"]);
    let middle = zeros(&[64, 300]);
    let read = |b: ArrayViewD<'_, i64>| plan_of_b(&[64, 300], &middle, b);
    assert_eq!(read(zeros(&[64, 1]).view()), ["a column: one element for each row", ""]);
    let gaps = zeros(&[64, 400]);
    let rows = gaps.slice_axis(ndarray::Axis(1), ndarray::Slice::new(0, Some(300), 1));
    assert_eq!(read(rows), ["read in place, row by row", ""]);
}

#[test]
fn plans_say_which_inputs_are_not_read() {
    let a = zeros(&[5]);
    let view = a.view();
    let names = ["a".into(), "b".into()];
    let copy = Program::new(vec![8, 8], vec![], vec![], 1);
    assert_eq!(
        describe(&copy, &[5], &[input(&view); 2], &names, &[]),
        "loops: 5 elements\n\
         block: 5 elements\n  \
           a: not read: the result does not depend on it\n  \
           b: read in place\n  \
           result: written in place\n\
         for each block:\n  \
           result = b\n"
    );
}

/// The steps of each fused kernel of a program on contiguous arrays, and the number of calls.
fn fused(program: Program, shape: &[usize], strides: &[&[isize]]) -> (Vec<Vec<u32>>, usize) {
    let nest = LoopNest::new(shape, strides.len(), |operand, dim| strides[operand][dim]);
    let mut schedule = Schedule::default();
    schedule.make(&program.with_immediate_fusion(), &nest, Residence::Cache);
    let groups = schedule.groups.groups.iter().filter(|group| group.kernel.is_some());
    (groups.map(|group| group.steps.to_vec()).collect(), schedule.calls)
}

/// Whether this CPU has the instructions of fused kernels.
fn has_fused_kernels() -> bool {
    !fused(with_constants(), &[1000], &[&[1], &[1], &[1], &[1]]).0.is_empty()
}

#[test]
fn steps_between_which_nothing_else_is_needed_are_fused() {
    #[cfg(target_arch = "x86_64")]
    assert!(has_fused_kernels() || !is_x86_feature_detected!("avx2"));
    if !has_fused_kernels() {
        return;
    }
    let contiguous: &[&[isize]] = &[&[1], &[1], &[1], &[1]];
    assert_eq!(fused(with_constants(), &[1000], contiguous), (vec![vec![0, 1, 2, 3]], 1));
    // `a + 1 + 2` is computed once, so the rest is fused.
    assert_eq!(fused(with_constants(), &[1000], &[&[1], &[0], &[1], &[1]]), (vec![vec![2, 3]], 1));
    // Products of int64 have no instruction: the sums before it are two, of which each is alone.
    assert_eq!(fused(super::tests::chain(), &[1000], &contiguous[1..]), (vec![], 4));
    // A kernel has at most ten blocks to read.
    let sum = |inputs: usize| {
        let first = step(Op::Add, [0, 1]);
        let steps =
            std::iter::once(first).chain((2..inputs).map(|input| step(Op::Add, [inputs + input - 2, input])));
        Program::new(vec![8; inputs], vec![], steps.collect(), 2 * inputs - 2)
    };
    let strides = |inputs: usize| vec![&[1isize][..]; 1 + inputs];
    assert_eq!(fused(sum(10), &[1000], &strides(10)), (vec![(0..9).collect()], 1));
    assert_eq!(fused(sum(11), &[1000], &strides(11)), (vec![(1..10).collect()], 2));
    assert_eq!(fused(sum(20), &[1000], &strides(20)), (vec![(10..19).collect(), (1..10).collect()], 3));
    // And broadcast scalars, of which it has one less than the largest number of inputs.
    let scalars = |inputs: usize| {
        let strides = strides(2).into_iter().chain(vec![&[0isize][..]; inputs - 1]);
        strides.collect::<Vec<_>>()
    };
    let steps = |from: usize, to: usize| (from as u32..to as u32).collect::<Vec<_>>();
    let most = MAX_INPUTS - 1;
    assert_eq!(fused(sum(most), &[1000], &scalars(most)).0, [steps(0, most - 1)]);
    assert_eq!(fused(sum(most + 1), &[1000], &scalars(most + 1)).0, [steps(1, most)]);
}

/// `a + b + a + b + …`
#[test]
fn kernels_have_a_limited_number_of_steps() {
    if !has_fused_kernels() {
        return;
    }
    let fused = |steps: usize| {
        let input = |number: usize| if number == 0 { 0 } else { 1 + number };
        let all = (0..steps).map(|number| step(Op::Add, [input(number), 1 - number % 2])).collect();
        fused(Program::new(vec![8; 2], vec![], all, 1 + steps), &[1000], &[&[1], &[1], &[1]])
    };
    let most = MAX_FUSED_STEPS as u32;
    assert_eq!(fused(MAX_FUSED_STEPS), (vec![(0..most).collect()], 1));
    assert_eq!(fused(MAX_FUSED_STEPS + 1), (vec![(1..most + 1).collect()], 2));
}

/// Steps that are computed in vectors of another number of elements have a kernel of their own.
#[test]
fn steps_with_the_same_number_of_lanes_are_fused() {
    if !has_fused_kernels() {
        return;
    }
    let contiguous: &[&[isize]] = &[&[1], &[1], &[1]];
    let of =
        |op, dtype, inputs: &[usize]| step_of(op, inputs, dtype, if dtype == DType::F32 { 4 } else { 8 });
    let compare = |dtype, inputs: &[usize]| step_of(Op::Less, inputs, dtype, 1);
    // Of float32 `a` and float64 `b`: where(a + a < a, b + b, b).
    let steps = vec![
        of(Op::Add, DType::F32, &[0, 0]),
        compare(DType::F32, &[2, 0]),
        of(Op::Add, DType::F64, &[1, 1]),
        of(Op::Where, DType::F64, &[3, 4, 1]),
    ];
    let program = Program::new(vec![4, 8], vec![], steps, 5);
    assert_eq!(fused(program, &[1000], contiguous), (vec![vec![2, 3], vec![0, 1]], 2));
    // Booleans are in any vectors: a < a or not(a < a), and the same of float64.
    for (dtype, operand) in [(DType::F32, 0), (DType::F64, 1)] {
        let steps = vec![
            compare(dtype, &[operand, operand]),
            step_of(Op::LogicalNot, &[2], DType::Bool, 1),
            step_of(Op::Or, &[2, 3], DType::Bool, 1),
        ];
        let program = Program::new(vec![4, 8], vec![], steps, 4);
        assert_eq!(fused(program, &[1000], contiguous), (vec![vec![0, 1, 2]], 1), "{dtype:?}");
    }
}

/// A value that is taken by two kernels, or that is a result, is not within one of them.
#[test]
fn values_that_are_needed_elsewhere_are_written() {
    if !has_fused_kernels() {
        return;
    }
    let f64_step = |op, inputs: &[usize]| step_of(op, inputs, DType::F64, 8);
    let contiguous: &[&[isize]] = &[&[1], &[1], &[1]];
    // exp(a + b) * (a + b) - a
    let steps = vec![
        f64_step(Op::Add, &[0, 1]),
        f64_step(Op::Exp, &[2]),
        f64_step(Op::Multiply, &[3, 2]),
        f64_step(Op::Subtract, &[4, 0]),
    ];
    let program = Program::new(vec![8, 8], vec![], steps, 5);
    assert_eq!(fused(program, &[1000], contiguous), (vec![vec![2, 3]], 3));
    // (a + b) * (a + b): taken twice by the same kernel.
    let steps = vec![f64_step(Op::Add, &[0, 1]), f64_step(Op::Multiply, &[2, 2])];
    assert_eq!(fused(Program::new(vec![8, 8], vec![], steps, 3), &[1000], contiguous), (vec![vec![0, 1]], 1));
    // exp((a + b) * a) - (a + b): the product is no part of the difference, and both take the sum.
    let steps = vec![
        f64_step(Op::Add, &[0, 1]),
        f64_step(Op::Multiply, &[2, 0]),
        f64_step(Op::Exp, &[3]),
        f64_step(Op::Subtract, &[4, 2]),
    ];
    assert_eq!(fused(Program::new(vec![8, 8], vec![], steps, 5), &[1000], contiguous), (vec![], 4));
}

/// A fused kernel loops over rows, which the kernel of a step takes one by one.
#[test]
fn a_single_step_of_rows_is_fused() {
    if !has_fused_kernels() {
        return;
    }
    let steps = vec![step_of(Op::Subtract, &[0, 1], DType::F32, 4), step_of(Op::Exp, &[2], DType::F32, 4)];
    let program = Program::new(vec![4; 2], vec![], steps, 3);
    let with_column: &[&[isize]] = &[&[300, 1], &[300, 1], &[1, 0]];
    assert_eq!(fused(program.clone(), &[40, 300], with_column), (vec![vec![0]], 2));
    // Whole blocks need no loop over rows.
    let without: &[&[isize]] = &[&[300, 1], &[300, 1], &[300, 1]];
    assert_eq!(fused(program, &[40, 300], without), (vec![], 2));
}

/// A schedule is made again for other arrays, and for another program.
#[test]
fn schedules_can_be_made_again() {
    let mut schedule = Schedule::default();
    let nest = LoopNest::new(&[1000], 4, |_, _| 1);
    schedule.make(&with_constants().with_immediate_fusion(), &nest, Residence::Cache);
    let nest = LoopNest::new(&[1000], 3, |_, _| 1);
    schedule.make(&single().with_immediate_fusion(), &nest, Residence::Cache);
    assert!(schedule.groups.groups.is_empty() && schedule.calls == 1);
}

/// Kernels are compiled for broadcast scalars or for arrays, and not mixed up.
#[test]
fn programs_run_on_arrays_of_one_layout_after_another() {
    let program = with_constants().with_immediate_fusion();
    let shape = IxDyn(&[1000]);
    let arrays = [1, 10, 100].map(|factor| ArrayD::from_shape_fn(shape.clone(), |at| factor * at[0] as i64));
    let scalars = [1, 10, 100].map(|factor| ArrayD::from_elem(IxDyn(&[]), 7 * factor));
    for stretched in 0..8 {
        let views: [_; 3] = std::array::from_fn(|input| match stretched >> input & 1 {
            0 => arrays[input].view(),
            _ => scalars[input].broadcast(shape.clone()).unwrap(),
        });
        let mut out = zeros(&[1000]);
        assert!(run(&program, &views.each_ref().map(input), &mut output(&mut out), ON_ONE_THREAD));
        for at in 0..1000 {
            let sum: i64 = views.iter().map(|view| view[at]).sum();
            assert_eq!(out[at], sum + 3, "{at}, {stretched:03b}");
        }
    }
}

/// One kernel for the whole program takes large blocks, repeated rows in place, and columns that other steps compute.
#[test]
fn one_kernel_takes_large_blocks() {
    if !has_fused_kernels() {
        return;
    }
    let f32_step = |op, inputs: &[usize]| step_of(op, inputs, DType::F32, 4);
    let schedule_of = |program: Program, strides: &[[isize; 2]], residence: Residence| {
        let nest = LoopNest::new(&[500, 1000], strides.len(), |operand, dim| strides[operand][dim]);
        let mut schedule = Schedule::default();
        schedule.make(&program.with_immediate_fusion(), &nest, residence);
        let gathers = schedule
            .once
            .iter()
            .chain(&schedule.each)
            .filter(|action| matches!(action, Action::Gather { .. }));
        (schedule.block.len(), schedule.each.len(), gathers.count())
    };
    // x * row + column
    let steps = vec![f32_step(Op::Multiply, &[0, 1]), f32_step(Op::Add, &[3, 2])];
    let program = Program::new(vec![4; 3], vec![], steps, 4);
    let strides = [[1000, 1], [1000, 1], [0, 1], [1, 0]];
    assert_eq!(schedule_of(program.clone(), &strides, Residence::Cache), (65 * 1000, 1, 0));
    // What is prefetched fits the L1 cache.
    assert!(schedule_of(program, &strides, Residence::Memory).0 < 10_000);
    // x * row + sqrt(column): a value for each row is computed first.
    let steps = vec![f32_step(Op::Sqrt, &[2]), f32_step(Op::Multiply, &[0, 1]), f32_step(Op::Add, &[4, 3])];
    let program = Program::new(vec![4; 3], vec![], steps, 5);
    assert_eq!(schedule_of(program, &strides, Residence::Cache), (65 * 1000, 2, 0));
    // x * sqrt(row) + column: what is computed once is kept for a whole block.
    let steps = vec![f32_step(Op::Sqrt, &[1]), f32_step(Op::Multiply, &[0, 3]), f32_step(Op::Add, &[4, 2])];
    let program = Program::new(vec![4; 3], vec![], steps, 5);
    assert!(schedule_of(program, &strides, Residence::Cache).0 < 10_000);
}

/// Programs with little work are computed step by step; code is compiled once, also for other arrays.
#[test]
fn kernels_are_compiled_after_enough_work() {
    if !has_fused_kernels() {
        return;
    }
    let program = with_constants();
    let has_kernel = |elements: usize| {
        let nest = LoopNest::new(&[elements], 4, |_, _| 1);
        let mut schedule = Schedule::default();
        schedule.make(&program, &nest, Residence::Cache);
        schedule.groups.groups.iter().find_map(|group| group.kernel.clone())
    };
    if std::env::var_os("UNISHAPE_JIT").is_some() {
        return;
    }
    // Work is elements times steps, and counts before the kernel is looked for.
    assert!(has_kernel(FUSE_AFTER / 4 - 1).is_none() && has_kernel(MIN_FUSED_ELEMENTS - 1).is_none());
    let kernel = has_kernel(MIN_FUSED_ELEMENTS).expect("compiled");
    assert!(std::sync::Arc::ptr_eq(&kernel, &has_kernel(1000).expect("kept")));
    assert!(has_kernel(MIN_FUSED_ELEMENTS - 1).is_none());
}

/// One for each row, where rows are processed one by one, or one for all.
#[test]
fn indices_have_as_few_elements_as_they_have_values() {
    let spans = |len: usize, of_index: [isize; 2]| {
        let row = len as isize;
        let program = Program { block_overhead: usize::MAX, ..single().with_index(1) };
        let strides: &[&[isize]] = &[&[row, 1], &[row, 1], &of_index];
        let Schedule { once, each, .. } = schedule(&program, &[64, len], strides, Residence::Cache);
        let spans = once.iter().chain(&each).filter_map(|action| match action {
            Action::Gather { input: 1, span, .. } => Some(*span),
            _ => None,
        });
        spans.collect::<Vec<_>>()
    };
    assert_eq!(spans(MIN_ROW_LEN, [1, 0]), [BlockSpan::Column]);
    assert_eq!(spans(MIN_ROW_LEN - 1, [1, 0]), [BlockSpan::Block]);
    assert_eq!([MIN_ROW_LEN, 10].map(|len| spans(len, [0, 0])), [[BlockSpan::Scalar]; 2]);
    assert_eq!([MIN_ROW_LEN, 10].map(|len| spans(len, [0, 1])), [[BlockSpan::Block]; 2]);
}

/// Where one kernel computes several steps, or rows that its own kernel would compute one by one.
#[test]
fn one_kernel_takes_large_blocks_of_several_steps_or_of_rows() {
    if !has_fused_kernels() {
        return;
    }
    let block = |steps: usize, shape: &[usize], strides: &[&[isize]]| {
        let input = |number: usize| if number == 0 { 0 } else { 1 + number };
        let all =
            (0..steps).map(|number| step_of(Op::Multiply, &[input(number), 1], DType::F32, 4)).collect();
        let program = Program::new(vec![4; 2], vec![], all, 1 + steps).with_immediate_fusion();
        let nest = LoopNest::new(shape, 3, |operand, dim| strides[operand][dim]);
        assert_eq!(program.can_be_one_kernel(&nest), steps > 1 || shape.len() > 1);
        let mut schedule = Schedule::default();
        schedule.make(&program, &nest, Residence::Cache);
        schedule.block.len()
    };
    let contiguous: &[&[isize]] = &[&[1], &[1], &[1]];
    let column: &[&[isize]] = &[&[1000, 1], &[1000, 1], &[1, 0]];
    assert!(block(1, &[1 << 20], contiguous) < 10_000);
    assert_eq!([2, 3].map(|steps| block(steps, &[1 << 20], contiguous)), [1 << 16; 2]);
    assert_eq!([1, 2].map(|steps| block(steps, &[500, 1000], column)), [65_000; 2]);
}

/// A slot does not show what it keeps.
#[test]
fn programs_have_a_debug_representation() {
    assert!(format!("{:?}", single()).contains("recent: Slot"));
}

/// Calls with few elements are no work, and use no compiled kernel.
#[test]
fn a_single_kernel_is_compiled_after_enough_work() {
    if !has_fused_kernels() || std::env::var_os("UNISHAPE_JIT").is_some() {
        return;
    }
    let program = single();
    let has_kernel = |elements: usize| single_step(&program, elements, |_| true).is_some();
    let calls = 2 * FUSE_AFTER / (MIN_FUSED_ELEMENTS - 1);
    assert!((0..calls).all(|_| !has_kernel(MIN_FUSED_ELEMENTS - 1)));
    assert!(!has_kernel(MIN_FUSED_ELEMENTS) && !has_kernel(FUSE_AFTER - MIN_FUSED_ELEMENTS - 1));
    assert!(has_kernel(MIN_FUSED_ELEMENTS) && has_kernel(1 << 20) && !has_kernel(MIN_FUSED_ELEMENTS - 1));
}

/// Also those whose schedule is kept.
#[test]
fn small_calls_are_work_from_the_least_number_of_elements_on() {
    if std::env::var_os("UNISHAPE_JIT").is_some() {
        return;
    }
    let is_ready_after = |elements: usize, calls: usize| {
        let (program, a) = (with_constants(), zeros(&[elements]));
        let (view, mut out) = (a.view(), zeros(&[elements]));
        for _ in 0..calls {
            assert!(run(&program, &[input(&view); 3], &mut output(&mut out), ON_ONE_THREAD));
        }
        program.fused.is_ready(MIN_FUSED_ELEMENTS)
    };
    // Of four steps each.
    let calls = FUSE_AFTER / 4 / MIN_FUSED_ELEMENTS;
    assert!(is_ready_after(MIN_FUSED_ELEMENTS, calls + 2) && !is_ready_after(MIN_FUSED_ELEMENTS, calls - 2));
    assert!(!is_ready_after(MIN_FUSED_ELEMENTS / 2, 2 * calls + 10));
}
