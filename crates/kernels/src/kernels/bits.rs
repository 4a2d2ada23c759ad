//! Operations that depend on the item size only: bitwise operations and `where`.

use super::elementwise::{Adaptive, Kernel, KernelContext, SimdWidth, chunk, kernel};
use crate::{DType, Op};
use bytemuck::Pod;

/// The kernel of a bitwise or logical operation of integers or booleans, or of `where` for any dtype.
pub(super) fn find(op: Op, dtype: DType) -> Option<Kernel> {
    let is_bool = dtype == DType::Bool;
    Some(match op {
        Op::Where => return where_kernel(dtype.item_size()),
        _ if !is_bool && !dtype.is_integer() => return None,
        Op::Invert | Op::LogicalNot if is_bool => kernel!(|a: u8| -> u8 { a ^ 1 }),
        Op::Invert => kernel!(|a: u8| -> u8 { !a }),
        Op::And => and(dtype.item_size()),
        Op::Or => or(dtype.item_size()),
        Op::Xor => xor(dtype.item_size()),
        Op::Add | Op::LogicalOr | Op::Max if is_bool => or(1),
        Op::Multiply | Op::LogicalAnd | Op::Min if is_bool => and(1),
        Op::LogicalXor | Op::NotEqual if is_bool => xor(1),
        _ => return None,
    })
}

/// Functions that return the kernel for an item size in bytes.
macro_rules! by_size {
    ($($name:ident |$a:ident, $b:ident| $body:expr;)+) => {
        $(fn $name(item_size: usize) -> Kernel {
            match item_size {
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

/// The kernel of `where` for an item size in bytes.
fn where_kernel(item_size: usize) -> Option<Kernel> {
    Some(match item_size {
        1 => where_of::<u8>,
        2 => where_of::<u16>,
        4 => where_of::<u32>,
        // Not u64: complex64 has an alignment of 4 bytes.
        8 => where_of::<[u32; 2]>,
        16 => where_of::<[u64; 2]>,
        _ => return None,
    })
}

/// Selects by a bit mask: the results of comparisons are hard to predict for branches.
trait Select: Pod {
    fn select(condition: u8, a: Self, b: Self) -> Self;
}

macro_rules! select {
    ($($type:ty),+) => {
        $(impl Select for $type {
            #[inline(always)]
            fn select(condition: u8, a: $type, b: $type) -> $type {
                let mask = <$type>::from(condition != 0).wrapping_neg();
                (a & mask) | (b & !mask)
            }
        })+
    };
}
select!(u8, u16, u32, u64);

impl<T: Select> Select for [T; 2] {
    #[inline(always)]
    fn select(condition: u8, a: [T; 2], b: [T; 2]) -> [T; 2] {
        [T::select(condition, a[0], b[0]), T::select(condition, a[1], b[1])]
    }
}

fn where_of<T: Select>(inputs: &[&[u8]], output: &mut [u8], context: &mut KernelContext) {
    let &[condition, a, b] = inputs else {
        return;
    };
    let (a, b) = (bytemuck::cast_slice::<u8, T>(a), bytemuck::cast_slice::<u8, T>(b));
    let output = bytemuck::cast_slice_mut::<u8, T>(output);
    Adaptive::for_each_chunk(
        context,
        output.len(),
        #[inline(always)]
        |first, end| {
            let output = &mut output[first..end];
            match (chunk(condition, first, end), chunk(a, first, end), chunk(b, first, end)) {
                (condition, &[a], &[b]) => {
                    for (result, &condition) in output.iter_mut().zip(condition) {
                        *result = T::select(condition, a, b);
                    }
                }
                (&[condition], a, b) => match if condition != 0 { a } else { b } {
                    &[scalar] => output.fill(scalar),
                    selected => output.copy_from_slice(selected),
                },
                (condition, &[a], b) => {
                    for ((result, &condition), &b) in output.iter_mut().zip(condition).zip(b) {
                        *result = T::select(condition, a, b);
                    }
                }
                (condition, a, &[b]) => {
                    for ((result, &condition), &a) in output.iter_mut().zip(condition).zip(a) {
                        *result = T::select(condition, a, b);
                    }
                }
                (condition, a, b) => {
                    for (((result, &condition), &a), &b) in output.iter_mut().zip(condition).zip(a).zip(b) {
                        *result = T::select(condition, a, b);
                    }
                }
            }
        },
    );
}
