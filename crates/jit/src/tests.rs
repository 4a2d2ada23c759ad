//! Compiled chains have the results of the separate kernels, bit by bit; instructions are what a disassembler reads.

use crate::assembler::{Assembler, BASES, Memory, Operand, VectorOp, op};
use crate::isa::Isa;
use crate::{
    Call, Chain, ChainInput, ElementWidth, Fusable, FusedKernel, MAX_BLOCK_INPUTS, MAX_INPUTS, fusable,
};
use half::{bf16, f16};
use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};
use proptest::prelude::*;
use std::sync::Arc;
use unishape_kernels::{Constant, DType, KernelContext, KernelKey, Op, Scalar, find_cast, find_kernel};
use unishape_simd::{FloatFlags, float_flags, set_float_flags};

/// The functions that can be fused with elements of this width.
fn functions(width: ElementWidth) -> Vec<KernelKey> {
    let dtypes = DType::ALL;
    let calls = Op::ALL.iter().flat_map(|&op| dtypes.iter().map(move |&dtype| KernelKey::Call(op, dtype)));
    let casts = dtypes.iter().flat_map(|&from| dtypes.iter().map(move |&to| KernelKey::Cast(from, to)));
    let fits = |function: &KernelKey| {
        fusable(*function).is_some_and(|fusable| fusable.width().is_none_or(|own| own == width))
    };
    calls.chain(casts).filter(fits).collect()
}

/// Dtypes of a function's inputs.
fn inputs_of(function: KernelKey) -> Vec<DType> {
    match function {
        KernelKey::Call(Op::Where, dtype) => vec![DType::Bool, dtype, dtype],
        KernelKey::Call(op, dtype) => vec![dtype; op.arity()],
        KernelKey::Cast(from, _) => vec![from],
        KernelKey::CompareMixed(..) => unreachable!("cannot be fused"),
    }
}

/// Any element of a dtype, often a special one.
fn element(dtype: DType, random: u64) -> Constant {
    let special =
        [0.0, -0.0, 1.0, -1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.5, 2.5, 1e-40, 65520.0, 3.4e38];
    let float = match random % 5 {
        0 => special[(random / 5 % 12) as usize],
        1 => (random >> 8) as i32 as f64,
        _ => (random >> 11) as f64 / (1u64 << 53) as f64 * 8.0 - 4.0,
    };
    match dtype {
        DType::Bool => Constant::new((random & 1) as u8),
        DType::F16 => Constant::new(f16::from_f64(float)),
        DType::BF16 => Constant::new(bf16::from_f64(float)),
        DType::F32 => Constant::new(float as f32),
        DType::F64 => Constant::new(float),
        dtype if dtype.item_size() == 1 => Constant::new(random as u8),
        dtype if dtype.item_size() == 2 => Constant::new(random as u16),
        dtype if dtype.item_size() == 4 => Constant::new(random as u32 >> (random >> 60)),
        _ => Constant::new(random >> (random >> 58)),
    }
}

/// Bytes that are aligned for every element.
fn aligned(bytes: &[u8]) -> (Vec<u128>, usize) {
    let mut storage = vec![0u128; bytes.len().div_ceil(16) + 1];
    bytemuck::cast_slice_mut::<u128, u8>(&mut storage)[..bytes.len()].copy_from_slice(bytes);
    (storage, bytes.len())
}

fn bytes((storage, len): &(Vec<u128>, usize)) -> &[u8] {
    &bytemuck::cast_slice(storage)[..*len]
}

/// Results of a chain by separate kernels; NaNs of all bits are one.
fn expected(chain: &Chain<'_>, inputs: &[&[u8]], len: usize) -> Vec<u8> {
    let mut values: Vec<(Vec<u128>, usize)> = inputs.iter().map(|input| aligned(input)).collect();
    for call in chain.calls {
        let kernel = match call.key {
            KernelKey::Call(op, dtype) => find_kernel(op, dtype).unwrap(),
            KernelKey::Cast(from, to) => find_cast(from, to).unwrap(),
            KernelKey::CompareMixed(..) => unreachable!("cannot be fused"),
        };
        let inputs: Vec<&[u8]> = call.inputs.iter().map(|&input| bytes(&values[input])).collect();
        let item = call.key.result_dtype().item_size();
        // A result of scalars only is one element.
        let is_scalar =
            inputs_of(call.key).iter().zip(&inputs).all(|(dtype, input)| input.len() == dtype.item_size());
        let mut result = aligned(&vec![0; item * if is_scalar { 1 } else { len }]);
        let size = result.1;
        let output = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut result.0)[..size];
        kernel(&inputs, output, &mut KernelContext::default());
        values.push(result);
    }
    let result = values.last().unwrap();
    let item = result.1.min(chain.calls.last().unwrap().key.result_dtype().item_size());
    let repeats = if result.1 == item { len } else { 1 };
    bytes(result).repeat(repeats)
}

/// All NaNs as one: which of two NaNs an operation returns is not specified.
fn canonical(bytes: &[u8], dtype: DType) -> Vec<u64> {
    let element = |chunk: &[u8]| {
        let mut bits = [0; 8];
        bits[..chunk.len()].copy_from_slice(chunk);
        let bits = u64::from_le_bytes(bits);
        let is_nan = match dtype {
            DType::F16 => f16::from_bits(bits as u16).is_nan(),
            DType::BF16 => bf16::from_bits(bits as u16).is_nan(),
            DType::F32 => f32::from_bits(bits as u32).is_nan(),
            DType::F64 => f64::from_bits(bits).is_nan(),
            _ => false,
        };
        if is_nan { u64::MAX } else { bits }
    };
    bytes.chunks_exact(dtype.item_size()).map(element).collect()
}

