//! Files without NumPy: round trips, hand-written files, and damaged or hostile files.

use half::{bf16, f16};
use ndarray::{Array, ArrayD, ArrayViewD, Axis, IxDyn, Slice, arr0, arr1, arr2};
use num_complex::Complex;
use proptest::prelude::*;
use std::io::{self, Cursor, Seek, SeekFrom, Write};
use unishape::{DType, Rules, Tensor, TensorView};
use unishape_npy::{
    self as npy, Descr, Header, NpyError, NpzReader, NpzWriter, RawArray, WriteBroadcastError,
};

/// A tensor of a dtype with varied elements.
fn tensor(dtype: DType, shape: &[usize]) -> Tensor {
    fn make<T>(shape: &[usize], element: impl Fn(u64) -> T) -> ArrayD<T> {
        let mut number = 0u64;
        Array::from_shape_simple_fn(IxDyn(shape), || {
            number += 1;
            // Varies all bytes of an element.
            element(number.wrapping_mul(0x9E37_79B9_7F4A_7C15))
        })
    }
    match dtype {
        DType::F16 => make(shape, |n| f16::from_bits(n as u16 & 0x3FFF)).into(),
        DType::BF16 => make(shape, |n| bf16::from_bits(n as u16 & 0x3FFF)).into(),
        DType::F32 => make(shape, |n| n as f32).into(),
        DType::F64 => make(shape, |n| n as f64).into(),
        DType::I8 => make(shape, |n| n as i8).into(),
        DType::I16 => make(shape, |n| n as i16).into(),
        DType::I32 => make(shape, |n| n as i32).into(),
        DType::I64 => make(shape, |n| n as i64).into(),
        DType::U8 => make(shape, |n| n as u8).into(),
        DType::U16 => make(shape, |n| n as u16).into(),
        DType::U32 => make(shape, |n| n as u32).into(),
        DType::U64 => make(shape, |n| n).into(),
        DType::Bool => make(shape, |n| n % 3 == 0).into(),
        DType::Str => make(shape, |n| "ß😀x\0y".chars().take(n as usize % 6).collect::<String>())
            .mapv(|text| text.trim_end_matches('\0').to_string())
            .into(),
        DType::C64 => make(shape, |n| Complex::new(n as f32, n as i32 as f32)).into(),
        DType::C128 => make(shape, |n| Complex::new(n as f64, n as i32 as f64)).into(),
    }
}

/// Views of a tensor: as it is, reversed, with stride 2, transposed, stretched.
fn odd_views<'a>(tensor: &'a Tensor) -> Vec<TensorView<'a>> {
    fn odd<T>(view: ArrayViewD<'_, T>) -> Vec<ArrayViewD<'_, T>> {
        let mut reversed = view.clone();
        let mut strided = view.clone();
        for dim in 0..view.ndim() {
            reversed.slice_axis_inplace(Axis(dim), Slice::new(0, None, -1));
            strided.slice_axis_inplace(Axis(dim), Slice::new(0, None, 2));
        }
        let transposed = view.clone().reversed_axes();
        vec![view, reversed, strided, transposed]
    }
    macro_rules! each {
        ($($variant:ident)+) => {
            match tensor.view() {
                $(TensorView::$variant(view) => odd(view).into_iter().map(TensorView::$variant).collect::<Vec<_>>(),)+
            }
        };
    }
    let mut views = each!(F16 BF16 F32 F64 I8 I16 I32 I64 U8 U16 U32 U64 Bool Str C64 C128);
    let stretched: Vec<usize> = [3, 2].iter().chain(tensor.shape()).copied().collect();
    views.push(tensor.view().broadcast_to(&stretched).unwrap());
    views
}

fn npy_bytes<'a>(view: impl Into<TensorView<'a>>) -> Vec<u8> {
    let mut file = Vec::new();
    npy::write_to(&mut file, view).unwrap();
    file
}

/// A file with this header text and data.
fn file(version: u8, text: &[u8], data: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY".to_vec();
    file.extend([version, 0]);
    match version {
        1 => file.extend((text.len() as u16).to_le_bytes()),
        _ => file.extend((text.len() as u32).to_le_bytes()),
    }
    file.extend(text);
    file.extend(data);
    file
}

