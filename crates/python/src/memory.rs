//! NumPy arrays as Rust views, and Rust arrays as NumPy arrays: all unsafe code of this crate.
//!
//! NumPy allows several arrays and threads to share memory. Elements that another Python thread writes during a
//! computation are read as arbitrary bytes, as in NumPy itself. Only `bool` has invalid byte values, and the
//! kernels read booleans as bytes.
//!
//! # Initialization
//!
//! Memory from NumPy counts as initialized, with arbitrary bytes. NumPy is a library of its own, which is loaded at
//! run time and called through function pointers: no compiler sees that its allocation functions leave memory
//! unset, so the contract that this module states for them, "returns memory that holds some bytes", is one that
//! their machine code fulfills.
//!
//! Nothing else is possible: an `out=numpy.empty(n)`, or an input like it, cannot be distinguished from an array that
//! has been written. New arrays of booleans are zeroed, and other element types have no invalid bytes. Rust's own
//! allocations have no such contract: see `Output::uninit` in the engine.
#![allow(unsafe_code)]

use crate::dtype;
use ndarray::{ArrayD, ArrayViewD, ArrayViewMutD, Axis, Dimension, IxDyn, ShapeBuilder};
use numpy::npyffi::{
    self, NPY_ARRAY_ALIGNED, NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_WRITEABLE, PY_ARRAY_API, npy_intp,
};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use smallvec::SmallVec;
use std::ffi::c_int;
use std::ops::Range;
use std::sync::{Mutex, PoisonError, Weak};
use unishape::expr::Numeric;
use unishape::{DType, Rules, StretchError, Tensor, TensorView};
use unishape_core::broadcast_strides;
use unishape_kernels::for_each_dtype;

/// A NumPy array of any dtype.
pub(crate) type NumPy<'py> = Bound<'py, PyUntypedArray>;

/// A NumPy array whose elements Rust can read in place.
///
/// It has a numeric dtype in native byte order and is [regular](is_regular).
pub(crate) struct NumericArray<'py> {
    array: NumPy<'py>,
    dtype: DType,
}

impl<'py> NumericArray<'py> {
    /// Wraps an array; returns it as an error where its elements cannot be read in place.
    pub(crate) fn new(array: NumPy<'py>) -> Result<NumericArray<'py>, NumPy<'py>> {
        match dtype::from_descr(&array.dtype()) {
            Some(dtype) if is_regular(&array, dtype) => Ok(NumericArray { array, dtype }),
            _ => Err(array),
        }
    }

    pub(crate) fn array(&self) -> &NumPy<'py> {
        &self.array
    }

    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }

    /// The elements.
    pub(crate) fn view(&self) -> Option<TensorView<'_>> {
        use half::{bf16, f16};
        use num_complex::Complex;
        macro_rules! by_dtype {
            ($($variant:ident $type:ident $(<$part:ident>)? $name:literal $what:literal;)+) => {
                match self.dtype {
                    $(DType::$variant => by_dtype!(@ $type $(<$part>)?),)+
                }
            };
            (@ String) => { None };
            // Safety: `new` checked the dtype and the layout.
            (@ $type:ident $(<$part:ident>)?) => { Some(unsafe { view::<$type $(<$part>)?>(&self.array) }.into()) };
        }
        for_each_dtype!(by_dtype)
    }
}

/// An array whose elements are contiguous, aligned, and valid whatever their bytes are.
///
/// Its dtype is numeric, but not `bool`, and its rank at least 1. Instances of subclasses are none.
pub(crate) struct ContiguousArray<'a> {
    pub(crate) dtype: DType,
    pub(crate) shape: &'a [usize],
    pub(crate) bytes: &'a [u8],
}

