// CUB's functions for the whole device, against the C++ library.
#include <cub/cub.cuh>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "checks.h"

static const int lengths[] = {0, 1, 100, 70001};

template <class T> struct Device {
    T *data = nullptr;
    int size;
    explicit Device(int n) : size(n) { CHECK(cudaMalloc(&data, (n + 1) * sizeof(T)) == cudaSuccess); }
    explicit Device(const std::vector<T> &from) : Device((int)from.size()) { CHECK(cudaMemcpy(data, from.data(), size * sizeof(T), cudaMemcpyHostToDevice) == cudaSuccess); }
    Device(const Device &) = delete;
    ~Device() { cudaFree(data); }
    std::vector<T> back(int n = -1) const {
        std::vector<T> made(n < 0 ? size : n);
        CHECK(cudaMemcpy(made.data(), data, made.size() * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess);
        return made;
    }
};

// Calls a function of CUB twice, for the size of its memory and with it.
template <class F> static void twice(const F &f) {
    size_t bytes = 0;
    CHECK(f((void *)nullptr, bytes) == cudaSuccess);
    void *memory = nullptr;
    CHECK(cudaMalloc(&memory, bytes) == cudaSuccess && f(memory, bytes) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess);
    cudaFree(memory);
}
#define TWICE(CALL, ...) twice([&](void *memory, size_t &bytes) { return cub::CALL(memory, bytes, __VA_ARGS__); })

template <class T = int> static std::vector<T> numbers(int n, int most, unsigned seed = 1) {
    std::vector<T> made(n);
    for (T &x : made) {
        seed = seed * 1664525u + 1013904223u;
        x = T(int((seed >> 8) % (unsigned)most) - most / 4) / T(2);
    }
    return made;
}
struct Even { __host__ __device__ bool operator()(int x) const { return x % 2 == 0; } };
struct Largest { __device__ int operator()(int a, int b) const { return a > b ? a : b; } };
struct Backwards { __host__ __device__ bool operator()(int a, int b) const { return a / 8 > b / 8; } };

static void reduce() {
    for (int n : lengths) {
        const std::vector<int> a = numbers(n, 1000);
        const Device<int> d(a), out(1);
        TWICE(DeviceReduce::Sum, d.data, out.data, n);
        SAME(out.back()[0], std::accumulate(a.begin(), a.end(), 0));
        TWICE(DeviceReduce::Reduce, d.data, out.data, n, Largest(), -2000);
        SAME(out.back()[0], n ? *std::max_element(a.begin(), a.end()) : -2000);
        if (n) {
            TWICE(DeviceReduce::Min, d.data, out.data, n);
            SAME(out.back()[0], *std::min_element(a.begin(), a.end()));
            const Device<cub::KeyValuePair<int, int>> pair(1);
            TWICE(DeviceReduce::ArgMax, d.data, pair.data, n);
            SAME(pair.back()[0].key, int(std::max_element(a.begin(), a.end()) - a.begin()));
        }
        const std::vector<int> starts = {0, n / 3, n / 3, n / 2, n};
        const Device<int> edges(starts), sums(4);
        TWICE(DeviceSegmentedReduce::Sum, d.data, sums.data, 4, edges.data, edges.data + 1);
        for (int k = 0; k < 4; ++k) SAME(sums.back()[k], std::accumulate(a.begin() + starts[k], a.begin() + starts[k + 1], 0));
    }
    std::vector<float> x(100000, 0.25f);
    const Device<float> d(x), out(1);
    TWICE(DeviceReduce::Sum, d.data, out.data, 100000);
    SAME(out.back()[0], 25000.0f);
}

static void scan() {
    for (int n : lengths) {
        const std::vector<int> a = numbers(n, 100);
        std::vector<int> wanted(n);
        const Device<int> d(a), out(n);
        TWICE(DeviceScan::InclusiveSum, d.data, out.data, n);
        std::partial_sum(a.begin(), a.end(), wanted.begin());
        CHECK(out.back() == wanted);
        TWICE(DeviceScan::ExclusiveSum, d.data, out.data, n);
        for (int i = 0, s = 0; i < n; s += a[i++]) wanted[i] = s;
        CHECK(out.back() == wanted);
        TWICE(DeviceScan::InclusiveScan, d.data, out.data, Largest(), n);
        for (int i = 0, s = -10000; i < n; ++i) wanted[i] = s = std::max(s, a[i]);
        CHECK(out.back() == wanted);
        TWICE(DeviceScan::ExclusiveScan, d.data, out.data, Largest(), 3, n);
        for (int i = 0, s = 3; i < n; s = std::max(s, a[i++])) wanted[i] = s;
        CHECK(out.back() == wanted);
        std::vector<int> keys(n);
        for (int i = 0; i < n; ++i) keys[i] = i / 999;
        const Device<int> dkeys(keys);
        TWICE(DeviceScan::ExclusiveSumByKey, dkeys.data, d.data, out.data, n);
        for (int i = 0, s = 0; i < n; s += a[i++]) wanted[i] = s = i && keys[i] == keys[i - 1] ? s : 0;
        CHECK(out.back() == wanted);
        TWICE(DeviceScan::InclusiveSum, d.data, n);              // in place
        std::partial_sum(a.begin(), a.end(), wanted.begin());
        CHECK(d.back() == wanted);
    }
}

template <class T> static void sort_of(int n) {
    const std::vector<T> a = numbers<T>(n, 200000, 3);
    std::vector<int> ids(n);
    std::iota(ids.begin(), ids.end(), 0);
    const Device<T> d(a), out(n), spare(n);
    const Device<int> items(ids), items_out(n);
    TWICE(DeviceRadixSort::SortPairs, d.data, out.data, items.data, items_out.data, n);
    std::stable_sort(ids.begin(), ids.end(), [&](int i, int j) { return a[i] < a[j]; });
    std::vector<T> sorted(n);
    for (int i = 0; i < n; ++i) sorted[i] = a[ids[i]];
    CHECK(out.back() == sorted && items_out.back() == ids && d.back() == a);
    TWICE(DeviceRadixSort::SortKeysDescending, d.data, out.data, n);
    std::reverse(sorted.begin(), sorted.end());
    CHECK(out.back() == sorted);
    cub::DoubleBuffer<T> both(d.data, spare.data);
    TWICE(DeviceRadixSort::SortKeys, both, n);
    std::reverse(sorted.begin(), sorted.end());
    const std::vector<T> found = both.Current() == d.data ? d.back() : spare.back();
    CHECK(found == sorted);
}

static void sort() {
    for (int n : lengths) {
        sort_of<int>(n);
        sort_of<float>(n);
        sort_of<unsigned long long>(n);
        sort_of<short>(n);
        std::vector<int> a = numbers(n, 300), ids(n);
        for (int &x : a) x &= 63;
        std::iota(ids.begin(), ids.end(), 0);
        const Device<int> d(a), out(n), items(ids);
        TWICE(DeviceRadixSort::SortKeys, d.data, out.data, n, 2, 5);        // by bits 2 to 4
        std::vector<int> wanted = a;
        std::stable_sort(wanted.begin(), wanted.end(), [](int x, int y) { return (x >> 2 & 7) < (y >> 2 & 7); });
        CHECK(out.back() == wanted);
        const std::vector<int> starts = {0, n / 3, n / 3, n / 2, n};
        const Device<int> edges(starts);
        TWICE(DeviceSegmentedSort::SortKeys, d.data, out.data, n, 4, edges.data, edges.data + 1);
        wanted = a;
        for (int k = 0; k < 4; ++k) std::sort(wanted.begin() + starts[k], wanted.begin() + starts[k + 1]);
        CHECK(out.back() == wanted);
        TWICE(DeviceSegmentedRadixSort::SortKeysDescending, d.data, out.data, n, 4, edges.data, edges.data + 1);
        for (int k = 0; k < 4; ++k) std::reverse(wanted.begin() + starts[k], wanted.begin() + starts[k + 1]);
        CHECK(out.back() == wanted);
        TWICE(DeviceMergeSort::StableSortPairs, d.data, items.data, n, Backwards());
        std::stable_sort(ids.begin(), ids.end(), [&](int i, int j) { return Backwards()(a[i], a[j]); });
        CHECK(items.back() == ids);
    }
}

static void select() {
    for (int n : lengths) {
        const std::vector<int> a = numbers(n, 12);
        std::vector<int> wanted;
        const Device<int> d(a), out(n), number(2), rest(n), more(n);
        TWICE(DeviceSelect::If, d.data, out.data, number.data, n, Even());
        std::copy_if(a.begin(), a.end(), std::back_inserter(wanted), Even());
        CHECK(number.back()[0] == (int)wanted.size() && out.back((int)wanted.size()) == wanted);
        std::vector<char> flags(n);
        for (int i = 0; i < n; ++i) flags[i] = i % 3 == 0;
        const Device<char> dflags(flags);
        TWICE(DeviceSelect::Flagged, d.data, dflags.data, out.data, number.data, n);
        wanted.clear();
        for (int i = 0; i < n; i += 3) wanted.push_back(a[i]);
        CHECK(number.back()[0] == (int)wanted.size() && out.back((int)wanted.size()) == wanted);
        TWICE(DeviceSelect::Unique, d.data, out.data, number.data, n);
        wanted = a;
        wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
        CHECK(number.back()[0] == (int)wanted.size() && out.back((int)wanted.size()) == wanted);
        const int runs = (int)wanted.size();
        TWICE(DeviceRunLengthEncode::Encode, d.data, out.data, rest.data, number.data, n);
        const std::vector<int> lengths_found = rest.back(runs);
        CHECK(number.back()[0] == runs && out.back(runs) == wanted && std::accumulate(lengths_found.begin(), lengths_found.end(), 0) == n);
        TWICE(DevicePartition::If, d.data, out.data, number.data, n, Even());
        wanted.clear();
        std::vector<int> odd;
        std::partition_copy(a.begin(), a.end(), std::back_inserter(wanted), std::back_inserter(odd), Even());
        CHECK(number.back()[0] == (int)wanted.size());
        wanted.insert(wanted.end(), odd.rbegin(), odd.rend());          // the others from the end, as CUB says
        CHECK(out.back() == wanted);
        TWICE(DeviceSelect::If, d.data, number.data, n, Even());        // in place
        wanted.clear();
        std::copy_if(a.begin(), a.end(), std::back_inserter(wanted), Even());
        CHECK(d.back((int)wanted.size()) == wanted);
    }
}

static void histogram() {
    for (int n : lengths) {
        const std::vector<float> x = numbers<float>(n, 400);
        const Device<float> d(x);
        const Device<int> counts(10);
        TWICE(DeviceHistogram::HistogramEven, d.data, counts.data, 11, -20.0f, 80.0f, n);
        std::vector<int> wanted(10);
        for (float v : x) if (v >= -20 && v < 80) ++wanted[int((v + 20) * 0.1f)];
        CHECK(counts.back() == wanted);
        const std::vector<float> levels = {-10, 0, 3, 50};
        const Device<float> dlevels(levels);
        TWICE(DeviceHistogram::HistogramRange, d.data, counts.data, 4, dlevels.data, n);
        wanted.assign(3, 0);
        for (float v : x) for (int k = 0; k < 3; ++k) wanted[k] += v >= levels[k] && v < levels[k + 1];
        CHECK(counts.back(3) == wanted);
    }
    std::vector<unsigned char> pixels(4 * 50 * 7);                       // rows of 50 pixels of 4 channels, 3 of them counted
    for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = (unsigned char)(i * i * 7 % 251);
    const Device<unsigned char> d(pixels);
    const Device<int> red(256), green(256), blue(256);
    int *histograms[3] = {red.data, green.data, blue.data}, levels[3] = {257, 257, 257}, lower[3] = {0, 0, 0}, upper[3] = {256, 256, 256};
    twice([&](void *memory, size_t &bytes) { return cub::DeviceHistogram::MultiHistogramEven<4, 3>(memory, bytes, d.data, histograms, levels, lower, upper, 350); });
    std::vector<int> wanted(256);
    for (size_t i = 1; i < pixels.size(); i += 4) ++wanted[pixels[i]];
    CHECK(green.back() == wanted);
}

static void others() {
    const int n = 5000;
    const std::vector<int> a = numbers(n, 100);
    const Device<int> d(a), out(n), number(1), sums(n);
    int *const raw = out.data;
    CHECK(cub::DeviceFor::Bulk(n, [raw] __device__(int i) { raw[i] = 3 * i; }) == cudaSuccess);
    CHECK(out.back()[4999] == 14997);
    CHECK(cub::DeviceTransform::Transform(d.data, out.data, n, [] __device__(int x) { return x + 1; }) == cudaSuccess);
    CHECK(out.back()[77] == a[77] + 1);
    TWICE(DeviceAdjacentDifference::SubtractLeftCopy, d.data, out.data, n, cub::Difference());
    CHECK(out.back()[10] == a[10] - a[9] && out.back()[0] == a[0]);
    std::vector<int> keys(n);
    for (int i = 0; i < n; ++i) keys[i] = i / 7;
    const Device<int> dkeys(keys);
    TWICE(DeviceReduce::ReduceByKey, dkeys.data, out.data, d.data, sums.data, number.data, Largest(), n);
    CHECK(number.back()[0] == 715 && out.back()[100] == 100 && sums.back()[100] == *std::max_element(a.begin() + 700, a.begin() + 707));
    cub::CachingDeviceAllocator allocator;
    void *memory = nullptr;
    CHECK(allocator.DeviceAllocate(&memory, 1000) == cudaSuccess && memory && allocator.DeviceFree(memory) == cudaSuccess);
    const cub::TransformInputIterator<double, Even, const int *> even(d.data, Even());
    const Device<double> total(1);
    TWICE(DeviceReduce::Sum, even, total.data, n);
    SAME(total.back()[0], (double)std::count_if(a.begin(), a.end(), Even()));
}

int main(int argc, char **argv) {
    const Subject subjects[] = {{"reduce", reduce}, {"scan", scan}, {"sort", sort}, {"select", select}, {"histogram", histogram}, {"others", others}};
    return run_subjects(subjects, 6, argc, argv);
}
