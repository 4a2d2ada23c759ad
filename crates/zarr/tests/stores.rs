//! Stores: their files, names of arrays, dtypes, codecs and errors.

// Regions of arrays with one dimension.
#![allow(clippy::single_range_in_vec_init)]

use half::f16;
use ndarray::{ArrayD, IxDyn, arr1, arr2};
use num_complex::Complex;
use serde_json::{Value, json};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use unishape::{DType, Tensor};
use unishape_files::{ArraySource, FileError};
use unishape_zarr::{Format, StoreWriter, ZarrArray, array_names};

/// Writes a file of metadata.
fn write_json(path: &Path, value: &Value) {
    fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    fs::write(path, value.to_string()).expect("written");
}

fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON")
}

/// A row of numbers that every dtype of Zarr represents.
fn row(dtype: DType, numbers: &[u8]) -> Tensor {
    let row = arr1(numbers).into_dyn();
    match dtype {
        DType::Bool => row.mapv(|x| x != 0).into(),
        DType::I8 => row.mapv(|x| x as i8).into(),
        DType::I16 => row.mapv(i16::from).into(),
        DType::I32 => row.mapv(i32::from).into(),
        DType::I64 => row.mapv(i64::from).into(),
        DType::U8 => row.into(),
        DType::U16 => row.mapv(u16::from).into(),
        DType::U32 => row.mapv(u32::from).into(),
        DType::U64 => row.mapv(u64::from).into(),
        DType::F16 => row.mapv(f16::from).into(),
        DType::F32 => row.mapv(f32::from).into(),
        DType::F64 => row.mapv(f64::from).into(),
        DType::C64 => row.mapv(|x| Complex::new(f32::from(x), -f32::from(x))).into(),
        DType::C128 => row.mapv(|x| Complex::new(f64::from(x), -f64::from(x))).into(),
        DType::BF16 | DType::Str => panic!("no dtype of Zarr"),
    }
}

/// All elements of an array.
fn read(array: &ZarrArray) -> Tensor {
    let all: Vec<_> = array.header().shape.iter().map(|&size| 0..size).collect();
    array.region(&all).expect("read").view().to_owned().expect("memory")
}

/// A store with arrays of zeros.
fn store_of(path: &Path, format: Format, names: &[&str]) {
    let mut store = StoreWriter::create(path, format).expect("a store");
    for name in names {
        store.add_array(name, DType::U8, &[2], &[2]).expect("an array");
    }
    store.commit(true).expect("a store");
}

/// An error, without the directory of the store.
fn problem<T>(path: &Path, result: Result<T, FileError>) -> String {
    let Err(error) = result else { panic!("no error") };
    let parent = path.parent().expect("a directory");
    error.to_string().replace(&format!("{}/", parent.display()), "")
}

#[test]
fn arrays_of_a_store_have_names() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("s.zarr");
    for format in [Format::V2, Format::V3] {
        store_of(&path, format, &["b", "a", "g/h/c", "g/d"]);
        // Neither hidden directories nor those without metadata are nodes.
        store_of(&path.join(".hidden"), format, &["e"]);
        fs::create_dir_all(path.join("other/f")).expect("a directory");
        assert_eq!(array_names(&path).expect("names"), ["a", "b", "g/d", "g/h/c"]);
        for name in ["a", "g/h/c", "/g/d/"] {
            assert_eq!(ZarrArray::open(&path, Some(name)).expect("an array").header().shape, [2]);
        }
        assert_eq!(
            problem(&path, ZarrArray::open(&path, None)),
            "s.zarr: name one of its arrays, as in s.zarr:a; it has a, b, g/d, g/h/c"
        );
        assert_eq!(
            problem(&path, ZarrArray::open(&path, Some("g"))),
            "s.zarr: there is no array 'g'; it has a, b, g/d, g/h/c"
        );
        store_of(&path, format, &["g/only"]);
        assert!(ZarrArray::open(&path, None).is_ok());
        // An array may be a store of its own.
        let array = ZarrArray::open(&path.join("g/only"), None).expect("an array");
        assert_eq!(array.header().shape, [2]);
        store_of(&path, format, &[]);
        assert_eq!(
            problem(&path, ZarrArray::open(&path, None)),
            "s.zarr: this directory is no Zarr store, or has no arrays"
        );
        assert_eq!(
            problem(&path, ZarrArray::open(&path, Some("a"))),
            "s.zarr: there is no array 'a'; it has no arrays"
        );
    }
    let names: Vec<String> = (10..22).map(|number| format!("x{number}")).collect();
    store_of(&path, Format::V3, &names.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(
        problem(&path, ZarrArray::open(&path, Some("a"))),
        "s.zarr: there is no array 'a'; it has x10, x11, x12, x13, x14, x15, x16, x17, x18, x19 and 2 more"
    );
}

