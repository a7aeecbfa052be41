"""Groups of threads that meet: random kernels against references that run statement by statement."""
import pytest

from tests.cuda_programs.device.random_kernels import program


@pytest.fixture
def agrees(tmp_path, ran):
    def check(seed, count):
        source = tmp_path / "random.cu"
        source.write_text(program(seed, count))
        said = ran("-Xcompiler", "-fwrapv", str(source))
        assert said.startswith("0 of "), said
    return check


def test_random_kernels(agrees):
    agrees(1, 5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_random_kernels(agrees, seed):
    agrees(seed, 14)
