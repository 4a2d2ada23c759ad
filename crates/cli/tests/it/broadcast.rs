//! `unishape broadcast`: results compared with the specification, bit for bit.

use crate::arrays::{Array, zeros};
use crate::support::{RunOutput, TestDir};
use proptest::prelude::*;
use unishape::{DType, Tensor};
use unishape_npy::{self as npy, Header};
use unishape_oracle::{READINGS, Reading, common_shape, strategies};

/// Writes the arrays to `0.npy`, `1.npy`, … and broadcasts them.
fn broadcast(dir: &TestDir, arrays: &[Array], args: &[&str]) -> RunOutput {
    let names: Vec<String> = (0..arrays.len()).map(|number| format!("{number}.npy")).collect();
    for (array, name) in arrays.iter().zip(&names) {
        dir.write(name, array.file());
    }
    dir.run(["broadcast"].iter().copied().chain(names.iter().map(String::as_str)).chain(args.iter().copied()))
}

/// The common shape of compatible arrays.
fn common(arrays: &[Array]) -> Vec<usize> {
    let shapes: Vec<&[usize]> = arrays.iter().map(Array::shape).collect();
    common_shape(Reading::Standard, &shapes).expect("compatible shapes")
}

/// Compares the files of the results, byte by byte, with those of the oracle.
#[track_caller]
fn assert_files(dir: &TestDir, arrays: &[Array], common: &[usize]) {
    for (number, array) in arrays.iter().enumerate() {
        let file = dir.read(format!("z/{number}.npy"));
        let header = Header::read(&mut &file[..]).expect("a header");
        assert_eq!((&header.shape[..], &header.descr), (common, &array.descr));
        assert!(file == array.stretched(common).file(), "{array:?} stretched to {common:?}");
    }
}

#[track_caller]
fn assert_broadcast(arrays: &[Array]) {
    let dir = TestDir::new();
    let output = broadcast(&dir, arrays, &["--out", "z", "--quiet"]);
    assert_eq!((output.expect_success(), dir.list().len()), (String::new(), 2 * arrays.len() + 1));
    assert_files(&dir, arrays, &common(arrays));
}

#[test]
fn bc3_bc8_elements_of_every_type_are_copied_bit_for_bit() {
    let arrays: Vec<Array> = DType::ALL
        .iter()
        .enumerate()
        .flat_map(|(at, &dtype)| {
            let shape = [&[2, 1, 4][..], &[3, 1], &[2, 3, 1], &[]][at % 4];
            [Array::numbers(dtype, shape), Array::numbers(dtype, shape).fortran()]
        })
        .collect();
    // All in one call: inputs may have different dtypes (BC-2).
    assert_eq!(common(&arrays), [2, 3, 4]);
    assert_broadcast(&arrays);
}

#[test]
fn bc8_big_endian_elements_stay_big_endian() {
    let descrs = ["'>f2'", "'>f4'", "'>f8'", "'>i2'", "'>u8'", "'>c16'", "'>U3'"];
    let arrays: Vec<Array> = descrs
        .iter()
        .flat_map(|descr| [Array::of(descr, &[3, 1, 2]), Array::of(descr, &[1, 2, 1]).fortran()])
        .collect();
    assert_broadcast(&arrays);
}

#[test]
fn bc3_unsupported_types_are_copied_bit_for_bit() {
    let descrs = [
        "[('x', '<f4'), ('y', '<i2')]",
        "'<M8[ns]'",
        "'>m8[s]'",
        "'|V5'",
        "'<f16'",
        "'|S7'",
        "[('größe', '<f8', (2, 3))]",
        "'|V0'",
    ];
    let arrays: Vec<Array> = descrs
        .iter()
        .flat_map(|descr| [Array::of(descr, &[4, 1, 3]), Array::of(descr, &[2, 1]).fortran()])
        .collect();
    assert_broadcast(&arrays);
}

