//! Matrix products, Einsum and Attention.

use super::call::{Call, elem};
use crate::elem_type::ElemType;
use crate::error::Error;
use crate::graph::Node;
use crate::shape_inference::inferred_value::InferredValue;
use crate::shape_inference::symbolic::{Dim, SymbolicShape, broadcast_all};
use std::collections::HashMap;
use unishape::DType;

/// Fails if the batch dimensions of a matrix product, or the sizes of C and A·B in Gemm, are incompatible.
pub(super) fn check(call: Call<'_>) -> Result<(), Error> {
    if call.output > 0 {
        return Ok(());
    }
    match (&*call.node.domain, &*call.node.op_type) {
        ("", "MatMul" | "MatMulInteger")
        | ("com.microsoft", "DynamicQuantizeMatMul" | "MatMulIntegerToFloat") => check_batch(call, 0, 1),
        ("", "QLinearMatMul") => check_batch(call, 0, 3),
        ("com.microsoft", "FusedMatMul") if !has_transposed_batch(call.node) => check_batch(call, 0, 1),
        ("", "Gemm") | ("com.microsoft", "FusedGemm") => match (gemm(call), call.get(2)) {
            (Some(product), Some(c)) => {
                let name = &call.node.inputs[2];
                broadcast_all([&product.shape, &c.shape], &["A*B", name])?;
                Ok(())
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

fn check_batch(call: Call<'_>, a: usize, b: usize) -> Result<(), Error> {
    let batch = |input: usize| {
        let dims = call.dims(input)?;
        Some(SymbolicShape::new(dims[..dims.len().saturating_sub(2)].to_vec()))
    };
    if let (Some(a_batch), Some(b_batch)) = (batch(a), batch(b)) {
        let names = [&call.node.inputs[a], &call.node.inputs[b]].map(String::as_str);
        broadcast_all([&a_batch, &b_batch], &names)?;
    }
    Ok(())
}

/// Whether a FusedMatMul moves its first dimension to the place of the rows of its matrices.
pub(crate) fn has_transposed_batch(node: &Node) -> bool {
    ["transBatchA", "transBatchB"].iter().any(|name| node.int(name, 0) != Ok(0))
}

/// A FusedMatMul that transposes the matrices of its inputs, but not their batch dimensions.
pub(super) fn fused_matmul(call: Call<'_>) -> Option<InferredValue> {
    let transposed = |input: usize, name: &str| {
        let mut dims = call.dims(input)?.to_vec();
        let rank = dims.len();
        if call.int(name, 0)? != 0 && rank >= 2 {
            dims.swap(rank - 2, rank - 1);
        }
        Some(dims)
    };
    let (a, b) = (transposed(0, "transA")?, transposed(1, "transB")?);
    product(&a, &b, call.elem(0)).filter(|_| !has_transposed_batch(call.node))
}

pub(super) fn infer(call: Call<'_>) -> Option<InferredValue> {
    match (&*call.node.op_type, call.output) {
        ("MatMul", 0) => matmul(call, 0, 1, call.elem(0)),
        ("MatMulInteger", 0) => matmul(call, 0, 1, elem(DType::I32)),
        ("QLinearMatMul", 0) => matmul(call, 0, 3, call.elem(7)),
        ("Gemm", 0) => gemm(call),
        ("Einsum", 0) => einsum(call),
        ("Attention", 0) if call.node.is_default_domain() => attention(call),
        _ => None,
    }
}

pub(super) fn matmul(call: Call<'_>, a: usize, b: usize, elem: Option<ElemType>) -> Option<InferredValue> {
    product(call.dims(a)?, call.dims(b)?, elem)
}

/// Product of matrices or vectors with these dimensions.
fn product(a: &[Dim], b: &[Dim], elem: Option<ElemType>) -> Option<InferredValue> {
    let shape = match (a, b) {
        ([_], [_]) => vec![],
        ([_], [batch @ .., _, columns]) => [batch, std::slice::from_ref(columns)].concat(),
        ([rest @ .., _], [_]) => rest.to_vec(),
        ([a_batch @ .., rows, _], [b_batch @ .., _, columns]) => {
            let batch = matmul_batch(a_batch, b_batch)?;
            [batch.dims()?, &[rows.clone(), columns.clone()]].concat()
        }
        _ => return None,
    };
    Some(InferredValue::new(elem, shape))
}

/// Common batch dimensions of two stacks of matrices.
pub(crate) fn matmul_batch(a: &[Dim], b: &[Dim]) -> Option<SymbolicShape> {
    SymbolicShape::new(a.to_vec()).broadcast_with(&SymbolicShape::new(b.to_vec()))
}

/// Dimensions of the two matrices that give the rows and the columns of Gemm's result.
pub(crate) fn gemm_rows_and_columns<'a>(
    node: &Node,
    a: &'a [Dim],
    b: &'a [Dim],
) -> Option<(&'a Dim, &'a Dim)> {
    let ([a0, a1], [b0, b1]) = (a, b) else { return None };
    let rows = if node.int("transA", 0).ok()? == 0 { a0 } else { a1 };
    let columns = if node.int("transB", 0).ok()? == 0 { b1 } else { b0 };
    Some((rows, columns))
}

pub(super) fn gemm(call: Call<'_>) -> Option<InferredValue> {
    let (rows, columns) = gemm_rows_and_columns(call.node, call.dims(0)?, call.dims(1)?)?;
    Some(InferredValue::new(call.elem(0), vec![rows.clone(), columns.clone()]))
}

/// Labels of one operand of Einsum.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EinsumOperand {
    /// A letter per dimension; the ellipsis is not among them.
    pub(crate) labels: Vec<char>,
    /// Index in `labels` before which the ellipsis stands.
    pub(crate) ellipsis: Option<usize>,
}

impl EinsumOperand {
    fn parse(text: &str) -> Option<EinsumOperand> {
        let text: String = text.split_whitespace().collect();
        let (before, after) = match text.split_once("...") {
            Some((before, after)) => (before, Some(after)),
            None => (text.as_str(), None),
        };
        let labels: Vec<char> = before.chars().chain(after.into_iter().flat_map(str::chars)).collect();
        let ellipsis = after.map(|_| before.chars().count());
        labels.iter().all(char::is_ascii_alphabetic).then_some(EinsumOperand { labels, ellipsis })
    }

    /// Dimensions that the ellipsis stands for.
    pub(crate) fn ellipsis_dims<'d>(&self, dims: &'d [Dim]) -> Option<&'d [Dim]> {
        let Some(start) = self.ellipsis else { return Some(&[]) };
        dims.get(start..dims.len().checked_sub(self.labels.len() - start)?)
    }

    /// Labels of the dimensions of a shape, with `None` for those of the ellipsis.
    pub(crate) fn dim_labels(&self, rank: usize) -> Option<Vec<Option<char>>> {
        let hidden = rank.checked_sub(self.labels.len())?;
        if self.ellipsis.is_none() && hidden > 0 {
            return None;
        }
        let mut labels: Vec<Option<char>> = self.labels.iter().copied().map(Some).collect();
        let start = self.ellipsis.unwrap_or(0);
        labels.splice(start..start, std::iter::repeat_n(None, hidden));
        Some(labels)
    }
}

