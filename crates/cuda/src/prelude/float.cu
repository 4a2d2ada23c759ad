#define FLOAT template <class T> __device__ __forceinline__ T
#define FLOAT_TEST template <class T> __device__ __forceinline__ u8
#define FUNCTION1(name, single, twice) \
  __device__ __forceinline__ float name(float a) { return single(a); } \
  __device__ __forceinline__ double name(double a) { return twice(a); }
#define FUNCTION2(name, single, twice) \
  __device__ __forceinline__ float name(float a, float b) { return single(a, b); } \
  __device__ __forceinline__ double name(double a, double b) { return twice(a, b); }

FLOAT float_add(T a, T b) { return a + b; }
FLOAT float_subtract(T a, T b) { return a - b; }
FLOAT float_multiply(T a, T b) { return a * b; }
FLOAT float_divide(T a, T b) { return a / b; }
FLOAT float_negative(T a) { return -a; }
FLOAT float_sign(T a) { return a > 0 ? (T)1 : a < 0 ? (T)-1 : a == 0 ? (T)0 : a; }
FLOAT float_leaky_relu(T a, T b) { return a < 0 ? a * b : a; }
FLOAT float_minimum(T a, T b) { return a <= b || a != a ? a : b; }
FLOAT float_maximum(T a, T b) { return a >= b || a != a ? a : b; }
/* NaN if either is; of both zeros, any. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
__device__ __forceinline__ float smallest(float a, float b) { float r; asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
__device__ __forceinline__ float largest(float a, float b) { float r; asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
#else
__device__ __forceinline__ float smallest(float a, float b) { return float_minimum(a, b); }
__device__ __forceinline__ float largest(float a, float b) { return float_maximum(a, b); }
#endif
FLOAT_TEST float_equal(T a, T b) { return a == b; }
FLOAT_TEST float_not_equal(T a, T b) { return a != b; }
FLOAT_TEST float_less(T a, T b) { return a < b; }
FLOAT_TEST float_less_equal(T a, T b) { return a <= b; }
__device__ __forceinline__ u8 float_signbit(float a) { return (u8)(as<u32>(a) >> 31); }
__device__ __forceinline__ u8 float_signbit(double a) { return (u8)(as<u64>(a) >> 63); }
FUNCTION1(float_abs, fabsf, fabs)
FUNCTION1(float_sqrt, sqrtf, sqrt)
FUNCTION1(float_floor, floorf, floor)
FUNCTION1(float_ceil, ceilf, ceil)
FUNCTION1(float_trunc, truncf, trunc)
FUNCTION1(float_round, rintf, rint)
FUNCTION1(float_exp, expf, exp)
FUNCTION1(float_exp2, exp2f, exp2)
FUNCTION1(float_expm1, expm1f, expm1)
FUNCTION1(float_log, logf, log)
FUNCTION1(float_log2, log2f, log2)
FUNCTION1(float_log10, log10f, log10)
FUNCTION1(float_log1p, log1pf, log1p)
FUNCTION1(float_sin, sinf, sin)
FUNCTION1(float_cos, cosf, cos)
FUNCTION1(float_tan, tanf, tan)
FUNCTION1(float_asin, asinf, asin)
FUNCTION1(float_acos, acosf, acos)
FUNCTION1(float_atan, atanf, atan)
FUNCTION1(float_sinh, sinhf, sinh)
FUNCTION1(float_cosh, coshf, cosh)
FUNCTION1(float_tanh, tanhf, tanh)
FUNCTION1(float_asinh, asinhf, asinh)
FUNCTION1(float_acosh, acoshf, acosh)
FUNCTION1(float_atanh, atanhf, atanh)
FUNCTION1(float_cbrt, cbrtf, cbrt)
FUNCTION1(float_erf, erff, erf)
FUNCTION2(float_atan2, atan2f, atan2)
FUNCTION2(float_hypot, hypotf, hypot)
FUNCTION2(float_pow, powf, pow)
FUNCTION2(float_fmod, fmodf, fmod)
FUNCTION2(float_copysign, copysignf, copysign)
FUNCTION2(float_nextafter, nextafterf, nextafter)

FLOAT float_trunc_divide(T a, T b) { return float_trunc(a / b); }
FLOAT float_sigmoid(T a) {
  if (a >= 0) return (T)1 / ((T)1 + float_exp(-a));
  T e = float_exp(a);
  return e / ((T)1 + e);
}
FLOAT float_logaddexp(T a, T b) {
  T larger = a < b ? b : a, smaller = a < b ? a : b;
  if (a != a || b != b) return a + b;
  if (larger - larger != 0) return larger;
  return larger + float_log1p(float_exp(smaller - larger));
}
FLOAT float_remainder(T a, T b) {
  T rest = float_fmod(a, b);
  if (b == 0) return rest;
  if (rest == 0) return float_copysign((T)0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}
FLOAT float_floor_divide(T a, T b) {
  if (b == 0) return a / b;
  T rest = float_fmod(a, b);
  T quotient = (a - rest) / b;
  if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return float_copysign((T)0, a / b);
  T below = float_floor(quotient);
  return quotient - below > (T)0.5 ? below + 1 : below;
}

/* The neighbour of a 16-bit number, by the bits of infinity and NaN. */
__device__ __forceinline__ u16 neighbour(u16 from, u16 to, u16 infinity, u16 nan) {
  u16 a = from & 0x7fff, b = to & 0x7fff;
  if (a > infinity || b > infinity) return nan;
  i32 x = from >> 15 ? -(i32)a : (i32)a, y = to >> 15 ? -(i32)b : (i32)b;
  if (x == y) return to;
  if (x == 0) return (u16)(1 | (to & 0x8000));
  return (u16)((x < y) == (x > 0) ? from + 1 : from - 1);
}
__device__ __forceinline__ u16 half_nextafter(u16 a, u16 b) { return neighbour(a, b, 0x7c00, 0x7e00); }
__device__ __forceinline__ u16 brain_nextafter(u16 a, u16 b) { return neighbour(a, b, 0x7f80, 0x7fc0); }
