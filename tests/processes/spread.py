"""Checks of arrays that are in several processes; run by test_spread.py, and the same on one process."""
import sys

import jax
import jax.numpy as jnp
import numpy as np

import reactant


def steps(u, k):
    for _ in range(k):
        u[1:-1] += 0.1 * (u[2:] + u[:-2] - 2 * u[1:-1])
        u[0], u[-1] = u[-2], u[1]
    return u.sum(), u.max(axis=0), u * 2


def refused(call):
    try:
        call()
    except reactant.ShardingError as error:
        return str(error)
    raise AssertionError("nothing was refused")


def check_arrays(mesh, reference, several):
    u = reactant.array(lambda index: reference[index], shape=reference.shape, sharding=mesh.sharding("x"))
    for each in (u, reactant.array(reference, sharding=mesh.sharding("x")), u.copy()):
        assert each.shape == reference.shape and each.sharding == u.sharding
        np.testing.assert_array_equal(each.gather(), reference)
    assert u.is_elsewhere == several
    if several:
        assert repr(u).startswith(f"reactant.array(<in {jax.process_count()} processes, here [") and "1021" in repr(u)
        for call in (lambda: np.asarray(u), lambda: u + 1, lambda: u.sum(), lambda: u[3, 4], u.tolist):
            assert "x.gather()" in refused(call)
    view = u[3:700:2, 1:]
    assert view.shape == (349, 5)
    np.testing.assert_array_equal(view.gather(), reference[3:700:2, 1:])
    moved = reactant.array(u, sharding=mesh.sharding(None, "x"))
    np.testing.assert_array_equal(moved.gather(), reference)
    whole = reactant.array(u, sharding=mesh.sharding())
    np.testing.assert_array_equal(np.asarray(whole), reference)
    u[0] = 5.0
    u[5:7] = reference[:2]
    np.testing.assert_array_equal(u.gather()[:8, 0], [5, *reference[1:5, 0], *reference[:2, 0], reference[7, 0]])


def check_programs(mesh, reference):
    u = reactant.array(reference, sharding=mesh.sharding("x"))
    compiled = reactant.jit(steps)
    total, most, double = compiled(u, 10)
    field = reference.copy()
    wanted = steps(field, 10)
    np.testing.assert_allclose(u.gather(), field, rtol=1e-12)
    np.testing.assert_allclose(float(total), wanted[0])
    np.testing.assert_allclose(most.gather(), wanted[1])
    np.testing.assert_allclose(double.gather(), wanted[2], rtol=1e-12)
    assert double.sharding == u.sharding
    assert compiled.lower(u, 10).compile().traffic().count >= 2
    assert "between" in str(reactant.explain(steps, u, 10))
    for _ in range(40):     # more than may be in flight
        compiled(u, 1)
    assert np.isfinite(float(reactant.jit(np.sum)(u)))


def check_jax(mesh):
    count = 8 * mesh.size
    rows = np.arange(count * 3.0).reshape(count, 3)
    x = jax.make_array_from_callback(rows.shape, mesh.sharding("x"), lambda index: rows[index].astype(np.float32))
    y = reactant.jit(lambda x: jnp.roll(x, 1, 0) * 2 + x.mean())(x)
    np.testing.assert_allclose(reactant.array(y).gather(), np.roll(rows, 1, 0) * 2 + rows.mean(), rtol=1e-6)
    slope = reactant.grad(lambda x: jnp.sum(jnp.roll(x, 1, 0) * x))(x)
    np.testing.assert_allclose(reactant.array(slope).gather(), np.roll(rows, 1, 0) + np.roll(rows, -1, 0))


def main(processes, devices):
    here = reactant.cluster()
    assert (here.count, here.devices) == (processes, (devices,) * processes)
    assert len(here.hosts) == processes and here.index == jax.process_index() and here is reactant.cluster()
    mesh = reactant.mesh(x=jax.device_count())
    reference = np.arange(1021 * 6.0).reshape(1021, 6) / 100
    check_arrays(mesh, reference, processes > 1)
    check_programs(mesh, reference)
    check_jax(mesh)
    print("all is as it should be", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
