//! `evaluate`: evaluation of expressions from text.

use crate::compute::{Options, compute_all};
use crate::containers::Containers;
use crate::errors::expression_error;
use crate::float_errors::Reported;
use crate::functions::compute_contiguous;
use crate::gpu::{self, GpuInput};
use crate::imports::imports;
use crate::input::Input;
use crate::lazy::arguments::number_object;
use crate::memory::{self, ContiguousArray, NumPy};
use crate::powers;
use crate::threads::ThreadCount;
use crate::time::is_time;
use pyo3::exceptions::{PyNameError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyList, PyString, PyTuple, PyType};
use smallvec::{SmallVec, smallvec};
use unishape::DType;
use unishape::cuda::Numerics;
use unishape::expr::{Bound as BoundExpr, ContiguousCall, Expr, Scalar, Value};

/// Evaluates an expression in one pass over its arrays.
///
/// The dtype and values of the result are those of NumPy. Divisions by zero, overflows and invalid operations are reported
/// once for the whole expression, as numpy.errstate requests. Ctrl-C interrupts the computation. Where arrays are on a GPU
/// (of PyTorch, CuPy, JAX, or with __dlpack__ or __cuda_array_interface__), so is the result, as an array of the first
/// one's library.
///
/// Parameters
/// ----------
/// expression : str, or list or tuple of str
///     For example "(x - mean(x, axis=1, keepdims=True)) / sqrt(var + eps)". Operators are those of Python,
///     functions those of NumPy; comparisons and the operators and, or, not are element-wise. Parsed expressions
///     are cached. Several expressions give a list of results; their reductions along the same axes of an array read
///     it once, and so do large element-wise results of the same shape.
/// names : mapping, optional
///     Arrays and numbers by name. Where it is given, all names come from it and from the keyword arguments. Without it,
///     names that are not keyword arguments are variables of the caller. The constants e and pi are known only where
///     no name is given by either: otherwise pass e=math.e or pi=math.pi.
/// out : numpy.ndarray, optional
///     Preallocated output: of the result's shape, and of its dtype or one of the same kind. For several
///     expressions, a list with an array or None for each.
/// threads : int, optional
///     Number of worker threads. Default: one per core for large inputs.
/// explain : bool, default False
///     Whether to return a description of how the result would be computed, and compute nothing.
/// fast_math : bool, default False
///     Whether kernels for GPUs may use approximate single-precision functions and fuse multiplications with additions.
///     Without effect on the CPU.
/// **more
///     Arrays and numbers by name; these take precedence over names.
///
/// Returns
/// -------
/// numpy.ndarray, or an array on the GPU
///     With objects of pandas or Polars, one of them, with their labels; a tensor where the first array is a tensor of
///     PyTorch. For several expressions, a list of results. With explain, a str in place of each.
///
/// Examples
/// --------
/// >>> import numpy as np, unishape
/// >>> a, b = np.arange(3), np.array([[10], [20]])
/// >>> unishape.evaluate("a * b + c", c=0.5).tolist()
/// [[0.5, 10.5, 20.5], [0.5, 20.5, 40.5]]
/// >>> low, high = unishape.evaluate(["min(a * b, axis=1)", "max(a * b, axis=1)"])
/// >>> low.tolist(), high.tolist()
/// ([0, 0], [20, 40])
/// >>> print(unishape.evaluate("a + 1", explain=True).splitlines()[0])
/// loops: 3 elements
#[pyfunction]
#[pyo3(signature = (expression, names=None, /, *, out=None, threads=None, explain=false, fast_math=false, **more))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn evaluate<'py>(
    py: Python<'py>,
    expression: &Bound<'py, PyAny>,
    names: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<ThreadCount>,
    explain: bool,
    fast_math: bool,
    more: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    evaluate_as(py, expression, names, out, threads, [explain, fast_math, true], more)
}

