//! Stages: the loop nests that an expression is computed in.
//!
//! A stage computes a scalar program for every index of its loops, and writes the results or folds them along some of
//! the loops. Element-wise work before a reduction is part of its stage; a reduction ends it. Views cost nothing:
//! they change the indices at which a stage reads its inputs. A stage knows shapes and operations, but neither
//! memory nor CPUs.

use super::axes::{DimMaps, Shape};
use smallvec::SmallVec;
use std::sync::Arc;
use unishape_engine::fused::Program;
use unishape_kernels::{DType, FoldOp};

/// A loop nest, what it reads, computes and writes.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    /// Sizes of the loops.
    pub(crate) shape: Shape,
    pub(crate) inputs: Vec<StageInput>,
    pub(crate) program: Arc<Program>,
    /// The fold of each result, unless the only result is written element by element.
    pub(crate) folds: SmallVec<[FoldOp; 1]>,
    /// The loops along which results are folded.
    pub(crate) reduced: SmallVec<[usize; 4]>,
    /// Dtype of each result.
    pub(crate) dtypes: SmallVec<[DType; 1]>,
    /// Names of the inputs and text of the constants, for descriptions.
    pub(crate) names: Vec<String>,
    pub(crate) constants: Vec<String>,
}

impl Stage {
    /// Whether results are folded along a loop.
    pub(crate) fn is_reduced(&self, dim: usize) -> bool {
        self.reduced.contains(&dim)
    }

    /// Whether another stage computes the same from the same arrays; their names may differ.
    pub(crate) fn is_same(&self, other: &Stage) -> bool {
        self.shape == other.shape
            && self.inputs == other.inputs
            && self.folds == other.folds
            && self.reduced == other.reduced
            && self.dtypes == other.dtypes
            && self.program.is_same(&other.program)
    }

    /// The dimension of a loop in an output of `rank` dimensions: reduced loops have none there, or size 1.
    pub(crate) fn output_dim(&self, dim: usize, rank: usize) -> usize {
        let has_all = rank == self.shape.len();
        (0..dim).filter(|&other| has_all || !self.is_reduced(other)).count()
    }

    /// The loop of a dimension of an output of `rank` dimensions.
    pub(crate) fn loop_of(&self, output_dim: usize, rank: usize) -> usize {
        let has_all = rank == self.shape.len();
        let mut loops = (0..self.shape.len()).filter(|&dim| has_all || !self.is_reduced(dim));
        loops.nth(output_dim).unwrap_or(output_dim)
    }

    /// Shape of what the stage writes: 1 along reduced loops.
    pub(crate) fn output_shape(&self) -> Shape {
        let mut shape = Shape::from_slice(&self.shape);
        for &dim in &self.reduced {
            shape[dim] = 1;
        }
        shape
    }
}

/// Name of a stage's result in descriptions.
pub(crate) fn stage_name(number: usize) -> String {
    format!("stage {}", number + 1)
}

/// An array that a stage reads, and at which indices.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StageInput {
    pub(crate) source: StageSource,
    /// The index in each dimension of the array.
    pub(crate) maps: DimMaps,
}

/// Where an input comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StageSource {
    /// A variable of the expression.
    Variable(usize),
    /// A result of an earlier stage.
    Stage { number: usize, result: usize },
    /// Indices of the loops: no array, but the sum of each index times a number.
    Index(SmallVec<[isize; 4]>),
}
