"""Products by BLAS: values, which ones they are, loops and branches around them, other threads, checks."""
from __future__ import annotations

import concurrent.futures
import os
import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant.ir.context import building
from reactant.loopnests.calls import product_calls, products
from reactant.native import blas

pytestmark = pytest.mark.skipif(not product_calls.available(), reason="there is no BLAS that can be called")
DTYPES = ("float32", "float64", "complex64", "complex128")


@pytest.fixture
def any_size(monkeypatch):
    """Let products of any size go to BLAS, and be divided."""
    monkeypatch.setattr(product_calls, "LEAST", dict.fromkeys(DTYPES, (0, 0)))
    monkeypatch.setattr(product_calls, "LEAST_OF_ITSELF", dict.fromkeys(DTYPES, 0))
    monkeypatch.setattr(product_calls, "LEAST_PIECE", dict.fromkeys(product_calls.LEAST_PIECE, 1))
    monkeypatch.setattr(product_calls, "FEW_COLUMNS", 0)
    monkeypatch.setattr(product_calls, "LEAST_BY_VECTOR", 0)
    monkeypatch.setattr(product_calls, "LEAST_BY_REAL_VECTOR", 0)
    monkeypatch.setattr(product_calls, "product_is_small", lambda op: False)


def numbers(shape, dtype, seed=0):
    random = np.random.default_rng(seed)
    made = random.standard_normal(shape)
    return (made + 1j * random.standard_normal(shape) if dtype[0] == "c" else made).astype(dtype)


def notes_of(compiled, *arguments):
    lowered = compiled.lower(*arguments)
    with building():
        lowered.native_module(None)
    return [note for note in lowered.notes if "BLAS" in note]


def close(found, wanted):
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    tolerance = 3e-5 if wanted.real.dtype == np.float32 else 1e-13
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * float(np.abs(wanted).max(initial=0)))


TABLE = {
    "a b": (lambda a, b: a @ b, [(40, 33), (33, 50)], "gemm"),
    "a' b": (lambda a, b: a.T @ b, [(33, 40), (33, 50)], "gemm"),
    "a b'": (lambda a, b: a @ b.T, [(40, 33), (50, 33)], "gemm"),
    "a' b'": (lambda a, b: a.T @ b.T, [(33, 40), (50, 33)], "gemm"),
    "a a, not its transpose": (lambda a: a @ a, [(40, 40)], "gemm"),
    "tall": (lambda a, b: a @ b, [(3000, 7), (7, 9)], "gemm"),
    "wide": (lambda a, b: a @ b, [(9, 7), (7, 3000)], "gemm"),
    "deep": (lambda a, b: a @ b, [(9, 3000), (3000, 7)], "gemm"),
    "one column of a matrix": (lambda a, b: a @ b[:, :1], [(40, 33), (33, 5)], "gemv"),
    "odd sizes": (lambda a, b: a @ b, [(129, 131), (131, 257)], "gemm"),
    "matrix vector": (lambda a, v: a @ v, [(40, 33), (33,)], "gemv"),
    "turned matrix vector": (lambda a, v: a.T @ v, [(33, 40), (33,)], "gemv"),
    "vector matrix": (lambda v, a: v @ a, [(33,), (33, 40)], "gemv"),
    "vector turned matrix": (lambda v, a: v @ a.T, [(33,), (40, 33)], "gemv"),
    "matrix column": (lambda a, b: a @ b[:, 2], [(40, 33), (33, 5)], "gemv"),
    "stacks": (lambda a, b: a @ b, [(5, 30, 20), (5, 20, 40)], "gemm"),
    "stacks of two dimensions": (lambda a, b: a @ b, [(2, 3, 30, 20), (2, 3, 20, 40)], "gemm"),
    "one matrix for a stack": (lambda a, b: a @ b, [(5, 30, 20), (20, 40)], "gemm"),
    "heads": (lambda q, k: np.einsum("bqhd,bkhd->bhqk", q, k), [(3, 20, 4, 16), (3, 25, 4, 16)], "gemm"),
    "batch last": (lambda a, b: np.einsum("ikb,kjb->bij", a, b), [(12, 20, 4), (20, 9, 4)], "gemm"),
    "tensordot": (lambda a, b: np.tensordot(a, b, ((0, 2), (1, 0))), [(10, 20, 30), (30, 10, 40)], "gemm"),
    "tensordot in order": (lambda a, b: np.tensordot(a, b, 2), [(20, 10, 30), (10, 30, 40)], "gemm"),
    "stack of vectors": (lambda a, v: np.einsum("bij,bj->bi", a, v), [(5, 40, 30), (5, 30)], "gemv"),
    "a a'": (lambda a: a @ a.T, [(70, 50)], "syrk"),
    "a' a": (lambda a: a.T @ a, [(50, 70)], "syrk"),
    "a a', big": (lambda a: a @ a.T, [(190, 301)], "syrk"),
    "stack of a a'": (lambda a: a @ a.swapaxes(1, 2), [(5, 40, 30)], "syrk"),
}


