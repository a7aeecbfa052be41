"""Which parts of programs become native code, and that nothing else changes: results, derivatives, batching, text."""
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant import pipelines
from reactant.ir import modules
from reactant.ir.context import building
from reactant.ir.types import shape_of, size
from reactant.loopnests import native_form
from reactant.loopnests.analysis.graph import read_block
from reactant.loopnests.emission import plan
from reactant.loopnests.emission.keeping import is_root
from reactant.loopnests.function import write_function
from reactant.simplify.target import target
from tests.loopnests.emission.test_control import native_text


def relax(u, steps):
    for _ in range(steps):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return u.sum()


def smooth(x, steps):
    for _ in range(steps):
        x = np.fft.ifft(np.fft.fft(x) * 0.5).real + np.sin(x) * 0.1
    return x


def field(n=24):
    return np.random.default_rng(0).random((n, n))


def lowered(function, *arguments, **options):
    return reactant.jit(function, **options).lower(*arguments)


def calls(compiled):
    """Native calls in what XLA runs."""
    return compiled.as_text().count("reactant.native.")


def test_a_loop_becomes_one_call():
    found = lowered(relax, field(), 90)
    compiled = found.compile()
    assert calls(compiled) == 1
    assert "stablehlo.while" in found.as_text() and "custom_call" not in found.as_text()
    plain = field()
    total = relax(plain, 90)
    mine = field()
    assert reactant.jit(relax)(mine, 90) == pytest.approx(total, rel=1e-14)
    np.testing.assert_allclose(mine, plain, rtol=1e-14)


def test_never_and_always():
    assert calls(lowered(relax, field(), 90, native="never").compile()) == 0
    x = np.arange(6.0)
    assert calls(lowered(lambda a: a * 2 + 1, x, native="never").compile()) == 0
    assert calls(lowered(lambda a: a * 2 + 1, x).compile()) == 1           # called without XLA
    assert calls(lowered(lambda a: np.fft.fft(a * 2 + 1), x).compile()) == 0
    assert calls(lowered(lambda a: np.fft.fft(a * 2 + 1), x, native="always").compile()) >= 1


def test_loops_around_library_calls_stay_with_native_parts():
    x = np.random.default_rng(1).random(6000)
    compiled = lowered(smooth, x, 80).compile()
    text = compiled.as_text()
    assert "while" in text and "fft" in text and calls(compiled) >= 1
    np.testing.assert_allclose(reactant.jit(smooth)(x, 80), smooth(x, 80), rtol=1e-9, atol=1e-15)


def test_explain_names_what_was_compiled():
    text = str(reactant.explain(relax, field(), 90))
    assert "compiled natively: region0" in text and "1 loop" in text and "test_stage.py:" in text


def test_big_arguments_at_any_alignment():
    memory = np.random.default_rng(2).random(600 * 600 + 8)
    function = reactant.jit(relax)
    for offset in (0, 1, 2, 3, 5, 7, 1, 3, 5, 7, 0):
        mine = memory[offset:offset + 360_000].reshape(600, 600).copy()
        aligned = np.empty(360_000 + 8)[offset:offset + 360_000].reshape(600, 600)
        aligned[...] = mine
        total = relax(mine, 2)
        assert function(aligned, 2) == pytest.approx(total, rel=1e-12)
        np.testing.assert_allclose(aligned, mine, rtol=1e-14)


def test_big_arguments_are_read_where_they_lie():
    made = lowered(lambda x: np.sin(x).sum(0), np.ones((400, 600)))
    with building():
        assert "lent = 1 : i64" in str(made.native_module(None))


