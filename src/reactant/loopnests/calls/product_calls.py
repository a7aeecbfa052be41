"""Products of matrices by BLAS: calls in the place of what XLA's own code is slower at.

One native function for each routine and dtype serves all products: sizes, and how the factors lie, are in an operand.
The work is divided among XLA's threads, by stacks of matrices, rows and columns.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from jaxlib.mlir import ir

from reactant import native
from reactant.ir import attributes as attr
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.types import dtype_of, shape_and_dtype, size
from reactant.loopnests.calls.products import Product, product_of
from reactant.loopnests.emission.supported import product_extents, product_is_small
from reactant.native import blas, bounds, ffi
from reactant.native.threads import cores
from reactant.runtime.layout import BIG
from reactant.runtime.lent import mark

PRODUCT = "stablehlo.dot_general"
HELD = ("stablehlo.constant", "stablehlo.iota", "stablehlo.reshape")
ELEMENTS = {"float32": "f32", "float64": "f64", "complex64": "complex<f32>", "complex128": "complex<f64>"}
LEAST = {"float32": (1 << 26, 1 << 23), "float64": (1 << 24, 1 << 21), "complex64": (1 << 12, 1 << 12),
         "complex128": (1 << 12, 1 << 12)}
"""Products of numbers in a product of matrices above which it is a call, on one core and on several. XLA's time over
BLAS's, one core: float64 100 x 100 x 100 0.9, 256 0.97, 400 1.1, 800 1.4, 1024 1.7; float32 128 0.8, 400 0.95, 800 1.0,
1024 1.3; complex128 24 1.2, 64 1.5, 100 1.7, 400 1.5. On two, where XLA divides them badly: (5000, 50) (50, 50) 1.6 and
1.8 (one: 0.85 and 1.0), (8, 1000) (1000, 1000) 1.7 and 1.8 (0.96 and 0.84)."""
LEAST_OF_ITSELF = {"float32": 1 << 20, "float64": 1 << 17, "complex64": 1 << 12, "complex128": 1 << 12}
"""The same of a matrix with its transpose, which is half the work: float64 64 x 64 x 64 1.2, 100 1.3, 200 1.5; float32
64 0.9, 100 1.1, 300 1.2; complex128 24 1.8, 200 2.0; (20000, 30)' with itself 2.1, 0.9, 1.2."""
LEAST_LENT = 1 << 20
"""The same of NumPy's memory, of which XLA's code reads an aligned copy: (8, 1000) (1000, 1000), 0.36 times NumPy's
speed."""
STACKED = 4
"""How many times smaller each product of a stack may be, if all together are not."""
FEW_COLUMNS = 32
"""Columns of a real product up to which XLA's code is better at any size: (1000, 1000) by 2, 8, 16 and 32 columns 0.26,
0.34, 0.50 and 0.74, float32 0.52, 0.51, 0.66 and 0.84."""
LEAST_BY_VECTOR = 1 << 13
"""Elements of a complex matrix from which its product with a vector is a call: 50 x 50 1.07, 300 x 300 1.27, 1000 x
1000 1.24."""
LEAST_BY_REAL_VECTOR = 1 << 16
"""The same of a real one, in a program without XLA: loops of ours over BLAS, vector from the left, 100 x 100 0.8, 420 x
420 1.6, 1000 x 1000 1.9, 2000 x 2000 1.4; from the right 0.8, 1.3, 1.1 and 1.5."""
IN_MEMORY = ("stablehlo.custom_call", "stablehlo.while", "stablehlo.if", "stablehlo.case", "stablehlo.fft", PRODUCT)
"""What makes a matrix that loops cannot compute as they go."""
LEAST_PIECE = {"gemm": 1 << 17, "syrk": 1 << 17, "gemv": 1 << 18}
"""Products of numbers that a thread is given at least."""
LINES = 16
"""Rows and columns of which pieces have a multiple."""
MIRRORED = 32
"""Rows and columns of the pieces in which a triangle is copied to the other side."""
SIZES = ("count", "inner", "a_outer", "a_inner", "b_outer", "b_inner", "m", "n", "k", "lda", "ldb", "turned", "chunk",
         "iterations", "columns", "m_each", "n_each")
"""What the operand says, in this order; of `syrk` the rows at which pieces begin and end follow."""
WORKED = 200_000
"""Operations of a piece, for native code to give each to a thread."""


