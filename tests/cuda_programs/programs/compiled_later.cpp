// Kernels compiled while the program runs: nvrtc, and the driver API that loads and launches them. No kernel of its own.
#include <cuda.h>
#include <nvrtc.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "checks.h"

static const char source[] = R"(
#include "shared.h"
__constant__ float factor[2];
__device__ int calls;
extern "C" __global__ void scale(float *x, int n, float by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = plus_one(x[i] * by * factor[1]);
    if (i == 0) atomicAdd(&calls, 1);
}
namespace shapes {
template <class T, int count> __global__ void repeated(T *x, char small, T value) {
    __shared__ T parts[64];
    parts[threadIdx.x] = value;
    __syncthreads();
    T sum = small + OFFSET;
    for (int k = 0; k < count; ++k) sum += parts[(threadIdx.x + k) % 64];
    x[threadIdx.x] = sum;
}
}
)";
static const char shared[] = "__device__ inline float plus_one(float x) { return x + 1; }\n";

static std::string log_of(nvrtcProgram program) {
    size_t bytes;
    CHECK(nvrtcGetProgramLogSize(program, &bytes) == NVRTC_SUCCESS);
    std::vector<char> log(bytes);
    CHECK(nvrtcGetProgramLog(program, log.data()) == NVRTC_SUCCESS);
    return log.data();
}
static std::string made(nvrtcProgram program) {
    size_t bytes;
    CHECK(nvrtcGetPTXSize(program, &bytes) == NVRTC_SUCCESS);
    std::string ptx(bytes, ' ');
    CHECK(nvrtcGetPTX(program, &ptx[0]) == NVRTC_SUCCESS && ptx.size() == strlen(ptx.c_str()) + 1);
    return ptx;
}

static void start() {
    CUdevice device;
    CUcontext context;
    CHECK(cuMemAlloc(nullptr, 4) == CUDA_ERROR_NOT_INITIALIZED);
    CHECK(cuInit(0) == CUDA_SUCCESS && cuDeviceGet(&device, 0) == CUDA_SUCCESS && cuDeviceGet(&device, 1) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(cuDeviceGet(&device, 0) == CUDA_SUCCESS && cuCtxCreate(&context, 0, device) == CUDA_SUCCESS);
}

static void launches() {
    nvrtcProgram program;
    const char *headers[] = {shared}, *names[] = {"shared.h"}, *options[] = {"--gpu-architecture=compute_80", "-DOFFSET=2"};
    CHECK(nvrtcCreateProgram(&program, source, "later.cu", 1, headers, names) == NVRTC_SUCCESS);
    const char *expression = "shapes::repeated<double, 3>", *lowered = nullptr, *factor_name = nullptr;
    CHECK(nvrtcAddNameExpression(program, expression) == NVRTC_SUCCESS && nvrtcAddNameExpression(program, "&factor") == NVRTC_SUCCESS);
    CHECK(nvrtcGetLoweredName(program, expression, &lowered) == NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION);
    const nvrtcResult result = nvrtcCompileProgram(program, 2, options);
    if (result != NVRTC_SUCCESS) printf("%s\n%s", nvrtcGetErrorString(result), log_of(program).c_str());
    CHECK(nvrtcGetLoweredName(program, expression, &lowered) == NVRTC_SUCCESS && nvrtcGetLoweredName(program, "&factor", &factor_name) == NVRTC_SUCCESS);
    CHECK(nvrtcGetLoweredName(program, "other", &lowered) == NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID);
    CHECK(nvrtcGetLoweredName(program, expression, &lowered) == NVRTC_SUCCESS);
    const std::string ptx = made(program);

    CUmodule module, second;
    CUfunction scale, repeated, none;
    CHECK(cuModuleLoadData(&module, ptx.c_str()) == CUDA_SUCCESS && cuModuleLoadDataEx(&second, ptx.c_str(), 0, nullptr, nullptr) == CUDA_SUCCESS);
    CHECK(cuModuleGetFunction(&scale, module, "scale") == CUDA_SUCCESS && cuModuleGetFunction(&repeated, module, lowered) == CUDA_SUCCESS);
    CHECK(cuModuleGetFunction(&none, module, "nothing") == CUDA_ERROR_NOT_FOUND);
    CUdeviceptr factor, calls, calls_of_second, x;
    size_t bytes;
    CHECK(cuModuleGetGlobal(&factor, &bytes, module, factor_name) == CUDA_SUCCESS && bytes == 8);
    CHECK(cuModuleGetGlobal(&calls, &bytes, module, "calls") == CUDA_SUCCESS && bytes == 4);
    CHECK(cuModuleGetGlobal(&calls_of_second, nullptr, second, "calls") == CUDA_SUCCESS && calls_of_second != calls);

    const float factors[] = {0, 10};
    int n = 100;
    float by = 2, h[100];
    for (int i = 0; i < n; ++i) h[i] = (float)i;
    CHECK(cuMemAlloc(&x, sizeof(double) * 100) == CUDA_SUCCESS && cuMemcpyHtoD(x, h, sizeof h) == CUDA_SUCCESS);
    CHECK(cuMemcpyHtoD(factor, factors, sizeof factors) == CUDA_SUCCESS);
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    void *arguments[] = {&x, &n, &by};
    CHECK(cuLaunchKernel(scale, 2, 1, 1, 64, 1, 1, 0, stream, arguments, nullptr) == CUDA_SUCCESS && cuStreamSynchronize(stream) == CUDA_SUCCESS);
    CHECK(cuMemcpyDtoH(h, x, sizeof h) == CUDA_SUCCESS);
    for (int i = 0; i < n; ++i) SAME(h[i], 20.0f * i + 1);
    int counted;
    CHECK(cuMemcpyDtoH(&counted, calls, 4) == CUDA_SUCCESS && counted == 1);
    CHECK(cuLaunchKernel(scale, 2, 1, 1, 2000, 1, 1, 0, 0, arguments, nullptr) == CUDA_ERROR_INVALID_VALUE);

    struct { CUdeviceptr x; char small; double value; } packed = {x, 5, 1.5};
    size_t size = sizeof packed;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    double wide[64];
    CHECK(cuLaunchKernel(repeated, 1, 1, 1, 64, 1, 1, 0, 0, nullptr, extra) == CUDA_SUCCESS && cuCtxSynchronize() == CUDA_SUCCESS);
    CHECK(cuMemcpyDtoH(wide, x, sizeof wide) == CUDA_SUCCESS);
    SAME(wide[63], 11.5);
    int value;
    CHECK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, repeated) == CUDA_SUCCESS && value == 512);
    CHECK(cuMemsetD32(x, 7, 100) == CUDA_SUCCESS && cuMemcpyDtoH(&value, x + 396, 4) == CUDA_SUCCESS && value == 7);
    CHECK(cuModuleUnload(module) == CUDA_SUCCESS && cuModuleUnload(second) == CUDA_SUCCESS && cuMemFree(x) == CUDA_SUCCESS);
    CHECK(nvrtcDestroyProgram(&program) == NVRTC_SUCCESS && !program);
}

