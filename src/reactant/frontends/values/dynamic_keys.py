"""`costs[k]`, `costs.get(k, 0)`, `costs[k] = x`: what dicts hold under keys known only at run time.

A dict's own keys are known: which of them it is, is the place of the one that equals the key, and what stands there is
read or written as in a list of the values. Keys are numbers or tuples; a key that is not there cannot be added.
"""
from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import UnsupportedError
from reactant.frontends.arrays.tensor import ARRAY, Tensor, is_tensor, python_number
from reactant.frontends.session import calls
from reactant.frontends.session.trace import current_trace, is_tracing
from reactant.frontends.source.operators import ag__
from reactant.frontends.values import dynamic_index
from reactant.ir import ops
from reactant.support.records import dataclass

MOST_KEYS = 4096
"""Larger dicts are not looked through."""

EXACT = 2**53
"""Integers up to here are doubles, too."""


@dataclass
class Found:
    """The keys that may be meant, the place of the one that is, and whether one is."""

    keys: list[Any]
    place: Tensor
    there: ir.Value


def depends(key: Any) -> bool:
    """Whether the key is known only at run time."""
    if type(key) is tuple:
        return any(map(depends, key))
    return is_tensor(key) and key.kind != ARRAY and not key.is_concrete()


def fit(held: Any, key: Any) -> bool:
    """Whether this is a dict, and only run-time values tell the key."""
    return type(held) in (dict, OrderedDict) and is_tracing() and depends(key)


def find(held: dict, key: Any) -> Found | None:
    """Which of a dict's keys this is; None where that has no answer for every value that the key may have, or loops
    that can be unrolled may know it."""
    parts = key if type(key) is tuple else (key,)
    traced = [k for k, part in enumerate(parts) if depends(part)]
    if len(held) > MOST_KEYS or any(type(parts[k]) is tuple for k in traced) \
            or all(dynamic_index.known_unrolled(parts[k]) for k in traced):
        return None
    keys, rows = [], []
    for each in held:
        own = each if type(each) is tuple else (each,)
        if type(each) is not type(key) and tuple in (type(each), type(key)) or len(own) != len(parts):
            continue
        if all(k in traced or own[k] == part for k, part in enumerate(parts)):
            row = [_as_kind(own[k], parts[k].dtype.kind) for k in traced]
            if any(x is None for x in row):
                return None
            if all(x is not _NEVER for x in row):
                keys.append(each)
                rows.append(row)
    if not keys:
        return Found(keys, python_number(ops.constant(0, np.int64), (0, 0)), ops.constant(False))
    equal: Any = True
    for k, column in zip(traced, zip(*rows, strict=True), strict=True):
        dtype = WIDEST[parts[k].dtype.kind]
        equal = equal & (np.array(column, dtype) == parts[k].astype(dtype))
    place = python_number(ops.convert(np.argmax(equal).value(), np.int64), (0, len(keys) - 1))
    return Found(keys, place, np.any(equal).value())


WIDEST = {"b": np.int64, "i": np.int64, "u": np.uint64, "f": np.float64, "c": np.complex128}
_NEVER = object()


def _as_kind(known: Any, kind: str) -> Any:
    """A part of a key in the type of numbers that can be compared with a traced part; `_NEVER` where it equals none of
    them, None where equality cannot be told."""
    if not isinstance(known, (bool, int, float, complex, np.number, np.bool_)):
        return _NEVER if known is None or isinstance(known, (str, bytes, tuple)) else None
    if isinstance(known, (complex, np.complexfloating)) and kind != "c":
        known = known.real if known.imag == 0 else None
    if known is None or known != known:
        return _NEVER
    if kind in "biu":
        limits = np.iinfo(WIDEST[kind])
        return int(known) if limits.min <= known <= limits.max and known == int(known) else _NEVER
    if isinstance(known, (int, np.integer)) and abs(int(known)) > EXACT:
        return None
    return complex(known) if kind == "c" else float(known)


def get(held: dict, key: Any, *default: Any) -> Any:
    """`held[key]`, or `held.get(key, default)`."""
    found = find(held, key)
    if found is None or not (found.keys or default):
        return held[key]        # raises: a key must be known
    if not found.keys:
        return default[0]
    values = [held[k] for k in found.keys]

    def value() -> Any:
        return values[0] if len(values) == 1 else ag__.get_item(values, found.place)
    if default:
        return ag__.if_exp(python_number(found.there), value, lambda: default[0])
    current_trace().check(found.there, lambda: KeyError("a run-time key that is not in the dict"))
    return value()


def put(value: Any, held: dict, key: Any) -> None:
    """`held[key] = value`."""
    found = find(held, key)
    if found is None or not 0 < len(found.keys) <= dynamic_index.MOST:
        held[key] = value       # raises
        return
    current_trace().check(found.there, lambda: UnsupportedError(
        "A dict gets a key only known at run time.",
        hint="Put all keys in before, or use an array that the key indexes.", code="keys-at-run-time"))
    dynamic_index.put_one(value, held, found.keys, found.place.value())


def _method(function: Any, arguments: tuple, keywords: dict) -> Any:
    if function.__name__ == "get" and not keywords and len(arguments) in (1, 2) and is_tracing() \
            and depends(arguments[0]):
        return get(function.__self__, arguments[0], arguments[1] if len(arguments) > 1 else None)
    return function(*arguments, **keywords)


def install() -> None:
    """Put methods of dicts in place. Done once, by `control_flow`."""
    for kind in dict, OrderedDict, defaultdict, Counter:
        calls.KINDS[kind] = _method
