"""What is left of programs that read parts of complex numbers."""
import numpy as np
import pytest

from reactant.ir import ops
from tests.simplify.test_goals import short, simplified

N = 6


def imaginary(a):
    return ops.multiply(ops.convert(a(N), np.complex64), ops.constant(1j, np.complex64, (N,)))


PROGRAMS = {
    "wave": (lambda a: ops.real(ops.exponential(imaginary(a))), {"cosine": 1}),
    "product": (lambda a: ops.real(ops.multiply(ops.complex(x := a(N), y := a(N)), ops.complex(y, x))),
                {"multiply": 2, "subtract": 1}),
    "sum": (lambda a: ops.imag(ops.add(ops.complex(a(N), x := a(N)), ops.complex(a(N), x))), {"add": 1}),
    "sum with a constant": (lambda a: ops.real(ops.multiply(ops.add(ops.convert(a(N), np.complex64), 1j), 2)),
                            {"add": 1, "multiply": 1}),
    "conjugate": (lambda a: ops.imag(ops.conj(ops.complex(a(N), a(N)))), {"negate": 1}),
    "magnitude of real": (lambda a: ops.abs(ops.complex(a(N), 0.0)), {"abs": 1}),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_parts(name):
    builder, wanted = PROGRAMS[name]
    counts = short(simplified(builder))
    counts.pop("constant", None)
    assert counts == wanted
