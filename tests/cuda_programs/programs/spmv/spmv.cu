// spmv ROWS PER_ROW STEPS SEED [--check]: products by cuSPARSE, norms and scaling by own kernels.
#include <cusparse.h>

#include "spmv.h"
#include "../cuda_check.h"

#define CUSPARSE_CHECK(call)                                                                               \
    do {                                                                                                   \
        const cusparseStatus_t status_ = (call);                                                           \
        if (status_ != CUSPARSE_STATUS_SUCCESS) {                                                          \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cusparseGetErrorString(status_)); \
            std::exit(2);                                                                                  \
        }                                                                                                  \
    } while (0)

constexpr int THREADS = 256;

__global__ void square_norm(const float *y, int n, double *norm) {
    __shared__ double partial[THREADS];
    const int t = threadIdx.x;
    double own = 0;
    for (int i = blockIdx.x * THREADS + t; i < n; i += gridDim.x * THREADS) own += double(y[i]) * y[i];
    partial[t] = own;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) partial[t] += partial[t + half];
        __syncthreads();
    }
    if (t == 0) atomicAdd(norm, partial[0]);
}

__global__ void scale(const float *y, float *x, int n, const double *norm) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) x[i] = float(y[i] / sqrt(*norm));
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const Matrix a(arguments.number(0, 10000), arguments.number(1, 16), arguments.number(3, 1));
    const int steps = arguments.number(2, 20), n = a.rows, entries = int(a.values.size());
    std::vector<float> ones(n, 1.0f), result_vector(n);

    const double begun = milliseconds();
    int *starts, *columns;
    float *values, *x, *y;
    double *norm;
    CUDA_CHECK(cudaMalloc(&starts, (n + 1) * sizeof(int)));
    CUDA_CHECK(cudaMalloc(&columns, entries * sizeof(int)));
    CUDA_CHECK(cudaMalloc(&values, entries * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&x, n * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&y, n * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&norm, sizeof(double)));
    CUDA_CHECK(cudaMemcpy(starts, a.starts.data(), (n + 1) * sizeof(int), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(columns, a.columns.data(), entries * sizeof(int), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(values, a.values.data(), entries * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(x, ones.data(), n * sizeof(float), cudaMemcpyHostToDevice));

    cusparseHandle_t handle;
    cusparseSpMatDescr_t matrix;
    cusparseDnVecDescr_t vector_x, vector_y;
    const float one = 1, zero = 0;
    size_t bytes = 0;
    void *buffer = nullptr;
    CUSPARSE_CHECK(cusparseCreate(&handle));
    CUSPARSE_CHECK(cusparseCreateCsr(&matrix, n, n, entries, starts, columns, values, CUSPARSE_INDEX_32I,
                                     CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
    CUSPARSE_CHECK(cusparseCreateDnVec(&vector_x, n, x, CUDA_R_32F));
    CUSPARSE_CHECK(cusparseCreateDnVec(&vector_y, n, y, CUDA_R_32F));
    CUSPARSE_CHECK(cusparseSpMV_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, vector_x, &zero,
                                           vector_y, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, &bytes));
    CUDA_CHECK(cudaMalloc(&buffer, bytes ? bytes : 1));
    const int blocks = (n + THREADS - 1) / THREADS;
    const double kernel_begun = milliseconds();
    for (int step = 0; step < steps; ++step) {
        CUSPARSE_CHECK(cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, vector_x, &zero, vector_y,
                                    CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, buffer));
        CUDA_CHECK(cudaMemset(norm, 0, sizeof(double)));
        square_norm<<<std::min(blocks, 128), THREADS>>>(y, n, norm);
        scale<<<blocks, THREADS>>>(y, x, n, norm);
    }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    const double kernel_ms = milliseconds() - kernel_begun;
    double host_norm;
    CUDA_CHECK(cudaMemcpy(&host_norm, norm, sizeof(double), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(result_vector.data(), x, n * sizeof(float), cudaMemcpyDeviceToHost));
    CUSPARSE_CHECK(cusparseDestroySpMat(matrix));
    CUSPARSE_CHECK(cusparseDestroyDnVec(vector_x));
    CUSPARSE_CHECK(cusparseDestroyDnVec(vector_y));
    CUSPARSE_CHECK(cusparseDestroy(handle));
    for (void *p : {(void *)starts, (void *)columns, (void *)values, (void *)x, (void *)y, (void *)norm, buffer})
        CUDA_CHECK(cudaFree(p));
    const double total_ms = milliseconds() - begun;

    print_times(kernel_ms, total_ms);
    finish(a, result_vector, std::sqrt(host_norm), steps, arguments.check);
}