/// A file with a well-formed header of these values.
fn described(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    file(1, format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n").as_bytes(), data)
}

#[test]
fn every_dtype_shape_and_layout_round_trips() {
    let shapes: [&[usize]; 8] = [&[], &[0], &[1], &[7], &[3, 4], &[2, 0, 5], &[1, 3, 1], &[2, 3, 1, 2, 4]];
    for &dtype in DType::ALL {
        for shape in shapes {
            let tensor = tensor(dtype, shape);
            for view in odd_views(&tensor) {
                let file = npy_bytes(&view);
                let header = Header::of(&view).unwrap();
                let size = header.encoded_len().unwrap() + header.data_bytes().unwrap();
                assert_eq!(file.len() as u64, size, "{dtype} {shape:?}");
                assert_eq!(header.encoded_len().unwrap() % 64, 0);
                assert_eq!(npy::read_from(&file[..]).unwrap(), view.to_owned().unwrap(), "{dtype} {shape:?}");
            }
        }
    }
}

/// More elements than fit the buffers of a read or a write.
#[test]
fn long_arrays_round_trip() {
    for &dtype in DType::ALL {
        let tensor = tensor(dtype, &[50_001]);
        assert_eq!(npy::read_from(&npy_bytes(&tensor)[..]).unwrap(), tensor, "{dtype}");
    }
}

/// Elements that are larger than the buffers.
#[test]
fn long_strings_round_trip() {
    let tensor = Tensor::from(arr1(&["a".repeat(100_000), "b".into()]));
    assert_eq!(npy::read_from(&npy_bytes(&tensor)[..]).unwrap(), tensor);
}

/// Each string of a stretched dimension is measured once.
#[test]
fn the_longest_of_a_trillion_strings() {
    let words = Tensor::from(arr1(&["one".to_string(), "three".into()]));
    let view = words.view().broadcast_to(&[1 << (usize::BITS * 5 / 8), 2]).unwrap();
    assert_eq!(Header::of(&view).unwrap().descr.text(), "'<U5'");
}

/// A writer that counts the calls of `write`.
struct CountedWrites(usize);

impl Write for CountedWrites {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += 1;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn arrays_are_written_with_few_calls() {
    for tensor in [tensor(DType::F64, &[50_001]), tensor(DType::Str, &[50_001])] {
        let mut writes = CountedWrites(0);
        npy::write_to(&mut writes, &tensor).unwrap();
        let size = Header::of(&tensor.view()).unwrap().data_bytes().unwrap();
        assert!(writes.0 as u64 <= 2 + size / 60_000, "{} writes for {size} bytes", writes.0);
    }
}

/// BC-8: every bit is kept, also those of a NaN and the sign of a zero.
#[test]
fn bc8_every_bit_survives_npy() {
    fn bytes_after_header(tensor: &Tensor) -> Vec<u8> {
        let file = npy_bytes(tensor);
        file[128..].to_vec()
    }
    let singles = [0x7F80_0001u32, 0xFFC1_2345, 0x8000_0000, 0x0000_0001, 0x7FFF_FFFF];
    let doubles = [0x7FF0_0000_0000_0001u64, 0xFFF8_0000_DEAD_BEEF, 0x8000_0000_0000_0000, 1];
    let halves: Vec<u16> = (0..=u16::MAX).collect();
    let f32s = arr1(&singles.map(f32::from_bits));
    let f64s = arr1(&doubles.map(f64::from_bits));
    let tensors = [
        Tensor::from(f32s.clone()),
        Tensor::from(f64s.clone()),
        Tensor::from(f32s.mapv(|part| Complex::new(part, -part))),
        Tensor::from(f64s.mapv(|part| Complex::new(part, -part))),
        Tensor::from(Array::from_iter(halves.iter().map(|&bits| f16::from_bits(bits)))),
        Tensor::from(Array::from_iter(halves.iter().map(|&bits| bf16::from_bits(bits)))),
    ];
    for tensor in &tensors {
        let again = npy::read_from(&npy_bytes(tensor)[..]).unwrap();
        assert_eq!(bytes_after_header(&again), bytes_after_header(tensor), "{}", tensor.dtype());
    }
    let raw: Vec<u8> = singles.iter().flat_map(|bits| bits.to_le_bytes()).collect();
    assert_eq!(bytes_after_header(&tensors[0]), raw);
    let raw: Vec<u8> = halves.iter().flat_map(|bits| bits.to_le_bytes()).collect();
    assert_eq!(bytes_after_header(&tensors[4]), raw);
    assert_eq!(bytes_after_header(&tensors[5]), raw);
}

#[test]
fn hand_written_files_are_read() {
    let mut a_and_eszett = [0u8; 24];
    a_and_eszett[3] = b'a';
    a_and_eszett[12 + 1..12 + 4].copy_from_slice(&[1, 0xF6, 0x00]);
    let rows: Vec<(&str, Vec<u8>, Tensor)> = vec![
        ("big-endian", described("'>i2'", false, "(2,)", &[1, 2, 0xFF, 0xFE]), arr1(&[258i16, -2]).into()),
        ("little-endian", described("'<i2'", false, "(2,)", &[2, 1, 0xFE, 0xFF]), arr1(&[258i16, -2]).into()),
        (
            "Fortran order",
            described("'|u1'", true, "(2, 3)", &[1, 4, 2, 5, 3, 6]),
            arr2(&[[1u8, 2, 3], [4, 5, 6]]).into(),
        ),
        (
            "both",
            described("'>u2'", true, "(2, 2)", &[0, 1, 0, 3, 0, 2, 0, 4]),
            arr2(&[[1u16, 2], [3, 4]]).into(),
        ),
        (
            "complex, big-endian",
            described("'>c8'", false, "()", &[0x3F, 0x80, 0, 0, 0x40, 0, 0, 0]),
            arr0(Complex::new(1f32, 2.0)).into(),
        ),
        ("bfloat16", described("'|V2'", false, "(1,)", &[0x80, 0x3F]), arr1(&[bf16::ONE]).into()),
        ("bfloat16, big-endian", described("'>V2'", false, "(1,)", &[0x3F, 0x80]), arr1(&[bf16::ONE]).into()),
        (
            "bytes",
            described("'|S4'", false, "(2,)", b"ab\0\0\0\xc3\x9f\0"),
            arr1(&["ab".to_string(), "\0ß".into()]).into(),
        ),
        (
            "Unicode, big-endian",
            described("'>U3'", false, "(2,)", &a_and_eszett),
            arr1(&["a".to_string(), "\u{1F600}".into()]).into(),
        ),
        (
            "Python 2, another order of keys, a trailing byte",
            file(2, b"{u'shape' :(2L,),\n\t\"fortran_order\":False,'descr':'|i1'}\n", &[1, 2, 99]),
            arr1(&[1i8, 2]).into(),
        ),
        ("version 3", file(3, b"{'descr':'|b1','fortran_order':False,'shape':()}", &[1]), arr0(true).into()),
        ("no strings", described("'|S0'", false, "(0,)", &[]), ArrayD::<String>::default(vec![0]).into()),
        ("no elements", described("'<f8'", true, "(3, 0)", &[]), ArrayD::<f64>::zeros(vec![3, 0]).into()),
    ];
    for (what, file, tensor) in rows {
        assert_eq!(npy::read_from(&file[..]).expect(what), tensor, "{what}");
    }
}

#[test]
fn headers_have_the_bytes_of_numpy() {
    let header = |shape: Vec<usize>, descr: &str| {
        let header = Header { descr: Descr::parse(descr).unwrap(), fortran_order: false, shape };
        let mut file = Vec::new();
        header.write(&mut file).unwrap();
        assert_eq!(file.len() as u64, header.encoded_len().unwrap());
        assert_eq!(file.len() % 64, 0);
        assert_eq!(Header::read(&mut &file[..]).unwrap(), header);
        file
    };
    assert!(
        header(vec![3, 4], "'<f8'").starts_with(
            b"\x93NUMPY\x01\0\x76\0{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }  "
        )
    );
    assert!(header(vec![5], "'|b1'").windows(16).any(|part| part == b"'shape': (5,), }"));
    assert!(header(vec![], "'|b1'").windows(14).any(|part| part == b"'shape': (), }"));
    let fields: Vec<String> = (0..5000).map(|number| format!("('f{number}', '<f4')")).collect();
    assert!(header(vec![2], &format!("[{}]", fields.join(", "))).starts_with(b"\x93NUMPY\x02\0"));
    assert!(header(vec![2], "[('größe', '<f4')]").starts_with(b"\x93NUMPY\x03\0"));
    // All text lengths around a multiple of the alignment.
    for length in 0..130 {
        header(vec![], &format!("[('{}', '<f4')]", "x".repeat(length)));
    }
}

/// Headers at the limits are read and written; headers just beyond them are errors.
#[test]
fn headers_are_limited() {
    // NumPy adds a whole alignment of padding where none is needed.
    let of_length = |name: usize| {
        let descr = Descr::parse(&format!("[('{}', '<f4')]", "x".repeat(name))).unwrap();
        Header { descr, fortran_order: false, shape: vec![] }
    };
    let file_length = |name: usize| of_length(name).encoded_len().map_err(|error| error.to_string());
    let unpadded = 10 + "{'descr': [('', '<f4')], 'fortran_order': False, 'shape': (), }\n".len();
    assert_eq!(file_length(127 - unpadded), Ok(128));
    assert_eq!(file_length(128 - unpadded), Ok(192));
    // Version 1.0 has two bytes for the length, version 2.0 four.
    let starts = |name: usize| {
        let mut file = Vec::new();
        of_length(name).write(&mut file).unwrap();
        file[6..12].to_vec()
    };
    assert_eq!(starts(65535 - unpadded)[..4], [1, 0, 0xF6, 0xFF]);
    assert_eq!(starts(65536 - unpadded), [2, 0, 0x34, 0, 1, 0]);
    let longest = (1 << 20) - unpadded;
    assert_eq!(file_length(longest - 3), Ok(1 << 20));
    let message = "the header has 1048628 bytes";
    assert!(file_length(longest).is_err_and(|error| error.contains(message)));
    let text = |length: usize| {
        let mut text = b"{'descr': '|u1', 'fortran_order': False, 'shape': ()}".to_vec();
        text.resize(length, b' ');
        text
    };
    assert!(npy::read_from(&file(2, &text(1 << 20), &[7])[..]).is_ok());
    assert!(npy::read_from(&file(2, &text((1 << 20) + 1), &[7])[..]).is_err());

    let of_rank =
        |rank: usize| Header { descr: Descr::of(DType::U8), fortran_order: true, shape: vec![1; rank] };
    let mut file = Vec::new();
    of_rank(1024).write(&mut file).unwrap();
    assert_eq!(Header::read(&mut &file[..]).unwrap(), of_rank(1024));
    assert!(of_rank(1025).encoded_len().is_err_and(|error| error.to_string().contains("1024 dimensions")));

    // The dictionary, fifteen records in lists, and a shape: 32 nested brackets.
    let nested = |shape: &str| {
        let descr = format!("{}'<f4', {shape}{}", "[('x', ".repeat(15), ")]".repeat(15));
        Header::read(&mut &described(&descr, false, "()", &[])[..]).map(|header| header.item_size())
    };
    assert_eq!(nested("(2, 3)").unwrap(), 24);
    assert!(nested("((2,), 3)").is_err());
    let deeper = format!("{}'<f4'{}", "[('x', ".repeat(16), ")]".repeat(16));
    assert!(Header::read(&mut &described(&deeper, false, "()", &[])[..]).is_err());
}

/// NumPy encodes names beyond ASCII as Latin-1 in the older versions.
#[test]
fn names_in_older_versions_are_latin_1() {
    for version in [1, 2] {
        let text = b"{'descr': [('gr\xf6\xdfe', '<f4')], 'fortran_order': False, 'shape': ()}";
        let header = Header::read(&mut &file(version, text, &[])[..]).unwrap();
        assert_eq!(header.descr.text(), "[('größe', '<f4')]");
    }
}

#[test]
fn descriptions_round_trip() {
    for &dtype in DType::ALL {
        let descr = Descr::of(dtype);
        assert_eq!(descr.dtype(), Some(dtype));
        assert_eq!(Descr::parse(descr.text()).unwrap(), descr, "{dtype}");
    }
}

#[test]
fn descriptions_have_item_sizes_and_dtypes() {
    let nested = "[('a', [('b', '<f4', (2, 2)), ('c', '|b1')], 3), (('title', 'd'), '<M8[25us]')]";
    let rows = [
        ("'<f2'", 2, Some(DType::F16)),
        ("'|b1'", 1, Some(DType::Bool)),
        ("'=u8'", 8, Some(DType::U64)),
        ("'<c16'", 16, Some(DType::C128)),
        ("'<U7'", 28, Some(DType::Str)),
        ("'|a7'", 7, Some(DType::Str)),
        ("'|V7'", 7, None),
        ("'<f16'", 16, None),
        ("'<c32'", 32, None),
        ("'<M8[ns]'", 8, None),
        ("'>m8'", 8, None),
        ("[('x', '<f4'), ('y', '<i2', (3,)), ('', '|V3'), ]", 13, None),
        (nested, 3 * 17 + 8, None),
        ("('<f4', (2,))", 8, None),
        ("[]", 0, None),
    ];
    for (text, size, dtype) in rows {
        let descr = Descr::parse(text).expect(text);
        assert_eq!((descr.text(), descr.item_size(), descr.dtype()), (text, size, dtype));
    }
}

/// Invalid headers and data, each with a part of its error message.
#[test]
fn invalid_files_are_errors() {
    let deep = format!("{{'descr': {}", "[('x', ".repeat(500));
    let good = "'descr': '<f8', 'fortran_order': False";
    let with = |rest: &str| file(1, format!("{{{good}, {rest}").as_bytes(), &[0; 64]);
    let descr = |descr: &str| described(descr, false, "(2,)", &[0; 64]);
    let mut rows: Vec<(Vec<u8>, &str)> = vec![
        (b"".to_vec(), "not an .npy file"),
        (b"\x93NUM".to_vec(), "not an .npy file"),
        (b"PK\x03\x04".to_vec(), "read it as .npz"),
        (b"\x80\x04\x95 pickle".to_vec(), "not an .npy file"),
        (b"\x93NUMPY\x01".to_vec(), "ends inside its header"),
        (b"\x93NUMPY\x01\0\x76".to_vec(), "ends inside its header"),
        (b"\x93NUMPY\x01\0\x76\0{'descr'".to_vec(), "ends inside its header"),
        (b"\x93NUMPY\x04\0".to_vec(), "version 4.0"),
        (b"\x93NUMPY\x01\x01".to_vec(), "version 1.1"),
        (b"\x93NUMPY\x02\0\xff\xff\xff\xff{".to_vec(), "the header has 4294967295 bytes"),
        (file(1, b"", b""), "'{' is expected, but the header ends here"),
        (file(3, b"{'descr': '\xff'}", b""), "byte 11 of the header is not UTF-8"),
        (file(1, b"[1, 2]", b""), "'{' is expected here, not '['"),
        (file(1, b"{}", b""), "no 'descr'"),
        (with("}"), "no 'shape'"),
        (file(1, b"{'descr': '<f8', 'shape': ()}", b""), "no 'fortran_order'"),
        (with("'shape': (), 'shape': ()}"), "'shape' twice"),
        (with("'descr': '<f8', 'shape': ()}"), "'descr' twice"),
        (with("'fortran_order': True, 'shape': ()}"), "'fortran_order' twice"),
        (with("'shape': (), 'size': 3}"), "an unknown key 'size'"),
        (with("3: 4}"), "a string is expected here, not '3'"),
        (with("'shape' ()}"), "':' is expected here, not '('"),
        (with("'shape': (2 3)}"), "',' or ')' is expected here, not '3'"),
        (with("'shape': (2, 3}"), "',' or ')' is expected here, not '}'"),
        (with("'shape': (2, 3)"), "',' or '}' is expected, but the header ends here"),
        (with("'shape': (,)}"), "an integer is expected here, not ','"),
        (with("'shape': (2, -3)}"), "cannot be negative"),
        (with("'shape': (2.5,)}"), "not an integer"),
        (with("'shape': (0x10,)}"), "not an integer"),
        (with("'shape': (010,)}"), "cannot begin with 0"),
        (with("'shape': (None,)}"), "an integer is expected here, not 'N'"),
        (with("'shape': (True,)}"), "an integer is expected here, not 'T'"),
        (with("'shape': (99999999999999999999999,)}"), "the largest size"),
        (with("'shape': [2]}"), "a tuple of sizes"),
        (with("'shape': 2}"), "a tuple of sizes"),
        (with("'shape': (2)}"), "(2) is not a tuple; write (2,)"),
        (with(&format!("'shape': ({})}}", "1,".repeat(2000))), "more than 1024 dimensions"),
        (with("'shape': (2,)} {}"), "unexpected text after the header's dictionary"),
        (with("'shape': (2,)}\0\0\0"), "unexpected text after the header's dictionary"),
        (with("'shape': (4294967296, 4294967296)}"), "larger than this machine can address"),
        (with("'shape': (2305843009213693952,)}"), "larger than this machine can address"),
        (with("'shape': (0, 9223372036854775808, 4)}"), "larger than this machine can address"),
        (file(1, b"{'descr': '<f8', 'fortran_order': 0}", b""), "True or False is expected here"),
        (file(1, b"{'descr': '<f8', 'fortran_order': Falsehood}", b""), "True or False is expected here"),
        (file(1, b"{'descr': '<f8' 'fortran", b""), "',' or '}' is expected here"),
        (file(1, b"{'descr", b""), "ends inside a string"),
        (file(1, b"{'descr': '\\N{BULLET}'}", b""), "unknown escape \\N"),
        (file(1, deep.as_bytes(), b""), "more than 32 deep"),
        (file(1, format!("{{'descr': {}", "(".repeat(60000)).as_bytes(), b""), "more than 32 deep"),
        (descr("'|O'"), "pickled Python objects"),
        (descr("'O8'"), "pickled Python objects"),
        (descr("[('x', '<f4'), ('y', [('z', '|O')])]"), "pickled Python objects"),
        (descr("''"), "it is empty"),
        (descr("'<'"), "it is empty"),
        (descr("'<f'"), "write a byte order, a kind and a size"),
        (descr("'<f3'"), "NumPy has no such size of this kind"),
        (descr("'|b2'"), "NumPy has no such size of this kind"),
        (descr("'<q8'"), "NumPy has no such kind"),
        (descr("'<f8[ns]'"), "only dates and time spans"),
        (descr("'<M8[ns'"), "only dates and time spans"),
        (descr("'<U99999999999999999999'"), "larger than this machine can address"),
        (descr("'<U9223372036854775807'"), "larger than this machine can address"),
        (descr("[('x', '<f8', (4294967296, 4294967296))]"), "larger than this machine can address"),
        (descr("[('x', '|V18446744073709551615'), ('y', '|u1')]"), "larger than this machine can address"),
        (descr("[('x',)]"), "a name and a type"),
        (descr("[('x', '<f4', 2, 3)]"), "')' is expected after a field's name, type and shape"),
        (descr("[(('t', 'x', 'y'), '<f4')]"), "a title and a name"),
        (descr("['<f4']"), "'(' is expected here"),
        (descr("('<f4',)"), "a type and its shape"),
        (descr("7"), "a dtype: a string like '<f8'"),
        (descr("None"), "a dtype: a string like '<f8'"),
        (descr("{'names': []}"), "a dtype: a string like '<f8'"),
        (descr("'<M8[ns]'"), "convert them to another dtype"),
        (descr("'<f16'"), "convert them to another dtype"),
        (descr("'|V3'"), "convert them to another dtype"),
        (descr("[('x', '<f4')]"), "convert them to another dtype"),
        (described("'|S0'", false, "(1152921504606846976,)", b""), "convert them to another dtype"),
    ];
    rows.extend([
        (described("'<f8'", false, "(2, 3)", &[0; 47]), "promises 48 bytes of data, the file has 47"),
        (
            described("'<f8'", false, "(1152921504606846976,)", &[0; 200]),
            "promises 9223372036854775808 bytes of data, the file has 200",
        ),
        (
            described("'<U2305843009213693951'", false, "(2,)", &[0; 200]),
            "promises 18446744073709551608 bytes of data, the file has 200",
        ),
        (described("'|b1'", false, "(2, 2)", &[1, 0, 2, 0]), "element [1, 0]: a bool is 0 or 1, not 2"),
        (described("'|b1'", true, "(2, 2)", &[1, 0, 2, 0]), "element [0, 1]: a bool is 0 or 1, not 2"),
        (described("'<U1'", false, "(2,)", &[65, 0, 0, 0, 0, 0xD8, 0, 0]), "element [1]: code point 0xd800"),
        (described("'<U1'", false, "()", &[0xFF; 4]), "element []: code point 0xffffffff"),
        (described("'|S2'", false, "(2,)", b"ab\xffc"), "element [1]: invalid UTF-8 from byte 0"),
    ]);
    let mut failures = Vec::new();
    for (file, part) in &rows {
        let start = String::from_utf8_lossy(&file[..file.len().min(100)]).into_owned();
        match npy::read_from(&file[..]) {
            Ok(_) => failures.push(format!("{start:?}\n  was read; expected: {part}")),
            Err(error) if !is_expected(&error.to_string(), part) => {
                failures.push(format!("{start:?}\n  message:  {error}\n  expected: {part}"));
            }
            Err(_) => {}
        }
    }
    assert!(failures.is_empty(), "{} of {} rows:\n{}", failures.len(), rows.len(), failures.join("\n"));
}

#[test]
fn a_string_cannot_end_in_nul() {
    let words = arr2(&[["a".to_string(), "b".into()], ["c\0".into(), "d".into()]]);
    let error = npy::write_to(Vec::new(), words.view()).unwrap_err();
    assert!(error.to_string().starts_with("element [1, 0]: a NumPy string cannot end in NUL"), "{error}");
}

#[test]
fn files_are_replaced_atomically() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("array.npy");
    let (old, new) = (Tensor::from(arr1(&[1.0, 2.0])), Tensor::from(arr1(&[3u8])));
    npy::write(&path, &old).unwrap();
    npy::write(&path, arr1(&["\0".to_string()]).view()).unwrap_err();
    assert_eq!(npy::read(&path).unwrap(), old);
    npy::write(&path, &new).unwrap();
    assert_eq!(npy::read(&path).unwrap(), new);
    let names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["array.npy"]);

    let missing = folder.path().join("no folder").join("array.npy");
    for error in [npy::write(&missing, &new).unwrap_err(), npy::read(&missing).unwrap_err()] {
        assert!(error.to_string().contains("no folder"), "{error}");
        assert!(std::error::Error::source(&error).is_some());
    }
    std::fs::write(&path, described("'<f8'", false, "(99,)", &[0; 16])).unwrap();
    let error = npy::read(&path).unwrap_err().to_string();
    assert!(
        error.contains("array.npy") && error.contains("promises 792 bytes of data, the file has 16"),
        "{error}"
    );
}

