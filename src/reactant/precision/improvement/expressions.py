"""Elementwise expressions of real numbers as data: what they are made of, what that means, what it costs.

An `Expression` is a node of a graph with shared parts: equal ones are one object. Leaves are numbered; constants are
exact fractions. The same node has a meaning in floats (NumPy), in as many digits as wanted (mpmath) and as operations
of a module.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops

Array: TypeAlias = np.ndarray


class Operation(NamedTuple):
    """floats: what it computes on arrays. cost: nanoseconds per element of float64, and of float32, in native code for
    AVX2 (an EPYC, `python benchmarks/improve.py --costs`). They choose what is timed; versions are timed whole."""

    arity: int
    floats: Callable[..., Array]
    cost: tuple[float, float]


def _logistic(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


OPERATIONS: dict[str, Operation] = {
    "add": Operation(2, np.add, (0.1, 0.07)),
    "subtract": Operation(2, np.subtract, (0.1, 0.07)),
    "multiply": Operation(2, np.multiply, (0.1, 0.07)),
    "divide": Operation(2, np.divide, (0.35, 0.16)),
    "negate": Operation(1, np.negative, (0.05, 0.03)),
    "abs": Operation(1, np.abs, (0.05, 0.03)),
    "sqrt": Operation(1, np.sqrt, (0.55, 0.15)),
    "rsqrt": Operation(1, lambda x: 1 / np.sqrt(x), (1.05, 0.33)),
    "cbrt": Operation(1, np.cbrt, (12.8, 14.0)),
    "exponential": Operation(1, np.exp, (3.7, 1.45)),
    "exponential_minus_one": Operation(1, np.expm1, (3.7, 1.6)),
    "log": Operation(1, np.log, (5.5, 2.2)),
    "log_plus_one": Operation(1, np.log1p, (6.3, 2.7)),
    "logistic": Operation(1, _logistic, (5.0, 2.0)),
    "sine": Operation(1, np.sin, (5.7, 4.0)),
    "cosine": Operation(1, np.cos, (5.5, 4.0)),
    "tan": Operation(1, np.tan, (6.3, 4.4)),
    "tanh": Operation(1, np.tanh, (5.6, 2.3)),
    "power": Operation(2, np.power, (14.4, 11.2)),
    "atan2": Operation(2, np.arctan2, (6.2, 7.4)),
    "sinh": Operation(1, np.sinh, (5.8, 2.5)),
    "cosh": Operation(1, np.cosh, (5.2, 2.2)),
    "asin": Operation(1, np.arcsin, (6.0, 6.9)),
    "acos": Operation(1, np.arccos, (6.4, 7.4)),
    "atan": Operation(1, np.arctan, (4.2, 5.3)),
    "asinh": Operation(1, np.arcsinh, (12.2, 12.0)),
    "acosh": Operation(1, np.arccosh, (10.5, 4.8)),
    "atanh": Operation(1, np.arctanh, (9.2, 3.9)),
}
"""By names of operations of StableHLO and CHLO. XLA's own code and other processors give other figures."""


class Expression:
    """A leaf ("leaf", `value` its number), a constant ("number", `value` a fraction), or an operation on operands; made
    by `leaf`, `number` and `made`, which give one object for equal ones."""

    __slots__ = ("name", "operands", "value")

    def __init__(self, name: str, operands: tuple[Expression, ...], value: Any):
        self.name, self.operands, self.value = name, operands, value

    def __repr__(self) -> str:
        return shown(self, [f"x{k}" for k in range(1 + max(leaves(self), default=0))])


@cache
def _node(name: str, operands: tuple[Expression, ...], value: Any) -> Expression:
    return Expression(name, operands, value)


def leaf(number: int) -> Expression:
    """The value that is given as number so and so."""
    return _node("leaf", (), number)


def number(value: Any) -> Expression:
    """A constant, exact."""
    return _node("number", (), Fraction(value))


def made(name: str, *operands: Expression) -> Expression:
    """An operation of `OPERATIONS` on expressions."""
    return _node(name, operands, None)


def nodes(*roots: Expression) -> list[Expression]:
    """All parts, each once, operands before what uses them."""
    found: dict[Expression, None] = {}
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        node, ready = stack.pop()
        if ready:
            found.setdefault(node)
        elif node not in found:
            stack.append((node, True))
            stack += [(each, False) for each in reversed(node.operands)]
    return list(found)


def leaves(*roots: Expression) -> list[int]:
    """The numbers of the leaves, sorted."""
    return sorted({each.value for each in nodes(*roots) if each.name == "leaf"})


def replaced(root: Expression, new: dict[Expression, Expression]) -> Expression:
    """The expression with others in the place of some parts."""
    found = dict(new)
    for node in nodes(root):
        if node not in found:
            found[node] = _node(node.name, tuple(found[each] for each in node.operands), node.value)
    return found[root]


