//! `unishape eval`: results compared with plain computations, element by element.

use crate::arrays::Array;
use crate::support::{RunOutput, TestDir};
use proptest::prelude::*;
use unishape::{DType, Tensor};
use unishape_npy::{self as npy, Descr, Header};
use unishape_oracle::{self as oracle, Reading, common_shape, strategies};

/// An array of integers in either byte order. `number` maps the row-major index to the element.
pub(crate) fn integers(descr: &str, shape: &[usize], number: impl Fn(usize) -> i64) -> Array {
    let quoted = Descr::parse(&format!("'{descr}'")).expect("a description");
    let element = |n: usize| match (descr.starts_with('>'), quoted.item_size()) {
        (true, size) => number(n).to_be_bytes()[8 - size..].to_vec(),
        (false, size) => number(n).to_le_bytes()[..size].to_vec(),
    };
    Array { tensor: oracle::Tensor::from_fn(shape, element), descr: quoted.clone(), fortran_order: false }
}

/// Runs `eval` and reads its result.
#[track_caller]
pub(crate) fn result(dir: &TestDir, args: &[&str]) -> Tensor {
    dir.run(["eval"].iter().chain(args).chain(&["-q", "-f", "-o", "out.npy"])).expect_success();
    npy::read(dir.path("out.npy")).expect("an array")
}

#[test]
fn expressions_are_computed_with_the_rounding_of_each_operator() {
    let dir = TestDir::new();
    let a = ndarray::Array::from_shape_fn((30, 1), |(i, _)| 0.1f32 * i as f32);
    let b = ndarray::Array::from_shape_fn(41, |j| 1.0f32 / (j + 3) as f32);
    let c = ndarray::Array::from_shape_fn((30, 41), |(i, j)| (i * 41 + j) as f32 * 0.7);
    npy::write(dir.path("a.npy"), a.view()).expect("written");
    npy::write(dir.path("other.npy"), b.view()).expect("written");
    npy::write(dir.path("c.npy"), c.view()).expect("written");
    let expected = ndarray::Array::from_shape_fn((30, 41), |(i, j)| a[(i, 0)] * b[j] + c[(i, j)]);
    let args = ["a * b + c", "a=a.npy", "b=other.npy", "c=c.npy"];
    assert_eq!(result(&dir, &args), expected.into());
    let scaled = ndarray::Array::from_shape_fn((30, 1), |(i, _)| a[(i, 0)] * 2.5);
    assert_eq!(result(&dir, &["a * k", "a.npy", "k=2.5"]), scaled.into());
}

/// Shapes that are split in every dimension, with the least memory; inputs that are not copied, transposed
/// and converted.
#[test]
fn results_larger_than_memory_are_computed_chunk_by_chunk() {
    let shapes: [&[usize]; 7] =
        [&[300_001], &[3, 100_003], &[1009, 7, 43], &[2, 3, 1, 50_021], &[70_001, 5], &[1, 1, 262_144], &[9]];
    for shape in shapes {
        let dir = TestDir::new();
        let row = [shape[shape.len() - 1]];
        dir.write("a.npy", integers("<i8", shape, |n| n as i64 * 3).file());
        dir.write("b.npy", integers(">i4", shape, |n| 7 - n as i64).fortran().file());
        dir.write("f.npy", integers("<i8", shape, |n| n as i64 ^ 5).fortran().file());
        dir.write("m.npy", integers("|b1", shape, |n| (n % 3 == 0).into()).file());
        dir.write("r.npy", integers(">i2", &row, |n| n as i64 % 1000).file());
        let count: usize = shape.iter().product();
        let expected: Vec<i64> = (0..count)
            .map(|n| {
                let (n, column) = (n as i64, (n % row[0]) as i64);
                let chosen = if n % 3 == 0 { 7 - n } else { n ^ 5 };
                n * 3 + chosen + column % 1000 + 2 * column
            })
            .collect();
        let range = format!("i=0:{}:2", 2 * row[0]);
        let args = ["a + where(m, b, f) + r + i", "a.npy", "b.npy", "f.npy", "m.npy", "r.npy", &range];
        let expected = Tensor::from(
            ndarray::ArrayD::from_shape_vec(shape, expected).expect("as many elements as the shape"),
        );
        for more in [&["--memory", "1M"][..], &["--memory", "1M", "--threads", "1"], &["--threads", "3"], &[]]
        {
            let args: Vec<&str> = args.iter().chain(more).copied().collect();
            assert!(result(&dir, &args) == expected, "{shape:?} {more:?}");
        }
    }
}

