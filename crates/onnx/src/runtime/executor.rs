//! Executes a compiled model: holds the values of one run and fuses deferred element-wise nodes.

use super::compiled_model::{CompiledModel, CompiledNode};
use super::element_wise;
use super::shape_ops::{self, expanded_shape, reborrow, with_array};
use super::strings;
use crate::error::{Error, display_name};
use crate::operators::ShapeRule;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use unishape::expr::{Bound, ExprError, ExprErrorKind, Lazy, Typing, lazy};
use unishape::{DType, Tensor, TensorView, broadcast_shapes, broadcast_to, element_count, to_owned};

/// State of one run of a compiled model.
///
/// Element-wise results are deferred. When a value is materialized, all deferred nodes that it depends on are
/// computed with it in one pass.
pub(super) struct Executor<'a> {
    model: &'a CompiledModel,
    values: Vec<ValueState<'a>>,
    /// Remaining uses of each value.
    uses: Vec<usize>,
    /// Preallocated buffers, by value.
    buffers: HashMap<usize, Tensor>,
}

/// State of a value.
enum ValueState<'a> {
    /// Not computed yet, or released.
    Empty,
    /// An input, a constant, or a stride-0 view of one.
    Borrowed(TensorView<'a>),
    Owned(Tensor),
    /// Tensor broadcast to a shape, shared between values.
    Expanded(Arc<Tensor>, Vec<usize>),
    /// Result of an element-wise node that is not computed yet.
    Deferred {
        node: usize,
        dtype: DType,
        shape: Vec<usize>,
    },
}

