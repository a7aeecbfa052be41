"""Which groups of ops pay as native code: a table of what was measured, and the sizes from which it holds.

Times of XLA:CPU over ours (jax 0.10.2, two cores, float64, a million elements unless said): loops over arrays 1.4 (what
XLA fuses in place) to 90 (element by element); sine times cosine 20, powers and arctan2 20, exponentials 1.3 to 5;
softmax of rows of 512 4; sums of rows or columns of an argument 6 to 10; scatter-add 6; gather 1.4 to 8; distances and
their least 5; transposes from 131072 elements on 1.5 to 4, alone and with what is computed around them. As fast either
way: sums, products and selects of whole arrays, stencils, so groups of those alone stay. Slower by ours: products of
matrices from about 32 x 32 x 32.

ns an element, XLA's and ours, one core, 131072 elements:

| | exp | log | tanh | sin, cos | logistic | log1p | expm1 | tan | cbrt | power | atan2 | softmax of rows of 256 |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
| float32 | 0.3 0.2 | 0.5 0.3 | 0.3 0.5 | 4 1 | 0.4 0.2 | 0.6 0.4 | 0.6 0.3 | 8 1 | 10 3 | 3 2.5 | 9 1.3 | 0.4 0.5 |
| float64 | 0.5 0.5 | 4.3 0.9 | 0.4 0.7 | 8 1 | 1.2 0.6 | 3.4 0.8 | 1.0 0.5 | 8 1 | 11 3 | 8 3.6 | 10 1.1 | 0.8 0.8 |

| | asin | acos | atan | asinh | acosh | atanh |
|---|---|---|---|---|---|---|
| float32 | 15 1.9 | 21 1.9 | 12 1.3 | 2 2.6 | 2 4 | 2 2.8 |
| float64 | 11 1.9 | 18 1.9 | 9 1.2 | 6 2.5 | 5 3.6 | 9 2.3 |

A group that is fed by a product which stays with XLA has to win more: XLA makes its reductions, and what is between,
part of the product, and a call of ours costs 5 us there. Products of benchmarks/corpus.py with such groups (softmax,
layer norms, log-likelihoods), XLA alone and with calls: 278 us and 290 (masked_attention), 320 and 399 (small_decoder),
192 and 315 (training_step), 357 and 412 (gaussian_mixture), 152 and 188 (classification).

A loop that stays with XLA, for an op that is not compiled, starts each of its kernels in every iteration: 0.1 us each,
where all ops of a group together are one call of 0.2. A Kalman filter of 6 states, whose iteration inverts a matrix by
LAPACK: 384 us for 50 iterations, 134 with calls. """
from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from reactant.ir import attributes as attr
from reactant.ir import cost
from reactant.ir.types import dtype_of, shape_of, size
from reactant.loopnests.calls import product_calls
from reactant.loopnests.emission.factorizations import is_small
from reactant.loopnests.emission.numbers import EXPENSE
from reactant.loopnests.emission.supported import product_extents
from reactant.runtime import repeats

LEAST_ELEMENTS = 4096
"""Elements of the biggest array from which a group without loops is worth a call."""
LEAST_MOVED = 1 << 15
"""Elements from which gathers, scatters and reductions are, and arrays that are put together of pieces (XLA makes each
of them a kernel: four `roll`s of 256 x 256 float32 214 us and 70, `pad` and a stencil 201 and 60, borders written one
after the other 240 and 119)."""
LEAST_TURNED = 1 << 17
"""Elements from which transposes are, arrays that are selected, or several results of the same loops."""
LEAST_AFTER_PRODUCT = 1 << 19
"""Elements from which what XLA computes as fast as we do is, after a product: memory decides then."""
MOST_ROW_SUMS = 2
"""Up to so many sums of rows that are spread over the rows again are XLA's whatever the size: its library makes them
with the product (gradients of softmax attention, 4 x 8 heads of 32, 128 places: 1.5 ms and 1.8, 256 places 6.6 and 8.4,
float64 15.8 and 38). More are ours (layer norm of 1024 x 512 products, four: 0.83 and 0.73)."""
DEAR = {name if "." in name else "stablehlo." + name for name, cost in EXPENSE.items() if cost >= 20}
AS_DEAR_FOR_US = {4: {"stablehlo." + n for n in ("exponential", "tanh", "log", "log_plus_one", "exponential_minus_one",
                                                 "logistic")},
                  8: {"stablehlo.exponential", "stablehlo.tanh"}}
