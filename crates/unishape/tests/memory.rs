//! Counts allocated bytes: none for views, those of the result for copies, in proportion to rank for shapes.
//!
//! Counts only this thread: the test harness allocates on its own thread.

use allocation_counter::AllocationInfo;
use ndarray::{Array1, Array2, Array3, ArrayD, ArrayView, ArrayViewD, Axis, IxDyn, ShapeBuilder, arr1, s};
use num_complex::Complex;
use unishape::expr::{Bound, Expr, Op, OutputMut, Value};
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

/// What a new thread allocates for all or the first chunk of an expression of float64, the second time: it has scratch
/// blocks by then.
fn allocated_again(bound: &Bound<'_>, is_whole: bool) -> AllocationInfo {
    let bound = bound.clone().threads(1);
    let work = || {
        let mut out = ArrayD::<f64>::zeros(bound.shape());
        let mut compute = || {
            assert_eq!(bound.compute_while(&mut out, |_| is_whole).is_ok(), is_whole);
        };
        compute();
        allocation_counter::measure(compute)
    };
    std::thread::scope(|scope| scope.spawn(work).join()).unwrap()
}

/// Asserts that an expression allocates as many bytes as an array of some float64 elements.
fn assert_copied(bound: &Bound<'_>, elements: usize, what: &str) {
    let (bytes, expected) = (allocated_again(bound, false).bytes_total, 8 * elements as u64);
    assert!((expected..expected + 16_000).contains(&bytes), "{what}: {bytes} bytes, expected {expected}");
}

/// Elements that are not contiguous are copied where they are read at least 16 times; rows of at least 256 elements, those
/// that overlap, and rows of more than 16 MiB are not.
#[test]
fn strided_elements_are_copied_where_they_are_read_often() {
    let memory = Array1::<f64>::zeros(60_000);
    let strided = |shape: &[usize], strides: &[usize]| -> ArrayViewD<'_, f64> {
        ArrayView::from_shape(IxDyn(shape).strides(IxDyn(strides)), memory.as_slice().unwrap()).unwrap()
    };
    let every_second = strided(&[20_000], &[2]);
    let contiguous = strided(&[20_000], &[1]);
    let stretched = |view: &ArrayViewD<'_, f64>, times: usize| {
        let strides = [0, view.strides()[0] as usize];
        strided(&[times, view.len()], &strides)
    };
    let expr = Expr::parse("sum(w + x)").unwrap();
    for (what, x, reads, copied) in [
        ("every second element", every_second.clone(), 16, 20_000),
        ("few reads", every_second.clone(), 15, 0),
        ("a contiguous array", contiguous.clone(), 16, 0),
        ("a contiguous matrix", strided(&[100, 200], &[200, 1]), 16, 0),
        ("a transposed matrix", strided(&[100, 200], &[1, 100]), 16, 20_000),
        ("reversed elements", contiguous.slice(s![..;-1]).into_dyn(), 16, 20_000),
        ("short rows", strided(&[80, 255], &[256, 1]), 16, 20_400),
        ("longer rows", strided(&[80, 256], &[257, 1]), 16, 0),
        ("overlapping rows", strided(&[160, 200], &[199, 1]), 16, 0),
        ("an axis of size 1", strided(&[20_000, 1], &[1, 20_000]), 16, 0),
        ("a stretched array", stretched(&every_second, 16), 1, 20_000),
        ("an array that is stretched a little", stretched(&every_second, 2), 1, 0),
        ("a contiguous array that is stretched", stretched(&contiguous, 16), 1, 0),
    ] {
        let shape: Vec<usize> = [reads].into_iter().chain(x.shape().iter().map(|_| 1)).collect();
        let w = ArrayD::<f64>::zeros(shape);
        let bound = expr.bind([("w", Value::from(&w)), ("x", Value::from(x.clone()))]).unwrap();
        assert_copied(&bound, copied, what);
    }
    let (large, w) = (Array2::<f64>::zeros((8300, 256)), Array3::<f64>::zeros((16, 1, 1)));
    let bound =
        expr.bind([("w", w.view().into_dyn()), ("x", large.slice(s![.., ..255]).into_dyn())]).unwrap();
    assert!(allocated_again(&bound, false).bytes_total < 1 << 20, "many rows");
    // Expressions that are computed together read one copy.
    let w = Array2::<f64>::zeros((16, 1));
    let exprs = ["sum(w + x)", "max(w + x)"].map(|text| Expr::parse(text).unwrap());
    let values = [("w", Value::from(&w)), ("x", Value::from(every_second))];
    let bound = Expr::bind_all(&exprs, values).unwrap();
    assert!(bound[0].plan().contains("in one pass with 1 result"), "{}", bound[0].plan());
    assert_copied(&bound[0], 20_000, "two expressions");
}

