//! The stages of an expression, for executors other than that of this crate, such as one for GPUs.

use super::cache::Expr;
use super::compile::InputType;
use super::error::{ExprError, ExprErrorKind};
use super::lower::{Sharing, StagedExpr};
use super::stage::{Stage, StageInput, StageSource};
use super::typed::InputInfo;
use smallvec::SmallVec;
use std::sync::Arc;
use unishape_kernels::{Constant, DType, FoldOp, KernelKey, Scalar};

/// What determines the stages of an expression about the value of a variable.
///
/// ```
/// use unishape::{DType, expr::VariableType};
///
/// let matrix = VariableType::Array(DType::F32, &[100, 200]);
/// # let _ = matrix;
/// ```
#[derive(Clone, Copy, Debug)]
pub enum VariableType<'s> {
    /// An array of this dtype and shape.
    Array(DType, &'s [usize]),
    /// A number without a dtype.
    Scalar(Scalar),
}

/// The loop nests that compute an expression, in the order of execution.
///
/// The last one computes the result. A stage reads variables and results of earlier stages, computes a scalar program
/// for every index of its loops, and writes its results or folds them along some of the loops.
///
/// ```
/// use unishape::{DType, expr::{Expr, ReadFrom, VariableType}};
///
/// let stages = Expr::parse("sum(a * b, axis=1)")?
///     .stages(&[VariableType::Array(DType::F32, &[3, 40]), VariableType::Array(DType::F32, &[40])])?;
/// assert_eq!((stages.shape(), stages.dtype(), stages.len()), (&[3][..], DType::F32, 1));
///
/// let stage = stages.stage(0);
/// assert_eq!((stage.sizes(), stage.is_reduced(1)), (&[3, 40][..], true));
/// let steps: Vec<_> = stage.steps().map(|(key, inputs)| (key.name(), inputs.len())).collect();
/// assert_eq!(steps, [("multiply", 2)]);
///
/// // `b` is contiguous: its stride is 1. It is the same in every row.
/// let b = stage.reads().find(|read| read.from() == ReadFrom::Variable(1)).unwrap();
/// assert_eq!(b.in_loops(&[1]), (0, vec![0, 1]));
/// # Ok::<(), unishape::expr::ExprError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stages {
    expr: Arc<StagedExpr>,
}