#[test]
fn bc4_bc6_rank_0_and_sizes_of_0_are_computed() {
    let dir = TestDir::new();
    dir.write("a.npy", integers("<i8", &[], |_| 42).file());
    dir.write("z.npy", integers(">i8", &[3, 0, 2], |n| n as i64).file());
    dir.write("t.npy", integers("|b1", &[0], |n| n as i64).file());
    assert_eq!(result(&dir, &["a + 1", "a.npy"]), ndarray::arr0(43i64).into());
    assert_eq!(result(&dir, &["2 * k", "k=3"]), ndarray::arr0(6i64).into());
    let empty = result(&dir, &["z + a", "a.npy", "z.npy"]);
    assert_eq!((empty.dtype(), empty.shape()), (DType::I64, &[3, 0, 2][..]));
    assert_eq!(result(&dir, &["t & t", "t.npy"]).shape(), [0]);
    assert_eq!(result(&dir, &["i * 1.5", "i=5:5"]).shape(), [0]);
}

#[test]
fn bc3_every_numeric_dtype_is_read_and_written() {
    let dir = TestDir::new();
    for &dtype in DType::ALL.iter().filter(|&&dtype| dtype != DType::Str) {
        let array = Array::numbers(dtype, &[5, 1, 3]);
        for array in [array.clone(), array.clone().fortran()] {
            dir.write("a.npy", array.file());
            dir.run(["eval", "a", "a.npy", "-qfo", "out.npy"]).expect_success();
            // Bit for bit: the elements include NaNs, −0 and subnormal numbers.
            assert_eq!(dir.read("out.npy"), array.stretched(&[5, 1, 3]).file(), "{dtype}");
        }
        dir.write("k.npy", integers("<i4", &[4], |n| n as i64).file());
        let name = dtype.name();
        let cast = result(&dir, &["k > 1", "k.npy", "--dtype", name]);
        assert_eq!((cast.dtype(), cast.shape()), (dtype, &[4][..]));
    }
}

/// NumPy aligns the data; other writers need not.
#[test]
fn unaligned_data_is_read() {
    let dir = TestDir::new();
    let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }";
    let mut file = b"\x93NUMPY\x01\0".to_vec();
    file.extend((text.len() as u16).to_le_bytes());
    file.extend(text.as_bytes());
    assert_ne!(file.len() % 8, 0);
    [1.5f64, -2.0, 4.0].iter().for_each(|x| file.extend(x.to_le_bytes()));
    dir.write("a.npy", file);
    assert_eq!(result(&dir, &["a * 2", "a.npy"]), ndarray::arr1(&[3.0, -4.0, 8.0]).into());
}

#[test]
fn the_dtype_of_the_result_can_be_chosen() {
    let dir = TestDir::new();
    let args = ["a / 2", "a=[1, 2, 3]"];
    assert_eq!(result(&dir, &args), ndarray::arr1(&[0.5, 1.0, 1.5]).into());
    let cast = |name: &str| result(&dir, &["a / 2", "a=[1, 2, 3]", "--dtype", name]);
    assert_eq!(cast("float64"), ndarray::arr1(&[0.5, 1.0, 1.5]).into());
    assert_eq!(cast("float32"), ndarray::arr1(&[0.5f32, 1.0, 1.5]).into());
    assert_eq!(cast("uint8"), ndarray::arr1(&[0u8, 1, 1]).into());
}

#[test]
fn the_result_may_replace_an_input() {
    let dir = TestDir::new();
    let array = integers("<i8", &[500_000], |n| n as i64);
    dir.write("a.npy", array.file());
    let args = ["eval", "a * 10 + 1", "a.npy", "-q", "-o", "a.npy", "--memory", "1M"];
    let message = dir.run(args).expect_error(4);
    assert_eq!(message, "unishape: a.npy already exists; use --force to replace it\n");
    assert_eq!(dir.read("a.npy"), array.file());
    dir.run(args.iter().chain(&["--force"])).expect_success();
    assert_eq!(dir.read("a.npy"), integers("<i8", &[500_000], |n| n as i64 * 10 + 1).file());
    assert_eq!(dir.list(), ["a.npy"]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("a.npy", dir.path("link.npy")).expect("a link");
        dir.run(["eval", "a - 1", "a.npy", "-q", "-f", "-o", "./link.npy"]).expect_success();
        assert_eq!(dir.read("a.npy"), integers("<i8", &[500_000], |n| n as i64 * 10).file());
        assert!(dir.path("link.npy").is_symlink());
    }
}