def taken(op: ir.Operation, lent: bool = False, straight: bool = False) -> bool:
    """Whether a product is one for BLAS, if calls may be made: where that is faster than XLA's code and than loops.
    lent: whether the program's arguments are memory of NumPy's, which XLA's code would have to copy. straight: whether
    nothing of the program is XLA's if its products are calls (`native.straight`)."""
    if op.name != PRODUCT or "algorithm" in op.attributes:
        return False
    dtype = dtype_of(op.results[0])
    if dtype.name not in ELEMENTS or any(dtype_of(v) != dtype for v in op.operands):
        return False
    batch, m, n, k = product_extents(op)
    if 0 in (batch, m, n, k):
        return False
    if 1 in (m, n):
        matrix = op.operands[m == 1]
        least = LEAST_BY_VECTOR if dtype.kind == "c" else LEAST_BY_REAL_VECTOR if straight else math.inf
        pays = max(m, n) > 1 and max(m, n) * k >= least and (
            isinstance(matrix.owner, ir.Block) or matrix.owner.name in IN_MEMORY)
    else:
        copied = lent and batch * m * n * k > LEAST_LENT and any(map(_is_lent, op.operands))
        pays = not product_is_small(op) and (straight or copied or _pays(batch, m, n, k, dtype, _is_of_itself(op)))
    return pays and available()


def _is_lent(value: ir.Value) -> bool:
    """Whether a factor is an argument of the program so big that copying it costs something, and used once."""
    shape, dtype = shape_and_dtype(value.type)
    return isinstance(value.owner, ir.Block) and value.owner.owner.operation.name == "func.func" \
        and size(shape) * dtype.itemsize >= BIG and all(use.owner.operation.block == value.owner for use in value.uses)


def _pays(batch: int, m: int, n: int, k: int, dtype: np.dtype, of_itself: bool) -> bool:
    least = LEAST_OF_ITSELF[dtype.name] if of_itself else LEAST[dtype.name][threads() > 1]
    if dtype.kind == "f" and n <= FEW_COLUMNS and not of_itself:
        return False
    each = m * n * k
    return each > least or dtype.kind == "f" and batch * each > least < STACKED * each


def _is_of_itself(op: ir.Operation) -> bool:
    """Whether both factors are the same matrix, contracted along the same dimensions."""
    numbers = attr.decode(op.attributes["dot_dimension_numbers"])
    (left, right), (a, b) = op.operands, numbers.contracting_dims
    return left == right and sorted(a) == sorted(b) and all(x == y for x, y in zip(*numbers.batching_dims, strict=True))


@cache
def available() -> bool:
    """Whether there is a BLAS that can be called from XLA's programs."""
    return ffi.usable() and bool(blas.library())


def threads() -> int:
    """Among how many a product is divided: those that XLA has on this machine."""
    if not blas.divides():
        return 1
    return cores()


def with_calls(module: ir.Module, own: bool, lent: bool = False) -> tuple[ir.Module | None, list[str]]:
    """The module with calls in the place of its products, and a line about each; None where there are none. own:
    whether it may be changed, else a copy is. lent: as of `taken`; such a program may need no XLA at all."""
    with building():
        straight = lent and _is_straight(modules.function(module).regions[0].blocks[0])
        if not any(taken(op, lent, straight) for op in modules.ops_called(PRODUCT, module)):
            return None, []
        made = module if own else modules.clone(module)
        notes = []
        for op in [op for op in modules.ops_called(PRODUCT, made) if taken(op, lent, straight)]:
            with ir.InsertionPoint(op), op.location:
                notes.append(_replace(op))
        return made, [note for note in dict.fromkeys(notes) if note]


def _is_straight(block: ir.Block) -> bool:
    """Whether a program is native calls and products that can be such, and so may be called without XLA."""
    *own, _ = [op.operation for op in block]
    return all(op.name in HELD or taken(op, True, True) or op.name == "stablehlo.custom_call"
               and native.of_target(ops.target_of(op)) is not None for op in own)


def _replace(op: ir.Operation) -> str:
    product = product_of(op)
    if product is None:
        return ""
    name, told = call_of(product)
    function = function_of(name, product.dtype.name, bounds.wanted())
    matrices = [product.left.value] if name == "syrk" else [product.left.value, product.right.value]
    index = np.dtype(np.int64)
    operands = [*matrices, ops.constant(np.array(told, np.int64), index),
                ops.constant(np.array([*[0] * len(matrices), 1]), index)]      # XLA computes what is the same all over
    made = function.custom_call(operands, [op.results[0].type])
    mark(made[0].owner, len(matrices))
    op.results[0].replace_all_uses_with(made[0])
    op.erase()
    return _note(product, name)


