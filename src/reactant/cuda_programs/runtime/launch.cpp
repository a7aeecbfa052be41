// Launches: what may be launched, on how many threads, and what comes of it.
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "checks.h"
#include "launching.h"
#include "report.h"
#include "tuning.h"

using namespace reactant;

namespace {

constexpr unsigned most_threads = 1024, most_block_z = 64, most_grid_y = 65535;
constexpr size_t shared_limit = 49152, shared_opt_in = 166912, shared_of_processor = 167936;

struct Configuration { dim3 grid, block; size_t shared; cudaStream_t stream; const void *site; };
thread_local std::vector<Configuration> pushed;
thread_local double work_of_next = 0;           // nanoseconds of the thread's next launch, where it has said so
thread_local const void *site_of_popped = nullptr;

std::atomic<uint64_t> launches{0};

State &state_of(const ReactantLaunch *launch) { return *(State *)launch->runtime; }

struct Blocks { const ReactantLaunch *launch; void *const *arguments; };

void part(void *context, uint64_t first, uint64_t last) {
    auto &blocks = *(Blocks *)context;
    run_blocks(blocks.launch, blocks.arguments, first, last);
}

// Blocks, and the nanoseconds that ranges of them took: without those until threads wake and have ended.
struct Measured { Blocks &blocks; std::atomic<uint64_t> spent{0}; };

void measured_part(void *context, uint64_t first, uint64_t last) {
    auto &measured = *(Measured *)context;
    uint64_t start = nanoseconds();
    part(&measured.blocks, first, last);
    measured.spent.fetch_add(nanoseconds() - start, std::memory_order_relaxed);
}

void run_measured(Function &function, const ReactantKernel &kernel, Blocks &blocks, uint64_t threads, double work) {
    const uint64_t count = blocks.launch->blocks;
    Measured measured{blocks};
    uint64_t done = 0;
    double cost = function.cost.load(std::memory_order_relaxed);
    if (cost == 0 && kernel.work) cost = kernel.work / 100.0;
    if (cost == 0) {                            // the first two blocks tell: the first one's pages were not there
        measured_part(&measured, 0, done = 1);
        uint64_t each = measured.spent.load(std::memory_order_relaxed);
        if (count > 1) {
            measured_part(&measured, 1, done = 2);
            each = std::min(each, measured.spent.load(std::memory_order_relaxed) - each);
        }
        cost = (double)each * (double)count / (double)threads;
    }
    if (work <= 0) work = cost * (double)threads;
    const Schedule said = schedule();
    const bool alone = said == Schedule::alone || (said == Schedule::usual && work < 2 * wake_cost) ||
                       processors() == 1 || count - done <= 1 || inside_parallel();
    if (alone) {
        if (done < count) measured_part(&measured, done, count);
    } else {
        uint64_t grain = grain_of(work, count);
        if (said == Schedule::fine) grain = 1;
        if (said == Schedule::coarse) grain = (count + (unsigned)processors() - 1) / (unsigned)processors();
        struct Rest { Measured &measured; uint64_t first; } rest{measured, done};
        const uint64_t before = measured.spent.load(std::memory_order_relaxed);
        const Woken woken;
        parallel(count - done, grain, [](void *context, uint64_t first, uint64_t last) {
            auto &rest = *(Rest *)context;
            measured_part(&rest.measured, rest.first + first, rest.first + last);
        }, &rest);
        woken.over(measured.spent.load(std::memory_order_relaxed) - before);
    }
    if (function.cost.load(std::memory_order_relaxed) == 0) function.cost.store(cost, std::memory_order_relaxed);
    learn(function, (double)measured.spent.load(std::memory_order_relaxed) / (double)threads);
}

void run_with_grid_barrier(Blocks &blocks, State &state) {
    uint64_t count = blocks.launch->blocks;
    unsigned parts = inside_parallel() ? 1 : (unsigned)processors();
    if (parts > count) parts = (unsigned)count;
    state.barrier.parts = parts;
    together(count, parts, part, &blocks);
}

// One after the other, so that what threads do is in one order; those that meet in the grid are under way at once.
void run_checked(const ReactantKernel &kernel, Blocks &blocks) {
    const bool at_once = kernel.flags & REACTANT_KERNEL_GRID_BARRIER;
    const uint64_t step = at_once ? blocks.launch->blocks : 1;
    for (uint64_t k = 0; k < blocks.launch->blocks && !failed(blocks.launch); k += step) {
        part(&blocks, k, k + step);
        end_of_block();
    }
}

}  // namespace

