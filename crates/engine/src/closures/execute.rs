//! Runs row kernels over a loop nest: splitting, prefetching, streaming, cleaning up after a panic.
//!
//! None of this depends on the closure, so that a user's crate compiles it once for each number of operands.

use super::operand::ErasedOperand;
use super::rows::{RowKernel, RowKernels, Rows};
use crate::memory::prefetch::{prefetch_range, prefetch_strided};
use crate::memory::stream::{Staging, StreamWriter, can_stream};
use crate::nest::{LoopNest, RowBlock};
use crate::parallel::{Team, cost, for_each_chunk, is_parallel};
use crate::tuning::{MIN_SIMD_LEN, PREFETCH_DISTANCE, STREAM_CACHE_FRACTION_CLOSURES};
use smallvec::SmallVec;
use std::cell::Cell;
use std::mem::needs_drop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// A closure and its operands; operand 0 decides the order of the loops.
pub(super) struct ClosureJob<'j, const N: usize> {
    first: [*mut u8; N],
    shape: &'j [usize],
    strides: [&'j [isize]; N],
    /// Bytes of an element of each operand.
    items: [usize; N],
    writes: [bool; N],
    has_broadcast_kernels: bool,
    closure: *const (),
    select: fn(usize, &[isize; N]) -> RowKernel<N>,
    /// Drops elements of operand 0 after a panic, where it was uninitialised and they need it.
    drop_rows: Option<DropRows>,
    /// Set once the closure has ended its loop.
    is_stopped: AtomicBool,
}

// Safety: `ClosureJob::new` is called with closures and operands that may be shared with other threads, or the job
// is run by `run_on_caller`.
unsafe impl<const N: usize> Sync for ClosureJob<'_, N> {}

/// Drops elements in rows: the first one, the numbers of rows and of elements in each, and their strides.
type DropRows = unsafe fn(*mut u8, [usize; 2], [isize; 2]);

/// # Safety
///
/// All of the elements are initialised, and nothing accesses them any more.
unsafe fn drop_rows<T>(first: *mut u8, [rows, len]: [usize; 2], [row_stride, stride]: [isize; 2]) {
    for (row, i) in (0..rows as isize).flat_map(|row| (0..len as isize).map(move |i| (row, i))) {
        // Safety: the caller guarantees the elements.
        unsafe { first.cast::<T>().offset(row * row_stride + i * stride).drop_in_place() };
    }
}

impl<'j, const N: usize> ClosureJob<'j, N> {
    /// # Panics
    ///
    /// Where the operands differ in shape.
    #[inline]
    pub(super) fn new<K: RowKernels<F, N>, F>(
        closure: &'j F,
        operands: [ErasedOperand<'j>; N],
    ) -> ClosureJob<'j, N> {
        let shape = operands[0].shape;
        let same = |operand: &ErasedOperand<'_>| std::ptr::eq(operand.shape, shape) || operand.shape == shape;
        assert!(operands.iter().all(same), "operands of one shape");
        ClosureJob {
            first: operands.map(|operand| operand.first),
            shape,
            strides: operands.map(|operand| operand.strides),
            items: K::ITEMS,
            writes: K::WRITES,
            has_broadcast_kernels: K::HAS_BROADCAST_KERNELS,
            closure: (&raw const *closure).cast(),
            select: K::select,
            drop_rows: None,
            is_stopped: AtomicBool::new(false),
        }
    }