def test_lent_and_cut_out_of_the_same_memory():
    def both(x):
        total = 0.0
        for i in range(300):
            total += x[i, i] * x[i, 0]
        return total, np.fft.fft(x[0]).real

    x = np.random.default_rng(3).random((400, 400))
    for a, b in zip(reactant.jit(both)(x), both(x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11)


def scaled_product(x, w):
    rows = jnp.max(jnp.abs(x), 1, keepdims=True)
    return jnp.round(x / rows * 100) @ w * rows


def test_scales_leave_a_group_as_they_are():
    """The group wrote them spread over all columns, which a product after it reads, too."""
    x, w = (np.random.default_rng(n).standard_normal((256, 256), np.float32) for n in (0, 1))
    made = lowered(scaled_product, x, w, native="always")
    with building():
        module = made.native_module(None)
        sizes = [sorted(size(shape_of(result)) for result in call.results)
                 for call in modules.ops_called("stablehlo.custom_call", module)]
        assert [256, 256 * 256] in [each[-2:] for each in sizes], sizes
    np.testing.assert_allclose(made.compile()(x, w), scaled_product(x, w), rtol=1e-5, atol=2e-3)


def windows_of_edges(x):
    p = np.pad(x, 1, mode="edge")
    n, m = x.shape
    return sum(np.exp(p[i:i + n, j:j + m] - x) for i in range(3) for j in range(3))


def neighbours_at_edges(x):
    p = np.pad(x, 1, mode="edge")
    return p[1:-1, :-2] - p[1:-1, 2:]


@pytest.mark.parametrize("function, kept", [(windows_of_edges, True), (neighbours_at_edges, False)])
def test_paddings_are_kept_where_their_borders_would_cost_more(function, kept):
    """Each row of nine exponentials had a dozen that vector code left over; borders of light stencils stay cut."""
    x = np.random.default_rng(3).random((64, 96))
    assert ("memref<6468xf64>" in native_text(function, x)) == kept        # 66 x 98
    np.testing.assert_allclose(reactant.jit(function)(x), function(x), rtol=1e-13)


def jax_loop(x):
    return jax.lax.fori_loop(0, 20, lambda _, v: jnp.sin(v) + 0.1 * jnp.roll(v, 1), x)


@pytest.mark.slow
def test_jax_functions_and_transformations():
    x = jnp.linspace(0.0, 1.0, 50)
    ours = reactant.jit(jax_loop)
    np.testing.assert_allclose(ours(x), jax_loop(x), rtol=1e-6)
    np.testing.assert_allclose(jax.jit(lambda v: ours(v) * 2)(x), jax_loop(x) * 2, rtol=1e-6)
    rows = jnp.stack([x, 2 * x])
    np.testing.assert_allclose(jax.vmap(ours)(rows), jax.vmap(jax_loop)(rows), rtol=1e-6)
    gradient, wanted = (jax.grad(lambda v, f=f: f(v).sum())(x) for f in (ours, jax_loop))
    np.testing.assert_allclose(gradient, wanted, rtol=1e-5)


@pytest.mark.slow
def test_numpy_functions_in_jax_programs():
    def decay(x):
        for _ in range(30):
            x = x - 0.1 * np.sin(x)
        return x

    compiled = reactant.jit(decay)
    x = jnp.linspace(0.0, 1.0, 40)
    wanted = decay(np.asarray(x))
    np.testing.assert_allclose(jax.jit(compiled)(x), wanted, rtol=1e-5)
    np.testing.assert_allclose(jax.vmap(compiled)(jnp.stack([x, x])), np.stack([wanted, wanted]), rtol=1e-5)
    slope = jax.grad(lambda v: compiled(v).sum())(x)
    step = 1e-3
    np.testing.assert_allclose(slope, (decay(np.asarray(x) + step) - decay(np.asarray(x) - step)) / (2 * step),
                               rtol=1e-2)


def test_device_arrays_and_donation():
    def advance(state):
        for _ in range(10):
            state[1:] += 0.5 * state[:-1]
        return state.sum()

    plain = np.arange(50.0)
    total = advance(plain)
    state = reactant.array(np.arange(50.0))
    np.testing.assert_allclose(np.asarray(reactant.jit(advance)(state)), total)
    np.testing.assert_allclose(np.asarray(state), plain)
    given = jnp.asarray(np.arange(50.0, dtype=np.float32))
    donating = reactant.jit(jax_loop, donate=True)
    np.testing.assert_allclose(donating(given), jax_loop(jnp.arange(50.0, dtype=jnp.float32)), atol=1e-5)


@pytest.mark.slow
def test_calls_from_several_threads():
    from concurrent.futures import ThreadPoolExecutor
    function = reactant.jit(relax)
    wanted = relax(field(300), 20)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: function(field(300), 20), range(8)))
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_the_module_itself_stays():
    module = lowered(relax, field(), 90).module
    with building():
        before = str(module)
        made = native_form(module, "always")
        assert made is not None and str(module) == before
        assert modules.counts(made.module)["stablehlo.custom_call"] == 1
        assert native_form(module, "never") is None


