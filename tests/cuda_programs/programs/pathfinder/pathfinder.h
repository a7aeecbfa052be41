// The cheapest path through a grid from top to bottom, one of three cells further at each row. The grid is repeated
// downwards some times.
#pragma once
#include "../common.h"

inline void make_inputs(long seed, std::vector<int> &wall) {
    for (size_t i = 0; i < wall.size(); ++i) wall[i] = random_bits(seed, i) % 10;
}

inline std::vector<int> reference(const std::vector<int> &wall, int columns, int rows, int times) {
    std::vector<int> cost(wall.begin(), wall.begin() + columns), next(columns);
    for (int r = 1; r < rows * times; ++r) {
        for (int j = 0; j < columns; ++j)
            next[j] = wall[size_t(r % rows) * columns + j] +
                      std::min(cost[j], std::min(cost[std::max(j - 1, 0)], cost[std::min(j + 1, columns - 1)]));
        cost.swap(next);
    }
    return cost;
}
