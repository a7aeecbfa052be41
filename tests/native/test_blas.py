"""NumPy's BLAS by address, or SciPy's: what native code calls, and the number of its threads."""
import ctypes
import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

from reactant.native import blas

needed = pytest.mark.skipif(not blas.library(), reason="there is no BLAS whose interface is known")


@pytest.fixture
def fresh():
    blas.library.cache_clear()
    yield
    blas.library.cache_clear()


@needed
def test_every_routine_is_there():
    assert {letter + name for letter in "sdcz" for name in blas.ROUTINES} <= set(blas.library())
    assert all(blas.addresses().values())


def threads():
    return ctypes.CFUNCTYPE(ctypes.c_int)(blas.library()["get"])()


def changed(name):
    ctypes.CFUNCTYPE(None)(blas.addresses()[blas.PREFIX + name])()


@needed
@pytest.mark.skipif(not blas.divides(), reason="the library cannot be told")
def test_one_thread_inside_and_as_many_as_before_outside():
    set_threads = ctypes.CFUNCTYPE(None, ctypes.c_int)(blas.library()["set"])
    before = threads()
    try:
        for chosen in (1, 2):
            set_threads(chosen)
            changed("enter")
            assert threads() == 1
            changed("enter")
            changed("leave")
            assert threads() == 1
            changed("leave")
            assert threads() == chosen
    finally:
        set_threads(before)


@needed
@pytest.mark.skipif(not blas.divides(), reason="the library cannot be told")
def test_many_at_once_leave_it_as_it_was():
    before, seen = threads(), []

    def work():
        for _ in range(300):
            changed("enter")
            seen.append(threads())
            changed("leave")
    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert set(seen) == {1}
    assert threads() == before


def test_another_interface_is_not_used(fresh, monkeypatch):
    from scipy.linalg import cython_blas
    monkeypatch.setattr(blas, "_OWN", {})
    assert blas.WIDE not in blas.library()
    blas.library.cache_clear()
    monkeypatch.setattr(cython_blas, "__pyx_capi__", {})
    assert blas.library() == {} and not blas.divides()


@needed
def test_a_library_without_threads_of_its_own_is_left_alone(fresh, monkeypatch):
    monkeypatch.setattr(blas, "_OWN", {})
    monkeypatch.setattr(blas, "_BRANDS", ())
    assert "set" not in blas.library() and not blas.divides()
    assert "define internal void @library.set" in blas.text()


@needed
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("turned", [0, 1])
def test_results_are_not_read(dtype, turned):
    """What lies where the result goes is overwritten, also NaN."""
    letter = blas.LETTERS[np.dtype(dtype).name]
    a, x = np.arange(12).reshape(3, 4).astype(dtype), np.arange(4 - turned).astype(dtype)
    y, integer = np.full(3 + turned, np.nan, dtype), ctypes.c_int64
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[integer] * 5)(blas.addresses()[f"blas.{letter}gemv"])
    function(a.ctypes.data, x.ctypes.data, y.ctypes.data, len(y), len(x), 4, 1, turned)
    np.testing.assert_array_equal(y, (a.T if turned else a) @ x)
    c = np.full((3, 3), np.nan, dtype)
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[integer] * 7)(blas.addresses()[f"blas.{letter}gemm"])
    function(a.ctypes.data, a.ctypes.data, c.ctypes.data, 3, 3, 4, 4, 4, 3, 2)
    np.testing.assert_array_equal(c, a @ a.T)


@pytest.mark.slow
def test_scipys_where_numpys_is_not_known():
    """Its integers have 32 bits. In a process of its own: addresses are looked up once."""
    program = textwrap.dedent("""
        import numpy as np, reactant
        from reactant.native import blas
        blas._OWN = {}
        a = np.random.default_rng(0).standard_normal((150, 160)).view("complex128")
        np.testing.assert_allclose(reactant.jit(lambda a: a @ a.T)(a), a @ a.T, rtol=1e-12)
        np.testing.assert_allclose(reactant.jit(lambda a, b: a.T @ b)(a, a + 1), a.T @ (a + 1), rtol=1e-12)
        print(blas.WIDE in blas.library())
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout.split() == ["False"]
