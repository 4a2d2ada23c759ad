//! The devices of this process, and errors of their driver.
#![allow(unsafe_code)]

use crate::errors::expression_error;
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyList;
use std::path::PathBuf;
use unishape::cuda::{Device, Error, Stream};
use unishape::expr::ExprError;

/// The device with a number. The first use loads the driver.
pub(super) fn device(number: usize) -> PyResult<Device> {
    static SITE_PACKAGES: PyOnceLock<Vec<PathBuf>> = PyOnceLock::new();
    Python::attach(|py| {
        let folders = SITE_PACKAGES.get_or_try_init(py, || site_packages(py))?;
        Device::new(number, folders).map_err(driver_error)
    })
}

/// A stream by the handle that a library reports, or that a protocol defines.
pub(super) fn stream(handle: usize) -> Stream {
    // Safety: by the rules of the protocols, a stream that a library reports exists while its arrays are used. 1 and 2
    // always do. Memory that outlives a call is allocated on the default stream.
    unsafe { Stream::from_handle(handle) }
}

/// Makes a stream wait for what was started on another one of the same device.
pub(super) fn order(number: usize, first: Stream, then: Stream) -> PyResult<()> {
    if first == then {
        return Ok(());
    }
    // Safety: the streams are those that the arrays' libraries use on this device.
    unsafe { device(number)?.order(first, then) }.map_err(driver_error)
}

/// The folders in which Python looks for installed packages: NVRTC may be among them.
fn site_packages(py: Python<'_>) -> PyResult<Vec<PathBuf>> {
    let path = py.import("sys")?.getattr("path")?.cast_into::<PyList>()?;
    let folders = path.iter().filter_map(|folder| folder.extract::<PathBuf>().ok());
    let is_of_packages = |folder: &PathBuf| {
        folder.file_name().is_some_and(|name| name == "site-packages" || name == "dist-packages")
            || folder.join("nvidia").is_dir()
    };
    Ok(folders.filter(is_of_packages).collect())
}

/// Converts an error of the executor.
pub(super) fn driver_error(error: Error) -> PyErr {
    let error = match error {
        Error::Expr(error) => match error.downcast::<ExprError>() {
            Ok(error) => return expression_error(*error),
            Err(error) => Error::Expr(error),
        },
        error => error,
    };
    let text = error.to_string();
    match error {
        Error::OutputType { result, .. } => {
            PyTypeError::new_err(format!("{text}; pass an array of {result}"))
        }
        Error::OutputShape { .. }
        | Error::OtherDevice
        | Error::NotOnDevice
        | Error::TooLarge
        | Error::TooLong { .. }
        | Error::Unaligned => PyValueError::new_err(text),
        Error::Driver(_) if text.contains("OUT_OF_MEMORY") => PyMemoryError::new_err(text),
        Error::Driver(_) if text.contains("NOT_INITIALIZED") => PyRuntimeError::new_err(format!(
            "{text}; CUDA cannot be used in a process that was forked after its first use: start processes with the \
             method \"spawn\" of multiprocessing"
        )),
        Error::NoLibrary { .. } => {
            PyRuntimeError::new_err(format!("arrays on a GPU need CUDA's libraries: {text}"))
        }
        _ => PyRuntimeError::new_err(text),
    }
}
