//! Broadcasting of arrays compared with the oracle: random shapes, random strides, every dtype.

use crate::support::{Spec, contents, specs, strided};
#[cfg(feature = "expr")]
use crate::tensors::{StridedTensor, for_typed, same_bits};
use ndarray::{ArrayD, ArrayViewD, Dimension, IxDyn, arr0, arr1, arr2, array};
use proptest::prelude::*;
#[cfg(feature = "expr")]
use unishape::{DType, TensorView};
use unishape::{Error, Rules, broadcast, broadcast_all, broadcast_all_with, broadcast_to};
use unishape_oracle::{self as oracle, READINGS, Reading};

fn rules(reading: Reading) -> Rules {
    match reading {
        Reading::Standard => Rules::STANDARD,
        Reading::Sonnx => Rules::SONNX,
    }
}

/// Broadcasts strided arrays of these shapes and compares every element with the oracle's.
fn compare_with_oracle<T: Clone + PartialEq + std::fmt::Debug>(
    specs: &[Spec],
    element: impl Fn(usize) -> T,
) -> Result<(), TestCaseError> {
    let arrays: Vec<_> =
        specs.iter().enumerate().map(|(m, spec)| strided(spec, |n| element(m * 1_000_003 + n))).collect();
    let views: Vec<ArrayViewD<'_, T>> = arrays.iter().map(|array| array.view()).collect();
    let inputs: Vec<oracle::Tensor<T>> = views.iter().map(contents).collect();
    for reading in READINGS {
        let ours = broadcast_all_with(rules(reading), views.iter().cloned());
        match oracle::broadcast(reading, &inputs) {
            Err(at_fault) => match ours {
                Err(Error::Incompatible(e1)) => prop_assert!(at_fault.contains(&e1.dim())),
                other => prop_assert!(false, "the oracle has E1 in {at_fault:?}, we have {other:?}"),
            },
            Ok(expected) => {
                let ours = ours.expect("the oracle finds a common shape");
                prop_assert_eq!(ours.len(), expected.len());
                for ((view, input), expected) in ours.iter().zip(&views).zip(&expected) {
                    prop_assert_eq!(&contents(view), expected);
                    prop_assert_eq!(view.iter().cloned().collect::<Vec<_>>(), expected.elements.clone());
                    #[cfg(feature = "map")]
                    {
                        let copied = unishape::to_owned(view).unwrap();
                        prop_assert_eq!(&contents(&copied.view()), expected, "copied out");
                    }
                    if let (Some(first), Some(of_input)) = (view.first(), input.first()) {
                        prop_assert!(std::ptr::eq(first, of_input), "BC-10: not a copy");
                    }
                    let one_way = broadcast_to(input.view(), &expected.shape[..]).unwrap();
                    prop_assert_eq!(&one_way, view, "BC-12 agrees");
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn bc1_bc7_bc10_any_number_of_strided_arrays(specs in specs(1..=8, 0..=6, 0..=5)) {
        compare_with_oracle(&specs, |n| n)?;
    }

    #[test]
    fn bc3_any_type_strings(specs in specs(1..=4, 0..=4, 0..=4)) {
        compare_with_oracle(&specs, |n| format!("element {n}"))?;
    }

    #[test]
    fn bc3_any_type_without_clone_or_size(specs in specs(1..=4, 0..=4, 0..=4)) {
        compare_with_oracle(&specs, |_| ())?; // zero-sized elements: pointers carry no information
    }

    /// Mixed dtypes and any strides in one call: each view keeps its dtype, without a copy (BC-2).
    #[cfg(feature = "expr")]
    #[test]
    fn bc2_bc3_mixed_tensors_of_every_type(specs in specs(1..=8, 0..=6, 0..=5), first in 0usize..16) {
        let tensors: Vec<StridedTensor> = specs
            .iter()
            .enumerate()
            .map(|(m, spec)| StridedTensor::of(DType::ALL[(first + m * 5) % 16], spec))
            .collect();
        let views: Vec<TensorView<'_>> = tensors.iter().map(StridedTensor::view).collect();
        let shapes: Vec<&[usize]> = views.iter().map(TensorView::shape).collect();
        match (broadcast(views.clone()), oracle::common_shape(Reading::Standard, &shapes)) {
            (Ok(outputs), Ok(common)) => {
                prop_assert_eq!(outputs.len(), views.len());
                for (output, input) in outputs.iter().zip(&views) {
                    prop_assert_eq!(output.dtype(), input.dtype());
                    prop_assert_eq!(output.shape(), &common[..]);
                    for_typed!(TensorView, input, |input| {
                        let output = output.typed().expect("the same type");
                        let expected = oracle::step_2(&oracle::step_1(&contents(input), common.len()), &common);
                        prop_assert!(same_bits(&contents(&output).elements, &expected.elements));
                        if let (Some(first), Some(of_input)) = (output.first(), input.first()) {
                            prop_assert!(std::ptr::eq(first, of_input), "BC-10: not a copy");
                        }
                    });
                    let copied = output.to_owned().unwrap();
                    for_typed!(TensorView, &copied.view(), |copied| {
                        let output = output.typed().expect("the same type");
                        prop_assert!(same_bits(&contents(copied).elements, &contents(&output).elements));
                    });
                }
            }
            (Err(Error::Incompatible(e1)), Err(at_fault)) => prop_assert!(at_fault.contains(&e1.dim())),
            (ours, expected) => prop_assert!(false, "{ours:?} but {expected:?}"),
        }
    }

    #[test]
    fn bc11_broadcasting_is_idempotent(specs in specs(1..=6, 0..=5, 0..=4)) {
        let arrays: Vec<_> = specs.iter().map(|spec| strided(spec, |n| n)).collect();
        if let Ok(once) = broadcast_all(arrays.iter().map(|array| array.view())) {
            prop_assert_eq!(&broadcast_all(&once).unwrap(), &once);
        }
    }

    /// The recursive definition: Broadcast(Broadcast(X0, …), XL), two arrays at a time.
    #[test]
    fn bc11_two_arrays_at_a_time_give_the_same_views(specs in specs(1..=6, 0..=5, 0..=4)) {
        let arrays: Vec<_> = specs.iter().map(|spec| strided(spec, |n| n)).collect();
        let views: Vec<_> = arrays.iter().map(|array| array.view()).collect();
        let by_two = views[1..].iter().try_fold(vec![views[0].view()], |so_far, next| {
            let (_, last) = broadcast((so_far[0].clone(), next))?;
            let mut stretched = Vec::new();
            for view in so_far {
                stretched.push(broadcast((view, next))?.0);
            }
            stretched.push(last);
            Ok::<_, Error>(stretched)
        });
        match (broadcast_all(views.iter().cloned()), by_two) {
            (Ok(at_once), Ok(by_two)) => prop_assert_eq!(at_once, by_two),
            (Err(_), Err(_)) => {}
            (at_once, by_two) => prop_assert!(false, "{at_once:?} but {by_two:?}"),
        }
    }

    #[test]
    fn bc11_order_of_inputs_is_order_of_outputs(specs in specs(2..=6, 0..=5, 0..=4), turn in 0usize..6) {
        let arrays: Vec<_> = specs.iter().map(|spec| strided(spec, |n| n)).collect();
        let mut views: Vec<_> = arrays.iter().map(|array| array.view()).collect();
        if let Ok(mut expected) = broadcast_all(views.clone()) {
            let by = turn % views.len();
            views.rotate_left(by);
            expected.rotate_left(by);
            prop_assert_eq!(broadcast_all(views).unwrap(), expected);
        }
    }
}

/// Every pair of small shapes, every element of every output, under both rule sets.
#[test]
fn bc5_bc7_exhaustive_pairs_of_small_arrays() {
    let shapes = oracle::all_shapes(3, 3);
    for a in &shapes {
        for b in &shapes {
            let inputs = [a, b].map(|shape| oracle::Tensor::from_fn(shape, |n| n));
            let arrays = [a, b].map(|shape| {
                let mut n = 0..;
                ArrayD::from_shape_simple_fn(IxDyn(shape), || n.next().unwrap_or_default())
            });
            for reading in READINGS {
                let ours = broadcast_all_with(rules(reading), &arrays).ok();
                let ours = ours.map(|views| views.iter().map(contents).collect::<Vec<_>>());
                assert_eq!(ours, oracle::broadcast(reading, &inputs).ok(), "{reading:?} {a:?} {b:?}");
            }
        }
    }
}

#[test]
fn bc2_a_tuple_keeps_each_type_and_the_static_rank() {
    let (f, s, b) = (arr2(&[[1.5f32], [2.5]]), arr1(&["x", "y", "z"]), arr0(true));
    let (f, s, b) = broadcast((&f, &s, &b)).unwrap();
    let _: [&dyn Fn((usize, usize)) -> bool; 1] = [&|index| b[index]]; // Ix2 at compile time
    assert_eq!(f, arr2(&[[1.5, 1.5, 1.5], [2.5, 2.5, 2.5]]));
    assert_eq!(s, arr2(&[["x", "y", "z"], ["x", "y", "z"]]));
    assert_eq!(b, arr2(&[[true; 3], [true; 3]]));
}

#[test]
fn bc1_tuples_of_one_to_sixteen() {
    let (x, y) = (arr1(&[7u8, 8]), arr2(&[[true], [false], [true]]));
    assert_eq!(broadcast((&x,)).unwrap().0, x);
    macro_rules! check {
        ($first:ident) => {};
        ($first:ident $($view:ident)+) => {
            let ($first, $($view,)+) = broadcast((&y, $({ let $view = &x; $view },)+)).unwrap();
            assert_eq!($first, array![[true; 2], [false; 2], [true; 2]]);
            $(assert_eq!($view, array![[7, 8], [7, 8], [7, 8]]);)+
            check!($($view)+);
        };
    }
    check!(a b c d e f g h i j k l m n o p);
}

#[test]
fn any_kind_of_ndarray_array_is_an_operand() {
    let owned = array![[1], [2]];
    let shared = owned.to_shared();
    let cow = ndarray::CowArray::from(owned.view());
    let mut mutable = owned.clone();
    let view_mut = mutable.view_mut();
    let dynamic = owned.clone().into_dyn();
    let reference: &ndarray::ArrayRef2<i32> = &owned;
    let row = arr1(&[0, 0, 0]);
    let (a, b, c, d, e, f, g) =
        broadcast((&owned, &shared, &cow, &view_mut, &dynamic, reference, &row)).unwrap();
    assert_eq!(a.shape(), [2, 3]);
    assert!([b, c, d, e, f].iter().all(|view| view == a));
    assert_eq!(g, ArrayD::zeros(IxDyn(&[2, 3])));
}

/// Negative strides and static ranks: ndarray's constructors accept no negative strides.
#[test]
fn reversed_arrays_of_static_rank() {
    let array = ndarray::Array3::from_shape_fn((3, 1, 4), |(i, _, k)| 10 * i + k);
    for reversed in 0..8 {
        let mut view = array.view();
        for axis in (0..3).filter(|axis| reversed >> axis & 1 == 1) {
            view.invert_axis(ndarray::Axis(axis));
        }
        let stretched = broadcast_to(view, (2, 3, 5, 4)).unwrap();
        let row = arr1(&[0u8; 4]);
        let (together, _) = broadcast((view, &row)).unwrap();
        for ((h, i, j, k), &element) in stretched.indexed_iter() {
            assert_eq!(element, view[(i, 0, k)], "axes {reversed:b}, {:?}", [h, i, j, k]);
            assert_eq!(together[(i, 0, k)], element);
        }
    }
}

#[test]
fn views_outlive_the_views_they_came_from() {
    let array = array![[1], [2]];
    let stretched = {
        let short_lived = array.view();
        broadcast_to(short_lived, (2, 2)).unwrap()
    };
    assert_eq!(stretched, array![[1, 1], [2, 2]]);
}

/// A view may outlive the other inputs.
#[test]
fn each_view_has_its_own_lifetime() {
    fn as_wide_as_three(column: &ndarray::Array2<i32>) -> ndarray::ArrayView2<'_, i32> {
        let short_lived = arr1(&[0.0; 3]);
        broadcast((column, &short_lived)).unwrap().0
    }
    assert_eq!(as_wide_as_three(&array![[1], [2]]), array![[1, 1, 1], [2, 2, 2]]);
}

#[test]
fn bc4_bc10_rank_a_thousand() {
    let shape = |start: usize| -> Vec<usize> {
        (0..1000).map(|i| if (i + start).is_multiple_of(100) { 2 } else { 1 }).collect()
    };
    let one = ArrayD::from_shape_fn(IxDyn(&shape(0)), |index| index.slice().iter().sum::<usize>());
    let other = ArrayD::from_shape_fn(IxDyn(&shape(50)), |index| index.slice().iter().sum::<usize>());
    let three = arr0(3);
    let (one_view, other_view, scalar) = broadcast((&one, &other, &three)).unwrap();
    assert_eq!(one_view.ndim(), 1000);
    assert_eq!((one_view.len(), other_view.len(), scalar.len()), (1 << 20, 1 << 20, 1 << 20));
    assert_eq!(one_view.iter().max(), Some(&10));
}

#[test]
fn bc10_a_quadrillion_virtual_elements() {
    let (column, row) = (ArrayD::from_elem(IxDyn(&[100_000_000, 1]), 1u8), arr1(&[2u8; 100]));
    #[cfg(target_pointer_width = "64")]
    {
        let tall = broadcast_to(&row, (10_000_000_000_000usize, 100)).unwrap();
        assert_eq!(tall.len(), 1_000_000_000_000_000);
        assert_eq!(tall[(9_999_999_999_999, 99)], 2);
    }
    // With 32 bits, ten columns: views have at most `isize::MAX` elements.
    let row = row.slice_move(ndarray::s![..if usize::BITS == 32 { 10 } else { 100 }]);
    let (a, b) = broadcast((&column, &row)).unwrap();
    assert_eq!((a[[99_999_999, 9]], b[[99_999_999, 9]]), (1, 2));
}

#[test]
fn bc14_a_common_shape_that_is_too_large_is_an_error() {
    let (tall, wide) = (arr2(&[[1u8]]), arr1(&[1u8]));
    let quarter = 1usize << (usize::BITS - 2);
    let (tall, wide) = (broadcast_to(&tall, (quarter, 1)).unwrap(), broadcast_to(&wide, 4).unwrap());
    let error = broadcast((tall, wide)).unwrap_err();
    assert_eq!(error, Error::TooLarge { shape: vec![quarter, 4], element: None });
    let message = format!("{quarter}x4 has more elements than this machine can address");
    assert_eq!(error.to_string(), message);
}

#[cfg(feature = "map")]
#[test]
fn bc14_copies_too_large_are_errors() {
    use unishape::to_owned;
    let x = arr0(1.5f64);
    let many = 1usize << (usize::BITS - 4);
    let view = broadcast_to(&x, many).unwrap();
    assert_eq!(to_owned(view), Err(Error::TooLarge { shape: vec![many], element: Some(8) }));
    #[cfg(target_pointer_width = "64")]
    {
        let view = broadcast_to(&x, 1usize << 50).unwrap();
        assert_eq!(to_owned(view), Err(Error::OutOfMemory { bytes: 1 << 53 }));
    }
}

#[test]
fn bc1_no_inputs_give_no_outputs() {
    assert_eq!(broadcast_all::<&ArrayD<f32>>([]), Ok(vec![]));
    let too_few = Err(Error::TooFewInputs { least: 1 });
    assert_eq!(broadcast_all_with::<&ArrayD<f32>>(Rules::SONNX, []), too_few);
    #[cfg(feature = "expr")]
    {
        let none = Vec::<TensorView<'_>>::new;
        assert_eq!(broadcast(none()), Ok(vec![]));
        assert_eq!(unishape::broadcast_with(Rules::SONNX, none()), Err(Error::TooFewInputs { least: 1 }));
    }
}

#[test]
fn bc9_incompatible_arrays_give_no_views() {
    let arrays = [arr1(&[1, 2, 3]), arr1(&[1]), arr1(&[1, 2, 3, 4])];
    let Err(Error::Incompatible(e1)) = broadcast_all(&arrays) else { panic!("E1 expected") };
    assert_eq!((e1.dim(), e1.inputs(), e1.sizes()), (0, [0, 2], [3.into(), 4.into()]));
    assert_eq!(e1.shapes().len(), 3);
}
