//! Lazy values: graphs of operations that are evaluated in one pass.

pub(crate) mod arguments;
mod graph;
mod reduce;
mod repr;
mod reshape;
pub(crate) mod steps;
mod values;

use crate::clip::clip_call;
use crate::compute::{Options, compute};
use crate::containers::Containers;
use crate::dtype;
use crate::errors::expression_error;
use crate::float_errors::Reported;
use crate::gpu;
use crate::input::{self, Input};
use crate::memory;
use crate::threads::ThreadCount;
use graph::{LazyDag, Leaf, Meta, call, cast, leaf, unknown_shape};
use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::{PyDict, PyList, PyTuple};
pub(crate) use reduce::summed_axes;
use reduce::{Arguments, NumpyCall};
use reshape::IfCopy;
use smallvec::SmallVec;
use unishape::DType;
use unishape::cuda::Numerics;
use unishape::expr::{self, Dag, FloatCast, IndexItem, Op, ReduceOp, Term, View};
use values::Kept;

/// A value that is not computed yet.
///
/// Operators, NumPy's ufuncs and the functions of this package combine lazy values to one expression.
/// compute(), or numpy.asarray(), evaluates it in one pass; shared parts are evaluated once.
///
/// Other libraries take it for an array: numpy.asarray(x), list(x), x @ y, float(x), and attributes and methods of
/// numpy.ndarray that Lazy does not have. For them it is computed once, and the array is kept, read-only, until
/// release() drops it. compute() returns an array of your own, and keeps nothing. The inputs must not change between.
///
/// Examples
/// --------
/// >>> import numpy as np, unishape
/// >>> x = unishape.lazy(np.array([1.0, 4.0, 9.0]))
/// >>> y = np.sqrt(x) * 2 + 1
/// >>> y.compute().tolist(), len(y), float(y.max()), sorted(y, reverse=True)[0]
/// ([3.0, 5.0, 7.0], 3, 7.0, np.float64(7.0))
#[pyclass(frozen, module = "unishape", weakref)]
pub(crate) struct Lazy {
    graph: LazyDag,
    kept: Kept,
}

/// The node for an operand: a lazy value, a number or an array.
fn operand(object: &Bound<'_, PyAny>) -> PyResult<LazyDag> {
    if let Ok(lazy) = object.cast::<Lazy>() {
        return lazy.get().node(object.py());
    }
    match input::python_scalar(object)? {
        Some(scalar) => Ok(Dag::scalar(scalar, Meta::new(Some(vec![]), None))),
        None => leaf(object),
    }
}

/// Makes a lazy value.
///
/// Parameters
/// ----------
/// x : array_like or dask.array.Array
///     Dask arrays stay deferred; see unishape.dask.
///
/// Returns
/// -------
/// Lazy
///
/// Examples
/// --------
/// >>> import numpy as np, unishape
/// >>> x = unishape.lazy(np.ones((2, 3)))
/// >>> (x + np.arange(3)).shape
/// (2, 3)
#[pyfunction]
#[pyo3(signature = (x, /))]
pub(crate) fn lazy(x: &Bound<'_, PyAny>) -> PyResult<Lazy> {
    match x.cast::<Lazy>() {
        Ok(lazy) => Ok(Lazy::new(lazy.get().graph.clone())),
        Err(_) => Ok(Lazy::new(leaf(x)?)),
    }
}

impl Lazy {
    /// Calls a function one of whose arguments is lazy.
    pub(crate) fn from_call<'py>(
        py: Python<'py>,
        op: Op,
        arguments: &[&Bound<'py, PyAny>],
        out: Option<&Bound<'py, PyAny>>,
        threads: Option<ThreadCount>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let inputs = arguments.iter().map(|object| operand(object)).collect::<PyResult<_>>()?;
        let lazy = Lazy::new(call(op, inputs)?);
        match out {
            None => Ok(Bound::new(py, lazy)?.into_any()),
            Some(out) => lazy.compute(py, Some(out), threads, false),
        }
    }