namespace reactant {

bool failed(const ReactantLaunch *launch) { return state_of(launch).error.load(std::memory_order_relaxed) != 0; }

cudaError_t end_of(const ReactantLaunch *launch) { return (cudaError_t)state_of(launch).error.load(); }

cudaError_t check(const Launch &launch) {
    const ReactantKernel *kernel = launch.function ? kernel_of(*launch.function) : nullptr;
    if (!kernel) {
        explain("there is no kernel%s%s in this program", launch.function ? " " : "",
                launch.function ? launch.function->name.c_str() : "");
        return cudaErrorInvalidDeviceFunction;
    }
    const dim3 &g = launch.grid, &b = launch.block;
    const char *name = kernel->name;
    uint64_t threads = (uint64_t)b.x * b.y * b.z;
    if (!g.x || !g.y || !g.z || g.x > 0x7fffffffu || g.y > most_grid_y || g.z > most_grid_y) {
        explain("%s: a grid of %u x %u x %u blocks; it has 1 to 2147483647, 65535 and 65535", name, g.x, g.y, g.z);
        return cudaErrorInvalidConfiguration;
    }
    if (!threads || b.x > most_threads || b.y > most_threads || b.z > most_block_z || threads > most_threads) {
        explain("%s: a block of %u x %u x %u threads; it has 1 to 1024, at most 64 in z", name, b.x, b.y, b.z);
        return cudaErrorInvalidConfiguration;
    }
    if (kernel->max_threads && threads > kernel->max_threads) {
        explain("%s: %llu threads a block; __launch_bounds__ says %u", name, (unsigned long long)threads,
                kernel->max_threads);
        return cudaErrorLaunchOutOfResources;
    }
    size_t most = (size_t)launch.function->max_dynamic_shared.load(std::memory_order_relaxed);
    size_t room = most > shared_limit ? shared_opt_in : shared_limit;
    if (launch.shared > most || launch.shared + kernel->static_shared > room) {
        explain("%s: %zu bytes of dynamic and %llu of static shared memory; there are %zu%s", name, launch.shared,
                (unsigned long long)kernel->static_shared, room,
                most > shared_limit ? "" : " (cudaFuncSetAttribute allows more)");
        return cudaErrorInvalidValue;
    }
    if (launch.cooperative) {
        uint64_t resident = blocks_per_processor(*launch.function, (int)threads, launch.shared) * (uint64_t)processors();
        uint64_t blocks = (uint64_t)g.x * g.y * g.z;
        if (blocks > resident) {
            explain("%s: %llu blocks meet at barriers of the grid, %llu fit at a time", name,
                    (unsigned long long)blocks, (unsigned long long)resident);
            return cudaErrorCooperativeLaunchTooLarge;
        }
    }
    return cudaSuccess;
}

uint64_t number_of_next_launch() { return launches.fetch_add(1, std::memory_order_relaxed) + 1; }

ReactantLaunch described(const Launch &launch, uint64_t number, State *state) {
    ReactantLaunch made{};
    made.version = REACTANT_ABI_VERSION;
    made.flags = launch.cooperative ? REACTANT_LAUNCH_COOPERATIVE : 0;
    made.grid[0] = launch.grid.x, made.grid[1] = launch.grid.y, made.grid[2] = launch.grid.z;
    made.block[0] = launch.block.x, made.block[1] = launch.block.y, made.block[2] = launch.block.z;
    made.dynamic_shared = launch.shared;
    made.blocks = (uint64_t)launch.grid.x * launch.grid.y * launch.grid.z;
    made.number = number;
    made.kernel = kernel_of(*launch.function);
    made.runtime = state;
    return made;
}

// How many blocks a CPU thread takes at a time: enough work for what taking them costs, few enough that all threads get
// as much.
uint64_t grain_of(double work, uint64_t count) {
    double each = work / (double)count;
    uint64_t grain = each >= range_cost ? 1 : (uint64_t)std::ceil(range_cost / each);
    uint64_t most = (count + 2 * (unsigned)processors() - 1) / (2 * (unsigned)processors());
    return grain < most ? grain : most < 1 ? 1 : most;
}

// The lesser of two launches: one that was interrupted must not make the next ones wake threads for nothing.
void learn(Function &function, double taken) {
    const double last = function.last.exchange(taken, std::memory_order_relaxed);
    if (last > 0) function.cost.store(std::min(taken, last), std::memory_order_relaxed);
}

cudaError_t run(const Launch &launch, void *const *arguments, double work) {
    if (recorder && !inside_kernel() && recorder->launch(launch, arguments)) return cudaSuccess;
    return run_numbered(launch, arguments, number_of_next_launch(), work);
}

cudaError_t run_or_keep(const Launch &launch, void *const *arguments, double work) {
    if (!inside_kernel() && kept(launch, arguments, work)) return cudaSuccess;
    catch_up();
    return run(launch, arguments, work);
}

cudaError_t run_numbered(const Launch &launch, void *const *arguments, uint64_t number, double work) {
    Timed timed(&Report::launches);
    State state;
    ReactantLaunch made = described(launch, number, &state);
    const ReactantKernel &kernel = *made.kernel;
    Blocks blocks{&made, arguments};
    uint64_t threads = made.blocks * launch.block.x * launch.block.y * launch.block.z;
    if (kernel.flags & REACTANT_KERNEL_CHECKED) run_checked(kernel, blocks);
    else if (kernel.flags & REACTANT_KERNEL_GRID_BARRIER) run_with_grid_barrier(blocks, state);
    else if (kernel.flags & REACTANT_KERNEL_SPINS) parallel(made.blocks, 1, part, &blocks);
    else if (kernel.version_count) tuned(made, arguments, threads, [&] { run_measured(*launch.function, kernel, blocks, threads, work); });
    else run_measured(*launch.function, kernel, blocks, threads, work);
    cudaError_t error = end_of(&made);
    if (error != cudaSuccess) break_context(error);
    return error;
}

// Threads, blocks and shared memory that a processor holds at a time, as for the device that is described.
size_t blocks_per_processor(Function &function, int block, size_t shared) {
    const ReactantKernel *kernel = kernel_of(function);
    if (!kernel || block < 1 || block > (int)most_threads) return 0;
    if (kernel->max_threads && block > (int)kernel->max_threads) return 0;
    size_t threads = ((size_t)block + 31) / 32 * 32, blocks = 2048 / threads;
    size_t registers = kernel->registers ? kernel->registers : 32;
    if (registers * threads * blocks > 65536) blocks = 65536 / (registers * threads);
    size_t bytes = kernel->static_shared + shared;
    if (bytes) {
        size_t rounded = (bytes + 1024 + 127) & ~(size_t)127;       // each block has 1024 bytes of the system's own
        if (rounded > shared_of_processor) return 0;
        if (shared_of_processor / rounded < blocks) blocks = shared_of_processor / rounded;
    }
    return blocks < 32 ? blocks : 32;
}

}  // namespace reactant

