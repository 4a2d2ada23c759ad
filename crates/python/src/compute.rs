//! Results computed: into fresh arrays or given ones, without the interpreter's lock, until Ctrl-C.

use crate::failure::of_expression;
use crate::input::Input;
use crate::memory::{self, NumPy};
use crate::threads::{Asked, number};
use crate::types;
use ndarray::ArrayViewMutD;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PySlice, PyTuple};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::thread::{ThreadId, current};
use std::time::{Duration, Instant};
use unishape::DType;
use unishape::expr::{Bound as Ready, Numeric, Problem};
use unishape_kernels::for_each_dtype;

/// Where the result goes, and who computes it.
pub(crate) struct Way<'py> {
    pub(crate) out: Option<NumPy<'py>>,
    pub(crate) threads: Option<Asked>,
}

impl<'py> Way<'py> {
    /// As a caller asks for it.
    pub(crate) fn new(out: Option<&Bound<'py, PyAny>>, threads: Option<Asked>) -> PyResult<Way<'py>> {
        let out = match out {
            None => None,
            Some(out) => Some(given_output(out)?),
        };
        Ok(Way { out, threads })
    }
}

fn given_output<'py>(out: &Bound<'py, PyAny>) -> PyResult<NumPy<'py>> {
    let Ok(array) = out.cast::<PyUntypedArray>() else {
        let text = format!("out has to be a NumPy array, not {}", out.get_type().name()?);
        return Err(PyTypeError::new_err(text));
    };
    if !memory::is_writeable(array) {
        return Err(PyValueError::new_err("out is read-only"));
    }
    Ok(array.clone())
}

/// Computes what is ready, of these inputs.
pub(crate) fn compute<'py>(
    py: Python<'py>,
    ready: &Ready<'_>,
    inputs: &[Input<'py>],
    way: Way<'py>,
) -> PyResult<NumPy<'py>> {
    use half::{bf16, f16};
    use num_complex::Complex;
    macro_rules! by_type {
        ($($variant:ident $type:ident $(<$part:ident>)? $name:literal $what:literal;)+) => {
            match ready.dtype() {
                $(DType::$variant => by_type!(@ $type $(<$part>)?),)+
            }
        };
        (@ String) => { Err(PyTypeError::new_err("text is not computed with")) };
        (@ $type:ident $(<$part:ident>)?) => { typed::<$type $(<$part>)?>(py, ready, inputs, way) };
    }
    for_each_dtype!(by_type)
}

fn typed<'py, T: Numeric>(
    py: Python<'py>,
    ready: &Ready<'_>,
    inputs: &[Input<'py>],
    Way { out, threads }: Way<'py>,
) -> PyResult<NumPy<'py>> {
    let Some(out) = out else {
        return memory::filled::<T>(py, ready.shape(), |view| run(py, ready, view, true, threads));
    };
    if out.shape() != ready.shape() {
        let problem = Problem::OutputShape { result: ready.shape().into(), output: out.shape().into() };
        return Err(of_expression(problem.into()));
    }
    let others: Vec<&NumPy<'py>> = inputs.iter().filter_map(Input::as_array).collect();
    if memory::written::<T>(&out, &others, |view| run(py, ready, view, false, threads))?.is_none() {
        // It is an input, element by element; or its elements are of another type or lie in another way.
        check_harmless(&out, &others)?;
        check_type(&out, T::DTYPE)?;
        let all: Vec<Range<usize>> = out.shape().iter().map(|&size| 0..size).collect();
        in_parts(ready, &all, &mut |part, ranges| {
            let result = memory::filled::<T>(py, part.shape(), |view| run(py, part, view, true, threads))?;
            let slices =
                ranges.iter().map(|range| PySlice::new(py, range.start as isize, range.end as isize, 1));
            let place = out.get_item(PyTuple::new(py, slices)?)?;
            py.import("numpy")?.call_method1("copyto", (place, result)).map(drop)
        })?;
    }
    Ok(out)
}