impl<'a> Executor<'a> {
    pub(super) fn new(model: &'a CompiledModel, buffers: HashMap<usize, Tensor>) -> Executor<'a> {
        let mut values: Vec<ValueState<'a>> = model.names.iter().map(|_| ValueState::Empty).collect();
        for (value, tensor) in &model.constants {
            values[*value] = ValueState::Borrowed(tensor.view());
        }
        Executor { model, values, uses: model.uses.clone(), buffers }
    }

    pub(super) fn set_input(&mut self, value: usize, view: TensorView<'a>) {
        self.values[value] = ValueState::Borrowed(view);
    }

    /// Executes or defers a node.
    pub(super) fn execute(&mut self, index: usize) -> Result<(), Error> {
        let model = self.model;
        let compiled = &model.nodes[index];
        if compiled.version.operator.shape_rule == ShapeRule::ShapeOperator {
            let result = match compiled.version.operator.name {
                "Expand" => self.expand(compiled)?,
                _ => {
                    let views: Vec<_> = compiled
                        .inputs
                        .iter()
                        .map(|&input| input.map(|value| self.view(value)).transpose())
                        .collect::<Result<_, _>>()?;
                    ValueState::Owned(shape_ops::run(&compiled.node, &compiled.version, &views)?)
                }
            };
            self.finish_node(compiled, result);
            return Ok(());
        }
        let types = self.input_types(compiled)?;
        let dtype = element_wise::result_type(&compiled.node, &compiled.version, &types)?;
        element_wise::check_attributes(&compiled.node, &compiled.version, &types)?;
        let shape = self.result_shape(compiled)?;
        if dtype == DType::Str || types.contains(&Some(DType::Str)) {
            let result = self.run_on_strings(compiled, dtype)?;
            self.finish_node(compiled, result);
            return Ok(());
        }
        let is_clip = compiled.version.operator.name == "Clip";
        for (position, input) in compiled.inputs.iter().enumerate() {
            let Some(input) = *input else { continue };
            // A stretched input is computed once, not again for each repetition; Clip reads its bounds as scalars.
            let is_bound = is_clip && position > 0;
            if matches!(&self.values[input], ValueState::Deferred { shape: own, .. } if *own != shape || is_bound)
            {
                self.materialize(input)?;
            }
        }
        self.values[compiled.output] = ValueState::Deferred { node: index, dtype, shape };
        if compiled.is_materialized { self.materialize(compiled.output) } else { Ok(()) }
    }

    fn input_types(&self, compiled: &CompiledNode) -> Result<Vec<Option<DType>>, Error> {
        compiled.inputs.iter().map(|&input| input.map(|value| self.dtype(value)).transpose()).collect()
    }

    /// Output shape of an element-wise node.
    fn result_shape(&self, compiled: &CompiledNode) -> Result<Vec<usize>, Error> {
        let shapes = compiled.inputs.iter().flatten().map(|&value| self.shape(value));
        let shapes = shapes.collect::<Result<Vec<&[usize]>, Error>>()?;
        let [first, ref others @ ..] = shapes[..] else {
            return Err(Error::invalid("it has no inputs"));
        };
        let names = || -> Vec<&str> {
            compiled.inputs.iter().flatten().map(|&value| self.model.names[value].as_str()).collect()
        };
        match compiled.version.operator.shape_rule {
            ShapeRule::SameShape => {
                // A scalar, or a list of one element.
                let is_single = |shape: &&[usize]| shape.iter().all(|&size| size == 1) && shape.len() < 2;
                match compiled.version.operator.name {
                    "Clip" if !others.iter().all(is_single) => {
                        Err(Error::invalid("the bounds of Clip must be scalars"))
                    }
                    _ => Ok(first.to_vec()),
                }
            }
            ShapeRule::Unidirectional => {
                // Arrays of unit elements: only their shapes are checked.
                let unit = ndarray::arr0(());
                for &other in others {
                    let view = broadcast_to(&unit, other)?;
                    broadcast_to(view, first)?;
                }
                Ok(first.to_vec())
            }
            ShapeRule::Multidirectional | ShapeRule::ShapeOperator => {
                let broadcasts_before_support =
                    compiled.version.since < 7 && others.iter().any(|&other| other != first);
                if broadcasts_before_support {
                    let problem = "before opset 8 all inputs must have the same shape; \
                                   convert the model to opset 8 or later (onnx.version_converter)";
                    return Err(Error::unsupported(problem));
                }
                broadcast_shapes(&shapes).map_err(|error| error.named(&names()).into())
            }
        }
    }

    /// Stores the result of a node and releases its inputs.
    fn finish_node(&mut self, compiled: &CompiledNode, result: ValueState<'a>) {
        self.values[compiled.output] = result;
        self.release_inputs(compiled);
    }

    /// Expand as a view: no element is copied.
    fn expand(&mut self, compiled: &CompiledNode) -> Result<ValueState<'a>, Error> {
        let [Some(input), Some(shape)] = compiled.inputs[..] else {
            return Err(Error::invalid("an input is missing"));
        };
        compiled.version.check_type(self.dtype(input)?)?;
        self.materialize(input)?;
        self.materialize(shape)?;
        let target = expanded_shape(self.shape(input)?, &self.view(shape)?)?;
        element_count(&target)
            .map_err(|_| unishape::Error::TooLarge { shape: target.clone(), element: None })?;
        if let ValueState::Owned(_) = self.values[input] {
            let ValueState::Owned(tensor) = std::mem::replace(&mut self.values[input], ValueState::Empty)
            else {
                return Err(not_materialized());
            };
            let shape = tensor.shape().to_vec();
            self.values[input] = ValueState::Expanded(Arc::new(tensor), shape);
        }
        Ok(match &self.values[input] {
            ValueState::Borrowed(view) => ValueState::Borrowed(view.clone().broadcast_to(&target)?),
            ValueState::Expanded(tensor, _) => ValueState::Expanded(tensor.clone(), target),
            _ => return Err(not_materialized()),
        })
    }

