//! From an expression to launches of kernels.

use crate::body::Body;
use crate::elementwise::elementwise;
use crate::error::Error;
use crate::fold::fold;
use crate::fused_rows::{FusedRows, RowInput, RowStage};
use crate::joint::{Joined, joined};
use crate::launch::{Buffer, Launch};
use crate::operand::Operand;
use crate::recent::Recent;
use crate::stage::{Read, ReadFrom, Stage, StageResult, Stages};
use crate::value::{ArrayType, Numerics, Variable};
use std::sync::{Arc, Mutex, PoisonError};
use unishape_engine::layout::row_major;
use unishape_kernels::DType;

/// Alignment of temporaries and of freshly allocated results, in bytes: that of every CUDA allocator.
pub(crate) const ALLOCATED: usize = 256;

/// Most words of a kernel's argument: 4 KB on every device.
const MAX_WORDS: usize = 500;

/// Most operations of a kernel. Compilation takes longer than linear time.
const MAX_OPERATIONS: usize = 4000;

/// What kernels are generated for: `unishape::expr::Expr`.
pub trait Expression {
    /// The stages for these values.
    ///
    /// # Errors
    ///
    /// Where dtypes or shapes of the values are incompatible.
    fn stages(&self, variables: &[Variable<'_>]) -> Result<Stages, Box<dyn std::error::Error + Send + Sync>>;

    /// Where plans of the expression are kept.
    fn plans(&self) -> &Recent<Plan>;
}

/// The functions of a plan's kernels, for each context that it ran in.
#[derive(Debug, Default)]
pub(crate) struct Loaded(Mutex<Vec<(usize, Arc<[usize]>)>>);

impl Loaded {
    /// Whether the functions are loaded in a context.
    pub(crate) fn has(&self, context: usize) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|(own, _)| *own == context)
    }

    /// The functions in a context, loaded if they are not yet.
    pub(crate) fn get_or_load(
        &self,
        context: usize,
        load: impl FnOnce() -> Result<Arc<[usize]>, Error>,
    ) -> Result<Arc<[usize]>, Error> {
        let entries = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, functions)) = entries().iter().find(|(own, _)| *own == context) {
            return Ok(functions.clone());
        }
        let functions = load()?;
        entries().push((context, functions.clone()));
        Ok(functions)
    }
}

/// The kernels that compute an expression, in the order of execution.
///
/// ```
/// use unishape::{DType, expr::Expr};
/// use unishape_cuda::{ArrayType, Numerics, Plan, Variable};
///
/// let row = ArrayType { dtype: DType::F32, shape: &[1000], strides: &[1], alignment: 256 };
/// let plan = Plan::new(&Expr::parse("a * 2 + a")?, &[Variable::Array(row)], None, Numerics::Exact)?;
/// assert_eq!((plan.shape(), plan.dtype(), plan.launches().len()), (&[1000][..], DType::F32, 1));
/// assert!(plan.launches()[0].kernel.source.contains("float_multiply"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Plan {
    launches: Vec<Launch>,
    /// Bytes of each temporary.
    temporaries: Vec<usize>,
    shape: Vec<usize>,
    dtype: DType,
    numerics: Numerics,
    pub(crate) loaded: Loaded,
}