impl Expr {
    /// The stages for variables of these types, in the order of [`names`](Expr::names).
    ///
    /// ```
    /// use unishape::expr::{Expr, VariableType};
    ///
    /// let error = Expr::parse("a + b")?.stages(&[VariableType::Scalar(1.into())]).unwrap_err();
    /// assert_eq!(error.to_string(), "1 value is given for 2 names: a and b");
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where the number of types is not that of the variables, or dtypes or shapes are incompatible.
    pub fn stages(&self, variables: &[VariableType<'_>]) -> Result<Stages, ExprError> {
        if variables.len() != self.names().len() {
            let names = self.names().to_vec();
            return Err(ExprErrorKind::Values { given: variables.len(), names }.into());
        }
        let infos = variables.iter().map(|variable| match *variable {
            VariableType::Array(dtype, shape) => InputInfo { input_type: InputType::Array(dtype), shape },
            VariableType::Scalar(number) => InputInfo { input_type: InputType::Scalar(number), shape: &[] },
        });
        Ok(Stages { expr: self.staged(&infos.collect::<SmallVec<[InputInfo<'_>; 3]>>(), Sharing::Never)? })
    }
}

impl Stages {
    /// Shape of the result.
    ///
    /// ```
    /// # use unishape::expr::Expr;
    /// assert_eq!(Expr::parse("1 + 2")?.stages(&[])?.shape(), []);
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn shape(&self) -> &[usize] {
        &self.expr.shape
    }

    /// Dtype of the result.
    ///
    /// ```
    /// # use unishape::{DType, expr::Expr};
    /// assert_eq!(Expr::parse("1 < 2")?.stages(&[])?.dtype(), DType::Bool);
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn dtype(&self) -> DType {
        self.expr.dtype
    }

    /// Number of stages.
    ///
    /// ```
    /// # use unishape::expr::Expr;
    /// assert_eq!(Expr::parse("1 + 2")?.stages(&[])?.len(), 1);
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.expr.stages.len()
    }

    /// A stage, by its number.
    ///
    /// ```
    /// # use unishape::expr::Expr;
    /// assert_eq!(Expr::parse("1 + 2")?.stages(&[])?.stage(0).sizes(), []);
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Where there is no such stage.
    pub fn stage(&self, number: usize) -> StageRef<'_> {
        StageRef { stage: &self.expr.stages[number] }
    }
}

/// A stage: its loops, the arrays that it reads, a scalar program and its results.
///
/// Values of the program are numbered: first what it [reads](StageRef::reads), then its
/// [constants](StageRef::constants), then the result of each [step](StageRef::steps). Values are bits: where a cast
/// leaves them as they are, as from `uint8` to `int8`, there is no step, and the step that takes a value says which
/// dtype they have there.
///
/// ```
/// # use unishape::{DType, expr::{Expr, ReadFrom, VariableType}};
/// # let types = [VariableType::Array(DType::F32, &[30, 40])];
/// # let stages = Expr::parse("sum(a * 2, axis=1)")?.stages(&types)?;
/// assert_eq!(stages.stage(0).sizes(), [30, 40]);
/// # Ok::<(), unishape::expr::ExprError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct StageRef<'s> {
    stage: &'s Stage,
}

impl<'s> StageRef<'s> {
    /// Iterations of each loop.
    ///
    /// ```
    /// # use unishape::{DType, expr::{Expr, ReadFrom, VariableType}};
    /// # let types = [VariableType::Array(DType::F32, &[30, 40])];
    /// # let stages = Expr::parse("sum(a * 2, axis=1)")?.stages(&types)?;
    /// # let stage = stages.stage(0);
    /// assert_eq!(stage.sizes(), [30, 40]);
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn sizes(self) -> &'s [usize] {
        &self.stage.shape
    }

    /// Whether results are folded along a loop.
    ///
    /// ```
    /// # use unishape::{DType, expr::{Expr, ReadFrom, VariableType}};
    /// # let types = [VariableType::Array(DType::F32, &[30, 40])];
    /// # let stages = Expr::parse("sum(a * 2, axis=1)")?.stages(&types)?;
    /// # let stage = stages.stage(0);
    /// assert_eq!([0, 1].map(|dim| stage.is_reduced(dim)), [false, true]);
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn is_reduced(self, dim: usize) -> bool {
        self.stage.is_reduced(dim)
    }

    /// The arrays that it reads, and at which indices.
    ///
    /// ```
    /// # use unishape::{DType, expr::{Expr, ReadFrom, VariableType}};
    /// # let types = [VariableType::Array(DType::F32, &[30, 40])];
    /// # let stages = Expr::parse("sum(a * 2, axis=1)")?.stages(&types)?;
    /// # let stage = stages.stage(0);
    /// assert_eq!(stage.reads().count(), 1);
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn reads(self) -> impl Iterator<Item = Read<'s>> {
        let items = self.stage.program.operand_items();
        self.stage.inputs.iter().zip(items).map(move |(input, &item)| Read {
            input,
            item,
            loops: self.stage.shape.len(),
        })
    }

    /// The constants of its program.
    ///
    /// ```
    /// # use unishape::{DType, expr::{Expr, ReadFrom, VariableType}};
    /// # let types = [VariableType::Array(DType::F32, &[30, 40])];
    /// # let stages = Expr::parse("sum(a * 2, axis=1)")?.stages(&types)?;
    /// # let stage = stages.stage(0);
    /// assert_eq!(stage.constants()[0].get(), Some(2.0f32));
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn constants(self) -> &'s [Constant] {
        self.stage.program.constants()
    }

    /// The steps of its program, in the order of execution: what is computed, and the numbers of the values it takes.
    ///
    /// ```
    /// # use unishape::{DType, expr::{Expr, ReadFrom, VariableType}};
    /// # let types = [VariableType::Array(DType::F32, &[30, 40])];
    /// # let stages = Expr::parse("sum(a * 2, axis=1)")?.stages(&types)?;
    /// # let stage = stages.stage(0);
    /// let (key, inputs) = stage.steps().next().unwrap();
    /// assert_eq!((key.name(), inputs), ("multiply", &[0, 1][..]));
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn steps(self) -> impl Iterator<Item = (KernelKey, &'s [usize])> {
        self.stage.program.steps().iter().map(|step| (step.key, &step.inputs[..]))
    }

    /// Its results. There is more than one only where they are folded.
    ///
    /// ```
    /// # use unishape::{DType, expr::{Expr, ReadFrom, VariableType}};
    /// # let types = [VariableType::Array(DType::F32, &[30, 40])];
    /// # let stages = Expr::parse("sum(a * 2, axis=1)")?.stages(&types)?;
    /// # let stage = stages.stage(0);
    /// let result = stage.results().next().unwrap();
    /// assert_eq!((result.value, result.dtype), (2, DType::F32));
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn results(self) -> impl Iterator<Item = StageResult> {
        let Stage { dtypes, folds, program, .. } = self.stage;
        let values = program.results().iter().zip(dtypes).enumerate();
        values.map(|(number, (&value, &dtype))| StageResult {
            value,
            dtype,
            fold: folds.get(number).copied(),
        })
    }
}

