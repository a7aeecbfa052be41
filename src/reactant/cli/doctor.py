"""`reactant doctor`: what of a plain script would compile, how much faster, and what stands in the way."""
from __future__ import annotations

import argparse

from reactant.cli.scripts import script_and_function
from reactant.cli.usage import UsageError

HELP = "run a plain script, try its functions that take long under jit, and print what compiles, and how much faster"
FOR_SCRIPTS = True
"""What stands behind -- is for the script."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("script", help="script.py, run with what stands behind --; its functions that take long are "
                        "called again, a few times each")
    parser.add_argument("--inside", metavar="FOLDER", help="only functions in files of this folder (default: of all "
                        "files that belong neither to Python nor to an installed package)")


def run(options: argparse.Namespace) -> int:
    from reactant.profiling.doctor import doctor

    file, name = script_and_function(options.script)
    if name:
        raise UsageError(f"'{options.script}': doctor takes a whole script; `reactant profile` takes functions")
    print(doctor(file, options.rest, options.inside))
    return 0
