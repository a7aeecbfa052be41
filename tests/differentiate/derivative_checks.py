"""Both modes of one module against central differences and against each other, by the reference interpreter."""
import collections

import numpy as np
from jaxlib.mlir import ir

from reactant.differentiate.modes.forward import jvp
from reactant.differentiate.modes.reverse import vjp
from reactant.differentiate.recognised.finished import finish, new_function
from reactant.ir import interpret, types
from reactant.ir.context import building
from reactant.runtime.executable import Executable

STEP = 1e-6


def module_of(function, arguments):
    """A module of `function`, which builds ops of values, for arguments of these shapes and dtypes."""
    with building():
        made, block = new_function([types.tensor_type(a.shape, a.dtype) for a in arguments])
        with ir.InsertionPoint(block):
            results = function(*block.arguments)
            finish(made, [results] if isinstance(results, ir.Value) else list(results))
        return made


def normal(rng, like):
    """A random direction of the shape and dtype of an array."""
    made = rng.standard_normal(like.shape)
    return (made + 1j * rng.standard_normal(like.shape) if like.dtype.kind == "c" else made).astype(like.dtype)


def pairing(g, t):
    return sum(float(np.sum(a * b).real) for a, b in zip(g, t, strict=True))


_COMPILED = collections.OrderedDict()
KEPT = 16
"""Modules that one check compares. More would fill the process with programs."""


def compiled(module, arguments):
    """By XLA: the reference interpreter scatters into its operand, and knows no fft and no decompositions."""
    if id(module) not in _COMPILED:
        _COMPILED[id(module)] = module, Executable(module)
        if len(_COMPILED) > KEPT:
            _COMPILED.popitem(last=False)
    return [np.asarray(r) for r in _COMPILED[id(module)][1](arguments)]


def is_float(array):
    return array.dtype.kind in "fc"


@building()
def check(module, arguments, *, evaluate=interpret.evaluate, order=2, rtol=1e-5, values_rtol=0, seed=0):
    """First derivatives in both modes, and second ones by forward over reverse; values beside them are the plain ones
    to `values_rtol`."""
    rng = np.random.default_rng(seed)
    arguments = [np.asarray(a) for a in arguments]
    varied = [i for i, a in enumerate(arguments) if is_float(a)]
    plain = evaluate(module, arguments)
    wanted = [i for i, r in enumerate(plain) if is_float(np.asarray(r))]
    tangents = [normal(rng, arguments[i]) for i in varied]
    cotangents = [normal(rng, np.asarray(plain[i])) for i in wanted]

    forward, reverse = jvp(module, varied, wanted), vjp(module, varied, wanted)
    moved = evaluate(forward, [*arguments, *tangents])
    swept = evaluate(reverse, [*arguments, *cotangents])
    for a, b, c in zip(plain, moved, swept, strict=False):
        np.testing.assert_allclose(b, a, rtol=values_rtol)
        np.testing.assert_allclose(c, a, rtol=values_rtol)
    moved, swept = moved[len(plain):], swept[len(plain):]

    def along(program, given, extra):
        ends = []
        for sign in (1, -1):
            shifted = list(given)
            for i, t in zip(varied, tangents, strict=True):
                shifted[i] = given[i] + sign * STEP * t
            ends.append(evaluate(program, [*shifted, *extra]))
        return [(np.asarray(a) - b) / (2 * STEP) if is_float(np.asarray(a)) else None
                for a, b in zip(*ends, strict=True)]

    differences = along(module, arguments, [])
    for found, i in zip(moved, wanted, strict=True):
        np.testing.assert_allclose(found, differences[i], rtol=rtol, atol=1e-7)
    np.testing.assert_allclose(pairing(swept, tangents), pairing(cotangents, moved), rtol=1e-9, atol=1e-10)
    if order == 2:
        everything = [*arguments, *cotangents]
        second = jvp(reverse, varied, range(len(plain), len(plain) + len(varied)))
        found = evaluate(second, [*everything, *tangents])[-len(varied):]
        expected = along(reverse, everything, [])[len(plain):]
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=20 * rtol, atol=1e-6)
