// minife SIDE STEPS SEED [--check]: the matrix in columns (ELL): threads load side by side; dots by warp shuffles.
#include "minife.h"
#include "../cuda_check.h"

constexpr int THREADS = 256;

__global__ void multiply(const double *values, const int *columns, const double *x, double *y, int rows) {
    const int r = blockIdx.x * THREADS + threadIdx.x;
    if (r >= rows) return;
    double sum = 0;
    for (int k = 0; k < NEAR; ++k) {
        const int c = columns[size_t(k) * rows + r];
        if (c >= 0) sum += values[size_t(k) * rows + r] * x[c];
    }
    y[r] = sum;
}

__global__ void dot(const double *x, const double *y, double *sum, int n) {
    __shared__ double partial[THREADS / 32];
    double own = 0;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) own += x[i] * y[i];
    for (int offset = 16; offset > 0; offset /= 2) own += __shfl_down_sync(0xffffffffu, own, offset);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = own;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < THREADS / 32; ++w) own += partial[w];
        atomicAdd(sum, own);
    }
}

// x += alpha p, r -= alpha q
__global__ void move(double *x, double *r, const double *p, const double *q, double alpha, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) {
        x[i] += alpha * p[i];
        r[i] -= alpha * q[i];
    }
}

__global__ void direction(double *p, const double *r, double beta, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) p[i] = r[i] + beta * p[i];
}

static double *scalar;

static double dot_of(const double *x, const double *y, int n) {
    double sum;
    CUDA_CHECK(cudaMemset(scalar, 0, sizeof(double)));
    dot<<<std::min(256, (n + THREADS - 1) / THREADS), THREADS>>>(x, y, scalar, n);
    CUDA_CHECK(cudaMemcpy(&sum, scalar, sizeof(double), cudaMemcpyDeviceToHost));
    return sum;
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const Matrix a(arguments.number(0, 20));
    const int n = a.rows, steps = arguments.number(1, 30);
    const std::vector<double> b = make_right_side(n, arguments.number(2, 1));
    std::vector<double> solution(n);

    const double begun = milliseconds();
    std::vector<double> ell_values(size_t(NEAR) * n);
    std::vector<int> ell_columns(size_t(NEAR) * n, -1);
    for (int i = 0; i < n; ++i)
        for (int k = a.starts[i]; k < a.starts[i + 1]; ++k) {
            ell_values[size_t(k - a.starts[i]) * n + i] = a.values[k];
            ell_columns[size_t(k - a.starts[i]) * n + i] = a.columns[k];
        }
    const size_t bytes = n * sizeof(double);
    double *values, *x, *r, *p, *q;
    int *columns;
    CUDA_CHECK(cudaMalloc(&values, ell_values.size() * sizeof(double)));
    CUDA_CHECK(cudaMalloc(&columns, ell_columns.size() * sizeof(int)));
    for (double **v : {&x, &r, &p, &q}) CUDA_CHECK(cudaMalloc(v, bytes));
    CUDA_CHECK(cudaMalloc(&scalar, sizeof(double)));
    CUDA_CHECK(cudaMemcpy(values, ell_values.data(), ell_values.size() * sizeof(double), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(columns, ell_columns.data(), ell_columns.size() * sizeof(int), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemset(x, 0, bytes));
    CUDA_CHECK(cudaMemcpy(r, b.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(p, b.data(), bytes, cudaMemcpyHostToDevice));
    const int blocks = (n + THREADS - 1) / THREADS;
    const double kernel_begun = milliseconds();
    double rr = dot_of(r, r, n);
    for (int step = 0; step < steps; ++step) {
        multiply<<<blocks, THREADS>>>(values, columns, p, q, n);
        const double alpha = rr / dot_of(p, q, n);
        move<<<blocks, THREADS>>>(x, r, p, q, alpha, n);
        const double next = dot_of(r, r, n);
        direction<<<blocks, THREADS>>>(p, r, next / rr, n);
        rr = next;
    }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    const double kernel_ms = milliseconds() - kernel_begun;
    CUDA_CHECK(cudaMemcpy(solution.data(), x, bytes, cudaMemcpyDeviceToHost));
    for (double *v : {values, x, r, p, q, scalar}) CUDA_CHECK(cudaFree(v));
    CUDA_CHECK(cudaFree(columns));
    const double total_ms = milliseconds() - begun;

    results("x", solution);
    print_times(kernel_ms, total_ms);
    if (arguments.check) check(a, solution, b, std::sqrt(rr));
}
