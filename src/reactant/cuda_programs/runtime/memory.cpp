// Allocations: of the device, managed, page-locked and registered. One address space; the table says what is what.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <shared_mutex>

#include "checks.h"
#include "report.h"

namespace {

using reactant::Allocation;
using reactant::Kind;

constexpr size_t large = (size_t)1 << 20;       // mapped from here on: whole pages, huge ones where the system has them
constexpr size_t huge_page = (size_t)2 << 20;
constexpr size_t gap = 4096;                    // behind small allocations of checked programs
constexpr size_t kept_at_most = (size_t)1 << 30;

struct Kept { void *memory; size_t bytes; };

struct Table {
    std::shared_mutex mutex;
    std::map<uintptr_t, Allocation> rows;
    std::vector<Kept> kept;                     // freed mappings: touching new pages costs more than a kernel
    size_t kept_bytes = 0, used = 0, made = 0;
};

// Arrays that are read at the same index do not share the sets of caches: they begin at different places of a page.
constexpr size_t room = 65536, between = 4096 + 256, places = 15;

Table &table() {
    static Table *const made = new Table;       // never destroyed: programs free memory in destructors of statics
    return *made;
}

bool of_device(Kind kind) { return kind == Kind::device || kind == Kind::managed; }

void *mapped(size_t bytes) {
    Table &t = table();
    for (size_t k = 0; k < t.kept.size(); ++k)
        if (t.kept[k].bytes == bytes) {
            void *memory = t.kept[k].memory;
            t.kept[k] = t.kept.back();
            t.kept.pop_back();
            t.kept_bytes -= bytes;
            return memory;
        }
    size_t place = t.made++ % places * between;
    bytes += room;
    size_t whole = bytes + huge_page;           // a page that nobody may touch behind it, and alignment
    char *memory = (char *)mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == (char *)MAP_FAILED) return nullptr;
    char *start = (char *)(((uintptr_t)memory + huge_page - 1) & ~(uintptr_t)(huge_page - 1));
    if (start + bytes == memory + whole) start -= huge_page / 2;
    if (mprotect(start, bytes, PROT_READ | PROT_WRITE) != 0) { munmap(memory, whole); return nullptr; }
    if (start > memory) munmap(memory, (size_t)(start - memory));
    char *end = start + bytes + 4096;           // the guard
    if (end < memory + whole) munmap(end, (size_t)(memory + whole - end));
    madvise(start, bytes, MADV_HUGEPAGE);
    return start + place;
}

void unmapped(void *memory, size_t bytes) {
    Table &t = table();
    if (t.kept_bytes + bytes <= kept_at_most) {
        t.kept.push_back({memory, bytes});
        t.kept_bytes += bytes;
    } else {
        munmap((void *)((uintptr_t)memory & ~(uintptr_t)(room - 1)), bytes + room + 4096);
    }
}

}  // namespace

namespace reactant {

cudaError_t allocate(void **memory, size_t bytes, Kind kind, unsigned flags) {
    if (!memory) return cudaErrorInvalidValue;
    *memory = nullptr;
    if (bytes == 0) return cudaSuccess;
    Timed timed(&Report::allocations, bytes);
    Table &t = table();
    std::unique_lock lock(t.mutex);
    if (bytes > memory_bytes() || t.used + bytes > memory_bytes()) {
        explain("%zu bytes were asked for, %zu are in use, the device has %zu", bytes, t.used, memory_bytes());
        return cudaErrorMemoryAllocation;
    }
    size_t size = bytes >= large && !recorder ? (bytes + 4095) & ~(size_t)4095 : 0;
    size_t whole = ((bytes + 255) & ~(size_t)255) + (checked_program ? gap : 0);
    void *found = recorder ? recorder->allocate(bytes, kind) : size ? mapped(size) : aligned_alloc(256, whole);
    if (!found) return cudaErrorMemoryAllocation;
    t.rows[(uintptr_t)found] = Allocation{(uintptr_t)found, bytes, kind, flags, size};
    t.used += bytes;
    *memory = found;
    return cudaSuccess;
}

std::atomic<uint64_t> releases{0};

cudaError_t release(void *memory, bool of_host) {
    if (!memory) return cudaSuccess;
    catch_up();
    Timed timed(&Report::releases);
    Table &t = table();
    std::unique_lock lock(t.mutex);
    auto row = t.rows.find((uintptr_t)memory);
    if (row == t.rows.end() || row->second.kind == Kind::registered || of_device(row->second.kind) == of_host) {
        explain("%p was not allocated by the function that belongs to this one, or is freed already", memory);
        return cudaErrorInvalidValue;
    }
    Allocation allocation = row->second;
    t.rows.erase(row);
    ++releases;
    t.used -= allocation.bytes;
    if (allocation.mapped) unmapped(memory, allocation.mapped);
    else if (!recorder || !recorder->release(memory)) free(memory);
    return cudaSuccess;
}

bool find(const void *address, Allocation *found) {
    Table &t = table();
    std::shared_lock lock(t.mutex);
    auto row = t.rows.upper_bound((uintptr_t)address);
    if (row == t.rows.begin()) return false;
    --row;
    if ((uintptr_t)address >= row->second.base + row->second.bytes) return false;
    *found = row->second;
    return true;
}

}  // namespace reactant

using namespace reactant;