#[cfg(unix)]
#[test]
fn links_permissions_and_devices_are_respected() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("array.npy"), folder.path().join("link.npy"));
    let tensor = Tensor::from(arr0(1u8));
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    std::fs::write(folder.path().join("ordinary"), b"").unwrap();
    npy::write(&path, &tensor).unwrap();
    assert_eq!(mode(&path), mode(&folder.path().join("ordinary")));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&path, &link).unwrap();
    npy::write(&link, &tensor).unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(mode(&path), 0o640);
    npy::write("/dev/null", &tensor).unwrap();
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
}

/// Reads an array into memory, and maps it.
#[allow(unsafe_code)]
fn raw_arrays(path: &std::path::Path) -> [Result<RawArray, NpyError>; 2] {
    // Safety: the tests drop the array before they change the file, and no one else knows it.
    [RawArray::read(path), unsafe { RawArray::map(path) }]
}

/// A tensor becomes the raw array of the file that it would be written to.
#[test]
fn raw_arrays_of_tensors_are_those_of_their_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    for dtype in DType::ALL.iter().copied().filter(|&dtype| dtype != DType::BF16) {
        for shape in [&[3, 2][..], &[], &[0, 2]] {
            let tensor = tensor(dtype, shape);
            npy::write(&path, &tensor).unwrap();
            let [of_file, of_tensor] =
                [RawArray::read(&path), RawArray::from_tensor("x", &tensor)].map(Result::unwrap);
            assert_eq!(of_tensor.header(), of_file.header(), "{dtype:?} {shape:?}");
            assert_eq!(of_tensor.data(), of_file.data(), "{dtype:?} {shape:?}");
            assert_eq!(of_tensor.path(), std::path::Path::new("x"));
        }
    }
}

