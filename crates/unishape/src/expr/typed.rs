//! The typed graph: every node has a shape and a type, and reductions are made of folds.
//!
//! Means, variances, norms and the like are expanded into element-wise operations and [folds](FoldOp), of which there
//! are few. A fold keeps its reduced dimensions, with size 1; a view removes them. What an expression has twice, such as
//! the mean of a layer normalization and that of its variance, is one node.

use super::axes::{self, DimMaps, Shape};
use super::compile::{Argument, InputType, ProgramBuilder};
use super::error::{ExprError, ExprErrorKind};
use super::float_cast::{FloatCast, mean_dtype, wide};
use super::graph::{Graph, Node, NodeId};
use super::reduce_op::ReduceOp;
use super::reduction::Reduction;
use super::types::{Typing, default_type};
use super::view::View;
use crate::dim_map::DimMap;
use crate::shapes::broadcast_shapes_with;
use smallvec::{SmallVec, smallvec};
use std::collections::HashMap;
use unishape_core::Rules;
use unishape_kernels::{DType, DTypeKind, FoldOp, Op, Scalar};

/// Index of a node in [`TypedGraph::nodes`].
pub(crate) type TypedId = usize;

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TypedKind {
    /// A variable that is an array.
    Variable(usize),
    Scalar(Scalar),
    Call(Op, SmallVec<[TypedId; 3]>),
    Cast(DType, TypedId),
    /// A view, by the maps of the input's dimensions.
    View(DimMaps, TypedId),
    /// A fold of some dimensions, which keep size 1.
    Fold(FoldOp, SmallVec<[usize; 4]>, TypedId),
    /// Each element's index in some dimensions, in row-major order: an `int64` for each dimension, times its index.
    Index(SmallVec<[isize; 4]>),
}

impl TypedKind {
    /// The nodes that this one depends on directly.
    pub(crate) fn inputs(&self) -> &[TypedId] {
        match self {
            TypedKind::Call(_, inputs) => inputs,
            TypedKind::Cast(_, input) | TypedKind::View(_, input) | TypedKind::Fold(_, _, input) => {
                std::slice::from_ref(input)
            }
            TypedKind::Variable(_) | TypedKind::Scalar(_) | TypedKind::Index(_) => &[],
        }
    }
}

/// What identifies a node: two nodes with the same key have the same value.
#[derive(PartialEq, Eq, Hash)]
enum NodeKey {
    Variable(usize),
    /// The bits of a number, which tell 0 from -0, and those of an imaginary part.
    Scalar(std::mem::Discriminant<Scalar>, u128, u64),
    Call(Op, SmallVec<[TypedId; 3]>),
    Cast(DType, TypedId),
    View(DimMaps, TypedId, Shape),
    Fold(FoldOp, SmallVec<[usize; 4]>, TypedId),
    Index(SmallVec<[isize; 4]>, Shape),
}

impl NodeKey {
    fn new(kind: &TypedKind, shape: &Shape) -> NodeKey {
        match kind {
            TypedKind::Variable(variable) => NodeKey::Variable(*variable),
            TypedKind::Scalar(number) => {
                let (bits, imaginary) = match *number {
                    Scalar::Bool(truth) => (truth.into(), 0),
                    Scalar::Int(number) => (number as u128, 0),
                    Scalar::Float(number) => (number.to_bits().into(), 0),
                    Scalar::Complex(number) => (number.re.to_bits().into(), number.im.to_bits()),
                };
                NodeKey::Scalar(std::mem::discriminant(number), bits, imaginary)
            }
            TypedKind::Call(op, inputs) => NodeKey::Call(*op, inputs.clone()),
            TypedKind::Cast(dtype, input) => NodeKey::Cast(*dtype, *input),
            TypedKind::View(maps, input) => NodeKey::View(maps.clone(), *input, shape.clone()),
            TypedKind::Fold(fold, dims, input) => NodeKey::Fold(*fold, dims.clone(), *input),
            TypedKind::Index(strides) => NodeKey::Index(strides.clone(), shape.clone()),
        }
    }
}

