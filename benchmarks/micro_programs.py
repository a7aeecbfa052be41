"""Workloads of which the best program is known: what a person writes, what a specialist writes, and its derivative.

`WORKLOADS[name]` is a `Workload`; `PROGRAMS` has the programs and, as NAME_loss, a number made of each that is
differentiated in its first argument. No reactant here: the peer's environment does not have it.
"""
from collections.abc import Callable
from typing import NamedTuple

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
    **{program.__name__: Workload(program, normalise_optimum, weighted(program), normalise_gradient, vectors)
       for program in (normalise_in_loop, normalise_by_map, normalise_by_scan)},
}
PROGRAMS = {f"micro_{name}": (work.program, work.make) for name, work in WORKLOADS.items()} | \
    {f"micro_{name}_loss": (work.loss, work.make) for name, work in WORKLOADS.items()}
