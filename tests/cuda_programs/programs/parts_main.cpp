#include <cuda_runtime.h>
#include <cstdio>
void first(int *);
void second(int *);
void report();
int main() {
    int *x;
    dim3 d(1, 2);
    cudaMallocManaged(&x, 40);
    first(x), second(x), cudaDeviceSynchronize(), report();
    printf("%d %d %u\n", x[0], x[2], d.y);
    return 0;
}
