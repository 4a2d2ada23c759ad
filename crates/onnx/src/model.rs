//! Models: a lossless view of a `ModelProto`.

use crate::error::Error;
use crate::field_numbers::{function, model as field, opset};
use crate::file;
use crate::graph::Graph;
use crate::wire::{Field, Message, SharedBytes};
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
    /// Domains and names of the model-local functions.
    functions: Vec<(String, String)>,
    base_dir: Option<Arc<PathBuf>>,
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
        let graph = Graph::from_message(graph)?;
        let mut opset = None;
        for import in message.messages(field::OPSET_IMPORT)? {
            if matches!(import.string(opset::DOMAIN)?.as_str(), "" | "ai.onnx") {
                let version = u32::try_from(import.int(opset::VERSION)?);
                opset = Some(version.map_err(|_| Error::invalid("the opset version is out of range"))?);
            }
        }
        let functions = message
            .messages(field::FUNCTIONS)?
            .iter()
            .map(|function| Ok((function.string(function::DOMAIN)?, function.string(function::NAME)?)))
            .collect::<Result<_, Error>>()?;
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

    /// Domains and names of the model-local functions.
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// assert!(unishape_onnx::Model::read(&bytes)?.functions().is_empty());
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn functions(&self) -> &[(String, String)] {
        &self.functions
    }

    /// Sorted locations of the external data files; the files need not exist.
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// assert!(unishape_onnx::Model::read(&bytes)?.external_files().is_empty());
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn external_files(&self) -> Vec<String> {
        let attributes = self.graph.nodes.iter().flat_map(|node| &node.attributes);
        let attributes = attributes.filter_map(|attribute| attribute.tensor().ok()?.external_location());
        let initializers = self.graph.initializers.iter().filter_map(|tensor| tensor.external_location());
        let mut files: Vec<String> = initializers.chain(attributes).collect();
        files.sort_unstable();
        files.dedup();
        files
    }

    /// Directory of external data files.
    pub(crate) fn base_dir(&self) -> Option<&Path> {
        self.base_dir.as_ref().map(|base_dir| base_dir.as_path())
    }

    /// Copy of the model with another graph.
    pub(crate) fn with_graph(&self, graph: &Message) -> Result<Model, Error> {
        let bytes = graph.encode();
        let message = self.message.map_fields(|field, out| match field.number {
            field::GRAPH => out.push(Field::length_delimited(field::GRAPH, &bytes)),
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
        let copy = model.with_graph(&model.graph.message).unwrap();
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
        assert_eq!(model.functions(), [("com.example".into(), "Twice".into())]);
    }
}
