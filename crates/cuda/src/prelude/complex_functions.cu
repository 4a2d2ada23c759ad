/* Functions of complex128, by formulas that are accurate near branch cuts; special values as in C's Annex G. */
#define C_FUNCTION __device__ inline c128
#define INFINITE __longlong_as_double(0x7ff0000000000000ll)
#define NOT_A_NUMBER __longlong_as_double(0x7ff8000000000000ll)
#define HALF_PI 1.5707963267948966
#define LN_2 0.6931471805599453
#define LN_2_LOW 2.3190468138462996e-17
#define LN_10 2.302585092994046
#define IS_INFINITE(x) (fabs(x) == INFINITE)
#define IS_HUGE(z) (fabs(z.re) > 1e150 || fabs(z.im) > 1e150)

__device__ inline c128 times_i(c128 z) { return c128{-z.im, z.re}; }
__device__ inline c128 times_minus_i(c128 z) { return c128{z.im, -z.re}; }
__device__ inline c128 cis(double y) { return c128{cos(y), sin(y)}; }

/* e^x * factor, also where e^x alone overflows or underflows. */
__device__ inline c128 exp_times(double x, c128 factor) {
  x = x > 1400 ? 1400 : x < -1400 ? -1400 : x;
  if (fabs(x) < 700) { double e = exp(x); return c128{e * factor.re, e * factor.im}; }
  double e = exp(0.5 * x);
  return c128{factor.re * e * e, factor.im * e * e};
}

/* ln |z|, accurate also where |z| is near 1. */
__device__ inline double log_abs(c128 z) {
  double x = fabs(z.re), y = fabs(z.im);
  if (x < y) { double t = x; x = y; y = t; }
  if (x == 0) return -INFINITE;
  if (x > 0.7 && x < 1.5) {
    double p = x * x, q = y * y, low = fma(x, x, -p) + fma(y, y, -q);
    double one = p - 1, sum = one + q, part = sum - one;
    low += (one - (sum - part)) + (q - part);
    return 0.5 * log1p(sum + low);
  }
  double ratio = y / x;
  return log(x) + 0.5 * log1p(ratio * ratio);
}

