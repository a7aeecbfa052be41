"""Short programs of lists, dicts, objects and arrays (`short_programs`): as Python, or refused."""
import warnings

import numpy as np
import pytest

import reactant
from reactant.errors import ReactantError
from tests.fuzz.short_programs import Writer
from tests.fuzz.test_number_lists import plain_result
from tests.oracle import module_of


def compare(seed: int, directory) -> str:
    """What became of a program: "equal", "refused", or "none" where Python raises, or never ends."""
    text = Writer(seed).program()
    function = module_of(directory / f"short_{seed}.py", text).f
    compiled = reactant.jit(function, list_capacity=64)
    for number in range(3):
        mine, theirs = (np.random.default_rng(number).random(5) for _ in range(2))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            plain = plain_result(function, theirs)
        if plain is None:
            return "none"
        try:
            ours = compiled(mine, 6)
        except ReactantError:
            return "refused"
        np.testing.assert_allclose(ours, plain, rtol=1e-7, atol=1e-9, err_msg=text)
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, err_msg=text)
    return "equal"


def test_random_programs(tmp_path):
    assert [compare(seed, tmp_path) for seed in (1, 5)].count("equal") >= 1


@pytest.mark.slow
@pytest.mark.parametrize("part", range(40))
def test_many_random_programs(part, tmp_path):
    assert [compare(seed, tmp_path) for seed in range(100 * part, 100 * part + 100)].count("equal") >= 30
