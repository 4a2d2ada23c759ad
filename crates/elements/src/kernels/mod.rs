//! What is done to blocks of elements: one kernel for each function and each type that it computes in.
//!
//! A kernel sees bytes, so that all have one type; here they become slices of elements again. Booleans are
//! bytes that are 0 or 1, and every kernel that gives booleans gives one of these. Half precision is
//! computed in single precision, and so only cast.
//!
//! There is no kernel for what others can do: `a > b` is `b < a`, and bits are combined alike whatever they
//! mean. Each one less is a loop or three less to compile.

mod bits;
mod cast;
mod complex;
mod float;
mod integer;

use crate::cpu::{Job, at_full_width, at_usual_width};
use crate::math::{Function, Function2, apply, apply2};
use crate::{Ahead, DType, Op};
use bytemuck::{AnyBitPattern, NoUninit};

pub use cast::{cast, constant, next_type};
pub use integer::compare_mixed;

/// Computes a block from others, each with as many elements, or with one that stands for as many. Not all of them
/// have only one, unless the block has. Meanwhile memory is fetched for whoever comes next.
#[doc(hidden)]
pub type Kernel = fn(&[&[u8]], &mut [u8], &mut Ahead);

/// The kernel of a function for arguments of this type, if it has one of its own.
#[doc(hidden)]
pub fn find(op: Op, dtype: DType) -> Option<Kernel> {
    if let Some(kernel) = bits::find(op, dtype) {
        return Some(kernel);
    }
    match dtype {
        DType::Bool | DType::U8 => integer::u8(op),
        DType::I8 => integer::i8(op).or_else(|| integer::u8(op)),
        DType::I16 => integer::i16(op).or_else(|| integer::u16(op)),
        DType::I32 => integer::i32(op).or_else(|| integer::u32(op)),
        DType::I64 => integer::i64(op).or_else(|| integer::u64(op)),
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

/// Something to be done with all elements of some blocks.
struct Loop<F: FnOnce()>(F);

impl<F: FnOnce()> Job for Loop<F> {
    #[inline(always)]
    fn run(self) {
        (self.0)();
    }
}

/// Which vectors a loop is compiled for. Each width is a loop more to compile, in each of some hundred
/// kernels; those that are seldom used, or gain nothing from wide vectors, have only one.
trait Width {
    /// Whether there are loops of their own for operands of one element.
    const HAS_SINGLES: bool;

    /// With the widest vectors, if it has a choice and is told so.
    fn run(job: impl Job, wide: bool);

    /// Does something for each part of so many elements, while memory is fetched.
    #[inline(always)]
    fn in_parts(ahead: &mut Ahead, elements: usize, each: impl FnMut(usize, usize)) {
        let wide = ahead.is_wide();
        Self::run(
            Loop(
                #[inline(always)]
                || ahead.in_parts(elements, elements, each),
            ),
            wide,
        );
    }
}

/// Those for work that waits for memory, unless it is told that it does not.
struct Usual;

impl Width for Usual {
    const HAS_SINGLES: bool = true;

    #[inline(always)]
    fn run(job: impl Job, wide: bool) {
        if wide { at_full_width(job) } else { at_usual_width(job) }
    }
}

/// The widest that the CPU has.
struct Full;

impl Width for Full {
    const HAS_SINGLES: bool = true;

    #[inline(always)]
    fn run(job: impl Job, _: bool) {
        at_full_width(job);
    }
}

/// Those that every CPU has.
struct Any;

impl Width for Any {
    const HAS_SINGLES: bool = false;

    #[inline(always)]
    fn run(job: impl Job, _: bool) {
        job.run();
    }
}

/// Applies a function of one element.
#[inline(always)]
fn unary<W: Width, A: AnyBitPattern, R: NoUninit + AnyBitPattern>(
    from: &[&[u8]],
    to: &mut [u8],
    ahead: &mut Ahead,
    function: impl Fn(A) -> R,
) {
    let &[a] = from else {
        return;
    };
    let (a, to) = (bytemuck::cast_slice::<u8, A>(a), bytemuck::cast_slice_mut::<u8, R>(to));
    W::in_parts(
        ahead,
        to.len(),
        #[inline(always)]
        |first, end| {
            for (to, &a) in to[first..end].iter_mut().zip(&a[first..end]) {
                *to = function(a);
            }
        },
    );
}

/// Applies a function of two elements.
#[inline(always)]
fn binary<W: Width, A: AnyBitPattern, B: AnyBitPattern, R: NoUninit + AnyBitPattern>(
    from: &[&[u8]],
    to: &mut [u8],
    ahead: &mut Ahead,
    function: impl Fn(A, B) -> R,
) {
    let &[a, b] = from else {
        return;
    };
    let (a, b) = (bytemuck::cast_slice::<u8, A>(a), bytemuck::cast_slice::<u8, B>(b));
    let to = bytemuck::cast_slice_mut::<u8, R>(to);
    W::in_parts(
        ahead,
        to.len(),
        #[inline(always)]
        |first, end| {
            let to = &mut to[first..end];
            match (part(a, first, end), part(b, first, end)) {
                (a, b) if a.len() == b.len() => {
                    for ((to, &a), &b) in to.iter_mut().zip(a).zip(b) {
                        *to = function(a, b);
                    }
                }
                (&[a], b) if W::HAS_SINGLES => {
                    for (to, &b) in to.iter_mut().zip(b) {
                        *to = function(a, b);
                    }
                }
                (a, &[b]) if W::HAS_SINGLES => {
                    for (to, &a) in to.iter_mut().zip(a) {
                        *to = function(a, b);
                    }
                }
                (a, b) => {
                    for (at, to) in to.iter_mut().enumerate() {
                        *to = function(at_or_only(a, at), at_or_only(b, at));
                    }
                }
            }
        },
    );
}

/// Some elements, or the one that stands for all.
#[inline(always)]
fn part<T>(from: &[T], first: usize, end: usize) -> &[T] {
    if from.len() == 1 { from } else { &from[first..end] }
}

/// An element, or the one that stands for all.
#[inline(always)]
fn at_or_only<T: Copy>(from: &[T], at: usize) -> T {
    from[if from.len() == 1 { 0 } else { at }]
}

/// A function of `math`, as a kernel.
fn function<F: Function<T>, T: NoUninit + AnyBitPattern>(from: &[&[u8]], to: &mut [u8], ahead: &mut Ahead) {
    if let &[a] = from {
        apply::<F, T>(bytemuck::cast_slice(a), bytemuck::cast_slice_mut(to), ahead);
    }
}

/// The same for one of two numbers.
fn function2<F: Function2<T>, T: NoUninit + AnyBitPattern>(from: &[&[u8]], to: &mut [u8], ahead: &mut Ahead) {
    if let &[a, b] = from {
        apply2::<F, T>(bytemuck::cast_slice(a), bytemuck::cast_slice(b), bytemuck::cast_slice_mut(to), ahead);
    }
}

/// A kernel from a closure over typed elements. Each is a function of its own, so that its loop is compiled
/// for it: with `wide` before it for the widest vectors, with `any` only for those that every CPU has.
macro_rules! kernel {
    (any $($closure:tt)+) => {
        kernel!(@ Any, $($closure)+)
    };
    (wide $($closure:tt)+) => {
        kernel!(@ Full, $($closure)+)
    };
    (|$($closure:tt)+) => {
        kernel!(@ Usual, |$($closure)+)
    };
    (@ $Width:ident, |$a:ident: $A:ty| -> $R:ty { $body:expr }) => {{
        fn kernel(from: &[&[u8]], to: &mut [u8], ahead: &mut $crate::Ahead) {
            use $crate::kernels::{$Width, unary};
            unary::<$Width, $A, $R>(from, to, ahead, #[inline(always)] |$a| $body);
        }
        kernel as $crate::kernels::Kernel
    }};
    (@ $Width:ident, |$a:ident: $A:ty, $b:ident: $B:ty| -> $R:ty { $body:expr }) => {{
        fn kernel(from: &[&[u8]], to: &mut [u8], ahead: &mut $crate::Ahead) {
            use $crate::kernels::{$Width, binary};
            binary::<$Width, $A, $B, $R>(from, to, ahead, #[inline(always)] |$a, $b| $body);
        }
        kernel as $crate::kernels::Kernel
    }};
}
use kernel;

#[cfg(test)]
mod tests;
