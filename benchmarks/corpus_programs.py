"""The rest of the optimiser's corpus: JAX programs beside the losses of `gradient_programs.py`, in 32 bits.

`PROGRAMS[name]` is (function, make), as there: `make(scale)` gives the arguments, whole numbers among them static.
"""
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

PROGRAMS = {}


def program(make):
    """Declare a program with the maker of its arguments; its name is the function's."""
    def declare(function):
        PROGRAMS[function.__name__] = (function, make)
        return function
    return declare


def normal(seed, *shape, scale=1.0):
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape) * scale, jnp.float32)


def integers(seed, high, *shape):
    return jnp.asarray(np.random.default_rng(seed).integers(0, high, shape), jnp.int32)


def sized(scale, n, least=4):
    return max(least, int(n * scale))


# ---- the micro workloads ---------------------------------------------------------------------------------------------

@program(lambda s: (normal(0, sized(s, 1024), sized(s, 1024)),))
def symmetric_product_matrix(x):
    return x @ x + (x @ x).T


@program(lambda s: (normal(0, sized(s, 1024), sized(s, 1024)), normal(1, sized(s, 1024), sized(s, 1024)),
                    normal(2, sized(s, 1024), sized(s, 1024))))
def first_ten_of_chain(x, y, z):
    return ((x @ y) * z + 4.0).ravel()[:10]


@program(lambda s: (normal(0, sized(s, 1024)), normal(1, sized(s, 1024), sized(s, 1024)),
                    normal(2, sized(s, 1024), sized(s, 1024))))
def diagonal_times_matrix(v, a, x):
    i = jnp.arange(v.shape[0])
    return jnp.sum((jnp.zeros((v.shape[0],) * 2, v.dtype).at[i, i].set(v) @ a + x) ** 2)


@program(lambda s: (normal(0, sized(s, 4096)),))
def normalise_in_loop(x):
    return lax.fori_loop(0, x.shape[0], lambda i, out: out.at[i].set(x[i] / jnp.linalg.norm(x)), jnp.zeros_like(x))


@program(lambda s: (normal(0, sized(s, 4096)),))
def normalise_by_map(x):
    return lax.map(lambda e: e / jnp.linalg.norm(x), x)


@program(lambda s: (normal(0, sized(s, 4096)),))
def normalise_by_scan(x):
    return lax.scan(lambda carry, e: (carry, e / jnp.linalg.norm(x)), None, x)[1]


# ---- simulation ------------------------------------------------------------------------------------------------------

def five_points(u):
    return u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]


@program(lambda s: (normal(0, sized(s, 2048, 16), sized(s, 2048, 16)),))
def two_stencils(u):
    return five_points(five_points(u))


@program(lambda s: (normal(0, sized(s, 1_000_000, 32)),))
def second_difference_four_times(x):
    for _ in range(4):
        x = x[:-2] - 2.0 * x[1:-1] + x[2:]
    return x


@program(lambda s: (normal(0, sized(s, 256, 12), sized(s, 256, 12), scale=0.01), sized(s, 50)))
def shallow_water_with_halo(h, steps):
    """Explicit steps on arrays with a halo of one cell, which is written in place."""
    def wrapped(a):
        a = a.at[0, :].set(a[-2, :]).at[-1, :].set(a[1, :])
        return a.at[:, 0].set(a[:, -2]).at[:, -1].set(a[:, 1])

    def step(_, state):
        h, u, v = map(wrapped, state)
        u = u.at[1:-1, 1:-1].add(-0.05 * (h[1:-1, 2:] - h[1:-1, :-2]))
        v = v.at[1:-1, 1:-1].add(-0.05 * (h[2:, 1:-1] - h[:-2, 1:-1]))
        u, v = wrapped(u), wrapped(v)
        flux = (u[1:-1, 2:] - u[1:-1, :-2]) + (v[2:, 1:-1] - v[:-2, 1:-1])
        return h.at[1:-1, 1:-1].add(-0.05 * (1.0 + h[1:-1, 1:-1]) * flux), u, v
    return lax.fori_loop(0, steps, step, (h, jnp.zeros_like(h), jnp.zeros_like(h)))


