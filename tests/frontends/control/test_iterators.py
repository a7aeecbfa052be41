"""Iterators and generators that loops take from, where run-time values decide in which iteration the loop ends."""
import itertools

import numpy as np
import pytest

import reactant
from reactant.errors import ControlFlowError, UnsupportedError
from tests.frontends.agreement import agree

X = np.array([0.1, -0.4, 0.7, 0.2, 1.5, -0.3, 0.9, -2.0, 0.6, 0.8])
CASES = [(X, 0.5), (X, -1.0), (X, 9.0)]


def rest_of_iter(x, t):
    it, s = iter(x), 0.0
    for v in it:
        if v > t:
            break
        s += v
    return s, sum(1 for _ in it), next(it, -7.0)


def rest_of_enumerate(x, t):
    e, n = enumerate(x), 0
    for _, v in e:
        if v > t:
            break
    for j, _ in e:
        n += j
    return n


def rest_of_what_zip_takes_from(x, t):
    z, k = zip(x, x[1:], strict=False), 0
    for i, (a, b) in enumerate(z):
        if a + b > t:
            break
        k += i
    for _ in z:
        k += 1000
    return k


def three_loops(x, t):
    it, k = iter(x), 0
    for v in it:
        k += 1
        if v > t:
            break
    for v in it:
        k += 100
        if v < -t:
            break
    for _ in it:
        k += 10000
    return k


def known_ends(x, t):
    e, s = enumerate(x), 0.0
    for i, v in e:
        if i >= 3:
            break
        s += v
    for i, v in e:
        s += v * i
    words = iter(["1", "2", "#", "3"])
    for word in words:
        if word == "#":
            break
    back = reversed(x)
    for v in back:
        s += v
    for _ in back:
        s += 100.0
    return s, sum(1 for _ in e), len(list(words)), len(list(zip(x, x, strict=True))), t


def body_takes_more(x, t):
    it, s = iter(x), 0.0
    for a in it:
        s += a * next(it)
    return s + t


def next_in_branches_and_loops(x, t):
    it = iter(x)
    s = next(it)
    if s > t:
        s += next(it)
    while (v := next(it, None)) is not None:
        if v > t:
            break
        s -= v
    return s, next(it, -1.0)


def until_exhausted(x, t):
    it, s = iter(x), 0.0
    try:
        while True:
            v = next(it)
            if v > t:
                continue
            s += v
    except StopIteration:
        s += 1000
    return s


def used_in_a_branch(x, t):
    e, s = enumerate(x), 0.0
    if x[0] > t:
        for _, v in e:
            s += v
    for i, v in e:
        s -= v * i
    return s


def generator_counts(x, t):
    n = 0

    def given():
        nonlocal n
        for v in x:
            n += 1
            yield v

    for v in given():
        if v > t:
            break
    return n


def generator_writes(x, t):
    y = np.zeros(len(x))

    def given():
        for i in range(len(x)):
            y[i] = x[i]
            yield x[i]

    for v in given():
        if v > t:
            break
    return y


def generator_raises(x, t):
    def given():
        for v in x:
            yield 1 / float(v)
        raise ValueError("nothing found")

    for v in given():
        if v > t:
            return v
    return -1.0


def generator_with_a_window(x, t):
    def sums():
        window = []
        for v in x:
            window.append(v)
            if len(window) > 3:
                window.pop(0)
            yield sum(window)

    k, s = 0, 0.0
    for s in sums():
        if s > t:
            break
        k += 1
    return k, s


def object_counts(x, t):
    class Table:
        def __init__(self):
            self.visits = 0

        def __iter__(self):
            for v in x:
                self.visits += 1
                yield v

    table = Table()
    for v in table:
        if v > t:
            break
    return table.visits


def any_and_all_stop(x, t):
    n = 0

    def above(v):
        nonlocal n
        n += 1
        return v > t

    found = any(above(v) for v in x)
    first = n
    every = all(above(v) for v in x if v != 0.7)
    some = any(map(above, x[:3]))
    return found, every, some, first, n


def any_before_a_division_by_zero(x, t):
    y = x.copy()
    y[5] = 0
    return any(1 / float(v) > t for v in y)


