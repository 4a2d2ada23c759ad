//! Broadcasts, copies and sums strided arrays: compares with the oracle.
//!
//! Requirements BC-5 to BC-10 and BC-12.

use crate::file::check_message;
use crate::source::ByteSource;
use ndarray::{ArrayD, ArrayViewD, Axis, IxDyn, Slice};
use unishape::{broadcast_all_with, broadcast_to_with, sum_to, to_owned};
use unishape_oracle::{self as oracle, Tensor, common_shape, step_1, step_2};

/// Larger results are slow and reach no new code.
const MAX_ELEMENTS: usize = 4096;

pub(crate) fn run(bytes: &[u8]) {
    let mut source = ByteSource::new(bytes);
    let (reading, rules) = source.rules();
    let goal: Vec<usize> = (0..source.up_to(5)).map(|_| source.up_to(4)).collect();
    let arrays: Vec<ArrayD<String>> = (0..source.up_to(3)).map(|_| array(&mut source, &goal)).collect();
    let views: Vec<ArrayViewD<'_, String>> =
        arrays.iter().map(|array| strided_view(&mut source, array)).collect();
    let inputs: Vec<Tensor<String>> = views.iter().map(tensor).collect();
    let shapes: Vec<&[usize]> = views.iter().map(|view| view.shape()).collect();
    let equal_ranks = shapes.iter().all(|shape| shape.len() == shapes[0].len());
    let allowed = shapes.len() >= rules.min_inputs() && (equal_ranks || !rules.is_strict_rank());

    match broadcast_all_with(rules, &views) {
        Ok(outputs) => {
            assert!(allowed);
            let outputs: Vec<_> = outputs.iter().map(tensor).collect();
            assert_eq!(Ok(&outputs), oracle::broadcast(reading, &inputs).as_ref());
        }
        Err(error) => {
            check_message(&error);
            assert!(!allowed || common_shape(reading, &shapes).is_err(), "{error}");
        }
    }
    for (view, input) in views.iter().zip(&inputs) {
        let stretches = input.shape.len() <= goal.len()
            && (input.shape.len() == goal.len() || !rules.is_strict_rank())
            && common_shape(reading, &[&input.shape, &goal]).as_ref() == Ok(&goal);
        match broadcast_to_with(rules, view, &goal[..]) {
            Ok(stretched) => {
                assert!(stretches);
                let expected = step_2(&step_1(input, goal.len()), &goal);
                assert_eq!(tensor(&stretched), expected);
                let owned = to_owned(&stretched).expect("the result is small");
                assert!(owned.is_standard_layout());
                assert_eq!(tensor(&owned.view()), expected);
                check_sum(&stretched, &input.shape);
            }
            Err(error) => {
                check_message(&error);
                assert!(!stretches, "{error}");
            }
        }
    }
}

/// An array whose half mostly can be stretched to `goal`.
///
/// The sizes are doubled, for [`strided_view`]. The elements are strings, so that a sanitizer detects
/// elements that are leaked or dropped twice.
fn array(source: &mut ByteSource<'_>, goal: &[usize]) -> ArrayD<String> {
    let rank = source.up_to(goal.len());
    let mut shape = Vec::new();
    for &size in &goal[goal.len() - rank..] {
        let size = match source.byte() {
            0x00..0x80 => size,
            0x80..0xe0 => 1,
            0xe0.. => source.up_to(4),
        };
        shape.push(size * 2);
    }
    if shape.iter().product::<usize>() > MAX_ELEMENTS {
        shape.clear();
    }
    let mut number = 0;
    ArrayD::from_shape_simple_fn(IxDyn(&shape), || {
        number += 1;
        number.to_string()
    })
}

/// A view of half of the array in each dimension, with positive or negative steps.
///
/// Sometimes the order of the dimensions is reversed.
fn strided_view<'a>(source: &mut ByteSource<'_>, array: &'a ArrayD<String>) -> ArrayViewD<'a, String> {
    let mut view = array.view();
    for dim in 0..view.ndim() {
        let half = (view.shape()[dim] / 2) as isize;
        let slice = match source.up_to(5) {
            0 => Slice::new(0, Some(half), 1),
            1 => Slice::new(half, None, 1),
            2 => Slice::new(0, None, 2),
            3 => Slice::new(0, None, -2),
            4 => Slice::new(half, None, -1),
            _ => Slice::new(0, Some(half), -1),
        };
        view.slice_axis_inplace(Axis(dim), slice);
    }
    if source.byte() >= 0xc0 { view.reversed_axes() } else { view }
}

/// Copies a view, index by index.
fn tensor(view: &ArrayViewD<'_, String>) -> Tensor<String> {
    let elements = oracle::Indices::of(view.shape()).map(|index| view[&index[..]].clone());
    Tensor { shape: view.shape().to_vec(), elements: elements.collect() }
}

/// Checks `sum_to`, the adjoint of stretching, against a sum index by index.
fn check_sum(stretched: &ArrayViewD<'_, String>, shape: &[usize]) {
    let numbers = stretched.map(|text| text.parse::<u64>().expect("a number"));
    let sums = sum_to(&numbers, shape).expect("stretched from this shape");
    let mut expected = ArrayD::<u64>::zeros(IxDyn(shape));
    let pad = numbers.ndim() - shape.len();
    for index in oracle::Indices::of(numbers.shape()) {
        let at: Vec<usize> = (0..shape.len())
            .map(|dim| oracle::f(index[pad + dim], shape[dim], numbers.shape()[pad + dim]))
            .collect();
        expected[&at[..]] += numbers[&index[..]];
    }
    assert_eq!(sums, expected);
}