@program(lambda s: (normal(0, sized(s, 256), 3), normal(1, sized(s, 256), 3, scale=0.1), sized(s, 10)))
def n_body_steps(x, v, steps):
    def step(_, state):
        x, v = state
        d = x[:, None] - x[None, :]
        v = v - 0.01 * jnp.sum(d / (jnp.sum(d * d, -1, keepdims=True) + 0.1) ** 1.5, 1)
        return x + 0.01 * v, v
    return lax.fori_loop(0, steps, step, (x, v))


@program(lambda s: (normal(0, sized(s, 512), sized(s, 512)),))
def poisson_by_fft(f):
    n, m = f.shape
    k = jnp.fft.fftfreq(n)[:, None] ** 2 + jnp.fft.fftfreq(m)[None, :] ** 2
    return jnp.fft.ifft2(jnp.fft.fft2(f) / jnp.where(k == 0, 1.0, k)).real


@program(lambda s: (1.0 + normal(0, 9, sized(s, 128), sized(s, 128), scale=0.01), sized(s, 20)))
def lattice_boltzmann(f, steps):
    """D2Q9 with one relaxation time, periodic."""
    c = np.array([(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)])
    w = jnp.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4, jnp.float32)[:, None, None]

    def step(_, f):
        rho = jnp.sum(f, 0)
        u = jnp.einsum("id,ixy->dxy", jnp.asarray(c, f.dtype), f) / rho
        cu = jnp.einsum("id,dxy->ixy", jnp.asarray(c, f.dtype), u)
        f = f + 0.6 * (w * rho * (1 + 3 * cu + 4.5 * cu ** 2 - 1.5 * jnp.sum(u * u, 0)) - f)
        return jnp.stack([jnp.roll(f[i], tuple(c[i]), (0, 1)) for i in range(9)])
    return lax.fori_loop(0, steps, step, f)


@program(lambda s: (normal(0, sized(s, 100_000)), normal(1, sized(s, 100_000))))
def exponential_filter(x, gate):
    a = jax.nn.sigmoid(gate)
    return lax.scan(lambda y, e: ((z := e[1] * y + (1 - e[1]) * e[0]), z), jnp.float32(0), (x, a))[1]


@program(lambda s: (normal(0, sized(s, 50), 6), normal(1, sized(s, 50), 3)))
def kalman_filter(start, measured):
    """Constant-velocity model, position measured."""
    eye = functools.partial(jnp.eye, dtype=start.dtype)
    f = eye(6) + 0.1 * eye(6, k=3)
    h = eye(3, 6)

    def step(state, z):
        x, p = state
        x, p = f @ x, f @ p @ f.T + 0.01 * eye(6)
        gain = p @ h.T @ jnp.linalg.inv(h @ p @ h.T + 0.1 * eye(3))
        x = x + gain @ (z - h @ x)
        p = (eye(6) - gain @ h) @ p
        return (x, p), x
    return lax.scan(step, (start[0], eye(6)), measured)[1]


# ---- linear algebra --------------------------------------------------------------------------------------------------

@program(lambda s: (normal(0, sized(s, 4096), 4, 4), normal(1, sized(s, 4096), 4, 4), normal(2, sized(s, 4096), 4)))
def small_products(a, b, x):
    return jnp.einsum("nij,njk,nk->ni", a, b, x)


@program(lambda s: (normal(0, sized(s, 2048), 6, 6), normal(1, sized(s, 2048), 6)))
def small_solves(a, b):
    a = a @ a.swapaxes(1, 2) + 6.0 * jnp.eye(6)
    return jnp.linalg.solve(a, b[..., None])[..., 0]


@program(lambda s: (normal(0, sized(s, 512), sized(s, 512)), normal(1, sized(s, 512), sized(s, 512)),
                    normal(2, sized(s, 512))))
def chain_times_vector(a, b, x):
    return (a @ b) @ x + (a.T @ x)


@program(lambda s: (normal(0, sized(s, 300), sized(s, 300)), normal(1, sized(s, 300))))
def inverse_times_vector(a, b):
    a = a @ a.T + 300.0 * jnp.eye(a.shape[0])
    return jnp.linalg.inv(a) @ b, jnp.linalg.slogdet(a)[1]


