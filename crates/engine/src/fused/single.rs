//! Programs of a single kernel, on elements that are contiguous or in contiguous rows: no schedule is needed.

use super::array::{Input, Output};
use super::call::cost;
use super::execute::{Arrays, mask_bits};
use super::fuse::single_step;
use super::program::{MAX_ARITY, Program};
use crate::nest::LoopNest;
use crate::parallel::is_parallel;
use crate::tuning::MIN_FUSED_ELEMENTS;
use unishape_kernels::KernelContext;

/// Whether a chunk is one call of a kernel: no values between steps have to stay in the L1 cache.
pub(super) fn is_single_block(program: &Program, chunk: &LoopNest) -> bool {
    program.is_single_kernel()
        && program.operands.len() <= MAX_ARITY
        && chunk.depth() == 1
        && chunk.level(0).1.iter().all(|&stride| stride == 1)
}

/// Fast path without a loop nest: one kernel on contiguous arrays, in a single block, on the calling thread.
///
/// Returns the number of elements, or `None` where the program or the arrays do not qualify.
pub(super) fn run_single_block(
    program: &Program,
    inputs: &[Input<'_>],
    output: &Output<'_>,
) -> Option<usize> {
    if !program.is_single_kernel() || inputs.len() > MAX_ARITY {
        return None;
    }
    let count: usize = output.shape.iter().product();
    let items = program.items_per_element();
    let is_contiguous = |strides: &[isize]| is_row_major(output.shape, strides);
    let fits = count > 0
        && !is_parallel(cost(program, count, count.saturating_mul(items)))
        && is_contiguous(output.strides)
        && inputs.iter().all(|input| is_contiguous(input.strides));
    if !fits {
        return None;
    }
    let arrays = Arrays { inputs, outputs: std::slice::from_ref(output) };
    // Safety: all arrays have the output's shape, and so as many elements, which are contiguous. Nothing else runs.
    unsafe { run_single_kernel(program, arrays, &[0; 1 + MAX_ARITY], count) };
    Some(count)
}

/// Calls the only kernel of a program for `count` contiguous elements of each array, from offsets `starts` on, of
/// which the output's comes first.
///
/// # Safety
///
/// The arrays have these elements, with the sizes of the program's. Meanwhile no other thread accesses those of the
/// output.
pub(super) unsafe fn run_single_kernel(
    program: &Program,
    arrays: Arrays<'_>,
    starts: &[isize],
    count: usize,
) {
    let output = &arrays.outputs[0];
    // A shorter row is written by way of references, which uninitialised elements cannot have.
    if count >= MIN_FUSED_ELEMENTS
        && let Some((kernel, inputs)) = single_step(program, count, |_| true)
    {
        let address = |&input: &u32| (arrays.input(input as usize, starts[1 + input as usize]), 0);
        // Safety: the caller guarantees that the arrays have these elements, and nothing else accesses the output. Its
        // booleans are 0 or 1, so they need no mask.
        return unsafe {
            kernel.run_rows(inputs.iter().map(address), (output.address(starts[0]), 0), [1, count]);
        };
    }
    // Uninitialised elements are zeroed first, which is cheap as long as they stay in the L1 cache.
    let most = if output.is_uninit { program.block_elements } else { count };
    for done in (0..count).step_by(most.max(1)) {
        let len = most.min(count - done);
        let mut sources: [&[u8]; MAX_ARITY] = [&[]; MAX_ARITY];
        let sources = &mut sources[..arrays.inputs.len()];
        for (number, (source, input)) in sources.iter_mut().zip(arrays.inputs).enumerate() {
            let first = arrays.input(number, starts[1 + number] + done as isize);
            // Safety: the caller guarantees that the input has these elements.
            *source = unsafe { std::slice::from_raw_parts(first, len * input.item) };
        }
        // Safety: the caller guarantees that the output has these elements, not aliased. Masked bytes are elements.
        unsafe {
            let bytes = output.bytes(output.address(starts[0] + done as isize), len);
            program.run_single_kernel(sources, bytes);
            mask_bits(bytes, output.mask);
        }
    }
}

/// Whether elements of a shape that is not empty are contiguous in row-major order.
pub(super) fn is_row_major(shape: &[usize], strides: &[isize]) -> bool {
    let mut next = 1;
    for (&size, &stride) in shape.iter().zip(strides).rev() {
        if size != 1 && stride != next {
            return false;
        }
        next *= size as isize;
    }
    true
}

/// Rows of an operand of a [single kernel](Program::is_single_kernel).
///
/// ```
/// use unishape_engine::fused::OperandRows;
///
/// // Three rows of two bytes, four bytes apart.
/// let rows = OperandRows { bytes: &[1, 2, 0, 0, 3, 4, 0, 0, 5, 6], row: 2, stride: 4 };
/// assert_eq!(rows.row(1), [3, 4]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct OperandRows<'a> {
    /// Its bytes, from the first row on.
    pub bytes: &'a [u8],
    /// Bytes of a row.
    ///
    /// It has as many elements as a row of the output, or is a broadcast scalar.
    pub row: usize,
    /// Bytes from one row to the next.
    pub stride: usize,
}

