//! Python and NumPy functions that this crate calls.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// Functions looked up once, when the extension module is imported.
///
/// A later look-up could release the GIL while it holds the import lock. If another thread forks at that
/// moment, the child waits for the lock for ever.
pub(crate) struct Imports {
    pub(crate) asarray: Py<PyAny>,
    pub(crate) from_dlpack: Py<PyAny>,
    pub(crate) getframe: Py<PyAny>,
    /// `numpy.generic`, the base class of NumPy's scalars.
    pub(crate) generic: Py<PyAny>,
    /// What `numpy.errstate` requests.
    pub(crate) geterr: Py<PyAny>,
    pub(crate) geterrcall: Py<PyAny>,
}

pub(crate) fn imports(py: Python<'_>) -> PyResult<&'static Imports> {
    static IMPORTS: PyOnceLock<Imports> = PyOnceLock::new();
    IMPORTS.get_or_try_init(py, || {
        let numpy = py.import("numpy")?;
        Ok(Imports {
            asarray: numpy.getattr("asarray")?.unbind(),
            from_dlpack: numpy.getattr("from_dlpack")?.unbind(),
            getframe: py.import("sys")?.getattr("_getframe")?.unbind(),
            generic: numpy.getattr("generic")?.unbind(),
            geterr: numpy.getattr("geterr")?.unbind(),
            geterrcall: numpy.getattr("geterrcall")?.unbind(),
        })
    })
}
