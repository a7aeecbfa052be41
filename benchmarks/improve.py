"""What `reactant.improve` wins: classic expressions that lose digits, and whole programs.

    python benchmarks/improve.py                 30 classic expressions, bits of error before and after
    python benchmarks/improve.py --only 2sqrt    some of them
    python benchmarks/improve.py --programs      whole programs: right bits and time, original and versions
    python benchmarks/improve.py --programs --only hyperelastic --picture FILE     the front of one of them
    python benchmarks/improve.py --guards needed [--programs]                      with fewer guards
    python benchmarks/improve.py --costs         nanoseconds of each operation, as `precision/improvement` has them

Expressions are written after R. W. Hamming, "Numerical Methods for Scientists and Engineers", chapter 3, whose examples
and exercises Herbie and FPBench took up. Arguments are random bits of float64 for which the expression is a finite
number; the error is measured on others than those the search saw.
"""
from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from improve_programs import PROGRAMS

import reactant
from reactant.improvement import Version
from reactant.precision.improvement import truth
from reactant.precision.improvement.expressions import OPERATIONS, nodes
from reactant.precision.improvement.identities import parsed
from reactant.runtime.devices import default_device

FLOAT64 = np.dtype(np.float64)
SEEN, FRESH, REPEATED = 256, 400, 8
LOST = 8.0
"""Bits of error that count as lost."""
MORE, SLOWER, FASTER = 8.0, 1.1, 1.3
"""Bits that count as won with no more than so many times the time; how many times as fast counts without."""

EXPRESSIONS = {
    "2sqrt": "sqrt(x + 1) - sqrt(x)",
    "2isqrt": "1 / sqrt(x) - 1 / sqrt(x + 1)",
    "2cbrt": "cbrt(x + 1) - cbrt(x)",
    "2nthrt": "(x + 1) ** (1 / n) - x ** (1 / n)",
    "2log": "log(x + 1) - log(x)",
    "2sin": "sin(x + e) - sin(x)",
    "2cos": "cos(x + e) - cos(x)",
    "2tan": "tan(x + e) - tan(x)",
    "2atan": "arctan(x + 1) - arctan(x)",
    "2frac": "1 / (x + 1) - 1 / x",
    "3frac": "1 / (x + 1) - 2 / x + 1 / (x - 1)",
    "expm1": "exp(x) - 1",
    "expax": "exp(a * x) - 1",
    "exp2": "exp(x) - 2 + exp(-x)",
    "expq2": "exp(x) / (exp(x) - 1)",
    "expq3": "e * (exp((a + b) * e) - 1) / ((exp(a * e) - 1) * (exp(b * e) - 1))",
    "sqrtexp": "sqrt((exp(2 * x) - 1) / (exp(x) - 1))",
    "sinh": "(exp(x) - exp(-x)) / 2",
    "log1p": "log(1 + x)",
    "logq": "log((1 - e) / (1 + e))",
    "qlog": "log(1 - x) / log(1 + x)",
    "logs": "(n + 1) * log(n + 1) - n * log(n) - 1",
    "asinh": "log(x + sqrt(x * x + 1))",
    "cos2": "(1 - cos(x)) / (x * x)",
    "tanhf": "(1 - cos(x)) / sin(x)",
    "sintan": "(x - sin(x)) / (x - tan(x))",
    "invcot": "1 / x - 1 / tan(x)",
    "quadp": "(-b + sqrt(b * b - 4 * a * c)) / (2 * a)",
    "quadm": "(-b - sqrt(b * b - 4 * a * c)) / (2 * a)",
    "quad2p": "(-b + sqrt(b * b - a * c)) / a",
}


HERBIE = {
    "2sqrt": (30.0, 0.1, "1651451128:warfa:main:69a095f880"), "2isqrt": (20.1, 0.3, "1652298566:warfa:main:bedd2804cb"),
    "2cbrt": (29.7, 0.6, "1536225569:warfa:develop:80fcf73fa5"),
    "2log": (29.2, 0.0, "1540194298:warfa:develop:d9c69adcc2"),
    "2tan": (36.9, 0.3, "1624352575:warfa:1.5-release-notes:1afc67c08c"),
    "2atan": (14.9, 0.4, "1597162163:warfa:master:bcfc386df7"),
    "3frac": (10.2, 0.1, "1595061924:warfa:release-1.4:6154713226"),
    "cos2": (30.8, 0.3, "1527752544:warfa:develop:c78f38400d"),
    "sintan": (30.7, 0.0, "1534347679:warfa:develop:724984d9d8"),
}
"""Bits of error before and after, as one of the reports of Herbie's authors on random bits of float64 says, and which:
https://nightly.cs.washington.edu/reports/herbie/REPORT/hamming (later reports are on other arguments)."""


def function_of(text: str) -> tuple[Callable, tuple[str, ...]]:
    """A NumPy function of what a text computes, and the names of its arguments."""
    names = tuple(sorted({each for each in "abcenx" if f" {each} " in f" {_spaced(text)} "}))
    scope: dict = {each: getattr(np, each) for each in ("sqrt", "cbrt", "exp", "log", "sin", "cos", "tan", "arctan")}
    exec(f"def f({', '.join(names)}):\n    return {text}", scope)
    return scope["f"], names


def _spaced(text: str) -> str:
    return "".join(each if each.isalnum() else " " for each in text)


