"""Windows that are said to be apart never meet: every iteration against every other."""
import random
from itertools import product

import pytest

from reactant.batching.accesses import EARLIER, OTHER, SAME, Affine, Window, apart

RELATED = {SAME: int.__eq__, EARLIER: int.__lt__, OTHER: int.__ne__}


def window(r, dimensions):
    starts = tuple(Affine(r.randint(0, 12), r.choice((-3, -2, -1, 0, 1, 1, 2, 3))) if r.random() < 0.95 else None
                   for _ in range(dimensions))
    return Window(starts, tuple(r.randint(1, 4) for _ in starts), (99,) * dimensions)


def meet(first, one, second, other):
    """Whether the window of an iteration has a place in common with one of another; None may start anywhere."""
    for a, n, b, m in zip(first.starts, first.sizes, second.starts, second.sizes, strict=True):
        if a is not None and b is not None:
            x, y = a.offset + a.step * one, b.offset + b.step * other
            if x + n <= y or y + m <= x:
                return False
    return True


@pytest.mark.parametrize("relation", RELATED)
def test_apart_is_sound_and_finds_most(relation):
    r = random.Random(3)
    found = possible = 0
    for _ in range(4000):
        dimensions, count = r.choice((1, 1, 2)), r.randint(2, 9)
        first, second = window(r, dimensions), window(r, dimensions)
        meets = any(meet(first, u, second, t) for t, u in product(range(count), repeat=2) if RELATED[relation](u, t))
        said = apart(first, second, count, relation)
        assert not (said and meets), (first, second, count)
        found, possible = found + said, possible + (not meets)
    assert found > 0.9 * possible
