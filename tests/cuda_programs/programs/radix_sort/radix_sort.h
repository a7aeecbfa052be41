// A stable sort of keys with values, digit by digit from the lowest.
#pragma once
#include "../common.h"

inline void make_inputs(long seed, std::vector<unsigned> &keys, std::vector<unsigned> &values) {
    for (size_t i = 0; i < keys.size(); ++i) {
        keys[i] = unsigned(random_bits(seed, i)) & ~unsigned(random_bits(seed + 1, i) & 0xff);
        values[i] = unsigned(i);
    }
}

inline void finish(const std::vector<unsigned> &before, const std::vector<unsigned> &keys,
                   const std::vector<unsigned> &values, bool check) {
    results("keys", keys);
    results("values", values);
    if (!check) return;
    std::vector<unsigned> order(keys.size()), sorted(keys.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = unsigned(i);
    std::stable_sort(order.begin(), order.end(), [&](unsigned a, unsigned b) { return before[a] < before[b]; });
    for (size_t i = 0; i < order.size(); ++i) sorted[i] = before[order[i]];
    expect("keys", sorted == keys);
    expect("values", order == values);
}
