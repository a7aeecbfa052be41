"""Complex numbers of wide ones, and limbs as a list."""
import mpmath
import numpy as np

from reactant.precision import values
from reactant.precision.values import WideComplex
from tests.precision import limbs

A, B, C, D = np.random.default_rng(0).standard_normal((4, 3, 3))


def test_complex_arithmetic():
    def program(a, b, c, d):
        x, y = WideComplex(a, b), WideComplex(c, d)
        found = [x * y, x + y, -x - y, values.conjugate(x), x * c]
        return [part for each in found for part in (each.re, each.im)]
    found = limbs.on_matrices(program, [A, B, C, D], np.float64, 2)
    x, y = A + 1j * B, C + 1j * D
    with mpmath.workprec(400):
        for k, wanted in enumerate([None, x + y, -x - y, x.conj(), x * C]):
            re, im = found[2 * k:2 * k + 2]
            for i in range(3):
                for j in range(3):
                    left, right = mpmath.mpc(*(x[i, j].real, x[i, j].imag)), mpmath.mpc(y[i, j].real, y[i, j].imag)
                    exact = left * right if wanted is None else left * mpmath.mpf(C[i, j]) if k == 4 else \
                        left + right if k == 1 else -left - right if k == 2 else mpmath.conj(left)
                    assert abs(mpmath.mpc(re[i, j], im[i, j]) - exact) < 2.0**-98


def test_limbs_as_a_list_and_back():
    def program(a, b):
        given = [WideComplex(a, b), a]
        flat = values.flat(given)
        first, second = values.like(given, flat)
        assert len(flat) == 6 and values.real_part(first).limbs == a.limbs and values.real_part(second) is second
        return [first.re, first.im, second]
    found = limbs.on_matrices(program, [A, B], np.float64, 2)
    assert found == [mpmath.matrix(A), mpmath.matrix(B), mpmath.matrix(A)]
