"""Windows with run-time ends, v[a:b], in native loops: loops over the windows alone, exactly as NumPy."""
import re

import numpy as np
import pytest

import reactant
from reactant.loopnests import stage
from tests.oracle import check


def product(p, q, c, v, x):
    y = np.zeros(len(p))
    for i in range(len(p)):
        y[i] = v[p[i]:q[i]] @ x[c[p[i]:q[i]]]
    return y


def softmax(p, q, c, v, x):
    out = np.zeros_like(v)
    for i in range(len(p)):
        if p[i] < q[i]:
            e = np.exp(v[p[i]:q[i]] - v[p[i]:q[i]].max())
            out[p[i]:q[i]] = e / e.sum()
    return out


def columns(p, q, c, v, x):
    """The last of several writes to one element counts."""
    y = x.copy()
    for i in range(len(p)):
        y[c[p[i]:q[i]]] += v[p[i]:q[i]] * x[i]
    return y


def columns_at(p, q, c, v, x):
    y = x.copy()
    for i in range(len(p)):
        np.add.at(y, c[p[i]:q[i]], v[p[i]:q[i]] * x[i])
    return y


def running(p, q, c, v, x):
    out = v.copy()
    for i in range(len(p)):
        out[p[i]:q[i]] = np.cumsum(v[p[i]:q[i]] * x[i])[::1]
    return out


def running_twice(p, q, c, v, x):
    out = np.zeros_like(v)
    for i in range(len(p)):
        out[p[i]:q[i]] += np.cumsum(np.cumsum(v[p[i]:q[i]]))
    return out


def moments(p, q, c, v, x):
    y = np.zeros((len(p), 4))
    for i in range(len(p)):
        part = v[p[i]:q[i]]
        if len(part) > 0:
            y[i] = part.std(), part.min(), np.argmax(part), np.linalg.norm(part)
    return y


def relaxation(p, q, c, v, x):
    y = x.copy()
    for i in range(len(p)):
        y[i] = (x[i] - v[p[i]:q[i]] @ y[c[p[i]:q[i]]]) / 50
    return y


def rows(p, q, c, v, x):
    table, out = np.stack([x, 2 * x, x * x], axis=1), np.zeros((len(p), 3))
    for i in range(len(p)):
        out[i] = v[p[i]:q[i]] @ table[c[p[i]:q[i]]]
    return out


def gathered_twice(p, q, c, v, x):
    """A mask that is kept and read again: what is computed by it must be there."""
    out = np.zeros_like(v)
    for i in range(len(p)):
        out[p[i]:q[i]] = np.cumsum(v[p[i]:q[i]])
        out[p[i]:q[i]] += x[c[p[i]:q[i]]]
    return out


def written(p, q, c, v, x):
    y, out = x.copy(), v.copy()
    for i in range(len(p)):
        t = x[c[p[i]:q[i]]]
        out[p[i]:q[i]] += t
        y[c[p[i]:q[i]]] = t - v[p[i]:q[i]].sum()
    return y, out


PROGRAMS = (product, softmax, columns, columns_at, running, running_twice, moments, relaxation, rows, gathered_twice,
            written)


def segments(n, each, dtype=np.int64, seed=0):
    """Windows side by side, as in a matrix of compressed rows; some are empty."""
    random = np.random.default_rng(seed)
    ends = np.concatenate([[0], np.cumsum(random.integers(0, 2 * each, n))]).astype(dtype)
    count = int(ends[-1])
    return ends[:-1], ends[1:], random.integers(-n, n, count), random.random(count), random.random(n)


def anywhere(n, count, dtype=np.int64, seed=0):
    """Windows that overlap, are turned round, count from the end, or reach out of the array."""
    random = np.random.default_rng(seed)
    begins, ends = random.integers(-count - 5, count + 5, (2, n)).astype(dtype)
    return begins, ends, random.integers(-n, n, count), random.random(count), random.random(n)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("native", ["auto", "always"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program, native):
    for arguments in (segments(30, 6), segments(700, 9, np.int32), segments(40, 5, np.uint32), anywhere(50, 90),
                      anywhere(7, 300, np.int32, 1), anywhere(3, 1)):
        check(program, *arguments, rtol=1e-10, atol=1e-12, native=native)


@pytest.mark.parametrize("program", [product, softmax, columns, columns_at, running, relaxation, rows])
def test_nothing_outside_of_the_window_is_looked_at(program, monkeypatch):
    texts, write = [], stage.write_function
    monkeypatch.setattr(stage, "write_function", lambda *given: texts.append(write(*given)) or texts[-1])
    arguments = segments(500, 20)
    reactant.jit(program)(*arguments)
    text = texts[-1].text
    whole = re.findall(rf"(%c\d+) = arith.constant {len(arguments[3])} : index", text)
    body = text[text.index("scf.while"):text.rindex("scf.yield")]
    loops = re.findall(r"scf\.(?:for|parallel).*? to \(?(%\w+)\)?", body)
    assert loops and not set(loops) & set(whole)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("program", [product, softmax, columns_at, running, rows])
def test_gradients(program):
    p, q, c, v, x = segments(20, 4, seed=3)
    reactant.check_derivatives(lambda v, x: program(p, q, c, v, x), v, x)


def test_what_lies_outside_of_the_window_may_be_no_number():
    """Neither the value nor the gradient of a window depends on what is not in it."""
    v = np.array([1.0, 2.0, 4.0, np.inf, np.nan, 3.0])

    def spread(v, a, b):
        return v[a:b].std() + np.sum(np.sin(v[a:b]) * v[a:b] ** 2)

    jitted = reactant.jit(lambda v, a, b: reactant.value_and_grad(spread)(v, a, b), traced_argnames=("a", "b"))
    value, gradient = jitted(v, 0, 3)
    alone = reactant.grad(lambda w: w.std() + np.sum(np.sin(w) * w ** 2))(v[:3])
    np.testing.assert_allclose(value, spread(v, 0, 3), rtol=1e-12)
    np.testing.assert_allclose(gradient, [*alone, 0, 0, 0], rtol=1e-12)


def test_sums_keep_the_sign_of_zero():
    """0.0 is left out only where it changes nothing: what starts from -0.0 is 0.0 after it."""
    def program(p, q, v):
        out = -np.zeros(len(v))
        for i in range(len(p)):
            out = out + np.where((np.arange(len(v)) >= p[i]) & (np.arange(len(v)) < q[i]), v, 0.0)
        return out

    arguments = np.array([0, 2]), np.array([1, 3]), np.array([-0.0, 1.0, -0.0, -0.0, 5.0])
    got, want = reactant.jit(program, native="always")(*arguments), program(*arguments)
    assert np.array_equal(np.signbit(got), np.signbit(want)) and np.array_equal(got, want)
