//! Files: lossless round trips, external data only from the model's directory, and malformed bytes.

use crate::support::tensor;
use ndarray::arr1;
use proptest::prelude::*;
use std::fs;
use std::path::Path;
use unishape::{DType, Tensor};
use unishape_onnx::model_builder::{Attr, ModelBuilder, add_model};
use unishape_onnx::{
    CompiledModel, Error, Model, explain, explicit, implicit, infer_shapes, read_tensor, tensor_bytes,
};

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A length-delimited field.
fn field(number: u64, bytes: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), varint(bytes.len() as u64), bytes.to_vec()].concat()
}

/// A varint field.
fn int(number: u64, value: i64) -> Vec<u8> {
    [varint(number << 3), varint(value as u64)].concat()
}

fn packed(number: u64, values: &[i64]) -> Vec<u8> {
    field(number, &values.iter().flat_map(|&value| varint(value as u64)).collect::<Vec<_>>())
}

#[test]
fn unknown_fields_survive() {
    // Fields that `onnx.proto` does not define, in the model, the graph and a node; one with an overlong varint.
    let unknown = [field(999, b"model"), int(1000, -1), vec![0x88, 0x7d, 0x80, 0x80, 0x00]].concat();
    let inner = [field(1, b"x"), field(2, b"z"), field(4, b"Neg"), field(77, b"node"), int(78, 5)].concat();
    let float8 = [int(1, 2), int(2, 17), field(8, b"w8"), field(9, &[1, 2])].concat();
    let builder = ModelBuilder::new(21).input("x", DType::F32, "2 3").input("y", DType::F32, "3");
    let builder =
        builder.raw_field(1, &inner).node("Add", "z y", "out").raw_field(5, &float8).raw_field(60, b"graph");
    let bytes = [builder.output("out", DType::F32, "2 3").to_bytes(), unknown.clone()].concat();
    let model = Model::read(&bytes).expect("a model");
    assert_eq!(model.to_bytes(), bytes);
    let explicit_bytes = explicit(&model).expect("compatible shapes").model.to_bytes();
    for kept in [&unknown[..], &inner, &float8, &field(60, b"graph")] {
        assert!(explicit_bytes.windows(kept.len()).any(|window| window == kept));
    }
    assert_eq!(
        implicit(&Model::read(&explicit_bytes).expect("a model"))
            .expect("compatible shapes")
            .model
            .to_bytes(),
        bytes
    );
}

#[test]
fn tensors_of_every_type_round_trip() {
    for &dtype in DType::ALL {
        for shape in [&[][..], &[3], &[2, 3], &[0, 4]] {
            let count = shape.iter().product();
            let numbers: Vec<f64> = (0..count).map(|index| index as f64 * 1.5).collect();
            let tensor = tensor(dtype, shape, &numbers);
            assert_eq!(read_tensor(&tensor_bytes("t", &tensor)), Ok(("t".into(), tensor)));
        }
    }
}

