//! What is inferred about a value: element type, shape, and the elements of a value that holds a shape.

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
#[derive(Clone, Debug)]
pub struct InferredValue {
    pub(crate) elem: Option<ElemType>,
    pub(crate) shape: SymbolicShape,
    /// Elements of a short list of integers that may serve as a shape.
    pub(crate) data: Option<ShapeData>,
}

/// Elements of a value that holds a shape, as far as they are known.
#[derive(Clone, Debug)]
pub(crate) enum ShapeData {
    /// Elements of a rank-1 or rank-0 value.
    Elements(Vec<ShapeElement>),
    /// All sizes of a shape of unknown rank.
    ShapeOf(SymbolicShape),
}

/// Element of a value that holds a shape.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ShapeElement {
    Int(i64),
    /// Size of a dimension, unknown or beyond `i64`.
    Dim(Dim),
}

impl ShapeElement {
    /// The element as a size; `None` if it is negative.
    pub(crate) fn size(&self) -> Option<Dim> {
        match self {
            ShapeElement::Int(int) => usize::try_from(*int).ok().map(Dim::Known),
            ShapeElement::Dim(dim) => Some(dim.clone()),
        }
    }
}

impl From<&Dim> for ShapeElement {
    fn from(dim: &Dim) -> ShapeElement {
        match dim {
            Dim::Known(size) => {
                i64::try_from(*size).map_or_else(|_| ShapeElement::Dim(dim.clone()), ShapeElement::Int)
            }
            Dim::Unknown(_) => ShapeElement::Dim(dim.clone()),
        }
    }
}

impl InferredValue {
    /// Value with the id `id`, of which nothing is known.
    pub(super) fn unknown(id: usize) -> InferredValue {
        InferredValue { elem: None, shape: SymbolicShape::unranked(id), data: None }
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
