"""Times gradients: `jax.grad` under `jax.jit` against `reactant.grad`, and both against the loss itself.

    python benchmarks/gradients.py [--tiny] [--only NAME ...] [--repeats N] [--json FILE] [--order] [--clock cpu]

Medians of interleaved runs in one process. "over JAX" above 1: ours is the faster gradient. "x primal": how many times
longer the gradient takes than the loss, each compiled by its own compiler. --order adds the same with differentiation
before simplification ("AD first").
"""
import argparse
import functools
import importlib.util
import json
import sys
import time
from pathlib import Path

import jax
import numpy as np
from rich.console import Console
from rich.table import Table

from reactant.demos.measure import geometric_mean, taking_turns


@functools.cache
def programs():
    """The table of `gradient_programs.py`, by its file: works from any folder."""
    path = Path(__file__).with_name("gradient_programs.py")
    spec = importlib.util.spec_from_file_location("benchmark_gradient_programs", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.PROGRAMS


CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def difference(mine, theirs):
    """The largest difference over the largest element, over all arrays of two trees."""
    pairs = zip(jax.tree_util.tree_leaves(mine), jax.tree_util.tree_leaves(theirs), strict=True)
    return max(float(np.max(np.abs(np.asarray(a) - b)) / (np.max(np.abs(b)) + 1e-30)) for a, b in pairs)


def measure(name, scale, repeats, order=False, clock="wall"):
    import reactant

    loss, make = programs()[name]
    arguments = make(scale)
    static = tuple(i for i, a in enumerate(arguments) if isinstance(a, int))
    theirs, plain = jax.jit(jax.grad(loss), static_argnums=static), jax.jit(loss, static_argnums=static)
    mine = reactant.grad(loss)
    functions = {"jax": lambda: theirs(*arguments), "reactant": lambda: mine(*arguments),
                 "loss": lambda: plain(*arguments)}
    if order:
        fixed = [a if i in static else None for i, a in enumerate(arguments)]

        def gradient(*given):
            return jax.grad(loss)(*(g if f is None else f for g, f in zip(given, fixed, strict=True)))
        first = reactant.jit(gradient, frontend="jax", static_argnums=static or None)
        functions["first"] = lambda: first(*arguments)
    row = {"program": name, "difference": difference(mine(*arguments), theirs(*arguments))}
    row.update(taking_turns(functions, repeats, CLOCKS[clock]))
    row["over_jax"] = row["jax"] / row["reactant"]
    row["jax_over_loss"], row["over_loss"] = row["jax"] / row["loss"], row["reactant"] / row["loss"]
    row["order"] = row["first"] / row["reactant"] if order else None
    return row


def show(rows, failures, console, order):
    table = Table(title="gradients: milliseconds (medians); over JAX: how many times faster ours is")
    table.add_column("program")
    headings = ["loss", "jax.grad", "reactant", "over JAX", "x primal (JAX)", "x primal (ours)"]
    for heading in headings + ["over AD first"] * order + ["difference"]:
        table.add_column(heading, justify="right")
    for row in rows:
        cells = [f"{1e3 * row[key]:.3f}" for key in ("loss", "jax", "reactant")]
        cells += [f"{row[key]:.2f}" for key in ("over_jax", "jax_over_loss", "over_loss")]
        cells += [f"{row['order']:.2f}"] if order else []
        cells.append(f"{row['difference']:.1e}")
        table.add_row(row["program"], *cells)
    means = {key: geometric_mean(row[key] for row in rows if row[key])
             for key in ("over_jax", "jax_over_loss", "over_loss", "order")}
    table.add_section()
    table.add_row("geometric mean", "", "", "", *(f"{means[key]:.2f}" for key in list(means)[:3 + order]), "")
    console.print(table)
    for name, error in failures.items():
        console.print(f"{name} failed: {error}", markup=False)
    return means


def main(arguments=None):
    names = list(programs())
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="smallest sizes: checks that everything still runs")
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--repeats", type=int, default=21, help="rounds of interleaved runs (default 21)")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu: of all threads, for busy machines")
    parser.add_argument("--order", action="store_true", help="also differentiate before simplifying")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(arguments)
    console = Console() if sys.stdout.isatty() else Console(width=140)
    rows, failures = [], {}
    for name in options.only:
        try:
            rows.append(measure(name, 0.05 if options.tiny else 1.0, options.repeats, options.order,
                                options.clock))
        except Exception as error:  # one program's failure must not hide the others' figures
            failures[name] = f"{type(error).__name__}: {error}"
    means = show(rows, failures, console, options.order)
    if options.json:
        options.json.write_text(json.dumps({"programs": rows, "geometric_mean": means, "failures": failures}, indent=1))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
