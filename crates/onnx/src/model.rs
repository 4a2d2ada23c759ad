//! Models: what is in their files, and back.

use crate::error::Error;
use crate::file;
use crate::graph::Graph;
use crate::wire::{Message, Piece};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The numbers of a model's fields.
pub(crate) mod field {
    pub(crate) const IR_VERSION: u32 = 1;
    pub(crate) const GRAPH: u32 = 7;
    pub(crate) const OPSET: u32 = 8;
    pub(crate) const FUNCTION: u32 = 25;
}

/// An ONNX model. All of its file is kept, known or not: what is not changed is written as it was read, byte
/// for byte.
///
/// ```
/// use unishape_onnx::Model;
/// # let bytes = unishape_onnx::build::add_model();
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
    /// What its own functions are called, with their domains.
    functions: Vec<(String, String)>,
    folder: Option<Arc<PathBuf>>,
}

impl Model {
    /// Reads a model from its bytes. It has no folder, and so no data outside.
    ///
    /// ```
    /// # let bytes = unishape_onnx::build::add_model();
    /// let model = unishape_onnx::Model::read(&bytes)?;
    /// assert_eq!(model.graph().nodes[0].op_type, "Add");
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where the bytes are no model, with the place in them.
    pub fn read(bytes: &[u8]) -> Result<Model, Error> {
        Model::from_vec(bytes.to_vec())
    }

    fn from_vec(bytes: Vec<u8>) -> Result<Model, Error> {
        let message = Message::read(&Piece::from(bytes)).map_err(no_model)?;
        Model::from_message(message)
    }

    pub(crate) fn from_message(message: Message) -> Result<Model, Error> {
        let graph = message.message(field::GRAPH).map_err(no_model)?;
        let graph = graph.ok_or_else(|| no_model("there is no graph in it"))?;
        let graph = Graph::read(graph)?;
        let mut opset = None;
        for import in message.messages(field::OPSET)? {
            if matches!(import.text(1)?.as_str(), "" | "ai.onnx") {
                let version = import.int(2)?;
                let version = u32::try_from(version);
                opset = Some(version.map_err(|_| Error::invalid("the model's opset is no version"))?);
            }
        }
        let functions = message
            .messages(field::FUNCTION)?
            .iter()
            .map(|function| Ok((function.text(10)?, function.text(1)?)))
            .collect::<Result<_, Error>>()?;
        let ir_version = message.int(field::IR_VERSION)?;
        Ok(Model { message, graph, ir_version, opset, functions, folder: None })
    }

    /// Reads a model from its file, whose folder may hold data of its tensors.
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("add.onnx");
    /// # std::fs::write(&path, unishape_onnx::build::add_model()).unwrap();
    /// let model = unishape_onnx::Model::open(&path)?;
    /// assert_eq!(model.graph().inputs[0].name, "x");
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where the file cannot be read or is no model.
    pub fn open(path: impl AsRef<Path>) -> Result<Model, Error> {
        let path = path.as_ref();
        let model = Model::from_vec(file::read(path)?)
            .map_err(|error| error.at(unishape::text::display_path(path)))?;
        Ok(model.in_folder(file::folder_of(path)))
    }

    /// The same model, with data of its tensors in files of this folder.
    ///
    /// ```
    /// # let bytes = unishape_onnx::build::add_model();
    /// let model = unishape_onnx::Model::read(&bytes)?.in_folder("models");
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    #[must_use]
    pub fn in_folder(mut self, folder: impl Into<PathBuf>) -> Model {
        self.folder = Some(Arc::new(folder.into()));
        self
    }

    /// The model's file: as it was read, but for what was changed.
    ///
    /// ```
    /// # let bytes = unishape_onnx::build::add_model();
    /// assert_eq!(unishape_onnx::Model::read(&bytes)?.to_bytes(), bytes);
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        self.message.write()
    }

    /// What it computes.
    ///
    /// ```
    /// # let bytes = unishape_onnx::build::add_model();
    /// assert_eq!(unishape_onnx::Model::read(&bytes)?.graph().outputs[0].name, "z");
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The version of ONNX's own operators that it uses, if it says so.
    ///
    /// ```
    /// # let bytes = unishape_onnx::build::add_model();
    /// assert_eq!(unishape_onnx::Model::read(&bytes)?.opset(), Some(21));
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn opset(&self) -> Option<u32> {
        self.opset
    }

    /// The version of ONNX's file format that it is written in.
    ///
    /// ```
    /// # let bytes = unishape_onnx::build::add_model();
    /// assert_eq!(unishape_onnx::Model::read(&bytes)?.ir_version(), 10);
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn ir_version(&self) -> i64 {
        self.ir_version
    }

    /// The domains and names of the functions that it defines itself.
    ///
    /// ```
    /// # let bytes = unishape_onnx::build::add_model();
    /// assert!(unishape_onnx::Model::read(&bytes)?.functions().is_empty());
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn functions(&self) -> &[(String, String)] {
        &self.functions
    }

    /// The files beside its own that hold data of its tensors, each once. They are not looked for.
    ///
    /// ```
    /// # let bytes = unishape_onnx::build::add_model();
    /// assert!(unishape_onnx::Model::read(&bytes)?.external_files().is_empty());
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn external_files(&self) -> Vec<String> {
        let constants = self.graph.nodes.iter().flat_map(|node| &node.attributes);
        let constants = constants.filter_map(|attribute| attribute.tensor().ok()?.location());
        let initializers = self.graph.initializers.iter().filter_map(|tensor| tensor.location());
        let mut files: Vec<String> = initializers.chain(constants).collect();
        files.sort_unstable();
        files.dedup();
        files
    }

    /// Where data of its tensors may be, outside of its file.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.folder.as_ref().map(|folder| folder.as_path())
    }

    /// The same model with another graph.
    pub(crate) fn with_graph(&self, graph: &Message) -> Result<Model, Error> {
        let bytes = graph.write();
        let message = self.message.replaced(|_, field, out| match field.number {
            field::GRAPH => out.push(crate::wire::Field::of_bytes(field::GRAPH, &bytes)),
            _ => out.push(field.clone()),
        });
        let model = Model::from_message(message)?;
        Ok(Model { folder: self.folder.clone(), ..model })
    }
}

fn no_model(problem: impl std::fmt::Display) -> Error {
    Error::malformed(format!("this is no ONNX model: {problem}"))
}
