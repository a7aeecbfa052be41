"""`reactant opt`: run passes, families or single rules over a StableHLO module and print it."""
from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from reactant.cli.usage import UsageError, parse, unknown
from reactant.options import TARGETS

if TYPE_CHECKING:
    from jaxlib.mlir import ir

HELP = "run pipelines, passes, families or single rules over a StableHLO file and print the result"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="StableHLO text; - reads standard input")
    parser.add_argument("--pipeline", default="default", metavar="NAME,...",
                        help="what to run, in order: pipelines, passes, rule families (elementwise), single rules "
                             "(elementwise.add_zero); default: the pipeline called default")
    parser.add_argument("--target", choices=TARGETS, help="whose fastest forms the last stage chooses; needs no such "
                        "device (default: jax's default platform)")
    parser.add_argument("--print-patterns", action="store_true", help="say on standard error which rules fired")
    parser.add_argument("--bisect", action="store_true",
                        help="print, instead of the module, which rewrite changes its results on random arguments")
    parser.add_argument("--reduce", action="store_true",
                        help="print a smaller module that still fails: a crash, an error, or other results")
    parser.add_argument("--rtol", type=float, default=1e-6, help="relative tolerance of results (default 1e-6)")
    parser.add_argument("--atol", type=float, default=1e-9, help="absolute tolerance of results (default 1e-9)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random arguments (default 0)")
    parser.add_argument("--verify", action="store_true", help="let MLIR verify the module after each name")


def run(options: argparse.Namespace) -> int:
    from reactant import pipelines
    from reactant.ir.context import building
    from reactant.options import CompileOptions

    names = [name.strip() for name in options.pipeline.split(",") if name.strip()]
    if not names:
        raise UsageError("--pipeline names nothing; see `reactant patterns` for families and rules")
    for name in names:
        try:
            pipelines.resolve(name)
        except pipelines.UnknownPass:
            raise unknown("pass", name, pipelines.names()) from None
    module = parse(options.file)
    if options.bisect or options.reduce:
        return _bisect(module, names, options) if options.bisect else _reduce(module, names, options)
    with building():
        report = pipelines.run(module, names, CompileOptions(target=options.target), verify=options.verify)
        print(module.operation.get_asm())
    if options.print_patterns:
        print(report, file=sys.stderr)
    return 0


def _bisect(module: ir.Module, names: list[str], options: argparse.Namespace) -> int:
    """Exit status 1 where a rewrite changes the results."""
    from reactant.diagnosis.bisection import bisect_module

    found = bisect_module(module, passes=names, rtol=options.rtol, atol=options.atol, seed=options.seed)
    print(found)
    return 0 if found else 1


def _reduce(module: ir.Module, names: list[str], options: argparse.Namespace) -> int:
    from reactant.diagnosis import shrinking

    fails = shrinking.Failing(names, rtol=options.rtol, atol=options.atol, seed=options.seed)
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
