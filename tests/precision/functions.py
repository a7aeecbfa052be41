"""The functions of limbs with their truths and arguments, and how they are checked."""
import mpmath
import numpy as np

from reactant.precision import error_functions, exponential, gamma_functions, hyperbolic, trigonometric
from tests.precision import limbs


def spread(low, high, *, signed=True):
    return lambda size, count, dtype, seed=0: limbs.samples(size, count, dtype, low, high, seed, signed=signed)


def even(low, high):
    return lambda size, count, dtype, seed=0: limbs.samples(size, count, dtype, low, high, seed, even=True)


FUNCTIONS = {
    "exp": (exponential.exp, mpmath.exp, [even(-30, 88)]),
    "expm1": (exponential.expm1, mpmath.expm1, [even(-30, 80), spread(1e-8, 1)]),
    "log": (exponential.log, mpmath.log, [spread(1e-20, 1e30, signed=False), even(0.98, 1.02)]),
    "log1p": (exponential.log1p, mpmath.log1p, [even(-0.999, 1), spread(1e-8, 1e-2)]),
    "power": (exponential.power, mpmath.power, [even(0.9, 1.1), even(-300, 300)]),
    "logistic": (hyperbolic.logistic, lambda x: 1 / (1 + mpmath.exp(-x)), [even(-30, 30)]),
    "tanh": (hyperbolic.tanh, mpmath.tanh, [even(-20, 20), spread(1e-6, 1)]),
    "sinh": (hyperbolic.sinh, mpmath.sinh, [even(-20, 88), spread(1e-6, 1)]),
    "cosh": (hyperbolic.cosh, mpmath.cosh, [even(-20, 88)]),
    "asinh": (hyperbolic.asinh, mpmath.asinh, [spread(1e-6, 1e30)]),
    "acosh": (hyperbolic.acosh, mpmath.acosh, [spread(1.01, 1e30, signed=False)]),
    "atanh": (hyperbolic.atanh, mpmath.atanh, [even(-0.999, 0.999)]),
    "cbrt": (hyperbolic.cbrt, lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), [spread(1e-10, 1e30)]),
    "rsqrt": (hyperbolic.rsqrt, lambda x: 1 / mpmath.sqrt(x), [spread(1e-10, 1e30, signed=False)]),
    "sine": (trigonometric.sine, mpmath.sin, [even(-100, 100), spread(1e-6, 1e37)]),
    "cosine": (trigonometric.cosine, mpmath.cos, [even(-100, 100), spread(1e-6, 1e37)]),
    "tan": (trigonometric.tan, mpmath.tan, [even(-100, 100)]),
    "atan": (trigonometric.atan, mpmath.atan, [spread(1e-6, 1e37)]),
    "asin": (trigonometric.asin, mpmath.asin, [even(-1, 1)]),
    "acos": (trigonometric.acos, mpmath.acos, [even(-1, 1)]),
    "erf": (error_functions.erf, mpmath.erf, [even(-6, 6), spread(1e-6, 1)]),
    "erfc": (error_functions.erfc, mpmath.erfc, [even(-6, 6)]),
    "erf_inv": (error_functions.erf_inv, mpmath.erfinv, [even(-1, 1)]),
    "lgamma": (gamma_functions.lgamma, lambda x: mpmath.loggamma(x).real, [
        even(0.1, 40), spread(1e-6, 1e30, signed=False), even(-0.9, -0.1)]),
    "digamma": (gamma_functions.digamma, mpmath.digamma, [
        even(1.6, 40), spread(1e-6, 1.3, signed=False), spread(2, 1e30, signed=False), even(-0.4, -0.1)]),
}
"""By name: what is built, the truth, and what the arguments are drawn from; power takes two."""


def check(name, dtype, count, bits, size):
    build, truth, sets = FUNCTIONS[name]
    for given in [sets] if name == "power" else [[each] for each in sets]:
        arguments = [draw(size, count, dtype, seed) for seed, draw in enumerate(given)]
        found = limbs.run(limbs.program(build, len(arguments), dtype, count, size), arguments)
        assert limbs.worst_bits(found, arguments, truth) > bits


def check_ends(build, plain):
    """Zeros, infinities, NaN and numbers beyond the range are as NumPy has them."""
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 100.0, -200.0], np.float32)
    found = limbs.run(limbs.program(build, 1, np.float32, 2, x.size), [[x, np.zeros_like(x)]])
    with np.errstate(all="ignore"):
        wanted = plain(x)
    finite = np.isfinite(wanted)
    np.testing.assert_array_equal(found[0][~finite], wanted[~finite])
    np.testing.assert_allclose(found[0][finite], wanted[finite], rtol=1e-6)
