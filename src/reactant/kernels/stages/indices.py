"""Step 5: where memory is accessed. Indices as affine expressions, their ranges, and accesses that leave their buffer.

An `Affine` is a constant plus integer multiples of atoms: thread and block indices, the variables of counted loops,
whole divisions and remainders of affine expressions by constants, and anything else as a symbol. `Indices` finds one
for every access of a kernel, with the conditions it stands under; `out_of_bounds` says which accesses certainly leave
their buffer, by ranges where they suffice and else by trying every thread, as far as nothing depends on data.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

import numpy as np
from jaxlib.mlir import ir

from reactant.ir.context import building
from reactant.kernels.form.bases import constant_of
from reactant.kernels.form.build import PREDICATES
from reactant.kernels.form.form import kernel_of, launch_of, line_of
from reactant.kernels.form.interpret import OutOfBounds, axis_of
from reactant.kernels.form.rebuild import argument_attributes
from reactant.support.records import dataclass

POINTS = 1 << 21
"""Threads times iterations of loops up to which every one is tried."""
Range = tuple[int, int] | None
"""Smallest and largest value; None: not known."""
ACCESSES = {"memref.load": 0, "memref.store": 1, "memref.atomic_rmw": 1, "memref.generic_atomic_rmw": 0}
"""Operations that access memory -> which operand is the memref; the index comes after it."""


@dataclass(frozen=True)
class Atom:
    """kind: thread, block (name x, y, z), loop, symbol (value), floor, modulo (of `inner` by `divisor`)."""

    kind: str
    name: str = ""
    value: ir.Value | None = field(default=None, compare=False)
    inner: Affine | None = None
    divisor: int = 0

    def __str__(self) -> str:
        if self.inner is not None:
            return f"({self.inner}) {'//' if self.kind == 'floor' else '%'} {self.divisor}"
        return f"{self.kind}.{self.name}"


@dataclass(frozen=True)
class Affine:
    """constant + sum of coefficient * atom."""

    constant: int = 0
    terms: tuple[tuple[Atom, int], ...] = ()

    def __add__(self, other: Affine) -> Affine:
        total = dict(self.terms)
        for atom, coefficient in other.terms:
            total[atom] = total.get(atom, 0) + coefficient
        return Affine(self.constant + other.constant, tuple((a, c) for a, c in total.items() if c))

    def __mul__(self, factor: int) -> Affine:
        return Affine(self.constant * factor, tuple((a, c * factor) for a, c in self.terms) if factor else ())

    def __sub__(self, other: Affine) -> Affine:
        return self + other * -1

    def __str__(self) -> str:
        parts = [f"{c}*{a}" if c != 1 else str(a) for a, c in self.terms]
        return " + ".join(parts + ([str(self.constant)] if self.constant or not parts else []))


@dataclass
class Access:
    """One access: the op, how many elements the memory has (None: not known), its index."""

    op: ir.Operation
    memory: ir.Value
    name: str
    elements: int | None
    index: Affine
    range: Range

    @property
    def line(self) -> str:
        return line_of(self.op)


def divided(whole: Affine, divisor: int, kind: str) -> Affine:
    """whole // divisor or whole % divisor (both rounding down), multiples of the divisor taken out."""
    out = Affine(whole.constant // divisor, tuple((a, c // divisor) for a, c in whole.terms if c % divisor == 0))
    rest = Affine(whole.constant % divisor, tuple((a, c) for a, c in whole.terms if c % divisor))
    if not rest.terms:
        return out if kind == "floor" else rest
    atom = Affine(0, ((Atom(kind, inner=rest, divisor=divisor), 1),))
    return out + atom if kind == "floor" else atom


class Indices:
    """The accesses of one structured kernel."""

    def __init__(self, module: ir.Module):
        self.function = kernel_of(module)
        self.grid, self.block = launch_of(module)
        self.known: dict[ir.Value, Affine] = {}
        self.ranges: dict[ir.Value, Range] = {}
        self.elements: dict[ir.Value, tuple[str, int | None]] = {}
        entry = self.function.regions[0].blocks[0]
        for argument, attributes in zip(entry.arguments, argument_attributes(self.function), strict=True):
            if "reactant.elements" in attributes:
                self.elements[argument] = (attributes["reactant.name"].value,
                                           ir.IntegerAttr(attributes["reactant.elements"]).value)

    # -- values as affine expressions

    def affine(self, value: ir.Value) -> Affine:
        """A value of integer or index type."""
        if value not in self.known:
            self.known[value] = self.symbol(value)
            self.known[value] = self.read(value)
        return self.known[value]

    def symbol(self, value: ir.Value) -> Affine:
        number = len(self.known)
        return Affine(0, ((Atom("symbol", str(number), value), 1),))

    def read(self, value: ir.Value) -> Affine:
        constant = constant_of(value)
        if constant is not None:
            return Affine(constant)
        owner = value.owner
        if isinstance(owner, ir.Block):
            parent = owner.owner
            if parent.operation.name == "scf.for" and owner.arguments[0] == value:
                return Affine(0, ((Atom("loop", str(len(self.known)), value), 1),))
            return self.known[value]
        name = owner.name
        if name in ("gpu.thread_id", "gpu.block_id"):
            kind = name[4:].removesuffix("_id")
            return Affine(0, ((Atom(kind, "xyz"[axis_of(owner.operation)]), 1),))
        if name in ("arith.index_cast", "arith.extsi"):
            return self.affine(owner.operands[0])
        if name in ("arith.extui", "arith.index_castui"):
            bounds = self.range(owner.operands[0])
            return self.affine(owner.operands[0]) if bounds is not None and bounds[0] >= 0 else self.known[value]
        if name == "arith.trunci":
            bounds, half = self.range(owner.operands[0]), 1 << (ir.IntegerType(value.type).width - 1)
            fits = bounds is not None and -half <= bounds[0] and bounds[1] < half
            return self.affine(owner.operands[0]) if fits else self.known[value]
        if len(owner.operands) == 2 and name.startswith("arith."):
            return self.binary(owner.operation, name.removeprefix("arith."), value)
        return self.known[value]

    def binary(self, op: ir.Operation, name: str, value: ir.Value) -> Affine:
        a, b = (self.affine(v) for v in op.operands)
        exact = "overflowFlags" not in op.attributes or "nsw" in str(op.attributes["overflowFlags"])
        result: Affine | None = None
        if name in ("addi", "subi"):
            result = a + b if name == "addi" else a - b
        elif name == "muli" and (not a.terms or not b.terms):
            result = a * b.constant if not b.terms else b * a.constant
        elif name in ("divui", "divsi", "remui", "remsi", "floordivsi") and not b.terms and b.constant > 0:
            bounds = self.range_of(a)
            if name == "floordivsi" or bounds is not None and bounds[0] >= 0:
                return divided(a, b.constant, "modulo" if name.startswith("rem") else "floor")
            return self.known[value]
        elif name == "andi" and not b.terms and b.constant >= 0 and b.constant & (b.constant + 1) == 0:
            return divided(a, b.constant + 1, "modulo")
        elif name in ("shrui", "shrsi") and not b.terms:
            bounds = self.range_of(a)
            if bounds is not None and bounds[0] >= 0:
                return divided(a, 1 << b.constant, "floor")
        if result is None:
            return self.known[value]
        if not exact and not isinstance(value.type, ir.IndexType):  # it may wrap, unless its range says no
            bounds, half = self.range_of(result), 1 << (ir.IntegerType(value.type).width - 1)
            if bounds is None or bounds[0] < -half or bounds[1] >= half:
                return self.known[value]
        return result

    # -- ranges

    def range(self, value: ir.Value) -> Range:
        return self.range_of(self.affine(value))

    def range_of(self, index: Affine) -> Range:
        """Smallest and largest value over the launch, each atom on its own."""
        low = high = index.constant
        for atom, coefficient in index.terms:
            bounds = self.range_of_atom(atom)
            if bounds is None:
                return None
            ends = sorted(b * coefficient for b in bounds)
            low, high = low + ends[0], high + ends[1]
        return low, high

    def range_of_atom(self, atom: Atom) -> Range:
        if atom.kind in ("thread", "block"):
            sizes = self.block if atom.kind == "thread" else self.grid
            return 0, sizes["xyz".index(atom.name)] - 1
        if atom.inner is not None:
            bounds = self.range_of(atom.inner)
            if atom.kind == "modulo":
                inside = bounds is not None and 0 <= bounds[0] and bounds[1] < atom.divisor
                return bounds if inside else (0, atom.divisor - 1)
            return None if bounds is None else (bounds[0] // atom.divisor, bounds[1] // atom.divisor)
        assert atom.value is not None
        if atom.value not in self.ranges:
            self.ranges[atom.value] = None
            self.ranges[atom.value] = self.range_of_symbol(atom)
        return self.ranges[atom.value]

    def range_of_symbol(self, atom: Atom) -> Range:
        value = atom.value
        assert value is not None
        owner = value.owner
        if atom.kind == "loop":
            loop = owner.owner.operation
            lower, upper = self.range(loop.operands[0]), self.range(loop.operands[1])
            return None if lower is None or upper is None else (lower[0], max(lower[0], upper[1] - 1))
        if isinstance(owner, ir.Block):
            return None
        if owner.name in ("arith.select", "arith.minsi", "arith.maxsi"):
            pair = [self.range(v) for v in list(owner.operands)[-2:]]
            if owner.name == "arith.select":
                return None if pair[0] is None or pair[1] is None else (
                    min(pair[0][0], pair[1][0]), max(pair[0][1], pair[1][1]))
            if pair[0] is not None and pair[1] is not None:
                choose = min if owner.name == "arith.minsi" else max
                return choose(pair[0][0], pair[1][0]), choose(pair[0][1], pair[1][1])
        if owner.name == "arith.extui" and str(owner.operands[0].type) in ("i1", "i8", "i16", "i32"):
            return 0, (1 << ir.IntegerType(owner.operands[0].type).width) - 1
        return None

    # -- accesses

    def accesses(self) -> Iterator[Access]:
        """Every access of the kernel, in the order of the code."""
        for op in operations(self.function.regions[0].blocks[0]):
            if op.name in ACCESSES:
                place = ACCESSES[op.name]
                memory = op.operands[place]
                name, elements = self.elements.get(memory, ("", None))
                kind = ir.MemRefType(memory.type)
                if kind.has_static_shape:
                    elements = kind.shape[0]
                    given = memory.owner.attributes
                    name = given["reactant.name"].value if "reactant.name" in given else "an array of the kernel"
                index = self.affine(op.operands[place + 1])
                yield Access(op, memory, name, elements, index, self.range_of(index))

    def out_of_bounds(self) -> list[str]:
        """What the launch certainly accesses outside its buffers: one sentence per access, with the kernel's line."""
        found = []
        for access in self.accesses():
            if access.elements is None or access.range is not None and (
                    0 <= access.range[0] and access.range[1] < access.elements):
                continue
            place = ACCESSES[access.op.name]
            index = Points(self).reached(access.op, access.op.operands[place + 1])
            if index is None or not index.size:
                continue
            wrong = index[(index < 0) | (index >= access.elements)]
            if wrong.size:
                found.append(f"{access.name} has {access.elements} elements; the launch accesses element "
                             f"{int(wrong[0])}.{f' At {access.line}.' if access.line else ''}")
        return found


def operations(block: ir.Block) -> Iterator[ir.Operation]:
    """All operations of a block and inside them."""
    for op in block.operations:
        yield op.operation
        for region in op.operation.regions:
            for inner in region.blocks:
                yield from operations(inner)


class Unknown(Exception):
    """A value that depends on data."""


class Points:
    """Integer values at every thread and every iteration of the loops around an access: arrays of one axis each."""

    def __init__(self, indices: Indices):
        self.indices = indices
        self.axes: list[tuple[str, int] | ir.Value] = []
        self.sizes: list[int] = []
        self.values: dict[ir.Value, np.ndarray] = {}

    def reached(self, op: ir.Operation, index: ir.Value) -> np.ndarray | None:
        """All values of an index that the access is reached with; None if that depends on data."""
        try:
            condition = self.condition(op)
            place = self.at(index)
        except Unknown:
            return None
        place, condition = np.broadcast_arrays(*self.aligned(place, condition))
        return place[condition.astype(bool)]

    def condition(self, op: ir.Operation) -> np.ndarray:
        """Where an operation is reached."""
        holds = np.ones((), bool)
        block = op.block
        while True:
            parent = block.owner.operation
            if parent.name == "func.func":
                return holds
            if parent.name == "scf.if":
                taken = self.at(parent.operands[0]).astype(bool)
                holds = self.both(holds, taken if parent.regions[0].blocks[0] == block else ~taken)
            elif parent.name == "scf.for":
                variable = self.at(block.arguments[0])
                holds = self.both(holds, np.less(*self.aligned(variable, self.at(parent.operands[1]))))
            else:
                raise Unknown
            block = parent.block

    def both(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.logical_and(*self.aligned(a, b))

    def aligned(self, *arrays: np.ndarray) -> list[np.ndarray]:
        """Arrays over the same axes: trailing axes of length 1 are added."""
        rank = max(a.ndim for a in arrays)
        return [a.reshape(a.shape + (1,) * (rank - a.ndim)) for a in arrays]

    def axis(self, key: tuple[str, int] | ir.Value, size: int) -> np.ndarray:
        """0, 1, ... along an axis of its own."""
        if key not in self.axes:
            if size * int(np.prod(self.sizes, dtype=np.int64)) > POINTS:
                raise Unknown
            self.axes.append(key)
            self.sizes.append(size)
        place = self.axes.index(key)
        return np.arange(size, dtype=np.int64).reshape((1,) * place + (size,))

    def at(self, value: ir.Value) -> np.ndarray:
        if value not in self.values:
            self.values[value] = self.computed(value)
        return self.values[value]

    def computed(self, value: ir.Value) -> np.ndarray:
        constant = constant_of(value)
        if constant is not None:
            return np.asarray(constant, np.int64)
        owner = value.owner
        if isinstance(owner, ir.Block):
            return self.loop_variable(owner, value)
        op = owner.operation
        if op.name in ("gpu.thread_id", "gpu.block_id"):
            sizes = self.indices.block if op.name == "gpu.thread_id" else self.indices.grid
            return self.axis((op.name, axis_of(op)), sizes[axis_of(op)])
        if op.name == "scf.if":
            number = list(op.results).index(value)
            yields = [list(r.blocks[0].operations)[-1].operands[number] for r in op.regions]
            return self.chosen(op.operands[0], *yields)
        if not op.name.startswith("arith.") or not len(op.operands):
            raise Unknown
        return self.arithmetic(op)

    def chosen(self, condition: ir.Value, yes: ir.Value, no: ir.Value) -> np.ndarray:
        c, a, b = self.aligned(self.at(condition), self.at(yes), self.at(no))
        return np.where(c.astype(bool), a, b)

    def loop_variable(self, block: ir.Block, value: ir.Value) -> np.ndarray:
        """The variable of a counted loop: its start plus an axis of iterations, as many as any thread makes."""
        loop = block.owner.operation
        if loop.name != "scf.for" or block.arguments[0] != value:
            raise Unknown
        lower, upper = self.aligned(self.at(loop.operands[0]), self.at(loop.operands[1]))
        step = constant_of(loop.operands[2])
        if step is None:
            raise Unknown
        iterations = max(0, int(-(-(upper - lower).max() // step))) if lower.size and upper.size else 0
        a, b = self.aligned(lower, self.axis(value, max(iterations, 1)) * step)
        return a + b

    def arithmetic(self, op: ir.Operation) -> np.ndarray:
        return arithmetic(op, self.aligned(*(self.at(v) for v in op.operands)))


def arithmetic(op: ir.Operation, x: list[np.ndarray]) -> np.ndarray:
    """An operation of arith on integers (i1: 0 and 1). Raises `Unknown` for others."""
    name, kind = op.name.removeprefix("arith."), op.operands[0].type
    if name == "select" and isinstance(op.results[0].type, (ir.IndexType, ir.IntegerType)):
        return np.where(x[0].astype(bool), x[1], x[2])
    if not isinstance(kind, (ir.IndexType, ir.IntegerType)):
        raise Unknown
    width = 64 if isinstance(kind, ir.IndexType) else kind.width
    if name == "cmpi":
        return compared(ir.IntegerAttr(op.attributes["predicate"]).value, x[0], x[1], width)
    if name in ("extui", "index_castui"):
        return unsigned(x[0], width)
    if name not in OPERATIONS or width > 64 or name in ("extsi", "index_cast") and width == 1:
        raise Unknown
    with np.errstate(all="ignore"):
        result = OPERATIONS[name](*x)
    to = op.results[0].type
    return wrapped(result, 64 if isinstance(to, ir.IndexType) else to.width)


def computed(op: ir.Operation, operands: Sequence[int]) -> int:
    """The integer that an operation of arith gives for integers. Raises `Unknown`."""
    return int(arithmetic(op, [np.asarray(x, np.int64) for x in operands]))


def unsigned(x: np.ndarray, width: int) -> np.ndarray:
    if width >= 64:
        if (x < 0).any():
            raise Unknown
        return x
    return x & ((1 << width) - 1)


def wrapped(x: np.ndarray, width: int) -> np.ndarray:
    if width >= 64:
        return x
    if width == 1:
        return x & 1
    half = 1 << (width - 1)
    return ((x + half) & (2 * half - 1)) - half


def compared(predicate: int, a: np.ndarray, b: np.ndarray, width: int) -> np.ndarray:
    if predicate >= PREDICATES["ult"]:
        a, b, predicate = unsigned(a, width), unsigned(b, width), predicate - 4
    test = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)[predicate]
    return test(a, b).astype(np.int64)


def _divided(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whole division of numbers of at least 0."""
    if (a < 0).any() or (b <= 0).any():
        raise Unknown
    return a // b


def _remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a - b * _divided(a, b)


def _shift_right(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if (a < 0).any() or (b < 0).any() or (b > 62).any():
        raise Unknown
    return a >> b


OPERATIONS = {
    "addi": np.add, "subi": np.subtract, "muli": np.multiply, "andi": np.bitwise_and, "ori": np.bitwise_or,
    "xori": np.bitwise_xor, "minsi": np.minimum, "maxsi": np.maximum, "divui": _divided, "divsi": _divided,
    "remui": _remainder, "remsi": _remainder, "shrui": _shift_right, "shrsi": _shift_right, "floordivsi": _divided,
    "index_cast": np.positive, "extsi": np.positive, "trunci": np.positive,
}


def require_in_bounds(module: ir.Module, name: str) -> None:
    """Raises `OutOfBounds` for accesses that the launch certainly makes outside a buffer; names the kernel's lines."""
    with building():
        found = Indices(module).out_of_bounds()
    if found:
        raise OutOfBounds(f"The kernel '{name}' accesses memory outside its arrays: {' '.join(found)}")
