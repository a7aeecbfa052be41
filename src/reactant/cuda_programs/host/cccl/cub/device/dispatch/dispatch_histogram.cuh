// cub::DeviceHistogram on this device: each tile of pixels has histograms of its own, which are added up.
#pragma once
#include <cub/config.cuh>
#include <cub/util_debug.cuh>
#include <cub/util_device.cuh>
#include <cub/util_math.cuh>
#include <cub/util_type.cuh>

#include <cuda/std/array>
#include <cuda/std/limits>
#include <cuda/std/type_traits>

#include <reactant_parallel.h>

CUB_NAMESPACE_BEGIN
namespace detail {
namespace histogram {
// Bins of one width. Integers are exact; floats are multiplied by the number of bins over the range.
template <class Level, class Sample> struct even {
    typedef typename ::cuda::std::common_type<Level, Sample>::type Common;
    typedef ::cuda::std::_If<sizeof(Sample) + sizeof(Common) <= sizeof(unsigned), unsigned, unsigned long long> Wide;
    int bins; Common lower, upper, reciprocal;
    cudaError_t set(int count, Level first, Level last) {
        bins = count, lower = static_cast<Common>(first), upper = static_cast<Common>(last);
        if constexpr (::cuda::std::is_integral<Common>::value) {
            if (static_cast<Wide>(upper - lower) > ::cuda::std::numeric_limits<Wide>::max() / static_cast<Wide>(count)) return cudaErrorInvalidValue;
        } else {
            reciprocal = static_cast<Common>(static_cast<Common>(count) / static_cast<Common>(upper - lower));
        }
        return cudaSuccess;
    }
    _CCCL_DEVICE int bin(Sample given) const {
        const Common sample = static_cast<Common>(given);
        if (!(sample >= lower && sample < upper)) return -1;
        if constexpr (::cuda::std::is_integral<Common>::value)
            return static_cast<int>(static_cast<Wide>(sample - lower) * static_cast<Wide>(bins) / static_cast<Wide>(upper - lower));
        else
            return static_cast<int>((sample - lower) * reciprocal);
    }
};

template <class Level, class Sample> struct ranges {
    int bins; const Level *levels;
    _CCCL_DEVICE int bin(Sample sample) const {
        int low = 0, high = bins + 1;           // how many levels are not above the sample
        while (low < high) {
            const int middle = (low + high) / 2;
            if (sample < levels[middle]) high = middle;
            else low = middle + 1;
        }
        return low >= 1 && low <= bins ? low - 1 : -1;
    }
};

template <int Channels, int Active, class Samples, class Counter, class Bins> struct count {
    Samples samples; Bins bins[Active]; long long first[Active + 1]; reactant_parallel::Tiles tiles; long long row_pixels, stride; Counter *partial;
    _CCCL_DEVICE void operator()(reactant_parallel::Index tile) {
        Counter *const mine = partial + tile * first[Active];
        for (long long k = 0; k < first[Active]; ++k) mine[k] = 0;
        for (reactant_parallel::Index pixel = tiles.first(tile), end = tiles.last(tile); pixel < end; ++pixel) {
            const long long at = pixel / row_pixels * stride + pixel % row_pixels * Channels;
            for (int c = 0; c < Active; ++c) {
                const int bin = bins[c].bin(samples[at + c]);
                if (bin >= 0 && bin < bins[c].bins) ++mine[first[c] + bin];
            }
        }
    }
};

template <int Active, class Counter> struct sum {
    Counter *out[Active]; long long first[Active + 1]; long long tiles; const Counter *partial;
    _CCCL_DEVICE void operator()(reactant_parallel::Index k) {
        Counter total = 0;
        for (long long tile = 0; tile < tiles; ++tile) total += partial[tile * first[Active] + k];
        for (int c = 0; c < Active; ++c)
            if (k >= first[c] && k < first[c + 1]) out[c][k - first[c]] = total;
    }
};

template <int Channels, int Active, class Samples, class Counter, class Bins>
cudaError_t counted(void *memory, size_t &bytes, count<Channels, Active, Samples, Counter, Bins> &counting, Counter *const out[], long long row_pixels,
                    long long rows, long long stride, cudaStream_t stream) {
    const reactant_parallel::Index pixels = row_pixels * rows;
    counting.first[0] = 0;
    for (int c = 0; c < Active; ++c) counting.first[c + 1] = counting.first[c] + counting.bins[c].bins;
    const reactant_parallel::Index all = counting.first[Active];
    counting.tiles = reactant_parallel::tiles_of_processors(pixels, all > 8192 ? all : 8192);
    counting.row_pixels = row_pixels ? row_pixels : 1, counting.stride = stride;
    reactant_parallel::Scratch scratch(memory);
    counting.partial = scratch.part<Counter>(counting.tiles.count * all);
    if (scratch.told(memory, bytes)) return cudaSuccess;
    const cudaError_t error = reactant_parallel::tiles(counting.tiles.count, 2 * reactant_parallel::element_cost * pixels * Active, counting, stream);
    if (error != cudaSuccess) return error;
    sum<Active, Counter> adding{};
    for (int c = 0; c < Active; ++c) adding.out[c] = out[c];
    for (int c = 0; c <= Active; ++c) adding.first[c] = counting.first[c];
    adding.tiles = counting.tiles.count, adding.partial = counting.partial;
    return reactant_parallel::elements(all, adding, stream);
}
}  // namespace histogram
}  // namespace detail

template <int Channels, int Active, class Samples, class Counter, class Level, class Offset, class Policy = void> struct DispatchHistogram {
    typedef detail::value_t<Samples> Sample;
    template <class IsByte>
    CUB_RUNTIME_FUNCTION static cudaError_t DispatchRange(void *memory, size_t &bytes, Samples samples, Counter *const out[], const int levels[],
                                                          const Level *const edges[], Offset row_pixels, Offset rows, Offset stride,
                                                          cudaStream_t stream, IsByte) {
        detail::histogram::count<Channels, Active, Samples, Counter, detail::histogram::ranges<Level, Sample>> counting{};
        counting.samples = samples;
        for (int c = 0; c < Active; ++c) counting.bins[c] = {levels[c] - 1, edges[c]};
        return detail::histogram::counted(memory, bytes, counting, out, (long long)row_pixels, (long long)rows, (long long)stride, stream);
    }
    template <class IsByte>
    CUB_RUNTIME_FUNCTION static cudaError_t DispatchEven(void *memory, size_t &bytes, Samples samples, Counter *const out[], const int levels[],
                                                         const Level lower[], const Level upper[], Offset row_pixels, Offset rows,
                                                         Offset stride, cudaStream_t stream, IsByte) {
        detail::histogram::count<Channels, Active, Samples, Counter, detail::histogram::even<Level, Sample>> counting{};
        counting.samples = samples;
        for (int c = 0; c < Active; ++c) {
            const cudaError_t error = counting.bins[c].set(levels[c] - 1, lower[c], upper[c]);
            if (error != cudaSuccess) return error;
        }
        return detail::histogram::counted(memory, bytes, counting, out, (long long)row_pixels, (long long)rows, (long long)stride, stream);
    }
};
CUB_NAMESPACE_END
