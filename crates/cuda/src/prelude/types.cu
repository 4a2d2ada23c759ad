typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
struct alignas(8) c64 { float re, im; };
struct alignas(16) c128 { double re, im; };
struct alignas(16) bits128 { u64 low, high; };

/* The same bits as another type. */
template <class To, class From> __device__ __forceinline__ To as(From from) {
  static_assert(sizeof(To) == sizeof(From), "types of one size");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

/* V consecutive elements, in one access of up to 16 bytes, or in several. */
__device__ constexpr int at_most_16(int bytes) { return bytes < 16 ? bytes : 16; }
template <class T, int V> struct alignas(at_most_16(sizeof(T) * V)) Vec { T e[V]; };
template <int BYTES> struct Word;
template <> struct Word<1> { typedef u8 t; };
template <> struct Word<2> { typedef u16 t; };
template <> struct Word<4> { typedef u32 t; };
template <> struct Word<8> { typedef uint2 t; };
template <> struct Word<16> { typedef uint4 t; };
template <class T, int V> struct Words {
  static constexpr int bytes = at_most_16(sizeof(T) * V), count = sizeof(T) * V / bytes;
  typedef typename Word<bytes>::t Part;
  Part parts[count];
};

/* Accesses to memory. Streaming stores evict what is written first from the cache. */
template <int V, class T> __device__ __forceinline__ Vec<T, V> load(const T* p) {
  Words<T, V> words;
#pragma unroll
  for (int i = 0; i < words.count; i++) words.parts[i] = __ldg((const typename Words<T, V>::Part*)p + i);
  return as<Vec<T, V>>(words);
}
template <int V, class T> __device__ __forceinline__ void store(T* p, Vec<T, V> v) {
  Words<T, V> words = as<Words<T, V>>(v);
#pragma unroll
  for (int i = 0; i < words.count; i++) ((typename Words<T, V>::Part*)p)[i] = words.parts[i];
}
template <int V, class T> __device__ __forceinline__ void store_streaming(T* p, Vec<T, V> v) {
  Words<T, V> words = as<Words<T, V>>(v);
#pragma unroll
  for (int i = 0; i < words.count; i++) __stcs((typename Words<T, V>::Part*)p + i, words.parts[i]);
}

/* Division of n < 2^31 by a number with this multiplier and shift. */
__device__ __forceinline__ u32 divide(u32 n, u32 multiplier, u32 shift) {
  return (__umulhi(n, multiplier) + n) >> shift;
}
