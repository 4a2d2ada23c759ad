//! Elementary functions, written so that a loop of them becomes vector code.
//!
//! Each function is a type without values, and has a body for `f64` and one for `f32`. Bodies have no
//! branches, no tables and no calls: whatever differs between arguments is computed both ways and chosen
//! from. The compiler can then put eight arguments side by side. `mul_add` is one rounding on every CPU, by
//! an instruction or by a slow call, and so the results are the same everywhere, to the last bit.
//!
//! A few arguments would make a body slow for all others: they are "hard", and done one by one afterwards.
//!
//! | module | holds |
//! |---|---|
//! | `pair` | sums and products with what their rounding lost, polynomials, powers of two |
//! | `exp` | `Exp`, `Exp2`, `Expm1`, `Sigmoid` |
//! | `log` | `Log`, `Log2`, `Log10`, `Log1p` |
//! | `trig` | `Sin`, `Cos`, `Tan` |
//! | `arc` | `Asin`, `Acos`, `Atan`, `Atan2` |
//! | `hyperbolic` | `Sinh`, `Cosh`, `Tanh`, `Asinh`, `Acosh`, `Atanh` |
//! | `root` | `Cbrt`, `Hypot` |
//! | `power` | `Pow` |
//! | `logaddexp` | `Logaddexp` |
//! | `erf` | `Erf` |
//! | `single` | `Exp`, `Sigmoid`, `Tanh` and `Erf` of `f32` |
//! | `complex` | most of these for complex numbers, and `Sqrt` and `Sign` |
//!
//! Polynomials are the best of their degree for the error that the result sees (Remez's algorithm, run with
//! 300 bits); the comment at each says how far off it is. Most functions of `f32` are computed in `f64`
//! with shorter ones, and rounded once. docs/accuracy.md has the errors that were measured.

mod arc;
pub(crate) mod complex;
mod erf;
mod exp;
mod hyperbolic;
mod log;
mod logaddexp;
mod pair;
mod power;
mod root;
mod single;
mod trig;

pub(crate) use arc::{Acos, Asin, Atan, Atan2};
pub(crate) use erf::Erf;
pub(crate) use exp::{Exp, Exp2, Expm1, Sigmoid};
pub(crate) use hyperbolic::{Acosh, Asinh, Atanh, Cosh, Sinh, Tanh};
pub(crate) use log::{Log, Log1p, Log2, Log10};
pub(crate) use logaddexp::Logaddexp;
pub(crate) use power::Pow;
pub(crate) use root::{Cbrt, Hypot};
pub(crate) use trig::{Cos, Sin, Tan};

use crate::Ahead;
use crate::cpu::{Job, at_full_width};

/// A function of one number.
pub(crate) trait Function<T> {
    /// The answer where `is_easy`; anything at all elsewhere. Branch-free, so that loops of it become vector
    /// code.
    fn easy(x: T) -> T;

    /// Whether `easy` is right for this argument. Constant true where it always is.
    #[inline(always)]
    fn is_easy(_: T) -> bool {
        true
    }

    /// The answer for an argument that is not easy.
    fn hard(x: T) -> T {
        Self::easy(x)
    }

    /// Whether `hard` is branch-free as well, so that loops of it are quicker than to pick out whom it is for.
    const HARD_IS_BRANCH_FREE: bool = false;
}

/// A function of two numbers; see [`Function`].
pub(crate) trait Function2<T> {
    /// The answer where `is_easy`; anything at all elsewhere.
    fn easy(x: T, y: T) -> T;

    /// Whether `easy` is right for these arguments.
    #[inline(always)]
    fn is_easy(_: T, _: T) -> bool {
        true
    }

    /// The answer for any arguments; only asked for those that are not easy.
    fn hard(x: T, y: T) -> T {
        Self::easy(x, y)
    }
}

/// Elements between two looks for hard ones: few enough to be still in the nearest cache at the second look.
const BLOCK: usize = 1024;

