"""Loops that people write with `jax.lax`: functions of a batch of n, with what they are given."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.nn import log_softmax, sigmoid, softmax
from jax.scipy.special import logsumexp

Program = tuple[Callable, tuple[Any, ...]]
MAKERS: dict[str, Callable[[int, Callable], Program]] = {}
"""Name -> (n, `numbers`) -> a function and its arguments."""


def numbers(dtype: str) -> Callable[..., jax.Array]:
    """Normal numbers of some shape, the same ones in every run."""
    random = np.random.default_rng(0)
    return lambda *shape: jnp.asarray(random.normal(size=shape) * 0.3, dtype)


def maker(make: Callable[[int, Callable], Program]) -> Callable[[int, Callable], Program]:
    MAKERS[make.__name__] = make
    return make


def symbols(n: int, length: int, kinds: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(1).integers(0, kinds, (n, length)))


@maker
def forward_algorithm(n: int, normal: Callable) -> Program:
    """Log-likelihoods of n sequences, a hidden Markov model of 4 states."""
    change, emit = log_softmax(normal(4, 4)), log_softmax(normal(4, 6))

    def one(sequence: jax.Array) -> jax.Array:
        def step(a: jax.Array, seen: jax.Array) -> tuple:
            return logsumexp(a[:, None] + change, 0) + emit[:, seen], None
        return logsumexp(jax.lax.scan(step, jnp.zeros(4, change.dtype), sequence)[0])
    return jax.vmap(one), (symbols(n, 60, 6),)


@maker
def viterbi(n: int, normal: Callable) -> Program:
    """The likeliest states, with where each came from."""
    change, scores = normal(8, 8), normal(n, 40, 8)

    def one(score: jax.Array) -> tuple:
        def step(best: jax.Array, row: jax.Array) -> tuple:
            ways = best[:, None] + change
            return ways.max(0) + row, ways.argmax(0)
        return jax.lax.scan(step, jnp.zeros(8, score.dtype), score)
    return jax.vmap(one), (scores,)


@maker
def recurrent(n: int, normal: Callable) -> Program:
    """An Elman network with 16 units."""
    w, u, x = normal(16, 16), normal(16, 8), normal(50, n, 8)

    def step(h: jax.Array, x: jax.Array) -> tuple:
        return jnp.tanh(h @ w.T + x @ u.T), None
    return lambda x: jax.lax.scan(step, jnp.zeros((n, 16), x.dtype), x)[0], (x,)


def lstm_states(w: jax.Array, u: jax.Array, b: jax.Array, x: jax.Array) -> jax.Array:
    def step(state: tuple, x: jax.Array) -> tuple:
        h, c = state
        i, f, g, o = jnp.split(h @ w.T + x @ u.T + b, 4, -1)
        c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
        h = sigmoid(o) * jnp.tanh(c)
        return (h, c), h
    zero = jnp.zeros((x.shape[1], w.shape[1]), x.dtype)
    return jax.lax.scan(step, (zero, zero), x)[1]


@maker
def lstm(n: int, normal: Callable) -> Program:
    """All states of an LSTM with 24 units."""
    return lstm_states, (normal(96, 24), normal(96, 10), normal(96), normal(30, n, 10))


@maker
def lstm_gradient(n: int, normal: Callable) -> Program:
    """Its gradient, by `jax.grad`."""
    return jax.grad(lambda *a: (lstm_states(*a) ** 2).sum(), (0, 1, 2)), lstm(n, normal)[1]


@maker
def gru(n: int, normal: Callable) -> Program:
    """All states of a gated recurrent unit of 32."""
    w, u, x = [normal(32, 32) for _ in range(3)], [normal(8, 32) for _ in range(3)], normal(30, n, 8)

    def step(h: jax.Array, x: jax.Array) -> tuple:
        z, r = (sigmoid(h @ w[k] + x @ u[k]) for k in (0, 1))
        h = (1 - z) * h + z * jnp.tanh((r * h) @ w[2] + x @ u[2])
        return h, h
    return lambda x: jax.lax.scan(step, jnp.zeros((n, 32), x.dtype), x)[1], (x,)


@maker
def streamed_attention(n: int, normal: Callable) -> Program:
    """Attention of n queries over blocks of 32 keys, one softmax through all of them."""
    q, keys, values = normal(n, 16), normal(8, 32, 16), normal(8, 32, 16)

    def step(state: tuple, block: tuple) -> tuple:
        most, total, out = state
        scores = q @ block[0].T
        new = jnp.maximum(most, scores.max(-1))
        p, kept = jnp.exp(scores - new[:, None]), jnp.exp(most - new)
        return (new, total * kept + p.sum(-1), out * kept[:, None] + p @ block[1]), None

    def attend(keys: jax.Array, values: jax.Array) -> jax.Array:
        start = (jnp.full(n, -1e30, q.dtype), jnp.zeros(n, q.dtype), jnp.zeros((n, 16), q.dtype))
        (_, total, out), _ = jax.lax.scan(step, start, (keys, values))
        return out / total[:, None]
    return attend, (keys, values)


@maker
def markov_chain(n: int, normal: Callable) -> Program:
    """Fifty steps of softmax(v A)."""
    a = normal(8, 8)
    return lambda v: jax.lax.scan(lambda v, _: (softmax(v @ a), None), v, None, length=50)[0], (normal(n, 8),)


@maker
def lorenz(n: int, normal: Callable) -> Program:
    """Runge and Kutta's fourth-order steps of n systems."""
    def slope(y: jax.Array) -> jax.Array:
        return jnp.stack([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])

    def step(y: jax.Array, _: None) -> tuple:
        h = 0.01
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(y + h * k3)), None
    return lambda y: jax.lax.scan(step, y, None, length=100)[0], (normal(3, n),)


