//! What is done alike whatever the bits mean: combined, or chosen from.

use super::{Kernel, Usual, Width, kernel, part};
use crate::{Ahead, DType, Op};
use bytemuck::Pod;

/// The kernel of a function that combines the bits of integers or booleans, or chooses.
pub(super) fn find(op: Op, dtype: DType) -> Option<Kernel> {
    let is_truth = dtype == DType::Bool;
    Some(match op {
        Op::Where => return choose(dtype.bytes()),
        _ if !is_truth && !dtype.is_integer() => return None,
        Op::Invert | Op::LogicalNot if is_truth => kernel!(|a: u8| -> u8 { a ^ 1 }),
        Op::Invert => kernel!(|a: u8| -> u8 { !a }),
        Op::And => and(dtype.bytes()),
        Op::Or => or(dtype.bytes()),
        Op::Xor => xor(dtype.bytes()),
        Op::Add | Op::LogicalOr | Op::Max if is_truth => or(1),
        Op::Multiply | Op::LogicalAnd | Op::Min if is_truth => and(1),
        Op::LogicalXor | Op::NotEqual if is_truth => xor(1),
        _ => return None,
    })
}

/// A kernel for integers of so many bytes.
macro_rules! by_size {
    ($($name:ident |$a:ident, $b:ident| $body:expr;)+) => {
        $(fn $name(bytes: usize) -> Kernel {
            match bytes {
                1 => kernel!(|$a: u8, $b: u8| -> u8 { $body }),
                2 => kernel!(|$a: u16, $b: u16| -> u16 { $body }),
                4 => kernel!(|$a: u32, $b: u32| -> u32 { $body }),
                _ => kernel!(|$a: u64, $b: u64| -> u64 { $body }),
            }
        })+
    };
}
by_size! {
    and |a, b| a & b;
    or |a, b| a | b;
    xor |a, b| a ^ b;
}

/// One of two elements of so many bytes, by a boolean.
fn choose(bytes: usize) -> Option<Kernel> {
    Some(match bytes {
        1 => choose_of::<u8>,
        2 => choose_of::<u16>,
        4 => choose_of::<u32>,
        // Of numbers with an alignment of 4 too.
        8 => choose_of::<[u32; 2]>,
        16 => choose_of::<[u64; 2]>,
        _ => return None,
    })
}

/// Chosen by bits, so that no branch depends on the elements: those of a comparison are at random.
trait Choose: Pod {
    fn choose(which: u8, a: Self, b: Self) -> Self;
}

macro_rules! choose {
    ($($type:ty),+) => {
        $(impl Choose for $type {
            #[inline(always)]
            fn choose(which: u8, a: $type, b: $type) -> $type {
                let mask = <$type>::from(which != 0).wrapping_neg();
                (a & mask) | (b & !mask)
            }
        })+
    };
}
choose!(u8, u16, u32, u64);

impl<T: Choose> Choose for [T; 2] {
    #[inline(always)]
    fn choose(which: u8, a: [T; 2], b: [T; 2]) -> [T; 2] {
        [T::choose(which, a[0], b[0]), T::choose(which, a[1], b[1])]
    }
}

fn choose_of<T: Choose>(from: &[&[u8]], to: &mut [u8], ahead: &mut Ahead) {
    let &[which, a, b] = from else {
        return;
    };
    let (a, b) = (bytemuck::cast_slice::<u8, T>(a), bytemuck::cast_slice::<u8, T>(b));
    let to = bytemuck::cast_slice_mut::<u8, T>(to);
    Usual::in_parts(
        ahead,
        to.len(),
        #[inline(always)]
        |first, end| {
            let to = &mut to[first..end];
            match (part(which, first, end), part(a, first, end), part(b, first, end)) {
                (which, &[a], &[b]) => {
                    for (to, &which) in to.iter_mut().zip(which) {
                        *to = T::choose(which, a, b);
                    }
                }
                (&[which], a, b) => match if which != 0 { a } else { b } {
                    &[only] => to.fill(only),
                    chosen => to.copy_from_slice(chosen),
                },
                (which, &[a], b) => {
                    for ((to, &which), &b) in to.iter_mut().zip(which).zip(b) {
                        *to = T::choose(which, a, b);
                    }
                }
                (which, a, &[b]) => {
                    for ((to, &which), &a) in to.iter_mut().zip(which).zip(a) {
                        *to = T::choose(which, a, b);
                    }
                }
                (which, a, b) => {
                    for (((to, &which), &a), &b) in to.iter_mut().zip(which).zip(a).zip(b) {
                        *to = T::choose(which, a, b);
                    }
                }
            }
        },
    );
}