@program(lambda s: (normal(0, sized(s, 512), sized(s, 512)),))
def trace_of_product(a):
    return jnp.trace(a @ a.T) + jnp.sum(jnp.diagonal(a @ a))


@program(lambda s: (normal(0, sized(s, 1000), sized(s, 200)), normal(1, sized(s, 1000))))
def least_squares(a, b):
    gram = a.T @ a + 1e-3 * jnp.eye(a.shape[1])
    return jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(gram), True), a.T @ b)


@program(lambda s: (normal(0, sized(s, 2000), 16), normal(1, sized(s, 500), 16)))
def pairwise_kernel(x, y):
    d = jnp.sum((x[:, None] - y[None]) ** 2, -1)
    return jnp.exp(-0.5 * d).sum(1)


@program(lambda s: (normal(0, sized(s, 400), sized(s, 400)), sized(s, 50)))
def power_iteration(a, steps):
    a = a + a.T

    def step(_, x):
        y = a @ x
        return y / jnp.linalg.norm(y)
    x = lax.fori_loop(0, steps, step, jnp.ones(a.shape[0]))
    return x @ a @ x


# ---- data ------------------------------------------------------------------------------------------------------------

@program(lambda s: (normal(0, sized(s, 1_000_000)), integers(1, 100, sized(s, 1_000_000))))
def histogram_of_groups(x, group):
    return jnp.zeros(100).at[group].add(x), jnp.zeros(100, jnp.int32).at[group].add(1)


@program(lambda s: (normal(0, sized(s, 1000), sized(s, 1000)),))
def standardised(x):
    return (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-6), jnp.argmax(x, 1)


@program(lambda s: (normal(0, sized(s, 1_000_000)),))
def running_sums(x):
    total = jnp.cumsum(x)
    return (total[100:] - total[:-100]) / 100.0


@program(lambda s: (normal(0, sized(s, 1024), sized(s, 1024)),))
def box_filters(image):
    def box(a):
        return lax.reduce_window(a, 0.0, lax.add, (5, 5), (1, 1), "SAME")
    mean = box(image) / 25.0
    return (image - mean) / jnp.sqrt(jnp.maximum(box(image * image) / 25.0 - mean * mean, 0.0) + 1e-3)


