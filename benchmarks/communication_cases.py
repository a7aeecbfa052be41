"""Programs of one device with small halos: as NumPy programs that write into their arguments, as JAX functions for
XLA's partitioner, and as a specialist writes them for many devices.

Arrays have `rows` rows and 1,024 columns of float32, divided by the axes `x` and `y` of the mesh.
"""
from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from communication_halo import Place
from communication_ways import FIELD, Case
from jax import lax

COLUMNS = 1024
STEPS = 10
GRAVITY, DEPTH, RATE = 9.81, 1.0, 0.002
"""Of the shallow water; RATE is the time step over the grid's."""


def numbers(rows: int, fields: int = 1) -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(0)
    return tuple(random.normal(size=(rows, COLUMNS)).astype(np.float32) for _ in range(fields))


def water(rows: int) -> tuple[np.ndarray, ...]:
    """Height and velocities, smooth enough to stay finite."""
    return tuple(0.1 * f for f in numbers(rows, 3))


# -- a: three rolls of one array

def rolls_numpy(x):
    return np.roll(x, 1, 0) + np.roll(x, 2, 0) + np.roll(x, 3, 0)


def rolls_jax(x):
    return jnp.roll(x, 1, 0) + jnp.roll(x, 2, 0) + jnp.roll(x, 3, 0)


def rolls_by_hand(at: Place, x):
    (wide,), n = at.extended([x], 0, 3, 0, True), len(x)
    return wide[2:n + 2] + wide[1:n + 1] + wide[:n],


# -- b: the five-point stencil, periodic

def five_point_numpy(x):
    return np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) + np.roll(x, -1, 1) - 4 * x


def five_point_jax(x):
    return jnp.roll(x, 1, 0) + jnp.roll(x, -1, 0) + jnp.roll(x, 1, 1) + jnp.roll(x, -1, 1) - 4 * x


def five_point_by_hand(at: Place, x):
    (tall,), (wide,) = at.extended([x], 0, 1, 1, True), at.extended([x], 1, 1, 1, True)
    n, m = x.shape
    return tall[:n] + tall[2:n + 2] + wide[:, :m] + wide[:, 2:m + 2] - 4 * x,


# -- c: edges that copy their neighbours; periodic ghost cells

def first_row_numpy(x):
    x[0:1] = x[1:2]


def first_row_jax(x):
    return x.at[0:1].set(x[1:2])


def first_row_by_hand(at: Place, x):
    return jnp.where(at.number(0) == 0, x.at[0].set(x[1]), x),


def both_rows_numpy(x):
    x[0:1] = x[1:2]
    x[-1:] = x[-2:-1]


def both_rows_jax(x):
    x = x.at[0:1].set(x[1:2])
    return x.at[-1:].set(x[-2:-1])


def both_rows_by_hand(at: Place, x):
    last = at.last_block(0)
    x, = first_row_by_hand(at, x)
    return jnp.where(at.is_last(0), x.at[last - 1].set(x[last - 2]), x),


def ghost_rows_numpy(x):
    x[:3] = x[-6:-3]
    x[-3:] = x[3:6]


def ghost_rows_jax(x):
    x = x.at[:3].set(x[-6:-3])
    return x.at[-3:].set(x[3:6])


def ghost_rows_by_hand(at: Place, x):
    last, parts = at.last_block(0), at.parts(0)
    top = lax.ppermute(x[last - 6:last - 3], "x", [(parts - 1, 0)])
    bottom = lax.ppermute(x[3:6], "x", [(0, parts - 1)])
    x = jnp.where(at.number(0) == 0, x.at[:3].set(top), x)
    return jnp.where(at.is_last(0), x.at[last - 3:last].set(bottom), x),


# -- d: a stencil of the interior, zero at the edges

def second_difference_numpy(x):
    return np.pad(x[:-2] - 2 * x[1:-1] + x[2:], ((1, 1), (0, 0)))


def second_difference_jax(x):
    return jnp.pad(x[:-2] - 2 * x[1:-1] + x[2:], ((1, 1), (0, 0)))


def second_difference_by_hand(at: Place, x):
    (tall,), n, rows = at.extended([x], 0, 1, 1, False), len(x), at.indices(0)
    inner = (rows > 0) & (rows < at.lengths[0] - 1)
    return jnp.where(inner, tall[:n] - 2 * x + tall[2:n + 2], 0),


# -- e: shallow water, sixth-order differences; ghost cells in the arrays, rolls, arrays padded at each step

def fill_ghosts(*fields):
    for f in fields:
        f[:3] = f[-6:-3]
        f[-3:] = f[3:6]
        f[:, :3] = f[:, -6:-3]
        f[:, -3:] = f[:, 3:6]


