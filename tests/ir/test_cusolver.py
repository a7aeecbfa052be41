"""Linear algebra for GPUs, by what jax lowers for one: to LAPACK's form, where it runs here, and back."""
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jaxlib.mlir import ir

import reactant
from reactant import exchange
from reactant.errors import UnsupportedError
from reactant.frontends.session import jax_calls
from reactant.frontends.session.jax_calls import splice
from reactant.ir import cusolver, modules, ops
from reactant.ir.context import building
from reactant.ir.types import shape_of
from reactant.runtime.executable import Executable
from tests.oracle import assert_same

DTYPES = ("float32", "float64", "complex64", "complex128")


def numbers(*shape, dtype="float64"):
    rng = np.random.default_rng(sum(shape))
    found = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        found = found + 1j * rng.standard_normal(shape)
    return found.astype(dtype)


def definite(*shape, dtype="float64"):
    a = numbers(*shape, dtype=dtype)
    return a @ np.swapaxes(a.conj(), -1, -2) + shape[-1] * np.eye(shape[-1], dtype=dtype)


def products(u, s, vh):
    """What does not depend on the signs of vectors."""
    return (u[..., :s.shape[-1]] * s[..., None, :]) @ vh[..., :s.shape[-1], :]


def svd(full):
    def function(a):
        u, s, vh = lax.linalg.svd(a, full_matrices=full)
        return s, products(u, s, vh), jnp.abs(u) if full and a.shape[-2] <= a.shape[-1] else u.shape[-1]
    return function


def eigenvalues(a):
    """Left to jax's choice of library: cuSOLVER where its version is known to have it."""
    values, vectors = lax.linalg.eig(a, compute_left_eigenvectors=False)
    return a @ vectors - vectors * values[..., None, :], jnp.sum(values, -1), jnp.sum(values**2, -1)


def both_sides(a):
    values, left, right = lax.linalg.eig(a)
    return a @ right - right * values[..., None, :], jnp.swapaxes(left.conj(), -1, -2) @ a - values[..., None] \
        * jnp.swapaxes(left.conj(), -1, -2)


def householder(a, c):
    packed, taus = lax.linalg.geqrf(a) if hasattr(lax.linalg, "geqrf") else jax._src.lax.linalg.geqrf(a)
    return lax.linalg.householder_product(packed, taus), jax._src.lax.linalg.ormqr(packed, taus, c, transpose=True)


PROGRAMS = {
    "cholesky": (lambda a: lax.linalg.cholesky(a, symmetrize_input=False), lambda d: [definite(2, 4, 4, dtype=d)]),
    "lu": (lambda a: lax.linalg.lu(a), lambda d: [numbers(5, 3, dtype=d)]),
    "lu of a stack": (lambda a: lax.linalg.lu(a), lambda d: [numbers(2, 3, 3, 4, dtype=d)]),
    "solve": (jnp.linalg.solve, lambda d: [numbers(3, 4, 4, dtype=d), numbers(3, 4, 2, dtype=d)]),
    "triangular": (lambda a, b: (lax.linalg.triangular_solve(a, b, left_side=True, lower=True),
                                 lax.linalg.triangular_solve(a, jnp.swapaxes(b, -1, -2), lower=False, transpose_a=True,
                                                             unit_diagonal=True)),
                   lambda d: [definite(2, 4, 4, dtype=d), numbers(2, 4, 3, dtype=d)]),
    "qr": (lambda a: lax.linalg.qr(a, full_matrices=False), lambda d: [numbers(2, 5, 3, dtype=d)]),
    "full qr": (lambda a: lax.linalg.qr(a, full_matrices=True), lambda d: [numbers(5, 3, dtype=d)]),
    "pivoted qr": (lambda a: lax.linalg.qr(a, full_matrices=False, pivoting=True), lambda d: [numbers(5, 3, dtype=d)]),
    "reflectors": (householder, lambda d: [numbers(5, 3, dtype=d), numbers(5, 2, dtype=d)]),
    "eigh": (lambda a: lax.linalg.eigh(a, lower=False, symmetrize_input=False)[1], lambda d: [definite(3, 3, dtype=d)]),
    "tridiagonal": (lambda a: lax.linalg.tridiagonal(a)[1:3], lambda d: [definite(4, 4, dtype=d)]),
    "eig": (eigenvalues, lambda d: [numbers(4, 4, dtype=d)]),
    "eig, both sides": (both_sides, lambda d: [numbers(2, 4, 4, dtype=d)]),
    "singular values": (lambda a: lax.linalg.svd(a, compute_uv=False), lambda d: [numbers(2, 5, 3, dtype=d)]),
    "svd": (svd(False), lambda d: [numbers(2, 5, 3, dtype=d)]),
    "wide svd": (svd(False), lambda d: [numbers(3, 5, dtype=d)]),
    "full svd": (svd(True), lambda d: [numbers(3, 5, dtype=d)]),
    "larger svd": (svd(False), lambda d: [numbers(40, 50, dtype=d)]),
    "largest svd": (svd(False), lambda d: [numbers(1030, 3, dtype=d)]),
    "widest svd": (svd(False), lambda d: [numbers(3, 1030, dtype=d)]),
    "full widest svd": (svd(True), lambda d: [numbers(3, 1030, dtype=d)]),
    "values of the widest": (lambda a: lax.linalg.svd(a, compute_uv=False), lambda d: [numbers(3, 1030, dtype=d)]),
    "svd by QR": (lambda a: lax.linalg.svd(a, compute_uv=False, algorithm=lax.linalg.SvdAlgorithm.QR),
                  lambda d: [numbers(5, 3, dtype=d)]),
    "three diagonals": (lax.linalg.tridiagonal_solve,
                        lambda d: [numbers(4, dtype=d), 9 + numbers(4, dtype=d), numbers(4, dtype=d),
                                   numbers(4, 2, dtype=d)]),
}


