//! Expressions of arrays on a GPU.
//!
//! Everything runs on one stream: the current one of the first array's library. Where arrays are of several libraries, the
//! streams of the others wait for this one, and this one for them, by events. The calling thread never waits, unless an
//! array is of a library that could reuse its memory too early.
#![allow(unsafe_code)]

use super::devices::{device, driver_error, order};
use super::dtypes::numpy_dtype;
use super::layout::{has_distinct_elements, may_share};
use super::library::{GpuArray, Library, is_gpu_array, to_library};
use super::result;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use smallvec::SmallVec;
use std::fmt::Write;
use std::sync::{Arc, OnceLock};
use unishape::DType;
use unishape::cuda::{ArrayType, Device, DeviceMemory, Numerics, Plan, Stream, Variable};
use unishape::expr::{Expr, Scalar};

/// A value of a variable, where at least one is an array on a GPU.
#[derive(Clone)]
pub(crate) enum GpuInput<'py> {
    Array(Bound<'py, PyAny>),
    /// One element of a dtype, from the CPU.
    Element(DType, SmallVec<[u8; 16]>),
    Scalar(Scalar),
}

/// Shape and dtype of an array on a GPU.
pub(crate) fn describe(object: &Bound<'_, PyAny>) -> PyResult<(Vec<usize>, DType)> {
    if Library::of(object) == Library::Jax {
        return Ok((object.getattr("shape")?.extract()?, numpy_dtype(&object.getattr("dtype")?)?));
    }
    // Nothing is read: its library need not wait for anything.
    let array = GpuArray::new(object, None)?;
    Ok((array.shape.to_vec(), array.dtype))
}

/// The arrays of a call, and the stream that computes.
struct Call<'py> {
    py: Python<'py>,
    number: usize,
    stream: Stream,
    /// One for each input; `None` for numbers.
    arrays: SmallVec<[Option<GpuArray<'py>>; 4]>,
    out: Option<GpuArray<'py>>,
    /// Streams of the libraries of all arrays, other than the one that computes.
    others: SmallVec<[Stream; 2]>,
}

impl<'py> Call<'py> {
    fn new(
        py: Python<'py>,
        inputs: &[GpuInput<'py>],
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Call<'py>> {
        if let Some(out) = out
            && !is_gpu_array(out)?
        {
            return Err(PyTypeError::new_err(format!(
                "out must be an array on the GPU, as the inputs are, not {}",
                out.get_type().name()?
            )));
        }
        // Libraries without a current stream need to know which one reads: all others are queried first.
        let mut arrays: SmallVec<[Option<GpuArray<'py>>; 4]> = SmallVec::new();
        for input in inputs {
            arrays.push(match input {
                GpuInput::Array(object) => GpuArray::without_stream(object)?,
                _ => None,
            });
        }
        let mut to_write = match out {
            Some(out) => GpuArray::without_stream(out)?,
            None => None,
        };
        let mut streams: SmallVec<[(Library, usize, Stream); 2]> = SmallVec::new();
        for array in arrays.iter().flatten().chain(&to_write) {
            let Some(device) = array.device else { continue };
            let is_known = |known: &(Library, usize, Stream)| (known.0, known.1) == (array.library, device);
            if !streams.iter().any(is_known)
                && let Some(stream) = array.library.current_stream(py, device)?
            {
                streams.push((array.library, device, stream));
            }
        }
        let stream = streams.first().map_or(Stream::default(), |&(_, _, stream)| stream);
        for (input, array) in inputs.iter().zip(&mut arrays) {
            if let (GpuInput::Array(object), None) = (input, &array) {
                *array = Some(GpuArray::new(object, Some(stream))?);
            }
        }
        if let (Some(out), None) = (out, &to_write) {
            to_write = Some(GpuArray::new(out, Some(stream))?);
        }
        let (given, out) = (out, to_write);
        let mut devices = arrays.iter().flatten().chain(&out).filter_map(|array| array.device);
        let number = devices.next().unwrap_or_default();
        if let Some(other) = devices.find(|&other| other != number) {
            return Err(PyValueError::new_err(format!(
                "arrays are on different devices, {number} and {other}: copy them to one of them"
            )));
        }
        let of_arrays = arrays.iter().flatten().chain(&out).filter_map(|array| array.stream);
        let mut others: SmallVec<[Stream; 2]> = SmallVec::new();
        for other in streams.iter().map(|&(_, _, stream)| stream).chain(of_arrays) {
            if other != stream && !others.contains(&other) {
                others.push(other);
            }
        }
        if let (Some(object), Some(out)) = (given, &out) {
            check_out(object, out)?;
        }
        Ok(Call { py, number, stream, arrays, out, others })
    }

    /// The first array on the GPU, whose library gets the result.
    fn first(&self) -> PyResult<&GpuArray<'py>> {
        let first = self.arrays.iter().flatten().next();
        first.ok_or_else(|| PyTypeError::new_err("no input is an array on the GPU"))
    }

    /// Memory for temporaries, from the library whose stream computes, if it has an allocator.
    fn allocate(&self, device: &Device, bytes: usize) -> PyResult<Temporary<'py>> {
        // The first array of a library with a stream: its stream computes.
        let has_stream = |array: &&GpuArray<'py>| !array.must_outlive_kernels();
        if let Some(array) = self.arrays.iter().flatten().find(has_stream)
            && let Some(memory) = array.new_like(DType::U8, &[bytes])?
        {
            return Ok(Temporary::Array { address: memory.address, _array: memory.object });
        }
        device.allocate(bytes, self.stream).map(Temporary::DeviceMemory).map_err(driver_error)
    }
}