namespace reactant {
cudaError_t launch(const Launch &launch, void *const *arguments, cudaStream_t stream) {
    return call_beside([&]() -> cudaError_t {
        if (cudaError_t error = check(launch)) return error;
        bool capturing = false;
        if (cudaError_t error = ready(stream, &capturing, false)) return error;
        const double work = work_of_next;
        work_of_next = 0;
        if (!capturing) {
            run_or_keep(launch, arguments, work);       // what the kernel fails of is said by the next call, as CUDA does
            return cudaSuccess;
        }
        Node node;
        node.type = cudaGraphNodeTypeKernel;
        node.launch = launch;
        node.keep_arguments(arguments);
        return submit(stream, std::move(node));
    });
}
}  // namespace reactant

namespace {

cudaError_t launch_kernel(const void *stub, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream,
                          bool cooperative, const void *caller) {
    const void *site = site_of_popped ? site_of_popped : caller;       // <<<>>> calls by a function of its own
    site_of_popped = nullptr;
    return launch(Launch{function_of(stub), grid, block, shared, cooperative, site}, arguments, stream);
}

}  // namespace

extern "C" {

// Thrust's and CUB's kernels whose threads go through tiles know how long they take.
void reactant_work_of_next_launch(double nanoseconds) { work_of_next = nanoseconds; }

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream_st *stream) {
    pushed.push_back({grid, block, shared, stream, __builtin_return_address(0)});
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
    if (pushed.empty()) return report(cudaErrorMissingConfiguration);
    Configuration top = pushed.back();
    pushed.pop_back();
    site_of_popped = top.site;
    *grid = top.grid, *block = top.block, *shared = top.shared, *(cudaStream_t *)stream = top.stream;
    return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void *stub, dim3 grid, dim3 block, void **arguments, size_t shared,
                             cudaStream_t stream) {
    return launch_kernel(stub, grid, block, arguments, shared, stream, false, __builtin_return_address(0));
}

