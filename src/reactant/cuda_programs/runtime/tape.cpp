#include "tape.h"

#include <cmath>
#include <cstring>
#include <map>
#include <mutex>

namespace {

using reactant::TapeRun;

constexpr uint64_t leaf = (uint64_t)1 << 63;

struct Node { uint64_t from[3]; double partial[3]; };
struct Number { uint64_t identity; uint32_t size; };
struct Range { uintptr_t end; uint64_t identity; };         // of the first byte
struct Complaint { uint64_t line, what, range; };           // what: complaints below; range of the leaf, or all ones
enum : uint64_t { reads_bits = 1, gives_away = 2, unknown_function = 3 };

struct Tape {
    std::mutex mutex;
    bool on = false;
    std::vector<Node> nodes;
    std::map<uintptr_t, Number> numbers;
    std::map<uintptr_t, Range> ranges;
    uint64_t range_count = 0;
    std::vector<Complaint> complaints;
    uint64_t result = 0;
};

Tape &tape() {
    static Tape *const made = new Tape;
    return *made;
}

constexpr int most_arguments = 64;
thread_local uint64_t arguments[most_arguments];
thread_local uint64_t returned = 0;

void complain(uint64_t line, uint64_t what, uint64_t identity) {
    Tape &t = tape();
    Complaint made{line, what, identity & leaf ? identity >> 40 & 0x7fffff : ~(uint64_t)0};
    for (const Complaint &each : t.complaints)
        if (!memcmp(&each, &made, sizeof made)) return;
    if (t.complaints.size() < 64) t.complaints.push_back(made);
}

void clear(uintptr_t first, uint64_t bytes) {
    Tape &t = tape();
    uintptr_t end = first + bytes;
    for (auto row = t.numbers.lower_bound(first >= 8 ? first - 7 : 0); row != t.numbers.end() && row->first < end;)
        row = row->first + row->second.size > first ? t.numbers.erase(row) : std::next(row);
    auto row = t.ranges.lower_bound(first);
    if (row != t.ranges.begin()) --row;
    while (row != t.ranges.end() && row->first < end) {
        uintptr_t start = row->first;
        Range range = row->second;
        if (range.end <= first) { ++row; continue; }
        row = t.ranges.erase(row);
        if (start < first) t.ranges[start] = Range{first, range.identity};
        if (range.end > end) { t.ranges[end] = Range{range.end, range.identity + (end - start)}; break; }
    }
}

uint64_t identity_at(uintptr_t at, uint32_t size) {
    Tape &t = tape();
    auto number = t.numbers.find(at);
    if (number != t.numbers.end()) return number->second.size == size ? number->second.identity : 0;
    auto row = t.ranges.upper_bound(at);
    if (row == t.ranges.begin()) return 0;
    --row;
    return at + size <= row->second.end ? row->second.identity + (at - row->first) : 0;
}

std::vector<TapeRun> runs(uintptr_t first, uint64_t bytes) {
    Tape &t = tape();
    std::vector<TapeRun> found;
    uintptr_t end = first + bytes;
    auto row = t.ranges.upper_bound(first);
    if (row != t.ranges.begin()) --row;
    for (; row != t.ranges.end() && row->first < end; ++row) {
        if (row->second.end <= first) continue;
        uintptr_t from = row->first > first ? row->first : first, to = row->second.end < end ? row->second.end : end;
        found.push_back({from - first, row->second.identity + (from - row->first), 1, (uint32_t)(to - from)});
    }
    for (auto number = t.numbers.lower_bound(first); number != t.numbers.end() && number->first < end; ++number)
        found.push_back({number->first - first, number->second.identity, number->second.size, 1});
    return found;
}

uint64_t node(uint64_t a, double pa, uint64_t b, double pb, uint64_t c, double pc) {
    if (!(a | b | c)) return 0;
    Tape &t = tape();
    std::lock_guard lock(t.mutex);
    t.nodes.push_back(Node{{a, b, c}, {pa, pb, pc}});
    return t.nodes.size();
}

}  // namespace

namespace reactant {

bool taping() { return tape().on; }

uint64_t tape_range(const void *memory, uint64_t bytes) {
    Tape &t = tape();
    std::lock_guard lock(t.mutex);
    clear((uintptr_t)memory, bytes);
    uint64_t number = t.range_count++;
    t.ranges[(uintptr_t)memory] = Range{(uintptr_t)memory + bytes, leaf | number << 40};
    return number;
}

void tape_forget(const void *memory, uint64_t bytes) {
    std::lock_guard lock(tape().mutex);
    clear((uintptr_t)memory, bytes);
}

std::vector<TapeRun> tape_runs(const void *memory, uint64_t bytes) {
    std::lock_guard lock(tape().mutex);
    return runs((uintptr_t)memory, bytes);
}

}  // namespace reactant