/// Evaluates an expression as `evaluate` does, but reports neither overflows nor divisions by zero.
#[pyfunction]
#[pyo3(signature = (expression, names, /, *, out=None))]
pub(crate) fn _evaluate_silently<'py>(
    py: Python<'py>,
    expression: &Bound<'py, PyAny>,
    names: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    evaluate_as(py, expression, Some(names), out, None, [false; 3], None)
}

fn evaluate_as<'py>(
    py: Python<'py>,
    expression: &Bound<'py, PyAny>,
    names: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<ThreadCount>,
    [explain, fast_math, reports]: [bool; 3],
    more: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let text = expression.cast_exact::<PyString>().ok().and_then(|text| text.to_str().ok());
    let parsed = text.and_then(|text| Some((text, Expr::parse(text).ok()?)));
    if let Some((text, expr)) = &parsed
        && !explain
        && let Some(result) = evaluate_contiguous(py, text, expr, names, out, reports, more)
    {
        return result;
    }
    let texts = Texts::new(expression)?;
    let outs = texts.outs(out)?;
    let exprs = match parsed {
        Some((_, expr)) => smallvec![expr],
        None => texts
            .iter()
            .map(|text| Expr::parse(text).map_err(expression_error))
            .collect::<PyResult<SmallVec<[Expr; 1]>>>()?,
    };
    let mut all_names: SmallVec<[&str; 8]> = SmallVec::new();
    for name in exprs.iter().flat_map(Expr::names) {
        if exprs.len() == 1 || !all_names.contains(&name.as_str()) {
            all_names.push(name);
        }
    }
    if let Some(names) = names {
        _check_mapping(names)?;
    }
    let (known, inputs, objects) = match resolve(py, &all_names, names, more) {
        Ok(resolved) => resolved,
        Err(error) => {
            let values = values(py, &all_names, names, more)?;
            let has_unused = more.is_some_and(|more| more.len() > values.len());
            if explain || has_unused || !is_time(&values.iter().map(|(_, value)| value).collect::<Vec<_>>())?
            {
                return Err(error);
            }
            let (module, values) = (py.import("unishape._datetime")?, values.into_iter().into_py_dict(py)?);
            let results = texts
                .iter()
                .zip(&outs)
                .map(|(text, out)| module.call_method1("evaluate", (text, &values, out.as_ref())));
            return texts.results(py, results.collect::<PyResult<Vec<_>>>()?);
        }
    };
    // Binding reports unused keyword arguments together with the names that the expression has.
    let unused: Vec<String> = match more {
        Some(more) => more.keys().iter().filter_map(|name| name.extract().ok()).collect(),
        None => Vec::new(),
    };
    let mut unused = unused.iter().map(String::as_str).filter(|name| !known.contains(name)).peekable();
    for (text, expr) in texts.iter().zip(&exprs) {
        if powers::may_have_power(text) && !powers::has_literals_only(text) {
            powers::check_expr(expr, &known, &inputs)?;
        }
    }
    if let Some(inputs) = Input::on_gpu(&inputs, |number| known[number].to_owned())? {
        let numerics = if fast_math { Numerics::Fast } else { Numerics::Exact };
        let results = exprs.iter().zip(&outs).map(|(expr, out)| {
            let inputs = on_gpu(expr, &known, &inputs, unused.peek().copied())?;
            match explain {
                true => Ok(PyString::new(py, &gpu::explain(py, expr, &inputs, numerics)?).into_any()),
                false => gpu::compute(py, expr, &inputs, out.as_ref(), numerics),
            }
        });
        return texts.results(py, results.collect::<PyResult<Vec<_>>>()?);
    }
    let options = texts
        .iter()
        .zip(&outs)
        .map(|(text, out)| Options::new(out.as_ref(), threads, reported(text, reports)))
        .collect::<PyResult<SmallVec<[_; 1]>>>()?;
    let containers = texts.iter().map(|text| Containers::of_text(text, &known, &objects));
    let containers = containers.collect::<PyResult<SmallVec<[_; 1]>>>()?;
    let values = known.iter().zip(&inputs).filter_map(|(name, input)| Some((*name, input.value()?)));
    let values = values.chain(unused.map(|name| (name, Value::from(0))));
    let bounds: SmallVec<[BoundExpr<'_>; 1]> = match &exprs[..] {
        [expr] => smallvec![expr.bind(values).map_err(expression_error)?],
        exprs => Expr::bind_all(exprs, values).map_err(expression_error)?.into(),
    };
    if explain {
        let plans = BoundExpr::plans(&bounds).into_iter();
        return texts.results(py, plans.map(|plan| PyString::new(py, &plan).into_any()));
    }
    if bounds.len() > 1 {
        check_outs(&options, &inputs)?;
    }
    let computed = compute_all(py, &bounds, &inputs, options)?;
    let results = computed.into_iter().zip(outs).zip(containers).map(|((result, out), containers)| {
        out.map_or_else(|| Containers::wrap(containers, result.into_any()), Ok)
    });
    texts.results(py, results.collect::<PyResult<SmallVec<[_; 1]>>>()?)
}

