"""What the tests call CUDA C++ is CUDA C++ to NVIDIA's compiler too, where there is one."""
import shutil
import subprocess

import pytest

pytest.importorskip("numba.cuda", reason="needs numba-cuda")
pytest.importorskip("ziglang", reason="needs ziglang")

from tests.kernels.corpus import hecbench, parboil, rodinia  # noqa: E402, F401 (declare the programs)
from tests.kernels.corpus.sized import PROGRAMS  # noqa: E402
from tests.kernels.fuzz.programs import random_program  # noqa: E402
from tests.kernels.test_corpus import CASES  # noqa: E402

pytestmark = pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc (the CUDA toolkit)")
SOURCES = {**{case.name: case.cuda for case in CASES}, **{name: p.source for name, p in PROGRAMS.items()}}


def compile_source(source, folder):
    """Raises `AssertionError` with what nvcc says."""
    (folder / "kernels.cu").write_text(source)
    done = subprocess.run(["nvcc", "-std=c++17", "-arch=sm_80", "-ptx", "kernels.cu", "-o", "kernels.ptx"], cwd=folder,
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_a_source(tmp_path):
    compile_source(SOURCES["walsh"], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_sources(name, tmp_path):
    compile_source(SOURCES[name], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_random_programs(seed, tmp_path):
    compile_source(random_program(seed, "cuda").source, tmp_path)
