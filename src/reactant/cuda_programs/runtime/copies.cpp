// Copies and fills: what may be copied where, and how bytes move.
#include <cstring>

#include "launching.h"
#include "report.h"

using namespace reactant;

namespace {

constexpr uint64_t in_parallel = 4 << 20;       // bytes of a copy that several threads make

bool device_memory(const void *address, size_t bytes) {
    Allocation found;
    if (find(address, &found)) return (uintptr_t)address + bytes <= found.base + found.bytes;
    ReactantSymbol symbol;
    return symbol_at(address, &symbol) && (uintptr_t)address + bytes <= (uintptr_t)symbol.address + symbol.size;
}

// The end of host memory is not in the table; where it is, as page-locked memory, it counts.
bool host_memory(const void *address, size_t bytes) {
    Allocation found;
    return !find(address, &found) ||
           (found.kind != Kind::device && (uintptr_t)address + bytes <= found.base + found.bytes) ||
           found.kind == Kind::device;          // one address space: a pointer that is told wrong is followed right
}

// Memory that the host may look at by calls alone.
bool of_device_alone(const void *address) {
    Allocation found;
    return find(address, &found) && found.kind == Kind::device;
}

size_t span(size_t width, size_t height, size_t depth, size_t pitch, size_t slice) {
    return width + (height - 1) * pitch + (depth - 1) * slice;
}

cudaError_t sides(const Copy &copy) {
    size_t to = span(copy.width, copy.height, copy.depth, copy.to_pitch, copy.to_slice);
    size_t from = span(copy.width, copy.height, copy.depth, copy.from_pitch, copy.from_slice);
    bool to_device = copy.kind == cudaMemcpyHostToDevice || copy.kind == cudaMemcpyDeviceToDevice;
    bool from_device = copy.kind == cudaMemcpyDeviceToHost || copy.kind == cudaMemcpyDeviceToDevice;
    if (to_device ? !device_memory(copy.to, to) : !host_memory(copy.to, to)) {
        explain("the %zu bytes at %p that are written are not all %s memory", to, copy.to, to_device ? "device" : "host");
        return cudaErrorInvalidValue;
    }
    if (from_device ? !device_memory(copy.from, from) : !host_memory(copy.from, from)) {
        explain("the %zu bytes at %p that are read are not all %s memory", from, copy.from,
                from_device ? "device" : "host");
        return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

void fill_bytes(char *to, uint32_t value, unsigned element, size_t bytes) {
    if (element == 1) { memset(to, (int)(value & 255), bytes); return; }
    for (size_t k = 0; k + element <= bytes; k += element) memcpy(to + k, &value, element);
}

}  // namespace

namespace reactant {

cudaError_t check(const Copy &copy) {
    if (copy.width == 0 || copy.height == 0 || copy.depth == 0) return cudaSuccess;
    if ((unsigned)copy.kind > 4) return cudaErrorInvalidMemcpyDirection;
    if (!copy.to || !copy.from) return cudaErrorInvalidValue;
    if (copy.height > 1 && (copy.to_pitch < copy.width || copy.from_pitch < copy.width)) return cudaErrorInvalidPitchValue;
    return sides(copy);
}

cudaError_t check(const Fill &fill) {
    if (fill.width == 0 || fill.height == 0 || fill.depth == 0) return cudaSuccess;
    if (!fill.to || (fill.height > 1 && fill.pitch < fill.width)) return cudaErrorInvalidValue;
    size_t bytes = span(fill.width, fill.height, fill.depth, fill.pitch, fill.slice);
    if (device_memory(fill.to, bytes)) return cudaSuccess;
    explain("the %zu bytes at %p that are set are not all device memory", bytes, fill.to);
    return cudaErrorInvalidValue;
}

// Both sides are the device's, and launches that wait do not access them: the host cannot see the order.
bool unseen(const Copy &copy) {
    size_t to = span(copy.width, copy.height, copy.depth, copy.to_pitch, copy.to_slice);
    size_t from = span(copy.width, copy.height, copy.depth, copy.from_pitch, copy.from_slice);
    return of_device_alone(copy.to) && of_device_alone(copy.from) && beside_kept(copy.to, to) && beside_kept(copy.from, from);
}

void run(const Copy &copy) {
    if (copy.to == copy.from && copy.to_pitch == copy.from_pitch) return;
    if (recorder && recorder->copy(copy)) return;
    if (kept_launches && !unseen(copy)) catch_up();
    Timed timed(&Report::copies, copy.width * copy.height * copy.depth);
    if (copy.height == 1 && copy.depth == 1 && copy.width >= in_parallel) {
        parallel(copy.width, 1 << 20, [](void *context, uint64_t first, uint64_t last) {
            const Copy &c = *(const Copy *)context;
            memcpy((char *)c.to + first, (const char *)c.from + first, last - first);
        }, (void *)&copy);
        return;
    }
    for (size_t z = 0; z < copy.depth; ++z)
        for (size_t y = 0; y < copy.height; ++y)
            memmove((char *)copy.to + z * copy.to_slice + y * copy.to_pitch,
                    (const char *)copy.from + z * copy.from_slice + y * copy.from_pitch, copy.width);
}

void run(const Fill &fill) {
    if (recorder && recorder->fill(fill)) return;
    if (kept_launches && !(of_device_alone(fill.to) && beside_kept(fill.to, span(fill.width, fill.height, fill.depth, fill.pitch, fill.slice))))
        catch_up();
    Timed timed(&Report::fills, fill.width * fill.height * fill.depth);
    if (fill.height == 1 && fill.depth == 1 && fill.width >= in_parallel && fill.element == 1) {
        parallel(fill.width, 1 << 20, [](void *context, uint64_t first, uint64_t last) {
            const Fill &f = *(const Fill *)context;
            memset((char *)f.to + first, (int)(f.value & 255), last - first);
        }, (void *)&fill);
        return;
    }
    for (size_t z = 0; z < fill.depth; ++z)
        for (size_t y = 0; y < fill.height; ++y)
            fill_bytes((char *)fill.to + z * fill.slice + y * fill.pitch, fill.value, fill.element, fill.width);
}

cudaError_t make_copy(const cudaMemcpy3DParms &p, Copy *copy) {
    if ((p.srcArray != nullptr) == (p.srcPtr.ptr != nullptr) || (p.dstArray != nullptr) == (p.dstPtr.ptr != nullptr))
        return cudaErrorInvalidValue;
    // With an array, the extent and the array's own position are in elements; without, in bytes.
    size_t element = p.srcArray ? p.srcArray->element : p.dstArray ? p.dstArray->element : 1;
    *copy = Copy{};
    copy->width = p.extent.width * element;
    copy->height = p.extent.height;
    copy->depth = p.extent.depth;
    copy->kind = p.kind;
    auto side = [&](cudaArray *array, const cudaPos &at, const cudaPitchedPtr &memory, char **address, size_t *pitch,
                    size_t *slice) {
        if (array) {
            *pitch = array->pitch, *slice = array->slice;
            *address = array->data + at.x * array->element + at.y * *pitch + at.z * *slice;
            return at.x * array->element + copy->width <= array->pitch && at.y + copy->height <= array->rows &&
                   at.z + copy->depth <= array->slices;
        }
        *pitch = memory.pitch, *slice = memory.pitch * memory.ysize;
        *address = (char *)memory.ptr + at.x + at.y * *pitch + at.z * *slice;
        return true;
    };
    char *to, *from;
    if (!side(p.dstArray, p.dstPos, p.dstPtr, &to, &copy->to_pitch, &copy->to_slice) ||
        !side(p.srcArray, p.srcPos, p.srcPtr, &from, &copy->from_pitch, &copy->from_slice))
        return cudaErrorInvalidValue;
    copy->to = to, copy->from = from;
    return cudaSuccess;
}

cudaError_t submit_fill(const Fill &fill, cudaStream_t stream) {
    return call_beside([&] {
        if (cudaError_t error = check(fill)) return error;
        Node node;
        node.type = cudaGraphNodeTypeMemset;
        node.fill = fill;
        return submit(stream, std::move(node));
    });
}

}  // namespace reactant

namespace {

cudaError_t submit_copy(const Copy &copy, cudaStream_t stream) {
    return call_beside([&] {
        if (cudaError_t error = check(copy)) return error;
        Node node;
        node.type = cudaGraphNodeTypeMemcpy;
        node.copy = copy;
        return submit(stream, std::move(node));
    });
}

Copy plain(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    return Copy{to, bytes, bytes, from, bytes, bytes, bytes, 1, 1, kind};
}

cudaError_t of_symbol(const void *symbol, size_t offset, size_t bytes, char **address) {
    void *start = nullptr;
    size_t size = 0;
    if (cudaError_t error = cudaGetSymbolAddress(&start, symbol)) return error;
    cudaGetSymbolSize(&size, symbol);
    if (offset > size || bytes > size - offset) return report(cudaErrorInvalidValue);
    *address = (char *)start + offset;
    return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    return submit_copy(plain(to, from, bytes, kind), nullptr);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    return submit_copy(plain(to, from, bytes, kind), stream);
}

cudaError_t cudaMemcpyPeer(void *to, int device, const void *from, int source, size_t bytes) {
    if (device != 0 || source != 0) return report(cudaErrorInvalidDevice);
    return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice);
}

cudaError_t cudaMemcpyPeerAsync(void *to, int device, const void *from, int source, size_t bytes, cudaStream_t stream) {
    if (device != 0 || source != 0) return report(cudaErrorInvalidDevice);
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    if (to_pitch < width || from_pitch < width) return report(cudaErrorInvalidPitchValue);
    return submit_copy(Copy{to, to_pitch, 0, from, from_pitch, 0, width, height, 1, kind}, stream);
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind) {
    return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, nullptr);
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms *parameters, cudaStream_t stream) {
    if (!parameters) return report(cudaErrorInvalidValue);
    Copy copy;
    if (cudaError_t error = make_copy(*parameters, &copy)) return report(error);
    return submit_copy(copy, stream);
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms *parameters) { return cudaMemcpy3DAsync(parameters, nullptr); }

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream) {
    return submit_fill(Fill{memory, bytes, bytes, (uint32_t)value, 1, bytes, 1, 1}, stream);
}

