//! Operands of the verbs that are not references to arrays, functions that can fail, and threads of every verb.

#![cfg(feature = "map")]

use ndarray::{ArcArray2, Array1, Array2, ArrayView2, Axis, CowArray, Ix2, arr0, arr1, arr2, array, aview1};
use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ThreadId;
use unishape::fold::{Max, Sum};
use unishape::prelude::*;
use unishape::{
    Error, TryError, broadcast, broadcast_all, broadcast_to, for_each, map, map_into, reduce, sum_to,
    to_owned, try_for_each, try_map,
};

fn matrix() -> Array2<f64> {
    arr2(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
}

#[test]
fn map_reads_arrays_by_value_and_by_reference() {
    let a = matrix();
    let doubled = &a * 2.0;
    let (mut writable, shared): (_, ArcArray2<f64>) = (a.clone(), a.clone().into_shared());
    assert_eq!(map((a.clone(), 2.0), |a, k| a * k).unwrap(), doubled);
    assert_eq!(map((writable.view_mut(), 2.0), |a, k| a * k).unwrap(), doubled);
    assert_eq!(map((CowArray::from(&a), &CowArray::from(a.view())), |a, b| a + b).unwrap(), doubled);
    assert_eq!(map((shared.clone(), &shared), |a, b| a + b).unwrap(), doubled);
    assert_eq!(map((a.view(), &a.view(), &*a), |a, b, c| a + b + c - a).unwrap(), doubled);
    for one in [
        map(&a, |a| a * 2.0),
        map(a.view(), |a| a * 2.0),
        map(a.clone(), |a| a * 2.0),
        map(&writable.view_mut(), |a| a * 2.0),
    ] {
        assert_eq!(one.unwrap(), doubled);
    }
}

#[test]
fn slices_and_single_values_are_operands_of_all_verbs() {
    let (a, row) = (matrix(), vec![10.0, 20.0, 30.0]);
    let sums = arr2(&[[11.0, 22.0, 33.0], [14.0, 25.0, 36.0]]);
    let fixed = [10.0, 20.0, 30.0];
    for sum in [
        map((&a, &row), |a, b| a + b),
        map((&a, row.clone()), |a, b| a + b),
        map((&a, &row[..]), |a, b| a + b),
        map((&a, fixed), |a, b| a + b),
        map((&a, &fixed), |a, b| a + b),
    ] {
        assert_eq!(sum.unwrap(), sums);
    }
    assert_eq!(map(&row, |x| x / 10.0).unwrap(), arr1(&[1.0, 2.0, 3.0]));
    assert_eq!(map([1, 2], |x| x + 1).unwrap(), arr1(&[2, 3]));
    assert_eq!(
        map((&arr1(&["a", "b"]), "!", '?', String::from("x")), |a, b, c, d| format!("{a}{b}{c}{d}")).unwrap(),
        arr1(&["a!?x", "b!?x"])
    );

    // A literal takes the type that the function needs.
    let single = arr1(&[1.5f32, 2.5]);
    assert_eq!(map((&single, 2.0, 1), |x, y, n: &u8| *x * *y + f32::from(*n)).unwrap(), arr1(&[4.0, 6.0]));

    let mut out = Array2::zeros((2, 3));
    map_into(&mut out, (&a, &row), |a, b| a + b).unwrap();
    assert_eq!(out, sums);
    map_into(&mut out.view_mut(), &a, |a| *a).unwrap();
    assert_eq!(out, a);

    assert_eq!(reduce((&a, &row, 0.5), Axis(1), |a, b, c| a * b * c, Sum).unwrap(), arr1(&[70.0, 160.0]));
    assert_eq!(reduce(&a, .., |a| *a, Max).unwrap().into_scalar(), 6.0);
    assert_eq!(sum_to(&row, ()).unwrap().into_scalar(), 60.0);
    assert_eq!(to_owned(&fixed).unwrap(), arr1(&fixed));
    assert_eq!(to_owned(a.clone()).unwrap(), a);

    let mut counts = vec![1, 2, 3];
    for_each((&mut counts, &[10, 20, 30], 100), |x, y, z| *x += y + z).unwrap();
    for_each(&mut counts, |x| *x += 1).unwrap();
    for_each((&mut counts[..2], 5), |x, y| *x -= y).unwrap();
    assert_eq!(counts, [107, 118, 134]);
    let mut fixed = [1, 2];
    for_each(&mut fixed, |x| *x *= 7).unwrap();
    assert_eq!(fixed, [7, 14]);
    let error = for_each((&mut fixed, &[[1; 3], [2; 3]], &arr2(&[[1], [2]])), |_, _, _| ()).unwrap_err();
    assert!(error.to_string().starts_with("input 0 is written to and cannot be broadcast"), "{error}");
    assert!(matches!(map((&a, &[1, 2]), |a, _| *a), Err(Error::Incompatible(_))));
}

/// Items of `&[&a, &b]` and of iterators over references are references to references.
#[test]
#[allow(clippy::needless_borrows_for_generic_args)] // what people write
fn references_to_references_are_operands() {
    fn first<'a>(both: &[&'a Array2<f64>]) -> ArrayView2<'a, f64> {
        let (view, _) = broadcast((&both[0], &both[1])).unwrap();
        view
    }
    let (a, b) = (matrix(), arr2(&[[10.0], [20.0]]));
    let both = vec![&a, &b];
    let expected = broadcast_all([&a, &b]).unwrap();
    assert_eq!(broadcast_all(&[&a, &b]).unwrap(), expected);
    assert_eq!(broadcast_all(&both).unwrap(), expected);
    let sums: Vec<Array2<f64>> = both.iter().map(|array| map((array, &b), |x, y| x + y).unwrap()).collect();
    assert_eq!(sums, [&a + &b, &b + &b]);
    assert_eq!(first(&both), a);
}

