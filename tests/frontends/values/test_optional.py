"""Variables that are None on some paths: `is None` is decided at run time, and readers check that there is a value."""
import copy
import dataclasses
from types import SimpleNamespace

import jax
import numpy as np
import pytest

import reactant
from reactant.errors import ControlFlowError
from tests.frontends.agreement import agree
from tests.oracle import check

X = np.sin(np.arange(9.0) * 3) * 2


def smallest_positive(x, n):
    best = where = None
    for i in range(len(x)):
        if x[i] > 0 and (best is None or x[i] < best):
            best, where = x[i], i
    if best is None:
        return -1.0, -1
    return best, where


def run_time_count(x, n):
    best = None
    for i in range(n):
        if best is None or x[i % 9] > best:
            best = x[i % 9]
    return 0.0 if best is None else best + 1


def in_while(x, n):
    last = None
    i = 0
    while i < n:
        if last is not None:
            x[i] += last
        last = x[i] * 0.5
        i += 1
    return x


def arrays(x, n):
    previous = None
    total = 0.0
    for i in range(30):
        row = x * i
        if row[i % 9] > 1:
            if previous is not None:
                total += np.abs(row - previous).max()
            previous = row
    return total + (np.zeros(9) if previous is None else previous)


def first_above(x, t):
    for i in range(9):
        if x[i] > t:
            return i
    return None


def of_a_helper(x, n):
    k = first_above(x, n * 0.25)
    if k is None:
        return -1
    return k * 2


def pairs(x, n):
    found = None
    for i in range(9):
        for j in range(9):
            if x[i] + x[j] > n and found is None:
                found = (i, j)
    if found is None:
        return 99
    a, b = found
    return a * 10 + b


def as_an_index(x, n):
    done = np.zeros(9, bool)
    for _ in range(4):
        k = None
        for i in range(9):
            if not done[i] and (k is None or x[i] < x[k]):
                k = i
        done[k] = True
        x[k] += n
    return x


class Tracker:
    def __init__(self):
        self.best, self.count = None, 0

    def see(self, v):
        self.count += 1
        if self.best is None or v > self.best:
            self.best = v


def attributes(x, n):
    t = Tracker()
    for i in range(20):
        if x[i % 9] > n - 2:
            t.see(x[i % 9] * i)
    return (0.0 if t.best is None else t.best), t.count


def written_through(x, n):
    v = None
    if x[0] >= n:
        v = x * 2
    if v is not None:
        v[1] = 7
        x += v
    return x


def used_where_none(x, n):
    best = None
    for i in range(9):
        if x[i] > n:
            best = x[i]
    return best + 1


@pytest.mark.parametrize("function", [smallest_positive, run_time_count, in_while, arrays, of_a_helper, pairs,
                                      as_an_index, attributes, written_through, used_where_none],
                         ids=lambda f: f.__name__)
def test_as_numpy(function):
    compiled = reactant.jit(function)
    for n in (0, 1, 8):
        for x in (X, -np.abs(X), np.zeros(9)):
            mine, theirs = x.copy(), x.copy()
            try:
                expected = function(mine, np.int64(n))
            except TypeError:
                with pytest.raises(TypeError, match="None is used"):
                    compiled(theirs, np.int64(n))
                continue
            got = compiled(theirs, np.int64(n))
            for a, b in zip(np.atleast_1d(expected), np.atleast_1d(got), strict=True):
                np.testing.assert_allclose(b, a, rtol=1e-12)
            np.testing.assert_allclose(theirs, mine, rtol=1e-12)


def sign_or_none(x):
    return x if x > 0 else None


def found_above(x, limit):
    for k, v in enumerate(x):
        if v > limit:
            return k, v


def nothing_or_tree(x):
    if x.sum() > 5:
        return None
    return x * 2, {"sum": x.sum(), "known": 3}


def written_or_none(x, kept):
    kept["first"] = None
    if x[0] > 0.5:
        kept["first"] = x[:2].copy()
    return x if x[0] > 0 else None, x


def through_a_helper(x, limit):
    found = found_above(x, limit)
    if found is None:
        return -1.0
    return found[1] * 2


