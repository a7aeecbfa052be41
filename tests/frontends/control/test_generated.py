"""`sum`, `any` and `all` of generator expressions: loops where they are long, or as long as only run-time values
tell."""
from __future__ import annotations

import itertools

import numpy as np
import pytest

import reactant
from tests.frontends.agreement import agree


def levinson(r):
    order = len(r) - 1
    a = np.zeros(order + 1)
    a[0], e = 1.0, r[0]
    for i in range(1, order + 1):
        k = -(r[i] + sum(a[j] * r[i - j] for j in range(1, i))) / e
        before = a.copy()
        for j in range(1, i):
            a[j] = before[j] + k * before[i - j]
        a[i] = k
        e *= 1 - k * k
    return a, e


def pairs(x):
    return sum(p * q for p, q in zip(x, x[::-1], strict=True)), sum(k * v for k, v in enumerate(x))


def positive(x):
    return sum(v for v in x if v > 0), sum(1 for v in x if v > 0 if v < 2), sum((v for v in x if v > 1), 10.0), \
        sum((v for v in x if v > 1), start=10.0), sum(x, start=2)


def decisions(x):
    return any(v > 2.5 for v in x), all(v > -10 for v in x), any(v > 0 and k > 3 for k, v in enumerate(x))


def rows(x):
    table = np.outer(x, x)
    return sum(row * 2 for row in table), sum(np.abs(row).max() for row in table)


def arrays_themselves(x):
    return (sum(x), sum(x, 1.5), sum(x > 0), sum(x[:0]), sum((x * 3).astype(np.int32)), sum(x + 1j), all(x), any(x),
            all(x > -99), any(x > 99), any(x[:0]), all(x[:0]), sum(np.outer(x, x)[:, 0]))


def known_things(x):
    words = ["a", "bb", "ccc"]
    return sum(len(w) for w in words) * x, any(w == "bb" for w in words), sum(k for k in range(100)) + x[0]


def shadowed(x):
    def sum(items):
        return list(items)[0]

    return sum(v * 2 for v in x)


@pytest.mark.parametrize("program", [levinson, pairs, positive, decisions, rows, arrays_themselves, known_things,
                                     shadowed])
@pytest.mark.parametrize("length", [1, 3, 40])
def test_folds_agree_with_python(program, length):
    x = np.random.default_rng(length).standard_normal(length)
    x[0] = 3.0 + length
    agree(program, [(x,)])


@pytest.mark.parametrize("program", [levinson, pairs, positive, decisions, rows, arrays_themselves])
def test_long_folds_are_loops(program):
    x = np.random.default_rng(0).standard_normal(300)
    x[0] = 400.0
    operations = reactant.jit(program).lower(x).operations()
    assert sum(operations.values()) < 300


def test_a_fold_over_nothing():
    agree(pairs, [(np.zeros(0),)])
    agree(decisions, [(np.zeros(0),)])


# ---- which elements there are, only run-time values tell
# ---------------------------------------------------------------

def kept(x):
    large = [v for v in x if v > 0]
    places = [k for k, v in enumerate(x) if v > 0 if k > 1]
    total = 0.0
    for k in places:
        total += x[k] * k
    return sum(large), len(large), np.array(large).sum(), total, len([v for v in x if v > 1e9])


def extremes(x):
    return max(v * v for v in x if v > -9), min([v for v in x if v > 0], default=x[0]), \
        min((k for k, v in enumerate(x) if v > 0), key=lambda k: x[k]), sorted(v for v in x if v > 0)[0], \
        sorted([v for v in x if v > 0], reverse=True)[-1], len(list(filter(lambda v: v < 0, x)))


def tables(x):
    table = np.outer(x, x)
    n = len(x)
    return sum(table[i, j] for i in range(n) for j in range(i) if table[i, j] > 0), \
        len([1 for i in range(n) if x[i] > 0 for j in range(n) if table[i, j] > 0])


def known_tuples(x):
    kept = [(u, w) for (u, v), w in [((0, 1), 2.0), ((0, 0), 1.0), ((-1, 0), 4.0)] if x[u] > x[v]]
    total = 0.0
    for u, w in kept:
        total += w * x[u]
    return total, len(kept)


def decided_by_length(x):
    means = np.zeros(len(x))
    for k in range(len(x)):
        near = [x[j] for j in range(len(x)) if abs(x[j] - x[k]) < 0.5 and j != k]
        means[k] = sum(near) / len(near) if near else 0.0
        if not near and k:
            means[k] = -1.0
    return means


