"""Programs that change one of several objects or lists (`chosen_objects`): results as Python's, or refused."""
import numpy as np
import pytest

import reactant
from reactant.errors import ReactantError
from tests.amounts import few
from tests.fuzz.chosen_objects import Writer
from tests.oracle import flat, module_of

X = np.array([0.9, 0.2, 0.7, 0.4, 0.65, 0.3])
PLACES = (np.array([0, 1, 2, 3]), np.array([2, 2, 1, 0]), np.array([3, 1, 3, 3]))


def compare(seed: int, directory) -> str:
    """What became of a program: "equal", "refused", or "none" where Python raises."""
    text = Writer(seed).program()
    function = module_of(directory / f"chosen_objects_{seed}.py", text).f
    try:
        wanted = [flat(function(X.copy(), k)) for k in PLACES]
    except (IndexError, ValueError):
        return "none"
    try:
        compiled = reactant.jit(function)
        got = [flat(compiled(X.copy(), k)) for k in PLACES]
    except ReactantError:
        return "refused"
    for ours, plain in zip(got, wanted, strict=True):
        assert len(ours) == len(plain), text
        for one, other in zip(ours, plain, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12, err_msg=text)
    return "equal"


def test_random_programs(tmp_path):
    count = few(2, 5)
    assert [compare(seed, tmp_path) for seed in range(count)].count("equal") >= count // 2


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_many_random_programs(part, tmp_path):
    assert [compare(seed, tmp_path) for seed in range(100 + 100 * part, 200 + 100 * part)].count("equal") >= 30
