// A short Thrust program: a functor that reads constant memory, a lambda, a sort by keys and a sum.
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

#include "checks.h"

__constant__ int shift = 7;
struct Shifted {
    __device__ int operator()(int x) const { return x * 37 % 101 + shift; }
};

int main() {
    const int n = 20000;
    thrust::device_vector<int> keys(n), values(n);
    thrust::transform(thrust::counting_iterator<int>(0), thrust::counting_iterator<int>(n), keys.begin(), Shifted());
    thrust::transform(keys.begin(), keys.end(), values.begin(), [] __device__(int k) { return 3 * k; });
    thrust::sort_by_key(keys.begin(), keys.end(), values.begin());
    SAME(int(keys[0]), 7);
    SAME(int(keys[n - 1]), 107);
    SAME(int(values[n - 1]), 321);
    int sum = 0;
    for (int i = 0; i < n; ++i) sum += i * 37 % 101 + 7;
    SAME(thrust::reduce(values.begin(), values.end()), 3 * sum);
    printf("done\n");
    return checks_failed != 0;
}
