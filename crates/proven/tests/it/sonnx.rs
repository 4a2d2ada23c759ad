//! Compares Broadcast as it runs, and the core, with the C for SONNX.

use crate::support::cases;
use ndarray::ArrayD;
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use unishape::Error;
use unishape_core::{Common, FoldError, Rules};
use unishape_oracle::all_shapes;
use unishape_proven::sonnx::{self, Element, Tensor};

/// The shapes of rank 0 to `rank` with sizes from 1 to `size`.
fn shapes(rank: usize, size: usize) -> Vec<Vec<usize>> {
    all_shapes(rank, size).into_iter().filter(|shape| !shape.contains(&0)).collect()
}

/// Different elements, none of them 0. NaNs with payloads and −0.0 are among them.
fn bits(count: usize) -> Vec<u64> {
    let edges = [f64::NAN.to_bits() | 1, (-f64::NAN).to_bits() | 77, (-0.0f64).to_bits(), u64::MAX];
    let others = (1..).map(|number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    edges.into_iter().chain(others).take(count).collect()
}

/// Different elements of 8 bits, none of them 0.
fn bytes(count: usize) -> Vec<u8> {
    (1..=u8::MAX).map(|number| number.wrapping_mul(37)).take(count).collect()
}

/// The common shape by the core under the SONNX rules; the error is E1, with its dimension.
fn core_common(shapes: &[&[usize]]) -> Result<Vec<usize>, usize> {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let (mut sizes, mut from) = (vec![1; rank], vec![0; rank]);
    let mut common = Common::new(Rules::SONNX, &mut sizes, &mut from);
    for shape in shapes {
        match common.push(shape) {
            Ok(()) => {}
            // The dimension is that of the largest rank so far.
            Err(FoldError::Mismatch(mismatch)) => return Err(mismatch.dim + rank - mismatch.rank),
            Err(error) => panic!("{error:?}"),
        }
    }
    Ok(common.shape().to_vec())
}

/// Each column of the aligned shapes must have one size besides 1.
fn is_fault(shapes: &[&[usize]], dim: usize) -> bool {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let column = shapes.iter().filter_map(|shape| shape.get(dim.checked_sub(rank - shape.len())?));
    let mut others: Vec<usize> = column.copied().filter(|&size| size != 1).collect();
    others.dedup();
    others.len() > 1
}

/// Compares one call with these inputs: the common shape or E1, and all elements of all outputs. Returns whether the shapes
/// are compatible.
fn compare<E: Element + Ord + std::fmt::Debug>(
    shapes: &[&[usize]],
    elements: impl Fn(usize) -> Vec<E>,
) -> bool {
    let common = sonnx::common_shape(shapes);
    assert_eq!(common.is_ok(), core_common(shapes).is_ok(), "{shapes:?}");
    let arrays: Vec<ArrayD<E>> = shapes
        .iter()
        .map(|shape| {
            let data = elements(shape.iter().product());
            let different: BTreeSet<&E> = data.iter().collect();
            assert_eq!(different.len(), data.len(), "{data:?}");
            ArrayD::from_shape_vec(*shape, data).unwrap()
        })
        .collect();
    let views = unishape::broadcast_all_with(Rules::SONNX, &arrays);
    match (common, views) {
        (Ok(common), Ok(views)) => {
            assert_eq!(core_common(shapes).as_ref(), Ok(&common), "{shapes:?}");
            assert_eq!(views.len(), shapes.len());
            for ((array, view), shape) in arrays.iter().zip(&views).zip(shapes) {
                let output = Tensor::new(shape, array.iter().copied().collect()).broadcast(&common);
                assert_eq!(view.shape(), &output.shape()[..], "{shapes:?}");
                assert!(view.iter().eq(output.data()), "{shapes:?}: {view:?} {output:?}");
            }
            true
        }
        (Err(axis), Err(Error::Incompatible(error))) => {
            assert!(is_fault(shapes, axis), "{shapes:?}: {axis}");
            assert!(is_fault(shapes, error.dim()), "{shapes:?}: {error}");
            false
        }
        (common, views) => panic!("{shapes:?}: {common:?} {views:?}"),
    }
}

#[test]
fn pairs_of_small_shapes_equal_the_c() {
    let shapes = shapes(3, 3);
    let (mut compatible, mut all) = (0, 0);
    for a in &shapes {
        for b in &shapes {
            compatible += u32::from(compare(&[a, b], bits));
            all += 1;
        }
    }
    assert_eq!(all, 40 * 40);
    assert!((1..all).contains(&compatible), "{compatible} of {all}");
}

#[test]
fn triples_of_small_shapes_equal_the_c() {
    let shapes = shapes(2, 3);
    let mut compatible = 0;
    for a in &shapes {
        for b in &shapes {
            for c in &shapes {
                compatible += u32::from(compare(&[a, b, c], bytes));
            }
        }
    }
    assert!((1..13 * 13 * 13).contains(&compatible), "{compatible}");
}

/// As in **Where**: a condition of 8 bits, and two inputs of 64 bits, in one call.
#[test]
fn different_types_in_one_call_equal_the_c() {
    let condition = ArrayD::from_shape_vec(vec![2, 1], vec![0u8, 1]).unwrap();
    let x = ArrayD::from_shape_vec(vec![3], bits(3)).unwrap();
    let y = ArrayD::from_shape_vec(vec![], bits(1)).unwrap();
    let (c, v, w) = unishape::broadcast_with(Rules::SONNX, (&condition, &x, &y)).unwrap();
    let common = sonnx::common_shape(&[&[2, 1], &[3], &[]]).unwrap();
    assert_eq!(common, [2, 3]);
    assert!(c.iter().eq(Tensor::new(&[2, 1], vec![0u8, 1]).broadcast(&common).data()));
    assert!(v.iter().eq(Tensor::new(&[3], bits(3)).broadcast(&common).data()));
    assert!(w.iter().eq(Tensor::new(&[], bits(1)).broadcast(&common).data()));
}

#[test]
fn two_inputs_are_broadcast_as_one_by_one() {
    let (x0, x1) = (Tensor::new(&[3, 1], bits(3)), Tensor::new(&[4], bits(4)));
    let (z0, z1) = sonnx::broadcast2(&x0, &x1, &[3, 4]);
    assert_eq!((z0, z1), (x0.broadcast(&[3, 4]), x1.broadcast(&[3, 4])));
}

/// The test that is shipped with the C, as its users run it, for each element type of its Makefile.
#[test]
fn the_shipped_test_of_the_c_passes() {
    if Command::new("make").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "no make");
        println!("skipped: no make");
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sonnx");
    fs::create_dir_all(&folder).unwrap();
    for name in ["Makefile", "copbroadcast.c", "copbroadcast.h", "test.c"] {
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sonnx/c").join(name);
        fs::write(folder.join(name), fs::read(shipped).unwrap()).unwrap();
    }
    let output =
        Command::new("make").args(["--silent", "clean", "test"]).current_dir(&folder).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(text.lines().filter(|line| line.ends_with(" passed")).count(), 12, "{text}");
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn random_shapes_equal_the_c(
        shapes in vec(vec(prop_oneof![3 => Just(1), 2 => 2..4usize, 1 => Just((1 << 31) - 1)], 0..6), 1..5),
    ) {
        let shapes: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
        let (ours, theirs) = (core_common(&shapes), sonnx::common_shape(&shapes));
        match (&ours, &theirs) {
            (Ok(ours), Ok(theirs)) => prop_assert_eq!(ours, theirs),
            (Err(ours), Err(theirs)) => prop_assert!(is_fault(&shapes, *ours) && is_fault(&shapes, *theirs)),
            _ => prop_assert!(false, "{:?} {:?}", ours, theirs),
        }
    }

    #[test]
    fn counts_equal_the_c(
        shape in vec(prop_oneof![1..5usize, Just(65535), Just(65536), Just(32767), Just((1 << 31) - 1)], 0..5),
    ) {
        let expected = unishape_core::element_count(&shape).ok().filter(|&count| i32::try_from(count).is_ok());
        prop_assert_eq!(sonnx::element_count(&shape), expected);
    }
}
