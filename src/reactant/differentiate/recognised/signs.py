"""Choices for the sake of a sign, of the last place or of what is no number, and what they are choices of.

    select(v == 0, +-0, v)                       v: the zero gets a sign (remainders, fractions)
    select(a == b, c, s (a - b) + c)             c: that is what it is there, exactly (interpolation at a knot)
    select(|v - round v| <= c |v|, round v, v)   v, of which a few last places are rounded (logarithms of powers)
    select(v == 0, 0, f v)                       f v, without what an infinite f would make of zero (our own rules)
    |g| with the sign bit of x                   g or -g, and |x| inside of g the same x or -x (odd functions)

Squares of roots are what they are roots of, which is smooth at 0:

    sqrt(v) sqrt(v)                              v
    |z| |z|                                      re(z)**2 + im(z)**2
    hypot(x, y) hypot(x, y)                      x**2 + y**2

hypot(x, y) itself is marked: its partials are x / h and y / h.

The derivative of a choice is that of what it takes: of a constant none, where that of the function is wanted (the
second derivative of log(x)**2 at 1). `mark` puts a barrier over the chosen value and what it stands for; the derivative
is that of the latter.
"""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.differentiate.declare import differentiable
from reactant.ir import attributes as attr
from reactant.ir import modules, ops
from reactant.ir.types import dtype_of, is_complex, shape_of

SAME = "reactant.same"
"""Marks a barrier over (x, y): x with the derivative of y."""
PRODUCT = "reactant.product"
"""Marks a barrier over (x, f, v): x is f v, and 0 where v is."""
HYPOT = "reactant.hypot"
"""Marks a barrier over (hypot(x, y), x, y)."""
CONE, CHAIN = 64, 8
"""How many ops of an odd function, and of a product, are looked at."""
LAST_PLACES = 1e-6
"""A relative difference below which a number is only rounded."""


def mark(module: ir.Module | ir.Operation) -> None:
    """Mark every such choice in a module."""
    products = [op for op in modules.walk(module) if op.name == "stablehlo.multiply" and differentiable(op.result)]
    for op in products:
        _mark_square(op)
    for op in products:
        _mark_hypot(op)
    for op in [op for op in modules.walk(module) if op.name == "stablehlo.select" and differentiable(op.result)]:
        stands_for, factors = _signed_zero(op) or _on_line(op) or _rounded(op), _product(op)
        if stands_for is not None:
            put_barrier(op, [op.result, stands_for], {SAME: ir.UnitAttr.get()})
        elif factors is not None:
            put_barrier(op, [op.result, *factors], {PRODUCT: ir.UnitAttr.get()})


def put_barrier(last: ir.Operation, values: list[ir.Value], attributes: dict[str, ir.Attribute]) -> None:
    """A barrier over values, the first of which is read through it from now on, behind the op that makes that."""
    with last.location, ir.InsertionPoint(last):
        barrier = ops.create("stablehlo.optimization_barrier", [v.type for v in values], values, attributes).operation
    barrier.move_after(last)
    values[0].replace_all_uses_except(barrier.results[0], barrier)


def made_by(value: ir.Value, *names: str) -> ir.Operation | None:
    """The op that makes a value, reshapes aside, if it is one of these."""
    return ops.made_by(bare(value), *names)


def bare(value: ir.Value) -> ir.Value:
    """What a value is a reshape of: of the same elements in the same order."""
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name == "stablehlo.reshape":
        value = value.owner.operation.operands[0]
    return value


# ---- squares of roots ----------------------------------------------------------------------------------------------

def _mark_square(op: ir.Operation) -> None:
    root = bare(op.operands[0])
    if root != bare(op.operands[1]):
        return
    with op.location, ir.InsertionPoint(op):
        square = square_of(root)
        if square is not None:
            put_barrier(op, [op.result, ops.reshape(square, shape_of(op.result))], {SAME: ir.UnitAttr.get()})


def _mark_hypot(op: ir.Operation) -> None:
    found = _parts_of_hypot(op)
    if found is not None:
        with op.location, ir.InsertionPoint(op):
            parts = [ops.reshape(part, shape_of(op.result)) for part in found]
        put_barrier(op, [op.result, *parts], {HYPOT: ir.UnitAttr.get()})


def square_of(root: ir.Value) -> ir.Value | None:
    """The square of a root, behind NumPy's choice for infinite parts, without that root."""
    chosen = ops.made_by(root, "select")
    made = made_by(root if chosen is None else chosen.operands[2], "abs", "sqrt", "multiply")
    if made is None:
        return None
    if made.name == "stablehlo.sqrt":
        return None if is_complex(dtype_of(root)) else made.operands[0]
    if made.name == "stablehlo.multiply":
        parts = _parts_of_hypot(made)
    else:
        z = made.operands[0]
        parts = (ops.real(z), ops.imag(z)) if is_complex(dtype_of(z)) else None
    return None if parts is None else ops.add(*(ops.multiply(part, part) for part in parts))


