"""`reactant.jit` from the caller's side: signatures, caching, pytrees, written arguments, run-time values."""
from __future__ import annotations

import threading
import warnings
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import jax
import numpy as np
import pytest

import reactant
from tests.oracle import check


def axpy(a, x, y):
    return a * x + y


def test_results_are_writable_numpy_arrays():
    result = reactant.jit(axpy)(2.0, np.arange(3.0), np.ones(3))
    assert type(result) is np.ndarray and result.flags.writeable
    result[0] = 7
    np.testing.assert_array_equal(result, [7, 3, 5])


def test_one_compilation_per_signature():
    f = reactant.jit(axpy)
    x = np.ones(4)
    f(2.0, x, x + 1)
    f(3.5, x, x + 2)          # a float is a run-time value
    assert f.cache_size() == 1
    f(2, x, x + 1)            # an int is static
    f(3, x, x + 1)
    assert f.cache_size() == 3
    f(2.0, x.astype(np.float32), x + 1)
    f(2.0, np.ones((2, 2)), np.ones((2, 2)))
    f(2.0, np.ones((8,))[::2], x + 1)      # another layout: views and copies may differ
    assert f.cache_size() == 6
    f.clear_cache()
    assert f.cache_size() == 0


def test_equal_static_values_of_different_types_do_not_share():
    def f(n, x):
        return x * n, n

    g = reactant.jit(f)
    x = np.ones(2, np.int32)
    assert type(g(1, x)[1]) is int
    assert g(True, x)[1] is True
    assert g.cache_size() == 2


def test_static_and_traced_argnames():
    def scale(x, factor, power):
        return x * factor ** power

    f = reactant.jit(scale, static_argnames="factor", traced_argnames=("power",))
    x = np.arange(4.0)
    for factor, power in ((2.0, 2), (2.0, 3), (3.0, 2)):
        np.testing.assert_allclose(f(x, factor, power), scale(x, factor, power))
    assert f.cache_size() == 2
    np.testing.assert_allclose(f(x, power=2, factor=2.0), x * 4)
    with pytest.raises(reactant.ReactantError, match="static_argnames: the function has no argument 'nothing'"):
        reactant.jit(scale, static_argnames="nothing")
    with pytest.raises(reactant.ReactantError, match="'power' is among static_argnames and traced_argnames"):
        reactant.jit(scale, static_argnames=("factor", "power"), traced_argnames="power")


def test_decorator_with_and_without_arguments():
    @reactant.jit
    def one(x):
        return x + 1

    @reactant.jit(unroll_limit=0)
    def two(x):
        return x + 2

    assert one(np.zeros(2))[0] == 1 and two(np.zeros(2))[0] == 2
    assert one.__name__ == "one" and two.options.unroll_limit == 0


def test_unknown_option_names_the_known_ones():
    with pytest.raises(TypeError, match="no compile option 'fast'; there are optimize, "):
        reactant.jit(axpy, fast=True)
    with pytest.raises(ValueError, match="allow='speed'"):
        reactant.jit(axpy, allow=("speed",))


def test_jit_needs_a_function():
    with pytest.raises(TypeError, match="takes a function, not int"):
        reactant.jit(3)


class Pair(NamedTuple):
    left: np.ndarray
    right: np.ndarray


@dataclass
class State:
    position: np.ndarray
    step: float = 0.5
    names: dict = field(default_factory=dict)


@dataclass(slots=True)
class Slotted:
    content: np.ndarray
    scale: float


@dataclass(frozen=True)
class Frozen:
    content: np.ndarray


class Simulation:
    def __init__(self, n):
        self.field = np.zeros(n)
        self.time = 0.0
        self.iterations = 0

    def advance(self, dt):
        self.field[1:-1] += dt
        self.field = self.field * 2
        self.time += dt
        self.iterations += 1