    /// Drops elements of operand 0 that were written when the closure panics or stops.
    #[inline]
    pub(super) fn dropping_output_on_panic<T>(mut self) -> ClosureJob<'j, N> {
        if needs_drop::<T>() {
            self.drop_rows = Some(drop_rows::<T>);
        }
        self
    }

    #[inline]
    fn nest(&self) -> LoopNest {
        LoopNest::new(self.shape, N, |operand, dim| self.strides[operand][dim])
    }

    fn touched_bytes(&self, nest: &LoopNest) -> usize {
        nest.touched_bytes(self.items.into_iter())
    }

    /// Whether the work is small even if no operand is stretched. Takes less time than to count what it touches.
    #[inline]
    fn is_small(&self, nest: &LoopNest) -> bool {
        let elements = nest.len();
        let items: usize = self.items.iter().sum();
        !is_parallel(cost(elements.saturating_mul(items), elements, 1))
    }

    /// Runs the closure on several threads where the work is large.
    #[inline]
    pub(super) fn run(&self) {
        let nest = self.nest();
        if self.drop_rows.is_some() {
            return self.run_logged(&|log| self.split(&nest, &|chunk| self.run_chunk(chunk, Some(log))));
        }
        self.split(&nest, &|chunk| self.run_chunk(chunk, None));
    }

    /// Runs the closure on the calling thread, whatever it captures.
    pub(super) fn run_on_caller(&self) {
        self.run_logged(&|log| {
            let log = self.drop_rows.map(|_| log);
            self.nest().tiles().iter().for_each(|nest| self.run_chunk(nest, log));
        });
    }

    #[inline]
    fn split(&self, nest: &LoopNest, work: &(impl Fn(&LoopNest) + Sync)) {
        if self.is_small(nest) {
            return work(nest);
        }
        // A writable array has no element at two indices. Where the caller violates that, the work stays on
        // one thread, so that no two threads write to one element.
        let is_safe = |operand: usize| !self.writes[operand] || nest.is_injective(operand);
        let cost = cost(self.touched_bytes(nest), nest.len(), 1);
        let threads = if is_parallel(cost) && !(0..N).all(is_safe) { Some(1) } else { None };
        for_each_chunk(nest, cost, Team::new(cost, threads), work);
    }

    /// Runs with a log of what has been written, and drops that if the closure panics or stops.
    fn run_logged(&self, run: &dyn Fn(&WriteLog)) {
        let written = WrittenGuard { job: self, log: Mutex::default() };
        run(&written.log);
        if !self.is_stopped.load(Ordering::Relaxed) {
            std::mem::forget(written);
        }
    }

    /// Runs a chunk.
    fn run_chunk(&self, nest: &LoopNest, log: Option<&WriteLog>) {
        let (len, strides) = nest.level(nest.innermost());
        let strides: [isize; N] = std::array::from_fn(|operand| strides[operand]);
        let mut progress = log.map(|log| ChunkProgress { log, nest, blocks: 0 });
        let mut advance = || progress.as_mut().map_or((), |progress| progress.blocks += 1);
        let kernel = (self.select)(len, &strides);
        let is_strided = strides.iter().any(|&stride| stride != 0 && stride != 1);
        nest.for_each_row_block::<N>(|block| {
            if self.is_stopped.load(Ordering::Relaxed) {
                return;
            }
            let RowBlock { rows, row_strides, len, strides, .. } = *block;
            let first = self.addresses(&block.starts);
            if is_strided {
                for operand in (0..N).filter(|&operand| !self.writes[operand]) {
                    let (outer, inner) = ((rows, row_strides[operand]), (len, strides[operand]));
                    prefetch_strided(first[operand], self.items[operand], outer, inner);
                }
            }
            let rows = Rows { first, rows, row_strides, len, strides, is_stopped: Cell::new(false) };
            // Safety: the nest stays within the operands, whose constructor guarantees their elements.
            unsafe { kernel(self.closure, &rows) };
            match rows.is_stopped.get() {
                true => self.is_stopped.store(true, Ordering::Relaxed),
                false => advance(),
            }
        });
    }

    /// Addresses of the elements at these offsets.
    #[inline(always)]
    fn addresses(&self, offsets: &[isize; N]) -> [*mut u8; N] {
        std::array::from_fn(|operand| {
            self.first[operand].wrapping_offset(offsets[operand] * self.items[operand] as isize)
        })
    }

    /// Runs the closure, with non-temporal stores to operand 0 where it is large.
    #[inline]
    pub(super) fn run_streaming<T>(&self) {
        let nest = self.nest();
        if self.is_small(&nest) {
            return self.run_chunk(&nest, None);
        }
        let (len, strides) = nest.level(nest.innermost());
        let fits = |operand: usize| match strides[operand] {
            1 => true,
            0 => operand > 0 && self.has_broadcast_kernels,
            _ => false,
        };
        let touched = self.touched_bytes(&nest);
        let streams =
            can_stream(self.first[0].cast::<T>(), nest.len(), touched, STREAM_CACHE_FRACTION_CLOSURES)
                && len >= MIN_SIMD_LEN
                && (0..N).all(fits)
                && nest.is_injective(0);
        if streams {
            let cost = cost(touched, nest.len(), 1);
            for_each_chunk(&nest, cost, Team::new(cost, None), &|chunk| self.stream_chunk(chunk));
        } else {
            self.split(&nest, &|chunk| self.run_chunk(chunk, None));
        }
    }

    /// Runs a chunk of contiguous operands and broadcast scalars, streaming operand 0.
    fn stream_chunk(&self, nest: &LoopNest) {
        let (len, strides) = nest.level(nest.innermost());
        let strides: [isize; N] = std::array::from_fn(|operand| strides[operand]);
        let kernel = (self.select)(len.max(MIN_SIMD_LEN), &strides);
        let mut staging = Staging::new();
        let mut writer = StreamWriter::new(&mut staging);
        nest.for_each_row_block::<N>(|block| {
            for row in 0..block.rows {
                let starts: [isize; N] =
                    std::array::from_fn(|n| block.starts[n] + row as isize * block.row_strides[n]);
                let first = self.addresses(&starts);
                // Safety: operand 0 is writable, and `can_stream` allowed it.
                unsafe { writer.seek(first[0]) };
                let mut done = 0;
                while done < len {
                    let count = (writer.free() / self.items[0]).min(len - done);
                    let mut at = std::array::from_fn(|operand| match strides[operand] {
                        0 => first[operand],
                        _ => first[operand].wrapping_add(done * self.items[operand]),
                    });
                    self.prefetch_inputs(&at, count, block);
                    at[0] = writer.buffer().wrapping_add(writer.staged());
                    // A closure that writes results does not stop.
                    let is_stopped = Cell::new(false);
                    let rows =
                        Rows { first: at, rows: 1, row_strides: [0; N], len: count, strides, is_stopped };
                    // Safety: the nest stays within the operands, whose constructor guarantees their elements;
                    // the staging buffer has space for `count` elements, which the closure only writes.
                    unsafe {
                        kernel(self.closure, &rows);
                        writer.advance(count * self.items[0]);
                    }
                    done += count;
                }
            }
        });
        // Safety: as for `advance`.
        unsafe { writer.finish() };
    }

    /// Prefetches the contiguous inputs that continue in the next row.
    #[inline]
    fn prefetch_inputs(&self, at: &[*mut u8; N], count: usize, block: &RowBlock<N>) {
        let next = if block.rows == 1 { &block.strides } else { &block.row_strides };
        for operand in 1..N {
            if block.strides[operand] == 1 && next[operand] != 0 {
                let first = at[operand].wrapping_add(PREFETCH_DISTANCE);
                prefetch_range(first, count * self.items[operand]);
            }
        }
    }
}

