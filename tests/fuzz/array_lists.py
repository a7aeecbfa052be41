"""Random programs that append arrays, parts of them and tuples to lists in a loop, while names are bound anew, also
under conditions, and arrays are written, in the loop and after it: what is one array in NumPy has to be one."""
from __future__ import annotations

import random

HEAD = """import numpy as np


def f(x, y, z, n):
    w = np.full(4, 0.7)
    a, b = [], []
    for i in range(n):
"""
NAMES, LISTS = ("x", "y", "z"), ("a", "b")


class Writer:
    """One program, by its seed."""

    def __init__(self, seed: int):
        self.random, self.lines = random.Random(seed), []
        self.names = NAMES[:self.random.randint(1, 3)]
        self.lists = LISTS[:self.random.choice((1, 1, 2))]

    def any(self, *texts: str) -> str:
        return self.random.choice(texts)

    def name(self) -> str:
        return self.any(*self.names)

    def seen(self) -> str:
        return self.any(*self.names, *self.names, "w")

    def array(self) -> str:
        one = self.name()
        return self.any(f"{one} * 0.9 + i", f"{one} * 0.5", f"np.sin({one})", f"{one} + {self.name()} * 0.1",
                        f"{one}[::-1] * 1.25")

    def test(self) -> str:
        return f"{self.name()}.sum() > {self.any('0.37', '1.13', '3.21')}"

    def bound(self) -> str:
        return self.any(f"{self.name()} = {self.array()}", f"{self.name()} = {self.array()}",
                        f"{self.name()} = {self.seen()}",
                        f"{self.name()} = {self.array()} if {self.test()} else {self.seen()}",
                        f"{self.name()}, {self.name()} = {self.name()}, {self.array()}")

    def written(self) -> str:
        return f"{self.name()}[{self.random.randrange(4)}] {self.any('=', '+=')} {self.any('i', '1.5', 'z[0]')}"

    def appended(self) -> str:
        one = self.seen()
        value = self.any(one, one, one, f"{one}[1:]", f"{one}[::-1]", f"{one}.copy()", f"(i, {one})",
                         f"({one}, {one}.sum())", f"{one}[0]")
        return f"{self.any(*self.lists)}.append({value})"

    def statement(self) -> None:
        kind = self.random.random()
        if kind < 0.35:
            self.lines.append(f"        {self.bound()}")
        elif kind < 0.42:
            self.lines.append(f"        {self.written()}")
        elif kind < 0.75:
            self.lines.append(f"        {self.appended()}")
        else:
            inner = self.any(self.bound(), self.bound(), self.written(), self.appended())
            self.lines += [f"        if {self.test()}:", f"            {inner}"]
            if self.random.random() < 0.4:
                self.lines += ["        else:", f"            {self.bound()}"]

    def program(self) -> str:
        for _ in range(self.random.randint(2, 5)):
            self.statement()
        self.lines.append(f"        {self.any(*self.lists)}.append({self.name()})")
        for _ in range(self.random.choice((0, 0, 1, 2))):
            if self.random.random() < 0.5:
                self.lines.append(f"    {self.seen()}[{self.random.randrange(4)}] = 55.0")
            else:
                self.lines += [f"    one = {self.any(*self.lists)}[{self.random.choice((0, 1, 3, -1, -2))}]",
                               "    one = one[1 - np.ndim(one[0])] if type(one) is tuple else one",
                               "    if np.ndim(one):", "        one[0] = 66.0"]
        return HEAD + "\n".join([*self.lines, "    return a, b, x, y, z, w"]) + "\n"
