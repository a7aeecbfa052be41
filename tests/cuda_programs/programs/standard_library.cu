#include <iostream>
#include <string>
#include <map>
#include <algorithm>
#include <random>
#include <chrono>
#include <thread>
#include <fstream>
#include <sstream>
#include <iomanip>
#include <complex>
#include <functional>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <set>
#include <queue>
#include <list>
#include <numeric>
#include <limits>
#include <array>
#include <optional>
#include <variant>
#include <atomic>
#include <mutex>
#include <regex>
#include <stdexcept>
#include <cassert>
#include <cfloat>
#include <climits>
#include <unistd.h>
#include <sys/time.h>
#include <getopt.h>
#include <pthread.h>
#include <vector>
#include <cuda_runtime.h>
#include <device_launch_parameters.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuComplex.h>
#include <cooperative_groups.h>
#include <math_constants.h>
#define CHECK(call) do { cudaError_t e = call; if (e != cudaSuccess) { std::cerr << __FILE__ << ":" << __LINE__ << " " << cudaGetErrorString(e) << std::endl; exit(1); } } while (0)
struct Base { virtual ~Base() {} virtual float f(float) const = 0; };
template <typename T> class Buffer { T *d = nullptr; size_t n; public: Buffer(size_t n) : n(n) { CHECK(cudaMalloc(&d, n * sizeof(T))); } ~Buffer() { cudaFree(d); } T *get() const { return d; }
  void up(const std::vector<T> &h) { CHECK(cudaMemcpy(d, h.data(), n * sizeof(T), cudaMemcpyHostToDevice)); } std::vector<T> down() const { std::vector<T> h(n); CHECK(cudaMemcpy(h.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost)); return h; } };
__host__ __device__ inline float sq(float x) { return x * x; }
template <int N> __host__ __device__ constexpr int power() { return N * N; }
template <class T, class Op> __global__ void transform(const T *a, T *b, int n, Op op) { for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) b[i] = op(a[i]); }
struct Plus { float v; __host__ __device__ float operator()(float x) const { return sq(x) + v + power<3>(); } };
__global__ void mathy(double *o) { o[0] = sin(1.0); o[1] = pow(2.0, 10); o[2] = std::abs(-3.5); o[3] = fmaxf(1.f, 2.f); o[4] = rsqrtf(4.f); o[5] = std::max(3, 4); o[6] = exp(1.0f); o[7] = __half2float(__float2half(1.5f)); o[8] = std::sqrt(16.0); o[9] = max(2.0, 3.0); o[10] = CUDART_PI_F; o[11] = std::numeric_limits<float>::max() > 1 ? 1 : 0; o[12] = INFINITY > FLT_MAX; o[13] = isnan(NAN); o[14] = floor(2.5f); o[15]= log2(8.0);}
int main(int argc, char **argv) {
    std::mt19937 gen(1); std::uniform_real_distribution<float> dist(0, 1);
    std::vector<float> h(1000); std::generate(h.begin(), h.end(), [&] { return dist(gen); });
    Buffer<float> a(1000), b(1000); a.up(h);
    transform<<<4, 128>>>(a.get(), b.get(), 1000, Plus{2}); CHECK(cudaGetLastError()); CHECK(cudaDeviceSynchronize());
    auto r = b.down(); float worst = 0; for (int i = 0; i < 1000; ++i) worst = std::max(worst, std::fabs(r[i] - Plus{2}(h[i])));
    std::cout << "worst " << worst << " " << std::setprecision(3) << std::accumulate(r.begin(), r.end(), 0.0) / 1000 << std::endl;
    auto l = [=] __device__ (float x) { return x + 1; }; transform<<<4, 128>>>(a.get(), b.get(), 1000, l);
    auto hd = [] __host__ __device__ (float x) { return 2 * x; }; transform<<<4, 128>>>(a.get(), b.get(), 1000, hd); std::cout << (b.down()[5] == hd(h[5])) << "\n";
    double *o; CHECK(cudaMallocManaged(&o, 200)); mathy<<<1, 1>>>(o); CHECK(cudaDeviceSynchronize()); for (int i = 0; i < 16; ++i) std::cout << o[i] << " "; std::cout << std::endl;
    try { throw std::runtime_error("caught"); } catch (const std::exception &e) { std::cout << e.what() << std::endl; }
    std::unique_ptr<int[]> p(new int[5]); std::string s = std::to_string(power<4>()); std::cout << s << min(3, 4) << std::endl;
    cuFloatComplex z = make_cuFloatComplex(1, 2); std::cout << cuCrealf(z) << " " << std::regex_match("ab", std::regex("a.")) << std::endl;
    return 0;
}
