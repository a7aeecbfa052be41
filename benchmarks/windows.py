"""Loops over windows of an array, v[p[i]:p[i + 1]]: sparse matrices by rows and columns, sums of segments. Seconds of
NumPy and of Numba over ours.

    python benchmarks/windows.py [--rounds N] [--rows N] [--each N] [--only NAME ...]

Medians of interleaved calls; every result is compared with NumPy's. Numba compiles the same functions where it can; its
compilation is not counted, nor is ours. Gradients, of the sum of squares with respect to the array and a vector: their
time over the function's.
"""
from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

import reactant
from reactant.demos.measure import taking_iterations


def row_products(p, c, v, x):
    """A matrix in compressed rows times a vector."""
    y = np.zeros(len(p) - 1)
    for i in range(len(p) - 1):
        y[i] = v[p[i]:p[i + 1]] @ x[c[p[i]:p[i + 1]]]
    return y


def column_sums(p, c, v, x):
    """A matrix in compressed columns times a vector."""
    y = np.zeros(len(x))
    for i in range(len(p) - 1):
        y[c[p[i]:p[i + 1]]] += v[p[i]:p[i + 1]] * x[i]
    return y


def row_blocks(p, c, v, x):
    """A matrix in compressed rows times three vectors."""
    table, y = np.stack((x, 2 * x, x * x), axis=1), np.zeros((len(p) - 1, 3))
    for i in range(len(p) - 1):
        y[i] = v[p[i]:p[i + 1]] @ table[c[p[i]:p[i + 1]]]
    return y


def gauss_seidel(p, c, v, x):
    """A sweep of the Gauss-Seidel method over such a matrix, with 50 on the diagonal."""
    y = x.copy()
    for i in range(len(p) - 1):
        y[i] = (x[i] - v[p[i]:p[i + 1]] @ y[c[p[i]:p[i + 1]]]) / 50
    return y


def softmaxes(p, c, v, x):
    """Weights of the neighbours of each node of a graph."""
    out = np.zeros_like(v)
    for i in range(len(p) - 1):
        part = v[p[i]:p[i + 1]]
        if len(part) > 0:
            e = np.exp(part - part.max())
            out[p[i]:p[i + 1]] = e / e.sum()
    return out


def deviations(p, c, v, x):
    """Standard deviations of segments."""
    y = np.zeros(len(p) - 1)
    for i in range(len(p) - 1):
        if p[i] < p[i + 1]:
            y[i] = v[p[i]:p[i + 1]].std()
    return y


def running_sums(p, c, v, x):
    """Cumulative sums of segments."""
    out = np.zeros_like(v)
    for i in range(len(p) - 1):
        out[p[i]:p[i + 1]] = np.cumsum(v[p[i]:p[i + 1]])
    return out


def moving_means(p, c, v, x):
    """Means of up to eleven elements around each."""
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = x[max(0, i - 5):min(len(x), i + 6)].mean()
    return y


def medians(p, c, v, x):
    """Medians of segments. Not among those that are run unasked: XLA sorts the whole array for each."""
    y = np.zeros(len(p) - 1)
    for i in range(len(p) - 1):
        if p[i] < p[i + 1]:
            y[i] = np.median(v[p[i]:p[i + 1]])
    return y


PROGRAMS = (row_products, column_sums, row_blocks, gauss_seidel, softmaxes, deviations, running_sums, moving_means)


def matrix(rows: int, each: int) -> tuple[np.ndarray, ...]:
    """Ends of rows, columns, values (of so many a row, more or less) and a vector."""
    random = np.random.default_rng(0)
    p = np.concatenate([[0], np.cumsum(random.integers(0, 2 * each, rows))])
    return p, random.integers(0, rows, p[-1]), random.random(p[-1]), random.random(rows)


def by_numba(function: Callable, arguments: tuple, wanted: np.ndarray) -> Callable | None:
    """The function compiled by Numba; None where that does not compile it, or does something else."""
    import numba
    try:
        compiled = numba.njit(function)
        return compiled if np.allclose(compiled(*arguments), wanted) else None
    except numba.core.errors.NumbaError:
        return None


def measured(function: Callable, arguments: tuple, rounds: int) -> list[str]:
    """A row of the table."""
    p, c, v, x = arguments
    wanted, compiled = function(*arguments), reactant.jit(function)
    gradient = reactant.jit(reactant.grad(lambda v, x: (function(p, c, v, x) ** 2).sum(), argnums=(0, 1)))
    np.testing.assert_allclose(compiled(*arguments), wanted, rtol=1e-9, atol=1e-12)
    calls = {"numpy": lambda: function(*arguments), "ours": lambda: compiled(*arguments),
             "gradient": lambda: gradient(v, x)}
    numba = by_numba(function, arguments, wanted)
    if numba is not None:
        calls["numba"] = lambda: numba(*arguments)
    found = taking_iterations(calls, rounds)
    ours = found["ours"]
    return [function.__name__, f"{1e3 * found['numpy']:.2f}", f"{1e3 * ours:.2f}", f"{found['numpy'] / ours:.1f}",
            f"{found['numba'] / ours:.2f}" if "numba" in found else "does not compile it",
            f"{found['gradient'] / ours:.1f}"]


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--each", type=int, default=40)
    parser.add_argument("--only", nargs="+", choices=[f.__name__ for f in (*PROGRAMS, medians)])
    given = parser.parse_args(arguments)
    table = Table(title=f"{given.rows} windows of about {given.each}")
    for heading in ("program", "NumPy, ms", "ours, ms", "NumPy / ours", "Numba / ours", "gradient / ours"):
        table.add_column(heading, justify="right")
    for function in PROGRAMS if given.only is None else [globals()[name] for name in given.only]:
        table.add_row(*measured(function, matrix(given.rows, given.each), given.rounds))
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
