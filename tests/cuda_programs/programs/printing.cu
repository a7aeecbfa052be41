__global__ void say(float x) {
    printf("block %d thread %u: %d %i %u %.3f %g %s %% %c\n", blockIdx.x, threadIdx.x, threadIdx.x, -3, ~0u, x, 1e20, "text", 'x');
}
__global__ void once() { printf("long %lld %x %c %*d|\n", 1ll << 40, 255, 'c', 2, 7); }
int main() {
    say<<<2, 3>>>(3.5f);
    once<<<1, 1>>>();
    return cudaDeviceSynchronize();
}
