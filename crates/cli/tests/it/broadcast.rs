//! `unishape broadcast`: results compared with the specification, bit for bit.

use crate::files::Array;
use crate::support::{Folder, Ran};
use proptest::prelude::*;
use unishape::{DType, Tensor};
use unishape_npy::{self as npy, Header};
use unishape_oracle::{READINGS, Reading, common_shape, strategies};

/// Puts the arrays into files `0.npy`, `1.npy`, … and broadcasts them.
fn broadcast(folder: &Folder, arrays: &[Array], words: &[&str]) -> Ran {
    let names: Vec<String> = (0..arrays.len()).map(|number| format!("{number}.npy")).collect();
    for (array, name) in arrays.iter().zip(&names) {
        folder.put(name, array.file());
    }
    folder.run(
        ["broadcast"].iter().copied().chain(names.iter().map(String::as_str)).chain(words.iter().copied()),
    )
}

/// The common shape of arrays that have one.
fn common(arrays: &[Array]) -> Vec<usize> {
    let shapes: Vec<&[usize]> = arrays.iter().map(Array::shape).collect();
    common_shape(Reading::Standard, &shapes).expect("they go together")
}

/// The files of the results are to the byte those of the arrays that the oracle makes.
#[track_caller]
fn assert_files(folder: &Folder, arrays: &[Array], common: &[usize]) {
    for (number, array) in arrays.iter().enumerate() {
        let file = folder.bytes(format!("z/{number}.npy"));
        let header = Header::read(&mut &file[..]).expect("a header");
        assert_eq!((&header.shape[..], &header.descr), (common, &array.descr));
        assert!(file == array.stretched(common).file(), "{array:?} stretched to {common:?}");
    }
}

#[track_caller]
fn assert_broadcast(arrays: &[Array]) {
    let folder = Folder::new();
    let ran = broadcast(&folder, arrays, &["--out", "z", "--quiet"]);
    assert_eq!((ran.printed(), folder.names().len()), (String::new(), 2 * arrays.len() + 1));
    assert_files(&folder, arrays, &common(arrays));
}

