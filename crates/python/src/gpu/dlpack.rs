//! DLPack: structures of other libraries' arrays, in both directions.
//!
//! Both forms of the protocol are read and written: `dltensor`, and `dltensor_versioned`, which has a flag for read-only
//! memory.
#![allow(unsafe_code)]

use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use smallvec::SmallVec;
use std::ffi::{CStr, c_void};
use std::ptr;
use unishape::DType;
use unishape::cuda::row_major;

/// Devices of DLPack.
pub(crate) const CUDA: i32 = 2;
pub(crate) const CUDA_MANAGED: i32 = 13;

const READ_ONLY: u64 = 1;

const NAME: &CStr = c"dltensor";
const USED: &CStr = c"used_dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";

#[repr(C)]
struct DLDataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
pub(super) struct DLTensor {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    rank: i32,
    dtype: DLDataType,
    shape: *mut i64,
    /// In elements; null for row-major arrays.
    strides: *mut i64,
    byte_offset: u64,
}

impl DLTensor {
    /// One for others to write.
    pub(super) fn empty() -> DLTensor {
        DLTensor {
            data: ptr::null_mut(),
            device_type: 0,
            device_id: 0,
            rank: 0,
            dtype: DLDataType { code: 0, bits: 0, lanes: 0 },
            shape: ptr::null_mut(),
            strides: ptr::null_mut(),
            byte_offset: 0,
        }
    }
}

/// Where a tensor's elements are.
pub(super) struct Described {
    pub(super) address: u64,
    /// Kind and number.
    pub(super) device: (i32, i32),
    pub(super) dtype: DType,
    pub(super) shape: SmallVec<[usize; 4]>,
    /// In elements.
    pub(super) strides: SmallVec<[isize; 4]>,
}

impl Described {
    /// Reads a structure.
    ///
    /// # Safety
    ///
    /// The tensor has as many sizes, and strides unless they are null, as its rank.
    pub(super) unsafe fn of_tensor(tensor: &DLTensor) -> PyResult<Described> {
        let DLDataType { code, bits, lanes } = tensor.dtype;
        let Some(dtype) = dtype_of(code, bits).filter(|_| lanes == 1) else {
            return Err(PyTypeError::new_err(format!(
                "expressions do not support the dtype of this array (DLPack type {code} of {bits} bits, {lanes} lanes)"
            )));
        };
        let dims = 0..usize::try_from(tensor.rank).unwrap_or(0);
        // Safety: the caller vouches for as many numbers.
        let shape: SmallVec<[usize; 4]> =
            dims.clone().map(|dim| unsafe { *tensor.shape.add(dim) }.max(0) as usize).collect();
        let strides = match tensor.strides.is_null() {
            true => row_major(&shape).into(),
            // Safety: as above.
            false => dims.map(|dim| unsafe { *tensor.strides.add(dim) } as isize).collect(),
        };
        Ok(Described {
            address: (tensor.data as u64).wrapping_add(tensor.byte_offset),
            device: (tensor.device_type, tensor.device_id),
            dtype,
            shape,
            strides,
        })
    }
}

#[repr(C)]
struct Managed {
    tensor: DLTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

#[repr(C)]
struct ManagedVersioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedVersioned)>,
    flags: u64,
    tensor: DLTensor,
}

/// A tensor of another library. The library keeps its memory until this is dropped.
pub(crate) struct Imported {
    managed: Pointer,
    pub(super) is_read_only: bool,
}

// Safety: nothing but the flag is read after the import, and the producer's function may be called in any thread.
unsafe impl Send for Imported {}
// Safety: as above.
unsafe impl Sync for Imported {}

enum Pointer {
    Plain(*mut Managed),
    Versioned(*mut ManagedVersioned),
}

impl Drop for Imported {
    fn drop(&mut self) {
        // Safety: the capsule passed its ownership on; the producer's function is called once.
        unsafe {
            match self.managed {
                Pointer::Plain(managed) => {
                    if let Some(deleter) = (*managed).deleter {
                        deleter(managed);
                    }
                }
                Pointer::Versioned(managed) => {
                    if let Some(deleter) = (*managed).deleter {
                        deleter(managed);
                    }
                }
            }
        }
    }
}

