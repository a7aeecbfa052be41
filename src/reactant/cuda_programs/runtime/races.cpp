// --check=race: two threads that access an element with no barrier between, one of which writes. And shared memory that
// is read before it is written.
//
// Threads run one after the other, so that what is found does not depend on luck: each access is held against the last
// ones of other threads by what orders the two, not by when they happened. Accesses of a block are ordered by its
// barriers, of a warp's lanes by __syncwarp, of blocks by barriers of the grid, and by an atomic operation after a
// __threadfence() that an atomic operation of the other block sees. Of what orders too little (all threads of a block
// count as having seen what one of them saw), races may be missed, and none is made up.
#include "checks.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "runtime.h"

namespace reactant {

namespace {

constexpr uint32_t lanes = 32, element = 4;     // a cell is of four bytes, with a bit for each

struct Access {
    const ReactantPlace *place; uint64_t block, stamp; uint32_t epoch, clock; uint16_t thread; uint8_t bytes, how;
};

struct Cell {
    uint64_t launch; Access write, reads[2]; uint8_t written;       // `written`: bytes of shared memory that are
};

constexpr uintptr_t page_bytes = 4096;
struct Page { Cell cells[page_bytes / element]; };

std::unordered_map<uintptr_t, std::unique_ptr<Page>> &pages() {
    static auto *const made = new std::unordered_map<uintptr_t, std::unique_ptr<Page>>;
    return *made;
}

uint64_t time_now = 1;                          // of accesses and fences, in this process
uint64_t grid_time = 0;                         // when the grid met last
// What atomic operations made visible at an address: blocks, and up to when they have written.
std::unordered_map<uintptr_t, std::unordered_map<uint64_t, uint64_t>> &released() {
    static auto *const made = new std::unordered_map<uintptr_t, std::unordered_map<uint64_t, uint64_t>>;
    return *made;
}
uint64_t released_of = 0;                       // the launch that they are of

// Reads of shared memory that nothing has written yet, as they are to be told. A thread that writes it in the same time
// makes a race of it.
struct Unset { uintptr_t at; uint8_t bytes; Access read; std::string text; };
std::vector<Unset> unset;

// A write that may be of what was there already: known when the thread has gone on.
struct Pending { const void *address; uint64_t bytes; char before[16]; Access mine, other; Space space; uint64_t number; };
Pending pending{};

Cell &cell_at(uintptr_t address) {
    static uintptr_t last = 0;
    static Page *page = nullptr;
    const uintptr_t start = address / page_bytes;
    if (start != last || !page) {
        auto &found = pages()[start];
        if (!found) found.reset(new Page());
        page = found.get(), last = start;
    }
    return page->cells[address % page_bytes / element];
}

bool ordered(const Access &old, const CheckedBlock &block, uint32_t thread) {
    if (old.stamp <= grid_time) return true;
    if (old.block == block.number) {
        if (old.epoch != block.epoch || old.thread == thread) return true;
        if (old.thread / lanes == thread / lanes && block.clocks[thread * lanes + old.thread % lanes] >= old.clock)
            return true;
        return block.own[thread] >= old.stamp;
    }
    auto found = block.seen.find(old.block);
    return found != block.seen.end() && found->second >= old.stamp;
}

const char *name_of(const Access &access) {
    return access.how & REACTANT_ATOMIC ? "atomic operation" : access.how & REACTANT_WRITE ? "write" : "read";
}

void tell(const Access &mine, const Access &other, const void *address, Space space, bool same) {
    const bool lower = mine.place < other.place;
    if (!first_of(lower ? mine.place : other.place, lower ? other.place : mine.place, same ? -1 : 1)) return;
    const CheckedBlock &block = *now.block;
    fprintf(stderr, "reactant check: %s: %s%s\n    by %s\n    and %s%s\n    by %s\n    %s; no barrier is between "
            "them%s\n", same ? "note" : "race", name_of(mine), told(mine.place).c_str(), thread_told(block, mine.thread, mine.block).c_str(),
            name_of(other), told(other.place).c_str(), thread_told(block, other.thread, other.block).c_str(),
            memory_told(address, space).c_str(), same ? ", and both write the same value" : "");
}

// Both atomic, both reads, or of other bytes: no race.
bool conflicts(const Access &old, const Access &mine) {
    return old.place && (old.bytes & mine.bytes) && ((old.how | mine.how) & REACTANT_WRITE) &&
           !((old.how & mine.how) & REACTANT_ATOMIC);
}

void compare(Cell &cell, const Access &mine, uintptr_t address, uint64_t bytes, Space space) {
    const CheckedBlock &block = *now.block;
    if (conflicts(cell.write, mine) && !ordered(cell.write, block, mine.thread)) {
        if (mine.how & REACTANT_WRITE && !(mine.how & REACTANT_READ) && bytes <= sizeof pending.before) {
            pending = Pending{(void *)address, bytes, {}, mine, cell.write, space, block.number};
            memcpy(pending.before, (void *)address, bytes);
        } else {
            tell(mine, cell.write, (void *)address, space, false);
        }
    }
    if (mine.how & REACTANT_WRITE)
        for (Access &read : cell.reads)
            if (conflicts(read, mine) && !ordered(read, block, mine.thread))
                tell(mine, read, (void *)address, space, false);
}

void remember(Cell &cell, const Access &mine) {
    if (mine.how & REACTANT_WRITE) {
        cell.write = mine;
        return;
    }
    for (Access &read : cell.reads)             // the thread's own, else the older of two
        if (!read.place || (read.thread == mine.thread && read.block == mine.block)) { read = mine; return; }
    cell.reads[cell.reads[0].stamp > cell.reads[1].stamp] = mine;
}

void read_unset(uintptr_t at, const Access &read) {
    const std::string text = told(read.place) + "\n    by " + thread_told(*now.block, read.thread, read.block) +
                             "\n    " + memory_told((void *)at, Space::shared);
    unset.push_back({at, read.bytes, read, text});
}

void written_late(uintptr_t at, const Access &mine) {
    auto raced = [&](const Unset &each) {
        return each.at == at && each.bytes & mine.bytes && !ordered(each.read, *now.block, mine.thread);
    };
    unset.erase(std::remove_if(unset.begin(), unset.end(), raced), unset.end());
}

// Atomic operations hand on what fences made visible.
void synchronise(uintptr_t address) {
    CheckedBlock &block = *now.block;
    const uint64_t launch = block.frame->launch->number;
    if (released_of != launch) released().clear(), released_of = launch;
    auto found = released().find(address);
    if (found != released().end())
        for (auto [other, stamp] : found->second) {
            uint64_t &known = other == block.number ? block.own[now.thread] : block.seen[other];
            if (stamp > known) known = stamp;
        }
    if (!block.fence) return;
    auto &row = released()[address];
    for (auto [other, stamp] : block.seen)
        if (stamp > row[other]) row[other] = stamp;
    row[block.number] = block.fence;
}

}  // namespace

void lanes_meet(uint32_t first, uint32_t group) {
    CheckedBlock &block = *now.block;
    uint32_t joined[lanes] = {};
    for (uint32_t rest = group; rest; rest &= rest - 1) {
        const uint32_t *clock = &block.clocks[(first + (uint32_t)__builtin_ctz(rest)) * lanes];
        for (uint32_t k = 0; k < lanes; ++k)
            if (clock[k] > joined[k]) joined[k] = clock[k];
    }
    for (uint32_t rest = group; rest; rest &= rest - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(rest);
        uint32_t *clock = &block.clocks[(first + lane) * lanes];
        memcpy(clock, joined, sizeof joined);
        ++clock[lane];
    }
}

void block_meets() { ++now.block->epoch; }

void grid_meets() { grid_time = time_now++; }

void end_of_block() {
    settle();
    for (const Unset &each : unset)
        if (first_of(each.read.place, nullptr, 2))
            fprintf(stderr, "reactant check: read of shared memory that nothing was written to%s\n", each.text.c_str());
    unset.clear();
}

void settle() {
    if (!pending.address) return;
    const Pending last = pending;
    pending.address = nullptr;
    tell(last.mine, last.other, last.address, last.space, memcmp(last.before, last.address, last.bytes) == 0);
}

void begin_races(CheckedBlock &block) {
    block.epoch = 1, block.fence = 0;
    block.seen.clear();
    block.own.assign(block.threads, 0);
    block.clocks.assign((size_t)block.threads * lanes, 0);
    for (uint32_t t = 0; t < block.threads; ++t) block.clocks[t * lanes + t % lanes] = 1;
}

void forget_shared(uintptr_t start, uint64_t bytes) {
    for (uintptr_t at = start / element * element; at < start + bytes; at += element) cell_at(at) = Cell{};
}

void saw(const void *pointer, uint64_t bytes, int32_t how, Space space, const ReactantPlace *place, bool races) {
    if (!races && space == Space::global) return;
    CheckedBlock &block = *now.block;
    const uint64_t launch = block.frame->launch->number;
    const auto start = (uintptr_t)pointer;
    if (races && how & REACTANT_ATOMIC) synchronise(start);
    Access mine{place, block.number, ++time_now, block.epoch, block.clocks[now.thread * lanes + now.thread % lanes],
                (uint16_t)now.thread, 0, (uint8_t)(how & 7)};
    for (uintptr_t at = start / element * element; at < start + bytes; at += element) {
        const unsigned from = at < start ? (unsigned)(start - at) : 0;
        const unsigned to = at + element > start + bytes ? (unsigned)(start + bytes - at) : element;
        mine.bytes = (uint8_t)((1u << to) - (1u << from));
        Cell &cell = cell_at(at);
        if (cell.launch != launch) cell = Cell{}, cell.launch = launch;
        if (space == Space::shared) {
            if (how & REACTANT_READ && mine.bytes & ~cell.written) read_unset(at, mine);
            if (how & REACTANT_WRITE) {
                if (!unset.empty()) written_late(at, mine);
                cell.written |= mine.bytes;
            }
        }
        if (!races) continue;
        compare(cell, mine, start, bytes, space);
        remember(cell, mine);
    }
}

}  // namespace reactant

extern "C" void reactant_check_fence(void) {
    if (reactant::now.block) reactant::now.block->fence = reactant::time_now++;
}