static void errors() {
    nvrtcProgram program;
    CHECK(nvrtcCreateProgram(&program, "__global__ void f(int *x) { x[0] = nowhere; }", "wrong.cu", 0, nullptr, nullptr) == NVRTC_SUCCESS);
    CHECK(nvrtcCompileProgram(program, 0, nullptr) == NVRTC_ERROR_COMPILATION);
    const std::string log = log_of(program);
    CHECK(log.find("wrong.cu:1:") != std::string::npos && log.find("nowhere") != std::string::npos);
    const char *options[] = {"--no-such-option"};
    CHECK(nvrtcCompileProgram(program, 1, options) == NVRTC_ERROR_INVALID_OPTION);
    CHECK(nvrtcDestroyProgram(&program) == NVRTC_SUCCESS);
    CUmodule module;
    CHECK(cuModuleLoadData(&module, ".version 8.0\n.target sm_80\n.address_size 64\n") == CUDA_ERROR_INVALID_PTX);
    CHECK(cuModuleLoad(&module, "/nowhere/at/all.cubin") == CUDA_ERROR_FILE_NOT_FOUND);
    const char *text;
    CHECK(cuGetErrorName(CUDA_ERROR_NOT_FOUND, &text) == CUDA_SUCCESS && !strcmp(text, "CUDA_ERROR_NOT_FOUND"));
    CHECK(cuGetErrorString(CUDA_ERROR_NOT_FOUND, &text) == CUDA_SUCCESS && !strcmp(text, "named symbol not found"));
}

// A module that was compiled before, by -ptx or -cubin: its name is in MODULE.
static void file() {
    CUmodule module;
    CUfunction square;
    const char *name = getenv("MODULE");
    if (!name) return;
    CHECK(cuModuleLoad(&module, name) == CUDA_SUCCESS && cuModuleGetFunction(&square, module, "_Z6squarePfi") == CUDA_SUCCESS);
}

int main(int argc, char **argv) {
    start();
    const Subject subjects[] = {{"launches", launches}, {"errors", errors}, {"file", file}};
    return run_subjects(subjects, 3, argc, argv);
}
