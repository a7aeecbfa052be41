// xsbench LOOKUPS NUCLIDES POINTS SEED [--check]: look-ups are handed out in chunks.
#include "xsbench.h"

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int lookups = arguments.number(0, 20000);
    const long seed = arguments.number(3, 1);
    const Data data(std::max(34l, arguments.number(1, 68)), arguments.number(2, 1000), seed);

    const double begun = milliseconds();
    const GridPoint *grids = data.grids.data();
    const int *counts = data.counts.data(), *members = data.members.data();
    const double *densities = data.densities.data();
    long verification = 0;
    double sums[CHANNELS] = {};
#pragma omp parallel for schedule(dynamic, 128) reduction(+ : verification, sums[:CHANNELS])
    for (int i = 0; i < lookups; ++i) {
        double macro[CHANNELS];
        look_up(macro, grids, counts, members, densities, data.points, seed, i);
        verification += largest(macro);
        for (int k = 0; k < CHANNELS; ++k) sums[k] += macro[k];
    }
    const double ended = milliseconds();

    result("verification", double(verification));
    results("macro", sums, CHANNELS);
    print_times(ended - begun, ended - begun);
    if (arguments.check) expect("verification", verification == reference(data, lookups, seed));
}
