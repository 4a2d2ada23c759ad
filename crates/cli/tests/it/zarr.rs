//! Zarr stores: those that the command writes, that Python's `zarr` made, and that `zarr` and xarray read.

use crate::arrays::zeros;
use crate::eval::{integers, result};
use crate::formats::python;
use crate::support::{TestDir, start};
use ndarray::Array2;
use serde_json::{Value, json};
use unishape_npy as npy;

/// Stores of both versions with many codecs and chunk shapes, and what NumPy computes.
const STORES: &str = "
import numpy as np, zarr
from numcodecs import Blosc
a = (np.arange(7 * 50 * 6, dtype='f4') / 8).reshape(7, 50, 6)
b = np.array([[1.5], [-2], [0.25]] * 10 + [[3]] * 20)
g = zarr.open_group('v3.zarr', mode='w', zarr_format=3)
c3 = zarr.codecs
for name, args in {
    'zstd': dict(compressors=[c3.ZstdCodec()]),
    'gzip': dict(compressors=[c3.GzipCodec()]),
    'blosc': dict(compressors=[c3.BloscCodec(cname='lz4', shuffle='shuffle')]),
    'crc': dict(compressors=[c3.Crc32cCodec()]),
    'plain': dict(compressors=None),
    'sharded': dict(shards=(4, 40, 6)),
    'transposed': dict(filters=[c3.TransposeCodec(order=(2, 0, 1))]),
}.items():
    g.create_array(name, shape=a.shape, chunks=(2, 20, 6), dtype=a.dtype, **args)[:] = a
g.create_array('deep/b', shape=b.shape, chunks=(16, 1), dtype=b.dtype)[:] = b
h = zarr.open_group('v2.zarr', mode='w', zarr_format=2)
for name, args in {
    'blosc': dict(compressors=[Blosc(cname='zstd')]), 'plain': dict(compressors=None), 'f': dict(order='F'),
}.items():
    h.create_array(name, shape=a.shape, chunks=(3, 20, 5), dtype='>f4' if name == 'plain' else a.dtype, **args)[:] = a
np.save('expected.npy', a * b + 1)
";

