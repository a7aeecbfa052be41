"""Which path `auto` takes for the kernels of the corpus, at several sizes, and what the other one would have cost.

    python benchmarks/kernel_choice.py [--only NAME ...] [--half fit|judge] [--json FILE] [--estimates --against FILE]

Milliseconds of whole calls on NumPy arrays, lower quartiles of interleaved runs; "alone": of the compiled program on
arrays that XLA holds. `ratio` is the time of what `auto` took over that of the better path; 1.2 is asked. The rates of
the cost model are fitted to the programs of one half (by the checksum of their names), the other half judges it.
`--estimates` measures nothing: choices of this tree, judged by the times in the file `--against`.
"""
from __future__ import annotations

import argparse
import importlib
import json
import re
import sys
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]
FAMILIES = ("stencils", "linear_algebra", "patterns", "science", "published", "samples")
ASKED = 1.2
WORST = 10


@dataclass(frozen=True)
class Entry:
    """One program at one size. kernels: made when asked for. host: launches them, given as attributes."""

    name: str
    size: int
    group: str
    kernels: Callable[[], dict[str, Any]]
    host: Callable[..., Any]
    make: Callable[[], tuple]

    @property
    def label(self) -> str:
        return f"{self.name}@{self.size}"

    @property
    def half(self) -> str:
        return "fit" if zlib.crc32(self.group.encode()) % 2 else "judge"


def sizes_of(small: int, large: int) -> list[int]:
    """Small, medium, large."""
    return sorted({small, round((small * large) ** 0.5), large})


def entries() -> list[Entry]:
    """The corpus: cases of one size, programs of the benchmark, programs of CUDA C++ of any size."""
    from kernel_programs import PROGRAMS

    found, family_of = [], {}
    for family in FAMILIES:
        for case in importlib.import_module(f"tests.kernels.corpus.{family}").CASES:
            family_of.update(dict.fromkeys(map(id, case.numba.values()), case.name))
            found.append(Entry(case.name, 0, case.name, lambda c=case: c.numba, case.host,
                               lambda c=case: c.make(np.random.default_rng(7))))
    for name, program in PROGRAMS.items():
        group = family_of.get(id(next(iter(program.kernels.values()))), name)
        found += [Entry(name, size, group, lambda p=program: p.kernels, program.host,
                        lambda p=program, s=size: p.make(s)) for size in sizes_of(program.small, program.size)]
    found += list(_sized())
    return found


def _sized() -> Iterator[Entry]:
    import reactant
    from tests.kernels.corpus import hecbench, parboil, rodinia, sized  # noqa: F401 (declare the programs)

    def kernels(program: sized.Program) -> dict[str, Any]:
        module = reactant.cuda.load(program.source)
        return {name: module[name] for name in re.findall(r"__global__ void (\w+)", program.source)}
    for name, program in sized.PROGRAMS.items():
        for size in sizes_of(program.small, program.large):
            yield Entry(name, size, name, lambda p=program: kernels(p),
                        lambda k, *arrays, p=program, s=size: p.host(k, s, *arrays),
                        lambda p=program, s=size: p.make(np.random.default_rng(7), s))


def program_of(entry: Entry, lower: str) -> Any:
    """The host function, its kernels by one path."""
    import reactant

    kernels = SimpleNamespace(**{n: reactant.kernel(k, lower=lower) for n, k in entry.kernels().items()})

    def run(*arguments: Any) -> Any:
        return entry.host(kernels, *arguments)
    run.__name__ = entry.name
    return reactant.jit(run, frontend="numpy")


@contextmanager
def launches_seen() -> Iterator[list[dict]]:
    """Estimates and choices of the launches that are lowered meanwhile."""
    from reactant.kernels.launch import costs, tensor_costs

    seen: list[dict] = []
    plain, sure = costs.Estimate.reason_for_native, costs.SURE

    def reason_for_native(self: Any, given: Any = None, looped: bool = False) -> str | None:
        reason = plain(self, given, looped)
        if given is not None and not self.always:
            native, tensor = self.native_with_copies(given), self.looped if looped and self.looped else self.tensor
            seen.append({"kernel": self.record.name, "chosen": "tensor" if reason is None else "native",
                         "written": sum(b.elements * b.dtype.itemsize for b in self.record.buffers if b.written),
                         "tensor": tensor_costs.seconds_of(tensor), "native": costs.seconds_of(native),
                         "tensor_work": dict(tensor), "native_work": native})
        return reason
    costs.Estimate.reason_for_native, costs.SURE = reason_for_native, 0.0  # type: ignore[method-assign]
    try:
        yield seen
    finally:
        costs.Estimate.reason_for_native, costs.SURE = plain, sure  # type: ignore[method-assign]


def quartiles(functions: dict[str, Callable[[], float]], least: float = 0.15, most: float = 2.5) -> dict[str, float]:
    """Lower quartiles of interleaved runs, each of which says what it took: other processes only ever add."""
    found: dict[str, list[float]] = {name: [] for name in functions}
    begun = time.perf_counter()
    while (spent := time.perf_counter() - begun) < least * len(functions) or len(found[next(iter(found))]) < 8:
        for name, function in functions.items():
            found[name].append(function())
        if spent > most:
            break
    return {name: float(np.quantile(times[min(1, len(times) - 1):], 0.25)) for name, times in found.items()}


def whole_call(function: Any, arguments: tuple) -> Callable[[], float]:
    """Seconds of a call on new copies."""
    def run() -> float:
        copies = [np.array(a) if isinstance(a, np.ndarray) else a for a in arguments]
        begun = time.perf_counter()
        function(*copies)
        return time.perf_counter() - begun
    return run