TREES = [
    (lambda p: Pair(p.right, p.left * 2), (Pair(np.arange(3.0), np.ones(2)),)),
    (lambda d: {"sum": d["a"] + d["b"], "all": [d["a"], (d["b"],)]}, ({"a": np.ones(2), "b": np.arange(2.0)},)),
    (lambda s: State(s.position + s.step, s.step * 2, {"x": s.position}), (State(np.ones(3)),)),
    (lambda s: Slotted(s.content * s.scale, s.scale + 1), (Slotted(np.ones(3), 2.0),)),
    (lambda s: Frozen(s.content[1:]), (Frozen(np.arange(3.0)),)),
    (lambda xs: [x.sum() for x in xs], ([np.ones(2), np.ones((2, 2)), np.zeros(0)],)),
    (lambda x: None, (np.ones(2),)),
    (lambda x: (x, "text", 3, None, 2.5, True), (np.ones(2),)),
    (lambda x, y: x * y, (np.ones(2, np.float32), np.float32(3))),
    (lambda: np.arange(5) * 2, ()),
    (lambda x: x, (np.ones((0, 3)),)),
    (lambda x: (x[()], x + 1), (np.array(3.0),)),
]


@pytest.mark.parametrize(("function", "args"), TREES)
def test_pytrees(function, args):
    check(function, *args)


def add_key(d):
    d["c"] = d["a"] + 1
    d["a"][0] = 9
    del d["b"]
    return d


def grow(xs):
    xs.append(xs[0] * 2)
    xs[0] = xs[0] + 1
    return len(xs)


def test_containers_among_the_arguments_are_updated():
    check(add_key, {"a": np.ones(2), "b": np.zeros(1)})
    check(grow, [np.ones(3)])


def test_objects_with_state():
    def run(simulation, dt):
        simulation.advance(dt)
        simulation.advance(dt)
        return simulation.field.sum()

    plain, compiled = Simulation(5), Simulation(5)
    f = reactant.jit(run)
    for _ in range(2):
        assert run(plain, 0.5) == f(compiled, 0.5)
        np.testing.assert_array_equal(plain.field, compiled.field)
        assert (plain.time, plain.iterations) == (compiled.time, compiled.iterations)


def test_method_of_an_object():
    class Scaler:
        def __init__(self, factor):
            self.factor = factor

        @reactant.jit
        def apply(self, x):
            return self.factor * x

    np.testing.assert_array_equal(Scaler(np.array(3.0)).apply(np.ones(2)), [3, 3])


# ---- written arguments -----------------------------------------------------------------------------------------

def zero_edges(x):
    x[0] = 0
    x[-1] = 0


def test_written_arguments_are_seen_by_the_caller():
    for make in (lambda: np.ones((4, 3)), lambda: np.ones((8, 3))[::2], lambda: np.ones((3, 4)).T,
                 lambda: np.ones((4, 6))[:, ::-2], lambda: np.ones((5, 4, 3))[2]):
        whole = make()
        reactant.jit(zero_edges)(whole)
        expected = make()
        zero_edges(expected)
        np.testing.assert_array_equal(whole, expected)


def test_a_strided_argument_leaves_the_rest_of_its_base_alone():
    base = np.arange(12.0)
    reactant.jit(zero_edges)(base[1::3])
    expected = np.arange(12.0)
    zero_edges(expected[1::3])
    np.testing.assert_array_equal(base, expected)


def test_returned_argument_is_the_callers_array():
    def touch(x):
        x += 1
        return x, x[1:], x.T

    x = np.ones((3, 2))
    same, part, turned = reactant.jit(touch)(x)
    assert same is x or same.base is x or np.shares_memory(same, x)
    assert np.shares_memory(part, x) and np.shares_memory(turned, x)
    part[0, 0] = 50
    assert x[1, 0] == 50 and x[0, 0] == 2


def test_results_that_are_views_of_one_array_share_memory():
    def make(x):
        y = x * 2
        return y, y[::2]

    y, view = reactant.jit(make)(np.arange(6.0))
    view[0] = 99
    assert y[0] == 99


def test_one_array_given_twice():
    def add_into(x, y):
        x += y
        y *= 2

    x = np.ones(3)
    reactant.jit(add_into)(x, x)
    np.testing.assert_array_equal(x, [4, 4, 4])


