//! Numbers as sums of two `f64`s, the second far smaller than the first, and other parts that functions are
//! made of. Everything is inlined into the loops that use it.

use num_traits::Float;

/// A number as an unevaluated sum: `high`, and `low` for what did not fit.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) high: f64,
    pub(crate) low: f64,
}

/// Adding this rounds a number below 2^51 to an integer, which then stands in the lowest bits.
pub(crate) const ROUNDER: f64 = 6755399441055744.0;

/// ln 2, so short that multiples of it by an exponent are exact.
pub(crate) const LN_2_SHORT: f64 = 0.6931471805598903;
/// What `LN_2_SHORT` lacks.
pub(crate) const LN_2_REST: f64 = 5.497923018708371e-14;

impl Pair {
    #[inline(always)]
    pub(crate) fn new(high: f64, low: f64) -> Pair {
        Pair { high, low }
    }

    /// The exact sum, where `a` is not smaller than `b` in absolute value, or is 0.
    #[inline(always)]
    pub(crate) fn of_ordered_sum(a: f64, b: f64) -> Pair {
        let high = a + b;
        Pair { high, low: b - (high - a) }
    }

    /// The exact sum.
    #[inline(always)]
    pub(crate) fn of_sum(a: f64, b: f64) -> Pair {
        let high = a + b;
        let b_in_high = high - a;
        Pair { high, low: (a - (high - b_in_high)) + (b - b_in_high) }
    }

    /// The exact product, unless its low part is too small a number.
    #[inline(always)]
    pub(crate) fn of_product(a: f64, b: f64) -> Pair {
        let high = a * b;
        Pair { high, low: a.mul_add(b, -high) }
    }

    /// The same number, with as much in the high part as fits. The high part is to be the larger one.
    #[inline(always)]
    pub(crate) fn settled(self) -> Pair {
        Pair::of_ordered_sum(self.high, self.low)
    }

    #[inline(always)]
    pub(crate) fn plus_small(self, small: f64) -> Pair {
        Pair { high: self.high, low: self.low + small }
    }

    #[inline(always)]
    pub(crate) fn times(self, factor: Pair) -> Pair {
        let Pair { high, low } = Pair::of_product(self.high, factor.high);
        let cross = self.high.mul_add(factor.low, self.low * factor.high);
        Pair { high, low: low + cross }
    }

    /// Scaled by a power of two: exact.
    #[inline(always)]
    pub(crate) fn scaled(self, power: f64) -> Pair {
        Pair { high: self.high * power, low: self.low * power }
    }

    /// The quotient, good to some 100 bits. One division: the inverse serves for both parts.
    #[inline(always)]
    pub(crate) fn over(self, divisor: Pair) -> Pair {
        let inverse = 1.0 / divisor.high;
        let high = self.high * inverse;
        let rest = (-high).mul_add(divisor.high, self.high) + (-high).mul_add(divisor.low, self.low);
        Pair { high, low: rest * inverse }
    }

    /// The square root of what is not negative; 0 for 0.
    #[inline(always)]
    pub(crate) fn root(self) -> Pair {
        let high = self.high.sqrt();
        let rest = (-high).mul_add(high, self.high) + self.low;
        let low = rest / (high + high);
        Pair { high, low: if high > 0.0 { low } else { 0.0 } }
    }

    /// Rounded to one number.
    #[inline(always)]
    pub(crate) fn rounded(self) -> f64 {
        self.high + self.low
    }
}

/// c₀ + c₁x + c₂x² + …
#[inline(always)]
pub(crate) fn polynomial<T: Float, const N: usize>(x: T, coefficients: &[T; N]) -> T {
    let mut sum = coefficients[N - 1];
    let mut i = N - 1;
    while i > 0 {
        i -= 1;
        sum = sum.mul_add(x, coefficients[i]);
    }
    sum
}

/// 2^k for an integer from -1022 to 1023.
#[inline(always)]
pub(crate) fn power_of_two(k: f64) -> f64 {
    f64::from_bits((k + (ROUNDER + 1023.0)).to_bits() << 52)
}

/// x · 2^k for an integer from -2044 to 2046, in two steps, since 2^k may not be a number when the result is.
#[inline(always)]
pub(crate) fn scale(x: f64, k: f64) -> f64 {
    let half = (k * 0.5 + ROUNDER) - ROUNDER;
    x * power_of_two(half) * power_of_two(k - half)
}

/// `x`, but not above `limit`. NaN stays.
#[inline(always)]
pub(crate) fn at_most<T: Float>(x: T, limit: T) -> T {
    if x > limit { limit } else { x }
}

/// `x`, but not below `limit`. NaN stays.
#[inline(always)]
pub(crate) fn at_least<T: Float>(x: T, limit: T) -> T {
    if x < limit { limit } else { x }
}
