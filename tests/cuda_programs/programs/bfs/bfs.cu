// bfs NODES DEGREE SEED [--check]: level by level with masks; a flag on the device says whether to go on.
#include "bfs.h"
#include "../cuda_check.h"

__global__ void expand(const int *starts, const int *edges, unsigned char *frontier, unsigned char *next,
                       const unsigned char *visited, int *distance, int nodes) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nodes || !frontier[i]) return;
    frontier[i] = 0;
    const int further = distance[i] + 1;
    for (int e = starts[i]; e < starts[i + 1]; ++e) {
        const int other = edges[e];
        if (!visited[other]) {
            distance[other] = further;
            next[other] = 1;
        }
    }
}

__global__ void advance(unsigned char *frontier, unsigned char *next, unsigned char *visited, int *more, int nodes) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nodes && next[i]) {
        frontier[i] = visited[i] = 1;
        next[i] = 0;
        *more = 1;
    }
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int nodes = arguments.number(0, 50000), degree = arguments.number(1, 6);
    const Graph g = make_graph(nodes, degree, arguments.number(2, 1));
    std::vector<int> distance(nodes, -1);
    distance[0] = 0;
    const unsigned char one = 1;

    const double begun = milliseconds();
    int *starts, *edges, *device_distance, *device_more;
    unsigned char *frontier, *next, *visited;
    CUDA_CHECK(cudaMalloc(&starts, g.starts.size() * sizeof(int)));
    CUDA_CHECK(cudaMalloc(&edges, g.edges.size() * sizeof(int)));
    CUDA_CHECK(cudaMalloc(&device_distance, nodes * sizeof(int)));
    CUDA_CHECK(cudaMalloc(&device_more, sizeof(int)));
    CUDA_CHECK(cudaMalloc(&frontier, nodes));
    CUDA_CHECK(cudaMalloc(&next, nodes));
    CUDA_CHECK(cudaMalloc(&visited, nodes));
    CUDA_CHECK(cudaMemcpy(starts, g.starts.data(), g.starts.size() * sizeof(int), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(edges, g.edges.data(), g.edges.size() * sizeof(int), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_distance, distance.data(), nodes * sizeof(int), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemset(frontier, 0, nodes));
    CUDA_CHECK(cudaMemset(next, 0, nodes));
    CUDA_CHECK(cudaMemset(visited, 0, nodes));
    CUDA_CHECK(cudaMemcpy(frontier, &one, 1, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(visited, &one, 1, cudaMemcpyHostToDevice));

    const int block = 256, grid = (nodes + block - 1) / block;
    const double kernel_begun = milliseconds();
    int more, levels = 0;
    do {
        CUDA_CHECK(cudaMemset(device_more, 0, sizeof(int)));
        expand<<<grid, block>>>(starts, edges, frontier, next, visited, device_distance, nodes);
        advance<<<grid, block>>>(frontier, next, visited, device_more, nodes);
        CUDA_CHECK(cudaMemcpy(&more, device_more, sizeof(int), cudaMemcpyDeviceToHost));
        ++levels;
    } while (more);
    CUDA_CHECK(cudaGetLastError());
    const double kernel_ms = milliseconds() - kernel_begun;
    CUDA_CHECK(cudaMemcpy(distance.data(), device_distance, nodes * sizeof(int), cudaMemcpyDeviceToHost));
    for (void *p : {(void *)starts, (void *)edges, (void *)device_distance, (void *)device_more, (void *)frontier,
                    (void *)next, (void *)visited})
        CUDA_CHECK(cudaFree(p));
    const double total_ms = milliseconds() - begun;

    result("levels", levels);
    results("distance", distance);
    print_times(kernel_ms, total_ms);
    if (arguments.check) expect_close("distance", distance, reference(g, nodes), 0);
}
