"""What the runtime wants to know of a module before XLA compiles it."""
from __future__ import annotations

import collections
from math import sqrt

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import context, types
from reactant.runtime import repeats
from reactant.runtime.layout import BIG
from reactant.runtime.lent import lent_operands
from reactant.support.records import dataclass

FUSES_SLICES = frozenset(
    "stablehlo." + name for name in """
    abs add and atan2 bitcast_convert broadcast_in_dim cbrt ceil clamp compare complex concatenate convert cosine
    count_leading_zeros divide dynamic_slice dynamic_update_slice exponential exponential_minus_one floor gather imag
    is_finite log log_plus_one logistic maximum minimum multiply negate not or pad popcnt power real reduce_precision
    remainder reshape reverse round_nearest_afz round_nearest_even rsqrt select shift_left shift_right_arithmetic
    shift_right_logical sign sine slice sqrt subtract tan tanh transpose xor
    """.split())
"""Operations into which XLA:CPU fuses the slice that reads a borrowed argument, so that it costs nothing."""

NOT_DIRECTLY = frozenset({"stablehlo.transpose"})
"""Of those, the ones that lose their fast kernel by it (transpose of 6000x6000 f64: 32 ms instead of 13)."""

ABSORBS_PRODUCERS = frozenset({"stablehlo.reduce", "stablehlo.dot_general", "stablehlo.dot", "stablehlo.convolution",
                               "stablehlo.reduce_window"})
"""Library calls that swallow the element-wise operations before them and leave the slice out, in fresh memory of its
own (sum((a - b)**2) of 6000x6000 f64: 158 ms instead of 9)."""


LITTLE = 8
"""Where an eighth of an argument or less is read, that part may well be left out in memory of its own."""

FEW_ROWS, BIG_MATRIX = 64, 1 << 18
"""Rows of a thin product, and elements of its matrix: see `chained`."""

PRODUCTS = frozenset({"stablehlo.dot_general", "stablehlo.dot", "stablehlo.convolution"})


@dataclass(frozen=True)
class Reduction:
    """A `stablehlo.reduce` of one operand, or a product of two vectors: shape and reduced dimensions of the operand."""

    shape: tuple[int, ...]
    dimensions: tuple[int, ...]
    dtype: np.dtype
    combiner: str

    @property
    def trailing(self) -> bool:
        """Whether exactly the last dimensions are reduced (extents of 1 do not count)."""
        wide = [axis for axis, extent in enumerate(self.shape) if extent > 1]
        reduced = [axis for axis in wide if axis in self.dimensions]
        return wide[len(wide) - len(reduced):] == reduced

    @property
    def depth(self) -> int:
        """Elements that make one element of the result."""
        return types.size([self.shape[axis] for axis in self.dimensions])

    @property
    def run(self) -> int:
        """Elements after the last reduced dimension, which lie side by side in memory."""
        return types.size(self.shape[max(self.dimensions, default=-1) + 1:])


@dataclass(frozen=True)
class Facts:
    """What the runtime decides by.

    sliceable[i]: argument i is big and reading it through a slice costs nothing. operations: how many of each kind.
    chained: a product of few rows by a big matrix goes through element-wise operations into another one, and that one
    into a reduction. met: elements of the products that go into reductions so. repeated: whether XLA's fusions would
    compute the same so often that it is better compiled without (`reactant.runtime.repeats`).
    """

    sliceable: tuple[bool, ...]
    operations: collections.Counter[str]
    reductions: tuple[Reduction, ...]
    chained: bool
    met: int
    repeated: bool = False


def facts_of(module: ir.Module, *, reductions_fuse: bool = False) -> Facts:
    """Read the facts off `module`, which has a function @main.

    reductions_fuse: XLA is told to compute reductions in loops of its own (`reactant.runtime.reductions`).
    """
    counts: collections.Counter[str] = collections.Counter()
    functions: dict[str, ir.Operation] = {}
    reductions: list[Reduction] = []
    products: list[ir.Operation] = []
    others: list[ir.Operation] = []
    calls: dict[str, list[ir.Operation]] = collections.defaultdict(list)

    fused: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        name = operation.name
        counts[name] += 1
        if name in repeats.FUSED:
            fused.append(operation)
        if name == "func.func":
            functions[_symbol(operation, "sym_name")] = operation
        elif name == "func.call":
            calls[_symbol(operation, "callee")].append(operation)
        elif name == "stablehlo.reduce":
            others.append(operation)
            reductions.extend(_reductions(operation))
        elif name in PRODUCTS:
            of_vectors = not types.shape_of(operation.results[0])
            (others if of_vectors else products).append(operation)
            if of_vectors:
                shape, dtype = types.shape_and_dtype(operation.operands[0].type)
                reductions.append(Reduction(shape, tuple(range(len(shape))), dtype, "stablehlo.add"))
        return ir.WalkResult.ADVANCE

    with context.building():
        module.operation.walk(visit)
        main = functions["main"].regions[0].blocks[0]
        harmless: set[ir.Value] = set()
        sliceable = tuple(_is_big(value) and _sliceable(value, functions, calls, reductions_fuse, harmless)
                          for value in main.arguments)
        reduced = [op for op in products if _reach([op], set(others))]
        last = {op for op in reduced if _is_thin(op)}
        chained = bool(last) and any(_reach([op], last) for op in products if _is_thin(op))
        met = sum(types.size(types.shape_of(op.results[0])) for op in reduced)
        repeated = repeats.CONCATENATE in counts and repeats.is_better_apart(fused)
    return Facts(sliceable, counts, tuple(reductions), chained, met, repeated)


