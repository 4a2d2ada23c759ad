//! Tuning constants of the engine: their units, and what was measured or why they have their values.
//!
//! Constants with the name of a CPU were measured there; "performance.md" is the section of docs/performance.md that has
//! the figures. All others follow from the reason that is given. "Not measured apart" marks values for which there is no
//! more than a bound: another value of the same magnitude may be as good.
//!
//! | name | CPU |
//! |---|---|
//! | Xeon | Intel Xeon (Emerald Rapids), two cores, 2 MB of L2 cache per core, 260 MB of L3 |
//! | EPYC | AMD EPYC (Zen 4), two cores, 1 MB of L2 cache per core, 32 MB of L3 |
//! | Zen 5 | AMD EPYC (Zen 5), two cores, 1 MB of L2 cache per core, 32 MB of L3 |

#[cfg(feature = "parallel")]
use std::time::Duration;

// Loop nests.

/// Rows and columns of a tile, in elements.
///
/// The operand that is contiguous along the innermost loop reads runs of 256 elements; of the other operand,
/// 64 cache lines fit the L1 cache, and what follows on each of them stays in L2. Xeon: transposed operands
/// took 0.6 of the time of 32 × 32 tiles.
pub(crate) const TILE: [usize; 2] = [64, 256];

/// Loops of at most this many iterations are not tiled: their cache lines fit the L1 cache anyway.
pub(crate) const MIN_TILED_SIZE: usize = 32;

// Work splitting.

/// Smallest amount of work that several workers share.
///
/// It is counted in bytes of memory that the work touches.
///
/// A parked worker wakes up in 5 to 40 µs; the caller does not wait for it. Xeon: `a + b` of 750 KB from Python took
/// 10.4 µs where 1 MiB was the limit, and 9.2 µs with this one, in two runs.
pub const PARALLEL_MIN_BYTES: usize = 1 << 19;

/// Bytes that take as long to move as one arithmetic operation on an element. Xeon; the figures were not kept.
pub(crate) const BYTES_PER_STEP: usize = 2;

/// Smallest and largest chunk, in bytes of memory that it touches; work is halved, so that a chunk may have
/// almost twice as many.
///
/// Larger chunks: workers wait longer for the last one. Smaller: more time between chunks. Zen 5, 3.6 MB: chunks
/// of 225 KB took 18.7 µs, two halves 17.0.
#[cfg(feature = "parallel")]
pub(crate) const CHUNK_BYTES: std::ops::RangeInclusive<usize> = 1 << 19..=1 << 21;

/// Smallest chunk of work that has less than one chunk of [`CHUNK_BYTES`] for each thread.
///
/// Half of [`PARALLEL_MIN_BYTES`]: the smallest work that is shared has two chunks.
#[cfg(feature = "parallel")]
pub(crate) const MIN_CHUNK_BYTES: usize = 1 << 18;

/// Largest chunk of work on one thread, in bytes of memory that it touches. It ends within milliseconds, so that a call
/// can be stopped.
pub(crate) const SERIAL_CHUNK_BYTES: usize = 1 << 22;

/// Chunks per worker, within [`CHUNK_BYTES`]: enough for stealing to balance the load. Not measured apart.
#[cfg(feature = "parallel")]
pub(crate) const CHUNKS_PER_WORKER: usize = 8;

/// Chunks end at multiples of this many elements, so that workers seldom write to one cache line.
///
/// Elements of one byte fill a line of 64 bytes.
pub(crate) const CHUNK_GRANULARITY: usize = 64;

/// How long a thread that waits for work, or for other threads, spins before it parks. A wake-up takes 5 to 70 µs
/// (Xeon; performance.md, "Threads and wake-ups").
#[cfg(feature = "parallel")]
pub(crate) const SPIN: Duration = Duration::from_micros(50);

/// Polls of a spinning thread before it yields to others. About 1 µs, a small part of [`SPIN`]. Not measured apart.
#[cfg(feature = "parallel")]
pub(crate) const POLLS_PER_YIELD: usize = 32;

/// Calls that go without another worker after the system has refused to start one.
///
/// A refused start is a system call: it is tried again in one of this many calls. Not measured apart.
#[cfg(feature = "parallel")]
pub(crate) const CALLS_BETWEEN_STARTS: usize = 1000;

/// Largest number of threads, whatever is requested: bounds their stacks. Not measured: no machine had as many cores.
#[cfg(feature = "parallel")]
pub(crate) const MAX_THREADS: usize = 256;

// Memory.

/// Size of a huge page on x86-64, in bytes.
#[cfg(all(target_os = "linux", feature = "closures"))]
pub(crate) const HUGE_PAGE: usize = 1 << 21;

