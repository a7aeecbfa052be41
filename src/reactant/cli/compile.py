"""`reactant compile`: a function compiled into a file that runs where its source is not."""
from __future__ import annotations

import argparse
import inspect
from pathlib import Path

from reactant.cli.usage import UsageError, argument, module_of, unknown

HELP = "compile a function into a file, for `reactant.load`"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is compiled, for which arguments, and where it goes."""
    parser.add_argument("function", metavar="SCRIPT:FUNCTION", help="a file of Python, and a function of NumPy in it")
    parser.add_argument("--args", nargs="*", default=[], metavar="TYPE",
                        help="arguments: float32[100,200] is an array, float64 a run-time number, 100 a constant")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the file that is written")


def run(options: argparse.Namespace) -> int:
    script, _, name = options.function.rpartition(":")
    if not script or not Path(script).exists():
        raise UsageError(f"'{options.function}' names no function: say script.py:function")
    module = module_of(Path(script))
    found = vars(module).get(name)
    if not callable(found):
        raise unknown("function", name, [n for n, x in vars(module).items() if callable(x)], f"'{script}' has none")
    from reactant.api import as_jitted
    from reactant.calling import ahead

    arguments = tuple(argument(text) for text in options.args)
    try:
        inspect.signature(found).bind(*arguments)
    except TypeError as error:
        raise UsageError(f"{name}: {error} (--args)") from None
    except ValueError:          # it tells no signature
        pass
    try:
        ahead.save(as_jitted(found), options.output, arguments, {})
    except OSError as error:
        raise UsageError(f"{options.output} cannot be written: {error.strerror}") from None
    print(f"{name} is in {options.output} ({Path(options.output).stat().st_size / 1e3:.0f} KB)")
    return 0
