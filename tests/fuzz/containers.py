"""Random programs over lists, dicts and objects of arrays: bound anew, written, swapped, known by several names, in
branches that are taken or not as an argument says or as run-time values decide, and in loops."""
from __future__ import annotations

import random
from collections.abc import Callable

HEAD = '''import numpy as np


class Thing:
    def __init__(self, items, a):
        self.items, self.a, self.n = items, a, 1.0


def touch(some, value):
    some[0] = some[0] * 0.9 + value * 0.01


def f(x, y, n, flag, mode):
'''
LISTS = ("xs", "ys", "zs", "d['p']", "o.items")
ARRAYS = ("a", "b", "d['a']", "o.a")
SWAPS = ("xs[0], xs[1] = xs[1], xs[0]", "a, b = b, a", "xs, ys = ys, xs", "o.items, zs = zs, o.items",
         "o.a, a = a, o.a")


class Writer:
    """One program, by its seed."""

    def __init__(self, seed: int):
        self.random, self.lines, self.depth, self.loops = random.Random(seed), [], 1, 0

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def any(self, *texts: str) -> str:
        return self.random.choice(texts)

    # ---- expressions

    def place(self) -> str:
        return self.any("0", "1", "-1", "k % 2" if self.loops else "0")

    def array(self) -> str:
        return self.any(f"{self.any(*LISTS)}[{self.place()}]", self.any(*ARRAYS))

    def number(self) -> str:
        return self.any("s", "s", f"{self.array()}.sum()", "o.n", f"{self.array()}[{self.any('0', '1')}]",
                        "k" if self.loops else "2", self.any("1", "2", "0.5", "3"))

    def new_array(self) -> str:
        return self.any(f"{self.array()} * 0.5 + {self.number()} * 0.1", f"np.tanh({self.array()} + {self.array()})",
                        f"{self.array()} - {self.array()} * 0.3", f"np.sin({self.array()}) + {self.number()} * 0.01")

    def some_list(self) -> str:
        return self.any(f"[{self.new_array()}, {self.new_array()}]", f"[q * 0.5 for q in {self.any(*LISTS)}]",
                        f"list({self.any(*LISTS)})", self.any(*LISTS), f"[{self.array()}, {self.new_array()}]")

    # ---- statements

    def block(self, least: int = 1) -> None:
        self.depth += 1
        for _ in range(self.random.randint(least, least + 2)):
            self.statement()
        self.depth -= 1

    def statement(self) -> None:
        kinds: list[tuple[int, Callable[[], None]]] = [
            (16, lambda: self.line(f"{self.any(*LISTS)}[{self.place()}] = {self.new_array()}")),
            (8, lambda: self.line(f"{self.array()}[{self.any('0', '1', '1:', '::2', ':')}] "
                                  f"{self.any('=', '+=', '*=')} {self.number()}")),
            (9, lambda: self.line(f"{self.any(*LISTS)} = {self.some_list()}")),
            (9, lambda: self.line(f"{self.any(*ARRAYS)} = {self.any(self.new_array(), self.array())}")),
            (8, lambda: self.line(f"{self.any('s', 'o.n')} {self.any('=', '+=')} {self.number()} * 0.1")),
            (5, lambda: self.line(self.any(*SWAPS))),
            (5, lambda: self.line(f"touch({self.any(*LISTS)}, {self.number()})")),
            (4, lambda: self.line(f"s = s + sum([q.sum() * 0.01 for q in {self.any(*LISTS)}])"))]
        if self.depth < 5:
            kinds += [(8, lambda: self.branch(self.any("flag", "not flag", "mode == 1", "mode > 1"))),
                      (10, lambda: self.branch(f"{self.number()} > {self.number()}"))]
        if self.depth < 4 and self.loops < 2:
            kinds.append((11, self.loop))
        self.random.choices([make for _, make in kinds], [weight for weight, _ in kinds])[0]()

    def branch(self, condition: str) -> None:
        self.line(f"if {condition}:")
        self.block()
        if self.random.random() < 0.45:
            self.line("else:")
            self.block()
        if self.loops and self.random.random() < 0.1:
            self.line(f"if s > 40: {self.any('break', 'continue')}")

    def loop(self) -> None:
        head = self.any("for k in range(2):", "for k in range(12):", "for k in range(30):", "for k in range(n):",
                        f"for k, q in enumerate({self.any(*LISTS)}):", "while k < 9 and s < 50:")
        if head.startswith("while"):
            self.line("k = 0")
        self.line(head)
        self.line("    k += 1" if head.startswith("while") else "    s = s + 0.01")
        self.loops += 1
        self.block(2)
        self.loops -= 1

    def program(self) -> str:
        self.line("a, b, s = x[0].copy(), y[0].copy(), 0.5")
        self.line("xs = [x[0] * 1, x[1] * 1]")
        self.line(f"ys = {self.any('[y[0] * 1, y[1] * 1]', 'xs', 'list(xs)')}")
        self.line(f"zs = {self.any('[x[2] * 1, y[2] * 1]', 'ys')}")
        self.line(f"d = {{'a': y[1].copy(), 'p': {self.any('[x[0] * 2, y[0] * 2]', 'xs')}}}")
        self.line(f"o = Thing({self.any('[x[1] * 3, y[1] * 3]', 'ys')}, {self.any('x[2].copy()', 'a')})")
        for _ in range(self.random.randint(3, 7)):
            self.statement()
        self.line("return xs, ys, zs, d['p'], o.items, a, b, d['a'], o.a, s, o.n")
        return HEAD + "\n".join(self.lines) + "\n"
