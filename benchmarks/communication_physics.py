"""Simulations of one device: NumPy programs that write into fields with ghost cells, and the same in JAX."""
from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from communication_ways import FIELD, Case
from jax import lax

ALONG = (("x", "y"),)
"""One dimension over all devices."""


def fields(*shape: int, count: int = 1, scale: float = 1.0) -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(0)
    return tuple((scale * random.random(shape)).astype(np.float32) for _ in range(count))


# -- heat: walls that let nothing through

def heat_numpy(u):
    for _ in range(5):
        u[0] = u[1]
        u[-1] = u[-2]
        u[:, 0] = u[:, 1]
        u[:, -1] = u[:, -2]
        u[1:-1, 1:-1] += 0.2 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])


def heat_jax(u):
    def step(_, u):
        u = u.at[0].set(u[1])
        u = u.at[-1].set(u[-2])
        u = u.at[:, 0].set(u[:, 1])
        u = u.at[:, -1].set(u[:, -2])
        return u.at[1:-1, 1:-1].add(0.2 * laplacian(u))
    return lax.fori_loop(0, 5, step, u)


def laplacian(u):
    """Of the interior."""
    return u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]


# -- Gray and Scott's reaction: periodic ghost cells

def gray_scott_numpy(u, v):
    for _ in range(5):
        for f in (u, v):
            f[0] = f[-2]
            f[-1] = f[1]
            f[:, 0] = f[:, -2]
            f[:, -1] = f[:, 1]
        a, b = u[1:-1, 1:-1], v[1:-1, 1:-1]
        reaction = a * b * b
        du = 0.16 * laplacian(u) - reaction + 0.06 * (1 - a)
        dv = 0.08 * laplacian(v) + reaction - 0.122 * b
        u[1:-1, 1:-1] += du
        v[1:-1, 1:-1] += dv


def gray_scott_jax(u, v):
    def filled(f):
        f = f.at[0].set(f[-2])
        f = f.at[-1].set(f[1])
        f = f.at[:, 0].set(f[:, -2])
        return f.at[:, -1].set(f[:, 1])

    def step(_, state):
        u, v = map(filled, state)
        a, b = u[1:-1, 1:-1], v[1:-1, 1:-1]
        reaction = a * b * b
        du = 0.16 * laplacian(u) - reaction + 0.06 * (1 - a)
        dv = 0.08 * laplacian(v) + reaction - 0.122 * b
        return u.at[1:-1, 1:-1].add(du), v.at[1:-1, 1:-1].add(dv)
    return lax.fori_loop(0, 5, step, (u, v))


# -- waves in three dimensions, nothing at the walls

def laplacian_3d(p):
    return (p[2:, 1:-1, 1:-1] + p[:-2, 1:-1, 1:-1] + p[1:-1, 2:, 1:-1] + p[1:-1, :-2, 1:-1] + p[1:-1, 1:-1, 2:]
            + p[1:-1, 1:-1, :-2] - 6 * p[1:-1, 1:-1, 1:-1])


def waves_numpy(before, now):
    inner = (slice(1, -1),) * 3
    for _ in range(3):
        before[inner] = 2 * now[inner] - before[inner] + 0.1 * laplacian_3d(now)
        now[inner] = 2 * before[inner] - now[inner] + 0.1 * laplacian_3d(before)


def waves_jax(before, now):
    inner = (slice(1, -1),) * 3

    def step(_, state):
        before, now = state
        before = before.at[inner].set(2 * now[inner] - before[inner] + 0.1 * laplacian_3d(now))
        return before, now.at[inner].set(2 * before[inner] - now[inner] + 0.1 * laplacian_3d(before))
    return lax.fori_loop(0, 3, step, (before, now))


# -- advection with limited slopes, two periodic ghost rows

def advected(np, q):
    """What a step takes from the interior rows."""
    d = q[1:] - q[:-1]
    a, b = d[:-1], d[1:]
    slope = np.where(a * b > 0, np.where(np.abs(a) < np.abs(b), a, b), 0)
    face = q[1:-2] + 0.3 * slope[:-1]
    return 0.4 * (face[1:] - face[:-1])


