//! What the flags of a step's kernel report, and which of its values are exceptional.

use crate::flags;
use bytemuck::AnyBitPattern;
use unishape_kernels::{DType, DTypeKind, Kernel, KernelContext, KernelKey, Op};
use unishape_simd::{FloatFlags, SimdTask, run_avx2};

/// How exceptional results of a step are found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Check {
    /// The CPU's flags report them: arithmetic. Integers set none.
    Flags,
    /// There are none, but flags: comparisons of NaN, discarded branches.
    Ignored,
    /// Flags are ignored; results are compared with arguments.
    Values { dtype: DType, result: DType, pole: Pole },
    /// Integers that are divided; whether the smallest by -1 is too large.
    Divisor(DType, bool),
    /// Floating-point numbers that are truncated to integers within these limits, not included.
    Limits(f64, f64),
}

/// Where finite arguments give an exact infinity, other than by an overflow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pole {
    Nowhere,
    /// Wherever they do.
    Everywhere,
    /// Where this argument is 0.
    Zero(usize),
    /// Where the base of a power is 0, also if the exponent is infinite.
    Base,
}

impl Check {
    /// Of a kernel.
    pub(super) fn new(key: KernelKey) -> Check {
        use Op::*;
        let values = |pole, dtype| Check::Values { dtype, result: key.result_dtype(), pole };
        match key {
            KernelKey::CompareMixed(..) => Check::Flags,
            KernelKey::Cast(DType::F64, DType::F32) | KernelKey::Cast(DType::C128, DType::C64) => {
                Check::Flags
            }
            KernelKey::Cast(DType::F64, to) if to.is_integer() => match to {
                DType::I64 | DType::U32 => Check::Limits(BELOW_I64, TWO_63),
                DType::U64 => Check::Limits(BELOW_I64, 2.0 * TWO_63),
                _ => Check::Limits(-2_147_483_649.0, 2_147_483_648.0),
            },
            // Not by instructions of every CPU.
            KernelKey::Cast(from @ (DType::F32 | DType::F64), DType::F16) => values(Pole::Nowhere, from),
            KernelKey::Cast(..) => Check::Flags,
            KernelKey::Call(op @ (FloorDivide | Remainder | Fmod | TruncDivide), dtype)
                if dtype.kind() < DTypeKind::Float =>
            {
                Check::Divisor(dtype, op == FloorDivide)
            }
            KernelKey::Call(_, dtype) if dtype.kind() < DTypeKind::Float => Check::Flags,
            KernelKey::Call(op, dtype) => match op {
                Add | Subtract | Multiply => Check::Flags,
                Divide | Sqrt | TruncDivide if dtype.kind() == DTypeKind::Float => Check::Flags,
                Abs | Sign if dtype.kind() == DTypeKind::Float => Check::Ignored,
                Equal | NotEqual | Less | LessEqual | Min | Max | Where | Negative | Floor | Ceil | Trunc
                | Round | Copysign | LeakyRelu | Signbit | Conj | Real | Imag | IsFinite | IsInf | IsNan => {
                    Check::Ignored
                }
                Sigmoid | Erf | Atan | Tanh | Asinh | Cbrt | Atan2 if dtype.kind() == DTypeKind::Float => {
                    Check::Ignored
                }
                Log | Log2 | Log10 | Log1p | Atanh => values(Pole::Everywhere, dtype),
                Divide | FloorDivide => values(Pole::Zero(1), dtype),
                Pow => values(Pole::Base, dtype),
                _ => values(Pole::Nowhere, dtype),
            },
        }
    }

    /// Calls the kernel of a step, and finds its exceptional results where calls are watched.
    #[inline]
    pub(super) fn call(
        self,
        kernel: Kernel,
        inputs: &[&[u8]],
        output: &mut [u8],
        context: &mut KernelContext,
    ) {
        if self == Check::Flags || !flags::are_watched() {
            return kernel(inputs, output, context);
        }
        flags::add(flags::without(|| {
            kernel(inputs, output, context);
            self.find(inputs, output)
        }));
    }

