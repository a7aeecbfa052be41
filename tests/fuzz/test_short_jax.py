"""Short programs of JAX (`short_jax`), compiled by us and by `jax.jit`: types, values, NaN, signs of zeros."""
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from tests.amounts import few
from tests.fuzz.short_jax import Writer
from tests.oracle import module_of

STYLES = ("plain", "ties", "special")
TOLERANCES = {"float16": 2e-2, "bfloat16": 6e-2, "float32": 1e-4, "complex64": 1e-4}
BY_LIBRARIES = ("linalg", "jsl", "fft")
"""Where numbers are not finite, or a matrix singular, the routine decides which elements are NaN: ours may be more."""
ROUNDED = (*BY_LIBRARIES, "@", "einsum", "sum", "dot", "conv", "correlate", "scan", "cross")
"""Zeros that come of sums have the sign that the order of the terms gives them."""


@pytest.fixture(autouse=True)
def settings():
    before = jax.config.jax_enable_x64
    yield
    jax.config.update("jax_enable_x64", before)


def leaves(results):
    """Real and imaginary parts of all results."""
    arrays = [np.asarray(x) for x in jax.tree.leaves(results)]
    return [part for x in arrays for part in ((x.real, x.imag) if np.iscomplexobj(x) else (x,))]


def difference(theirs, ours, near, tolerance, loose, exact):
    """What differs. `near`: theirs, of arguments rounded otherwise: results may differ as much as this does."""
    if theirs.shape != ours.shape or theirs.dtype != ours.dtype:
        return f"{theirs.dtype}{theirs.shape} is {ours.dtype}{ours.shape}"
    if not jnp.issubdtype(theirs.dtype, jnp.inexact):
        return "" if np.array_equal(theirs, ours) else "integers"
    a, b, c = (x.astype(np.float64) for x in (theirs, ours, near))
    known = np.isfinite(a)
    if loose and not known.all():
        known &= np.isfinite(b)
    elif not np.array_equal(np.where(known, 0, a), np.where(np.isfinite(b), 0, b), equal_nan=True):
        return "NaN or infinities"
    a, b, c = a[known], b[known], c[known]
    scale, noise = np.abs(a).max(initial=0), np.abs(np.where(np.isfinite(c), c - a, 0)).max(initial=0)
    if np.abs(a - b).max(initial=0) > tolerance * max(scale, 1e-3) + 16 * noise:
        return f"{np.abs(a - b).max()} of {scale}"
    zeros = (a == 0) & (b == 0)
    return "sign of zeros" if exact and (np.signbit(a) != np.signbit(b))[zeros].any() else ""


def perturbed(arguments):
    """The arguments with all floats a little greater: what is equal stays so."""
    return [x * (1 + 4 * jnp.finfo(x.dtype).eps).astype(x.dtype) if jnp.issubdtype(x.dtype, jnp.inexact) else x
            for x in arguments]


def compare(seed: int, directory) -> str:
    """What became of a program: "equal", or "none" where JAX refuses it."""
    jax.config.update("jax_enable_x64", Writer(seed).x64)
    writer = Writer(seed)
    text = writer.program()
    function = module_of(directory / f"short_{seed}.py", text).f
    theirs, ours = jax.jit(function), reactant.jit(function, frontend="jax")
    tolerance = max(t for name, t in {**TOLERANCES, "": 1e-9}.items() if name in text)
    body = text.partition("def h")[2].partition("def ")[0]
    loose, exact = (any(word in body for word in words) for words in (BY_LIBRARIES, ROUNDED))
    exact = writer.form == "plain" and not exact
    for style in STYLES:
        arguments = writer.arguments(style)
        try:
            wanted, near = leaves(theirs(*arguments)), leaves(theirs(*perturbed(arguments)))
        except (NotImplementedError, TypeError, ValueError):
            return "none"
        for number, (a, b, c) in enumerate(zip(wanted, leaves(ours(*arguments)), near, strict=True)):
            found = difference(a, b, c, tolerance, loose, exact)
            assert not found, f"seed {seed}, {style} arguments, result {number}: {found}; " \
                              f"{unoptimised(function, arguments, wanted)}\n{text}"
    assert not [reason for reason in ours.reasons if "a pass failed" in reason], (seed, ours.reasons, text)
    return "equal"


def unoptimised(function, arguments, wanted) -> str:
    """Whether a program that none of our rules has touched agrees with JAX's."""
    plain = leaves(reactant.jit(function, frontend="jax", optimize=())(*arguments))
    same = all(np.array_equal(a, b, equal_nan=True) for a, b in zip(wanted, plain, strict=True))
    return f"without rules it {'agrees' if same else 'differs, too'}"


def outcomes(seeds, directory):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [compare(seed, directory) for seed in seeds]


def test_random_programs(tmp_path):
    count = few(5, 20)
    assert outcomes(range(count), tmp_path).count("equal") >= 4 * count // 5


@pytest.mark.slow
@pytest.mark.parametrize("part", range(40))
def test_many_random_programs(part, tmp_path):
    assert outcomes(range(1000 + 50 * part, 1050 + 50 * part), tmp_path).count("equal") >= 35
