"""What is not taken stays out of the gradient, whatever its slopes are there: `if`, `where`, masks of rows, loops.

Each form is given at a point where the side that is not taken is singular, and at one where it is taken. The right
gradient is that of the side taken, by central differences of plain NumPy.
"""
import numpy as np
import pytest

import reactant

RANDOM = np.random.default_rng(0)
W, SQUARE, SPREAD = RANDOM.random((4, 3)), RANDOM.random((3, 3)), RANDOM.random((4, 3))
ROWS = RANDOM.random((4, 3)) + 0.1
WITH_ZERO = ROWS * np.array([[1.0], [0.0], [1.0], [1.0]])
ZERO, POINT = np.zeros(3), np.array([0.3, -0.5, 0.8])
SINGULAR, REGULAR = np.array([[1.0, 2.0], [2.0, 4.0]]), np.array([[2.0, 1.0], [1.0, 3.0]])
P0, P = np.array([0.5, 0.5, 0.0]), np.array([0.2, 0.3, 0.5])
FORMS = {}


def form(singular, ordinary, taken):
    """Declare a form f(x, w): `taken(x, w)` is the side that is taken at `singular`."""
    def declared(function):
        FORMS[function.__name__] = (function, taken, singular, ordinary)
        return function
    return declared


def size(v):
    return np.sqrt(np.sum(v * v))


def weighted(x, w):
    return np.sum(x * w[0])


def all_weighted(x, w):
    return np.sum(x * w)


def squares(x, w):
    return np.sum(x * x)


def total(x, w):
    return np.sum(x)


def safe_rows(x, w):
    """Rows of length 1, and those of zeros as they are."""
    kept = np.array([[False], [True], [False], [False]])
    n = np.where(kept, 1.0, np.sqrt(np.sum(x * x, axis=1, keepdims=True)))
    return np.sum(x / n * w)


# ---- normalised vectors --------------------------------------------------------------------------------------------

@form(ZERO, POINT, weighted)
def unit_if(v, w):
    n = np.linalg.norm(v)
    return np.dot(v / n if n > 0 else v, w[0])


@form(ZERO, POINT, weighted)
def unit_where(v, w):
    n = np.linalg.norm(v)
    return np.dot(np.where(n > 0, v / n, v), w[0])


@form(ZERO, POINT, weighted)
def unit_return(v, w):
    n = np.sqrt(v @ v)
    if n == 0:
        return np.dot(v, w[0])
    return np.dot(v / n, w[0])


@form(ZERO, POINT, weighted)
def unit_in_place(v, w):
    v = v.copy()
    n = np.linalg.norm(v)
    if n > 0:
        v /= n
    return np.dot(v, w[0])


@form(ZERO, POINT, weighted)
def unit_by_reciprocal(v, w):
    n = size(v)
    r = 1 / n if n > 0 else 1.0
    return np.dot(v * r, w[0])


@form(ZERO, POINT, weighted)
def unit_divide_where(v, w):
    n = size(v)
    return np.dot(np.divide(v, n, out=v.copy(), where=n > 0), w[0])


@form(ZERO, POINT, weighted)
def unit_by_elements(v, w):
    n = np.linalg.norm(v)
    return sum((a / n if n > 0 else a) * b for a, b in zip(v, w[0], strict=True))


@form(ZERO, POINT, weighted)
def unit_where_finite(v, w):
    u = v / size(v)
    return np.sum(np.where(np.isfinite(u), u, v) * w[0])


@form(ZERO, POINT, weighted)
def standardised(x, w):
    s = np.std(x)
    return weighted((x - x.mean()) / s if s > 0 else x, w)


# ---- masks of rows and columns -------------------------------------------------------------------------------------

@form(WITH_ZERO, ROWS, safe_rows)
def rows_where(x, w):
    n = np.linalg.norm(x, axis=1, keepdims=True)
    return np.sum(np.where(n > 0, x / n, x) * w)


@form(WITH_ZERO, ROWS, safe_rows)
def rows_any(x, w):
    n = np.sqrt(np.sum(x * x, axis=1))
    return np.sum(np.where(x.any(axis=1)[:, None], x / n[:, None], x) * w)


@form(WITH_ZERO.T.copy(), ROWS.T.copy(), lambda x, w: safe_rows(x.T, w))
def columns_where(x, w):
    n = np.linalg.norm(x, axis=0)
    return np.sum(np.where(n > 0, x / n, x) * w.T)


@form(WITH_ZERO, ROWS, safe_rows)
def rows_in_a_loop(x, w):
    x = x.copy()
    for i in range(len(x)):
        n = np.linalg.norm(x[i])
        if n > 0:
            x[i] /= n
    return np.sum(x * w)