/// Operands of an equation, and its result.
pub(crate) fn einsum_operands(node: &Node) -> Option<(Vec<EinsumOperand>, EinsumOperand)> {
    let equation = node.string("equation", "").ok()?;
    let (left, right) = match equation.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (equation.as_str(), None),
    };
    let operands = left.split(',').map(EinsumOperand::parse).collect::<Option<Vec<_>>>()?;
    let result = match right {
        Some(right) => EinsumOperand::parse(right)?,
        // Letters that occur once, in alphabetic order, after the ellipsis.
        None => {
            let all: Vec<char> = operands.iter().flat_map(|operand| operand.labels.clone()).collect();
            let mut once: Vec<char> = all
                .iter()
                .copied()
                .filter(|label| all.iter().filter(|each| *each == label).count() == 1)
                .collect();
            once.sort_unstable();
            let ellipsis = operands.iter().any(|operand| operand.ellipsis.is_some()).then_some(0);
            EinsumOperand { labels: once, ellipsis }
        }
    };
    Some((operands, result))
}

fn einsum(call: Call<'_>) -> Option<InferredValue> {
    let (operands, result) = einsum_operands(call.node)?;
    let mut sizes: HashMap<char, SymbolicShape> = HashMap::new();
    let mut hidden = SymbolicShape::new(vec![]);
    for (input, operand) in operands.iter().enumerate() {
        let dims = call.dims(input)?;
        hidden = hidden.broadcast_with(&SymbolicShape::new(operand.ellipsis_dims(dims)?.to_vec()))?;
        for (label, dim) in operand.dim_labels(dims.len())?.into_iter().zip(dims) {
            let Some(label) = label else { continue };
            let shape = SymbolicShape::new(vec![dim.clone()]);
            // ONNX Runtime broadcasts dimensions of size 1, too.
            let common = match sizes.get(&label) {
                Some(known) => known.broadcast_with(&shape)?,
                None => shape,
            };
            sizes.insert(label, common);
        }
    }
    let size = |label: &char| sizes.get(label)?.dims()?.first().cloned();
    let mut dims = result.labels.iter().map(size).collect::<Option<Vec<_>>>()?;
    if let Some(start) = result.ellipsis {
        dims.splice(start..start, hidden.dims()?.iter().cloned());
    }
    Some(InferredValue::new(call.elem(0), dims))
}

/// Result of Attention in the default domain: rank 3 with merged heads, or rank 4.
fn attention(call: Call<'_>) -> Option<InferredValue> {
    match (call.dims(0)?, call.dims(2)?) {
        ([batch, heads, rows, _], [.., columns]) => Some(InferredValue::new(
            call.elem(0),
            vec![batch.clone(), heads.clone(), rows.clone(), columns.clone()],
        )),
        ([batch, rows, _], [_, _, columns]) => {
            let heads = call.int("q_num_heads", 0).filter(|heads| *heads > 0)?;
            let kv_heads = call.int("kv_num_heads", 0).filter(|heads| *heads > 0)?;
            let columns = columns.compute(|size| size.mul_int(heads)?.floor_div_int(kv_heads));
            let columns = call.or_anonymous(columns, 2);
            Some(InferredValue::new(call.elem(0), vec![batch.clone(), rows.clone(), columns]))
        }
        _ => None,
    }
}
