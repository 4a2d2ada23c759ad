//! `evaluate`: evaluation of expressions from text.

use crate::compute::{Options, compute};
use crate::errors::expression_error;
use crate::imports::imports;
use crate::input::Input;
use crate::memory::{self, NumPy};
use crate::threads::ThreadCount;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use unishape::expr::{Expr, Scalar, Value};

/// Evaluates an expression in one pass over its arrays.
///
/// The dtype and values of the result are those of NumPy. Ctrl-C interrupts the computation.
///
/// Parameters
/// ----------
/// expression : str
///     For example "(x - mean) / sqrt(var + eps)". Operators are those of Python, functions those of NumPy;
///     comparisons and the operators and, or, not are element-wise. Parsed expressions are cached.
/// names : mapping, optional
///     Arrays and numbers by name. Other names are variables of the caller.
/// out : numpy.ndarray, optional
///     Preallocated output: of the result's shape, and of its dtype or one of the same kind.
/// threads : int, optional
///     Number of worker threads. Default: one per core for large inputs.
/// **more
///     Arrays and numbers by name; these take precedence over names.
///
/// Returns
/// -------
/// numpy.ndarray
///
/// Examples
/// --------
/// >>> import numpy as np, unishape
/// >>> a, b = np.arange(3), np.array([[10], [20]])
/// >>> unishape.evaluate("a * b + c", c=0.5).tolist()
/// [[0.5, 10.5, 20.5], [0.5, 20.5, 40.5]]
#[pyfunction]
#[pyo3(signature = (expression, names=None, /, *, out=None, threads=None, **more))]
pub(crate) fn evaluate<'py>(
    py: Python<'py>,
    expression: &str,
    names: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<ThreadCount>,
    more: Option<&Bound<'py, PyDict>>,
) -> PyResult<NumPy<'py>> {
    let options = Options::new(out, threads)?;
    let expr = Expr::parse(expression).map_err(expression_error)?;
    let (known, inputs) = resolve(py, expr.names(), names, more)?;
    let mut values: Vec<(&str, Value<'_>)> =
        known.iter().zip(&inputs).filter_map(|(name, input)| Some((*name, input.value()?))).collect();
    // Binding reports unused keyword arguments together with the names that the expression has.
    let unused: Vec<String> = match more {
        Some(more) => more.keys().iter().filter_map(|name| name.extract().ok()).collect(),
        None => Vec::new(),
    };
    let unused = unused.iter().filter(|name| !known.contains(&name.as_str()));
    values.extend(unused.map(|name| (name.as_str(), Value::from(0))));
    let bound = expr.bind(values).map_err(expression_error)?;
    compute(py, &bound, &inputs, options)
}

/// The variables of an expression, in order of appearance.
#[pyfunction]
#[pyo3(signature = (expression, /))]
pub(crate) fn _variables(expression: &str) -> PyResult<Vec<String>> {
    Ok(Expr::parse(expression).map_err(expression_error)?.names().to_vec())
}

/// The inputs for the names, and the names that have one.
///
/// Keyword arguments come first, then the mapping, then the caller's variables.
fn resolve<'py, 'n>(
    py: Python<'py>,
    names: &'n [String],
    mapping: Option<&Bound<'py, PyAny>>,
    more: Option<&Bound<'py, PyDict>>,
) -> PyResult<(Vec<&'n str>, Vec<Input<'py>>)> {
    let mut scopes = None;
    let (mut known, mut inputs) = (Vec::with_capacity(names.len()), Vec::with_capacity(names.len()));
    for name in names {
        let mut object = match more {
            Some(more) => more.get_item(name)?,
            None => None,
        };
        if let (None, Some(mapping)) = (&object, mapping)
            && mapping.contains(name)?
        {
            object = Some(mapping.get_item(name)?);
        }
        let input = match object {
            Some(object) => Input::new(&object).map_err(|error| with_name(py, name, error))?,
            None => {
                let scopes = match &scopes {
                    Some(scopes) => scopes,
                    None => scopes.insert(CallerScopes::new(py)?),
                };
                let Some(object) = scopes.get(name)? else { continue };
                match Input::new(&object) {
                    Ok(input) => input,
                    // A caller's variable `e` may hold an exception; then the constant is meant.
                    Err(_) if Scalar::from_name(name).is_some() => continue,
                    Err(error) => return Err(with_name(py, name, error)),
                }
            }
        };
        known.push(name.as_str());
        inputs.push(input);
    }
    Ok((known, inputs))
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
