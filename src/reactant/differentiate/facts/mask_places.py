"""How masks lie over arrays: booleans that say the same along some dimensions, and where ops move what they speak of.

Linear ops make each part of their result of some part of an operand. `follower` says for a mask of the operand what it
says of the result, where one place of that mask has places of its own in the result.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.ir.types import shape_of

Atom: TypeAlias = "tuple[ir.Value, tuple[int, ...]]"
"""Booleans, and the dimensions of an array, rising, that theirs are: they say the same along all others."""

SAME_PLACES = ("multiply", "divide", "negate", "add", "subtract", "complex", "real", "imag", "conj", "convert",
               "reduce_precision", "select", "optimization_barrier")
"""Ops whose results are zero where all that they are given is. (An operand of a barrier is its result of that place.)
"""
MOVED = ("broadcast_in_dim", "transpose", "reshape", "slice", "reverse")
"""Ops that put elements elsewhere, and nothing beside them."""
DEPTH = 8
"""How many ops of a mask are looked at, one behind the other."""


# ---- what booleans depend on ---------------------------------------------------------------------------------------

Originals: TypeAlias = Mapping[ir.Value, ir.Value]
"""What values stand for that are put in place later: those of the program that is differentiated."""


def atom_of(booleans: ir.Value, originals: Originals) -> Atom:
    """Booleans without the dimensions along which they are certainly the same."""
    made = ops.made_by(booleans, "broadcast_in_dim")
    if made is not None:
        inner, dimensions = atom_of(made.operands[0], originals)
        into = attr.decode(made.attributes["broadcast_dimensions"])
        return ordered(inner, [into[d] for d in dimensions])
    shape = shape_of(booleans)
    kept = sorted(_varying(booleans, originals, DEPTH))
    if len(kept) == len(shape):
        return booleans, tuple(kept)
    narrow = ops.slice(booleans, [0] * len(shape), [n if d in kept else 1 for d, n in enumerate(shape)])
    return ops.reshape(narrow, [shape[d] for d in kept]), tuple(kept)


def ordered(booleans: ir.Value, dimensions: Sequence[int]) -> Atom:
    """The atom of booleans whose dimensions are those, in that order."""
    order = sorted(range(len(dimensions)), key=lambda i: dimensions[i])
    return ops.transpose(booleans, order), tuple(dimensions[i] for i in order)


def spread(atom: Atom, shape: Sequence[int], dimensions: Sequence[int]) -> ir.Value:
    """An atom as booleans over some dimensions of an array, its own among them."""
    booleans, own = atom
    return ops.broadcast_in_dim(booleans, [shape[d] for d in dimensions], [list(dimensions).index(d) for d in own])


def _varying(value: ir.Value, originals: Originals, depth: int) -> set[int]:
    """Dimensions along which a value may differ."""
    value = originals.get(value, value)
    shape = shape_of(value)
    every = {d for d, n in enumerate(shape) if n != 1}
    op = ops.maker(value) if depth and every else None
    if op is None:
        return every
    word = word_of(op)
    if word == "constant":
        known = ops.constant_value(value)
        return every if known is None else {d for d in every if (known != known.take([0], d)).any()}
    if word == "iota":
        return every & {int(ir.IntegerAttr(op.attributes["iota_dimension"]).value)}
    if word == "broadcast_in_dim":
        into = attr.decode(op.attributes["broadcast_dimensions"])
        return {into[d] for d in _varying(op.operands[0], originals, depth - 1)}
    if word in ("transpose", "reshape"):
        moved, inner = _dimensions(op, 0), _varying(op.operands[0], originals, depth - 1)
        return {moved[d] for d in inner} if inner <= moved.keys() else every
    if op.name in ops.ELEMENTWISE:
        return set().union(*(_varying(x, originals, depth - 1) for x in op.operands))
    return every


# ---- what ops do to places -----------------------------------------------------------------------------------------

def follower(op: ir.Operation, number: int) -> Callable[[Atom], Atom | None]:
    """What atoms over operand `number` say of a result; None where they say nothing of a part of it alone."""
    moved = _dimensions(op, number)
    word = word_of(op)

    def follow(atom: Atom) -> Atom | None:
        booleans, dimensions = atom
        if all(d in moved for d in dimensions):
            return ordered(booleans, [moved[d] for d in dimensions])
        if word == "slice":
            start, limit, strides = (attr.decode(op.attributes[name])
                                     for name in ("start_indices", "limit_indices", "strides"))
            return atom_of_part(ops.slice(booleans, *([given[d] for d in dimensions]
                                                      for given in (start, limit, strides))), dimensions)
        if word == "reverse":
            turned = attr.decode(op.attributes["dimensions"])
            return ops.reverse(booleans, [i for i, d in enumerate(dimensions) if d in turned]), dimensions
        if word == "reshape":
            shape = shape_of(op.operands[0])
            whole = spread(atom, shape, range(len(shape)))
            return atom_of(ops.reshape(whole, shape_of(op.results[0])), {})
        return None
    return follow


def atom_of_part(booleans: ir.Value, dimensions: Sequence[int]) -> Atom:
    """An atom without its dimensions of one element."""
    kept = [i for i, n in enumerate(shape_of(booleans)) if n != 1]
    return ops.reshape(booleans, [shape_of(booleans)[i] for i in kept]), tuple(dimensions[i] for i in kept)


def word_of(op: ir.Operation) -> str:
    """The name of an op without its dialect."""
    return op.name.partition(".")[2]


def _dimensions(op: ir.Operation, number: int) -> dict[int, int]:
    """Dimensions of an operand -> those of the results, where an index in it is made of that index alone."""
    word = word_of(op)
    before = shape_of(op.operands[number])
    find = _DIMENSIONS.get(word)
    if word in SAME_PLACES:
        return {d: d for d in range(len(before))}
    return {} if find is None else find(op, number, before)


def _transposed(op: ir.Operation, number: int, before: tuple[int, ...]) -> dict[int, int]:
    return {d: i for i, d in enumerate(attr.decode(op.attributes["permutation"]))}


def _broadcast(op: ir.Operation, number: int, before: tuple[int, ...]) -> dict[int, int]:
    return dict(enumerate(attr.decode(op.attributes["broadcast_dimensions"])))


def _reshaped(op: ir.Operation, number: int, before: tuple[int, ...]) -> dict[int, int]:
    """Dimensions of the same extent with as much before them."""
    after, found = shape_of(op.results[0]), {}
    places = {}
    stride = 1
    for d, n in enumerate(after):
        places[stride, n] = d
        stride *= n
    stride = 1
    for d, n in enumerate(before):
        if n != 1 and (stride, n) in places:
            found[d] = places[stride, n]
        stride *= n
    return found


def _whole(*names: str) -> Callable[[ir.Operation, int, tuple[int, ...]], dict[int, int]]:
    """Dimensions in which attributes have the numbers of what changes nothing there."""
    nothing = {"edge_padding_low": 0, "edge_padding_high": 0, "interior_padding": 0, "strides": 1, "start_indices": 0}

    def found(op: ir.Operation, number: int, before: tuple[int, ...]) -> dict[int, int]:
        given = {name: attr.decode(op.attributes[name]) for name in names}
        return {d: d for d in range(len(before)) if all(each[d] == nothing[name] for name, each in given.items())
                and shape_of(op.results[0])[d] == before[d]}
    return found


def _extents(op: ir.Operation, number: int, before: tuple[int, ...]) -> dict[int, int]:
    """Dimensions that a slice at a run-time place takes, or a write there fills, from end to end."""
    part = shape_of(op.results[0] if op.name == "stablehlo.dynamic_slice" else op.operands[1])
    return {d: d for d, n in enumerate(shape_of(op.operands[0])) if part[d] == n} if number < 2 else {}


def _others(name: str) -> Callable[[ir.Operation, int, tuple[int, ...]], dict[int, int]]:
    """All dimensions but those that an attribute names."""
    def found(op: ir.Operation, number: int, before: tuple[int, ...]) -> dict[int, int]:
        named = attr.decode(op.attributes[name])
        named = (named,) if isinstance(named, int) else named
        return {d: d for d in range(len(before)) if d not in named}
    return found


def _reduced(op: ir.Operation, number: int, before: tuple[int, ...]) -> dict[int, int]:
    removed = attr.decode(op.attributes["dimensions"])
    if not before:                                                                             # where it starts from
        return {}
    return {d: i for i, d in enumerate(d for d in range(len(before)) if d not in removed)}


def _windows(op: ir.Operation, number: int, before: tuple[int, ...]) -> dict[int, int]:
    after, windows = shape_of(op.results[0]), attr.decode(op.attributes["window_dimensions"])
    return {d: d for d in range(len(before)) if windows[d] == 1 and after[d] == before[d]} if before else {}


def _product(op: ir.Operation, number: int, before: tuple[int, ...]) -> dict[int, int]:
    numbers = attr.decode(op.attributes["dot_dimension_numbers"])
    batch, contract = numbers.batching_dims, numbers.contracting_dims
    free = [d for d in range(len(before)) if d not in batch[number] and d not in contract[number]]
    left = len(shape_of(op.operands[0])) - len(contract[0]) if number else len(batch[0])
    return {**{d: i for i, d in enumerate(batch[number])}, **{d: left + i for i, d in enumerate(free)}}


def _matrices(op: ir.Operation, number: int, before: tuple[int, ...]) -> dict[int, int]:
    """Of stacks of matrices."""
    if op.name == "stablehlo.custom_call" and not ops.target_of(op).startswith("lapack_"):
        return {}
    return {d: d for d in range(len(shape_of(op.operands[0])) - 2)}


def _transformed(op: ir.Operation, number: int, before: tuple[int, ...]) -> dict[int, int]:
    return {d: d for d in range(len(before) - len(attr.decode(op.attributes["fft_length"])))}


def _gathered(op: ir.Operation, number: int, before: tuple[int, ...]) -> dict[int, int]:
    numbers, sizes = attr.decode(op.attributes["dimension_numbers"]), attr.decode(op.attributes["slice_sizes"])
    return {} if number else {**_beside(op, numbers.offset_dims, numbers.operand_batching_dims,
                                        numbers.start_indices_batching_dims, numbers.index_vector_dim),
                              **_windowed(before, sizes, numbers.offset_dims,
                                          (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims))}


def _beside(op: ir.Operation, windows: Sequence[int], batch: Sequence[int], of_indices: Sequence[int],
            vector: int) -> dict[int, int]:
    """Batches of a gather: dimensions of its operand -> those of its result."""
    outer = [d for d in range(len(shape_of(op.results[0]))) if d not in windows]
    places = [d for d in range(len(shape_of(op.operands[1]))) if d != vector]
    return {d: outer[places.index(i)] for d, i in zip(batch, of_indices, strict=True)}


def _windowed(before: Sequence[int], sizes: Sequence[int], windows: Sequence[int], without: Sequence[int]
              ) -> dict[int, int]:
    """Dimensions that a gather takes from end to end."""
    inside = [d for d in range(len(before)) if d not in without]
    return {d: w for d, w in zip(inside, windows, strict=True) if sizes[d] == before[d]}


_DIMENSIONS: dict[str, Callable[[ir.Operation, int, tuple[int, ...]], dict[int, int]]] = {
    "transpose": _transposed, "broadcast_in_dim": _broadcast, "reshape": _reshaped, "reduce": _reduced,
    "reduce_window": _windows, "dot_general": _product, "fft": _transformed, "cholesky": _matrices,
    "triangular_solve": _matrices, "custom_call": _matrices, "slice": _whole("strides", "start_indices"),
    "pad": lambda op, number, before: {} if number else _whole("edge_padding_low", "edge_padding_high",
                                                               "interior_padding")(op, number, before),
    "dynamic_slice": _extents, "dynamic_update_slice": _extents, "concatenate": _others("dimension"),
    "reverse": _others("dimensions"), "gather": _gathered,
}


def through(moved: Mapping[int, int]) -> Callable[[Atom], Atom | None]:
    """What atoms say of another array, some of whose dimensions are those of theirs."""

    def follow(atom: Atom) -> Atom | None:
        booleans, dimensions = atom
        return ordered(booleans, [moved[d] for d in dimensions]) if all(d in moved for d in dimensions) else None
    return follow
