//! Evaluates bound expressions into new or preallocated arrays.
//!
//! Large inputs are computed without the GIL, and Ctrl-C interrupts them.

use crate::containers;
use crate::errors::expression_error;
use crate::float_errors::Reported;
use crate::input::Input;
use crate::memory::{self, NumPy};
use crate::order::Order;
use crate::threads::ThreadCount;
use ndarray::ArrayViewMutD;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyEllipsis, PySlice, PyTuple};
use smallvec::{SmallVec, smallvec};
use std::cell::Cell;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::thread::{ThreadId, current};
use std::time::{Duration, Instant};
use unishape::DType;
use unishape::expr::{Bound as BoundExpr, ExprErrorKind, FloatFlags, Numeric, OutputMut, watch_flags};
use unishape_kernels::for_each_dtype;

/// The options `out=`, `threads=` and `order=` of a call.
#[derive(Clone)]
pub(crate) struct Options<'py> {
    pub(crate) out: Option<NumPy<'py>>,
    pub(crate) threads: Option<ThreadCount>,
    /// Layout of a new array.
    pub(crate) order: Order,
    /// What reports of overflows name.
    pub(crate) reported: Reported,
}

impl<'py> Options<'py> {
    /// Checks that `out` is a writeable array.
    pub(crate) fn new(
        out: Option<&Bound<'py, PyAny>>,
        threads: Option<ThreadCount>,
        reported: Reported,
    ) -> PyResult<Options<'py>> {
        Ok(Options { out: out.map(check_out).transpose()?, threads, order: Order::Keep, reported })
    }
}

fn check_out<'py>(out: &Bound<'py, PyAny>) -> PyResult<NumPy<'py>> {
    let array = match containers::out_array(out)? {
        Some(array) => array.cast_into()?,
        None => out.cast::<PyUntypedArray>().cloned().or_else(|_| {
            let text = format!("out must be a NumPy array, not {}", out.get_type().name()?);
            Err(PyTypeError::new_err(text))
        })?,
    };
    if !memory::is_writeable(&array) {
        return Err(PyValueError::new_err("out is read-only; pass an array whose flags.writeable is True"));
    }
    Ok(array)
}

/// Evaluates an expression that is bound to these inputs.
pub(crate) fn compute<'py>(
    py: Python<'py>,
    expr: &BoundExpr<'_>,
    inputs: &[Input<'py>],
    options: Options<'py>,
) -> PyResult<NumPy<'py>> {
    use half::{bf16, f16};
    use num_complex::Complex;
    let flags = &Cell::new(FloatFlags::NONE);
    let reported = options.reported.clone();
    macro_rules! by_dtype {
        ($($variant:ident $type:ident $(<$part:ident>)? $name:literal $what:literal;)+) => {
            match expr.dtype() {
                $(DType::$variant => by_dtype!(@ $type $(<$part>)?),)+
            }
        };
        (@ String) => { Err(PyTypeError::new_err("expressions do not support strings")) };
        (@ $type:ident $(<$part:ident>)?) => { compute_typed::<$type $(<$part>)?>(py, expr, inputs, options, flags) };
    }
    let result = for_each_dtype!(by_dtype)?;
    if flags.get() != FloatFlags::NONE {
        reported.report(py, flags.get())?;
    }
    Ok(result)
}

