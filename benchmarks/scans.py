"""Loops of `jax.lax` beside `jax.jit`, for batches from few to many: how many times faster the compiled function is.

    python benchmarks/scans.py [PROGRAM ...] [--sizes 4,30,300,2000] [--rounds N] [--xla]

`--xla`: beside our optimised program without native code, compiled by XLA. Medians of interleaved calls; every result
is compared with the peer's. Ratios below 0.8 are marked: a loop that is native code must not be slower than XLA's.
"""
from __future__ import annotations

import argparse

import jax
import numpy as np
from rich.console import Console
from rich.table import Table
from scan_programs import MAKERS, numbers

import reactant
from reactant.demos.measure import taking_iterations

DTYPES = ("float32", "float64")
SLOWER = 0.8


def ratio(name: str, n: int, dtype: str, rounds: int, xla: bool) -> float:
    """The time of JAX (or of our program by XLA alone) over ours."""
    function, arguments = MAKERS[name](n, numbers(dtype))
    ours, peer = reactant.jit(function), reactant.jit(function, native="never") if xla else jax.jit(function)
    for one, other in zip(*(jax.tree.leaves(f(*arguments)) for f in (ours, peer)), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-2, atol=5e-3)
    found = taking_iterations({"peer": lambda: peer(*arguments), "ours": lambda: ours(*arguments)}, rounds)
    return found["peer"] / found["ours"]


def main(arguments: list[str] | None = None) -> None:
    """Print a table, a row as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", choices=[[], *MAKERS], metavar="PROGRAM")
    parser.add_argument("--sizes", default="4,30,300,2000")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--xla", action="store_true")
    given = parser.parse_args(arguments)
    sizes = [int(n) for n in given.sizes.split(",")]
    table = Table(title=f"times as fast as {'our program by XLA alone' if given.xla else 'jax.jit'}")
    for heading in ("batch", *(f"{n} {dtype}" for n in sizes for dtype in DTYPES)):
        table.add_column(heading, justify="right")
    every: list[float] = []
    for name in given.programs or MAKERS:
        with jax.enable_x64(True):
            found = [ratio(name, n, dtype, given.rounds, given.xla) for n in sizes for dtype in DTYPES]
        every += found
        table.add_row(name, *(f"{r:.2f}{'!' if r < SLOWER else ''}" for r in found))
        print(name, *(f"{r:.2f}" for r in found), flush=True)
    Console(width=130).print(table)
    print(f"geometric mean {np.exp(np.log(every).mean()):.2f}, least {min(every):.2f}, "
          f"below {SLOWER}: {sum(r < SLOWER for r in every)} of {len(every)}")


if __name__ == "__main__":
    main()
