//! Arrays on a GPU that this package makes, for libraries that take them by a protocol.

use super::devices::{self, driver_error, order};
use super::dlpack::{self, Exported, Imported};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::Arc;
use unishape::DType;
use unishape::cuda::row_major;
use unishape::cuda::{Device, DeviceMemory, Stream};

/// An array on a GPU. Import it with the function from_dlpack of the library that you use.
///
/// Results are such arrays where the library of the first input cannot be determined, and so are broadcast views.
#[pyclass(frozen, module = "unishape", weakref)]
pub(crate) struct DeviceArray {
    pub(crate) owner: Owner,
    pub(crate) device: usize,
    pub(crate) address: u64,
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
    /// In elements.
    pub(crate) strides: Vec<isize>,
}

/// What keeps the memory of an array.
pub(crate) enum Owner {
    /// Memory that was allocated for it, and is written on its stream.
    DeviceMemory(Arc<DeviceMemory>),
    /// Another array, of which this is a view, with what keeps its memory, and the stream that writes it, if it is known.
    Array { array: Py<PyAny>, imported: Option<Imported>, stream: Option<Stream> },
}

impl DeviceArray {
    fn is_read_only(&self) -> bool {
        matches!(self.owner, Owner::Array { .. })
    }

    /// The stream that writes it, or else `consumer`, which waits for what is still written; `None` where nothing is.
    fn stream_of(&self, py: Python<'_>, consumer: Stream) -> PyResult<Option<Stream>> {
        match &self.owner {
            Owner::DeviceMemory(memory) => Ok(Some(memory.stream())),
            // By the protocol, the library of the array makes the stream wait.
            Owner::Array { array, imported: Some(_), .. } => {
                dlpack::import(array.bind(py), consumer.handle() as isize)?;
                Ok(Some(consumer))
            }
            Owner::Array { stream, .. } => Ok(*stream),
        }
    }
}

#[pymethods]
impl DeviceArray {
    /// Shape of the array.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    /// Number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// Dtype of the elements.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(crate::memory::to_descr(py, self.dtype)?.into_any())
    }

    fn __repr__(&self) -> String {
        format!("unishape.DeviceArray(shape={:?}, dtype={}, device={})", self.shape, self.dtype, self.device)
    }

    /// NumPy would make an array of one object of it.
    #[pyo3(signature = (*_args, **_options))]
    fn __array__(&self, _args: &Bound<'_, PyTuple>, _options: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "this array is on a GPU, and NumPy's are on the CPU: import it with the function from_dlpack of a library for \
             GPUs, and copy that array, as in torch.from_dlpack(x).cpu().numpy()",
        ))
    }

    fn __dlpack_device__(&self) -> (i32, usize) {
        (dlpack::CUDA, self.device)
    }

    /// A DLPack capsule. The consumer's stream waits for what is still written.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        stream: Option<isize>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, usize)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let own = slf.get();
        if copy == Some(true) || dl_device.is_some_and(|device| device != own.__dlpack_device__()) {
            return Err(PyBufferError::new_err("this array is exported as it is, without a copy"));
        }
        let is_versioned = max_version.is_some_and(|(major, _)| major >= 1);
        if own.is_read_only() && !is_versioned {
            return Err(PyBufferError::new_err(
                "this view is read-only, which only DLPack 1.0 can say; import it with a library that does \
                 (max_version=(1, 0)), or copy it: unishape.evaluate(\"x[...]\")",
            ));
        }
        let consumer = match stream {
            Some(-1) => None,
            None => Some(Stream::default()),
            Some(number) if number > 0 => Some(devices::stream(number as usize)),
            Some(number) => {
                let text =
                    format!("stream={number} is not a stream: 1 is the default stream, 2 that of the thread");
                return Err(PyValueError::new_err(text));
            }
        };
        if let Some(consumer) = consumer {
            let producer = own.stream_of(slf.py(), consumer)?;
            producer.map_or(Ok(()), |producer| order(own.device, producer, consumer))?;
        }
        let exported = Exported {
            address: own.address,
            device: own.device as i32,
            dtype: own.dtype,
            shape: &own.shape,
            strides: &own.strides,
            is_read_only: own.is_read_only(),
        };
        dlpack::export(slf.as_any(), &exported, is_versioned)
    }

    /// The same array for libraries without DLPack.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let item = self.dtype.item_size() as isize;
        let interface = PyDict::new(py);
        interface.set_item("shape", self.shape(py)?)?;
        interface.set_item("typestr", crate::memory::to_descr(py, self.dtype)?.getattr("str")?)?;
        interface.set_item("data", (self.address, self.is_read_only()))?;
        interface.set_item("strides", PyTuple::new(py, self.strides.iter().map(|stride| stride * item))?)?;
        interface.set_item("version", 3)?;
        let stream = self.stream_of(py, Stream::default())?;
        interface.set_item("stream", stream.map(Stream::handle))?;
        Ok(interface)
    }
}

/// A new array of a device, contiguous and not written yet.
pub(crate) fn allocate(
    device: &Device,
    number: usize,
    dtype: DType,
    shape: &[usize],
    stream: Stream,
) -> PyResult<DeviceArray> {
    let bytes = shape.iter().try_fold(dtype.item_size(), |bytes, &size| bytes.checked_mul(size));
    let bytes = bytes.ok_or_else(|| crate::errors::too_large(shape))?;
    let memory = device.allocate(bytes, stream).map_err(driver_error)?;
    Ok(DeviceArray {
        device: number,
        address: memory.address(),
        owner: Owner::DeviceMemory(Arc::new(memory)),
        dtype,
        shape: shape.to_vec(),
        strides: row_major(shape),
    })
}