@pytest.mark.sampled(24)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", TABLE)
@pytest.mark.parametrize("cores", [1, 3])
def test_as_numpy(any_size, monkeypatch, case, dtype, cores):
    function, shapes, routine = TABLE[case]
    monkeypatch.setattr(product_calls, "threads", lambda: cores)
    arguments = [numbers(shape, dtype, k) for k, shape in enumerate(shapes)]
    compiled = reactant.jit(function)
    wanted = function(*arguments)
    close(compiled(*arguments), wanted)
    if "stack of vectors" not in case:
        assert any(f"{blas.LETTERS[dtype]}{routine}" in note for note in notes_of(compiled, *arguments)) \
            or routine == "gemv" and dtype[0] == "f"
    if routine == "syrk":
        found = compiled(*arguments)
        np.testing.assert_array_equal(found, found.swapaxes(-1, -2))


@pytest.mark.parametrize(("size", "dtype", "by_blas"), [
    (1024, "float32", True), (16, "float32", False), (512, "float64", True), (64, "float64", False),
    (40, "complex128", True), (8, "complex128", False), (40, "int64", False), (40, "float16", False)])
def test_from_which_size(size, dtype, by_blas):
    a = np.ones((size, size), dtype)
    assert bool(notes_of(reactant.jit(lambda a, b: a @ b), a, a + 1)) == by_blas


def test_few_columns_stay():
    a, b = jnp.ones((2000, 2000), "float32"), jnp.ones((2000, 8), "float32")
    assert not notes_of(reactant.jit(lambda a, b: a @ b), a, b)
    assert notes_of(reactant.jit(lambda a, b: b.T @ a * 2), jnp.ones((4000, 4000), "float32"), jnp.ones((4000, 8)))


@pytest.mark.slow
def test_what_xla_would_copy_is_read_in_place():
    """Big arguments of NumPy's, unless a loop reads them, which takes one copy."""
    a, b = np.ones((8, 1000)), np.ones((1000, 1000))
    assert notes_of(reactant.jit(lambda a, b: a @ b), a, b)
    assert not notes_of(reactant.jit(lambda a, b: np.fft.fft(a @ b[:100, :100])), a[:, :100], b)

    def repeated(a, b):
        for _ in range(50):
            a = np.sin(a @ b)
        return a
    assert not notes_of(reactant.jit(repeated), a, b) or product_calls.threads() > 1


def test_half_the_work_pays_earlier():
    a = np.ones((100, 100))
    assert any("syrk" in note for note in notes_of(reactant.jit(lambda a: a @ a.T), a))
    assert any("syrk" in note for note in notes_of(reactant.jit(np.cov), np.ones((60, 1000))))


@pytest.mark.slow
def test_what_says_so_and_what_leaves_it_out():
    a = numbers((300, 300), "complex128")
    compiled = reactant.jit(lambda a, b: a @ b)
    assert "by BLAS: product (300, 300) (300, 300), zgemm" in str(reactant.explain(compiled, a, a + 1))
    never = reactant.jit(lambda a, b: a @ b, native="never")
    assert not notes_of(never, a, a + 1) and "reactant.native" not in never.lower(a, a + 1).compile().as_text()
    close(never(a, a + 1), a @ (a + 1))


def test_the_module_stays_as_it_is():
    a = numbers((300, 300), "complex128")
    lowered = reactant.jit(lambda a, b: a @ b).lower(a, a + 1)
    lowered.compile()
    assert "stablehlo.dot_general" in lowered.as_text() and "custom_call" not in lowered.as_text()


