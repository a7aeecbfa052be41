"""`reactant profile`: where the time of a script, or of a function in it, goes."""
from __future__ import annotations

import argparse
import sys
from pathlib import Path

from reactant.cli.scripts import arguments_of, function_in, script_and_function
from reactant.cli.usage import UsageError, seed

HELP = "run a script, or a function of one, and print where the time of its compiled programs goes"

FOR_SCRIPTS = True
"""What stands behind -- is for the script."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("script", help="script.py, run as a whole with what stands behind --, or "
                        "script.py:function, called with --args")
    parser.add_argument("--args", nargs="+", default=[], metavar="ARG", dest="given",
                        help="arguments of the function: float64[512,512] is an array of random numbers, anything else "
                             "a Python literal")
    parser.add_argument("--seconds", type=float, default=1.0,
                        help="how long a function is run, more or less (default 1)")
    parser.add_argument("--seed", type=seed, default=0, help="seed of the random arguments (default 0)")
    parser.add_argument("--html", metavar="FILE", type=Path, help="write the profile as a page")
    parser.add_argument("--perfetto", metavar="FILE", type=Path,
                        help="write a trace in Chrome's JSON format, for ui.perfetto.dev")
    parser.add_argument("--xprof", metavar="FOLDER", type=Path,
                        help="write a profile for XProf and TensorBoard (`xprof --logdir FOLDER`)")


def run(options: argparse.Namespace) -> int:
    from reactant.profiling import profile
    from reactant.profiling.scripts import profile_script

    file, name = script_and_function(options.script)
    if not name and options.given:
        raise UsageError("--args is for a function: say script.py:function. A script's own arguments come last")
    if options.seconds <= 0:
        raise UsageError("--seconds is more than 0")
    if name and options.rest:
        raise UsageError(f"'{options.rest[0]}': arguments of a function come behind --args")
    if name:
        found = profile(function_in(file, name), *arguments_of(options.given, options.seed), seconds=options.seconds)
    else:
        found = profile_script(file, options.rest)
    print(found)
    if options.html:
        found.html(str(options.html))
    if options.perfetto:
        found.perfetto(str(options.perfetto))
    if options.xprof:
        print(f"wrote {found.xprof(str(options.xprof))}", file=sys.stderr)
    return 0
