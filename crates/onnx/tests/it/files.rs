//! Files: nothing in them gets lost, nothing outside of their folder is read, and no bytes do any harm.

use crate::support::tensor;
use ndarray::arr1;
use proptest::prelude::*;
use std::fs;
use unishape::{DType, Tensor};
use unishape_onnx::build::{Attr, Build, add_model};
use unishape_onnx::{Model, Program, explain, explicit, implicit, infer, read_tensor, tensor_bytes};

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A field of bytes.
fn field(number: u64, bytes: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), varint(bytes.len() as u64), bytes.to_vec()].concat()
}

/// A field with an integer.
fn int(number: u64, value: i64) -> Vec<u8> {
    [varint(number << 3), varint(value as u64)].concat()
}

fn packed(number: u64, values: &[i64]) -> Vec<u8> {
    field(number, &values.iter().flat_map(|&value| varint(value as u64)).collect::<Vec<_>>())
}

#[test]
fn what_is_not_known_survives() {
    // Fields that no version of ONNX has, in the model, the graph and a node; a number longer than it need be.
    let unknown = [field(999, b"model"), int(1000, -1), vec![0x88, 0x7d, 0x80, 0x80, 0x00]].concat();
    let inner = [field(1, b"x"), field(2, b"z"), field(4, b"Neg"), field(77, b"node"), int(78, 5)].concat();
    let float8 = [int(1, 2), int(2, 17), field(8, b"w8"), field(9, &[1, 2])].concat();
    let build = Build::new(21).input("x", DType::F32, "2 3").input("y", DType::F32, "3");
    let build = build.bytes(1, &inner).node("Add", "z y", "out").bytes(5, &float8).bytes(60, b"graph");
    let bytes = [build.output("out", DType::F32, "2 3").file(), unknown.clone()].concat();
    let model = Model::read(&bytes).expect("a model");
    assert_eq!(model.to_bytes(), bytes);
    let made = explicit(&model).expect("it can be").model.to_bytes();
    for kept in [&unknown[..], &inner, &float8, &field(60, b"graph")] {
        assert!(made.windows(kept.len()).any(|window| window == kept));
    }
    assert_eq!(implicit(&Model::read(&made).expect("a model")).expect("it can be").model.to_bytes(), bytes);
}

#[test]
fn tensors_of_every_type_are_read_as_they_are_written() {
    for &dtype in DType::ALL {
        for shape in [&[][..], &[3], &[2, 3], &[0, 4]] {
            let count = shape.iter().product();
            let numbers: Vec<f64> = (0..count).map(|at| at as f64 * 1.5).collect();
            let tensor = tensor(dtype, shape, &numbers);
            assert_eq!(read_tensor(&tensor_bytes("t", &tensor)), Ok(("t".into(), tensor)));
        }
    }
}

#[test]
fn elements_are_found_in_every_field() {
    let of = |elem: i64, data: Vec<u8>| {
        let bytes = [int(1, 2), int(2, elem), field(8, b"t"), data].concat();
        read_tensor(&bytes).map(|(_, tensor)| tensor)
    };
    let floats = |values: &[f32]| field(4, &values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>());
    let doubles =
        |values: &[f64]| field(10, &values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>());
    let two = [1.0, 2.0];
    assert_eq!(of(1, floats(&[1.0, 2.0])), Ok(tensor(DType::F32, &[2], &two)));
    assert_eq!(of(11, doubles(&[1.0, 2.0])), Ok(tensor(DType::F64, &[2], &two)));
    assert_eq!(of(14, floats(&[1.0, -1.0, 2.0, -2.0])), Ok(tensor(DType::C64, &[2], &two)));
    assert_eq!(of(15, doubles(&[1.0, -1.0, 2.0, -2.0])), Ok(tensor(DType::C128, &[2], &two)));
    for (elem, dtype) in
        [(2, DType::U8), (3, DType::I8), (4, DType::U16), (5, DType::I16), (6, DType::I32), (9, DType::Bool)]
    {
        assert_eq!(of(elem, packed(5, &[1, 2])), Ok(tensor(dtype, &[2], &two)), "{dtype}");
        // One by one.
        assert_eq!(of(elem, [int(5, 1), int(5, 2)].concat()), Ok(tensor(dtype, &[2], &two)), "{dtype}");
    }
    assert_eq!(of(10, packed(5, &[0x3c00, 0x4000])), Ok(tensor(DType::F16, &[2], &two)));
    assert_eq!(of(16, packed(5, &[0x3f80, 0x4000])), Ok(tensor(DType::BF16, &[2], &two)));
    assert_eq!(of(7, packed(7, &[i64::MIN, -1])), Ok(arr1(&[i64::MIN, -1]).into()));
    assert_eq!(of(12, packed(11, &[1, 2])), Ok(tensor(DType::U32, &[2], &two)));
    assert_eq!(of(13, packed(11, &[-1, 2])), Ok(arr1(&[u64::MAX, 2]).into()));
    assert_eq!(of(8, [field(6, b"1"), field(6, b"2")].concat()), Ok(tensor(DType::Str, &[2], &two)));
    let wrong = |elem: i64, data: Vec<u8>| of(elem, data).expect_err("no tensor").to_string();
    assert_eq!(wrong(3, packed(5, &[1, 200])), "tensor t: 200 is no int8");
    assert_eq!(wrong(1, floats(&[1.0])), "tensor t: it is 2, 2 elements of type float, and has 1 numbers");
    assert_eq!(wrong(1, field(9, &[0; 7])), "tensor t: it is 2, 2 elements of type float, and has 7 bytes");
    assert_eq!(
        wrong(17, field(9, &[0; 2])),
        "tensor t: elements of type float8e4m3fn are not computed with, only handed on"
    );
    assert_eq!(
        wrong(8, [field(6, b"1"), field(6, &[0xff])].concat()),
        "tensor t: byte 10: this should be text in UTF-8"
    );
    let huge = [int(1, i64::MAX), int(1, i64::MAX), int(2, 1)].concat();
    assert!(read_tensor(&huge).expect_err("too large").to_string().ends_with("beyond counting"));
    assert!(
        read_tensor(&int(1, -1)).expect_err("no size").to_string().ends_with("a dimension has the size -1")
    );
}

