"""Whether functions of a root are flat where the root is 0, told by samples: cosh(r), however it is computed.

Elements are computed by NumPy near 0, with random numbers for what does not depend on the root, and with zeros: what is
a norm of it and others has a kink where all are 0. What is made of another root (hypot) is for that to tell.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.recognised.signs import HYPOT
from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import dtype_of, is_float

DRAWS = 4
"""Of everything else. The last is 0, where that gives numbers."""
STEPS = (0.0, 1e-5, 1e-3)
"""Of the root. A flat function has moved by the square of these."""
MOST = 1000
"""How many values are computed; all others are drawn."""
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": np.abs, "add": np.add, "and": np.bitwise_and, "asin": np.arcsin, "acos": np.arccos, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atan": np.arctan, "atanh": np.arctanh, "atan2": np.arctan2, "cbrt": np.cbrt, "ceil": np.ceil,
    "clamp": lambda low, x, high: np.minimum(np.maximum(low, x), high), "convert": lambda x: x, "cosh": np.cosh,
    "cosine": np.cos, "divide": np.divide, "erf": np.vectorize(math.erf, otypes=[float]),
    "erfc": np.vectorize(math.erfc, otypes=[float]), "exponential": np.exp, "exponential_minus_one": np.expm1,
    "floor": np.floor, "is_finite": np.isfinite, "log": np.log, "log_plus_one": np.log1p,
    "logistic": lambda x: 1 / (1 + np.exp(-x)), "maximum": np.maximum, "minimum": np.minimum, "multiply": np.multiply,
    "negate": np.negative, "not": np.bitwise_not, "optimization_barrier": lambda x, *_: x, "or": np.bitwise_or,
    "power": np.power, "reshape": lambda x: x, "rsqrt": lambda x: 1 / np.sqrt(x), "select": np.where, "sign": np.sign,
    "sine": np.sin, "sinh": np.sinh, "sqrt": np.sqrt, "square": np.square, "subtract": np.subtract, "tan": np.tan,
    "tanh": np.tanh, "xor": np.bitwise_xor,
}


def flat(root: ir.Value, reached: Collection[ir.Value], values: Iterable[ir.Value]) -> set[ir.Value]:
    """Those of some values whose derivative in a root is 0 where that is 0. reached: the floats that are computed from
    it element by element."""
    samples = _Samples(root, reached)
    with np.errstate(all="ignore"):
        return {value for value in values if _is_flat(samples.of(value))}


def _is_flat(sample: np.ndarray | None) -> bool:
    if sample is None:
        return False
    *drawn, zeros = sample.reshape(DRAWS, len(STEPS))
    sample = np.array([*drawn, zeros] if np.isfinite(zeros).all() else drawn)
    if not np.isfinite(sample).all():
        return False
    start, near, far = sample.T
    near, far = (np.abs(x - start) / step for x, step in zip((near, far), STEPS[1:], strict=True))
    return bool((far > 0).any() and (near <= 0.1 * far + 1e-9 * np.abs(start)).all())


class _Samples:
    def __init__(self, root: ir.Value, reached: Collection[ir.Value]) -> None:
        self.random, self.reached = np.random.default_rng(0), reached
        self.known: dict[ir.Value, np.ndarray | None] = {root: np.tile(STEPS, DRAWS)}

    def of(self, value: ir.Value) -> np.ndarray | None:
        """Of an element, in each draw at each step; None where nobody knows."""
        waiting = [value]
        while waiting:
            op = self._maker(waiting[-1])
            missing = [] if op is None or waiting[-1] in self.known else [x for x in op.operands if x not in self.known]
            if missing:
                waiting += missing
                continue
            each = waiting.pop()
            if each not in self.known:
                self.known[each] = self._constant(each) if op is None else self._made(op)
        return self.known[value]

    def _maker(self, value: ir.Value) -> ir.Operation | None:
        """The op that makes what may depend on the root."""
        op = None if len(self.known) > MOST else ops.maker(value)
        if op is None or op.name == "stablehlo.constant" or value != op.results[0] \
                or is_float(dtype_of(value)) and value not in self.reached:
            return None
        return op if op.name in ops.ELEMENTWISE or op.name.partition(".")[2] in FUNCTIONS else None

    def _made(self, op: ir.Operation) -> np.ndarray | None:
        given = [self.known[x] for x in op.operands]
        known = [x for x in given if x is not None]
        return None if HYPOT in op.attributes or len(known) < len(given) else self._result(op, known)

    def _result(self, op: ir.Operation, given: Sequence[np.ndarray]) -> np.ndarray | None:
        word, dtype = op.name.partition(".")[2], dtype_of(op.results[0])
        if word == "compare":
            return ops.COMPARISONS[attr.decode(op.attributes["comparison_direction"])](*given)
        if word == "bitcast_convert":
            before = dtype_of(op.operands[0])
            return None if before.itemsize != dtype.itemsize else _wide(given[0].astype(before).view(dtype), dtype)
        function = FUNCTIONS.get(word)
        return None if function is None or dtype.kind == "c" else _wide(np.asarray(function(*given)), dtype)

    def _constant(self, value: ir.Value) -> np.ndarray | None:
        """What does not depend on the root: the same at all its steps."""
        dtype, known = dtype_of(value), ops.constant_value(value)
        if known is not None and known.size and dtype.kind != "c":
            drawn = self.random.choice(np.ravel(known), DRAWS)
        elif is_float(dtype):
            drawn = np.append(self.random.uniform(0.5, 1.5, DRAWS - 1), 0.0)
        elif dtype.kind in "biu":
            drawn = self.random.integers(0, 2, DRAWS)
        else:
            return None
        return _wide(np.repeat(drawn, len(STEPS)), dtype)


def _wide(numbers: np.ndarray, dtype: np.dtype) -> np.ndarray:
    return numbers.astype(np.float64 if is_float(dtype) else dtype)
