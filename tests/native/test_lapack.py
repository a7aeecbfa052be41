"""NumPy's LAPACK by address, or SciPy's: what native code calls."""
import ctypes

import numpy as np
import pytest

from reactant.native import blas, lapack

needed = pytest.mark.skipif(not lapack.library(), reason="there is no LAPACK whose interface is known")


@pytest.fixture
def fresh():
    lapack.library.cache_clear()
    yield
    lapack.library.cache_clear()


def test_what_a_routine_takes():
    assert lapack.memories("zheevd") == ["A", "W", "WORK", "RWORK", "IWORK", "INFO"]
    assert lapack.numbers("zheevd") == ["jobz", "uplo", "n", "lda", "lwork", "lrwork", "liwork"]
    assert [lapack.dtype_in("cgesdd", name) for name in ("U", "S", "RWORK")] == [
        np.dtype(np.complex64), np.dtype(np.float32), np.dtype(np.float32)]
    assert "ONE" not in lapack.memories("dtrsm")


@needed
def test_every_routine_is_there():
    assert set(lapack.PARAMETERS) <= set(lapack.library())
    assert all(lapack.addresses().values())
    assert lapack.dtype_in("dgetrf", "INFO") == lapack.integers()


@needed
def test_scipys_where_numpy_has_none(fresh, monkeypatch):
    wide = lapack.library()
    monkeypatch.setattr(blas, "_OWN", {})
    lapack.library.cache_clear()
    assert lapack.integers() == np.int32
    assert lapack.library().keys() - {blas.WIDE} == wide.keys() - {blas.WIDE}
    assert "trunc i64" in lapack.text()
    from scipy.linalg import cython_lapack
    monkeypatch.setattr(cython_lapack, "__pyx_capi__", {})
    lapack.library.cache_clear()
    assert lapack.library() == {}


@needed
@pytest.mark.parametrize("routine, told, least", [
    ("dgeqrf", {"m": 30, "n": 20, "lda": 30}, {"WORK": 20}),
    ("dgesdd", {"jobz": ord("A"), "m": 30, "n": 20, "lda": 30, "ldu": 30, "ldvt": 20}, {"WORK": 100}),
    ("sorgqr", {"m": 30, "n": 20, "k": 20, "lda": 30}, {"WORK": 20}),
    ("zheevd", {"jobz": ord("V"), "uplo": ord("L"), "n": 10, "lda": 10}, {"WORK": 120, "RWORK": 251, "IWORK": 53}),
    ("dpotrf", {"uplo": ord("L"), "n": 10, "lda": 10}, {})])
def test_what_it_wants_to_work_in(routine, told, least):
    """At least what its documentation asks for."""
    found = lapack.asked(routine, told)
    assert found.keys() == least.keys()
    assert all(found[name] >= count for name, count in least.items())


@needed
@pytest.mark.parametrize("dtype", list(lapack.LETTERS))
def test_a_call(dtype):
    """Numbers and letters arrive by reference: an upper Cholesky factor by columns, and where there is none."""
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * 3)(
        lapack.addresses()[f"lapack.{lapack.LETTERS[dtype]}potrf"])
    for shift, failed in ((4.0, 0), (-4.0, 1)):
        a = np.asfortranarray((np.ones((3, 3)) + shift * np.eye(3)).astype(dtype))
        info = np.full(1, 7, lapack.integers())
        kept = a.copy()
        function(a.ctypes.data, info.ctypes.data, ord("U"), 3, 3)
        assert info[0] == failed
        if not failed:
            factor = np.triu(a)
            np.testing.assert_allclose(factor.conj().T @ factor, kept, rtol=1e-5)