#[test]
fn bc3_bc8_elements_of_every_type_come_through_bit_for_bit() {
    let arrays: Vec<Array> = DType::ALL
        .iter()
        .enumerate()
        .flat_map(|(at, &dtype)| {
            let shape = [&[2, 1, 4][..], &[3, 1], &[2, 3, 1], &[]][at % 4];
            [Array::numbers(dtype, shape), Array::numbers(dtype, shape).fortran()]
        })
        .collect();
    // All in one call: types may differ from one input to the next (BC-2).
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
fn bc3_types_known_by_their_size_alone_come_through_bit_for_bit() {
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
fn bc4_rank_0_is_an_ordinary_case() {
    assert_broadcast(&[Array::of("'<f8'", &[])]);
    assert_broadcast(&[Array::of("'<f8'", &[]), Array::of("'|u1'", &[]).fortran()]);
    assert_broadcast(&[Array::of("'<f8'", &[]), Array::of("'<f4'", &[2, 3])]);
}

#[test]
fn bc6_sizes_of_0_and_1_give_results_without_elements() {
    assert_broadcast(&[Array::of("'<f8'", &[0])]);
    assert_broadcast(&[Array::of("'<f8'", &[0, 3]), Array::of("'<i4'", &[1, 1]), Array::of("'<i2'", &[3])]);
    assert_broadcast(&[Array::of("'<f8'", &[2, 0]).fortran(), Array::of("'<U2'", &[2, 1])]);
}

#[test]
fn bc11_equal_shapes_only_change_to_c_order() {
    assert_broadcast(&[Array::of("'<i4'", &[4, 5]).fortran(), Array::of("'<i4'", &[4, 5])]);
}

/// Rows larger than the pieces that are written at a time.
#[test]
fn bc8_long_rows_come_through_bit_for_bit() {
    assert_broadcast(&[Array::of("'<f8'", &[1, 200_001]), Array::of("'|i1'", &[2, 1])]);
    assert_broadcast(&[Array::of("'<U99'", &[70, 1]).fortran(), Array::of("'<u2'", &[50]).fortran()]);
}

#[test]
fn an_archive_holds_all_results() {
    let folder = Folder::new();
    let arrays: Vec<Array> = DType::ALL
        .iter()
        .enumerate()
        .map(|(at, &dtype)| Array::numbers(dtype, [&[2, 1, 4][..], &[3, 1], &[]][at % 3]))
        .collect();
    broadcast(&folder, &arrays, &["--out", "z.npz", "--quiet"]).printed();
    let read = npy::read_npz(folder.path("z.npz")).expect("an archive");
    assert_eq!(read.len(), arrays.len());
    for (number, ((name, tensor), array)) in read.iter().zip(&arrays).enumerate() {
        assert_eq!(*name, number.to_string());
        let mut file = Vec::new();
        npy::write_to(&mut file, tensor).expect("it can be written");
        assert!(file == array.stretched(&[2, 3, 4]).file(), "{array:?}");
    }
    assert_eq!(folder.names().len(), arrays.len() + 1, "{:?}", folder.names());
}

#[test]
fn a_folder_within_a_folder_is_made_and_one_that_is_there_is_used() {
    let folder = Folder::new();
    let arrays = [Array::of("'<f4'", &[3, 1]), Array::of("'<f4'", &[2])];
    broadcast(&folder, &arrays, &["--out", "new/folder", "-q"]).printed();
    folder.put("new/other.txt", "mine");
    broadcast(&folder, &arrays, &["-o", "new", "-q"]).printed();
    let expected = ["0.npy", "1.npy", "new", "new/0.npy", "new/1.npy", "new/folder", "new/folder/0.npy"];
    assert_eq!(folder.names()[..7], expected);
    assert_eq!(folder.bytes("new/other.txt"), b"mine");
    assert_eq!(folder.bytes("new/0.npy"), arrays[0].stretched(&[3, 2]).file());
}

#[test]
fn results_are_called_as_their_inputs() {
    let folder = Folder::new();
    let file = Array::of("'<f4'", &[2]).file();
    for name in ["data.v1", "data.v2", "plain", "two.parts.npy"] {
        folder.put(name, &file);
    }
    let words = ["broadcast", "data.v1", "data.v2", "plain", "two.parts.npy", "-q", "--out"];
    folder.run(words.iter().chain(&["z"])).printed();
    for name in ["data.v1", "data.v2", "plain", "two.parts"] {
        assert_eq!(folder.bytes(format!("z/{name}.npy")), file, "{name}");
    }
    folder.run(words.iter().chain(&["z.npz"])).printed();
    let read = npy::read_npz(folder.path("z.npz")).expect("an archive");
    let names: Vec<&str> = read.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["data.v1", "data.v2", "plain", "two.parts"]);
}

/// Names of files are bytes on Linux, and two that differ must not become one.
#[cfg(target_os = "linux")]
#[test]
fn results_of_inputs_whose_names_are_no_text_keep_their_names() {
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new();
    let array = Array::of("'<f4'", &[2]);
    let names = [&b"\xff.npy"[..], b"\xfe.npy"].map(OsStr::from_bytes);
    for name in names {
        folder.put(name, array.file());
    }
    let words: Vec<OsString> = ["broadcast".into()]
        .into_iter()
        .chain(names.map(OsStr::to_os_string))
        .chain(["-q", "--out", "z"].map(OsString::from))
        .collect();
    folder.run(words).printed();
    for name in names {
        assert_eq!(folder.bytes(std::path::Path::new("z").join(name)), array.file());
    }
}

/// In an archive names are text, and the two become one but for a number.
#[cfg(target_os = "linux")]
#[test]
fn names_that_are_no_text_stay_two_in_an_archive() {
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new();
    let names = [&b"n\xff.npy"[..], b"n\xfe.npy"].map(OsStr::from_bytes);
    for name in names {
        folder.put(name, Array::of("'<f4'", &[2]).file());
    }
    let words = names.into_iter().chain(["-q", "--out", "z.npz"].map(OsStr::new)).map(OsStr::to_os_string);
    folder.run([OsString::from("broadcast")].into_iter().chain(words)).printed();
    let read = npy::read_npz(folder.path("z.npz")).expect("an archive");
    let names: Vec<&str> = read.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["n\u{fffd}", "n\u{fffd}-1"]);
}

