"""What is inside code objects."""
from __future__ import annotations

import opcode
import types
from collections.abc import Iterable, Iterator
from typing import Any

IMPORT = opcode.opmap["IMPORT_NAME"]
EXTENDED = opcode.opmap["EXTENDED_ARG"]


def with_inner(code: types.CodeType) -> Iterator[types.CodeType]:
    """Code, and that of the functions inside it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from with_inner(each)


def flat(constants: Iterable[Any]) -> Iterable[Any]:
    """Constants, and what is in tuples and sets of them."""
    for each in constants:
        if isinstance(each, (tuple, frozenset)):
            yield from flat(each)
        else:
            yield each


def imported(code: types.CodeType) -> list[str]:
    """The names of modules in the imports of code; those below a package that a relative one means are not known."""
    data, found, extra = code.co_code, [], 0
    if IMPORT not in data[::2]:
        return []
    for at in range(0, len(data), 2):
        argument = data[at + 1] | extra
        extra = argument << 8 if data[at] == EXTENDED else 0
        if data[at] == IMPORT:
            found.append(code.co_names[argument])
    return found
