"""Products that are rounded before something is added to them, as NumPy rounds them.

XLA lets LLVM contract a product and a sum of one fusion: `a*b - c*d` rounds one of its products only, so that
`x*x - y*y` at x = y is not 0, its root NaN and its sign chance (jax 0.10.2; barriers, `reduce_precision` and selects
between them are gone when LLVM sees the program). Here every product that meets a sum is multiplied by a one that LLVM
cannot know: `(a*b) * one + c` may be contracted to `fma(round(a*b), one, c)`, which is the sum of the rounded product
and takes as long as the sum alone. The one is an element of a constant array: XLA hands those to its kernels in memory.
Behind a barrier its own passes do not fold it.

Complex products are such sums themselves. Those of numbers are rounded as NumPy's are; those of arrays stay contracted,
as they are in NumPy's vector code (2.4.6, AVX2 and AVX-512: the imaginary part of z * conj(z) is not 0), since rounding
costs twice their time.
"""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import modules, ops
from reactant.ir.types import dtype_of, is_complex, is_float, shape_of, size

CONCERNED = (b"add", b"subtract", b"multiply")
"""One of them is in the bytecode of a module that `kept` may change."""
SUMS = ("stablehlo.add", "stablehlo.subtract")
PRODUCTS = frozenset(f"stablehlo.{name}" for name in ("multiply", "divide", "power"))
ENDING_IN_PRODUCTS = PRODUCTS | {f"stablehlo.{name}" for name in (
    "sine", "cosine", "tan", "tanh", "exponential", "exponential_minus_one", "log", "log_plus_one", "cbrt", "atan2",
    "logistic", "rsqrt")}
"""Ops whose last step may be a product in XLA's code."""
SEEN_THROUGH = {f"stablehlo.{name}": operands for name, operands in {
    "reshape": (0,), "transpose": (0,), "broadcast_in_dim": (0,), "slice": (0,), "dynamic_slice": (0,), "reverse": (0,),
    "convert": (0,), "gather": (0,), "pad": (0, 1), "dynamic_update_slice": (0, 1), "select": (1, 2), "negate": (0,),
    "concatenate": None, "optimization_barrier": None}.items()}
"""Ops behind which LLVM still sees the product, and their operands that may be one (None: all)."""
SHORT = 128
"""Summands up to which NumPy's order is XLA's or nearly so. Longer sums are rounded otherwise anyhow, and XLA's library
takes products and their sum together."""
LITTLE = 8192
"""Bytes of an array that a loop which XLA compiles as one kernel may have; it does so up to 1024 that are read and
written."""
NESTED = frozenset(f"stablehlo.{name}" for name in (
    "reduce", "reduce_window", "scatter", "select_and_scatter", "sort", "map", "all_reduce", "reduce_scatter"))
"""Ops whose regions work on single elements; arrays cannot be there."""
def kept(module: ir.Module) -> ir.Module:
    """The module, or a copy of it in which LLVM has to round those products."""
    products = _Products()
    summands = [(number, index) for number, op in enumerate(_walk(module)) for index in products.summands(op)]
    pairs = [number for number, op in enumerate(_walk(module)) if _multiplies_pairs(op)]
    if not summands and not pairs:
        return module
    made = modules.clone(module)
    there, ones = list(_walk(made)), _Ones()
    for number, index in summands:
        op = there[number]
        with ir.InsertionPoint(op), op.location:
            op.operands[index] = ones.times(op.operands[index], op)
    for op in map(there.__getitem__, pairs):
        with ir.InsertionPoint(op), op.location:
            op.results[0].replace_all_uses_with(_product_of_pairs(op, ones))
        op.erase()
    return made


def _multiplies_pairs(op: ir.Operation) -> bool:
    return op.name == "stablehlo.multiply" and is_complex(dtype_of(op.results[0])) and not shape_of(op.results[0])


def _product_of_pairs(op: ir.Operation, ones: _Ones) -> ir.Value:
    """A complex product, whose parts XLA makes as a difference and a sum of products."""
    (a, b), (c, d) = ((ops.real(factor), ops.imag(factor)) for factor in op.operands)

    def rounded(x: ir.Value, y: ir.Value) -> ir.Value:
        return ones.times(ops.multiply(x, y), op)

    return ops.complex(ops.subtract(rounded(a, c), rounded(b, d)), ops.add(rounded(a, d), rounded(b, c)))


def _walk(module: ir.Module | ir.Operation) -> Iterator[ir.Operation]:
    """Every op that works on arrays."""
    for region in module.operation.regions:
        for block in region:
            for op in block:
                yield op.operation
                if len(op.operation.regions) and op.operation.name not in NESTED:
                    yield from _walk(op.operation)


