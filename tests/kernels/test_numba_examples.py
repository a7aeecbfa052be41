"""The examples of numba-cuda's own documentation, as they are in its package, without a GPU."""
import importlib
import pathlib
import sys
import unittest
from unittest import mock

import pytest

pytest.importorskip("numba.cuda", reason="needs numba-cuda")

from tests.kernels.numba_emulation import emulated  # noqa: E402

EXAMPLES = ("test_vecadd", "test_matmul", "test_laplace", "test_reduction", "test_sessionize", "test_montecarlo",
            "test_cpu_gpu_compat", "test_ufunc", "test_globals", "test_cg", "test_cpointer", "test_ffi")
"""All of them but test_random, whose array of 450 million elements is too much for a test: see `test_random`."""
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


@pytest.mark.slow
def test_matmul():
    with emulated():
        importlib.import_module("numba.cuda.tests.doc_examples.test_matmul").test_matmul()


def test_all_examples_are_here():
    import numba.cuda.tests.doc_examples as package
    files = {path.stem for path in pathlib.Path(package.__file__).parent.glob("test_*.py")}
    assert files == {*EXAMPLES, "test_random"}


@pytest.mark.slow
def test_random(tmp_path, monkeypatch):
    """On an array of 12,000 elements, with 512 threads."""
    import numba.cuda.tests.doc_examples as package
    text = (pathlib.Path(package.__file__).parent / "test_random.py").read_text()
    for old, new in (("701, 900, 719", "30, 20, 20"), ("16, 16, 16", "2, 2, 2"), ("8, 8, 8", "4, 4, 4")):
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "smaller_random.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with emulated():
        importlib.import_module("smaller_random").TestRandom("test_ex_3d_grid").debug()


@pytest.mark.parametrize("case, test", list(examples()))
def test_example(case, test):
    with emulated():
        made = case(test)
        made.setUp()
        try:
            getattr(made, test)()
        finally:
            made.tearDown()
