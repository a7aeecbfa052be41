"""A signature as a function that compares a call with it, without building the call's own.

Most calls of a function are like the one before. Signing two arrays takes 1.5 us and comparing them with what they were
last time 0.3, where XLA needs 6 for all of a small program. A loop over the arguments would take 0.8: the comparison is
written out for each signature.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from reactant import signature as sig
from reactant.runtime.array import DeviceArray

Matcher = Callable[[tuple, dict], "list[Any] | None"]
"""The run-time leaves of a call, or None where it is of another signature."""

MOST = 16
"""Arguments above which signing is not what a call costs."""
_STATIC_TYPES = (bool, int, str, type(None))
_CONDITIONS = {
    "array": "type({x}) is ndarray and {x}.shape == {x}_shape and {x}.dtype is {x}_dtype and {x}.flags.carray",
    "device": "type({x}) is DeviceArray and (v := {x}._storage.value if {x}._layout is None else {x}).shape == "
              "{x}_shape and v.dtype == {x}_dtype and ({x}._layout is None or {x}.apart is None)",
    "jax": "isinstance({x}, Array) and {x}.shape == {x}_shape and {x}.dtype == {x}_dtype",
    "python": "type({x}) is {x}_type",
    "static": "type({x}) is {x}_type and {x} == {x}_value",
}
_TEMPLATE = """
def leaves(args, kwargs):
    if len(args) == {count} and {keywords} and config.jax_default_device is device \
            and config.jax_enable_x64 is x64:
        {unpack}
        if {conditions}:
            return [{found}]
    return None
"""


def matcher(positional: tuple, keyword: tuple, device: Any, x64: bool) -> Matcher | None:
    """Compares calls with a signature; None for signatures that are not flat.

    Flat is what has C-contiguous writeable arrays, arrays on a device, Python numbers, strings and None as arguments,
    no array twice. positional, keyword: the nodes of `signature.Flattener`; device: jax's default device. x64: whether
    jax's 64 bits are on.
    """
    nodes = [*positional, *(node for _, node in keyword)]
    kinds = [_kind(node) for node in nodes]
    if None in kinds or len(nodes) > MOST:
        return None
    arguments = [f"x{i}" for i in range(len(nodes))]
    known = {"ndarray": np.ndarray, "DeviceArray": DeviceArray, "Array": jax.Array, "config": jax.config,
             "device": device, "x64": x64, "names": {name for name, _ in keyword}}
    conditions: list[str] = []
    found: list[str] = []
    arrays: list[str] = []
    for x, node, kind in zip(arguments, nodes, kinds, strict=True):
        conditions.append(_CONDITIONS[str(kind)].format(x=x))
        if kind == "static":
            known |= {f"{x}_type": type(node.value), f"{x}_value": node.value}
            continue
        found.append(x)
        if kind == "python":
            known[f"{x}_type"] = node[1]
            continue
        known |= {f"{x}_shape": node[1], f"{x}_dtype": node[2]}
        conditions += [f"{x} is not {other}" for other in arrays]
        arrays.append(x)
    unpack = [f"{', '.join(arguments[:len(positional)])}, = args"] if positional else []
    unpack += [f"{x} = kwargs[{name!r}]" for x, (name, _) in zip(arguments[len(positional):], keyword, strict=True)]
    exec(_TEMPLATE.format(count=len(positional), keywords="kwargs.keys() == names" if keyword else "not kwargs",
                          unpack="; ".join(unpack) or "pass", conditions=" and ".join(conditions) or "True",
                          found=", ".join(found)), known)
    made: Matcher = known.pop("leaves")      # its globals hold it no longer: no cycle
    return made


def _kind(node: Any) -> str | None:
    """Which of the conditions a node's argument has to meet."""
    if isinstance(node, sig.Static):
        return "static" if type(node.value) in _STATIC_TYPES else None
    if node[0] == "array":
        # An array of another memory order or byte order, or one that must not be written, is looked at with care.
        return "array" if node[3] is None and node[4] and node[2].isnative and node[2].isbuiltin == 1 else None
    if node[0] == "device":
        return ("device" if node[3] else "jax") if node[4] is None else None
    return "python" if node[0] == "python" else None
