"""Programs that lose digits in ways that books tell of; the line that is to blame ends with `# blame`."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

F = np.float32


class Classic(NamedTuple):
    """A program, its arguments, and how many bits of its result are wrong at least."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    lost: float

    @property
    def lines(self) -> set[int]:
        """The lines that are to blame."""
        source, first = inspect.getsourcelines(self.function)
        return {first + k for k, line in enumerate(source) if "# blame" in line}


def smaller_root(a, b, c):
    root = np.sqrt(b * b - 4 * a * c)
    numerator = root - b        # blame
    return numerator / (2 * a)


def variance(x):
    mean = np.mean(x)
    square = np.mean(x**2)
    return square - mean**2     # blame


def triangle_area(a, b, c):
    s = (a + b + c) / 2
    product = s * (s - a) * (s - b) * (s - c)       # blame
    return np.sqrt(product)


def log_sum_exp(x):
    total = np.exp(x).sum()     # blame
    return np.log(total)


def absorbed(x):
    more = x + F(1.0)
    return more - x             # blame


def hyperelastic_energy(stretch):
    volume = 1 - stretch * stretch
    return -np.log(volume) - stretch * stretch      # blame


def naive_sum(x):
    total = x[0] * 0
    for k in range(len(x)):
        total += x[k]           # blame
    return total


def hilbert_solve(a, b):
    return jnp.linalg.solve(a, b)       # blame


def golden_powers(one):
    before, now = one, (np.sqrt(5 * one) - 1) / 2
    for _ in range(22):
        before, now = now, before - now     # blame
    return now


def rump(a, b):
    return 333.75 * b**6 + a**2 * (11 * a**2 * b**2 - b**6 - 121 * b**4 - 2) + 5.5 * b**8 + a / (2 * b)     # blame


def muller(u, v):
    for _ in range(12):
        u, v = v, 111 - 1130 / v + 3000 / (v * u)   # blame
    return v


def exponential_minus_one(x):
    grown = np.exp(x)
    return grown - 1            # blame


def one_minus_cosine(x):
    cosine = np.cos(x)
    versine = 1 - cosine        # blame
    return versine / (x * x)


def roots_apart(x):
    return np.sqrt(x + 1) - np.sqrt(x)      # blame


def quotient_of_difference(x, y, z):
    apart = y * y - z * z       # blame
    return x / apart


def huge_sine(x):
    angle = x * x
    return np.sin(angle)        # blame


def vandermonde(x, b):
    matrix = x[:, None]**jnp.arange(len(x), dtype=x.dtype)
    return jnp.linalg.solve(matrix, b)      # blame


def power_iteration(a, x):
    for _ in range(30):
        x = a @ x               # blame
        x = x / np.sqrt((x * x).sum())
    return x


def running_variance(x):
    count, total, squares = x[0] * 0, x[0] * 0, x[0] * 0
    for k in range(len(x)):
        count += 1
        total += x[k]
        squares += x[k] * x[k]
    return (squares - total * total / count) / (count - 1)      # blame


def integral_upward(one):
    y = 1 - np.exp(-one)
    for n in range(1, 15):
        y = 1 - n * y           # blame
    return y


def exponential_series(x):
    term = x * 0 + 1
    total = term
    for n in range(1, 60):
        term = term * x / n
        total = total + term    # blame
    return total


def derivative_by_differences(x):
    h = F(1e-5)
    apart = np.sin(x + h) - np.sin(x)       # blame
    return apart / h


def logistic_map(x):
    for _ in range(40):
        x = 4 * x * (1 - x)     # blame
    return x


def _hilbert(n: int) -> np.ndarray:
    return (1.0 / (np.arange(n)[:, None] + np.arange(n) + 1)).astype(F)


def _symmetric(n: int) -> np.ndarray:
    q, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((n, n)))
    return (q * np.array([1e4, *np.full(n - 1, -9.9e3)])) @ q.T


CLASSICS = {each.function.__name__: each for each in (
    Classic(smaller_root, (F(1), F(1e4), F(1)), 20),
    Classic(variance, ((1000 + np.random.default_rng(0).standard_normal(1000)).astype(F),), 15),
    Classic(triangle_area, (F(100000), F(99999.98), F(1e-1)), 5),
    Classic(log_sum_exp, (F([100, 101]),), 24),
    Classic(absorbed, (F(1e8),), 24),
    Classic(hyperelastic_energy, (F(1e-2),), 10),
    Classic(naive_sum, (np.random.default_rng(0).random(20000, dtype=F),), 4),
    Classic(hilbert_solve, (_hilbert(7), np.ones(7, F)), 15),
    Classic(golden_powers, (F(1),), 10),
    Classic(rump, (77617.0, 33096.0), 53),
    Classic(muller, (2.0, -4.0), 30),
    Classic(exponential_minus_one, (F([1e-5, 1e-6]),), 15),
    Classic(one_minus_cosine, (F([1e-2, 1e-3]),), 10),
    Classic(roots_apart, (F([1e3, 1e6]),), 15),
    Classic(quotient_of_difference, (F(1), F(1.0001), F(1.0)), 8),
    Classic(huge_sine, (F(12345.678),), 10),
    Classic(vandermonde, (np.linspace(0.1, 1, 9).astype(F), (np.arange(9) % 3).astype(F)), 10),
    Classic(power_iteration, (_symmetric(20).astype(F), np.ones(20, F)), 3),
    Classic(running_variance, ((1000 + np.random.default_rng(0).standard_normal(2000)).astype(F),), 15),
    Classic(integral_upward, (F(1),), 20),
    Classic(exponential_series, (F(-12),), 15),
    Classic(derivative_by_differences, (F(1),), 6),
    Classic(logistic_map, (F(0.3),), 20),
)}
