"""Functions and classes of somebody else in the modules of libraries, which are else told by their versions.

A program may put a function of its own into the place of one inside NumPy, SciPy or jax that the user's code does not
name, and that what it names calls. So all loaded modules of the libraries that are reached are looked through.
"""
from __future__ import annotations

import itertools
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


_code, _file = operator.attrgetter("__code__"), operator.attrgetter("co_filename")
_CLEAN: dict[str, list[Any]] = {}
"""What modules held when there was nothing of others in them,"""
_FUNCTIONS: tuple[list[FunctionType], list[CodeType]] = [], []
"""and the functions among what modules held, with their code."""


def put_into(roots: set[str]) -> list[tuple[str, str, Any]]:
    """What is in modules of these libraries and is of none: (module, name, value)."""
    below = tuple(f"{root}." for root in roots)
    modules = [(owner, vars(module)) for owner, module in list(sys.modules.items())
               if (owner in roots or owner.startswith(below)) and isinstance(module, ModuleType)]
    functions, codes = _FUNCTIONS
    if not all(map(operator.is_, map(_code, functions), codes)):
        _CLEAN.clear()
        functions.clear()
        codes.clear()
    held = {owner: list(names.values()) for owner, names in modules if not _is_as_it_was(owner, names)}
    if not held:
        return []
    values = list(itertools.chain.from_iterable(held.values()))
    found = [value for value in values if type(value) is FunctionType]
    made_of = list(map(_code, found))
    files = {file for file in set(map(_file, made_of)) if not _is_librarys(file)}
    homes = {home for home in {value.__module__ for value in values if type(value) is type} if not _is_home(home)}
    others = {id(value) for value in found if value.__code__.co_filename in files and is_foreign(value)} if files \
        else set()
    if homes:
        others |= {id(value) for value in values if type(value) is type and value.__module__ in homes}
    foreign = [(owner, name, value) for owner, names in modules if owner in held
               for name, value in list(names.items()) if id(value) in others] if others else []
    if dirty := {owner for owner, *_ in foreign}:
        held = {owner: each for owner, each in held.items() if owner not in dirty}
        found = [value for each in held.values() for value in each if type(value) is FunctionType]
        made_of = list(map(_code, found))
    _CLEAN.update(held)
    functions += found
    codes += made_of
    return sorted(foreign, key=lambda each: each[:2])


def _is_as_it_was(owner: str, names: dict[str, Any]) -> bool:
    """Whether a module was clean and has not changed since: ten times faster than to look again."""
    values = _CLEAN.get(owner)
    return values is not None and len(names) == len(values) and all(map(operator.is_, names.values(), values))


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
