// Threads of a block that meet: resumes each to its next meeting, and answers when all who meet there have come.
//
// Lanes of a warp meet where their masks say. Where lanes wait for others that are elsewhere (masks that name lanes
// which a branch has parted, __activemask), those that are the earliest in the program go on: who is behind catches up.
#include "checks.h"

namespace {

enum Kind { STEPPED = 1, BLOCK = 10, COUNT, AND, OR, GRID, WARP = 20, IDX, UP, DOWN, XOR, BALLOT, ANY, ALL, UNI, MATCH_ANY, MATCH_ALL,
            ACTIVEMASK, REDUCE_ADD, REDUCE_MIN_I, REDUCE_MAX_I, REDUCE_MIN_U, REDUCE_MAX_U, REDUCE_AND, REDUCE_OR,
            REDUCE_XOR };

constexpr uint32_t LANES = 32;

inline int kind_of(int32_t state) { return state & 255; }

uint64_t shuffled(const ReactantFrame &f, int kind, uint32_t first, uint32_t lane, uint32_t present) {
    const uint32_t t = first + lane;
    const int width = f.z[t] > 0 && f.z[t] <= 32 ? f.z[t] : 32, start = int(lane) / width * width, end = start + width;
    const int given = f.y[t];
    int source = kind == IDX ? start + (given & (width - 1)) : kind == UP ? int(lane) - given
               : kind == DOWN ? int(lane) + given : int(lane) ^ given;
    if (source >= end || (kind != XOR && source < start) || source < 0) return f.x[t];
    return present >> source & 1 ? f.x[first + source] : 0;
}

uint64_t agreed(const ReactantFrame &f, int kind, uint32_t first, uint32_t lane, uint32_t present) {
    const uint32_t t = first + lane, mask = f.mask[t] & present;
    uint32_t same = 0, held = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const uint32_t other = __builtin_ctz(rest), bit = 1u << other;
        if (f.x[first + other] == f.x[t]) same |= bit;
        if (f.x[first + other]) held |= bit;
    }
    switch (kind) {
    case BALLOT: return held;
    case ANY: return held != 0;
    case ALL: return held == mask;
    case UNI: return same == mask;
    case MATCH_ANY: return same;
    default: return same == mask ? f.mask[t] : 0;
    }
}

uint64_t reduced(const ReactantFrame &f, int kind, uint32_t first, uint32_t lane, uint32_t present) {
    uint32_t result = 0, mask = f.mask[first + lane] & present;
    bool begun = false;
    for (; mask; mask &= mask - 1) {
        const uint32_t value = uint32_t(f.x[first + __builtin_ctz(mask)]);
        if (!begun) { result = value; begun = true; continue; }
        switch (kind) {
        case REDUCE_ADD: result += value; break;
        case REDUCE_MIN_I: if (int32_t(value) < int32_t(result)) result = value; break;
        case REDUCE_MAX_I: if (int32_t(value) > int32_t(result)) result = value; break;
        case REDUCE_MIN_U: if (value < result) result = value; break;
        case REDUCE_MAX_U: if (value > result) result = value; break;
        case REDUCE_AND: result &= value; break;
        case REDUCE_OR: result |= value; break;
        default: result ^= value;
        }
    }
    return result;
}

void answer(ReactantFrame &f, uint32_t first, uint32_t group) {
    for (uint32_t rest = group; rest; rest &= rest - 1) {
        const uint32_t lane = __builtin_ctz(rest), t = first + lane;
        const int kind = kind_of(f.state[t]);
        f.answer[t] = kind == WARP ? 0 : kind <= XOR ? shuffled(f, kind, first, lane, group)
                    : kind < ACTIVEMASK ? agreed(f, kind, first, lane, group)
                    : kind == ACTIVEMASK ? group : reduced(f, kind, first, lane, group);
    }
}