/// Memory that kernels use. It is freed in the order of the stream.
enum Temporary<'py> {
    Array { _array: Bound<'py, PyAny>, address: u64 },
    DeviceMemory(DeviceMemory),
}

impl Temporary<'_> {
    fn address(&self) -> u64 {
        match self {
            Temporary::Array { address, .. } => *address,
            Temporary::DeviceMemory(memory) => memory.address(),
        }
    }
}

fn check_out(given: &Bound<'_, PyAny>, out: &GpuArray<'_>) -> PyResult<()> {
    if !out.object.is(given) {
        return Err(PyValueError::new_err(
            "out is a conjugated or negated view, whose elements are not in memory as they are read: pass a tensor of its own",
        ));
    }
    if out.library == Library::Jax {
        return Err(PyTypeError::new_err("out is a JAX array, which cannot change; use the result instead"));
    }
    if out.is_read_only {
        return Err(PyValueError::new_err("out is read-only; pass a writeable array"));
    }
    if !has_distinct_elements(out) {
        return Err(PyValueError::new_err("out has several indices for one element; pass a copy of it"));
    }
    Ok(())
}

/// Evaluates an expression whose variables have these values.
pub(crate) fn compute<'py>(
    py: Python<'py>,
    expr: &Expr,
    inputs: &[GpuInput<'py>],
    out: Option<&Bound<'py, PyAny>>,
    numerics: Numerics,
) -> PyResult<Bound<'py, PyAny>> {
    let mut call = Call::new(py, inputs, out)?;
    let variables = variables(inputs, &call.arrays);
    // An output that shares elements with an input is written when all is computed.
    let is_shared = |out: &GpuArray<'py>| call.arrays.iter().flatten().any(|array| may_share(out, array));
    let direct = call.out.as_ref().filter(|out| !is_shared(out));
    let plan =
        Plan::cached(expr, &variables, direct.map(GpuArray::array_type), numerics).map_err(driver_error)?;
    if let Some(out) = &call.out {
        check_fits(&plan, out)?;
    }
    let device = device(call.number)?;
    if let Some(out) = direct {
        run(&call, &device, inputs, &plan, out.address)?;
        finish(&call, &device)?;
        return Ok(out.object.clone());
    }
    if let Some(out) = &call.out {
        let temporary = call.allocate(&device, bytes_of(plan.dtype(), plan.shape())?)?;
        run(&call, &device, inputs, &plan, temporary.address())?;
        copy(&call, &device, &plan, temporary.address(), out)?;
        finish(&call, &device)?;
        return Ok(out.object.clone());
    }
    let first = call.first()?;
    if let Some(result) = first.new_like(plan.dtype(), plan.shape())? {
        run(&call, &device, inputs, &plan, result.address)?;
        finish(&call, &device)?;
        return Ok(result.object);
    }
    let (library, like) = (first.library, first.object.clone());
    // The result may outlive the other library's stream: its memory is that of the default one.
    let stream = Stream::default();
    if call.stream != stream && !call.others.contains(&stream) {
        call.others.push(stream);
    }
    let result = result::allocate(&device, call.number, plan.dtype(), plan.shape(), stream)?;
    run(&call, &device, inputs, &plan, result.address)?;
    finish(&call, &device)?;
    to_library(library, &like, Bound::new(py, result)?)
}

/// Describes how an expression is computed on a GPU.
pub(crate) fn explain<'py>(
    py: Python<'py>,
    expr: &Expr,
    inputs: &[GpuInput<'py>],
    numerics: Numerics,
) -> PyResult<String> {
    let call = Call::new(py, inputs, None)?;
    let plan = Plan::cached(expr, &variables(inputs, &call.arrays), None, numerics).map_err(driver_error)?;
    let mut text = format!("GPU {}: {} of shape {:?}\n", call.number, plan.dtype(), plan.shape());
    for (number, launch) in plan.launches().iter().enumerate() {
        let _ = writeln!(
            text,
            "kernel {}: {} blocks of {} threads",
            number + 1,
            launch.blocks,
            launch.kernel.threads
        );
    }
    let bytes: usize = plan.temporaries().iter().sum();
    let _ = writeln!(text, "temporary memory: {bytes} bytes");
    Ok(text)
}

