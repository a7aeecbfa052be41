"""Functions and classes of somebody else in the modules of libraries, which are else told by their versions.

A program may put a function of its own into the place of one inside NumPy, SciPy or jax that the user's code does not
name, and that what it names calls. So all loaded modules of the libraries that are reached are looked through.
"""
from __future__ import annotations

import operator
import sys
from functools import cache
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from reactant.cache.purity import PURE, is_library_file, is_pure_module, root_of

LIBRARIES = ("numpy", "scipy", "jax")
ANYBODYS = frozenset(("__main__",))


def is_elsewhere(value: Any) -> bool:
    """Whether a function, or what a class holds of one, is of no library."""
    function = value.__func__ if isinstance(value, (staticmethod, classmethod, MethodType)) else \
        value.fget if type(value) is property else value
    return type(function) is FunctionType and is_foreign(function)


def is_foreign(function: FunctionType) -> bool:
    """Whether a function is of no library."""
    file = function.__code__.co_filename
    if file.startswith("<") and not file.startswith("<frozen"):     # made by `exec`: a named tuple's, a dataclass's
        owner = str(function.__globals__.get("__name__"))
        return not (is_pure_module(owner) or owner.startswith("namedtuple_") or is_standard(owner))
    return not is_library_file(file)


def is_standard(module: str) -> bool:
    """Whether a module is Python's own."""
    root = root_of(module)
    return root in sys.stdlib_module_names and root not in ANYBODYS


_CLEAN: dict[str, tuple[list[Any], list[FunctionType], list[CodeType]]] = {}
"""What modules held when there was nothing of others in them, the functions of that, and their code."""
_code, _file = operator.attrgetter("__code__"), operator.attrgetter("co_filename")


def put_into(roots: set[str]) -> list[tuple[str, str, Any]]:
    """What is in modules of these libraries and is of none: (module, name, value)."""
    found = []
    for owner, module in list(sys.modules.items()):
        if root_of(owner) in roots and isinstance(module, ModuleType) and not _is_as_it_was(owner, module):
            held = dict(vars(module))
            functions = [value for value in held.values() if type(value) is FunctionType]
            codes = list(map(_code, functions))
            homes = {value.__module__ for value in held.values() if type(value) is type}
            foreign = [] if all(map(_is_librarys, set(map(_file, codes)))) and all(map(_is_home, homes)) else [
                (owner, name, value) for name, value in held.items() if _is_of_others(value)]
            if not foreign:
                _CLEAN[owner] = list(held.values()), functions, codes
            found += foreign
    return sorted(found, key=lambda each: each[:2])


def _is_as_it_was(owner: str, module: ModuleType) -> bool:
    """Whether a module was clean and has not changed since: ten times faster than to look again."""
    values, functions, codes = _CLEAN.get(owner, ((), (), ()))
    held = vars(module)
    return len(held) == len(values) and all(map(operator.is_, held.values(), values)) \
        and all(map(operator.is_, map(_code, functions), codes))


def _is_of_others(value: Any) -> bool:
    """Whether it is a function or a plain class that no library and no installed package has made."""
    kind = type(value)
    if kind is FunctionType:
        return is_foreign(value)
    return kind is type and not _is_home(value.__module__)


@cache
def _is_librarys(file: str) -> bool:
    """Whether all functions of a file are a library's."""
    return not file.startswith("<") and is_library_file(file)


@cache
def _is_home(module: str) -> bool:
    return root_of(module) in PURE or is_standard(module) or _is_installed(module)


def _is_installed(module: str) -> bool:
    """Whether a module is of a package that a library may use: it is no program's, and none that a program has made."""
    found = sys.modules.get(module)
    return found is None or "-packages" in (getattr(found, "__file__", None) or "")
