//! Libraries whose arrays are on GPUs: how their arrays are described, allocated and made.
//!
//! PyTorch and CuPy have a current stream and an allocator in its order, which are used. Arrays of all others come and go by
//! DLPack or `__cuda_array_interface__`.

use super::devices;
use super::dlpack::{self, Described, Imported};
use super::dtypes::{numpy_dtype, to_torch_dtype, torch_dtype};
use super::exchange::Exchange;
use super::interface;
use super::result::DeviceArray;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};
use smallvec::SmallVec;
use unishape::DType;
use unishape::cuda::{ArrayType, Stream};

/// The library of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Library {
    Torch,
    CuPy,
    Jax,
    Other,
}

/// PyTorch's class of tensors: almost all of them have it, and names of modules take longer.
static TENSOR: PyOnceLock<Py<PyType>> = PyOnceLock::new();

impl Library {
    pub(super) fn of(object: &Bound<'_, PyAny>) -> Library {
        let (py, class) = (object.py(), object.get_type());
        if TENSOR.get(py).is_some_and(|tensor| class.is(tensor)) {
            return Library::Torch;
        }
        let module = class.module().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        match module.split('.').next() {
            Some("torch") => {
                if class.name().is_ok_and(|name| name == "Tensor") {
                    _ = TENSOR.set(py, class.unbind());
                }
                Library::Torch
            }
            Some("cupy") => Library::CuPy,
            Some("jax" | "jaxlib") => Library::Jax,
            // Subclasses of tensors may be defined anywhere.
            _ if TENSOR
                .get(py)
                .is_some_and(|tensor| object.is_instance(tensor.bind(py)).unwrap_or(false)) =>
            {
                Library::Torch
            }
            _ => Library::Other,
        }
    }

    /// The stream on which the library works now, if it has one.
    pub(crate) fn current_stream(self, py: Python<'_>, device: usize) -> PyResult<Option<Stream>> {
        match self {
            Library::Torch => {
                static CURRENT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
                let current = CURRENT.import(py, "torch._C", "_cuda_getCurrentRawStream")?;
                Ok(Some(devices::stream(current.call1((device,))?.extract()?)))
            }
            Library::CuPy => {
                static CURRENT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
                let current = CURRENT.import(py, "cupy.cuda", "get_current_stream")?;
                let stream = current.call1((device,)).or_else(|_| current.call0())?;
                Ok(Some(devices::stream(stream.getattr(intern!(py, "ptr"))?.extract()?)))
            }
            Library::Jax | Library::Other => Ok(None),
        }
    }
}

/// An array on a GPU, by its library's description.
pub(crate) struct GpuArray<'py> {
    /// The library's object, which keeps the memory.
    pub(crate) object: Bound<'py, PyAny>,
    pub(crate) library: Library,
    /// `None` where only an address could say it, and an array without elements has none.
    pub(crate) device: Option<usize>,
    pub(crate) dtype: DType,
    pub(crate) address: u64,
    pub(crate) shape: SmallVec<[usize; 4]>,
    /// In elements.
    pub(crate) strides: SmallVec<[isize; 4]>,
    pub(crate) is_read_only: bool,
    /// The stream that writes it, where the library says so.
    pub(crate) stream: Option<Stream>,
    /// Keeps what was imported by DLPack.
    pub(super) imported: Option<Imported>,
}

/// Whether an object is an array on a GPU.
pub(crate) fn is_gpu_array(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    match Library::of(object) {
        Library::Torch => match object.getattr_opt(intern!(py, "is_cuda"))? {
            Some(is_cuda) => is_cuda.is_truthy(),
            None => Ok(false),
        },
        Library::CuPy => Ok(object.hasattr(intern!(py, "__cuda_array_interface__"))?),
        Library::Jax | Library::Other => {
            if let Some(device) = object.getattr_opt(intern!(py, "__dlpack_device__"))? {
                return match device.call0().and_then(|device| device.extract::<(i32, i32)>()) {
                    Ok((kind, _)) => Ok([dlpack::CUDA, dlpack::CUDA_MANAGED].contains(&kind)),
                    Err(_) if is_sharded_over_gpus(object) => Err(PyValueError::new_err(
                        "a JAX array is on several devices: pass its shards one by one, or \
                         jax.device_put(x, jax.devices()[0])",
                    )),
                    Err(_) => Ok(false),
                };
            }
            object.hasattr(intern!(py, "__cuda_array_interface__"))
        }
    }
}

