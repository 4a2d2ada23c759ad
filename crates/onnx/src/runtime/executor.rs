//! Executes a compiled model: holds the values of one run and fuses deferred nodes.

use super::compiled_model::{CompiledModel, CompiledNode, NodeOutput};
use super::element_wise;
use super::normalize::{self, GroupShape, InputTypes, OutputType};
use super::reduce::{self, ReducedAxes};
use super::shape_ops::{
    self, Reshaped, expanded_shape, int_list, reborrow, reshaped_shape, viewed, with_array, with_shape,
};
use super::strings;
use crate::error::{Error, display_name};
use crate::operators::ShapeRule;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use unishape::expr::{Bound, ExprError, ExprErrorKind, Lazy, OutputMut, Typing, lazy};
use unishape::{DType, Tensor, TensorView, broadcast_shapes, broadcast_to, element_count, to_owned};

/// A value that depends on a chain of this many reductions is materialized before another one reduces it.
const MAX_CHAINED_REDUCTIONS: usize = 8;

/// The same, for a chain in which the reduced axes change this many times. Reductions of the same axes share rows and
/// the work for them; along other axes, each repeats all element-wise work before it.
const MAX_AXES_CHANGES: usize = 1;

/// About how many reductions one pass computes: planning it takes a time that grows with the square of their number.
const MAX_FUSED_REDUCTIONS: usize = 100;

/// State of one run of a compiled model.
///
/// Results of element-wise operators, reductions and normalizations are deferred. When a value is materialized, all
/// deferred nodes that it depends on are computed with it in one pass.
pub(super) struct Executor<'a> {
    model: &'a CompiledModel,
    values: Vec<ValueState<'a>>,
    /// Remaining uses of each value.
    uses: Vec<usize>,
    /// Preallocated buffers, by value.
    buffers: HashMap<usize, Tensor>,
    /// How each materialized value is computed, if that is requested.
    plans: Option<String>,
}

/// How expressions are computed; empty unless plans are recorded.
type Plans = Vec<String>;

/// State of a value.
enum ValueState<'a> {
    /// Not computed yet, or released.
    Empty,
    /// An input, a constant, or a stride-0 view of one.
    Borrowed(TensorView<'a>),
    Owned(Tensor),
    /// Tensor that values share.
    Shared(SharedTensor),
    /// Result of a fused node that is not computed yet.
    Deferred {
        node: usize,
        /// Which output of the node.
        output: usize,
        dtype: DType,
        shape: Vec<usize>,
        reductions: ReductionChain,
    },
}

/// A tensor in another shape: its elements are viewed in one of as many elements, which is then stretched.
#[derive(Clone)]
struct SharedTensor {
    tensor: Arc<Tensor>,
    /// The shape before it is stretched. The tensor can be viewed in it.
    base: Vec<usize>,
    shape: Vec<usize>,
}

impl SharedTensor {
    fn new(tensor: Tensor) -> SharedTensor {
        let shape = tensor.shape().to_vec();
        SharedTensor { tensor: Arc::new(tensor), base: shape.clone(), shape }
    }

    fn view(&self) -> Result<TensorView<'_>, Error> {
        Ok(viewed(self.tensor.view(), &self.base)?.broadcast_to(&self.shape)?)
    }

    /// Whether elements are repeated, or left out for a shape without elements.
    fn is_stretched(&self) -> bool {
        element_count(&self.base) != element_count(&self.shape)
    }

    /// The tensor itself, unless other values share it or it is stretched.
    fn into_tensor(self) -> Result<Tensor, SharedTensor> {
        let SharedTensor { tensor, base, shape } = self;
        match viewed(tensor.view(), &shape).is_ok() {
            true => Arc::try_unwrap(tensor).map_err(|tensor| SharedTensor { tensor, base, shape }),
            false => Err(SharedTensor { tensor, base, shape }),
        }
    }
}