#[test]
fn inputs_of_one_name_give_numbered_results() {
    let folder = Folder::new();
    let arrays = [Array::of("'<f4'", &[3, 1]), Array::of("'<f8'", &[2]), Array::of("'|u1'", &[1])];
    for (array, name) in arrays.iter().zip(["x/a.npy", "y/a.npy", "a-1.npy"]) {
        folder.put(name, array.file());
    }
    let words = ["broadcast", "x/a.npy", "y/a.npy", "a-1.npy", "x/a.npy", "--out"];
    let said = folder.run(words.iter().chain(&["z"])).said();
    let lines: Vec<&str> = said.lines().collect();
    let expected = [
        "x/a.npy            3x1 → 3x2  152 bytes",
        "y/a.npy → a-2.npy    2 → 3x2  176 bytes",
        "a-1.npy              1 → 3x2  134 bytes",
        "x/a.npy → a-3.npy  3x1 → 3x2  152 bytes",
    ];
    assert_eq!(lines[..4], expected);
    let sources = [("a", 0), ("a-2", 1), ("a-1", 2), ("a-3", 0)];
    for (name, number) in sources {
        let expected = arrays[number].stretched(&[3, 2]).file();
        assert_eq!(folder.bytes(format!("z/{name}.npy")), expected, "{name}");
    }
    folder.run(words.iter().chain(&["z.npz", "-q"])).printed();
    let read = npy::read_npz(folder.path("z.npz")).expect("an archive");
    let names: Vec<&str> = read.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, sources.map(|(name, _)| name));
}

#[test]
fn endings_may_be_written_in_capitals() {
    let folder = Folder::new();
    let file = Array::of("'<f4'", &[2]).file();
    folder.put("A.NPY", &file);
    folder.run(["broadcast", "A.NPY", "-q", "--out", "z"]).printed();
    assert_eq!(folder.bytes("z/A.npy"), file);
    folder.run(["broadcast", "A.NPY", "-q", "--out", "q.NPZ"]).printed();
    assert_eq!(npy::read_npz(folder.path("q.NPZ")).expect("an archive")[0].0, "A");
    assert!(folder.run(["shape", "gone.NPY"]).refused(1).starts_with("unishape: gone.NPY: "));
}

/// As the library's own writing does.
#[cfg(unix)]
#[test]
fn what_a_link_leads_to_is_replaced_and_hands_its_permissions_on() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new();
    let array = Array::of("'<f4'", &[2]);
    folder.put("target", "old");
    let rights = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(folder.path("target"), rights).expect("it is mine");
    std::fs::create_dir(folder.path("z")).expect("a folder");
    for (out, result) in [("z", "z/0.npy"), ("z.npz", "z.npz")] {
        symlink(folder.path("target"), folder.path(result)).expect("a link");
        broadcast(&folder, std::slice::from_ref(&array), &["--out", out, "-q", "-f"]).printed();
        assert!(folder.path(result).is_symlink());
        assert_ne!(folder.bytes("target"), b"old");
        let mode = std::fs::metadata(folder.path("target")).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        folder.put("target", "old");
    }
}

#[cfg(unix)]
#[test]
fn results_may_be_read_by_whoever_may_read_new_files() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let arrays = [Array::of("'<f4'", &[3, 1])];
    broadcast(&folder, &arrays, &["--out", "z", "-q"]).printed();
    broadcast(&folder, &arrays, &["--out", "z.npz", "-q"]).printed();
    let mode = |name: &str| std::fs::metadata(folder.path(name)).expect("it is there").permissions().mode();
    assert_eq!((mode("z/0.npy"), mode("z.npz")), (mode("0.npy"), mode("0.npy")));
}

