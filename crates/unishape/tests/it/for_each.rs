//! `for_each` compared with an index-by-index evaluation; elements outside of the arrays stay unchanged.

use crate::support::{Spec, contents, spec, strided};
use ndarray::{ArcArray2, Array1, Array2, ArrayD, Axis, CowArray, IxDyn, ShapeBuilder, arr0, arr1, arr2, s};
use proptest::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use unishape::{Error, broadcast, for_each};
use unishape_oracle::{Indices, Reading, common_shape, step_1, step_2, strategies};

/// Two arrays of the common shape, and two that are stretched to it.
fn compatible() -> impl Strategy<Value = [Spec; 4]> {
    strategies::shapes(2..=2, 0..=5, 0..=5)
        .prop_filter_map("no common shape", |shapes| {
            let common = common_shape(Reading::Standard, &shapes).ok()?;
            Some((shapes, common))
        })
        .prop_flat_map(|(shapes, common)| {
            [spec(common.clone()), spec(common), spec(shapes[0].clone()), spec(shapes[1].clone())]
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn bc7_any_strides([x, y, a, b] in compatible()) {
        let (a, b) = (strided(&a, |n| n as i64 + 1), strided(&b, |n| n as u8));
        let (mut x, mut y) = (strided(&x, |n| n as i64 * 100), strided(&y, |_| (9u8, 9i64)));
        let (before, rest) = (contents(&x.view()), x.memory().sum() - x.view().sum());
        for_each((&mut x.view_mut(), &a.view(), y.view_mut(), &b.view()), |x, a, y, b| {
            *y = (*b, *x);
            *x += a;
        })
        .unwrap();

        let stretched_a = step_2(&step_1(&contents(&a.view()), before.shape.len()), &before.shape);
        let stretched_b = step_2(&step_1(&contents(&b.view()), before.shape.len()), &before.shape);
        for (at, index) in Indices::of(&before.shape).enumerate() {
            let index = IxDyn(&index);
            prop_assert_eq!(x.view()[&index], before.elements[at] + stretched_a.elements[at]);
            prop_assert_eq!(y.view()[&index], (stretched_b.elements[at], before.elements[at]));
        }
        // Elements between those of the arrays stay unchanged.
        prop_assert_eq!(x.memory().sum() - x.view().sum(), rest);
        let gaps = y.memory().iter().filter(|element| **element == (9, 9)).count();
        prop_assert_eq!(gaps, y.memory().len() - before.elements.len());
    }

    #[test]
    fn one_array_and_eight([x, y, a, b] in compatible()) {
        let (a, b) = (strided(&a, |n| n as u64 + 1), strided(&b, |n| n as u64 + 5));
        let (mut x, mut y) = (strided(&x, |n| n as u64), strided(&y, |n| n as u64));
        for_each((x.view_mut(),), |x| *x *= 3).unwrap();
        let expected = &x.view() + &y.view() + &(&a.view() + 2 * &b.view()) + 3 * &a.view();
        let (v, w) = (a.view(), b.view());
        let mut z = x.view().to_owned();
        for_each((&v, &w, &v, &w, &mut z, &y.view(), x.view_mut(), &v), |a, b, c, d, z, y, x, e| {
            *z += y + a + b + c + d + 2 * e;
            *x = 0;
        })
        .unwrap();
        prop_assert_eq!(&z, &expected);
        prop_assert_eq!(x.view().sum(), 0);
        for_each((&mut y.view_mut(), &z, &z, &z, &z), |y, a, b, c, d| *y = a + b + c + d).unwrap();
        prop_assert_eq!(y.view(), 4 * &z);
    }
}

/// Large enough for several threads, tiles, and rows of any length.
#[test]
fn large_arrays() {
    let (rows, columns) = (700, 523);
    let a = Array2::from_shape_fn((rows, columns), |(i, j)| (i * 1000 + j) as f32);
    let b = Array2::from_shape_fn((columns, rows), |(i, j)| (i * 7 + j * 3) as f32);
    let (row, column) = (a.row(3).to_owned(), a.column(5).to_owned().insert_axis(Axis(1)));
    let mut x = a.clone();
    for_each((&mut x, &b.t()), |x, b| *x += b).unwrap();
    assert_eq!(x, &a + &b.t());
    for_each((&b.t(), &mut x), |b, x| *x -= b).unwrap();
    assert_eq!(x, a);
    for_each((&mut x, &row, &column), |x, r, c| *x = *x * r + c).unwrap();
    let expected = &a * &row + &column;
    assert_eq!(x, expected);
    let mut columns_first = ndarray::Array::from_elem((rows, columns).f(), 1.0f32);
    for_each((&mut columns_first, &mut x), std::mem::swap).unwrap();
    assert_eq!(columns_first, expected);
    assert!(x.iter().all(|&x| x == 1.0));
    for_each((x.slice_mut(s![..;-2, ..;3]), &row.slice(s![..;3])), |x, r| *x = *r).unwrap();
    assert_eq!(x.slice(s![..;-2, ..;3]).row(0), row.slice(s![..;3]));
    assert_eq!(x.iter().filter(|&&x| x == 1.0).count(), rows * columns - 350 * 175);
    let mut points = Array2::<u32>::zeros((500_001, 3));
    for_each((&mut points, &arr1(&[1, 2, 3])), |p, s| *p += s).unwrap();
    assert_eq!(points.sum_axis(Axis(0)), arr1(&[500_001, 1_000_002, 1_500_003]));
    assert_eq!(points.row(500_000), arr1(&[1, 2, 3]));
}

#[test]
fn bc4_ranks_and_kinds_of_arrays() {
    let mut scalar = arr0(2);
    for_each((&mut scalar, &arr0(3)), |x, y| *x *= y).unwrap();
    assert_eq!(scalar.into_scalar(), 6);
    // Static and dynamic ranks, a view, an `ArrayRef`.
    let mut x = arr2(&[[1, 2], [3, 4]]);
    for_each((&mut x, &arr1(&[10, 20]).into_dyn()), |x, y| *x += y).unwrap();
    for_each((x.row_mut(0), arr1(&[100]).view()), |x, y| *x += y).unwrap();
    let reference: &mut ndarray::ArrayRef2<i32> = &mut x;
    for_each((&mut *reference,), |x| *x *= 2).unwrap();
    let reference: &ndarray::ArrayRef2<i32> = reference;
    let total = AtomicUsize::new(0);
    for_each((reference,), |x| _ = total.fetch_add(*x as usize, Ordering::Relaxed)).unwrap();
    assert_eq!((&x, total.into_inner()), (&arr2(&[[222, 244], [26, 48]]), 540));
    let mut deep = ArrayD::from_elem(IxDyn(&[1; 100]), 5);
    for_each((&mut deep, &arr0(1)), |x, y| *x += y).unwrap();
    assert_eq!(deep.sum(), 6);
    // Copy-on-write arrays copy their elements, perhaps to another layout.
    let shared: ArcArray2<i32> = x.clone().into_shared();
    let mut own = shared.clone().reversed_axes();
    for_each((&mut own, &x.t()), |own, x| *own -= x).unwrap();
    assert!(shared == x && own.iter().all(|&own| own == 0));
    let mut cow = CowArray::from(x.slice(s![..;-1, ..1]));
    for_each((&mut cow, &x.slice(s![..;-1, ..1])), |cow, x| *cow -= x).unwrap();
    assert!(x[(0, 0)] == 222 && cow.iter().all(|&x| x == 0));
}

#[test]
fn bc6_no_elements() {
    let mut none = Array2::<u8>::zeros((0, 3));
    let calls = AtomicUsize::new(0);
    for_each((&mut none, &arr1(&[1, 2, 3])), |_, _| _ = calls.fetch_add(1, Ordering::Relaxed)).unwrap();
    // The function is called once for each zero-sized element.
    for_each((&mut Array2::from_elem((30, 50), ()),), |()| _ = calls.fetch_add(1, Ordering::Relaxed))
        .unwrap();
    assert_eq!(calls.into_inner(), 1500);
}

#[test]
fn written_arrays_are_never_stretched() {
    let a = Array2::<i32>::ones((2, 3));
    for mut small in [a.slice(s![..1, ..]), a.slice(s![.., ..1])].map(|view| view.to_owned()) {
        let before = small.clone();
        let error = for_each((&a, &mut small), |a, x| *x += a).unwrap_err();
        assert!(matches!(&error, Error::CannotWrite(error) if error.input() == 1), "{error}");
        assert_eq!(small, before);
    }
    // Neither by leading dimensions of size 1, nor to size 0.
    assert!(for_each((&mut Array1::<u8>::zeros(3), &Array2::<u8>::zeros((1, 3))), |_, _| ()).is_err());
    assert!(for_each((&mut Array1::<u8>::zeros(1), &Array1::<u8>::zeros(0)), |_, _| ()).is_err());
    let error = for_each((&mut Array2::<u8>::zeros((7, 1)), &Array2::<u8>::zeros((1, 0))), |_, _| ());
    assert_eq!(
        error.unwrap_err().to_string(),
        "\
input 0 is written to and cannot be broadcast to the common shape: its shape is 7x1, not 7x0

  input 0  7 x 1
  common   7 x 0
               ^
Only inputs that are read are broadcast. Give input 0 the common shape; to reduce, use sum_to."
    );
    let error = for_each((&mut arr0(1), &Array2::<u8>::zeros((5, 6))), |_: &mut i32, _| ()).unwrap_err();
    assert_eq!(
        error.named(&["sum"]).to_string(),
        "\
sum is written to and cannot be broadcast to the common shape: its shape is (), not 5x6

  sum         ()
  common  5 x  6
          ^    ^
Only inputs that are read are broadcast. Give sum the common shape; to reduce, use sum_to."
    );
}

#[test]
fn bc9_errors_name_shapes() {
    let (mut a, b) = (Array2::<f32>::zeros((2, 3)), Array2::<f32>::zeros((4, 3)));
    let error = for_each((&mut a, &b), |a, b| *a += b).unwrap_err();
    assert_eq!(error, broadcast((&a, &b)).unwrap_err());
}

/// Elements that own memory are changed in place; each is dropped once.
#[test]
fn elements_that_own_memory() {
    let (old, new) = (Arc::new(()), Arc::new(()));
    let mut x = Array2::from_elem((3, 5), old.clone());
    for_each((&mut x.slice_mut(s![.., ..;2]), &arr1(&[(); 3])), |x, ()| *x = new.clone()).unwrap();
    assert_eq!((Arc::strong_count(&old), Arc::strong_count(&new)), (1 + 6, 1 + 9));
    let mut names = Array1::from_elem(200_000, String::new());
    for_each((&mut names, &arr0("ab".to_string())), |name, ab| name.push_str(ab)).unwrap();
    assert!(names.iter().all(|name| name == "ab"));
    drop(x);
    assert_eq!((Arc::strong_count(&old), Arc::strong_count(&new)), (1, 1));
}

/// After a panic, every element is valid, on one thread and on several.
#[test]
fn a_panic_propagates() {
    for size in [10, 300_000] {
        let old = Arc::new(());
        let mut x = Array1::from_elem(size, old.clone());
        let calls = AtomicUsize::new(0);
        let ended = catch_unwind(AssertUnwindSafe(|| {
            for_each((&mut x,), |x| {
                *x = Arc::new(());
                assert!(calls.fetch_add(1, Ordering::Relaxed) < size / 2, "enough");
            })
        }));
        assert!(ended.is_err());
        let changed = calls.into_inner();
        assert!(changed > size / 2);
        assert_eq!(Arc::strong_count(&old), 1 + size - changed);
        drop(x);
        assert_eq!(Arc::strong_count(&old), 1);
    }
}
