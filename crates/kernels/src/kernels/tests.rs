//! All kernels: broadcast scalars against repeated elements, prefetching in chunks against one chunk, and the
//! widest SIMD against AVX2.

use super::{Kernel, compare_mixed, find_cast, find_kernel};
use crate::{DType, KernelContext, Op};
use proptest::prelude::*;
use std::iter::repeat_n;

/// A kernel, with the item_size sizes of its inputs and of its result, in bytes.
struct Case {
    name: String,
    kernel: Kernel,
    item_sizes: Vec<usize>,
    result: usize,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (op, dtype) in Op::ALL.iter().flat_map(|&op| DType::ALL.iter().map(move |&dtype| (op, dtype))) {
        let Some(kernel) = find_kernel(op, dtype) else { continue };
        let mut item_sizes = vec![dtype.item_size(); op.arity()];
        if op == Op::Where {
            item_sizes[0] = 1;
        }
        let result = match op {
            Op::Equal | Op::NotEqual | Op::Less | Op::LessEqual | Op::Signbit | Op::IsInf | Op::IsFinite => 1,
            Op::Abs | Op::Real | Op::Imag if dtype.is_complex() => dtype.item_size() / 2,
            _ => dtype.item_size(),
        };
        cases.push(Case { name: format!("{op:?} of {dtype:?}"), kernel, item_sizes, result });
    }
    for (from, to) in DType::ALL.iter().flat_map(|&from| DType::ALL.iter().map(move |&to| (from, to))) {
        if let Some(kernel) = find_cast(from, to) {
            let name = format!("{from:?} as {to:?}");
            cases.push(Case { name, kernel, item_sizes: vec![from.item_size()], result: to.item_size() });
        }
    }
    for op in [Op::Equal, Op::NotEqual, Op::Less, Op::LessEqual] {
        let name = format!("{op:?} of I64 and U64");
        cases.push(Case {
            name,
            kernel: compare_mixed(op, true).unwrap(),
            item_sizes: vec![8, 8],
            result: 1,
        });
    }
    cases
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn results_do_not_depend_on_broadcasting_chunks_or_width(seed: [u8; 32], len in 1usize..3000, mask in 0u8..) {
        let mut bytes = seed.iter().cycle().zip(0u8..=250).map(|(a, b)| a.wrapping_mul(b | 1) & mask);
        let mut next: Vec<u8> = bytes.by_ref().collect();
        for Case { name, kernel, item_sizes, result } in cases() {
            // All sets of inputs as broadcast scalars, except all inputs.
            for scalars in 0..(1usize << item_sizes.len()) - 1 {
                next.rotate_left(7);
                let is_scalar = |input: usize| scalars >> input & 1 == 1;
                let blocks = |repeated: bool| -> Vec<Vec<u64>> {
                    item_sizes.iter().enumerate().map(|(input, &item_size)| {
                        let element = &next[input * 16..][..item_size];
                        let block: Vec<u8> = match (is_scalar(input), repeated) {
                            (true, false) => element.to_vec(),
                            (true, true) => repeat_n(element, len).flatten().copied().collect(),
                            (false, _) => next.iter().copied().cycle().skip(input * 5).take(len * item_size).collect(),
                        };
                        // Booleans are 0 or 1.
                        let is_bool = name.contains("Bool") || (input == 0 && name.starts_with("Where"));
                        aligned(block.into_iter().map(|byte| if is_bool { byte & 1 } else { byte }))
                    }).collect()
                };
                let run = |repeated: bool| {
                    let blocks = blocks(repeated);
                    let inputs: Vec<&[u8]> = blocks.iter().enumerate().map(|(input, block)| {
                        let elements = if is_scalar(input) && !repeated { 1 } else { len };
                        &bytemuck::cast_slice(block)[..elements * item_sizes[input]]
                    }).collect();
                    let mut output = aligned(repeat_n(0xAA, len * result));
                    // With prefetching in chunks and the widest SIMD, or without.
                    let mut context = KernelContext::default();
                    if !repeated {
                        context.wide = true;
                        context.prefetch.restart(100);
                        context.prefetch.push(output.as_ptr().cast(), len * result, len.div_ceil(100));
                    }
                    kernel(&inputs, &mut bytemuck::cast_slice_mut(&mut output)[..len * result], &mut context);
                    output
                };
                let (broadcast, repeated) = (run(false), run(true));
                prop_assert!(is_same(&name, &broadcast, &repeated), "{name}, {len} elements, scalar inputs: {scalars:b}");
            }
        }
    }
}

/// Bytes aligned for elements of up to 8 bytes.
fn aligned(bytes: impl Iterator<Item = u8>) -> Vec<u64> {
    let bytes: Vec<u8> = bytes.collect();
    let words = bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_ne_bytes(word)
    });
    words.collect()
}

/// Whether results are equal bit by bit, except for the bits of NaN.
fn is_same(name: &str, a: &[u64], b: &[u64]) -> bool {
    let is_single = name.ends_with("F32") || name.ends_with("C64");
    let is_double = name.ends_with("F64") || name.ends_with("C128");
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
