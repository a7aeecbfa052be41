"""Launches where programs run on another platform: tensor programs do, native code is refused with what to do. What
native code and the costs know about the memory it writes into."""
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("numba.cuda", reason="needs numba-cuda")

import reactant  # noqa: E402
from reactant.errors import UnsupportedError  # noqa: E402
from reactant.kernels.launch import costs  # noqa: E402
from reactant.runtime import devices  # noqa: E402
from tests.kernels.corpus import linear_algebra, stencils  # noqa: E402

FIELD = (np.ones(50), np.zeros(50), 50, 0.1)
SPARSE = (np.ones(200_000), np.zeros(200_000, int), np.arange(0, 200_001, 4), np.ones(50_000), np.zeros(50_000), 50_000)


PLATFORMS = {"tpu": "", "cuda": "cuda 12090", "rocm": "PJRT C API\nrocm 60300"}


@pytest.fixture(params=PLATFORMS)
def elsewhere(request, monkeypatch):
    device = SimpleNamespace(client=SimpleNamespace(platform_version=PLATFORMS[request.param]))
    described = SimpleNamespace(platform="tpu" if request.param == "tpu" else "gpu", jax=device)
    monkeypatch.setattr(devices, "default_device", lambda: described)
    return request.param


def test_tensor_programs(elsewhere):
    assert "raised to a tensor program" in str(reactant.kernel(stencils.heat1)[2, 32].explain(*FIELD))


def test_what_would_be_a_loop_of_tensors(elsewhere):
    """Its iterations would be launches: it runs as itself where that is possible."""
    said = str(reactant.kernel(linear_algebra.spmv)[400, 128].explain(*SPARSE))
    if elsewhere == "cuda":
        assert "spmv: runs as itself on the GPU" in said and "each iteration of which is a launch or more" in said
    else:
        assert "raised to a tensor program" in said


def test_the_kernel_itself_runs_on_gpus_of_nvidia(elsewhere):
    launch = reactant.kernel(stencils.heat1, lower="native")[2, 32]
    if elsewhere == "cuda":
        assert "heat1: runs as itself on the GPU (PTX)" in str(launch.explain(*FIELD))
    else:
        why = f"(?s)'heat1'.*asks for it.*CPUs, not on the {elsewhere}.*default_device"
        with pytest.raises(UnsupportedError, match=why):
            launch.explain(*FIELD)


def test_checks_are_for_cpus(elsewhere):
    with pytest.raises(UnsupportedError, match="(?s)'heat1'.*checked.*CPUs, not on .*default_device"):
        reactant.kernel(stencils.heat1, check=True)[2, 32].explain(*FIELD)


def twice_natively(a, b):
    n, kernel = len(a), reactant.kernel(stencils.heat1, lower="native")
    kernel[2, 32](a, b, n, 0.1)
    kernel[2, 32](b, a, n, 0.1)


def test_native_code_copies_arguments_itself_and_writes_over_what_the_program_made():
    def arrays():
        return np.linspace(0.0, 1.0, 50) ** 2, np.zeros(50)
    function = reactant.jit(twice_natively, frontend="numpy")
    calls = [line for line in function.lower(*arrays()).as_text().splitlines() if "custom_call" in line]
    assert [line.count("output_operand_alias<") for line in calls] == [0, 0]      # each writes into an argument
    (a, b), (x, y) = arrays(), arrays()
    function(a, b)
    for old, new in ((x, y), (y, x)):
        around = np.pad(old, 1)
        new[:] = old + 0.1 * (around[:-2] - 2 * old + around[2:])
    np.testing.assert_allclose((a, b), (x, y))


def again_natively(a, b):
    kernel = reactant.kernel(stencils.heat1, lower="native")
    for _ in range(2):
        kernel[2, 32](a, b, len(a), 0.1)


def test_only_the_first_launch_copies():
    text = reactant.jit(again_natively, frontend="numpy").lower(np.ones(50), np.zeros(50)).as_text()
    assert [line.count("output_operand_alias<") for line in text.splitlines() if "custom_call" in line] == [0, 1]


def test_costs_count_copies_of_arguments_alone():
    record = reactant.kernel(stencils.heat1)[2, 32].record(*FIELD)
    estimate = costs.Estimate(record, {}, {})
    written = [k for k, b in enumerate(record.buffers) if b.written]
    assert estimate.native_with_copies(None)["written"] == 400 * len(written) == 400
    assert estimate.native_with_copies((True, True))["written"] == 400
    assert estimate.native_with_copies((True, False))["written"] == 0
