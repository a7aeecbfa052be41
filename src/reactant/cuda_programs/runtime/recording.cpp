// A program that Python runs: its memory lies in memory that is shared with Python; launches, copies and fills are
// written down, and Python does them when the host looks (docs/cuda_programs.md; src/reactant/cuda_calls reads this).
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>

#include "runtime.h"
#include "tape.h"

using namespace reactant;

namespace {

// ---- what is written down: each begins with its kind and its size in bytes, a multiple of 8 ----

enum : uint32_t { made_allocation = 1, made_release, made_launch, made_copy, made_fill, made_symbol, made_look,
                made_runs, made_touch };

struct Begin { uint32_t kind, bytes; };
struct AllocationRow { Begin begin; uint64_t base, bytes; uint64_t kind; };
struct ReleaseRow { Begin begin; uint64_t base; };
// Behind it: (offset, size) of the parameters, their values, the mangled name.
struct LaunchRow {
    Begin begin; uint64_t site, function; uint32_t grid[3], block[3]; uint64_t shared;
    uint32_t cooperative, parameters, values, name;
};
// from: in shared memory, a staged copy of the host's (which was at `host`) or of the device's (host = 0).
struct CopyRow { Begin begin; uint64_t to, to_pitch, to_slice, from, from_pitch, from_slice, width, height, depth, host; };
struct FillRow { Begin begin; uint64_t to, pitch, slice, width, height, depth; uint32_t value, element; };
struct SymbolRow { Begin begin; uint64_t address, offset, bytes, staged, host, constant; };  // behind it: the mangled name
// The host, or a library, works on the device's memory: all of it has to be here, and may change.
struct TouchRow { Begin begin; };
// Behind it: TapeRun... of the row that follows: what is copied to the device, or (argument, offset in it) of a launch.
struct RunsRow { Begin begin; uint64_t count; };
// The host reads this from the device, and has it at `host`.
struct LookRow { Begin begin; uint64_t from, pitch, slice, width, height, depth, host, range; };

constexpr size_t queue_bytes = (size_t)4 << 20, staged_at_most = (size_t)1 << 28;

struct Recording {
    std::recursive_mutex mutex;
    int channel = -1;
    char *arena = nullptr, *open = nullptr;     // the second: the same memory, never closed
    size_t used = 0;                            // of the queue
    size_t staged = 0, released = 0;            // bytes
    std::map<size_t, size_t> free[2];           // of the host, of the device: offset -> bytes
    std::map<size_t, size_t> taken;
    size_t device_first = 0, host_first = 0;    // the device's memory comes first
    std::atomic<size_t> device_end{0};
    std::atomic<bool> closed{false};            // nobody may touch the device's memory unseen
    std::vector<size_t> later;                  // given back when what is written down is done
};

Recording &recording() {
    static Recording *const made = new Recording;
    return *made;
}

thread_local bool own = false;                  // what Python asked this process to do

constexpr size_t unit = 256, page = 4096;

bool of_device(size_t offset) { return offset >= recording().device_first && offset < recording().host_first; }

// While launches wait, or Python has newer content than this memory, the host's own accesses of the device's memory
// have to be noticed: libraries (Thrust on the host, cuBLAS) work on it.
void close() {
    Recording &r = recording();
    if (r.device_end > r.device_first) mprotect(r.arena + r.device_first, r.device_end - r.device_first, PROT_NONE);
    r.closed = true;
}

void open() {
    Recording &r = recording();
    if (r.device_end > r.device_first)
        mprotect(r.arena + r.device_first, r.device_end - r.device_first, PROT_READ | PROT_WRITE);
    r.closed = false;
}

size_t take(size_t bytes, bool device = false) {
    Recording &r = recording();
    auto &free = r.free[device];
    size_t step = bytes >= page ? page : unit, whole = (bytes + step - 1) & ~(step - 1);
    for (auto row = free.begin(); row != free.end(); ++row) {
        size_t first = (row->first + step - 1) & ~(step - 1), last = row->first + row->second;
        if (first + whole > last) continue;
        size_t before = row->first;
        free.erase(row);
        if (first > before) free[before] = first - before;
        if (first + whole < last) free[first + whole] = last - first - whole;
        r.taken[first] = whole;
        size_t end = (first + whole + page - 1) & ~(page - 1);
        if (device && end > r.device_end) {
            r.device_end = end;
            if (r.closed) close();
        }
        return first;
    }
    return 0;
}

void give(size_t offset) {
    Recording &r = recording();
    auto row = r.taken.find(offset);
    if (row == r.taken.end()) return;
    size_t first = offset, bytes = row->second;
    r.taken.erase(row);
    if (bytes >= ((size_t)64 << 20)) madvise(r.open + first, bytes, MADV_REMOVE);
    auto &free = r.free[of_device(first)];
    auto after = free.lower_bound(first);
    if (after != free.end() && first + bytes == after->first) { bytes += after->second; after = free.erase(after); }
    if (after != free.begin()) {
        auto before = std::prev(after);
        if (before->first + before->second == first) { first = before->first; bytes += before->second; free.erase(before); }
    }
    free[first] = bytes;
}

bool in_arena(const void *address) {
    Allocation found;
    Recording &r = recording();
    return (char *)address >= r.arena && find(address, &found) && r.taken.count(found.base - (uintptr_t)r.arena);
}

uint64_t offset_of(const void *address) { return (uint64_t)((const char *)address - recording().arena); }

// ---- talking to Python ----

void lost() { _exit(125); }

void say(const void *data, size_t bytes) {
    for (const char *at = (const char *)data; bytes;) {
        ssize_t done = write(recording().channel, at, bytes);
        if (done <= 0) lost();
        at += done, bytes -= (size_t)done;
    }
}

void hear(void *data, size_t bytes) {
    for (char *at = (char *)data; bytes;) {
        ssize_t done = read(recording().channel, at, bytes);
        if (done <= 0) lost();
        at += done, bytes -= (size_t)done;
    }
}

uint64_t run_here(uint64_t at) {
    Recording &r = recording();
    const LaunchRow &row = *(const LaunchRow *)(r.arena + at);
    const char *behind = (const char *)(&row + 1);
    const ReactantParameter *parameters = (const ReactantParameter *)behind;
    const char *values = behind + sizeof(ReactantParameter) * row.parameters;
    std::vector<char> held(row.values + 16);
    char *start = (char *)(((uintptr_t)held.data() + 15) & ~(uintptr_t)15);
    memcpy(start, values, row.values);
    std::vector<void *> arguments(row.parameters + 1);
    for (uint32_t k = 0; k < row.parameters; ++k) arguments[k] = start + parameters[k].offset;
    Launch launch{(Function *)row.function, dim3{row.grid[0], row.grid[1], row.grid[2]},
                  dim3{row.block[0], row.block[1], row.block[2]}, row.shared, row.cooperative != 0};
    if (r.closed) open();
    own = true;
    cudaError_t error = run(launch, arguments.data());
    own = false;
    return (uint64_t)error;
}

void flush() {
    Recording &r = recording();
    if (r.used == 0) return;
    char begin = 'F';
    uint64_t bytes = r.used;
    say(&begin, 1);
    say(&bytes, sizeof bytes);
    for (;;) {
        struct { uint64_t what, at; } command;
        hear(&command, sizeof command);
        if (command.what == 0) {                // at: whether Python has content of its own
            if (command.at && !r.closed) close();
            break;
        }
        if (command.what == 1) {
            uint64_t error = run_here(command.at);
            say(&error, sizeof error);
        } else if (command.what == 2) {
            break_context((cudaError_t)command.at);
        } else if (command.what == 3) {         // a symbol gets what was staged for it
            const SymbolRow &row = *(const SymbolRow *)(r.arena + command.at);
            memcpy((char *)row.address + row.offset, r.arena + row.staged, row.bytes);
        }
    }
    r.used = r.staged = r.released = 0;
    for (size_t each : r.later) give(each);
    r.later.clear();
}

template <class Row> Row *add(uint32_t kind, size_t more = 0) {
    Recording &r = recording();
    size_t bytes = (sizeof(Row) + more + 7) & ~(size_t)7;
    if (r.used + bytes > queue_bytes) flush();
    if (!r.closed && (kind == made_launch || kind == made_copy || kind == made_fill)) close();
    Row *row = (Row *)(r.arena + r.used);
    memset(row, 0, bytes);
    row->begin = Begin{kind, (uint32_t)bytes};
    r.used += bytes;
    return row;
}

void record_runs(const std::vector<TapeRun> &runs) {
    if (runs.empty()) return;
    RunsRow *row = add<RunsRow>(made_runs, runs.size() * sizeof(TapeRun));
    row->count = runs.size();
    memcpy(row + 1, runs.data(), runs.size() * sizeof(TapeRun));
}

// Of rows that lie apart: as if they were one behind the other.
std::vector<TapeRun> runs_of(const void *from, const Copy &copy, size_t pitch, size_t slice) {
    std::vector<TapeRun> all;
    for (size_t z = 0; z < copy.depth; ++z)
        for (size_t y = 0; y < copy.height; ++y)
            for (TapeRun run : tape_runs((const char *)from + z * slice + y * pitch, copy.width)) {
                run.offset += (z * copy.height + y) * copy.width;
                all.push_back(run);
            }
    return all;
}

// What the device gives the host: leaves. Rows that lie apart are one range each, which Python is told of one by one.
uint64_t range_of(const Copy &copy) {
    if (!taping()) return 0;
    if (copy.height * copy.depth == 1 || (copy.to_pitch == copy.width && (copy.depth == 1 ||
        copy.to_slice == copy.width * copy.height)))
        return tape_range(copy.to, copy.width * copy.height * copy.depth);
    uint64_t first = 0;
    for (size_t z = 0; z < copy.depth; ++z)
        for (size_t y = 0; y < copy.height; ++y) {
            uint64_t number = tape_range((char *)copy.to + z * copy.to_slice + y * copy.to_pitch, copy.width);
            if (z == 0 && y == 0) first = number;
        }
    return first;
}

// A copy of the host's rows, one behind the other; 0 where there is no room.
size_t stage(const Copy &copy) {
    Recording &r = recording();
    size_t bytes = copy.width * copy.height * copy.depth;
    if (r.staged + bytes > staged_at_most) flush();
    size_t at = take(bytes);
    if (!at) return 0;
    char *to = r.arena + at;
    for (size_t z = 0; z < copy.depth; ++z)
        for (size_t y = 0; y < copy.height; ++y, to += copy.width)
            memcpy(to, (const char *)copy.from + z * copy.from_slice + y * copy.from_pitch, copy.width);
    r.staged += bytes;
    r.later.push_back(at);
    return at;
}

// ---- the runtime's calls ----

void *allocate_shared(size_t bytes, Kind kind) {
    Recording &r = recording();
    std::lock_guard lock(r.mutex);
    size_t at = take(bytes, kind == Kind::device);
    if (!at) return nullptr;
    AllocationRow *row = add<AllocationRow>(made_allocation);
    row->base = at, row->bytes = bytes, row->kind = (uint64_t)kind;
    return r.arena + at;
}

bool release_shared(void *memory) {
    Recording &r = recording();
    std::lock_guard lock(r.mutex);
    size_t at = offset_of(memory);
    auto row = r.taken.find(at);
    if ((char *)memory < r.arena || row == r.taken.end()) return false;
    add<ReleaseRow>(made_release)->base = at;
    r.later.push_back(at);
    r.released += row->second;
    if (r.released > staged_at_most) flush();
    return true;
}

bool record_launch(const Launch &launch, void *const *arguments) {
    if (own) return false;
    Recording &r = recording();
    std::lock_guard lock(r.mutex);
    const ReactantKernel &kernel = *kernel_of(*launch.function);
    size_t values = 0, table = sizeof(ReactantParameter) * kernel.parameter_count;
    for (uint32_t k = 0; k < kernel.parameter_count; ++k)
        values = std::max<size_t>(values, kernel.parameters[k].offset + kernel.parameters[k].size);
    values = (values + 7) & ~(size_t)7;
    size_t name = launch.function->name.size() + 1;
    if (taping()) {
        std::vector<TapeRun> all;
        for (uint32_t k = 0; k < kernel.parameter_count; ++k)
            for (TapeRun run : tape_runs(arguments[k], kernel.parameters[k].size)) {
                run.offset += kernel.parameters[k].offset;
                all.push_back(run);
            }
        record_runs(all);
    }
    LaunchRow *row = add<LaunchRow>(made_launch, table + values + name);
    row->site = (uint64_t)(uintptr_t)launch.site, row->function = (uint64_t)(uintptr_t)launch.function;
    row->grid[0] = launch.grid.x, row->grid[1] = launch.grid.y, row->grid[2] = launch.grid.z;
    row->block[0] = launch.block.x, row->block[1] = launch.block.y, row->block[2] = launch.block.z;
    row->shared = launch.shared, row->cooperative = launch.cooperative;
    row->parameters = kernel.parameter_count, row->values = (uint32_t)values, row->name = (uint32_t)name;
    char *behind = (char *)(row + 1);
    memcpy(behind, kernel.parameters, table);
    for (uint32_t k = 0; k < kernel.parameter_count; ++k)
        memcpy(behind + table + kernel.parameters[k].offset, arguments[k], kernel.parameters[k].size);
    memcpy(behind + table + values, launch.function->name.c_str(), name);
    return true;
}

void record_symbol(const ReactantSymbol &symbol, const void *address, const Copy &staged) {
    size_t name = strlen(symbol.name) + 1, at = stage(staged);
    if (taping()) record_runs(tape_runs(staged.from, staged.width));
    SymbolRow *row = add<SymbolRow>(made_symbol, name);
    row->address = (uint64_t)(uintptr_t)symbol.address;
    row->offset = (uint64_t)((const char *)address - (const char *)symbol.address);
    row->bytes = staged.width, row->staged = at, row->host = (uint64_t)(uintptr_t)staged.from;
    row->constant = symbol.flags & REACTANT_SYMBOL_CONSTANT;
    memcpy(row + 1, symbol.name, name);
}

bool record_copy(const Copy &copy) {
    if (own || copy.width * copy.height * copy.depth == 0) return false;
    Recording &r = recording();
    std::lock_guard lock(r.mutex);
    bool to = in_arena(copy.to), from = in_arena(copy.from);
    ReactantSymbol symbol;
    if (!to && !from) {
        if (symbol_at(copy.to, &symbol) && !(symbol.flags & REACTANT_SYMBOL_MANAGED) && copy.height * copy.depth == 1) {
            record_symbol(symbol, copy.to, copy);
            return true;
        }
        flush();
        if (taping() && copy.height * copy.depth == 1) reactant_tape_copy(copy.to, copy.from, copy.width);
        return false;
    }
    if (!to) {
        LookRow *row = add<LookRow>(made_look);
        row->from = offset_of(copy.from), row->pitch = copy.from_pitch, row->slice = copy.from_slice;
        row->width = copy.width, row->height = copy.height, row->depth = copy.depth;
        row->host = (uint64_t)(uintptr_t)copy.to;
        row->range = range_of(copy);
        flush();
        Copy seen = copy;
        seen.from = r.open + offset_of(copy.from);
        if (symbol_at(copy.to, &symbol) && !(symbol.flags & REACTANT_SYMBOL_MANAGED) && copy.height * copy.depth == 1) {
            record_symbol(symbol, copy.to, seen);
            return true;
        }
        own = true;                             // the host's: copied at once
        run(seen);
        own = false;
        return true;
    }
    size_t staged = from ? 0 : stage(copy);
    if (!from && !staged) { flush(); return false; }
    if (taping() && !from) record_runs(runs_of(copy.from, copy, copy.from_pitch, copy.from_slice));
    CopyRow *row = add<CopyRow>(made_copy);
    row->to = offset_of(copy.to), row->to_pitch = copy.to_pitch, row->to_slice = copy.to_slice;
    row->from = from ? offset_of(copy.from) : staged;
    row->from_pitch = from ? copy.from_pitch : copy.width;
    row->from_slice = from ? copy.from_slice : copy.width * copy.height;
    row->width = copy.width, row->height = copy.height, row->depth = copy.depth;
    row->host = from ? 0 : (uint64_t)(uintptr_t)copy.from;
    Allocation side;
    if (from && find(copy.from, &side) && side.kind != Kind::device) flush();       // the host may change it now
    else if (find(copy.to, &side) && side.kind != Kind::device) flush();            // it may look
    return true;
}

bool record_fill(const Fill &fill) {
    if (own || fill.width * fill.height * fill.depth == 0) return false;
    Recording &r = recording();
    std::lock_guard lock(r.mutex);
    if (!in_arena(fill.to)) {
        ReactantSymbol symbol;
        if (!symbol_at(fill.to, &symbol) || fill.height * fill.depth != 1) { flush(); return false; }
        std::vector<char> content(fill.width);
        for (size_t k = 0; k < fill.width; ++k) content[k] = (char)(fill.value >> 8 * (k % fill.element));
        record_symbol(symbol, fill.to, Copy{nullptr, 0, 0, content.data(), fill.width, 0, fill.width, 1, 1,
                                            cudaMemcpyHostToDevice});
        return true;
    }
    FillRow *row = add<FillRow>(made_fill);
    row->to = offset_of(fill.to), row->pitch = fill.pitch, row->slice = fill.slice;
    row->width = fill.width, row->height = fill.height, row->depth = fill.depth;
    row->value = fill.value, row->element = fill.element;
    return true;
}

// Whether an access that failed may be tried again.
bool touched(const void *address) {
    Recording &r = recording();
    if ((char *)address < r.arena + r.device_first || (char *)address >= r.arena + r.device_end) return false;
    std::lock_guard lock(r.mutex);
    if (!r.closed) return true;                 // another thread was first
    add<TouchRow>(made_touch);
    flush();
    open();
    return true;
}

void host_looks() {
    if (own) return;
    std::lock_guard lock(recording().mutex);
    flush();
}

const Recorder made{allocate_shared, release_shared, record_launch, record_copy, record_fill, host_looks, touched};

}  // namespace

namespace reactant {
const Recorder *recorder = nullptr;
}

extern "C" {

// Begins: `memory` is a file of `bytes` bytes, of which [first, last) is for this process. Returns where it is mapped;
// `image` is where this library is.
__attribute__((visibility("default"))) void *reactant_record(int channel, int memory, uint64_t bytes, uint64_t first,
                                                             uint64_t last, uint64_t *image) {
    Recording &r = recording();
    void *mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory, 0);
    void *again = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory, 0);
    if (mapped == MAP_FAILED || again == MAP_FAILED) return nullptr;
    r.channel = channel, r.arena = (char *)mapped, r.open = (char *)again;
    r.device_first = r.device_end = first, r.host_first = first + (last - first) / 2 / page * page;
    r.free[true][first] = r.host_first - first, r.free[false][r.host_first] = last - r.host_first;
    handle_faults();
    Dl_info found;
    *image = dladdr((void *)&reactant_record, &found) ? (uint64_t)(uintptr_t)found.dli_fbase : 0;
    recorder = &made;
    return mapped;
}

// What is left when a function of the host returns.
__attribute__((visibility("default"))) void reactant_record_flush(void) { host_looks(); }

}
