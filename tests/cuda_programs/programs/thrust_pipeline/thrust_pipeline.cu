// thrust_pipeline PARTICLES SIDE TIMES SEED [--check]: all by Thrust.
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/extrema.h>
#include <thrust/fill.h>
#include <thrust/gather.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scatter.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/tuple.h>

#include "thrust_pipeline.h"
#include "../cuda_check.h"

struct Cell {
    int side;
    __host__ __device__ int operator()(const thrust::tuple<float, float> &p) const {
        return cell_of(thrust::get<0>(p), thrust::get<1>(p), side);
    }
};
struct Energy {
    __host__ __device__ double operator()(const thrust::tuple<float, float, float> &p) const {
        const float x = thrust::get<0>(p), y = thrust::get<1>(p);
        return 0.5 * double(thrust::get<2>(p)) * (x * x + y * y);
    }
};
struct Above {
    float limit;
    __host__ __device__ bool operator()(float mass) const { return mass > limit; }
};

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int particles = arguments.number(0, 50000), side = arguments.number(1, 32), times = arguments.number(2, 1);
    const int cells = side * side;
    std::vector<float> x(particles), y(particles), mass(particles), cell_mass(cells);
    std::vector<int> starts(cells);
    make_inputs(particles, arguments.number(3, 1), x, y, mass);
    Summary s = {};

    const double begun = milliseconds();
    const thrust::device_vector<float> dx(x.begin(), x.end()), dy(y.begin(), y.end()), dm(mass.begin(), mass.end());
    thrust::device_vector<int> keys(particles), order(particles), device_starts(cells), occupied(cells);
    thrust::device_vector<float> sorted_mass(particles), sums(cells), device_mass(cells), dense(cells);
    CUDA_CHECK(cudaDeviceSynchronize());
    const double kernel_begun = milliseconds();
    for (int time = 0; time < times; ++time) {
        const auto positions = thrust::make_zip_iterator(thrust::make_tuple(dx.begin(), dy.begin()));
        thrust::transform(positions, positions + particles, keys.begin(), Cell{side});
        thrust::sequence(order.begin(), order.end());
        thrust::stable_sort_by_key(keys.begin(), keys.end(), order.begin());
        thrust::gather(order.begin(), order.end(), dm.begin(), sorted_mass.begin());
        thrust::lower_bound(keys.begin(), keys.end(), thrust::counting_iterator<int>(0),
                            thrust::counting_iterator<int>(cells), device_starts.begin());
        const auto ends = thrust::reduce_by_key(keys.begin(), keys.end(), sorted_mass.begin(), occupied.begin(),
                                                sums.begin());
        s.occupied = int(ends.first - occupied.begin());
        thrust::fill(device_mass.begin(), device_mass.end(), 0.0f);
        thrust::scatter(sums.begin(), ends.second, occupied.begin(), device_mass.begin());
        const float limit = 2.0f * particles / cells;
        const auto dense_end = thrust::copy_if(device_mass.begin(), device_mass.end(), dense.begin(), Above{limit});
        s.dense = int(dense_end - dense.begin());
        s.heaviest = *thrust::max_element(device_mass.begin(), device_mass.end());
        const auto all = thrust::make_zip_iterator(thrust::make_tuple(dx.begin(), dy.begin(), dm.begin()));
        s.energy = thrust::transform_reduce(all, all + particles, Energy(), 0.0, thrust::plus<double>());
    }
    CUDA_CHECK(cudaDeviceSynchronize());
    const double kernel_ms = milliseconds() - kernel_begun;
    thrust::copy(device_starts.begin(), device_starts.end(), starts.begin());
    thrust::copy(device_mass.begin(), device_mass.end(), cell_mass.begin());
    const double total_ms = milliseconds() - begun;

    print_times(kernel_ms, total_ms);
    finish(x, y, mass, side, starts, cell_mass, s, arguments.check);
}
