"""Random `stablehlo.while` loops: several arrays written and read with offsets, strides and overlaps, counters of other
widths and directions, bounds known only at run time, carried numbers handed round."""
import random

import numpy as np

from reactant.ir import ops

LENGTH = 14
NUMBERS = ("add", "subtract", "multiply", "maximum")


class Loop:
    """Called with `a(*shape, dtype=...)`, which adds an argument; gives the results of one loop."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def __call__(self, a):
        r = self.random
        self.arrays = [a(LENGTH) for _ in range(r.randint(1, 3))]
        self.numbers = [a() for _ in range(r.randint(1, 3))]
        self.read_only, self.places = a(LENGTH), a(LENGTH, dtype="int32")
        self.kind = r.choice(("int32", "int64", "int8"))
        start, stop, step, direction = self.bounds(a(dtype="int32"))
        inits = [start, *self.arrays, *self.numbers]
        self.second = r.random() < 0.4
        if self.second:
            inits.append(self.number(r.choice((0, 3))))
        return ops.while_(inits, lambda i, *_: ops.compare(i, stop, direction),
                          lambda i, *carried: [ops.add(i, self.number(step)), *self.iteration(i, list(carried))])

    def number(self, k):
        return ops.constant(np.asarray(k).astype(self.kind))

    def bounds(self, n):
        r, step = self.random, self.random.choice((1, 1, 1, 2, -1, 3))
        known = r.random() < 0.6
        if not known:
            step = r.choice((1, -1))
        start = self.number(r.choice((0, 0, 1, 2)) if step > 0 else 9)
        stop = self.number(r.randint(4, 10) if step > 0 else r.randint(0, 3))
        if not known:
            some = ops.convert(ops.clamp(ops.constant(0, "int32"), n, ops.constant(9, "int32")), self.kind)
            start, stop = (start, some) if r.random() < 0.5 and step > 0 else (some, stop)
        return start, stop, step, r.choice(("LT", "LE") if step > 0 else ("GT", "GE"))

    def place(self, i, k):
        r = self.random
        chance = r.random()
        if chance < 0.1:
            return self.number(r.randint(0, LENGTH - 3))
        if chance < 0.2:
            return ops.convert(ops.reshape(ops.dynamic_slice(self.places, [i], (1,)), ()), self.kind)
        base, scale, offset = r.choice((i, i, i, k)), r.choice((1, 1, 1, 1, -1, 2)), r.choice((0, 0, 0, 1, -1, 2, 3))
        value = base if scale == 1 else ops.subtract(self.number(9), base) if scale == -1 else ops.multiply(base, 2)
        return ops.add(value, offset) if offset else value

    def value(self, i, k, arrays, numbers, depth=2):
        r = self.random
        if depth and r.random() < 0.5:
            operands = [self.value(i, k, arrays, numbers, depth - 1) for _ in range(2)]
            return getattr(ops, r.choice(NUMBERS))(*operands)
        chance = r.random()
        if chance < 0.2:
            return ops.convert(i, "float32")
        if chance < 0.3:
            return ops.constant(0.5, "float32")
        if chance < 0.6:
            return r.choice(numbers)
        return ops.reshape(ops.dynamic_slice(r.choice((*arrays, self.read_only)), [self.place(i, k)], (1,)), ())

    def iteration(self, i, carried):
        r = self.random
        k = carried.pop() if self.second else i
        arrays, numbers = carried[:len(self.arrays)], carried[len(self.arrays):]
        for _ in range(r.randint(1, 4)):
            value = self.value(i, k, arrays, numbers)
            if r.random() < 0.5:
                j, size, place = r.randrange(len(arrays)), r.choice((1, 1, 1, 2, 3)), [self.place(i, k)]
                update = ops.broadcast_in_dim(value, (size,), ())
                if r.random() < 0.25:
                    update = ops.add(ops.dynamic_slice(arrays[j], place, (size,)), update)
                new = ops.dynamic_update_slice(arrays[j], update, place)
                if r.random() < 0.3:
                    new = ops.select(ops.compare(self.value(i, k, arrays, numbers, 1), 0.25, "GT"), new, arrays[j])
                arrays[j] = new
            else:
                j = r.randrange(len(numbers))
                numbers[j] = self.carried(numbers[j], value, numbers[(j + 1) % len(numbers)])
        if r.random() < 0.1:
            arrays = arrays[1:] + arrays[:1]
        return [*arrays, *numbers, *([ops.add(k, self.number(r.choice((1, 2))))] if self.second else [])]

    def carried(self, old, value, other):
        form = self.random.randrange(7)
        if form < 3:
            return (ops.add, ops.subtract, ops.maximum)[form](old, value)
        if form == 3:
            return ops.select(ops.compare(value, old, self.random.choice(("GT", "LE", "GE", "LT"))), value, old)
        if form == 4:
            return ops.select(ops.compare(value, 0.3, "GT"), ops.add(old, value), old)
        return value if form == 5 else other