impl<'a> ContiguousArray<'a> {
    #[inline]
    pub(crate) fn new(object: &'a Bound<'_, PyAny>) -> Option<ContiguousArray<'a>> {
        const FLAGS: c_int = NPY_ARRAY_ALIGNED | NPY_ARRAY_C_CONTIGUOUS;
        let array = object.cast_exact::<PyUntypedArray>().ok()?;
        if flags(array) & FLAGS != FLAGS || array.ndim() == 0 {
            return None;
        }
        let dtype = dtype::from_descr(&array.dtype()).filter(|&dtype| dtype != DType::Bool)?;
        let shape = array.shape();
        let len = shape.iter().product::<usize>() * dtype::item_size(dtype);
        // Safety: the array has this many contiguous bytes, which live as long as it does. The caller is attached
        // to the interpreter; what other threads write meanwhile is read as arbitrary bytes, as in NumPy.
        let bytes = if len == 0 { &[] } else { unsafe { std::slice::from_raw_parts(data(array), len) } };
        Some(ContiguousArray { dtype, shape, bytes })
    }

    /// A copy of an array of at most `max_elements`, whose elements are not contiguous.
    pub(crate) fn copied(
        object: &'a Bound<'_, PyAny>,
        max_elements: usize,
        copy: &'a mut Vec<u128>,
    ) -> Option<ContiguousArray<'a>> {
        let array = object.cast_exact::<PyUntypedArray>().ok()?;
        let dtype = dtype::from_descr(&array.dtype()).filter(|&dtype| dtype != DType::Bool)?;
        let (shape, item) = (array.shape(), dtype::item_size(dtype));
        let elements = shape.iter().try_fold(1usize, |elements, &size| elements.checked_mul(size))?;
        if !(1..=max_elements).contains(&elements) || shape.is_empty() || !is_regular(array, dtype) {
            return None;
        }
        copy.resize((elements * item).div_ceil(size_of::<u128>()), 0);
        let bytes = &mut bytemuck::cast_slice_mut::<u128, u8>(copy)[..elements * item];
        // Safety: the elements have this size and alignment, and any bytes are valid.
        unsafe {
            match item {
                1 => gather::<u8>(array, bytes),
                2 => gather::<u16>(array, bytes),
                4 => gather::<u32>(array, bytes),
                8 => gather::<u64>(array, bytes),
                16 => gather::<[u64; 2]>(array, bytes),
                _ => return None,
            }
        }
        Some(ContiguousArray { dtype, shape, bytes })
    }
}

/// Copies the elements of an array that is not empty, in row-major order.
///
/// # Safety
///
/// The array is [regular](is_regular), for elements with the size and alignment of `T`, and has as many of them.
unsafe fn gather<T: bytemuck::Pod>(array: &NumPy<'_>, copy: &mut [u8]) {
    let (shape, strides) = (array.shape(), array.strides());
    let Some(((&len, outer), (&stride, outer_strides))) = shape.split_last().zip(strides.split_last()) else {
        return;
    };
    let mut index: SmallVec<[usize; 8]> = SmallVec::from_elem(0, outer.len());
    let mut first = data(array).cast_const();
    for row in bytemuck::cast_slice_mut::<u8, T>(copy).chunks_exact_mut(len) {
        for (at, element) in row.iter_mut().enumerate() {
            // Safety: NumPy guarantees an element at each index, which the caller guarantees to be an aligned `T`. It is
            // initialized: see the module's documentation.
            *element = unsafe { first.offset(at as isize * stride).cast::<T>().read() };
        }
        for (dim, (&size, &stride)) in outer.iter().zip(outer_strides).enumerate().rev() {
            index[dim] += 1;
            if index[dim] < size {
                first = first.wrapping_offset(stride);
                break;
            }
            index[dim] = 0;
            first = first.wrapping_offset(-stride * (size as isize - 1));
        }
    }
}

/// Allocates an array and calls a function that writes all of its bytes.
pub(crate) fn new_contiguous_array<'py>(
    py: Python<'py>,
    dtype: DType,
    shape: &[usize],
    fill: impl FnOnce(&mut [u8]),
) -> PyResult<Bound<'py, PyAny>> {
    let array = allocate(py, to_descr(py, dtype)?, shape, None, false)?;
    let len = shape.iter().product::<usize>() * dtype::item_size(dtype);
    if len > 0 {
        // Safety: a new array has this many contiguous bytes, and nothing else references it yet. They are initialized:
        // see the module's documentation.
        fill(unsafe { std::slice::from_raw_parts_mut(data(&array), len) });
    }
    Ok(array.into_any())
}

