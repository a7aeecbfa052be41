"""How many digits classic programs lose, whether the right line is blamed, and what asking costs.

    python benchmarks/accuracy.py [--only NAME] [--tiny]

For each program of `tests/digits/classics.py`: its format, the bits of the worst result that are wrong, whether the
right line is blamed first, seconds to compile the program beside itself and of `reactant.jit` alone, the time of one
run beside itself over one of the program alone (medians of interleaved runs; programs of microseconds measure calls),
and the line. `--tiny` is the size that keeps it from rotting.
"""
from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import reactant
from reactant.digits.measured import prepared

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.digits.classics import CLASSICS, Classic

ROWS = "{:26} {:8} {:>6} {:>6} {:>9} {:>9} {:>9}  {}"


def _seconds(run, rounds: int) -> float:
    found = []
    for _ in range(rounds):
        begin = time.perf_counter()
        run()
        found.append(time.perf_counter() - begin)
    return statistics.median(found)


def row(name: str, classic: Classic, rounds: int) -> bool:
    """Print a program's figures; gives whether its line is blamed."""
    found = reactant.accuracy(classic.function, *classic.arguments)
    _, program = prepared(classic.function, classic.arguments, {})
    alone = reactant.jit(classic.function)
    begin = time.perf_counter()
    alone(*classic.arguments)
    compiled = time.perf_counter() - begin
    beside = _seconds(program.run, rounds)
    ratio = beside / _seconds(lambda: alone(*classic.arguments), rounds)
    line = found.blamed[0] if found.blamed else None
    right = line is not None and int(line.place.rpartition(":")[2]) in classic.lines
    worst = max(found.outputs, key=lambda each: each.lost)
    print(ROWS.format(name, worst.dtype, f"{worst.lost:.1f}", "yes" if right else "no", f"{found.seconds[0]:.2f}",
                      f"{compiled:.2f}", f"{ratio:.1f}", line.source if line else ""), flush=True)
    return right


def large(scale: float, rounds: int) -> None:
    """What it costs where computing counts: arrays of a million elements."""
    x = np.random.default_rng(0).random(max(int(1e6 * scale), 8)).astype(np.float32)

    def polynomial(x):
        return ((x * 0.3 + 1.5) * x - 0.25) * x + np.sqrt(x)
    for dtype in (np.float32, np.float64):
        row(f"polynomial, {np.dtype(dtype).name}", Classic(polynomial, (x.astype(dtype),), 0), rounds)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="NAME")
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args(arguments)
    rounds = 1 if options.tiny else 7
    print(ROWS.format("program", "format", "wrong", "found", "beside, s", "alone, s", "run, x", "line that is blamed"))
    chosen = {name: each for name, each in CLASSICS.items() if options.only in name}
    if options.tiny:
        chosen = {"absorbed": CLASSICS["absorbed"]}
    right = [row(name, each, rounds) for name, each in chosen.items()]
    print(f"{sum(right)} of {len(right)} lines found")
    if not options.only:
        large(1e-4 if options.tiny else 1.0, rounds)


if __name__ == "__main__":
    main()
