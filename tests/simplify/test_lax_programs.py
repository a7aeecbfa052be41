"""Random JAX programs, optimised by us against `jax.jit`: what the rules do to modules nobody wrote for them.

A failure names the seed: `program(seed, MOVES)` is the function, and the module is printed.
"""
import contextlib

import jax
import pytest

import reactant
from tests.simplify.lax_moves import MOVES
from tests.simplify.lax_programs import Growing, NotHere, arguments, difference, program

PLAIN = {"xla_disable_hlo_passes": "fusion,algsimp"}
"""As the program says: in a fusion, XLA:CPU lets an update of a reshaped array write over what it still reads
(legalize/reshaped_updates.py), and its simplifier makes `exp(a)**b` an `exp(a * b)`, NaN for 1**inf. Without it, the
sign of some zeros is another one, so what all of XLA gives will do, too."""
FEW = 5
PARTS, EACH = 40, 100


@pytest.fixture(autouse=True)
def x64():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def agree(seed: int) -> None:
    function, tolerances = program(seed, MOVES)
    given = arguments(seed, False)
    plainly, theirs = jax.jit(function, compiler_options=PLAIN), jax.jit(function)
    ours = reactant.jit(function, frontend="jax")
    for special in (False, True):
        arrays = arguments(seed, True) if special else given
        for k, (want, got) in enumerate(zip(plainly(*arrays), ours(*arrays), strict=True)):
            found = difference(want, got, tolerances[k])
            found = found and difference(theirs(*arrays)[k], got, tolerances[k])
            assert not found, f"seed {seed}, special numbers {special}, result {k}: {found}\n" \
                              f"{jax.jit(function).lower(*given).as_text()}"


@pytest.mark.sampled(100)
@pytest.mark.parametrize("seed", range(FEW))
def test_few_programs(seed):
    agree(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_many_programs(part):
    for seed in range(1000 + part * EACH, 1000 + (part + 1) * EACH):
        agree(seed)


def test_every_move_can_be_made():
    """None of them is refused by JAX whatever it works on."""
    made = set()

    def grown(places, *given):
        growing = Growing(0, places, given)
        start = list(growing.values)
        for move in MOVES * 8:
            growing.values = list(start)
            with contextlib.suppress(TypeError, ValueError, OverflowError, NotHere):
                if move not in made:
                    move(growing)
            if len(growing.values) > len(start):
                made.add(move)
        return start[0].array

    for seed in range(3):
        jax.eval_shape(grown, *arguments(seed, False))
    assert [move.__name__ for move in MOVES if move not in made] == []
