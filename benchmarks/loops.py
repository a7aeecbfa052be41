"""Loops that are maps, reductions or products: what they become, against the loops XLA runs, `jax.vmap` and jax's own.

    python benchmarks/loops.py [--tiny] [--only NAME ...] [--repeats N]

Columns are times of the other form over the time of `reactant.jit` of the loop, from interleaved runs in one process
(above 1: ours is faster): `loop` the same without the rules that take loops apart, `vmap` what a specialist writes in
JAX (`jax.vmap`, or whole arrays), under `jax.jit`. No native code on either side.
"""
import argparse
import functools
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

from reactant.demos.measure import taking_iterations

RULES = ("loop_maps", "loop_places", "loop_lifting", "conditional_updates")


def branches(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] > 0:
            out[i] = np.sqrt(x[i])
        else:
            out[i] = np.exp(x[i])
    return out


def branches_vmap(x):
    return jax.vmap(lambda v: jnp.where(v > 0, jnp.sqrt(v), jnp.exp(v)))(x)


def five_points(a):
    n, m = a.shape
    out = np.zeros((n, m))
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            out[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
    return out


def five_points_vmap(a):
    return jnp.pad(0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]), 1)


def matrix_product(a, b):
    n, k = a.shape
    m = b.shape[1]
    c = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            s = 0.0
            for p in range(k):
                s += a[i, p] * b[p, j]
            c[i, j] = s
    return c


def normalised(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[i] / np.linalg.norm(x)
    return out


def normalised_vmap(x):
    return x / jnp.linalg.norm(x)


def moments(a):
    out = np.zeros((len(a), 2))
    for i in range(len(a)):
        mean = a[i].mean()
        out[i, 0] = mean
        out[i, 1] = ((a[i] - mean) ** 2).mean()
    return out


def moments_vmap(a):
    return jax.vmap(lambda r: jnp.stack([r.mean(), ((r - r.mean()) ** 2).mean()]))(a)


def layer(x, w):
    out = np.zeros((len(x), len(w)))
    for i in range(len(x)):
        out[i] = np.tanh(w @ x[i])
    return out


def layer_vmap(x, w):
    return jax.vmap(lambda r: jnp.tanh(w @ r))(x)


def nearest(points):
    out = np.zeros(len(points))
    for i in range(len(points)):
        d = ((points - points[i]) ** 2).sum(1)
        d[i] = np.inf
        out[i] = np.sqrt(d.min())
    return out


def nearest_vmap(points):
    n = len(points)
    d = jax.vmap(lambda p: ((points - p) ** 2).sum(1))(points)
    return jnp.sqrt(jnp.where(jnp.eye(n, dtype=bool), jnp.inf, d).min(1))


def histogram(x, bins):
    counts = np.zeros(50)
    for i in range(len(x)):
        counts[bins[i]] += x[i]
    return counts


def histogram_vmap(x, bins):
    return jnp.zeros(50).at[bins].add(x)


def triangle(a):
    out = np.zeros(len(a))
    for i in range(len(a)):
        for j in range(i):
            out[i] += a[i, j] * a[j, i]
    return out


def triangle_vmap(a):
    return jnp.sum(jnp.tril(a, -1) * a.T, 1)


def newton(x):
    out = np.zeros_like(x)
    for i in range(len(x)):
        y = x[i]
        while abs(y * y - x[i]) > 1e-12 * x[i]:
            y = 0.5 * (y + x[i] / y)
        out[i] = y
    return out


def newton_vmap(x):
    def one(v):
        return jax.lax.while_loop(lambda y: jnp.abs(y * y - v) > 1e-12 * v, lambda y: 0.5 * (y + v / y), v)
    return jax.vmap(one)(x)


def recurrent(x, w, u, v):
    h = np.zeros(len(u))
    out = np.zeros((len(x), v.shape[1]))
    for t in range(len(x)):
        h = np.tanh(x[t] @ w + h @ u)
        out[t] = h @ v
    return out


def recurrent_vmap(x, w, u, v):
    def step(h, a):
        h = jnp.tanh(a + h @ u)
        return h, h
    return jax.lax.scan(step, jnp.zeros(len(u)), x @ w)[1] @ v


def random(*shape):
    return np.random.default_rng(0).random(shape)


PROGRAMS = {
    "branches": (branches, branches_vmap, lambda n: (random(1000 * n) - 0.5,)),
    "five_points": (five_points, five_points_vmap, lambda n: (random(5 * n, 5 * n),)),
    "matrix_product": (matrix_product, jnp.matmul, lambda n: (random(2 * n, 2 * n), random(2 * n, 2 * n))),
    "normalised": (normalised, normalised_vmap, lambda n: (random(41 * n),)),
    "moments": (moments, moments_vmap, lambda n: (random(20 * n, 100),)),
    "layer": (layer, layer_vmap, lambda n: (random(5 * n, 200), random(200, 200) - 0.5)),
    "nearest": (nearest, nearest_vmap, lambda n: (random(5 * n, 3),)),
    "histogram": (histogram, histogram_vmap,
                  lambda n: (random(200 * n), np.random.default_rng(1).integers(0, 50, 200 * n))),
    "triangle": (triangle, triangle_vmap, lambda n: (random(4 * n, 4 * n),)),
    "newton": (newton, newton_vmap, lambda n: (random(20 * n) + 0.1,)),
    "recurrent": (recurrent, recurrent_vmap, lambda n: (
        random(2 * n, 256), random(256, 256) - 0.5, 0.1 * (random(256, 256) - 0.5), random(256, 256) - 0.5)),
}


def make(name="branches", scale=100):
    """(function, arguments) of one program."""
    return PROGRAMS[name][0], PROGRAMS[name][2](scale)


def measure(name, scale, repeats):
    """Times of one program's forms; raises AssertionError where they do not agree."""
    import reactant

    function, arguments = make(name, scale)
    forms = {"ours": reactant.jit(function, native="never"),
             "loop": reactant.jit(function, native="never", without=RULES), "vmap": jax.jit(PROGRAMS[name][1])}
    device = tuple(map(jnp.asarray, arguments))
    results = [np.asarray(form(*device)) for form in forms.values()]
    for other in results[1:]:
        np.testing.assert_allclose(other, results[0], rtol=1e-9, atol=1e-12)
    calls = {kind: functools.partial(form, *device) for kind, form in forms.items()}
    return taking_iterations(calls, repeats, time.process_time)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--only", nargs="*", choices=PROGRAMS, default=list(PROGRAMS))
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args(arguments)
    table = Table(title="time of the other form / time of ours")
    for heading in ("program", "ours ms", "loop", "vmap"):
        table.add_column(heading, justify="left" if heading == "program" else "right")
    with jax.enable_x64(True):
        for name in options.only:
            seconds = measure(name, 3 if options.tiny else 100, 2 if options.tiny else options.repeats)
            table.add_row(name, f"{seconds['ours'] * 1e3:.3f}", f"{seconds['loop'] / seconds['ours']:.2f}",
                          f"{seconds['vmap'] / seconds['ours']:.2f}")
    Console(width=100).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