/// Whether a value of one dtype can be taken as one of another, without a cast that computes something.
fn can_be(from: DType, to: DType) -> bool {
    use DType::{Bool, I8, I32, I64, U8, U32, U64};
    let is_alike = matches!(
        (from, to),
        (Bool | U8, I8) | (Bool | I8, U8) | (I32, U32) | (U32, I32) | (I64, U64) | (U64, I64)
    );
    from == to || is_alike
}

/// A random chain: functions by number, with inputs by number among values of their dtypes; new ones where there
/// are none.
struct RandomChain {
    sources: Vec<(ChainInput, DType)>,
    calls: Vec<(KernelKey, Vec<usize>)>,
}

impl RandomChain {
    fn new(width: ElementWidth, choices: &[(u64, u64)]) -> RandomChain {
        let functions = functions(width);
        let mut chain = RandomChain { sources: Vec::new(), calls: Vec::new() };
        // Numbered from the end, as sources are added while calls are.
        let mut values: Vec<(DType, Option<usize>, Option<usize>)> = Vec::new();
        let mut calls = Vec::new();
        for &(which, random) in choices {
            let function = functions[which as usize % functions.len()];
            let mut random = random;
            let mut inputs = Vec::new();
            for dtype in inputs_of(function) {
                random = random.rotate_right(7).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                let fitting: Vec<usize> =
                    (0..values.len()).filter(|&value| can_be(values[value].0, dtype)).collect();
                let blocks = chain.sources.iter().filter(|(source, _)| *source == ChainInput::Block).count();
                let is_new = fitting.is_empty() || random >> 32 & 3 == 0;
                let value = if is_new && chain.sources.len() < 24 {
                    let source = match random >> 40 & 3 {
                        0 => ChainInput::Scalar,
                        1 => ChainInput::Constant(element(dtype, random)),
                        _ if blocks < MAX_BLOCK_INPUTS => ChainInput::Block,
                        _ => ChainInput::Scalar,
                    };
                    chain.sources.push((source, dtype));
                    values.push((dtype, Some(chain.sources.len() - 1), None));
                    values.len() - 1
                } else if fitting.is_empty() {
                    break;
                } else {
                    // The newest values more often.
                    fitting
                        [fitting.len() - 1 - (random as usize % fitting.len()) * (random >> 50 & 1) as usize]
                };
                inputs.push(value);
            }
            if inputs.len() == inputs_of(function).len() {
                calls.push((function, inputs));
                values.push((function.result_dtype(), None, Some(calls.len() - 1)));
            }
        }
        let number = |value: &usize| match values[*value] {
            (_, Some(source), _) => source,
            (_, _, call) => chain.sources.len() + call.unwrap(),
        };
        chain.calls =
            calls.iter().map(|(function, inputs)| (*function, inputs.iter().map(number).collect())).collect();
        chain
    }

