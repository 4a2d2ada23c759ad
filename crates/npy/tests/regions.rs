//! Regions of memory-mapped arrays, compared with slices of the same arrays read into memory.

use ndarray::{Axis, Slice};
use proptest::prelude::*;
use std::ops::Range;
use std::path::Path;
use tempfile::TempDir;
use unishape::{DType, Tensor, TensorView};
use unishape_npy::{self as npy, Descr, Header, NpyError, RawArray, Region};
use unishape_oracle::strategies;

/// Maps a file of a test.
#[allow(unsafe_code)]
fn map(path: &Path) -> RawArray {
    // Safety: the test does not change the file while it is mapped, and no one else knows it.
    unsafe { RawArray::map(path) }.expect("a valid file")
}

/// A mapped file in its temporary folder. The elements have arbitrary bytes; booleans have 0 and 1.
fn file(descr: &str, fortran_order: bool, shape: &[usize], unaligned: bool) -> (TempDir, RawArray) {
    let descr = Descr::parse(descr).expect("a valid description");
    let header = Header { descr, fortran_order, shape: shape.to_vec() };
    let mut file = Vec::new();
    header.write(&mut file).expect("written");
    if unaligned {
        // One byte of padding less: the data begins at an odd address.
        let length = u16::from_le_bytes([file[8], file[9]]) - 1;
        file[8..10].copy_from_slice(&length.to_le_bytes());
        file.remove(file.len() - 2);
    }
    let is_bool = header.descr.dtype() == Some(DType::Bool);
    let bytes = header.data_bytes().expect("few") as usize;
    let byte = |n: usize| {
        ((n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u8 & if is_bool { 1 } else { 0x3f }
    };
    file.extend((0..bytes).map(byte));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.npy");
    std::fs::write(&path, file).expect("written");
    let mapped = map(&path);
    (folder, mapped)
}

/// The region as ndarray slices it.
fn expected(tensor: &Tensor, ranges: &[Range<usize>]) -> Tensor {
    macro_rules! sliced {
        ($($variant:ident)+) => {
            match tensor.view() {
                $(TensorView::$variant(mut view) => {
                    for (dim, range) in ranges.iter().enumerate() {
                        view.slice_axis_inplace(Axis(dim), Slice::from(range.clone()));
                    }
                    Tensor::$variant(view.to_owned())
                })+
            }
        };
    }
    sliced!(F16 BF16 F32 F64 I8 I16 I32 I64 U8 U16 U32 U64 Bool Str C64 C128)
}

/// The byte order of the other machines.
const FOREIGN: char = if cfg!(target_endian = "big") { '<' } else { '>' };

const LITTLE_ENDIAN: [&str; 15] = [
    "'<f2'", "'<V2'", "'<f4'", "'<f8'", "'|i1'", "'<i2'", "'<i4'", "'<i8'", "'|u1'", "'<u2'", "'<u4'",
    "'<u8'", "'|b1'", "'<c8'", "'<c16'",
];

/// For every dtype, order and alignment: in place where possible, converted otherwise.
#[test]
fn regions_are_slices_of_the_array() {
    for descr in LITTLE_ENDIAN
        .into_iter()
        .chain(["'>f2'", "'>f4'", "'>f8'", "'>i2'", "'>u4'", "'>i8'", "'>c8'", "'>c16'"])
    {
        for (fortran_order, unaligned) in [(false, false), (true, false), (false, true), (true, true)] {
            let (_folder, mapped) = file(descr, fortran_order, &[4, 3, 5], unaligned);
            let read = npy::read(mapped.path()).expect("a valid file");
            let in_place = descr != "'|b1'"
                && !descr.contains(FOREIGN)
                && (!unaligned || mapped.header().item_size() == 1);
            assert_eq!(mapped.view().is_some(), in_place, "{descr} {unaligned}");
            let memory = RawArray::read(mapped.path()).expect("a valid file");
            let always_aligned = descr != "'|b1'" && !descr.contains(FOREIGN);
            assert_eq!(memory.data(), mapped.data());
            assert_eq!(memory.view().is_some(), always_aligned, "{descr}");
            for ranges in [[0..4, 0..3, 0..5], [1..3, 2..3, 1..5], [3..4, 0..3, 4..5], [2..2, 0..3, 0..5]] {
                mapped.prefetch(&ranges);
                let found = mapped.region(&ranges).expect("numbers");
                assert_eq!(matches!(found, Region::View(_)), in_place, "{descr} {unaligned}");
                let expected = expected(&read, &ranges);
                assert_eq!(found.view().to_owned().expect("small"), expected, "{descr} {ranges:?}");
                // A view stays valid after its pages are released.
                mapped.release(&ranges);
                assert_eq!(found.view().to_owned().expect("small"), expected, "{descr} {ranges:?}");
                memory.prefetch(&ranges);
                let found = memory.region(&ranges).expect("numbers");
                assert_eq!(found.view().to_owned().expect("small"), expected, "{descr} {ranges:?}");
                memory.release(&ranges);
            }
        }
    }
}

#[test]
fn rank_0_and_sizes_of_0_have_regions() {
    for descr in ["'<i4'", "'>i4'", "'|b1'"] {
        let (_folder, mapped) = file(descr, false, &[], false);
        assert_eq!(mapped.region(&[]).expect("numbers").view().shape(), [0; 0]);
        let (_folder, mapped) = file(descr, true, &[3, 0, 2], false);
        mapped.prefetch(&[1..3, 0..0, 0..2]);
        assert_eq!(mapped.region(&[1..3, 0..0, 0..2]).expect("numbers").view().shape(), [2, 0, 2]);
        mapped.release(&[1..3, 0..0, 0..2]);
    }
}

#[test]
fn elements_that_are_not_numbers_have_no_regions() {
    for descr in ["'<U2'", "'|S3'", "'<M8[s]'", "'|V7'", "[('x', '<f4')]"] {
        let (_folder, mapped) = file(descr, false, &[2], false);
        assert!(mapped.view().is_none());
        let error = mapped.region(std::slice::from_ref(&(0..2))).expect_err("not numbers");
        assert!(
            matches!(&error, NpyError::InFile { error, .. } if matches!(**error, NpyError::NoTensor { .. })),
            "{error}"
        );
    }
}

/// The index is that in the array, not that in the region.
#[test]
fn an_invalid_boolean_is_reported_with_its_index() {
    let (_folder, mapped) = file("'|b1'", true, &[4, 5], false);
    let path = mapped.path().to_path_buf();
    let mut bytes = std::fs::read(&path).expect("it exists");
    let data = bytes.len() - 20;
    bytes[data + 3 * 4 + 2] = 9; // column-major: row 2, column 3
    std::fs::remove_file(&path).expect("it exists");
    std::fs::write(&path, bytes).expect("written");
    let mapped = map(&path);
    let problem = mapped.region(&[1..4, 2..5]).expect_err("one is invalid").to_string();
    assert!(problem.ends_with(": element [2, 3]: a bool is 0 or 1, not 9"), "{problem}");
    assert!(mapped.region(&[0..2, 0..5]).is_ok());
}

#[test]
fn the_index_of_an_invalid_boolean_has_all_dimensions() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.npy");
    npy::write(&path, ndarray::ArrayD::from_elem(ndarray::IxDyn(&[4, 5, 6]), true).view()).expect("written");
    let mut bytes = std::fs::read(&path).expect("written");
    let data = bytes.len() - 120;
    bytes[data + 3 * 30 + 2 * 6 + 4] = 9;
    std::fs::write(&path, bytes).expect("written");
    let problem = map(&path).region(&[1..4, 1..5, 2..6]).expect_err("one is invalid").to_string();
    assert!(problem.ends_with(": element [3, 2, 4]: a bool is 0 or 1, not 9"), "{problem}");
}

/// Kilobytes of the mapping at an address that are in memory.
#[cfg(target_os = "linux")]
fn resident(address: *const u8) -> usize {
    let maps = std::fs::read_to_string("/proc/self/smaps").expect("maps of this process");
    let mut is_here = false;
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if let Some((start, end)) = first.split_once('-') {
            let [start, end] = [start, end].map(|text| usize::from_str_radix(text, 16));
            if let (Ok(start), Ok(end)) = (start, end) {
                is_here = (start..end).contains(&(address as usize));
            }
        } else if is_here && first == "Rss:" {
            return second.parse().expect("a number");
        }
    }
    panic!("no mapping at this address");
}

