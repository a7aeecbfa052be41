"""Short random programs about Python's objects and protocols: one to three ingredients each (`object_parts`,
`container_parts`, `protocol_parts`), under conditions and in loops that run-time values decide."""
from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.fuzz import container_parts, object_parts, protocol_parts
from tests.fuzz.object_parts import Part
from tests.fuzz.short_writing import ShortWriter

PARTS = {name: part for module in (object_parts, container_parts, protocol_parts) for name, part in vars(module).items()
         if isinstance(part, Part)}

HEAD = """import collections
import contextlib
import copy
import enum
import functools
import itertools
import math
import operator
from dataclasses import asdict, astuple, dataclass, field, fields, is_dataclass, replace
from typing import NamedTuple

import numpy as np

"""
TESTS = ("x[0] > 0.5", "x[i % 6] > 0.5", "x[1] > x[2]", "t > {s}", "k > 2", "b[0]", "b[i % 3]", "p[0] > 1", "p[0] == i",
         "i % 2", "x[3] < {s}", "x.sum() > 1", "n > 2", "not b[1]", "b[1] and t > 0", "0 < t < 2", "k == 0")
NUMBERS = ("x[0]", "x[i % 6]", "x[p[0]]", "t", "t", "0.5", "1", "2.0", "k", "p[0]", "x.max()", "-x[2]", "i", "x[k % 6]",
           "float(x[4])")
PLAIN = ("t = {s}", "k += 1", "t = t * 0.5 + {s}", "k = p[0]", "t, k = {s}, 2", "x[0] = {s}", "x[p[0]] += 1",
         "x *= 0.5", "k = k + 1 if {c} else k", "t = {s} if {c} else t")


class Writer(ShortWriter):
    """One program, by its seed: statements are kept where plain Python runs them, most of the time."""

    SHARES = (0.45, 0.52, 0.78)

    def __init__(self, seed: int, names: tuple[str, ...] = ()):
        super().__init__(seed)
        self.names = list(names) or self.random.sample(sorted(PARTS), self.any(1, 1, 2, 2, 3))
        self.parts = [PARTS[name] for name in self.names]
        given = [part for part in self.parts if part.argument]
        self.given = self.any(*given) if given and self.chance(0.35) else None

    # ---- expressions

    def fill(self, template: str, part: Part | None = None, depth: int = 0) -> str:
        """The template with numbers, tests and objects in its places, each its own."""
        part = part or self.any(*self.parts)

        def one(place: re.Match) -> str:
            if place[0] == "{o}":
                return self.any(*part.objects)
            if place[0] == "{s}":
                return self.number(depth + 1)
            return self.test(depth + 1) if place[0] == "{c}" else place[0][0]
        return re.sub(r"\{[osc]\}|\{\{|\}\}", one, template)

    def number(self, depth: int = 0) -> str:
        part = self.any(*self.parts)
        if depth < 3 and part.reads and self.chance(0.4):
            return self.fill(self.any(*part.reads), part, depth)
        return self.any(*NUMBERS)

    def test(self, depth: int = 0) -> str:
        part = self.any(*self.parts)
        if depth < 2 and part.tests and self.chance(0.5):
            return self.fill(self.any(*part.tests), part, depth)
        return self.fill(self.any(*TESTS), part, depth + 1)

    # ---- statements

    def simple(self) -> list[str]:
        part = self.any(*self.parts)
        return self.fill(self.any(*PLAIN) if self.chance(0.15) else self.any(*part.does), part).split("\n")

    def leave(self, loop: bool) -> list[str]:
        ways = ["return t", "return k", f"return {self.number()}"]
        return [self.any(*(["break", "continue"] * 3 if loop else []), *ways)]

    def loop(self, depth: int) -> list[str]:
        body = self.block(depth + 1, True)
        ends = ["else:", *self.block(depth + 1, False)] if self.chance(0.15) else []
        if self.chance(0.7):
            over = self.any("range(3)", "range(3)", "range(n)", "range(100)", "range(p[0])", "range(len(x))",
                            "range(2, -1, -1)", "x")
            return [f"for {'e' if over == 'x' else 'j' if depth else 'i'} in {over}:", *body, *ends]
        test = self.any("", f" and {self.test()}")
        return [f"w{depth} = 0", f"while w{depth} < {self.any('3', '5', '60', 'p[0] + 1')}{test}:",
                f"    w{depth} += 1", *body, *ends]

    # ---- the program

    def start(self) -> list[str]:
        lines = ["t, k, i = x[0] * 0.5, 0, 0"]
        for part in self.parts:
            for line in part.setup:
                name = line.partition(" = ")[0]
                lines.append(f"{name} = o" if part is self.given and name == part.objects[0] else line)
        return lines

    def program(self) -> str:
        """The text of a module with the function `f`, and `given`, its last argument."""
        start, lines, wanted = self.start(), [], self.any(1, 2, 2, 3, 3, 4)
        for _ in range(40):
            more = lines + self.statement(0, False)
            if wanted == 1 and self.chance(0.08) or self.runs(self.text([*start, *more], "t")):
                lines, wanted = more, wanted - 1
            if wanted == 0:
                break
        results = ["t", "k", *(r for part in self.parts for r in part.results if self.chance(0.4))]
        kept: list[str] = []
        for r in results:
            if self.runs(self.text([*start, *lines], ", ".join([*kept, r]))):
                kept.append(r)
        kept = kept[:1] if uses(lines, "return") else kept
        result = ", ".join(kept) or "t"
        used = list(start)
        for line in start:      # what nobody reads is left out
            names = line.partition(" = ")[0].split(", ")
            if not uses([*(other for other in used if other is not line), *lines, result], *names):
                used.remove(line)
        return self.text(used, result, lines)

    def text(self, lines: list[str], result: str, more: Sequence[str] = ()) -> str:
        body = "\n".join("    " + line for line in [*lines, *more, f"return {result}"])
        argument = self.given.argument if self.given is not None else "1.5"
        texts = "\n".join(part.text for part in self.parts)
        return f"{HEAD}{texts}\n\ndef given():\n    return {argument}\n\n\ndef f(x, p, b, n, o):\n{body}\n"

    def runs(self, text: str) -> bool:
        space: dict[str, Any] = {"__name__": __name__}       # dataclasses look for their module
        try:
            exec(compile(text, "<short>", "exec"), space)
        except SyntaxError:
            return False
        return not isinstance(outcome(space["f"], arguments(space["given"]))[0], BaseException)


def arguments(given: Callable, number: int = 0) -> list[Any]:
    """What `f` is called with."""
    rng = np.random.default_rng(number)
    x = np.round(rng.normal(0.6, 0.9, 6), 1)
    return [x, rng.integers(0, 4, 6), rng.integers(0, 2, 3).astype(bool), 4, given()]


def uses(lines: list[str], *names: str) -> bool:
    return re.search(rf"\b({'|'.join(names)})\b", "\n".join(lines)) is not None


class Endless(BaseException):
    """A program that runs for too long."""


def outcome(f: Callable, given: list[Any], limit: int = 20_000) -> tuple[Any, set[int]]:
    """What `f` gives, or the exception that it raises, as plain Python; and the lines that it runs."""
    file, seen, left = f.__code__.co_filename, set(), limit

    def watch(frame: Any, event: str, _: Any) -> Any:
        nonlocal left
        if frame.f_code.co_filename != file:
            return None
        seen.add(frame.f_lineno)
        left -= 1
        if left < 0:
            raise Endless
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f(*given), seen
    except (Exception, Endless) as error:  # compared with that of the other
        return error, seen
    finally:
        sys.settrace(before)
