//! The broadcasting rule on a device: without std, without an allocator, without a panic.
//!
//! `add` uses `core` and `unishape-core` only. `std` is linked for `main`, which prints what a device would send.

#![no_std]

extern crate std;

use std::println;
use unishape_core::{Common, Rules, broadcast_strides};

/// Largest rank on the device.
const MAX_RANK: usize = 4;

/// Adds two arrays of up to [`MAX_RANK`] dimensions into a buffer. Returns the shape of the sum.
///
/// The last argument is for the shape and where its sizes come from. `None` where the shapes are incompatible, or the sum has too many dimensions or elements.
fn add<'s>(
    a: (&[i32], &[usize]),
    b: (&[i32], &[usize]),
    sum: &mut [i32],
    [sizes, from]: &'s mut [[usize; MAX_RANK]; 2],
) -> Option<&'s [usize]> {
    let mut common = Common::new(Rules::STANDARD, sizes, from);
    common.push(a.1).ok()?;
    common.push(b.1).ok()?;
    let shape = common.finish().ok()?;
    let count = unishape_core::element_count(shape).ok()?;
    let strides_of = |(_, own): (&[i32], &[usize])| {
        // Row-major strides, stretched to the common shape: 0 where a size is repeated.
        let (mut contiguous, mut stretched, mut stride) = ([0; MAX_RANK], [0; MAX_RANK], 1isize);
        for (dim, &size) in own.iter().enumerate().rev() {
            contiguous[dim] = stride;
            stride = stride.checked_mul(size as isize)?;
        }
        let strides = contiguous.get(..own.len())?;
        broadcast_strides(Rules::STANDARD, own, strides, shape, stretched.get_mut(..shape.len())?).ok()?;
        Some(stretched)
    };
    let (strides_a, strides_b) = (strides_of(a)?, strides_of(b)?);
    for (n, out) in sum.get_mut(..count)?.iter_mut().enumerate() {
        let (mut rest, mut at_a, mut at_b) = (n, 0, 0);
        for (dim, &size) in shape.iter().enumerate().rev() {
            let index = (rest % size) as isize;
            (at_a, at_b, rest) = (at_a + index * strides_a[dim], at_b + index * strides_b[dim], rest / size);
        }
        *out = a.0.get(at_a as usize)?.wrapping_add(*b.0.get(at_b as usize)?);
    }
    Some(shape)
}

fn main() {
    let (column, row) = ([1, 2], [10, 20, 30]);
    let (mut sum, mut buffers) = ([0; 8], [[0; MAX_RANK]; 2]);
    let shape = add((&column, &[2, 1]), (&row, &[3]), &mut sum, &mut buffers);
    println!("{shape:?}: {:?}", &sum[..6]);
    println!("{:?}", add((&column, &[2]), (&row, &[3]), &mut sum, &mut buffers));
    println!("{:?}", add((&column, &[2, 1]), (&row, &[3]), &mut sum[..5], &mut buffers));
}