    fn find(self, inputs: &[&[u8]], output: &[u8]) -> FloatFlags {
        match self {
            Check::Flags | Check::Ignored => FloatFlags::NONE,
            Check::Values { dtype, result, pole } => match dtype {
                DType::F32 | DType::C64 => find_values::<f32>(inputs, output, [dtype, result], pole),
                DType::F64 | DType::C128 => find_values::<f64>(inputs, output, [dtype, result], pole),
                _ => FloatFlags::NONE,
            },
            Check::Divisor(dtype, overflows) => match dtype {
                DType::I8 => divisions::<i8>(inputs, overflows.then_some([i8::MIN, -1])),
                DType::I16 => divisions::<i16>(inputs, overflows.then_some([i16::MIN, -1])),
                DType::I32 => divisions::<i32>(inputs, overflows.then_some([i32::MIN, -1])),
                DType::I64 => divisions::<i64>(inputs, overflows.then_some([i64::MIN, -1])),
                DType::U16 => divisions::<u16>(inputs, None),
                DType::U32 => divisions::<u32>(inputs, None),
                DType::U64 => divisions::<u64>(inputs, None),
                _ => divisions::<u8>(inputs, None),
            },
            Check::Limits(low, high) => {
                let values = bytemuck::cast_slice::<u8, f64>(inputs[0]);
                let is_outside = any(values, |&value: &f64| !(value > low && value < high));
                if is_outside { FloatFlags::INVALID } else { FloatFlags::NONE }
            }
        }
    }
}

/// 2⁶³, and the number below -2⁶³.
const TWO_63: f64 = 9_223_372_036_854_775_808.0;
const BELOW_I64: f64 = -9_223_372_036_854_777_856.0;

/// Elements that are tested between two branches, by SIMD code; the search ends after the first block with a match. Not
/// measured apart.
const BLOCK: usize = 256;

/// Whether a condition holds for any element. Vectorised.
fn any<T>(elements: &[T], holds: impl Fn(&T) -> bool) -> bool {
    struct Any<'a, T, F> {
        elements: &'a [T],
        holds: F,
        found: &'a mut bool,
    }
    impl<T, F: Fn(&T) -> bool> SimdTask for Any<'_, T, F> {
        #[inline(always)]
        fn run(self) {
            let Any { elements, holds, found } = self;
            *found = elements.chunks(BLOCK).any(
                #[inline(always)]
                |block| block.iter().fold(false, |found, element| found | holds(element)),
            );
        }
    }
    let mut found = false;
    run_avx2(Any { elements, holds, found: &mut found });
    found
}

/// A number by the bits of its magnitude, which are in the order of magnitudes, then infinity, then NaNs.
trait Magnitude: AnyBitPattern {
    type Bits: Ord + Default + Copy;
    const INFINITY: Self::Bits;

    fn magnitude(self) -> Self::Bits;

    #[inline(always)]
    fn is_finite(self) -> bool {
        self.magnitude() < Self::INFINITY
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        self.magnitude() > Self::INFINITY
    }
    #[inline(always)]
    fn is_zero(self) -> bool {
        self.magnitude() == Self::Bits::default()
    }
}

/// float16, as bits.
#[derive(Clone, Copy, AnyBitPattern)]
#[repr(transparent)]
struct Half(u16);

macro_rules! magnitudes {
    ($($T:ty, $Bits:ty, $bits:expr, $infinity:expr;)+) => {
        $(
            impl Magnitude for $T {
                // Signed, since AVX2 compares no others; the sign is 0.
                type Bits = $Bits;
                const INFINITY: $Bits = $infinity;

                #[inline(always)]
                fn magnitude(self) -> $Bits {
                    ($bits)(self) as $Bits & <$Bits>::MAX
                }
            }
        )+
    };
}
magnitudes! {
    f32, i32, f32::to_bits, 0x7F80_0000;
    f64, i64, f64::to_bits, 0x7FF0_0000_0000_0000;
    Half, i16, |half: Half| half.0, 0x7C00;
}

/// Whether all numbers are finite. Vectorised: only the largest magnitude is compared.
fn are_finite<T: Magnitude>(numbers: &[T]) -> bool {
    struct Largest<'a, T: Magnitude> {
        numbers: &'a [T],
        largest: &'a mut T::Bits,
    }
    impl<T: Magnitude> SimdTask for Largest<'_, T> {
        #[inline(always)]
        fn run(self) {
            let largest = |largest: T::Bits, number: &T| largest.max(number.magnitude());
            *self.largest = self.numbers.iter().fold(T::Bits::default(), largest);
        }
    }
    let mut largest = T::Bits::default();
    run_avx2(Largest { numbers, largest: &mut largest });
    largest < T::INFINITY
}

