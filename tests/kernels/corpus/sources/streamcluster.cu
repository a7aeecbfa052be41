extern "C" __global__ void pgain(const double *coord, const double *weight, const int *assign, const double *cost, const int *center, double *work, int *switched, int num, int dim, int x, int K) {
    extern __shared__ double mine[];
    const int bid = blockIdx.x + gridDim.x * blockIdx.y, tid = blockDim.x * bid + threadIdx.x;
    if (threadIdx.x == 0) for (int i = 0; i < dim; i++) mine[i] = coord[i * num + x];
    __syncthreads();
    if (tid < num) {
        double *lower = &work[tid * (K + 1)];
        double d = 0;
        for (int i = 0; i < dim; i++) { double tmp = coord[i * num + tid] - mine[i]; d += tmp * tmp; }
        double x_cost = d * weight[tid];
        if (x_cost < cost[tid]) { switched[tid] = 1; lower[K] += x_cost - cost[tid]; }
        else lower[center[assign[tid]]] += cost[tid] - x_cost;
    }
}