/// A result of a stage.
///
/// ```
/// # use unishape::{DType, expr::{Expr, ReadFrom, VariableType}};
/// # let types = [VariableType::Array(DType::F32, &[30, 40])];
/// # let stages = Expr::parse("sum(a * 2, axis=1)")?.stages(&types)?;
/// assert!(stages.stage(0).results().all(|result| result.fold.is_some()));
/// # Ok::<(), unishape::expr::ExprError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageResult {
    /// Number of the value.
    pub value: usize,
    /// Its dtype.
    pub dtype: DType,
    /// What is folded along the reduced loops; `None` where the value is written for every index.
    pub fold: Option<FoldOp>,
}

/// An array that a stage reads, and at which indices.
///
/// ```
/// # use unishape::{DType, expr::{Expr, ReadFrom, VariableType}};
/// # let types = [VariableType::Array(DType::F32, &[30, 40])];
/// # let stages = Expr::parse("sum(a * 2, axis=1)")?.stages(&types)?;
/// assert!(stages.stage(0).reads().all(|read| read.item() == 4));
/// # Ok::<(), unishape::expr::ExprError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Read<'s> {
    input: &'s StageInput,
    item: usize,
    loops: usize,
}

/// Where a stage reads from.
///
/// ```
/// # use unishape::{DType, expr::{Expr, ReadFrom, VariableType}};
/// # let types = [VariableType::Array(DType::F32, &[30, 40])];
/// # let stages = Expr::parse("sum(a * 2, axis=1)")?.stages(&types)?;
/// assert!(stages.stage(0).reads().all(|read| read.from() == ReadFrom::Variable(0)));
/// # Ok::<(), unishape::expr::ExprError>(())
/// ```
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
    /// No array, but an `int64`: the offset that [`in_loops`](Read::in_loops) describes.
    Index,
}

impl Read<'_> {
    /// Where it reads from.
    ///
    /// ```
    /// # use unishape::{DType, expr::{Expr, ReadFrom, VariableType}};
    /// # let types = [VariableType::Array(DType::F32, &[30, 40])];
    /// # let stages = Expr::parse("sum(a * 2, axis=1)")?.stages(&types)?;
    /// # let stage = stages.stage(0);
    /// assert_eq!(stage.reads().next().unwrap().from(), ReadFrom::Variable(0));
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn from(&self) -> ReadFrom {
        match self.input.source {
            StageSource::Variable(number) => ReadFrom::Variable(number),
            StageSource::Stage { number, result } => ReadFrom::Stage { number, result },
            StageSource::Index(_) => ReadFrom::Index,
        }
    }

    /// Bytes of an element.
    ///
    /// ```
    /// # use unishape::{DType, expr::{Expr, ReadFrom, VariableType}};
    /// # let types = [VariableType::Array(DType::F32, &[30, 40])];
    /// # let stages = Expr::parse("sum(a * 2, axis=1)")?.stages(&types)?;
    /// # let stage = stages.stage(0);
    /// assert_eq!(stage.reads().next().unwrap().item(), 4);
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn item(&self) -> usize {
        self.item
    }

    /// Offset of the element that is read at index 0 of all loops, and the stride in each loop.
    ///
    /// `strides` are those of the array's dimensions; the results have the same unit. For [`ReadFrom::Index`] they
    /// are not used.
    ///
    /// ```
    /// # use unishape::{DType, expr::{Expr, ReadFrom, VariableType}};
    /// # let types = [VariableType::Array(DType::F32, &[30, 40])];
    /// # let stages = Expr::parse("sum(a * 2, axis=1)")?.stages(&types)?;
    /// # let stage = stages.stage(0);
    /// // A transposed array.
    /// assert_eq!(stage.reads().next().unwrap().in_loops(&[1, 30]), (0, vec![1, 30]));
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn in_loops(&self, strides: &[isize]) -> (isize, Vec<isize>) {
        let strides = match &self.input.source {
            StageSource::Index(own) => own,
            _ => strides,
        };
        let (mut start, mut of_loops) = (0, vec![0; self.loops]);
        for (map, stride) in self.input.maps.iter().zip(strides) {
            start += map.start * stride;
            if let Some(dim) = map.dim {
                of_loops[dim] += stride * map.step;
            }
        }
        (start, of_loops)
    }
}
