"""Loops of NumPy programs: which of them stop being loops, and that the results stay what they are."""
import copy

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=200), RNG.normal(size=200)
A = RNG.normal(size=(30, 20))
PLACES, ROWS, COLUMNS = RNG.integers(-50, 50, 120), RNG.integers(0, 5, 120), RNG.integers(0, 3, 120)


def branches(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] > 0:
            out[i] = np.sqrt(x[i])
        else:
            out[i] = x[i] * 2
    return out


def in_place(x):
    for i in range(len(x)):
        x[i] = x[i] * 2 + 1


def backwards_every_third(x):
    out = np.ones(len(x))
    for i in range(190, 10, -3):
        out[i] = x[i - 1] + x[i + 2]
    return out


def looks_ahead(x):
    for i in range(len(x) - 1):
        x[i] = 0.5 * (x[i] + x[i + 1])


def stencil(a):
    n, m = a.shape
    out = np.zeros((n, m))
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            out[i, j] = a[i - 1, j] + a[i + 1, j] - 2 * a[i, j - 1] * a[i, j + 1]
    return out


def normalised(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[i] / np.linalg.norm(x)
    return out


def normalised_by_sums(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        total = 0.0
        for j in range(len(x)):
            total += x[j] * x[j]
        out[i] = x[i] / np.sqrt(total)
    return out


def differences(x):
    out, before = np.zeros(len(x)), 0.0
    for i in range(len(x)):
        out[i] = x[i] - before
        before = x[i]
    return out, before


def gathered(x, places):
    out = np.zeros(len(places))
    for i in range(len(places)):
        out[i] = x[places[i]] * x[places[len(places) - 1 - i]]
    return out


def histogram(x, rows, columns):
    counts = np.zeros((5, 3))
    for i in range(len(rows)):
        if x[i] > 0:
            counts[rows[i], columns[i]] += x[i]
    return counts


def greatest(x):
    best, where = x[0], 0
    for i in range(len(x)):
        if x[i] > best:
            best, where = x[i], i
    return best, where


def last_positive(x):
    found = -1
    for i in range(len(x)):
        if x[i] > 0:
            found = i
    return found


def triangle(a):
    out = np.zeros(len(a))
    for i in range(len(a)):
        for j in range(min(i, 20)):
            out[i] += a[i, j]
    return out


def from_diagonal(a):
    out = np.zeros((20, 20))
    for i in range(20):
        for j in range(i, 20):
            out[i, j] = a[i, j] * a[j, i]
    return out


def rows(a):
    out = np.zeros_like(a)
    for i in range(len(a)):
        row = a[i].copy()
        for _ in range(3):
            row = 0.5 * row + 1
        out[i] = row / row.sum()
    return out


def counted_and_summed(x, y):
    count, total, product, both = 0, 0.0, 1.0, False
    for i in range(len(x)):
        if x[i] > 0.5:
            count += 1
            total -= y[i]
        product *= 1 + 0.01 * x[i]
        both = both or x[i] > 2.0 and y[i] > 0.0
    return count, total, product, both


def smoothed(x):
    level, out, total = 0.0, np.zeros(len(x)), 0.0
    for i in range(len(x)):
        level = 0.9 * level + 0.1 * x[i]
        out[i] = x[i] * x[i]
        total += x[i]
    return level, out, total


def recurrence(x):
    for i in range(1, len(x)):
        x[i] = 0.5 * (x[i] + x[i - 1])


def overlapping(x):
    out = np.zeros(len(x))
    for i in range(len(x) - 1):
        out[i] = x[i]
        out[i + 1] += 2 * x[i]
    return out


def escapes(x, y):
    out = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        u = v = 0.0
        k = 0
        while u * u + v * v < 4 and k < 30:
            u, v = u * u - v * v + x[i], 2 * u * v + y[i]
            k += 1
        out[i] = k
    return out


def pairs(p):
    """Forces between bodies: sums under an if that computes a length."""
    force = np.zeros_like(p)
    for i in range(len(p)):
        for j in range(len(p)):
            if i != j:
                d = p[j] - p[i]
                force[i] += d / np.sqrt((d * d).sum() + 1e-3) ** 3
    return force


def halves(x):
    out = np.zeros(len(x) // 2)
    for i in range(0, len(x) - 1, 2):
        out[i // 2] = x[i] - x[i + 1]
    return out


def alternating(x):
    total = 0.0
    for i in range(len(x)):
        if i % 2 == 0:
            total += x[i]
        else:
            total -= x[i]
    return total


GONE = [(branches, X), (in_place, X), (backwards_every_third, X), (looks_ahead, X), (stencil, A), (normalised, X),
        (normalised_by_sums, X), (differences, X), (gathered, X, PLACES), (histogram, X, ROWS, COLUMNS), (greatest, X),
        (last_positive, X), (triangle, A), (from_diagonal, A[:20]), (rows, A), (counted_and_summed, X, Y),
        (pairs, A[:, :3]), (halves, X), (alternating, X)]
LEFT = [(smoothed, X), (recurrence, X), (overlapping, X), (escapes, X, Y)]


def check(function, arguments, **options):
    """The text of the program, after comparing what it gives with what the plain function gives."""
    mine, theirs = copy.deepcopy(arguments), copy.deepcopy(arguments)
    compiled = reactant.jit(function, native="never", unroll_limit=0, **options)
    plain, got = function(*mine), compiled(*theirs)
    for a, b in zip((plain, mine), (got, theirs), strict=True):
        for u, v in zip(*(x if isinstance(x, (tuple, list)) else (x,) for x in (a, b)), strict=True):
            if u is not None:
                np.testing.assert_allclose(v, u, rtol=1e-10, atol=1e-12)
    return compiled.lower(*arguments).as_text()


@pytest.mark.parametrize("case", GONE, ids=lambda case: case[0].__name__)
def test_loops_that_are_gone(case):
    assert check(case[0], case[1:]).count("stablehlo.while") == 0


@pytest.mark.parametrize("case", LEFT, ids=lambda case: case[0].__name__)
def test_loops_that_stay(case):
    assert check(case[0], case[1:]).count("stablehlo.while") > 0


def test_what_needs_no_recurrence_leaves_it():
    text = check(smoothed, (X,))
    body = text[text.index("} do {"):]
    assert "dynamic_update_slice" not in body and "stablehlo.reduce" in text[:text.index("stablehlo.while")]


def test_conditional_writes_choose_elements_not_arrays():
    def program(x, y):
        for i in range(1, len(x)):
            if y[i] > 0:
                x[i] = x[i - 1] + y[i]          # a recurrence: it stays a loop
            else:
                x[i] = 0.0

    text = check(program, (X, Y))
    assert "select" in text and "tensor<200xf64>" not in [line.rpartition(" ")[2] for line in text.splitlines()
                                                           if "stablehlo.select" in line]


def test_a_failing_check_names_the_first_failure():
    places = PLACES.copy()
    places[[40, 70]] = 900, -900
    with pytest.raises(IndexError):
        reactant.jit(gathered, native="never")(X, places)


def test_special_values_are_passed_over_as_comparisons_do():
    for values in ([np.nan, 1, 3, np.nan, 3], [1, np.nan, -0.0, 0.0], [-np.inf, np.nan],
                   [2.0, -np.inf, np.inf, np.inf]):
        check(greatest, (np.array(values),))


def test_complex_numbers_that_are_added_in_each_iteration_may_be_infinite_or_zero_of_either_sign():
    """XLA once made a product with 5 + 0i of the sum: NaN beside an infinity, and no sign of zeros."""
    def added(x, c):
        return jax.lax.fori_loop(0, 5, lambda i, c: c + x, c)

    x = np.array([complex(np.inf, 0), complex(np.inf, 1), complex(0, -np.inf), complex(-0.0, -0.0), 1 - 2j],
                 np.complex64)
    start = np.full(5, complex(-0.0, -0.0), np.complex64)
    compiled = reactant.jit(added)
    assert "stablehlo.while" not in compiled.lower(x, start).operations()
    expected, found = (np.asarray(f(x, start)) for f in (jax.jit(added), compiled))
    for a, b in ((expected.real, found.real), (expected.imag, found.imag)):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(np.signbit(a), np.signbit(b))


def test_sums_of_floats_stay_loops_where_rounding_must_not_change():
    assert "stablehlo.while" in check(normalised_by_sums, (X,), allow=())
    assert "stablehlo.while" not in check(branches, (X,), allow=())


def test_big_iterations_stay_iterations():
    big = RNG.normal(size=(4, 200_000))

    def program(a):
        for i in range(len(a)):
            a[i] = np.sin(a[i])

    assert "stablehlo.while" in check(program, (np.repeat(big, 3, 0),))


def test_counters_of_few_bits_that_take_more_iterations_than_they_hold():
    def program(x):
        return jax.lax.fori_loop(jnp.int8(-128), jnp.int8(127), lambda i, y: y.at[i.astype(int) + 128].set(2.0 * i), x)
    compiled = reactant.jit(program)
    np.testing.assert_array_equal(compiled(jnp.zeros(256)), jax.jit(program)(jnp.zeros(256)))
    assert not compiled.reasons