// ---- what compiled host code calls ----

extern "C" {

uint64_t reactant_tape_load(const void *memory, uint32_t size) {
    Tape &t = tape();
    if (!t.on) return 0;
    std::lock_guard lock(t.mutex);
    return identity_at((uintptr_t)memory, size);
}

void reactant_tape_store(void *memory, uint32_t size, uint64_t identity) {
    Tape &t = tape();
    if (!t.on) return;
    std::lock_guard lock(t.mutex);
    clear((uintptr_t)memory, size);
    if (identity) t.numbers[(uintptr_t)memory] = Number{identity, size};
}

void reactant_tape_clear(void *memory, uint64_t bytes) {
    Tape &t = tape();
    if (!t.on) return;
    std::lock_guard lock(t.mutex);
    clear((uintptr_t)memory, bytes);
}

void reactant_tape_copy(void *to, const void *from, uint64_t bytes) {
    Tape &t = tape();
    if (!t.on) return;
    std::lock_guard lock(t.mutex);
    std::vector<TapeRun> found = runs((uintptr_t)from, bytes);
    clear((uintptr_t)to, bytes);
    for (const TapeRun &run : found) {
        uintptr_t at = (uintptr_t)to + run.offset;
        if (run.size == 1) t.ranges[at] = Range{at + run.count, run.identity};
        else t.numbers[at] = Number{run.identity, run.size};
    }
}

// Something other than a number is read here.
void reactant_tape_read(const void *memory, uint64_t bytes, uint64_t line) {
    Tape &t = tape();
    if (!t.on) return;
    std::lock_guard lock(t.mutex);
    for (const TapeRun &run : runs((uintptr_t)memory, bytes)) complain(line, reads_bits, run.identity);
}

uint64_t reactant_tape_parameter(uint32_t k) {
    if (k >= (uint32_t)most_arguments) return 0;
    uint64_t found = arguments[k];
    arguments[k] = 0;
    return found;
}

void reactant_tape_argument(uint32_t k, uint64_t identity) {
    if (k < (uint32_t)most_arguments) arguments[k] = identity;
    else if (identity) complain(0, gives_away, identity);
}

uint64_t reactant_tape_returned(void) {
    uint64_t found = returned;
    returned = 0;
    return found;
}

void reactant_tape_return(uint64_t identity) { returned = identity; }

// A number is given to code that was not compiled for the tape.
void reactant_tape_given(uint64_t identity, uint64_t line) {
    if (!identity) return;
    std::lock_guard lock(tape().mutex);
    complain(line, unknown_function, identity);
}

uint64_t reactant_tape_add(double, uint64_t a, double, uint64_t b) { return node(a, 1, b, 1, 0, 0); }
uint64_t reactant_tape_subtract(double, uint64_t a, double, uint64_t b) { return node(a, 1, b, -1, 0, 0); }
uint64_t reactant_tape_multiply(double x, uint64_t a, double y, uint64_t b) { return node(a, y, b, x, 0, 0); }
uint64_t reactant_tape_divide(double x, uint64_t a, double y, uint64_t b) { return node(a, 1 / y, b, -x / (y * y), 0, 0); }
uint64_t reactant_tape_negate(double, uint64_t a) { return node(a, -1, 0, 0, 0, 0); }
uint64_t reactant_tape_same(double, uint64_t a) { return node(a, 1, 0, 0, 0, 0); }
uint64_t reactant_tape_sqrt(double x, uint64_t a) { return node(a, 0.5 / sqrt(x), 0, 0, 0, 0); }
uint64_t reactant_tape_cbrt(double x, uint64_t a) { return node(a, 1 / (3 * cbrt(x) * cbrt(x)), 0, 0, 0, 0); }
uint64_t reactant_tape_fabs(double x, uint64_t a) { return node(a, x < 0 || (x == 0 && std::signbit(x)) ? -1 : 1, 0, 0, 0, 0); }
uint64_t reactant_tape_exp(double x, uint64_t a) { return node(a, exp(x), 0, 0, 0, 0); }
uint64_t reactant_tape_exp2(double x, uint64_t a) { return node(a, exp2(x) * M_LN2, 0, 0, 0, 0); }
uint64_t reactant_tape_expm1(double x, uint64_t a) { return node(a, exp(x), 0, 0, 0, 0); }
uint64_t reactant_tape_log(double x, uint64_t a) { return node(a, 1 / x, 0, 0, 0, 0); }
uint64_t reactant_tape_log2(double x, uint64_t a) { return node(a, M_LOG2E / x, 0, 0, 0, 0); }
uint64_t reactant_tape_log10(double x, uint64_t a) { return node(a, M_LOG10E / x, 0, 0, 0, 0); }
uint64_t reactant_tape_log1p(double x, uint64_t a) { return node(a, 1 / (1 + x), 0, 0, 0, 0); }
uint64_t reactant_tape_sin(double x, uint64_t a) { return node(a, cos(x), 0, 0, 0, 0); }
uint64_t reactant_tape_cos(double x, uint64_t a) { return node(a, -sin(x), 0, 0, 0, 0); }
uint64_t reactant_tape_tan(double x, uint64_t a) { return node(a, 1 + tan(x) * tan(x), 0, 0, 0, 0); }
uint64_t reactant_tape_asin(double x, uint64_t a) { return node(a, 1 / sqrt(1 - x * x), 0, 0, 0, 0); }
uint64_t reactant_tape_acos(double x, uint64_t a) { return node(a, -1 / sqrt(1 - x * x), 0, 0, 0, 0); }
uint64_t reactant_tape_atan(double x, uint64_t a) { return node(a, 1 / (1 + x * x), 0, 0, 0, 0); }
uint64_t reactant_tape_sinh(double x, uint64_t a) { return node(a, cosh(x), 0, 0, 0, 0); }
uint64_t reactant_tape_cosh(double x, uint64_t a) { return node(a, sinh(x), 0, 0, 0, 0); }
uint64_t reactant_tape_tanh(double x, uint64_t a) { return node(a, 1 - tanh(x) * tanh(x), 0, 0, 0, 0); }
uint64_t reactant_tape_step(double, uint64_t) { return 0; }             // floor and its like: 0 almost everywhere
uint64_t reactant_tape_atan2(double y, uint64_t a, double x, uint64_t b) {
    double square = x * x + y * y;
    return node(a, x / square, b, -y / square, 0, 0);
}
uint64_t reactant_tape_hypot(double x, uint64_t a, double y, uint64_t b) {
    double h = hypot(x, y);
    return node(a, x / h, b, y / h, 0, 0);
}
uint64_t reactant_tape_pow(double x, uint64_t a, double y, uint64_t b) {
    return node(a, y == 0 ? 0 : y * pow(x, y - 1), b, b ? pow(x, y) * log(x) : 0, 0, 0);
}
uint64_t reactant_tape_fmin(double x, uint64_t a, double y, uint64_t b) { return x <= y || y != y ? a : b; }
uint64_t reactant_tape_fmax(double x, uint64_t a, double y, uint64_t b) { return x >= y || y != y ? a : b; }
uint64_t reactant_tape_copysign(double x, uint64_t a, double y, uint64_t) {
    return node(a, std::signbit(x) == std::signbit(y) ? 1 : -1, 0, 0, 0, 0);
}
uint64_t reactant_tape_fma(double x, uint64_t a, double y, uint64_t b, double, uint64_t c) { return node(a, y, b, x, c, 1); }

// ---- what Python calls ----

__attribute__((visibility("default"))) void reactant_tape_begin(void) {
    Tape &t = tape();
    std::lock_guard lock(t.mutex);
    t.nodes.clear(), t.numbers.clear(), t.ranges.clear(), t.complaints.clear();
    t.range_count = 0, t.on = true;
    returned = 0;
    for (uint64_t &each : arguments) each = 0;
}

__attribute__((visibility("default"))) uint64_t reactant_tape_leaves(const void *memory, uint64_t bytes) {
    return reactant::tape_range(memory, bytes);
}

// A number that is given as argument `k` of its kind: a range of one number, without memory.
__attribute__((visibility("default"))) uint64_t reactant_tape_leaf(uint32_t k) {
    uint64_t number = tape().range_count++;
    reactant_tape_argument(k, leaf | number << 40);
    return number;
}

// Ends; gives (identity of what was returned, nodes, complaints) in `counts` and their addresses.
__attribute__((visibility("default"))) void reactant_tape_end(uint64_t counts[3], const void *tables[2]) {
    Tape &t = tape();
    std::lock_guard lock(t.mutex);
    t.on = false;
    counts[0] = returned, counts[1] = t.nodes.size(), counts[2] = t.complaints.size();
    tables[0] = t.nodes.data(), tables[1] = t.complaints.data();
}

// Runs of memory: how many; at most `most` of them are written.
__attribute__((visibility("default"))) uint64_t reactant_tape_runs(const void *memory, uint64_t bytes, TapeRun *target,
                                                                   uint64_t most) {
    std::vector<TapeRun> found = reactant::tape_runs(memory, bytes);
    for (size_t k = 0; k < found.size() && k < most; ++k) target[k] = found[k];
    return found.size();
}

}