/// An output may be one of the inputs, but not have its elements at other places.
fn check_harmless(out: &NumPy<'_>, inputs: &[&NumPy<'_>]) -> PyResult<()> {
    for input in inputs {
        let is_same = memory::data(out) == memory::data(input)
            && out.shape() == input.shape()
            && out.strides() == input.strides();
        if !is_same && memory::share_memory(out, input)? {
            let text = "out overlaps an input whose elements lie in another order; give an array of its own";
            return Err(PyValueError::new_err(text));
        }
    }
    Ok(())
}

/// An output may be of another type of the same kind, as NumPy has it.
fn check_type(out: &NumPy<'_>, result: DType) -> PyResult<()> {
    let py = out.py();
    let (from, to) = (types::descr(py, result)?, out.dtype());
    let can = py.import("numpy")?.call_method1("can_cast", (&from, &to, "same_kind"))?;
    if can.is_truthy()? {
        return Ok(());
    }
    Err(PyTypeError::new_err(format!("the result is {from}, and out is {to}; give an array of {from}")))
}

/// Bytes of a result that is not written where it belongs.
const PART: usize = 1 << 22;

/// Does something with parts of the whole, none of which is large, and with where they belong.
fn in_parts(
    whole: &Ready<'_>,
    ranges: &[Range<usize>],
    todo: &mut impl FnMut(&Ready<'_>, &[Range<usize>]) -> PyResult<()>,
) -> PyResult<()> {
    let longest = (0..ranges.len()).max_by_key(|&dim| ranges[dim].len());
    let bytes = whole.shape().iter().product::<usize>().saturating_mul(size_of::<u128>());
    match longest {
        Some(dim) if bytes > PART && ranges[dim].len() > 1 => {
            let Range { start, end } = ranges[dim];
            let middle = start + (end - start) / 2;
            for half in [start..middle, middle..end] {
                let part = whole.slice_axis(dim, half.start - start..half.end - start);
                let mut ranges = ranges.to_vec();
                ranges[dim] = half;
                in_parts(&part, &ranges, todo)?;
            }
            Ok(())
        }
        _ => todo(whole, ranges),
    }
}

/// Elements from which on other threads of Python may run meanwhile. Letting them takes some time, too.
const LONG: usize = 1 << 12;

/// How often Ctrl-C is listened to, and so how long it takes until it is heard.
const OFTEN: Duration = Duration::from_millis(50);

/// Computes into elements that are ours.
fn run<T: Numeric>(
    py: Python<'_>,
    ready: &Ready<'_>,
    mut out: ArrayViewMutD<'_, T>,
    is_fresh: bool,
    threads: Option<Asked>,
) -> PyResult<()> {
    let elements = out.len();
    if !ready.is_parallel() {
        let mut work = || ready.compute_into(&mut out);
        let result = if elements < LONG { work() } else { py.detach(work) };
        return result.map_err(of_expression);
    }
    let ready = ready.clone().threads(number(threads));
    let ready = if is_fresh { ready.assume_fresh_output() } else { ready };
    let listening = Listening::new();
    let result = py.detach(|| ready.compute_while(&mut out, |_| listening.goes_on()));
    match listening.interrupted() {
        Some(error) => Err(error),
        None => result.map_err(of_expression),
    }
}

/// Listens to Ctrl-C while several threads compute. Only the one that called can, which takes part.
struct Listening {
    caller: ThreadId,
    last: Mutex<Instant>,
    interrupted: Mutex<Option<PyErr>>,
}

impl Listening {
    fn new() -> Listening {
        Listening { caller: current().id(), last: Mutex::new(Instant::now()), interrupted: Mutex::new(None) }
    }

    fn goes_on(&self) -> bool {
        if current().id() != self.caller {
            return true;
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.elapsed() < OFTEN {
            return true;
        }
        *last = Instant::now();
        let result = Python::attach(|py| py.check_signals());
        let goes_on = result.is_ok();
        *self.interrupted.lock().unwrap_or_else(PoisonError::into_inner) = result.err();
        goes_on
    }

    fn interrupted(self) -> Option<PyErr> {
        self.interrupted.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
