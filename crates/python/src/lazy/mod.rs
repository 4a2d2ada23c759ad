//! Values that remember what is to be done, and do it in one pass when they are asked for.

mod text;

use crate::compute::{Way, compute};
use crate::failure::{of_expression, of_shapes};
use crate::functions;
use crate::input::{self, Input};
use crate::memory::Seen;
use crate::threads::Asked;
use crate::types;
use numpy::{PyArrayDescr, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::{PyDict, PyList, PyTuple};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;
use unishape::DType;
use unishape::expr::{self, Op, Scalar, Value};

/// A value that has not been computed yet.
///
/// Operators, NumPy's ufuncs and our functions make one expression of such values; compute(), or
/// numpy.asarray(), computes all of it in one pass. What is used twice is computed once.
///
/// >>> import numpy as np, unishape
/// >>> x = unishape.lazy(np.array([1.0, 4.0, 9.0]))
/// >>> (np.sqrt(x) * 2 + 1).compute().tolist()
/// [3.0, 5.0, 7.0]
#[pyclass(frozen, module = "unishape", weakref)]
pub(crate) struct Lazy {
    node: Arc<Node>,
}

/// What a lazy value is, and what is known of it.
struct Node {
    term: Term,
    /// The shape; none where a part of it is not known before it is computed.
    shape: Option<Vec<usize>>,
    /// The element type; none for numbers, which take that of the arrays they meet.
    dtype: Option<DType>,
}

enum Term {
    /// An array of NumPy's.
    Array(Py<PyAny>),
    /// An array of somebody who computes it later, such as Dask's.
    Later(Py<PyAny>),
    Scalar(Scalar),
    Call(Op, SmallVec<[Arc<Node>; 3]>),
    Cast(DType, Arc<Node>),
}

impl Term {
    fn from(&self) -> &[Arc<Node>] {
        match self {
            Term::Call(_, from) => from,
            Term::Cast(_, from) => std::slice::from_ref(from),
            Term::Array(_) | Term::Later(_) | Term::Scalar(_) => &[],
        }
    }
}

/// Without recursion: a value may be a chain of a hundred thousand operators.
impl Drop for Node {
    fn drop(&mut self) {
        let mut open: Vec<Arc<Node>> = Vec::new();
        let take = |term: &mut Term, open: &mut Vec<Arc<Node>>| match std::mem::replace(
            term,
            Term::Scalar(Scalar::Int(0)),
        ) {
            Term::Call(_, from) => open.extend(from),
            Term::Cast(_, from) => open.push(from),
            other => *term = other,
        };
        take(&mut self.term, &mut open);
        while let Some(node) = open.pop() {
            if let Some(mut node) = Arc::into_inner(node) {
                take(&mut node.term, &mut open);
            }
        }
    }
}

impl Node {
    /// What an object is as part of an expression.
    fn new(object: &Bound<'_, PyAny>) -> PyResult<Arc<Node>> {
        if let Ok(lazy) = object.cast::<Lazy>() {
            return Ok(lazy.get().node.clone());
        }
        if let Some(number) = input::number(object)? {
            return Ok(Arc::new(Node { term: Term::Scalar(number), shape: Some(vec![]), dtype: None }));
        }
        Node::leaf(object)
    }

    /// An array, of whatever has a shape and a type: a number too has those it has in NumPy.
    fn leaf(object: &Bound<'_, PyAny>) -> PyResult<Arc<Node>> {
        if object.hasattr("dtype")? && input::is_later(object)? {
            let descr = object.getattr("dtype")?.cast_into::<PyArrayDescr>()?;
            let Some(dtype) = types::of(&descr) else {
                return Err(PyTypeError::new_err(format!("arrays of {descr} cannot be computed with")));
            };
            // A size that Dask does not know is NaN.
            let shape = object.getattr("shape")?.extract().ok();
            let term = Term::Later(object.clone().unbind());
            return Ok(Arc::new(Node { term, shape, dtype: Some(dtype) }));
        }
        let seen = Seen::of(input::array(object)?)?;
        let (shape, dtype) = (Some(seen.array().shape().to_vec()), Some(seen.dtype()));
        Ok(Arc::new(Node { term: Term::Array(seen.array().clone().into_any().unbind()), shape, dtype }))
    }

    /// A function of others. That shapes or types are incompatible is told here, where it is written.
    fn call(op: Op, from: SmallVec<[Arc<Node>; 3]>) -> PyResult<Arc<Node>> {
        let shape = match from.iter().map(|node| node.shape.as_deref()).collect::<Option<Vec<_>>>() {
            Some(shapes) => Some(unishape::broadcast_shapes(&shapes).map_err(of_shapes)?),
            None => None,
        };
        let stand_ins = from.iter().map(|node| node.stand_in());
        let dtype = expr::Expr::call(op).bind_positional(stand_ins).map_err(of_expression)?.dtype();
        Ok(Arc::new(Node { term: Term::Call(op, from), shape, dtype: Some(dtype) }))
    }

    /// The same as another type, if it can be made one, which is told here as well.
    fn cast(dtype: DType, from: Arc<Node>) -> PyResult<Arc<Node>> {
        expr::lazy(from.stand_in()).cast(dtype).bind().map_err(of_expression)?;
        let shape = from.shape.clone();
        Ok(Arc::new(Node { term: Term::Cast(dtype, from), shape, dtype: Some(dtype) }))
    }

    /// No elements, but of this type.
    fn stand_in(&self) -> Value<'static> {
        use half::{bf16, f16};
        use ndarray::aview1;
        use num_complex::Complex;
        macro_rules! by_type {
            ($($variant:ident $type:ident $(<$part:ident>)? $name:literal $what:literal;)+) => {
                match (&self.term, self.dtype) {
                    (Term::Scalar(number), _) => Value::Scalar(*number),
                    (_, None) => Value::Scalar(Scalar::Int(0)),
                    $((_, Some(DType::$variant)) => {
                        const NONE: &[$type $(<$part>)?] = &[];
                        Value::from(aview1(NONE).into_dyn())
                    })+
                }
            };
        }
        unishape_kernels::for_each_dtype!(by_type)
    }

    /// All that it is made of, in an order in which it can be computed, each with where it is in that order.
    fn flat(self: &Arc<Node>) -> (Vec<Arc<Node>>, HashMap<*const Node, usize>) {
        let (mut order, mut places) = (Vec::new(), HashMap::new());
        let mut open = vec![(self.clone(), false)];
        while let Some((node, is_ready)) = open.pop() {
            let key = Arc::as_ptr(&node);
            if places.contains_key(&key) {
                continue;
            }
            if is_ready {
                places.insert(key, order.len());
                order.push(node);
            } else {
                let from: SmallVec<[Arc<Node>; 3]> = node.term.from().into();
                open.push((node, true));
                open.extend(from.into_iter().rev().map(|from| (from, false)));
            }
        }
        (order, places)
    }
}

