"""Particles, graphs, dynamic programming, networks: indirect accesses and loops that depend on data."""
import math

import numpy as np
from numba import cuda

from tests.kernels.corpus.case import Case, blocks

CASES = []

# ---- particles -------------------------------------------------------------------------------------------------


@cuda.jit
def forces(x, y, m, fx, fy, n):
    xs = cuda.shared.array(16, "float64")
    ys = cuda.shared.array(16, "float64")
    ms = cuda.shared.array(16, "float64")
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    xi = x[i] if i < n else 0.0
    yi = y[i] if i < n else 0.0
    ax, ay = 0.0, 0.0
    for tile in range((n + 15) // 16):
        j = tile * 16 + t
        xs[t] = x[j] if j < n else 0.0
        ys[t] = y[j] if j < n else 0.0
        ms[t] = m[j] if j < n else 0.0
        cuda.syncthreads()
        for k in range(16):
            dx, dy = xs[k] - xi, ys[k] - yi
            r2 = dx * dx + dy * dy + 0.01
            w = ms[k] / (r2 * math.sqrt(r2))
            ax += w * dx
            ay += w * dy
        cuda.syncthreads()
    if i < n:
        fx[i] = ax
        fy[i] = ay


@cuda.jit
def drift(x, v, f, dt, n):
    i = cuda.grid(1)
    if i < n:
        v[i] += dt * f[i]
        x[i] += dt * v[i]


@cuda.jit
def deposit(x, charge, grid, n, cells):
    i = cuda.grid(1)
    if i < n:
        place = x[i] * cells
        cell = int(math.floor(place))
        weight = place - cell
        cuda.atomic.add(grid, cell % cells, (1 - weight) * charge[i])
        cuda.atomic.add(grid, (cell + 1) % cells, weight * charge[i])


@cuda.jit
def interpolate(x, grid, field, n, cells):
    i = cuda.grid(1)
    if i < n:
        place = x[i] * cells
        cell = int(place)
        weight = place - cell
        field[i] = (1 - weight) * grid[cell % cells] + weight * grid[(cell + 1) % cells]


def _particles(k, x, y, m, fx, fy, vx, unit, grid, field):
    n = len(x)
    k.forces[blocks(n, 16), 16](x, y, m, fx, fy, n)
    k.drift[blocks(n, 32), 32](x, vx, fx, 0.01, n)
    k.deposit[blocks(n, 32), 32](unit, m, grid, n, 8)
    k.interpolate[blocks(n, 32), 32](unit, grid, field, n, 8)


def _particles_reference(x, y, m, fx, fy, vx, unit, grid, field):
    dx, dy = x - x[:, None], y - y[:, None]
    r2 = dx * dx + dy * dy + 0.01
    w = m / r2 ** 1.5
    fx[:], fy[:] = (w * dx).sum(1), (w * dy).sum(1)
    vx += 0.01 * fx
    x += 0.01 * vx
    cell = np.floor(unit * 8).astype(int)
    weight = unit * 8 - cell
    np.add.at(grid, cell % 8, (1 - weight) * m)
    np.add.at(grid, (cell + 1) % 8, weight * m)
    field[:] = (1 - weight) * grid[cell % 8] + weight * grid[(cell + 1) % 8]


CASES.append(Case("particles", {"forces": forces, "drift": drift, "deposit": deposit, "interpolate": interpolate}, """
extern "C" __global__ void forces(const double *x, const double *y, const double *m, double *fx, double *fy, int n) {
    __shared__ double3 tile[16];
    int t = threadIdx.x, i = blockIdx.x * 16 + t;
    double xi = i < n ? x[i] : 0, yi = i < n ? y[i] : 0, ax = 0, ay = 0;
    for (int start = 0; start < n; start += 16) {
        int j = start + t;
        tile[t] = j < n ? make_double3(x[j], y[j], m[j]) : make_double3(0, 0, 0);
        __syncthreads();
        for (int k = 0; k < 16; ++k) {
            double dx = tile[k].x - xi, dy = tile[k].y - yi, r2 = dx * dx + dy * dy + 0.01;
            double w = tile[k].z / (r2 * sqrt(r2));
            ax += w * dx; ay += w * dy;
        }
        __syncthreads();
    }
    if (i < n) { fx[i] = ax; fy[i] = ay; }
}
#define I int i = blockIdx.x * blockDim.x + threadIdx.x
extern "C" __global__ void drift(double *x, double *v, const double *f, double dt, int n) {
    I;
    if (i < n) { v[i] += dt * f[i]; x[i] += dt * v[i]; }
}
extern "C" __global__ void deposit(const double *x, const double *charge, double *grid, int n, int cells) {
    I;
    if (i >= n) return;
    double place = x[i] * cells;
    int cell = (int)floor(place);
    double weight = place - cell;
    atomicAdd(&grid[cell % cells], (1 - weight) * charge[i]);
    atomicAdd(&grid[(cell + 1) % cells], weight * charge[i]);
}
extern "C" __global__ void interpolate(const double *x, const double *grid, double *field, int n, int cells) {
    I;
    if (i >= n) return;
    double place = x[i] * cells;
    int cell = (int)place;
    double weight = place - cell;
    field[i] = (1 - weight) * grid[cell % cells] + weight * grid[(cell + 1) % cells];
}""", lambda r: (r.random(37), r.random(37), r.random(37), np.zeros(37), np.zeros(37), np.zeros(37), r.random(37),
                 np.zeros(8), np.zeros(37)), _particles, _particles_reference))

# ---- nodes and elements of an unstructured mesh ----------------------------------------------------------------


@cuda.jit
def gather_nodes(nodes, corners, volumes, n):
    e = cuda.grid(1)
    if e < n:
        local = cuda.local.array(8, "float64")
        for k in range(8):
            local[k] = nodes[corners[e, k]]
        low, high, total = local[0], local[0], 0.0
        for k in range(8):
            low = min(low, local[k])
            high = max(high, local[k])
            total += local[k]
        volumes[e] = total / 8 + (high - low)


@cuda.jit
def scatter_elements(forces_of_nodes, corners, volumes, n):
    e = cuda.grid(1)
    if e < n:
        for k in range(8):
            cuda.atomic.add(forces_of_nodes, corners[e, k], volumes[e] / 8)


def _mesh(k, nodes, corners, volumes, out):
    k.gather_nodes[2, 16](nodes, corners, volumes, 27)
    k.scatter_elements[2, 16](out, corners, volumes, 27)


def _mesh_reference(nodes, corners, volumes, out):
    local = nodes[corners]
    volumes[:] = local.mean(1) + local.max(1) - local.min(1)
    np.add.at(out, corners, volumes[:, None] / 8)


def _mesh_arguments(r):
    e = np.indices((3, 3, 3)).reshape(3, -1).T
    offsets = np.indices((2, 2, 2)).reshape(3, -1).T
    corners = ((e[:, None] + offsets) * [16, 4, 1]).sum(-1).astype(np.int32)
    return r.random(64), corners, np.zeros(27), np.zeros(64)


CASES.append(Case("mesh", {"gather_nodes": gather_nodes, "scatter_elements": scatter_elements}, """
extern "C" __global__ void gather_nodes(const double *nodes, const int *corners, double *volumes, int n) {
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= n) return;
    double local[8], total = 0;
    for (int k = 0; k < 8; ++k) local[k] = nodes[corners[e * 8 + k]];
    double low = local[0], high = local[0];
    for (int k = 0; k < 8; ++k) { low = fmin(low, local[k]); high = fmax(high, local[k]); total += local[k]; }
    volumes[e] = total / 8 + (high - low);
}
extern "C" __global__ void scatter_elements(double *forces, const int *corners, const double *volumes, int n) {
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= n) return;
    for (int k = 0; k < 8; ++k) atomicAdd(&forces[corners[e * 8 + k]], volumes[e] / 8);
}""", _mesh_arguments, _mesh, _mesh_reference))

# ---- dynamic programming: pathfinder, Needleman-Wunsch, Floyd-Warshall ------------------------------------------


@cuda.jit
def pathfinder(wall, source, result, columns, start, steps):
    previous = cuda.shared.array(32, "int32")
    t = cuda.threadIdx.x
    j = cuda.blockIdx.x * (32 - 2 * steps) - steps + t
    previous[t] = source[j] if 0 <= j < columns else 1000000
    cuda.syncthreads()
    value = previous[t]
    for i in range(steps):
        if i + 1 <= t <= 30 - i and 0 <= j < columns:
            left, right = previous[t - 1], previous[t + 1]
            value = min(previous[t], min(left, right)) + wall[start + i, j]
        cuda.syncthreads()
        previous[t] = value
        cuda.syncthreads()
    if steps <= t < 32 - steps and 0 <= j < columns:
        result[j] = previous[t]


@cuda.jit
def align(scores, similarity, width, penalty, diagonal, blocks_x):
    tile = cuda.shared.array((9, 9), "int32")
    t = cuda.threadIdx.x
    bx = cuda.blockIdx.x + blocks_x
    by = diagonal - bx
    row, column = by * 8, bx * 8
    tile[t + 1, 0] = scores[row + t + 1, column]
    tile[0, t + 1] = scores[row, column + t + 1]
    if t == 0:
        tile[0, 0] = scores[row, column]
    cuda.syncthreads()
    for m in range(15):
        i = m - t
        if 0 <= i < 8:
            match = tile[i, t] + similarity[row + i + 1, column + t + 1]
            tile[i + 1, t + 1] = max(match, max(tile[i + 1, t] - penalty, tile[i, t + 1] - penalty))
        cuda.syncthreads()
    for i in range(8):
        scores[row + i + 1, column + t + 1] = tile[i + 1, t + 1]


@cuda.jit
def floyd_warshall(distance, n, k):
    i, j = cuda.grid(2)
    if i < n and j < n:
        through = distance[i, k] + distance[k, j]
        if through < distance[i, j]:
            distance[i, j] = through


def _programming(k, wall, source, result, scores, similarity, distance):
    for start in range(0, 6, 2):
        k.pathfinder[2, 32](wall, source, result, 50, start, 2)
        source[:] = result
    for diagonal in range(3):
        first = max(0, diagonal - 1)
        k.align[min(diagonal, 1) - first + 1, 8](scores, similarity, 17, 2, diagonal, first)
    for middle in range(9):
        k.floyd_warshall[(2, 2), (8, 8)](distance, 9, middle)


def _programming_reference(wall, source, result, scores, similarity, distance):
    for row in wall[:6]:
        p = np.pad(source, 1, constant_values=1000000)
        source[:] = np.minimum(np.minimum(p[:-2], p[2:]), source) + row
    result[:] = source
    for i in range(1, 17):
        for j in range(1, 17):
            scores[i, j] = max(scores[i - 1, j - 1] + similarity[i, j], scores[i, j - 1] - 2, scores[i - 1, j] - 2)
    for middle in range(9):
        np.minimum(distance, distance[:, middle, None] + distance[middle], out=distance)


def _programming_arguments(r):
    scores = np.zeros((17, 17), np.int32)
    scores[0] = scores[:, 0] = -2 * np.arange(17)
    return (r.integers(0, 10, (6, 50)).astype(np.int32), r.integers(0, 10, 50).astype(np.int32), np.zeros(50, np.int32),
            scores, r.integers(-3, 4, (17, 17)).astype(np.int32), r.integers(1, 100, (9, 9)).astype(np.int32))


CASES.append(Case("programming", {"pathfinder": pathfinder, "align": align, "floyd_warshall": floyd_warshall}, """
extern "C" __global__ void pathfinder(const int *wall, const int *source, int *result, int columns, int start,
                                      int steps) {
    __shared__ int previous[32], next[32];
    int t = threadIdx.x, j = blockIdx.x * (32 - 2 * steps) - steps + t;
    previous[t] = j >= 0 && j < columns ? source[j] : 1000000;
    __syncthreads();
    for (int i = 0; i < steps; ++i) {
        bool computed = false;
        if (t >= i + 1 && t <= 30 - i && j >= 0 && j < columns) {
            computed = true;
            next[t] = min(previous[t], min(previous[t - 1], previous[t + 1])) + wall[(start + i) * columns + j];
        }
        __syncthreads();
        if (i == steps - 1) {
            if (computed && t >= steps && t < 32 - steps) result[j] = next[t];
            break;
        }
        if (computed) previous[t] = next[t];
        __syncthreads();
    }
}
extern "C" __global__ void align(int *scores, const int *similarity, int width, int penalty, int diagonal,
                                 int blocks_x) {
    __shared__ int tile[9][9];
    int t = threadIdx.x, bx = blockIdx.x + blocks_x, by = diagonal - bx, row = by * 8, column = bx * 8;
    tile[t + 1][0] = scores[(row + t + 1) * width + column];
    tile[0][t + 1] = scores[row * width + column + t + 1];
    if (t == 0) tile[0][0] = scores[row * width + column];
    __syncthreads();
    for (int m = 0; m < 15; ++m) {
        int i = m - t;
        if (i >= 0 && i < 8) {
            int match = tile[i][t] + similarity[(row + i + 1) * width + column + t + 1];
            tile[i + 1][t + 1] = max(match, max(tile[i + 1][t] - penalty, tile[i][t + 1] - penalty));
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; ++i) scores[(row + i + 1) * width + column + t + 1] = tile[i + 1][t + 1];
}
extern "C" __global__ void floyd_warshall(int *distance, int n, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    int through = distance[i * n + k] + distance[k * n + j];
    if (through < distance[i * n + j]) distance[i * n + j] = through;
}""", _programming_arguments, _programming, _programming_reference))

# ---- graphs and clusters ---------------------------------------------------------------------------------------


@cuda.jit
def bfs_visit(starts, edges, frontier, updating, visited, cost, n):
    i = cuda.grid(1)
    if i < n and frontier[i]:
        frontier[i] = 0
        for k in range(starts[i], starts[i + 1]):
            other = edges[k]
            if not visited[other]:
                cost[other] = cost[i] + 1
                updating[other] = 1


@cuda.jit
def bfs_update(frontier, updating, visited, again, n):
    i = cuda.grid(1)
    if i < n and updating[i]:
        frontier[i] = 1
        visited[i] = 1
        again[0] = 1
        updating[i] = 0


@cuda.jit
def nearest(locations, distances, latitude, longitude, n):
    i = cuda.grid(1)
    if i < n:
        a, b = locations[i, 0] - latitude, locations[i, 1] - longitude
        distances[i] = math.sqrt(a * a + b * b)


@cuda.jit
def assign(points, centres, membership, n, clusters, features):
    i = cuda.grid(1)
    if i < n:
        best, index = 1e300, 0
        for c in range(clusters):
            total = 0.0
            for f in range(features):
                d = points[i, f] - centres[c, f]
                total += d * d
            if total < best:
                best = total
                index = c
        membership[i] = index


@cuda.jit
def accumulate(points, membership, sums, counts, n, features):
    i = cuda.grid(1)
    if i < n:
        c = membership[i]
        cuda.atomic.add(counts, c, 1)
        for f in range(features):
            cuda.atomic.add(sums, (c, f), points[i, f])


def _graphs(k, starts, edges, frontier, updating, visited, cost, again, locations, distances, points, centres,
            membership, sums, counts):
    for _ in range(4):
        k.bfs_visit[1, 32](starts, edges, frontier, updating, visited, cost, 20)
        k.bfs_update[1, 32](frontier, updating, visited, again, 20)
    k.nearest[2, 16](locations, distances, 0.3, 0.6, 30)
    k.assign[2, 32](points, centres, membership, 40, 3, 2)
    k.accumulate[2, 32](points, membership, sums, counts, 40, 2)


def _graphs_reference(starts, edges, frontier, updating, visited, cost, again, locations, distances, points, centres,
                      membership, sums, counts):
    for _ in range(4):
        for i in np.flatnonzero(frontier):
            frontier[i] = 0
            for other in edges[starts[i]:starts[i + 1]]:
                if not visited[other]:
                    cost[other] = cost[i] + 1
                    updating[other] = 1
        frontier[updating > 0] = visited[updating > 0] = 1
        again[0] |= updating.any()
        updating[:] = 0
    distances[:] = np.hypot(locations[:, 0] - 0.3, locations[:, 1] - 0.6)
    membership[:] = ((points[:, None] - centres) ** 2).sum(-1).argmin(1)
    np.add.at(sums, membership, points)
    counts += np.bincount(membership, minlength=3).astype(counts.dtype)


def _graphs_arguments(r):
    neighbours = [sorted({(i + 1) % 20, (i * 3) % 20, (i + 7) % 20} - {i}) for i in range(20)]
    starts = np.cumsum([0, *map(len, neighbours)]).astype(np.int32)
    first = np.zeros(20, np.int32)
    first[0] = 1
    return (starts, np.concatenate(neighbours).astype(np.int32), first, np.zeros(20, np.int32), first.copy(),
            np.where(first, 0, -1).astype(np.int32), np.zeros(1, np.int32), r.random((30, 2)), np.zeros(30),
            r.random((40, 2)), r.random((3, 2)), np.zeros(40, np.int32), np.zeros((3, 2)), np.zeros(3, np.int32))


CASES.append(Case("graphs", {"bfs_visit": bfs_visit, "bfs_update": bfs_update, "nearest": nearest, "assign": assign,
                             "accumulate": accumulate}, """
#define I int i = blockIdx.x * blockDim.x + threadIdx.x
extern "C" __global__ void bfs_visit(const int *starts, const int *edges, int *frontier, int *updating,
                                     const int *visited, int *cost, int n) {
    I;
    if (i < n && frontier[i]) {
        frontier[i] = 0;
        for (int k = starts[i]; k < starts[i + 1]; ++k) {
            int other = edges[k];
            if (!visited[other]) { cost[other] = cost[i] + 1; updating[other] = 1; }
        }
    }
}
extern "C" __global__ void bfs_update(int *frontier, int *updating, int *visited, int *again, int n) {
    I;
    if (i < n && updating[i]) { frontier[i] = 1; visited[i] = 1; again[0] = 1; updating[i] = 0; }
}
extern "C" __global__ void nearest(const double2 *locations, double *distances, double latitude, double longitude,
                                   int n) {
    I;
    if (i >= n) return;
    double2 p = locations[i];
    distances[i] = sqrt((p.x - latitude) * (p.x - latitude) + (p.y - longitude) * (p.y - longitude));
}
extern "C" __global__ void assign(const double *points, const double *centres, int *membership, int n, int clusters,
                                  int features) {
    I;
    if (i >= n) return;
    double best = 1e300;
    int index = 0;
    for (int c = 0; c < clusters; ++c) {
        double total = 0;
        for (int f = 0; f < features; ++f) {
            double d = points[i * features + f] - centres[c * features + f];
            total += d * d;
        }
        if (total < best) { best = total; index = c; }
    }
    membership[i] = index;
}
extern "C" __global__ void accumulate(const double *points, const int *membership, double *sums, int *counts, int n,
                                      int features) {
    I;
    if (i >= n) return;
    int c = membership[i];
    atomicAdd(&counts[c], 1);
    for (int f = 0; f < features; ++f) atomicAdd(&sums[c * features + f], points[i * features + f]);
}""", _graphs_arguments, _graphs, _graphs_reference))

# ---- a layer of a network: forward and weight updates -----------------------------------------------------------


@cuda.jit
def bpnn_layerforward(inputs, weights, partial, hidden):
    node = cuda.shared.array(16, "float32")
    matrix = cuda.shared.array((16, 16), "float32")
    by, tx, ty = cuda.blockIdx.y, cuda.threadIdx.x, cuda.threadIdx.y
    index = (hidden + 1) * 16 * by + (hidden + 1) * ty + tx + 1 + (hidden + 1)
    if tx == 0:
        node[ty] = inputs[16 * by + ty + 1]
    cuda.syncthreads()
    matrix[ty, tx] = weights[index]
    cuda.syncthreads()
    matrix[ty, tx] = matrix[ty, tx] * node[ty]
    cuda.syncthreads()
    for i in range(1, 5):
        power = 1 << i
        if ty % power == 0:
            matrix[ty, tx] = matrix[ty, tx] + matrix[ty + power // 2, tx]
        cuda.syncthreads()
    weights[index] = matrix[ty, tx]
    cuda.syncthreads()
    if tx == 0:
        partial[by * hidden + ty] = matrix[tx, ty]


@cuda.jit
def bpnn_adjust_weights(delta, hidden, inputs, weights, old):
    by, tx, ty = cuda.blockIdx.y, cuda.threadIdx.x, cuda.threadIdx.y
    index = (hidden + 1) * 16 * by + (hidden + 1) * ty + tx + 1 + (hidden + 1)
    change = 0.3 * delta[tx + 1] * inputs[16 * by + ty + 1] + 0.3 * old[index]
    weights[index] += change
    old[index] = change


def _network(k, inputs, weights, partial, delta, kept, old):
    k.bpnn_layerforward[(1, 2), (16, 16)](inputs, weights, partial, 16)
    k.bpnn_adjust_weights[(1, 2), (16, 16)](delta, 16, inputs, kept, old)


def _network_reference(inputs, weights, partial, delta, kept, old):
    w = weights.reshape(33, 17)[1:, 1:].reshape(2, 16, 16) * inputs[1:].reshape(2, 16, 1)
    for i in range(1, 5):
        power = 1 << i
        w[:, ::power] = w[:, ::power] + w[:, power // 2::power]
    weights.reshape(33, 17)[1:, 1:] = w.reshape(32, 16)
    partial[:] = w[:, 0].ravel()
    change = (0.3 * delta[1:] * inputs[1:, None] + 0.3 * old.reshape(33, 17)[1:, 1:]).astype(np.float32)
    kept.reshape(33, 17)[1:, 1:] += change
    old.reshape(33, 17)[1:, 1:] = change


CASES.append(Case("network", {"bpnn_layerforward": bpnn_layerforward, "bpnn_adjust_weights": bpnn_adjust_weights}, """
extern "C" __global__ void bpnn_layerforward(const float *inputs, float *weights, float *partial, int hidden) {
    __shared__ float node[16], matrix[16][16];
    int by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int index = (hidden + 1) * 16 * by + (hidden + 1) * ty + tx + 1 + (hidden + 1);
    if (tx == 0) node[ty] = inputs[16 * by + ty + 1];
    __syncthreads();
    matrix[ty][tx] = weights[index];
    __syncthreads();
    matrix[ty][tx] = matrix[ty][tx] * node[ty];
    __syncthreads();
    for (int i = 1; i <= __log2f(16); i++) {
        int power = __powf(2, i);
        if (ty % power == 0) matrix[ty][tx] = matrix[ty][tx] + matrix[ty + power / 2][tx];
        __syncthreads();
    }
    weights[index] = matrix[ty][tx];
    __syncthreads();
    if (tx == 0) partial[by * hidden + ty] = matrix[tx][ty];
}
extern "C" __global__ void bpnn_adjust_weights(const float *delta, int hidden, const float *inputs, float *weights,
                                               float *old) {
    int by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int index = (hidden + 1) * 16 * by + (hidden + 1) * ty + tx + 1 + (hidden + 1);
    float change = 0.3 * delta[tx + 1] * inputs[16 * by + ty + 1] + 0.3 * old[index];
    weights[index] += change;
    old[index] = change;
}""", lambda r: (r.random(33).astype("f4"), r.random(33 * 17).astype("f4"), np.zeros(32, "f4"),
                 r.random(17).astype("f4"), r.random(33 * 17).astype("f4"), r.random(33 * 17).astype("f4")),
    _network, _network_reference, rtol=1e-5))