#[test]
fn the_plan_is_printed_and_a_dry_run_writes_nothing() {
    let dir = TestDir::new();
    dir.write("a.npy", integers("<i4", &[300, 1], |n| n as i64).file());
    dir.write("b.npy", integers(">i4", &[400], |n| n as i64).file());
    let args = ["eval", "a * b + i + k", "a.npy", "b=b.npy", "i=0:400", "k=2", "-o", "out.npy"];
    let expected = "\
a  a.npy  300x1  int32
b  b.npy    400  int32
i  0:400    400  int64
k  2
300x400 int64, 937.62 KiB to out.npy (";
    let output = dir.run(args.iter().chain(&["--dry-run"]));
    assert_eq!((output.code, output.stdout.as_str()), (0, ""));
    let message = output.message();
    assert!(message.starts_with(expected) && message.ends_with(" free)\n"), "{message}");
    assert!(!dir.path("out.npy").exists());
    let printed = dir.run(args.iter().chain(&["--plan"])).expect_success();
    for line in [
        "a  a.npy  300x1  int32  memory-mapped, not copied\n",
        "b  b.npy    400  int32  memory-mapped, converted chunk by chunk\n",
        "i  0:400    400  int64  generated chunk by chunk\n",
        "k  2\n",
        "result: 300x400 int64, 937.50 KiB\n",
        "chunks: 1 of 937.50 KiB, using 3.20 MiB of 256.00 MiB memory\n",
        "\nfor each block:\n",
    ] {
        assert!(printed.contains(line), "{printed}");
    }
    assert!(!dir.path("out.npy").exists());
    dir.write("f.npy", integers("<i4", &[300, 400], |n| n as i64).fortran().file());
    dir.write("g.npy", integers(">i4", &[300, 400], |n| n as i64).fortran().file());
    let printed = dir.run(["eval", "f * g", "f.npy", "g.npy", "--plan", "--memory", "1M"]).expect_success();
    for line in [
        "f  f.npy  300x400  int32  memory-mapped, column-major, transposed chunk by chunk\n",
        "g  g.npy  300x400  int32  memory-mapped, column-major, converted and transposed chunk by chunk\n",
        "chunks: 3 of up to 156.25 KiB, using 781.25 KiB of 1.00 MiB memory; in each chunk:\n",
    ] {
        assert!(printed.contains(line), "{printed}");
    }
    let output = dir.run(args);
    assert_eq!((output.code, output.stdout.as_str()), (0, ""));
    assert_eq!(output.message().lines().count(), 5);
    let header = Header::read(&mut &dir.read("out.npy")[..]).expect("a header");
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
        let dir = TestDir::new();
        let descrs = ["<i8", ">i8", "<i4"];
        let arrays: Vec<Array> = shapes.iter().zip(descrs).zip(fortran).enumerate().map(|(at, ((shape, descr), fortran))| {
            let array = integers(descr, shape, |n| (n * 31 + at * 7) as i64 % 1009 - 400);
            if fortran { array.fortran() } else { array }
        }).collect();
        for (array, name) in arrays.iter().zip(["a", "b", "c"]) {
            dir.write(format!("{name}.npy"), array.file());
        }
        let args = ["eval", "a * b - c", "a.npy", "b.npy", "c.npy", "-q", "-o", "out.npy", "--memory", memory];
        let output = dir.run(args);
        let shapes: Vec<&[usize]> = arrays.iter().map(Array::shape).collect();
        match common_shape(Reading::Standard, &shapes) {
            Ok(common) => {
                output.expect_success();
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
                prop_assert_eq!(dir.read("out.npy"), expected.file());
            }
            Err(_) => {
                prop_assert!(output.expect_error(1).starts_with("unishape: E1: "));
                prop_assert!(!dir.path("out.npy").exists());
            }
        }
    }
}