def slope(f, dim):
    """The sixth-order first difference along a dimension, which loses three elements at each end."""
    n = f.shape[dim] - 6

    def shifted(by):
        return f[3 + by:3 + by + n] if dim == 0 else f[:, 3 + by:3 + by + n]
    return (45 * (shifted(1) - shifted(-1)) - 9 * (shifted(2) - shifted(-2)) + (shifted(3) - shifted(-3))) / 60


def inner_slope(f, dim):
    """`slope` of the interior of a field that has three ghost cells on each side."""
    return slope(f[:, 3:-3], 0) if dim == 0 else slope(f[3:-3], 1)


def changes(h, u, v):
    """What a step adds to the interior of height and velocities that have three ghost cells on each side."""
    inner_u, inner_v = u[3:-3, 3:-3], v[3:-3, 3:-3]
    dh = -RATE * DEPTH * (inner_slope(u, 0) + inner_slope(v, 1))
    du = -RATE * (inner_u * inner_slope(u, 0) + inner_v * inner_slope(u, 1) + GRAVITY * inner_slope(h, 0))
    dv = -RATE * (inner_u * inner_slope(v, 0) + inner_v * inner_slope(v, 1) + GRAVITY * inner_slope(h, 1))
    return dh, du, dv


def water_numpy(h, u, v):
    for _ in range(STEPS):
        fill_ghosts(h, u, v)
        dh, du, dv = changes(h, u, v)
        h[3:-3, 3:-3] += dh
        u[3:-3, 3:-3] += du
        v[3:-3, 3:-3] += dv


def filled(f):
    f = f.at[:3].set(f[-6:-3])
    f = f.at[-3:].set(f[3:6])
    f = f.at[:, :3].set(f[:, -6:-3])
    return f.at[:, -3:].set(f[:, 3:6])


def water_jax(h, u, v):
    def step(_, fields):
        fields = [filled(f) for f in fields]
        return tuple(f.at[3:-3, 3:-3].add(d) for f, d in zip(fields, changes(*fields), strict=True))
    return lax.fori_loop(0, STEPS, step, (h, u, v))


def refilled(at: Place, fields, dim: int):
    """Fields whose ghost cells along a dimension are filled, and the same with three cells of the neighbours: what is
    sent around from edge to edge goes into the ghost cells themselves."""
    last = at.last_block(dim)
    valid = at.valid(dim)
    is_last, is_first = at.is_last(dim), at.number(dim) == 0
    ends = [at.cut(f, dim, valid - 3, 3) for f in fields]
    starts = [at.cut(f, dim, 0, 3) for f in fields]
    ends = [jnp.where(is_last, at.cut(f, dim, last - 6, 3), e) for f, e in zip(fields, ends, strict=True)]
    starts = [jnp.where(is_first, at.cut(f, dim, 3, 3), s) for f, s in zip(fields, starts, strict=True)]
    before, after = at.sent(ends, dim, 1, True), at.sent(starts, dim, -1, True)
    found, wide = [], []
    for f, b, a in zip(fields, before, after, strict=True):
        f = jnp.where(is_first, lax.dynamic_update_slice_in_dim(f, b, 0, dim), f)
        f = jnp.where(is_last, lax.dynamic_update_slice_in_dim(f, a, last - 3, dim), f)
        found.append(f)
        wide.append(jnp.concatenate([b, f, a], dim))
    return found, wide


def water_by_hand(at: Place, h, u, v):
    inner = at.inner(3)

    def step(_, fields):
        fields, tall = refilled(at, fields, 0)
        fields, wide = refilled(at, fields, 1)
        rows = [slope(f, 0) for f in tall]
        columns = [slope(f, 1) for f in wide]
        return tuple(jnp.where(inner, f + d, f) for f, d in zip(fields, momentum(fields, rows, columns), strict=True))
    return lax.fori_loop(0, STEPS, step, (h, u, v))


def momentum(fields, rows, columns):
    """`changes` from the slopes along rows and columns."""
    (_, u, v), (hx, ux, vx), (hy, uy, vy) = fields, rows, columns
    return (-RATE * DEPTH * (ux + vy), -RATE * (u * ux + v * uy + GRAVITY * hx),
            -RATE * (u * vx + v * vy + GRAVITY * hy))


def rolled_slope(np, f, dim):
    """The difference with `np.roll`; `np` is NumPy or `jax.numpy`."""
    return (45 * (np.roll(f, -1, dim) - np.roll(f, 1, dim)) - 9 * (np.roll(f, -2, dim) - np.roll(f, 2, dim))
            + (np.roll(f, -3, dim) - np.roll(f, 3, dim))) / 60


def rolled_changes(np, h, u, v):
    dh = -RATE * DEPTH * (rolled_slope(np, u, 0) + rolled_slope(np, v, 1))
    du = -RATE * (u * rolled_slope(np, u, 0) + v * rolled_slope(np, u, 1) + GRAVITY * rolled_slope(np, h, 0))
    dv = -RATE * (u * rolled_slope(np, v, 0) + v * rolled_slope(np, v, 1) + GRAVITY * rolled_slope(np, h, 1))
    return dh, du, dv


