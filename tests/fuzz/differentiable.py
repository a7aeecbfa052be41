"""Random differentiable NumPy programs as source text: arrays written in place, loops of every kind, branches on data.

What is drawn decides everything, so Hypothesis can shrink a failing program. Values are kept of moderate size, and
functions are smooth but for branches.
"""
from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

SIZE = 4
SMOOTH = ("np.sin({})", "np.tanh({})", "np.cos({}) * 0.5", "np.exp(-{} * {})", "np.sqrt(1 + {} * {})", "{} * 0.7",
          "1 / (1 + {} * {})", "np.arctan({})", "{}[::-1]", "np.roll({}, 1)", "np.cumsum({}) * 0.3", "np.sort({})",
          "np.where({} > 0.4, {}, 0.5 * {})", "np.abs({})", "np.cumprod(0.8 + 0.3 * np.tanh({}))",
          "np.maximum.accumulate({})", "np.clip({}, -0.4, 0.7)", "np.reshape({}, (2, 2)).T.ravel()",
          "np.fft.ifft(np.fft.fft({}) * np.array([0.9, 0.5, 0.2, 0.5])).real", "np.interp({}, np.arange(3.0), {}[:3])",
          "np.linalg.inv(2 * np.eye(2) + 0.3 * np.tanh(np.reshape({}, (2, 2)))).ravel()", "np.pad(np.diff({}), (0, 1))",
          "np.repeat({}[1:3], 2)", "{}[np.argsort({})]", "np.full(4, np.median({}))", "np.linalg.norm({}) * np.ones(4)",
          "helper({})", "again({})", "ruled({})")
JOINED = ("{} + {}", "{} * {}", "{} - 0.5 * {}", "{} / (1.5 + {} ** 2)", "np.maximum({}, {})", "np.hypot({}, 1 + {})",
          "np.outer({}, {}).sum(axis=0) * 0.2", "np.dot({}, {}) * np.ones(4) * 0.2", "np.concatenate([{}[:2], {}[2:]])",
          "np.convolve({}, {}, 'same') * 0.3", "np.einsum('i,j->j', np.tanh({}), {}) * 0.4",
          "np.linalg.solve(3 * np.eye(4) + np.tanh(np.outer({}, {})), np.ones(4))", "np.where({} > {}, 0.5, 0.25)",
          "np.ravel(np.reshape({}, (2, 2)) @ np.reshape({}, (2, 2))) * 0.5", "np.arctan2({}, 1.2 + {} ** 2)")
WRITES = ("{a}[{i}] = {s}", "{a}[{i}] += 0.3 * {s}", "{a}[1:] = np.tanh({a}[:-1] * {b}[1:])", "{a}[:2] *= {s}",
          "{a}[...] = np.sin({a}) * {b}", "{a}[[0, 2]] = {b}[[1, 3]] * 0.9", "{a}[{b} > 0.5] *= 0.8",
          "{a}[1:-1] += 0.2 * ({b}[2:] - {a}[:-2])", "{a}[0], {a}[3] = {a}[3], {a}[0]", "{a}[::2] -= 0.4 * {b}[1::2]",
          "np.add.at({a}, [0, 2, 0], 0.3 * {b}[:3])", "np.multiply({a}, {b}, out={a})", "{a}[[3, 1]] = {a}[[1, 3]]",
          "{a}[{i}:] = {a}[{i}:][::-1]", "np.maximum({a}, {b}, out={a}, where={a} < 0.6)")
TESTS = ("np.sum({}) > 0.9", "{}[0] < 0.4", "np.max(np.abs({})) < 1.1", "{}[1] * {}[2] > 0.2", "np.argmax({}) == 1",
         "np.any({} > 1.0)")

HELPERS = """
def helper(y):
    if y[0] > 0.5:
        return np.tanh(y)
    for k in range(3):
        if y[k] > 0.3:
            return y * y[k]
    return 0.5 * y


@reactant.checkpoint
def again(y):
    z = y.copy()
    for k in range(1, 4):
        z[k] = np.sin(z[k] + z[k - 1])
    return z


@reactant.custom_derivative
def ruled(y):
    return np.sin(y) * y


@ruled.jvp
def ruled_jvp(arguments, tangents):
    (y,), (t,) = arguments, tangents
    return ruled(y), (np.cos(y) * y + np.sin(y)) * t
"""
"""What programs call: with an early return, computed again in the reverse sweep, with a rule of its own."""

