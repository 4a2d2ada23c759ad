//! Files exchanged with NumPy, in both directions.
//!
//! `UNISHAPE_PYTHON` names a Python that has numpy and ml_dtypes.

use std::path::Path;
use std::process::Command;
use unishape::{Tensor, TensorView};
use unishape_npy::{self as npy, Header};

/// Runs `exchange.py`; false if there is no Python to run it.
fn numpy(task: &str, folder: &Path) -> bool {
    let Some(python) = std::env::var_os("UNISHAPE_PYTHON") else {
        assert!(
            std::env::var_os("CI").is_none(),
            "UNISHAPE_PYTHON is not set: in CI it must name a Python that has numpy and ml_dtypes"
        );
        println!("skipped: UNISHAPE_PYTHON names no Python with numpy and ml_dtypes");
        return false;
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/exchange.py");
    let output = Command::new(&python).arg(script).arg(task).arg(folder).output();
    let output = output.unwrap_or_else(|error| panic!("{} does not run: {error}", python.display()));
    assert!(output.status.success(), "{task}: {}", String::from_utf8_lossy(&output.stderr));
    true
}

fn hex(bytes: impl IntoIterator<Item = u8>) -> String {
    bytes.into_iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The elements in C order in the format of the script: little-endian bytes in hex, or lines.
fn expected(tensor: &Tensor) -> String {
    macro_rules! bytes {
        ($view:ident) => {
            hex($view.iter().flat_map(|element| element.to_le_bytes()))
        };
    }
    macro_rules! complex_bytes {
        ($view:ident) => {
            hex($view
                .iter()
                .flat_map(|element| [element.re.to_le_bytes(), element.im.to_le_bytes()].concat()))
        };
    }
    match tensor {
        Tensor::F16(view) => bytes!(view),
        Tensor::BF16(view) => bytes!(view),
        Tensor::F32(view) => bytes!(view),
        Tensor::F64(view) => bytes!(view),
        Tensor::I8(view) => bytes!(view),
        Tensor::I16(view) => bytes!(view),
        Tensor::I32(view) => bytes!(view),
        Tensor::I64(view) => bytes!(view),
        Tensor::U8(view) => bytes!(view),
        Tensor::U16(view) => bytes!(view),
        Tensor::U32(view) => bytes!(view),
        Tensor::U64(view) => bytes!(view),
        Tensor::Bool(view) => hex(view.iter().map(|&truth| u8::from(truth))),
        Tensor::C64(view) => complex_bytes!(view),
        Tensor::C128(view) => complex_bytes!(view),
        Tensor::Str(view) => view.iter().map(|text| hex(text.bytes())).collect::<Vec<_>>().join("\n"),
    }
}

/// The arrays that NumPy wrote: file name, dtype name and shape.
fn listed(folder: &Path) -> Vec<(String, String, Vec<usize>)> {
    let list = std::fs::read_to_string(folder.join("list")).unwrap();
    let rows = list.lines().map(|line| {
        let mut parts = line.split(' ').map(str::to_string);
        let (name, dtype, shape) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
        let shape = shape.split('x').filter(|size| !size.is_empty()).map(|size| size.parse().unwrap());
        (name, dtype, shape.collect())
    });
    rows.collect()
}

/// BC-8: every bit of every value survives, in both directions.
#[test]
fn bc8_every_bit_survives_npy_to_numpy_and_back() {
    let (theirs, ours) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (theirs, ours) = (theirs.path(), ours.path());
    if !numpy("write", theirs) {
        return;
    }
    let listed = listed(theirs);
    assert!(listed.len() > 300);
    let mut tensors = Vec::new();
    for (name, dtype, shape) in &listed {
        let tensor = npy::read(theirs.join(format!("{name}.npy"))).unwrap();
        assert_eq!((tensor.dtype().name(), tensor.shape()), (dtype.as_str(), &shape[..]), "{name}");
        let text = std::fs::read_to_string(theirs.join(format!("{name}.txt"))).unwrap();
        assert_eq!(expected(&tensor), text, "{name} {dtype} {shape:?}");
        npy::write(ours.join(format!("{name}.npy")), &tensor).unwrap();
        std::fs::write(ours.join(format!("{name}.txt")), text).unwrap();
        tensors.push((name.as_str(), tensor));
    }
    std::fs::copy(theirs.join("list"), ours.join("list")).unwrap();
    let views: Vec<(&str, TensorView<'_>)> =
        tensors.iter().map(|(name, tensor)| (*name, tensor.view())).collect();
    npy::write_npz(ours.join("all.npz"), &views).unwrap();
    numpy("check", ours);

    for archive in ["stored.npz", "compressed.npz"] {
        let members = npy::read_npz(theirs.join(archive)).unwrap();
        assert!(members.len() > 150);
        for (name, tensor) in members {
            let text = std::fs::read_to_string(theirs.join(format!("{name}.txt"))).unwrap();
            assert_eq!(expected(&tensor), text, "{archive} {name}");
        }
    }
}

/// Dtypes without tensors can be copied: item size and header are equal to NumPy's.
#[test]
fn other_dtypes_of_numpy_are_copied() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    if !numpy("write", folder) {
        return;
    }
    let sizes = std::fs::read_to_string(folder.join("opaque")).unwrap();
    for (number, size) in sizes.lines().enumerate() {
        let file = std::fs::read(folder.join(format!("opaque{number}.npy"))).unwrap();
        let header = Header::read(&mut &file[..]).unwrap();
        assert_eq!(header.item_size().to_string(), size, "{}", header.descr);
        let mut again = Vec::new();
        header.write(&mut again).unwrap();
        assert_eq!(again, file[..again.len()], "{}", header.descr);
        assert_eq!(file.len() as u64, header.encoded_len().unwrap() + header.data_bytes().unwrap());
        assert!(npy::read_from(&file[..]).unwrap_err().to_string().contains("convert them"));
    }
    let error = npy::read(folder.join("objects.npy")).unwrap_err().to_string();
    assert!(error.contains("pickled Python objects"), "{error}");
}
