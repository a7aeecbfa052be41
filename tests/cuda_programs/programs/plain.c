#include <cuda_runtime_api.h>
int device_count(void) { int n = 0; enum cudaMemcpyKind kind = cudaMemcpyDefault; struct cudaDeviceProp p; dim3 d = {1, 2, 3};
    return cudaGetDeviceCount(&n) == cudaSuccess && cudaGetDeviceProperties(&p, 0) == cudaSuccess ? n + (int)kind + (int)d.z : -1; }