@pytest.mark.parametrize("opaque", [partial(len), frozenset({1}), np.add, len, 2.5, "text", [1, (2,)]])
def test_one_array_given_twice_beside_other_arguments(opaque):
    def add(_, x, y, z):
        y += 1
        return x + z, y

    x, y = np.arange(3.0), np.ones(3)
    total, written = reactant.jit(add)(opaque, x, y, x)
    np.testing.assert_array_equal(total, [0, 2, 4])
    np.testing.assert_array_equal(written, [2, 2, 2])


@pytest.mark.parametrize("dtype", [">f8", ">i4", ">c16"])
def test_written_arguments_may_be_of_the_other_byte_order(dtype):
    def running(x):
        x[1:] += x[:-1]
        return x.sum()
    mine, theirs = (np.arange(9).astype(dtype) for _ in range(2))
    assert reactant.jit(running)(mine[::2]) == running(theirs[::2])
    np.testing.assert_array_equal(mine, theirs)


def test_elements_of_an_argument_that_overlap_raise_when_written():
    def write(a):
        a[0] = 7.0
        return a.sum()

    base = np.arange(12.0)
    strided = np.lib.stride_tricks.as_strided
    compiled = reactant.jit(write)
    for shape, strides in (((3, 3), (8, 8)), ((2, 4), (16, 8)), ((4,), (4,)), ((3, 2), (0, 8))):
        with pytest.raises(reactant.ReactantError, match="Elements of array 0 among the arguments overlap"):
            compiled(strided(base.copy(), shape, strides))
        assert reactant.jit(np.sum)(strided(base, shape, strides)) == strided(base, shape, strides).sum()
    for shape, strides in (((3, 3), (24, 8)), ((2, 3), (24, 16)), ((3, 2), (8, 40)), ((0, 3), (8, 8)),
                           ((1, 4), (0, 8))):
        plain, ours = base.copy(), base.copy()
        if shape[0]:
            assert write(strided(plain, shape, strides)) == compiled(strided(ours, shape, strides))
        else:
            assert reactant.jit(lambda a: a.fill(3.0))(strided(ours, shape, strides)) is None
        np.testing.assert_array_equal(plain, ours)


def test_overlapping_arguments_raise_when_written():
    def add_into(x, y):
        x += y

    base = np.ones(6)
    with pytest.raises(reactant.ReactantError, match="Arrays 0 and 1 among the arguments overlap in memory"):
        reactant.jit(add_into)(base[:4], base[2:])
    reactant.jit(add_into)(base[:3], base[3:])
    np.testing.assert_array_equal(base, [2, 2, 2, 1, 1, 1])
    np.testing.assert_array_equal(reactant.jit(lambda x, y: x + y)(base[:4], base[2:]), base[:4] + base[2:])


def test_views_of_the_same_elements_are_one_array():
    def change(x, y, others):
        x += 1
        y *= 2
        others[0][0] = x.sum()
        return x, y[::-1]

    compiled = reactant.jit(change)
    for part in (np.s_[1:4], np.s_[:], np.s_[::-2]):
        for _ in range(2):
            mine, theirs = np.arange(6.0), np.arange(6.0)
            found, wanted = (f(base[part], base[part], [base[part]])
                             for f, base in ((compiled, mine), (change, theirs)))
            for a, b in zip((*found, mine), (*wanted, theirs), strict=True):
                np.testing.assert_array_equal(a, b)
    with pytest.raises(reactant.ReactantError, match="overlap in memory"):
        compiled(mine[:3], mine[:3], [mine[1:]])


def test_read_only_argument():
    x = np.ones(3)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        reactant.jit(zero_edges)(x)


OUTSIDE = np.arange(4.0)


def test_arrays_from_outside_are_constants():
    def read(x):
        return x + OUTSIDE[1:3]

    def write(x):
        OUTSIDE[0] = x[0]

    def write_in_place(x):
        local = OUTSIDE
        local += 1
        return x

    np.testing.assert_array_equal(reactant.jit(read)(np.zeros(2)), [1, 2])
    for wrong in (write, write_in_place):
        with pytest.raises(reactant.ConstantWriteError, match="Pass it as an argument"):
            reactant.jit(wrong)(np.zeros(2))
    np.testing.assert_array_equal(OUTSIDE, np.arange(4.0))