/// Exceptional results of a function of numbers whose parts are of type `T`; `dtypes` are those of arguments and result.
fn find_values<T: Magnitude>(inputs: &[&[u8]], output: &[u8], dtypes: [DType; 2], pole: Pole) -> FloatFlags {
    let [of_argument, of_result] = dtypes.map(|dtype| 1 + usize::from(dtype.is_complex()));
    let exceptions = Exceptions { inputs, of_argument, of_result, pole };
    match dtypes[1] {
        DType::F16 => exceptions.find::<T, Half>(bytemuck::cast_slice(output)),
        DType::Bool => FloatFlags::NONE,
        _ => exceptions.find::<T, T>(bytemuck::cast_slice(output)),
    }
}

/// The arguments of a function, and the number of parts of arguments and results.
struct Exceptions<'a> {
    inputs: &'a [&'a [u8]],
    of_argument: usize,
    of_result: usize,
    pole: Pole,
}

impl Exceptions<'_> {
    fn find<T: Magnitude, R: Magnitude>(&self, results: &[R]) -> FloatFlags {
        let mut found = FloatFlags::NONE;
        // Nearly always.
        if are_finite(results) {
            return found;
        }
        for (block, results) in results.chunks(BLOCK).enumerate() {
            if are_finite(results) {
                continue;
            }
            for (place, result) in results.chunks_exact(self.of_result).enumerate() {
                if result.iter().all(|part| part.is_finite()) {
                    continue;
                }
                let element = block * BLOCK / self.of_result + place;
                let arguments =
                    || (0..self.inputs.len()).flat_map(|number| self.argument::<T>(number, element));
                if arguments().any(|part| part.is_nan()) {
                    continue;
                }
                if result.iter().any(|part| part.is_nan()) {
                    found = found | FloatFlags::INVALID;
                }
                if result.iter().all(|part| part.is_finite() || part.is_nan()) {
                    continue;
                }
                let is_zero =
                    |number: usize| self.argument::<T>(number, element).iter().all(|part| part.is_zero());
                let are_finite = arguments().all(|part| part.is_finite());
                let is_pole = match self.pole {
                    Pole::Nowhere => false,
                    Pole::Everywhere => are_finite,
                    Pole::Zero(number) => are_finite && is_zero(number),
                    Pole::Base => is_zero(0),
                };
                if is_pole {
                    found = found | FloatFlags::DIVIDE;
                } else if are_finite {
                    found = found | FloatFlags::OVERFLOW;
                }
            }
        }
        found
    }

    /// The parts of an argument of an element.
    fn argument<T: Magnitude>(&self, number: usize, element: usize) -> &[T] {
        let all = bytemuck::cast_slice::<u8, T>(self.inputs[number]);
        let first = if all.len() == self.of_argument { 0 } else { element * self.of_argument };
        &all[first..][..self.of_argument]
    }
}

/// Whether integers are divided by 0, or one number by another, such as the smallest by -1, whose quotient is too large.
fn divisions<T: AnyBitPattern + PartialEq + Default>(
    inputs: &[&[u8]],
    overflowing: Option<[T; 2]>,
) -> FloatFlags {
    let &[dividends, divisors] = inputs else { return FloatFlags::NONE };
    let [dividends, divisors] = [dividends, divisors].map(bytemuck::cast_slice::<u8, T>);
    let mut found = FloatFlags::NONE;
    if any(divisors, |divisor| *divisor == T::default()) {
        found = found | FloatFlags::DIVIDE;
    }
    if let Some([smallest, minus_one]) = overflowing
        && any(divisors, |divisor| *divisor == minus_one)
    {
        let at = |all: &[T], element: usize| all[if all.len() == 1 { 0 } else { element }];
        let overflows = |element| at(dividends, element) == smallest && at(divisors, element) == minus_one;
        if (0..dividends.len().max(divisors.len())).any(overflows) {
            found = found | FloatFlags::OVERFLOW;
        }
    }
    found
}

