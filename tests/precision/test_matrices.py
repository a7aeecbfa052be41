"""Parts and sums of matrices in limbs, and loops that carry them."""
import mpmath
import numpy as np

from reactant.ir import ops
from reactant.precision import matrices
from tests.precision import limbs

A = np.random.default_rng(0).standard_normal((5, 4))


def test_parts_and_sums():
    """Squares of rows one after the other, in a loop; a rank-one matrix; sums of columns; a triangle; a unit matrix."""
    def program(a):
        def squared(k, found):
            row = matrices.taken(a, k, 1)
            return [matrices.put(found, row * row, k, 1)]
        (squares,) = matrices.counted(4, [matrices.zero_like(a)], squared)      # the last row stays 0
        column, row = (a.each(lambda v, stop=stop: ops.slice(v, (0, 0, 0), stop)) for stop in ((1, 5, 1), (1, 1, 4)))
        lower = matrices.kept(matrices.triangle(a.shape, "GE"), a)
        return [squares, matrices.outer(column, row), matrices.column_sums(a), lower, matrices.unit(a, 4, 3),
                matrices.adjoint(a)]
    squares, outer, sums, lower, unit, other = limbs.on_matrices(program, [A], np.float64, 2)
    with mpmath.workprec(400):
        exact = mpmath.matrix(A)
        wanted = mpmath.matrix(5, 4)
        for i in range(4):
            for j in range(4):
                wanted[i, j] = exact[i, j] ** 2
        assert limbs.bits_of_residual(squares, wanted) > 100
        assert limbs.bits_of_residual(outer, exact[:, 0] * exact[0, :]) > 100
        assert limbs.bits_of_residual(sums, mpmath.ones(1, 5) * exact) > 100
    assert lower == mpmath.matrix(np.tril(A)) and unit == mpmath.matrix(np.eye(4, 3)) and other == mpmath.matrix(A.T)


def test_a_loop_that_ends_by_what_it_carries():
    """Halved until the greatest number is below 1."""
    def program(a):
        half = matrices.number_like(a, 0.5)
        return matrices.until(lambda k, x: ops.compare(ops.reshape(matrices.largest(x), ()), 1.0, "GE"), [a],
                              lambda k, x: [x * half])
    (found,) = limbs.on_matrices(program, [32 * A], np.float64, 2)
    assert found == mpmath.matrix(32 * A * 0.5 ** (1 + np.floor(np.log2(np.abs(32 * A).max()))))


def test_exponents():
    def program(a):
        return [matrices.times_power(a, ops.negate(matrices.exponent(a)))]
    (found,) = limbs.on_matrices(program, [A * 2.0**40], np.float64, 2)
    assert 0.5 <= max(abs(x) for x in found) < 2
