//! The private module `_onnx`, on which `unishape.onnx` is built.

use crate::errors::shape_error;
use crate::input::as_array;
use crate::memory::{self, NumPy, NumericArray, SpareSlot, Spares};
use crate::threads::ThreadCount;
use ndarray::{ArrayD, IxDyn};
use numpy::{PyArrayDescrMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyNotImplementedError, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use unishape::{Tensor, TensorView};
use unishape_kernels::for_each_dtype;
use unishape_onnx::{
    BroadcastKind, CompiledModel, Dim, Error, ErrorKind, ExplicitOptions, FixedSizes, Report, Verdict,
};

/// Adds the submodule `_onnx`.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let onnx = PyModule::new(module.py(), "_onnx")?;
    onnx.add_class::<OnnxModel>()?;
    onnx.add_class::<OnnxCompiledModel>()?;
    onnx.add_class::<OnnxReport>()?;
    module.add_submodule(&onnx)
}

/// Converts an error to the matching Python exception.
fn to_py_err(error: Error) -> PyErr {
    let text = error.to_string();
    match error.kind() {
        ErrorKind::File(_) => PyOSError::new_err(text),
        ErrorKind::Unsupported(_) => PyNotImplementedError::new_err(text),
        ErrorKind::Input(_) => PyTypeError::new_err(text),
        ErrorKind::Shapes(error @ unishape::Error::OutOfMemory { .. }) => shape_error(error.clone()),
        _ => PyValueError::new_err(text),
    }
}

/// A model, decoded from bytes; external data is read from `base_dir`.
#[pyclass(frozen, module = "unishape._unishape")]
pub(crate) struct OnnxModel(unishape_onnx::Model);

#[pymethods]
impl OnnxModel {
    #[new]
    #[pyo3(signature = (bytes, base_dir=None))]
    fn new(bytes: &[u8], base_dir: Option<PathBuf>) -> PyResult<OnnxModel> {
        let model = unishape_onnx::Model::read(bytes).map_err(to_py_err)?;
        Ok(OnnxModel(match base_dir {
            Some(base_dir) => model.with_base_dir(base_dir),
            None => model,
        }))
    }

    /// Compiles the model. `threads`: number of worker threads; default: that of the process at each run.
    #[pyo3(signature = (*, threads=None))]
    fn compile(&self, threads: Option<ThreadCount>) -> PyResult<OnnxCompiledModel> {
        let compiled = CompiledModel::new(&self.0).map_err(to_py_err)?;
        Ok(OnnxCompiledModel::new(match threads {
            Some(threads) => compiled.threads(threads.get()),
            None => compiled,
        }))
    }

    /// Reads a model file.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<OnnxModel> {
        py.detach(|| unishape_onnx::Model::open(path)).map(OnnxModel).map_err(to_py_err)
    }

    /// The model without implicit broadcasting, and the number of inserted Expand nodes.
    #[pyo3(signature = (*, dims, certain_only, expand_pow, expand_matmul))]
    fn explicit(
        &self,
        dims: FixedSizes,
        certain_only: bool,
        expand_pow: bool,
        expand_matmul: bool,
    ) -> PyResult<(OnnxModel, usize)> {
        let mut options = ExplicitOptions { sizes: dims, certain_only, ..ExplicitOptions::default() };
        options.kinds.extend(expand_pow.then_some(BroadcastKind::ScalarExponent));
        options.kinds.extend(expand_matmul.then_some(BroadcastKind::MatMul));
        let rewritten = unishape_onnx::explicit_with(&self.0, &options).map_err(to_py_err)?;
        Ok((OnnxModel(rewritten.model), rewritten.expands))
    }

    /// The model without redundant Expand nodes, and the number of removed ones.
    #[pyo3(signature = (*, all))]
    fn implicit(&self, all: bool) -> PyResult<(OnnxModel, usize)> {
        let rewritten =
            if all { unishape_onnx::implicit_all(&self.0) } else { unishape_onnx::implicit(&self.0) };
        rewritten.map(|rewritten| (OnnxModel(rewritten.model), rewritten.expands)).map_err(to_py_err)
    }

    /// Serialized model.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        PyBytes::new_with_writer(py, self.0.serialized_len(), |writer| Ok(self.0.write_to(writer)?))
    }

    /// Reports where the model broadcasts.
    #[pyo3(signature = (*, dims))]
    fn explain(&self, dims: FixedSizes) -> OnnxReport {
        OnnxReport(unishape_onnx::explain_with(&self.0, &dims))
    }

    /// Inferred shapes of the values of the main graph, by name; `None` if the rank is unknown.
    #[pyo3(signature = (*, dims))]
    fn shapes<'py>(&self, py: Python<'py>, dims: FixedSizes) -> PyResult<Bound<'py, PyDict>> {
        let inference = unishape_onnx::infer_shapes_with(&self.0, &dims);
        let (graph, shapes) = (self.0.graph(), PyDict::new(py));
        let names = graph.inputs.iter().map(|info| info.name.as_str()).chain(graph.initializers());
        let outputs = graph.nodes.iter().flat_map(|node| node.outputs.iter().map(String::as_str));
        for name in names.chain(outputs).filter(|name| !name.is_empty()) {
            let value = inference.value(name);
            shapes.set_item(name, shape(py, value.and_then(|value| value.shape()))?)?;
        }
        Ok(shapes)
    }
}

