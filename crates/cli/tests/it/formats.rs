//! Arrays in files that other libraries made: `.npz`, `.safetensors`, raw binary, text, and `.npy` files in pipes.

use crate::support::{RunOutput, TestDir};
use ndarray::{arr1, arr2};
use std::io::Write;
use std::process::{Command, Stdio};
use unishape::Tensor;
use unishape_npy as npy;

/// Runs a script in Python, in a directory; false if there is no Python with NumPy and the libraries.
pub(crate) fn python(dir: &TestDir, script: &str) -> bool {
    let Some(python) = std::env::var_os("UNISHAPE_PYTHON") else {
        assert!(std::env::var_os("CI").is_none(), "UNISHAPE_PYTHON is not set: in CI it must name a Python");
        println!("skipped: UNISHAPE_PYTHON names no Python");
        return false;
    };
    let mut command = Command::new(&python);
    let output = command.arg("-c").arg(script).current_dir(dir.path("")).output();
    let output = output.unwrap_or_else(|error| panic!("{} does not run: {error}", python.display()));
    assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
    true
}

/// `a` is 3x4 of float32, `b` is 4 of float64, `s` has strings.
const ARRAYS: &str = "
import numpy as np
a = (np.arange(12, dtype='f4') / 8).reshape(3, 4)
b = np.array([1.5, -2, np.inf, 0.25])
s = np.array(['x', 'yz', 'w', 'v'])
";

/// The result of `a * b + 1`, and of what NumPy computes, in files.
fn check(dir: &TestDir, args: &[&str]) {
    dir.run(["eval", "a * b + 1"].iter().chain(args).chain(&["-q", "-f", "-o", "own.npy"])).expect_success();
    assert_eq!(dir.read("own.npy"), dir.read("expected.npy"), "{args:?}");
}

#[test]
fn members_of_npz_files_of_numpy_are_read() {
    let dir = TestDir::new();
    let script = "
np.savez('z.npz', a=a, b=b, s=s)
np.savez_compressed('c.npz', a=a, b=b, s=s)
np.savez('one.npz', b)
np.save('expected.npy', a * b + 1)
";
    if !python(&dir, &format!("{ARRAYS}{script}")) {
        return;
    }
    check(&dir, &["a=z.npz:a", "b=z.npz:b"]);
    check(&dir, &["a=c.npz:a", "b=one.npz"]);
    check(&dir, &["z.npz"]);
    check(&dir, &["z.npz:a", "c.npz:b"]);
    assert_eq!(dir.run(["shape", "z.npz:a", "c.npz:s", "one.npz"]).expect_success(), "3x4\n");
    let text = dir.run(["explain", "z.npz:b", "2x1"]).expect_success();
    assert!(text.contains("z.npz:b") && text.contains("-2"), "{text}");
    dir.run(["broadcast", "z.npz:a", "c.npz:s", "-q", "--out", "out"]).expect_success();
    assert!(python(
        &dir,
        &format!(
            "{ARRAYS}
for name, x in (('a', a), ('s', s)):
    assert np.array_equal(np.load(f'out/{{name}}.npy'), np.broadcast_to(x, (3, 4))), name
"
        )
    ));
    let message = dir.run(["eval", "x + 1", "x=z.npz"]).expect_error(2);
    assert_eq!(message, "unishape: z.npz: name one of its arrays, as in z.npz:a; it has a, b, s\n");
    let message = dir.run(["shape", "z.npz:q"]).expect_error(2);
    assert_eq!(message, "unishape: z.npz:q: there is no array of that name; it has a, b, s\n");
    let message = dir.run(["eval", "x + 1", "z.npz"]).expect_error(2);
    assert!(message.contains("none of its arrays is named like a variable (x)"), "{message}");
}

