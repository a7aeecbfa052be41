"""Products of matrices against NumPy, and against `jax.jit`: how many times faster the compiled function is.

    python benchmarks/products.py [--seconds S] [--only WORD] [--dtypes float64,...] [--without]

Least wall time and least processor time (of all threads of the process) of interleaved calls, for `S` seconds each;
NumPy's over ours (and over jax.jit's, whose arguments are device arrays already). `taskset -c 0` shows one core.
Results are compared with NumPy's. `--without` leaves native code out, and so BLAS.
"""
from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

import reactant
from reactant.demos.measure import geometric_mean

DTYPES = ("float32", "float64", "complex64", "complex128")
Shapes = tuple[tuple[int, ...], ...]


def product(a: Any, b: Any) -> Any:
    """a b"""
    return a @ b


def left_turned(a: Any, b: Any) -> Any:
    """a' b"""
    return a.T @ b


def right_turned(a: Any, b: Any) -> Any:
    """a b'"""
    return a @ b.T


def both_turned(a: Any, b: Any) -> Any:
    """a' b'"""
    return a.T @ b.T


def with_itself(a: Any) -> Any:
    """a a'"""
    return a @ a.T


def columns_with_itself(a: Any) -> Any:
    """a' a"""
    return a.T @ a


def heads(q: Any, k: Any) -> Any:
    """Products of the heads of two tensors."""
    return jnp.einsum("bqhd,bkhd->bhqk", q, k) if isinstance(q, jax.Array) else np.einsum(
        "bqhd,bkhd->bhqk", q, k, optimize=True)


def covariance(x: Any) -> Any:
    """Of rows."""
    return (jnp if isinstance(x, jax.Array) else np).cov(x)