/// The reductions that a deferred value depends on, and that are computed in the same pass.
#[derive(Clone, Debug, Default)]
struct ReductionChain {
    /// Length of the longest chain.
    length: usize,
    /// Axes of its last reduction.
    axes: Vec<usize>,
    /// How often the reduced axes change in it.
    changes: usize,
    /// All of them, by an output of each.
    all: BTreeSet<usize>,
}

impl ReductionChain {
    /// Whether a value must be materialized before another reduction, along these axes.
    fn is_full(&self, axes: &[usize]) -> bool {
        let has_changed = self.changes >= MAX_AXES_CHANGES && self.axes != axes;
        self.length >= MAX_CHAINED_REDUCTIONS || has_changed
    }

    /// Number of reductions together with those of another input, some of which may be the same.
    fn joint_count(&self, other: &ReductionChain) -> usize {
        self.all.len() + other.all.difference(&self.all).count()
    }

    /// Adds the chain of another input.
    fn join(&mut self, other: &ReductionChain) {
        self.all.extend(&other.all);
        let differs = self.length > 0 && other.length > 0 && self.axes != other.axes;
        self.changes = self.changes.max(other.changes) + usize::from(differs);
        if other.length >= self.length {
            self.axes.clone_from(&other.axes);
        }
        self.length = self.length.max(other.length);
    }

    /// Adds a reduction along these axes, which has this output.
    fn push(&mut self, axes: Vec<usize>, output: usize) {
        self.changes += usize::from(self.length > 0 && self.axes != axes);
        self.length += 1;
        self.all.insert(output);
        self.axes = axes;
    }
}

