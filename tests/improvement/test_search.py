"""`reactant.improve` from a function to its versions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant.improvement.programs import right_bits
from reactant.precision.improvement import extra, truth
from reactant.precision.improvement.identities import parsed

FUNCTIONS = ("sqrt", "exp", "log", "sin", "cos")
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


def same_bits(got, wanted):
    """As `assert_array_equal`, and the signs of zeros."""
    np.testing.assert_array_equal(got, wanted)
    known = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(got)[known], np.signbit(wanted)[known])


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
        same_bits(got[~seen], plain[~seen])
        assert np.allclose(got[seen], -0.5 * np.log1p(-x[seen]), rtol=1e-6 if version.bits < 30 else 1e-2 * 2.0**-10)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_values_in_loops_that_were_not_seen():
    def halved(x, count):
        return jax.lax.fori_loop(0, count, lambda _, v: -0.5 * jnp.log(1 - v), x)

    found = reactant.improve(halved, np.float32(SMALL), np.int32(4), samples=0, objective="accuracy")
    assert len(found.versions) > 1 and "log(1 - x0) * (-1/2)" in found.explain()
    few = [0.5, 0.9, 1.0, 7.0, -1.0, -1e-5, np.nan, np.inf, -np.inf, -1e38]     # 0 is seen: 1 - 1e-12 is 1
    x = np.concatenate([few, SMALL]).astype(np.float32)
    plain = np.asarray(reactant.jit(halved)(x, np.int32(4)))
    for version in found.versions:
        same_bits(np.asarray(version.function(x, np.int32(4)))[:len(few)], plain[:len(few)])


def random_expression(random, depth):
    """A text of x, y and small numbers; most values near zero are lost by its sums."""
    if depth == 0:
        return random.choice(["x", "y", "x", "y", "1", "2", "0.5"])
    inner, other = (random_expression(random, depth - 1) for _ in range(2))
    return random.choice([f"({inner} + {other})", f"({inner} - {other})", f"({inner} * {other})",
                          f"({inner} / (2 + {other} * {other}))", f"sqrt(1 + {inner} * {inner})", f"exp({inner})",
                          f"log(1 + {inner} * {inner})", f"sin({inner})", f"cos({inner})"])


@pytest.mark.parametrize("seed", [pytest.param(k, marks=[pytest.mark.slow] if k else []) for k in range(16)])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_random_expressions_keep_their_word(seed):
    """On other arguments from the ranges that were seen each version is as right as its row says, to a bit, against
    mpmath; outside of them each answer is the program's own, bit for bit."""
    random = np.random.default_rng(seed)
    text = f"{random_expression(random, 2)} * x - {random_expression(random, 3)} * y"
    function, root = eval(f"lambda x, y: {text}", {n: getattr(np, n) for n in FUNCTIONS}), parsed(text, "xy")
    draw = [10 ** random.uniform(-6, 0, (3, 400)) for _ in range(2)]
    ends = [np.array([1e-6, 1.0]), np.array([1.0, 1e-6])]
    seen = [np.append(each[0], end) for each, end in zip(draw, ends, strict=True)]
    found = reactant.improve(function, *seen, samples=0)
    fresh = [each[1] for each in draw]
    exact = truth.in_reals(root, fresh, fresh[0].dtype)[0][root]
    far = [np.concatenate([OUTSIDE, each[2], x]) for each, x in zip(draw, (-draw[0][2], draw[1][2]), strict=True)]
    far[1][len(OUTSIDE):-400] += 1.5
    outside = ~np.all([(each >= 1e-6) & (each <= 1) for each in far], axis=0)
    plain = np.asarray(found.versions[0].function(*far))
    for version in found.versions:
        bits, _ = right_bits([np.asarray(version.function(*fresh))], [exact])
        assert bits > version.bits - 1, (text, version)
        same_bits(np.asarray(version.function(*far))[outside], plain[outside])


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


def test_float64_arrays_of_jax_without_64_bits():
    found = reactant.improve(lambda x: jnp.sqrt(x + 1) - jnp.sqrt(x), np.geomspace(1.0, 1e6, 500), samples=1,
                             objective="accuracy")
    assert found.front[-1].bits > found.versions[0].bits + 3