/// A raw array broadcasts to the same bytes as the array that is read.
#[test]
fn raw_arrays_broadcast_as_tensors_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    let bytes: Vec<u8> = (0..49).collect();
    for (fortran, from, shape) in [
        (false, "(2, 1, 3)", &[4, 2, 5, 3][..]),
        (true, "(2, 1, 3)", &[4, 2, 5, 3]),
        (true, "(2, 3, 4)", &[2, 3, 4]),
        (false, "(3, 1)", &[3, 7]),
        (false, "()", &[2, 2]),
        (false, "(1, 0)", &[3, 0]),
        (false, "(0, 3)", &[0, 3]),
    ] {
        for after in [0, 1] {
            let header = Header::read(&mut &described("'>u2'", fortran, from, &[])[..]).unwrap();
            let promised = header.data_bytes().unwrap() as usize;
            let file = described("'>u2'", fortran, from, &bytes[..promised + after]);
            std::fs::write(&path, &file).unwrap();
            let [memory, mapped] = raw_arrays(&path).map(Result::unwrap);
            assert_eq!((mapped.header(), mapped.path()), (&header, path.as_path()));
            assert_eq!(mapped.data(), &bytes[..promised]);
            let mut stretched = Vec::new();
            mapped.write_broadcast(Rules::STANDARD, shape, &mut stretched).unwrap();
            let mut from_memory = Vec::new();
            memory.write_broadcast(Rules::STANDARD, shape, &mut from_memory).unwrap();
            assert_eq!(from_memory, stretched);
            let header = mapped.broadcast_header(shape);
            assert_eq!(stretched.len() as u64, header.data_bytes().unwrap());
            let tensor = npy::read(&path).unwrap();
            assert_eq!(npy::read_from(&file[..]).unwrap(), tensor);
            let view = tensor.view().broadcast_to(shape).unwrap();
            let again = described("'>u2'", false, &tuple(shape), &stretched);
            assert_eq!(npy::read_from(&again[..]).unwrap(), view.to_owned().unwrap(), "{from} to {shape:?}");
        }
    }
}

