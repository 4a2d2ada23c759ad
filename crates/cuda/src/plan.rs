//! From an expression to launches of kernels.

use crate::body::Body;
use crate::elementwise::elementwise;
use crate::error::Error;
use crate::fold::fold;
use crate::launch::{Buffer, Launch};
use crate::operand::{Operand, row_major};
use unishape::DType;
use unishape::expr::{Expr, ReadFrom, Scalar, StageRef, Stages, VariableType};

/// Alignment of temporaries and of freshly allocated results, in bytes: that of every CUDA allocator.
const ALLOCATED: usize = 256;

/// Most words of a kernel's argument: 4 KB on every device.
const MAX_WORDS: usize = 500;

/// Most operations of a kernel. Compilation takes longer than linear time.
const MAX_OPERATIONS: usize = 4000;

/// An array on a device, without its address.
///
/// ```
/// use unishape_cuda::ArrayType;
/// use unishape::DType;
///
/// // Every second column of a matrix with 6 columns.
/// let array = ArrayType { dtype: DType::F32, shape: &[4, 3], strides: &[6, 2], alignment: 16 };
/// # let _ = array;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ArrayType<'a> {
    /// Type of its elements.
    pub dtype: DType,
    /// Its shape.
    pub shape: &'a [usize],
    /// Stride of each dimension, in elements.
    pub strides: &'a [isize],
    /// A power of two that divides the address of its element at index 0.
    pub alignment: usize,
}

/// A value of a variable, as far as kernels depend on it.
///
/// ```
/// use unishape_cuda::Variable;
///
/// let two = Variable::Scalar(2.into());
/// # let _ = two;
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Variable<'a> {
    /// An array.
    Array(ArrayType<'a>),
    /// A number without a dtype.
    Scalar(Scalar),
}

/// The kernels that compute an expression, in the order of execution.
///
/// ```
/// use unishape::{DType, expr::Expr};
/// use unishape_cuda::{ArrayType, Plan, Variable};
///
/// let row = ArrayType { dtype: DType::F32, shape: &[1000], strides: &[1], alignment: 256 };
/// let plan = Plan::new(&Expr::parse("a * 2 + a")?, &[Variable::Array(row)], None)?;
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
}

impl Plan {
    /// Plans an expression. The values are those of [`Expr::names`]. `output` is a preallocated result; without it,
    /// the result is contiguous.
    ///
    /// # Errors
    ///
    /// Where the expression does not fit the values, the output has another shape, or the work does not fit a kernel.
    pub fn new(
        expr: &Expr,
        variables: &[Variable<'_>],
        output: Option<ArrayType<'_>>,
    ) -> Result<Plan, Error> {
        let types: Vec<VariableType<'_>> = variables
            .iter()
            .map(|variable| match *variable {
                Variable::Array(array) => VariableType::Array(array.dtype, array.shape),
                Variable::Scalar(number) => VariableType::Scalar(number),
            })
            .collect();
        let stages = expr.stages(&types)?;
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
        let count = stages.shape().iter().product::<usize>();
        if count > 0 {
            planner.add_stages(output)?;
        }
        let Planner { temporaries, launches, .. } = planner;
        for launch in &launches {
            if launch.words.len() > MAX_WORDS {
                return Err(Error::TooLong { count: launch.words.len(), most: MAX_WORDS });
            }
        }
        Ok(Plan { launches, temporaries, shape: stages.shape().to_vec(), dtype: stages.dtype() })
    }

    /// Shape of the result.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Dtype of the result.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The kernels with their arguments. There are none where the result has no elements.
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
        let last = self.stages.len() - 1;
        for number in 0..=last {
            let stage = self.stages.stage(number);
            let body = Body::of_stage(stage);
            if body.len() > MAX_OPERATIONS {
                return Err(Error::TooLong { count: body.len(), most: MAX_OPERATIONS });
            }
            let operands: Vec<Operand> = stage.reads().map(|read| self.operand(&read)).collect();
            let is_reduced: Vec<bool> = (0..stage.sizes().len()).map(|dim| stage.is_reduced(dim)).collect();
            let mut outputs = Vec::new();
            if number == last {
                outputs.push(self.result(stage, output)?);
                self.of_stages.push(vec![Buffer::Output]);
            } else {
                let shape = output_shape(stage);
                for result in stage.results() {
                    let buffer = self.temporary(&shape, result.dtype.item_size())?;
                    let mut strides = row_major(&shape);
                    strides.iter_mut().zip(&is_reduced).for_each(|(stride, &is)| *stride *= isize::from(!is));
                    let item = result.dtype.item_size();
                    outputs.push(Operand {
                        buffer: Some(buffer),
                        item,
                        alignment: ALLOCATED,
                        start: 0,
                        strides,
                    });
                }
                self.of_stages.push(outputs.iter().filter_map(|output| output.buffer).collect());
            }
            if output_shape(stage).contains(&0) {
                continue;
            }
            if body.results[0].fold.is_none() {
                self.launches.push(elementwise(stage.sizes(), &operands, &outputs[0], &body)?);
            } else {
                let mut allocate = |bytes: usize| {
                    self.temporaries.push(bytes);
                    Buffer::Temporary(self.temporaries.len() - 1)
                };
                let launches = fold(stage.sizes(), &is_reduced, &operands, &outputs, &body, &mut allocate)?;
                self.launches.extend(launches);
            }
        }
        Ok(())
    }

