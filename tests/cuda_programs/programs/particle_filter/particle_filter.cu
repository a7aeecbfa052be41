// particle_filter PARTICLES SIZE FRAMES SEED [--check]: likelihoods by a thread each, sums by warp shuffles, a scan of
// the weights over blocks, resampling by binary search.
#include "particle_filter.h"
#include "../cuda_check.h"

constexpr int THREADS = 256, WARPS = THREADS / 32, MAX_PIXELS = 128;

__constant__ int disc_x[MAX_PIXELS], disc_y[MAX_PIXELS];

struct Sums { double weight, x, y; };

__device__ double warp_sum(double v) {
    for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffffu, v, offset);
    return v;
}

__global__ void weigh(const unsigned char *picture, int size, float *x, float *y, float *weight, int particles,
                      int pixels, int frame, long seed, Sums *sums) {
    __shared__ Sums partial[WARPS];
    const int i = blockIdx.x * THREADS + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    double w = 0, wx = 0, wy = 0;
    if (i < particles) {
        float px = x[i], py = y[i];
        predict(px, py, seed, frame, i, particles);
        x[i] = px;
        y[i] = py;
        const float own = expf(likelihood(picture, size, disc_x, disc_y, pixels, px, py));
        weight[i] = own;
        w = own;
        wx = double(own) * px;
        wy = double(own) * py;
    }
    w = warp_sum(w);
    wx = warp_sum(wx);
    wy = warp_sum(wy);
    if (lane == 0) partial[warp] = {w, wx, wy};
    __syncthreads();
    if (warp == 0) {
        w = warp_sum(lane < WARPS ? partial[lane].weight : 0);
        wx = warp_sum(lane < WARPS ? partial[lane].x : 0);
        wy = warp_sum(lane < WARPS ? partial[lane].y : 0);
        if (lane == 0) {
            atomicAdd(&sums->weight, w);
            atomicAdd(&sums->x, wx);
            atomicAdd(&sums->y, wy);
        }
    }
}

// Inclusive sums inside each block; the blocks' sums are added by the next two kernels.
__global__ void scan_blocks(const float *weight, double *cumulative, double *block_sums, int particles) {
    __shared__ double s[THREADS];
    const int t = threadIdx.x, i = blockIdx.x * THREADS + t;
    s[t] = i < particles ? weight[i] : 0;
    __syncthreads();
    for (int offset = 1; offset < THREADS; offset *= 2) {
        const double before = t >= offset ? s[t - offset] : 0;
        __syncthreads();
        s[t] += before;
        __syncthreads();
    }
    if (i < particles) cumulative[i] = s[t];
    if (t == THREADS - 1) block_sums[blockIdx.x] = s[t];
}

__global__ void scan_sums(double *block_sums, int blocks) {
    double sum = 0;
    for (int b = 0; b < blocks; ++b) {
        const double here = block_sums[b];
        block_sums[b] = sum;
        sum += here;
    }
}

__global__ void add_sums(double *cumulative, const double *block_sums, int particles) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < particles) cumulative[i] += block_sums[blockIdx.x];
}

__global__ void resample(const double *cumulative, const float *x, const float *y, float *new_x, float *new_y,
                         int particles, float start) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= particles) return;
    const double wanted = (i + double(start)) / particles * cumulative[particles - 1];
    int low = 0, high = particles - 1;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (cumulative[middle] < wanted) low = middle + 1;
        else high = middle;
    }
    new_x[i] = x[low];
    new_y[i] = y[low];
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int particles = arguments.number(0, 20000), size = arguments.number(1, 128);
    const int frames = arguments.number(2, 10);
    const long seed = arguments.number(3, 1);
    const Disc disc = make_disc();
    const int pixels = int(disc.dx.size());
    const std::vector<unsigned char> video = make_video(size, frames, seed);

    const double begun = milliseconds();
    const int blocks = (particles + THREADS - 1) / THREADS;
    unsigned char *device_video;
    float *x, *y, *new_x, *new_y, *weight;
    double *cumulative, *block_sums;
    Sums *sums;
    CUDA_CHECK(cudaMalloc(&device_video, video.size()));
    for (float **p : {&x, &y, &new_x, &new_y, &weight}) CUDA_CHECK(cudaMalloc(p, particles * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&cumulative, particles * sizeof(double)));
    CUDA_CHECK(cudaMalloc(&block_sums, blocks * sizeof(double)));
    CUDA_CHECK(cudaMalloc(&sums, sizeof(Sums)));
    CUDA_CHECK(cudaMemcpyToSymbol(disc_x, disc.dx.data(), pixels * sizeof(int)));
    CUDA_CHECK(cudaMemcpyToSymbol(disc_y, disc.dy.data(), pixels * sizeof(int)));
    CUDA_CHECK(cudaMemcpy(device_video, video.data(), video.size(), cudaMemcpyHostToDevice));
    const std::vector<float> start(particles, size / 2.0f);
    CUDA_CHECK(cudaMemcpy(x, start.data(), particles * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(y, start.data(), particles * sizeof(float), cudaMemcpyHostToDevice));

    std::vector<double> track;
    const double kernel_begun = milliseconds();
    for (int f = 1; f < frames; ++f) {
        CUDA_CHECK(cudaMemset(sums, 0, sizeof(Sums)));
        weigh<<<blocks, THREADS>>>(device_video + size_t(f) * size * size, size, x, y, weight, particles, pixels, f,
                                   seed, sums);
        scan_blocks<<<blocks, THREADS>>>(weight, cumulative, block_sums, particles);
        scan_sums<<<1, 1>>>(block_sums, blocks);
        add_sums<<<blocks, THREADS>>>(cumulative, block_sums, particles);
        resample<<<blocks, THREADS>>>(cumulative, x, y, new_x, new_y, particles, random_float(seed + 13, f));
        std::swap(x, new_x);
        std::swap(y, new_y);
        Sums host;
        CUDA_CHECK(cudaMemcpy(&host, sums, sizeof host, cudaMemcpyDeviceToHost));
        track.push_back(host.x / host.weight);
        track.push_back(host.y / host.weight);
    }
    CUDA_CHECK(cudaGetLastError());
    const double kernel_ms = milliseconds() - kernel_begun;
    CUDA_CHECK(cudaFree(device_video));
    for (float *p : {x, y, new_x, new_y, weight}) CUDA_CHECK(cudaFree(p));
    CUDA_CHECK(cudaFree(cumulative));
    CUDA_CHECK(cudaFree(block_sums));
    CUDA_CHECK(cudaFree(sums));
    const double total_ms = milliseconds() - begun;

    results("track", track);
    print_times(kernel_ms, total_ms);
    if (arguments.check) {
        std::vector<double> wanted;
        for (int f = 1; f < frames; ++f) { wanted.push_back(size / 2 + f); wanted.push_back(size / 2 + 2 * f); }
        expect_close("track", track, wanted, 2.0 / size);
    }
}
