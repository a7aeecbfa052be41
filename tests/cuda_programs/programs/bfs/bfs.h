// Breadth-first search: the number of edges from the first node to each other one; -1 where there is no way.
#pragma once
#include "../common.h"

struct Graph { std::vector<int> starts, edges; };

// Each node has a few edges to random nodes, and one to a node that is near: neighbours are not all far in memory.
inline Graph make_graph(int nodes, int degree, long seed) {
    Graph g;
    g.starts.resize(nodes + 1);
    for (int i = 0; i < nodes; ++i) {
        const int count = 1 + random_bits(seed, i) % (2 * degree - 1);
        g.starts[i] = int(g.edges.size());
        for (int k = 0; k < count; ++k) {
            const uint64_t r = random_bits(seed + 1, uint64_t(i) * 64 + k);
            g.edges.push_back(k == 0 ? int((i + 1 + r % 64) % nodes) : int(r % nodes));
        }
    }
    g.starts[nodes] = int(g.edges.size());
    return g;
}

inline std::vector<int> reference(const Graph &g, int nodes) {
    std::vector<int> distance(nodes, -1), queue{0};
    distance[0] = 0;
    for (size_t head = 0; head < queue.size(); ++head) {
        const int i = queue[head];
        for (int e = g.starts[i]; e < g.starts[i + 1]; ++e)
            if (distance[g.edges[e]] < 0) {
                distance[g.edges[e]] = distance[i] + 1;
                queue.push_back(g.edges[e]);
            }
    }
    return distance;
}