/// Whether a message has this part. With 32 bits, sizes of 2³² and more are the first problem of a file.
fn is_expected(message: &str, part: &str) -> bool {
    let is_narrow = cfg!(target_pointer_width = "32");
    message.contains(part)
        || is_narrow && ["the largest size", "larger than this machine"].iter().any(|of| message.contains(of))
}

fn tuple(shape: &[usize]) -> String {
    format!("({})", shape.iter().map(|size| format!("{size},")).collect::<String>())
}

#[test]
fn raw_arrays_that_cannot_be_broadcast_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    for found in [0, 1, 15] {
        std::fs::write(&path, described("'<f8'", false, "(2,)", &vec![0; found])).unwrap();
        let expected = format!(
            "{}: truncated: the header promises 16 bytes of data, the file has {found}; copy or save it again",
            path.display()
        );
        for array in raw_arrays(&path) {
            assert_eq!(array.unwrap_err().to_string(), expected);
        }
        assert_eq!(npy::read(&path).unwrap_err().to_string(), expected);
    }
    std::fs::write(&path, described("'<f8'", false, "(2,)", &[0; 16])).unwrap();
    let [mapped, _] = raw_arrays(&path).map(Result::unwrap);
    let to = |shape: &[usize]| mapped.write_broadcast(Rules::STANDARD, shape, &mut Vec::new()).unwrap_err();
    for (shape, part) in [(&[3][..], "2"), (&[1 << (usize::BITS - 1), 2], "more")] {
        let error = to(shape);
        assert!(
            matches!(&error, WriteBroadcastError::Shape(inner) if inner.to_string() == error.to_string())
        );
        assert!(error.to_string().contains(part), "{error}");
    }
    // A file that takes less than a whole element.
    let mut full = &mut [0u8; 12][..];
    let error = mapped.write_broadcast(Rules::STANDARD, &[4, 2], &mut full).unwrap_err();
    assert!(matches!(&error, WriteBroadcastError::Write(inner) if inner.to_string() == error.to_string()));
    assert_eq!(error.to_string(), "failed to write whole buffer");
}

