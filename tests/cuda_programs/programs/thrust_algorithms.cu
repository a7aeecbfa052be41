// Thrust's algorithms against the C++ library's, for several lengths; functors and lambdas of the device.
#include <thrust/adjacent_difference.h>
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_ptr.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/fill.h>
#include <thrust/find.h>
#include <thrust/for_each.h>
#include <thrust/functional.h>
#include <thrust/gather.h>
#include <thrust/generate.h>
#include <thrust/host_vector.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/discard_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/logical.h>
#include <thrust/merge.h>
#include <thrust/partition.h>
#include <thrust/random.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/replace.h>
#include <thrust/reverse.h>
#include <thrust/scan.h>
#include <thrust/scatter.h>
#include <thrust/sequence.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/swap.h>
#include <thrust/tabulate.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/transform_scan.h>
#include <thrust/unique.h>
#include <thrust/universal_vector.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "checks.h"

static const int lengths[] = {0, 1, 2, 31, 1000, 100003};

static std::vector<int> numbers(int n, int most, unsigned seed = 1) {
    std::vector<int> made(n);
    for (int &x : made) {
        seed = seed * 1664525u + 1013904223u;
        x = int((seed >> 8) % (unsigned)most) - most / 4;
    }
    return made;
}
template <class A, class B> static bool same(const A &device, const B &host) {
    std::vector<typename B::value_type> copy(host.size());
    if (device.size() != host.size()) return false;
    thrust::copy(device.begin(), device.end(), copy.begin());
    return copy == host;
}

__constant__ int shift = 7;
struct Shifted {                    // for the device alone: it reads constant memory
    __device__ int operator()(int x) const { return x + shift; }
};
struct Odd {
    __host__ __device__ bool operator()(int x) const { return x % 2 != 0; }
};
struct Tens {
    __host__ __device__ bool operator()(int a, int b) const { return a / 10 < b / 10; }
};
struct Point { float x; int id; };
struct Nearer {
    __host__ __device__ bool operator()(const Point &a, const Point &b) const { return a.x < b.x; }
};

static void elementwise() {
    for (int n : lengths) {
        const std::vector<int> a = numbers(n, 1000), b = numbers(n, 1000, 5);
        const thrust::device_vector<int> da = a, db = b;
        thrust::device_vector<int> out(n);
        std::vector<int> wanted(n);
        thrust::transform(da.begin(), da.end(), out.begin(), Shifted());
        for (int i = 0; i < n; ++i) wanted[i] = a[i] + 7;
        CHECK(same(out, wanted));
        const int three = 3;
        thrust::transform(da.begin(), da.end(), db.begin(), out.begin(), [=] __device__(int x, int y) { return three * x - y; });
        for (int i = 0; i < n; ++i) wanted[i] = 3 * a[i] - b[i];
        CHECK(same(out, wanted));
        int *raw = thrust::raw_pointer_cast(out.data());
        thrust::for_each(thrust::device, thrust::counting_iterator<int>(0), thrust::counting_iterator<int>(n), [=] __device__(int i) { raw[i] += i; });
        for (int i = 0; i < n; ++i) wanted[i] += i;
        CHECK(same(out, wanted));
        thrust::transform_if(da.begin(), da.end(), db.begin(), out.begin(), thrust::negate<int>(), Odd());
        for (int i = 0; i < n; ++i) if (Odd()(b[i])) wanted[i] = -a[i];
        CHECK(same(out, wanted));
        thrust::replace_if(out.begin(), out.end(), Odd(), 4);
        std::replace_if(wanted.begin(), wanted.end(), Odd(), 4);
        CHECK(same(out, wanted));
        thrust::reverse(out.begin(), out.end());
        std::reverse(wanted.begin(), wanted.end());
        CHECK(same(out, wanted));
        thrust::adjacent_difference(da.begin(), da.end(), out.begin());
        std::adjacent_difference(a.begin(), a.end(), wanted.begin());
        CHECK(same(out, wanted));
        thrust::tabulate(out.begin(), out.end(), thrust::placeholders::_1 * 2);
        for (int i = 0; i < n; ++i) wanted[i] = 2 * i;
        CHECK(same(out, wanted));
        thrust::sequence(out.begin(), out.end(), 5, 3);
        for (int i = 0; i < n; ++i) wanted[i] = 5 + 3 * i;
        CHECK(same(out, wanted));
        const auto squares = thrust::make_transform_iterator(da.begin(), [] __host__ __device__(int x) { return x * x; });
        thrust::copy(squares, squares + n, out.begin());
        for (int i = 0; i < n; ++i) wanted[i] = a[i] * a[i];
        CHECK(same(out, wanted));
        thrust::device_vector<int> order(n);
        std::vector<int> places(n);
        std::iota(places.rbegin(), places.rend(), 0);
        thrust::copy(places.begin(), places.end(), order.begin());
        thrust::copy_n(thrust::make_permutation_iterator(da.begin(), order.begin()), n, out.begin());
        for (int i = 0; i < n; ++i) wanted[i] = a[places[i]];
        CHECK(same(out, wanted));
        thrust::scatter(db.begin(), db.end(), order.begin(), out.begin());
        for (int i = 0; i < n; ++i) wanted[places[i]] = b[i];
        CHECK(same(out, wanted));
        thrust::gather(order.begin(), order.end(), db.begin(), out.begin());
        for (int i = 0; i < n; ++i) wanted[i] = b[places[i]];
        CHECK(same(out, wanted));
        thrust::fill(out.begin(), out.end(), 9);
        CHECK(same(out, std::vector<int>(n, 9)));
    }
}

