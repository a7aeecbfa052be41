"""`reactant accuracy`: how many digits of a function's results are right, and which lines lose them."""
from __future__ import annotations

import argparse
from pathlib import Path

from reactant.cli.scripts import arguments_of, function_in, script_and_function
from reactant.cli.usage import UsageError, seed

HELP = "run a function of a script in its own precision and in twice that, and print which lines lose digits"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("script", help="script.py:function, called with --args")
    parser.add_argument("--args", nargs="+", default=[], metavar="ARG", dest="given",
                        help="arguments of the function: float32[512,512] is an array of random numbers, anything else "
                             "a Python literal")
    parser.add_argument("--seconds", type=float, default=10.0,
                        help="how long lines are tried one by one, more or less (default 10)")
    parser.add_argument("--seed", type=seed, default=0, help="seed of the random arguments (default 0)")
    parser.add_argument("--html", metavar="FILE", type=Path, help="write the account as a page, the source coloured")


def run(options: argparse.Namespace) -> int:
    from reactant.digits import accuracy

    file, name = script_and_function(options.script)
    if not name:
        raise UsageError(f"'{options.script}': say script.py:function, a function of the script")
    if options.seconds < 0:
        raise UsageError("--seconds is not less than 0")
    found = accuracy(function_in(file, name), *arguments_of(options.given, options.seed), seconds=options.seconds)
    print(found)
    if options.html:
        found.html(str(options.html))
    return 0