/// The values of an expression's variables, in order, where some are on a GPU.
fn on_gpu<'py>(
    expr: &Expr,
    known: &[&str],
    inputs: &[GpuInput<'py>],
    unused: Option<&str>,
) -> PyResult<Vec<GpuInput<'py>>> {
    let value = |name: &String| match known.iter().position(|own| own == name) {
        Some(at) => Some(inputs[at].clone()),
        None => Scalar::from_name(name).map(GpuInput::Scalar),
    };
    match expr.names().iter().map(value).collect::<Option<Vec<_>>>() {
        Some(values) if unused.is_none() => Ok(values),
        // Binding reports names without a value, and values without a name.
        _ => {
            let names = expr.names().iter().map(String::as_str).filter(|name| known.contains(name));
            let bound = expr.bind(names.chain(unused).map(|name| (name, Value::from(0))));
            Err(expression_error(match bound {
                Err(error) => error,
                Ok(_) => unishape::expr::ExprErrorKind::NotElementWise.into(),
            }))
        }
    }
}

/// Evaluates an element-wise expression of a few contiguous elements, which is twice as fast; `None` for others, and where
/// there is an error to report.
fn evaluate_contiguous<'py>(
    py: Python<'py>,
    text: &str,
    expr: &Expr,
    names: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    reports: bool,
    more: Option<&Bound<'py, PyDict>>,
) -> Option<PyResult<Bound<'py, PyAny>>> {
    let mapping = match names {
        Some(names) => Some(names.cast_exact::<PyDict>().ok()?),
        None => None,
    };
    if mapping.is_none() && more.is_none() || !expr.is_element_wise() {
        return None;
    }
    let mut objects: SmallVec<[Bound<'py, PyAny>; 4]> = SmallVec::new();
    let mut keywords = 0;
    for name in expr.names() {
        let keyword = more.and_then(|more| more.get_item(name).ok()?);
        keywords += usize::from(keyword.is_some());
        objects.push(keyword.or_else(|| mapping?.get_item(name).ok()?)?);
    }
    // An unused keyword is an error.
    if more.is_some_and(|more| more.len() != keywords) {
        return None;
    }
    let mut inputs: SmallVec<[ContiguousArray<'_>; 4]> = SmallVec::new();
    for object in &objects {
        inputs.push(ContiguousArray::new(object)?);
    }
    let shape = inputs.first()?.shape;
    let elements = shape.iter().product::<usize>();
    if elements > MAX_SMALL_WORK || inputs.iter().any(|input| input.shape != shape) {
        return None;
    }
    let dtypes: SmallVec<[DType; 4]> = inputs.iter().map(|input| input.dtype).collect();
    if powers::may_have_power(text)
        && !powers::has_literals_only(text)
        && dtypes.iter().any(|&dtype| powers::is_integer(dtype))
    {
        return None;
    }
    let call = ContiguousCall::of_expr(expr, &dtypes)?;
    if elements * call.operations() > MAX_SMALL_WORK {
        return None;
    }
    compute_contiguous(py, &call, &inputs, out, || reported(text, reports))
}

/// What reports of an expression name.
fn reported(text: &str, reports: bool) -> Reported {
    if reports { Reported::Text(text.into()) } else { Reported::Nothing }
}

/// More work, in elements times operations, is done in blocks and by fused kernels.
///
/// EPYC: `exp(a) * b` of 1000 elements took 1.5 of NumPy's time with blocks.
const MAX_SMALL_WORK: usize = 1 << 13;

/// The texts of one expression or of several.
enum Texts {
    One(String),
    Several(Vec<String>),
}

impl Texts {
    fn new(expression: &Bound<'_, PyAny>) -> PyResult<Texts> {
        let check = |object: &Bound<'_, PyAny>, what: &str| match object.is_instance_of::<PyString>() {
            true => Ok(()),
            false => Err(PyTypeError::new_err(format!(
                "expression must be a str or a list of them, not {what}{}",
                object.get_type().name()?
            ))),
        };
        if expression.is_instance_of::<PyList>() || expression.is_instance_of::<PyTuple>() {
            expression.try_iter()?.try_for_each(|item| check(&item?, "a list with "))?;
            return expression.extract().map(Texts::Several);
        }
        check(expression, "")?;
        expression.extract().map(Texts::One)
    }

    fn iter(&self) -> impl Iterator<Item = &String> {
        match self {
            Texts::One(text) => std::slice::from_ref(text).iter(),
            Texts::Several(texts) => texts.iter(),
        }
    }

    /// The argument `out` of each expression.
    fn outs<'py>(
        &self,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<SmallVec<[Option<Bound<'py, PyAny>>; 1]>> {
        let outs = match (self, out) {
            (Texts::One(_), out) => smallvec![out.cloned()],
            (Texts::Several(texts), None) => smallvec![None; texts.len()],
            (Texts::Several(_), Some(out)) => {
                if !out.is_instance_of::<PyList>() && !out.is_instance_of::<PyTuple>() {
                    let text = "out must be a list of arrays, one for each expression";
                    return Err(PyTypeError::new_err(text));
                }
                let outs = out.extract::<Vec<Option<Bound<'py, PyAny>>>>()?;
                SmallVec::from_vec(outs)
            }
        };
        let count = self.iter().count();
        match outs.len() == count {
            true => Ok(outs),
            false => {
                let text = format!("out has {} arrays for {count} expressions", outs.len());
                Err(PyValueError::new_err(text))
            }
        }
    }

    /// The result, or a list of the results.
    fn results<'py>(
        &self,
        py: Python<'py>,
        results: impl IntoIterator<Item = Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut results = results.into_iter();
        match (self, results.next()) {
            (Texts::One(_), Some(only)) => Ok(only),
            (_, first) => {
                Ok(PyList::new(py, first.into_iter().chain(results).collect::<Vec<_>>())?.into_any())
            }
        }
    }
}