def found_first(x):
    return next((k for k, v in enumerate(x) if v > 3), -1), next(k for k, v in enumerate(x) if v > 3), \
        next((k for k in range(len(x)) if x[k] > 1e9), -1)


def generated_once(x):
    some = (v for v in x if v > 0)
    return sum(some) + sum(some)


@pytest.mark.parametrize("program", [kept, extremes, tables, known_tuples, decided_by_length, found_first,
                                     generated_once])
@pytest.mark.parametrize("length", [1, 30])
def test_conditions_about_run_time_values(program, length):
    x = np.random.default_rng(length).standard_normal(length)
    x[0] = 3.0 + length
    agree(program, [(x,)])


def test_conditions_stay_loops():
    counts = reactant.jit(kept).lower(np.ones(3000)).operations()
    assert sum(counts.values()) < 300


def test_what_python_raises():
    x = -np.ones(5)
    with pytest.raises(StopIteration):
        reactant.jit(lambda x: next(v for v in x if v > 0))(x)
    with pytest.raises(ValueError, match="empty"):
        reactant.jit(lambda x: max(v for v in x if v > 0))(x)
    with pytest.raises(ValueError, match="empty"):
        reactant.jit(lambda x: min([v for v in x if v > 0]))(x)


def returned(x):
    return [v for v in x if v > 0]


def test_a_result_of_run_time_length_names_its_line():
    line = r"--> .*test_generated.py:\d+\n      return .v for v in x"
    with pytest.raises(reactant.UnsupportedError, match=line):
        reactant.jit(returned)(np.ones(3))


def functions_of_the_last_one(x):
    kept = [lambda v: v + k for k in range(3)]                      # noqa: B023
    chosen = [lambda v: v * k for k in range(5) if k % 2 == 0]      # noqa: B023
    return kept[0](x), chosen[0](x), [max(x, key=lambda v: v * k) for k in range(2)]   # noqa: B023


def of_run_time_lists(x):
    places = [k for k, v in enumerate(x) if v > 0]
    doubled = [2 * x[k] for k in places]
    return sum(doubled), max(x[k] for k in places), len([1 for k in places for v in x if v > x[k]])


@pytest.mark.parametrize("program", [functions_of_the_last_one, of_run_time_lists])
def test_variables_of_comprehensions(program):
    agree(program, [(np.array([1.0, -2.0, 3.0, 0.5]),)])


def filtered(x):
    total, last = 0.0, -1.0
    for v in filter(lambda v: v > 0, x):
        total += v
    for v in (2 * v for v in x if v > 0.5):
        last = v
    for row in filter(lambda row: row.sum() > 0, x.reshape(-1, 2)):
        for v in filter(None, np.floor(row)):
            total += 1 / v
    for i in filter(lambda i: x[i % len(x)] > 0, range(2000)):
        total += i
    return total, last


def written_by_the_body(x):
    count, best = 0, 0.0
    for i in filter(lambda i: x[i] > 0, range(len(x) - 1)):
        x[i + 1] -= 2
        count += 1
        if count == 3:
            break
    for v in (u for u in x if u > best):
        best = v
    return count, best


def left_and_taken_up(x):
    doubled, known = (v * 2 for v in x if v > 0), (k for k in range(10) if k % 3 == 0)
    total, places = 0.0, []
    for v in doubled:
        total += v
        if total > 2:
            break
    for k in known:
        places.append(k)
        if k > 2:
            break
    for k in known:
        places.append(k * x[0])
    return total, places, sum(doubled, 0.0)


def first_negative(x):
    for v in filter(lambda v: v < 0, x):
        return v
    return 0.0


def of_arrays(x):
    total = 0.0
    for a, limit in filter(lambda pair: pair[0].sum() > pair[1], [(x, 1.0), (x * 2, 100.0), (x + 1, 2.0)]):
        total += a[0] * limit
    return total


@pytest.mark.parametrize("program", [filtered, written_by_the_body, left_and_taken_up, first_negative,
                                     of_arrays])
@pytest.mark.parametrize("length", [2, 30])
def test_loops_over_what_is_filtered(program, length):
    agree(program, [(np.random.default_rng(seed).standard_normal(length),) for seed in range(3)])


def test_how_many_are_taken_must_be_known():
    def taken(x):
        return sum(itertools.takewhile(lambda v: v > 0, x))

    with pytest.raises(reactant.ConcreteValueNeeded, match="^The predicate of takewhile"):
        reactant.jit(taken)(np.ones(3))


