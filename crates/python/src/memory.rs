//! NumPy's memory seen as Rust's, and Rust's views handed out as NumPy's arrays: the room with unsafe code.
//!
//! NumPy lets several arrays and several threads have the same memory. What is read here while another thread
//! of Python writes to it comes out as some bytes or others, as in NumPy itself; booleans are the only
//! elements that not all bytes are, and the kernels that read them see them as bytes.
#![allow(unsafe_code)]

use crate::types;
use ndarray::{ArrayViewD, ArrayViewMutD, Axis, IxDyn, ShapeBuilder};
use numpy::npyffi::{self, NPY_ARRAY_ALIGNED, NPY_ARRAY_WRITEABLE, PY_ARRAY_API, npy_intp};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use smallvec::SmallVec;
use std::ffi::c_int;
use std::ops::Range;
use unishape::expr::Plain;
use unishape::{DType, Rules, StretchError, TensorView};
use unishape_core::broadcast_strides;
use unishape_elements::for_each_dtype;

/// An array of NumPy's.
pub(crate) type NumPy<'py> = Bound<'py, PyUntypedArray>;

/// Whether its elements can be seen as Rust's: aligned, and whole elements apart. (Their byte order is the
/// type's affair.)
pub(crate) fn is_plain(array: &NumPy<'_>) -> bool {
    let item = array.dtype().itemsize() as isize;
    flags(array) & NPY_ARRAY_ALIGNED != 0
        && item > 0
        && array.strides().iter().zip(array.shape()).all(|(stride, &size)| size <= 1 || stride % item == 0)
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

/// An array's bytes, if it is one of single bytes that lie one after another, in whatever order.
pub(crate) fn bytes<'a>(array: &'a NumPy<'_>) -> Option<&'a [u8]> {
    let is_dense = array.is_c_contiguous() || array.is_fortran_contiguous();
    let fits = array.dtype().itemsize() == 1 && is_dense;
    // Safety: these are the array's elements, and any byte is one.
    fits.then(|| unsafe { std::slice::from_raw_parts(data(array), array.len()) })
}

/// An array's elements of a known type. It has to be [plain](is_plain), and of the type that `T` is.
fn view<'a, T: Plain>(array: &'a NumPy<'_>) -> ArrayViewD<'a, T> {
    let Layout { first, shape, strides, backwards } = Layout::<T>::new(array);
    // Safety: NumPy's arrays have an element at each index, which stays as long as the array does: 'a. It is
    // aligned, and a `T`, as the layout has made sure; sizes and strides are NumPy's own, turned upward.
    let mut view = unsafe { ArrayViewD::from_shape_ptr(IxDyn(&shape).strides(IxDyn(&strides)), first) };
    backwards.into_iter().for_each(|axis| view.invert_axis(axis));
    view
}

/// The same to be written to.
///
/// # Safety
///
/// Nobody has another view of these elements meanwhile.
unsafe fn view_mut<'a, T: Plain>(array: &'a NumPy<'_>) -> ArrayViewMutD<'a, T> {
    let Layout { first, shape, strides, backwards } = Layout::<T>::new(array);
    // Safety: as for `view`, and our caller's promise. That no element is at two indices, the machine that
    // writes checks by itself.
    let mut view = unsafe { ArrayViewMutD::from_shape_ptr(IxDyn(&shape).strides(IxDyn(&strides)), first) };
    backwards.into_iter().for_each(|axis| view.invert_axis(axis));
    view
}

/// A fresh array, filled by a function, which writes every element and reads none.
pub(crate) fn filled<'py, T: Plain>(
    py: Python<'py>,
    shape: &[usize],
    fill: impl FnOnce(ArrayViewMutD<'_, T>) -> PyResult<()>,
) -> PyResult<NumPy<'py>> {
    let array = fresh(py, types::descr(py, T::DTYPE)?, shape, T::IS_TRUTH)?;
    // Safety: nobody else knows of the array yet.
    fill(unsafe { view_mut::<T>(&array) })?;
    Ok(array)
}

/// An array of somebody's, written to by a function; `None` where it cannot be seen as elements of this type,
/// or has memory together with one of these others.
pub(crate) fn written<'py, T: Plain>(
    array: &NumPy<'py>,
    others: &[&NumPy<'py>],
    write: impl FnOnce(ArrayViewMutD<'_, T>) -> PyResult<()>,
) -> PyResult<Option<()>> {
    let fits = is_writeable(array) && is_plain(array) && types::of(&array.dtype()) == Some(T::DTYPE);
    if !fits {
        return Ok(None);
    }
    for other in others {
        if share_memory(array, other)? {
            return Ok(None);
        }
    }
    // Safety: the other arrays, of which there may be views, have none of these elements, as just seen.
    write(unsafe { view_mut::<T>(array) }).map(Some)
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
    shape: SmallVec<[usize; 6]>,
    strides: SmallVec<[usize; 6]>,
    /// The axes to be turned round.
    backwards: SmallVec<[Axis; 6]>,
}

impl<T: Plain> Layout<T> {
    fn new(array: &NumPy<'_>) -> Layout<T> {
        assert!(is_plain(array) && types::of(&array.dtype()) == Some(T::DTYPE), "elements are of this type");
        let item = size_of::<T>() as isize;
        let mut first = data(array).cast::<T>();
        let (mut strides, mut backwards) = (SmallVec::new(), SmallVec::new());
        for (axis, (&stride, &size)) in array.strides().iter().zip(array.shape()).enumerate() {
            let step = if size <= 1 { 0 } else { stride / item };
            if step < 0 && !array.is_empty() {
                // Safety: to the last element along this axis, which is in the same memory.
                first = unsafe { first.offset(step * (size as isize - 1)) };
                backwards.push(Axis(axis));
            }
            strides.push(step.unsigned_abs());
        }
        Layout { first, shape: array.shape().into(), strides, backwards }
    }
}

/// An array's elements of any type that is computed with.
pub(crate) fn tensor<'a>(array: &'a NumPy<'_>, dtype: DType) -> Option<TensorView<'a>> {
    use half::{bf16, f16};
    use num_complex::Complex;
    macro_rules! by_type {
        ($($variant:ident $type:ident $(<$part:ident>)? $name:literal $what:literal;)+) => {
            match dtype {
                $(DType::$variant => by_type!(@ $type $(<$part>)?),)+
            }
        };
        (@ String) => { None };
        (@ $type:ident $(<$part:ident>)?) => { Some(view::<$type $(<$part>)?>(array).into()) };
    }
    for_each_dtype!(by_type)
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
        let view: NumPy<'py> = Bound::from_owned_ptr_or_err(py, view)?.cast_into_unchecked();
        // Takes the reference to the array in any case.
        match PY_ARRAY_API.PyArray_SetBaseObject(py, view.as_array_ptr(), array.clone().into_ptr()) {
            0 => Ok(Ok(view)),
            _ => Err(PyErr::fetch(py)),
        }
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
