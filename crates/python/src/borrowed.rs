//! Functions of Python's and NumPy's that we call.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// They are looked up once, when our module is imported. A look-up lets other threads of Python run; if one of them
/// forks meanwhile, the new process would wait for the end of it for ever.
pub(crate) struct Borrowed {
    pub(crate) as_array: Py<PyAny>,
    pub(crate) from_dlpack: Py<PyAny>,
    pub(crate) frame: Py<PyAny>,
    /// The type of NumPy's scalars.
    pub(crate) generic: Py<PyAny>,
}

pub(crate) fn borrowed(py: Python<'_>) -> PyResult<&'static Borrowed> {
    static BORROWED: PyOnceLock<Borrowed> = PyOnceLock::new();
    BORROWED.get_or_try_init(py, || {
        let numpy = py.import("numpy")?;
        Ok(Borrowed {
            as_array: numpy.getattr("asarray")?.unbind(),
            from_dlpack: numpy.getattr("from_dlpack")?.unbind(),
            frame: py.import("sys")?.getattr("_getframe")?.unbind(),
            generic: numpy.getattr("generic")?.unbind(),
        })
    })
}
