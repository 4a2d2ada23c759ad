//! sum_to is the adjoint of broadcast_to.

use crate::support::{spec, strided};
use ndarray::{ArrayD, IxDyn, Zip, arr2};
use proptest::prelude::*;
use unishape::{Error, broadcast_to, sum_to};
use unishape_oracle::{Reading, common_shape, strategies};

/// Inner product ⟨x, y⟩, exact in integers.
fn inner(x: &ndarray::ArrayViewD<'_, i64>, y: &ndarray::ArrayViewD<'_, i64>) -> i64 {
    let mut sum = 0;
    Zip::from(x).and(y).for_each(|x, y| sum += x * y);
    sum
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn adjoint_inner_products_are_equal(
        (x, y) in strategies::shapes(2..=2, 0..=5, 0..=4)
            .prop_filter_map("no common shape", |shapes| {
                let common = common_shape(Reading::Standard, &shapes).ok()?;
                Some((shapes[0].clone(), common))
            })
            .prop_flat_map(|(shape, common)| (spec(shape), spec(common))),
    ) {
        let (x, y) = (strided(&x, |n| n as i64 * 7 - 40), strided(&y, |n| (n * n) as i64 % 31 - 9));
        let (x, y) = (x.view(), y.view());
        let stretched = broadcast_to(x.view(), y.shape()).unwrap();
        let summed = sum_to(y.view(), x.shape()).unwrap();
        prop_assert_eq!(summed.shape(), x.shape());
        prop_assert_eq!(inner(&stretched, &y), inner(&x, &summed.view()));
    }
}

#[test]
fn sums_over_no_elements_are_zero() {
    let none = ArrayD::<f32>::zeros(IxDyn(&[0, 3]));
    assert_eq!(sum_to(&none, (1, 3)).unwrap(), arr2(&[[0.0, 0.0, 0.0]]));
    assert_eq!(sum_to(&none, ()).unwrap().into_scalar(), 0.0);
    assert_eq!(sum_to(&none, (0, 1)).unwrap().shape(), [0, 1]);
}

/// Nothing is allocated for the array's shape, and a result that cannot be allocated is an error.
#[test]
fn bc14_sums_of_arrays_too_large_to_copy() {
    let none = ArrayD::<u8>::zeros(IxDyn(&[0, 1]));
    let none = broadcast_to(&none, &[0, 1 << (usize::BITS - 4)][..]).unwrap();
    assert_eq!(sum_to(&none, ()).unwrap().into_scalar(), 0);
    assert_eq!(sum_to(none.t(), (1, 1)).unwrap(), arr2(&[[0]]));
    let one = ndarray::arr0(1u64);
    #[cfg(target_pointer_width = "64")]
    {
        let wide = broadcast_to(&one, (1, 1 << 45)).unwrap();
        assert_eq!(sum_to(wide, 1 << 45), Err(Error::OutOfMemory { bytes: 1 << 48 }));
    }
    let most = 1 << (usize::BITS - 3); // 2⁶⁴ or 2³² bytes
    let wide = broadcast_to(&one, (1, most)).unwrap();
    assert_eq!(sum_to(wide, most), Err(Error::TooLarge { shape: vec![most], element: Some(8) }));
    let tall = broadcast_to(&one, (1 << 20, 3)).unwrap();
    assert_eq!(sum_to(tall, 3).unwrap(), ndarray::arr1(&[1 << 20; 3]));
}

#[test]
fn sum_to_rejects_incompatible_shapes() {
    let y = arr2(&[[1, 2, 3], [4, 5, 6]]);
    assert!(sum_to(&y, 2).is_err());
    assert!(sum_to(&y, (1, 2, 3)).is_err());
    assert!(sum_to(&y, (2, 0)).is_err());
}

