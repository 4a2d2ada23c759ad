//! A function of contiguous arrays, without the cost of binding them.

use super::cache::Expr;
use super::compile::{CompiledExpr, InputType};
use crate::DType;
use smallvec::SmallVec;
use std::sync::Arc;
use unishape_kernels::Op;

/// A function for contiguous arrays of certain dtypes, all with the same number of elements.
///
/// For small arrays: [`Expr::bind`] takes longer than computing a few elements. The result is the same.
///
/// ```
/// use unishape::DType;
/// use unishape::expr::{ContiguousCall, Op};
///
/// let add = ContiguousCall::new(Op::Add, &[DType::U8, DType::U8]).unwrap();
/// let mut sums = [0; 3];
/// add.compute(&[&[1, 2, 3], &[10, 20, 30]], &mut sums);
/// assert_eq!((add.dtype(), sums), (DType::U8, [11, 22, 33]));
/// ```
#[derive(Clone, Debug)]
pub struct ContiguousCall(Arc<CompiledExpr>);

impl ContiguousCall {
    /// A function of arrays of these dtypes.
    ///
    /// `None` where it takes more than a single kernel, and where the function does not support them.
    ///
    /// ```
    /// use unishape::DType::{F32, F64, I32};
    /// use unishape::expr::{ContiguousCall, Op};
    ///
    /// assert!(ContiguousCall::new(Op::Add, &[F32, F32]).is_some());
    /// // One of the arrays has to be converted; integers have no sine.
    /// assert!(ContiguousCall::new(Op::Add, &[F32, F64]).is_none());
    /// assert!(ContiguousCall::new(Op::Sin, &[I32]).is_none());
    /// ```
    pub fn new(op: Op, dtypes: &[DType]) -> Option<ContiguousCall> {
        let types: SmallVec<[InputType; 3]> = dtypes.iter().map(|&dtype| InputType::Array(dtype)).collect();
        if types.len() != op.arity() {
            return None;
        }
        let compiled = Expr::call(op).compiled(&types).ok()?;
        compiled.program.is_single_kernel().then_some(ContiguousCall(compiled))
    }

    /// Dtype of the result.
    ///
    /// ```
    /// use unishape::DType;
    /// use unishape::expr::{ContiguousCall, Op};
    ///
    /// let less = ContiguousCall::new(Op::Less, &[DType::F32; 2]).unwrap();
    /// assert_eq!(less.dtype(), DType::Bool);
    /// ```
    pub fn dtype(&self) -> DType {
        self.0.dtype
    }

    /// Computes the bytes of the result from those of the arrays.
    ///
    /// ```
    /// use unishape::DType;
    /// use unishape::expr::{ContiguousCall, Op};
    ///
    /// let mut result = [0; 2];
    /// ContiguousCall::new(Op::Square, &[DType::U8]).unwrap().compute(&[&[5, 7]], &mut result);
    /// assert_eq!(result, [25, 49]);
    ///
    /// ContiguousCall::new(Op::Square, &[DType::F64]).unwrap().compute(&[&[]], &mut []);
    /// ```
    ///
    /// # Panics
    ///
    /// Where the bytes are not those of as many elements as the result has, or are not aligned.
    pub fn compute(&self, inputs: &[&[u8]], output: &mut [u8]) {
        self.0.program.run_single_kernel(inputs, output);
    }
}
