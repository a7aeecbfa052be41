extern "C" __global__ void sad(const unsigned char *frame, const unsigned char *reference, unsigned short *found, int width, int range) {
    __shared__ unsigned char block[16];
    int mx = blockIdx.x * 4, my = blockIdx.y * 4, side = 2 * range + 1;
    if (threadIdx.x < 16) block[threadIdx.x] = frame[(my + threadIdx.x / 4) * width + mx + threadIdx.x % 4];
    __syncthreads();
    for (int place = threadIdx.x; place < side * side; place += blockDim.x) {
        int dx = place % side - range, dy = place / side - range, sum = 0;
        for (int y = 0; y < 4; y++) {
            int ry = my + y + dy;
            ry = ry < 0 ? 0 : ry >= width ? width - 1 : ry;
            for (int x = 0; x < 4; x++) {
                int rx = mx + x + dx;
                rx = rx < 0 ? 0 : rx >= width ? width - 1 : rx;
                sum += abs((int)block[4 * y + x] - (int)reference[ry * width + rx]);
            }
        }
        found[(blockIdx.y * gridDim.x + blockIdx.x) * side * side + place] = (unsigned short)sum;
    }
}