def arguments(text: str, names: tuple[str, ...], count: int, seed: int) -> list[np.ndarray]:
    """Random bits, where the expression is a finite number."""
    random, root = np.random.default_rng(seed), parsed(text, names)
    rows: list[np.ndarray] = []
    while len(rows) < count:
        row = random.integers(-2**63, 2**63 - 1, len(names), dtype=np.int64).view(np.float64)
        if np.isfinite(row).all() and np.isfinite(truth.rounded_at(root, row, 200, FLOAT64)):
            rows.append(row)
    return list(np.ascontiguousarray(np.array(rows).T))


def error(text: str, names: tuple[str, ...], function: Callable, given: list[np.ndarray]) -> np.ndarray:
    """Bits of error of a function on its arguments."""
    root = parsed(text, names)
    real = truth.in_reals(root, given, FLOAT64)[0][nodes(root)[-1]]
    with np.errstate(all="ignore"):
        return truth.bits_of_error(np.asarray(function(*given)), real, FLOAT64)


def expressions(only: list[str], guards: str) -> None:
    """The table of classic expressions."""
    print(f"{'expression':9} {'before':>7} {'after':>7} {'seconds':>8}  {'Herbie':>12}  mean bits of error of {FRESH} "
          "fresh arguments; Herbie's of its own")
    lost = worse = 0
    for name, text in EXPRESSIONS.items():
        if only and name not in only:
            continue
        function, names = function_of(text)
        start = time.process_time()
        found = reactant.improve(function, *arguments(text, names, SEEN, 0), objective="accuracy", samples=0,
                                 guards=guards)
        taken = time.process_time() - start
        fresh = arguments(text, names, FRESH, 1)
        before, after = (error(text, names, each, fresh).mean() for each in (reactant.jit(function), found.best()))
        lost, worse = lost + (after > LOST), worse + (after > before + 0.1)
        beside = "{:5.1f} -> {:3.1f}".format(*HERBIE[name]) if name in HERBIE else ""
        print(f"{name:9} {before:7.2f} {after:7.2f} {taken:8.1f}  {beside:>12}  {_told(found)}", flush=True)
    print(f"{lost} still lose more than {LOST:g} bits, {worse} are worse than before")


def _told(found: reactant.Improvement) -> str:
    return next((line.strip() for line in found.explain().splitlines() if "->" in line), "as it was")[:150]


def programs(only: list[str], picture: str | None, guards: str) -> None:
    """The table of whole programs."""
    count = {True: 0, False: 0}
    for name, (function, make) in PROGRAMS.items():
        if only and name not in only:
            continue
        found = reactant.improve(function, *make(), guards=guards)
        best = _winner(found)
        count[best is not None] += 1
        first = found.versions[0]
        told = "nothing won" if best is None else f"won: {best.name}, {best.bits - first.bits:+.1f} bits, " \
            f"{first.seconds / best.seconds:.2f} times as fast"
        print(f"{found}\n{found.explain()}\n   {told}\n", flush=True)
        if picture is not None:
            found.plot(picture)
    print(f"{count[True]} of {sum(count.values())} won {MORE:g} bits in at most {SLOWER:g} times the time, or are "
          f"{FASTER:g} times as fast and as accurate")


def _winner(found: reactant.Improvement) -> Version | None:
    """The fastest version that is worth it."""
    first = found.versions[0]
    won = [each for each in found.versions if each.bits >= first.bits + MORE and each.seconds <= SLOWER * first.seconds
           or each.bits >= first.bits - 0.5 and each.seconds * FASTER <= first.seconds]
    return min(won, key=lambda each: each.seconds, default=None)


def costs() -> None:
    """Nanoseconds per element of each operation: a loop with it eight times, less the same loop without."""
    random = np.random.default_rng(0)
    print(f"on {default_device()}: nanoseconds per element in float64, float32")
    given = [(0.25 + 0.5 * random.random(4096)).astype(dtype) for dtype in (np.float64, np.float32)]
    without = {arity: [_least(_repeated(None, arity), x) for x in given] for arity in (1, 2)}
    for name, operation in OPERATIONS.items():
        taken = [_least(_repeated(operation.floats, operation.arity), x) for x in given]
        pairs = zip(taken, without[operation.arity], strict=True)
        told = [1e9 * (a - b) / REPEATED / given[0].size for a, b in pairs]
        print(f"{name:24} {told[0]:6.2f} {told[1]:6.2f}", flush=True)


def _repeated(operation: Callable | None, arity: int) -> Callable:
    def f(x: np.ndarray) -> np.ndarray:
        for k in range(REPEATED):
            other = x + (0.5 + k) if arity == 2 else x
            value = other if operation is None else operation(x) if arity == 1 else operation(x, other)
            x = abs(value) * 0.125 + 0.25
        return x
    return f


def _least(function: Callable, x: np.ndarray) -> float:
    """The least time of a call."""
    compiled, taken = reactant.jit(function), []
    for _ in range(200):
        start = time.perf_counter()
        compiled(x)
        taken.append(time.perf_counter() - start)
    return min(taken)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--programs", action="store_true")
    parser.add_argument("--picture")
    parser.add_argument("--guards", default="ranges")
    parser.add_argument("--costs", action="store_true")
    told = parser.parse_args()
    if told.costs:
        costs()
    elif told.programs:
        programs(told.only, told.picture, told.guards)
    else:
        expressions(told.only, told.guards)
