"""Mistakes on the command line, and the module that a command reads."""
from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jaxlib.mlir import ir


class UsageError(Exception):
    """What the user can mend: printed in one line, exit status 2."""


def unknown(kind: str, name: str, known: Iterable[str], advice: str) -> UsageError:
    """The error for a name that is not among `known`, with the close ones; with `advice` where there are none."""
    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.6)
    return UsageError(f"unknown {kind} '{name}'; " + (f"did you mean {' or '.join(close)}?" if close else advice))


def read(file: str) -> str:
    """The text of `file`, standard input for `-`. Raises `UsageError` when it cannot be read."""
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text()
        text.encode()               # standard input may stand for other bytes by halves of characters
        return text
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise UsageError(f"cannot read '{file}': {reason}") from None


def parse(file: str) -> ir.Module:
    """The module in `file`. Raises `UsageError` with MLIR's own message when it does not parse or verify."""
    from jaxlib.mlir import ir

    from reactant.ir.context import building

    text = read(file)
    with building():
        try:
            return ir.Module.parse(text)
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
