"""`np.random.seed` and `RandomState` of known seeds: NumPy's numbers, and the state that the plain function leaves."""
import numpy as np
import pytest

import reactant
from reactant.frontends.numpy.legacy_random import DRAWS

GIVEN = {"binomial": (9, 0.4), "chisquare": (3.0,), "dirichlet": ([1.0, 2.0],), "f": (3, 4), "gamma": (2.0,),
         "geometric": (0.3,), "hypergeometric": (5, 6, 4), "logseries": (0.6,), "multinomial": (5, [0.2, 0.8]),
         "multivariate_normal": ([0.0, 1.0], [[1.0, 0.2], [0.2, 2.0]]), "negative_binomial": (4, 0.3),
         "noncentral_chisquare": (3, 1.0), "noncentral_f": (3, 4, 1.0), "pareto": (2.0,), "power": (2.0,),
         "standard_gamma": (2.0,), "standard_t": (3.0,), "triangular": (0.0, 1.0, 3.0), "vonmises": (0.0, 1.0),
         "wald": (1.0, 2.0), "weibull": (2.0,), "zipf": (2.5,), "beta": (1.0, 2.0), "rand": (3, 2), "randn": (4,),
         "randint": (2, 9), "random_integers": (7,), "choice": (6,), "shuffle": (np.arange(7),), "permutation": (6,)}


def both(function, *args):
    """Results and the state left, plain and compiled, each after the same state."""
    found = []
    for run in (function, reactant.jit(function)):
        np.random.seed(99)
        found.append((run(*args), np.random.random_sample(3)))
    return found


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_each_distribution(name):
    def draw(x):
        source = np.random.RandomState(5)
        if name == "shuffle":
            order = np.arange(7)
            source.shuffle(order)
            return x * order[2], order
        first = getattr(source, name)(*GIVEN.get(name, ()))
        return x * 2, first, getattr(source, name)(*GIVEN.get(name, ()))
    for ours, theirs in zip(reactant.jit(draw)(np.ones(2)), draw(np.ones(2)), strict=True):
        assert np.array_equal(ours, theirs)


def test_the_hidden_generator_is_left_as_plain_python_leaves_it():
    def simulated(x, sigma):
        np.random.seed(42)
        place = np.random.randn(4, 3)
        place += x
        noise = np.random.normal(0.0, sigma, size=4)
        return place, noise, np.random.uniform(-sigma, sigma), np.random.exponential(sigma, 3), np.random.sample(2)
    (plain, after), (ours, ours_after) = both(simulated, np.arange(3.0), 0.5)
    for one, other in zip(plain, ours, strict=True):
        assert np.allclose(one, other, rtol=1e-15)
    assert np.array_equal(after, ours_after)
    assert np.array_equal(*(both(simulated, np.arange(3.0), 0.5)[k][1] for k in (0, 1)))


def test_loops_of_known_trip_counts_draw_each_time():
    def walk(x):
        np.random.seed(1)
        for _ in range(5):
            x = x + np.random.rand(3)
        return x
    (plain, after), (ours, ours_after) = both(walk, np.zeros(3))
    assert np.array_equal(plain, ours) and np.array_equal(after, ours_after)


def test_arrays_are_shuffled_and_chosen_from():
    def mixed(x):
        np.random.seed(3)
        np.random.shuffle(x)
        return x[0], np.random.permutation(x), np.random.choice(x, 4), np.random.choice(x, 2, replace=False)
    x = np.arange(12.0).reshape(6, 2)[:, 0] * 3
    (plain, _), (ours, _) = both(lambda y: mixed(y.copy()), x)
    for one, other in zip(plain, ours, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(("function", "message"), [
    (lambda x: x + np.random.rand(3), "has not seeded"),
    (lambda x: x + np.random.RandomState().rand(3), "has not seeded"),
    (lambda x: x + (np.random.seed(3), np.random.gamma(x))[1], "parameters that are known only at run time"),
    (lambda x: x + np.random.RandomState(x[0].astype(int)).rand(), "seed that is not known"),
])
def test_what_is_refused(function, message):
    with pytest.raises(reactant.UnsupportedError, match=message):
        reactant.jit(function)(np.ones(3))


def test_draws_that_run_time_values_decide_are_refused():
    def until(x):
        np.random.seed(0)
        while x.sum() < 10:
            x = x + np.random.rand(3)
        return x
    with pytest.raises(reactant.UnsupportedError, match="would draw once"):
        reactant.jit(until)(np.ones(3))
