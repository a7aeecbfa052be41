"""GPU kernels on a CPU: our two paths and what `auto` takes, Numba's parallel CPU code written by hand, its simulator.

    python benchmarks/kernels.py [--only NAME ...] [--repeats N] [--simulate] [--fused] [--json FILE]

Milliseconds of whole calls on NumPy arrays in one process, medians of interleaved runs on new arguments; every result
is compared with the rewrite's. "auto alone" is the launches' own time: the compiled program on arrays that XLA holds,
without our way in and out and the writing back. `--simulate` runs Numba's CUDA simulator (in a process of its
own, at a size of a few hundred threads) and ours at that same size. `--fused`: the chain of two stencils, 1,000 steps
compiled as one program against one compiled launch after the other.
"""
from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]
PATHS = ("tensor", "native", "auto")


def compiled(program: Any, lower: str) -> Any:
    """The host function with its kernels, all by one path."""
    import reactant

    kernels = SimpleNamespace(**{name: reactant.kernel(k, lower=lower) for name, k in program.kernels.items()})

    def run(*arguments: Any) -> Any:
        return program.host(kernels, *arguments)
    run.__name__ = program.host.__name__
    return reactant.jit(run, frontend="numpy")


def medians(functions: dict, make: Any, repeats: int) -> dict[str, float]:
    """Medians of interleaved runs on new arguments; quick programs run more often."""
    found: dict[str, list[float]] = {name: [] for name in functions}
    spent = 0.0
    while spent < 0.3 * len(functions) or len(found[next(iter(functions))]) < repeats:
        for name, function in functions.items():
            arguments = make()
            begun = time.perf_counter()
            function(*arguments)
            found[name].append(time.perf_counter() - begun)
            spent += found[name][-1]
        if spent > 10:
            break
    return {name: statistics.median(times[min(1, len(times) - 1):]) for name, times in found.items()}


def largest_difference(got: tuple, wanted: tuple) -> float:
    """Of all arrays, relative to the largest number of each."""
    worst = 0.0
    for a, b in zip(got, wanted, strict=True):
        if isinstance(b, np.ndarray) and b.size:
            worst = max(worst, float(np.abs(a.astype(float) - b.astype(float)).max())
                        / max(float(np.abs(b.astype(float)).max()), 1e-300))
    return worst


def alone(function: Any, arguments: tuple, repeats: int) -> float:
    """Seconds of the compiled program alone, its arguments held by XLA."""
    import jax

    executable = function.lower(*arguments).compile().executable
    with jax.enable_x64(True):
        held = [jax.device_put(a) for a in arguments if isinstance(a, np.ndarray)]
        held += [jax.device_put(np.asarray(a)) for a in arguments if not isinstance(a, np.ndarray)]
        held = held[:len(executable.inputs)]
    times = []
    for _ in range(repeats + 1):
        begun = time.perf_counter()
        jax.block_until_ready(executable.on_device(held))
        times.append(time.perf_counter() - begun)
    return statistics.median(times[1:])


def measure(name: str, repeats: int) -> dict[str, Any]:
    """One program's figures in seconds."""
    from kernel_programs import PROGRAMS

    program = PROGRAMS[name]

    def make() -> tuple:
        return program.make(program.size)
    wanted = make()
    program.rewrite(*wanted)
    row: dict[str, Any] = {}
    functions: dict[str, Any] = {"numba": program.rewrite}
    for lower in PATHS:
        try:
            functions[lower] = compiled(program, lower)
            got = make()
            begun = time.perf_counter()
            functions[lower](*got)
            row[f"{lower}_first"] = time.perf_counter() - begun
        except Exception as error:  # a kernel that is no tensor program has no figure there
            row[f"{lower}_error"] = f"{type(error).__name__}: {str(error).splitlines()[0][:100]}"
            functions.pop(lower, None)
            continue
        row[f"{lower}_difference"] = largest_difference(got, wanted)
        if row[f"{lower}_difference"] > program.rtol:
            raise AssertionError(f"{name} {lower}: differs by {row[f'{lower}_difference']:.3g}")
    row.update(medians(functions, make, repeats))
    row["alone"] = alone(functions["auto"], make(), repeats)
    return row


def simulated(name: str) -> dict[str, float]:
    """Seconds of the simulator and of ours, at the simulator's size."""
    from kernel_programs import PROGRAMS

    program = PROGRAMS[name]
    ours = compiled(program, "auto")
    ours(*program.make(program.small))
    here = medians({"ours": ours}, lambda: program.make(program.small), 5)["ours"]
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    made = subprocess.run([sys.executable, __file__, "--in-simulator", name], env=environment, capture_output=True,
                          text=True, timeout=120)
    if made.returncode:
        return {"ours_small": here}
    return {"ours_small": here, "simulator": json.loads(made.stdout.splitlines()[-1])}


