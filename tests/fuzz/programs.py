"""Random NumPy programs as source text: views, writes through views, control flow on data, nested.

A program is made statement by statement while it runs on example arrays, so that every statement is one that NumPy
accepts. What is drawn decides everything, so Hypothesis can shrink a failing program.
"""
from __future__ import annotations

import itertools
import linecache
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

DTYPES = ("float64", "float32", "int64", "int32", "int8", "uint8", "bool", "complex128")
SHAPES = ((), (1,), (4,), (6,), (3, 4), (4, 3), (1, 4), (2, 3, 4), (0, 3), (5, 5))
UNARY = ("np.abs({})", "-{}", "np.sin({})", "np.sqrt(np.abs({}))", "np.floor({})", "{}.copy()", "np.square({})",
         "{} * 2", "{} + 1", "1.5 * {}", "np.exp(-np.abs({}))", "np.sign({})",
         "{}.astype('float32')", "np.cumsum({}, axis=0)", "np.sort({}, axis=-1)",
         "np.where({} > 0, {}, 1)", "np.clip({}, -1, 2)", "np.roll({}, 1)", "np.flip({})")
BINARY = ("{} + {}", "{} - {}", "{} * {}", "np.maximum({}, {})", "np.minimum({}, {})", "{} / (np.abs({}) + 1)",
          "np.where({} > {}, 1.0, 0.0)", "{} // (np.abs({}) + 1)", "{} % (np.abs({}) + 2)",
          "np.hypot({}, {})", "np.logical_or({}, {})")
VIEWS = ("{}[1:]", "{}[::-1]", "{}[::2]", "{}[-1:]", "{}.T", "{}[..., 1:]", "{}[..., ::-2]", "{}.reshape(-1)",
         "{}[None]", "np.swapaxes({}, 0, -1)", "np.ravel({})", "{}[:, 0]", "{}[0]", "{}[-1]", "{}[1:, :2]",
         "{}.real", "{}.imag",
         "np.diagonal({})", "{}[..., None]", "np.squeeze({})", "{}[:, ::-1].T", "np.expand_dims({}, 0)")
REDUCTIONS = ("{}.sum()", "{}.mean()", "np.max({})", "{}.sum(axis=0)", "np.prod({}, axis=-1)", "np.any({} > 1)",
              "np.argmin({})", "{}.min(axis=0, keepdims=True)", "np.std({})")
TARGETS = ("{}[...]", "{}[1:]", "{}[::2]", "{}[-1]", "{}[..., 0]", "{}[::-1]", "{}[{} > 0]", "{}.T[...]", "{}[0]",
           "{}.reshape(-1)[1::3]")
UPDATES = ("=", "+=", "-=", "*=")
TESTS = ("np.sum({}) > {}", "{}.size and np.max(np.abs({})) < 3", "np.any({} > 1)", "not np.all({} == 0)")

_numbers = itertools.count()


@dataclass
class Program:
    """Source lines, the arguments of an example run, and arrays that the program finds outside."""

    arguments: dict[str, np.ndarray]
    outside: dict[str, np.ndarray] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    @property
    def source(self) -> str:
        return f"def program({', '.join(self.arguments)}):\n" + "\n".join(f"    {line}" for line in self.lines) + "\n"

    def function(self) -> Callable:
        """The function, with source that tools can find."""
        filename = f"<program {next(_numbers)}>"
        linecache.cache[filename] = (len(self.source), None, self.source.splitlines(True), filename)
        namespace: dict[str, Any] = {"np": np, **{n: a.copy() for n, a in self.outside.items()}}
        exec(compile(self.source, filename, "exec"), namespace)
        return namespace["program"]