/// Distances of points are folded along the points, not along their few coordinates: one array is copied transposed.
#[test]
fn points_are_transposed_where_their_distances_are_computed() {
    let memory = Array1::<f64>::zeros(60_000);
    let from = |start: usize, shape: &[usize]| {
        let elements = &memory.as_slice().unwrap()[start..][..shape.iter().product()];
        ArrayView::from_shape(IxDyn(shape), elements).unwrap()
    };
    let array = |shape: &[usize]| from(0, shape);
    let distances = "sum((a - b)**2, -1)";
    let cases: [(&str, &[usize], &[usize], usize); 7] = [
        (distances, &[16, 1, 64], &[270, 64], 270 * 64),
        ("sum(abs(a - b), -1)", &[16, 1, 64], &[270, 64], 270 * 64),
        (distances, &[16, 1, 1, 64], &[5, 64, 64], 5 * 64 * 64),
        // Few points, each of which is read too seldom, or whose distances are too few.
        (distances, &[15, 1, 64], &[270, 64], 0),
        (distances, &[16, 1, 1, 64], &[5, 63, 64], 0),
        ("sum((a - b)**2, 1)", &[16, 1, 64], &[270, 64], 0),
        ("sum(exp(a - b), -1)", &[16, 1, 64], &[270, 64], 0),
    ];
    for (text, a, b, copied) in cases {
        let what = format!("{text} of {a:?} and {b:?}");
        let values = [("a", array(a)), ("b", array(b))];
        assert_copied(&Expr::parse(text).unwrap().bind(values).unwrap(), copied, &what);
    }
    // Two arrays that are read along both loops.
    let text = "sum((a - b)**2, -1) - sum((a - c)**2, -1)";
    let values = [("a", array(&[16, 1, 64])), ("b", array(&[270, 64])), ("c", from(1, &[270, 64]))];
    let bound = Expr::parse(text).unwrap().bind(values).unwrap();
    assert!(bound.plan().contains("result 2: sum"), "{}", bound.plan());
    assert_copied(&bound, 0, text);
}

/// A thread keeps the memory of at most four temporary arrays, each of at most 128 KiB.
#[test]
fn memory_of_small_temporary_arrays_is_kept() {
    const KEPT: usize = 1 << 17;
    let measure = |text: &str, columns: usize| {
        let x = Array2::<f64>::ones((2, columns));
        let large = Array2::<f64>::ones((2, KEPT / 8 + 1));
        let expr = Expr::parse(text).unwrap();
        let work = || {
            let again = |x: &Array2<f64>| {
                let bound = expr.bind([("x", x)]).unwrap().threads(1);
                let mut out = Array2::<f64>::zeros(x.dim());
                allocation_counter::measure(|| bound.compute_into(&mut out).unwrap())
            };
            // Larger arrays are not kept.
            again(&large);
            [again(&x), again(&x)]
        };
        std::thread::scope(|scope| scope.spawn(work).join()).unwrap()
    };
    let about = |bytes: i64, expected: usize| (0..KEPT as i64 * 3 / 4).contains(&(bytes - expected as i64));
    for (text, columns, count, kept) in [
        ("x - max(x, 0)", KEPT / 8, 1, 1),
        ("x - max(x, 0)", KEPT / 8 + 1, 1, 0),
        ("x - max(x, 0) - min(x, 0) - sum(x, 0)", KEPT / 8, 3, 3),
        (
            "x - max(x, 0) - min(x, 0) - sum(x, 0) - prod(x, 0) - max(x[:, ::-1], 0) - min(x[:, ::-1], 0)",
            KEPT / 8,
            6,
            4,
        ),
    ] {
        let [first, second] = measure(text, columns);
        let what = format!("{text} with {columns} columns: {first:?}, {second:?}");
        assert!(about(first.bytes_current, kept * KEPT), "{what}");
        assert!(about(second.bytes_current, 0), "{what}");
        let allocated = (count - kept) * columns * 8;
        assert!(about(second.bytes_total as i64, allocated), "{what}");
    }
}

/// Intermediate results are those of some rows where stages run row by row, and are dropped after their last use where
/// several expressions are computed together.
#[test]
fn intermediate_results_take_little_memory() {
    let x = Array2::<f64>::ones((600, 300));
    let bound = Expr::parse("softmax(x)").unwrap().bind([("x", &x)]).unwrap();
    assert!(bound.plan().contains("of 600 rows"), "{}", bound.plan());
    let bytes = allocated_again(&bound, true).bytes_max;
    assert!(bytes < 600_000, "{bytes} bytes for rows of a matrix of 1.44 MB");

    let x = Array2::<Complex<f64>>::ones((9, 14_000));
    let chain = (0..5).fold("x".to_owned(), |inner, _| format!("sum(x - {inner}, 0)"));
    let exprs = [&chain, "sum(x - x, 0)"].map(|text| Expr::parse(text).unwrap());
    let bound: Vec<Bound<'_>> = Expr::bind_all(&exprs, [("x", &x)]).unwrap();
    assert_eq!(Bound::passes(&bound), [[0, 1]]);
    let mut results = [0; 2].map(|_| Array1::<Complex<f64>>::zeros(14_000));
    let outs = results.iter_mut().map(|out| OutputMut::new(out)).collect();
    let info = allocation_counter::measure(|| Bound::compute_all_into(&bound, outs, |_| true).unwrap());
    let result_bytes = 14_000 * 16;
    assert!(info.bytes_max < 3 * result_bytes, "{} bytes", info.bytes_max);
    assert_eq!(results[1], Array1::zeros(14_000));
}

/// The first chunk of a loop whose number of iterations has no square that fits `usize`.
#[test]
fn a_part_of_a_huge_sum_takes_little_memory() {
    let one = Array1::<f64>::ones(1);
    let huge = one.broadcast(1 << (usize::BITS / 2)).unwrap();
    let bound = Expr::parse("sum(x)").unwrap().bind([("x", Value::from(huge))]).unwrap();
    assert!(allocated_again(&bound, false).bytes_max < 1 << 20);
}
