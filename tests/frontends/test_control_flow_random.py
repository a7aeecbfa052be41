"""Random programs of nested control flow, aliases and in-place writes: compiled code agrees with Python or refuses."""
from __future__ import annotations

import copy
import linecache
import random

import numpy as np
import pytest

import reactant
from tests.amounts import few
from tests.oracle import assert_same

ARRAYS, NUMBERS = ("a", "b", "c"), ("s", "t")


class Program:
    """Source text of one function of an array and two numbers."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.lines = ["def program(x, p, n):"]
        self.loops = 0
        self.emit(1, "a, b, c = x, x * 2.0, np.zeros(4)", "s, t = 0.5, p")
        self.block(1, 3)
        self.emit(1, "return a, b, c, s, t")
        self.text = "\n".join(self.lines) + "\n"

    def emit(self, depth: int, *lines: str) -> None:
        self.lines += ["    " * depth + line for line in lines]

    def block(self, depth: int, nesting: int, in_loop: bool = False) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.statement(depth, nesting, in_loop)

    def statement(self, depth: int, nesting: int, in_loop: bool) -> None:
        pick = self.random.random()
        if nesting and pick < 0.25:
            self.branch(depth, nesting, in_loop)
        elif nesting and pick < 0.45:
            self.loop(depth, nesting)
        elif in_loop and pick < 0.52:
            self.emit(depth, f"if {self.test()}:")
            self.emit(depth + 1, self.random.choice(["break", "continue", "return a, b, c, s, t"]))
        else:
            self.emit(depth, self.simple())

    def branch(self, depth: int, nesting: int, in_loop: bool) -> None:
        self.emit(depth, f"if {self.test()}:")
        self.block(depth + 1, nesting - 1, in_loop)
        for keyword in self.random.choice([(), ("else:",), ("elif",), ("elif", "else:")]):
            self.emit(depth, keyword if keyword == "else:" else f"elif {self.test()}:")
            self.block(depth + 1, nesting - 1, in_loop)

    def loop(self, depth: int, nesting: int) -> None:
        self.loops += 1
        i = f"i{self.loops}"
        kind = self.random.choice(["while", "for n", "for 3", "for 9", "for array", "enumerate"])
        if kind == "while":
            self.emit(depth, f"{i} = 0", f"while {i} < {self.random.randint(1, 6)} and ({self.test()}):")
            self.emit(depth + 1, f"{i} += 1")
        elif kind == "for array":
            self.emit(depth, f"for {i} in {self.array()}.copy():", f"    s = s * 0.5 + {i}")
        elif kind == "enumerate":
            self.emit(depth, f"for {i}, v{i} in enumerate({self.array()}.copy()):", f"    t = v{i} - {i}")
        else:
            self.emit(depth, f"for {i} in range({kind.split()[1]}):")
        self.block(depth + 1, nesting - 1, in_loop=True)
        if kind == "for 9":
            self.emit(depth + 1, f"{self.array()}[{i} % 4] += {i}")
        if self.random.random() < 0.2:
            self.emit(depth, "else:", f"    {self.simple()}")

    def array(self) -> str:
        return self.random.choice(ARRAYS)

    def number(self) -> str:
        return self.random.choice([*NUMBERS, "p", "1.5", "-0.5", f"{self.array()}[{self.random.randint(0, 3)}]"])

    def test(self) -> str:
        simple = self.random.choice(["{} > {}", "{} < {}", "{} + {} > 1", "{} < 0.3 < {}"])
        test = simple.format(self.number(), self.number())
        return self.random.choice([test, test, f"not {test}", f"({test}) and {self.number()} > 0",
                                   f"({test}) or {self.number()} < 1"])

    def simple(self) -> str:
        a, b, i = self.array(), self.array(), self.random.randint(0, 3)
        return self.random.choice([
            f"{a} = {b}", f"{a} = {b}", f"{a}, {b} = {b}, {a}", f"{a} = {b} * 0.5 + {self.number()}",
            f"{a} = {a}.copy()", f"{a} += {self.number()}", f"{a}[{i}] = {self.number()}", f"{a}[1:] += {b}[:-1] * 0.5",
            f"{a}[::-1] *= 0.5",
            f"v = {a}[1:3]; v += {self.number()}", f"{a} = np.sin({b})", f"s = {self.number()} * 0.5",
            f"t = {a}.sum() * 0.1", "s, t = t, s", f"s += {self.number()}",
            f"s = {self.number()} if {self.test()} else t",
            f"{a} = {a} if {self.test()} else {b}",
        ])


def compiled_and_plain(seed: int, longest: int | None = None) -> str:
    """Run program `seed` both ways on a few arguments; 'same' or 'refused', else an assertion fails. 'long': of more
    than `longest` operations once its loops are unrolled, which XLA takes minutes for (one program in some hundred)."""
    program = Program(seed)
    name = f"<random program {seed}>"
    linecache.cache[name] = (len(program.text), None, program.text.splitlines(True), name)
    namespace = {"np": np}
    exec(compile(program.text, name, "exec"), namespace)
    plain = namespace["program"]
    compiled = reactant.jit(plain, traced_argnames=("n",), optimize=False)
    for x, p, n in ((np.array([1.0, -1.0, 0.5, 2.0]), 0.7, 0), (np.array([-1.0, 0.2, 3.0, 0.1]), -0.4, 1),
                    (np.array([0.3, 0.2, 0.1, -2.0]), 1.2, 5)):
        mine, theirs = (copy.copy(x), p, np.int64(n)), (copy.copy(x), p, np.int64(n))
        with np.errstate(all="ignore"):
            expected = plain(*mine)
        try:
            if longest and n == 0 and sum(compiled.lower(*theirs).operations(optimized=False).values()) > longest:
                return "long"
            got = compiled(*theirs)
        except reactant.ReactantError:
            return "refused"
        try:
            assert_same(values(expected), values(got), rtol=1e-9, atol=1e-12)
            assert_same(mine[0], theirs[0], rtol=1e-9, atol=1e-12, path="argument")
        except AssertionError as error:
            raise AssertionError(f"{error}\nn={n}\n{program.text}") from None
    return "same"


def values(result: tuple) -> list:
    """Numbers compare by value: a Python float may come back as a NumPy scalar where paths with both meet."""
    return [np.asarray(r, float) for r in result]


def test_random_programs():
    count = few(3, 60)
    assert [compiled_and_plain(seed) for seed in range(count)].count("same") >= 3 * count // 5


@pytest.mark.slow
@pytest.mark.parametrize("first", range(60, 2060, 100))
def test_many_random_programs(first):
    outcomes = [compiled_and_plain(seed, 20_000) for seed in range(first, first + 100)]
    assert outcomes.count("same") >= 60