/// An archive of one member, whatever its bytes are.
fn archive(name: &str, bytes: &[u8], method: zip::CompressionMethod) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    zip.start_file(name, options).unwrap();
    zip.write_all(bytes).unwrap();
    zip.finish().unwrap().into_inner()
}

fn read_npz_bytes(bytes: &[u8]) -> Result<Vec<(String, Tensor)>, NpyError> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    npy::read_npz(file.path())
}

#[test]
fn archives_round_trip() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.npz");
    let tensors: Vec<Tensor> = DType::ALL.iter().map(|&dtype| tensor(dtype, &[3, 2])).collect();
    let arrays: Vec<(&str, TensorView<'_>)> =
        tensors.iter().map(|tensor| (tensor.dtype().name(), tensor.view())).collect();
    npy::write_npz(&path, &arrays).unwrap();
    let read = npy::read_npz(&path).unwrap();
    assert_eq!(read.len(), DType::ALL.len());
    for ((name, tensor), expected) in read.iter().zip(&tensors) {
        assert_eq!((name.as_str(), tensor), (expected.dtype().name(), expected));
    }
    npy::write_npz::<&str>(&path, &[]).unwrap();
    assert_eq!(npy::read_npz(&path).unwrap(), []);
    let twice = [("a", tensors[0].view()), ("a", tensors[0].view())];
    let error = npy::write_npz(&path, &twice).unwrap_err().to_string();
    assert!(error.contains("array 'a'"), "{error}");
}