@pytest.mark.parametrize("dtype", DTYPES)
def test_in_loops_and_branches(any_size, dtype):
    a = numbers((40, 40), dtype) / 40

    def program(a, x, n, left):
        for _ in range(n):
            x = np.sin(x) @ a
        return a @ x.T if left > 0 else x @ a.T
    compiled = reactant.jit(program)
    for n, left in ((0, 1.0), (7, -1.0)):
        close(compiled(a, a + 1, n, left), program(a, a + 1, n, left))
    assert notes_of(compiled, a, a + 1, 7, 1.0)


def test_not_finite(any_size):
    a, b = numbers((30, 40), "float64"), numbers((40, 50), "float64")
    a[3, 4], a[5, 6], b[7, 8], b[9] = np.nan, np.inf, -np.inf, 0
    a[:, 9] = np.inf
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(np.isnan(reactant.jit(lambda a, b: a @ b)(a, b)), np.isnan(a @ b))


def test_denormals(any_size):
    a = np.full((20, 30), 1e-200)
    b = np.full((30, 40), 1e-110)
    found = reactant.jit(lambda a, b: a @ b)(a, b)
    assert (found > 0).all()
    np.testing.assert_allclose(found, a @ b, rtol=1e-12)


@pytest.mark.parametrize(("m", "k", "n"), [(0, 5, 4), (5, 0, 4), (5, 4, 0)])
def test_empty(any_size, m, k, n):
    found = reactant.jit(lambda a, b: a @ b)(np.ones((m, k)), np.ones((k, n)))
    np.testing.assert_array_equal(found, np.zeros((m, n)))


def test_unaligned_and_in_place():
    memory = np.empty(600 * 600 + 1)
    a = memory[1:].reshape(600, 600)
    a[:] = numbers((600, 600), "float64")
    b = numbers((600, 600), "float64", 1)
    out = np.empty((600, 600))

    def program(a, b, out):
        out[:] = a @ b
    reactant.jit(program)(a, b, out)
    close(out, a @ b)


def test_gradients_and_batches_are_taken_before(any_size):
    a, b = numbers((30, 40), "float64"), numbers((40, 50), "float64")

    def loss(a):
        return ((a @ b) ** 2).sum()
    gradient = reactant.jit(reactant.grad(loss))
    np.testing.assert_allclose(gradient(a), 2 * (a @ b) @ b.T, rtol=1e-10)
    assert notes_of(gradient, a)
    stack = numbers((6, 30, 40), "float64")
    np.testing.assert_allclose(reactant.jit(reactant.vmap(lambda a: a @ b))(stack), stack @ b, rtol=1e-10)


def test_jax_functions(any_size):
    a, b = (jnp.asarray(numbers((60, 60), "float32", k)) for k in (0, 1))
    function = lambda a, b: jnp.tanh(a @ b) @ a.T     # noqa: E731
    compiled = reactant.jit(function)
    np.testing.assert_allclose(compiled(a, b), jax.jit(function)(a, b), rtol=2e-4, atol=1e-4)
    assert notes_of(compiled, a, b)


def test_inside_programs_of_jax():
    a = numbers((300, 300), "complex64")
    compiled = reactant.jit(lambda a, b: a @ b)
    close(np.asarray(jax.jit(lambda a, b: compiled(a, b) + 1)(a, a)), a @ a + 1)


def test_what_follows_is_ours_as_if_the_product_were_an_argument(any_size, monkeypatch):
    """XLA makes what follows its own products with them; after a call there is nothing to be made with."""
    a = jnp.asarray(numbers((256, 256), "float32"))
    softmax = reactant.jit(lambda a, b: jax.nn.softmax(a @ b))
    lowered = softmax.lower(a, a)
    lowered.program()
    assert any("compiled natively" in note for note in lowered.notes) and notes_of(softmax, a, a)
    monkeypatch.setattr(product_calls, "available", lambda: False)
    lowered = reactant.jit(lambda a, b: jax.nn.softmax(a @ b)).lower(a, a)
    lowered.program()
    assert not lowered.notes


def test_exports_have_no_addresses():
    a = numbers((300, 300), "complex64")
    text = reactant.export(lambda a, b: a @ b, a, a).text()
    assert "stablehlo.dot_general" in text and "reactant.native" not in text


