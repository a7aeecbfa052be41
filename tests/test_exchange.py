"""Programs out to files and back: text, portable artifacts, jax.export; called, compiled, differentiated."""
import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant.frontends.jax.stablehlo import InvalidArtifact


def smooth(x, weight=0.25):
    y = np.zeros_like(x)
    y[1:-1] = weight * (x[2:] + x[:-2])
    return y, (y**2).sum()


X = np.linspace(0.0, 1.0, 9)


def assert_smooth(found, x=X):
    for a, b in zip(found, smooth(x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("name", ["smooth.mlir", "smooth.mlirbc"])
def test_saved_and_loaded(tmp_path, name):
    reactant.export(smooth, X, 0.25).save(tmp_path / name)
    loaded = reactant.load(tmp_path / name)
    assert_smooth(loaded(X, 0.25))
    assert_smooth(reactant.load(str(tmp_path / name))(X, 0.25))
    assert (loaded.__name__, len(loaded.inputs), len(loaded.outputs)) == ("smooth", 2, 2)
    assert "float64[9]" in repr(loaded)


def test_loaded_programs_are_functions_like_others():
    loaded = reactant.load(reactant.export(smooth, X, 0.25).stablehlo())

    def program(x):
        y, total = loaded(x * 2, 0.25)
        return y.sum() * total

    def plain(x):
        y, total = smooth(x * 2)
        return y.sum() * total

    assert np.isclose(reactant.jit(program)(X), plain(X))
    eps = 1e-6
    slope = (plain(X + eps * X) - plain(X - eps * X)) / (2 * eps)
    assert np.isclose(reactant.grad(program)(X) @ X, slope, rtol=1e-6)
    text = reactant.code_hlo(program, X)
    assert "call" not in text


def test_device_arrays_stay_on_the_device():
    loaded = reactant.load(reactant.export(lambda x: x + 1, X).stablehlo())
    assert isinstance(loaded(reactant.array(X)), reactant.DeviceArray)


def test_jax_functions_are_exported_and_loaded():
    x = jnp.arange(4.0, dtype=jnp.float32)
    loaded = reactant.load(reactant.export(lambda a: jnp.sin(a) @ a, x).stablehlo())
    np.testing.assert_allclose(loaded(np.asarray(x)), np.sin(np.arange(4.0)) @ np.arange(4.0), rtol=1e-5)


@pytest.mark.parametrize("function", [jax.scipy.special.erfinv, jax.scipy.special.gammaln, jax.scipy.special.i1e,
                                      jnp.sinh, lambda x: jax.lax.top_k(x, 2)[1]])
def test_operations_that_stablehlo_does_not_have(function):
    x = np.linspace(0.2, 0.9, 12, dtype=np.float32).reshape(3, 4)
    loaded = reactant.load(reactant.export(function, x).stablehlo())
    np.testing.assert_allclose(loaded(x), function(x), rtol=1e-5)


def test_jax_export():
    exported = reactant.export(smooth, X, 0.25).jax(platforms=("cpu", "cuda"))
    assert exported.platforms == ("cpu", "cuda")
    with jax.enable_x64(True):
        assert_smooth(exported.call(X, 0.25))


def test_arguments_written_and_arrays_from_outside():
    table = np.random.default_rng(0).random(4000)

    def add(x):
        x += table
        return x.sum()

    export = reactant.export(add, np.zeros(4000))
    total, final = reactant.load(export.stablehlo())(np.ones(4000))
    assert np.isclose(total, (table + 1).sum())
    np.testing.assert_array_equal(final, table + 1)


def test_older_versions_are_written():
    assert reactant.export(smooth, X, 0.25).stablehlo("1.0.0")[:4] == b"ML\xefR"
    with pytest.raises(reactant.ReactantError, match="cannot be written for StableHLO 99.0.0"):
        reactant.export(smooth, X, 0.25).stablehlo("99.0.0")


def test_what_cannot_be_loaded():
    with pytest.raises(InvalidArtifact, match="no StableHLO module"):
        reactant.load("func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {\n nonsense }")
    with pytest.raises(InvalidArtifact, match="only tensors of static shape"):
        reactant.load("func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n return %x : tensor<?xf32> }")
    with pytest.raises(InvalidArtifact, match="has no function @main"):
        reactant.load("func.func @other(%x: tensor<3xf32>) -> tensor<3xf32> {\n return %x : tensor<3xf32> }")
    with pytest.raises(InvalidArtifact):
        reactant.load(b"ML\xefR garbage")
    with pytest.raises(InvalidArtifact, match="has no function @main"):
        reactant.load("")
    with pytest.raises(TypeError, match=r"takes a path, StableHLO text or bytes, not NoneType"):
        reactant.load(None)
    with pytest.raises(FileNotFoundError):
        reactant.load("missing.mlir")


def test_arguments_that_do_not_fit():
    loaded = reactant.load(reactant.export(smooth, X, 0.25).stablehlo())
    with pytest.raises(TypeError, match=r"Argument 0 of main is float64\[9\], not float64\[3\]"):
        loaded(np.ones(3), 0.25)
    with pytest.raises(TypeError, match="takes 2 arrays, 1 are given"):
        loaded(X)
    with pytest.raises(TypeError, match=r"not float32\[9\]"):
        loaded(X.astype(np.float32), 0.25)


def test_one_export_gives_every_form():
    """Writing one form leaves the program as it is for the next."""
    export = reactant.export(smooth, X, 0.25)
    first = export.text()
    artifact = export.stablehlo()
    assert export.text() == first and export.stablehlo() == artifact
    assert_smooth(reactant.load(export.text())(X, 0.25))
    with jax.enable_x64(True):
        assert_smooth(export.jax().call(X, 0.25))


@pytest.mark.parametrize("function", [lambda x: (x + 1, x[:1]), lambda x: {"sum": x.sum(), "same": x}, lambda x: x[1:]])
def test_results_outside_of_the_program_are_not_dropped(function):
    """The artifact had fewer results than the function."""
    with pytest.raises(reactant.UnsupportedError, match="(?s)view of one.*Return a copy"):
        reactant.export(function, X)
    with pytest.raises(reactant.UnsupportedError, match=r"(?s)returns array\(\[0, 1, 2\]\) whatever .*Leave it out"):
        reactant.export(lambda x: (x + 1, np.arange(3)), X)
    first, second = reactant.load(reactant.export(lambda x: (x + 1, x[1:].copy()), X).stablehlo())(X)
    np.testing.assert_array_equal(first, X + 1)
    np.testing.assert_array_equal(second, X[1:])


@pytest.mark.parametrize("function", [np.linalg.solve, lambda a, b: np.linalg.eigvalsh(a + a.T) @ b,
                                      lambda a, b: np.linalg.svd(a)[1] * np.linalg.det(a) + b])
def test_artifacts_of_linear_algebra(function):
    """What jax says about sharding its calls cannot be written."""
    a, b = np.random.default_rng(3).random((4, 4)) + 2 * np.eye(4), np.arange(4.0)
    artifact = reactant.export(function, a, b).stablehlo()
    found, held = reactant.load(artifact)(a, b)
    np.testing.assert_allclose(found, function(a, b), rtol=1e-12)
    assert held.dtype == bool and held.all()


def test_an_argument_that_is_written_and_returned_is_one_result():
    def step(u):
        u[1:-1] = u[:-2] + u[2:]
        return u

    np.testing.assert_array_equal(reactant.load(reactant.export(step, X).stablehlo())(X), step(X.copy()))
