//! The element-wise functions, generated from the table of operations.

use crate::clip::clip_call;
use crate::compute::{Options, compute};
use crate::containers::Containers;
use crate::errors::expression_error;
use crate::gpu;
use crate::input::Input;
use crate::lazy::Lazy;
use crate::memory::{ContiguousArray, new_contiguous_array, write_to_contiguous};
use crate::powers;
use crate::threads::ThreadCount;
use pyo3::prelude::*;
use smallvec::SmallVec;
use unishape::DType;
use unishape::cuda::Numerics;
use unishape::expr::{ContiguousCall, Expr, Op};
use unishape_kernels::for_each_op;

/// Calls a function; the result is lazy where an argument is.
fn call<'py>(
    py: Python<'py>,
    op: Op,
    arguments: &[&Bound<'py, PyAny>],
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<ThreadCount>,
) -> PyResult<Bound<'py, PyAny>> {
    if arguments.iter().any(|object| object.is_instance_of::<Lazy>()) {
        return Lazy::from_call(py, op, arguments, out, threads);
    }
    if let Some(result) = call_contiguous(py, op, arguments, out) {
        return result;
    }
    let mut inputs: SmallVec<[Input<'py>; 3]> = SmallVec::new();
    for object in arguments {
        inputs.push(Input::new(object)?);
    }
    if op == Op::Pow {
        powers::check_call(&inputs)?;
    }
    if let Some(inputs) = Input::on_gpu(&inputs, |number| format!("argument {}", number + 1))? {
        return gpu::compute(py, &Expr::call(op), &inputs, out, Numerics::Exact);
    }
    // Labels are checked before anything is computed.
    let containers = Containers::of_call(op.name(), arguments)?;
    let options = Options::new(out, threads)?;
    let values = inputs.iter().filter_map(Input::value);
    let bound = Expr::call(op).bind_positional(values).map_err(expression_error)?;
    let result = compute(py, &bound, &inputs, options)?.into_any();
    out.map_or_else(|| Containers::wrap(containers, result), |out| Ok(out.clone()))
}

/// Calls a function of small contiguous arrays, which is twice as fast; `None` for others.
fn call_contiguous<'py>(
    py: Python<'py>,
    op: Op,
    arguments: &[&Bound<'py, PyAny>],
    out: Option<&Bound<'py, PyAny>>,
) -> Option<PyResult<Bound<'py, PyAny>>> {
    let mut inputs: SmallVec<[ContiguousArray<'_>; 3]> = SmallVec::new();
    for object in arguments {
        inputs.push(ContiguousArray::new(object).filter(|array| array.bytes.len() <= MAX_BYTES)?);
    }
    let dtypes: SmallVec<[DType; 3]> = inputs.iter().map(|input| input.dtype).collect();
    if op == Op::Pow
        && dtypes.iter().all(|&dtype| powers::is_integer(dtype))
        && powers::has_negative(dtypes[1], inputs[1].bytes)
    {
        return None;
    }
    if inputs.iter().all(|input| input.shape == inputs[0].shape) {
        return compute_contiguous(py, &ContiguousCall::new(op, &dtypes)?, &inputs, out);
    }
    let shape = common_shape(&inputs)?;
    let call = ContiguousCall::new(op, &dtypes)?;
    let stretched: SmallVec<[(&[usize], &[u8]); 3]> =
        inputs.iter().map(|input| (input.shape, input.bytes)).collect();
    let compute = |output: &mut [u8]| call.compute_stretched(&stretched, &shape, output);
    match out {
        None => Some(new_contiguous_array(py, call.dtype(), &shape, compute)),
        Some(out) => {
            write_to_contiguous(out, call.dtype(), &shape, &inputs, compute).map(|()| Ok(out.clone()))
        }
    }
}

/// Computes a result of arrays of one shape; `None` if it cannot be written to `out`.
pub(crate) fn compute_contiguous<'py>(
    py: Python<'py>,
    call: &ContiguousCall,
    inputs: &[ContiguousArray<'_>],
    out: Option<&Bound<'py, PyAny>>,
) -> Option<PyResult<Bound<'py, PyAny>>> {
    let shape = inputs[0].shape;
    let bytes: SmallVec<[&[u8]; 3]> = inputs.iter().map(|input| input.bytes).collect();
    let compute = |output: &mut [u8]| call.compute(&bytes, output);
    match out {
        None => Some(new_contiguous_array(py, call.dtype(), shape, compute)),
        Some(out) => write_to_contiguous(out, call.dtype(), shape, inputs, compute).map(|()| Ok(out.clone())),
    }
}