    /// A reduction. The result is lazy, unless `out` is given.
    fn reduced<'py>(
        &self,
        py: Python<'py>,
        op: ReduceOp,
        arguments: &Arguments<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mask = arguments.mask().map(operand).transpose()?;
        let lazy = Lazy::new(graph::reduce(arguments.reduction(op)?, self.node(py)?, mask)?);
        match arguments.out {
            None => Ok(Bound::new(py, lazy)?.into_any()),
            Some(out) => lazy.compute(py, Some(out), None, false),
        }
    }

    fn reshaped(&self, py: Python<'_>, shape: &[i64], if_copy: IfCopy) -> PyResult<Lazy> {
        let to_array = || match self.graph.topological().iter().any(graph::is_deferred) {
            true => {
                let lazy = Bound::new(py, Lazy::new(self.graph.clone()))?;
                py.import("unishape.dask")?.call_method1("to_dask", (lazy,))
            }
            false => self.compute(py, None, None, false),
        };
        Ok(Lazy::new(reshape::reshape(py, &self.node(py)?, shape, if_copy, to_array)?))
    }

    fn viewed(&self, py: Python<'_>, view: View) -> PyResult<Lazy> {
        Ok(Lazy::new(graph::view(view, self.node(py)?)?))
    }

    fn unary(&self, py: Python<'_>, op: Op) -> PyResult<Lazy> {
        Ok(Lazy::new(call(op, SmallVec::from_iter([self.node(py)?]))?))
    }

    /// A binary operator; `NotImplemented` where the other operand is no array, so that Python asks it.
    fn binary<'py>(&self, op: Op, right: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = right.py();
        if !values::is_operand(right)? {
            return Ok(py.NotImplemented().into_bound(py));
        }
        let inputs = SmallVec::from_iter([self.node(py)?, operand(right)?]);
        Ok(Bound::new(py, Lazy::new(call(op, inputs)?))?.into_any())
    }

    /// A binary operator with this value on the right.
    fn reflected<'py>(&self, op: Op, left: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = left.py();
        if !values::is_operand(left)? {
            return Ok(py.NotImplemented().into_bound(py));
        }
        let inputs = SmallVec::from_iter([operand(left)?, self.node(py)?]);
        Ok(Bound::new(py, Lazy::new(call(op, inputs)?))?.into_any())
    }

    fn new(graph: LazyDag) -> Lazy {
        Lazy { graph, kept: Kept::default() }
    }

    /// The node of this value in other graphs: the array that is kept, or its own graph.
    fn node(&self, py: Python<'_>) -> PyResult<LazyDag> {
        match self.kept.get(py) {
            // Labels belong to the graph.
            Some(array) if !self.graph.topological().iter().any(graph::has_container) => leaf(&array),
            _ => Ok(self.graph.clone()),
        }
    }

    /// The computed array, read-only. It is computed once and kept.
    fn array<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(array) = self.kept.get(py) {
            return Ok(array);
        }
        self.check_on_cpu()?;
        self.containers(py)?;
        self.kept.set(self.compute_array(py, None, None, false)?)
    }

    fn check_on_cpu(&self) -> PyResult<()> {
        match self.graph.topological().iter().any(graph::is_gpu) {
            true => Err(PyTypeError::new_err(
                "this lazy value is on a GPU: call .compute() for an array there, and copy that to the CPU",
            )),
            false => Ok(()),
        }
    }

    /// Sums to a shape that broadcasts to the shape of this value; `dtype` is that of the result.
    pub(crate) fn sum_to<'py>(
        &self,
        py: Python<'py>,
        shape: &[usize],
        dtype: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        threads: Option<ThreadCount>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let dtype = arguments::dtype(dtype)?;
        self.containers(py)?;
        let node = self.node(py)?;
        let from = node.meta().shape.as_ref().ok_or_else(unknown_shape)?;
        let sum = reduce::sum_to(shape, from, dtype)?;
        let sum = graph::reduce(sum, node.clone(), None)?;
        let added = vec![IndexItem::At(0); from.len() - shape.len()];
        let index = added.into_iter().chain([IndexItem::Ellipsis]).collect();
        let sum = if from.len() == shape.len() { sum } else { graph::view(View::Index(index), sum)? };
        Lazy::new(sum).compute_array(py, out, threads, false)
    }

    /// Computes without labels and other containers.
    fn compute_array<'py>(
        &self,
        py: Python<'py>,
        out: Option<&Bound<'py, PyAny>>,
        threads: Option<ThreadCount>,
        fast_math: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let order = self.graph.topological();
        if order.iter().any(graph::is_deferred) {
            let lazy = Bound::new(py, Lazy::new(self.graph.clone()))?;
            return py.import("unishape.dask")?.call_method1("_compute", (lazy, out));
        }
        let mut inputs: Vec<Input<'py>> = Vec::new();
        for node in order.iter() {
            match node.term() {
                Term::Leaf(Leaf::Array(array)) => {
                    inputs.push(Input::from_array(array.bind(py).clone().cast_into()?)?);
                }
                Term::Leaf(Leaf::Gpu(array)) => inputs.push(Input::Gpu(array.bind(py).clone())),
                _ => {}
            }
        }
        if let Some(inputs) = Input::on_gpu(&inputs, |number| format!("array {}", number + 1))? {
            let numerics = if fast_math { Numerics::Fast } else { Numerics::Exact };
            return gpu::compute(py, &expr::Expr::from_dag(&self.graph), &inputs, out, numerics);
        }
        let options = Options::new(out, threads, Reported::Named("a lazy value"))?;
        // One value per leaf: `try_map_leaves` visits them in topological order, too.
        let mut values = inputs.iter().filter_map(Input::value);
        let graph = self.graph.try_map_leaves(|_| {
            values.next().ok_or_else(|| PyTypeError::new_err("expressions do not support strings"))
        })?;
        let bound = expr::Lazy::from(graph).bind().map_err(expression_error)?;
        let result = compute(py, &bound, &inputs, options)?.into_any();
        Ok(out.cloned().unwrap_or(result))
    }

    /// The containers of arrays that are leaves, such as pandas' columns, and how to wrap the result in one.
    fn containers<'py>(&self, py: Python<'py>) -> PyResult<Option<Containers<'py>>> {
        let order = self.graph.topological();
        if !order.iter().any(graph::has_container) {
            return Ok(None);
        }
        let (steps, arrays) = self.to_steps(py)?;
        Containers::of_steps(&steps, &arrays).map(Some)
    }

    /// The steps of the graph, and its arrays, which are containers where they come from one.
    fn to_steps<'py>(&self, py: Python<'py>) -> PyResult<Steps<'py>> {
        let arrays = PyList::empty(py);
        let steps = steps::to_steps(py, &self.graph, |node| {
            let Term::Leaf(Leaf::Array(array) | Leaf::Deferred(array) | Leaf::Gpu(array)) = node.term()
            else {
                return Err(invalid_steps());
            };
            arrays.append(node.meta().container.as_ref().unwrap_or(array))?;
            ("array", arrays.len() - 1).into_pyobject(py)
        })?;
        Ok((steps, arrays))
    }
}

