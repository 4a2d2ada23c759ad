//! Counts allocated bytes: none for views, those of the result for copies, in proportion to rank for shapes.
//!
//! Counts only this thread: the test harness allocates on its own thread.

use ndarray::{Array1, Array2, ArrayD, Axis, IxDyn, arr1};
use unishape::expr::{Expr, Op, Value};
use unishape::fold::{Mean, Sum};
use unishape::{CommonShape, Rules, Tensor, broadcast, broadcast_to, reduce, to_owned};

/// Bytes allocated while `work` runs.
fn allocated<T>(work: impl FnOnce() -> T) -> (u64, T) {
    let mut result = None;
    let info = allocation_counter::measure(|| result = Some(work()));
    (info.bytes_total, result.unwrap())
}

#[test]
fn bc1_bc10_memory() {
    // A million shapes of rank 8 take as much memory as one.
    let shapes: Vec<[usize; 8]> =
        (0..8).map(|at| std::array::from_fn(|dim| if dim == at { dim + 2 } else { 1 })).collect();
    let one = allocated(|| {
        let mut common = CommonShape::new(Rules::STANDARD);
        common.push(&[2, 3, 4, 5, 6, 7, 8, 9]).unwrap();
        common
    });
    let million = allocated(|| {
        let mut common = CommonShape::new(Rules::STANDARD);
        for i in 0..1_000_000 {
            common.push(&shapes[i % 8]).unwrap();
        }
        common
    });
    assert_eq!(million.0, one.0, "memory by rank only");
    assert_eq!(million.1.inputs(), 1_000_000);
    assert_eq!(million.1.finish().unwrap(), [2, 3, 4, 5, 6, 7, 8, 9]);

    // Views of static rank allocate nothing, for any number of elements.
    let (column, row) = (Array2::<f32>::zeros((1000, 1)), Array1::<f64>::zeros(1000));
    assert_eq!(allocated(|| broadcast((&column, &row)).unwrap()).0, 0);
    assert_eq!(allocated(|| broadcast_to(&row, (1usize << (usize::BITS / 2), 1000)).unwrap()).0, 0);
    // Nor do dynamic ones up to rank 4, where ndarray keeps shapes inline.
    let dynamic = ArrayD::<f32>::zeros(IxDyn(&[5, 1, 1, 1]));
    assert_eq!(allocated(|| broadcast((&dynamic, &row)).unwrap()).0, 0);

    // A copy allocates exactly its own bytes.
    let row = arr1(&[1u16, 2, 3]);
    for shape in [(1000usize, 3), (0, 3), (1, 3)] {
        let view = broadcast_to(&row, shape).unwrap();
        assert_eq!(allocated(|| to_owned(view).unwrap()).0, (shape.0 * 3 * 2) as u64);
    }
    let column = Array2::<u64>::zeros((77, 1));
    let view = broadcast_to(&column, (5, 77, 13)).unwrap();
    assert_eq!(allocated(|| to_owned(view).unwrap()).0, 5 * 77 * 13 * 8);
}

/// The number of constants with scratch blocks of their own is limited, and so is that of compiled kernels.
#[test]
fn many_constants_take_little_memory() {
    let terms: Vec<String> = (0..2000).map(|n| format!("x * {n}.5")).collect();
    let expr = Expr::parse(&terms.join(" + ")).unwrap();
    let x = Array1::<f32>::ones(4096);
    let bound = expr.bind([("x", Value::from(&x))]).unwrap();
    let mut result = None;
    let bytes = allocation_counter::measure(|| result = Some(bound.compute().unwrap())).bytes_max;
    let result = result.unwrap();
    let expected: f32 = (0..2000).map(|n| n as f32 + 0.5).sum();
    assert_eq!(result, Tensor::from(ndarray::ArrayD::from_elem(IxDyn(&[4096]), expected)));
    assert!(bytes < 2 << 20, "{bytes} bytes for {} numbers", terms.len());
    // Kernels are compiled by now: all that a call allocates is bounded.
    let total = allocation_counter::measure(|| assert_eq!(bound.compute().unwrap(), result)).bytes_total;
    assert!(total < 2 << 20, "{total} bytes in a second call");
}

/// A small expression that is cached allocates only its result.
#[test]
fn small_expressions_allocate_their_result() {
    let (a, b) = (Array2::<f32>::ones((6, 1)), Array1::<f32>::ones(5));
    let compute =
        || Expr::call(Op::Add).bind_positional([Value::from(&a), Value::from(&b)]).unwrap().compute();
    let first = compute().unwrap();
    let (bytes, second) = allocated(|| compute().unwrap());
    assert_eq!((bytes, second), (6 * 5 * 4, first));
    let bound =
        Expr::parse("a * 2 + b").unwrap().bind([("a", Value::from(&a)), ("b", Value::from(&b))]).unwrap();
    let mut out = Array2::<f32>::zeros((6, 5));
    bound.compute_into(&mut out).unwrap();
    assert_eq!(allocated(|| bound.compute_into(&mut out).unwrap()).0, 0);
}

/// A reduction allocates its result, and for large arrays a bounded number of partial accumulators.
#[test]
fn reductions_allocate_their_result() {
    let (a, b) = (Array2::<f32>::ones((300, 1)), Array1::<f32>::ones(20));
    let (bytes, sums) = allocated(|| reduce((&a, &b), Axis(0), |a, b| a * b, Sum).unwrap());
    assert_eq!((bytes, sums), (20 * 4, Array1::from_elem(20, 300.0)));
    assert_eq!(allocated(|| reduce((&a, &b), Axis(1), |a, b| f64::from(a * b), Mean).unwrap()).0, 300 * 8);
    // 4·10⁸ pairs: their products would take 1.6 GB.
    let a = Array2::<f32>::ones((20_000, 1));
    let b = Array1::<f32>::ones(20_000);
    let (bytes, sum) = allocated(|| reduce((&a, &b), .., |a, b| a * b, Sum).unwrap());
    assert!(bytes < 1 << 18, "{bytes} bytes");
    assert_eq!(sum.into_scalar(), 4e8);
}
