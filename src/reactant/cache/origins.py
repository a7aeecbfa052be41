"""Whose values are: of Python itself, of a library that is told by its version, or of somebody else."""
from __future__ import annotations

import _abc  # type: ignore[import-not-found]  # the registry of `abc.ABCMeta`
import abc
import collections
import enum
import functools
import itertools
import struct
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from reactant.cache import purity
from reactant.cache.purity import is_library_file, is_pure_module, root_of
from reactant.cache.replaced import is_elsewhere, is_standard
from reactant.support.attributes import HEAP_TYPE

ATOMS: dict[type, Callable[[Any], bytes]] = {
    type(None): lambda x: b"", bool: lambda x: b"1" if x else b"0", int: lambda x: str(x).encode(),
    float: lambda x: struct.pack("<d", x), complex: lambda x: struct.pack("<dd", x.real, x.imag),
    str: lambda x: x.encode("utf-8", "surrogatepass"), bytes: bytes, type(Ellipsis): lambda x: b"",
    type(NotImplemented): lambda x: b"", range: lambda x: repr(x).encode(),
}
"""Values that hold no other values, as bytes."""
CONTENT: dict[type, Callable[[Any], Iterable[Any]]] = {
    dict: lambda x: itertools.chain.from_iterable(dict.items(x)), list: list.__iter__, tuple: tuple.__iter__,
    collections.deque: lambda x: (x.maxlen, *x)}
"""What is in objects of these types, and of classes made of them."""
_PLAIN = (dict, list, tuple, set, frozenset, int, float, complex, str, bytes, BaseException, np.ndarray, type, object)


def registered(cls: type) -> list[type]:
    """The user's classes that an abstract base class takes for its own because somebody has said so."""
    if not isinstance(cls, abc.ABCMeta):
        return []
    found = [each for reference in _abc._get_dump(cls)[0] if (each := reference()) is not None
             and not is_pure_module(each.__module__) and not is_standard(each.__module__)]
    return sorted(found, key=lambda each: (each.__module__, each.__qualname__))


def patches(value: Any) -> list[tuple[str, Any]]:
    """What somebody else has put into a class or an object of a library: functions and classes of their own."""
    held: list[Any]
    if isinstance(value, type):
        held = [vars(base) for base in value.__mro__ if base.__flags__ & HEAP_TYPE]
    else:
        own: Any = getattr(value, "__dict__", None)
        held = [own] if type(own) is dict and not isinstance(value, (types.ModuleType, types.FunctionType)) else []
    return [(name, each) for one in held for name, each in one.items() if is_elsewhere(each)]


def is_of_python(cls: type) -> bool:
    """Whether all that objects of a class hold is in attributes and in what they are made of."""
    return all(base.__flags__ & HEAP_TYPE and _has_python_layout(base) or base in _PLAIN or base in CONTENT
               or base in (collections.OrderedDict, collections.defaultdict, enum.Enum, types.SimpleNamespace)
               or issubclass(base, BaseException)
               for base in cls.__mro__) or cls is types.SimpleNamespace


def _has_python_layout(cls: type) -> bool:
    """Whether a class was made by a `class` statement, or by `type`: it has a module of its own, no C methods, and its
    objects hold no more than its slots, attributes and weak references."""
    held, slots = vars(cls), vars(cls).get("__slots__", ())
    names = {slots} if isinstance(slots, str) else set(slots)
    most = len(names - {"__dict__", "__weakref__"}) + ("__dict__" in held) + ("__weakref__" in held)
    base = cls.__base__
    if base is not None and cls.__basicsize__ - base.__basicsize__ > 8 * most:
        return False
    return "__module__" in held and not any(isinstance(value, (types.MethodDescriptorType,
                                                                    types.WrapperDescriptorType))
                                                 and value.__objclass__ is cls for value in vars(cls).values())


def is_of_library(value: Any) -> bool:
    """Whether a library of a known version has it, and it holds nothing of anybody else's."""
    if type(value) in ATOMS or isinstance(value, (np.ufunc, np.dtype, np.generic)):
        return True
    if type(value) is types.FunctionType:
        return is_library_file(value.__code__.co_filename) and is_pure_module(value.__globals__.get("__name__", "")) \
            and all(_is_bound_in(value, cell) for cell in value.__closure__ or ())
    if isinstance(value, types.BuiltinFunctionType):
        owner = value.__self__
        return (owner is None or isinstance(owner, types.ModuleType)) and is_pure_module(value.__module__ or "")
    if isinstance(value, type):
        return is_pure_module(value.__module__) and purity.is_here(value.__module__, value.__qualname__, value) \
            and not registered(value)
    below = getattr(value, "__wrapped__", None)
    if type(below) is types.FunctionType and is_elsewhere(below):      # `jax.jit` of somebody else's function
        return False
    return is_pure_module(type(value).__module__) and type(value).__module__ != "builtins" \
        and not isinstance(value, (np.ndarray, functools.partial, *CONTENT))


def _is_bound_in(function: types.FunctionType, cell: types.CellType) -> bool:
    """Whether what a closure holds is the function itself, or a library's function."""
    try:
        held = cell.cell_contents
    except ValueError:
        return False
    return held is function or type(held) is types.FunctionType and is_of_library(held)


def is_of_another(value: Any, owner: str) -> bool:
    """Whether a function or class is of another part of a library than the module that has it under its own name."""
    home = getattr(value, "__module__", None)
    if not isinstance(home, str) or root_of(home) == "reactant" == root_of(owner) and purity.is_here(
            home, getattr(value, "__qualname__", ""), value):
        return False            # ours are loaded when they are asked for
    here, there = owner.split(".")[:2], home.split(".")[:2]
    return here[0] != there[0] and here[0].lstrip("_") != there[0] or len(there) > 1 and not there[1].startswith("_") \
        and here != there and not (len(here) > 1 and here[1].startswith("_"))
