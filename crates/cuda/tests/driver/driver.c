// A driver and compilers without a GPU: memory is the host's, kernels do nothing, and calls are kept in a log.
// The numbers of streams are their handles, those of contexts are 1000 and 1001.
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long u64;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char text[1 << 16];
static size_t length = 0;
static long events = 0;
static _Thread_local long current = 0;
static _Thread_local int capture_mode = 0;

static void call(const char* format, ...) {
  pthread_mutex_lock(&lock);
  va_list arguments;
  va_start(arguments, format);
  length += vsnprintf(text + length, sizeof text - length, format, arguments);
  va_end(arguments);
  if (length > sizeof text / 2) abort();
  pthread_mutex_unlock(&lock);
}

// Writes the log, and empties it. Events are numbered from here on.
void take_log(char* to) {
  pthread_mutex_lock(&lock);
  memcpy(to, text, length + 1);
  text[length = 0] = 0;
  events = 0;
  pthread_mutex_unlock(&lock);
}
int get_capture_mode(void) { return capture_mode; }

#ifndef NVRTC

int cuInit(unsigned flags) { return 0; }
int cuDriverGetVersion(int* version) { return *version = 12090, 0; }
int cuDeviceGet(int* device, int ordinal) { return *device = ordinal, ordinal < 2 ? 0 : 101; }
// Compute capabilities 9.0 and 8.9.
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  return *value = attribute == 75 ? 9 - device : 9 * device, 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) { return *context = (void*)(long)(1000 + device), 0; }
int cuCtxGetCurrent(void** context) { return *context = (void*)current, 0; }
int cuCtxSetCurrent(void* context) { return current = (long)context, 0; }
int cuGetErrorString(int error, const char** text) { return *text = "no such device", 0; }
int cuThreadExchangeStreamCaptureMode(int* mode) {
  int before = capture_mode;
  return capture_mode = *mode, *mode = before, 0;
}
int cuModuleLoadData(void** module, const void* image) {
  return call("load %s in %ld, capture mode %d\n", image, current, capture_mode), *module = (void*)2, 0;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  static long functions = 500;
  pthread_mutex_lock(&lock);
  *function = (void*)functions++;
  pthread_mutex_unlock(&lock);
  return 0;
}
int cuMemAllocAsync(u64* address, size_t bytes, void* stream) {
  size_t padded = (bytes + 255) / 256 * 256;
  void* memory = aligned_alloc(256, padded);
  memset(memory, 0, padded);
  return *address = (u64)memory, call("allocate %zu on %ld in %ld\n", bytes, (long)stream, current), 0;
}
int cuMemFreeAsync(u64 address, void* stream) {
  return call("free %llx on %ld in %ld\n", address, (long)stream, current), free((void*)address), 0;
}
int cuMemcpyHtoDAsync_v2(u64 to, const void* from, size_t bytes, void* stream) {
  return call("copy %zu to %llx on %ld in %ld\n", bytes, to, (long)stream, current), memcpy((void*)to, from, bytes), 0;
}
int cuMemcpyDtoHAsync_v2(void* to, u64 from, size_t bytes, void* stream) {
  return call("copy %zu from %llx on %ld in %ld\n", bytes, from, (long)stream, current), memcpy(to, (void*)from, bytes), 0;
}
int cuEventCreate(void** event, unsigned flags) {
  pthread_mutex_lock(&lock);
  *event = (void*)++events;
  pthread_mutex_unlock(&lock);
  return 0;
}
int cuEventDestroy_v2(void* event) { return 0; }
int cuEventRecord(void* event, void* stream) { return call("record %ld on %ld\n", (long)event, (long)stream), 0; }
int cuStreamWaitEvent(void* stream, void* event, unsigned flags) {
  return call("wait for %ld on %ld\n", (long)event, (long)stream), 0;
}
int cuStreamSynchronize(void* stream) { return call("synchronize %ld in %ld\n", (long)stream, current), 0; }
int cuLaunchKernel(void* function, unsigned x, unsigned y, unsigned z, unsigned a, unsigned b, unsigned c,
                   unsigned shared, void* stream, void** parameters, void** extra) {
  if ((long)function < 500) return 400;
  return call("launch on %ld in %ld\n", (long)stream, current), 0;
}

#else

// Compute capabilities 7.5, 8.0 and 9.0. What is compiled is a text: its kind and the compiler.
static int is_wrong = 0;
#ifndef MINOR
#define MINOR (NVRTC == 13 ? 0 : 4)
#endif

int nvrtcVersion(int* major, int* minor) { return *major = NVRTC, *minor = MINOR, 0; }
int nvrtcGetNumSupportedArchs(int* count) { return *count = 3, 0; }
int nvrtcGetSupportedArchs(int* archs) { return archs[0] = 75, archs[1] = 80, archs[2] = 90, 0; }
int nvrtcCreateProgram(void** program, const char* source, const char* name, int count, const char** headers,
                       const char** names) {
  *program = (void*)1;
  is_wrong = strstr(source, "wrong") != NULL;
  return strstr(source, "refused") ? 3 : 0;
}
int nvrtcCompileProgram(void* program, int count, const char** options) {
  for (int at = 0; at < count; at++) call(at ? " %s" : "%s", options[at]);
  return call("\n"), is_wrong ? 6 : 0;
}
int nvrtcDestroyProgram(void** program) { return call("destroy\n"), 0; }
int nvrtcGetProgramLogSize(void* program, size_t* size) { return *size = 5, 0; }
int nvrtcGetProgramLog(void* program, char* log) { return memcpy(log, "line", 5), 0; }
int nvrtcGetCUBINSize(void* program, size_t* size) { return *size = 9, 0; }
int nvrtcGetCUBIN(void* program, char* code) { return sprintf(code, "cubin %d", NVRTC), 0; }
int nvrtcGetPTXSize(void* program, size_t* size) { return *size = 7, 0; }
int nvrtcGetPTX(void* program, char* code) { return sprintf(code, "ptx %d", NVRTC), 0; }

#endif
