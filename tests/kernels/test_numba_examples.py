"""The examples of numba-cuda's own documentation, as they are in its package, without a GPU."""
import importlib
import sys
import unittest
from unittest import mock

import pytest

pytest.importorskip("numba.cuda", reason="needs numba-cuda")

from tests.kernels.numba_emulation import emulated  # noqa: E402

EXAMPLES = ("test_vecadd", "test_matmul", "test_laplace", "test_reduction", "test_sessionize", "test_montecarlo",
            "test_cpu_gpu_compat", "test_ufunc", "test_globals", "test_cg", "test_cpointer", "test_ffi")
"""All of them but test_random, whose array of 450 million elements is too much for a test."""
ASKS_FOR_A_GPU = {"test_ex_globals_device_array_capture": "device arrays as globals exist only with a GPU",
                  "test_ex_grid_sync": "asks the driver how many blocks may wait for each other",
                  "test_ex_cpointer": "gives addresses of device memory as numbers",
                  "test_ex_from_buffer": "needs cffi"}


for _name in ("filecheck", "filecheck.matcher", "filecheck.options", "filecheck.parser", "filecheck.finput"):
    sys.modules.setdefault(_name, mock.MagicMock())     # numba.cuda.testing imports it for tests that are not run here


def examples():
    from numba.cuda import testing
    for name in EXAMPLES:
        with emulated(), mock.patch.object(testing, "cudadevrt_missing", lambda: False):
            module = importlib.import_module(f"numba.cuda.tests.doc_examples.{name}")
        for case in vars(module).values():
            if isinstance(case, type) and issubclass(case, unittest.TestCase) and case.__module__ == module.__name__:
                for test in dir(case):
                    if test.startswith("test"):
                        why = ASKS_FOR_A_GPU.get(test)
                        marks = [pytest.mark.skip(reason=why)] if why else []
                        marks += [pytest.mark.slow] if name == "test_montecarlo" else []      # a million samples
                        yield pytest.param(case, test, id=f"{name}.{test}", marks=marks)


def test_matmul():
    with emulated():
        importlib.import_module("numba.cuda.tests.doc_examples.test_matmul").test_matmul()


@pytest.mark.parametrize("case, test", list(examples()))
def test_example(case, test):
    with emulated():
        made = case(test)
        made.setUp()
        try:
            getattr(made, test)()
        finally:
            made.tearDown()