def _parts_of_hypot(op: ir.Operation) -> tuple[ir.Value, ir.Value] | None:
    """(x, y), where a product is |x| sqrt((y / x)**2 + 1), with 1 in place of x in the quotient where that is 0."""
    for size, scale in (tuple(op.operands), tuple(op.operands)[::-1]):
        large, root = made_by(size, "abs"), made_by(scale, "sqrt")
        total = None if root is None else made_by(root.operands[0], "add")
        square = None if total is None else made_by(total.operands[0], "multiply")
        ratio = None if square is None else made_by(square.operands[0], "divide")
        if large is None or total is None or square is None or ratio is None \
                or bare(square.operands[0]) != bare(square.operands[1]) or not _is(total.operands[1], 1):
            continue
        x, y = large.operands[0], ratio.operands[0]
        chosen = made_by(ratio.operands[1], "select")
        guarded = None if chosen is None else by_equality(chosen)
        if bare(ratio.operands[1]) == bare(x) or guarded is not None and _is(guarded[1], 0) \
                and bare(guarded[0]) == bare(guarded[3]) == bare(x):
            return x, y
    return None


def slope_of_norm(norm: ir.Value, top: float = 1.0) -> ir.Value:
    """top / norm, and 0 where the norm is: like |x|, it counts as constant there."""
    return ops.select(ops.compare(norm, 0, "EQ"), ops.splat(0, norm), ops.divide(ops.splat(top, norm), norm))


# ---- zeros, knots --------------------------------------------------------------------------------------------------

def by_equality(op: ir.Operation) -> tuple[ir.Value, ir.Value, ir.Value, ir.Value] | None:
    """(a, b, x, y), where a select gives x where a == b, else y."""
    made = made_by(op.operands[0], "compare")
    direction = None if made is None else attr.decode(made.attributes["comparison_direction"])
    if made is None or direction not in ("EQ", "NE") or shape_of(op.operands[0]) != shape_of(op.result):
        return None
    first, second = list(op.operands)[1:]
    return (*made.operands, first, second) if direction == "EQ" else (*made.operands, second, first)


def _signed_zero(op: ir.Operation) -> ir.Value | None:
    choice = by_equality(op)
    if choice is None or bare(choice[0]) != bare(choice[3]) or not _is_zero(choice[1]):
        return None
    return choice[3] if _is_either_zero(choice[2]) else None


def _is_either_zero(value: ir.Value) -> bool:
    made = made_by(value, "bitcast_convert", "select")
    if made is None:
        return _is_zero(value)
    if made.name == "stablehlo.select":
        return all(map(_is_zero, list(made.operands)[1:]))
    return _is_zero_but_sign(made.operands[0])


def _is_zero(value: ir.Value) -> bool:
    known = ops.constant_value(bare(value))
    return known is not None and not known.any()


def _is(value: ir.Value, number: float) -> bool:
    known = ops.constant_value(bare(value))
    return known is not None and bool((known == number).all())


def _is_zero_but_sign(bits: ir.Value) -> bool:
    """Whether no bit but the highest can be set."""
    made, top = made_by(bits, "or", "and"), 1 << (8 * dtype_of(bits).itemsize - 1)
    if made is None:
        known = ops.constant_value(bare(bits))
        source = made_by(bits, "bitcast_convert")
        return known is not None and not (known & known.dtype.type(top - 1)).any() \
            or source is not None and _is_zero(source.operands[0])
    if made.name == "stablehlo.or":
        return all(map(_is_zero_but_sign, made.operands))
    masks = [ops.constant_value(bare(v)) for v in made.operands]
    return any(m is not None and not (m & m.dtype.type(top - 1)).any() for m in masks) \
        or any(map(_is_zero_but_sign, made.operands))


def _on_line(op: ir.Operation) -> ir.Value | None:
    """The line of select(a == b, c, s (a - b) + c), behind choices for what is no number."""
    choice = by_equality(op)
    if choice is None:
        return None
    a, b, value, line = choice
    inner = line
    while (fallback := made_by(inner, "select")) is not None:
        question = made_by(fallback.operands[0], "compare")
        if question is None or len({bare(v) for v in (*question.operands, fallback.operands[2])}) > 1:
            return None
        inner = fallback.operands[2]
    total = made_by(inner, "add")
    if total is None:
        return None
    for product, end in (tuple(total.operands), tuple(total.operands)[::-1]):
        made = made_by(product, "multiply")
        if made is not None and bare(end) == bare(value):
            gaps = [g for v in made.operands if (g := made_by(v, "subtract")) is not None]
            if any({bare(v) for v in g.operands} == {bare(a), bare(b)} for g in gaps):
                return line
    return None


