#define R 2
#define T 16
extern "C" __global__ void dilate(const unsigned char *src, unsigned char *dst, int w, int h) {
    __shared__ unsigned char tile[T + 2 * R][T + 2 * R];
    int x0 = blockIdx.x * T - R, y0 = blockIdx.y * T - R;
    for (int t = threadIdx.y * T + threadIdx.x; t < (T + 2 * R) * (T + 2 * R); t += T * T) {
        int y = t / (T + 2 * R), x = t % (T + 2 * R), gx = x0 + x, gy = y0 + y;
        tile[y][x] = (gx >= 0 && gx < w && gy >= 0 && gy < h) ? src[gy * w + gx] : 0;
    }
    __syncthreads();
    int gx = blockIdx.x * T + threadIdx.x, gy = blockIdx.y * T + threadIdx.y;
    if (gx >= w || gy >= h) return;
    unsigned char best = 0;
    for (int dy = 0; dy <= 2 * R; dy++)
        for (int dx = 0; dx <= 2 * R; dx++) {
            if (abs(dx - R) + abs(dy - R) > R) continue;
            unsigned char v = tile[threadIdx.y + dy][threadIdx.x + dx];
            best = v > best ? v : best;
        }
    dst[gy * w + gx] = best;
}
