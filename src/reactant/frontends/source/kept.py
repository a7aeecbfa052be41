"""The text of code that no file holds and Python has kept all the same: that of `python -c`, and of `python -` or
`python < file` where that is a file.

A text is taken only where compiling it gives the very code object that is asked about: code that `exec` made has the
same file name."""
from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import decode_source
from types import CodeType

from reactant.frontends.source.jax_recognition import codes

MOST = 1 << 24
"""Bytes of a text on standard input that are read."""


def kept_lines(code: CodeType) -> list[str]:
    """The lines of the text that code was compiled from; none where they cannot be found."""
    return next((lines for lines, made in _texts(code.co_filename) if code in made), [])


@cache
def _texts(filename: str) -> tuple[tuple[list[str], frozenset[CodeType]], ...]:
    """Texts that code of a file of this name may be of, and all code that they give."""
    found = []
    for text in {"<string>": _of_command, "<stdin>": _of_input}.get(filename, _none)():
        try:
            whole = compile(text, filename, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):       # other arguments of the command
            continue
        found.append((text.splitlines(keepends=True), frozenset(codes(whole))))
    return tuple(found)


def _of_command() -> Iterator[str]:
    for argument in sys.orig_argv[1:]:
        yield argument + "\n"
        yield argument[argument.find("c") + 1:] + "\n"          # python -c'...'


def _of_input() -> Iterator[str]:
    try:
        about = os.fstat(0)
        if stat.S_ISREG(about.st_mode) and about.st_size <= MOST:
            yield decode_source(os.pread(0, about.st_size, 0))
    except (OSError, ValueError, AttributeError, SyntaxError):      # closed; no text; Windows
        return


def _none() -> Iterator[str]:
    yield from ()
