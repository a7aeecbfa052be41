"""lgamma, digamma, erf_inv and log(1 + x) to the last digits, near their zeros and the ends of their range too.

XLA's lose them where they subtract what is nearly equal (jax 0.10.2, float64): 1e-10 of lgamma at 2 + 1e-5, all of
digamma near its zero at 1.46, 1e-11 of erf_inv at 1 - 1e-9; float32 has no digit left there. Here the zeros are
factors: what is left is smooth, and a polynomial through Chebyshev's points, in 50 digits of mpmath. Single precision
is computed in double, as in SciPy.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import modules, ops
from reactant.ir.types import dtype_of

CONCERNED = (b"lgamma", b"digamma", b"erf_inv", b"log_plus_one")
"""One of them is in the bytecode of a module that `kept` may change."""
DTYPES = (np.float32, np.float64)


def written_out(module: ir.Module) -> ir.Module:
    """The module, or a copy of it in which lgamma, digamma and erf_inv are written out."""
    return modules.altered(module, _is_special, _write_out)


def kept(module: ir.Module) -> ir.Module:
    """The same for XLA, whose log(1 + x) is not native code's."""
    return modules.altered(module, lambda op: _is_special(op) or _is_logarithm(op), _write_out)


def _is_special(op: ir.Operation) -> bool:
    return op.name in FORMS and op.name != LOGARITHM and dtype_of(op.results[0]) in DTYPES


def _is_logarithm(op: ir.Operation) -> bool:
    return op.name == LOGARITHM and dtype_of(op.results[0]) == np.float64


def _write_out(op: ir.Operation) -> None:
    dtype = dtype_of(op.results[0])
    found = FORMS[op.name](ops.convert(op.operands[0], np.float64))
    op.results[0].replace_all_uses_with(ops.convert(found, dtype))
    op.erase()


# ---- pieces --------------------------------------------------------------------------------------------------------

def _polynomial(coefficients: Sequence[float], t: ir.Value) -> ir.Value:
    """c0 + c1 t + c2 t**2 + ..."""
    found = ops.splat(coefficients[-1], t)
    for c in reversed(coefficients[:-1]):
        found = ops.add(ops.multiply(found, t), c)
    return found


def _nearest_whole(x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """x less the nearest whole number, and what is left of 1/2: sin(pi x) and cos(pi x) are, but for signs, sin(pi
    times them)."""
    rest = ops.subtract(x, ops.round_nearest_even(x))
    return rest, ops.subtract(0.5, ops.abs(rest))


def _stirling(terms: Sequence[float], y: ir.Value) -> ir.Value:
    return _polynomial(terms, ops.multiply(y, y))


# ---- lgamma --------------------------------------------------------------------------------------------------------

FAR = 8
"""From where on lgamma is by Stirling's series."""
LGAMMA_SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)


