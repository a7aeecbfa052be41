"""Memory-bound programs on big NumPy arrays: ours against NumPy and against plain jax.jit, in one run.

    python benchmarks/memory.py [--scale S] [--only NAME]

Each row is the median of interleaved runs in milliseconds, NumPy arrays in and out. Ratios are time / NumPy's time and
time / jax.jit's time: smaller is better, 1.0 is parity. `--scale 0.01` is the tiny size that keeps it from rotting.
"""
from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

import reactant


def _square(scale: float) -> np.ndarray:
    extent = max(8, int(6000 * scale ** 0.5))
    return np.random.default_rng(0).random((extent, extent))


def _five_point(a):
    return a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] - 4 * a[1:-1, 1:-1]


def _saxpy(a, b):
    return 2.5 * a + b


def _softplus_free(a):
    return (a - 0.5) * (a + 0.25) + a * a


PROGRAMS: dict[str, tuple[Callable, int]] = {
    "a + 1.5": (lambda xp, a: a + 1.5, 1),
    "2.5 a + b": (lambda xp, a, b: _saxpy(a, b), 2),
    "polynomial": (lambda xp, a: _softplus_free(a), 1),
    "five-point stencil": (lambda xp, a: _five_point(a), 1),
    "clip and select": (lambda xp, a: xp.where(a > 0.5, a, 0.25), 1),
    "transpose": (lambda xp, a: xp.ascontiguousarray(a.T) if xp is np else a.T, 1),
    "two results": (lambda xp, a: (a + 1, a * 2), 1),
    "cast to float32": (lambda xp, a: a.astype(xp.float32), 1),
    "sum": (lambda xp, a: a.sum(), 1),
    "sum of rows": (lambda xp, a: a.sum(1), 1),
    "sum of columns": (lambda xp, a: a.sum(0), 1),
    "distance": (lambda xp, a, b: ((a - b) ** 2).sum(), 2),
    "matrix times vector": (lambda xp, a, b: a @ b[0], 2),
    "centre the rows": (lambda xp, a: a - a.mean(1, keepdims=True), 1),
}


def medians(forms: dict[str, Callable[[], object]], runs: int) -> dict[str, float]:
    """Seconds a call of each form: the median of `runs` interleaved calls, after two to warm up."""
    seconds: dict[str, list[float]] = {name: [] for name in forms}
    for iteration in range(runs + 2):
        for name, form in forms.items():
            begun = time.perf_counter()
            form()
            if iteration >= 2:
                seconds[name].append(time.perf_counter() - begun)
    return {name: statistics.median(values) for name, values in seconds.items()}


def measure(name: str, scale: float, runs: int) -> dict[str, float]:
    """Medians of NumPy, jax.jit and ours for one program, checked to agree."""
    function, count = PROGRAMS[name]
    arguments = [_square(scale) + i for i in range(count)]
    run = reactant.jit(lambda *a: function(np, *a))
    with jax.enable_x64(True):
        peer = jax.jit(lambda *a: function(jnp, *a))
        expected = jax.tree.leaves(function(np, *arguments))
        for mine, right in zip(jax.tree.leaves(run(*arguments)), expected, strict=True):
            np.testing.assert_allclose(mine, right, rtol=1e-6, atol=1e-6)
        del expected, mine, right
        return medians({
            "numpy": lambda: function(np, *arguments),
            "jit": lambda: jax.tree.map(np.asarray, peer(*arguments)),
            "ours": lambda: run(*arguments),
        }, runs)


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of 6000 x 6000 elements")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--only", choices=PROGRAMS)
    options = parser.parse_args(arguments)
    print(f"{'6000 x 6000 float64 x ' + str(options.scale):28s} {'NumPy ms':>9s} {'jit ms':>9s} {'ours ms':>9s} "
          f"{'/ NumPy':>8s} {'/ jit':>8s}")
    for name in [options.only] if options.only else PROGRAMS:
        found = measure(name, options.scale, options.runs)
        print(f"{name:28s} {found['numpy'] * 1e3:9.2f} {found['jit'] * 1e3:9.2f} {found['ours'] * 1e3:9.2f} "
              f"{found['ours'] / found['numpy']:8.2f} {found['ours'] / found['jit']:8.2f}", flush=True)


if __name__ == "__main__":
    main()