#[test]
fn elements_are_decoded_from_every_field() {
    let decode = |elem: i64, data: Vec<u8>| {
        let bytes = [int(1, 2), int(2, elem), field(8, b"t"), data].concat();
        read_tensor(&bytes).map(|(_, tensor)| tensor)
    };
    let floats = |values: &[f32]| field(4, &values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>());
    let doubles =
        |values: &[f64]| field(10, &values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>());
    let two = [1.0, 2.0];
    assert_eq!(decode(1, floats(&[1.0, 2.0])), Ok(tensor(DType::F32, &[2], &two)));
    assert_eq!(decode(11, doubles(&[1.0, 2.0])), Ok(tensor(DType::F64, &[2], &two)));
    assert_eq!(decode(14, floats(&[1.0, -1.0, 2.0, -2.0])), Ok(tensor(DType::C64, &[2], &two)));
    assert_eq!(decode(15, doubles(&[1.0, -1.0, 2.0, -2.0])), Ok(tensor(DType::C128, &[2], &two)));
    for (elem, dtype) in
        [(2, DType::U8), (3, DType::I8), (4, DType::U16), (5, DType::I16), (6, DType::I32), (9, DType::Bool)]
    {
        assert_eq!(decode(elem, packed(5, &[1, 2])), Ok(tensor(dtype, &[2], &two)), "{dtype}");
        // Not packed.
        assert_eq!(decode(elem, [int(5, 1), int(5, 2)].concat()), Ok(tensor(dtype, &[2], &two)), "{dtype}");
    }
    assert_eq!(decode(10, packed(5, &[0x3c00, 0x4000])), Ok(tensor(DType::F16, &[2], &two)));
    assert_eq!(decode(16, packed(5, &[0x3f80, 0x4000])), Ok(tensor(DType::BF16, &[2], &two)));
    assert_eq!(decode(7, packed(7, &[i64::MIN, -1])), Ok(arr1(&[i64::MIN, -1]).into()));
    assert_eq!(decode(12, packed(11, &[1, 2])), Ok(tensor(DType::U32, &[2], &two)));
    assert_eq!(decode(13, packed(11, &[-1, 2])), Ok(arr1(&[u64::MAX, 2]).into()));
    assert_eq!(decode(8, [field(6, b"1"), field(6, b"2")].concat()), Ok(tensor(DType::Str, &[2], &two)));
    let error = |elem: i64, data: Vec<u8>| decode(elem, data).expect_err("malformed").to_string();
    assert_eq!(error(3, packed(5, &[1, 200])), "tensor t: 200 is out of range for int8");
    assert_eq!(
        error(1, floats(&[1.0])),
        "tensor t: shape 2 needs 2 elements of type float, but the data has 1 numbers"
    );
    assert_eq!(
        error(1, field(9, &[0; 7])),
        "tensor t: shape 2 needs 2 elements of type float, but the data has 7 bytes"
    );
    assert_eq!(error(17, field(9, &[0; 2])), "tensor t: element type float8e4m3fn is not supported");
    assert_eq!(
        error(8, [field(6, b"1"), field(6, &[0xff])].concat()),
        "tensor t: byte 10: a string is not valid UTF-8"
    );
    let huge = [int(1, isize::MAX as i64), int(1, isize::MAX as i64), int(2, 1)].concat();
    assert!(read_tensor(&huge).expect_err("too large").to_string().ends_with("has too many elements"));
    assert!(
        read_tensor(&int(1, -1)).expect_err("negative size").to_string().ends_with("a dimension has size -1")
    );
}

/// A model whose initializer has two floats of external data.
fn external(entries: &[(&str, &str)]) -> Vec<u8> {
    let entries = entries
        .iter()
        .flat_map(|(key, value)| field(13, &[field(1, key.as_bytes()), field(2, value.as_bytes())].concat()));
    let proto = [int(1, 2), int(2, 1), field(8, b"w"), int(14, 1), entries.collect()].concat();
    let builder =
        ModelBuilder::new(21).raw_field(5, &proto).node("Neg", "w", "y").output("y", DType::F32, "2");
    builder.to_bytes()
}

