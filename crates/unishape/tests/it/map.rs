//! `map` and `map_into` compared with an index-by-index evaluation.

use crate::support::{contents, spec, specs, strided};
use ndarray::{Array, Array2, ArrayD, Axis, Ix2, IxDyn, ShapeBuilder, arr0, arr1, arr2, s};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use unishape::{broadcast, broadcast_to, map, map_into};
use unishape_oracle::{Reading, common_shape, strategies};

/// Layouts of arrays with compatible shapes, and of their common shape.
fn compatible(arrays: usize) -> impl Strategy<Value = (Vec<crate::support::Spec>, crate::support::Spec)> {
    strategies::shapes(arrays..=arrays, 0..=5, 0..=5)
        .prop_filter_map("no common shape", |shapes| {
            let common = common_shape(Reading::Standard, &shapes).ok()?;
            Some((shapes, common))
        })
        .prop_flat_map(|(shapes, common)| (shapes.into_iter().map(spec).collect::<Vec<_>>(), spec(common)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn bc7_any_strides_give_the_function_of_each_index((inputs, out) in compatible(3)) {
        let [a, b, c] = &inputs[..] else { unreachable!() };
        let (a, b, c) = (strided(a, |n| n as i32), strided(b, |n| n as i64 * 1000), strided(c, |n| n as u8));
        let (a, b, c) = (a.view(), b.view(), c.view());
        let function = |a: &i32, b: &i64, c: &u8| (*c, *a, *b);

        let (va, vb, vc) = broadcast((&a, &b, &c)).unwrap();
        let mut expected = ArrayD::from_elem(va.shape(), (0, 0, 0));
        ndarray::Zip::from(&mut expected).and(&va).and(&vb).and(&vc).for_each(|to, a, b, c| *to = function(a, b, c));

        let result = map((&a, &b, &c), function).unwrap();
        prop_assert!(result.is_standard_layout());
        prop_assert_eq!(&result, &expected);

        // Into an output of any layout; elements between those of the output stay unchanged.
        let mut memory = strided(&out, |_| (9u8, 9i32, 9i64));
        map_into(&mut memory.view_mut(), (&a, &b, &c), function).unwrap();
        prop_assert_eq!(memory.view(), expected.view());
        let gaps = memory.memory().iter().filter(|element| **element == (9, 9, 9)).count();
        prop_assert_eq!(gaps, memory.memory().len() - expected.len());
    }

    #[test]
    fn one_array_and_five((inputs, _) in compatible(5)) {
        let arrays: Vec<_> = inputs.iter().map(|spec| strided(spec, |n| n as u64 + 1)).collect();
        let views: Vec<_> = arrays.iter().map(|array| array.view()).collect();
        let [a, b, c, d, e] = &views[..] else { unreachable!() };
        let result = map((a, b, c, d, e), |a, b, c, d, e| a + 3 * b + 5 * c + 7 * d + 11 * e).unwrap();
        let two = map((a, b), |a, b| a + 3 * b).unwrap();
        let four = map((&two, c, d, e), |ab, c, d, e| ab + 5 * c + 7 * d + 11 * e).unwrap();
        prop_assert_eq!(&result, &four);
        prop_assert_eq!(map((a,), |a| a * 2).unwrap(), a.mapv(|a| a * 2));
    }
}

/// Large enough for several threads, tiles, and rows of any length.
#[test]
fn large_arrays() {
    let (rows, columns) = (700, 523);
    let a = Array2::from_shape_fn((rows, columns), |(i, j)| (i * 1000 + j) as f32);
    let b = Array2::from_shape_fn((columns, rows), |(i, j)| (i * 7 + j * 3) as f32);
    let (row, column) = (a.row(3).to_owned(), a.column(5).to_owned().insert_axis(Axis(1)));
    assert_eq!(map((&a, &b.t()), |a, b| a + b).unwrap(), &a + &b.t());
    assert_eq!(map((&b.t(), &a), |b, a| a - b).unwrap(), &a - &b.t());
    assert_eq!(map((&a, &row), |a, b| a * b).unwrap(), &a * &row);
    assert_eq!(map((&column, &a), |a, b| a - b).unwrap(), &column - &a);
    assert_eq!(map((&column, &row), |a, b| a + b).unwrap(), &column + &row);
    let expected = &a * &row + &column;
    assert_eq!(map((&a, &row, &column), |a, b, c| a * b + c).unwrap(), expected);
    // Reversed and sliced inputs, and a column-major output.
    let reversed = a.slice(s![..;-1, ..;-1]);
    assert_eq!(map((&reversed, &reversed), |a, b| a + b).unwrap(), &reversed + &reversed);
    let odd = a.slice(s![..;2, 1..;3]);
    assert_eq!(map((&odd,), |a| a + 1.0).unwrap(), &odd + 1.0);
    let mut out = Array::from_elem((rows, columns).f(), f32::NAN);
    map_into(&mut out, (&a, &row, &column), |a, b, c| a * b + c).unwrap();
    assert_eq!(out, expected);
    // Rows of three.
    let points = Array2::from_shape_fn((200_001, 3), |(i, j)| (i + j) as f32);
    let (scale, weight) = (arr1(&[2.0f32, 3.0, 4.0]), points.column(1).insert_axis(Axis(1)));
    assert_eq!(map((&points, &scale), |p, s| p * s).unwrap(), &points * &scale);
    assert_eq!(map((&points, &weight), |p, w| p * w).unwrap(), &points * &weight);
}

/// Operands with different innermost loops, a loop between the two tiled ones, and tiles without a remainder.
#[test]
fn whole_tiles_of_large_arrays() {
    for (size, between) in [(64, 40), (96, 20), (65, 40)] {
        let a = Array::from_shape_fn((size, between, size), |(i, j, k)| (i * 10_000 + j * 100 + k) as f64);
        // With gaps, so that no loops are coalesced.
        let b =
            Array::from_shape_fn((between, size + 1, size), |(i, j, k)| (i + 100 * j + 10_000 * k) as f64);
        let b = b.slice(s![.., ..size, ..]).permuted_axes([2, 0, 1]);
        for transposed in [a.view().reversed_axes(), b] {
            let calls = AtomicUsize::new(0);
            let sums = map((&a, &transposed), |a, b| {
                calls.fetch_add(1, Ordering::Relaxed);
                a + b
            });
            assert_eq!(sums.unwrap(), &a + &transposed);
            assert_eq!(calls.into_inner(), a.len());
        }
    }
}

#[test]
fn bc4_ranks_static_and_dynamic() {
    let scalar = arr0(2);
    let both: Array<i32, Ix2> = map((&arr2(&[[1], [2]]), &arr1(&[10, 20])), |a, b| a + b).unwrap();
    assert_eq!(both, arr2(&[[11, 21], [12, 22]]));
    assert_eq!(map((&scalar, &scalar), |a, b| a * b).unwrap().into_scalar(), 4);
    let dynamic: ArrayD<i32> = map((&both.view().into_dyn(), &scalar), |a, b| a * b).unwrap();
    assert_eq!(dynamic.shape(), [2, 2]);
    let deep = ArrayD::from_elem(IxDyn(&[1; 100]), 5);
    assert_eq!(map((&deep, &both.into_dyn()), |a, b| a + b).unwrap().ndim(), 100);
}

#[test]
fn bc6_no_elements() {
    let calls = AtomicUsize::new(0);
    let none = Array2::<u8>::zeros((0, 1));
    let result = map((&none, &arr1(&[1, 2, 3])), |_, _| calls.fetch_add(1, Ordering::Relaxed)).unwrap();
    assert_eq!((result.shape(), calls.into_inner()), (&[0, 3][..], 0));
}

#[test]
fn bc9_errors_name_shapes() {
    let (a, b) = (Array2::<f32>::zeros((2, 3)), Array2::<f32>::zeros((4, 3)));
    let error = map((&a, &b), |a, b| a + b).unwrap_err();
    assert_eq!(error, broadcast((&a, &b)).unwrap_err());
    assert!(error.to_string().starts_with("E1"), "{error}");
    let mut out = Array2::from_elem((2, 3), 7.0);
    let error = map_into(&mut out, (&a, &b), |a, b| a + b).unwrap_err();
    assert_eq!(error, broadcast_to(&b, (2, 3)).unwrap_err());
    assert_eq!(out, Array2::from_elem((2, 3), 7.0), "the output is unchanged");
    // The output is never stretched.
    let mut small = Array2::from_elem((2, 1), 7.0);
    assert!(map_into(&mut small, (&a,), |&a| a).is_err());
}

#[cfg(target_pointer_width = "64")]
#[test]
fn bc14_results_too_large_are_errors() {
    let one = arr0(1u8);
    let wide = broadcast_to(&one, 1 << 47).unwrap();
    assert_eq!(map((wide,), |_| 0u64), Err(unishape::Error::OutOfMemory { bytes: 1 << 50 }));
}

/// Elements that are overwritten are dropped, once; no others are.
#[test]
fn overwritten_elements_are_dropped_once() {
    let (old, new) = (Arc::new(()), Arc::new(()));
    let mut out = Array2::from_elem((3, 5), old.clone());
    map_into(&mut out.slice_mut(s![.., ..;2]), (&arr1(&[0, 0, 0]),), |_| new.clone()).unwrap();
    assert_eq!((Arc::strong_count(&old), Arc::strong_count(&new)), (1 + 6, 1 + 9));
    let fresh = map((&out,), Arc::clone).unwrap();
    assert_eq!((Arc::strong_count(&old), Arc::strong_count(&new)), (1 + 12, 1 + 18));
    drop((out, fresh));
    assert_eq!((Arc::strong_count(&old), Arc::strong_count(&new)), (1, 1));
}

/// After a panic, the output has old and new elements, and each is dropped once.
#[test]
fn a_panic_propagates() {
    let old = Arc::new(());
    let mut out = arr1(&[(); 10]).mapv(|()| old.clone());
    let calls = AtomicUsize::new(0);
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        map_into(&mut out, (&arr1(&[0]),), |_| {
            assert!(calls.fetch_add(1, Ordering::Relaxed) < 4, "enough");
            Arc::new(())
        })
    }));
    assert!(ended.is_err());
    assert_eq!(Arc::strong_count(&old), 1 + 6);
    drop(out);
    assert_eq!(Arc::strong_count(&old), 1);
}