#[test]
fn arrays_of_an_archive_are_opened_one_by_one() {
    use zip::CompressionMethod::{Deflated, Stored};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("z.npz");
    let [b, a] = [tensor(DType::I16, &[2, 3]), tensor(DType::U8, &[4])];
    let [file_b, file_a] = [&b, &a].map(npy_bytes);
    for method in [Stored, Deflated] {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default().compression_method(method);
        zip.add_directory("folder/", options).unwrap();
        for (name, bytes) in [("folder/b.npy", &file_b), ("a", &file_a)] {
            zip.start_file(name, options).unwrap();
            zip.write_all(bytes).unwrap();
        }
        std::fs::write(&path, zip.finish().unwrap().into_inner()).unwrap();

        let mut npz = NpzReader::open(&path).unwrap();
        assert_eq!(npz.names(), ["folder/b", "a"]);
        for (name, tensor, file) in [("folder/b", &b, &file_b), ("a", &a, &file_a)] {
            assert_eq!(npz.header(name).unwrap(), Header::of(&tensor.view()).unwrap());
            let array = npz.read(name).unwrap();
            assert_eq!((array.header(), array.path()), (&npz.header(name).unwrap(), path.as_path()));
            assert!(file.ends_with(array.data()) && !array.data().is_empty());
            // Where it lies in the file.
            match npz.stored(name).unwrap() {
                Some((header, offset)) => {
                    assert_eq!((method, &header), (Stored, array.header()));
                    let bytes = std::fs::read(&path).unwrap();
                    assert!(bytes[offset as usize..].starts_with(array.data()));
                }
                None => assert_eq!(method, Deflated),
            }
        }
        for error in [npz.header("c").map(drop), npz.read("c").map(drop), npz.stored("c").map(drop)] {
            let error = error.unwrap_err().to_string();
            assert!(
                error.ends_with("z.npz: array 'c': zip archive: there is no array of that name"),
                "{error}"
            );
        }
    }
}

