//! Conversion between NumPy dtypes and [`DType`].

use numpy::npyffi::NPY_TYPES::{self, *};
use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;
use std::sync::atomic::{AtomicI32, Ordering};
use unishape::DType;

/// The type number that NumPy assigned to bfloat16, which ml_dtypes registers; -1 before its first use.
static BFLOAT16: AtomicI32 = AtomicI32::new(-1);

/// The numeric dtype, in native byte order; `None` for all others.
///
/// Compares type numbers, which is fastest. Several C types have the same size.
pub(crate) fn from_descr(descr: &Bound<'_, PyArrayDescr>) -> Option<DType> {
    const BY_NUMBER: [Option<DType>; 24] = by_number();
    let number = descr.num();
    match usize::try_from(number).ok().and_then(|number| BY_NUMBER.get(number)) {
        Some(&dtype) => dtype.filter(|_| is_native(descr)),
        None if is_native(descr) && is_bfloat16(descr) => Some(DType::BF16),
        None => None,
    }
}

const fn by_number() -> [Option<DType>; 24] {
    const LONG_IS_8: bool = size_of::<std::ffi::c_long>() == 8;
    let mut dtypes = [None; 24];
    dtypes[NPY_BOOL as usize] = Some(DType::Bool);
    dtypes[NPY_BYTE as usize] = Some(DType::I8);
    dtypes[NPY_SHORT as usize] = Some(DType::I16);
    dtypes[NPY_INT as usize] = Some(DType::I32);
    dtypes[NPY_LONG as usize] = Some(if LONG_IS_8 { DType::I64 } else { DType::I32 });
    dtypes[NPY_LONGLONG as usize] = Some(DType::I64);
    dtypes[NPY_UBYTE as usize] = Some(DType::U8);
    dtypes[NPY_USHORT as usize] = Some(DType::U16);
    dtypes[NPY_UINT as usize] = Some(DType::U32);
    dtypes[NPY_ULONG as usize] = Some(if LONG_IS_8 { DType::U64 } else { DType::U32 });
    dtypes[NPY_ULONGLONG as usize] = Some(DType::U64);
    dtypes[NPY_HALF as usize] = Some(DType::F16);
    dtypes[NPY_FLOAT as usize] = Some(DType::F32);
    dtypes[NPY_DOUBLE as usize] = Some(DType::F64);
    dtypes[NPY_CFLOAT as usize] = Some(DType::C64);
    dtypes[NPY_CDOUBLE as usize] = Some(DType::C128);
    dtypes
}

/// Bytes of an element, a power of 2.
pub(crate) fn item_size(dtype: DType) -> usize {
    match dtype {
        DType::Bool | DType::I8 | DType::U8 => 1,
        DType::I16 | DType::U16 | DType::F16 | DType::BF16 => 2,
        DType::I32 | DType::U32 | DType::F32 => 4,
        DType::I64 | DType::U64 | DType::F64 | DType::C64 => 8,
        DType::C128 | DType::Str => 16,
    }
}

/// Whether the byte order is native.
pub(crate) fn is_native(descr: &Bound<'_, PyArrayDescr>) -> bool {
    let own = if cfg!(target_endian = "little") { b'<' } else { b'>' };
    [b'=', b'|', own].contains(&descr.byteorder())
}

fn is_bfloat16(descr: &Bound<'_, PyArrayDescr>) -> bool {
    let number = descr.num();
    if number == BFLOAT16.load(Ordering::Relaxed) {
        return true;
    }
    let is = descr.itemsize() == 2
        && descr.typeobj().name().is_ok_and(|name: Bound<'_, PyString>| name == "bfloat16");
    if is {
        BFLOAT16.store(number, Ordering::Relaxed);
    }
    is
}

/// The type number of a NumPy dtype; `None` for bfloat16, which is not built in.
pub(crate) fn type_number(dtype: DType) -> Option<NPY_TYPES> {
    Some(match dtype {
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
        DType::BF16 => return None,
        DType::Str => NPY_OBJECT,
    })
}

/// The dtype of ml_dtypes, which is installed wherever such an array exists.
pub(crate) fn bfloat16(py: Python<'_>) -> PyResult<Bound<'_, PyArrayDescr>> {
    static DESCR: PyOnceLock<Py<PyArrayDescr>> = PyOnceLock::new();
    let descr = DESCR.get_or_try_init(py, || {
        let bfloat16 = py.import("ml_dtypes")?.getattr("bfloat16")?;
        PyResult::Ok(PyArrayDescr::new(py, bfloat16)?.unbind())
    })?;
    Ok(descr.bind(py).clone())
}