/// Fewer whole huge pages than this are not worth the system call that requests them.
#[cfg(all(target_os = "linux", feature = "closures"))]
pub(crate) const MIN_HUGE_PAGES: usize = 2;

/// Allocations of at least this many bytes take fresh pages. glibc: the largest `M_MMAP_THRESHOLD`; smaller
/// memory may be reused.
#[cfg(feature = "fused")]
pub(crate) const FRESH_PAGES_MIN_BYTES: usize = 1 << 25;

/// L2 cache of a CPU that does not report its size, in bytes: that of the EPYC.
pub(crate) const DEFAULT_L2_CACHE: usize = 1 << 20;

/// Last-level cache of a CPU that does not report its size, in bytes: half of that of the EPYC.
pub(crate) const DEFAULT_LAST_LEVEL_CACHE: usize = 1 << 24;

/// An expression that touches more than this part of the last-level cache streams its output: the cache is shared with
/// other cores, and often with other virtual machines.
///
/// Xeon with 260 MB, relative to regular stores: 70 to 105 MB touched 0.96 to 1.26, 104 to 156 MB 1.00 to 1.18, from
/// 200 MB on 0.46 to 1.01.
#[cfg(feature = "fused")]
pub(crate) const STREAM_CACHE_FRACTION_FUSED: usize = 2;

/// As [`STREAM_CACHE_FRACTION_FUSED`], for compiled closures: they compute while earlier results are still being
/// written, where an expression computes a block first.
///
/// Xeon with 260 MB, relative to regular stores: 70 to 105 MB touched 0.84 to 0.98, 104 to 156 MB 0.78 to 0.95.
pub(crate) const STREAM_CACHE_FRACTION_CLOSURES: usize = 4;

/// On CPUs of other makers than Intel, calls that touch more than this many last-level caches stream their output.
///
/// EPYC with 32 MB, time of streaming relative to regular stores, three operators: 48 MB touched 1.1 to 1.8, 94 MB 1.2
/// to 1.5, 192 MB 0.74 to 0.97, 432 MB 0.86.
pub(crate) const STREAM_CACHES_OF_OTHERS: usize = 4;

/// Outputs of at least this many bytes are written with non-temporal stores.
///
/// Smaller ones are likely to be read again while they are still in the last-level cache. Xeon; performance.md,
/// "Streaming stores".
pub(crate) const STREAM_MIN_BYTES: usize = 1 << 25;

/// Part of a block's elements that is computed at a time where it is streamed, as numerator and denominator: inputs of
/// the next block are in the L1 cache as well. Not measured apart.
#[cfg(feature = "fused")]
pub(crate) const STREAMED_BLOCK: [usize; 2] = [3, 4];

/// Smallest block that is streamed, in bytes: smaller ones would be flushed too often. Xeon; the
/// figures were not kept.
#[cfg(feature = "fused")]
pub(crate) const MIN_STREAMED_BLOCK: usize = 2 * STAGING_BYTES;

/// Bytes that are write-combined before they are streamed to memory.
///
/// Larger: memory idles while they are computed. Smaller: the overhead per call shows. Xeon: 512 bytes to 1 KiB reach the
/// speed of a copy, 2 KiB 90 % of it.
pub(crate) const STAGING_BYTES: usize = 1024;

/// How far ahead inputs are prefetched while an output is streamed, in bytes. Xeon: with it, loops with a staging buffer
/// reach the speed of a copy (performance.md, "Streaming stores").
pub(crate) const PREFETCH_DISTANCE: usize = 4096;

/// Fewer strided elements than this are not prefetched: they are likely to be in the cache. Not
/// measured apart.
pub(crate) const MIN_PREFETCHED_ELEMENTS: usize = 1 << 12;

/// Strided elements that take more bytes than this would not stay in the L2 cache: a quarter of that of the EPYC.
pub(crate) const MAX_PREFETCHED_BYTES: usize = 1 << 18;

// Closures.

/// Rows shorter than this gain nothing from SIMD, in elements: two vectors of 4-byte elements with AVX2.
///
/// Xeon: without SIMD, small arrays take 0.79 of the time (performance.md, "SIMD width").
pub(crate) const MIN_SIMD_LEN: usize = 16;

/// Rows of at most this many elements have a kernel for every combination of contiguous operands and broadcast
/// scalars, of up to two inputs. Xeon: rank 8 took 0.75 of the time.
pub(crate) const MAX_SHORT_LEN: usize = 8;

// Fused block programs.

/// Bytes of the L1 cache that scratch blocks, inputs and the output of a block take together. L1 has 32 KB
/// (EPYC) or 48 KB (Xeon); 40 KB was slower on both.
#[cfg(feature = "fused")]
pub(crate) const L1_BUDGET: usize = 24 << 10;