/// Imports an array by `__dlpack__`. By the number of a stream, its library makes that wait for what is still written.
pub(super) fn import(object: &Bound<'_, PyAny>, stream: isize) -> PyResult<(Imported, Described)> {
    let py = object.py();
    let options = PyDict::new(py);
    options.set_item("stream", stream)?;
    let plain = options.copy()?;
    options.set_item("max_version", (1, 0))?;
    let capsule = match object.call_method("__dlpack__", (), Some(&options)) {
        // Older producers have no such parameter.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            object.call_method("__dlpack__", (), Some(&plain))?
        }
        capsule => capsule?,
    };
    let (imported, described) = Imported::from_capsule(&capsule)?;
    let kind = described.device.0;
    if ![CUDA, CUDA_MANAGED].contains(&kind) {
        return Err(PyTypeError::new_err(format!(
            "__dlpack__ returned memory of another device (type {kind}) than __dlpack_device__ says"
        )));
    }
    Ok((imported, described))
}

impl Imported {
    /// Takes the tensor out of a capsule that `__dlpack__` returned.
    pub(super) fn from_capsule(capsule: &Bound<'_, PyAny>) -> PyResult<(Imported, Described)> {
        // Safety: the object is alive. A capsule of this name holds a tensor of this form, which belongs to the
        // consumer that renames it.
        let (managed, tensor, flags) = unsafe {
            let object = capsule.as_ptr();
            let take = |name: &CStr, used: &CStr| {
                if ffi::PyCapsule_IsValid(object, name.as_ptr()) == 0 {
                    return None;
                }
                let pointer = ffi::PyCapsule_GetPointer(object, name.as_ptr());
                (ffi::PyCapsule_SetName(object, used.as_ptr()) == 0).then_some(pointer)
            };
            if let Some(pointer) = take(VERSIONED, USED_VERSIONED) {
                let managed = pointer.cast::<ManagedVersioned>();
                if (*managed).major != 1 {
                    let text = format!("DLPack {} is not supported: version 1 is", (*managed).major);
                    if let Some(deleter) = (*managed).deleter {
                        deleter(managed);
                    }
                    return Err(PyBufferError::new_err(text));
                }
                (Pointer::Versioned(managed), &raw const (*managed).tensor, (*managed).flags)
            } else if let Some(pointer) = take(NAME, USED) {
                let managed = pointer.cast::<Managed>();
                (Pointer::Plain(managed), &raw const (*managed).tensor, 0)
            } else {
                return Err(PyTypeError::new_err("__dlpack__ did not return a DLPack capsule"));
            }
        };
        let imported = Imported { managed, is_read_only: flags & READ_ONLY != 0 };
        // Safety: the tensor is valid until it is deleted.
        let described = unsafe { Described::of_tensor(&*tensor)? };
        Ok((imported, described))
    }
}

/// A dtype by the code of DLPack and its number of bits.
fn dtype_of(code: u8, bits: u8) -> Option<DType> {
    Some(match (code, bits) {
        (0, 8) => DType::I8,
        (0, 16) => DType::I16,
        (0, 32) => DType::I32,
        (0, 64) => DType::I64,
        (1, 8) => DType::U8,
        (1, 16) => DType::U16,
        (1, 32) => DType::U32,
        (1, 64) => DType::U64,
        (2, 16) => DType::F16,
        (2, 32) => DType::F32,
        (2, 64) => DType::F64,
        (4, 16) => DType::BF16,
        (5, 64) => DType::C64,
        (5, 128) => DType::C128,
        (6, 8) => DType::Bool,
        _ => return None,
    })
}

/// The inverse of [`dtype_of`].
fn code_of(dtype: DType) -> DLDataType {
    let code = match dtype {
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => 0,
        DType::F16 | DType::F32 | DType::F64 => 2,
        DType::BF16 => 4,
        DType::C64 | DType::C128 => 5,
        DType::Bool => 6,
        _ => 1,
    };
    DLDataType { code, bits: 8 * dtype.item_size() as u8, lanes: 1 }
}

