"""Programs over lists, dicts and objects (`containers`), compiled and by Python: equal, or refused."""
from __future__ import annotations

import jax
import numpy as np
import pytest

import reactant
from reactant.errors import ReactantError
from tests.fuzz.containers import Writer
from tests.oracle import Endless, ending, module_of

MOST_OPERATIONS = 10_000
"""Above, XLA takes minutes and 20 GB: lists of which run-time values decide which is which, in loops that are
unrolled."""


def compare(seed: int, directory) -> None:
    text = Writer(seed).program()
    module = module_of(directory / f"containers_{seed}.py", text)

    def arguments():
        rng = np.random.default_rng(1)
        return list(rng.random((3, 4))), list(rng.random((3, 4)))
    for flag, mode, n in ((False, 1, 20), (True, 2, 6)):
        try:
            with np.errstate(all="ignore"), ending():
                plain = jax.tree.leaves(module.f(*arguments(), n, flag, mode))
        except (ValueError, TypeError, IndexError, AttributeError, Endless):
            continue            # the program is none
        if not all(np.all(np.abs(v) < 1e6) for v in plain):
            continue
        try:
            function = reactant.jit(module.f)
            if sum(function.lower(*arguments(), n, flag, mode).operations().values()) > MOST_OPERATIONS:
                continue
            compiled = jax.tree.leaves(function(*arguments(), n, flag, mode))
        except ReactantError:
            continue
        assert len(compiled) == len(plain)
        for ours, theirs in zip(compiled, plain, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8, err_msg=text)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed, tmp_path):
    compare(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(40))
def test_many_random_programs(part, tmp_path):
    for seed in range(100 + 50 * part, 150 + 50 * part):
        compare(seed, tmp_path)
