"""Programs whose gradients `gradients.py` times: JAX functions of a tree of parameters and of data, in 32 bits.

`PROGRAMS[name]` is (loss, make): `make(scale)` gives the arguments of `loss`, of which the first is differentiated;
scale 1 is the size that is measured, smaller ones check that everything runs.
"""
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

PROGRAMS = {}


def program(make):
    """Declare a loss with the maker of its arguments; its name is the function's."""
    def declare(loss):
        PROGRAMS[loss.__name__] = (loss, make)
        return loss
    return declare


def normal(seed, *shape, scale=1.0):
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape) * scale, jnp.float32)


def sized(scale, n, least=4):
    return max(least, int(n * scale))


# ---- algebra ---------------------------------------------------------------------------------------------------------

@program(lambda s: (normal(0, sized(s, 512), sized(s, 512)),))
def symmetric_product(x):
    y = x @ x
    return jnp.sum((y + y.T) ** 2)


@program(lambda s: (normal(0, sized(s, 512), sized(s, 512)), normal(1, sized(s, 512), sized(s, 512)),
                    normal(2, sized(s, 512), sized(s, 512))))
def slice_of_chain(x, y, z):
    return jnp.sum((((x @ y) * z + 4.0)[0, :3]) ** 2)


@program(lambda s: (normal(0, sized(s, 512)), normal(1, sized(s, 512), sized(s, 512)),
                    normal(2, sized(s, 512), sized(s, 512))))
def diagonal_product(v, a, x):
    n = v.shape[0]
    i = jnp.arange(n)
    return jnp.sum((jnp.zeros((n, n), v.dtype).at[i, i].set(v) @ a + x) ** 2)


@program(lambda s: (normal(0, sized(s, 1024)), normal(1, sized(s, 1024))))
def normalised_in_loop(x, w):
    def iteration(i, out):
        return out.at[i].set(x[i] / jnp.linalg.norm(x))
    return jnp.sum(lax.fori_loop(0, x.shape[0], iteration, jnp.zeros_like(x)) * w)


@program(lambda s: (normal(0, sized(s, 1024)), normal(1, sized(s, 1024))))
def normalised_by_map(x, w):
    return jnp.sum(lax.map(lambda e: e / jnp.linalg.norm(x), x) * w)


@program(lambda s: (normal(0, sized(s, 200), sized(s, 200)), normal(1, sized(s, 200), 4)))
def gaussian_process(x, y):
    """Log-likelihood by Cholesky."""
    n = x.shape[0]
    k = x @ x.T / n + 2.0 * jnp.eye(n)
    factor = jnp.linalg.cholesky(k)
    return 0.5 * jnp.sum(y * jax.scipy.linalg.cho_solve((factor, True), y)) + jnp.sum(jnp.log(jnp.diagonal(factor)))


@program(lambda s: (normal(0, sized(s, 200), sized(s, 200)), normal(1, sized(s, 200), 4)))
def linear_solve(a, b):
    return jnp.sum(jnp.linalg.solve(a + 20.0 * jnp.eye(a.shape[0]), b) ** 2)


@program(lambda s: (normal(0, sized(s, 256), sized(s, 256)),))
def poisson_by_fourier(f):
    n, m = f.shape
    k = jnp.fft.fftfreq(n)[:, None] ** 2 + jnp.fft.rfftfreq(m)[None, :] ** 2
    u = jnp.fft.irfft2(jnp.fft.rfft2(f) / jnp.where(k == 0, 1.0, k), s=(n, m))
    return jnp.sum(u ** 2)


# ---- stencils and simulation -----------------------------------------------------------------------------------------

@program(lambda s: (normal(0, sized(s, 1_000_000, 32)),))
def stencil_four_times(x):
    for _ in range(4):
        x = x[:-2] - 2.0 * x[1:-1] + x[2:]
    return jnp.sum(x ** 2)


def five_points(u):
    return u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]