/// An array to export.
pub(crate) struct Exported<'a> {
    pub(crate) address: u64,
    pub(crate) device: i32,
    pub(crate) dtype: DType,
    pub(crate) shape: &'a [usize],
    /// In elements.
    pub(crate) strides: &'a [isize],
    pub(crate) is_read_only: bool,
}

/// What a tensor that was exported keeps: its owner, and the arrays that the structure points to.
struct Context {
    _owner: Py<PyAny>,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

/// A capsule of an array, which keeps its owner alive.
pub(crate) fn export<'py>(
    owner: &Bound<'py, PyAny>,
    array: &Exported<'_>,
    is_versioned: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = owner.py();
    let context = Box::new(Context {
        _owner: owner.clone().unbind(),
        shape: array.shape.iter().map(|&size| size as i64).collect(),
        strides: array.strides.iter().map(|&stride| stride as i64).collect(),
    });
    let tensor = DLTensor {
        data: array.address as *mut c_void,
        device_type: CUDA,
        device_id: array.device,
        rank: array.shape.len() as i32,
        dtype: code_of(array.dtype),
        shape: context.shape.as_ptr().cast_mut(),
        strides: context.strides.as_ptr().cast_mut(),
        byte_offset: 0,
    };
    let context = Box::into_raw(context).cast();
    let flags = if array.is_read_only { READ_ONLY } else { 0 };
    // Safety: the structure and its context belong to the capsule, or to the consumer that renames it, and are freed by
    // their deleter.
    unsafe {
        let capsule = if is_versioned {
            let deleter = Some(delete_versioned as unsafe extern "C" fn(*mut ManagedVersioned));
            let managed = ManagedVersioned { major: 1, minor: 0, context, deleter, flags, tensor };
            let managed = Box::into_raw(Box::new(managed)).cast();
            ffi::PyCapsule_New(managed, VERSIONED.as_ptr(), Some(destroy_versioned))
        } else {
            let deleter = Some(delete as unsafe extern "C" fn(*mut Managed));
            let managed = Box::into_raw(Box::new(Managed { tensor, context, deleter })).cast();
            ffi::PyCapsule_New(managed, NAME.as_ptr(), Some(destroy))
        };
        Bound::from_owned_ptr_or_err(py, capsule)
    }
}

/// Frees the context of a tensor. Where the interpreter ends, as when a global variable of a program is such an array, its
/// owner is not released: the process ends.
///
/// # Safety
///
/// Called once, with what `Box::into_raw` returned for a [`Context`].
unsafe fn delete_context(context: *mut c_void) {
    // Safety: by the contract.
    let context = unsafe { Box::from_raw(context.cast::<Context>()) };
    let mut context = Some(context);
    Python::try_attach(|_| drop(context.take()));
    std::mem::forget(context);
}

/// Frees what [`export`] made. Consumers may call it in any thread.
///
/// # Safety
///
/// Called once for each structure.
unsafe extern "C" fn delete(managed: *mut Managed) {
    // Safety: both were made by `Box::into_raw`.
    unsafe {
        delete_context((*managed).context);
        drop(Box::from_raw(managed));
    }
}

/// As [`delete`].
///
/// # Safety
///
/// Called once for each structure.
unsafe extern "C" fn delete_versioned(managed: *mut ManagedVersioned) {
    // Safety: both were made by `Box::into_raw`.
    unsafe {
        delete_context((*managed).context);
        drop(Box::from_raw(managed));
    }
}

/// Frees a tensor that no consumer took out of its capsule.
///
/// # Safety
///
/// Called by Python with a capsule of [`export`].
unsafe extern "C" fn destroy(capsule: *mut ffi::PyObject) {
    // Safety: a capsule that still has its name owns the tensor.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, NAME.as_ptr()) != 0 {
            delete(ffi::PyCapsule_GetPointer(capsule, NAME.as_ptr()).cast());
        }
    }
}

/// As [`destroy`].
///
/// # Safety
///
/// Called by Python with a capsule of [`export`].
unsafe extern "C" fn destroy_versioned(capsule: *mut ffi::PyObject) {
    // Safety: a capsule that still has its name owns the tensor.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) != 0 {
            delete_versioned(ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast());
        }
    }
}
