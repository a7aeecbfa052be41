"""`reactant.profile`: sums are those of the run, lines and loops those of the user."""
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant.profiling import machine
from reactant.profiling.machine import Rates


@pytest.fixture(autouse=True)
def rates(monkeypatch):
    monkeypatch.setattr(machine, "rates", lambda again=False: Rates(
        "box", 1e10, 2e10, 1e9, ((1e4, 1e11), (1e8, 1e10)), 1e-6))


def sweeps(u, n):
    v = u.copy()
    for _ in range(n):
        v[1:-1, 1:-1] = 0.25 * (v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:])
    return np.exp(v).sum()


def in_place(u):
    u += 1
    u *= np.sqrt(np.abs(u))


def products(a, b):
    c = a @ b
    return np.tanh(c) @ a


def branches(x, k):
    if x.sum() > k:
        return np.sort(x)
    return x * 2


def numbers(x):
    return x * 2 + 1


def of_jax(x):
    y = jnp.sin(x) @ x
    return jax.lax.fori_loop(0, 6, lambda i, z: jnp.tanh(z @ x), y)


def lines(found, function):
    """The lines of the profile, from the function's first one on."""
    first = function.__code__.co_firstlineno
    return {int(line.place.rpartition(":")[2]) - first: line for line in found.lines if line.place.startswith(__file__)}


def check_sums(found):
    """The run is its operations and what is outside of them; the lines are the operations."""
    operations = sum(op.seconds for op in found.operations)
    assert operations + found.outside + found.between == pytest.approx(found.seconds)
    assert sum(line.seconds for line in found.lines) == pytest.approx(operations)
    assert all(op.seconds >= 0 and op.count > 0 for op in found.operations)
    assert all(sum(op.lines.values()) == pytest.approx(1) for op in found.operations if op.lines)
    assert found.plain > 0 and 0 <= found.unattributed <= 1 and found.outside > 0
    assert str(found).startswith(f"{found.name}: ") and "without the profiler" in str(found)


U = np.random.default_rng(0).random((120, 120))
ITERATIONS = 301
"""So many that the loop takes longer than what follows it, also on a busy machine."""


@pytest.mark.parametrize("native", ["auto", "never"])
def test_a_program_with_a_loop(native, tmp_path):
    found = reactant.profile(reactant.jit(sweeps, unroll_limit=0, native=native), U, ITERATIONS, runs=4)
    check_sums(found)
    by = lines(found, sweeps)
    body = by[3]
    assert body.seconds == max(line.seconds for line in by.values()) and found.runs == 4
    assert body.work.flops == pytest.approx(ITERATIONS * 4 * 118 * 118, rel=0.3 if native == "auto" else 2)
    assert by[4].work.special == 120 * 120
    loop = max(found.loops, key=lambda loop: loop.seconds)
    assert loop.kind == ("native" if native == "auto" else "XLA")
    halves = pytest.approx(ITERATIONS / 2, abs=1)
    assert loop.iterations in (pytest.approx(ITERATIONS, abs=1), halves), "XLA may write two iterations as one"
    assert body.source.startswith("v[1:-1, 1:-1] = ")
    trace = json.loads(found.perfetto(str(tmp_path / "trace.json")))
    assert {event["ph"] for event in trace["traceEvents"]} == {"M", "X"} and (tmp_path / "trace.json").exists()
    page = found.html(str(tmp_path / "page.html"))
    assert "v[1:-1, 1:-1] = " in page and (tmp_path / "page.html").read_text() == page
    planes = list(jax.profiler.ProfileData.from_file(found.xprof(str(tmp_path))).planes)
    names = {event.name for plane in planes for line in plane.lines for event in line.events}
    assert "run" in names and len(names) > 2


def test_arguments_are_not_changed_by_it():
    u = U.copy()
    found = reactant.profile(in_place, u, runs=3)
    check_sums(found)
    assert (u == U).all() and set(lines(found, in_place)) == {1, 2}


def test_products_have_their_operations_and_their_lines():
    found = reactant.profile(products, U, U, runs=3)
    check_sums(found)
    by = lines(found, products)
    assert by[1].work.flops == pytest.approx(2 * 120 ** 3, rel=0.01)
    assert by[2].work.flops == pytest.approx(2 * 120 ** 3, rel=0.01) and by[2].work.special == 120 ** 2


@pytest.mark.parametrize("value", [
    np.arange(6, dtype=np.float32), np.arange(6), np.array([True, False]), np.ones(3, np.complex128),
    np.ones(5, np.float16), np.zeros(0), np.array(2.5), np.ones((2, 0, 3)), 1.5, np.array([np.nan, -0.0, np.inf])],
    ids=str)
def test_whatever_a_program_takes(value):
    check_sums(reactant.profile(numbers, value, runs=1))


@pytest.mark.slow
def test_branches_derivatives_and_functions_of_jax():
    check_sums(reactant.profile(branches, U[0], 3.0, runs=2))
    found = reactant.profile(reactant.grad(lambda w, x: (np.tanh(x @ w) ** 2).sum()), U, U, runs=2)
    check_sums(found)
    found = reactant.profile(of_jax, jnp.asarray(U), runs=2)
    check_sums(found)
    assert 1 in lines(found, of_jax)


@pytest.mark.devices8
def test_a_program_on_several_devices():
    mesh = reactant.mesh(x=8)

    def smoothed(u):
        v = 0.5 * (u + np.roll(u, 1))
        return v.sum()
    found = reactant.profile(smoothed, reactant.array(np.arange(8000.0), sharding=mesh.sharding("x")), runs=2)
    operations = sum(op.seconds for op in found.operations)
    assert operations + found.outside + found.between == pytest.approx(found.seconds)
    collective = [op for op in found.operations if op.exchanges]
    assert {op.count for op in collective} == {8.0} and {op.limit(found.rates) for op in collective} == {"exchange"}
    assert {2, 1} <= set(lines(found, smoothed))


def test_what_is_raised():
    with pytest.raises(ValueError, match="runs is 1 or more"):
        reactant.profile(numbers, 1.0, runs=0)
    with pytest.raises(ZeroDivisionError):
        reactant.profile(lambda x: x * (1 // 0), 1.0)
