"""Arrays that get shorter or longer in each iteration of a loop that stays one."""
import numpy as np
import pytest

import reactant

RANDOM = np.random.default_rng(0)
X = RANDOM.random(12) - 0.4
Y = RANDOM.random((9, 11)) + 0.1


def check(program, *arguments, loops=1, **options):
    """Like NumPy, results and written arguments, in loops of the program."""
    plain, ours = ([a.copy() if isinstance(a, np.ndarray) else a for a in arguments] for _ in range(2))
    wanted = program(*plain)
    compiled = reactant.jit(program, unroll_limit=0, **options)
    found = compiled(*ours)
    for w, f in zip(*(r if isinstance(r, tuple) else (r,) for r in (wanted, found)), strict=True):
        assert np.shape(w) == np.shape(f) and np.asarray(w).dtype == np.asarray(f).dtype
        np.testing.assert_allclose(f, w, rtol=1e-12, atol=1e-13)
    for p, o in zip(plain, ours, strict=True):
        np.testing.assert_allclose(o, p, rtol=1e-12)
    assert compiled.lower(*arguments).operations(optimized=False).get("stablehlo.while", 0) == loops


def differences(x, n):
    for _ in range(n):
        x = x[1:] - x[:-1]
    return x


@pytest.mark.parametrize("n", [5, 10, 11, 12])
def test_differences(n):
    check(differences, X, n)


def test_more_iterations_than_elements():
    """Empty arrays stay empty: that is no size that follows the iteration."""
    check(differences, X, 15, loops=0)


def option(strike, up, n):
    value = np.maximum(strike - 100 * up**(2.0 * np.arange(n + 1) - n), 0)
    for iteration in range(n - 1, -1, -1):
        value = 0.99 * (0.52 * value[1:] + 0.48 * value[:-1])
        value = np.maximum(value, strike - 100 * up**(2.0 * np.arange(iteration + 1) - iteration))
    return value[0]


@pytest.mark.parametrize("n", [6, 40, 600])
def test_binomial_option(n):
    """600: in a few loops, one behind the other, on ever narrower frames."""
    check(option, 100.0, 1.02, n, loops=4 if n > 128 else 1)


def several(x, n):
    total, last = 0.0, x[0]
    for i in range(n):
        x[1:-1] += 0.5
        x = 0.5 * (x[:-2] + x[2:]) * i
        total += x.sum() + x[-1] * len(x) + x.max() + (x > 0).mean()
        last = x[len(x) // 2]
    return x, total, last


def test_reads_and_writes_of_all_kinds():
    check(several, X, 5)


def squares(a, n):
    for _ in range(n):
        a = 0.25 * (a[1:, 1:] + a[:-1, 1:] + a[1:, :-1] + a[:-1, :-1])
    return a, a.T @ a


@pytest.mark.parametrize("n", [6, 8, 9])
def test_two_dimensions(n):
    check(squares, Y, n)


def triangle(n):
    row = np.array([1.0])
    for _ in range(n):
        row = np.concatenate([[1.0], row[1:] + row[:-1], [1.0]])
    return row


def recurrence(x, n):
    for _ in range(n):
        x = np.append(x, 0.9 * x[-1] + x[-2])
    return x


def columns(a, n):
    for i in range(n):
        a = np.hstack([a, a[:, -1:] * 0.5 + i, a[:, :1]])
    return a


@pytest.mark.parametrize("program, arguments", [
    (triangle, (9,)), (recurrence, (X[:3], 10)), (columns, (Y[:3, :2], 6)), (columns, (Y.astype(np.float32), 6))])
def test_arrays_that_grow(program, arguments):
    check(program, *arguments)


def sieve_like(x, n):
    kept, rest = 0.0, x
    for _ in range(n):
        kept, rest = kept + rest[0], rest[1:] - rest[0]
    return kept, rest


def behind(x, n):
    before = x
    for _ in range(n):
        before = x + 1
        x = x[2:] * x[:-2]
    return x, before


def nested(x, n):
    total = np.zeros(3)
    for i in range(4):
        y = x + i
        for _ in range(n):
            y = y[1:] - 0.5 * y[:-1]
        total += y[:3]
    return total


@pytest.mark.parametrize("program, n, loops", [(sieve_like, 8, 1), (behind, 5, 1), (nested, 7, 2)])
def test_other_variables(program, n, loops):
    check(program, X, n, loops=loops)


def halves(x):
    for _ in range(5):
        x = x[::2] + x[1::2]
    return x


def either(x, n):
    for _ in range(n):
        if x[0] > 0:
            x = x[1:] * 0.9
        else:
            x = x[:-1] + 0.3
    return x


def integers(x, n):
    for _ in range(n):
        x = (x[1:] // 2)[::-1] + x[-1]
    return x


def test_other_sizes_unroll():
    check(halves, RANDOM.random(96), loops=0)
    check(either, X, 7, loops=0)


def test_integers():
    check(integers, np.arange(20) * 37 % 11, 15)


def consumed(x, n):
    total = 0.0
    for _ in range(n):
        total += x[0] * x.sum()
        x = x[1:]
    return total, x


def test_a_view_may_be_read_afterwards_but_not_written():
    check(consumed, X, 7)

    def written(x, n):
        y = consumed(x, n)[1]
        y[0] = 9.0
        return x

    with pytest.raises(reactant.errors.ControlFlowError, match="Bind it to a copy"):
        reactant.jit(written, unroll_limit=0)(X.copy(), 7)


@pytest.mark.parametrize("n", [5, 9])
def test_gradient(n):
    def loss(x):
        return np.sum(differences(np.sin(x), n)**2) + np.sum(recurrence(x, n))

    found = reactant.grad(reactant.jit(loss, unroll_limit=0))(X)
    steps = 1e-6 * np.eye(X.size)
    wanted = [(loss(X + h) - loss(X - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6 * np.abs(wanted).max())