/// Report of all broadcasting in a model: the nodes that broadcast and their stretched inputs.
#[pyclass(frozen, module = "unishape._unishape")]
pub(crate) struct OnnxReport(Report);

#[pymethods]
impl OnnxReport {
    /// One dictionary per node that broadcasts.
    #[getter]
    fn broadcasts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let nodes = PyList::empty(py);
        for node in &self.0.broadcasts {
            let dict = PyDict::new(py);
            dict.set_item("path", &node.path)?;
            dict.set_item("node", node.node)?;
            dict.set_item("kind", node.kind.name())?;
            dict.set_item("certain", node.is_certain())?;
            dict.set_item("name", &node.name)?;
            dict.set_item("op_type", &node.op_type)?;
            dict.set_item("shape", shape(py, node.shape.as_deref())?)?;
            let stretched = PyList::empty(py);
            for input in &node.stretched {
                let dict = PyDict::new(py);
                dict.set_item("input", input.input)?;
                dict.set_item("name", &input.name)?;
                dict.set_item("from", shape(py, input.from.as_deref())?)?;
                dict.set_item("to", shape(py, input.to.as_deref())?)?;
                dict.set_item("dims", input.dims.iter().map(|dim| dim.dim).collect::<Vec<_>>())?;
                dict.set_item("times", input.times())?;
                dict.set_item("certain", input.is_certain)?;
                stretched.append(dict)?;
            }
            dict.set_item("stretched", stretched)?;
            nodes.append(dict)?;
        }
        Ok(nodes)
    }

    /// Indices of the nodes whose inputs are incompatible, with the error messages.
    #[getter]
    fn conflicts(&self) -> Vec<(usize, String)> {
        self.0.conflicts.iter().map(|(node, error)| (*node, error.to_string())).collect()
    }

    /// Operators that were not analyzed: they may broadcast.
    #[getter]
    fn not_analyzed(&self) -> Vec<String> {
        self.0.not_analyzed.clone()
    }

    /// Declared shapes of intermediate values and outputs that are wrong; they are not used.
    #[getter]
    fn wrong_declarations(&self) -> Vec<String> {
        self.0.declarations.clone()
    }

    /// Whether the model broadcasts: "explicit", "broadcasts", "incompatible" or "unknown".
    #[getter]
    fn verdict(&self) -> &'static str {
        match self.0.verdict() {
            Verdict::Incompatible => "incompatible",
            Verdict::Explicit => "explicit",
            Verdict::Broadcasts => "broadcasts",
            Verdict::Unknown => "unknown",
        }
    }

    fn __repr__(&self) -> String {
        let conflicts = self.0.conflicts.iter().map(|(_, error)| error.to_string());
        let broadcasts = self.0.broadcasts.iter().map(ToString::to_string);
        let unknown = self.0.not_analyzed.iter().map(|unknown| format!("not analyzed: {unknown}"));
        let wrong = self.0.declarations.iter().map(|wrong| format!("wrong declaration: {wrong}"));
        match conflicts.chain(broadcasts).chain(unknown).chain(wrong).collect::<Vec<_>>() {
            parts if parts.is_empty() => "no node broadcasts".into(),
            parts => parts.join("\n\n"),
        }
    }
}

/// Shape as a tuple: an unknown size is the name of its symbol, or None.
fn shape<'py>(py: Python<'py>, dims: Option<&[Dim]>) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let Some(dims) = dims else { return Ok(None) };
    let sizes = dims.iter().map(|dim| match dim {
        Dim::Known(size) => Ok(size.into_pyobject(py)?.into_any()),
        Dim::Unknown(size) if size.is_anonymous() => Ok(py.None().into_bound(py)),
        Dim::Unknown(size) => Ok(size.full_text().into_pyobject(py)?.into_any()),
    });
    PyTuple::new(py, sizes.collect::<PyResult<Vec<_>>>()?).map(Some)
}

/// A compiled model or node.
///
/// Keeps the memory of large outputs that Python has released for the next run, because allocating fresh memory
/// costs more than computing most models.
#[pyclass(frozen, module = "unishape._unishape")]
pub(crate) struct OnnxCompiledModel {
    compiled: CompiledModel,
    spares: Arc<Spares>,
}

