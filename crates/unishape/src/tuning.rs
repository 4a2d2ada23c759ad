//! Tuning constants of stages: their unit, what was measured, and on which CPU.
//!
//! "EPYC" is a two-core AMD EPYC (Zen 4) with 1 MB of L2 cache per core and 32 MB of L3; elements are float32. Ratios
//! are of the least times of three processes, beside other work. The engine has a file like this for loop nests.

// Unrolled folds and stages of their own (`lower`).

/// A fold of at most this many computed elements is part of the stage that uses it, operation by operation. Then no
/// array of its results is written, and loops run along longer dimensions.
///
/// EPYC, `sum(abs(x[:, None] - y), -1)` of 1000 × 1000 points: 0.2 of the time with 2 to 5 coordinates, 0.35 with 8,
/// 0.4 with 12 and 16, for which programs become long. But `sum((a - b)**2, 1)` of rows, which has a kernel of pairs,
/// takes 2.1 times as long unrolled with 3 elements, and 2.9 times with 8.
pub(crate) const MAX_UNROLLED: usize = 8;

/// Operations of an unrolled fold. A bound on the size of programs, not a tuning figure: folds of other folds multiply,
/// and six nested ones of eight elements would be a program of a quarter of a million operations.
pub(crate) const MAX_UNROLLED_OPERATIONS: usize = 256;

/// A node that several stages use is computed by a stage of its own, if that takes at least as long as this many
/// arithmetic operations.
///
/// EPYC, `exp` in a softmax of 20000 × 512: 0.75 of the time of computing it twice; no difference for 1 to 6 operations
/// of arithmetic. Any value up to 5 does.
pub(crate) const MIN_SHARED_COST: usize = 4;

/// A shared node of this many elements also gets a stage of its own: its scratch memory is reused by the next call
/// ([`MAX_SPARE_BYTES`]) and stays in the cache. Computing fewer elements again takes less time than a stage.
pub(crate) const SMALL_SHARED_ELEMENTS: std::ops::RangeInclusive<usize> = 1 << 11..=1 << 14;

/// How long a function such as `exp` takes, in arithmetic operations. At least [`MIN_SHARED_COST`], so that functions
/// are computed once.
pub(crate) const FUNCTION_COST: usize = 4;

/// A node is computed by a stage of its own where a stage would compute each of its elements this many times.
///
/// Made for a division for each element of a variance of columns. EPYC, since there are fused kernels, which compute it
/// in registers: 1.2 times the time with 5000 × 4800 elements, 1.0 with 200 × 256.
pub(crate) const MIN_HOISTED_REPEATS: usize = 8;

/// Most nodes that have stages of their own for that reason. A bound on the number of stages, not a tuning figure.
pub(crate) const MAX_HOISTED: usize = 16;

// Groups of stages (`group`).

/// Elements of the loops that a group computes at a time, about. Fixed, so that results do not depend on the machine.
///
/// EPYC, softmax of 20000 × 512: 4096 elements 2.4 times the time of 2¹⁸, 2¹⁴ 1.3, 2¹⁶ 1.08, 2²⁰ 1.03. Less memory is
/// needed for fewer; any value from 2¹⁶ to 2²⁰ does.
pub(crate) const GROUP_CHUNK_ELEMENTS: usize = 1 << 16;

/// Longer rows, in elements, are not grouped unless there are [`MANY_ROWS`]: a group of one or two rows would leave
/// most threads of a large machine idle, where stages on whole arrays use all.
///
/// A bound, not a tuning figure. EPYC, with two threads: grouped, a softmax of 8 rows of 10⁶ elements takes 0.62 of the
/// time, and one of 2 rows of 8 · 10⁶ 0.73.
pub(crate) const MAX_ROW_ELEMENTS: usize = 1 << 22;

/// Rows along the last loop are columns of the arrays in memory. Fewer at a time would be a small part of each cache
/// line.
///
/// EPYC, softmax of the columns of 4096 × 4096: 16 columns at a time take 3.8 times the time of 256; 64 and 1024 take
/// the same.
pub(crate) const MIN_COLUMNS: usize = 256;

/// Number of such rows from which on all threads have some. A bound, not a tuning figure: more than most machines have
/// threads.
pub(crate) const MANY_ROWS: usize = 64;

// Stages with several results (`join`, `bind_all`).

