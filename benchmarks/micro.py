"""Times the micro workloads against what a specialist writes by hand for XLA: values and gradients.

    python benchmarks/micro.py [--tiny] [--only NAME ...] [--repeats N] [--finite] [--association] [--json FILE]
                               [--clock cpu] [--peer PYTHON]

Medians of interleaved bursts of runs, in microseconds. "over JAX": our time over that of `jax.jit` of the plain program
(at most 1 is asked); "over optimum": over that of the hand-written program (at most 1.1 is asked), "over peer": over
the better of the peer's forms (docs/peers.md). Gradients are taken by `reactant.grad` and, "by JAX", by
`reactant.jit(jax.grad(f))`. --finite tells our compiler that all numbers are finite, which the hand-written programs
take for granted: a diagonal matrix times one that holds an infinity has NaN beside it, by hand it has not.
--association allows other orders of additions, which they have, too.
"""
import contextlib
import json
import sys

import jax
from micro_programs import WORKLOADS
from peer import Peer, arguments_of, beside
from rich.console import Console
from rich.table import Table
from shared_programs import difference

from reactant.demos.measure import geometric_mean

WRONG = 1e-3
"""A relative difference that is no rounding."""
DERIVED = {"peer_of_jax": "jax derivative", "peer": "own derivative"}
FORMS = {"value": {"peer": "primal"}, "gradient": DERIVED, "gradient by JAX": DERIVED}


def measure(name, scale, repeats, peer=None, options=None, clock="wall"):
    """Three rows: of the value, and of the gradient of the loss, taken by us and by JAX. options: of our compiler."""
    import reactant

    work = WORKLOADS[name]
    arguments = work.make(scale)
    options = options or {}
    ways = {
        "value": (work.program, reactant.jit(work.program, frontend="jax", **options), work.optimum, f"micro_{name}"),
        "gradient": (jax.grad(work.loss), reactant.jit(reactant.grad(work.loss), **options),
                     work.gradient, f"micro_{name}_loss"),
        "gradient by JAX": (jax.grad(work.loss), reactant.jit(jax.grad(work.loss), frontend="jax", **options),
                            work.gradient, f"micro_{name}_loss"),
    }
    return [row_of(f"{name}, {kind}", *ways[kind], arguments, scale, FORMS[kind] if peer else {}, peer, repeats,
                   clock)
            for kind in ways]


def row_of(title, plain, mine, optimum, program, arguments, scale, forms, peer, repeats, clock):
    plain, optimum = jax.jit(plain), jax.jit(optimum)
    functions = {"jax": plain, "optimum": optimum, "reactant": mine}
    calls = {label: lambda function=function: function(*arguments) for label, function in functions.items()}
    differences = [difference(function(*arguments), plain(*arguments)) for function in (mine, optimum)]
    answers, seconds = beside(peer, program, scale, forms, calls, repeats, clock)
    right = [seconds[label] for label, said in answers.items() if said.get("difference", WRONG) < WRONG]
    best = min(right, default=None)
    return {"workload": title, **seconds, "difference": max(differences), "peer_best": best,
            "over_jax": seconds["reactant"] / seconds["jax"], "over_optimum": seconds["reactant"] / seconds["optimum"],
            "over_peer": seconds["reactant"] / best if best else None,
            "peer_errors": [said["error"] for said in answers.values() if "error" in said]}


def show(rows, console, with_peer):
    table = Table(title="micro workloads: microseconds (medians)")
    table.add_column("workload")
    headings = ["JAX", "by hand", "reactant", "over JAX", "over optimum", "difference"]
    for heading in headings + ["peer", "over peer"] * with_peer:
        table.add_column(heading, justify="right")
    for row in rows:
        cells = [f"{1e6 * row[key]:.1f}" for key in ("jax", "optimum", "reactant")]
        cells += [f"{row['over_jax']:.3f}", f"{row['over_optimum']:.2f}", f"{row['difference']:.0e}"]
        if with_peer:
            cells += [f"{1e6 * row['peer_best']:.1f}", f"{row['over_peer']:.2f}"] if row["peer_best"] else ["-", "-"]
        table.add_row(row["workload"], *cells)
    means = {key: geometric_mean(row[key] for row in rows if row[key])
             for key in ("over_jax", "over_optimum", "over_peer")}
    table.add_section()
    table.add_row("geometric mean", "", "", "", *(f"{means[key]:.2f}" for key in ("over_jax", "over_optimum")), "",
                  *["", f"{means['over_peer']:.2f}"] * with_peer)
    console.print(table)
    for row in rows:
        for error in row["peer_errors"]:
            console.print(f"{row['workload']}: the peer failed: {error}", markup=False)
    return means


def main(arguments=None):
    parser = arguments_of(__doc__, list(WORKLOADS))
    parser.add_argument("--finite", action="store_true", help="tell our compiler that all numbers are finite")
    parser.add_argument("--association", action="store_true", help="allow other orders of additions")
    options = parser.parse_args(arguments)
    ours = {"finite": True} if options.finite else {}
    if options.association:
        ours["allow"] = ("association",)
    console = Console() if sys.stdout.isatty() else Console(width=140)
    with Peer(options.peer) if options.peer else contextlib.nullcontext() as peer:
        rows = [row for name in options.only
                for row in measure(name, 0.05 if options.tiny else 1.0, options.repeats, peer, ours, options.clock)]
    means = show(rows, console, bool(options.peer))
    if options.json:
        options.json.write_text(json.dumps({"workloads": rows, "geometric_mean": means}, indent=1))


if __name__ == "__main__":
    main()
