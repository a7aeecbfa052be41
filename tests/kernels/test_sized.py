"""Kernels after published suites: raised, native and by themselves, against their C++ run thread by thread."""
import re
from types import SimpleNamespace

import numpy as np
import pytest

import reactant

pytest.importorskip("numba.cuda", reason="needs numba-cuda")
pytest.importorskip("ziglang", reason="needs ziglang")

from tests.kernels.corpus import hecbench, parboil, rodinia  # noqa: E402, F401 (declare the programs)
from tests.kernels.corpus.sized import PROGRAMS  # noqa: E402
from tests.kernels.fuzz import oracles  # noqa: E402


def emulated(program, folder):
    """The arrays after the emulation."""
    kernels = oracles.emulated({program.name: program.source}, folder)[program.name]

    class Launch:
        def __init__(self, kernel):
            self.kernel = kernel

        def __getitem__(self, launch):
            return self.kernel[tuple(d if isinstance(d, tuple) else (d,) for d in launch[:2])]
    arrays = program.make(np.random.default_rng(7), program.small)
    program.host(SimpleNamespace(**{n: Launch(k) for n, k in vars(kernels).items()}), program.small, *arrays)
    return arrays


def compare(program, ways, folder):
    expected, module = emulated(program, folder), reactant.cuda.load(program.source)
    names = re.findall(r"__global__ void (\w+)", program.source)
    for way in ways:
        kernels = SimpleNamespace(**{n: reactant.kernel(module[n], lower=way) for n in names})

        def run(*arrays, kernels=kernels):
            program.host(kernels, program.small, *arrays)
        found = program.make(np.random.default_rng(7), program.small)
        reactant.jit(run, frontend="numpy")(*found)
        for number, (a, b) in enumerate(zip(found, expected, strict=True)):
            scale = np.abs(b).max(initial=0) if b.dtype.kind == "f" else 0
            rtol = program.rtol if b.dtype.kind == "f" else 0
            np.testing.assert_allclose(a, b, rtol=rtol, atol=program.rtol * scale, err_msg=f"{way}: array {number}")


@pytest.mark.sampled(100)
@pytest.mark.parametrize("name", ["streamcluster", "murmurhash", "morphology"])
def test_program(name, tmp_path):
    compare(PROGRAMS[name], ["tensor"], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_way(name, tmp_path):
    compare(PROGRAMS[name], ["tensor", "native", "auto"], tmp_path)