#[test]
fn external_data_is_read_only_from_the_models_directory() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name);
    fs::create_dir_all(path("model/parts")).expect("directories");
    let floats: Vec<u8> = [0f32, 1.0, 2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    fs::write(path("model/parts/w.bin"), &floats).expect("a file");
    fs::write(path("secret.bin"), &floats).expect("a file");
    let run = |entries: &[(&str, &str)]| {
        fs::write(path("model/m.onnx"), external(entries)).expect("a file");
        let model = Model::open(path("model/m.onnx"))?;
        let compiled = CompiledModel::new(&model)?;
        compiled.run(Vec::<(&str, _)>::new()).map(|mut outputs| outputs.swap_remove(0).1)
    };
    let location = ("location", "parts/w.bin");
    assert_eq!(run(&[location, ("offset", "4"), ("length", "8")]), Ok(arr1(&[-1f32, -2.0]).into()));
    assert_eq!(run(&[("location", "./parts/w.bin"), ("offset", "4")]), Ok(arr1(&[-1f32, -2.0]).into()));
    let run_error = |entries: &[(&str, &str)]| run(entries).expect_err("an error").to_string();
    let absolute = path("secret.bin").to_string_lossy().into_owned();
    for location in ["../secret.bin", "parts/../../secret.bin", &absolute, "", "C:\\w.bin", "..\\secret.bin"]
    {
        let error = run_error(&[("location", location)]);
        assert!(error.contains("is outside the model's directory"), "{location}: {error}");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(path("secret.bin"), path("model/link.bin")).expect("a link");
        let error = run_error(&[("location", "link.bin"), ("length", "8")]);
        assert!(error.contains("is outside the model's directory"), "{error}");
    }
    assert!(
        run_error(&[location, ("offset", "8")])
            .ends_with("8 bytes at offset 8 exceed the file size of 12 bytes")
    );
    assert!(
        run_error(&[location, ("offset", "18446744073709551615")])
            .contains("exceed the file size of 12 bytes")
    );
    assert!(
        run_error(&[location, ("length", "12")])
            .ends_with("its elements take 8 bytes, but its external data has 12 bytes")
    );
    assert!(
        run_error(&[location, ("offset", "-4")])
            .ends_with("the offset of its external data is '-4', not a number")
    );
    assert!(run_error(&[]).ends_with("its external data has no location"));
    assert!(run_error(&[("location", "parts")]).contains("not a regular file"));
    let bytes = external(&[location]);
    let model = Model::read(&bytes).expect("a model");
    assert_eq!(model.external_files(), ["parts/w.bin"]);
    let error = CompiledModel::new(&model).expect_err("no directory").to_string();
    assert!(error.contains("but the model has no directory"), "{error}");
}

/// Reads bytes as a model; if they are one, checks the round trip and exercises every analysis.
fn exercise(bytes: &[u8]) {
    if let Ok(model) = Model::read(bytes) {
        assert_eq!(model.to_bytes(), bytes);
        let inference = infer_shapes(&model);
        assert!(inference.conflicts().len() <= model.graph().nodes.len());
        explain(&model);
        let _ = (explicit(&model), implicit(&model), CompiledModel::new(&model));
    }
}

fn larger_model() -> Vec<u8> {
    let inner = ModelBuilder::new(21).node("Neg", "x", "t").unranked_output("t", DType::F32);
    ModelBuilder::new(21)
        .input("x", DType::F32, "N ? 3")
        .unranked_input("y", DType::F32)
        .initializer("s", arr1(&[2i64, -1]))
        .initializer("text", arr1(&["a".to_string(), "b".into()]))
        .value_info("a", DType::F32, "N 2 3")
        .node("Add", "x y", "a")
        .node("Reshape", "a s", "r")
        .node_with("Concat", "s s", "c", &[("axis", Attr::Int(0))])
        .node_with("Constant", "", "k", &[("value", Attr::Tensor(&Tensor::from(arr1(&[1i64, 3]))))])
        .node("Expand", "r k", "e")
        .node_with("Transpose", "e", "t", &[("perm", Attr::Ints(&[1, 0]))])
        .node_with("If", "y", "i", &[("then_branch", Attr::Graph(&inner))])
        .node_with("LeakyRelu", "t", "l", &[("alpha", Attr::Float(0.5))])
        .node("PRelu", "l y", "z")
        .unranked_output("z", DType::F32)
        .to_bytes()
}