@maker
def kalman(n: int, normal: Callable) -> Program:
    """n filters of two states, one measurement an iteration."""
    unit = jnp.eye(2, dtype=normal().dtype)
    f = unit + 0.1 * normal(2, 2)

    def one(seen: jax.Array) -> jax.Array:
        def step(state: tuple, z: jax.Array) -> tuple:
            m, p = state
            m, p = f @ m, f @ p @ f.T + 0.01 * unit
            gain = p[:, 0] / (p[0, 0] + 0.1)
            m, p = m + gain * (z - m[0]), p - jnp.outer(gain, p[0])
            return (m, p), m
        return jax.lax.scan(step, (jnp.zeros(2, seen.dtype), unit), seen)[1]
    return jax.vmap(one), (normal(n, 50),)


@maker
def adam(n: int, normal: Callable) -> Program:
    """Least squares of n unknowns by Adam."""
    a, b = normal(16, n), normal(16)
    slope = jax.grad(lambda w: ((a @ w - b) ** 2).mean())

    def step(state: tuple, _: None) -> tuple:
        w, m, v = state
        d = slope(w)
        m, v = 0.9 * m + 0.1 * d, 0.99 * v + 0.01 * d * d
        return (w - 0.01 * m / (jnp.sqrt(v) + 1e-8), m, v), None
    return lambda w: jax.lax.scan(step, (w, 0 * w, 0 * w), None, length=50)[0][0], (normal(n),)


@maker
def averages(n: int, normal: Callable) -> Program:
    """Exponential moving averages of n series."""
    x = normal(400, n)
    return lambda x: jax.lax.scan(lambda c, x: (c * 0.9 + x * 0.1,) * 2, jnp.zeros(n, x.dtype), x)[1], (x,)


@maker
def roots(n: int, normal: Callable) -> Program:
    """n cubic equations, bisected."""
    def halve(_: int, ends: tuple, c: jax.Array) -> tuple:
        low, high = ends
        middle = 0.5 * (low + high)
        below = middle ** 3 + middle < c
        return jnp.where(below, middle, low), jnp.where(below, high, middle)
    return lambda c: jax.lax.fori_loop(0, 40, lambda k, e: halve(k, e, c), (0 * c, 0 * c + 2))[0], (jnp.abs(normal(n)),)


@maker
def metropolis(n: int, normal: Callable) -> Program:
    """Twenty steps of n Markov chains, with JAX's random numbers."""
    def step(x: jax.Array, key: jax.Array) -> tuple:
        first, second = jax.random.split(key)
        to = x + 0.5 * jax.random.normal(first, x.shape, x.dtype)
        taken = jnp.log(jax.random.uniform(second, x.shape, x.dtype)) < 0.5 * (x * x - to * to)
        return jnp.where(taken, to, x), None
    return lambda x: jax.lax.scan(step, x, jax.random.split(jax.random.PRNGKey(0), 20))[0], (normal(n),)


@maker
def k_means(n: int, normal: Callable) -> Program:
    """Ten rounds of five means of n points."""
    def iteration(_: int, means: jax.Array, x: jax.Array) -> jax.Array:
        near = ((x[:, None] - means[None]) ** 2).sum(-1).argmin(1)
        of = jax.nn.one_hot(near, 5, dtype=x.dtype)
        return of.T @ x / (of.sum(0)[:, None] + 1e-6)
    return lambda x: jax.lax.fori_loop(0, 10, lambda k, m: iteration(k, m, x), x[:5]), (normal(n + 5, 3),)


@maker
def sinkhorn(n: int, normal: Callable) -> Program:
    """Transport between min(n, 300) points."""
    n = min(n, 300)

    def iteration(_: int, scales: tuple, cost: jax.Array) -> tuple:
        u = 1 / (cost @ scales[1])
        return u, 1 / (cost.T @ u)
    return (lambda cost: jax.lax.fori_loop(0, 30, lambda k, s: iteration(k, s, cost),
                                           (jnp.ones(n, cost.dtype),) * 2)[0],
            (jnp.exp(-jnp.abs(normal(n, n))),))


@maker
def waves(n: int, normal: Callable) -> Program:
    """Forty steps on a periodic square of about 16 n points."""
    side = 4 * max(int(n ** 0.5), 1)

    def iteration(_: int, state: tuple) -> tuple:
        u, v = state
        v = v + 0.1 * (sum(jnp.roll(u, s, d) for s in (1, -1) for d in (0, 1)) - 4 * u)
        return u + 0.1 * v, v
    return lambda u: jax.lax.fori_loop(0, 40, iteration, (u, 0 * u)), (normal(side, side),)


@maker
def relaxation(n: int, normal: Callable) -> Program:
    """Jacobi's method inside of a square of about 16 n points."""
    side = 4 * max(int(n ** 0.5), 1)

    def iteration(_: int, u: jax.Array) -> jax.Array:
        return u.at[1:-1, 1:-1].set(0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]))
    return lambda u: jax.lax.fori_loop(0, 50, iteration, u), (normal(side, side),)


@maker
def diffusion_on_graph(n: int, normal: Callable) -> Program:
    """Values that flow along 3 n edges, added where they arrive."""
    start, end = symbols(2, 3 * n, n)
    return lambda x: jax.lax.fori_loop(0, 20, lambda _, x: (x * 0.7).at[end].add(x[start] * 0.1), x), (normal(n),)


@maker
def sorting_iterations(n: int, normal: Callable) -> Program:
    """Rows of 16, sorted and mixed."""
    return lambda x: jax.lax.fori_loop(0, 5, lambda k, x: jnp.sort(x * (1 - 2 * (k % 2)), 1) + 0.1, x), (normal(n, 16),)
