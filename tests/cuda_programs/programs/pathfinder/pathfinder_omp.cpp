// pathfinder COLUMNS ROWS TIMES SEED [--check]: row by row, columns shared out and in vectors; one team of threads.
#include "pathfinder.h"

constexpr int STRIP = 4096;

static int cheaper(int a, int b) { return a < b ? a : b; }

// Row `row` on top of the costs so far, columns first ... last - 1 of the inner ones.
static void row_down(const int *__restrict row, const int *__restrict from, int *__restrict to, int first, int last) {
#pragma omp simd
    for (int j = first; j < last; ++j) to[j] = row[j] + cheaper(from[j], cheaper(from[j - 1], from[j + 1]));
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int columns = arguments.number(0, 20000), rows = arguments.number(1, 100), times = arguments.number(2, 1);
    std::vector<int> wall(size_t(columns) * rows);
    make_inputs(arguments.number(3, 1), wall);

    const double begun = milliseconds();
    std::vector<int> cost(wall.begin(), wall.begin() + columns), other(columns);
#pragma omp parallel
    {
        int *from = cost.data(), *to = other.data();
        for (int r = 1; r < rows * times; ++r) {
            const int *__restrict row = &wall[size_t(r % rows) * columns];
#pragma omp single nowait
            {
                to[0] = row[0] + std::min(from[0], from[std::min(1, columns - 1)]);
                to[columns - 1] = row[columns - 1] + std::min(from[columns - 1], from[std::max(columns - 2, 0)]);
            }
#pragma omp for schedule(static)
            for (int first = 1; first < columns - 1; first += STRIP)
                row_down(row, from, to, first, std::min(first + STRIP, columns - 1));
            std::swap(from, to);
        }
    }
    if (rows * times % 2 == 0) cost.swap(other);
    const double ended = milliseconds();

    result("cheapest", *std::min_element(cost.begin(), cost.end()));
    results("cost", cost);
    print_times(ended - begun, ended - begun);
    if (arguments.check) expect_close("cost", cost, reference(wall, columns, rows, times), 0);
}
