"""Programs that loop over windows of arrays whose ends are only known at run time."""
from __future__ import annotations

import numpy as np

HEAD = """import numpy as np


def f(p, q, r, c, v, w, x):
    y, out, table, s = np.zeros(len(q)), np.zeros(len(v)), x.copy(), 0.0
    for i in range(len(q)):
"""
SUMMARIES = ("max", "min", "mean", "prod", "argmax", "std", "median")
WINDOWS = ("p[i], p[i + 1]", "q[i], r[i]", "q[i], q[i] + 7", "q[i], max(q[i], r[i])")


class Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.parts = ["v[a:b]", "w[a:b]"]

    def pick(self, choices) -> str:
        return str(choices[self.random.integers(len(choices))])

    def window(self, depth: int = 0) -> str:
        """An expression of as many elements as the window."""
        if depth > 2 or self.random.random() < 0.25:
            return self.pick(self.parts)
        one, two, three = (self.window(depth + 1) for _ in range(3))
        number = self.pick(["s", "0.5", "x[i]", "y[i]"])
        return self.pick([f"(x[c[a:b]] + {one})", f"({one} * {two})", f"({one} - {number})",
                          f"({one} - v[a:b].sum())", f"np.exp(-np.abs({one}))", f"np.cumsum({one})",
                          f"np.where({one} > 0.4, {two}, {three})", f"({one} + {two})"])

    def statement(self, number: int) -> str:
        """A line of the loop."""
        kind = self.random.integers(11)
        if kind < 3:
            line = f"t{number} = {self.window()}"
            self.parts.append(f"t{number}")
            return line
        return [f"y[i] = np.sum({self.window()})", f"y[i] += ({self.window()}) @ ({self.window()})",
                f"out[a:b] = {self.window()}", f"out[a:b] += {self.window()}",
                f"np.add.at(table, c[a:b], {self.window()})", f"table[c[a:b]] = {self.window()}",
                f"table[c[a:b]] = table[c[a:b][::-1]] * {self.window()}",
                f"if len(v[a:b]) > 0: y[i] = np.{self.pick(SUMMARIES)}({self.window()})"][kind - 3]

    def program(self) -> str:
        """The text of a function `f`."""
        lines = [f"a, b = {self.pick(WINDOWS)}"] + [self.statement(k) for k in range(self.random.integers(1, 5))]
        lines.append(f"s = s + np.sum({self.window()})" if self.random.random() < 0.3 else "pass")
        return HEAD + "".join(f"        {line}\n" for line in lines) + "    return y, out, table, s\n"

    def arguments(self) -> tuple[np.ndarray, ...]:
        """For it: windows side by side, and any others."""
        n, count = int(self.random.integers(2, 60)), int(self.random.integers(1, 400))
        kind = np.dtype(self.pick(["int64", "int32", "uint32"]))
        signed = np.dtype(np.int64) if kind.kind == "u" else kind
        q, r = self.random.integers(-count - 5, count + 9, (2, n)).astype(signed)
        return (np.sort(self.random.integers(0, count + 1, n + 1)).astype(kind), q, r,
                self.random.integers(-20, 20, count).astype(signed), self.random.random(count),
                self.random.standard_normal(count), self.random.random(20))