"""By bytes of a number: ops that XLA has as fast, or faster."""
SLOWER_BY_US = {4: {"stablehlo.tanh", "chlo.asinh", "chlo.acosh", "chlo.atanh"}, 8: {"stablehlo.tanh"}}
GAINS = {4: {"exponential": 0.1, "log": 0.2, "tanh": -0.2, "logistic": 0.2, "log_plus_one": 0.2,
             "exponential_minus_one": 0.3, "power": 0.5, "chlo.asinh": -0.6, "chlo.acosh": -1.8, "chlo.atanh": -0.8},
         8: {"exponential": 0.0, "tanh": -0.3, "exponential_minus_one": 0.5, "logistic": 0.6}}
"""By bytes of a number: ns an element that we are faster by, or slower; of what is not here, `MUCH`."""
MUCH = 3.0
PASSING_OVER = 0.7
"""ns an element of reductions to the greatest number that pass NaN over (rows of 500: 0.9 by XLA, 0.2 by us)."""
LOST_BY_SPREADING = {4: 0.15, 8: 0.3}
"""By bytes of a number: ns an element that we lose where exponentials are summed along rows and the sums spread over
the rows again: we keep what XLA's library computes anew (softmax of a million elements, rows of 128: 256 us and 394,
float64 512 and 862; log_softmax 285 and 316, 556 and 647), on all threads from `LEAST_SPREAD` elements on."""
LEAST_SPREAD = 1 << 18
"""Up to this XLA is as slow (262,144 elements in rows of 128: 149 us and 114, float64 211 and 220);"""
SHORT_ROWS, LEAST_SPREAD_SHORT, LOST_BY_SHORT = 32, 1 << 16, 3
"""the same of short rows, whose last vectors are not full (262,144 in rows of 10: 179 us and 370), and how many times
as much is lost there (log_softmax of a million float64 in rows of 10: 736 us and 1414, though logarithms gain 300);"""
LEAST_SPREAD_RAGGED = 1 << 13
"""of float32 in rows of 9 to 31 that are not full vectors of 8 (32,768 in rows of 10: 57 us and 77, 20: 50 and 65)."""
MOVED = {"stablehlo." + name for name in ("gather", "scatter", "reduce", "reduce_window")}
PIECED = {"stablehlo." + name for name in ("pad", "concatenate", "dynamic_update_slice", "select")}
COLUMNS = 16
"""Elements of a row up to which writing its columns is worth a call alone: XLA chooses element by element (2 million
bytes into every second place of zeros: 2.1 ms and 0.3, of another array 2.2 and 0.5)."""
UPDATE, _JOINING = "stablehlo.dynamic_update_slice", ("stablehlo.pad", "stablehlo.concatenate")
HOLDERS = ("stablehlo.while", "stablehlo.if", "stablehlo.case")
"""Ops that hold others."""
PRODUCT, CONVOLUTION = "stablehlo.dot_general", "stablehlo.convolution"
TRANSPOSE, SELECT = "stablehlo.transpose", "stablehlo.select"
COUNTED = {"stablehlo." + name for name in (
    "add", "subtract", "multiply", "divide", "maximum", "minimum", "negate", "abs", "compare", "select", "reduce",
    "reduce_window", "scatter", "and", "or", "xor", "not", "remainder", "clamp", "floor", "sign",
    "dot_general")}
