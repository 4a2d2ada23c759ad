//! What is inferred about a value: element type, shape, and the elements of a value that holds a shape.

use super::expression::SizeExpr;
use super::symbolic::{Dim, SymbolicShape};
use crate::elem_type::ElemType;

/// Inferred element type and shape of a value.
///
/// ```
/// # let bytes = unishape_onnx::model_builder::add_model();
/// let inference = unishape_onnx::infer_shapes(&unishape_onnx::Model::read(&bytes)?);
/// let z = inference.value("z").expect("a value");
/// assert_eq!((z.elem().map(|elem| elem.to_string()), z.to_string()), (Some("float".into()), "Nx3".into()));
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct InferredValue {
    pub(crate) elem: Option<ElemType>,
    pub(crate) shape: SymbolicShape,
    /// Elements of a short list that may serve as a shape or to compute one.
    pub(crate) data: Option<ShapeData>,
}

/// Elements of a small value, as far as they are known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ShapeData {
    /// Integers, also those in a floating-point value, and 0 and 1 for bool; rank 0 or 1.
    Elements(Vec<SizeExpr>),
    /// Known floating-point numbers; rank 0 or 1.
    Floats(Vec<f64>),
    /// All sizes of a shape of unknown rank.
    ShapeOf(SymbolicShape),
}

impl InferredValue {
    /// Value with the id `id`, of which nothing is known.
    pub(super) fn unknown(id: usize) -> InferredValue {
        InferredValue { elem: None, shape: SymbolicShape::unranked(id), data: None }
    }

    pub(super) fn new(elem: Option<ElemType>, dims: Vec<Dim>) -> InferredValue {
        InferredValue { elem, shape: SymbolicShape::new(dims), data: None }
    }

    /// Element type, if known.
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// # let inference = unishape_onnx::infer_shapes(&unishape_onnx::Model::read(&bytes)?);
    /// let elem = inference.value("x").and_then(|x| x.elem());
    /// assert_eq!(elem, Some(unishape_onnx::ElemType::new(1)));
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn elem(&self) -> Option<ElemType> {
        self.elem
    }

    /// Shape, if its rank is known.
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// # let inference = unishape_onnx::infer_shapes(&unishape_onnx::Model::read(&bytes)?);
    /// let shape = inference.value("y").and_then(|y| y.shape());
    /// assert_eq!(shape, Some(&[unishape_onnx::Dim::Known(3)][..]));
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn shape(&self) -> Option<&[Dim]> {
        self.shape.dims()
    }
}

/// The shape; `?` if its rank is unknown.
impl std::fmt::Display for InferredValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.shape.fmt(f)
    }
}
