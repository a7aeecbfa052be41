// bplus_tree KEYS QUERIES SEED [--check]: a block per query; its threads compare all keys of a node at a time.
#include "bplus_tree.h"
#include "../cuda_check.h"

__global__ void find(const Node *nodes, int root, int height, const int *keys, int *values) {
    __shared__ int current, value;
    const int t = threadIdx.x, key = keys[blockIdx.x];
    if (t == 0) {
        current = root;
        value = -1;
    }
    __syncthreads();
    for (int level = 0; level < height; ++level) {
        const Node *node = nodes + current;
        const bool here = t < node->count && (t == 0 || node->keys[t] <= key) &&
                          (t + 1 == node->count || node->keys[t + 1] > key);
        __syncthreads();
        if (here) current = node->children[t];
        __syncthreads();
    }
    const Node *leaf = nodes + current;
    if (t < leaf->count && leaf->keys[t] == key) value = leaf->children[t];
    __syncthreads();
    if (t == 0) values[blockIdx.x] = value;
}

__global__ void find_range(const Node *nodes, int root, int height, const int *firsts, const int *lasts,
                           Range *ranges) {
    __shared__ int current, count, sum, more;
    const int t = threadIdx.x, first = firsts[blockIdx.x], last = lasts[blockIdx.x];
    if (t == 0) {
        current = root;
        count = sum = 0;
    }
    __syncthreads();
    for (int level = 0; level < height; ++level) {
        const Node *node = nodes + current;
        const bool here = t < node->count && (t == 0 || node->keys[t] <= first) &&
                          (t + 1 == node->count || node->keys[t + 1] > first);
        __syncthreads();
        if (here) current = node->children[t];
        __syncthreads();
    }
    do {
        const Node *leaf = nodes + current;
        const bool inside = t < leaf->count && leaf->keys[t] >= first && leaf->keys[t] <= last;
        if (inside) {
            atomicAdd(&count, 1);
            atomicAdd(&sum, leaf->children[t]);
        }
        __syncthreads();
        if (t == 0) {
            more = leaf->next >= 0 && leaf->keys[leaf->count - 1] <= last;
            if (more) current = leaf->next;
        }
        __syncthreads();
    } while (more);
    if (t == 0) ranges[blockIdx.x] = {count, sum};
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int keys = arguments.number(0, 100000), count = arguments.number(1, 2000);
    const Tree tree(keys, arguments.number(2, 1));
    const Queries queries(count, keys, arguments.number(2, 1));
    std::vector<int> value(count);
    std::vector<Range> range(count);

    const double begun = milliseconds();
    const size_t bytes = count * sizeof(int), tree_bytes = tree.nodes.size() * sizeof(Node);
    Node *nodes;
    int *key, *first, *last, *device_value;
    Range *device_range;
    CUDA_CHECK(cudaMalloc(&nodes, tree_bytes));
    for (int **p : {&key, &first, &last, &device_value}) CUDA_CHECK(cudaMalloc(p, bytes));
    CUDA_CHECK(cudaMalloc(&device_range, count * sizeof(Range)));
    CUDA_CHECK(cudaMemcpy(nodes, tree.nodes.data(), tree_bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(key, queries.key.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(first, queries.first.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(last, queries.last.data(), bytes, cudaMemcpyHostToDevice));
    const double kernel_begun = milliseconds();
    find<<<count, ORDER>>>(nodes, tree.root, tree.height, key, device_value);
    find_range<<<count, ORDER>>>(nodes, tree.root, tree.height, first, last, device_range);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    const double kernel_ms = milliseconds() - kernel_begun;
    CUDA_CHECK(cudaMemcpy(value.data(), device_value, bytes, cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(range.data(), device_range, count * sizeof(Range), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(nodes));
    for (int *p : {key, first, last, device_value}) CUDA_CHECK(cudaFree(p));
    CUDA_CHECK(cudaFree(device_range));
    const double total_ms = milliseconds() - begun;

    print_times(kernel_ms, total_ms);
    finish(tree, queries, value, range, arguments.check);
}