/// A lazy value of an array, a number, or anything that NumPy makes an array of.
///
/// Dask's arrays stay Dask's: see unishape.dask.
///
/// >>> import numpy as np, unishape
/// >>> x = unishape.lazy(np.ones((2, 3)))
/// >>> (x + np.arange(3)).shape
/// (2, 3)
#[pyfunction]
#[pyo3(signature = (x, /))]
pub(crate) fn lazy(x: &Bound<'_, PyAny>) -> PyResult<Lazy> {
    match x.cast::<Lazy>() {
        Ok(lazy) => Ok(Lazy { node: lazy.get().node.clone() }),
        Err(_) => Ok(Lazy { node: Node::leaf(x)? }),
    }
}

impl Lazy {
    /// Whether an object is one.
    pub(crate) fn is(object: &Bound<'_, PyAny>) -> bool {
        object.is_instance_of::<Lazy>()
    }

    /// A function, one of whose arguments is lazy.
    pub(crate) fn of_call<'py>(
        py: Python<'py>,
        op: Op,
        from: &[&Bound<'py, PyAny>],
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let from = from.iter().map(|object| Node::new(object)).collect::<PyResult<_>>()?;
        let lazy = Lazy { node: Node::call(op, from)? };
        match out {
            None => Ok(Bound::new(py, lazy)?.into_any()),
            Some(out) => lazy.compute(py, Some(out), None),
        }
    }

    fn with<'py>(&self, op: Op, others: &[&Bound<'py, PyAny>]) -> PyResult<Lazy> {
        let mut from: SmallVec<[Arc<Node>; 3]> = SmallVec::from_iter([self.node.clone()]);
        for other in others {
            from.push(Node::new(other)?);
        }
        Ok(Lazy { node: Node::call(op, from)? })
    }

    /// The same with the other one first.
    fn under(&self, op: Op, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        let from = SmallVec::from_iter([Node::new(other)?, self.node.clone()]);
        Ok(Lazy { node: Node::call(op, from)? })
    }
}

/// Steps, and the arrays they begin with.
type Parts<'py> = (Bound<'py, PyList>, Bound<'py, PyList>);

