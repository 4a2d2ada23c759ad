//! The computation: an expression, its inputs, and the shape and dtype of its result.

use super::chunks::Chunks;
use super::inputs::{Input, InputParts, expression_error};
use crate::array_text::IndexRanges;
use crate::error::CliError;
use ndarray::{ArrayViewMutD, IxDyn};
use std::ops::Range;
use unishape::expr::{Bound, Expr, Numeric};
use unishape::{DType, Tensor};
use unishape_npy::{Descr, Header};

/// The preferred chunk size in bytes: small enough to be written from the cache, and for computing and
/// writing to overlap.
const CHUNK_BYTES: usize = 4 << 20;

/// Chunks of the result in memory: one is computed while another is written.
pub(crate) const BUFFERS: usize = 2;

/// An expression with its inputs.
pub(crate) struct Job {
    expr: Expr,
    pub(crate) inputs: Vec<Input>,
    pub(crate) shape: Vec<usize>,
    pub(crate) dtype: DType,
    threads: Option<usize>,
}

impl Job {
    /// Infers the shape and dtype of the result. `dtype` replaces the inferred one.
    pub(crate) fn new(
        expr: Expr,
        inputs: Vec<Input>,
        dtype: Option<DType>,
        threads: Option<usize>,
    ) -> Result<Job, CliError> {
        let samples = InputParts::samples(&inputs)?;
        let (shape, inferred) = samples.result_type(&expr).map_err(|error| expression_error(&error))?;
        let expr = match dtype {
            Some(dtype) if dtype != inferred => {
                let cast =
                    Expr::parse(&format!("{dtype}({expr})")).map_err(|error| expression_error(&error))?;
                samples.result_type(&cast).map_err(|error| expression_error(&error))?;
                cast
            }
            _ => expr,
        };
        drop(samples);
        Ok(Job { expr, inputs, shape, dtype: dtype.unwrap_or(inferred), threads })
    }

    /// The header of the result's `.npy` file.
    pub(crate) fn header(&self) -> Header {
        Header { descr: Descr::of(self.dtype), fortran_order: false, shape: self.shape.clone() }
    }

    /// Bytes of memory per element of a chunk: in the buffers, and in the inputs that are copied.
    pub(crate) fn bytes_per_element(&self) -> usize {
        let copied: usize = self.inputs.iter().map(Input::copied_bytes).sum();
        BUFFERS * self.header().item_size() + copied
    }

    /// Splits the result into chunks that need at most `memory` bytes.
    pub(crate) fn chunks(&self, memory: u64) -> Chunks {
        let limit = usize::try_from(memory).unwrap_or(usize::MAX) / self.bytes_per_element();
        let preferred = CHUNK_BYTES / self.header().item_size();
        // Small chunks of a column-major file would read every page many times.
        let is_column_major = self.inputs.iter().any(Input::is_column_major);
        Chunks::new(&self.shape, if is_column_major { limit } else { limit.min(preferred) })
    }

    /// Binds the expression to the parts of its inputs.
    pub(crate) fn bind<'p>(&self, parts: &'p InputParts<'_>) -> Result<Bound<'p>, CliError> {
        let bound = self.expr.bind(parts.values()).map_err(|error| expression_error(&error))?;
        Ok(match self.threads {
            Some(threads) => bound.threads(threads),
            None => bound,
        })
    }

    /// Computes a chunk into a buffer of its length, until `keep_going` returns false.
    pub(crate) fn compute_into<T: Numeric>(
        &self,
        parts: &InputParts<'_>,
        chunk: &IndexRanges,
        out: &mut [T],
        keep_going: impl Fn() -> bool + Sync,
    ) -> Result<(), CliError> {
        let shape: Vec<usize> = chunk.iter().map(Range::len).collect();
        let mut out = ArrayViewMutD::from_shape(IxDyn(&shape), out).map_err(CliError::failed)?;
        self.bind(parts)?.compute_while(&mut out, |_| keep_going()).map_err(|error| expression_error(&error))
    }

    /// Computes a chunk.
    pub(crate) fn compute(&self, chunk: &IndexRanges) -> Result<Tensor, CliError> {
        let mut parts = InputParts::new(&self.inputs);
        parts.load(chunk, None)?;
        self.bind(&parts)?.compute().map_err(|error| expression_error(&error))
    }
}
