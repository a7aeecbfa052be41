"""NumPy programs made of loops: plain NumPy, the same code under `numba.njit`, and `reactant.jit` with and without
native code.

    python benchmarks/native_loops.py [--only NAME ...] [--repeats N] [--always] [--json FILE]

Medians of interleaved runs in one process. `numba.njit` gets the very function that NumPy and reactant get; where it
cannot compile that, the column is empty. Most programs are after the published descriptions of PolyBench and NPBench.
"""
import argparse
import copy
import json
import statistics
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from reactant.demos.measure import geometric_mean


def jacobi(a, b, steps):
    """Five-point averages, back and forth between two arrays."""
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])
    return a


def heat_3d(a, b, steps):
    """Heat in a box."""
    for _ in range(steps):
        b[1:-1, 1:-1, 1:-1] = (0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[:-2, 1:-1, 1:-1])
                               + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1])
                               + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, 1:-1, :-2])
                               + a[1:-1, 1:-1, 1:-1])
        a[1:-1, 1:-1, 1:-1] = b[1:-1, 1:-1, 1:-1]
    return a


def seidel(a, steps):
    """Gauss-Seidel sweeps, element by element."""
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                a[i, j] = (a[i - 1, j] + a[i, j - 1] + a[i, j] + a[i, j + 1] + a[i + 1, j]) / 5.0
    return a


def adi(u, steps):
    """Alternating directions: tridiagonal sweeps along columns and rows."""
    n = u.shape[0]
    v, p, q = np.zeros_like(u), np.zeros_like(u), np.zeros_like(u)
    alpha, beta = 0.3, 1.6
    for _ in range(steps):
        v[0, 1:n - 1] = 1.0
        p[1:n - 1, 0] = 0.0
        q[1:n - 1, 0] = v[0, 1:n - 1]
        for j in range(1, n - 1):
            p[1:n - 1, j] = alpha / (beta - alpha * p[1:n - 1, j - 1])
            q[1:n - 1, j] = (alpha * u[j, :n - 2] + (1.0 - 2.0 * alpha) * u[j, 1:n - 1] + alpha * u[j, 2:n]
                             + alpha * q[1:n - 1, j - 1]) / (beta - alpha * p[1:n - 1, j - 1])
        v[n - 1, 1:n - 1] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, 1:n - 1] = p[1:n - 1, j] * v[j + 1, 1:n - 1] + q[1:n - 1, j]
        u[1:n - 1, 1:n - 1] = v[1:n - 1, 1:n - 1]
    return u


def gemver(a, u1, v1, u2, v2, y, z):
    """A rank-two update and two products with a vector."""
    a += np.outer(u1, v1) + np.outer(u2, v2)
    x = 1.2 * (y @ a) + z
    w = 1.5 * (a @ x)
    return x, w


def cholesky(a):
    """Row by row, in place."""
    n = a.shape[0]
    a[0, 0] = np.sqrt(a[0, 0])
    for i in range(1, n):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] -= np.dot(a[i, :i], a[i, :i])
        a[i, i] = np.sqrt(a[i, i])
    return a


def durbin(r):
    """Levinson and Durbin's recursion."""
    y = np.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def triangular_solve(a, b):
    """Forward substitution."""
    x = np.zeros_like(b)
    for i in range(b.shape[0]):
        x[i] = (b[i] - a[i, :i] @ x[:i]) / a[i, i]
    return x


def horizontal_diffusion(field, coefficient):
    """The diffusion of a weather model, with limited fluxes; (i, j, k)."""
    laplacian = 4.0 * field[1:-1, 1:-1, :] - (field[2:, 1:-1, :] + field[:-2, 1:-1, :] + field[1:-1, 2:, :]
                                             + field[1:-1, :-2, :])
    flux_x = laplacian[1:, 1:-1, :] - laplacian[:-1, 1:-1, :]
    flux_x = np.where(flux_x * (field[2:-1, 2:-2, :] - field[1:-2, 2:-2, :]) > 0, 0.0, flux_x)
    flux_y = laplacian[1:-1, 1:, :] - laplacian[1:-1, :-1, :]
    flux_y = np.where(flux_y * (field[2:-2, 2:-1, :] - field[2:-2, 1:-2, :]) > 0, 0.0, flux_y)
    return field[2:-2, 2:-2, :] - coefficient * (flux_x[1:, :, :] - flux_x[:-1, :, :] + flux_y[:, 1:, :]
                                                - flux_y[:, :-1, :])