@pytest.mark.parametrize("program", [
    rest_of_iter, rest_of_enumerate, rest_of_what_zip_takes_from, three_loops, known_ends, body_takes_more,
    next_in_branches_and_loops, until_exhausted, used_in_a_branch, generator_counts, generator_writes,
    generator_raises, generator_with_a_window, object_counts, any_and_all_stop, any_before_a_division_by_zero])
def test_agrees(program):
    agree(program, CASES)


def generator_left(x, t):
    g = (2 * v for v in x)
    for v in g:
        if v > t:
            break
    return sum(g)


def list_left(x, t):
    values = iter([*x])
    for v in values:
        if v > t:
            break
    return len(list(values))


def generator_prints(x, t):
    def given():
        for v in x:
            print(v)
            yield v

    for v in given():
        if v > t:
            break
    return v


@pytest.mark.slow
def test_a_generator_that_prints(capsys):
    for x, t in CASES:
        expected = generator_prints(x, t)
        said = capsys.readouterr().out
        assert reactant.jit(generator_prints)(x, t) == expected and capsys.readouterr().out == said


class Reader:
    def __init__(self, x):
        self.x, self.k = x, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.k == len(self.x):
            raise StopIteration
        self.k += 1
        return self.x[self.k - 1]


def reader_left(x, t):
    reader = Reader(x)
    for v in reader:
        if v > t:
            break
    return reader.k


@pytest.mark.parametrize(("program", "text"), [
    (generator_left, "Where this iterator stands is known only at run time"),
    (list_left, "Where this iterator stands is known only at run time"),
])
def test_refused(program, text):
    with pytest.raises(ControlFlowError, match=text):
        reactant.jit(program)(*CASES[0])


def first_of_a_dict(x, t):
    table = {"a": [x[0]], "bc": [x[1], t], "d": []}
    return max(table, key=lambda k: len(table[k])), len(min(table)), sorted(table, key=len)[0] == "a"


def smallest_with_a_condition(x, t):
    return min((k for k, v in enumerate(x) if v > t - 2), key=lambda k: x[k])


@pytest.mark.parametrize("program", [first_of_a_dict, smallest_with_a_condition, reader_left])
def test_what_functions_take(program):
    agree(program, CASES[:2])


def counted(x, t):
    for k in itertools.count():
        x = 0.5 * x
        if np.abs(x).max() < abs(t) + 0.01:
            return x, k


def counted_down(x, t):
    s = 0.0
    for k in itertools.count(5, -2):
        s += k * t
        if abs(s) > 100:
            break
    return s, k


def counted_beside(x, t):
    s, c = 0.0, itertools.count(3)
    for (i, v), j in zip(enumerate(x), itertools.count(3)):
        s += v * i * j
        if s > t:
            s += next(c)

    return s, next(c), [a * b for a, b in zip(range(3), itertools.repeat(t))], list(
        itertools.islice(itertools.count(10), 3)), list(map(pow, [t, t], itertools.repeat(2)))


def repeated(x, t):
    a = np.zeros(3)
    for v in itertools.repeat(a, 40):
        v += t
    return a, list(itertools.repeat(t, 2))


def counted_until_an_error(x, t):
    try:
        for _ in itertools.count():
            t = 0.5 * t
            if abs(t) < 1e-3:
                raise ValueError("small")
    except ValueError:
        pass
    return t


@pytest.mark.parametrize("program", [counted, counted_down, counted_beside, repeated, counted_until_an_error])
def test_count_and_repeat(program):
    agree(program, CASES)


def test_loops_over_count_end_with_a_failed_check():
    def halved(t):
        for _ in itertools.count():
            t = 0.5 * t
            if t < 1e-3:
                raise ValueError("small")

    with pytest.raises(ValueError, match="small"):
        reactant.jit(halved)(1.0)


def test_endless_generators_are_refused():
    def numbers():
        k = 0
        while True:
            step = yield k
            k += step or 1

    def halved(t):
        for k in numbers():
            t = 0.5 * t
            if t < 1e-3:
                return k

    with pytest.raises(ControlFlowError, match="with `while`"):
        reactant.jit(halved, max_unroll=50)(1.0)


def test_flat_is_no_result():
    """What stands for it while tracing was returned."""
    with pytest.raises(UnsupportedError, match="returns a generator, an iterator"):
        reactant.jit(lambda x: x.flat)(np.ones(3))