/// The shape that small arrays are stretched to; `None` if there is none, it has too many elements, or rows that are too
/// short.
fn common_shape(inputs: &[ContiguousArray<'_>]) -> Option<SmallVec<[usize; 6]>> {
    let rank = inputs.iter().map(|input| input.shape.len()).max()?;
    let mut shape: SmallVec<[usize; 6]> = SmallVec::from_elem(1, rank);
    for input in inputs {
        for (size, &own) in shape.iter_mut().rev().zip(input.shape.iter().rev()) {
            match (*size, own) {
                (_, 1) => {}
                (1, own) => *size = own,
                (size, own) if size == own => {}
                _ => return None,
            }
        }
    }
    let elements = shape.iter().product::<usize>();
    let row = shape.last().copied().unwrap_or(1).max(1);
    (elements <= MAX_STRETCHED && elements / row <= MAX_ROWS && elements > 0).then_some(shape)
}

/// Larger arrays are computed without the GIL. Arithmetic on as many bytes takes 1 to 2 µs, the slowest functions some 50.
///
/// EPYC: `a + b` of 50 × 50 float32 took 0.79 µs with a limit of 8 KiB.
const MAX_BYTES: usize = 1 << 16;

/// Most elements of a result of arrays that are stretched, which [`MAX_BYTES`] does not limit.
const MAX_STRETCHED: usize = 1 << 14;

/// Most rows of such a result. EPYC: each takes some 20 ns, and what is saved is 1 to 2 µs.
const MAX_ROWS: usize = 128;

macro_rules! functions {
    ($($op:ident $method:ident $arity:tt [$name:literal $(, $alias:literal)*] $what:literal;)+) => {
        $(functions!(@ $op $method $arity $name $what);)+

        /// Adds all functions to a module, under all their names.
        pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $({
                let function = wrap_pyfunction!($method, module)?;
                for name in [$name $(, $alias)*] {
                    if !HIDDEN.contains(&name) {
                        module.add(name, &function)?;
                    }
                }
            })+
            Ok(())
        }
    };
    (@ Clip $method:ident $arity:tt $name:literal $what:literal) => {};
    (@ $op:ident $method:ident 1 $name:literal $what:literal) => {
        #[doc = $what]
        #[pyfunction]
        #[pyo3(name = $name, signature = (x, /, *, out=None, threads=None))]
        fn $method<'py>(
            py: Python<'py>,
            x: &Bound<'py, PyAny>,
            out: Option<&Bound<'py, PyAny>>,
            threads: Option<ThreadCount>,
        ) -> PyResult<Bound<'py, PyAny>> {
            call(py, Op::$op, &[x], out, threads)
        }
    };
    (@ $op:ident $method:ident 2 $name:literal $what:literal) => {
        #[doc = $what]
        #[pyfunction]
        #[pyo3(name = $name, signature = (x, y, /, *, out=None, threads=None))]
        fn $method<'py>(
            py: Python<'py>,
            x: &Bound<'py, PyAny>,
            y: &Bound<'py, PyAny>,
            out: Option<&Bound<'py, PyAny>>,
            threads: Option<ThreadCount>,
        ) -> PyResult<Bound<'py, PyAny>> {
            call(py, Op::$op, &[x, y], out, threads)
        }
    };
    (@ $op:ident $method:ident 3 $name:literal $what:literal) => {
        #[doc = $what]
        #[pyfunction]
        #[pyo3(name = $name, signature = (condition, x, y, /, *, out=None, threads=None))]
        fn $method<'py>(
            py: Python<'py>,
            condition: &Bound<'py, PyAny>,
            x: &Bound<'py, PyAny>,
            y: &Bound<'py, PyAny>,
            out: Option<&Bound<'py, PyAny>>,
            threads: Option<ThreadCount>,
        ) -> PyResult<Bound<'py, PyAny>> {
            call(py, Op::$op, &[condition, x, y], out, threads)
        }
    };
}
for_each_op!(functions);

/// Names that are reductions in NumPy and in the Array API.
const HIDDEN: [&str; 2] = ["max", "min"];

/// Limits values to the range from min to max; None means no limit.
#[pyfunction]
#[pyo3(signature = (x, /, min=None, max=None, *, out=None, threads=None))]
fn clip<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    min: Option<&Bound<'py, PyAny>>,
    max: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<ThreadCount>,
) -> PyResult<Bound<'py, PyAny>> {
    let (op, arguments) = clip_call(x, min, max);
    call(py, op, &arguments, out, threads)
}
