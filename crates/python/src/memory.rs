//! NumPy's memory seen as Rust's, and Rust's views handed out as NumPy's arrays: the room with unsafe code.
//!
//! NumPy lets several arrays and several threads have the same memory. What is read here while another thread
//! of Python writes to it comes out as some bytes or others, as in NumPy itself; booleans are the only
//! elements that not all bytes are, and the kernels that read them see them as bytes.
#![allow(unsafe_code)]

use crate::types;
use ndarray::{ArrayD, ArrayViewD, ArrayViewMutD, Axis, Dimension, IxDyn, ShapeBuilder};
use numpy::npyffi::{self, NPY_ARRAY_ALIGNED, NPY_ARRAY_WRITEABLE, PY_ARRAY_API, npy_intp};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use smallvec::SmallVec;
use std::ffi::c_int;
use std::num::Wrapping;
use std::ops::Range;
use std::sync::{Mutex, PoisonError, Weak};
use unishape::expr::Numeric;
use unishape::{DType, Rules, StretchError, Tensor, TensorView};
use unishape_core::broadcast_strides;
use unishape_kernels::for_each_dtype;

/// An array of NumPy's.
pub(crate) type NumPy<'py> = Bound<'py, PyUntypedArray>;

/// An array whose elements are Rust's as they lie: of a type that is computed with, in the machine's byte order,
/// aligned, and whole elements apart.
pub(crate) struct Seen<'py> {
    array: NumPy<'py>,
    dtype: DType,
}

impl<'py> Seen<'py> {
    /// The array, if it is such a one.
    pub(crate) fn new(array: NumPy<'py>) -> Result<Seen<'py>, NumPy<'py>> {
        match types::of(&array.dtype()) {
            Some(dtype) if is_regular(&array, dtype) => Ok(Seen { array, dtype }),
            _ => Err(array),
        }
    }

    pub(crate) fn array(&self) -> &NumPy<'py> {
        &self.array
    }

    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }

    /// Its elements.
    pub(crate) fn tensor(&self) -> Option<TensorView<'_>> {
        use half::{bf16, f16};
        use num_complex::Complex;
        macro_rules! by_type {
            ($($variant:ident $type:ident $(<$part:ident>)? $name:literal $what:literal;)+) => {
                match self.dtype {
                    $(DType::$variant => by_type!(@ $type $(<$part>)?),)+
                }
            };
            (@ String) => { None };
            // Safety: the elements are of this type, as was seen when the array was.
            (@ $type:ident $(<$part:ident>)?) => { Some(unsafe { view::<$type $(<$part>)?>(&self.array) }.into()) };
        }
        for_each_dtype!(by_type)
    }
}

/// Whether elements of a type are aligned, and whole elements apart.
fn is_regular(array: &NumPy<'_>, dtype: DType) -> bool {
    let item = types::bytes(dtype) as isize;
    let mut steps = array.strides().iter().zip(array.shape());
    flags(array) & NPY_ARRAY_ALIGNED != 0
        && steps.all(|(stride, &size)| stride & (item - 1) == 0 || size <= 1)
}

/// Whether Python may write to it.
pub(crate) fn is_writeable(array: &NumPy<'_>) -> bool {
    flags(array) & NPY_ARRAY_WRITEABLE != 0
}

fn flags(array: &NumPy<'_>) -> c_int {
    // Safety: it is an array, whose fields these are.
    unsafe { (*array.as_array_ptr()).fields.flags }
}

/// The addresses between which all its elements are.
fn span(array: &NumPy<'_>) -> Range<usize> {
    let start = data(array) as usize;
    if array.is_empty() {
        return start..start;
    }
    let (mut below, mut above) = (0isize, array.dtype().itemsize() as isize);
    for (stride, &size) in array.strides().iter().zip(array.shape()) {
        let end = stride * (size as isize - 1);
        if end < 0 { below += end } else { above += end }
    }
    start.wrapping_add_signed(below)..start.wrapping_add_signed(above)
}

/// Where its element of index 0 is.
pub(crate) fn data(array: &NumPy<'_>) -> *mut u8 {
    // Safety: as above.
    unsafe { (*array.as_array_ptr()).fields.data.cast() }
}

