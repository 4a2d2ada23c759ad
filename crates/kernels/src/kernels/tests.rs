//! One element for all, beside the same element written as often as it is needed; and part by part, while memory is
//! fetched, and at full width, beside all at once at the usual one.

use super::{Kernel, compare_mixed, find_cast, find_kernel};
use crate::{DType, KernelContext, Op};
use proptest::prelude::*;
use std::iter::repeat_n;

/// A kernel of several blocks: bytes of an element of each, and of the result.
struct Case {
    what: String,
    kernel: Kernel,
    items: Vec<usize>,
    result: usize,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (op, dtype) in Op::ALL.iter().flat_map(|&op| DType::ALL.iter().map(move |&dtype| (op, dtype))) {
        let Some(kernel) = find_kernel(op, dtype) else { continue };
        let mut items = vec![dtype.item_size(); op.arity()];
        if op == Op::Where {
            items[0] = 1;
        }
        let result = match op {
            Op::Equal | Op::NotEqual | Op::Less | Op::LessEqual | Op::Signbit | Op::IsInf | Op::IsFinite => 1,
            Op::Abs | Op::Real | Op::Imag if dtype.is_complex() => dtype.item_size() / 2,
            _ => dtype.item_size(),
        };
        cases.push(Case { what: format!("{op:?} of {dtype:?}"), kernel, items, result });
    }
    for (from, to) in DType::ALL.iter().flat_map(|&from| DType::ALL.iter().map(move |&to| (from, to))) {
        if let Some(kernel) = find_cast(from, to) {
            let what = format!("{from:?} as {to:?}");
            cases.push(Case { what, kernel, items: vec![from.item_size()], result: to.item_size() });
        }
    }
    for op in [Op::Equal, Op::NotEqual, Op::Less, Op::LessEqual] {
        let what = format!("{op:?} of I64 and U64");
        cases.push(Case { what, kernel: compare_mixed(op, true).unwrap(), items: vec![8, 8], result: 1 });
    }
    cases
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn one_element_stands_for_all_and_parts_for_the_whole(seed: [u8; 32], len in 1usize..3000, mask in 0u8..) {
        let mut bytes = seed.iter().cycle().zip(0u8..=250).map(|(a, b)| a.wrapping_mul(b | 1) & mask);
        let mut next: Vec<u8> = bytes.by_ref().collect();
        for Case { what, kernel, items, result } in cases() {
            // None of the arguments is one element, or each in turn; and of three, any two.
            for singles in 0..(1usize << items.len()) - 1 {
                next.rotate_left(7);
                let is_single = |argument: usize| singles >> argument & 1 == 1;
                let blocks = |all: bool| -> Vec<Vec<u64>> {
                    items.iter().enumerate().map(|(argument, &item)| {
                        let one = &next[argument * 16..][..item];
                        let block: Vec<u8> = match (is_single(argument), all) {
                            (true, false) => one.to_vec(),
                            (true, true) => repeat_n(one, len).flatten().copied().collect(),
                            (false, _) => next.iter().copied().cycle().skip(argument * 5).take(len * item).collect(),
                        };
                        // Truths are 0 or 1.
                        let truth = what.contains("Bool") || (argument == 0 && what.starts_with("Where"));
                        aligned(block.into_iter().map(|byte| if truth { byte & 1 } else { byte }))
                    }).collect()
                };
                let run = |all: bool| {
                    let blocks = blocks(all);
                    let from: Vec<&[u8]> = blocks.iter().enumerate().map(|(argument, block)| {
                        let elements = if is_single(argument) && !all { 1 } else { len };
                        &bytemuck::cast_slice(block)[..elements * items[argument]]
                    }).collect();
                    let mut to = aligned(repeat_n(0xAA, len * result));
                    // Fetching meanwhile, part by part, and without.
                    let mut context = KernelContext::default();
                    if !all {
                        context.wide = true;
                        context.prefetch.restart(100);
                        context.prefetch.push(to.as_ptr().cast(), len * result, len.div_ceil(100));
                    }
                    kernel(&from, &mut bytemuck::cast_slice_mut(&mut to)[..len * result], &mut context);
                    to
                };
                let (one, many) = (run(false), run(true));
                prop_assert!(is_same(&what, &one, &many), "{what}, {len} elements, one for all: {singles:b}");
            }
        }
    }
}

/// Bytes where any element can begin.
fn aligned(bytes: impl Iterator<Item = u8>) -> Vec<u64> {
    let bytes: Vec<u8> = bytes.collect();
    let words = bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_ne_bytes(word)
    });
    words.collect()
}

/// Bit by bit, but for which NaN it is.
fn is_same(what: &str, a: &[u64], b: &[u64]) -> bool {
    let is_single = what.ends_with("F32") || what.ends_with("C64");
    let is_double = what.ends_with("F64") || what.ends_with("C128");
    let singles = |word: u64| [word as u32, (word >> 32) as u32].map(f32::from_bits);
    a.iter().zip(b).all(|(&a, &b)| {
        a == b
            || is_double && f64::from_bits(a).is_nan() && f64::from_bits(b).is_nan()
            || is_single
                && singles(a)
                    .iter()
                    .zip(singles(b))
                    .all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan())
    })
}
