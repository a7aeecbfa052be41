"""Whole CUDA programs built by `reactant nvcc`, against the OpenMP versions of the same author by the same clang.

    python benchmarks/cuda_programs.py [--only NAME ...] [--repeats N] [--threads 2 1] [--clock cpu] [--small]
                                       [--omp-flags=FLAGS] [--json FILE] [--ablation]

Each program runs in a process of its own, both versions in turn; medians of what they say of themselves: `kernel` is
from the first launch (of OpenMP: loop) to the last one's end, `total` from before the first allocation on the device to
after results are back, without the making of inputs. `start`: of the CUDA version's process, all that is not in its
total, at test size (inputs and printing are in it). `compile`: seconds from sources to executables, without caches.
Ratios above 1 mean that the CUDA version is the faster one (of compile times: the slower one). Results have to agree.

--ablation: the CUDA versions alone, as they are and without what works across launches (REACTANT_CUDA_WITHOUT), with
what their time goes to (REACTANT_CUDA_REPORT), as parts of `total`: copies and fills, allocation and release, and what
threads that were woken had nothing to do in.

OpenMP versions are compiled with -O3 -march=native -fopenmp and `building.OMP_FLAGS`; `--omp-flags` replaces these.
"""
from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from reactant.demos.measure import geometric_mean  # noqa: E402
from tests.cuda_programs import building  # noqa: E402
from tests.cuda_programs.building import PROGRAMS, Program  # noqa: E402

WARM_UP = ("hotspot", "monte_carlo", "spmv", "sgemm", "thrust_pipeline")
"""Built once before anything is timed, the first always, others where they are measured: the first use of a compiler,
of the runtime, of cuRAND and its like, or of Thrust on a machine builds these libraries or precompiles headers."""


def built(program: Program, folder: Path, clock: str) -> tuple[dict[str, Path], dict[str, float]]:
    """Both executables and the seconds their compilation took; a new macro keeps caches from answering."""
    fresh = [f"-DBENCHMARK_{os.urandom(6).hex()}"]
    targets = {"cuda": folder / f"{program.name}_cuda", "omp": folder / f"{program.name}_omp"}
    seconds = {}
    for version, build in (("cuda", building.build_cuda), ("omp", building.build_omp)):
        before = children_seconds()
        wall = build(program, targets[version], fresh)
        seconds[version] = wall if clock == "wall" else children_seconds() - before
    return targets, seconds


def children_seconds() -> float:
    """CPU seconds of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(program: Program, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """One program's figures: milliseconds, and seconds of compilation."""
    targets, compile_seconds = built(program, folder, options.clock)
    arguments = program.test if options.small else program.benchmark
    row: dict[str, Any] = {"program": program.name, "compile": compile_seconds}
    row["compile_ratio"] = compile_seconds["cuda"] / compile_seconds["omp"]
    small = [building.run(targets["cuda"], program.test) for _ in range(5)]
    row["start"] = min(each.wall_ms - each.total_ms for each in small)
    for threads in options.threads:
        runs: dict[str, list[building.Outcome]] = {version: [] for version in targets}
        for _ in range(options.repeats):
            for version, executable in targets.items():
                outcome = building.run(executable, arguments, threads, clock=options.clock)
                runs[version].append(outcome)
        differs = max(building.difference(a.results, b.results) for a, b in zip(runs["cuda"], runs["omp"], strict=True))
        if differs > program.tolerance:
            raise AssertionError(f"differs by {differs:.3g}, at most {program.tolerance:.3g}")
        figures: dict[str, Any] = {"difference": differs}
        for what in ("kernel_ms", "total_ms"):
            for version, outcomes in runs.items():
                figures[f"{version}_{what}"] = statistics.median(getattr(o, what) for o in outcomes)
            figures[f"{what[:-3]}_ratio"] = figures[f"omp_{what}"] / figures[f"cuda_{what}"]
        row[f"threads_{threads}"] = figures
    return row


WITHOUT = {"all": "", "joined": "joined", "prepared": "prepared", "both": "joined,prepared"}
"""What is left out, as columns."""


def report(file: Path) -> dict[str, tuple[int, float]]:
    """(how often, milliseconds) of what a program reports (REACTANT_CUDA_REPORT)."""
    rows = (line.split("\t") for line in file.read_text().splitlines())
    return {name: (int(count), float(time)) for name, count, _, time in rows}


