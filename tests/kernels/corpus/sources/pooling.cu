extern "C" __global__ void pool_gradient(const double *dy, double *dx, int H, int W, int oh, int ow, int ks, int st, int pad) {
    int w = blockIdx.x * blockDim.x + threadIdx.x, h = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.z;
    if (w >= W || h >= H) return;
    int wo = w + pad, ho = h + pad;
    int hs = ho < ks ? 0 : (ho - ks) / st + 1, ws = wo < ks ? 0 : (wo - ks) / st + 1;
    int he = min(ho / st + 1, oh), we = min(wo / st + 1, ow);
    double g = 0;
    for (int a = hs; a < he; ++a)
        for (int b = ws; b < we; ++b) {
            int h0 = max(a * st - pad, 0), w0 = max(b * st - pad, 0);
            int h1 = min(a * st - pad + ks, H), w1 = min(b * st - pad + ks, W);
            g += dy[(c * oh + a) * ow + b] / ((h1 - h0) * (w1 - w0));
        }
    dx[(c * H + h) * W + w] = g;
}