/// A serialized graph: its steps, and the arrays that they refer to.
type Steps<'py> = (Bound<'py, PyList>, Bound<'py, PyList>);

#[pymethods]
impl Lazy {
    /// Shape of the result.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        match &self.graph.meta().shape {
            Some(shape) => PyTuple::new(py, shape),
            None => Err(unknown_shape()),
        }
    }

    /// Number of dimensions of the result.
    #[getter]
    fn ndim(&self, py: Python<'_>) -> PyResult<usize> {
        self.shape(py).map(|shape| shape.len())
    }

    /// Number of elements of the result.
    #[getter]
    fn size(&self, py: Python<'_>) -> PyResult<usize> {
        self.shape(py)?.iter().try_fold(1, |size: usize, dim| Ok(size.saturating_mul(dim.extract()?)))
    }

    /// Dtype of the result.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDescr>> {
        memory::to_descr(py, self.graph.meta().dtype.unwrap_or(DType::F64))
    }

    /// Evaluates the expression in one pass.
    ///
    /// Parameters
    /// ----------
    /// out : numpy.ndarray, optional
    ///     Preallocated output: of the result's shape, and of its dtype or one of the same kind.
    /// threads : int, optional
    ///     Number of worker threads. Default: one per core for large inputs. Without effect on Dask arrays.
    /// fast_math : bool, default False
    ///     Whether kernels for GPUs may use approximate single-precision functions. Without effect on the CPU.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray, or an array on the GPU
    ///     With pandas' objects, one of them with their labels; with PyTorch's tensors, a tensor.
    #[pyo3(signature = (*, out=None, threads=None, fast_math=false))]
    fn compute<'py>(
        &self,
        py: Python<'py>,
        out: Option<&Bound<'py, PyAny>>,
        threads: Option<ThreadCount>,
        fast_math: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        if out.is_none()
            && let Some(array) = self.kept.get(py)
        {
            let containers = self.containers(py)?;
            return Containers::wrap(containers, array.call_method0("copy")?);
        }
        // Labels are checked before anything is computed.
        let containers = self.containers(py)?;
        let result = self.compute_array(py, out, threads, fast_math)?;
        if out.is_some() { Ok(result) } else { Containers::wrap(containers, result) }
    }

    /// Drops the array that is kept since another library used this value; the next use computes it again.
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, unishape
    /// >>> x = np.ones(2)
    /// >>> y = unishape.lazy(x) * 2
    /// >>> np.asarray(y).tolist()
    /// [2.0, 2.0]
    /// >>> x[0] = 5
    /// >>> y.release()
    /// >>> np.asarray(y).tolist()
    /// [10.0, 2.0]
    fn release(&self) {
        self.kept.release();
    }

    /// Casts lazily to another dtype.
    #[pyo3(signature = (dtype, /))]
    fn astype(&self, py: Python<'_>, dtype: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        let descr = PyArrayDescr::new(py, dtype)?;
        match dtype::from_descr(&descr) {
            Some(dtype) => Ok(Lazy::new(cast(dtype, self.node(py)?)?)),
            None => Err(PyTypeError::new_err(format!("lazy values do not support dtype {descr}"))),
        }
    }

    /// Limits values lazily to the range from min to max; None means no limit.
    #[pyo3(signature = (min=None, max=None, *, out=None))]
    fn clip<'py>(
        slf: &Bound<'py, Self>,
        min: Option<&Bound<'py, PyAny>>,
        max: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (op, arguments) = clip_call(slf.as_any(), min, max);
        Lazy::from_call(slf.py(), op, &arguments, out, None)
    }

    /// Sums elements lazily.
    ///
    /// Parameters
    /// ----------
    /// axis : int or tuple of ints, optional
    ///     The reduced axes. Default: all.
    /// dtype : dtype, optional
    ///     Dtype of the result and of its computation. Default: as in NumPy.
    /// out : numpy.ndarray, optional
    ///     Preallocated output. With it, the result is computed now.
    /// keepdims : bool, default False
    ///     Whether reduced axes stay, with size 1.
    /// initial : number, optional
    ///     Value that the sum starts with.
    /// where : array_like of bool, optional
    ///     Elements that take part. Default: all.
    ///
    /// Returns
    /// -------
    /// Lazy
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, unishape
    /// >>> x = unishape.lazy(np.array([[1.0, 2.0], [3.0, 4.0]]))
    /// >>> (x / x.sum(axis=1, keepdims=True)).compute()[0].tolist()
    /// [0.3333333333333333, 0.6666666666666666]
    #[pyo3(signature = (axis=None, dtype=None, out=None, keepdims=false, initial=None, r#where=None))]
    #[allow(clippy::too_many_arguments)]
    fn sum<'py>(
        &self,
        py: Python<'py>,
        axis: Option<&Bound<'py, PyAny>>,
        dtype: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        keepdims: bool,
        initial: Option<&Bound<'py, PyAny>>,
        r#where: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments =
            Arguments { axis, dtype, out, keepdims, initial, mask: r#where, ..Arguments::default() };
        self.reduced(py, ReduceOp::Sum, &arguments)
    }

    /// Multiplies elements lazily; the arguments are those of sum.
    #[pyo3(signature = (axis=None, dtype=None, out=None, keepdims=false, initial=None, r#where=None))]
    #[allow(clippy::too_many_arguments)]
    fn prod<'py>(
        &self,
        py: Python<'py>,
        axis: Option<&Bound<'py, PyAny>>,
        dtype: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        keepdims: bool,
        initial: Option<&Bound<'py, PyAny>>,
        r#where: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments =
            Arguments { axis, dtype, out, keepdims, initial, mask: r#where, ..Arguments::default() };
        self.reduced(py, ReduceOp::Prod, &arguments)
    }

    /// Largest element, lazily; the arguments are those of sum.
    #[pyo3(signature = (axis=None, out=None, keepdims=false, initial=None, r#where=None))]
    fn max<'py>(
        &self,
        py: Python<'py>,
        axis: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        keepdims: bool,
        initial: Option<&Bound<'py, PyAny>>,
        r#where: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = Arguments { axis, out, keepdims, initial, mask: r#where, ..Arguments::default() };
        self.reduced(py, ReduceOp::Max, &arguments)
    }

    /// Smallest element, lazily; the arguments are those of sum.
    #[pyo3(signature = (axis=None, out=None, keepdims=false, initial=None, r#where=None))]
    fn min<'py>(
        &self,
        py: Python<'py>,
        axis: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        keepdims: bool,
        initial: Option<&Bound<'py, PyAny>>,
        r#where: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = Arguments { axis, out, keepdims, initial, mask: r#where, ..Arguments::default() };
        self.reduced(py, ReduceOp::Min, &arguments)
    }

    /// Mean, lazily; the arguments are those of sum.
    #[pyo3(signature = (axis=None, dtype=None, out=None, keepdims=false, *, r#where=None))]
    fn mean<'py>(
        &self,
        py: Python<'py>,
        axis: Option<&Bound<'py, PyAny>>,
        dtype: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        keepdims: bool,
        r#where: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = Arguments { axis, dtype, out, keepdims, mask: r#where, ..Arguments::default() };
        self.reduced(py, ReduceOp::Mean, &arguments)
    }

    /// Variance, lazily; the other arguments are those of sum.
    ///
    /// ddof, or correction, is subtracted from the number of elements. Default: 0.
    #[pyo3(signature = (axis=None, dtype=None, out=None, ddof=None, keepdims=false, *, r#where=None, correction=None))]
    #[allow(clippy::too_many_arguments)]
    fn var<'py>(
        &self,
        py: Python<'py>,
        axis: Option<&Bound<'py, PyAny>>,
        dtype: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        ddof: Option<&Bound<'py, PyAny>>,
        keepdims: bool,
        r#where: Option<&Bound<'py, PyAny>>,
        correction: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments =
            Arguments { axis, dtype, out, ddof, keepdims, mask: r#where, correction, ..Arguments::default() };
        self.reduced(py, ReduceOp::Var, &arguments)
    }

    /// Standard deviation, lazily; the arguments are those of var.
    #[pyo3(signature = (axis=None, dtype=None, out=None, ddof=None, keepdims=false, *, r#where=None, correction=None))]
    #[allow(clippy::too_many_arguments)]
    fn std<'py>(
        &self,
        py: Python<'py>,
        axis: Option<&Bound<'py, PyAny>>,
        dtype: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        ddof: Option<&Bound<'py, PyAny>>,
        keepdims: bool,
        r#where: Option<&Bound<'py, PyAny>>,
        correction: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments =
            Arguments { axis, dtype, out, ddof, keepdims, mask: r#where, correction, ..Arguments::default() };
        self.reduced(py, ReduceOp::Std, &arguments)
    }

    /// Whether any element is true, lazily; the arguments are those of sum.
    #[pyo3(signature = (axis=None, out=None, keepdims=false, *, r#where=None))]
    fn any<'py>(
        &self,
        py: Python<'py>,
        axis: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        keepdims: bool,
        r#where: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = Arguments { axis, out, keepdims, mask: r#where, ..Arguments::default() };
        self.reduced(py, ReduceOp::Any, &arguments)
    }

    /// Whether all elements are true, lazily; the arguments are those of sum.
    #[pyo3(signature = (axis=None, out=None, keepdims=false, *, r#where=None))]
    fn all<'py>(
        &self,
        py: Python<'py>,
        axis: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        keepdims: bool,
        r#where: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = Arguments { axis, out, keepdims, mask: r#where, ..Arguments::default() };
        self.reduced(py, ReduceOp::All, &arguments)
    }

    /// Index of the first smallest element, lazily; takes axis and keepdims as sum does.
    #[pyo3(signature = (axis=None, out=None, *, keepdims=false))]
    fn argmin<'py>(
        &self,
        py: Python<'py>,
        axis: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = Arguments { axis, out, keepdims, ..Arguments::default() };
        self.reduced(py, ReduceOp::ArgMin, &arguments)
    }

    /// Index of the first largest element, lazily; takes axis and keepdims as sum does.
    #[pyo3(signature = (axis=None, out=None, *, keepdims=false))]
    fn argmax<'py>(
        &self,
        py: Python<'py>,
        axis: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = Arguments { axis, out, keepdims, ..Arguments::default() };
        self.reduced(py, ReduceOp::ArgMax, &arguments)
    }

    /// Number of elements that are not zero, lazily; takes axis and keepdims as sum does.
    #[pyo3(signature = (axis=None, *, keepdims=false))]
    fn count_nonzero<'py>(
        &self,
        py: Python<'py>,
        axis: Option<&Bound<'py, PyAny>>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = Arguments { axis, keepdims, ..Arguments::default() };
        self.reduced(py, ReduceOp::CountNonzero, &arguments)
    }

    /// Logarithm of the sum of exponentials, lazily; takes axis and keepdims as sum does.
    #[pyo3(signature = (axis=None, *, keepdims=false))]
    fn logsumexp<'py>(
        &self,
        py: Python<'py>,
        axis: Option<&Bound<'py, PyAny>>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = Arguments { axis, keepdims, ..Arguments::default() };
        self.reduced(py, ReduceOp::LogSumExp, &arguments)
    }

    /// Vector norm, lazily: the sum of absolute values (1), the root of the sum of their squares (2), or the largest
    /// (inf); takes axis and keepdims as sum does.
    #[pyo3(signature = (ord=None, axis=None, keepdims=false))]
    fn norm<'py>(
        &self,
        py: Python<'py>,
        ord: Option<&Bound<'py, PyAny>>,
        axis: Option<&Bound<'py, PyAny>>,
        keepdims: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = Arguments { axis, keepdims, ..Arguments::default() };
        self.reduced(py, reduce::norm(ord)?, &arguments)
    }

    /// A view: integers, slices, None and ... as indices, as in NumPy. Nothing is copied.
    ///
    /// With arrays as indices, the value is computed, and the result is a lazy value of the selected elements.
    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        match arguments::index(key) {
            Ok(index) => self.viewed(py, View::Index(index)),
            Err(_) if values::is_advanced_index(key)? => {
                let key = replace_lazy(key, MAX_DEPTH)?;
                lazy(&self.array(py)?.get_item(key)?)
            }
            Err(error) => Err(error),
        }
    }

    /// The computed elements along the first axis.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.array(py)?.try_iter()?.into_any())
    }

    fn __contains__(&self, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.array(item.py())?.contains(item)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        match self.shape(py)?.get_item(0) {
            Ok(size) => size.extract(),
            Err(_) => Err(PyTypeError::new_err("len() of a lazy value without dimensions")),
        }
    }

    fn __float__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py)?.call_method0("__float__")
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py)?.call_method0("__int__")
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py)?.call_method0("__complex__")
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py)?.call_method0("__index__")
    }

    #[pyo3(signature = (ndigits=None, /))]
    fn __round__<'py>(
        &self,
        py: Python<'py>,
        ndigits: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let element = values::element(&self.array(py)?)?;
        py.import("builtins")?.call_method1("round", (element, ndigits))
    }

    fn __format__<'py>(slf: &Bound<'py, Self>, spec: &str) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        match spec {
            "" => Ok(slf.str()?.into_any()),
            spec => values::element(&slf.get().array(py)?)?.call_method1("__format__", (spec,)),
        }
    }

    /// Attributes and methods of numpy.ndarray that lazy values do not have: those of the computed array.
    fn __getattr__<'py>(slf: &Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let own = slf.get();
        let is_deferred = own.graph.topological().iter().any(graph::is_deferred);
        if is_deferred || !values::is_array_attribute(slf.py(), name)? {
            return Err(PyAttributeError::new_err(format!("'Lazy' object has no attribute '{name}'")));
        }
        own.array(slf.py())?.getattr(name)
    }

    #[pyo3(signature = (**options))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        values::dlpack(&self.array(py)?, options)
    }

    fn __dlpack_device__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.graph.topological().iter().any(graph::is_gpu) {
            true => self.compute(py, None, None, false)?.call_method0("__dlpack_device__"),
            false => Ok((1, 0).into_pyobject(py)?.into_any()),
        }
    }

    /// The elements as a column of Arrow, for libraries that take it, such as Polars.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        py.import("unishape._containers")?.call_method1("arrow_stream", (self.array(py)?, requested_schema))
    }

    /// pandas leaves operators with a lazy value to it: those of a DataFrame have priority 4000.
    #[classattr]
    #[allow(non_upper_case_globals)]
    const __pandas_priority__: i32 = 5000;

    /// The value with its axes reversed.
    #[getter(T)]
    fn transposed(&self, py: Python<'_>) -> PyResult<Lazy> {
        self.viewed(py, View::Transpose(None))
    }

    /// The real parts.
    #[getter]
    fn real(&self, py: Python<'_>) -> PyResult<Lazy> {
        self.unary(py, Op::Real)
    }

    /// The imaginary parts.
    #[getter]
    fn imag(&self, py: Python<'_>) -> PyResult<Lazy> {
        self.unary(py, Op::Imag)
    }

    /// Permutes the axes: as one tuple, or as several arguments. Default: reversed.
    #[pyo3(signature = (*axes))]
    fn transpose(&self, axes: &Bound<'_, PyTuple>) -> PyResult<Lazy> {
        self.viewed(axes.py(), reduce::transpose(axes)?)
    }

    /// Swaps two axes.
    #[pyo3(signature = (axis1, axis2, /))]
    fn swapaxes(&self, py: Python<'_>, axis1: i64, axis2: i64) -> PyResult<Lazy> {
        self.viewed(py, View::SwapAxes(axis1, axis2))
    }

    /// Removes axes of size 1. Default: all of them.
    #[pyo3(signature = (axis=None))]
    fn squeeze(&self, py: Python<'_>, axis: Option<&Bound<'_, PyAny>>) -> PyResult<Lazy> {
        self.viewed(py, View::Squeeze(arguments::axes(axis)?))
    }

    /// Gives the value another shape, without a copy.
    ///
    /// An array, or a view of one, can have any shape in which NumPy makes a view of it. A computed value can only
    /// get or lose axes of size 1. Other shapes raise ValueError: call compute() first, and reshape the array, or call
    /// np.reshape, which does both. Values of Dask arrays are reshaped by Dask.
    ///
    /// Parameters
    /// ----------
    /// *shape : int
    ///     The sizes, or one tuple of them. One size may be -1.
    ///
    /// Returns
    /// -------
    /// Lazy
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, unishape
    /// >>> x = unishape.lazy(np.arange(6.0))
    /// >>> (x.reshape(2, 3) * 2).shape, (x * 2).reshape(6, 1).shape
    /// ((2, 3), (6, 1))
    #[pyo3(signature = (*shape))]
    fn reshape(&self, py: Python<'_>, shape: &Bound<'_, PyTuple>) -> PyResult<Lazy> {
        let shape = arguments::integers(shape, "a size")?;
        self.reshaped(py, &shape, IfCopy::Raise)
    }

    /// Gives the value one dimension; as for reshape, without a copy.
    fn ravel(&self, py: Python<'_>) -> PyResult<Lazy> {
        self.reshaped(py, &[-1], IfCopy::Raise)
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
                "converting a lazy value to an array computes a new one, which copy=False forbids",
            ));
        }
        let other = match dtype {
            Some(dtype) => {
                let descr = PyArrayDescr::new(py, dtype)?;
                (!descr.is_equiv_to(&self.dtype(py)?)).then_some(descr)
            }
            None => None,
        };
        match other {
            // With copy=True, the caller gets an array of its own.
            None if copy == Some(true) && self.kept.get(py).is_none() => {
                self.check_on_cpu()?;
                self.containers(py)?;
                self.compute_array(py, None, None, false)
            }
            None if copy == Some(true) => self.array(py)?.call_method0("copy"),
            None => self.array(py),
            Some(descr) => self.array(py)?.call_method1("astype", (descr,)),
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
        if let ("reduce", Some(method)) = (method, reduce::method_of_ufunc(&name)) {
            let array = lazy(&inputs.get_item(0)?)?;
            let rank = array.graph.meta().shape.as_ref().map(Vec::len);
            let arguments = reduce::ufunc_arguments(rank, inputs, options)?;
            return Bound::new(py, array)?.call_method(method, (), Some(&arguments));
        }
        let op = Op::from_name(&name).filter(|op| op.arity() == inputs.len());
        let mut out = None;
        let mut others = false;
        for (option, value) in options.into_iter().flatten() {
            match option.extract::<String>()?.as_str() {
                "out" if op.is_some() => {
                    let (array,): (Bound<'py, PyAny>,) = value.extract()?;
                    out = Some(array);
                }
                _ => others = true,
            }
        }
        match op {
            Some(op) if method == "__call__" && !others => {
                let inputs: Vec<Bound<'py, PyAny>> = inputs.iter().collect();
                Lazy::from_call(py, op, &inputs.iter().collect::<Vec<_>>(), out.as_ref(), None)
            }
            // Others get the computed arrays.
            _ => {
                let inputs = replace_lazy(inputs, MAX_DEPTH)?.cast_into::<PyTuple>()?;
                let options = options.map(|options| replace_lazy(options, MAX_DEPTH)).transpose()?;
                let options = options.map(|options| options.cast_into::<PyDict>()).transpose()?;
                ufunc.getattr(method)?.call(inputs, options.as_ref())
            }
        }
    }

    /// np.where, np.clip, np.real, np.imag, reductions and views stay lazy; others get the computed array. So does
    /// np.reshape where it is no view, but its result is lazy, too.
    fn __array_function__<'py>(
        &self,
        function: &Bound<'py, PyAny>,
        _types: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        options: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = function.py();
        let name: String = function.getattr("__name__")?.extract()?;
        let module: String = function.getattr("__module__")?.extract()?;
        // A function of a module of NumPy has the module's name before its own.
        let name = match module.strip_prefix("numpy.") {
            Some(module) => format!("{module}.{name}"),
            None => name,
        };
        if let Some((array, call)) = reduce::array_function(&name, arguments, options)? {
            let array = lazy(&array)?;
            return match call {
                NumpyCall::Method(method, options) => {
                    Bound::new(py, array)?.call_method(method, (), Some(&options))
                }
                NumpyCall::Reshape(shape) => {
                    Ok(Bound::new(py, array.reshaped(py, &shape, IfCopy::Compute)?)?.into_any())
                }
                NumpyCall::View(view) => Ok(Bound::new(py, array.viewed(py, view)?)?.into_any()),
            };
        }
        match (name.as_str(), arguments.len()) {
            // They need no element.
            ("shape" | "ndim" | "size", 1) if options.is_empty() => {
                lazy(&arguments.get_item(0)?)?.into_pyobject(py)?.getattr(name.as_str())
            }
            ("where", 3) | ("clip" | "real" | "imag", _) => {
                let options = options.copy()?;
                // NumPy's older names of min and max.
                for (old, new) in [("a_min", "min"), ("a_max", "max")] {
                    if let Some(bound) = options.get_item(old)? {
                        options.del_item(old)?;
                        options.set_item(new, bound)?;
                    }
                }
                py.import("unishape")?.getattr(name.as_str())?.call(arguments, Some(&options))
            }
            _ => {
                let arguments = replace_lazy(arguments, MAX_DEPTH)?.cast_into::<PyTuple>()?;
                let options = replace_lazy(options, MAX_DEPTH)?.cast_into::<PyDict>()?;
                function.getattr("_implementation")?.call(arguments, Some(&options))
            }
        }
    }

    /// Only a single element has a truth value, as in NumPy.
    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        match self.size(py) {
            Ok(1) => self.array(py)?.is_truthy(),
            _ => Err(PyTypeError::new_err(
                "a lazy value has no truth value; use x.any() or x.all(), or &, |, ~ and where",
            )),
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        repr::repr(py, &self.graph)
    }

    /// Serializes the graph: its steps in topological order, and its arrays.
    fn _to_steps<'py>(&self, py: Python<'py>) -> PyResult<Steps<'py>> {
        self.to_steps(py)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Steps<'py>)> {
        let from_steps = slf.py().import("unishape._unishape")?.getattr("_from_steps")?;
        Ok((from_steps, slf.get()._to_steps(slf.py())?))
    }

    fn __add__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.binary(Op::Add, other)
    }

    fn __radd__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.reflected(Op::Add, other)
    }

    fn __sub__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.binary(Op::Subtract, other)
    }

    fn __rsub__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.reflected(Op::Subtract, other)
    }

    fn __mul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.binary(Op::Multiply, other)
    }

    fn __rmul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.reflected(Op::Multiply, other)
    }

    fn __truediv__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.binary(Op::Divide, other)
    }

    fn __rtruediv__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.reflected(Op::Divide, other)
    }

    fn __floordiv__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.binary(Op::FloorDivide, other)
    }

    fn __rfloordiv__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.reflected(Op::FloorDivide, other)
    }

    fn __mod__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.binary(Op::Remainder, other)
    }

    fn __rmod__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.reflected(Op::Remainder, other)
    }

    fn __and__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.binary(Op::And, other)
    }

    fn __rand__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.reflected(Op::And, other)
    }

    fn __or__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.binary(Op::Or, other)
    }

    fn __ror__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.reflected(Op::Or, other)
    }

    fn __xor__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.binary(Op::Xor, other)
    }

    fn __rxor__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.reflected(Op::Xor, other)
    }

    fn __lshift__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.binary(Op::ShiftLeft, other)
    }

    fn __rlshift__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.reflected(Op::ShiftLeft, other)
    }

    fn __rshift__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.binary(Op::ShiftRight, other)
    }

    fn __rrshift__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.reflected(Op::ShiftRight, other)
    }

    fn __pow__<'py>(
        &self,
        other: &Bound<'py, PyAny>,
        modulo: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        reject_modulus(modulo)?;
        self.binary(Op::Pow, other)
    }

    fn __rpow__<'py>(
        &self,
        other: &Bound<'py, PyAny>,
        modulo: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        reject_modulus(modulo)?;
        self.reflected(Op::Pow, other)
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<Lazy> {
        self.unary(py, Op::Negative)
    }

    fn __pos__(&self, py: Python<'_>) -> PyResult<Lazy> {
        self.unary(py, Op::Positive)
    }

    fn __abs__(&self, py: Python<'_>) -> PyResult<Lazy> {
        self.unary(py, Op::Abs)
    }

    fn __invert__(&self, py: Python<'_>) -> PyResult<Lazy> {
        self.unary(py, Op::Invert)
    }

    /// The computed product of matrices: it is not element-wise.
    fn __matmul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        values::matmul(other, || self.array(other.py()), false)
    }

    fn __rmatmul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        values::matmul(other, || self.array(other.py()), true)
    }

    fn __divmod__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        values::pair(self.binary(Op::FloorDivide, other)?, || self.binary(Op::Remainder, other))
    }

    fn __rdivmod__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        values::pair(self.reflected(Op::FloorDivide, other)?, || self.reflected(Op::Remainder, other))
    }

    fn __richcmp__<'py>(
        &self,
        other: &Bound<'py, PyAny>,
        comparison: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        let op = match comparison {
            CompareOp::Lt => Op::Less,
            CompareOp::Le => Op::LessEqual,
            CompareOp::Eq => Op::Equal,
            CompareOp::Ne => Op::NotEqual,
            CompareOp::Gt => Op::Greater,
            CompareOp::Ge => Op::GreaterEqual,
        };
        // Python would take NotImplemented for inequality.
        if matches!(comparison, CompareOp::Eq | CompareOp::Ne) && values::is_never_comparable(other) {
            let text = format!("cannot compare a lazy value with {}", other.get_type().name()?);
            return Err(PyTypeError::new_err(text));
        }
        self.binary(op, other)
    }
}

