"""np.random inside compiled code: distributions against their laws, reproducibility, state in loops and branches."""
from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.stats as laws

import reactant

COUNT = 20_000
SEED = 20


def drawn(method, *args, seed=SEED, **options):
    """`rng.method(*args, **options)` compiled, the seed traced."""
    def draw(seed):
        return getattr(np.random.default_rng(seed), method)(*args, **options)
    return reactant.jit(draw, traced_argnames=("seed",))(seed)


# ---- distributions ---------------------------------------------------------------------------------------------

CONTINUOUS = [
    ("random", (), laws.uniform()), ("uniform", (-2.0, 3.0), laws.uniform(-2, 5)),
    ("standard_normal", (), laws.norm()), ("normal", (1.0, 2.0), laws.norm(1, 2)),
    ("standard_exponential", (), laws.expon()), ("exponential", (3.0,), laws.expon(scale=3)),
    ("standard_gamma", (0.4,), laws.gamma(0.4)), ("gamma", (3.5, 2.0), laws.gamma(3.5, scale=2)),
    ("beta", (0.5, 2.0), laws.beta(0.5, 2)), ("beta", (0.1, 0.3), laws.beta(0.1, 0.3)),
    ("gamma", (1.0,), laws.gamma(1.0)), ("gamma", (1e6,), laws.gamma(1e6)), ("chisquare", (3.0,), laws.chi2(3)),
    ("standard_t", (4.0,), laws.t(4)), ("f", (3.0, 7.0), laws.f(3, 7)), ("standard_cauchy", (), laws.cauchy()),
    ("laplace", (1.0, 2.0), laws.laplace(1, 2)), ("logistic", (1.0, 2.0), laws.logistic(1, 2)),
    ("gumbel", (1.0, 2.0), laws.gumbel_r(1, 2)), ("lognormal", (0.5, 0.7), laws.lognorm(0.7, scale=np.exp(0.5))),
    ("rayleigh", (2.0,), laws.rayleigh(scale=2)), ("weibull", (1.5,), laws.weibull_min(1.5)),
    ("pareto", (3.0,), laws.lomax(3)), ("power", (2.5,), laws.powerlaw(2.5)),
    ("triangular", (-1.0, 0.5, 3.0), laws.triang(1.5 / 4, -1, 4)), ("wald", (1.5, 2.0), laws.invgauss(0.75, scale=2)),
    ("noncentral_chisquare", (3.0, 2.0), laws.ncx2(3, 2)), ("noncentral_chisquare", (0.5, 2.0), laws.ncx2(0.5, 2)),
    ("noncentral_f", (3.0, 8.0, 1.5), laws.ncf(3, 8, 1.5)), ("vonmises", (0.5, 2.0), laws.vonmises(2, 0.5)),
    ("vonmises", (0.0, 0.0), laws.uniform(-np.pi, 2 * np.pi)),
]
DISCRETE = [
    ("integers", (0, 7), laws.randint(0, 7)), ("integers", (-3, 4), laws.randint(-3, 4)),
    ("poisson", (3.5,), laws.poisson(3.5)), ("poisson", (40.0,), laws.poisson(40)),
    ("binomial", (10, 0.3), laws.binom(10, 0.3)), ("binomial", (200, 0.7), laws.binom(200, 0.7)),
    ("geometric", (0.2,), laws.geom(0.2)), ("geometric", (1.0,), laws.geom(1.0)),
    ("negative_binomial", (4.0, 0.4), laws.nbinom(4, 0.4)), ("logseries", (0.7,), laws.logser(0.7)),
    ("zipf", (2.5,), laws.zipf(2.5)), ("choice", (6,), laws.randint(0, 6)),
]


@pytest.mark.sampled(100)
@pytest.mark.parametrize("method, args, law", CONTINUOUS, ids=[f"{m}{a}" for m, a, _ in CONTINUOUS])
def test_continuous_laws(method, args, law):
    """Kolmogorov-Smirnov; a wrong law has a p-value of nothing, the right one above 1e-3 for this seed."""
    sample = drawn(method, *args, size=COUNT)
    assert sample.dtype == np.float64
    if method == "vonmises":
        assert np.all(np.abs(sample) <= np.pi)
        sample = np.where(sample < args[0] - np.pi, sample + 2 * np.pi, sample)
    assert laws.kstest(sample, law.cdf).pvalue > 1e-3


