"""Views alias as NumPy's do: random chains of views, writes through any of them, every view read afterwards."""
from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

import reactant
from tests.oracle import check


@dataclass
class Program:
    """Views are numbered: 0 is the argument, view n + 1 is `steps[n] = (of which view, how)`."""
    base: np.ndarray
    steps: list = field(default_factory=list)
    writes: list = field(default_factory=list)

    def __repr__(self) -> str:
        return (f"{self.base.dtype}{list(self.base.shape)} strides {self.base.strides}; "
                f"views {[(n, name) for n, name, _ in self.steps]}; writes {self.writes}")


@some.composite
def slices(draw, extent):
    def bound():
        return draw(some.one_of(some.none(), some.integers(-extent - 1, extent + 1)))
    return slice(bound(), bound(), draw(some.sampled_from([None, 1, 2, 3, -1, -2])))


def _slice(draw, shape):
    key = tuple(draw(slices(shape[d])) for d in range(draw(some.integers(0, len(shape)))))
    return repr(key), lambda x, i: x[key]


def _newaxis(draw, shape):
    place = draw(some.integers(0, len(shape)))
    return f"newaxis {place}", lambda x, i: x[(slice(None),) * place + (None,)]


def _reshape(draw, shape):
    count = int(np.prod(shape))
    shapes = [(count,), (1, count), *((n, count // n) for n in (2, 3, 4) if count % n == 0)]
    shapes += [(2, count // 4, 2)] * (count % 4 == 0) + [(-1,)] * (count > 0)
    new, order = draw(some.sampled_from(shapes)), draw(some.sampled_from("CCF"))
    return f"reshape {new} {order}", lambda x, i: x.reshape(new, order=order)


def _ravel(draw, shape):
    order = draw(some.sampled_from("CFKA"))
    return f"ravel {order}", lambda x, i: x.ravel(order)


def _integer(draw, shape):
    d = draw(some.integers(0, len(shape) - 1))
    at = draw(some.integers(-shape[d], shape[d] - 1))
    return f"[{at}] of {d}", lambda x, i: x[(slice(None),) * d + (at, ...)]


def _run_time_integer(draw, shape):
    d = draw(some.integers(0, len(shape) - 1))
    extent, before = shape[d], tuple(draw(slices(n)) for n in shape[:d])
    return f"[{before}, i % {extent}] of {d}", lambda x, i: x[(*before, i % extent, ...)]


def _split(draw, shape):
    d = draw(some.integers(0, len(shape) - 1))
    return f"split {d}", lambda x, i: np.array_split(x, 2, d)[1]


def _swap(draw, shape):
    a, b = (draw(some.integers(0, len(shape) - 1)) for _ in range(2))
    return f"swap {a} {b}", lambda x, i: x.swapaxes(a, b)


def _permute(draw, shape):
    order = draw(some.permutations(range(len(shape))))
    return f"permute {order}", lambda x, i: x.transpose(order)


def _diagonal(draw, shape):
    offset = draw(some.integers(-2, 2))
    if shape[-1] == shape[-2]:
        return "einsum diagonal", lambda x, i: np.einsum("...ii->...i", x)     # a writable view
    return f"diagonal {offset}", lambda x, i: x.diagonal(offset)


def _simple(name, function):
    return lambda draw, shape: (name, function)


ANY_RANK = [_slice, _slice, _newaxis, _reshape, _ravel, _simple("T", lambda x, i: x.T), _simple("flip",
            lambda x, i: np.flip(x)),
            _simple("...", lambda x, i: x[...]), _simple("squeeze", lambda x, i: x.squeeze()),
            _simple("real", lambda x, i: x.real), _simple("imag", lambda x, i: x.imag),
            _simple("broadcast", lambda x, i: np.broadcast_to(x, (2, *x.shape))),
            _simple("expand", lambda x, i: np.expand_dims(x, -1))]
NEEDS_ELEMENTS = [_integer, _run_time_integer]
NEEDS_TWO = [_swap, _permute, _diagonal, _simple("rot90", lambda x, i: np.rot90(x))]


@some.composite
def programs(draw):
    shape = tuple(draw(some.lists(some.integers(0, 4), min_size=1, max_size=3)))
    dtype, order = draw(some.sampled_from(["f8", "c16", "i4"])), draw(some.sampled_from("CF"))
    values = np.arange(1, 1 + int(np.prod(shape))).reshape(shape)
    program = Program(np.array(values + 0.5j * values if dtype == "c16" else values, dtype, order=order))
    views = [program.base]
    for _ in range(draw(some.integers(2, 5))):
        number = draw(some.integers(max(0, len(views) - 2), len(views) - 1))
        source = views[number]
        kinds = ANY_RANK + [_split] * (source.ndim > 0) + NEEDS_ELEMENTS * (source.ndim > 0 and 0 not in source.shape) \
            + NEEDS_TWO * (source.ndim > 1)
        name, step = draw(some.sampled_from(kinds))(draw, source.shape)
        view = step(source, np.int64(5))
        if isinstance(view, np.ndarray):
            program.steps.append((number, name, step))
            views.append(view)
    for _ in range(draw(some.integers(1, 3))):
        program.writes.append((draw(some.integers(0, len(views) - 1)), draw(some.sampled_from(
            ["fill", "add", "multiply", "values"]))))
    return program


def run(program: Program, x, i):
    """The views, what they hold after all writes, and which writes were refused."""
    views, refused = [x], []
    for number, _, step in program.steps:
        views.append(step(views[number], i))
    for n, (number, kind) in enumerate(program.writes):
        view = views[number]
        try:
            if kind == "fill":
                view[...] = n + 100
            elif kind == "add":
                view += n + 7
            elif kind == "multiply":
                view *= 2
            else:
                view[...] = np.arange(view.size).reshape(view.shape)
        except ValueError as error:
            refused.append(str(error)[:20])
    return views, [v * 2 for v in views], refused


SETTINGS = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None, "derandomize": True}


@pytest.mark.slow
@settings(max_examples=100, **SETTINGS)
@given(programs())
def test_chains_of_views(program):
    """What is traced is right, before any rewriting."""
    check(lambda x, i: run(program, x, i), program.base, np.int64(5), optimize=False)


@pytest.mark.slow
@settings(max_examples=2000, **SETTINGS)
@given(programs())
def test_many_chains_of_views(program):
    check(lambda x, i: run(program, x, i), program.base, np.int64(5))


def test_strided_arguments_are_written_back():
    memory = np.zeros((6, 8))

    def write(x):
        x[1:, ::2] += 1
        x.T[0] = 5
        return x.ravel()[:3]
    plain, compiled = memory.copy(), memory.copy()
    expected, got = write(plain[::2, ::-2]), reactant.jit(write)(compiled[::2, ::-2])
    np.testing.assert_array_equal(compiled, plain)
    np.testing.assert_array_equal(got, expected)


CASES = {
    "a view made before the write": lambda x: (lambda v: (x.fill(3), v)[1])(x[1:]),
    "a copy does not follow": lambda x: (lambda v: (x.fill(3), v)[1])(x[1:].copy()),
    "copies of scalars": lambda x: (np.abs(x[1, 1]).copy(), x[0, 0].reshape(()), x[0, 0].reshape(1), x[0, 0].ravel()),
    "a scalar does not follow": lambda x: (lambda v: (x.fill(3), v)[1])(x[1, 1]),
    "a 0-d view does": lambda x: (lambda v: (x.fill(3), v)[1])(x[1, 1, ...]),
    "flat": lambda x: (x.T.flat.__setitem__(slice(0, 3), 7), x)[1],
    "real part": lambda x: (x.real.fill(3), x)[1],
    "reshape of a transpose copies": lambda x: (lambda v: (x.fill(3), v)[1])(x.T.reshape(-1)),
    "overlapping assignment": lambda x: (x.__setitem__(slice(1, None), x[:-1]), x)[1],
    "overlapping reversal": lambda x: (x.__setitem__(slice(None), x[::-1]), x)[1],
    "contiguous is the same array": lambda x: (np.ascontiguousarray(x).fill(3), x)[1],
    "contiguous of a transpose is not": lambda x: (np.ascontiguousarray(x.T).fill(3), x)[1],
}


@pytest.mark.parametrize("name", CASES)
def test_cases(name):
    check(CASES[name], np.arange(12.).reshape(3, 4))


def test_rows_written_before_are_not_read_from_the_whole():
    """What a view was last known to hold is taken as long as no write may have changed it, in any region."""
    def program(x, n):
        a = np.zeros_like(x)
        for i in (0, 2, 0, 2, 1):
            a[i] += x[i]                # rows apart keep what is known of them
        a[0, 1:] -= x[0, 1:]            # parts of a row do not
        a[::2] *= 2.0
        b = a.T
        b[1] += a[1, 0]
        if x[0, 0] > 0:
            a[1] += 3.0
            a[1] += 4.0
        for _ in range(n):
            a[0] = a[1] + a[0]
        return a, a[1] * 1, a[0] * 1

    for sign in (1.0, -1.0):
        x = sign * np.arange(1.0, 13.0).reshape(3, 4)
        check(program, x, 3)
    traced = reactant.jit(lambda x: _rows(x)).lower(np.ones((3, 4))).operations(optimized=False)
    assert traced["stablehlo.slice"] == 2, traced       # each row of the argument once, and none of the sums


def _rows(x):
    a = x.copy()
    for _ in range(5):
        a[0] += a[1]
    return a


def test_array_without_dimensions_and_a_view_of_it():
    def program(x):
        a = np.array(3.0)
        a += x
        return a, a[None], a.reshape(1, 1)
    check(program, 2.0)


def test_an_axis_put_in_for_broadcasting_is_not_taken_out_again():
    x, y = np.arange(3.0), np.arange(8.0).reshape(2, 1, 4)
    outer = reactant.jit(lambda a, b: a[None, :, None] * b).lower(x, y)
    assert outer.operations(optimized=False)["stablehlo.reshape"] == 2      # of a, which nobody reads, and of b
    check(lambda a, b: a[None, :, None] * b, x, y)
    check(lambda a: a[:, None] * a[None] + a[:, None].sum(1, keepdims=True), x)