/// Replaces lazy values by computed arrays, also in nested tuples, lists and dictionaries.
///
/// The depth is limited, since a list can contain itself.
fn replace_lazy<'py>(object: &Bound<'py, PyAny>, depth: usize) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    if depth == 0 {
        return Ok(object.clone());
    }
    if let Ok(lazy) = object.cast::<Lazy>() {
        return lazy.get().array(py);
    }
    if let Ok(tuple) = object.cast_exact::<PyTuple>() {
        let items = tuple.iter().map(|item| replace_lazy(&item, depth - 1)).collect::<PyResult<Vec<_>>>()?;
        return Ok(PyTuple::new(py, items)?.into_any());
    }
    if let Ok(list) = object.cast_exact::<PyList>() {
        let items = list.iter().map(|item| replace_lazy(&item, depth - 1)).collect::<PyResult<Vec<_>>>()?;
        return Ok(PyList::new(py, items)?.into_any());
    }
    if let Ok(dictionary) = object.cast_exact::<PyDict>() {
        let replaced = PyDict::new(py);
        for (key, value) in dictionary {
            replaced.set_item(key, replace_lazy(&value, depth - 1)?)?;
        }
        return Ok(replaced.into_any());
    }
    Ok(object.clone())
}

/// NumPy's functions take lists of arrays, and np.block nested ones.
const MAX_DEPTH: usize = 8;

