//! After `fork`, everything works in the child, whatever the parent made or used before.

#![cfg(all(unix, feature = "parallel"))]
#![allow(unsafe_code)]

use ndarray::{Array2, ArrayD, Axis, IxDyn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use unishape::expr::{Expr, lazy};
use unishape::fold::Sum;
use unishape::{
    Tensor, for_each, map, map_into, reduce, set_num_threads, sum_to, to_owned, try_for_each, try_map,
};

/// How long a child may take. A child that hangs is killed, and the test fails.
const LIMIT: Duration = Duration::from_secs(5);

/// Runs a check in a forked child.
fn in_child(check: impl FnOnce() -> bool) {
    // Safety: the child calls the check and `_exit`, and returns to no code that holds a lock of another
    // thread of the parent: the check allocates, which the C library prepares for, and calls unishape.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork failed");
    if child == 0 {
        let is_right = catch_unwind(AssertUnwindSafe(check)).unwrap_or(false);
        // Safety: ends the child at once, without the parent's exit handlers.
        unsafe { libc::_exit(if is_right { 0 } else { 1 }) };
    }
    let start = Instant::now();
    let mut status = 0;
    // Safety: waits for the child forked above.
    while unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == 0 {
        if start.elapsed() > LIMIT {
            // Safety: kills the child forked above.
            unsafe { libc::kill(child, libc::SIGKILL) };
            panic!("the child hangs");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "the child failed: {status}");
}

fn large() -> Array2<f64> {
    Array2::from_shape_fn((1000, 700), |(i, j)| (i * 31 + j) as f64)
}

/// Every verb that uses workers.
fn all_verbs_are_right(a: &Array2<f64>) -> bool {
    let doubled = map((a,), |a| 2.0 * a).unwrap();
    let twice = Expr::parse("a + a").unwrap().evaluate([("a", a)]).unwrap();
    let lazily = (lazy(a) * 2).compute().unwrap();
    let sums = sum_to(a, 700).unwrap();
    let reduced = reduce((a,), Axis(0), |a| 2.0 * a, Sum).unwrap();
    let computed = Expr::parse("sum(2 * a, axis=0)").unwrap().evaluate([("a", a)]).unwrap();
    let tried = try_map((a,), |a| Ok::<_, ()>(2.0 * a)).unwrap();
    let mut written = Array2::zeros(a.dim());
    map_into(&mut written, (a,), |a| 2.0 * a).unwrap();
    let (mut changed, mut replaced) = (a.clone(), a.clone());
    for_each((&mut changed,), |a| *a *= 2.0).unwrap();
    let replace = |out: &mut f64, a: &f64| {
        *out = 2.0 * a;
        Ok::<(), ()>(())
    };
    try_for_each((&mut replaced, a), replace).unwrap();
    let expected: ArrayD<f64> = a.mapv(|a| 2.0 * a).into_dyn();
    [doubled, tried, written, changed, replaced].into_iter().all(|array| array.into_dyn() == expected)
        && reduced.into_dyn() == expected.sum_axis(Axis(0))
        && computed == Tensor::from(expected.sum_axis(Axis(0)))
        && twice == Tensor::from(expected.clone())
        && lazily == Tensor::from(expected)
        && sums[0] == a.column(0).sum()
        && to_owned(a).unwrap() == *a
}

#[test]
fn verbs_work_in_a_child() {
    set_num_threads(2);
    let a = large();
    assert!(all_verbs_are_right(&a));
    in_child(|| all_verbs_are_right(&a));
    // And in a child of a child.
    in_child(|| {
        in_child(|| all_verbs_are_right(&a));
        all_verbs_are_right(&a)
    });
    assert!(all_verbs_are_right(&a));
}

#[test]
fn expressions_bound_in_the_parent_compute_in_a_child() {
    let a = large();
    let bound = Expr::parse("a * 2").unwrap().bind([("a", &a)]).unwrap().threads(2);
    let value = lazy(&a) + 1;
    let expected = bound.compute().unwrap();
    in_child(|| bound.compute().unwrap() == expected);
    in_child(|| value.compute().unwrap().shape() == [1000, 700]);
}

/// Other threads of the parent compute and look the pool up at the moment of the fork.
#[test]
fn a_fork_leaves_no_lock_held_by_other_threads() {
    let (a, is_done) = (large(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for threads in [2, 3] {
            let (a, is_done) = (&a, &is_done);
            scope.spawn(move || {
                let bound = Expr::parse("a + 1").unwrap().bind([("a", a)]).unwrap().threads(threads);
                while !is_done.load(Ordering::Relaxed) {
                    let mut out = ArrayD::<f64>::zeros(IxDyn(&[1000, 700]));
                    bound.compute_into(&mut out).unwrap();
                }
            });
        }
        let checked = catch_unwind(AssertUnwindSafe(|| {
            for _ in 0..20 {
                in_child(|| sum_to(&a, ()).unwrap().into_scalar() > 0.0 && map((&a,), |a| a + 1.0).is_ok());
            }
        }));
        is_done.store(true, Ordering::Relaxed);
        checked.unwrap();
    });
}
