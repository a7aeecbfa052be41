// Facility location by local search: is it a gain to open a centre at a point, move who is nearer, close others?
#pragma once
#include "../common.h"

struct Problem {
    int points, dimensions, candidates;
    double open_cost;
    std::vector<float> x;                       // coordinate by coordinate
    std::vector<int> centre;                    // of each point: number of a point
    std::vector<float> cost;                    // squared distance to it

    Problem(int points, int dimensions, int candidates, long seed)
        : points(points), dimensions(dimensions), candidates(candidates), open_cost(points / 40.0 * dimensions / 16.0),
          x(size_t(points) * dimensions), centre(points), cost(points) {
        for (int d = 0; d < dimensions; ++d)
            for (int i = 0; i < points; ++i)
                x[size_t(d) * points + i] = random_float(seed, (random_bits(seed + 1, i) % 20) * 4096 + d) +
                                            0.4f * random_float(seed + 2, size_t(d) * points + i);
        for (int i = 0; i < points; ++i) cost[i] = distance(i, 0);
    }
    float distance(int i, int j) const {
        float sum = 0;
        for (int d = 0; d < dimensions; ++d) {
            const float v = x[size_t(d) * points + i] - x[size_t(d) * points + j];
            sum += v * v;
        }
        return sum;
    }
    int candidate(int k, long seed) const { return int(random_bits(seed + 3, k) % points); }

    // What is saved, from the savings by those who move and what closing each centre costs those that stay.
    // Says who is closed.
    double gain(double moved, const std::vector<double> &stay, const std::vector<int> &open, std::vector<char> &closed)
        const {
        double sum = moved - open_cost;
        for (size_t k = 0; k < open.size(); ++k) {
            closed[k] = open_cost - stay[k] > 0;
            if (closed[k]) sum += open_cost - stay[k];
        }
        return sum;
    }
    double total(size_t centres) const {
        double sum = open_cost * centres;
        for (float c : cost) sum += c;
        return sum;
    }
};
// Differences are rounded to this before they are added: sums do not depend on the order in which threads add.
constexpr double QUANTUM = 1.0 / (1 << 20);

inline double reference(Problem &p, long seed, int &centres) {
    std::vector<int> open{0}, place(p.points, -1);
    place[0] = 0;
    for (int k = 0; k < p.candidates; ++k) {
        const int c = p.candidate(k, seed);
        if (place[c] >= 0) continue;
        std::vector<long long> lower(open.size());
        long long moved = 0;
        std::vector<float> d(p.points);
        for (int i = 0; i < p.points; ++i) {
            d[i] = p.distance(i, c);
            const long long difference = (long long)std::floor(double(d[i] - p.cost[i]) / QUANTUM);
            if (difference < 0) moved -= difference;
            else lower[place[p.centre[i]]] += difference;
        }
        std::vector<double> stay;
        for (long long v : lower) stay.push_back(v * QUANTUM);
        std::vector<char> closed(open.size());
        if (p.gain(moved * QUANTUM, stay, open, closed) <= 0) continue;
        for (int i = 0; i < p.points; ++i)
            if (d[i] < p.cost[i] || closed[place[p.centre[i]]]) { p.centre[i] = c; p.cost[i] = d[i]; }
        std::vector<int> kept;
        for (size_t m = 0; m < open.size(); ++m) if (!closed[m]) kept.push_back(open[m]);
        kept.push_back(c);
        open = kept;
        std::fill(place.begin(), place.end(), -1);
        for (size_t m = 0; m < open.size(); ++m) place[open[m]] = int(m);
    }
    centres = int(open.size());
    return p.total(open.size());
}
