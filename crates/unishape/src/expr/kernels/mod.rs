//! What is done to blocks of elements: one kernel for each function and each type that it computes in.
//!
//! A kernel sees bytes, so that all have one type; here they become slices of elements again. Booleans are
//! bytes that are 0 or 1, and every kernel that gives booleans gives one of these. Half precision is
//! computed in single precision, and so only cast.

mod cast;
mod complex;
mod float;
mod integer;
mod truth;

use super::op::Op;
use crate::loops::{Job, Kernel, at_full_width};
use crate::tensor::DType;
use bytemuck::{AnyBitPattern, NoUninit};

pub(super) use cast::{cast, constant};

/// The kernel of a function for arguments of this type.
pub(super) fn find(op: Op, dtype: DType) -> Option<Kernel> {
    match dtype {
        _ if op == Op::Where => truth::choose(dtype.item()),
        DType::Bool => truth::find(op),
        DType::I8 => integer::i8(op),
        DType::I16 => integer::i16(op),
        DType::I32 => integer::i32(op),
        DType::I64 => integer::i64(op),
        DType::U8 => integer::u8(op),
        DType::U16 => integer::u16(op),
        DType::U32 => integer::u32(op),
        DType::U64 => integer::u64(op),
        DType::F32 => float::f32(op),
        DType::F64 => float::f64(op),
        DType::F16 if op == Op::Nextafter => Some(float::nextafter_f16),
        DType::BF16 if op == Op::Nextafter => Some(float::nextafter_bf16),
        DType::C64 => complex::c64(op),
        DType::C128 => complex::c128(op),
        DType::F16 | DType::BF16 | DType::Str => None,
    }
}

pub(super) use integer::compare_mixed;

impl DType {
    /// Bytes of an element, as blocks have it.
    pub(crate) const fn item(self) -> usize {
        match self {
            DType::Bool | DType::I8 | DType::U8 => 1,
            DType::F16 | DType::BF16 | DType::I16 | DType::U16 => 2,
            DType::F32 | DType::I32 | DType::U32 => 4,
            DType::F64 | DType::I64 | DType::U64 | DType::C64 => 8,
            DType::C128 => 16,
            DType::Str => 0,
        }
    }
}

/// Something to be done with all elements of some blocks, at the width of the CPU's vectors.
struct Loop<F: FnOnce()>(F);

impl<F: FnOnce()> Job for Loop<F> {
    #[inline(always)]
    fn run(self) {
        (self.0)();
    }
}

/// Applies a function of one element.
#[inline(always)]
fn unary<A: AnyBitPattern, R: NoUninit + AnyBitPattern>(
    from: &[&[u8]],
    to: &mut [u8],
    function: impl Fn(A) -> R,
) {
    let &[a] = from else {
        return;
    };
    let (a, to) = (bytemuck::cast_slice::<u8, A>(a), bytemuck::cast_slice_mut::<u8, R>(to));
    at_full_width(Loop(
        #[inline(always)]
        || {
            for (to, &a) in to.iter_mut().zip(a) {
                *to = function(a);
            }
        },
    ));
}

/// Applies a function of two elements.
#[inline(always)]
fn binary<A: AnyBitPattern, B: AnyBitPattern, R: NoUninit + AnyBitPattern>(
    from: &[&[u8]],
    to: &mut [u8],
    function: impl Fn(A, B) -> R,
) {
    let &[a, b] = from else {
        return;
    };
    let (a, b) = (bytemuck::cast_slice::<u8, A>(a), bytemuck::cast_slice::<u8, B>(b));
    let to = bytemuck::cast_slice_mut::<u8, R>(to);
    at_full_width(Loop(
        #[inline(always)]
        || {
            for ((to, &a), &b) in to.iter_mut().zip(a).zip(b) {
                *to = function(a, b);
            }
        },
    ));
}

/// Applies a function of three elements.
#[inline(always)]
fn ternary<A: AnyBitPattern, B: AnyBitPattern, C: AnyBitPattern, R: NoUninit + AnyBitPattern>(
    from: &[&[u8]],
    to: &mut [u8],
    function: impl Fn(A, B, C) -> R,
) {
    let &[a, b, c] = from else {
        return;
    };
    let (a, b) = (bytemuck::cast_slice::<u8, A>(a), bytemuck::cast_slice::<u8, B>(b));
    let (c, to) = (bytemuck::cast_slice::<u8, C>(c), bytemuck::cast_slice_mut::<u8, R>(to));
    at_full_width(Loop(
        #[inline(always)]
        || {
            for (((to, &a), &b), &c) in to.iter_mut().zip(a).zip(b).zip(c) {
                *to = function(a, b, c);
            }
        },
    ));
}

/// A kernel from a closure over typed elements. Each is a function of its own, so that its loop is compiled
/// for it.
macro_rules! kernel {
    (|$a:ident: $A:ty| -> $R:ty { $body:expr }) => {{
        fn kernel(from: &[&[u8]], to: &mut [u8]) {
            $crate::expr::kernels::unary::<$A, $R>(
                from,
                to,
                #[inline(always)]
                |$a| $body,
            );
        }
        kernel as $crate::loops::Kernel
    }};
    (|$a:ident: $A:ty, $b:ident: $B:ty| -> $R:ty { $body:expr }) => {{
        fn kernel(from: &[&[u8]], to: &mut [u8]) {
            $crate::expr::kernels::binary::<$A, $B, $R>(
                from,
                to,
                #[inline(always)]
                |$a, $b| $body,
            );
        }
        kernel as $crate::loops::Kernel
    }};
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty| -> $R:ty { $body:expr }) => {{
        fn kernel(from: &[&[u8]], to: &mut [u8]) {
            $crate::expr::kernels::ternary::<$A, $B, $C, $R>(
                from,
                to,
                #[inline(always)]
                |$a, $b, $c| $body,
            );
        }
        kernel as $crate::loops::Kernel
    }};
}
pub(super) use kernel;