/// Smallest and largest block, in elements.
///
/// Largest: 1-byte elements fill [`MIN_STREAMED_BLOCK`] and more, which takes 0.75 of the time (Xeon; performance.md,
/// "Block sizes"). Smallest: the overhead of a block is [`STEP_OVERHEAD`], as many elements.
#[cfg(feature = "fused")]
pub(crate) const BLOCK_ELEMENTS: std::ops::RangeInclusive<usize> = 128..=8192;

/// Most kernels of a program that runs without a schedule: each allocates its result. Not measured apart.
#[cfg(feature = "fused")]
pub(crate) const MAX_FEW_KERNELS: usize = 16;

/// Rows of at least this many elements are processed one by one where that saves gathering them.
///
/// A row must take longer than starting a block ([`STEP_OVERHEAD`]). Xeon: rows of 512 and 1024 elements with columns
/// take 0.5 to 0.85 of the time (performance.md, "Block sizes"); shorter ones were not measured apart.
#[cfg(feature = "fused")]
pub(crate) const MIN_ROW_LEN: usize = 160;

/// Rows of at least this many elements are folded with kernels of pairs, which have 16 lanes for short rows. Not
/// measured apart.
#[cfg(feature = "fused")]
pub(crate) const MIN_PAIR_ROW_LEN: usize = 16;

/// Cost of starting a block, and of each of its steps, in elements copied one by one. Not measured apart; a block costs
/// some 30 ns (performance.md, "Block sizes").
#[cfg(feature = "fused")]
pub(crate) const STEP_OVERHEAD: usize = 128;

/// Blocks that are a part of a row have a multiple of this many elements: of 512-bit SIMD with 4-byte elements.
#[cfg(feature = "fused")]
pub(crate) const BLOCK_MULTIPLE: usize = 16;

/// The largest block has a multiple of this many elements: whole cache lines of any element.
#[cfg(feature = "fused")]
pub(crate) const MAX_BLOCK_MULTIPLE: usize = 64;

/// Values that stay the same from block to block and are kept, at most. Bounds the scratch memory; not measured apart.
#[cfg(feature = "fused")]
pub(crate) const MAX_HOISTED: usize = 64;

/// Elements computed between two rounds of prefetching. 512 and more held up the loads behind them. Xeon;
/// performance.md, "Prefetching".
#[cfg(feature = "fused")]
pub(crate) const PREFETCH_CHUNK: usize = 128;

/// How far ahead a single step prefetches its inputs and its output, in bytes. Xeon: 0.82 of the time.
#[cfg(feature = "fused")]
pub(crate) const NEAR_PREFETCH_DISTANCE: usize = 1 << 11;

/// Expressions with at least this many steps are compute-bound; they use 512-bit SIMD. Xeon: 12 operators
/// take 0.86 of the time, six 0.9.
#[cfg(feature = "fused")]
pub(crate) const COMPUTE_BOUND_STEPS: usize = 4;

/// Inputs that are prefetched for the next block, at most: with the output, the queue has eight streams.
#[cfg(feature = "fused")]
pub(crate) const MAX_PREFETCHED_INPUTS: usize = 7;

// Reductions.

/// Elements that are accumulated without splitting: [`ACCUMULATORS`] chains of 256 each, so that rounding errors stay
/// small. Not measured apart.
pub(crate) const SERIAL_SUM: usize = 1 << 14;

/// As [`SERIAL_SUM`], for accumulators of which a row has only one: a chain of as many elements.
pub(crate) const SERIAL_SUM_IN_SEQUENCE: usize = 1 << 8;

/// Elements that are folded into one accumulator one after another, where the innermost loop is kept: as in
/// [`SERIAL_SUM_IN_SEQUENCE`].
#[cfg(feature = "fused")]
pub(crate) const FOLD_ROWS: usize = 256;

/// Blocks that are folded into one accumulator one after another, where the innermost loop is reduced: kernels fold
/// each with independent accumulators. To halve loops further costs a microsecond for each half, more than a block of
/// 8192 elements. EPYC.
#[cfg(feature = "fused")]
pub(crate) const FOLD_BLOCKS: usize = 8;

/// Accumulators that are folded at a time where loops are halved, where the innermost loop is kept and where it is
/// reduced: those of a row stay in the L1 cache. Not measured apart.
#[cfg(feature = "fused")]
pub(crate) const FOLD_KEPT: [usize; 2] = [1 << 12, 64];

/// Elements of rows that are folded with one scalar after another: with 4 bytes each, half of the L2 cache of an EPYC.
#[cfg(feature = "fused")]
pub(crate) const REREAD_BLOCK: usize = 1 << 17;

/// Most of these rows that are folded at a time: each is on a page of its own, of which the TLB of the L1 cache has 64 or
/// more.
///
/// EPYC: 2000 × 2000 distances in 128 dimensions take 0.76 of the time that they take without this limit.
#[cfg(feature = "fused")]
pub(crate) const MAX_REREAD_ROWS: usize = 64;

