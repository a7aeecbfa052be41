"""The program beside itself in more precision, run on the user's arguments: what is wrong, and on which lines."""
from __future__ import annotations

import copy
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant import pipelines
from reactant.api import as_jitted
from reactant.calling.lowered import Lowered
from reactant.differentiate import requests
from reactant.digits.records import Branch, Found, Line, Loop, Output, lost, right
from reactant.errors import UnsupportedError
from reactant.ir import modules
from reactant.ir.context import building
from reactant.ir.types import dtype_of
from reactant.options import CompileOptions
from reactant.precision.accuracy.beside import shadow
from reactant.precision.accuracy.ledger import Entry, Place
from reactant.precision.accuracy.shadow import Shadow
from reactant.precision.accuracy.twins import digits_of, has_digits
from reactant.runtime.executable import Executable

LITTLE = 10_000
"""Elements of arguments for which compiling takes longer than any run."""
QUICKLY = {"xla_backend_optimization_level": 0}
Parts = tuple[np.ndarray, ...]
Companions = list["Parts | None"]


def measured(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any], seconds: float) -> Found:
    """What `reactant.accuracy` finds, without its ways to be shown."""
    started = time.perf_counter()
    lowered, program = prepared(function, args, kwargs)
    compiled = time.perf_counter()
    results, exact, entries = program.run()
    ran = time.perf_counter()
    _raise_as_the_program(lowered, results, function, args, kwargs)
    _, shaken, _ = program.run(shaken=True)
    outputs = [output for output in map(_output, program.names, results, exact, shaken) if output is not None]
    found = Found(lowered.name, program.made.twin, outputs, _lines(entries), _branches(entries),
                  _loops(entries), (compiled - started, ran - compiled))
    _blame(found, program, exact, seconds)
    return found