/// Which row blocks of which chunks have been written.
type WriteLog = Mutex<SmallVec<[(LoopNest, usize); 1]>>;

/// Logs how much of a chunk has been written, when the chunk is done or its closure panics or stops.
struct ChunkProgress<'p> {
    log: &'p WriteLog,
    nest: &'p LoopNest,
    blocks: usize,
}

impl Drop for ChunkProgress<'_> {
    fn drop(&mut self) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.push((self.nest.clone(), self.blocks));
    }
}

/// Drops what has been written to operand 0, when the closure panics or stops.
struct WrittenGuard<'j, const N: usize> {
    job: &'j ClosureJob<'j, N>,
    log: WriteLog,
}

impl<const N: usize> Drop for WrittenGuard<'_, N> {
    fn drop(&mut self) {
        let Some(drop_rows) = self.job.drop_rows else { return };
        let log = std::mem::take(self.log.get_mut().unwrap_or_else(PoisonError::into_inner));
        for (nest, blocks) in log {
            let mut left = blocks;
            nest.for_each_row_block::<N>(|block| {
                if left > 0 {
                    left -= 1;
                    let (sizes, strides) =
                        ([block.rows, block.len], [block.row_strides[0], block.strides[0]]);
                    // Safety: these row blocks have been written completely, each once, and a panic or a stop ends
                    // the job that wrote them. A kernel that did not finish has dropped its own elements.
                    unsafe { drop_rows(self.job.addresses(&block.starts)[0], sizes, strides) };
                }
            });
        }
    }
}