"""Ops of which each element counts as an operation."""
LAPACK = "stablehlo.custom_call"
LEAST_FACTORED = 16
"""Small matrices from which LAPACK's routines (those that compile) are worth a call. 1,000 of float64, us by XLA and as
calls: solves of 4 x 4 278 and 119, determinants 153 and 63, Cholesky factors 98 and 54; of 8 x 8 966 and 267, 885 and
137, 255 and 150."""
LEAST_REPEATED = 20_000
"""ns that XLA spends on what it has computed already (`reactant.runtime.repeats`) from which a group is worth a call:
80 steps of two results each, of single numbers, 8,060 us by XLA and 12 as a call, 40 of 20,000 numbers 632,000 and
545."""
LAUNCHED = MOVED | {PRODUCT, LAPACK} | {"stablehlo." + name for name in ("dynamic_update_slice", "concatenate")}
"""Ops that begin or end a kernel of XLA's."""
LEAST_LAUNCHED = 4
"""Of these, from which small ops in a loop are worth a call,"""
MOST_SMALL = 1024
"""and the elements to which an op is small: what is updated is copied for the call."""
UPDATES = {"stablehlo.dynamic_update_slice": (1, 4), "stablehlo.scatter": (2, 64)}
"""The operand with which an op changes an array, and how many times smaller it is than an array that is not worth being
copied for a call (LSTM of 2000 x 24, 30 iterations that keep their states: 294 us an iteration, 135 without the copy).
XLA takes as long for an update that it scatters as for copying dozens of elements."""
LEAST_KERNELS = 6
"""Outside of loops: kernels of XLA's from which a group is worth a call whatever its size,"""
KERNEL, CALL = 300, 1000
"""and ns that each of them costs beside its work, and a call of ours: associative scans of 256 x 16 float32 (40 pads
and concatenations, 27 kernels) 41 us and 6.4, its gradient 76 and 9.4; (x - mean, turned by one) 4 times on 64 to 1024
elements 8 and 5. XLA's own client runs a program of more than 1000 operations, calls of ours not counted, in another
thread, which costs 5 to 20 us more."""
LONG = 30
"""Operations of a group in a loop from which it is worth a call between products, too, on arrays smaller than
`LEAST_TURNED`: of what is read at several places, as recursions of splines are, XLA makes dozens of kernels (a step of
training a Kolmogorov-Arnold network, `examples.kan`, 81 of them: 2.1 and 3 times as fast)."""
LEAST_HANDED_OVER, HANDING_OVER = 1000, 8000
"""Operations, functions such as exp not counted, from which XLA's own client runs a program in another thread, and ns
that this costs: a call of ours counts as none. Of `LEAST_MOVED` elements at most.
"""
MOST_LITTLE = 200_000
"""ns of a program up to which one thread does it: to wake another takes 50 us."""
AROUND = 30_000
"""ns that XLA's way to a program and back costs, NumPy arrays in and out (`native.straight`)."""
SEEN = {"stablehlo." + name for name in ("slice", "broadcast_in_dim", "reshape", "reverse")}
"""Ops that move nothing: what reads them reads elsewhere."""
ELEMENT, DEAR_ELEMENT, FETCHED, SORTED = 0.5, 2.0, 2.0, 20.0
"""ns an element of 8 bytes: of ops, of functions such as exp, what is moved to other places, and sorted."""
MOST_CALLS = 4
"""Calls that a whole program may become for that,"""
SLOWER_PRODUCT = 0.03
"""and ns a product of two numbers that we lose in products of matrices."""
MOST_MULTIPLIED = 4096
"""Products of numbers in a product of matrices that we compute as fast as XLA."""
MOST_MATRICES = 2
"""Big matrices that are multiplied by a vector in one group of ours."""
THIN = 16
"""Rows up to which a product is no work for XLA's products, from `LEAST_TURNED` elements on; of smaller ones, those by
vectors (us, XLA's and ours, n x n by n x 4 float64: n = 200 28 and 37, n = 1000 334 and 191, n = 3000 6423 and 3539;
NumPy: 16, 214, 3520)."""


