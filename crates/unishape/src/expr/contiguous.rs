//! A function of contiguous arrays, without the cost of binding them.

use super::cache::Expr;
use super::compile::{CompiledExpr, InputType};
use crate::DType;
use smallvec::SmallVec;
use std::sync::Arc;
use unishape_core::{Rules, check_broadcast_to, padded_dim};
use unishape_engine::fused::OperandRows;
use unishape_kernels::Op;

/// A function for contiguous arrays of certain dtypes.
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

    /// An expression of arrays of these dtypes, for few elements.
    ///
    /// Arrays are in the order of its [names](Expr::names). Operations are computed one after another.
    ///
    /// `None` where it has views, reductions, other variables or many operations, and where these do not support the
    /// dtypes.
    ///
    /// ```
    /// use unishape::DType::U8;
    /// use unishape::expr::{ContiguousCall, Expr};
    ///
    /// let expr = Expr::parse("(a + b) * 2")?;
    /// let mut result = [0; 2];
    /// ContiguousCall::of_expr(&expr, &[U8, U8]).unwrap().compute(&[&[1, 2], &[10, 20]], &mut result);
    /// assert_eq!(result, [22, 44]);
    ///
    /// assert!(ContiguousCall::of_expr(&expr, &[U8]).is_none());
    /// assert!(ContiguousCall::of_expr(&Expr::parse("sum(a)")?, &[U8]).is_none());
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn of_expr(expr: &Expr, dtypes: &[DType]) -> Option<ContiguousCall> {
        if !expr.is_element_wise() || expr.names().len() != dtypes.len() {
            return None;
        }
        let types: SmallVec<[InputType; 3]> = dtypes.iter().map(|&dtype| InputType::Array(dtype)).collect();
        let compiled = expr.compiled(&types).ok()?;
        let is_fitting =
            compiled.program.is_few_kernels() && compiled.program.operand_items().len() == dtypes.len();
        is_fitting.then_some(ContiguousCall(compiled))
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

    /// Number of operations.
    ///
    /// ```
    /// use unishape::DType::U8;
    /// use unishape::expr::{ContiguousCall, Expr};
    ///
    /// assert_eq!(ContiguousCall::of_expr(&Expr::parse("(a + b) * 2")?, &[U8, U8]).unwrap().operations(), 2);
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn operations(&self) -> usize {
        self.0.program.step_count()
    }

    /// Whether this is arithmetic that can be compiled at run time.
    ///
    /// 10,000 elements take some µs at most, in rows of any length.
    ///
    /// ```
    /// use unishape::DType::F32;
    /// use unishape::expr::{ContiguousCall, Op};
    ///
    /// assert!(ContiguousCall::new(Op::Add, &[F32, F32]).unwrap().is_arithmetic());
    /// assert!(!ContiguousCall::new(Op::Sin, &[F32]).unwrap().is_arithmetic());
    /// ```
    pub fn is_arithmetic(&self) -> bool {
        self.0.program.is_fusable()
    }

    /// Computes the bytes of the result from those of arrays with as many elements.
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
        self.0.program.run_few_kernels(inputs, output);
    }

    /// Length of the rows of arrays with these shapes.
    ///
    /// [`compute_stretched`](ContiguousCall::compute_stretched) computes such rows.
    ///
    /// ```
    /// use unishape::expr::ContiguousCall;
    ///
    /// assert_eq!(ContiguousCall::row_len([&[8, 3, 5, 7][..], &[3, 1, 1]].into_iter(), &[8, 3, 5, 7]), 35);
    /// ```
    ///
    /// # Panics
    ///
    /// Where an array cannot be stretched to the shape.
    pub fn row_len<'a>(arrays: impl Iterator<Item = &'a [usize]> + Clone, shape: &[usize]) -> usize {
        shape[row(arrays, shape).0..].iter().product()
    }

    /// Computes a function of arrays that are stretched.
    ///
    /// As [`compute`](ContiguousCall::compute), for a [function](ContiguousCall::new) of arrays that are stretched to
    /// the shape of the result.
    ///
    /// Each row is computed by itself: the last dimensions, as many as an array is stretched along all of, or along none.
    ///
    /// ```
    /// use unishape::DType;
    /// use unishape::expr::{ContiguousCall, Op};
    ///
    /// let add = ContiguousCall::new(Op::Add, &[DType::U8; 2]).unwrap();
    /// let mut sums = [0; 6];
    /// add.compute_stretched(&[(&[2, 1], &[10, 20]), (&[3], &[1, 2, 3])], &[2, 3], &mut sums);
    /// assert_eq!(sums, [11, 12, 13, 21, 22, 23]);
    /// ```
    ///
    /// # Panics
    ///
    /// Where this is not a function, an array cannot be stretched to the shape, or the bytes are not those of arrays of these
    /// shapes.
    pub fn compute_stretched(&self, inputs: &[(&[usize], &[u8])], shape: &[usize], output: &mut [u8]) {
        let (row_dim, is_whole) = row(inputs.iter().map(|(own, _)| *own), shape);
        let row_len: usize = shape[row_dim..].iter().product();
        let elements: usize = shape.iter().product();
        assert_eq!(output.len(), elements * self.dtype().item_size(), "the elements of the result");
        let mut operands: SmallVec<[Operand<'_>; 3]> = SmallVec::new();
        for ((own, bytes), (&item, is_whole)) in
            inputs.iter().zip(self.0.program.operand_items().iter().zip(is_whole))
        {
            let row = if is_whole.unwrap_or(false) { row_len * item } else { item };
            let mut stride = row;
            let mut strides: SmallVec<[usize; 6]> = SmallVec::from_elem(0, row_dim);
            for dim in (0..row_dim).rev() {
                let own = padded_dim(own, shape.len(), dim);
                strides[dim] = if own == 1 { 0 } else { stride };
                stride *= own;
            }
            assert_eq!(stride, bytes.len(), "the elements of an array");
            operands.push(Operand { bytes, row, strides, offset: 0 });
        }
        // One call computes the rows along the last dimension that is not part of a row.
        let (outer, rows) = match shape[..row_dim].split_last() {
            Some((&rows, outer)) => (outer, rows),
            None => (&[][..], 1),
        };
        let mut index: SmallVec<[usize; 6]> = SmallVec::from_elem(0, outer.len());
        let calls: usize = outer.iter().product();
        for output in output.chunks_exact_mut((output.len() / calls.max(1)).max(1)) {
            let current: SmallVec<[OperandRows<'_>; 3]> = operands.iter().map(Operand::rows).collect();
            self.0.program.run_single_kernel_rows(&current, rows, output);
            advance(&mut index, outer, &mut operands);
        }
    }
}

/// The first dimension of a row, and for each array whether it has all elements of a row, or one; `None` where a row is
/// one element.
///
/// # Panics
///
/// Where an array cannot be stretched to the shape.
fn row<'a>(
    arrays: impl Iterator<Item = &'a [usize]> + Clone,
    shape: &[usize],
) -> (usize, SmallVec<[Option<bool>; 3]>) {
    let can_stretch = |own: &[usize]| check_broadcast_to(Rules::STANDARD, own, shape).is_ok();
    assert!(arrays.clone().all(can_stretch), "arrays that can be stretched to the shape");
    let mut row_dim = shape.len();
    let mut is_whole: SmallVec<[Option<bool>; 3]> = arrays.clone().map(|_| None).collect();
    while let Some(dim) = row_dim.checked_sub(1) {
        let mut is_alike = true;
        for (own, is_whole) in arrays.clone().zip(&mut is_whole) {
            let (own, all) = (padded_dim(own, shape.len(), dim), shape[dim]);
            is_alike &= all == 1 || *is_whole.get_or_insert(own == all) == (own == all);
        }
        if !is_alike {
            break;
        }
        row_dim = dim;
    }
    (row_dim, is_whole)
}

