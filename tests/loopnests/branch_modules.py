"""Random StableHLO programs of branches and loops in one another: arrays that are updated in place, whole or in windows
next to what is read, handed round and chosen, and numbers that are sums over parts of them."""
import random

from reactant.ir import ops

LENGTH = 12
NUMBERS = ("add", "subtract", "multiply", "maximum")


class Branches:
    """Called with `a(*shape, dtype=...)`, which adds an argument; gives arrays and numbers."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def __call__(self, a):
        r = self.random
        self.arrays, self.places = r.randint(1, 3), a(LENGTH, dtype="int32")
        self.counters = [ops.constant(r.randint(0, 3), "int64")]
        state = [*(a(LENGTH) for _ in range(self.arrays)), *(a() for _ in range(r.randint(1, 3)))]
        return self.statements(state, 3, r.randint(2, 4))

    def statements(self, state, depth, count):
        for _ in range(count):
            state = self.random.choice((self.window, self.window, self.number, self.number, self.whole, self.handed,
                                        *((self.branch, self.branch, self.loop) if depth else ())))(list(state), depth)
        return state

    def place(self, size):
        """A place at which a window of this size fits."""
        r = self.random
        if r.random() < 0.4:
            return ops.constant(r.randint(0, LENGTH - size), "int64")
        if r.random() < 0.2:
            found = ops.convert(ops.reshape(ops.dynamic_slice(self.places, [self.counters[-1]], (1,)), ()), "int64")
        else:
            found = ops.add(r.choice(self.counters), r.randint(0, 4))
        return ops.clamp(ops.constant(0, "int64"), found, ops.constant(LENGTH - size, "int64"))

    def part(self, state, size):
        return ops.dynamic_slice(state[self.random.randrange(self.arrays)], [self.place(size)], (size,))

    def scalar(self, state):
        """A number: one of the state's, an element, a sum or the greatest of a part."""
        r = self.random
        form = r.randrange(6)
        if form < 2:
            return r.choice(state[self.arrays:])
        if form == 2:
            return ops.constant(r.choice((0.5, 0.25, -1.0)), "float32")
        if form == 3:
            return ops.reshape(self.part(state, 1), ())
        part = self.vector(state, r.choice((2, 3, LENGTH)))
        kind = r.choice(("add", "maximum"))
        return ops.reduce(part, 0.0 if kind == "add" else -1e30, [0], kind)

    def vector(self, state, size):
        r = self.random
        found = self.part(state, size) if r.random() < 0.8 else ops.broadcast_in_dim(self.scalar(state), (size,), ())
        if r.random() < 0.2:
            found = ops.reverse(found, [0])
        if r.random() < 0.6:
            found = getattr(ops, r.choice(NUMBERS))(found, self.part(state, size))
        return ops.multiply(found, ops.broadcast_in_dim(ops.constant(0.5, "float32"), (size,), ()))

    def window(self, state, depth):
        j, size = self.random.randrange(self.arrays), self.random.choice((1, 1, 2, 3, 5))
        state[j] = ops.dynamic_update_slice(state[j], self.vector(state, size), [self.place(size)])
        return state

    def whole(self, state, depth):
        state[self.random.randrange(self.arrays)] = self.vector(state, LENGTH)
        return state

    def number(self, state, depth):
        j = self.random.randrange(self.arrays, len(state))
        state[j] = ops.multiply(getattr(ops, self.random.choice(NUMBERS))(state[j], self.scalar(state)),
                                ops.constant(0.5, "float32"))
        return state

    def handed(self, state, depth):
        """Arrays or numbers change places, or one stands in two places."""
        r, n = self.random, self.arrays
        arrays, numbers = state[:n], state[n:]
        if r.random() < 0.5:
            r.shuffle(arrays)
        else:
            arrays[r.randrange(n)] = r.choice(arrays)
        return [*arrays, *numbers]

    def branch(self, state, depth):
        r = self.random
        if r.random() < 0.8:
            test = ops.compare(self.scalar(state), self.scalar(state), r.choice(("LT", "GE")))
        else:
            test = ops.compare(self.counters[-1], ops.constant(r.randint(0, 2), "int64"), "LE")
        return ops.if_(test, lambda: self.statements(state, depth - 1, r.randint(0, 3)),
                       lambda: self.statements(state, depth - 1, r.randint(0, 2)), [v.type for v in state])

    def loop(self, state, depth):
        r, iterations = self.random, ops.constant(self.random.randint(1, 4), "int64")

        def body(k, *carried):
            self.counters.append(k)
            after = self.statements(list(carried), depth - 1, r.randint(1, 3))
            self.counters.pop()
            return [ops.add(k, 1), *after]

        return ops.while_([ops.constant(0, "int64"), *state], lambda k, *_: ops.compare(k, iterations, "LT"), body)[1:]
