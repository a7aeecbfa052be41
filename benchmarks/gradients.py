"""Times gradients: `jax.grad` under `jax.jit` against `reactant.grad` under `reactant.jit`, and the loss itself.

    python benchmarks/gradients.py [--tiny] [--only NAME ...] [--repeats N] [--json FILE] [--order] [--clock cpu]
                                   [--peer PYTHON]

Medians of interleaved runs in one process. "over JAX" above 1: ours is the faster gradient. "x primal": how many times
longer the gradient takes than the loss, each compiled by its own compiler. --order adds the same with differentiation
before simplification ("AD first"). --peer names the Python of an environment with `enzyme-ad` (docs/peers.md), which
takes its iterations in a process of its own: JAX's derivative that it optimises, and its own of what it optimised.
"""
import contextlib
import json
import sys

import jax
from peer import Peer, arguments_of, beside, measured
from rich.console import Console
from rich.table import Table
from shared_programs import GRADIENTS, difference

from reactant.demos.measure import CLOCKS, geometric_mean, taking_iterations

WRONG = 1e-3
"""A relative difference from JAX that is no rounding."""
PEER_FORMS = {"peer_of_jax": "jax derivative", "peer": "own derivative"}


def measure(name, scale, repeats, order=False, clock="wall", peer=None):
    import reactant

    loss, make = GRADIENTS[name]
    arguments = make(scale)
    static = tuple(i for i, a in enumerate(arguments) if isinstance(a, int))
    if jax.default_backend() != "cpu":
        arguments = tuple(a if i in static else jax.device_put(a) for i, a in enumerate(arguments))
    theirs, plain = jax.jit(jax.grad(loss), static_argnums=static), jax.jit(loss, static_argnums=static)
    mine = reactant.jit(reactant.grad(loss), static_argnums=static or None)
    functions = {"jax": lambda: theirs(*arguments), "reactant": lambda: mine(*arguments),
                 "loss": lambda: plain(*arguments)}
    if order:
        fixed = [a if i in static else None for i, a in enumerate(arguments)]

        def gradient(*given):
            return jax.grad(loss)(*(g if f is None else f for g, f in zip(given, fixed, strict=True)))
        first = reactant.jit(gradient, frontend="jax", static_argnums=static or None)
        functions["first"] = lambda: first(*arguments)
    row = {"program": name, "difference": difference(mine(*arguments), theirs(*arguments))}
    if peer:
        answers, seconds = beside(peer, name, scale, PEER_FORMS, functions, repeats, clock)
        row |= seconds | {f"{label}_{key}": value for label, said in answers.items() for key, value in said.items()}
    else:
        row.update(taking_iterations(functions, repeats, CLOCKS[clock]))
    row["over_jax"] = row["jax"] / row["reactant"]
    row["jax_over_loss"], row["over_loss"] = row["jax"] / row["loss"], row["reactant"] / row["loss"]
    row["order"] = row["first"] / row["reactant"] if order else None
    return row


def said(row, label):
    """A cell: milliseconds, and whether the derivative is another one."""
    if label not in row:
        return "failed"
    return f"{1e3 * row[label]:.3f}" + (" wrong" if row[f"{label}_difference"] > WRONG else "")


def best_peer(row):
    """The seconds of the peer's fastest right derivative; None where it has none."""
    right = [row[label] for label in PEER_FORMS if label in row and row[f"{label}_difference"] <= WRONG]
    return min(right, default=None)


def show(rows, failures, console, order):
    table = Table(title="gradients: milliseconds (medians); over JAX: how many times faster ours is")
    table.add_column("program")
    headings = ["loss", "jax.grad", "reactant", "over JAX", "x primal (JAX)", "x primal (ours)"]
    with_peer = any(f"{label}_error" in row or label in row for row in rows for label in PEER_FORMS)
    peers = ["peer of jax.grad", "peer's own", "ours over best peer"] * with_peer
    for heading in headings + ["over AD first"] * order + ["difference"] + peers:
        table.add_column(heading, justify="right")
    for row in rows:
        cells = [f"{1e3 * row[key]:.3f}" for key in ("loss", "jax", "reactant")]
        cells += [f"{row[key]:.2f}" for key in ("over_jax", "jax_over_loss", "over_loss")]
        cells += [f"{row['order']:.2f}"] if order else []
        cells.append(f"{row['difference']:.1e}")
        if with_peer:
            cells += [said(row, label) for label in PEER_FORMS]
            row["over_peer"] = best_peer(row) / row["reactant"] if best_peer(row) else None
            cells.append(f"{row['over_peer']:.2f}" if row["over_peer"] else "-")
        table.add_row(row["program"], *cells)
    means = {key: geometric_mean(row[key] for row in rows if row[key])
             for key in ("over_jax", "jax_over_loss", "over_loss", "order")}
    means["over_peer"] = geometric_mean(row["over_peer"] for row in rows if row.get("over_peer"))
    table.add_section()
    table.add_row("geometric mean", "", "", "", *(f"{means[key]:.2f}" for key in list(means)[:3 + order]), "",
                  *["", "", f"{means['over_peer']:.2f}"] * with_peer)
    console.print(table)
    for row in rows:
        for label, form in PEER_FORMS.items():
            if f"{label}_error" in row:
                console.print(f"{row['program']}: the peer's {form} failed: {row[f'{label}_error']}", markup=False)
    for name, error in failures.items():
        console.print(f"{name} failed: {error}", markup=False)
    return means


def main(arguments=None):
    parser = arguments_of(__doc__, list(GRADIENTS))
    parser.add_argument("--order", action="store_true", help="also differentiate before simplifying")
    options = parser.parse_args(arguments)
    console = Console() if sys.stdout.isatty() else Console(width=180)
    with Peer(options.peer) if options.peer else contextlib.nullcontext() as peer:
        rows, failures = measured(options.only, lambda name: measure(
            name, 0.05 if options.tiny else 1.0, options.repeats, options.order, options.clock, peer))
    means = show(rows, failures, console, options.order)
    if options.json:
        options.json.write_text(json.dumps({"programs": rows, "geometric_mean": means, "failures": failures}, indent=1))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