#[test]
fn safetensors_files_are_read() {
    let dir = TestDir::new();
    let script = "
from safetensors.numpy import save_file
save_file({'a': a, 'layer.b': b, 'h': a.astype('f2'), 't': a > 0.5, 'i': np.arange(3, dtype='u2')}, 'm.safetensors')
np.save('expected.npy', a * b + 1)
np.save('h.npy', a.astype('f2') * 2)
np.save('t.npy', ~(a > 0.5))
";
    if !python(&dir, &format!("{ARRAYS}{script}")) {
        return;
    }
    check(&dir, &["m.safetensors", "b=m.safetensors:layer.b"]);
    for (expr, name) in [("x * 2", "h"), ("~x", "t")] {
        let value = format!("x=m.safetensors:{name}");
        dir.run(["eval", expr, &value, "-q", "-f", "-o", "own.npy"]).expect_success();
        assert_eq!(dir.read("own.npy"), dir.read(format!("{name}.npy")), "{name}");
    }
    assert_eq!(dir.run(["shape", "m.safetensors:i", "4x1"]).expect_success(), "4x3\n");
    dir.write("bad.safetensors", b"\xff\xff\xff\xff\xff\xff\xff\x7f{}");
    let message = dir.run(["shape", "bad.safetensors:a"]).expect_error(5);
    assert!(message.starts_with("unishape: bad.safetensors: not a .safetensors file: "), "{message}");
    assert!(
        dir.run(["shape", "gone.safetensors:a"]).expect_error(4).starts_with("unishape: gone.safetensors: ")
    );
}

/// As the page of the command says: a mapped array may be read in part, so that its checksum is not compared.
#[test]
fn checksums_of_compressed_arrays_are_verified() {
    let dir = TestDir::new();
    let script = "
import struct, zipfile
for name, save in [('stored.npz', np.savez), ('compressed.npz', np.savez_compressed)]:
    save(name, a=np.arange(3))
    checksum = struct.pack('<I', zipfile.ZipFile(name).getinfo('a.npy').CRC)
    data = open(name, 'rb').read()
    assert data.count(checksum) == 2
    open(name, 'wb').write(data.replace(checksum, b'\\0\\0\\0\\0'))
";
    if !python(&dir, &format!("{ARRAYS}{script}")) {
        return;
    }
    assert_eq!(dir.run(["eval", "a", "stored.npz"]).expect_success(), "[0 1 2]\n");
    let message = dir.run(["eval", "a", "compressed.npz"]).expect_error(5);
    assert!(message.starts_with("unishape: compressed.npz: array 'a': "), "{message}");
}

#[test]
fn raw_and_text_files_are_read() {
    let dir = TestDir::new();
    let script = "
with open('a.bin', 'wb') as f:
    f.write(b'12345678')
    a.tofile(f)
a.astype('>f4').tofile('big.raw')
np.savetxt('a.txt', a)
np.savetxt('b.csv', b[None], delimiter=',', header='one, two')
np.save('expected.npy', a * b + 1)
np.save('doubles.npy', a.astype('f8') * b + 1)
";
    if !python(&dir, &format!("{ARRAYS}{script}")) {
        return;
    }
    check(&dir, &["a=a.bin:float32:3x4@8", "b=b.csv"]);
    check(&dir, &["a=a.bin:<f4:?x4@8", "b.csv"]);
    check(&dir, &["a=big.raw:>f4:3x4", "b.csv"]);
    dir.run(["eval", "a * b + 1", "a.txt", "b.csv", "-q", "-o", "own2.npy"]).expect_success();
    assert_eq!(dir.read("own2.npy"), dir.read("doubles.npy"));
    assert_eq!(dir.run(["shape", "a.bin:float32:?x7"]).expect_success(), "2x7\n");
    let message = dir.run(["shape", "a.bin:float32:5x4"]).expect_error(5);
    assert_eq!(message, "unishape: a.bin: the shape needs 80 bytes, the file has 56\n");
    dir.write("t.csv", "1,2\n3\n");
    let message = dir.run(["eval", "t", "t.csv"]).expect_error(5);
    assert_eq!(message, "unishape: t.csv: line 2: 1 numbers, but the rows before have 2\n");
}

