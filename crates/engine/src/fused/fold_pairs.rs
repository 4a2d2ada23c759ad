//! Folds functions of two operands into accumulators.

use super::execute::Block;
use super::schedule::{BlockRef, BlockSpan, Location, RereadRows};
use smallvec::SmallVec;
use unishape_kernels::{PairFoldKernel, PairOperand, ScaledFold};

/// The rows of a block, and the accumulators that they are folded into.
#[derive(Clone, Copy)]
struct PairRows {
    rows: usize,
    len: usize,
    /// Strides of the accumulators along rows and from row to row, in elements.
    strides: [isize; 2],
}

impl Block<'_> {
    /// Folds the rows of blocks that differ only in their scalars and accumulators.
    ///
    /// # Safety
    ///
    /// As for [`Schedule::run`]; no two of the blocks have the same accumulators.
    pub(super) unsafe fn fold_reread(reread: RereadRows, blocks: &[Block<'_>]) {
        let Some(first) = blocks.first() else { return };
        let Some(Some(pair)) = first.program.pairs.get(reread.result) else { return };
        let output = &first.arrays.outputs[reread.result];
        let bytes = first.schedule.row_len * output.item;
        // Safety: inputs exist, and the nest stays within the accumulators, which nothing else accesses. Those of a block
        // are a row: its innermost loop is kept, and they are contiguous along it.
        unsafe {
            let rows: SmallVec<[&[u8]; 64]> =
                (0..first.shape.iterations).map(|row| first.read_row(reread.rows, row)).collect();
            let mut folds: SmallVec<[ScaledFold<'_>; 2]> = SmallVec::new();
            for block in blocks {
                let acc = std::slice::from_raw_parts_mut(output.address(block.offsets[0]), bytes);
                folds.push(ScaledFold { scalars: block.read(reread.scalars), acc });
            }
            (pair.kernel.scaled_rows)(&rows, &mut folds);
        }
    }

    /// Folds the values of a pair into the accumulators of a result.
    ///
    /// # Safety
    ///
    /// As for [`Schedule::run`](super::schedule::Schedule::run).
    pub(super) unsafe fn fold_pairs(&self, inputs: [BlockRef; 2], result: usize) {
        let Some(Some(pair)) = self.program.pairs.get(result) else { return };
        if let Some(reread) = RereadRows::of(self.program, self.nest, inputs, result) {
            // Safety: as for the caller.
            return unsafe { Block::fold_reread(reread, std::slice::from_ref(self)) };
        }
        let output = &self.arrays.outputs[result];
        let PairRows { rows, len, strides: [along, across] } = self.pair_rows();
        let address = |row: usize| output.address(self.offsets[0] + row as isize * across);
        let is_whole = inputs.iter().all(|&input| self.has_whole_rows(input));
        // Safety: inputs exist, scratch blocks hold what earlier actions wrote, and the nest stays within the
        // accumulators, which nothing else accesses.
        unsafe {
            let accumulators =
                |row: usize, count: usize| std::slice::from_raw_parts_mut(address(row), count * output.item);
            match (along, across) {
                (0, 1) if is_whole => {
                    let operands = inputs.map(|input| self.whole_rows(input, len));
                    (pair.kernel.to_elements)(operands, len, accumulators(0, rows));
                }
                (1, 0) if is_whole => {
                    let operands = inputs.map(|input| self.whole_rows(input, len));
                    (pair.kernel.to_row)(operands, rows, accumulators(0, len));
                }
                // Without rows of their own, blocks have one of the forms above.
                _ => {
                    for row in 0..rows {
                        let operands = inputs.map(|input| self.one_row(input, row));
                        let count = if along == 0 { 1 } else { len };
                        fold_row(&pair.kernel, operands, len, accumulators(row, count), along);
                    }
                }
            }
        }
    }

    /// The rows of this block: those that it is processed in, or those of the accumulators.
    fn pair_rows(&self) -> PairRows {
        let len = self.schedule.row_len;
        if len > 0 {
            let along = self.nest.level(self.nest.innermost()).1[0];
            return PairRows { rows: self.shape.iterations, len, strides: [along, self.row_stride(0)] };
        }
        match self.shape.accumulator_loops(self.nest)[..] {
            [(len, along)] => PairRows { rows: 1, len, strides: [along, 1 - along] },
            [(len, along), (rows, across)] => PairRows { rows, len, strides: [along, across] },
            // A block of one element.
            _ => PairRows { rows: 1, len: 1, strides: [0, 1] },
        }
    }

    /// Whether a kernel can take all rows of a value: they are contiguous, all the same, or single elements.
    fn has_whole_rows(&self, value: BlockRef) -> bool {
        !value.has_row_stride || self.is_repeated(value)
    }

    /// Whether all rows of a value are one.
    fn is_repeated(&self, value: BlockRef) -> bool {
        match value.location {
            Location::Input(input) => value.has_row_stride && self.row_stride(1 + input as usize) == 0,
            _ => false,
        }
    }

    /// All rows of a value.
    ///
    /// # Safety
    ///
    /// As for [`read`](Block::read).
    unsafe fn whole_rows(&self, value: BlockRef, len: usize) -> PairOperand<'_> {
        // Safety: the caller guarantees it; a block has at least one row.
        unsafe {
            match value.span {
                BlockSpan::Scalar => PairOperand { bytes: self.read(value), stride: 0, is_scalar: true },
                BlockSpan::Column => PairOperand { bytes: self.read(value), stride: 1, is_scalar: true },
                BlockSpan::Block if self.is_repeated(value) => {
                    PairOperand { bytes: self.read_row(value, 0), stride: 0, is_scalar: false }
                }
                BlockSpan::Block => PairOperand { bytes: self.read(value), stride: len, is_scalar: false },
            }
        }
    }

    /// One row of a value, in a block that is processed row by row.
    ///
    /// # Safety
    ///
    /// As for [`read_row`](Block::read_row).
    unsafe fn one_row(&self, value: BlockRef, row: usize) -> PairOperand<'_> {
        // Safety: the caller guarantees it.
        let bytes = unsafe { self.read_row(value, row) };
        PairOperand { bytes, stride: 0, is_scalar: value.span != BlockSpan::Block }
    }
}