/// What is released leaves the memory of the process, and can be read again.
#[test]
#[cfg(target_os = "linux")]
fn released_regions_are_not_in_memory() {
    const ROWS: usize = 1024;
    let (_folder, mapped) = file("'<i4'", false, &[ROWS, 1024], false);
    let address = mapped.data().as_ptr();
    if resident((&raw const mapped).cast()) == 0 {
        // Not even the stack: QEMU makes up this file.
        return;
    }
    let sum = |array: &RawArray| array.data().iter().map(|&byte| u64::from(byte)).sum::<u64>();
    let before = sum(&mapped);
    let all = resident(address);
    assert!(all >= 4 * ROWS, "{all}");
    // The second half; a page at its beginning is shared with the first.
    mapped.release(&[ROWS / 2..ROWS, 0..1024]);
    let half = resident(address);
    assert!((2 * ROWS..2 * ROWS + 100).contains(&half), "{half} of {all}");
    mapped.prefetch(&[ROWS / 2..ROWS, 0..1024]);
    assert_eq!(sum(&mapped), before);
    assert!(resident(address) >= 4 * ROWS);
}

#[test]
#[should_panic(expected = "the array of shape [4, 5] has no region [0..4, 3..6]")]
fn a_region_beyond_the_array_panics() {
    let _ = file("'<i4'", false, &[4, 5], false).1.region(&[0..4, 3..6]);
}

