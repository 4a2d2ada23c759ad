//! A model made ready to be run.

use super::rearrange;
use super::values::Run;
use crate::error::{Error, named};
use crate::graph::{Declared, Graph, Node, ValueInfo};
use crate::model::Model;
use crate::operators::{Role, Version};
use crate::types::ElemType;
use crate::wire::{Message, Piece};
use std::collections::HashMap;
use std::path::Path;
use unishape::notation::short_shape_text;
use unishape::{Tensor, TensorView};

/// Names told at once, at the most.
const MOST_NAMES: usize = 10;

/// A model made ready to be run, as often as one likes.
///
/// Element-wise operators that follow each other are computed in one pass over memory; what is between them is
/// never there as a whole. Nothing is stretched in memory, by Expand neither.
///
/// ```
/// use unishape::Tensor;
/// use unishape_onnx::{Model, Program};
/// # let bytes = unishape_onnx::build::add_model();
///
/// let program = Program::new(&Model::read(&bytes)?)?;
/// let x = Tensor::from(ndarray::arr2(&[[1f32, 2.0, 3.0], [4.0, 5.0, 6.0]]));
/// let y = Tensor::from(ndarray::arr1(&[10f32, 20.0, 30.0]));
/// let outputs = program.run([("x", x.view()), ("y", y.view())])?;
/// assert_eq!(outputs[0].0, "z");
/// assert_eq!(outputs[0].1, ndarray::arr2(&[[11f32, 22.0, 33.0], [14.0, 25.0, 36.0]]).into());
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Debug)]
pub struct Program {
    /// What the values are called; elsewhere they go by number.
    pub(super) names: Vec<String>,
    pub(super) steps: Vec<Step>,
    inputs: Vec<Input>,
    outputs: Vec<usize>,
    /// The values that are there from the beginning.
    pub(super) constants: Vec<(usize, Tensor)>,
    /// How often each value is wanted.
    pub(super) uses: Vec<usize>,
    pub(super) threads: Option<usize>,
}

/// A node that is needed.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) node: Node,
    pub(super) version: Version,
    pub(super) inputs: Vec<Option<usize>>,
    pub(super) output: usize,
    /// Whether its result must be there as a whole.
    pub(super) is_kept: bool,
}

/// What can be given.
#[derive(Debug)]
struct Input {
    value: usize,
    info: ValueInfo,
    /// Whether it has a value of its own where nothing is given.
    has_default: bool,
}

impl Program {
    /// Makes a model ready: all of its outputs will be computed.
    ///
    /// ```
    /// # let bytes = unishape_onnx::build::add_model();
    /// let model = unishape_onnx::Model::read(&bytes)?;
    /// assert_eq!(unishape_onnx::Program::new(&model)?.outputs().collect::<Vec<_>>(), ["z"]);
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where a node that is needed cannot be run, which is named with its operator; or the model is not what
    /// ONNX allows.
    pub fn new(model: &Model) -> Result<Program, Error> {
        let outputs: Vec<&str> = model.graph().outputs.iter().map(|output| output.name.as_str()).collect();
        Program::computing(model, &outputs)
    }