@program(lambda s: (normal(0, sized(s, 512), sized(s, 512), 3),))
def colour_and_sharpen(image):
    grey = image @ jnp.array([0.299, 0.587, 0.114], jnp.float32)
    kernel = jnp.array([[0, -1, 0], [-1, 5, -1], [0, -1, 0]], jnp.float32)[:, :, None, None]
    sharp = lax.conv_general_dilated(grey[None, :, :, None], kernel, (1, 1), "SAME",
                                     dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jnp.clip(sharp[0, :, :, 0], 0.0, 1.0)


@program(lambda s: (sized(s, 1_000_000),))
def mandelbrot_fixed(n):
    c = (jnp.linspace(-2.0, 0.5, n) + 1j * jnp.linspace(-1.0, 1.0, n)).astype(jnp.complex64)
    return jnp.abs(lax.fori_loop(0, 10, lambda _, z: z * z + c, jnp.zeros_like(c))) < 2.0


# ---- networks --------------------------------------------------------------------------------------------------------

@program(lambda s: (normal(0, 64, 64, scale=0.1), normal(1, 64, 64, scale=0.1), normal(2, sized(s, 50), 32, 64)))
def nas_cell_chain(wx, wh, xs):
    """A cell as found by architecture search, its weights shared by all of its branches."""
    def step(h, x):
        a, b = x @ wx, h @ wh
        left = jnp.tanh(jax.nn.sigmoid(a + b) * jax.nn.relu(a + b))
        right = jnp.tanh(jax.nn.sigmoid(a * b) + jnp.tanh(a + b))
        return jnp.tanh(left * right + x @ wx), ()
    return lax.scan(step, jnp.zeros((xs.shape[1], 64)), xs)[0]


@program(lambda s: (normal(0, 8, sized(s, 128), 64), normal(1, 8, sized(s, 128), 64), normal(2, 8, sized(s, 128), 64)))
def masked_attention(q, k, v):
    scores = jnp.einsum("htd,hsd->hts", q, k) / 8.0
    scores = jnp.where(jnp.tril(jnp.ones(scores.shape[1:], bool)), scores, -jnp.inf)
    return jax.nn.softmax(scores, -1) @ v


@program(lambda s: (normal(0, sized(s, 512), 64), normal(1, 64, 8), normal(2, 8, 64, 128, scale=0.1),
                    normal(3, 8, 128, 64, scale=0.1)))
def mixture_of_experts(x, route, up, down):
    """Top-2 routing, every expert on every token, weighted."""
    top, which = lax.top_k(x @ route, 2)
    gates = jnp.zeros((x.shape[0], 8)).at[jnp.arange(x.shape[0])[:, None], which].set(jax.nn.softmax(top))
    hidden = jax.nn.gelu(jnp.einsum("nd,edh->neh", x, up))
    return jnp.einsum("neh,ehd,ne->nd", hidden, down, gates)


@program(lambda s: (normal(0, 8, sized(s, 64), 256), normal(1, 256, 1024, scale=0.05),
                    normal(2, 1024, 256, scale=0.05)))
def normalised_perceptron(x, up, down):
    mean = x.mean(-1, keepdims=True)
    y = (x - mean) / jnp.sqrt(jnp.mean((x - mean) ** 2, -1, keepdims=True) + 1e-5)
    return x + jax.nn.gelu(y @ up) @ down


@program(lambda s: ([{name: normal(10 * i + k, *shape, scale=0.1) for k, (name, shape) in enumerate(
    {"q": (64, 64), "k": (64, 16), "v": (64, 16), "o": (64, 64), "gate": (64, 128), "up": (64, 128),
     "down": (128, 64)}.items())} for i in range(4)], normal(99, sized(s, 64), 64)))
def small_decoder(layers, x):
    """Grouped-query attention with rotary positions, gated perceptrons."""
    t = x.shape[0]
    angle = jnp.arange(t)[:, None] / 10000.0 ** (jnp.arange(8) / 8)

    def turned(a):
        one, two = a[..., :8], a[..., 8:]
        c, s = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
        return jnp.concatenate([one * c - two * s, one * s + two * c], -1)

    def scaled(a):
        return a * lax.rsqrt(jnp.mean(a * a, -1, keepdims=True) + 1e-5)
    for p in layers:
        y = scaled(x)
        q, k, v = turned((y @ p["q"]).reshape(t, 4, 16)), turned((y @ p["k"]).reshape(t, 1, 16)), \
            (y @ p["v"]).reshape(t, 1, 16)
        k, v = jnp.repeat(k, 4, 1), jnp.repeat(v, 4, 1)
        scores = jnp.einsum("thd,shd->hts", q, k) / 4.0 + jnp.where(jnp.tril(jnp.ones((t, t), bool)), 0.0, -1e9)
        x = x + jnp.einsum("hts,shd->thd", jax.nn.softmax(scores), v).reshape(t, 64) @ p["o"]
        y = scaled(x)
        x = x + (jax.nn.silu(y @ p["gate"]) * (y @ p["up"])) @ p["down"]
    return x


@program(lambda s: ([normal(i, 64, 64, scale=0.1) for i in range(4)], normal(5, sized(s, 256), 64),
                    normal(6, sized(s, 256), 64)))
def training_step(weights, x, goal):
    """A perceptron's step of gradient descent, JAX's derivative in it."""
    def loss(weights):
        y = x
        for w in weights:
            y = jnp.tanh(y @ w)
        return jnp.mean((y - goal) ** 2)
    value, slopes = jax.value_and_grad(loss)(weights)
    return value, [w - 0.1 * g for w, g in zip(weights, slopes, strict=True)]


@program(lambda s: (normal(0, sized(s, 300_000)),))
def special_functions(x):
    positive = jnp.abs(x) + 0.1
    return lax.lgamma(positive) + lax.digamma(positive) * lax.erf(x) + positive ** 1.5 + math.pi * jnp.log1p(positive)
