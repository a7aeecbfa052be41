"""`reactant.improve` from a function to its versions."""

import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant.precision.improvement import extra

SMALL = np.geomspace(1e-12, 1e-3, 200)


def energy(strain):
    """A part of a hyperelastic energy."""
    return -0.5 * np.log(1 - strain)


@pytest.fixture(scope="module")
def found():
    return reactant.improve(energy, SMALL, samples=1)


def test_more_bits(found):
    first, best = found.versions[0], max(found.versions, key=lambda version: version.bits)
    assert first.name == "original" and first.bits < 40 and best.bits > 51.5 and best.worst > 50
    assert found.front[-1].bits == best.bits
    assert "log1p" in found.explain() and f"test_search.py:{energy.__code__.co_firstlineno + 2}" in found.explain()
    assert "original" in found.table() and str(found) == found.table()


def test_compiled_for_any_shape(found):
    better = found.best(bits=50)
    x = np.array([[1e-10, 0.5], [1.0, 2.0]])        # seen were 1e-12 to 1e-3
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(better(x), -0.5 * np.log1p(-x), rtol=1e-15)


OUTSIDE = np.array([1e-13, 0.0, -0.0, 0.5, 1.0, 7.0, -1e-5, np.nan, np.inf, -np.inf, 5e-324, 1e308, -1e308])


@pytest.mark.parametrize("x", [OUTSIDE, np.tile(OUTSIDE, (5, 1)).T, OUTSIDE[3], np.array(2.5), np.zeros(0),
                               np.concatenate([SMALL, OUTSIDE, SMALL])], ids=lambda x: str(np.shape(x)))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_values_that_were_not_seen_give_what_they_gave(found, x):
    """Bit for bit, in each version, also beside values that were seen."""
    plain = np.asarray(reactant.jit(energy)(x))
    seen = (x >= SMALL[0]) & (x <= SMALL[-1])
    for version in found.versions:
        got = np.asarray(version.function(x))
        np.testing.assert_array_equal(got[~seen], plain[~seen])
        assert np.array_equal(got[~seen & (got == 0)], plain[~seen & (plain == 0)])
        assert np.allclose(got[seen], -0.5 * np.log1p(-x[seen]), rtol=1e-6 if version.bits < 30 else 1e-2 * 2.0**-10)


def test_no_version_has_so_many(found):
    with pytest.raises(reactant.UnsupportedError, match="No version of 'energy' has 60 right bits") as caught:
        found.best(bits=60)
    assert caught.value.code == "nothing-to-improve"


def test_picture(found, tmp_path):
    pytest.importorskip("matplotlib")
    found.plot(tmp_path / "front.svg")
    assert (tmp_path / "front.svg").stat().st_size > 1000


def test_programs_of_jax_in_float32():
    def f(x):
        return jnp.log(1 - x)

    told = reactant.improve(f, np.float32(SMALL), objective="accuracy", samples=0)
    assert told.front[-1].bits > told.versions[0].bits + 8


@pytest.mark.parametrize("call, kind, text", [
    (lambda: reactant.improve(energy, SMALL, objective="size"), ValueError, "'accuracy', 'speed', 'both', not 'size'"),
    (lambda: reactant.improve(energy), reactant.UnsupportedError, "'energy' is given no arguments"),
    (lambda: reactant.improve(lambda k: k + 1, np.arange(3)), reactant.UnsupportedError, "nothing elementwise"),
    (lambda: reactant.improve(energy, SMALL, samples=[(SMALL[:5],)]), ValueError, "the shapes and dtypes"),
])
def test_refused(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_without_the_extra(monkeypatch):
    def refused(name):
        raise ImportError(name)
    monkeypatch.setattr(extra.importlib, "import_module", refused)
    extra.loaded.cache_clear()
    with pytest.raises(reactant.UnsupportedError, match="'egglog', which is not installed") as caught:
        extra.egglog()
    assert caught.value.code == "extra-not-installed" and "[equality]" in caught.value.hint


def test_fewer_guards_where_that_is_asked_for():
    """`log1p(-x)` is right for all floats: with guards="needed" it takes the place of `log(1 - x)` everywhere."""
    everywhere = reactant.improve(energy, SMALL, samples=1, guards="needed", objective="accuracy").best()
    np.testing.assert_array_equal(everywhere(np.array([1e-15])), -0.5 * np.log1p(np.array([-1e-15])))
    with pytest.raises(ValueError, match="guards is 'ranges' or 'needed', not 'none'"):
        reactant.improve(energy, SMALL, guards="none")
