"""Times the optimiser's corpus of JAX programs: `jax.jit` against `reactant.jit`, and a peer where one is named.

    python benchmarks/corpus.py [--tiny] [--only NAME ...] [--repeats N] [--json FILE] [--peer PYTHON]
                                [--clock cpu] [--derivatives]

Medians of interleaved bursts of runs. "over JAX" above 1: ours is faster. Operations are StableHLO's: as imported,
after the rules that hold for every target, and in the forms that this target runs fastest. Flops and bytes are the cost
model's, after the first of these over before (at most 1: never worse); bytes are those after fusion
(`reactant.ir.traffic`), "one by one" those that the operations would move if each stored its result. Below the table:
programs that have more operations than before, which rules added them, and what for. --peer names the Python of an
environment with `enzyme-ad` (docs/peers.md): it runs the same programs in a process of its own, one iteration after the
other with ours; its flops and bytes are over those of the same module before. --derivatives: each program as JAX
differentiates it, the weighted squares of its results in all its floats (two have none, or a loop that cannot be
differentiated backwards). """
import contextlib
import json
import sys
from collections import Counter

import jax
from peer import Peer, arguments_of, beside, costs_of, measured
from rich.console import Console
from rich.table import Table
from shared_programs import PROGRAMS, difference, differentiated, prepared

from reactant.demos.measure import geometric_mean
from reactant.rewrite.report import following

TINY = 0.05
COSTS = ("flops", "bytes", "one_by_one")
NO_WORSE = 1.001
"""Flops and bytes that differ by less are equal."""
AS_FAST = 1.05
"""Times that differ by less are equal."""


def measure(name, scale, repeats, peer=None, clock="wall", derivatives=False):
    """The row of a program, or of its derivative by JAX; with a `Peer`, "peer_..." says how that did, or "peer_error"
    why it did not."""
    import reactant

    function, arrays = prepared(name, scale)
    if derivatives:
        function = differentiated(function, arrays)
    if jax.default_backend() != "cpu":
        arrays = jax.device_put(arrays)
    theirs, mine = jax.jit(function), reactant.jit(function, frontend="jax")
    lowered = mine.lower(*arrays)
    with following():
        general = reactant.jit(function, frontend="jax", optimize=("inline", "simplify")).lower(*arrays)
    row = {"program": name, "difference": difference(mine(*arrays), theirs(*arrays)), "left": lowered.reason,
           "before": sum(general.operations(optimized=False).values()), "after": sum(general.operations().values()),
           "here": sum(lowered.operations().values()), "notes": lowered.notes, "added_by": added_by(general.report)}
    before, after = costs_of(general.original), costs_of(general.module)
    functions = {"jax": lambda: theirs(*arrays), "reactant": lambda: mine(*arrays)}
    answers, seconds = beside(peer, name, scale, {"peer": "primal"} if peer else {}, functions, repeats, clock)
    row |= seconds | {f"peer_{key}": value for key, value in answers.get("peer", {}).items()}
    for key in COSTS:
        row[key] = after[key] / before[key] if before[key] else 1.0
        if "peer" in row:
            row[f"peer_{key}"] = row[f"peer_{key}"] / before[key] if before[key] else 1.0
    row["over_jax"] = row["jax"] / row["reactant"]
    return row


def added_by(report):
    """The rules that built more operations than they replaced, and how many more."""
    added = Counter()
    for chain in report.chains or ():
        for rule, built in chain.steps:
            added[rule] += sum(built.values()) - built["stablehlo.constant"] - 1
    return {rule: count for rule, count in added.most_common(3) if count > 0}


def why_more(row):
    """What a program with more operations than before has them for."""
    rules = ", ".join(f"{rule} +{count}" for rule, count in row["added_by"].items())
    return f"{row['program']}: {row['before']} -> {row['after']} operations ({rules}), for {row['flops']:.2g} of the " \
           f"flops and {row['bytes']:.2g} of the bytes"


def verdict(row):
    """How ours compares with the peer in time, flops and bytes: "" where in none of them behind."""
    if row.get("peer_error"):
        return "peer failed"
    if row["peer_difference"] > 1e-3:
        return "peer wrong"
    behind = [f"time {row['reactant'] / row['peer']:.2f}"] if row["reactant"] > AS_FAST * row["peer"] else []
    return ", ".join(behind + [f"{key} {row[key] / max(row[f'peer_{key}'], 1e-9):.2f}" for key in ("flops", "bytes")
                               if row[key] > NO_WORSE * row[f"peer_{key}"]])


def show(rows, failures, console, with_peer):
    table = Table(title="optimiser: milliseconds (medians); over JAX: how many times faster")
    table.add_column("program")
    headings = ["JAX", "reactant", "over JAX", "ops before", "after", "here", "flops", "bytes", "one by one",
                "difference"]
    peers = ["peer ms", "ours over peer", "flops", "bytes", "one by one", "behind the peer in"]
    for heading in headings + peers * with_peer:
        table.add_column(heading, justify="right")
    for row in rows:
        cells = [f"{1e3 * row['jax']:.3f}", f"{1e3 * row['reactant']:.3f}", f"{row['over_jax']:.2f}"]
        cells += [str(row[key]) for key in ("before", "after", "here")]
        cells += [*(f"{row[key]:.2f}" for key in COSTS), f"{row['difference']:.1e}"]
        if with_peer:
            figures = [f"{1e3 * row['peer']:.3f}", f"{row['peer'] / row['reactant']:.2f}",
                       *(f"{row[f'peer_{key}']:.2f}" for key in COSTS)] if "peer" in row else ["-"] * 5
            cells += [*figures, verdict(row)]
        table.add_row(row["program"] + (" (left to JAX)" if row["left"] else ""), *cells)
    means = {"over_jax": geometric_mean(row["over_jax"] for row in rows)}
    ran = [row for row in rows if "peer" in row]
    if ran:
        means["peer_over_jax"] = geometric_mean(row["jax"] / row["peer"] for row in ran)
        means["over_peer"] = geometric_mean(row["peer"] / row["reactant"] for row in ran)
    table.add_section()
    table.add_row(f"geometric mean of {len(rows)}", "", "", f"{means['over_jax']:.2f}", *[""] * 8,
                  *[f"{means['over_peer']:.2f}" if ran else ""] * with_peer)
    console.print(table)
    for row in rows:
        if row["after"] > row["before"]:
            console.print(why_more(row), markup=False)
        if row.get("peer_error"):
            console.print(f"{row['program']}: the peer failed: {row['peer_error']}", markup=False)
    for name, error in failures.items():
        console.print(f"{name} failed: {error}", markup=False)
    return means


def main(arguments=None):
    parser = arguments_of(__doc__, list(PROGRAMS))
    parser.add_argument("--derivatives", action="store_true", help="the programs as JAX differentiates them")
    options = parser.parse_args(arguments)
    if options.derivatives and options.peer:
        parser.error("--derivatives: the peer's process has the programs themselves")
    console = Console() if sys.stdout.isatty() else Console(width=240)
    scale = TINY if options.tiny else 1.0
    with Peer(options.peer) if options.peer else contextlib.nullcontext() as peer:
        rows, failures = measured(options.only, lambda name: measure(name, scale, options.repeats, peer,
                                                                     options.clock, options.derivatives))
    means = show(rows, failures, console, bool(options.peer))
    if options.json:
        options.json.write_text(json.dumps({"programs": rows, "geometric_mean": means, "failures": failures}, indent=1))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
