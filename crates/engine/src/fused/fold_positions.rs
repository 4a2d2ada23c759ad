//! Folds elements into extreme elements and their indices.

use super::execute::Block;
use super::schedule::BlockRef;
use smallvec::SmallVec;
use unishape_kernels::{Extremes, IndexRange, PositionFoldKernel};

/// A loop of a block.
#[derive(Clone, Copy, Debug)]
struct PositionLoop {
    size: usize,
    /// Stride of the accumulators, in elements.
    stride: isize,
    /// Distance of one index from the next.
    step: isize,
}

/// Accumulators: the addresses of an index and of its element.
#[derive(Clone, Copy)]
struct Accumulator {
    index: *mut u8,
    element: *mut u8,
    /// Bytes of an element.
    item: usize,
}

impl Accumulator {
    /// The accumulator `offset` accumulators from this one.
    fn offset(self, offset: isize) -> Accumulator {
        Accumulator {
            index: self.index.wrapping_offset(offset * size_of::<i64>() as isize),
            element: self.element.wrapping_offset(offset * self.item as isize),
            ..self
        }
    }

    /// Accumulators from this one on, contiguous.
    ///
    /// # Safety
    ///
    /// They exist, and nothing else accesses them meanwhile.
    unsafe fn extremes<'a>(self, count: usize) -> Extremes<'a> {
        // Safety: the caller guarantees it.
        unsafe {
            Extremes {
                elements: std::slice::from_raw_parts_mut(self.element, count * self.item),
                indices: std::slice::from_raw_parts_mut(self.index, count * size_of::<i64>()),
            }
        }
    }
}

impl Block<'_> {
    /// Folds a value of this block into the accumulators of a result that is an index.
    ///
    /// # Safety
    ///
    /// As for [`Schedule::run`](super::schedule::Schedule::run).
    pub(super) unsafe fn fold_positions(&self, from: BlockRef, result: usize) {
        let Some(position) = self.program.position(result) else { return };
        let (output, operand) = (&self.arrays.outputs[result], 1 + position.index);
        let item = from.item as usize;
        let accumulator = Accumulator { index: output.first, element: output.extremes, item };
        let accumulator = accumulator.offset(self.offsets[0]);
        let start = self.arrays.inputs[position.index].first.addr() as isize;
        let index = start.wrapping_add(self.offsets[operand]);
        let mut loops: SmallVec<[PositionLoop; 6]> = SmallVec::new();
        for level in (self.shape.level..self.nest.depth()).rev() {
            let (size, strides) = self.nest.level(level);
            let size = if level == self.shape.level { self.shape.iterations } else { size };
            let own = PositionLoop { size, stride: strides[0], step: strides[operand] };
            match loops.last_mut() {
                _ if size == 1 => {}
                Some(inner) if own.continues(*inner) => inner.size *= size,
                _ => loops.push(own),
            }
        }
        // Safety: inputs exist, scratch blocks hold what earlier actions wrote, and the nest stays within the
        // accumulators.
        unsafe {
            if !from.has_row_stride {
                return fold_loops(&position.kernel, self.read(from), index, accumulator, &loops);
            }
            let innermost = self.nest.level(self.nest.innermost()).1;
            let row =
                PositionLoop { size: self.schedule.row_len, stride: innermost[0], step: innermost[operand] };
            for number in 0..self.shape.iterations {
                let accumulator = accumulator.offset(number as isize * self.row_stride(0));
                let index = index + number as isize * self.row_stride(operand);
                fold_loops(&position.kernel, self.read_row(from, number), index, accumulator, &[row]);
            }
        }
    }
}

impl PositionLoop {
    /// Whether this loop and the one within it are one.
    fn continues(self, inner: PositionLoop) -> bool {
        let size = inner.size as isize;
        self.stride == inner.stride * size && self.step == inner.step * size
    }
}

/// Folds the elements of some loops, innermost first, into accumulators; the first element has this index.
///
/// # Safety
///
/// The accumulators exist, and nothing else accesses them.
unsafe fn fold_loops(
    kernel: &PositionFoldKernel,
    values: &[u8],
    index: isize,
    accumulator: Accumulator,
    loops: &[PositionLoop],
) {
    let indices = |step: isize| IndexRange { first: index as i64, step: step as i64 };
    // Safety: the caller guarantees the accumulators; indices are those of the loops.
    unsafe {
        match *loops {
            [] => (kernel.to_elements)(values, indices(0), accumulator.extremes(1)),
            [PositionLoop { stride: 0, step, .. }] => {
                (kernel.to_elements)(values, indices(step), accumulator.extremes(1));
            }
            [PositionLoop { stride: 0, step, .. }, PositionLoop { size: rows, stride: 1, step: 0 }] => {
                (kernel.to_elements)(values, indices(step), accumulator.extremes(rows));
            }
            [PositionLoop { size, stride: 1, step: 0 }] => {
                (kernel.to_row)(values, indices(0), accumulator.extremes(size));
            }
            [PositionLoop { size, stride: 1, step: 0 }, PositionLoop { stride: 0, step, .. }] => {
                (kernel.to_row)(values, indices(step), accumulator.extremes(size));
            }
            [ref inner @ .., PositionLoop { size, stride, step }] => {
                for (number, values) in values.chunks_exact(values.len() / size).enumerate() {
                    let accumulator = accumulator.offset(number as isize * stride);
                    fold_loops(kernel, values, index + number as isize * step, accumulator, inner);
                }
            }
        }
    }
}
