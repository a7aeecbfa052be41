"""How loops are kept: the policies, what the planner makes of them, gradients and peak memory."""
import numpy as np
import pytest

import reactant
from reactant.differentiate.modes.checkpoint import Plan, Policy, bytes_of, plan
from reactant.ir.induction import Trips

N = 400


@pytest.mark.parametrize("text, expected", [("256MB", 256 * 10**6), ("1GiB", 2**30), ("1.5 kB", 1500), (12, 12)])
def test_bytes_of(text, expected):
    assert bytes_of(text) == expected


@pytest.mark.parametrize("wrong", ["lots", "3 parsecs", 0, -5, True, 1.5])
def test_budgets_that_are_none(wrong):
    with pytest.raises(ValueError, match="memory_budget is bytes"):
        bytes_of(wrong)


@pytest.mark.parametrize("wrong", ["often", 0, -1, True, 2.5])
def test_policies_that_are_none(wrong):
    with pytest.raises(ValueError, match="checkpoint is 'all'"):
        reactant.grad(np.sum, checkpoint=wrong)


EXACT, BROKEN = Trips(1000, True), Trips(10**6, False)
PLANS = [
    (Policy(), EXACT, 8, None, 0, Plan()), (Policy(), None, 8, None, 0, Plan(64, 64)),
    (Policy(), Trips(50, False), 8, None, 0, Plan()), (Policy(), BROKEN, 10**4, None, 0, Plan(64, 64)),
    (Policy(), BROKEN, 10**4, 24, 0, Plan()), (Policy(), BROKEN, 10**4, 10**4, 0, Plan(64, 64)),
    (Policy("all"), BROKEN, 10**4, None, 0, Plan()), (Policy(), None, 10**8, None, 0, Plan(1, 4)),
    (Policy("every", 10), EXACT, 8, 0, 0, Plan(10)), (Policy("every", 2000), EXACT, 8, 0, 0, Plan()),
    (Policy("sqrt"), EXACT, 8, 0, 0, Plan(32)), (Policy("sqrt"), Trips(400, True), 8, 0, 0, Plan(20)),
    (Policy("sqrt"), Trips(3, True), 8, 0, 0, Plan()),
    (Policy("binomial"), EXACT, 8, 0, 0, Plan(1, 12)), (Policy("every", 5), None, 8, 0, 0, Plan(5, 64)),
    (Policy(budget=1), EXACT, 8, 24, 10**6, Plan()), (Policy(budget=1), EXACT, 8, 24, 2000, Plan(20)),
    (Policy(budget=1), EXACT, 8, 24, 500, Plan(10, 16)), (Policy(budget=1), EXACT, 8, 24, 1, Plan(1, 2)),
]


@pytest.mark.parametrize("policy, bound, state, iteration, share, expected", PLANS)
def test_plans(policy, bound, state, iteration, share, expected):
    assert plan(policy, bound, state, iteration, share) == expected
    assert Policy.parse(policy.text) == policy


def diffuse(x, iterations):
    u = x.copy()
    for _ in iterations:
        u[1:-1] += 0.2 * (np.sin(u[2:]) - 2 * u[1:-1] + u[:-2] * np.cos(x[1:-1]))
    return np.sum(u * u)


X = np.linspace(0.2, 1.1, 200)
WAYS = {"all": {"checkpoint": "all"}, "sqrt": {"checkpoint": "sqrt"}, "every": {"checkpoint": 25},
        "ragged": {"checkpoint": 33}, "binomial": {"checkpoint": "binomial"}, "budget": {"memory_budget": "100kB"}}
BYTES = {"all": 700_000, "sqrt": 130_000, "every": 130_000, "ragged": 130_000, "binomial": 80_000, "budget": 130_000}
"""At most so much; keeping every state takes 640,000 bytes."""


def of_gradient(**way):
    return reactant.grad(reactant.jit(lambda x: diffuse(x, range(N)), native="never"), **way)


@pytest.mark.slow
def test_every_way_gives_the_plain_gradient_in_less_memory():
    plain = of_gradient()
    expected = plain(X)
    assert plain.lower(X).compile().memory_analysis().temp_size_in_bytes > 600_000
    for name, way in WAYS.items():
        gradient = of_gradient(**way)
        np.testing.assert_allclose(gradient(X), expected, rtol=1e-11, atol=1e-13, err_msg=name)
        found = gradient.lower(X).compile().memory_analysis().temp_size_in_bytes
        assert found < BYTES[name], f"{name}: {found}"


@pytest.mark.parametrize("way", [{}, {"every": 20}, {"checkpoint": "binomial"}, {"memory_budget": "100kB"}], ids=str)
def test_a_loop_says_how_it_is_kept(way):
    def loss(x):
        return diffuse(x, reactant.checkpointed(range(N), **way))
    gradient = reactant.grad(reactant.jit(loss, native="never"))
    np.testing.assert_allclose(gradient(X), of_gradient()(X), rtol=1e-11, atol=1e-13)
    assert gradient.lower(X).compile().memory_analysis().temp_size_in_bytes < 150_000
    assert loss(X) == diffuse(X, range(N))                      # outside compiled code it is the range itself


@pytest.mark.slow
def test_checkpointed_takes_what_a_loop_can_index():
    with pytest.raises(reactant.UnsupportedError, match="checkpointed takes a range or an array"):
        reactant.jit(lambda x: [x for _ in reactant.checkpointed({1: 2})] and x)(X)

    def rows(x):
        total = 0.0
        for row in reactant.checkpointed(x.reshape(20, 10), every=4):
            total = np.sin(total) + np.sum(row * row)
        return total
    assert reactant.check_derivatives(rows, X)


@pytest.mark.slow
def test_memory_grows_with_the_root_of_the_iterations():
    sizes = []
    for n in (100, 400, 1600):
        function = reactant.jit(lambda x, n=n: diffuse(x, range(n)), native="never")
        lowered = reactant.grad(function, checkpoint="sqrt").lower(X)
        sizes.append(lowered.compile().memory_analysis().temp_size_in_bytes)
    assert sizes[1] < 2.2 * sizes[0] and sizes[2] < 2.2 * sizes[1]


def eliminated(a, iterations):
    a = a.copy()
    for k in range(iterations):
        p = k + np.argmax(np.abs(a[k:, k]))
        a[[k, p]] = a[[p, k]]
        for i in range(k + 1, iterations):
            a[i] -= a[i, k] / a[k, k] * a[k]
    return np.sum(a ** 2)


@pytest.mark.slow
def test_an_inner_loop_is_bounded_by_the_counter_of_one_that_becomes_two():
    a = np.random.default_rng(0).standard_normal((6, 6)) + 3 * np.eye(6)
    plain = reactant.grad(eliminated)(a, 6)
    np.testing.assert_allclose(reactant.grad(eliminated, checkpoint=2)(a, 6), plain, rtol=1e-10)


def substituted(a):
    a = a.copy()
    for j in range(len(a)):
        for i in range(j + 1, len(a)):
            a[i, j] = np.sin(a[i, j] - a[j, j] * a[i - 1, j])
    return np.sum(a ** 2)


@pytest.mark.slow
def test_a_loop_that_may_end_early_keeps_what_its_iterations_change():
    """Iterations that change an element of an array too large to keep whole: there are no groups that are run again."""
    a = np.random.default_rng(0).standard_normal((400, 400))
    operations = reactant.grad(substituted).lower(a).operations()
    assert operations["stablehlo.while"] == 2 * reactant.jit(substituted).lower(a).operations()["stablehlo.while"]
    assert reactant.check_derivatives(substituted, a[:7, :7])