@form(WITH_ZERO, ROWS, safe_rows)
def rows_one_by_one(x, w):
    def unit(v):
        n = np.linalg.norm(v)
        return v / n if n > 0 else v
    return sum(np.dot(unit(r), s) for r, s in zip(x, w, strict=True))


@form(WITH_ZERO, ROWS, safe_rows)
def rows_of_a_mask(x, w):
    n = np.linalg.norm(x, axis=1)
    m, y = n > 0, x.copy()
    y[m] = x[m] / n[m][:, None]
    return np.sum(y * w)


@form(WITH_ZERO, ROWS, lambda x, w: safe_rows(x, w @ SQUARE.T.astype(w.dtype)))
def rows_times_matrix(x, w):
    n = np.linalg.norm(x, axis=1, keepdims=True)
    return np.sum(np.where(n > 0, (x / n) @ SQUARE.astype(w.dtype), x @ SQUARE.astype(w.dtype)) * w)


@form(np.ones((3, 3)), SQUARE, lambda m, w: np.sum(((ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)) @ m * w)
                                                    [[0, 2, 3]]))
def matrix_behind_rows(m, w):
    """The other factor: a row of zeros must not reach it."""
    n = np.linalg.norm(WITH_ZERO, axis=1, keepdims=True) * (1 + 0 * m[0, 0])
    return np.sum(np.where(n > 0, (WITH_ZERO.astype(w.dtype) / n) @ m, 0) * w)


@form(np.stack([SINGULAR, REGULAR]), np.stack([REGULAR, REGULAR.T + 1]),
      lambda a, w: np.sum(a[0] * w[0, 0]) + np.sum(a[1] ** 2 / a[1].sum() * w[0, 0]))
def stacks(a, w):
    d = a[:, 0, 0] * a[:, 1, 1] - a[:, 0, 1] * a[:, 1, 0]
    s = np.where(np.abs(d) > 1e-3, a.sum((1, 2)), 0.0 * d)
    return np.sum(np.where((s > 0)[:, None, None], a ** 2 / s[:, None, None], a) * w[0, 0])


# ---- singular functions --------------------------------------------------------------------------------------------

@form(ZERO, POINT + 1, total)
def root(x, w):
    return np.sum(np.sqrt(x) if x.sum() > 1 else x)


@form(ZERO, POINT + 1, lambda x, w: 2 * weighted(x, w))
def logarithm(x, w):
    return np.sum(np.log(x) * w[0] if np.all(x > 0) else x * 2 * w[0])


@form(ZERO, POINT + 1, squares)
def power(x, w):
    return np.sum(x ** 0.3 if x.min() > 0 else x * x)


@form(np.ones(3), POINT, squares)
def arc_cosine(x, w):
    return np.sum(np.arccos(x) if np.max(np.abs(x)) < 1 else x * x)


@form(np.ones(3), POINT, total)
def arc_sine_where(x, w):
    return np.where(np.all(np.abs(x) < 1), np.sum(np.arcsin(x)), np.sum(x))


@form(np.zeros(2), np.array([0.3, 0.4]), lambda x, w: x[0] * 3 + x[1])
def hypotenuse(x, w):
    h = np.hypot(x[0], x[1])
    return x[0] / h if h > 0 else x[0] * 3 + x[1]


@form(np.array([3.0, 0.0]), np.array([3.0, 0.5]), lambda x, w: x[0])
def quotient(x, w):
    a, b = x
    return a / b if b != 0 else a


@form(np.array(0.0), np.array(0.7), lambda x, w: 1.0)
def sinc(x, w):
    return np.where(x == 0, 1.0, np.sin(x) / np.where(x == 0, 0, x))


@form(np.array(-1.0), np.array(0.7), lambda x, w: x ** 2)
def logarithm_of_negative(x, w):
    return np.log(x) if x > 0 else x ** 2


@form(P0, P, squares)
def entropy(p, w):
    return -np.sum(p * np.log(p)) if np.all(p > 0) else np.sum(p * p)


@form(P0, P, squares)
def entropy_where(p, w):
    return np.where((p > 0).all(), -np.sum(p * np.log(p)), np.sum(p * p))


@form(P0, P, lambda p, w: -np.sum(p[:2] * np.log(p[:2])))
def entropy_of_parts(p, w):
    return -np.sum(p * np.log(p, out=np.zeros_like(p), where=p > 0))


@form(np.array([1.0, 2.0, 800.0]), POINT, weighted)
def softmax(x, w):
    if np.max(x) < 100:
        e = np.exp(x)
        return np.dot(e / e.sum(), w[0])
    return np.dot(x, w[0])


