"""`reactant run`: compile a StableHLO module as it stands, call it once, print the results."""
from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from reactant.cli.usage import UsageError, parse, seed
from reactant.errors import in_one_line

if TYPE_CHECKING:
    import numpy as np

    from reactant.runtime.program import Array

HELP = "run @main of a StableHLO file on random, zero or given inputs and print the results"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", default="-",
                        help="StableHLO text, bytecode or portable artifact; without, or for -, standard input is read")
    values = parser.add_mutually_exclusive_group()
    values.add_argument("--inputs", nargs="+", type=Path, metavar="FILE.npy", help="one .npy file for each argument")
    values.add_argument("--zeros", action="store_true", help="all arguments zero (default: random numbers)")
    parser.add_argument("--seed", type=seed, default=0, help="seed of the random arguments (default 0)")


def run(options: argparse.Namespace) -> int:
    from reactant.runtime.executable import Executable

    module = parse(options.file)
    try:
        executable = Executable(module)
    except (ValueError, KeyError) as error:
        raise UsageError(f"cannot run '{options.file}': {' '.join(in_one_line(error).split())}") from None
    arguments = _arguments(executable.inputs, options)
    for index, result in enumerate(executable(arguments)):
        print(f"result {index}: {executable.outputs[index]}\n{result}")
    return 0


def _arguments(wanted: tuple[Array, ...], options: argparse.Namespace) -> list[np.ndarray]:
    import numpy as np

    from reactant.diagnosis.trial import random_array

    if options.inputs is not None:
        return _read(wanted, options.inputs)
    if options.zeros:
        return [np.zeros(array.shape, array.dtype) for array in wanted]
    source = np.random.default_rng(options.seed)
    return [random_array(array.shape, array.dtype, source) for array in wanted]


def _read(wanted: tuple[Array, ...], files: list[Path]) -> list[np.ndarray]:
    import numpy as np

    if len(files) != len(wanted):
        raise UsageError(f"@main takes {len(wanted)} arguments, {len(files)} files are given")
    arguments = []
    for index, (file, array) in enumerate(zip(files, wanted, strict=True)):
        try:
            value = np.load(file, allow_pickle=False)
        except OSError as error:
            raise UsageError(f"cannot read '{file}': {error.strerror or error}") from None
        except (ValueError, EOFError) as error:
            raise UsageError(f"'{file}' is not an .npy file: {error}") from None
        if isinstance(value, np.ndarray) and value.dtype == np.dtype((np.void, array.dtype.itemsize)):
            value = value.view(array.dtype)     # bfloat16 and its like: the format keeps their bytes, not their names
        if not isinstance(value, np.ndarray) or value.shape != array.shape or value.dtype != array.dtype:
            have = f"{value.dtype}{list(value.shape)}" if isinstance(value, np.ndarray) else "an archive"
            raise UsageError(f"argument {index} of @main is {array}, '{file}' holds {have}")
        arguments.append(value)
    return arguments
