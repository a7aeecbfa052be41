"""Functions whose source cannot be found: they compute what Python computes, or say that a decision is in the way."""
import functools
import sys
import textwrap

import numpy as np
import pytest

import reactant
from reactant.frontends.session import calls
from reactant.frontends.source import conversion
from reactant.support import session

pytest.importorskip("bytecode")

X = np.array([1.0, -2.0, 3.0])

SUPPORTED = """
def straight(x): return np.sin(x) * 2 + x.sum()
def makes_arrays(x):
    y = np.zeros(3)
    y[1:] = x[1:]
    y[0] += x[2] * 2
    y -= x
    return y, np.array([x[0], 1.0, x[2]]), np.full(2, x[1])
def writes_argument(x):
    x[0], x[1:] = 5.0, x[:2]
    return x[::-1].sum()
def numbers(x): return math.sin(x[0]) + float(x[1]) - abs(x[2]), int(x[2]), -x[0] // 2, not x[0] > 1, ~(x > 0)
def helper(x, *more, scale=1.0): return np.asarray(x) * np.ones_like(x) * scale + sum(more)
def calls_helper(x): return helper(x, *[1, x[0]], **{"scale": 2.0}) + helper(x, scale=x[1]) + helper(*(x,))
def known_loop(x):
    total = []
    for i, v in enumerate(x):
        if i == 1: continue
        total.append(v * i)
    while len(total) < 4: total.append(x[0])
    return total, [v + 1 for v in x if v is not None], {k: v for k, v in zip("abc", x)}
def known_branch(x, n=3, flag=None):
    if n > 2 and flag is None: x = x * 2
    return x if x.shape == (3,) else None
def closure(x):
    s = 2.0
    def inner(y):
        nonlocal s
        s = s * y[0]
        return s + x
    return inner(x), (lambda t: t * s)(x), sorted([3, 1], key=lambda k: -k)
def handlers(x):
    try: x[7] = 1.0
    except IndexError as error: return x, type(error).__name__
    finally: x = x + 1
def with_block(x):
    with np.errstate(all="ignore"): return 1.0 / (x - x[0])
def slices(x):
    n = 1
    a = [1, 2, 3, 4]
    a[n:3] = [9]
    del a[0]
    return x[n:], x[:-n] is None, a, 9 in a, x[0:2] @ x[1:], f"{a!r:>12}"
def generated(x):
    def rows():
        for k in range(3): yield x[k] * k
    return sum(rows()), list(v for v in rows()), np.stack([*rows()])
def unpacks(x):
    a, *b = x
    (c, d), e = (a, b), x
    return a, b, c, d
def complexes(x): return (x + 1j * x[::-1]).conj(), x.astype(np.float32), x.T.reshape(3, 1), x.max(axis=0)
def walrus(x): return (y := x * 2) + y
class Base:
    def __init__(self, w): self.w = w
    def go(self, x): return self.w * x
    @property
    def twice(self): return 2 * self.w
class Derived(Base):
    def go(self, x):
        self.w = self.w + 1
        return super().go(x) + self.twice
    def later(self, x): return (lambda: super(Derived, self).go(x))()
def objects(x):
    it = Derived(x[0])
    return it.go(x), it.w, isinstance(it, Base), it.later(x)
@functools.wraps(helper)
def decorated(*args, **kwargs): return helper(*args, **kwargs)
def starred(x): return np.maximum(*[x, x[::-1]]), max(x.shape), dict(a=x, **{"b": 1})
"""

REFUSED = """
def branch(x):
    if x[0] > 0: return x
    return -x
def expression(x): return 1.0 if x[0] > 0 else 2.0
def loop(x):
    s = 0.0
    while s < x[2]: s += 1
    return s
def counted(x):
    s = 0.0
    for i in range(int(x[2])): s += i
    return s
def both(x): return x[0] and x[1]
def either(x): return x[0] > 3 or x
def asserted(x):
    assert x[0] > 0
    return x
def caught(x):
    try: return 1.0 if x[0] > 0 else 2.0
    except TypeError: return 3.0
def caught_all(x):
    try: return 1.0 if x[0] > 0 else 2.0
    except: return 3.0
def caught_exception(x):
    try: return 1.0 if x[0] > 0 else 2.0
    except Exception as error: return str(error)
def finally_returns(x):
    try: return 1.0 if x[0] > 0 else 2.0
    finally: return 3.0
def suppressed(x):
    with contextlib.suppress(TypeError): return 1.0 if x[0] > 0 else 2.0
    return 3.0
def in_generator(x): return list(v for v in x if v > 0)
def in_comprehension(x): return [v for v in x if v > 0]
def chained(x): return 1 if 0 < x[0] < 2 else 0
def called(x): return branch(x)
"""


def made(text):
    import contextlib
    import math
    names = {"np": np, "math": math, "functools": functools, "contextlib": contextlib, "__name__": "no_source"}
    exec(text, names)
    return names


def functions_of(text):
    return [line.split("(")[0][4:] for line in text.splitlines() if line.startswith("def ")]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", functions_of(SUPPORTED))