/// Folds one row, into one accumulator or into a row of them.
fn fold_row(
    kernel: &PairFoldKernel,
    operands: [PairOperand<'_>; 2],
    len: usize,
    acc: &mut [u8],
    along: isize,
) {
    match along {
        0 => (kernel.to_elements)(operands, len, acc),
        _ => (kernel.to_row)(operands, 1, acc),
    }
}

#[cfg(test)]
mod tests {
    use crate::fused::{Input, Options, Output, Pair, Program, Step, run};
    use unishape_kernels::{
        DType, FoldOp, KernelKey, Op, PairFunction, find_fold, find_kernel, find_pair_fold,
    };

    const ROWS: usize = 40;
    const LEN: usize = 64;

    /// The sum of products of two arrays.
    fn sum_of_products() -> Program {
        let kernel = find_kernel(Op::Multiply, DType::F32).unwrap();
        let key = KernelKey::Call(Op::Multiply, DType::F32);
        let multiply = Step { key, kernel, inputs: [0, 1].into_iter().collect(), item: 4 };
        let kernel = find_pair_fold(FoldOp::Sum, PairFunction::Product, DType::F32).unwrap();
        Program::new(vec![4, 4], vec![], vec![multiply], 2)
            .folding(find_fold(FoldOp::Sum, DType::F32).unwrap())
            .with_pairs(&[Some(Pair { kernel, inputs: [0, 1] })])
    }

    /// Rows that are read again, with scalars that are contiguous or copied, for other accumulators or for the same ones.
    #[test]
    fn rows_that_are_read_again() {
        const TIMES: usize = 5;
        let numbers: Vec<f32> = (0..ROWS * 100).map(|i| ((i * i) % 11) as f32).collect();
        let (shape, program) = ([TIMES, ROWS, LEN], sum_of_products());
        for (outer, step) in [0, 1, 7, 100].into_iter().flat_map(|outer| [1, 2, -1].map(|step| (outer, step)))
        {
            let last = if step < 0 { ROWS - 1 } else { 0 };
            for out_outer in [0, LEN as isize] {
                let [of_scalars, of_rows] = [[outer, step, 0], [0, LEN as isize, 1]];
                // Safety: scalars, rows and accumulators are in the vectors.
                let inputs = unsafe {
                    [
                        Input::new(numbers[last..].as_ptr(), &shape, &of_scalars),
                        Input::new(numbers.as_ptr(), &shape, &of_rows),
                    ]
                };
                let (mut sums, mut expected) = ([0f32; TIMES * LEN], [0f32; TIMES * LEN]);
                for (time, row, i) in
                    (0..TIMES).flat_map(|t| (0..ROWS).flat_map(move |row| (0..LEN).map(move |i| (t, row, i))))
                {
                    let scalar =
                        numbers[(last as isize + time as isize * outer + row as isize * step) as usize];
                    expected[time * out_outer as usize + i] += scalar * numbers[row * LEN + i];
                }
                let strides = [out_outer, 0, 1];
                // Safety: as above.
                let mut output = unsafe { Output::folded(sums.as_mut_ptr(), &shape, &strides, u8::MAX) };
                let options =
                    Options { is_output_fresh: false, threads: Some(1), should_continue: &|_| true };
                assert!(run(&program, &inputs, &mut output, options));
                // Sums of small integers are exact.
                assert_eq!(sums, expected, "{outer}, {step}, {out_outer}");
            }
        }
    }

    /// Rows that are repeated, contiguous or apart, of either operand, in sums along rows and across them.
    #[test]
    fn rows_with_any_distance() {
        let numbers: Vec<f32> = (0..ROWS * 100).map(|i| ((i * i) % 11) as f32).collect();
        let shape = [ROWS, LEN];
        let program = Program { block_elements: 8 * LEN, min_row_len: 16, ..sum_of_products() };
        let distances = [0, LEN, 100];
        for (a, b) in distances.into_iter().flat_map(|a| distances.map(|b| (a, b))) {
            let strides = [a, b].map(|distance| [distance as isize, 1]);
            // Safety: the rows are in the vector.
            let inputs =
                strides.each_ref().map(|strides| unsafe { Input::new(numbers.as_ptr(), &shape, strides) });
            for out_strides in [[1, 0], [0, 1]] {
                let (mut sums, mut expected) = ([f32::NAN; LEN], [0f32; LEN]);
                let count = if out_strides[0] == 1 { ROWS } else { LEN };
                for (row, i) in (0..ROWS).flat_map(|row| (0..LEN).map(move |i| (row, i))) {
                    let at = if out_strides[0] == 1 { row } else { i };
                    expected[at] += numbers[row * a + i] * numbers[row * b + i];
                }
                // Safety: there are as many sums as rows or columns.
                let mut output = unsafe { Output::folded(sums.as_mut_ptr(), &shape, &out_strides, u8::MAX) };
                let options =
                    Options { is_output_fresh: false, threads: Some(1), should_continue: &|_| true };
                assert!(run(&program, &inputs, &mut output, options));
                // Sums of small integers are exact.
                assert_eq!(sums[..count], expected[..count], "rows {a} and {b} apart, {out_strides:?}");
            }
        }
    }
}
