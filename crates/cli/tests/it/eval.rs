//! `unishape eval`: results compared with plain computations, element by element.

use crate::files::Array;
use crate::support::{Folder, Ran};
use proptest::prelude::*;
use unishape::{DType, Tensor};
use unishape_npy::{self as npy, Descr, Header};
use unishape_oracle::{self as oracle, Reading, common_shape, strategies};

/// An array of a type of integers, in either byte order, from the numbers of its elements in C order.
pub(crate) fn integers(descr: &str, shape: &[usize], number: impl Fn(usize) -> i64) -> Array {
    let quoted = Descr::parse(&format!("'{descr}'")).expect("a description");
    let element = |n: usize| match (descr.starts_with('>'), quoted.item_size()) {
        (true, size) => number(n).to_be_bytes()[8 - size..].to_vec(),
        (false, size) => number(n).to_le_bytes()[..size].to_vec(),
    };
    Array { tensor: oracle::Tensor::from_fn(shape, element), descr: quoted.clone(), fortran_order: false }
}

/// The result of a run, read back.
#[track_caller]
pub(crate) fn result(folder: &Folder, words: &[&str]) -> Tensor {
    folder.run(["eval"].iter().chain(words).chain(&["-q", "-f", "-o", "out.npy"])).printed();
    npy::read(folder.path("out.npy")).expect("an array")
}

#[test]
fn expressions_are_computed_with_the_rounding_of_each_operator() {
    let folder = Folder::new();
    let a = ndarray::Array::from_shape_fn((30, 1), |(i, _)| 0.1f32 * i as f32);
    let b = ndarray::Array::from_shape_fn(41, |j| 1.0f32 / (j + 3) as f32);
    let c = ndarray::Array::from_shape_fn((30, 41), |(i, j)| (i * 41 + j) as f32 * 0.7);
    npy::write(folder.path("a.npy"), a.view()).expect("written");
    npy::write(folder.path("other.npy"), b.view()).expect("written");
    npy::write(folder.path("c.npy"), c.view()).expect("written");
    let expected = ndarray::Array::from_shape_fn((30, 41), |(i, j)| a[(i, 0)] * b[j] + c[(i, j)]);
    let words = ["a * b + c", "a=a.npy", "b=other.npy", "c=c.npy"];
    assert_eq!(result(&folder, &words), expected.into());
    let scaled = ndarray::Array::from_shape_fn((30, 1), |(i, _)| a[(i, 0)] * 2.5);
    assert_eq!(result(&folder, &["a * k", "a.npy", "k=2.5"]), scaled.into());
}

/// Shapes that are cut in every dimension, with as little memory as there may be, and inputs that are read
/// where they lie, in the other order, and converted.
#[test]
fn results_larger_than_the_memory_are_computed_piece_by_piece() {
    let shapes: [&[usize]; 7] =
        [&[300_001], &[3, 100_003], &[1009, 7, 43], &[2, 3, 1, 50_021], &[70_001, 5], &[1, 1, 262_144], &[9]];
    for shape in shapes {
        let folder = Folder::new();
        let row = [shape[shape.len() - 1]];
        folder.put("a.npy", integers("<i8", shape, |n| n as i64 * 3).file());
        folder.put("b.npy", integers(">i4", shape, |n| 7 - n as i64).fortran().file());
        folder.put("f.npy", integers("<i8", shape, |n| n as i64 ^ 5).fortran().file());
        folder.put("m.npy", integers("|b1", shape, |n| (n % 3 == 0).into()).file());
        folder.put("r.npy", integers(">i2", &row, |n| n as i64 % 1000).file());
        let count: usize = shape.iter().product();
        let expected: Vec<i64> = (0..count)
            .map(|n| {
                let (n, column) = (n as i64, (n % row[0]) as i64);
                let chosen = if n % 3 == 0 { 7 - n } else { n ^ 5 };
                n * 3 + chosen + column % 1000 + 2 * column
            })
            .collect();
        let range = format!("i=0:{}:2", 2 * row[0]);
        let words = ["a + where(m, b, f) + r + i", "a.npy", "b.npy", "f.npy", "m.npy", "r.npy", &range];
        let expected = Tensor::from(ndarray::ArrayD::from_shape_vec(shape, expected).expect("as many"));
        for more in [&["--memory", "1M"][..], &["--memory", "1M", "--threads", "1"], &["--threads", "3"], &[]]
        {
            let words: Vec<&str> = words.iter().chain(more).copied().collect();
            assert!(result(&folder, &words) == expected, "{shape:?} {more:?}");
        }
    }
}