    /// Whether it can be compiled for every instruction set of this CPU; the results are right wherever it can.
    fn check(&self, len: usize, offset: usize, seed: u64) -> Result<bool, TestCaseError> {
        let sources: Vec<ChainInput> = self.sources.iter().map(|(source, _)| *source).collect();
        let calls: Vec<Call<'_>> =
            self.calls.iter().map(|(function, inputs)| Call { key: *function, inputs }).collect();
        let chain = Chain { inputs: &sources, calls: &calls };
        let kernels: Vec<FusedKernel> =
            Isa::available().filter_map(|isa| FusedKernel::compile_for(isa, &chain)).collect();
        let mut random = seed | 1;
        let data: Vec<Vec<u8>> = self
            .sources
            .iter()
            .map(|(source, dtype)| {
                let count = if *source == ChainInput::Block { len } else { 1 };
                if let ChainInput::Constant(constant) = source {
                    return constant.bytes().to_vec();
                }
                let element = |_| {
                    random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    element(*dtype, random ^ random >> 29).bytes().to_vec()
                };
                (0..count).flat_map(element).collect()
            })
            .collect();
        // Blocks begin at any element, and nothing beyond them is changed.
        let shifted: Vec<(Vec<u128>, usize)> = data
            .iter()
            .zip(&self.sources)
            .map(|(data, (_, dtype))| {
                let mut all = vec![0xAA; offset * dtype.item_size()];
                all.extend(data);
                aligned(&all)
            })
            .collect();
        let inputs: Vec<&[u8]> = shifted
            .iter()
            .zip(&self.sources)
            .map(|(all, (_, dtype))| &bytes(all)[offset * dtype.item_size()..])
            .collect();
        let dtype = self.calls.last().unwrap().0.result_dtype();
        let item = dtype.item_size();
        let expected_data: Vec<&[u8]> = data.iter().map(Vec::as_slice).collect();
        let expected = canonical(&expected(&chain, &expected_data, len), dtype);
        for kernel in &kernels {
            let mut output = vec![0xAAu8; (offset + len + 40) * item];
            kernel.run(&inputs, &mut output[offset * item..][..len * item]);
            prop_assert!(output[..offset * item].iter().all(|&byte| byte == 0xAA));
            prop_assert!(output[(offset + len) * item..].iter().all(|&byte| byte == 0xAA));
            prop_assert_eq!(&canonical(&output[offset * item..][..len * item], dtype), &expected);
            // In parts, which begin and end anywhere.
            let mut output = vec![0xAAu8; (offset + len + 40) * item];
            let mut block = kernel.block(&inputs, &mut output[offset * item..][..len * item]);
            let part = 1 + (seed >> 32) as usize % (len + 9);
            (0..len).step_by(part).for_each(|first| block.run(first, len.min(first + part)));
            prop_assert!(output[..offset * item].iter().all(|&byte| byte == 0xAA));
            prop_assert!(output[(offset + len) * item..].iter().all(|&byte| byte == 0xAA));
            prop_assert_eq!(&canonical(&output[offset * item..][..len * item], dtype), &expected);
        }
        Ok(kernels.len() == Isa::available().count())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn chains_have_the_results_of_their_kernels(
        is_long in any::<bool>(),
        choices in prop::collection::vec(any::<(u64, u64)>(), 1..40),
        len in prop_oneof![1usize..80, 200usize..300],
        offset in 0usize..9,
        seed in any::<u64>(),
    ) {
        let width = if is_long { ElementWidth::Bits64 } else { ElementWidth::Bits32 };
        let chain = RandomChain::new(width, &choices);
        if !chain.calls.is_empty() {
            chain.check(len, offset, seed)?;
        }
    }
}

/// Every function alone, with every combination of blocks and scalars.
#[test]
fn every_function_is_compiled() {
    for width in [ElementWidth::Bits64, ElementWidth::Bits32] {
        for function in functions(width) {
            if fusable(function) == Some(Fusable::InAny) {
                continue;
            }
            let dtypes = inputs_of(function);
            for blocks in 1..1 << dtypes.len() {
                let source = |input: usize| {
                    if blocks >> input & 1 == 1 { ChainInput::Block } else { ChainInput::Scalar }
                };
                let sources =
                    dtypes.iter().enumerate().map(|(input, &dtype)| (source(input), dtype)).collect();
                let inputs = (0..dtypes.len()).collect();
                let chain = RandomChain { sources, calls: vec![(function, inputs)] };
                for len in [1, 3, 4, 7, 8, 9, 16, 31, 63, 64, 100] {
                    assert!(chain.check(len, len % 3, 7 + len as u64).unwrap(), "{function:?}");
                }
            }
        }
    }
}

/// Functions of booleans are compiled in chains of either width, on the results of comparisons.
#[test]
fn every_function_of_booleans_is_compiled() {
    for (width, dtype) in [(ElementWidth::Bits64, DType::F64), (ElementWidth::Bits32, DType::F32)] {
        for function in functions(width) {
            if fusable(function) != Some(Fusable::InAny) {
                continue;
            }
            let arity = inputs_of(function).len();
            let mut calls: Vec<(KernelKey, Vec<usize>)> =
                (0..arity).map(|n| (KernelKey::Call(Op::Less, dtype), vec![n, arity])).collect();
            calls.push((function, (0..arity).map(|n| arity + 1 + n).collect()));
            let chain = RandomChain { sources: vec![(ChainInput::Block, dtype); arity + 1], calls };
            for len in [3, 16, 50] {
                assert!(chain.check(len, 1, len as u64).unwrap(), "{function:?}");
            }
        }
    }
}

/// The functions of a dtype that can be fused, by their names.
fn fused(dtype: DType) -> String {
    let names = Op::ALL.iter().filter(|op| fusable(KernelKey::Call(**op, dtype)).is_some());
    let mut names: Vec<String> = names.map(|op| format!("{op:?}")).collect();
    names.sort();
    names.join(" ")
}

#[test]
fn functions_that_have_instructions_are_fused() {
    let floats = "Abs Add Ceil Copysign Divide Equal Floor LeakyRelu Less LessEqual Max Min Multiply Negative \
        NotEqual Round Sqrt Subtract Trunc TruncDivide Where";
    let logical = "Add And Equal Invert LogicalAnd LogicalNot LogicalOr LogicalXor Max Min Multiply NotEqual Or \
        Where Xor";
    for (dtype, expected) in [
        (DType::F32, floats),
        (DType::F64, floats),
        (DType::Bool, logical),
        (DType::I32, "Abs Add And Equal Less LessEqual Max Min Multiply NotEqual Or Subtract Where Xor"),
        (DType::U32, "Add And Equal Max Min Multiply NotEqual Or Subtract Where Xor"),
        (DType::I64, "Add And Equal Less LessEqual NotEqual Or Subtract Where Xor"),
        (DType::U64, "Add And Equal NotEqual Or Subtract Where Xor"),
        (DType::F16, "Where"),
        (DType::BF16, "Where"),
        (DType::U8, ""),
        (DType::C64, ""),
    ] {
        assert_eq!(fused(dtype), expected, "{dtype:?}");
    }
}

/// A bound of Min and Max that is NaN makes every element NaN, as a constant too.
#[test]
fn constant_bounds_may_be_nan() {
    for op in [Op::Min, Op::Max] {
        for bound in [Constant::new(f32::NAN), Constant::new(1.5f32)] {
            let sources = vec![(ChainInput::Block, DType::F32), (ChainInput::Constant(bound), DType::F32)];
            let calls = vec![(KernelKey::Call(op, DType::F32), vec![0, 1])];
            assert!(RandomChain { sources, calls }.check(50, 0, 5).unwrap());
        }
    }
}

/// A chain that takes these of `n` inputs one after another. The first `blocks` inputs are blocks. Integers, whose results
/// depend on each of them.
fn taking(blocks: usize, n: usize, order: impl IntoIterator<Item = usize>) -> RandomChain {
    let source = |at| if at < blocks { ChainInput::Block } else { ChainInput::Scalar };
    let sources = (0..n).map(|at| (source(at), DType::I32)).collect();
    let mut calls: Vec<(KernelKey, Vec<usize>)> = Vec::new();
    for (number, at) in order.into_iter().enumerate() {
        let op = [Op::Add, Op::Xor, Op::Subtract][number / n % 3];
        let before = if number == 0 { 0 } else { n + number - 1 };
        calls.push((KernelKey::Call(op, DType::I32), vec![before, at]));
    }
    RandomChain { sources, calls }
}

/// A chain that takes all of its inputs some times.
fn passes(blocks: usize, n: usize, passes: usize) -> RandomChain {
    taking(blocks, n, (1..n).chain((1..passes).flat_map(|_| 0..n)))
}

/// More scalars than registers: some keep a register during the loop, others are loaded again and again.
#[test]
fn scalars_may_be_more_than_registers() {
    for scalars in [5, 10, 13, 16, 20, 25, MAX_INPUTS - 1] {
        for count in 1..=3 {
            assert!(passes(1, 1 + scalars, count).check(300, 1, 77).unwrap(), "{scalars} scalars");
        }
        // Those that are taken most keep their registers, though they are not taken at the end.
        let most = scalars / 2;
        let order = (0..3).flat_map(|_| 1..=most).chain((0..2).flat_map(|_| most + 1..=scalars));
        assert!(taking(1, 1 + scalars, order).check(300, 1, 77).unwrap(), "{scalars} scalars");
    }
}

#[test]
fn inputs_are_limited() {
    for (blocks, inputs) in
        [(MAX_BLOCK_INPUTS, MAX_BLOCK_INPUTS), (1, MAX_INPUTS), (MAX_BLOCK_INPUTS, MAX_INPUTS)]
    {
        assert!(passes(blocks, inputs, 1).check(100, 1, 3).unwrap(), "{blocks} of {inputs}");
    }
    let is_available = Isa::available().next().is_some();
    for (blocks, inputs) in [
        (0, 2),
        (MAX_BLOCK_INPUTS + 1, MAX_BLOCK_INPUTS + 1),
        (1, MAX_INPUTS + 1),
        (MAX_BLOCK_INPUTS, MAX_INPUTS + 1),
    ] {
        assert!(
            !is_available || !passes(blocks, inputs, 1).check(100, 1, 3).unwrap(),
            "{blocks} of {inputs}"
        );
    }
}

/// A chain whose values do not fit on the stack is not compiled.
#[test]
fn the_stack_of_a_kernel_is_limited() {
    let live = |count: usize| {
        let source = (ChainInput::Block, DType::I32);
        let mut calls: Vec<(KernelKey, Vec<usize>)> = Vec::new();
        for at in 0..count {
            let before = if at == 0 { 0 } else { 1 + at };
            calls.push((KernelKey::Call(Op::Add, DType::I32), vec![before, 1]));
        }
        // The first results are used last.
        for at in (0..count - 1).rev() {
            calls.push((KernelKey::Call(Op::Xor, DType::I32), vec![1 + calls.len(), 2 + at]));
        }
        RandomChain { sources: vec![source; 2], calls }
    };
    let is_available = Isa::available().next().is_some();
    assert!(live(60).check(100, 0, 1).unwrap());
    assert!(!is_available || !live(300).check(100, 0, 1).unwrap());
}

/// Elements behind the last one set no flags: a vector that is not whole has zeros there.
#[test]
fn elements_that_do_not_exist_set_no_flags() {
    for (op, dtype) in [(Op::Divide, DType::F32), (Op::Divide, DType::F64), (Op::Sqrt, DType::F32)] {
        let inputs = &[0, 1][..op.arity()];
        let sources = vec![ChainInput::Block; op.arity()];
        let calls = [Call { key: KernelKey::Call(op, dtype), inputs }];
        let chain = Chain { inputs: &sources, calls: &calls };
        let one = Constant::from_scalar(Scalar::Int(1), dtype).unwrap();
        for isa in Isa::available() {
            let Some(kernel) = FusedKernel::compile_for(isa, &chain) else { panic!("{op:?}") };
            for len in 1..70 {
                let ones = aligned(&one.bytes().repeat(len));
                let mut quotients = ones.clone();
                let output = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut quotients.0)[..ones.1];
                set_float_flags(FloatFlags::NONE);
                kernel.run(&vec![bytes(&ones); op.arity()], output);
                assert_eq!(float_flags(), FloatFlags::NONE, "{op:?} {dtype:?} {isa:?}: {len}");
                assert_eq!(bytes(&quotients), bytes(&ones));
            }
        }
    }
}

