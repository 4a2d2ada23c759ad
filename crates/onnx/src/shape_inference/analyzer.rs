//! Applies the inference rules to the nodes of a model: main graph, subgraphs, and functions as they are called.

use super::inference::{Called, FixedSizes, Inference, Scope};
use super::inferred_value::{InferredValue, ShapeData};
use super::rules::{Call, infer_output, infer_tensor};
use super::symbolic::{Dim, MAX_INFERRED_RANK, SymbolicShape};
use crate::elem_type::ElemType;
use crate::error::{Error, display_name};
use crate::graph::{Attribute, DeclaredDim, Graph, MAX_DEPTH, Node, ValueInfo};
use crate::model::Model;
use crate::runtime::shape_ops::resolve_axis;
use std::collections::HashMap;
use std::mem;
use unishape::DType;

/// Maximum number of nodes that are analyzed, counting those of a function for every call.
///
/// Functions that call others several times would take exponential time.
const MAX_VISITS: usize = 300_000;

/// Rounds in which the shapes of a loop's values may change before they become unknown.
const MAX_ROUNDS: usize = 3;

type Values = HashMap<String, InferredValue>;

pub(super) fn infer(model: &Model, sizes: &FixedSizes) -> Inference {
    let mut analyzer = Analyzer {
        model,
        sizes,
        next_id: 0,
        visits: 0,
        conflicts: Vec::new(),
        declaration_conflicts: Vec::new(),
        function_inputs: vec![None; model.functions().len()],
    };
    let place = Place { path: "", opset: model.opset().unwrap_or(0), depth: 0, outer: None };
    let main = analyzer.graph(model.graph(), Values::new(), place);
    let (main_conflicts, mut conflicts): (Vec<_>, Vec<_>) =
        mem::take(&mut analyzer.conflicts).into_iter().partition(|conflict| conflict.is_main);
    let main_count = main_conflicts.len();
    let declaration_conflicts = mem::take(&mut analyzer.declaration_conflicts);
    let functions = analyzer.functions();
    conflicts.splice(0..0, main_conflicts);
    Inference {
        main,
        functions,
        conflicts: conflicts.into_iter().map(|conflict| (conflict.node, conflict.error)).collect(),
        main_conflicts: main_count,
        declaration_conflicts,
        is_truncated: analyzer.visits >= MAX_VISITS,
    }
}

struct Conflict {
    is_main: bool,
    node: usize,
    error: Error,
}

/// Where a graph is: its path in words, opset, nesting depth, and the values of enclosing graphs.
#[derive(Clone, Copy)]
struct Place<'a> {
    path: &'a str,
    opset: u32,
    depth: usize,
    outer: Option<&'a Outer<'a>>,
}

/// Values of an enclosing graph, and of those around it.
struct Outer<'a> {
    values: &'a Values,
    outer: Option<&'a Outer<'a>>,
}

impl Outer<'_> {
    fn get(&self, name: &str) -> Option<&InferredValue> {
        let mut outer = Some(self);
        while let Some(each) = outer {
            if let Some(value) = each.values.get(name) {
                return Some(value);
            }
            outer = each.outer;
        }
        None
    }
}

struct Analyzer<'m> {
    model: &'m Model,
    sizes: &'m FixedSizes,
    /// Id of the next value; ids identify anonymous dimensions.
    next_id: usize,
    visits: usize,
    conflicts: Vec<Conflict>,
    declaration_conflicts: Vec<String>,
    /// For each function, what holds for the inputs of all calls.
    function_inputs: Vec<Option<Vec<InferredValue>>>,
}

impl<'m> Analyzer<'m> {
    fn id(&mut self) -> usize {
        self.next_id += 1;
        self.next_id
    }

    fn unknown(&mut self) -> InferredValue {
        InferredValue::unknown(self.id())
    }

