//! Booleans, which are bytes 0 and 1, and the choice between elements of any type.

use super::kernel;
use crate::expr::op::Op;
use crate::loops::Kernel;

/// The kernel of a function of booleans.
pub(super) fn find(op: Op) -> Option<Kernel> {
    Some(match op {
        Op::Add | Op::Or | Op::LogicalOr | Op::Max => kernel!(|a: u8, b: u8| -> u8 { a | b }),
        Op::Multiply | Op::And | Op::LogicalAnd | Op::Min => kernel!(|a: u8, b: u8| -> u8 { a & b }),
        Op::Xor | Op::LogicalXor | Op::NotEqual => kernel!(|a: u8, b: u8| -> u8 { a ^ b }),
        Op::Equal => kernel!(|a: u8, b: u8| -> u8 { a ^ b ^ 1 }),
        Op::Less => kernel!(|a: u8, b: u8| -> u8 { (a ^ 1) & b }),
        Op::LessEqual => kernel!(|a: u8, b: u8| -> u8 { (a ^ 1) | b }),
        Op::Greater => kernel!(|a: u8, b: u8| -> u8 { a & (b ^ 1) }),
        Op::GreaterEqual => kernel!(|a: u8, b: u8| -> u8 { a | (b ^ 1) }),
        Op::Invert | Op::LogicalNot => kernel!(|a: u8| -> u8 { a ^ 1 }),
        Op::Clip => kernel!(|a: u8, least: u8, most: u8| -> u8 { (a | least) & most }),
        _ => return None,
    })
}

/// One of two elements of so many bytes, by a boolean.
pub(super) fn choose(item: usize) -> Option<Kernel> {
    Some(match item {
        1 => kernel!(|c: u8, a: u8, b: u8| -> u8 { if c != 0 { a } else { b } }),
        2 => kernel!(|c: u8, a: u16, b: u16| -> u16 { if c != 0 { a } else { b } }),
        4 => kernel!(|c: u8, a: u32, b: u32| -> u32 { if c != 0 { a } else { b } }),
        // Of numbers with an alignment of 4 too.
        8 => kernel!(|c: u8, a: [u32; 2], b: [u32; 2]| -> [u32; 2] { if c != 0 { a } else { b } }),
        16 => kernel!(|c: u8, a: [u64; 2], b: [u64; 2]| -> [u64; 2] { if c != 0 { a } else { b } }),
        _ => return None,
    })
}
