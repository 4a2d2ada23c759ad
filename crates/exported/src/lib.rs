//! Functions of the core with names and arguments of C, for `cargo xtask equivalence`.
//!
//! The task compiles this crate with the core, as for a release, and compares the machine code with that of the proven
//! programs, which Why3 extracts to C. `c/` has the same functions, which call the C.
//!
//! Every function takes words and writes words. [`Words`] has the places: numbers first, then arrays of up to
//! [`LENGTH`] entries. A function writes all words of its results, and leaves the others as they are.
//!
//! Nothing in Rust calls these functions, and no published crate depends on this one.
// The attribute that keeps a name counts as unsafe, since names of functions must not clash; there is no other use.
#![allow(unsafe_code, unreachable_pub)]

use unishape_core::{
    Common, Extent, FastCommon, FoldError, LayoutError, Rules, Size, StretchError, TooLarge, broadcast_dim,
    broadcast_strides, byte_count, check_broadcast_to, element_count, fits_isize, index_map, join_shape,
    padded_dim, source_index, source_offset,
};

/// The arguments or the results of a function.
pub type Words = [usize; 64];

/// The largest length of an array.
pub const LENGTH: usize = 4;

/// The first words of arrays.
const A: usize = 16;
const B: usize = 24;
const C: usize = 32;
const D: usize = 40;
const E: usize = 48;

/// A rule set: word 0 of the arguments.
#[inline(always)]
fn rules(words: &Words) -> Rules {
    match words[0] {
        0 => Rules::STANDARD,
        1 => Rules::SONNX,
        2 => Rules::STANDARD.strict_rank(),
        _ => Rules::SONNX.strict_rank(),
    }
}

/// The array of this length at a place.
#[inline(always)]
fn array(words: &Words, at: usize, length: usize) -> &[usize] {
    words.get(at..at.saturating_add(length)).unwrap_or_default()
}

/// All words of an array.
#[inline(always)]
fn all(words: &Words, at: usize) -> [usize; LENGTH] {
    [words[at], words[at + 1], words[at + 2], words[at + 3]]
}

#[inline(always)]
fn write(words: &mut Words, at: usize, values: [usize; LENGTH]) {
    for (word, value) in words.iter_mut().skip(at).zip(values) {
        *word = value;
    }
}

#[inline(always)]
fn signed(array: [usize; LENGTH]) -> [isize; LENGTH] {
    array.map(usize::cast_signed)
}

/// An extent of two words: 0 for a known size, 1 for any, 2 for any but 0; and the size.
#[inline(always)]
fn extent(kind: usize, size: usize) -> Extent {
    match kind {
        0 => Extent::Known(size),
        1 => Extent::Unknown,
        _ => Extent::Positive,
    }
}

/// The words of an extent.
#[inline(always)]
fn extent_words(extent: Extent) -> [usize; 2] {
    match extent {
        Extent::Known(size) => [0, size],
        Extent::Unknown => [1, 0],
        Extent::Positive => [2, 0],
    }
}

/// What a rule set says, about the size in word 1.
#[unsafe(no_mangle)]
pub extern "C" fn rust_rules(arguments: &Words, results: &mut Words) {
    let rules = rules(arguments);
    results[0] = rules.stretches_to(arguments[1]).into();
    results[1] = rules.is_strict_rank().into();
    results[2] = rules.min_inputs();
    results[3] = rules.max_inputs();
}

/// `broadcast_dim` of words 1 and 2.
#[unsafe(no_mangle)]
pub extern "C" fn rust_broadcast_dim(arguments: &Words, results: &mut Words) {
    let size = broadcast_dim(rules(arguments), arguments[1], arguments[2]);
    results[0] = size.is_some().into();
    results[1] = size.unwrap_or_default();
}

/// `Extent::join` of words 1 and 2 with words 3 and 4.
#[unsafe(no_mangle)]
pub extern "C" fn rust_join_extents(arguments: &Words, results: &mut Words) {
    let a = extent(arguments[1], arguments[2]);
    let b = extent(arguments[3], arguments[4]);
    let joined = Extent::join(rules(arguments), a, b);
    results[0] = joined.is_some().into();
    let [kind, size] = joined.map_or([0, 0], extent_words);
    results[1] = kind;
    results[2] = size;
}

/// `padded_dim` of the shape A.
///
/// Its rank is word 1; the rank and the dimension that it is padded for are words 2 and 3.
#[unsafe(no_mangle)]
pub extern "C" fn rust_padded_dim(arguments: &Words, results: &mut Words) {
    results[0] = padded_dim(array(arguments, A, arguments[1]), arguments[2], arguments[3]);
}

/// `join_shape` of the sizes A and the shape B; words 1 and 2 are the ranks.
#[unsafe(no_mangle)]
pub extern "C" fn rust_join_shape(arguments: &Words, results: &mut Words) {
    let mut sizes = all(arguments, A);
    let rank = arguments[1].min(LENGTH);
    let own = sizes.get_mut(..rank).unwrap_or_default();
    results[0] = join_shape(rules(arguments), own, array(arguments, B, arguments[2])).into();
    write(results, A, sizes);
}