/// Calls a function with the bytes of an existing array.
///
/// Returns `None` where it is not contiguous and writeable, has another dtype or shape, or shares memory with one of the
/// inputs.
pub(crate) fn write_to_contiguous(
    out: &Bound<'_, PyAny>,
    dtype: DType,
    shape: &[usize],
    inputs: &[ContiguousArray<'_>],
    fill: impl FnOnce(&mut [u8]),
) -> Option<()> {
    let (array, numpy) = (ContiguousArray::new(out)?, out.cast_exact::<PyUntypedArray>().ok()?);
    let is_apart = |input: &ContiguousArray<'_>| {
        let (own, other) = (array.bytes.as_ptr_range(), input.bytes.as_ptr_range());
        own.end <= other.start || other.end <= own.start
    };
    let fits =
        array.dtype == dtype && array.shape == shape && is_writeable(numpy) && inputs.iter().all(is_apart);
    if fits && !array.bytes.is_empty() {
        let len = array.bytes.len();
        // Safety: these are the bytes of a writeable array, none of which an input has, and the reference in `array`
        // is not used any more. The caller is attached to the interpreter.
        fill(unsafe { std::slice::from_raw_parts_mut(data(numpy), len) });
    }
    fits.then_some(())
}

/// Whether elements are aligned and all strides are multiples of the element size.
fn is_regular(array: &NumPy<'_>, dtype: DType) -> bool {
    let item = dtype::item_size(dtype) as isize;
    let mut dims = array.strides().iter().zip(array.shape());
    flags(array) & NPY_ARRAY_ALIGNED != 0 && dims.all(|(stride, &size)| stride & (item - 1) == 0 || size <= 1)
}

/// Whether NumPy allows writes.
pub(crate) fn is_writeable(array: &NumPy<'_>) -> bool {
    flags(array) & NPY_ARRAY_WRITEABLE != 0
}

fn flags(array: &NumPy<'_>) -> c_int {
    // Safety: the pointer is to a live array object.
    unsafe { (*array.as_array_ptr()).fields.flags }
}

/// Addresses of the elements, from the lowest to behind the highest.
fn address_range(array: &NumPy<'_>) -> Range<usize> {
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

/// Address of the element at index 0.
pub(crate) fn data(array: &NumPy<'_>) -> *mut u8 {
    // Safety: the pointer is to a live array object.
    unsafe { (*array.as_array_ptr()).fields.data.cast() }
}

/// Whether all bytes of an array of booleans are 0 or 1.
///
/// Views of other dtypes, files and unset memory may hold other bytes. Stretched dimensions are read once.
pub(crate) fn is_valid_bool(array: &NumericArray<'_>) -> bool {
    assert!(array.dtype == DType::Bool, "only booleans have invalid values");
    // Safety: booleans have the size and alignment of `u8`, for which every byte is valid.
    let mut bytes = unsafe { view::<u8>(&array.array) };
    for axis in 0..bytes.ndim() {
        if bytes.strides()[axis] == 0 && !bytes.is_empty() {
            bytes.collapse_axis(Axis(axis), 0);
        }
    }
    let or = |bits, &byte: &u8| bits | byte;
    let bits = match bytes.as_slice_memory_order() {
        Some(bytes) => bytes.iter().fold(0, or),
        None => bytes.iter().fold(0, or),
    };
    bits <= 1
}

/// The elements of an array of dtype `T`.
///
/// # Safety
///
/// The array has dtype `T` and is [regular](is_regular).
unsafe fn view<'a, T: Numeric>(array: &'a NumPy<'_>) -> ArrayViewD<'a, T> {
    // Safety: the caller guarantees dtype and layout.
    let Layout { first, strides, reversed } = unsafe { Layout::<T>::new(array) };
    // Safety: NumPy guarantees an element at each index for the life of the array, 'a; it is initialized, as the
    // module's documentation explains. The caller guarantees that it is an aligned `T`. Sizes and strides are NumPy's,
    // with negative strides reversed.
    let mut view = unsafe { ArrayViewD::from_shape_ptr(IxDyn(array.shape()).strides(strides), first) };
    reversed.into_iter().for_each(|axis| view.invert_axis(axis));
    view
}

/// The elements of an array of dtype `T`, mutable.
///
/// # Safety
///
/// As for `view`; no two indices share an element, and no other view of the elements exists during 'a.
unsafe fn view_mut<'a, T: Numeric>(array: &'a NumPy<'_>) -> ArrayViewMutD<'a, T> {
    // Safety: the caller guarantees dtype and layout.
    let Layout { first, strides, reversed } = unsafe { Layout::<T>::new(array) };
    // Safety: as for `view`; the caller guarantees exclusive access.
    let mut view = unsafe { ArrayViewMutD::from_shape_ptr(IxDyn(array.shape()).strides(strides), first) };
    reversed.into_iter().for_each(|axis| view.invert_axis(axis));
    view
}

/// Allocates an array of arbitrary elements and calls a function that writes all of them.
///
/// `axes` are all axes from the largest stride to the smallest; by default the array is row-major.
pub(crate) fn new_array_with<'py, T: Numeric>(
    py: Python<'py>,
    shape: &[usize],
    axes: Option<&[usize]>,
    fill: impl FnOnce(ArrayViewMutD<'_, T>) -> PyResult<()>,
) -> PyResult<NumPy<'py>> {
    let array = allocate(py, to_descr(py, T::DTYPE)?, shape, axes, T::DTYPE == unishape::DType::Bool)?;
    // Safety: a new array is regular, its elements are distinct, and nothing else references it yet. They are
    // initialized: see the module's documentation.
    fill(unsafe { view_mut::<T>(&array) })?;
    Ok(array)
}

