//! Options of NumPy's ufuncs, `where=`, `dtype=`, `casting=` and `order=`, and results of subclasses of arrays.

use crate::compute::{Options, compute};
use crate::dtype;
use crate::errors::expression_error;
use crate::float_errors::Reported;
use crate::input::{Input, as_array};
use crate::memory;
use crate::order::Order;
use crate::threads::ThreadCount;
use numpy::{PyArrayDescr, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyTuple};
use unishape::DType;
use unishape::expr::{Expr, Op, Value};

/// The options of a call of an element-wise function.
#[derive(Clone)]
pub(crate) struct UfuncOptions<'a, 'py> {
    pub(crate) out: Option<Bound<'py, PyAny>>,
    /// Where results are computed.
    pub(crate) mask: Option<&'a Bound<'py, PyAny>>,
    pub(crate) casting: &'a str,
    pub(crate) order: &'a str,
    pub(crate) dtype: Option<&'a Bound<'py, PyAny>>,
    pub(crate) threads: Option<ThreadCount>,
}

impl<'a, 'py> UfuncOptions<'a, 'py> {
    /// As arguments of a function; `out` may be in a tuple, and `where` may be True.
    pub(crate) fn new(
        out: Option<&Bound<'py, PyAny>>,
        mask: Option<&'a Bound<'py, PyAny>>,
        casting: &'a str,
        order: &'a str,
        dtype: Option<&'a Bound<'py, PyAny>>,
        threads: Option<ThreadCount>,
    ) -> PyResult<UfuncOptions<'a, 'py>> {
        let out = match out {
            Some(out) if out.is_instance_of::<PyTuple>() => {
                let (out,): (Option<Bound<'py, PyAny>>,) = out
                    .extract()
                    .map_err(|_| PyTypeError::new_err("out must be an array or a tuple of one array"))?;
                out
            }
            out => out.cloned(),
        };
        let mask = mask.filter(|mask| !mask.extract::<bool>().is_ok_and(|mask| mask));
        Ok(UfuncOptions { out, mask, casting, order, dtype, threads })
    }

    /// Whether all but `out` and `threads` have their default values.
    pub(crate) fn is_plain(&self) -> bool {
        self.mask.is_none() && self.dtype.is_none() && self.casting == "same_kind" && self.order == "K"
    }
}

/// Calls a function with options.
pub(crate) fn call_with_options<'py>(
    py: Python<'py>,
    op: Op,
    arguments: &[&Bound<'py, PyAny>],
    options: &UfuncOptions<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    check_casting(options.casting)?;
    let mut inputs = arguments.iter().map(|object| Input::new(object)).collect::<PyResult<Vec<_>>>()?;
    if inputs.iter().any(|input| matches!(input, Input::Gpu(_))) {
        let text = "where=, dtype=, casting= and order= are not supported for arrays on a GPU: use evaluate, as in \
                    evaluate(\"where(m, float64(x) + 1, x)\")";
        return Err(PyTypeError::new_err(text));
    }
    let mut names: Vec<String> = (1..=inputs.len()).map(|number| format!("x{number}")).collect();
    let (mut text, mut result) = typed_call(py, op, &inputs, &names, options)?;
    // Where there is a mask, results outside of it are computed, too.
    let reported = if options.mask.is_none() { Reported::Function(op) } else { Reported::Nothing };
    let mut compute_options = Options::new(options.out.as_ref(), options.threads, reported)?;
    compute_options.order = Order::from_name(options.order)?;
    if let Some(out) = &compute_options.out {
        let to = out.dtype();
        let from = memory::to_descr(py, result)?;
        if !can_cast(py, from.as_any(), to.as_any(), options.casting)? {
            return Err(PyTypeError::new_err(format!(
                "cannot cast the result from {from} to {to}, the dtype of out, by the rule '{}'",
                options.casting
            )));
        }
        // In another byte order, it is the same dtype.
        let native = to.call_method1("newbyteorder", ("=",))?.cast_into()?;
        if let Some(to) = dtype::from_descr(&native).filter(|&to| to != result) {
            (text, result) = (format!("{}({text})", to.name()), to);
        }
    }
    if let Some(mask) = options.mask {
        let mask = Input::new(as_array(mask)?.as_any())?;
        if !matches!(&mask, Input::Array(array) if array.dtype() == DType::Bool) {
            return Err(PyTypeError::new_err("where must be an array of booleans"));
        }
        let rest = match &compute_options.out {
            Some(out) => {
                inputs.push(Input::new(out.as_any())?);
                names.push("out".into());
                "out".into()
            }
            None => format!("{}(0)", result.name()),
        };
        text = format!("where(mask, {text}, {rest})");
        inputs.push(mask);
        names.push("mask".into());
    }
    let expr = Expr::parse(&text).map_err(expression_error)?;
    let bound = expr.bind(named(&names, &inputs)).map_err(expression_error)?;
    Ok(compute(py, &bound, &inputs, compute_options)?.into_any())
}

/// The text of a call with the casts that `dtype` needs, and the dtype of its result.
fn typed_call<'py>(
    py: Python<'py>,
    op: Op,
    inputs: &[Input<'py>],
    names: &[String],
    options: &UfuncOptions<'_, 'py>,
) -> PyResult<(String, DType)> {
    let text = format!("{}({})", op.name(), names.join(", "));
    let natural = result_dtype(&text, names, inputs);
    let Some(wanted) = options.dtype else { return Ok((text, natural?)) };
    let descr = PyArrayDescr::new(py, wanted)?;
    let unsupported = || PyTypeError::new_err(format!("{} does not compute in dtype {descr}", op.name()));
    let wanted = dtype::from_descr(&descr).ok_or_else(unsupported)?;
    // Without the dtype, there may be none: 300 does not fit int8.
    if natural.is_ok_and(|natural| natural == wanted) {
        return Ok((text, wanted));
    }
    let mut cast = Vec::new();
    for (position, (name, input)) in names.iter().zip(inputs).enumerate() {
        let is_condition = op == Op::Where && position == 0;
        let is_decimals = op == Op::RoundTo && position == 1;
        match input {
            Input::Array(array) if !is_condition && !is_decimals && array.dtype() != wanted => {
                let from = array.array().dtype();
                if !can_cast(py, from.as_any(), descr.as_any(), options.casting)? {
                    return Err(PyTypeError::new_err(format!(
                        "cannot cast argument {} of {} from {from} to {descr} by the rule '{}'",
                        position + 1,
                        op.name(),
                        options.casting
                    )));
                }
                cast.push(format!("{}({name})", wanted.name()));
            }
            // Without an array, nothing else gives it this dtype.
            Input::Scalar(_) if inputs.iter().all(|input| matches!(input, Input::Scalar(_))) => {
                cast.push(format!("{}({name})", wanted.name()));
            }
            _ => cast.push(name.clone()),
        }
    }
    let text = format!("{}({})", op.name(), cast.join(", "));
    match result_dtype(&text, names, inputs)? {
        dtype if dtype == wanted => Ok((text, wanted)),
        _ => Err(unsupported()),
    }
}

fn result_dtype(text: &str, names: &[String], inputs: &[Input<'_>]) -> PyResult<DType> {
    let expr = Expr::parse(text).map_err(expression_error)?;
    Ok(expr.bind(named(names, inputs)).map_err(expression_error)?.dtype())
}

fn named<'a>(names: &'a [String], inputs: &'a [Input<'_>]) -> impl Iterator<Item = (&'a str, Value<'a>)> {
    names.iter().zip(inputs).filter_map(|(name, input)| Some((name.as_str(), input.value()?)))
}

