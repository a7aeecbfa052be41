"""Which exceptions that tracing meets are the program's own, and not what our code or a library says of traced values.

Those of a path that may not be taken are raised at run time, where it is.
"""
from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

from reactant.frontends.arrays.promotion import NO_NUMBER
from reactant.frontends.source.conversion import is_user_file
from reactant.support.package import PACKAGE

_OF_PYTHON = frozenset("bool bytes complex dict float frozenset function int list module range set slice str "
                       "tuple type".split())
_NAMED = re.compile(r"""['"]([\w.]+)['"]|, not (\w+)$|non-iterable (\w+)""")
"""How Python's errors name the types of what is no such value."""


def unbound(name: str) -> str:
    """Python's words for it."""
    return f"cannot access local variable '{name}' where it is not associated with a value"


class LateRead(UnboundLocalError):
    """A variable that earlier iterations of a loop may have bound is read in an iteration that knows of none: the first
    one."""

    def __init__(self, name: str):
        super().__init__(unbound(name))
        self.name = name


def misuses_known(error: Exception) -> bool:
    """Whether the user's code, and not ours, has done with values of Python's own types what they do not know."""
    named = {name for found in _NAMED.findall(str(error)) for name in found if name}
    known = "NoneType" in named or bool(named) and named <= _OF_PYTHON
    return known and _is_of_user(error) or str(error) == NO_NUMBER


def misses(error: Exception) -> bool:
    """Whether the user's code asks for a key, an attribute, a module or a global name that is not there."""
    if isinstance(error, AttributeError):
        module = isinstance(error.obj, ModuleType)      # which may look for it itself
        return error.name is not None and not type(error.obj).__module__.startswith("reactant.") and (
            module or _is_of_user(error))
    return (isinstance(error, (KeyError, ImportError)) or type(error) is NameError and "is not defined" in str(error)) \
        and _is_of_user(error)


def _is_of_user(error: Exception) -> bool:
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    place = "" if last is None else last.tb_frame.f_code.co_filename
    return is_user_file(place) or _acts_for_the_user(Path(place))


def _acts_for_the_user(file: Path) -> bool:
    """Whether a file of ours does what Python does in the user's code, and not what NumPy does inside."""
    ours = PACKAGE / "frontends"
    return file.is_relative_to(ours) and (file.relative_to(ours).parts[0] not in ("arrays", "numpy", "scipy")
                                          or file == ours / "numpy" / "overlay.py")
