//! Zarr stores that Python's `zarr` made, and stores that `zarr` and xarray read.

use crate::formats::python;
use crate::support::{TestDir, start};
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