def test_big_outside_array_is_captured_by_value():
    table = np.random.default_rng(0).random(5000)
    f = reactant.jit(lambda x: x + table)
    before = f(np.zeros(5000))
    np.testing.assert_array_equal(before, table)
    table[:] = 0
    np.testing.assert_array_equal(f(np.zeros(5000)), before)


# ---- errors ----------------------------------------------------------------------------------------------------

def test_unsupported_dtypes_say_what_to_do():
    with pytest.raises(reactant.UnsupportedError, match="dtype object cannot be compiled"):
        reactant.jit(lambda x: x)(np.array([{}, 1], dtype=object))
    with pytest.raises(reactant.UnsupportedError, match="astype\\('int64'\\)"):
        reactant.jit(lambda x: x)(np.array(["2020-01-01"], dtype="datetime64[D]"))
    with pytest.raises(reactant.UnsupportedError, match="Use float64"):
        reactant.jit(lambda x: x)(np.ones(2, np.longdouble))


def test_a_leaked_value_raises():
    kept = []

    def leak(x):
        kept.append(x * 2)
        return x

    number = []
    reactant.jit(lambda x: number.append(x.sum()))(np.ones(2))
    reactant.jit(leak)(np.ones(2))
    with pytest.raises(reactant.LeakError, match="outside the compiled call"):
        kept[0] + 1
    for use in (np.asarray, np.sin, lambda x: float(x.sum()), bool, lambda x: x.tolist()):
        with pytest.raises(reactant.LeakError, match="outside the compiled call"):
            use(kept[0] if use is not bool else number[0])


def test_exceptions_keep_their_type_and_name_the_line():
    def wrong(x):
        return x + np.ones(5)

    with pytest.raises(ValueError, match="shape") as caught:
        reactant.jit(wrong)(np.ones(3))
    assert any("test_api.py" in note and "return x + np.ones(5)" in note for note in caught.value.__notes__)


def test_checks_at_run_time_name_their_line():
    def pick(x, i):
        return x[i]

    f = reactant.jit(pick, traced_argnames="i")
    for _ in range(2):
        with pytest.raises(IndexError, match="out of bounds for axis 0 with size 3") as caught:
            f(np.ones(3), 5)
        assert [note for note in caught.value.__notes__ if note.endswith("return x[i]")]
    assert f(np.arange(3.0), 2) == 2.0


def test_recompilation_warns_once_with_the_reason():
    f = reactant.jit(lambda n, x: x + n)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in range(12):
            f(n, np.ones(2))
    found = [w for w in caught if w.category is reactant.RecompilationWarning]
    assert len(found) == 1
    assert "argument 0 changed from 7 to 8" in str(found[0].message) and "traced_argnames" in str(found[0].message)


# ---- the rest of the interface ---------------------------------------------------------------------------------

def test_lower_and_compile():
    lowered = reactant.jit(axpy, native="never").lower(2.0, np.ones(8), np.ones(8))
    assert "stablehlo.multiply" in lowered.as_text() and "stablehlo.add" in lowered.as_text(optimized=False)
    assert lowered.operations()["stablehlo.add"] == 1
    assert lowered.cost()["flops"] >= 16
    compiled = lowered.compile()
    spent = compiled.times.xla
    assert spent > 0        # it has been compiled, as `compile` says
    assert "fusion" in compiled.as_text() or "multiply" in compiled.as_text()
    assert compiled.cost_analysis()["flops"] > 0
    assert compiled.memory_analysis().argument_size_in_bytes >= 128
    np.testing.assert_array_equal(compiled(2.0, np.ones(8), np.ones(8)), np.full(8, 3.0))
    assert compiled.times.xla == spent
    native = reactant.jit(axpy).lower(2.0, np.ones(8), np.ones(8)).compile()
    assert native.times.xla == 0 < native.times.native and "HloModule" in native.as_text() and native.times.xla > 0


def stretched(state, factor):
    state["x"][1:] *= factor
    return state["x"] @ state["y"]