/// A node with its shape and type.
#[derive(Clone, Debug)]
pub(crate) struct TypedNode {
    pub(crate) kind: TypedKind,
    pub(crate) shape: Shape,
    /// Its value, as far as its type is concerned.
    value: Argument,
    /// The node of the expression that it belongs to, for errors.
    pub(crate) source: NodeId,
}

/// How the index of the smallest or largest element is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Positions {
    /// By one fold, whose accumulators are elements and their indices.
    InOnePass,
    /// By two folds: the extreme element, and the lowest index of those that are equal to it. For executors whose
    /// accumulators are single elements.
    InTwoPasses,
}

/// Nodes in topological order.
pub(crate) struct TypedGraph<'g> {
    graph: &'g Graph,
    pub(crate) nodes: Vec<TypedNode>,
    /// The nodes by their keys.
    known: HashMap<NodeKey, TypedId>,
    /// Finds the types. The program that it makes is not used.
    compiler: ProgramBuilder,
    /// The rules that operands are broadcast under.
    rules: Rules,
    positions: Positions,
    pub(crate) root: TypedId,
}

/// What an input of an expression is: its type and its shape.
pub(crate) struct InputInfo<'s> {
    pub(crate) input_type: InputType,
    pub(crate) shape: &'s [usize],
}

impl<'g> TypedGraph<'g> {
    /// The typed graph of an expression with these inputs.
    pub(crate) fn new(
        graph: &'g Graph,
        inputs: &[InputInfo<'_>],
        typing: Typing,
        rules: Rules,
        positions: Positions,
    ) -> Result<TypedGraph<'g>, ExprError> {
        let types: Vec<InputType> = inputs.iter().map(|input| input.input_type).collect();
        let compiler = ProgramBuilder::new(&types, typing);
        let (nodes, known) = (Vec::new(), HashMap::new());
        let mut typed = TypedGraph { graph, nodes, known, compiler, rules, positions, root: 0 };
        let mut ids: Vec<TypedId> = Vec::with_capacity(graph.nodes.len());
        for (source, node) in graph.nodes.iter().enumerate() {
            let mut builder = Builder { typed: &mut typed, source: source as NodeId };
            let id = match node {
                Node::Variable(variable) => builder.variable(*variable as usize, inputs),
                Node::Scalar(number) => Ok(builder.scalar(*number)),
                Node::Call(op, inputs) => {
                    let inputs: SmallVec<[TypedId; 3]> =
                        inputs.iter().map(|&input| ids[input as usize]).collect();
                    builder.call(*op, &inputs)
                }
                Node::Cast(dtype, input) => builder.cast(ids[*input as usize], *dtype),
                Node::CastLike(cast, [input, like]) => {
                    builder.cast_like(*cast, ids[*input as usize], ids[*like as usize])
                }
                Node::View(view, input) => builder.view(view, ids[*input as usize]),
                Node::Reduce(reduction, inputs) => {
                    let mask = inputs.get(1).map(|&mask| ids[mask as usize]);
                    builder.reduce(reduction, ids[inputs[0] as usize], mask)
                }
            };
            let id = id.map_err(|kind| ExprError::at(kind, graph.span(source as NodeId)))?;
            ids.push(id);
        }
        typed.root = ids.last().copied().unwrap_or(0);
        Ok(typed)
    }

    /// Dtype of a node; scalars have their default dtype.
    pub(crate) fn dtype(&self, id: TypedId) -> DType {
        match self.nodes[id].value {
            Argument::Typed(typed) => typed.dtype,
            Argument::Scalar(number) => default_type(number),
        }
    }

    pub(crate) fn shape(&self, id: TypedId) -> &Shape {
        &self.nodes[id].shape
    }

    /// Name of a node in an error message: that of a variable, if it is one.
    fn name(&self, id: TypedId, position: usize) -> String {
        match self.nodes[id].kind {
            TypedKind::Variable(variable) => self.graph.names[variable].clone(),
            _ => format!("operand {}", position + 1),
        }
    }
}

/// Adds nodes that belong to one node of the expression.
struct Builder<'b, 'g> {
    typed: &'b mut TypedGraph<'g>,
    source: NodeId,
}

type Id = Result<TypedId, ExprErrorKind>;