    /// Infers a graph whose inputs have these values; other inputs have their declared shapes.
    fn graph(&mut self, graph: &Graph, mut values: Values, place: Place<'_>) -> Scope {
        for info in &graph.inputs {
            if !values.contains_key(&info.name) {
                let id = self.id();
                values.insert(info.name.clone(), self.declared(info, id));
            }
        }
        for tensor in &graph.initializers {
            let value = infer_tensor(tensor, self.model.base_dir());
            let id = self.id();
            let value = InferredValue { shape: value.shape.limited(id), ..value };
            let value = match values.get(&tensor.name).filter(|_| self.model.ir_version() >= 4) {
                // The initializer is only a default: the caller may pass another value of the declared shape.
                Some(declared) => InferredValue { data: None, ..join(declared, &value, id) },
                None => value,
            };
            values.insert(tensor.name.clone(), value);
        }
        let declarations: HashMap<&str, &ValueInfo> =
            graph.value_info.iter().chain(&graph.outputs).map(|info| (info.name.as_str(), info)).collect();
        let mut scope = Scope { values, ..Scope::default() };
        for node in &graph.nodes {
            self.visits += 1;
            for name in node.inputs.iter().filter(|name| !name.is_empty()) {
                if !scope.values.contains_key(name) {
                    let outer = place.outer.and_then(|outer| outer.get(name)).cloned();
                    let value = outer.unwrap_or_else(|| self.unknown());
                    scope.values.insert(name.clone(), value);
                }
            }
            let outputs = match self.visits < MAX_VISITS {
                true => self.node(node, &mut scope, place),
                false => node.outputs.iter().map(|_| None).collect(),
            };
            for (name, value) in node.outputs.iter().zip(outputs).filter(|(name, _)| !name.is_empty()) {
                let id = self.id();
                let value = value.unwrap_or_else(|| InferredValue::unknown(id));
                let value = InferredValue { shape: value.shape.limited(id), ..value };
                let value = match declarations.get(name.as_str()) {
                    Some(info) => self.compare_declaration(value, info, place),
                    None => value,
                };
                scope.values.insert(name.clone(), value);
            }
        }
        scope
    }

    /// Outputs of a node; `None` for unknown ones.
    fn node(&mut self, node: &Node, scope: &mut Scope, place: Place<'_>) -> Vec<Option<InferredValue>> {
        let Some(function) = self.model.function_of(node) else {
            return self.operator(node, scope, place);
        };
        let called = self.call(node, function, scope, place);
        if !node.may_be_built_in() {
            return called;
        }
        // What holds for the function and for a runtime's operator of the same name.
        let own = self.operator(node, scope, place);
        called.into_iter().zip(own).map(|(called, own)| Some(join(&called?, &own?, self.id()))).collect()
    }

    /// Outputs of an operator that is not a function.
    fn operator(&mut self, node: &Node, scope: &mut Scope, place: Place<'_>) -> Vec<Option<InferredValue>> {
        if !node.subgraphs.is_empty() {
            return self.control_flow(node, scope, place);
        }
        let mut conflict = None;
        let outputs = node.outputs.iter().enumerate().map(|(output, name)| {
            if name.is_empty() {
                return None;
            }
            self.next_id += 1;
            let inputs: Vec<Option<&InferredValue>> =
                node.inputs.iter().map(|name| scope.values.get(name).filter(|_| !name.is_empty())).collect();
            let call = Call {
                node,
                inputs: &inputs,
                output,
                id: self.next_id,
                opset: place.opset,
                base_dir: self.model.base_dir(),
            };
            infer_output(call).unwrap_or_else(|error| {
                conflict.get_or_insert(error);
                None
            })
        });
        let outputs = outputs.collect();
        if let Some(error) = conflict {
            let is_main = place.path.is_empty();
            let error = error.with_context(format!("{}{node}", place.path));
            self.conflicts.push(Conflict { is_main, node: node.index, error });
        }
        outputs
    }

    /// Analyzes the body of a function as a node calls it.
    fn call(
        &mut self,
        node: &Node,
        index: usize,
        scope: &mut Scope,
        place: Place<'_>,
    ) -> Vec<Option<InferredValue>> {
        if place.depth >= MAX_DEPTH {
            return node.outputs.iter().map(|_| None).collect();
        }
        let function = &self.model.functions()[index];
        let mut inputs = Vec::with_capacity(function.body.inputs.len());
        for position in 0..function.body.inputs.len() {
            let given = node.input(position).and_then(|name| scope.values.get(name)).cloned();
            inputs.push(given.unwrap_or_else(|| self.unknown()));
        }
        self.join_inputs(index, &inputs);
        let values: Values = function.body.inputs.iter().map(|info| info.name.clone()).zip(inputs).collect();
        let given: Vec<&Attribute> = node.attributes.iter().chain(&function.attributes).collect();
        let body = function.body.refers_to_attributes().then(|| function.body.with_attributes(&given));
        let path = format!("{}{node}, function {}: ", place.path, display_name(&function.name));
        let place = Place {
            path: &path,
            opset: function.opset.unwrap_or(place.opset),
            depth: place.depth + 1,
            outer: None,
        };
        let graph = body.as_ref().unwrap_or(&function.body);
        let inner = self.graph(graph, values, place);
        let outputs = function.body.outputs.iter().map(|info| inner.values.get(&info.name).cloned());
        let outputs = outputs.chain(std::iter::repeat(None)).take(node.outputs.len()).collect();
        scope.calls.insert(node.index, Called { function: index, body, scope: inner });
        outputs
    }