/// Rows with distances between them, forwards and backwards, repeated, and one element for each.
#[test]
fn rows_are_computed_like_single_blocks() {
    let calls = [
        Call { key: KernelKey::Call(Op::Subtract, DType::F32), inputs: &[0, 1] },
        Call { key: KernelKey::Call(Op::Multiply, DType::F32), inputs: &[3, 2] },
        Call { key: KernelKey::Call(Op::Less, DType::F32), inputs: &[4, 0] },
    ];
    let sources = [ChainInput::Block, ChainInput::Block, ChainInput::Scalar];
    let chain = Chain { inputs: &sources, calls: &calls };
    let kernels = Isa::available().filter_map(|isa| FusedKernel::compile_for(isa, &chain));
    let rows = 5;
    for (kernel, len) in kernels.flat_map(|kernel| {
        let kernel = Arc::new(kernel);
        [1usize, 7, 8, 9, 16, 33, 100].map(|len| (kernel.clone(), len))
    }) {
        let apart = len + 3;
        let a: Vec<f32> = (0..rows * apart).map(|n| (n * 37 % 101) as f32).collect();
        let b: Vec<f32> = (0..len).map(|n| (n * 13 % 29) as f32).collect();
        let c: Vec<f32> = (0..rows).map(|n| n as f32 - 2.5).collect();
        let mut out = vec![7u8; rows * apart];
        // The rows of `a` and of the output backwards.
        let last = (rows - 1) * apart;
        let stride = 4 * apart as isize;
        let operands =
            [(a[last..].as_ptr().cast::<u8>(), -stride), (b.as_ptr().cast(), 0), (c.as_ptr().cast(), 4)];
        let output = (out[last..].as_mut_ptr(), -(apart as isize));
        // Safety: all rows are within the arrays, of which only the output is written.
        #[allow(unsafe_code)]
        unsafe {
            kernel.run_rows(operands.into_iter(), output, [rows, len]);
        }
        for (row, c) in c.iter().enumerate() {
            for at in 0..apart {
                let from = (rows - 1 - row) * apart + at;
                let expected = match b.get(at) {
                    Some(b) => u8::from((a[from] - b) * c < a[from]),
                    None => 7,
                };
                assert_eq!(out[from], expected, "row {row}, element {at} of {len}");
            }
        }
    }
}