impl Plan {
    /// Plans an expression.
    ///
    /// The values are those of its variables, in the order of their first use. `output` is a preallocated result;
    /// without it, the result is contiguous.
    ///
    /// # Errors
    ///
    /// Where the expression does not fit the values, the output has another shape, or the work does not fit a kernel.
    pub fn new(
        expr: &impl Expression,
        variables: &[Variable<'_>],
        output: Option<ArrayType<'_>>,
        numerics: Numerics,
    ) -> Result<Plan, Error> {
        let stages = expr.stages(variables).map_err(Error::Expr)?;
        let is_aligned = |array: &ArrayType<'_>| array.alignment.is_multiple_of(array.dtype.item_size());
        let arrays = variables.iter().filter_map(|variable| match variable {
            Variable::Array(array) => Some(array),
            Variable::Scalar(_) => None,
        });
        if !arrays.chain(&output).all(is_aligned) {
            return Err(Error::Unaligned);
        }
        let mut planner = Planner {
            stages: &stages,
            variables,
            temporaries: Vec::new(),
            of_stages: Vec::new(),
            launches: Vec::new(),
        };
        // Also of what is only counted: expanded arrays may have more elements than there are addresses.
        let has_count = |sizes: &Vec<usize>| {
            let count = sizes.iter().try_fold(1usize, |count, &size| count.checked_mul(size));
            sizes.contains(&0) || count.is_some_and(|count| isize::try_from(count).is_ok())
        };
        let sizes = stages.stages.iter().map(|stage| &stage.sizes);
        if !stages.shape.contains(&0) {
            if !sizes.chain([&stages.shape]).all(has_count) {
                return Err(Error::TooLarge);
            }
            planner.add_stages(output)?;
        }
        let Planner { temporaries, mut launches, .. } = planner;
        for launch in &mut launches {
            if numerics != Numerics::Exact {
                launch.kernel.numerics = numerics;
            }
            if launch.words.len() > MAX_WORDS {
                return Err(Error::TooLong { count: launch.words.len(), most: MAX_WORDS });
            }
        }
        let Stages { shape, dtype, .. } = stages;
        Ok(Plan { launches, temporaries, shape, dtype, numerics, loaded: Loaded::default() })
    }

    /// The plan for these values, from the expression's recent ones if possible.
    ///
    /// # Errors
    ///
    /// Those of [`Plan::new`].
    pub fn cached(
        expr: &impl Expression,
        variables: &[Variable<'_>],
        output: Option<ArrayType<'_>>,
        numerics: Numerics,
    ) -> Result<Arc<Plan>, Error> {
        let make = || Plan::new(expr, variables, output, numerics);
        expr.plans().get_or_make(variables, output, numerics, make)
    }

    /// How precise its results are.
    pub fn numerics(&self) -> Numerics {
        self.numerics
    }

    /// Shape of the result.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Dtype of the result.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The kernels with their arguments.
    ///
    /// There are none where the result has no elements.
    pub fn launches(&self) -> &[Launch] {
        &self.launches
    }

    /// Bytes of each [temporary](Buffer::Temporary), which is aligned to 256 bytes.
    pub fn temporaries(&self) -> &[usize] {
        &self.temporaries
    }
}

struct Planner<'p> {
    stages: &'p Stages,
    variables: &'p [Variable<'p>],
    temporaries: Vec<usize>,
    /// The buffer of each result of each stage.
    of_stages: Vec<Vec<Buffer>>,
    launches: Vec<Launch>,
}

