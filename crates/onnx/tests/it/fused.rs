//! What follows each other is computed together, and only what is asked for is there as a whole.

use crate::support::tensor;
use unishape::{DType, Tensor};
use unishape_onnx::Program;
use unishape_onnx::build::Build;

const COUNT: usize = 500_000;

/// Eight operators one after another, with one value used twice, and a row stretched.
fn chain() -> Build {
    Build::new(21)
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

fn inputs() -> (Tensor, Tensor) {
    let x: Vec<f64> = (0..COUNT).map(|at| (at % 977) as f64 * 0.01 - 4.0).collect();
    let row: Vec<f64> = (0..1000).map(|at| at as f64 * 0.002 - 1.0).collect();
    (tensor(DType::F32, &[COUNT / 1000, 1000], &x), tensor(DType::F32, &[1000], &row))
}

#[test]
fn a_chain_takes_the_memory_of_its_result() {
    let (x, row) = inputs();
    let program = Program::new(&chain().model().expect("a model")).expect("it can run").threads(1);
    let mut result = None;
    let taken = allocation_counter::measure(|| {
        result = program.run([("x", x.view()), ("row", row.view())]).ok();
    });
    assert_eq!(result.map(|outputs| outputs[0].1.shape().to_vec()), Some(vec![500, 1000]));
    let bytes = 4 * COUNT as u64;
    assert!(taken.bytes_max < bytes + bytes / 4, "{} bytes for {bytes}", taken.bytes_max);
}

#[test]
fn values_between_are_the_same_whether_or_not_they_are_asked_for() {
    let (x, row) = inputs();
    let model = chain().model().expect("a model");
    let all = ["y", "g", "f", "d", "c", "b", "a", "e", "x"];
    let together = Program::computing(&model, &all).expect("it can run");
    let together = together.run([("x", x.view()), ("row", row.view())]).expect("it runs");
    for (name, (its_name, tensor)) in all.iter().zip(&together) {
        let alone = Program::computing(&model, &[name]).expect("it can run");
        // What is not needed need not be given.
        let given = [("x", x.view()), ("row", row.view())];
        let alone = alone.run(given).expect("it runs");
        assert_eq!((*name, tensor), (its_name.as_str(), &alone[0].1));
    }
    assert_eq!(together[8].1, x);
}

/// Several threads, and several Pythons, may run one program.
#[test]
fn a_program_can_be_shared() {
    fn is_parallel<T: Send + Sync + 'static>() {}
    is_parallel::<Program>();
    is_parallel::<unishape_onnx::Model>();
}

#[test]
fn what_nothing_depends_on_is_not_run() {
    let build = chain().node("Unheard", "x", "unused");
    assert!(Program::new(&build.model().expect("a model")).is_ok());
}

#[test]
fn memory_of_earlier_outputs_is_used_again() {
    let (x, row) = inputs();
    let program = Program::new(&chain().model().expect("a model")).expect("it can run").threads(1);
    let given = || [("x", x.view()), ("row", row.view())];
    let first = program.run(given()).expect("it runs");
    // Of no use: another type, another shape; and then the right ones.
    let others = [tensor(DType::F64, &[500, 1000], &vec![0.0; COUNT]), tensor(DType::F32, &[1], &[0.0])];
    for other in others {
        assert_eq!(program.run_reusing(given(), vec![other]).expect("it runs"), first);
    }
    let old = vec![tensor(DType::F32, &[500, 1000], &vec![7.0; COUNT])];
    let mut again = Vec::new();
    let taken = allocation_counter::measure(|| again = program.run_reusing(given(), old).expect("it runs"));
    assert_eq!(again, first);
    assert!(taken.bytes_max < COUNT as u64, "{} bytes", taken.bytes_max);
}