def prepared(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> tuple[Lowered, Program]:
    """The function's program, and the same beside itself, compiled. Raises what `reactant.accuracy` raises."""
    lowered, arrays = as_jitted(function).lower_call(*copy.deepcopy((args, kwargs)))
    module = _expanded(lowered)
    with building():
        made = shadow(module, lowered.options)
        little = sum(each.size for each in arrays if hasattr(each, "size")) < LITTLE and not any(
            op.name == "stablehlo.while" for op in modules.walk(made.module))
        executable = Executable(made.module, name=lowered.name, **lowered.as_numpy(),
                                xla_options=(QUICKLY if little else {}) | dict(lowered.options.xla)).compile()
    return lowered, Program(made, executable, [
        np.asarray(each, taken.dtype) for each, taken in zip(arrays, executable.inputs, strict=False)], _names(lowered))


def _expanded(lowered: Lowered) -> ir.Module:
    """The program as traced, derivatives written out. Raises `UnsupportedError` for what cannot be measured."""
    if getattr(lowered.traced, "callbacks", ()):
        raise UnsupportedError(f"reactant.accuracy: '{lowered.name}' calls Python while it runs, and what that "
                               "computes is not known in more precision.",
                               hint="Give it the parts before and after the call.", code="not-measured")
    assert lowered.original is not None
    with building():
        module = modules.clone(lowered.original)
        options = CompileOptions()
        if requests.present(module, (*requests.REQUESTS, *requests.MARKS)):
            pipelines.run(module, "differentiated", options=options)
        else:
            pipelines.run(module, ("inline", "cse"), options=options)
        arguments = modules.function(module).regions[0].blocks[0].arguments
        _require_digits(lowered.name, module, [dtype_of(a) for a in arguments])
    return module


def _require_digits(name: str, module: ir.Module, dtypes: Sequence[np.dtype]) -> None:
    if not any(has_digits(v.type) for op in modules.walk(module) for v in (*op.operands, *op.results)):
        taken = ", ".join(map(str, dtypes)) or "nothing"
        raise UnsupportedError(f"reactant.accuracy: '{name}' computes with no floats: it takes {taken}.",
                               hint="Give it arguments of the dtype that the program is meant for, such as "
                               "np.float32.", code="not-measured")


def _raise_as_the_program(lowered: Lowered, results: Sequence[np.ndarray], function: Callable[..., Any], args: tuple,
                          kwargs: dict[str, Any]) -> None:
    """Where a run-time check of the program fails, it raises its own error, as ever."""
    flags = getattr(lowered.traced, "flags", None)
    if flags is not None and not np.all(results[flags]):
        given, named = copy.deepcopy((args, kwargs))
        as_jitted(function)(*given, **named)


def _names(lowered: Lowered) -> list[str]:
    """What the results of the program are called; "" for those that are not the user's."""
    traced = lowered.traced
    with building():
        count = len(modules.function(lowered.module).regions[0].blocks[0].operations[
            len(modules.function(lowered.module).regions[0].blocks[0].operations) - 1].operands)
    written = {index: f"argument {leaf}" for leaf, index in getattr(traced, "written", {}).items()}
    hidden = {getattr(traced, "flags", None), *(k for each in getattr(traced, "told", ()) for k in each)}
    own = [k for k in range(count) if k not in written and k not in hidden]
    return [written.get(k, "" if k in hidden else "result" if len(own) == 1 else f"result {own.index(k)}")
            for k in range(count)]


class Program:
    """A compiled program beside itself; it is run for the measures, and for each line that is tried alone."""

    def __init__(self, made: Shadow, executable: Executable, arguments: Sequence[np.ndarray], names: list[str]):
        self.made, self.executable, self.arguments, self.names = made, executable, arguments, names

    def run(self, *lines: Place | None, shaken: bool = False,
            ) -> tuple[list[np.ndarray], Companions, list[tuple[Entry, Any, Any]]]:
        """Results, their companions where `lines` alone have the program's precision, and what was measured."""
        mask = np.array([*(line in lines for line in self.made.lines), shaken])
        given = list(self.executable([*self.arguments, mask]))
        results, left = given[:len(self.names)], iter(given[len(self.names):-2])
        exact: Companions = [tuple(next(left) for _ in range(count)) or None for count in self.made.outputs]
        return results, exact, list(_measures(self.made.entries, *given[-2:]))


def _measures(entries: Sequence[Entry], largest: np.ndarray, counted: np.ndarray) -> Iterator[tuple[Entry, Any, Any]]:
    """Each entry with its measures."""
    k = n = 0
    for entry in entries:
        yield entry, largest[k:k + entry.largest], counted[n:n + entry.counted]
        k, n = k + entry.largest, n + entry.counted


# ---- outputs -------------------------------------------------------------------------------------------------------

def _reals(parts: Parts, dtype: np.dtype) -> list[Parts]:
    """Parts of real numbers: one of each, or those of the real and of the imaginary numbers."""
    if dtype.kind != "c":
        return [parts]
    if len(parts) == 1:
        return [(parts[0].real,), (parts[0].imag,)]
    half = len(parts) // 2
    return [parts[:half], parts[half:]]


def _apart(value: Parts, exact: Parts, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """How far numbers are from others, and how large those are; of complex ones the larger part of both."""
    found = []
    with np.errstate(all="ignore"):
        for mine, other in zip(_reals(value, dtype), _reals(exact, dtype), strict=True):
            apart = other[0] - mine[0]
            for limb in other[1:]:
                apart = apart + limb
            for limb in mine[1:]:
                apart = apart - limb
            found.append((np.abs(apart), np.abs(other[0])))
        return np.max([d for d, _ in found], axis=0), np.max([size for _, size in found], axis=0)


def relative(value: Parts, exact: Parts, dtype: np.dtype) -> tuple[np.ndarray, float]:
    """The error of each element, at most 1, and the largest one as a part of the largest element; 0 where neither is
    finite. dtype: of the program's numbers, which tells complex ones."""
    apart, size = _apart(value, exact, dtype)
    with np.errstate(all="ignore"):
        known = np.isfinite(apart) | np.isfinite(size)
        each = np.where(apart == 0, 0.0, np.where(np.isfinite(apart), np.minimum(apart / size, 1.0), 1.0))
        each = np.where(known, each, 0.0)
        largest = size[np.isfinite(size)].max(initial=0.0)
        worst = float(np.where(known, apart, 0.0).max(initial=0.0))
    if not worst or not largest:
        return each, float(worst > 0)
    return each, min(worst / largest, 1.0) if np.isfinite(worst) else 1.0


def _doubled(value: np.ndarray) -> Parts:
    return (value.astype(np.complex128 if value.dtype.kind == "c" else np.float64),)


def _padded(value: Parts, exact: Parts, dtype: np.dtype) -> Parts:
    """Numbers with as many parts as others: those of complex ones apart."""
    return (value[0].real, value[0].imag) if dtype.kind == "c" and len(exact) > 1 else value


def _output(name: str, value: np.ndarray, exact: Parts | None, shaken: Parts | None) -> Output | None:
    if exact is None or shaken is None or not name or not value.size:
        return None
    digits = digits_of(value.dtype)
    errors, scale = relative(_padded(_doubled(value), exact, value.dtype), exact, value.dtype)
    doubts, doubt = relative(shaken, exact, value.dtype)
    # where the companion itself is in doubt, no more digits are known to be right than it has
    errors, scale = np.where(doubts > 2.0**-digits, np.maximum(errors, doubts), errors), max(
        scale, doubt if doubt > 2.0**-digits else 0.0)
    place = tuple(int(i) for i in np.unravel_index(int(np.argmax(errors)), value.shape))
    companion = exact[0][place] if value.dtype.kind != "c" or len(exact) == 1 else \
        complex(exact[0][place], exact[len(exact) // 2][place])
    finite = np.isfinite(exact[0]) | np.isfinite(value)
    known = errors[finite] if finite.any() else np.ones(1)
    return Output(name, str(value.dtype), value.shape, digits, right(float(known.max()), digits),
                  right(float(np.median(known)), digits), place, value[place], companion,
                  right(float(doubts[place]), digits), right(scale, digits), int((~finite).sum()))


# ---- lines, branches, loops ----------------------------------------------------------------------------------------

def _text(place: Place | None) -> str:
    return f"{place[0]}:{place[1]}" if place else ""


def _lines(entries: Sequence[tuple[Entry, Any, Any]]) -> list[Line]:
    """Operations of one line together; each with what its worst one does."""
    places: dict[Place | None, list[tuple[Entry, Any, Any]]] = {}
    for each in entries:
        if each[0].kind == "number":
            places.setdefault(each[0].place, []).append(each)
    return [_line(place, each) for place, each in places.items()]


def _line(place: Place | None, entries: Sequence[tuple[Entry, Any, Any]]) -> Line:
    digits = max(entry.digits for entry, *_ in entries)
    local, grown, wrong = (max(each) for each in zip(*(
        (lost(float(numbers[0]), entry.digits), float(np.log2(max(numbers[2], 1.0))),
         lost(float(numbers[1]), entry.digits)) for entry, numbers, _ in entries), strict=True))
    worst = sorted(entries, key=lambda each: -lost(float(each[1][0]), each[0].digits))
    return Line(_text(place), tuple(dict.fromkeys(entry.name.split(".")[1] for entry, *_ in worst)), digits, local,
                grown, wrong, int(sum(counted[0] for *_, counted in entries)),
                runs=max(_runs(entries).values()))


def _runs(entries: Sequence[tuple[Entry, Any, Any]]) -> Counter[str]:
    """How often operations ran, by their names: a loop may have been written out."""
    found: Counter[str] = Counter()
    for entry, _, counted in entries:
        found[entry.name] += int(counted[1])
    return found


def _branches(entries: Sequence[tuple[Entry, Any, Any]]) -> list[Branch]:
    found: dict[tuple[Place | None, str], Branch] = {}
    for entry, _, counted in entries:
        if entry.kind == "truth" and counted[0]:
            name = entry.name.split(".")[1]
            old = found.setdefault((entry.place, name), Branch(_text(entry.place), name, 0, 0))
            old.different, old.count = old.different + int(counted[0]), old.count + int(counted[1])
    return list(found.values())


def _loops(entries: Sequence[tuple[Entry, Any, Any]]) -> list[Loop]:
    found = []
    for entry, largest, _ in entries:
        if entry.kind == "loop" and entry.digits and np.any(largest):
            last = int(np.flatnonzero(largest)[-1])
            found.append(Loop(_text(entry.place), entry.digits, tuple(
                (2**(k + 1) - 1, lost(float(largest[k]), entry.digits)) for k in range(last + 1))))
    return found


def _blame(found: Found, program: Program, exact: Companions, seconds: float) -> None:
    """Run the program once for each line, which alone has its precision, as long as there is time; sort the lines by
    what that costs the outputs."""
    until = time.perf_counter() + seconds
    places = {_text(place): place for place in program.made.lines}
    for line in sorted(found.lines, key=lambda line: -line.local):
        if line.alone is None and time.perf_counter() > until:
            break
        results, alone, _ = program.run(places[line.place])
        dtypes = [each.dtype for each in results]
        line.alone = max((lost(float(relative(now, then, dtype)[0].max(initial=0.0)), digits_of(dtype))
                          for name, now, then, dtype in zip(program.names, alone, exact, dtypes, strict=True)
                          if name and now is not None and then is not None), default=0.0)
    found.lines.sort(key=lambda line: (-line.blame, -line.local))

