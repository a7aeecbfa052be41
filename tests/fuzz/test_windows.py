"""Loops over windows with run-time ends (`windows`), compiled and by NumPy: equal, the same exception, or refused."""
from __future__ import annotations

import warnings

import numpy as np
import pytest

import reactant
from reactant.errors import ReactantError
from tests.fuzz.windows import Writer
from tests.oracle import module_of


def compare(seed: int, directory, **options) -> None:
    writer = Writer(seed)
    text = writer.program()
    module, arguments = module_of(directory / f"windows_{seed}.py", text), writer.arguments()

    def copies():
        return [a.copy() for a in arguments]
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plain = module.f(*copies())
    except (ValueError, IndexError) as error:
        with pytest.raises((type(error), ReactantError)):
            reactant.jit(module.f, **options)(*copies())
        return
    try:
        compiled = reactant.jit(module.f, **options)(*copies())
    except ReactantError:
        return
    if not all(np.all(np.abs(np.nan_to_num(v)) < 1e8) for v in plain):
        return              # differences of numbers that have no digits left
    for ours, theirs in zip(compiled, plain, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-7, err_msg=text)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", range(16))
def test_random_programs(seed, tmp_path):
    compare(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("native", ["auto", "always"])
@pytest.mark.parametrize("part", range(20))
def test_many_random_programs(part, native, tmp_path):
    for seed in range(100 + 50 * part, 150 + 50 * part):
        compare(seed, tmp_path, native=native)
