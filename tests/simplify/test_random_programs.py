"""Random programs over the ops the rules know, simplified and compared bit for bit with the reference interpreter.

Only exact rules run; values include NaN, infinities, -0.0 and integer extremes. The engine must settle (a rule set that
does not is an error here) and leave a valid module.
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
from reactant.rewrite.selftest import build_module, special_values

EXTENTS = (1, 1, 2, 3, 4, 6)


class Program:
    """Grows a program by random ops on random earlier values."""

    def __init__(self, rng, dtype, length):
        self.rng, self.dtype, self.length = rng, np.dtype(dtype), length
        self.moves = MOVES if type(self) is Program else MOVES + NUMERIC_MOVES * 4

    def __call__(self, argument):
        self.values = [argument(*self.shape()) for _ in range(3)]
        self.values += [argument(*shape_of(self.values[0])), argument()]
        self.places = [argument(dtype="int32") for _ in range(2)]
        for _ in range(self.length):
            made = getattr(self, str(self.rng.choice(self.moves)))()
            if made is not None and size(shape_of(made)) <= 400:
                self.values.append(made)
        picked = self.rng.choice(len(self.values), min(3, len(self.values)), replace=False)
        return [self.values[-1], *(self.values[int(i)] for i in picked)]

    def shape(self):
        return tuple(int(n) for n in self.rng.choice(EXTENTS, self.rng.integers(1, 4)))

    def integer(self, low, high):
        return int(self.rng.integers(low, high))

    def value(self, rank=0):
        recent = [v for v in self.values[-8:] if len(shape_of(v)) >= rank and dtype_of(v) == self.dtype]
        return recent[self.integer(0, len(recent))] if recent else self.values[0]

    def partner(self, x):
        same = [v for v in self.values if shape_of(v) == shape_of(x) and dtype_of(v) == self.dtype]
        choice = self.integer(0, 4)
        if choice == 0:
            return ops.splat(self.number(), x)
        if choice == 1 and shape_of(x):
            d = self.integer(0, len(shape_of(x)))
            line = np.array([self.number() for _ in range(shape_of(x)[d])], self.dtype)
            return ops.broadcast_in_dim(ops.constant(line), shape_of(x), (d,))
        return same[self.integer(0, len(same))]

    def number(self):
        kind = self.dtype.kind
        if kind == "f":
            return float(self.rng.choice([0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0, -4.0]))
        return int(self.rng.choice([0, 1, 2, 3, 5])) if kind == "u" else int(self.rng.choice([0, 1, -1, 2, 3, -5]))

    def binary(self):
        x = self.value()
        names = ["add", "subtract", "multiply", "maximum", "minimum", "divide"]
        if self.dtype.kind != "f":
            names += ["and_", "or_", "xor"]
        pair = [x, self.partner(x)]
        if self.integer(0, 2):
            pair.reverse()
        return getattr(ops, str(self.rng.choice(names)))(*pair)

    def unary(self):
        names = ["floor", "ceil", "sqrt"] if self.dtype.kind == "f" else ["not_"]
        names += ["negate", "abs", "sign"] if self.dtype.kind != "u" else []
        return getattr(ops, str(self.rng.choice(names)))(self.value())

    def select(self):
        x = self.value()
        test = ops.compare(x, self.partner(x), str(self.rng.choice(["LT", "EQ", "NE", "GE"])))
        test = ops.not_(test) if self.integer(0, 3) == 0 else test
        return ops.select(test, self.partner(x), x)

    def masked(self):
        x = self.value(1)
        n = shape_of(x)[0]
        mask = ops.broadcast_in_dim(ops.constant(self.rng.random(n) < 0.5), shape_of(x), (0,))
        return ops.select(mask, self.partner(x), x)

    def convert(self):
        wide = {"f": "float64", "i": "int64", "u": "uint64"}[self.dtype.kind]
        return ops.convert(ops.convert(self.value(), wide), self.dtype)

    def reshape(self):
        x = self.value()
        shape = list(shape_of(x))
        for _ in range(self.integer(1, 3)):
            if shape and self.integer(0, 2):
                i = self.integer(0, len(shape))
                if i + 1 < len(shape):
                    shape[i:i + 2] = [shape[i] * shape[i + 1]]
                elif shape[i] % 2 == 0:
                    shape[i:i + 1] = [2, shape[i] // 2]
            else:
                shape.insert(self.integer(0, len(shape) + 1), 1)
        return ops.reshape(x, shape) if len(shape) < 6 else None

    def squeeze(self):
        x = self.value()
        return ops.reshape(x, [n for n in shape_of(x) if n != 1])

    def transpose(self):
        x = self.value()
        return ops.transpose(x, [int(i) for i in self.rng.permutation(len(shape_of(x)))])

    def broadcast(self):
        x = self.value()
        shape = list(shape_of(x))
        places, out = list(range(len(shape))), list(shape)
        at = self.integer(0, len(shape) + 1)
        out.insert(at, int(self.rng.choice(EXTENTS)))
        places = [p + (p >= at) for p in places]
        out = [int(self.rng.choice(EXTENTS)) if n == 1 and self.integer(0, 3) == 0 else n for n in out]
        return ops.broadcast_in_dim(x, out, places) if len(out) < 5 else None

    def reverse(self):
        x = self.value(1)
        return ops.reverse(x, [i for i in range(len(shape_of(x))) if self.integer(0, 2)])

    def slice(self):
        x = self.value(1)
        low = [self.integer(0, n) for n in shape_of(x)]
        return ops.slice(x, low, [self.integer(a + 1, n + 1) for a, n in zip(low, shape_of(x), strict=True)],
                         [self.integer(1, 4) if self.integer(0, 3) == 0 else 1 for _ in low])

    def pad(self):
        x = self.value(1)
        rank = len(shape_of(x))
        return ops.pad(x, self.number() if self.integer(0, 2) else self.values[4],
                       *([self.integer(0, 3) for _ in range(rank)] for _ in range(2)),
                       [self.integer(0, 3) if self.integer(0, 3) == 0 else 0 for _ in range(rank)])

    def concatenate(self):
        x = self.value(1)
        d = self.integer(0, len(shape_of(x)))
        return ops.concatenate([x, self.partner(x)] + [self.partner(x)] * self.integer(0, 2), d)

    def parts(self):
        x = self.value(1)
        n = shape_of(x)[0]
        cut = self.integer(0, n)
        whole = list(shape_of(x))
        zeros = [0] * len(whole)
        pieces = [ops.slice(x, zeros, [cut, *whole[1:]])] if cut else []
        return ops.concatenate([*pieces, ops.slice(x, [cut, *zeros[1:]], whole)], 0)

    def update(self):
        x = self.value(1)
        window = [self.integer(1, n + 1) for n in shape_of(x)]
        new = ops.slice(self.partner(x), [0] * len(window), window)
        return ops.dynamic_update_slice(x, new, [ops.constant(self.integer(0, n), np.int64) for n in shape_of(x)])

    def dynamic(self):
        x = self.value(1)
        window = [self.integer(1, n + 1) for n in shape_of(x)]
        if self.integer(0, 2):
            window = [n if self.integer(0, 2) else m for n, m in zip(shape_of(x), window, strict=True)]
            return ops.dynamic_slice(x, [self.places[self.integer(0, 2)] for _ in window], window)
        return ops.dynamic_slice(x, [ops.constant(self.integer(0, n), np.int64) for n in shape_of(x)], window)

    def iota(self):
        shape = shape_of(self.value(1))
        return ops.iota(shape, self.dtype, self.integer(0, len(shape)))

    def extreme(self):
        x = self.value(1)
        name = str(self.rng.choice(["maximum", "minimum"]))
        return ops.reduce(x, self.values[4], [i for i in range(len(shape_of(x))) if self.integer(0, 2)] or [0], name)

    def total(self):
        if self.dtype.kind == "f":
            return None
        x = self.value(1)
        return ops.reduce(x, self.number(), [i for i in range(len(shape_of(x))) if self.integer(0, 2)] or [0], "add")

    def take(self):
        x = self.value(1)
        shape = shape_of(x)
        index = np.arange(self.integer(1, 4)) * self.integer(-1, 2) + self.integer(0, shape[0])
        return ops.gather(x, ops.constant(index.reshape(-1, 1)), offset_dims=range(1, len(shape)),
                          collapsed_slice_dims=[0], start_index_map=[0], index_vector_dim=1,
                          slice_sizes=[1, *shape[1:]])

    def gathered(self):
        """Windows at any places, in any layout; some places are outside."""
        x = self.value(1)
        shape = shape_of(x)
        axes = [int(k) for k in self.rng.permutation(len(shape))[:self.integer(1, min(3, len(shape) + 1))]]
        sizes = [1 if k in axes and self.integer(0, 4) else n if k not in axes and self.integer(0, 4)
                 else self.integer(1, n + 1) for k, n in enumerate(shape)]
        collapsed = [k for k, n in enumerate(sizes) if n == 1 and self.integer(0, 4)]
        batch = [int(self.rng.choice([1, 2, 3])) for _ in range(self.integer(0, 3))]
        index = self.rng.integers(-1, max(shape) + 2, [*batch, len(axes)])
        rank = len(batch) + len(sizes) - len(collapsed)
        offsets = sorted(int(k) for k in self.rng.permutation(rank)[:len(sizes) - len(collapsed)])
        at = self.integer(0, len(batch) + 1)
        return ops.gather(x, ops.constant(np.moveaxis(index, -1, at).astype(np.int32)), offset_dims=offsets,
                          collapsed_slice_dims=collapsed, start_index_map=axes, index_vector_dim=at, slice_sizes=sizes)

    def rows(self):
        """Few rows of what is there, at places known at run time."""
        x = self.value(1)
        shape, axis = shape_of(x), self.integer(0, len(shape_of(x)))
        index = ops.reshape(self.places[self.integer(0, 2)], (1, 1))
        index = ops.concatenate([index, ops.constant([[self.integer(0, 6)]], "int32")], 0)
        return ops.gather(x, index, offset_dims=[k for k in range(len(shape)) if k != axis],
                          collapsed_slice_dims=[axis], start_index_map=[axis], index_vector_dim=1,
                          slice_sizes=[1 if k == axis else n for k, n in enumerate(shape)])

    def branch(self):
        x, y = (v := self.value()), self.partner(v)
        test = ops.reshape(ops.slice(ops.reshape(ops.compare(x, y, "LE"), (size(shape_of(x)),)), (0,), (1,)), ())
        return ops.if_(test, lambda: [ops.add(x, y)], lambda: [ops.maximum(y, x)], [x.type])[0]


class NumericProgram(Program):
    """Also sums of floats, products and elementary functions, which rules may round otherwise."""

    def sums(self):
        x = self.value(1)
        return ops.reduce(x, 0.0, [i for i in range(len(shape_of(x))) if self.integer(0, 2)] or [0], "add")

    def product(self):
        x, y = self.value(1), self.value(1)
        i, j = len(shape_of(x)) - 1, self.integer(0, len(shape_of(y)))
        n = min(shape_of(x)[i], shape_of(y)[j])
        x = ops.slice(x, [0] * len(shape_of(x)), [*shape_of(x)[:-1], n])
        limits = list(shape_of(y))
        limits[j] = n
        return ops.dot_general(x, ops.slice(y, [0] * len(limits), limits), contracting_dims=((i,), (j,)))

    def elementary(self):
        x = self.value()
        names = ["sine", "tanh", "logistic", "cosine"]
        return getattr(ops, str(self.rng.choice(names)))(x)

    def power(self):
        return ops.power(ops.tanh(self.value()), float(self.rng.choice([2.0, 3.0, 4.0, 1.0, 0.0])))


MOVES = [name for name in vars(Program) if name[0] != "_" and name not in ("shape", "integer", "value", "partner",
                                                                         "number")]
NUMERIC_MOVES = [name for name in vars(NumericProgram) if name[0] != "_"]


def check_numbers(seed):
    """Simplify as the default does and compare up to rounding, on ordinary values."""
    rng = np.random.default_rng(seed)
    with building(), warnings.catch_warnings():
        warnings.simplefilter("error")
        module = build_module(NumericProgram(rng, "float64", int(rng.integers(3, 20))), np.dtype("float64"))
        if module is None:
            return False
        before = modules.to_text(module, large_elements=None)
        parameters = modules.function(module).regions[0].blocks[0].arguments
        arguments = [rng.uniform(-1, 1, shape_of(p)).astype(dtype_of(p)) for p in parameters]
        expected = evaluate(module, arguments)
        pipelines.run(module, "simplify", verify=True)
        for x, y in zip(expected, evaluate(module, arguments), strict=True):
            size_ = np.max(np.abs(x[np.isfinite(x)]), initial=1.0)
            close = np.isclose(x, y, rtol=1e-9, atol=1e-9 * size_, equal_nan=True) | ~np.isfinite(x)
            assert np.mean(close) > 0.9, f"seed {seed}\n{before}\n{module}\n{x}\n{y}"  # a rounded comparison may flip
    return True


def check(seed, dtype, allow):
    rng = np.random.default_rng(seed)
    with building(), warnings.catch_warnings():
        warnings.simplefilter("error")
        module = build_module(Program(rng, dtype, int(rng.integers(3, 25))), np.dtype(dtype))
        if module is None:
            return False
        before = modules.to_text(module, large_elements=None)
        parameters = modules.function(module).regions[0].blocks[0].arguments
        inputs = [[special_values(rng, shape_of(p), dtype_of(p), k) for p in parameters] for k in (0, 3)]
        expected = [evaluate(module, arguments) for arguments in inputs]
        pipelines.run(module, "simplify", CompileOptions(allow=allow), verify=True)
        for arguments, old in zip(inputs, expected, strict=True):
            for x, y in zip(old, evaluate(module, arguments), strict=True):
                same = np.array_equal(x, y, equal_nan=x.dtype.kind == "f")
                if same and x.dtype.kind == "f":
                    same = np.array_equal(np.signbit(x)[~np.isnan(x)], np.signbit(y)[~np.isnan(y)])
                assert same, f"seed {seed} {dtype}\n{before}\n{module}\n{x}\n{y}"
    return True


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
def test_simplified_programs_keep_every_bit(dtype):
    assert sum(check(seed, dtype, ()) for seed in range(120)) > 60


def test_simplified_numeric_programs_keep_their_values():
    assert sum(check_numbers(seed) for seed in range(120)) > 60


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8", "uint8", "int64"])
def test_many_simplified_programs_keep_every_bit(dtype):
    assert sum(check(seed, dtype, ()) for seed in range(1_000, 4_000)) > 1_500