def lgamma(x: ir.Value) -> ir.Value:
    """log |gamma(x)| of float64.

    On [1, 2] it is (x - 1)(x - 2) R(x); a whole distance away log of a product is added or subtracted. Beyond 8 it is
    Stirling's series, below -1/2 log(pi / |sin(pi x)|) - lgamma(1 - x).
    """
    reflected = ops.compare(x, -0.5, "LE")
    z = ops.select(reflected, ops.subtract(1, x), x)
    far, above = ops.compare(z, FAR, "GE"), ops.compare(z, 2, "GE")
    below, negative = ops.compare(z, 1, "LT"), ops.compare(z, 0, "LE")

    # what the polynomial sees, and its distances from 1 and 2, of which one is exact near each
    less = ops.minimum(ops.maximum(ops.subtract(ops.floor(z), 1), 0), FAR)
    near = ops.select(far, ops.splat(1.5, z), ops.subtract(z, less))
    y = ops.select(below, ops.add(near, ops.select(negative, ops.splat(2, z), ops.splat(1, z))), near)
    from_one = ops.select(below, ops.select(negative, ops.add(near, 1), near), ops.subtract(near, 1))
    from_two = ops.select(below, ops.select(negative, near, ops.subtract(near, 1)), ops.subtract(near, 2))
    smooth = ops.multiply(ops.multiply(from_one, from_two), _polynomial(R, ops.subtract(ops.multiply(y, 2), 3)))

    product = ops.splat(1, z)
    for k in range(1, FAR - 1):
        factor = ops.subtract(z, k)
        product = ops.select(ops.compare(factor, 1, "GE"), ops.multiply(product, factor), product)
    size = ops.abs(ops.select(negative, ops.multiply(z, ops.add(z, 1)), z))
    logarithm = ops.log(ops.select(far, z, ops.select(above, product, ops.select(below, size, ops.splat(1, z)))))
    close = ops.add(smooth, ops.select(below, ops.negate(logarithm), logarithm))

    inverse = ops.divide(1, ops.select(far, z, ops.splat(FAR, z)))
    series = ops.add(ops.multiply(inverse, _stirling(LGAMMA_SERIES, inverse)), 0.5 * math.log(2 * math.pi) - 0.5)
    distant = ops.add(ops.multiply(ops.subtract(z, 0.5), ops.subtract(logarithm, 1)), series)
    found = ops.select(far, distant, close)

    rest, _ = _nearest_whole(ops.select(reflected, x, ops.splat(-0.5, x)))
    turned = ops.log(ops.abs(ops.multiply(ops.sine(ops.multiply(rest, math.pi)), 1 / math.pi)))
    found = ops.select(reflected, ops.negate(ops.add(turned, found)), found)
    infinite = ops.compare(ops.abs(x), math.inf, "EQ")
    return ops.select(ops.compare(x, x, "NE"), x, ops.select(infinite, ops.abs(x), found))


# ---- digamma -------------------------------------------------------------------------------------------------------

DISTANT = 10
"""From where on digamma is by its asymptotic series."""
DIGAMMA_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160)
ZERO, ZERO_REST = 1.4616321449683622, 9.549995429965697e-17
"""The positive zero, as the sum of two numbers."""
OTHER, OTHER_REST = -0.5040830082644554, -8.15428206243813e-18
"""The greatest negative one."""


def digamma(x: ir.Value) -> ir.Value:
    """The derivative of lgamma, of float64.

    On [1, 2] it is (x - zero) T(x); a whole distance away a sum of reciprocals is added or subtracted. Beyond 10 it is
    its asymptotic series, below 0 digamma(1 - x) - pi cot(pi x), and around the zero in (-3/4, -1/4) as `_around_other`
    has it. It is NaN at its poles.
    """
    negative = ops.compare(x, 0, "LE")
    z = ops.select(negative, ops.subtract(1, x), x)
    far, below = ops.compare(z, DISTANT, "GE"), ops.compare(z, 1, "LT")
    less = ops.minimum(ops.maximum(ops.subtract(ops.floor(z), 1), 0), DISTANT)
    near = ops.select(far, ops.splat(1.5, z), ops.subtract(z, less))
    y = ops.select(below, ops.add(near, 1), near)
    zero = ops.select(below, ops.splat(ZERO - 1, z), ops.splat(ZERO, z))
    from_zero = ops.subtract(ops.subtract(near, zero), ZERO_REST)
    smooth = ops.multiply(from_zero, _polynomial(T, ops.subtract(ops.multiply(y, 2), 3)))

    top, bottom = ops.splat(0, z), ops.splat(1, z)          # of the sum of 1 / (z - k)
    for k in range(1, DISTANT - 1):
        factor = ops.subtract(z, k)
        there = ops.compare(factor, 1, "GE")
        top = ops.select(there, ops.add(ops.multiply(top, factor), bottom), top)
        bottom = ops.select(there, ops.multiply(bottom, factor), bottom)
    top = ops.select(far, ops.splat(0, z), ops.select(below, ops.splat(-1, z), top))
    bottom = ops.select(far, ops.splat(1, z), ops.select(below, z, bottom))
    close = ops.add(smooth, ops.divide(top, bottom))

    large = ops.select(far, z, ops.splat(DISTANT, z))
    inverse = ops.divide(1, large)
    square = ops.multiply(inverse, inverse)
    series = ops.add(ops.multiply(inverse, 0.5), ops.multiply(square, _polynomial(DIGAMMA_SERIES, square)))
    found = ops.select(far, ops.subtract(ops.log(large), series), close)

    rest, left = _nearest_whole(ops.select(negative, x, ops.splat(-0.5, x)))
    cotangent = ops.divide(ops.sine(ops.multiply(left, math.pi)), ops.sine(ops.multiply(rest, math.pi)))
    turned = ops.subtract(found, ops.multiply(cotangent, math.pi))
    turned = ops.select(ops.compare(rest, 0, "EQ"), ops.splat(math.nan, x), turned)
    found = ops.select(negative, turned, found)
    around = ops.compare(ops.abs(ops.add(x, 0.5)), 0.25, "LT")
    found = ops.select(around, _around_other(around, x), found)
    return ops.select(ops.compare(x, x, "NE"), x, found)