@pytest.mark.sampled(100)
@pytest.mark.parametrize("method, args, law", DISCRETE, ids=[f"{m}{a}" for m, a, _ in DISCRETE])
def test_discrete_laws(method, args, law):
    """Chi-square over the values expected at least ten times, the rest together."""
    sample = drawn(method, *args, size=COUNT)
    assert sample.dtype == np.int64
    values = np.arange(max(law.support()[0], -1000), min(law.support()[1], 2000) + 1).astype(int)
    expected = COUNT * law.pmf(values)
    kept = expected >= 10
    observed = np.array([np.sum(sample == v) for v in values[kept]] + [np.sum(~np.isin(sample, values[kept]))])
    expected = np.append(expected[kept], COUNT - expected[kept].sum())
    if expected[-1] < 5:
        observed, expected = observed[:-1], expected[:-1]
    if observed.size > 1:
        assert laws.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > 1e-3
    else:
        assert observed[0] == COUNT


@pytest.mark.sampled(100)
@pytest.mark.parametrize("method, args, law", [("random", (), laws.uniform()), ("standard_normal", (), laws.norm()),
                                               ("standard_exponential", (), laws.expon()),
                                               ("standard_gamma", (2.5,), laws.gamma(2.5))])
def test_single_precision(method, args, law):
    sample = drawn(method, *args, size=COUNT, dtype=np.float32)
    assert sample.dtype == np.float32
    assert laws.kstest(sample.astype(float), law.cdf).pvalue > 1e-3


def test_draws_are_independent():
    """No correlation between neighbours, between successive draws, and between seeds."""
    def draw(seed):
        rng = np.random.default_rng(seed)
        return rng.standard_normal(COUNT), rng.standard_normal(COUNT)
    run = reactant.jit(draw, traced_argnames=("seed",))
    (a, b), (c, _) = run(1), run(2)
    for x, y in ((a[1:], a[:-1]), (a, b), (a, c)):
        assert abs(np.corrcoef(x, y)[0, 1]) < 5 / np.sqrt(COUNT)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("low, high, dtype", [
    (0, 256, np.uint8), (-128, 128, np.int8), (0, 2, bool), (0, 2**32, np.uint32), (0, 3 * 2**30, np.int64),
    (-2**63, 2**63, np.int64), (0, 2**64, np.uint64), (5, 3 * 2**62, np.uint64), (-2**62, 2**62 + 2**61, np.int64)])
def test_integers_over_wide_ranges_are_uniform(low, high, dtype):
    for endpoint in (False, True):
        sample = drawn("integers", low, high - endpoint, size=COUNT, dtype=dtype, endpoint=endpoint)
        assert sample.dtype == dtype
        place = (sample.astype(object) - low).astype(float) / (high - low)
        if high - low > 1000:
            assert laws.kstest(place, "uniform").pvalue > 1e-3
        else:
            counts = np.bincount((sample.astype(object) - low).astype(int), minlength=high - low)
            assert laws.chisquare(counts).pvalue > 1e-3


@pytest.mark.slow
def test_bounds_may_be_arrays():
    low, high = np.array([[0], [10]]), np.array([13, 20, 300])
    sample = drawn("integers", low, high, size=(500, 2, 3))
    assert (sample >= low).all() and (sample < high).all()
    assert (sample.max(axis=0) >= 0.8 * high).all()

    def traced(low, high, seed):
        return np.random.default_rng(seed).integers(low, high, size=(500, 2, 3))
    sample = reactant.jit(traced)(low, high, 3)
    assert (sample >= low).all() and (sample < high).all()


@pytest.mark.slow
def test_parameters_may_be_traced():
    def draw(loc, scale, rate, seed):
        rng = np.random.default_rng(seed)
        return rng.normal(loc, scale, size=(COUNT, 2)), rng.poisson(rate), rng.normal(loc, 1.0)
    normal, poisson, single = reactant.jit(draw)(np.array([-1.0, 5.0]), 2.0, np.array([1.0, 1000.0]), 7)
    np.testing.assert_allclose(normal.mean(axis=0), [-1, 5], atol=0.1)
    assert poisson.shape == single.shape == (2,) and poisson[1] > 800


