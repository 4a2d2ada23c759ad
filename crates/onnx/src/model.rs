//! Models: a lossless view of a `ModelProto`.

use crate::error::{Error, display_name};
use crate::field_numbers::{function, model as field, opset};
use crate::file;
use crate::graph::{Attribute, Graph, Node, without_default};
use crate::lazy_file;
use crate::wire::{Field, Message, SharedBytes};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An ONNX model that keeps every byte of its file, including unknown fields.
///
/// ```
/// use unishape_onnx::Model;
/// # let bytes = unishape_onnx::model_builder::add_model();
///
/// let model = Model::read(&bytes)?;
/// assert_eq!((model.opset(), model.graph().nodes.len()), (Some(21), 1));
/// assert_eq!(model.to_bytes(), bytes);
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Model {
    message: Message,
    graph: Graph,
    ir_version: i64,
    opset: Option<u32>,
    functions: Vec<Function>,
    base_dir: Option<Arc<PathBuf>>,
}

/// A model-local function: an operator that the model defines.
#[derive(Clone, Debug)]
pub struct Function {
    /// Domain of the operator; empty for the default domain `ai.onnx`.
    pub domain: String,
    /// Name of the operator.
    pub name: String,
    pub(crate) overload: String,
    /// Opset version of the default domain in the body.
    pub(crate) opset: Option<u32>,
    /// Default values of attributes.
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) body: Graph,
}

impl Function {
    fn from_message(message: &Message) -> Result<Function, Error> {
        let attributes = message.messages(function::ATTRIBUTE_PROTO)?.into_iter();
        let name = message.string(function::NAME)?;
        let in_function = |error: Error| error.with_context(format!("function {}", display_name(&name)));
        Ok(Function {
            domain: without_default(message.string(function::DOMAIN)?),
            overload: message.string(function::OVERLOAD)?,
            opset: default_opset(message, function::OPSET_IMPORT).map_err(in_function)?,
            attributes: attributes.map(Attribute::from_message).collect::<Result<_, Error>>()?,
            body: Graph::from_function(message.clone()).map_err(in_function)?,
            name,
        })
    }
}

/// Opset version of the default domain that a model or a function imports.
fn default_opset(message: &Message, imports: u32) -> Result<Option<u32>, Error> {
    let mut opset = None;
    for import in message.messages(imports)? {
        if matches!(import.string(opset::DOMAIN)?.as_str(), "" | "ai.onnx") {
            let version = u32::try_from(import.int(opset::VERSION)?);
            opset = Some(version.map_err(|_| Error::invalid("the opset version is out of range"))?);
        }
    }
    Ok(opset)
}

impl Model {
    /// Decodes a serialized model.
    ///
    /// External data is not available unless [`with_base_dir`](Model::with_base_dir) sets a directory.
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// let model = unishape_onnx::Model::read(&bytes)?;
    /// assert_eq!(model.graph().nodes[0].op_type, "Add");
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the bytes are not a model; the error has the byte offset.
    pub fn read(bytes: &[u8]) -> Result<Model, Error> {
        Model::from_vec(bytes.to_vec())
    }

    fn from_vec(bytes: Vec<u8>) -> Result<Model, Error> {
        let message = Message::decode(&SharedBytes::from(bytes)).map_err(not_a_model)?;
        Model::from_message(message)
    }

    fn from_message(message: Message) -> Result<Model, Error> {
        let graph = message.message(field::GRAPH).map_err(not_a_model)?;
        let graph = graph.ok_or_else(|| not_a_model("it has no graph"))?;
        let graph = Graph::from_message(graph, 0)?;
        let opset = default_opset(&message, field::OPSET_IMPORT)?;
        let functions = message.messages(field::FUNCTIONS)?;
        let functions = functions.iter().map(Function::from_message).collect::<Result<_, Error>>()?;
        let ir_version = message.int(field::IR_VERSION)?;
        Ok(Model { message, graph, ir_version, opset, functions, base_dir: None })
    }