#[test]
fn bc4_rank_0_is_broadcast() {
    assert_broadcast(&[Array::of("'<f8'", &[])]);
    assert_broadcast(&[Array::of("'<f8'", &[]), Array::of("'|u1'", &[]).fortran()]);
    assert_broadcast(&[Array::of("'<f8'", &[]), Array::of("'<f4'", &[2, 3])]);
}

#[test]
fn bc6_sizes_of_0_and_1_give_empty_results() {
    assert_broadcast(&[Array::of("'<f8'", &[0])]);
    assert_broadcast(&[Array::of("'<f8'", &[0, 3]), Array::of("'<i4'", &[1, 1]), Array::of("'<i2'", &[3])]);
    assert_broadcast(&[Array::of("'<f8'", &[2, 0]).fortran(), Array::of("'<U2'", &[2, 1])]);
}

#[test]
fn bc11_equal_shapes_are_written_in_row_major_order() {
    assert_broadcast(&[Array::of("'<i4'", &[4, 5]).fortran(), Array::of("'<i4'", &[4, 5])]);
}

/// Rows longer than the write buffer.
#[test]
fn bc8_long_rows_come_through_bit_for_bit() {
    assert_broadcast(&[Array::of("'<f8'", &[1, 200_001]), Array::of("'|i1'", &[2, 1])]);
    assert_broadcast(&[Array::of("'<U99'", &[70, 1]).fortran(), Array::of("'<u2'", &[50]).fortran()]);
}

#[test]
fn an_archive_contains_all_results() {
    let dir = TestDir::new();
    let arrays: Vec<Array> = DType::ALL
        .iter()
        .enumerate()
        .map(|(at, &dtype)| Array::numbers(dtype, [&[2, 1, 4][..], &[3, 1], &[]][at % 3]))
        .collect();
    broadcast(&dir, &arrays, &["--out", "z.npz", "--quiet"]).expect_success();
    let read = npy::read_npz(dir.path("z.npz")).expect("an archive");
    assert_eq!(read.len(), arrays.len());
    for (number, ((name, tensor), array)) in read.iter().zip(&arrays).enumerate() {
        assert_eq!(*name, number.to_string());
        let mut file = Vec::new();
        npy::write_to(&mut file, tensor).expect("a valid header");
        assert!(file == array.stretched(&[2, 3, 4]).file(), "{array:?}");
    }
    assert_eq!(dir.list().len(), arrays.len() + 1, "{:?}", dir.list());
}

#[test]
fn nested_directories_are_created_and_existing_ones_are_used() {
    let dir = TestDir::new();
    let arrays = [Array::of("'<f4'", &[3, 1]), Array::of("'<f4'", &[2])];
    broadcast(&dir, &arrays, &["--out", "new/dir", "-q"]).expect_success();
    dir.write("new/other.txt", "mine");
    broadcast(&dir, &arrays, &["-o", "new", "-q"]).expect_success();
    let expected = ["0.npy", "1.npy", "new", "new/0.npy", "new/1.npy", "new/dir", "new/dir/0.npy"];
    assert_eq!(dir.list()[..7], expected);
    assert_eq!(dir.read("new/other.txt"), b"mine");
    assert_eq!(dir.read("new/0.npy"), arrays[0].stretched(&[3, 2]).file());
}

#[test]
fn results_are_named_after_their_inputs() {
    let dir = TestDir::new();
    let file = Array::of("'<f4'", &[2]).file();
    for name in ["data.v1", "data.v2", "plain", "two.parts.npy"] {
        dir.write(name, &file);
    }
    let args = ["broadcast", "data.v1", "data.v2", "plain", "two.parts.npy", "-q", "--out"];
    dir.run(args.iter().chain(&["z"])).expect_success();
    for name in ["data.v1", "data.v2", "plain", "two.parts"] {
        assert_eq!(dir.read(format!("z/{name}.npy")), file, "{name}");
    }
    dir.run(args.iter().chain(&["z.npz"])).expect_success();
    let read = npy::read_npz(dir.path("z.npz")).expect("an archive");
    let names: Vec<&str> = read.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["data.v1", "data.v2", "plain", "two.parts"]);
}

