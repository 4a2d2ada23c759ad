template <class T> __device__ __forceinline__ u8 to_bool(T a) { return a != 0; }
__device__ __forceinline__ u8 to_bool(c64 a) { return a.re != 0 || a.im != 0; }
__device__ __forceinline__ u8 to_bool(c128 a) { return a.re != 0 || a.im != 0; }
__device__ __forceinline__ u8 half_to_bool(u16 a) { return (u16)(a << 1) != 0; }

/* Truncates and saturates; NaN is 0. */
template <class T> struct Limits;
template <> struct Limits<i8> { static constexpr i8 low = -128, high = 127; };
template <> struct Limits<i16> { static constexpr i16 low = -32768, high = 32767; };
template <> struct Limits<i32> { static constexpr i32 low = -2147483647 - 1, high = 2147483647; };
template <> struct Limits<i64> { static constexpr i64 low = -9223372036854775807ll - 1, high = 9223372036854775807ll; };
template <> struct Limits<u8> { static constexpr u8 low = 0, high = 255; };
template <> struct Limits<u16> { static constexpr u16 low = 0, high = 65535; };
template <> struct Limits<u32> { static constexpr u32 low = 0, high = 4294967295u; };
template <> struct Limits<u64> { static constexpr u64 low = 0, high = 18446744073709551615ull; };
template <class T> __device__ __forceinline__ T saturate(double a) {
  if (!(a > (double)Limits<T>::low)) return a != a ? (T)0 : Limits<T>::low;
  if (a >= (double)Limits<T>::high) return Limits<T>::high;
  return (T)a;
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
