"""Programs over lists of numbers of which run-time values decide how long they are (`number_lists`): equal, or
refused."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from reactant.errors import ReactantError
from tests.fuzz.number_lists import Writer
from tests.oracle import Endless, ending, module_of


def plain_result(function, x):
    """What Python gives; None where it raises, never ends, or makes very long lists."""
    try:
        with ending():
            found = function(x, 6)
    except (LookupError, ValueError, TypeError, ArithmeticError, NameError, Endless):
        return None
    return None if max(found[:3]) > 3000 else found


def compare(seed: int, directory) -> None:
    text = Writer(seed).program()
    module = module_of(directory / f"number_lists_{seed}.py", text)
    compiled = reactant.jit(module.f, list_capacity=64)
    for number in (0, 1):
        x = np.random.default_rng(number).random(7)
        plain = plain_result(module.f, x.copy())
        if plain is None:
            return
        try:
            ours = compiled(x.copy(), 6)
        except ReactantError:
            return
        np.testing.assert_allclose(ours, plain, rtol=1e-6, atol=1e-8, err_msg=text)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("seed", [3, 10, 14, 20, 70])
def test_random_programs(seed, tmp_path):
    compare(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_many_random_programs(part, tmp_path):
    for seed in range(100 + 50 * part, 150 + 50 * part):
        compare(seed, tmp_path)