    fn run_on_strings(&mut self, compiled: &CompiledNode, dtype: DType) -> Result<ValueState<'a>, Error> {
        for &input in compiled.inputs.iter().flatten() {
            self.materialize(input)?;
        }
        let views = compiled.inputs.iter().flatten().map(|&value| self.view(value));
        let views = views.collect::<Result<Vec<_>, Error>>()?;
        let result = match (compiled.version.operator.name, &views[..]) {
            ("Identity", [x]) => x.to_owned()?,
            ("Cast" | "CastLike", [x, ..]) if dtype == DType::Str => strings::format_numbers(x)?,
            ("Cast" | "CastLike", [x, ..]) => strings::parse_numbers(x, dtype)?,
            (name, views) => strings::broadcast_operator(name, views)?,
        };
        Ok(ValueState::Owned(result))
    }

    /// Computes a deferred value, and the deferred nodes that it depends on, in one pass.
    fn materialize(&mut self, value: usize) -> Result<(), Error> {
        let ValueState::Deferred { node: last, .. } = self.values[value] else { return Ok(()) };
        let model = self.model;
        let buffer = self.buffers.remove(&value);
        let mut nodes = BTreeSet::from([last]);
        let mut pending = vec![last];
        while let Some(index) = pending.pop() {
            for &input in model.nodes[index].inputs.iter().flatten() {
                if let ValueState::Deferred { node, .. } = self.values[input]
                    && nodes.insert(node)
                {
                    pending.push(node);
                }
            }
        }
        let mut expressions: HashMap<usize, Lazy<'_>> = HashMap::new();
        for &index in &nodes {
            let compiled = &model.nodes[index];
            let expression = self.expression(compiled, &mut expressions)?;
            expressions.insert(compiled.output, expression);
        }
        let expression = expressions.get(&value).ok_or_else(not_materialized)?;
        let tensor = self.evaluate(expression, buffer)?;
        drop(expressions);
        self.values[value] = ValueState::Owned(tensor);
        self.release_inputs(&model.nodes[last]);
        Ok(())
    }

    /// Evaluates an expression, into `buffer` if its dtype and shape fit.
    fn evaluate(&self, expression: &Lazy<'_>, buffer: Option<Tensor>) -> Result<Tensor, Error> {
        let bound = expression.bind_typed(Typing::Strict).map_err(expression_error)?;
        let bound = match self.model.threads {
            Some(threads) => bound.threads(threads),
            None => bound,
        };
        let fits = |buffer: &Tensor| buffer.dtype() == bound.dtype() && buffer.shape() == bound.shape();
        let tensor = match buffer.filter(fits) {
            Some(buffer) => compute_into(buffer, &bound),
            None => bound.compute(),
        };
        tensor.map_err(expression_error)
    }

    /// Expression of a node over materialized values and earlier expressions.
    fn expression<'r>(
        &'r self,
        compiled: &CompiledNode,
        expressions: &mut HashMap<usize, Lazy<'r>>,
    ) -> Result<Lazy<'r>, Error> {
        let mut inputs = Vec::with_capacity(compiled.inputs.len());
        for &input in &compiled.inputs {
            inputs.push(match input {
                None => None,
                Some(value) => Some(match expressions.get(&value) {
                    Some(known) => known.clone(),
                    None => {
                        let new = lazy(self.view(value)?);
                        expressions.insert(value, new.clone());
                        new
                    }
                }),
            });
        }
        match (compiled.version.operator.name, &compiled.inputs[..]) {
            // A constant exponent of 2 compiles to a multiplication, which is much faster than a power.
            ("Pow", &[Some(base), Some(exponent)]) => {
                let rank = |value: usize| self.shape(value).map(<[usize]>::len);
                if rank(exponent)? <= rank(base)? && self.is_two(exponent) {
                    let base = inputs.swap_remove(0).ok_or_else(not_materialized)?;
                    return Ok(base.pow(2));
                }
            }
            // The rank of a bound does not affect the output.
            ("Clip", &[_, ref bounds @ ..]) => {
                for (index, bound) in bounds.iter().enumerate() {
                    if let Some(bound) = bound {
                        inputs[index + 1] = Some(self.scalar(*bound)?);
                    }
                }
            }
            // Only the type of the second input matters.
            ("CastLike", _) => inputs.truncate(1),
            _ => {}
        }
        element_wise::build_expression(
            &compiled.node,
            &compiled.version,
            &inputs,
            &self.input_types(compiled)?,
        )
    }

    /// Whether a value is materialized and has the single element 2.
    fn is_two(&self, value: usize) -> bool {
        let Ok(view) = self.view(value) else { return false };
        with_array!(TensorView, &view, array => array.len() == 1)
            && lazy(view).equal_to(2).compute().is_ok_and(|is_two| match is_two {
                Tensor::Bool(is_two) => is_two.iter().all(|&is_two| is_two),
                _ => false,
            })
    }

    /// First element of a value, with rank 0.
    fn scalar<'r>(&'r self, value: usize) -> Result<Lazy<'r>, Error> {
        let view = self.view(value)?;
        let rank = view.shape().len();
        Ok(lazy(with_array!(TensorView, view, array => {
            let mut array = array;
            for _ in 0..rank {
                array = array.index_axis_move(ndarray::Axis(0), 0);
            }
            TensorView::from(array)
        })))
    }

    /// Materializes an output; moves it out if this is its last use, else copies it.
    pub(super) fn take_output(&mut self, value: usize) -> Result<Tensor, Error> {
        self.materialize(value)?;
        self.uses[value] = self.uses[value].saturating_sub(1);
        if self.uses[value] == 0
            && let ValueState::Owned(_) = self.values[value]
            && let ValueState::Owned(tensor) = std::mem::replace(&mut self.values[value], ValueState::Empty)
        {
            return Ok(tensor);
        }
        let buffer = self.buffers.remove(&value);
        match self.view(value)? {
            TensorView::Str(strings) => Ok(to_owned(strings)?.into()),
            numbers => self.evaluate(&lazy(numbers), buffer),
        }
    }

    /// View of a materialized value.
    fn view(&self, value: usize) -> Result<TensorView<'_>, Error> {
        Ok(match &self.values[value] {
            ValueState::Borrowed(view) => reborrow(view),
            ValueState::Owned(tensor) => tensor.view(),
            ValueState::Expanded(tensor, shape) => tensor.view().broadcast_to(shape)?,
            ValueState::Empty | ValueState::Deferred { .. } => return Err(not_materialized()),
        })
    }

    fn shape(&self, value: usize) -> Result<&[usize], Error> {
        Ok(match &self.values[value] {
            ValueState::Borrowed(view) => view.shape(),
            ValueState::Owned(tensor) => tensor.shape(),
            ValueState::Expanded(_, shape) | ValueState::Deferred { shape, .. } => shape,
            ValueState::Empty => return Err(self.no_value(value)),
        })
    }

    fn dtype(&self, value: usize) -> Result<DType, Error> {
        Ok(match &self.values[value] {
            ValueState::Borrowed(view) => view.dtype(),
            ValueState::Owned(tensor) => tensor.dtype(),
            ValueState::Expanded(tensor, _) => tensor.dtype(),
            ValueState::Deferred { dtype, .. } => *dtype,
            ValueState::Empty => return Err(self.no_value(value)),
        })
    }

    fn no_value(&self, value: usize) -> Error {
        Error::input(format!("no value for {}", display_name(&self.model.names[value])))
    }

    /// Decrements the use counts of a finished node's inputs, and frees the values that are no longer used.
    fn release_inputs(&mut self, compiled: &CompiledNode) {
        let mut pending: Vec<usize> = compiled.inputs.iter().flatten().copied().collect();
        while let Some(value) = pending.pop() {
            self.uses[value] = self.uses[value].saturating_sub(1);
            if self.uses[value] > 0 {
                continue;
            }
            if let ValueState::Deferred { node, .. } =
                std::mem::replace(&mut self.values[value], ValueState::Empty)
            {
                // A fused node is never materialized, so its inputs are released here.
                pending.extend(self.model.nodes[node].inputs.iter().flatten());
            }
        }
    }
}

/// Computes into a preallocated tensor of the right dtype and shape.
fn compute_into(buffer: Tensor, bound: &Bound<'_>) -> Result<Tensor, ExprError> {
    macro_rules! by_type {
        ($($variant:ident)+) => {
            match buffer {
                $(Tensor::$variant(mut array) => bound.compute_into(&mut array).map(|()| array.into()),)+
                // No expression has string results.
                Tensor::Str(_) => bound.compute(),
            }
        };
    }
    by_type!(F16 BF16 F32 F64 I8 I16 I32 I64 U8 U16 U32 U64 Bool C64 C128)
}

fn expression_error(error: ExprError) -> Error {
    match error.kind() {
        ExprErrorKind::Shapes(error) => error.clone().into(),
        _ => Error::invalid(error),
    }
}

/// Internal error; unreachable, because nodes run in topological order.
fn not_materialized() -> Error {
    Error::invalid("a value is used before it is computed")
}