A, B = np.ones(3), np.arange(3.0)


def difference_times(b, a, n=2):
    return np.subtract(b * n, a)


def test_calls_of_what_was_lowered():
    """By position or by name, in the order of the function; the values that are part of the program are asked for."""
    b, a = np.arange(3.0), np.ones(3)
    jitted, expected = reactant.jit(difference_times), difference_times(b, a)
    for made in (jitted.lower(b, a).compile(), jitted.lower(a=a, b=b).compile()):
        for got in (made(b, a), made(b=b, a=a), made(a=a, b=b), made(np.arange(0, 3, 0.5)[::2], a)):
            np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(made(b, b), b)
    of_numbers = reactant.jit(difference_times, traced_argnames="n").lower(b, a, 5).compile()
    np.testing.assert_array_equal(of_numbers(b, a, 7), difference_times(b, a, 7))
    scaled = reactant.jit(lambda x, n: x * n).lower(b, 3).compile()
    np.testing.assert_array_equal(scaled(b), scaled(n=3, x=b))
    walker = Steps()
    step = reactant.jit(walker.step).lower(a).compile()
    assert step(a) == 3 and walker.at.tolist() == [1, 1, 1]


class Steps:
    def __init__(self):
        self.at = np.zeros(3)

    def step(self, x):
        self.at += x
        return self.at.sum()


@pytest.mark.parametrize(("lowered", "given", "words"), [
    ((B, A, 3), (B, A, 4), r"Argument 2 of difference_times is 4; it was compiled for 3\."),
    ((B, A, 3), (B, A), r"for the arguments \(float64\[3\], float64\[3\], 3\); \(float64\[3\], float64\[3\]\) were"),
    ((B, A), (B,), "were given"),
    ((B, A), ([1.0, 2.0, 3.0], A), "Argument 0 of difference_times is list of 3; it was compiled for float64"),
    ((B, A), (B.astype("f4"), A), r"is float32\[3\]; it was compiled for float64\[3\]"),
    ((B, B), (B, A), "Argument 1 .* was compiled for the array or object of an earlier argument"),
    ((B, 2.0), (B, np.float32(2)), "Argument 1 of difference_times is float32; it was compiled for float"),
    ((np.ones((2, 3)), 1.0), (np.ones((3, 2)).T, 1.0), r"is float64\[2, 3\] of strides \(8, 16\)"),
])
def test_calls_that_do_not_fit_what_was_lowered(lowered, given, words):
    made = reactant.jit(difference_times).lower(*lowered).compile()
    with pytest.raises(TypeError, match=words):
        made(*given)


def test_trees_that_do_not_fit_what_was_lowered():
    made = reactant.jit(lambda d: np.sum(d["a"][1]) - d["b"]).lower({"a": [A, B], "b": 1.0}).compile()
    with pytest.raises(TypeError, match=r"A part of argument 0 of <lambda> is float64\[4\]; .* for float64\[3\]"):
        made({"a": [A, np.ones(4)], "b": 1.0})
    with pytest.raises(TypeError, match="is a dict with the keys 'b', 'a'; .* a dict with the keys 'a', 'b'"):
        made({"b": 1.0, "a": [A, B]})


def test_shapes_that_a_function_of_no_library_is_lowered_for():
    made = reactant.jit(lambda x, mode: x * 2 if mode == "a" else x)
    assert made.lower(jax.ShapeDtypeStruct((3,), np.float64), "a").operations()["stablehlo.multiply"] == 1