/// Checks that the outputs of several expressions share no memory with an input or with each other.
fn check_outs(options: &[Options<'_>], inputs: &[Input<'_>]) -> PyResult<()> {
    let outs: Vec<&NumPy<'_>> = options.iter().filter_map(|options| options.out.as_ref()).collect();
    for (at, out) in outs.iter().enumerate() {
        let arrays = inputs.iter().filter_map(Input::as_array);
        for other in arrays.chain(outs[at + 1..].iter().copied()) {
            if memory::share_memory(out, other)? {
                let text = "with several expressions, an output must not share memory with an input or another output";
                return Err(PyValueError::new_err(text));
            }
        }
    }
    Ok(())
}

/// The variables of an expression, in order of appearance.
#[pyfunction]
#[pyo3(signature = (expression, /))]
pub(crate) fn _variables(expression: &str) -> PyResult<Vec<String>> {
    Ok(Expr::parse(expression).map_err(expression_error)?.names().to_vec())
}

/// Whether an expression has neither axes nor reductions, so that it can be evaluated block by block.
#[pyfunction]
#[pyo3(signature = (expression, /))]
pub(crate) fn _is_element_wise(expression: &str) -> PyResult<bool> {
    Ok(Expr::parse(expression).map_err(expression_error)?.is_element_wise())
}