impl Planner<'_> {
    fn add_stages(&mut self, output: Option<ArrayType<'_>>) -> Result<(), Error> {
        let mut next = 0;
        while next < self.stages.stages.len() {
            next = match self.add_fused_rows(next, output)? {
                Some(end) => end + 1,
                None => match self.add_joint(next, output)? {
                    0 => {
                        self.add_stage(next, output)?;
                        next + 1
                    }
                    count => next + count,
                },
            };
        }
        Ok(())
    }

    /// Adds the kernels of one stage.
    fn add_stage(&mut self, number: usize, output: Option<ArrayType<'_>>) -> Result<(), Error> {
        let stages = self.stages;
        let stage = &stages.stages[number];
        let body = Body::of_stage(stage);
        if body.len() > MAX_OPERATIONS {
            return Err(Error::TooLong { count: body.len(), most: MAX_OPERATIONS });
        }
        let operands: Vec<Operand> = stage.reads.iter().map(|read| self.operand(read)).collect();
        let outputs = self.outputs(number, output)?;
        for (result, own) in outputs.iter().zip(&stage.results) {
            self.keep(result, &stage.output_shape(), own.dtype.item_size())?;
        }
        self.of_stages.push(outputs.iter().filter_map(|output| output.buffer).collect());
        if stage.output_shape().contains(&0) {
            return Ok(());
        }
        if body.results[0].fold.is_none() {
            self.launches.push(elementwise(&stage.sizes, &operands, &outputs[0], &body)?);
            return Ok(());
        }
        self.add_fold(stage, &operands, &outputs, &body)?;
        Ok(())
    }

    /// Adds some stages as one, where kernels can compute them in one pass, and returns how many.
    fn add_joint(&mut self, first: usize, output: Option<ArrayType<'_>>) -> Result<usize, Error> {
        let Some(Joined { stage, joint, count }) = joined(first, &self.stages.stages[first..]) else {
            return Ok(0);
        };
        let last = first + count - 1;
        let is_read_outside = |stage: &Stage| {
            let is_inner = |number: usize| (first..last).contains(&number);
            stage
                .reads
                .iter()
                .any(|read| matches!(read.from, ReadFrom::Stage { number, .. } if is_inner(number)))
        };
        let is_local = self.is_read_by_rows(first, first + 1, &stage.is_reduced);
        if !is_local || self.stages.stages[last + 1..].iter().any(is_read_outside) {
            return Ok(0);
        }
        let operands: Vec<Operand> = stage.reads.iter().map(|read| self.operand(read)).collect();
        let mut outputs = Vec::new();
        // What has no stage of its own is like the result of the first.
        let others = (2..stage.results.len()).map(|_| (first, None));
        for (number, output) in [(first, None), (last, output)].into_iter().chain(others) {
            let own = self.outputs(number, output)?.swap_remove(0);
            self.keep(&own, &stage.output_shape(), own.item)?;
            outputs.push(own);
        }
        self.of_stages.extend((first..last).map(|_| Vec::new()));
        self.of_stages.push(outputs[1].buffer.into_iter().collect());
        if !stage.output_shape().contains(&0) {
            let mut body = Body::of_stage(&stage);
            body.joint = Some(joint);
            self.add_fold(&stage, &operands, &outputs, &body)?;
        }
        Ok(count)
    }

    /// Adds the kernels of a reduction.
    fn add_fold(
        &mut self,
        stage: &Stage,
        operands: &[Operand],
        outputs: &[Operand],
        body: &Body,
    ) -> Result<(), Error> {
        let temporaries = &mut self.temporaries;
        let mut allocate = |bytes: usize| {
            temporaries.push(bytes);
            Buffer::Temporary(temporaries.len() - 1)
        };
        let mut launches = fold(&stage.sizes, &stage.is_reduced, operands, outputs, body, &mut allocate)?;
        if body.is_sum() {
            launches.iter_mut().for_each(|launch| launch.kernel.numerics = Numerics::Fused);
        }
        self.launches.extend(launches);
        Ok(())
    }

    /// What a stage writes: the result, or the next temporaries.
    fn outputs(&self, number: usize, output: Option<ArrayType<'_>>) -> Result<Vec<Operand>, Error> {
        let stage = &self.stages.stages[number];
        if number + 1 == self.stages.stages.len() {
            return Ok(vec![self.result(stage, output)?]);
        }
        let mut strides = row_major(&stage.output_shape());
        strides.iter_mut().zip(&stage.is_reduced).for_each(|(stride, is)| *stride *= isize::from(!is));
        let temporary = |(at, result): (usize, &StageResult)| Operand {
            buffer: Some(Buffer::Temporary(self.temporaries.len() + at)),
            item: result.dtype.item_size(),
            alignment: ALLOCATED,
            start: 0,
            strides: strides.clone(),
        };
        Ok(stage.results.iter().enumerate().map(temporary).collect())
    }

    /// Keeps memory for an output, if it is a temporary.
    fn keep(&mut self, output: &Operand, shape: &[usize], item: usize) -> Result<(), Error> {
        if output.buffer != Some(Buffer::Output) {
            let bytes = shape.iter().try_fold(item, |bytes, &size| bytes.checked_mul(size));
            self.temporaries.push(bytes.ok_or(Error::TooLarge)?);
        }
        Ok(())
    }

    /// Adds some stages as one kernel, where they are along the same rows, and returns the last one of them.
    fn add_fused_rows(
        &mut self,
        first: usize,
        output: Option<ArrayType<'_>>,
    ) -> Result<Option<usize>, Error> {
        let stages = &self.stages.stages;
        let stage = |number: usize| &stages[number];
        let (sizes, along) = (&stage(first).sizes, &stage(first).is_reduced);
        if !along.contains(&true) || sizes.contains(&0) {
            return Ok(None);
        }
        // Folds along these loops, and what follows them.
        let has_loops = |number: &usize| stage(*number).sizes == *sizes;
        let is_fold = |number: &usize| has_loops(number) && stage(*number).is_reduced == *along;
        let folds = (first..self.stages.stages.len()).take_while(is_fold).count();
        let is_elementwise = |number: &usize| has_loops(number) && !stage(*number).is_reduced.contains(&true);
        let after =
            Some(first + folds).filter(|&number| number < self.stages.stages.len()).filter(is_elementwise);
        let ends = after.into_iter().chain((first + 1..first + folds).rev());
        for end in ends {
            let is_local = (first..end).all(|number| self.is_read_by_rows(number, end, along));
            if !is_local || stage(end).results.len() != 1 {
                continue;
            }
            let output = self.outputs(end, output)?.swap_remove(0);
            if let Some(launch) = self.fused_rows(first, end, along, output.clone()).launch() {
                self.launches.push(launch?);
                let item = output.item;
                self.keep(&output, &stages[end].output_shape(), item)?;
                self.of_stages.extend((first..end).map(|_| Vec::new()));
                self.of_stages.push(output.buffer.into_iter().collect());
                return Ok(Some(end));
            }
        }
        Ok(None)
    }

    /// Stages along the same rows.
    fn fused_rows<'r>(
        &'r self,
        first: usize,
        end: usize,
        along: &'r [bool],
        output: Operand,
    ) -> FusedRows<'r> {
        let mut arrays: Vec<Operand> = Vec::new();
        let mut stages = Vec::new();
        for number in first..=end {
            let stage = &self.stages.stages[number];
            let inputs = stage.reads.iter().map(|read| match read.from {
                ReadFrom::Stage { number, result } if number >= first => {
                    RowInput::FoldOp { stage: number - first, result }
                }
                _ => {
                    let operand = self.operand(read);
                    let known = arrays.iter().position(|array| *array == operand);
                    RowInput::Array(known.unwrap_or_else(|| {
                        arrays.push(operand);
                        arrays.len() - 1
                    }))
                }
            });
            stages.push(RowStage { inputs: inputs.collect(), body: Body::of_stage(stage) });
        }
        FusedRows { sizes: &self.stages.stages[first].sizes, is_along: along, arrays, output, stages }
    }

    /// Whether the results of a stage are read only by stages up to `end`, and only for the same rows.
    fn is_read_by_rows(&self, number: usize, end: usize, along: &[bool]) -> bool {
        let mut natural = row_major(&self.stages.stages[number].output_shape());
        natural.iter_mut().zip(along).for_each(|(stride, &along)| *stride *= isize::from(!along));
        (number + 1..self.stages.stages.len()).all(|reader| {
            self.stages.stages[reader].reads.iter().all(|read| match read.from {
                ReadFrom::Stage { number: from, .. } if from == number => {
                    reader <= end && (read.start, &read.strides) == (0, &natural)
                }
                _ => true,
            })
        })
    }

    /// What a stage reads.
    fn operand(&self, read: &Read) -> Operand {
        let (buffer, alignment) = match read.from {
            ReadFrom::Variable(number) => {
                let alignment = match self.variables[number] {
                    Variable::Array(array) => array.alignment,
                    Variable::Scalar(_) => ALLOCATED,
                };
                (Some(Buffer::Variable(number)), alignment)
            }
            ReadFrom::Stage { number, result } => (Some(self.of_stages[number][result]), ALLOCATED),
            ReadFrom::Index => (None, ALLOCATED),
        };
        Operand { buffer, item: read.item, alignment, start: read.start, strides: read.strides.clone() }
    }

    /// What the last stage writes.
    fn result(&self, stage: &Stage, output: Option<ArrayType<'_>>) -> Result<Operand, Error> {
        let shape = &self.stages.shape[..];
        let contiguous = row_major(shape);
        let (strides, alignment) = match output {
            None => (&contiguous[..], ALLOCATED),
            Some(array) if array.dtype != self.stages.dtype => {
                return Err(Error::OutputType { result: self.stages.dtype, output: array.dtype });
            }
            Some(array) if array.shape == shape => (array.strides, array.alignment),
            Some(array) => {
                let (result, output) = (shape.to_vec(), array.shape.to_vec());
                return Err(Error::OutputShape { result, output });
            }
        };
        // Reduced loops have size 1 in the result, or are missing.
        let has_all = shape.len() == stage.sizes.len();
        let mut own = strides.iter().copied();
        let strides = (0..stage.sizes.len()).map(|dim| match stage.is_reduced[dim] {
            true => {
                if has_all {
                    own.next();
                }
                0
            }
            false => own.next().unwrap_or(0),
        });
        let strides = strides.collect();
        Ok(Operand {
            buffer: Some(Buffer::Output),
            item: self.stages.dtype.item_size(),
            alignment,
            start: 0,
            strides,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Loaded;
    use crate::Error;

    #[test]
    fn functions_are_loaded_once_for_each_context() {
        let loaded = Loaded::default();
        assert!(!loaded.has(1));
        assert!(loaded.get_or_load(1, || Err(Error::OtherDevice)).is_err() && !loaded.has(1));
        assert_eq!(*loaded.get_or_load(1, || Ok([10, 11].into())).unwrap(), [10, 11]);
        assert!(loaded.has(1) && !loaded.has(2));
        assert_eq!(*loaded.get_or_load(2, || Ok([20].into())).unwrap(), [20]);
        assert_eq!(*loaded.get_or_load(1, || panic!("loaded")).unwrap(), [10, 11]);
    }
}