    /// Keeps what holds for the inputs of all calls of a function.
    fn join_inputs(&mut self, function: usize, inputs: &[InferredValue]) {
        let joined = match self.function_inputs[function].take() {
            None => inputs.to_vec(),
            Some(before) => {
                before.iter().zip(inputs).map(|(before, now)| join(before, now, self.id())).collect()
            }
        };
        self.function_inputs[function] = Some(joined);
    }

    /// Bodies of all functions that are called, with what holds for all calls.
    fn functions(&mut self) -> Vec<Option<Scope>> {
        let inputs = self.function_inputs.clone();
        let functions = self.model.functions().iter().zip(inputs);
        let scopes = functions.map(|(function, inputs)| {
            let names = function.body.inputs.iter().map(|info| info.name.clone());
            let opset = function.opset.unwrap_or_else(|| self.model.opset().unwrap_or(0));
            let place = Place { path: "function: ", opset, depth: 1, outer: None };
            Some(self.graph(&function.body, names.zip(inputs?).collect(), place))
        });
        scopes.collect()
    }

    /// Infers a subgraph of a node and keeps its scope; returns its outputs.
    fn body(
        &mut self,
        node: &Node,
        name: &str,
        inputs: &[InferredValue],
        scope: &mut Scope,
        place: Place<'_>,
    ) -> Option<Vec<InferredValue>> {
        let position = node.subgraphs.iter().position(|subgraph| subgraph.name == name)?;
        let graph = &node.subgraphs[position].graph;
        let names = graph.inputs.iter().map(|info| info.name.clone());
        let values: Values = names.zip(inputs.iter().cloned()).collect();
        let path = format!("{}{node}, {}: ", place.path, display_name(name));
        let outer = Outer { values: &scope.values, outer: place.outer };
        let inner_place =
            Place { path: &path, opset: place.opset, depth: place.depth + 1, outer: Some(&outer) };
        let mut inner = self.graph(graph, values, inner_place);
        let mut outputs = Vec::with_capacity(graph.outputs.len());
        for info in &graph.outputs {
            // An output may be a value of an enclosing graph.
            let value = inner.values.get(&info.name).or_else(|| outer.get(&info.name)).cloned();
            let value = value.unwrap_or_else(|| self.unknown());
            inner.values.entry(info.name.clone()).or_insert_with(|| value.clone());
            outputs.push(value);
        }
        scope.bodies.insert((node.index, position), inner);
        Some(outputs)
    }

    fn control_flow(
        &mut self,
        node: &Node,
        scope: &mut Scope,
        place: Place<'_>,
    ) -> Vec<Option<InferredValue>> {
        let inputs: Vec<InferredValue> = node
            .inputs
            .iter()
            .map(|name| scope.values.get(name).filter(|_| !name.is_empty()).cloned())
            .map(|value| value.unwrap_or_else(|| self.unknown()))
            .collect();
        let outputs = match (node.is_default_domain(), node.op_type.as_str()) {
            (true, "If") => self.branches(node, &inputs, scope, place),
            (true, "Loop") => self.repeated(node, &inputs, scope, place),
            (true, "Scan") if place.opset >= 9 => self.scan(node, &inputs, scope, place),
            // Elements of sequences and the inputs of unknown operators may have any shape.
            _ => {
                for subgraph in &node.subgraphs {
                    let is_map = node.is_default_domain() && node.op_type == "SequenceMap";
                    let count = subgraph.graph.inputs.len();
                    let values = (0..count).map(|index| match inputs.get(index) {
                        Some(value) if is_map && index > 0 && value.shape.dims().is_some() => value.clone(),
                        _ => self.unknown(),
                    });
                    let values: Vec<InferredValue> = values.collect();
                    self.body(node, &subgraph.name, &values, scope, place);
                }
                None
            }
        };
        let outputs = outputs.unwrap_or_default().into_iter().map(Some);
        outputs.chain(std::iter::repeat(None)).take(node.outputs.len()).collect()
    }

