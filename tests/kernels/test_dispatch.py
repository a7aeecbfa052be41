"""Launches where programs run on another platform: tensor programs do, native code is refused with what to do."""
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("numba.cuda", reason="needs numba-cuda")

import reactant  # noqa: E402
from reactant.errors import UnsupportedError  # noqa: E402
from reactant.kernels import dispatch  # noqa: E402
from tests.kernels.corpus import linear_algebra, stencils  # noqa: E402

FIELD = (np.ones(50), np.zeros(50), 50, 0.1)
SPARSE = (np.ones(200_000), np.zeros(200_000, int), np.arange(0, 200_001, 4), np.ones(50_000), np.zeros(50_000), 50_000)


@pytest.fixture
def on_gpu(monkeypatch):
    monkeypatch.setattr(dispatch, "default_device", lambda: SimpleNamespace(jax=SimpleNamespace(platform="gpu")))


def test_tensor_programs(on_gpu):
    assert "raised to a tensor program" in str(reactant.kernel(stencils.heat1)[2, 32].explain(*FIELD))


def test_what_is_faster_on_a_cpu_stays_a_tensor_program(on_gpu):
    assert "raised to a tensor program" in str(reactant.kernel(linear_algebra.spmv)[400, 128].explain(*SPARSE))


@pytest.mark.parametrize("settings, why", [({"lower": "native"}, "asks for it"), ({"check": True}, "checked")])
def test_native_code_is_refused(on_gpu, settings, why):
    with pytest.raises(UnsupportedError, match=f"'heat1'.*{why}.*CPUs, not on the gpu.*default_device"):
        reactant.kernel(stencils.heat1, **settings)[2, 32].explain(*FIELD)