impl<'a> OperandRows<'a> {
    /// The bytes of one row.
    ///
    /// # Panics
    ///
    /// Where there is no such row.
    pub fn row(&self, row: usize) -> &'a [u8] {
        &self.bytes[row * self.stride..][..self.row]
    }

    /// Whether there are this many rows.
    fn has_rows(&self, rows: usize) -> bool {
        let before_last = rows.checked_sub(1).and_then(|before| before.checked_mul(self.stride));
        before_last
            .and_then(|bytes| bytes.checked_add(self.row))
            .is_some_and(|bytes| bytes <= self.bytes.len())
    }
}

impl Program {
    /// Runs a [single kernel](Program::is_single_kernel) on bytes of elements.
    ///
    /// Elements are contiguous, and equally many of each operand and of the result.
    ///
    /// # Panics
    ///
    /// As for [`run_single_kernel_rows`](Program::run_single_kernel_rows).
    pub fn run_single_kernel(&self, inputs: &[&[u8]], output: &mut [u8]) {
        let mut operands = [OperandRows { bytes: &[], row: 0, stride: 0 }; MAX_ARITY];
        assert!(inputs.len() <= MAX_ARITY, "a single kernel of its operands");
        for (operand, &bytes) in operands.iter_mut().zip(inputs) {
            *operand = OperandRows { bytes, row: bytes.len(), stride: 0 };
        }
        self.run_single_kernel_rows(&operands[..inputs.len()], 1, output);
    }

