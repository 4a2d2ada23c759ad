//! Divisions by zero, overflows and invalid operations, reported as `numpy.errstate` requests.

use crate::imports::imports;
use pyo3::exceptions::{PyFloatingPointError, PyRuntimeWarning};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::borrow::Cow;
use std::ffi::CString;
use std::rc::Rc;
use unishape::expr::{FloatFlags, Op, watch_flags};

/// What is computed, for reports.
#[derive(Clone)]
pub(crate) enum Reported {
    /// Nothing is reported.
    Nothing,
    /// A function of NumPy.
    Function(Op),
    /// A method of ours.
    Named(&'static str),
    /// An expression.
    Text(Rc<str>),
}

impl Reported {
    /// Several of them.
    pub(crate) fn all<'r>(all: impl Iterator<Item = &'r Reported>) -> Reported {
        let texts: Vec<&str> =
            all.filter_map(|one| if let Reported::Text(text) = one { Some(&**text) } else { None }).collect();
        if texts.is_empty() { Reported::Nothing } else { Reported::Text(texts.join("\", \"").into()) }
    }

    /// Calls a function, and reports its exceptional results.
    #[inline]
    pub(crate) fn watch<R>(&self, py: Python<'_>, function: impl FnOnce() -> R) -> PyResult<R> {
        if let Reported::Nothing = self {
            return Ok(function());
        }
        let (result, flags) = watch_flags(function);
        if flags != FloatFlags::NONE {
            self.report(py, flags)?;
        }
        Ok(result)
    }

    /// Reports exceptional results as `numpy.errstate` requests.
    #[cold]
    pub(crate) fn report(&self, py: Python<'_>, flags: FloatFlags) -> PyResult<()> {
        let name: Cow<'_, str> = match self {
            Reported::Nothing => return Ok(()),
            Reported::Function(op) => numpy_name(*op).into(),
            Reported::Named(name) => (*name).into(),
            Reported::Text(text) => format!("\"{text}\"").into(),
        };
        let imports = imports(py)?;
        let modes = imports.geterr.bind(py).call0()?.cast_into::<PyDict>()?;
        for (flag, key, what) in [
            (FloatFlags::DIVIDE, "divide", "divide by zero"),
            (FloatFlags::OVERFLOW, "over", "overflow"),
            (FloatFlags::INVALID, "invalid", "invalid value"),
        ] {
            if !flags.has(flag) {
                continue;
            }
            let mode = modes.as_any().get_item(key)?;
            let text = || format!("{what} encountered in {name}");
            match mode.extract::<&str>()? {
                "warn" => {
                    PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &CString::new(text())?, 1)?;
                }
                "raise" => return Err(PyFloatingPointError::new_err(text())),
                "call" => {
                    imports.geterrcall.bind(py).call0()?.call1((what, flags.bits()))?;
                }
                "log" => {
                    let log = imports.geterrcall.bind(py).call0()?;
                    log.call_method1("write", (format!("Warning: {}\n", text()),))?;
                }
                "print" => {
                    let stderr = py.import("sys")?.getattr("stderr")?;
                    stderr.call_method1("write", (format!("Warning: {}\n", text()),))?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The name of a function in NumPy's messages.
fn numpy_name(op: Op) -> &'static str {
    let is_preferred = |name: &&&str| name.starts_with("arc") || **name == "power";
    match op {
        Op::Round => "rint",
        Op::RoundTo => "round",
        _ => op.names().iter().find(is_preferred).unwrap_or(&op.name()),
    }
}
