//! The function traits, and loops that apply a function to slices.

use std::marker::PhantomData;
use unishape_simd::{PrefetchQueue, SimdTask, run_widest};

/// A function of one number.
///
/// An implementation has a branch-free body for nearly all arguments ([`fast`](UnaryFunction::fast)) and a
/// [`fallback`](UnaryFunction::fallback) for the others. Call [`eval`](UnaryFunction::eval) for one number
/// and [`map`](UnaryFunction::map) for a slice.
///
/// ```
/// use unishape_vecmath::{Exp, Log, UnaryFunction};
///
/// assert_eq!(Exp::eval(1.0_f64), std::f64::consts::E);
/// let mut logs = [0.0_f32; 3];
/// Log::map(&[1.0, 0.0, f32::INFINITY], &mut logs);
/// assert_eq!(logs, [0.0, f32::NEG_INFINITY, f32::INFINITY]);
/// ```
pub trait UnaryFunction<T: Copy> {
    /// Whether `fallback` is branch-free too.
    ///
    /// A loop over all arguments is vectorized then.
    const FALLBACK_IS_BRANCH_FREE: bool = false;

    /// The result where [`is_fast`](UnaryFunction::is_fast); unspecified elsewhere.
    ///
    /// Branch-free, so that a loop of it is vectorized.
    ///
    /// ```
    /// # use unishape_vecmath::{Sin, UnaryFunction};
    /// assert_eq!(Sin::fast(0.0_f64), 0.0);
    /// ```
    fn fast(x: T) -> T;

    /// Whether `fast` is correct for this argument; constant `true` if it always is.
    ///
    /// ```
    /// # use unishape_vecmath::{Sin, UnaryFunction};
    /// assert!(Sin::is_fast(1e5_f64) && !Sin::is_fast(1e30_f64));
    /// ```
    #[inline(always)]
    fn is_fast(_: T) -> bool {
        true
    }

    /// The result where `fast` is not correct.
    ///
    /// ```
    /// # use unishape_vecmath::{Sin, UnaryFunction};
    /// assert!(Sin::fallback(1e30_f64).abs() <= 1.0);
    /// ```
    #[inline]
    fn fallback(x: T) -> T {
        Self::fast(x)
    }

    /// The result for any argument.
    ///
    /// ```
    /// # use unishape_vecmath::{Cosh, UnaryFunction};
    /// assert_eq!(Cosh::eval(0.0_f32), 1.0);
    /// ```
    #[inline]
    fn eval(x: T) -> T {
        if Self::is_fast(x) { Self::fast(x) } else { Self::fallback(x) }
    }

    /// Applies the function to a slice; [`apply_unary`] without prefetching.
    ///
    /// # Panics
    ///
    /// If the slices have different lengths.
    ///
    /// ```
    /// # use unishape_vecmath::{Exp2, UnaryFunction};
    /// let mut out = [0.0_f64; 3];
    /// Exp2::map(&[1.0, 2.0, 3.0], &mut out);
    /// assert_eq!(out, [2.0, 4.0, 8.0]);
    /// ```
    #[inline]
    fn map(x: &[T], out: &mut [T])
    where
        Self: Sized,
    {
        apply_unary::<Self, T>(x, out, &mut PrefetchQueue::new());
    }
}

/// A function of two numbers; see [`UnaryFunction`].
///
/// ```
/// use unishape_vecmath::{BinaryFunction, Hypot};
///
/// let mut out = [0.0_f64; 2];
/// Hypot::map(&[3.0, 5.0], &[4.0, 12.0], &mut out);
/// assert_eq!(out, [5.0, 13.0]);
/// ```
pub trait BinaryFunction<T: Copy> {
    /// The result where [`is_fast`](BinaryFunction::is_fast); unspecified elsewhere.
    ///
    /// ```
    /// # use unishape_vecmath::{BinaryFunction, Pow};
    /// assert_eq!(Pow::fast(2.0_f64, 3.0), 8.0);
    /// ```
    fn fast(x: T, y: T) -> T;

    /// Whether `fast` is correct for these arguments.
    ///
    /// ```
    /// # use unishape_vecmath::{BinaryFunction, Pow};
    /// assert!(!Pow::is_fast(f64::INFINITY, 0.5));
    /// ```
    #[inline(always)]
    fn is_fast(_: T, _: T) -> bool {
        true
    }

    /// The result where `fast` is not correct.
    ///
    /// ```
    /// # use unishape_vecmath::{BinaryFunction, Pow};
    /// assert_eq!(Pow::fallback(f64::INFINITY, 0.5), f64::INFINITY);
    /// ```
    #[inline]
    fn fallback(x: T, y: T) -> T {
        Self::fast(x, y)
    }

    /// The result for any arguments.
    ///
    /// ```
    /// # use unishape_vecmath::{Atan2, BinaryFunction};
    /// assert_eq!(Atan2::eval(0.0_f32, 1.0), 0.0);
    /// ```
    #[inline]
    fn eval(x: T, y: T) -> T {
        if Self::is_fast(x, y) { Self::fast(x, y) } else { Self::fallback(x, y) }
    }

    /// Applies the function to two slices; [`apply_binary`] without prefetching.
    ///
    /// # Panics
    ///
    /// If an argument has neither one element nor as many as `out`.
    ///
    /// ```
    /// # use unishape_vecmath::{BinaryFunction, Pow};
    /// let mut out = [0.0_f64; 3];
    /// Pow::map(&[2.0], &[1.0, 2.0, 3.0], &mut out);
    /// assert_eq!(out, [2.0, 4.0, 8.0]);
    /// ```
    #[inline]
    fn map(x: &[T], y: &[T], out: &mut [T])
    where
        Self: Sized,
    {
        apply_binary::<Self, T>(x, y, out, &mut PrefetchQueue::new());
    }
}