class _Products:
    """Which values may reach a sum as products that have not been rounded."""

    def __init__(self) -> None:
        self._known: dict[frozenset[str], dict[ir.Value, bool]] = {PRODUCTS: {}, ENDING_IN_PRODUCTS: {}}

    def summands(self, op: ir.Operation) -> list[int]:
        """The operands of a sum that have to be rounded first."""
        if op.name in SUMS:
            first, made = 0, ENDING_IN_PRODUCTS
        elif op.name == "stablehlo.reduce" and len(op.results) == 1 and _adds(op) and _is_short(op):
            first, made = 1, PRODUCTS       # the array; what it starts from is a number
        else:
            return []
        if not is_float(dtype_of(op.results[0])):
            return []
        return [index for index in range(2 - first) if self._is_product(op.operands[index], made)]

    def _is_product(self, value: ir.Value, names: frozenset[str]) -> bool:
        """Iterative: chains of updates are long."""
        waiting, known = [value], self._known[names]
        while waiting:
            at = waiting[-1]
            if at in known:
                waiting.pop()
                continue
            made = ops.maker(at)
            if made is None or made.name not in SEEN_THROUGH:
                known[waiting.pop()] = made is not None and made.name in names and not _is_exact(made)
                continue
            chosen = SEEN_THROUGH[made.name]
            sources = list(made.operands) if chosen is None else [made.operands[index] for index in chosen]
            if unknown := [source for source in sources if source not in known]:
                waiting += unknown
            else:
                known[waiting.pop()] = any(map(known.__getitem__, sources))
        return known[value]


def _is_short(op: ir.Operation) -> bool:
    return size(shape_of(op.operands[0])) <= SHORT * max(size(shape_of(op.results[0])), 1)


def _adds(op: ir.Operation) -> bool:
    body = op.regions[0].blocks[0].operations
    return len(body) == 2 and body[0].operation.name == "stablehlo.add"


def _is_exact(op: ir.Operation) -> bool:
    """Whether a product has no more digits than its factors have, whatever they are: one is a truth, zero or one.
    (Twice a number may overflow, half of it be denormal and rounded.)"""
    return op.name == "stablehlo.multiply" and any(map(_is_simple, op.operands))


def _is_simple(value: ir.Value) -> bool:
    while (made := ops.maker(value)) is not None and made.name in (
            "stablehlo.broadcast_in_dim", "stablehlo.reshape", "stablehlo.transpose", "stablehlo.slice",
            "stablehlo.optimization_barrier"):
        value = made.operands[ir.OpResult(value).result_number]
    if made is None:
        return False
    if made.name == "stablehlo.convert":
        return dtype_of(made.operands[0]).kind == "b"
    known = ops.constant_value(value) if made.name == "stablehlo.constant" else None
    if known is None or known.dtype.kind not in "fV":
        return False
    sizes = np.abs(np.asarray(ops.distinct(known), np.float64))
    return bool(((sizes == 1) | (sizes == 0)).all())


class _Ones:
    """Arrays of ones, for each block, shape and dtype. The number of little arrays is made where the function begins:
    loops that XLA compiles as one kernel, those of little data, contain their constants, so that LLVM would know it.
    That of others is a constant of the block: one that a loop carries takes twice the time (200,000 numbers)."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[ir.Block, np.dtype], ir.Value] = {}
        self._arrays: dict[tuple[ir.Block, ir.Type], ir.Value] = {}

    def times(self, value: ir.Value, user: ir.Operation) -> ir.Value:
        """The product of a value with one, at the insertion point."""
        key = user.block, value.type
        if key not in self._arrays:
            dtype = dtype_of(value)
            home = _entry(user) if size(shape_of(value)) * dtype.itemsize <= LITTLE else user.block
            number = self._number(dtype, home)
            with ir.InsertionPoint.after(ops.maker(number)) if user.block == home \
                    else ir.InsertionPoint.at_block_begin(user.block):
                # XLA makes one factor of a constant and a number that is broadcast
                self._arrays[key] = ops.optimization_barrier(ops.broadcast_in_dim(number, shape_of(value), ()))[0]
        return ops.multiply(value, self._arrays[key])

    def _number(self, dtype: np.dtype, home: ir.Block) -> ir.Value:
        if (home, dtype) not in self._numbers:
            with ir.InsertionPoint.at_block_begin(home):
                hidden = ops.optimization_barrier(ops.constant(np.array([1, 1.5]), dtype, (2,)))[0]
                self._numbers[home, dtype] = ops.reshape(ops.slice(hidden, (0,), (1,)), ())
        return self._numbers[home, dtype]


def _entry(op: ir.Operation) -> ir.Block:
    """The first block of the function that an op is in, or of a device's part of a program for several."""
    while op.name not in ("func.func", "sdy.manual_computation"):
        block, op = op.block, op.parent.operation
    return block