@program(lambda s: (normal(0, sized(s, 1024, 12), sized(s, 1024, 12)),))
def two_plane_stencils(u):
    return jnp.sum(five_points(five_points(u)) ** 2)


@program(lambda s: (normal(0, sized(s, 1024, 16), sized(s, 1024, 16)),))
def four_plane_stencils(u):
    for _ in range(4):
        u = five_points(u)
    return jnp.sum(u ** 2)


@program(lambda s: (normal(0, sized(s, 128, 12), sized(s, 128, 12), scale=0.01), sized(s, 50)))
def shallow_water(h0, steps):
    """Energy after some steps; periodic, explicit."""
    def step(state, _):
        h, u, v = state
        u = u - 0.1 * (jnp.roll(h, -1, 1) - h)
        v = v - 0.1 * (jnp.roll(h, -1, 0) - h)
        flux = (u - jnp.roll(u, 1, 1)) + (v - jnp.roll(v, 1, 0))
        return (h - 0.1 * (1.0 + h) * flux, u, v), None
    (h, u, v), _ = lax.scan(step, (h0, jnp.zeros_like(h0), jnp.zeros_like(h0)), None, length=steps)
    return jnp.sum(h ** 2 + u ** 2 + v ** 2)


@program(lambda s: ((normal(0, sized(s, 64), 3), normal(1, sized(s, 64), 3, scale=0.1)), sized(s, 20)))
def n_body(state, steps):
    def forces(x):
        d = x[:, None] - x[None, :]
        return -jnp.sum(d / (jnp.sum(d * d, -1, keepdims=True) + 0.1) ** 1.5, 1)

    def step(_, state):
        x, v = state
        v = v + 0.01 * forces(x)
        return x + 0.01 * v, v
    x, v = lax.fori_loop(0, steps, step, state)
    return jnp.sum(v ** 2) + jnp.sum(x ** 4)


@program(lambda s: (normal(0, sized(s, 28), scale=0.1) - 65.0, sized(s, 200)))
def neuron(v0, steps):
    """A cable of compartments with sodium and potassium channels."""
    def rate(v, a, b, c):
        return a * jnp.exp(-(v + b) / c)

    def step(state, _):
        v, m, h, n = state
        current = 120 * m ** 3 * h * (50 - v) + 36 * n ** 4 * (-77 - v) + 0.3 * (-54 - v) + 10.0
        axial = jnp.concatenate([v[1:], v[-1:]]) + jnp.concatenate([v[:1], v[:-1]]) - 2 * v
        m = m + 0.01 * (rate(v, 0.5, 40.0, 18.0) * (1 - m) - rate(v, 4.0, 65.0, 18.0) * m)
        h = h + 0.01 * (rate(v, 0.07, 65.0, 20.0) * (1 - h) - h / (1 + jnp.exp(-(v + 35) / 10)))
        n = n + 0.01 * (rate(v, 0.1, 55.0, 40.0) * (1 - n) - rate(v, 0.125, 65.0, 80.0) * n)
        return (v + 0.01 * (current + axial), m, h, n), v[0]
    start = (v0, jnp.full_like(v0, 0.05), jnp.full_like(v0, 0.6), jnp.full_like(v0, 0.32))
    _, trace = lax.scan(step, start, None, length=steps)
    return jnp.mean(trace ** 2)


@program(lambda s: (tuple(jnp.abs(normal(i, sized(s, 300_000))) + 0.5 for i in range(4)),))
def black_scholes(options):
    spot, strike, time, sigma = options
    root = sigma * jnp.sqrt(time)
    d1 = (jnp.log(spot / strike) + (0.02 + 0.5 * sigma ** 2) * time) / root

    def cumulative(d):
        return 0.5 * (1 + lax.erf(d / math.sqrt(2)))
    return jnp.sum(spot * cumulative(d1) - strike * jnp.exp(-0.02 * time) * cumulative(d1 - root))


# ---- statistics ------------------------------------------------------------------------------------------------------

