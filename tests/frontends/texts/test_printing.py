"""`print`, warnings and logging in compiled functions: at each call, with the run-time values, in their order."""
# ruff: noqa: UP031, UP032 - how texts are formatted is what is tested
from __future__ import annotations

import contextlib
import io
import logging
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant.errors import ConcreteValueNeeded, ReactantError

LOG = logging.getLogger("reactant-test")


def said(function, *args):
    """What is printed, warned of and logged."""
    text, log = io.StringIO(), io.StringIO()
    handler = logging.StreamHandler(log)
    LOG.addHandler(handler)
    try:
        with contextlib.redirect_stdout(text), warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            function(*[a.copy() if isinstance(a, np.ndarray) else a for a in args])
    finally:
        LOG.removeHandler(handler)
    return text.getvalue(), [(w.category, str(w.message)) for w in found], log.getvalue()


class Point:
    def __init__(self, x):
        self.x = x

    def __str__(self):
        return f"at {self.x[0]:.2f}"

    def __repr__(self):
        return f"<Point {self.x[0]}>"


def perhaps_none(x):
    best = pair = name = point = number = None
    if x[1] > 0.5:
        best, pair, name, point, number = x[0] * 3, (x[0], 2), "ab", Point(x), int(x[0] * 10)
    print(best, pair, name, number, [best, number], {"a": pair})
    print(f"{best} {best!r:>25} {number!s:<9}|{pair}", str(best), "{} {}".format(best, number), f"{point}", point)
    print("%s %r|%s" % (best, number, pair), "%s" % ((x[0], 2),))
    if best is not None:
        LOG.warning("%.3f of %s", best, number)
    for k in range(70):
        if x[k % len(x)] * k > 55:
            number = k
        if k > 67:
            print(k, number, f"<{number}>")


def until(x):
    n = 0
    while x.sum() > 1:
        x = x * 0.9
        n += 1
        if n % 3 == 0:
            print(f"{n:3d} {x.sum():.3e}", "{:8.4f}|{}".format(x[0], n), "%5d %-8s|%e%%" % (n, "ab", x[1]), end=";\n")
    else:
        print("done")


def kinds(x):
    print(x, x[0], x.astype(np.float32)[1], x > 0.5, x[0] > 0.5, x.sum(), len(x), None, 1.5, sep=" | ")
    print([x[0], (1, x)], {"a": x[:2]}, Point(x), [Point(x)], x[:1] + 1j, x.astype(np.int16))
    print("%s %r %5.2f%%" % (x[0], x[1], x[2]), "%(k)s!" % {"k": x[0]}, "%*d" % (6, 3), "%.*f" % (2, x[0]))
    print(" ".join([f"{v:.1f}" for v in x]), str(x[0]) + "!", repr(x[1]))


def order(x):
    print("before", x)
    x[0] = 5
    print("after", x)
    for i in range(3):
        for j in range(len(x)):
            if x[j] > i:
                print(i, j, end=" ")
            x[j] -= 1
        print()
    return x


def branches(x):
    if x.sum() > 100:
        print("huge")
    elif x[0] > 0.5:
        print("large", x[0])
    else:
        print("small")


def warned(x):
    for i in range(30):
        x = x * 0.9
        if np.any(x < 0.06):
            warnings.warn("small at iteration %d" % i, RuntimeWarning, stacklevel=2)
            break
    LOG.warning("the sum is %s after %d", x.sum(), 3)
    LOG.error(f"largest {x.max():.3g}")
    LOG.debug("not on: %s", x)
    return x


def handled(x):
    try:
        return np.linalg.solve(x[:, None] * x, x)
    except np.linalg.LinAlgError:
        print("singular")
        return x


@pytest.mark.parametrize("function", [until, kinds, order, branches, warned, handled, perhaps_none])
def test_as_plain_python(function):
    x = np.array([1.0, 0.9, 0.3, 0.7])
    compiled, plain = reactant.jit(function), said(function, x)
    assert any(plain)
    assert said(compiled, x) == plain
    assert said(compiled, x) == plain              # at each call, not once
    assert said(compiled, x / 4) == said(function, x / 4)


def collected(x):
    found = [0]
    print("begin", x)
    while len(found) < x[0]:
        found.append(len(found) * 2)
        if len(found) % 16 == 0:
            print(len(found), found[-1])
    if x[1] > 0:
        raise ValueError(str(len(found)))
    return len(found)