/// A mask is not the number 1: booleans as 8-bit integers, between comparisons and casts.
#[test]
fn booleans_are_cast_as_integers() {
    for (float, byte) in [(DType::F32, DType::U8), (DType::F64, DType::I8)] {
        let calls = vec![
            (KernelKey::Call(Op::Less, float), vec![0, 1]),
            (KernelKey::Cast(byte, float), vec![2]),
            (KernelKey::Call(Op::Multiply, float), vec![3, 0]),
        ];
        let chain = RandomChain { sources: vec![(ChainInput::Block, float); 2], calls };
        assert!(chain.check(100, 0, 3).unwrap());
    }
}

/// More values than registers are live at a time: some are copied to the stack.
#[test]
fn values_are_kept_on_the_stack() {
    let add = KernelKey::Call(Op::Add, DType::F32);
    let multiply = KernelKey::Call(Op::Multiply, DType::F32);
    let mut calls: Vec<(KernelKey, Vec<usize>)> =
        (0..40).map(|n| (multiply, vec![n % 10, 10 + n % 7])).collect();
    // Values beyond the sources; the first results are used last.
    let (first, mut sum) = (17, 17 + 39);
    for n in (0..39).rev() {
        calls.push((add, vec![sum, first + n]));
        sum = first + calls.len() - 1;
    }
    let source = |n| if n < 10 { (ChainInput::Block, DType::F32) } else { (ChainInput::Scalar, DType::F32) };
    let chain = RandomChain { sources: (0..17).map(source).collect(), calls };
    for len in [1, 8, 100] {
        assert!(chain.check(len, 1, 99).unwrap());
    }
}

#[test]
fn chains_that_cannot_be_compiled() {
    let block = [ChainInput::Block; 2];
    let compile = |inputs: &[ChainInput], function: KernelKey| {
        FusedKernel::compile(&Chain { inputs, calls: &[Call { key: function, inputs: &[0, 1] }] }).is_some()
    };
    assert!(!compile(&block, KernelKey::Call(Op::Pow, DType::F32)));
    assert!(!compile(&[ChainInput::Scalar; 2], KernelKey::Call(Op::Add, DType::F32)));
    // Booleans only: nothing says how wide elements are.
    assert!(!compile(&block, KernelKey::Call(Op::And, DType::Bool)));
    assert!(!compile(&[ChainInput::Block; MAX_BLOCK_INPUTS + 1], KernelKey::Call(Op::Exp, DType::F32)));
    let mixed = [
        Call { key: KernelKey::Call(Op::Add, DType::F32), inputs: &[0, 1] },
        Call { key: KernelKey::Call(Op::Add, DType::F64), inputs: &[0, 1] },
    ];
    assert!(FusedKernel::compile(&Chain { inputs: &block, calls: &mixed }).is_none());
    assert!(FusedKernel::compile(&Chain { inputs: &block, calls: &[] }).is_none());
    // Results of comparisons are no numbers, and elements of both widths are not in one chain.
    for (first, second) in [
        (KernelKey::Call(Op::Less, DType::F32), KernelKey::Cast(DType::I32, DType::F32)),
        (KernelKey::Call(Op::Add, DType::F32), KernelKey::Cast(DType::F32, DType::F64)),
    ] {
        let calls = [Call { key: first, inputs: &[0, 1] }, Call { key: second, inputs: &[2] }];
        assert!(FusedKernel::compile(&Chain { inputs: &block, calls: &calls }).is_none(), "{second:?}");
    }
}

/// A result is taken with its own dtype, or as an integer with or without a sign.
#[test]
fn results_are_not_taken_for_other_dtypes() {
    let compiles = |first: DType, second: DType| {
        let calls = [
            Call { key: KernelKey::Call(Op::Add, first), inputs: &[0, 1] },
            Call { key: KernelKey::Call(Op::Add, second), inputs: &[2, 2] },
        ];
        let chain = Chain { inputs: &[ChainInput::Block; 2], calls: &calls };
        FusedKernel::compile(&chain).is_some()
    };
    let is_available = Isa::available().next().is_some();
    for (first, second) in [(DType::F32, DType::F32), (DType::I32, DType::U32), (DType::U64, DType::I64)] {
        assert_eq!(compiles(first, second), is_available, "{first:?} {second:?}");
    }
    for (first, second) in [(DType::F32, DType::I32), (DType::U64, DType::F64), (DType::F64, DType::I64)] {
        assert!(!compiles(first, second), "{first:?} {second:?}");
    }
}