def used_as_it_is(x, limit):
    k, v = found_above(x, limit)
    return k * v


def test_none_or_a_value_is_a_result():
    agree(sign_or_none, [(2.0,), (-2.0,)])
    agree(found_above, [(X, 1.0), (X, 5.0), (X, -5.0)])
    agree(nothing_or_tree, [(X,), (X + 1,)])
    agree(written_or_none, [(X, {}), (X + 1, {}), (-X - 1, {"first": 1})])
    agree(through_a_helper, [(X, 1.0), (X, 5.0)])
    assert reactant.jit(sign_or_none)(reactant.array(-2.0)) is None


def test_none_used_as_a_value_fails_when_it_runs():
    compiled = reactant.jit(used_as_it_is)
    assert compiled(X, 1.0) == used_as_it_is(X, 1.0)
    with pytest.raises(TypeError):
        compiled(X, 5.0)


def test_none_in_derivatives_batches_and_jax():
    assert reactant.grad(sign_or_none)(2.0) == 1.0
    with pytest.raises(TypeError, match="'sign_or_none' returned None"):
        reactant.grad(sign_or_none)(-2.0)
    with pytest.raises(ValueError, match="returns None for some elements"):
        reactant.vmap(sign_or_none)(np.ones(3))
    with pytest.raises(reactant.UnsupportedError, match="returns None on some paths"):
        jax.jit(reactant.jit(sign_or_none))(2.0)


def truths(x, y):
    best = None
    if x[0] > 0:
        best = x[0] - 1
    either, both = best or y, best and y
    return 1 if best else 2, not best, either + 0.0, -1.0 if both is None else both + 0.0


def test_truth_of_what_may_be_none():
    agree(truths, [(np.array([v]), y) for v in (-1.0, 1.0, 3.0) for y in (0.0, 2.0)])


def read_by_later_iterations(A, b):
    x, r, before, p = np.zeros_like(b), b.copy(), None, None
    for k in range(400):
        if np.linalg.norm(r) < 1e-10:
            return x, k
        now = r @ r
        if k > 0:
            p *= now / before
            p += r
        else:
            p = r.copy()
        q = A @ p
        step = now / (p @ q)
        x += step * p
        r -= step * q
        before = now
    return x, -1


def in_a_while(x):
    before, k, total = None, 0, 0.0
    while k < x[0]:
        if k > 0:
            total += before * 2
        before = x[1] + k
        k += 1
    return total


def test_none_that_the_first_iteration_does_not_read():
    A = np.random.default_rng(0).random((6, 6))
    A = A @ A.T + np.eye(6)
    x, k = reactant.jit(read_by_later_iterations)(A, np.arange(6.0))
    plain, iterations = read_by_later_iterations(A, np.arange(6.0))
    np.testing.assert_allclose(x, plain, rtol=1e-9)
    assert k == iterations
    assert reactant.code_hlo(read_by_later_iterations, A, np.arange(6.0), optimize=False).count("stablehlo.while") == 1
    agree(in_a_while, [(np.array([4.0, 2.0]),), (np.array([0.0, 2.0]),), (np.array([1.0, 2.0]),)])


USES = [lambda x, n: x + n, lambda x, n: -n * x, lambda x, n: n.sum() * x, lambda x, n: n[0] * x, lambda x, n: n(x),
        lambda x, n: x < n, lambda x, n: [x for _ in n][0]]


@pytest.mark.parametrize("use", USES)
def test_none_used_in_a_branch_fails_when_it_is_taken(use):
    def used_in_a_branch(x):
        nothing = None
        if x > 0:
            x = use(x, nothing)
        return x
    compiled = reactant.jit(used_in_a_branch)
    assert compiled(-1.0) == -1.0
    with pytest.raises((TypeError, AttributeError), match="'NoneType'"):
        compiled(1.0)


def counted_by_none(x, n):
    count = None
    if x[0] > 0:
        count = n[0]
    total = 0.0
    for k in range(count):
        total += x[k]
    return total


