"""Workloads of which the best program is known: what a person writes, what a specialist writes, and its derivative.

`WORKLOADS[name]` is a `Workload`; `PROGRAMS` has the programs and, as NAME_loss, a number made of each that is
differentiated in its first argument. No reactant here: the peer's environment does not have it.
"""
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


class Workload(NamedTuple):
    program: Callable
    optimum: Callable
    loss: Callable
    gradient: Callable
    """Of the loss, as a specialist writes it."""
    make: Callable


def normal(seed, *shape):
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape), jnp.float32)


def matrices(count):
    def make(scale):
        n = max(16, int(1024 * scale))
        return tuple(normal(k, n, n) for k in range(count))
    return make


def diagonal_and_matrices(scale):
    n = max(16, int(1024 * scale))
    return normal(0, n), normal(1, n, n), normal(2, n, n)


def vectors(scale):
    n = max(16, int(4096 * scale))
    return normal(0, n), normal(1, n)


# ---- symmetric product -------------------------------------------------------------------------------------------

def symmetric_product(x):
    return x @ x + (x @ x).T


def symmetric_product_optimum(x):
    y = x @ x
    return y + y.T


def symmetric_product_gradient(x):
    s = symmetric_product_optimum(x)
    return 4.0 * ((x @ s).T + (s @ x).T)


# ---- slice of a chain --------------------------------------------------------------------------------------------

def slice_of_chain(x, y, z):
    return ((x @ y) * z + 4.0).ravel()[:10]


def slice_of_chain_optimum(x, y, z):
    return (x[0] @ y[:, :10]) * z[0, :10] + 4.0


def slice_of_chain_gradient(x, y, z):
    row = y[:, :10] @ (2.0 * slice_of_chain_optimum(x, y, z) * z[0, :10])
    return jnp.zeros_like(x).at[0].set(row)


# ---- diagonal times matrix ---------------------------------------------------------------------------------------

def diagonal_times_matrix(v, a, x):
    i = jnp.arange(v.shape[0])
    return jnp.sum((jnp.zeros((v.shape[0],) * 2, v.dtype).at[i, i].set(v) @ a + x) ** 2)


def diagonal_times_matrix_optimum(v, a, x):
    return jnp.sum((v[:, None] * a + x) ** 2)


def diagonal_times_matrix_gradient(v, a, x):
    return 2.0 * jnp.sum((v[:, None] * a + x) * a, 1)


# ---- normalisation -----------------------------------------------------------------------------------------------

def normalise_in_loop(x, w):
    return lax.fori_loop(0, x.shape[0], lambda i, out: out.at[i].set(x[i] / jnp.linalg.norm(x)), jnp.zeros_like(x))


def normalise_by_map(x, w):
    return lax.map(lambda e: e / jnp.linalg.norm(x), x)


def normalise_by_scan(x, w):
    return lax.scan(lambda carry, e: (carry, e / jnp.linalg.norm(x)), None, x)[1]


def normalise_optimum(x, w):
    return x / jnp.linalg.norm(x)


def normalise_gradient(x, w):
    norm = jnp.linalg.norm(x)
    return w / norm - x * (jnp.vdot(x, w) / norm ** 3)


# ---- chain of two stencils ---------------------------------------------------------------------------------------

def grids(scale):
    n = max(16, int(2048 * scale))
    return (normal(0, n, n),)


def five_points(u):
    return u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]


def two_stencils(u):
    return five_points(five_points(u))


def two_stencils_optimum(u):
    """Both in one, of 13 points."""
    n, m = (extent - 4 for extent in u.shape)
    total = 20.0 * u[2:-2, 2:-2]
    for weight, places in ((-8.0, ((1, 2), (2, 1), (2, 3), (3, 2))), (2.0, ((1, 1), (1, 3), (3, 1), (3, 3))),
                           (1.0, ((0, 2), (2, 0), (2, 4), (4, 2)))):
        part = sum(u[i:i + n, j:j + m] for i, j in places)
        total = total + (part if weight == 1.0 else weight * part)
    return total


def two_stencils_gradient(u):
    """The stencil is its own transpose."""
    return two_stencils_optimum(jnp.pad(2.0 * two_stencils_optimum(u), 4))


# ---- a chain of NasRNN cells -------------------------------------------------------------------------------------

CELLS, BRANCHES = 5, 8


def cells(scale):
    n = max(16, int(512 * scale))
    weights = [normal(k, n, n) / n ** 0.5 for k in range(2 * CELLS * BRANCHES)]
    return weights, normal(100, 1, n), [normal(101 + k, 1, n) for k in range(CELLS)]


def nas_gates(t):
    sigmoid, tanh, relu = jax.nn.sigmoid, jnp.tanh, jax.nn.relu
    first, second = relu(t[0]) + sigmoid(t[3]), sigmoid(t[1]) + tanh(t[2])
    third, fourth = sigmoid(t[4]) * tanh(t[5]), sigmoid(t[6]) * relu(t[7])
    return tanh(tanh(sigmoid(second) + tanh(third)) * tanh(tanh(first) * tanh(fourth)))