/// Whether the bytes of an array of booleans are all 0 or 1, each looked at once, however often it is repeated. Bytes
/// that are looked at as booleans, read from a file or never written to may be others.
pub(crate) fn are_truths(seen: &Seen<'_>) -> bool {
    assert!(seen.dtype == DType::Bool, "booleans are bytes");
    // Safety: the elements are single bytes, any of which is a `u8`, and so regular.
    let mut bytes = unsafe { view::<u8>(&seen.array) };
    for axis in 0..bytes.ndim() {
        if bytes.strides()[axis] == 0 && !bytes.is_empty() {
            bytes.collapse_axis(Axis(axis), 0);
        }
    }
    let all = |bits, &byte: &u8| bits | byte;
    let bits = match bytes.as_slice_memory_order() {
        Some(bytes) => bytes.iter().fold(0, all),
        None => bytes.iter().fold(0, all),
    };
    bits <= 1
}

/// An array's elements of a known type.
///
/// # Safety
///
/// The array's elements are of this type, and [regular](is_regular).
unsafe fn view<'a, T: Numeric>(array: &'a NumPy<'_>) -> ArrayViewD<'a, T> {
    // Safety: our caller's promise.
    let Layout { first, strides, backwards } = unsafe { Layout::<T>::new(array) };
    // Safety: NumPy's arrays have an element at each index, which stays as long as the array does: 'a. It is
    // aligned, and a `T`, as our caller says; sizes and strides are NumPy's own, turned upward.
    let mut view = unsafe { ArrayViewD::from_shape_ptr(IxDyn(array.shape()).strides(strides), first) };
    backwards.into_iter().for_each(|axis| view.invert_axis(axis));
    view
}

/// The same to be written to.
///
/// # Safety
///
/// As for `view`, no element is at two indices, and nobody has another view of these elements meanwhile.
unsafe fn view_mut<'a, T: Numeric>(array: &'a NumPy<'_>) -> ArrayViewMutD<'a, T> {
    // Safety: our caller's promise.
    let Layout { first, strides, backwards } = unsafe { Layout::<T>::new(array) };
    // Safety: as for `view`, and our caller's promise.
    let mut view = unsafe { ArrayViewMutD::from_shape_ptr(IxDyn(array.shape()).strides(strides), first) };
    backwards.into_iter().for_each(|axis| view.invert_axis(axis));
    view
}

/// A fresh array, filled by a function, which writes every element and reads none.
pub(crate) fn filled<'py, T: Numeric>(
    py: Python<'py>,
    shape: &[usize],
    fill: impl FnOnce(ArrayViewMutD<'_, T>) -> PyResult<()>,
) -> PyResult<NumPy<'py>> {
    let array = fresh(py, types::descr(py, T::DTYPE)?, shape, T::DTYPE == unishape::DType::Bool)?;
    // Safety: NumPy's own arrays of this type are regular and apart, and nobody else knows of this one yet.
    fill(unsafe { view_mut::<T>(&array) })?;
    Ok(array)
}

/// Arrays whose memory can be written over, each in a place of its own.
pub(crate) type Spares = Mutex<Vec<Option<Tensor>>>;

/// Keeps an array of Rust's as long as NumPy has its memory. Then it goes home, if it has one.
#[pyclass(frozen)]
struct Owner {
    array: Option<Tensor>,
    home: Option<Home>,
}

/// Where the memory of an array is wanted again: which place among which spares.
pub(crate) type Home = (Weak<Spares>, usize);

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some((home, place)) = &self.home
            && let Some(home) = home.upgrade()
            && let Some(place) = home.lock().unwrap_or_else(PoisonError::into_inner).get_mut(*place)
        {
            *place = self.array.take();
        }
    }
}

/// An array of Rust's handed over to NumPy: large ones as they are, without a copy.
pub(crate) fn handed_over<'py, T: Numeric>(
    py: Python<'py>,
    mut array: ArrayD<T>,
    home: Option<Home>,
) -> PyResult<NumPy<'py>>
where
    Tensor: From<ArrayD<T>>,
{
    if array.len() < WORTH_KEEPING || !array.is_standard_layout() {
        return filled(py, array.shape(), |mut view| {
            view.assign(&array);
            Ok(())
        });
    }
    // The elements stay where they are when the array is put elsewhere.
    let (first, mut sizes) = (array.as_mut_ptr(), sizes(array.shape())?);
    let owner = Bound::new(py, Owner { array: Some(array.into()), home })?;
    // Safety: as many sizes as the rank says, and as many elements from there on, one after another. They stay where
    // they are as long as the owner, which the array keeps, and which lets nobody else at them.
    unsafe {
        let none = std::ptr::null_mut::<std::ffi::c_void>();
        let array = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            PyUntypedArray::type_object_raw(py),
            types::descr(py, T::DTYPE)?.into_dtype_ptr(),
            sizes.len() as c_int,
            sizes.as_mut_ptr(),
            none.cast(),
            first.cast(),
            NPY_ARRAY_WRITEABLE,
            none.cast(),
        );
        kept_by(Bound::from_owned_ptr_or_err(py, array)?.cast_into_unchecked(), owner.into_any())
    }
}

