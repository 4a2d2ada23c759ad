//! Random arrays, and comparison of results.

use half::{bf16, f16};
use ndarray::{ArrayD, Axis, IxDyn, Slice};
use num_complex::Complex;
use unishape::{DType, Tensor, TensorView};
use unishape_cuda::ArrayType;
use unishape_kernels::for_each_dtype;

/// Random numbers, the same in each run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let bits = self.0 ^ self.0 >> 29;
        bits.wrapping_mul(0xbf58476d1ce4e5b9) ^ bits >> 32
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub(crate) fn choose<'c, T>(&mut self, choices: &'c [T]) -> &'c T {
        &choices[self.below(choices.len())]
    }

    fn float(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Which numbers an array has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Numbers {
    /// Of any size, with infinities and NaN.
    Any,
    /// From 0.5 to 1.5, or small integers.
    Moderate,
}

trait Element: Sized + Clone {
    fn random(random: &mut Random, numbers: Numbers) -> Self;
}

fn random_float(random: &mut Random, numbers: Numbers) -> f64 {
    const SPECIAL: [f64; 10] =
        [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1.0, -1.0, 0.5, 1e-300, 3e5];
    match numbers {
        Numbers::Moderate => 0.5 + random.float(),
        Numbers::Any => match random.below(8) {
            0 => *random.choose(&SPECIAL),
            1..=4 => random.float() * 8.0 - 4.0,
            5 => random.float() * 2e3 - 1e3,
            6 => (random.float() * 40.0 - 20.0).floor(),
            _ => (random.float() - 0.5) * 10f64.powi(random.below(60) as i32 - 30),
        },
    }
}

macro_rules! elements {
    ($($type:ty: |$random:ident, $numbers:ident| $value:expr;)+) => {
        $(impl Element for $type {
            fn random($random: &mut Random, $numbers: Numbers) -> $type {
                $value
            }
        })+
    };
}
macro_rules! integers {
    ($($type:ty)+) => {
        elements! {
            $($type: |random, numbers| match (numbers, random.below(3)) {
                (Numbers::Moderate, _) => (random.below(7) + 1) as $type,
                (_, 0) => *random.choose(&[0, 1, 2, 7, <$type>::MAX, <$type>::MIN, <$type>::MIN.wrapping_sub(1) / 2]),
                (_, 1) => (random.below(40) as i64 - 20) as $type,
                _ => random.next() as $type,
            };)+
        }
    };
}
integers!(i8 i16 i32 i64 u8 u16 u32 u64);
elements! {
    f32: |random, numbers| random_float(random, numbers) as f32;
    f64: |random, numbers| random_float(random, numbers);
    f16: |random, numbers| f16::from_f32(random_float(random, numbers) as f32);
    bf16: |random, numbers| bf16::from_f32(random_float(random, numbers) as f32);
    bool: |random, _numbers| random.below(2) == 1;
    String: |_random, _numbers| String::new();
    Complex<f32>: |random, numbers| Complex::new(random_float(random, numbers) as f32, random_float(random, numbers) as f32);
    Complex<f64>: |random, numbers| Complex::new(random_float(random, numbers), random_float(random, numbers));
}

/// A random array.
pub(crate) fn tensor(random: &mut Random, dtype: DType, shape: &[usize], numbers: Numbers) -> Tensor {
    macro_rules! by_type {
        ($($variant:ident $type:ident $(<$part:ident>)? $name:literal $what:literal;)+) => {
            match dtype {
                $(DType::$variant => Tensor::from(ArrayD::<$type $(<$part>)?>::from_shape_simple_fn(
                    IxDyn(shape),
                    || <$type $(<$part>)? as Element>::random(random, numbers),
                )),)+
            }
        };
    }
    for_each_dtype!(by_type)
}

/// How a view of an array is made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    /// The axes of the array, in the order of the view's.
    pub(crate) order: Vec<usize>,
    /// First index and step of each axis of the view.
    pub(crate) slices: Vec<(usize, isize)>,
}

impl Layout {
    /// A random layout for a view of a shape, and the shape of the array for it.
    pub(crate) fn random(random: &mut Random, shape: &[usize]) -> (Layout, Vec<usize>) {
        let rank = shape.len();
        let mut order: Vec<usize> = (0..rank).collect();
        if random.below(3) == 0 {
            for at in (1..rank).rev() {
                order.swap(at, random.below(at + 1));
            }
        }
        let mut slices = vec![(0, 1); rank];
        let mut base = vec![0; rank];
        let is_sliced = random.below(3) == 0;
        for (axis, &size) in shape.iter().enumerate() {
            let mut own = size;
            if is_sliced {
                let (start, step): (usize, isize) =
                    *random.choose(&[(0, 1), (0, 1), (1, 1), (0, 2), (0, -1), (1, -2), (4, 1)]);
                slices[axis] = (start, step);
                own = start + size * step.unsigned_abs();
            }
            base[order[axis]] = own;
        }
        (Layout { order, slices }, base)
    }

    /// The view of an array, cut to a shape.
    pub(crate) fn view<'t>(&self, tensor: &'t Tensor, shape: &[usize]) -> TensorView<'t> {
        let view = tensor.view();
        macro_rules! by_type {
            ($($variant:ident $type:ident $(<$part:ident>)? $name:literal $what:literal;)+) => {
                match view {
                    $(TensorView::$variant(view) => {
                        let mut view = view.permuted_axes(IxDyn(&self.order));
                        for (axis, &(start, step)) in self.slices.iter().enumerate() {
                            view.slice_axis_inplace(Axis(axis), Slice::new(start as isize, None, step));
                            view.slice_axis_inplace(Axis(axis), Slice::from(0..shape[axis]));
                        }
                        TensorView::$variant(view)
                    })+
                }
            };
        }
        for_each_dtype!(by_type)
    }
}