/// `Common::new` in the buffers A and B, with lengths in words 1 and 2.
#[unsafe(no_mangle)]
pub extern "C" fn rust_new(arguments: &Words, results: &mut Words) {
    let (mut sizes, mut from) = (all(arguments, A), all(arguments, B));
    let (rank, inputs) = {
        let own = sizes.get_mut(..arguments[1]).unwrap_or_default();
        let owners = from.get_mut(..arguments[2]).unwrap_or_default();
        let common = Common::new(rules(arguments), own, owners);
        (common.shape().len(), common.inputs())
    };
    results[0] = rank;
    results[1] = inputs;
    write(results, A, sizes);
    write(results, B, from);
}

/// The number of an error of a fold, and its fields; sizes are written separately.
#[inline(always)]
fn fold_error<S: Size>(error: FoldError<S>) -> ([usize; 5], [S; 2]) {
    let none = [S::ONE, S::ONE];
    match error {
        FoldError::Mismatch(e1) => ([1, e1.dim, e1.rank, e1.inputs[0], e1.inputs[1]], e1.sizes),
        FoldError::UnequalRank { first, input, rank } => ([2, first, rank, input, 0], none),
        FoldError::TooFewInputs { least } => ([3, 0, 0, least, 0], none),
        FoldError::TooManyInputs { limit } => ([4, 0, 0, limit, 0], none),
        FoldError::BufferTooSmall { rank, capacity } => ([5, rank, capacity, 0, 0], none),
        _ => ([6, 0, 0, 0, 0], none),
    }
}

/// A fold that is resumed, takes one more shape and ends. Returns the sizes of the error.
#[inline(always)]
fn push<S: Size>(
    arguments: &Words,
    results: &mut Words,
    sizes: &mut [S; LENGTH],
    from: &mut [usize; LENGTH],
    shape: [S; LENGTH],
) -> [S; 2] {
    let own = sizes.get_mut(..arguments[1]).unwrap_or_default();
    let owners = from.get_mut(..arguments[2]).unwrap_or_default();
    let mut common = Common::resume(rules(arguments), own, owners, arguments[3], arguments[4]);
    let shape = shape.get(..arguments[5]).unwrap_or_default();
    let (numbers, error_sizes) = match common.push(shape) {
        Ok(()) => ([0; 5], [S::ONE, S::ONE]),
        Err(error) => fold_error(error),
    };
    let [kind, x, y, p, q] = numbers;
    (results[0], results[1], results[2], results[3], results[4]) = (kind, x, y, p, q);
    (results[5], results[6], results[7]) = (common.shape().len(), common.from().len(), common.inputs());
    results[8] = match common.finish() {
        Ok(_) => 0,
        Err(FoldError::TooFewInputs { least }) => least,
        Err(_) => 99,
    };
    error_sizes
}

/// `Common::resume` in the buffers A and B; `push` of the shape C; `finish`.
///
/// Words 1 and 2 are the lengths of the buffers, 3 the rank, 4 the number of inputs, and 5 the rank of C.
#[unsafe(no_mangle)]
pub extern "C" fn rust_push(arguments: &Words, results: &mut Words) {
    let (mut sizes, mut from) = (all(arguments, A), all(arguments, B));
    let [ours, theirs] = push(arguments, results, &mut sizes, &mut from, all(arguments, C));
    results[9] = ours;
    results[10] = theirs;
    write(results, A, sizes);
    write(results, B, from);
}

/// As `rust_push`, for extents: D and E are the kinds of A and C.
#[unsafe(no_mangle)]
pub extern "C" fn rust_push_extents(arguments: &Words, results: &mut Words) {
    let extents = |kinds, sizes| {
        let (kinds, sizes): ([usize; LENGTH], [usize; LENGTH]) =
            (all(arguments, kinds), all(arguments, sizes));
        [0, 1, 2, 3].map(|at: usize| extent(kinds[at], sizes[at]))
    };
    let (mut sizes, mut from) = (extents(D, A), all(arguments, B));
    let error = push(arguments, results, &mut sizes, &mut from, extents(E, C));
    let [[ours_kind, ours], [theirs_kind, theirs]] = error.map(extent_words);
    (results[9], results[10], results[11], results[12]) = (ours, theirs, ours_kind, theirs_kind);
    let words = sizes.map(extent_words);
    write(results, D, words.map(|[kind, _]| kind));
    write(results, A, words.map(|[_, size]| size));
    write(results, B, from);
}

