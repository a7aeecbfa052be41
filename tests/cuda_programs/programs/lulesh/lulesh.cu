// lulesh SIDE STEPS [--check]: kernels over elements, nodes, elements; the step by an atomic minimum over blocks.
#include "lulesh.h"
#include "../cuda_check.h"

constexpr int THREADS = 128;

struct Nodes { double *x, *y, *vx, *vy, *mean_vx, *mean_vy, *mass; const unsigned char *fixed; };
struct Elements { const int *corner_nodes; double *mass, *energy, *force_x, *force_y; int count; };
struct Clock { double step, time; unsigned long long allowed; };      // allowed: the bits of a positive double

__global__ void forces(Nodes nodes, Elements elements, Clock *clock) {
    __shared__ double smallest[THREADS];
    const int e = blockIdx.x * THREADS + threadIdx.x, t = threadIdx.x;
    double own = 1e30;
    if (e < elements.count) {
        double px[CORNERS], py[CORNERS], vx[CORNERS], vy[CORNERS];
        for (int c = 0; c < CORNERS; ++c) {
            const int n = elements.corner_nodes[c * elements.count + e];
            px[c] = nodes.x[n];
            py[c] = nodes.y[n];
            vx[c] = nodes.vx[n];
            vy[c] = nodes.vy[n];
        }
        const Element r = corner_forces(px, py, vx, vy, elements.mass[e], elements.energy[e]);
        for (int c = 0; c < CORNERS; ++c) {
            elements.force_x[c * elements.count + e] = r.force_x[c];
            elements.force_y[c * elements.count + e] = r.force_y[c];
        }
        own = r.step;
    }
    smallest[t] = own;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) smallest[t] = fmin(smallest[t], smallest[t + half]);
        __syncthreads();
    }
    if (t == 0) atomicMin(&clock->allowed, (unsigned long long)__double_as_longlong(smallest[0]));
}

__global__ void advance_clock(Clock *clock) {
    clock->step = next_step(__longlong_as_double((long long)clock->allowed), clock->step);
    clock->time += clock->step;
    clock->allowed = (unsigned long long)__double_as_longlong(1e30);
}

__global__ void move_nodes(Nodes nodes, const int *starts, const int *corners, const double *force_x,
                           const double *force_y, const Clock *clock, int count) {
    const int n = blockIdx.x * THREADS + threadIdx.x;
    if (n >= count) return;
    double ax = 0, ay = 0;
    for (int s = starts[n]; s < starts[n + 1]; ++s) {
        ax += force_x[corners[s]];
        ay += force_y[corners[s]];
    }
    const double step = clock->step, ox = nodes.vx[n], oy = nodes.vy[n];
    const double vx = nodes.fixed[n] & 1 ? 0 : ox + step * ax / nodes.mass[n];
    const double vy = nodes.fixed[n] & 2 ? 0 : oy + step * ay / nodes.mass[n];
    const double mx = 0.5 * (ox + vx), my = 0.5 * (oy + vy);
    nodes.vx[n] = vx;
    nodes.vy[n] = vy;
    nodes.mean_vx[n] = mx;
    nodes.mean_vy[n] = my;
    nodes.x[n] += step * mx;
    nodes.y[n] += step * my;
}

__global__ void lose_energy(Nodes nodes, Elements elements, const Clock *clock) {
    const int e = blockIdx.x * THREADS + threadIdx.x;
    if (e >= elements.count) return;
    double work = 0;
    for (int c = 0; c < CORNERS; ++c) {
        const int n = elements.corner_nodes[c * elements.count + e];
        work += elements.force_x[c * elements.count + e] * nodes.mean_vx[n] +
                elements.force_y[c * elements.count + e] * nodes.mean_vy[n];
    }
    elements.energy[e] = fmax(elements.energy[e] - clock->step * work / elements.mass[e], 1e-9);
}

template <class T> T *on_device(const std::vector<T> &values) {
    T *p;
    CUDA_CHECK(cudaMalloc(&p, values.size() * sizeof(T)));
    CUDA_CHECK(cudaMemcpy(p, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
}
template <class T> void to_host(std::vector<T> &values, const T *p) {
    CUDA_CHECK(cudaMemcpy(values.data(), p, values.size() * sizeof(T), cudaMemcpyDeviceToHost));
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    Mesh mesh(arguments.number(0, 48));
    const int steps = arguments.number(1, 100);
    Mesh other = mesh;

    const double begun = milliseconds();
    const std::vector<double> none(mesh.nodes), no_forces(CORNERS * size_t(mesh.elements));
    unsigned char *fixed = on_device(mesh.fixed);
    int *corner_nodes = on_device(mesh.corner_nodes), *starts = on_device(mesh.starts);
    int *corners = on_device(mesh.corners);
    const Nodes nodes = {on_device(mesh.x), on_device(mesh.y), on_device(mesh.vx), on_device(mesh.vy), on_device(none),
                         on_device(none), on_device(mesh.node_mass), fixed};
    const Elements elements = {corner_nodes, on_device(mesh.mass), on_device(mesh.energy), on_device(no_forces),
                               on_device(no_forces), mesh.elements};
    Clock clock = {FIRST_STEP, 0, 0};
    const double far = 1e30;
    std::memcpy(&clock.allowed, &far, sizeof far);
    Clock *device_clock = on_device(std::vector<Clock>{clock});
    const int element_blocks = (mesh.elements + THREADS - 1) / THREADS;
    const int node_blocks = (mesh.nodes + THREADS - 1) / THREADS;
    const double kernel_begun = milliseconds();
    for (int k = 0; k < steps; ++k) {
        forces<<<element_blocks, THREADS>>>(nodes, elements, device_clock);
        advance_clock<<<1, 1>>>(device_clock);
        move_nodes<<<node_blocks, THREADS>>>(nodes, starts, corners, elements.force_x, elements.force_y, device_clock,
                                             mesh.nodes);
        lose_energy<<<element_blocks, THREADS>>>(nodes, elements, device_clock);
    }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    const double kernel_ms = milliseconds() - kernel_begun;
    to_host(mesh.x, nodes.x);
    to_host(mesh.y, nodes.y);
    to_host(mesh.vx, nodes.vx);
    to_host(mesh.vy, nodes.vy);
    to_host(mesh.energy, elements.energy);
    CUDA_CHECK(cudaMemcpy(&clock, device_clock, sizeof clock, cudaMemcpyDeviceToHost));
    for (double *p : {nodes.x, nodes.y, nodes.vx, nodes.vy, nodes.mean_vx, nodes.mean_vy, nodes.mass, elements.mass,
                      elements.energy, elements.force_x, elements.force_y})
        CUDA_CHECK(cudaFree(p));
    for (int *p : {corner_nodes, starts, corners}) CUDA_CHECK(cudaFree(p));
    CUDA_CHECK(cudaFree(fixed));
    CUDA_CHECK(cudaFree(device_clock));
    const double total_ms = milliseconds() - begun;

    finish(mesh, clock.time);
    print_times(kernel_ms, total_ms);
    if (arguments.check) {
        const double time = reference(other, steps);
        expect_close("time", &clock.time, &time, 1, 1e-9);
        expect_close("energy", mesh.energy, other.energy, 1e-8);
    }
}