@form(np.array([[1.0, 2.0, 800.0], [1.0, 2.0, 3.0]]), SPREAD[:2],
      lambda x, w: np.sum(x[0] * w[0]) + np.sum(np.exp(x[1]) / np.exp(x[1]).sum() * w[1]))
def softmax_of_rows(x, w):
    e = np.exp(x)
    return np.sum(np.where(x.max(1, keepdims=True) < 100, e / e.sum(1, keepdims=True), x) * w[:2])


@form(np.array([1.0, 2.0, 800.0]), POINT, lambda x, w: np.max(x))
def log_of_sum(x, w):
    return np.log(np.sum(np.exp(x))) if np.max(x) < 100 else np.max(x)


@form(np.array(1000.0), np.array(0.3), lambda s, w: 2 * s)
def large_factor(s, w):
    """The mask is one of elements, what it masks is made of one number."""
    y = w[0, :2] * np.exp(s)
    return np.sum(np.where(y < 1e30, y, s))


# ---- nested, moved, joined -----------------------------------------------------------------------------------------

@form(ZERO, POINT, weighted)
def nested_where(x, w):
    n = np.linalg.norm(x)
    return weighted(np.where(n > 0, np.where(n > 0.5, np.log(n) * x / n, x / n ** 0.5), x), w)


@form(ZERO, POINT, weighted)
def nested_if(x, w):
    n = np.linalg.norm(x)
    if n > 0:
        y = np.log(n) * x / n if n > 0.5 else x / n ** 0.5
    else:
        y = x
    return weighted(y, w)


@form(ZERO, POINT, lambda x, w: weighted(x, w) + 2 * np.sum(x * w[1]))
def joined(x, w):
    n = np.linalg.norm(x)
    y = np.concatenate([x / n, x]) if n > 0 else np.concatenate([x, x * 2])
    return np.sum(y * w[:2].ravel())


@form(ZERO, POINT, lambda x, w: x[0] * 3 + np.sum(x[1:] ** 2))
def sliced(x, w):
    n = np.linalg.norm(x)
    y = np.where(n > 0, x / n, x)
    return y[0] * 2 + np.sum(y[1:] ** 2) + y[0]


@form(np.zeros((2, 3)), SPREAD[:2], lambda x, w: np.sum(x.reshape(3, 2).T * w[:2]))
def reshaped(x, w):
    n = np.linalg.norm(x.ravel())
    return np.sum((x.reshape(3, 2) / n if n > 0 else x.reshape(3, 2)).T * w[:2])


@form(ZERO, POINT, weighted)
def running_product(x, w):
    n = np.linalg.norm(x)
    return weighted(np.where(n > 0, np.cumprod(x / n), x), w)


@form(ZERO, POINT, weighted)
def spectrum(x, w):
    n = np.linalg.norm(x)
    return weighted(np.where(n > 0, np.abs(np.fft.fft(x / n)) ** 4, x), w)


@form(ZERO, POINT, weighted)
def clipped(x, w):
    n = np.linalg.norm(x)
    return weighted(np.clip(x / n, -0.5, 0.5) if n > 0 else x, w)


@form(ZERO, POINT, lambda x, w: np.sum((x + 2 * x[::-1]) * w[0]))
def complex_numbers(x, w):
    z = x + 2j * x[::-1]
    u = np.where(np.sum(np.abs(z)) > 0, z / np.sqrt(np.sum(np.abs(z) ** 2)), z)
    return weighted(u.real + u.imag, w)


@form(ZERO, POINT, weighted)
def scattered(x, w):
    u, n, z = x / size(x), size(x), np.zeros(4, x.dtype)
    np.add.at(z, np.array([0, 2, 2]), u[[0, 2, 2]] ** 2)
    return weighted(np.where(n > 0, z[:3], x), w)


# ---- loops and branches --------------------------------------------------------------------------------------------

@form(ZERO, POINT, lambda x, w: 10 * weighted(x, w))
def guarded_in_a_loop(x, w):
    t = 0.0 * x[0]
    for i in range(4):
        n = np.linalg.norm(x)
        t = t + np.dot(x / n if n > 0 else x, w[0]) * (i + 1)
    return t


@form(ZERO, POINT, lambda x, w: 8 * weighted(x, w))
def guarded_in_a_while(x, w):
    y, k = x * 1.0, 0
    while k < 3:
        n = np.linalg.norm(y)
        y = np.where(n > 0, y / n + y, y * 2)
        k += 1
    return weighted(y, w)


@form(ZERO, POINT, weighted)
def loop_that_is_not_taken(x, w):
    y = start = x / size(x)
    for _ in range(40):
        y = y * np.sin(y) + start
    return weighted(np.where(size(x) > 0, y, x), w)


