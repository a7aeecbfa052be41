// CUDA arrays: opaque memory with a format, as textures and surfaces read and write it. Rows are contiguous here.
#include <cstdlib>
#include <cstring>

#include "runtime.h"

using namespace reactant;

namespace reactant {

size_t element_bytes(const cudaChannelFormatDesc &format) {
    return (size_t)(format.x + format.y + format.z + format.w) / 8;
}

}  // namespace reactant

namespace {

cudaError_t make(cudaArray_t *array, const cudaChannelFormatDesc *format, cudaExtent extent, unsigned flags) {
    if (!array || !format || !extent.width) return cudaErrorInvalidValue;
    size_t element = element_bytes(*format);
    if (element != 1 && element != 2 && element != 4 && element != 8 && element != 16)
        return cudaErrorInvalidChannelDescriptor;
    auto *made = new cudaArray{*format, extent, flags, nullptr, element, extent.width * element, 0, 0, 0, true};
    made->rows = extent.height ? extent.height : 1;
    made->slices = extent.depth ? extent.depth : 1;
    if (flags & cudaArrayLayered && !extent.height) made->rows = 1;
    made->slice = made->pitch * made->rows;
    void *memory = nullptr;
    if (cudaError_t error = allocate(&memory, made->slice * made->slices, Kind::device)) {
        delete made;
        return error;
    }
    made->data = (char *)memory;
    *array = made;
    return cudaSuccess;
}

bool fits(const cudaArray &array, size_t x, size_t y, size_t width, size_t height) {
    return x + width <= array.pitch && y + height <= array.rows * array.slices;
}

Copy into(cudaArray &array, size_t x, size_t y, const void *from, size_t pitch, size_t width, size_t height,
          cudaMemcpyKind kind) {
    return Copy{array.data + x + y * array.pitch, array.pitch, 0, from, pitch, 0, width, height, 1, kind};
}

Copy out_of(const cudaArray &array, size_t x, size_t y, void *to, size_t pitch, size_t width, size_t height,
            cudaMemcpyKind kind) {
    return Copy{to, pitch, 0, array.data + x + y * array.pitch, array.pitch, 0, width, height, 1, kind};
}

cudaError_t submit_checked(const Copy &copy, cudaStream_t stream) {
    if (cudaError_t error = check(copy)) return error;
    Node node;
    node.type = cudaGraphNodeTypeMemcpy;
    node.copy = copy;
    return submit(stream, std::move(node));
}

}  // namespace

extern "C" {

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
    return cudaChannelFormatDesc{x, y, z, w, kind};
}

cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc *format, cudaArray_const_t array) {
    return call([&] { return format && array ? (*format = array->format, cudaSuccess) : cudaErrorInvalidValue; });
}

cudaError_t cudaMallocArray(cudaArray_t *array, const cudaChannelFormatDesc *format, size_t width, size_t height,
                            unsigned flags) {
    return call([&] { return make(array, format, cudaExtent{width, height, 0}, flags); });
}

cudaError_t cudaMalloc3DArray(cudaArray_t *array, const cudaChannelFormatDesc *format, cudaExtent extent,
                              unsigned flags) {
    return call([&] { return make(array, format, extent, flags); });
}

cudaError_t cudaFreeArray(cudaArray_t array) {
    return call([&] {
        if (!array) return cudaSuccess;
        if (!array->owner) return cudaErrorInvalidValue;
        cudaError_t error = release(array->data, false);
        delete array;
        return error;
    });
}

cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc *format, cudaExtent *extent, unsigned *flags, cudaArray_t array) {
    return call([&] {
        if (!array) return cudaErrorInvalidValue;
        if (format) *format = array->format;
        if (extent) *extent = array->extent;
        if (flags) *flags = array->flags;
        return cudaSuccess;
    });
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *array, const cudaChannelFormatDesc *format, cudaExtent extent,
                                     unsigned levels, unsigned flags) {
    return call([&] {
        if (!array || !levels) return cudaErrorInvalidValue;
        auto half = [](size_t n) { return n > 1 ? n / 2 : n; };
        auto *made = new cudaMipmappedArray;
        for (unsigned level = 0; level < levels; ++level) {
            cudaArray_t each;
            if (cudaError_t error = make(&each, format, extent, flags)) return error;
            each->owner = false;
            made->levels.push_back(each);
            if (extent.width <= 1 && extent.height <= 1 && extent.depth <= 1) break;
            extent = cudaExtent{half(extent.width), half(extent.height),
                                flags & cudaArrayLayered ? extent.depth : half(extent.depth)};
        }
        *array = made;
        return cudaSuccess;
    });
}

cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *level_array, cudaMipmappedArray_const_t array, unsigned level) {
    return call([&] {
        if (!level_array || !array || level >= array->levels.size()) return cudaErrorInvalidValue;
        *level_array = array->levels[level];
        return cudaSuccess;
    });
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array) {
    return call([&] {
        if (!array) return cudaSuccess;
        for (cudaArray_t each : array->levels) {
            release(each->data, false);
            delete each;
        }
        delete array;
        return cudaSuccess;
    });
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
                                     size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    return call([&] {
        if (!to || !from || !fits(*to, x, y, width, height)) return cudaErrorInvalidValue;
        return submit_checked(into(*to, x, y, from, pitch, width, height, kind), stream);
    });
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
                                size_t height, cudaMemcpyKind kind) {
    return cudaMemcpy2DToArrayAsync(to, x, y, from, pitch, width, height, kind, nullptr);
}

cudaError_t cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
                                       size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    return call([&] {
        if (!to || !from || !fits(*from, x, y, width, height)) return cudaErrorInvalidValue;
        return submit_checked(out_of(*from, x, y, to, pitch, width, height, kind), stream);
    });
}

cudaError_t cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
                                  size_t height, cudaMemcpyKind kind) {
    return cudaMemcpy2DFromArrayAsync(to, pitch, from, x, y, width, height, kind, nullptr);
}

// Bytes that go on in the next row where one is full: rows are contiguous.
cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes, cudaMemcpyKind kind) {
    return call([&] {
        if (!to || !from || x + y * to->pitch + bytes > to->slice * to->slices) return cudaErrorInvalidValue;
        return submit_checked(into(*to, x, y, from, bytes, bytes, 1, kind), nullptr);
    });
}

cudaError_t cudaMemcpyFromArray(void *to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                cudaMemcpyKind kind) {
    return call([&] {
        if (!to || !from || x + y * from->pitch + bytes > from->slice * from->slices) return cudaErrorInvalidValue;
        return submit_checked(out_of(*from, x, y, to, bytes, bytes, 1, kind), nullptr);
    });
}

cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
                                     size_t from_y, size_t width, size_t height, cudaMemcpyKind) {
    return call([&] {
        if (!to || !from || !fits(*to, to_x, to_y, width, height) || !fits(*from, from_x, from_y, width, height))
            return cudaErrorInvalidValue;
        return submit_checked(into(*to, to_x, to_y, from->data + from_x + from_y * from->pitch, from->pitch, width,
                                   height, cudaMemcpyDeviceToDevice), nullptr);
    });
}

cudaError_t cudaMemcpyArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
                                   size_t from_y, size_t bytes, cudaMemcpyKind kind) {
    return from ? cudaMemcpyToArray(to, to_x, to_y, from->data + from_x + from_y * from->pitch, bytes,
                                    kind == cudaMemcpyDefault ? kind : cudaMemcpyDeviceToDevice)
                : report(cudaErrorInvalidValue);
}

}