/// How far results may be from those of the CPU executor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tolerance {
    /// The same bits, or both NaN.
    Exact,
    /// Relative to the magnitude of the number, or to 1.
    Relative(f64),
    /// Units of the dtype's precision, relative to the magnitude of the number.
    Units(f64),
}

/// Describes the first element that differs.
pub(crate) fn difference(found: &[u8], expected: &Tensor, tolerance: Tolerance) -> Option<String> {
    fn parts<T: Copy, const P: usize>(parts: [T; P], wide: impl Fn(T) -> f64) -> Vec<f64> {
        parts.map(wide).to_vec()
    }
    let check = |at: usize, same: bool, found: Vec<f64>, expected: Vec<f64>, unit: f64| {
        let size = expected.iter().map(|part| part.abs()).fold(0.0, f64::max);
        let close = |(a, b): (&f64, &f64)| {
            a.is_nan() && b.is_nan()
                || match tolerance {
                    Tolerance::Exact => same || expected.len() == 2 && a.to_bits() == b.to_bits(),
                    Tolerance::Relative(most) => a == b || (a - b).abs() <= most * size.max(1.0),
                    // Subnormal results of functions are less precise in units.
                    Tolerance::Units(units) => a == b || (a - b).abs() <= units * unit * size + unit * 1e-37,
                }
        };
        let is_close = found.iter().zip(&expected).all(close)
            // A complex number is NaN where one of its parts is.
            || found.len() == 2 && found.iter().any(|x| x.is_nan()) && expected.iter().any(|x| x.is_nan());
        (!is_close).then(|| format!("element {at}: {found:?} instead of {expected:?}"))
    };
    macro_rules! compare {
        ($array:ident, $type:ty, $unit:expr, |$x:ident| $parts:expr) => {{
            let found: Vec<$type> = found
                .chunks_exact(size_of::<$type>())
                .map(|bytes| bytemuck::pod_read_unaligned(bytes))
                .collect();
            assert_eq!(found.len(), $array.len());
            found.iter().zip($array.iter()).enumerate().find_map(|(at, (a, b))| {
                let wide = |$x: $type| $parts;
                let same = bytemuck::bytes_of(a) == bytemuck::bytes_of(b);
                check(at, same, wide(*a), wide(*b), $unit)
            })
        }};
    }
    match expected {
        Tensor::F32(array) => compare!(array, f32, f64::from(f32::EPSILON), |x| parts([x], f64::from)),
        Tensor::F64(array) => compare!(array, f64, f64::EPSILON, |x| vec![x]),
        Tensor::F16(array) => compare!(array, f16, 9.8e-4, |x| parts([x], f64::from)),
        Tensor::BF16(array) => compare!(array, bf16, 7.9e-3, |x| parts([x], f64::from)),
        Tensor::C64(array) => {
            compare!(array, Complex<f32>, f64::from(f32::EPSILON), |x| parts([x.re, x.im], f64::from))
        }
        Tensor::C128(array) => compare!(array, Complex<f64>, f64::EPSILON, |x| vec![x.re, x.im]),
        Tensor::Bool(array) => {
            let wrong = found.iter().zip(array.iter()).position(|(&a, &b)| a != u8::from(b));
            wrong.map(|at| format!("element {at}: {}", found[at]))
        }
        Tensor::I8(array) => compare!(array, i8, 0.0, |x| vec![x as f64]),
        Tensor::I16(array) => compare!(array, i16, 0.0, |x| vec![x as f64]),
        Tensor::I32(array) => compare!(array, i32, 0.0, |x| vec![x as f64]),
        Tensor::I64(array) => compare!(array, i64, 0.0, |x| vec![x as f64]),
        Tensor::U8(array) => compare!(array, u8, 0.0, |x| vec![x as f64]),
        Tensor::U16(array) => compare!(array, u16, 0.0, |x| vec![x as f64]),
        Tensor::U32(array) => compare!(array, u32, 0.0, |x| vec![x as f64]),
        Tensor::U64(array) => compare!(array, u64, 0.0, |x| vec![x as f64]),
        Tensor::Str(_) => Some("strings".into()),
    }
}

/// An array as plans see it, and its address.
pub(crate) struct HostArray {
    dtype: DType,
    shape: Vec<usize>,
    strides: Vec<isize>,
    pub(crate) address: u64,
}

impl HostArray {
    pub(crate) fn of(view: &TensorView<'_>) -> HostArray {
        macro_rules! by_type {
            ($($variant:ident $type:ident $(<$part:ident>)? $name:literal $what:literal;)+) => {
                match view {
                    $(TensorView::$variant(view) => (view.strides().to_vec(), view.as_ptr() as u64),)+
                }
            };
        }
        let (strides, address) = for_each_dtype!(by_type);
        HostArray { dtype: view.dtype(), shape: view.shape().to_vec(), strides, address }
    }

    pub(crate) fn array_type(&self) -> ArrayType<'_> {
        let alignment = 1 << self.address.trailing_zeros().min(8);
        ArrayType { dtype: self.dtype, shape: &self.shape, strides: &self.strides, alignment }
    }
}
