//! Single elements of any dtype.

use crate::{DType, Kernel, KernelContext, Scalar};
use half::{bf16, f16};
use num_complex::Complex;

/// One element of any dtype but text, aligned for all of them.
///
/// ```
/// use unishape_kernels::Constant;
///
/// let constant = Constant::new(2.5_f32);
/// assert_eq!(constant.get::<f32>(), Some(2.5));
/// assert_eq!(constant.bytes().len(), 4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(align(16))]
pub struct Constant {
    bytes: [u8; 16],
    item_size: usize,
}

impl Constant {
    /// Creates a constant from an element of at most 16 bytes.
    ///
    /// ```
    /// # use unishape_kernels::Constant;
    /// assert_eq!(Constant::new(7_u8).bytes(), [7]);
    /// ```
    pub fn new<T: bytemuck::NoUninit>(element: T) -> Constant {
        let (mut bytes, item_size) = ([0; 16], size_of::<T>());
        bytes[..item_size].copy_from_slice(bytemuck::bytes_of(&element));
        Constant { bytes, item_size }
    }

    /// Converts a scalar to an element; `None` if the dtype cannot represent it.
    ///
    /// Floating-point dtypes round. Integer dtypes take integers in their range only.
    ///
    /// ```
    /// # use unishape_kernels::{Constant, DType, Scalar};
    /// assert_eq!(Constant::from_scalar(Scalar::Int(7), DType::F64), Some(Constant::new(7.0)));
    /// assert_eq!(Constant::from_scalar(Scalar::Int(256), DType::U8), None);
    /// ```
    pub fn from_scalar(scalar: Scalar, dtype: DType) -> Option<Constant> {
        let (complex, int) = match scalar {
            Scalar::Bool(bool) => return Constant::from_scalar(Scalar::Int(bool.into()), dtype),
            Scalar::Int(int) => (Complex::new(int as f64, 0.0), Some(int)),
            Scalar::Float(float) => (Complex::new(float, 0.0), None),
            Scalar::Complex(complex) => (complex, None),
        };
        if complex.im != 0.0 && !dtype.is_complex() && dtype != DType::Bool {
            return None;
        }
        let int = || int.filter(|&int| dtype.can_hold(int));
        Some(match dtype {
            DType::Bool => Constant::new((complex != Complex::ZERO) as u8),
            DType::I8 => Constant::new(int()? as i8),
            DType::I16 => Constant::new(int()? as i16),
            DType::I32 => Constant::new(int()? as i32),
            DType::I64 => Constant::new(int()? as i64),
            DType::U8 => Constant::new(int()? as u8),
            DType::U16 => Constant::new(int()? as u16),
            DType::U32 => Constant::new(int()? as u32),
            DType::U64 => Constant::new(int()? as u64),
            DType::F16 => Constant::new(f16::from_f64(complex.re)),
            DType::BF16 => Constant::new(bf16::from_f64(complex.re)),
            DType::F32 => Constant::new(complex.re as f32),
            DType::F64 => Constant::new(complex.re),
            DType::C64 => Constant::new(Complex::new(complex.re as f32, complex.im as f32)),
            DType::C128 => Constant::new(complex),
            DType::Str => return None,
        })
    }

    /// Applies a kernel to constants; its result has `item_size` bytes.
    ///
    /// ```
    /// # use unishape_kernels::{Constant, DType, Op, find_kernel};
    /// let add = find_kernel(Op::Add, DType::U16).unwrap();
    /// let sum = Constant::evaluate(add, &[Constant::new(300_u16), Constant::new(7_u16)], 2);
    /// assert_eq!(sum, Constant::new(307_u16));
    /// ```
    pub fn evaluate(kernel: Kernel, inputs: &[Constant], item_size: usize) -> Constant {
        let mut result = Constant { bytes: [0; 16], item_size };
        let inputs: Vec<&[u8]> = inputs.iter().map(Constant::bytes).collect();
        kernel(&inputs, &mut result.bytes[..item_size], &mut KernelContext::default());
        result
    }