/// Slots for arrays whose memory can be reused. Locked only by threads that are attached to Python.
pub(crate) type Spares = Mutex<Vec<Option<Tensor>>>;

/// Owns the memory of a NumPy array. When dropped, it returns the memory to its slot, if it has one.
#[pyclass(frozen)]
struct Owner {
    array: Option<Tensor>,
    slot: Option<SpareSlot>,
}

/// Slot to which the memory of an array returns.
pub(crate) type SpareSlot = (Weak<Spares>, usize);

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some((spares, index)) = &self.slot
            && let Some(spares) = spares.upgrade()
            && let Some(slot) = spares.lock().unwrap_or_else(PoisonError::into_inner).get_mut(*index)
        {
            *slot = self.array.take();
        }
    }
}

/// Converts an array to a NumPy array; large ones without a copy.
pub(crate) fn into_numpy<'py, T: Numeric>(
    py: Python<'py>,
    mut array: ArrayD<T>,
    slot: Option<SpareSlot>,
) -> PyResult<NumPy<'py>>
where
    Tensor: From<ArrayD<T>>,
{
    if array.len() < COPY_THRESHOLD || !array.is_standard_layout() {
        return new_array_with(py, array.shape(), None, |mut view| {
            view.assign(&array);
            Ok(())
        });
    }
    // Moving the array does not move its elements.
    let (first, mut sizes) = (array.as_mut_ptr(), npy_sizes(array.shape())?);
    let owner = Bound::new(py, Owner { array: Some(array.into()), slot })?;
    // Safety: `sizes` has one entry per dimension, and `first` points to a contiguous array of this shape. The
    // NumPy array references the owner, which keeps the elements in place and does not access them.
    unsafe {
        let none = std::ptr::null_mut::<std::ffi::c_void>();
        let array = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            PyUntypedArray::type_object_raw(py),
            to_descr(py, T::DTYPE)?.into_dtype_ptr(),
            sizes.len() as c_int,
            sizes.as_mut_ptr(),
            none.cast(),
            first.cast(),
            NPY_ARRAY_WRITEABLE,
            none.cast(),
        );
        with_base(Bound::from_owned_ptr_or_err(py, array)?.cast_into_unchecked(), owner.into_any())
    }
}

/// Arrays with fewer elements are copied: an owner object costs more. Not measured apart.
const COPY_THRESHOLD: usize = 1 << 12;

/// Sets the base object of a view, which owns its memory.
///
/// # Safety
///
/// The view has no base yet.
unsafe fn with_base<'py>(view: NumPy<'py>, base: Bound<'py, PyAny>) -> PyResult<NumPy<'py>> {
    // Safety: both objects are alive. The call steals the reference to the base, also when it fails.
    match unsafe { PY_ARRAY_API.PyArray_SetBaseObject(view.py(), view.as_array_ptr(), base.into_ptr()) } {
        0 => Ok(view),
        _ => Err(PyErr::fetch(view.py())),
    }
}