// The lanes of a warp that may go on together, 0 where none waits for its warp.
uint32_t released(const ReactantFrame &f, uint32_t first, uint32_t count) {
    uint32_t waiting = 0;
    for (uint32_t lane = 0; lane < count; ++lane)
        if (f.state[first + lane] >= 0 && kind_of(f.state[first + lane]) >= WARP) waiting |= 1u << lane;
    if (!waiting) return 0;
    uint32_t earliest = 0;
    int32_t earliest_site = 0;
    bool found = false;
    for (uint32_t left = waiting; left;) {
        const int32_t site = f.state[first + __builtin_ctz(left)];
        uint32_t here = 0, complete = 0;
        for (uint32_t rest = left; rest; rest &= rest - 1)
            if (f.state[first + __builtin_ctz(rest)] == site) here |= rest & -rest;
        for (uint32_t rest = here; rest; rest &= rest - 1) {
            const uint32_t lane = __builtin_ctz(rest);
            const uint32_t mask = kind_of(site) == ACTIVEMASK ? ~0u : f.mask[first + lane];
            if (!(mask & waiting & ~here)) complete |= 1u << lane;
        }
        if (complete) return complete;
        if (!found || site < earliest_site) { earliest = here; earliest_site = site; found = true; }
        left &= ~here;
    }
    return earliest;
}

inline void resume(ReactantFrame &f, uint32_t t) { f.state[t] = f.step(&f, t, f.state[t]); }

}  // namespace

// What the 32 threads of a warp get that meet at one operation.
extern "C" void reactant_answer_warp(int32_t kind, uint64_t *x, uint32_t *mask, int32_t *y, int32_t *z, uint64_t *answers) {
    int32_t states[LANES];
    for (int32_t &state : states) state = 1 << 8 | kind;
    ReactantFrame frame{};
    frame.threads = LANES;
    frame.state = states;
    frame.x = x;
    frame.mask = mask;
    frame.y = y;
    frame.z = z;
    frame.answer = answers;
    answer(frame, 0, ~0u);
}

// What all threads of a block get that wait at one barrier.
extern "C" void reactant_reduce_block(ReactantFrame *frame, int32_t state) {
    const int kind = kind_of(state);
    if (kind == BLOCK) return;
    const uint32_t n = frame->threads;
    uint32_t holds = 0;
    for (uint32_t t = 0; t < n; ++t) holds += frame->x[t] != 0;
    const uint64_t result = kind == COUNT ? holds : kind == AND ? holds == n : holds != 0;
    for (uint32_t t = 0; t < n; ++t) frame->answer[t] = result;
}

extern "C" int reactant_run_block(ReactantFrame *frame) {
    ReactantFrame &f = *frame;
    const uint32_t n = f.threads;
    const bool checked = f.launch->kernel->flags & REACTANT_KERNEL_CHECKED;
    // all that are at the start, that the grid has let go, or that went in step with others until now
    for (uint32_t t = 0; t < n; ++t) {
        const int kind = f.state[t] < 0 ? BLOCK : kind_of(f.state[t]);
        if (f.state[t] == 0 || kind == GRID || kind == STEPPED) resume(f, t);
    }
    for (;;) {
        for (uint32_t first = 0; first < n; first += LANES) {
            const uint32_t count = n - first < LANES ? n - first : LANES;
            while (const uint32_t group = released(f, first, count)) {
                if (checked && kind_of(f.state[first + __builtin_ctz(group)]) == WARP)
                    reactant::lanes_meet(first, group);
                answer(f, first, group);
                for (uint32_t rest = group; rest; rest &= rest - 1) resume(f, first + __builtin_ctz(rest));
            }
        }
        uint32_t here = 0, holds = 0, reducing = 0, grid = 0;
        for (uint32_t t = 0; t < n; ++t) {
            if (f.state[t] < 0) continue;
            const int kind = kind_of(f.state[t]);
            if (kind == GRID) { ++grid; continue; }
            ++here;
            if (kind != BLOCK) { ++reducing; holds += f.x[t] != 0; }
        }
        if (!here) return grid != 0;
        if (checked) reactant::block_meets();
        for (uint32_t t = 0; t < n; ++t) {
            if (f.state[t] < 0) continue;
            const int kind = kind_of(f.state[t]);
            if (kind == GRID) continue;
            f.answer[t] = kind == COUNT ? holds : kind == AND ? holds == reducing : holds != 0;
            resume(f, t);
        }
    }
}
