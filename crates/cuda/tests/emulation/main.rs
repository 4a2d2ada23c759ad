//! Generated kernels, compiled for the CPU, compute what the CPU executor does.

#![allow(unsafe_code)]

#[path = "../support/arrays.rs"]
mod arrays;
#[path = "../support/cases.rs"]
mod cases;
mod machine;

use arrays::{HostArray, Layout, Numbers, Random, tensor};
use cases::{Case, Prepared, compare, prepare};
use machine::Machine;
use ndarray::{Array1, ArrayD};
use std::collections::HashSet;
use unishape::expr::{Expr, Value};
use unishape::{DType, Tensor, TensorView};
use unishape_cuda::{Numerics, Plan, Variable};

/// Computes all cases by generated kernels, and compares the results.
fn check(cases: &[Case]) {
    let prepared = prepare(cases);
    let machine = Machine::new(prepared.iter().map(|each| &each.plan));
    compare(&prepared, |Prepared { plan, arrays, .. }| {
        let addresses: Vec<u64> = arrays.iter().map(|array| array.address).collect();
        machine.run(plan, &addresses, None)
    });
}

#[test]
fn every_operation_of_every_dtype() {
    check(&cases::operations());
}

#[test]
fn every_cast() {
    check(&cases::casts());
}

#[test]
fn random_layouts() {
    check(&cases::layouts());
}

#[test]
fn reductions() {
    check(&cases::reductions());
}

#[test]
fn small_reductions() {
    check(&cases::small_reductions());
}

/// Contiguous along another loop than the result, but backwards or in parts: vectors are those of memory only if all are
/// whole, aligned and ascending.
#[test]
fn transposed_arrays() {
    check(&cases::transposed());
}

#[test]
fn large_reductions() {
    check(&cases::large_reductions());
}

/// Preallocated outputs of any strides are written, and nothing between their elements is.
#[test]
fn preallocated_outputs() {
    let mut random = Random(6);
    let mut cases = Vec::new();
    for number in 0..40 {
        let shape = [*random.choose(&[1, 3, 8, 33]), *random.choose(&[1, 4, 16, 70])];
        let text =
            ["a * 2 + b", "a + b.T[::-1].T", "sum(a[:, :, None] * b[0], axis=2)", "max(a * b, axis=0)"]
                [number % 4];
        let result = if text.starts_with("max") { &shape[1..] } else { &shape[..] };
        let (layout, base) = Layout::random(&mut random, result);
        let arrays = [0, 1].map(|_| tensor(&mut random, DType::F32, &shape, Numbers::Moderate));
        cases.push((
            text,
            arrays,
            layout,
            tensor(&mut random, DType::F32, &base, Numbers::Moderate),
            result.to_vec(),
        ));
    }
    let prepared: Vec<_> = cases
        .iter()
        .map(|(text, arrays, layout, output, shape)| {
            let views = arrays.each_ref().map(Tensor::view);
            let hosts = views.each_ref().map(HostArray::of);
            let target = HostArray::of(&layout.view(output, shape));
            let variables = hosts.each_ref().map(|host| Variable::Array(host.array_type()));
            let expr = Expr::parse(text).unwrap();
            let plan = Plan::new(&expr, &variables, Some(target.array_type()), Numerics::Exact).unwrap();
            let expected = expr.bind_positional(views.map(Value::from)).unwrap().compute().unwrap();
            (plan, hosts.map(|host| host.address), target.address, expected)
        })
        .collect();
    let machine = Machine::new(prepared.iter().map(|(plan, ..)| plan));
    for ((text, _, layout, output, shape), (plan, addresses, target, expected)) in cases.iter().zip(&prepared)
    {
        let before = output.clone();
        machine.run(plan, addresses, Some(*target));
        let (TensorView::F32(view), Tensor::F32(expected)) = (layout.view(output, shape), expected) else {
            panic!()
        };
        for (found, expected) in view.iter().zip(expected) {
            assert!(
                (found - expected).abs() <= 1e-4 * expected.abs(),
                "{text}, {layout:?}: {found}, {expected}"
            );
        }
        let written: HashSet<*const f32> = view.iter().map(std::ptr::from_ref).collect();
        let (Tensor::F32(before), Tensor::F32(after)) = (&before, output) else { panic!() };
        for (before, after) in before.iter().zip(after) {
            assert!(before == after || written.contains(&std::ptr::from_ref(after)), "{text}, {layout:?}");
        }
    }
}

/// Offsets of more than 31 bits, in arrays of which few pages are touched.
#[test]
fn offsets_of_64_bits() {
    let far = 1usize << 30;
    let mut large: Array1<u8> = Array1::zeros(3 * far + 1);
    for (at, value) in [(0, 3), (far, 5), (2 * far, 7), (3 * far, 11), (1, 13)] {
        large[at] = value;
    }
    let column = ArrayD::from_shape_fn(ndarray::IxDyn(&[50, 1]), |index| index[0] as i16);
    let texts = [
        "a[::1073741824] * 2 + b",
        "a[::-1073741824] + 1",
        "sum(a[::1073741824] * b, axis=1)",
        "max(a[::1073741824] * b, axis=0)",
        "argmax(a[::1073741824])",
    ];
    let (views, hosts): (Vec<_>, Vec<_>) =
        [TensorView::from(large.view().into_dyn()), TensorView::from(column.view())]
            .into_iter()
            .map(|view| (view.clone(), HostArray::of(&view)))
            .unzip();
    let prepared: Vec<_> = texts
        .iter()
        .map(|text| {
            let expr = Expr::parse(text).unwrap();
            let count = expr.names().len();
            let variables: Vec<_> =
                hosts[..count].iter().map(|host| Variable::Array(host.array_type())).collect();
            let plan = Plan::new(&expr, &variables, None, Numerics::Exact).unwrap();
            let expected = expr.bind_positional(views[..count].iter().cloned().map(Value::from)).unwrap();
            (text, plan, expected.compute().unwrap())
        })
        .collect();
    let machine = Machine::new(prepared.iter().map(|(_, plan, _)| plan));
    let addresses: Vec<u64> = hosts.iter().map(|host| host.address).collect();
    for (text, plan, expected) in &prepared {
        let found = machine.run(plan, &addresses, None);
        let difference = arrays::difference(&found, expected, arrays::Tolerance::Exact);
        assert!(difference.is_none(), "{text}: {difference:?}");
    }
}
