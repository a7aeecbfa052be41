"""What tracing and our passes cost beside XLA's compilation as programs grow, for NumPy programs of several shapes.

    python benchmarks/growth.py [--only NAME ...] [--sizes N ...] [--xla-seconds S] [--json FILE]

One row a shape and size, the best of three (above 10,000 operations one run alone). XLA compiles what comes out of the
passes, up to the size at which it took more than S seconds; beyond, its columns stay empty. The last table has the
exponent k of time ~ operations**k, fitted over all sizes: 1 is linear.
"""
import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from compile_time import decoder, make_decoder
from rich.console import Console
from rich.table import Table

SIZES = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000)


def numbers(count):
    """0, 1, ... as Python's own numbers: a loop over a list is unrolled while tracing."""
    return list(range(count))


def chain(x, count):
    """Straight-line elementwise code."""
    a, b, c = x, x + 1.0, x * 0.5
    for k in numbers(count):
        a, b, c = b * 0.9 + a, np.maximum(c, a - 0.01 * k), np.tanh(b) + np.where(a > c, a, b)
    return a + b + c


def updates(grid, count):
    """Slices read and written in place: an upwind step with boundaries, many times."""
    for k in numbers(count):
        low = 1 + k % 7
        grid[low:-low, low:-low] += 0.1 * (grid[low - 1:-low - 1, low:-low] - grid[low:-low, low - 1:-low - 1])
        grid[0, :] = grid[1, :]
        grid[:, -1] = grid[:, -2] * (1.0 + 0.001 * k)
    return grid


def body(x, iterations, count):
    """One loop with a big body."""
    for _ in range(iterations):
        a, b = x, x * 0.5
        for k in numbers(count):
            a, b = np.sin(b) * 0.9 + a, np.maximum(b, a - 0.01 * k)
        x = a + b
    return x


def loops(x, iterations, count):
    """Many loops one after the other, each of about 45 operations."""
    for k in numbers(count):
        total = x * 0.0
        for i in range(iterations):
            total[i % 8] += x[i % 8] * (k + 1.0)
            total = np.sqrt(total * total + 0.5) * 0.9
        x = np.tanh(total + x)
    return x


def branches(x, count):
    """Branches inside branches."""
    for k in numbers(count):
        if x[k % 8] > 0.5:
            if x[(k + 1) % 8] > 0.25:
                x = x * 0.9 + 0.01 * k
            else:
                x = np.sin(x) - 0.1
            x[k % 8] = 0.3
        else:
            x = np.cos(x) * (0.5 + x)
    return x


def sides(x, count):
    """One branch of two big sides."""
    a, b = x, x * 0.5
    if x[0] > 0.5:
        for k in numbers(count):
            a, b = np.sin(b) * 0.9 + a, np.maximum(b, a - 0.01 * k)
    else:
        for k in numbers(count):
            a, b = np.cos(b) * 0.8 + a, np.minimum(b, a - 0.02 * k)
    return a + b


def random(*shape):
    return np.random.default_rng(0).random(shape)


SHAPES = {  # of about n operations as traced: (function of arrays, arguments)
    "chain": lambda n: (lambda x: chain(x, n // 12), (random(64, 64),)),
    "layers": lambda n: (decoder, make_decoder(depth=n // 86)[1]),
    "updates": lambda n: (lambda grid: updates(grid, n // 28), (random(64, 64),)),
    "body": lambda n: (lambda x, iterations: body(x, iterations, n // 9), (random(64), np.int64(50))),
    "loops": lambda n: (lambda x, iterations: loops(x, iterations, n // 66), (random(8), np.int64(50))),
    "sides": lambda n: (lambda x: sides(x, n // 18), (random(64),)),
    "branches": lambda n: (lambda x: branches(x, n // 30), (random(8),)),
}


MOST_FOR_XLA = {"chain": 2_000}
"""XLA:CPU fuses every chain into each of its users: at 5,000 operations it takes minutes and 20 GB (also `jax.jit`)."""


def measure(name, size, with_xla):
    """Operations and seconds of one program."""
    import reactant

    function, arguments = SHAPES[name](size)
    row = {"shape": name, "trace": float("inf"), "passes": float("inf")}
    for _ in range(3 if size <= 10_000 else 1):
        lowered = reactant.jit(function, native="never").lower(*arguments)
        for key in ("trace", "passes"):
            row[key] = min(row[key], getattr(lowered.times, key))
    row |= {"before": lowered.report.operations_before, "after": lowered.report.operations_after,
            "rewrites": lowered.report.rewrites, "not converged": lowered.report.not_converged}
    if with_xla:
        compiled = lowered.compile()
        row["xla"] = compiled.times.xla
    return row


def exponent(rows, key):
    """The slope of the line through (log operations, log seconds)."""
    return float(np.polyfit(*(np.log([row[column] for row in rows]) for column in ("before", key)), 1)[0])


def table(rows):
    made = Table(title="ours beside XLA's compilation")
    made.add_column("shape")
    for heading in ("traced", "after", "trace, s", "passes, s", "us/op", "XLA, s", "passes / XLA", "both / XLA"):
        made.add_column(heading, justify="right")
    for row in rows:
        xla = row.get("xla")
        made.add_row(row["shape"], str(row["before"]), str(row["after"]), f"{row['trace']:.3f}", f"{row['passes']:.3f}",
                     f"{1e6 * row['passes'] / row['before']:.0f}", "" if xla is None else f"{xla:.1f}",
                     *("" if xla is None else f"{part / xla:.2f}"
                       for part in (row["passes"], row["trace"] + row["passes"])))
    return made


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=SHAPES, default=list(SHAPES), metavar="NAME")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--xla-seconds", type=float, default=2.0,
                        help="programs bigger than one that took so long are not given to XLA")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    rows = []
    for name in options.only:
        measure(name, 300, False)
        with_xla = options.xla_seconds > 0
        for size in options.sizes:
            rows.append(measure(name, size, with_xla and size <= MOST_FOR_XLA.get(name, size)))
            with_xla = rows[-1].get("xla", np.inf) <= options.xla_seconds
            print(*(f"{key} {value}" for key, value in rows[-1].items() if not isinstance(value, float)), flush=True)
    console = Console()
    console.print(table(rows))
    if len(options.sizes) > 1:
        growth = Table(title="time ~ operations ** k")
        for heading in ("shape", "k of tracing", "k of passes"):
            growth.add_column(heading)
        for name in options.only:
            own = [row for row in rows if row["shape"] == name]
            growth.add_row(name, f"{exponent(own, 'trace'):.2f}", f"{exponent(own, 'passes'):.2f}")
        console.print(growth)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
