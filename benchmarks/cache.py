"""The first call of programs in a fresh process, without the compile cache and with it (`docs/cache.md`).

    python benchmarks/cache.py [--repeats N] [--only NAME ...] [--json FILE] [--jax]

The demo and the programs of `run.py` at their tiny sizes; with --jax those of the JAX corpus at 5 % of their sizes.
Each time is that of one process that has imported its modules and made its arguments: medians of the processor's and
the wall's milliseconds, in this order: nothing kept, written to an empty cache, found there; "beside the run": without
what a second call takes, which runs the program alone.
"""
import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

WAYS = ("without", "written", "found")


def program(name):
    """A function, compiled when it is called, and its arguments."""
    import reactant
    kind, _, rest = name.partition(":")
    if kind == "jax":
        from shared_programs import prepared
        function, arguments = prepared(rest, 0.05)
        return reactant.jit(function, frontend="jax"), arguments
    if kind == "demo":
        from reactant.demos import heat
        user = heat.script()
        return reactant.jit(user.simulate), (user.plate_with_heaters(128), 10_000)
    import run
    function, arguments = run.load(rest).make("tiny")
    return reactant.jit(function), arguments


def child(name):
    """Print how long the first two calls take in this process, and what the cache had."""
    import time

    import jax

    compiled, arguments = program(name)
    jax.devices()
    jax.numpy.zeros(1).block_until_ready()
    told = {}
    for call in ("first", "again"):
        wall, cpu = time.perf_counter(), time.process_time()
        jax.block_until_ready(compiled(*arguments))
        told[call] = [time.process_time() - cpu, time.perf_counter() - wall]
    recalled = sys.modules.get("reactant.calling.recalled")
    told |= {"counts": recalled.COUNTS, "reasons": recalled.REASONS} if recalled else {}
    print(json.dumps(told))


def run_child(name, folder):
    """What `child` prints in a process with that cache; None: without one."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}      # as installed
    environment["REACTANT_CACHE"] = folder or "off"
    done = subprocess.run([sys.executable, __file__, "--child", name], env=environment, capture_output=True, text=True,
                          check=True)
    return json.loads(done.stdout.splitlines()[-1])


def measure(name, repeats):
    """Milliseconds of the processor and of the wall, each way."""
    row = {"program": name}
    with tempfile.TemporaryDirectory() as folder:
        runs = {way: [] for way in WAYS}
        runs["written"].append(run_child(name, folder))
        for _ in range(repeats):
            runs["without"].append(run_child(name, None))
            runs["found"].append(run_child(name, folder))
        for way, told in runs.items():
            row[way] = [1e3 * statistics.median(each["first"][k] for each in told) for k in range(2)]
        row["again"] = [1e3 * statistics.median(each["again"][k] for each in runs["found"]) for k in range(2)]
        last = runs["found"][-1]
        row["counts"], row["reasons"] = last.get("counts", {}), last.get("reasons", {})
    row["beside"] = row["found"][0] - row["again"][0]
    row["share"] = row["beside"] / (row["without"][0] - row["again"][0])
    return row


def show(rows, console):
    """The table."""
    table = Table(title="milliseconds of the first call in a fresh process: processor / wall")
    table.add_column("program")
    for heading in (*WAYS, "second call", "found, beside the run", "of without", "found"):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(row["program"], *(f"{row[way][0]:.0f} / {row[way][1]:.0f}" for way in WAYS),
                      f"{row['again'][0]:.1f}", f"{row['beside']:.0f}", f"{100 * row['share']:.1f} %",
                      "yes" if row["counts"].get("found") else "; ".join(row["reasons"].values()) or "no")
    console.print(table)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--jax", action="store_true", help="the JAX corpus")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(arguments)
    if options.child:
        child(options.child)
        return 0
    from run import PROGRAMS
    names = ["demo:heat", *(f"run:{name}" for name in PROGRAMS)]
    if options.jax:
        from shared_programs import PROGRAMS as corpus
        names = [f"jax:{name}" for name in corpus]
    rows, console = [], Console()
    for name in names:
        if not options.only or any(each in name for each in options.only):
            with contextlib.suppress(KeyboardInterrupt):
                rows.append(measure(name, options.repeats))
                show(rows[-1:], console)
    show(rows, console)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
