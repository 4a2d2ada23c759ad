//! Graphs of operations, whose nodes are checked when they are made.

use crate::containers;
use crate::dtype;
use crate::errors::{expression_error, shape_error};
use crate::gpu;
use crate::input;
use crate::memory::NumericArray;
use crate::powers::{self, Integer};
use numpy::{PyArrayDescr, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use smallvec::SmallVec;
use unishape::expr::{self, Dag, FloatCast, Op, Reduction, Scalar, Term, Value, View};
use unishape::{DType, Tensor};

/// An expression over NumPy and Dask arrays; each node knows its shape and dtype.
pub(super) type LazyDag = Dag<Leaf, Meta>;

pub(super) enum Leaf {
    /// A NumPy array.
    Array(Py<PyAny>),
    /// A Dask array, whose elements are not computed yet.
    Deferred(Py<PyAny>),
    /// An array on a GPU.
    Gpu(Py<PyAny>),
}

/// Whether a node is an array on a GPU.
pub(super) fn is_gpu(node: &LazyDag) -> bool {
    matches!(node.term(), Term::Leaf(Leaf::Gpu(_)))
}

pub(super) struct Meta {
    /// The shape; `None` where a size is unknown before the value is computed.
    pub(super) shape: Option<Vec<usize>>,
    /// The dtype; `None` for scalars, which adopt that of the arrays in the expression.
    pub(super) dtype: Option<DType>,
    /// What a leaf's array was converted from, if results are to be converted back: a column of pandas, a tensor.
    pub(super) container: Option<Py<PyAny>>,
}

impl Meta {
    pub(super) fn new(shape: Option<Vec<usize>>, dtype: Option<DType>) -> Meta {
        Meta { shape, dtype, container: None }
    }
}

/// Whether a node is an array that was converted from a container.
pub(super) fn has_container(node: &LazyDag) -> bool {
    node.meta().container.is_some()
}

/// Whether a node is a Dask array.
pub(super) fn is_deferred(node: &LazyDag) -> bool {
    matches!(node.term(), Term::Leaf(Leaf::Deferred(_)))
}

/// The node for an array. A number is an array of rank 0, as for NumPy.
pub(super) fn leaf(object: &Bound<'_, PyAny>) -> PyResult<LazyDag> {
    if object.hasattr("dtype")? && input::is_deferred(object)? {
        let descr = object.getattr("dtype")?.cast_into::<PyArrayDescr>()?;
        let Some(dtype) = dtype::from_descr(&descr) else {
            return Err(PyTypeError::new_err(format!("expressions do not support dtype {descr}")));
        };
        // Dask represents an unknown size by NaN.
        let shape = object.getattr("shape")?.extract().ok();
        return Ok(Dag::leaf(Leaf::Deferred(object.clone().unbind()), Meta::new(shape, Some(dtype))));
    }
    if input::is_on_gpu(object)? {
        let (shape, dtype) = gpu::describe(object)?;
        let meta = Meta::new(Some(shape), Some(dtype));
        return Ok(Dag::leaf(Leaf::Gpu(object.clone().unbind()), meta));
    }
    let array = NumericArray::from_array(input::as_array(object)?)?;
    let container = containers::is_container(object)?.then(|| object.clone().unbind());
    let meta = Meta { container, ..Meta::new(Some(array.array().shape().to_vec()), Some(array.dtype())) };
    Ok(Dag::leaf(Leaf::Array(array.array().clone().into_any().unbind()), meta))
}

/// The error of a value of Dask arrays whose sizes are unknown.
pub(super) fn unknown_shape() -> PyErr {
    PyValueError::new_err(
        "the shape is unknown until the value is computed; call .compute() first, or compute_chunk_sizes() on its Dask arrays",
    )
}

/// The node for a function call. Checks shapes and dtypes.
pub(super) fn call(op: Op, inputs: SmallVec<[LazyDag; 3]>) -> PyResult<LazyDag> {
    if op == Op::Pow {
        check_power(&inputs)?;
    }
    let shapes = inputs.iter().map(|input| input.meta().shape.as_deref()).collect::<Option<Vec<_>>>();
    let shape = match shapes {
        Some(shapes) => Some(unishape::broadcast_shapes(&shapes).map_err(shape_error)?),
        None => None,
    };
    let bound = expr::Expr::call(op).bind_positional(inputs.iter().map(placeholder));
    let dtype = Some(bound.map_err(expression_error)?.dtype());
    Ok(Dag::call(op, inputs, Meta::new(shape, dtype)))
}

/// Rejects integers to negative powers, where the exponent is a number or an array.
fn check_power(inputs: &[LazyDag]) -> PyResult<()> {
    let [base, exponent] = inputs else { return Ok(()) };
    let integer = match base.term() {
        Term::Scalar(number) => Integer::of_number(number),
        _ => base.meta().dtype.and_then(Integer::of_dtype),
    };
    let is_empty = base.meta().shape.as_ref().is_some_and(|shape| shape.contains(&0));
    let Some(integer) = integer.filter(|_| !is_empty) else { return Ok(()) };
    match exponent.term() {
        Term::Scalar(number) => powers::check_number(base.meta().dtype, number),
        Term::Leaf(Leaf::Array(array)) => Python::attach(|py| {
            let exponent = NumericArray::from_array(array.bind(py).clone().cast_into()?)?;
            match integer.promoted_with_dtype(exponent.dtype()) {
                Some(_) => powers::check_exponent(&exponent),
                None => Ok(()),
            }
        }),
        _ => Ok(()),
    }
}

/// The node for a cast. Checks that it is possible.
pub(super) fn cast(dtype: DType, input: LazyDag) -> PyResult<LazyDag> {
    expr::lazy(placeholder(&input)).cast(dtype).bind().map_err(expression_error)?;
    let meta = Meta::new(input.meta().shape.clone(), Some(dtype));
    Ok(Dag::cast(dtype, input, meta))
}

/// The node for a cast to a dtype that depends on that of `like`. Checks that it is possible.
pub(super) fn cast_like(cast: FloatCast, input: LazyDag, like: LazyDag) -> PyResult<LazyDag> {
    let meta = meta_of(&[&input, &like], |inputs| inputs[0].clone().cast_like(cast, &inputs[1]))?;
    let meta = Meta { shape: input.meta().shape.clone(), ..meta };
    Ok(Dag::cast_like(cast, input, like, meta))
}

/// The node for a view. Checks axes and indices.
pub(super) fn view(view: View, input: LazyDag) -> PyResult<LazyDag> {
    let meta = match &input.meta().shape {
        Some(_) => meta_of(&[&input], |inputs| inputs[0].clone().view(view.clone()))?,
        None => Meta::new(None, input.meta().dtype),
    };
    Ok(Dag::view(view, input, meta))
}

/// The node for a reduction. Checks axes, shapes and dtypes.
pub(super) fn reduce(reduction: Reduction, input: LazyDag, mask: Option<LazyDag>) -> PyResult<LazyDag> {
    let inputs: Vec<&LazyDag> = std::iter::once(&input).chain(&mask).collect();
    let meta = match inputs.iter().all(|input| input.meta().shape.is_some()) {
        true => meta_of(&inputs, |inputs| reduced(reduction.clone(), inputs))?,
        false => {
            let shape = if reduction.axes.is_none() && !reduction.keep_dims { Some(vec![]) } else { None };
            let checked = Reduction { axes: None, ..reduction.clone() };
            Meta { shape, ..meta_of(&inputs, |inputs| reduced(checked, inputs))? }
        }
    };
    Ok(Dag::reduce(reduction, input, mask, meta))
}

/// The reduction of an array, or of an array and a mask.
fn reduced<'a>(reduction: Reduction, inputs: &[expr::Lazy<'a>]) -> expr::Lazy<'a> {
    match inputs {
        [input, mask] => input.clone().reduce_where(reduction, mask),
        inputs => inputs[0].clone().reduce(reduction),
    }
}