#[test]
fn bc10_borrowed_slices_and_values_are_broadcast_without_copying() {
    let (a, names, flag) = (matrix(), vec!["x", "y", "z"], true);
    let (_, names_view, flags) = broadcast((&a, &names, &flag)).unwrap();
    assert_eq!((names_view.dim(), flags.dim()), ((2, 3), (2, 3)));
    assert!(std::ptr::eq(&names_view[(1, 2)], &names[2]) && std::ptr::eq(&flags[(1, 2)], &flag));
    assert_eq!(broadcast_to(&7u8, (2, 2)).unwrap(), arr2(&[[7, 7], [7, 7]]));
    assert_eq!(broadcast_to(&[1, 2], (2, 2)).unwrap(), arr2(&[[1, 2], [1, 2]]));
    assert_eq!(broadcast_all([&[1, 2, 3][..], &[4]]).unwrap()[1], aview1(&[4, 4, 4]));
}

/// Results that refer to elements of the inputs live as long as these, not as long as a view of them.
#[test]
fn functions_may_return_references() {
    fn longer<'a>(a: &'a Array1<String>, b: &'a [String]) -> Array1<&'a str> {
        map((a, b), |a, b| if a.len() > b.len() { a.as_str() } else { b.as_str() }).unwrap()
    }
    fn of_a_view<'a>(view: ArrayView2<'a, String>) -> Array2<&'a String> {
        map((view, 1), |text, _| text).unwrap()
    }
    let (a, b) = (arr1(&["one".to_string(), "two".into()]), ["four".to_string()]);
    assert_eq!(longer(&a, &b), arr1(&["four", "four"]));
    let table = a.clone().into_shape_with_order((2, 1)).unwrap();
    let first = of_a_view(table.view())[(0, 0)];
    assert!(std::ptr::eq(first, &table[(0, 0)]));
    assert_eq!(reduce(&a, .., |text| text.as_str(), Max).unwrap().into_scalar(), "two");
}