/// `FastCommon` in the buffer D, for some of the shapes A, B and C.
///
/// Word 1 is the length of the buffer, word 2 the number of shapes, and words 3 to 5 are their ranks.
#[unsafe(no_mangle)]
pub extern "C" fn rust_fast(arguments: &Words, results: &mut Words) {
    let mut sizes = all(arguments, D);
    let mut common = FastCommon::new(rules(arguments), sizes.get_mut(..arguments[1]).unwrap_or_default());
    for (shape, at) in [A, B, C].into_iter().enumerate() {
        if shape < arguments[2] {
            common.push(array(arguments, at, arguments[3 + shape]));
        }
    }
    results[1] = common.inputs();
    results[0] = common.finish().into();
    write(results, D, sizes);
}

#[inline(always)]
fn write_stretch(result: Result<(), StretchError>, results: &mut Words) {
    let words = match result {
        Ok(()) => [0; 6],
        Err(StretchError::Rank { rank, target }) => [1, rank, target, 0, 0, 0],
        Err(StretchError::Length) => [2, 0, 0, 0, 0, 0],
        Err(StretchError::Size { dim, size, target }) => [3, 0, 0, dim, size, target],
    };
    for (result, word) in results.iter_mut().zip(words) {
        *result = word;
    }
}

/// `check_broadcast_to` of the shape A and the target B.
///
/// Words 1 and 2 are their ranks.
#[unsafe(no_mangle)]
pub extern "C" fn rust_check_broadcast_to(arguments: &Words, results: &mut Words) {
    let (shape, target) = (array(arguments, A, arguments[1]), array(arguments, B, arguments[2]));
    write_stretch(check_broadcast_to(rules(arguments), shape, target), results);
}

/// `broadcast_strides` of the shape A, the strides B and the target C into D.
///
/// Words 1 to 4 are their lengths.
#[unsafe(no_mangle)]
pub extern "C" fn rust_broadcast_strides(arguments: &Words, results: &mut Words) {
    let strides = signed(all(arguments, B));
    let mut stretched = signed(all(arguments, D));
    let result = broadcast_strides(
        rules(arguments),
        array(arguments, A, arguments[1]),
        strides.get(..arguments[2]).unwrap_or_default(),
        array(arguments, C, arguments[3]),
        stretched.get_mut(..arguments[4]).unwrap_or_default(),
    );
    write_stretch(result, results);
    write(results, D, stretched.map(isize::cast_unsigned));
}

#[inline(always)]
fn write_count(count: Result<usize, TooLarge>, results: &mut Words) {
    results[0] = count.is_ok().into();
    results[1] = count.unwrap_or_default();
}

/// `element_count` of the shape A, whose rank is word 1.
#[unsafe(no_mangle)]
pub extern "C" fn rust_element_count(arguments: &Words, results: &mut Words) {
    write_count(element_count(array(arguments, A, arguments[1])), results);
}

/// `byte_count` of the shape A.
///
/// Word 1 is its rank, and word 2 the size of an element.
#[unsafe(no_mangle)]
pub extern "C" fn rust_byte_count(arguments: &Words, results: &mut Words) {
    write_count(byte_count(array(arguments, A, arguments[1]), arguments[2]), results);
}

/// `fits_isize` of the shape A, whose rank is word 1.
#[unsafe(no_mangle)]
pub extern "C" fn rust_fits_isize(arguments: &Words, results: &mut Words) {
    results[0] = fits_isize(array(arguments, A, arguments[1])).into();
}

/// `index_map` of words 1 to 3.
#[unsafe(no_mangle)]
pub extern "C" fn rust_index_map(arguments: &Words, results: &mut Words) {
    results[0] = index_map(arguments[1], arguments[2], arguments[3]);
}

#[inline(always)]
fn write_layout(result: Result<isize, LayoutError>, results: &mut Words) {
    let words = match result {
        Ok(offset) => [0, 0, 0, 0, offset.cast_unsigned()],
        Err(LayoutError::Length) => [1, 0, 0, 0, 0],
        Err(LayoutError::Index { dim, index, size }) => [2, dim, index, size, 0],
        Err(LayoutError::Overflow) => [3, 0, 0, 0, 0],
    };
    for (result, word) in results.iter_mut().zip(words) {
        *result = word;
    }
}

/// `source_index` of the shape A, the target B and the index C into D.
///
/// Words 1 to 4 are their lengths.
#[unsafe(no_mangle)]
pub extern "C" fn rust_source_index(arguments: &Words, results: &mut Words) {
    let mut source = all(arguments, D);
    let result = source_index(
        array(arguments, A, arguments[1]),
        array(arguments, B, arguments[2]),
        array(arguments, C, arguments[3]),
        source.get_mut(..arguments[4]).unwrap_or_default(),
    );
    write_layout(result.map(|()| 0), results);
    write(results, D, source);
}

/// `source_offset` of the target A, the strides B and the index C.
///
/// Words 1 to 3 are their lengths.
#[unsafe(no_mangle)]
pub extern "C" fn rust_source_offset(arguments: &Words, results: &mut Words) {
    let strides = signed(all(arguments, B));
    let result = source_offset(
        array(arguments, A, arguments[1]),
        strides.get(..arguments[2]).unwrap_or_default(),
        array(arguments, C, arguments[3]),
    );
    write_layout(result, results);
}
