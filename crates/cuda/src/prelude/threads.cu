/* The value of the first thread of the warp. */
template <class T> __device__ __forceinline__ T from_first_lane(T value) {
  union Words { T value; u32 words[(sizeof(T) + 3) / 4]; __device__ Words() {} } words;
  words.words[0] = 0;
  words.value = value;
#pragma unroll
  for (int i = 0; i < (int)((sizeof(T) + 3) / 4); i++) words.words[i] = __shfl_sync(0xffffffffu, words.words[i], 0);
  return words.value;
}

/* The value of the thread `distance` lanes further in the warp. */
template <class T> __device__ __forceinline__ T from_lane(T value, u32 distance) {
  union Words { T value; u32 words[(sizeof(T) + 3) / 4]; __device__ Words() {} } words;
  words.words[0] = 0;
  words.value = value;
#pragma unroll
  for (int i = 0; i < (int)((sizeof(T) + 3) / 4); i++) words.words[i] = __shfl_down_sync(0xffffffffu, words.words[i], distance);
  return words.value;
}

/* Whether a value at a position comes before another one: it is smaller, or is no number, or is as small and comes first. */
template <class T> __device__ __forceinline__ bool is_before_min(T a, i64 i, T b, i64 j) {
  if (a != a) return b == b || i < j;
  return b == b && (a < b || (a == b && i < j));
}
template <class T> __device__ __forceinline__ bool is_before_max(T a, i64 i, T b, i64 j) {
  if (a != a) return b == b || i < j;
  return b == b && (a > b || (a == b && i < j));
}

/* A sum, the sum of squared deviations from the mean, and a number of elements: those of two parts together. */
template <class T> __device__ __forceinline__ void merge_deviations(T& s, T& m, T& n, T t, T o, T k) {
  if (k == 0) return;
  if (n == 0) { s = t, m = o, n = k; return; }
  T d = t / k - s / n;
  m += o + d * d * (n * (k / (n + k)));
  s += t;
  n += k;
}
/* From sums of deviations from an element. */
template <class T> __device__ __forceinline__ void finish_deviations(T& s, T& m, T& n, T shift) {
  if (n == 0) return;
  T rest = m - s / n * s;
  m = rest < 0 ? (T)0 : rest;
  s += n * shift;
}
