"""Kernels as people write them, in both ways in, raised and native, against NumPy."""
import importlib

import pytest

pytest.importorskip("numba.cuda", reason="needs numba-cuda")
pytest.importorskip("ziglang", reason="needs ziglang")

FAMILIES = ("stencils", "linear_algebra", "patterns", "science", "published", "samples")
CASES = [case for family in FAMILIES for case in importlib.import_module(f"tests.kernels.corpus.{family}").CASES]


@pytest.mark.sampled(100)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_kernel(case):
    case.check("cuda", "tensor")


FEW = [case for case in CASES if case.name in ("stencil_chain", "hotspot", "reductions", "particles")]


@pytest.mark.parametrize("case", FEW, ids=lambda case: case.name)
def test_numba_kernel(case):
    case.check("numba", "native")


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("frontend, lower", [("numba", "tensor"), ("numba", "native"), ("numba", "auto"),
                                             ("cuda", "native"), ("cuda", "auto")])
def test_every_way(case, frontend, lower):
    case.check(frontend, lower)


def test_most_kernels_are_tensor_programs():
    kernels = [(case.name, kernel) for case in CASES for kernel in case.kernels]
    native = [(case.name, kernel) for case in CASES for kernel in case.native]
    assert len(native) <= 0.15 * len(kernels)