/// The constant of the expression language with this name.
#[pyfunction]
#[pyo3(signature = (name, /))]
pub(crate) fn _constant<'py>(py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    Scalar::from_name(name).map(|number| number_object(py, number)).transpose()
}

/// The names of all functions and casts of the expression language.
#[pyfunction]
pub(crate) fn _expression_names() -> Vec<&'static str> {
    Expr::function_names().collect()
}

/// Raises TypeError for an object that has no values by name.
#[pyfunction]
#[pyo3(signature = (names, /))]
pub(crate) fn _check_mapping(names: &Bound<'_, PyAny>) -> PyResult<()> {
    if names.is_exact_instance_of::<PyDict>()
        || (names.hasattr("keys")? && names.hasattr("__getitem__")? && !names.is_instance_of::<PyType>())
    {
        return Ok(());
    }
    let text = format!(
        "names must be a mapping such as {{\"a\": array}}, not {}; pass arrays by name, as in evaluate(\"a + b\", a=x, b=y), \
         or out=array for the result",
        names.get_type().fully_qualified_name()?
    );
    Err(PyTypeError::new_err(text))
}

/// The error for a constant in an expression whose names the caller gives.
fn constant_not_given(name: &str) -> PyErr {
    PyNameError::new_err(format!(
        "{name} is not among the given names; where names are given, {name} is not a constant: pass {name}=math.{name} \
         for the constant, or your own value"
    ))
}

