#define COMPLEX template <class C> __device__ __forceinline__ C
#define COMPLEX_TEST template <class C> __device__ __forceinline__ u8

COMPLEX complex_add(C a, C b) { return C{a.re + b.re, a.im + b.im}; }
COMPLEX complex_subtract(C a, C b) { return C{a.re - b.re, a.im - b.im}; }
COMPLEX complex_multiply(C a, C b) { return C{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
/* Smith's algorithm: scaled by the larger part of the divisor, so that squares do not overflow. */
COMPLEX complex_divide(C a, C b) {
  if (float_abs(b.re) >= float_abs(b.im)) {
    if (b.re == 0 && b.im == 0) return C{a.re / float_abs(b.re), a.im / float_abs(b.re)};
    auto ratio = b.im / b.re;
    auto scale = 1 / (b.re + b.im * ratio);
    return C{(a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale};
  }
  auto ratio = b.re / b.im;
  auto scale = 1 / (b.im + b.re * ratio);
  return C{(a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale};
}
COMPLEX complex_negative(C a) { return C{-a.re, -a.im}; }
COMPLEX complex_conj(C a) { return C{a.re, -a.im}; }
__device__ __forceinline__ float complex_real(c64 a) { return a.re; }
__device__ __forceinline__ double complex_real(c128 a) { return a.re; }
__device__ __forceinline__ float complex_imag(c64 a) { return a.im; }
__device__ __forceinline__ double complex_imag(c128 a) { return a.im; }
__device__ __forceinline__ float complex_abs(c64 a) { return (float)hypot((double)a.re, (double)a.im); }
__device__ __forceinline__ double complex_abs(c128 a) { return hypot(a.re, a.im); }
COMPLEX_TEST complex_equal(C a, C b) { return a.re == b.re && a.im == b.im; }
COMPLEX_TEST complex_not_equal(C a, C b) { return a.re != b.re || a.im != b.im; }
/* NumPy's order: by real part, then by imaginary part. */
COMPLEX_TEST complex_less(C a, C b) {
  return (a.re < b.re && a.im == a.im && b.im == b.im) || (a.re == b.re && a.im < b.im);
}
COMPLEX_TEST complex_less_equal(C a, C b) {
  return (a.re < b.re && a.im == a.im && b.im == b.im) || (a.re == b.re && a.im <= b.im);
}
COMPLEX_TEST complex_is_nan(C a) { return a.re != a.re || a.im != a.im; }
COMPLEX complex_minimum(C a, C b) { return complex_less_equal(a, b) || complex_is_nan(a) ? a : b; }
COMPLEX complex_maximum(C a, C b) { return complex_less_equal(b, a) || complex_is_nan(a) ? a : b; }
COMPLEX complex_round(C a) { return C{float_round(a.re), float_round(a.im)}; }
template <class T> __device__ __forceinline__ bool is_finite(T a) { return a - a == 0; }
COMPLEX_TEST complex_isfinite(C a) { return is_finite(a.re) && is_finite(a.im); }
COMPLEX_TEST complex_isinf(C a) {
  return (!is_finite(a.re) && a.re == a.re) || (!is_finite(a.im) && a.im == a.im);
}
