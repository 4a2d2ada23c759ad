//! Keys of kernels: what a kernel computes, for executors that have code of their own for it.

use crate::kernels::{Kernel, compare_mixed, find_cast, find_kernel};
use crate::{DType, Op};

/// What a [`Kernel`] computes.
///
/// ```
/// use unishape_kernels::{DType, KernelKey, Op};
///
/// let key = KernelKey::Call(Op::Sqrt, DType::F32);
/// assert_eq!((key.name(), key.result_dtype()), ("sqrt", DType::F32));
/// assert!(key.kernel().is_some());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KernelKey {
    /// An operation on inputs of a dtype; the first input of [`Op::Where`] is boolean.
    Call(Op, DType),
    /// A comparison of an `int64` and a `uint64`.
    ///
    /// `true` where the signed one comes first.
    CompareMixed(Op, bool),
    /// A cast from one dtype to another.
    Cast(DType, DType),
}

impl KernelKey {
    /// Name of the operation, or of the dtype that is cast to.
    ///
    /// ```
    /// # use unishape_kernels::{DType, KernelKey};
    /// assert_eq!(KernelKey::Cast(DType::F16, DType::F32).name(), "float32");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            KernelKey::Call(op, _) | KernelKey::CompareMixed(op, _) => op.name(),
            KernelKey::Cast(_, to) => to.name(),
        }
    }

    /// The kernel, if there is one.
    ///
    /// ```
    /// # use unishape_kernels::{DType, KernelKey, Op};
    /// // Computed as `b < a`.
    /// assert!(KernelKey::Call(Op::Greater, DType::I8).kernel().is_none());
    /// ```
    pub fn kernel(self) -> Option<Kernel> {
        match self {
            KernelKey::Call(op, dtype) => find_kernel(op, dtype),
            KernelKey::CompareMixed(op, signed_first) => compare_mixed(op, signed_first),
            KernelKey::Cast(from, to) => find_cast(from, to),
        }
    }

    /// Dtype of input `position`.
    ///
    /// ```
    /// # use unishape_kernels::{DType, KernelKey, Op};
    /// let choose = KernelKey::Call(Op::Where, DType::F64);
    /// assert_eq!([0, 1].map(|at| choose.input_dtype(at)), [DType::Bool, DType::F64]);
    /// ```
    pub const fn input_dtype(self, position: usize) -> DType {
        match self {
            KernelKey::Call(Op::Where, _) if position == 0 => DType::Bool,
            KernelKey::Call(_, dtype) | KernelKey::Cast(dtype, _) => dtype,
            KernelKey::CompareMixed(_, signed_first) if (position == 0) == signed_first => DType::I64,
            KernelKey::CompareMixed(..) => DType::U64,
        }
    }

    /// Dtype of the result.
    ///
    /// ```
    /// # use unishape_kernels::{DType, KernelKey, Op};
    /// assert_eq!(KernelKey::Call(Op::Less, DType::F64).result_dtype(), DType::Bool);
    /// assert_eq!(KernelKey::Call(Op::Abs, DType::C64).result_dtype(), DType::F32);
    /// ```
    pub const fn result_dtype(self) -> DType {
        match self {
            KernelKey::CompareMixed(..) => DType::Bool,
            KernelKey::Cast(_, to) => to,
            KernelKey::Call(op, dtype) => match op {
                Op::Equal | Op::NotEqual | Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual => {
                    DType::Bool
                }
                Op::LogicalAnd | Op::LogicalOr | Op::LogicalXor | Op::LogicalNot => DType::Bool,
                Op::IsNan | Op::IsInf | Op::IsFinite | Op::Signbit => DType::Bool,
                Op::Abs | Op::Real | Op::Imag => dtype.real_dtype(),
                _ => dtype,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::KernelKey;
    use crate::{DType, KernelContext, Op};

    /// What the kernel of a key computes from one element of each input.
    fn compute(key: KernelKey, inputs: &[&[u8]], bytes: usize) -> Vec<u8> {
        let mut output = [0u64; 2];
        let output: &mut [u8] = bytemuck::cast_slice_mut(&mut output);
        key.kernel().unwrap()(inputs, &mut output[..bytes], &mut KernelContext::default());
        output[..bytes].to_vec()
    }

    #[test]
    fn a_key_has_the_name_of_its_operation_or_dtype() {
        assert_eq!(KernelKey::Call(Op::Sqrt, DType::F32).name(), "sqrt");
        assert_eq!(KernelKey::CompareMixed(Op::Less, true).name(), "less");
        assert_eq!(KernelKey::Cast(DType::F16, DType::F32).name(), "float32");
    }

    #[test]
    fn a_key_finds_the_kernel_that_computes_it() {
        let (three, minus_one, huge) = ([3f64], [-1i64], [u64::MAX]);
        let [three, minus_one, huge]: [&[u8]; 3] =
            [bytemuck::cast_slice(&three), bytemuck::cast_slice(&minus_one), bytemuck::cast_slice(&huge)];
        let sum = compute(KernelKey::Call(Op::Add, DType::F64), &[three, three], 8);
        assert_eq!(sum, 6f64.to_ne_bytes());
        assert_eq!(compute(KernelKey::Cast(DType::F64, DType::I64), &[three], 8), 3i64.to_ne_bytes());
        // As 64 bits of either dtype the two would be equal.
        assert_eq!(compute(KernelKey::CompareMixed(Op::Less, true), &[minus_one, huge], 1), [1]);
        assert_eq!(compute(KernelKey::CompareMixed(Op::Less, false), &[huge, minus_one], 1), [0]);
        assert!(KernelKey::Call(Op::Greater, DType::I8).kernel().is_none());
    }

    #[test]
    fn inputs_have_the_dtype_of_the_key_but_for_conditions_and_mixed_comparisons() {
        let dtypes = |key: KernelKey| [0, 1, 2].map(|position| key.input_dtype(position));
        assert_eq!(dtypes(KernelKey::Call(Op::Add, DType::F64)), [DType::F64; 3]);
        assert_eq!(dtypes(KernelKey::Cast(DType::I8, DType::F64)), [DType::I8; 3]);
        assert_eq!(dtypes(KernelKey::Call(Op::Where, DType::F64)), [DType::Bool, DType::F64, DType::F64]);
        let [signed, unsigned] = [DType::I64, DType::U64];
        assert_eq!(dtypes(KernelKey::CompareMixed(Op::Less, true))[..2], [signed, unsigned]);
        assert_eq!(dtypes(KernelKey::CompareMixed(Op::Less, false))[..2], [unsigned, signed]);
    }

    #[test]
    fn results_have_the_dtype_of_the_inputs_but_for_conditions_and_parts_of_complex_numbers() {
        let result = |op| KernelKey::Call(op, DType::C128).result_dtype();
        for op in [Op::Equal, Op::NotEqual, Op::Less, Op::LessEqual, Op::Greater, Op::GreaterEqual] {
            assert_eq!(result(op), DType::Bool, "{op:?}");
        }
        for op in [Op::LogicalAnd, Op::LogicalOr, Op::LogicalXor, Op::LogicalNot] {
            assert_eq!(result(op), DType::Bool, "{op:?}");
        }
        for op in [Op::IsNan, Op::IsInf, Op::IsFinite, Op::Signbit] {
            assert_eq!(result(op), DType::Bool, "{op:?}");
        }
        for op in [Op::Abs, Op::Real, Op::Imag] {
            assert_eq!(result(op), DType::F64, "{op:?}");
        }
        assert_eq!([Op::Add, Op::Sqrt].map(result), [DType::C128; 2]);
        assert_eq!(KernelKey::CompareMixed(Op::Equal, true).result_dtype(), DType::Bool);
        assert_eq!(KernelKey::Cast(DType::F16, DType::C64).result_dtype(), DType::C64);
    }
}
