"""Big temporaries are mapped once, not in every call."""
import os
import resource
import subprocess
import sys

import numpy as np
import pytest

import reactant
from reactant.runtime import heap


def field(x, iterations):
    """Some 60 MB of temporaries that nothing can fuse away."""
    for _ in range(iterations):
        x = np.sort(x, axis=0) + np.sort(x, axis=1)
    return x[:4].sum()


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux") or heap._mallopt() is None, reason="needs an untuned glibc")
def test_repeated_calls_touch_no_fresh_pages():
    x = np.random.default_rng(0).normal(size=(1500, 1500))
    compiled = reactant.jit(field)
    temporaries = compiled.lower(x, 2).compile().memory_analysis().temp_size_in_bytes
    assert heap.LEAST <= temporaries <= heap.MOST
    for _ in range(2):
        compiled(x, 2)

    def faults():
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(3):
            compiled(x, 2)
        return (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 3

    # the least of a few rounds: a thread that first takes part maps an arena of its own
    assert min(faults() for _ in range(4)) * resource.getpagesize() < temporaries / 4


HOLDS = """
import ctypes, resource
import numpy as np
import reactant
reactant.jit(lambda x: x + 1)(np.ones(3))
c = ctypes.CDLL(None)
c.malloc.restype, c.malloc.argtypes, c.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
faults = []
for _ in range(3):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    block = c.malloc(24 << 20)
    ctypes.memset(block, 1, 24 << 20)
    c.free(block)
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
print(min(faults[1:]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux") or heap._mallopt() is None, reason="needs an untuned glibc")
@pytest.mark.parametrize("tuned", [False, True])
def test_freed_memory_stays_in_the_process(tuned):
    environment = {**os.environ, **({"MALLOC_TRIM_THRESHOLD_": "100000"} if tuned else {})}
    done = subprocess.run([sys.executable, "-c", HOLDS], capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    assert (int(done.stdout) > 1000) == tuned, "pages of 24 MB: 6144"


def test_small_and_giant_programs_run_as_they_are():
    def run():
        return None
    assert heap.keeping(run, heap.LEAST - 1) is run
    assert heap.keeping(run, heap.MOST + 1) is run


@pytest.mark.parametrize("name", ("MALLOC_MMAP_MAX_", "MALLOC_TRIM_THRESHOLD_"))
def test_a_malloc_tuned_by_the_user_is_left_alone(name, monkeypatch):
    monkeypatch.setenv(name, "1")
    heap._mallopt.cache_clear()
    try:
        assert heap._mallopt() is None
    finally:
        heap._mallopt.cache_clear()
