"""Functions of an order and an argument, Bessel functions, random numbers."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir

from reactant.differentiate.declare import Call, Tangents, derivative, elementwise, number, plus, times, zeros
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of


def _of_order(name: str, slope: Any) -> None:
    """Functions of an order and an argument: the derivative in the order has no closed form."""
    def forward(call: Call, tangents: Tangents) -> Tangents:
        if tangents[0] is not None:
            raise call.refuse("its first operand (the order) must be constant.")
        return [times(slope(*call.operands), tangents[1], strong=True)]
    derivative(name, forward)


_of_order("polygamma", lambda n, x: ops.polygamma(ops.add(n, 1), x))
_of_order("zeta", lambda s, q: ops.multiply(ops.negate(s), ops.zeta(ops.add(s, 1), q)))


# ---- Bessel functions ----------------------------------------------------------------------------------------------

NEAR = (
    0.33839763720473803, -0.3046826723431984, 0.17162090152220877, -0.094901097048047639, 0.049305284239670712,
    -0.023737414805899471, 0.010546460394594998, -0.0043243099950505759, 0.0016394756169413357,
    -0.00057637557453858236, 0.00018850288509584165, -5.754195010082104e-05, 1.6448448070728896e-05,
    -4.4167383584587505e-06, 1.1173875391201037e-06, -2.6707938539406119e-07, 6.0469950225419186e-08,
    -1.300025009986248e-08, 2.6598237246823866e-09, -5.1897956016352627e-10, 9.675809035373237e-11,
    -1.7268262914415559e-11, 2.9550526631296399e-12, -4.856446783111929e-13, 7.6761854986049361e-14,
    -1.1685332877993451e-14, 1.7153912855551331e-15, -2.4312798465479549e-16, 3.3307945188222384e-17,
    -4.4153416464793395e-18)
"""Chebyshev coefficients of exp(-x) I0(x) over 0..8, in x / 4 - 1 (computed with 40 digits)."""
FAR = (
    0.40224520550705439, 0.0033691164782556943, 6.8897583469168245e-05, 2.8913705208347567e-06,
    2.0489185894690638e-07, 2.266668990498178e-08, 3.3962320257083865e-09, 4.9406023882249701e-10,
    1.1889147107846439e-11, -3.1499165279632416e-11, -1.3215811840447713e-11, -1.7941785315068062e-12,
    7.180124451383666e-13, 3.8527783827421426e-13, 1.54008621752141e-14, -4.1505693472872222e-14,
    -9.5548466988283073e-15, 3.8116806693526224e-15, 1.7725601330565263e-15, -3.425485619677219e-16,
    -2.8276239805165836e-16, 3.4612228676974612e-17, 4.4656214202967598e-17, -4.8305044859441819e-18,
    -7.2331804878747538e-18)
"""Those of sqrt(x) exp(-x) I0(x) from 8 on, in 16 / x - 1."""


def _chebyshev(coefficients: Sequence[float], x: ir.Value) -> ir.Value:
    """Clenshaw's recurrence."""
    twice, later, latest = ops.multiply(x, 2), zeros(x), zeros(x)
    for c in coefficients[:0:-1]:
        later, latest = ops.add(ops.subtract(ops.multiply(twice, later), latest), c), later
    return ops.add(ops.subtract(ops.multiply(x, later), latest), coefficients[0])


def _bessel_i0e(x: ir.Value) -> ir.Value:
    """exp(-|x|) I0(x)"""
    size = ops.abs(x)
    close = ops.compare(size, number(8, x), "LE")
    near = _chebyshev(NEAR, ops.subtract(ops.multiply(ops.select(close, size, number(8, x)), 0.25), 1))
    large = ops.select(close, number(8, x), size)
    far = _chebyshev(FAR, ops.subtract(ops.divide(number(16, x), large), 1))
    return ops.select(close, near, ops.multiply(far, ops.rsqrt(large)))


def _bessel_slope(y: ir.Value, x: ir.Value) -> ir.Value:
    """I1' = I0 - I1 / x, times exp(-|x|)."""
    at_zero = ops.compare(x, zeros(x), "EQ")
    ratio = ops.select(at_zero, number(0.5, x), ops.divide(y, ops.select(at_zero, number(1, x), x)))
    return ops.subtract(_bessel_i0e(x), ops.add(ratio, ops.multiply(y, ops.sign(x))))


elementwise("bessel_i1e", _bessel_slope)


# ---- random numbers ------------------------------------------------------------------------------------------------

def _random_forward(call: Call, tangents: Tangents) -> Tangents:
    """y = low + u (high - low) or mean + u deviation with u constant."""
    first, second = call.operands[:2]
    t0, t1 = tangents[:2]
    y = call.results[0]
    scale = second
    if "UNIFORM" in str(call.op.attributes["rng_distribution"]):
        scale = ops.subtract(second, first)
        t1 = plus(t1, None if t0 is None else ops.negate(t0))

    def spread(x: ir.Value) -> ir.Value:
        return ops.broadcast_in_dim(x, shape_of(y), ())

    found = None if t0 is None else spread(t0)
    if t1 is not None:
        drawn = ops.divide(ops.subtract(y, spread(first)), spread(scale))
        found = plus(found, times(drawn, spread(ops.convert(t1, dtype_of(y))), strong=True))
    return [found]


derivative("rng", _random_forward)