#[pymethods]
impl Lazy {
    /// The shape of the result.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        match &self.node.shape {
            Some(shape) => PyTuple::new(py, shape),
            None => Err(PyValueError::new_err("the shape is not known before it is computed")),
        }
    }

    /// How many dimensions the result has.
    #[getter]
    fn ndim(&self, py: Python<'_>) -> PyResult<usize> {
        self.shape(py).map(|shape| shape.len())
    }

    /// The element type of the result.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDescr>> {
        types::descr(py, self.node.dtype.unwrap_or(DType::F64))
    }

    /// Computes the value, in one pass.
    #[pyo3(signature = (*, out=None, threads=None))]
    fn compute<'py>(
        &self,
        py: Python<'py>,
        out: Option<&Bound<'py, PyAny>>,
        threads: Option<Asked>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (order, places) = self.node.flat();
        if order.iter().any(|node| matches!(node.term, Term::Later(_))) {
            let later = Bound::new(py, Lazy { node: self.node.clone() })?;
            return py.import("unishape.dask")?.call_method1("_compute", (later, out));
        }
        let way = Way::new(out, threads)?;
        let mut inputs: Vec<Input<'py>> = Vec::new();
        for node in &order {
            if let Term::Array(array) = &node.term {
                inputs.push(Input::array(array.bind(py).clone().cast_into()?)?);
            }
        }
        let mut arrays = inputs.iter().filter_map(Input::value);
        let mut lazies: Vec<expr::Lazy<'_>> = Vec::with_capacity(order.len());
        for node in &order {
            let at = |from: &Arc<Node>| lazies[places[&Arc::as_ptr(from)]].clone();
            let lazy = match &node.term {
                Term::Scalar(number) => expr::lazy(*number),
                Term::Call(op, from) => expr::Lazy::call(*op, from.iter().map(at)),
                Term::Cast(dtype, from) => at(from).cast(*dtype),
                Term::Array(_) | Term::Later(_) => match arrays.next() {
                    Some(array) => expr::lazy(array),
                    None => {
                        return Err(PyTypeError::new_err("an array of this type cannot be computed with"));
                    }
                },
            };
            lazies.push(lazy);
        }
        let Some(lazy) = lazies.pop() else { unreachable!("at least the value itself") };
        drop(lazies);
        let ready = lazy.bind().map_err(of_expression)?;
        Ok(compute(py, &ready, &inputs, way)?.into_any())
    }

    /// Lazily, the elements as those of another type.
    #[pyo3(signature = (dtype, /))]
    fn astype(&self, py: Python<'_>, dtype: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        let descr = PyArrayDescr::new(py, dtype)?;
        match types::of(&descr) {
            Some(dtype) => Ok(Lazy { node: Node::cast(dtype, self.node.clone())? }),
            None => Err(PyTypeError::new_err(format!("elements cannot be made into {descr} lazily"))),
        }
    }

    /// Lazily, each value, or the nearer of the two bounds where it is not between them.
    #[pyo3(signature = (min=None, max=None, *, out=None))]
    fn clip<'py>(
        slf: &Bound<'py, Self>,
        min: Option<&Bound<'py, PyAny>>,
        max: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        functions::clip(slf.py(), slf.as_any(), min, max, out, None)
    }

    #[pyo3(signature = (dtype=None, *, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(false) {
            return Err(PyValueError::new_err(
                "a lazy value becomes an array only by being computed; copy=False forbids that",
            ));
        }
        match dtype {
            Some(dtype) => self.astype(py, dtype)?.compute(py, None, None),
            None => self.compute(py, None, None),
        }
    }

    #[pyo3(signature = (ufunc, method, *inputs, **options))]
    fn __array_ufunc__<'py>(
        &self,
        ufunc: &Bound<'py, PyAny>,
        method: &str,
        inputs: &Bound<'py, PyTuple>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = ufunc.py();
        let name: String = ufunc.getattr("__name__")?.extract()?;
        if method != "__call__" {
            let text = format!("np.{name}.{method} is not lazy; .compute() first");
            return Err(PyTypeError::new_err(text));
        }
        let Some(op) = Op::from_name(&name).filter(|op| op.arity() == inputs.len()) else {
            return Err(PyTypeError::new_err(format!("np.{name} is not lazy; .compute() first")));
        };
        let mut out = None;
        for (option, value) in options.into_iter().flatten() {
            match option.extract::<String>()?.as_str() {
                "out" => {
                    let (given,): (Bound<'py, PyAny>,) = value.extract()?;
                    out = Some(given);
                }
                option => {
                    return Err(PyTypeError::new_err(format!("np.{name} of lazy values takes no {option}=")));
                }
            }
        }
        let inputs: Vec<Bound<'py, PyAny>> = inputs.iter().collect();
        Lazy::of_call(py, op, &inputs.iter().collect::<Vec<_>>(), out.as_ref())
    }

    /// np.where, np.clip, np.real and np.imag stay lazy; other functions of NumPy's get the computed array.
    fn __array_function__<'py>(
        &self,
        function: &Bound<'py, PyAny>,
        _types: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        options: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = function.py();
        let name: String = function.getattr("__name__")?.extract()?;
        match (name.as_str(), arguments.len()) {
            ("where", 3) | ("clip" | "real" | "imag", _) => {
                let options = options.copy()?;
                // NumPy's names for what the array API calls min and max.
                for (theirs, ours) in [("a_min", "min"), ("a_max", "max")] {
                    if let Some(bound) = options.get_item(theirs)? {
                        options.del_item(theirs)?;
                        options.set_item(ours, bound)?;
                    }
                }
                py.import("unishape")?.getattr(name.as_str())?.call(arguments, Some(&options))
            }
            _ => {
                let arguments = computed(arguments, DEEPEST)?.cast_into::<PyTuple>()?;
                let options = computed(options, DEEPEST)?.cast_into::<PyDict>()?;
                function.getattr("_implementation")?.call(arguments, Some(&options))
            }
        }
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(PyTypeError::new_err(
            "a lazy value is neither true nor false; .compute() it, or use &, |, ~ and where",
        ))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        text::told(py, &self.node)
    }

    /// What it is made of: steps in an order in which they can be taken, and the arrays they begin with.
    fn _parts<'py>(&self, py: Python<'py>) -> PyResult<Parts<'py>> {
        let (order, places) = self.node.flat();
        let (steps, arrays) = (PyList::empty(py), PyList::empty(py));
        for node in &order {
            let at = |from: &Arc<Node>| places[&Arc::as_ptr(from)];
            match &node.term {
                Term::Array(array) | Term::Later(array) => {
                    steps.append(("array", arrays.len()))?;
                    arrays.append(array)?;
                }
                Term::Scalar(Scalar::Bool(number)) => steps.append(("number", number))?,
                Term::Scalar(Scalar::Int(number)) => steps.append(("number", number))?,
                Term::Scalar(Scalar::Float(number)) => steps.append(("number", number))?,
                Term::Scalar(Scalar::Complex(number)) => steps.append(("number", number))?,
                Term::Call(op, from) => {
                    steps.append((op.name(), PyTuple::new(py, from.iter().map(at))?))?;
                }
                Term::Cast(dtype, from) => steps.append(("cast", dtype.name(), at(from)))?,
            }
        }
        Ok((steps, arrays))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Parts<'py>)> {
        let rebuilt = slf.py().import("unishape._unishape")?.getattr("_rebuilt")?;
        Ok((rebuilt, slf.get()._parts(slf.py())?))
    }

    fn __add__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.with(Op::Add, &[other])
    }

    fn __radd__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.under(Op::Add, other)
    }

    fn __sub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.with(Op::Subtract, &[other])
    }

    fn __rsub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.under(Op::Subtract, other)
    }

    fn __mul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.with(Op::Multiply, &[other])
    }

    fn __rmul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.under(Op::Multiply, other)
    }

    fn __truediv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.with(Op::Divide, &[other])
    }

    fn __rtruediv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.under(Op::Divide, other)
    }

    fn __floordiv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.with(Op::FloorDivide, &[other])
    }

    fn __rfloordiv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.under(Op::FloorDivide, other)
    }

    fn __mod__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.with(Op::Remainder, &[other])
    }

    fn __rmod__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.under(Op::Remainder, other)
    }

    fn __and__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.with(Op::And, &[other])
    }

    fn __rand__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.under(Op::And, other)
    }

    fn __or__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.with(Op::Or, &[other])
    }

    fn __ror__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.under(Op::Or, other)
    }

    fn __xor__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.with(Op::Xor, &[other])
    }

    fn __rxor__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.under(Op::Xor, other)
    }

    fn __lshift__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.with(Op::ShiftLeft, &[other])
    }

    fn __rlshift__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.under(Op::ShiftLeft, other)
    }

    fn __rshift__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.with(Op::ShiftRight, &[other])
    }

    fn __rrshift__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.under(Op::ShiftRight, other)
    }

    fn __pow__(&self, other: &Bound<'_, PyAny>, modulo: Option<&Bound<'_, PyAny>>) -> PyResult<Lazy> {
        no_modulo(modulo)?;
        self.with(Op::Pow, &[other])
    }

    fn __rpow__(&self, other: &Bound<'_, PyAny>, modulo: Option<&Bound<'_, PyAny>>) -> PyResult<Lazy> {
        no_modulo(modulo)?;
        self.under(Op::Pow, other)
    }

    fn __neg__(&self) -> PyResult<Lazy> {
        self.with(Op::Negative, &[])
    }

    fn __pos__(&self) -> PyResult<Lazy> {
        self.with(Op::Positive, &[])
    }

    fn __abs__(&self) -> PyResult<Lazy> {
        self.with(Op::Abs, &[])
    }

    fn __invert__(&self) -> PyResult<Lazy> {
        self.with(Op::Invert, &[])
    }

    fn __richcmp__(&self, other: &Bound<'_, PyAny>, comparison: CompareOp) -> PyResult<Lazy> {
        let op = match comparison {
            CompareOp::Lt => Op::Less,
            CompareOp::Le => Op::LessEqual,
            CompareOp::Eq => Op::Equal,
            CompareOp::Ne => Op::NotEqual,
            CompareOp::Gt => Op::Greater,
            CompareOp::Ge => Op::GreaterEqual,
        };
        self.with(op, &[other])
    }
}

