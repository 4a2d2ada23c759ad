template <class T> __device__ __forceinline__ u8 to_bool(T a) { return a != 0; }
__device__ __forceinline__ u8 to_bool(c64 a) { return a.re != 0 || a.im != 0; }
__device__ __forceinline__ u8 to_bool(c128 a) { return a.re != 0 || a.im != 0; }
__device__ __forceinline__ u8 half_to_bool(u16 a) { return (u16)(a << 1) != 0; }

/* Truncates, as x86-64 does: by way of i32 to at most 16 bits, of i64 to u32; beyond their ranges the smallest one. */
__device__ __forceinline__ i32 to_i32(double a) {
  return a > -2147483649.0 && a < 2147483648.0 ? (i32)a : -2147483647 - 1;
}
__device__ __forceinline__ i64 to_i64(double a) {
  return a >= -9223372036854775808.0 && a < 9223372036854775808.0 ? (i64)a : -9223372036854775807ll - 1;
}
template <class T> __device__ __forceinline__ T truncated(double a) { return (T)to_i32(a); }
template <> __device__ __forceinline__ u32 truncated<u32>(double a) { return (u32)to_i64(a); }
template <> __device__ __forceinline__ i64 truncated<i64>(double a) { return to_i64(a); }
template <> __device__ __forceinline__ u64 truncated<u64>(double a) {
  return a >= 9223372036854775808.0 ? (u64)to_i64(a - 9223372036854775808.0) ^ 1ull << 63 : (u64)to_i64(a);
}

__device__ __forceinline__ c64 to_c64(float a) { return c64{a, 0}; }
__device__ __forceinline__ c64 to_c64(c128 a) { return c64{(float)a.re, (float)a.im}; }
__device__ __forceinline__ c128 to_c128(double a) { return c128{a, 0}; }
__device__ __forceinline__ c128 to_c128(c64 a) { return c128{a.re, a.im}; }

/* float16 and bfloat16 are bits; arithmetic is that of float. */
#ifdef __CUDACC_RTC__
__device__ __forceinline__ float half_to_float(u16 a) { float r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(a)); return r; }
__device__ __forceinline__ u16 float_to_half(float a) { u16 r; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(a)); return r; }
__device__ __forceinline__ u16 double_to_half(double a) { u16 r; asm("cvt.rn.f16.f64 %0, %1;" : "=h"(r) : "d"(a)); return r; }
#else
inline float half_to_float(u16 a) { return (float)as<_Float16>(a); }
inline u16 float_to_half(float a) { return as<u16>((_Float16)a); }
inline u16 double_to_half(double a) { return as<u16>((_Float16)a); }
#endif
__device__ __forceinline__ float brain_to_float(u16 a) { return as<float>((u32)a << 16); }
__device__ __forceinline__ u16 float_to_brain(float a) {
  u32 bits = as<u32>(a);
  return a != a ? (u16)(bits >> 16 | 0x40) : (u16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
/* Rounded once: to float toward zero, with the lowest bit set where that is inexact. */
__device__ __forceinline__ u16 double_to_brain(double a) {
  float f = (float)a;
  if ((double)f == a || a != a || f - f != 0) return float_to_brain(f);
  u32 bits = as<u32>(f);
  if ((f < 0 ? -(double)f : (double)f) > (a < 0 ? -a : a)) bits -= 1;
  return float_to_brain(as<float>(bits | 1));
}
