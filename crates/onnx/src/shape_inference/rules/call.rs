//! A node whose output is inferred.

use crate::elem_type::ElemType;
use crate::error::Error;
use crate::graph::Node;
use crate::runtime::shape_ops::resolve_axis;
use crate::shape_inference::expression::SizeExpr;
use crate::shape_inference::inferred_value::{InferredValue, ShapeData};
use crate::shape_inference::symbolic::Dim;
use std::path::Path;
use unishape::DType;

/// A node whose output is inferred, with what is known about its inputs.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) node: &'a Node,
    /// Omitted inputs are `None`.
    pub(crate) inputs: &'a [Option<&'a InferredValue>],
    /// Index of the output.
    pub(crate) output: usize,
    /// Id of the output, which identifies anonymous dimensions.
    pub(crate) id: usize,
    /// Opset version of the default domain.
    pub(crate) opset: u32,
    /// Directory of external data.
    pub(crate) base_dir: Option<&'a Path>,
}

impl<'a> Call<'a> {
    pub(super) fn get(self, index: usize) -> Option<&'a InferredValue> {
        self.inputs.get(index).copied().flatten()
    }

    pub(super) fn first(self) -> Result<&'a InferredValue, Error> {
        self.get(0).ok_or_else(|| Error::missing_input(0))
    }

    pub(super) fn dims(self, index: usize) -> Option<&'a [Dim]> {
        self.get(index)?.shape.dims()
    }

    pub(super) fn elem(self, index: usize) -> Option<ElemType> {
        self.get(index)?.elem
    }

    /// Elements of a list of integers, if they are known.
    pub(super) fn elements(self, index: usize) -> Option<&'a [SizeExpr]> {
        match self.get(index)?.data.as_ref()? {
            ShapeData::Elements(elements) => Some(elements),
            _ => None,
        }
    }

    /// Elements of a list, if all are known integers.
    pub(super) fn ints(self, index: usize) -> Option<Vec<i64>> {
        self.elements(index)?.iter().map(SizeExpr::constant).collect()
    }

    /// Elements of a list, if all are known numbers.
    pub(super) fn floats(self, index: usize) -> Option<Vec<f64>> {
        match self.get(index)?.data.as_ref()? {
            ShapeData::Floats(floats) => Some(floats.clone()),
            ShapeData::Elements(_) => Some(self.ints(index)?.into_iter().map(|int| int as f64).collect()),
            ShapeData::ShapeOf(_) => None,
        }
    }

    /// An integer attribute; `None` if it has another type.
    pub(super) fn int(self, name: &str, default: i64) -> Option<i64> {
        self.node.int(name, default).ok()
    }

    pub(super) fn string(self, name: &str, default: &str) -> Option<String> {
        self.node.string(name, default).ok()
    }

    /// A list attribute; `default` if it is absent, `None` if it has another type.
    pub(super) fn int_list(self, name: &str, default: Vec<i64>) -> Option<Vec<i64>> {
        match self.node.attribute(name) {
            Some(attribute) => attribute.ints().ok(),
            None => Some(default),
        }
    }

    /// A list that is an input, or in earlier versions an attribute; `None` if it is absent or unknown.
    pub(super) fn ints_or_attribute(self, input: usize, attribute: &str) -> Option<Vec<i64>> {
        match self.get(input) {
            Some(_) => self.ints(input),
            None => self.node.attribute(attribute)?.ints().ok(),
        }
    }

    /// An axis attribute, resolved.
    pub(super) fn axis(self, default: i64, rank: usize) -> Option<usize> {
        resolve_axis(self.int("axis", default)?, rank).ok()
    }

    pub(super) fn anonymous(self, dim: usize) -> Dim {
        Dim::anonymous(self.id, dim)
    }

    /// The size, or an anonymous one if it is not known.
    pub(super) fn or_anonymous(self, dim: Option<Dim>, index: usize) -> Dim {
        dim.unwrap_or_else(|| self.anonymous(index))
    }

    pub(super) fn is(self, names: &[&str]) -> bool {
        names.contains(&self.node.op_type.as_str())
    }
}

/// The element type of a dtype.
pub(super) fn elem(dtype: DType) -> Option<ElemType> {
    Some(ElemType::of(dtype))
}