/// The same with computed arrays in the place of lazy values, in tuples, lists and dictionaries too, to so many
/// within each other: a list may be in itself.
fn computed<'py>(object: &Bound<'py, PyAny>, deep: usize) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    if deep == 0 {
        return Ok(object.clone());
    }
    if let Ok(lazy) = object.cast::<Lazy>() {
        return lazy.get().compute(py, None, None);
    }
    if let Ok(tuple) = object.cast_exact::<PyTuple>() {
        let all = tuple.iter().map(|each| computed(&each, deep - 1)).collect::<PyResult<Vec<_>>>()?;
        return Ok(PyTuple::new(py, all)?.into_any());
    }
    if let Ok(list) = object.cast_exact::<PyList>() {
        let all = list.iter().map(|each| computed(&each, deep - 1)).collect::<PyResult<Vec<_>>>()?;
        return Ok(PyList::new(py, all)?.into_any());
    }
    if let Ok(dictionary) = object.cast_exact::<PyDict>() {
        let all = PyDict::new(py);
        for (key, value) in dictionary {
            all.set_item(key, computed(&value, deep - 1)?)?;
        }
        return Ok(all.into_any());
    }
    Ok(object.clone())
}

/// NumPy's functions take lists of arrays, and np.block lists of these.
const DEEPEST: usize = 8;