def lowered(function, arrays, platform):
    with jax.enable_x64(True):
        return jax.jit(function).trace(*arrays).lower(lowering_platforms=(platform,)).as_text()


def calls(module):
    """Calls of libraries and triangular solves with all that is said of them, in order."""
    found = []
    for op in modules.walk(module):
        if op.name in (cusolver.CALL, cusolver.SOLVE):
            told = {name: str(op.attributes[name]) for name in op.attributes if name not in (
                "sdy.sharding_rule", "has_side_effect", "called_computations", "api_version", "operand_layouts",
                "output_operand_aliases")}
            aliased = op.attributes["output_operand_aliases"] if "output_operand_aliases" in op.attributes else ()
            found.append((op.name, told, [str(a) for a in aliased], [str(v.type) for v in op.operands],
                          [str(r.type) for r in op.results]))
    return found


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_jax_lowers_for_a_gpu_runs_on_a_cpu(name, dtype):
    function, make = PROGRAMS[name]
    arrays = make(dtype)
    expected = jax.tree.leaves(_run(lowered(function, arrays, "cpu"), arrays))
    with building():
        module = modules.parse(lowered(function, arrays, "cuda"))
        assert "cu" in str(calls(module)) or name == "triangular"
        cusolver.as_lapack(module)
        modules.run_passes(module, "inline,symbol-dce")
        left = [ops.target_of(op) for op in modules.walk(module)
                if op.name == cusolver.CALL and not ops.target_of(op).startswith("lapack_")]
        assert set(left) <= {"cu_lu_pivots_to_permutation"}
        assert not [op for op in modules.walk(module) if op.name == cusolver.SOLVE]
        if left:
            _permute_on_a_cpu(module)
        text = str(module)
    tolerance = 2e-4 if np.finfo(dtype).bits == 32 else 1e-9
    assert_same(expected, _run(text, arrays), rtol=tolerance, atol=tolerance)


def _run(text, arrays):
    with building():
        return Executable(modules.parse(text))(list(arrays))


def _permute_on_a_cpu(module):
    """The order of rows that swaps make: a CPU has no call for it."""
    for op in list(modules.walk(module)):
        if ops.target_of(op) == "cu_lu_pivots_to_permutation":
            shape, size = shape_of(op.operands[0]), shape_of(op.result)[-1]
            text = jax.jit(lax.linalg.lu_pivots_to_permutation, static_argnums=1).lower(
                jax.ShapeDtypeStruct(shape, np.int32), size).as_text()
            with op.location, ir.InsertionPoint(op):
                (made,) = splice(modules.parse(text), list(op.operands))
                op.result.replace_all_uses_with(made)
            op.erase()


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("name", sorted({*PROGRAMS} - {"eig"}))
def test_a_gpu_gets_what_jax_gives_it(name, dtype):
    """All but triangular solves, which are alike, and the order of rows, which jax has a call for."""
    function, make = PROGRAMS[name]
    arrays = make(dtype)
    with building():
        wanted = modules.parse(lowered(function, arrays, "cuda"))
        for start in (lowered(function, arrays, "cpu"), _in_lapacks_form(wanted)):
            module = modules.parse(start)
            cusolver.for_gpu(module, "cuda")
            modules.verify(module)
            found, theirs = calls(module), [c for c in calls(wanted) if "pivots" not in str(c)]
            found = [c for c in found if "pivots" not in str(c)]
            if "widest" in name:        # jax says it by the order in memory, we by a transpose
                assert [c[1]["call_target_name"] for c in found] == [c[1]["call_target_name"] for c in theirs]
            else:
                assert found == theirs


def _in_lapacks_form(module):
    copy = modules.clone(module)
    cusolver.as_lapack(copy)
    return str(copy)


# ---- whole programs ------------------------------------------------------------------------------------------------

