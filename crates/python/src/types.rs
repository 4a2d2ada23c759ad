//! NumPy's element types and ours.

use crate::memory;
use numpy::npyffi::NPY_TYPES::*;
use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;
use std::sync::atomic::{AtomicI32, Ordering};
use unishape::DType;

/// The number that NumPy gave to bfloat16, which is not its own type, once it has been seen.
static BFLOAT16: AtomicI32 = AtomicI32::new(-1);

/// The type that is computed with, if this is one, in the machine's byte order.
pub(crate) fn of(descr: &Bound<'_, PyArrayDescr>) -> Option<DType> {
    let dtype = match (descr.kind(), descr.itemsize()) {
        (b'b', 1) => DType::Bool,
        (b'i', 1) => DType::I8,
        (b'i', 2) => DType::I16,
        (b'i', 4) => DType::I32,
        (b'i', 8) => DType::I64,
        (b'u', 1) => DType::U8,
        (b'u', 2) => DType::U16,
        (b'u', 4) => DType::U32,
        (b'u', 8) => DType::U64,
        (b'f', 2) => DType::F16,
        (b'f', 4) => DType::F32,
        (b'f', 8) => DType::F64,
        (b'c', 8) => DType::C64,
        (b'c', 16) => DType::C128,
        (b'V', 2) if is_bfloat16(descr) => return Some(DType::BF16),
        _ => return None,
    };
    is_native(descr).then_some(dtype)
}

/// Whether its bytes are in the machine's order.
pub(crate) fn is_native(descr: &Bound<'_, PyArrayDescr>) -> bool {
    let own = if cfg!(target_endian = "little") { b'<' } else { b'>' };
    [b'=', b'|', own].contains(&descr.byteorder())
}

fn is_bfloat16(descr: &Bound<'_, PyArrayDescr>) -> bool {
    let number = descr.num();
    if number == BFLOAT16.load(Ordering::Relaxed) {
        return true;
    }
    let is = descr.typeobj().name().is_ok_and(|name: Bound<'_, PyString>| name == "bfloat16");
    if is {
        BFLOAT16.store(number, Ordering::Relaxed);
    }
    is
}

/// NumPy's type for one of ours.
pub(crate) fn descr(py: Python<'_>, dtype: DType) -> PyResult<Bound<'_, PyArrayDescr>> {
    let number = match dtype {
        DType::Bool => NPY_BOOL,
        DType::I8 => NPY_BYTE,
        DType::I16 => NPY_SHORT,
        DType::I32 => NPY_INT,
        DType::I64 if size_of::<std::ffi::c_long>() == 8 => NPY_LONG,
        DType::I64 => NPY_LONGLONG,
        DType::U8 => NPY_UBYTE,
        DType::U16 => NPY_USHORT,
        DType::U32 => NPY_UINT,
        DType::U64 if size_of::<std::ffi::c_long>() == 8 => NPY_ULONG,
        DType::U64 => NPY_ULONGLONG,
        DType::F16 => NPY_HALF,
        DType::F32 => NPY_FLOAT,
        DType::F64 => NPY_DOUBLE,
        DType::C64 => NPY_CFLOAT,
        DType::C128 => NPY_CDOUBLE,
        DType::BF16 => return bfloat16(py),
        DType::Str => NPY_OBJECT,
    };
    Ok(memory::numbered(py, number))
}

/// That of ml_dtypes, which is there where an array of it is.
fn bfloat16(py: Python<'_>) -> PyResult<Bound<'_, PyArrayDescr>> {
    static DESCR: PyOnceLock<Py<PyArrayDescr>> = PyOnceLock::new();
    let descr = DESCR.get_or_try_init(py, || {
        let bfloat16 = py.import("ml_dtypes")?.getattr("bfloat16")?;
        PyResult::Ok(PyArrayDescr::new(py, bfloat16)?.unbind())
    })?;
    Ok(descr.bind(py).clone())
}
