// What kernels and calls fail of: the error at the next synchronisation, and after cudaGetLastError.
__global__ void asserting(int *x) { assert(x[threadIdx.x] == 0); }
__global__ void wild(int *x) { x[(long long)1 << 42] = 1; }
__global__ void trapping(int *x) { if (x[0] == 0) __trap(); }
int main(int argc, char **argv) {
    int *x, h[64] = {};
    cudaMallocManaged(&x, 256);
    memset(x, 0, 256);
    cudaError_t error = cudaSuccess;
    if (!strcmp(argv[1], "assert")) { x[2] = 1; asserting<<<2, 4>>>(x + 0); }
    if (!strcmp(argv[1], "wild")) wild<<<1, 1>>>(x);
    if (!strcmp(argv[1], "trap")) trapping<<<1, 1>>>(x);
    if (!strcmp(argv[1], "threads")) { wild<<<1, 2000>>>(x); error = cudaGetLastError(); }
    if (!strcmp(argv[1], "memory")) { cudaMemcpy(x, h, 300, cudaMemcpyHostToDevice); error = cudaGetLastError(); }
    if (error == cudaSuccess) error = cudaDeviceSynchronize();
    printf("%s %s\n", cudaGetErrorName(error), cudaGetErrorName(cudaGetLastError()));
    return 0;
}
