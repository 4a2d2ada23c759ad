//! sum_to is the adjoint of broadcast_to.

use crate::support::{spec, strided};
use ndarray::{ArrayD, IxDyn, Zip, arr2};
use proptest::prelude::*;
use unishape::{Error, broadcast_to, sum_to};
use unishape_oracle::{Reading, common_shape, strategies};

/// ⟨x, y⟩, exact in integers.
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
fn sums_over_nothing_are_zero() {
    let none = ArrayD::<f32>::zeros(IxDyn(&[0, 3]));
    assert_eq!(sum_to(&none, (1, 3)).unwrap(), arr2(&[[0.0, 0.0, 0.0]]));
    assert_eq!(sum_to(&none, ()).unwrap().into_scalar(), 0.0);
    assert_eq!(sum_to(&none, (0, 1)).unwrap().shape(), [0, 1]);
}

/// Nothing is allocated beside the result, and what cannot be is an error.
#[test]
fn bc14_sums_of_arrays_too_large_to_copy() {
    let none = ArrayD::<u8>::zeros(IxDyn(&[0, 1]));
    let none = broadcast_to(&none, &[0, 1 << 60][..]).unwrap();
    assert_eq!(sum_to(&none, ()).unwrap().into_scalar(), 0);
    assert_eq!(sum_to(none.t(), (1, 1)).unwrap(), arr2(&[[0]]));
    let one = ndarray::arr0(1u64);
    let wide = broadcast_to(&one, (1, 1 << 45)).unwrap();
    assert_eq!(sum_to(wide, 1 << 45), Err(Error::OutOfMemory { bytes: 1 << 48 }));
    let wide = broadcast_to(&one, (1, 1 << 61)).unwrap();
    assert_eq!(sum_to(wide, 1 << 61), Err(Error::TooLarge { shape: vec![1 << 61], element: Some(8) }));
    let tall = broadcast_to(&one, (1 << 20, 3)).unwrap();
    assert_eq!(sum_to(tall, 3).unwrap(), ndarray::arr1(&[1 << 20; 3]));
}

#[test]
fn sum_to_refuses_what_is_no_adjoint() {
    let y = arr2(&[[1, 2, 3], [4, 5, 6]]);
    assert!(sum_to(&y, 2).is_err());
    assert!(sum_to(&y, (1, 2, 3)).is_err());
    assert!(sum_to(&y, (2, 0)).is_err());
}