def test_effects_keep_their_order():
    def checked(x, i):
        total = 0.0
        for k in range(10):
            total += x[k]
        return total + x[i]

    function = reactant.jit(checked, native="always", traced_argnames=("i",))
    assert function(np.arange(20.0), 3) == 48.0
    with pytest.raises(IndexError):
        function(np.arange(20.0), 99)


def test_what_repeats_something_is_made_where_it_is_used():
    """A broadcast that does not need the product is no array that the call reads."""
    def function(x, w, a):
        y = (x @ w)[:, :, None]
        return jax.lax.scan(lambda h, t: (t * h + 1, None), jnp.zeros((64, 16)), jnp.sin(y) * a[None, None])[0]
    found = lowered(function, jnp.ones((300, 64)), jnp.ones((64, 64)), jnp.arange(16.0), frontend="jax")
    call = next(line for line in found.compile().as_text().splitlines() if "reactant.native." in line)
    assert "300,64,16" not in call.partition("custom-call(")[2]


@pytest.mark.parametrize("axis, loops", [(1, 2), (0, 1), (None, 2)])
def test_places_of_extremes_along_rows_are_found_in_two_passes(axis, loops):
    """One number after the other takes 4 ns each; down columns, which lie side by side, one pass does."""
    x = np.random.default_rng(2).standard_normal((300, 200)).astype(np.float32)
    x[5, 7] = x[9, 3] = x[5, 90] = x.max() + 1
    found = lowered(lambda x: jnp.argmax(x * 2, axis), x, frontend="jax", native="always")
    assert calls(found.compile()) == 1
    np.testing.assert_array_equal(found.compile()(x), np.argmax(x, axis))
    with building(), target.for_loops():
        kept = modules.parse(found.report.kept)
        pipelines.run(kept, "native")
        assert modules.counts(kept)["stablehlo.reduce"] == loops


def test_concatenations_of_many_pieces_stay_with_xla():
    def joined(x):
        return np.concatenate([np.sin(x[i % 13:i % 13 + 1]) * (i + 1) for i in range(400)])

    x = np.linspace(0.0, 1.0, 13)
    np.testing.assert_allclose(reactant.jit(joined, native="always")(x), joined(x), rtol=1e-12)


def test_planning_takes_time_in_proportion_to_the_program(monkeypatch):
    """Steps in place, written out: what an op is was asked 130 times an op, and more the longer the program."""
    def waves(height, speed, steps):
        for _ in [None] * steps:
            new, fast = height.copy(), speed.copy()
            fast[1:-1, 1:-1] -= height[1:-1, 2:] - height[1:-1, :-2] + speed[1:-1, 1:-1] * speed[2:, 1:-1]
            new[1:-1, 1:-1] -= speed[1:-1, 2:] * height[1:-1, 2:] - speed[1:-1, :-2]
            for each in (new, fast):
                each[0], each[-1] = each[-2], each[1]
                each[:, 0], each[:, -1] = each[:, -2], each[:, 1]
            height, speed = new, fast
        return height, speed

    asked = []
    monkeypatch.setattr(plan, "is_root", lambda node: asked.append(node) or is_root(node))
    found = lowered(waves, field(8), field(8), 8, native="never")
    with building():
        block = read_block(modules.function(found.module).regions[0].blocks[0], {})
        write_function(block, block.arguments, block.returned)
    assert len(asked) < 5 * len(list(block.walk()))


def test_rows_of_which_nothing_is_added_have_their_start():
    """Loops that change nothing are not written; what they came to still is (it was memory that nobody had set)."""
    def program(x):
        rows = jnp.zeros((7, 32), jnp.int32)
        bits = jax.lax.reduce(rows, jnp.int32(0), jax.lax.bitwise_or, (1,))
        greatest = jax.lax.reduce(jnp.full((7, 32), -jnp.inf), -jnp.inf, jax.lax.max, (1,))
        return bits, rows.sum(1), greatest, jnp.take(x, bits)

    found = reactant.jit(program, frontend="jax", native="always", optimize=())(np.arange(9.0) + 3)
    for array, number in zip(found, (0, 0, -np.inf, 3), strict=True):
        np.testing.assert_array_equal(array, np.full(7, number))


def test_short_vectors_that_follow_from_each_other_are_loops():
    """Written out, number by number, 40 steps took LLVM 16 s."""
    def states(x, w):
        h = jnp.zeros(16, x.dtype)
        for i in range(6):
            h = jnp.tanh(x[i] + h @ w)
        return h

    x, w = np.random.default_rng(3).standard_normal((2, 16, 16)).astype(np.float32) / 4
    found = lowered(states, x, w, frontend="jax", native="always")
    assert native_text(states, x, w).count("math.tanh") <= 8
    np.testing.assert_allclose(found.compile()(x, w), states(x, w), rtol=1e-5)


