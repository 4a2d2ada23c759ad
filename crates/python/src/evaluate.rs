//! Expressions written as text.

use crate::borrowed::borrowed;
use crate::compute::{Way, compute};
use crate::failure::of_expression;
use crate::input::Input;
use crate::memory::{self, NumPy};
use crate::threads::Asked;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use unishape::expr::{Expr, Scalar, Value};

/// Computes an expression in one pass over its arrays.
///
/// expression: such as "(x - mean) / sqrt(var + eps)". Operators are Python's, functions NumPy's; and, or, not
///     and comparisons go element by element. An expression seen before costs no parsing.
/// names: arrays and numbers by name, in a dictionary or as keyword arguments. What is not among them is
///     looked for in the caller's variables.
/// out: an array for the result; of its shape, and of its type or one of the same kind.
/// threads: how many; one on each core, for what is large, unless told.
///
/// The result's type and values are NumPy's. Ctrl-C stops the work.
///
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
    threads: Option<Asked>,
    more: Option<&Bound<'py, PyDict>>,
) -> PyResult<NumPy<'py>> {
    let way = Way::new(out, threads)?;
    let expr = Expr::parse(expression).map_err(of_expression)?;
    let (known, inputs) = given(py, expr.names(), names, more)?;
    let mut values: Vec<(&str, Value<'_>)> =
        known.iter().zip(&inputs).filter_map(|(name, input)| Some((*name, input.value()?))).collect();
    // What was given and is not asked for is an error of the engine's, which knows what is asked for.
    let unused: Vec<String> = match more {
        Some(more) => more.keys().iter().filter_map(|name| name.extract().ok()).collect(),
        None => Vec::new(),
    };
    let unused = unused.iter().filter(|name| !known.contains(&name.as_str()));
    values.extend(unused.map(|name| (name.as_str(), Value::from(0))));
    let ready = expr.bind(values).map_err(of_expression)?;
    compute(py, &ready, &inputs, way)
}

/// The names in an expression, in the order in which they stand in it.
#[pyfunction]
#[pyo3(signature = (expression, /))]
pub(crate) fn _names_in(expression: &str) -> PyResult<Vec<String>> {
    Ok(Expr::parse(expression).map_err(of_expression)?.names().to_vec())
}

/// What is given for names, and for which of them something is.
fn given<'py, 'n>(
    py: Python<'py>,
    names: &'n [String],
    dictionary: Option<&Bound<'py, PyAny>>,
    more: Option<&Bound<'py, PyDict>>,
) -> PyResult<(Vec<&'n str>, Vec<Input<'py>>)> {
    let mut callers = None;
    let (mut known, mut inputs) = (Vec::with_capacity(names.len()), Vec::with_capacity(names.len()));
    for name in names {
        let mut object = match more {
            Some(more) => more.get_item(name)?,
            None => None,
        };
        if let (None, Some(dictionary)) = (&object, dictionary)
            && dictionary.contains(name)?
        {
            object = Some(dictionary.get_item(name)?);
        }
        let input = match object {
            Some(object) => Input::new(&object).map_err(|error| of_name(py, name, error))?,
            None => {
                let callers = match &callers {
                    Some(callers) => callers,
                    None => callers.insert(Callers::new(py)?),
                };
                let Some(object) = callers.variable(name)? else { continue };
                match Input::new(&object) {
                    Ok(input) => input,
                    // Whatever a caller calls `e` or `pi`: if it is no number, these are.
                    Err(_) if Scalar::from_name(name).is_some() => continue,
                    Err(error) => return Err(of_name(py, name, error)),
                }
            }
        };
        known.push(name.as_str());
        inputs.push(input);
    }
    Ok((known, inputs))
}

/// An error about what was given for a name.
fn of_name(py: Python<'_>, name: &str, error: PyErr) -> PyErr {
    let text = format!("{name}: {}", error.value(py));
    PyErr::from_type(error.get_type(py), text)
}

/// The variables of the function that called us, from the inside out.
struct Callers<'py> {
    variables: Vec<Bound<'py, PyAny>>,
    /// Those of them that were copied for us.
    copies: Vec<Bound<'py, PyDict>>,
}

impl<'py> Callers<'py> {
    fn new(py: Python<'py>) -> PyResult<Callers<'py>> {
        // Compiled functions have no frame of their own: the innermost one is the caller's.
        let mut frame = borrowed(py)?.frame.bind(py).call0()?;
        let globals = frame.getattr("f_globals")?;
        let mut callers = Callers { variables: Vec::new(), copies: Vec::new() };
        while callers.add(&frame)? {
            frame = frame.getattr("f_back")?;
        }
        callers.variables.push(globals);
        Ok(callers)
    }

    /// Adds a function's own variables. Whether it is only part of another one: comprehensions are functions of
    /// their own before Python 3.12, called by the one that they stand in.
    fn add(&mut self, frame: &Bound<'py, PyAny>) -> PyResult<bool> {
        const OPTIMIZED: u32 = 1;
        let (code, locals) = (frame.getattr("f_code")?, frame.getattr("f_locals")?);
        // A function's; those of a class or a module are the dictionary itself.
        let is_function = code.getattr("co_flags")?.extract::<u32>()? & OPTIMIZED != 0;
        if is_function && let Ok(copy) = locals.cast_exact::<PyDict>() {
            self.copies.push(copy.clone());
        }
        self.variables.push(locals);
        let name: String = code.getattr("co_name")?.extract()?;
        Ok(["<listcomp>", "<setcomp>", "<dictcomp>"].contains(&name.as_str()))
    }

    fn variable(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        for variables in &self.variables {
            if variables.contains(name)? {
                return variables.get_item(name).map(Some);
            }
        }
        Ok(None)
    }
}

/// Before Python 3.13 the dictionary that a function's variables are copied into stays with the function, and
/// arrays would live on in it after the function has let go of them. It is emptied, if nobody else has it.
impl Drop for Callers<'_> {
    fn drop(&mut self) {
        self.variables.clear();
        for copy in &self.copies {
            // A reference is the function's, one is ours.
            if memory::references(copy) == 2 {
                copy.clear();
            }
        }
    }
}
