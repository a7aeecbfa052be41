"""Random loops over arrays as source text: affine reads and writes with offsets, strides and overlaps, conditions,
carried numbers, nested and triangular loops."""
from __future__ import annotations

import itertools
import linecache
import random
from collections.abc import Callable

import numpy as np

_numbers = itertools.count()
LENGTH = 40


class Loops:
    """One random function `program(x, y, a, idx)`; every index it uses is in bounds."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.fresh = itertools.count()

    def source(self) -> str:
        r = self.random
        self.lines = ["def program(x, y, a, idx):", "    out = np.zeros(40)", "    table = np.zeros((40, 6))",
                      "    s, p, best, where, flag = 0.5, 1.0, -1.0, 0, False", "    prev = x[0]"]
        for _ in range(r.randint(1, 2)):
            self.loop(1, [])
        self.lines.append("    return out, table, s, p, best, where, flag, prev")
        return "\n".join(self.lines) + "\n"

    def emit(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def loop(self, depth: int, counters: list[tuple[str, int, int]]) -> None:
        r = self.random
        name = "ijkm"[len(counters)]
        if counters and r.random() < 0.4:
            outer = counters[-1]
            kind = r.choice((f"range({outer[0]})", f"range({outer[0]}, 12)", f"range({outer[0]} + 1, 12)"))
            low, high = 0, 11
        else:
            low, high, step = r.randint(0, 3), r.randint(8, 12), r.choice((1, 1, 1, 2, -1))
            kind = f"range({low}, {high}, {step})" if step > 0 else f"range({high - 1}, {low - 1}, -1)"
            high -= 1
        self.emit(depth, f"for {name} in {kind}:")
        inner = [*counters, (name, low, high)]
        for _ in range(r.randint(1, 4)):
            self.statement(depth + 1, inner)
        if len(counters) < 1 and r.random() < 0.5:
            self.loop(depth + 1, inner)
            if r.random() < 0.3:
                self.statement(depth + 1, inner)

    def index(self, counters: list[tuple[str, int, int]], extent: int) -> str:
        """An index in 0..extent-1, mostly affine in a counter."""
        r = self.random
        name, low, high = r.choice(counters)
        for _ in range(6):
            scale, offset = r.choice((1, 1, 1, 2, 3, -1)), r.randint(-2, 12)
            ends = sorted((scale * low + offset, scale * high + offset))
            if ends[0] >= 0 and ends[1] < extent:
                return f"{scale} * {name} + {offset}" if scale != 1 else f"{name} + {offset}"
        choices = [str(r.randrange(extent)), f"idx[{name}] % {extent}", f"({name} * 7) % {extent}"]
        if high < extent:
            choices += [name, name, f"{name} - 1"]
        return r.choice(choices)

    def value(self, counters: list[tuple[str, int, int]], depth: int = 2) -> str:
        r = self.random
        if depth and r.random() < 0.6:
            form = r.choice(("({} + {})", "({} - {})", "({} * {})", "np.maximum({}, {})", "np.sin({} + {})",
                             "({} if {} > 0.1 else 0.3)"))
            return form.format(self.value(counters, depth - 1), self.value(counters, depth - 1))
        return r.choice((
            lambda: f"x[{self.index(counters, 40)}]", lambda: f"y[{self.index(counters, 40)}]",
            lambda: f"out[{self.index(counters, 40)}]", lambda: f"a[{self.index(counters, 40)}, {r.randrange(6)}]",
            lambda: f"table[{self.index(counters, 40)}, {self.index(counters, 6)}]", lambda: "0.25",
            lambda: f"(0.1 * {r.choice(counters)[0]})", lambda: r.choice(("s", "prev", "p", "best")),
            lambda: f"a[{self.index(counters, 40)}].sum()", lambda: f"x[{self.index(counters, 30)}]"))()

    def statement(self, depth: int, counters: list[tuple[str, int, int]]) -> None:
        r = self.random
        if r.random() < 0.25:
            self.emit(depth, f"if {self.value(counters, 1)} > {r.choice(('0.1', '-0.2', 'x[3]'))}:")
            self.plain(depth + 1, counters)
            if r.random() < 0.4:
                self.emit(depth, "else:")
                self.plain(depth + 1, counters)
        else:
            self.plain(depth, counters)

    def plain(self, depth: int, counters: list[tuple[str, int, int]]) -> None:
        value, index = self.value(counters), self.index(counters, 40)
        v = "0.5 * np.tanh(" + value + ")"
        self.emit(depth, self.random.choice((
            lambda: f"out[{index}] = {value}", lambda: f"out[{index}] = {v}", lambda: f"out[{index}] += {v}",
            lambda: f"table[{index}] = {v}", lambda: f"table[{index}, {self.index(counters, 6)}] = {value}",
            lambda: f"table[{index}, 1:4] = a[{self.index(counters, 40)}, :3] * {v}", lambda: f"x[{index}] = {v}",
            lambda: f"s += {v}", lambda: f"s -= {v}", lambda: f"p *= (1 + 0.1 * {v})", lambda: f"best = max(best, {v})",
            lambda: f"prev = {v}", lambda: f"s = 0.5 * s + {v}", lambda: f"flag = flag or {value} > 1.5",
            lambda: f"where = {self.random.choice(counters)[0]}"))())

    def function(self) -> tuple[Callable, str]:
        """The function and its source."""
        source = self.source()
        filename = f"<loops {next(_numbers)}>"
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
        namespace: dict = {"np": np}
        exec(compile(source, filename, "exec"), namespace)
        return namespace["program"], source


def arguments(seed: int) -> tuple:
    """Arguments for a program."""
    rng = np.random.default_rng(seed)
    return (rng.normal(size=LENGTH), rng.normal(size=LENGTH), rng.normal(size=(LENGTH, 6)),
            rng.integers(0, 40, LENGTH))