/// Applies a function to a slice: all at vector speed, then the few hard ones again.
#[inline]
pub(crate) fn apply<F: Function<T>, T: Copy>(x: &[T], out: &mut [T], ahead: &mut Ahead) {
    assert_eq!(x.len(), out.len());
    at_full_width(Apply::<F, T> { x, out, ahead, function: std::marker::PhantomData });
}

/// Applies a function of two numbers to two slices, as [`apply`] does. One element stands for as many as there are.
#[inline]
pub(crate) fn apply2<F: Function2<T>, T: Copy>(x: &[T], y: &[T], out: &mut [T], ahead: &mut Ahead) {
    assert!(x.len() == out.len() || x.len() == 1);
    assert!(y.len() == out.len() || y.len() == 1);
    at_full_width(Apply2::<F, T> { x, y, out, ahead, function: std::marker::PhantomData });
}

struct Apply<'a, F, T> {
    x: &'a [T],
    out: &'a mut [T],
    ahead: &'a mut Ahead,
    function: std::marker::PhantomData<F>,
}

impl<F: Function<T>, T: Copy> Job for Apply<'_, F, T> {
    #[inline(always)]
    fn run(self) {
        self.ahead.in_parts(
            self.out.len(),
            BLOCK,
            #[inline(always)]
            |first, end| {
                let (x, out) = (&self.x[first..end], &mut self.out[first..end]);
                // All are looked at: a loop that stopped early would not become vector code.
                let mut hard = false;
                for (r, &x) in out.iter_mut().zip(x) {
                    *r = F::easy(x);
                    hard |= !F::is_easy(x);
                }
                if hard && F::HARD_IS_BRANCH_FREE {
                    // Nobody's result depends on who its neighbours are.
                    out.iter_mut()
                        .zip(x)
                        .for_each(|(r, &x)| *r = if F::is_easy(x) { *r } else { F::hard(x) });
                } else if hard {
                    for (r, &x) in out.iter_mut().zip(x).filter(|&(_, &x)| !F::is_easy(x)) {
                        *r = F::hard(x);
                    }
                }
            },
        );
    }
}

struct Apply2<'a, F, T> {
    x: &'a [T],
    y: &'a [T],
    out: &'a mut [T],
    ahead: &'a mut Ahead,
    function: std::marker::PhantomData<F>,
}

impl<F: Function2<T>, T: Copy> Job for Apply2<'_, F, T> {
    #[inline(always)]
    fn run(self) {
        let (x, y) = (Blocks::new(self.x, self.out.len()), Blocks::new(self.y, self.out.len()));
        self.ahead.in_parts(
            self.out.len(),
            BLOCK,
            #[inline(always)]
            |first, end| {
                let (x, y, out) = (x.get(first, end), y.get(first, end), &mut self.out[first..end]);
                let mut hard = false;
                for ((r, &x), &y) in out.iter_mut().zip(x).zip(y) {
                    *r = F::easy(x, y);
                    hard |= !F::is_easy(x, y);
                }
                if hard {
                    let all = out.iter_mut().zip(x).zip(y);
                    for ((r, &x), &y) in all.filter(|&((_, &x), &y)| !F::is_easy(x, y)) {
                        *r = F::hard(x, y);
                    }
                }
            },
        );
    }
}

/// Elements block by block; one that stands for all is written out once for all blocks.
struct Blocks<'a, T> {
    all: &'a [T],
    only: Option<[T; BLOCK]>,
}

impl<'a, T: Copy> Blocks<'a, T> {
    #[inline(always)]
    fn new(all: &'a [T], elements: usize) -> Blocks<'a, T> {
        Blocks {
            all,
            only: if let &[only] = all
                && elements > 1
            {
                Some([only; BLOCK])
            } else {
                None
            },
        }
    }

    #[inline(always)]
    fn get(&self, first: usize, end: usize) -> &[T] {
        match &self.only {
            Some(only) => &only[..end - first],
            None => &self.all[first..end],
        }
    }
}

#[cfg(test)]
mod tests;
