// Lagrangian hydrodynamics of a blast on an unstructured mesh of quadrilaterals: velocities at nodes, energies in
// elements, forces at corners from pressure, artificial viscosity and hourglass damping; elements lose their work.
#pragma once
#include "../common.h"

constexpr int CORNERS = 4;
constexpr double GAMMA = 1.4, LINEAR = 0.5, QUADRATIC = 1.2, HOURGLASS = 0.1, COURANT = 0.25;

struct Mesh {
    int side, elements, nodes;
    std::vector<int> corner_nodes;                   // corner by corner
    std::vector<int> starts, corners;                // of each node: numbers of corners (corner * elements + element)
    std::vector<unsigned char> fixed;                // of each node: 1 not in x, 2 not in y
    std::vector<double> x, y, vx, vy, node_mass, mass, energy;

    explicit Mesh(int side) : side(side), elements(side * side), nodes((side + 1) * (side + 1)),
                              corner_nodes(CORNERS * elements), starts(nodes + 1), fixed(nodes), x(nodes), y(nodes),
                              vx(nodes), vy(nodes), node_mass(nodes), mass(elements), energy(elements, 1e-6) {
        const double h = 1.0 / side;
        for (int j = 0; j <= side; ++j)
            for (int i = 0; i <= side; ++i) {
                const int n = j * (side + 1) + i;
                x[n] = i * h;
                y[n] = j * h;
                fixed[n] = (i == 0 ? 1 : 0) | (j == 0 ? 2 : 0);
            }
        std::vector<std::vector<int>> around(nodes);
        for (int e = 0; e < elements; ++e) {
            const int n = e / side * (side + 1) + e % side, own[CORNERS] = {n, n + 1, n + side + 2, n + side + 1};
            mass[e] = h * h;
            for (int c = 0; c < CORNERS; ++c) {
                corner_nodes[c * elements + e] = own[c];
                around[own[c]].push_back(c * elements + e);
                node_mass[own[c]] += mass[e] / CORNERS;
            }
        }
        for (int n = 0; n < nodes; ++n) {
            starts[n] = int(corners.size());
            corners.insert(corners.end(), around[n].begin(), around[n].end());
        }
        starts[nodes] = int(corners.size());
        energy[0] = 0.25 / (h * h);                  // the blast
    }
};

struct Element { double force_x[CORNERS], force_y[CORNERS], step; };

// Forces at an element's corners, and the longest step that it allows.
HOST_DEVICE inline Element corner_forces(const double *px, const double *py, const double *vx, const double *vy,
                                         double mass, double energy) {
    Element r;
    double dx[CORNERS], dy[CORNERS];                 // derivatives of the area
    for (int c = 0; c < CORNERS; ++c) {
        const int after = (c + 1) % CORNERS, before = (c + 3) % CORNERS;
        dx[c] = 0.5 * (py[after] - py[before]);
        dy[c] = 0.5 * (px[before] - px[after]);
    }
    double area = 0, change = 0, hx = 0, hy = 0;
    for (int c = 0; c < CORNERS; ++c) {
        area += 0.5 * px[c] * dx[c] + 0.5 * py[c] * dy[c];
        change += vx[c] * dx[c] + vy[c] * dy[c];
        hx += (c % 2 ? -0.25 : 0.25) * vx[c];
        hy += (c % 2 ? -0.25 : 0.25) * vy[c];
    }
    const double density = mass / area, pressure = (GAMMA - 1) * density * energy, length = sqrt(area);
    const double sound = sqrt(GAMMA * (GAMMA - 1) * energy), jump = change < 0 ? -change / length : 0;
    const double total = pressure + density * jump * (LINEAR * sound + QUADRATIC * jump);
    const double damping = HOURGLASS * density * length * (sound + jump);
    for (int c = 0; c < CORNERS; ++c) {
        r.force_x[c] = total * dx[c] - (c % 2 ? -damping : damping) * hx;
        r.force_y[c] = total * dy[c] - (c % 2 ? -damping : damping) * hy;
    }
    r.step = COURANT * length / (sound + 2 * jump + 1e-9);
    return r;
}

// What the next step may be: 2 % more than the last one at most.
HOST_DEVICE inline double next_step(double allowed, double last) {
    return allowed < 1.02 * last ? allowed : 1.02 * last;
}
constexpr double FIRST_STEP = 1e-6;

inline void finish(const Mesh &m, double time) {
    double total = 0;
    for (int e = 0; e < m.elements; ++e) total += m.mass[e] * m.energy[e];
    for (int n = 0; n < m.nodes; ++n) total += 0.5 * m.node_mass[n] * (m.vx[n] * m.vx[n] + m.vy[n] * m.vy[n]);
    result("time", time);
    result("total_energy", total);
    results("energy", m.energy);
    results("x", m.x);
}

inline double reference(Mesh &m, int steps) {
    double step = FIRST_STEP, time = 0;
    std::vector<double> fx(CORNERS * size_t(m.elements)), fy(fx), mx(m.nodes), my(m.nodes);
    for (int k = 0; k < steps; ++k) {
        double allowed = 1e30;
        for (int e = 0; e < m.elements; ++e) {
            double px[CORNERS], py[CORNERS], vx[CORNERS], vy[CORNERS];
            for (int c = 0; c < CORNERS; ++c) {
                const int n = m.corner_nodes[c * m.elements + e];
                px[c] = m.x[n]; py[c] = m.y[n]; vx[c] = m.vx[n]; vy[c] = m.vy[n];
            }
            const Element r = corner_forces(px, py, vx, vy, m.mass[e], m.energy[e]);
            for (int c = 0; c < CORNERS; ++c) {
                fx[c * m.elements + e] = r.force_x[c];
                fy[c * m.elements + e] = r.force_y[c];
            }
            allowed = std::min(allowed, r.step);
        }
        step = next_step(allowed, step);
        time += step;
        for (int n = 0; n < m.nodes; ++n) {
            double ax = 0, ay = 0;
            for (int s = m.starts[n]; s < m.starts[n + 1]; ++s) { ax += fx[m.corners[s]]; ay += fy[m.corners[s]]; }
            const double ox = m.vx[n], oy = m.vy[n];
            m.vx[n] = m.fixed[n] & 1 ? 0 : ox + step * ax / m.node_mass[n];
            m.vy[n] = m.fixed[n] & 2 ? 0 : oy + step * ay / m.node_mass[n];
            mx[n] = 0.5 * (ox + m.vx[n]);
            my[n] = 0.5 * (oy + m.vy[n]);
            m.x[n] += step * mx[n];
            m.y[n] += step * my[n];
        }
        for (int e = 0; e < m.elements; ++e) {
            double work = 0;
            for (int c = 0; c < CORNERS; ++c) {
                const int n = m.corner_nodes[c * m.elements + e];
                work += fx[c * m.elements + e] * mx[n] + fy[c * m.elements + e] * my[n];
            }
            m.energy[e] = std::max(m.energy[e] - step * work / m.mass[e], 1e-9);
        }
    }
    return time;
}
