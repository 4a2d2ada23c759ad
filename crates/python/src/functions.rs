//! The element-wise functions, generated from the table of operations.

use crate::clip::clip_call;
use crate::compute::{Options, compute};
use crate::containers::Containers;
use crate::errors::expression_error;
use crate::float_errors::Reported;
use crate::gpu;
use crate::input::Input;
use crate::lazy::Lazy;
use crate::memory::{ContiguousArray, are_apart, new_contiguous_array, write_to_contiguous};
use crate::powers;
use crate::threads::ThreadCount;
use crate::time::is_time;
use crate::ufunc::{UfuncOptions, call_with_options, outs, wrap};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::SmallVec;
use unishape::DType;
use unishape::cuda::Numerics;
use unishape::expr::{ContiguousCall, Expr, FloatFlags, Op, watch_flags};
use unishape_core::{Rules, check_broadcast_to};
use unishape_kernels::for_each_op;

/// Calls a function; the result is lazy where an argument is.
fn call<'py>(
    py: Python<'py>,
    op: Op,
    arguments: &[&Bound<'py, PyAny>],
    options: UfuncOptions<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let out = options.out.as_ref();
    let is_plain = options.is_plain();
    if arguments.iter().any(|object| object.is_instance_of::<Lazy>()) {
        if !is_plain {
            let text = "where=, dtype=, casting= and order= are not supported for lazy values; use unishape.where and \
                        .astype, or .compute() them first";
            return Err(PyTypeError::new_err(text));
        }
        return Lazy::from_call(py, op, arguments, out, options.threads);
    }
    if is_plain && let Some(result) = call_contiguous(py, op, arguments, out) {
        return result;
    }
    let result = match is_plain {
        true => call_arrays(py, op, arguments, out, options.threads),
        false => call_with_options(py, op, arguments, &options),
    };
    match result {
        Ok(result) if out.is_none() => wrap(arguments, result),
        Err(error) if is_plain && is_time(arguments)? => {
            drop(error);
            py.import("unishape._datetime")?
                .call_method1("call", (op.name(), PyTuple::new(py, arguments)?, out))
        }
        result => result,
    }
}

fn call_arrays<'py>(
    py: Python<'py>,
    op: Op,
    arguments: &[&Bound<'py, PyAny>],
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<ThreadCount>,
) -> PyResult<Bound<'py, PyAny>> {
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
    let options = Options::new(out, threads, Reported::Function(op))?;
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
        match ContiguousArray::new(object) {
            Some(array) => inputs.push(array),
            None => return call_copied(py, op, arguments, out),
        }
    }
    call_small(py, op, &inputs, out)
}

/// As [`call_contiguous`], of small arrays whose elements are contiguous in copies of them.
fn call_copied<'py>(
    py: Python<'py>,
    op: Op,
    arguments: &[&Bound<'py, PyAny>],
    out: Option<&Bound<'py, PyAny>>,
) -> Option<PyResult<Bound<'py, PyAny>>> {
    let mut copies: [Vec<u128>; 3] = Default::default();
    let mut inputs: SmallVec<[ContiguousArray<'_>; 3]> = SmallVec::new();
    let (mut contiguous, mut rank): (Option<&[usize]>, usize) = (None, 0);
    for (object, copy) in arguments.iter().zip(&mut copies) {
        let input = match ContiguousArray::new(object) {
            Some(input) => {
                contiguous =
                    contiguous.filter(|shape| shape.len() >= input.shape.len()).or(Some(input.shape));
                input
            }
            // Whether a copy shares memory with `out` could not be seen later.
            None if out.is_some_and(|out| !are_apart(object, out)) => return None,
            None => ContiguousArray::copied(object, MAX_COPIED, copy)?,
        };
        if input.bytes.len() > MAX_ARITHMETIC_BYTES {
            return None;
        }
        rank = rank.max(input.shape.len());
        inputs.push(input);
    }
    // The result is row-major where an array of its shape is. Other layouts are not determined here.
    let can_stretch = |own, shape: &[usize]| check_broadcast_to(Rules::STANDARD, own, shape).is_ok();
    let has_shape = |shape: &[usize]| inputs.iter().all(|input| can_stretch(input.shape, shape));
    contiguous.filter(|shape| shape.len() == rank && has_shape(shape))?;
    call_small(py, op, &inputs, out)
}