def test_shapes_in_place_of_arrays():
    shape = jax.ShapeDtypeStruct((6, 6), np.float32)
    made, arrays = reactant.jit(stretched).lower({"x": shape, "y": shape}, 2.0), [np.ones((6, 6), "f") for _ in "xyab"]
    assert made.as_text() == reactant.jit(stretched).lower({"x": arrays[0], "y": arrays[1]}, 2.0).as_text()
    state, plain = dict(zip("xy", arrays[:2], strict=True)), dict(zip("xy", arrays[2:], strict=True))
    np.testing.assert_array_equal(made.compile()(state, 2.0), stretched(plain, 2.0))
    np.testing.assert_array_equal(state["x"], plain["x"])
    assert reactant.grad(lambda x, y: np.sum(x @ y)).lower(shape, shape).cost()["flops"] > 0
    placed = jax.ShapeDtypeStruct((3,), np.float32, sharding=jax.sharding.SingleDeviceSharding(jax.devices()[0]))
    assert isinstance(reactant.jit(lambda x: x * 2).lower(placed).compile()(jax.numpy.ones(3)), jax.Array)
    with pytest.raises(reactant.UnsupportedError, match=r"(?s)no values to compute.*`\.lower\(\.\.\.\)` takes it"):
        reactant.jit(stretched)({"x": shape, "y": shape}, 2.0)


def test_code_hlo_and_code_xla():
    assert "func.func public @main" in reactant.code_hlo(axpy, 2.0, np.ones(2), np.ones(2), optimize=False)
    assert "HloModule" in reactant.code_xla(axpy, 2.0, np.ones(2), np.ones(2))


def test_is_tracing():
    seen = []

    def f(x):
        seen.append(reactant.is_tracing())
        return x

    reactant.jit(f)(np.ones(1))
    assert seen == [True] and not reactant.is_tracing()


def test_compiled_functions_call_each_other():
    inner = reactant.jit(lambda x: x * 2)

    @reactant.jit
    def outer(x):
        return inner(x) + 1

    np.testing.assert_array_equal(outer(np.ones(2)), [3, 3])


def test_partial():
    check(partial(axpy, 2.0), np.ones(3), np.ones(3))


def test_as_part_of_a_jax_program():
    f = reactant.jit(axpy)
    result = jax.jit(lambda x: f(2.0, x, x) + 1)(jax.numpy.ones(3))
    np.testing.assert_array_equal(np.asarray(result), [4, 4, 4])


def test_calls_from_several_threads():
    f = reactant.jit(lambda x, n: x * n)
    results, errors = {}, []

    def work(n):
        try:
            for _ in range(5):
                results[n] = f(np.arange(4.0), n)
        except Exception as error:  # noqa: BLE001 - the test reports it
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    for n in range(6):
        np.testing.assert_array_equal(results[n], np.arange(4.0) * n)


@pytest.mark.parametrize("x64", [False, True])
def test_both_jax_defaults(x64):
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", x64)
    try:
        result = reactant.jit(lambda x, a: x * a + 1e-12)(np.ones(3), 2.0)
        assert result.dtype == np.float64 and result[0] == 2.0 + 1e-12
        assert jax.config.jax_enable_x64 is x64
    finally:
        jax.config.update("jax_enable_x64", before)


def test_numpy_state_is_left_alone():
    before = (np.geterr(), np.get_printoptions())
    reactant.jit(axpy)(1.0, np.ones(3), np.ones(3))
    assert (np.geterr(), np.get_printoptions()) == before


def with_names(x, *, function=1.0, self=2.0, args=3.0, options=4.0, arguments=5.0):
    def inside(y, *, function, self):
        return y * function + self
    return np.sum(inside(x, function=function, self=self)) * args + options - arguments


def test_keywords_of_any_name():
    x, names = np.arange(3.0), {"function": 1.5, "self": 2.5, "args": 0.5, "options": 1.0, "arguments": 7.0}
    plain = with_names(x, **names)
    assert reactant.jit(with_names)(x, **names) == plain
    assert reactant.verify(with_names, x, **names)
    assert "multiply" in reactant.code_hlo(with_names, x, **names)
    assert reactant.code_xla(with_names, x, **names) and str(reactant.explain(with_names, x, **names))
    assert reactant.checkpoint(with_names)(x, **names) == plain
    np.testing.assert_array_equal(reactant.grad(with_names)(x, **names), [0.75] * 3)
    np.testing.assert_array_equal(reactant.jacobian(with_names)(x, **names), [0.75] * 3)
    rows = reactant.vmap(with_names)(x[None], **{name: np.array([value]) for name, value in names.items()})
    np.testing.assert_array_equal(rows, [plain])
