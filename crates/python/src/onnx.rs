//! ONNX's models, for `unishape.onnx`.

use crate::failure::of_shapes;
use crate::input::array;
use crate::memory::{self, Home, NumPy, Seen, Spares};
use crate::threads::{Asked, number};
use ndarray::{ArrayD, IxDyn};
use numpy::{PyArrayDescrMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyNotImplementedError, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use unishape::{Tensor, TensorView};
use unishape_kernels::for_each_dtype;
use unishape_onnx::{Dim, Error, Problem, Program, Report, Rewritten};

/// Adds what `unishape.onnx` is made of, for nobody else.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let onnx = PyModule::new(module.py(), "_onnx")?;
    onnx.add_class::<OnnxModel>()?;
    onnx.add_class::<OnnxProgram>()?;
    onnx.add_class::<OnnxReport>()?;
    module.add_submodule(&onnx)
}

fn of_model(error: Error) -> PyErr {
    let text = error.to_string();
    match error.problem() {
        Problem::File(_) => PyOSError::new_err(text),
        Problem::Unsupported(_) => PyNotImplementedError::new_err(text),
        Problem::Input(_) => PyTypeError::new_err(text),
        Problem::Shapes(error @ unishape::Error::OutOfMemory { .. }) => of_shapes(error.clone()),
        _ => PyValueError::new_err(text),
    }
}

/// A model, from the bytes of its file. Data in other files is looked for in a folder, if one is given.
#[pyclass(frozen, module = "unishape._unishape")]
pub(crate) struct OnnxModel(unishape_onnx::Model);

#[pymethods]
impl OnnxModel {
    #[new]
    #[pyo3(signature = (bytes, folder=None))]
    fn new(bytes: &[u8], folder: Option<PathBuf>) -> PyResult<OnnxModel> {
        let model = unishape_onnx::Model::read(bytes).map_err(of_model)?;
        Ok(OnnxModel(match folder {
            Some(folder) => model.with_base_dir(folder),
            None => model,
        }))
    }

    /// Makes it ready to be run, on so many threads; on one for each core unless told.
    #[pyo3(signature = (*, threads=None))]
    fn program(&self, threads: Option<Asked>) -> PyResult<OnnxProgram> {
        let program = Program::new(&self.0).map_err(of_model)?;
        Ok(OnnxProgram::new(program.threads(number(threads))))
    }

    /// The bytes of the same model without implicit broadcasting, and how many Expands it has more.
    fn explicit<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyBytes>, usize)> {
        unishape_onnx::explicit(&self.0).map(|rewritten| written(py, &rewritten)).map_err(of_model)
    }

    /// The bytes of the same model without needless Expands, and how many it has less.
    fn implicit<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyBytes>, usize)> {
        unishape_onnx::implicit(&self.0).map(|rewritten| written(py, &rewritten)).map_err(of_model)
    }

    /// Where it broadcasts.
    fn explain(&self) -> OnnxReport {
        OnnxReport(unishape_onnx::explain(&self.0))
    }
}

fn written<'py>(py: Python<'py>, rewritten: &Rewritten) -> (Bound<'py, PyBytes>, usize) {
    (PyBytes::new(py, &rewritten.model.to_bytes()), rewritten.expands)
}

/// Where a model broadcasts: every node that does, and which of its inputs are stretched.
#[pyclass(frozen, module = "unishape._unishape")]
pub(crate) struct OnnxReport(Report);

#[pymethods]
impl OnnxReport {
    /// One dictionary for each node that broadcasts.
    #[getter]
    fn broadcasts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let nodes = PyList::empty(py);
        for node in &self.0.broadcasts {
            let told = PyDict::new(py);
            told.set_item("node", node.node)?;
            told.set_item("name", &node.name)?;
            told.set_item("op_type", &node.op_type)?;
            told.set_item("shape", shape(py, node.shape.as_deref())?)?;
            let stretches = PyList::empty(py);
            for stretch in &node.stretched {
                let told = PyDict::new(py);
                told.set_item("input", stretch.input)?;
                told.set_item("name", &stretch.name)?;
                told.set_item("from", shape(py, stretch.from.as_deref())?)?;
                told.set_item("to", shape(py, stretch.to.as_deref())?)?;
                told.set_item("dims", stretch.dims.iter().map(|dim| dim.dim).collect::<Vec<_>>())?;
                told.set_item("times", stretch.times())?;
                told.set_item("certain", stretch.is_certain)?;
                stretches.append(told)?;
            }
            told.set_item("stretched", stretches)?;
            nodes.append(told)?;
        }
        Ok(nodes)
    }

    /// The nodes whose inputs are incompatible, by index, and why.
    #[getter]
    fn conflicts(&self) -> Vec<(usize, String)> {
        self.0.conflicts.iter().map(|(node, error)| (*node, error.to_string())).collect()
    }

    /// What was not looked into.
    #[getter]
    fn unseen(&self) -> Vec<String> {
        self.0.skipped.clone()
    }

    fn __repr__(&self) -> String {
        let conflicts = self.0.conflicts.iter().map(|(_, error)| error.to_string());
        let broadcasts = self.0.broadcasts.iter().map(ToString::to_string);
        let unseen = self.0.skipped.iter().map(|unseen| format!("not looked into: {unseen}"));
        match conflicts.chain(broadcasts).chain(unseen).collect::<Vec<_>>() {
            told if told.is_empty() => "no node broadcasts".into(),
            told => told.join("\n\n"),
        }
    }
}