fn reject_modulus(modulo: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    match modulo {
        Some(_) => {
            Err(PyTypeError::new_err("pow does not support a modulus with lazy values; use (x ** y) % z"))
        }
        None => Ok(()),
    }
}

/// Builds a lazy value from the result of `_to_steps`, possibly with other arrays or with lazy values.
#[pyfunction]
#[pyo3(signature = (steps, arrays, /))]
pub(crate) fn _from_steps(steps: &Bound<'_, PyAny>, arrays: &Bound<'_, PyAny>) -> PyResult<Lazy> {
    let graph = nodes_from_steps(steps, arrays)?.pop().ok_or_else(invalid_steps)?;
    Ok(Lazy::new(graph))
}

/// The values of some steps, by their positions.
#[pyfunction]
#[pyo3(signature = (steps, arrays, positions, /))]
pub(crate) fn _values_of_steps(
    steps: &Bound<'_, PyAny>,
    arrays: &Bound<'_, PyAny>,
    positions: Vec<usize>,
) -> PyResult<Vec<Lazy>> {
    let nodes = nodes_from_steps(steps, arrays)?;
    let at = |position: usize| nodes.get(position).cloned().ok_or_else(invalid_steps);
    positions.into_iter().map(|position| Ok(Lazy::new(at(position)?))).collect()
}

