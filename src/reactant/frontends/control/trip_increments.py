"""How much a run-time count goes up in each iteration of a loop, where that follows from the loop's index alone.

The operations of the body are computed for all iterations at once, with NumPy on vectors. Whatever is not a number, or
depends on anything but the index and constants, gives no answer.
"""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of

MOST_STEPS = 200_000
"""Operations on vectors that are done at most."""


class _Unknown(Exception):
    pass


def increments(index: ir.Value, iterations: np.ndarray, count: ir.Value, after: ir.Value) -> np.ndarray | None:
    """`after - count` for each value of `index` in `iterations`; None where that depends on other things. The count
    itself is only ever added to, and decides nothing."""
    evaluator = _Evaluator(len(iterations), {index: iterations, count: np.zeros(len(iterations), np.int64)})
    try:
        with np.errstate(all="ignore"):
            return np.broadcast_to(evaluator.value(after), iterations.shape)
    except (_Unknown, RecursionError):      # of long chains
        return None


def counts(index: ir.Value, iterations: np.ndarray, count: ir.Value, after: ir.Value, start: int) -> np.ndarray | None:
    """What a count is before the first iteration (`start`) and after each one; None where that depends on more than the
    index and the count itself."""
    steps, found = [0], [np.array([start], np.int64)]
    try:
        with np.errstate(all="ignore"):
            for iteration in iterations:
                evaluator = _Evaluator(1, {index: np.array([iteration]), count: found[-1]}, steps)
                found.append(np.broadcast_to(evaluator.value(after), (1,)))
    except (_Unknown, RecursionError):
        return None
    return np.concatenate(found)


_SIMPLE: dict[str, Callable] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
    "negate": np.negative, "abs": np.abs, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "not": np.invert, "reshape": lambda x: x, "sign": np.sign,
}
_COMPARE = {"EQ": np.equal, "NE": np.not_equal, "LT": np.less, "LE": np.less_equal, "GT": np.greater,
            "GE": np.greater_equal}


class _Evaluator:
    def __init__(self, count: int, known: dict[ir.Value, np.ndarray], steps: list[int] | None = None):
        self.count, self.known = count, known
        self.steps = [0] if steps is None else steps

    def value(self, value: ir.Value) -> np.ndarray:
        """A 0-d value in every iteration."""
        found = self.known.get(value)
        if found is None:
            found = self.known[value] = self.computed(value)
        return found

    def computed(self, value: ir.Value) -> np.ndarray:
        self.steps[0] += 1
        made = value.owner
        if isinstance(made, ir.Block) or shape_of(value) or self.steps[0] > MOST_STEPS:
            raise _Unknown
        dialect, _, name = made.operation.name.partition(".")
        dtype = dtype_of(value)
        if name == "constant":
            constant = ops.constant_value(value)
            if constant is None:
                raise _Unknown
            return np.full(self.count, constant.reshape(())[()])
        if dialect != "stablehlo" or dtype.kind not in "biu":
            raise _Unknown
        if name in ("if", "select"):
            both = [self.value(v) for v in list(made.operands)[1:]] or \
                [self.result(region, value) for region in made.operation.regions]
            return both[0] if np.array_equal(*both) else np.where(self.value(made.operands[0]).astype(bool), *both)
        if name == "while":
            return self.looped(made.operation, value)
        operands = [self.value(v) for v in made.operands]
        if name in _SIMPLE:
            return np.asarray(_SIMPLE[name](*operands)).astype(dtype)
        if name == "compare":
            return _COMPARE[attr.enumerator(made.attributes["comparison_direction"])](*operands)
        if name == "convert" and all(x.dtype.kind in "biu" for x in operands):
            return operands[0].astype(dtype)
        if name in ("divide", "remainder") and operands[1].all():      # towards zero, unlike NumPy's
            quotient = np.abs(operands[0]) // np.abs(operands[1]) * np.sign(operands[0]) * np.sign(operands[1])
            return (quotient if name == "divide" else operands[0] - quotient * operands[1]).astype(dtype)
        raise _Unknown

    def result(self, region: ir.Region, value: ir.Value) -> np.ndarray:
        block = region.blocks[0]
        return self.value(block.operations[-1].operands[ir.OpResult(value).result_number])

    def looped(self, loop: ir.Operation, value: ir.Value) -> np.ndarray:
        """A result of a loop inside, whose trips follow from the iteration, too."""
        test, body = (region.blocks[0] for region in loop.regions)
        needed = _needed(loop, ir.OpResult(value).result_number)
        state = {k: self.value(loop.operands[k]) for k in needed}
        while True:
            going = self.inside(test, state).value(test.operations[-1].operands[0]).astype(bool)
            if not going.any():
                return state[ir.OpResult(value).result_number]
            iteration = self.inside(body, state)
            after = {k: iteration.value(body.operations[-1].operands[k]) for k in needed}
            state = {k: np.where(going, after[k], state[k]) for k in needed}

    def inside(self, block: ir.Block, state: dict[int, np.ndarray]) -> _Evaluator:
        arguments = {block.arguments[k]: x for k, x in state.items()}
        return _Evaluator(self.count, {**self.known, **arguments}, self.steps)


def _needed(loop: ir.Operation, position: int) -> list[int]:
    """The carried values that one of them, and the test, depend on."""
    test, body = (region.blocks[0] for region in loop.regions)
    found: set[int] = set()
    waiting: list[ir.Value] = [body.operations[-1].operands[position], test.operations[-1].operands[0]]
    places = {block.arguments[k]: k for block in (test, body) for k in range(len(block.arguments))}
    found.add(position)
    seen: set[ir.Value] = set()
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        k = places.get(value)
        if k is not None:
            if k not in found:
                found.add(k)
                waiting.append(body.operations[-1].operands[k])
        elif not isinstance(value.owner, ir.Block):
            waiting += _sources(value)
    return sorted(found)


def _sources(value: ir.Value) -> list[ir.Value]:
    """The values that a result is computed from: of the regions of an operation, what they return for it."""
    op, number = value.owner.operation, ir.OpResult(value).result_number
    if op.name == "stablehlo.if":
        return [op.operands[0], *(region.blocks[0].operations[-1].operands[number] for region in op.regions)]
    if op.name == "stablehlo.while":
        test, body = (region.blocks[0] for region in op.regions)
        inner = _needed(op, number)
        return [*(op.operands[k] for k in inner), *(body.operations[-1].operands[k] for k in inner),
                test.operations[-1].operands[0]]
    return list(op.operands)
