#include "checks.h"
#include <omp.h>
#include <cuda.h>
#include <nvtx3/nvToolsExt.h>
template <class T> __global__ void put(T *x) { x[threadIdx.x] = threadIdx.x; }
int main() {
    int *x;
    nvtxRangePush("all");
    cudaMallocManaged(&x, 40);
    put<int> << < 1, 10 >> > (x);
    cudaDeviceSynchronize();
    CHECK(x[9] == 9 && omp_get_thread_num() == 0 && omp_get_wtime() > 0);
    nvtxRangePop();
    return checks_failed || __LINE__ != 14;
}
