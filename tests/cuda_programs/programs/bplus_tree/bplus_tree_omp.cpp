// bplus_tree KEYS QUERIES SEED [--check]: queries are shared out; nodes are searched by halves, leaves in vectors.
#include "bplus_tree.h"

static const Node *leaf_of(const Tree &tree, int key) {
    const Node *node = &tree.nodes[tree.root];
    for (int level = 0; level < tree.height; ++level) {
        const int above = int(std::upper_bound(node->keys, node->keys + node->count, key) - node->keys);
        node = &tree.nodes[node->children[std::max(above - 1, 0)]];
    }
    return node;
}

int main(int argc, char **argv) {
    const Arguments arguments(argc, argv);
    const int keys = arguments.number(0, 100000), count = arguments.number(1, 2000);
    const Tree tree(keys, arguments.number(2, 1));
    const Queries queries(count, keys, arguments.number(2, 1));
    std::vector<int> value(count);
    std::vector<Range> range(count);

    const double begun = milliseconds();
#pragma omp parallel
    {
#pragma omp for schedule(static) nowait
        for (int i = 0; i < count; ++i) {
            const Node *leaf = leaf_of(tree, queries.key[i]);
            const int *end = leaf->keys + leaf->count, *at = std::lower_bound(leaf->keys, end, queries.key[i]);
            value[i] = at < end && *at == queries.key[i] ? leaf->children[at - leaf->keys] : -1;
        }
#pragma omp for schedule(static)
        for (int i = 0; i < count; ++i) {
            const int first = queries.first[i], last = queries.last[i];
            int found = 0, sum = 0;
            const Node *leaf = leaf_of(tree, first);
            while (true) {
#pragma omp simd reduction(+ : found, sum)
                for (int k = 0; k < leaf->count; ++k) {
                    const bool inside = leaf->keys[k] >= first && leaf->keys[k] <= last;
                    found += inside;
                    sum += inside ? leaf->children[k] : 0;
                }
                if (leaf->next < 0 || leaf->keys[leaf->count - 1] > last) break;
                leaf = &tree.nodes[leaf->next];
            }
            range[i] = {found, sum};
        }
    }
    const double ended = milliseconds();

    print_times(ended - begun, ended - begun);
    finish(tree, queries, value, range, arguments.check);
}
