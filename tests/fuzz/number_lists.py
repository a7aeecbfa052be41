"""Random programs over lists of numbers whose lengths depend on the run: grown, changed, sorted, bound anew, known by
two names, in loops and branches that run-time values decide."""
from __future__ import annotations

import random

HEAD = '''import heapq


def f(x, n):
    a, b, c, t, k = [1.0], [0.5, 2.0], [], 0.25, 0
'''
LISTS = ("a", "b", "c")


class Writer:
    """One program, by its seed."""

    def __init__(self, seed: int):
        self.random, self.lines, self.depth, self.loops, self.names = random.Random(seed), [], 1, [], 0
        self.only_grown = seed % 3 == 1         # appended to and read, in one loop after the other

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def any(self, *texts: str) -> str:
        return self.random.choice(texts)

    def value(self) -> str:
        return self.any("t", f"x[{self.index()} % 7]", "0.5", "t * 0.5 + 0.1", *self.loops)

    def index(self) -> str:
        return self.any("k", "k + 1", f"len({self.any(*LISTS)})", *(v for v in self.loops if v.startswith("i")))

    def test(self) -> str:
        one = self.any(*LISTS)
        return self.any(f"x[{self.index()} % 7] > {self.any('0.3', '0.5', '0.7')}",
                        f"len({one}) > {self.any('1', '3')}", one, f"t > {self.any('0.5', '2.0')}",
                        f"{self.value()} in {one}")

    def change(self) -> None:
        one, other = self.any(*LISTS), self.any(*LISTS)
        full = f"if {self.any(one, f'len({one}) > 2')}: "
        texts = [f"{one}.append({self.value()})"] * 5
        if self.only_grown:
            texts += [f"t = t * 0.5 + len({one}) * 0.1", f"t = t * 0.5 + sum({one}) * 0.1",
                      f"{full}t = t * 0.5 + {one}[{self.any('0', '-1', 'k % len(' + one + ')')}]",
                      f"{full}t = t * 0.5 + max({one}) * 0.25", f"{one}.extend([{self.value()}, 0.75])"]
            return self.line(self.random.choice(texts))
        texts += [f"{one}.insert({self.any('0', '1', '-1', 'k')}, {self.value()})",
                  f"heapq.heappush({one}, {self.value()})",
                  f"{full}t = t * 0.5 + {one}.pop({self.any('', '0', '-1')})", f"{full}{one}[0] = {self.value()}",
                  f"{full}t = t * 0.5 + {one}[{self.any('0', '-1', 'k % len(' + one + ')')}]", f"{full}del {one}[0]",
                  f"{one}.sort({self.any('', 'reverse=True')})", f"{one}.reverse()", f"{one} = sorted({other})",
                  f"{one} = {other}[{self.any('1:', ':2', '-3:', '::-1')}]", f"{one} = list({other})",
                  f"{one} = {other}", f"{one} = []", f"{one}, {other} = {other}, {one}",
                  f"{one} = [v * 0.5 for v in {other} if v > {self.any('0.3', 't')}]",
                  f"t = t * 0.5 + sum({one}) * 0.1",
                  f"{full}heapq.heappop({one})", f"{one}.extend([{self.value()}, 0.75])",
                  f"if {self.value()} in {one}: {one}.remove({one}[0])"]
        self.line(self.random.choice(texts))

    def block(self) -> None:
        self.depth += 1
        for _ in range(self.random.randint(1, 3)):
            self.statement()
        self.depth -= 1

    def statement(self) -> None:
        kind = self.random.random()
        if kind < 0.62 or self.depth > 4:
            self.change()
        elif kind < 0.78 or len(self.loops) > 1:
            self.line(f"if {self.test()}:")
            self.block()
            if self.random.random() < 0.4:
                self.line("else:")
                self.block()
        else:
            self.loop()

    def loop(self) -> None:
        self.names += 1
        kind = self.random.random()
        if kind < 0.45:
            name = f"v{self.names}"
            self.line(f"for {name} in {self.any('x', 'x', *LISTS, 'list(a)', 'b[:3]')}:")
        elif kind < 0.7:
            name = f"i{self.names}"
            self.line(f"for {name} in range({self.any('3', '6', '40', 'n')}):")
        else:
            name = "t"
            self.line(f"while k < {self.any('5', '9')} and t < {self.any('4', '30')} * x[0]:")
            self.line("    k += 1")
        self.line("    t = t * 0.9 + 0.05")
        self.loops.append(name)
        self.block()
        if self.random.random() < 0.15:
            self.line(f"    if {self.test()}: {self.any('break', 'continue')}")
        self.loops.pop()

    def program(self) -> str:
        for _ in range(self.random.randint(2, 5)):
            self.statement()
        self.loop()
        self.statement()
        self.line("return [len(s) for s in (a, b, c)] + [sum(s) for s in (a, b, c)] + [t, k] + "
                  "[s[0] if s else -1.0 for s in (a, b, c)] + [s[-1] if s else -1.0 for s in (a, b, c)]")
        return HEAD + "\n".join(self.lines) + "\n"