cudaError_t cudaLaunchCooperativeKernel(const void *stub, dim3 grid, dim3 block, void **arguments, size_t shared,
                                        cudaStream_t stream) {
    return launch_kernel(stub, grid, block, arguments, shared, stream, true, __builtin_return_address(0));
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *stub, void **arguments) {
    if (!config) return report(cudaErrorInvalidValue);
    bool cooperative = false;
    for (unsigned k = 0; k < config->numAttrs; ++k) {
        const cudaLaunchAttribute &attribute = config->attrs[k];
        if (attribute.id == cudaLaunchAttributeCooperative) cooperative = attribute.val.cooperative != 0;
        else if (attribute.id == cudaLaunchAttributeClusterDimension && attribute.val.clusterDim.x *
                 attribute.val.clusterDim.y * attribute.val.clusterDim.z > 1) {
            explain("clusters of blocks are not there: launch without cudaLaunchAttributeClusterDimension");
            return report(cudaErrorNotSupported);
        }
    }
    return launch_kernel(stub, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes, config->stream,
                         cooperative, __builtin_return_address(0));
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *stub) {
    return call([&] {
        Function *function = function_of(stub);
        const ReactantKernel *kernel = function ? kernel_of(*function) : nullptr;
        if (!attributes) return cudaErrorInvalidValue;
        if (!kernel) return cudaErrorInvalidDeviceFunction;
        *attributes = cudaFuncAttributes{};
        attributes->sharedSizeBytes = kernel->static_shared;
        attributes->localSizeBytes = kernel->local_bytes;
        attributes->maxThreadsPerBlock = kernel->max_threads ? (int)kernel->max_threads : (int)most_threads;
        attributes->numRegs = kernel->registers ? (int)kernel->registers : 32;
        attributes->ptxVersion = attributes->binaryVersion = 80;
        attributes->maxDynamicSharedSizeBytes = function->max_dynamic_shared - (int)kernel->static_shared;
        if (function->max_dynamic_shared > (int)shared_limit)
            attributes->maxDynamicSharedSizeBytes = function->max_dynamic_shared;
        attributes->preferredShmemCarveout = function->carveout;
        return cudaSuccess;
    });
}

