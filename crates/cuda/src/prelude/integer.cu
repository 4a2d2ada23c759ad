/* Unsigned arithmetic wraps, and is at least 32 bits wide. */
template <class T> struct Wide { typedef u32 t; };
template <> struct Wide<i64> { typedef u64 t; };
template <> struct Wide<u64> { typedef u64 t; };
template <class T> struct IsSigned { static constexpr bool value = (T)-1 < (T)0; };
#define INT template <class T> __device__ __forceinline__ T
#define INT_TEST template <class T> __device__ __forceinline__ u8

INT int_add(T a, T b) { typedef typename Wide<T>::t W; return (T)((W)a + (W)b); }
INT int_subtract(T a, T b) { typedef typename Wide<T>::t W; return (T)((W)a - (W)b); }
INT int_multiply(T a, T b) { typedef typename Wide<T>::t W; return (T)((W)a * (W)b); }
INT_TEST int_equal(T a, T b) { return a == b; }
INT_TEST int_not_equal(T a, T b) { return a != b; }
INT_TEST int_less(T a, T b) { return a < b; }
INT_TEST int_less_equal(T a, T b) { return a <= b; }
INT int_minimum(T a, T b) { return a <= b ? a : b; }
INT int_maximum(T a, T b) { return a >= b ? a : b; }
INT int_abs(T a) { return a < 0 ? int_subtract((T)0, a) : a; }
INT int_sign(T a) { return (T)((a > 0) - (a < 0)); }
INT int_bitwise_and(T a, T b) { return (T)(a & b); }
INT int_bitwise_or(T a, T b) { return (T)(a | b); }
INT int_bitwise_xor(T a, T b) { return (T)(a ^ b); }
INT int_bitwise_invert(T a) { return (T)~a; }
INT int_bitwise_left_shift(T a, T b) {
  typedef typename Wide<T>::t W;
  return b >= 0 && b < (T)(8 * sizeof(T)) ? (T)((W)a << (int)b) : (T)0;
}
INT int_bitwise_right_shift(T a, T b) {
  if (b >= 0 && b < (T)(8 * sizeof(T))) return (T)(a >> (int)b);
  return a < 0 ? (T)-1 : (T)0;
}
/* Division by 0 is 0, and of the smallest number by -1 wraps. */
INT int_trunc_divide(T a, T b) {
  if (b == 0) return 0;
  if (IsSigned<T>::value && b == (T)-1) return int_subtract((T)0, a);
  return (T)(a / b);
}
INT int_fmod(T a, T b) {
  if (b == 0 || (IsSigned<T>::value && b == (T)-1)) return 0;
  return (T)(a % b);
}
INT int_floor_divide(T a, T b) {
  T quotient = int_trunc_divide(a, b), rest = int_fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? (T)(quotient - 1) : quotient;
}
INT int_remainder(T a, T b) {
  T rest = int_fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? (T)(rest + b) : rest;
}
INT int_pow(T a, T b) {
  if (b < 0) return a == 1 ? (T)1 : a == (T)-1 ? ((b & 1) == 0 ? (T)1 : (T)-1) : (T)0;
  T result = 1;
  while (b != 0) {
    if ((b & 1) != 0) result = int_multiply(result, a);
    a = int_multiply(a, a);
    b = (T)(b >> 1);
  }
  return result;
}

/* Exact comparisons of signed and unsigned numbers. */
__device__ __forceinline__ u8 mixed_equal(i64 a, u64 b) { return a >= 0 && (u64)a == b; }
__device__ __forceinline__ u8 mixed_equal(u64 a, i64 b) { return mixed_equal(b, a); }
__device__ __forceinline__ u8 mixed_not_equal(i64 a, u64 b) { return !mixed_equal(a, b); }
__device__ __forceinline__ u8 mixed_not_equal(u64 a, i64 b) { return !mixed_equal(b, a); }
__device__ __forceinline__ u8 mixed_less(i64 a, u64 b) { return a < 0 || (u64)a < b; }
__device__ __forceinline__ u8 mixed_less(u64 a, i64 b) { return b >= 0 && a < (u64)b; }
__device__ __forceinline__ u8 mixed_less_equal(i64 a, u64 b) { return a < 0 || (u64)a <= b; }
__device__ __forceinline__ u8 mixed_less_equal(u64 a, i64 b) { return b >= 0 && a <= (u64)b; }

/* Booleans are bytes 0 and 1. */
__device__ __forceinline__ u8 bool_not(u8 a) { return a ^ 1; }