@pytest.fixture
def as_on_a_gpu(monkeypatch):
    """NumPy's functions are lowered as where the default device is a GPU."""
    monkeypatch.setattr(jax_calls, "default_device", lambda: SimpleNamespace(platform="cuda"))


def for_cuda(function, *arguments, platform="cuda"):
    """The text that XLA would get on a GPU of NVIDIA's."""
    export = reactant.export(function, *arguments)
    with jax.enable_x64(True):
        given = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in export.body.inputs]
        return export._function().trace(*given).lower(lowering_platforms=(platform,)).as_text()


def inverse(a, b):
    return np.sum(np.linalg.solve(a, b) ** 2) + np.linalg.slogdet(a)[1]


def roots(a, b):
    values, vectors = np.linalg.eigh(a @ a.T)
    return np.sum(np.sqrt(values)) + np.linalg.svd(b)[1].sum() + np.linalg.cholesky(a @ a.T + np.eye(len(a))).sum()


def many(a, b):
    q, r = np.linalg.qr(a)
    return (q @ r).sum() + np.abs(np.linalg.eigvals(a)).sum() + np.linalg.pinv(b).sum() + np.linalg.lstsq(b, a)[0].sum()


@pytest.mark.parametrize("function", [inverse, roots, many], ids=lambda f: f.__name__)
def test_numpy_programs_for_a_gpu(function, as_on_a_gpu):
    a, b = numbers(5, 5), numbers(5, 3)
    program = reactant.jit(function)
    assert "solver_" in for_cuda(program, a, b) and "lapack" not in for_cuda(program, a, b)


@pytest.mark.parametrize("function", [inverse, roots], ids=lambda f: f.__name__)
def test_gradients_for_a_gpu(function, as_on_a_gpu):
    text = for_cuda(reactant.jit(reactant.grad(function)), numbers(5, 5), numbers(5, 3))
    assert "solver_" in text and "lapack" not in text
    assert "stablehlo.while" not in text, "rows are put in order by a call"


def test_programs_of_a_cpu_for_a_gpu():
    """What a CPU lowered, for any platform."""
    a, b = numbers(5, 5), numbers(5, 3)
    text = for_cuda(reactant.jit(reactant.grad(inverse)), a, b)
    assert "cusolver_getrf" in text and "triangular_solve" in text and "lapack" not in text
    amd = for_cuda(reactant.jit(inverse), a, b, platform="rocm")
    assert "hipsolver_getrf" in amd and "lapack" not in amd


def test_files_are_for_the_platform_they_are_made_on(monkeypatch):
    monkeypatch.setattr(exchange, "lowered_for", lambda: "cuda")
    text = reactant.export(reactant.jit(inverse), numbers(5, 5), numbers(5, 3)).text()
    assert "cusolver_getrf" in text and "lapack" not in text


def test_what_no_gpu_has():
    with building(), pytest.raises(UnsupportedError, match="(?s)gees .the Schur form of a matrix., .* on CPUs.*cpu"):
        cusolver.for_gpu(modules.parse(lowered(lambda a: lax.linalg.schur(a)[0], [numbers(4, 4)], "cpu")), "cuda")


def test_what_a_tpu_has():
    a, b = definite(4, 4), numbers(4, 3)
    solve = reactant.jit(lambda x, y: lax.linalg.triangular_solve(x, y, left_side=True, lower=True))
    text = for_cuda(solve, a, b, platform="tpu")
    assert "stablehlo.triangular_solve" in text and "lapack" not in text
    with pytest.raises(UnsupportedError, match="LAPACK's getrf, which runs on CPUs and GPUs"):
        for_cuda(reactant.jit(inverse), a, b, platform="tpu")


def test_a_program_of_a_gpu_is_loaded_on_a_cpu(tmp_path):
    a = numbers(5, 3)
    text = lowered(lambda x: lax.linalg.qr(x, full_matrices=False)[1], [a], "cuda")
    (tmp_path / "program.mlir").write_text(text)
    (found,) = jax.tree.leaves(reactant.load(tmp_path / "program.mlir")(a))
    assert_same(found, np.linalg.qr(a)[1], rtol=1e-10, atol=1e-12)


def test_a_jax_function_of_a_gpu_is_differentiated():
    """Imported in LAPACK's form: what jax lowers for a GPU has derivatives, batches and rules as on a CPU."""
    def cubes(x):
        return jnp.sum(jnp.linalg.eigvalsh(x, symmetrize_input=False) ** 3)
    a = definite(2, 4, 4)
    with building():
        module = modules.parse(lowered(cubes, [a], "cuda"))
        cusolver.as_lapack(module)
        text = str(module)
    found = reactant.grad(reactant.load(text))(a)
    assert_same(found, reactant.grad(reactant.load(lowered(cubes, [a], "cpu")))(a), rtol=1e-10)