impl<'a> Executor<'a> {
    pub(super) fn new(model: &'a CompiledModel, buffers: HashMap<usize, Tensor>) -> Executor<'a> {
        let mut values: Vec<ValueState<'a>> = model.names.iter().map(|_| ValueState::Empty).collect();
        for (value, tensor) in &model.constants {
            values[*value] = ValueState::Borrowed(tensor.view());
        }
        Executor { model, values, uses: model.uses.clone(), buffers, plans: None }
    }

    /// Records how values are computed.
    pub(super) fn record_plans(&mut self) {
        self.plans = Some(String::new());
    }

    /// How the materialized values were computed, if that was recorded.
    pub(super) fn into_plans(self) -> String {
        self.plans.unwrap_or_default()
    }

    pub(super) fn set_input(&mut self, value: usize, view: TensorView<'a>) {
        self.values[value] = ValueState::Borrowed(view);
    }

    /// Executes or defers a node.
    pub(super) fn execute(&mut self, index: usize) -> Result<(), Error> {
        let model = self.model;
        let compiled = &model.nodes[index];
        if !compiled.version.operator.is_fused() {
            let result = match compiled.version.operator.name {
                "Expand" => self.expand(compiled)?,
                "Reshape" | "Squeeze" | "Unsqueeze" => self.reshape(compiled)?,
                "GroupNormalization" => self.group_normalization(compiled)?,
                _ => {
                    let views = self.input_views(compiled)?;
                    ValueState::Owned(shape_ops::run(&compiled.node, &compiled.version, &views)?)
                }
            };
            self.finish_node(compiled, result);
            return Ok(());
        }
        let types = self.input_types(compiled)?;
        let outputs = match compiled.version.operator.shape_rule {
            ShapeRule::Reduction => vec![self.reduction_type(compiled, &types)?],
            ShapeRule::Normalization => self.normalization_types(compiled, &types)?,
            _ => {
                let dtype = element_wise::result_type(&compiled.node, &compiled.version, &types)?;
                element_wise::check_attributes(&compiled.node, &compiled.version, &types)?;
                let shape = self.result_shape(compiled)?;
                if dtype == DType::Str || types.contains(&Some(DType::Str)) {
                    let result = self.run_on_strings(compiled, dtype)?;
                    self.finish_node(compiled, result);
                    return Ok(());
                }
                vec![(dtype, shape)]
            }
        };
        let reductions = self.prepare_inputs(compiled, &outputs)?;
        for (output, NodeOutput { value, .. }) in compiled.outputs() {
            let (dtype, shape) = outputs.get(output).cloned().ok_or_else(not_materialized)?;
            let reductions = reductions.clone();
            self.values[value] = ValueState::Deferred { node: index, output, dtype, shape, reductions };
        }
        let stored = compiled.outputs().filter(|(_, output)| output.is_materialized);
        self.materialize_all(&stored.map(|(_, output)| output.value).collect::<Vec<_>>())
    }

    /// Materializes the inputs of a fused node that are not computed in its pass.
    ///
    /// Returns the reductions that its outputs depend on.
    fn prepare_inputs(
        &mut self,
        compiled: &CompiledNode,
        outputs: &[OutputType],
    ) -> Result<ReductionChain, Error> {
        let CompiledNode { node, version, .. } = compiled;
        let rule = version.operator.shape_rule;
        let axes = match rule {
            ShapeRule::Reduction => self.reduced_axes(compiled)?.axes,
            ShapeRule::Normalization => normalize::reduced_axes(node, version, outputs[0].1.len())?,
            _ => Vec::new(),
        };
        let is_clip = version.operator.name == "Clip";
        let mut chain = ReductionChain::default();
        for (position, input) in compiled.inputs.iter().enumerate() {
            let Some(input) = *input else { continue };
            let ValueState::Deferred { shape, reductions, .. } = &self.values[input] else { continue };
            // Clip reads its bounds as scalars.
            let is_bound = is_clip && position > 0;
            let is_reduced = rule == ShapeRule::Reduction && position == 0;
            // A stretched input is computed once, not again for each repetition. One that is reduced before has a
            // stage of its own anyway.
            let is_stretched = reductions.length == 0 && !is_reduced && *shape != outputs[0].1;
            let is_full = !axes.is_empty() && reductions.is_full(&axes);
            if is_bound || is_stretched || is_full || chain.joint_count(reductions) > MAX_FUSED_REDUCTIONS {
                self.materialize(input)?;
            } else {
                chain.join(reductions);
            }
        }
        if !axes.is_empty() {
            let output = compiled.outputs().next().map_or(usize::MAX, |(_, output)| output.value);
            chain.push(axes, output);
        }
        Ok(chain)
    }

    /// Axes of a reduction. The input that has them is materialized.
    fn reduced_axes(&self, compiled: &CompiledNode) -> Result<ReducedAxes, Error> {
        let [Some(x), ref axes @ ..] = compiled.inputs[..] else { return Err(Error::missing_input(0)) };
        let given = match (axes, compiled.node.attribute("axes")) {
            (&[Some(axes)], _) => Some(int_list(&self.view(axes)?)?),
            (_, Some(axes)) => Some(axes.ints()?),
            _ => None,
        };
        ReducedAxes::resolve(&compiled.node, compiled.version.operator, self.shape(x)?.len(), given)
    }

    /// Type and shape of the result of a reduction.
    fn reduction_type(
        &mut self,
        compiled: &CompiledNode,
        types: &[Option<DType>],
    ) -> Result<OutputType, Error> {
        let result = reduce::result_type(&compiled.version, types)?;
        for &axes in compiled.inputs.iter().skip(1).flatten() {
            self.materialize(axes)?;
        }
        let axes = self.reduced_axes(compiled)?;
        let [Some(x), ..] = compiled.inputs[..] else { return Err(Error::missing_input(0)) };
        let shape = self.shape(x)?;
        reduce::check_defined(compiled.version.operator, self.dtype(x)?, shape, &axes)?;
        Ok((result, axes.shape(shape)))
    }

    /// Types and shapes of the outputs of a normalization.
    fn normalization_types(
        &self,
        compiled: &CompiledNode,
        dtypes: &[Option<DType>],
    ) -> Result<Vec<OutputType>, Error> {
        let shapes = compiled.inputs.iter().map(|&input| input.map(|value| self.shape(value)).transpose());
        let shapes = shapes.collect::<Result<Vec<_>, Error>>()?;
        normalize::output_types(&compiled.node, &compiled.version, &InputTypes { dtypes, shapes: &shapes })
    }

    /// GroupNormalization, which splits the axis of the channels: its input and its output are materialized.
    fn group_normalization(&mut self, compiled: &CompiledNode) -> Result<ValueState<'a>, Error> {
        let types = self.input_types(compiled)?;
        let outputs = self.normalization_types(compiled, &types)?;
        let ([(dtype, shape)], [Some(x), Some(scale), Some(bias)]) = (&outputs[..], &compiled.inputs[..])
        else {
            return Err(not_materialized());
        };
        for input in [*x, *scale, *bias] {
            self.materialize(input)?;
        }
        let groups = GroupShape::new(&compiled.node, &compiled.version, shape)?;
        let output = compiled.outputs().next().map(|(_, output)| output.value);
        let buffer = output.and_then(|value| self.buffers.remove(&value));
        let buffer = buffer.filter(|buffer| buffer.shape() == shape);
        let buffer = buffer.map(|buffer| with_shape(buffer, &groups.split)).transpose()?;
        let (tensor, plan) = {
            let parameter = groups.parameter_shape();
            let split = |value: usize, shape: &[usize]| Reshaped::new(self.view(value)?, shape);
            let inputs = [split(*x, &groups.split)?, split(*scale, &parameter)?, split(*bias, &parameter)?];
            let [x, scale, bias] = &inputs;
            let inputs = [x, scale, bias].map(|split| lazy(split.view()));
            self.evaluate(&groups.expression(&compiled.node, *dtype, inputs)?, buffer)?
        };
        if let Some(value) = output {
            self.add_plans(&[value], plan);
        }
        Ok(ValueState::Owned(with_shape(tensor, shape)?))
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
            _ => {
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
        if let Some((_, output)) = compiled.outputs().next() {
            self.values[output.value] = result;
        }
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
        self.share(input);
        Ok(match &self.values[input] {
            ValueState::Borrowed(view) => ValueState::Borrowed(view.clone().broadcast_to(&target)?),
            ValueState::Shared(shared) => {
                ValueState::Shared(SharedTensor { shape: target, ..shared.clone() })
            }
            _ => return Err(not_materialized()),
        })
    }

    /// The same elements in another shape: as a view where strides allow it.
    fn reshape(&mut self, compiled: &CompiledNode) -> Result<ValueState<'a>, Error> {
        let [Some(input), ..] = compiled.inputs[..] else { return Err(Error::missing_input(0)) };
        let shape = reshaped_shape(&compiled.node, &compiled.version, &self.input_views(compiled)?)?;
        self.share(input);
        if let ValueState::Borrowed(view) = &self.values[input] {
            return Ok(match Reshaped::new(view.clone(), &shape)? {
                Reshaped::View(view) => ValueState::Borrowed(view),
                Reshaped::Copy(tensor) => ValueState::Owned(tensor),
            });
        }
        if let ValueState::Shared(shared) = &self.values[input]
            && !shared.is_stretched()
            && viewed(shared.tensor.view(), &shape).is_ok()
        {
            let tensor = shared.tensor.clone();
            return Ok(ValueState::Shared(SharedTensor { tensor, base: shape.clone(), shape }));
        }
        Ok(ValueState::Owned(shape_ops::reshape(&self.view(input)?, &shape)?))
    }

