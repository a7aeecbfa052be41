"""What it costs to compute what NumPy computes: every operation rounded as it is written, denormal numbers.

    python benchmarks/exactness.py [--tiny] [--only NAME ...] [--repeats N] [--clock wall|cpu] [--json FILE]

The NumPy programs of `run.py` and `native_loops.py`, compiled as they are by default and as XLA would have them, in one
process, interleaved; ratios of medians, above 1 where exactness costs. Programs of JAX are not among them: XLA gets
those as before (`tests/legalize/test_rounded_products.py`).
"""
import argparse
import contextlib
import copy
import json
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from unittest import mock

import native_loops
import run
from rich.console import Console
from rich.table import Table

from reactant.demos.measure import CLOCKS, geometric_mean, rounds

PROGRAMS = (*run.PROGRAMS, *native_loops.PROGRAMS)
AS_XLA = {"allow": ("rounding", "contraction"), "denormals": False}


def made(name, tiny):
    """(function, arguments) of a program."""
    if name in run.PROGRAMS:
        return run.load(name).make("tiny" if tiny else "full")
    function, make = native_loops.PROGRAMS[name]
    return function, make()


@contextlib.contextmanager
def steps_of_jax():
    """XLA gets the programs compiled meanwhile as it gets those of JAX."""
    from reactant.legalize import legalization
    steps = [step for step in legalization.STEPS if step.programs != legalization.NUMPY]
    with mock.patch.object(legalization, "STEPS", [replace(step, programs=legalization.EVERY) for step in steps]):
        yield


def measure(name, tiny, repeats, clock):
    """Seconds of both forms of one program."""
    import reactant

    function, arguments = made(name, tiny)
    exact, loose = reactant.jit(function), reactant.jit(function, **AS_XLA)
    exact(*copy.deepcopy(arguments))
    with steps_of_jax():
        loose(*copy.deepcopy(arguments))

    def timed(compiled):
        given = copy.deepcopy(arguments)
        start = clock()
        compiled(*given)
        return clock() - start
    row = rounds({"exact": lambda: timed(exact), "as XLA": lambda: timed(loose)}, repeats)
    return {"program": name, **row, "ratio": row["exact"] / row["as XLA"]}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="smallest sizes: checks that everything still runs")
    parser.add_argument("--only", nargs="+", choices=PROGRAMS, default=PROGRAMS, metavar="NAME")
    parser.add_argument("--repeats", type=int, default=15, help="rounds of interleaved runs (default 15)")
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(arguments)
    rows = [measure(name, options.tiny, options.repeats, CLOCKS[options.clock]) for name in options.only]
    table = Table(title=f"milliseconds ({options.clock}, medians)")
    for heading in ("program", "exact", "as XLA", "ratio"):
        table.add_column(heading, justify="left" if heading == "program" else "right")
    for row in rows:
        table.add_row(row["program"], f"{1e3 * row['exact']:.3f}", f"{1e3 * row['as XLA']:.3f}", f"{row['ratio']:.3f}")
    mean = geometric_mean(row["ratio"] for row in rows)
    table.add_row("geometric mean", "", "", f"{mean:.3f}")
    Console(width=100).print(table)
    if options.json:
        options.json.write_text(json.dumps({"programs": rows, "geometric_mean": mean}, indent=1))
    return 0


if __name__ == "__main__":
    warnings.filterwarnings("ignore")      # NumPy's, of programs whose first values overflow
    sys.exit(main())
