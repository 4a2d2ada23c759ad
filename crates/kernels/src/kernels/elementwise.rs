//! The type of kernels, and the loops over elements that they share.

use bytemuck::{AnyBitPattern, NoUninit};
use unishape_simd::{PrefetchQueue, SimdTask, run_avx2, run_widest};
use unishape_vecmath::{BinaryFunction, UnaryFunction, apply_binary, apply_unary};

/// Computes a block of elements from input blocks, and prefetches meanwhile.
///
/// An input has as many elements as the output, or one: a broadcast scalar. If the output has more than one
/// element, at least one input has as many. Blocks are aligned for their elements.
///
/// ```
/// use unishape_kernels::{DType, Kernel, KernelContext, Op, find_kernel};
///
/// let add: Kernel = find_kernel(Op::Add, DType::U8).unwrap();
/// let mut sum = [0; 3];
/// add(&[&[1, 2, 3], &[10]], &mut sum, &mut KernelContext::default());
/// assert_eq!(sum, [11, 12, 13]);
/// ```
pub type Kernel = fn(inputs: &[&[u8]], output: &mut [u8], context: &mut KernelContext);

/// What a kernel does beside its computation: prefetching, and the SIMD width.
///
/// ```
/// let context = unishape_kernels::KernelContext::default();
/// assert!(!context.wide);
/// ```
#[derive(Debug, Default)]
pub struct KernelContext {
    /// Memory to prefetch while kernels compute.
    pub prefetch: PrefetchQueue,
    /// Whether arithmetic uses the widest SIMD, too.
    ///
    /// For compute-bound expressions.
    pub wide: bool,
}

/// A closure as a SIMD task.
struct ClosureTask<F: FnOnce()>(F);

impl<F: FnOnce()> SimdTask for ClosureTask<F> {
    #[inline(always)]
    fn run(self) {
        (self.0)();
    }
}

/// The SIMD widths that a kernel's loops are compiled for.
///
/// Each width adds a loop to each of several hundred kernels. Kernels that are rarely used, or gain nothing
/// from wide SIMD, have one only.
pub(super) trait SimdWidth {
    /// Whether there are separate loops for broadcast scalars.
    const HAS_SCALAR_LOOPS: bool;

    /// Runs a task; `wide` requests the widest SIMD, where there is a choice.
    fn run(task: impl SimdTask, wide: bool);

    /// Calls `each(first, end)` for chunks of `elements`, and prefetches before each one.
    #[inline(always)]
    fn for_each_chunk(context: &mut KernelContext, elements: usize, each: impl FnMut(usize, usize)) {
        let KernelContext { prefetch, wide } = context;
        Self::run(
            ClosureTask(
                #[inline(always)]
                || prefetch.for_each_chunk(elements, elements, each),
            ),
            *wide,
        );
    }
}

/// AVX2 for memory-bound expressions, and the widest SIMD for compute-bound ones.
pub(super) struct Adaptive;

impl SimdWidth for Adaptive {
    const HAS_SCALAR_LOOPS: bool = true;

    #[inline(always)]
    fn run(task: impl SimdTask, wide: bool) {
        if wide { run_widest(task) } else { run_avx2(task) }
    }
}

/// The widest SIMD of the CPU.
pub(super) struct Widest;

impl SimdWidth for Widest {
    const HAS_SCALAR_LOOPS: bool = true;

    #[inline(always)]
    fn run(task: impl SimdTask, _: bool) {
        run_widest(task);
    }
}

/// The SIMD that every CPU of the target has.
pub(super) struct Baseline;

impl SimdWidth for Baseline {
    const HAS_SCALAR_LOOPS: bool = false;

    #[inline(always)]
    fn run(task: impl SimdTask, _: bool) {
        task.run();
    }
}

/// Applies a function of one element.
#[inline(always)]
pub(super) fn unary<W: SimdWidth, A: AnyBitPattern, R: NoUninit + AnyBitPattern>(
    inputs: &[&[u8]],
    output: &mut [u8],
    context: &mut KernelContext,
    function: impl Fn(A) -> R,
) {
    let &[a] = inputs else {
        return;
    };
    let (a, output) = (bytemuck::cast_slice::<u8, A>(a), bytemuck::cast_slice_mut::<u8, R>(output));
    W::for_each_chunk(
        context,
        output.len(),
        #[inline(always)]
        |first, end| {
            for (result, &a) in output[first..end].iter_mut().zip(&a[first..end]) {
                *result = function(a);
            }
        },
    );
}