def _iterations(op: ir.Operation) -> bool:
    """Whether a transpose moves elements, and is more than a way in which a product reads a factor."""
    shape, order = shape_of(op.operands[0]), attr.decode(op.attributes["permutation"])
    moved = [d for d in order if shape[d] > 1]
    return moved != sorted(moved) and any(use.owner.name != PRODUCT for use in op.results[0].uses)


def _elements(op: ir.Operation) -> int:
    values = list(op.results)
    if op.name in MOVED or op.name == PRODUCT:
        values += op.operands
    return max([size(shape_of(v)) for v in values], default=0)


def _is_dear(op: ir.Operation, but: dict[int, set[str]]) -> bool:
    return op.name in DEAR and op.name not in but.get(dtype_of(op.results[0]).itemsize, ())


def _gained(ops: Sequence[ir.Operation], least: int = LEAST_ELEMENTS) -> float:
    """ns that the functions of a group gain by us, of arrays of so many elements."""
    def each(op: ir.Operation) -> float:
        return GAINS.get(dtype_of(op.results[0]).itemsize, {}).get(op.name.removeprefix("stablehlo."), MUCH)
    return sum(_elements(op) * each(op) for op in ops if op.name in DEAR and _elements(op) >= least) \
        + PASSING_OVER * sum(_elements(op) for op in ops if op.name == "stablehlo.reduce" and _chooses(op))


def _chooses(op: ir.Operation) -> bool:
    """Whether a reduction of one array compares and chooses: an extreme that passes NaN over."""
    body = op.regions[0].blocks[0].operations
    return len(op.results) == 1 and any(inner.name == "stablehlo.compare" for inner in body)


def _spread(ops: Sequence[ir.Operation]) -> tuple[tuple[int, ...], float]:
    """The shape of many exponentials that are summed along rows, where what is made of the sums is spread again, and
    the ns that this costs us; ((), 0) where there are none."""
    exponentials = {op.results[0] for op in ops if op.name == "stablehlo.exponential"}
    shape: tuple[int, ...] = ()
    lost = 0.0
    for op in ops if exponentials else ():
        result = shape_of(op.results[0]) if len(op.results) else ()
        if op.name == "stablehlo.reduce" and op.operands[0] in exponentials:
            given = shape_of(op.operands[0])
            row, itemsize = size(given) // max(size(result), 1), dtype_of(op.operands[0]).itemsize
            ragged = itemsize == 4 and row > 8 and row % 8 != 0
            least = LEAST_SPREAD if row >= SHORT_ROWS else LEAST_SPREAD_RAGGED if ragged else LEAST_SPREAD_SHORT
            if size(given) > least and len(given) - 1 in attr.decode(op.attributes["dimensions"]):
                each = LOST_BY_SPREADING.get(itemsize, 0)
                shape, lost = given, size(given) * each * (LOST_BY_SHORT if row < SHORT_ROWS else 1)
        elif op.name == "stablehlo.broadcast_in_dim" and result == shape \
                and 1 < size(shape_of(op.operands[0])) < size(result):
            return shape, lost
    return (), 0.0


def _scales_rows(ops: Sequence[ir.Operation]) -> bool:
    """Whether few numbers of whole rows, such as their sums, are spread over the rows again."""
    reductions = [op for op in ops if op.name == "stablehlo.reduce"]
    rows = {shape_of(op.operands[0]) for op in reductions
            if list(attr.decode(op.attributes["dimensions"])) == [len(shape_of(op.operands[0])) - 1]}
    return 0 < len(reductions) <= MOST_ROW_SUMS and any(
        op.name == "stablehlo.broadcast_in_dim" and shape_of(op.results[0]) in rows
        and 1 < size(shape_of(op.operands[0])) < size(shape_of(op.results[0])) for op in ops)


