//! Finds the functions of two operands whose values are folded in one loop, such as sums of products.

use unishape_engine::fused::{Pair, Program};
use unishape_kernels::{DType, FoldOp, KernelKey, Op, PairFunction, find_pair_fold};

/// The function that a program ends with, if there is a kernel that folds its values.
pub(crate) fn pair(program: &Program, fold: FoldOp, dtype: DType) -> Option<Pair> {
    // Inputs of a step that computes this operation in the dtype.
    let inputs = |value: usize, op: Op| {
        let step = program.step(value)?;
        (step.key == KernelKey::Call(op, dtype)).then_some(&step.inputs[..])
    };
    let (function, operands) = if let Some(&[difference]) = inputs(program.result(), Op::Abs) {
        (PairFunction::AbsoluteDifference, inputs(difference, Op::Subtract)?)
    } else {
        let factors = inputs(program.result(), Op::Multiply)?;
        match inputs(factors[0], Op::Subtract).filter(|_| factors[0] == factors[1]) {
            Some(operands) => (PairFunction::SquaredDifference, operands),
            None => (PairFunction::Product, factors),
        }
    };
    let kernel = find_pair_fold(fold, function, dtype)?;
    Some(Pair { kernel, inputs: [operands[0], operands[1]] })
}