def _around_other(around: ir.Value, x: ir.Value) -> ir.Value:
    """digamma(x) = digamma(x + 2) - 2 h / (h**2 - 1/4) with h = x + 1/2, by the slopes of both terms from its zero."""
    h, at = ops.select(around, ops.add(x, 0.5), ops.splat(0, x)), OTHER + 0.5
    slope = ops.divide(ops.multiply(ops.add(ops.multiply(h, at), 0.25), 2 / (at * at - 0.25)),
                       ops.subtract(ops.multiply(h, h), 0.25))
    # chosen in between, or XLA would make one number of both constants
    from_zero = ops.subtract(ops.select(around, ops.subtract(x, OTHER), ops.splat(1, x)), OTHER_REST)
    return ops.multiply(from_zero, ops.add(slope, _polynomial(D, ops.multiply(h, 4))))


# ---- erf_inv -------------------------------------------------------------------------------------------------------

NEAR, TAIL = 6.25, 4.0
"""Where the second and the third polynomial begin: -log(1 - x**2), and its root."""


def erf_inv(x: ir.Value) -> ir.Value:
    """The inverse of erf, of float64: x P(w) with w = -log(1 - x**2), in three pieces (Giles, Approximating the erfinv
    function, GPU Computing Gems 2, 2011)."""
    w = ops.negate(ops.log(ops.multiply(ops.subtract(1, x), ops.add(1, x))))
    near = ops.compare(w, NEAR, "LT")
    root = ops.sqrt(ops.select(near, ops.splat(NEAR, w), w))
    middle = ops.compare(root, TAIL, "LT")
    first = _polynomial(E0, ops.subtract(ops.multiply(ops.select(near, w, ops.splat(0, w)), 2 / NEAR), 1))
    second = _polynomial(E1, ops.divide(ops.subtract(ops.select(middle, root, ops.splat(3.25, w)), 3.25), 0.75))
    third = _polynomial(E2, ops.divide(ops.subtract(ops.select(middle, ops.splat(5.0625, w), root), 5.0625), 1.0625))
    found = ops.multiply(x, ops.select(near, first, ops.select(middle, second, third)))
    end = ops.compare(ops.abs(x), 1, "EQ")
    return ops.select(end, ops.multiply(x, math.inf), found)


# ---- log(1 + x) ----------------------------------------------------------------------------------------------------

LOGARITHM = "stablehlo.log_plus_one"


def log_plus_one(x: ir.Value) -> ir.Value:
    """-log(1 - x / (1 + x)) between -1/2 and -0.3, where XLA's rational function loses two digits (119 ulp)."""
    turned = ops.and_(ops.compare(x, -0.5, "GE"), ops.compare(x, -0.3, "LT"))
    other = ops.select(turned, x, ops.splat(0, x))
    found = ops.log_plus_one(ops.select(turned, ops.divide(ops.negate(other), ops.add(other, 1)), x))
    return ops.select(turned, ops.negate(found), found)


FORMS: dict[str, Callable[[ir.Value], ir.Value]] = {
    "chlo.lgamma": lgamma, "chlo.digamma": digamma, "chlo.erf_inv": erf_inv, LOGARITHM: log_plus_one}