static void reductions() {
    for (int n : lengths) {
        const std::vector<int> a = numbers(n, 1000), b = numbers(n, 1000, 5);
        const thrust::device_vector<int> da = a, db = b;
        SAME(thrust::reduce(da.begin(), da.end()), std::accumulate(a.begin(), a.end(), 0));
        SAME(thrust::reduce(da.begin(), da.end(), -5, thrust::maximum<int>()), n ? std::max(-5, *std::max_element(a.begin(), a.end())) : -5);
        SAME(thrust::transform_reduce(da.begin(), da.end(), [] __device__(int x) { return (long long)x * x; }, 1ll, thrust::plus<long long>()),
             std::accumulate(a.begin(), a.end(), 1ll, [](long long s, int x) { return s + (long long)x * x; }));
        SAME(thrust::inner_product(da.begin(), da.end(), db.begin(), 0), std::inner_product(a.begin(), a.end(), b.begin(), 0));
        SAME(thrust::count(da.begin(), da.end(), 3), (long)std::count(a.begin(), a.end(), 3));
        SAME(thrust::count_if(da.begin(), da.end(), Odd()), (long)std::count_if(a.begin(), a.end(), Odd()));
        SAME(thrust::min_element(da.begin(), da.end()) - da.begin(), std::min_element(a.begin(), a.end()) - a.begin());
        SAME(thrust::max_element(da.begin(), da.end(), Tens()) - da.begin(), std::max_element(a.begin(), a.end(), Tens()) - a.begin());
        if (n) {
            const auto both = thrust::minmax_element(da.begin(), da.end());
            SAME(int(*both.first), *std::min_element(a.begin(), a.end()));
            SAME(int(*both.second), *std::max_element(a.begin(), a.end()));
        }
        SAME(thrust::find(da.begin(), da.end(), 17) - da.begin(), std::find(a.begin(), a.end(), 17) - a.begin());
        SAME(thrust::find_if(da.begin(), da.end(), Odd()) - da.begin(), std::find_if(a.begin(), a.end(), Odd()) - a.begin());
        CHECK(thrust::any_of(da.begin(), da.end(), Odd()) == std::any_of(a.begin(), a.end(), Odd()));
        CHECK(thrust::all_of(da.begin(), da.end(), Odd()) == std::all_of(a.begin(), a.end(), Odd()));
        CHECK(thrust::equal(da.begin(), da.end(), db.begin()) == (a == b) && thrust::equal(da.begin(), da.end(), da.begin()));
        std::vector<int> keys = a;
        std::sort(keys.begin(), keys.end());
        const thrust::device_vector<int> dkeys = keys;
        thrust::device_vector<int> keys_out(n);
        thrust::device_vector<int> sums(n);
        const auto ends = thrust::reduce_by_key(dkeys.begin(), dkeys.end(), db.begin(), keys_out.begin(), sums.begin());
        std::vector<int> wanted_keys, wanted_sums;
        for (int i = 0; i < n; ++i) {
            if (!i || keys[i] != keys[i - 1]) wanted_keys.push_back(keys[i]), wanted_sums.push_back(0);
            wanted_sums.back() += b[i];
        }
        keys_out.resize(ends.first - keys_out.begin()), sums.resize(ends.second - sums.begin());
        CHECK(same(keys_out, wanted_keys) && same(sums, wanted_sums));
        const auto count = thrust::reduce_by_key(dkeys.begin(), dkeys.end(), thrust::constant_iterator<int>(1), thrust::make_discard_iterator(), sums.begin());
        SAME(count.second - sums.begin(), (long)wanted_keys.size());
        SAME(thrust::unique_count(dkeys.begin(), dkeys.end()), (long)wanted_keys.size());
    }
    std::vector<double> x(50001);
    for (size_t i = 0; i < x.size(); ++i) x[i] = 1.0 / (i + 1);
    const thrust::device_vector<double> dx = x;
    CHECK(std::abs(thrust::reduce(dx.begin(), dx.end()) - std::accumulate(x.begin(), x.end(), 0.0)) < 1e-12);
}