/// Such rows are not made shorter than this many elements, and are multiples of it: whole cache lines of any element.
#[cfg(feature = "fused")]
pub(crate) const MIN_REREAD_ROW: usize = 64;

/// An innermost loop with accumulators of its own is cut only where it has more iterations than this: shorter rows stay
/// whole for the kernels, and their accumulators in the L1 cache. Not measured apart.
#[cfg(feature = "fused")]
pub(crate) const FOLD_ROW_SPLIT: usize = 1 << 12;

/// Largest number of tasks of a reduction. Fixed, so that the result does not depend on the workers. As
/// [`MAX_SUM_TASKS`]; not measured apart.
#[cfg(feature = "fused")]
pub(crate) const FOLD_MAX_TASKS: usize = 64;

/// Largest number of partial sums, beside the result, of up to [`MAX_LANE_BYTES`] each: at most 512 KiB, half of the L2
/// cache of the EPYC. Not measured apart.
pub(crate) const MAX_PARTIAL_SUMS: usize = 1 << 14;

/// Elements per partial sum from which on a second set of partial sums pays off: to initialize and to add one is then
/// less than a hundredth of the work. Not measured apart.
pub(crate) const ELEMENTS_PER_PARTIAL_SUM: usize = 256;

/// As [`ELEMENTS_PER_PARTIAL_SUM`], where the halves can run in parallel: they save half of the time, so that more
/// overhead is acceptable. Not measured apart.
pub(crate) const ELEMENTS_PER_PARALLEL_PARTIAL_SUM: usize = 16;

/// A parallel sum is halved until tasks have at most this part of its elements.
///
/// Fixed, so that the result does not depend on the workers; enough for some tasks on each of 16 threads. Not measured
/// apart.
pub(crate) const MAX_SUM_TASKS: usize = 64;

/// Loops of more iterations than the first number are halved at a multiple of the second, so that halves begin at
/// cache lines.
pub(crate) const SUM_GRANULARITY: [usize; 2] = [128, 64];

/// Independent accumulators of one sum, which hide the latency of additions: eight vectors of 4-byte elements with AVX2.
/// Not measured apart.
pub(crate) const ACCUMULATORS: usize = 64;

/// Rows of at least this many elements are folded into [`SHORT_ROW_ACCUMULATORS`], and those of twice
/// [`ACCUMULATORS`] into that many.
pub(crate) const MIN_LANES_LEN: usize = 2 * SHORT_ROW_ACCUMULATORS;

/// Independent accumulators of a short row.
///
/// As in the folds of `unishape-kernels`, whose rows of 64 elements take 0.13 ns an element, with twice as many lanes 0.22
/// (EPYC; performance.md, "Reductions").
pub(crate) const SHORT_ROW_ACCUMULATORS: usize = 16;

/// Larger accumulators, in bytes, have no lanes: [`ACCUMULATORS`] of them would take more than 2 KiB of the stack.
pub(crate) const MAX_LANE_BYTES: usize = 32;

// Fused kernels.

/// Loop nests with fewer elements are computed step by step: finding out which steps can be fused takes longer.
/// Not measured apart.
pub(crate) const MIN_FUSED_ELEMENTS: usize = 256;

/// Work after which the kernels of a program are compiled, in elements times steps.
///
/// Compiling takes about as long as that much work step by step: at 0.06 ns, 16 µs. Not measured apart.
pub(crate) const FUSE_AFTER: usize = 1 << 18;

/// Largest number of steps that one kernel computes; their code fits the L1 instruction cache. Not measured
/// apart.
pub(crate) const MAX_FUSED_STEPS: usize = 64;

/// Elements of a block where one fused kernel computes the whole program: enough to amortize the call.
///
/// EPYC, `(x - m) / s * g + b` of 1000 × 1000 float32: blocks for the L1 cache spend 20 % of the time between
/// calls of the kernel.
pub(crate) const ONE_KERNEL_BLOCK: usize = 1 << 16;

/// Most bytes of other values, such as one for each row, where blocks are as large as that: they stay in the L1 cache.
pub(crate) const ONE_KERNEL_SCRATCH: usize = 1 << 13;

/// Rows of at least this many elements are taken by one fused kernel as they are; shorter ones are repeated first.
/// A vector of 512 bits has as many of 4 bytes. Not measured apart.
pub(crate) const ONE_KERNEL_MIN_ROW_LEN: usize = 16;

/// Most kernels that a program keeps: each takes a page or more. Layouts vary little, so few programs have as many.
/// Not measured: a bound of memory.
pub(crate) const MAX_FUSED_KERNELS: usize = 64;
