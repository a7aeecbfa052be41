"""Lists that loops append to under conditions, in loops inside and before a break, against plain Python."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from reactant.errors import ControlFlowError, ReactantError, UnsupportedError
from tests.frontends.agreement import agree
from tests.oracle import check

X = np.array([0.5, -1.25, 2.0, 3.5, -0.75])


def every_tenth(u):
    kept, times = [u.copy()], []
    for i in range(200):
        u = u * 0.99 + 0.1
        if i % 10 == 0:
            kept.append(u.copy())
            times += [i * 0.5]
    return np.array(kept), len(kept), np.array(times), times[3], kept[-1]


def not_copied(u):
    kept = []
    for i in range(60):
        u = u * 0.9 + 1
        if i % 7 == 0:
            kept.append(u)
    u[0] = 100.0
    return kept, u


def the_last_one_is_the_variable(u):
    kept = []
    for i in range(61):
        u = u * 0.9 + 1
        if i % 10 == 0:
            kept.append(u)
    return kept, u


def parts_written_in_place(u):
    kept = []
    for i in range(60):
        u[1:] += u[:-1] * 0.01
        if i % 7 == 3:
            kept.append(u[1:4].copy())
    return kept, u


def one_array_many_times(u):
    kept = []
    for i in range(60):
        u *= 0.9
        if i % 7 == 0:
            kept.append(u)
    return kept, u


def written_after_it_was_appended(u):
    kept = []
    for i in range(40):
        v = u * i
        if i % 5 == 0:
            kept.append(v)
        v[0] = 7.0
    return kept


def bound_in_the_branch(u):
    kept, v = [], u.copy()
    for i in range(40):
        if i % 5 == 0:
            v = u * i
            kept.append(v)
        v[0] += 7.0
    return kept, v


def lists_of_their_own(u):
    kept = []
    for i in range(40):
        row = [i, u[0] * i]
        if i % 4 == 1:
            kept.append(row)
        row[0] = 5
    return kept


def two_lists(u):
    low, high = [], []
    for i in range(60):
        u = np.roll(u, 1)
        if i < 20:
            low.append(i * 2)
        elif i % 3:
            high.append((i, u[0]))
        else:
            low.append(-i)
    return low, np.array(high)


def in_loops_inside(u):
    points = []
    for i in range(20):
        for j in range(30):
            if (i + j) % 7 == 0:
                points.append((i, j, u[0] * i))
            u = u * 0.999
        points.append((i, -1, 0.0))
    return np.array(points), len(points)


def until_the_index_says_so(u):
    kept, found = [], []
    for i in range(100):
        if i % 3 == 0:
            continue
        kept.append(i)
        for j in range(100):
            if j > i:
                break
            found.append(i * j)
        if i > 70:
            break
    return np.array(kept), len(found), found[-1], u


def nothing_at_all(u):
    kept = [1.5]
    for i in range(50):
        u = u * 0.9
        if i > 100:
            kept.append(i)
    return kept, u


KNOWN = [every_tenth, not_copied, the_last_one_is_the_variable, parts_written_in_place, one_array_many_times,
         written_after_it_was_appended, bound_in_the_branch, lists_of_their_own, two_lists, in_loops_inside,
         until_the_index_says_so, nothing_at_all]


@pytest.mark.parametrize("program", KNOWN, ids=lambda f: f.__name__)
def test_lengths_that_follow_from_the_index(program):
    agree(program, [(X,)])


@pytest.mark.parametrize("program", [every_tenth, not_copied, parts_written_in_place, two_lists, in_loops_inside,
                                     until_the_index_says_so], ids=lambda f: f.__name__)
def test_loops_stay_loops(program):
    assert "stablehlo.while" in reactant.code_hlo(program, X, optimize=False)


def chosen(u):
    kept = [1, 2]
    for i in range(60):
        if u[i % 5] > 0:
            kept.append(i)
    total = 0
    for k in kept:
        total = total + k
    return total, len(kept), kept[-1], kept[0], kept[3], np.sum(kept), np.mean(kept), np.array(kept).max()


def until_it_is_small(u):
    history = []
    for _ in range(300):
        u = u * 0.9
        history.append(np.abs(u).max())
        if history_is_small(u):
            break
    return len(history), history[-1], np.array(history).sum(), u


def history_is_small(u):
    return np.abs(u).max() < 1e-2


def in_two_loops(u):
    kept = []
    for k in range(40):
        if u[k % 5] > 0:
            kept.append(u[k % 5] * k)
    for k in range(30):
        if u[k % 5] < 0:
            kept.append(u[k % 5] * k)
    return len(kept), np.array(kept).sum(), kept[-1]


def of_arrays(u):
    kept = []
    for k in range(30):
        if u[0] * k > 3:
            kept.append((u * k, k))
    return len(kept), kept[-1][0], kept[0][1]


def primes(u):
    found = []
    for n in range(2, 60):
        prime = u[0] > 0
        for m in range(2, n):
            if n % m == 0:
                prime = False
                break
        if prime:
            found.append(n)
    return len(found), found[-1], found[5], np.array(found).sum()


def by_builtins(u):
    counts, values = [1], []
    for i in range(60):
        if u[i % 5] > 0:
            counts.append(i)
            values.append(u[i % 5] * i)
    return sum(counts), max(counts), min(counts), sum(values), max(values), sum(values, 1.5)


def in_few_iterations(u):
    found, pairs = [], []
    for v in u[:3]:
        if v > 0:
            found.append(v)
    for i in (0, 1):
        pairs.append(u[i])
    return len(found), sum(found), len(pairs), pairs


@pytest.mark.parametrize("program", [chosen, until_it_is_small, in_two_loops, of_arrays, primes, by_builtins,
                                     in_few_iterations],
                         ids=lambda f: f.__name__)
def test_lengths_that_only_the_run_knows(program):
    agree(program, [(X,)])


def test_elements_that_are_not_there():
    def program(u):
        kept = []
        for i in range(50):
            if u[i % 5] > 0:
                kept.append(i)
        return kept[20]
    assert reactant.jit(program)(X) == 33
    with pytest.raises(IndexError):
        reactant.jit(program)(-np.abs(X))


def parts_of_the_empty(u):
    found, k = [], 0
    while k < 9 and u[0] < 20:
        k += 1
        for v in found[:3]:
            found.append(v)
        u[0] += len(found[k:]) + 1
    return len(found), k


def test_slices_of_what_is_empty_yet():
    agree(parts_of_the_empty, [(X,)])


def outside_of_its_loop(u):
    for _ in range(20):
        kept = returned(u)
        u = u * 0.5
    return len(kept)


def returned(u):
    kept = []
    for i in range(50):
        if u[i % 5] > 0:
            kept.append(i)
    return kept


def seen_by_others(u):
    kept = []
    both = [kept]
    for i in range(5000):
        if u[i % 5] > 0:
            kept.append(i)
    return len(both[0])


def huge(u):
    kept = []
    for _ in range(3000):
        u = u * 0.99
        if u[0] > 0:
            kept.append(np.zeros((300, 300)))
    return len(kept)


def test_the_length_of_what_the_last_iteration_made():
    agree(outside_of_its_loop, [(X,)])
    agree(returned, [(X,)], sized_results=True)


@pytest.mark.parametrize(("program", "text"), [
    (seen_by_others, "np.zeros"), (huge, "GiB")],
    ids=lambda x: getattr(x, "__name__", ""))
def test_what_is_refused(program, text):
    with pytest.raises(ReactantError, match=text.replace("(", r"\(").replace(")", r"\)")) as raised:
        reactant.jit(program).lower(X)
    assert isinstance(raised.value, ControlFlowError)


def sampled(x, u):
    samples, accepted = [x], 0
    for k in range(50):
        proposal = samples[-1] + u[k]
        if u[k] < 0.5:
            samples.append(proposal)
            accepted += 1
        else:
            samples.append(np.copy(samples[-1]))
    return np.array(samples[1:]), accepted


def test_as_much_is_appended_on_either_side_of_a_condition():
    u = np.random.default_rng(0).random(50)
    compiled = reactant.jit(sampled)
    plain, accepted = sampled(np.ones(3), u)
    found, count = compiled(np.ones(3), u)
    assert np.allclose(found, plain, rtol=1e-12) and count == accepted
    assert compiled.lower(np.ones(3), u).operations()["stablehlo.while"] == 1


def until_long(u, most):
    y, path = 5.0, []
    while y > u[0] and len(path) < most:
        path.append((y, u[1]))
        y -= u[2]
    return y, len(path)


def test_the_length_in_a_test_of_several_parts():
    agree(until_long, [(X, 400), (X, 2)])


def _joined(x):
    low, high = [0.0], []
    for i in range(len(x)):
        if x[i] > 0:
            high.append(float(x[i]))
        else:
            low.append(-float(x[i]))
    both, weighted = [1.0, 2.0] + high + [] + low + [3.0], 0.0
    for k, v in enumerate(both):
        weighted += v * (k + 1)
    high.append(7.0)
    return weighted, sum(both), sum(high), max(both), len(both), both[-1], both[2]


def _joined_in_place(x):
    first, second = [], []
    for i in range(len(x)):
        if x[i] > 0:
            first.append((i, x[i]))
        else:
            second.append((i, x[i] * 2))
    first += second
    first.extend(second)
    total = 0.0
    for i, v in first:
        total += i * v
    return total, len(first), len(second)


def _joined_rows(x):
    low = [v for v in x if v < 0]
    high = [v for v in x if v >= 0]
    rows, others = [], []
    for v in x:
        if v > 0:
            rows.append(np.array([v, 2 * v]))
        else:
            others.append(np.array([v, -v]))
    return (sorted(low) + sorted(high))[0], np.array(sorted(high) + sorted(low, reverse=True)).sum(), \
        np.array(rows + others).sum(0)


@pytest.mark.parametrize("program", [_joined, _joined_in_place, _joined_rows])
@pytest.mark.parametrize("x", [np.array([0.3, -1.0, 2.5, -0.5, 4.0, -7.0]), np.ones(4), -np.ones(3)], ids=str)
def test_lists_of_run_time_length_are_joined(program, x):
    check(program, x)


def test_lists_of_other_elements_are_not_joined():
    with pytest.raises(UnsupportedError, match="^Two lists with elements of different kinds are joined"):
        reactant.jit(lambda x: sum([i for i in range(len(x)) if x[i] > 0] + [1.5]))(np.array([1.0, -1.0]))
    with pytest.raises(TypeError, match="can only concatenate list"):
        reactant.jit(lambda x: sum([i for i in range(len(x)) if x[i] > 0] + (1,)))(np.array([1.0, -1.0]))


def nested_elements(x):
    kept = []
    for v in x:
        if v > 0:
            kept.append([[v, v * 2, 1.0], [-v, 0.0, v]])
    whole = np.array(kept)
    return whole.sum(axis=0), whole[:, 0, :].sum(axis=0), whole[:, 1, 2].sum(), whole.mean(axis=(0, 2))


def taken_from_a_nested_list(edges):
    left, ends = edges.tolist(), np.zeros(len(edges))
    count, end = 0, np.array(left[0][1])
    while len(left) > 0:
        nearest = np.linalg.norm(np.array(left)[:, 0, :] - end, axis=1).argmin()
        end = np.array(left.pop(nearest)[1])
        ends[count] = end.sum()
        count += 1
    return ends


def test_elements_of_elements_are_dimensions():
    check(nested_elements, X)
    check(taken_from_a_nested_list, np.random.default_rng(0).random((5, 2, 3)))


def snapshots(x):
    kept, turned = [], []
    for step in range(100):
        x = 0.9 * x + np.sin(x)
        if step % 20 == 0:
            kept.append(np.real(np.fft.ifft(x)))
            turned.append((2 * x).reshape(2, -1).T)
    turned[0][0, 1] = 7.0
    return np.array(kept), turned[0], turned[2]


def test_views_of_what_nobody_else_holds_are_as_good_as_copies():
    x = np.linspace(0, 1, 8)
    compiled = reactant.jit(snapshots)
    for mine, numpy in zip(compiled(x), snapshots(x), strict=True):
        np.testing.assert_allclose(mine, numpy, rtol=1e-12)
    assert compiled.lower(x).operations()["stablehlo.while"] == 1
