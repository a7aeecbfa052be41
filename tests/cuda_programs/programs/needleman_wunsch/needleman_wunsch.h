// Global alignment of two sequences (Needleman and Wunsch, 1970): the matrix of scores with a linear gap penalty.
#pragma once
#include "../common.h"

constexpr int LETTERS = 24;

// A symmetric table of similarities, and two sequences of which the second is a changed copy of the first.
inline void make_inputs(int n, long seed, std::vector<int> &similar, std::vector<int> &a, std::vector<int> &b) {
    for (int i = 0; i < LETTERS; ++i)
        for (int j = 0; j <= i; ++j)
            similar[i * LETTERS + j] = similar[j * LETTERS + i] =
                i == j ? 4 + int(random_bits(seed, i) % 6) : int(random_bits(seed + 1, i * LETTERS + j) % 7) - 4;
    for (int i = 0; i < n; ++i) {
        a[i] = random_bits(seed + 2, i) % LETTERS;
        b[i] = random_unit(seed + 3, i) < 0.7 ? a[i] : int(random_bits(seed + 4, i) % LETTERS);
    }
}

// Scores have n + 1 rows and columns; the first are gaps alone.
inline std::vector<int> reference(const std::vector<int> &similar, const std::vector<int> &a, const std::vector<int> &b,
                                  int n, int gap) {
    const size_t width = n + 1;
    std::vector<int> s(width * width);
    for (int i = 0; i <= n; ++i) s[i * width] = s[i] = -i * gap;
    for (int i = 1; i <= n; ++i)
        for (int j = 1; j <= n; ++j)
            s[i * width + j] = std::max(s[(i - 1) * width + j - 1] + similar[a[i - 1] * LETTERS + b[j - 1]],
                                        std::max(s[(i - 1) * width + j], s[i * width + j - 1]) - gap);
    return s;
}
