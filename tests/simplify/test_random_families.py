"""Random programs over sorts, transforms, complex numbers, solves, structured products, branches and loops: simplified
as by default they give what the reference interpreter (with NumPy's transforms and factorizations) gives before.
"""
import warnings

import numpy as np
import pytest

from reactant import pipelines
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.interpret import evaluate
from reactant.ir.types import dtype_of, shape_of, size
from reactant.options import CompileOptions
from reactant.rewrite.selftest import build_module
from reactant.simplify.selection.sorting import loosely
from tests.simplify.test_random_programs import MOVES, Program


class FamilyProgram(Program):
    """Grows programs out of the families; elementary moves of `Program` stand between them."""

    def __init__(self, rng, dtype, length):
        super().__init__(rng, dtype, length)
        self.moves = [m for m in MOVES if m not in ("branch", "convert")] + FAMILY_MOVES * 3

    def vector(self):
        x = self.value()
        n = size(shape_of(x))
        return ops.reshape(x, (n,)) if 0 < n <= 60 else None

    def matrix(self, n=4):
        """A matrix far from singular."""
        x = self.values[0]
        first = ops.slice(ops.reshape(x, (size(shape_of(x)),)), (0,), (1,))
        whole = ops.broadcast_in_dim(ops.reshape(first, ()), (n, n), ())
        spread = ops.tanh(ops.add(whole, ops.constant(self.rng.normal(size=(n, n)))))
        on = ops.compare(ops.iota((n, n), np.int32, 0), ops.iota((n, n), np.int32, 1), "EQ")
        return ops.select(on, 5.0, ops.multiply(spread, 0.5)), on

    def comparator(self):
        return loosely if self.integer(0, 3) else str(self.rng.choice(["LT", "GT"]))

    def ordered(self):
        x = self.vector()
        return None if x is None else ops.sort([x], 0, self.comparator())[0]

    def ordered_rows(self):
        x = self.value(2)
        return ops.sort([x], self.integer(0, len(shape_of(x))), self.comparator())[0] if len(shape_of(x)) > 1 else None

    def ends(self):
        x = self.vector()
        if x is None:
            return None
        found = ops.sort([x], 0, self.comparator())[0]
        n = shape_of(x)[0]
        at = int(self.rng.choice([0, n - 1]))
        return ops.slice(found, (at,), (at + 1,))

    def argument(self):
        """Numbers that no rule rounds otherwise: ranks would show it."""
        x = self.values[self.integer(0, 3)]
        return ops.reshape(x, (size(shape_of(x)),))

    def ranks(self):
        x = self.argument()
        count = ops.iota(shape_of(x), np.int32, 0)
        order = ops.sort([x, count], 0, self.comparator())[1]
        if self.integer(0, 2):
            order = ops.sort([order, count], 0, "LT")[1]
        return ops.convert(order, self.dtype)

    def both_sorts(self):
        x = self.argument()
        how, count = self.comparator(), ops.iota(shape_of(x), np.int32, 0)
        first = ops.sort([x], 0, how)[0]
        return ops.add(first, ops.convert(ops.sort([x, count], 0, how)[1], self.dtype))

    def spectrum(self):
        x = self.vector()
        if x is None:
            return None
        n = shape_of(x)[0]
        z = ops.complex(x, 0.0) if self.integer(0, 2) else ops.complex(x, ops.tanh(x))
        f = ops.fft(z, "FFT", (n,))
        if self.integer(0, 2):
            weights = 1.0 / (1 + np.minimum(np.arange(n), n - np.arange(n)))
            f = ops.multiply(f, ops.constant(weights.astype(np.complex128)))
        if self.integer(0, 3):
            back = ops.fft(f, "IFFT", (n,))
            return ops.real(back) if self.integer(0, 2) else ops.imag(back)
        return ops.real(ops.slice(f, (0,), (self.integer(1, n // 2 + 2),)))

    def there_and_back(self):
        x = self.vector()
        return None if x is None else ops.fft(ops.fft(x, "RFFT", shape_of(x)), "IRFFT", shape_of(x))

    def parts(self):
        x = ops.tanh(self.value())
        z, w = ops.complex(x, ops.tanh(self.partner(x))), ops.complex(self.partner(x), x)
        made = [ops.multiply(z, w), ops.add(z, w), ops.negate(z), ops.subtract(w, z)][self.integer(0, 4)]
        if self.integer(0, 3) == 0:
            made = ops.exponential(ops.multiply(made, ops.constant(0.1, np.complex128, shape_of(x))))
        if self.integer(0, 3) == 0:
            return ops.multiply(ops.abs(made), ops.abs(made))
        return ops.real(made) if self.integer(0, 2) else ops.imag(made)

    def solved(self):
        a, on = self.matrix()
        b = ops.constant(self.rng.normal(size=(4, 3)))
        lower = bool(self.integer(0, 2))
        row, column = ops.iota((4, 4), np.int32, 0), ops.iota((4, 4), np.int32, 1)
        if self.integer(0, 2):
            a = ops.select(ops.compare(row, column, "GE" if self.integer(0, 2) else "LE"), a, ops.splat(0, a))
        if self.integer(0, 2):
            a = ops.transpose(a, (1, 0))
        x = ops.triangular_solve(a, b, lower=lower)
        c = ops.constant(self.rng.normal(size=(3, self.integer(1, 5))))
        return ops.dot_general(x, c, contracting_dims=((1,), (0,))) if self.integer(0, 2) else x

    def symmetric(self):
        a, _ = self.matrix()
        s = ops.dot_general(a, a, contracting_dims=((1,), (1,)))
        return ops.add(a, ops.transpose(ops.multiply(s, 2.0) if self.integer(0, 2) else s, (1, 0)))

    def banded(self):
        n = 16
        m = sum(np.diag(np.full(n - abs(k), self.rng.integers(1, 4)), k) for k in self.rng.integers(-2, 3, 2))
        x = self.vector()
        return None if x is None else ops.dot_general(
            ops.constant(m.astype(self.dtype)), ops.broadcast_in_dim(ops.slice(x, (0,), (1,)), (n, 2), (0,)),
            contracting_dims=((1,), (0,)))

    def diagonals(self):
        """A matrix of run-time diagonals times a matrix."""
        x, n = self.vector(), 18
        if x is None:
            return None
        line = ops.broadcast_in_dim(ops.slice(x, (0,), (1,)), (n, n), (0,)) if shape_of(x)[0] < n \
            else ops.broadcast_in_dim(ops.slice(x, (0,), (n,)), (n, n), (self.integer(0, 2),))
        total = ops.constant(np.diag(np.arange(n, dtype=self.dtype))) if self.integer(0, 2) else None
        for k in self.rng.integers(-3, 4, 2):
            test = ops.compare(ops.add(ops.iota((n, n), np.int32, 0), int(k)), ops.iota((n, n), np.int32, 1), "EQ")
            term = ops.select(test, line, 0.0)
            total = term if total is None else ops.add(total, term)
        spread = self.values[3]
        other = ops.broadcast_in_dim(spread, (*shape_of(spread), n), range(len(shape_of(spread))))
        other = ops.reshape(other, (size(shape_of(spread)), n))
        return ops.dot_general(total, other, contracting_dims=((self.integer(0, 2),), (1,)))

    def kronecker(self):
        left, _ = self.matrix()
        right = ops.constant(self.rng.normal(size=(4, 5)))
        wide = (4, 4, 4, 5)
        spread = [ops.broadcast_in_dim(left, wide, (0, 2)), ops.broadcast_in_dim(right, wide, (1, 3))]
        product = ops.reshape(ops.multiply(*spread), (16, 20))
        x = self.vector()
        k = self.integer(0, 2)
        if x is None:
            return None
        other = ops.broadcast_in_dim(ops.slice(x, (0,), (1,)), ((16, 20)[k], 2), (0,))
        other = ops.add(other, ops.constant(self.rng.normal(size=shape_of(other))))
        return ops.dot_general(product, other, contracting_dims=((k,), (0,)))

    def summed(self):
        """A sum, or rows, of a product of matrices."""
        a, _ = self.matrix()
        product = ops.dot_general(a, ops.constant(self.rng.normal(size=(4, 6))), contracting_dims=((1,), (0,)))
        if self.integer(0, 2):
            return ops.reduce(product, 0.0, [(0,), (1,), (0, 1)][self.integer(0, 3)], "add")
        places = ops.reshape(ops.concatenate([ops.reshape(p, (1,)) for p in self.places], 0), (2, 1))
        axis = self.integer(0, 2)
        return ops.gather(product, places, offset_dims=[1 - axis], collapsed_slice_dims=[axis], start_index_map=[axis],
                          index_vector_dim=1, slice_sizes=[1 if k == axis else n for k, n in enumerate((4, 6))])

    def hot(self):
        places = np.array(self.rng.integers(-1, 6, 7), np.int32)
        spread = ops.broadcast_in_dim(ops.constant(places), (7, 5), (0,))
        test = ops.compare(spread, ops.iota((7, 5), np.int32, 1), "EQ")
        x = self.vector()
        if x is None or shape_of(x)[0] < 5:
            return None
        return ops.dot_general(ops.convert(test, self.dtype), ops.reshape(ops.slice(x, (0,), (5,)), (5, 1)),
                               contracting_dims=((1,), (0,)))

    def batches(self):
        x = self.value(2)
        shape = shape_of(x)
        if len(shape) < 2:
            return None
        n, m = shape[-2:]
        one = ops.slice(x, [0] * len(shape), [*[1] * (len(shape) - 2), n, m])
        many = ops.broadcast_in_dim(ops.reshape(one, (n, m)), (2, n, m), (1, 2))
        other = ops.constant(self.rng.normal(size=(2, m, 3)))
        return ops.dot_general(many, other, contracting_dims=((2,), (1,)), batching_dims=((0,), (0,)))

    def predicate(self):
        x = self.value()
        flat = ops.reshape(ops.compare(x, self.partner(x), "LE"), (size(shape_of(x)),))
        return ops.reshape(ops.slice(flat, (0,), (1,)), ())

    def branches(self):
        x, p = self.value(), self.predicate()
        y = self.partner(x)
        both = [lambda: [ops.tanh(ops.add(ops.sine(x), y))], lambda: [ops.tanh(ops.multiply(ops.sine(x), y))],
                lambda: [ops.sine(y)], lambda: [ops.add(ops.sine(x), x)]]
        i, j = self.integer(0, 4), self.integer(0, 4)
        first = ops.if_(p, both[i], both[j], [x.type])[0]
        if self.integer(0, 2):
            return ops.add(first, ops.if_(p, both[j], both[i], [x.type])[0])
        return first

    def loop(self):
        x, p = self.value(), self.predicate()
        iterations, special = self.integer(2, 9), self.integer(0, 3)

        def iteration(i, v):
            test = ops.compare(i, 0, "EQ") if special == 0 else p
            new = ops.if_(test, lambda: [ops.tanh(v)], lambda: [ops.sine(v)], [v.type])[0]
            return [ops.add(i, 1), new]

        def run():
            return ops.while_([ops.constant(0, np.int32), x], lambda i, _: ops.compare(i, iterations, "LT"),
                              iteration)[1]
        return ops.add(run(), run()) if special == 1 else run()

    def border(self):
        x = self.vector()
        if x is None or shape_of(x)[0] < 3:
            return None
        n, zero = shape_of(x)[0], ops.constant(0, np.int64)
        edge = ops.constant(0.0, self.dtype, (1,))
        start = ops.dynamic_update_slice(x, edge, [zero]) if self.integer(0, 3) else x

        def iteration(i, v):
            inner = ops.tanh(ops.slice(v, (0,), (n - 2,)))
            new = ops.dynamic_update_slice(v, inner, [ops.constant(1, np.int64)])
            return [ops.add(i, 1), ops.dynamic_update_slice(new, edge, [ops.constant(0, np.int64)])]
        return ops.while_([ops.constant(0, np.int32), start], lambda i, _: ops.compare(i, 7, "LT"), iteration)[1]


FAMILY_MOVES = [name for name in vars(FamilyProgram) if name[0] != "_" and name not in (
    "vector", "argument", "matrix", "comparator", "predicate")]


def check(seed, finite=False):
    """Simplify and compare; whether there was a program."""
    rng = np.random.default_rng(seed)
    with building(), warnings.catch_warnings():
        warnings.simplefilter("error")
        module = build_module(FamilyProgram(rng, "float64", int(rng.integers(2, 14))), np.dtype("float64"))
        if module is None:
            return False
        before = modules.to_text(module, large_elements=None)
        parameters = modules.function(module).regions[0].blocks[0].arguments
        given = [[rng.uniform(-2, 2, shape_of(p)).astype(dtype_of(p)) for p in parameters]]
        if not finite:
            odd = rng.choice([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, 2.5], (len(parameters), 400))
            given.append([odd[k, :size(shape_of(p))].reshape(shape_of(p)) if dtype_of(p).kind == "f" else
                          np.full(shape_of(p), rng.integers(-3, 9), dtype_of(p)) for k, p in enumerate(parameters)])
        expected = [evaluate(module, arguments) for arguments in given]
        pipelines.run(module, "simplify", CompileOptions(finite=finite), verify=True)
        for arguments, old in zip(given, expected, strict=True):
            for x, y in zip(old, evaluate(module, arguments), strict=True):
                scale = np.max(np.abs(x[np.isfinite(x)]), initial=1.0)
                np.testing.assert_allclose(y, x, rtol=1e-8, atol=1e-9 * scale,
                                           err_msg=f"seed {seed}\n{before}\n{module}\n{arguments}")
    return True


@pytest.mark.sampled(100)
@pytest.mark.parametrize("finite", [False, True])
def test_simplified_families_keep_their_values(finite):
    assert sum(check(seed, finite) for seed in range(40)) > 25


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_many_simplified_families(part):
    for seed in range(1_000 + 200 * part, 1_200 + 200 * part):
        check(seed, seed % 3 == 0)
