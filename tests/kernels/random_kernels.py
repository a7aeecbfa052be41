"""Random kernels in structured form: indices, guards, loops, shared and local memory, barriers, atomics, shuffles.

All numbers are small integers (in floats), so that sums in any order are the same. Stores go to places that no two
threads share within a phase; what two orders of threads compute differently is no test.
"""
from __future__ import annotations

import random

import numpy as np

from tests.kernels.writing import Kernel, Value

SIZES = (6, 7, 12, 16, 24)


class Writer:
    """One random kernel."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        r = self.random
        block = r.choice([(8,), (6,), (4, 3), (4, 4), (16,), (32,), (5, 2, 2), (12, 4), (33,), (10, 7), (3, 4, 5),
                          (24, 4)])
        grid = r.choice([(1,), (2,), (3,), (2, 2), (3, 1)])
        self.kernel = k = Kernel(grid, block)
        self.threads = int(np.prod(k.grid) * np.prod(k.block))
        self.in_block = int(np.prod(k.block))
        shapes = [r.choice([(n,), (n, r.choice(SIZES))]) for n in r.choices(SIZES, k=2)]
        self.inputs = [k.array(f"a{i}", "f64", s, r.random() < 0.8) for i, s in enumerate(shapes)]
        self.numbers = k.array("p", "i32", r.choice(SIZES))
        self.sizes = {a.name: int(np.prod(s)) for a, s in zip(self.inputs, shapes, strict=True)}
        self.index_size = self._size(k.arguments[-1])
        width = r.choice([1, 1, 2])
        self.out = k.array("out", "f64", self.threads * width + r.choice([0, 0, 3]))
        self.width = width
        self.counts = k.array("counts", "i32", 9)
        self.scale = k.number("scale", "f64")
        self.depth = 0

    @staticmethod
    def _size(argument):
        return int(argument.split("reactant.elements = ")[1].split(" ")[0])

    def linear(self):
        k = self.kernel
        tx, bx = (k.thread(), k.block_id()) if True else None
        t, b = tx, bx
        if k.block[1] > 1:
            t = t + k.thread("y") * k.block[0]
        if k.block[2] > 1:
            t = t + k.thread("z") * (k.block[0] * k.block[1])
        if k.grid[1] > 1:
            b = b + k.block_id("y") * k.grid[0]
        return t, b * self.in_block + t

    # -- expressions

    def index(self, scope):
        r = self.random
        base = r.choice(scope["ints"])
        kind = r.randrange(8)
        if kind == 0:
            return base * r.randint(1, 3) + r.randint(-2, 5)
        if kind == 1:
            return base + r.choice(scope["ints"])
        if kind == 2:
            return base // r.randint(2, 5)
        if kind == 3:
            return base % r.randint(2, 6)
        if kind == 4:
            return (base * -1) + r.randint(0, 9)
        if kind == 5:
            return base.minimum(r.randint(1, 6)) if r.random() < 0.5 else base.maximum(r.randint(1, 4))
        if kind == 6:
            place = self.inside(base, self.index_size)
            return self.numbers[place].index()
        return base + r.randint(-2, 3)

    def inside(self, index, size):
        """An index brought into bounds."""
        r = self.random
        kind = r.randrange(3)
        if kind == 0:
            return ((index % size) + size) % size
        if kind == 1:
            return index.maximum(0).minimum(size - 1)
        wrapped = (index < 0).select(index + size, index)
        return wrapped.maximum(0).minimum(size - 1)

    def condition(self, scope):
        r = self.random
        kind = r.randrange(6)
        x = r.choice(scope["ints"])
        if kind == 0:
            return x < r.randint(0, 12)
        if kind == 1:
            return (x > r.randint(0, 3)) & (x < r.randint(4, 20))
        if kind == 2:
            return (x % r.randint(2, 4)).equals(r.randint(0, 2))
        if kind == 3:
            return self.number(scope) > r.randint(-3, 3)
        if kind == 4:
            return x.equals(r.randint(0, 5)) | (x >= r.randint(3, 9))
        return (x + r.choice(scope["ints"])) < r.randint(2, 30)

    def number(self, scope):
        r = self.random
        kind = r.randrange(7)
        if kind == 0 and scope["floats"]:
            return r.choice(scope["floats"])
        if kind == 1:
            return r.choice(scope["ints"]).to("i64").to("f64")
        if kind == 2:
            return self.condition({**scope, "floats": []}).select(self.load(scope), float(r.randint(-2, 2))) \
                if self.depth < 3 else self.load(scope)
        if kind == 3 and scope["floats"]:
            x, y = r.choice(scope["floats"]), r.choice(scope["floats"])
            return x.minimum(y) if r.random() < 0.5 else x - y
        return self.load(scope)

    def load(self, scope):
        array = self.random.choice(self.inputs)
        size = self.sizes[array.name]
        return array[self.inside(self.index(scope), size)]

    # -- statements

    def statements(self, scope, count):
        scope = {name: list(values) for name, values in scope.items()}
        for _ in range(count):
            getattr(self, self.random.choice(["compute", "compute", "branch", "loop", "triangle", "search", "atomics",
                                               "guarded", "bounded"]))(scope)
        return scope

    def compute(self, scope):
        scope["floats"].append(self.number(scope) + self.number(scope))

    def guarded(self, scope):
        """A read that a guard keeps inside."""
        array = self.random.choice(self.inputs)
        size = self.sizes[array.name]
        index = self.index(scope)
        value = self.kernel.if_((index >= 0) & (index < size), lambda: array[index],
                                lambda: float(self.random.choice([0, 1])), types=("f64",))
        scope["floats"].append(value)

    def branch(self, scope):
        if self.depth > 2:
            return
        self.depth += 1
        then, otherwise = (lambda: self.number(self.statements(scope, 1)) for _ in range(2))
        scope["floats"].append(self.kernel.if_(self.condition(scope), then, otherwise, types=("f64",)))
        self.depth -= 1

    def _iteration(self, scope, i, total):
        inner = self.statements({**scope, "ints": [*scope["ints"], i]}, self.random.randint(0, 1))
        value = self.number(inner)
        kind = self.random.randrange(4)
        if kind == 0:
            return total.maximum(value)
        if kind == 1:
            return self.condition(inner).select(total + value, total)
        return total + value

    def loop(self, scope):
        if self.depth > 2:
            return
        self.depth += 1
        start = self.kernel.value(self.random.randint(-1, 2), "f64")
        low, high = self.random.randint(0, 2), self.random.randint(0, 7)
        scope["floats"].append(self.kernel.for_(low, high, lambda i, total: self._iteration(scope, i, total),
                                                step=self.random.choice([1, 1, 2]), inits=[start]))
        self.depth -= 1

    def triangle(self, scope):
        """A loop with a different number of iterations in each lane."""
        if self.depth > 2:
            return
        self.depth += 1
        start = self.kernel.value(0, "f64")
        high = self.inside(self.index(scope), 9)
        scope["floats"].append(self.kernel.for_(self.random.choice([0, 1]), high,
                                                lambda i, total: self._iteration(scope, i, total), inits=[start]))
        self.depth -= 1

    def bounded(self, scope):
        """A row of an array summed by products."""
        r = self.random
        x, y = r.choice(self.inputs), r.choice(self.inputs)
        base, other = r.choice(scope["ints"]), r.choice(scope["ints"])
        n = r.randint(2, 5)
        rows = self.sizes[x.name] // n
        columns = self.sizes[y.name] // n

        def iteration(i, total):
            a = x[self.inside(base, rows) * n + i]
            b = y[i * columns + self.inside(other, columns)]
            return total + a * b
        scope["floats"].append(self.kernel.for_(0, n, iteration, inits=[self.kernel.value(0, "f64")]))

    def search(self, scope):
        """A loop that lanes leave when they have found something."""
        if self.depth > 1:
            return
        k = self.kernel
        limit = self.random.randint(2, 9)
        array = self.random.choice(self.inputs)
        size = self.sizes[array.name]
        start = self.inside(self.index(scope), size)
        wanted = self.random.randint(-2, 2)
        i, total = k.while_([start, k.value(0, "f64")],
                            lambda i, total: (i < size) & (total < limit),
                            lambda i, total: [i + 1, (array[i] > wanted).select(total + 1.0, total + 0.5)])
        scope["ints"].append(i)
        scope["floats"].append(total)

    def atomics(self, scope):
        index = self.inside(self.index(scope), 9)
        value = self.kernel.value(self.random.randint(1, 3), "i32")
        self.counts.atomic("addi", index, value)

    # -- phases

    def shared_phase(self, scope, thread):
        """Every thread writes its place (and some their neighbours'), all read any place."""
        k, r = self.kernel, self.random
        extra = r.choice([0, 2])
        memory = k.shared("f64", self.in_block + extra)
        place = thread + extra if r.random() < 0.5 else (thread * -1) + (self.in_block - 1 + extra)
        memory[place] = self.number(scope)
        if extra:
            k.if_(thread < extra, lambda: memory.__setitem__(thread, self.number(scope)))
            if not str(place):
                return
            k.if_(thread < extra, lambda: None)
        k.barrier()
        size = self.in_block + extra
        value = memory[self.inside(self.index(scope), size) if not extra else
                       self.inside(self.index(scope), self.in_block - 1 - extra) + extra] if self.in_block > 4 else \
            memory[place]
        k.barrier()
        scope["floats"].append(value)

    def tree_phase(self, scope, thread):
        k = self.kernel
        n = self.in_block
        if n & (n - 1):
            return
        memory = k.shared("f64", n)
        memory[thread] = self.number(scope)
        k.barrier()
        if self.random.random() < 0.5:
            def halve(s):
                k.if_(thread < s, lambda: memory.__setitem__(thread, memory[thread] + memory[thread + s]))
                k.barrier()
                return [s // 2]
            k.while_([k.value(n // 2, "index")], lambda s: s > 0, halve)
        else:
            def double(s):
                k.if_((thread % (s * 2)).equals(0),
                      lambda: memory.__setitem__(thread, memory[thread] + memory[thread + s]))
                k.barrier()
                return [s * 2]
            k.while_([k.value(1, "index")], lambda s: s < n, double)
        scope["floats"].append(memory[0])
        k.barrier()

    def local_phase(self, scope, thread):
        k, r = self.kernel, self.random
        memory = k.local("f64", 4)
        for place in range(4):
            memory[place] = self.number(scope)
        memory[self.inside(self.index(scope), 4)] = self.number(scope)
        scope["floats"].append(memory[self.inside(self.index(scope), 4)] + r.randint(0, 2))

    def warp_phase(self, scope, thread):
        k, r = self.kernel, self.random
        rectangle = k.block[1] > 1 or self.in_block in (4, 8, 16)
        widths = [w for w in (32, 16, 8, 4) if rectangle or self.in_block % w == 0]
        if not widths:              # what a lane that does not exist holds is not defined, but in rectangles
            return
        width = r.choice(widths)
        x = self.number(scope)
        kind = r.choice(["down", "xor", "up", "idx", "tree"])
        if kind == "tree":
            offset = width // 2
            while offset:
                x = x + k.shuffle("xor", x, offset, width)
                offset //= 2
            scope["floats"].append(x)
            return
        offset = r.choice([1, 2, 3, thread & 3])
        scope["floats"].append(k.shuffle(kind, x, offset, width))

    def write(self):
        thread, everywhere = self.linear()
        k, r = self.kernel, self.random
        scope = {"ints": [thread, everywhere, k.block_id()], "floats": []}
        scope["floats"].append(self.number(scope) * self.scale)
        for _ in range(r.randint(1, 3)):
            scope = self.statements(scope, r.randint(0, 2))
            getattr(self, r.choice(["shared_phase", "local_phase", "tree_phase", "warp_phase"]))(scope, thread)
        value = self.number(scope) + r.choice(scope["floats"])

        def store():
            self.out[everywhere * self.width if r.random() < 0.5 else
                     (everywhere * -self.width) + (self.threads - 1) * self.width] = value
        if r.random() < 0.4:
            k.if_(self.condition(scope), store)
        elif r.random() < 0.5:
            k.if_(everywhere < r.randint(1, self.threads), store)
        else:
            store()
        return k.text()

    def arguments(self, seed):
        rng = np.random.default_rng(seed)
        found = []
        for text in self.kernel.arguments:
            if "memref" not in text:
                found.append(np.float64(2))
                continue
            n = self._size(text)
            kind = text.split("memref<?x")[1].split(">")[0]
            found.append(rng.integers(-3, 6, n).astype({"f64": np.float64, "i32": np.int32}[kind]))
        return found


def random_kernel(seed):
    """(text, arguments) of a random kernel."""
    writer = Writer(seed)
    text = writer.write()
    return text, writer.arguments(seed)


__all__ = ["Value", "random_kernel"]