/// A model with an initializer of two floats in another file.
fn external(entries: &[(&str, &str)]) -> Vec<u8> {
    let entries = entries
        .iter()
        .flat_map(|(key, value)| field(13, &[field(1, key.as_bytes()), field(2, value.as_bytes())].concat()));
    let proto = [int(1, 2), int(2, 1), field(8, b"w"), int(14, 1), entries.collect()].concat();
    let build = Build::new(21).bytes(5, &proto).node("Neg", "w", "y").output("y", DType::F32, "2");
    build.file()
}

#[test]
fn data_outside_is_read_from_the_folder_and_nowhere_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("model/parts")).expect("folders");
    let floats: Vec<u8> = [0f32, 1.0, 2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    fs::write(at("model/parts/w.bin"), &floats).expect("a file");
    fs::write(at("secret.bin"), &floats).expect("a file");
    let run = |entries: &[(&str, &str)]| {
        fs::write(at("model/m.onnx"), external(entries)).expect("a file");
        let model = Model::open(at("model/m.onnx"))?;
        let program = Program::new(&model)?;
        program.run(Vec::<(&str, _)>::new()).map(|mut outputs| outputs.swap_remove(0).1)
    };
    let location = ("location", "parts/w.bin");
    assert_eq!(run(&[location, ("offset", "4"), ("length", "8")]), Ok(arr1(&[-1f32, -2.0]).into()));
    assert_eq!(run(&[("location", "./parts/w.bin"), ("offset", "4")]), Ok(arr1(&[-1f32, -2.0]).into()));
    let refused = |entries: &[(&str, &str)]| run(entries).expect_err("refused").to_string();
    let absolute = at("secret.bin").to_string_lossy().into_owned();
    for place in ["../secret.bin", "parts/../../secret.bin", &absolute, "", "C:\\w.bin", "..\\secret.bin"] {
        let said = refused(&[("location", place)]);
        assert!(said.contains("which is no place in the model's folder"), "{place}: {said}");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(at("secret.bin"), at("model/link.bin")).expect("a link");
        let said = refused(&[("location", "link.bin"), ("length", "8")]);
        assert!(said.contains("which is no place in the model's folder"), "{said}");
    }
    assert!(refused(&[location, ("offset", "8")]).ends_with("8 bytes from byte 8 on are wanted of 12"));
    assert!(refused(&[location, ("offset", "18446744073709551615")]).contains("are wanted of 12"));
    assert!(
        refused(&[location, ("length", "12")])
            .ends_with("its elements take 8 bytes, and its data is 12 bytes long")
    );
    assert!(refused(&[location, ("offset", "-4")]).ends_with("its data has the offset '-4', no number"));
    assert!(refused(&[]).ends_with("nothing says where its data is"));
    assert!(refused(&[("location", "parts")]).contains("this is no file that data can be in"));
    let bytes = external(&[location]);
    let model = Model::read(&bytes).expect("a model");
    assert_eq!(model.external_files(), ["parts/w.bin"]);
    let error = Program::new(&model).expect_err("no folder").to_string();
    assert!(error.contains("the model was given without a folder"), "{error}");
}