def alone(function: Any, arguments: tuple) -> Callable[[], float]:
    """Seconds of the compiled program on arrays that XLA holds."""
    import jax

    executable = function.lower(*arguments).compile().executable
    with jax.enable_x64(True):
        held = [jax.device_put(np.asarray(a)) for a in sorted(arguments, key=lambda a: not isinstance(a, np.ndarray))]
    held = held[:len(executable.inputs)]

    def run() -> float:
        begun = time.perf_counter()
        jax.block_until_ready(executable.on_device(held))
        return time.perf_counter() - begun
    return run


def launches_of(entry: Entry) -> Counter[str]:
    """How often the host launches each kernel."""
    counts: Counter[str] = Counter()

    class Launch:
        def __init__(self, name: str):
            self.name = name

        def __getitem__(self, launch: Any) -> Callable[..., None]:
            return lambda *arguments: counts.update([self.name])

        def __call__(self, *arguments: Any) -> None:
            counts.update([self.name])

        def __getattr__(self, name: str) -> Any:
            return lambda *arguments: self
    entry.host(SimpleNamespace(**{n: Launch(n) for n in entry.kernels()}), *entry.make())
    return counts


def estimated(entry: Entry) -> dict[str, Any]:
    """The launches of an entry, lowered by `auto` and nothing more, and how often they are launched."""
    with launches_seen() as seen:
        program_of(entry, "auto").lower(*entry.make())
    times = launches_of(entry)
    for launch in seen:
        alike = sum(other["kernel"] == launch["kernel"] for other in seen)
        launch["times"] = times.get(launch["kernel"], alike) / alike
    return {"launches": seen, "half": entry.half,
            "choice": "/".join(sorted({launch["chosen"] for launch in seen})) or "none"}


def prepared(entry: Entry) -> tuple[dict[str, Any], dict[str, dict[str, Callable[[], float]]]]:
    """Estimates, and what measures each path: compiled, and run once."""
    row = estimated(entry)
    if row["choice"] == "none":
        return row, {}      # no launch has two ways
    arguments, runs = entry.make(), {"calls": {}, "alone": {}}
    for path in ("tensor", "native", *(["auto"] if "/" in row["choice"] else [])):
        function = program_of(entry, path)
        runs["calls"][path], runs["alone"][path] = whole_call(function, arguments), alone(function, arguments)
        runs["calls"][path]()
    return row, runs


def measured(entry: Entry) -> dict[str, Any]:
    """Times of the paths that there are, in seconds."""
    row, runs = prepared(entry)
    return {**row, **{which: quartiles(functions) for which, functions in runs.items()}}


def ratio_of(row: dict[str, Any], which: str = "calls") -> float | None:
    """What `auto` took over the better path."""
    times = row.get(which)
    if not times:
        return None
    taken = times.get("auto" if "/" in row["choice"] else row["choice"])
    return None if taken is None else taken / min(times["tensor"], times["native"])


def print_table(rows: dict[str, dict]) -> None:
    """All rows, and how far `auto` is from the better path."""
    table = Table(title="milliseconds of a call; estimates; what auto took over the better path")
    for heading in ("program", "half", "tensor", "native", "alone", "alone", "estimated", "estimated", "auto", "ratio",
                    "alone"):
        table.add_column(heading, justify="left" if heading in ("program", "half", "auto") else "right")

    def ms(seconds: float | None) -> str:
        return "-" if seconds is None else f"{1e3 * seconds:.3f}"
    for name, row in rows.items():
        calls, held = row.get("calls", {}), row.get("alone", {})
        ratios = [ratio_of(row), ratio_of(row, "alone")]
        table.add_row(name, row["half"], *(ms(calls.get(p)) for p in ("tensor", "native")),
                      *(ms(held.get(p)) for p in ("tensor", "native")),
                      *(ms(sum(seen[p] * seen["times"] for seen in row["launches"])) for p in ("tensor", "native")),
                      row["choice"], *("-" if r is None else f"{r:.2f}" for r in ratios))
    Console(width=160).print(table)
    for which in ("calls", "alone"):
        for half in ("fit", "judge"):
            ratios = sorted(((r, n) for n, row in rows.items()
                             if row["half"] == half and (r := ratio_of(row, which)) is not None), reverse=True)
            if ratios:
                inside = sum(r <= ASKED for r, _ in ratios)
                print(f"{which}, {half}: {inside} of {len(ratios)} within {ASKED}; geometric mean "
                      f"{np.exp(np.mean(np.log([r for r, _ in ratios]))):.3f}; worst: "
                      + ", ".join(f"{n} {r:.2f}" for r, n in ratios[:WORST]))


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--half", choices=["fit", "judge"])
    parser.add_argument("--estimates", action="store_true")
    parser.add_argument("--against", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    known = json.loads(options.against.read_text()) if options.against else {}
    rows: dict[str, dict] = {}
    for entry in entries():
        if options.only and entry.name not in options.only and entry.label not in options.only \
                or options.half and entry.half != options.half:
            continue
        try:
            row = estimated(entry) if options.estimates else measured(entry)
        except Exception as error:  # one program's failure must not hide the others' figures
            print(f"{entry.label}: {type(error).__name__}: {str(error)[:200]}", flush=True)
            continue
        for which in ("calls", "alone"):
            row.setdefault(which, known.get(entry.label, {}).get(which, {}))
        rows[entry.label] = row
        if options.json:
            options.json.write_text(json.dumps(rows))
    print_table(rows)
    return 0


if __name__ == "__main__":
    warnings.filterwarnings("ignore", module="numba")
    sys.exit(main())