@pytest.mark.slow
def test_multivariate_normal():
    mean, cov = np.array([1.0, -2.0, 0.5]), np.array([[2.0, 0.3, 0.1], [0.3, 1.0, -0.4], [0.1, -0.4, 0.5]])

    def draw(mean, cov, method, seed):
        rng = np.random.default_rng(seed)
        return rng.multivariate_normal(mean, cov, size=COUNT, check_valid="raise", method=method)
    for method in ("svd", "eigh", "cholesky"):
        sample = reactant.jit(draw)(mean, cov, method, 3)
        np.testing.assert_allclose(sample.mean(axis=0), mean, atol=0.05)
        np.testing.assert_allclose(np.cov(sample.T), cov, atol=0.08)
    with pytest.raises(ValueError, match="not symmetric positive-semidefinite"):
        reactant.jit(draw)(mean, -cov, "svd", 3)


@pytest.mark.slow
def test_dirichlet_and_multinomial():
    alpha, p = np.array([1.0, 2.0, 3.0]), np.array([0.2, 0.3, 0.5])
    sample = drawn("dirichlet", alpha, size=COUNT)
    np.testing.assert_allclose(sample.sum(axis=1), 1)
    np.testing.assert_allclose(sample.mean(axis=0), alpha / 6, atol=0.01)
    counts = drawn("multinomial", 20, p, size=COUNT)
    assert counts.dtype == np.int64 and (counts.sum(axis=1) == 20).all()
    np.testing.assert_allclose(counts.mean(axis=0), 20 * p, rtol=0.02)
    np.testing.assert_allclose(counts.var(axis=0), 20 * p * (1 - p), rtol=0.05)


# ---- permutations and choices ----------------------------------------------------------------------------------

@pytest.mark.slow
def test_permutations_are_uniform():
    def draw(seed):
        rng = np.random.default_rng(seed)
        return rng.permuted(np.tile(np.arange(3), (COUNT, 1)), axis=1)
    rows = reactant.jit(draw)(4)
    codes = rows @ np.array([9, 3, 1])
    _, counts = np.unique(codes, return_counts=True)
    assert counts.size == 6 and laws.chisquare(counts).pvalue > 1e-3


