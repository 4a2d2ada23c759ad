//! Stages: the loop nests that an expression is computed in, as plans take them.

use unishape_kernels::{Constant, DType, FoldOp, KernelKey};

/// The loop nests that compute an expression, in the order of execution.
///
/// The last one computes the result.
#[derive(Clone, Debug)]
pub struct Stages {
    /// Shape of the result.
    pub shape: Vec<usize>,
    /// Dtype of the result.
    pub dtype: DType,
    /// The stages.
    pub stages: Vec<Stage>,
}

/// A loop nest: what it reads, a scalar program, and its results.
///
/// Values of the program are numbered: first what it reads, then its constants, then the result of each step. Values
/// are bits: where a cast leaves them as they are, as from `uint8` to `int8`, there is no step, and the step that takes
/// a value says which dtype they have there.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Iterations of each loop.
    pub sizes: Vec<usize>,
    /// Whether results are folded along each loop.
    pub is_reduced: Vec<bool>,
    /// The arrays that it reads.
    pub reads: Vec<Read>,
    /// The constants of its program.
    pub constants: Vec<Constant>,
    /// What is computed, in the order of execution.
    ///
    /// Each step has the numbers of the values that it takes.
    pub steps: Vec<(KernelKey, Vec<usize>)>,
    /// Its results. There is more than one only where they are folded.
    pub results: Vec<StageResult>,
}

impl Stage {
    /// Shape of its results: 1 along reduced loops.
    ///
    /// ```
    /// use unishape_cuda::Stage;
    ///
    /// let stage = Stage {
    ///     sizes: vec![30, 40],
    ///     is_reduced: vec![false, true],
    ///     reads: vec![],
    ///     constants: vec![],
    ///     steps: vec![],
    ///     results: vec![],
    /// };
    /// assert_eq!(stage.output_shape(), [30, 1]);
    /// ```
    pub fn output_shape(&self) -> Vec<usize> {
        self.sizes.iter().zip(&self.is_reduced).map(|(&size, &is)| if is { 1 } else { size }).collect()
    }
}

/// A result of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageResult {
    /// Number of the value.
    pub value: usize,
    /// Its dtype.
    pub dtype: DType,
    /// How the value is folded along the reduced loops.
    ///
    /// `None` where the value is written for every index.
    pub fold: Option<FoldOp>,
}

/// An array that a stage reads, and at which indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The array.
    pub from: ReadFrom,
    /// Bytes of an element.
    pub item: usize,
    /// Offset of the element that is read at index 0 of all loops, in elements.
    pub start: isize,
    /// Stride in each loop, in elements.
    ///
    /// Arrays of [stages](ReadFrom::Stage) are row-major.
    pub strides: Vec<isize>,
}

/// Where a stage reads from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadFrom {
    /// A variable of the expression.
    Variable(usize),
    /// A result of an earlier stage, whose array has size 1 along reduced loops.
    Stage {
        /// Number of the stage.
        number: usize,
        /// Number of its result.
        result: usize,
    },
    /// No array, but an `int64`: the offset itself.
    Index,
}