/// File names are bytes on Linux; different ones must stay different.
#[cfg(target_os = "linux")]
#[test]
fn results_keep_names_that_are_not_utf_8() {
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::OsStrExt;
    let dir = TestDir::new();
    let array = Array::of("'<f4'", &[2]);
    let names = [&b"\xff.npy"[..], b"\xfe.npy"].map(OsStr::from_bytes);
    for name in names {
        dir.write(name, array.file());
    }
    let args: Vec<OsString> = ["broadcast".into()]
        .into_iter()
        .chain(names.map(OsStr::to_os_string))
        .chain(["-q", "--out", "z"].map(OsString::from))
        .collect();
    dir.run(args).expect_success();
    for name in names {
        assert_eq!(dir.read(std::path::Path::new("z").join(name)), array.file());
    }
}

/// Names in an archive are UTF-8: after replacement both are equal, so one is numbered.
#[cfg(target_os = "linux")]
#[test]
fn names_that_are_not_utf_8_stay_distinct_in_an_archive() {
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::OsStrExt;
    let dir = TestDir::new();
    let names = [&b"n\xff.npy"[..], b"n\xfe.npy"].map(OsStr::from_bytes);
    for name in names {
        dir.write(name, Array::of("'<f4'", &[2]).file());
    }
    let args = names.into_iter().chain(["-q", "--out", "z.npz"].map(OsStr::new)).map(OsStr::to_os_string);
    dir.run([OsString::from("broadcast")].into_iter().chain(args)).expect_success();
    let read = npy::read_npz(dir.path("z.npz")).expect("an archive");
    let names: Vec<&str> = read.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["n\u{fffd}", "n\u{fffd}-1"]);
}

#[test]
fn inputs_with_the_same_name_give_numbered_results() {
    let dir = TestDir::new();
    let arrays = [Array::of("'<f4'", &[3, 1]), Array::of("'<f8'", &[2]), Array::of("'|u1'", &[1])];
    for (array, name) in arrays.iter().zip(["x/a.npy", "y/a.npy", "a-1.npy"]) {
        dir.write(name, array.file());
    }
    let args = ["broadcast", "x/a.npy", "y/a.npy", "a-1.npy", "x/a.npy", "--out"];
    let message = dir.run(args.iter().chain(&["z"])).message();
    let lines: Vec<&str> = message.lines().collect();
    let expected = [
        "x/a.npy            3x1 → 3x2  152 B",
        "y/a.npy → a-2.npy    2 → 3x2  176 B",
        "a-1.npy              1 → 3x2  134 B",
        "x/a.npy → a-3.npy  3x1 → 3x2  152 B",
    ];
    assert_eq!(lines[..4], expected);
    let sources = [("a", 0), ("a-2", 1), ("a-1", 2), ("a-3", 0)];
    for (name, number) in sources {
        let expected = arrays[number].stretched(&[3, 2]).file();
        assert_eq!(dir.read(format!("z/{name}.npy")), expected, "{name}");
    }
    dir.run(args.iter().chain(&["z.npz", "-q"])).expect_success();
    let read = npy::read_npz(dir.path("z.npz")).expect("an archive");
    let names: Vec<&str> = read.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, sources.map(|(name, _)| name));
}

#[test]
fn extensions_may_be_in_upper_case() {
    let dir = TestDir::new();
    let file = Array::of("'<f4'", &[2]).file();
    dir.write("A.NPY", &file);
    dir.run(["broadcast", "A.NPY", "-q", "--out", "z"]).expect_success();
    assert_eq!(dir.read("z/A.npy"), file);
    dir.run(["broadcast", "A.NPY", "-q", "--out", "q.NPZ"]).expect_success();
    assert_eq!(npy::read_npz(dir.path("q.NPZ")).expect("an archive")[0].0, "A");
    assert!(dir.run(["shape", "gone.NPY"]).expect_error(4).starts_with("unishape: gone.NPY: "));
}

