//! Which kernels exist, and results of each kind of kernel.

use super::{compare_mixed, find_kernel};
use crate::{Constant, DType, Kernel, KernelContext, Op, Scalar};
use num_complex::Complex;

const INTEGERS: [DType; 8] =
    [DType::U8, DType::U16, DType::U32, DType::U64, DType::I8, DType::I16, DType::I32, DType::I64];

/// Applies a kernel to blocks of elements.
fn apply<A: bytemuck::Pod, R: bytemuck::Pod + Default>(kernel: Kernel, inputs: &[&[A]]) -> Vec<R> {
    let len = inputs.iter().map(|input| input.len()).max().unwrap();
    let mut output = vec![R::default(); len];
    let inputs: Vec<&[u8]> = inputs.iter().map(|input| bytemuck::cast_slice(input)).collect();
    kernel(&inputs, bytemuck::cast_slice_mut(&mut output), &mut KernelContext::default());
    output
}

/// Operations that have a kernel for a dtype, besides those of `known`.
fn others(dtype: DType, known: &[Op]) -> Vec<Op> {
    let has_kernel = |op: &Op| !known.contains(op) && find_kernel(*op, dtype).is_some();
    Op::ALL.iter().copied().filter(has_kernel).collect()
}

#[test]
fn kernels_of_each_dtype() {
    use Op::*;
    let unsigned = [
        Add,
        And,
        Equal,
        FloorDivide,
        Fmod,
        Invert,
        Less,
        LessEqual,
        Max,
        Min,
        Multiply,
        NotEqual,
        Or,
        Pow,
        Remainder,
        ShiftLeft,
        ShiftRight,
        Sign,
        Subtract,
        TruncDivide,
        Where,
        Xor,
    ];
    for dtype in INTEGERS {
        assert!(unsigned.iter().all(|&op| find_kernel(op, dtype).is_some()), "{dtype}");
        let signed: &[Op] = if dtype.can_hold(-1) { &[Abs] } else { &[] };
        assert_eq!(others(dtype, &unsigned), signed, "{dtype}");
    }
    assert_eq!(others(DType::Bool, &unsigned), [LogicalAnd, LogicalNot, LogicalOr, LogicalXor]);
    for dtype in [DType::F16, DType::BF16] {
        assert_eq!(others(dtype, &[]), [Nextafter, Where], "{dtype}");
    }
    assert_eq!(others(DType::Str, &[]), []);

    let complex = [
        Abs, Add, Conj, Divide, Equal, Imag, IsFinite, IsInf, Less, LessEqual, Max, Min, Multiply, Negative,
        NotEqual, Real, Round, Subtract, Where,
    ];
    assert!(complex.iter().all(|&op| find_kernel(op, DType::C64).is_some()));
    assert_eq!(others(DType::C64, &complex), []);
    // Elementary functions of complex64 are computed as complex128.
    let functions = [
        Acos, Acosh, Asin, Asinh, Atan, Atanh, Cos, Cosh, Exp, Exp2, Expm1, Log, Log10, Log1p, Log2, Pow,
        Sign, Sin, Sinh, Sqrt, Tan, Tanh,
    ];
    assert_eq!(others(DType::C128, &complex), functions);
}

#[test]
fn bitwise_operations_of_every_integer_dtype() {
    let [a, b] = [0b1100, 0b1010];
    for dtype in INTEGERS {
        let constant = |int| Constant::from_scalar(Scalar::Int(int), dtype).unwrap();
        let result = |op| {
            let kernel = find_kernel(op, dtype).unwrap();
            Constant::evaluate(kernel, &[constant(a), constant(b)], dtype.item_size())
        };
        for (op, expected) in [(Op::And, a & b), (Op::Or, a | b), (Op::Xor, a ^ b)] {
            assert_eq!(result(op), constant(expected), "{op:?} of {dtype}");
        }
        // Arithmetic is not logical.
        for (op, expected) in [(Op::Add, a + b), (Op::Multiply, a * b), (Op::Min, b), (Op::Max, a)] {
            assert_eq!(result(op), constant(expected), "{op:?} of {dtype}");
        }
        let not_equal =
            Constant::evaluate(find_kernel(Op::NotEqual, dtype).unwrap(), &[constant(a), constant(b)], 1);
        assert_eq!(not_equal, Constant::new(1_u8), "{dtype}");
    }
    let invert = find_kernel(Op::Invert, DType::U8).unwrap();
    assert_eq!(apply::<u8, u8>(invert, &[&[0, 1, 0xf0]]), [0xff, 0xfe, 0x0f]);
}

