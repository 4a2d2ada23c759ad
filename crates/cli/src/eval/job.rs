//! The computation: an expression, its inputs, and the shape and dtype of its result.

use super::inputs::{Input, InputParts, expression_error};
use crate::chunks::Chunks;
use crate::error::CliError;
use indicatif::BinaryBytes;
use ndarray::{ArrayViewMutD, IxDyn};
use std::ops::Range;
use unishape::expr::{Bound, Expr, Numeric, Value};
use unishape::{DType, Rules, Tensor, text};
use unishape_array_text::IndexRanges;
use unishape_npy::{Descr, Header};

/// The preferred chunk size in bytes: small enough to be written from the cache, and for computing and
/// writing to overlap.
const CHUNK_BYTES: usize = 4 << 20;

/// Chunks of the result in memory: one is computed while another is written.
pub(crate) const BUFFERS: usize = 2;

/// The least memory for chunks beside inputs that are loaded whole, in bytes.
const MIN_CHUNK_BYTES: u64 = 1 << 19;

/// An expression with its inputs.
pub(crate) struct Job {
    expr: Expr,
    pub(crate) inputs: Vec<Input>,
    pub(crate) shape: Vec<usize>,
    pub(crate) dtype: DType,
    /// Iterations of all loops, of an expression with views or reductions.
    pub(crate) iterations: Option<u64>,
}

impl Job {
    /// Infers the shape and dtype of the result. `dtype` replaces the inferred one.
    pub(crate) fn new(expr: Expr, inputs: Vec<Input>, dtype: Option<DType>) -> Result<Job, CliError> {
        let samples = InputParts::samples(&inputs)?;
        let bound = samples.bind_stretched(&expr).map_err(|error| expression_error(&error))?;
        let (shape, inferred) = (bound.shape().to_vec(), bound.dtype());
        let mut iterations = bound.iterations();
        drop(bound);
        let expr = match dtype {
            Some(dtype) if dtype != inferred => {
                let cast =
                    Expr::parse(&format!("{dtype}({expr})")).map_err(|error| expression_error(&error))?;
                let bound = samples.bind_stretched(&cast).map_err(|error| expression_error(&error))?;
                iterations = bound.iterations();
                cast
            }
            _ => expr,
        };
        drop(samples);
        let iterations = (!expr.is_element_wise()).then_some(iterations as u64);
        Ok(Job { expr, inputs, shape, dtype: dtype.unwrap_or(inferred), iterations })
    }

    /// Checks that the inputs are compatible under the rules of the command line.
    pub(crate) fn check_rules(&self, rules: Rules) -> Result<(), CliError> {
        if rules == Rules::STANDARD {
            return Ok(());
        }
        let samples = InputParts::samples(&self.inputs)?;
        let values = samples.stretched_values().map_err(|error| expression_error(&error))?;
        self.expr.check_rules(rules, values).map_err(|error| expression_error(&error))
    }

    /// The header of the result's `.npy` file.
    pub(crate) fn header(&self) -> Header {
        Header { descr: Descr::of(self.dtype), fortran_order: false, shape: self.shape.clone() }
    }

    /// Whether a chunk of the result depends only on the same parts of the inputs.
    ///
    /// Expressions with views or reductions are bound to the whole inputs.
    pub(crate) fn is_element_wise(&self) -> bool {
        self.expr.is_element_wise()
    }

    /// Bytes of memory per element of a chunk: in the buffers, and in the inputs that are copied chunk by chunk.
    fn bytes_per_element(&self) -> usize {
        let is_element_wise = self.is_element_wise();
        let copied = self.inputs.iter().filter(|_| is_element_wise).map(Input::copied_bytes);
        BUFFERS * self.header().item_size() + copied.sum::<usize>()
    }

    /// Bytes of memory for inputs that are loaded whole.
    fn whole_bytes(&self) -> usize {
        let bytes =
            self.inputs.iter().map(|input| if self.is_element_wise() { 0 } else { input.whole_bytes() });
        bytes.fold(0, usize::saturating_add)
    }

    /// Bytes of memory for chunks of at most this many elements.
    pub(crate) fn used_bytes(&self, elements: usize) -> usize {
        elements.saturating_mul(self.bytes_per_element()).saturating_add(self.whole_bytes())
    }