#[test]
fn stores_of_both_versions_are_read_and_written() {
    let dir = TestDir::new();
    if !python(&dir, STORES) {
        return;
    }
    let arrays = ["v3.zarr:zstd", "v3.zarr/gzip", "v3.zarr:blosc", "v3.zarr:crc", "v3.zarr:plain"];
    let arrays = arrays.iter().chain(&["v3.zarr:sharded", "v3.zarr:transposed"]);
    for array in arrays.chain(&["v2.zarr:blosc", "v2.zarr:plain", "v2.zarr:f"]) {
        let a = format!("a={array}");
        let args = ["eval", "a * b + 1", &a, "b=v3.zarr:deep/b", "-q", "-f", "-o"];
        dir.run(args.iter().chain(&["own.npy"])).expect_success();
        assert_eq!(dir.read("own.npy"), dir.read("expected.npy"), "{array}");
        dir.run(args.iter().chain(&["own.npy", "--memory", "1M", "--threads", "1"])).expect_success();
        assert_eq!(dir.read("own.npy"), dir.read("expected.npy"), "{array}");
        // From store to store, block by block where the codecs allow it.
        dir.run(args.iter().chain(&["own.zarr"])).expect_success();
        dir.run(["eval", "r", "r=own.zarr", "-q", "-f", "-o", "own.npy"]).expect_success();
        assert_eq!(dir.read("own.npy"), dir.read("expected.npy"), "{array}");
    }
    let args = ["eval", "a * b + 1", "a=v3.zarr:zstd", "b=v3.zarr:deep/b", "-q", "-o"];
    dir.run(args.iter().chain(&["out3.zarr"])).expect_success();
    dir.run(args.iter().chain(&["out2.zarr:x", "--zarr-format", "2", "--chunks", "7,9,6"])).expect_success();
    dir.run(["broadcast", "v3.zarr:deep/b", "v2.zarr:f", "-q", "--out", "both.zarr"]).expect_success();
    dir.run(["eval", "a > 3", "a=v2.zarr:f", "-q", "-o", "bools.zarr"]).expect_success();
    dir.run(["eval", "mean(a, axis=1)", "a=v2.zarr:f", "-q", "-o", "mean.zarr"]).expect_success();
    // Without a fill value, which xarray would take for the mark of missing values, zeros have to be stored.
    dir.run(["eval", "a * 0", "a=v2.zarr:f", "-q", "-o", "zeros.zarr", "--zarr-format", "2"])
        .expect_success();
    for (store, format) in [("deep2.zarr:x/y/z", "2"), ("deep3.zarr:x/y/z", "3")] {
        dir.run(["eval", "a", "a=v2.zarr:f", "-q", "-o", store, "--zarr-format", format]).expect_success();
        assert_eq!(dir.run(["shape", &store[..10]]).expect_success(), "7x50x6\n");
    }
    assert!(python(
        &dir,
        &format!(
            "{STORES}
import xarray as xr
z = zarr.open_group('out3.zarr', mode='r')
assert z.metadata.consolidated_metadata is not None and z['result'].chunks == (2, 20, 6), z['result'].chunks
assert np.array_equal(z['result'][:], a * b + 1)
y = zarr.open_group('out2.zarr', mode='r')
assert y.metadata.zarr_format == 2 and y['x'].chunks == (7, 9, 6)
assert np.array_equal(y['x'][:], a * b + 1)
for store, name in (('out3.zarr', 'result'), ('out2.zarr', 'x')):
    data = xr.open_zarr(store, consolidated=True)[name]
    assert data.dims == ('dim_0', 'dim_1', 'dim_2') and np.array_equal(data.values, a * b + 1)
both = zarr.open_group('both.zarr', mode='r')
assert np.array_equal(both['b'][:], np.broadcast_to(b, a.shape)) and np.array_equal(both['f'][:], a)
for store in ('deep2.zarr', 'deep3.zarr'):
    assert np.array_equal(zarr.open_group(store, mode='r')['x/y/z'][:], a)
    assert np.array_equal(zarr.open_group(store, mode='r')['x']['y']['z'][:], a)
    assert np.array_equal(xr.open_zarr(store, group='x/y', consolidated=False)['z'].values, a)
assert np.array_equal(xr.open_zarr('zeros.zarr')['result'].values, a * 0)
assert np.array_equal(zarr.open_group('bools.zarr')['result'][:], a > 3)
assert np.allclose(zarr.open_group('mean.zarr')['result'][:], a.mean(axis=1))
"
        )
    ));
    assert_eq!(dir.run(["shape", "v3.zarr:zstd", "v2.zarr:f"]).expect_success(), "7x50x6\n");
    let message = dir.run(["shape", "v3.zarr:q"]).expect_error(2);
    assert!(message.contains("there is no array 'q'; it has blosc, crc, deep/b, gzip"), "{message}");
    let message = dir.run(["eval", "a", "a=v2.zarr:f", "-o", "out3.zarr"]).expect_error(4);
    assert_eq!(message, "unishape: out3.zarr already exists; use --force to replace it\n");
    dir.run(["eval", "a", "a=v2.zarr:f", "-q", "-f", "-o", "out3.zarr"]).expect_success();
    let message = dir.run(["eval", "a", "a=v2.zarr:f", "-f", "-o", "v2.zarr"]).expect_error(2);
    assert!(message.contains("would be overwritten"), "{message}");
}

#[test]
fn damaged_stores_are_errors() {
    let dir = TestDir::new();
    dir.write("empty.zarr/note", "");
    assert!(dir.run(["shape", "empty.zarr"]).expect_error(5).contains("no Zarr store, or has no arrays"));
    assert!(dir.run(["shape", "gone.zarr"]).expect_error(4).starts_with("unishape: gone.zarr: "));
    for (metadata, problem) in [
        ("{", "no Zarr store"),
        (r#"{"zarr_format": 3, "node_type": "array"}"#, "bad.zarr"),
        (
            r#"{"zarr_format": 3, "node_type": "array", "shape": [1000000000000], "data_type": "float64",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1000000000000]}},
            "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes",
            "configuration": {"endian": "little"}}]}"#,
            "larger than 2 GiB",
        ),
    ] {
        dir.write("bad.zarr/zarr.json", metadata);
        let message = dir.run(["eval", "a", "a=bad.zarr"]).expect_error(5);
        assert!(message.contains(problem), "{message}");
    }
}

