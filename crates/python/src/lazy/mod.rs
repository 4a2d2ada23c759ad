//! Lazy values: graphs of operations that are evaluated in one pass.

pub(crate) mod arguments;
mod graph;
mod reduce;
mod repr;
mod reshape;
pub(crate) mod steps;

use crate::clip::clip_call;
use crate::compute::{Options, compute};
use crate::dtype;
use crate::errors::expression_error;
use crate::gpu;
use crate::input::{self, Input};
use crate::memory;
use crate::threads::ThreadCount;
use graph::{LazyDag, Leaf, Meta, call, cast, leaf};
use numpy::PyArrayDescr;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::{PyDict, PyList, PyTuple};
use reduce::{Arguments, NumpyCall};
use reshape::IfCopy;
use smallvec::SmallVec;
use unishape::DType;
use unishape::cuda::Numerics;
use unishape::expr::{self, Dag, Op, ReduceOp, Term, View};

/// A value that is not computed yet.
///
/// Operators, NumPy's ufuncs and the functions of this package combine lazy values to one expression.
/// compute(), or numpy.asarray(), evaluates it in one pass; shared parts are evaluated once.
///
/// Examples
/// --------
/// >>> import numpy as np, unishape
/// >>> x = unishape.lazy(np.array([1.0, 4.0, 9.0]))
/// >>> (np.sqrt(x) * 2 + 1).compute().tolist()
/// [3.0, 5.0, 7.0]
#[pyclass(frozen, module = "unishape", weakref)]
pub(crate) struct Lazy {
    graph: LazyDag,
}