/// Calls a function that writes an existing array.
///
/// Returns `None` where the array has another dtype or an unsupported layout, or shares memory with an input.
pub(crate) fn write_to<'py, T: Numeric>(
    array: &NumPy<'py>,
    inputs: &[&NumPy<'py>],
    write: impl FnOnce(ArrayViewMutD<'_, T>) -> PyResult<()>,
) -> PyResult<Option<()>> {
    let fits = dtype::from_descr(&array.dtype()) == Some(T::DTYPE) && is_regular(array, T::DTYPE);
    if !fits || !is_writeable(array) || !has_distinct_elements(array) {
        return Ok(None);
    }
    for input in inputs {
        if share_memory(array, input)? {
            return Ok(None);
        }
    }
    // Safety: checked above: the dtype is `T`, the array is regular, its elements are distinct, and the inputs,
    // of which views exist, share none of them.
    write(unsafe { view_mut::<T>(array) }).map(Some)
}

/// Whether no two indices share an element. Returns false where that is hard to decide.
fn has_distinct_elements(array: &NumPy<'_>) -> bool {
    let dims = array.strides().iter().zip(array.shape()).filter(|&(_, &size)| size > 1);
    let mut dims: SmallVec<[(usize, usize); 8]> =
        dims.map(|(stride, &size)| (stride.unsigned_abs(), size)).collect();
    dims.sort_unstable();
    // Bytes that the dimensions so far extend over, the last element included.
    let mut extent = array.dtype().itemsize();
    array.is_empty()
        || dims.iter().all(|&(stride, size)| {
            let is_distinct = stride >= extent;
            extent += stride * (size - 1);
            is_distinct
        })
}

/// Whether the memory that one array extends over is apart from that of another, as two of NumPy's arrays.
pub(crate) fn are_apart(one: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>) -> bool {
    let range = |object: &Bound<'_, PyAny>| object.cast_exact::<PyUntypedArray>().ok().map(address_range);
    matches!((range(one), range(other)), (Some(a), Some(b)) if a.end <= b.start || b.end <= a.start)
}

/// Whether two arrays share memory. Returns true where that is hard to decide.
pub(crate) fn share_memory(one: &NumPy<'_>, other: &NumPy<'_>) -> PyResult<bool> {
    let (a, b) = (address_range(one), address_range(other));
    if a.end <= b.start || b.end <= a.start {
        return Ok(false);
    }
    const MAX_WORK: usize = 100_000;
    let py = one.py();
    match py.import("numpy")?.call_method1("shares_memory", (one, other, MAX_WORK)) {
        Ok(shared) => shared.is_truthy(),
        Err(error) if error.is_instance_of::<pyo3::exceptions::PyRuntimeError>(py) => Ok(true),
        Err(error) => Err(error),
    }
}

/// First element and non-negative strides, as ndarray requires them.
struct Layout<T> {
    first: *mut T,
    strides: IxDyn,
    /// Axes that have negative strides in NumPy.
    reversed: SmallVec<[Axis; 4]>,
}

impl<T> Layout<T> {
    /// # Safety
    ///
    /// The array has dtype `T` and is [regular](is_regular).
    unsafe fn new(array: &NumPy<'_>) -> Layout<T> {
        let (sizes, byte_strides) = (array.shape(), array.strides());
        let mut first = data(array).cast::<T>();
        let mut strides = IxDyn(sizes); // of the same rank; every entry is overwritten
        let mut reversed = SmallVec::new();
        if array.is_empty() {
            // ndarray does not accept all strides that NumPy gives to empty arrays.
            let mut next = 1;
            for (to, &size) in strides.slice_mut().iter_mut().zip(sizes).rev() {
                *to = next;
                next *= size.max(1);
            }
            // Its address may be unaligned, for example in a message from another process.
            let first = std::ptr::NonNull::dangling().as_ptr();
            return Layout { first, strides, reversed };
        }
        for (axis, to) in strides.slice_mut().iter_mut().enumerate() {
            let (size, stride) = (sizes[axis], byte_strides[axis] / size_of::<T>() as isize);
            *to = if size <= 1 { 0 } else { stride.unsigned_abs() };
            if stride < 0 && size > 1 {
                // Safety: the last element along this axis is in the same allocation.
                first = unsafe { first.offset(stride * (size as isize - 1)) };
                reversed.push(Axis(axis));
            }
        }
        Layout { first, strides, reversed }
    }
}

/// Allocates an array of arbitrary bytes, but of zeros where it `is_bool`, since booleans have invalid bytes.
///
/// `axes` are all axes from the largest stride to the smallest; by default the array is row-major.
fn allocate<'py>(
    py: Python<'py>,
    descr: Bound<'py, PyArrayDescr>,
    shape: &[usize],
    axes: Option<&[usize]>,
    is_bool: bool,
) -> PyResult<NumPy<'py>> {
    let mut sizes = npy_sizes(shape)?;
    let item = descr.itemsize() as npy_intp;
    let mut strides: SmallVec<[npy_intp; 8]> = SmallVec::new();
    if let Some(axes) = axes {
        strides.resize(shape.len(), item);
        let mut next = item;
        for &axis in axes.iter().rev() {
            strides[axis] = next;
            // An array that is too large for this is not allocated.
            next = next.saturating_mul(sizes[axis].max(1));
        }
    }
    let strides = if strides.is_empty() { std::ptr::null_mut() } else { strides.as_mut_ptr() };
    let (rank, sizes) = (sizes.len() as c_int, sizes.as_mut_ptr());
    // Safety: `sizes`, and `strides` if there are any, have one entry per dimension. The strides are those of a
    // contiguous array whose axes are permuted, so all elements are in the memory that NumPy allocates. The call steals
    // the reference to the dtype and returns a new reference, or null and an exception. A new array is contiguous, so
    // it has as many bytes as elements times their size.
    unsafe {
        let array = if is_bool && strides.is_null() {
            PY_ARRAY_API.PyArray_Zeros(py, rank, sizes, descr.into_dtype_ptr(), 0)
        } else {
            let class = PyUntypedArray::type_object_raw(py);
            let none = std::ptr::null_mut::<std::ffi::c_void>();
            let descr = descr.into_dtype_ptr();
            PY_ARRAY_API.PyArray_NewFromDescr(py, class, descr, rank, sizes, strides, none, 0, none.cast())
        };
        let array: NumPy<'py> = Bound::from_owned_ptr_or_err(py, array)?.cast_into_unchecked();
        if is_bool && !strides.is_null() {
            data(&array).write_bytes(0, shape.iter().product());
        }
        Ok(array)
    }
}