impl Builder<'_, '_> {
    /// The node of this kind, which is added unless there is one.
    fn push(&mut self, kind: TypedKind, shape: Shape, value: Argument) -> TypedId {
        let (source, next) = (self.source, self.typed.nodes.len());
        let id = *self.typed.known.entry(NodeKey::new(&kind, &shape)).or_insert(next);
        if id == next {
            self.typed.nodes.push(TypedNode { kind, shape, value, source });
        }
        id
    }

    fn variable(&mut self, variable: usize, inputs: &[InputInfo<'_>]) -> Id {
        match inputs[variable].input_type {
            InputType::Scalar(number) => Ok(self.scalar(number)),
            InputType::Array(DType::Str) => Err(ExprErrorKind::Strings),
            InputType::Array(_) => {
                let value = self.typed.compiler.variables[variable];
                let shape = Shape::from_slice(inputs[variable].shape);
                Ok(self.push(TypedKind::Variable(variable), shape, value))
            }
        }
    }

    fn scalar(&mut self, number: Scalar) -> TypedId {
        self.push(TypedKind::Scalar(number), Shape::new(), Argument::Scalar(number))
    }

    /// The common shape of some nodes, which are called `names` in the error.
    fn common_shape(&self, ids: &[TypedId], names: impl Fn() -> Vec<String>) -> Result<Shape, ExprErrorKind> {
        let rules = self.typed.rules;
        // Numbers take the shape of the arrays they are combined with, under every rule set.
        let is_number = |id: TypedId| matches!(self.typed.nodes[id].kind, TypedKind::Scalar(_));
        let all_numbers = ids.iter().all(|&id| is_number(id));
        let is_array = |id: &TypedId| all_numbers || rules == Rules::STANDARD || !is_number(*id);
        let shapes: SmallVec<[&[usize]; 3]> =
            ids.iter().copied().filter(is_array).map(|id| &self.typed.shape(id)[..]).collect();
        match broadcast_shapes_with(rules, &shapes) {
            Ok(shape) => Ok(Shape::from_vec(shape)),
            Err(error) => {
                let names = ids.iter().zip(names()).filter(|(id, _)| is_array(id)).map(|(_, name)| name);
                Err(ExprErrorKind::Shapes(error.named(&names.collect::<Vec<_>>())))
            }
        }
    }

    fn call(&mut self, op: Op, inputs: &[TypedId]) -> Id {
        let arguments: SmallVec<[Argument; 3]> =
            inputs.iter().map(|&id| self.typed.nodes[id].value).collect();
        let value = self.typed.compiler.call(op, &arguments)?;
        let names =
            || inputs.iter().enumerate().map(|(position, &id)| self.typed.name(id, position)).collect();
        let shape = self.common_shape(inputs, names)?;
        if let Argument::Scalar(number) = value {
            // A function of scalars is a scalar.
            return Ok(self.scalar(number));
        }
        Ok(self.push(TypedKind::Call(op, SmallVec::from_slice(inputs)), shape, value))
    }

    fn cast(&mut self, input: TypedId, dtype: DType) -> Id {
        let value = self.typed.compiler.typed_value(self.typed.nodes[input].value)?;
        if value.dtype == dtype && matches!(self.typed.nodes[input].value, Argument::Typed(_)) {
            return Ok(input);
        }
        let value = Argument::Typed(self.typed.compiler.cast(value, dtype)?);
        let shape = self.typed.shape(input).clone();
        Ok(self.push(TypedKind::Cast(dtype, input), shape, value))
    }

    fn cast_like(&mut self, cast: FloatCast, input: TypedId, like: TypedId) -> Id {
        match cast.target(self.dtype(like)) {
            Some(dtype) => self.cast(input, dtype),
            None => Ok(input),
        }
    }

    fn view(&mut self, view: &View, input: TypedId) -> Id {
        let (shape, maps) = axes::view(view, self.typed.shape(input))?;
        Ok(self.mapped(input, shape, maps))
    }

    /// A view of a node. A view of a view is one view.
    fn mapped(&mut self, input: TypedId, shape: Shape, maps: DimMaps) -> TypedId {
        let (input, maps) = match &self.typed.nodes[input].kind {
            TypedKind::View(inner, of) => (*of, axes::compose(inner, &maps)),
            _ => (input, maps),
        };
        let value = self.typed.nodes[input].value;
        self.push(TypedKind::View(maps, input), shape, value)
    }

    fn fold(&mut self, fold: FoldOp, input: TypedId, dims: &[usize]) -> Id {
        let value = self.typed.compiler.typed_value(self.typed.nodes[input].value)?;
        let mut shape = self.typed.shape(input).clone();
        for &dim in dims {
            shape[dim] = 1;
        }
        let result = self.typed.compiler.add_input(if fold.is_position() { DType::I64 } else { value.dtype });
        Ok(self.push(TypedKind::Fold(fold, SmallVec::from_slice(dims), input), shape, result))
    }

    /// Broadcasts a node to a shape that it is compatible with.
    fn stretch(&mut self, input: TypedId, shape: &Shape) -> TypedId {
        if self.typed.shape(input) == shape {
            return input;
        }
        let maps = axes::stretch(self.typed.shape(input), shape);
        self.mapped(input, shape.clone(), maps)
    }

    fn dtype(&self, id: TypedId) -> DType {
        self.typed.dtype(id)
    }

    fn int(&mut self, number: i128) -> TypedId {
        self.scalar(Scalar::Int(number))
    }

    /// A reduction of a node, with an optional mask.
    fn reduce(&mut self, reduction: &Reduction, input: TypedId, mask: Option<TypedId>) -> Id {
        if reduction.dims.is_some() {
            return Err(ExprErrorKind::NamedDims(reduction.op));
        }
        let (mut input, mut mask) = (input, mask);
        if let Some(mask) = &mut mask {
            // As in NumPy, which takes numbers, but no arrays of them.
            if let Argument::Typed(typed) = self.typed.nodes[*mask].value
                && typed.dtype != DType::Bool
            {
                return Err(ExprErrorKind::MaskType(typed.dtype));
            }
            // Broadcast with the array, which it may stretch. Before it is cast: a number has no shape.
            let names = || vec![self.typed.name(input, 0), "where".into()];
            let shape = self.common_shape(&[input, *mask], names)?;
            *mask = self.cast(*mask, DType::Bool)?;
            input = self.stretch(input, &shape);
            *mask = self.stretch(*mask, &shape);
        }
        let shape = self.typed.shape(input).clone();
        let dims = axes::normalize_axes(reduction.axes.as_deref(), shape.len())?;
        let operand = ReducedInput { op: reduction.op, input, mask, dims: &dims };
        let result = self.reduce_keeping_dims(reduction, operand)?;
        if reduction.keep_dims || dims.is_empty() {
            return Ok(result);
        }
        let (shape, maps) = axes::squeeze(self.typed.shape(result), &dims);
        Ok(self.mapped(result, shape, maps))
    }

    fn reduce_keeping_dims(&mut self, reduction: &Reduction, operand: ReducedInput<'_>) -> Id {
        let ReducedInput { op, input, mask, dims } = operand;
        let dtype = self.dtype(input);
        let sum_dtype = match dtype.kind() {
            DTypeKind::Bool | DTypeKind::Signed => DType::I64,
            DTypeKind::Unsigned => DType::U64,
            _ => dtype,
        };
        match op {
            ReduceOp::Sum | ReduceOp::Prod => {
                let dtype = reduction.dtype.unwrap_or(sum_dtype);
                let (fold, neutral, combine) = match op {
                    ReduceOp::Sum => (FoldOp::Sum, 0, Op::Add),
                    _ => (FoldOp::Product, 1, Op::Multiply),
                };
                let result = self.fold_in(dtype, fold, neutral, operand)?;
                // Half precision is rounded once, at the end.
                let result = self.with_initial(result, combine, reduction.initial, dtype)?;
                self.cast(result, dtype)
            }
            ReduceOp::Min | ReduceOp::Max => {
                let (fold, combine) =
                    if op == ReduceOp::Min { (FoldOp::Min, Op::Min) } else { (FoldOp::Max, Op::Max) };
                let mut input = input;
                let initial = reduction.initial.map(|initial| initial_in(initial, dtype)).transpose()?;
                match (initial, mask) {
                    (Some(initial), Some(mask)) => {
                        let initial = self.scalar(initial);
                        input = self.call(Op::Where, &[mask, input, initial])?;
                    }
                    (None, Some(_)) => return Err(ExprErrorKind::NeedsInitial(op)),
                    (None, None) => self.check_not_empty(op, input, dims)?,
                    (Some(_), None) => {}
                }
                let result = self.extreme(fold, input, dims)?;
                self.with_initial(result, combine, initial, dtype)
            }
            ReduceOp::Any | ReduceOp::All => {
                let mut input = self.cast(input, DType::Bool)?;
                if let Some(mask) = mask {
                    input = match op {
                        ReduceOp::Any => self.call(Op::LogicalAnd, &[input, mask])?,
                        _ => {
                            let not = self.call(Op::LogicalNot, &[mask])?;
                            self.call(Op::LogicalOr, &[input, not])?
                        }
                    };
                }
                self.fold(if op == ReduceOp::Any { FoldOp::Any } else { FoldOp::All }, input, dims)
            }
            ReduceOp::CountNonzero => {
                let truth = self.cast(input, DType::Bool)?;
                let ones = self.cast(truth, DType::I64)?;
                self.fold(FoldOp::Sum, ones, dims)
            }
            ReduceOp::Mean => {
                let dtype = reduction.dtype.unwrap_or_else(|| mean_dtype(dtype));
                self.mean(wide(dtype), operand).and_then(|mean| self.cast(mean, dtype))
            }
            ReduceOp::Var | ReduceOp::Std => {
                let dtype = reduction.dtype.unwrap_or_else(|| mean_dtype(dtype));
                let variance = self.variance(wide(dtype), operand, reduction.ddof)?;
                let result = match op {
                    ReduceOp::Std => self.call(Op::Sqrt, &[variance])?,
                    _ => variance,
                };
                // As in NumPy, a complex dtype that is requested stays.
                self.cast(result, reduction.dtype.unwrap_or(dtype.real_dtype()))
            }
            ReduceOp::ArgMin | ReduceOp::ArgMax => {
                self.check_not_empty(op, input, dims)?;
                self.position(if op == ReduceOp::ArgMin { FoldOp::Min } else { FoldOp::Max }, input, dims)
            }
            ReduceOp::LogSumExp => {
                let dtype = mean_dtype(dtype);
                let x = self.cast(input, wide(dtype))?;
                let largest = self.extreme(FoldOp::Max, x, dims)?;
                // Where the largest is infinite or NaN, differences to it would be NaN.
                let (is_finite, zero) = (self.call(Op::IsFinite, &[largest])?, self.int(0));
                let largest = self.call(Op::Where, &[is_finite, largest, zero])?;
                let difference = self.call(Op::Subtract, &[x, largest])?;
                let exp = self.call(Op::Exp, &[difference])?;
                let sum = self.fold(FoldOp::Sum, exp, dims)?;
                let log = self.call(Op::Log, &[sum])?;
                let result = self.call(Op::Add, &[log, largest])?;
                self.cast(result, dtype)
            }
            ReduceOp::Norm1 | ReduceOp::Norm2 | ReduceOp::NormInf => {
                let dtype = mean_dtype(dtype);
                let x = self.cast(input, wide(dtype))?;
                let result = match op {
                    ReduceOp::Norm2 => {
                        let squares = self.squared_abs(x)?;
                        let sum = self.fold(FoldOp::Sum, squares, dims)?;
                        self.call(Op::Sqrt, &[sum])?
                    }
                    _ => {
                        let sizes = self.call(Op::Abs, &[x])?;
                        match op {
                            ReduceOp::Norm1 => self.fold(FoldOp::Sum, sizes, dims)?,
                            _ => {
                                self.check_not_empty(op, sizes, dims)?;
                                self.extreme(FoldOp::Max, sizes, dims)?
                            }
                        }
                    }
                };
                self.cast(result, dtype.real_dtype())
            }
        }
    }

    /// A fold in a dtype, whose result is wider for half precision. Masked elements are neutral.
    fn fold_in(&mut self, dtype: DType, fold: FoldOp, neutral: i128, operand: ReducedInput<'_>) -> Id {
        let ReducedInput { op, input, mask, dims } = operand;
        let computed = match wide(dtype) {
            // Sums of booleans have a dtype that can count.
            DType::Bool => DType::I64,
            DType::I8 | DType::I16 | DType::I32 => DType::I64,
            DType::U8 | DType::U16 | DType::U32 => DType::U64,
            DType::Str => return Err(ExprErrorKind::ReductionType { op, dtype }),
            dtype => dtype,
        };
        // Through the requested dtype: its range decides what is summed.
        let input = self.cast(input, dtype)?;
        let mut input = self.cast(input, computed)?;
        if let Some(mask) = mask {
            let neutral = self.int(neutral);
            input = self.call(Op::Where, &[mask, input, neutral])?;
        }
        let result = self.fold(fold, input, dims)?;
        self.cast(result, wide(dtype))
    }

    /// The smallest or largest element.
    fn extreme(&mut self, fold: FoldOp, input: TypedId, dims: &[usize]) -> Id {
        let dtype = self.dtype(input);
        let wide = self.cast(input, wide(dtype))?;
        let result = self.fold(fold, wide, dims)?;
        self.cast(result, dtype)
    }

    fn with_initial(&mut self, result: TypedId, combine: Op, initial: Option<Scalar>, dtype: DType) -> Id {
        let Some(initial) = initial else { return Ok(result) };
        let initial = initial_in(initial, dtype)?;
        let initial = self.scalar(initial);
        self.call(combine, &[result, initial])
    }

    fn check_not_empty(&self, op: ReduceOp, input: TypedId, dims: &[usize]) -> Result<(), ExprErrorKind> {
        let shape = self.typed.shape(input);
        // As in NumPy, also where there is no result.
        match dims.iter().any(|&dim| shape[dim] == 0) {
            true => Err(ExprErrorKind::EmptyReduction(op)),
            false => Ok(()),
        }
    }

    /// Number of elements of each reduction, as a scalar or, with a mask, as an array.
    fn count(&mut self, ReducedInput { input, mask, dims, .. }: ReducedInput<'_>) -> Id {
        match mask {
            Some(mask) => {
                let ones = self.cast(mask, DType::I64)?;
                self.fold(FoldOp::Sum, ones, dims)
            }
            None => {
                let shape = self.typed.shape(input);
                let count = dims.iter().map(|&dim| shape[dim] as i128).product();
                Ok(self.int(count))
            }
        }
    }

    fn mean(&mut self, dtype: DType, operand: ReducedInput<'_>) -> Id {
        let sum = self.fold_in(dtype, FoldOp::Sum, 0, operand)?;
        self.divide_by_count(sum, operand, None)
    }

    /// Divides by the number of elements, less `ddof`.
    fn divide_by_count(&mut self, sum: TypedId, operand: ReducedInput<'_>, ddof: Option<Scalar>) -> Id {
        let dtype = self.dtype(sum);
        let mut count = self.count(operand)?;
        if let Some(ddof) = ddof.filter(|&ddof| ddof != Scalar::Int(0)) {
            let (ddof, zero) = (self.scalar(ddof), self.int(0));
            count = self.call(Op::Subtract, &[count, ddof])?;
            count = self.call(Op::Max, &[count, zero])?;
        }
        let quotient = match dtype.kind() {
            // Integers, where `dtype=` requests them: NumPy divides as floats and converts.
            kind if kind < DTypeKind::Float => {
                let sum = self.cast(sum, DType::F64)?;
                self.call(Op::Divide, &[sum, count])?
            }
            _ => {
                let count = match self.typed.nodes[count].value {
                    Argument::Scalar(_) => count,
                    Argument::Typed(_) => self.cast(count, dtype.real_dtype())?,
                };
                self.call(Op::Divide, &[sum, count])?
            }
        };
        self.cast(quotient, dtype)
    }

    fn variance(&mut self, dtype: DType, operand: ReducedInput<'_>, ddof: Scalar) -> Id {
        let x = self.cast(operand.input, dtype)?;
        let mean = self.mean(dtype, operand)?;
        let deviation = self.call(Op::Subtract, &[x, mean])?;
        let squares = self.squared_abs(deviation)?;
        let squares = ReducedInput { input: squares, ..operand };
        let sum = self.fold_in(dtype.real_dtype(), FoldOp::Sum, 0, squares)?;
        self.divide_by_count(sum, squares, Some(ddof))
    }

    /// The square of the absolute value.
    fn squared_abs(&mut self, input: TypedId) -> Id {
        if !self.dtype(input).is_complex() {
            return self.call(Op::Square, &[input]);
        }
        let conjugate = self.call(Op::Conj, &[input])?;
        let product = self.call(Op::Multiply, &[input, conjugate])?;
        self.call(Op::Real, &[product])
    }

    /// Index of the first extreme element, or of the first NaN, within the reduced dimensions.
    fn position(&mut self, fold: FoldOp, input: TypedId, dims: &[usize]) -> Id {
        if self.typed.positions == Positions::InOnePass {
            let input = self.cast(input, wide(self.dtype(input)))?;
            let fold = if fold == FoldOp::Min { FoldOp::ArgMin } else { FoldOp::ArgMax };
            return self.fold(fold, input, dims);
        }
        let extreme = self.extreme(fold, input, dims)?;
        let mut found = self.call(Op::Equal, &[input, extreme])?;
        if self.dtype(input).kind() >= DTypeKind::Float {
            // Only NaN differs from itself; then the extreme element is NaN.
            let is_nan = self.call(Op::NotEqual, &[input, input])?;
            found = self.call(Op::LogicalOr, &[found, is_nan])?;
        }
        let shape = self.typed.shape(input).clone();
        let strides = index_strides(&shape, dims);
        let value = self.typed.compiler.add_input(DType::I64);
        let index = self.push(TypedKind::Index(strides), shape, value);
        let none = self.int(i64::MAX.into());
        let candidates = self.call(Op::Where, &[found, index, none])?;
        self.fold(FoldOp::Min, candidates, dims)
    }
}

/// What the index in each dimension is multiplied by, so that their sum is the row-major index within some of them.
pub(crate) fn index_strides(shape: &[usize], dims: &[usize]) -> SmallVec<[isize; 4]> {
    let mut strides: SmallVec<[isize; 4]> = smallvec![0; shape.len()];
    let mut next = 1isize;
    for dim in (0..shape.len()).rev().filter(|dim| dims.contains(dim)) {
        strides[dim] = next;
        next = next.saturating_mul(shape[dim] as isize);
    }
    strides
}

/// What is reduced.
#[derive(Clone, Copy)]
struct ReducedInput<'d> {
    op: ReduceOp,
    input: TypedId,
    mask: Option<TypedId>,
    dims: &'d [usize],
}