    fn temporary(&mut self, shape: &[usize], item: usize) -> Result<Buffer, Error> {
        let bytes =
            shape.iter().try_fold(item, |bytes, &size| bytes.checked_mul(size)).ok_or(Error::TooLarge)?;
        self.temporaries.push(bytes);
        Ok(Buffer::Temporary(self.temporaries.len() - 1))
    }

    /// What a stage reads.
    fn operand(&self, read: &unishape::expr::Read<'_>) -> Operand {
        let item = read.item();
        match read.from() {
            ReadFrom::Variable(number) => {
                let (strides, alignment) = match self.variables[number] {
                    Variable::Array(array) => (array.strides, array.alignment),
                    Variable::Scalar(_) => (&[][..], ALLOCATED),
                };
                let (start, strides) = read.in_loops(strides);
                Operand { buffer: Some(Buffer::Variable(number)), item, alignment, start, strides }
            }
            ReadFrom::Stage { number, result } => {
                let (start, strides) = read.in_loops(&row_major(&output_shape(self.stages.stage(number))));
                let buffer = Some(self.of_stages[number][result]);
                Operand { buffer, item, alignment: ALLOCATED, start, strides }
            }
            ReadFrom::Index => {
                let (start, strides) = read.in_loops(&[]);
                Operand { buffer: None, item, alignment: ALLOCATED, start, strides }
            }
        }
    }

    /// What the last stage writes.
    fn result(&self, stage: StageRef<'_>, output: Option<ArrayType<'_>>) -> Result<Operand, Error> {
        let shape = self.stages.shape();
        let contiguous = row_major(shape);
        let (strides, alignment) = match output {
            None => (&contiguous[..], ALLOCATED),
            Some(array) if array.dtype != self.stages.dtype() => {
                return Err(Error::OutputType { result: self.stages.dtype(), output: array.dtype });
            }
            Some(array) if array.shape == shape => (array.strides, array.alignment),
            Some(array) => {
                let (result, output) = (shape.to_vec(), array.shape.to_vec());
                return Err(Error::OutputShape { result, output });
            }
        };
        // Reduced loops have size 1 in the result, or are missing.
        let has_all = shape.len() == stage.sizes().len();
        let mut own = strides.iter().copied();
        let strides = (0..stage.sizes().len()).map(|dim| match stage.is_reduced(dim) {
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
            item: self.stages.dtype().item_size(),
            alignment,
            start: 0,
            strides,
        })
    }
}

/// Shape of a stage's results: 1 along reduced loops.
fn output_shape(stage: StageRef<'_>) -> Vec<usize> {
    let sizes = stage.sizes().iter().enumerate();
    sizes.map(|(dim, &size)| if stage.is_reduced(dim) { 1 } else { size }).collect()
}
