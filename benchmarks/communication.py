"""What programs for one device send between eight: as XLA partitions them, as we do, and as a specialist writes them.

    python benchmarks/communication.py [--cases NAME ...] [--mesh 8 4x2] [--rows N ...] [--rounds N] [--json FILE]

Eight devices of a CPU. Collectives, and the KiB that cross between devices, are counted in what XLA has compiled, loops
as often as they run (`reactant.communication.traffic` says how). s: until the program is compiled; ms: the median of
interleaved calls, on so many cores as the machine has: a direction, no measure of devices. `+`: loops whose number of
steps only run-time values tell count as one step. Every result is compared with NumPy's, of adjoints with one device's.

Cases a to f2 have forms by hand, and each of --rows; e_numba and e_cuda are e as GPU kernels; the others, and adjoints
of five of them, have --size rows.
"""
from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
os.environ.setdefault("JAX_PLATFORMS", "cpu")

from communication_cases import CASES  # noqa: E402 - jax, which they import, makes devices as it is told before
from communication_kernels import KERNELS  # noqa: E402
from communication_programs import PROGRAMS  # noqa: E402
from communication_ways import MESHES, WAYS, Case, Run, Way  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

from reactant.demos.measure import geometric_mean, taking_iterations  # noqa: E402

ROWS = (1024, 1021, 1017, 126, 125)
RATIOS = (("ours", "xla"), ("ours", "by hand"), ("xla", "by hand"))


def compiled(run: Run) -> tuple[dict[str, Way], dict[str, float], dict[str, str]]:
    """A case's program in each way there is, how far its results are from the right ones, and what is wrong with it."""
    ways, errors, reasons = {}, {}, {}
    for name, way in WAYS.items():
        if name == "by hand" and run.case.by_hand is None:
            continue
        try:
            made = way(run)
            errors[name] = run.error(made.delivered(made.run()))
        except Exception as error:  # noqa: BLE001 - one that fails is a row of the table, with the reason below it
            reasons[name] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            continue
        ways[name] = made
        if not errors[name] <= run.case.close:
            reasons[name] = f"WRONG: differs by {errors[name]:.1e} of the largest element"
    return ways, errors, reasons


def measured(case: Case, mesh: str, rows: int, rounds: int) -> dict[str, Any]:
    """Figures of a case on a mesh, each way's under its name."""
    ways, errors, reasons = compiled(Run(case, MESHES[mesh], rows))
    times = taking_iterations({name: way.run for name, way in ways.items()}, rounds) if rounds else {}
    figures = {name: {
        "collectives": way.traffic.count, "bytes": way.traffic.bytes, "seconds": way.seconds, "error": errors[name],
        "milliseconds": 1e3 * times[name] if rounds else None, "unknown_loops": way.traffic.unknown_loops,
        "by_kind": way.traffic.by_kind()} for name, way in ways.items()}
    return {"case": case.name, "mesh": mesh, "rows": rows, "ways": figures, "failures": reasons}


def ratio(found: dict[str, Any], one: str, other: str, what: str = "bytes") -> float | None:
    """How many times as many bytes (or collectives) one way moves as another; None where one is not there."""
    ways = found["ways"]
    if one not in ways or other not in ways:
        return None
    a, b = ways[one][what], ways[other][what]
    return a / b if b else float("inf") if a else 1.0


def kibibytes(size: int) -> str:
    return f"{size / 1024:,.0f}" if size >= 100 * 1024 else f"{size / 1024:.3g}"


def cells(found: dict[str, Any]) -> Iterator[str]:
    """The row of a table."""
    yield from (found["case"], str(found["rows"]), found["mesh"])
    for name in WAYS:
        if (way := found["ways"].get(name)) is None:
            yield "-"
            continue
        time = "" if way["milliseconds"] is None else f" / {way['milliseconds']:.1f}"
        loops = "+" if way["unknown_loops"] else ""
        yield f"{way['collectives']}{loops} / {kibibytes(way['bytes'])} / {way['seconds']:.2f}{time}"
    for one, other in RATIOS:
        both = [ratio(found, one, other, what) for what in ("bytes", "collectives")]
        yield "-" if None in both else " / ".join(f"{value:.3g}" for value in both)


def means(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of each ratio the geometric mean and the largest. Where only one of two moves something, there is no ratio: such
    rows are left out of the mean, and counted."""
    found, listed = [], list(rows)
    for what, (one, other) in product(("bytes", "collectives"), RATIOS):
        ratios = [r for row in listed if (r := ratio(row, one, other, what)) is not None]
        finite = [r for r in ratios if 0 < r < float("inf")]
        if ratios:
            found.append({"what": what, "ways": [one, other], "mean": geometric_mean(finite), "largest": max(ratios),
                          "rows": len(ratios), "without": len(ratios) - len(finite)})
    return found


def table(title: str, rows: Iterable[dict[str, Any]], timed: bool) -> Table:
    made = Table(title=f"{title}: collectives / KiB / s to compile{' / ms' if timed else ''}; ratios: bytes / number")
    for heading in ("case", "rows", "mesh", *WAYS, *(f"{one} / {other}" for one, other in RATIOS)):
        made.add_column(heading, justify="right")
    for row in rows:
        made.add_row(*cells(row))
    return made


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [case.name for case in (*CASES, *KERNELS, *PROGRAMS)]
    parser.add_argument("--cases", nargs="+", choices=names, metavar="NAME", help="only these; all by default")
    parser.add_argument("--mesh", nargs="+", choices=MESHES, default=list(MESHES))
    parser.add_argument("--rows", nargs="+", type=int, default=list(ROWS), help="of the cases with forms by hand")
    parser.add_argument("--size", type=int, default=512, help="of the other programs")
    parser.add_argument("--rounds", type=int, default=5, help="of calls that are timed; 0: none")
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Print the tables; 1 where a form of ours or by hand failed (ours may be missing) or its result was wrong."""
    given, console, figures = parsed(arguments), Console(width=170), {}
    by_hand = (*CASES, *KERNELS)
    for title, cases, sizes in (("with forms by hand", by_hand, given.rows), ("programs", PROGRAMS, [given.size])):
        chosen = [case for case in cases if given.cases is None or case.name in given.cases]
        rows = []
        for case, size, mesh in product(chosen, sizes, given.mesh):
            with console.status(f"{case.name}, {size} rows, mesh {mesh}"):
                rows.append(measured(case, mesh, size, given.rounds))
        if rows:
            console.print(table(title, rows, given.rounds > 0))
            for mean in means(rows):
                console.print(f"{mean['what']}, {' / '.join(mean['ways'])}: geometric mean {mean['mean']:.3g}, at most "
                              f"{mean['largest']:.3g}, {mean['rows']} rows ({mean['without']} of them in no mean: one "
                              "moves nothing, the other something)")
        figures[title] = rows
    failures = [(row, name, why) for rows in figures.values() for row in rows for name, why in row["failures"].items()]
    missing = {why for _, _, why in failures if why.startswith(("ImportError", "ModuleNotFoundError"))}
    for why in sorted(missing):
        console.print(f"ours is not there: {why}")
    failures = [each for each in failures if each[2] not in missing]
    for row, name, why in failures:
        console.print(f"{row['case']}, {row['rows']} rows, mesh {row['mesh']}, {name}: {why}", style="red")
    if given.json:
        summary = {title: means(rows) for title, rows in figures.items()}
        given.json.write_text(json.dumps({"rows": figures, "means": summary}, indent=1))
    return int(any(name != "xla" for _, name, _ in failures))


if __name__ == "__main__":
    raise SystemExit(main())
