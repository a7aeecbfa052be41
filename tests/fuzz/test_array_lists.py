"""Programs that append arrays to lists (`array_lists`): results and arguments as NumPy's, or refused."""
import numpy as np
import pytest

import reactant
from reactant.errors import ReactantError
from tests.amounts import few
from tests.fuzz.array_lists import Writer
from tests.oracle import flat, module_of


def arguments():
    return np.array([0.1, 0.45, 0.7, 1.3]), np.array([1.2, 0.4, -0.3, -0.9]), np.full(4, 0.31)


def compare(seed: int, directory) -> str:
    """What became of a program: "equal", "refused", or "none" where NumPy raises."""
    text = Writer(seed).program()
    function = module_of(directory / f"array_lists_{seed}.py", text).f
    theirs, mine = arguments(), arguments()
    try:
        wanted = flat(function(*theirs, 5))
    except (IndexError, TypeError):
        return "none"
    try:
        got = flat(reactant.jit(function, unroll_limit=0)(*mine, 5))
    except ReactantError:
        return "refused"
    assert len(got) == len(wanted), text
    for ours, plain in zip((*got, *mine), (*wanted, *theirs), strict=True):
        np.testing.assert_allclose(ours, plain, rtol=1e-9, atol=1e-12, err_msg=text)
    return "equal"


def test_random_programs(tmp_path):
    count = few(8, 24)
    assert [compare(seed, tmp_path) for seed in range(count)].count("equal") >= count // 2


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_many_random_programs(part, tmp_path):
    assert [compare(seed, tmp_path) for seed in range(100 + 100 * part, 200 + 100 * part)].count("equal") >= 50
