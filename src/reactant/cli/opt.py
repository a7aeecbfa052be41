"""`reactant opt`: run passes, families or single rules over a StableHLO module and print it."""
from __future__ import annotations

import argparse
import sys

from reactant.cli.usage import UsageError, parse, unknown

HELP = "run pipelines, passes, families or single rules over a StableHLO file and print the result"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="StableHLO text; - reads standard input")
    parser.add_argument("--pipeline", default="default", metavar="NAME,...",
                        help="what to run, in order: pipelines, passes, rule families (elementwise), single rules "
                             "(elementwise.add_zero); default: the pipeline called default")
    parser.add_argument("--print-patterns", action="store_true", help="say on standard error which rules fired")
    parser.add_argument("--verify", action="store_true", help="let MLIR verify the module after each name")


def run(options: argparse.Namespace) -> int:
    from reactant import pipelines
    from reactant.ir.context import building

    names = [name.strip() for name in options.pipeline.split(",") if name.strip()]
    if not names:
        raise UsageError("--pipeline names nothing; see `reactant patterns` for families and rules")
    for name in names:
        try:
            pipelines.resolve(name)
        except pipelines.UnknownPass:
            raise unknown("pass", name, pipelines.names()) from None
    module = parse(options.file)
    with building():
        report = pipelines.run(module, names, verify=options.verify)
        print(module.operation.get_asm())
    if options.print_patterns:
        print(report, file=sys.stderr)
    return 0
