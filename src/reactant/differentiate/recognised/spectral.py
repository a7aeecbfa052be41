"""Functions of matrices: V diag(g(w)) V^H of a symmetric matrix V diag(w) V^H, U diag(g(s)) V^H of any.

Users write them, pseudo-inverses are such (the other way round, V diag(g(s)) U^H), and they are the gradients of sums
over eigenvalues and singular values. They are smooth where eigenvalues are equal, though the vectors are not. `mark`
puts a barrier over (the function, A, V, w, V, g, parameters of g) or (.., A, U, s, V^H, g, ..) there; where g is not
computed element by element from the values with the same parameters for all of them, there are none.

V (g (U^H b)), as least squares are solved, has the derivative of (V g U^H) b.
"""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.recognised.cones import cone_of, has_rules
from reactant.differentiate.recognised.signs import SAME, put_barrier
from reactant.ir import attributes as attr
from reactant.ir import modules, ops
from reactant.ir.matrices import adjoint, conjugate, matmul, swapped
from reactant.ir.types import dtype_of, is_complex, shape_of
from reactant.support.records import dataclass

FUNCTION = "reactant.function_of_matrix"
"""Marks a barrier over the function, A, left vectors, values, right vectors as the product reads them, g, parameters;
says the number of parameters, or `ANY`."""
ANY = -1
DEPTH = 8
SYMMETRIC, SINGULAR = ("syevd_ffi", "heevd_ffi"), ("gesdd_ffi", "gesvd_ffi")


def mark(module: ir.Module | ir.Operation) -> None:
    """Mark every such product in a module."""
    for op in [op for op in modules.walk(module) if op.name == "stablehlo.dot_general"]:
        op = _associated(op)
        found = _factors(op)
        if found is None:
            continue
        made, g = found.made, found.g
        if found.flipped is not None:
            op = _flipped(op, found.flipped)
            with op.location, ir.InsertionPoint(op):
                g = g if g is None or found.flipped is swapped else conjugate(g)
        values, kind = made.results[1], ANY
        with op.location, ir.InsertionPoint(op):
            g = ops.splat(1, values) if g is None else g
        cone = cone_of(g, values)
        parameters: tuple[ir.Value, ...] = ()
        if cone is not None and has_rules(cone) and all(_is_uniform(v) for v in cone.parameters):
            parameters, kind = cone.parameters, len(cone.parameters)
        vectors = made.results[found.left], made.results[found.right]
        put_barrier(op, [op.result, made.operands[0], vectors[0], values, vectors[1], g, *parameters],
                    {FUNCTION: ir.IntegerAttr.get(ir.IntegerType.get_signless(32), kind)})


@dataclass(frozen=True)
class _Factors:
    """U diag(g) V^H (V diag(g) V^H), or where it is to be `flipped` what that makes of it; no g: of ones."""

    made: ir.Operation
    left: int
    right: int
    g: ir.Value | None
    flipped: Callable[[ir.Value], ir.Value] | None


def _flipped(op: ir.Operation, flip: Callable[[ir.Value], ir.Value]) -> ir.Operation:
    """The op that flips a product, which is read through it, flipped back, from now on."""
    with op.location, ir.InsertionPoint.after(op):
        turned = swapped(op.result)
        found = turned if flip is swapped else conjugate(turned)
        op.result.replace_all_uses_except(flip(found), turned.owner.operation)
    return found.owner.operation


def _associated(op: ir.Operation) -> ir.Operation:
    """The product V g U^H where an op is V (g (U^H b)) or (V g) (U^H b), marked as the same as (V g U^H) b; else the
    op."""
    last = max(len(shape_of(x)) for x in op.operands) - 1
    batch = tuple(range(last - 1))
    if not _are_matrices(op, last + 1):
        return op
    dims = attr.decode(op.attributes["dot_dimension_numbers"]).contracting_dims
    for this in (0, 1):
        (x, y), (at,), (along,) = (op.operands[this], op.operands[1 - this]), dims[this], dims[1 - this]
        if len(shape_of(x)) != last + 1:
            continue
        vector = len(shape_of(y)) == last
        (plain, weights), (inner, g) = _scaled(x, at), _scaled(y, along, vector)
        product, outer = ops.made_by(inner, "dot_general"), _vectors(plain)
        if (g is None) == (weights is None) or product is None or outer is None or not _are_matrices(product, last + 1):
            continue
        number = _place_of_vectors(product, outer.made, None if vector else int(along != last - 1))
        if number is None:
            continue
        inside = attr.decode(product.attributes["dot_dimension_numbers"]).contracting_dims
        (of_vectors,), (of_right,) = inside[number], inside[1 - number]
        with op.location, ir.InsertionPoint(op):
            left = x if at == last else swapped(x)
            right = product.operands[number] if of_vectors == last else swapped(product.operands[number])
            if g is not None:
                spread = ops.broadcast_in_dim(ops.convert(g, dtype_of(left)), shape_of(left), (*batch, last))
                left = ops.multiply(left, spread)
            function = matmul(left, right)
            fits = _factors(function.owner.operation) is not None
            if fits:
                other, places = product.operands[1 - number], ([last], [of_right])
                pair = (other, function) if this else (function, other)
                put_barrier(op, [op.result, ops.dot_general(
                    *pair, contracting_dims=places[::-1] if this else places, batching_dims=(batch, batch))],
                    {SAME: ir.UnitAttr.get()})
        if fits:
            return function.owner.operation
    return op


