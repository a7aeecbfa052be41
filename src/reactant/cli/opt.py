"""`reactant opt`: run passes, families or single rules over a StableHLO module and print it."""
from __future__ import annotations

import argparse
import contextlib
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from reactant.cli import communication
from reactant.cli.usage import UsageError, parse, seed, unknown
from reactant.errors import in_one_line
from reactant.options import TARGETS

if TYPE_CHECKING:
    from jaxlib.mlir import ir

    from reactant.options import CompileOptions

HELP = "run pipelines, passes, families or single rules over a StableHLO file and print the result"
PRINTING = "limit", "print_patterns", "verify", "graph"
"""Options of a run that prints the module."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", default="-",
                        help="StableHLO text, bytecode or portable artifact; without, or for -, standard input is read")
    parser.add_argument("--pipeline", default="default", metavar="NAME,...",
                        help="what to run, in order: pipelines, passes, rule families (arithmetic), single rules "
                             "(arithmetic.add_zero or add_zero); default: the pipeline called default")
    parser.add_argument("--target", choices=TARGETS, help="whose fastest forms the last stage chooses; needs no such "
                        "device (default: jax's default platform)")
    parser.add_argument("--finite", action="store_true", help="also rules that assume finite numbers")
    parser.add_argument("--association", action="store_true",
                        help="also rules that sum or multiply in another order and may lose accuracy")
    parser.add_argument("--without", default="", metavar="NAME,...", help="rules and families that are left out")
    parser.add_argument("--limit", type=_positive, default=None, metavar="N",
                        help="stop after so many rewrites and name the rules that fired most; the module is printed "
                             "as it is by then")
    parser.add_argument("--print-patterns", action="store_true", help="say on standard error which rules fired")
    search = parser.add_mutually_exclusive_group()
    search.add_argument("--bisect", action="store_true",
                        help="print, instead of the module, which rewrite changes its results on random arguments")
    search.add_argument("--reduce", action="store_true",
                        help="print a smaller module that still fails: a crash, an error, or other results")
    parser.add_argument("--rtol", type=_tolerance, default=1e-6, help="relative tolerance of results (default 1e-6)")
    parser.add_argument("--atol", type=_tolerance, default=1e-9, help="absolute tolerance of results (default 1e-9)")
    parser.add_argument("--seed", type=seed, default=0, help="seed of the random arguments (default 0)")
    parser.add_argument("--graph", metavar="FILE.json", type=Path,
                        help="write the result as a graph for Model Explorer, with lines, and beside it flops and "
                             "bytes as node data (FILE.flops.json, FILE.bytes.json)")
    parser.add_argument("--verify", action="store_true", help="let MLIR verify the module after each name")
    communication.add_arguments(parser)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of rewrites, 1 or more")
    return int(text)


def _tolerance(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 <= (value := float(text)) < float("inf"):
            return value
    raise argparse.ArgumentTypeError(f"{text!r} is not a tolerance, 0 or more")


def chosen(options: argparse.Namespace) -> CompileOptions:
    """What a user has said about rules and targets. Raises `UsageError` for a rule nobody has."""
    from reactant.options import CompileOptions
    from reactant.rewrite import registry

    without = tuple(name.strip() for name in options.without.split(",") if name.strip())
    known = {*registry.families(), *(n for rule in registry.rules() for n in (rule.name, rule.qualified))}
    for name in without:
        if name not in known:
            raise unknown("rule", name, sorted(known), "`reactant patterns` lists families and rules")
    allow = ("rounding", "association") if options.association else ("rounding",)
    return CompileOptions(target=options.target, finite=options.finite, allow=allow, without=without)


def run(options: argparse.Namespace) -> int:
    communication.require_beside(options, ("bisect", "reduce", *PRINTING))
    if options.mesh is not None:
        communication.prepare(options.mesh)
    from reactant import pipelines
    from reactant.ir.context import building
    from reactant.rewrite import NotConvergedWarning, Report

    names = [name.strip() for name in options.pipeline.split(",") if name.strip()]
    if not names:
        raise UsageError("--pipeline names nothing; see `reactant patterns` for families and rules")
    for name in names:
        try:
            pipelines.resolve(name)
        except pipelines.UnknownPass:
            advice = f"pipelines are {', '.join(pipelines.PIPELINES)}; `reactant patterns` lists families and rules"
            raise unknown("pass", name, pipelines.names(), advice) from None
    module = parse(options.file)
    if options.bisect or options.reduce:
        if ignored := [name for name in PRINTING if getattr(options, name) not in (None, False)]:
            raise UsageError(f"--{ignored[0].replace('_', '-')} has no meaning beside --bisect and --reduce")
        _check_runnable(module, options.file, "--bisect and --reduce run the program")
        return _bisect(module, names, options) if options.bisect else _reduce(module, names, options)
    if options.mesh is not None:
        _check_runnable(module, options.file, "--mesh divides a program for one device")
        return communication.run(module, names, chosen(options), options)
    report = Report() if options.limit is None else Report(limit=options.limit)
    with building(), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", NotConvergedWarning)
        report = pipelines.run(module, names, chosen(options), verify=options.verify, report=report)
        print(module.operation.get_asm())
    if options.graph is not None:
        _write_graph(module, options)
    if options.print_patterns:
        print(report, file=sys.stderr)
    for each in said:
        print(f"reactant opt: {each.message}", file=sys.stderr)
    if report.limit is not None and report.rewrites >= report.limit:
        firing = ", ".join(name for name, _ in report.counts()[:5])
        print(f"reactant opt: stopped after {report.rewrites} rewrites; most often fired: {firing}", file=sys.stderr)
    return 0


def _write_graph(module: ir.Module, options: argparse.Namespace) -> None:
    from reactant.explanation import explorer

    try:
        written = explorer.write(module, options.graph, "stdin" if options.file == "-" else Path(options.file).stem)
    except OSError as error:
        raise UsageError(f"cannot write '{options.graph}': {error.strerror or error}") from None
    print(f"reactant opt: wrote {', '.join(written)}", file=sys.stderr)


def _check_runnable(module: ir.Module, file: str, what: str) -> None:
    from reactant.ir import modules
    from reactant.ir.context import building
    from reactant.runtime.program import body_of

    try:
        with building():
            body_of(modules.clone(module), file)
    except ValueError as error:
        raise UsageError(f"{what}: {in_one_line(error)}") from None


def _bisect(module: ir.Module, names: list[str], options: argparse.Namespace) -> int:
    """Exit status 1 where a rewrite changes the results."""
    from reactant.diagnosis.bisection import bisect_module

    found = bisect_module(module, passes=names, options=chosen(options), rtol=options.rtol, atol=options.atol,
                          seed=options.seed)
    print(found)
    return 0 if found else 1


def _reduce(module: ir.Module, names: list[str], options: argparse.Namespace) -> int:
    from reactant.diagnosis import shrinking

    fails = shrinking.Failing(names, chosen(options), rtol=options.rtol, atol=options.atol, seed=options.seed)
    try:
        smaller = shrinking.shrink(module, fails)
        print(smaller.operation.get_asm())
        print(fails(smaller), file=sys.stderr)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 0
    finally:
        fails.close()
    return 1
