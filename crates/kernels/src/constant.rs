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
