"""Times the optimiser's corpus of JAX programs: `jax.jit` against `reactant.jit`, and a peer where one is named.

    python benchmarks/corpus.py [--tiny] [--only NAME ...] [--repeats N] [--json FILE] [--peer PYTHON]

Medians of interleaved runs in one process. "over JAX" above 1: ours is faster. Operations are StableHLO's: as imported,
after the rules that hold for every target, and in the forms that this target runs fastest. Flops and bytes are the cost
model's, after the first of these over before (at most 1: never worse). --peer names the Python of an environment with
`enzyme-ad` (pip install enzyme-ad==0.0.16): it runs the same programs in a process of its own, beside JAX there ("peer
over JAX").
"""
import argparse
import functools
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
from rich.console import Console
from rich.table import Table

from reactant.demos.measure import geometric_mean, taking_turns

HERE = Path(__file__).parent
TINY = 0.05


def sibling(name):
    """A module of this folder, by its file: works from any folder."""
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@functools.cache
def programs():
    """All programs by name: (function, make)."""
    return sibling("corpus_programs").PROGRAMS | sibling("gradient_programs").PROGRAMS


def prepared(name, scale):
    """A function of arrays alone, and its arguments: whole numbers are closed over."""
    function, make = programs()[name]
    arguments = make(scale)
    static = {i: a for i, a in enumerate(arguments) if isinstance(a, int)}

    def call(*arrays):
        given = iter(arrays)
        return function(*(static[i] if i in static else next(given) for i in range(len(arguments))))
    call.__name__ = name
    return call, tuple(a for i, a in enumerate(arguments) if i not in static)


def difference(mine, theirs):
    """The largest difference over the largest element, over all arrays of two trees; NaN equals NaN."""
    found = 0.0
    for a, b in zip(jax.tree_util.tree_leaves(mine), jax.tree_util.tree_leaves(theirs), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype.kind in "biu":
            found = max(found, float((a != b).mean()))
            continue
        wrong = np.abs(np.where(np.isnan(a) & np.isnan(b), 0, a - b))
        found = max(found, float(np.max(wrong, initial=0) / (np.nanmax(np.abs(b), initial=0) + 1e-30)))
    return found


def measure(name, scale, repeats):
    import reactant

    function, arrays = prepared(name, scale)
    theirs, mine = jax.jit(function), reactant.jit(function, frontend="jax")
    lowered = mine.lower(*arrays)
    general = reactant.jit(function, frontend="jax", optimize=("inline", "simplify")).lower(*arrays)
    row = {"program": name, "difference": difference(mine(*arrays), theirs(*arrays)), "left": lowered.reason,
           "before": sum(general.operations(optimized=False).values()), "after": sum(general.operations().values()),
           "here": sum(lowered.operations().values()), "notes": lowered.notes}
    before, after = general.cost(optimized=False), general.cost()
    for key in ("flops", "bytes"):
        row[key] = after[key] / before[key] if before[key] else 1.0
    functions = {"jax": lambda: theirs(*arrays), "reactant": lambda: mine(*arrays)}
    row.update(taking_turns(functions, repeats))
    row["over_jax"] = row["jax"] / row["reactant"]
    return row


def peer_rows(python, names, scale, repeats):
    """What `corpus_peer.py` prints there: a row for each program."""
    command = [python, str(HERE / "corpus_peer.py"), str(scale), str(repeats), *names]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {row["program"]: row for row in rows}


def show(rows, failures, console, with_peer):
    table = Table(title="optimiser: milliseconds (medians); over JAX: how many times faster")
    table.add_column("program")
    headings = ["JAX", "reactant", "over JAX", *["peer over JAX"] * with_peer, "ops before", "after", "here", "flops",
                "bytes", "difference"]
    for heading in headings:
        table.add_column(heading, justify="right")
    for row in rows:
        cells = [f"{1e3 * row['jax']:.3f}", f"{1e3 * row['reactant']:.3f}", f"{row['over_jax']:.2f}"]
        cells += [f"{row['peer']:.2f}" if row.get("peer") else "-"] if with_peer else []
        cells += [str(row[key]) for key in ("before", "after", "here")]
        cells += [f"{row['flops']:.2f}", f"{row['bytes']:.2f}", f"{row['difference']:.1e}"]
        table.add_row(row["program"] + (" (left to JAX)" if row["left"] else ""), *cells)
    means = {"over_jax": geometric_mean(row["over_jax"] for row in rows)}
    peers = [row["peer"] for row in rows if row.get("peer")]
    if peers:
        means["peer"] = geometric_mean(peers)
    table.add_section()
    table.add_row(f"geometric mean of {len(rows)}", "", "", f"{means['over_jax']:.2f}",
                  *[f"{means['peer']:.2f}" if peers else "-"] * with_peer)
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
    parser.add_argument("--peer", metavar="PYTHON", help="the Python of an environment with enzyme-ad")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(arguments)
    console = Console() if sys.stdout.isatty() else Console(width=150)
    scale = TINY if options.tiny else 1.0
    rows, failures = [], {}
    for name in options.only:
        try:
            rows.append(measure(name, scale, options.repeats))
        except Exception as error:  # one program's failure must not hide the others' figures
            failures[name] = f"{type(error).__name__}: {error}"
    if options.peer:
        found = peer_rows(options.peer, options.only, scale, options.repeats)
        for row in rows:
            peer = found.get(row["program"], {})
            row["peer"], row["peer_error"] = peer.get("over_jax"), peer.get("error", "")
    means = show(rows, failures, console, bool(options.peer))
    if options.json:
        options.json.write_text(json.dumps({"programs": rows, "geometric_mean": means, "failures": failures}, indent=1))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
