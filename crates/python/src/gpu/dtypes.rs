//! Dtypes of NumPy, CuPy, JAX and PyTorch.

use crate::dtype;
use numpy::PyArrayDescr;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use unishape::DType;

/// A dtype of NumPy, or of an object that NumPy makes one of.
pub(super) fn numpy_dtype(object: &Bound<'_, PyAny>) -> PyResult<DType> {
    let descr = PyArrayDescr::new(object.py(), object)?;
    dtype::from_descr(&descr).ok_or_else(|| {
        PyTypeError::new_err(format!("expressions do not support dtype {descr}; cast the array first"))
    })
}

/// PyTorch's dtypes, in the order of [`DType::ALL`]; `None` for those that it does not have.
fn torch_dtypes(py: Python<'_>) -> PyResult<&Vec<Option<Py<PyAny>>>> {
    static DTYPES: PyOnceLock<Vec<Option<Py<PyAny>>>> = PyOnceLock::new();
    DTYPES.get_or_try_init(py, || {
        let torch = py.import("torch")?;
        let find = |dtype: &DType| match dtype {
            DType::Str => None,
            dtype => torch.getattr(dtype.name()).ok().map(Bound::unbind),
        };
        Ok(DType::ALL.iter().map(find).collect())
    })
}

pub(super) fn torch_dtype(object: &Bound<'_, PyAny>) -> PyResult<DType> {
    let dtypes = torch_dtypes(object.py())?;
    let is = |own: &Option<Py<PyAny>>| own.as_ref().is_some_and(|own| object.is(own));
    match dtypes.iter().position(is) {
        Some(at) => Ok(DType::ALL[at]),
        None => Err(PyTypeError::new_err(format!(
            "expressions do not support {object}; cast the tensor first, such as with .float()"
        ))),
    }
}

pub(super) fn to_torch_dtype(py: Python<'_>, dtype: DType) -> PyResult<&Py<PyAny>> {
    let at = DType::ALL.iter().position(|own| *own == dtype);
    at.and_then(|at| torch_dtypes(py).ok()?[at].as_ref())
        .ok_or_else(|| PyTypeError::new_err(format!("PyTorch has no dtype {dtype}, the dtype of the result")))
}