def _note(product: Product, name: str) -> str:
    letter = blas.LETTERS[product.dtype.name]
    stack = f"{product.count} x " if product.count > 1 else ""
    sizes = f"({product.m}, {product.k}) ({product.k}{f', {product.n}' if product.n > 1 else ''})"
    itself = ", of a matrix with itself" if name == "syrk" else ""
    return f"by BLAS: product {stack}{sizes}, {letter}{name}{itself}"


def call_of(product: Product) -> tuple[str, list[int]]:
    """The routine, and what it is told."""
    name = "syrk" if product.of_itself else "gemv" if product.n == 1 else "gemm"
    work, least = product.m * product.n * product.k, LEAST_PIECE[name]
    most = max(min(threads(), product.count * work // least), 1)
    chunk = -(-product.count // most) if product.count >= most else 1
    groups = -(-product.count // chunk)
    rows, columns = divided(product.m, product.n, -(-most // groups))
    m_each, n_each = (max(-(-extent // parts // LINES) * LINES, 1)
                      for extent, parts in ((product.m, rows), (product.n, columns)))
    m_each, n_each = (each if parts > 1 else extent for each, parts, extent in (
        (m_each, rows, product.m), (n_each, columns, product.n)))
    rows, columns = -(-product.m // m_each), -(-product.n // n_each)
    ends: list[int] = []
    if name == "syrk":
        rows, columns = rows * columns, 1
        ends = triangle_pieces(product.m, rows)
        rows = len(ends) - 1
    left, right = product.left, product.right
    told = {"count": product.count, "inner": product.inner, "a_outer": left.outer, "a_inner": left.inner,
            "b_outer": right.outer, "b_inner": right.inner, "m": product.m, "n": product.n, "k": product.k,
            "lda": left.leading, "ldb": right.leading, "turned": left.turned + 2 * (right.turned and name == "gemm"),
            "chunk": chunk, "iterations": groups * rows * columns, "columns": columns if name != "syrk" else rows,
            "m_each": m_each, "n_each": n_each}
    return name, [told[each] for each in SIZES] + ends


def divided(m: int, n: int, pieces: int) -> tuple[int, int]:
    """Into how many rows and columns of pieces a result is divided, so that they are nearly square."""
    if n == 1:
        return pieces, 1
    ways = [(rows, pieces // rows) for rows in range(1, pieces + 1) if pieces % rows == 0]
    return min(ways, key=lambda way: m / way[0] + n / way[1] if way[0] <= m and way[1] <= n else math.inf)


def triangle_pieces(n: int, pieces: int) -> list[int]:
    """Rows of an upper triangle at which pieces of the same work begin, and n."""
    rows = (n - n * math.sqrt(1 - p / pieces) for p in range(1, pieces))
    return sorted({0, n, *(min(round(row / LINES) * LINES, n) for row in rows)})


@cache
def function_of(name: str, dtype: str, checked: bool = False) -> native.NativeFunction:
    """The native function of a routine. checked: whether the environment asks for checks, which are part of it."""
    text = {"gemm": _gemm, "gemv": _gemv, "syrk": _syrk}[name](ELEMENTS[dtype], blas.LETTERS[dtype] + name)
    matrices = 1 if name == "syrk" else 2
    return native.compile(text, roles=["in"] * (matrices + 2) + ["out"], where="product of matrices")


PIECE = "memref<?x{}, strided<[1], offset: ?>>"


class _Text:
    """The text of a function: index arithmetic line by line."""

    def __init__(self, element: str, routine: str, memories: Sequence[str], numbers: int) -> None:
        self.element, self.routine, self.memories = element, routine, list(memories)
        self.memory, self.piece = f"memref<?x{element}>", PIECE.format(element)
        self.types = [self.piece] * len(memories) + ["index"] * (numbers + len(memories))
        self.lines: list[str] = []
        self.count = 0

    def let(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"%v{self.count} = {text}")
        return f"%v{self.count}"

    def number(self, value: int) -> str:
        return self.let(f"arith.constant {value} : index")

    def do(self, op: str, *values: str) -> str:
        found = values[0]
        for value in values[1:]:
            found = self.let(f"arith.{op} {found}, {value} : index")
        return found

    def plus_product(self, total: str, *pairs: tuple[str, str]) -> str:
        for a, b in pairs:
            total = self.do("addi", total, self.do("muli", a, b))
        return total

    def told(self, memory: str, place: str, extent: str) -> str:
        found = self.let(f"memref.load {memory}[{place}] : memref<{extent}xi64>")
        return self.let(f"arith.index_cast {found} : i64 to index")

    def sizes(self, extent: str) -> None:
        """Load what the operands say."""
        self.lines += ["%zero = arith.constant 0 : index", "%one = arith.constant 1 : index"]
        self.of = {name: self.told("%told", self.number(k), extent) for k, name in enumerate(SIZES)}
        for k, memory in enumerate(self.memories[:-1]):
            self.of[f"start_{memory}"] = self.told("%starts", self.number(k), "?")

    def span(self, lines: str, each: str, leading: str) -> str:
        """Elements of memory from the first to the last of a matrix."""
        return self.do("addi", self.do("muli", self.do("subi", lines, "%one"), leading), each)

    def lying(self, memory: str, turned: str, rows: str, columns: str) -> tuple[str, str]:
        """(elements from a row to the next, span of so many rows and columns) of a matrix that may lie by columns."""
        leading = self.of["lda" if memory == "a" else "ldb"]
        lines, each = (self.let(f"arith.select {turned}, {x}, {y} : index") for x, y in ((columns, rows),
                                                                                       (rows, columns)))
        row = self.let(f"arith.select {turned}, %one, {leading} : index")
        return row, self.span(lines, each, leading)

    def call(self, pieces: Sequence[tuple[str, str]], numbers: Sequence[str]) -> None:
        """The routine, on (offset, span) of each memory."""
        parts = [self.let(f"memref.subview %{memory}[{offset}] [{span}] [1] : {self.memory} to {self.piece}")
                 for memory, (offset, span) in zip(self.memories, pieces, strict=True)]
        given = [*parts, *numbers, *(span for _, span in pieces)]
        self.lines.append(f"func.call @blas.{self.routine}({', '.join(given)}) : ({', '.join(self.types)}) -> ()")

    def finished(self, name: str, extent: str) -> str:
        memories = ", ".join(f"%{m}: {self.memory}" for m in self.memories[:-1])
        return "\n".join([
            f"func.func private @blas.{self.routine}({', '.join(self.types)})",
            "func.func private @blas.enter()", "func.func private @blas.leave()",
            f"func.func @{name}({memories}, %told: memref<{extent}xi64>, %starts: memref<?xi64>, "
            f"%{self.memories[-1]}: {self.memory}) {{", *self.lines, "return", "}"])

    def over_pieces(self, iterations: str) -> tuple[str, str, str]:
        """Begin the loops: (piece, number of the matrix in its stack, its place along the stack's two dimensions)."""
        of = self.of
        each = of["iterations_each"]
        self.lines.append(f"scf.parallel (%iteration) = (%zero) to ({iterations}) step (%one) {{")
        self.lines.append("func.call @blas.enter() : () -> ()")
        group, piece = self.do("divui", "%iteration", each), self.do("remui", "%iteration", each)
        first = self.do("muli", group, of["chunk"])
        last = self.do("minui", self.do("addi", first, of["chunk"]), of["count"])
        self.lines.append(f"scf.for %t = {first} to {last} step %one {{")
        return piece, self.do("divui", "%t", of["inner"]), self.do("remui", "%t", of["inner"])

    def end_pieces(self) -> None:
        self.lines += ["}", "func.call @blas.leave() : () -> ()", "scf.reduce",
                       f"}} {{reactant.work = {WORKED} : i64}}"]


def _gemm(element: str, routine: str) -> str:
    t = _Text(element, routine, ("a", "b", "c"), 7)
    t.sizes(str(len(SIZES)))
    of = t.of
    rows = t.do("divui", t.do("subi", t.do("addi", of["m"], of["m_each"]), "%one"), of["m_each"])
    of["iterations_each"] = t.do("muli", rows, of["columns"])
    two = t.number(2)
    turned_a = t.let(f"arith.cmpi ne, {t.do('remui', of['turned'], two)}, %zero : index")
    turned_b = t.let(f"arith.cmpi uge, {of['turned']}, {two} : index")
    piece, outer, inner = t.over_pieces(of["iterations"])
    i, j = (t.do("muli", t.do(op, piece, of["columns"]), of[each])
            for op, each in (("divui", "m_each"), ("remui", "n_each")))
    m, n = (t.do("minui", t.do("subi", of[extent], first), of[f"{extent}_each"]) for extent, first in (("m", i),
                                                                                                       ("n", j)))
    row, span_a = t.lying("a", turned_a, m, of["k"])
    _, span_b = t.lying("b", turned_b, of["k"], n)
    column = t.let(f"arith.select {turned_b}, {of['ldb']}, %one : index")
    at_a = t.plus_product(of["start_a"], (outer, of["a_outer"]), (inner, of["a_inner"]), (i, row))
    at_b = t.plus_product(of["start_b"], (outer, of["b_outer"]), (inner, of["b_inner"]), (j, column))
    at_c = t.plus_product(j, (t.plus_product(i, ("%t", of["m"])), of["n"]))
    t.call([(at_a, span_a), (at_b, span_b), (at_c, t.span(m, n, of["n"]))],
           [m, n, of["k"], of["lda"], of["ldb"], of["n"], of["turned"]])
    t.end_pieces()
    return t.finished("gemm", str(len(SIZES)))


def _gemv(element: str, routine: str) -> str:
    t = _Text(element, routine, ("a", "x", "y"), 5)
    t.sizes(str(len(SIZES)))
    of = t.of
    of["iterations_each"] = t.do("divui", t.do("subi", t.do("addi", of["m"], of["m_each"]), "%one"), of["m_each"])
    turned = t.let(f"arith.cmpi ne, {of['turned']}, %zero : index")
    piece, outer, inner = t.over_pieces(of["iterations"])
    i = t.do("muli", piece, of["m_each"])
    m = t.do("minui", t.do("subi", of["m"], i), of["m_each"])
    row, span = t.lying("a", turned, m, of["k"])
    at_a = t.plus_product(of["start_a"], (outer, of["a_outer"]), (inner, of["a_inner"]), (i, row))
    at_x = t.plus_product(of["start_x"], (outer, of["b_outer"]), (inner, of["b_inner"]))
    at_y = t.plus_product(i, ("%t", of["m"]))
    t.call([(at_a, span), (at_x, t.span(of["k"], "%one", of["ldb"])), (at_y, m)],
           [m, of["k"], of["lda"], of["ldb"], of["turned"]])
    t.end_pieces()
    return t.finished("gemv", str(len(SIZES)))


def _syrk(element: str, routine: str) -> str:
    t = _Text(element, routine, ("a", "c"), 7)
    t.sizes("?")
    of = t.of
    of["iterations_each"] = of["columns"]
    turned = t.let(f"arith.cmpi ne, {of['turned']}, %zero : index")
    _, span = t.lying("a", turned, of["m"], of["k"])
    matrix = t.do("muli", of["m"], of["m"])
    ends = t.number(len(SIZES))
    piece, outer, inner = t.over_pieces(of["iterations"])
    first, last = (t.told("%told", t.do("addi", place, ends), "?") for place in (piece, t.do("addi", piece, "%one")))
    at_a = t.plus_product(of["start_a"], (outer, of["a_outer"]), (inner, of["a_inner"]))
    t.call([(at_a, span), (t.do("muli", "%t", matrix), matrix)],
           [first, last, of["m"], of["k"], of["lda"], of["m"], of["turned"]])
    t.end_pieces()
    _mirror(t, matrix)
    return t.finished("syrk", "?")


def _mirror(t: _Text, matrix: str) -> None:
    """Copy the upper triangles to the lower ones, by square pieces."""
    of, side = t.of, t.number(MIRRORED)
    blocks = t.do("divui", t.do("subi", t.do("addi", of["m"], side), "%one"), side)
    t.lines.append(f"scf.parallel (%line) = (%zero) to ({t.do('muli', blocks, of['count'])}) step (%one) {{")
    start = t.do("muli", t.do("divui", "%line", blocks), matrix)
    i0 = t.do("muli", t.do("remui", "%line", blocks), side)
    i1 = t.do("minui", t.do("addi", i0, side), of["m"])
    t.lines.append(f"scf.for %j0 = %zero to {i1} step {side} {{")
    j1 = t.do("addi", "%j0", side)
    t.lines.append(f"scf.for %i = {i0} to {i1} step %one {{")
    t.lines.append(f"scf.for %j = %j0 to {t.do('minui', j1, '%i')} step %one {{")
    source = t.plus_product(t.do("addi", start, "%i"), ("%j", of["m"]))
    target = t.plus_product(t.do("addi", start, "%j"), ("%i", of["m"]))
    value = t.let(f"memref.load %c[{source}] : {t.memory}")
    t.lines.append(f"memref.store {value}, %c[{target}] : {t.memory}")
    t.lines += ["}", "}", "}", "scf.reduce", "}"]
