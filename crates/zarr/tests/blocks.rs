//! Chunks that are written and read block by block are those that are written and read as a whole.

use ndarray::{ArrayD, IxDyn};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use unishape::{DType, Tensor};
use unishape_files::{ArraySource, FileError};
use unishape_zarr::{Format, StoreWriter, ZarrArray};

fn elements(shape: &[usize]) -> Tensor {
    let mut number = 0.0;
    let next = |_: IxDyn| {
        number += 0.5;
        number
    };
    Tensor::from(ArrayD::<f64>::from_shape_fn(IxDyn(shape), next))
}

/// The regions of all chunks, with their indices.
fn chunks(shape: &[usize], chunk: &[usize]) -> Vec<(Vec<u64>, Vec<Range<usize>>)> {
    let mut all = vec![(vec![], vec![])];
    for (&size, &chunk) in shape.iter().zip(chunk) {
        all = all
            .into_iter()
            .flat_map(|(index, ranges): (Vec<u64>, Vec<Range<usize>>)| {
                (0..size.div_ceil(chunk)).map(move |at| {
                    let range = at * chunk..((at + 1) * chunk).min(size);
                    ([&index[..], &[at as u64]].concat(), [&ranges[..], &[range]].concat())
                })
            })
            .collect();
    }
    all
}

/// The blocks of a region that is split along a dimension, `step` indices at a time.
fn blocks(region: &[Range<usize>], split: usize, step: usize) -> Vec<Vec<Range<usize>>> {
    let mut all = vec![vec![]];
    for (dim, range) in region.iter().enumerate() {
        let step = if dim < split { 1 } else { step };
        let parts: Vec<Range<usize>> = match dim > split {
            true => vec![range.clone()],
            false => range.clone().step_by(step).map(|at| at..(at + step).min(range.end)).collect(),
        };
        let extended = all.iter().flat_map(|block| {
            parts.iter().map(move |part| [&block[..], std::slice::from_ref(part)].concat())
        });
        all = extended.collect();
    }
    all
}

/// A store with the array `a`, written as a whole or block by block.
fn store(path: &Path, format: Format, all: &Tensor, chunk: &[usize], block: Option<(usize, usize)>) {
    let mut store = StoreWriter::create(path, format).expect("a store");
    let array = store.add_array("a", DType::F64, all.shape(), chunk).expect("an array");
    for (index, region) in chunks(all.shape(), chunk) {
        match block {
            None => array.write_chunk(&index, all.view().slice(&region)).expect("written"),
            Some((split, step)) => {
                let mut writer = array.chunk(&index);
                for block in blocks(&region, split, step) {
                    let own: Vec<Range<usize>> = block
                        .iter()
                        .zip(&region)
                        .map(|(block, region)| block.start - region.start..block.end - region.start)
                        .collect();
                    writer.write(&own, all.view().slice(&block)).expect("written");
                }
                writer.finish().expect("written");
            }
        }
    }
    store.commit(true).expect("a store");
}

fn files(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    let mut directories = vec![path.to_path_buf()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => directories.push(path),
                false => all.push((path.clone(), fs::read(&path).expect("a file"))),
            }
        }
    }
    all.sort();
    all
}

