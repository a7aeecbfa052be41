"""Errors in a `try`: those of the program are as in Python; what merely cannot be compiled is no error that a handler
takes for the program's own."""
from __future__ import annotations

import array
import decimal
import fractions
import math
import statistics
import struct
import warnings

import numpy as np
import pytest

import reactant
from reactant.errors import ConcreteValueNeeded, ReactantError, UnsupportedError
from tests.frontends.agreement import agree

X = np.array([0.5, 1.5, -2.0, 3.0])
CASES = [(X,), (-X,), (X[::-1].copy(),)]


def handled(operation, error):
    """A function that falls back where the operation raises this."""
    def program(x):
        try:
            return operation(x)
        except error:
            return x * 2
    return program


def assigned(x):
    places = [1, 2, 3]
    places[x[0]] = 5
    return places


OF_THE_PROGRAM = {
    "sine of an array": (lambda x: math.sin(x), TypeError), "floor of an array": (lambda x: math.floor(x), TypeError),
    "logarithm of an array": (lambda x: math.log(x, 2), TypeError),
    "list at a float": (lambda x: [1, 2][x[0]], TypeError),
    "list at an array": (lambda x: [1, 2][x], TypeError), "list at a truth": (lambda x: [1, 2][x[0] > 0], TypeError),
    "tuple at a float": (lambda x: (1, 2)[x[0]], TypeError), "assigned at a float": (assigned, TypeError),
    "list to a float": (lambda x: [1, 2][:x[0]], TypeError), "range of a float": (lambda x: range(x[0]), TypeError),
    "size of a float": (lambda x: np.zeros(x[3]), TypeError), "shape of a text": (lambda x: x.reshape("a"), TypeError),
    "text times a float": (lambda x: "a" * x[0], TypeError), "too many": (lambda x: np.sin(x, x, x), TypeError),
    "too few": (lambda x: np.add(x), TypeError), "unknown keyword": (lambda x: np.add(x, 1, foo=2), TypeError),
    "out twice": (lambda x: np.add(x, 1, x, out=x), TypeError), "no attribute": (lambda x: x.foo, AttributeError),
    "array as a number": (lambda x: float(x), TypeError), "text in numbers": (lambda x: x + "a", TypeError),
    "index too far": (lambda x: x[10], IndexError), "too many axes": (lambda x: x[0, 0], IndexError),
    "shapes that differ": (lambda x: x + np.ones(3), ValueError), "key of an array": (lambda x: {x: 1}, TypeError),
    "called": (lambda x: x[0](), TypeError),
    "part of a number": (lambda x: float(x[0])[0], TypeError), "unpacked": (lambda x: [*x[0]], TypeError),
}


@pytest.mark.parametrize("name", OF_THE_PROGRAM)
def test_errors_of_the_program_are_handled(name):
    operation, error = OF_THE_PROGRAM[name]
    agree(handled(operation, error), CASES)
    with pytest.raises(error) as plain:
        operation(X)
    with pytest.raises(error) as compiled:
        reactant.jit(lambda x: operation(x))(X)
    assert isinstance(plain.value, type(compiled.value))


OF_THE_COMPILER = {
    "mean": (lambda x: statistics.mean(x), TypeError), "decimal": (lambda x: decimal.Decimal(x[0]) and 1, TypeError),
    "fraction": (lambda x: fractions.Fraction(x[0]) and 1, TypeError),
    "packed": (lambda x: struct.pack("d", x[0]) and 1, struct.error),
    "packed by a method": (lambda x: struct.Struct("d").pack(x[0]) and 1, struct.error),
    "array": (lambda x: array.array("d", x)[0], TypeError), "bytes": (lambda x: bytes(x) and 1, TypeError),
    "memory": (lambda x: memoryview(x) and 1, TypeError), "tobytes": (lambda x: x.tobytes() and 1, AttributeError),
    "hex": (lambda x: x[0].hex() and 1, AttributeError),
    "ratio": (lambda x: float(x[0]).as_integer_ratio() and 1, AttributeError),
    "asked with another value": (lambda x: getattr(x, "tobytes", None) is None, AttributeError),
}


@pytest.mark.parametrize("name", OF_THE_COMPILER)
def test_what_cannot_be_compiled_is_no_error_of_the_program(name):
    operation, error = OF_THE_COMPILER[name]
    with pytest.raises((ConcreteValueNeeded, UnsupportedError), match="test_foreign_errors.py"):
        reactant.jit(handled(operation, error))(X)


def test_foreign_code_with_numbers_that_are_known():
    def program(x):
        packed = struct.pack("d", 2)
        return x * statistics.mean([1, 2, 6]) + float(decimal.Decimal("0.5")) + struct.unpack("d", packed)[0]
    agree(program, CASES)


def warned_of(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.log(x)
        except RuntimeWarning:
            return x * 0


def filtered(x):
    with warnings.catch_warnings():
        warnings.filterwarnings(category=RuntimeWarning, action="error")
        return np.log(x)


def recorded(x):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        y = np.log(x)
    return y if seen else x


def counted(x):
    with warnings.catch_warnings(record=True) as seen:
        y = np.log(x)
    return y * len(seen)


@pytest.mark.parametrize("program", [warned_of, filtered, recorded, counted])
def test_warnings_that_decide_are_refused(program):
    with pytest.raises(UnsupportedError, match=r"(?s)test_foreign_errors.py.*np.isfinite"):
        reactant.jit(program)(X)


def silenced(x):
    with warnings.catch_warnings(record=True):
        y = np.log(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", DeprecationWarning)
        warnings.filterwarnings("ignore", "divide by zero")
        return y + np.log(x)


def test_warnings_that_decide_nothing_are_not():
    agree(silenced, CASES)


def test_floating_point_errors_of_the_caller():
    with np.errstate(divide="raise"), pytest.raises(ReactantError, match="FloatingPointError"):
        reactant.jit(lambda x: 1 / x)(X)


def test_texts_are_equal_to_no_number():
    agree(lambda x: (x == "a", x != "a", x[0] == "a", x[0] != b"a", float(x[0]) == "a", x == None), CASES)  # noqa: E711


def test_methods_taken_from_their_class():
    def program(x):
        y = x.copy()
        np.ndarray.sort(y)
        np.ndarray.__setitem__(y, 0, 9.0)
        return (y, np.ndarray.sum(x), np.ndarray.__add__(x, 1), float.__add__(float(x[0]), 1.0),
                list(map(np.ndarray.sum, [x, x[:2]])), list(map(float.is_integer, [float(v) for v in x])))
    agree(program, CASES)