def test_range_of_what_may_be_none():
    assert reactant.jit(counted_by_none)(np.arange(1.0, 5), np.array([3])) == 6.0
    with pytest.raises(TypeError):
        reactant.jit(counted_by_none)(np.arange(-1.0, 5), np.array([3]))


def parts(x, a, b):
    low = high = None
    if a > 0:
        low = int(a)
    if b > 0:
        high = int(b)
    rows = x.reshape(3, 3)
    x[low:2] += 1
    return x[low:high], x[::-1][low:high:2], x[:high].sum(), rows[low:, 1], rows[:2, low:].sum()


def test_bounds_of_slices_may_be_none():
    agree(parts, [(X.copy(), float(a), float(b)) for a in (0, 1) for b in (0, 7)], sized_results=True)


def events(x):
    found, start = [], None
    for i in range(len(x)):
        if x[i] > 0.5 and start is None:
            start = i
        elif x[i] <= 0.5 and start is not None:
            found.append((start, i, x[start:i].max()))
            start = None
    return found


def starts(x):
    found, start = [], None
    for i in range(len(x)):
        if x[i] > 0:
            start = i
        if x[i] < 1:
            found.append(start)
    return len(found)


def test_lists_of_what_is_none_elsewhere():
    agree(events, [(X,), (-X,)], sized_results=True)
    agree(starts, [(np.abs(X) + 0.1,)], sized_results=True)
    with pytest.raises(reactant.UnsupportedError, match="it would take None"):
        reactant.jit(starts)(-np.abs(X))


class Link:
    def __init__(self, value, before):
        self.value, self.before = value, before


def linked(x):
    last = first = None
    for v in x:
        last = Link(v, last)
        if v > 0:
            first = Link(v * 2, first)
    total, count = 0.0, 0
    while last is not None:
        last.value *= 0.5
        total = total * 0.9 + last.value
        last = last.before
    while first is not None:
        count += 1
        total += first.value * count
        first = first.before
    return total, count


def test_linked_lists():
    agree(linked, [(X,), (-X,), (np.abs(X),)])


@dataclasses.dataclass
class Box:
    """Its names are also those of what stands for one that may be None."""
    value: float
    defined: bool = False
    known: float = 0.25
    parts: object = None

    def copy(self):
        return Box(self.value + 1, self.defined)


def box_of(x):
    return Box(x[1], x[0] > 1, x[2], x[2:4] * 2) if x[0] > 0 else None


def attributes_by_our_names(x):
    box = box_of(x)
    if box is None:
        return -1.0, False, 0.0, 0.0
    return box.value * 2, box.defined, box.known, box.copy().value


def attributes_set(x):
    boxes = [Box(v) for v in x]
    best = made = None
    for box in boxes:
        if box.value > 0 and (best is None or box.value < best.value):
            best = box
        if box.value > 1:
            made = Box(box.value, parts=made is not None)
    if best is not None:
        best.value = 7.0
        best.known += 1
    if made is not None:
        made.known *= 2
        made.value -= best.value
    return [(box.value, box.known) for box in boxes], -1.0 if made is None else made.value * made.known


def copies(x):
    box = box_of(x)
    if box is None:
        return -1.0, x[:2], 0.0, x[:2], 0.0, 0.0
    one, other = copy.copy(box), copy.deepcopy(box)
    one.value, other.parts[0] = 9.0, 7.0
    changed = dataclasses.replace(box, known=x[4])
    return box.value, box.parts, one.value, other.parts, changed.known, dataclasses.asdict(box)["value"]


def asked_for(x):
    box, number, name = box_of(x), x[1] if x[0] > 0 else None, np.sin if x[0] > 0 else None
    return (isinstance(box, Box), type(box) is Box, hasattr(box, "value"), getattr(box, "value", -7.0),
            isinstance(number, float), type(number) is type(None), callable(name), number == x[1], number != 3.0,
            number == None, number in (None, 3.0), 0.5 in (number, 0.5), isinstance(box, (SimpleNamespace, Box)))  # noqa: E711