def rolled_water_numpy(h, u, v):
    for _ in range(STEPS):
        dh, du, dv = rolled_changes(np, h, u, v)
        h += dh
        u += du
        v += dv


def rolled_water_jax(h, u, v):
    def step(_, fields):
        return tuple(f + d for f, d in zip(fields, rolled_changes(jnp, *fields), strict=True))
    return lax.fori_loop(0, STEPS, step, (h, u, v))


def padded_water_numpy(h, u, v):
    for _ in range(STEPS):
        dh, du, dv = changes(np.pad(h, 3, mode="wrap"), np.pad(u, 3, mode="wrap"), np.pad(v, 3, mode="wrap"))
        h += dh
        u += du
        v += dv


def padded_water_jax(h, u, v):
    def step(_, fields):
        found = changes(*(jnp.pad(f, 3, mode="wrap") for f in fields))
        return tuple(f + d for f, d in zip(fields, found, strict=True))
    return lax.fori_loop(0, STEPS, step, (h, u, v))


def periodic_water_by_hand(at: Place, h, u, v):
    def step(_, fields):
        tall, wide = at.extended(fields, 0, 3, 3, True), at.extended(fields, 1, 3, 3, True)
        rows = [slope(f, 0) for f in tall]
        columns = [slope(f, 1) for f in wide]
        return tuple(f + d for f, d in zip(fields, momentum(fields, rows, columns), strict=True))
    return lax.fori_loop(0, STEPS, step, (h, u, v))


# -- f: differences among reshapes and transposes

def split_difference_numpy(x):
    d = np.concatenate([np.diff(x, axis=0), np.zeros((1, x.shape[1]), x.dtype)])
    return d.reshape(len(x), 8, -1).transpose(1, 2, 0)


def split_difference_jax(x):
    d = jnp.concatenate([jnp.diff(x, axis=0), jnp.zeros((1, x.shape[1]), x.dtype)])
    return d.reshape(len(x), 8, -1).transpose(1, 2, 0)


def row_difference_by_hand(at: Place, x):
    tall, = at.extended([x], 0, 0, 1, False)
    return jnp.where(at.indices(0) < at.lengths[0] - 1, tall[1:] - x, 0)


def split_difference_by_hand(at: Place, x):
    d = row_difference_by_hand(at, x)
    return d.reshape(len(x), 8 // at.parts(1), -1).transpose(1, 2, 0),


def mixed_difference_numpy(x):
    return np.pad(np.diff(np.diff(x, axis=0).T, axis=0), ((0, 1), (0, 1)))


def mixed_difference_jax(x):
    return jnp.pad(jnp.diff(jnp.diff(x, axis=0).T, axis=0), ((0, 1), (0, 1)))


def mixed_difference_by_hand(at: Place, x):
    d = row_difference_by_hand(at, x)
    wide, = at.extended([d], 1, 0, 1, False)
    return jnp.where(at.indices(1) < at.lengths[1] - 1, wide[:, 1:] - d, 0).T,


TRANSPOSED = ("y", "x")
WATER = (FIELD,) * 3
CASES = (
    Case("a", numbers, (FIELD,), (FIELD,), rolls_jax, rolls_numpy, by_hand=rolls_by_hand),
    Case("b", numbers, (FIELD,), (FIELD,), five_point_jax, five_point_numpy, by_hand=five_point_by_hand),
    Case("c", numbers, (FIELD,), (FIELD,), first_row_jax, first_row_numpy, (0,), first_row_by_hand),
    Case("c2", numbers, (FIELD,), (FIELD,), both_rows_jax, both_rows_numpy, (0,), both_rows_by_hand),
    Case("c3", numbers, (FIELD,), (FIELD,), ghost_rows_jax, ghost_rows_numpy, (0,), ghost_rows_by_hand),
    Case("d", numbers, (FIELD,), (FIELD,), second_difference_jax, second_difference_numpy,
         by_hand=second_difference_by_hand),
    Case("e", water, WATER, WATER, water_jax, water_numpy, (0, 1, 2), water_by_hand),
    Case("e2", water, WATER, WATER, rolled_water_jax, rolled_water_numpy, (0, 1, 2), periodic_water_by_hand),
    Case("e3", water, WATER, WATER, padded_water_jax, padded_water_numpy, (0, 1, 2), periodic_water_by_hand),
    Case("f", numbers, (FIELD,), (("y", None, "x"),), split_difference_jax, split_difference_numpy,
         by_hand=split_difference_by_hand),
    Case("f2", numbers, (FIELD,), (TRANSPOSED,), mixed_difference_jax, mixed_difference_numpy,
         by_hand=mixed_difference_by_hand),
)
