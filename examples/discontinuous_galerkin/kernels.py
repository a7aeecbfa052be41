"""The kernels: one thread for a node of an element, or for a node of a side."""
from __future__ import annotations

import math

from numba import cuda

# ---- advection of q with the velocity (u, v)


@cuda.jit
def advection_at_sides(q, outside, own, normal_x, normal_y, u, v, change):
    """What the upwind flux has more than the element's own, for each node of a side; q is flat."""
    k = cuda.grid(1)
    if k < change.size:
        through = u * normal_x[k] + v * normal_y[k]
        change[k] = min(through, 0.0) * (q[outside[k]] - q[own[k]])


@cuda.jit
def advection_rate(q, D, ax, ay, bx, by, jacobian, weight, change, u, v, rate):
    """- div (u q, v q) at each node: derivatives of the contravariant fluxes, and the sides."""
    e, j, i = node_of(q)
    if e < q.shape[0]:
        n = q.shape[1]
        total = 0.0
        for k in range(n):
            total += D[i, k] * (u * ax[e, j, k] + v * ay[e, j, k]) * q[e, j, k]
            total += D[j, k] * (u * bx[e, k, i] + v * by[e, k, i]) * q[e, k, i]
        rate[e, j, i] = -(total + at_sides(change, e, j, i, n) / weight) / jacobian[e, j, i]


# ---- Maxwell's equations: a transverse magnetic field (hx, hy) and an electric field ez, c = 1


@cuda.jit
def maxwell_at_sides(hx, hy, ez, outside, own, wall, normal_x, normal_y, change_x, change_y, change_z):
    """Half of the upwind corrections of the three fields; walls conduct perfectly."""
    k = cuda.grid(1)
    if k < change_x.size:
        length = math.sqrt(normal_x[k] ** 2 + normal_y[k] ** 2)
        nx, ny = normal_x[k] / length, normal_y[k] / length
        here, there = own[k], outside[k]
        jump_x, jump_y = hx[here] - hx[there], hy[here] - hy[there]
        jump_z = ez[here] - (1.0 - 2.0 * wall[k]) * ez[there]
        along = nx * jump_x + ny * jump_y
        change_x[k] = 0.5 * length * (ny * jump_z + along * nx - jump_x)
        change_y[k] = 0.5 * length * (-nx * jump_z + along * ny - jump_y)
        change_z[k] = 0.5 * length * (ny * jump_x - nx * jump_y - jump_z)


@cuda.jit
def maxwell_rate(hx, hy, ez, D, ax, ay, bx, by, jacobian, weight, change_x, change_y, change_z, rate_x, rate_y,
                 rate_z):
    """(- d ez / dy, d ez / dx, d hy / dx - d hx / dy) at each node, and the sides."""
    e, j, i = node_of(ez)
    if e < ez.shape[0]:
        n = ez.shape[1]
        by_x, by_y, curl = 0.0, 0.0, 0.0
        for k in range(n):
            first, second = D[i, k], D[j, k]
            by_x += first * ax[e, j, k] * ez[e, j, k] + second * bx[e, k, i] * ez[e, k, i]
            by_y += first * ay[e, j, k] * ez[e, j, k] + second * by[e, k, i] * ez[e, k, i]
            curl += first * (ax[e, j, k] * hy[e, j, k] - ay[e, j, k] * hx[e, j, k])
            curl += second * (bx[e, k, i] * hy[e, k, i] - by[e, k, i] * hx[e, k, i])
        scale = 1.0 / jacobian[e, j, i]
        rate_x[e, j, i] = scale * (-by_y + at_sides(change_x, e, j, i, n) / weight)
        rate_y[e, j, i] = scale * (by_x + at_sides(change_y, e, j, i, n) / weight)
        rate_z[e, j, i] = scale * (curl + at_sides(change_z, e, j, i, n) / weight)


# ---- both

@cuda.jit(device=True)
def node_of(field):
    """Element, second and first index of this thread's node."""
    node, n = cuda.grid(1), field.shape[1]
    return node // (n * n), node // n % n, node % n


@cuda.jit(device=True)
def at_sides(change, e, j, i, n):
    """The sum over the sides that a node is on."""
    total = 0.0
    if i == 0:
        total += change[(4 * e + 0) * n + j]
    if i == n - 1:
        total += change[(4 * e + 1) * n + j]
    if j == 0:
        total += change[(4 * e + 2) * n + i]
    if j == n - 1:
        total += change[(4 * e + 3) * n + i]
    return total


@cuda.jit
def advance(q, kept, rate, a, b, dt):
    """A stage of a Runge-Kutta method that keeps two fields; all are flat."""
    node = cuda.grid(1)
    if node < q.size:
        kept[node] = a * kept[node] + dt * rate[node]
        q[node] += b * kept[node]