def lists_that_may_be_none(x):
    found = [x[1], x[2]] if x[0] > 0 else None
    if found is None:
        return 0, 0.0
    other = found.copy()
    other.append(3.0)
    return len(other), sum(other * 2) + float(sum(found))


@pytest.mark.parametrize("program", [attributes_by_our_names, attributes_set, copies, asked_for,
                                     lists_that_may_be_none])
def test_objects(program):
    agree(program, [(X,), (X[::-1].copy(),), (-np.abs(X),), (np.abs(X),)])


def set_without_an_object(x):
    box = box_of(x)
    box.value = x[3]
    return box.value


def test_setting_an_attribute_of_none_raises():
    agree(set_without_an_object, [(np.abs(X) + 1,), (-X[1:],), (np.zeros(9),)])


def one_or_the_other(x):
    one, other = (x[0] if x[0] > 0 else None), (x[1] if x[1] > 0 else None)
    first = Link(x[2], None) if x[0] > 0 else None
    return ((one is None) == (other is None), one is other, one == other, one != other, [one, other].count(None),
            (one, other) == (None, None), one or other or 7.0, not one,
            (one and other) is None, 3.0 if first else 4.0)


def test_two_that_may_be_none():
    agree(one_or_the_other, [(np.array(x),) for x in ([1.0, 1, 1], [1.0, -1, 1], [-1.0, 1, 1], [-1.0, -1, 1])])


def used_up(x, n):
    whole, link, total = x[0], Link(x[1], None), 0.0
    for _ in range(n[0]):
        total = total + whole + link.value
        whole = link.value = None
    return total, whole, link.value


def forgotten(x, n):
    left = 0.5
    for _ in range(n[0]):
        left = None
    return left


def test_what_each_iteration_makes_none_is_a_number_before_the_first():
    """It was None without an iteration, too, and a number in the second one."""
    one = reactant.jit(used_up)
    assert one(X, np.array([0])) == (0.0, X[0], X[1])
    assert one(X, np.array([1])) == (X[0] + X[1], None, None)
    with pytest.raises(TypeError, match="None is used as a number"):
        one(X, np.array([2]))
    agree(forgotten, [(X, np.array([n])) for n in (0, 1, 5)])


def as_keys(x):
    number, pair = (int(x[0]) if x[1] > 0 else None), ((int(x[0]), 2) if x[1] > 0 else None)
    texts, counts = {None: 1.0, 1: 2.0, 2: 3.0}, {None: 0, 1: 5}
    counts[number] = counts.get(number, 0) + 1
    return (texts.get(number, 9.0), texts[number], number in texts, number in {None, 3}, pair in {None: 1},
            {None: 1}.get(pair, 4), counts[None], counts[1])


def test_none_is_a_key():
    """What is None on some paths was looked up as something else than None."""
    agree(as_keys, [(np.array(x),) for x in ([1.0, 1.0], [1.0, -1.0], [2.0, -1.0])])


@pytest.mark.parametrize("use", [lambda n: len({n, None}), lambda n: {n: 1}[None], lambda n: len(frozenset([n]))])
def test_a_new_key_that_may_be_none(use):
    with pytest.raises(ControlFlowError, match="None on some paths is put into a set or a dict"):
        reactant.jit(lambda x: use(x[0] if x[1] > 0 else None))(X)


def test_a_bound_that_is_no_integer():
    with pytest.raises(TypeError, match="slice indices must be integers"):
        reactant.jit(lambda x: x[:(x[0] if x[1] > 0 else None)].sum())(np.abs(X))


def backwards(x):
    start, stop = None if x[0] > 0 else 1, None if x[1] > 0 else 0
    total = 0.0
    for j in range(40):
        total += x[2:None if j % 3 < 1 else j % 3 - 1:-1].sum()
    return (x[start::-1].sum(), x[:stop:-1].sum(), x[start:stop:-2].sum(), x[start:stop:2].sum(), total,
            x[start:stop:-1].size)


@pytest.mark.parametrize("signs", [(1, 1), (1, -1), (-1, 1), (-1, -1)])
def test_slices_backwards_of_which_an_end_may_be_none(signs):
    check(backwards, np.array([*signs, 3.0]))
