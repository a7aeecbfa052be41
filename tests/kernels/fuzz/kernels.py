"""One random kernel, written in one of the dialects."""
from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

from tests.kernels.fuzz.dialects import WEIGHTS, Python
from tests.kernels.fuzz.numbers import LIMIT, Number
from tests.kernels.fuzz.phases import Phases


class KernelWriter(Phases):
    """Writes one kernel over the buffers of a program."""

    def __init__(self, r: random.Random, dialect: Python, name: str, n: int, buffers: list[Any], block: tuple,
                 grid: tuple, number: int):
        self.r, self.d, self.name, self.n, self.block, self.grid = r, dialect, name, n, block, grid
        self.buffers = {a.name: a for a in buffers}
        self.in_block, self.blocks = math.prod(block), math.prod(grid)
        self.functions: list[str] = []
        self.used: dict[str, None] = {}
        self.scope: list[dict[str, list[Number]]] = [{"int": [], "float": [], "variable": [], "counter": []}]
        self.names = self.depth = self.loops = 0
        self.dynamic_bytes = 0
        self.number = number
        states = ["s0", "s1"] if r.random() < 0.5 else ["s1", "s0"]
        planes = ["q0", "q1"] if r.random() < 0.5 else ["q1", "q0"]
        self.readable = ["a0", "a1", "p", states[0], planes[0]]
        self.state, self.plane = states[1], planes[1]
        self.operations = {c: r.choice(["add", "max", "min"]) for c in ("c0", "c1")}
        self.operations["c2"] = r.choice(["add", "sub", "and", "or", "xor", "max", "min", "larger"])
        self.returned = False

    # -- names and expressions

    def new(self, letter: str = "v") -> str:
        self.names += 1
        return f"{letter}{self.names}"

    def known(self, kind: str) -> list[Number]:
        return [value for level in self.scope for value in level[kind]]

    def add(self, kind: str, number: Number) -> Number:
        self.scope[-1][kind].append(number)
        return number

    def whole(self, depth: int = 2) -> Number:
        """An integer expression."""
        r, d = self.r, self.d
        if depth == 0 or r.random() < 0.25:
            kind = r.randrange(6)
            if kind == 0:
                k = r.randint(-3, 9)
                return Number(str(k) if k >= 0 else f"({k})", k, k)
            if kind == 1 and depth:
                a = self.load("p", depth - 1)
                return Number(a.text, -4, 8)
            return r.choice(self.known("int"))
        a = self.whole(depth - 1)
        if a.bound > 1e6:
            return Number(f"({a.text} % 97)", -96, 96)
        kind = r.randrange(14)
        k = r.randint(1, 5)
        if kind in (0, 1):
            b = self.whole(depth - 1)
            return Number(f"({a.text} + {b.text})", a.low + b.low, a.high + b.high)
        if kind == 2:
            b = self.whole(depth - 1)
            return Number(f"({a.text} - {b.text})", a.low - b.high, a.high - b.low)
        if kind == 3:
            return Number(f"({a.text} * {k})", a.low * k, a.high * k)
        if kind == 4:
            return Number(d.divide(a.text, k + 1), min(a.low, -1) if a.low < 0 else 0, max(a.high, 0))
        if kind == 5:
            return Number(f"({a.text} % {k + 1})", 0 if a.low >= 0 else -k, k)
        if kind == 6:
            return Number(d.smaller(a.text, str(k)), min(a.low, k), min(a.high, k))
        if kind == 7:
            return Number(d.larger(a.text, str(k)), max(a.low, k), max(a.high, k))
        if kind == 8:
            mask = r.choice([1, 3, 6, 15])
            return Number(f"({a.text} & {mask})", 0, mask)
        if kind == 9 and a.low >= 0:
            top = 2 ** max(3, int(a.high).bit_length()) - 1
            return Number(f"({a.text} {r.choice('^|')} {k})", 0, top)
        if kind == 10:
            b = self.whole(depth - 1)
            return Number(d.select(self.condition(depth - 1), a.text, b.text), min(a.low, b.low), max(a.high, b.high))
        if kind == 11:
            return Number(d.magnitude(a.text, "int"), 0, a.bound)
        if kind == 12 and depth > 1:
            f = self.real(1)
            if f.bound < 1e6:
                return Number(d.whole(f.text), math.floor(f.low), math.ceil(f.high))
        if kind == 13 and a.low >= 0:
            return Number(f"({a.text} >> {r.randint(1, 2)})", 0, a.high)
        return Number(f"({a.text} + {k})", a.low + k, a.high + k)

    def inside(self, a: Number, size: int) -> str:
        """An index brought into an array of `size` places."""
        r, d = self.r, self.d
        if a.low >= 0 and a.high < size and r.random() < 0.9:
            return a.text
        if a.low >= 0 and r.random() < 0.5:
            return f"{a.text} % {size}" if r.random() < 0.5 else d.smaller(a.text, str(size - 1))
        kind = r.randrange(4)
        if kind == 0:
            return f"(({a.text} % {size} + {size}) % {size})"
        if kind == 1:
            return d.larger(d.smaller(a.text, str(size - 1)), "0")
        if kind == 2 and d.name == "numba":
            return f"({a.text} % {size} - {r.choice([0, size])})"
        wrapped = d.select(f"{a.text} < 0", f"{a.text} + {size}", a.text)
        return d.smaller(d.larger(wrapped, "0"), str(size - 1))

    def place(self, name: str, depth: int) -> str:
        """Indices of any element of a buffer."""
        array = self.buffers[name]
        self.used[name] = None
        return self.d.element(name, [self.inside(self.whole(depth), size) for size in array.shape], array.shape)

    def load(self, name: str, depth: int) -> Number:
        array = self.buffers[name]
        text = self.d.loaded(self.place(name, depth), "float" if array.dtype.startswith("float") else "int")
        bound = 8 if name.startswith(("a", "p")) else LIMIT
        return Number(text, -bound, bound)

    def real(self, depth: int = 2) -> Number:
        """A floating-point expression."""
        r, d = self.r, self.d
        if depth == 0 or r.random() < 0.3:
            kind = r.randrange(5)
            if kind == 0:
                k = r.choice([-1.5, 0.5, 1.0, 2.0, 3.0])
                return Number(f"{k}" if k > 0 else f"({k})", k, k)
            if kind == 1:
                a = self.whole(1)
                return Number(d.real(a.text), a.low, a.high)
            if kind == 2 and self.known("float"):
                return r.choice(self.known("float"))
            name = r.choice([b for b in self.readable if b != "p"])
            return self.load(name, r.randint(1, 2))
        a = self.real(depth - 1)
        kind = r.randrange(11)
        if kind in (0, 1, 2):
            b = self.real(depth - 1)
            return Number(f"({a.text} + {b.text})", a.low + b.low, a.high + b.high)
        if kind == 3:
            b = self.real(depth - 1)
            return Number(f"({a.text} - {b.text})", a.low - b.high, a.high - b.low)
        if kind == 4:
            k = r.choice([2.0, 3.0, -1.0])
            ends = sorted([a.low * k, a.high * k])
            return Number(f"({k} * {a.text})" if k > 0 else f"(({k}) * {a.text})", *ends)
        if kind == 5:
            b = self.real(depth - 1)
            return Number(d.smaller(a.text, b.text), min(a.low, b.low), min(a.high, b.high))
        if kind == 6:
            b = self.real(depth - 1)
            return Number(d.larger(a.text, b.text), max(a.low, b.low), max(a.high, b.high))
        if kind == 7:
            b = self.real(depth - 1)
            return Number(d.select(self.condition(depth - 1), a.text, b.text), min(a.low, b.low), max(a.high, b.high))
        if kind == 8:
            return Number(d.magnitude(a.text, "float"), 0, a.bound)
        if kind == 9 and self.names < 40:
            return self.function(a)
        if kind == 10 and r.random() < 0.4:
            return Number(d.element("weights", [self.inside(self.whole(1), len(WEIGHTS))], [len(WEIGHTS)]), -2.0, 4.0)
        if kind == 10:
            x, y = (self.load(r.choice(["a0", "a1"]), 1) for _ in range(2))
            return Number(f"({x.text} * {y.text})", -64, 64)
        return Number(f"({a.text} + 1.0)", a.low + 1, a.high + 1)

    def clamped(self, a: Number, limit: float = LIMIT) -> Number:
        if a.bound <= limit:
            return a
        return Number(self.d.larger(self.d.smaller(a.text, str(limit)), f"(-{limit})"), -limit, limit)

    def function(self, a: Number) -> Number:
        """A call of a device function of its own."""
        r = self.r
        inner = type(self.d)()
        name = f"{self.name}_{self.new('f')}"
        if r.random() < 0.5:
            inner.open_if(f"v > {r.randint(-2, 3)}.0")
            self._give(inner, "v + 1.0")
            inner.close()
            self._give(inner, r.choice(["v", "-v", "v * 2.0"]))
        else:
            inner.declare("total", "0.0", "float")
            inner.open_for("k", "0", str(r.randint(1, 4)), 1)
            if r.random() < 0.5:
                inner.open_if("total > 3.0")
                inner.leave("break")
                inner.close()
            inner.assign("total", f"total + v + {inner.real('k')}")
            inner.close()
            self._give(inner, "total")
        self.functions += inner.function(name, "float", "float", inner.lines)
        bound = 4 * a.bound + 16
        return Number(self.d.call(name, [a.text]), -bound, bound)

    @staticmethod
    def _give(dialect: Python, value: str) -> None:
        dialect.leave(f"return {value}")

    def condition(self, depth: int = 2) -> str:
        r, d = self.r, self.d
        kind = r.randrange(7)
        if depth > 0 and kind == 0:
            return d.both(self.condition(depth - 1), self.condition(depth - 1))
        if depth > 0 and kind == 1:
            return d.either(self.condition(depth - 1), self.condition(depth - 1))
        if depth > 0 and kind == 2:
            return d.negation(f"({self.condition(depth - 1)})")
        comparison = r.choice(["<", "<=", ">", ">=", "==", "!="])
        if kind == 3:
            return f"({self.real(max(depth - 1, 0)).text} {comparison} {r.choice(['0.0', '1.5', '3.0'])})"
        a = self.whole(max(depth - 1, 0))
        if kind == 4:
            return f"({a.text} {comparison} {self.whole(max(depth - 1, 0)).text})"
        return f"({a.text} {comparison} {r.randint(0, 12)})"

    # -- blocks of statements

    def nested(self, body: Callable[[], None]) -> None:
        self.scope.append({"int": [], "float": [], "variable": [], "counter": []})
        self.depth += 1
        body()
        self.depth -= 1
        self.scope.pop()
        self.d.close()

    def open_branch(self, condition: str, body: Callable[[], None],
                    otherwise: Callable[[], None] | None = None) -> None:
        """`if`, and possibly `else`."""
        self.d.open_if(condition)
        levels = [body] if otherwise is None else [body, otherwise]
        for number, part in enumerate(levels):
            if number:
                self.d.open_else()
            self.scope.append({"int": [], "float": [], "variable": [], "counter": []})
            self.depth += 1
            before = len(self.d.lines)
            part()
            if len(self.d.lines) == before and self.d.name == "numba":
                self.d.line("pass")
            self.depth -= 1
            self.scope.pop()
        self.d.close()

    def variable(self, kind: str = "float") -> None:
        """A new variable, which later statements may change."""
        name = self.new()
        value = self.clamped(self.real()) if kind == "float" else self.clamped(self.whole(), 4096)
        self.d.declare(name, value.text if value.text[0] not in "-0123456789" or kind == "int"
                       else self.d.real(value.text), kind)
        low, high = (-LIMIT, LIMIT)
        number = self.add(kind, Number(name, low, high))
        self.add("variable" if kind == "float" else "counter", number)

    def change(self) -> None:
        if self.known("counter") and self.r.random() < 0.3:
            a = self.r.choice(self.known("counter"))
            self.d.assign(a.text, f"({self.whole().text}) % {self.r.choice([7, 50, 101])}")
            return
        if not self.known("variable"):
            return self.variable()
        a = self.r.choice(self.known("variable"))
        if len(self.known("variable")) > 1 and self.r.random() < 0.1:
            b = self.r.choice(self.known("variable"))
            return self.d.exchange(a.text, b.text, "float")
        value = self.real()
        total = Number(f"({a.text} + {value.text})", -2 * LIMIT, 2 * LIMIT) if self.r.random() < 0.5 else value
        self.d.assign(a.text, self.clamped(total).text)

    def branch(self) -> None:
        some = self.r.randint(1, 2)
        cases = self.r.random()
        if cases < 0.15:
            return self.choice()
        self.open_branch(self.condition(), lambda: self.statements(some),
                         (lambda: self.statements(1)) if cases < 0.6 else None)

    def choice(self) -> None:
        """A chain of cases, or `switch`."""
        r, d = self.r, self.d
        cases = r.randint(2, 4)
        a = self.whole(1)
        value = f"(({a.text} % {cases} + {cases}) % {cases})"
        if d.name == "cuda" and r.random() < 0.7:
            d.line(f"switch ({value}) {{")
            d.depth += 1
            for case in range(cases):
                d.line(f"case {case}: {{" if case < cases - 1 else "default: {")
                d.depth += 1
                self.nested(lambda: self.statements(1, jumps=False))
                if r.random() < 0.7:
                    d.line("break;")
            d.close()
            return
        for number, condition in enumerate(d.choose(value, cases)):
            d.open_else(condition) if number else d.open_if(condition)
            self.scope.append({"int": [], "float": [], "variable": [], "counter": []})
            before = len(d.lines)
            self.statements(1)
            if len(d.lines) == before and d.name == "numba":
                d.line("pass")
            self.scope.pop()
        d.close()

    def loop(self) -> None:
        if self.loops > 1:
            return
        r, d = self.r, self.d
        total, counter = self.new("total"), self.new("k")
        d.declare(total, r.choice(["0.0", "1.0", "-2.0"]), "float")
        if r.random() < 0.35:
            bound, high = self.inside(self.whole(1), 7), 6
        else:
            bound, high = str(high := r.randint(0, 7)), high
        low = r.randint(0, 2)

        def body() -> None:
            self.add("int", Number(counter, 0 if low >= 0 else low, max(high - 1, 0)))
            self.loops += 1
            self.statements(r.randint(0, 1))
            leaf = self.clamped(self.real(1), 64.0)
            if r.random() < 0.25:
                self.open_branch(self.condition(1), lambda: d.leave(r.choice(["break", "continue"])))
            d.assign(total, r.choice([f"{total} + {leaf.text}", d.larger(total, leaf.text),
                                      d.smaller(total, leaf.text)]))
            self.loops -= 1
        d.open_for(counter, str(low), bound, r.choice([1, 1, 1, 2, -1]))
        self.nested(body)
        self.add("float", Number(total, -600, 600))

    def search(self) -> None:
        """A `while` that threads leave at different iterations."""
        if self.loops > 1:
            return
        r, d = self.r, self.d
        counter = self.new("w")
        limit = r.randint(2, 9)
        array = self.buffers["a0"]
        self.used["a0"] = None
        d.declare(counter, self.inside(self.whole(1), limit), "int")
        element = d.element("a0", [self.inside(Number(counter, 0, limit), array.shape[0])], array.shape)
        condition = f"{counter} < {limit}"

        def body() -> None:
            self.loops += 1
            self.add("int", Number(counter, 0, limit - 1))
            self.statements(r.randint(0, 1), jumps=False)
            if r.random() < 0.4:
                self.open_branch(self.condition(1), lambda: d.leave("break"))
            d.assign(counter, f"{counter} + {r.choice([1, 1, 2])}")
            self.loops -= 1
        d.open_while(d.both(condition, f"{element} > {r.randint(-3, 2)}.0") if r.random() < 0.6 else condition)
        self.nested(body)
        self.add("int", Number(counter, 0, limit + 1))

    def local(self) -> None:
        if self.depth:
            return
        name, size = self.new("l"), self.r.randint(2, 4)
        d = self.d
        d.local(name, size, "float64")
        if self.r.random() < 0.5:
            d.open_for("z", "0", str(size), 1)
            d.assign(f"{name}[z]", d.real("z"))
            d.close()
        else:
            for k in range(size):
                d.assign(f"{name}[{k}]", self.clamped(self.real(1)).text)
        d.assign(f"{name}[{self.inside(self.whole(1), size)}]", self.clamped(self.real(1)).text)
        value = self.new()
        d.declare(value, f"{name}[{self.inside(self.whole(1), size)}]", "float")
        self.add("float", Number(value, -LIMIT, LIMIT))

    def pair(self) -> None:
        """Two numbers in one value, which a branch may exchange."""
        d, name = self.d, self.new("pair")
        x, y = d.declare_pair(name, self.clamped(self.real(1)).text, self.clamped(self.real(1)).text)
        self.open_branch(self.condition(1), lambda: d.exchange_pair(name))
        self.add("float", Number(x, -LIMIT, LIMIT))
        self.add("float", Number(y, -LIMIT, LIMIT))

    def atomics(self) -> None:
        name = self.r.choice(["c0", "c1", "c2"])
        self.used[name] = None
        if name == "c2":
            value = f"({self.whole(1).text}) & 127"
            return self.d.atomic(self.operations[name], name, self.inside(self.whole(1), 5), value,
                                 self.buffers[name].dtype)
        operation = self.operations[name]
        if name == "c1" and self.d.name == "cuda":
            operation = self.operations[name] = "add"
        text = f"{self.whole(1).text} % 50" if name == "c0" else self.clamped(self.real(1), 50.0).text
        self.d.atomic(operation, name, self.inside(self.whole(1), self.buffers[name].shape[0]), text)

    def flag(self) -> None:
        """A race in which every writer writes the same value."""
        self.used["f0"] = None
        index = self.inside(self.whole(1), 6)
        self.d.store(f"f0[{index}]", str(7 + self.number), "int32")

    def statements(self, count: int, jumps: bool = True) -> None:
        for _ in range(count):
            kinds = ["variable", "variable", "counter", "change", "change", "atomics", "flag", "local", "pair"]
            if self.depth < 3:
                kinds += ["branch", "branch", "loop", "loop", "search"]
            kind = self.r.choice(kinds)
            self.variable("int") if kind == "counter" else getattr(self, kind)()

    # -- the whole kernel

    def write(self) -> None:
        r, d = self.r, self.d
        self.prologue()
        style = r.choice(["guard", "return", "stride", "phases", "phases", "plane"])
        if style == "phases":
            for _ in range(r.randint(1, 3)):
                self.statements(r.randint(0, 2))
                getattr(self, r.choice(["exchange_phase", "exchange_phase", "tree_phase", "rounds_phase", "count_phase",
                                        "warp_phase", "warp_phase", "relay_phase", "relay_phase", "block_vote_phase",
                                        "match_phase"]))()
            style = r.choice(["guard", "return", "plane"])
        if style == "plane":
            return self.plane_part()
        if style == "stride":
            d.open_for("i", "g", "n", self.in_block * self.blocks)
            self.nested(lambda: self.linear_part("i"))
        elif style == "return":
            d.open_if("g >= n")
            d.leave("return")
            d.close()
            self.linear_part("g")
        else:
            d.open_if("g < n")
            self.nested(lambda: self.linear_part("g"))

    def prologue(self) -> None:
        d, names = self.d, self.d.thread()
        t, b = names["tx"], names["bx"]
        for axis, letter in ((1, "y"), (2, "z")):
            if len(self.block) > axis:
                t = f"{t} + {names[f't{letter}']} * {math.prod(self.block[:axis])}"
            if len(self.grid) > axis:
                b = f"{b} + {names[f'b{letter}']} * {math.prod(self.grid[:axis])}"
        d.weights()
        d.declare("t", t, "int")
        d.declare("b", b, "int")
        if len(self.block) == len(self.grid) == 1 and d.name == "numba" and self.r.random() < 0.7:
            d.declare("g", "cuda.grid(1)", "int")
        else:
            d.declare("g", f"b * {self.in_block} + t", "int")
        self.scope[0]["int"] += [Number("t", 0, self.in_block - 1), Number("b", 0, self.blocks - 1),
                                 Number("g", 0, self.in_block * self.blocks - 1), Number("n", self.n, self.n)]

    def linear_part(self, index: str) -> None:
        """What threads do whose number is less than n: statements, and writes to their own places."""
        r, d, n = self.r, self.d, self.n
        self.scope[-1]["int"] += [Number(index, 0, n - 1)] * 3
        if index == "g":
            self.scope[0]["int"] = [v for v in self.scope[0]["int"] if v.text != "g"]
        state = self.buffers[self.state]
        self.used[self.state] = None
        own = r.choice([index, f"n - 1 - {index}"])
        if r.random() < 0.5:
            name = self.new()
            d.declare(name, f"{self.state}[{own}]", "float")
            self.add("float", Number(name, -LIMIT, LIMIT))
        self.statements(r.randint(0, 3))
        if r.random() < 0.4:
            self.stencil(index)
        value = self.clamped(self.real())
        d.store(f"{self.state}[{own}]", value.text, state.dtype)
        if r.random() < 0.3:
            d.open_if(self.condition())
            d.store(f"{self.state}[{own}]", self.clamped(self.real(1)).text, state.dtype)
            d.close()
        for name in ("o0", "o1"):
            if r.random() < 0.5:
                self.output(name, index)

    def stencil(self, index: str) -> None:
        """Neighbours, where they exist."""
        d, name = self.d, self.new()
        source, size = self.readable[3], self.n
        self.used[source] = None
        d.declare(name, f"{source}[{index}]", "float")
        left, right = self.r.randint(1, 2), self.r.randint(0, 2)
        d.open_if(d.both(f"{index} >= {left}", f"{index} < {size - right}"))
        d.assign(name, f"{name} + {source}[{index} - {left}] - 2.0 * {source}[{index} + {right}]")
        d.close()
        self.add("float", Number(name, -4 * LIMIT, 4 * LIMIT))

    def output(self, name: str, index: str) -> None:
        array, r = self.buffers[name], self.r
        self.used[name] = None
        width = array.shape[0] // self.n
        places = [f"{index} * {width}", f"{index}"]
        if name == "o1":
            places.append(f"{index} + 3")
        value = self.clamped(self.real()) if array.dtype.startswith("float") else self.whole()
        text = value.text
        if not array.dtype.startswith("float"):
            text = f"({text}) % 100" if value.low >= 0 else f"({text}) & 63"
        self.d.store(f"{name}[{r.choice(places)}]", text, array.dtype)

    def plane_part(self) -> None:
        """Threads over a matrix, with neighbours."""
        r, d = self.r, self.d
        plane = self.buffers[self.plane]
        rows, columns = plane.shape
        source = self.readable[4]
        self.used[self.plane] = self.used[source] = None
        names = d.thread()
        d.declare("x", f"{names['bx']} * {self.block[0]} + {names['tx']}", "int")
        d.declare("y", f"{names['by']} * {self.block[1] if len(self.block) > 1 else 1} + {names['ty']}", "int")
        d.declare("deep", f"{names['bz']} + {names['tz']}", "int")
        across, along = ("y", "x") if r.random() < 0.5 else ("x", "y")
        d.open_if(d.both(d.both(f"{across} < {rows}", f"{along} < {columns}"), "deep == 0"))

        def body() -> None:
            self.scope[-1]["int"] += [Number(across, 0, rows - 1), Number(along, 0, columns - 1)] * 2
            self.statements(r.randint(0, 2))
            value = self.new()
            d.declare(value, d.element(source, [across, along], plane.shape), "float")
            dx, dy = r.randint(0, 1), r.randint(1, 2)
            d.open_if(d.both(d.both(f"{across} >= {dx}", f"{across} < {rows - dy}"), f"{along} >= {dy}"))
            d.assign(value, f"{value} + {d.element(source, [f'{across} + {dy}', f'{along} - {dy}'], plane.shape)} - "
                     f"{d.element(source, [f'({across} - {dx})', along], plane.shape)}")
            d.close()
            self.add("float", Number(value, -3 * LIMIT, 3 * LIMIT))
            d.store(d.element(self.plane, [across, along], plane.shape), self.clamped(self.real()).text, plane.dtype)
        self.nested(body)

    # -- its place in the program

    def parameters(self) -> list[tuple[str, str]]:
        arrays = [(name, f"{self.buffers[name].dtype}[]") for name in self.buffers if name in self.used]
        return [*arrays, ("n", "int"), ("scale", "float")]

    def arguments(self) -> list[str]:
        """What the host passes; Numba's arrays may be backwards."""
        names = [name for name, _ in self.parameters()]
        if self.d.name == "numba":
            names = [f"{a}[::-1]" if a in ("a0", "a1", "p", "s0", "s1", "q0") and self.r.random() < 0.1 else a
                     for a in names]
        return names

    def text(self) -> list[str]:
        return self.d.kernel(self.name, self.parameters())

