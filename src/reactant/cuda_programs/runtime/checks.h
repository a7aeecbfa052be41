/* Programs that are compiled with --check tell of each access before it is made (device/checks.py). */
#ifndef REACTANT_CHECKS_H
#define REACTANT_CHECKS_H

#include "reactant_frame.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where an instruction is in the source. */
typedef struct ReactantPlace { const char *file, *function; int32_t line; } ReactantPlace;

enum { REACTANT_READ = 1, REACTANT_WRITE = 2, REACTANT_ATOMIC = 4, REACTANT_LOCAL = 8, REACTANT_DYNAMIC = 16,
       REACTANT_ALIGNED = 256 /* times the alignment */ };

/* An access of `bytes` bytes. `base`: the object of `size` bytes that the address is computed from, where that is known
   (REACTANT_LOCAL: memory of the thread alone; REACTANT_DYNAMIC: dynamic shared memory); else NULL. */
void reactant_check_access(const void *address, uint64_t bytes, int32_t how, const void *base, uint64_t size,
                           const ReactantPlace *place);
/* __threadfence() and what is one. */
void reactant_check_fence(void);
/* A thread goes on. */
void reactant_check_thread(ReactantFrame *frame, uint32_t thread);
/* A block begins; its objects follow: shared memory, and the local arrays of its threads (REACTANT_LOCAL). */
void reactant_check_block(ReactantFrame *frame);
void reactant_check_object(ReactantFrame *frame, void *memory, uint64_t bytes, int32_t flags);

#ifdef __cplusplus
}

#include <string>
#include <unordered_map>
#include <vector>

#include "reactant_program/api.h"

namespace reactant {

// Threads of the block under way meet, and have not gone on yet: lanes of a warp, all at a barrier, all of the grid.
void lanes_meet(uint32_t first, uint32_t group);
void block_meets();
void grid_meets();
extern bool checked_program;                    // it has kernels that are checked

// ---- what the two halves share ----

struct Object { uintptr_t start; uint64_t bytes; int32_t flags; };

// A block under way.
struct CheckedBlock {
    ReactantFrame *frame; uint64_t number; uint32_t threads; uintptr_t stack;
    std::vector<Object> objects;
    uint32_t epoch = 1;                         // barriers of the block that were passed
    std::vector<uint32_t> clocks;               // of each thread: what it knows of the 32 lanes of its warp
    uint64_t fence = 0;                         // when a thread of it last made its writes visible
    std::unordered_map<uint64_t, uint64_t> seen;    // of other blocks: up to when what they wrote is visible here
    std::vector<uint64_t> own;                  // of each thread: the same of its own block, by atomics
};

struct Checked { CheckedBlock *block = nullptr; uint32_t thread = 0; };
extern thread_local Checked now;

enum class Space { global, shared };

// Whether something is to be told: not where it was before, or too much was. It is an error, but for a negative kind.
bool first_of(const void *key, const void *other, int kind);
std::string told(const ReactantPlace *place);
std::string thread_told(const CheckedBlock &block, uint32_t thread, uint64_t number);
std::string memory_told(const void *address, Space space);

void begin_races(CheckedBlock &block);
void forget_shared(uintptr_t start, uint64_t bytes);
// An access that is in its object; `races`: whether the kernel is checked for these.
void saw(const void *address, uint64_t bytes, int32_t how, Space space, const ReactantPlace *place, bool races);
void end_of_block();
void settle();                                  // what the last write wrote is there
void check_at_end();
void failed_call(cudaError_t error);

}
#endif
#endif
