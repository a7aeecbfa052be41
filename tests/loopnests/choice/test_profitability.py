"""Which groups become native code, beside products that stay with XLA and without them."""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.loopnests.calls import product_calls
from reactant.loopnests.choice import profitability
from reactant.rewrite.selftest import build_module

N = 256


@pytest.fixture(autouse=True)
def no_blas(monkeypatch):
    """Products stay with XLA, as on machines that have nothing better."""
    monkeypatch.setattr(product_calls, "available", lambda: False)


def of(*shape, dtype=np.float32):
    return jnp.asarray(np.random.default_rng(0).random(shape), dtype)


def normal_density(x, w):
    d = jnp.sum(x * x, 1)[:, None] - 2 * x @ w + jnp.sum(w * w, 0)
    return jnp.exp(-d)


def iterations(step):
    """Three iterations of a loop that stays with XLA, for LAPACK's call in it."""
    return lambda a: jax.lax.fori_loop(0, 3, lambda i, c: step(c, jnp.linalg.qr(c @ c.T + jnp.eye(len(a)))[1]), a)


def nanmax(x):
    return jax.lax.reduce(x, np.float32(-np.inf), lambda p, q: jnp.where((q > p) | (p != p), q, p), (1,))[:, None]


def recursion(x):
    """Differences of neighbours, of neighbours' differences, and so on."""
    y = x
    for k in range(1, 9):
        y = (x[:, k:] - 0.5) * y[:, :-1] - (x[:, :-k] + 0.25) * y[:, 1:]
    return y


