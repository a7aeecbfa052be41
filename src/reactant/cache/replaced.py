"""Functions and classes of somebody else in the modules of libraries, which are else told by their versions.

A program may put a function of its own into the place of one inside NumPy, SciPy or jax that the user's code does not
name, and that what it names calls. So all loaded modules of the libraries that are reached are looked through.
"""
from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FunctionType, MethodType, ModuleType
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


def put_into(roots: set[str]) -> Iterator[tuple[str, str, Any]]:
    """What is in modules of these libraries and is of none: (module, name, value)."""
    files: dict[str, bool] = {}
    classes: dict[str, bool] = {}
    for owner, module in sorted((name, module) for name, module in list(sys.modules.items())
                                if root_of(name) in roots and isinstance(module, ModuleType)):
        for name, value in list(vars(module).items()):
            kind = type(value)
            if kind is FunctionType:
                file = value.__code__.co_filename
                if (known := files.get(file)) is None:
                    known = files[file] = not file.startswith("<") and is_library_file(file)
                if not known and is_foreign(value):
                    yield owner, name, value
            elif kind is type:
                home = value.__module__
                if (known := classes.get(home)) is None:
                    known = classes[home] = root_of(home) in PURE or is_standard(home) or _is_installed(home)
                if not known:
                    yield owner, name, value


def _is_installed(module: str) -> bool:
    """Whether a module is of a package that a library may use: it is no program's, and none that a program has made."""
    found = sys.modules.get(module)
    return found is None or "-packages" in (getattr(found, "__file__", None) or "")