#[test]
fn metadata_is_that_of_the_format() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("s.zarr");
    let write = |format| {
        let mut store = StoreWriter::create(&path, format).expect("a store");
        store.add_array("g/a", DType::F32, &[4, 3], &[2, 3]).expect("an array");
        store.add_array("g/b", DType::U8, &[5], &[5]).expect("an array");
        store.commit(true).expect("a store");
    };
    write(Format::V3);
    let group = json!({"zarr_format": 3, "node_type": "group", "attributes": {}});
    let array = json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": [4, 3],
        "data_type": "float32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0.0,
        "codecs": [
            {"name": "bytes", "configuration": {"endian": "little"}},
            {"name": "zstd", "configuration": {"level": 1, "checksum": false}},
        ],
        "dimension_names": ["dim_0", "dim_1"],
        "attributes": {},
    });
    assert_eq!(read_json(&path.join("g/zarr.json")), group);
    assert_eq!(read_json(&path.join("g/a/zarr.json")), array);
    // Elements of one byte have no byte order.
    let bytes = read_json(&path.join("g/b/zarr.json"));
    assert_eq!(bytes["codecs"][0], json!({"name": "bytes", "configuration": {}}));
    let root = read_json(&path.join("zarr.json"));
    assert_eq!(root["node_type"], "group");
    let all = json!({"g": group, "g/a": array, "g/b": bytes});
    assert_eq!(root["consolidated_metadata"]["metadata"], all);

    write(Format::V2);
    let array = json!({
        "zarr_format": 2,
        "shape": [4, 3],
        "chunks": [2, 3],
        "dtype": "<f4",
        "compressor": {"id": "zstd", "level": 1},
        "fill_value": null,
        "order": "C",
        "filters": null,
        "dimension_separator": ".",
    });
    assert_eq!(read_json(&path.join("g/.zgroup")), json!({"zarr_format": 2}));
    assert_eq!(read_json(&path.join("g/a/.zarray")), array);
    assert_eq!(read_json(&path.join("g/a/.zattrs")), json!({"_ARRAY_DIMENSIONS": ["dim_0", "dim_1"]}));
    let metadata = read_json(&path.join(".zmetadata"))["metadata"].clone();
    assert_eq!(metadata["g/a/.zarray"], array);
    let keys: Vec<&String> = metadata.as_object().expect("an object").keys().collect();
    assert_eq!(keys, [".zgroup", "g/.zgroup", "g/a/.zarray", "g/a/.zattrs", "g/b/.zarray", "g/b/.zattrs"]);
    assert!(!path.join("zarr.json").exists());
}

#[test]
fn every_dtype_of_zarr_is_written_and_read() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("s.zarr");
    for &dtype in DType::ALL {
        for format in [Format::V2, Format::V3] {
            let mut store = StoreWriter::create(&path, format).expect("a store");
            let array = store.add_array("a", dtype, &[4], &[2]);
            if matches!(dtype, DType::BF16 | DType::Str) {
                let expected = format!("s.zarr: Zarr has no dtype {dtype}; convert the array to float32");
                assert_eq!(problem(&path, array), expected);
                continue;
            }
            let numbers = row(dtype, &[0, 1]);
            let array = array.expect("an array");
            array.write_chunk(&[0], &numbers).expect("written");
            if format == Format::V2 {
                array.chunk(&[1]).finish().expect("written");
            }
            store.commit(true).expect("a store");
            // Only version 3 has a fill value, which a chunk of zeros without a file has.
            assert_eq!(path.join("a/1").exists(), format == Format::V2);
            assert!(!path.join("a/c/1").exists());
            let array = ZarrArray::open(&path, None).expect("an array");
            let part = |range| array.region(&[range]).expect("read").view().to_owned().expect("memory");
            assert_eq!(part(0..2), numbers, "{dtype:?} {format:?}");
            assert_eq!(array.header().descr.dtype(), Some(dtype));
            // Chunks without a file have the fill value, also block by block.
            let mut blocks = array.blocks(&[2..4]).expect("opened").expect("blocks");
            let zeros = blocks.read(&[2..4]).expect("read");
            assert_eq!(zeros, part(2..4));
            assert_eq!(zeros, row(dtype, &[0, 0]));
        }
    }
}