#[test]
fn npy_files_are_read_from_and_written_to_pipes() {
    let dir = TestDir::new();
    let mut file = Vec::new();
    npy::write_to(&mut file, arr1(&[1i32, 2, 3]).view()).expect("written");
    let mut command = dir.command(["eval", "a * b", "a=-", "b=[[1],[10]]", "-q", "-o", "-"]);
    let mut child = crate::support::start(command.stdin(Stdio::piped()));
    child.stdin.take().expect("a pipe").write_all(&file).expect("written");
    let output = child.wait_with_output().expect("an exit");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let result = npy::read_from(&output.stdout[..]).expect("an .npy file");
    assert_eq!(result, Tensor::from(arr2(&[[1i64, 2, 3], [10, 20, 30]])));
    assert_eq!(dir.run_with_input(["shape", "-", "4x1"], &file).expect_success(), "4x3\n");
    let text = dir.run_with_input(["explain", "-", "2x1"], &file).expect_success();
    assert!(text.contains("with 2x1 gives 2x3"), "{text}");
    dir.run_with_input(["broadcast", "-", "--to", "2x3", "-q", "--out", "z"], &file).expect_success();
    assert_eq!(npy::read(dir.path("z/stdin.npy")).expect("a file").shape(), [2, 3]);
    let message = dir.run_with_input(["eval", "a", "a=-"], &file[..file.len() - 1]).expect_error(5);
    assert!(message.starts_with("unishape: standard input: truncated: "), "{message}");
    assert!(dir.run(["eval", "a + b", "a=-", "b=-"]).expect_error(2).contains("only once"));
    // More than is kept in memory.
    let large = ndarray::Array1::<u8>::from_elem(70 << 20, 3);
    let mut file = Vec::new();
    npy::write_to(&mut file, large.view()).expect("written");
    let sum = dir.run_with_input(["eval", "sum(a, dtype=int64)", "a=-"], &file).expect_success();
    assert_eq!(sum, format!("{}\n", 3 * (70 << 20)));
}

/// A pipe can be read once, and only from its start to its end.
#[cfg(unix)]
#[test]
fn named_pipes_are_inputs() {
    let dir = TestDir::new();
    let mut file = Vec::new();
    npy::write_to(&mut file, arr1(&[1i32, 2, 3]).view()).expect("written");
    assert!(dir.program("mkfifo", ["x", "t.csv", "z.npz", "d.bin"]).status().expect("mkfifo").success());
    let run = |args: &[&str], pipe: &str, bytes: &[u8]| {
        let (path, bytes) = (dir.path(pipe), bytes.to_vec());
        // Not joined: it waits for ever if the command does not open the pipe.
        std::thread::spawn(move || std::fs::write(path, bytes));
        dir.run(args)
    };
    assert_eq!(run(&["eval", "x + 1", "x"], "x", &file).expect_success(), "[2 3 4]\n");
    assert_eq!(run(&["sum-to", "()", "x"], "x", &file).expect_success(), "6\n");
    assert_eq!(run(&["shape", "./x", "4x1"], "x", &file).expect_success(), "4x3\n");
    let text = run(&["explain", "./x", "2x1"], "x", &file).expect_success();
    assert!(text.contains("with 2x1 gives 2x3"), "{text}");
    run(&["broadcast", "x", "--to", "2x3", "-q", "--out", "z"], "x", &file).expect_success();
    assert_eq!(npy::read(dir.path("z/x.npy")).expect("a file").shape(), [2, 3]);
    assert_eq!(run(&["eval", "t", "t.csv"], "t.csv", b"1,2\n").expect_success(), "[1 2]\n");
    assert!(run(&["explain", "t.csv", "2x1"], "t.csv", b"1,2\n").expect_success().contains("gives 2x2"));
    let message = run(&["eval", "x", "x"], "x", &file[..file.len() - 1]).expect_error(5);
    assert!(message.starts_with("unishape: x: truncated: "), "{message}");
    assert_eq!(dir.run_with_input(["eval", "x", "x=/dev/stdin"], &file).expect_success(), "[1 2 3]\n");
    for input in ["z.npz:a", "d.bin:int32:3"] {
        let message = dir.run(["eval", "x", &format!("x={input}")]).expect_error(2);
        assert!(message.contains("only an .npy file or text can be read from a pipe"), "{message}");
    }
}