#[test]
fn logical_operations() {
    let (a, b) = ([0, 0, 1, 1], [0, 1, 0, 1]);
    for (op, expected) in [
        (Op::And, [0, 0, 0, 1]),
        (Op::LogicalAnd, [0, 0, 0, 1]),
        (Op::Multiply, [0, 0, 0, 1]),
        (Op::Min, [0, 0, 0, 1]),
        (Op::Or, [0, 1, 1, 1]),
        (Op::LogicalOr, [0, 1, 1, 1]),
        (Op::Add, [0, 1, 1, 1]),
        (Op::Max, [0, 1, 1, 1]),
        (Op::Xor, [0, 1, 1, 0]),
        (Op::LogicalXor, [0, 1, 1, 0]),
        (Op::NotEqual, [0, 1, 1, 0]),
        (Op::Equal, [1, 0, 0, 1]),
        (Op::Less, [0, 1, 0, 0]),
        (Op::LessEqual, [1, 1, 0, 1]),
    ] {
        let kernel = find_kernel(op, DType::Bool).unwrap();
        assert_eq!(apply::<u8, u8>(kernel, &[&a, &b]), expected, "{op:?}");
    }
    for op in [Op::Invert, Op::LogicalNot] {
        assert_eq!(apply::<u8, u8>(find_kernel(op, DType::Bool).unwrap(), &[&[0, 1]]), [1, 0], "{op:?}");
    }
}

/// Selects bytes of elements of each size, with each set of broadcast scalars.
#[test]
fn where_selects() {
    for dtype in [DType::U8, DType::F16, DType::F32, DType::I64, DType::C64, DType::C128] {
        let (kernel, size) = (find_kernel(Op::Where, dtype).unwrap(), dtype.item_size());
        let condition = [1, 0, 1, 1, 0_u8];
        let elements = |first: u8, len: usize| {
            let mut words = vec![0_u128; 5];
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
            bytes.iter_mut().zip(first..).for_each(|(byte, number)| *byte = number);
            (words, len * size)
        };
        for scalars in 0..7 {
            let len = |input: usize| if scalars >> input & 1 == 1 { 1 } else { 5 };
            let (a, b) = (elements(1, len(1)), elements(101, len(2)));
            let [a, b] = [&a, &b].map(|(words, bytes)| &bytemuck::cast_slice::<u128, u8>(words)[..*bytes]);
            let condition = &condition[..len(0)];
            let mut output = [0_u128; 5];
            let output = &mut bytemuck::cast_slice_mut(&mut output)[..5 * size];
            kernel(&[condition, a, b], output, &mut KernelContext::default());
            for (i, result) in output.chunks(size).enumerate() {
                let element = |input: &[u8]| input[if input.len() == size { 0 } else { i * size }];
                let expected = if condition[i % condition.len()] == 1 { element(a) } else { element(b) };
                assert_eq!(result[0], expected, "{dtype}, element {i}, scalar inputs: {scalars:b}");
                assert_eq!(usize::from(result[size - 1] - result[0]), size - 1, "{dtype}, element {i}");
            }
        }
    }
}