def test_computes_what_python_computes(name):
    function = made(SUPPORTED)[name]
    plain, compiled = X.copy(), X.copy()
    expected = function(plain)
    found = reactant.jit(function)(compiled)
    _same(found, expected)
    np.testing.assert_array_equal(compiled, plain)
    _same(calls.call(function, X.copy()), expected)     # nothing is traced: Python's own operators


def _same(found, expected):
    if isinstance(expected, (list, tuple)):
        assert type(found) is type(expected) and len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            _same(one, other)
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        _same(list(found.values()), list(expected.values()))
    else:
        assert getattr(found, "dtype", type(found)) == getattr(expected, "dtype", type(expected))
        np.testing.assert_allclose(found, expected) if not isinstance(expected, (str, type(None))) else None
        assert not isinstance(expected, (str, type(None))) or found == expected


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", functions_of(REFUSED))
def test_decisions_of_the_run_say_so(name):
    with pytest.raises(reactant.ConcreteValueNeeded) as caught:
        reactant.jit(made(REFUSED)[name])(X.copy())
    assert caught.value.code == "source-not-found" or name == "counted"
    assert caught.value.span.file == "<string>" and caught.value.span.line > 1


def test_state_outside_is_not_changed_once():
    names = made("count = 0.0\nkept = []\ndef counting(x):\n    global count\n    count = count + x[0]\n    return x\n"
                 "table = np.zeros(3)\ndef writing(x):\n    table[:] = x\n    return x\n")
    with pytest.raises(reactant.ConstantWriteError):
        reactant.jit(names["counting"])(X.copy())
    with pytest.raises(reactant.ConstantWriteError):
        reactant.jit(names["writing"])(X.copy())
    np.testing.assert_array_equal(names["table"], np.zeros(3))


def test_derivatives_batches_and_pages():
    """`grad`, `vmap`, `jacobian` and `explain` of such functions, and converted functions that call them in loops."""
    names = made("def f(x):\n    y = np.zeros(3)\n    y[1:] = x[1:] ** 2\n    return (y * np.sin(x[0])).sum()\n"
                 "def g(x):\n    return np.array([x[0] * x[1], x[2]])\n")
    f, g = names["f"], names["g"]
    np.testing.assert_allclose(reactant.grad(f)(X), [13 * np.cos(1.0), -4 * np.sin(1.0), 6 * np.sin(1.0)])
    np.testing.assert_allclose(reactant.jacobian(g)(X), [[-2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    batch = np.stack([X, X + 1])
    np.testing.assert_allclose(reactant.vmap(f)(batch), [f(x) for x in batch])
    assert "stablehlo" in reactant.code_hlo(f, X) and str(reactant.explain(f, X))

    @reactant.jit
    def looping(x, n):
        total, i = 0.0, 0
        while i < n:
            if x[0] > 0:
                total += f(x + i)
            i += 1
        return total

    np.testing.assert_allclose(looping(X, np.int64(3)), sum(f(X + i) for i in range(3)))


@pytest.mark.parametrize("text, reason", [
    ("def f(x):\n    return locals()", "locals"), ("def f(x):\n    return eval('x')", "eval"),
    ("def f(x):\n    match x:\n        case [a, b]: return a\n    return x", "match")])
def test_what_looks_at_its_frame_runs_as_it_is(text, reason):
    function = made(text)["f"]
    calls.call(function, 1.0)
    assert reason in conversion.reason_unconverted(function.__code__)
    assert conversion.followed(function) is function


def test_every_function_without_decisions_of_the_standard_library_is_written():
    """Code of every kind: each function of some modules can be written."""
    import argparse
    import dataclasses
    import fractions
    import statistics

    from reactant.frontends.source.sourceless import NotFollowed, followed_code
    written = 0
    for module in (argparse, dataclasses, fractions, statistics, textwrap):
        for each in vars(module).values():
            for function in (each, *vars(each).values()) if isinstance(each, type) else (each,):
                if hasattr(function, "__code__") and function.__module__ == module.__name__:
                    try:
                        assert followed_code(function.__code__).co_freevars == function.__code__.co_freevars
                    except NotFollowed:
                        continue
                    written += 1
    assert written > 150


def test_the_standard_library_computes_the_same():
    """Followed code outside of a trace, where its operators are Python's."""
    import fractions
    import statistics
    assert session.SESSION.trace is None

    def followed(function):
        from reactant.frontends.source.sourceless import followed_code
        return conversion._with_code(function, followed_code(function.__code__))

    data = [3.5, 1.0, 2.25, 8.0]
    for name in ("mean", "median", "variance", "fmean", "quantiles", "harmonic_mean"):
        assert followed(getattr(statistics, name))(data) == getattr(statistics, name)(data), name
    assert followed(fractions.Fraction.limit_denominator)(fractions.Fraction(3.141592653589793), 100) == \
        fractions.Fraction(311, 99)
    assert followed(textwrap.dedent)("  a\n   b") == "a\n b"
    with pytest.raises(statistics.StatisticsError):
        followed(statistics.mean)([])
    assert sys.exc_info()[1] is None