fn invalid_steps() -> PyErr {
    PyValueError::new_err("invalid steps of a lazy value")
}

/// The node of each step.
fn nodes_from_steps(steps: &Bound<'_, PyAny>, arrays: &Bound<'_, PyAny>) -> PyResult<Vec<LazyDag>> {
    let mut nodes: Vec<LazyDag> = Vec::new();
    let invalid = invalid_steps;
    for step in steps.try_iter()? {
        let step = step?.cast_into::<PyTuple>()?;
        let name: String = step.get_item(0)?.extract()?;
        let argument = step.get_item(1)?;
        let node_at = |position: usize| nodes.get(position).cloned().ok_or_else(invalid);
        let node = match name.as_str() {
            "array" => lazy(&arrays.get_item(argument)?)?.graph,
            "scalar" => operand(&argument)?,
            "cast" => {
                let dtype = DType::from_name(&argument.extract::<String>()?).ok_or_else(invalid)?;
                cast(dtype, node_at(step.get_item(2)?.extract()?)?)?
            }
            "reduce" => {
                let inputs: Vec<usize> = step.get_item(2)?.extract()?;
                let (&[input] | &[input, _]) = &inputs[..] else { return Err(invalid()) };
                let mask = inputs.get(1).map(|&mask| node_at(mask)).transpose()?;
                let reduction = steps::to_reduction(&argument)?.ok_or_else(invalid)?;
                graph::reduce(reduction, node_at(input)?, mask)?
            }
            name => match steps::to_view(name, &argument)? {
                Some(view) => graph::view(view, node_at(step.get_item(2)?.extract()?)?)?,
                None => {
                    let inputs: Vec<usize> = argument.extract()?;
                    let inputs: SmallVec<[LazyDag; 3]> =
                        inputs.into_iter().map(node_at).collect::<PyResult<_>>()?;
                    match (FloatCast::from_name(name), Op::from_name(name)) {
                        (Some(cast), _) => {
                            let [input, like] = inputs.into_vec().try_into().map_err(|_| invalid())?;
                            graph::cast_like(cast, input, like)?
                        }
                        (None, Some(op)) if op.arity() == inputs.len() => call(op, inputs)?,
                        _ => return Err(invalid()),
                    }
                }
            },
        };
        nodes.push(node);
    }
    Ok(nodes)
}