static void scans() {
    for (int n : lengths) {
        const std::vector<int> a = numbers(n, 100);
        const thrust::device_vector<int> da = a;
        thrust::device_vector<int> out(n);
        std::vector<int> wanted(n);
        thrust::inclusive_scan(da.begin(), da.end(), out.begin());
        std::partial_sum(a.begin(), a.end(), wanted.begin());
        CHECK(same(out, wanted));
        thrust::exclusive_scan(da.begin(), da.end(), out.begin(), 4);
        for (int i = 0, s = 4; i < n; s += a[i++]) wanted[i] = s;
        CHECK(same(out, wanted));
        out = da;
        thrust::exclusive_scan(out.begin(), out.end(), out.begin());           // in place
        for (int i = 0, s = 0; i < n; s += a[i++]) wanted[i] = s;
        CHECK(same(out, wanted));
        thrust::inclusive_scan(da.begin(), da.end(), out.begin(), thrust::maximum<int>());
        for (int i = 0, s = -1000; i < n; ++i) wanted[i] = s = std::max(s, a[i]);
        CHECK(same(out, wanted));
        thrust::transform_inclusive_scan(da.begin(), da.end(), out.begin(), thrust::negate<int>(), thrust::plus<int>());
        for (int i = 0, s = 0; i < n; ++i) wanted[i] = s -= a[i];
        CHECK(same(out, wanted));
        std::vector<int> keys(n);
        for (int i = 0; i < n; ++i) keys[i] = i / 777;
        const thrust::device_vector<int> dkeys = keys;
        thrust::inclusive_scan_by_key(dkeys.begin(), dkeys.end(), da.begin(), out.begin());
        for (int i = 0, s = 0; i < n; ++i) wanted[i] = s = (i && keys[i] == keys[i - 1] ? s : 0) + a[i];
        CHECK(same(out, wanted));
        thrust::exclusive_scan_by_key(dkeys.begin(), dkeys.end(), da.begin(), out.begin(), 10);
        for (int i = 0, s = 10; i < n; s += a[i++]) wanted[i] = s = i && keys[i] == keys[i - 1] ? s : 10;
        CHECK(same(out, wanted));
    }
}

