//! An expression bound to its inputs: shapes resolved, ready to be computed.

use super::axes::Shape;
use super::compile::CompiledExpr;
use super::error::{ExprError, ExprErrorKind};
use super::graph::{Graph, Node, NodeId};
use super::lower::StagedExpr;
use super::staged::{JointMember, Staged};
use super::value::{Value, Values};
use crate::alloc::{checked_len, out_of_memory};
use crate::numeric::Numeric;
use crate::program_arrays::{RawOutput, StageArray, program_input, program_output, program_result};
use crate::shapes::broadcast_shapes;
use crate::tensor::Tensor;
use ndarray::{Array, ArrayD, ArrayRef, Dimension, IxDyn};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;
use unishape_core::{FastCommon, Rules};
use unishape_engine::fused::{self, Input, Options, Output, Program};
use unishape_engine::memory::zeroed;
use unishape_kernels::Scalar;
use unishape_kernels::{DType, for_each_dtype};

/// Orders values that are given by name. Others are an error, unless they are for other expressions.
pub(crate) fn order_by_name<'a, N: AsRef<str>>(
    graph: &Graph,
    given: impl Iterator<Item = (N, Value<'a>)>,
    has_others: bool,
) -> Result<Values<'a>, ExprError> {
    let mut given: SmallVec<[(N, Option<Value<'a>>); 3]> =
        given.map(|(name, value)| (name, Some(value))).collect();
    let mut by_name: SmallVec<[usize; 6]> = (0..given.len()).collect();
    by_name.sort_by_key(|&at| given[at].0.as_ref());
    let repeated = by_name.windows(2).filter(|pair| given[pair[0]].0.as_ref() == given[pair[1]].0.as_ref());
    if let Some(repeated) = repeated.map(|pair| pair[1]).min() {
        return Err(ExprErrorKind::GivenTwice(given[repeated].0.as_ref().into()).into());
    }
    let mut values = Values::new();
    for (variable, name) in graph.names.iter().enumerate() {
        let position = by_name.binary_search_by_key(&name.as_str(), |&at| given[at].0.as_ref());
        let value = match position {
            Ok(position) => given[by_name[position]].1.take(),
            Err(_) => Scalar::from_name(name).map(Value::Scalar),
        };
        let Some(value) = value else {
            let known = given.iter().map(|(name, _)| name.as_ref().to_owned()).collect();
            let node = graph.nodes.iter().position(|node| *node == Node::Variable(variable as u32));
            let span = node.and_then(|node| graph.span(node as NodeId));
            return Err(ExprError::at(ExprErrorKind::UnknownName { name: name.clone(), known }, span));
        };
        values.push(value);
    }
    match given.iter().find(|(_, value)| value.is_some() && !has_others) {
        Some((name, _)) => {
            let name = name.as_ref().to_owned();
            Err(ExprErrorKind::UnusedName { name, wanted: graph.names.clone() }.into())
        }
        None => Ok(values),
    }
}

/// An expression bound to its inputs. Nothing has been computed yet.
///
/// ```
/// use ndarray::arr1;
/// use unishape::expr::Expr;
///
/// let a = arr1(&[1.0f32, 4.0, 9.0]);
/// let bound = Expr::parse("sqrt(a)")?.bind([("a", &a)])?;
/// assert_eq!(bound.compute()?, arr1(&[1.0f32, 2.0, 3.0]).into());
/// # Ok::<(), unishape::expr::ExprError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Bound<'a> {
    plan: BoundPlan,
    /// The inputs. For a single program, arrays are stretched and are its operands.
    values: Values<'a>,
    shape: Shape,
    /// Requested number of threads.
    threads: Option<usize>,
    /// Whether an output is freshly allocated.
    has_fresh_output: bool,
}

/// What a bound expression executes.
#[derive(Clone, Debug)]
enum BoundPlan {
    /// An element-wise expression: one program.
    Fused(Arc<CompiledExpr>),
    /// An expression with views or reductions: stages.
    Staged(Staged),
}

