"""Integer arithmetic of a kernel on forms; what is not affine for sure becomes arithmetic on tensors."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import ops
from reactant.kernels.lockstep.conditions import Compare, Known, at_least, both, either
from reactant.kernels.lockstep.data import Condition, Domain, Form, Lanes, Range, Run
from reactant.kernels.lockstep.forms import choice, divisions, floor_division, is_static, range_of, within
from reactant.kernels.lockstep.lanes import apply, select
from reactant.kernels.lockstep.staging import origin_of_choice
from reactant.kernels.lockstep.trees import tree
from reactant.kernels.lockstep.values import (
    Integer,
    Value,
    as_lanes,
    constant,
    dtype_of_type,
    integer_dtype,
    is_boolean,
    is_integer,
    is_static_value,
    known_number,
    limits,
    of_lanes,
    width_of,
)

Handler = Callable[[ir.Operation, list[Any], Domain], Value]


def elementwise(function: Callable[..., ir.Value], op: ir.Operation, operands: Sequence[Value], domain: Domain,
                bounds: Range = None) -> Value:
    """An operation done on tensors."""
    found = apply(function, [as_lanes(x, domain) for x in operands], domain)
    return of_lanes(found, op.results[0].type, bounds)


def unsigned(function: Callable[..., ir.Value]) -> Callable[..., ir.Value]:
    """A function of unsigned integers on signless ones."""
    def build(*operands: ir.Value) -> ir.Value:
        dtype = ops.dtype_of(operands[0])
        other = np.dtype(f"uint{8 * dtype.itemsize}")
        found = function(*(ops.bitcast_convert(x, other) for x in operands))
        return ops.bitcast_convert(found, dtype) if ops.dtype_of(found) == other else found
    return build


def _overflow(op: ir.Operation, which: str) -> bool:
    return "overflowFlags" in op.attributes and which in str(op.attributes["overflowFlags"])


def _result(op: ir.Operation, form: Form, operands: list[Integer], domain: Domain) -> Integer:
    """A form made of other forms; exact where a range or the compiler's promise says so."""
    width = width_of(op.results[0].type)
    if not form.terms:
        return constant(form.constant, width)
    exact = within(range_of(form, domain), *limits(width)) or isinstance(op.results[0].type, ir.IndexType) or (
        all(x.exact for x in operands) and (_overflow(op, "nsw") or (
            _overflow(op, "nuw") and all((r := range_of(x.form, domain)) is not None and r[0] >= 0 for x in operands))))
    return Integer(form, width, exact)


def _tree(kind: str, op: ir.Operation, operands: list[Integer], domain: Domain) -> Value | None:
    """Two run-time numbers that are the halves of a tree, combined."""
    x, y = (_number_of_run(v) for v in operands)
    if x is None and y is not None and y.shuffled is not None and y.shuffled.form == operands[0].form:
        x = y.shuffled.given
    if y is None and x is not None and x.shuffled is not None and x.shuffled.form == operands[1].form:
        y = x.shuffled.given
    found = tree(kind, x, y, domain)
    return None if found is None else of_lanes(found, op.results[0].type)


def _number_of_run(x: Integer) -> Lanes | None:
    """The lanes that an integer is."""
    if x.form.constant or len(x.form.terms) != 1 or x.form.terms[0][1] != 1:
        return None
    atom = x.form.terms[0][0]
    return atom.lanes if isinstance(atom, Run) and atom.lanes.dtype == integer_dtype(x.width) else None


def _add(op: ir.Operation, operands: list[Integer], domain: Domain) -> Value:
    x, y = operands
    step = _tree("add", op, operands, domain)
    if step is not None:
        return step
    return _result(op, x.form + y.form, operands, domain)


def _subtract(op: ir.Operation, operands: list[Integer], domain: Domain) -> Value:
    x, y = operands
    return _result(op, x.form - y.form, operands, domain)


def _multiply(op: ir.Operation, operands: list[Integer], domain: Domain) -> Value:
    x, y = operands
    if x.form.known is not None:
        x, y = y, x
    if y.form.known is None:
        return elementwise(ops.multiply, op, operands, domain, _product_range(x, y, domain))
    return _result(op, x.form.times(y.form.constant), operands, domain)