#[test]
fn the_plan_tells_shapes_and_sizes() {
    let folder = Folder::new();
    let arrays = [Array::of("'<f8'", &[16, 1]), Array::of("'|u1'", &[128])];
    let ran = broadcast(&folder, &arrays, &["--out", "z"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    let said = ran.said();
    let lines: Vec<&str> = said.lines().collect();
    // 16 · 128 elements of 8 bytes and of 1 byte, and two headers of 128.
    assert_eq!(lines[..2], ["0.npy  16x1 → 16x128  16.1 KiB", "1.npy   128 → 16x128  2.1 KiB"]);
    assert!(lines[2].starts_with("18.2 KiB to z, ") && lines[2].ends_with(" free there"), "{said}");
    assert_eq!(lines.len(), 3, "{said}");
}

/// What an archive takes besides is its own affair.
#[test]
fn the_plan_of_an_archive_tells_what_its_arrays_take() {
    let folder = Folder::new();
    let arrays = [Array::of("'|u1'", &[2]), Array::of("'|u1'", &[1])];
    let said = broadcast(&folder, &arrays, &["--out", "z.npz"]).said();
    assert!(said.contains("1.npy  1 → 2  130 bytes\n260 bytes to z.npz, "), "{said}");
}

#[test]
fn the_plan_leaves_out_the_middle_of_long_shapes() {
    let folder = Folder::new();
    let arrays = [Array::of("'|u1'", &[1; 1000]), Array::of("'|u1'", &[2])];
    let said = broadcast(&folder, &arrays, &["--out", "z"]).said();
    assert!(said.contains("1x1x1x1x…x1x1x1x1 (1000 dimensions) → 1x1x1x1x…x1x1x1x2 (1000 "), "{said}");
    assert!(said.lines().all(|line| line.chars().count() < 120), "{said}");
}

#[test]
fn a_dry_run_tells_the_plan_and_writes_nothing() {
    let folder = Folder::new();
    let arrays = [Array::of("'<f8'", &[16, 1]), Array::of("'|u1'", &[128])];
    for out in ["z", "z.npz", "new/z"] {
        let ran = broadcast(&folder, &arrays, &["--out", out, "--dry-run"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
        assert!(ran.said().contains("16x1 → 16x128"));
        broadcast(&folder, &arrays, &["--out", out, "-n", "-q"]).printed();
        assert_eq!(folder.names(), ["0.npy", "1.npy"]);
    }
}

#[test]
fn bc6_the_rules_hold_for_files_too() {
    let arrays = [Array::of("'<f8'", &[0, 3]), Array::of("'<f8'", &[1, 3])];
    assert_broadcast(&arrays);
    let folder = Folder::new();
    let said = broadcast(&folder, &arrays, &["--out", "z", "--rules", "sonnx"]).refused(1);
    assert!(said.contains("under these rules a size of 0 is compatible only with 0"), "{said}");
    let arrays = [Array::of("'<f8'", &[3, 1]), Array::of("'<f8'", &[3])];
    assert_broadcast(&arrays);
    let said = broadcast(&folder, &arrays, &["--out", "z", "--strict-rank"]).refused(1);
    assert!(said.contains("strict rank: "), "{said}");
    assert_eq!(folder.names(), ["0.npy", "1.npy"]);
}

/// What is read back as a tensor is equal too: the result is no opaque copy but the array itself.
#[test]
fn bc7_a_result_read_back_is_the_stretched_array() {
    let folder = Folder::new();
    npy::write(folder.path("column.npy"), ndarray::arr2(&[[1.5f32], [-0.0], [3.0]]).view()).expect("written");
    npy::write(folder.path("row.npy"), ndarray::arr1(&[true, false]).view()).expect("written");
    folder.run(["broadcast", "column.npy", "row.npy", "-q", "-o", "z"]).printed();
    let column = Tensor::from(ndarray::arr2(&[[1.5f32, 1.5], [-0.0, -0.0], [3.0, 3.0]]));
    assert_eq!(npy::read(folder.path("z/column.npy")).expect("an array"), column);
    let row = Tensor::from(ndarray::arr2(&[[true, false], [true, false], [true, false]]));
    assert_eq!(npy::read(folder.path("z/row.npy")).expect("an array"), row);
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
        let folder = Folder::new();
        let rules = if reading == Reading::Standard { "standard" } else { "sonnx" };
        let ran = broadcast(&folder, &arrays, &["--out", "z", "--quiet", "--rules", rules]);
        let shapes: Vec<&[usize]> = arrays.iter().map(Array::shape).collect();
        match common_shape(reading, &shapes) {
            Ok(common) => {
                ran.printed();
                assert_files(&folder, &arrays, &common);
                prop_assert_eq!(folder.names().len(), 2 * arrays.len() + 1);
            }
            Err(_) => {
                prop_assert!(ran.refused(1).starts_with("unishape: E1: "));
                prop_assert_eq!(folder.names().len(), arrays.len());
            }
        }
    }
}
