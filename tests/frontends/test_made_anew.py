"""Lists, dicts and sets of elements that hold objects which each iteration makes: sets, texts, iterators, functions."""
import numpy as np
import pytest

from tests.oracle import check

X = np.linspace(0.0, 1.0, 300)
ITERATIONS = len(X)


def sets(x):
    found, total = [], 0.0
    for i in range(ITERATIONS):
        total = np.sin(total) + x[i]
        found.append(({1}, total))
    found[0][0].add(7)
    return [len(held) for held, _ in found], found[-1][1]


def sets_of_some_iterations(x):
    found, total = [], 0.0
    for i in range(ITERATIONS):
        total = np.sin(total) + x[i]
        if i % 3 == 0:
            found.append(({1}, total))
    found[0][0].add(7)
    return [len(held) for held, _ in found], found[-1][1]


def bytes_that_change(x):
    found = [(bytearray(b"a"), x[i]) for i in range(ITERATIONS)]
    found[0][0].append(3)
    return [len(held) for held, _ in found]


def functions(x):
    found = [(lambda j=i: x[j], x[i]) for i in range(ITERATIONS)]
    return found[3][0](), found[-1][0]()


def iterators(x):
    found = [(iter([1, j]), x[j]) for j in range(ITERATIONS)]
    return next(found[4][0]), next(found[5][0]), next(found[5][0])


class Numbers(list):
    pass


def objects(x):
    found = []
    for i in range(ITERATIONS):
        found.append((Numbers([i]), x[i]))
    found[0][0].append(3)
    return [len(held) for held, _ in found], found[5][0][0]


def texts(x):
    return [(f"k{i}", x[i]) for i in range(ITERATIONS)], [{"name": str(i), "value": x[i]} for i in range(ITERATIONS)]


def texts_in_sets(x):
    return [({f"k{i}"}, x[i]) for i in range(ITERATIONS)]


def dict_of_texts(x):
    held = {f"k{i}": x[i] for i in range(ITERATIONS)}
    return held, len(held), sum(held.values())


def dict_of_formats(x):
    listed = dict([("k" + str(i), x[i]) for i in range(ITERATIONS)])
    return listed, {str(i): {"value": x[i], "place": i} for i in range(ITERATIONS)}


def dict_of_pairs(x):
    return {(i, i + 1): x[i] for i in range(ITERATIONS)}, {("a", i): x[i] for i in range(ITERATIONS) if i % 2}


def dict_of_numbers(x):
    return {i: np.sin(x[i]) for i in range(ITERATIONS)}


def set_of_pairs(x):
    return len({("a", i % 7) for i in range(ITERATIONS)}) * x


@pytest.mark.sampled(100)
@pytest.mark.parametrize("program", [
    sets, sets_of_some_iterations, bytes_that_change, functions, iterators, objects, texts, texts_in_sets,
                                     dict_of_texts,
    dict_of_formats, dict_of_pairs, dict_of_numbers, set_of_pairs])
def test_each_iteration_makes_its_own(program):
    check(program, X)


def keys_that_the_run_knows(x):
    return len({(int(v * 8), i % 7) for i, v in enumerate(x)}) * x


@pytest.mark.slow
def test_long_chains_of_conditions_are_evaluated():
    check(keys_that_the_run_knows, X[:100])
