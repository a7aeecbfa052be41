// What kernels call while they run: memory, failures, text, clocks. And what keeps their faults from ending the process.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "checks.h"
#include "runtime.h"

namespace reactant { bool fail(const ReactantLaunch *launch, int error); }

using namespace reactant;

namespace {

// One call of a blocks function on this thread; calls nest where kernels launch kernels.
struct Call { sigjmp_buf leave; const ReactantLaunch *launch; Call *outer; size_t chunk, offset; };

struct Chunk { char *memory; size_t bytes; };

struct Thread {
    Call *call = nullptr;
    std::vector<Chunk> chunks;
    size_t chunk = 0, offset = 0;           // where the next scratch memory comes from
    bool has_stack = false;
};
thread_local Thread here;

constexpr size_t first_chunk = (size_t)1 << 18;

uint64_t heap_limit = (uint64_t)8 << 20;    // what CUDA's own default is; only said, not enforced below memory's size

void fault(int signal, siginfo_t *info, void *) {
    if (signal == SIGSEGV && recorder && recorder->touch(info->si_addr)) return;
    Call *call = here.call;
    if (!call) {                            // the host's own: as if there were no handler
        struct sigaction plain {};
        plain.sa_handler = SIG_DFL;
        sigaction(signal, &plain, nullptr);
        return;
    }
    int error = signal == SIGFPE || signal == SIGILL ? cudaErrorIllegalInstruction
                : signal == SIGBUS ? cudaErrorMisalignedAddress : cudaErrorIllegalAddress;
    if (fail(call->launch, error)) {
        char text[256];                     // no stdio in a signal handler but for the formatting
        int length = snprintf(text, sizeof text, "reactant: kernel %s: %s (address %p)\n", call->launch->kernel->name,
                              cudaGetErrorString((cudaError_t)error), info->si_addr);
        if (length > 0 && write(2, text, (size_t)length) < 0) return;
    }
    siglongjmp(call->leave, 1);
}

void install() {
    struct sigaction action {};
    action.sa_sigaction = fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
        struct sigaction before;
        sigaction(signal, nullptr, &before);
        if (before.sa_handler == SIG_DFL) sigaction(signal, &action, nullptr);     // a program's own handler stays
    }
}

void install_once() {
    static std::once_flag once;
    std::call_once(once, install);
}

// A stack of its own for the handler: the fault may be that a thread's stack is used up.
void give_stack() {
    install_once();
    constexpr size_t bytes = 64 << 10;
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) {
        stack_t stack{};
        stack.ss_sp = memory, stack.ss_size = bytes;
        sigaltstack(&stack, nullptr);
    }
    here.has_stack = true;
}

[[noreturn]] void leave(const ReactantLaunch *) { siglongjmp(here.call->leave, 1); }

void split(const ReactantLaunch *launch, uint64_t block, uint64_t thread, unsigned (&b)[3], unsigned (&t)[3]) {
    const uint32_t *g = launch->grid, *n = launch->block;
    b[0] = (unsigned)(block % g[0]), b[1] = (unsigned)(block / g[0] % g[1]), b[2] = (unsigned)(block / g[0] / g[1]);
    t[0] = (unsigned)(thread % n[0]), t[1] = (unsigned)(thread / n[0] % n[1]), t[2] = (unsigned)(thread / n[0] / n[1]);
}

}  // namespace

namespace reactant {
void handle_faults() { install_once(); }
}

namespace reactant {

bool inside_kernel() { return here.call != nullptr; }

void run_blocks(const ReactantLaunch *launch, void *const *arguments, uint64_t first, uint64_t last) {
    if (failed(launch)) return;
    if (!here.has_stack) give_stack();
    Call call;
    call.launch = launch, call.outer = here.call, call.chunk = here.chunk, call.offset = here.offset;
    here.call = &call;
    if (sigsetjmp(call.leave, 0) == 0) launch->kernel->blocks(launch, arguments, first, last);
    here.call = call.outer;
    here.chunk = call.chunk, here.offset = call.offset;
    if (!here.call && here.chunks.size() > 1) {         // one chunk that is large enough the next time
        size_t bytes = 0;
        for (Chunk &chunk : here.chunks) bytes += chunk.bytes, free(chunk.memory);
        here.chunks.assign(1, Chunk{(char *)aligned_alloc(64, bytes), bytes});
    }
}

}  // namespace reactant