#[cfg(unix)]
#[test]
fn the_target_of_a_link_is_replaced_and_passes_its_permissions_on() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let dir = TestDir::new();
    let array = Array::of("'<f4'", &[2]);
    dir.write("target", "old");
    let rights = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(dir.path("target"), rights).expect("own file");
    std::fs::create_dir(dir.path("z")).expect("a directory");
    for (out, result) in [("z", "z/0.npy"), ("z.npz", "z.npz")] {
        symlink(dir.path("target"), dir.path(result)).expect("a link");
        broadcast(&dir, std::slice::from_ref(&array), &["--out", out, "-q", "-f"]).expect_success();
        assert!(dir.path(result).is_symlink());
        assert_ne!(dir.read("target"), b"old");
        let mode = std::fs::metadata(dir.path("target")).expect("existing").permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        dir.write("target", "old");
    }
}

#[cfg(unix)]
#[test]
fn results_have_the_permissions_of_new_files() {
    use std::os::unix::fs::PermissionsExt;
    let dir = TestDir::new();
    let arrays = [Array::of("'<f4'", &[3, 1])];
    broadcast(&dir, &arrays, &["--out", "z", "-q"]).expect_success();
    broadcast(&dir, &arrays, &["--out", "z.npz", "-q"]).expect_success();
    let mode = |name: &str| std::fs::metadata(dir.path(name)).expect("existing").permissions().mode();
    assert_eq!((mode("z/0.npy"), mode("z.npz")), (mode("0.npy"), mode("0.npy")));
}

#[test]
fn the_plan_shows_shapes_and_sizes() {
    let dir = TestDir::new();
    let arrays = [Array::of("'<f8'", &[16, 1]), Array::of("'|u1'", &[128])];
    let output = broadcast(&dir, &arrays, &["--out", "z"]);
    assert_eq!((output.code, output.stdout.as_str()), (0, ""));
    let message = output.message();
    let lines: Vec<&str> = message.lines().collect();
    // 16 · 128 elements of 8 bytes and of 1 byte, and two headers of 128 bytes.
    assert_eq!(lines[..2], ["0.npy  16x1 → 16x128  16.12 KiB", "1.npy   128 → 16x128  2.12 KiB"]);
    assert!(lines[2].starts_with("18.25 KiB to z (") && lines[2].ends_with(" free)"), "{message}");
    assert_eq!(lines.len(), 3, "{message}");
}

/// Without the overhead of the archive.
#[test]
fn the_plan_of_an_archive_shows_the_sizes_of_its_arrays() {
    let dir = TestDir::new();
    let arrays = [Array::of("'|u1'", &[2]), Array::of("'|u1'", &[1])];
    let message = broadcast(&dir, &arrays, &["--out", "z.npz"]).message();
    assert!(message.contains("1.npy  1 → 2  130 B\n260 B to z.npz ("), "{message}");
}

#[test]
fn the_plan_abbreviates_long_shapes() {
    let dir = TestDir::new();
    let arrays = [Array::of("'|u1'", &[1; 1000]), Array::of("'|u1'", &[2])];
    let message = broadcast(&dir, &arrays, &["--out", "z"]).message();
    assert!(message.contains("1x1x1x1x…x1x1x1x1 (1000 dimensions) → 1x1x1x1x…x1x1x1x2 (1000 "), "{message}");
    assert!(message.lines().all(|line| line.chars().count() < 120), "{message}");
}