def test_all_and_any_of_rows_are_ambiguous():
    for fold in (all, any):
        with pytest.raises(ValueError, match="truth value of an array with more than one element is ambiguous"):
            reactant.jit(lambda m, fold=fold: fold(m))(np.ones((3, 2)))


# ---- long lists ------------------------------------------------------------------------------------------------

def windows(x):
    ends = np.arange(0, len(x) + 1, 2)
    return np.array([x[a:b].sum() for a, b in zip(ends[:-1], ends[1:], strict=True)])


def of_rows(x):
    table = x.reshape(-1, 2)
    return np.array([row / np.linalg.norm(row) for row in table]), [row.sum() for row in table][7]


def with_numbers(x):
    places = [i for i in range(150)]
    return x[places[3]:places[9]], np.zeros(places[4]), [(i, v * 2) for i, v in enumerate(x)][9]


def changed_later(x):
    found = [v + 1 for v in x]
    found[3] = 0.0
    found.append(5.0)
    pairs = [[v, 2 * v] for v in x]
    pairs[2][0] = 9.0
    return np.array(found), np.array(pairs), pairs[2]


def of_many_shapes(x):
    return [np.zeros(i % 3) + v for i, v in enumerate(x)], [x for _ in range(100)][3]


def mapped(x):
    first = map(lambda v: v + 1, x)
    begun = next(first)
    return (begun, sum(first), np.array(list(map(np.sqrt, x))), list(map(lambda a, b: a * b, x, x[::-1]))[4],
            list(map(lambda a, b: a + b, [1, 2, 3], x)), any(map(lambda v: v > 0.99, x)),
            list(filter(lambda v: v > 1, map(lambda v: v * 2, x)))[0])


def objects(x):
    class Particle:
        def __init__(self, place):
            self.place = place

    swarm = [Particle(v) for v in x]
    return swarm[3].place + swarm[4].place, np.array([p.place for p in swarm])


def acting(x):
    seen = []
    found = [seen.append(v) or 2 * v for v in x]
    return np.array(seen), np.array(found)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("program", [windows, of_rows, with_numbers, changed_later, of_many_shapes, mapped, objects,
                                     acting])
def test_long_lists(program):
    agree(program, [(np.random.default_rng(1).random(180),)], sized_results=program is of_many_shapes)


def test_long_lists_are_loops():
    """The program does not grow with the elements of a comprehension or of `map`."""
    def squares(x):
        return np.array([v * v - x.sum() for v in x]), np.array(list(map(lambda v: np.sin(v) * x[0], x)))

    few, many = (sum(reactant.jit(squares).lower(np.arange(float(n))).operations(optimized=False).values())
                 for n in (100, 1000))
    assert many == few


def decided_of_a_selection(x):
    chosen = x[x > 0.5]
    return (any(v > 2 for v in chosen), all(v > 2 for v in chosen), any(v > 99 for v in chosen), any(chosen > 2),
            all(chosen > 2), all(chosen > 0))


def test_any_and_all_of_a_selection_are_bools_of_python():
    x = np.arange(6.0)
    found = reactant.jit(decided_of_a_selection)(x)
    assert found == decided_of_a_selection(x) and all(type(v) is bool for v in found)


# ---- lists that are known, of values that are not -----------------------------------------------------------------

class Sample:
    def __init__(self, x):
        self.x = x


def of_numbers_of_several_types(x):
    large = [v for v in [0.5, x[0], 3] if v > x[1]]
    return float(len(large)), sum(large, 0.0), sum((v for v in [x[2], 0.25] if v > x[1]), 0.0)


def of_arrays(x):
    rows = [x[:2] * 1, x[1:3] * 1, x[2:4] * 2]
    large = [r for r in rows if r[0] > 0.4]
    return len(large), [r.sum() for r in large][-1], np.array(large).sum(), large[0]


def of_objects_and_items(x):
    samples, table = [Sample(v) for v in x[:4]], {"a": x[0], "b": x[1], "c": 0.75}
    return sum([s.x for s in samples if s.x > 0.4]), len([v for _, v in table.items() if v > 0.4])


def of_pairs_in_pairs(x):
    found = [[a, b] for a in [x[0], 0.5] for b in [x[1], 0.2] if a > b]
    return len(found), sum([a for a, _ in found])


def in_a_loop(x):
    total = 0.0
    for i in range(40):
        large = [v for v in [x[i % 180], 0.5, 0.25] if v > x[0]]
        total = total + len(large) + sum(large)
    return total


@pytest.mark.parametrize("program", [of_numbers_of_several_types, of_arrays, of_objects_and_items, of_pairs_in_pairs,
                                     in_a_loop])