#[test]
fn bc4_bc6_rank_0_and_sizes_of_0_are_ordinary_cases() {
    let folder = Folder::new();
    folder.put("a.npy", integers("<i8", &[], |_| 42).file());
    folder.put("z.npy", integers(">i8", &[3, 0, 2], |n| n as i64).file());
    folder.put("t.npy", integers("|b1", &[0], |n| n as i64).file());
    assert_eq!(result(&folder, &["a + 1", "a.npy"]), ndarray::arr0(43i64).into());
    assert_eq!(result(&folder, &["2 * k", "k=3"]), ndarray::arr0(6i64).into());
    let empty = result(&folder, &["z + a", "a.npy", "z.npy"]);
    assert_eq!((empty.dtype(), empty.shape()), (DType::I64, &[3, 0, 2][..]));
    assert_eq!(result(&folder, &["t & t", "t.npy"]).shape(), [0]);
    assert_eq!(result(&folder, &["i * 1.5", "i=5:5"]).shape(), [0]);
}

/// Any type that numbers have comes in and goes out as NumPy has it.
#[test]
fn bc3_every_type_of_numbers_is_read_and_written() {
    let folder = Folder::new();
    for &dtype in DType::ALL.iter().filter(|&&dtype| dtype != DType::Str) {
        let array = Array::numbers(dtype, &[5, 1, 3]);
        for array in [array.clone(), array.clone().fortran()] {
            folder.put("a.npy", array.file());
            folder.run(["eval", "a", "a.npy", "-qfo", "out.npy"]).printed();
            // Bit for bit: the elements include NaNs, −0 and subnormals.
            assert_eq!(folder.bytes("out.npy"), array.stretched(&[5, 1, 3]).file(), "{dtype}");
        }
        folder.put("k.npy", integers("<i4", &[4], |n| n as i64).file());
        let name = dtype.name();
        let cast = result(&folder, &["k > 1", "k.npy", "--dtype", name]);
        assert_eq!((cast.dtype(), cast.shape()), (dtype, &[4][..]));
    }
}

/// NumPy aligns the data; others need not.
#[test]
fn data_that_is_not_aligned_is_read_too() {
    let folder = Folder::new();
    let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }";
    let mut file = b"\x93NUMPY\x01\0".to_vec();
    file.extend((text.len() as u16).to_le_bytes());
    file.extend(text.as_bytes());
    assert_ne!(file.len() % 8, 0);
    [1.5f64, -2.0, 4.0].iter().for_each(|x| file.extend(x.to_le_bytes()));
    folder.put("a.npy", file);
    assert_eq!(result(&folder, &["a * 2", "a.npy"]), ndarray::arr1(&[3.0, -4.0, 8.0]).into());
}

#[test]
fn the_type_of_the_result_can_be_chosen() {
    let folder = Folder::new();
    let words = ["a / 2", "a=[1, 2, 3]"];
    assert_eq!(result(&folder, &words), ndarray::arr1(&[0.5, 1.0, 1.5]).into());
    let cast = |name: &str| result(&folder, &["a / 2", "a=[1, 2, 3]", "--dtype", name]);
    assert_eq!(cast("float64"), ndarray::arr1(&[0.5, 1.0, 1.5]).into());
    assert_eq!(cast("float32"), ndarray::arr1(&[0.5f32, 1.0, 1.5]).into());
    assert_eq!(cast("uint8"), ndarray::arr1(&[0u8, 1, 1]).into());
}