@pytest.mark.slow
def test_what_runs_again_for_room_says_everything_once():
    compiled = reactant.jit(collected, list_capacity=8)
    for wanted in (5.0, 40.0, 300.0):
        x = np.array([wanted, 0.0])
        assert said(compiled, x) == said(collected, x)
    x = np.array([20.0, 1.0])
    assert said(lambda: pytest.raises(ValueError, compiled, x)) == said(lambda: pytest.raises(ValueError, collected, x))


@pytest.mark.sampled(100)
@pytest.mark.parametrize("native", ["auto", "never"])
def test_nothing_is_lost_in_a_loop_of_which_no_value_is_used(native):
    def f(x, n):
        for i in range(n):
            print(i, x[i])
    compiled = reactant.jit(f, options=reactant.CompileOptions(native=native))
    for n in (0, 1, 50):
        x = np.arange(50.0)
        assert said(compiled, x, n) == said(f, x, n)


@pytest.mark.parametrize("f", [lambda x: [str(v) for v in x], lambda x: f"{x[0]:.1f}".rjust(9) + str(len(x)),
                               lambda x: x if f"{x[0]:.1f}" == "1.0" else -x, lambda x: len(f"{x[0]}") * x,
                               lambda x: np.ones(int(f"{x[0]:.0f}")) * x])
def test_texts_that_are_needed_while_tracing(f):
    with pytest.raises((ConcreteValueNeeded, ReactantError), match="text"):
        reactant.jit(f)(np.ones(2))


def loss(w, x):
    for i in range(3):
        w = w * 0.9 + x.sum() * 0.01
        print("step", i, w.sum())
    return (w ** 2).sum()


@pytest.mark.slow
def test_derivatives_and_batches_say_nothing():
    w, x = np.ones(3), np.arange(3.0)
    slope = reactant.grad(lambda w, x: (lambda v: (v ** 2).sum())(w * 0.729 + 0.03 * 2.71))(w, x)
    assert said(lambda: np.testing.assert_allclose(reactant.grad(loss)(w, x), slope)) == ("", [], "")
    assert said(reactant.vmap(loss, in_axes=(0, None)), np.ones((2, 3)), x) == ("", [], "")
    compiled = reactant.jit(loss)
    assert said(lambda: jax.vmap(lambda w: compiled(w, jnp.asarray(x)))(jnp.ones((2, 3)))) == ("", [], "")
    np.testing.assert_allclose(jax.grad(lambda w: compiled(w, jnp.asarray(x)))(jnp.ones(3)), slope, rtol=1e-5)
    assert "custom_call" not in reactant.export(loss, w, x).text()

    def trained(w, x):
        for _ in range(3):
            value, slope = reactant.value_and_grad(loss)(w, x)
            w = w - 0.1 * slope
            print(f"loss {value:.4f}")
        return w
    assert said(reactant.jit(trained), w, x)[0].count("loss") == 3


def test_inside_of_jax_and_two_programs_alike():
    """Programs of equal text that print other texts are not taken for each other."""
    for word in ("one", "two"):
        compiled = reactant.jit(lambda x, word=word: (print(word, x[0]), x + 1)[1])
        assert said(compiled, np.ones(2))[0] == f"{word} 1.0\n"
        assert said(lambda: jax.jit(lambda x: compiled(x) * 2)(jnp.ones(2)).block_until_ready())[0] == f"{word} 1.0\n"  # noqa: B023


@pytest.mark.parametrize(("text", "count", "message"), [("%d %d", 1, "not enough"), ("%d", 2, "not all")])
def test_texts_and_values_that_do_not_match(text, count, message):
    with pytest.raises(TypeError, match=message):
        reactant.jit(lambda x: print(text % tuple(x[k] for k in range(count))))(np.ones(2))


def test_converted_values_with_a_width(capsys):
    def program(x, t):
        sign = "pos" if x[0] > t else "neg"
        print(f"{sign!r:>8}|{sign:<6}|{x[0]!s:>10}|{x[0]!r:>22}|{'ab'!r:>6}|{x[0]:{8}.2f}")

    x = np.array([0.25, 1.0])
    program(x, 0.0)
    plain = capsys.readouterr().out
    reactant.jit(program)(x, 0.0)
    assert capsys.readouterr().out == plain


@pytest.mark.parametrize("text", [
    lambda v: f"{str(v):>10}", lambda v: "{:>10}".format(str(v)), lambda v: "%10s" % str(v)])  # noqa: UP031, UP032
def test_the_width_of_a_text_of_the_run_is_refused(text):
    with pytest.raises(reactant.errors.ConcreteValueNeeded):
        reactant.jit(lambda x: print(text(x[0])))(np.ones(2))