/// Calls a function of small arrays; `None` if they are too large.
fn call_small<'py>(
    py: Python<'py>,
    op: Op,
    inputs: &[ContiguousArray<'_>],
    out: Option<&Bound<'py, PyAny>>,
) -> Option<PyResult<Bound<'py, PyAny>>> {
    let bytes = inputs.iter().map(|input| input.bytes.len()).max()?;
    if bytes > MAX_ARITHMETIC_BYTES {
        return None;
    }
    let dtypes: SmallVec<[DType; 3]> = inputs.iter().map(|input| input.dtype).collect();
    if op == Op::Pow
        && dtypes.iter().all(|&dtype| powers::is_integer(dtype))
        && powers::has_negative(dtypes[1], inputs[1].bytes)
    {
        return None;
    }
    let call = ContiguousCall::new(op, &dtypes)?;
    let is_arithmetic = call.is_arithmetic();
    if bytes > MAX_BYTES && !is_arithmetic {
        return None;
    }
    if inputs.iter().all(|input| input.shape == inputs[0].shape) {
        return compute_contiguous(py, &call, inputs, out, || Reported::Function(op));
    }
    let shape = common_shape(inputs, is_arithmetic)?;
    let stretched: SmallVec<[(&[usize], &[u8]); 3]> =
        inputs.iter().map(|input| (input.shape, input.bytes)).collect();
    let mut flags = FloatFlags::NONE;
    let compute = |output: &mut [u8]| {
        ((), flags) = watch_flags(|| call.compute_stretched(&stretched, &shape, output));
    };
    let result = match out {
        None => new_contiguous_array(py, call.dtype(), &shape, compute),
        Some(out) => {
            write_to_contiguous(out, call.dtype(), &shape, inputs, compute)?;
            Ok(out.clone())
        }
    };
    Some(with_flags(py, result, flags, || Reported::Function(op)))
}

/// The result, after its overflows have been reported.
fn with_flags<'py>(
    py: Python<'py>,
    result: PyResult<Bound<'py, PyAny>>,
    flags: FloatFlags,
    reported: impl FnOnce() -> Reported,
) -> PyResult<Bound<'py, PyAny>> {
    if flags != FloatFlags::NONE && result.is_ok() {
        reported().report(py, flags)?;
    }
    result
}

/// Computes a result of arrays of one shape; `None` if it cannot be written to `out`.
pub(crate) fn compute_contiguous<'py>(
    py: Python<'py>,
    call: &ContiguousCall,
    inputs: &[ContiguousArray<'_>],
    out: Option<&Bound<'py, PyAny>>,
    reported: impl FnOnce() -> Reported,
) -> Option<PyResult<Bound<'py, PyAny>>> {
    let shape = inputs[0].shape;
    let bytes: SmallVec<[&[u8]; 3]> = inputs.iter().map(|input| input.bytes).collect();
    let mut flags = FloatFlags::NONE;
    let compute = |output: &mut [u8]| ((), flags) = watch_flags(|| call.compute(&bytes, output));
    let result = match out {
        None => new_contiguous_array(py, call.dtype(), shape, compute),
        Some(out) => {
            write_to_contiguous(out, call.dtype(), shape, inputs, compute)?;
            Ok(out.clone())
        }
    };
    Some(with_flags(py, result, flags, reported))
}