#[test]
fn map_copies_the_elements_of_the_oracle() {
    let spec = specs(1..=1, 1..=3, 1..=4);
    proptest!(|(specs in spec)| {
        let array = strided(&specs[0], |n| n);
        let copy = map((&array.view(),), |&x| x).unwrap();
        prop_assert_eq!(contents(&copy.view()), contents(&array.view()));
    });
}

/// Outputs large enough for non-temporal stores, of any alignment and element type.
#[test]
fn outputs_larger_than_the_cache() {
    fn check<R: Copy + PartialEq + Send + Sync + std::fmt::Debug>(
        other: R,
        result: impl Fn(u32, u32) -> R + Sync,
    ) {
        let columns = 4103;
        let rows = (34 << 20) / columns / size_of::<R>();
        let column = Array2::from_shape_fn((rows, 1), |(i, _)| i as u32);
        let row = Array::from_iter((0..columns as u32).map(|j| j * 7));
        // Elements around the output stay unchanged.
        let mut out = Array2::from_elem((rows + 2, columns + 3), other);
        let mut inside = out.slice_mut(s![1..=rows, 2..2 + columns]);
        map_into(&mut inside, (&column, &row), |&i, &j| result(i, j)).unwrap();
        for (i, out) in out.rows().into_iter().enumerate() {
            for (j, &out) in out.iter().enumerate() {
                let inside = (1..=rows).contains(&i) && (2..2 + columns).contains(&j);
                let expected = if inside { result(i as u32 - 1, (j as u32 - 2) * 7) } else { other };
                assert_eq!(out, expected, "at {i}, {j}");
            }
        }
        // Contiguous rows of several lengths.
        for columns in [17, 50, 3001] {
            let mut out = Array2::from_elem(((33 << 20) / columns / size_of::<R>(), columns), other);
            let (column, row) =
                (Array2::from_shape_fn((out.nrows(), 1), |(i, _)| i as u32), row.slice(s![..columns]));
            map_into(&mut out, (&column, &row), |&i, &j| result(i, j)).unwrap();
            assert!(out.indexed_iter().all(|((i, j), &out)| out == result(i as u32, j as u32 * 7)));
        }
        // Contiguous, with contiguous inputs, and reversed; few arrays and many.
        let mut flat = Array::from_elem(rows * columns - 5, other);
        let numbers = Array::from_iter(0..flat.len() as u32);
        let three = arr0(3);
        map_into(&mut flat, (&numbers, &three, &numbers), |&i, &j, _| result(i, j)).unwrap();
        assert!(flat.iter().enumerate().all(|(i, &out)| out == result(i as u32, 3)));
        map_into(
            &mut flat.slice_mut(s![..;-1]),
            (&numbers, &numbers, &numbers, &numbers, &numbers),
            |&i, &j, _, _, _| result(i, j),
        )
        .unwrap();
        assert!(flat.iter().rev().enumerate().all(|(i, &out)| out == result(i as u32, i as u32)));
        map_into(&mut flat, (&numbers, &numbers, &numbers, &numbers), |&i, &j, _, _| result(j, i)).unwrap();
        assert!(flat.iter().enumerate().all(|(i, &out)| out == result(i as u32, i as u32)));
        map_into(&mut flat, (&numbers, &numbers, &numbers, &numbers, &three), |&i, _, _, _, &j| result(i, j))
            .unwrap();
        assert!(flat.iter().enumerate().all(|(i, &out)| out == result(i as u32, 3)));
    }
    check(9u8, |i, j| (i ^ j) as u8);
    check(9.5f32, |i, j| i as f32 - j as f32);
    check((1u8, 2u32), |i, j| (i as u8, j)); // with padding
    check([0u64; 2], |i, j| [u64::from(i), u64::from(j)]);
    check([0u8; 3], |i, j| [i as u8, j as u8, 7]); // does not divide a cache line
}