#[test]
fn methods_of_the_prelude() {
    let (a, b) = (arr2(&[[1], [2]]), array![10, 20, 30]);
    let (x, y) = a.broadcast_with(&b).unwrap();
    assert_eq!(&x + &y, arr2(&[[11, 21, 31], [12, 22, 32]]));
    let (x, y, z) = (&a, &b, &true).broadcast().unwrap();
    assert_eq!((x.shape(), y.shape(), z[(1, 2)]), (&[2, 3][..], &[2, 3][..], true));
    assert_eq!(a.view().broadcast_to((2, 2)).unwrap(), arr2(&[[1, 1], [2, 2]]));
    assert!(matches!(a.broadcast_to(3), Err(Error::CannotStretch(_))));
    assert_eq!(a.map_with(&b, |x, y| x * y).unwrap(), arr2(&[[10, 20, 30], [20, 40, 60]]));
    let mut c = a.clone();
    c.slice_mut(ndarray::s![1.., ..]).update_with(5, |x, y| *x += y).unwrap();
    assert_eq!(c.sum_to(()).unwrap(), arr0(8));
    // ndarray's own methods keep their meaning.
    assert_eq!(a.map(|x| x + 1), arr2(&[[2], [3]]));
    assert_eq!(a.into_dimensionality::<Ix2>().unwrap().broadcast((3, 3)), None);
}

/// A value that is counted while it lives.
struct Counted<'c>(&'c AtomicUsize);