cudaError_t cudaMemset(void *memory, int value, size_t bytes) { return cudaMemsetAsync(memory, value, bytes, nullptr); }

cudaError_t cudaMemset2DAsync(void *memory, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
    return submit_fill(Fill{memory, pitch, 0, (uint32_t)value, 1, width, height, 1}, stream);
}

cudaError_t cudaMemset2D(void *memory, size_t pitch, int value, size_t width, size_t height) {
    return cudaMemset2DAsync(memory, pitch, value, width, height, nullptr);
}

cudaError_t cudaMemset3DAsync(cudaPitchedPtr memory, int value, cudaExtent extent, cudaStream_t stream) {
    return submit_fill(Fill{memory.ptr, memory.pitch, memory.pitch * memory.ysize, (uint32_t)value, 1, extent.width,
                            extent.height, extent.depth}, stream);
}

cudaError_t cudaMemset3D(cudaPitchedPtr memory, int value, cudaExtent extent) {
    return cudaMemset3DAsync(memory, value, extent, nullptr);
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
    char *address;
    if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost) return report(cudaErrorInvalidMemcpyDirection);
    if (cudaError_t error = of_symbol(symbol, offset, bytes, &address)) return error;
    return submit_copy(plain(address, from, bytes, kind), stream);
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, cudaMemcpyKind kind) {
    return cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, nullptr);
}

cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t stream) {
    char *address;
    if (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost) return report(cudaErrorInvalidMemcpyDirection);
    if (cudaError_t error = of_symbol(symbol, offset, bytes, &address)) return error;
    return submit_copy(plain(to, address, bytes, kind), stream);
}

cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, cudaMemcpyKind kind) {
    return cudaMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, nullptr);
}

}