fn variables<'a>(
    inputs: &'a [GpuInput<'_>],
    arrays: &'a [Option<GpuArray<'_>>],
) -> SmallVec<[Variable<'a>; 4]> {
    let variable = |(input, array): (&'a GpuInput<'_>, &'a Option<GpuArray<'_>>)| match (input, array) {
        (GpuInput::Scalar(number), _) => Variable::Scalar(*number),
        (_, Some(array)) => Variable::Array(array.array_type()),
        (GpuInput::Element(dtype, _), None) => {
            Variable::Array(ArrayType { dtype: *dtype, shape: &[], strides: &[], alignment: 16 })
        }
        (GpuInput::Array(_), None) => Variable::Scalar(Scalar::Int(0)),
    };
    inputs.iter().zip(arrays).map(variable).collect()
}

fn bytes_of(dtype: DType, shape: &[usize]) -> PyResult<usize> {
    let bytes = shape.iter().try_fold(dtype.item_size(), |bytes, &size| bytes.checked_mul(size));
    bytes.ok_or_else(|| crate::errors::too_large(shape))
}

/// Starts the kernels of a plan, after what was started on the streams of all libraries.
fn run<'py>(
    call: &Call<'py>,
    device: &Device,
    inputs: &[GpuInput<'py>],
    plan: &Arc<Plan>,
    output: u64,
) -> PyResult<()> {
    if !device.is_loaded(plan) {
        // Compilation takes long.
        call.py.detach(|| device.prepare(plan)).map_err(driver_error)?;
    }
    for &other in &call.others {
        order(call.number, other, call.stream)?;
    }
    let temporaries = plan.temporaries().iter().map(|&bytes| call.allocate(device, bytes));
    let temporaries: SmallVec<[Temporary<'py>; 4]> = temporaries.collect::<PyResult<_>>()?;
    let mut elements: SmallVec<[Temporary<'py>; 2]> = SmallVec::new();
    let mut addresses: SmallVec<[u64; 8]> = SmallVec::new();
    for (input, array) in inputs.iter().zip(&call.arrays) {
        addresses.push(match (input, array) {
            (_, Some(array)) => array.address,
            (GpuInput::Element(_, bytes), None) => {
                let memory = call.allocate(device, 16)?;
                // Safety: the memory was just allocated, and is as aligned as every allocation.
                unsafe { device.write(memory.address(), bytes, call.stream) }.map_err(driver_error)?;
                let address = memory.address();
                elements.push(memory);
                address
            }
            _ => 0,
        });
    }
    let temporary_addresses: SmallVec<[u64; 8]> = temporaries.iter().map(Temporary::address).collect();
    // Safety: the plan was made for these arrays, which their libraries describe and keep: by the order of streams, or until
    // the kernels have run, see `finish`. The output was checked, or is new. Temporaries are freed in the order of the
    // stream.
    unsafe { device.run(plan, &addresses, output, &temporary_addresses, call.stream) }.map_err(driver_error)
}

/// Orders the streams of all libraries after everything that was started.
fn finish(call: &Call<'_>, device: &Device) -> PyResult<()> {
    for &other in &call.others {
        order(call.number, call.stream, other)?;
    }
    // A library without a stream does not know that its array is read, or written.
    if call.arrays.iter().flatten().chain(&call.out).any(GpuArray::must_outlive_kernels) {
        let stream = call.stream;
        call.py.detach(|| device.synchronize(stream)).map_err(driver_error)?;
    }
    Ok(())
}

fn check_fits(plan: &Plan, out: &GpuArray<'_>) -> PyResult<()> {
    use unishape::cuda::Error;
    if plan.dtype() != out.dtype {
        return Err(driver_error(Error::OutputType { result: plan.dtype(), output: out.dtype }));
    }
    if plan.shape() != &out.shape[..] {
        let (result, output) = (plan.shape().to_vec(), out.shape.to_vec());
        return Err(driver_error(Error::OutputShape { result, output }));
    }
    Ok(())
}

/// Copies a contiguous result to an output.
fn copy(call: &Call<'_>, device: &Device, plan: &Plan, from: u64, out: &GpuArray<'_>) -> PyResult<()> {
    static COPY: OnceLock<Expr> = OnceLock::new();
    let expr = match COPY.get() {
        Some(expr) => expr,
        None => {
            let expr = Expr::parse("x[...]").map_err(crate::errors::expression_error)?;
            COPY.get_or_init(|| expr)
        }
    };
    let strides = unishape::cuda::row_major(plan.shape());
    let array = ArrayType { dtype: plan.dtype(), shape: plan.shape(), strides: &strides, alignment: 16 };
    let copy = Plan::cached(expr, &[Variable::Array(array)], Some(out.array_type()), plan.numerics());
    let copy = copy.map_err(driver_error)?;
    // Safety: the plan was made for the result, which was computed on the same stream, and for this output. It needs no
    // temporaries.
    unsafe { device.run(&copy, &[from], out.address, &[], call.stream) }.map_err(driver_error)
}