    /// Lets other values share a tensor.
    fn share(&mut self, value: usize) {
        let state = std::mem::replace(&mut self.values[value], ValueState::Empty);
        self.values[value] = match state {
            ValueState::Owned(tensor) => ValueState::Shared(SharedTensor::new(tensor)),
            other => other,
        };
    }

    /// Views of the inputs of a node, which are materialized; omitted inputs are `None`.
    fn input_views(&self, compiled: &CompiledNode) -> Result<Vec<Option<TensorView<'_>>>, Error> {
        compiled.inputs.iter().map(|&input| input.map(|value| self.view(value)).transpose()).collect()
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
        self.materialize_all(&[value])
    }

    /// Computes deferred values, such as the outputs of a node, and the deferred nodes that they depend on.
    ///
    /// What they have in common is computed once.
    fn materialize_all(&mut self, values: &[usize]) -> Result<(), Error> {
        let model = self.model;
        let deferred = values.iter().filter_map(|&value| match self.values[value] {
            ValueState::Deferred { node, output, .. } => Some((value, (node, output))),
            _ => None,
        });
        let (values, mut outputs): (Vec<usize>, BTreeSet<(usize, usize)>) = deferred.unzip();
        if values.is_empty() {
            return Ok(());
        }
        let buffers: Vec<Option<Tensor>> = values.iter().map(|value| self.buffers.remove(value)).collect();
        let nodes: Vec<usize> = outputs.iter().map(|&(node, _)| node).collect();
        let mut pending = nodes.clone();
        while let Some(index) = pending.pop() {
            for &input in model.nodes[index].inputs.iter().flatten() {
                if let ValueState::Deferred { node, output, .. } = self.values[input]
                    && outputs.insert((node, output))
                {
                    pending.push(node);
                }
            }
        }
        let mut expressions: HashMap<usize, Lazy<'_>> = HashMap::new();
        for &(index, output) in &outputs {
            let compiled = &model.nodes[index];
            let expression = self.expression(compiled, output, &mut expressions)?;
            let NodeOutput { value, .. } = compiled.outputs[output].ok_or_else(not_materialized)?;
            expressions.insert(value, expression);
        }
        let results: Vec<&Lazy<'_>> = values.iter().filter_map(|value| expressions.get(value)).collect();
        let (tensors, plans) = self.evaluate_all(&results, buffers)?;
        drop(expressions);
        self.add_plans(&values, plans);
        for (value, tensor) in values.into_iter().zip(tensors) {
            self.values[value] = ValueState::Owned(tensor);
        }
        // Each output uses the inputs of its node.
        for node in nodes {
            self.release_inputs(&model.nodes[node]);
        }
        Ok(())
    }

    /// Evaluates an expression, into `buffer` if its dtype and shape fit; returns its plan if plans are recorded.
    fn evaluate(&self, expression: &Lazy<'_>, buffer: Option<Tensor>) -> Result<(Tensor, Plans), Error> {
        let (tensors, plans) = self.evaluate_all(&[expression], vec![buffer])?;
        Ok((tensors.into_iter().next().ok_or_else(not_materialized)?, plans))
    }

    /// Evaluates expressions, into buffers whose dtype and shape fit; returns their plans if plans are recorded.
    fn evaluate_all(
        &self,
        expressions: &[&Lazy<'_>],
        buffers: Vec<Option<Tensor>>,
    ) -> Result<(Vec<Tensor>, Plans), Error> {
        let bounds = expressions.iter().map(|expression| {
            let bound = expression.bind_typed(Typing::Strict)?;
            Ok(match self.model.threads {
                Some(threads) => bound.threads(threads),
                None => bound,
            })
        });
        let bounds: Vec<Bound<'_>> = bounds.collect::<Result<_, ExprError>>().map_err(expression_error)?;
        let fits = |buffer: &Tensor, bound: &Bound<'_>| {
            buffer.dtype() == bound.dtype() && buffer.shape() == bound.shape()
        };
        let buffers: Vec<Option<Tensor>> = buffers
            .into_iter()
            .zip(&bounds)
            .map(|(buffer, bound)| buffer.filter(|own| fits(own, bound)))
            .collect();
        let tensors = match buffers.iter().any(Option::is_some) {
            true => compute_into(buffers, &bounds),
            false => Bound::compute_all(&bounds),
        };
        let plans = match self.plans.is_some() {
            true => bounds.iter().map(Bound::plan).collect(),
            false => Plans::new(),
        };
        Ok((tensors.map_err(expression_error)?, plans))
    }

    /// Records how values were computed together.
    fn add_plans(&mut self, values: &[usize], added: Plans) {
        let Some(plans) = &mut self.plans else { return };
        let name = |value: usize| display_name(&self.model.names[value]);
        for (&value, plan) in values.iter().zip(added) {
            let others: Vec<String> =
                values.iter().filter(|&&other| other != value).map(|&other| name(other)).collect();
            let others =
                if others.is_empty() { String::new() } else { format!(", with {}", others.join(" and ")) };
            plans.push_str(&format!("{}{others}:\n", name(value)));
            plan.lines().for_each(|line| plans.push_str(&format!("  {line}\n")));
        }
    }

    /// Expression of a node over materialized values and earlier expressions.
    fn expression<'r>(
        &'r self,
        compiled: &CompiledNode,
        output: usize,
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
            _ => {}
        }
        let CompiledNode { node, version, .. } = compiled;
        let types = self.input_types(compiled)?;
        match (version.operator.shape_rule, compiled.inputs.first()) {
            (ShapeRule::Reduction, Some(&Some(value))) => {
                let x = inputs.swap_remove(0).ok_or_else(not_materialized)?;
                let (dtype, shape) = (self.dtype(value)?, self.shape(value)?);
                reduce::build_expression(node, version, x, dtype, shape, &self.reduced_axes(compiled)?)
            }
            (ShapeRule::Normalization, Some(&Some(value))) => {
                normalize::build_expression(node, version, output, &inputs, &types, self.shape(value)?)
            }
            _ => element_wise::build_expression(node, version, &inputs, &types),
        }
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
        if self.uses[value] == 0 {
            match std::mem::replace(&mut self.values[value], ValueState::Empty) {
                ValueState::Owned(tensor) => return Ok(tensor),
                ValueState::Shared(shared) => {
                    let shape = shared.shape.clone();
                    match shared.into_tensor() {
                        Ok(tensor) => return with_shape(tensor, &shape),
                        Err(shared) => self.values[value] = ValueState::Shared(shared),
                    }
                }
                other => self.values[value] = other,
            }
        }
        let buffer = self.buffers.remove(&value);
        let copy = match self.view(value)? {
            TensorView::Str(strings) => to_owned(strings)?.into(),
            numbers => self.evaluate(&lazy(numbers), buffer)?.0,
        };
        if self.uses[value] == 0 {
            // The last of the values that share a tensor takes it without a copy.
            self.values[value] = ValueState::Empty;
        }
        Ok(copy)
    }

    /// View of a materialized value.
    fn view(&self, value: usize) -> Result<TensorView<'_>, Error> {
        Ok(match &self.values[value] {
            ValueState::Borrowed(view) => reborrow(view),
            ValueState::Owned(tensor) => tensor.view(),
            ValueState::Shared(shared) => shared.view()?,
            ValueState::Empty | ValueState::Deferred { .. } => return Err(not_materialized()),
        })
    }

    fn shape(&self, value: usize) -> Result<&[usize], Error> {
        Ok(match &self.values[value] {
            ValueState::Borrowed(view) => view.shape(),
            ValueState::Owned(tensor) => tensor.shape(),
            ValueState::Shared(SharedTensor { shape, .. }) | ValueState::Deferred { shape, .. } => shape,
            ValueState::Empty => return Err(self.no_value(value)),
        })
    }

    fn dtype(&self, value: usize) -> Result<DType, Error> {
        Ok(match &self.values[value] {
            ValueState::Borrowed(view) => view.dtype(),
            ValueState::Owned(tensor) => tensor.dtype(),
            ValueState::Shared(shared) => shared.tensor.dtype(),
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

/// Computes into preallocated tensors of the right dtypes and shapes; others are allocated.
fn compute_into(buffers: Vec<Option<Tensor>>, bounds: &[Bound<'_>]) -> Result<Vec<Tensor>, ExprError> {
    let tensors =
        buffers.into_iter().zip(bounds).map(|(buffer, bound)| buffer.map_or_else(|| bound.zeros(), Ok));
    let mut tensors = tensors.collect::<Result<Vec<Tensor>, ExprError>>()?;
    // No expression has string results.
    let outs = tensors.iter_mut().filter_map(OutputMut::of_tensor).collect();
    Bound::compute_all_into(bounds, outs, |_| true)?;
    Ok(tensors)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain of reductions along one axis each, whose outputs have these numbers.
    fn chain(reductions: &[(usize, usize)]) -> ReductionChain {
        let mut chain = ReductionChain::default();
        reductions.iter().for_each(|&(axis, output)| chain.push(vec![axis], output));
        chain
    }

    /// Length, axes and changes.
    fn summary(chain: &ReductionChain) -> (usize, &[usize], usize) {
        (chain.length, &chain.axes, chain.changes)
    }

    #[test]
    fn chains_count_reductions_and_changes_of_axes() {
        assert_eq!(summary(&chain(&[])), (0, &[][..], 0));
        assert_eq!(summary(&chain(&[(1, 0)])), (1, &[1][..], 0));
        assert_eq!(summary(&chain(&[(1, 0), (1, 1), (0, 2)])), (3, &[0][..], 1));
        assert_eq!(summary(&chain(&[(1, 0), (0, 1), (1, 2)])), (3, &[1][..], 2));
    }

    #[test]
    fn joint_chains_are_as_long_as_the_longest() {
        let joint = |a: &[(usize, usize)], b: &[(usize, usize)]| {
            let (mut a, b) = (chain(a), chain(b));
            let count = a.joint_count(&b);
            a.join(&b);
            assert_eq!(count, a.all.len());
            (a.length, a.axes, a.changes, count)
        };
        assert_eq!(joint(&[], &[]), (0, vec![], 0, 0));
        assert_eq!(joint(&[], &[(1, 0)]), (1, vec![1], 0, 1));
        assert_eq!(joint(&[(1, 0)], &[]), (1, vec![1], 0, 1));
        assert_eq!(joint(&[(1, 0)], &[(1, 1)]), (1, vec![1], 0, 2));
        // The axes of two inputs differ.
        assert_eq!(joint(&[(1, 0)], &[(0, 1)]), (1, vec![0], 1, 2));
        assert_eq!(joint(&[(1, 0), (1, 1)], &[(0, 2)]), (2, vec![1], 1, 3));
        assert_eq!(joint(&[(0, 2)], &[(1, 0), (1, 1)]), (2, vec![1], 1, 3));
        assert_eq!(joint(&[(0, 2)], &[(1, 0), (0, 1)]), (2, vec![0], 1, 3));
        // Some of them are the same.
        assert_eq!(joint(&[(1, 0), (1, 1)], &[(1, 0), (1, 2)]), (2, vec![1], 0, 3));
    }

    #[test]
    fn long_chains_and_changes_of_axes_are_full() {
        let same: Vec<(usize, usize)> = (0..MAX_CHAINED_REDUCTIONS).map(|output| (1, output)).collect();
        assert!(chain(&same).is_full(&[1]));
        assert!(!chain(&same[1..]).is_full(&[1]));
        assert!(!chain(&[(1, 0)]).is_full(&[0]));
        assert!(chain(&[(1, 0), (0, 1)]).is_full(&[1]));
        assert!(!chain(&[(1, 0), (0, 1)]).is_full(&[0]));
    }
}