@pytest.mark.slow
def test_long_permutations():
    """Longer than what is sorted as one word; and every element is as likely in every place."""
    for count in (2**20 + 1, 1000):
        order = drawn("permutation", count)
        np.testing.assert_array_equal(np.sort(order), np.arange(count))
        assert laws.kstest(order[: count // 2] / count, "uniform").pvalue > 1e-3
        assert abs(np.corrcoef(order, np.arange(count))[0, 1]) < 5 / np.sqrt(count)


@pytest.mark.slow
def test_permutation_and_shuffle_keep_the_rows():
    def mix(a, b, seed):
        rng = np.random.default_rng(seed)
        rng.shuffle(a)
        rng.shuffle(b[1:], axis=1)
        return rng.permutation(10), rng.permutation(b, axis=1), rng.permuted(b), rng.permutation(b.shape[0])
    a, b = np.arange(12.0), np.arange(12).reshape(3, 4)
    order, columns, mixed, small = reactant.jit(mix)(a, b, 5)
    assert sorted(a) == list(range(12)) and list(a) != list(range(12))
    assert list(b[0]) == [0, 1, 2, 3] and sorted(b[1]) == [4, 5, 6, 7] and (b[2] - b[1] == 4).all()
    assert sorted(order) == list(range(10)) and sorted(small) == [0, 1, 2]
    assert sorted(map(tuple, columns.T)) == sorted(map(tuple, b.T))
    assert sorted(mixed.ravel()) == list(range(12))


@pytest.mark.sampled(100)
@pytest.mark.parametrize("options, mean", [({}, 2.0), ({"p": np.array([0.1, 0.0, 0.4, 0.0, 0.5])}, 2.8)])
def test_choice_with_replacement(options, mean):
    sample = drawn("choice", 5, size=COUNT, **options)
    np.testing.assert_allclose(sample.mean(), mean, atol=0.05)
    assert set(sample) == set(np.flatnonzero(options.get("p", np.ones(5))))


@pytest.mark.slow
def test_choice_without_replacement():
    def draw(p, seed):
        rng = np.random.default_rng(seed)
        return rng.choice(np.arange(10.0, 15.0), 3, replace=False), rng.choice(5, (2, 2), replace=False, p=p)
    run = reactant.jit(draw, traced_argnames=("seed",))
    p = np.array([0.1, 0.2, 0.3, 0.4, 0.0])
    firsts = []
    for seed in range(300):
        plain, weighted = run(p, seed)
        assert len(set(plain)) == 3 and len(set(weighted.ravel())) == 4 and 4 not in weighted
        firsts.append(weighted[0, 0])
    assert laws.chisquare(np.bincount(firsts, minlength=4), 300 * p[:4]).pvalue > 1e-3
    with pytest.raises(ValueError, match="Fewer non-zero entries in p than size"):
        reactant.jit(lambda p: np.random.default_rng(0).choice(5, 5, replace=False, p=p))(p)


@pytest.mark.slow
def test_choice_of_rows_and_single_elements():
    rows = np.arange(12.0).reshape(4, 3)
    found = reactant.jit(lambda a: np.random.default_rng(1).choice(a, 6))(rows)
    assert found.shape == (6, 3) and all(tuple(r) in set(map(tuple, rows)) for r in found)
    found = reactant.jit(lambda a: np.random.default_rng(1).choice(a, 2, axis=1))(rows)
    assert found.shape == (4, 2)
    assert isinstance(drawn("choice", 5), int)
    assert isinstance(reactant.jit(lambda a: np.random.default_rng(1).choice(a))(rows[0]), np.float64)


# ---- kinds, shapes, errors -------------------------------------------------------------------------------------

@pytest.mark.sampled(10)
@pytest.mark.parametrize("method, args, options", [
    ("random", (), {}), ("random", ((2, 3),), {}), ("random", (), {"size": ()}),
    ("random", (), {"dtype": np.float32}),
    ("normal", (), {}), ("normal", (np.zeros(3), 1.0), {}), ("normal", (np.zeros(()),), {}),
    ("normal", (np.zeros(3), np.ones((2, 1))), {}), ("normal", (0.0, 1.0, 4), {}), ("integers", (10,), {}),
    ("integers", (10,), {"dtype": np.int8}), ("integers", (10,), {"dtype": int}), ("integers", ([1, 2], [5, 9]), {}),
    ("integers", (3.7,), {}), ("integers", (5,), {"size": 0}), ("poisson", (3.0,), {}),
    ("binomial", (3, 0.5), {"size": 2}), ("choice", (5,), {}), ("choice", ([1, 2, 3], 2), {}),
    ("permutation", (4,), {}), ("permuted", ([1, 2, 3],), {}),
    ("geometric", (0.2,), {}), ("gamma", (2.0,), {}), ("dirichlet", ([1.0, 2.0],), {}),
    ("gamma", (2.0,), {"size": 0}),
    ("multinomial", (5, [0.2, 0.8]), {}), ("standard_gamma", (2.0,), {"dtype": np.float32}), ("zipf", (3.0,), {}),
    ("multivariate_normal", ([0.0, 0.0], np.eye(2)), {}), ("logseries", (0.3,), {}), ("vonmises", (0.0, 1.0), {}),
    ("weibull", (0.0,), {"size": 3}), ("gamma", (0.0,), {"size": 3}),
], ids=str)
def test_results_are_of_the_kind_numpy_gives(method, args, options):
    plain = getattr(np.random.default_rng(0), method)(*args, **options)
    compiled = drawn(method, *args, **options)
    assert type(compiled) is type(plain)
    assert np.shape(compiled) == np.shape(plain)
    assert getattr(compiled, "dtype", None) == getattr(plain, "dtype", None)


@pytest.mark.parametrize("method, args, options", [
    ("normal", (0, -1), {}), ("uniform", (0, np.inf), {}), ("uniform", (1, 0), {}), ("integers", (5, 5), {}),
    ("integers", (5, 4), {"endpoint": True}), ("integers", (0, 300), {"dtype": np.int8}),
    ("integers", (-1, 3), {"dtype": np.uint8}), ("integers", (0, 5), {"dtype": float}),
    ("random", (), {"dtype": int}),
    ("choice", (5, 7), {"replace": False}), ("choice", (5, 2), {"p": [0.5, 0.5]}),
    ("choice", (2, 2), {"p": [0.5, 0.6]}), ("choice", (2, 2), {"p": [1.5, -0.5]}),
    ("choice", (3, 3), {"replace": False, "p": [0.5, 0.5, 0]}),
    ("choice", (0,), {}), ("choice", ([],), {}), ("choice", (1.5,), {}), ("poisson", (-1,), {}),
    ("poisson", (1e19,), {}), ("binomial", (-1, 0.5), {}), ("binomial", (1, 1.5), {}),
    ("triangular", (1, 0, 2), {}), ("beta", (0, 1), {}),
    ("gamma", (-1,), {}), ("geometric", (0,), {}), ("exponential", (-1,), {}), ("standard_t", (0,), {}),
    ("lognormal", (0, -1), {}), ("weibull", (-1,), {}), ("chisquare", (0,), {}), ("normal", (0, 1, -1), {}),
    ("laplace", (0, -1), {}), ("pareto", (-1,), {}), ("power", (0,), {}), ("wald", (0, 1), {}),
    ("gumbel", (0, -1), {}),
    ("f", (0, 1), {}), ("negative_binomial", (0, 0.5), {}), ("negative_binomial", (1, 1.2), {}),
    ("logseries", (1,), {}), ("zipf", (1,), {}), ("rayleigh", (-1,), {}), ("logistic", (0, -1), {}),
    ("shuffle", (5,), {}),
    ("multivariate_normal", ([0, 0], np.eye(3)), {}), ("permutation", (2.5,), {}),
], ids=str)
def test_errors_are_those_of_numpy(method, args, options):
    with pytest.raises(Exception) as plain:
        getattr(np.random.default_rng(0), method)(*args, **options)
    with pytest.raises(plain.type) as compiled:
        drawn(method, *args, **options)
    assert str(compiled.value).split("\n")[0] == str(plain.value)


@pytest.mark.slow
def test_gamma_of_nan_and_infinity_ends():
    found = drawn("gamma", np.array([np.nan, np.inf, 0.0, 1e-300, 2.0]))
    assert np.isnan(found[0]) and np.isinf(found[1]) and (found[2:4] == 0).all() and 0 < found[4] < 100


def test_conditions_on_traced_parameters_raise_after_the_call():
    def draw(scale):
        return np.random.default_rng(0).normal(0.0, scale, size=3)
    run = reactant.jit(draw)
    assert run(1.0).shape == (3,)
    with pytest.raises(ValueError, match="scale < 0"):
        run(-1.0)


# ---- seeds and state -------------------------------------------------------------------------------------------

@pytest.mark.slow
def test_same_seed_same_numbers_known_or_traced():
    def draw(seed):
        rng = np.random.default_rng(seed)
        return rng.random(4), rng.normal(size=4)
    known, traced = reactant.jit(draw), reactant.jit(draw, traced_argnames=("seed",))
    for seed in (0, 1, 2**40):
        np.testing.assert_array_equal(known(seed), known(seed))
        np.testing.assert_array_equal(known(seed), traced(seed))
    assert not np.array_equal(traced(0), traced(1))
    with pytest.raises(ValueError, match="expected non-negative integer"):
        known(-1)
    with pytest.raises(ValueError, match="expected non-negative integer"):
        traced(-1)


@pytest.mark.parametrize("seed", [2**70, [1, 2, 3], np.array([4, 5]), np.random.SeedSequence(3), np.uint32(7)], ids=str)
def test_seeds_of_other_kinds(seed):
    def draw():
        return np.random.default_rng(seed).random(3)
    np.testing.assert_array_equal(reactant.jit(draw)(), reactant.jit(draw)())


def test_the_state_advances_in_loops_and_branches():
    def walk(n, flag, seed):
        rng = np.random.default_rng(seed)
        path = np.zeros(n)
        for i in range(1, n):
            path[i] = path[i - 1] + rng.normal()
        if flag > 0.5:
            rng.random(3)
        return path, rng.random(2)
    run = reactant.jit(walk)
    path, after = run(2000, 1.0, 3)
    steps = np.diff(path)
    assert np.unique(steps).size == 1999 and abs(steps.mean()) < 0.1 and abs(steps.std() - 1) < 0.1
    same, other = run(2000, 0.0, 3)
    np.testing.assert_array_equal(path, same)
    assert not np.array_equal(after, other)


@pytest.mark.slow
def test_a_while_loop_that_rejects():
    """Points in the unit disc, drawn until accepted."""
    def accepted(seed, n):
        rng = np.random.default_rng(seed)
        points = np.zeros((n, 2))
        count = 0
        while count < n:
            p = rng.uniform(-1.0, 1.0, size=2)
            if p[0] ** 2 + p[1] ** 2 <= 1.0:
                points[count] = p
                count += 1
        return points
    points = reactant.jit(accepted)(1, 500)
    radius = np.hypot(*points.T)
    assert laws.kstest(radius**2, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.MT19937, np.random.PCG64DXSM, np.random.Philox,
                                  np.random.SFC64])
def test_bit_generators_are_their_seeds(kind):
    def draw(seed):
        return np.random.Generator(kind(seed)).random(3), np.random.default_rng(kind(seed)).random(3)
    a, b = reactant.jit(draw)(7)
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(a, drawn("random", 3, seed=7))


def test_generators_are_passed_around_and_spawned():
    class Model:
        def __init__(self, rng):
            self.rng = rng

        def step(self):
            return self.rng.random()

    def run(seed):
        rng = np.random.Generator(np.random.PCG64(seed))
        assert isinstance(rng, np.random.Generator) and np.random.default_rng(rng) is rng
        model = Model(rng)
        first, second = model.step(), model.step()
        child, other = rng.spawn(2)
        return first, second, child.random(), other.random(), rng.random()
    found = reactant.jit(run)(3)
    assert len(set(found)) == 5


def test_out():
    def fill(out, seed):
        rng = np.random.default_rng(seed)
        rng.random(out=out)
        rng.standard_normal(out=out[:2])
    out = np.zeros(4)
    reactant.jit(fill)(out, 3)
    assert len(set(out)) == 4
    with pytest.raises(TypeError, match="Supplied output array has the wrong type"):
        reactant.jit(fill)(np.zeros(4, np.float32), 3)


OUTSIDE = np.random.default_rng(1)


def unseeded(x):
    return x + np.random.default_rng().random()


def unseeded_bit_generator(x):
    return x + np.random.Generator(np.random.PCG64()).random()


def hidden_state(x):
    return x + np.random.rand(3)


def hidden_state_of_matlib(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")     # it is deprecated
        from numpy.matlib import rand
    return x + np.asarray(rand(1, 3))[0]


def made_outside(x):
    return x + OUTSIDE.random(3)


def made_outside_and_wrapped(x):
    return x + np.random.default_rng(OUTSIDE).random(3)


def as_bytes(x):
    np.random.default_rng(0).bytes(3)
    return x


def shuffled_list(x):
    np.random.default_rng(0).shuffle([1, 2, 3])
    return x


@pytest.mark.parametrize("f, text", [
    (unseeded, "default_rng.. without a seed inside compiled code would repeat"),
    (unseeded_bit_generator, "without a seed"),
    (hidden_state, "np.random.rand draws from a state that the compiled program has not seeded"),
    (hidden_state_of_matlib, "np.matlib.rand draws from a state that the compiled program has not seeded"),
    (made_outside, "A random generator made outside keeps its state outside"),
    (made_outside_and_wrapped, "A random generator made outside keeps its state outside"),
    (as_bytes, "np.random.Generator.bytes is not supported"),
    (shuffled_list, "Shuffle an array, or use rng.permutation"),
])
def test_refusals(f, text):
    with pytest.raises(reactant.errors.UnsupportedError, match=text):
        reactant.jit(f)(np.ones(3))


def test_a_generator_as_an_argument_is_refused():
    with pytest.raises((reactant.errors.UnsupportedError, TypeError)):
        reactant.jit(lambda rng: rng.random(3))(np.random.default_rng(0))