#[test]
fn a_dry_run_prints_the_plan_and_writes_nothing() {
    let dir = TestDir::new();
    let arrays = [Array::of("'<f8'", &[16, 1]), Array::of("'|u1'", &[128])];
    for out in ["z", "z.npz", "new/z"] {
        let output = broadcast(&dir, &arrays, &["--out", out, "--dry-run"]);
        assert_eq!((output.code, output.stdout.as_str()), (0, ""), "{output:?}");
        assert!(output.message().contains("16x1 → 16x128"));
        broadcast(&dir, &arrays, &["--out", out, "-n", "-q"]).expect_success();
        assert_eq!(dir.list(), ["0.npy", "1.npy"]);
    }
}

#[test]
fn bc6_rule_options_apply_to_files() {
    let arrays = [Array::of("'<f8'", &[0, 3]), Array::of("'<f8'", &[1, 3])];
    assert_broadcast(&arrays);
    let dir = TestDir::new();
    let message = broadcast(&dir, &arrays, &["--out", "z", "--rules", "sonnx"]).expect_error(1);
    assert!(message.contains("under these rules a size of 0 is compatible only with 0"), "{message}");
    let arrays = [Array::of("'<f8'", &[3, 1]), Array::of("'<f8'", &[3])];
    assert_broadcast(&arrays);
    let message = broadcast(&dir, &arrays, &["--out", "z", "--strict-rank"]).expect_error(1);
    assert!(message.contains("strict rank: "), "{message}");
    assert_eq!(dir.list(), ["0.npy", "1.npy"]);
}

#[test]
fn bc7_a_result_is_the_stretched_array() {
    let dir = TestDir::new();
    npy::write(dir.path("column.npy"), ndarray::arr2(&[[1.5f32], [-0.0], [3.0]]).view()).expect("written");
    npy::write(dir.path("row.npy"), ndarray::arr1(&[true, false]).view()).expect("written");
    dir.run(["broadcast", "column.npy", "row.npy", "-q", "-o", "z"]).expect_success();
    let column = Tensor::from(ndarray::arr2(&[[1.5f32, 1.5], [-0.0, -0.0], [3.0, 3.0]]));
    assert_eq!(npy::read(dir.path("z/column.npy")).expect("an array"), column);
    let row = Tensor::from(ndarray::arr2(&[[true, false], [true, false], [true, false]]));
    assert_eq!(npy::read(dir.path("z/row.npy")).expect("an array"), row);
}