/// AVX-512 only where it has no cost.
#[test]
fn kernels_are_compiled_for_the_widest_vectors_that_cost_no_frequency() {
    let widest_is_free = is_x86_feature_detected!("avx512vbmi2");
    let mut available = Isa::available();
    let expected = if widest_is_free { available.next_back() } else { available.next() };
    assert_eq!(Isa::preferred(), expected);
}

#[test]
#[should_panic(expected = "elements of the chain")]
fn blocks_of_other_sizes_are_refused() {
    let calls = [Call { key: KernelKey::Call(Op::Add, DType::F32), inputs: &[0, 1] }];
    let kernel = FusedKernel::compile(&Chain { inputs: &[ChainInput::Block; 2], calls: &calls });
    match kernel {
        Some(kernel) => kernel.run(&[&[0; 32], &[0; 28]], &mut [0; 32]),
        None => panic!("elements of the chain"),
    }
}

/// The text of a disassembler for instructions.
fn disassembled_for(isa: Isa, emit: impl FnOnce(&mut Assembler)) -> String {
    let mut assembler = Assembler::new(isa);
    emit(&mut assembler);
    let end = assembler.position();
    let code = assembler.finish();
    let mut decoder = Decoder::new(64, &code, DecoderOptions::NONE);
    let mut texts = Vec::new();
    while decoder.position() < end {
        let (instruction, mut text) = (decoder.decode(), String::new());
        IntelFormatter::new().format(&instruction, &mut text);
        texts.push(text);
    }
    // The last instruction ends where the encoder has ended it.
    assert_eq!(decoder.position(), end, "{texts:?}");
    texts.join("; ")
}

fn disassembled(emit: impl FnOnce(&mut Assembler)) -> String {
    disassembled_for(Isa::Avx2, emit)
}

#[test]
fn instructions_are_what_a_disassembler_reads() {
    let two = |vex: VectorOp| disassembled(|to| to.emit(vex, true, 1, Some(10), Operand::Register(3), None));
    let one = |vex: VectorOp, is_wide| {
        disassembled(|to| to.emit(vex, is_wide, 9, None, Operand::Register(12), None))
    };
    for (vex, name) in [
        (op::add(false), "vaddps"),
        (op::add(true), "vaddpd"),
        (op::sub(false), "vsubps"),
        (op::mul(true), "vmulpd"),
        (op::div(false), "vdivps"),
        (op::VPADDD, "vpaddd"),
        (op::VPADDQ, "vpaddq"),
        (op::VPSUBD, "vpsubd"),
        (op::VPSUBQ, "vpsubq"),
        (op::VPMULLD, "vpmulld"),
        (op::VPMINSD, "vpminsd"),
        (op::VPMINUD, "vpminud"),
        (op::VPMAXSD, "vpmaxsd"),
        (op::VPMAXUD, "vpmaxud"),
        (op::VPAND, "vpand"),
        (op::VPANDN, "vpandn"),
        (op::VPOR, "vpor"),
        (op::VPXOR, "vpxor"),
        (op::VPCMPEQD, "vpcmpeqd"),
        (op::VPCMPEQQ, "vpcmpeqq"),
        (op::VPCMPGTD, "vpcmpgtd"),
        (op::VPCMPGTQ, "vpcmpgtq"),
        (op::VPACKSSDW, "vpackssdw"),
        (op::VPACKUSDW, "vpackusdw"),
        (op::VPACKSSWB, "vpacksswb"),
    ] {
        assert_eq!(two(vex), format!("{name} ymm1,ymm10,ymm3"));
    }
    for (vex, expected) in [
        (op::sqrt(false), "vsqrtps ymm9,ymm12"),
        (op::sqrt(true), "vsqrtpd ymm9,ymm12"),
        (op::VPABSD, "vpabsd ymm9,ymm12"),
        (op::VCVTPH2PS, "vcvtph2ps ymm9,xmm12"),
        (op::VCVTPS2PD, "vcvtps2pd ymm9,xmm12"),
        (op::VCVTPD2PS, "vcvtpd2ps xmm9,ymm12"),
        (op::VCVTDQ2PS, "vcvtdq2ps ymm9,ymm12"),
        (op::VCVTDQ2PD, "vcvtdq2pd ymm9,xmm12"),
        (op::VPMOVZXBD, "vpmovzxbd ymm9,xmm12"),
        (op::VPMOVZXBQ, "vpmovzxbq ymm9,xmm12"),
        (op::VPMOVZXWD, "vpmovzxwd ymm9,xmm12"),
        (op::VPMOVSXBD, "vpmovsxbd ymm9,xmm12"),
        (op::VPMOVSXWD, "vpmovsxwd ymm9,xmm12"),
        (op::VMOVUPS_LOAD, "vmovups ymm9,ymm12"),
    ] {
        assert_eq!(one(vex, true), expected);
    }
    assert_eq!(one(op::VPABSB, false), "vpabsb xmm9,xmm12");
    assert_eq!(disassembled(|to| to.shift_d(9, 3, true, 16)), "vpslld ymm9,ymm3,10h");
    assert_eq!(disassembled(|to| to.shift_d(1, 12, false, 16)), "vpsrld ymm1,ymm12,10h");
    assert_eq!(disassembled(|to| to.blend(9, 10, [11, 12])), "vpblendvb ymm9,ymm12,ymm11,ymm10");
    let immediate = |vex, second, immediate| {
        disassembled(|to| to.emit(vex, true, 1, second, Operand::Register(3), Some(immediate)))
    };
    assert_eq!(immediate(op::cmp(false), Some(2), 0x11), "vcmplt_oqps ymm1,ymm2,ymm3");
    assert_eq!(immediate(op::cmp(true), Some(2), 0x12), "vcmple_oqpd ymm1,ymm2,ymm3");
    assert_eq!(immediate(op::round(false), None, 9), "vroundps ymm1,ymm3,9");
    assert_eq!(immediate(op::round(true), None, 11), "vroundpd ymm1,ymm3,0Bh");
    assert_eq!(immediate(op::VCVTPS2PH, None, 0), "vcvtps2ph xmm3,ymm1,0");
    assert_eq!(immediate(op::VEXTRACTI128, None, 1), "vextracti128 xmm3,ymm1,1");
}