C_FUNCTION complex_exp(c128 z) {
  double x = z.re, y = z.im;
  c128 factor = cis(y);
  if (is_finite(x) && is_finite(y)) return exp_times(x, factor);
  if (x != x && y == 0) return z;
  if (x == INFINITE) return y == 0 ? z : c128{is_finite(y) ? x * factor.re : x, x * factor.im};
  if (x == -INFINITE) return is_finite(y) ? c128{0.0 * factor.re, 0.0 * factor.im} : c128{0, 0};
  return c128{NOT_A_NUMBER, NOT_A_NUMBER};
}
/* e^(z ln 2), where the angle has twice the digits: it may be large. */
C_FUNCTION complex_exp2(c128 z) {
  double x = z.re, angle = z.im * LN_2;
  if (!complex_isfinite(z)) return complex_exp(c128{x * LN_2, angle});
  c128 factor = complex_multiply(cis(angle), cis(fma(z.im, LN_2, -angle) + z.im * LN_2_LOW));
  if (z.im == 0) factor.im = z.im;
  x = x > 2040 ? 2040 : x < -2040 ? -2040 : x;  /* e is finite, so that 0 * e is 0 */
  double e = exp2(0.5 * x);
  return c128{factor.re * e * e, factor.im * e * e};
}
C_FUNCTION complex_expm1(c128 z) {
  if (!complex_isfinite(z)) { c128 e = complex_exp(z); return c128{e.re - 1, e.im}; }
  c128 factor = cis(z.im), whole = exp_times(z.re, factor);
  double half = sin(0.5 * z.im);
  return c128{z.re > 40 ? whole.re : fma(expm1(z.re), factor.re, -2 * half * half), whole.im};
}
C_FUNCTION complex_log(c128 z) {
  double angle = atan2(z.im, z.re);
  if (complex_isfinite(z)) return c128{log_abs(z), angle};
  return c128{complex_isinf(z) ? INFINITE : NOT_A_NUMBER, angle};
}
C_FUNCTION complex_log2(c128 z) { c128 l = complex_log(z); return c128{l.re / LN_2, l.im / LN_2}; }
C_FUNCTION complex_log10(c128 z) { c128 l = complex_log(z); return c128{l.re / LN_10, l.im / LN_10}; }
C_FUNCTION complex_log1p(c128 z) {
  if (!complex_isfinite(z)) return complex_log(z);
  double x = z.re, y = z.im;
  /* |1 + z|^2 = 1 + (2x + x^2 + y^2), where the parenthesis may be tiny. */
  double p = x * x, q = y * y, low = fma(x, x, -p) + fma(y, y, -q);
  double sum = 2 * x + p, part = sum - 2 * x;
  low += (2 * x - (sum - part)) + (p - part);
  double more = sum + q, rest = more - sum;
  low += (sum - (more - rest)) + (q - rest);
  double off = more + low;
  double re = off > -0.5 && off < 1e10 ? 0.5 * log1p(off) : log_abs(c128{1 + x, y});
  if (fabs(x) < 1e-150 && fabs(y) < 1e-150) re = x;
  return c128{re, atan2(y, 1 + x)};
}
C_FUNCTION complex_sqrt(c128 z) {
  double x = z.re, y = z.im;
  if (!complex_isfinite(z)) {
    if (IS_INFINITE(y)) return c128{INFINITE, y};
    if (x == INFINITE) return c128{x, y != y ? y : copysign(0.0, y)};
    if (x == -INFINITE) return c128{y != y ? y : 0.0, copysign(INFINITE, y)};
    return c128{NOT_A_NUMBER, NOT_A_NUMBER};
  }
  double larger = fabs(x) > fabs(y) ? fabs(x) : fabs(y);
  double factor = larger < 1e-290 ? 3.2451855365842673e32 : larger > 1e300 ? 0.0625 : 1;
  double back = larger < 1e-290 ? 5.551115123125783e-17 : larger > 1e300 ? 4 : 1;
  x *= factor, y *= factor;
  double root = sqrt(0.5 * (fabs(x) + hypot(x, y)));
  double other = root == 0 ? 0 : 0.5 * fabs(y) / root;
  double re = x < 0 ? other : root, im = x < 0 ? root : other;
  return c128{re * back, copysign(im * back, z.im)};
}
C_FUNCTION complex_sinh(c128 z) {
  double x = z.re, y = z.im;
  c128 factor = cis(y);
  if (complex_isfinite(z)) {
    if (fabs(x) > 700) return exp_times(fabs(x), c128{copysign(0.5, x) * factor.re, 0.5 * factor.im});
    return c128{sinh(x) * factor.re, cosh(x) * factor.im};
  }
  if (x == 0) return c128{x, NOT_A_NUMBER};
  if (IS_INFINITE(x)) {
    if (y == 0) return z;
    return is_finite(y) ? c128{x * factor.re, INFINITE * factor.im} : c128{x, NOT_A_NUMBER};
  }
  return y == 0 ? z : c128{NOT_A_NUMBER, NOT_A_NUMBER};
}
C_FUNCTION complex_cosh(c128 z) {
  double x = z.re, y = z.im;
  c128 factor = cis(y);
  if (complex_isfinite(z)) {
    if (fabs(x) > 700) return exp_times(fabs(x), c128{0.5 * factor.re, copysign(0.5, x) * factor.im});
    return c128{cosh(x) * factor.re, sinh(x) * factor.im};
  }
  if (x == 0) return c128{NOT_A_NUMBER, copysign(0.0, y)};
  if (IS_INFINITE(x)) {
    if (y == 0) return c128{INFINITE, copysign(1.0, x) * y};
    return is_finite(y) ? c128{INFINITE * factor.re, x * factor.im} : c128{INFINITE, NOT_A_NUMBER};
  }
  return y == 0 ? z : c128{NOT_A_NUMBER, NOT_A_NUMBER};
}
C_FUNCTION complex_tanh(c128 z) {
  double x = z.re, y = z.im;
  if (!complex_isfinite(z)) {
    if (IS_INFINITE(x)) return c128{copysign(1.0, x), copysign(0.0, y)};
    if (x == 0) return c128{x, NOT_A_NUMBER};
    return y == 0 ? z : c128{NOT_A_NUMBER, NOT_A_NUMBER};
  }
  if (fabs(x) > 22) {
    c128 factor = cis(y);
    return c128{copysign(1.0, x), 4 * factor.re * factor.im * exp(-2 * fabs(x))};
  }
  double t = tan(y), s = sinh(x), beta = fma(t, t, 1.0), rho = sqrt(fma(s, s, 1.0));
  double denominator = fma(beta * s, s, 1.0);
  return c128{beta * rho * s / denominator, t / denominator};
}
C_FUNCTION complex_sin(c128 z) { return times_minus_i(complex_sinh(times_i(z))); }
C_FUNCTION complex_cos(c128 z) { return complex_cosh(times_i(z)); }
C_FUNCTION complex_tan(c128 z) { return times_minus_i(complex_tanh(times_i(z))); }
C_FUNCTION complex_asinh(c128 z);
C_FUNCTION complex_asin(c128 z) {
  double x = z.re, y = z.im;
  if (!complex_isfinite(z)) return times_minus_i(complex_asinh(times_i(z)));
  if (IS_HUGE(z)) return c128{atan2(x, fabs(y)), copysign(log_abs(z) + LN_2, y)};
  c128 minus = complex_sqrt(c128{1 - x, -y}), plus = complex_sqrt(c128{1 + x, y});
  double re = fma(minus.re, plus.re, -minus.im * plus.im), im = fma(minus.re, plus.im, -minus.im * plus.re);
  return c128{atan2(x, re), asinh(im)};
}
C_FUNCTION complex_asinh(c128 z) {
  double x = z.re, y = z.im;
  if (complex_isfinite(z)) return times_minus_i(complex_asin(times_i(z)));
  if (x != x || y != y) {
    if (IS_INFINITE(x)) return c128{x, NOT_A_NUMBER};
    if (IS_INFINITE(y)) return c128{INFINITE, NOT_A_NUMBER};
    return y == 0 ? z : c128{NOT_A_NUMBER, NOT_A_NUMBER};
  }
  return c128{copysign(INFINITE, x), atan2(y, fabs(x))};
}
C_FUNCTION complex_acos(c128 z) {
  double x = z.re, y = z.im;
  if (!complex_isfinite(z)) {
    if (x == 0 && y != y) return c128{HALF_PI, NOT_A_NUMBER};
    if (complex_isinf(z)) return c128{atan2(fabs(y), x), copysign(INFINITE, y != y ? -1.0 : -y)};
    return c128{NOT_A_NUMBER, NOT_A_NUMBER};
  }
  if (IS_HUGE(z)) return c128{atan2(fabs(y), x), copysign(log_abs(z) + LN_2, -y)};
  c128 minus = complex_sqrt(c128{1 - x, -y}), plus = complex_sqrt(c128{1 + x, y});
  return c128{2 * atan2(minus.re, plus.re), asinh(fma(plus.re, minus.im, -plus.im * minus.re))};
}
C_FUNCTION complex_acosh(c128 z) {
  double x = z.re, y = z.im;
  if (!complex_isfinite(z)) {
    if (x == 0 && y != y) return c128{NOT_A_NUMBER, HALF_PI};
    return complex_isinf(z) ? c128{INFINITE, atan2(y, x)} : c128{NOT_A_NUMBER, NOT_A_NUMBER};
  }
  if (IS_HUGE(z)) return c128{log_abs(z) + LN_2, atan2(y, x)};
  c128 minus = complex_sqrt(c128{x - 1, y}), plus = complex_sqrt(c128{x + 1, y});
  return c128{asinh(fma(minus.re, plus.re, minus.im * plus.im)), 2 * atan2(minus.im, plus.re)};
}
C_FUNCTION complex_atanh(c128 z) {
  double x = z.re, y = z.im, size = fabs(x);
  if (!complex_isfinite(z)) {
    double zero = x != x ? 0.0 : copysign(0.0, x);
    if (IS_INFINITE(y) || (IS_INFINITE(x) && y == y)) return c128{zero, copysign(HALF_PI, y)};
    return IS_INFINITE(x) || x == 0 ? c128{zero, NOT_A_NUMBER} : c128{NOT_A_NUMBER, NOT_A_NUMBER};
  }
  if (IS_HUGE(z)) {
    double tiny = 2.409919865102884e-181, re = x * tiny, im = y * tiny;
    return c128{re / fma(re, re, im * im) * tiny, copysign(HALF_PI, y)};
  }
  double square = fma(1 - size, 1 - size, y * y);
  double re = square > 1e-290 ? 0.25 * log1p(4 * size / square) : 0.5 * (LN_2 - log_abs(c128{1 - size, y}));
  return c128{copysign(re, x), 0.5 * atan2(2 * y, fma(1 - size, 1 + size, -y * y))};
}
C_FUNCTION complex_atan(c128 z) { return times_minus_i(complex_atanh(times_i(z))); }
C_FUNCTION complex_sign(c128 z) {
  if (z.re == 0 && z.im == 0) return c128{0, 0};
  if (!complex_isfinite(z)) {
    if (complex_is_nan(z) || (IS_INFINITE(z.re) && IS_INFINITE(z.im))) return c128{NOT_A_NUMBER, NOT_A_NUMBER};
    return IS_INFINITE(z.re) ? c128{copysign(1.0, z.re), 0} : c128{0, copysign(1.0, z.im)};
  }
  double larger = fabs(z.re) > fabs(z.im) ? fabs(z.re) : fabs(z.im);
  double factor = larger < 1e-150 ? 4.149515568880993e180 : larger > 1e150 ? 1e-150 : 1;
  z.re *= factor, z.im *= factor;
  double size = hypot(z.re, z.im);
  return c128{z.re / size, z.im / size};
}
/* The product, accurate where terms cancel. */
__device__ inline double sum_of_products(double a, double b, double c, double d) {
  double product = c * d, error = fma(c, d, -product);
  return fma(a, b, product) + error;
}
C_FUNCTION complex_times(c128 a, c128 b) {
  return c128{sum_of_products(a.re, b.re, -a.im, b.im), sum_of_products(a.re, b.im, a.im, b.re)};
}
C_FUNCTION complex_pow(c128 z, c128 w) {
  if (w.re == 0 && w.im == 0) return c128{1, 0};
  bool all_finite = complex_isfinite(z) && complex_isfinite(w);
  if (all_finite && z.re == 0 && z.im == 0) return w.re > 0 ? c128{0, 0} : c128{NOT_A_NUMBER, NOT_A_NUMBER};
  if (all_finite && w.im == 0 && fabs(w.re) <= 8 && floor(w.re) == w.re) {
    c128 result = {1, 0}, square = z;
    bool first = true;
    for (int n = (int)fabs(w.re); n > 0; n >>= 1) {
      if (n & 1) result = first ? square : complex_times(result, square), first = false;
      if (n > 1) square = complex_times(square, square);
    }
    return w.re < 0 ? complex_divide(c128{1, 0}, result) : result;
  }
  c128 log = complex_log(z);
  if (w.im == 0) return complex_exp(c128{log.re * w.re, log.im * w.re});
  return complex_exp(complex_multiply(log, w));
}
