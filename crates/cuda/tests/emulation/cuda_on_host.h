// Plays CUDA on the CPU: the blocks of a grid run one after another, and so do the threads of a block, as coroutines
// where they wait for each other.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>
#include <vector>

#define __device__
#define __global__
#define __host__
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(...)
#define __restrict__

struct uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct Index { unsigned x; };
static thread_local Index threadIdx, blockIdx;

template <class T> inline T __ldg(const T* p) {
  // As on the device, where a misaligned address is an error.
  if ((uintptr_t)p % sizeof(T)) abort();
  return *p;
}
template <class T> inline void __stcs(T* p, T v) {
  if ((uintptr_t)p % sizeof(T)) abort();
  *p = v;
}
inline float rsqrtf(float a) { return 1 / sqrtf(a); }
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
inline double __longlong_as_double(long long a) { double r; memcpy(&r, &a, 8); return r; }

namespace host {
constexpr size_t STACK = 64 * 1024;
static ucontext_t scheduler;
static std::vector<ucontext_t> contexts;
static std::vector<char> stacks;
static std::vector<char> is_done;
static unsigned current;
static unsigned long long exchange[1024];
static void (*kernel)(const void*);
static const void* argument;

static void thread_main() {
  kernel(argument);
  is_done[current] = 1;
  swapcontext(&contexts[current], &scheduler);
}

// Runs every thread of a block up to its next barrier, until all are done.
static void run_block(unsigned threads) {
  contexts.resize(threads);
  stacks.resize(threads * STACK);
  is_done.assign(threads, 0);
  for (unsigned t = 0; t < threads; t++) {
    getcontext(&contexts[t]);
    contexts[t].uc_stack.ss_sp = &stacks[t * STACK];
    contexts[t].uc_stack.ss_size = STACK;
    contexts[t].uc_link = nullptr;
    makecontext(&contexts[t], thread_main, 0);
  }
  for (bool is_running = true; is_running;) {
    is_running = false;
    for (unsigned t = 0; t < threads; t++) {
      if (is_done[t]) continue;
      is_running = true;
      current = t;
      threadIdx.x = t;
      swapcontext(&scheduler, &contexts[t]);
    }
  }
}

static void launch(void (*function)(const void*), const void* words, unsigned blocks, unsigned threads, bool has_barriers) {
  kernel = function;
  argument = words;
  for (unsigned b = 0; b < blocks; b++) {
    blockIdx.x = b;
    if (has_barriers) {
      run_block(threads);
      continue;
    }
    for (unsigned t = 0; t < threads; t++) {
      threadIdx.x = t;
      function(words);
    }
  }
}
}  // namespace host

// All threads of a block reach the same barriers and shuffles.
inline void __syncthreads() { swapcontext(&host::contexts[host::current], &host::scheduler); }
inline void __syncwarp() { __syncthreads(); }
inline unsigned __shfl_sync(unsigned, unsigned value, unsigned lane) {
  unsigned own = host::current;
  host::exchange[own] = value;
  __syncthreads();
  unsigned result = (unsigned)host::exchange[own / 32 * 32 + lane];
  __syncthreads();
  return result;
}
inline unsigned __shfl_down_sync(unsigned, unsigned value, unsigned distance) {
  unsigned own = host::current;
  host::exchange[own] = value;
  __syncthreads();
  unsigned from = own % 32 + distance < 32 ? own + distance : own;
  unsigned result = (unsigned)host::exchange[from];
  __syncthreads();
  return result;
}