static void selections() {
    for (int n : lengths) {
        const std::vector<int> a = numbers(n, 100), b = numbers(n, 7, 5);
        const thrust::device_vector<int> da = a, db = b;
        thrust::device_vector<int> out(n), other(n);
        std::vector<int> wanted, rest;
        std::copy_if(a.begin(), a.end(), std::back_inserter(wanted), Odd());
        out.resize(thrust::copy_if(da.begin(), da.end(), out.begin(), Odd()) - out.begin());
        CHECK(same(out, wanted));
        out.resize(n), wanted.clear();
        out.resize(thrust::copy_if(da.begin(), da.end(), db.begin(), out.begin(), Odd()) - out.begin());
        for (int i = 0; i < n; ++i) if (Odd()(b[i])) wanted.push_back(a[i]);
        CHECK(same(out, wanted));
        out = da, wanted = a;
        out.erase(thrust::remove_if(out.begin(), out.end(), Odd()), out.end());
        wanted.erase(std::remove_if(wanted.begin(), wanted.end(), Odd()), wanted.end());
        CHECK(same(out, wanted));
        out = db, wanted = b;
        out.erase(thrust::remove(out.begin(), out.end(), 2), out.end());
        wanted.erase(std::remove(wanted.begin(), wanted.end(), 2), wanted.end());
        CHECK(same(out, wanted));
        out = db, wanted = b;
        out.erase(thrust::unique(out.begin(), out.end()), out.end());
        wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
        CHECK(same(out, wanted));
        out = da, other = db;
        const auto ends = thrust::unique_by_key(other.begin(), other.end(), out.begin());
        other.erase(ends.first, other.end()), out.erase(ends.second, out.end());
        std::vector<int> wanted_items;
        for (int i = 0; i < n; ++i) if (!i || b[i] != b[i - 1]) wanted_items.push_back(a[i]);
        CHECK(same(other, wanted) && same(out, wanted_items));
        out = da, wanted = a;
        SAME(thrust::stable_partition(out.begin(), out.end(), Odd()) - out.begin(), std::stable_partition(wanted.begin(), wanted.end(), Odd()) - wanted.begin());
        CHECK(same(out, wanted));
        out = da;
        const long odd = std::count_if(a.begin(), a.end(), Odd());
        SAME(thrust::partition(out.begin(), out.end(), Odd()) - out.begin(), odd);
        CHECK(thrust::is_partitioned(out.begin(), out.end(), Odd()));
        out.resize(n), other.resize(n);
        const auto parts = thrust::partition_copy(da.begin(), da.end(), out.begin(), other.begin(), Odd());
        out.erase(parts.first, out.end()), other.erase(parts.second, other.end());
        wanted.clear();
        std::partition_copy(a.begin(), a.end(), std::back_inserter(wanted), std::back_inserter(rest), Odd());
        CHECK(same(out, wanted) && same(other, rest));
    }
}

template <class T, class Less> static void sort_of(int n, Less less) {
    const std::vector<int> given = numbers(n, 100000, 3);
    std::vector<T> a(n);
    std::vector<int> ids(n);
    for (int i = 0; i < n; ++i) a[i] = T(given[i]) / T(3);
    std::iota(ids.begin(), ids.end(), 0);
    thrust::device_vector<T> d = a;
    thrust::device_vector<int> dids = ids;
    thrust::stable_sort_by_key(d.begin(), d.end(), dids.begin(), less);
    std::stable_sort(ids.begin(), ids.end(), [&](int i, int j) { return less(a[i], a[j]); });
    std::vector<T> sorted(n);
    for (int i = 0; i < n; ++i) sorted[i] = a[ids[i]];
    CHECK(same(d, sorted) && same(dids, ids));
    d = a;
    thrust::sort(d.begin(), d.end(), less);
    CHECK(same(d, sorted) && thrust::is_sorted(d.begin(), d.end(), less));
}

static void sorts() {
    for (int n : lengths) {
        sort_of<int>(n, thrust::less<int>());
        sort_of<float>(n, thrust::greater<float>());
        sort_of<double>(n, thrust::less<double>());
        sort_of<unsigned char>(n, thrust::greater<unsigned char>());
        sort_of<long long>(n, thrust::less<long long>());
        sort_of<int>(n, Tens());
        std::vector<Point> points(n);
        const std::vector<int> x = numbers(n, 500);
        for (int i = 0; i < n; ++i) points[i] = {x[i] * 0.5f, i};
        thrust::device_vector<Point> dpoints = points;
        thrust::stable_sort(dpoints.begin(), dpoints.end(), Nearer());
        std::stable_sort(points.begin(), points.end(), Nearer());
        const thrust::host_vector<Point> back = dpoints;
        bool all = true;
        for (int i = 0; i < n; ++i) all = all && back[i].id == points[i].id;
        CHECK(all);
        thrust::device_vector<int> first = x, second = numbers(n, 9);           // a zip of two
        std::vector<std::pair<int, int>> pairs(n);
        for (int i = 0; i < n; ++i) pairs[i] = {x[i], int(second[i])};
        const auto zipped = thrust::make_zip_iterator(thrust::make_tuple(first.begin(), second.begin()));
        if (n < 2000) {
            thrust::sort(zipped, zipped + n);
            std::sort(pairs.begin(), pairs.end());
            for (int i = 0; i < n; ++i) all = all && pairs[i] == std::pair<int, int>(first[i], second[i]);
            CHECK(all);
        }
    }
}