def in_simulator(name: str) -> float:
    """Seconds of one run of the kernels themselves, under NUMBA_ENABLE_CUDASIM=1."""
    from kernel_programs import PROGRAMS

    program = PROGRAMS[name]
    arguments = program.make(program.small)
    begun = time.perf_counter()
    program.host(SimpleNamespace(**program.kernels), *arguments)
    return time.perf_counter() - begun


def fused(repeats: int) -> None:
    """The model loop: all launches as one program, against one compiled launch after the other."""
    from kernel_programs import PROGRAMS, blocks

    import reactant

    program = PROGRAMS["stencil_chain"]
    whole = compiled(program, "auto")
    ways = {"one program": whole}
    for lower in ("tensor", "native"):
        smooth, sharpen = (reactant.kernel(k, lower=lower) for k in program.kernels.values())

        def separately(a: Any, b: Any, steps: int, smooth: Any = smooth, sharpen: Any = sharpen) -> None:
            n = len(a)
            for _ in range(steps):
                smooth[blocks(n, 128), 128](a, b, n)
                sharpen[blocks(n, 128), 128](b, a, n)
        ways[f"launch by launch, {lower}"] = separately
    ways["njit(parallel=True)"] = program.rewrite
    table = Table(title="two stencils launched alternately, 1,000 steps: ms, times the one program, us a launch")
    table.add_column("elements")
    for name in ways:
        table.add_column(name, justify="right")
    for size in (2000, 20_000, 100_000):
        wanted = program.make(size)
        program.rewrite(*wanted)
        for way in ways.values():
            got = program.make(size)
            way(*got)
            assert largest_difference(got, wanted) < 1e-9
        found = medians(ways, lambda size=size: program.make(size), repeats)
        one = found["one program"]
        table.add_row(str(size), *(f"{1e3 * t:.1f}  {t / one:.2f}x  {1e6 * t / 2000:.2f}" for t in found.values()))
    Console(width=150).print(table)


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--simulate", action="store_true")
    parser.add_argument("--fused", action="store_true")
    parser.add_argument("--in-simulator", metavar="NAME", help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if options.in_simulator:
        print(json.dumps(in_simulator(options.in_simulator)))
        return 0
    if options.fused:
        fused(options.repeats)
        return 0
    from kernel_programs import PROGRAMS

    from reactant.demos.measure import geometric_mean

    table = Table(title="milliseconds of a call; njit / best; best / auto; simulator / auto at the simulator's size")
    table.add_column("program")
    for heading in ("tensor", "native", "auto", "auto alone", "njit parallel", "njit / best", "best / auto",
                    "simulator", "first, s"):
        table.add_column(heading, justify="right")
    rows: dict[str, dict] = {}
    for name in options.only or PROGRAMS:
        try:
            row = measure(name, options.repeats)
            if options.simulate:
                row.update(simulated(name))
        except Exception as error:  # one program's failure must not hide the others' figures
            table.add_row(name, type(error).__name__, str(error)[:80])
            continue
        rows[name] = row
        best = row["best"] = min(row[path] for path in PATHS if path in row)
        ratio = row["simulator"] / row["ours_small"] if "simulator" in row else None
        table.add_row(name, *(f"{1e3 * row[k]:.2f}" if k in row else "-" for k in (*PATHS, "alone", "numba")),
                      f"{row['numba'] / best:.2f}", f"{best / row['auto']:.2f}", f"{ratio:.0f}" if ratio else "-",
                      " ".join(f"{row[f'{p}_first']:.1f}" if f"{p}_first" in row else "-" for p in PATHS))
    table.add_section()
    ratios = ([r["numba"] / r["best"] for r in rows.values()], [r["best"] / r["auto"] for r in rows.values()],
              [r["simulator"] / r["ours_small"] for r in rows.values() if "simulator" in r])
    table.add_row("geometric mean", "", "", "", "", "", *(f"{geometric_mean(found):.2f}" for found in ratios))
    Console(width=140).print(table)
    for name, row in rows.items():
        for path in PATHS:
            if f"{path}_error" in row:
                print(f"{name}, {path}: {row[f'{path}_error']}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    warnings.filterwarnings("ignore", module="numba")
    sys.exit(main())