def _is_thin(operation: ir.Operation) -> bool:
    """Whether a product is one of few rows by a big matrix (or of a big matrix by few columns)."""
    if operation.name == "stablehlo.convolution":
        return False
    sizes = [types.size(types.shape_of(value)) for value in (*operation.operands, *operation.results)]
    small, big = sorted(sizes[:2])
    if 0 in sizes:
        return False
    depth = sqrt(small * big / sizes[2])        # where nothing is batched
    return big >= BIG_MATRIX and small <= FEW_ROWS * depth


def _is_big(value: ir.Value) -> bool:
    shape, dtype = types.shape_and_dtype(value.type)
    return types.size(shape) * dtype.itemsize >= BIG


def _reductions(operation: ir.Operation) -> list[Reduction]:
    """What a reduce of one or several operands does to each; one whose body is not one operation has combiner ""."""
    body = [op.operation.name for op in operation.regions[0].blocks[0].operations]
    combiner = body[0] if len(body) == 2 else ""
    dimensions = tuple(ir.DenseI64ArrayAttr(operation.attributes["dimensions"]))
    found = []
    for operand in list(operation.operands)[:len(operation.operands) // 2]:
        shape, dtype = types.shape_and_dtype(operand.type)
        found.append(Reduction(tuple(shape), dimensions, dtype, combiner))
    return found


def _reach(starts: list[ir.Operation], goals: set[ir.Operation]) -> bool:
    """Whether a result of a start gets to another operation among the goals through what XLA may fuse."""
    work, seen = [result for start in starts for result in start.results], set()
    while work:
        for use in work.pop().uses:
            user = use.owner.operation
            if user in goals:
                return True
            if user.name in FUSES_SLICES and user not in seen:
                seen.add(user)
                work.extend(user.results)
    return False


def _symbol(operation: ir.Operation, attribute: str) -> str:
    return str(ir.FlatSymbolRefAttr(operation.attributes[attribute]).value if attribute == "callee"
               else ir.StringAttr(operation.attributes[attribute]).value)


def _sliceable(argument: ir.Value, functions: dict[str, ir.Operation], calls: dict[str, list[ir.Operation]],
               reductions_fuse: bool, harmless: set[ir.Value]) -> bool:
    """Follow the argument through what fuses, and through calls, while it is big; declines where that meets a library
    call.

    harmless: values found to meet none, shared by the arguments so that all of them together take one walk.
    """
    work, seen, elements = [(argument, True)], {argument}, types.size(types.shape_of(argument))

    def follow(value: ir.Value, direct: bool) -> None:
        if value not in seen and (direct or value not in harmless):
            seen.add(value)
            work.append((value, direct))

    while work:
        value, direct = work.pop()
        for use in value.uses:
            user = use.owner.operation
            name, inside = user.name, user.parent.name == "func.func"
            if name == "func.return":
                for call in calls[_symbol(user.parent, "sym_name")]:
                    follow(call.results[use.operand_number], direct)
            elif name == "func.call" and inside:
                follow(functions[_symbol(user, "callee")].regions[0].blocks[0].arguments[use.operand_number], direct)
            elif name == "stablehlo.reduce" and reductions_fuse or use.operand_number < lent_operands(user):
                continue
            elif name in ABSORBS_PRODUCERS or (direct and name in NOT_DIRECTLY):
                return False
            elif name in FUSES_SLICES and inside:
                if LITTLE * types.size(types.shape_of(user.results[0])) > elements:
                    follow(user.results[0], direct and name == "stablehlo.reshape")
            elif direct:
                return False
    harmless |= seen - {argument}
    return True