/// Applies a function of two elements.
#[inline(always)]
pub(super) fn binary<W: SimdWidth, A: AnyBitPattern, B: AnyBitPattern, R: NoUninit + AnyBitPattern>(
    inputs: &[&[u8]],
    output: &mut [u8],
    context: &mut KernelContext,
    function: impl Fn(A, B) -> R,
) {
    let &[a, b] = inputs else {
        return;
    };
    let (a, b) = (bytemuck::cast_slice::<u8, A>(a), bytemuck::cast_slice::<u8, B>(b));
    let output = bytemuck::cast_slice_mut::<u8, R>(output);
    W::for_each_chunk(
        context,
        output.len(),
        #[inline(always)]
        |first, end| {
            let output = &mut output[first..end];
            match (chunk(a, first, end), chunk(b, first, end)) {
                (a, b) if a.len() == b.len() => {
                    for ((result, &a), &b) in output.iter_mut().zip(a).zip(b) {
                        *result = function(a, b);
                    }
                }
                (&[a], b) if W::HAS_SCALAR_LOOPS => {
                    for (result, &b) in output.iter_mut().zip(b) {
                        *result = function(a, b);
                    }
                }
                (a, &[b]) if W::HAS_SCALAR_LOOPS => {
                    for (result, &a) in output.iter_mut().zip(a) {
                        *result = function(a, b);
                    }
                }
                (a, b) => {
                    for (i, result) in output.iter_mut().enumerate() {
                        *result = function(element(a, i), element(b, i));
                    }
                }
            }
        },
    );
}

/// A chunk of an input; all of a broadcast scalar.
#[inline(always)]
pub(super) fn chunk<T>(input: &[T], first: usize, end: usize) -> &[T] {
    if input.len() == 1 { input } else { &input[first..end] }
}

/// Element `i` of an input, or its broadcast scalar.
#[inline(always)]
fn element<T: Copy>(input: &[T], i: usize) -> T {
    input[if input.len() == 1 { 0 } else { i }]
}

/// The kernel of an elementary function of one number.
pub(super) fn unary_function<F: UnaryFunction<T>, T: NoUninit + AnyBitPattern>(
    inputs: &[&[u8]],
    output: &mut [u8],
    context: &mut KernelContext,
) {
    if let &[a] = inputs {
        apply_unary::<F, T>(bytemuck::cast_slice(a), bytemuck::cast_slice_mut(output), &mut context.prefetch);
    }
}

/// The kernel of an elementary function of two numbers.
pub(super) fn binary_function<F: BinaryFunction<T>, T: NoUninit + AnyBitPattern>(
    inputs: &[&[u8]],
    output: &mut [u8],
    context: &mut KernelContext,
) {
    if let &[a, b] = inputs {
        apply_binary::<F, T>(
            bytemuck::cast_slice(a),
            bytemuck::cast_slice(b),
            bytemuck::cast_slice_mut(output),
            &mut context.prefetch,
        );
    }
}

/// A kernel from a closure over typed elements.
///
/// Each expands to a function of its own, with loops for [`Adaptive`] SIMD. The prefixes `widest` and
/// `baseline` select [`Widest`] and [`Baseline`].
macro_rules! kernel {
    (baseline $($closure:tt)+) => {
        kernel!(@ Baseline, $($closure)+)
    };
    (widest $($closure:tt)+) => {
        kernel!(@ Widest, $($closure)+)
    };
    (|$($closure:tt)+) => {
        kernel!(@ Adaptive, |$($closure)+)
    };
    (@ $Width:ident, |$a:ident: $A:ty| -> $R:ty { $body:expr }) => {{
        fn kernel(inputs: &[&[u8]], output: &mut [u8], context: &mut $crate::KernelContext) {
            use $crate::kernels::elementwise::{$Width, unary};
            unary::<$Width, $A, $R>(inputs, output, context, #[inline(always)] |$a| $body);
        }
        kernel as $crate::Kernel
    }};
    (@ $Width:ident, |$a:ident: $A:ty, $b:ident: $B:ty| -> $R:ty { $body:expr }) => {{
        fn kernel(inputs: &[&[u8]], output: &mut [u8], context: &mut $crate::KernelContext) {
            use $crate::kernels::elementwise::{$Width, binary};
            binary::<$Width, $A, $B, $R>(inputs, output, context, #[inline(always)] |$a, $b| $body);
        }
        kernel as $crate::Kernel
    }};
}
pub(super) use kernel;