extern "C" {

void *reactant_scratch(uint64_t bytes) {
    Thread &thread = here;
    bytes = (bytes + 63) & ~(uint64_t)63;
    for (; thread.chunk < thread.chunks.size(); ++thread.chunk, thread.offset = 0) {
        Chunk &chunk = thread.chunks[thread.chunk];
        if (thread.offset + bytes <= chunk.bytes) {
            void *memory = chunk.memory + thread.offset;
            thread.offset += bytes;
            return memory;
        }
    }
    size_t size = bytes > first_chunk ? bytes : first_chunk;
    char *memory = (char *)aligned_alloc(64, size);
    if (!memory) reactant_device_trap(thread.call->launch, 0, 0, cudaErrorLaunchOutOfResources, "no memory for its blocks");
    thread.chunks.push_back({memory, size});
    thread.chunk = thread.chunks.size() - 1, thread.offset = bytes;
    return memory;
}

void *reactant_device_malloc(uint64_t bytes) {
    if (bytes == 0 || bytes > memory_bytes()) return nullptr;
    void *memory = nullptr;
    if (checked_program) return allocate(&memory, bytes, Kind::device) == cudaSuccess ? memory : nullptr;
    return aligned_alloc(16, (bytes + 15) & ~(uint64_t)15);
}

void reactant_device_free(void *memory) {
    if (checked_program) release(memory, false);
    else free(memory);
}

int64_t reactant_device_clock(void) { return (int64_t)nanoseconds(); }
uint64_t reactant_device_nanoseconds(void) {
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void reactant_device_assert(const ReactantLaunch *launch, uint64_t block, uint64_t thread, const char *expression,
                            const char *file, unsigned line, const char *function) {
    unsigned b[3], t[3];
    split(launch, block, thread, b, t);
    fflush(stdout);
    fprintf(stderr, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n", file, line, function,
            b[0], b[1], b[2], t[0], t[1], t[2], expression);
    fail(launch, cudaErrorAssert);
    leave(launch);
}

void reactant_device_trap(const ReactantLaunch *launch, uint64_t block, uint64_t thread, int error, const char *what) {
    if (error && fail(launch, error) && what) {
        unsigned b[3], t[3];
        split(launch, block, thread, b, t);
        fprintf(stderr, "reactant: kernel %s, block [%u,%u,%u], thread [%u,%u,%u]: %s\n", launch->kernel->name, b[0],
                b[1], b[2], t[0], t[1], t[2], what);
    }
    leave(launch);
}

}

namespace {

// Where the next argument of a packed list is.
struct Packed {
    const char *start, *at;
    template <class T> T next() {
        size_t offset = ((size_t)(at - start) + sizeof(T) - 1) / sizeof(T) * sizeof(T);
        T value;
        memcpy(&value, start + offset, sizeof value);
        at = start + offset + sizeof(T);
        return value;
    }
};

struct Text {
    char fixed[1024]; std::string rest;
    size_t used = 0;
    void add(const char *from, size_t bytes) {
        if (rest.empty() && used + bytes <= sizeof fixed) { memcpy(fixed + used, from, bytes); used += bytes; return; }
        if (rest.empty()) rest.assign(fixed, used);
        rest.append(from, bytes);
    }
    template <class T> void format(const std::string &one, T value) {
        char text[512];
        int length = snprintf(text, sizeof text, one.c_str(), value);
        if (length < 0) return;
        if ((size_t)length < sizeof text) return add(text, (size_t)length);
        std::string more((size_t)length + 1, 0);
        snprintf(more.data(), more.size(), one.c_str(), value);
        add(more.data(), (size_t)length);
    }
};

}  // namespace

extern "C" int reactant_device_printf(const char *format, const void *packed) {
    Packed from{(const char *)packed, (const char *)packed};
    Text text;
    int count = 0;
    for (const char *at = format; *at;) {
        const char *percent = strchr(at, '%');
        if (!percent) { text.add(at, strlen(at)); break; }
        text.add(at, (size_t)(percent - at));
        at = percent + 1;
        if (*at == '%') { text.add("%", 1); ++at; continue; }
        std::string one = "%";
        int longs = 0;
        for (; *at && strchr("-+ #0123456789.*'", *at); ++at) {
            if (*at != '*') { one += *at; continue; }
            one += std::to_string(from.next<int>());
            ++count;
        }
        for (; *at && strchr("hlLjzt", *at); ++at) longs += *at == 'l' || *at == 'j' || *at == 'z' || *at == 't';
        char kind = *at;
        if (!kind) { text.add(one.data(), one.size()); break; }
        ++at, ++count;
        switch (kind) {
        case 'd': case 'i': case 'u': case 'o': case 'x': case 'X':
            if (longs) text.format(one + "ll" + kind, from.next<long long>());
            else if (at[-2] == 'h' && at[-3] == 'h') text.format(one + "hh" + kind, from.next<int>());
            else if (at[-2] == 'h') text.format(one + "h" + kind, from.next<int>());
            else text.format(one + kind, from.next<int>());
            break;
        case 'c': text.format(one + kind, from.next<int>()); break;
        case 'f': case 'F': case 'e': case 'E': case 'g': case 'G': case 'a': case 'A':
            text.format(one + kind, from.next<double>()); break;
        case 's': {
            const char *value = from.next<const char *>();
            text.format(one + kind, value ? value : "(null)");
            break;
        }
        case 'p': text.format(one + kind, from.next<void *>()); break;
        default: text.add(one.data(), one.size()); text.add(&kind, 1); --count;
        }
    }
    if (text.rest.empty()) fwrite(text.fixed, 1, text.used, stdout);
    else fwrite(text.rest.data(), 1, text.rest.size(), stdout);
    return count;
}

extern "C" {

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
    return call([&] {
        if (limit == cudaLimitMallocHeapSize) heap_limit = value;
        return (unsigned)limit > cudaLimitPersistingL2CacheSize ? cudaErrorUnsupportedLimit : cudaSuccess;
    });
}

cudaError_t cudaDeviceGetLimit(size_t *value, cudaLimit limit) {
    return call([&] {
        static constexpr size_t values[] = {1024, 1 << 20, 0, 2, 2048, 64, 0};
        if (!value) return cudaErrorInvalidValue;
        if ((unsigned)limit > cudaLimitPersistingL2CacheSize) return cudaErrorUnsupportedLimit;
        *value = limit == cudaLimitMallocHeapSize ? heap_limit : values[limit];
        return cudaSuccess;
    });
}

}