    fn branches(
        &mut self,
        node: &Node,
        inputs: &[InferredValue],
        scope: &mut Scope,
        place: Place<'_>,
    ) -> Option<Vec<InferredValue>> {
        let then_values = self.body(node, "then_branch", &[], scope, place)?;
        let else_values = self.body(node, "else_branch", &[], scope, place)?;
        let condition = match inputs.first().and_then(|condition| condition.data.as_ref()) {
            Some(ShapeData::Elements(elements)) => elements.first().and_then(|element| element.constant()),
            _ => None,
        };
        Some(match condition {
            Some(0) => else_values,
            Some(_) => then_values,
            None => {
                let both = then_values.iter().zip(&else_values);
                both.map(|(then_value, else_value)| join(then_value, else_value, self.id())).collect()
            }
        })
    }

    /// Infers a body until the values that it passes to its next run no longer change. Returns these, and the
    /// outputs of the last run.
    fn fixpoint(
        &mut self,
        node: &Node,
        mut carried: Vec<InferredValue>,
        scope: &mut Scope,
        place: Place<'_>,
        body_inputs: impl Fn(&[InferredValue]) -> Vec<InferredValue>,
        carried_outputs: usize,
    ) -> Option<Vec<InferredValue>> {
        let ids: Vec<usize> = carried.iter().map(|_| self.id()).collect();
        let conflicts = self.conflicts.len();
        for round in 0.. {
            self.conflicts.truncate(conflicts);
            let outputs = self.body(node, "body", &body_inputs(&carried), scope, place)?;
            let next = outputs.get(carried_outputs..)?.iter().chain(std::iter::repeat(outputs.first()?));
            let joined: Vec<InferredValue> = carried
                .iter()
                .zip(next)
                .zip(&ids)
                .map(|((before, after), &id)| join(before, after, id))
                .collect();
            if joined == carried || round > MAX_ROUNDS {
                return Some(outputs);
            }
            carried = match round < MAX_ROUNDS {
                true => joined,
                false => ids.iter().map(|&id| InferredValue::unknown(id)).collect(),
            };
        }
        None
    }

    fn repeated(
        &mut self,
        node: &Node,
        inputs: &[InferredValue],
        scope: &mut Scope,
        place: Place<'_>,
    ) -> Option<Vec<InferredValue>> {
        let first_id = self.next_id + 1;
        let initial = inputs.get(2..).unwrap_or_default().to_vec();
        let scalar = |dtype: DType| InferredValue::new(Some(ElemType::of(dtype)), vec![]);
        let body_inputs =
            |carried: &[InferredValue]| [&[scalar(DType::I64), scalar(DType::Bool)], carried].concat();
        let outputs = self.fixpoint(node, initial.clone(), scope, place, body_inputs, 1)?;
        let last = outputs.get(1..)?;
        let mut results = Vec::new();
        for (index, value) in last.iter().enumerate() {
            let id = self.id();
            results.push(match initial.get(index) {
                // The loop may not run at all.
                Some(initial) => join(initial, &exported(value, first_id, id), id),
                None => stacked(&exported(value, first_id, id), Dim::anonymous(id, MAX_INFERRED_RANK), 0, id),
            });
        }
        Some(results)
    }

    fn scan(
        &mut self,
        node: &Node,
        inputs: &[InferredValue],
        scope: &mut Scope,
        place: Place<'_>,
    ) -> Option<Vec<InferredValue>> {
        let first_id = self.next_id + 1;
        let scanned = usize::try_from(node.int("num_scan_inputs", 0).ok()?).ok()?;
        let states = inputs.len().checked_sub(scanned)?;
        let (initial, sequences) = inputs.split_at(states);
        let list = |name: &str| match node.attribute(name) {
            Some(attribute) => attribute.ints().ok(),
            None => Some(Vec::new()),
        };
        let (input_axes, output_axes) = (list("scan_input_axes")?, list("scan_output_axes")?);
        let mut length = None;
        let mut slices = Vec::new();
        for (index, sequence) in sequences.iter().enumerate() {
            let slice = sequence.shape.dims().and_then(|dims| {
                let axis = resolve_axis(input_axes.get(index).copied().unwrap_or(0), dims.len()).ok()?;
                length.get_or_insert(dims[axis].clone());
                let rest = [&dims[..axis], &dims[axis + 1..]].concat();
                Some(InferredValue::new(sequence.elem, rest))
            });
            slices.push(slice.unwrap_or_else(|| self.unknown()));
        }
        let body_inputs = |carried: &[InferredValue]| [carried, &slices].concat();
        let outputs = self.fixpoint(node, initial.to_vec(), scope, place, body_inputs, 0)?;
        let mut results = Vec::new();
        for (index, value) in outputs.iter().enumerate() {
            let id = self.id();
            let value = exported(value, first_id, id);
            results.push(match initial.get(index) {
                Some(initial) => join(initial, &value, id),
                None => {
                    let axis = output_axes.get(index - states).copied().unwrap_or(0);
                    let length = length.clone().unwrap_or_else(|| Dim::anonymous(id, MAX_INFERRED_RANK));
                    stacked(&value, length, axis, id)
                }
            });
        }
        Some(results)
    }

