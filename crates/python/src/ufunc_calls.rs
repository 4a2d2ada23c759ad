//! Calls of NumPy's universal functions, watched for broadcasts.
//!
//! NumPy's operators, `a - b`, `a -= b` and `a < b`, call the same function objects as `numpy.subtract(a, b)` does, and
//! these objects have a field of NumPy's public C API, `vectorcall`, with the address of the code to call. While they are
//! watched, it is that of [`watched_call`], which looks at the operands and then calls NumPy's own code. No type and no
//! module is changed, and a function that was imported or stored somewhere is watched, too.
#![allow(unsafe_code)]

use crate::stretch_kind::StretchKind;
use numpy::npyffi::PyUFuncObject;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyTuple};
use smallvec::SmallVec;
use std::ffi::c_void;
use std::ptr::{addr_of_mut, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};

/// Code of a callable object, as CPython defines it (PEP 590).
type VectorCall = unsafe extern "C" fn(
    callable: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count_and_flag: usize,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject;

/// Highest bit of the number of arguments: a flag of the protocol.
const OFFSET_FLAG: usize = 1 << (usize::BITS - 1);

/// NumPy's code of all universal functions; null until the first one is watched. Never changes after that, so a call
/// that is under way finds it, even if the last guard ends meanwhile.
static NUMPY_CALL: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Called as `report(kind, ufunc, i, j, a, b)` for each broadcast of inputs i and j, before it is computed.
static REPORT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The address of the code of a universal function.
fn call_field<'a>(function: &'a Bound<'_, PyAny>) -> PyResult<&'a AtomicPtr<c_void>> {
    static UFUNC: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = function.py();
    let ufunc =
        UFUNC.get_or_try_init(py, || Ok::<_, PyErr>(py.import("numpy")?.getattr("ufunc")?.unbind()))?;
    if !function.get_type().is(ufunc) {
        let text = format!("functions must be numpy.ufunc objects, not {}", function.get_type().name()?);
        return Err(PyTypeError::new_err(text));
    }
    let object = function.as_ptr().cast::<PyUFuncObject>();
    // Safety: the object is a live `numpy.ufunc`, whose fields NumPy's public header declares. The field is an aligned
    // pointer that lives as long as the object, which the caller borrows. Other threads read it while they are attached
    // to the interpreter, as this one is; a store of a pointer is never seen in part.
    Ok(unsafe { AtomicPtr::from_ptr(addr_of_mut!((*object).fields.vectorcall).cast()) })
}

/// Number of inputs; 0 for functions of whole arrays, such as matmul.
fn input_count(function: *mut ffi::PyObject) -> usize {
    // Safety: as for `call_field`; only called for universal functions.
    let (inputs, is_generalized) = unsafe {
        let fields = &(*function.cast::<PyUFuncObject>()).fields;
        (fields.nin, fields.core_enabled != 0)
    };
    if is_generalized { 0 } else { usize::try_from(inputs).unwrap_or(0) }
}

/// Watches universal functions: `report` is called before each call that broadcasts. Returns how many are watched.
///
/// The first `report` stays for the life of the process. Functions with code of their own, and functions of whole arrays
/// or a single one, are left alone.
#[pyfunction]
pub(crate) fn _watch_ufuncs(functions: &Bound<'_, PyList>, report: &Bound<'_, PyAny>) -> PyResult<usize> {
    let py = functions.py();
    REPORT.get_or_init(py, || report.clone().unbind());
    let add = py.import("numpy")?.getattr("add")?;
    let own = call_field(&add)?.load(Ordering::Acquire);
    if own != watched_address() {
        NUMPY_CALL.store(own, Ordering::Release);
    }
    let mut count = 0;
    for function in functions {
        let field = call_field(&function)?;
        if input_count(function.as_ptr()) < 2 {
            continue;
        }
        let from = NUMPY_CALL.load(Ordering::Acquire);
        if field
            .compare_exchange(from, watched_address(), Ordering::AcqRel, Ordering::Acquire)
            .is_ok_and(|code| !code.is_null())
        {
            count += 1;
        }
    }
    Ok(count)
}

/// Restores NumPy's code of universal functions. Returns how many were watched.
#[pyfunction]
pub(crate) fn _unwatch_ufuncs(functions: &Bound<'_, PyList>) -> PyResult<usize> {
    let mut count = 0;
    for function in functions {
        let to = NUMPY_CALL.load(Ordering::Acquire);
        let field = call_field(&function)?;
        if field.compare_exchange(watched_address(), to, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            count += 1;
        }
    }
    Ok(count)
}

fn watched_address() -> *mut c_void {
    watched_call as VectorCall as *mut c_void
}

/// Looks at the operands of a call, then calls NumPy's code.
unsafe extern "C" fn watched_call(
    callable: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count_and_flag: usize,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    let inputs = input_count(callable).min(count_and_flag & !OFFSET_FLAG);
    // Safety: Python calls this code attached to the interpreter.
    let py = unsafe { Python::assume_attached() };
    let operands: &[Bound<'_, PyAny>] = if inputs == 0 {
        &[]
    } else {
        // Safety: the protocol guarantees this many borrowed arguments, alive during the call. A `Bound` is a pointer.
        unsafe { std::slice::from_raw_parts(arguments.cast(), inputs) }
    };
    // Safety: `callable` is alive during the call.
    let function: &Bound<'_, PyAny> = unsafe { Bound::ref_from_ptr(py, &callable) };
    if let Err(error) = look_at(function, operands) {
        error.restore(py);
        return null_mut();
    }
    // Safety: only `_watch_ufuncs` makes this function the code of an object, and it has stored NumPy's code, a function of
    // this type, before. The arguments are those of the caller.
    unsafe {
        let own: VectorCall = std::mem::transmute(NUMPY_CALL.load(Ordering::Acquire));
        own(callable, arguments, count_and_flag, names)
    }
}

/// Reports a broadcast among the operands, if there is one.
#[inline]
fn look_at(function: &Bound<'_, PyAny>, operands: &[Bound<'_, PyAny>]) -> PyResult<()> {
    let arrays: SmallVec<[(usize, &Bound<'_, PyUntypedArray>); 4]> =
        operands.iter().enumerate().filter_map(|(at, object)| Some((at, object.cast().ok()?))).collect();
    let shapes = arrays.iter().map(|(at, array)| (*at, array.shape()));
    if let Some((kind, i, j)) = StretchKind::of_all(shapes)
        && let Some(report) = REPORT.get(function.py())
    {
        report.bind(function.py()).call1((kind as u8, function, i, j, &operands[i], &operands[j]))?;
    }
    Ok(())
}

/// The kind of a broadcast of shapes, and the two inputs; None where nothing is stretched.
#[pyfunction]
#[pyo3(signature = (*shapes))]
pub(crate) fn _broadcast_kind(shapes: &Bound<'_, PyTuple>) -> PyResult<Option<(u8, usize, usize)>> {
    let shapes: Vec<Vec<usize>> = shapes.extract()?;
    let shapes = shapes.iter().map(Vec::as_slice).enumerate();
    Ok(StretchKind::of_all(shapes).map(|(kind, i, j)| (kind as u8, i, j)))
}