/// Evaluates several expressions, each with its options, in passes over memory that they share.
pub(crate) fn compute_all<'py>(
    py: Python<'py>,
    exprs: &[BoundExpr<'_>],
    inputs: &[Input<'py>],
    options: SmallVec<[Options<'py>; 1]>,
) -> PyResult<SmallVec<[NumPy<'py>; 1]>> {
    if let ([expr], [options]) = (exprs, &options[..]) {
        return Ok(smallvec![compute(py, expr, inputs, options.clone())?]);
    }
    let mut results: Vec<Option<NumPy<'py>>> = vec![None; exprs.len()];
    for pass in BoundExpr::passes(exprs) {
        // Large preallocated outputs are written with non-temporal stores, for which the chunks of a shared pass are
        // too small.
        if pass.len() == 1 || pass.iter().any(|&number| options[number].out.is_some()) {
            for number in pass {
                results[number] = Some(compute(py, &exprs[number], inputs, options[number].clone())?);
            }
            continue;
        }
        let threads = ThreadCount::or_default(options[pass[0]].threads);
        let member = |&number: &usize| exprs[number].clone().threads(threads).assume_fresh_output();
        let members: Vec<BoundExpr<'_>> = pass.iter().map(member).collect();
        let reported = Reported::all(pass.iter().map(|&number| &options[number].reported));
        let computed = compute_pass(py, &members, &reported)?;
        pass.into_iter().zip(computed).for_each(|(number, result)| results[number] = Some(result));
    }
    Ok(results.into_iter().flatten().collect())
}

/// Evaluates expressions that share a pass into new arrays.
fn compute_pass<'py>(
    py: Python<'py>,
    exprs: &[BoundExpr<'_>],
    reported: &Reported,
) -> PyResult<Vec<NumPy<'py>>> {
    let mut results = Vec::with_capacity(exprs.len());
    allocate_next(py, exprs, Vec::with_capacity(exprs.len()), &mut results, reported)?;
    results.reverse();
    Ok(results)
}

/// Allocates the remaining outputs, one at a time since each is borrowed, and evaluates into all of them.
///
/// A pass has at most 64 expressions, which bounds the recursion. Results are added from the last to the first.
fn allocate_next<'py>(
    py: Python<'py>,
    exprs: &[BoundExpr<'_>],
    outs: Vec<OutputMut<'_>>,
    results: &mut Vec<NumPy<'py>>,
    reported: &Reported,
) -> PyResult<()> {
    use half::{bf16, f16};
    use num_complex::Complex;
    let Some(expr) = exprs.get(outs.len()) else {
        let signals = SignalCheck::new();
        let work = || py.detach(|| BoundExpr::compute_all_into(exprs, outs, |_| signals.should_continue()));
        let result = reported.watch(py, work)?;
        return match signals.into_error() {
            Some(error) => Err(error),
            None => result.map_err(expression_error),
        };
    };
    macro_rules! by_dtype {
        ($($variant:ident $type:ident $(<$part:ident>)? $name:literal $what:literal;)+) => {
            match expr.dtype() {
                $(DType::$variant => by_dtype!(@ $type $(<$part>)?),)+
            }
        };
        (@ String) => { Err(PyTypeError::new_err("expressions do not support strings")) };
        (@ $type:ident $(<$part:ident>)?) => {
            memory::new_array_with::<$type $(<$part>)?>(py, expr.shape(), None, |mut view| {
                // Those so far may live longer than this one.
                let mut outs = outs;
                outs.push(OutputMut::new(&mut view));
                allocate_next(py, exprs, outs, results, reported)
            })
        };
    }
    let result = for_each_dtype!(by_dtype)?;
    results.push(result);
    Ok(())
}

fn compute_typed<'py, T: Numeric>(
    py: Python<'py>,
    expr: &BoundExpr<'_>,
    inputs: &[Input<'py>],
    Options { out, threads, order, reported }: Options<'py>,
    flags: &Cell<FloatFlags>,
) -> PyResult<NumPy<'py>> {
    let flags = if let Reported::Nothing = reported { None } else { Some(flags) };
    let Some(out) = out else {
        let shape = expr.shape();
        // Axes of inputs are those of the result only in element-wise expressions.
        let order = if order == Order::Keep && !expr.is_element_wise() { Order::C } else { order };
        let axes = order.axes(shape.len(), inputs);
        return memory::new_array_with::<T>(py, shape, axes.as_deref(), |view| {
            run(py, expr, view, true, threads, flags)
        });
    };
    if out.shape() != expr.shape() {
        let kind = ExprErrorKind::OutputShape { result: expr.shape().into(), output: out.shape().into() };
        return Err(expression_error(kind.into()));
    }
    let others: Vec<&NumPy<'py>> = inputs.iter().filter_map(Input::as_array).collect();
    if memory::write_to::<T>(&out, &others, |view| run(py, expr, view, false, threads, flags))?.is_none() {
        // `out` is also an input, or has another dtype or an unsupported layout: compute temporaries.
        check_castable(&out, T::DTYPE)?;
        let all: Vec<Range<usize>> = out.shape().iter().map(|&size| 0..size).collect();
        let mut compute_part = |part: &BoundExpr<'_>, ranges: &[Range<usize>]| -> PyResult<()> {
            let result = memory::new_array_with::<T>(py, part.shape(), None, |view| {
                run(py, part, view, true, threads, flags)
            })?;
            let slice = |range: &Range<usize>| {
                PySlice::new(py, range.start as isize, range.end as isize, 1).into_any()
            };
            // With the ellipsis, an array without dimensions is a view, too.
            let ellipsis = PyEllipsis::get(py).to_owned().into_any();
            let items: SmallVec<[Bound<'py, PyAny>; 5]> =
                ranges.iter().map(slice).chain([ellipsis]).collect();
            let target = out.get_item(PyTuple::new(py, items)?)?;
            py.import("numpy")?.call_method1("copyto", (target, result)).map(drop)
        };
        if expr.is_element_wise() {
            check_overlap(&out, &others)?;
            for_each_part(expr, &all, &mut compute_part)?;
        } else {
            // Elements may depend on inputs at other indices: no part of `out` is written before all is computed.
            compute_part(expr, &all)?;
        }
    }
    Ok(out)
}

