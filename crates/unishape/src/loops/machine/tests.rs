//! Programs on arrays that lie in any way, cut into blocks of any size.

use super::block::{Memory, Registers};
use super::extent::Extent;
use super::routine::{Routine, Scope};
use super::{Input, Program, Step, Threads, past, plan, run};
use crate::loops::walk::Base;
use ndarray::{ArrayD, Axis, Ix, IxDyn, Slice};
use proptest::prelude::*;
use unishape_kernels::{Constant, DType, Op, find_kernel};
use unishape_oracle::Indices;

fn step(op: Op, from: [usize; 2]) -> Step {
    Step { name: "", kernel: find_kernel(op, DType::I64).unwrap(), from: from[..].into(), item: 8 }
}

/// `(a + b) * (b + 7) - a`, of which `b + 7` is done once where `b` is the same in every block.
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

/// `a - b + a + b + …`, of nine inputs, which are too many to be all fetched for the next block.
fn many() -> Program {
    let first = step(Op::Subtract, [0, 1]);
    let steps = std::iter::once(first).chain((2..9).map(|input| step(Op::Add, [7 + input, input]))).collect();
    Program::new(vec![8; 9], vec![], steps, 16)
}

/// The order of an array's dimensions in memory, which of them it has backwards, in which it is stretched, and how far
/// its elements are apart.
type Lie = (Vec<usize>, Vec<bool>, Vec<bool>, usize);

/// An array of this shape that lies in memory like this; of size 1 where it is to be stretched.
fn strided(
    shape: &[Ix],
    (order, turned, stretched, gap): &Lie,
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
        let step = if turned[dim] { -gap } else { gap };
        let end = Some(gap * shape[dim] as isize);
        array.slice_axis_inplace(Axis(dim), Slice::new(0, end, step));
    }
    array
}

/// How three arrays of a shape lie, each as likely in one piece as in any other way.
fn cases() -> impl Strategy<Value = (Vec<usize>, [Lie; 3])> {
    let size = prop_oneof![1 => Just(0usize), 16 => 1..6usize, 4 => 6..40usize];
    prop::collection::vec(size, 0..6)
        .prop_filter("large", |shape| shape.iter().product::<usize>() < 10_000)
        .prop_flat_map(|shape| {
            let rank = shape.len();
            let flags = move || prop::collection::vec(any::<bool>(), rank);
            let in_order = move || (0..rank).collect::<Vec<_>>();
            let lie = move || {
                prop_oneof![
                    (Just(in_order()), Just(vec![false; rank]), Just(1)),
                    (Just(in_order()).prop_shuffle(), flags(), 1..3usize),
                ]
            };
            let lies = (lie(), (lie(), flags()), (lie(), flags()));
            let stretched = |((order, turned, gap), stretched)| (order, turned, stretched, gap);
            let lies = lies.prop_map(move |(out, a, b)| [(out, vec![false; rank]), a, b].map(stretched));
            (Just(shape), lies)
        })
}

/// Runs a program by itself, on one thread.
fn run_in(scope: Scope, program: &Program, inputs: &[Input<'_>], out: &mut ArrayD<i64>) -> Extent {
    let plan = plan(out.shape(), out.strides(), inputs);
    let memory = Memory { inputs, out: Base(out.as_mut_ptr().cast()), mask: u8::MAX };
    let (mut routine, mut registers) = (Routine::default(), Registers::default());
    if plan.len() > 0 {
        routine.make(program, &plan, scope);
        // Safety: the plan was made for these arrays, whose elements are the program's, and the output is ours.
        unsafe { routine.run(program, &plan, &memory, &mut registers) };
    }
    routine.block
}

/// Every scope that this CPU has instructions for.
fn scopes() -> impl Iterator<Item = Scope> {
    let has_past = past::pays(std::ptr::null::<i64>(), usize::MAX);
    [Scope::Cache, Scope::Memory, Scope::Past]
        .into_iter()
        .filter(move |&scope| has_past || scope != Scope::Past)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Blocks of any number of elements, down to one, which are any part of the loops; and of a single row if there is
    /// not much to begin with.
    #[test]
    fn blocks_of_any_size(
        (shape, lies) in cases(),
        block in 1usize..600,
        begin in 0usize..20,
    ) {
        let [a, b] = [1, 2].map(|array| strided(&shape, &lies[array], |n| (n * n) as i64 * 31 % 101));
        let stretched = [&a, &b].map(|array| array.broadcast(IxDyn(&shape)).unwrap());
        let inputs = stretched.each_ref().map(Input::new);
        let by_chain = |a: i64, b: i64| (a + b) * (b + 7) - a;
        let by_single = |a: i64, b: i64| a - b;
        let by_many = |a: i64, b: i64| 5 * a + 2 * b;
        let again: Vec<_> = (0..9).map(|input| Input::new(&stretched[input % 2])).collect();
        for (program, inputs, expected) in [
            (chain(), &inputs[..], &by_chain as &dyn Fn(i64, i64) -> i64),
            (single(), &inputs, &by_single),
            (many(), &again, &by_many),
        ] {
            let program = Program { block, begin, ..program };
            // In each scope, and as it is chosen.
            for scope in scopes().map(Some).chain([None]) {
                let mut out = strided(&shape, &lies[0], |_| UNTOUCHED);
                match scope {
                    Some(scope) => _ = run_in(scope, &program, inputs, &mut out),
                    None => prop_assert!(run(&program, inputs, &mut out, false, Some(&Threads::new(1)), &|_| true)),
                }
                for index in Indices::of(&shape) {
                    let (a, b) = (stretched[0][&index[..]], stretched[1][&index[..]]);
                    prop_assert_eq!(out[&index[..]], expected(a, b), "at {:?} with {:?}", index, scope);
                }
                // Nothing between them.
                let count = out.len();
                let memory = out.into_raw_vec_and_offset().0;
                prop_assert_eq!(memory.iter().filter(|&&element| element != UNTOUCHED).count(), count);
            }
        }
    }
}

/// What no program here gives.
const UNTOUCHED: i64 = i64::MIN;

/// The elements of a block of `a - b`, for arrays of these shapes.
fn block_of(scope: Scope, a: [usize; 2], b: [usize; 2]) -> usize {
    let [a, b] = [a, b].map(|shape| ArrayD::<i64>::zeros(&shape[..]));
    let shape = [0, 1].map(|dim| a.shape()[dim].max(b.shape()[dim]));
    let stretched = [&a, &b].map(|array| array.broadcast(&shape[..]).unwrap());
    let program = Program { block: 2048, ..single() };
    run_in(scope, &program, &stretched.each_ref().map(Input::new), &mut ArrayD::zeros(&shape[..])).count()
}

#[test]
fn blocks_suit_arrays() {
    for scope in [Scope::Cache, Scope::Memory] {
        // All in one piece.
        assert_eq!(block_of(scope, [64, 1024], [64, 1024]), 2048);
        assert_eq!(block_of(scope, [64, 1024], [1, 1]), 2048);
        // A row, which is repeated once for all.
        assert_eq!(block_of(scope, [64, 1024], [1, 1024]), 2048);
        // A column, which would have to be repeated for each block; short rows are.
        assert_eq!(block_of(scope, [64, 1024], [64, 1]), 1024);
        assert_eq!(block_of(scope, [640, 100], [640, 1]), 2000);
        assert_eq!(block_of(scope, [64, 4096], [64, 1]), 2048);
    }
    // What is small enough is done at once.
    assert_eq!(block_of(Scope::Cache, [2, 1024], [2, 1]), 2048);
}