def _fetched(op: ir.Operation) -> int:
    """Elements that are moved to other places, or gone through one after the other."""
    word = op.name.removeprefix("stablehlo.")
    moved = {"gather": op.results, "scatter": op.operands, "reduce_window": op.operands}.get(word, ())
    return size(shape_of(moved[-1 if word == "scatter" else 0])) if len(moved) else 0


def waits(op: ir.Operation) -> bool:
    """Whether an op is best computed where its result is used, from what it is made of: it costs little, and makes as
    much as it reads at least."""
    return op.name not in MOVED and op.name not in DEAR and op.name != PRODUCT and len(op.operands) > 0 and \
        size(shape_of(op.results[0])) >= max([size(shape_of(v)) for v in op.operands])


def is_in_place(op: ir.Operation) -> bool:
    """Whether an op in a loop that stays with XLA changes little of an array that the loop carries: XLA does it in
    place, a call would copy the array."""
    if op.name not in UPDATES:
        return False
    (position, times), array = UPDATES[op.name], op.operands[0]
    return isinstance(array.owner, ir.Block) and len(op.results) == 1 \
        and MOST_SMALL < size(shape_of(array)) >= times * size(shape_of(op.operands[position]))


def _repeats(ops: Sequence[ir.Operation]) -> bool:
    """Whether XLA would compute the same again and again for a concatenation or what is reversed: we keep what is used
    often."""
    return any(op.name in (repeats.CONCATENATE, repeats.REVERSE) for op in ops) \
        and repeats.nanoseconds(ops) > LEAST_REPEATED


def _factored(op: ir.Operation) -> bool:
    """Whether an op is a routine of LAPACK's for many small matrices."""
    return op.name == LAPACK and is_small(op) and size(shape_of(op.operands[0])[:-2]) >= LEAST_FACTORED


def fed_by_product(ops: Sequence[ir.Operation]) -> bool:
    """Whether a group reads a product of XLA's, or a convolution, that is not part of it."""
    return any(op.name == CONVOLUTION or op.name == PRODUCT and not product_calls.taken(op) for op in _read(ops))


def _fed_in_turned_layout(ops: Sequence[ir.Operation]) -> bool:
    """Whether a group reads a convolution whose channels are not last: XLA computes with them last, and turns what it
    makes together with what follows, whatever the size (normalisation between convolutions, four million: 37 ms, with
    calls 42; channels last: 6.0 and 5.4)."""
    return any(op.name == CONVOLUTION and stablehlo.ConvDimensionNumbers(
        op.attributes["dimension_numbers"]).output_feature_dimension < len(shape_of(op.results[0])) - 1
               for op in _read(ops))


def _read(ops: Sequence[ir.Operation]) -> list[ir.Operation]:
    """The ops whose results a group reads and which are not part of it."""
    own = {result for op in ops for result in op.results}
    return [value.owner for op in ops for value in op.operands
            if value not in own and not isinstance(value.owner, ir.Block)]


def _feeds_product(ops: Sequence[ir.Operation]) -> bool:
    """Whether a product of XLA's that is not part of a group reads what it makes: its library scales rows while it
    reads them (rows of 4096 x 512 float32 over their norms, by 512 x 16: 1.5 ms and 3.4; of 64 x 128 x 32, by each
    other: 1.9 and 2.4)."""
    own = set(ops)
    return any(use.owner.name == PRODUCT and use.owner not in own and not product_calls.taken(use.owner.operation)
               for op in ops for result in op.results for use in result.uses)


def _is_thin(product: ir.Operation) -> bool:
    """Whether a factor of a product has few rows (or columns) of its own: of two big ones XLA makes it as fast, with
    all threads ((200, 4) by (4, 200): 42 us, here some 70)."""
    numbers = attr.decode(product.attributes["dot_dimension_numbers"])
    gone = [{*numbers.contracting_dims[side], *numbers.batching_dims[side]} for side in (0, 1)]
    rows = min(size([n for d, n in enumerate(shape_of(v)) if d not in some])
               for v, some in zip(product.operands, gone, strict=True))
    return rows <= (THIN if _elements(product) >= LEAST_TURNED else 1)