/// The names that have a value, their inputs, and the objects that these were converted from.
type Resolved<'py, 'n> =
    (SmallVec<[&'n str; 4]>, SmallVec<[Input<'py>; 4]>, SmallVec<[Bound<'py, PyAny>; 4]>);

/// The inputs for the names, and the names that have one.
///
/// Keyword arguments come first, then the mapping, or else the caller's variables.
fn resolve<'py, 'n>(
    py: Python<'py>,
    names: &[&'n str],
    mapping: Option<&Bound<'py, PyAny>>,
    more: Option<&Bound<'py, PyDict>>,
) -> PyResult<Resolved<'py, 'n>> {
    let mut scopes = None;
    let (mut known, mut inputs, mut objects): Resolved<'py, 'n> = Default::default();
    for &name in names {
        let (object, input) = match given(name, mapping, more)? {
            Some(object) => {
                let input = Input::new(&object).map_err(|error| with_name(py, name, error))?;
                (object, input)
            }
            None if mapping.is_some() && may_be_forgotten(name) => return Err(constant_not_given(name)),
            None if mapping.is_some() => continue,
            None => {
                let scopes = match &scopes {
                    Some(scopes) => scopes,
                    None => scopes.insert(CallerScopes::new(py)?),
                };
                match scopes.get(name)?.map(|object| (Input::new(&object), object)) {
                    Some((Ok(input), object)) => (object, input),
                    // A caller's variable `e` may hold an exception; then the constant is meant.
                    Some((Err(error), _)) if Scalar::from_name(name).is_none() => {
                        return Err(with_name(py, name, error));
                    }
                    _ if more.is_some() && may_be_forgotten(name) => return Err(constant_not_given(name)),
                    _ => continue,
                }
            }
        };
        known.push(name);
        inputs.push(input);
        objects.push(object);
    }
    Ok((known, inputs, objects))
}

/// The value of a name that is a keyword argument or in the mapping.
fn given<'py>(
    name: &str,
    mapping: Option<&Bound<'py, PyAny>>,
    more: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    if let Some(object) = more.map(|more| more.get_item(name)).transpose()?.flatten() {
        return Ok(Some(object));
    }
    let Some(mapping) = mapping else { return Ok(None) };
    if let Ok(mapping) = mapping.cast_exact::<PyDict>() {
        return mapping.get_item(name);
    }
    if mapping.contains(name)? { mapping.get_item(name).map(Some) } else { Ok(None) }
}

/// The values of the names that have one, as `resolve` finds them.
fn values<'py, 'n>(
    py: Python<'py>,
    names: &[&'n str],
    mapping: Option<&Bound<'py, PyAny>>,
    more: Option<&Bound<'py, PyDict>>,
) -> PyResult<Vec<(&'n str, Bound<'py, PyAny>)>> {
    let scopes = CallerScopes::new(py)?;
    let mut values = Vec::new();
    for &name in names {
        let mut value = given(name, mapping, more)?;
        if value.is_none() && mapping.is_none() {
            value = scopes.get(name)?;
        }
        values.extend(value.map(|value| (name, value)));
    }
    Ok(values)
}

/// Whether a constant has a name that variables have, too, and may be one that the caller forgot to give.
fn may_be_forgotten(name: &str) -> bool {
    matches!(name, "e" | "pi")
}

/// An error prefixed with the name of the input.
fn with_name(py: Python<'_>, name: &str, error: PyErr) -> PyErr {
    let text = format!("{name}: {}", error.value(py));
    PyErr::from_type(error.get_type(py), text)
}

/// The scopes of the calling Python function, innermost first.
struct CallerScopes<'py> {
    scopes: Vec<Bound<'py, PyAny>>,
    /// The scopes that are snapshots, made by `f_locals`.
    snapshots: Vec<Bound<'py, PyDict>>,
}

impl<'py> CallerScopes<'py> {
    fn new(py: Python<'py>) -> PyResult<CallerScopes<'py>> {
        // Compiled functions have no frame: the innermost one is the caller's.
        let mut frame = imports(py)?.getframe.bind(py).call0()?;
        let globals = frame.getattr("f_globals")?;
        let mut scopes = CallerScopes { scopes: Vec::new(), snapshots: Vec::new() };
        while scopes.add_frame(&frame)? {
            frame = frame.getattr("f_back")?;
        }
        scopes.scopes.push(globals);
        Ok(scopes)
    }

    /// Adds the local variables of a frame. Returns whether the frame is a comprehension's.
    ///
    /// Before Python 3.12 a comprehension has a frame of its own, inside that of its function.
    fn add_frame(&mut self, frame: &Bound<'py, PyAny>) -> PyResult<bool> {
        const OPTIMIZED: u32 = 1;
        let (code, locals) = (frame.getattr("f_code")?, frame.getattr("f_locals")?);
        // Only functions have snapshots; classes and modules have their actual dictionary.
        let is_function = code.getattr("co_flags")?.extract::<u32>()? & OPTIMIZED != 0;
        if is_function && let Ok(snapshot) = locals.cast_exact::<PyDict>() {
            self.snapshots.push(snapshot.clone());
        }
        self.scopes.push(locals);
        let name: String = code.getattr("co_name")?.extract()?;
        Ok(["<listcomp>", "<setcomp>", "<dictcomp>"].contains(&name.as_str()))
    }

    fn get(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        for scope in &self.scopes {
            if scope.contains(name)? {
                return scope.get_item(name).map(Some);
            }
        }
        Ok(None)
    }
}

/// Clears the snapshots that nothing else references.
///
/// Before Python 3.13 a frame keeps its snapshot, which would keep arrays alive after the function deletes them.
impl Drop for CallerScopes<'_> {
    fn drop(&mut self) {
        self.scopes.clear();
        for snapshot in &self.snapshots {
            // The frame and `self` hold one reference each.
            if memory::reference_count(snapshot) == 2 {
                snapshot.clear();
            }
        }
    }
}