/// Whatever the bytes are, they are a model or an error, and a model is written as it was read.
fn survives(bytes: &[u8]) {
    if let Ok(model) = Model::read(bytes) {
        assert_eq!(model.to_bytes(), bytes);
        let inference = infer(&model);
        assert!(inference.conflicts().len() <= model.graph().nodes.len());
        explain(&model);
        let _ = (explicit(&model), implicit(&model), Program::new(&model));
    }
}

fn larger_model() -> Vec<u8> {
    let inner = Build::new(21).node("Neg", "x", "t").open_output("t", DType::F32);
    Build::new(21)
        .input("x", DType::F32, "N ? 3")
        .open_input("y", DType::F32)
        .initializer("s", arr1(&[2i64, -1]))
        .initializer("text", arr1(&["a".to_string(), "b".into()]))
        .value("a", DType::F32, "N 2 3")
        .node("Add", "x y", "a")
        .node("Reshape", "a s", "r")
        .node_with("Concat", "s s", "c", &[("axis", Attr::Int(0))])
        .node_with("Constant", "", "k", &[("value", Attr::Tensor(&Tensor::from(arr1(&[1i64, 3]))))])
        .node("Expand", "r k", "e")
        .node_with("Transpose", "e", "t", &[("perm", Attr::Ints(&[1, 0]))])
        .node_with("If", "y", "i", &[("then_branch", Attr::Graph(&inner))])
        .node_with("LeakyRelu", "t", "l", &[("alpha", Attr::Float(0.5))])
        .node("PRelu", "l y", "z")
        .open_output("z", DType::F32)
        .file()
}

#[test]
fn truncated_and_twisted_models_do_no_harm() {
    for bytes in [add_model(), larger_model()] {
        assert!(Model::read(&bytes).is_ok());
        for end in 0..bytes.len() {
            survives(&bytes[..end]);
        }
        for at in 0..bytes.len() {
            for twist in [1, 0x08, 0x80, 0xff] {
                let mut bytes = bytes.clone();
                bytes[at] ^= twist;
                survives(&bytes);
            }
        }
    }
    assert!(Model::read(&[]).expect_err("empty").to_string().ends_with("there is no graph in it"));
}

/// Graphs within graphs, deeper than any stack.
#[test]
fn deep_nesting_does_no_harm() {
    let mut graph = field(1, &[field(1, b"x"), field(2, b"y"), field(4, b"Neg")].concat());
    for _ in 0..2000 {
        let attribute = [field(1, b"body"), field(6, &graph)].concat();
        graph = field(1, &[field(2, b"z"), field(4, b"Loop"), field(5, &attribute)].concat());
    }
    survives(&[field(7, &graph), field(8, &int(2, 21))].concat());
}

/// What a model promises costs nothing until it is there.
#[test]
fn little_bytes_take_little_memory() {
    let bytes = larger_model();
    let taken = allocation_counter::measure(|| survives(&bytes)).bytes_max;
    assert!(taken < 500 * bytes.len() as u64, "{taken} for {}", bytes.len());
    // A shape that grows by a dimension with each of many nodes, with as many names as there are nodes.
    let mut build = Build::new(12).input("v0", DType::F32, &"N ".repeat(60));
    for at in 0..1000 {
        build = build.node_with(
            "Unsqueeze",
            &format!("v{at}"),
            &format!("v{}", at + 1),
            &[("axes", Attr::Ints(&[0]))],
        );
        build = build.input(&format!("n{at}"), DType::F32, &format!("m{at}"));
        build = build.node(
            "Add",
            &format!("n{at} {}", if at == 0 { "n0".into() } else { format!("s{}", at - 1) }),
            &format!("s{at}"),
        );
    }
    let bytes = build.file();
    let taken = allocation_counter::measure(|| survives(&bytes)).bytes_max;
    assert!(taken < 500 * bytes.len() as u64, "{taken} for {}", bytes.len());
}

proptest! {
    #[test]
    fn any_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        survives(&bytes);
        survives(&[field(7, &bytes), field(8, &int(2, 21))].concat());
        survives(&[field(7, &field(1, &bytes)), field(8, &int(2, 21))].concat());
        let _ = read_tensor(&bytes);
    }
}