impl<'a> Bound<'a> {
    pub(crate) fn new(
        graph: &Graph,
        mut values: Values<'a>,
        compiled: Arc<CompiledExpr>,
    ) -> Result<Bound<'a>, ExprError> {
        let shape = common_shape(graph, &values)?;
        for value in &mut values {
            match value {
                Value::Array(view) if view.shape() != &shape[..] => {
                    *view = view.clone().broadcast_to(&shape)?;
                }
                _ => {}
            }
        }
        let plan = BoundPlan::Fused(compiled);
        Ok(Bound { plan, values, shape, threads: None, has_fresh_output: false })
    }

    /// An expression that is computed in stages, some of them together with those of other expressions.
    pub(crate) fn staged(staged: Arc<StagedExpr>, joint: Vec<JointMember>, values: Values<'a>) -> Bound<'a> {
        let shape = staged.shape.clone();
        let plan = BoundPlan::Staged(Staged::new(staged, joint));
        Bound { plan, values, shape, threads: None, has_fresh_output: false }
    }

    /// The program's operands.
    fn inputs(&self) -> SmallVec<[Input<'_>; 4]> {
        self.values.iter().filter_map(input).collect()
    }

    /// The program and the arrays that it reads, where the expression is a single one.
    pub(super) fn program(&self) -> Option<(&Program, SmallVec<[StageArray<'_>; 4]>)> {
        let BoundPlan::Fused(compiled) = &self.plan else { return None };
        let arrays = self.values.iter().filter_map(|value| match value {
            Value::Array(view) => StageArray::of_tensor(view),
            Value::Scalar(_) => None,
        });
        Some((&compiled.program, arrays.collect()))
    }

    /// The stages and the values that they read, where the expression is not a single program, nor a slice.
    pub(super) fn stages(&self) -> Option<(&StagedExpr, &[Value<'a>])> {
        let BoundPlan::Staged(staged) = &self.plan else { return None };
        Some((staged.whole()?, &self.values))
    }

    /// How the expression is computed.
    pub(super) fn options<'o>(&self, should_continue: &'o (dyn Fn(usize) -> bool + Sync)) -> Options<'o> {
        Options { is_output_fresh: self.has_fresh_output, threads: self.threads, should_continue }
    }

    /// Shape of the result.
    ///
    /// ```
    /// # use unishape::expr::Expr;
    /// let a = ndarray::arr2(&[[1, 2, 3]]);
    /// assert_eq!(Expr::parse("-a")?.bind([("a", &a)])?.shape(), [1, 3]);
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Dtype of the result.
    ///
    /// ```
    /// # use unishape::{DType, expr::Expr};
    /// let a = ndarray::arr1(&[1u8]);
    /// assert_eq!(Expr::parse("a / 2")?.bind([("a", &a)])?.dtype(), DType::F64);
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn dtype(&self) -> DType {
        match &self.plan {
            BoundPlan::Fused(compiled) => compiled.dtype,
            BoundPlan::Staged(staged) => staged.dtype(),
        }
    }

    /// Sets how many threads share the work, the calling one included.
    ///
    /// Default: `num_threads()`.
    ///
    /// ```
    /// # use unishape::expr::Expr;
    /// let a = ndarray::arr1(&[1, 2]);
    /// let bound = Expr::parse("a + 1")?.bind([("a", &a)])?.threads(1);
    /// assert_eq!(bound.compute()?, ndarray::arr1(&[2, 3]).into());
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    #[must_use]
    pub fn threads(self, threads: usize) -> Bound<'a> {
        Bound { threads: Some(threads), ..self }
    }

    /// Declares that the output of `compute_into` is freshly allocated.
    ///
    /// Its memory has not been written yet. Large preallocated outputs are written with non-temporal stores,
    /// which are slower on fresh pages.
    ///
    /// ```
    /// # use unishape::expr::Expr;
    /// let (a, mut out) = (ndarray::arr1(&[1, 2]), ndarray::arr1(&[0, 0]));
    /// Expr::parse("a + 1")?.bind([("a", &a)])?.assume_fresh_output().compute_into(&mut out)?;
    /// assert_eq!(out, ndarray::arr1(&[2, 3]));
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    #[must_use]
    pub fn assume_fresh_output(self) -> Bound<'a> {
        Bound { has_fresh_output: true, ..self }
    }

    /// Whether the work is large enough for several threads.
    ///
    /// ```
    /// # use unishape::expr::Expr;
    /// let (few, many) = (ndarray::Array1::<f64>::zeros(10), ndarray::Array1::<f64>::zeros(1_000_000));
    /// let expr = Expr::parse("a + 1")?;
    /// assert!(!expr.bind([("a", &few)])?.is_parallel() && expr.bind([("a", &many)])?.is_parallel());
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn is_parallel(&self) -> bool {
        match &self.plan {
            BoundPlan::Fused(compiled) => fused::is_shared(&compiled.program, &self.shape, &self.inputs()),
            BoundPlan::Staged(staged) => staged.is_parallel(),
        }
    }

    /// Whether the expression has neither views nor reductions.
    ///
    /// Then an element of the result depends only on the elements of the inputs at the same index.
    ///
    /// ```
    /// # use unishape::expr::Expr;
    /// let a = ndarray::arr1(&[1, 2]);
    /// assert!(Expr::parse("a + a")?.bind([("a", &a)])?.is_element_wise());
    /// assert!(!Expr::parse("a + a[::-1]")?.bind([("a", &a)])?.is_element_wise());
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn is_element_wise(&self) -> bool {
        matches!(self.plan, BoundPlan::Fused(_))
    }

    /// Restricts the computation to a range of one dimension of the result.
    ///
    /// Slices of one bound expression share the results of its reductions, which the first one computes. Sums have the same
    /// bits in a slice as in the whole.
    ///
    /// ```
    /// # use unishape::expr::Expr;
    /// let a = ndarray::arr2(&[[1, 2], [3, 4], [5, 6]]);
    /// let rows = Expr::parse("a * 10")?.bind([("a", &a)])?.slice_axis(0, 1..3);
    /// assert_eq!(rows.compute()?, ndarray::arr2(&[[30, 40], [50, 60]]).into());
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Where the dimension does not exist, or the range exceeds it.
    #[must_use]
    pub fn slice_axis(&self, dim: usize, range: Range<usize>) -> Bound<'a> {
        let mut slice = self.clone();
        slice.shape[dim] = range.len();
        if let BoundPlan::Staged(staged) = &self.plan {
            assert!(range.start <= range.end && range.end <= self.shape[dim], "a range of the dimension");
            slice.plan = BoundPlan::Staged(staged.slice_axis(dim, range));
            return slice;
        }
        for value in &mut slice.values {
            if let Value::Array(view) = value {
                view.slice_axis_in_place(dim, range.clone());
            }
        }
        slice
    }

    /// Describes how the result will be computed.
    ///
    /// The loops, how each input is read, and what is computed once and what for each block.
    ///
    /// ```
    /// # use unishape::expr::Expr;
    /// let a = ndarray::Array2::<f32>::zeros((100, 200));
    /// let plan = Expr::parse("a * 2 + 1")?.bind([("a", &a)])?.plan();
    /// assert_eq!(plan, "\
    /// loops: 20000 elements
    /// block: 2864 elements
    ///   a: read in place
    ///   result: written in place
    /// for each block:
    ///   t1 = multiply(a, 2)
    ///   result = add(t1, 1)
    /// ");
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn plan(&self) -> String {
        match &self.plan {
            BoundPlan::Fused(compiled) => {
                let CompiledExpr { program, names, constants, .. } = &**compiled;
                fused::describe(program, &self.shape, &self.inputs(), names, constants)
            }
            BoundPlan::Staged(staged) => staged.describe(&self.values),
        }
    }

    /// Computes the result.
    ///
    /// ```
    /// # use unishape::expr::Expr;
    /// let a = ndarray::arr1(&[1, 2]);
    /// assert_eq!(Expr::parse("a + a")?.bind([("a", &a)])?.compute()?, ndarray::arr1(&[2, 4]).into());
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where the result cannot be allocated.
    pub fn compute(&self) -> Result<Tensor, ExprError> {
        use half::{bf16, f16};
        use num_complex::Complex;
        macro_rules! by_type {
            ($($variant:ident $type:ident $(<$part:ident>)? $name:literal $what:literal;)+) => {
                match self.dtype() {
                    $(DType::$variant => by_type!(@ $type $(<$part>)?),)+
                }
            };
            (@ String) => { Err(ExprErrorKind::Strings.into()) };
            (@ $type:ident $(<$part:ident>)?) => { self.fresh::<$type $(<$part>)?>() };
        }
        for_each_dtype!(by_type)
    }

    fn fresh<T: Numeric>(&self) -> Result<Tensor, ExprError>
    where
        Tensor: From<ArrayD<T>>,
    {
        let count = checked_len::<T>(&self.shape)?;
        let options = Options { is_output_fresh: true, threads: self.threads, should_continue: &|_| true };
        let elements = match &self.plan {
            BoundPlan::Fused(compiled) => {
                program_result::<T>(&compiled.program, &self.inputs(), &self.shape, count, options)
                    .map_err(out_of_memory)?
                    .ok_or(ExprErrorKind::Stopped)?
            }
            BoundPlan::Staged(staged) => {
                let elements = zeroed::<T>(count).map_err(out_of_memory)?;
                let mut result = Array::from_shape_vec(IxDyn(&self.shape), elements)
                    .map_err(|_| crate::Error::too_large(&self.shape, None))?;
                staged.run(&self.values, RawOutput::of_array(&mut *result), options)?;
                return Ok(result.into());
            }
        };
        let result = Array::from_shape_vec(IxDyn(&self.shape), elements)
            .map_err(|_| crate::Error::too_large(&self.shape, None))?;
        Ok(result.into())
    }

    /// Computes the result into a preallocated array of the same dtype and shape.
    ///
    /// ```
    /// # use unishape::expr::Expr;
    /// let (a, mut out) = (ndarray::arr1(&[1, 2]), ndarray::arr1(&[0, 0]));
    /// Expr::parse("a * 3")?.bind([("a", &a)])?.compute_into(&mut out)?;
    /// assert_eq!(out, ndarray::arr1(&[3, 6]));
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where the output has another dtype or shape.
    pub fn compute_into<T: Numeric, D: Dimension>(&self, out: &mut ArrayRef<T, D>) -> Result<(), ExprError> {
        self.compute_while(out, |_| true)
    }

    /// Iterations of all loops that compute the expression.
    ///
    /// Those of an element-wise expression are as many as elements of its result. Views and reductions make several
    /// loops, whose iterations are added; [slices](Bound::slice_axis) share some of them, and have the iterations of
    /// the whole expression.
    ///
    /// ```
    /// # use unishape::expr::Expr;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let a = ndarray::Array2::<f32>::ones((300, 400));
    /// let bound = Expr::parse("sum(a * a, axis=1)")?.bind([("a", &a)])?;
    /// assert_eq!(bound.iterations(), 300 * 400);
    ///
    /// let (done, mut out) = (AtomicUsize::new(0), ndarray::Array1::<f32>::zeros(300));
    /// bound.compute_while(&mut out, |iterations| {
    ///     done.fetch_add(iterations, Ordering::Relaxed);
    ///     true
    /// })?;
    /// assert_eq!(done.into_inner(), bound.iterations());
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn iterations(&self) -> usize {
        match &self.plan {
            BoundPlan::Staged(staged) => staged.iterations(),
            BoundPlan::Fused(_) => self.shape.iter().copied().fold(1, usize::saturating_mul),
        }
    }

    /// Computes into a preallocated array while a function returns `true`.
    ///
    /// [`compute_into`](Bound::compute_into) that can be cancelled, and whose progress can be shown. The function is
    /// called after each chunk with the iterations of its loops, of [`iterations`](Bound::iterations) in all,
    /// possibly on several threads at once.
    ///
    /// ```
    /// # use unishape::expr::{Expr, ExprErrorKind};
    /// let (a, mut out) = (ndarray::arr1(&[1, 2]), ndarray::arr1(&[0, 0]));
    /// let bound = Expr::parse("a * 3")?.bind([("a", &a)])?;
    /// let stopped = bound.compute_while(&mut out, |_| false).unwrap_err();
    /// assert_eq!(stopped.kind(), &ExprErrorKind::Stopped);
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`compute_into`](Bound::compute_into), and [`ExprErrorKind::Stopped`] where the function returned `false`;
    /// then a part of the output has been written.
    ///
    /// # Panics
    ///
    /// Where the function panics.
    pub fn compute_while<T: Numeric, D: Dimension>(
        &self,
        out: &mut ArrayRef<T, D>,
        should_continue: impl Fn(usize) -> bool + Sync,
    ) -> Result<(), ExprError> {
        self.check_output(T::DTYPE, out.shape())?;
        let options = self.options(&should_continue);
        match &self.plan {
            BoundPlan::Staged(staged) => staged.run(&self.values, RawOutput::of_array(out), options),
            BoundPlan::Fused(compiled) => self.run_program(compiled, &mut program_output(out), options),
        }
    }

    /// Checks dtype and shape of an output.
    pub(super) fn check_output(&self, dtype: DType, shape: &[usize]) -> Result<(), ExprError> {
        if dtype != self.dtype() {
            return Err(ExprErrorKind::OutputType { result: self.dtype(), output: dtype }.into());
        }
        if shape != &self.shape[..] {
            let (result, output) = (self.shape.to_vec(), shape.to_vec());
            return Err(ExprErrorKind::OutputShape { result, output }.into());
        }
        Ok(())
    }

    /// Computes into an output that has been checked.
    pub(super) fn run(&self, mut out: RawOutput<'_>, options: Options<'_>) -> Result<(), ExprError> {
        match &self.plan {
            BoundPlan::Staged(staged) => staged.run(&self.values, out, options),
            BoundPlan::Fused(compiled) => self.run_program(compiled, &mut out.output(), options),
        }
    }

    fn run_program(
        &self,
        compiled: &CompiledExpr,
        out: &mut Output<'_>,
        options: Options<'_>,
    ) -> Result<(), ExprError> {
        match fused::run(&compiled.program, &self.inputs(), out, options) {
            true => Ok(()),
            false => Err(ExprErrorKind::Stopped.into()),
        }
    }
}