/// Elements from which on a copy costs more than an owner.
const WORTH_KEEPING: usize = 1 << 12;

/// A view together with what has its memory.
///
/// # Safety
///
/// The view has no base yet.
unsafe fn kept_by<'py>(view: NumPy<'py>, base: Bound<'py, PyAny>) -> PyResult<NumPy<'py>> {
    // Safety: both are there. The reference to the base is taken in any case.
    match unsafe { PY_ARRAY_API.PyArray_SetBaseObject(view.py(), view.as_array_ptr(), base.into_ptr()) } {
        0 => Ok(view),
        _ => Err(PyErr::fetch(view.py())),
    }
}

/// An array of somebody's, written to by a function; `None` where it cannot be seen as elements of this type,
/// or has memory together with one of these others.
pub(crate) fn written<'py, T: Numeric>(
    array: &NumPy<'py>,
    others: &[&NumPy<'py>],
    write: impl FnOnce(ArrayViewMutD<'_, T>) -> PyResult<()>,
) -> PyResult<Option<()>> {
    let fits = types::of(&array.dtype()) == Some(T::DTYPE) && is_regular(array, T::DTYPE);
    if !fits || !is_writeable(array) || !is_apart(array) {
        return Ok(None);
    }
    for other in others {
        if share_memory(array, other)? {
            return Ok(None);
        }
    }
    // Safety: the elements are of this type, regular and apart; the other arrays, of which there may be views, have
    // none of them. All of it was just seen.
    write(unsafe { view_mut::<T>(array) }).map(Some)
}

/// Whether no element is at two indices. Where that is hard to say, one is.
fn is_apart(array: &NumPy<'_>) -> bool {
    let dims = array.strides().iter().zip(array.shape()).filter(|&(_, &size)| size > 1);
    let mut dims: SmallVec<[(usize, usize); 8]> =
        dims.map(|(stride, &size)| (stride.unsigned_abs(), size)).collect();
    dims.sort_unstable();
    // What the dimensions before reach over, the last element included.
    let mut reach = array.dtype().itemsize();
    array.is_empty()
        || dims.iter().all(|&(stride, size)| {
            let is_beyond = stride >= reach;
            reach += stride * (size - 1);
            is_beyond
        })
}

/// Whether two arrays have an element's memory together. Where that is hard to say, they have.
pub(crate) fn share_memory(one: &NumPy<'_>, other: &NumPy<'_>) -> PyResult<bool> {
    let (a, b) = (span(one), span(other));
    if a.end <= b.start || b.end <= a.start {
        return Ok(false);
    }
    const WORK: usize = 100_000;
    let py = one.py();
    match py.import("numpy")?.call_method1("shares_memory", (one, other, WORK)) {
        Ok(shared) => shared.is_truthy(),
        Err(error) if error.is_instance_of::<pyo3::exceptions::PyRuntimeError>(py) => Ok(true),
        Err(error) => Err(error),
    }
}

/// Where elements are, with strides that lead upward, as ndarray takes them.
struct Layout<T> {
    first: *mut T,
    strides: IxDyn,
    /// The axes to be turned round.
    backwards: SmallVec<[Axis; 4]>,
}

impl<T> Layout<T> {
    /// # Safety
    ///
    /// The array's elements are of this type, and [regular](is_regular).
    unsafe fn new(array: &NumPy<'_>) -> Layout<T> {
        let (sizes, steps) = (array.shape(), array.strides());
        let mut first = data(array).cast::<T>();
        let mut strides = IxDyn(sizes); // as many, and all of them are set
        let mut backwards = SmallVec::new();
        if array.is_empty() {
            // No element is anywhere; what NumPy has for strides then is not always what ndarray takes.
            let mut next = 1;
            for (to, &size) in strides.slice_mut().iter_mut().zip(sizes).rev() {
                *to = next;
                next *= size.max(1);
            }
            return Layout { first, strides, backwards };
        }
        for (axis, to) in strides.slice_mut().iter_mut().enumerate() {
            let (size, step) = (sizes[axis], steps[axis] / size_of::<T>() as isize);
            *to = if size <= 1 { 0 } else { step.unsigned_abs() };
            if step < 0 && size > 1 {
                // Safety: to the last element along this axis, which is in the same memory.
                first = unsafe { first.offset(step * (size as isize - 1)) };
                backwards.push(Axis(axis));
            }
        }
        Layout { first, strides, backwards }
    }
}

/// The same elements, as such that wrap.
pub(crate) fn wrapping<T>(view: ArrayViewD<'_, T>) -> ArrayViewD<'_, Wrapping<T>> {
    // Safety: `Wrapping` is transparent: the elements are as they were, and borrowed for as long.
    unsafe { view.raw_view().cast().deref_into_view() }
}

/// A fresh array; its elements are whatever they are, but booleans are false.
fn fresh<'py>(
    py: Python<'py>,
    descr: Bound<'py, PyArrayDescr>,
    shape: &[usize],
    is_truth: bool,
) -> PyResult<NumPy<'py>> {
    let mut sizes = sizes(shape)?;
    let (rank, sizes) = (sizes.len() as c_int, sizes.as_mut_ptr());
    // Safety: as many sizes as the rank says. NumPy takes the reference to the type, and gives one to a new
    // array, or an error.
    unsafe {
        let array = if is_truth {
            PY_ARRAY_API.PyArray_Zeros(py, rank, sizes, descr.into_dtype_ptr(), 0)
        } else {
            let kind = PyUntypedArray::type_object_raw(py);
            let none = std::ptr::null_mut::<std::ffi::c_void>();
            let descr = descr.into_dtype_ptr();
            PY_ARRAY_API.PyArray_NewFromDescr(py, kind, descr, rank, sizes, none.cast(), none, 0, none.cast())
        };
        Ok(Bound::from_owned_ptr_or_err(py, array)?.cast_into_unchecked())
    }
}

