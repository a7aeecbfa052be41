"""Kernels of whole CUDA programs with the granularity that `reactant tune` finds, against the programs' own.

    python benchmarks/granularity.py [--only NAME ...] [--repeats N] [--rounds N] [--threads 1] [--clock cpu]
                                     [--small | --large] [--versions LABEL,...] [--json FILE]

Each program is built once, with `reactant nvcc --tune`; `reactant tune` runs it with the versions of its kernels and
remembers the fastest. Then the same executable runs in turn with its own granularity and with what was chosen; the
figures are medians of the time in kernels, CPU time of all threads unless `--clock wall` is said (programs with events
cannot tell CPU time themselves, so it is the runtime that counts), the ratio is own / chosen; in parentheses where
nothing else was chosen: noise, which counts as 1. Results have to be the same, but for programs that add floats
atomically (their tolerance).
"""
from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from reactant.cuda_programs.driver import tuning  # noqa: E402
from reactant.demos.measure import geometric_mean  # noqa: E402
from tests.cuda_programs import building  # noqa: E402
from tests.cuda_programs.building import PROGRAMS, Program  # noqa: E402

SIZES: dict[str, list[int]] = {
    "hotspot": [512, 512, 100, 1], "srad": [512, 512, 20, 1], "lud": [512, 1], "needleman_wunsch": [2048, 10, 1],
    "pathfinder": [100000, 50, 10, 1], "bfs": [300000, 6, 1], "backprop": [100000, 10, 1], "kmeans": [50000, 24, 6, 1],
    "streamcluster": [16384, 64, 20, 1], "gaussian": [512, 1], "cfd": [300, 200, 3, 1], "lavamd": [6, 1],
    "particle_filter": [50000, 256, 2, 1], "bplus_tree": [300000, 100000, 1], "myocyte": [1024, 100, 1],
    "dwt2d": [1024, 1024, 4, 10, 1], "heartwall": [300, 256, 4, 1], "lulesh": [120, 30],
    "xsbench": [50000, 68, 1000, 1], "minife": [30, 30, 1], "lattice_boltzmann": [256, 30], "nbody": [4096, 3, 1],
    "fft": [2048, 3, 1], "bitonic_sort": [18, 1], "radix_sort": [1000000, 1], "monte_carlo": [100000, 64, 1],
    "spmv": [50000, 24, 20, 1], "sgemm": [512, 512, 512, 1], "thrust_pipeline": [200000, 32, 5, 1],
    "functors": [50000, 300, 1], "several_files": [400, 300, 12, 1]}
"""Arguments with which kernels take some ten to some hundred milliseconds on one core."""
MODES = {"own": f"={tuning.OWN}", "chosen": "choices"}
"""How the executable is run (REACTANT_CUDA_TUNE)."""


def measure(program: Program, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """One program's figures."""
    executable = folder / program.name
    building.build_cuda(program, executable, [f"--tune={options.versions}" if options.versions else "--tune"])
    sizes = program.test if options.small else program.benchmark if options.large else SIZES[program.name]
    arguments = [str(each) for each in sizes]
    os.environ["REACTANT_CUDA_THREADS"] = str(options.threads)
    run = tuning.runner([str(executable), *arguments], folder)
    _, choices = tuning.tuned(run, options.rounds)
    runs: dict[str, list[float]] = {mode: [] for mode in MODES}
    for _ in range(options.repeats):
        for mode, said in MODES.items():
            runs[mode].append(sum(run(said).totals(wall=options.clock == "wall").values()))
    outcomes = []
    for said in MODES.values():
        os.environ["REACTANT_CUDA_TUNE"] = said
        outcomes.append(building.run(executable, arguments, options.threads).results)
    os.environ.pop("REACTANT_CUDA_TUNE")
    differs = building.difference(*outcomes)
    if differs > program.tolerance:
        raise AssertionError(f"differs by {differs:.3g}, at most {program.tolerance:.3g}")
    row: dict[str, Any] = {mode: statistics.median(times) for mode, times in runs.items()}
    row["choices"] = {f"{c.site.kernel} {c.site.signature}": c.label for c in choices if c.label != tuning.OWN}
    row |= {"program": program.name, "ratio": row["own"] / row["chosen"], "difference": differs}
    row["noise"] = not row["choices"]
    return row


def gain(row: dict[str, Any]) -> float:
    """How much the choice brought: where nothing else was chosen the same code ran twice, what differs is noise."""
    return 1.0 if row["noise"] else float(row["ratio"])


def mean(rows: list[dict[str, Any]]) -> float:
    return geometric_mean(map(gain, rows))


def show(rows: list[dict[str, Any]], failures: dict[str, str], console: Console) -> None:
    table = Table(title="milliseconds in kernels, with the program's own granularity and the one chosen")
    for heading in ("program", "own", "chosen", "ratio", "versions"):
        table.add_column(heading, justify="left" if heading in ("program", "versions") else "right")
    for row in rows:
        table.add_row(row["program"], f"{row['own']:.1f}", f"{row['chosen']:.1f}",
                      f"({row['ratio']:.2f})" if row["noise"] else f"{row['ratio']:.2f}",
                      ", ".join(sorted(set(row["choices"].values()))))
    if rows:
        table.add_section()
        table.add_row("geometric mean", "", "", f"{mean(rows):.2f}", "")
        table.add_row("least", "", "", f"{min(map(gain, rows)):.2f}", "")
    console.print(table)
    for name, error in failures.items():
        console.print(f"{name} failed: {error}", markup=False)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=PROGRAMS, default=list(PROGRAMS), metavar="NAME",
                        help=", ".join(PROGRAMS))
    parser.add_argument("--repeats", type=int, default=9, help="rounds of interleaved runs (default 9)")
    parser.add_argument("--rounds", type=int, default=5, help="how often tuning runs each version (default 5)")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (default 1)")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="cpu",
                        help="cpu: of all threads, for busy machines")
    parser.add_argument("--small", action="store_true", help="test sizes: checks that everything still runs")
    parser.add_argument("--large", action="store_true", help="sizes of benchmarks/cuda_programs.py")
    parser.add_argument("--versions", default="", help="versions to choose from (default: those of --tune)")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(arguments)
    console = Console() if sys.stdout.isatty() else Console(width=160)
    rows: list[dict[str, Any]] = []
    failures: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only:
            try:
                rows.append(measure(PROGRAMS[name], Path(folder), options))
                console.print(f"{name} {rows[-1]['ratio']:.2f} {rows[-1]['choices']}", markup=False)
            except Exception as error:  # one program's failure must not hide the others' figures
                failures[name] = f"{type(error).__name__}: {str(error)[-800:]}"
    show(rows, failures, console)
    if options.json:
        figures = {"programs": rows, "geometric_mean": mean(rows) if rows else None, "failures": failures}
        options.json.write_text(json.dumps(figures, indent=1))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