#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod tests {
    use super::super::{Input, Options, Output, Program, Step, run};
    use super::*;
    use unishape_kernels::Constant;

    fn step(op: Op, inputs: &[usize]) -> Step {
        let key = KernelKey::Call(op, DType::F64);
        let item = key.result_dtype().item_size();
        Step { key, kernel: key.kernel().unwrap(), inputs: inputs.into(), item }
    }

    /// What a program of rows of one operand reports.
    fn found(program: &Program, rows: &[Vec<f64>]) -> FloatFlags {
        let shape = [rows.len(), rows[0].len()];
        let elements = rows.concat();
        let mut result = vec![0f64; elements.len()];
        let strides = [shape[1] as isize, 1];
        let options = Options { is_output_fresh: false, threads: Some(1), should_continue: &|_| true };
        let ((), found) = flags::watch(|| {
            // Safety: both have the elements of the shape.
            let (input, mut output) = unsafe {
                (
                    Input::new(elements.as_ptr(), &shape, &strides),
                    Output::new(result.as_mut_ptr(), &shape, &strides, u8::MAX),
                )
            };
            assert!(run(program, &[input], &mut output, options));
        });
        found
    }

    /// Kernels one by one and compiled together, for rows that fill vectors and for those that do not.
    #[test]
    fn only_elements_that_exist_are_reported() {
        let two = || vec![Constant::new(2f64)];
        // `2 / x - x`, `max(min(2, x), x) * x`, `sqrt(x + 2) / x`.
        let programs = [
            (vec![step(Op::Divide, &[1, 0]), step(Op::Subtract, &[2, 0])], FloatFlags::DIVIDE),
            (
                vec![step(Op::Min, &[1, 0]), step(Op::Max, &[2, 0]), step(Op::Multiply, &[3, 0])],
                FloatFlags::NONE,
            ),
            (
                vec![step(Op::Add, &[0, 1]), step(Op::Sqrt, &[2]), step(Op::Divide, &[3, 0])],
                FloatFlags::DIVIDE,
            ),
        ];
        for (steps, of_zero) in programs {
            let result = steps.len() + 1;
            let program = Program::new(vec![8], two(), steps, result);
            for program in [program.clone(), program.with_immediate_fusion()] {
                for (rows, len) in (1..70).map(|len| (1, len)).chain([(3, 1), (5, 3), (2, 9), (40, 130)]) {
                    let with = |value: f64, place: usize| {
                        let mut elements = vec![vec![1.5; len]; rows];
                        elements[place % rows][place % len] = value;
                        elements
                    };
                    for place in [0, len - 1, len / 2] {
                        let found = |value| found(&program, &with(value, place));
                        assert_eq!(found(1.0), FloatFlags::NONE, "{rows} × {len}");
                        assert_eq!(found(f64::NAN), FloatFlags::NONE, "{rows} × {len}");
                        assert_eq!(found(0.0), of_zero, "{rows} × {len}");
                    }
                }
            }
        }
    }

    #[test]
    fn values_and_divisors() {
        let kernel = |key: KernelKey, inputs: &[&[u8]], bytes: usize| {
            let mut output = vec![0u64; bytes.div_ceil(8)];
            let output = &mut bytemuck::cast_slice_mut(&mut output)[..bytes];
            let check = Check::new(key);
            flags::watch(|| check.call(key.kernel().unwrap(), inputs, output, &mut KernelContext::default()))
                .1
        };
        let log = |x: f64| {
            kernel(KernelKey::Call(Op::Log, DType::F64), &[bytemuck::cast_slice(&[1.0, x, 2.0])], 24)
        };
        assert_eq!(log(0.0), FloatFlags::DIVIDE);
        assert_eq!(log(-1.0), FloatFlags::INVALID);
        assert_eq!([f64::NAN, f64::INFINITY, 5.0].map(log), [FloatFlags::NONE; 3]);
        let quotient = |a: i32, b: i32| {
            let key = KernelKey::Call(Op::FloorDivide, DType::I32);
            kernel(key, &[bytemuck::cast_slice(&[7, a]), bytemuck::cast_slice(&[b])], 8)
        };
        assert_eq!(quotient(1, 0), FloatFlags::DIVIDE);
        assert_eq!(quotient(i32::MIN, -1), FloatFlags::OVERFLOW);
        assert_eq!(quotient(i32::MIN, 1), FloatFlags::NONE);
        let cast = |x: f64, to: DType| {
            kernel(KernelKey::Cast(DType::F64, to), &[bytemuck::cast_slice(&[x])], to.item_size())
        };
        assert_eq!([300.0, 3e9].map(|x| cast(x, DType::U8)), [FloatFlags::NONE, FloatFlags::INVALID]);
        assert_eq!([-9.3e18, 1e19].map(|x| cast(x, DType::U64)), [FloatFlags::INVALID, FloatFlags::NONE]);
        assert_eq!([1e5, 1e3].map(|x| cast(x, DType::F16)), [FloatFlags::OVERFLOW, FloatFlags::NONE]);
    }
}
