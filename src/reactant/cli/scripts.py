"""Scripts and functions in them, as commands are told of them: `script.py`, `script.py:function`, and arguments."""
from __future__ import annotations

import ast
import re
import runpy
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from reactant.cli.usage import UsageError

_ARRAY = re.compile(r"([a-z]+\d*)\[([\d,\s]*)\]$")


def script_and_function(text: str) -> tuple[str, str]:
    """The file that is named, and the function in it, if one is. Raises `UsageError` where there is no such file."""
    file, colon, name = text.rpartition(":")
    if not colon or not name.isidentifier():
        file, name = text, ""
    if not Path(file).is_file():
        raise UsageError(f"there is no file '{file}'")
    return file, name


def function_in(file: str, name: str) -> Callable:
    """A function of a script, which is run for it under another name than `__main__`."""
    folder = str(Path(file).resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    found = runpy.run_path(file, run_name=Path(file).stem)
    if not callable(found.get(name)):
        known = sorted(n for n, value in found.items() if callable(value) and not n.startswith("_"))
        raise UsageError(f"'{file}' has no function '{name}'; it has {', '.join(known) or 'none'}")
    function: Callable = found[name]
    return function


def arguments_of(texts: Sequence[str], seed: int = 0) -> list[Any]:
    """Arguments from texts: `float64[512,512]` is an array of random numbers, anything else a Python literal."""
    import numpy as np

    from reactant.diagnosis.trial import random_array

    source, found = np.random.default_rng(seed), list[Any]()
    for text in texts:
        if array := _ARRAY.match(text.strip()):
            try:
                dtype = np.dtype(array[1])
            except TypeError:
                raise UsageError(f"'{text}': there is no dtype '{array[1]}'") from None
            shape = tuple(int(n) for n in array[2].split(",") if n.strip())
            found.append(np.array(random_array(shape, dtype, source)))
            continue
        try:
            found.append(ast.literal_eval(text))
        except (ValueError, SyntaxError):
            raise UsageError(f"'{text}' is no argument: say float64[512,512] for an array of random numbers, or a "
                             f"literal of Python") from None
    return found
