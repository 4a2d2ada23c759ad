//! Programs on arrays that lie in any way, cut into blocks of any size.

use super::{Input, Program, Step, Threads, run};
use ndarray::{ArrayD, Axis, Ix, IxDyn, Slice};
use proptest::prelude::*;
use unishape_elements::{Constant, DType, Kernel, Op, find};
use unishape_oracle::Indices;

/// `(a + b) * (b + 7) - a`, of which `b + 7` is done once where `b` is the same in every block.
fn program(block: usize) -> Option<Program> {
    let kernel = |op| find(op, DType::I64);
    let step = |name, kernel: Kernel, from: [usize; 2]| Step { name, kernel, from: from[..].into(), item: 8 };
    let steps = vec![
        step("add", kernel(Op::Add)?, [0, 1]),
        step("add", kernel(Op::Add)?, [1, 2]),
        step("multiply", kernel(Op::Multiply)?, [3, 4]),
        step("subtract", kernel(Op::Subtract)?, [5, 0]),
    ];
    let program = Program::new(vec![8, 8], vec![Constant::new(7i64)], steps, 6);
    Some(Program { block, ..program })
}

/// The order of an array's dimensions in memory, which of them it has backwards, and in which it is stretched.
type Lie = (Vec<usize>, Vec<bool>, Vec<bool>);

/// An array of this shape that lies in memory with gaps; of size 1 where it is to be stretched.
fn strided(shape: &[Ix], (order, turned, stretched): &Lie, element: impl Fn(usize) -> i64) -> ArrayD<i64> {
    let mut memory: Vec<usize> = order.iter().map(|&dim| 2 * shape[dim] + 1).collect();
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
        let step = if turned[dim] { -2 } else { 2 };
        let end = Some(2 * shape[dim] as isize);
        array.slice_axis_inplace(Axis(dim), Slice::new(0, end, step));
    }
    array
}

/// How three arrays of a shape lie.
fn cases() -> impl Strategy<Value = (Vec<usize>, [Lie; 3])> {
    prop::collection::vec(0usize..6, 0..6).prop_flat_map(|shape| {
        let rank = shape.len();
        let flags = move || prop::collection::vec(any::<bool>(), rank);
        let order = move || {
            prop_oneof![
                Just((0..rank).collect::<Vec<_>>()),
                Just((0..rank).collect::<Vec<_>>()).prop_shuffle(),
            ]
        };
        let input = move || (order(), flags(), flags());
        let output = (order(), flags(), Just(vec![false; rank]));
        (Just(shape), (output, input(), input()).prop_map(|(out, a, b)| [out, a, b]))
    })
}

proptest! {
    /// Blocks of any number of elements, down to one, which are any part of the loops.
    #[test]
    fn blocks_of_any_size((shape, lies) in cases(), block in 1usize..200) {
        let program = program(block).unwrap();
        let [a, b] = [1, 2].map(|array| strided(&shape, &lies[array], |n| (n * n) as i64 * 31 % 101));
        let stretched = [&a, &b].map(|array| array.broadcast(IxDyn(&shape)).unwrap());
        let mut out = strided(&shape, &lies[0], |_| -1);
        prop_assert!(run(&program, &stretched.each_ref().map(Input::new), &mut out, false, Some(&Threads::new(1)), &|_| true));
        for index in Indices::of(&shape) {
            let (a, b) = (stretched[0][&index[..]], stretched[1][&index[..]]);
            prop_assert_eq!(out[&index[..]], (a + b) * (b + 7) - a, "at {:?}", index);
        }
        // Nothing between them.
        let count = out.len();
        let memory = out.into_raw_vec_and_offset().0;
        prop_assert_eq!(memory.iter().filter(|&&element| element != -1).count(), count);
    }
}