fn no_modulo(modulo: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    match modulo {
        Some(_) => Err(PyTypeError::new_err("pow of a lazy value takes no modulus; write (x ** y) % z")),
        None => Ok(()),
    }
}

/// A lazy value put together again of what `_parts` gave, possibly with other arrays.
#[pyfunction]
#[pyo3(signature = (steps, arrays, /))]
pub(crate) fn _rebuilt(steps: &Bound<'_, PyAny>, arrays: &Bound<'_, PyAny>) -> PyResult<Lazy> {
    let mut nodes: Vec<Arc<Node>> = Vec::new();
    let wrong = || PyValueError::new_err("these are not the steps of a lazy value");
    for step in steps.try_iter()? {
        let step = step?.cast_into::<PyTuple>()?;
        let name: String = step.get_item(0)?.extract()?;
        let argument = step.get_item(1)?;
        let at = |index: usize| nodes.get(index).cloned().ok_or_else(wrong);
        let node = match name.as_str() {
            "array" => Node::leaf(&arrays.get_item(argument)?)?,
            "number" => Node::new(&argument)?,
            "cast" => {
                let dtype = DType::from_name(&argument.extract::<String>()?).ok_or_else(wrong)?;
                Node::cast(dtype, at(step.get_item(2)?.extract()?)?)?
            }
            name => {
                let from: Vec<usize> = argument.extract()?;
                let op = Op::from_name(name).filter(|op| op.arity() == from.len()).ok_or_else(wrong)?;
                Node::call(op, from.into_iter().map(at).collect::<PyResult<_>>()?)?
            }
        };
        nodes.push(node);
    }
    Ok(Lazy { node: nodes.pop().ok_or_else(wrong)? })
}
