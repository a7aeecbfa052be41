"""Random keys of slices, integers, arrays and masks, known and known only at run time: reads, writes, updates."""
from __future__ import annotations

import random
import warnings
from collections.abc import Callable

import numpy as np
import pytest

from reactant.errors import UnsupportedError
from tests.oracle import check

KINDS = ["slice", "integer", "array", "full", "mask", "run-time array", "run-time integer", "run-time mask",
         "run-time slice"]


class Key:
    """A random key for an array of `shape`. `arrays` are the run-time values it needs, in order."""

    def __init__(self, choose: random.Random, shape: tuple[int, ...]):
        self.choose, self.numbers = choose, np.random.default_rng(choose.randrange(2**32))
        self.arrays: list = []
        self.items = [self._item(n) for n in shape[:choose.randint(1, len(shape))]]
        for extra in (None, Ellipsis):
            if choose.random() < 0.2:
                self.items.insert(choose.randint(0, len(self.items)), lambda given, extra=extra: extra)

    def __call__(self, given: tuple) -> tuple:
        return tuple(item(given) for item in self.items)

    def _run_time(self, value: object) -> int:
        self.arrays.append(value)
        return len(self.arrays) - 1

    def _item(self, n: int) -> Callable:
        kind, choose = self.choose.choice(KINDS), self.choose
        bounds = [None, *range(-n - 1, n + 2)]
        index = self.numbers.integers(-n, n, choose.choice([(), (2,), (1,), (3, 1)]))
        if kind == "slice":
            known = slice(choose.choice(bounds), choose.choice(bounds), choose.choice([None, 1, 2, -1]))
        elif kind == "integer":
            known = int(index.flat[0])
        elif kind == "array":
            known = index
        elif kind == "mask":
            known = self.numbers.integers(0, 2, n).astype(bool)
        elif kind == "full":
            known = slice(None)
        elif kind == "run-time mask":
            k = self._run_time(self.numbers.normal(size=n))
            return lambda given: given[k] > 0
        elif kind == "run-time slice":
            k, form = self._run_time(np.int64(choose.choice(bounds[1:]))), choose.randrange(3)
            return lambda given: (slice(given[k], None), slice(None, given[k]), slice(given[k], given[k] + 2))[form]
        else:
            k = self._run_time(index if kind == "run-time array" and index.ndim else np.int64(index.flat[0]))
            return lambda given: given[k]
        return lambda given: known


def reduce(x, key, given):
    found = x[key(given)]
    return found.sum(), (found * 2).sum(), found.size


def fill(x, key, given):
    x[key(given)] = 5.


def update(x, key, given):
    x[key(given)] += 1.5


def copy_from_another(x, key, given):
    y = x * 3 + 1
    x[key(given)] = y[key(given)]


def run(seed: int) -> None:
    """One program; keys that mix what cannot be mixed are refused by name."""
    choose = random.Random(seed)
    shape = tuple(choose.randint(1, 4) for _ in range(choose.randint(1, 3)))
    key, work = Key(choose, shape), choose.choice([reduce, fill, update, copy_from_another])
    x = np.random.default_rng(seed).normal(size=shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            check(lambda x, *given: work(x, key, given), x, *key.arrays, rtol=1e-10, atol=1e-12, optimize=False)
        except UnsupportedError as error:
            assert "together with" in str(error) or "with other indices" in str(error)
        except ValueError as error:     # a mask that selects one element beside an index array of several
            assert "a length that is 1 at run time is not broadcast" in str(error)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("start", range(0, 100, 10))
def test_random_keys(start):
    for seed in range(start, start + 10):
        run(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 4000, 300))
def test_many_random_keys(start):
    for seed in range(start, start + 300):
        run(seed)
