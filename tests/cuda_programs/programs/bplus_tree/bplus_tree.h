// A B+ tree of many keys in arrays: queries for one key, and for how many keys, and which sum, a range holds.
#pragma once
#include "../common.h"

constexpr int ORDER = 64;                            // children of a node

struct Node {
    int count;                                       // of keys
    int keys[ORDER];                                 // inside: the smallest key below each child, leaves: keys
    int children[ORDER];                             // leaves: values
    int next;                                        // leaves: the leaf to the right, -1 at the end
};

struct Tree {
    std::vector<Node> nodes;
    int root, height;                                // levels above the leaves

    // Bulk loaded from sorted keys (3 i + a small random number), leaves filled to three quarters.
    Tree(int keys, long seed) : height(0) {
        std::vector<int> level;
        const int fill = ORDER * 3 / 4;
        for (int i = 0; i < keys; i += fill) {
            Node leaf = {};
            leaf.count = std::min(fill, keys - i);
            for (int k = 0; k < leaf.count; ++k) {
                leaf.keys[k] = 3 * (i + k) + int(random_bits(seed, i + k) % 3);
                leaf.children[k] = int(random_bits(seed + 1, i + k) % 1000);
            }
            leaf.next = i + fill < keys ? int(nodes.size()) + 1 : -1;
            level.push_back(int(nodes.size()));
            nodes.push_back(leaf);
        }
        while (level.size() > 1) {
            std::vector<int> above;
            for (size_t i = 0; i < level.size(); i += fill) {
                Node node = {};
                node.count = int(std::min(size_t(fill), level.size() - i));
                for (int k = 0; k < node.count; ++k) {
                    node.keys[k] = nodes[level[i + k]].keys[0];
                    node.children[k] = level[i + k];
                }
                node.next = -1;
                above.push_back(int(nodes.size()));
                nodes.push_back(node);
            }
            level = above;
            ++height;
        }
        root = level[0];
    }
};

struct Queries {
    std::vector<int> key, first, last;
    Queries(int count, int keys, long seed) : key(count), first(count), last(count) {
        for (int i = 0; i < count; ++i) {
            key[i] = int(random_bits(seed + 2, i) % (3 * uint64_t(keys)));
            first[i] = int(random_bits(seed + 3, i) % (3 * uint64_t(keys)));
            last[i] = first[i] + int(random_bits(seed + 4, i) % 600);
        }
    }
};

struct Range { int count, sum; };

inline void reference(const Tree &t, const Queries &q, std::vector<int> &value, std::vector<Range> &range) {
    std::vector<int> keys, values;
    for (int n = 0; n >= 0; n = t.nodes[n].next)
        for (int k = 0; k < t.nodes[n].count; ++k) {
            keys.push_back(t.nodes[n].keys[k]);
            values.push_back(t.nodes[n].children[k]);
        }
    for (size_t i = 0; i < q.key.size(); ++i) {
        const size_t k = std::lower_bound(keys.begin(), keys.end(), q.key[i]) - keys.begin();
        value[i] = k < keys.size() && keys[k] == q.key[i] ? values[k] : -1;
        range[i] = {0, 0};
        for (size_t r = std::lower_bound(keys.begin(), keys.end(), q.first[i]) - keys.begin();
             r < keys.size() && keys[r] <= q.last[i]; ++r) {
            ++range[i].count;
            range[i].sum += values[r];
        }
    }
}

inline void finish(const Tree &t, const Queries &q, const std::vector<int> &value, const std::vector<Range> &range,
                   bool check) {
    results("value", value);
    results("range", &range[0].count, 2 * range.size());
    if (!check) return;
    std::vector<int> wanted(value.size());
    std::vector<Range> wanted_range(range.size());
    reference(t, q, wanted, wanted_range);
    expect_close("value", value, wanted, 0);
    expect_close("range", &range[0].count, &wanted_range[0].count, 2 * range.size(), 0);
}
