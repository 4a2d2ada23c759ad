//! Element-wise chains are fused: only requested values are materialized.

use crate::support::tensor;
use unishape::{DType, Tensor};
use unishape_onnx::CompiledModel;
use unishape_onnx::model_builder::ModelBuilder;

const COUNT: usize = 500_000;

/// Eight element-wise nodes, with one value used twice and one stretched row.
fn chain() -> ModelBuilder {
    ModelBuilder::new(21)
        .input("x", DType::F32, "N 1000")
        .input("row", DType::F32, "1000")
        .node("Exp", "row", "e")
        .node("Add", "x e", "a")
        .node("Tanh", "a", "b")
        .node("Mul", "a b", "c")
        .node("Neg", "c", "d")
        .node("Relu", "d", "f")
        .node("Sub", "f a", "g")
        .node("Abs", "g", "y")
        .output("y", DType::F32, "N 1000")
}

fn tensors() -> (Tensor, Tensor) {
    let x: Vec<f64> = (0..COUNT).map(|index| (index % 977) as f64 * 0.01 - 4.0).collect();
    let row: Vec<f64> = (0..1000).map(|index| index as f64 * 0.002 - 1.0).collect();
    (tensor(DType::F32, &[COUNT / 1000, 1000], &x), tensor(DType::F32, &[1000], &row))
}

#[test]
fn a_chain_allocates_only_its_result() {
    let (x, row) = tensors();
    let compiled =
        CompiledModel::new(&chain().build().expect("a model")).expect("a supported model").threads(1);
    let mut result = None;
    let allocated = allocation_counter::measure(|| {
        result = compiled.run([("x", x.view()), ("row", row.view())]).ok();
    });
    assert_eq!(result.map(|outputs| outputs[0].1.shape().to_vec()), Some(vec![500, 1000]));
    let bytes = 4 * COUNT as u64;
    assert!(allocated.bytes_max < bytes + bytes / 4, "{} bytes for {bytes}", allocated.bytes_max);
}

#[test]
fn intermediate_values_do_not_depend_on_what_is_requested() {
    let (x, row) = tensors();
    let model = chain().build().expect("a model");
    let all = ["y", "g", "f", "d", "c", "b", "a", "e", "x"];
    let all_at_once = CompiledModel::with_outputs(&model, &all).expect("a supported model");
    let all_at_once = all_at_once.run([("x", x.view()), ("row", row.view())]).expect("a valid run");
    for (name, (output_name, tensor)) in all.iter().zip(&all_at_once) {
        let alone = CompiledModel::with_outputs(&model, &[name]).expect("a supported model");
        let inputs = [("x", x.view()), ("row", row.view())];
        let alone = alone.run(inputs).expect("a valid run");
        assert_eq!((*name, tensor), (output_name.as_str(), &alone[0].1));
    }
    assert_eq!(all_at_once[8].1, x);
}

#[test]
fn programs_and_models_are_send_and_sync() {
    fn is_send_and_sync<T: Send + Sync + 'static>() {}
    is_send_and_sync::<CompiledModel>();
    is_send_and_sync::<unishape_onnx::Model>();
}

#[test]
fn nodes_without_consumers_are_ignored() {
    let builder = chain().node("Unsupported", "x", "unused");
    assert!(CompiledModel::new(&builder.build().expect("a model")).is_ok());
}

#[test]
fn output_buffers_are_reused() {
    let (x, row) = tensors();
    let compiled =
        CompiledModel::new(&chain().build().expect("a model")).expect("a supported model").threads(1);
    let inputs = || [("x", x.view()), ("row", row.view())];
    let first = compiled.run(inputs()).expect("a valid run");
    // Buffers of another dtype or shape are dropped.
    let unusable = [tensor(DType::F64, &[500, 1000], &vec![0.0; COUNT]), tensor(DType::F32, &[1], &[0.0])];
    for other in unusable {
        assert_eq!(compiled.run_reusing(inputs(), vec![other]).expect("a valid run"), first);
    }
    let buffers = vec![tensor(DType::F32, &[500, 1000], &vec![7.0; COUNT])];
    let mut again = Vec::new();
    let allocated =
        allocation_counter::measure(|| again = compiled.run_reusing(inputs(), buffers).expect("a valid run"));
    assert_eq!(again, first);
    assert!(allocated.bytes_max < COUNT as u64, "{} bytes", allocated.bytes_max);
}
