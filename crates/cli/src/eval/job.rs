//! What is to be computed, and how its pieces are.

use super::inputs::{Input, Parts, at_fault};
use super::pieces::{Piece, Pieces};
use crate::failure::Failure;
use ndarray::{ArrayViewMutD, IxDyn};
use std::ops::Range;
use unishape::expr::{Bound, Expr, Numeric};
use unishape::{DType, Tensor};
use unishape_npy::{Descr, Header};

/// Pieces of this many bytes are written from the cache that they were computed in, and are many enough for
/// computing and writing to go on side by side.
const BEST_PIECE: usize = 4 << 20;

/// How many pieces of the result are in memory: one is computed while another is written.
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
    /// Settles the result's shape and type.
    pub(crate) fn new(
        expr: Expr,
        inputs: Vec<Input>,
        dtype: Option<DType>,
        threads: Option<usize>,
    ) -> Result<Job, Failure> {
        let samples = Parts::samples(&inputs)?;
        let (shape, own) = samples.outcome(&expr).map_err(|error| at_fault(&error))?;
        let expr = match dtype {
            Some(dtype) if dtype != own => {
                let cast = Expr::parse(&format!("{dtype}({expr})")).map_err(|error| at_fault(&error))?;
                samples.outcome(&cast).map_err(|error| at_fault(&error))?;
                cast
            }
            _ => expr,
        };
        drop(samples);
        Ok(Job { expr, inputs, shape, dtype: dtype.unwrap_or(own), threads })
    }

    /// The header of the result's file.
    pub(crate) fn header(&self) -> Header {
        Header { descr: Descr::of(self.dtype), fortran_order: false, shape: self.shape.clone() }
    }

    /// The bytes that one element takes in memory: in each buffer, and in each input that is copied.
    pub(crate) fn bytes_an_element(&self) -> usize {
        let copied: usize = self.inputs.iter().map(Input::copied_bytes).sum();
        BUFFERS * self.header().item_size() + copied
    }

    /// How the result is cut, so that no more than so much memory is taken.
    pub(crate) fn pieces(&self, memory: u64) -> Pieces {
        let most = usize::try_from(memory).unwrap_or(usize::MAX) / self.bytes_an_element();
        let best = BEST_PIECE / self.header().item_size();
        // Of a file in the other order small pieces would read every page again and again.
        let across = self.inputs.iter().any(Input::lies_across);
        Pieces::new(&self.shape, if across { most } else { most.min(best) })
    }

    /// The expression with the parts of its inputs.
    pub(crate) fn bind<'p>(&self, parts: &'p Parts<'_>) -> Result<Bound<'p>, Failure> {
        let bound = self.expr.bind(parts.values()).map_err(|error| at_fault(&error))?;
        Ok(match self.threads {
            Some(threads) => bound.threads(threads),
            None => bound,
        })
    }

    /// Computes a piece into memory that is as large, as long as it is wanted.
    pub(crate) fn compute_into<T: Numeric>(
        &self,
        parts: &Parts<'_>,
        piece: &Piece,
        out: &mut [T],
        goes_on: impl Fn() -> bool + Sync,
    ) -> Result<(), Failure> {
        let shape: Vec<usize> = piece.iter().map(Range::len).collect();
        let mut out = ArrayViewMutD::from_shape(IxDyn(&shape), out).map_err(Failure::failed)?;
        self.bind(parts)?.compute_while(&mut out, |_| goes_on()).map_err(|error| at_fault(&error))
    }

    /// Computes a piece.
    pub(crate) fn compute(&self, piece: &Piece) -> Result<Tensor, Failure> {
        let mut parts = Parts::new(&self.inputs);
        parts.go_to(piece, None)?;
        self.bind(&parts)?.compute().map_err(|error| at_fault(&error))
    }
}