R = (
    0.4831289505409809, -0.07297994795715304, 0.015727850268641236, -0.003913560937626187, 0.0010498186644491197,
    -0.00029455070151955954, 8.510090382266539e-05, -2.5094328669818345e-05, 7.5113911543279285e-06,
    -2.2742474054826674e-06, 6.948460789947273e-07, -2.138632494418463e-07, 6.622926112005164e-08,
    -2.0620995364628568e-08, 6.448043752521901e-09, -2.016989565826891e-09, 6.353017600845751e-10,
    -2.0871311005452823e-10, 6.615691316451458e-11, -1.5410479069560222e-11, 4.892185826125285e-12,
    -3.8008085820640625e-12, 1.2170358219385592e-12)
"""lgamma(x) / ((x - 1)(x - 2)) on [1, 2], in 2 x - 3."""
T = (
    0.9510558760318328, -0.21181371064073024, 0.06013562106019684, -0.018550615381739702, 0.005936795278301875,
    -0.0019350666647392832, 0.0006368880303847901, -0.00021074841284590126, 6.99501882655044e-05,
    -2.325823275895313e-05, 7.741234441368395e-06, -2.578133701610713e-06, 8.589062683365892e-07,
    -2.8621216825577647e-07, 9.543261570760428e-08, -3.1807298477301726e-08, 1.0528133851878114e-08,
    -3.509235492410718e-09, 1.2466690231864029e-09, -4.1555064115551965e-10, 8.748420037436287e-11,
    -2.9161179626023815e-11, 2.916093601085364e-11, -9.720300404202244e-12)
"""digamma(x) / (x - zero) on [1, 2], in 2 x - 3."""
D = (
    0.9364981173471884, -0.10383990753048593, 0.014715069480027178, -0.002267805588153479, 0.0003627344227350898,
    -5.910241000513097e-05, 9.724965765170171e-06, -1.6088976055080036e-06, 2.669957695320572e-07,
    -4.4386588306087254e-08, 7.387644327268951e-09, -1.2301770116597134e-09, 2.0377169463480068e-10,
    -3.3951129793390635e-11, 6.364490091572211e-12, -1.060636399913044e-12)
"""(digamma(x + 2) - digamma(zero + 2)) / (x - zero) on [-3/4, -1/4], in 4 x + 2."""
E0 = (
    1.6536545626831027, 0.7504943200799635, -0.05892256710377784, -0.022604447453449802, 0.017808361818295655,
    -0.00413731437741443, -0.0012716922684373015, 0.0012324855686812834, -0.0002643936684366174,
    -0.0001168888399309713, 9.33673917780479e-05, -1.5027710420277575e-05, -1.1257319182677936e-05,
    7.1300572630824496e-06, -6.83718721812117e-07, -1.059321402540731e-06, 5.394320648707009e-07,
    -1.0185147576818285e-08, -9.867713140174249e-08, 3.915473114023045e-08, 4.792369996100387e-09,
    -8.562787796742932e-09, 1.5401738716654886e-09, 7.689312733742569e-10, -2.7032254091069344e-10)
"""erf_inv(x) / x for w below 6.25, in w / 3.125 - 1."""
E1 = (
    3.0838856104922208, 0.753944225770624, 0.0030211394363747063, -0.0015825410894073097, 0.0007883078513066945,
    -0.00040063569835358583, 0.00016966502197543766, -4.7391827316182325e-05, 2.405864805789804e-06,
    5.127316786334848e-06, -2.664793846715906e-06, 5.264621626938461e-07, 9.289338749101434e-08,
    -9.468946844911027e-08, 2.63990323529153e-08, -3.6906087078089294e-10, -2.4605291139227303e-09,
    9.891297510532429e-10, -1.179100761769929e-10, -6.471554767207546e-11, 2.4355543452655723e-11)
"""... for roots of w from 2.5 to 4, in (root - 3.25) / 0.75."""
E2 = (
    4.913049587233785, 1.073423220166283, -0.0002001588726587193, -0.00023602855405112982, 8.93396281193534e-05,
    -2.4458702837026123e-05, 5.920825201332031e-06, -1.3562410898314906e-06, 3.1759225753713663e-07,
    -9.02593430641595e-08, 3.751855449360697e-08, -2.0180949602959336e-08, 1.0777253600034584e-08,
    -5.414261430297748e-09, 2.667075549574959e-09, -9.110675546136683e-10, 1.3859603347418274e-11,
    6.92100659951893e-11)
"""... for roots of w from 4 to 6.125, in (root - 5.0625) / 1.0625."""