    fn declared(&self, info: &ValueInfo, id: usize) -> InferredValue {
        let shape = match &info.shape {
            Some(dims) if dims.len() <= MAX_INFERRED_RANK => {
                let dims = dims.iter().enumerate().map(|(index, dim)| match dim {
                    DeclaredDim::Size(size) => Dim::Known(*size),
                    DeclaredDim::Symbol(name) => match self.sizes.get(name) {
                        Some(&size) => Dim::Known(size),
                        None => Dim::named(name),
                    },
                    DeclaredDim::Unknown => Dim::anonymous(id, index),
                });
                SymbolicShape::new(dims.collect())
            }
            _ => SymbolicShape::unranked(id),
        };
        InferredValue { elem: info.elem, shape, data: None }
    }

    /// Compares a declaration with the inferred value; only its element type is used.
    fn compare_declaration(
        &mut self,
        value: InferredValue,
        info: &ValueInfo,
        place: Place<'_>,
    ) -> InferredValue {
        let declared = self.declared(info, 0);
        if let (Some(inferred), Some(sizes)) = (value.shape.dims(), declared.shape.dims()) {
            // A size that depends on the sizes of inputs only, but is declared as a number.
            let is_wrong = |(inferred, declared): (&Dim, &Dim)| match (inferred, declared) {
                (Dim::Known(inferred), Dim::Known(declared)) => inferred != declared,
                (Dim::Unknown(expr), Dim::Known(_)) => !expr.has_anonymous(),
                _ => false,
            };
            if inferred.len() != sizes.len() || inferred.iter().zip(sizes).any(is_wrong) {
                self.declaration_conflicts.push(format!(
                    "{}value {} is declared as {}, but has the shape {}",
                    place.path,
                    display_name(&info.name),
                    declared.shape,
                    value.shape
                ));
            }
        }
        InferredValue { elem: value.elem.or(declared.elem), ..value }
    }
}

/// What holds for both of two values; sizes that differ become sizes of the value with this id.
fn join(a: &InferredValue, b: &InferredValue, id: usize) -> InferredValue {
    InferredValue {
        elem: a.elem.filter(|elem| Some(*elem) == b.elem),
        shape: a.shape.join(&b.shape, id),
        data: a.data.clone().filter(|data| Some(data) == b.data.as_ref()),
    }
}

/// A value as seen outside of a loop: sizes of values inside change from run to run.
fn exported(value: &InferredValue, first_id: usize, id: usize) -> InferredValue {
    let shape = match value.shape.dims() {
        Some(dims) => {
            let dims = dims.iter().enumerate().map(|(index, dim)| match dim {
                Dim::Unknown(expr) if expr.refers_to_since(first_id) => Dim::anonymous(id, index),
                _ => dim.clone(),
            });
            SymbolicShape::new(dims.collect())
        }
        None if value.shape.refers_to_since(first_id) => SymbolicShape::unranked(id),
        None => value.shape.clone(),
    };
    InferredValue { elem: value.elem, shape, data: None }
}

/// Values of all runs, stacked along an axis.
fn stacked(value: &InferredValue, length: Dim, axis: i64, id: usize) -> InferredValue {
    let shape = value.shape.dims().and_then(|dims| {
        let axis = resolve_axis(axis, dims.len() + 1).ok()?;
        let mut dims = dims.to_vec();
        dims.insert(axis, length);
        Some(SymbolicShape::new(dims))
    });
    let shape = shape.unwrap_or_else(|| SymbolicShape::unranked(id));
    InferredValue { elem: value.elem, shape, data: None }
}
