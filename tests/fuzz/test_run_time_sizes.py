"""Arrays of run-time size, their parts and what is written into them: NumPy's results and arguments, or a refusal."""
import warnings

import numpy as np
import pytest

import reactant
from reactant.errors import ReactantError
from tests.fuzz import run_time_loops, run_time_matrices, run_time_sizes
from tests.oracle import module_of


def compare(text, name, shapes, counts, folder):
    """Whether the program compiles, and gives for some counts what NumPy gives."""
    module = module_of(folder / f"{name}.py", text)
    compiled = reactant.jit(module.f, traced_argnames=("n", "m")[:len(counts[0])])
    for count in counts:
        rng = np.random.default_rng(len(text))
        theirs = [rng.normal(size=shape).round(2) * 2 for shape in shapes]
        mine = [a.copy() for a in theirs]
        wanted, raised = None, False
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                wanted = module.f(*theirs, *count, 0.75)
        except (ValueError, IndexError):
            raised = True
        try:
            got = compiled(*mine, *count, 0.75)
        except ReactantError:
            return False
        except (ValueError, IndexError) as error:
            assert raised or "run-time lengths differ" in str(error), text    # of parts of one element: docs/arrays.md
            continue
        assert not raised, text
        for a, b in zip((*wanted, *theirs), (*got, *mine), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-8, atol=1e-10, err_msg=text)
    return True


def vectors(seed, folder):
    return compare(run_time_sizes.Program(seed).source(), f"vectors_{seed}", (8, 8), ((3,), (6,)), folder)


def matrices(seed, folder):
    return compare(run_time_matrices.Program(seed).source(), f"matrices_{seed}", ((5, 5), (5, 5), 5),
                   ((3, 1), (4, 2), (2, 0), (1, 4)), folder)


def loops(seed, folder):
    return compare(run_time_loops.Program(seed).source(), f"loops_{seed}", (8, 8), ((3,), (6,)), folder)


@pytest.mark.slow
def test_parts_of_run_time_size(tmp_path):
    assert sum(vectors(seed, tmp_path) for seed in range(25)) >= 8


@pytest.mark.slow
def test_parts_of_matrices(tmp_path):
    assert sum(matrices(seed, tmp_path) for seed in range(7)) >= 5


def test_loops_over_parts(tmp_path):
    assert sum(loops(seed, tmp_path) for seed in range(5)) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_many_loops_over_parts(tmp_path, part):
    assert sum(loops(seed, tmp_path) for seed in range(1000 + 25 * part, 1025 + 25 * part)) >= 12


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_many_parts_of_run_time_size(tmp_path, part):
    assert sum(vectors(seed, tmp_path) for seed in range(1000 + 100 * part, 1100 + 100 * part)) >= 25


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_many_parts_of_matrices(tmp_path, part):
    assert sum(matrices(seed, tmp_path) for seed in range(1000 + 50 * part, 1050 + 50 * part)) >= 40