@program(lambda s: (normal(0, 16, 8), normal(1, sized(s, 20000), 8)))
def k_means(centres, points):
    d = jnp.sum(points ** 2, 1)[:, None] - 2 * points @ centres.T + jnp.sum(centres ** 2, 1)
    return jnp.sum(jnp.min(d, 1))


@program(lambda s: ({"alphas": normal(0, 25), "means": normal(1, 25, 20), "logs": normal(2, 25, 20, scale=0.1),
                     "lower": normal(3, 25, 20, 20, scale=0.1)}, normal(4, sized(s, 1000), 20)))
def gaussian_mixture(p, x):
    """ADBench's objective: log-likelihood with factors of the inverse covariances."""
    factor = jnp.exp(p["logs"])[:, :, None] * jnp.eye(20) + jnp.tril(p["lower"], -1)
    q = jnp.einsum("kij,nkj->nki", factor, x[:, None] - p["means"])
    terms = p["alphas"] + jnp.sum(p["logs"], 1) - 0.5 * jnp.sum(q * q, -1)
    return jnp.sum(jax.nn.logsumexp(terms, 1)) - x.shape[0] * jax.nn.logsumexp(p["alphas"])


@program(lambda s: ((normal(0, sized(s, 50), 11), normal(1, sized(s, 2000), 3) + jnp.array([0, 0, 5.0])),
                    np.random.default_rng(2).integers(0, sized(s, 50), sized(s, 10000)),
                    np.random.default_rng(3).integers(0, sized(s, 2000), sized(s, 10000)),
                    normal(4, sized(s, 10000), 2)))
def bundle_adjustment(p, camera, point, seen):
    """The sum of squared reprojection errors with Rodrigues rotations and radial distortion."""
    cameras, points = p
    c, x = cameras[camera], points[point]
    angle = jnp.sqrt(jnp.sum(c[:, :3] ** 2, 1, keepdims=True) + 1e-12)
    axis = c[:, :3] / angle
    x = x - c[:, 3:6]
    turned = x * jnp.cos(angle) + jnp.cross(axis, x) * jnp.sin(angle) \
        + axis * jnp.sum(axis * x, 1, keepdims=True) * (1 - jnp.cos(angle))
    flat = turned[:, :2] / (turned[:, 2:] ** 2 + 1.0)
    r2 = jnp.sum(flat ** 2, 1, keepdims=True)
    flat = flat * (1 + c[:, 9:10] * r2 + c[:, 10:11] * r2 ** 2) * c[:, 6:7] + c[:, 7:9]
    return jnp.sum((flat - seen) ** 2)


@program(lambda s: (normal(0, sized(s, 100), 10), normal(1, sized(s, 4000), sized(s, 100)),
                    np.random.default_rng(2).integers(0, 10, sized(s, 4000))))
def classification(w, x, labels):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(x @ w), labels[:, None], 1))


@program(lambda s: (normal(0, sized(s, 100_000)), normal(1, sized(s, 100_000))))
def quantiles(x, y):
    return jnp.mean((jnp.sort(x) - y) ** 2)


# ---- networks --------------------------------------------------------------------------------------------------------

@program(lambda s: ([normal(i, a, b, scale=0.05) for i, (a, b) in enumerate([(256, 256), (256, 256), (256, 10)])],
                    normal(9, sized(s, 256), 256)))
def perceptron(weights, x):
    for w in weights[:-1]:
        x = jax.nn.relu(x @ w)
    return jnp.mean((x @ weights[-1]) ** 2)


@program(lambda s: ([normal(i, a, b, 8, scale=0.1) for i, (a, b) in enumerate([(64, 32), (32, 10)])],
                    normal(9, sized(s, 256), 64)))
def kan(layers, x):
    """Radial basis functions on every edge (Kolmogorov-Arnold network)."""
    centres = jnp.linspace(-2.0, 2.0, 8)
    for c in layers:
        x = jnp.einsum("nig,iog->no", jnp.exp(-((x[:, :, None] - centres) ** 2)), c)
    return jnp.mean(x ** 2)


