"""Random kernels: cut at the barriers, as coroutines, and interpreted thread by thread."""
from __future__ import annotations

import numpy as np
import pytest

from reactant import native
from reactant.ir import context, modules
from reactant.kernels.form import interpret
from reactant.native import fission, place
from tests.native.kernel_generator import Generator

BLOCKS = [(32, 1, 1), (8, 4, 1), (20, 1, 1), (8, 3, 2), (64, 1, 1), (1, 1, 1), (48, 1, 1)]


def check(seed: int, warps: bool) -> bool:
    """Compare; whether the kernel was cut."""
    block = BLOCKS[seed % len(BLOCKS)]
    blocks = 3
    text = Generator(seed, block, blocks, warps).kernel(8)
    total = blocks * block[0] * block[1] * block[2]
    generator = np.random.default_rng(seed)
    given = generator.integers(-50, 50, total).astype(np.int32)
    n = int(generator.integers(0, 3))

    def arrays():
        return [given.copy(), np.zeros(total, np.int32), np.zeros(8, np.int32)]
    with context.building():
        module = modules.parse(text)
        cut = fission.possible(place.launch_of(module.body.operations[0].operation, None, None))
        expected = arrays()
        interpret.run(module, [*expected, n])
    for coroutines in (False, True):
        result = arrays()
        native.compile_kernel(text, "kernel", coroutines=coroutines)(*result, n)
        for got, wanted in zip(result, expected, strict=True):
            np.testing.assert_array_equal(got, wanted, err_msg=f"seed {seed}, coroutines {coroutines}, cut {cut}")
    return cut


@pytest.mark.slow
@pytest.mark.parametrize("warps", [False, True])
def test_random_kernels(warps):
    cut = [check(seed, warps) for seed in range(4)]
    assert sum(cut) >= 1, "the fuzz suite no longer reaches the cutter"


def both_ways(seed: int) -> bool:
    """Compare the two native ways where lanes of a warp part; whether the kernel was cut."""
    block = BLOCKS[seed % len(BLOCKS)]
    text = Generator(seed, block, 2, True, parted=True).kernel(8)
    total = 2 * block[0] * block[1] * block[2]
    given = np.random.default_rng(seed).integers(-50, 50, total).astype(np.int32)
    with context.building():
        module = modules.parse(text)
        if not fission.possible(place.launch_of(module.body.operations[0].operation, None, None)):
            return False
    results = []
    for coroutines in (False, True):
        results.append([given.copy(), np.zeros(total, np.int32), np.zeros(8, np.int32)])
        native.compile_kernel(text, "kernel", coroutines=coroutines)(*results[-1], 1)
    for got, wanted in zip(*results, strict=True):
        np.testing.assert_array_equal(got, wanted, err_msg=f"seed {seed}")
    return True


@pytest.mark.slow
def test_warps_that_part():
    assert sum(both_ways(seed) for seed in range(6)) >= 3


def in_loops(seed: int) -> None:
    """Compare coroutines with the interpreter where lanes of a warp part, in loops that some leave earlier, too."""
    block = BLOCKS[seed % len(BLOCKS)]
    text = Generator(seed, block, 2, True, parted=True, loops=True).kernel(8)
    total = 2 * block[0] * block[1] * block[2]
    given = np.random.default_rng(seed).integers(-50, 50, total).astype(np.int32)
    expected, results = ([given.copy(), np.zeros(total, np.int32), np.zeros(8, np.int32)] for _ in range(2))
    with context.building():
        interpret.run(modules.parse(text), [*expected, 1])
    native.compile_kernel(text, "kernel", coroutines=True)(*results, 1)
    for got, wanted in zip(results, expected, strict=True):
        np.testing.assert_array_equal(got, wanted, err_msg=f"seed {seed}")


def test_loops_that_lanes_leave():
    for seed in range(6):
        in_loops(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_many_random_kernels(part):
    for seed in range(1000 + 100 * part, 1100 + 100 * part):
        check(seed, seed % 2 == 0)
        both_ways(seed)
        in_loops(seed)