#[test]
fn memory_operands_are_what_a_disassembler_reads() {
    let names = ["rdx", "r8", "r9", "r10", "r11", "rbx", "rbp", "r12", "r13", "r14", "r15"];
    for (base, name) in BASES.into_iter().zip(names) {
        for (item, scale) in [(1, ""), (2, "*2"), (4, "*4"), (8, "*8")] {
            let elements = Operand::Memory(Memory::Elements { base, item, offset: 32 });
            let load = disassembled(|to| to.emit(op::VMOVUPS_LOAD, true, 9, None, elements, None));
            // The disassembler writes a scale of 1 too, or swaps equal terms.
            let text = load.replace("*1", "");
            assert_eq!(text, format!("vmovups ymm9,[{name}+rax{scale}+20h]"));
        }
        let at = Operand::Memory(Memory::At(base));
        let load = disassembled(|to| to.emit(op::VBROADCASTSS, true, 2, None, at, None));
        assert_eq!(load, format!("vbroadcastss ymm2,[{name}]"));
        assert_eq!(disassembled(|to| to.load_field(base, 24)), format!("mov {name},[rdi+18h]"));
        assert_eq!(disassembled(|to| to.add_to_field(1000, base)), format!("add [rdi+3E8h],{name}"));
    }
    let slot = Operand::Memory(Memory::Slot(2));
    let store = |vex, is_wide, operand| disassembled(|to| to.emit(vex, is_wide, 3, None, operand, None));
    assert_eq!(store(op::VMOVUPS_STORE, true, slot), "vmovups [rsp+40h],ymm3");
    assert_eq!(store(op::VMOVQ_STORE, false, slot), "vmovq [rsp+40h],xmm3");
    assert_eq!(store(op::VMOVD_STORE, false, slot), "vmovd [rsp+40h],xmm3");
    // Constants follow the code, padded to 64 bytes.
    let pool = Operand::Memory(Memory::Pool(8));
    assert_eq!(store(op::VBROADCASTSD, true, pool), "vbroadcastsd ymm3,[48h]");
    assert_eq!(disassembled(|to| to.advance(16)), "add rax,10h");
}