/// An initial value in the dtype of the result, which it does not change. As in NumPy, fractions are dropped.
fn initial_in(initial: Scalar, dtype: DType) -> Result<Scalar, ExprErrorKind> {
    let kind = dtype.kind();
    match initial {
        _ if kind == DTypeKind::Bool => Ok(Scalar::Bool(match initial {
            Scalar::Bool(truth) => truth,
            Scalar::Int(number) => number != 0,
            Scalar::Float(number) => number != 0.0,
            Scalar::Complex(number) => number.re != 0.0 || number.im != 0.0,
        })),
        Scalar::Complex(_) if kind < DTypeKind::Complex => {
            Err(ExprErrorKind::NoCast { from: DType::C128, to: dtype })
        }
        Scalar::Float(number) if kind < DTypeKind::Float => match number.is_finite() {
            true => Ok(Scalar::Int(number as i128)),
            false => Err(ExprErrorKind::DoesNotFit { number: number.to_string(), dtype }),
        },
        _ => Ok(initial),
    }
}

/// Whether maps are those of an array from which some dimensions were removed, which have size 1, and nothing else.
pub(crate) fn is_squeeze(maps: &[DimMap], removed: &[usize], from: &[usize], to: &[usize]) -> bool {
    let mut next = 0;
    let in_order = maps.iter().zip(from).enumerate().all(|(own, (map, &size))| match map.dim {
        None => removed.contains(&own),
        Some(dim) => {
            let is_next =
                dim == next && map.start == 0 && map.step == 1 && to[dim] == size && !removed.contains(&own);
            next += 1;
            is_next
        }
    });
    in_order && next == to.len()
}