/// Largest number of results of a stage. Each takes space in the L1 cache, for its values and accumulators.
///
/// EPYC, twelve folds of rows of 256 elements: at most 2 results take 1.08 times the time of 8, 4 take 0.94, 16 take
/// 0.99. Any value from 4 to 16 does.
pub(crate) const MAX_RESULTS: usize = 8;

/// Stages of several expressions are joined where each of their results is folded from at least this many elements:
/// results are kept until all expressions are computed.
///
/// EPYC, three sums of products, joined relative to one after another: of 10⁶ elements 1.36 with 16 in a row, 1.16 with
/// 32, 0.95 with 128, 0.77 with 65536; of 1.6 · 10⁷ elements, which are in memory, 1.15 with 16, 0.71 with 32, 0.77
/// with 128.
pub(crate) const MIN_JOINED_REDUCTION: usize = 16;

// Element-wise expressions in one pass over memory (`pass`).

/// Largest number of expressions in a pass. The arrays of each take space in the L2 cache.
///
/// EPYC, eight operations on three arrays of 8 · 10⁶ elements: 2 at a time 1.06, 4 0.99 of the time of 8. Any value
/// from 4 to 8 does.
pub(crate) const PASS_MAX_MEMBERS: usize = 8;

/// Largest number of expressions that are computed together because some share stages or rows with others. A bound on
/// memory, and on the recursion that allocates their results in Python.
pub(crate) const JOINT_MAX_EXPRS: usize = 64;

/// Expressions share a pass where their arrays take at least this many bytes, which few last-level caches have: smaller
/// arrays are in a cache when the second expression reads them.
///
/// EPYC, four operations on three arrays: 0.81 to 1.02 of the time with 28 MB, 0.86 to 1.03 with 112 MB, 0.70 with 448
/// MB.
pub(crate) const PASS_MIN_BYTES: usize = 1 << 25;

/// Smaller results, in elements, never share a pass. A bound, not a tuning figure: small calls do not look for
/// partners.
pub(crate) const PASS_MIN_ELEMENTS: usize = 1 << 16;

/// Bytes of a chunk's arrays: half of an L2 cache of 1 MiB.
///
/// EPYC, four operations on three arrays of 1.6 · 10⁷ elements: 64 KiB 1.3 of this time, 128 KiB 1.14, 256 KiB 1.01, 1
/// MiB 0.92, 2 MiB 1.09, 4 MiB 0.94. Any value from 256 KiB on does.
pub(crate) const PASS_CHUNK_BYTES: usize = 1 << 19;

// Copies of strided inputs (`program_arrays`).

/// Strided elements that are read at least this many times are copied to contiguous memory first.
///
/// EPYC, L1 distances to 1000 points of 64 strided coordinates: 0.86 of the time with 2 reads, 0.59 with 4, 0.48 with
/// 8, 0.41 with 16. Copies take memory beyond what users expect, so few reads are not enough.
pub(crate) const MIN_PACKED_READS: usize = 16;

/// Contiguous rows that take more bytes than this are read where they are. A bound on memory, not a tuning figure.
pub(crate) const MAX_PACKED_ROWS_BYTES: usize = 1 << 24;

/// Rows of at least this many contiguous elements are not copied.
///
/// EPYC, L1 distances to 512 rows that are apart, 16 reads: copied, rows of 256 elements take 0.43 of the time, 512
/// 0.57, 1024 0.77, 2048 0.87. So a larger value would be faster, and take more memory.
pub(crate) const MIN_UNPACKED_ROW: usize = 256;

/// Iterations of a reduced loop that is swapped with the one outside of it, by a copy of the array that is read along both.
/// They are folded one after another, so the longest ones bound the error.
///
/// EPYC, squared distances of 2000 × 2000 points: copied, 16 dimensions take 0.18 of the time, 64 0.35, 128 0.55.
pub(crate) const SWAPPED_REDUCED: std::ops::RangeInclusive<usize> = 8..=256;

/// Fewest iterations of the loop outside of it: two tiles of accumulators.
pub(crate) const MIN_SWAPPED_KEPT: usize = 64;

// Memory of small results between stages (`program_arrays`).

/// Number of temporary arrays whose memory a thread keeps. A softmax has three at a time.
pub(crate) const MAX_SPARE_ARRAYS: usize = 4;

/// Memory of larger temporary arrays is not kept, in bytes.
///
/// A bound on memory: a thread keeps at most 512 KiB.
pub(crate) const MAX_SPARE_BYTES: usize = 1 << 17;
