//! Tensors of every dtype, for the tests.

use crate::support::{Spec, strided};
use half::{bf16, f16};
use ndarray::{ArrayD, IxDyn};
use num_complex::Complex;
use unishape::{DType, Tensor, TensorView};

/// A tensor with special bit patterns: NaNs with payloads, −0, subnormals.
pub(crate) fn tensor_of(dtype: DType, shape: &[usize]) -> Tensor {
    fn fill<T: Clone>(shape: &[usize], element: impl Fn(u64) -> T) -> ArrayD<T> {
        let mut n = 0u64;
        ArrayD::from_shape_simple_fn(IxDyn(shape), || {
            n += 1;
            element(n.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17))
        })
    }
    let f32_of =
        |bits: u64| f32::from_bits([bits as u32, 0x7fa0_1234, 0x8000_0000, 0xffc0_0001][bits as usize % 4]);
    let f64_of = |bits: u64| f64::from_bits([bits, 0x7ff4_0000_dead_beef, 1 << 63][bits as usize % 3]);
    match dtype {
        DType::F16 => fill(shape, |bits| f16::from_bits(bits as u16)).into(),
        DType::BF16 => fill(shape, |bits| bf16::from_bits(bits as u16)).into(),
        DType::F32 => fill(shape, f32_of).into(),
        DType::F64 => fill(shape, f64_of).into(),
        DType::I8 => fill(shape, |bits| bits as i8).into(),
        DType::I16 => fill(shape, |bits| bits as i16).into(),
        DType::I32 => fill(shape, |bits| bits as i32).into(),
        DType::I64 => fill(shape, |bits| bits as i64).into(),
        DType::U8 => fill(shape, |bits| bits as u8).into(),
        DType::U16 => fill(shape, |bits| bits as u16).into(),
        DType::U32 => fill(shape, |bits| bits as u32).into(),
        DType::U64 => fill(shape, |bits| bits).into(),
        DType::Bool => fill(shape, |bits| bits % 2 == 1).into(),
        DType::Str => {
            fill(shape, |bits| ["", "é\u{1F980}", "a\0b", "x"][bits as usize % 4].to_string()).into()
        }
        DType::C64 => fill(shape, |bits| Complex::new(f32_of(bits), f32_of(bits >> 7))).into(),
        DType::C128 => fill(shape, |bits| Complex::new(f64_of(bits), f64_of(bits >> 7))).into(),
    }
}

/// Runs code on the typed array in a [`Tensor`] or a [`TensorView`].
macro_rules! for_typed {
    ($Enum:ident, $tensor:expr, |$array:ident| $body:block) => {
        match $tensor {
            unishape::$Enum::F16($array) => $body,
            unishape::$Enum::BF16($array) => $body,
            unishape::$Enum::F32($array) => $body,
            unishape::$Enum::F64($array) => $body,
            unishape::$Enum::I8($array) => $body,
            unishape::$Enum::I16($array) => $body,
            unishape::$Enum::I32($array) => $body,
            unishape::$Enum::I64($array) => $body,
            unishape::$Enum::U8($array) => $body,
            unishape::$Enum::U16($array) => $body,
            unishape::$Enum::U32($array) => $body,
            unishape::$Enum::U64($array) => $body,
            unishape::$Enum::Bool($array) => $body,
            unishape::$Enum::Str($array) => $body,
            unishape::$Enum::C64($array) => $body,
            unishape::$Enum::C128($array) => $body,
        }
    };
}
pub(crate) use for_typed;

/// A tensor with the memory layout of a [`Spec`].
pub(crate) struct StridedTensor {
    /// The memory, as a contiguous tensor of rank 1.
    memory: Tensor,
    spec: Spec,
}

impl StridedTensor {
    pub(crate) fn of(dtype: DType, spec: &Spec) -> StridedTensor {
        let length = strided(spec, |_| ()).memory.len();
        StridedTensor { memory: tensor_of(dtype, &[length]), spec: spec.clone() }
    }

    pub(crate) fn view(&self) -> TensorView<'_> {
        for_typed!(Tensor, &self.memory, |memory| {
            let layout = strided(&self.spec, |_| ());
            let memory = memory.view().into_shape_with_order(layout.memory.raw_dim());
            layout.view_of(memory.expect("as many elements")).into()
        })
    }
}

/// Bits of an element: NaNs compare by payload, and −0 is not 0 (BC-8).
pub(crate) trait Bits {
    fn bits(&self) -> Vec<u8>;
}

macro_rules! bits {
    ($($type:ty),+) => { $(impl Bits for $type {
        fn bits(&self) -> Vec<u8> {
            self.to_ne_bytes().to_vec()
        }
    })+ };
}
bits!(f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64);

impl Bits for bool {
    fn bits(&self) -> Vec<u8> {
        vec![*self as u8]
    }
}

impl Bits for String {
    fn bits(&self) -> Vec<u8> {
        self.clone().into_bytes()
    }
}

impl<T: Bits> Bits for Complex<T> {
    fn bits(&self) -> Vec<u8> {
        [self.re.bits(), self.im.bits()].concat()
    }
}

pub(crate) fn same_bits<T: Bits>(one: &[T], other: &[T]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(x, y)| x.bits() == y.bits())
}
