// functors N STEPS SEED [--check]: kernels that are templates, called with functors and with device lambdas
// (nvcc --extended-lambda).
#include "functors.h"
#include "../cuda_check.h"

template <class Body> __global__ void for_each_kernel(int n, Body body) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) body(i);
}
template <class Body> void for_each_index(int n, Body body) {
    if (n > 0) for_each_kernel<<<(n + 255) / 256, 256>>>(n, body);
    CUDA_CHECK(cudaGetLastError());
}

// A reduction whose block size, map and operation are template parameters; results of blocks are reduced on the host.
template <int THREADS, class T, class Map, class Operation>
__global__ void reduce_kernel(int n, T neutral, Map map, Operation operation, T *partial) {
    __shared__ T shared[THREADS];
    const int t = threadIdx.x;
    T own = neutral;
    for (int i = blockIdx.x * THREADS + t; i < n; i += gridDim.x * THREADS) own = operation(own, map(i));
    shared[t] = own;
    __syncthreads();
#pragma unroll
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) shared[t] = operation(shared[t], shared[t + half]);
        __syncthreads();
    }
    if (t == 0) partial[blockIdx.x] = shared[0];
}
template <class T, class Map, class Operation> T transform_reduce(int n, T neutral, Map map, Operation operation) {
    constexpr int THREADS = 128, BLOCKS = 64;
    T *partial, host[BLOCKS];
    CUDA_CHECK(cudaMalloc(&partial, sizeof host));
    reduce_kernel<THREADS><<<BLOCKS, THREADS>>>(n, neutral, map, operation, partial);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpy(host, partial, sizeof host, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(partial));
    T sum = neutral;
    for (T each : host) sum = operation(sum, each);
    return sum;
}

template <class Force>
double follow(const char *name, const Force &force, const std::vector<float> &first_x,
              const std::vector<float> &first_v, int steps, bool check) {
    const int n = int(first_x.size());
    const size_t bytes = n * sizeof(float);
    float *x, *v;
    CUDA_CHECK(cudaMalloc(&x, bytes));
    CUDA_CHECK(cudaMalloc(&v, bytes));
    CUDA_CHECK(cudaMemcpy(x, first_x.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(v, first_v.data(), bytes, cudaMemcpyHostToDevice));
    const double begun = milliseconds();
    const float step = 0.01f;
    double largest = 0;
    for (int k = 0; k < steps; ++k) {
        for_each_index(n, [=] __device__(int i) { verlet(force, x[i], v[i], step); });
        if (k % 10 == 9)
            largest = std::max(largest, transform_reduce(n, 0.0,
                                                         [=] __device__(int i) -> double { return fabsf(x[i]); },
                                                         Largest()));
    }
    const double energy =
        transform_reduce(n, 0.0, [=] __device__(int i) -> double { return 0.5 * double(v[i]) * v[i]; }, Plus());
    CUDA_CHECK(cudaDeviceSynchronize());
    const double kernel_ms = milliseconds() - begun;
    std::vector<float> last(n);
    CUDA_CHECK(cudaMemcpy(last.data(), x, bytes, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(x));
    CUDA_CHECK(cudaFree(v));
    std::printf("result %s.largest %.10g\nresult %s.energy %.10g\n", name, largest, name, energy);
    results(name, last);
    if (check) {
        std::vector<float> wanted = first_x, wanted_v = first_v;
        reference(force, wanted, wanted_v, steps);
        expect_close(name, last, wanted, 1e-3);
    }
    return kernel_ms;
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int n = arguments.number(0, 20000), steps = arguments.number(1, 50);
    std::vector<float> x(n), v(n);
    make_inputs(arguments.number(2, 1), x, v);
    const double begun = milliseconds();
    double kernel_ms = follow("hooke", Hooke{1.5f}, x, v, steps, arguments.check);
    kernel_ms += follow("duffing", Duffing{0.5f, 1.0f}, x, v, steps, arguments.check);
    kernel_ms += follow("morse", Morse{1.2f}, x, v, steps, arguments.check);
    print_times(kernel_ms, milliseconds() - begun);
}