#[test]
fn blocks_and_whole_chunks_are_the_same() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("s.zarr");
    for (shape, chunk) in [
        (&[7, 5, 6][..], &[3, 2, 4][..]),
        (&[4, 5], &[4, 5]),
        (&[4, 5], &[6, 8]),
        (&[9], &[4]),
        (&[], &[]),
        (&[2, 3, 1, 2], &[1, 3, 1, 2]),
    ] {
        let all = elements(shape);
        for format in [Format::V2, Format::V3] {
            store(&path, format, &all, chunk, None);
            let array = ZarrArray::open(&path, Some("a")).expect("an array");
            let whole: Vec<Range<usize>> = shape.iter().map(|&size| 0..size).collect();
            assert_eq!(array.region(&whole).expect("read").view().to_owned().expect("memory"), all);
            let expected = files(&path);
            for (split, step) in [(0, 1), (0, 2), (1, 1), (1, 3), (2, 2)] {
                store(&path, format, &all, chunk, Some((split, step)));
                assert_eq!(files(&path).len(), expected.len(), "{shape:?} {chunk:?}");
                let array = ZarrArray::open(&path, Some("a")).expect("an array");
                assert_eq!(array.region(&whole).expect("read").view().to_owned().expect("memory"), all);
                for (_, region) in chunks(shape, chunk) {
                    let mut reader = array.blocks(&region).expect("opened").expect("blocks");
                    for block in blocks(&region, split, step) {
                        let expected = all.view().slice(&block).to_owned().expect("memory");
                        assert_eq!(
                            reader.read(&block).expect("read"),
                            expected,
                            "{shape:?} {chunk:?} {block:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn blocks_may_be_left_out() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("s.zarr");
    let all = elements(&[6, 4]);
    store(&path, Format::V3, &all, &[6, 4], None);
    let array = ZarrArray::open(&path, None).expect("an array");
    let mut reader = array.blocks(&[0..6, 0..4]).expect("opened").expect("blocks");
    for rows in [1..2, 4..6] {
        let block = [rows, 0..4];
        assert_eq!(reader.read(&block).expect("read"), all.view().slice(&block).to_owned().expect("memory"));
    }
    // A region that begins inside a chunk, or is in two of them.
    assert!(array.blocks(&[1..6, 0..4]).expect("opened").is_none());
    store(&path, Format::V3, &all, &[3, 4], None);
    let array = ZarrArray::open(&path, None).expect("an array");
    assert!(array.blocks(&[0..6, 0..4]).expect("opened").is_none());
    assert!(array.blocks(&[3..6, 0..4]).expect("opened").is_some());
}

#[test]
fn chunks_of_zeros_have_no_file_and_are_read_as_fill_values() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("s.zarr");
    let mut writer = StoreWriter::create(&path, Format::V3).expect("a store");
    let array = writer.add_array("a", DType::F32, &[4, 3], &[2, 3]).expect("an array");
    let zeros = Tensor::from(ArrayD::<f32>::zeros(IxDyn(&[2, 3])));
    array.write_chunk(&[0, 0], &zeros).expect("written");
    // Minus zero has other bits.
    let negative = Tensor::from(ArrayD::from_elem(IxDyn(&[1, 3]), -0.0f32));
    let mut chunk = array.chunk(&[1, 0]);
    chunk.write(&[1..2, 0..3], &negative).expect("written");
    chunk.finish().expect("written");
    assert!(matches!(
        array.write_chunk(&[0, 0], ndarray::arr2(&[[1i32]]).into_dyn().view()),
        Err(FileError::Content(_))
    ));
    writer.commit(false).expect("a store");
    assert!(!path.join("a/c/0/0").exists() && path.join("a/c/1/0").exists());
    let array = ZarrArray::open(&path, None).expect("an array");
    let mut reader = array.blocks(&[0..2, 0..3]).expect("opened").expect("blocks");
    assert_eq!(reader.read(&[0..2, 0..3]).expect("read"), zeros);
    let Tensor::F32(rows) = array.region(&[2..4, 0..3]).expect("read").view().to_owned().expect("memory")
    else {
        panic!("float32")
    };
    assert_eq!(rows.mapv(f32::is_sign_negative), ndarray::arr2(&[[false; 3], [true; 3]]).into_dyn());
}

#[test]
fn arrays_are_the_same_with_any_number_of_threads() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("s.zarr");
    let all = elements(&[7, 5]);
    store(&path, Format::V3, &all, &[2, 2], None);
    for threads in [0, 1, 2, 5] {
        let array = ZarrArray::open(&path, None).expect("an array").with_threads(threads);
        assert_eq!(array.region(&[0..7, 0..5]).expect("read").view().to_owned().expect("memory"), all);
    }
}

#[test]
fn damaged_chunks_are_errors() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("s.zarr");
    let all = elements(&[40, 40]);
    store(&path, Format::V3, &all, &[20, 40], None);
    let file = path.join("a/c/1/0");
    let bytes = fs::read(&file).expect("a chunk");
    let mut flipped = bytes.clone();
    flipped[3] ^= 0x40;
    for (damaged, problem) in [
        (bytes[..bytes.len() / 2].to_vec(), "chunk (1, 0) "),
        (vec![], "chunk (1, 0) is truncated"),
        (flipped, "chunk (1, 0) cannot be decoded: "),
    ] {
        fs::write(&file, damaged).expect("written");
        let array = ZarrArray::open(&path, None).expect("an array");
        let mut reader = array.blocks(&[20..40, 0..40]).expect("opened").expect("blocks");
        let error = reader.read(&[20..40, 0..40]).expect_err("damaged");
        assert!(matches!(&error, FileError::Content(text) if text.contains(problem)), "{error}");
    }
}