/// The result is written beside it and takes its place in the end.
#[test]
fn the_result_may_take_the_place_of_an_input() {
    let folder = Folder::new();
    let array = integers("<i8", &[500_000], |n| n as i64);
    folder.put("a.npy", array.file());
    let words = ["eval", "a * 10 + 1", "a.npy", "-q", "-o", "a.npy", "--memory", "1M"];
    let said = folder.run(words).refused(1);
    assert_eq!(said, "unishape: a.npy is there already; add --force to replace it\n");
    assert_eq!(folder.bytes("a.npy"), array.file());
    folder.run(words.iter().chain(&["--force"])).printed();
    assert_eq!(folder.bytes("a.npy"), integers("<i8", &[500_000], |n| n as i64 * 10 + 1).file());
    assert_eq!(folder.names(), ["a.npy"]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("a.npy", folder.path("link.npy")).expect("a link");
        folder.run(["eval", "a - 1", "a.npy", "-q", "-f", "-o", "./link.npy"]).printed();
        assert_eq!(folder.bytes("a.npy"), integers("<i8", &[500_000], |n| n as i64 * 10).file());
        assert!(folder.path("link.npy").is_symlink());
    }
}

#[test]
fn the_plan_is_told_and_a_dry_run_writes_nothing() {
    let folder = Folder::new();
    folder.put("a.npy", integers("<i4", &[300, 1], |n| n as i64).file());
    folder.put("b.npy", integers(">i4", &[400], |n| n as i64).file());
    let words = ["eval", "a * b + i + k", "a.npy", "b=b.npy", "i=0:400", "k=2", "-o", "out.npy"];
    let expected = "\
a  a.npy  300x1  int32
b  b.npy    400  int32
i  0:400    400  int64
k  2
300x400 int64, 937.6 KiB to out.npy, ";
    let ran = folder.run(words.iter().chain(&["--dry-run"]));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    let said = ran.said();
    assert!(said.starts_with(expected) && said.ends_with(" free there\n"), "{said}");
    assert!(!folder.path("out.npy").exists());
    let printed = folder.run(words.iter().chain(&["--plan"])).printed();
    for line in [
        "a  a.npy  300x1  int32  mapped, read where it lies\n",
        "b  b.npy    400  int32  mapped, converted piece by piece\n",
        "i  0:400    400  int64  counted out piece by piece\n",
        "k  2\n",
        "result: 300x400 int64, 937.5 KiB\n",
        "pieces: 1 of 937.5 KiB, 3.2 MiB of memory at a time, of 256.0 MiB allowed\n",
        "\nfor each block:\n",
    ] {
        assert!(printed.contains(line), "{printed}");
    }
    assert!(!folder.path("out.npy").exists());
    folder.put("f.npy", integers("<i4", &[300, 400], |n| n as i64).fortran().file());
    folder.put("g.npy", integers(">i4", &[300, 400], |n| n as i64).fortran().file());
    let printed = folder.run(["eval", "f * g", "f.npy", "g.npy", "--plan", "--memory", "1M"]).printed();
    for line in [
        "f  f.npy  300x400  int32  mapped, in Fortran order, turned piece by piece\n",
        "g  g.npy  300x400  int32  mapped, in Fortran order, converted and turned piece by piece\n",
        "pieces: 3 of up to 156.2 KiB, 781.2 KiB of memory at a time, of 1.0 MiB allowed; in each of them\n",
    ] {
        assert!(printed.contains(line), "{printed}");
    }
    let ran = folder.run(words);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert_eq!(ran.said().lines().count(), 5);
    let header = Header::read(&mut &folder.bytes("out.npy")[..]).expect("a header");
    assert_eq!((header.descr.text(), &header.shape[..]), ("'<i8'", &[300, 400][..]));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    #[test]
    fn bc5_to_bc9_any_files_are_broadcast_as_specified(
        shapes in strategies::shapes(3..=3, 0..=4, 0..=4),
        fortran in any::<[bool; 3]>(),
        memory in prop::sample::select(vec!["1M", "1G"]),
    ) {
        let folder = Folder::new();
        let descrs = ["<i8", ">i8", "<i4"];
        let arrays: Vec<Array> = shapes.iter().zip(descrs).zip(fortran).enumerate().map(|(at, ((shape, descr), fortran))| {
            let array = integers(descr, shape, |n| (n * 31 + at * 7) as i64 % 1009 - 400);
            if fortran { array.fortran() } else { array }
        }).collect();
        for (array, name) in arrays.iter().zip(["a", "b", "c"]) {
            folder.put(format!("{name}.npy"), array.file());
        }
        let words = ["eval", "a * b - c", "a.npy", "b.npy", "c.npy", "-q", "-o", "out.npy", "--memory", memory];
        let ran = folder.run(words);
        let shapes: Vec<&[usize]> = arrays.iter().map(Array::shape).collect();
        match common_shape(Reading::Standard, &shapes) {
            Ok(common) => {
                ran.printed();
                let numbers = |array: &Array| -> Vec<i64> {
                    let array_is = array.descr.text().contains('>');
                    array.stretched(&common).tensor.elements.iter().map(|bytes| match (array_is, bytes.len()) {
                        (true, _) => i64::from_be_bytes(bytes[..].try_into().expect("8 bytes")),
                        (false, 8) => i64::from_le_bytes(bytes[..].try_into().expect("8 bytes")),
                        (false, _) => i32::from_le_bytes(bytes[..].try_into().expect("4 bytes")).into(),
                    }).collect()
                };
                let [a, b, c] = [0, 1, 2].map(|at| numbers(&arrays[at]));
                let expected = integers("<i8", &common, |n| a[n] * b[n] - c[n]);
                prop_assert_eq!(folder.bytes("out.npy"), expected.file());
            }
            Err(_) => {
                prop_assert!(ran.refused(1).starts_with("unishape: E1: "));
                prop_assert!(!folder.path("out.npy").exists());
            }
        }
    }
}