/// An array of version 2 with one chunk.
fn array_of(path: &Path, dtype: &str, compressor: &Value, chunk: &[u8]) {
    let metadata = json!({
        "zarr_format": 2, "shape": [3], "chunks": [3], "dtype": dtype, "compressor": compressor,
        "fill_value": 7, "order": "C", "filters": null,
    });
    write_json(&path.join(".zarray"), &metadata);
    fs::write(path.join("0"), chunk).expect("written");
}

#[test]
fn codecs_of_others_are_read() {
    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};
    use std::io::Write;
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("s.zarr");
    let big = [0u8, 1, 0, 2, 1, 0];
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&big).expect("written");
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
    zlib.write_all(&big).expect("written");
    let (gzip, zlib) = (gzip.finish().expect("written"), zlib.finish().expect("written"));
    for (compressor, chunk) in [
        (Value::Null, &big[..]),
        (json!({"id": "gzip", "level": 1}), &gzip),
        (json!({"id": "zlib", "level": 1}), &zlib),
    ] {
        array_of(&path, ">i2", &compressor, chunk);
        let array = ZarrArray::open(&path, None).expect("an array");
        let expected = Tensor::from(arr1(&[1i16, 2, 256]));
        assert_eq!(read(&array), expected, "{compressor}");
        assert!(array.reads_blocks());
        let mut blocks = array.blocks(&[0..3]).expect("opened").expect("blocks");
        assert_eq!(blocks.read(&[0..1]).expect("read"), arr1(&[1i16]).into(), "{compressor}");
        assert_eq!(blocks.read(&[2..3]).expect("read"), arr1(&[256i16]).into(), "{compressor}");
    }
    // Chunks of Blosc are decoded as a whole.
    let blosc = json!({"id": "blosc", "cname": "lz4", "clevel": 1, "shuffle": 0, "blocksize": 0});
    array_of(&path, "<i2", &blosc, &[]);
    fs::remove_file(path.join("0")).expect("removed");
    let array = ZarrArray::open(&path, None).expect("an array");
    assert!(!array.reads_blocks() && array.blocks(&[0..3]).expect("opened").is_none());
    assert_eq!(read(&array), arr1(&[7i16; 3]).into());
    assert_eq!(array.chunk_shape(), Some(&[3][..]));
}

#[test]
fn what_is_not_supported_is_an_error() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("s.zarr");
    let metadata = |shape: Value, chunks: Value, dtype: &str| {
        let metadata = json!({
            "zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": dtype, "compressor": null,
            "fill_value": 0, "order": "C", "filters": null,
        });
        write_json(&path.join(".zarray"), &metadata);
        ZarrArray::open(&path, None)
    };
    // Chunks of 2 GiB are read, and those that are an element longer are not.
    assert!(metadata(json!([1u64 << 31]), json!([1u64 << 31]), "|u1").is_ok());
    let error = problem(&path, metadata(json!([1u64 << 31]), json!([(1u32 << 31) + 1]), "|u1"));
    assert_eq!(error, "s.zarr: chunks of [2147483649] are larger than 2 GiB; use smaller chunks");
    assert!(metadata(json!([1 << 30]), json!([1 << 30]), "<i2").is_ok());
    assert!(metadata(json!([1 << 30]), json!([1 << 30]), "<i4").is_err());
    // An array without elements has no chunk.
    assert!(metadata(json!([0, 5]), json!([1u64 << 31, 5]), "<i4").is_ok());
    let error = problem(&path, metadata(json!([3]), json!([3]), "<M8[s]"));
    assert!(error.starts_with("s.zarr: "), "{error}");
    write_json(&path.join(".zarray"), &json!({"zarr_format": 2}));
    assert!(matches!(ZarrArray::open(&path, None), Err(FileError::Content(_))));
    let missing = folder.path().join("missing.zarr");
    assert!(matches!(ZarrArray::open(&missing, None), Err(FileError::Io(_))));
    assert!(matches!(array_names(&missing), Err(FileError::Io(_))));
}