@program(lambda s: ({"wx": normal(0, 32, 256, scale=0.1), "wh": normal(1, 64, 256, scale=0.1), "b": normal(2, 256)},
                    normal(3, sized(s, 50), 16, 32)))
def lstm(p, xs):
    def step(state, x):
        h, c = state
        i, f, g, o = jnp.split(x @ p["wx"] + h @ p["wh"] + p["b"], 4, 1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h
    zero = jnp.zeros((16, 64), xs.dtype)
    _, hs = lax.scan(step, (zero, zero), xs)
    return jnp.mean(hs ** 2)


def normalised(x, scale):
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * scale


def attended(x, p, heads):
    n, t, d = x.shape
    q, k, v = ((x @ p[name]).reshape(n, t, heads, d // heads) for name in ("q", "k", "v"))
    scores = jnp.einsum("nthd,nshd->nhts", q, k) / math.sqrt(d // heads)
    scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -1e9)
    return jnp.einsum("nhts,nshd->nthd", jax.nn.softmax(scores), v).reshape(n, t, d) @ p["o"]


def block_weights(d, wide, seed=0):
    shapes = {"q": (d, d), "k": (d, d), "v": (d, d), "o": (d, d), "up": (d, wide), "gate": (d, wide), "down": (wide, d)}
    made = {name: normal(seed + i, *shape, scale=0.05) for i, (name, shape) in enumerate(shapes.items())}
    return made | {"first": jnp.ones(d), "second": jnp.ones(d)}


@program(lambda s: (block_weights(128, 256), normal(9, 4, sized(s, 64), 128)))
def attention(p, x):
    return jnp.mean(attended(x, p, 4) ** 2)


def transformed(x, p):
    x = x + attended(normalised(x, p["first"]), p, 4)
    y = normalised(x, p["second"])
    return x + (jax.nn.silu(y @ p["gate"]) * (y @ p["up"])) @ p["down"]


@program(lambda s: ({"embed": normal(0, 256, 64, scale=0.1),
                     "blocks": [block_weights(64, 128, 10 * i) for i in range(2)]},
                    np.random.default_rng(1).integers(0, 256, (4, sized(s, 64) + 1))))
def language_model(p, tokens):
    x = p["embed"][tokens[:, :-1]]
    for block in p["blocks"]:
        x = transformed(x, block)
    logits = x @ p["embed"].T
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], 2))


def convolved(x, w, stride=1):
    return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def batch_normalised(x, scale):
    mean = jnp.mean(x, (0, 1, 2))
    return (x - mean) * lax.rsqrt(jnp.mean((x - mean) ** 2, (0, 1, 2)) + 1e-5) * scale


@program(lambda s: ([normal(0, 3, 3, 32, 32, scale=0.1), normal(1, 3, 3, 32, 32, scale=0.1), jnp.ones(32)],
                    normal(3, 2, sized(s, 28), sized(s, 28), 32)))
def residual_block(p, x):
    y = jax.nn.relu(batch_normalised(convolved(x, p[0]), p[2]))
    return jnp.mean(jax.nn.relu(x + batch_normalised(convolved(y, p[1]), p[2])) ** 2)


@program(lambda s: ([normal(0, 5, 5, 1, 8, scale=0.1), normal(1, 5, 5, 8, 16, scale=0.1), normal(2, 16, 10)],
                    normal(3, sized(s, 16), 28, 28, 1)))
def pooled_network(p, x):
    for w in p[:2]:
        x = jax.nn.relu(convolved(x, w))
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return jnp.mean((jnp.mean(x, (1, 2)) @ p[2]) ** 2)


@program(lambda s: (normal(0, 5000, 32), np.random.default_rng(1).integers(0, 5000, (sized(s, 512), 20)),
                    normal(2, sized(s, 512), 32)))
def embedding(table, words, goal):
    return jnp.mean((jnp.mean(table[words], 1) - goal) ** 2)
