//! Reads ONNX models: any bytes give a model or an error, with bounded memory.
//!
//! A model is written exactly as it was read. Its broadcasting can be made explicit and implicit again,
//! whether its shapes are known or not.

use crate::file::{check_message, with_memory_limit};
use unishape_onnx::{
    CompiledModel, ExplicitOptions, Model, explain, explicit, implicit, infer_shapes, read_tensor,
    tensor_bytes,
};

/// Bytes of memory per byte of a model.
///
/// A node of two bytes becomes a struct of some hundred bytes.
const MEMORY_PER_BYTE: u64 = 500;

/// Bytes of memory per byte of a model, for inference and rewriting.
///
/// A name of a few bytes can refer to a shape of many dimensions.
const MEMORY_PER_NAME: u64 = 10_000;

/// The first byte selects the kind of message: model, graph, node or tensor.
///
/// The enclosing messages get valid lengths, which random bytes rarely have.
pub(crate) fn run(bytes: &[u8]) {
    let Some((&first, rest)) = bytes.split_first() else { return };
    match first % 4 {
        0 => model(rest),
        1 => model(&with_opset(field(7, rest))),
        2 => model(&with_opset(field(7, &[field(1, rest), input()].concat()))),
        _ => tensor(rest),
    }
}

fn model(bytes: &[u8]) {
    let model = match with_memory_limit(MEMORY_PER_BYTE, bytes.len(), || Model::read(bytes)) {
        Ok(model) => model,
        Err(error) => return check_message(&error),
    };
    assert_eq!(model.to_bytes(), bytes);
    with_memory_limit(MEMORY_PER_NAME, bytes.len(), || {
        for (_, error) in infer_shapes(&model).conflicts() {
            check_message(error);
        }
        let report = explain(&model);
        if let Err(error) = CompiledModel::new(&model) {
            check_message(&error);
        }
        match explicit(&model) {
            Err(error) => check_message(&error),
            Ok(made) => {
                assert!(made.expands > 0 || made.model.to_bytes() == bytes);
                let expanded = report.of_kinds(&ExplicitOptions::default().kinds);
                assert!(
                    made.expands == 0 || !expanded.broadcasts.is_empty() || !model.functions().is_empty()
                );
                if let Err(error) = implicit(&made.model) {
                    check_message(&error);
                }
            }
        }
    });
}

fn tensor(bytes: &[u8]) {
    match with_memory_limit(MEMORY_PER_BYTE, bytes.len(), || read_tensor(bytes)) {
        Err(error) => check_message(&error),
        Ok((name, tensor)) => {
            let written = tensor_bytes(&name, &tensor);
            let (_, again) = read_tensor(&written).expect("written by unishape");
            // Compare bytes, since NaNs are not equal to themselves.
            assert_eq!(tensor_bytes(&name, &again), written);
        }
    }
}

/// A length-delimited field of a Protocol Buffers message.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length >= 0x80 {
        field.push(length as u8 | 0x80);
        length >>= 7;
    }
    field.push(length as u8);
    field.extend(bytes);
    field
}

/// A graph input `x`: a float tensor of shape N×3.
fn input() -> Vec<u8> {
    let dims = [field(1, &field(2, b"N")), field(1, &[0x08, 3])].concat();
    let tensor = [&[0x08, 1][..], &field(2, &dims)].concat();
    field(11, &[field(1, b"x"), field(2, &field(1, &tensor))].concat())
}

fn with_opset(model: Vec<u8>) -> Vec<u8> {
    [model, field(8, &[0x10, 21])].concat()
}