def nas_cells(weights, h, xs):
    for k, x in enumerate(xs):
        of_x, of_h = (weights[2 * BRANCHES * k + at:2 * BRANCHES * (k + 1):2] for at in (0, 1))
        h = nas_gates([x @ a + h @ b for a, b in zip(of_x, of_h, strict=True)])
    return h


def nas_cells_optimum(weights, h, xs):
    """Vectors, and all products with the inputs before the first cell."""
    of_x = [xs[k // (2 * BRANCHES)][0] @ weights[k] for k in range(0, len(weights), 2)]
    h = h[0]
    for k in range(len(xs)):
        of_h = weights[2 * BRANCHES * k + 1:2 * BRANCHES * (k + 1):2]
        h = nas_gates([a + h @ b for a, b in zip(of_x[BRANCHES * k:], of_h, strict=False)])
    return h[None]


def nas_cells_gradient(weights, h, xs):
    return jax.grad(squares(nas_cells_optimum))(weights, h, xs)


# ---- Kolmogorov-Arnold network -----------------------------------------------------------------------------------

INTERVALS, DEGREE = 5, 3
WIDTH = 2.0 / INTERVALS
KNOTS = (np.arange(-DEGREE, INTERVALS + DEGREE + 1) * WIDTH - 1.0).astype(np.float32)


def kan_layers(scale):
    sizes = [max(4, int(n * scale)) for n in (784, 64, 10)]
    bases = INTERVALS + DEGREE
    layers = [(normal(k, a, b) / a ** 0.5, 0.1 * normal(10 + k, a, bases, b) / a ** 0.5)
              for k, (a, b) in enumerate(zip(sizes, sizes[1:], strict=False))]
    return layers, jnp.tanh(normal(20, max(8, int(256 * scale)), sizes[0]))


def splines(x):
    """The values of all cubic splines at each number, by the recursion of Cox and de Boor."""
    x, knots = x[..., None], jnp.asarray(KNOTS)
    bases = ((x >= knots[:-1]) & (x < knots[1:])).astype(x.dtype)
    for k in range(1, DEGREE + 1):
        left = (x - knots[:-k - 1]) / (knots[k:-1] - knots[:-k - 1])
        right = (knots[k + 1:] - x) / (knots[k + 1:] - knots[1:-k])
        bases = left * bases[..., :-1] + right * bases[..., 1:]
    return bases


def kan(layers, x):
    for base, spline in layers:
        x = jax.nn.silu(x) @ base + splines(x).reshape(x.shape[0], -1) @ spline.reshape(-1, spline.shape[-1])
    return x


def bumps(x):
    """The same on equal intervals: one bump, moved."""
    t = jnp.abs((x[..., None] - KNOTS[2:-2]) / WIDTH)
    far = jnp.maximum(2.0 - t, 0.0)
    near = jnp.maximum(1.0 - t, 0.0)
    return (far * far * far - 4.0 * (near * near * near)) / 6.0


def kan_optimum(layers, x):
    """Both branches in one product."""
    for base, spline in layers:
        terms = jnp.concatenate([jax.nn.silu(x)[..., None], bumps(x)], -1)
        weights = jnp.concatenate([base[:, None], spline], 1)
        x = terms.reshape(x.shape[0], -1) @ weights.reshape(-1, base.shape[-1])
    return x


def kan_gradient(layers, x):
    return jax.grad(squares(kan_optimum))(layers, x)


def squares(program):
    return lambda *arguments: jnp.sum(program(*arguments) ** 2)


def weighted(program):
    return lambda x, w: jnp.sum(program(x, w) * w)


WORKLOADS = {
    "symmetric_product": Workload(symmetric_product, symmetric_product_optimum, squares(symmetric_product),
                                  symmetric_product_gradient, matrices(1)),
    "slice_of_chain": Workload(slice_of_chain, slice_of_chain_optimum, squares(slice_of_chain),
                               slice_of_chain_gradient, matrices(3)),
    "diagonal_times_matrix": Workload(diagonal_times_matrix, diagonal_times_matrix_optimum, diagonal_times_matrix,
                                      diagonal_times_matrix_gradient, diagonal_and_matrices),
    "two_stencils": Workload(two_stencils, two_stencils_optimum, squares(two_stencils), two_stencils_gradient, grids),
    "nas_cells": Workload(nas_cells, nas_cells_optimum, squares(nas_cells), nas_cells_gradient, cells),
    "kan": Workload(kan, kan_optimum, squares(kan), kan_gradient, kan_layers),
    **{program.__name__: Workload(program, normalise_optimum, weighted(program), normalise_gradient, vectors)
       for program in (normalise_in_loop, normalise_by_map, normalise_by_scan)},
}
PROGRAMS = {f"micro_{name}": (work.program, work.make) for name, work in WORKLOADS.items()} | \
    {f"micro_{name}_loss": (work.loss, work.make) for name, work in WORKLOADS.items()}
