"""Random numbers in [0, 1) as libraries make them of random bits: what their range says about them.

    u = bitcast(shift_right_logical(bits, 9) | bits of 1.0) - 1        (12 for double precision)

is k 2^-23 for an integer k, exactly: at least +0.0, less than one. Generators of equal states are merged with other
equal ops; that their first bits are those of a shorter request is not promised by StableHLO, and not used.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of
from reactant.rewrite import match, producer, rewrite, splat, variables

x, d = variables("x d")
EXPONENT = {"float32": (9, 0x3F800000), "float64": (12, 0x3FF0000000000000)}


def uniform_of(value: ir.Value) -> ir.Value | None:
    """The integers k of numbers k 2^-23 (2^-52) in [0, 1) that are made of random bits; None for others."""
    made = producer(value)
    if made is None:
        return None
    if made.name == "stablehlo.reshape":
        return uniform_of(made.operands[0]) if shape_of(made.operands[0]) == shape_of(value) else None
    if made.name not in ("stablehlo.add", "stablehlo.subtract"):
        return None
    dtype = dtype_of(value).name    # NumPy makes it anew each time
    if dtype not in EXPONENT:
        return None
    cast = producer(made.operands[0])
    if cast is None or cast.name != "stablehlo.bitcast_convert":
        return None
    one = ops.constant_value(made.operands[1])
    if one is None or not one.size or not (one == (-1 if made.name == "stablehlo.add" else 1)).all():
        return None
    joined = producer(cast.operands[0])
    places, exponent = EXPONENT[dtype]
    if joined is None or joined.name != "stablehlo.or" or dtype_of(cast.operands[0]).kind != "u" \
            or dtype_of(cast.operands[0]).itemsize != dtype_of(value).itemsize:
        return None
    bits = ops.constant_value(joined.operands[1])
    shifted = producer(joined.operands[0])
    if bits is None or not (bits == exponent).all() or shifted is None \
            or shifted.name != "stablehlo.shift_right_logical":
        return None
    count = ops.constant_value(shifted.operands[1])
    return joined.operands[0] if count is not None and (count >= places).all() and (count < 32).all() else None


def _uniform(a: Any, dtype: str = "float32") -> ir.Value:
    """Random numbers of bits, for examples."""
    places, exponent = EXPONENT[dtype]
    word = f"uint{8 * np.dtype(dtype).itemsize}"
    shifted = ops.shift_right_logical(a(16, dtype=word), places)
    return ops.add(ops.bitcast_convert(ops.or_(shifted, exponent), dtype), -1)


_BOTH = (_uniform, lambda a: _uniform(a, "float64"))


@rewrite(match.add(x, 0.0), example=tuple((lambda a, u=u: ops.add(u(a), 0.0)) for u in _BOTH),
         counter=lambda a: ops.add(ops.add(a(16, dtype="float32"), -1), 0.0))
def uniform_plus_zero(x):
    """u + 0.0 = u, which is never -0.0"""
    return x if uniform_of(x) is not None else None


@rewrite(match.maximum(x, splat("c")), example=tuple((lambda a, u=u: ops.maximum(u(a), 0.0)) for u in _BOTH),
         counter=(lambda a: ops.maximum(_uniform(a), 0.5), lambda a: ops.maximum(a(16, dtype="float32"), 0.0)))
def uniform_is_not_negative(x, c):
    """max(u, c) = u for c <= 0"""
    return x if dtype_of(x).kind == "f" and c <= 0 and uniform_of(x) is not None else None


@rewrite(match.compare(x, splat("c"), comparison_direction=d),
         example=(lambda a: ops.compare(_uniform(a), 0.3, "LT"), lambda a: ops.compare(_uniform(a), 0.5, "GE"),
                  lambda a: ops.compare(_uniform(a), 0.5, "LE"), lambda a: ops.compare(_uniform(a), 2.0, "LT"),
                  lambda a: ops.compare(_uniform(a, "float64"), 0.75, "GT")),
         counter=(lambda a: ops.compare(_uniform(a), 0.5, "EQ"), lambda a: ops.compare(_uniform(a), np.nan, "LT")))
def uniform_against_limit(x, c, d):
    """u < c = k < ceil(c 2^23): the random integers are compared"""
    places = uniform_of(x) if d in ("LT", "LE", "GT", "GE") else None
    if places is None or not np.isfinite(c):
        return None
    scale = 2.0 ** (23 if dtype_of(x).itemsize == 4 else 52)
    limit = min(max(float(c), -1.0), 2.0) * scale
    bound = math.ceil(limit) if d in ("LT", "GE") else math.floor(limit) + 1     # u < c, u <= c: k < bound
    return ops.compare(places, max(bound, 0), "LT" if d in ("LT", "LE") else "GE")