namespace {

cudaError_t in_table(void *memory, size_t bytes, unsigned flags) {
    Table &t = table();
    std::unique_lock lock(t.mutex);
    auto after = t.rows.lower_bound((uintptr_t)memory);
    bool taken = after != t.rows.end() && after->first < (uintptr_t)memory + bytes;
    if (after != t.rows.begin()) {
        auto before = std::prev(after)->second;
        taken = taken || before.base + before.bytes > (uintptr_t)memory;
    }
    if (taken) return cudaErrorHostMemoryAlreadyRegistered;
    t.rows[(uintptr_t)memory] = Allocation{(uintptr_t)memory, bytes, Kind::registered, flags, 0};
    return cudaSuccess;
}

size_t pitch_of(size_t width) { return (width + 511) & ~(size_t)511; }

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void **memory, size_t bytes) {
    return call([&] { return allocate(memory, bytes, Kind::device); });
}

cudaError_t cudaMallocManaged(void **memory, size_t bytes, unsigned flags) {
    return call([&] {
        if (bytes == 0 || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)) return cudaErrorInvalidValue;
        return allocate(memory, bytes, Kind::managed, flags);
    });
}

cudaError_t cudaFree(void *memory) {
    return call([&] { return release(memory, false); });
}

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags) {
    return call([&] { return flags > 7 ? cudaErrorInvalidValue : allocate(memory, bytes, Kind::host, flags); });
}

cudaError_t cudaMallocHost(void **memory, size_t bytes) { return cudaHostAlloc(memory, bytes, 0); }

cudaError_t cudaFreeHost(void *memory) {
    return call([&] { return release(memory, true); });
}

cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned flags) {
    return call([&] { return !memory || !bytes ? cudaErrorInvalidValue : in_table(memory, bytes, flags); });
}

cudaError_t cudaHostUnregister(void *memory) {
    return call([&] {
        Table &t = table();
        std::unique_lock lock(t.mutex);
        auto row = t.rows.find((uintptr_t)memory);
        if (row == t.rows.end() || row->second.kind != Kind::registered) return cudaErrorHostMemoryNotRegistered;
        t.rows.erase(row);
        return cudaSuccess;
    });
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned) {
    return call([&] {
        Allocation found;
        if (!device || !find(host, &found)) return cudaErrorInvalidValue;
        *device = host;
        return cudaSuccess;
    });
}

cudaError_t cudaHostGetFlags(unsigned *flags, void *host) {
    return call([&] {
        Allocation found;
        if (!flags || !find(host, &found) || of_device(found.kind)) return cudaErrorInvalidValue;
        *flags = found.flags | cudaHostAllocMapped;
        return cudaSuccess;
    });
}

cudaError_t cudaMallocPitch(void **memory, size_t *pitch, size_t width, size_t height) {
    return call([&] {
        if (!pitch) return cudaErrorInvalidValue;
        *pitch = pitch_of(width);
        return allocate(memory, *pitch * height, Kind::device);
    });
}

cudaError_t cudaMalloc3D(cudaPitchedPtr *memory, cudaExtent extent) {
    return call([&] {
        if (!memory) return cudaErrorInvalidValue;
        *memory = cudaPitchedPtr{nullptr, pitch_of(extent.width), extent.width, extent.height};
        return allocate(&memory->ptr, memory->pitch * extent.height * extent.depth, Kind::device);
    });
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes) {
    return call([&] {
        size_t total = memory_bytes(), used;
        {
            std::shared_lock lock(table().mutex);
            used = table().used;
        }
        size_t available = (size_t)sysconf(_SC_AVPHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
        if (FILE *file = fopen("/proc/meminfo", "r")) {         // free pages alone leave out what caches give back
            char line[128];
            size_t kilobytes;
            while (fgets(line, sizeof line, file))
                if (sscanf(line, "MemAvailable: %zu", &kilobytes) == 1) available = kilobytes << 10;
            fclose(file);
        }
        if (free_bytes) *free_bytes = available < total - used ? available : total - used;
        if (total_bytes) *total_bytes = total;
        return cudaSuccess;
    });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *memory) {
    return call([&] {
        if (!attributes) return cudaErrorInvalidValue;
        Allocation found;
        ReactantSymbol symbol;
        void *same = (void *)memory;
        if (find(memory, &found)) {
            cudaMemoryType type = found.kind == Kind::device ? cudaMemoryTypeDevice
                                  : found.kind == Kind::managed ? cudaMemoryTypeManaged : cudaMemoryTypeHost;
            *attributes = cudaPointerAttributes{type, 0, same, found.kind == Kind::device ? nullptr : same};
        } else if (symbol_at(memory, &symbol)) {
            bool managed = symbol.flags & REACTANT_SYMBOL_MANAGED;
            *attributes = cudaPointerAttributes{managed ? cudaMemoryTypeManaged : cudaMemoryTypeDevice, 0, same,
                                                managed ? same : nullptr};
        } else {
            *attributes = cudaPointerAttributes{cudaMemoryTypeUnregistered, cudaInvalidDeviceId, nullptr, same};
        }
        return cudaSuccess;
    });
}

cudaError_t cudaMemAdvise(const void *memory, size_t, cudaMemoryAdvise, int) {
    return call([&] {
        Allocation found;
        return find(memory, &found) ? cudaSuccess : cudaErrorInvalidValue;
    });
}

cudaError_t cudaMemPrefetchAsync(const void *memory, size_t, int, cudaStream_t) {
    return call([&] {
        Allocation found;
        return find(memory, &found) ? cudaSuccess : cudaErrorInvalidValue;
    });
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *, size_t, unsigned) {
    return call([&] {
        bool capturing;
        return ready(stream, &capturing);
    });
}

}
