//! DLPack's table of C functions of a class of arrays, which describe an array without calls of Python.
#![allow(unsafe_code)]

use super::dlpack::{DLTensor, Described};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::ffi::{CStr, c_int, c_void};

const NAME: &CStr = c"dlpack_exchange_api";

/// The version of the table that is read. Fields are only added within it.
const MAJOR: u32 = 1;

/// Tables of other versions have the same first three fields.
#[repr(C)]
struct Table {
    major: u32,
    minor: u32,
    previous: *const Table,
    allocate: *const c_void,
    to_managed: *const c_void,
    from_managed: *const c_void,
    describe: Option<Describe>,
    current_stream: *const c_void,
}

type Describe = unsafe extern "C" fn(*mut ffi::PyObject, *mut DLTensor) -> c_int;

/// How arrays of a class are described.
pub(super) struct Exchange {
    class: Py<PyType>,
    describe: Describe,
}

impl Exchange {
    /// The functions of a class, if it has them.
    pub(super) fn of_class(class: &Bound<'_, PyType>) -> Option<Exchange> {
        let name = intern!(class.py(), "__dlpack_c_exchange_api__");
        let capsule = class.getattr_opt(name).ok()??;
        // Safety: a capsule of this name holds such a table, which lives as long as the process. The chain of older tables
        // ends with null.
        unsafe {
            if ffi::PyCapsule_IsValid(capsule.as_ptr(), NAME.as_ptr()) == 0 {
                return None;
            }
            let mut table =
                ffi::PyCapsule_GetPointer(capsule.as_ptr(), NAME.as_ptr()).cast::<Table>().cast_const();
            while !table.is_null() && (*table).major != MAJOR {
                table = (*table).previous;
            }
            let describe = if table.is_null() { None } else { (*table).describe };
            Some(Exchange { class: class.clone().unbind(), describe: describe? })
        }
    }

    /// Describes an array. `None` where it is of another class, a subclass included, or its library does not describe it.
    pub(super) fn describe(&self, array: &Bound<'_, PyAny>) -> Option<PyResult<Described>> {
        if !array.get_type().is(&self.class) {
            return None;
        }
        let mut tensor = DLTensor::empty();
        // Safety: the array is of the class that the function is for. What it writes is valid while the array is not
        // changed, which no code does before this returns.
        unsafe {
            if (self.describe)(array.as_ptr(), &mut tensor) != 0 {
                drop(PyErr::take(array.py()));
                return None;
            }
            Some(Described::of_tensor(&tensor))
        }
    }
}