/// Shape and dtype of an expression of some nodes. An unknown shape is that of one element.
fn meta_of(
    nodes: &[&LazyDag],
    build: impl for<'a> FnOnce(&[expr::Lazy<'a>]) -> expr::Lazy<'a>,
) -> PyResult<Meta> {
    let elements: SmallVec<[Option<Tensor>; 2]> = nodes.iter().map(|node| element(node)).collect();
    let mut inputs: SmallVec<[expr::Lazy<'_>; 2]> = SmallVec::new();
    for (node, element) in nodes.iter().zip(&elements) {
        inputs.push(match (element, node.term()) {
            (Some(element), _) => {
                let shape = node.meta().shape.as_deref().unwrap_or(&[]);
                // One element in all places: nothing is allocated.
                expr::lazy(element.view().broadcast_to(shape).map_err(shape_error)?)
            }
            (None, Term::Scalar(scalar)) => expr::lazy(scalar),
            (None, _) => expr::lazy(0),
        });
    }
    let bound = build(&inputs).bind().map_err(expression_error)?;
    Ok(Meta::new(Some(bound.shape().to_vec()), Some(bound.dtype())))
}

/// One element of a node's dtype; `None` for scalars.
fn element(node: &LazyDag) -> Option<Tensor> {
    use half::{bf16, f16};
    use ndarray::{ArrayD, IxDyn};
    use num_complex::Complex;
    macro_rules! by_dtype {
        ($($variant:ident $type:ident $(<$part:ident>)? $name:literal $what:literal;)+) => {
            match node.meta().dtype? {
                $(DType::$variant => ArrayD::<$type $(<$part>)?>::default(IxDyn(&[])).into(),)+
            }
        };
    }
    Some(unishape_kernels::for_each_dtype!(by_dtype))
}

/// An empty array of a node's dtype, or its scalar, for checks of dtypes.
fn placeholder(node: &LazyDag) -> Value<'static> {
    use half::{bf16, f16};
    use ndarray::aview1;
    use num_complex::Complex;
    macro_rules! by_dtype {
        ($($variant:ident $type:ident $(<$part:ident>)? $name:literal $what:literal;)+) => {
            match (node.term(), node.meta().dtype) {
                (Term::Scalar(scalar), _) => Value::Scalar(scalar),
                (_, None) => Value::Scalar(Scalar::Int(0)),
                $((_, Some(DType::$variant)) => {
                    const EMPTY: &[$type $(<$part>)?] = &[];
                    Value::from(aview1(EMPTY).into_dyn())
                })+
            }
        };
    }
    unishape_kernels::for_each_dtype!(by_dtype)
}
