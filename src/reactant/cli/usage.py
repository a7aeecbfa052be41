"""Mistakes on the command line, what XLA and Numba say, and the module that a command reads."""
from __future__ import annotations

import argparse
import difflib
import importlib.util
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxlib.mlir import ir


_SIZES = re.compile(r"(\w+)\[([\d, ]*)\]")
BYTECODE = b"ML\xefR"
"""How MLIR's bytecode begins."""


class UsageError(Exception):
    """What the user can mend: printed in one line, exit status 2."""


def of_others(error: Exception) -> str | None:
    """What XLA says of a program that it refuses, or that fails while it runs; what Numba says of a kernel."""
    jax, numba = sys.modules.get("jax"), sys.modules.get("numba")
    if jax is not None and isinstance(error, jax.errors.JaxRuntimeError):
        return f"XLA cannot run the program: {str(error).splitlines()[0]}"
    if numba is not None and isinstance(error, numba.core.errors.NumbaError):
        return f"Numba cannot compile the kernel: {str(error).strip()}"
    return None


def seed(text: str) -> int:
    """The type of `--seed`."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a seed, an integer that is 0 or more")
    return int(text)


def unknown(kind: str, name: str, known: Iterable[str], advice: str) -> UsageError:
    """The error for a name that is not among `known`, with the close ones; with `advice` where there are none."""
    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.6)
    return UsageError(f"unknown {kind} '{name}'; " + (f"did you mean {' or '.join(close)}?" if close else advice))


def read(file: str) -> str | bytes:
    """The content of `file`, standard input for `-`: text, or MLIR's bytecode (portable artifacts, too).
    Raises `UsageError` when it cannot be read."""
    try:
        if file == "-":
            found = sys.stdin.buffer.read() if hasattr(sys.stdin, "buffer") else sys.stdin.read().encode()
        else:
            found = Path(file).read_bytes()
        return found if found.startswith(BYTECODE) else found.decode()
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise UsageError(f"cannot read '{file}': {reason}") from None


def parse(file: str) -> ir.Module:
    """The module in `file`. Raises `UsageError` with MLIR's own message when it does not parse or verify."""
    from jaxlib.mlir import ir

    from reactant.frontends.jax import stablehlo
    from reactant.ir.context import building

    source = read(file)
    with building() as context:
        try:
            return ir.Module.parse(source) if isinstance(source, str) else stablehlo.parsed(source, context)
        except (ir.MLIRError, ValueError) as error:
            raise UsageError(f"'{file}' is not a valid module: {first_diagnostic(error)}") from None


def first_diagnostic(error: Exception) -> str:
    """MLIR's first complaint in one line: `line 3, column 10: expected ...`."""
    diagnostics = getattr(error, "error_diagnostics", [])
    if not diagnostics:
        return " ".join(str(error).split())
    diagnostic = diagnostics[0]
    location = str(diagnostic.location)
    parts = location.removeprefix('loc("-":').removesuffix(")").split(":")
    place = f"line {parts[0]}, column {parts[1]}: " if location.startswith('loc("-":') and len(parts) == 2 else ""
    return place + " ".join(diagnostic.message.split())


def module_of(path: Path) -> ModuleType:
    """A script as a module. Raises `UsageError` where it cannot be imported."""
    specification = importlib.util.spec_from_file_location(path.stem, path)
    if specification is None or specification.loader is None:
        raise UsageError(f"'{path}' is no file of Python")
    module = importlib.util.module_from_spec(specification)
    sys.path.insert(0, str(path.parent))
    try:
        specification.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise UsageError(f"'{path}' cannot be imported: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(path.parent))
    return module


def argument(text: str) -> Any:
    """An argument from its description: an array of zeros, a run-time number, or a constant."""
    import numpy as np

    if found := _SIZES.fullmatch(text):
        return np.zeros([int(n) for n in found[2].split(",") if n.strip()], _dtype(found[1]))
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return _dtype(text).type(0)


def _dtype(name: str) -> Any:
    import numpy as np

    from reactant.ir import types

    try:
        dtype = np.dtype(name)
    except TypeError:
        dtype = np.dtype(object)
    if not types.supported(dtype):
        raise UsageError(f"'{name}' is no dtype of numbers; an array is float32[100,200], a number 3 or 0.5 or float64")
    return dtype
