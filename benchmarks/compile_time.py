"""What our tracing and passes cost beside XLA's own compilation, on programs of more than 500 operations.

    python benchmarks/compile_time.py [--only NAME ...] [--repeats N] [--limit RATIO] [--json FILE] [--traced]
                                      [--first]

`lower` is everything we do: `trace` (conversion and tracing; of JAX programs jax does that) and `passes`; `compile`
is XLA on the module that comes out of it. Programs in JAX are at the end. --traced: also XLA's time on the module as
traced, which it would have cost without us, and `lower` over that: what the rules leave of a program may be so little
that XLA is done with it at once. --first: what a user waits for, the first call with all that it compiles, as it is
(parts of programs are native code, which LLVM compiles) and without native code.
"""
import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import compile_programs
import numpy as np
from rich.console import Console
from rich.table import Table


def decoder(x, layers):
    """A transformer's decoder stack, x (tokens, width): attention with a causal mask, then a gated perceptron."""
    tokens, width = x.shape
    heads = 4
    hidden = np.triu(np.full((tokens, tokens), -1e9), 1)
    for layer in layers:
        normal = x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + 1e-6) * layer["attention_scale"]
        query, key, value = (
            (normal @ layer[name]).reshape(tokens, heads, width // heads).transpose(1, 0, 2)
            for name in ("query", "key", "value"))
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(width // heads) + hidden
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        x = x + (scores @ value).transpose(1, 0, 2).reshape(tokens, width) @ layer["output"]
        normal = x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + 1e-6) * layer["perceptron_scale"]
        gate = normal @ layer["gate"]
        x = x + (gate / (1 + np.exp(-gate)) * (normal @ layer["up"])) @ layer["down"]
    return x


def make_decoder(depth=12, tokens=16, width=32):
    random = np.random.default_rng(0)
    shapes = {"query": (width, width), "key": (width, width), "value": (width, width), "output": (width, width),
              "gate": (width, 2 * width), "up": (width, 2 * width), "down": (2 * width, width)}
    layers = [{**{name: random.standard_normal(shape) / np.sqrt(shape[0]) for name, shape in shapes.items()},
               "attention_scale": np.ones(width), "perceptron_scale": np.ones(width)} for _ in range(depth)]
    return decoder, (random.standard_normal((tokens, width)), layers)


_STAGES = [  # Dormand and Prince's fifth order pair, the coefficients of each stage
    [], [1 / 5], [3 / 40, 9 / 40], [44 / 45, -56 / 15, 32 / 9], [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
]
_WEIGHTS = [35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84]


def reactor(concentrations, reactions, rates, dt):
    """One Dormand-Prince step of a reaction network in many cells: `concentrations`, (species, cells), in place."""
    def rate_of_change(state):
        change = np.zeros_like(state)
        for (sources, products), rate in zip(reactions, rates, strict=True):
            speed = rate * state[sources[0]]
            for source in sources[1:]:
                speed = speed * state[source]
            for source in sources:
                change[source] -= speed
            for product in products:
                change[product] += speed
        return change

    slopes = []
    for coefficients in _STAGES:
        state = concentrations.copy()
        for coefficient, slope in zip(coefficients, slopes, strict=True):
            state += dt * coefficient * slope
        slopes.append(rate_of_change(state))
    for weight, slope in zip(_WEIGHTS, slopes, strict=True):
        concentrations += dt * weight * slope
    return concentrations.sum(axis=0)


def make_reactor(species=10, cells=4096):
    random = np.random.default_rng(1)
    reactions = tuple((tuple(int(k) for k in random.choice(species, 2, replace=False)),
                       tuple(int(k) for k in random.choice(species, 2, replace=False))) for _ in range(16))
    return reactor, (random.random((species, cells)), reactions, random.random(16), 1e-3)


def pyramid(image, levels, gains):
    """Local contrast by a Laplacian pyramid: blur and halve, weigh the details, put together again; `image` (n, n)."""
    kernel = (1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16)

    def blur(a):
        padded = np.pad(a, 2, mode="edge")
        rows = sum(weight * padded[k:k + a.shape[0], :] for k, weight in enumerate(kernel))
        return sum(weight * rows[:, k:k + a.shape[1]] for k, weight in enumerate(kernel))

    def enlarge(a, shape):
        big = np.zeros(shape)
        big[::2, ::2] = 4.0 * a
        return blur(big)

    details = []
    for _ in range(levels):
        small = blur(image)[::2, ::2].copy()
        details.append(image - enlarge(small, image.shape))
        image = small
    for level in reversed(range(levels)):
        detail = details[level]
        energy = np.sqrt(blur(detail**2) + 1e-8)
        image = enlarge(image, detail.shape) + gains[level] * detail / (1.0 + energy)
    return np.clip(image, 0.0, 1.0)


def make_pyramid(n=256, levels=5):
    random = np.random.default_rng(2)
    return pyramid, (random.random((n, n)), levels, np.linspace(1.5, 1.0, levels))


def small_products(stages):
    """A radix-2 Fourier transform of 2**stages numbers: products with a 2 x 2 matrix, transposes and factors."""
    def transform(x):
        n = 2**stages
        k, j = np.mgrid[0:2, 0:2]
        butterfly = np.exp(-1j * np.pi * k * j)
        rows, columns = np.mgrid[0:2, 0:n]
        for s in range(stages):
            turned = np.transpose(np.reshape(x, (2**s, 2, 2 ** (stages - s - 1))), (1, 0, 2))
            factor = np.exp(-2j * np.pi * rows[:, :2**s] * columns[:, :2**s] / 2 ** (s + 1))
            factor = np.repeat(np.reshape(factor, (2, 2**s, 1)), 2 ** (stages - s - 1), axis=2)
            x = np.reshape(butterfly @ np.reshape(np.reshape(turned, n) * np.reshape(factor, n), (2, n // 2)), n)
        return x
    return transform, (np.random.default_rng(3).standard_normal(2**stages) + 0j,)


def turned_products(stages, size=8):
    """The gradient of products of small matrices, each turned and added."""
    import reactant

    def chain(x, w):
        for _ in range(stages):
            x = (w @ x).T * 0.5 + x
        return (x * x).sum()
    random = np.random.default_rng(4)
    return reactant.grad(chain), (random.random((size, size)) / size, random.random((size, size)) / size)


def conjugate_gradients(steps, size=20):
    """The gradient of what a few steps of conjugate gradients make of a matrix."""
    import reactant

    def solution(a, b):
        x = np.zeros_like(b)
        residual = b - a @ x
        direction, square = residual.copy(), residual @ residual
        for _ in range(steps):
            ahead = a @ direction
            length = square / (direction @ ahead)
            x = x + length * direction
            residual = residual - length * ahead
            before, square = square, residual @ residual
            direction = residual + square / before * direction
        return (x * x).sum()
    random = np.random.default_rng(5)
    matrix = random.standard_normal((size, size))
    return reactant.grad(solution), (matrix @ matrix.T + size * np.eye(size), random.standard_normal(size))


CHAINS = {"products_10": lambda: small_products(10), "products_17": lambda: small_products(17),
          "turned_products_20": lambda: turned_products(20), "conjugate_gradients_5": lambda: conjugate_gradients(5)}
"""Where native code took more time to compile than all the rest."""
_EXCHANGE = r"""
extern "C" __global__ void exchange(float *a, int j, int k) {
    unsigned i = threadIdx.x + blockDim.x * blockIdx.x, other = i ^ j;
    if (other > i) {
        bool up = (i & k) == 0;
        if ((a[i] > a[other]) == up) { float t = a[i]; a[i] = a[other]; a[other] = t; }
    }
}
"""


def launches(size=1024):
    """(launches, seconds) of a bitonic sort whose host loop hands its kernel other integers each time."""
    import reactant
    module = reactant.cuda.load(_EXCHANGE)
    a, count, k = np.random.default_rng(6).random(size).astype(np.float32), 0, 2
    start = time.perf_counter()
    while k <= size:
        j = k // 2
        while j:
            module.exchange[size // 64, 64](a, j, k)
            count, j = count + 1, j // 2
        k *= 2
    assert (np.diff(a) >= 0).all()
    return count, time.perf_counter() - start


PROGRAMS = {"decoder": make_decoder, "reactor": make_reactor, "pyramid": make_pyramid, **CHAINS,
            **compile_programs.NUMPY}


def first_call(make, **options):
    """Seconds that the first call of a new program takes."""
    import jax

    import reactant

    function, arguments = make()
    start = time.perf_counter()
    jax.block_until_ready(reactant.jit(function, **options)(*arguments))
    return time.perf_counter() - start


def measure(make, repeats, traced=False, first=False):
    """Medians over new compilations of one program, in seconds, with the numbers of operations."""
    import reactant

    firsts = {"first": first_call(make), "first_xla": first_call(make, native="never")} if first else {}
    function, arguments = make()
    seconds = {"lower": [], "trace": [], "passes": [], "compile": []} | ({"compile_traced": []} if traced else {})
    for _ in range(repeats):
        start = time.perf_counter()
        lowered = reactant.jit(function, native="never").lower(*arguments)     # all of it goes to XLA
        seconds["lower"].append(time.perf_counter() - start)
        seconds["trace"].append(lowered.times.trace)
        seconds["passes"].append(lowered.times.passes)
        compiled = lowered.compile()
        seconds["compile"].append(compiled.times.xla)
        if traced:
            plain = reactant.jit(function, native="never", optimize=("inline", "differentiate"))
            plain = plain.lower(*arguments).compile()
            seconds["compile_traced"].append(plain.times.xla)
    row = {key: statistics.median(values) for key, values in seconds.items()} | firsts
    row["ratio"], row["passes_ratio"] = row["lower"] / row["compile"], row["passes"] / row["compile"]
    if traced:
        row["ratio_traced"] = row["lower"] / row["compile_traced"]
    row["before"], row["after"] = (sum(lowered.operations(optimized=optimized).values()) for optimized in (False, True))
    return row


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=(*PROGRAMS, *compile_programs.JAX), metavar="NAME",
                        default=[*PROGRAMS, *compile_programs.JAX])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--traced", action="store_true", help="also compile the modules as traced")
    parser.add_argument("--first", action="store_true", help="also the first call, with native code and without")
    parser.add_argument("--limit", type=float, help="fail when a ratio is above this")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(arguments)
    table = Table(title="compilation: ours (lower) beside XLA's (compile), medians")
    table.add_column("program")
    for heading in ("operations traced", "after passes", "trace, ms", "passes, ms", "lower, ms", "compile, ms",
                    "lower / compile", "passes / compile", *(("compile traced, ms", "lower / that") * options.traced),
                    *(("first call, ms", "without native code, ms") * options.first)):
        table.add_column(heading, justify="right")
    rows = {}
    for name in options.only:
        row = rows[name] = measure({**PROGRAMS, **compile_programs.JAX}[name], options.repeats, options.traced,
                                   options.first)
        table.add_row(name, str(row["before"]), str(row["after"]),
                      *(f"{1e3 * row[key]:.0f}" for key in ("trace", "passes", "lower", "compile")),
                      f"{row['ratio']:.2f}", f"{row['passes_ratio']:.2f}",
                      *((f"{1e3 * row['compile_traced']:.0f}", f"{row['ratio_traced']:.2f}") if options.traced else ()),
                      *(f"{1e3 * row[key]:.0f}" for key in ("first", "first_xla") if options.first))
    Console(width=max(Console().width, 130 + 30 * (options.traced + options.first))).print(table)
    if options.first:
        count, seconds = launches()
        rows["launches"] = {"first": seconds}
        print(f"{count} launches of one kernel with other integers each: {seconds:.2f} s")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return int(options.limit is not None and max(row["ratio"] for row in rows.values()
                                                 if "ratio" in row) > options.limit)


if __name__ == "__main__":
    sys.exit(main())