#[test]
fn truncated_and_corrupted_models_are_safe() {
    for bytes in [add_model(), larger_model()] {
        assert!(Model::read(&bytes).is_ok());
        for end in 0..bytes.len() {
            exercise(&bytes[..end]);
        }
        for index in 0..bytes.len() {
            for mask in [1, 0x08, 0x80, 0xff] {
                let mut bytes = bytes.clone();
                bytes[index] ^= mask;
                exercise(&bytes);
            }
        }
    }
    assert!(Model::read(&[]).expect_err("empty").to_string().ends_with("it has no graph"));
}

/// Subgraphs nested deeper than the stack allows to recurse.
#[test]
fn deep_nesting_is_safe() {
    let mut graph = field(1, &[field(1, b"x"), field(2, b"y"), field(4, b"Neg")].concat());
    for _ in 0..2000 {
        let attribute = [field(1, b"body"), field(6, &graph)].concat();
        graph = field(1, &[field(2, b"z"), field(4, b"Loop"), field(5, &attribute)].concat());
    }
    exercise(&[field(7, &graph), field(8, &int(2, 21))].concat());
}

/// A model with a broadcast and weights of this many floats.
fn weighted_model(count: usize) -> Vec<u8> {
    let builder = ModelBuilder::new(21)
        .input("x", DType::F32, "N 3")
        .initializer("row", arr1(&[1f32, 2.0, 3.0]))
        .initializer("w", ndarray::Array1::from_iter((0..count).map(|number| number as f32)));
    let constant: Tensor = ndarray::Array1::<f32>::ones(count).into_dyn().into();
    let builder = builder.node_with("Constant", "", "c", &[("value", Attr::Tensor(&constant))]);
    builder.node("Add", "x row", "y").node("Add", "w c", "z").output("y", DType::F32, "N 3").to_bytes()
}

/// Weights are in memory once, or not at all, while a model is explained, rewritten in both directions and written.
#[test]
fn weights_are_not_copied() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("m.onnx");
    fs::write(&path, weighted_model(1 << 21)).expect("a file");
    let size = fs::metadata(&path).expect("a file").len();
    let allocated = |open: fn(&Path) -> Result<Model, Error>| {
        let measured = allocation_counter::measure(|| {
            let model = open(&path).expect("a model");
            assert_eq!(explain(&model).broadcasts.len(), 1);
            let rewritten = explicit(&model).expect("compatible shapes").model;
            rewritten.write_to(std::io::sink()).expect("written");
            let restored = implicit(&rewritten).expect("compatible shapes").model;
            restored.write_to(std::io::sink()).expect("written");
            assert_eq!(restored.serialized_len() as u64, size);
        });
        measured.bytes_max
    };
    let (all, structure) = (allocated(|path| Model::open(path)), allocated(|path| Model::open_lazily(path)));
    assert!(all * 10 <= size * 12, "{all} bytes for {size}");
    assert!(structure < 100_000, "{structure} bytes");
}

#[test]
fn models_that_are_opened_lazily_are_the_same() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("m.onnx");
    let bytes = weighted_model(5000);
    fs::write(&path, &bytes).expect("a file");
    let (model, lazy) = (Model::open(&path).expect("a model"), Model::open_lazily(&path).expect("a model"));
    assert_eq!(lazy.to_bytes(), bytes);
    let explicit_bytes = |model: &Model| {
        let mut written = Vec::new();
        explicit(model).expect("compatible shapes").model.write_to(&mut written).expect("written");
        written
    };
    assert_eq!(explicit_bytes(&lazy), explicit_bytes(&model));
    // Weights are read when they are used.
    let with_weights = ModelBuilder::new(21).initializer("w", ndarray::Array1::<f32>::ones(5000));
    let with_weights = with_weights.input("x", DType::F32, "").node("Add", "w x", "y");
    fs::write(&path, with_weights.output("y", DType::F32, "5000").to_bytes()).expect("a file");
    let lazy = Model::open_lazily(&path).expect("a model");
    let x = ndarray::arr0(1f32).into_dyn();
    let outputs = CompiledModel::new(&lazy).expect("supported").run([("x", x.view().into())]).expect("a run");
    assert_eq!(outputs[0].1, ndarray::Array1::<f32>::from_elem(5000, 2.0).into_dyn().into());
    // Errors name the same place.
    let mut errors = 0;
    for len in (0..bytes.len()).step_by(37).chain(bytes.len() - 300..bytes.len()) {
        fs::write(&path, &bytes[..len]).expect("a file");
        let messages =
            [Model::open(&path), Model::open_lazily(&path)].map(|model| model.map_err(|e| e.to_string()));
        let [Err(whole), Err(lazy)] = messages else { continue };
        assert_eq!(lazy, whole);
        errors += 1;
    }
    assert!(errors > 100, "{errors}");
}

