//! Operators that select elements by index or value: Gather, TopK, OneHot, Range, …

use super::{Call, elem};
use crate::elem_type::ElemType;
use crate::runtime::shape_ops::resolve_axis;
use crate::shape_inference::expression::SizeExpr;
use crate::shape_inference::inferred_value::InferredValue;
use crate::shape_inference::symbolic::Dim;
use unishape::DType;

pub(super) fn infer(call: Call<'_>) -> Option<InferredValue> {
    let like_x = |dims: Vec<Dim>| Some(InferredValue::new(call.elem(0), dims));
    match (&*call.node.op_type, call.output) {
        ("Gather", 0) => {
            let (dims, indices) = (call.dims(0)?, call.dims(1)?);
            let axis = call.axis(0, dims.len())?;
            like_x([&dims[..axis], indices, &dims[axis + 1..]].concat())
        }
        ("GatherElements", 0) => like_x(call.dims(1)?.to_vec()),
        ("GatherND", 0) => {
            let (dims, indices) = (call.dims(0)?, call.dims(1)?);
            let batch = usize::try_from(call.int("batch_dims", 0)?).ok()?;
            let (depth, outer) = indices.split_last()?;
            let rest = dims.get(batch.checked_add(depth.known()?)?..)?;
            like_x([outer, rest].concat())
        }
        ("TopK", output @ (0 | 1)) => {
            let mut dims = call.dims(0)?.to_vec();
            let axis = call.axis(-1, dims.len())?;
            let count = match call.get(1) {
                Some(_) => call.elements(1).and_then(|k| Dim::from_expr(k.first()?)),
                None => usize::try_from(call.int("k", -1)?).ok().map(Dim::Known),
            };
            dims[axis] = call.or_anonymous(count, axis);
            let elem = if output == 0 { call.elem(0) } else { elem(DType::I64) };
            Some(InferredValue::new(elem, dims))
        }
        ("OneHot", 0) => {
            let mut dims = call.dims(0)?.to_vec();
            let axis = resolve_axis(call.int("axis", -1)?, dims.len() + 1).ok()?;
            let depth = call.elements(1).and_then(|depth| Dim::from_expr(depth.first()?));
            dims.insert(axis, call.or_anonymous(depth, axis));
            Some(InferredValue::new(call.elem(2), dims))
        }
        ("Range", 0) => {
            let one = |input: usize| call.elements(input)?.first().cloned();
            let count = || {
                let (start, limit, delta) = (one(0)?, one(1)?, one(2)?.constant()?);
                let span = match delta > 0 {
                    true => limit.sub(&start)?,
                    false => start.sub(&limit)?,
                };
                Dim::from_expr(&span.ceil_div_int(delta.checked_abs()?)?.positive()?)
            };
            // The values of a floating-point range may be rounded.
            let is_int = call
                .elem(0)
                .is_some_and(|elem| matches!(elem.dtype(), Some(DType::I64 | DType::I32 | DType::I16)));
            like_x(vec![call.or_anonymous(count().filter(|_| is_int), 0)])
        }
        ("NonZero", 0) => {
            let rank = match call.dims(0) {
                Some(dims) => Dim::Known(dims.len().max(1)),
                None => call.anonymous(0),
            };
            Some(InferredValue::new(elem(DType::I64), vec![rank, call.anonymous(1)]))
        }
        ("Compress", 0) => match call.node.attribute("axis") {
            None => like_x(vec![call.anonymous(0)]),
            Some(_) => {
                let mut dims = call.dims(0)?.to_vec();
                let axis = call.axis(0, dims.len())?;
                dims[axis] = call.anonymous(axis);
                like_x(dims)
            }
        },
        ("Unique", 0) if call.node.attribute("axis").is_none() => like_x(vec![call.anonymous(0)]),
        ("Unique", 1..) => Some(InferredValue::new(elem(DType::I64), vec![call.anonymous(0)])),
        ("NonMaxSuppression", 0) => {
            Some(InferredValue::new(elem(DType::I64), vec![call.anonymous(0), Dim::Known(3)]))
        }
        ("GridSample", 0) => {
            let (dims, grid) = (call.dims(0)?, call.dims(1)?);
            let spatial = grid.get(1..grid.len().checked_sub(1)?)?;
            like_x([dims.get(..2)?, spatial].concat())
        }
        ("AffineGrid", 0) => {
            let sizes = call.elements(1)?.iter().map(Dim::from_expr).collect::<Option<Vec<_>>>()?;
            let [batch, _, spatial @ ..] = &sizes[..] else { return None };
            let last = [Dim::Known(spatial.len())];
            like_x([std::slice::from_ref(batch), spatial, &last].concat())
        }
        ("RandomNormal" | "RandomUniform", 0) => {
            let sizes = call.node.attribute("shape")?.ints().ok()?;
            let dims = sizes.into_iter().map(|size| usize::try_from(size).ok().map(Dim::Known));
            let number = i32::try_from(call.int("dtype", 1)?).ok()?;
            Some(InferredValue::new(Some(ElemType::new(number)), dims.collect::<Option<_>>()?))
        }
        ("Multinomial", 0) => {
            let batch = call.dims(0)?.first()?.clone();
            let count = usize::try_from(call.int("sample_size", 1)?).ok()?;
            Some(InferredValue::new(elem(DType::I32), vec![batch, Dim::Known(count)]))
        }
        ("HannWindow" | "HammingWindow" | "BlackmanWindow", 0) => {
            let size = call.elements(0).and_then(|size: &[SizeExpr]| Dim::from_expr(size.first()?));
            Some(InferredValue::new(elem(DType::F32), vec![call.or_anonymous(size, 0)]))
        }
        ("Det", 0) => {
            let dims = call.dims(0)?;
            like_x(dims[..dims.len().checked_sub(2)?].to_vec())
        }
        ("SequenceLength", 0) => Some(InferredValue::new(elem(DType::I64), vec![])),
        ("OptionalHasElement", 0) => Some(InferredValue::new(elem(DType::Bool), vec![])),
        _ => None,
    }
}