/// The instructions of AVX-512, with registers of all numbers.
#[test]
fn wide_instructions_are_what_a_disassembler_reads() {
    let disassembled = |emit: &dyn Fn(&mut Assembler)| disassembled_for(Isa::Avx512, emit);
    for (op, name) in [
        (op::add(false), "vaddps"),
        (op::add(true), "vaddpd"),
        (op::sub(true), "vsubpd"),
        (op::mul(false), "vmulps"),
        (op::div(true), "vdivpd"),
        (op::VPADDD, "vpaddd"),
        (op::VPADDQ, "vpaddq"),
        (op::VPSUBD, "vpsubd"),
        (op::VPSUBQ, "vpsubq"),
        (op::VPMULLD, "vpmulld"),
        (op::VPMINSD, "vpminsd"),
        (op::VPMINUD, "vpminud"),
        (op::VPMAXSD, "vpmaxsd"),
        (op::VPMAXUD, "vpmaxud"),
        (op::VPAND, "vpandd"),
        (op::VPANDN, "vpandnd"),
        (op::VPOR, "vpord"),
        (op::VPXOR, "vpxord"),
    ] {
        for (to, first, second) in [(1, 10, 3), (31, 16, 8), (9, 24, 23)] {
            let text = disassembled(&|code| {
                code.emit(op, true, to, Some(first), Operand::Register(second), None);
            });
            assert_eq!(text, format!("{name} zmm{to},zmm{first},zmm{second}"));
        }
    }
    for (op, is_whole, expected) in [
        (op::sqrt(false), true, "vsqrtps zmm25,zmm12"),
        (op::sqrt(true), true, "vsqrtpd zmm25,zmm12"),
        (op::VPABSD, true, "vpabsd zmm25,zmm12"),
        (op::VCVTPH2PS, true, "vcvtph2ps zmm25,ymm12"),
        (op::VCVTPS2PD, true, "vcvtps2pd zmm25,ymm12"),
        (op::VCVTPD2PS, true, "vcvtpd2ps ymm25,zmm12"),
        (op::VCVTDQ2PS, true, "vcvtdq2ps zmm25,zmm12"),
        (op::VCVTDQ2PD, true, "vcvtdq2pd zmm25,ymm12"),
        (op::VPMOVZXBD, true, "vpmovzxbd zmm25,xmm12"),
        (op::VPMOVZXBQ, true, "vpmovzxbq zmm25,xmm12"),
        (op::VPMOVZXWD, true, "vpmovzxwd zmm25,ymm12"),
        (op::VPMOVSXBD, false, "vpmovsxbd ymm25,xmm12"),
        (op::VPMOVSXWD, false, "vpmovsxwd ymm25,xmm12"),
        (op::VBROADCASTSS, true, "vbroadcastss zmm25,xmm12"),
        (op::VBROADCASTSD, true, "vbroadcastsd zmm25,xmm12"),
        (op::VPBROADCASTB, true, "vpbroadcastb zmm25,xmm12"),
        (op::VPBROADCASTW, true, "vpbroadcastw zmm25,xmm12"),
    ] {
        assert_eq!(
            disassembled(&|code| code.emit(op, is_whole, 25, None, Operand::Register(12), None)),
            expected
        );
    }
    let rounded = |is_double| {
        disassembled(&|code| code.emit(op::round(is_double), true, 1, None, Operand::Register(19), Some(9)))
    };
    assert_eq!(rounded(false), "vrndscaleps zmm1,zmm19,9");
    assert_eq!(rounded(true), "vrndscalepd zmm1,zmm19,9");
    assert_eq!(disassembled(&|code| code.shift_d(25, 3, true, 16)), "vpslld zmm25,zmm3,10h");
    assert_eq!(disassembled(&|code| code.shift_d(1, 28, false, 16)), "vpsrld zmm1,zmm28,10h");
    for (op, predicate, expected) in [
        (op::cmp(false), Some(0x11), "vcmplt_oqps k1,zmm20,zmm3; vpmovm2d zmm17,k1"),
        (op::cmp(true), Some(3), "vcmpunordpd k1,zmm20,zmm3; vpmovm2q zmm17,k1"),
        (op::VPCMPEQD, None, "vpcmpeqd k1,zmm20,zmm3; vpmovm2d zmm17,k1"),
        (op::VPCMPEQQ, None, "vpcmpeqq k1,zmm20,zmm3; vpmovm2q zmm17,k1"),
        (op::VPCMPGTD, None, "vpcmpgtd k1,zmm20,zmm3; vpmovm2d zmm17,k1"),
        (op::VPCMPGTQ, None, "vpcmpgtq k1,zmm20,zmm3; vpmovm2q zmm17,k1"),
    ] {
        assert_eq!(disassembled(&|code| code.compare(op, predicate, 17, [20, 3])), expected);
    }
    assert_eq!(
        disassembled(&|code| code.blend(9, 26, [11, 29])),
        "vpmovd2m k1,zmm26; vpblendmd zmm9{k1},zmm29,zmm11"
    );
    assert_eq!(
        disassembled(&|code| code.select(op::cmp(true), Some(0), 9, [1, 2, 30, 4])),
        "vcmpeqpd k1,zmm1,zmm2; vpblendmq zmm9{k1},zmm4,zmm30"
    );
    assert_eq!(disassembled(&|code| code.load_tail_mask(16)), "kmovw k7,[rdi+10h]");
    assert_eq!(
        disassembled(&|code| {
            code.jump_without_tail();
        }),
        "kortestw k7,k7; je 000000000000000Ah"
    );
}

/// Loads and stores of AVX-512, of whole vectors and of tails.
#[test]
fn wide_memory_operands_are_what_a_disassembler_reads() {
    let elements = Operand::Memory(Memory::Elements { base: BASES[1], item: 2, offset: 64 });
    let both = |emit: &dyn Fn(&mut Assembler)| {
        [false, true].map(|is_tail| {
            disassembled_for(Isa::Avx512, |code| {
                code.set_tail(is_tail);
                emit(code);
            })
        })
    };
    for (op, is_whole, vector) in [
        (op::VMOVUPS_LOAD, true, "vmovups zmm17"),
        (op::VMOVUPD_LOAD, true, "vmovupd zmm17"),
        (op::VMOVUPS_LOAD, false, "vmovups ymm17"),
        (op::VPMOVZXWD, true, "vpmovzxwd zmm17"),
        (op::VCVTPH2PS, true, "vcvtph2ps zmm17"),
    ] {
        let [whole, tail] = both(&|code| code.emit(op, is_whole, 17, None, elements, None));
        assert_eq!(whole, format!("{vector},[r8+rax*2+40h]"));
        assert_eq!(tail, format!("{vector}{{k7}}{{z}},[r8+rax*2+40h]"));
    }
    for (op, is_whole, immediate, name, register) in [
        (op::VMOVUPS_STORE, true, None, "vmovups", "zmm17"),
        (op::VMOVUPD_STORE, true, None, "vmovupd", "zmm17"),
        (op::VMOVUPS_STORE, false, None, "vmovups", "ymm17"),
        (op::VPMOVDB, true, None, "vpmovdb", "zmm17"),
        (op::VPMOVQB, true, None, "vpmovqb", "zmm17"),
        (op::VPMOVDW, true, None, "vpmovdw", "zmm17"),
        (op::VCVTPS2PH, true, Some(0), "vcvtps2ph", "zmm17,0"),
    ] {
        let [whole, tail] = both(&|code| code.emit_store(op, is_whole, 17, elements, immediate));
        assert_eq!(whole, format!("{name} [r8+rax*2+40h],{register}"));
        assert_eq!(tail, format!("{name} [r8+rax*2+40h]{{k7}},{register}"));
    }
    let slot = Operand::Memory(Memory::Slot(2));
    let [whole, tail] = both(&|code| code.emit_store(op::VMOVUPS_STORE, true, 30, slot, None));
    assert_eq!((&whole[..], &whole), ("vmovups [rsp+80h],zmm30", &tail));
    let pool = Operand::Memory(Memory::Pool(8));
    let [whole, tail] = both(&|code| code.emit(op::VBROADCASTSD, true, 3, None, pool, None));
    assert_eq!((&whole[..], &whole), ("vbroadcastsd zmm3,[48h]", &tail));
}