/// Checks that each input either is `out` itself or does not share memory with it.
fn check_overlap(out: &NumPy<'_>, inputs: &[&NumPy<'_>]) -> PyResult<()> {
    for input in inputs {
        let is_same = memory::data(out) == memory::data(input)
            && out.shape() == input.shape()
            && out.strides() == input.strides();
        if !is_same && memory::share_memory(out, input)? {
            let text = "out overlaps an input of another layout; pass an array that shares no memory with it";
            return Err(PyValueError::new_err(text));
        }
    }
    Ok(())
}

/// Checks NumPy's `same_kind` casting rule.
fn check_castable(out: &NumPy<'_>, result: DType) -> PyResult<()> {
    let py = out.py();
    let (from, to) = (memory::to_descr(py, result)?, out.dtype());
    let can_cast = py.import("numpy")?.call_method1("can_cast", (&from, &to, "same_kind"))?;
    if can_cast.is_truthy()? {
        return Ok(());
    }
    let text =
        format!("cannot cast the result from {from} to {to}, the dtype of out; pass an array of {from}");
    Err(PyTypeError::new_err(text))
}

/// Limit for temporary results, in bytes: small beside arrays for which memory is scarce. Not measured apart.
const MAX_TEMPORARY: usize = 1 << 22;

/// Splits an expression into parts of limited size and calls a function with each and its index ranges.
fn for_each_part(
    expr: &BoundExpr<'_>,
    ranges: &[Range<usize>],
    function: &mut impl FnMut(&BoundExpr<'_>, &[Range<usize>]) -> PyResult<()>,
) -> PyResult<()> {
    let longest = (0..ranges.len()).max_by_key(|&dim| ranges[dim].len());
    let bytes = expr.shape().iter().product::<usize>().saturating_mul(size_of::<u128>());
    match longest {
        Some(dim) if bytes > MAX_TEMPORARY && ranges[dim].len() > 1 => {
            let Range { start, end } = ranges[dim];
            let middle = start + (end - start) / 2;
            for half in [start..middle, middle..end] {
                let part = expr.slice_axis(dim, half.start - start..half.end - start);
                let mut ranges = ranges.to_vec();
                ranges[dim] = half;
                for_each_part(&part, &ranges, function)?;
            }
            Ok(())
        }
        _ => function(expr, ranges),
    }
}

/// From this number of elements on, the GIL is released, which takes time itself. Fewer elements take at most some 10 µs
/// with the slowest functions, during which no other Python thread runs. Not measured apart.
const DETACH_THRESHOLD: usize = 1 << 12;

/// Interval between two checks for signals, and so the latency of Ctrl-C.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Evaluates into elements that nothing else accesses.
fn run<T: Numeric>(
    py: Python<'_>,
    expr: &BoundExpr<'_>,
    mut out: ArrayViewMutD<'_, T>,
    is_fresh: bool,
    threads: Option<ThreadCount>,
    flags: Option<&Cell<FloatFlags>>,
) -> PyResult<()> {
    let Some(flags) = flags else { return run_unwatched(py, expr, &mut out, is_fresh, threads) };
    let (result, found) = watch_flags(|| run_unwatched(py, expr, &mut out, is_fresh, threads));
    flags.set(flags.get() | found);
    result
}

fn run_unwatched<T: Numeric>(
    py: Python<'_>,
    expr: &BoundExpr<'_>,
    out: &mut ArrayViewMutD<'_, T>,
    is_fresh: bool,
    threads: Option<ThreadCount>,
) -> PyResult<()> {
    let elements = out.len();
    if !expr.is_parallel() {
        let mut work = || expr.compute_into(out);
        let result = if elements < DETACH_THRESHOLD { work() } else { py.detach(work) };
        return result.map_err(expression_error);
    }
    let expr = expr.clone().threads(ThreadCount::or_default(threads));
    let expr = if is_fresh { expr.assume_fresh_output() } else { expr };
    let signals = SignalCheck::new();
    let result = py.detach(|| expr.compute_while(out, |_| signals.should_continue()));
    match signals.into_error() {
        Some(error) => Err(error),
        None => result.map_err(expression_error),
    }
}

/// Runs Python's signal handlers during a parallel computation.
///
/// Only the calling thread can run them. It takes part in the work.
struct SignalCheck {
    caller: ThreadId,
    state: Mutex<SignalState>,
}

/// What only the calling thread accesses: in cache lines of its own, since workers read `caller` meanwhile.
#[repr(align(128))]
struct SignalState {
    last: Instant,
    error: Option<PyErr>,
}

impl SignalCheck {
    fn new() -> SignalCheck {
        let state = SignalState { last: Instant::now(), error: None };
        SignalCheck { caller: current().id(), state: Mutex::new(state) }
    }

    fn should_continue(&self) -> bool {
        if current().id() != self.caller {
            return true;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.last.elapsed() < SIGNAL_INTERVAL {
            return true;
        }
        state.last = Instant::now();
        state.error = Python::attach(|py| py.check_signals()).err();
        state.error.is_none()
    }

    /// The exception that a signal handler raised.
    fn into_error(self) -> Option<PyErr> {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).error
    }
}
