//! The element-wise functions, from the engine's own table of them.

use crate::compute::{Way, compute};
use crate::failure::of_expression;
use crate::input::Input;
use crate::lazy::Lazy;
use crate::threads::Asked;
use pyo3::prelude::*;
use smallvec::SmallVec;
use unishape::expr::{Expr, Op};
use unishape_kernels::for_each_op;

/// A function of some arguments: computed, or only remembered where one of them is lazy.
pub(crate) fn call<'py, const N: usize>(
    py: Python<'py>,
    op: Op,
    from: [&Bound<'py, PyAny>; N],
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<Asked>,
) -> PyResult<Bound<'py, PyAny>> {
    if from.iter().any(|object| Lazy::is(object)) {
        return Lazy::of_call(py, op, &from, out);
    }
    let way = Way::new(out, threads)?;
    let mut inputs: SmallVec<[Input<'py>; 3]> = SmallVec::new();
    for object in from {
        inputs.push(Input::new(object)?);
    }
    let ready =
        Expr::call(op).bind_positional(inputs.iter().filter_map(Input::value)).map_err(of_expression)?;
    Ok(compute(py, &ready, &inputs, way)?.into_any())
}

macro_rules! functions {
    ($($op:ident $method:ident $arity:tt [$name:literal $(, $alias:literal)*] $what:literal;)+) => {
        $(functions!(@ $op $method $arity $name $what);)+

        /// Adds all of them to a module, by all their names.
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
            threads: Option<Asked>,
        ) -> PyResult<Bound<'py, PyAny>> {
            call(py, Op::$op, [x], out, threads)
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
            threads: Option<Asked>,
        ) -> PyResult<Bound<'py, PyAny>> {
            call(py, Op::$op, [x, y], out, threads)
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
            threads: Option<Asked>,
        ) -> PyResult<Bound<'py, PyAny>> {
            call(py, Op::$op, [condition, x, y], out, threads)
        }
    };
}
for_each_op!(functions);

/// In NumPy and in the Array API these are functions of whole arrays.
const HIDDEN: [&str; 2] = ["max", "min"];

/// The value, or the nearer of the two bounds where it is not between them. A bound that is None is none.
#[pyfunction]
#[pyo3(signature = (x, /, min=None, max=None, *, out=None, threads=None))]
pub(crate) fn clip<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    min: Option<&Bound<'py, PyAny>>,
    max: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<Asked>,
) -> PyResult<Bound<'py, PyAny>> {
    match (min, max) {
        (Some(min), Some(max)) => call(py, Op::Clip, [x, min, max], out, threads),
        (Some(min), None) => call(py, Op::Max, [x, min], out, threads),
        (None, Some(max)) => call(py, Op::Min, [x, max], out, threads),
        (None, None) => call(py, Op::Positive, [x], out, threads),
    }
}
