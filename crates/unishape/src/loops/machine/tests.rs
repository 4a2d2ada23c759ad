//! Programs on arrays that lie in any way, cut into blocks of any size.

use super::{Input, Program, Step, Threads, run};
use ndarray::{ArrayD, Axis, Ix, IxDyn, Slice};
use proptest::prelude::*;
use unishape_elements::{Constant, DType, Op, find};
use unishape_oracle::Indices;

fn step(op: Op, from: [usize; 2]) -> Step {
    Step { name: "", kernel: find(op, DType::I64).unwrap(), from: from[..].into(), item: 8 }
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

/// `a - b`, of which blocks may be larger.
fn single() -> Program {
    Program::new(vec![8, 8], vec![], vec![step(Op::Subtract, [0, 1])], 2)
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

/// How three arrays of a shape lie.
fn cases() -> impl Strategy<Value = (Vec<usize>, [Lie; 3])> {
    prop::collection::vec(0usize..6, 0..6).prop_flat_map(|shape| {
        let rank = shape.len();
        let flags = move || prop::collection::vec(any::<bool>(), rank);
        let turned = move || prop_oneof![Just(vec![false; rank]), flags()];
        let order = move || {
            prop_oneof![
                Just((0..rank).collect::<Vec<_>>()),
                Just((0..rank).collect::<Vec<_>>()).prop_shuffle(),
            ]
        };
        let input = move || (order(), turned(), flags(), 1..3usize);
        let output = (order(), turned(), Just(vec![false; rank]), 1..3usize);
        (Just(shape), (output, input(), input()).prop_map(|(out, a, b)| [out, a, b]))
    })
}

proptest! {
    /// Blocks of any number of elements, down to one, which are any part of the loops; those of a single step may be
    /// larger by any number.
    #[test]
    fn blocks_of_any_size((shape, lies) in cases(), block in 1usize..200, more in 0usize..200) {
        let [a, b] = [1, 2].map(|array| strided(&shape, &lies[array], |n| (n * n) as i64 * 31 % 101));
        let stretched = [&a, &b].map(|array| array.broadcast(IxDyn(&shape)).unwrap());
        let by_chain = |a: i64, b: i64| (a + b) * (b + 7) - a;
        let by_single = |a: i64, b: i64| a - b;
        for (program, more, expected) in
            [(chain(), 0, &by_chain as &dyn Fn(i64, i64) -> i64), (single(), more, &by_single)]
        {
            let program = Program { block, wide_block: block + more, ..program };
            let mut out = strided(&shape, &lies[0], |_| UNTOUCHED);
            let inputs = stretched.each_ref().map(Input::new);
            prop_assert!(run(&program, &inputs, &mut out, false, Some(&Threads::new(1)), &|_| true));
            for index in Indices::of(&shape) {
                let (a, b) = (stretched[0][&index[..]], stretched[1][&index[..]]);
                prop_assert_eq!(out[&index[..]], expected(a, b), "at {:?}", index);
            }
            // Nothing between them.
            let count = out.len();
            let memory = out.into_raw_vec_and_offset().0;
            prop_assert_eq!(memory.iter().filter(|&&element| element != UNTOUCHED).count(), count);
        }
    }
}

/// What no program here gives.
const UNTOUCHED: i64 = i64::MIN;
