//! Double-double arithmetic, polynomials and powers of two; all inlined into the loops that use them.

use num_traits::Float;

/// An unevaluated sum of two `f64`s, where `low` is the rounding error of `high`.
#[derive(Clone, Copy)]
pub(crate) struct DoubleDouble {
    pub(crate) high: f64,
    pub(crate) low: f64,
}

/// 1.5·2^52: adding it rounds a number below 2^51 to an integer, which is then in the lowest bits.
pub(crate) const ROUND_SHIFT: f64 = 6755399441055744.0;

/// ln 2, truncated so that its products with exponents are exact.
pub(crate) const LN_2_TRUNCATED: f64 = 0.6931471805598903;
/// ln 2 - `LN_2_TRUNCATED`.
pub(crate) const LN_2_REMAINDER: f64 = 5.497923018708371e-14;

impl DoubleDouble {
    #[inline(always)]
    pub(crate) fn new(high: f64, low: f64) -> DoubleDouble {
        DoubleDouble { high, low }
    }

    /// The exact sum, if |a| >= |b| or a is 0.
    #[inline(always)]
    pub(crate) fn fast_two_sum(a: f64, b: f64) -> DoubleDouble {
        let high = a + b;
        DoubleDouble { high, low: b - (high - a) }
    }

    /// The exact sum.
    #[inline(always)]
    pub(crate) fn two_sum(a: f64, b: f64) -> DoubleDouble {
        let high = a + b;
        let b_in_high = high - a;
        DoubleDouble { high, low: (a - (high - b_in_high)) + (b - b_in_high) }
    }

    /// The exact product, unless its low part underflows.
    #[inline(always)]
    pub(crate) fn two_product(a: f64, b: f64) -> DoubleDouble {
        let high = a * b;
        DoubleDouble { high, low: a.mul_add(b, -high) }
    }

    /// The same number, with `high` rounded from all of it. `high` must be the larger part.
    #[inline(always)]
    pub(crate) fn normalized(self) -> DoubleDouble {
        DoubleDouble::fast_two_sum(self.high, self.low)
    }

    /// Adds a number that is far smaller than `high`.
    #[inline(always)]
    pub(crate) fn plus_low(self, small: f64) -> DoubleDouble {
        DoubleDouble { high: self.high, low: self.low + small }
    }

    /// The product, not normalized.
    #[inline(always)]
    pub(crate) fn times(self, factor: DoubleDouble) -> DoubleDouble {
        let DoubleDouble { high, low } = DoubleDouble::two_product(self.high, factor.high);
        let cross = self.high.mul_add(factor.low, self.low * factor.high);
        DoubleDouble { high, low: low + cross }
    }

    /// Multiplies by a power of two, exactly.
    #[inline(always)]
    pub(crate) fn scaled(self, power: f64) -> DoubleDouble {
        DoubleDouble { high: self.high * power, low: self.low * power }
    }

    /// The quotient to about 100 bits, with one division: both parts use the same reciprocal.
    #[inline(always)]
    pub(crate) fn divided_by(self, divisor: DoubleDouble) -> DoubleDouble {
        let inverse = 1.0 / divisor.high;
        let high = self.high * inverse;
        let rest = (-high).mul_add(divisor.high, self.high) + (-high).mul_add(divisor.low, self.low);
        DoubleDouble { high, low: rest * inverse }
    }

    /// The square root of a number that is not negative.
    #[inline(always)]
    pub(crate) fn sqrt(self) -> DoubleDouble {
        let high = self.high.sqrt();
        let rest = (-high).mul_add(high, self.high) + self.low;
        let low = rest / (high + high);
        DoubleDouble { high, low: if high > 0.0 { low } else { 0.0 } }
    }

    /// Rounds to an `f64`.
    #[inline(always)]
    pub(crate) fn to_f64(self) -> f64 {
        self.high + self.low
    }
}

/// c₀ + c₁x + c₂x² + …, by Horner's scheme.
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
    f64::from_bits((k + (ROUND_SHIFT + 1023.0)).to_bits() << 52)
}

/// x · 2^k for an integer from -2044 to 2046, in two steps, since 2^k may overflow
/// or underflow where the result does not.
#[inline(always)]
pub(crate) fn scale(x: f64, k: f64) -> f64 {
    let half = (k * 0.5 + ROUND_SHIFT) - ROUND_SHIFT;
    x * power_of_two(half) * power_of_two(k - half)
}

/// min(x, limit); NaN for NaN.
#[inline(always)]
pub(crate) fn at_most<T: Float>(x: T, limit: T) -> T {
    if x > limit { limit } else { x }
}

/// max(x, limit); NaN for NaN.
#[inline(always)]
pub(crate) fn at_least<T: Float>(x: T, limit: T) -> T {
    if x < limit { limit } else { x }
}
