"""Launches that are tuned: what is tried, taken and remembered."""
import json

import numpy as np
import pytest

pytest.importorskip("ziglang", reason="needs ziglang")

import reactant  # noqa: E402
from reactant import kernel_calls, kernel_tuning  # noqa: E402
from reactant.cuda_programs.device.versions import Factors, NotAnother  # noqa: E402
from reactant.errors import UnsupportedError  # noqa: E402
from reactant.kernels.launch.launch import Launch  # noqa: E402

SOURCE = """extern "C" __global__ void smooth(const float *x, float *y) {
    __shared__ float s[64];
    int t = threadIdx.x, g = blockIdx.x * blockDim.x + t;
    s[t] = x[g];
    __syncthreads();
    y[g] = .5f * s[t] + s[(t + 1) & 63];
}"""
HOW = Launch((4, 1, 1), (64, 1, 1), tune=True)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_calls, "_chosen", {})
    monkeypatch.setenv("REACTANT_CACHE", str(tmp_path / "programs"))
    return tmp_path / "programs" / "granularity"


def test_a_launch(folder):
    x = np.random.default_rng(0).standard_normal(256).astype(np.float32)
    y, wanted = np.zeros_like(x), (.5 * x.reshape(4, 64) + np.roll(x.reshape(4, 64), -1, 1)).ravel()
    smooth = reactant.kernel(reactant.cuda.load(SOURCE, "smooth"), tune=True)
    for _ in range(2):
        y[:] = 0
        smooth[4, 64](x, y)
        np.testing.assert_array_equal(y, wanted.astype(np.float32))
    [file] = folder.iterdir()
    assert json.loads(file.read_text())["way"] in kernel_tuning.ways(HOW)


def runner(seconds, wrong=()):
    """Launches that take their time on a clock of their own; `wrong` ones compute something else."""
    now = [0.0]

    def run(how, roots):
        label = next(label for label, way in kernel_tuning.ways(HOW).items() if way == how)
        took = seconds.get(label)
        if took is None:
            raise NotAnother("it cannot be") if how.rewrite else UnsupportedError("It cannot be.", code="kernel-launch")
        now[0] += took
        roots[0][:] += 2 if label in wrong else 1
    return now, run


@pytest.mark.parametrize("seconds, wrong, expected", [
    ({"own": 1.0, "native": 0.5, "blocks2x": 0.4}, (), "blocks2x"),
    ({"own": 1.0, "native": 0.5, "blocks2x": 0.4}, ("blocks2x",), "native"),
    ({"own": 1.0, "tensor": 0.97}, (), "own")])
def test_the_fastest_with_the_same_results_is_taken(folder, monkeypatch, seconds, wrong, expected):
    now, run = runner(seconds, wrong)
    monkeypatch.setattr(kernel_tuning.time, "perf_counter", lambda: now[0])
    record = reactant.cuda.load(SOURCE, "smooth")[4, 64].record(np.zeros(256, np.float32), np.zeros(256, np.float32))
    root = np.zeros(3)
    assert kernel_tuning.chosen(HOW, record, [root], run) == kernel_tuning.ways(HOW)[expected]
    assert not root.any()                                           # tried on copies
    ran = []
    for _ in range(2):
        assert kernel_tuning.chosen(HOW, record, [root], lambda *given: ran.append(given) or run(*given)) == \
            kernel_tuning.ways(HOW)[expected]
    assert not ran                                                  # remembered
    [file] = folder.iterdir()
    file.write_text("{torn")
    assert kernel_tuning.chosen(HOW, record, [root], run) == kernel_tuning.ways(HOW)[expected]


@pytest.mark.parametrize("grid, block, factors, place, expected", [
    (256, 64, Factors(threads=(2, 1, 1)), "cuda", True), (256, 64, Factors(threads=(4, 1, 1)), "cuda", False),
    (256, 64, Factors(threads=(4, 1, 1)), "cpu", True), (256, 8, Factors(threads=(2, 1, 1)), "cpu", False),
    (256, 64, Factors(blocks=(2, 1, 1)), "cuda", True), (128, 64, Factors(blocks=(2, 1, 1)), "cuda", False),
    (1, 64, Factors(blocks=(2, 1, 1)), "cpu", False)])
def test_what_is_of_no_use_is_not_tried(grid, block, factors, place, expected):
    x = np.zeros(grid * block, np.float32)
    record = reactant.cuda.load(SOURCE, "smooth")[grid, block].record(x, np.zeros_like(x))
    assert kernel_tuning.sensible(record, factors, place) == expected


def test_shared_memory_of_blocks_that_become_one(monkeypatch):
    x = np.zeros(256 * 64, np.float32)
    record = reactant.cuda.load(SOURCE, "smooth")[256, 64].record(x, np.zeros_like(x))
    monkeypatch.setitem(kernel_tuning.MOST_SHARED, "cpu", 511)
    assert not kernel_tuning.sensible(record, Factors(blocks=(2, 1, 1)), "cpu")
    monkeypatch.setitem(kernel_tuning.MOST_SHARED, "cpu", 512)
    assert kernel_tuning.sensible(record, Factors(blocks=(2, 1, 1)), "cpu")


def test_an_error_is_the_launches_own(folder):
    fill = reactant.kernel(reactant.cuda.load(SOURCE, "smooth"), tune=True)
    with pytest.raises(TypeError, match="2"):
        fill[4, 64](np.zeros(256, np.float32))


@pytest.mark.parametrize("options, words", [({"check": True}, "check=True"), ({"lower": "tensor"}, "lower='tensor'")])
def test_nothing_to_choose_from(options, words):
    with pytest.raises(ValueError, match=words):
        reactant.kernel(reactant.cuda.load(SOURCE, "smooth"), tune=True, **options)