#[test]
fn errors_of_the_system_name_the_array() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("s.zarr");
    let mut store = StoreWriter::create(&path, Format::V3).expect("a store");
    let array = store.add_array("a", DType::U8, &[2, 4], &[1, 4]).expect("an array");
    array.write_chunk(&[0, 0], &Tensor::from(arr2(&[[1u8, 2, 3, 4]]))).expect("written");
    store.commit(false).expect("a store");
    // A directory can be opened, but not read.
    let chunk = path.join("a/c/0/0");
    fs::remove_file(&chunk).expect("removed");
    fs::create_dir(&chunk).expect("a directory");
    let array = ZarrArray::open(&path, None).expect("an array");
    let mut blocks = array.blocks(&[0..1, 0..4]).expect("opened").expect("blocks");
    let error = blocks.read(&[0..1, 0..4]);
    assert!(matches!(error, Err(FileError::Io(_))));
    assert_eq!(problem(&path, error), "s.zarr:a: Is a directory (os error 21)");
    assert!(matches!(array.region(&[0..1, 0..4]), Err(FileError::Io(_))));
    // A file cannot have files in it.
    fs::remove_dir_all(path.join("a/c")).expect("removed");
    fs::write(path.join("a/c"), "").expect("written");
    assert_eq!(problem(&path, array.blocks(&[0..1, 0..4])), "s.zarr:a: Not a directory (os error 20)");
}

#[test]
fn regions_that_do_not_exist_are_panics() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("s.zarr");
    let mut store = StoreWriter::create(&path, Format::V3).expect("a store");
    let array = store.add_array("a", DType::U8, &[3, 4], &[3, 4]).expect("an array");
    let panics = |call: &dyn Fn()| catch_unwind(AssertUnwindSafe(call)).is_err();
    let zeros = |shape: &[usize]| Tensor::from(ArrayD::<u8>::zeros(IxDyn(shape)));
    for shape in [&[4, 4][..], &[3], &[3, 5]] {
        assert!(panics(&|| drop(array.write_chunk(&[0, 0], &zeros(shape)))), "{shape:?}");
    }
    // Before the last block, and of another shape than the elements.
    let mut chunk = array.chunk(&[0, 0]);
    chunk.write(&[1..2, 0..4], &zeros(&[1, 4])).expect("written");
    assert!(catch_unwind(AssertUnwindSafe(|| chunk.write(&[0..1, 0..4], &zeros(&[1, 4])))).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| chunk.write(&[2..3, 0..4], &zeros(&[1, 3])))).is_err());
    drop(chunk);
    assert_eq!(
        problem(&path, array.write_chunk(&[0, 0], &Tensor::from(arr2(&[[1i8]])))),
        "s.zarr: elements of int8 for an array of uint8"
    );
    store.commit(false).expect("a store");
    let array = ZarrArray::open(&path, None).expect("an array");
    #[allow(clippy::reversed_empty_ranges)]
    for region in [&[0..4, 0..4][..], &[0..3, 2..5], &[2..1, 0..4], &[0..3], &[0..3, 0..4, 0..1]] {
        assert!(panics(&|| drop(array.region(region))), "{region:?}");
        assert!(panics(&|| drop(array.blocks(region))), "{region:?}");
    }
    for region in [[0..3, 0..4], [3..3, 0..4], [1..2, 4..4]] {
        assert!(!panics(&|| drop(array.region(&region))), "{region:?}");
    }
}

#[test]
fn a_store_appears_when_it_is_complete() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("s.zarr");
    let entries = || {
        let names =
            fs::read_dir(&folder).expect("a directory").map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().expect("UTF-8")).collect();
        names.sort();
        names
    };
    let mut store = StoreWriter::create(&path, Format::V3).expect("a store");
    store.add_array("first", DType::U8, &[2], &[2]).expect("an array");
    // Beside its target, under another name.
    assert!(matches!(&entries()[..], [name] if name.starts_with(".unishape-")));
    store.commit(false).expect("a store");
    assert_eq!(entries(), ["s.zarr"]);
    // Not private, as temporary directories are.
    let new = folder.path().join("new");
    fs::create_dir(&new).expect("a directory");
    let permissions = |path: &Path| fs::metadata(path).expect("a directory").permissions();
    assert_eq!(permissions(&path), permissions(&new));
    fs::remove_dir(new).expect("removed");

    let mut store = StoreWriter::create(&path, Format::V3).expect("a store");
    store.add_array("second", DType::U8, &[2], &[2]).expect("an array");
    assert!(store.commit(false).is_err());
    assert_eq!(
        (entries(), array_names(&path).expect("names")),
        (vec!["s.zarr".into()], vec!["first".into()])
    );
    let mut store = StoreWriter::create(&path, Format::V3).expect("a store");
    store.add_array("second", DType::U8, &[2], &[2]).expect("an array");
    store.commit(true).expect("a store");
    assert_eq!(
        (entries(), array_names(&path).expect("names")),
        (vec!["s.zarr".into()], vec!["second".into()])
    );
}