    /// Reads a model file; external data is read from the file's directory.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("add.onnx");
    /// # std::fs::write(&path, unishape_onnx::model_builder::add_model()).unwrap();
    /// let model = unishape_onnx::Model::open(&path)?;
    /// assert_eq!(model.graph().inputs[0].name, "x");
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is not a model.
    pub fn open(path: impl AsRef<Path>) -> Result<Model, Error> {
        let path = path.as_ref();
        let model = Model::from_vec(file::read(path)?)
            .map_err(|error| error.with_context(unishape::text::display_path(path)))?;
        Ok(model.with_base_dir(file::parent_dir(path)))
    }

    /// Opens a model without reading its long weights.
    ///
    /// As [`open`](Model::open), but these stay in the file until they are used or written.
    ///
    /// Needs memory for the structure of the model only. The file must not change meanwhile:
    /// [`write_to`](Model::write_to) fails if it did.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let path = dir.path().join("add.onnx");
    /// # std::fs::write(&path, unishape_onnx::model_builder::add_model()).unwrap();
    /// let model = unishape_onnx::Model::open_lazily(&path)?;
    /// assert_eq!(model.to_bytes(), std::fs::read(&path).unwrap());
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`open`](Model::open).
    pub fn open_lazily(path: impl AsRef<Path>) -> Result<Model, Error> {
        let path = path.as_ref();
        match lazy_file::read(path)? {
            Some(message) => {
                let model = Model::from_message(message)
                    .map_err(|error| error.with_context(unishape::text::display_path(path)))?;
                Ok(model.with_base_dir(file::parent_dir(path)))
            }
            // Errors of malformed files are those of `open`.
            None => Model::open(path),
        }
    }

    /// Sets the directory that external data files are read from.
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// let model = unishape_onnx::Model::read(&bytes)?.with_base_dir("models");
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    #[must_use]
    pub fn with_base_dir(mut self, base_dir: impl Into<PathBuf>) -> Model {
        self.base_dir = Some(Arc::new(base_dir.into()));
        self
    }

    /// Serializes the model; parts that were not rewritten keep their bytes.
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// assert_eq!(unishape_onnx::Model::read(&bytes)?.to_bytes(), bytes);
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the model was [opened lazily](Model::open_lazily) and its file can no longer be read, or changed.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.message.encode()
    }

    /// The main graph.
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// assert_eq!(unishape_onnx::Model::read(&bytes)?.graph().outputs[0].name, "z");
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Opset version of the default domain (`ai.onnx`), if the model imports it.
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// assert_eq!(unishape_onnx::Model::read(&bytes)?.opset(), Some(21));
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn opset(&self) -> Option<u32> {
        self.opset
    }

    /// IR version: the version of the ONNX file format.
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// assert_eq!(unishape_onnx::Model::read(&bytes)?.ir_version(), 10);
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn ir_version(&self) -> i64 {
        self.ir_version
    }

    /// The model-local functions.
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// assert!(unishape_onnx::Model::read(&bytes)?.functions().is_empty());
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// Whether the model has graphs that are used for training only.
    pub(crate) fn has_training_graphs(&self) -> bool {
        self.message.has(field::TRAINING_INFO)
    }

    /// All graphs with their paths.
    ///
    /// The main graph, whose path is empty, subgraphs, and functions at their first call.
    ///
    /// The paths are those of [`BroadcastNode`](crate::BroadcastNode).
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// let model = unishape_onnx::Model::read(&bytes)?;
    /// assert_eq!(model.graphs().len(), 1);
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn graphs(&self) -> Vec<(String, &Graph)> {
        let mut graphs = vec![(String::new(), &self.graph)];
        let mut is_called = vec![false; self.functions.len()];
        let mut next = 0;
        while let Some((path, graph)) = graphs.get(next).cloned() {
            next += 1;
            for node in &graph.nodes {
                for (name, subgraph) in node.subgraphs() {
                    graphs.push((format!("{path}{node}, {}: ", display_name(name)), subgraph));
                }
                let called =
                    self.function_of(node).filter(|&index| !std::mem::replace(&mut is_called[index], true));
                if let Some(function) = called.map(|index| &self.functions[index]) {
                    let name = display_name(&function.name);
                    graphs.push((format!("{path}{node}, function {name}: "), &function.body));
                }
            }
        }
        graphs
    }

    /// Index of the function that a node calls.
    pub(crate) fn function_of(&self, node: &Node) -> Option<usize> {
        self.functions.iter().position(|function| {
            (&function.domain, &function.name, &function.overload)
                == (&node.domain, &node.op_type, &node.overload)
        })
    }

    /// Sorted locations of the external data files; the files need not exist.
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// assert!(unishape_onnx::Model::read(&bytes)?.external_files().is_empty());
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn external_files(&self) -> Vec<String> {
        let mut files = Vec::new();
        let mut pending: Vec<&Graph> = vec![&self.graph];
        pending.extend(self.functions.iter().map(|function| &function.body));
        while let Some(graph) = pending.pop() {
            files.extend(graph.initializers.iter().filter_map(|tensor| tensor.external_location()));
            for node in &graph.nodes {
                let tensors = node.attributes.iter().filter_map(|attribute| attribute.tensor().ok());
                files.extend(tensors.filter_map(|tensor| tensor.external_location()));
                pending.extend(node.subgraphs.iter().map(|subgraph| &subgraph.graph));
            }
        }
        files.sort_unstable();
        files.dedup();
        files
    }

    /// Directory of external data files.
    pub(crate) fn base_dir(&self) -> Option<&Path> {
        self.base_dir.as_ref().map(|base_dir| base_dir.as_path())
    }

    /// Writes the serialized model; needs no memory for the bytes.
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// let mut written = Vec::new();
    /// unishape_onnx::Model::read(&bytes)?.write_to(&mut written).expect("a vector takes all");
    /// assert_eq!(written, bytes);
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write_to(&self, mut writer: impl io::Write) -> io::Result<()> {
        self.message.write_to(&mut writer)
    }

    /// Length of the serialized model in bytes.
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// assert_eq!(unishape_onnx::Model::read(&bytes)?.serialized_len(), bytes.len());
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn serialized_len(&self) -> usize {
        self.message.encoded_len()
    }

    /// Copy of the model with another graph and other functions, by index. Unchanged bytes are shared.
    pub(crate) fn with_parts(
        &self,
        graph: Option<Message>,
        mut functions: HashMap<usize, Message>,
    ) -> Result<Model, Error> {
        let mut indices = 0..;
        let message = self.message.map_fields(|field, out| match field.number {
            field::GRAPH => match &graph {
                Some(graph) => out.push(Field::nested(field::GRAPH, graph.clone())),
                None => out.push(field.clone()),
            },
            field::FUNCTIONS => match functions.remove(&indices.next().unwrap_or(0)) {
                Some(function) => out.push(Field::nested(field::FUNCTIONS, function)),
                None => out.push(field.clone()),
            },
            _ => out.push(field.clone()),
        });
        let model = Model::from_message(message)?;
        Ok(Model { base_dir: self.base_dir.clone(), ..model })
    }
}

fn not_a_model(problem: impl std::fmt::Display) -> Error {
    Error::malformed(format!("not an ONNX model: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_graph_keeps_the_directory() {
        let model = Model::read(&crate::model_builder::add_model()).unwrap().with_base_dir("models");
        let copy = model.with_parts(Some(model.graph.message.clone()), HashMap::new()).unwrap();
        assert_eq!(copy.base_dir(), Some(Path::new("models")));
        assert_eq!(copy.to_bytes(), model.to_bytes());
    }

    #[test]
    fn functions_are_listed() {
        let (mut message, mut function) = (Message::default(), Message::default());
        function.push_bytes(function::NAME, b"Twice");
        function.push_bytes(function::DOMAIN, b"com.example");
        message.push_message(field::FUNCTIONS, &function);
        let bytes = [crate::model_builder::add_model(), message.encode()].concat();
        let model = Model::read(&bytes).unwrap();
        let [function] = model.functions() else { panic!("one function") };
        assert_eq!((&*function.domain, &*function.name), ("com.example", "Twice"));
    }
}