fn arrays() -> impl Strategy<Value = Vec<Array>> {
    let descr = prop::sample::select(vec![
        "'|u1'",
        "'<f2'",
        "'>f8'",
        "'|V3'",
        "'<U5'",
        "[('a', '<i8'), ('b', '|b1')]",
    ]);
    strategies::shapes(1..=4, 0..=4, 0..=4).prop_flat_map(move |shapes| {
        let array = |shape: Vec<usize>| {
            (descr.clone(), any::<bool>()).prop_map(move |(descr, fortran)| match fortran {
                true => Array::of(descr, &shape).fortran(),
                false => Array::of(descr, &shape),
            })
        };
        shapes.into_iter().map(array).collect::<Vec<_>>()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    #[test]
    fn bc5_to_bc9_any_files_are_broadcast_as_specified(
        arrays in arrays(),
        reading in prop::sample::select(READINGS.to_vec()),
    ) {
        let dir = TestDir::new();
        let rules = if reading == Reading::Standard { "standard" } else { "sonnx" };
        let output = broadcast(&dir, &arrays, &["--out", "z", "--quiet", "--rules", rules]);
        let shapes: Vec<&[usize]> = arrays.iter().map(Array::shape).collect();
        match common_shape(reading, &shapes) {
            Ok(common) => {
                output.expect_success();
                assert_files(&dir, &arrays, &common);
                prop_assert_eq!(dir.list().len(), 2 * arrays.len() + 1);
            }
            Err(_) => {
                prop_assert!(output.expect_error(1).starts_with("unishape: E1: "));
                prop_assert_eq!(dir.list().len(), arrays.len());
            }
        }
    }
}

#[test]
fn wide_file_names_are_aligned_in_columns() {
    let dir = TestDir::new();
    dir.write("宽的.npy", zeros("'|u1'", &[2, 1]));
    dir.write("abcde.npy", zeros("'|u1'", &[3]));
    let message = dir.run(["broadcast", "宽的.npy", "abcde.npy", "--out", "z", "--dry-run"]).message();
    let lines: Vec<&str> = message.lines().take(2).collect();
    assert_eq!(lines, ["宽的.npy   2x1 → 2x3  134 B", "abcde.npy    3 → 2x3  134 B"]);
    let message = dir.run(["eval", "a + b", "a=宽的.npy", "b=abcde.npy", "--dry-run"]).message();
    let lines: Vec<&str> = message.lines().take(2).collect();
    assert_eq!(lines, ["a  宽的.npy   2x1  uint8", "b  abcde.npy    3  uint8"]);
}

/// A single array goes to the file that is named, or through a pipe.
#[test]
fn a_single_array_needs_no_directory() {
    let dir = TestDir::new();
    let array = Array::of("'>f4'", &[4]);
    dir.write("row.npy", array.file());
    let expected = array.stretched(&[3, 4]).file();
    let message = dir.run(["broadcast", "row.npy", "--to", "3x4", "--out", "z.npy"]).message();
    assert!(message.starts_with("row.npy → z.npy  4 → 3x4  "), "{message}");
    assert!(message.contains(" to z.npy ("), "{message}");
    assert_eq!((dir.list(), dir.read("z.npy")), (vec!["row.npy".into(), "z.npy".into()], expected.clone()));
    let message = dir.run(["broadcast", "row.npy", "--to", "3x4", "--out", "z.npy"]).expect_error(4);
    assert_eq!(message, "unishape: z.npy already exists; use --force to replace it\n");
    let message = dir.run(["broadcast", "row.npy", "-f", "--out", "row.npy"]).expect_error(2);
    assert!(message.contains("row.npy would be overwritten by its own result"), "{message}");
    let message = dir.run(["broadcast", "row.npy", "--out", "missing/z.npy"]).expect_error(4);
    assert_eq!(message, "unishape: missing: no such directory\n");

    let mut command = dir.command(["broadcast", "row.npy", "--to", "3x4", "--out", "-"]);
    let output = command.output().expect("the command runs");
    assert_eq!((output.status.code(), output.stdout), (Some(0), expected));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        message.starts_with("row.npy  4 → 3x4\n") && message.ends_with(" to standard output\n"),
        "{message}"
    );
}

/// A reader that closes its pipe is not an error.
#[cfg(unix)]
#[test]
fn a_closed_pipe_ends_the_output() {
    let dir = TestDir::new();
    dir.write("one.npy", Array::of("'<f8'", &[1]).file());
    let script = "{ \"$0\" broadcast one.npy --to 4000000 -q --out -; echo $? > code; } | head -c 6 > start";
    let output = RunOutput::of(&mut dir.program("sh", ["-c", script, crate::support::BINARY]));
    assert_eq!(output.expect_success(), "");
    assert_eq!((dir.read("start"), dir.read("code")), (b"\x93NUMPY".to_vec(), b"0\n".to_vec()));
}

/// Also where the last bytes are written when all others have been.
#[cfg(unix)]
#[test]
fn standard_output_that_cannot_be_written_is_an_error() {
    let dir = TestDir::new();
    dir.write("one.npy", Array::of("'<f8'", &[1]).file());
    // A block of 512 bytes; the header takes 128, and the elements 800, which the process buffers.
    for args in ["broadcast one.npy --to 100 -q --out -", "eval 'one + i' one.npy i=0:100 -q -o -"] {
        let script = format!("trap '' XFSZ; ulimit -f 1; \"$0\" {args} > out");
        let output = RunOutput::of(&mut dir.program("sh", ["-c", &script, crate::support::BINARY]));
        let message = output.expect_error(4);
        assert!(message.starts_with("unishape: standard output: File too large"), "{message}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn arrays_are_not_written_to_a_terminal() {
    let dir = TestDir::new();
    dir.write("one.npy", Array::of("'<f8'", &[1]).file());
    let line = format!("{} broadcast one.npy --out -; echo code $?", crate::support::BINARY);
    let Some(shown) = crate::support::on_terminal(&dir, &line, &[]) else { return };
    assert!(
        shown.starts_with("unishape: --out -: cannot write an .npy file to a terminal; give "),
        "{shown}"
    );
    assert!(shown.ends_with("code 2\r\n"), "{shown}");
}

/// Up to 20 arrays have a line each; of more, the 20 most frequent shapes have one.
#[test]
fn many_arrays_have_a_summary() {
    let dir = TestDir::new();
    let names: Vec<String> = (0..22).map(|number| format!("{number}.npy")).collect();
    // Shapes 2, 1x2, 1x1x2, …; the last one is that of the first.
    for (number, name) in names.iter().enumerate() {
        let shape = [vec![1; number % 21], vec![2]].concat();
        dir.write(name, zeros("'|u1'", &shape));
    }
    let lines = |count: usize| {
        let inputs = names[..count].iter().map(String::as_str);
        let output = dir.run(["broadcast", "-n", "--out", "z"].into_iter().chain(inputs));
        assert_eq!((output.code, output.stdout.as_str()), (0, ""), "{output:?}");
        output.stderr.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let all = lines(20);
    assert!(all.len() == 21 && all[19].starts_with("19.npy  "), "{all:?}");
    let shapes = lines(21);
    assert!(shapes[0].starts_with("21 arrays → ") && shapes.len() == 23, "{shapes:?}");
    assert_eq!(shapes[21], "  1 of 1 other shapes");
    // The shape of two arrays is the first.
    let shapes = lines(22);
    assert!(shapes[0].starts_with("22 arrays → ") && shapes[1].starts_with("  2 of 2  "), "{shapes:?}");
    assert_eq!((shapes.len(), shapes[21].as_str()), (23, "  1 of 1 other shapes"));
    // Without a line about other shapes where there are none.
    std::fs::copy(dir.path("0.npy"), dir.path("20.npy")).expect("a copy");
    let shapes = lines(22);
    assert!(shapes[1].starts_with("  3 of 2  ") && !shapes[21].contains("other"), "{shapes:?}");
    assert_eq!(shapes.len(), 22);
}

/// `new/..` is a directory only once `new` is one.
#[cfg(unix)]
#[test]
fn directories_of_any_form_are_created() {
    let dir = TestDir::new();
    dir.write("a.npy", Array::of("'<f4'", &[2]).file());
    dir.run(["broadcast", "a.npy", "-q", "--out", "new/../new/dir"]).expect_success();
    assert_eq!(dir.list(), ["a.npy", "new", "new/dir", "new/dir/a.npy"]);
    std::os::unix::fs::symlink("nowhere", dir.path("link")).expect("a link");
    let message = dir.run(["broadcast", "a.npy", "-q", "--out", "link/dir"]).expect_error(4);
    assert!(message.starts_with("unishape: link/dir: File exists"), "{message}");
}

/// A terminal may be too narrow for sizes and speed beside the bar.
#[cfg(target_os = "linux")]
#[test]
fn progress_fits_the_terminal() {
    let dir = TestDir::new();
    dir.write("a.npy", zeros("'<f8'", &[1 << 17]));
    for (columns, is_narrow) in [(40, true), (69, true), (70, false), (71, false), (120, false)] {
        let line = format!(
            "stty rows 24 cols {columns} && {} broadcast a.npy --out z --force && echo written",
            crate::support::BINARY
        );
        let Some(shown) = crate::support::on_terminal(&dir, &line, &[("TERM", "xterm")]) else { return };
        assert!(shown.contains('%') && shown.ends_with("written\r\n"), "{shown}");
        assert_eq!(!shown.contains("% of 1.00 MiB"), is_narrow, "{columns}: {shown}");
    }
}
