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


PLATFORMS = {"tpu": "", "cuda": "cuda 12090", "rocm": "PJRT C API\nrocm 60300"}


@pytest.fixture(params=PLATFORMS)
def elsewhere(request, monkeypatch):
    client = SimpleNamespace(platform_version=PLATFORMS[request.param])
    device = SimpleNamespace(platform="tpu" if request.param == "tpu" else "gpu", client=client)
    monkeypatch.setattr(dispatch, "default_device", lambda: SimpleNamespace(jax=device))
    return request.param


def test_tensor_programs(elsewhere):
    assert "raised to a tensor program" in str(reactant.kernel(stencils.heat1)[2, 32].explain(*FIELD))


def test_what_is_faster_on_a_cpu_stays_a_tensor_program(elsewhere):
    assert "raised to a tensor program" in str(reactant.kernel(linear_algebra.spmv)[400, 128].explain(*SPARSE))


def test_the_kernel_itself_runs_on_gpus_of_nvidia(elsewhere):
    launch = reactant.kernel(stencils.heat1, lower="native")[2, 32]
    if elsewhere == "cuda":
        assert "heat1: runs as itself on the GPU (PTX)" in str(launch.explain(*FIELD))
    else:
        why = f"'heat1'.*asks for it.*CPUs, not on the {elsewhere}.*default_device"
        with pytest.raises(UnsupportedError, match=why):
            launch.explain(*FIELD)


def test_checks_are_for_cpus(elsewhere):
    with pytest.raises(UnsupportedError, match="'heat1'.*checked.*CPUs, not on .*default_device"):
        reactant.kernel(stencils.heat1, check=True)[2, 32].explain(*FIELD)
