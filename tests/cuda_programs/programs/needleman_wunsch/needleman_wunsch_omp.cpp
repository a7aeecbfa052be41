// needleman_wunsch N GAP SEED [--check]: tiles along anti-diagonals, each row by row in the cache.
#include "needleman_wunsch.h"

constexpr int B = 64;

// What comes from above and from the diagonal is a vector operation; what comes from the left is a running maximum.
static void tile(int *corner, size_t width, const int *a, const int *b, const int *similar, int rows, int columns,
                 int gap) {
    int candidates[B];
    for (int i = 1; i <= rows; ++i) {
        const int *above = corner + (i - 1) * width, *of = similar + a[i - 1] * LETTERS;
        int *here = corner + i * width;
#pragma omp simd
        for (int j = 1; j <= columns; ++j)
            candidates[j - 1] = std::max(above[j - 1] + of[b[j - 1]], above[j] - gap);
        int left = here[0];
        for (int j = 1; j <= columns; ++j)
            here[j] = left = std::max(candidates[j - 1], left - gap);
    }
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int n = (arguments.number(0, 512) + 15) / 16 * 16, gap = arguments.number(1, 10);
    std::vector<int> similar(LETTERS * LETTERS), a(n), b(n);
    make_inputs(n, arguments.number(2, 1), similar, a, b);
    const size_t width = n + 1;
    std::vector<int> scores(width * width);

    const double begun = milliseconds();
    for (int i = 0; i <= n; ++i) scores[i * width] = scores[i] = -i * gap;
    const int across = (n + B - 1) / B;
#pragma omp parallel
    for (int wave = 0; wave < 2 * across - 1; ++wave) {
        const int first = std::max(0, wave - across + 1), last = std::min(wave, across - 1);
#pragma omp for schedule(static)
        for (int k = first; k <= last; ++k) {
            const int row = k * B, column = (wave - k) * B;
            tile(&scores[row * width + column], width, &a[row], &b[column], similar.data(), std::min(B, n - row),
                 std::min(B, n - column), gap);
        }
    }
    const double ended = milliseconds();

    result("score", scores.back());
    results("scores", scores);
    print_times(ended - begun, ended - begun);
    if (arguments.check) expect_close("scores", scores, reference(similar, a, b, n, gap), 0);
}