/// An array that is stretched, and where its current row is.
struct Operand<'a> {
    bytes: &'a [u8],
    /// Bytes of a row.
    row: usize,
    /// Bytes from one index to the next, in each dimension of the result: 0 where the array is stretched.
    strides: SmallVec<[usize; 6]>,
    offset: usize,
}

impl<'a> Operand<'a> {
    /// The current row, and those that follow it along the last dimension.
    fn rows(&self) -> OperandRows<'a> {
        let stride = self.strides.last().copied().unwrap_or(0);
        OperandRows { bytes: &self.bytes[self.offset..], row: self.row, stride }
    }
}

/// Goes on to the next index of a shape.
fn advance(index: &mut [usize], shape: &[usize], operands: &mut [Operand<'_>]) {
    for dim in (0..shape.len()).rev() {
        index[dim] += 1;
        if index[dim] < shape[dim] {
            operands.iter_mut().for_each(|operand| operand.offset += operand.strides[dim]);
            return;
        }
        let steps = std::mem::take(&mut index[dim]) - 1;
        operands.iter_mut().for_each(|operand| operand.offset -= steps * operand.strides[dim]);
    }
}

#[cfg(test)]
mod tests {
    use super::ContiguousCall;
    use crate::DType::{Bool, F64, I16, U8};
    use crate::expr::{Expr, Op};
    use ndarray::ArrayD;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_function_takes_as_many_dtypes_as_it_has_arguments() {
        let less = ContiguousCall::new(Op::Less, &[I16; 2]).unwrap();
        assert_eq!((less.dtype(), less.operations()), (Bool, 1));
        let mut result = [7; 3];
        less.compute(
            &[bytemuck::cast_slice(&[1i16, 2, 3]), bytemuck::cast_slice(&[3i16, 2, 300])],
            &mut result,
        );
        assert_eq!(result, [1, 0, 1]);
        assert!(ContiguousCall::new(Op::Less, &[I16]).is_none());
        assert!(ContiguousCall::new(Op::Less, &[I16; 3]).is_none());
        // One more kernel casts the first array.
        assert!(ContiguousCall::new(Op::Add, &[U8, F64]).is_none());
    }

    #[test]
    fn an_expression_is_computed_one_operation_after_another() {
        let call = |text: &str, dtypes: &[_]| ContiguousCall::of_expr(&Expr::parse(text).unwrap(), dtypes);
        let twice = call("(a + b) * 2", &[U8; 2]).unwrap();
        assert_eq!((twice.dtype(), twice.operations()), (U8, 2));
        let mut result = [0; 2];
        twice.compute(&[&[1, 2], &[10, 20]], &mut result);
        assert_eq!(result, [22, 44]);
        assert!(call("(a + b) * 2", &[U8]).is_none());
        assert!(call("(a + b) * 2", &[U8; 3]).is_none());
        assert!(call("sum(a)", &[U8]).is_none());
        assert!(call("a", &[U8]).is_none());
        assert!(call("a & b", &[F64; 2]).is_none());
    }

    /// `a - b` of arrays of these shapes, whose elements all differ.
    fn difference(shapes: [&[usize]; 2], shape: &[usize]) -> (Vec<i16>, ArrayD<i16>) {
        let [a, b] = [(0, 1000), (1, 1)].map(|(at, factor)| {
            let mut next = 0;
            ArrayD::from_shape_simple_fn(shapes[at], || {
                next += 1;
                next * factor
            })
        });
        let expected = &a.broadcast(shape).unwrap() - &b.broadcast(shape).unwrap();
        let mut output = vec![0i16; shape.iter().product()];
        let [a, b] = [&a, &b].map(|array| bytemuck::cast_slice::<i16, u8>(array.as_slice().unwrap()));
        let call = ContiguousCall::new(Op::Subtract, &[I16; 2]).unwrap();
        let inputs = [(shapes[0], a), (shapes[1], b)];
        call.compute_stretched(&inputs, shape, bytemuck::cast_slice_mut(&mut output));
        (output, expected)
    }

    #[test]
    fn stretched_arrays_are_computed_row_by_row() {
        let cases: [([&[usize]; 2], &[usize]); 16] = [
            ([&[2, 3], &[2, 3]], &[2, 3]),
            ([&[2, 1], &[3]], &[2, 3]),
            ([&[3], &[2, 1]], &[2, 3]),
            ([&[], &[2, 3]], &[2, 3]),
            ([&[3], &[]], &[3]),
            ([&[], &[]], &[]),
            ([&[4, 1, 3], &[2, 1]], &[4, 2, 3]),
            ([&[1, 2, 1, 3], &[4, 1, 3, 1]], &[4, 2, 3, 3]),
            ([&[2, 3, 4], &[4]], &[2, 3, 4]),
            ([&[2, 3, 4], &[2, 1, 4]], &[2, 3, 4]),
            ([&[2, 1, 1], &[1, 3, 4]], &[2, 3, 4]),
            ([&[2, 1, 3], &[1, 1, 3]], &[2, 1, 3]),
            ([&[2, 2, 1], &[1, 2, 1]], &[2, 2, 1]),
            ([&[0, 3], &[3]], &[0, 3]),
            ([&[2, 1], &[2, 0]], &[2, 0]),
            ([&[1, 1], &[1]], &[1, 1]),
        ];
        for (shapes, shape) in cases {
            let (output, expected) = difference(shapes, shape);
            assert_eq!(output, expected.into_iter().collect::<Vec<_>>(), "{shapes:?}");
        }
    }

    #[test]
    fn arrays_that_cannot_be_stretched_are_rejected() {
        let call = ContiguousCall::new(Op::Add, &[U8; 2]).unwrap();
        let fails = |a: (&[usize], usize), b: (&[usize], usize), len: usize| {
            let (bytes, mut output) = ([1; 8], [0; 8]);
            let inputs = [a, b].map(|(shape, len)| (shape, &bytes[..len]));
            catch_unwind(AssertUnwindSafe(|| {
                call.compute_stretched(&inputs, &[2, 3], &mut output[..len]);
            }))
            .is_err()
        };
        assert!(!fails((&[2, 1], 2), (&[3], 3), 6));
        assert!(fails((&[2, 2], 4), (&[3], 3), 6));
        assert!(fails((&[3, 1], 3), (&[3], 3), 6));
        assert!(fails((&[2, 1], 3), (&[3], 3), 6));
        assert!(fails((&[2, 1], 2), (&[3], 2), 6));
        assert!(fails((&[2, 1], 2), (&[3], 3), 8));
    }
}
