"""Random programs of array ops with nested `while` loops and branches among them: arrays of any rank carried, handed
round and updated in parts at places that depend on counters, masks and complex numbers carried beside them."""
import numpy as np

from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of, size
from tests.simplify import test_random_programs as straight

KINDS = ("int32", "int64", "int8", "uint8", "int16", "uint32")
LOOPS = (*("loop",) * 5, "branches", "branches", *("placed",) * 4, "line", "placed_sum", "compared")
MOST = {0: 3, 1: 3, 2: 2}


class ArrayLoops(straight.Program):
    """Called with `a(*shape, dtype=...)`, which adds an argument."""

    def __init__(self, rng, dtype, length):
        super().__init__(rng, dtype, length)
        self.moves = [m for m in straight.MOVES if m != "branch"] + list(LOOPS)
        self.depth = 0

    def shape(self):
        if self.integer(0, 4):
            return super().shape()
        return (int(self.rng.choice((5, 7, 9, 13, 16, 17))),) + super().shape()[:1] * self.integer(0, 2)

    def pick(self, items):
        return items[self.integer(0, len(items))]

    def grow(self, count):
        for _ in range(count):
            made = getattr(self, self.pick(self.moves))()
            if made is not None and size(shape_of(made)) <= 400:
                self.values.append(made)

    # ---- moves

    def placed(self):
        """An update of a part of an array at places known at run time, now and then of what it holds."""
        x = self.value(1)
        window = [self.pick((1, 1, n, self.integer(1, n + 1))) for n in shape_of(x)]
        at = [self.pick(self.places) for _ in window]
        source = self.pick((x, self.partner(x)))
        new = ops.dynamic_slice(source, [self.pick(self.places) for _ in window], window) if self.integer(0, 3) \
            else ops.slice(source, [0] * len(window), window)
        if self.integer(0, 2):
            other = ops.dynamic_slice(x, self.pick((at, [self.pick(self.places) for _ in window])), window)
            new = getattr(ops, self.pick(("add", "subtract", "maximum")))(new, other)
        return ops.dynamic_update_slice(x, new, at)

    def placed_sum(self):
        """scatter: one number, or rows, added to or put at places known at run time."""
        x = self.value(1)
        shape, count = shape_of(x), self.integer(1, 4)
        index = ops.concatenate([ops.reshape(ops.convert(self.pick(self.places), "int32"), (1,))
                                 for _ in range(count)] * 2, 0)
        index = ops.reshape(ops.slice(index, (0,), (count,)), (count, 1))
        row = ops.slice(self.partner(x), [0] * len(shape), [1, *shape[1:]])
        updates = ops.broadcast_in_dim(ops.reshape(row, shape[1:]), (count, *shape[1:]), range(1, len(shape)))
        body = self.pick(("add", "maximum")) if self.dtype.kind != "f" else "maximum"
        return ops.scatter(x, index, updates, body, update_window_dims=range(1, len(shape)), inserted_window_dims=[0],
                           scatter_dims_to_operand_dims=[0], index_vector_dim=1)

    def line(self):
        """A row or column at a run-time place, spread over the array again."""
        x = self.value(1)
        shape, d = shape_of(x), self.integer(0, len(shape_of(x)))
        window = [1 if k == d else n for k, n in enumerate(shape)]
        zero = ops.constant(0, dtype_of(self.places[0]))
        place = self.pick(self.places)
        row = ops.dynamic_slice(x, [place if k == d else ops.convert(zero, dtype_of(place)) for k in range(len(shape))],
                                window)
        return ops.broadcast_in_dim(row, shape, range(len(shape)))

    def test(self):
        """A 0-d condition."""
        if self.integer(0, 3) == 0:
            return ops.compare(self.pick(self.places), self.pick((0, 1, 2)), self.pick(("LT", "EQ", "GE")))
        x = self.value()
        flat = ops.reshape(ops.compare(x, self.partner(x), self.pick(("LT", "NE", "GE"))), (size(shape_of(x)),))
        k = self.integer(0, size(shape_of(x)))
        return ops.reshape(ops.slice(flat, (k,), (k + 1,)), ())

    def branches(self):
        if self.depth >= 2:
            return None
        likes = [self.value() for _ in range(self.integer(1, 3))]
        types = [v.type for v in likes]
        made = [lambda: self.inside(likes) for _ in range(self.integer(2, 4))]
        if len(made) == 2:
            results = ops.if_(self.test(), *made, types)
        else:
            results = ops.case(ops.convert(self.pick(self.places), "int32"), made, types)
        self.values += results[1:]
        return results[0]

    def inside(self, likes, places=()):
        """What a region gives for values like these."""
        values, old = list(self.values), list(self.places)
        self.values += likes
        self.places += list(places) * 2
        self.depth += 1
        self.grow(self.integer(0, 5))
        results = [self.fitting(v) for v in likes]
        self.depth -= 1
        self.values, self.places = values, old
        return results

    def fitting(self, like):
        """A value of the type of another, most likely a new one."""
        same = [v for v in self.values if v.type == like.type]
        if self.integer(0, 4) == 0:
            old, self.values = self.values, [*same]
            made = self.placed() if shape_of(like) else like
            self.values = old
            return made
        return same[-1] if self.integer(0, 2) else self.pick(same)

    def loop(self):
        if self.depth >= 2:
            return None
        kind, step = self.pick(KINDS), self.pick((1, 1, 1, 2, -1))
        trips = self.integer(0, MOST[self.depth] + 2)
        start = self.pick((0, 0, 1, 3)) if step > 0 else trips
        inits = [self.value() for _ in range(self.integer(1, 4))]
        extra = [ops.compare(v, self.partner(v), "LE") for v in inits[:self.integer(0, 2)]]
        if self.dtype.kind == "f" and self.integer(0, 3) == 0:
            extra.append(ops.complex(inits[0], self.partner(inits[0])))
        last = start + step * trips if step > 0 else 0
        stop = ops.constant(last, kind)
        if self.integer(0, 3) == 0 and step == 1:
            some = ops.convert(ops.clamp(ops.constant(0, "int32"), self.pick(self.places), ops.constant(5, "int32")),
                               kind)
            stop = ops.minimum(some, stop)

        def iteration(i, *carried):
            places = [ops.convert(i, "int32")]
            places += [ops.subtract(self.pick((3, 5, 8)), places[0]), ops.add(places[0], self.pick((1, 2, -1))),
                       ops.multiply(places[0], self.pick((2, 3)))]
            own, others = list(carried[:len(inits)]), list(carried[len(inits):])
            old = list(self.values)
            for k, v in enumerate(others):
                if dtype_of(v).kind == "b":
                    self.values.append(ops.select(v, own[k], self.partner(own[k])))
                else:
                    self.values += [ops.real(v), ops.imag(v)]
            new = self.inside(own, places)
            for k, v in enumerate(others):
                if dtype_of(v).kind == "b":
                    others[k] = ops.xor(v, ops.compare(new[k], own[k], "LT")) if self.integer(0, 2) else \
                        ops.compare(own[k], self.partner(own[k]), "GT")
                else:
                    others[k] = ops.add(ops.multiply(v, ops.complex(new[0], own[0])), v)
            self.values = old
            if self.integer(0, 5) == 0 and len({v.type for v in new}) == 1:
                new = new[1:] + new[:1]
            return [ops.add(i, ops.constant(step, kind)), *new, *others]

        step_kind = "LT" if step > 0 else "GT"
        results = ops.while_([ops.constant(start, kind), *inits, *extra],
                             lambda i, *_: ops.compare(i, stop, step_kind), iteration)
        self.values += results[2:1 + len(inits)]
        for made in results[1 + len(inits):]:
            back = ops.real(made) if dtype_of(made).kind == "c" else \
                ops.select(made, inits[0], self.partner(inits[0])) if shape_of(made) == shape_of(inits[0]) else None
            if back is not None:
                self.values.append(back)
        return results[1]

    def compared(self):
        x = self.value()
        return ops.convert(ops.compare(x, self.partner(x), self.pick(("LT", "EQ", "GE"))), self.dtype)


def arguments_for(parameters, rng, kind):
    """Arguments for a module's parameters."""
    from reactant.rewrite.selftest import special_values
    made = []
    for p in parameters:
        if dtype_of(p) == np.int32 and not shape_of(p):
            made.append(np.asarray(rng.integers(-2, 9), np.int32))
        else:
            made.append(special_values(rng, shape_of(p), dtype_of(p), kind))
    return made