/// Elements between two checks for arguments that need the fallback.
///
/// They are still in the L1 cache when the fallback loop reads them again: 8 KiB each of the arguments and the results,
/// where they are f64. Not measured apart.
const BLOCK: usize = 1024;

/// Applies a function to a slice, and prefetches while it computes.
///
/// Computes `fast` for all elements of a block with the widest SIMD of the CPU, then `fallback` where needed.
///
/// # Panics
///
/// If the slices have different lengths.
///
/// ```
/// use unishape_simd::PrefetchQueue;
/// use unishape_vecmath::{Cbrt, apply_unary};
///
/// let mut out = [0.0_f32; 2];
/// apply_unary::<Cbrt, f32>(&[8.0, 27.0], &mut out, &mut PrefetchQueue::new());
/// assert_eq!(out, [2.0, 3.0]);
/// ```
#[inline]
pub fn apply_unary<F: UnaryFunction<T>, T: Copy>(x: &[T], out: &mut [T], prefetch: &mut PrefetchQueue) {
    assert_eq!(x.len(), out.len());
    run_widest(Unary::<F, T> { x, out, prefetch, function: PhantomData });
}

/// Applies a function to two slices, and prefetches while it computes.
///
/// An argument with one element is a broadcast scalar: it is used for all elements of `out`.
///
/// # Panics
///
/// If an argument has neither one element nor as many as `out`.
///
/// ```
/// use unishape_simd::PrefetchQueue;
/// use unishape_vecmath::{Pow, apply_binary};
///
/// let mut out = [0.0_f64; 3];
/// apply_binary::<Pow, f64>(&[1.0, 2.0, 3.0], &[2.0], &mut out, &mut PrefetchQueue::new());
/// assert_eq!(out, [1.0, 4.0, 9.0]);
/// ```
#[inline]
pub fn apply_binary<F: BinaryFunction<T>, T: Copy>(
    x: &[T],
    y: &[T],
    out: &mut [T],
    prefetch: &mut PrefetchQueue,
) {
    assert!(x.len() == out.len() || x.len() == 1);
    assert!(y.len() == out.len() || y.len() == 1);
    run_widest(Binary::<F, T> { x, y, out, prefetch, function: PhantomData });
}

struct Unary<'a, F, T> {
    x: &'a [T],
    out: &'a mut [T],
    prefetch: &'a mut PrefetchQueue,
    function: PhantomData<F>,
}

impl<F: UnaryFunction<T>, T: Copy> SimdTask for Unary<'_, F, T> {
    #[inline(always)]
    fn run(self) {
        self.prefetch.for_each_chunk(
            self.out.len(),
            BLOCK,
            #[inline(always)]
            |first, end| {
                let (x, out) = (&self.x[first..end], &mut self.out[first..end]);
                // Checks all arguments: a loop with an early exit is not vectorized.
                let mut needs_fallback = false;
                for (r, &x) in out.iter_mut().zip(x) {
                    *r = F::fast(x);
                    needs_fallback |= !F::is_fast(x);
                }
                if needs_fallback && F::FALLBACK_IS_BRANCH_FREE {
                    // A result must not depend on the other elements, so `fast` results stay as they are.
                    out.iter_mut()
                        .zip(x)
                        .for_each(|(r, &x)| *r = if F::is_fast(x) { *r } else { F::fallback(x) });
                } else if needs_fallback {
                    for (r, &x) in out.iter_mut().zip(x).filter(|&(_, &x)| !F::is_fast(x)) {
                        *r = F::fallback(x);
                    }
                }
            },
        );
    }
}

struct Binary<'a, F, T> {
    x: &'a [T],
    y: &'a [T],
    out: &'a mut [T],
    prefetch: &'a mut PrefetchQueue,
    function: PhantomData<F>,
}

impl<F: BinaryFunction<T>, T: Copy> SimdTask for Binary<'_, F, T> {
    #[inline(always)]
    fn run(self) {
        let (x, y) = (Argument::new(self.x, self.out.len()), Argument::new(self.y, self.out.len()));
        self.prefetch.for_each_chunk(
            self.out.len(),
            BLOCK,
            #[inline(always)]
            |first, end| {
                let (x, y, out) = (x.chunk(first, end), y.chunk(first, end), &mut self.out[first..end]);
                let mut needs_fallback = false;
                for ((r, &x), &y) in out.iter_mut().zip(x).zip(y) {
                    *r = F::fast(x, y);
                    needs_fallback |= !F::is_fast(x, y);
                }
                if needs_fallback {
                    let all = out.iter_mut().zip(x).zip(y);
                    for ((r, &x), &y) in all.filter(|&((_, &x), &y)| !F::is_fast(x, y)) {
                        *r = F::fallback(x, y);
                    }
                }
            },
        );
    }
}

/// An argument slice; a broadcast scalar is repeated once, for all blocks.
struct Argument<'a, T> {
    elements: &'a [T],
    repeated: Option<[T; BLOCK]>,
}

impl<'a, T: Copy> Argument<'a, T> {
    #[inline(always)]
    fn new(elements: &'a [T], out_len: usize) -> Argument<'a, T> {
        Argument {
            elements,
            repeated: if let &[scalar] = elements
                && out_len > 1
            {
                Some([scalar; BLOCK])
            } else {
                None
            },
        }
    }

    #[inline(always)]
    fn chunk(&self, first: usize, end: usize) -> &[T] {
        match &self.repeated {
            Some(repeated) => &repeated[..end - first],
            None => &self.elements[first..end],
        }
    }
}