def test_known_lists(program):
    agree(program, [(np.random.default_rng(seed).random(180),) for seed in (1, 4, 6)])


def over_two_ranges(x, n):
    return [np.sin(x[i]) * x[j] + i * j for i in range(n) for j in range(n)]


def over_three(x, n):
    return np.array([x[i] * x[j] - k for i in range(n) for j in range(3) for k in range(n)])


def over_rows(x, n):
    return np.array([v * i for i in range(n) for v in x[:12]])


def over_a_triangle(x, n):
    return np.array([x[i] * x[j] for i in range(n) for j in range(i)])


def over_two_with_a_condition(x, n):
    return np.array([x[i] * x[j] for i in range(n) for j in range(n) if i != j])


def over_what_is_made(x, n):
    made = []
    found = [v + i for i in range(n) for v in (made.append(i) or [x[i], 2.0])]
    return found, made


X = np.linspace(-1, 2, 40)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("program", [over_two_ranges, over_three, over_rows, over_a_triangle, over_two_with_a_condition,
                                     over_what_is_made])
@pytest.mark.parametrize("n", [0, 1, 3, 12])
def test_several_fors(program, n):
    agree(program, [(X, n)])


@pytest.mark.parametrize("n", [24, 36])
def test_several_fors_are_loops(n):
    assert sum(reactant.jit(over_two_ranges).lower(X, n).operations(optimized=False).values()) < 50
    agree(over_two_ranges, [(X, n)])


def rows_of_products(x, n):
    return np.array([[np.sin(x[i]) * x[j] + i * j for j in range(n)] for i in range(n)])


def rows_over_arrays(x, n):
    return np.array([[abs(a - b) for b in x[:n]] for a in x[1:n + 2]])


def rows_with_a_choice(x, n):
    return np.array([[x[i] if i == j else x[i] * x[j] for j in range(n)] for i in range(n)])


def rows_of_windows(x, n):
    return np.array([[np.dot(x[i:i + 3], x[j:j + 3]) for j in range(n)] for i in range(n)])


def rows_that_loops_read(x, n):
    kernel = [[np.exp(-(x[i] - x[j])**2) for j in range(n)] for i in range(n)]
    return sum([sum([kernel[i][j] * x[j] for j in range(n)]) for i in range(n)])


def rows_of_rows(x, n):
    return np.array([[[x[i] * x[j] - x[k] for k in range(n)] for j in range(3)] for i in range(n)])


def rows_that_are_changed(x, n):
    rows = [[x[i] * j for j in range(n)] for i in range(n)]
    if n > 2:
        rows[2][1] = 5.0
        rows[1].append(x[0])
        rows[0] = rows[1]
        rows[0][0] = x[3]
    return rows


def rows_in_a_triangle(x, n):
    return [[x[i] * x[j] for j in range(i)] for i in range(n)]


def rows_with_conditions(x, n):
    return [[x[i] * x[j] for j in range(n) if j != i] for i in range(n) if i % 2]


def rows_of_pairs(x, n):
    return [[[x[i], j] for j in range(n)] for i in range(n)]


def rows_that_tell(x, n):
    told = []
    return [[told.append(j) or x[j] for j in range(n)] for _ in range(n)], told


def rows_of_words(x, n):
    return [[f"{i * j}" for j in range(n)] for i in range(n)], x.sum()


def rows_of_known_numbers(x, n):
    return np.array([[float(i * 3 + j) for j in range(n)] for i in range(n)]).reshape(n, n) @ x[:n]


@pytest.mark.parametrize("program", [rows_of_products, rows_over_arrays, rows_with_a_choice, rows_of_windows,
                                     rows_that_loops_read, rows_of_rows, rows_that_are_changed, rows_in_a_triangle,
                                     rows_with_conditions, rows_of_pairs, rows_that_tell, rows_of_words,
                                     rows_of_known_numbers])
@pytest.mark.parametrize("n", [0, 1, 3, 12])
def test_rows(program, n):
    agree(program, [(X, n)])


@pytest.mark.parametrize("program", [rows_of_products, rows_over_arrays, rows_with_a_choice, rows_of_windows])
def test_rows_are_loops(program):
    counts = [sum(reactant.jit(program).lower(X, n).operations(optimized=False).values()) for n in (12, 24, 36)]
    assert max(counts) < 150, counts        # of each row a slice, or none


def test_a_place_in_a_row_that_is_not_there():
    with pytest.raises(IndexError):
        reactant.jit(lambda x: [[x[i * 10] for _ in range(9)] for i in range(9)])(X)
