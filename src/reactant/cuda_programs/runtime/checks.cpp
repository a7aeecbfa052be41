// --check: accesses outside of what there is, and misaligned ones; reports, and their number at the end.
#include "checks.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <tuple>

#include "runtime.h"

namespace reactant {

thread_local Checked now;
bool checked_program = false;

namespace {

constexpr size_t most_reports = 100;

struct Reports { std::set<std::tuple<const void *, const void *, int>> made; uint64_t count = 0, told = 0; };
Reports &reports() {
    static Reports *const made = new Reports;
    return *made;
}

void at_end(int status, void *) {
    settle();
    const Reports &r = reports();
    fflush(nullptr);
    if (r.count) fprintf(stderr, "reactant check: %" PRIu64 " error%s\n", r.count, r.count == 1 ? "" : "s");
    else fprintf(stderr, "reactant check: no errors\n");
    if (r.count && status == 0) _exit(1);
}

bool in_stack(uintptr_t address) {
    struct Bounds { uintptr_t low, high; };
    thread_local const Bounds stack = [] {
        pthread_attr_t attributes;
        void *low = nullptr;
        size_t bytes = 0;
        if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
            pthread_attr_getstack(&attributes, &low, &bytes);
            pthread_attr_destroy(&attributes);
        }
        return Bounds{(uintptr_t)low, (uintptr_t)low + bytes};
    }();
    return address >= stack.low && address < stack.high && address < now.block->stack;
}

struct Wanted { uintptr_t address; bool found, writable; };

// Constants of the program: tables of virtual functions, texts. They are in its files as they are mapped.
int in_image(dl_phdr_info *info, size_t, void *data) {
    auto &wanted = *(Wanted *)data;
    for (int k = 0; k < info->dlpi_phnum; ++k) {
        const auto &header = info->dlpi_phdr[k];
        uintptr_t start = info->dlpi_addr + header.p_vaddr;
        if (header.p_type == PT_LOAD && wanted.address >= start && wanted.address < start + header.p_memsz) {
            wanted.found = true, wanted.writable = header.p_flags & PF_W;
            return 1;
        }
    }
    return 0;
}

// Frames are of one launch: a new one begins with none.
CheckedBlock &block_of(ReactantFrame *frame) {
    thread_local std::unordered_map<ReactantFrame *, std::unique_ptr<CheckedBlock>> blocks;
    thread_local uint64_t launch = 0;
    if (frame->launch->number > launch) blocks.clear(), launch = frame->launch->number;
    auto &found = blocks[frame];
    if (!found) found.reset(new CheckedBlock);
    return *found;
}

const Object *object_at(uintptr_t address, uint64_t bytes) {
    for (const Object &each : now.block->objects)
        if (address >= each.start && address + bytes <= each.start + each.bytes) return &each;
    return nullptr;
}

std::string near(uintptr_t address) {
    char text[160];
    Allocation found;
    for (uintptr_t back : {(uintptr_t)1, (uintptr_t)64, (uintptr_t)512, (uintptr_t)4096})
        if (find((void *)(address - back), &found)) {
            snprintf(text, sizeof text, "%" PRIuPTR " bytes after the end of an allocation of %zu bytes",
                     address - (found.base + found.bytes), found.bytes);
            if (address >= found.base + found.bytes) return text;
        }
    for (uintptr_t ahead : {(uintptr_t)64, (uintptr_t)512, (uintptr_t)4096})
        if (find((void *)(address + ahead), &found) && address < found.base) {
            snprintf(text, sizeof text, "%" PRIuPTR " bytes before an allocation of %zu bytes", found.base - address,
                     found.bytes);
            return text;
        }
    if (address < 4096) return "a null pointer";
    return "in no allocation of the device: host memory, or memory that is freed";
}

[[noreturn]] void wrong(const char *what, const void *address, uint64_t bytes, int32_t how, const ReactantPlace *place,
                        cudaError_t error, const std::string &why) {
    const CheckedBlock &block = *now.block;
    const ReactantLaunch *launch = block.frame->launch;
    if (first_of(place, nullptr, error))
        fprintf(stderr, "reactant check: %s %s of %" PRIu64 " bytes%s\n    by %s\n    address %p: %s\n", what,
                how & REACTANT_ATOMIC ? "atomic operation" : how & REACTANT_WRITE ? "write" : "read", bytes,
                told(place).c_str(), thread_told(block, now.thread, block.number).c_str(), address, why.c_str());
    reactant_device_trap(launch, block.number, now.thread, error, nullptr);
}

std::string beyond(uintptr_t address, uintptr_t base, uint64_t size, const char *kind) {
    char text[160];
    auto offset = (int64_t)(address - base);
    snprintf(text, sizeof text, "byte %" PRId64 " of %s of %" PRIu64 " bytes", offset, kind, size);
    return text;
}

}  // namespace