/// A large shape, and which of its dimensions are summed over: the loops are halved many times, in every
/// nesting order.
fn large() -> impl Strategy<Value = (Vec<usize>, Vec<bool>)> {
    let size = prop_oneof![3 => 1usize..4, 2 => 5usize..40, 2 => 100usize..700, 1 => 5000usize..40_000, 1 => 400_000usize..500_000];
    prop::collection::vec((size, any::<bool>()), 1..5)
        .prop_filter("not too large", |dims| {
            let count = dims.iter().try_fold(1usize, |count, dim| count.checked_mul(dim.0));
            count.is_some_and(|count| (20_000..2_000_000).contains(&count))
        })
        .prop_map(|dims| dims.into_iter().unzip())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn large_sums_are_exact(
        ((shape, over), order) in large().prop_flat_map(|(shape, over)| {
            let order = Just((0..shape.len()).collect::<Vec<usize>>()).prop_shuffle();
            (Just((shape, over)), order)
        }),
        backwards in any::<u8>(),
    ) {
        let mut array = ArrayD::from_shape_simple_fn(IxDyn(&shape), {
            let mut n = 0u64;
            move || { n += 1; n * n % 1009 }
        });
        for dim in (0..shape.len()).filter(|dim| backwards >> dim & 1 == 1) {
            array.invert_axis(ndarray::Axis(dim));
        }
        let array = array.permuted_axes(IxDyn(&order));
        let to: Vec<usize> = array.shape().iter().zip(&order).map(|(&size, &dim)| if over[dim] { 1 } else { size }).collect();
        let mut expected = ArrayD::<u64>::zeros(IxDyn(&to));
        for (index, element) in array.indexed_iter() {
            let at: Vec<usize> = (0..to.len()).map(|dim| index[dim].min(to[dim] - 1)).collect();
            expected[IxDyn(&at)] += element;
        }
        prop_assert_eq!(&sum_to(&array, &to[..]).unwrap(), &expected);
        // A type without a specialised kernel.
        let ratios = array.mapv(|x| num_rational::Ratio::from_integer(x as i64));
        let sums = sum_to(&ratios, &to[..]).unwrap();
        prop_assert!(sums.iter().zip(&expected).all(|(sum, &expected)| sum.to_integer() == expected as i64));
    }
}

/// Rounding errors stay small where very many elements are added, in every layout.
#[test]
fn sums_of_many_floats_are_close() {
    let n = 3_000_000;
    let terms: Vec<f32> = (0..n).map(|n| 1.0 + (n % 1000 * 7919 % 1000) as f32 * 1e-3).collect();
    let exact = |from: usize, step: usize| -> f64 {
        terms.iter().skip(from).step_by(step).map(|&x| f64::from(x)).sum()
    };
    let close = |sum: f32, exact: f64| (f64::from(sum) - exact).abs() <= 1e-6 * exact;
    for columns in [1, 3, 40, 1000] {
        let array = ndarray::ArrayView2::from_shape((n / columns, columns), &terms).unwrap();
        assert!(close(sum_to(array, ()).unwrap().into_scalar(), exact(0, 1)), "all of {columns}");
        let sums = sum_to(array, columns).unwrap();
        for (column, &sum) in sums.iter().enumerate() {
            assert!(close(sum, exact(column, columns)), "column {column} of {columns}");
        }
        assert_eq!(sum_to(array.t(), (columns, 1)).unwrap().column(0), sums);
    }
}

/// The result has the same bits for any number of threads.
#[test]
fn sums_do_not_depend_on_the_number_of_threads() {
    let array =
        ndarray::Array2::from_shape_fn((3000, 700), |(i, j)| ((i * 31 + j * 17) % 1013) as f32 * 0.37 - 91.3);
    let sums = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let (row, column, all) = (sum_to(&array, 700), sum_to(&array, (3000, 1)), sum_to(&array, ()));
            (row.unwrap(), column.unwrap(), all.unwrap().into_scalar().to_bits())
        })
    };
    let alone = sums(1);
    assert!([2, 3, 8].into_iter().all(|threads| sums(threads) == alone));
}