SQUARE = (32, 48, 64, 100, 128, 200, 256, 400, 512, 800, 1024, 2000)
CASES: list[tuple[str, Callable[..., Any], Shapes]] = [
    *((f"square {n}", product, ((n, n), (n, n))) for n in SQUARE),
    ("tall (5000, 50) (50, 50)", product, ((5000, 50), (50, 50))),
    ("tall (20000, 8) (8, 8)", product, ((20000, 8), (8, 8))),
    ("deep (100, 10000) (10000, 100)", product, ((100, 10000), (10000, 100))),
    ("deep (20, 2000) (2000, 20)", product, ((20, 2000), (2000, 20))),
    ("outer (2000, 20) (20, 2000)", product, ((2000, 20), (20, 2000))),
    ("thin (2000, 2000) (2000, 20)", product, ((2000, 2000), (2000, 20))),
    ("thin (1000, 1000) (1000, 4)", product, ((1000, 1000), (1000, 4))),
    ("few rows (8, 1000) (1000, 1000)", product, ((8, 1000), (1000, 1000))),
    ("few rows (64, 3000) (3000, 2000)", product, ((64, 3000), (3000, 2000))),
    *((f"matrix vector {n}", product, ((n, n), (n,))) for n in (50, 100, 300, 1000, 3000)),
    *((f"vector matrix {n}", product, ((n,), (n, n))) for n in (50, 100, 300, 1000, 3000)),
    ("left turned 300", left_turned, ((300, 300), (300, 300))),
    ("left turned, deep (20000, 30)", left_turned, ((20000, 30), (20000, 30))),
    ("right turned 300", right_turned, ((300, 300), (300, 300))),
    ("both turned 300", both_turned, ((300, 300), (300, 300))),
    ("a a' 100", with_itself, ((100, 100),)),
    ("a a' (400, 1000)", with_itself, ((400, 1000),)),
    ("a' a (1000, 400)", columns_with_itself, ((1000, 400),)),
    ("a' a (20000, 30)", columns_with_itself, ((20000, 30),)),
    ("covariance (200, 1000)", covariance, ((200, 1000),)),
    ("covariance (50, 20000)", covariance, ((50, 20000),)),
    ("stack (100, 32, 32)", product, ((100, 32, 32), (100, 32, 32))),
    ("stack (1000, 8, 8)", product, ((1000, 8, 8), (1000, 8, 8))),
    ("stack (16, 100, 100)", product, ((16, 100, 100), (16, 100, 100))),
    ("stack (4, 300, 300)", product, ((4, 300, 300), (4, 300, 300))),
    ("heads (2, 128, 8, 32)", heads, ((2, 128, 8, 32), (2, 128, 8, 32))),
]


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Normal ones."""
    random = np.random.default_rng(seed)
    made = random.standard_normal(shape)
    return (made + 1j * random.standard_normal(shape) if dtype[0] == "c" else made).astype(dtype)


def times(ways: dict[str, Callable[[], Any]], seconds: float) -> dict[str, tuple[float, float]]:
    """Least wall and processor seconds of each way, called in turn: as many calls at once as take a millisecond."""
    found = {name: (math.inf, math.inf) for name in ways}
    repeats = {}
    for name, way in ways.items():
        way()
        begun = time.perf_counter()
        way()
        repeats[name] = min(max(int(1e-3 / max(time.perf_counter() - begun, 1e-9)), 1), 200)
    end, rounds = time.perf_counter() + seconds * len(ways), 0
    while time.perf_counter() < end or rounds < 5:
        for name, way in ways.items():
            wall, processor = time.perf_counter(), time.process_time()
            for _ in range(repeats[name]):
                way()
            took = (time.perf_counter() - wall) / repeats[name], (time.process_time() - processor) / repeats[name]
            found[name] = min(found[name][0], took[0]), min(found[name][1], took[1])
        rounds += 1
    return found


def measured(function: Callable[..., Any], shapes: Shapes, dtype: str, seconds: float,
             **options: Any) -> dict[str, tuple[float, float]]:
    """Times of NumPy, of ours and of jax.jit's."""
    arrays = [numbers(shape, dtype, k) for k, shape in enumerate(shapes)]
    ours, theirs = reactant.jit(function, **options), jax.jit(function)
    there = list(map(jnp.asarray, arrays))
    wanted = function(*arrays)
    found = ours(*arrays)
    assert found.dtype == wanted.dtype
    tolerance = 1e-4 if wanted.real.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * float(np.abs(wanted).max()))
    return times({"numpy": lambda: function(*arrays), "ours": lambda: ours(*arrays),
                  "jax": lambda: jax.block_until_ready(theirs(*there))}, seconds)


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--only", default="")
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--without", action="store_true")
    chosen = parser.parse_args(arguments)
    console = Console(width=140)
    table = Table(title="NumPy's time over ours, and over jax.jit's (wall, processor)")
    for heading in ("dtype", "product", "NumPy us", "ours", "", "jax.jit", ""):
        table.add_column(heading, justify="left" if heading in ("dtype", "product") else "right")
    options = {"native": "never"} if chosen.without else {}
    logs: dict[str, list[float]] = {}
    for dtype in chosen.dtypes.split(","):
        for name, function, shapes in CASES:
            if chosen.only not in name:
                continue
            with jax.enable_x64(True):
                found = measured(function, shapes, dtype, chosen.seconds, **options)
            ratios = [found["numpy"][k] / found[way][k] for way in ("ours", "jax") for k in (0, 1)]
            for key, ratio in zip(("ours, wall", "ours, processor"), ratios[:2], strict=True):
                logs.setdefault(key, []).append(ratio)
            table.add_row(dtype, name, f"{found['numpy'][0] * 1e6:.1f}", *(f"{ratio:.2f}" for ratio in ratios))
    console.print(table)
    for key, ratios in logs.items():
        mean = geometric_mean(ratios)
        console.print(f"{key}: geometric mean {mean:.2f}, below 0.95: {sum(r < 0.95 for r in ratios)} of {len(ratios)}")


if __name__ == "__main__":
    main()