impl<'c> Counted<'c> {
    fn new(count: &'c AtomicUsize) -> Counted<'c> {
        count.fetch_add(1, Ordering::Relaxed);
        Counted(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(feature = "parallel")]
fn with_threads<R>(threads: usize, function: impl FnOnce() -> R) -> R {
    unishape::with_num_threads(threads, function)
}

#[cfg(not(feature = "parallel"))]
fn with_threads<R>(_: usize, function: impl FnOnce() -> R) -> R {
    function()
}

/// All results are dropped, whichever index fails: in the first, a middle or the last row, in contiguous and strided
/// inputs, on one thread and on several.
#[test]
fn try_map_drops_all_results() {
    for shape in [(1, 1), (7, 5), (40, 3), (300, 400)] {
        let len = shape.0 * shape.1;
        let rows = Array2::from_shape_fn(shape, |(i, j)| i * shape.1 + j);
        let columns = rows.t().to_owned();
        for (fails_at, threads) in [0, len / 2, len - 1].into_iter().flat_map(|at| [(at, 1), (at, 3)]) {
            for input in [rows.view(), columns.t(), rows.slice(ndarray::s![..;-1, ..])] {
                let alive = AtomicUsize::new(0);
                let result = with_threads(threads, || {
                    try_map(
                        (&input, 1),
                        |&n, _| if n == fails_at { Err(n) } else { Ok(Counted::new(&alive)) },
                    )
                });
                assert_eq!(result.map(|_| ()), Err(TryError::Function(fails_at)));
                assert_eq!(alive.load(Ordering::Relaxed), 0, "{shape:?}, {fails_at}");
            }
        }
        let alive = AtomicUsize::new(0);
        let all = with_threads(3, || try_map(&rows, |_| Ok::<_, ()>(Counted::new(&alive)))).unwrap();
        assert_eq!((all.dim(), alive.load(Ordering::Relaxed)), (shape, len));
        drop(all);
        assert_eq!(alive.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn functions_are_not_called_after_an_error() {
    let (numbers, calls) = (Array1::from_iter(0..1000), AtomicUsize::new(0));
    let count = |fails: bool| {
        calls.fetch_add(1, Ordering::Relaxed);
        if fails { Err("no") } else { Ok(()) }
    };
    assert_eq!(try_map(&numbers, |&n| count(n == 10)), Err(TryError::Function("no")));
    assert_eq!(calls.swap(0, Ordering::Relaxed), 11);
    assert_eq!(try_for_each(&numbers, |&n| count(n == 20)), Err(TryError::Function("no")));
    assert_eq!(calls.swap(0, Ordering::Relaxed), 21);
    let blocks = numbers.into_shape_with_order((10, 10, 10)).unwrap();
    let (middle, side) = (blocks.slice(ndarray::s![.., ..5, ..;2]), arr2(&[[1], [1], [1], [1], [1]]));
    assert_eq!(try_for_each((&middle, &side), |&n, _| count(n == 104)), Err(TryError::Function("no")));
    assert!(calls.load(Ordering::Relaxed) <= middle.len() / 2);
    // Errors of shapes come before any call.
    assert!(matches!(
        try_map((&blocks, &[1, 2]), |_, _| -> Result<(), ()> { unreachable!() }),
        Err(TryError::Broadcast(Error::Incompatible(_)))
    ));
}

/// Of large work, the chunks that have not been started when a call fails are not run.
#[test]
fn errors_stop_other_threads_soon() {
    let (large, calls) = (Array2::<u8>::zeros((4000, 1000)), AtomicUsize::new(0));
    let error = with_threads(3, || {
        try_for_each(&large, |_| {
            calls.fetch_add(1, Ordering::Relaxed);
            Err::<(), _>("at once")
        })
    });
    assert_eq!(error, Err(TryError::Function("at once")));
    assert!(calls.load(Ordering::Relaxed) <= 3, "one call for each thread");
}

#[test]
fn errors_convert_with_the_question_mark() {
    fn in_a_box() -> Result<(), Box<dyn std::error::Error>> {
        try_map(&["1", "x"], |text| text.parse::<i32>())?;
        Ok(())
    }
    fn as_ours(a: &Array1<f32>) -> Result<Array1<f32>, Error> {
        Ok(try_map(a, |&x| sum_to(&[x, x], ()).map(|sum| sum.into_scalar()))?)
    }
    assert_eq!(in_a_box().unwrap_err().to_string(), "invalid digit found in string");
    assert_eq!(as_ours(&arr1(&[1.0, 2.0])).unwrap(), arr1(&[2.0, 4.0]));
}

/// Threads that call the function of a verb on large arrays.
#[cfg(feature = "parallel")]
fn threads_of(verb: &str) -> HashSet<ThreadId> {
    let a = Array2::<f64>::zeros((1000, 500));
    let mut out = a.clone();
    let threads = Mutex::new(HashSet::new());
    let visit = || _ = threads.lock().unwrap().insert(std::thread::current().id());
    let get = |a: &f64| {
        visit();
        *a
    };
    match verb {
        "map" => _ = map(&a, get).unwrap(),
        "map_into" => map_into(&mut out, &a, get).unwrap(),
        "try_map" => _ = try_map(&a, |a| Ok::<_, ()>(get(a))).unwrap(),
        "for_each" => for_each(&mut out, |_| visit()).unwrap(),
        "try_for_each" => {
            let visit = |_: &mut f64| {
                visit();
                Ok::<_, ()>(())
            };
            try_for_each(&mut out, visit).unwrap();
        }
        "reduce" => _ = reduce(&a, .., get, Sum).unwrap(),
        _ => unreachable!(),
    }
    threads.into_inner().unwrap()
}

/// The number of threads of a scope, and the rayon pool that the caller is in, hold for every verb.
#[cfg(feature = "parallel")]
#[test]
fn every_verb_uses_the_requested_threads() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for verb in ["map", "map_into", "try_map", "for_each", "try_for_each", "reduce"] {
        let caller = HashSet::from([std::thread::current().id()]);
        assert_eq!(with_threads(1, || threads_of(verb)), caller, "{verb}");
        let of_pool = pool.install(|| HashSet::from([std::thread::current().id()]));
        assert_eq!(pool.install(|| threads_of(verb)), of_pool, "{verb}");
    }
}

#[cfg(feature = "expr")]
mod tensors {
    use ndarray::{ArcArray1, Array1, Array2, ArrayView2, arr1, arr2};
    use unishape::expr::{Expr, Value, lazy};
    use unishape::{DType, Tensor, TensorTypeError, TensorView, broadcast};

    #[test]
    fn tensors_become_typed_arrays_and_back() {
        let array = arr2(&[[1.5f32, 2.5]]);
        let tensor = Tensor::from(array.clone());
        assert_eq!(Array2::<f32>::try_from(tensor.clone()), Ok(array.clone()));
        assert_eq!(ArrayView2::<f32>::try_from(&tensor).unwrap(), array);
        assert_eq!(ArrayView2::<f32>::try_from(tensor.view()).unwrap(), array);
        assert_eq!(tensor.clone().into_typed::<f32>().unwrap(), array.into_dyn());
        let wrong = TensorTypeError::DType { expected: DType::F64, found: DType::F32 };
        assert_eq!(tensor.clone().into_typed::<f64>(), Err(wrong));
        let wrong = TensorTypeError::Rank { expected: 1, shape: vec![1, 2] };
        assert_eq!(Array1::<f32>::try_from(tensor), Err(wrong));
        let shared: ArcArray1<i64> = arr1(&[1, 2]).into_shared();
        assert_eq!(Tensor::from(shared.clone()), Tensor::from(vec![1i64, 2]));
        assert_eq!(TensorView::from(&shared), TensorView::from(&[1i64, 2][..]));
        assert_eq!(TensorView::from(&shared), TensorView::from(&[1i64, 2]));
    }

    #[test]
    fn collections_of_tensors_are_broadcast() {
        let tensors = vec![Tensor::from(arr2(&[[1], [2]])), Tensor::from(vec![1.5, 2.5, 3.5])];
        let expected = broadcast(&tensors[..]).unwrap();
        assert_eq!(broadcast(&tensors).unwrap(), expected);
        let [x, y] = broadcast(&[tensors[0].clone(), tensors[1].clone()])
            .unwrap()
            .map(|view| view.to_owned().unwrap());
        assert_eq!((x.view(), y.view()), (expected[0].clone(), expected[1].clone()));
        let views: Vec<TensorView<'_>> = tensors.iter().map(Tensor::view).collect();
        assert_eq!(broadcast(&views).unwrap(), expected);
        assert_eq!(broadcast(&views[..]).unwrap(), expected);
    }

    #[test]
    fn values_of_expressions() {
        let shared: ArcArray1<f32> = arr1(&[1.0f32, 2.0]).into_shared();
        let expr = Expr::parse("a * n + s").unwrap();
        assert_eq!(
            expr.evaluate([("a", Value::from(&[1, 2])), ("n", 3.into()), ("s", 1.into())]).unwrap(),
            arr1(&[4, 7]).into()
        );
        let values = [("a", Value::from(&shared)), ("n", 3usize.into()), ("s", half::f16::ONE.into())];
        assert_eq!(expr.evaluate(values).unwrap(), arr1(&[4.0f32, 7.0]).into());
        let x = lazy(&shared);
        assert_eq!((1f32 - &x).compute().unwrap(), arr1(&[0.0f32, -1.0]).into());
        assert_eq!((2u8 * &x - 1usize).compute().unwrap(), arr1(&[1.0f32, 3.0]).into());
        assert_eq!((2 * x.clone() + &shared).compute().unwrap(), arr1(&[3.0f32, 6.0]).into());
        assert_eq!((-&x).compute().unwrap(), arr1(&[-1.0f32, -2.0]).into());
    }

    #[test]
    fn names_of_dtypes_are_parsed() {
        for &dtype in DType::ALL {
            assert_eq!(dtype.name().parse(), Ok(dtype));
        }
        let error = "f32".parse::<DType>().unwrap_err();
        assert!(
            error.to_string().starts_with("unknown dtype \"f32\": dtypes are float16, bfloat16, float32,")
        );
    }
}