#[test]
fn members_of_another_size_than_their_header_are_errors() {
    use zip::CompressionMethod::Stored;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("z.npz");
    let complete = npy_bytes(&tensor(DType::U8, &[4]));
    for (bytes, problem) in [
        (complete[..complete.len() - 1].to_vec(), "promises 4 bytes of data, the file has 3"),
        ([&complete[..], &[0]].concat(), "longer than the 4 bytes"),
    ] {
        std::fs::write(&path, archive("a.npy", &bytes, Stored)).unwrap();
        let mut npz = NpzReader::open(&path).unwrap();
        assert_eq!(npz.header("a").unwrap().shape, [4]);
        for error in [npz.read("a").map(drop), npz.stored("a").map(drop)] {
            let error = error.unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}

#[test]
fn streams_that_end_early_are_errors() {
    let complete = npy_bytes(&tensor(DType::U8, &[4]));
    assert!(RawArray::read_from("pipe", &complete[..]).is_ok());
    // What follows the array is left in the stream.
    let mut longer = &[&complete[..], b"next"].concat()[..];
    assert!(RawArray::read_from("pipe", &mut longer).is_ok());
    assert_eq!(longer, b"next");
    let error = RawArray::read_from("pipe", &complete[..complete.len() - 1]).unwrap_err().to_string();
    assert!(error.starts_with("pipe: "), "{error}");
}

#[test]
fn a_streamed_array_must_have_the_size_of_its_header() {
    let header = Header { descr: Descr::of(DType::U16), fortran_order: false, shape: vec![3] };
    let mut npz = NpzWriter::new(Cursor::new(Vec::new()));
    let mut array = npz.start("x", &header).unwrap();
    array.write_all(&[1, 2, 3, 4]).unwrap();
    let error = array.write_all(&[5, 6, 7]).unwrap_err();
    assert!(error.to_string().contains("longer than the 6 bytes"), "{error}");
    let error = npz.start("y", &header).map(drop).unwrap_err();
    assert!(error.to_string().contains("promises 6 bytes of data, the file has 4"), "{error}");
    assert!(npz.finish().is_err());
}

/// A writer with room for a number of bytes that cannot be flushed.
struct Limited(Cursor<Vec<u8>>, usize);

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.position() as usize + bytes.len() > self.1 {
            true => Err(io::Error::other("the disk is full")),
            false => self.0.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(io::Error::other("the disk is gone"))
    }
}

impl Seek for Limited {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

#[test]
fn no_array_is_accepted_after_a_failed_write() {
    let header = Header { descr: Descr::of(DType::U8), fortran_order: false, shape: vec![500] };
    let mut npz = NpzWriter::new(Limited(Cursor::default(), 500));
    let mut array = npz.start("x", &header).unwrap();
    let error = array.flush().unwrap_err();
    assert_eq!(error.to_string(), "the disk is gone");
    let error = array.write_all(&[0; 500]).unwrap_err();
    assert_eq!(error.to_string(), "an earlier write failed");

    let empty = Header { shape: vec![0], ..header.clone() };
    let mut npz = NpzWriter::new(Limited(Cursor::default(), 500));
    for name in ["a", "b", "c"] {
        npz.start(name, &empty).unwrap();
    }
    assert!(npz.start("d", &empty).map(drop).unwrap_err().to_string().contains("the disk is full"));
    assert!(npz.start("e", &empty).map(drop).unwrap_err().to_string().contains("an earlier write failed"));
}

/// zip64 is used only where it is needed: not every reader supports it.
#[test]
fn small_arrays_do_not_need_zip64() {
    let header = Header { descr: Descr::of(DType::U8), fortran_order: false, shape: vec![1] };
    let mut npz = NpzWriter::new(Cursor::new(Vec::new()));
    npz.start("x", &header).unwrap().write_all(&[7]).unwrap();
    let archive = npz.finish().unwrap().into_inner();
    let version_needed = u16::from_le_bytes([archive[4], archive[5]]);
    assert!(version_needed < 45, "{version_needed}");
}

#[test]
fn invalid_archives_are_errors() {
    use zip::CompressionMethod::{Deflated, Stored};
    let seven = npy_bytes(&Tensor::from(arr0(7u8)));
    for method in [Stored, Deflated] {
        let read = read_npz_bytes(&archive("../etc/seven.npy", &seven, method)).unwrap();
        assert_eq!(read, [("../etc/seven".to_string(), Tensor::from(arr0(7u8)))]);
    }
    let bomb = [seven.clone(), vec![0; 10 << 20]].concat();
    let giant = described("'<f8'", false, "(1152921504606846976,)", &[0; 64]);
    let mut damaged = archive("a.npy", &seven, Stored);
    let data = damaged.iter().position(|&byte| byte == 0x93).unwrap() + seven.len() - 1;
    damaged[data] = 8;
    let mut lying = archive("a.npy", &seven, Stored);
    let directory = lying.windows(4).position(|part| part == b"PK\x01\x02").unwrap();
    lying[directory + 20..directory + 28].copy_from_slice(&[0xFF, 0xFF, 0xFF, 0x7F].repeat(2));
    let mut twice = NpzWriter::new(Cursor::new(Vec::new()));
    for name in ["a", "b"] {
        let header = Header::read(&mut &seven[..]).unwrap();
        twice.start(name, &header).unwrap().write_all(&[7]).unwrap();
    }
    let mut twice = twice.finish().unwrap().into_inner();
    for at in 0..twice.len() - 5 {
        if twice[at..].starts_with(b"b.npy") {
            twice[at] = b'a';
        }
    }
    let whole = archive("a.npy", &seven, Deflated);
    let rows = [
        ("empty", vec![], "zip archive"),
        ("not a zip archive", seven.clone(), "zip archive"),
        ("truncated", whole[..whole.len() - 30].to_vec(), "zip archive"),
        (
            "a member that is not an array",
            archive("readme.txt", b"hello", Stored),
            "array 'readme.txt': this is not an .npy",
        ),
        (
            "a decompression bomb",
            archive("a.npy", &bomb, Deflated),
            "array 'a': the data is longer than the 1 bytes",
        ),
        ("a giant promise", archive("a.npy", &giant, Deflated), "array 'a': truncated: the header promises"),
        ("objects", archive("a.npy", &described("'|O'", false, "()", &[]), Stored), "pickled Python objects"),
        ("another byte", damaged, "array 'a': "),
        ("lying sizes", lying, "overlap"),
        ("two of one name", twice, "two arrays of the same name"),
    ];
    for (what, bytes, part) in rows {
        match read_npz_bytes(&bytes) {
            Ok(_) => panic!("{what} was read"),
            Err(error) => assert!(is_expected(&error.to_string(), part), "{what}: {error}"),
        }
    }
}

/// Valid files.
fn some_file() -> impl Strategy<Value = Vec<u8>> {
    let shape = prop::collection::vec(0usize..4, 0..4);
    (prop::sample::select(DType::ALL), shape).prop_map(|(dtype, shape)| npy_bytes(&tensor(dtype, &shape)))
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = npy::read_from(&bytes[..]);
        for version in 1..=3 {
            let _ = npy::read_from(&file(version, &bytes, &bytes)[..]);
        }
        let _ = Descr::parse(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn text_like_a_header_is_read_or_an_error(text in r#"[{}()\[\]'",:\\xuU0-9 TrueFalsNon<>|fiuOVSM-]{0,80}"#) {
        let _ = npy::read_from(&file(3, text.as_bytes(), &[0; 64])[..]);
        let _ = npy::read_from(&described(&text, false, "(2,)", &[0; 64])[..]);
        let _ = npy::read_from(&described("'<f8'", true, &text, &[0; 64])[..]);
        let _ = Descr::parse(&text);
    }

    #[test]
    fn damaged_files_are_read_or_refused(
        file in some_file(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        end in any::<prop::sample::Index>(),
    ) {
        let cut = &file[..end.index(file.len())];
        prop_assert!(npy::read_from(cut).is_err());
        let mut flipped = file.clone();
        for (at, byte) in flips {
            let at = at.index(flipped.len());
            flipped[at] ^= byte;
        }
        if let Ok(tensor) = npy::read_from(&flipped[..]) {
            let count: usize = tensor.shape().iter().product();
            prop_assert!(count <= flipped.len());
        }
        let mut zip = archive("a.npy", &file, zip::CompressionMethod::Deflated);
        let at = end.index(zip.len());
        zip[at] ^= 0x55;
        let _ = read_npz_bytes(&zip);
        let _ = read_npz_bytes(&zip[..at]);
    }

    /// Memory is bounded by the data, not by the sizes in the header.
    #[test]
    fn promises_cost_nothing(
        shape in prop::collection::vec(1u64 << 16..1 << 44, 1..3),
        descr in prop::sample::select(vec!["'<f8'", "'|b1'", "'<U3'", "'|S1'", "'<c16'", "'<U1000000000'"]),
    ) {
        let shape: String = shape.iter().map(|size| format!("{size},")).collect();
        let file = described(descr, false, &format!("({shape})"), &[0; 200]);
        prop_assert!(npy::read_from(&file[..]).is_err());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("promise.npy");
        std::fs::write(&path, file).unwrap();
        prop_assert!(npy::read(&path).is_err());
        // Includes memory that was allocated but never touched.
        prop_assert!(peak_memory().is_none_or(|kib| kib < 8 << 20));
    }
}

/// Peak address space of this process in KiB, where the system reports it.
///
/// A sanitizer reserves terabytes; runs under one set the variable.
fn peak_memory() -> Option<u64> {
    if std::env::var_os("UNISHAPE_SANITIZED").is_some() {
        return None;
    }
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmPeak:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
