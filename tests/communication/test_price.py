"""What a divided program is said to cost beside what XLA makes of it."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant.communication.price import price_of

pytestmark = pytest.mark.devices8


def five_point(u):
    return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u


def diffused(u):
    for _ in range(50):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])


def mean(u):
    return u - u.mean(0)


def exchanged(u):
    return np.sort(u, 0)


def gathered(u):
    return np.sort(u, None)


def rolled_by_jax(u):
    return jax.lax.fori_loop(0, 7, lambda _, x: jnp.roll(x, 1, 0) * 0.5, u)


PROGRAMS = [five_point, diffused, mean, exchanged, gathered, rolled_by_jax]
MESHES = {"8": ({"x": 8}, ("x",)), "4x2": ({"x": 4, "y": 2}, ("x", "y"))}


def priced(program, mesh="8", shape=(64, 48), dtype=np.float32):
    sizes, axes = MESHES[mesh]
    u = reactant.array(np.ones(shape, dtype), sharding=reactant.mesh(**sizes).sharding(*axes))
    made = reactant.jit(program).lower(u).compile()
    return price_of(made.executable.partitioned.module, 8), made.traffic()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_as_compiled(program, mesh):
    price, traffic = priced(program, mesh)
    assert price.total == pytest.approx(traffic.bytes)
    assert price.count == pytest.approx(traffic.count)
    assert price.known == (not traffic.unknown_loops)


def test_arithmetic_is_divided():
    price, _ = priced(five_point)
    assert 5 * 64 * 48 / 8 <= price.flops < 1.5 * 5 * 64 * 48 / 8 and price.doubles == 0
    assert priced(five_point, dtype=np.float64)[0].doubles > 0.9 * price.flops
    turned = priced(diffused)[0].flops
    assert turned > 50 * 3 * 64 * 48 / 8


def test_memory():
    price, _ = priced(five_point)
    own = 64 * 48 * 4 / 8
    assert 2 * own <= price.memory <= 8 * own and own <= price.held <= 6 * own
    assert priced(gathered)[0].held >= 8 * own


def test_the_dearest_branch():
    def branching(u):
        if u.sum() > 0:
            u = np.sort(u, 0)
        else:
            u = u + np.roll(u, 1, 0)
        return u
    price, traffic = priced(branching)
    assert price.total == pytest.approx(traffic.bytes)