/// The shape that small arrays are stretched to; `None` if there is none, it has too many elements, or rows that are too
/// short.
fn common_shape(inputs: &[ContiguousArray<'_>], is_arithmetic: bool) -> Option<SmallVec<[usize; 6]>> {
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
    let row = ContiguousCall::row_len(inputs.iter().map(|input| input.shape), &shape).max(1);
    let fits = match is_arithmetic && row >= MIN_COMPILED_ROW {
        true => elements <= MAX_STRETCHED_ARITHMETIC,
        false => elements <= MAX_STRETCHED && elements / row <= MAX_ROWS,
    };
    (fits && elements > 0).then_some(shape)
}

/// Larger arrays are computed without the GIL. Arithmetic on as many bytes takes 1 to 2 µs, the slowest functions some 50.
///
/// EPYC: `a + b` of 50 × 50 float32 took 0.79 µs with a limit of 8 KiB.
const MAX_BYTES: usize = 1 << 16;

/// As [`MAX_BYTES`], for arithmetic, which takes some 5 µs.
const MAX_ARITHMETIC_BYTES: usize = 1 << 18;

/// Most elements of an array that is copied, since its elements are not contiguous. Zen 5: each takes 0.3 to 0.4 ns.
const MAX_COPIED: usize = 1 << 12;

/// Most elements of a result of arrays that are stretched, which [`MAX_BYTES`] does not limit: as many 4-byte elements fill
/// as many bytes. Not measured apart.
const MAX_STRETCHED: usize = 1 << 14;

/// As [`MAX_STRETCHED`], for arithmetic: as many 4-byte elements as fill [`MAX_ARITHMETIC_BYTES`]. Not measured apart.
const MAX_STRETCHED_ARITHMETIC: usize = 1 << 16;

/// Most rows of a result of arrays that are stretched. EPYC: each takes some 20 ns, and what is saved is 1 to 2 µs.
const MAX_ROWS: usize = 128;

/// From this length on, the number of rows does not matter for arithmetic: kernels compiled at run time take all of them.
const MIN_COMPILED_ROW: usize = 16;

/// The parameters that all functions have, and the section of their results.
macro_rules! common_sections {
    () => {
        "
out : numpy.ndarray, optional
    Preallocated output: of the result's shape, and of its dtype or one of the same kind.
where : array_like of bool, optional
    Where to compute. Other elements of out keep their values; those of a new array are 0.
casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe'}
    Which casts to the dtype of out, and to dtype, are allowed.
order : {'K', 'C', 'F', 'A'}
    Memory layout of a new array; K is as close to that of the arguments as possible.
dtype : dtype, optional
    Dtype to compute in. Default: as in NumPy.
threads : int, optional
    Number of worker threads. Default: one per core for large arrays.

Returns
-------
numpy.ndarray, or Lazy if an argument is lazy and out is not given
    For subclasses of numpy.ndarray, an instance of the subclass.
"
    };
}

/// The docstring of a function of one, two or three arguments.
macro_rules! docstring {
    (1 $what:literal) => {
        concat!($what, "\n\nParameters\n----------\nx : array_like or Lazy", common_sections!())
    };
    (2 $what:literal) => {
        concat!($what, "\n\nParameters\n----------\nx, y : array_like or Lazy", common_sections!())
    };
    (3 $what:literal) => {
        concat!($what, "\n\nParameters\n----------\ncondition, x, y : array_like or Lazy", common_sections!())
    };
}

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
            module.add_function(wrap_pyfunction!(divmod, module)?)?;
            module.add_function(wrap_pyfunction!(round_to, module)?)
        }
    };
    (@ Clip $method:ident $arity:tt $name:literal $what:literal) => {};
    (@ RoundTo $method:ident $arity:tt $name:literal $what:literal) => {};
    (@ $op:ident $method:ident 1 $name:literal $what:literal) => {
        #[doc = docstring!(1 $what)]
        #[pyfunction]
        #[allow(clippy::too_many_arguments)]
        #[pyo3(name = $name, signature = (x, /, out=None, *, r#where=None, casting="same_kind", order="K", dtype=None, threads=None))]
        fn $method<'py>(
            py: Python<'py>,
            x: &Bound<'py, PyAny>,
            out: Option<&Bound<'py, PyAny>>,
            r#where: Option<&Bound<'py, PyAny>>,
            casting: &str,
            order: &str,
            dtype: Option<&Bound<'py, PyAny>>,
            threads: Option<ThreadCount>,
        ) -> PyResult<Bound<'py, PyAny>> {
            call(py, Op::$op, &[x], UfuncOptions::new(out, r#where, casting, order, dtype, threads)?)
        }
    };
    (@ $op:ident $method:ident 2 $name:literal $what:literal) => {
        #[doc = docstring!(2 $what)]
        #[pyfunction]
        #[allow(clippy::too_many_arguments)]
        #[pyo3(name = $name, signature = (x, y, /, out=None, *, r#where=None, casting="same_kind", order="K", dtype=None, threads=None))]
        fn $method<'py>(
            py: Python<'py>,
            x: &Bound<'py, PyAny>,
            y: &Bound<'py, PyAny>,
            out: Option<&Bound<'py, PyAny>>,
            r#where: Option<&Bound<'py, PyAny>>,
            casting: &str,
            order: &str,
            dtype: Option<&Bound<'py, PyAny>>,
            threads: Option<ThreadCount>,
        ) -> PyResult<Bound<'py, PyAny>> {
            call(py, Op::$op, &[x, y], UfuncOptions::new(out, r#where, casting, order, dtype, threads)?)
        }
    };
    (@ $op:ident $method:ident 3 $name:literal $what:literal) => {
        #[doc = docstring!(3 $what)]
        #[pyfunction]
        #[allow(clippy::too_many_arguments)]
        #[pyo3(name = $name, signature = (condition, x, y, /, out=None, *, r#where=None, casting="same_kind", order="K", dtype=None, threads=None))]
        fn $method<'py>(
            py: Python<'py>,
            condition: &Bound<'py, PyAny>,
            x: &Bound<'py, PyAny>,
            y: &Bound<'py, PyAny>,
            out: Option<&Bound<'py, PyAny>>,
            r#where: Option<&Bound<'py, PyAny>>,
            casting: &str,
            order: &str,
            dtype: Option<&Bound<'py, PyAny>>,
            threads: Option<ThreadCount>,
        ) -> PyResult<Bound<'py, PyAny>> {
            call(py, Op::$op, &[condition, x, y], UfuncOptions::new(out, r#where, casting, order, dtype, threads)?)
        }
    };
}
for_each_op!(functions);