def _many_matrices_by_vectors(ops: Sequence[ir.Operation]) -> bool:
    """Whether a group multiplies many matrices, none of which it computes, by vectors: each comes from memory once,
    and XLA multiplies several at a time, each on a thread of its own (16 of 512 x 512 float32, 5 times: 7.7 ms and
    14.0; slices of one array, which XLA copies: 62.8 and 11.3)."""
    matrices = {max(op.operands, key=lambda v: size(shape_of(v))) for op in ops
                if op.name == PRODUCT and _elements(op) >= LEAST_MOVED and 1 in product_extents(op)[1:3]}
    return len(matrices.difference(result for op in ops for result in op.results)) > MOST_MATRICES


def _multiplied(op: ir.Operation) -> int:
    """Products of numbers in a product of matrices."""
    left, right, result = (size(shape_of(v)) for v in (*op.operands, op.results[0]))
    shared = left * right // max(result, 1)             # batch dimensions times the contracted ones squared
    return int(result * max(shared, 1) ** 0.5)


def _launches_pay(ops: Sequence[ir.Operation]) -> bool:
    """Whether a group of small ops, once for every iteration of a loop, is faster as one call."""
    return sum(op.name in LAUNCHED for op in ops) >= LEAST_LAUNCHED \
        and all(_multiplied(op) <= MOST_MULTIPLIED for op in ops if op.name == PRODUCT)


def interleaves(op: ir.Operation) -> bool:
    """Whether an op puts columns next to each other, or next to what was there, in short rows."""
    if op.name not in (*_JOINING, UPDATE, SELECT):
        return False
    shape = shape_of(op.results[0])
    if len(shape) < 2 or shape[-1] > COLUMNS:
        return False
    if op.name == SELECT:
        return _of_places(op.operands[0])
    pieces = op.operands[1:2] if op.name == UPDATE else op.operands
    return any(shape_of(v)[-1:] not in ((), shape[-1:]) for v in pieces)


def _of_places(mask: ir.Value) -> bool:
    """Whether a condition is of an element's place alone."""
    made = mask.owner
    if isinstance(made, ir.Block):
        return False
    if made.name == "stablehlo.and":
        return all(map(_of_places, made.operands))
    return made.name == "stablehlo.compare" and not isinstance(made.operands[0].owner, ir.Block) \
        and made.operands[0].owner.name == "stablehlo.iota"


def _kernels(ops: Sequence[ir.Operation]) -> int:
    """Kernels that XLA makes of ops, roughly."""
    return sum(op.name in LAUNCHED or op.name == "stablehlo.pad" for op in ops)


def _advantage(ops: Sequence[ir.Operation]) -> float:
    """ns by which a group of small ops is faster as a call of ours."""
    products = sum(_multiplied(op) for op in ops if op.name == PRODUCT)
    return KERNEL * _kernels(ops) + _gained(ops, 1) - SLOWER_PRODUCT * products - CALL


def inline_pays(groups: Sequence[Sequence[ir.Operation]]) -> bool:
    """Whether a program that is nothing but these groups is faster as calls alone, in the thread that calls it."""
    ops = [op for group in groups for op in group]
    if len(groups) > MOST_CALLS or max(map(_elements, ops), default=0) > LEAST_MOVED:
        return False
    counted = sum(2 * _multiplied(op) if op.name == PRODUCT else _elements(op) for op in ops if op.name in COUNTED)
    return counted > LEAST_HANDED_OVER and HANDING_OVER + sum(map(_advantage, groups)) > 0


def straight_pays(ops: Sequence[ir.Operation]) -> bool:
    """Whether a program of these ops alone, which all compile, is faster without XLA."""
    products = sum(_multiplied(op) for op in ops if op.name == PRODUCT and not product_calls.taken(op, True, True))
    return _gained(ops, 1) - _spread(ops)[1] + AROUND > SLOWER_PRODUCT * products