WINDOW_OF_PIECES = """
func.func @main(%a: tensor<6x5x8xf32>, %b: tensor<6x5x8xf32>, %c: tensor<6x5x8xf32>) -> tensor<6x135xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %all = stablehlo.concatenate %a, %b, %c, dim = 2 : (tensor<6x5x8xf32>, tensor<6x5x8xf32>, tensor<6x5x8xf32>) -> tensor<6x5x24xf32>
  %part = stablehlo.slice %all [0:6, 0:5, 4:12] : (tensor<6x5x24xf32>) -> tensor<6x5x8xf32>
  %wide = stablehlo.pad %part, %zero, low = [0, 0, 0], high = [0, 0, 24], interior = [0, 0, 0] : (tensor<6x5x8xf32>, tensor<f32>) -> tensor<6x5x32xf32>
  %rows = stablehlo.reshape %wide : (tensor<6x5x32xf32>) -> tensor<6x160xf32>
  %found = stablehlo.slice %rows [0:6, 0:135] : (tensor<6x160xf32>) -> tensor<6x135xf32>
  return %found : tensor<6x135xf32>
}
"""  # noqa: E501


def shuffled(x):
    n, m = x.shape[0] // 4, x.shape[1]
    return jnp.sin(x.reshape(2, n, 2, m).transpose(1, 0, 3, 2)).reshape(2 * n, 2 * m) + jnp.arange(2.0 * m)


@pytest.mark.parametrize("function", [
    lambda x: jnp.kron(x[:6, :5], x), lambda x: jnp.exp(jnp.kron(x[:3, :5], x)) + jnp.arange(5.0 * x.shape[1]),
    shuffled, lambda x: jnp.stack([x, x * x], -1).reshape(x.shape[0], -1) * jnp.arange(2.0 * x.shape[1])])
def test_dimensions_made_of_several_are_found_without_divisions(function):
    x = np.random.default_rng(4).standard_normal((120, 35)).astype(np.float32)
    text = native_text(function, x)
    assert "divui" not in text and "remui" not in text
    np.testing.assert_allclose(reactant.jit(function)(x), jax.jit(function)(x), rtol=1e-5, atol=1e-6)


def test_pieces_are_not_read_before_their_first_element():
    """What is read of a piece where an earlier one is meant is not used, but has to be there."""
    with building():
        module = modules.parse(WINDOW_OF_PIECES)
        block = read_block(modules.function(module).regions[0].blocks[0], {})
        assert least_places(write_function(block, block.arguments, block.returned).text) == 0


def least_places(text):
    """The least index that loops of known bounds load or store at, by intervals."""
    low, high, least = {}, {}, 0
    for line in text.splitlines():
        match line.split(" : ")[0].replace("=", " ").replace(",", " ").replace(":", " ").split():
            case [name, "arith.constant", value, *_] if value.lstrip("-").isdigit():
                low[name] = high[name] = int(value)
            case ["scf.for", name, first, "to", end, *_]:
                low[name], high[name] = low[first], high[end] - 1
            case [name, "arith.addi", a, b, *_] if {a, b} <= low.keys():
                low[name], high[name] = low[a] + low[b], high[a] + high[b]
            case [name, "arith.muli", a, b, *_] if {a, b} <= low.keys():
                ends = [p * q for p in (low[a], high[a]) for q in (low[b], high[b])]
                low[name], high[name] = min(ends), max(ends)
            case [name, "arith.divui", a, b, *_] if {a, b} <= low.keys():
                low[name], high[name] = low[a] // high[b], high[a] // low[b]
            case [name, "arith.remui", a, b, *_] if b in low:
                low[name], high[name] = 0, high[b] - 1
            case [name, "arith.maxsi", a, b, *_] if {a, b} <= low.keys():
                low[name], high[name] = max(low[a], low[b]), max(high[a], high[b])
            case [name, "arith.minsi", a, b, *_] if {a, b} <= low.keys():
                low[name], high[name] = min(low[a], low[b]), min(high[a], high[b])
        for place in re.findall(r"memref\.(?:load|store) .*\[(%\w+)\]", line):
            least = min(least, low[place])
    return least
