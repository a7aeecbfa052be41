"""Times the whole NumPy programs of this folder: plain NumPy, Numba where it runs, and `reactant.jit`.

    python benchmarks/run.py [--tiny] [--only NAME ...] [--repeats N] [--json FILE]

Medians of interleaved runs in one process; ratios above 1 mean that the compiled program is the faster one.
"""
import argparse
import copy
import importlib.util
import json
import math
import sys
import warnings
from pathlib import Path

from rich.console import Console
from rich.table import Table

from reactant.demos.measure import geometric_mean, interleaved, largest_difference, timed

PROGRAMS = (
    "gray_scott", "nbody", "mandelbrot", "kmeans", "conjugate_gradient",
    "floyd_warshall", "lu", "spectral", "option_pricing", "image_filters",
)


def load(name):
    """The module of one program, by its file: works from any folder."""
    if name not in PROGRAMS:
        raise ValueError(f"no program called {name}; there are {', '.join(PROGRAMS)}")
    path = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def numba_twin(module, size):
    """The program's Numba form, compiled for these arguments, or None where there is no form or no Numba."""
    if not hasattr(module, "numba_function"):
        return None
    try:
        twin = module.numba_function()
    except ImportError:
        return None
    twin(*module.make(size)[1])
    return twin


def measure(name, size, repeats):
    """One program's times in seconds, as a dictionary ready for JSON."""
    import reactant

    module = load(name)
    function, arguments = module.make(size)
    functions = {"numpy": function}
    if twin := numba_twin(module, size):
        functions["numba"] = twin
    compiled = reactant.jit(function)
    mine, plain = copy.deepcopy(arguments), copy.deepcopy(arguments)
    row = {"program": name, "size": size}
    row["first_call"], result = timed(compiled, mine)
    row["difference"] = largest_difference((result, mine), (function(*plain), plain))
    functions["compiled"] = compiled
    row.update(interleaved(functions, arguments, repeats))
    row["over_numpy"] = row["numpy"] / row["compiled"]
    row["over_numba"] = row["numba"] / row["compiled"] if twin else None
    return row


def show(rows, failures, console):
    table = Table(title="milliseconds (medians), and how many times faster the compiled program is")
    table.add_column("program")
    for heading in ("NumPy", "Numba", "compiled", "over NumPy", "over Numba", "first call, s", "difference"):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(
            row["program"], f"{1e3 * row['numpy']:.2f}",
            f"{1e3 * row['numba']:.2f}" if row["over_numba"] else "-", f"{1e3 * row['compiled']:.2f}",
            f"{row['over_numpy']:.2f}", f"{row['over_numba']:.2f}" if row["over_numba"] else "-",
            f"{row['first_call']:.2f}", f"{row['difference']:.1e}")
    means = [geometric_mean(row[key] for row in rows if row[key]) for key in ("over_numpy", "over_numba")]
    table.add_section()
    table.add_row("geometric mean", "", "", "", *("-" if math.isnan(mean) else f"{mean:.2f}" for mean in means), "", "")
    console.print(table)
    for name, error in failures.items():
        console.print(f"{name} failed: {error}", markup=False)
    return dict(zip(("over_numpy", "over_numba"), means, strict=True))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="smallest sizes: checks that everything still runs")
    parser.add_argument("--only", nargs="+", choices=PROGRAMS, default=PROGRAMS, metavar="NAME",
                        help=", ".join(PROGRAMS))
    parser.add_argument("--repeats", type=int, default=7, help="rounds of interleaved runs (default 7)")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(arguments)
    console = Console() if sys.stdout.isatty() else Console(width=120)  # nothing is cut off in a log
    rows, failures = [], {}
    for name in options.only:
        with console.status(name):
            try:
                rows.append(measure(name, "tiny" if options.tiny else "full", options.repeats))
            except Exception as error:  # one program's failure must not hide the others' figures
                failures[name] = f"{type(error).__name__}: {error}"
    means = show(rows, failures, console)
    if options.json:
        options.json.write_text(json.dumps({"programs": rows, "geometric_mean": means, "failures": failures}, indent=1))
    return 1 if failures else 0


if __name__ == "__main__":
    # Numba's twins of array programs warn about non-contiguous products: a remark on them, not on what is measured.
    warnings.filterwarnings("ignore", module="numba")
    sys.exit(main())