bool first_of(const void *key, const void *other, int kind) {
    Reports &r = reports();
    if (!r.made.insert({key, other, kind}).second) return false;
    if (kind >= 0) ++r.count;
    if (++r.told == most_reports) fprintf(stderr, "reactant check: only the first %zu errors are told\n", most_reports);
    return r.told < most_reports;
}

std::string told(const ReactantPlace *place) {
    if (!place) return "";
    return std::string(" at ") + place->file + ":" + std::to_string(place->line) + " in " + place->function;
}

std::string thread_told(const CheckedBlock &block, uint32_t thread, uint64_t number) {
    const uint32_t *g = block.frame->launch->grid, *n = block.frame->launch->block;
    char text[160];
    snprintf(text, sizeof text, "thread (%u,%u,%u) of block (%u,%u,%u), kernel ", thread % n[0], thread / n[0] % n[1],
             thread / n[0] / n[1], (unsigned)(number % g[0]), (unsigned)(number / g[0] % g[1]),
             (unsigned)(number / g[0] / g[1]));
    const char *name = block.frame->launch->kernel->name;
    char *whole = abi::__cxa_demangle(name, nullptr, nullptr, nullptr);
    const std::string made = text + std::string(whole ? whole : name);
    free(whole);
    return made;
}

std::string memory_told(const void *address, Space space) {
    char text[160];
    Allocation found;
    ReactantSymbol symbol;
    if (space == Space::shared) {
        const Object *object = object_at((uintptr_t)address, 1);
        snprintf(text, sizeof text, "byte %" PRIuPTR " of shared memory of %" PRIu64 " bytes",
                 object ? (uintptr_t)address - object->start : 0, object ? object->bytes : 0);
    } else if (find(address, &found)) {
        snprintf(text, sizeof text, "byte %" PRIuPTR " of an allocation of %zu bytes", (uintptr_t)address - found.base,
                 found.bytes);
    } else if (symbol_at(address, &symbol)) {
        snprintf(text, sizeof text, "byte %" PRIuPTR " of the variable %s",
                 (uintptr_t)address - (uintptr_t)symbol.address, symbol.name);
    } else {
        snprintf(text, sizeof text, "address %p", address);
    }
    return text;
}

void check_at_end() {
    if (!checked_program) checked_program = on_exit(at_end, nullptr) == 0;
}

// The line of the program that an address belongs to; "" for those of this library and of kernels' stubs.
static std::string line_of(const void *address) {
    Dl_info info{};
    if (!dladdr(address, &info) || !info.dli_fname) return "";
    char command[512], function[512], line[512];
    snprintf(command, sizeof command, "addr2line -fi -e '%s' 0x%" PRIxPTR " 2>/dev/null", info.dli_fname,
             (uintptr_t)address - 1 - (uintptr_t)info.dli_fbase);
    std::string found;
    FILE *answer = popen(command, "r");
    while (answer && found.empty() && fgets(function, sizeof function, answer) && fgets(line, sizeof line, answer)) {
        line[strcspn(line, "\n")] = 0;
        if (char *rest = strstr(line, " (discriminator")) *rest = 0;
        if (line[0] != '?' && !strstr(line, "/cuda_programs/runtime/") && !strstr(line, "/reactant_program/") &&
            !strstr(function, "__device_stub__"))
            found = line;
    }
    if (answer) pclose(answer);
    return found;
}