    /// Checks that inputs that are loaded whole leave some of the memory for chunks.
    pub(crate) fn check_memory(&self, memory: u64) -> Result<(), CliError> {
        let whole = self.whole_bytes() as u64;
        let needed = whole.saturating_add(MIN_CHUNK_BYTES);
        if whole == 0 || needed <= memory {
            return Ok(());
        }
        let loaded = self.inputs.iter().filter(|input| input.whole_bytes() > 0);
        let names: Vec<&str> = loaded.map(|input| input.name.as_str()).collect();
        let (needed, memory) = (needed.div_ceil(1 << 20), BinaryBytes(memory));
        let (names, size) = (text::truncate(&names.join(", "), 80), BinaryBytes(whole));
        Err(CliError::input(format!(
            "{names}: expressions with axes or reductions load ranges and files that must be converted whole, which \
             takes {size}, more than --memory {memory} allows; use --memory {needed}M, or write a native .npy file \
             first, as in unishape eval x x.npy -o native.npy"
        )))
    }

    /// The chunks of the first input that is stored in chunks, aligned with the result; 1 elsewhere.
    fn stored_chunks(&self) -> Option<Vec<usize>> {
        let (shape, chunk) =
            self.inputs.iter().find_map(|input| Some((input.shape()?, input.chunk_shape()?)))?;
        let more = self.shape.len().checked_sub(shape.len())?;
        Some(std::iter::repeat_n(1, more).chain(chunk.iter().copied()).collect())
    }

    /// Splits the result into chunks that need at most `memory` bytes.
    pub(crate) fn chunks(&self, memory: u64) -> Chunks {
        let memory = usize::try_from(memory).unwrap_or(usize::MAX);
        let limit = memory.saturating_sub(self.whole_bytes()) / self.bytes_per_element();
        let preferred = CHUNK_BYTES / self.header().item_size();
        // Small chunks of a column-major file would read every page many times, and those of an array in chunks of
        // its own would decode each of them many times.
        let is_column_major = self.inputs.iter().any(Input::is_column_major);
        let stored = self.stored_chunks();
        let prefers_large = is_column_major || stored.is_some();
        let max = if prefers_large { limit } else { limit.min(preferred) };
        Chunks::aligned(&self.shape, max, stored.as_deref())
    }

    /// Binds the expression to the parts of its inputs.
    pub(crate) fn bind<'p>(&self, parts: &'p InputParts<'_>) -> Result<Bound<'p>, CliError> {
        self.bind_values(parts.values())
    }

    /// Binds the expression to values.
    pub(crate) fn bind_values<'p, 'n>(
        &self,
        values: impl IntoIterator<Item = (&'n str, Value<'p>)>,
    ) -> Result<Bound<'p>, CliError> {
        self.expr.bind(values).map_err(|error| expression_error(&error))
    }

    /// The plan of an expression with views or reductions. Reads only one element of each input.
    pub(crate) fn stages_text(&self) -> Result<String, CliError> {
        let samples = InputParts::samples(&self.inputs)?;
        Ok(samples.bind_stretched(&self.expr).map_err(|error| expression_error(&error))?.plan())
    }

    /// The whole inputs, for an expression that needs them. `is_stopped` ends the decoding of large ones.
    pub(crate) fn whole_inputs(
        &self,
        is_stopped: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<InputParts<'_>>, CliError> {
        match self.is_element_wise() {
            true => Ok(None),
            false => InputParts::whole(&self.inputs, is_stopped).map(Some),
        }
    }

    /// Computes a chunk into a buffer of its length, until `keep_going` returns false. That gets the number of
    /// iterations since its last call.
    ///
    /// `bound` is the expression [bound](Job::bind) to the parts of the inputs for the chunk.
    pub(crate) fn compute_into<T: Numeric>(
        bound: &Bound<'_>,
        chunk: &IndexRanges,
        out: &mut [T],
        keep_going: impl Fn(usize) -> bool + Sync,
    ) -> Result<(), CliError> {
        let shape: Vec<usize> = chunk.iter().map(Range::len).collect();
        let mut out = ArrayViewMutD::from_shape(IxDyn(&shape), out).map_err(CliError::internal)?;
        bound.compute_while(&mut out, keep_going).map_err(|error| expression_error(&error))
    }

    /// Computes a chunk: of the expression bound to the [whole inputs](Job::whole_inputs), if it needs them.
    pub(crate) fn compute(&self, chunk: &IndexRanges, whole: Option<&Bound<'_>>) -> Result<Tensor, CliError> {
        let computed = match whole {
            Some(whole) => slice(whole, chunk).compute(),
            None => {
                let mut parts = InputParts::new(&self.inputs);
                parts.load(chunk, None)?;
                self.bind(&parts)?.compute()
            }
        };
        computed.map_err(|error| expression_error(&error))
    }
}

/// Restricts an expression to a chunk of its result.
pub(crate) fn slice<'p>(bound: &Bound<'p>, chunk: &IndexRanges) -> Bound<'p> {
    let mut slice = bound.clone();
    for (dim, range) in chunk.iter().enumerate() {
        if range.len() < bound.shape()[dim] {
            slice = slice.slice_axis(dim, range.clone());
        }
    }
    slice
}