/// Names that are reductions in NumPy and in the Array API, and the name of another function.
const HIDDEN: [&str; 3] = ["max", "min", "round"];

/// Limits values to the range from min to max; None means no limit.
///
/// Parameters
/// ----------
/// x : array_like or Lazy
/// min, max : array_like or Lazy, optional
///     Limits. An integer beyond the range of an integer dtype, such as -1 for uint8, is no limit.
/// out : numpy.ndarray, optional
///     Preallocated output: of the result's shape, and of its dtype or one of the same kind.
/// where : array_like of bool, optional
///     Where to compute. Other elements of out keep their values; those of a new array are 0.
/// casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe'}
///     Which casts to the dtype of out, and to dtype, are allowed.
/// order : {'K', 'C', 'F', 'A'}
///     Memory layout of a new array; K is as close to that of the arguments as possible.
/// dtype : dtype, optional
///     Dtype to compute in. Default: as in NumPy.
/// threads : int, optional
///     Number of worker threads. Default: one per core for large arrays.
///
/// Returns
/// -------
/// numpy.ndarray, or Lazy if an argument is lazy and out is not given
///
/// Examples
/// --------
/// >>> import numpy as np, unishape
/// >>> unishape.clip(np.array([1, 5, 200], "uint8"), 3, 300).tolist()
/// [3, 5, 200]
#[pyfunction]
#[allow(clippy::too_many_arguments)]
#[pyo3(signature = (x, /, min=None, max=None, out=None, *, r#where=None, casting="same_kind", order="K", dtype=None, threads=None))]
fn clip<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    min: Option<&Bound<'py, PyAny>>,
    max: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    r#where: Option<&Bound<'py, PyAny>>,
    casting: &str,
    order: &str,
    dtype: Option<&Bound<'py, PyAny>>,
    threads: Option<ThreadCount>,
) -> PyResult<Bound<'py, PyAny>> {
    let (op, arguments) = clip_call(x, min, max);
    call(py, op, &arguments, UfuncOptions::new(out, r#where, casting, order, dtype, threads)?)
}

/// Rounds to a number of decimals, ties to even.
///
/// Parameters
/// ----------
/// x : array_like or Lazy
/// decimals : int, default 0
///     Decimals to keep; a negative number rounds to tens, hundreds and so on.
/// out : numpy.ndarray, optional
///     Preallocated output: of the result's shape, and of its dtype or one of the same kind.
/// where : array_like of bool, optional
///     Where to compute. Other elements of out keep their values; those of a new array are 0.
/// casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe'}
///     Which casts to the dtype of out, and to dtype, are allowed.
/// order : {'K', 'C', 'F', 'A'}
///     Memory layout of a new array; K is as close to that of the arguments as possible.
/// dtype : dtype, optional
///     Dtype to compute in. Default: as in NumPy.
/// threads : int, optional
///     Number of worker threads. Default: one per core for large arrays.
///
/// Returns
/// -------
/// numpy.ndarray, or Lazy if an argument is lazy and out is not given
///
/// Examples
/// --------
/// >>> import numpy as np, unishape
/// >>> unishape.round(np.array([2.125, 15.5]), 2).tolist()
/// [2.12, 15.5]
/// >>> unishape.round(np.array([125, 15]), -1).tolist()
/// [120, 20]
#[pyfunction]
#[allow(clippy::too_many_arguments)]
#[pyo3(name = "round", signature = (x, /, decimals=0, out=None, *, r#where=None, casting="same_kind", order="K", dtype=None, threads=None))]
fn round_to<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    decimals: i64,
    out: Option<&Bound<'py, PyAny>>,
    r#where: Option<&Bound<'py, PyAny>>,
    casting: &str,
    order: &str,
    dtype: Option<&Bound<'py, PyAny>>,
    threads: Option<ThreadCount>,
) -> PyResult<Bound<'py, PyAny>> {
    let options = UfuncOptions::new(out, r#where, casting, order, dtype, threads)?;
    match decimals {
        0 => call(py, Op::Round, &[x], options),
        _ => call(py, Op::RoundTo, &[x, decimals.into_pyobject(py)?.as_any()], options),
    }
}