@form(ZERO, POINT, weighted)
def elements_of_a_loop(x, w):
    y = start = x / size(x)
    for _ in range(40):
        y = y * np.sin(y) + start
    return weighted(np.where(np.isfinite(start), y, x), w)


@form(ZERO, POINT, weighted)
def branch_that_is_not_taken(x, w):
    y = x / size(x)
    z = np.sin(y) * y if y[0] > 0.1 else np.cos(y) * y * y
    return weighted(np.where(size(x) > 0, z, x), w)


@form(SINGULAR, REGULAR, squares)
def solution(a, w):
    d = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    return np.sum(np.linalg.solve(a, w[:2, 0])) if np.abs(d) > 1e-3 else np.sum(a * a)


@form(np.eye(2), REGULAR, lambda a, w: np.sum(a[0]))
def eigenvector(a, w):
    values, vectors = np.linalg.eigh((a + a.T) / 2)
    return np.sum(np.where(values[1] - values[0] > 1e-3, vectors[:, 0] ** 2 * w[0, :2], a[0]))


@form(np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]]), SPREAD[:3, :2] * np.array([[1], [2], [4]]),
      lambda p, w: 2 * np.sum(1 / np.sqrt(np.sum((p[0] - p[1:]) ** 2, -1))))
def distances(p, w):
    d = p[:, None] - p[None]
    r = np.sqrt(np.sum(d * d, -1))
    return np.sum(np.where(r > 0, 1 / r, 0))


# ---- the checks ----------------------------------------------------------------------------------------------------

def differences(function, x):
    found, w = np.zeros(x.shape), W
    for i in np.ndindex(x.shape):
        h = np.zeros(x.shape)
        h[i] = 1e-6
        found[i] = (function(x + h, w) - function(x - h, w)) / 2e-6
    return found


def right(name):
    """[(point, gradient there)]"""
    function, taken, singular, ordinary = FORMS[name]
    with np.errstate(all="ignore"):
        return [(singular, differences(taken, singular)), (ordinary, differences(function, ordinary))]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FORMS)
def test_both_modes(name, dtype):
    function, w = FORMS[name][0], W.astype(dtype)
    gradient, jacobian = reactant.grad(function), reactant.jacobian(function, mode="forward")
    tolerance = 1e-6 if dtype == np.float64 else 2e-3
    for point, expected in right(name):
        x = point.astype(dtype)
        np.testing.assert_allclose(gradient(x, w), expected, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(jacobian(x, w), expected, rtol=tolerance, atol=tolerance)


WAYS = {
    "vmap of grad": lambda f, xs: reactant.vmap(lambda x: reactant.grad(f)(x, W))(xs),
    "grad of vmap": lambda f, xs: reactant.grad(lambda xs: np.sum(reactant.vmap(lambda x: f(x, W))(xs)))(xs),
    "grad of a loop": lambda f, xs: reactant.grad(lambda xs: over(f, xs))(xs),
    "native code": lambda f, xs: [reactant.jit(lambda x: reactant.grad(f)(x, W), native="always")(x) for x in xs],
    "no native code": lambda f, xs: [reactant.jit(lambda x: reactant.grad(f)(x, W), native="never")(x) for x in xs],
}


def over(function, xs):
    t = 0.0
    for i in range(len(xs)):
        t = t + function(xs[i], W)
    return t


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FORMS)
def test_other_ways(name, way):
    points, expected = zip(*right(name), strict=True)
    np.testing.assert_allclose(WAYS[way](FORMS[name][0], np.stack(points)), expected, rtol=1e-6, atol=1e-6)


SECOND = ["unit_if", "unit_where", "unit_in_place", "rows_where", "root", "logarithm", "power", "arc_cosine", "entropy",
          "softmax", "log_of_sum", "nested_where", "complex_numbers", "loop_that_is_not_taken", "solution"]


@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives(name):
    function, taken, singular, _ = FORMS[name]
    expected = reactant.hessian(taken)(singular, W)
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(reactant.hessian(function)(singular, W), expected, rtol=1e-6, atol=1e-9)


def test_a_checkpointed_call():
    """What is computed again stands behind values that are put in place later."""
    def unit(v):
        n = np.linalg.norm(v)
        return np.where(n > 0, v / n, v)

    def function(v):
        return weighted(reactant.checkpoint(lambda v: np.sin(unit(v)))(v), W)

    np.testing.assert_allclose(reactant.grad(function)(ZERO), W[0])
    np.testing.assert_allclose(reactant.grad(function)(POINT), differences(
        lambda v, w: weighted(np.sin(unit(v)), w), POINT), rtol=1e-6)
