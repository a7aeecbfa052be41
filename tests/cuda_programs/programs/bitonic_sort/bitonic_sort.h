// Batcher's bitonic sort of 2^k numbers.
#pragma once
#include "../common.h"

inline void make_inputs(long seed, std::vector<unsigned> &keys) {
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = unsigned(random_bits(seed, i));
}

inline void finish(const std::vector<unsigned> &before, const std::vector<unsigned> &after, bool check) {
    results("sorted", after);
    if (!check) return;
    std::vector<unsigned> wanted = before;
    std::sort(wanted.begin(), wanted.end());
    expect("sorted", wanted == after);
}