    /// Runs a [single kernel](Program::is_single_kernel) on rows of elements.
    ///
    /// The elements of a row are contiguous. The rows of the output follow each other.
    ///
    /// # Panics
    ///
    /// Where the program is no single kernel, or the bytes are not those of its elements: their number, or the
    /// alignment of their addresses.
    pub fn run_single_kernel_rows(&self, operands: &[OperandRows<'_>], rows: usize, output: &mut [u8]) {
        assert!(
            self.is_single_kernel() && operands.len() == self.operands.len() && operands.len() <= MAX_ARITY,
            "a single kernel of its operands"
        );
        let step = &self.steps[0];
        let len = output.len() / rows.max(1) / step.item;
        let has_size = |(operand, &item): (&OperandRows<'_>, &usize)| {
            (operand.row == len * item || operand.row == item) && operand.has_rows(rows)
        };
        assert_eq!(output.len(), len * rows * step.item, "elements of the program");
        if output.is_empty() {
            // Empty slices need not be aligned.
            return;
        }
        assert!(operands.iter().zip(&self.operands).all(has_size), "elements of the program");
        let is_block = |value: usize| operands[value].row > self.operands[value];
        if len > 1
            && let Some((kernel, inputs)) = single_step(self, len * rows, is_block)
        {
            let rows_of = |&input: &u32| {
                let OperandRows { bytes, stride, .. } = operands[input as usize];
                (bytes.as_ptr(), stride as isize)
            };
            let to = (output.as_mut_ptr(), (len * step.item) as isize);
            // Safety: in each row, an operand has as many elements as the output, or one where it is no block. References
            // guarantee that nothing else accesses the output.
            return unsafe { kernel.run_rows(inputs.iter().map(rows_of), to, [rows, len]) };
        }
        let (check, mut context) = (self.checks[0], KernelContext::default());
        for (row, output) in output.chunks_exact_mut(len * step.item).enumerate() {
            let mut sources: [&[u8]; MAX_ARITY] = [&[]; MAX_ARITY];
            for (source, &input) in sources.iter_mut().zip(&step.inputs) {
                *source = operands[input].row(row);
            }
            check.call(step.kernel, &sources[..step.inputs.len()], output, &mut context);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::OperandRows;
    use crate::fused::tests::{ON_ONE_THREAD, input, output};
    use crate::fused::tests::{single, step};
    use crate::fused::{Program, run};
    use ndarray::{ArrayD, IxDyn};
    use proptest::prelude::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use unishape_kernels::Op;

    /// Rows of an operand: `len` elements each or one, this many elements apart.
    fn rows_of(elements: &[i64], len: usize, stride: usize) -> OperandRows<'_> {
        OperandRows { bytes: bytemuck::cast_slice(elements), row: len * 8, stride: stride * 8 }
    }

    proptest! {
        /// Rows of any length and distance, by the kernel of the step and by a compiled one (BC-10).
        #[test]
        fn rows_are_computed_from_their_elements_or_one_for_all(
            (rows, len) in (0usize..6, 0usize..80),
            is_whole in prop::array::uniform2(any::<bool>()),
            gaps in prop::array::uniform2(prop::option::of(0usize..4)),
        ) {
            let lens = is_whole.map(|is_whole| if is_whole { len } else { 1 });
            let is_whole = is_whole.contains(&true) || len <= 1;
            let strides = [0, 1].map(|number| gaps[number].map_or(0, |gap| lens[number] + gap));
            let elements: Vec<i64> = (0..700).map(|number| number * number).collect();
            let operands = [0, 1].map(|number| rows_of(&elements[number * 7..], lens[number], strides[number]));
            let at = |number: usize, row: usize, column: usize| {
                elements[number * 7 + row * strides[number] + if lens[number] == len { column } else { 0 }]
            };
            let expected: Vec<i64> =
                (0..rows * len).map(|index| at(0, index / len, index % len) - at(1, index / len, index % len)).collect();
            for program in [single(), single().with_immediate_fusion()] {
                let mut result = vec![-1i64; rows * len];
                if is_whole {
                    program.run_single_kernel_rows(&operands, rows, bytemuck::cast_slice_mut(&mut result));
                    prop_assert_eq!(&result, &expected);
                }
            }
        }
    }

    #[test]
    fn one_operand_may_be_taken_twice() {
        let squares = || Program::new(vec![8], vec![], vec![step(Op::Multiply, [0, 0])], 1);
        let elements: Vec<i64> = (0..100).collect();
        for program in [squares(), squares().with_immediate_fusion()] {
            let mut result = [0i64; 100];
            program
                .run_single_kernel(&[bytemuck::cast_slice(&elements)], bytemuck::cast_slice_mut(&mut result));
            assert!(result.iter().zip(&elements).all(|(result, element)| *result == element * element));
        }
    }

    #[test]
    fn missing_rows_are_rejected() {
        let elements = [1i64; 12];
        let fails = |operands: &[OperandRows<'_>], rows: usize, len: usize| {
            let mut result = [0i64; 12];
            let output = bytemuck::cast_slice_mut(&mut result[..len]);
            catch_unwind(AssertUnwindSafe(|| {
                single().with_immediate_fusion().run_single_kernel_rows(operands, rows, output);
            }))
            .is_err()
        };
        let whole = rows_of(&elements, 4, 4);
        assert!(!fails(&[whole, rows_of(&elements, 4, 0)], 3, 12));
        assert!(!fails(&[whole, rows_of(&elements[..3], 1, 1)], 3, 12));
        // One element too few, in the last row.
        assert!(fails(&[whole, rows_of(&elements[..11], 4, 4)], 3, 12));
        assert!(fails(&[whole, rows_of(&elements[..2], 1, 1)], 3, 12));
        assert!(fails(&[whole, rows_of(&elements, 3, 4)], 3, 12));
        assert!(fails(&[whole, rows_of(&elements, 4, usize::MAX / 16)], 3, 12));
        assert!(fails(&[whole, whole], 3, 11));
        assert!(fails(&[whole], 3, 12));
        assert!(fails(&[whole, whole, whole], 3, 12));
    }

    /// From the length on at which compiled kernels are used, they write all elements.
    #[test]
    fn contiguous_arrays_of_any_length() {
        for len in [1, 3, 255, 256, 257, 300, 5000] {
            let [a, b] = [3i64, 5].map(|factor| {
                ArrayD::from_shape_vec(IxDyn(&[len]), (0..len as i64).map(|number| number * factor).collect())
                    .unwrap()
            });
            for program in [single(), single().with_immediate_fusion()] {
                let mut result = ArrayD::from_elem(IxDyn(&[len]), -1i64);
                let (a_view, b_view) = (a.view(), b.view());
                let inputs = [input(&a_view), input(&b_view)];
                assert!(run(&program, &inputs, &mut output(&mut result), ON_ONE_THREAD));
                assert_eq!(result, &a - &b);
            }
        }
    }
}