    /// Makes a model ready for some of its values, whether or not they are outputs. Only what they need is
    /// computed, and only they are there as a whole.
    ///
    /// ```
    /// use unishape_onnx::{Model, Program};
    /// # let bytes = unishape_onnx::build::add_model();
    ///
    /// let program = Program::computing(&Model::read(&bytes)?, &["y", "z"])?;
    /// assert_eq!(program.outputs().collect::<Vec<_>>(), ["y", "z"]);
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`new`](Program::new), and where the model has no such value.
    pub fn computing(model: &Model, values: &[&str]) -> Result<Program, Error> {
        let opset = model.opset().ok_or_else(|| {
            Error::invalid("the model does not say which version of ONNX's operators it uses (opset_import)")
        })?;
        Program::compile(model.graph(), opset, model.folder(), values)
    }

    /// A node alone, from the bytes of its `NodeProto`: its inputs are given, its outputs computed.
    ///
    /// ```
    /// use unishape::Tensor;
    /// use unishape_onnx::Program;
    /// # let bytes = unishape_onnx::build::node_bytes("Neg", "x", "y", &[]);
    ///
    /// let program = Program::of_node(&bytes, 21)?;
    /// let x = Tensor::from(ndarray::arr1(&[1i32, -2]));
    /// let outputs = program.run([("x", x.view())])?;
    /// assert_eq!(outputs, [("y".into(), ndarray::arr1(&[-1i32, 2]).into())]);
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`new`](Program::new).
    pub fn of_node(bytes: &[u8], opset: u32) -> Result<Program, Error> {
        let message = Message::read(&Piece::from(bytes.to_vec()))
            .map_err(|error| Error::malformed(format!("this is no ONNX node: {error}")))?;
        let node = Node::read(0, &message)?;
        let info = |name: &String| ValueInfo { name: name.clone(), elem: None, shape: None };
        let mut inputs: Vec<ValueInfo> = Vec::new();
        for name in node.inputs.iter().filter(|name| !name.is_empty()) {
            if !inputs.iter().any(|input| input.name == *name) {
                inputs.push(info(name));
            }
        }
        let outputs: Vec<String> = node.outputs.iter().filter(|name| !name.is_empty()).cloned().collect();
        let graph = Graph {
            message: Message::default(),
            nodes: vec![node],
            inputs,
            outputs: outputs.iter().map(info).collect(),
            values: Vec::new(),
            initializers: Vec::new(),
            sparse: Vec::new(),
        };
        let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
        Program::compile(&graph, opset, None, &outputs)
    }

    fn compile(graph: &Graph, opset: u32, folder: Option<&Path>, outputs: &[&str]) -> Result<Program, Error> {
        let mut table = Table::default();
        let initializers: HashMap<&str, usize> =
            graph.initializers.iter().enumerate().map(|(at, tensor)| (tensor.name.as_str(), at)).collect();
        let mut inputs = Vec::new();
        for info in &graph.inputs {
            let value = table.define(&info.name)?;
            inputs.push(Input {
                value,
                info: info.clone(),
                has_default: initializers.contains_key(&*info.name),
            });
        }
        for name in initializers.keys() {
            table.numbers.entry((*name).to_owned()).or_insert_with(|| {
                table.names.push((*name).to_owned());
                table.names.len() - 1
            });
        }
        let needed = needed(graph, outputs);
        let mut steps = Vec::new();
        for node in &graph.nodes {
            if !needed[node.index] {
                continue;
            }
            let step =
                Step::new(node, opset, graph, &mut table).map_err(|error| error.at(node.to_string()))?;
            steps.push(step);
        }
        let outputs = outputs.iter().map(|name| match table.numbers.get(*name) {
            Some(&value) => Ok(value),
            None => Err(Error::invalid(format!("there is no value {} in the model", named(name)))),
        });
        let outputs = outputs.collect::<Result<Vec<usize>, Error>>()?;
        let mut uses = vec![0; table.names.len()];
        for &value in steps.iter().flat_map(|step| step.inputs.iter().flatten()).chain(&outputs) {
            uses[value] += 1;
        }
        // What is an input alone has its value from whoever runs it; a default is decoded only where it is used.
        let mut constants = Vec::new();
        for (name, &at) in &initializers {
            let value = table.numbers[*name];
            if uses[value] > 0 {
                constants.push((value, graph.initializers[at].decode(folder)?));
            }
        }
        for step in steps.iter().filter(|step| step.node.op_type == "Constant") {
            let tensor = rearrange::constant(&step.node, folder);
            constants.push((step.output, tensor.map_err(|error| error.at(step.node.to_string()))?));
        }
        steps.retain(|step| step.node.op_type != "Constant");
        keep(&mut steps, &outputs, table.names.len());
        Ok(Program { names: table.names, steps, inputs, outputs, constants, uses, threads: None })
    }

    /// The same on so many threads; on all of rayon's unless told.
    ///
    /// ```
    /// # let bytes = unishape_onnx::build::add_model();
    /// let program = unishape_onnx::Program::new(&unishape_onnx::Model::read(&bytes)?)?.threads(1);
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    #[must_use]
    pub fn threads(self, threads: usize) -> Program {
        Program { threads: Some(threads.max(1)), ..self }
    }

    /// What is to be given: the inputs that have no value of their own.
    ///
    /// ```
    /// # let bytes = unishape_onnx::build::add_model();
    /// let program = unishape_onnx::Program::new(&unishape_onnx::Model::read(&bytes)?)?;
    /// assert_eq!(program.inputs().collect::<Vec<_>>(), ["x", "y"]);
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn inputs(&self) -> impl Iterator<Item = &str> {
        self.inputs.iter().filter(|input| !input.has_default).map(|input| input.info.name.as_str())
    }

    /// What is computed.
    ///
    /// ```
    /// # let bytes = unishape_onnx::build::add_model();
    /// let program = unishape_onnx::Program::new(&unishape_onnx::Model::read(&bytes)?)?;
    /// assert_eq!(program.outputs().collect::<Vec<_>>(), ["z"]);
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn outputs(&self) -> impl Iterator<Item = &str> {
        self.outputs.iter().map(|&output| self.names[output].as_str())
    }

    /// Computes the outputs, in their order, from inputs by name.
    ///
    /// ```
    /// use unishape_onnx::{Model, Program};
    /// # let bytes = unishape_onnx::build::add_model();
    ///
    /// let program = Program::new(&Model::read(&bytes)?)?;
    /// let x = unishape::Tensor::from(ndarray::arr2(&[[1f32, 2.0, 3.0]]));
    /// let error = program.run([("x", x.view())]).unwrap_err();
    /// assert_eq!(error.to_string(), "no value for the input y");
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where something is not given, or does not go with what the model says of it; where shapes do not go
    /// together, with the node; where there is no memory.
    pub fn run<'a, N: AsRef<str>>(
        &'a self,
        given: impl IntoIterator<Item = (N, TensorView<'a>)>,
    ) -> Result<Vec<(String, Tensor)>, Error> {
        self.run_reusing(given, Vec::new())
    }

    /// The same in the memory of earlier outputs, in their order: those that have the type and the shape that is
    /// needed are written over, which is much faster than fresh memory where they are large.
    ///
    /// ```
    /// use unishape_onnx::{Model, Program};
    /// # let bytes = unishape_onnx::build::add_model();
    ///
    /// let program = Program::new(&Model::read(&bytes)?)?;
    /// let x = unishape::Tensor::from(ndarray::arr2(&[[1f32, 2.0, 3.0]]));
    /// let y = unishape::Tensor::from(ndarray::arr1(&[1f32, 1.0, 1.0]));
    /// let outputs = program.run([("x", x.view()), ("y", y.view())])?;
    /// let old = outputs.into_iter().map(|(_, tensor)| tensor).collect();
    /// let outputs = program.run_reusing([("x", x.view()), ("y", y.view())], old)?;
    /// assert_eq!(outputs[0].1, ndarray::arr2(&[[2f32, 3.0, 4.0]]).into());
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run`](Program::run).
    pub fn run_reusing<'a, N: AsRef<str>>(
        &'a self,
        given: impl IntoIterator<Item = (N, TensorView<'a>)>,
        old: Vec<Tensor>,
    ) -> Result<Vec<(String, Tensor)>, Error> {
        let mut views: Vec<Option<TensorView<'a>>> = self.inputs.iter().map(|_| None).collect();
        for (name, view) in given {
            let name = name.as_ref();
            let Some(at) = self.inputs.iter().position(|input| input.info.name == name) else {
                let known: Vec<&str> = self.inputs.iter().map(|input| input.info.name.as_str()).collect();
                let problem = format!("the model has no input {}; it has {}", named(name), listed(&known));
                return Err(Error::given(problem));
            };
            if views[at].replace(view).is_some() {
                return Err(Error::given(format!("the input {} is given twice", named(name))));
            }
        }
        let mut sizes = HashMap::new();
        let mut run = Run::new(self, self.outputs.iter().copied().zip(old).collect());
        for (input, view) in self.inputs.iter().zip(views) {
            match view {
                Some(view) => {
                    let place = || format!("input {}", named(&input.info.name));
                    check(&input.info, &view, &mut sizes).map_err(|error| error.at(place()))?;
                    run.give(input.value, view);
                }
                None if input.has_default || self.uses[input.value] == 0 => {}
                None => {
                    let name = named(&input.info.name);
                    return Err(Error::given(format!("no value for the input {name}")));
                }
            }
        }
        for (at, step) in self.steps.iter().enumerate() {
            run.step(at).map_err(|error| error.at(step.node.to_string()))?;
        }
        let outputs = self.outputs.iter();
        outputs.map(|&output| Ok((self.names[output].clone(), run.take(output)?))).collect()
    }
}

/// A few names.
fn listed(names: &[&str]) -> String {
    let mut told: Vec<String> = names.iter().take(MOST_NAMES).map(|name| named(name)).collect();
    if names.len() > MOST_NAMES {
        told.push("…".into());
    }
    if told.is_empty() { "none".into() } else { told.join(", ") }
}

/// Values by number.
#[derive(Default)]
struct Table {
    names: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Table {
    fn define(&mut self, name: &str) -> Result<usize, Error> {
        let number = self.names.len();
        if self.numbers.insert(name.to_owned(), number).is_some() {
            return Err(Error::invalid(format!("the value {} is there twice", named(name))));
        }
        self.names.push(name.to_owned());
        Ok(number)
    }
}

impl Step {
    fn new(node: &Node, opset: u32, graph: &Graph, table: &mut Table) -> Result<Step, Error> {
        let version = Version::of(node, opset)?;
        let inputs = node.inputs.iter().map(|name| match table.numbers.get(name) {
            _ if name.is_empty() => Ok(None),
            Some(&value) => Ok(Some(value)),
            None if graph.sparse.contains(name) => Err(Error::unsupported(format!(
                "{} is a sparse tensor, which is not computed with",
                named(name)
            ))),
            None => Err(Error::invalid(format!("its input {} is nowhere before it", named(name)))),
        });
        let inputs = inputs.collect::<Result<Vec<_>, Error>>()?;
        let output = match &node.outputs[..] {
            [output] if !output.is_empty() => table.define(output)?,
            others => return Err(Error::invalid(format!("it has {} outputs, not 1", others.len()))),
        };
        Ok(Step { node: node.clone(), version, inputs, output, is_kept: false })
    }
}

/// The nodes that values depend on.
fn needed(graph: &Graph, outputs: &[&str]) -> Vec<bool> {
    let mut wanted: std::collections::HashSet<&str> = outputs.iter().copied().collect();
    let mut needed = vec![false; graph.nodes.len()];
    for node in graph.nodes.iter().rev() {
        if node.outputs.iter().any(|output| !output.is_empty() && wanted.contains(output.as_str())) {
            needed[node.index] = true;
            wanted.extend(node.inputs.iter().map(String::as_str));
        }
    }
    needed
}

/// Decides which results must be there as a whole: outputs, what operators about shapes take, and what would
/// otherwise be computed more than once, since it goes into several of these.
fn keep(steps: &mut [Step], outputs: &[usize], values: usize) {
    #[derive(Clone, Copy, PartialEq)]
    enum Into {
        Nothing,
        /// All that it goes into is computed in the pass that makes this value.
        One(usize),
        Several,
    }
    let mut into = vec![Into::Nothing; values];
    for &output in outputs {
        into[output] = Into::Several;
    }
    for step in steps.iter_mut().rev() {
        let is_fused = step.version.operator.role != Role::Other;
        let (is_kept, pass) = match into[step.output] {
            Into::One(pass) if is_fused => (false, pass),
            _ => (true, step.output),
        };
        step.is_kept = is_kept;
        for &input in step.inputs.iter().flatten() {
            into[input] = match into[input] {
                _ if !is_fused => Into::Several,
                Into::Nothing => Into::One(pass),
                Into::One(other) if other == pass => Into::One(pass),
                _ => Into::Several,
            };
        }
    }
}

/// Refuses what is not as it was declared. Sizes that have a name are the same wherever they have it.
fn check<'i>(
    info: &'i ValueInfo,
    view: &TensorView<'_>,
    sizes: &mut HashMap<&'i str, (usize, &'i str)>,
) -> Result<(), Error> {
    let its = ElemType::of(view.dtype());
    if let Some(elem) = info.elem.filter(|&elem| elem != its) {
        return Err(Error::given(format!("it is {its}, and the model wants {elem}")));
    }
    let Some(declared) = &info.shape else { return Ok(()) };
    let text = || {
        let sizes: Vec<String> = declared
            .iter()
            .map(|declared| match declared {
                Declared::Size(size) => size.to_string(),
                Declared::Name(name) => named(name),
                Declared::Nothing => "?".into(),
            })
            .collect();
        if sizes.is_empty() { "()".into() } else { plain_shape(&sizes) }
    };
    let its = view.shape();
    if its.len() != declared.len() {
        let its = short_shape_text(its);
        return Err(Error::given(format!("it is {its}, and the model wants {}", text())));
    }
    for (&size, declared) in its.iter().zip(declared) {
        match declared {
            Declared::Size(wanted) if *wanted != size => {
                let its = short_shape_text(its);
                return Err(Error::given(format!("it is {its}, and the model wants {}", text())));
            }
            Declared::Name(name) => {
                let (known, whose) = *sizes.entry(name).or_insert((size, &info.name));
                if known != size {
                    let (name, whose) = (named(name), named(whose));
                    let problem = format!("here {name} is {size}, and {known} in the input {whose}");
                    return Err(Error::given(problem));
                }
            }
            Declared::Size(_) | Declared::Nothing => {}
        }
    }
    Ok(())
}

/// Sizes joined as shapes are written; of many the first.
fn plain_shape(sizes: &[String]) -> String {
    let more = if sizes.len() > 16 { "x…" } else { "" };
    sizes[..sizes.len().min(16)].join("x") + more
}
