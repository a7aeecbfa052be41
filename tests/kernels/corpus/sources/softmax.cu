__inline__ __device__ double warp_max(double v) { for (int o = 16; o > 0; o /= 2) v = fmax(v, __shfl_xor_sync(0xffffffff, v, o, 32)); return v; }
__inline__ __device__ double warp_sum(double v) { for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o); return v; }
extern "C" __global__ void softmax_k(double *out, const double *inp, int N, int C) {
    __shared__ double parts[4];
    int row = blockIdx.x, tid = threadIdx.x, warp = tid / 32, lane = tid % 32, warps = blockDim.x / 32;
    const double *x = inp + row * C;
    double m = -INFINITY;
    for (int i = tid; i < C; i += blockDim.x) m = fmax(m, x[i]);
    m = warp_max(m);
    if (lane == 0) parts[warp] = m;
    __syncthreads();
    if (tid == 0) { double v = parts[0]; for (int i = 1; i < warps; i++) v = fmax(v, parts[i]); parts[0] = v; }
    __syncthreads();
    double offset = parts[0];
    __syncthreads();
    for (int i = tid; i < C; i += blockDim.x) out[row * C + i] = exp(x[i] - offset);
    double s = 0;
    for (int i = tid; i < C; i += blockDim.x) s += out[row * C + i];
    s = warp_sum(s);
    if (lane == 0) parts[warp] = s;
    __syncthreads();
    if (tid == 0) { double v = parts[0]; for (int i = 1; i < warps; ++i) v += parts[i]; parts[0] = v; }
    __syncthreads();
    for (int i = tid; i < C; i += blockDim.x) out[row * C + i] /= parts[0];
}
