"""Sorts along rows, and medians of windows, against NumPy: how many times faster the compiled function is.

    python benchmarks/sorting.py [--rounds N]

Medians of interleaved calls on numbers in random order, 400,000 in all (a row that is longer is alone); every result is
compared with NumPy's.
"""
from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table

import reactant
from reactant.demos.measure import taking_iterations

LENGTHS = (16, 20, 25, 32, 48, 64, 100, 256, 1000, 50_000, 1_000_000)
DTYPES = ("float64", "float32", "int64", "int32")
ELEMENTS = 400_000
WINDOWS = (3, 5, 7)


def median_filter(image: np.ndarray, side: int) -> np.ndarray:
    """Medians of `side` x `side` windows of an image."""
    return np.median(np.lib.stride_tricks.sliding_window_view(image, (side, side)), axis=(2, 3))


def sort(x: np.ndarray) -> np.ndarray:
    """Each row in order."""
    return np.sort(x)


def argsort(x: np.ndarray) -> np.ndarray:
    """Where the numbers of each row stand, in order."""
    return np.argsort(x)


def ratio(function: Callable, x: np.ndarray, rounds: int) -> float:
    """NumPy's time over ours."""
    compiled = reactant.jit(function)
    np.testing.assert_array_equal(compiled(x), function(x))
    found = taking_iterations({"numpy": lambda: function(x), "ours": lambda: compiled(x)}, rounds)
    return found["numpy"] / found["ours"]


def main(arguments: list[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    rounds, random = parser.parse_args(arguments).rounds, np.random.default_rng(0)
    table = Table(title="compiled, times NumPy's speed")
    for heading in ("rows of", *(f"{name} {dtype}" for name in ("sort", "argsort") for dtype in DTYPES)):
        table.add_column(heading, justify="right")
    for n in LENGTHS:
        x = random.permutation(max(ELEMENTS // n, 1) * n).reshape(-1, n)
        table.add_row(str(n), *(f"{ratio(f, x.astype(dtype), rounds):.2f}" for f in (sort, argsort)
                                for dtype in DTYPES))
    Console(width=130).print(table)
    for side in WINDOWS:
        found = ratio(partial(median_filter, side=side), random.random((200, 200)), rounds)
        print(f"medians of {side} x {side} windows, 200 x 200: {found:.1f}")


if __name__ == "__main__":
    main()