_numbers = itertools.count()


class Writer:
    """Draws statements that assign the arrays a, b, c and the number t."""

    def __init__(self, draw: Callable):
        self.draw = draw

    def pick(self, choices: Any) -> Any:
        return self.draw(st.sampled_from(list(choices)))

    def array(self) -> str:
        return self.pick("abcx")

    def written(self) -> str:
        return self.pick("abc")

    def expression(self) -> str:
        template = self.pick(SMOOTH + JOINED)
        if template in SMOOTH:
            return template.replace("{}", self.array())
        return template.format(*(self.array() for _ in range(template.count("{}"))))

    def number(self, index: str) -> str:
        return self.pick((f"{self.array()}[{index}]", f"np.sin({self.array()}[{index}] + t)", "0.6 * t",
                          f"np.sum({self.array()}) * 0.2", f"t * {self.array()}[{index}]"))

    def statement(self, index: str) -> str:
        kind = self.draw(st.integers(0, 3))
        if kind == 0:
            return f"{self.written()} = {self.expression()}"
        if kind == 1:
            return f"t = np.tanh({self.number(index)} + 0.1 * t)"
        return self.pick(WRITES).format(a=self.written(), b=self.array(), i=index, s=self.number(index))

    def block(self, depth: int, index: str) -> list[str]:
        lines = [self.statement(index) for _ in range(self.draw(st.integers(1, 3)))]
        if depth and self.draw(st.integers(0, 1)):
            lines[self.draw(st.integers(0, len(lines))):0] = self.control(depth - 1, index)
        return lines

    def test(self) -> str:
        template = self.pick(TESTS)
        return template.format(*(self.array() for _ in range(template.count("{}"))))

    def control(self, depth: int, index: str) -> list[str]:
        kind, name = self.draw(st.integers(0, 7)), f"i{depth}"
        if kind == 0:
            lines = [f"if {self.test()}:", *_indented(self.block(depth, index))]
            return lines + (["else:", *_indented(self.block(depth, index))] if self.draw(st.booleans()) else [])
        body = _indented(self.block(depth, f"{name} % 4"))
        iterations = self.pick((2, 5, 12))
        if kind == 1:
            return [f"for {name} in range({iterations}):", *body]
        if kind == 2:
            return [f"for {name} in range({iterations}):", *body, f"    if {self.test()}:", "        break"]
        if kind == 3:
            way = self.pick(("every=3", "'sqrt'"))
            return [f"for {name} in reactant.checkpointed(range({iterations}), {way}):", *body]
        if kind == 4:
            return [f"{name} = 0", f"while {name} < n and {self.test()}:", *body, f"    {name} += 1"]
        if kind == 5:
            return [f"for {name} in range(n):", *body]
        if kind == 6:
            first = self.statement(f"{name} % 4")
            return [f"for {name} in range({iterations}):", f"    {first}", f"    if {self.test()}:", "        continue",
                    *body]
        size = f"s{depth}"      # nobody knows how often; tanh, since from infinity it would never end
        return [f"{name}, {size} = 0, 1 + np.tanh({self.array()}[0]) ** 2", f"while {size} > 0.3:", *body,
                f"    {name}, {size} = {name} + 1, 0.6 * {size} - 0.01 * t * t"]

    def program(self) -> str:
        lines = ["a = x * 0.9", "b = np.cos(x)", "c = np.zeros(4)", "t = x[0] * x[1]"]
        for _ in range(self.draw(st.integers(1, 3))):
            lines += self.control(2, str(self.draw(st.integers(0, 3)))) if self.draw(st.integers(0, 2)) else \
                [self.statement("1")]
        return "def program(x, n):\n" + "\n".join(_indented([*lines, "return np.sum(a * b + c * c) + t * t"])) + "\n"


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def function_of(source: str) -> Callable:
    """The function, with source that tools can find."""
    import reactant
    filename = f"<differentiable {next(_numbers)}>"
    namespace: dict[str, Any] = {"np": np, "reactant": reactant}
    source = HELPERS + source
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    exec(compile(source, filename, "exec"), namespace)
    return namespace["program"]


@st.composite
def programs(draw: Callable) -> str:
    """The source of `program(x, n)`: x is an array of 4, n a number of iterations."""
    return Writer(draw).program()


WAYS = ({}, {}, {"checkpoint": "sqrt"}, {"checkpoint": 4}, {"checkpoint": "binomial"}, {"memory_budget": 2000})