def _product_range(x: Integer, y: Integer, domain: Domain) -> Range:
    a, b = range_of(x.form, domain), range_of(y.form, domain)
    if a is None or b is None:
        return None
    found = [p * q for p in a for q in b]
    bounds = min(found), max(found)
    return bounds if within(bounds, *limits(x.width)) else None


def _of_run(form: Form) -> bool:
    """Whether a form divides what is only known at run time: tensors do that better."""
    return any(not is_static(d.form) for d in divisions(form))


def _positive_divisor(x: Integer, y: Integer, domain: Domain, signed: bool = True) -> int | None:
    """The divisor, where it is a positive number and the form of the dividend is surely the dividend, not negative."""
    divisor, most = y.form.known, limits(x.width)[1] if signed else (1 << x.width) - 1
    return divisor if divisor is not None and divisor > 0 and within(range_of(x.form, domain), 0, most) else None


def _divide(build: Callable[..., ir.Value], signed: bool) -> Handler:
    def handler(op: ir.Operation, operands: list[Integer], domain: Domain) -> Value:
        x, y = operands
        divisor = _positive_divisor(x, y, domain, signed)
        if divisor is not None and not _of_run(found := floor_division(x.form, divisor, domain)):
            return Integer(found, x.width)
        if signed and _of_either_sign(x, y, domain):
            return _by_sign(x, lambda form: floor_division(form, y.form.constant, domain))
        bounds = range_of(x.form, domain)
        if divisor is None or bounds is None:
            return elementwise(build, op, operands, domain)
        return elementwise(build, op, operands, domain, (bounds[0] // divisor, bounds[1] // divisor))
    return handler


def _remainder(build: Callable[..., ir.Value], signed: bool) -> Handler:
    def handler(op: ir.Operation, operands: list[Integer], domain: Domain) -> Value:
        x, y = operands
        divisor = _positive_divisor(x, y, domain, signed)
        if divisor is not None and not _of_run(found := _modulo(x.form, divisor, domain)):
            return Integer(found, x.width)
        if signed and _of_either_sign(x, y, domain):
            return _by_sign(x, lambda form: _modulo(form, y.form.constant, domain))
        known = y.form.known
        bounds = None if known is None or known <= 0 else (1 - known if divisor is None else 0, known - 1)
        return elementwise(build, op, operands, domain, bounds)
    return handler


def _of_either_sign(x: Integer, y: Integer, domain: Domain) -> bool:
    """Whether a dividend is known for each lane, and the divisor a positive number."""
    return y.form.known is not None and y.form.constant > 0 and is_static(x.form) and x.sure(domain)


def _by_sign(x: Integer, function: Callable[[Form], Form]) -> Integer:
    """What is rounded towards zero: an odd function."""
    found = choice(at_least(x.form, Form()), function(x.form), function(x.form.times(-1)).times(-1))
    return Integer(found, x.width)


def _modulo(form: Form, divisor: int, domain: Domain) -> Form:
    return form - floor_division(form, divisor, domain).times(divisor)


def _floor_divide(op: ir.Operation, operands: list[Integer], domain: Domain) -> Value:
    x, y = operands
    if y.form.known is not None and y.form.constant > 0 and x.sure(domain) \
            and not _of_run(found := floor_division(x.form, y.form.constant, domain)):
        return Integer(found, x.width)

    def build(a: ir.Value, b: ir.Value) -> ir.Value:
        q, r = ops.divide(a, b), ops.remainder(a, b)
        wrong = ops.and_(ops.compare(r, 0, "NE"), ops.compare(ops.xor(r, b), 0, "LT"))
        return ops.select(wrong, ops.subtract(q, 1), q)
    return elementwise(build, op, operands, domain)


def _ceil_divide(op: ir.Operation, operands: list[Integer], domain: Domain) -> Value:
    x, y = operands
    divisor = _positive_divisor(x, y, domain)
    if divisor is not None and not _of_run(found := floor_division(x.form.plus(divisor - 1), divisor, domain)):
        return Integer(found, x.width)

    def build(a: ir.Value, b: ir.Value) -> ir.Value:
        q, r = ops.divide(a, b), ops.remainder(a, b)
        more = ops.and_(ops.compare(r, 0, "NE"), ops.compare(ops.xor(r, b), 0, "GE"))
        return ops.select(more, ops.add(q, 1), q)
    return elementwise(build, op, operands, domain)


def _shift_left(op: ir.Operation, operands: list[Integer], domain: Domain) -> Value:
    x, y = operands
    if y.form.known is not None and 0 <= y.form.constant < x.width:
        return _result(op, x.form.times(1 << y.form.constant), operands, domain)
    return elementwise(ops.shift_left, op, operands, domain)


def _shift_right(build: Callable[..., ir.Value], signed: bool) -> Handler:
    def handler(op: ir.Operation, operands: list[Integer], domain: Domain) -> Value:
        x, y = operands
        bounds = range_of(x.form, domain)
        if y.form.known is not None and 0 <= y.form.constant < x.width and x.sure(domain) \
                and (signed or (bounds is not None and bounds[0] >= 0)) \
                and not _of_run(found := floor_division(x.form, 1 << y.form.constant, domain)):
            return Integer(found, x.width)
        known = y.form.known
        most = None if signed or not known or not 0 < known < x.width else (0, (1 << x.width - known) - 1)
        return elementwise(build, op, operands, domain, most)
    return handler


def _and(op: ir.Operation, operands: list[Any], domain: Domain) -> Value:
    x, y = operands
    if isinstance(x, Condition):
        return both(x, y)
    if x.form.known is not None:
        x, y = y, x
    mask = y.form.known
    bounds = range_of(x.form, domain)
    if mask is not None and bounds is not None and bounds[0] >= 0 and x.sure(domain):
        mask &= (1 << bounds[1].bit_length()) - 1                            # the other bits are zero anyway
        if not mask:
            return constant(0, x.width)
    if not is_static(x.form):
        whole = mask is not None and mask >= 0 and (mask & (mask + 1)) == 0 and x.sure(domain)
        if whole and not _of_run(found := _modulo(x.form, mask + 1, domain)):
            return Integer(found, x.width)
        return elementwise(ops.and_, op, operands, domain, None if mask is None or mask < 0 else (0, mask))
    if mask is not None and mask >= 0 and (mask & (mask + 1)) == 0 and x.sure(domain):
        return Integer(_modulo(x.form, mask + 1, domain), x.width)
    if mask is not None and mask < 0 and (-mask & (-mask - 1)) == 0 and x.sure(domain):      # clears low bits
        return Integer(floor_division(x.form, -mask, domain).times(-mask), x.width)
    if mask is not None and mask > 0 and x.sure(domain) and len(_runs(mask)) <= 3:
        return Integer(_bits(x.form, mask, domain), x.width)
    return elementwise(ops.and_, op, operands, domain, None if mask is None or mask < 0 else (0, mask))


def _runs(mask: int) -> list[tuple[int, int]]:
    """The runs of ones in a mask, each as (lowest bit, the bit above it)."""
    found, low = [], 0
    while mask >> low:
        low += (mask >> low & -(mask >> low)).bit_length() - 1
        ones = mask >> low
        high = low + (~ones & ones + 1).bit_length() - 1
        found.append((low, high))
        low = high
    return found


def _bits(form: Form, mask: int, domain: Domain) -> Form:
    """form & mask."""
    total = Form()
    for low, high in _runs(mask):
        total = total + (floor_division(form, 1 << low, domain)
                         - floor_division(form, 1 << high, domain).times(1 << high - low)).times(1 << low)
    return total


def _or(op: ir.Operation, operands: list[Any], domain: Domain) -> Value:
    x, y = operands
    if isinstance(x, Condition):
        return either(x, y)
    if "isDisjoint" in op.attributes or _disjoint(x, y, domain) or _disjoint(y, x, domain):
        return _result(op, x.form + y.form, operands, domain)
    return elementwise(ops.or_, op, operands, domain)


def _disjoint(x: Integer, y: Integer, domain: Domain) -> bool:
    """Whether the bits of y lie below those of x."""
    bounds = range_of(y.form, domain)
    if bounds is None or bounds[0] < 0 or not x.sure(domain):
        return False
    unit = 1 << bounds[1].bit_length()
    return all(c % unit == 0 for _, c in x.form.terms) and x.form.constant % unit == 0


def _xor(op: ir.Operation, operands: list[Any], domain: Domain) -> Value:
    x, y = operands
    if isinstance(x, Condition):
        if isinstance(x, Known):
            x, y = y, x
        if isinstance(y, Known):
            return x.negated() if y.value else x
        return either(both(x, y.negated()), both(x.negated(), y)) if x.is_static() and y.is_static() \
            else elementwise(ops.xor, op, operands, domain)
    if x.form.known is not None:
        x, y = y, x
    mask = y.form.known
    if mask == -1:
        return Integer(x.form.times(-1).plus(-1), x.width, x.exact)
    if mask is not None and mask >= 0 and mask.bit_count() <= 3 and x.sure(domain) and is_static(x.form):
        return Integer(x.form.plus(mask) - _bits(x.form, mask, domain).times(2), x.width)
    return elementwise(ops.xor, op, operands, domain)


def _extreme(build: Callable[..., ir.Value], greatest: bool, signed: bool) -> Handler:
    def handler(op: ir.Operation, operands: list[Any], domain: Domain) -> Value:
        x, y = operands
        if isinstance(x, Condition):
            return either(x, y) if greatest != signed else both(x, y)              # signed, true is -1
        a, b = range_of(x.form, domain), range_of(y.form, domain)
        if a is None or b is None or not (x.sure(domain) and y.sure(domain)) or (not signed and min(a[0], b[0]) < 0):
            return elementwise(build, op, operands, domain)
        pick = max if greatest else min
        bounds = pick(a[0], b[0]), pick(a[1], b[1])
        step = _tree("maximum" if greatest else "minimum", op, operands, domain) if signed else None
        if step is not None:
            return step
        if a[1] <= b[0] or b[1] <= a[0]:
            return y if (a[1] <= b[0]) == greatest else x
        condition = at_least(x.form, y.form) if greatest else at_least(y.form, x.form)
        if condition.is_static() and is_static_value(x) and is_static_value(y):
            return Integer(choice(condition, x.form, y.form, bounds), x.width)
        return elementwise(build, op, operands, domain, bounds)
    return handler


# ---- comparisons ---------------------------------------------------------------------------------------------------

_DIRECTIONS = ["EQ", "NE", "LT", "LE", "GT", "GE", "LT", "LE", "GT", "GE"]
FLOAT_DIRECTIONS = {1: "EQ", 2: "GT", 3: "GE", 4: "LT", 5: "LE", 13: "NE"}


def _compare(op: ir.Operation, operands: list[Any], domain: Domain) -> Value:
    x, y = operands
    predicate = int(attr.decode(op.attributes["predicate"]))
    direction, is_unsigned = _DIRECTIONS[predicate], predicate >= 6
    if isinstance(x, Condition):
        return _compare_truths(op, x, y, direction, is_unsigned, domain)
    if x.sure(domain) and y.sure(domain):
        if not is_unsigned or direction in ("EQ", "NE"):
            return ordered(x.form, y.form, direction).at_domain(domain)
        a, b = range_of(x.form, domain), range_of(y.form, domain)
        assert a is not None and b is not None
        if direction in ("GT", "GE"):
            x, y, a, b, direction = y, x, b, a, "LT" if direction == "GT" else "LE"
        less = ordered(x.form, y.form, direction)
        if b[0] >= 0:
            return both(at_least(x.form, Form()), less).at_domain(domain)
        if a[0] >= 0:
            return either(at_least(y.form, Form()).negated(), less).at_domain(domain)
    build: Callable[..., ir.Value] = lambda a, b: ops.compare(a, b, direction)  # noqa: E731
    return elementwise(unsigned(build) if is_unsigned else build, op, [x, y], domain)


def ordered(x: Form, y: Form, direction: str) -> Condition:
    """x < y and the like as a condition."""
    if direction in ("EQ", "NE"):
        return Compare(x - y, direction)
    if direction in ("LT", "GT"):
        return at_least(y, x.plus(1)) if direction == "LT" else at_least(x, y.plus(1))
    return at_least(y, x) if direction == "LE" else at_least(x, y)


def _compare_truths(op: ir.Operation, x: Condition, y: Condition, direction: str, is_unsigned: bool,
                    domain: Domain) -> Value:
    if isinstance(x, Known):
        x, y, direction = y, x, {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}.get(direction, direction)
    if isinstance(y, Known) and direction in ("EQ", "NE"):
        return x if y.value == (direction == "EQ") else x.negated()

    def build(a: ir.Value, b: ir.Value) -> ir.Value:
        return ops.compare(*((a, b) if is_unsigned else (b, a)), direction)      # signed, true is -1
    return elementwise(build, op, [x, y], domain)


# ---- choices and conversions ---------------------------------------------------------------------------------------

def chosen(condition: Condition, x: Value, y: Value, type_: ir.Type, domain: Domain) -> Value:
    """x where the condition holds, else y; both are valid all over the domain."""
    condition = condition.at_domain(domain)
    if condition.known is not None:
        return x if condition.known else y
    if isinstance(x, Condition) and isinstance(y, Condition):
        if all(c.is_static() for c in (condition, x, y)) or x.known is not None or y.known is not None:
            return either(both(condition, x), both(condition.negated(), y))
    elif isinstance(x, Integer) and isinstance(y, Integer) and condition.is_static():
        return Integer(choice(condition, x.form, y.form), x.width, x.exact and y.exact)
    elif isinstance(x, Integer) and isinstance(y, Integer):
        a, b = range_of(x.form, domain), range_of(y.form, domain)
        bounds = (min(a[0], b[0]), max(a[1], b[1])) if a and b and x.sure(domain) and y.sure(domain) else None
        found = select(as_lanes(condition, domain), as_lanes(x, domain), as_lanes(y, domain), domain)
        return of_lanes(found, type_, bounds)
    chosen, other = as_lanes(x, domain), as_lanes(y, domain)
    found = select(as_lanes(condition, domain), chosen, other, domain)
    return of_lanes(replace(found, origin=origin_of_choice(condition, chosen, other)), type_)


def _select(op: ir.Operation, operands: list[Any], domain: Domain) -> Value:
    condition, x, y = operands
    return chosen(condition, x, y, op.results[0].type, domain)


def _extend(signed: bool) -> Handler:
    def handler(op: ir.Operation, operands: list[Any], domain: Domain) -> Value:
        (x,) = operands
        type_ = op.results[0].type
        width = width_of(type_)
        if isinstance(x, Condition):
            one = -1 if signed else 1
            return chosen(x, Integer(Form(one), width), Integer(Form(), width), type_, domain)
        if width <= x.width:                                                       # index_cast may narrow
            return _truncate(op, operands, domain)
        bounds = range_of(x.form, domain)
        if x.sure(domain) and bounds is not None and (signed or bounds[0] >= 0):
            return Integer(x.form, width)
        if x.exact and (signed or "nonNeg" in op.attributes) or not signed and within(bounds, 0, (1 << x.width) - 1):
            return Integer(x.form, width)

        def build(v: ir.Value) -> ir.Value:
            dtype = integer_dtype(width)        # there are none of 33 bits, as LLVM counts sums of arithmetic series
            if signed:
                return ops.convert(v, dtype)
            wide = ops.convert(ops.bitcast_convert(v, f"uint{x.width}"), f"uint{width}")
            return ops.bitcast_convert(wide, dtype)
        most = limits(x.width) if signed else (0, (1 << x.width) - 1)
        return elementwise(build, op, operands, domain, most)
    return handler


def _truncate(op: ir.Operation, operands: list[Any], domain: Domain) -> Value:
    (x,) = operands
    type_ = op.results[0].type
    if is_boolean(type_):
        if isinstance(x, Condition):
            return x
        return Compare(_modulo(x.form, 2, domain), "NE").at_domain(domain) if x.sure(domain) else elementwise(
            lambda v: ops.compare(ops.and_(v, 1), 0, "NE"), op, operands, domain)
    width = width_of(type_)
    if x.width == width or within(range_of(x.form, domain), *limits(width)):
        return Integer(x.form, width, x.exact)
    if x.form.known is not None:
        return constant(x.form.constant, width)
    if is_static(x.form) and within(range_of(x.form, domain), 0, (1 << width) - 1):
        return Integer(x.form, width, exact=False)
    return elementwise(lambda v: ops.convert(v, integer_dtype(width)), op, operands, domain)


def _constant(op: ir.Operation, operands: list[Any], domain: Domain) -> Value:
    type_, value = op.results[0].type, op.attributes["value"]
    if is_boolean(type_):
        return Known(bool(attr.decode(value)))
    if is_integer(type_):
        return constant(int(ir.IntegerAttr(value).value), width_of(type_))
    return Lanes(ops.create("stablehlo.constant", [ir.RankedTensorType.get([], type_)], [], {
        "value": ir.DenseElementsAttr.get_splat(ir.RankedTensorType.get([], type_), value)}).result)


def _to_float(signed: bool) -> Handler:
    def handler(op: ir.Operation, operands: list[Any], domain: Domain) -> Value:
        (x,) = operands
        dtype = dtype_of_type(op.results[0].type)
        number = known_number(x)
        if number is not None and (signed or number >= 0):
            number = -number if isinstance(x, Known) and signed else number
            return Lanes(ops.constant(np.asarray(number).astype(dtype)))
        if isinstance(x, Condition) and signed:
            return elementwise(lambda v: ops.negate(ops.convert(v, dtype)), op, operands, domain)
        bounds = range_of(x.form, domain) if isinstance(x, Integer) and x.sure(domain) else None
        if signed or isinstance(x, Condition) or (bounds is not None and bounds[0] >= 0):
            return elementwise(lambda v: ops.convert(v, dtype), op, operands, domain)
        return elementwise(lambda v: ops.convert(ops.bitcast_convert(v, f"uint{x.width}"), dtype), op, operands, domain)
    return handler


def _power(op: ir.Operation, operands: list[Any], domain: Domain) -> Value:
    x, y = operands
    exponent = known_number(y)
    if exponent is None or not 0 <= exponent <= 16:
        return elementwise(ops.power, op, operands, domain)
    result: Value = constant(1, x.width)
    for _ in range(exponent):
        result = _multiply(op, [result, x], domain)  # type: ignore[list-item]
    return result


def _absolute(op: ir.Operation, operands: list[Any], domain: Domain) -> Value:
    bounds = range_of(operands[0].form, domain)
    if operands[0].sure(domain) and bounds is not None and bounds[0] >= 0:
        return operands[0]
    return elementwise(ops.abs, op, operands, domain)


def _of_truths(truths: Handler, integers: Handler) -> Handler:
    """A handler of integers that says what it means for those of one bit, of which a signed one is 0 or -1."""
    def handler(op: ir.Operation, operands: list[Any], domain: Domain) -> Any:
        return (truths if isinstance(operands[0], Condition) else integers)(op, operands, domain)
    return handler


_divide_unsigned, _remainder_unsigned = unsigned(ops.divide), unsigned(ops.remainder)

INTEGERS: dict[str, Handler] = {
    "arith.constant": _constant, "arith.addi": _of_truths(_xor, _add), "arith.subi": _of_truths(_xor, _subtract),
    "arith.muli": _of_truths(_and, _multiply),
    "arith.divsi": _divide(ops.divide, True), "arith.divui": _divide(_divide_unsigned, False),
    "arith.remsi": _remainder(ops.remainder, True), "arith.remui": _remainder(_remainder_unsigned, False),
    "arith.floordivsi": _floor_divide, "arith.ceildivsi": _ceil_divide,
    "arith.shli": _shift_left, "arith.shrsi": _shift_right(ops.shift_right_arithmetic, True),
    "arith.shrui": _shift_right(ops.shift_right_logical, False),
    "arith.andi": _and, "arith.ori": _or, "arith.xori": _xor,
    "arith.maxsi": _of_truths(_and, _extreme(ops.maximum, True, True)),
    "arith.minsi": _of_truths(_or, _extreme(ops.minimum, False, True)),
    "arith.maxui": _of_truths(_or, _extreme(unsigned(ops.maximum), True, False)),
    "arith.minui": _of_truths(_and, _extreme(unsigned(ops.minimum), False, False)),
    "arith.cmpi": _compare, "arith.select": _select,
    "arith.extsi": _extend(True), "arith.extui": _extend(False), "arith.trunci": _truncate,
    "arith.index_cast": _extend(True), "arith.index_castui": _extend(False),
    "arith.sitofp": _to_float(True), "arith.uitofp": _to_float(False),
    "math.ipowi": _power, "math.absi": _absolute,
}
"""Operations of integers and conditions by name."""