def vertical_solve(lower, diagonal, upper, right):
    """Thomas's algorithm along the last dimension of (i, j, k), as in vertical advection."""
    levels = right.shape[2]
    for k in range(1, levels):
        factor = lower[:, :, k] / diagonal[:, :, k - 1]
        diagonal[:, :, k] -= factor * upper[:, :, k - 1]
        right[:, :, k] -= factor * right[:, :, k - 1]
    right[:, :, levels - 1] /= diagonal[:, :, levels - 1]
    for k in range(levels - 2, -1, -1):
        right[:, :, k] = (right[:, :, k] - upper[:, :, k] * right[:, :, k + 1]) / diagonal[:, :, k]
    return right


def cavity(u, v, p, steps, inner):
    """Flow in a driven cavity (Navier-Stokes, as in Barba's course)."""
    dx = dy = 2.0 / (u.shape[0] - 1)
    dt, rho, nu = 0.001, 1.0, 0.1
    for _ in range(steps):
        un, vn = u.copy(), v.copy()
        b = np.zeros_like(u)
        b[1:-1, 1:-1] = rho * (1 / dt * ((u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx) + (v[2:, 1:-1] - v[:-2, 1:-1])
                                         / (2 * dy)) - ((u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx)) ** 2
                               - 2 * ((u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy) * (v[1:-1, 2:] - v[1:-1, :-2])
                                      / (2 * dx)) - ((v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)) ** 2)
        for _ in range(inner):
            pn = p.copy()
            p[1:-1, 1:-1] = (((pn[1:-1, 2:] + pn[1:-1, :-2]) * dy**2 + (pn[2:, 1:-1] + pn[:-2, 1:-1]) * dx**2)
                             / (2 * (dx**2 + dy**2))
                             - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1])
            p[:, -1] = p[:, -2]
            p[0, :] = p[1, :]
            p[:, 0] = p[:, 1]
            p[-1, :] = 0
        u[1:-1, 1:-1] = (un[1:-1, 1:-1] - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, :-2])
                         - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[:-2, 1:-1])
                         - dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
                         + nu * (dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, :-2])
                                 + dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[:-2, 1:-1])))
        v[1:-1, 1:-1] = (vn[1:-1, 1:-1] - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, :-2])
                         - vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[:-2, 1:-1])
                         - dt / (2 * rho * dy) * (p[2:, 1:-1] - p[:-2, 1:-1])
                         + nu * (dt / dx**2 * (vn[1:-1, 2:] - 2 * vn[1:-1, 1:-1] + vn[1:-1, :-2])
                                 + dt / dy**2 * (vn[2:, 1:-1] - 2 * vn[1:-1, 1:-1] + vn[:-2, 1:-1])))
        u[0, :] = 0
        u[:, 0] = 0
        u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = 0
        v[-1, :] = 0
        v[:, 0] = 0
        v[:, -1] = 0
    return u, v, p


def azimuthal(data, radius, bins):
    """Means of `data` in rings of `radius`."""
    largest = radius.max()
    result = np.zeros(bins)
    for i in range(bins):
        low = largest * i / bins
        high = largest * (i + 1) / bins
        mask = np.logical_and(low <= radius, radius < high)
        result[i] = (data * mask).sum() / max(mask.sum(), 1)
    return result


def go_fast(a):
    """A reduction over the diagonal, added to everything."""
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


def crc16(data):
    """The checksum CCITT-16, bit by bit."""
    crc = 0xFFFF
    for byte in data:
        current = 0xFF & byte
        for _ in range(8):
            if (crc & 1) ^ (current & 1):
                crc = (crc >> 1) ^ 0x8408
            else:
                crc >>= 1
            current >>= 1
    crc = ~crc & 0xFFFF
    return (crc << 8) | ((crc >> 8) & 0xFF)