def test_from_many_threads(any_size):
    a, b = numbers((200, 200), "float64"), numbers((200, 200), "float64", 1)
    compiled, wanted = reactant.jit(lambda a, b: a @ b), a @ b
    compiled(a, b)
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        for found in pool.map(lambda _: compiled(a, b), range(60)):
            close(found, wanted)


def test_pieces_of_triangles():
    for n in (2, 17, 100, 1000):
        for pieces in (1, 2, 3, 8):
            ends = product_calls.triangle_pieces(n, pieces)
            assert ends[0] == 0 and ends[-1] == n and ends == sorted(set(ends)) and len(ends) <= pieces + 1
    first, _, last = product_calls.triangle_pieces(1000, 2)
    assert (first, last) == (0, 1000)


@pytest.mark.parametrize(("m", "n", "pieces", "wanted"), [(100, 100, 1, (1, 1)), (1000, 10, 4, (4, 1)),
                                                         (10, 1000, 4, (1, 4)), (100, 100, 4, (2, 2)),
                                                         (100, 1, 3, (3, 1))])
def test_pieces_are_nearly_square(m, n, pieces, wanted):
    assert product_calls.divided(m, n, pieces) == wanted


@pytest.mark.parametrize(("name", "dtype"), [("gemm", "float64"), ("gemv", "complex64"), ("syrk", "float32")])
def test_checked_calls_stay_in_their_memory(name, dtype, monkeypatch):
    monkeypatch.setenv("REACTANT_NATIVE_CHECKS", "1")
    told = dict.fromkeys(product_calls.SIZES, 1) | {
        "m": 8, "n": 1 if name == "gemv" else 8, "k": 8, "lda": 8, "ldb": 1 if name == "gemv" else 8, "turned": 0,
        "m_each": 8, "n_each": 8}
    ends = [0, 8] if name == "syrk" else []
    function = product_calls.function_of(name, dtype, True)
    matrices = [numbers((64,), dtype, k) for k in range(1 if name == "syrk" else 2)]
    out = np.empty(8 if name == "gemv" else 64, dtype)
    starts = np.zeros(len(matrices), np.int64)

    def run(**changed):
        sizes = np.array([*(told | changed).values(), *ends], np.int64)
        function(*matrices, sizes, starts, out)
    run()
    for changed in ({"k": 9, "lda": 9}, {"lda": 9}, {"m": 9, "m_each": 9} if name != "syrk" else {"k": 9}):
        with pytest.raises(reactant.native.NativeError, match="outside its buffer"):
            run(**changed)
    starts[0] = 1
    with pytest.raises(reactant.native.NativeError, match="outside its buffer"):
        run()


@pytest.mark.slow
def test_threads_of_the_library_after_calls():
    """SciPy's own products have as many threads as before, whatever the user chose."""
    program = textwrap.dedent("""
        import numpy as np, ctypes, reactant
        from reactant.native import blas
        a = np.ones((700, 700))
        get = lambda: ctypes.CFUNCTYPE(ctypes.c_int)(blas.library()["get"])()
        before = get()
        assert np.array_equal(reactant.jit(lambda a, b: a @ b)(a, a + 1), a @ (a + 1))
        print(before, get())
    """)
    if not blas.divides():
        pytest.skip("the library cannot be told")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True,
                          env=os.environ | {"OPENBLAS_NUM_THREADS": "1"})
    assert done.stdout.split() == ["1", "1"]


def test_products_are_read_without_copies():
    """No transposes for what lies as rows or columns of matrices."""
    a, b = numbers((200, 300), "complex128"), numbers((200, 300), "complex128", 1)
    text = reactant.jit(lambda a, b: a.T @ b).lower(a, b).compile().as_text()
    assert "transpose" not in text and "copy(" not in text and "dot(" not in text


def test_factors_that_do_not_lie_as_matrices(any_size):
    """Extents of one lie in any way; others are turned first."""
    a, b = numbers((4, 1, 6, 5), "float64"), numbers((5, 1, 6, 7), "float64")
    close(reactant.jit(lambda a, b: np.einsum("axky,yxkb->ab", a, b))(a, b), np.einsum("axky,yxkb->ab", a, b))
    assert products.LARGEST == 2 ** 31 - 1