class Writer:
    """Draws statements and keeps those that run."""

    def __init__(self, draw: Callable, program: Program):
        self.draw, self.program = draw, program
        self.space: dict[str, Any] = {"np": np, **{n: a.copy() for n, a in program.arguments.items()}}
        for name, array in program.outside.items():
            self.space[name] = array.copy()
            self.space[name].flags.writeable = False        # compiled code refuses to write there

    def pick(self, choices: Any) -> Any:
        return self.draw(st.sampled_from(list(choices)))

    def array(self) -> str:
        return self.pick([n for n, v in self.space.items() if isinstance(v, (np.ndarray, np.generic))])

    def fill(self, template: str) -> str:
        """A template with its blanks filled by names; a repeated blank of a unary template gets one name."""
        blanks = template.count("{}")
        if template in UNARY or template in TESTS or template in TARGETS:
            return template.replace("{}", self.array()) if "> {}" not in template else \
                template.replace("> {}", f"> {self.pick((-1, 0, 2))}").replace("{}", self.array())
        return template.format(*(self.array() for _ in range(blanks)))

    def runs(self, lines: list[str]) -> bool:
        """Execute lines on a copy of the state; adopt it when nothing is raised."""
        trial = {n: v for n, v in self.space.items()}
        # arrays are copied with their aliasing kept: copy every base once
        bases: dict[int, np.ndarray] = {}
        for name, value in trial.items():
            if isinstance(value, np.ndarray):
                trial[name] = _copied(value, bases)
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("error", np.exceptions.ComplexWarning)
                warnings.simplefilter("ignore", RuntimeWarning)
                exec("\n".join(lines), trial)
        except Exception:
            return False
        if any(isinstance(v, np.ndarray) and (v.size > 200 or v.dtype.kind not in "biufc") for v in trial.values()):
            return False
        trial.pop("__builtins__", None)
        self.space = trial
        return True

    def simple(self) -> list[str]:
        """One statement without control flow."""
        kind = self.draw(st.integers(0, 5))
        new = f"v{len(self.space)}"
        if kind == 0:
            return [f"{new} = {self.fill(self.pick(UNARY))}"]
        if kind == 1:
            return [f"{new} = {self.fill(self.pick(BINARY))}"]
        if kind == 2:
            return [f"{new} = {self.pick(VIEWS).format(self.array())}"]
        if kind == 3:
            return [f"{new} = {self.fill(self.pick(REDUCTIONS))}"]
        return [self.update()]

    def update(self) -> str:
        """A write into an existing array, directly or through a view."""
        value = self.pick((self.array(), str(self.pick((0, 1, -2))), self.fill(self.pick(UNARY[:6])), "2"))
        return f"{self.fill(self.pick(TARGETS))} {self.pick(UPDATES)} {value}"

    def block(self, depth: int) -> list[str]:
        """A few statements that are legal inside a branch or loop: writes, and nested control flow."""
        lines = [self.update() for _ in range(self.draw(st.integers(1, 2)))]
        if self.draw(st.integers(0, 2)) == 0:
            lines += self.rotation()
        if depth > 0 and self.draw(st.booleans()):
            lines += self.control(depth - 1)
        return lines

    def rotation(self) -> list[str]:
        """Two or three arrays of one type pass their names on."""
        first = self.array()
        kind = self.space[first]
        if first in self.program.outside:       # assigning to the name would make it local
            return []
        others = [n for n, v in self.space.items() if n not in (first, *self.program.outside)
                  and type(v) is type(kind) and v.shape == kind.shape and v.dtype == kind.dtype]
        names = [first, *others[:self.draw(st.integers(1, 2))]]
        return [f"{', '.join(names)} = {', '.join([*names[1:], first])}"] if others else []

    def whole(self, lines: list[str]) -> list[str]:
        """The lines where they run on the arrays as they are now, else `pass`: an error in a branch that is not taken
        is no error of the program."""
        before = self.space
        kept = lines if self.runs(lines) else ["pass"]
        self.space = before
        return kept

    def control(self, depth: int = 1) -> list[str]:
        """A statement of control flow that depends on data."""
        kind = self.draw(st.integers(0, 3))
        body = _indented(self.whole(self.block(depth)))
        if kind == 0:
            lines = [f"if {self.fill(self.pick(TESTS))}:", *body]
            if self.draw(st.booleans()):
                lines += ["else:", *_indented(self.whole(self.block(depth)))]
            return lines
        index = f"i{depth}"
        if kind == 1:
            return [f"for {index} in range({self.pick((0, 1, 3, 70))}):", *body]
        if kind == 2:
            return [f"for {index} in range({self.pick((2, 40))}):", *body, f"    if {self.fill(self.pick(TESTS))}:",
                    f"        {self.pick(('break', 'continue'))}"]
        count = f"n{depth}"
        return [f"{count} = 0", f"while {count} < 5 and {self.fill(self.pick(TESTS))}:", *body, f"    {count} += 1"]


def _copied(array: np.ndarray, bases: dict[int, np.ndarray]) -> np.ndarray:
    base = array
    while isinstance(base.base, np.ndarray):
        base = base.base
    if not base.flags.writeable:
        return array                      # from outside: nothing changes it
    copy = bases.setdefault(id(base), base.copy(order="K"))
    if base is array:
        return copy
    offset = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    try:
        view = np.ndarray(array.shape, array.dtype, copy, offset, array.strides)
    except ValueError:                    # the base has a layout that no copy has: this view goes on without it
        return array.copy(order="K")
    view.flags.writeable = array.flags.writeable
    return view


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def _example(draw: Callable, shape: tuple, dtype: str) -> np.ndarray:
    seed = draw(st.integers(0, 5))
    raw = np.random.default_rng(seed).normal(size=shape) * 3
    return (raw + 1j * raw[..., ::-1] if dtype == "complex128" and shape else raw).astype(dtype) \
        if dtype != "uint8" else np.abs(raw).astype(dtype)


@st.composite
def programs(draw: Callable, statements: int = 8, control: bool = True) -> Program:
    """A program and its arguments."""
    count = draw(st.integers(1, 3))
    arguments = {f"a{i}": np.asarray(_example(draw, draw(st.sampled_from(SHAPES)), draw(st.sampled_from(DTYPES))))
                 for i in range(count)}
    outside = {f"OUTSIDE{i}": np.asarray(_example(draw, draw(st.sampled_from(SHAPES)), draw(st.sampled_from(DTYPES))))
               for i in range(draw(st.integers(0, 2)))}
    program = Program(arguments, outside)
    writer = Writer(draw, program)
    for _ in range(draw(st.integers(1, statements))):
        lines = writer.control() if control and draw(st.integers(0, 3)) == 0 else writer.simple()
        if writer.runs(lines):
            program.lines += lines
    results = [n for n, v in writer.space.items() if n.startswith("v") and isinstance(v, (np.ndarray, np.generic))]
    program.lines.append(f"return ({''.join(n + ', ' for n in results)})")
    return program
