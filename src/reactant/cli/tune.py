"""`reactant tune app -- arguments`: which versions of its kernels a program runs fastest with here."""
from __future__ import annotations

import argparse

from reactant.cli.usage import UsageError

HELP = "run a program of reactant nvcc --tune with each version of its kernels, and remember the fastest"
FOR_SCRIPTS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("program", help="an executable that reactant nvcc --tune made; its arguments follow --")
    parser.add_argument("--rounds", type=int, default=5, help="how often each version is run (default 5)")


def run(options: argparse.Namespace) -> int:
    from reactant.cuda_programs.driver import tuning

    if options.rounds < 1:
        raise UsageError("--rounds: at least 1")
    print(tuning.main([options.program, *options.rest], options.rounds), end="")
    return 0