/// The node for an operand: a lazy value, a number or an array.
fn operand(object: &Bound<'_, PyAny>) -> PyResult<LazyDag> {
    if let Ok(lazy) = object.cast::<Lazy>() {
        return Ok(lazy.get().graph.clone());
    }
    match input::python_scalar(object)? {
        Some(scalar) => Ok(Dag::scalar(scalar, Meta { shape: Some(vec![]), dtype: None })),
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
        Ok(lazy) => Ok(Lazy { graph: lazy.get().graph.clone() }),
        Err(_) => Ok(Lazy { graph: leaf(x)? }),
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
        let lazy = Lazy { graph: call(op, inputs)? };
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
        let lazy = Lazy { graph: graph::reduce(arguments.reduction(op)?, self.graph.clone(), mask)? };
        match arguments.out {
            None => Ok(Bound::new(py, lazy)?.into_any()),
            Some(out) => lazy.compute(py, Some(out), None, false),
        }
    }

    fn reshaped(&self, py: Python<'_>, shape: &[i64], if_copy: IfCopy) -> PyResult<Lazy> {
        let to_array = || match self.graph.topological().iter().any(graph::is_deferred) {
            true => {
                let lazy = Bound::new(py, Lazy { graph: self.graph.clone() })?;
                py.import("unishape.dask")?.call_method1("to_dask", (lazy,))
            }
            false => self.compute(py, None, None, false),
        };
        Ok(Lazy { graph: reshape::reshape(py, &self.graph, shape, if_copy, to_array)? })
    }

    fn viewed(&self, view: View) -> PyResult<Lazy> {
        Ok(Lazy { graph: graph::view(view, self.graph.clone())? })
    }

    fn unary(&self, op: Op) -> PyResult<Lazy> {
        Ok(Lazy { graph: call(op, SmallVec::from_iter([self.graph.clone()]))? })
    }

    fn binary(&self, op: Op, right: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        Ok(Lazy { graph: call(op, SmallVec::from_iter([self.graph.clone(), operand(right)?]))? })
    }

    /// A binary operator with this value on the right.
    fn reflected(&self, op: Op, left: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        Ok(Lazy { graph: call(op, SmallVec::from_iter([operand(left)?, self.graph.clone()]))? })
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
            None => Err(PyValueError::new_err("the shape is unknown until the value is computed")),
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
    #[pyo3(signature = (*, out=None, threads=None, fast_math=false))]
    fn compute<'py>(
        &self,
        py: Python<'py>,
        out: Option<&Bound<'py, PyAny>>,
        threads: Option<ThreadCount>,
        fast_math: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let order = self.graph.topological();
        if order.iter().any(graph::is_deferred) {
            let lazy = Bound::new(py, Lazy { graph: self.graph.clone() })?;
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
        let options = Options::new(out, threads)?;
        // One value per leaf: `try_map_leaves` visits them in topological order, too.
        let mut values = inputs.iter().filter_map(Input::value);
        let graph = self.graph.try_map_leaves(|_| {
            values.next().ok_or_else(|| PyTypeError::new_err("expressions do not support strings"))
        })?;
        let bound = expr::Lazy::from(graph).bind().map_err(expression_error)?;
        Ok(compute(py, &bound, &inputs, options)?.into_any())
    }

    /// Casts lazily to another dtype.
    #[pyo3(signature = (dtype, /))]
    fn astype(&self, py: Python<'_>, dtype: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        let descr = PyArrayDescr::new(py, dtype)?;
        match dtype::from_descr(&descr) {
            Some(dtype) => Ok(Lazy { graph: cast(dtype, self.graph.clone())? }),
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
    fn __getitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.viewed(View::Index(arguments::index(key)?))
    }

    /// Without it, Python would iterate with growing indices.
    fn __iter__(&self) -> PyResult<Py<PyAny>> {
        Err(PyTypeError::new_err("a lazy value is not iterable; call .compute() first"))
    }

    /// The value with its axes reversed.
    #[getter(T)]
    fn transposed(&self) -> PyResult<Lazy> {
        self.viewed(View::Transpose(None))
    }

    /// The real parts.
    #[getter]
    fn real(&self) -> PyResult<Lazy> {
        self.unary(Op::Real)
    }

    /// The imaginary parts.
    #[getter]
    fn imag(&self) -> PyResult<Lazy> {
        self.unary(Op::Imag)
    }

    /// Permutes the axes: as one tuple, or as several arguments. Default: reversed.
    #[pyo3(signature = (*axes))]
    fn transpose(&self, axes: &Bound<'_, PyTuple>) -> PyResult<Lazy> {
        self.viewed(reduce::transpose(axes)?)
    }

    /// Swaps two axes.
    #[pyo3(signature = (axis1, axis2, /))]
    fn swapaxes(&self, axis1: i64, axis2: i64) -> PyResult<Lazy> {
        self.viewed(View::SwapAxes(axis1, axis2))
    }

    /// Removes axes of size 1. Default: all of them.
    #[pyo3(signature = (axis=None))]
    fn squeeze(&self, axis: Option<&Bound<'_, PyAny>>) -> PyResult<Lazy> {
        self.viewed(View::Squeeze(arguments::axes(axis)?))
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
        if self.graph.topological().iter().any(graph::is_gpu) {
            return Err(PyTypeError::new_err(
                "this lazy value is on a GPU: call .compute() for an array there, and copy that to the CPU",
            ));
        }
        match dtype {
            Some(dtype) => self.astype(py, dtype)?.compute(py, None, None, false),
            None => self.compute(py, None, None, false),
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
        if method != "__call__" {
            let text = format!("np.{name}.{method} does not support lazy values; call .compute() first");
            return Err(PyTypeError::new_err(text));
        }
        let Some(op) = Op::from_name(&name).filter(|op| op.arity() == inputs.len()) else {
            return Err(PyTypeError::new_err(format!(
                "np.{name} does not support lazy values; call .compute() first"
            )));
        };
        let mut out = None;
        for (option, value) in options.into_iter().flatten() {
            match option.extract::<String>()?.as_str() {
                "out" => {
                    let (array,): (Bound<'py, PyAny>,) = value.extract()?;
                    out = Some(array);
                }
                option => {
                    return Err(PyTypeError::new_err(format!(
                        "np.{name} does not support {option}= with lazy values"
                    )));
                }
            }
        }
        let inputs: Vec<Bound<'py, PyAny>> = inputs.iter().collect();
        Lazy::from_call(py, op, &inputs.iter().collect::<Vec<_>>(), out.as_ref(), None)
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
                NumpyCall::View(view) => Ok(Bound::new(py, array.viewed(view)?)?.into_any()),
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

    fn __bool__(&self) -> PyResult<bool> {
        Err(PyTypeError::new_err(
            "a lazy value has no truth value; call .compute() first, or use &, |, ~ and where",
        ))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        repr::repr(py, &self.graph)
    }

    /// Serializes the graph: its steps in topological order, and its arrays.
    fn _to_steps<'py>(&self, py: Python<'py>) -> PyResult<Steps<'py>> {
        let arrays = PyList::empty(py);
        let steps = steps::to_steps(py, &self.graph, |leaf| {
            let (Leaf::Array(array) | Leaf::Deferred(array) | Leaf::Gpu(array)) = leaf;
            arrays.append(array)?;
            ("array", arrays.len() - 1).into_pyobject(py)
        })?;
        Ok((steps, arrays))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Steps<'py>)> {
        let from_steps = slf.py().import("unishape._unishape")?.getattr("_from_steps")?;
        Ok((from_steps, slf.get()._to_steps(slf.py())?))
    }

    fn __add__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.binary(Op::Add, other)
    }

    fn __radd__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.reflected(Op::Add, other)
    }

    fn __sub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.binary(Op::Subtract, other)
    }

    fn __rsub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.reflected(Op::Subtract, other)
    }

    fn __mul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.binary(Op::Multiply, other)
    }

    fn __rmul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.reflected(Op::Multiply, other)
    }

    fn __truediv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.binary(Op::Divide, other)
    }

    fn __rtruediv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.reflected(Op::Divide, other)
    }

    fn __floordiv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.binary(Op::FloorDivide, other)
    }

    fn __rfloordiv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.reflected(Op::FloorDivide, other)
    }

    fn __mod__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.binary(Op::Remainder, other)
    }

    fn __rmod__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.reflected(Op::Remainder, other)
    }

    fn __and__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.binary(Op::And, other)
    }

    fn __rand__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.reflected(Op::And, other)
    }

    fn __or__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.binary(Op::Or, other)
    }

    fn __ror__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.reflected(Op::Or, other)
    }

    fn __xor__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.binary(Op::Xor, other)
    }

    fn __rxor__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.reflected(Op::Xor, other)
    }

    fn __lshift__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.binary(Op::ShiftLeft, other)
    }

    fn __rlshift__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.reflected(Op::ShiftLeft, other)
    }

    fn __rshift__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.binary(Op::ShiftRight, other)
    }

    fn __rrshift__(&self, other: &Bound<'_, PyAny>) -> PyResult<Lazy> {
        self.reflected(Op::ShiftRight, other)
    }

    fn __pow__(&self, other: &Bound<'_, PyAny>, modulo: Option<&Bound<'_, PyAny>>) -> PyResult<Lazy> {
        reject_modulus(modulo)?;
        self.binary(Op::Pow, other)
    }

    fn __rpow__(&self, other: &Bound<'_, PyAny>, modulo: Option<&Bound<'_, PyAny>>) -> PyResult<Lazy> {
        reject_modulus(modulo)?;
        self.reflected(Op::Pow, other)
    }

    fn __neg__(&self) -> PyResult<Lazy> {
        self.unary(Op::Negative)
    }

    fn __pos__(&self) -> PyResult<Lazy> {
        self.unary(Op::Positive)
    }

    fn __abs__(&self) -> PyResult<Lazy> {
        self.unary(Op::Abs)
    }

    fn __invert__(&self) -> PyResult<Lazy> {
        self.unary(Op::Invert)
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
        return lazy.get().compute(py, None, None, false);
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
    Ok(Lazy { graph })
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
    positions.into_iter().map(|position| Ok(Lazy { graph: at(position)? })).collect()
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
                    let op = Op::from_name(name).filter(|op| op.arity() == inputs.len());
                    let inputs = inputs.into_iter().map(node_at).collect::<PyResult<_>>()?;
                    call(op.ok_or_else(invalid)?, inputs)?
                }
            },
        };
        nodes.push(node);
    }
    Ok(nodes)
}