def _rounded(op: ir.Operation) -> ir.Value | None:
    """v, where a select gives round(v) in place of v where they differ in the last places."""
    near, value = made_by(op.operands[1], "round_nearest_even"), op.operands[2]
    question = made_by(op.operands[0], "compare")
    if near is None or question is None or bare(near.operands[0]) != bare(value) \
            or attr.decode(question.attributes["comparison_direction"]) not in ("LE", "LT"):
        return None
    apart, slack = made_by(question.operands[0], "abs"), made_by(question.operands[1], "multiply")
    gap = None if apart is None else made_by(apart.operands[0], "subtract")
    size = None if slack is None else made_by(slack.operands[0], "abs")
    share = None if slack is None else ops.constant_value(bare(slack.operands[1]))
    if gap is None or size is None or share is None or bare(size.operands[0]) != bare(value) \
            or {bare(v) for v in gap.operands} != {bare(near.result), bare(value)}:
        return None
    return value if (abs(share) <= LAST_PLACES).all() else None


# ---- products that may be zero times infinity ------------------------------------------------------------------------

def _product(op: ir.Operation) -> tuple[ir.Value, ir.Value] | None:
    """(f, v) of select(v == 0, 0, f v)."""
    choice = by_equality(op)
    if choice is None or not _is_zero(choice[1]) or not _is_zero(choice[2]):
        return None
    v, _, _, value = choice
    with op.location, ir.InsertionPoint(op):
        factor = _without(value, bare(v), CHAIN)
        return None if factor is None or type(factor) is float else (factor, ops.reshape(v, shape_of(value)))


def _without(value: ir.Value, v: ir.Value, depth: int) -> ir.Value | float | None:
    """What a product is besides one of its factors, 1.0 for nothing. None where that is not among them."""
    if bare(value) == v:
        return 1.0
    made = made_by(value, "multiply", "divide", "negate") if depth else None
    if made is None:
        return None
    for number, operand in enumerate(made.operands):
        rest = None if number and made.name == "stablehlo.divide" else _without(operand, v, depth - 1)
        if rest is not None:
            rest = ops.splat(1, operand) if type(rest) is float else rest
            others = [rest if n == number else x for n, x in enumerate(made.operands)]
            return ops.reshape(ops.create(made.name, [operand.type], others).result, shape_of(value))
    return None


def finite_factor(f: ir.Value, v: ir.Value) -> ir.Value:
    """The factor of v, and 0 where v is zero and that is no number."""
    finite = ops.is_finite(ops.abs(f) if is_complex(dtype_of(f)) else f)
    lost = ops.and_(ops.compare(v, 0, "EQ"), ops.not_(finite))
    return ops.select(lost, ops.splat(0, f), f)


def unless_zero(v: ir.Value, value: ir.Value) -> ir.Value:
    """A value, and 0 where v is zero."""
    return ops.select(ops.compare(v, 0, "EQ"), ops.splat(0, value), value)


# ---- signs of odd functions ----------------------------------------------------------------------------------------

def with_sign(magnitude: ir.Value, sign: ir.Value) -> ir.Value:
    """|magnitude| with the sign bit of `sign`, as the magnitude or its negative, so that zero has a slope."""
    bits = f"int{8 * dtype_of(sign).itemsize}"
    negative = ops.compare(ops.bitcast_convert(sign, bits), 0, "LT")
    flips = ops.xor(negative, ops.compare(ops.bitcast_convert(magnitude, bits), 0, "LT"))
    smooth = _of_size(magnitude, sign, ops.select(negative, ops.negate(sign), sign))
    return ops.select(flips, ops.negate(smooth), smooth)


def _of_size(value: ir.Value, x: ir.Value, size: ir.Value) -> ir.Value:
    """The elementwise function that a value is of |x|, of another value."""
    known: dict[ir.Value, ir.Value] = {}
    seen: set[ir.Operation] = set()

    def rebuilt(v: ir.Value) -> None:
        made = ops.maker(v)
        if made is None or made in seen or made.name not in ops.ELEMENTWISE or len(seen) == CONE:
            return
        seen.add(made)
        if made.name == "stablehlo.abs" and _positive(made.operands[0]) == _positive(x):
            known[v] = size
            return
        for operand in made.operands:
            rebuilt(operand)
        if any(operand in known for operand in made.operands):
            modules.clone_with(made, known)

    rebuilt(value)
    return known.get(value, value)


def _positive(x: ir.Value) -> ir.Value:
    made = made_by(x, "negate")
    return bare(x) if made is None else bare(made.operands[0])