/// 20 GB of a fill value, and a store larger than the memory that the test allows.
#[cfg(target_os = "linux")]
#[test]
fn memory_is_bounded() {
    let dir = TestDir::new();
    let script = "
import numpy as np, zarr
g = zarr.open_group('v.zarr', mode='w')
g.create_array('fill', shape=(50000, 50000), chunks=(500, 1000), dtype='f8', fill_value=2.5)
x = g.create_array('real', shape=(6000, 5000), chunks=(300, 2500), dtype='f8')
row = np.random.default_rng(1).random(5000)
for i in range(0, 6000, 300):
    x[i:i + 300] = row + np.arange(i, i + 300)[:, None]
";
    if !python(&dir, script) || !crate::support::can_measure_memory() {
        return;
    }
    let shape = dir.run(["shape", "v.zarr:fill"]).expect_success();
    assert_eq!(shape, "50000x50000\n");
    // 20 GB of fill values give 0, so that no chunk is written; and 240 MB of elements. Chunks of these have 6 MB, but
    // are not in memory as a whole. Reductions read a temporary file. Pages of files are not counted.
    for (expression, a, result, limit) in [
        ("a * 2 - 5", "a=v.zarr:fill", "out.zarr", 24),
        ("a * 2 - 5", "a=v.zarr:real", "out.zarr", 24),
        ("mean(a, axis=0)", "a=v.zarr:real", "mean.npy", 128),
        ("a - max(a, axis=1, keepdims=True)", "a=v.zarr:real", "less.zarr", 128),
    ] {
        let args = ["eval", expression, a, "-q", "-f", "-o", result, "--memory", "64M", "--threads", "2"];
        let mut child = start(&mut dir.command(args));
        let mut peak = 0u64;
        while child.try_wait().expect("a process").is_none() {
            let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
            let size = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
            peak = peak.max(size.unwrap_or(0));
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert!(child.wait().expect("an exit").success(), "{expression} {a}");
        assert!(peak > 0 && peak < limit << 10, "{expression} {a}: {peak} KiB");
    }
    assert!(python(
        &dir,
        "
import numpy as np, zarr
x, y = zarr.open_group('v.zarr')['real'], zarr.open_group('out.zarr')['result']
assert np.array_equal(y[::300], x[::300] * 2 - 5) and np.array_equal(y[-1], x[-1] * 2 - 5)
x = x[:]
assert np.allclose(np.load('mean.npy'), x.mean(axis=0), rtol=1e-12)
assert np.array_equal(zarr.open_group('less.zarr')['result'][:], x - x.max(axis=1, keepdims=True))
"
    ));
}

#[test]
fn a_damaged_chunk_is_an_error_and_leaves_no_store() {
    let dir = TestDir::new();
    dir.run(["eval", "i * j", "i=1:400x1", "j=1:300", "-q", "-o", "a.zarr", "--chunks", "200,300"])
        .expect_success();
    dir.write("a.zarr/result/c/1/0", "not compressed");
    let message = dir.run(["eval", "a + 1", "a=a.zarr", "-q", "-o", "b.zarr"]).expect_error(5);
    assert!(message.starts_with("unishape: a.zarr:result: chunk (1, 0) cannot be decoded: "), "{message}");
    assert!(!dir.path("b.zarr").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_run_leaves_no_store() {
    let dir = TestDir::new();
    let args = ["eval", "sin(i) * cos(j)", "i=0:20000x1", "j=0:20000", "-q", "-o", "z.zarr"];
    let mut child = start(&mut dir.command(args));
    while !dir.list().iter().any(|name| name.contains("/result/c/")) {
        assert!(child.try_wait().expect("a process").is_none(), "it ended too early");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(!dir.path("z.zarr").exists());
    let kill = dir.program("kill", ["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(kill.success());
    let output = crate::support::RunOutput::new(child.wait_with_output().expect("an exit"));
    assert_eq!(output.expect_error(130), "unishape: stopped; nothing was written\n");
    assert_eq!(dir.list(), [""; 0]);
}

#[test]
fn rank_0_and_empty_arrays_are_written() {
    let dir = TestDir::new();
    for (value, shape) in [("a=2.5", "()"), ("a=[[],[]]", "2x0")] {
        dir.run(["eval", "a * 2", value, "-q", "-f", "-o", "z.zarr"]).expect_success();
        assert_eq!(dir.run(["shape", "z.zarr"]).expect_success(), format!("{shape}\n"));
        dir.run(["eval", "x", "x=z.zarr", "-q", "-f", "-o", "z.npy"]).expect_success();
        assert_eq!(
            unishape::notation::shape_text(npy::read(dir.path("z.npy")).expect("a file").shape()),
            shape
        );
    }
}

/// The number of threads of a command that compute. Others, such as those that `zarrs` starts, only wait.
#[cfg(target_os = "linux")]
#[track_caller]
fn busy_threads(command: &mut std::process::Command) -> usize {
    let mut child = start(command);
    let tasks = format!("/proc/{}/task", child.id());
    // Nanoseconds on a CPU, by thread.
    let mut times = std::collections::HashMap::new();
    while child.try_wait().expect("a child").is_none() {
        for task in std::fs::read_dir(&tasks).into_iter().flatten().flatten() {
            // Threads may have ended meanwhile.
            let status = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            if let Some(Ok(time)) = status.split(' ').next().map(str::parse::<u64>) {
                times.insert(task.file_name(), time);
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let output = child.wait_with_output().expect("an output");
    assert!(output.status.success(), "{output:?}");
    let most = times.values().max().expect("a thread");
    times.values().filter(|&time| time * 10 > *most).count()
}

#[cfg(target_os = "linux")]
#[test]
fn the_number_of_threads_is_respected() {
    let dir = TestDir::new();
    dir.run(["eval", "i + 0.5", "i=0:1000", "-q", "-o", "row.npy"]).expect_success();
    let write = ["broadcast", "row.npy", "--to", "3000x1000", "--chunks", "10x1000", "-q", "--out", "a.zarr"];
    let scaled = ["eval", "a * 2", "a=a.zarr", "-q", "-f", "-o", "b.zarr"];
    let mean = ["eval", "mean(a)", "a=a.zarr"];
    for args in [&write[..], &scaled, &mean] {
        assert_eq!(busy_threads(dir.command(args).env("UNISHAPE_NUM_THREADS", "1")), 1, "{args:?}");
    }
    for args in [&scaled[..], &mean] {
        let mut command = dir.command(args.iter().chain(&["--threads", "1"]));
        assert_eq!(busy_threads(command.env_remove("UNISHAPE_NUM_THREADS")), 1, "{args:?}");
    }
}

const BYTES: &str = r#"{"name": "bytes", "configuration": {"endian": "little"}}"#;
const TRANSPOSED: &str = r#"{"name": "transpose", "configuration": {"order": [1, 0]}},
    {"name": "bytes", "configuration": {"endian": "little"}}"#;

/// An array of a fill value: without any chunk, it takes no space.
fn fill(dir: &TestDir, name: &str, shape: &[usize], chunk: &[usize], dtype: &str, codecs: &str) {
    let value = if dtype == "bool" { "true" } else { "0.5" };
    let metadata = format!(
        r#"{{"zarr_format": 3, "node_type": "array", "shape": {shape:?}, "data_type": "{dtype}",
        "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": {chunk:?}}}}},
        "chunk_key_encoding": {{"name": "default"}}, "fill_value": {value}, "codecs": [{codecs}]}}"#
    );
    dir.write(format!("{name}/zarr.json"), metadata);
}

/// `1000 i + j` in chunks of 24x20.
fn numbers(dir: &TestDir, name: &str) -> Array2<i64> {
    let args = ["eval", "i * 1000 + j", "i=0:70x1", "j=0:50", "-q", "--chunks", "24x20", "-o", name];
    dir.run(args).expect_success();
    Array2::from_shape_fn((70, 50), |(i, j)| (i * 1000 + j) as i64)
}

#[test]
fn stores_that_the_command_wrote_are_read() {
    let dir = TestDir::new();
    let a = numbers(&dir, "a.zarr");
    assert_eq!(result(&dir, &["a", "a=a.zarr"]), a.clone().into());
    assert_eq!(result(&dir, &["a.T", "a=a.zarr"]), a.t().as_standard_layout().to_owned().into());
    assert_eq!(result(&dir, &["sum(a, 0)", "a=a.zarr"]), a.sum_axis(ndarray::Axis(0)).into());
    dir.run(["eval", "a.T", "a=a.zarr", "--chunks", "50x7", "-q", "-o", "t.zarr"]).expect_success();
    assert_eq!(result(&dir, &["t.T", "t=t.zarr"]), a.into());
    // A directory is a store by its metadata, whatever its name; it has the format that was chosen.
    for (format, file, other) in [("2", ".zarray", "zarr.json"), ("3", "zarr.json", ".zarray")] {
        let store = format!("v{format}.zarr:own");
        dir.run(["eval", "i", "i=0:3", "-q", "--zarr-format", format, "-o", &store]).expect_success();
        let exists = |file: &str| dir.path(format!("v{format}.zarr/own/{file}")).exists();
        assert!(exists(file) && !exists(other), "{:?}", dir.list());
        std::fs::rename(dir.path(format!("v{format}.zarr")), dir.path("plain")).expect("renamed");
        assert_eq!(dir.run(["eval", "x", "x=./plain"]).expect_success(), "[0 1 2]\n");
        assert_eq!(dir.run(["shape", "./plain"]).expect_success(), "3\n");
        std::fs::remove_dir_all(dir.path("plain")).expect("removed");
    }
}

/// Chunks of more than one block, which an input that is stretched would be read for several times.
#[test]
fn stretched_inputs_of_large_chunks_are_read() {
    let dir = TestDir::new();
    let (rows, columns) = (190, 200);
    let number = |n: usize| n as i64 * 7 % 1009;
    dir.write("a.npy", integers("<i8", &[rows, columns], number).file());
    dir.write("row.npy", integers("<i8", &[columns], number).file());
    dir.write("column.npy", integers("<i8", &[rows, 1], number).file());
    for (name, chunk) in [("a", "190x200"), ("row", "200"), ("column", "190x1")] {
        let (file, store) = (format!("{name}.npy"), format!("{name}.zarr"));
        dir.run(["eval", name, &file, "--chunks", chunk, "-q", "-o", &store]).expect_success();
    }
    let all = |i: usize, j: usize| number(i * columns + j) + number(j) + number(i);
    let args = ["a + row + column + k", "a=a.zarr", "row=row.zarr", "column=column.zarr", "k=0:3x1x1"];
    // Chunks of two and of one matrices, and of half of each.
    for chunks in ["2x190x200", "1x190x200", "3x95x200"] {
        let more = ["--chunks", chunks, "-q", "-f", "-o", "z.zarr"];
        dir.run(["eval"].iter().chain(&args).chain(&more)).expect_success();
        let expected = ndarray::Array3::from_shape_fn((3, rows, columns), |(k, i, j)| all(i, j) + k as i64);
        assert!(result(&dir, &["z", "z=z.zarr"]) == expected.into(), "{chunks}");
    }
}

#[test]
fn the_plan_shows_how_stores_are_read() {
    let dir = TestDir::new();
    let shape = [1000, 1000];
    fill(&dir, "rows.zarr", &shape, &[10, 1000], "float64", BYTES);
    fill(&dir, "wide.zarr", &shape, &[100, 1000], "float64", BYTES);
    fill(&dir, "small.zarr", &[1024, 1024], &[100, 1024], "float64", BYTES);
    fill(&dir, "large.zarr", &[1024, 1025], &[100, 1025], "float64", BYTES);
    fill(&dir, "bools.zarr", &[4000, 3000], &[100, 3000], "bool", BYTES);
    dir.write("large.npy", zeros("'<f8'", &[1025, 1025]));
    for (expr, inputs, memory, access, chunks) in [
        // 43 rows fit the memory, so that a chunk has 40; where stored chunks have more, they are split equally.
        (
            "a * 2",
            &["a=rows.zarr"][..],
            "1M",
            "decoded chunk by chunk",
            "25 of up to 312.50 KiB, using 937.50 KiB",
        ),
        (
            "a * 2",
            &["a=wide.zarr"],
            "1M",
            "decoded chunk by chunk",
            "24 of up to 328.12 KiB, using 984.38 KiB",
        ),
        // Chunks of an input with fewer dimensions than the result.
        (
            "a + i",
            &["a=rows.zarr", "i=0:2x1x1"],
            "1M",
            "decoded chunk by chunk",
            "68 of up to 234.38 KiB, using 937.50 KiB",
        ),
        ("sum(a, 0)", &["a=rows.zarr"], "16M", "decoded in memory", "1 of 7.81 KiB, using 7.64 MiB"),
        // To a file only if it is larger than 8 MiB, and its elements need not be checked.
        ("sum(a, 0)", &["a=small.zarr"], "16M", "decoded in memory", "1 of 8.00 KiB, using 8.02 MiB"),
        (
            "sum(a, 0)",
            &["a=large.zarr"],
            "16M",
            "decoded to a temporary file",
            "1 of 8.01 KiB, using 16.02 KiB",
        ),
        ("sum(a, 0)", &["a=bools.zarr"], "16M", "decoded in memory", "1 of 23.44 KiB, using 11.49 MiB"),
        ("sum(a, 0)", &["a=large.npy"], "16M", "memory-mapped, not copied", "1 of 8.01 KiB, using 16.02 KiB"),
    ] {
        let args = ["eval", expr, "--plan", "--memory", memory];
        let plan = dir.run(args.iter().chain(inputs)).expect_success();
        let first = plan.lines().next().expect("a line");
        assert!(first.ends_with(&format!("  {access}")), "{plan}");
        assert!(plan.contains(&format!("\nchunks: {chunks} of ")), "{expr}, {inputs:?}: {plan}");
    }
}

/// What is decoded to a file takes no memory, and needs a directory for it.
#[cfg(unix)]
#[test]
fn large_stores_are_decoded_to_a_temporary_file() {
    let dir = TestDir::new();
    fill(&dir, "small.zarr", &[1024, 1024], &[100, 1024], "float64", BYTES);
    fill(&dir, "large.zarr", &[1024, 1025], &[100, 1025], "float64", BYTES);
    let before = dir.list();
    let sum = ["eval", "sum(a)", "--memory", "4M"];
    assert_eq!(dir.run(sum.iter().chain(&["a=large.zarr"])).expect_success(), "524800.0\n");
    let message = dir.run(sum.iter().chain(&["a=small.zarr"])).expect_error(5);
    assert!(
        message.contains("takes 8.00 MiB, more than --memory 4.00 MiB allows; use --memory 9M"),
        "{message}"
    );
    let mut command = dir.command(sum.iter().chain(&["a=large.zarr"]));
    let output = command.env("TMPDIR", dir.path("gone")).output().expect("the command runs");
    let message = crate::support::RunOutput::new(output).expect_error(4);
    assert!(
        message.starts_with("unishape: large.zarr: cannot be decoded to a temporary file in "),
        "{message}"
    );
    assert_eq!(dir.list(), before);
}

/// The memory of a thread: a block and an encoder for the result, and decoders or decoded chunks for the inputs.
#[test]
fn chunks_that_do_not_fit_the_memory_are_errors() {
    let dir = TestDir::new();
    let shape = [2048, 1024];
    fill(&dir, "a.zarr", &shape, &[512, 1024], "float64", BYTES);
    fill(&dir, "t.zarr", &shape, &[512, 1024], "float64", TRANSPOSED);
    fill(&dir, "half.zarr", &shape, &[512, 512], "float64", BYTES);
    fill(&dir, "row.zarr", &[1024], &[1024], "float64", BYTES);
    for (expr, inputs, needed) in [
        // 256 KiB and 2 MiB for the result; 4 MiB and 256 KiB for chunks that are decoded block by block.
        ("a + 1", &["a=a.zarr"][..], "6.50 MiB"),
        // 4 MiB of elements, and two chunks of 4, 2 or 0 MiB.
        ("a + 1", &["a=t.zarr"], "14.25 MiB"),
        ("a + 1", &["a=half.zarr"], "10.25 MiB"),
        ("a + row", &["a=a.zarr", "row=row.zarr"], "10.52 MiB"),
        ("a + i", &["a=a.zarr", "i=0:1024"], "10.50 MiB"),
        ("a + k", &["a=a.zarr", "k=[[1]]"], "6.50 MiB"),
    ] {
        let args = ["eval", expr, "--chunks", "512x1024", "--memory", "1M", "-q", "-o", "z.zarr"];
        let message = dir.run(args.iter().chain(inputs)).expect_error(5);
        let expected = format!(
            "unishape: a chunk of 512x1024 and its inputs take {needed}, more than --memory 1.00 MiB allows; \
             use a larger --memory, or smaller --chunks\n"
        );
        assert_eq!(message, expected, "{expr} {inputs:?}");
        assert!(!dir.path("z.zarr").exists());
    }
    // An input of another shape in the same chunks.
    let args = ["eval", "a + b", "--chunks", "1x512x1024", "--memory", "1M", "-q", "-o", "z.zarr"];
    let message = dir.run(args.iter().chain(&["a=a.zarr", "b=0:2x1x1"])).expect_error(5);
    assert!(message.contains("take 18.25 MiB"), "{message}");
    // A limit of exactly what is needed: 256 KiB, 384 KiB and 384 KiB.
    let args = ["eval", "i * 1.5", "i=0:100000", "--memory", "1M", "-q", "-o", "z.zarr", "--chunks"];
    dir.run(args.iter().chain(&["49153"])).expect_error(5);
    dir.run(args.iter().chain(&["49152"])).expect_success();
}

/// Each thread has chunks in memory, or blocks of them where they are decoded block by block.
#[cfg(target_os = "linux")]
#[test]
fn the_memory_limits_threads_and_blocks() {
    let dir = TestDir::new();
    fill(&dir, "chunks.zarr", &[4096, 1024], &[512, 1024], "float64", TRANSPOSED);
    fill(&dir, "blocks.zarr", &[2048, 1024], &[2048, 1024], "float64", BYTES);
    for (expr, input, args, limit) in [
        // 14.25 MiB for each chunk of 4 MiB, and stacks.
        ("a - 0.5", "a=chunks.zarr", &["--threads", "8", "--memory", "16M"][..], "ulimit -d 65536"),
        // 10.5 MiB for a chunk of 16 MiB.
        ("a - 0.5", "a=blocks.zarr", &["--threads", "1", "--memory", "16M"], "ulimit -d 28672"),
        // The same where a chunk of the result has one index of another dimension.
        (
            "a - 0.5 + 0 * i",
            "a=blocks.zarr",
            &["i=0:2x1x1", "--chunks", "1x2048x1024", "--threads", "1", "--memory", "80M"],
            "ulimit -d 28672",
        ),
    ] {
        let limit = if crate::support::can_measure_memory() { limit } else { "true" };
        let args = [&["eval", expr, input, "-q", "-f", "-o", "z.zarr"], args].concat();
        crate::support::RunOutput::of(&mut dir.limited(limit, &args)).expect_success();
        assert_eq!(dir.run(["eval", "sum(z)", "z=z.zarr"]).expect_success(), "0.0\n");
    }
}

#[test]
fn chunks_are_those_of_the_inputs() {
    let dir = TestDir::new();
    fill(&dir, "a.zarr", &[2048, 1024], &[512, 256], "float64", BYTES);
    fill(&dir, "column.zarr", &[2000, 1], &[1000, 1], "float64", BYTES);
    for (expr, inputs, shape, chunks) in [
        ("a + 1", &["a=a.zarr"][..], json!([2048, 1024]), json!([512, 256])),
        // In dimensions that have the size of the input.
        ("a[:, :7]", &["a=a.zarr"], json!([2048, 7]), json!([512, 7])),
        ("a + i", &["a=a.zarr", "i=0:3x1x1"], json!([3, 2048, 1024]), json!([3, 512, 256])),
        // Other dimensions are split into chunks of at most 8 MiB.
        ("k + i", &["k=column.zarr", "i=0:2000"], json!([2000, 2000]), json!([1000, 1000])),
        ("i + j", &["i=0:2048x1", "j=0:1024"], json!([2048, 1024]), json!([1024, 1024])),
    ] {
        let args = ["eval", expr, "-o", "z.zarr", "-n", "--json"];
        let json = dir.run(args.iter().chain(inputs)).expect_success();
        let json: Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!((&json["shape"], &json["chunks"]), (&shape, &chunks), "{expr}");
    }
}

#[test]
fn the_result_of_an_expression_in_a_store_has_text_and_json() {
    let dir = TestDir::new();
    let a = numbers(&dir, "a.zarr");
    let args = ["eval", "a * 2", "a=a.zarr", "-o", "z.zarr:x/y"];
    let text = "\
a  a.zarr  70x50  int64
70x50 int64, 27.34 KiB before compression, in chunks of 24x20 to z.zarr:x/y
";
    for written in [false, true] {
        let more = if written { &[][..] } else { &["--dry-run"] };
        let output = dir.run(args.iter().chain(more));
        assert_eq!((output.code, output.stdout.as_str(), output.stderr.as_str()), (0, "", text));
        assert_eq!(dir.path("z.zarr").exists(), written);
    }
    let message = dir.run(args.iter().chain(&["-q"])).expect_error(4);
    assert_eq!(message, "unishape: z.zarr already exists; use --force to replace it\n");
    for (option, written) in [("-q", true), ("-n", false)] {
        let json = dir.run(args.iter().chain(&["--force", "--json", option])).expect_success();
        let expected = json!({
            "shape": [70, 50], "dtype": "int64", "path": "z.zarr:x/y", "chunks": [24, 20], "written": written,
        });
        assert_eq!(serde_json::from_str::<Value>(&json).expect("JSON"), expected);
    }
    assert_eq!(dir.run(args.iter().chain(&["-f", "-q"])).expect_success(), "");
    assert_eq!(result(&dir, &["z", "z=z.zarr:x/y"]), (a * 2).into());
    // An input is not replaced, and names of arrays are those of directories.
    for out in ["a.zarr", "./a.zarr", "a.zarr:other"] {
        let message = dir.run(["eval", "a + 1", "a=a.zarr", "-f", "-o", out]).expect_error(2);
        assert_eq!(message, "unishape: a.zarr would be overwritten by the result; choose another -o\n");
    }
    for name in ["a//b", ".a", "a/.b", "a/"] {
        let out = format!("y.zarr:{name}");
        let message = dir.run(["eval", "1", "-o", &out]).expect_error(2);
        assert_eq!(message, format!("unishape: -o {out}: '{name}' is no name of an array\n"));
    }
    let message = dir.run(["eval", "1", "-o", "gone/y.zarr"]).expect_error(4);
    assert_eq!(message, "unishape: gone: no such directory\n");
}

#[test]
fn arrays_are_broadcast_to_a_store() {
    let dir = TestDir::new();
    dir.write("row.npy", integers("<i8", &[50], |n| n as i64).file());
    let a = numbers(&dir, "a.zarr");
    let args = ["broadcast", "a.zarr", "row.npy", "--out", "z.zarr"];
    let text = "\
a.zarr  70x50 → 70x50
row.npy  50 → 70x50
54.69 KiB before compression to z.zarr
";
    let output = dir.run(args.iter().chain(&["--dry-run"]));
    assert_eq!((output.code, output.stderr.as_str()), (0, text));
    assert!(!dir.path("z.zarr").exists());
    let output = dir.run(args);
    assert_eq!((output.code, output.stdout.as_str(), output.stderr.as_str()), (0, "", text));
    let message = dir.run(args.iter().chain(&["-q"])).expect_error(4);
    assert_eq!(message, "unishape: z.zarr already exists; use --force to replace it\n");
    assert_eq!(dir.run(args.iter().chain(&["-f", "-q", "--zarr-format", "2"])).expect_success(), "");
    assert!(dir.path("z.zarr/row/.zarray").exists());
    for (option, written) in [("-q", true), ("-n", false)] {
        let json = dir.run(args.iter().chain(&["-f", "--json", option])).expect_success();
        let result = |input: &str, name: &str, from: Value| {
            let (dtype, bytes) = ("int64", 28_000);
            json!({"input": input, "from": from, "dtype": dtype, "name": name, "bytes": bytes})
        };
        let expected = json!({
            "shape": [70, 50],
            "results": [result("a.zarr", "a", json!([70, 50])), result("row.npy", "row", json!([50]))],
            "bytes": 56_000, "path": "z.zarr", "written": written,
        });
        assert_eq!(serde_json::from_str::<Value>(&json).expect("JSON"), expected);
    }
    assert!(dir.path("z.zarr/row/zarr.json").exists() && !dir.path("z.zarr/row/.zarray").exists());
    assert_eq!(result(&dir, &["x", "x=z.zarr:a"]), a.into());
    let rows = Array2::from_shape_fn((70, 50), |(_, j)| j as i64);
    assert_eq!(result(&dir, &["x", "x=z.zarr:row"]), rows.into());
    let message = dir.run(["broadcast", "a.zarr", "row.npy", "-f", "--out", "./a.zarr"]).expect_error(2);
    assert!(message.starts_with("unishape: a.zarr would be overwritten by its own result; "), "{message}");
    let message = dir.run(["broadcast", "row.npy", "--out", "gone/z.zarr"]).expect_error(4);
    assert_eq!(message, "unishape: gone: no such directory\n");
}

/// Up to 20 arrays have a line each.
#[test]
fn many_arrays_in_a_store_have_a_summary() {
    let dir = TestDir::new();
    let names: Vec<String> = (0..21).map(|number| format!("a{number}.npy")).collect();
    for name in &names {
        dir.write(name, zeros("'|u1'", &[1, 3]));
    }
    for count in [20, 21] {
        let inputs = names[..count].iter().map(String::as_str);
        let output = dir.run(["broadcast", "-n", "--out", "z.zarr"].into_iter().chain(inputs));
        let lines: Vec<&str> = output.stderr.lines().collect();
        match count {
            20 => assert_eq!((lines.len(), lines[19]), (21, "a19.npy  1x3 → 1x3"), "{output:?}"),
            _ => assert_eq!(lines[..lines.len() - 1], ["21 arrays → 1x3"], "{output:?}"),
        }
    }
}

/// A store or an archive alone has the values of all variables that its arrays are named after.
#[test]
fn a_store_alone_has_the_variables_that_are_named_like_its_arrays() {
    let dir = TestDir::new();
    dir.write("x.npy", integers("<i8", &[3], |n| n as i64).file());
    dir.write("y.npy", integers("<i8", &[1], |_| 10).file());
    for out in ["both.zarr", "both.npz"] {
        dir.run(["broadcast", "x.npy", "y.npy", "-q", "--out", out]).expect_success();
        assert_eq!(dir.run(["eval", "x * 2 + y", out]).expect_success(), "[10 12 14]\n");
        let message = dir.run(["eval", "z", out]).expect_error(2);
        let expected =
            format!("none of its arrays is named like a variable (z); name one, as in z={out}:x\n");
        assert_eq!(message, format!("unishape: {out}: {expected}"));
        let message = dir.run(["eval", "x + z", out]).expect_error(2);
        assert!(message.starts_with("unishape: no value for z"), "{message}");
    }
    let message = dir.run(["shape", "both.zarr"]).expect_error(2);
    assert!(message.starts_with("unishape: both.zarr: name one of its arrays, "), "{message}");
    // A store that is an array itself has the name of its directory.
    fill(&dir, "h.zarr", &[3], &[3], "float64", BYTES);
    assert_eq!(dir.run(["eval", "h + 1", "h.zarr"]).expect_success(), "[1.5 1.5 1.5]\n");
}

/// Of four equal chunks, each advances the bar by a quarter.
#[cfg(target_os = "linux")]
#[test]
fn progress_of_a_store_is_shown() {
    let dir = TestDir::new();
    dir.write("a.npy", zeros("'<f8'", &[400]));
    for args in [
        "broadcast a.npy --to 2x400 --out z.zarr --chunks 2x100",
        "eval 'a + i' a.npy i=0:2x1 -o z.zarr --chunks 2x100",
        "eval 'a[:, None] + a[:2]' a.npy -o z.zarr --chunks 100x2",
    ] {
        let line = format!("{} {args} --force", crate::support::BINARY);
        let environment = [("TERM", "xterm"), ("UNISHAPE_NUM_THREADS", "1")];
        let Some(shown) = crate::support::on_terminal(&dir, &line, &environment) else { return };
        let percent = |part: &str| part.rsplit(' ').next().and_then(|number| number.parse::<u8>().ok());
        let mut percents: Vec<u8> = shown.split('%').filter_map(percent).collect();
        percents.dedup();
        // The first or last of them may not be drawn.
        percents.retain(|&percent| percent != 0 && percent != 100);
        assert_eq!(percents, [25, 50, 75], "{args}: {shown}");
    }
}
