"""LU, Cholesky and solves with triangles of small real matrices, as LAPACK's routines give them, in loops.

Many matrices are worked on `LANE_BYTES` side by side, each step on the same element of all of them: vector code, with
selects where rows change places. One alone is worked on as it is.
"""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir.types import dtype_of, shape_of, size
from reactant.loopnests.analysis.graph import Node, decoded
from reactant.loopnests.emission.affine import ZERO, Affine, linear, number, symbol
from reactant.loopnests.emission.buffers import Buffers
from reactant.loopnests.emission.elements import Buffer, Flat, buffer_type
from reactant.loopnests.emission.numbers import Number
from reactant.loopnests.emission.scatter import counter, current
from reactant.loopnests.emission.writer import parallel_end
from reactant.native import engine

ROUTINES = ("getrf", "potrf", "trsm")
LANE_BYTES = 64
"""Of the numbers side by side: 8 of float64."""
LARGEST, LARGEST_ALONE = 24, 16
"""Rows and columns of a matrix, among many and alone, up to which LAPACK is slower."""
BY_COLUMNS = 5
"""Rows or columns up to which elements are computed in the order of NumPy's LAPACK (OpenBLAS's `getrf`): products added
up, with fused additions where its kernels for this processor have them, subtracted at once, columns multiplied by the
reciprocal of the pivot. Determinants of whole numbers that are 0 there are 0 here (of 200 random ones of 4 x 4, step by
step: 143)."""
SINGULAR = ((2.0, 3.0, -2.0), (3.0, -4.0, 5.0), (-2.0, 14.0, -14.0))
"""Its determinant comes out as 0 unless additions are fused (OpenBLAS 0.3: SkylakeX fuses, Haswell and Zen do not)."""
PLACE = np.dtype(np.int32)
SIDE_BY_SIDE = "} {native.independent, native.vectorize}"


def routine_of(op: ir.Operation) -> str | None:
    """Which of `ROUTINES` a custom call is, for real numbers; else None."""
    if op.name != "stablehlo.custom_call" or "mhlo.backend_config" not in op.attributes:
        return None
    name: str = attr.decode(op.attributes["call_target_name"])
    found = _routine(name)
    return found if found in ROUTINES and name[len("lapack_")] in "sd" else None


def _routine(target: str) -> str:
    """`getrf` of `lapack_dgetrf_ffi`."""
    return target.removeprefix("lapack_")[1:].removesuffix("_ffi")


def is_small(op: ir.Operation) -> bool:
    """Whether a custom call is one of `ROUTINES`, for matrices that loops are as fast for."""
    return routine_of(op) is not None and _small([shape_of(v) for v in op.operands], dtype_of(op.operands[0]))


def fits(node: Node) -> bool:
    """The same of a node that is one of LAPACK's routines."""
    return _routine(decoded(node, "call_target_name")) in ROUTINES and node.operands[0].dtype.kind == "f" \
        and _small([o.shape for o in node.operands], node.operands[0].dtype)


def _small(shapes: Sequence[tuple[int, ...]], dtype: np.dtype) -> bool:
    most = LARGEST if size(shapes[0][:-2]) >= lanes_of(dtype) else LARGEST_ALONE
    return max(shapes[0][-2:]) <= most and all(shape[-2] * shape[-1] <= most * most for shape in shapes)


def lanes_of(dtype: np.dtype) -> int:
    """Numbers that are worked on side by side."""
    return LANE_BYTES // dtype.itemsize


def emit_factorization(compiler: Buffers, node: Node, outputs: dict[Node, Buffer]) -> None:
    """Write the loops; results go to `outputs`, a buffer for each result node."""
    writers: dict[str, Callable[..., Factorization]] = {"getrf": LU, "potrf": Cholesky, "trsm": Triangular}
    writers[_routine(decoded(node, "call_target_name"))](compiler, node, outputs).emit()


