"""Programs whose loops and branches depend on run-time values."""
import math

import numpy as np
import pytest

from tests.oracle import check


def newton_square_roots(values, tolerance):
    """Newton's iteration on all values at once, stopped by `break`."""
    guess = np.maximum(values, 1.0)
    iterations = 0
    while True:
        better = 0.5 * (guess + values / guess)
        iterations += 1
        if np.max(np.abs(better - guess)) < tolerance:
            break
        guess = better
    return better, iterations


@pytest.mark.parametrize("values", [[4.0], [1.0, 2.0, 9.0, 100.0], [[0.25, 0.5], [7.0, 1e6]]])
def test_newton(agree, values):
    agree(newton_square_roots, lambda: (np.array(values), 1e-10))


def collatz_lengths(starts):
    """A while loop inside a for loop over an array, integers throughout."""
    lengths = np.zeros_like(starts)
    for position, start in enumerate(starts):
        value = start
        steps = 0
        while value != 1:
            if value % 2 == 0:
                value = value // 2
            else:
                value = 3 * value + 1
            steps += 1
        lengths[position] = steps
    return lengths


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("starts", [[1], [6, 7, 27, 1, 97]])
def test_collatz(agree, starts, dtype):
    agree(collatz_lengths, lambda: (np.array(starts, dtype=dtype),))


def greatest_common_divisors(a, b):
    result = np.empty_like(a)
    for i in range(len(a)):
        x, y = a[i], b[i]
        while y != 0:
            x, y = y, x % y
        result[i] = x
    return result


@pytest.mark.parametrize("dtype", ["int16", "uint32", "int64"])
def test_greatest_common_divisors(agree, dtype):
    agree(greatest_common_divisors,
          lambda: (np.array([12, 17, 0, 1071, 270], dtype), np.array([18, 5, 9, 462, 192], dtype)))


def bubble_sort(values):
    """Swaps under a run-time condition in nested loops; leaves early when a sweep changed nothing."""
    n = len(values)
    sweeps = 0
    for end in range(n - 1, 0, -1):
        swapped = False
        for i in range(end):
            if values[i] > values[i + 1]:
                values[i], values[i + 1] = values[i + 1], values[i]
                swapped = True
        sweeps += 1
        if not swapped:
            break
    return sweeps


@pytest.mark.parametrize("values", [[3.0], [2.0, 1.0], [1.0, 2.0, 3.0, 4.0], [5.0, -1.0, 3.5, 3.5, 0.0, -8.0, 2.0]])
def test_bubble_sort(agree, values):
    agree(bubble_sort, lambda: (np.array(values),))


def bisect(low, high, tolerance):
    """A root of cos(x) - x; returns from inside the loop when it hits it exactly."""
    def function(x):
        return np.cos(x) - x

    if function(low) == 0.0:
        return low
    for _ in range(200):
        middle = 0.5 * (low + high)
        if function(middle) == 0.0 or high - low < tolerance:
            return middle
        if function(low) * function(middle) < 0:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


@pytest.mark.parametrize("bracket", [(0.0, 1.0), (-3.0, 4.0)])
def test_bisect(agree, bracket):
    agree(bisect, lambda: (np.float64(bracket[0]), np.float64(bracket[1]), 1e-12))


def skip_and_stop(values, stop):
    """`continue` and `break` in one loop: the sum of the positive values before the first above `stop`."""
    total = 0.0
    used = 0
    for value in values:
        if value <= 0:
            continue
        if value > stop:
            break
        total += value
        used += 1
    return total, used


@pytest.mark.parametrize("values", [[1.0, -2.0, 3.0, 50.0, 4.0], [100.0, 1.0], [-1.0, -2.0], [0.5]])
def test_skip_and_stop(agree, values):
    agree(skip_and_stop, lambda: (np.array(values), 10.0))


def sieve(n):
    """Primes below `n`: static loop, run-time condition, strides that depend on the loop index."""
    prime = np.ones(n, dtype=bool)
    prime[:2] = False
    for p in range(2, math.isqrt(n) + 1):
        if prime[p]:
            prime[p * p::p] = False
    return prime, prime.sum()


@pytest.mark.parametrize("n", [3, 10, 60])
def test_sieve(agree, n):
    agree(sieve, lambda: (n,))


def edit_distance(a, b):
    """Levenshtein's table, row by row, a branch in each cell."""
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    table[:, 0] = np.arange(len(a) + 1)
    table[0, :] = np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            if a[i - 1] == b[j - 1]:
                table[i, j] = table[i - 1, j - 1]
            else:
                table[i, j] = 1 + min(table[i - 1, j], table[i, j - 1], table[i - 1, j - 1])
    return table[-1, -1], table