/// The quotient rounded down and the remainder: a tuple of `x // y` and `x % y`.
///
/// Parameters
/// ----------
/// x, y : array_like or Lazy
/// out : tuple of two numpy.ndarray, optional
///     Preallocated outputs: of the result's shape, and of its dtype or one of the same kind.
/// where : array_like of bool, optional
///     Where to compute. Other elements of out keep their values; those of a new array are 0.
/// casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe'}
///     Which casts to the dtype of out, and to dtype, are allowed.
/// order : {'K', 'C', 'F', 'A'}
///     Memory layout of a new array; K is as close to that of the arguments as possible.
/// dtype : dtype, optional
///     Dtype to compute in. Default: as in NumPy.
/// threads : int, optional
///     Number of worker threads. Default: one per core for large arrays.
///
/// Returns
/// -------
/// tuple of two numpy.ndarray, or of two Lazy
///
/// Examples
/// --------
/// >>> import numpy as np, unishape
/// >>> quotient, remainder = unishape.divmod(np.array([7, -7]), 3)
/// >>> quotient.tolist(), remainder.tolist()
/// ([2, -3], [1, 2])
#[pyfunction]
#[allow(clippy::too_many_arguments)]
#[pyo3(signature = (x, y, /, out=None, *, r#where=None, casting="same_kind", order="K", dtype=None, threads=None))]
fn divmod<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    r#where: Option<&Bound<'py, PyAny>>,
    casting: &str,
    order: &str,
    dtype: Option<&Bound<'py, PyAny>>,
    threads: Option<ThreadCount>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let [quotient, remainder] = outs(out)?;
    let options =
        |out: Option<&Bound<'py, PyAny>>| UfuncOptions::new(out, r#where, casting, order, dtype, threads);
    if let (Some(quotient), Some(_)) = (&quotient, &remainder)
        && [x, y].iter().any(|input| input.is(quotient))
    {
        // The remainder is computed from the inputs, before one of them is overwritten.
        let rest = call(py, Op::Remainder, &[x, y], options(None)?)?;
        let quotient = call(py, Op::FloorDivide, &[x, y], options(Some(quotient))?)?;
        return Ok((quotient, call(py, Op::Positive, &[&rest], options(remainder.as_ref())?)?));
    }
    let quotient = call(py, Op::FloorDivide, &[x, y], options(quotient.as_ref())?)?;
    Ok((quotient, call(py, Op::Remainder, &[x, y], options(remainder.as_ref())?)?))
}