#[test]
fn a_file_that_changes_is_an_error() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("m.onnx");
    fs::write(&path, weighted_model(5000)).expect("a file");
    let model = Model::open_lazily(&path).expect("a model");
    let file = fs::OpenOptions::new().write(true).open(&path).expect("a file");
    file.set_len(2000).expect("a shorter file");
    let error = model.write_to(std::io::sink()).expect_err("a changed file").to_string();
    assert_eq!(error, "the file of the model changed while it was in use");
    // One that is replaced stays readable.
    fs::write(&path, weighted_model(5000)).expect("a file");
    let model = Model::open_lazily(&path).expect("a model");
    fs::write(dir.path().join("new"), "other").expect("a file");
    fs::rename(dir.path().join("new"), &path).expect("a new file");
    assert_eq!(model.to_bytes(), weighted_model(5000));
}

/// Declared sizes allocate no memory.
#[test]
fn small_files_use_little_memory() {
    let bytes = larger_model();
    let allocated = allocation_counter::measure(|| exercise(&bytes)).bytes_max;
    assert!(allocated < 500 * bytes.len() as u64, "{allocated} bytes for {}", bytes.len());
    // Each node adds a dimension to one shape and a symbol to another.
    let mut builder = ModelBuilder::new(12).input("v0", DType::F32, &"N ".repeat(60));
    for index in 0..1000 {
        builder = builder.node_with(
            "Unsqueeze",
            &format!("v{index}"),
            &format!("v{}", index + 1),
            &[("axes", Attr::Ints(&[0]))],
        );
        builder = builder.input(&format!("n{index}"), DType::F32, &format!("m{index}"));
        builder = builder.node(
            "Add",
            &format!("n{index} {}", if index == 0 { "n0".into() } else { format!("s{}", index - 1) }),
            &format!("s{index}"),
        );
    }
    let bytes = builder.to_bytes();
    let allocated = allocation_counter::measure(|| exercise(&bytes)).bytes_max;
    assert!(allocated < 500 * bytes.len() as u64, "{allocated} bytes for {}", bytes.len());
}

proptest! {
    /// The same model, or the same error.
    #[test]
    fn lazy_and_whole_files_agree(bytes in prop::collection::vec(any::<u8>(), 0..60), long in any::<bool>()) {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let tensor = [&bytes[..], &field(9, &vec![7; if long { 5000 } else { 5 }])].concat();
        for graph in [bytes.clone(), field(5, &bytes), field(5, &tensor), [field(5, &tensor), bytes.clone()].concat()] {
            fs::write(&file, [field(7, &graph), field(8, &int(2, 21))].concat()).expect("written");
            let [whole, lazy] = [Model::open(&file), Model::open_lazily(&file)]
                .map(|model| model.map(|model| model.to_bytes()).map_err(|error| error.to_string()));
            prop_assert_eq!(lazy, whole);
        }
    }

    #[test]
    fn arbitrary_bytes_are_safe(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        exercise(&bytes);
        exercise(&[field(7, &bytes), field(8, &int(2, 21))].concat());
        exercise(&[field(7, &field(1, &bytes)), field(8, &int(2, 21))].concat());
        let _ = read_tensor(&bytes);
    }
}