@pytest.mark.parametrize(("a", "b"), [("kitten", "sitting"), ("", "abc"), ("flaw", "lawn"), ("same", "same")])
def test_edit_distance(agree, a, b):
    def encode(word):
        return np.array([ord(letter) for letter in word], dtype=np.int32)

    agree(edit_distance, lambda: (encode(a), encode(b)))


def most_likely_path(start, transition, emission, observed):
    """Viterbi's algorithm with back-pointers followed through run-time indices."""
    steps, states = len(observed), len(start)
    score = np.zeros((steps, states))
    back = np.zeros((steps, states), dtype=np.int64)
    score[0] = np.log(start) + np.log(emission[:, observed[0]])
    for t in range(1, steps):
        options = score[t - 1][:, np.newaxis] + np.log(transition)
        back[t] = np.argmax(options, axis=0)
        score[t] = options.max(axis=0) + np.log(emission[:, observed[t]])
    path = np.zeros(steps, dtype=np.int64)
    path[-1] = np.argmax(score[-1])
    for t in range(steps - 2, -1, -1):
        path[t] = back[t + 1, path[t + 1]]
    return path, score[-1].max()


@pytest.mark.parametrize("steps", [1, 2, 12])
def test_most_likely_path(agree, random, steps):
    start = random.dirichlet(np.ones(3))
    transition = random.dirichlet(np.ones(3), 3)
    emission = random.dirichlet(np.ones(4), 3)
    observed = random.integers(0, 4, steps)
    agree(most_likely_path, lambda: (start, transition, emission, observed))


def largest_eigenvalue(matrix, tolerance, limit):
    """Power iteration; the `else` of the loop marks that it did not converge."""
    vector = np.ones(len(matrix)) / math.sqrt(len(matrix))
    value = 0.0
    for _ in range(limit):
        image = matrix @ vector
        new_value = vector @ image
        vector = image / np.linalg.norm(image)
        if abs(new_value - value) < tolerance * abs(new_value):
            converged = True
            break
        value = new_value
    else:
        converged = False
    return new_value, converged


@pytest.mark.parametrize("limit", [3, 500])
def test_largest_eigenvalue(agree, random, limit):
    a = random.random((5, 5))
    agree(largest_eigenvalue, lambda: (a @ a.T, 1e-10, limit))


def normalised(vector):
    length = np.sqrt(np.sum(vector**2))
    if length == 0:
        raise ValueError("a zero vector has no direction")
    return vector / length


@pytest.mark.parametrize("n", [1, 4])
def test_raise_under_a_run_time_condition(agree, random, n):
    import reactant

    vector = random.standard_normal(n)
    agree(normalised, lambda: (vector.copy(),))
    with pytest.raises(ValueError, match="a zero vector has no direction"):
        reactant.jit(normalised)(np.zeros(n))


def interpolate_table(x, xs, ys):
    """Binary search with run-time indices for each query, then linear interpolation."""
    result = np.zeros(x.shape)
    for q in range(len(x)):
        low = 0
        high = len(xs) - 1
        while high - low > 1:
            middle = (low + high) // 2
            if xs[middle] <= x[q]:
                low = middle
            else:
                high = middle
        share = (x[q] - xs[low]) / (xs[high] - xs[low])
        result[q] = (1 - share) * ys[low] + share * ys[high]
    return result


@pytest.mark.parametrize("points", [2, 3, 17])
def test_interpolate_table(agree, random, points):
    xs = np.sort(random.random(points))
    ys = random.standard_normal(points)
    x = random.random(6)
    agree(interpolate_table, lambda: (x, xs, ys))


def sweeps(parts, n, again=False):
    """Alternating updates, as of decompositions of tensors. The loop's text binds `kept` anew; the run does not."""
    kept = parts
    for _ in range(n):
        if again:
            kept = [2 * part for part in kept]
        for mode in range(len(kept)):
            rest = 0.0
            for k, part in enumerate(kept):
                if k != mode:
                    rest += part.sum()
            kept[mode] = 0.3 * kept[mode] + 1 / (1 + rest * rest)
    return kept, parts


def nested_sweeps(a, b, n, again=False):
    rows = [[a, 2 * a], [b]]
    first, i = rows[0], 0
    while i < n + 0 * first[0].sum():
        if again:
            rows = [[first[0]]]
        rows[0][1] = 0.1 * rows[0][1] + rows[1][0].sum()
        rows[1][0] = 0.5 * rows[1][0] + 1
        i += 1
    return rows, first


@pytest.mark.parametrize("n", [1, 5, 40])
def test_lists_that_the_text_of_a_loop_binds_anew_but_the_run_does_not(n):
    rng = np.random.default_rng(0)
    check(sweeps, [rng.random((5, 2)), rng.random((6, 2)), rng.random((7, 2))], n, rtol=1e-12)
    check(nested_sweeps, rng.random(3), rng.random(2), n, rtol=1e-12)