def compute(a, b, d, e, f):
    """Clipped integers, scaled and added."""
    return np.clip(a, 2, 10) * d + b * e + f


def arc_distance(theta1, phi1, theta2, phi2):
    """Angles between pairs of points on a sphere."""
    t = np.sin((theta2 - theta1) / 2) ** 2 + np.cos(theta1) * np.cos(theta2) * np.sin((phi2 - phi1) / 2) ** 2
    return 2 * np.arctan2(np.sqrt(t), np.sqrt(1 - t))


def softmax(x):
    """Over the last dimension."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def column_statistics(x):
    """Mean and standard deviation of columns, and the columns scaled."""
    mean = x.sum(axis=0) / x.shape[0]
    deviation = np.sqrt(((x - mean) ** 2).sum(axis=0) / x.shape[0])
    return (x - mean) / deviation


def covariance(data):
    """Of the columns, one row of the result after the other."""
    m = data.shape[1]
    data -= data.sum(axis=0) / data.shape[0]
    result = np.zeros((m, m))
    for i in range(m):
        result[i, i:] = data[:, i] @ data[:, i:] / (data.shape[0] - 1.0)
        result[i:, i] = result[i, i:]
    return result


def smith_waterman(first, second):
    """The best local alignment of two sequences: a recurrence over the whole table."""
    n, m = len(first), len(second)
    table = np.zeros((n + 1, m + 1), dtype=np.int64)
    best = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            match = table[i - 1, j - 1] + (2 if first[i - 1] == second[j - 1] else -1)
            table[i, j] = max(0, match, table[i - 1, j] - 1, table[i, j - 1] - 1)
            best = max(best, table[i, j])
    return best


def collatz(limit):
    """Steps until 1 for each start: a loop whose length depends on the data."""
    steps = np.zeros(limit, dtype=np.int64)
    for start in range(1, limit):
        n = start
        count = 0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            count += 1
        steps[start] = count
    return steps


def sparse_product(values, columns, pointers, x):
    """A matrix in compressed rows times a vector."""
    y = np.zeros(len(pointers) - 1)
    for i in range(len(pointers) - 1):
        total = 0.0
        for k in range(pointers[i], pointers[i + 1]):
            total += values[k] * x[columns[k]]
        y[i] = total
    return y


def _random(*shape):
    return np.random.default_rng(sum(shape)).random(shape)


def _sparse(n, each):
    random = np.random.default_rng(n)
    counts = random.integers(0, 2 * each, n)
    pointers = np.concatenate([[0], np.cumsum(counts)])
    return random.random(pointers[-1]), random.integers(0, n, pointers[-1]), pointers, random.random(n)


def _positive(n):
    a = _random(n, n)
    return a @ a.T + n * np.eye(n)


PROGRAMS = {
    "jacobi": (jacobi, lambda: (_random(400, 400), _random(400, 401)[:, :400].copy(), 50)),
    "heat_3d": (heat_3d, lambda: (_random(70, 70, 70), _random(70, 70, 70), 20)),
    "seidel": (seidel, lambda: (_random(100, 100), 10)),
    "adi": (adi, lambda: (_random(200, 200), 10)),
    "gemver": (gemver, lambda: (_random(1500, 1500), *(_random(1500) for _ in range(6)))),
    "cholesky": (cholesky, lambda: (_positive(200),)),
    "durbin": (durbin, lambda: (_random(1500) / np.arange(2, 1502) ** 2,)),
    "triangular_solve": (triangular_solve, lambda: (_random(2000, 2000) + 2000 * np.eye(2000), _random(2000))),
    "horizontal_diffusion": (horizontal_diffusion, lambda: (_random(132, 132, 80), _random(128, 128, 80))),
    "vertical_solve": (vertical_solve, lambda: tuple(_random(128, 128, 80) + k for k in (0, 3, 0, 0))),
    "cavity": (cavity, lambda: (*(np.zeros((81, 81)) for _ in range(3)), 20, 30)),
    "azimuthal": (azimuthal, lambda: (_random(200000), _random(200000) * 3, 100)),
    "go_fast": (go_fast, lambda: (_random(1500, 1500),)),
    "crc16": (crc16, lambda: (np.random.default_rng(1).integers(0, 256, 20000).astype(np.uint8),)),
    "compute": (compute, lambda: (*(np.random.default_rng(k).integers(0, 1000, (1500, 1500)) for k in (1, 2)),
                                  4, 3, 9)),
    "arc_distance": (arc_distance, lambda: tuple(_random(500000) for _ in range(4))),
    "softmax": (softmax, lambda: (_random(64, 16, 64, 64).astype(np.float32),)),
    "column_statistics": (column_statistics, lambda: (_random(3000, 300),)),
    "covariance": (covariance, lambda: (_random(500, 300),)),
    "smith_waterman": (smith_waterman, lambda: tuple(np.random.default_rng(k).integers(0, 4, 150) for k in (1, 2))),
    "collatz": (collatz, lambda: (3000,)),
    "sparse_product": (sparse_product, lambda: _sparse(3000, 10)),
}


SECONDS = 0.25
"""Runs of quick programs go on for so long: the first few find cold caches."""


def medians(functions, make, repeats):
    """Medians of interleaved runs on new arguments."""
    found = {name: [] for name in functions}
    quickest, begun = next(reversed(functions)), time.perf_counter()
    while len(found[quickest]) < repeats or time.perf_counter() - begun < SECONDS:
        for name, function in functions.items():
            if name == "numpy" and len(found[name]) >= repeats:
                continue
            arguments = make()
            started = time.perf_counter()
            function(*arguments)
            found[name].append(time.perf_counter() - started)
    return {name: statistics.median(times) for name, times in found.items()}


def agrees(found, wanted):
    if isinstance(wanted, tuple):
        return all(map(agrees, found, wanted))
    return bool(np.allclose(found, wanted, rtol=1e-6, atol=1e-9, equal_nan=True))


def measure(name, repeats, mode):
    """One program's times in seconds."""
    import reactant

    function, make = PROGRAMS[name]
    row = {}
    functions = {"numpy": function}
    wanted = function(*copy.deepcopy(make()))
    try:
        import numba
        compiled = numba.njit(function)
        if agrees(compiled(*make()), wanted):
            functions["numba"] = compiled
    except Exception:  # what njit cannot compile has no figure
        pass
    for column, native in (("compiled", mode), ("xla", "never")):
        compiled = reactant.jit(function, native=native)
        begun = time.perf_counter()
        result = compiled(*make())
        row[f"{column}_first"] = time.perf_counter() - begun
        row[f"{column}_right"] = agrees(result, wanted)
        functions[column] = compiled
    return {**row, **medians(functions, make, repeats)}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=PROGRAMS, default=list(PROGRAMS), metavar="NAME")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--always", action="store_true", help="native code wherever it is possible")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(arguments)
    table = Table(title="milliseconds, and how many times faster than NumPy, than njit, than XLA alone")
    table.add_column("program")
    for heading in ("NumPy", "njit", "XLA alone", "compiled", "/ NumPy", "/ njit", "/ XLA", "first, s", "right"):
        table.add_column(heading, justify="right")
    rows = {}
    for name in options.only:
        try:
            row = rows[name] = measure(name, options.repeats, "always" if options.always else "auto")
        except Exception as error:  # one program's failure must not hide the others' figures
            table.add_row(name, type(error).__name__, str(error)[:60])
            continue
        here = row["compiled"]
        columns = ("numpy", "numba", "xla", "compiled")
        table.add_row(name, *(f"{1e3 * row[k]:.2f}" if k in row else "-" for k in columns),
                      *(f"{row[k] / here:.2f}" if k in row else "-" for k in ("numpy", "numba", "xla")),
                      f"{row['compiled_first']:.2f} ({row['xla_first']:.2f})", str(row["compiled_right"]))
    means = [geometric_mean(r[k] / r["compiled"] for r in rows.values() if k in r) for k in ("numpy", "numba", "xla")]
    table.add_section()
    table.add_row("geometric mean", "", "", "", "", *(f"{m:.2f}" for m in means))
    Console(width=130).print(table)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    warnings.filterwarnings("ignore", module="numba")
    sys.exit(main())
