// What the files of the runtime share.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "reactant_launch.h"
#include "reactant_program/api.h"

namespace reactant {

// ---- errors ----

cudaError_t report(cudaError_t error);          // remembered as the thread's last one; returned
void break_context(cudaError_t error);          // sticky: every later call returns it
cudaError_t broken();
// With REACTANT_CUDA_CHECK=1: why the call that follows fails, on standard error.
void explain(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool checking();

// Runs the launches that wait (joining.cpp): before anything that could see that they have not been run.
extern std::atomic<size_t> kept_launches;
void run_what_waits();
inline void catch_up() { if (kept_launches.load(std::memory_order_acquire)) run_what_waits(); }

// An API function that does not look at what launches wrote, or catches_up where it does.
template <class Body> cudaError_t call_beside(Body body) {
    if (cudaError_t error = broken()) return error;
    return report(body());
}

// An API function: nothing happens in a broken context; what the body returns is remembered.
template <class Body> cudaError_t call(Body body) {
    catch_up();
    return call_beside(body);
}

// ---- the machine ----

int processors();                   // CPU threads that run blocks
int clock_khz();
int cache_bytes();
size_t memory_bytes();
uint64_t nanoseconds();

// ---- threads ----

using Part = void (*)(void *context, uint64_t first, uint64_t last);
// `items` in ranges of about `grain` items, on the pool's threads and this one; returns when all are done.
void parallel(uint64_t items, uint64_t grain, Part part, void *context);
// Exactly `parts` ranges, one a thread, all at the same time. parts <= processors().
void together(uint64_t items, unsigned parts, Part part, void *context);
bool inside_parallel();

// ---- memory ----

enum class Kind { device, managed, host, registered };
struct Allocation { uintptr_t base; size_t bytes; Kind kind; unsigned flags; size_t mapped; };
cudaError_t allocate(void **memory, size_t bytes, Kind kind, unsigned flags = 0);
cudaError_t release(void *memory, bool of_host);
bool find(const void *address, Allocation *found);
extern std::atomic<uint64_t> releases;           // of allocations, so far

// Bytes that a copy or a memset covers: rows of `width` bytes, `pitch` apart, in slices `slice` apart.
struct Copy {
    void *to; size_t to_pitch, to_slice;
    const void *from; size_t from_pitch, from_slice;
    size_t width, height, depth;
    cudaMemcpyKind kind;
};
struct Fill { void *to; size_t pitch, slice; uint32_t value; unsigned element; size_t width, height, depth; };
cudaError_t check(const Copy &copy);
cudaError_t check(const Fill &fill);
void run(const Copy &copy);
void run(const Fill &fill);
cudaError_t submit_fill(const Fill &fill, cudaStream_t stream);     // as an API function
cudaError_t make_copy(const cudaMemcpy3DParms &parameters, Copy *copy);

// ---- arrays ----

size_t element_bytes(const cudaChannelFormatDesc &format);

// ---- symbols and kernels ----

struct Function {
    const void *stub; std::string name; const char *identity;
    std::atomic<const ReactantKernel *> kernel{nullptr};
    std::atomic<int> max_dynamic_shared{49152}; std::atomic<int> carveout{-1};
    std::atomic<double> cost{0};                // measured: nanoseconds of one thread; 0: not run yet
    std::atomic<double> last{0};                // of the last launch alone
};
Function *function_of(const void *stub);        // nullptr: no such kernel in the program
const ReactantKernel *kernel_of(Function &function);
Function *function_named(const char *kernel);
Function *function_of_row(const ReactantKernel *kernel);      // of a kernel that device code launches
const ReactantSymbol *symbol_of(const void *shadow);
bool symbol_at(const void *address, ReactantSymbol *found);
// Modules that constructors of this thread register while `listed` is set are written there, too.
void list_modules(std::vector<const ReactantModule *> *listed);
void forget(const ReactantModule *module);
std::string tuned_modules();                    // what tells programs apart whose kernels have versions

// ---- launches ----

struct Launch {
    Function *function; dim3 grid, block; size_t shared; bool cooperative;
    const void *site = nullptr;                 // the host's instruction behind it
};
cudaError_t check(const Launch &launch);
cudaError_t run(const Launch &launch, void *const *arguments, double work = 0);      // work: nanoseconds, where they are known
cudaError_t run_numbered(const Launch &launch, void *const *arguments, uint64_t number, double work);
cudaError_t run_or_keep(const Launch &launch, void *const *arguments, double work = 0);
cudaError_t launch(const Launch &launch, void *const *arguments, cudaStream_t stream);      // as an API function
size_t blocks_per_processor(Function &function, int block, size_t shared);
// The blocks of a launch on this thread, with what it fails of caught.
void run_blocks(const ReactantLaunch *launch, void *const *arguments, uint64_t first, uint64_t last);
bool failed(const ReactantLaunch *launch);
cudaError_t end_of(const ReactantLaunch *launch);   // what the launch failed of
bool inside_kernel();

// ---- programs that Python runs ----

// Does, or writes down to be done, what the runtime would do itself (recording.cpp); each says whether it took it.
struct Recorder {
    void *(*allocate)(size_t bytes, Kind kind);
    bool (*release)(void *memory);
    bool (*launch)(const Launch &launch, void *const *arguments);
    bool (*copy)(const Copy &copy);
    bool (*fill)(const Fill &fill);
    void (*look)();                             // the host may look at what the device wrote
    bool (*touch)(const void *address);         // an access of the host failed: it may be tried again
};
void handle_faults();                           // of kernels, and of what the recorder keeps closed
extern const Recorder *recorder;                // nullptr: an ordinary program
inline void look() { catch_up(); if (recorder) recorder->look(); }

// ---- streams and graphs ----

// What a stream captures: the graph, and the stream that it began in.
struct Capture {
    std::shared_ptr<CUgraph_st> graph; CUstream_st *origin; unsigned long long number; bool invalid = false;
    std::vector<CUstream_st *> joined;          // other streams that came in through events
};

// Functions of the host that a stream runs, in order, on a thread of their own.
class HostFunctions;

struct Node {
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    std::vector<Node *> after;
    CUgraph_st *graph = nullptr;
    Launch launch{}; std::vector<char> values; std::vector<void *> arguments;
    Copy copy{}; Fill fill{};
    cudaHostFn_t host = nullptr; void *data = nullptr;
    std::shared_ptr<CUgraph_st> child; cudaEvent_t event = nullptr;
    void keep_arguments(void *const *given);
    cudaError_t execute(cudaStream_t stream) const;
};
// Runs an operation in the stream's order, or adds it to the graph that the stream captures.
cudaError_t submit(cudaStream_t stream, Node &&node);
// Is there such a stream, and does it capture? Where it does not, waits for what has to be done before its next operation.
cudaError_t ready(cudaStream_t stream, bool *capturing, bool catches_up = true);
CUstream_st *stream_of(cudaStream_t handle);        // nullptr: there is none
void wait_for_all();
// The nodes in an order that respects their edges; false where there is a cycle.
bool in_order(const CUgraph_st &graph, std::vector<const Node *> *order);
cudaError_t record(cudaEvent_t event, CUstream_st &stream);

}  // namespace reactant

struct CUstream_st {
    unsigned flags = 0; int priority = 0; unsigned long long number = 0;
    std::shared_ptr<reactant::Capture> capture;
    std::vector<reactant::Node *> tail;         // what the next captured operation comes after
    std::shared_ptr<reactant::HostFunctions> host_functions;
};

struct CUevent_st {
    unsigned flags = 0; bool recorded = false; uint64_t time = 0;
    std::shared_ptr<reactant::Capture> capture;
    std::vector<reactant::Node *> tail;
    std::shared_ptr<reactant::HostFunctions> after; uint64_t position = 0;     // host functions it was recorded after
};

struct CUgraph_st {
    std::vector<std::unique_ptr<reactant::Node>> nodes;     // in an order that respects `after`, unless edges were added
};

struct cudaArray {
    cudaChannelFormatDesc format; cudaExtent extent; unsigned flags;
    char *data; size_t element, pitch, slice, rows, slices; bool owner;
};

struct cudaMipmappedArray { std::vector<cudaArray *> levels; };