/// A kernel of each SIMD width, and both kinds of elementary functions.
#[test]
fn arithmetic_and_functions() {
    let find = |op, dtype| find_kernel(op, dtype).unwrap();
    assert_eq!(apply::<f32, f32>(find(Op::Subtract, DType::F32), &[&[5.0, 7.0], &[2.0, 3.0]]), [3.0, 4.0]);
    assert_eq!(apply::<f64, u8>(find(Op::Less, DType::F64), &[&[5.0, 7.0], &[6.0]]), [1, 0]);
    assert_eq!(apply::<i32, i32>(find(Op::FloorDivide, DType::I32), &[&[-7], &[2, 3]]), [-4, -3]);
    assert_eq!(apply::<i32, i32>(find(Op::FloorDivide, DType::I32), &[&[-7, 7], &[2]]), [-4, 3]);
    assert_eq!(apply::<f64, f64>(find(Op::Sqrt, DType::F64), &[&[4.0, 9.0]]), [2.0, 3.0]);
    assert_eq!(apply::<f64, f64>(find(Op::Exp2, DType::F64), &[&[3.0, -1.0]]), [8.0, 0.5]);
    assert_eq!(apply::<f32, f32>(find(Op::Pow, DType::F32), &[&[3.0, 2.0], &[2.0]]), [9.0, 4.0]);
    let z = Complex::new(3.0, -4.0);
    assert_eq!(apply::<_, f64>(find(Op::Abs, DType::C128), &[&[z]]), [5.0]);
    assert_eq!(apply::<_, f32>(find(Op::Abs, DType::C64), &[&[Complex::new(3.0_f32, -4.0)]]), [5.0]);
}

#[test]
fn functions_of_complex_numbers_are_those_of_their_name() {
    type Function = fn(Complex<f64>) -> Complex<f64>;
    let z = Complex::new(0.3, 0.4);
    let functions: [(Op, Function); 20] = [
        (Op::Sqrt, |z| z.sqrt()),
        (Op::Sign, |z| z / z.norm()),
        (Op::Exp, |z| z.exp()),
        (Op::Expm1, |z| z.exp() - 1.0),
        (Op::Log, |z| z.ln()),
        (Op::Log2, |z| z.log2()),
        (Op::Log10, |z| z.log10()),
        (Op::Log1p, |z| (z + 1.0).ln()),
        (Op::Sin, |z| z.sin()),
        (Op::Cos, |z| z.cos()),
        (Op::Tan, |z| z.tan()),
        (Op::Asin, |z| z.asin()),
        (Op::Acos, |z| z.acos()),
        (Op::Atan, |z| z.atan()),
        (Op::Sinh, |z| z.sinh()),
        (Op::Cosh, |z| z.cosh()),
        (Op::Tanh, |z| z.tanh()),
        (Op::Asinh, |z| z.asinh()),
        (Op::Acosh, |z| z.acosh()),
        (Op::Atanh, |z| z.atanh()),
    ];
    for (op, function) in functions {
        let result: Vec<Complex<f64>> = apply(find_kernel(op, DType::C128).unwrap(), &[&[z]]);
        assert!((result[0] - function(z)).norm() < 1e-14, "{op:?}: {} for {}", result[0], function(z));
    }
    let power: Vec<Complex<f64>> =
        apply(find_kernel(Op::Pow, DType::C128).unwrap(), &[&[z], &[Complex::new(2.0, 0.0)]]);
    assert!((power[0] - z * z).norm() < 1e-14);
}

#[test]
fn signed_and_unsigned_integers_are_compared_exactly() {
    let pairs = [(-1_i64, u64::MAX), (5, 5), (i64::MAX, 1 << 63), (7, 6)];
    for (op, expected) in [
        (Op::Equal, [0, 1, 0, 0]),
        (Op::NotEqual, [1, 0, 1, 1]),
        (Op::Less, [1, 0, 1, 0]),
        (Op::LessEqual, [1, 1, 1, 0]),
    ] {
        let kernel = compare_mixed(op, true).unwrap();
        let results =
            pairs.map(|(a, b)| Constant::evaluate(kernel, &[Constant::new(a), Constant::new(b)], 1));
        assert_eq!(results, expected.map(|byte: u8| Constant::new(byte)), "{op:?}");
    }
    // The other order: u64::MAX < -1 is false.
    let less = compare_mixed(Op::Less, false).unwrap();
    let result = Constant::evaluate(less, &[Constant::new(u64::MAX), Constant::new(-1_i64)], 1);
    assert_eq!(result, Constant::new(0_u8));
    assert!(compare_mixed(Op::Add, true).is_none());
}
