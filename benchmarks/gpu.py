"""GPU kernels on a GPU: as tensor programs, as themselves (PTX), what `auto` takes, and Numba's own launches.

    python benchmarks/gpu.py [--only NAME ...] [--repeats N] [--seconds S] [--json FILE]

Milliseconds of a host function on arrays that the GPU holds, medians of interleaved runs, each until the device is
done; every result is compared with the rewrite for a CPU (`kernel_programs.py`). "numba" is the same host function with
the kernels launched by numba-cuda. No program is begun after `--seconds`.
"""
from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]
from kernels import PATHS, compiled, largest_difference  # noqa: E402

WAYS = (*PATHS, "numba")


def ours(program: Any, lower: str) -> tuple[Any, Any, Any]:
    """How the arguments come to the device, a run, and how they come back."""
    import reactant
    function = compiled(program, lower)

    def run(*arguments: Any) -> None:
        function(*arguments)
        ready(arguments)
    return reactant.array, run, np.asarray


def ready(arguments: tuple) -> None:
    """Wait for what is on its way to the device."""
    import jax
    jax.block_until_ready([a.jax for a in arguments if hasattr(a, "jax")])


def numbas(program: Any) -> tuple[Any, Any, Any]:
    """The same with Numba's own launches."""
    from numba import cuda
    kernels = SimpleNamespace(**program.kernels)

    def run(*arguments: Any) -> None:
        program.host(kernels, *arguments)
        cuda.synchronize()
    return cuda.to_device, run, lambda a: a.copy_to_host()


def measure(program: Any, repeats: int) -> dict[str, Any]:
    """One program's figures in seconds."""
    wanted = program.make(program.size)
    program.rewrite(*wanted)
    row: dict[str, Any] = {}
    runs: dict[str, Any] = {}
    for way in WAYS:
        try:
            put, run, get = numbas(program) if way == "numba" else ours(program, way)

            def given(put: Any = put) -> tuple:
                return tuple(put(a) if isinstance(a, np.ndarray) else a for a in program.make(program.size))
            got = given()
            ready(got)
            begun = time.perf_counter()
            run(*got)
            row[f"{way}_first"] = time.perf_counter() - begun
            found = tuple(get(a) if isinstance(b, np.ndarray) else a for a, b in zip(got, wanted, strict=True))
            row[f"{way}_difference"] = largest_difference(found, wanted)
            runs[way] = run, given
        except Exception as error:  # a kernel that is no tensor program has no figure there
            row[f"{way}_error"] = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    return row | interleaved(runs, repeats)


def interleaved(runs: dict[str, tuple], repeats: int) -> dict[str, float]:
    """Medians of runs, each on arguments that were made and on the device before."""
    found: dict[str, list[float]] = {way: [] for way in runs}
    for _ in range(repeats):
        for way, (run, given) in runs.items():
            arguments = given()
            ready(arguments)
            begun = time.perf_counter()
            run(*arguments)
            found[way].append(time.perf_counter() - begun)
    return {way: statistics.median(times) for way, times in found.items()}


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    import jax
    from kernel_programs import PROGRAMS

    table = Table(title=f"milliseconds on {jax.devices()[0].device_kind}")
    for heading in ("program", *WAYS, "numba / auto", "best / auto", "first, s (auto)", "difference"):
        table.add_column(heading, justify="left" if heading == "program" else "right")
    rows: dict[str, dict] = {}
    begun = time.perf_counter()
    for name in options.only or PROGRAMS:
        if time.perf_counter() - begun > options.seconds:
            break
        rows[name] = row = measure(PROGRAMS[name], options.repeats)
        best = min((row[way] for way in PATHS if way in row), default=float("nan"))
        auto = row.get("auto", float("nan"))
        table.add_row(name, *(f"{1e3 * row[way]:.3f}" if way in row else "-" for way in WAYS),
                      f"{row.get('numba', float('nan')) / auto:.2f}", f"{best / auto:.2f}",
                      f"{row.get('auto_first', float('nan')):.1f}",
                      f"{max((row[f'{way}_difference'] for way in WAYS if way in row), default=0):.0e}")
        print(name, {key: value for key, value in row.items() if key.endswith("error")}, file=sys.stderr, flush=True)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1))
    Console(width=150).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
