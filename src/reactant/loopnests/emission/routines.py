"""Calls of LAPACK's routines from loops: matrices are put where the results go, which is where the library works.

What the routines are told is LAPACK's documentation; how matrices come to lie by columns is `by_columns`.
"""
from __future__ import annotations

from collections.abc import Callable

from reactant.ir.types import real_dtype, size
from reactant.loopnests.analysis.graph import Node
from reactant.loopnests.emission.affine import ZERO, Affine, number
from reactant.loopnests.emission.buffers import Buffers
from reactant.loopnests.emission.by_columns import CALLED, RESULTS, TURNED, letter, operands_of
from reactant.loopnests.emission.elements import Buffer
from reactant.loopnests.emission.numbers import Number
from reactant.loopnests.emission.scatter import counter
from reactant.loopnests.emission.writer import memory_type
from reactant.native import lapack

PIECE = "memref<?x{}, strided<[1], offset: ?>>"
OTHER = {"L": "U", "U": "L", "N": "T", "T": "N"}
"""The other triangle, and the other way of reading it."""


def emit_routine(compiler: Buffers, node: Node, outputs: dict[Node, Buffer]) -> None:
    """Write the calls; results go to `outputs`, a buffer for each result node that is read."""
    Routine(compiler, node, outputs).emit()


