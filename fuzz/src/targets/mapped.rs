//! `.npy` files that stay in their files: the file reads as its bytes do, and stretched bytes are the
//! oracle's, whatever an element is; numbers are the same as those of the file read into memory.

use super::npy::{MEMORY_PER_BYTE, npy_bytes};
use crate::file::{check_message, npy_file, with_file, with_memory_limit};
use crate::source::ByteSource;
use std::ops::Range;
use std::path::Path;
use unishape::DType;
use unishape_npy::{self as npy, Header, NpyError, RawArray, WriteBroadcastError};
use unishape_oracle::{Indices, Tensor, common_shape, step_1, step_2};

/// Larger results take long and show nothing new.
const MAX_ELEMENTS: usize = 4096;

pub(crate) fn run(bytes: &[u8]) {
    let mut source = ByteSource::new(bytes);
    let (reading, rules) = source.rules();
    let goal: Vec<usize> = (0..source.up_to(4)).map(|_| source.up_to(5)).collect();
    let file = npy_file(source.rest());
    with_file(&file, |path| {
        check_read(path, &file);
        let mapped = match with_memory_limit(MEMORY_PER_BYTE, file.len(), || map(path)) {
            Ok(mapped) => mapped,
            Err(error) => return check_message(&error),
        };
        let header = mapped.header();
        let mut start = &file[..];
        assert_eq!(&Header::read(&mut start).expect("it was read before"), header);
        let length = header.data_bytes().expect("it was opened") as usize;
        let data = &start[..length];
        if header.shape.len() > 8 || header.element_count().expect("it was opened") > MAX_ELEMENTS {
            return;
        }
        check_part(&mapped, &file, &goal);
        let common = common_shape(reading, &[&header.shape[..], &goal]).unwrap_or_else(|_| goal.clone());
        let countable = common.iter().try_fold(1, |count: usize, &size| count.checked_mul(size.max(1)));
        if countable.is_none_or(|count| count.saturating_mul(header.item_size()) > 16 * MAX_ELEMENTS) {
            return;
        }
        let mut written = Vec::new();
        match mapped.write_broadcast(rules, &common, &mut written) {
            Ok(()) => assert_eq!(written, expected(header, data, &common)),
            Err(WriteBroadcastError::Shape(error)) => {
                check_message(&error);
                let stretches = common_shape(reading, &[&header.shape[..], &common]).as_ref() == Ok(&common);
                let ranks_differ = header.shape.len() != common.len();
                assert!(!stretches || (rules.is_strict_rank() && ranks_differ), "{error}");
            }
            Err(error) => panic!("{error}"),
        }
    });
}

#[allow(unsafe_code)]
fn map(path: &Path) -> Result<RawArray, NpyError> {
    // Safety: the temporary file belongs to this run of the target, which does not write to it any more.
    unsafe { RawArray::map(path) }
}

/// Read as a file and as bytes, the outcome is the same.
fn check_read(path: &Path, file: &[u8]) {
    let read = with_memory_limit(MEMORY_PER_BYTE, file.len(), || npy::read(path));
    match (read, npy::read_from(file)) {
        (Ok(a), Ok(b)) => assert_eq!(npy_bytes(&a), npy_bytes(&b)),
        (Err(_), Err(_)) => {}
        (a, b) => panic!("{:?} but {:?}", a.map(|a| a.dtype()), b.map(|b| b.dtype())),
    }
}

/// All elements as a part, and some of them, are what is read.
fn check_part(mapped: &RawArray, file: &[u8], goal: &[usize]) {
    let all: Vec<Range<usize>> = mapped.header().shape.iter().map(|&size| 0..size).collect();
    let read = npy::read_from(file);
    let found = with_memory_limit(MEMORY_PER_BYTE, file.len(), || {
        mapped.region(&all).map(|region| region.view().to_owned())
    });
    let (found, read) = match (found, read) {
        (Ok(found), Ok(read)) => (found.expect("few"), read),
        (Err(error), Ok(read)) if read.dtype() == DType::Str => return check_message(&error),
        (Err(error), Err(_)) => return check_message(&error),
        (found, read) => panic!("{found:?} but {:?}", read.map(|read| read.dtype())),
    };
    assert_eq!(npy_bytes(&found), npy_bytes(&read));
    let some =
        all.iter().zip(goal.iter().chain([0].iter().cycle())).map(|(all, &goal)| all.end.min(goal)..all.end);
    let some: Vec<Range<usize>> = some.collect();
    mapped.prefetch(&some);
    let part = mapped.region(&some).expect("some of what is right").view().to_owned().expect("few");
    let expected = read.view().slice(&some).to_owned().expect("few");
    assert_eq!(npy_bytes(&part), npy_bytes(&expected));
    mapped.release(&some);
}

/// Element by element, as the specification says it.
fn expected(header: &Header, data: &[u8], common: &[usize]) -> Vec<u8> {
    let size = header.item_size();
    let place = |index: &[usize]| {
        let (mut place, mut step) = (0, 1);
        for number in 0..index.len() {
            let dim = if header.fortran_order { number } else { index.len() - 1 - number };
            place += step * index[dim];
            step *= header.shape[dim];
        }
        place
    };
    let elements =
        Indices::of(&header.shape).map(|index| place(&index) * size).map(|at| data[at..at + size].to_vec());
    let x = Tensor { shape: header.shape.clone(), elements: elements.collect() };
    step_2(&step_1(&x, common.len()), common).elements.concat()
}
