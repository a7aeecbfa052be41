"""Loops whose vectors get shorter or longer in each iteration: NumPy's results and arguments, as loops and unrolled."""
import numpy as np
import pytest

import reactant
from reactant.errors import ReactantError
from tests.amounts import few
from tests.fuzz.iteration_sizes import Program
from tests.oracle import module_of


def compare(seed, folder):
    """Whether it became a loop; where NumPy raises, so must the compiled program."""
    text = Program(seed).source()
    function = module_of(folder / f"iterations_{seed}.py", text).f
    rng, count = np.random.default_rng(seed), int(6 + seed % 3)
    theirs = [rng.normal(size=20).round(2) * 2, rng.normal(size=8).round(2)]
    arguments, wanted = [a.copy() for a in theirs], None
    try:
        with np.errstate(all="ignore"):
            wanted = function(*theirs, count, 0.75)
    except (ValueError, IndexError):
        pass
    for limit in (0, 10**6):
        mine = [a.copy() for a in arguments]
        compiled = reactant.jit(function, unroll_limit=limit)
        try:
            got = compiled(*mine, count, 0.75)
        except ReactantError:
            if limit:
                raise
            return False
        except (ValueError, IndexError) as error:
            assert wanted is None or "a length that is 1" in str(error), text       # docs/arrays.md
            return False
        assert wanted is not None, text
        for a, b in zip((*wanted, *theirs), (*got, *mine), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-8, atol=1e-10, err_msg=text)
        if not limit:
            looped = "stablehlo.while" in compiled.lower(*arguments, count, 0.75).operations(optimized=False)
    return looped


def test_vectors(tmp_path):
    count = few(6, 25)
    assert sum(compare(seed, tmp_path) for seed in range(count)) >= 4 * count // 5


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1400, 20))
def test_many_vectors(first, tmp_path):
    assert sum(compare(seed, tmp_path) for seed in range(first, first + 20)) >= 10