def _place_of_vectors(product: ir.Operation, made: ir.Operation, number: int | None) -> int | None:
    """Which operand of a product are vectors of the decomposition `made`, of which no other is; `number`: it has to be
    this one."""
    found = [k for k, x in enumerate(product.operands) if (vectors := _vectors(x)) is not None and vectors.made == made]
    return found[0] if len(found) == 1 and number in (None, found[0]) else None


def _are_matrices(op: ir.Operation, rank: int) -> bool:
    """Whether a product is one of (stacks of) matrices of this rank, or of a matrix and a vector."""
    numbers = attr.decode(op.attributes["dot_dimension_numbers"])
    ranks = sorted(len(shape_of(x)) for x in op.operands)
    return rank >= 2 and ranks in ([rank, rank], [rank - 1, rank]) \
        and all(len(each) == 1 for each in numbers.contracting_dims) \
        and all(tuple(each) == tuple(range(rank - 2)) for each in numbers.batching_dims)


def _factors(op: ir.Operation) -> _Factors | None:
    """What an op is the product of."""
    numbers = attr.decode(op.attributes["dot_dimension_numbers"])
    last = len(shape_of(op.result)) - 1
    if any(tuple(each) != tuple(range(last - 1)) for each in numbers.batching_dims) \
            or any(len(each) != 1 for each in numbers.contracting_dims):
        return None
    scaled = [_scaled(x, dims[0]) for x, dims in zip(op.operands, numbers.contracting_dims, strict=True)]
    diagonals = [g for _, g in scaled if g is not None]
    left, right = (_vectors(x) for x, _ in scaled)
    if len(diagonals) > 1 or left is None or right is None or left.made != right.made:
        return None
    made, ((first,), (second,)) = left.made, numbers.contracting_dims
    turned = [left.turned != (first != last), right.turned != (second == last)]
    real, flip = not is_complex(dtype_of(made.operands[0])), None
    if ops.target_of(made).endswith(SYMMETRIC):
        fits = left.number == right.number == 0 and turned == [False, True] \
            and (real or not left.conjugate and right.conjugate)
    else:
        fits = (left.number, right.number) == (2, 3) and turned == [False, False] \
            and (real or not left.conjugate and not right.conjugate)
        if (left.number, right.number) == (3, 2) and turned == [True, True]:
            fits = real or left.conjugate == right.conjugate
            flip = adjoint if left.conjugate else swapped
            left, right = right, left
    k = shape_of(made.results[1])[-1]
    thin = shape_of(made.results[left.number])[-1] == k == shape_of(made.results[right.number])[-2]
    if not fits or not thin or made.block != op.block:
        return None
    return _Factors(made, left.number, right.number, diagonals[0] if diagonals else None, flip)


@dataclass(frozen=True)
class _Vectors:
    """Which result of a decomposition a matrix is, up to turning and conjugation."""

    made: ir.Operation
    number: int
    turned: bool
    conjugate: bool


def _vectors(value: ir.Value) -> _Vectors | None:
    turned = conjugate = False
    while (made := ops.made_by(value, "transpose", "select", "chlo.conj", "complex", "custom_call")) is not None:
        word, number = made.name.partition(".")[2], 0
        if word == "custom_call":
            if not ops.target_of(made).endswith((*SYMMETRIC, *SINGULAR)):
                return None
            return _Vectors(made, list(made.results).index(value), turned, conjugate)
        if word == "transpose":
            rank = len(shape_of(value))
            if tuple(attr.decode(made.attributes["permutation"])) != (*range(rank - 2), rank - 1, rank - 2):
                return None
            turned = not turned
        elif word == "select":                                       # NaN where LAPACK did not converge
            known = constant_of(made.operands[2])
            if known is None or not np.isnan(known).all():
                return None
            number = 1
        elif word == "complex":
            parts = _parts_of_conjugate(made)
            if parts is None:
                return None
            made, number, conjugate = parts, 0, not conjugate
        else:
            conjugate = not conjugate
        value = made.operands[number]
    return None


def _parts_of_conjugate(op: ir.Operation) -> ir.Operation | None:
    """real(z), where an op is complex(real(z), -imag(z))."""
    re, negated = ops.made_by(op.operands[0], "real"), ops.made_by(op.operands[1], "negate")
    im = None if negated is None else ops.made_by(negated.operands[0], "imag")
    return re if re is not None and im is not None and re.operands[0] == im.operands[0] else None


def constant_of(value: ir.Value) -> np.ndarray | None:
    """A constant, or what is spread from one."""
    spread = ops.made_by(value, "broadcast_in_dim")
    return ops.constant_value(value if spread is None else spread.operands[0])


