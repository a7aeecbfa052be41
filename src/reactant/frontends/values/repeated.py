"""Elements that a staged loop appends have parts that are no numbers or arrays: which are the same in every iteration.

What an iteration makes, each iteration makes anew, and a text that holds run-time values is another one in each: a
loop that appends such is unrolled. """
from __future__ import annotations

import enum
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import jax
import numpy as np

from reactant.frontends.arrays.reach import globals_of, reachable
from reactant.frontends.control.loop_carried import held_before
from reactant.frontends.control.loop_state import LoopState
from reactant.frontends.texts.printing import in_texts

UNCHANGING = (type(None), bool, int, float, complex, str, bytes, type, BuiltinFunctionType, np.ufunc, np.dtype,
              np.generic, np.ndarray, jax.Array, ModuleType, enum.Enum, range, slice, frozenset, type(...),
              type(NotImplemented), type(np.sum))


def is_repeated(value: Any, loop: LoopState) -> bool:
    """Whether an object that an iteration of the loop appends may be the one that every iteration does."""
    if in_texts(value):
        return False
    if isinstance(value, UNCHANGING) or hasattr(type(value), "ag__internal"):
        return True
    if isinstance(value, FunctionType) and not (value.__closure__ or value.__defaults__ or value.__kwdefaults__):
        return True
    outside = [held for function in loop.functions for held in globals_of(function)]
    return id(value) in reachable([*held_before(loop), *outside], everywhere=True)[0]
