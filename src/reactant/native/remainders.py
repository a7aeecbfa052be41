"""Remainders of floats as straight-line code: the C library's take 15 ns each, a loop of these 1 to 2.

With a quotient below 2**53, x - trunc(x / y) y is exact by a fused operation: it is a multiple of y's last place, and
at most y. The quotient, rounded, is what it should be or, where it was rounded up to an integer, one more.
"""
from __future__ import annotations

from reactant.native.reals import Real, rarely, routine

MOST = 2.0**52
"""Quotients from here on are left to `frem`, the library's function: so are NaN, infinities and zero divisors."""


@routine("fmod")
def fmod(x: Real, y: Real) -> Real:
    """The exact remainder with the sign of x."""
    if not x.double:
        return fmod(x.wide(), y.wide()).narrow()
    size, divisor = x.abs(), y.abs()
    quotient = size / divisor
    rest = (-quotient.trunc()).fma(divisor, size)
    rest = (rest + divisor).choose(rest.test("olt", 0.0), rest)
    usual = quotient.test("olt", MOST) & divisor.test("olt", float("inf"))
    return rarely(rest.copysign(x), ~usual, [x, y], "frem double {}, {}".format)
