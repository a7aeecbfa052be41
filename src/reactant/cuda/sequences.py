"""Sequences of steps as Python functions, which `reactant.jit` compiles: what repeats is a loop of the function.

    def program(r0, r1, x0):
        for i in range(500):
            step(seen(r0, 0, 1000, f4), seen(r1, 0, 1000, f4), 1000, x0)
            step(seen(r1, 0, 1000, f4), seen(r0, 0, 1000, f4), 1000, x0)

Allocations are arrays r0, r1..., run-time values x0, x1...: a sequence over other memory with other
numbers is the same function. Numbers that change from one repetition to the next are arrays of their values.
"""
from __future__ import annotations

import hashlib
import keyword
import linecache
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from reactant.cuda.rows import Row
from reactant.cuda.steps import Argument, CopyStep, FillStep, Float, Integer, LaunchStep, Record, Step, Variable, View
from reactant.kernels.launch.launchable import Configured
from reactant.kernels.launch.memory import seen
from reactant.kernels.ways_in.module_source import SourceKernel

LONGEST = 64
"""Steps of the longest pattern that is looked for."""


@dataclass(frozen=True)
class Repeated:
    """Steps that follow one another, `count` times; `steps` has all of them, one repetition after the other."""

    steps: tuple[Step, ...]
    count: int = 1

    @property
    def period(self) -> int:
        return len(self.steps) // self.count


def repeated(steps: Sequence[Step], least: int = 3) -> list[Repeated]:
    """The sequence as loops and single steps, from its beginning: of all patterns that repeat the one that goes on
    longest."""
    shapes: list[Step] = [without_floats(s) for s in steps]
    numbered: dict[Step, int] = {}
    names = [numbered.setdefault(s, len(numbered)) for s in shapes]
    found: list[Repeated] = []
    at = 0
    while at < len(names):
        period, count = _pattern(names, at, least)
        found.append(Repeated(tuple(steps[at:at + period * count]), count))
        at += period * count
    return found


