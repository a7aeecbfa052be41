// bfs NODES DEGREE SEED [--check]: level by level with masks; chunks of nodes are handed out as threads get free.
#include "bfs.h"

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int nodes = arguments.number(0, 50000), degree = arguments.number(1, 6);
    const Graph g = make_graph(nodes, degree, arguments.number(2, 1));
    std::vector<int> distance(nodes, -1);
    distance[0] = 0;

    const double begun = milliseconds();
    std::vector<unsigned char> frontier(nodes), next(nodes), visited(nodes);
    frontier[0] = visited[0] = 1;
    const double kernel_begun = milliseconds();
    int levels = 0;
    bool more = true;
    while (more) {
        more = false;
#pragma omp parallel for schedule(dynamic, 4096)
        for (int i = 0; i < nodes; ++i) {
            if (!frontier[i]) continue;
            frontier[i] = 0;
            const int further = distance[i] + 1;
            for (int e = g.starts[i]; e < g.starts[i + 1]; ++e) {
                const int other = g.edges[e];
                if (!visited[other]) {              // whoever writes writes the same
                    distance[other] = further;
                    next[other] = 1;
                }
            }
        }
#pragma omp parallel for schedule(static) reduction(|| : more)
        for (int i = 0; i < nodes; ++i)
            if (next[i]) {
                frontier[i] = visited[i] = 1;
                next[i] = 0;
                more = true;
            }
        ++levels;
    }
    const double ended = milliseconds();

    result("levels", levels);
    results("distance", distance);
    print_times(ended - kernel_begun, ended - begun);
    if (arguments.check) expect_close("distance", distance, reference(g, nodes), 0);
}
