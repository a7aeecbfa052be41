// A kernel that a kernel of another file launches.
__global__ void far_away(double by, char c, int *x) { x[blockIdx.x * blockDim.x + threadIdx.x] += int(by) + c; }