fn check_casting(casting: &str) -> PyResult<()> {
    match casting {
        "no" | "equiv" | "safe" | "same_kind" | "unsafe" => Ok(()),
        _ => Err(PyValueError::new_err(format!(
            "casting must be one of 'no', 'equiv', 'safe', 'same_kind' or 'unsafe', not '{casting}'"
        ))),
    }
}

fn can_cast<'py>(
    py: Python<'py>,
    from: &Bound<'py, PyAny>,
    to: &Bound<'py, PyAny>,
    casting: &str,
) -> PyResult<bool> {
    py.import("numpy")?.call_method1("can_cast", (from, to, casting))?.is_truthy()
}

/// The result as an instance of the arguments' subclass of `numpy.ndarray`, by its `__array_wrap__`.
///
/// Of several subclasses, the one with the largest `__array_priority__` counts, and of these the first.
pub(crate) fn wrap<'py>(
    arguments: &[&Bound<'py, PyAny>],
    result: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut wrapper: Option<(f64, &Bound<'py, PyAny>)> = None;
    for argument in arguments {
        if argument.is_instance_of::<PyUntypedArray>() && !argument.is_exact_instance_of::<PyUntypedArray>() {
            let priority: f64 = argument.getattr("__array_priority__")?.extract()?;
            if wrapper.is_none_or(|(largest, _)| priority > largest) {
                wrapper = Some((priority, argument));
            }
        }
    }
    let Some((_, object)) = wrapper else { return Ok(result) };
    let none = object.py().None();
    match object.call_method1("__array_wrap__", (&result, &none, false)) {
        // Of NumPy 1, without the argument return_scalar.
        Err(error) if error.is_instance_of::<PyTypeError>(object.py()) => {
            object.call_method1("__array_wrap__", (result, none))
        }
        wrapped => wrapped,
    }
}

/// The options of a call that returns several arrays: `out` of each.
pub(crate) fn outs<'py, const N: usize>(
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<[Option<Bound<'py, PyAny>>; N]> {
    let Some(out) = out else { return Ok(std::array::from_fn(|_| None)) };
    let outs: Option<Vec<Option<Bound<'py, PyAny>>>> = out.extract().ok();
    outs.and_then(|outs| outs.try_into().ok())
        .ok_or_else(|| PyTypeError::new_err(format!("out must be a tuple of {N} arrays")))
}

/// Whether an object is a Python integer, but not an instance of a subclass such as bool.
pub(crate) fn python_int(object: &Bound<'_, PyAny>) -> Option<i128> {
    object.is_exact_instance_of::<PyInt>().then(|| object.extract().ok())?
}