def advection_numpy(q):
    for _ in range(4):
        q[:2] = q[-4:-2]
        q[-2:] = q[2:4]
        q[2:-2] -= advected(np, q)


def advection_jax(q):
    def step(_, q):
        q = q.at[:2].set(q[-4:-2])
        q = q.at[-2:].set(q[2:4])
        return q.at[2:-2].add(-advected(jnp, q))
    return lax.fori_loop(0, 4, step, q)


# -- Burgers' equation on a line

def burgers_numpy(u):
    for _ in range(10):
        u[0] = u[-2]
        u[-1] = u[1]
        flux = 0.5 * u * u
        u[1:-1] = 0.5 * (u[2:] + u[:-2]) - 0.1 * (flux[2:] - flux[:-2])


def burgers_jax(u):
    def step(_, u):
        u = u.at[0].set(u[-2])
        u = u.at[-1].set(u[1])
        flux = 0.5 * u * u
        return u.at[1:-1].set(0.5 * (u[2:] + u[:-2]) - 0.1 * (flux[2:] - flux[:-2]))
    return lax.fori_loop(0, 10, step, u)


# -- lattice Boltzmann, nine velocities, around obstacles

VELOCITIES = ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1))
WEIGHTS = (4 / 9,) + (1 / 9,) * 4 + (1 / 36,) * 4
OPPOSITE = (0, 3, 4, 1, 2, 7, 8, 5, 6)


def collided(np, f, solid):
    """Nine distributions after collision, and bounced back where there is an obstacle."""
    density = f.sum(axis=0)
    ux = sum(c * f[i] for i, (c, _) in enumerate(VELOCITIES) if c) / density
    uy = sum(c * f[i] for i, (_, c) in enumerate(VELOCITIES) if c) / density
    square, found = 1.5 * (ux * ux + uy * uy), []
    for i, (cx, cy) in enumerate(VELOCITIES):
        along = 3 * (cx * ux + cy * uy)
        equilibrium = WEIGHTS[i] * density * (1 + along + 0.5 * along * along - square)
        found.append(np.where(solid, f[OPPOSITE[i]], f[i] + 0.6 * (equilibrium - f[i])))
    return found


def lattice_boltzmann_numpy(f, solid):
    for _ in range(3):
        found = collided(np, f, solid)
        for i in range(9):
            f[i] = np.roll(found[i], VELOCITIES[i], (0, 1))


def lattice_boltzmann_jax(f, solid):
    def step(_, f):
        return jnp.stack([jnp.roll(g, v, (0, 1)) for g, v in zip(collided(jnp, f, solid), VELOCITIES, strict=True)])
    return lax.fori_loop(0, 3, step, f)


