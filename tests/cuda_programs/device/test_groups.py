"""Groups of threads in step: random kernels against references that run statement by statement."""
import subprocess

import pytest

from reactant.cuda_programs.driver import command
from tests.cuda_programs.device.random_kernels import program


def run(folder, seed, count):
    source, target = folder / "random.cu", folder / "random"
    source.write_text(program(seed, count))
    assert command.main(["-Xcompiler", "-fwrapv", str(source), "-o", str(target)]) == 0
    done = subprocess.run([target], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and done.stdout.startswith("0 of "), done.stdout


def test_random_kernels(tmp_path):
    run(tmp_path, 1, 5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_random_kernels(tmp_path, seed):
    run(tmp_path, seed, 14)
