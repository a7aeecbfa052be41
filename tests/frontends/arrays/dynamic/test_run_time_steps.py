"""Slices whose step is only known at run time."""
import numpy as np
import pytest

import reactant
from reactant.errors import ReactantError

X = np.random.default_rng(0).random(40) - 0.3
A = np.random.default_rng(1).random((13, 11))


def sieve(n):
    prime = np.ones(n + 1, bool)
    prime[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if prime[i]:
            prime[i * i::i] = False
    return prime


def combs(x, n):
    found = np.zeros((n, 5))
    for k in range(1, n):
        part = x[-3 * k::k]
        found[k] = x[::k].sum(), x[k:-k:k].max(), part[0], len(part), (x[1::k] * x[1::k]).mean()
    return found


def marks(a, n):
    for k in range(1, n):
        a[k::k, 2] = k
        a[1, 3:-1:k] = a[0, 0]
        a[::k + 1, :] = a[:1] * 0.5
        a[2:2:k] = 7
        a[::k, None, 1::4] = 0.25
    return a


def divisors(n):
    count = np.zeros(n, np.int32)
    for d in range(1, n):
        for m in range(d, n, d):
            count[m] += 1
    return count


@pytest.mark.parametrize("program, arguments", [
    (sieve, (300,)), (combs, (X, 9)), (combs, (X.astype(np.float32), 7)), (marks, (A, 9)), (divisors, (60,))])
def test_programs(program, arguments):
    plain, ours = ([v.copy() if isinstance(v, np.ndarray) else v for v in arguments] for _ in range(2))
    compiled = reactant.jit(program, unroll_limit=0)
    wanted = program(*plain)
    rtol = 1e-5 if np.asarray(arguments[0]).dtype == np.float32 else 1e-12
    np.testing.assert_allclose(compiled(*ours), wanted, rtol=rtol)
    np.testing.assert_array_equal(ours[0], plain[0])
    assert "stablehlo.while" in compiled.lower(*arguments).operations(optimized=False)


@pytest.mark.parametrize("start, stop, step", [(0, 40, 3), (5, 5, 2), (7, 3, 1), (-9, -1, 4), (38, 90, 50),
                                               (-90, 2, 7)])
def test_bounds_and_steps_of_the_run(start, stop, step):
    def program(x, key):
        a, b, c = int(key[0]), int(key[1]), int(key[2]) % 60 + 1
        y = x.copy()
        y[a:b:c] = 2.0
        return y, x[a:b:c].sum()

    key = np.array([start, stop, step - 1])
    for found, wanted in zip(reactant.jit(program)(X, key), program(X, key), strict=True):
        np.testing.assert_allclose(found, wanted)


def test_what_is_not_known_to_be_positive_is_refused():
    with pytest.raises(ReactantError, match="The step of a slice"):
        reactant.jit(lambda x, k: x[::k].sum(), traced_argnames="k")(X, 3)


def test_several_values_for_such_a_slice_unroll():
    def program(x):
        for k in range(1, 6):
            x[::k] = np.arange(-(-40 // k))
            x[1::k] += 1
        return x

    np.testing.assert_array_equal(reactant.jit(program, unroll_limit=0)(X.copy()), program(X.copy()))


def test_gradient():
    def loss(x):
        total = 0.0
        for k in range(1, 7):
            x[k::k + 1] = total
            total += (x[::k]**2).sum()
        return total

    x = X.copy()
    found = reactant.grad(reactant.jit(loss, unroll_limit=0))(x.copy())
    wanted = [(loss(X + h) - loss(X - h)) / 2e-6 for h in 1e-6 * np.eye(40)]
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)