def lattice(n: int) -> tuple[np.ndarray, ...]:
    f, = fields(9, n, n, scale=0.1)
    weights = np.array(WEIGHTS, np.float32)[:, None, None]
    i, j = np.indices((n, n))
    return weights * (1 + f), (i - n // 3) ** 2 + (j - n // 2) ** 2 < (n // 8) ** 2


# -- Maxwell's equations on Yee's grid

def fdtd_numpy(ez, hx, hy):
    n, m = ez.shape
    for t in range(4):
        hx[:, :-1] -= 0.5 * (ez[:, 1:] - ez[:, :-1])
        hy[:-1] += 0.5 * (ez[1:] - ez[:-1])
        ez[1:-1, 1:-1] += 0.5 * (hy[1:-1, 1:-1] - hy[:-2, 1:-1] - hx[1:-1, 1:-1] + hx[1:-1, :-2])
        ez[n // 2, m // 2] += 0.1 * t


def fdtd_jax(ez, hx, hy):
    n, m = ez.shape

    def step(t, state):
        ez, hx, hy = state
        hx = hx.at[:, :-1].add(-0.5 * (ez[:, 1:] - ez[:, :-1]))
        hy = hy.at[:-1].add(0.5 * (ez[1:] - ez[:-1]))
        ez = ez.at[1:-1, 1:-1].add(0.5 * (hy[1:-1, 1:-1] - hy[:-2, 1:-1] - hx[1:-1, 1:-1] + hx[1:-1, :-2]))
        return ez.at[n // 2, m // 2].add(0.1 * t), hx, hy
    return lax.fori_loop(0, 4, step, (ez, hx, hy))


# -- constrained transport of a magnetic field: values on faces and corners, arrays of n and n + 1

def electric(vx, vy, bx, by):
    """At the inner corners."""
    return (vx[1:-1, 1:-1] * 0.5 * (by[1:, 1:-1] + by[:-1, 1:-1])
            - vy[1:-1, 1:-1] * 0.5 * (bx[1:-1, 1:] + bx[1:-1, :-1]))


def transport_numpy(vx, vy, bx, by):
    e = np.zeros_like(vx)
    for _ in range(3):
        e[1:-1, 1:-1] = electric(vx, vy, bx, by)
        bx += 0.1 * (e[:, 1:] - e[:, :-1])
        by -= 0.1 * (e[1:] - e[:-1])


def transport_jax(vx, vy, bx, by):
    def step(_, state):
        bx, by = state
        e = jnp.zeros_like(vx).at[1:-1, 1:-1].set(electric(vx, vy, bx, by))
        return bx + 0.1 * (e[:, 1:] - e[:, :-1]), by - 0.1 * (e[1:] - e[:-1])
    return lax.fori_loop(0, 3, step, (bx, by))


def magnetic(n: int) -> tuple[np.ndarray, ...]:
    return (*fields(n + 1, n + 1, count=2), *fields(n + 1, n), *fields(n, n + 1))


# -- particles on a line: their charge onto a grid, its field back to them

def push(np, deposit, x, v, cells):
    """One step; `deposit(density, where, how much)` adds to a grid."""
    at = np.floor(x)
    part = x - at           # in the dtype of x, which an integer `at` would make float64 in NumPy and float32 in JAX
    left = at.astype(np.int32) % cells
    right = (left + 1) % cells
    density = deposit(deposit(np.zeros(cells, x.dtype), left, 1 - part), right, part)
    field = np.cumsum(density - density.mean()) * 0.01
    v = v + 0.1 * (field[left] * (1 - part) + field[right] * part)
    return (x + 0.5 * v) % cells, v


def add_numpy(density, where, how_much):
    np.add.at(density, where, how_much)
    return density


def particles_numpy(x, v):
    for _ in range(3):
        x[:], v[:] = push(np, add_numpy, x, v, 512)


def particles_jax(x, v):
    def step(_, state):
        return push(jnp, lambda density, where, how_much: density.at[where].add(how_much), *state, 512)
    return lax.fori_loop(0, 3, step, (x, v))


def particles(n: int) -> tuple[np.ndarray, ...]:
    x, v = fields(64 * n, count=2)
    return 512 * x, v - np.float32(0.5)


DEEP = ("x", "y", None)
LATTICE = (None, "x", "y")
PROGRAMS = (
    Case("heat", lambda n: fields(n, n), (FIELD,), (FIELD,), heat_jax, heat_numpy, (0,)),
    Case("gray_scott", lambda n: fields(n, n, count=2), (FIELD,) * 2, (FIELD,) * 2, gray_scott_jax, gray_scott_numpy,
         (0, 1)),
    Case("waves", lambda n: fields(n // 4, 64, 64, count=2), (DEEP,) * 2, (DEEP,) * 2, waves_jax, waves_numpy, (0, 1)),
    Case("advection", lambda n: fields(n, n), (FIELD,), (FIELD,), advection_jax, advection_numpy, (0,)),
    Case("burgers", lambda n: fields(64 * n), (ALONG,), (ALONG,), burgers_jax, burgers_numpy, (0,)),
    Case("lattice_boltzmann", lattice, (LATTICE, FIELD), (LATTICE,), lattice_boltzmann_jax, lattice_boltzmann_numpy,
         (0,)),
    Case("fdtd", lambda n: fields(n, n, count=3), (FIELD,) * 3, (FIELD,) * 3, fdtd_jax, fdtd_numpy, (0, 1, 2)),
    Case("constrained_transport", magnetic, (FIELD,) * 4, (FIELD,) * 2, transport_jax, transport_numpy, (2, 3)),
    # Sums of a grid cell's charges come in another order.
    Case("particles", particles, (ALONG,) * 2, (ALONG,) * 2, particles_jax, particles_numpy, (0, 1), close=1e-2),
)