class Factorization(ABC):
    """One call: matrices are put side by side, worked on, and put where the results go."""

    def __init__(self, compiler: Buffers, node: Node, outputs: dict[Node, Buffer]) -> None:
        self.c, self.w, self.e, self.a = compiler, compiler.w, compiler.e, compiler.a
        self.node, self.outputs = node, outputs
        shape = node.operands[0].shape
        self.dtype, self.batch = node.operands[0].dtype, size(shape[:-2])
        self.lanes = lanes_of(self.dtype) if self.batch >= lanes_of(self.dtype) else 1

    def option(self, name: str) -> str:
        """An option of LAPACK's: a letter."""
        config = {each.name: each.attr for each in ir.DictAttr(self.node.attributes["mhlo.backend_config"])}
        return chr(ir.IntegerAttr(config[name]).value & 255)

    def emit(self) -> None:
        """Write all of it."""
        blocks = -(-self.batch // self.lanes)
        work = self.lanes * self.operations()
        parallel = self.c.parallel and blocks > 1
        with self.e.remembering():
            block, tail = ZERO, ""
            if blocks > 1:
                name, ends = self.w.fresh("i"), (self.w.index(0), self.w.index(blocks), self.w.index(1))
                self.w.loop(f"scf.parallel ({name}) = ({ends[0]}) to ({ends[1]}) step ({ends[2]}) {{" if parallel else
                            f"scf.for {name} = {ends[0]} to {ends[1]} step {ends[2]} {{", (name,))
                self.w.facts.ranges[name] = (0, blocks - 1)
                block, tail = symbol(name), parallel_end(work) if parallel else "}"
            self.compute(block.times(self.lanes))
            if tail:
                self.w.finish(tail)
        for buffer in self.outputs.values():
            buffer.version += 1
            buffer.level = self.w.depth

    @abstractmethod
    def compute(self, first: Affine) -> None:
        """What is done with the matrices from `first` on."""

    @abstractmethod
    def operations(self) -> float:
        """Of one matrix."""

    # ---- loops

    def over(self, low: Affine, high: int, body: Callable[[Affine], None]) -> None:
        """A loop from an index expression on."""
        with self.e.remembering():
            least = self.w.facts.range(low)[0]
            body(counter(self.c, low, number(high), (max(least, 0), max(high - 1, 0))))
            self.w.finish()

    def below(self, high: Affine, most: int, body: Callable[[Affine], None]) -> None:
        """A loop from 0 to an index expression."""
        with self.e.remembering():
            body(counter(self.c, ZERO, high, (0, max(most - 1, 0))))
            self.w.finish()

    def side_by_side(self, body: Callable[[Affine], None]) -> None:
        """The same for each of the matrices that are worked on together."""
        with self.e.remembering():
            if self.lanes == 1:
                body(ZERO)
            else:
                body(counter(self.c, ZERO, number(self.lanes), (0, self.lanes - 1)))
                self.w.finish(SIDE_BY_SIDE)

    # ---- numbers

    def local(self, count: int, dtype: np.dtype | None = None) -> Local:
        """Memory of this iteration alone."""
        dtype = self.dtype if dtype is None else dtype
        name = self.w.define(self.w.fresh("local"))
        self.w.line(f"{name} = memref.alloca() : {buffer_type(dtype, count * self.lanes)}")
        return Local(self, Buffer(name, dtype, count * self.lanes, level=self.w.depth))

    def do(self, kind: str, *operands: Number) -> Number:
        """An op of StableHLO on numbers of one dtype."""
        return self.a.apply(kind, operands, operands[0].dtype, {})

    def test(self, direction: str, x: Number, y: Number) -> Number:
        """A comparison."""
        return self.a.compare(direction, x, y)

    def place(self, index: Affine) -> Number:
        """A place as a number."""
        found = self.a.integer(index, PLACE)
        assert found is not None
        return found

    def constant(self, value: float, dtype: np.dtype | None = None) -> Number:
        """A constant."""
        return self.a.constant(value, self.dtype if dtype is None else dtype)

    # ---- in and out

    def read(self, operand: Node, first: Affine) -> Local:
        """Matrices of an operand, side by side."""
        rows, columns = operand.shape[-2:]
        made = self.local(rows * columns)
        with self.e.remembering():
            lane, closing = ZERO, self.lanes > 1
            if closing:
                lane = counter(self.c, ZERO, number(self.lanes), (0, self.lanes - 1))
            place = self.e.clamped(first + lane, 0, self.batch - 1)
            self.over(ZERO, rows, lambda i: self.over(ZERO, columns, lambda j: made.put(
                self.e.at(operand, self._index(operand, place, i, j)), i.times(columns) + j, lane)))
            if closing:
                self.w.finish()
        return made

    @staticmethod
    def _index(operand: Node, place: Affine, i: Affine, j: Affine) -> Any:
        rank = len(operand.shape)
        if rank <= 3:
            return (place, i, j)[3 - rank:]
        return Flat(linear((place, i, j), (size(operand.shape[:-2]), *operand.shape[-2:])))

    def write(self, result: Node, made: Local, first: Affine) -> None:
        """Put what was worked out where a result goes."""
        buffer = self.outputs.get(result)
        if buffer is None:
            return
        each = buffer.size // self.batch
        with self.e.remembering():
            lane, closing = ZERO, self.lanes > 1
            if closing:
                high = self.e.clamped(first.times(-1) + self.batch, 0, self.lanes)
                lane = counter(self.c, ZERO, high, (0, self.lanes - 1))
            self.over(ZERO, each, lambda k: self.e.store(made.get(k, lane), buffer, (first + lane).times(each) + k))
            if closing:
                self.w.finish()


class Local:
    """Arrays of numbers side by side: element k of the one in each lane."""

    def __init__(self, owner: Factorization, buffer: Buffer) -> None:
        self.owner, self.buffer = owner, buffer

    def _place(self, k: Affine, lane: Affine) -> Affine:
        return k.times(self.owner.lanes) + lane

    def get(self, k: Affine, lane: Affine) -> Number:
        """A number as it is now."""
        return current(self.owner.c.e, self.buffer, self._place(k, lane))

    def put(self, value: Number, k: Affine, lane: Affine) -> None:
        """Write one."""
        self.owner.e.store(value, self.buffer, self._place(k, lane))


@cache
def _numpy_fuses() -> bool:
    """Whether NumPy's LAPACK adds products up with fused additions in small LU factors."""
    return bool(np.linalg.det(np.array(SINGULAR)) != 0)


class LU(Factorization):
    """getrf: (factors, pivots counted from 1, 0 or the first pivot that is zero, counted from 1)."""

    def operations(self) -> float:
        rows, columns = self.node.operands[0].shape[-2:]
        return rows * columns * min(rows, columns) + 4 * rows * columns

    def compute(self, first: Affine) -> None:
        rows, columns = self.rows, self.columns = self.node.operands[0].shape[-2:]
        least = min(rows, columns)
        self.m = self.read(self.node.operands[0], first)
        self.pivots, self.info = self.local(least, PLACE), self.local(1, PLACE)
        self.best, self.total, self.chosen = self.local(1), self.local(1), self.local(1, PLACE)
        self.by_columns = least <= BY_COLUMNS
        self.side_by_side(lambda lane: self.info.put(self.constant(0, PLACE), ZERO, lane))
        self.over(ZERO, least, self._step)
        if self.by_columns and columns > least:
            self.over(number(least), columns, lambda j: self.over(number(1), rows, lambda i: self._subtract(i, j, i)))
        for result, made in zip(self.node.results, (self.m, self.pivots, self.info), strict=True):
            self.write(result, made, first)

    def _at(self, i: Affine, j: Affine) -> Affine:
        return linear((i, j), (self.rows, self.columns))

    def _step(self, k: Affine) -> None:
        """Find a pivot, put its row in place, and clear the column below."""
        if self.by_columns:
            self.below(k, self.rows, lambda i: self._subtract(i, k, i))
            self.over(k, self.rows, lambda i: self._subtract(i, k, k))

        def begin(lane: Affine) -> None:
            self.best.put(self.do("abs", self.m.get(self._at(k, k), lane)), ZERO, lane)
            self.chosen.put(self.place(k), ZERO, lane)
        self.side_by_side(begin)
        self.over(k + 1, self.rows, lambda i: self.side_by_side(lambda lane: self._compare(i, k, lane)))
        self.side_by_side(lambda lane: self.pivots.put(
            self.do("add", self.chosen.get(ZERO, lane), self.constant(1, PLACE)), k, lane))
        if self.lanes == 1:
            self._exchange(k)
        else:
            self.over(k + 1, self.rows, lambda i: self.over(ZERO, self.columns, lambda j: self.side_by_side(
                lambda lane: self._choose(i, j, k, lane))))
        self.side_by_side(lambda lane: self._check(k, lane))
        self.over(k + 1, self.rows, lambda i: self._clear(i, k))

    def _compare(self, i: Affine, k: Affine, lane: Affine) -> None:
        here, best = self.do("abs", self.m.get(self._at(i, k), lane)), self.best.get(ZERO, lane)
        better = self.test("GT", here, best)
        self.best.put(self.a.select(better, here, best), ZERO, lane)
        self.chosen.put(self.a.select(better, self.place(i), self.chosen.get(ZERO, lane)), ZERO, lane)

    def _exchange(self, k: Affine) -> None:
        """Two rows change places."""
        other = self.e.clamped(self.a.as_index(self.chosen.get(ZERO, ZERO)), 0, self.rows - 1)

        def element(j: Affine) -> None:
            mine, theirs = self.m.get(self._at(k, j), ZERO), self.m.get(self._at(other, j), ZERO)
            self.m.put(theirs, self._at(k, j), ZERO)
            self.m.put(mine, self._at(other, j), ZERO)
        self.over(ZERO, self.columns, element)

    def _choose(self, i: Affine, j: Affine, k: Affine, lane: Affine) -> None:
        """Row i changes places with row k where it has the pivot."""
        here = self.test("EQ", self.chosen.get(ZERO, lane), self.place(i))
        upper, lower = self.m.get(self._at(k, j), lane), self.m.get(self._at(i, j), lane)
        self.m.put(self.a.select(here, lower, upper), self._at(k, j), lane)
        self.m.put(self.a.select(here, upper, lower), self._at(i, j), lane)

    def _check(self, k: Affine, lane: Affine) -> None:
        """Note a pivot of zero; below it are zeros, which stay as they are. So does what is below NaN, as in LAPACK."""
        pivot, info = self.m.get(self._at(k, k), lane), self.info.get(ZERO, lane)
        zero, none = self.test("EQ", pivot, self.constant(0.0)), self.test("EQ", info, self.constant(0, PLACE))
        first = self.do("and", zero, none)
        self.info.put(self.a.select(first, self.place(k + 1), info), ZERO, lane)
        divides = self.test("GT", self.do("abs", pivot), self.constant(0.0))
        self.best.put(self.a.select(divides, pivot, self.constant(1.0)), ZERO, lane)

    def _subtract(self, i: Affine, j: Affine, end: Affine) -> None:
        """From an element what all steps before `end` subtract from it, added up first."""
        self.side_by_side(lambda lane: self.total.put(self.constant(0.0), ZERO, lane))
        self.below(end, BY_COLUMNS, lambda k: self.side_by_side(lambda lane: self.total.put(self._plus_product(
            self.m.get(self._at(i, k), lane), self.m.get(self._at(k, j), lane), self.total.get(ZERO, lane)),
            ZERO, lane)))
        self.side_by_side(lambda lane: self.m.put(self.do(
            "subtract", self.m.get(self._at(i, j), lane), self.total.get(ZERO, lane)), self._at(i, j), lane))

    def _plus_product(self, x: Number, y: Number, total: Number) -> Number:
        if engine.has_feature("fma") and _numpy_fuses():
            return self.a.op("math.fma", (x, y, total), self.dtype)
        return self.do("add", total, self.do("multiply", x, y))

    def _scale(self, at: Affine, lane: Affine) -> None:
        """By the reciprocal of the pivot, where that is a normal number."""
        mine, pivot = self.m.get(at, lane), self.best.get(ZERO, lane)
        usual = self.test("GE", self.do("abs", pivot), self.constant(float(np.finfo(self.dtype).tiny)))
        inverse = self.do("divide", self.constant(1.0), pivot)
        self.m.put(self.a.select(usual, self.do("multiply", mine, inverse), self.do("divide", mine, pivot)), at, lane)

    def _clear(self, i: Affine, k: Affine) -> None:
        at = self._at(i, k)
        if self.by_columns:
            self.side_by_side(lambda lane: self._scale(at, lane))
            return
        self.side_by_side(lambda lane: self.m.put(
            self.do("divide", self.m.get(at, lane), self.best.get(ZERO, lane)), at, lane))
        self.over(k + 1, self.columns, lambda j: self.side_by_side(lambda lane: self.m.put(
            self.do("subtract", self.m.get(self._at(i, j), lane),
                    self.do("multiply", self.m.get(at, lane), self.m.get(self._at(k, j), lane))),
            self._at(i, j), lane)))


class Cholesky(Factorization):
    """potrf: (factor in one triangle, the other as it was, 0 or where it fails, counted from 1)."""

    def operations(self) -> float:
        n: int = self.node.operands[0].shape[-1]
        return n * n * n / 2 + 20 * n

    def compute(self, first: Affine) -> None:
        self.n, self.lower = self.node.operands[0].shape[-1], self.option("uplo") == "L"
        self.m, self.info = self.read(self.node.operands[0], first), self.local(1, PLACE)
        self.side_by_side(lambda lane: self.info.put(self.constant(0, PLACE), ZERO, lane))
        self.over(ZERO, self.n, self._column)
        for result, made in zip(self.node.results, (self.m, self.info), strict=True):
            self.write(result, made, first)

    def _at(self, i: Affine, j: Affine) -> Affine:
        return linear((i, j) if self.lower else (j, i), (self.n, self.n))

    def _column(self, j: Affine) -> None:
        self.below(j, self.n - 1, lambda k: self._subtract(j, j, k))
        self.side_by_side(lambda lane: self._root(j, lane))

        def below(i: Affine) -> None:
            self.below(j, self.n - 1, lambda k: self._subtract(i, j, k))
            self.side_by_side(lambda lane: self.m.put(self.do(
                "divide", self.m.get(self._at(i, j), lane), self.m.get(self._at(j, j), lane)), self._at(i, j), lane))
        self.over(j + 1, self.n, below)

    def _subtract(self, i: Affine, j: Affine, k: Affine) -> None:
        self.side_by_side(lambda lane: self.m.put(self.do(
            "subtract", self.m.get(self._at(i, j), lane), self.do(
                "multiply", self.m.get(self._at(i, k), lane), self.m.get(self._at(j, k), lane))),
            self._at(i, j), lane))

    def _root(self, j: Affine, lane: Affine) -> None:
        square, info = self.m.get(self._at(j, j), lane), self.info.get(ZERO, lane)
        good = self.test("GT", square, self.constant(0.0))
        known = self.test("NE", info, self.constant(0, PLACE))
        self.info.put(self.a.select(self.do("or", good, known), info, self.place(j + 1)), ZERO, lane)
        self.m.put(self.do("sqrt", square), self._at(j, j), lane)


class Triangular(Factorization):
    """trsm: x with op(a) x = b, or x op(a) = b."""

    def operations(self) -> float:
        a, b = self.node.operands
        return a.shape[-1] * size(b.shape[-2:]) + 2 * size(a.shape[-2:])

    def compute(self, first: Affine) -> None:
        self.left, turned = self.option("side") == "L", self.option("trans_x") != "N"
        self.unit, self.turned = self.option("diag") == "U", turned != (not self.left)
        self.n, self.shape = self.node.operands[0].shape[-1], self.node.operands[1].shape[-2:]
        self.count = self.shape[1] if self.left else self.shape[0]
        self.forward = (self.option("uplo") == "L") != self.turned
        self.t, self.x = (self.read(operand, first) for operand in self.node.operands)
        self.over(ZERO, self.n, self._row)
        self.write(self.node, self.x, first)

    def _row(self, step: Affine) -> None:
        i = step if self.forward else step.times(-1) + (self.n - 1)
        if self.forward:
            self.below(step, self.n - 1, lambda j: self._subtract(i, j))
        else:
            self.below(step, self.n - 1, lambda j: self._subtract(i, j.times(-1) + (self.n - 1)))
        if not self.unit:
            at = self._of_triangle(i, i)
            self.over(ZERO, self.count, lambda r: self.side_by_side(lambda lane: self.x.put(self.do(
                "divide", self.x.get(self._of_x(i, r), lane), self.t.get(at, lane)), self._of_x(i, r), lane)))

    def _subtract(self, i: Affine, j: Affine) -> None:
        at = self._of_triangle(i, j)
        self.over(ZERO, self.count, lambda r: self.side_by_side(lambda lane: self.x.put(self.do(
            "subtract", self.x.get(self._of_x(i, r), lane), self.do(
                "multiply", self.t.get(at, lane), self.x.get(self._of_x(j, r), lane))), self._of_x(i, r), lane)))

    def _of_triangle(self, i: Affine, j: Affine) -> Affine:
        return linear((j, i) if self.turned else (i, j), (self.n, self.n))

    def _of_x(self, i: Affine, r: Affine) -> Affine:
        return linear((i, r) if self.left else (r, i), tuple(self.shape))


def results_to_write(node: Node) -> Sequence[Node]:
    """The results that something reads, or a block gives on."""
    return [r for r in node.results if r.is_read]