static void ordered() {
    for (int n : lengths) {
        std::vector<int> a = numbers(n, 5000), b = numbers(n / 2 + 1, 5000, 9), wanted(a.size() + b.size());
        std::sort(a.begin(), a.end()), std::sort(b.begin(), b.end());
        const thrust::device_vector<int> da = a, db = b;
        thrust::device_vector<int> out(wanted.size());
        thrust::merge(da.begin(), da.end(), db.begin(), db.end(), out.begin());
        std::merge(a.begin(), a.end(), b.begin(), b.end(), wanted.begin());
        CHECK(same(out, wanted));
#define SET(NAME)                                                                                                 \
        out.resize(a.size() + b.size());                                                                          \
        out.erase(thrust::NAME(da.begin(), da.end(), db.begin(), db.end(), out.begin()), out.end());              \
        wanted.clear();                                                                                           \
        std::NAME(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(wanted));                            \
        CHECK(same(out, wanted));
        SET(set_union) SET(set_intersection) SET(set_difference) SET(set_symmetric_difference)
        thrust::device_vector<int> places(b.size());
        thrust::lower_bound(da.begin(), da.end(), db.begin(), db.end(), places.begin());
        std::vector<int> wanted_places;
        for (int x : b) wanted_places.push_back(int(std::lower_bound(a.begin(), a.end(), x) - a.begin()));
        CHECK(same(places, wanted_places));
        SAME(thrust::upper_bound(da.begin(), da.end(), 40) - da.begin(), std::upper_bound(a.begin(), a.end(), 40) - a.begin());
        CHECK(thrust::binary_search(da.begin(), da.end(), 40) == std::binary_search(a.begin(), a.end(), 40));
    }
}

__global__ void within(const int *x, int n, int *out) {
    if (threadIdx.x == 0) *out = thrust::reduce(thrust::seq, x, x + n) + *thrust::max_element(thrust::device, x, x + n);
}

static void policies() {
    const std::vector<int> a = numbers(1000, 50);
    int *raw, *out, found;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream) == cudaSuccess && cudaMalloc(&raw, 4000) == cudaSuccess && cudaMalloc(&out, 4) == cudaSuccess);
    CHECK(cudaMemcpy(raw, a.data(), 4000, cudaMemcpyHostToDevice) == cudaSuccess);
    const int sum = std::accumulate(a.begin(), a.end(), 0), most = *std::max_element(a.begin(), a.end());
    SAME(thrust::reduce(thrust::cuda::par.on(stream), raw, raw + 1000), sum);
    SAME(thrust::reduce(thrust::device, raw, raw + 1000), sum);
    SAME(thrust::reduce(thrust::host, a.begin(), a.end()), sum);
    const thrust::device_ptr<int> pointer(raw);
    SAME(thrust::reduce(pointer, pointer + 1000), sum);
    thrust::sort(thrust::cuda::par_nosync.on(stream), raw, raw + 1000);
    SAME(int(pointer[999]), most);
    within<<<1, 32>>>(raw, 1000, out);
    CHECK(cudaMemcpy(&found, out, 4, cudaMemcpyDeviceToHost) == cudaSuccess);
    SAME(found, sum + most);
    thrust::device_vector<float> uniform(1000);
    thrust::transform(thrust::counting_iterator<unsigned>(0), thrust::counting_iterator<unsigned>(1000), uniform.begin(), [] __device__(unsigned i) {
        thrust::default_random_engine engine(5);
        engine.discard(i);
        return thrust::uniform_real_distribution<float>(0, 1)(engine);
    });
    thrust::default_random_engine engine(5);
    bool all = true;
    for (int i = 0; i < 1000; ++i) all = all && thrust::uniform_real_distribution<float>(0, 1)(engine) == uniform[i];
    CHECK(all);
    thrust::universal_vector<int> shared(10, 3);
    thrust::transform(shared.begin(), shared.end(), shared.begin(), Shifted());
    SAME(shared[4], 10);
}

int main(int argc, char **argv) {
    const Subject subjects[] = {{"elementwise", elementwise}, {"reductions", reductions}, {"scans", scans}, {"selections", selections},
                                {"sorts", sorts}, {"ordered", ordered}, {"policies", policies}};
    return run_subjects(subjects, 7, argc, argv);
}