cudaError_t cudaFuncSetAttribute(const void *stub, cudaFuncAttribute attribute, int value) {
    return call([&] {
        Function *function = function_of(stub);
        const ReactantKernel *kernel = function ? kernel_of(*function) : nullptr;
        if (!kernel) return cudaErrorInvalidDeviceFunction;
        if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
            if (value < 0 || (size_t)value + kernel->static_shared > shared_opt_in) return cudaErrorInvalidValue;
            function->max_dynamic_shared = value > (int)shared_limit ? value : (int)shared_limit;
        } else if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) {
            if (value < -1 || value > 100) return cudaErrorInvalidValue;
            function->carveout = value;
        } else {
            return cudaErrorInvalidValue;
        }
        return cudaSuccess;
    });
}

cudaError_t cudaFuncSetCacheConfig(const void *stub, cudaFuncCache) {
    return call([&] { return function_of(stub) ? cudaSuccess : cudaErrorInvalidDeviceFunction; });
}

cudaError_t cudaFuncSetSharedMemConfig(const void *stub, cudaSharedMemConfig) {
    return call([&] { return function_of(stub) ? cudaSuccess : cudaErrorInvalidDeviceFunction; });
}

cudaError_t cudaFuncGetName(const char **name, const void *stub) {
    return call([&] {
        Function *function = function_of(stub);
        if (!name) return cudaErrorInvalidValue;
        if (!function) return cudaErrorInvalidDeviceFunction;
        *name = function->name.c_str();
        return cudaSuccess;
    });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *stub, int block, size_t shared) {
    return call([&] {
        Function *function = function_of(stub);
        if (!blocks || block <= 0) return cudaErrorInvalidValue;
        if (!function || !kernel_of(*function)) return cudaErrorInvalidDeviceFunction;
        *blocks = (int)blocks_per_processor(*function, block, shared);
        return cudaSuccess;
    });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *stub, int block,
                                                                   size_t shared, unsigned) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, stub, block, shared);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *stub, int blocks, int block) {
    return call([&] {
        Function *function = function_of(stub);
        const ReactantKernel *kernel = function ? kernel_of(*function) : nullptr;
        if (!bytes || blocks <= 0 || block <= 0) return cudaErrorInvalidValue;
        if (!kernel) return cudaErrorInvalidDeviceFunction;
        size_t each = shared_of_processor / (size_t)blocks, taken = 1024 + kernel->static_shared;
        *bytes = each > taken ? each - taken : 0;
        size_t most = (size_t)function->max_dynamic_shared;
        if (*bytes > most) *bytes = most;
        return cudaSuccess;
    });
}

// All calls of the launch arrive; a failing one (an assertion, a trap) lets the others go on, and they end as well.
void reactant_grid_wait(const ReactantLaunch *launch) {
    GridBarrier &barrier = state_of(launch).barrier;
    unsigned round = barrier.round.load(std::memory_order_acquire);
    if (barrier.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == barrier.parts) {
        barrier.arrived.store(0, std::memory_order_relaxed);
        if (launch->kernel->flags & REACTANT_KERNEL_CHECKED) grid_meets();
        barrier.round.fetch_add(1, std::memory_order_release);
        return;
    }
    for (unsigned spins = 0; barrier.round.load(std::memory_order_acquire) == round; ++spins) {
        if (failed(launch)) reactant_device_trap(launch, 0, 0, 0, nullptr);
        if (spins > 1000) sched_yield();
        else __builtin_ia32_pause();
    }
}

}

// The first failure of a launch is the one that counts.
namespace reactant {
bool fail(const ReactantLaunch *launch, int error) {
    int none = 0;
    return state_of(launch).error.compare_exchange_strong(none, error);
}
}