/// Whatever is wrong with it, nothing appears.
#[test]
fn places_that_cannot_hold_the_result_are_refused() {
    let folder = Folder::new();
    folder.put("a.npy", integers("<i8", &[3], |n| n as i64).file());
    std::fs::create_dir(folder.path("folder")).expect("a folder");
    let before = folder.names();
    let refused = |out: &str, code: i32| folder.run(["eval", "a", "a.npy", "-f", "-o", out]).refused(code);
    assert_eq!(refused("z.npz", 2), "unishape: -o z.npz: one array is written; give a file ending in .npy\n");
    assert_eq!(refused("missing/z.npy", 1), "unishape: missing: there is no such folder\n");
    assert_eq!(refused("folder", 1), "unishape: folder is a folder\n");
    let sizes = ["i=0:1000000x1x1", "j=0:100000x1", "k=0:100000"];
    let said = folder.run(["eval", "i + j + k"].iter().chain(&sizes).chain(&["-o", "z.npy"])).refused(1);
    assert!(said.starts_with("unishape: the result takes 71.1 PiB, and . has room for "), "{said}");
    assert!(said.ends_with("; nothing was written\n"), "{said}");
    assert_eq!(folder.names(), before);
}

#[test]
fn files_at_fault_are_named() {
    let folder = Folder::new();
    let mut truths = integers("|b1", &[2, 3], |_| 1).file();
    *truths.last_mut().expect("it has elements") = 2;
    folder.put("m.npy", &truths);
    folder.put("dates.npy", Array::of("'<M8[ns]'", &[2]).file());
    folder.put("words.npy", Array::of("'<U3'", &[2]).file());
    folder.put("pairs.npy", Array::of("[('x', '<f4'), ('y', '<i2')]", &[2]).file());
    let short = integers("<i8", &[9], |n| n as i64).file();
    folder.put("short.npy", &short[..short.len() - 1]);
    folder.put("text.npy", "not an array");
    for (file, problem) in [
        ("m.npy", "element [1, 2]: a bool is 0 or 1, not 2"),
        ("dates.npy", "elements of type '<M8[ns]' are no numbers; convert them first"),
        ("words.npy", "elements of type '<U3' are text, which is not computed with"),
        ("pairs.npy", "elements of type [('x', '<f4'), ('y', '<i2')] are no numbers; convert them first"),
        (
            "short.npy",
            "truncated: the header promises 72 bytes of data, the file has 71; copy or save it again",
        ),
        ("text.npy", "this is not an .npy file: it does not begin with \\x93NUMPY"),
    ] {
        let given = format!("a={file}");
        let ran = Ran::of(&mut folder.command(["eval", "a + 1", &given, "-q", "-o", "out.npy"]));
        assert_eq!(ran.refused(1), format!("unishape: {file}: {problem}\n"));
    }
    assert!(!folder.path("out.npy").exists());
}
