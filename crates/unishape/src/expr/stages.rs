//! The stages of an expression, for the executor for GPUs.

use super::cache::Expr;
use super::compile::InputType;
use super::lower::Sharing;
use super::stage::{Stage, StageInput, StageSource};
use super::typed::InputInfo;
use smallvec::SmallVec;
use std::error::Error;
use unishape_cuda as cuda;
use unishape_engine::layout::row_major;

impl cuda::Expression for Expr {
    fn stages(&self, variables: &[cuda::Variable<'_>]) -> Result<cuda::Stages, Box<dyn Error + Send + Sync>> {
        self.check_count(variables.len())?;
        let infos = variables.iter().map(|variable| match *variable {
            cuda::Variable::Array(array) => {
                InputInfo { input_type: InputType::Array(array.dtype), shape: array.shape }
            }
            cuda::Variable::Scalar(number) => InputInfo { input_type: InputType::Scalar(number), shape: &[] },
        });
        let expr = self.staged(&infos.collect::<SmallVec<[InputInfo<'_>; 3]>>(), Sharing::Never)?;
        let stages = expr.stages.iter().map(|stage| {
            let reads = stage.inputs.iter().zip(stage.program.operand_items()).map(|(input, &item)| {
                let (from, strides) = match &input.source {
                    StageSource::Variable(number) => {
                        let strides = match variables[*number] {
                            cuda::Variable::Array(array) => array.strides.to_vec(),
                            cuda::Variable::Scalar(_) => Vec::new(),
                        };
                        (cuda::ReadFrom::Variable(*number), strides)
                    }
                    StageSource::Stage { number, result } => (
                        cuda::ReadFrom::Stage { number: *number, result: *result },
                        row_major(&expr.stages[*number].output_shape()),
                    ),
                    StageSource::Index(strides) => (cuda::ReadFrom::Index, strides.to_vec()),
                };
                let (start, strides) = in_loops(input, &strides, stage.shape.len());
                cuda::Read { from, item, start, strides }
            });
            to_cuda(stage, reads.collect())
        });
        Ok(cuda::Stages { shape: expr.shape.to_vec(), dtype: expr.dtype, stages: stages.collect() })
    }

    fn plans(&self) -> &cuda::Recent<cuda::Plan> {
        self.recent_plans()
    }
}

fn to_cuda(stage: &Stage, reads: Vec<cuda::Read>) -> cuda::Stage {
    let Stage { shape, dtypes, folds, program, .. } = stage;
    let results = program.results().iter().zip(dtypes).enumerate().map(|(number, (&value, &dtype))| {
        cuda::StageResult { value, dtype, fold: folds.get(number).copied() }
    });
    cuda::Stage {
        sizes: shape.to_vec(),
        is_reduced: (0..shape.len()).map(|dim| stage.is_reduced(dim)).collect(),
        reads,
        constants: program.constants().to_vec(),
        steps: program.steps().iter().map(|step| (step.key, step.inputs.to_vec())).collect(),
        results: results.collect(),
    }
}

/// Offset of the element that is read at index 0 of all loops, and the stride in each loop.
fn in_loops(input: &StageInput, strides: &[isize], loops: usize) -> (isize, Vec<isize>) {
    let (mut start, mut of_loops) = (0, vec![0; loops]);
    for (map, stride) in input.maps.iter().zip(strides) {
        start += map.start * stride;
        if let Some(dim) = map.dim {
            of_loops[dim] += stride * map.step;
        }
    }
    (start, of_loops)
}
