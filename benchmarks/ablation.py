"""How many programs need each rule: leave-one-out over the corpus and the NumPy programs.

    python benchmarks/ablation.py [--tiny] [--only PROGRAM ...] [--write]

Every program is simplified with all rules, then without each rule that fired. A program needs a rule if leaving it out
leaves more operations, flops or bytes (by the cost model, more than 0.1 %). Rules for one target are chosen by measured
times (`benchmarks/forms.py`) and are not part of this. --write puts the counts where `reactant patterns` finds them.
"""
import argparse
import json
import sys

import compile_time
import run as numpy_programs
import shared_programs
from rich.console import Console
from rich.progress import track
from rich.table import Table

PASSES = ("inline", "simplify")
TOLERANCE = 1.001


def modules(scale, only=None):
    """Every program as traced: name to (module, options of its kind)."""
    import reactant

    found = {}
    for name in shared_programs.PROGRAMS:
        if not only or name in only:
            function, arrays = shared_programs.prepared(name, scale)
            found[name] = reactant.jit(function, frontend="jax", optimize=False).lower(*arrays).original
    for name in numpy_programs.PROGRAMS:
        if not only or name in only:
            function, arguments = numpy_programs.load(name).make("tiny")
            found[name] = reactant.jit(function, optimize=False).lower(*arguments).original
    for name, make in compile_time.PROGRAMS.items():
        if not only or name in only:
            function, arguments = make()
            found[name] = reactant.jit(function, optimize=False).lower(*arguments).original
    return found


def simplified(module, without=()):
    """(operations, flops, bytes) after the passes, and the rules that fired."""
    from reactant import pipelines
    from reactant.ir import cost
    from reactant.ir import modules as ir_modules
    from reactant.ir.context import building
    from reactant.options import CompileOptions

    with building():
        work = ir_modules.clone(module)
        report = pipelines.run(work, PASSES, CompileOptions(without=without))
        price = cost.estimate(work)
        return (ir_modules.size(work), price["flops"], price["bytes"]), [name for name, _ in report.counts()]


def ablation(programs):
    """Rule to {"fired": programs, "needed": programs}, over all programs."""
    whole = {name: simplified(module) for name, module in programs.items()}
    counts = {}
    rules = sorted({rule for _, fired in whole.values() for rule in fired})
    for rule in track(rules, "rules", console=Console(stderr=True), disable=len(rules) < 50):
        fired = [name for name, (_, names) in whole.items() if rule in names]
        needed = []
        for name in fired:
            less, _ = simplified(programs[name], (rule,))
            if any(a > TOLERANCE * b for a, b in zip(less, whole[name][0], strict=True)):
                needed.append(name)
        counts[rule] = {"fired": len(fired), "needed": len(needed)}
    return counts


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="small arrays: some thresholds are not reached")
    parser.add_argument("--only", nargs="+", metavar="PROGRAM")
    parser.add_argument("--write", action="store_true", help="store the counts for `reactant patterns`")
    options = parser.parse_args(arguments)
    programs = modules(0.05 if options.tiny else 1.0, options.only)
    counts = ablation(programs)
    table = Table(title=f"rules needed by {len(programs)} programs")
    for heading in ("rule", "fired in", "needed by"):
        table.add_column(heading)
    for rule, row in sorted(counts.items(), key=lambda item: -item[1]["needed"]):
        table.add_row(rule, str(row["fired"]), str(row["needed"]))
    Console().print(table)
    if options.write:
        from reactant.cli.patterns import ABLATION
        measured = {"programs": len(programs), "rules": dict(sorted(counts.items()))}
        ABLATION.write_text(json.dumps(measured, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