/// Whether an array is one of JAX that several GPUs have parts of.
fn is_sharded_over_gpus(object: &Bound<'_, PyAny>) -> bool {
    let py = object.py();
    let on_gpus = || -> PyResult<bool> {
        let devices = object.call_method0(intern!(py, "devices"))?;
        if devices.len()? < 2 {
            return Ok(false);
        }
        let first = devices.try_iter()?.next().transpose()?;
        let platform = first.map(|device| device.getattr(intern!(py, "platform"))).transpose()?;
        platform.map_or(Ok(false), |platform| platform.eq("gpu"))
    };
    Library::of(object) == Library::Jax && on_gpus().unwrap_or(false)
}

/// Numbers of a tuple, such as a shape.
fn numbers<T, const N: usize>(tuple: &Bound<'_, PyAny>) -> PyResult<SmallVec<[T; N]>>
where
    [T; N]: smallvec::Array<Item = T>,
    T: for<'a, 'py> FromPyObject<'a, 'py, Error = PyErr>,
{
    tuple.cast::<PyTuple>()?.iter_borrowed().map(|number| number.extract()).collect()
}

impl<'py> GpuArray<'py> {
    /// Describes an array. By the protocols, its library makes `stream` wait for what is still written.
    pub(crate) fn new(object: &Bound<'py, PyAny>, stream: Option<Stream>) -> PyResult<GpuArray<'py>> {
        match GpuArray::without_stream(object)? {
            Some(array) => Ok(array),
            None => GpuArray::from_protocols(object, Library::of(object), stream),
        }
    }

    /// Describes an array of a library with a current stream; `None` for others.
    pub(crate) fn without_stream(object: &Bound<'py, PyAny>) -> PyResult<Option<GpuArray<'py>>> {
        match Library::of(object) {
            Library::Torch => GpuArray::from_torch(object).map(Some),
            Library::CuPy => GpuArray::from_cupy(object).map(Some),
            Library::Jax | Library::Other => Ok(None),
        }
    }

    pub(crate) fn array_type(&self) -> ArrayType<'_> {
        // Vectors have at most 16 bytes.
        let alignment = if self.address == 0 { 16 } else { 1 << self.address.trailing_zeros().min(4) };
        ArrayType { dtype: self.dtype, shape: &self.shape, strides: &self.strides, alignment }
    }

    fn from_torch(object: &Bound<'py, PyAny>) -> PyResult<GpuArray<'py>> {
        let py = object.py();
        let mut object = object.clone();
        if object.getattr(intern!(py, "requires_grad"))?.is_truthy()? && is_grad_enabled(py)? {
            return Err(PyTypeError::new_err(
                "this tensor requires grad, but unishape computes no gradients: pass x.detach(), or call inside \
                 torch.no_grad()",
            ));
        }
        // Conjugates and negatives may be flags rather than elements.
        if object.call_method0(intern!(py, "is_neg"))?.is_truthy()? {
            object = object.call_method0(intern!(py, "resolve_neg"))?;
        }
        let is_cuda = |described: &Described| described.device.0 == dlpack::CUDA;
        if let Some(Ok(described)) = exchange(py).and_then(|functions| functions.describe(&object))
            && is_cuda(&described)
            && !described.dtype.is_complex()
        {
            return Ok(GpuArray::of_described(object, Library::Torch, described, None));
        }
        let dtype = torch_dtype(&object.getattr(intern!(py, "dtype"))?)?;
        if dtype.is_complex() && object.call_method0(intern!(py, "is_conj"))?.is_truthy()? {
            object = object.call_method0(intern!(py, "resolve_conj"))?;
        }
        Ok(GpuArray {
            library: Library::Torch,
            device: Some(object.call_method0(intern!(py, "get_device"))?.extract()?),
            dtype,
            address: object.call_method0(intern!(py, "data_ptr"))?.extract()?,
            shape: numbers(&object.getattr(intern!(py, "shape"))?)?,
            strides: numbers(&object.call_method0(intern!(py, "stride"))?)?,
            is_read_only: false,
            stream: None,
            object,
            imported: None,
        })
    }

    /// An array that its library has described by DLPack.
    fn of_described(
        object: Bound<'py, PyAny>,
        library: Library,
        described: Described,
        imported: Option<Imported>,
    ) -> GpuArray<'py> {
        let Described { address, device, dtype, shape, strides } = described;
        GpuArray {
            object,
            library,
            device: usize::try_from(device.1).ok(),
            dtype,
            address,
            shape,
            strides,
            is_read_only: imported.as_ref().is_some_and(|imported| imported.is_read_only),
            stream: None,
            imported,
        }
    }

    fn from_cupy(object: &Bound<'py, PyAny>) -> PyResult<GpuArray<'py>> {
        let py = object.py();
        let dtype = numpy_dtype(&object.getattr(intern!(py, "dtype"))?)?;
        let strides: SmallVec<[isize; 4]> = numbers(&object.getattr(intern!(py, "strides"))?)?;
        let shape: SmallVec<[usize; 4]> = numbers(&object.getattr(intern!(py, "shape"))?)?;
        Ok(GpuArray {
            library: Library::CuPy,
            device: Some(object.getattr(intern!(py, "device"))?.getattr(intern!(py, "id"))?.extract()?),
            dtype,
            address: object.getattr(intern!(py, "data"))?.getattr(intern!(py, "ptr"))?.extract()?,
            strides: interface::element_strides(&strides, &shape, dtype)?.into(),
            shape,
            is_read_only: false,
            stream: None,
            object: object.clone(),
            imported: None,
        })
    }

    fn from_protocols(
        object: &Bound<'py, PyAny>,
        library: Library,
        stream: Option<Stream>,
    ) -> PyResult<GpuArray<'py>> {
        let py = object.py();
        if !object.hasattr(intern!(py, "__dlpack__"))? {
            let interface::Described { address, dtype, shape, strides, is_read_only, stream, device } =
                interface::describe(object)?;
            return Ok(GpuArray {
                object: object.clone(),
                library,
                device,
                dtype,
                address,
                shape: shape.into(),
                strides: strides.into(),
                is_read_only,
                stream,
                imported: None,
            });
        }
        // Numbers of streams by the protocol: -1 for none, which JAX does not know.
        let number = match stream {
            None if library == Library::Jax => 1,
            None => -1,
            Some(stream) => stream.handle() as isize,
        };
        let (imported, described) = dlpack::import(object, number)?;
        Ok(GpuArray::of_described(object.clone(), library, described, Some(imported)))
    }

    /// Whether its library may use the memory for something else as soon as no reference to the array is left.
    ///
    /// PyTorch and CuPy reuse memory in the order of their current stream.
    pub(crate) fn must_outlive_kernels(&self) -> bool {
        matches!(self.library, Library::Jax | Library::Other)
    }

    /// A new array of its library, if that allocates arrays that others write: contiguous, and not written yet.
    pub(crate) fn new_like(&self, dtype: DType, shape: &[usize]) -> PyResult<Option<GpuArray<'py>>> {
        let py = self.object.py();
        let shape = PyTuple::new(py, shape)?;
        match self.library {
            Library::Torch => {
                let options = PyDict::new(py);
                options.set_item(intern!(py, "dtype"), to_torch_dtype(py, dtype)?)?;
                options.set_item(intern!(py, "requires_grad"), false)?;
                let array = self.object.call_method(intern!(py, "new_empty"), (shape,), Some(&options))?;
                // A subclass, such as a parameter, has plain results.
                GpuArray::from_torch(&array).map(Some)
            }
            Library::CuPy => {
                let cupy = py.import(intern!(py, "cupy"))?;
                let descr = crate::memory::to_descr(py, dtype)?;
                on_cupy_device(&cupy, self.device.unwrap_or_default(), || {
                    GpuArray::from_cupy(&cupy.call_method1(intern!(py, "empty"), (shape, descr))?).map(Some)
                })
            }
            Library::Jax | Library::Other => Ok(None),
        }
    }
}

/// Calls a function while a device is CuPy's current one.
fn on_cupy_device<'py, T>(
    cupy: &Bound<'py, PyModule>,
    device: usize,
    function: impl FnOnce() -> PyResult<T>,
) -> PyResult<T> {
    let context = cupy.getattr("cuda")?.getattr("Device")?.call1((device,))?;
    context.call_method0("__enter__")?;
    let result = function();
    let none = cupy.py().None();
    context.call_method1("__exit__", (&none, &none, &none))?;
    result
}

/// An array of a library, from one that this module allocated.
pub(crate) fn to_library<'py>(
    library: Library,
    like: &Bound<'py, PyAny>,
    array: Bound<'py, DeviceArray>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    if library == Library::Jax {
        return py.import("jax")?.getattr("dlpack")?.call_method1("from_dlpack", (array,));
    }
    // The Array API's way to a library.
    if let Some(namespace) = like.getattr_opt("__array_namespace__")? {
        return namespace.call0()?.call_method1("from_dlpack", (array,));
    }
    Ok(array.into_any())
}

/// DLPack's functions of PyTorch's tensors. Older versions have none.
fn exchange(py: Python<'_>) -> Option<&Exchange> {
    static EXCHANGE: PyOnceLock<Option<Exchange>> = PyOnceLock::new();
    let tensor = TENSOR.get(py)?;
    EXCHANGE.get_or_init(py, || Exchange::of_class(tensor.bind(py))).as_ref()
}

fn is_grad_enabled(py: Python<'_>) -> PyResult<bool> {
    static IS_ENABLED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    IS_ENABLED.import(py, "torch", "is_grad_enabled")?.call0()?.is_truthy()
}