def _pattern(names: list[int], at: int, least: int) -> tuple[int, int]:
    best = 1, 1
    for period in range(1, min(LONGEST, (len(names) - at) // least) + 1):
        if names[at + period] != names[at]:
            continue
        end = at + period
        while end < len(names) and names[end] == names[end - period]:
            end += 1
        count = (end - at) // period
        if count >= least and period * count > best[0] * best[1]:
            best = period, count
    return best


def without_floats(step: Step) -> Step:
    """The step with the values of its numbers left out: steps that differ in them alone are one."""
    def plain(argument: Argument) -> Argument:
        if isinstance(argument, tuple):
            return tuple(plain(a) for a in argument)
        return replace(argument, bits=b"", identity=0) if isinstance(argument, Float) else argument
    return replace(step, arguments=tuple(map(plain, step.arguments))) if isinstance(step, LaunchStep) else step


def floats_of(step: Step) -> list[Float]:
    """The numbers of a step, in order."""
    def inside(argument: Argument) -> Iterable[Float]:
        if isinstance(argument, tuple):
            for a in argument:
                yield from inside(a)
        elif isinstance(argument, Float):
            yield argument
    return list(inside(step.arguments)) if isinstance(step, LaunchStep) else []


@dataclass
class Unit:
    """What one compiled function does: loops and single steps, and all the steps with their rows."""

    parts: list[Repeated]
    done: list[tuple[Step, Row]]

    @property
    def length(self) -> int:
        return sum(p.period for p in self.parts)

    def distinct(self) -> Iterator[tuple[Step, Row]]:
        """The steps of one repetition of each part."""
        at = 0
        for part in self.parts:
            yield from self.done[at:at + part.period]
            at += len(part.steps)

    def split(self) -> Iterator[Unit]:
        at = 0
        for part in self.parts:
            yield Unit([part], self.done[at:at + len(part.steps)])
            at += len(part.steps)

    def key(self) -> tuple:
        """Equal for the same steps over other memory with other numbers."""
        order: dict[int, int] = {}

        def named(a: Any) -> Any:
            if isinstance(a, tuple):
                return tuple(named(i) for i in a)
            return replace(a, base=order.setdefault(a.base, len(order))) if isinstance(a, View) else a
        found = []
        for step, _ in self.distinct():
            plain = without_floats(step)
            found.append(replace(plain, arguments=named(plain.arguments)) if isinstance(plain, LaunchStep) else
                         replace(plain, **{k: named(v) for k, v in vars(plain).items()}))
        return tuple(found), tuple((p.period, p.count) for p in self.parts)


@dataclass
class Written:
    """A sequence as a function.

    Attributes:
        text: the function in Python.
        space: what the names in it stand for.
        roots: places of the allocations that r0, r1... stand for, and their dtypes.
        values: what x0, x1... are.
        variables: symbols of the `__constant__` variables c0, c1...
        identities: what the tape calls the numbers of x0, x1...
    """

    text: str
    space: dict[str, Any]
    roots: dict[int, np.dtype]
    values: list[Any]
    variables: list[str]
    identities: list[tuple[int, ...]]

    @property
    def parameters(self) -> list[str]:
        return [*(f"r{k}" for k in range(len(self.roots))), *(f"x{k}" for k in range(len(self.values))),
                *(f"c{k}" for k in range(len(self.variables)))]

    def key(self) -> tuple:
        """What tells functions from each other."""
        return self.text, tuple((k, str(v) if not isinstance(v, Configured) else (v.way_in.name, v.launch))
                                for k, v in self.space.items() if k != "seen")

    def function(self) -> Callable:
        """The function itself; errors and `explain` show its lines."""
        name = f"<recorded {hashlib.sha256(self.text.encode()).hexdigest()[:12]}>"
        linecache.cache[name] = (len(self.text), None, self.text.splitlines(True), name)
        space: dict[str, Any] = {**self.space, "__name__": "recorded"}
        exec(compile(self.text, name, "exec"), space)
        return space["program"]


@dataclass
class Writer:
    """Writes sequences. kernels: kernels by mangled name."""

    kernels: Callable[[str], SourceKernel]
    roots: dict[int, np.dtype] = field(default_factory=dict)
    values: list[Any] = field(default_factory=list)
    identities: list[tuple[int, ...]] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)
    space: dict[str, Any] = field(default_factory=lambda: {"seen": seen})
    _names: dict[Any, str] = field(default_factory=dict)
    _known: dict[tuple, str] = field(default_factory=dict)

    def written(self, parts: Sequence[Repeated]) -> Written:
        lines = []
        for part in parts:
            if part.count == 1:
                lines += [self.line(step, [(f,) for f in floats_of(step)]) for step in part.steps]
                continue
            lines.append(f"for i in range({part.count}):")
            for k in range(part.period):
                each = [floats_of(s) for s in part.steps[k::part.period]]
                lines.append("    " + self.line(part.steps[k], list(zip(*each, strict=True))))
        made = Written("", self.space, self.roots, self.values, self.variables, self.identities)
        body = "".join(f"    {line}\n" for line in lines)
        made.text = f"def program({', '.join(made.parameters)}):\n{body}"
        return made

    def line(self, step: Step, columns: list[tuple[Float, ...]]) -> str:
        """A step; `columns` has for each of its numbers the values of all repetitions."""
        if isinstance(step, CopyStep):
            return f"{self.part(step.target)} = {self.part(step.source)}"
        if isinstance(step, FillStep):
            content = np.frombuffer(bytes([step.value]) * step.target.dtype.itemsize, step.target.dtype)[0]
            name = self.name(("fill", step.value, step.target.dtype), "v", content)
            return f"{self.part(step.target)} = {name}"
        kernel = self.kernels(step.kernel)
        called = self.name((step.kernel, step.launch), _identifier(kernel.name), Configured(kernel, step.launch))
        left = iter(columns)
        words = [self.argument(a, left) for a in step.arguments]
        words += [f"{name}={self.variable(v)}" for name, v in step.variables]
        return f"{called}({', '.join(words)})"

    def argument(self, argument: Argument, columns: Any) -> str:
        if isinstance(argument, tuple):
            return "(" + "".join(f"{self.argument(a, columns)}, " for a in argument) + ")"
        if isinstance(argument, View):
            root = self.root(argument)
            kind = self.name(argument.dtype, _identifier(str(argument.dtype)), argument.dtype)
            return f"seen({root}, {argument.offset}, {argument.count}, {kind})"
        if isinstance(argument, Float):
            return self.number(argument.dtype, next(columns))
        if isinstance(argument, Record):
            value = np.frombuffer(argument.content, argument.dtype)[0]
            return self.name((argument.dtype, argument.content), "record", value)
        assert isinstance(argument, Integer)
        return str(argument.value)

    def number(self, dtype: np.dtype, column: tuple[Float, ...]) -> str:
        same = len(set(column)) == 1
        key = (dtype, column[:1] if same else column)
        if key not in self._known:
            self._known[key] = f"x{len(self.values)}"
            values = np.frombuffer(b"".join(f.bits for f in column), dtype)
            self.values.append(values[0] if same else values)
            self.identities.append(tuple(f.identity for f in (column[:1] if same else column)))
        return self._known[key] if same else f"{self._known[key]}[i]"

    def root(self, view: View) -> str:
        self.roots.setdefault(view.base, view.root)
        return f"r{list(self.roots).index(view.base)}"

    def part(self, view: View) -> str:
        first = view.offset // view.dtype.itemsize
        return f"{self.root(view)}[{first}:{first + view.count}]"

    def variable(self, variable: Variable) -> str:
        if variable.symbol not in self.variables:
            self.variables.append(variable.symbol)
        return f"c{self.variables.index(variable.symbol)}"

    def name(self, key: Any, wish: str, value: Any) -> str:
        """A name for a constant of the function."""
        if key not in self._names:
            taken = self._names.values()
            self._names[key] = next(n for k in range(len(taken) + 2)
                                    if (n := wish if k == 0 else f"{wish}_{k}") not in taken and n != "seen")
            self.space[self._names[key]] = value
        return self._names[key]


def _identifier(name: str) -> str:
    found = "".join(c if c.isalnum() else "_" for c in name)
    taken = keyword.iskeyword(found) or found in ("program", "range", "i") or re.fullmatch(r"[rxc]?\d.*", found)
    return f"_{found}" if taken else found
