//! Calls every function of the core, without std and without an allocator.
//!
//! That it builds shows that the core does not require std. With optimisation, its object file shows that no
//! function can panic: it refers to nothing outside that panics. `inline(never)` keeps small functions in the
//! object file.
#![no_std]

use core::fmt;
use unishape_core::{
    Common, Extent, FastCommon, FoldError, LayoutError, Rules, Size, StretchError, TooLarge, broadcast_dim,
    broadcast_strides, byte_count, check_broadcast_to, element_count, fits_isize, index_map, join_shape,
    padded_dim, source_index, source_offset,
};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// The rule for one dimension.
#[inline(never)]
pub fn dimension(rules: Rules, a: usize, b: usize) -> Option<usize> {
    broadcast_dim(rules, a, b)
}

/// The rule for one dimension whose size may be unknown.
#[inline(never)]
pub fn extent(rules: Rules, a: Extent, b: Extent) -> Option<Extent> {
    Extent::join(rules, a, b)
}

/// A whole fold.
#[inline(never)]
pub fn fold<'b>(
    rules: Rules,
    sizes: &'b mut [usize],
    from: &'b mut [usize],
    shapes: &[&[usize]],
) -> Result<&'b [usize], FoldError> {
    let mut common = Common::new(rules, sizes, from);
    for shape in shapes {
        common.push(shape)?;
    }
    common.finish()
}

/// A fold of sizes that may be unknown, resumed.
#[inline(never)]
pub fn resumed<'b>(
    rules: Rules,
    sizes: &'b mut [Extent],
    from: &'b mut [usize],
    (rank, inputs): (usize, usize),
    shape: &[Extent],
) -> Result<(usize, usize), FoldError<Extent>> {
    let mut common = Common::resume(rules, sizes, from, rank, inputs);
    common.push(shape)?;
    Ok((common.shape().len(), common.from().len().wrapping_add(common.inputs())))
}

/// A whole fold of sizes that may be unknown.
#[inline(never)]
pub fn unknown_fold<'b>(
    rules: Rules,
    sizes: &'b mut [Extent],
    from: &'b mut [usize],
    shapes: &[&[Extent]],
) -> Result<&'b [Extent], FoldError<Extent>> {
    let mut common = Common::new(rules, sizes, from);
    for shape in shapes {
        common.push(shape)?;
    }
    common.finish()
}

/// The same without owners, and its parts.
#[inline(never)]
pub fn unknown_fast_fold(
    rules: Rules,
    sizes: &mut [Extent],
    shapes: &[&[Extent]],
    dim: usize,
) -> Option<Extent> {
    let mut common = FastCommon::new(rules, sizes);
    for shape in shapes {
        common.push(shape);
    }
    let first = shapes.first()?;
    let found = common.finish() && join_shape(rules, sizes, first);
    found.then(|| padded_dim(first, sizes.len(), dim))
}

/// The texts of all errors and of sizes.
#[inline(never)]
pub fn texts(
    out: &mut dyn fmt::Write,
    (known, unknown): (&FoldError, &FoldError<Extent>),
    (stretch, layout, size): (&StretchError, &LayoutError, &Extent),
) -> fmt::Result {
    write!(out, "{known} {unknown} {stretch} {layout} {size} {TooLarge}")
}

/// A whole fold without owners.
#[inline(never)]
pub fn fast_fold(rules: Rules, sizes: &mut [usize], shapes: &[&[usize]]) -> Option<usize> {
    let mut common = FastCommon::new(rules, sizes);
    for shape in shapes {
        common.push(shape);
    }
    let inputs = common.inputs();
    common.finish().then_some(inputs)
}

/// A step of a fold without bookkeeping.
#[inline(never)]
pub fn joined(rules: Rules, sizes: &mut [usize], shape: &[usize]) -> bool {
    join_shape(rules, sizes, shape)
}

/// Step 1.
#[inline(never)]
pub fn padded(shape: &[usize], rank: usize, dim: usize) -> usize {
    padded_dim(shape, rank, dim)
}

/// The check of one shape against another.
#[inline(never)]
pub fn check(rules: Rules, shape: &[usize], target: &[usize]) -> Result<(), StretchError> {
    check_broadcast_to(rules, shape, target)
}

/// The index map of one dimension.
#[inline(never)]
pub fn map(a: usize, b: usize, c: usize) -> usize {
    index_map(a, b, c)
}

/// The index of the source element.
#[inline(never)]
pub fn source(
    shape: &[usize],
    target: &[usize],
    index: &[usize],
    source: &mut [usize],
) -> Result<(), LayoutError> {
    source_index(shape, target, index, source)
}

/// The strides of the broadcast view.
#[inline(never)]
pub fn strides(
    rules: Rules,
    shape: &[usize],
    strides: &[isize],
    target: &[usize],
    stretched: &mut [isize],
) -> Result<(), StretchError> {
    broadcast_strides(rules, shape, strides, target, stretched)
}

/// The offset of the source element.
#[inline(never)]
pub fn offset(target: &[usize], strides: &[isize], index: &[usize]) -> Result<isize, LayoutError> {
    source_offset(target, strides, index)
}

/// Numbers of elements and bytes.
#[inline(never)]
pub fn count(shape: &[usize], element: usize) -> Result<(usize, usize), TooLarge> {
    Ok((element_count(shape)?, byte_count(shape, element)?))
}

/// The size check of views.
#[inline(never)]
pub fn fits(shape: &[usize]) -> bool {
    fits_isize(shape)
}

/// Functions that can panic: the check must detect each of them. The feature is the name of one.
#[cfg(feature = "index")]
#[inline(never)]
pub fn control(shape: &[usize], dim: usize) -> usize {
    shape[dim]
}

#[cfg(feature = "range")]
#[inline(never)]
pub fn control(shape: &[usize], dim: usize) -> &[usize] {
    &shape[dim..]
}

#[cfg(feature = "unwrap")]
#[inline(never)]
pub fn control(shape: &[usize]) -> usize {
    *shape.first().unwrap()
}

#[cfg(feature = "expect")]
#[inline(never)]
pub fn control(shape: &[usize]) -> Result<usize, TooLarge> {
    Ok(element_count(shape).expect("a count"))
}

#[cfg(feature = "copy")]
#[inline(never)]
pub fn control(from: &[usize], to: &mut [usize]) {
    to.copy_from_slice(from);
}