def is_little(ops: Sequence[ir.Operation]) -> bool:
    """Whether there is too little to do in ops for several threads."""
    return sum(map(_takes, ops)) <= MOST_LITTLE


def _takes(op: ir.Operation) -> float:
    """ns of one thread, roughly."""
    if op.name in SEEN:
        return 0.0
    if op.name in HOLDERS:
        counted = cost.of_operation(op)
        return counted.flops + counted.bytes / 8
    elements, dtype = _elements(op), dtype_of(op.results[0])
    if op.name == "stablehlo.sort":
        return SORTED * elements
    if op.name in ("stablehlo.gather", "stablehlo.scatter"):
        return FETCHED * _fetched(op)
    return elements * (DEAR_ELEMENT if op.name in DEAR else ELEMENT) * dtype.itemsize / 8 \
        + (_multiplied(op) * ELEMENT if op.name == PRODUCT else 0)


def may_pay(ops: Sequence[ir.Operation], in_loop: bool = False) -> bool:
    """Whether some group of these ops might be worth a native call: quick to say for a block where none is."""
    for op in ops:
        name = op.name
        if in_loop or name == "stablehlo.while" or _factored(op):
            return True
        elements = _elements(op)
        if elements >= LEAST_ELEMENTS and (name in DEAR or elements >= LEAST_MOVED):
            return True
    return _kernels(ops) >= LEAST_KERNELS or _repeats(ops)


def pays(ops: Sequence[ir.Operation], outputs: Callable[[], int], in_loop: bool = False) -> bool:
    """Whether a group is worth a native call; `outputs`: how many big arrays leave it; `in_loop`: of one that stays
    with XLA. What it says of a group that has none of what `may_pay` looks for is False."""
    if any(op.name == "stablehlo.while" or _factored(op) for op in ops) or _repeats(ops):
        return True
    biggest = max((_elements(op) for op in ops), default=0)
    if not in_loop and biggest < LEAST_TURNED and _kernels(ops) >= LEAST_KERNELS and not fed_by_product(ops) \
            and _advantage(ops) > 0:
        return True
    if biggest < LEAST_ELEMENTS:
        return in_loop and biggest <= MOST_SMALL and _launches_pay(ops)
    fed = fed_by_product(ops) and (biggest < LEAST_AFTER_PRODUCT or _fed_in_turned_layout(ops)) \
        or _scales_rows(ops) and (fed_by_product(ops) or _feeds_product(ops))
    spread, lost = _spread(ops)
    if in_loop and not lost and biggest < LEAST_TURNED and sum(op.name in COUNTED for op in ops) >= LONG:
        return True
    if any(_is_dear(op, AS_DEAR_FOR_US if fed else SLOWER_BY_US) and _elements(op) >= LEAST_ELEMENTS for op in ops) \
            and _gained(ops) >= lost:
        return True
    if lost and all(shape_of(op.operands[0]) == spread for op in ops if op.name in MOVED):
        return False
    if fed:
        return any(_fetched(op) >= LEAST_MOVED for op in ops)
    if biggest < LEAST_MOVED:
        return False
    if any(op.name in MOVED for op in ops if _elements(op) >= LEAST_MOVED):
        return True
    if _many_matrices_by_vectors(ops):
        return False
    if any(op.name == PRODUCT and _is_thin(op) for op in ops if _elements(op) >= LEAST_MOVED):
        return True
    if any(op.name == TRANSPOSE and _elements(op) >= LEAST_TURNED and _iterations(op) for op in ops):
        return True
    if any(interleaves(op) and _elements(op) >= LEAST_MOVED for op in ops):
        return True
    pieced = sum(op.name in PIECED and _elements(op) >= (LEAST_TURNED if op.name == SELECT else LEAST_MOVED)
                 for op in ops)
    return pieced > 1 or biggest >= LEAST_TURNED and len(ops) > 4 and outputs() > 1
