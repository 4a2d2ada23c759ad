//! Parts of arrays that stay in their files, beside the same parts of the arrays read into memory.

use ndarray::{Axis, Slice};
use proptest::prelude::*;
use std::ops::Range;
use tempfile::TempDir;
use unishape::{DType, Tensor, TensorView};
use unishape_npy::{self as npy, Descr, Header, Mapped, NpyError, Part};
use unishape_oracle::strategies;

/// A file in a folder that goes with it, of elements whose bytes are any, or 0 and 1 for booleans.
fn file(descr: &str, fortran_order: bool, shape: &[usize], skewed: bool) -> (TempDir, Mapped) {
    let descr = Descr::parse(descr).expect("a description");
    let header = Header { descr, fortran_order, shape: shape.to_vec() };
    let mut file = Vec::new();
    header.write(&mut file).expect("written");
    if skewed {
        // One byte of the padding less, and the data begins at an odd place.
        let length = u16::from_le_bytes([file[8], file[9]]) - 1;
        file[8..10].copy_from_slice(&length.to_le_bytes());
        file.remove(file.len() - 2);
    }
    let is_bool = header.descr.dtype() == Some(DType::Bool);
    let bytes = header.data_bytes().expect("few") as usize;
    let byte =
        |n: usize| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u8 & if is_bool { 1 } else { 0x3f };
    file.extend((0..bytes).map(byte));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.npy");
    std::fs::write(&path, file).expect("written");
    let mapped = Mapped::open(&path).expect("an array");
    (folder, mapped)
}

/// What ndarray makes of the array in memory.
fn expected(tensor: &Tensor, part: &[Range<usize>]) -> Tensor {
    macro_rules! sliced {
        ($($variant:ident)+) => {
            match tensor.view() {
                $(TensorView::$variant(mut view) => {
                    for (dim, range) in part.iter().enumerate() {
                        view.slice_axis_inplace(Axis(dim), Slice::from(range.clone()));
                    }
                    Tensor::$variant(view.to_owned())
                })+
            }
        };
    }
    sliced!(F16 BF16 F32 F64 I8 I16 I32 I64 U8 U16 U32 U64 Bool Str C64 C128)
}

const NATIVE: [&str; 15] = [
    "'<f2'", "'<V2'", "'<f4'", "'<f8'", "'|i1'", "'<i2'", "'<i4'", "'<i8'", "'|u1'", "'<u2'", "'<u4'",
    "'<u8'", "'|b1'", "'<c8'", "'<c16'",
];

/// Of every type and in every order: where they lie if they can, converted otherwise.
#[test]
fn parts_are_those_of_the_array_that_is_read() {
    for descr in
        NATIVE.into_iter().chain(["'>f2'", "'>f4'", "'>f8'", "'>i2'", "'>u4'", "'>i8'", "'>c8'", "'>c16'"])
    {
        for (fortran_order, skewed) in [(false, false), (true, false), (false, true), (true, true)] {
            let (_folder, mapped) = file(descr, fortran_order, &[4, 3, 5], skewed);
            let read = npy::read(mapped.path()).expect("an array");
            let in_place =
                descr != "'|b1'" && !descr.contains('>') && (!skewed || mapped.header().item_size() == 1);
            assert_eq!(mapped.view().is_some(), in_place, "{descr} {skewed}");
            for part in [[0..4, 0..3, 0..5], [1..3, 2..3, 1..5], [3..4, 0..3, 4..5], [2..2, 0..3, 0..5]] {
                mapped.will_need(&part);
                let found = mapped.part(&part).expect("numbers");
                assert_eq!(matches!(found, Part::View(_)), in_place, "{descr} {skewed}");
                assert_eq!(found.view().to_owned().expect("few"), expected(&read, &part), "{descr} {part:?}");
                mapped.is_done_with(&part);
            }
        }
    }
}

#[test]
fn rank_0_and_sizes_of_0_have_parts_too() {
    for descr in ["'<i4'", "'>i4'", "'|b1'"] {
        let (_folder, mapped) = file(descr, false, &[], false);
        assert_eq!(mapped.part(&[]).expect("numbers").view().shape(), [0; 0]);
        let (_folder, mapped) = file(descr, true, &[3, 0, 2], false);
        mapped.will_need(&[1..3, 0..0, 0..2]);
        assert_eq!(mapped.part(&[1..3, 0..0, 0..2]).expect("numbers").view().shape(), [2, 0, 2]);
        mapped.is_done_with(&[1..3, 0..0, 0..2]);
    }
}

#[test]
fn what_is_no_number_is_no_part() {
    for descr in ["'<U2'", "'|S3'", "'<M8[s]'", "'|V7'", "[('x', '<f4')]"] {
        let (_folder, mapped) = file(descr, false, &[2], false);
        assert!(mapped.view().is_none());
        let error = mapped.part(std::slice::from_ref(&(0..2))).expect_err("no numbers");
        assert!(
            matches!(&error, NpyError::InFile { error, .. } if matches!(**error, NpyError::NoTensor { .. })),
            "{error}"
        );
    }
}

/// The indices are those in the file, not those in the part.
#[test]
fn a_boolean_that_is_none_is_named_by_its_indices() {
    let (_folder, mapped) = file("'|b1'", true, &[4, 5], false);
    let path = mapped.path().to_path_buf();
    let mut bytes = std::fs::read(&path).expect("it is there");
    let data = bytes.len() - 20;
    bytes[data + 3 * 4 + 2] = 9; // column by column: row 2, column 3
    std::fs::remove_file(&path).expect("it is there");
    std::fs::write(&path, bytes).expect("written");
    let mapped = Mapped::open(&path).expect("an array");
    let problem = mapped.part(&[1..4, 2..5]).expect_err("one is none").to_string();
    assert!(problem.ends_with(": element [2, 3]: a bool is 0 or 1, this is 9"), "{problem}");
    assert!(mapped.part(&[0..2, 0..5]).is_ok());
}

#[test]
#[should_panic(expected = "no part of [4, 5]: [0..4, 3..6]")]
fn a_part_that_is_not_within_the_array_panics() {
    let _ = file("'<i4'", false, &[4, 5], false).1.part(&[0..4, 3..6]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn any_part_of_any_array_is_found(
        (shape, part) in strategies::shape(0..=4, 0..=5).prop_flat_map(|shape| {
            let range = |&size: &usize| (0..=size).prop_flat_map(move |end| (0..=end, Just(end)));
            let part: Vec<_> = shape.iter().map(range).collect();
            (Just(shape), part)
        }),
        descr in prop::sample::select(vec!["'<f4'", "'>i8'", "'|b1'", "'<c16'"]),
        fortran_order in any::<bool>(),
        skewed in any::<bool>(),
    ) {
        let (_folder, mapped) = file(descr, fortran_order, &shape, skewed);
        let part: Vec<Range<usize>> = part.into_iter().map(|(start, end)| start..end).collect();
        let read = npy::read(mapped.path()).expect("an array");
        mapped.will_need(&part);
        let found = mapped.part(&part).expect("numbers");
        prop_assert_eq!(found.view().to_owned().expect("few"), expected(&read, &part));
        drop(found);
        mapped.is_done_with(&part);
        prop_assert_eq!(mapped.part(&part).expect("numbers").view().to_owned().expect("few"), expected(&read, &part));
    }
}