impl OnnxCompiledModel {
    fn new(compiled: CompiledModel) -> OnnxCompiledModel {
        let spares = compiled.outputs().map(|_| None).collect();
        OnnxCompiledModel { compiled, spares: Arc::new(Mutex::new(spares)) }
    }

    /// Released buffers of earlier outputs, in output order; an empty tensor if no buffer is available.
    fn take_spares(&self) -> Vec<Tensor> {
        let empty = || Tensor::from(ArrayD::<u8>::zeros(IxDyn(&[0])));
        let mut spares = self.spares.lock().unwrap_or_else(PoisonError::into_inner);
        spares.iter_mut().map(|spare| spare.take().unwrap_or_else(empty)).collect()
    }
}

#[pymethods]
impl OnnxCompiledModel {
    /// Compiles a single node from its serialized NodeProto.
    #[staticmethod]
    fn from_node(bytes: &[u8], opset: u32) -> PyResult<OnnxCompiledModel> {
        CompiledModel::from_node(bytes, opset).map(OnnxCompiledModel::new).map_err(to_py_err)
    }

    /// Names of the required inputs.
    #[getter]
    fn inputs(&self) -> Vec<&str> {
        self.compiled.inputs().collect()
    }

    /// Names of the outputs.
    #[getter]
    fn outputs(&self) -> Vec<&str> {
        self.compiled.outputs().collect()
    }

    /// Computes the outputs, in order, from named inputs.
    #[pyo3(signature = (inputs, /))]
    fn run<'py>(&self, py: Python<'py>, inputs: &Bound<'py, PyDict>) -> PyResult<Vec<NumPy<'py>>> {
        let mut arrays: Vec<(String, InputArray<'py>)> = Vec::with_capacity(inputs.len());
        for (name, object) in inputs {
            arrays.push((name.extract()?, InputArray::new(&object)?));
        }
        let views: Vec<(&str, TensorView<'_>)> =
            arrays.iter().filter_map(|(name, array)| Some((name.as_str(), array.view()?))).collect();
        // Attached, as when buffers are released: no thread forks while another one holds the lock.
        let spares = self.take_spares();
        let outputs = py.detach(|| self.compiled.run_reusing(views, spares)).map_err(to_py_err)?;
        let tensors = outputs.into_iter().map(|(_, tensor)| tensor).enumerate();
        tensors.map(|(index, tensor)| to_numpy(py, tensor, (Arc::downgrade(&self.spares), index))).collect()
    }
}

/// An input: numbers are borrowed from NumPy, strings are copied.
enum InputArray<'py> {
    Numbers(NumericArray<'py>),
    Strings(ArrayD<String>),
}

impl<'py> InputArray<'py> {
    fn new(object: &Bound<'py, PyAny>) -> PyResult<InputArray<'py>> {
        let array = as_array(object)?;
        match array.dtype().kind() {
            b'O' | b'U' | b'T' => strings(&array).map(InputArray::Strings),
            _ => NumericArray::from_array(array).map(InputArray::Numbers),
        }
    }

    fn view(&self) -> Option<TensorView<'_>> {
        match self {
            InputArray::Numbers(array) => array.view(),
            InputArray::Strings(array) => Some(array.view().into()),
        }
    }
}

fn strings(array: &NumPy<'_>) -> PyResult<ArrayD<String>> {
    let elements = array.call_method0("ravel")?.call_method0("tolist")?;
    let elements: Vec<String> = elements
        .extract()
        .map_err(|_| PyTypeError::new_err("an array with dtype object must contain only str"))?;
    ArrayD::from_shape_vec(IxDyn(array.shape()), elements)
        .map_err(|_| PyValueError::new_err("the number of elements does not match the shape of the array"))
}

/// Moves a tensor into a NumPy array; its memory returns to `home` when Python releases it.
fn to_numpy(py: Python<'_>, tensor: Tensor, slot: SpareSlot) -> PyResult<NumPy<'_>> {
    macro_rules! by_type {
        ($($variant:ident $type:ident $(<$part:ident>)? $name:literal $what:literal;)+) => {
            match tensor {
                $(Tensor::$variant(array) => by_type!(@ $type array),)+
            }
        };
        (@ String $array:ident) => { object_array(py, &$array) };
        (@ $type:ident $array:ident) => { memory::into_numpy(py, $array, Some(slot)) };
    }
    for_each_dtype!(by_type)
}

/// Strings as an array with dtype object, as the `onnx` package represents them.
fn object_array<'py>(py: Python<'py>, strings: &ArrayD<String>) -> PyResult<NumPy<'py>> {
    let numpy = py.import("numpy")?;
    let flat = numpy.call_method1("empty", (strings.len(), "O"))?;
    for (index, string) in strings.iter().enumerate() {
        flat.set_item(index, string)?;
    }
    Ok(flat.call_method1("reshape", (PyTuple::new(py, strings.shape())?,))?.cast_into()?)
}
