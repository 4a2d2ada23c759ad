//! Elements of any type are broadcast unchanged.

use crate::support::contents;
use crate::tensors::{for_typed, same_bits, tensor_of};
use ndarray::{ArrayD, IxDyn, arr1, arr2};
use num_rational::Ratio;
use std::cell::Cell;
use unishape::{DType, Tensor, broadcast, broadcast_to, sum_to, to_owned};

/// BC-3's "real": exact rationals, which a conversion to floating point would change.
#[test]
fn bc3_real_as_exact_rationals() {
    let third = Ratio::new(1i64, 3);
    let huge = Ratio::new(i64::MAX, i64::MAX - 1);
    let (column, row) = (arr2(&[[third], [huge]]), arr1(&[Ratio::from(2), third]));
    let (a, b) = broadcast((&column, &row)).unwrap();
    assert_eq!(a, arr2(&[[third, third], [huge, huge]]));
    assert_eq!(b, arr2(&[[Ratio::from(2), third], [Ratio::from(2), third]]));
    let thirds = to_owned(broadcast_to(&arr1(&[third]), (2, 3)).unwrap()).unwrap();
    assert_eq!(sum_to(&thirds, ()).unwrap().into_scalar(), Ratio::from(2), "six thirds are exactly two");
}

/// Elements need not be Clone, Send or comparable: broadcasting only borrows them.
#[test]
fn bc3_elements_are_only_borrowed() {
    struct Opaque<'a>(&'a Cell<u32>);
    let count = Cell::new(0);
    let array = ndarray::Array1::from_vec(vec![Opaque(&count), Opaque(&count)]);
    let view = broadcast_to(&array, (3, 2)).unwrap();
    view.iter().for_each(|x| x.0.set(x.0.get() + 1));
    assert_eq!(count.get(), 6);
}

#[test]
fn bc3_every_dtype_has_a_name_and_a_tensor() {
    let names = [
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "bool",
        "string",
        "complex64",
        "complex128",
    ];
    assert_eq!(DType::ALL.iter().map(DType::to_string).collect::<Vec<_>>(), names);
    for &dtype in DType::ALL {
        assert_eq!(tensor_of(dtype, &[2, 3]).dtype(), dtype);
    }
}

#[allow(clippy::clone_on_copy)] // strings are not Copy
/// BC-8: every bit of each element is kept, including NaN payloads and −0.
#[test]
fn bc8_every_bit_survives_broadcasting_and_copying() {
    for &dtype in DType::ALL {
        let tensor = tensor_of(dtype, &[7, 1, 5]);
        let copied: Tensor = tensor.view().broadcast_to(&[2, 7, 3, 5]).unwrap().to_owned().unwrap();
        let expected = unishape_oracle::Indices::of(&[2, 7, 3, 5]);
        for_typed!(Tensor, &tensor, |array| {
            let copied = copied.typed().expect("the same type");
            let expected: Vec<_> = expected.map(|i| array[IxDyn(&[i[1], 0, i[3]])].clone()).collect();
            assert!(same_bits(&contents(&copied).elements, &expected), "{dtype}");
        });
    }
}

#[test]
fn a_view_of_repeated_elements_is_read_only() {
    // BC-10: the view is a read-only ArrayView; making it mutable copies it.
    let array = arr1(&[1, 2]);
    let mut copy = ndarray::CowArray::from(broadcast_to(&array, (2, 2)).unwrap());
    copy[(0, 0)] = 9;
    assert_eq!(array, arr1(&[1, 2]));
    assert_eq!(copy[(1, 0)], 1);
}

#[test]
fn dynamic_and_typed_views_are_the_same_elements() {
    let tensor = Tensor::from(ArrayD::from_elem(IxDyn(&[2, 1]), 1.5f64));
    let Tensor::F64(array) = &tensor else { panic!("f64") };
    assert!(std::ptr::eq(&tensor.typed::<f64>().unwrap()[[1, 0]], &array[[1, 0]]));
}

#[test]
fn a_slice_of_tensors_is_broadcast() {
    let tensors =
        [Tensor::from(ndarray::arr2(&[[1.5f32], [2.5]])), Tensor::from(ndarray::arr1(&[1u8, 2, 3]))];
    let views = unishape::broadcast(&tensors[..]).unwrap();
    let expected: Vec<_> =
        tensors.iter().map(|tensor| tensor.view().broadcast_to(&[2, 3]).unwrap()).collect();
    assert_eq!(views, expected);
}