def ablation(program: Program, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """One program's milliseconds with each part left out, runs in turn; and what its time goes to."""
    target, file, threads = folder / f"{program.name}_cuda", folder / "report", options.threads[0]
    building.build_cuda(program, target)
    arguments = program.test if options.small else program.benchmark
    times: dict[str, list[float]] = {name: [] for name in WITHOUT}
    shares: dict[str, list[float]] = {name: [] for name in ("copies", "memory", "waiting")}
    for _ in range(options.repeats):
        results = []
        for name, left_out in WITHOUT.items():
            os.environ |= {"REACTANT_CUDA_WITHOUT": left_out}
            outcome = building.run(target, arguments, threads, clock=options.clock)
            times[name].append(outcome.total_ms)
            results.append(outcome.results)
        if max(building.difference(results[0], other) for other in results[1:]) > program.tolerance:
            raise AssertionError("results differ")
        os.environ |= {"REACTANT_CUDA_WITHOUT": "", "REACTANT_CUDA_REPORT": str(file)}
        total = building.run(target, arguments, threads).total_ms
        os.environ.pop("REACTANT_CUDA_REPORT")
        spent = report(file)
        shares["copies"].append((spent["copies"][1] + spent["fills"][1]) / total)
        shares["memory"].append((spent["allocations"][1] + spent["releases"][1]) / total)
        shares["waiting"].append(spent["waiting"][1] / total / threads)
    row = {name: statistics.median(each) for name, each in (times | shares).items()}
    return {"program": program.name, "launches": spent["launches"][0], "joined_launches": spent["joined"][0], **row}


def show_ablation(rows: list[dict[str, Any]], failures: dict[str, str], threads: list[int], console: Console) -> None:
    table = Table(title=f"{threads[0]} CPU: parts of the total time, and how many times longer it is without joined "
                        "launches, without prepared ones, without both")
    for heading in ("program", "launches", "of these\njoined", "copies\n%", "memory\n%", "waiting\n%", "total\nms",
                    "without\njoined", "without\nprepared", "without\nboth"):
        table.add_column(heading, justify="left" if heading == "program" else "right")
    for row in rows:
        table.add_row(row["program"], str(row["launches"]), str(row["joined_launches"]),
                      *(f"{100 * row[name]:.1f}" for name in ("copies", "memory", "waiting")), f"{row['all']:.1f}",
                      *(f"{row[name] / row['all']:.3f}" for name in list(WITHOUT)[1:]))
    if rows:
        table.add_section()
        table.add_row("geometric mean", "", "", *(f"{100 * (geometric_mean(1 + row[name] for row in rows) - 1):.1f}"
                                                  for name in ("copies", "memory", "waiting")), "",
                      *(f"{geometric_mean(row[name] / row['all'] for row in rows):.3f}" for name in list(WITHOUT)[1:]))
    console.print(table)
    for name, error in failures.items():
        console.print(f"{name} failed: {error}", markup=False)


def means(rows: list[dict[str, Any]], threads: list[int]) -> dict[str, float]:
    """Geometric means of all ratios."""
    found = {f"{what}_{t}": geometric_mean(row[f"threads_{t}"][f"{what}_ratio"] for row in rows)
             for t in threads for what in ("kernel", "total")}
    return found | {"compile": geometric_mean(row["compile_ratio"] for row in rows)}


def show(rows: list[dict[str, Any]], failures: dict[str, str], threads: list[int], console: Console) -> None:
    table = Table(title="milliseconds of the CUDA and OpenMP versions, and how many times faster the CUDA version is")
    table.add_column("program")
    for t in threads:
        for heading in ("kernel", "OpenMP", "ratio", "total", "OpenMP", "ratio"):
            table.add_column(f"{heading}\n{t} CPU", justify="right")
    for heading in ("start\nms", "compile\ns", "OpenMP\ns", "ratio"):
        table.add_column(heading, justify="right")
    for row in rows:
        cells = []
        for t in threads:
            f = row[f"threads_{t}"]
            cells += [f"{f['cuda_kernel_ms']:.1f}", f"{f['omp_kernel_ms']:.1f}", f"{f['kernel_ratio']:.2f}",
                      f"{f['cuda_total_ms']:.1f}", f"{f['omp_total_ms']:.1f}", f"{f['total_ratio']:.2f}"]
        table.add_row(row["program"], *cells, f"{row['start']:.1f}", f"{row['compile']['cuda']:.1f}",
                      f"{row['compile']['omp']:.1f}", f"{row['compile_ratio']:.2f}")
    if rows:
        all_means = means(rows, threads)
        table.add_section()
        cells = [c for t in threads for c in ("", "", f"{all_means[f'kernel_{t}']:.2f}", "", "",
                                              f"{all_means[f'total_{t}']:.2f}")]
        table.add_row("geometric mean", *cells, "", "", "", f"{all_means['compile']:.2f}")
    console.print(table)
    for name, error in failures.items():
        console.print(f"{name} failed: {error}", markup=False)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=PROGRAMS, default=list(PROGRAMS), metavar="NAME",
                        help=", ".join(PROGRAMS))
    parser.add_argument("--repeats", type=int, default=5, help="rounds of interleaved runs (default 5)")
    parser.add_argument("--threads", type=int, nargs="+", default=[2, 1], help="CPU threads (default 2 and 1)")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall",
                        help="cpu: of all threads, for busy machines (kernels timed by events stay on the wall)")
    parser.add_argument("--ablation", action="store_true",
                        help="CUDA versions with parts of what works across launches left out (first of --threads)")
    parser.add_argument("--small", action="store_true", help="test sizes: checks that everything still runs")
    parser.add_argument("--omp-flags", help="flags of the OpenMP versions beside -O3 -march=native -fopenmp")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(arguments)
    if options.omp_flags is not None:
        building.OMP_FLAGS = tuple(options.omp_flags.split())
    console = Console() if sys.stdout.isatty() else Console(width=160)
    rows: list[dict[str, Any]] = []
    failures: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in () if options.ablation else WARM_UP:
            if name == WARM_UP[0] or name in options.only:
                with contextlib.suppress(Exception):        # its own row will say so
                    built(PROGRAMS[name], Path(folder), options.clock)
        for name in options.only:
            with console.status(name):
                try:
                    rows.append((ablation if options.ablation else measure)(PROGRAMS[name], Path(folder), options))
                except Exception as error:  # one program's failure must not hide the others' figures
                    failures[name] = f"{type(error).__name__}: {str(error)[-800:]}"
    (show_ablation if options.ablation else show)(rows, failures, options.threads, console)
    if options.json:
        whole = bool(rows) and not options.ablation
        figures = {"programs": rows, "geometric_means": means(rows, options.threads) if whole else {},
                   "failures": failures, "omp_flags": building.OMP_FLAGS}
        options.json.write_text(json.dumps(figures, indent=1))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
