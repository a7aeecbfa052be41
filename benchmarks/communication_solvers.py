"""Solvers and filters of one device, in NumPy and in JAX: sums over all, coarse grids, Fourier transforms."""
from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from communication_physics import fields
from communication_ways import FIELD, Case, neutral
from jax import lax

ROWS = (("x", "y"), None)
"""Rows over all devices."""


# -- multigrid: a V-cycle of four levels, zero around

def residual(np, u, f):
    p = np.pad(u, 1)
    return f - (4 * u - p[2:, 1:-1] - p[:-2, 1:-1] - p[1:-1, 2:] - p[1:-1, :-2])


def smoothed(np, u, f, times=2):
    for _ in range(times):
        u = u + 0.2 * residual(np, u, f)
    return u


def cycle(np, u, f, levels=4):
    """A V-cycle; `np` is NumPy or `jax.numpy`."""
    u = smoothed(np, u, f)
    if levels > 1:
        r = residual(np, u, f)
        coarse = r[::2, ::2] + r[1::2, ::2] + r[::2, 1::2] + r[1::2, 1::2]
        correction = cycle(np, np.zeros_like(coarse), coarse, levels - 1)
        u = u + np.repeat(np.repeat(correction, 2, axis=0), 2, axis=1)
    return smoothed(np, u, f)


# -- conjugate gradients, the operator a stencil

def applied_numpy(p):
    q = 4.1 * p
    q[1:] -= p[:-1]
    q[:-1] -= p[1:]
    q[:, 1:] -= p[:, :-1]
    q[:, :-1] -= p[:, 1:]
    return q


def applied_jax(p):
    q = (4.1 * p).at[1:].add(-p[:-1])
    q = q.at[:-1].add(-p[1:])
    q = q.at[:, 1:].add(-p[:, :-1])
    return q.at[:, :-1].add(-p[:, 1:])


def gradients_numpy(b):
    x, r = np.zeros_like(b), b.copy()
    p, square = b.copy(), np.sum(b * b)
    for _ in range(10):
        q = applied_numpy(p)
        alpha = square / np.sum(p * q)
        x += alpha * p
        r -= alpha * q
        before, square = square, np.sum(r * r)
        p = r + square / before * p
    return x


def gradients_jax(b):
    def step(_, state):
        x, r, p, square = state
        q = applied_jax(p)
        alpha = square / jnp.sum(p * q)
        r = r - alpha * q
        after = jnp.sum(r * r)
        return x + alpha * p, r, r + after / square * p, after
    return lax.fori_loop(0, 10, step, (jnp.zeros_like(b), b, b, jnp.sum(b * b)))[0]


# -- Laplace's equation until it changes little

def mean_of_four(u):
    return 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])


def laplace_numpy(u):
    change, steps = np.float32(1), 0
    while change > 0.1 and steps < 100:
        new = mean_of_four(u)
        change = np.max(np.abs(new - u[1:-1, 1:-1]))
        u[1:-1, 1:-1] = new
        steps += 1


def laplace_jax(u):
    def step(state):
        u, _, steps = state
        new = mean_of_four(u)
        return u.at[1:-1, 1:-1].set(new), jnp.max(jnp.abs(new - u[1:-1, 1:-1])), steps + 1
    return lax.while_loop(lambda s: (s[1] > 0.1) & (s[2] < 100), step, (u, jnp.float32(1), 0))[0]


# -- spectral: Poisson's equation in two dimensions; a derivative along rows, each of which is on one device

def waves_of(np, n):
    return (np.fft.fftfreq(n) * n).astype(np.float32)


def poisson(np, f):
    k, m = waves_of(np, f.shape[0])[:, None], waves_of(np, f.shape[1])[None, :]
    square = k * k + m * m
    return np.fft.ifft2(np.fft.fft2(f) / -np.where(square == 0, np.float32(1), square)).real


def korteweg_de_vries(np, u):
    """Steps of many waves, one a row."""
    k = waves_of(np, u.shape[1]) * np.float32(0.1)
    for _ in range(3):
        hat = np.fft.fft(u)
        u = u - 0.01 * (6 * u * np.fft.ifft(1j * k * hat).real + np.fft.ifft(-1j * k ** 3 * hat).real)
    return u


# -- sums from the top: the pressure of a column of water, and what it does sideways

def hydrostatic(np, density, u):
    pressure = 9.81 * np.cumsum(density, axis=0)
    return pressure, u - 0.1 * (np.roll(pressure, -1, 1) - np.roll(pressure, 1, 1))


# -- a picture: blurred, its edges found, stretched to its largest value

def edges(np, picture):
    taps = (0.06, 0.24, 0.4, 0.24, 0.06)
    p = np.pad(picture, ((2, 2), (0, 0)), mode="edge")
    blurred = sum(t * p[i:i + picture.shape[0]] for i, t in enumerate(taps))
    p = np.pad(blurred, ((0, 0), (2, 2)), mode="edge")
    blurred = sum(t * p[:, i:i + picture.shape[1]] for i, t in enumerate(taps))
    p = np.pad(blurred, 1, mode="reflect")
    across = p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:] - p[:-2, :-2] - 2 * p[1:-1, :-2] - p[2:, :-2]
    down = p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:] - p[:-2, :-2] - 2 * p[:-2, 1:-1] - p[:-2, 2:]
    found = np.sqrt(across * across + down * down)
    return found / found.max()


PROGRAMS = (
    Case("multigrid", lambda n: fields(n, n, count=2), (FIELD,) * 2, (FIELD,), **neutral(cycle)),
    Case("conjugate_gradients", lambda n: fields(n, n), (FIELD,), (FIELD,), gradients_jax, gradients_numpy, close=1e-3),
    Case("laplace", lambda n: fields(n, n), (FIELD,), (FIELD,), laplace_jax, laplace_numpy, (0,)),
    Case("poisson", lambda n: fields(n, n), (ROWS,), (ROWS,), **neutral(poisson)),
    Case("korteweg_de_vries", lambda n: fields(n, 256), (ROWS,), (ROWS,), **neutral(korteweg_de_vries)),
    Case("hydrostatic", lambda n: fields(n, n, count=2), (FIELD,) * 2, (FIELD,) * 2, **neutral(hydrostatic)),
    Case("edges", lambda n: fields(n, n), (FIELD,), (FIELD,), **neutral(edges)),
)
