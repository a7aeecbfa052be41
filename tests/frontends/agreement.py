"""What the tests of control flow share: arguments, an object with methods, and the comparison with plain Python."""
from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest

import reactant
from tests.oracle import assert_same

UP, DOWN, ZERO = np.array([1.0, 2.0, 3.0]), np.array([-1.0, -2.0, 4.0]), np.zeros(3)
MANY = [(UP,), (DOWN,), (ZERO,)]


def traced_counts():
    return [(np.int64(n),) for n in (0, 1, 2, 3, 9)]


@dataclasses.dataclass
class State:
    position: object
    energy: float = 0.0

    def kick(self, x):
        if x[0] > 0:
            self.position = self.position + x
            self.energy += 1.0
        else:
            self.energy = -1.0
        return self


def agree(program, cases, **options):
    """One compiled function; each case gives what plain Python gives, in results, arguments and exceptions."""
    compiled = reactant.jit(program, **options)
    for case in cases:
        mine, theirs = copy.deepcopy(case), copy.deepcopy(case)
        try:
            with np.errstate(all="ignore"):
                plain = program(*mine)
        except Exception as error:
            with pytest.raises(type(error)) as caught:
                compiled(*theirs)
            assert str(caught.value).split("\n")[0] == str(error).split("\n")[0]
            continue
        assert_same(plain, compiled(*theirs))
        assert_same(mine, theirs, path="arguments")
    return compiled
