"""Arrays of run-time size, their parts and what is written into them: NumPy's results and arguments, or a refusal."""
import numpy as np
import pytest

import reactant
from reactant.errors import ReactantError
from tests.fuzz.run_time_sizes import Program
from tests.support import module_of


def compare(seed, folder):
    """Whether the program compiles, and gives for two counts what NumPy gives."""
    text = Program(seed).source()
    module = module_of(folder / f"sizes_{seed}.py", text)
    compiled = reactant.jit(module.f, traced_argnames=("n",))
    for count in (3, 6):
        x, y = (np.random.default_rng(seed + k).normal(size=8).round(2) * 2 for k in (0, 1))
        mine, theirs = (x.copy(), y.copy()), (x, y)
        try:
            with np.errstate(all="ignore"):
                wanted = module.f(*theirs, count, 0.75)
        except (ValueError, IndexError):
            continue
        try:
            got = compiled(*mine, count, 0.75)
        except ReactantError:
            return False
        except ValueError as error:
            assert "run-time lengths differ" in str(error), text      # of parts of one element, see docs/arrays.md
            return False
        for a, b in zip((*wanted, *theirs), (*got, *mine), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-10, atol=1e-12, err_msg=text)
    return True


def test_parts_of_run_time_size(tmp_path):
    assert sum(compare(seed, tmp_path) for seed in range(25)) >= 8


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_many_parts_of_run_time_size(tmp_path, part):
    assert sum(compare(seed, tmp_path) for seed in range(1000 + 100 * part, 1100 + 100 * part)) >= 25