TABLE = {
    # after a product, where XLA's own code is as fast: it stays
    "softmax of a product": (lambda x, w: jax.nn.softmax(x @ w), (of(N, N), of(N, N)), False),
    "tanh of a product": (lambda x, w: jnp.tanh(x @ w), (of(N, N), of(N, N)), False),
    "sum of squares of a product": (lambda x, w: jnp.sum((x @ w) ** 2), (of(N, N), of(N, N)), False),
    "log-likelihood of labels": (
        lambda x, w: jnp.take_along_axis(jax.nn.log_softmax(x @ w), jnp.zeros((4000, 1), int), 1).mean(),
        (of(4000, 100), of(100, 10)), False),
    # after a product, where it is not
    "sine of a product": (lambda x, w: jnp.sin(x @ w), (of(N, N), of(N, N)), True),
    "arctangents of a product": (lambda x, w: jnp.arctan2(x @ w, x), (of(N, N), of(N, N)), True),
    "running sums of a product": (lambda x, w: jnp.cumsum(x @ w, 1), (of(N, N), of(N, N)), True),
    "big product": (normal_density, (of(1024, 32), of(32, 1024)), True),
    # in a loop that stays, where every kernel is started in every iteration
    "many small products": (iterations(lambda c, r: jnp.tanh(r @ c @ r.T @ (c - r) @ r)), (of(5, 5),), True),
    "one small product": (iterations(lambda c, r: c + r), (of(5, 5),), False),
    "products of more": (iterations(lambda c, r: jnp.tanh(r @ c @ r.T @ (c - r) @ r)), (of(32, 32),), False),
    "a long recursion after a product": (iterations(lambda c, r: c + r.T @ jnp.pad(recursion(r @ c), ((0, 0), (4, 4)))),
                                         (of(96, 96),), True),
    "a short one": (iterations(lambda c, r: c + r.T @ ((r @ c)[:, ::-1] * 0.5 - c)), (of(96, 96),), False),
    # short programs, which XLA's client would run in another thread, and many small kernels
    "short program": (lambda x: jnp.tanh(x @ x - x.mean()) @ x, (of(16, 16),), True),
    "short program of few operations": (lambda x: x * 2 + 1, (of(16, 16),), False),
    "short program with a transform": (lambda x: jnp.abs(jnp.fft.fft(x)) * x - x / 2, (of(64, 16),), False),
    "associative scan": (lambda x: jax.lax.associative_scan(jnp.multiply, x), (of(512, 64),), True),
    # alone
    "tanh": (jnp.tanh, (of(N, N),), False),
    "arcsine": (jnp.arcsin, (of(N, N),), True),
    "area hyperbolic cosine": (jnp.arccosh, (of(N, N),), False),
    "exponential": (jnp.exp, (of(N, N),), True),
    "softmax of few": (jax.nn.softmax, (of(N, N // 2),), True),
    "softmax of many": (jax.nn.softmax, (of(4 * N, 2 * N),), False),
    "softmax of short rows": (jax.nn.softmax, (of(20000, 10),), False),
    "sums of many exponentials": (lambda x: jnp.sum(jnp.exp(x), 1), (of(4 * N, 2 * N),), True),
    "running sums of short rows": (lambda x: jnp.cumsum(x, 1), (of(10000, 6),), True),
    "two selects of little": (lambda x: jnp.where(x > 0.5, 1.0, jnp.where(x > 0.1, x, 0.0)), (of(200, 200),), False),
    "transpose": (jnp.transpose, (of(2 * N, N),), True),
    "transpose of few": (jnp.transpose, (of(N, N),), False),
    "factor that is transposed": (lambda x, y: x.T @ y, (of(2 * N, N), of(2 * N, N)), False),
    "softmax of numbers among NaN": (lambda x: jax.nn.softmax(x - nanmax(x)), (of(4 * N, 2 * N),), True),
    "sum of rows of many": (lambda x: jnp.sum(x * x, 1), (of(2 * N, N),), True),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", TABLE)
def test_decisions(name):
    function, arguments, calls = TABLE[name]
    compiled = reactant.jit(function, frontend="jax")
    lowered = compiled.lower(*arguments)
    lowered.program()
    assert bool(lowered.notes) == calls, lowered.notes
    np.testing.assert_allclose(compiled(*arguments), jax.jit(function)(*arguments), rtol=2e-4, atol=1e-5)


def test_what_another_thread_would_run_saves_one():
    """Calls that return NumPy arrays run in the thread that calls, and of native code alone without XLA."""
    def program(x):
        return np.tanh(x - x.mean()) * x - 1.0
    numbers, straight = np.random.default_rng(0).random((16, 16)), {}
    for given in (numbers, reactant.array(numbers)):
        made = (lowered := reactant.jit(program).lower(given)).program()
        assert lowered.notes
        straight[type(given)] = made.executable.straight is not None
    assert straight == {np.ndarray: True, reactant.DeviceArray: False}


def test_short_sums_that_are_spread_stay_reductions():
    """XLA would compute a chain of slices again for each element that is made of it; our loops keep it."""
    points, centres = of(20000, 8), of(16, 8)

    def nearest(points, centres):
        return jnp.min(jnp.sum(points ** 2, 1)[:, None] - 2 * points @ centres.T + jnp.sum(centres ** 2, 1))

    def lengths(points):
        return jnp.sqrt(jnp.sum(points ** 2, 1))

    operations = reactant.jit(nearest, frontend="jax").lower(points, centres).operations()
    assert operations["stablehlo.reduce"] >= 2
    assert "stablehlo.reduce" not in reactant.jit(lengths, frontend="jax").lower(points).operations()


def test_paddings_are_not_computed_again_for_every_shift(monkeypatch):
    """The gradient of a stencil applied four times is padded four times: 81 paths if nothing on the way is kept."""
    from reactant.loopnests import stage

    def energy(x):
        for _ in range(4):
            x = x[:-2] - 2.0 * x[1:-1] + x[2:]
        return jnp.sum(x ** 2)

    written, make = [], stage.write_function
    monkeypatch.setattr(stage, "write_function", lambda *given: written.append(make(*given)) or written[-1])
    reactant.jit(jax.grad(energy), frontend="jax", native="always").lower(of(300_000)).program()
    assert written and sum(made.text.count("memref.load") for made in written) < 600


def test_sums_of_rows_of_a_product_that_are_spread_again_stay_with_it():
    """XLA's library makes them with the product, at any size; sums alone, and many of them, are ours."""
    def group(module):
        block = modules.function(module).regions[0].blocks[0]
        return [op.operation for op in block][1:-1]

    def centred(a, times):
        x = a(4096, 64)
        y = ops.dot_general(x, a(64, 1024), contracting_dims=((1,), (0,)))
        for _ in range(times):
            y = ops.multiply(y, ops.broadcast_in_dim(ops.reduce(y, 0.0, (1,), "add"), (4096, 1024), (0,)))
        return [y]

    with building():
        for times, ours in ((1, False), (2, False), (4, True)):
            module = build_module(lambda a, times=times: centred(a, times), np.dtype("float32"))
            made = [op for op in group(module) if op.name not in ("stablehlo.constant", profitability.PRODUCT)]
            assert profitability.fed_by_product(made) and profitability.pays(made, lambda: 1) == ours


def test_a_block_of_which_nothing_may_pay_has_no_group_that_pays():
    """`may_pay` is asked first, so it must not deny what `pays` would grant."""
    names = ("add", "sine", "power", "tanh", "exponential", "select")
    shapes = [(64,), (64, 64), (256, 128), (512, 256), (1024, 1024)]
    granted = 0
    with building():
        for seed in range(300):
            random = np.random.default_rng(seed)
            some = random.choice(names, random.integers(1, 7))

            def build(a, some=some, random=random):
                values = [a(*shapes[random.integers(len(shapes))]) for _ in some]
                made = []
                for name, x in zip(some, values, strict=True):
                    made.append(ops.select(ops.compare(x, 0.0, "LT"), x, ops.negate(x)) if name == "select"
                                else getattr(ops, name)(x, x) if name in ("add", "power") else getattr(ops, name)(x))
                total = ops.reduce(made[0], 0.0, (0,), "add") if random.random() < 0.5 else made[0]
                return [total, *made[1:]]
            module = build_module(build, np.dtype(random.choice(["float32", "float64"])))
            group = [op.operation for op in modules.function(module).regions[0].blocks[0]][:-1]
            group = [op for op in group if op.name != "stablehlo.constant"]
            pays = profitability.pays(group, lambda group=group: sum(len(op.results) for op in group))
            granted += pays
            assert not pays or profitability.may_pay(group)
    assert 30 < granted < 270


def kept_states(w, x):
    """All states of a network in a loop that stays with XLA, for its product."""
    def step(h, row):
        h = jnp.sin(h @ w + row)
        return h, h
    return jax.lax.scan(step, jnp.zeros((2000, len(w)), w.dtype), x)[1]


def test_what_a_loop_keeps_is_not_copied_for_a_call():
    lowered = reactant.jit(kept_states, frontend="jax").lower(of(128, 128), of(5, 2000, 128))
    with building():
        counts = modules.counts(lowered.native_module(lowered.device))
    assert counts["stablehlo.custom_call"] == counts["stablehlo.dynamic_update_slice"] == 1


@pytest.mark.parametrize("updated, in_place", [(10, True), (300, True), (1200, False)])
def test_updates_in_place(updated, in_place):
    """Of an argument of a block, unless most of it changes, or it is small."""
    with building():
        module = build_module(lambda a: ops.dynamic_update_slice(
            a(2000, 3), a(updated, 3), [ops.constant(0, np.int64)] * 2), np.dtype("float32"))
        update = next(op.operation for op in modules.function(module).regions[0].blocks[0]
                      if op.operation.name == "stablehlo.dynamic_update_slice")
        assert profitability.is_in_place(update) is in_place


@pytest.mark.sampled(100)
@pytest.mark.parametrize("last, side, ours", [(False, 32, False), (False, 128, False), (True, 32, False),
                                              (True, 128, True)])
def test_what_follows_a_convolution_stays_with_it(last, side, ours):
    """XLA turns what it makes where channels are not last; where they are, big arrays are ours."""
    numbers = ("NHWC", "HWIO", "NHWC") if last else ("NCHW", "OIHW", "NCHW")
    axes = (0, 1, 2) if last else (0, 2, 3)

    def block(x, kernel):
        y = jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=numbers)
        return jax.nn.relu((y - y.mean(axes, keepdims=True)) / jnp.sqrt(y.var(axes, keepdims=True) + 1e-5))
    shapes = ((8, side, side, 16), (3, 3, 16, 32)) if last else ((8, 16, side, side), (32, 16, 3, 3))
    lowered = reactant.jit(block, frontend="jax", target="cpu").lower(*(
        jax.ShapeDtypeStruct(shape, np.float32) for shape in shapes))
    lowered.compile()
    assert any("natively" in note for note in lowered.notes) == ours


def test_rows_that_are_scaled_for_a_product_stay_with_it():
    """XLA scales them while it reads them; without a product, and in a product with a vector, they are ours."""
    def scaled(x):
        return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6)

    def natively(function, *shapes):
        lowered = reactant.jit(function, frontend="jax", target="cpu").lower(*(
            jax.ShapeDtypeStruct(shape, np.float32) for shape in shapes))
        lowered.compile()
        return any("natively" in note for note in lowered.notes)
    assert not natively(lambda x, w: scaled(x) @ w, (2048, 256), (256, 16))
    assert natively(lambda x, w: scaled(x) @ w, (2048, 256), (256,))
    assert natively(scaled, (2048, 256))


@pytest.mark.slow
def test_many_matrices_by_vectors_stay_but_for_those_that_are_parts_of_one():
    """XLA reads several at a time, but copies slices."""
    def chain(x, *matrices):
        for m in matrices:
            x = jnp.tanh(x @ m)
        return x

    def natively(function, *shapes):
        lowered = reactant.jit(function, frontend="jax", target="cpu").lower(*(
            jax.ShapeDtypeStruct(shape, np.float32) for shape in shapes))
        lowered.compile()
        return any("natively" in note for note in lowered.notes)
    assert not natively(chain, (N,), *[(N, N)] * 4)
    assert not natively(chain, (1, N), *[(N, N)] * 4)
    assert natively(chain, (N,), (N, N))
    assert natively(lambda x, m: chain(chain(x, m, m), m, m), (N,), (N, N))
    assert natively(lambda x, stack: chain(x, *(stack[k] for k in range(4))), (N,), (4, N, N))