/// A view of an array for reading only, stretched to a shape (BC-10), or why it cannot be.
pub(crate) fn stretched<'py>(
    array: &NumPy<'py>,
    rules: Rules,
    shape: &[usize],
) -> PyResult<Result<NumPy<'py>, StretchError>> {
    let py = array.py();
    let mut sizes = sizes(shape)?;
    let mut strides: SmallVec<[npy_intp; 8]> = SmallVec::from_elem(0, shape.len());
    if let Err(error) = broadcast_strides(rules, array.shape(), array.strides(), shape, &mut strides) {
        return Ok(Err(error));
    }
    // Safety: as many sizes and strides as the rank says. In each dimension the view has the array's own size
    // and stride, or stride 0, so that each of its elements is one of the array's; where the view has elements
    // the array has some too, since a size of 0 stretches to nothing else. The view keeps the array that has
    // the memory. Without flags it is not writeable.
    unsafe {
        let view = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            PyUntypedArray::type_object_raw(py),
            array.dtype().into_dtype_ptr(),
            sizes.len() as c_int,
            sizes.as_mut_ptr(),
            strides.as_mut_ptr(),
            data(array).cast(),
            0,
            std::ptr::null_mut(),
        );
        let view = Bound::from_owned_ptr_or_err(py, view)?.cast_into_unchecked();
        kept_by(view, array.clone().into_any()).map(Ok)
    }
}

/// How many references there are to an object.
pub(crate) fn references(object: &Bound<'_, PyAny>) -> isize {
    // Safety: it is there, as one of them is ours.
    unsafe { pyo3::ffi::Py_REFCNT(object.as_ptr()) }
}

/// One of NumPy's own element types.
pub(crate) fn numbered(py: Python<'_>, number: npyffi::NPY_TYPES) -> Bound<'_, PyArrayDescr> {
    // Safety: a type that NumPy has by itself; it gives a reference of our own to it.
    unsafe {
        let descr = PY_ARRAY_API.PyArray_DescrFromType(py, number as c_int);
        Bound::from_owned_ptr(py, descr.cast()).cast_into_unchecked()
    }
}

/// NumPy has at most so many dimensions.
const MOST_DIMENSIONS: usize = 64;

fn sizes(shape: &[usize]) -> PyResult<SmallVec<[npy_intp; 8]>> {
    if shape.len() > MOST_DIMENSIONS {
        let text = format!("NumPy's arrays have at most {MOST_DIMENSIONS} dimensions, not {}", shape.len());
        return Err(pyo3::exceptions::PyValueError::new_err(text));
    }
    let sizes = shape.iter().map(|&size| npy_intp::try_from(size));
    sizes.collect::<Result<_, _>>().map_err(|_| crate::failure::too_large(shape))
}
