"""What a value made of constants and indices alone holds, by NumPy: to recognise masks, weights and wave numbers.

Transcendental functions are NumPy's, so contents are good for comparisons with a tolerance, and exact where the ops
are (`exact=True` gives None where they are not).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops, rounding
from reactant.ir.types import dtype_of, shape_of, size
from reactant.rewrite.site import Producer, producer

ELEMENTS = 1 << 16
"""Contents of more elements are not looked at."""
DEPTH = 24

EXACT: dict[str, Callable[..., Any]] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "negate": np.negative, "maximum": np.maximum,
    "minimum": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.bitwise_not,
    "abs": np.abs, "floor": np.floor, "ceil": np.ceil, "sqrt": np.sqrt, "real": np.real, "imag": np.imag,
    "remainder": np.fmod, "select": np.where, "complex": lambda a, b: a + 1j * b,
}
ROUNDED: dict[str, Callable[..., Any]] = {
    "sine": np.sin, "cosine": np.cos, "exponential": np.exp, "log": np.log, "power": np.power, "tan": np.tan,
    "tanh": np.tanh, "rsqrt": lambda a: 1 / np.sqrt(a), "divide": lambda a, b: a / b,
}


def content_of(value: ir.Value, *, exact: bool = False, elements: int = ELEMENTS) -> np.ndarray | None:
    """The elements of a value that depends on no argument; None where it does, or is too large, or too deep."""
    with np.errstate(all="ignore"):
        return _Reader(exact, elements).read(value, DEPTH)


class _Reader:
    def __init__(self, exact: bool, elements: int):
        self.exact, self.elements = exact, elements
        self.known: dict[ir.Value, np.ndarray | None] = {}

    def read(self, value: ir.Value, depth: int) -> np.ndarray | None:
        if value not in self.known:
            self.known[value] = None
            made = producer(value)
            if made is not None and depth and size(shape_of(value)) <= self.elements and not made.regions:
                self.known[value] = self._made(value, made, depth)
        return self.known[value]

    def _made(self, value: ir.Value, made: Producer, depth: int) -> np.ndarray | None:
        word, shape, dtype = made.name.removeprefix("stablehlo."), shape_of(value), dtype_of(value)
        if word == "constant":
            return ops.constant_value(value)
        if word == "iota":
            along = made["iota_dimension"]
            line = np.arange(shape[along]).astype(dtype)
            return np.broadcast_to(line.reshape([-1 if k == along else 1 for k in range(len(shape))]), shape)
        function = EXACT.get(word) or (None if self.exact else ROUNDED.get(word))
        if function is None and word not in ("compare", "convert", *MOVES) or dtype.kind in "iu" and word in (
                "divide", "remainder"):
            return None
        operands = [self.read(v, depth - 1) for v in made.operands]
        if any(v is None for v in operands):
            return None
        if word == "compare":
            return ops.COMPARISONS[made["comparison_direction"]](*operands)
        if word in MOVES:
            return MOVES[word](made, operands, shape)
        if word == "convert":
            return rounding.astype(operands[0].real if dtype.kind != "c" else operands[0], dtype)
        assert function is not None
        return np.asarray(function(*operands)).astype(dtype)


def _broadcast(made: Producer, operands: list, shape: tuple[int, ...]) -> np.ndarray:
    array, places = operands[0], made["broadcast_dimensions"]
    order = sorted(range(len(places)), key=lambda k: places[k])
    spread = [1] * len(shape)
    for k, place in enumerate(places):
        spread[place] = array.shape[k]
    return np.broadcast_to(np.transpose(array, order).reshape(spread), shape)


def _slice(made: Producer, operands: list, shape: tuple[int, ...]) -> np.ndarray:
    return operands[0][tuple(map(slice, made["start_indices"], made["limit_indices"], made["strides"]))]


MOVES: dict[str, Callable[..., np.ndarray]] = {
    "broadcast_in_dim": _broadcast, "slice": _slice,
    "reshape": lambda made, operands, shape: operands[0].reshape(shape),
    "transpose": lambda made, operands, shape: np.transpose(operands[0], made["permutation"]),
    "reverse": lambda made, operands, shape: np.flip(operands[0], made["dimensions"]),
    "concatenate": lambda made, operands, shape: np.concatenate(operands, made["dimension"]),
}
