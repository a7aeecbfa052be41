"""The `reactant` command: one module a subcommand, each with `HELP`, `add_arguments` and `run`.

Whatever is heavy (jax, MLIR, scikit-image) is imported inside `run`, so that `reactant --help` answers at once. A
mistake of the user is a `UsageError`: one line on standard error, exit status 2.
"""
from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from reactant import __version__
from reactant.cli import (
    accuracy,
    cache,
    calibrate,
    compile,
    demo,
    doctor,
    errors,
    info,
    launch,
    nvcc,
    opt,
    patterns,
    profile,
    raise_,
    run,
    tune,
)
from reactant.cli.usage import UsageError, of_others
from reactant.errors import ReactantError

_COMMANDS = {module.__name__.rpartition(".")[2].rstrip("_"): module for module in (
    calibrate, demo, opt, run, profile, accuracy, doctor, patterns, errors, raise_, launch, info, cache, compile, nvcc,
    tune)}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="reactant", description="NumPy programs in, fast XLA programs out.")
    parser.add_argument("--version", action="version", version=f"reactant-py {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, module in _COMMANDS.items():
        module.add_arguments(commands.add_parser(name, help=module.HELP, description=module.HELP))
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `arguments` (default: the process's own); returns the exit status."""
    given, rest = list(sys.argv[1:] if arguments is None else arguments), list[str]()
    program = nvcc.is_program(given)
    if "--" in given and (program or hasattr(_COMMANDS.get(given[0]), "FOR_SCRIPTS")):     # a script's own arguments
        given, rest = given[:given.index("--")], given[given.index("--") + 1:]
    own = program or given[:1] == ["nvcc"]      # nvcc's options are read by nobody else
    options = argparse.Namespace(command=given[0], given=given[1:]) if own else _parser().parse_args(given)
    options.rest = rest
    try:
        status = (nvcc if own else _COMMANDS[options.command]).run(options)
        sys.stdout.flush()
        return status
    except (UsageError, ReactantError) as error:
        print(f"reactant {options.command}: error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output, `head` say, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the interpreter complains when it ends
        return 1
    except Exception as error:
        said = of_others(error)
        if said is None:
            raise
        print(f"reactant {options.command}: error: {said}", file=sys.stderr)
        return 2