#[test]
fn invalid_output_paths_are_errors() {
    let dir = TestDir::new();
    dir.write("a.npy", integers("<i8", &[3], |n| n as i64).file());
    std::fs::create_dir(dir.path("dir")).expect("a directory");
    let before = dir.list();
    let eval_error =
        |out: &str, code: i32| dir.run(["eval", "a", "a.npy", "-f", "-o", out]).expect_error(code);
    assert_eq!(
        eval_error("z.npz", 2),
        "unishape: -o z.npz: the result is a single array; give a file ending in .npy\n"
    );
    assert_eq!(eval_error("missing/z.npy", 4), "unishape: missing: no such directory\n");
    assert_eq!(eval_error("dir", 4), "unishape: dir is a directory\n");
    let sizes = ["i=0:1000000x1x1", "j=0:100000x1", "k=0:100000"];
    let message = dir.run(["eval", "i + j + k"].iter().chain(&sizes).chain(&["-o", "z.npy"])).expect_error(4);
    assert!(message.starts_with("unishape: the result needs 71.05 PiB, but . has only "), "{message}");
    assert!(message.ends_with("; nothing was written\n"), "{message}");
    assert_eq!(dir.list(), before);
}

#[test]
fn errors_name_the_file() {
    let dir = TestDir::new();
    let mut truths = integers("|b1", &[2, 3], |_| 1).file();
    *truths.last_mut().expect("elements") = 2;
    dir.write("m.npy", &truths);
    dir.write("dates.npy", Array::of("'<M8[ns]'", &[2]).file());
    dir.write("args.npy", Array::of("'<U3'", &[2]).file());
    dir.write("pairs.npy", Array::of("[('x', '<f4'), ('y', '<i2')]", &[2]).file());
    let short = integers("<i8", &[9], |n| n as i64).file();
    dir.write("short.npy", &short[..short.len() - 1]);
    dir.write("text.npy", "not an array");
    for (file, problem) in [
        ("m.npy", "element [1, 2]: a bool is 0 or 1, not 2"),
        ("dates.npy", "elements of type '<M8[ns]' are not numbers; convert them first"),
        ("args.npy", "elements of type '<U3' are strings, which expressions do not support"),
        ("pairs.npy", "elements of type [('x', '<f4'), ('y', '<i2')] are not numbers; convert them first"),
        (
            "short.npy",
            "truncated: the header promises 72 bytes of data, the file has 71; copy or save it again",
        ),
        ("text.npy", "this is not an .npy file: it does not begin with \\x93NUMPY"),
    ] {
        let binding = format!("a={file}");
        let output = RunOutput::of(&mut dir.command(["eval", "a + 1", &binding, "-q", "-o", "out.npy"]));
        assert_eq!(output.expect_error(5), format!("unishape: {file}: {problem}\n"));
    }
    assert!(!dir.path("out.npy").exists());
}

#[test]
fn the_plan_shows_chunks_of_4_mib_where_a_small_part_of_the_inputs_is_read_at_a_time() {
    let dir = TestDir::new();
    dir.write("c.npy", crate::arrays::zeros("'|u1'", &[1200, 1000]));
    dir.write("f.npy", integers("|u1", &[1200, 1000], |_| 0).fortran().file());
    dir.write("line.npy", integers("<i8", &[1, 70, 1], |n| n as i64).fortran().file());
    for (args, access, chunks) in [
        (&["x * 1.5", "x=c.npy"][..], "memory-mapped, not copied", "3 of up to 3.05 MiB, using 6.10 MiB"),
        (
            &["x * 1.5", "x=f.npy"],
            "memory-mapped, column-major, transposed chunk by chunk",
            "1 of 9.16 MiB, using 19.45 MiB",
        ),
        // With one size other than 1, both orders are the same.
        (&["x * 2", "x=line.npy"], "memory-mapped, not copied", "1 of 560 B, using 1.09 KiB"),
        (&["sum(x)", "x=line.npy"], "memory-mapped, not copied", "1 of 8 B, using 16 B"),
        (
            &["x - sum(x, 0)", "x=c.npy", "--dtype", "float64"],
            "memory-mapped, not copied",
            "3 of up to 3.05 MiB",
        ),
    ] {
        let plan = dir.run(["eval", "--plan"].iter().chain(args)).expect_success();
        assert!(plan.lines().next().is_some_and(|line| line.ends_with(&format!("  {access}"))), "{plan}");
        let line = plan.lines().find(|line| line.starts_with("chunks: ")).expect("chunks");
        assert!(line.starts_with(&format!("chunks: {chunks}")), "{plan}");
        // All chunks of an expression without reductions have the same loops.
        let several = !chunks.starts_with("1 ") && !args[0].contains("sum");
        assert_eq!(line.ends_with("; in each chunk:"), several, "{plan}");
    }
}