    /// The element as a `T`; `None` if the size differs.
    ///
    /// ```
    /// # use unishape_kernels::Constant;
    /// assert_eq!(Constant::new(7_u8).get::<u16>(), None);
    /// ```
    pub fn get<T: bytemuck::AnyBitPattern>(&self) -> Option<T> {
        bytemuck::try_pod_read_unaligned(self.bytes()).ok()
    }

    /// The bytes of the element.
    ///
    /// ```
    /// # use unishape_kernels::Constant;
    /// assert_eq!(Constant::new(u16::MAX).bytes(), [255, 255]);
    /// ```
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.item_size]
    }
}

#[cfg(test)]
mod tests {
    use super::Constant;
    use crate::{DType, Op, Scalar, find_kernel};
    use half::{bf16, f16};
    use num_complex::Complex;

    fn constant<T: bytemuck::AnyBitPattern>(scalar: Scalar, dtype: DType) -> Option<T> {
        Constant::from_scalar(scalar, dtype)?.get()
    }

    #[test]
    fn scalars_of_every_dtype() {
        let seven = Scalar::Int(7);
        assert_eq!(constant(seven, DType::I8), Some(7_i8));
        assert_eq!(constant(seven, DType::I16), Some(7_i16));
        assert_eq!(constant(seven, DType::I32), Some(7_i32));
        assert_eq!(constant(seven, DType::I64), Some(7_i64));
        assert_eq!(constant(seven, DType::U8), Some(7_u8));
        assert_eq!(constant(seven, DType::U16), Some(7_u16));
        assert_eq!(constant(seven, DType::U32), Some(7_u32));
        assert_eq!(constant(seven, DType::U64), Some(7_u64));
        assert_eq!(constant(seven, DType::F16), Some(f16::from_f64(7.0)));
        assert_eq!(constant(seven, DType::BF16), Some(bf16::from_f64(7.0)));
        assert_eq!(constant(seven, DType::F32), Some(7.0_f32));
        assert_eq!(constant(seven, DType::F64), Some(7.0_f64));
        assert_eq!(constant(seven, DType::C64), Some(Complex::new(7.0_f32, 0.0)));
        assert_eq!(constant(seven, DType::C128), Some(Complex::new(7.0_f64, 0.0)));
        assert_eq!(Constant::from_scalar(seven, DType::Str), None);
    }

    #[test]
    fn scalars_that_a_dtype_cannot_represent() {
        let i = Scalar::Complex(Complex::I);
        for &dtype in DType::ALL {
            assert_eq!(constant::<u8>(i, dtype).is_some(), dtype == DType::Bool, "{dtype}");
            assert_eq!(
                Constant::from_scalar(i, dtype).is_some(),
                dtype.is_complex() || dtype == DType::Bool,
                "{dtype}"
            );
            let half = Constant::from_scalar(Scalar::Float(0.5), dtype);
            assert_eq!(half.is_some(), !dtype.is_integer() && dtype != DType::Str, "{dtype}");
        }
        // A complex number without an imaginary part is real.
        assert_eq!(constant(Scalar::Complex(Complex::new(2.0, 0.0)), DType::F32), Some(2.0_f32));
        assert_eq!(constant::<u8>(Scalar::Int(256), DType::U8), None);
    }

    #[test]
    fn everything_but_zero_is_true() {
        for (scalar, expected) in [
            (Scalar::Int(2), 1_u8),
            (Scalar::Int(0), 0),
            (Scalar::Float(0.5), 1),
            (Scalar::Float(-0.0), 0),
            (Scalar::Complex(Complex::I), 1),
            (Scalar::Bool(true), 1),
        ] {
            assert_eq!(constant(scalar, DType::Bool), Some(expected), "{scalar}");
        }
        assert_eq!(constant(Scalar::Bool(true), DType::F64), Some(1.0));
    }

    #[test]
    fn bytes_and_kernels() {
        let constant = Constant::new(0x0102_u16.to_be());
        assert_eq!(constant.bytes(), [1, 2]);
        assert_eq!((constant.get::<u8>(), constant.get::<u32>()), (None, None));
        let add = find_kernel(Op::Add, DType::U16).unwrap();
        let sum = Constant::evaluate(add, &[Constant::new(300_u16), Constant::new(7_u16)], 2);
        assert_eq!(sum.get(), Some(307_u16));
    }
}
