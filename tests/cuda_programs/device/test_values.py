"""Groups of threads as vectors: random kernels whose threads do not meet, against the same functions of the host."""
import pytest

from reactant.cuda_programs.device.text import function
from reactant.cuda_programs.device.values import reached, straightened
from tests.cuda_programs.device import random_threads, random_types


@pytest.fixture
def agrees(tmp_path, ran):
    def check(seed, count, kernels=random_threads):
        source = tmp_path / "random.cu"
        source.write_text(kernels.program(seed, count))
        said = ran("-fmad=false", "-O1", "-w", "-Xcompiler", "-ffp-contract=off", "-Xcompiler", "-fwrapv", str(source))
        assert said.startswith("0 of "), said
    return check


def test_random_threads(agrees):
    agrees(1, 3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_random_threads(agrees, seed):
    agrees(seed, 12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 7))
def test_random_types(agrees, seed):
    """pytest -m slow tests/cuda_programs/device/test_values.py -k types: half a minute each."""
    agrees(seed, 3, random_types)


def test_threads_beside_those_that_are_in_a_branch(ran):
    assert ran("odd_rows.cu", "-O1").startswith("0 of ")


def test_blocks_that_nothing_leads_to_are_left_out():
    made = function("define void @k() {\na:\n  br label %c\nb:\n  br label %c\nc:\n  ret void\n}\n")
    assert list(reached(made).blocks) == ["a", "c"]


def test_branches_lead_past_the_blocks_of_cuts():
    made = function("define void @k(i1 %c) {\na:\n  br i1 %c, label %way.1, label %b\nway.1:\n  br label %d\n"
                    "b:\n  br label %d\nd:\n  %x = phi i32 [ 1, %way.1 ], [ 2, %b ]\n  ret void\n}\n")
    blocks = straightened(made).blocks
    assert blocks["a"] == ["br i1 %c, label %d, label %b"] and blocks["d"][0] == "%x = phi i32 [ 1, %a ], [ 2, %b ]"
