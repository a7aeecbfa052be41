// Launches that are joined: one waits until it is looked at, and those that follow on as many blocks are run with it,
// range by range of blocks, where no block of the one accesses what another block of the other writes (or writes what
// it reads). Data is then still in the cache, and threads wake once.
//
// A launch waits if its kernel tells what each block accesses (device/reach.py) and all of that is the device's own
// memory, which the host may look at by calls of this runtime alone: they all settle what waits, but for those that
// only launch, ask for errors, or set memory that is not touched.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

#include "launching.h"
#include "report.h"

namespace reactant {

namespace {

constexpr size_t most_kept = 16, most_known = 4;
constexpr unsigned most_missed = 16, try_again = 64;
constexpr double least_work = 4000;             // nanoseconds: to keep less takes longer than what it saves
constexpr double least_turn = 8000;             // of a range, in each of them
constexpr uint64_t range_bytes = 256 << 10;     // that all of them access before the next range: a part of a cache

struct Region { uintptr_t base, end; };

// What a launch with these arguments accesses.
struct Reach {
    const ReactantKernel *kernel = nullptr;
    dim3 grid, block;
    size_t shared = 0;
    uint64_t released = 0;                      // allocations that were gone when it was found out
    std::vector<char> values;
    std::vector<ReactantAccess> accesses;
    std::vector<Region> regions;                // the allocation or variable of each access
};

struct Known { Reach reaches[most_known]; unsigned next = 0, missed = 0, skipped = 0; };

struct Kept {
    Launch launch{};
    const Reach *reach = nullptr;
    std::unique_ptr<Reach> own;                 // of a reach whose place is needed before the launch is run
    std::vector<char> values;
    std::vector<void *> arguments;
    uint64_t number = 0;
    double work = 0;
};

struct Joining {
    std::mutex mutex;
    std::unordered_map<const Function *, Known> known;
    Kept kept[most_kept];
};

Joining &joining() {
    static Joining *const made = new Joining;
    return *made;
}

bool one_dimension(const dim3 &grid) { return grid.y == 1 && grid.z == 1; }

int64_t first(const ReactantAccess &x, int64_t block) { return (int64_t)x.address + x.low + block * x.step; }
int64_t last(const ReactantAccess &x, int64_t block) { return (int64_t)x.address + x.high + block * x.step; }

// From the first byte that any of so many blocks accesses until behind the last one, without what a period adds.
std::pair<int64_t, int64_t> bytes_of(const ReactantAccess &x, int64_t blocks) {
    return {std::min(first(x, 0), first(x, blocks - 1)), std::max(last(x, 0), last(x, blocks - 1))};
}

// Whether each block's bytes of the one are apart from those of all other blocks of the other. `n`: blocks.
bool apart(const ReactantAccess &a, const ReactantAccess &b, int64_t n) {
    auto [a_first, a_last] = bytes_of(a, n);
    auto [b_first, b_last] = bytes_of(b, n);
    const int64_t period = (int64_t)(a.period ? a.period : b.period);
    if (!period && (a_last <= b_first || b_last <= a_first)) return true;
    if (a.step != b.step || a.step <= 0) return false;
    int64_t shift = 0;
    if (period) {
        if (a.period && b.period && a.period != b.period) return false;
        if (period < 0 || a_last - a_first > period || b_last - b_first > period) return false;
        shift = (a_first - b_first) / period * period;         // the copy of b's that is nearest to a's
        if (a_first - b_first - shift > period / 2) shift += period;
        if (a_first - b_first - shift < -period / 2) shift -= period;
        if (a_last > b_first + shift + period || b_last + shift > a_first + period) return false;
    }
    return last(a, 0) <= first(b, 1) + shift && last(b, 0) + shift <= first(a, 1);
}

bool may_join(const Kept &one, const Reach &other, const Launch &launch) {
    const dim3 &g = one.launch.grid, &h = launch.grid;
    if (g.x != h.x || g.y != h.y || g.z != h.z) return false;
    const Reach &a = *one.reach;
    for (size_t i = 0; i < a.accesses.size(); ++i)
        for (size_t k = 0; k < other.accesses.size(); ++k) {
            const ReactantAccess &x = a.accesses[i], &y = other.accesses[k];
            if (!((x.flags | y.flags) & REACTANT_ACCESS_WRITES)) continue;
            if (a.regions[i].end <= other.regions[k].base || other.regions[k].end <= a.regions[i].base) continue;
            if ((x.flags | y.flags) & REACTANT_ACCESS_ANYWHERE || !one_dimension(g)) return false;
            if (!apart(x, y, g.x)) return false;
        }
    return true;
}

// The allocation of the device, or its variable, that an address is in.
bool region_of(uint64_t address, Region *region) {
    Allocation allocation;
    if (find((const void *)address, &allocation)) {
        *region = {allocation.base, allocation.base + allocation.bytes};
        return allocation.kind == Kind::device;         // others the host may look at without asking
    }
    ReactantSymbol symbol;
    if (!symbol_at((const void *)address, &symbol) || symbol.flags & REACTANT_SYMBOL_MANAGED) return false;
    *region = {(uintptr_t)symbol.address, (uintptr_t)symbol.address + symbol.size};
    return true;
}

// An address within an allocation may have been computed from another one's (x - first, to count from first): it is
// not trusted for more than is known to be accessed.
bool reach_of(Reach &reach, const Launch &launch, void *const *arguments) {
    const ReactantLaunch made = described(launch, 0, nullptr);
    const ReactantKernel &kernel = *made.kernel;
    reach.kernel = nullptr;
    reach.accesses.resize(kernel.access_count);
    reach.accesses.resize(kernel.reach(&made, arguments, reach.accesses.data()));
    const auto none = [](const ReactantAccess &a) { return a.root == 0; };
    reach.accesses.erase(std::remove_if(reach.accesses.begin(), reach.accesses.end(), none), reach.accesses.end());
    reach.regions.resize(reach.accesses.size());
    for (size_t k = 0; k < reach.accesses.size(); ++k) {
        const ReactantAccess &access = reach.accesses[k];
        Region &region = reach.regions[k];
        if (!region_of(access.root, &region)) return false;
        if (access.root == region.base) continue;
        if (access.flags & REACTANT_ACCESS_ANYWHERE || access.period) {
            region = {0, UINTPTR_MAX};
        } else {
            const auto [first, last] = bytes_of(access, (int64_t)made.blocks);
            region = {std::min(region.base, (uintptr_t)first), std::max(region.end, (uintptr_t)last)};
        }
    }
    return true;
}

void copy_values(std::vector<char> &values, const ReactantKernel &kernel, void *const *arguments) {
    size_t bytes = 0;
    for (uint32_t k = 0; k < kernel.parameter_count; ++k)
        bytes = std::max<size_t>(bytes, kernel.parameters[k].offset + kernel.parameters[k].size);
    values.assign(bytes, 0);
    for (uint32_t k = 0; k < kernel.parameter_count; ++k)
        memcpy(values.data() + kernel.parameters[k].offset, arguments[k], kernel.parameters[k].size);
}

bool same_values(const std::vector<char> &values, const ReactantKernel &kernel, void *const *arguments) {
    for (uint32_t k = 0; k < kernel.parameter_count; ++k)
        if (memcmp(values.data() + kernel.parameters[k].offset, arguments[k], kernel.parameters[k].size) != 0) return false;
    return true;
}

// What a launch accesses, as it was for an equal one if there was one; nullptr: it may not wait.
const Reach *known_reach(Known &known, const Launch &launch, void *const *arguments) {
    const ReactantKernel &kernel = *kernel_of(*launch.function);
    const uint64_t released = releases.load(std::memory_order_relaxed);
    const auto same = [](const dim3 &a, const dim3 &b) { return a.x == b.x && a.y == b.y && a.z == b.z; };
    for (Reach &reach : known.reaches)
        if (!without().prepared && reach.kernel == &kernel && reach.released == released && reach.shared == launch.shared &&
            same(reach.grid, launch.grid) && same(reach.block, launch.block) &&
            same_values(reach.values, kernel, arguments)) {
            if (Report *report = report_of_time()) ++report->prepared.count;
            return &reach;
        }
    Reach &reach = known.reaches[known.next++ % most_known];
    for (size_t k = 0; k < kept_launches.load(std::memory_order_relaxed); ++k)
        if (Kept &waits = joining().kept[k]; waits.reach == &reach) {
            waits.own = std::make_unique<Reach>(reach);
            waits.reach = waits.own.get();
        }
    if (!reach_of(reach, launch, arguments)) return nullptr;
    reach.kernel = &kernel, reach.grid = launch.grid, reach.block = launch.block, reach.shared = launch.shared;
    reach.released = released;
    copy_values(reach.values, kernel, arguments);
    return &reach;
}

// ---- running ----

uint64_t threads_of(const Launch &launch) {
    return (uint64_t)launch.grid.x * launch.grid.y * launch.grid.z * launch.block.x * launch.block.y * launch.block.z;
}

struct Run { Kept *kept; size_t count; ReactantLaunch *made; std::atomic<uint64_t> *spent; uint64_t step; };

void run_range(void *context, uint64_t first, uint64_t last) {
    const Run &run = *(const Run *)context;
    for (uint64_t from = first, to; from < last; from = to) {
        to = std::min(last, from + run.step);
        for (size_t k = 0; k < run.count; ++k) {
            if (k && failed(&run.made[k - 1])) break;
            const uint64_t start = nanoseconds();
            run_blocks(&run.made[k], run.kept[k].arguments.data(), from, to);
            run.spent[k].fetch_add(nanoseconds() - start, std::memory_order_relaxed);
        }
    }
}

uint64_t spent_in(const Run &run) {
    uint64_t sum = 0;
    for (size_t k = 0; k < run.count; ++k) sum += run.spent[k].load();
    return sum;
}

void run_by_threads(Run &run, uint64_t begun, double work) {
    struct Rest { Run &run; uint64_t begun; } rest{run, begun};
    const uint64_t before = spent_in(run), count = run.made[0].blocks - begun;
    const Woken woken;
    parallel(count, grain_of(work, count), [](void *context, uint64_t first, uint64_t last) {
        const Rest &rest = *(const Rest *)context;
        run_range(&rest.run, rest.begun + first, rest.begun + last);
    }, &rest);
    woken.over(spent_in(run) - before);
}

// Blocks that this thread runs, of launches that are not worth waking others: all of them, unless they take longer.
uint64_t run_alone(Run &run) {
    const uint64_t blocks = run.made[0].blocks, start = nanoseconds();
    uint64_t done = 0;
    while (done < blocks && (done == 0 || (double)(nanoseconds() - start) < 4 * wake_cost)) {
        const uint64_t to = std::min(blocks, done + std::max<uint64_t>(1, blocks / 8));
        run_range(&run, done, to);
        done = to;
    }
    return done;
}

// Nanoseconds that a launch will take on one thread; 0: it is not known yet.
double work_of(const Launch &launch, double said) {
    return said > 0 ? said : launch.function->cost.load(std::memory_order_relaxed) * (double)threads_of(launch);
}

// Bytes that a block accesses in all of the launches, as far as that is known.
uint64_t bytes_of_block(const Kept *kept, size_t count) {
    std::vector<std::pair<uint64_t, uint64_t>> parts;
    for (size_t k = 0; k < count; ++k)
        for (const ReactantAccess &a : kept[k].reach->accesses)
            if (!(a.flags & REACTANT_ACCESS_ANYWHERE)) parts.push_back({a.address + (uint64_t)a.low, a.address + (uint64_t)a.high});
    std::sort(parts.begin(), parts.end());
    uint64_t bytes = 0, end = 0;
    for (auto [first, last] : parts)
        if (last > end) bytes += last - std::max(first, end), end = last;
    return bytes;
}

void run_joined(Kept *kept, size_t count) {
    State states[most_kept];
    ReactantLaunch made[most_kept];
    std::atomic<uint64_t> spent[most_kept] = {};
    double work = 0;
    for (size_t k = 0; k < count; ++k) {
        work += work_of(kept[k].launch, kept[k].work);
        made[k] = described(kept[k].launch, kept[k].number, &states[k]);
    }
    const uint64_t fitting = range_bytes / std::max<uint64_t>(1, bytes_of_block(kept, count));
    const double worth = std::min((double)count * least_turn / work, 1.0) * (double)made[0].blocks;
    Run run{kept, count, made, spent, std::max<uint64_t>({1, fitting, (uint64_t)worth})};
    Timed timed(&Report::launches);
    if (Report *report = report_of_time()) report->launches.count += count - 1, report->joined.count += count - 1;
    const uint64_t blocks = made[0].blocks;
    uint64_t done = 0;
    if (processors() == 1 || inside_parallel()) run_range(&run, 0, done = blocks);
    else if (work < 2 * wake_cost) done = run_alone(run);
    if (done < blocks) run_by_threads(run, done, std::max(work, 4 * wake_cost));
    for (size_t k = 0; k < count; ++k) {
        learn(*kept[k].launch.function, (double)spent[k].load() / (double)threads_of(kept[k].launch));
        if (cudaError_t error = end_of(&made[k])) { break_context(error); break; }
    }
}

void run_kept() {
    Joining &j = joining();
    const size_t count = kept_launches.load(std::memory_order_relaxed);
    for (size_t k = 0; k < count; ++k) {
        Known &known = j.known[j.kept[k].launch.function];
        known.missed = count > 1 ? 0 : known.missed + 1;
    }
    if (count > 1) run_joined(j.kept, count);
    else if (count) run_numbered(j.kept[0].launch, j.kept[0].arguments.data(), j.kept[0].number, j.kept[0].work);
    kept_launches.store(0, std::memory_order_release);
}

bool worth_keeping(Known &known) {
    if (known.missed < most_missed) return true;
    return ++known.skipped % try_again == 0;
}

}  // namespace

std::atomic<size_t> kept_launches{0};

const Without &without() {
    static const Without said = [] {
        const char *text = getenv("REACTANT_CUDA_WITHOUT"), *blocking = getenv("CUDA_LAUNCH_BLOCKING");
        const std::string list = std::string(",") + (text ? text : "") + ",";
        Without found{list.find(",joined,") != list.npos, list.find(",prepared,") != list.npos};
        found.joined |= checking() || (blocking && *blocking == '1');
        return found;
    }();
    return said;
}

bool kept(const Launch &launch, void *const *arguments, double work) {
    const ReactantKernel &kernel = *kernel_of(*launch.function);
    if (!kernel.reach || kernel.flags || kernel.version_count || launch.cooperative || recorder || without().joined) return false;
    if (work_of(launch, work) < least_work) return false;
    Joining &j = joining();
    std::lock_guard lock(j.mutex);
    Known &known = j.known[launch.function];
    const bool first = kept_launches.load(std::memory_order_relaxed) == 0;
    if (first && !worth_keeping(known)) return false;
    const Reach *reach = known_reach(known, launch, arguments);
    if (!reach) return false;
    size_t count = kept_launches.load(std::memory_order_relaxed);
    const auto joins = [&](const Kept &each) { return may_join(each, *reach, launch); };
    if (count == most_kept || !std::all_of(j.kept, j.kept + count, joins)) {
        run_kept();
        count = 0;
        if (broken() || !worth_keeping(known)) return false;
    }
    Kept &added = j.kept[count];
    added.launch = launch, added.reach = reach, added.work = work;
    added.own.reset();
    added.number = number_of_next_launch();
    added.values.assign(reach->values.size() + 64, 0);
    char *start = (char *)(((uintptr_t)added.values.data() + 63) & ~(uintptr_t)63);
    memcpy(start, reach->values.data(), reach->values.size());
    added.arguments.assign(kernel.parameter_count, nullptr);
    for (uint32_t k = 0; k < kernel.parameter_count; ++k) added.arguments[k] = start + kernel.parameters[k].offset;
    kept_launches.store(count + 1, std::memory_order_release);
    return true;
}

void run_what_waits() {
    if (inside_kernel()) return;                // it does not see them, and who runs it may wait for them
    std::lock_guard lock(joining().mutex);
    run_kept();
}

bool beside_kept(const void *address, size_t bytes) {
    Joining &j = joining();
    std::lock_guard lock(j.mutex);
    for (size_t k = 0; k < kept_launches.load(std::memory_order_relaxed); ++k)
        for (const Region &region : j.kept[k].reach->regions)
            if ((uintptr_t)address < region.end && region.base < (uintptr_t)address + bytes) return false;
    return true;
}

}  // namespace reactant
