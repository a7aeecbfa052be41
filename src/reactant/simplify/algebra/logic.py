"""compare, select, clamp, and, or, xor, not, shifts."""
from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import creation, ops
from reactant.ir.types import dtype_of, shape_of, size
from reactant.rewrite import constant, equations, match, named, once, one_of, producer, rewrite, splat, variables
from reactant.simplify.facts.contents import apply, dense

p, q, x, y, z, d, t, low, high, v = variables("p q x y z d t low high v")
c, k = constant("c"), splat("k")
SUMS = ("stablehlo.add", "stablehlo.subtract")
BITWISE = ("stablehlo.and", "stablehlo.or", "stablehlo.xor")
OPPOSITE = {"EQ": "NE", "NE": "EQ", "LT": "GE", "GE": "LT", "LE": "GT", "GT": "LE"}
MIRRORED = {"EQ": "EQ", "NE": "NE", "LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}

equations(
    dtypes="discrete",
    and_itself=(match.and_(x, x), x),
    or_itself=(match.or_(x, x), x),
    xor_itself=(match.xor(x, x), 0),
    not_of_not=(match.not_(match.not_(x)), x),
    and_with_zero=(match.and_(x, 0), 0),
    or_with_zero=(match.or_(x, 0), x),
    xor_with_zero=(match.xor(x, 0), x),
    and_absorbs_or=(match.and_(x, match.or_(x, y)), x),
    or_absorbs_and=(match.or_(x, match.and_(x, y)), x),
    and_of_and_itself=(match.and_(match.and_(x, y), y), match.and_(x, y)),
    or_of_or_itself=(match.or_(match.or_(x, y), y), match.or_(x, y)),
    xor_of_xor_itself=(match.xor(match.xor(x, y), y), x),
    and_with_own_complement=(match.and_(x, match.not_(x)), 0),
    and_of_nots=(match.and_(match.not_(x), match.not_(y)), match.not_(match.or_(x, y))),
    or_of_nots=(match.or_(match.not_(x), match.not_(y)), match.not_(match.and_(x, y))),
    xor_of_nots=(match.xor(match.not_(x), match.not_(y)), match.xor(x, y)),
)
equations(
    dtypes="bool",
    and_with_true=(match.and_(x, True), x),
    or_with_true=(match.or_(x, True), True),
    xor_with_true=(match.xor(x, True), match.not_(x)),
    or_with_own_complement=(match.or_(x, match.not_(x)), True),
)
equations(
    dtypes="integer",
    shift_left_by_zero=(match.shift_left(x, 0), x),
    shift_right_logical_by_zero=(match.shift_right_logical(x, 0), x),
    shift_right_arithmetic_by_zero=(match.shift_right_arithmetic(x, 0), x),
)


@rewrite(one_of(BITWISE, one_of(BITWISE, x, c, template="q"), constant("z"),
                template="t"), dtypes="integer",
         example=lambda a: ops.and_(ops.and_(a(6), 12), 6), counter=lambda a: ops.and_(ops.or_(a(6), 12), 6))
def bitwise_of_bitwise_constants(x, c, q, z, t, result_shape):
    """op(op(x, c), z) = op(x, op(c, z)) for and, or, xor"""
    if t.name != q.name:
        return None
    function = {"stablehlo.and": np.bitwise_and, "stablehlo.or": np.bitwise_or, "stablehlo.xor": np.bitwise_xor}[t.name]
    return t.build((x, dense(apply(function, c, z), c.dtype)), result_shape)


# ---- compare -------------------------------------------------------------------------------------------------------

@rewrite(match.not_(once(match.compare(x, y, comparison_direction=d))), example=(
            lambda a: ops.not_(ops.compare(a(6, dtype="int32"), a(6, dtype="int32"), "LT")),
            lambda a: ops.not_(ops.compare(a(6, dtype="float32"), a(6, dtype="float32"), "EQ"))),
         counter=lambda a: ops.not_(ops.compare(a(6, dtype="float32"), a(6, dtype="float32"), "LT")))
def not_of_compare(x, y, d):
    """not (x < y) = (x >= y) for integers; for floats, where NaN compares false, only == and != swap"""
    if dtype_of(x).kind not in "iub" and d not in ("EQ", "NE"):
        return None
    return ops.compare(x, y, OPPOSITE[d])


@rewrite(match.compare(x, x, comparison_direction=d, compare_type=t),
         example=(lambda a: ops.compare(v := a(6, dtype="int32"), v, "LE"),
                  lambda a: ops.compare(v := a(6, dtype="float32"), v, "LT"),
                  lambda a: ops.compare(v := ops.convert(a(6, dtype="int32"), "float32"), v, "NE")),
         counter=(lambda a: ops.compare(v := a(6, dtype="float32"), v, "EQ"),
                  lambda a: ops.compare(v := a(6, dtype="float32"), v, "LE")))
def compare_with_itself(x, d, t, result_shape):
    """x <= x is true, x < x false; for floats only where NaN does not matter, or that were integers"""
    made = producer(x)
    source = made.operands[0] if made is not None and made.name == "stablehlo.convert" else x
    if dtype_of(source).kind in "iub" or t == "TOTALORDER":
        return ops.constant(d in ("EQ", "LE", "GE"), bool, result_shape)
    return ops.constant(False, bool, result_shape) if d in ("LT", "GT") else None


@rewrite(match.compare(named("v", match.constant()), x, comparison_direction=d, compare_type=t),
         example=lambda a: ops.compare(ops.splat(3, w := a(6)), w, "GT"))
def compare_constant_on_the_right(v, x, d, t):
    """c < x = x > c"""
    made = producer(x)
    if made is not None and made.name == "stablehlo.constant":
        return None
    return ops.compare(x, v, MIRRORED[d], total_order=t == "TOTALORDER")


@rewrite(match.compare(match.negate(x), match.negate(y), comparison_direction=d, compare_type=t), dtypes="float",
         example=lambda a: ops.compare(ops.negate(a(6)), ops.negate(a(6)), "LT"))
def compare_of_negates(x, y, d, t):
    """-x < -y = x > y"""
    return None if t == "TOTALORDER" else ops.compare(x, y, MIRRORED[d])


@rewrite(match.compare(match.exponential(x), k, comparison_direction=d, compare_type=t), dtypes="float",
         example=(lambda a: ops.compare(ops.exponential(a(6)), -0.5, "LT"),
                  lambda a: ops.compare(ops.exponential(a(6)), 0.0, "LT")),
         counter=(lambda a: ops.compare(ops.exponential(a(6)), -0.5, "GT"),
                  lambda a: ops.compare(ops.exponential(a(6)), 0.0, "LE")))
def exponential_below_zero(x, k, d, t, result_shape):
    """exp(x) < c is false for c <= 0, and so are <= and == for c < 0; NaN is not below anything either"""
    never = k <= 0 if d == "LT" else k < 0 and d in ("LE", "EQ")
    return ops.constant(False, bool, result_shape) if never and t != "TOTALORDER" else None


@rewrite(match.compare(match.add(x, c), constant("z"), comparison_direction=d), dtypes="integer",
         example=lambda a: ops.compare(ops.add(a(6), 3), 5, "EQ"),
         counter=lambda a: ops.compare(ops.add(a(6), 3), 5, "LT"))
def compare_of_sum_with_constant(x, c, z, d):
    """x + c == z = (x == z - c): equality survives wraparound, order does not"""
    return ops.compare(x, dense(apply(np.subtract, z, c), c.dtype), d) if d in ("EQ", "NE") else None


@rewrite(match.compare(x, k, comparison_direction=d), dtypes="integer",
         example=(lambda a: ops.compare(a(6, dtype="uint8"), 0, "GE"),
                  lambda a: ops.compare(a(6, dtype="int8"), 127, "GT"),
                  lambda a: ops.compare(a(6, dtype="int8"), -128, "LT")),
         counter=lambda a: ops.compare(a(6), 3, "GE"), by_types=True)
def compare_with_extreme(x, k, d, result_shape):
    """x >= smallest is true, x > largest is false"""
    if k.dtype.kind not in "iu":
        return None
    limits = np.iinfo(k.dtype)
    always = {("GE", limits.min): True, ("LT", limits.min): False, ("LE", limits.max): True, ("GT", limits.max): False}
    known = always.get((d, int(k)))
    return None if known is None else ops.constant(known, bool, result_shape)


@rewrite(match.compare(match.iota(iota_dimension=v), k, comparison_direction=d), dtypes="integer",
         example=(lambda a: ops.compare(ops.iota((5,), a.dtype, 0), 5, "LT"),
                  lambda a: ops.compare(ops.iota((2, 5), a.dtype, 1), 0, "GE")),
         counter=lambda a: ops.compare(ops.iota((5,), a.dtype, 0), 4, "LT"))
def compare_of_iota_with_bound(v, k, d, result_shape):
    """iota < n is true where n is its extent or more"""
    last = result_shape[v] - 1
    if last < 0:
        return None
    at = [bool(getattr(int(i), {"EQ": "__eq__", "NE": "__ne__", "LT": "__lt__", "LE": "__le__", "GT": "__gt__",
                                "GE": "__ge__"}[d])(int(k))) for i in (0, last)]
    inside = d in ("EQ", "NE") and 0 <= int(k) <= last and last > 0
    if inside or at[0] != at[1] or last > np.iinfo(k.dtype).max:
        return None
    return ops.constant(at[0], bool, result_shape)


@rewrite(match.compare(x, k, comparison_direction=d), dtypes="bool",
         example=(lambda a: ops.compare(a(6), True, "EQ"), lambda a: ops.compare(a(6), True, "NE"),
                  lambda a: ops.compare(a(6), False, "GT"), lambda a: ops.compare(a(6), False, "GE")))
def compare_predicate_with_constant(x, k, d, result_shape):
    """p == true is p, p != true is not p, p >= false is true"""
    on = [bool({"EQ": u == k, "NE": u != k, "LT": u < k, "LE": u <= k, "GT": u > k, "GE": u >= k}[d])
          for u in (np.bool_(False), np.bool_(True))]
    if on[0] == on[1]:
        return ops.constant(on[0], bool, result_shape)
    return x if on[1] else ops.not_(x)


# ---- select and clamp ----------------------------------------------------------------------------------------------

equations(
    example=lambda a: ops.select(a(6, dtype="bool"), v := a(6), v),
    select_between_equals=(match.select(p, x, x), x),
)
equations(
    example=lambda a: ops.select(ops.not_(a(6, dtype="bool")), a(6), a(6)),
    select_by_not=(match.select(match.not_(p), x, y), match.select(p, y, x)),
)
equations(
    example=lambda a: ops.select(q := a(6, dtype="bool"), ops.select(q, a(6), a(6)), a(6)),
    select_of_select_on_true=(match.select(p, match.select(p, x, y), z), match.select(p, x, z)),
)
equations(
    example=lambda a: ops.select(q := a(6, dtype="bool"), a(6), ops.select(q, a(6), a(6))),
    select_of_select_on_false=(match.select(p, x, match.select(p, y, z)), match.select(p, x, z)),
)


@rewrite(match.select(k, x, y), example=(lambda a: ops.select(ops.constant(True), a(6), a(6)),
                                         lambda a: ops.select(ops.constant([False] * 6), a(6), a(6))))
def select_by_constant(k, x, y):
    """select(true, x, y) = x"""
    return x if k else y


@rewrite(match.select(p, splat("high"), splat("low")), dtypes="bool",
         example=(lambda a: ops.select(q := a(6, dtype="bool"), ops.splat(True, q), False),
                  lambda a: ops.select(q := a(6, dtype="bool"), ops.splat(False, q), True)))
def select_of_truth_values(p, high, low, result_shape, result_dtype):
    """select(p, true, false) = p"""
    if result_dtype.kind != "b" or bool(high) == bool(low) or shape_of(p) != result_shape:
        return None
    return p if high else ops.not_(p)


def _either_way(first, second, nested=True):
    def build(a):
        def iteration(i, total):
            odd = ops.compare(ops.remainder(i, 2), 0, "NE")
            return [ops.add(i, 1), ops.select(odd, first(total, a(3)), second(total, a(3)))]
        start = [ops.constant(0, np.int32), ops.splat(1, a(3))]
        if nested:
            return ops.while_(start, lambda i, _: ops.compare(i, 3, "LT"), iteration)[1]
        return iteration(a(dtype="int32"), a(3))[1]
    return build


@rewrite(match.select(p, one_of(SUMS, x, y, template="s"), one_of(SUMS, x, z, template="t")),
         example=(_either_way(ops.add, ops.subtract), _either_way(ops.subtract, ops.add)),
         counter=(_either_way(ops.add, ops.subtract, nested=False), _either_way(ops.add, ops.multiply)))
def select_of_sum_and_difference(p, x, y, s, z, t):
    """p ? x + y : x - z = x + (p ? y : -z): what an iteration adds to what is carried"""
    around = creation.owner(x)
    if s.name == t.name or type(around) is not ir.Block or around.owner.name != "stablehlo.while":
        return None
    return ops.add(x, ops.select(p, *(v if made.name == SUMS[0] else ops.negate(v) for v, made in ((y, s), (z, t)))))


@rewrite(match.select(match.broadcast_in_dim(p, broadcast_dimensions=()), x, y),
         example=lambda a: ops.select(ops.broadcast_in_dim(a(dtype="bool"), (6,), ()), a(6), a(6)))
def select_by_broadcast_scalar(p, x, y):
    """select(broadcast_in_dim(p), x, y) = select(p, x, y) for 0-d p"""
    return ops.select(p, x, y)


@rewrite(match.select(match.select(p, q, splat("k")), x, y),
         example=(lambda a: ops.select(ops.select(a(6, dtype="bool"), a(6, dtype="bool"), False), a(6), a(6)),))
def select_by_conjunction(p, q, k, x, y):
    """select(select(p, q, false), x, y) = select(p and q, x, y)"""
    return ops.select(ops.and_(p, q), x, y) if not k and shape_of(p) == shape_of(q) else None


@rewrite(match.select(p, match.broadcast_in_dim(x, broadcast_dimensions=d),
                      match.broadcast_in_dim(y, broadcast_dimensions=d)),
         example=lambda a: ops.select(a(dtype="bool"), ops.broadcast_in_dim(a(3), (2, 3), (1,)),
                                      ops.broadcast_in_dim(a(3), (2, 3), (1,))))
def select_of_broadcasts(p, x, y, d, result_shape):
    """select(p, broadcast_in_dim(x), broadcast_in_dim(y)) = broadcast_in_dim(select(p, x, y)) for 0-d p"""
    if shape_of(p) or shape_of(x) != shape_of(y) or size(shape_of(x)) >= size(result_shape):
        return None
    return ops.broadcast_in_dim(ops.select(p, x, y), result_shape, d)


@rewrite(match.clamp(low, match.clamp(low, x, high), high),
         example=lambda a: ops.clamp(u := a(dtype="int32"), ops.clamp(u, a(6), w := a(dtype="int32")), w),
         dtypes="integer")
def clamp_of_clamp(low, x, high):
    """clamp(a, clamp(a, x, b), b) = clamp(a, x, b), also where a > b"""
    return ops.clamp(low, x, high)


@rewrite(match.clamp(splat("low"), x, splat("high")), dtypes="integer",
         example=lambda a: ops.clamp(-128, a(6, dtype="int8"), 127), counter=lambda a: ops.clamp(0, a(6), 9))
def clamp_to_all_values(low, x, high):
    """clamp(smallest, x, largest) = x"""
    if low.dtype.kind not in "iu":
        return None
    limits = np.iinfo(low.dtype)
    return x if int(low) == limits.min and int(high) == limits.max else None


@rewrite(match.clamp(splat("low"), x, splat("high")), dtypes="integer",
         example=lambda a: ops.clamp(3, a(6), 3))
def clamp_to_one_value(low, x, high):
    """clamp(c, x, c) = c for integers"""
    return int(low) if low.dtype.kind in "iu" and low == high else None