/// A read-only view of an array, broadcast to a shape (BC-10).
pub(crate) fn broadcast_view<'py>(
    array: &NumPy<'py>,
    rules: Rules,
    shape: &[usize],
) -> PyResult<Result<NumPy<'py>, StretchError>> {
    let py = array.py();
    let mut sizes = npy_sizes(shape)?;
    let mut strides: SmallVec<[npy_intp; 8]> = SmallVec::from_elem(0, shape.len());
    if let Err(error) = broadcast_strides(rules, array.shape(), array.strides(), shape, &mut strides) {
        return Ok(Err(error));
    }
    // Safety: `sizes` and `strides` have one entry per dimension. Each dimension has the array's own size and
    // stride, or stride 0, so every element of the view is an element of the array. A size of 0 stretches to no
    // other size, so the array is not empty unless the view is. The base keeps the memory alive. Without
    // flags the view is read-only.
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
        with_base(view, array.clone().into_any()).map(Ok)
    }
}

/// Reference count of an object.
pub(crate) fn reference_count(object: &Bound<'_, PyAny>) -> isize {
    // Safety: the object is alive.
    unsafe { pyo3::ffi::Py_REFCNT(object.as_ptr()) }
}

/// The NumPy dtype.
pub(crate) fn to_descr(py: Python<'_>, dtype: DType) -> PyResult<Bound<'_, PyArrayDescr>> {
    match dtype::type_number(dtype) {
        Some(number) => Ok(builtin_descr(py, number)),
        None => dtype::bfloat16(py),
    }
}

/// One of NumPy's built-in dtypes.
fn builtin_descr(py: Python<'_>, number: npyffi::NPY_TYPES) -> Bound<'_, PyArrayDescr> {
    // Safety: built-in dtypes always exist; the call returns a new reference.
    unsafe {
        let descr = PY_ARRAY_API.PyArray_DescrFromType(py, number as c_int);
        Bound::from_owned_ptr(py, descr.cast()).cast_into_unchecked()
    }
}

/// Largest rank of a NumPy array.
const MAX_NUMPY_RANK: usize = 64;

fn npy_sizes(shape: &[usize]) -> PyResult<SmallVec<[npy_intp; 8]>> {
    if shape.len() > MAX_NUMPY_RANK {
        let text = format!("NumPy arrays have at most {MAX_NUMPY_RANK} dimensions, not {}", shape.len());
        return Err(pyo3::exceptions::PyValueError::new_err(text));
    }
    let sizes = shape.iter().map(|&size| npy_intp::try_from(size));
    sizes.collect::<Result<_, _>>().map_err(|_| crate::errors::too_large(shape))
}