/// An array in memory is a copy: later changes of the file do not change it.
#[test]
fn an_array_read_into_memory_does_not_follow_its_file() {
    let (folder, mapped) = file("'=u4'", false, &[300], false);
    let path = folder.path().join("b.npy");
    std::fs::copy(mapped.path(), &path).expect("copied");
    let memory = RawArray::read(&path).expect("a valid file");
    let view = memory.view().expect("in place");
    let length = std::fs::metadata(&path).expect("it exists").len() as usize;
    std::fs::write(&path, vec![0xff; length]).expect("written");
    assert_eq!(view.to_owned().expect("small"), mapped.view().expect("in place").to_owned().expect("small"));
    std::fs::File::create(&path).expect("truncated");
    assert_eq!(memory.data(), mapped.data());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn any_region_of_any_array_is_its_slice(
        (shape, ranges) in strategies::shape(0..=4, 0..=5).prop_flat_map(|shape| {
            let range = |&size: &usize| (0..=size).prop_flat_map(move |end| (0..=end, Just(end)));
            let ranges: Vec<_> = shape.iter().map(range).collect();
            (Just(shape), ranges)
        }),
        descr in prop::sample::select(vec!["'<f4'", "'>i8'", "'|b1'", "'<c16'"]),
        fortran_order in any::<bool>(),
        unaligned in any::<bool>(),
    ) {
        let (_folder, mapped) = file(descr, fortran_order, &shape, unaligned);
        let ranges: Vec<Range<usize>> = ranges.into_iter().map(|(start, end)| start..end).collect();
        let read = npy::read(mapped.path()).expect("a valid file");
        mapped.prefetch(&ranges);
        let found = mapped.region(&ranges).expect("numbers");
        prop_assert_eq!(found.view().to_owned().expect("small"), expected(&read, &ranges));
        drop(found);
        mapped.release(&ranges);
        let again = mapped.region(&ranges).expect("numbers");
        prop_assert_eq!(again.view().to_owned().expect("small"), expected(&read, &ranges));
    }
}