class Routine:
    """One op: a call for each matrix of its stack."""

    def __init__(self, compiler: Buffers, node: Node, outputs: dict[Node, Buffer]) -> None:
        self.c, self.w, self.e, self.a = compiler, compiler.w, compiler.e, compiler.a
        self.node, self.outputs = node, outputs
        self.routine: str = node.attributes[CALLED]
        self.operands = dict(zip(operands_of(self.routine), node.operands, strict=True))
        self.results = dict(zip(RESULTS[self.routine[1:]], node.results, strict=True))
        self.batch = size(self.operands["A"].shape[:-2])
        if self.routine[1:] == "trsm" and letter(node, "side") == "L" and self.operands["B"].shape[-2] == 1:
            self.routine = self.routine[0] + "trsv"         # as LAPACK does
        self.told = self._told()
        self.asked = lapack.asked(self.routine, self.told) | self._asked_by_formula()
        self.told |= {lapack.SIZES[name]: count for name, count in self.asked.items()}
        self.each: dict[str, int] = {}
        """Elements of each memory that belong to one matrix,"""
        self.shared: set[str] = set()
        """memories that all matrices take iterations in,"""
        self.narrowed: list[tuple[str, Node]] = []
        """and integers of the library's that results are made of."""

    def emit(self) -> None:
        """Write all of it."""
        held = {name: self._memory(name) for name in lapack.memories(self.routine)}
        with self.e.remembering():
            if self.batch == 1:
                self._call(held, ZERO)
            else:
                self._call(held, counter(self.c, ZERO, number(self.batch), (0, self.batch - 1)))
                self.w.finish()
        for buffer in {*held.values(), *self.outputs.values()}:
            buffer.version += 1
            buffer.level = self.w.depth

    # ---- memory

    def _memory(self, name: str) -> Buffer:
        """Where a memory is: a result's, with what the op overwrites in it, an operand's, or workspace."""
        operand, result = self.operands.get(name), self.results.get(name)
        dtype = lapack.dtype_in(self.routine, name)
        if operand is not None and result is None:
            self.each[name] = operand.size // self.batch
            return self._of_operand(operand)
        self.each[name] = self.asked.get(name, 1) if result is None else result.size // self.batch
        if result is None or name in lapack.INTEGERS:
            if result in self.outputs:
                self.narrowed.append((name, result))
            self.shared.add(name)
            return self.c.scratch(dtype, self.each[name])
        buffer = self.outputs[result] if result in self.outputs else self.c.scratch(dtype, result.size)
        if operand is not None:
            self.c.copy(operand, buffer)
        return buffer

    def _of_operand(self, operand: Node) -> Buffer:
        found = self.e.storage.get(operand)
        if found is None:
            found = self.c.scratch(operand.dtype, operand.size)
            self.c.copy(operand, found)
        return found

    # ---- the call

    def _call(self, held: dict[str, Buffer], place: Affine) -> None:
        parts, kinds, spans = [], [], []
        for name, buffer in held.items():
            start = (ZERO if name in self.shared else place.times(self.each[name])) + buffer.offset
            part, kind, span = self._part(buffer, start, self.each[name])
            parts.append(part)
            kinds.append(kind)
            spans.append(span)
        numbers = [self.w.index(self.told[name]) for name in lapack.numbers(self.routine)]
        types = ", ".join([*kinds, *["index"] * (len(numbers) + len(spans))])
        callee = f"@{lapack.PREFIX}{self.routine}"
        self.c.declared[callee] = f"func.func private {callee}({types})"
        self.w.line(f"func.call {callee}({', '.join([*parts, *numbers, *spans])}) : ({types}) -> ()")
        for name, result in self.narrowed:
            self._narrow(held[name], self.outputs[result], place.times(self.each[name]), self.each[name])

    def _part(self, buffer: Buffer, start: Affine, count: int) -> tuple[str, str, str]:
        """A part of a buffer, its type, and how long it is."""
        pair, dtype = (2, real_dtype(buffer.dtype)) if buffer.dtype.kind == "c" else (1, buffer.dtype)
        kind = PIECE.format(memory_type(dtype))
        name, offset, span = self.w.fresh("part"), self.w.affine(start.times(pair)), self.w.index(count * pair)
        self.w.line(f"{name} = memref.subview {buffer.name}[{offset}] [{span}] [1] : {buffer.type} to {kind}")
        return self.w.define(name), kind, span

    def _narrow(self, source: Buffer, target: Buffer, start: Affine, count: int) -> None:
        """Integers of the library's, as those of a result."""
        source.version += 1
        source.level = self.w.depth

        def one(k: Affine) -> None:
            value: Number = self.e.load(source, k, source.dtype)
            self.e.store(self.a.convert(value, target.dtype), target, start + k)
        with self.e.remembering():
            if count == 1:
                one(ZERO)
            else:
                one(counter(self.c, ZERO, number(count), (0, count - 1)))
                self.w.finish()

    # ---- what routines are told

    def _told(self) -> dict[str, int]:
        columns, rows = self.operands["A"].shape[-2:]
        common = {"m": rows, "n": columns, "lda": rows}
        of: dict[str, Callable[[], dict[str, int]]] = {
            "potrf": lambda: self._letters(uplo="uplo"), "syevd": lambda: self._letters(jobz="mode", uplo="uplo"),
            "heevd": lambda: self._letters(jobz="mode", uplo="uplo"), "trsm": self._of_triangle,
            "trsv": lambda: self._of_triangle() | {"n": rows, "incb": 1},
            "orgqr": self._of_reflectors, "ungqr": self._of_reflectors, "gesdd": self._of_svd}
        name = self.routine[1:]
        return common | (of[name]() if name in of else {})

    def _letters(self, **names: str) -> dict[str, int]:
        return {told: ord(letter(self.node, name)) for told, name in names.items()}

    def _of_reflectors(self) -> dict[str, int]:
        return {"k": self.operands["TAU"].shape[-1]}

    def _of_svd(self) -> dict[str, int]:
        columns, rows = self.operands["A"].shape[-2:]
        return self._letters(jobz="mode") | {
            "ldu": rows, "ldvt": min(rows, columns) if letter(self.node, "mode") == "S" else columns}

    def _of_triangle(self) -> dict[str, int]:
        columns, rows = self.operands["B"].shape[-2:]
        triangle, iteration = letter(self.node, "uplo"), letter(self.node, "trans_x")
        if TURNED not in self.node.attributes:
            triangle, iteration = OTHER[triangle], OTHER[iteration]
        return self._letters(side="side", diag="diag") | {
            "uplo": ord(triangle), "trans": ord(iteration), "m": rows, "n": columns, "ldb": rows}

    def _asked_by_formula(self) -> dict[str, int]:
        """What `gesdd` says in its documentation alone."""
        if self.routine[1:] != "gesdd":
            return {}
        least, most = sorted(self.operands["A"].shape[-2:])
        found = {"IWORK": 8 * least}
        if self.routine[0] in "cz":
            with_vectors = least * max(5 * least + 7, 2 * most + 2 * least + 1)
            found["RWORK"] = 7 * least if letter(self.node, "mode") == "N" else with_vectors
        return found


__all__ = ["emit_routine"]
