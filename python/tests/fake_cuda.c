// A driver and a compiler without a GPU: memory is the host's, kernels do nothing, and every call is written to a log.
// Numbers of streams and events are their handles. UNISHAPE_FAKE_CUDA_LOG names the log.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef NVRTC
#define NVRTC 13
#endif

typedef unsigned long long u64;

static void call(const char* format, ...) {
  FILE* log = fopen(getenv("UNISHAPE_FAKE_CUDA_LOG"), "a");
  if (!log) return;
  va_list arguments;
  va_start(arguments, format);
  vfprintf(log, format, arguments);
  va_end(arguments);
  fclose(log);
}

static _Thread_local long current = 0;
static long next = 100;
static int process = 0;

int cuInit(unsigned flags) { return process = getpid(), 0; }
int cuDriverGetVersion(int* version) {
  const char* own = getenv("UNISHAPE_FAKE_CUDA_VERSION");
  return *version = own ? atoi(own) : 13000, 0;
}
int cuDeviceGetCount(int* count) { return *count = 2, 0; }
int cuDeviceGet(int* device, int ordinal) { return *device = ordinal, ordinal < 2 ? 0 : 101; }
int cuDeviceGetAttribute(int* value, int attribute, int device) { return *value = attribute == 75 ? 9 : 0, 0; }
int cuDevicePrimaryCtxRetain(void** context, int device) { return *context = (void*)(long)(1000 + device), 0; }
int cuDevicePrimaryCtxRelease_v2(int device) { return 0; }
int cuDevicePrimaryCtxRelease(int device) { return 0; }
int cuCtxGetCurrent(void** context) { return *context = (void*)current, getpid() == process ? 0 : 3; }
int cuCtxSetCurrent(void* context) { return current = (long)context, 0; }
int cuGetErrorString(int error, const char** text) { return *text = "fake error", 0; }
int cuGetErrorName(int error, const char** text) { return *text = "FAKE_ERROR", 0; }
int cuThreadExchangeStreamCaptureMode(int* mode) { return 0; }
int cuModuleLoadData(void** module, const void* image) { return call("load\n"), *module = (void*)1, 0; }
int cuModuleGetFunction(void** function, void* module, const char* name) { return *function = (void*)1, 0; }
int cuPointerGetAttribute(void* value, int attribute, u64 address) {
  return *(int*)value = 0, getpid() == process ? address >> 60 != 0 : 3;
}

int cuMemAllocAsync(u64* address, size_t bytes, void* stream) {
  void* memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
  call("allocate %zu on %ld\n", bytes, (long)stream);
  return *address = (u64)memory, memory ? 0 : 2;
}
int cuMemFreeAsync(u64 address, void* stream) { return call("free on %ld\n", (long)stream), free((void*)address), 0; }
int cuMemsetD8Async(u64 address, unsigned char value, size_t count, void* stream) {
  return call("set 1 on %ld\n", (long)stream), memset((void*)address, value, count), 0;
}
int cuMemsetD16Async(u64 address, unsigned short value, size_t count, void* stream) {
  return call("set 2 on %ld\n", (long)stream), *(unsigned short*)address = value, 0;
}
int cuMemsetD32Async(u64 address, unsigned value, size_t count, void* stream) {
  return call("set 4 on %ld\n", (long)stream), *(unsigned*)address = value, 0;
}
int cuEventCreate(void** event, unsigned flags) { return *event = (void*)next++, 0; }
int cuEventDestroy_v2(void* event) { return 0; }
int cuEventRecord(void* event, void* stream) { return call("record %ld on %ld\n", (long)event, (long)stream), 0; }
int cuStreamWaitEvent(void* stream, void* event, unsigned flags) {
  return call("wait for %ld on %ld\n", (long)event, (long)stream), 0;
}
int cuStreamSynchronize(void* stream) { return call("synchronize %ld\n", (long)stream), 0; }
int cuLaunchKernel(void* function, unsigned x, unsigned y, unsigned z, unsigned a, unsigned b, unsigned c,
                   unsigned shared, void* stream, void** parameters, void** extra) {
  return call("launch on %ld, device %ld\n", (long)stream, current - 1000), 0;
}

// The compiler, which compiles nothing: that of NVIDIA uses the driver.
int nvrtcVersion(int* major, int* minor) { return *major = NVRTC, *minor = 0, 0; }
int nvrtcGetNumSupportedArchs(int* count) { return *count = 1, 0; }
int nvrtcGetSupportedArchs(int* archs) { return *archs = 90, 0; }
int nvrtcCreateProgram(void** program, const char* source, const char* name, int count, const char** headers,
                       const char** names) {
  return *program = (void*)1, 0;
}
int nvrtcCompileProgram(void* program, int count, const char** options) {
  usleep(20000);  // so that threads would compile the same kernel at once
  return call(NVRTC == 13 ? "compile %s\n" : "compile %s by an older one\n", options[1]), 0;
}
int nvrtcDestroyProgram(void** program) { return 0; }
int nvrtcGetProgramLogSize(void* program, size_t* size) { return *size = 1, 0; }
int nvrtcGetProgramLog(void* program, char* log) { return *log = 0, 0; }
int nvrtcGetCUBINSize(void* program, size_t* size) { return *size = 1, 0; }
int nvrtcGetCUBIN(void* program, char* code) { return *code = 'c', 0; }
int nvrtcGetPTXSize(void* program, size_t* size) { return *size = 1, 0; }
int nvrtcGetPTX(void* program, char* code) { return *code = 'p', 0; }