#[test]
fn arrays_are_summed_to_a_shape() {
    let dir = TestDir::new();
    npy::write(dir.path("a.npy"), arr2(&[[1i8, 2, 3], [10, 20, 30]]).view()).expect("written");
    assert_eq!(dir.run(["sum-to", "3", "a.npy"]).expect_success(), "[11 22 33]\n");
    assert_eq!(dir.run(["sum-to", "2x1", "a.npy"]).expect_success(), "[[ 6]\n [60]]\n");
    dir.run(["sum-to", "()", "a.npy", "-q", "-o", "z.npy"]).expect_success();
    assert_eq!(npy::read(dir.path("z.npy")).expect("a file"), ndarray::arr0(66i64).into());
    // With the dtypes of numpy.sum, also where nothing is added.
    npy::write(dir.path("b.npy"), ndarray::Array1::from_elem(100, 200u8).view()).expect("written");
    assert_eq!(dir.run(["sum-to", "()", "b.npy"]).expect_success(), "20000\n");
    dir.run(["sum-to", "100", "b.npy", "-q", "-o", "c.npy"]).expect_success();
    let same = ndarray::Array1::from_elem(100, 200u64);
    assert_eq!(npy::read(dir.path("c.npy")).expect("a file"), same.into());
    let message = dir.run(["sum-to", "4", "a.npy"]).expect_error(1);
    assert!(message.contains("cannot broadcast 4 to 2x3"), "{message}");
}

#[test]
fn arrays_are_broadcast_to_a_given_shape() {
    let dir = TestDir::new();
    npy::write(dir.path("a.npy"), arr1(&[1u8, 2, 3]).view()).expect("written");
    dir.run(["broadcast", "a.npy", "--to", "2x3", "-q", "--out", "z"]).expect_success();
    let expected = Tensor::from(arr2(&[[1u8, 2, 3], [1, 2, 3]]));
    assert_eq!(npy::read(dir.path("z/a.npy")).expect("a file"), expected);
    let message = dir.run(["broadcast", "a.npy", "--to", "2x4", "--out", "y"]).expect_error(1);
    assert!(message.starts_with("unishape: a.npy: cannot broadcast 3 to 2x4: "), "{message}");
    assert!(
        dir.run(["broadcast", "a.npy", "--to", "2x?", "--out", "y"])
            .expect_error(2)
            .contains("must be known")
    );
    assert!(!dir.path("y").exists());
}

#[test]
fn thousands_of_files_have_a_summary() {
    let dir = TestDir::new();
    let mut args = vec!["broadcast".to_owned(), "--out".into(), "z".into(), "--dry-run".into()];
    for i in 0..300 {
        let name = format!("a{i}.npy");
        npy::write(dir.path(&name), ndarray::Array1::<f32>::zeros(if i == 7 { 1 } else { 5 }).view())
            .expect("written");
        args.push(name);
    }
    let output = RunOutput::of(&mut dir.command(&args));
    let lines: Vec<&str> = output.stderr.lines().collect();
    assert_eq!(lines[..3], ["300 arrays → 5", "  299 of 5  43.21 KiB", "  1 of 1  148 B"]);
    assert_eq!(lines.len(), 4, "{output:?}");
}
