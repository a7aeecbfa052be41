"""Sources whose host code uses what is not here, in the ways that programs do: name -> (source, kernels it has).

Each has a kernel `up`, `up(float *x, int n)` or with another number type, which adds one to n elements, or says in a
third item how a kernel is launched instead.
"""

UP = """
__global__ void up(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] += 1; }
"""

SOURCES: dict[str, tuple[str, tuple[str, ...]]] = {
    "openmp": ("#include <omp.h>" + UP + """
int main() {
    double begin = omp_get_wtime();
    #pragma omp parallel for num_threads(4)
    for (int i = 0; i < 4; i++) printf("%d\\n", omp_get_thread_num());
    float *x;
    cudaMalloc(&x, 40);
    up<<<1, 10>>>(x, 10);
    printf("%f s\\n", omp_get_wtime() - begin);
}
""", ("up",)),
    "mpi": ("#include <mpi.h>\n#include <stdio.h>" + UP + """
static MPI_Comm world = MPI_COMM_WORLD;
void exchange(MPI_Comm comm, float *x, MPI_Request *requests) { MPI_Isend(x, 1, MPI_FLOAT, 0, 0, comm, requests); }
int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (MPI_Comm_size(MPI_COMM_WORLD, &size) != MPI_SUCCESS) { MPI_Abort(MPI_COMM_WORLD, 1); } else { printf("ok"); }
    MPI_Finalize();
    return 0;
}
""", ("up",)),
    "cublas": ("#include <cublas_v2.h>\n#include <cuda_runtime.h>" + UP + """
class Handle {
    cublasHandle_t handle;
public:
    Handle() { if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) exit(1); }
    ~Handle() { cublasDestroy(handle); }
    void multiply(const float *a, const float *b, float *c, int n) {
        const float one = 1, zero = 0;
        cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n);
        up<<<(n + 255) / 256, 256>>>(c, n);
    }
};
""", ("up",)),
    "nvtx": ("#include <nvtx3/nvToolsExt.h>" + UP + """
struct Range { Range(const char *name) { nvtxRangePushA(name); } ~Range() { nvtxRangePop(); } };
void run(float *x) { Range range("up"); nvtxMarkA("here"); up<<<1, 1>>>(x, 1); }
""", ("up",)),
    "helper_cuda": ("#include <helper_cuda.h>\n#include \"helper_functions.h\"" + UP + """
int main(int argc, char **argv) {
    findCudaDevice(argc, (const char **)argv);
    float *x;
    checkCudaErrors(cudaMalloc((void **)&x, 4));
    up<<<1, 1>>>(x, 1);
    getLastCudaError("up");
    StopWatchInterface *timer = NULL;
    sdkCreateTimer(&timer);
    checkCudaErrors(cudaFree(x));
}
""", ("up",)),
    "own_check_macro": ("""#include <cstdio>
#define CHECK(call) do { cudaError_t error = (call); if (error != cudaSuccess) { fprintf(stderr, "%s:%d %s\\n", \\
    __FILE__, __LINE__, cudaGetErrorString(error)); std::exit(EXIT_FAILURE); } } while (0)
""" + UP + """
void run() {
    float *x; cudaIpcMemHandle_t shared;
    CHECK(cudaMalloc(&x, 12));
    CHECK(cudaIpcGetMemHandle(&shared, x));
    up<<<1, 3>>>(x, 3);
    CHECK(cudaGetLastError());
}
""", ("up",)),
    "host_assert": ("#include <cassert>" + UP + """
void run(float *x, int n) { assert(n > 0 && "some"); up<<<n, 1>>>(x, n); assert(x); }
""", ("up",)),
    "device_assert": ("#include <assert.h>" + """
__global__ void up(float *x, int n) { assert(n > 0); int i = threadIdx.x; if (i < n) x[i] += 1; }
void run(float *x, int n) { assert(n > 0); up<<<1, n>>>(x, n); }
""", ("up",)),
    "no_includes": (UP + """
int run(int n) {
    float *host = (float *)calloc(n, sizeof(float)), *device = nullptr;
    srand(time(NULL));
    for (int i = 0; i < n; i++) host[i] = max(0, min(i, rand() % 10)) + fmaxf(sinf(1.0f * i), 0.5f);
    if (cudaMalloc((void **)&device, max(n, 1) * sizeof(float)) != cudaSuccess) { printf("no memory"); abort(); }
    up<<<1, 32>>>(device, n);
    memcpy(host, host, strlen("name"));
    clock_t begin = clock();
    return (int)floor(pow(2.0, 3.0)) + INT_MAX % 3 + atoi("3") + (FLT_MAX > 0) + (int)(clock() - begin);
}
""", ("up",)),
    "spaced_launches": (UP + """
template <typename T> __global__ void twice(T *x) { x[threadIdx.x] *= 2; }
void run(float *x, dim3 grid, dim3 block) {
    up << < grid, block >> > (x, 1);
    up <<< dim3(2), dim3(3), 0, 0 >>> (x, 2);
    up << <1, 2, 0>> >(x, 3);
    twice<float> << < grid, block >> > (x);
    twice << < 1, 2
        >> > ((double *)x);
    int shifted = 1 << 2 >> 1;
}
""", ("up", "twice<float>", "twice<double>")),
    "launch_in_a_macro": (UP + """
#define LAUNCH(kernel, n, ...) do { kernel << < (n) / 32, 32 >> > (__VA_ARGS__); unknown_check(#kernel); } while (0)
void run(float *x, int n) { LAUNCH(up, n, x, n); }
""", ("up",)),
    "template_in_blanked_code": ("#include <unknown_host_library.h>" + UP + """
template <typename T, int N> __global__ void fill(T *x, T value) { x[threadIdx.x] = value * N; }
void run(library::Array<float> x) { library::Guard guard(x); fill<float, 3><<<1, 8>>>(x.data(), 2.f); }
""", ("up", "fill<float, 3>")),
    "template_deduced": (UP + """
template <typename T> __global__ void fill(T *x, T value) { x[threadIdx.x] = value; }
int main() {
    int *x;
    unknownCheck(cudaMalloc(&x, 4));
    fill<<<1, 8>>>(x, 3);
    unknownCheck(cudaDeviceSynchronize());
}
""", ("up", "fill<int>")),
    "template_launcher": ("#include <assert.h>" + UP + """
template <typename T> __global__ void fill(T *x, T v) { x[threadIdx.x] = v; }
template <typename T> struct Runner {
    T *data; int n;
    void run(T v) { assert(n); fill<T><<<1, 8>>>(data, v); unknown_function(data); cudaDeviceSynchronize(); }
};
template struct Runner<float>;
template <typename T> void launch(T *x, T v) { fill<<<1, 8>>>(x, v); cudaDeviceSynchronize(); another_unknown(v); }
template void launch<double>(double *, double);
""", ("up", "fill<float>", "fill<double>")),
    "namespaces": ("""
namespace outer { namespace inner {
template <int N> __global__ void add(float *x) { x[threadIdx.x] += N; }
namespace {
__global__ void hidden(float *x) { x[threadIdx.x] += 2; }
void helper(Unknown &u) { add<7><<<1, 1>>>(u.data); hidden<<<1, 1>>>(u.data); }
}
} }
using namespace outer::inner;
""" + UP + "void run(float *x) { other_unknown(); add<3><<<1, 1>>>(x); }\n",
                   ("outer::inner::add<7>", "up", "outer::inner::add<3>")),
    "extern_c_blocks": ("""
extern "C" {
#include <stdlib.h>
int fortran_routine_(int *n);
__global__ void up(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] += 1; }
void run_(float *x, int *n) { unknown_t handle = begin(); up<<<1, *n>>>(x, *n); finish(handle); }
}
extern "C" int more(unknown_t handle) { return handle.field; }
""", ("up",)),
    "host_lambdas": ("#include <functional>\n#include <vector>" + UP + """
void run(float *x, std::vector<int> sizes) {
    auto launch = [&](int n) { up<<<1, n>>>(x, n); unknown_sync([=] { return n; }); };
    std::function<void(int)> f = launch;
    for (auto n : sizes) f(n);
    unknown_for_each(sizes, [&](auto n) { launch(n); });
}
""", ("up",)),
    "class_with_launches": ("#include <string>\n#include <iostream>" + """
class Simulation {
    float *state = nullptr;
    std::string name;
    unknown::Logger log;
    static int count;
public:
    explicit Simulation(std::string n) : name(std::move(n)), log(name) { cudaMalloc(&state, 400); }
    virtual ~Simulation() { cudaFree(state); }
    virtual void step(int n);
    friend std::ostream &operator<<(std::ostream &out, const Simulation &s) { return out << s.name << s.log.text(); }
};
int Simulation::count = 0;
""" + UP + """
void Simulation::step(int n) { up<<<(n + 31) / 32, 32>>>(state, n); log.write("step", n); }
""", ("up",)),
    "struct_of_device_functions": (UP.replace("x[i] += 1", "x[i] = Step{1}.of(x[i])").replace(
        "__global__", """struct Step {
    float by;
    __host__ __device__ float of(float x) const { return x + by; }
    void save(const char *path) const { unknown_file file(path); file.write(*this); }
    template <class Archive> void serialize(Archive &archive) { archive(by); unknown::note(archive); }
    static Step read(const char *path) { return unknown_read(path); }
};
__global__""", 1), ("up",)),
    "threads_and_clocks": ("#include <thread>\n#include <chrono>\n#include <mutex>" + UP + """
std::mutex guard;
void run(float *x) {
    auto begin = std::chrono::steady_clock::now();
    std::thread worker([&] { std::lock_guard<std::mutex> held(guard); up<<<1, 1>>>(x, 1); });
    worker.join();
    unknown_report(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}
""", ("up",)),
    "streams_of_text": ("#include <iostream>\n#include <fstream>\n#include <iomanip>\n#include <sstream>" + UP + """
int main(int argc, char *argv[]) {
    std::ifstream file(argv[1]);
    std::cout << std::setw(10) << "x" << std::endl;
    std::stringstream text; text << 1 << unknown_value;
    up<<<1, 1>>>((float *)nullptr, 1);
}
""", ("up",)),
    "exceptions": ("#include <stdexcept>\n#include <string>" + UP + """
void check(cudaError_t error) { if (error) throw std::runtime_error(std::string("a") + cudaGetErrorString(error)); }
int main() try { unknown_begin(); check(cudaDeviceSynchronize()); } catch (const std::exception &e) { return 1; }
void run(float *x) { try { up<<<1, 1>>>(x, 1); unknown(); } catch (...) { throw; } }
""", ("up",)),
    "cpp20_host": ("""
#include <array>
template <class T> concept Number = requires(T a) { a + a; };
template <Number T> T sum(T a, T b) { return a + b; }
struct Version { int major, minor; auto operator<=>(const Version &) const = default; };
consteval int square(int x) { return x * x; }
""" + UP + """
void run(float *x) { Version v{.major = 1, .minor = 2}; auto twice = []<class T>(T t) { return t + t; };
    up<<<1, square(2)>>>(x, twice(sum(1, 2))); unknown(v); }
""", ("up",)),
    "cpp20_device": ("""
template <class T> concept Number = requires(T a) { a + a; };
template <Number T> __device__ T sum(T a, T b) { return a + b; }
__global__ void up(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] = sum(x[threadIdx.x], 1.f); }
""", ("up",)),
    "cpp14": ("#include <algorithm>\n#include <functional>" + """
template <class T> struct Less : public std::binary_function<T, T, bool> {
    bool operator()(T a, T b) const { return a < b; }
};
__global__ void up(float *x, int n) { register int i = threadIdx.x; if (i < n) x[i] += 1; }
void run() throw(int) { register int k = 0; int v[3] = {3, 1, 2}; std::random_shuffle(v, v + 3); }
""", ("up",)),
    "device_needs_templates": ("#include <utility>" + """
template <class T> constexpr T larger(T a, T b) { return a < b ? b : a; }
__global__ void up(float *x, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    float y = x[i] + 1;
    std::swap(x[i], y);
    x[i] = larger(x[i], 0.f);
}
void run(float *x) { unknown(); up<<<1, 1>>>(x, 1); }
""", ("up",)),
    "textures_unused": (UP + """
texture<float, 2, cudaReadModeElementType> image;
static cudaArray *array;
void bind(int w, int h) {
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaMallocArray(&array, &format, w, h);
    image.addressMode[0] = cudaAddressModeClamp;
    cudaBindTextureToArray(image, array, format);
}
""", ("up",)),
    "graphs_and_attributes": (UP + """
int run(float *x) {
    int processors;
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
    cudaStream_t stream; cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaGraph_t graph; cudaGraphExec_t ready;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    up<<<processors, 32, 0, stream>>>(x, 1);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&ready, graph, 0);
    cudaGraphLaunch(ready, stream);
    cudaPointerAttributes attributes; cudaPointerGetAttributes(&attributes, x);
    cudaThreadSynchronize(); cudaThreadExit();
    return attributes.type == cudaMemoryTypeDevice;
}
""", ("up",)),
    "driver_api": ("#include <cuda.h>\n#include <nvrtc.h>" + UP + """
CUmodule module; CUfunction function; CUdevice device; CUcontext context;
bool load(const char *text) {
    cuInit(0); cuDeviceGet(&device, 0); cuCtxCreate(&context, 0, device);
    if (cuModuleLoadData(&module, text) != CUDA_SUCCESS) return false;
    nvrtcProgram program; nvrtcCreateProgram(&program, text, "a.cu", 0, nullptr, nullptr);
    void *arguments[] = {};
    return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr) == CUDA_SUCCESS;
}
""", ("up",)),
    "thrust_host": ("#include <thrust/device_vector.h>\n#include <thrust/sort.h>" + UP + """
void run(int n) {
    thrust::device_vector<float> x(n, 1.f);
    up<<<1, n>>>(thrust::raw_pointer_cast(x.data()), n);
    thrust::sort(x.begin(), x.end());
}
""", ("up",)),
    "curand_host": ("#include <curand.h>\n#include <cufft.h>\n#include <cusparse.h>" + UP + """
#define CURAND(x) if ((x) != CURAND_STATUS_SUCCESS) return -1
struct Plan { cufftHandle handle; Plan(int n) { cufftPlan1d(&handle, n, CUFFT_C2C, 1); } };
int run(float *x, int n) {
    curandGenerator_t generator;
    CURAND(curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT));
    CURAND(curandGenerateUniform(generator, x, n));
    Plan plan(n);
    cusparseHandle_t sparse; cusparseCreate(&sparse);
    up<<<1, n>>>(x, n);
    return 0;
}
""", ("up",)),
    "test_macros": ("#include <gtest/gtest.h>\n#include <benchmark/benchmark.h>" + UP + """
TEST(Up, AddsOne) { float *x; ASSERT_EQ(cudaMalloc(&x, 4), cudaSuccess); up<<<1, 1>>>(x, 1); }
class Fixture : public ::testing::Test { protected: void SetUp() override { cudaSetDevice(0); } };
TEST_F(Fixture, Other) { SUCCEED(); }
BENCHMARK(run_up)
BENCHMARK_MAIN();
""", ("up",)),
    "torch_extension": ("#include <torch/extension.h>\n#include <ATen/cuda/CUDAContext.h>" + """
#define CHECK_INPUT(x) TORCH_CHECK(x.is_cuda(), #x " must be on the device")
template <typename scalar_t> __global__ void up(scalar_t *x, int n) { if (threadIdx.x < n) x[threadIdx.x] += 1; }
torch::Tensor forward(torch::Tensor x) {
    CHECK_INPUT(x);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "up", ([&] {
        up<scalar_t><<<1, 32>>>(x.data_ptr<scalar_t>(), x.numel());
    }));
    up<float><<<1, 32, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), x.numel());
    return x;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "up"); }
""", ("up<float>",)),
    "windows_and_posix": ("""
#ifdef _WIN32
#include <windows.h>
#else
#include <sys/time.h>
#include <unistd.h>
#endif
""" + UP + """
double seconds() { struct timeval now; gettimeofday(&now, 0); usleep(1); return now.tv_sec + 1e-6 * now.tv_usec; }
int run() { return unknown_seconds() > seconds(); }
""", ("up",)),
    "old_style": (UP + """
#include "cutil_inline.h"
int main(argc, argv) int argc; char **argv; {
    CUT_DEVICE_INIT(argc, argv);
    return 0;
}
int global = undeclared, second = 3;
static const char *names[] = { "a", "b", UNKNOWN };
void run(float *x) { CUDA_SAFE_CALL(cudaThreadSynchronize()); up<<<1, 1>>>(x, second); }
""", ("up",)),
    "inheritance": ("#include <memory>\n#include <map>" + UP + """
struct Base { virtual ~Base() = default; virtual void run(float *x, int n) = 0; };
template <class T> class Derived final : public Base, private unknown::Mixin<T> {
    std::unique_ptr<T[]> data; std::map<int, std::unique_ptr<Base>> children;
public:
    using unknown::Mixin<T>::mix;
    Derived() : Base(), data(new T[3]), children{} { mix(); }
    void run(float *x, int n) override { up<<<1, n>>>(x, n); for (auto &[key, child] : children) child->run(x, n); }
};
std::shared_ptr<Base> make() { return std::make_shared<Derived<float>>(); }
""", ("up",)),
    "raw_strings": (UP + r"""
const char *source = R"cuda(
__global__ void not_a_kernel(float *x) { x[0] = "}"; // it's
)cuda";
const char *path = "C:\\temp\\\"quoted\"{";
char quote = '\'', brace = '{', slash = '\\';   /* } " ' */
#define PASTE(a, b) a##b  // } '
void run(float *x) { unknown(source, 1'000'000, 0x1p-3, u8"\u00e9", L'x'); up<<<1, 1>>>(x, 1); }
""", ("up",)),
    "cooperative": ("#include <cooperative_groups.h>" + UP + """
__global__ void grid(float *x) { cooperative_groups::this_grid().sync(); x[threadIdx.x] = 1; }
void run(float *x) {
    void *arguments[] = {&x};
    cudaLaunchCooperativeKernel((void *)grid, dim3(1), dim3(32), arguments, 0, 0);
    cudaLaunchConfig_t config = {}; cudaLaunchAttribute attribute[1];
    config.attrs = attribute;
    cudaLaunchKernelEx(&config, grid, x);
}
""", ("up", "grid")),
    "managed": ("""
__managed__ int total = 3;
__device__ float scale[2] = {1, 2};
__constant__ float weights[4];
unknown_type host_state;
__global__ void up(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] += scale[0]; if (n < 0) total++; }
void set(const float *w) { cudaMemcpyToSymbol(weights, w, 16); host_state.x = total; cudaMemPrefetchAsync(&total); }
""", ("up",)),
    "conditional_code": (UP + """
#if defined(USE_FAST) && __CUDA_ARCH__ >= 700
#error "not here"
#endif
#ifdef __CUDACC__
#define BOTH __host__ __device__
#else
#define BOTH
#endif
BOTH inline float twice(float x) { return 2 * x; }
inline BOTH int cells(int n) { return n + 1; }
void run() { unknown(twice(2), cells(3)); }
""", ("up",)),
    "goto_and_switch": (UP + """
int run(float *x, int mode) {
    switch (mode) {
        case 0: up<<<1, 1>>>(x, 1); break;
        case UNKNOWN_MODE: unknown(); goto done;
        default: { for (int i = 0; i < unknown_count(); ++i) { up<<<1, 1>>>(x, i); if (i) continue; else break; } }
    }
    do { mode -= unknown(); } while (mode > 0);
    while (unknown_flag) if (mode) return 1; else return unknown_result();
done:
    return 0;
}
""", ("up",)),
    "fp8_and_others": ("#include <cuda_fp8.h>\n#include <cuda/std/complex>\n#include <nccl.h>" + UP + """
void run(const __nv_fp8_e4m3 *x, ncclComm_t comm) { ncclAllReduce(x, x, 1, ncclInt8, ncclSum, comm, 0); }
""", ("up",)),
    "global_objects": ("#include <vector>\n#include <atomic>" + UP + """
std::vector<Unknown> pool(10);
static Unknown single = Unknown::make({1, 2}), *pointer = &single;
constexpr int sizes[] = {1, 2, UNKNOWN};
typedef unknown::type alias; using other = unknown::other<int>;
enum Kind { First = UNKNOWN_FIRST, Second };
extern Unknown elsewhere(alias, other);
template <class T> other generic(T t);
template <> other generic<int>(int t) { return alias(t); }
Kind kind() { return First; }
""", ("up",)),
}