def _scaled(value: ir.Value, along: int, vector: bool = False) -> tuple[ir.Value, ir.Value | None]:
    """(x, g), where a matrix is x multiplied by g along one of its dimensions, or a vector is a product times g; None
    for no g."""
    value, rank = _unguarded(value), len(shape_of(value))
    made = ops.made_by(value, "multiply", "divide")
    if made is not None:
        divided = made.name == "stablehlo.divide"
        for x, factor in (tuple(made.operands), tuple(made.operands)[::-1])[:1 if divided else 2]:
            if vector:
                g = None if ops.made_by(x, "dot_general") is None else _real_part(factor)
            else:
                g = _spread(factor, along)
            if g is not None and divided:
                with made.location, ir.InsertionPoint(made):
                    g = ops.divide(ops.splat(1, g), g)
            if g is not None:
                return x, g
    if vector:
        return value, None
    product = ops.made_by(value, "dot_general")
    if product is not None and along >= rank - 2:
        number = 1 if along == rank - 1 else 0
        g = _diagonal(product.operands[number])
        numbers = attr.decode(product.attributes["dot_dimension_numbers"])
        batch = tuple(range(rank - 2))
        if g is not None and all(tuple(each) == batch for each in numbers.batching_dims) \
                and tuple(numbers.contracting_dims[1 - number]) == (along,):
            return product.operands[1 - number], g
    return value, None


def _spread(value: ir.Value, along: int) -> ir.Value | None:
    """g, (batch..., k), that matrices have along one of their dimensions."""
    shape = shape_of(value)
    spread = ops.made_by(_real_part(value), "broadcast_in_dim")
    reshaped = ops.made_by(_real_part(value), "reshape")
    if reshaped is not None and shape_of(reshaped.operands[0]) == (*shape[:-2], shape[along]) \
            and shape[2 * len(shape) - 3 - along] == 1:
        return reshaped.operands[0]
    if spread is None:
        return None
    inner = shape_of(spread.operands[0])
    wanted = (*shape[:-2], shape[along])
    found = [d for d, n in zip(attr.decode(spread.attributes["broadcast_dimensions"]), inner, strict=True) if n > 1]
    if [shape[d] for d in found] != [n for n in wanted if n > 1] or 2 * len(shape) - 3 - along in found:
        return None
    with ir.InsertionPoint(spread):
        return ops.reshape(_real_part(spread.operands[0]), wanted)


def _real_part(value: ir.Value) -> ir.Value:
    """What a complex value is a conversion of."""
    made = ops.made_by(value, "convert", "complex") if is_complex(dtype_of(value)) else None
    if made is None:
        return value
    zero = constant_of(made.operands[-1]) if made.name == "stablehlo.complex" else np.zeros(1)
    return value if zero is None or zero.any() else made.operands[0]


def _unguarded(value: ir.Value) -> ir.Value:
    """Without the choice of NaN where the product with a diagonal matrix has it, and without its zeros."""
    chosen = ops.made_by(value, "select")
    if chosen is None or (known := constant_of(chosen.operands[2])) is None or not np.isnan(known).all():
        return value
    total = ops.made_by(chosen.operands[1], "add")
    zero = None if total is None else constant_of(total.operands[1])
    return chosen.operands[1] if total is None or zero is None or zero.any() else total.operands[0]


def _diagonal(value: ir.Value) -> ir.Value | None:
    """g of diag(g), a choice between g and zero where the numbers of row and column are equal."""
    made, rank = ops.made_by(value, "select"), len(shape_of(value))
    spread = None if made is None else ops.made_by(made.operands[1], "broadcast_in_dim")
    question = None if made is None else ops.made_by(made.operands[0], "compare")
    if made is None or spread is None or question is None or len(shape_of(spread.operands[0])) != rank - 1 \
            or attr.decode(question.attributes["comparison_direction"]) != "EQ":
        return None
    numbers = [ops.made_by(x, "iota") for x in question.operands]
    zero = constant_of(made.operands[2])
    places = [attr.decode(each.attributes["iota_dimension"]) for each in numbers if each is not None]
    fits = sorted(places) == [rank - 2, rank - 1] and zero is not None and not zero.any()
    return spread.operands[0] if fits else None


def _is_uniform(value: ir.Value, depth: int = DEPTH) -> bool:
    """Whether the elements along the last dimension are equal."""
    known = ops.constant_value(value)
    if known is not None:
        return not known.ndim or np.array_equal(known, np.broadcast_to(known[..., :1], known.shape), equal_nan=True)
    if not shape_of(value) or shape_of(value)[-1] == 1:
        return True
    op = ops.maker(value) if depth else None
    if op is None:
        return False
    if op.name == "stablehlo.broadcast_in_dim":
        places = list(attr.decode(op.attributes["broadcast_dimensions"]))
        last = len(shape_of(value)) - 1
        return last not in places or shape_of(op.operands[0])[places.index(last)] == 1 \
            or places[-1] == last and _is_uniform(op.operands[0], depth - 1)
    return op.name in ops.ELEMENTWISE and all(_is_uniform(x, depth - 1) for x in op.operands)