// An error that a function of the API returns, with the line that called it.
void failed_call(cudaError_t error) {
    void *frames[16];
    const int count = backtrace(frames, 16);
    std::string where;
    for (int k = 1; k < count && where.empty(); ++k) where = line_of(frames[k]);
    if (!where.empty()) where = ", called at " + where;
    static std::set<std::string> texts;
    std::string text = std::string(cudaGetErrorName(error)) + " (" + cudaGetErrorString(error) + ")" + where;
    if (!texts.insert(text).second) return;
    if (first_of(texts.find(text)->c_str(), nullptr, 0)) fprintf(stderr, "reactant check: %s\n", text.c_str());
}

}  // namespace reactant

using namespace reactant;

extern "C" {

void reactant_check_thread(ReactantFrame *frame, uint32_t thread) {
    settle();
    now.block = &block_of(frame);
    now.thread = thread;
}

void reactant_check_block(ReactantFrame *frame) {
    CheckedBlock &block = block_of(frame);
    block.frame = frame, block.number = frame->block, block.threads = frame->threads;
    block.stack = (uintptr_t)__builtin_frame_address(0);
    block.objects.clear();
    const ReactantKernel &kernel = *frame->launch->kernel;
    for (uint32_t k = 0; k < kernel.parameter_count; ++k)
        block.objects.push_back({(uintptr_t)frame->arguments[k], kernel.parameters[k].size, REACTANT_LOCAL});
    begin_races(block);
}

void reactant_check_object(ReactantFrame *frame, void *memory, uint64_t bytes, int32_t flags) {
    block_of(frame).objects.push_back({(uintptr_t)memory, bytes, flags});
    if (!(flags & REACTANT_LOCAL)) forget_shared((uintptr_t)memory, bytes);
}

void reactant_check_access(const void *pointer, uint64_t bytes, int32_t how, const void *base, uint64_t size,
                           const ReactantPlace *place) {
    settle();
    if (bytes == 0 || !now.block) return;
    const auto address = (uintptr_t)pointer;
    const uint64_t align = (uint64_t)how / REACTANT_ALIGNED;
    const bool races = now.block->frame->launch->kernel->flags & REACTANT_KERNEL_RACES;
    if (how & REACTANT_DYNAMIC) size = now.block->frame->launch->dynamic_shared;
    if (base && (address < (uintptr_t)base || address + bytes > (uintptr_t)base + size))
        wrong("invalid", pointer, bytes, how, place, cudaErrorIllegalAddress,
              beyond(address, (uintptr_t)base, size, how & REACTANT_LOCAL ? "a local array"
                     : how & REACTANT_DYNAMIC ? "dynamic shared memory" : "a variable"));
    if (align > 1 && address % align)
        wrong("misaligned", pointer, bytes, how, place, cudaErrorMisalignedAddress,
              "no multiple of " + std::to_string(align));
    if (how & REACTANT_LOCAL) return;
    if (const Object *object = object_at(address, bytes)) {
        if (!(object->flags & REACTANT_LOCAL)) saw(pointer, bytes, how, Space::shared, place, races);
        return;
    }
    if (base) return saw(pointer, bytes, how, Space::global, place, races);
    thread_local Allocation last{};
    thread_local uint64_t last_of = 0;
    if (last_of != releases.load(std::memory_order_relaxed)) last = Allocation{}, last_of = releases;
    if (address < last.base || address + bytes > last.base + last.bytes) {
        Allocation found;
        if (find(pointer, &found)) {
            if (address + bytes > found.base + found.bytes)
                wrong("invalid", pointer, bytes, how, place, cudaErrorIllegalAddress,
                      beyond(address, found.base, found.bytes, "an allocation"));
            last = found;
        } else {
            ReactantSymbol symbol;
            if (in_stack(address)) return;
            Wanted wanted{address, false, false};
            if (symbol_at(pointer, &symbol)) wanted.found = wanted.writable = true;
            else dl_iterate_phdr(in_image, &wanted);
            if (!wanted.found || (how & REACTANT_WRITE && !wanted.writable))
                wrong("invalid", pointer, bytes, how, place, cudaErrorIllegalAddress, near(address));
        }
    }
    saw(pointer, bytes, how, Space::global, place, races);
}

}