def operations(root: Expression) -> Iterator[Expression]:
    """The parts that are neither leaves nor constants."""
    return (each for each in nodes(root) if each.operands)


def cost(root: Expression, dtype: np.dtype) -> float:
    """Estimated nanoseconds per element."""
    return sum(operation_cost(each, dtype) for each in operations(root))


def operation_cost(node: Expression, dtype: np.dtype) -> float:
    """Of the last operation alone. Powers of halves are products and roots in the end, whatever a form says."""
    narrow = dtype.itemsize <= 4
    if node.name == "power" and node.operands[1].name == "number" and \
            abs(exponent := node.operands[1].value) <= 4 and exponent.denominator <= 2:
        return OPERATIONS["sqrt"].cost[narrow] + OPERATIONS["divide"].cost[narrow] + OPERATIONS["multiply"].cost[narrow]
    return OPERATIONS[node.name].cost[narrow]


# ---- floats --------------------------------------------------------------------------------------------------------

def constant(value: Fraction, dtype: np.dtype) -> Any:
    """The nearest float."""
    try:
        return dtype.type(float(value)) if dtype != np.float32 else _rounded_once(value)
    except OverflowError:
        return dtype.type(np.inf if value > 0 else -np.inf)


def _rounded_once(value: Fraction) -> np.float32:
    """The nearest float32 of a fraction: by way of float64 a tie could be rounded to the other side."""
    near = np.float32(float(value))
    around = [near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))]
    finite = [each for each in around if np.isfinite(each)]
    return min(finite, key=lambda each: abs(Fraction(float(each)) - value)) if finite else near


def applied(name: str, operands: Sequence[Array]) -> Array:
    """What an operation gives on floats, without warnings."""
    with np.errstate(all="ignore"):
        return OPERATIONS[name].floats(*operands)


def in_floats(root: Expression, given: Sequence[Array], dtype: np.dtype) -> dict[Expression, Array]:
    """The values of all parts for arrays of leaves, computed in a float format."""
    found: dict[Expression, Array] = {}
    for node in nodes(root):
        if node.name == "leaf":
            found[node] = np.asarray(given[node.value], dtype)
        elif node.name == "number":
            found[node] = constant(node.value, dtype)
        else:
            found[node] = applied(node.name, [found[each] for each in node.operands])
    return found


# ---- modules -------------------------------------------------------------------------------------------------------

def emitted(root: Expression, given: Sequence[ir.Value], dtype: np.dtype,
            known: dict[Expression, ir.Value] | None = None) -> ir.Value:
    """Operations at the insertion point that compute an expression of values of a shape and float format."""
    like = given[0]
    found = {} if known is None else known
    for node in nodes(root):
        if node in found:
            continue
        if node.name == "leaf":
            found[node] = given[node.value]
        elif node.name == "number":
            found[node] = ops.splat(constant(node.value, dtype), like)
        else:
            found[node] = getattr(ops, node.name)(*(found[each] for each in node.operands))
    return found[root]


# ---- text ----------------------------------------------------------------------------------------------------------

_SIGNS = {"add": ("+", 1), "subtract": ("-", 1), "multiply": ("*", 2), "divide": ("/", 2), "power": ("**", 4)}
NAMES = {"exponential": "exp", "exponential_minus_one": "expm1", "log_plus_one": "log1p", "sine": "sin",
         "cosine": "cos", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
         "atanh": "arctanh", "atan2": "arctan2"}
"""NumPy's names, where they are others."""


def shown(root: Expression, names: Sequence[str]) -> str:
    """The expression as one would write it, with names of the leaves."""
    found: dict[Expression, tuple[str, int]] = {}

    def within(node: Expression, least: int) -> str:
        text, binding = found[node]
        return text if binding >= least else f"({text})"

    for node in nodes(root):
        if node.name == "leaf":
            found[node] = names[node.value], 9
        elif node.name == "number":
            text = _numeral(node.value)
            found[node] = text, 9 if text.replace(".", "").isalnum() else 1
        elif node.name in _SIGNS:
            sign, binding = _SIGNS[node.name]
            left, right = node.operands
            first = within(left, binding + (node.name == "power"))
            found[node] = f"{first} {sign} {within(right, binding + 1)}", binding
        elif node.name == "negate":
            found[node] = f"-{within(node.operands[0], 3)}", 1
        else:
            inner = ", ".join(found[each][0] for each in node.operands)
            found[node] = f"{NAMES.get(node.name, node.name)}({inner})", 9
    return found[root][0]


def _numeral(value: Fraction) -> str:
    if value.denominator == 1 and abs(value) < 10**6:
        return str(value)
    if value.denominator < 1000 and abs(value.numerator) < 1000:
        return f"{value.numerator}/{value.denominator}"
    return f"{float(value):.6g}"
