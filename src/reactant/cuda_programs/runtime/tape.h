// Which numbers of the host come from which: for derivatives of host functions (src/reactant/cuda/tapes.py reads it).
//
// A number's identity is 0 (a constant), of a leaf (bit 63, the number of a range << 40, a byte in it) or of a node
// (its place in the tape + 1). Memory has identities where host code that was compiled for it stored such numbers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace reactant {

// Identities of bytes [offset, offset + size * count) of a piece of memory: `count` numbers of `size` bytes whose
// identities go up by `size` (a leaf's bytes), or one number.
struct TapeRun { uint64_t offset, identity; uint32_t size, count; };

bool taping();
// Bytes that the device wrote, or an argument's: a new range of leaves; returns its number.
uint64_t tape_range(const void *memory, uint64_t bytes);
void tape_forget(const void *memory, uint64_t bytes);
std::vector<TapeRun> tape_runs(const void *memory, uint64_t bytes);

}  // namespace reactant

extern "C" void reactant_tape_copy(void *to, const void *from, uint64_t bytes);