/// A shape in Python: sizes that are not known are names, or None.
fn shape<'py>(py: Python<'py>, dims: Option<&[Dim]>) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let Some(dims) = dims else { return Ok(None) };
    let sizes = dims.iter().map(|dim| match dim {
        Dim::Known(size) => Ok(size.into_pyobject(py)?.into_any()),
        Dim::Unknown(symbols) => match symbols.to_string() {
            text if text == "?" => Ok(py.None().into_bound(py)),
            name => Ok(name.into_pyobject(py)?.into_any()),
        },
    });
    PyTuple::new(py, sizes.collect::<PyResult<Vec<_>>>()?).map(Some)
}

/// A model or a node that is ready to be run. The memory of large outputs that nobody has any more is kept for those of
/// the next run: fresh memory costs more than most models do.
#[pyclass(frozen, module = "unishape._unishape")]
pub(crate) struct OnnxProgram {
    program: Program,
    spares: Arc<Spares>,
}

impl OnnxProgram {
    fn new(program: Program) -> OnnxProgram {
        let spares = program.outputs().map(|_| None).collect();
        OnnxProgram { program, spares: Arc::new(Mutex::new(spares)) }
    }

    /// The memory of earlier outputs, in their order; nothing where there is none.
    fn take_spares(&self) -> Vec<Tensor> {
        let none = || Tensor::from(ArrayD::<u8>::zeros(IxDyn(&[0])));
        let mut spares = self.spares.lock().unwrap_or_else(PoisonError::into_inner);
        spares.iter_mut().map(|spare| spare.take().unwrap_or_else(none)).collect()
    }
}

#[pymethods]
impl OnnxProgram {
    /// A node alone, from the bytes of its NodeProto.
    #[staticmethod]
    fn of_node(bytes: &[u8], opset: u32) -> PyResult<OnnxProgram> {
        let program = Program::from_node(bytes, opset).map_err(of_model)?;
        Ok(OnnxProgram::new(program.threads(number(None))))
    }

    /// What is to be given.
    #[getter]
    fn inputs(&self) -> Vec<&str> {
        self.program.inputs().collect()
    }

    /// What is computed.
    #[getter]
    fn outputs(&self) -> Vec<&str> {
        self.program.outputs().collect()
    }

    /// Computes the outputs, in their order, from inputs by name.
    #[pyo3(signature = (inputs, /))]
    fn run<'py>(&self, py: Python<'py>, inputs: &Bound<'py, PyDict>) -> PyResult<Vec<NumPy<'py>>> {
        let mut given: Vec<(String, Given<'py>)> = Vec::with_capacity(inputs.len());
        for (name, object) in inputs {
            given.push((name.extract()?, Given::new(&object)?));
        }
        let views: Vec<(&str, TensorView<'_>)> =
            given.iter().filter_map(|(name, given)| Some((name.as_str(), given.view()?))).collect();
        let outputs = py.detach(|| self.program.run_reusing(views, self.take_spares())).map_err(of_model)?;
        let tensors = outputs.into_iter().map(|(_, tensor)| tensor).enumerate();
        tensors.map(|(at, tensor)| handed_over(py, tensor, (Arc::downgrade(&self.spares), at))).collect()
    }
}

/// An input: numbers where they are, text read.
enum Given<'py> {
    Numbers(Seen<'py>),
    Text(ArrayD<String>),
}

impl<'py> Given<'py> {
    fn new(object: &Bound<'py, PyAny>) -> PyResult<Given<'py>> {
        let array = array(object)?;
        match array.dtype().kind() {
            b'O' | b'U' | b'T' => text(&array).map(Given::Text),
            _ => Seen::of(array).map(Given::Numbers),
        }
    }

    fn view(&self) -> Option<TensorView<'_>> {
        match self {
            Given::Numbers(seen) => seen.tensor(),
            Given::Text(array) => Some(array.view().into()),
        }
    }
}

fn text(array: &NumPy<'_>) -> PyResult<ArrayD<String>> {
    let words = array.call_method0("ravel")?.call_method0("tolist")?;
    let words: Vec<String> = words.extract().map_err(|_| {
        PyTypeError::new_err("an array of objects has to hold str alone, as ONNX's strings are")
    })?;
    ArrayD::from_shape_vec(IxDyn(array.shape()), words)
        .map_err(|_| PyValueError::new_err("the array has another number of elements than its shape"))
}

fn handed_over(py: Python<'_>, tensor: Tensor, home: Home) -> PyResult<NumPy<'_>> {
    macro_rules! by_type {
        ($($variant:ident $type:ident $(<$part:ident>)? $name:literal $what:literal;)+) => {
            match tensor {
                $(Tensor::$variant(array) => by_type!(@ $type array),)+
            }
        };
        (@ String $array:ident) => { objects(py, &$array) };
        (@ $type:ident $array:ident) => { memory::handed_over(py, $array, Some(home)) };
    }
    for_each_dtype!(by_type)
}

/// Text as Python's objects, as ONNX's own tests have it.
fn objects<'py>(py: Python<'py>, words: &ArrayD<String>) -> PyResult<NumPy<'py>> {
    let numpy = py.import("numpy")?;
    let flat = numpy.call_method1("empty", (words.len(), "O"))?;
    for (at, word) in words.iter().enumerate() {
        flat.set_item(at, word)?;
    }
    Ok(flat.call_method1("reshape", (PyTuple::new(py, words.shape())?,))?.cast_into()?)
}
