"""`reactant nvcc`: whole CUDA programs to executables for this CPU; `reactant run app.cu` compiles and runs one."""
from __future__ import annotations

import argparse
from collections.abc import Sequence

HELP = "compile whole CUDA programs for this CPU, with nvcc's options"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Everything is nvcc's own: `reactant nvcc --help` lists it."""
    parser.add_argument("given", nargs=argparse.REMAINDER, metavar="OPTION | FILE", help="as for nvcc")


def is_program(given: Sequence[str]) -> bool:
    """Whether a command line is `reactant run` with a CUDA source, and not with a StableHLO module."""
    return given[:1] == ["run"] and any(word.endswith((".cu", ".cup")) for word in given[1:])


def run(options: argparse.Namespace) -> int:
    if options.command == "run":
        from reactant.cuda_programs.driver import running

        return running.main(options.given, options.rest)
    from reactant.cuda_programs.driver import command

    return command.main(options.given)