REFUSED: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "device_error": (UP + "void run() { unknown_host(); }\n__global__ void bad(float *x) { x[0] = unknown_device; }\n",
                     ("unknown_device", "<source>:4"), ("unknown_host",)),
    "device_needs_missing_type": ("#include <mylib.h>\n__global__ void k(mylib::Span x) { x[0] = 1; }\n"
                                  "void run() { f(); }\n",
                                  ("mylib", "<source>:2", "no header 'mylib.h'", "include="), ("'f'",)),
    "device_needs_host_struct": ("""
struct Context { unknown_t handle; float *data; };
__global__ void k(Context c) { c.data[0] = 1; }
""", ("unknown_t", "<source>:2"), ()),
    "device_needs_blanked_function": ("""
constexpr int cells(int n) { return unknown_cells(n); }
__global__ void k(float *x) { x[cells(3)] = 1; }
""", ("unknown_cells", "<source>:2"), ()),
    "device_needs_blanked_template": ("""
template <class T> T twice(T x) { unknown_note(1); return x + x; }
__global__ void k(float *x) { x[0] = twice(x[0]); }
""", ("unknown_note", "<source>:2"), ()),
    "name_found_elsewhere": ("""
__device__ inline float scale(double x) { return 2; }
float scale(float x, unknown_t y = {});
template <int N> struct Table { float data[N]; };
constexpr int cells = 3;
namespace inner {
constexpr int cells = UNKNOWN_CELLS;
__global__ void k(float *x) { x[0] = cells; }
}
""", ("UNKNOWN_CELLS", "<source>:7"), ()),
    "device_calls_host": ("float half(float x);\n__global__ void k(float *x) { x[0] = half(x[0]); }\n", ("half",), ()),
    "texture": ("texture<float, 1, cudaReadModeElementType> t;\n"
                "__global__ void k(float *x) { x[0] = tex1Dfetch(t, 0); }\n", ("no texture memory",), ()),
    "bad_constant": ("__constant__ float w[UNKNOWN];\n__global__ void k(float *x) { x[0] = w[0]; }\n",
                     ("UNKNOWN",), ()),
    "unbalanced": ("__global__ void k(float *x) { x[0] = 1; \nvoid run() { unknown(); }\n", ("<source>",), ()),
}
"""name -> (source, texts that the error has, texts that it has not)."""