/// An array as an operand of a program. Programs have no strings.
fn input<'v>(value: &'v Value<'_>) -> Option<Input<'v>> {
    let Value::Array(view) = value else {
        return None;
    };
    program_input(view)
}

/// The shape of the result, or the operator whose operands are incompatible.
fn common_shape(graph: &Graph, values: &[Value<'_>]) -> Result<Shape, ExprError> {
    let rank = values.iter().map(|value| value.shape().len()).max().unwrap_or(0);
    let mut shape = Shape::from_elem(1, rank);
    let mut common = FastCommon::new(Rules::STANDARD, &mut shape);
    values.iter().for_each(|value| common.push(value.shape()));
    if common.finish() {
        return Ok(shape);
    }
    let shapes: Vec<&[usize]> = values.iter().map(Value::shape).collect();
    match broadcast_shapes(&shapes) {
        Ok(shape) => Ok(shape.into()),
        Err(error) => {
            Err(incompatible_operator(graph, &shapes).unwrap_or_else(|| error.named(&graph.names).into()))
        }
    }
}

/// Error of the first operator with incompatible operands, with the inputs at fault.
fn incompatible_operator(graph: &Graph, inputs: &[&[usize]]) -> Option<ExprError> {
    let mut shapes: Vec<Vec<usize>> = Vec::with_capacity(graph.nodes.len());
    for (at, node) in graph.nodes.iter().enumerate() {
        let shape = match node {
            Node::Variable(name) => inputs[*name as usize].to_vec(),
            _ => {
                let operands: Vec<&[usize]> =
                    node.inputs().iter().map(|&input| &shapes[input as usize][..]).collect();
                match broadcast_shapes(&operands) {
                    Ok(shape) => shape,
                    Err(_) => {
                        let names = variables_of(graph, at as NodeId);
                        let shapes: Vec<&[usize]> = names.iter().map(|&name| inputs[name as usize]).collect();
                        let names: Vec<&String> =
                            names.iter().map(|&name| &graph.names[name as usize]).collect();
                        let error = broadcast_shapes(&shapes).err()?.named(&names);
                        return Some(ExprError::at(ExprErrorKind::Shapes(error), graph.span(at as NodeId)));
                    }
                }
            }
        };
        shapes.push(shape);
    }
    None
}

/// The variables that a node depends on, in the order of their first use.
fn variables_of(graph: &Graph, at: NodeId) -> Vec<u32> {
    let mut is_needed = vec![false; at as usize + 1];
    is_needed[at as usize] = true;
    let mut names = Vec::new();
    for node in (0..=at as usize).rev() {
        if !is_needed[node] {
            continue;
        }
        if let Node::Variable(name) = graph.nodes[node] {
            names.push(name);
        }
        for &input in graph.nodes[node].inputs() {
            is_needed[input as usize] = true;
        }
    }
    names.reverse();
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(*name));
    names
}
