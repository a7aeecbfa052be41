"""Arrays that loops and branches write over while something else still reads them, and counters that wrap around:
against the reference interpreter."""
import numpy as np
import pytest

from reactant.ir import ops
from reactant.ir.context import building
from reactant.ir.interpret import evaluate
from reactant.rewrite.selftest import build_module
from tests.loopnests.running import run

X = np.arange(6.0) + 1


def check(builder, *arguments, dtype="float64"):
    with building():
        module = build_module(builder, np.dtype(dtype))
        assert module is not None
        wanted = evaluate(module, arguments)
    for old, new in zip(wanted, run(module, arguments), strict=True):
        np.testing.assert_array_equal(new, old, err_msg=str(module))


def iterations(count, inits, body):
    """`body(i, *carried)` for i = 0..count-1; what is carried at the end."""
    return ops.while_([ops.constant(0, "int32"), *inits], lambda i, *_: ops.compare(i, count, "LT"),
                      lambda i, *carried: [ops.add(i, 1), *body(i, *carried)])[1:]


def number(x, place):
    return ops.dynamic_slice(x, [place], (1,))


def made(x):
    """An array in memory."""
    return iterations(2, [x], lambda i, y: [ops.dynamic_update_slice(y, ops.negate(number(y, i)), [i])])[0]


def test_a_branch_in_a_loop_gives_what_another_array_started_from():
    def program(a):
        start = made(a(6))

        def body(i, x, y):
            given = ops.if_(ops.compare(i, 2, "EQ"), lambda: [start], lambda: [y], [y.type])[0]
            return [ops.dynamic_update_slice(x, ops.negate(number(x, i)), [i]), given]
        return iterations(4, [start, ops.constant(np.zeros(6))], body)
    check(program, X)


def test_a_loop_computes_again_what_another_array_started_from():
    def program(a):
        x = made(a(6))
        turned = ops.reverse(x, [0])
        mask = ops.constant(np.arange(6) < 2)
        return iterations(3, [turned, x], lambda i, y, z: [ops.select(mask, ops.add(y, 1.0), turned), y])[0]
    check(program, X)


def test_windows_that_always_end_up_at_the_edge():
    def program(a):
        def body(i, x, total):
            new = ops.dynamic_update_slice(x, ops.add(number(x, ops.constant(0, "int32")), 1.0), [ops.add(i, 7)])
            return [new, ops.add(total, ops.multiply(number(x, ops.constant(5, "int32")), number(new, i)))]
        return iterations(3, [a(6), a(1)], body)
    check(program, X, np.zeros(1))


@pytest.mark.parametrize(("dtype", "start", "direction", "stop", "step"), [
    ("int8", 0, "LT", 127, 3), ("int8", 5, "NE", 3, 1), ("uint8", 250, "NE", 0, 1), ("int8", 0, "GT", -128, -3),
    ("uint8", 7, "GE", 1, -3), ("int8", 3, "NE", 5, -1), ("int8", -128, "LT", 127, 1), ("uint8", 250, "LT", 255, 1)])
def test_counters_that_wrap_around(dtype, start, direction, stop, step):
    def program(a):
        def body(i, x):
            place = ops.add(ops.convert(i, "int32"), 130)
            return [ops.add(i, ops.constant(np.int64(step).astype(dtype))),
                    ops.dynamic_update_slice(x, ops.constant(np.ones(1)), [place])]
        return ops.while_([ops.constant(start, dtype), a(400)],
                          lambda i, _: ops.compare(i, ops.constant(stop, dtype), direction), body)
    check(program, np.zeros(400))


def test_signs_of_zeros_that_are_chosen():
    def program(a):
        test = ops.compare(a(3), 0.5, "GT")
        zero, negative = (ops.constant(z, "float64", (3,)) for z in (0.0, -0.0))
        chosen = ops.select(test, ops.complex(zero, negative), ops.complex(negative, negative))
        return [ops.divide(1.0, ops.select(test, zero, negative)), ops.divide(1.0, ops.real(chosen))]
    check(program, np.array([1.0, 0.0, 2.0]))


def test_a_loop_until_no_element_moves_gives_its_iterations():
    def program(a):
        def body(n, x, moves):
            y = ops.select(moves, ops.multiply(x, 1.5), x)
            return [ops.add(n, 1), y, ops.and_(moves, ops.compare(y, 20.0, "LT"))]
        x = a(64)
        return ops.while_([ops.constant(0, "int64"), x, ops.compare(x, 0.0, "GE")],
                          lambda n, x, moves: ops.and_(ops.reduce(moves, False, [0], "or"), ops.compare(n, 100, "LT")),
                          body)[:2]
    check(program, np.random.default_rng(0).normal(size=64))
